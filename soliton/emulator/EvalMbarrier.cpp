//===- EvalMbarrier.cpp - Barriers in shared memory with phases and bytes -===//
//
// A phase is complete when all arrivals have come and all expected bytes are written; `wait parity` goes on when the
// phase of that parity is complete: at first parity 0 waits and parity 1 does not. Waiting acquires what every arrival
// released, and the bytes of the tile copies that the phase counted.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>

namespace soliton::emu {

static void completePhases(Workgroup &group, Mbarrier &mbarrier) {
  if (mbarrier.pending != 0 || mbarrier.bytes != 0)
    return;
  ++mbarrier.phase;
  mbarrier.pending = mbarrier.count;
  mbarrier.completed.join(mbarrier.arriving);
  group.clocks.issue(mbarrier.agent, Finding::kNone);
}

void completeBytes(Workgroup &group, Mbarrier &mbarrier, uint32_t bytes) {
  group.noteChange();
  mbarrier.bytes -= bytes;
  completePhases(group, mbarrier);
}

bool issuesOnce(Wave &wave, const Instr &instr) {
  if (wave.active != 0 && wave.active != wave.allLanes() && !std::has_single_bit(wave.active))
    wave.report(instr, FindingKind::Divergent,
                wave.group.reporter.nameOf(wave.instruction(instr)) + " in wave " +
                    wave.group.reporter.waveName(wave.index) + " is issued by " +
                    std::to_string(std::popcount(wave.active)) + " lanes, expected one",
                "let one lane issue it", static_cast<uint32_t>(std::countr_zero(wave.active)), 0);
  return wave.active != 0;
}

/// Whether that workgroup of the cluster is there.
bool isThere(Wave &wave, const Instr &instr, uint32_t rank) {
  uint32_t size = wave.program.clusterSize();
  if (rank < size && !wave.group.hasLeft(rank))
    return true;
  wave.report(instr, FindingKind::MbarrierMisuse,
              wave.group.reporter.nameOf(wave.instruction(instr)) + " in wave " +
                  wave.group.reporter.waveName(wave.index) + " speaks of workgroup " + std::to_string(rank) +
                  (rank < size ? " of the cluster, which has ended"
                               : " of a cluster of " + std::to_string(size) + " workgroups"),
              rank < size ? "let the workgroups of a cluster meet before they end" : "name one that there is",
              Finding::kNone, rank);
  return false;
}

void noteReach(Wave &wave, const Instr &instr, uint32_t rank) {
  Workgroup &group = wave.group;
  Agent agent = agentOf(wave.index, CounterKind::shared);
  if (group.checks && rank != wave.rank())
    group.reached[rank * group.waves.size() + wave.index] = {
        group.linear, wave.index, agent, group.clocks.counter(agent).issued, wave.instruction(instr), false, false};
}

void judgeLeave(Wave &wave, const Instr &instr) {
  Workgroup &group = wave.group;
  if (!group.checks || wave.program.clusterSize() == 1 || !group.hasLeft(wave.rank()))
    return;
  uint32_t first = wave.rank() * wave.program.waves;
  for (size_t other = 0; other < group.waves.size(); ++other) {
    const Actor &actor = group.reached[wave.rank() * group.waves.size() + other];
    bool isKnown = actor.access == 0;
    for (uint32_t own = first; own < first + wave.program.waves; ++own)
      isKnown |= group.clocks.known(own)[actor.agent] >= actor.access;
    if (isKnown)
      continue;
    Finding finding;
    finding.kind = FindingKind::MbarrierMisuse;
    finding.message = group.reporter.nameOf(actor.instruction) + " in wave " + group.reporter.waveName(actor.wave) +
                      " reaches workgroup " + std::to_string(wave.rank()) +
                      " of the cluster, which ends without knowing that it has";
    finding.hint = "let the workgroups of a cluster meet before they end";
    finding.instruction = actor.instruction;
    finding.other = wave.instruction(instr);
    finding.workgroup = group.linear;
    finding.wave = actor.wave;
    group.reporter.add(std::move(finding));
  }
}

Mbarrier *mbarrierOf(Wave &wave, const Instr &instr, const Address &address, uint32_t rank) {
  Workgroup &group = wave.group;
  uint32_t at = 0;
  if (!wave.resolveShared(instr, address, 8, at) || !isThere(wave, instr, rank))
    return nullptr;
  uint32_t place = at - wave.block();
  at = rank * wave.program.blockDistance() + place;
  Mbarrier *mbarrier = group.findMbarrier(at);
  std::string name = group.reporter.nameOf(wave.instruction(instr));
  if (!mbarrier || !mbarrier->live) {
    wave.report(instr, FindingKind::MbarrierMisuse,
                name + " in wave " + group.reporter.waveName(wave.index) + " at shared byte " + std::to_string(place) +
                    (rank == wave.rank() ? "" : " of workgroup " + std::to_string(rank) + " of the cluster") +
                    ", where no mbarrier was made",
                "insert `mbarrier init` + `barrier` before", Finding::kNone, place);
    return nullptr;
  }
  const Actor &maker = mbarrier->maker;
  if (!group.checks || maker.wave == wave.index || group.clocks.known(wave.index)[maker.agent] >= maker.access)
    return mbarrier;
  Actor actor{group.linear, wave.index, 0, 0, wave.instruction(instr), false, false};
  Finding finding;
  finding.kind = judge(group.clocks, actor, maker.agent, maker.access);
  finding.hint = repairOf(finding.kind, group.clocks, actor, maker.agent, maker.access);
  finding.message = name + " in wave " + group.reporter.waveName(wave.index) + " is not ordered after " +
                    group.reporter.nameOf(maker.instruction) + " of wave " + group.reporter.waveName(maker.wave);
  finding.instruction = wave.instruction(instr);
  finding.other = maker.instruction;
  finding.workgroup = group.linear;
  finding.wave = wave.index;
  finding.address = at;
  group.reporter.add(std::move(finding));
  return mbarrier;
}

namespace {

void evalInit(Wave &wave, const Instr &instr) {
  Workgroup &group = wave.group;
  uint32_t at = 0;
  if (!issuesOnce(wave, instr) || !wave.resolveShared(instr, wave.program.addresses[instr.index], 8, at))
    return;
  if (at % 8 != 0)
    return wave.report(instr, FindingKind::Misaligned,
                       "mbarrier at shared byte " + std::to_string(at) + ", expected a multiple of 8", "align it",
                       Finding::kNone, at);
  Mbarrier *mbarrier = group.findMbarrier(at);
  if (!mbarrier) {
    if (group.mbarriers.size() >= 1024)
      return group.fail("more than 1024 mbarriers");
    mbarrier = &group.mbarriers.emplace_back();
    mbarrier->address = at;
    mbarrier->agent = group.clocks.addAgent();
  }
  group.noteChange();
  Agent agent = mbarrier->agent;
  *mbarrier = {};
  mbarrier->address = at;
  mbarrier->agent = agent;
  mbarrier->live = true;
  mbarrier->count = static_cast<uint32_t>(instr.imm);
  mbarrier->pending = instr.imm;
  mbarrier->maker = wave.issue(instr, CounterKind::shared);
  group.clocks.issue(agent, Finding::kNone);
  if (!group.checks)
    return;
  group.sharedChecker.begin(mbarrier->maker);
  group.sharedChecker.write(at, 8, 0);
}

void arrive(Wave &wave, const Instr &instr, Mbarrier &mbarrier, int64_t arrivals) {
  Workgroup &group = wave.group;
  group.noteChange();
  if (uint32_t rank = mbarrier.address / wave.program.blockDistance(); group.checks && rank != wave.rank()) {
    wave.issue(instr, CounterKind::shared);
    noteReach(wave, instr, rank);
  }
  if (group.checks)
    mbarrier.arriving.join(group.clocks.publish(wave.index));
  mbarrier.pending -= arrivals;
  if (mbarrier.pending < 0) {
    wave.report(instr, FindingKind::MbarrierMisuse,
                group.reporter.nameOf(wave.instruction(instr)) + " in wave " + group.reporter.waveName(wave.index) +
                    " is one arrival too many for the mbarrier at shared byte " +
                    std::to_string(mbarrier.address % wave.program.blockDistance()) + ", which expects " +
                    std::to_string(mbarrier.count) + " in a phase",
                "init it with the number of arrivals", Finding::kNone, mbarrier.address);
    mbarrier.pending = 0;
  }
  completePhases(group, mbarrier);
}

/// How many lanes issue it.
int64_t issuers(Wave &wave, const Instr &instr) {
  return instr.flags & kPerLane ? std::popcount(wave.active) : issuesOnce(wave, instr);
}

/// The workgroup of the cluster whose mbarrier is meant.
uint32_t rankOf(Wave &wave, const Instr &instr) {
  return instr.src[1] == kNoSlot ? wave.rank() : wave.words(instr.src[1])[0];
}

void evalArrive(Wave &wave, const Instr &instr) {
  int64_t each = issuers(wave, instr);
  if (each == 0)
    return;
  if (Mbarrier *mbarrier = mbarrierOf(wave, instr, wave.program.addresses[instr.index], rankOf(wave, instr)))
    arrive(wave, instr, *mbarrier, instr.imm * each);
}

void evalExpect(Wave &wave, const Instr &instr) {
  int64_t each = issuers(wave, instr);
  Mbarrier *mbarrier =
      each ? mbarrierOf(wave, instr, wave.program.addresses[instr.index], rankOf(wave, instr)) : nullptr;
  if (!mbarrier)
    return;
  int64_t bytes = each * (instr.src[0] == kNoSlot ? instr.imm : int64_t(wave.words(instr.src[0])[0]));
  constexpr int64_t most = (1 << 20) - 1;
  if (mbarrier->bytes + bytes > most)
    wave.report(instr, FindingKind::CounterOverflow,
                "the mbarrier at shared byte " + std::to_string(mbarrier->address) + " expects " +
                    std::to_string(mbarrier->bytes + bytes) + " bytes in a phase, expected at most " +
                    std::to_string(most),
                "split the copies over several mbarriers", Finding::kNone, mbarrier->address);
  wave.group.noteChange();
  mbarrier->bytes += std::min(bytes, most);
  if (instr.flags & kArrive)
    arrive(wave, instr, *mbarrier, each);
}

bool isComplete(const Mbarrier &mbarrier, uint32_t parity) {
  return (mbarrier.phase & 1) != parity;
}

void evalWait(Wave &wave, const Instr &instr) {
  Workgroup &group = wave.group;
  Mbarrier *mbarrier = mbarrierOf(wave, instr, wave.program.addresses[instr.index], wave.rank());
  if (!mbarrier)
    return;
  uint32_t parity = wave.words(instr.src[0])[0] & 1;
  while (!isComplete(*mbarrier, parity) && !mbarrier->loads.empty()) {
    auto [issuer, tile] = mbarrier->loads.front();
    mbarrier->loads.pop_front();
    const Instr &copy = wave.program.code[tile.instruction];
    runTile(*group.waves[issuer], copy, tile);
    completeBytes(group, *mbarrier, boxBytes(wave.program.maps[size_t(copy.imm)]));
  }
  if (!isComplete(*mbarrier, parity)) {
    --wave.pc;
    --group.counts[static_cast<size_t>(Op::MbarrierWait)];
    wave.status = Status::AtMbarrier;
    wave.mbarrier = mbarrier->address;
    wave.stop = true;
    return;
  }
  if (!group.checks)
    return;
  group.clocks.acquire(wave.index, mbarrier->completed);
  group.clocks.acquireAgent(wave.index, mbarrier->agent, group.clocks.counter(mbarrier->agent).issued - 1);
}

} // namespace

Handler mbarrierHandler(const Instr &instr) {
  switch (instr.op) {
  case Op::MbarrierInit:
    return evalInit;
  case Op::MbarrierArrive:
    return evalArrive;
  case Op::MbarrierExpect:
    return evalExpect;
  default:
    return evalWait;
  }
}

} // namespace soliton::emu
