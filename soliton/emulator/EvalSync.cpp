//===- EvalSync.cpp - Barriers and fences ---------------------------------===//
//
// A barrier orders execution; which accesses are complete behind it is Clocks' business. A fence completes the wave's
// own accesses and orders its atomic ones (Sync.h).
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>

namespace soliton::emu {
namespace {

void release(Workgroup &group, BarrierState &barrier) {
  if (group.checks) {
    ClockSet joined = barrier.arriving;
    for (uint32_t index : barrier.waiting)
      joined.join(group.clocks.publish(index));
    for (uint32_t index : barrier.waiting)
      group.clocks.acquire(index, joined);
  }
  for (uint32_t index : barrier.waiting)
    group.waves[index]->status = Status::Ready;
  barrier = {};
}

/// A wave arrives and goes on; its next arrival comes behind those that waited for this one.
bool arrive(Wave &wave, const Instr &instr, BarrierState &barrier) {
  Workgroup &group = wave.group;
  if (std::ranges::count(barrier.arrived, wave.index) > 0) {
    wave.report(instr, FindingKind::Divergent,
                group.reporter.nameOf(wave.instruction(instr)) + " in wave " + group.reporter.waveName(wave.index) +
                    " arrives at a barrier twice, and nobody has waited there meanwhile",
                "let as many waves wait for a turn as are told that it is theirs", Finding::kNone, 0);
    return false;
  }
  barrier.arrived.push_back(wave.index);
  if (group.checks)
    barrier.arriving.join(group.clocks.publish(wave.index));
  return true;
}

void evalBarrier(Wave &wave, const Instr &instr) {
  wave.requireConverged(instr);
  Workgroup &group = wave.group;
  uint32_t number = instr.sub + (instr.src[0] == kNoSlot ? 0 : wave.words(instr.src[0])[0]);
  if (number > 15) {
    group.fail(group.reporter.nameOf(wave.instruction(instr)) + " is barrier " + std::to_string(number) +
               ", which does not exist; there are 16");
    return;
  }
  BarrierState &barrier = group.barriers[size_t(16) * wave.rank() + number];
  uint32_t expected = instr.imm ? static_cast<uint32_t>(instr.imm) : wave.program.waves;
  if (barrier.come() == 0)
    barrier.expected = expected;
  if (barrier.expected != expected)
    wave.report(instr, FindingKind::Divergent,
                group.reporter.nameOf(wave.instruction(instr)) + " in wave " + group.reporter.waveName(wave.index) +
                    " counts " + std::to_string(expected) + " waves, another wave counts " +
                    std::to_string(barrier.expected),
                "give all waves the same number", Finding::kNone, 0);
  bool arrives = (instr.flags & kArrives) != 0;
  if (arrives && !arrive(wave, instr, barrier))
    return;
  if (!arrives)
    barrier.waiting.push_back(wave.index);
  group.noteChange();
  if (barrier.come() >= barrier.expected)
    return release(group, barrier);
  if (arrives)
    return;
  wave.barrier = number;
  wave.status = Status::AtBarrier;
  wave.stop = true;
}

/// Complete when every wave that has not ended has come.
void completeCluster(Workgroup &group) {
  ClusterBarrier &barrier = group.clusterBarrier;
  for (const std::unique_ptr<Wave> &wave : group.waves)
    if (wave->status != Status::Ended && wave->clusterArrivals <= barrier.phase)
      return;
  ++barrier.phase;
  barrier.completed.join(barrier.arriving);
  group.noteChange();
}

void reportTurn(Wave &wave, const Instr &instr, const char *what) {
  wave.report(instr, FindingKind::Divergent,
              wave.group.reporter.nameOf(wave.instruction(instr)) + " in wave " +
                  wave.group.reporter.waveName(wave.index) + what,
              "let each wave arrive and wait in turns", Finding::kNone, 0);
}

/// Launches run one after the other; all there is to know is who waited.
void evalGridWait(Wave &wave, const Instr &) {
  wave.hasWaited = true;
}

void evalClusterArrive(Wave &wave, const Instr &instr) {
  wave.requireConverged(instr);
  Workgroup &group = wave.group;
  if (wave.clusterArrivals > wave.clusterWaits)
    return reportTurn(wave, instr, " arrives at the barrier of its cluster twice, expected a wait between");
  ++wave.clusterArrivals;
  group.noteChange();
  if (group.checks)
    group.clusterBarrier.arriving.join(group.clocks.publish(wave.index));
  completeCluster(group);
}

void evalClusterWait(Wave &wave, const Instr &instr) {
  wave.requireConverged(instr);
  Workgroup &group = wave.group;
  ClusterBarrier &barrier = group.clusterBarrier;
  if (wave.clusterArrivals <= wave.clusterWaits)
    return reportTurn(wave, instr, " waits at the barrier of its cluster, expected that it has arrived there");
  if (barrier.phase < wave.clusterArrivals)
    completeCluster(group);
  if (barrier.phase < wave.clusterArrivals) {
    --wave.pc;
    --group.counts[static_cast<size_t>(Op::ClusterWait)];
    wave.status = Status::AtCluster;
    wave.stop = true;
    return;
  }
  ++wave.clusterWaits;
  if (group.checks)
    group.clocks.acquire(wave.index, barrier.completed);
}

void evalFence(Wave &wave, const Instr &instr) {
  Clocks &clocks = wave.group.clocks;
  switch (static_cast<FenceOp>(instr.sub)) {
  case FenceOp::Shared:
    clocks.complete(wave.index, CounterKind::shared);
    retire(wave, CounterKind::shared);
    break;
  case FenceOp::Global:
    clocks.complete(wave.index, CounterKind::vm);
    retire(wave, CounterKind::vm);
    break;
  case FenceOp::Proxy:
    return clocks.fenceProxy(wave.index);
  case FenceOp::Mma:
    return;
  }
  if (wave.group.checks)
    SyncTable::fence(clocks, wave.index, instr);
}

} // namespace

Handler syncHandler(const Program &, const Instr &instr) {
  switch (instr.op) {
  case Op::Barrier:
    return evalBarrier;
  case Op::ClusterArrive:
    return evalClusterArrive;
  case Op::ClusterWait:
    return evalClusterWait;
  case Op::GridWait:
    return evalGridWait;
  default:
    return evalFence;
  }
}

} // namespace soliton::emu
