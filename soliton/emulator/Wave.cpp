//===- Wave.cpp - Preparing a program; running a wave ---------------------===//
//
// See Wave.h.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <cstring>

namespace soliton::emu {

Handler handlerOf(const Program &program, const Instr &instr) {
  switch (instr.op) {
  case Op::Binary:
    return binaryHandler(program, instr);
  case Op::Unary:
    return unaryHandler(program, instr);
  case Op::Cmp:
  case Op::Select:
  case Op::Fma:
    return compareHandler(program, instr);
  case Op::Convert:
  case Op::Bitcast:
    return convertHandler(program, instr);
  case Op::Load:
  case Op::Store:
  case Op::Atomic:
    return memoryHandler(program, instr);
  case Op::CopyAsync:
  case Op::CopyTile:
  case Op::Commit:
  case Op::Wait:
    return asyncHandler(program, instr);
  case Op::LoadMatrix:
  case Op::StoreMatrix:
    return matrixHandler(program, instr);
  case Op::Mma:
  case Op::MmaAsync:
    return mmaHandler(program, instr);
  default:
    break;
  }
  if (instr.op <= Op::Arg && instr.op != Op::End && instr.op != Op::Nop)
    return vectorHandler(program, instr);
  if (instr.op <= Op::MaskPop)
    return controlHandler(program, instr);
  if (instr.op >= Op::MbarrierInit && instr.op <= Op::MbarrierWait)
    return mbarrierHandler(instr);
  return instr.op <= Op::Fence ? syncHandler(program, instr) : lanesHandler(program, instr);
}

/// Instructions after which a wave gives way, where others may wait for what it does or it for others.
static constexpr uint64_t kSlice = 1 << 14;

Prepared::Prepared(const Program &program, const LaunchConfig &config) : program(program), config(config) {
  for (const SlotInfo &info : program.slots) {
    SlotPlace place;
    place.wide = bits(info.type) > 32;
    place.lanes = info.uniform ? 1 : program.waveSize;
    place.words = info.count * place.lanes;
    place.offset = waveBytes;
    waveBytes += (uint64_t(place.words) * (place.wide ? 8 : 4) + 63) / 64 * 64;
    scratchBytes = std::max(scratchBytes, uint64_t(info.count) * program.waveSize * 8);
    slots.push_back(place);
  }
  for (const Instr &instr : program.code) {
    handlers.push_back(handlerOf(program, instr));
    switchPoint.push_back(instr.op >= Op::Load && instr.op <= Op::Fence && instr.op != Op::Mma);
    hasMmaAsync |= instr.op == Op::MmaAsync;
    mayPoll |= instr.op == Op::Jump && instr.index < handlers.size();
  }
  interleaved = mayCommunicate(program, config.buffers);
  if (interleaved || mayPoll)
    slice = kSlice;
  late = config.adversarial || (config.checks && hasMmaAsync);
  lateShared = config.adversarial && !program.rules.barrierCompletesShared;
}

std::array<uint32_t, 3> Wave::id() const {
  const std::array<uint32_t, 3> &cluster = program.cluster;
  uint32_t number = rank();
  return {group.id[0] + number % cluster[0], group.id[1] + number / cluster[0] % cluster[1],
          group.id[2] + number / cluster[0] / cluster[1]};
}

Wave::Wave(Workgroup &group, uint32_t index)
    : group(group), prepared(group.prepared), program(group.program), index(index), lanes(program.waveSize) {
  registers.reset(new (std::align_val_t(64)) std::byte[std::max<uint64_t>(prepared.waveBytes, 64)]);
}

void Wave::reset() {
  std::memset(registers.get(), 0, prepared.waveBytes);
  pc = 0;
  fuel = prepared.config.stepLimit;
  status = Status::Ready;
  active = allLanes();
  masks.clear();
  pendingOf.assign(prepared.hasMmaAsync ? program.slots.size() : 0, 0);
  copies.clear();
  tileStores.clear();
  mmas.clear();
  inFlight.clear();
  loadOf.assign(prepared.lateShared ? program.slots.size() : 0, 0);
  lastRead = Finding::kNone;
  lastReadRegion = nullptr;
  clusterArrivals = clusterWaits = 0;
  hasWaited = false;
  seenChanges = ~0ull;
}

/// Where the innermost loop around an instruction stands: the first jump back over it ends that loop.
static Place loopAround(const Program &program, uint32_t pc) {
  for (uint32_t i = pc; i < program.code.size(); ++i) {
    const Instr &instr = program.code[i];
    if ((instr.op == Op::Jump || instr.op == Op::ForNext) && instr.index <= pc)
      return program.places[instr.place].place;
  }
  return {};
}

void Wave::run() {
  stop = false;
  status = Status::Ready;
  const bool seeded = prepared.config.seed != 0;
  const bool pending = prepared.hasMmaAsync && prepared.late;
  bool first = true;
  const uint64_t pause = fuel > prepared.slice ? fuel - prepared.slice : 0;
  while (!stop) {
    if (fuel == pause) {
      if (fuel == 0) {
        group.errorPlace = loopAround(program, pc);
        group.fail("wave " + group.reporter.waveName(index) + " of workgroup " + std::to_string(group.linear) +
                   " was stopped after " + std::to_string(prepared.config.stepLimit) + " instructions" +
                   (group.errorPlace.known() ? ", in this loop" : ""));
      }
      return;
    }
    --fuel;
    if (seeded && !first && prepared.switchPoint[pc] && (group.random() & 1))
      return;
    first = false;
    const Instr &instr = program.code[pc];
    Handler handler = prepared.handlers[pc];
    ++pc;
    ++group.counts[static_cast<size_t>(instr.op)];
    if (pending)
      checkPending(instr);
    if (!inFlight.empty())
      finishUsed(instr);
    handler(*this, instr);
  }
}

void Wave::noteLoop() {
  // Anything may follow a change: only loops since the last one count. Taking snapshots at doubling distances finds a
  // period of any length (Brent).
  if (group.thread.changes != seenChanges) {
    seenChanges = group.thread.changes;
    loops = 0;
    nextSnapshot = 8;
    snapshot.pc = ~0u;
    return;
  }
  ++loops;
  if (snapshot.pc == pc && snapshot.active == active && snapshot.sizes == queueSizes() &&
      std::memcmp(snapshot.registers.data(), registers.get(), prepared.waveBytes) == 0) {
    status = Status::Polling;
    stop = true;
    return;
  }
  if (loops < nextSnapshot)
    return;
  nextSnapshot *= 2;
  snapshot = {pc, active, queueSizes(), {registers.get(), registers.get() + prepared.waveBytes}};
}

int64_t Wave::uniformInt(Slot slot) {
  switch (program.slots[slot].type) {
  case DType::i64:
    return static_cast<int64_t>(wideWords(slot)[0]);
  case DType::i32:
    return static_cast<int32_t>(words(slot)[0]);
  default:
    return words(slot)[0];
  }
}

Actor Wave::issue(const Instr &instr, CounterKind counter) {
  Agent agent = agentOf(index, counter);
  uint32_t access = group.clocks.issue(agent, instruction(instr));
  return {group.linear, index, agent, access, instruction(instr), false, false};
}

void Wave::requireConverged(const Instr &instr) {
  if (!group.checks || active == allLanes())
    return;
  uint32_t lane = static_cast<uint32_t>(std::countr_one(active));
  report(instr, FindingKind::Divergent,
         group.reporter.nameOf(instruction(instr)) + " needs all lanes of wave " + group.reporter.waveName(index) +
             ", lane " + std::to_string(lane) + " is inactive",
         "move it out of the condition that differs between lanes", lane, 0);
}

void Wave::report(const Instr &instr, FindingKind kind, std::string message, std::string hint, uint32_t lane,
                  int64_t address) {
  Finding finding;
  finding.kind = kind;
  finding.message = std::move(message);
  finding.hint = std::move(hint);
  finding.instruction = instruction(instr);
  finding.workgroup = group.linear;
  finding.wave = index;
  finding.lane = lane;
  finding.address = address;
  group.reporter.add(std::move(finding));
}

// --- Results that an asynchronous mma still owns.

void Wave::checkPending(const Instr &instr) {
  bool carries = instr.op == Op::Move || instr.op == Op::Wait;
  auto look = [&](Slot slot) {
    if (slot == kNoSlot || pendingOf[slot] == 0 ||
        !group.reporter.isNew(FindingKind::PendingValue, instruction(instr), Finding::kNone))
      return;
    report(instr, FindingKind::PendingValue,
           group.reporter.nameOf(instruction(instr)) + " in wave " + group.reporter.waveName(index) +
               " uses a value that `mma_async` has not finished",
           "insert `wait mma 0` before it and use the value that it returns", Finding::kNone, 0);
  };
  if (!carries)
    for (size_t i = 0; i < instr.src.size(); ++i)
      if (!(instr.op == Op::MmaAsync && i == 2))
        look(instr.src[i]);
  if (instr.op == Op::Concat || (instr.op == Op::Mma && instr.poolCount))
    for (uint32_t i = 0; i < instr.poolCount; ++i)
      look(program.pool[instr.pool + i]);
  if (instr.op != Op::Move && instr.op != Op::MmaAsync)
    for (Slot slot : {instr.dst, instr.dst2})
      if (slot != kNoSlot)
        pendingOf[slot] = 0;
}

} // namespace soliton::emu
