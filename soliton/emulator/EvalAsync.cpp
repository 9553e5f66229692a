//===- EvalAsync.cpp - copy_async, commit and wait ------------------------===//
//
// An asynchronous copy is judged when it is issued and done when it is issued too, or, if results are to come as late
// as is legal, when a wait of its own wave retires it; until then its bytes are NaN patterns.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <cstring>

namespace soliton::emu {
namespace {

bool isCounted(CounterKind counter) {
  return counter == CounterKind::shared || counter == CounterKind::vm;
}

void apply(Wave &wave, const PendingCopy &copy) {
  wave.group.noteChange();
  for (size_t i = 0; i < copy.to.size(); ++i)
    std::memcpy(wave.group.shared.data() + copy.to[i], copy.data.data() + i * copy.bytes, copy.bytes);
}

/// The copy's destinations and data; lanes without a source write zeros.
PendingCopy gather(const LaneAccess &from, const LaneAccess &to) {
  PendingCopy copy;
  copy.bytes = to.bytes;
  copy.data.resize(size_t(std::popcount(to.mask)) * to.bytes);
  uint8_t *data = copy.data.data();
  for (uint64_t rest = to.mask; rest; rest &= rest - 1) {
    uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
    copy.to.push_back(static_cast<uint32_t>(to.origin + to.at[lane]));
    if (from.mask >> lane & 1)
      std::memcpy(data, from.base + from.at[lane], to.bytes);
    data += to.bytes;
  }
  return copy;
}

void evalCopyAsync(Wave &wave, const Instr &instr) {
  Workgroup &group = wave.group;
  auto counter = static_cast<CounterKind>(instr.sub);
  auto bytes = static_cast<uint32_t>(instr.imm);
  LaneAccess from =
      wave.resolve(instr, wave.program.addresses[instr.index], bytes, {.mask = instr.src[0], .flags = instr.flags});
  LaneAccess to = wave.resolve(
      instr, wave.program.addresses[instr.index2], bytes,
      {.mask = instr.flags & kZeroFill ? kNoSlot : instr.src[0], .laneStride = instr.flags & kLaneOrder ? bytes : 0});
  Actor actor = wave.issue(instr, counter);
  if (group.checks) {
    judgeAlignment(wave, instr, from);
    judgeAlignment(wave, instr, to);
    judgeRuns(wave, actor, from, false);
    judgeRuns(wave, actor, to, true);
  }
  PendingCopy copy = gather(from, to);
  copy.counter = counter;
  copy.access = actor.access;
  if (!wave.prepared.late)
    return apply(wave, copy);
  for (uint32_t start : copy.to)
    std::memset(group.shared.data() + start, 0xff, copy.bytes);
  wave.copies.push_back(std::move(copy));
}

/// Groups of these counters belong to lanes, or are closed by all of them together: a divergent wave would leave some
/// lanes with other groups.
bool isOfAllLanes(CounterKind counter) {
  return counter == CounterKind::cpAsync || counter == CounterKind::mma;
}

void evalCommit(Wave &wave, const Instr &instr) {
  if (isOfAllLanes(static_cast<CounterKind>(instr.sub)))
    wave.requireConverged(instr);
  Clocks &clocks = wave.group.clocks;
  clocks.counter(agentOf(wave.index, static_cast<CounterKind>(instr.sub))).commit();
  if (instr.sub == uint8_t(CounterKind::bulk))
    clocks.counter(bulkReaderOf(wave.index)).commit();
}

/// `wait` hands its values on; one that is still pending is a finding.
template <typename T>
void passOn(Wave &wave, const Instr &instr, Slot from, Slot to) {
  const SlotPlace &place = wave.prepared.slots[to];
  const T *words = wave.read<T>(from, place.lanes != 1, 0);
  if (words != wave.write<T>(to))
    std::copy_n(words, place.words, wave.write<T>(to));
  if (wave.pendingOf.empty())
    return;
  wave.pendingOf[to] = wave.pendingOf[from];
  if (wave.pendingOf[from])
    wave.report(instr, FindingKind::PendingValue,
                wave.group.reporter.nameOf(wave.instruction(instr)) + " in wave " +
                    wave.group.reporter.waveName(wave.index) + " returns a value whose `mma_async` it leaves pending",
                "wait for fewer pending groups, or commit the group first", Finding::kNone, 0);
}

void evalWait(Wave &wave, const Instr &instr) {
  auto counter = static_cast<CounterKind>(instr.sub);
  auto pending = static_cast<uint32_t>(instr.imm);
  if (isOfAllLanes(counter))
    wave.requireConverged(instr);
  uint32_t most = wave.program.rules.counterMax[instr.sub];
  if (pending > most)
    wave.report(instr, FindingKind::CounterOverflow,
                "`wait " + std::string(name(counter)) + "` leaves " + std::to_string(pending) +
                    " pending, expected at most " + std::to_string(most),
                "wait for a smaller number", Finding::kNone, 0);
  Clocks &clocks = wave.group.clocks;
  if (counter == CounterKind::bulk) {
    Agent reader = bulkReaderOf(wave.index);
    clocks.counter(reader).wait(pending, false);
    clocks.retire(wave.index, reader);
    retireReads(wave);
    if (instr.flags & kReadOnly)
      return;
  }
  Agent agent = agentOf(wave.index, counter);
  clocks.counter(agent).wait(pending, isCounted(counter));
  clocks.retire(wave.index, agent);
  retire(wave, counter);
  for (uint32_t i = 0; i < instr.poolCount; i += 2) {
    Slot from = wave.program.pool[instr.pool + i], to = wave.program.pool[instr.pool + i + 1];
    wave.prepared.slots[to].wide ? passOn<uint64_t>(wave, instr, from, to) : passOn<uint32_t>(wave, instr, from, to);
  }
}

} // namespace

void retireReads(Wave &wave) {
  uint32_t done = wave.group.clocks.counter(bulkReaderOf(wave.index)).done;
  for (PendingTile &tile : wave.tileStores)
    if (tile.readAccess <= done)
      captureTile(wave, wave.program.code[tile.instruction], tile);
}

void retire(Wave &wave, CounterKind counter) {
  uint32_t done = wave.group.clocks.counter(agentOf(wave.index, counter)).done;
  if (counter == CounterKind::shared)
    wave.finishShared(done);
  if (counter == CounterKind::vm || counter == CounterKind::cpAsync) {
    auto isDone = [&](const PendingCopy &copy) { return copy.counter == counter && copy.access <= done; };
    for (const PendingCopy &copy : wave.copies)
      if (isDone(copy))
        apply(wave, copy);
    std::erase_if(wave.copies, isDone);
  }
  while (counter == CounterKind::bulk && !wave.tileStores.empty() && wave.tileStores.front().access <= done) {
    PendingTile &tile = wave.tileStores.front();
    runTile(wave, wave.program.code[tile.instruction], tile);
    wave.tileStores.pop_front();
  }
  while (counter == CounterKind::mma && !wave.mmas.empty() && wave.mmas.front().access <= done) {
    PendingMma mma = std::move(wave.mmas.front());
    wave.mmas.pop_front();
    finishMma(wave, mma);
  }
}

void drain(Wave &wave) {
  const CounterState &bulk = wave.group.clocks.counter(bulkReaderOf(wave.index));
  if (wave.group.checks && bulk.issued > bulk.done) {
    Finding finding;
    finding.kind = FindingKind::MissingWait;
    finding.instruction = wave.pc - 1;
    finding.other = wave.group.clocks.instructionOf(bulkReaderOf(wave.index), bulk.issued);
    finding.message = "wave " + wave.group.reporter.waveName(wave.index) + " ends while " +
                      wave.group.reporter.nameOf(finding.other) + " may still read shared memory";
    finding.hint = "insert `commit bulk` and `wait bulk 0` before the end";
    finding.workgroup = wave.group.linear;
    finding.wave = wave.index;
    wave.group.reporter.add(std::move(finding));
  }
  wave.finishAllShared();
  for (const PendingCopy &copy : wave.copies)
    apply(wave, copy);
  wave.copies.clear();
  for (PendingTile &tile : wave.tileStores)
    runTile(wave, wave.program.code[tile.instruction], tile);
  wave.tileStores.clear();
  wave.mmas.clear();
}

Handler asyncHandler(const Program &, const Instr &instr) {
  switch (instr.op) {
  case Op::CopyAsync:
    return evalCopyAsync;
  case Op::CopyTile:
    return evalCopyTile;
  case Op::Commit:
    return evalCommit;
  default:
    return evalWait;
  }
}

} // namespace soliton::emu
