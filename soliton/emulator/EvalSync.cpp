//===- EvalSync.cpp - Barriers and fences ---------------------------------===//
//
// A barrier orders execution; which accesses are complete behind it is Clocks' business. A fence completes the wave's
// own accesses and orders its atomic ones (Sync.h).
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

namespace soliton::emu {
namespace {

void release(Workgroup &group, BarrierState &barrier) {
  if (group.checks) {
    ClockSet joined;
    for (uint32_t index : barrier.waiting)
      joined.join(group.clocks.publish(index));
    for (uint32_t index : barrier.waiting)
      group.clocks.acquire(index, joined);
  }
  for (uint32_t index : barrier.waiting)
    group.waves[index]->status = Status::Ready;
  barrier = {};
}

void evalBarrier(Wave &wave, const Instr &instr) {
  wave.requireConverged(instr);
  Workgroup &group = wave.group;
  BarrierState &barrier = group.barriers[instr.sub];
  uint32_t expected = instr.imm ? static_cast<uint32_t>(instr.imm) : wave.program.waves;
  if (barrier.waiting.empty())
    barrier.expected = expected;
  if (barrier.expected != expected)
    wave.report(instr, FindingKind::Divergent,
                group.reporter.nameOf(wave.instruction(instr)) + " in wave " + std::to_string(wave.index) + " counts " +
                    std::to_string(expected) + " waves, another wave counts " + std::to_string(barrier.expected),
                "give all waves the same number", Finding::kNone, 0);
  barrier.waiting.push_back(wave.index);
  group.noteChange();
  if (barrier.waiting.size() >= barrier.expected)
    return release(group, barrier);
  wave.status = Status::AtBarrier;
  wave.stop = true;
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
  return instr.op == Op::Barrier ? evalBarrier : evalFence;
}

} // namespace soliton::emu
