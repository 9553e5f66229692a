//===- LateShared.cpp - Accesses of shared memory that take their time ----===//
//
// Where no barrier completes them, a wave's loads and stores of shared memory are done in order, each at the last
// moment that its wave allows: `wait shared n`, a fence, or the first use of a value that this one or a younger load
// brings. A store that was not waited for is then seen too late by others; a load sees what others wrote meanwhile.
//
//   store a          queued
//   b = load         queued
//   barrier          other waves may go on and see neither
//   c = add b, 1     uses b: store a is done, then the load
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

namespace soliton::emu {
namespace {

/// Ops whose `index` and `index2` may be addresses.
bool mayAddress(Op op) {
  return op >= Op::Load && op <= Op::Fence && op != Op::Barrier && op != Op::ClusterArrive && op != Op::ClusterWait &&
         op != Op::GridWait && op != Op::Fence && op != Op::Wait && op != Op::Mma;
}

bool hasSlotsInPool(Op op) {
  return op == Op::Concat || op == Op::Mma || op == Op::MmaAsync || op == Op::Wait || op == Op::CopyTile;
}

/// Ops that go through the same queue at once, or read the shared block from outside of it.
bool needsAll(Op op) {
  return op == Op::Atomic || op == Op::LoadMatrix || op == Op::StoreMatrix || op == Op::MmaAsync || op == Op::CopyTile;
}

} // namespace

void Wave::defer(PendingShared pending) {
  pending.access = group.clocks.counter(agentOf(index, CounterKind::shared)).issued;
  if (pending.instr->op == Op::Load)
    loadOf[pending.instr->dst] = pending.access;
  inFlight.push_back(std::move(pending));
}

void Wave::finishShared(uint32_t access) {
  while (!inFlight.empty() && inFlight.front().access <= access) {
    PendingShared pending = std::move(inFlight.front());
    inFlight.pop_front();
    if (pending.instr->op == Op::Load && loadOf[pending.instr->dst] == pending.access)
      loadOf[pending.instr->dst] = 0;
    pending.finish(*this, pending);
  }
}

void Wave::finishUsed(const Instr &instr) {
  if (needsAll(instr.op))
    return finishAllShared();
  uint32_t youngest = 0;
  auto use = [&](Slot slot) {
    if (slot < loadOf.size())
      youngest = std::max(youngest, loadOf[slot]);
  };
  use(instr.dst);
  use(instr.dst2);
  for (Slot slot : instr.src)
    use(slot);
  for (uint32_t i = 0; hasSlotsInPool(instr.op) && i < instr.poolCount; ++i)
    use(program.pool[instr.pool + i]);
  for (uint32_t which : {instr.index, instr.index2})
    if (mayAddress(instr.op) && which < program.addresses.size()) {
      const Address &address = program.addresses[which];
      for (Slot slot : {address.lane, address.uniform, address.base, address.limit})
        use(slot);
    }
  if (youngest)
    finishShared(youngest);
}

} // namespace soliton::emu
