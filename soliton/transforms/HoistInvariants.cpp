//===- HoistInvariants.cpp - What a loop does not change leaves it ------------------===//
//
//   wave.iterate "K" (%0) {                        %q = wave.read %Q
//     %q = wave.read %Q                 becomes    %s = wave.unary exp2 %q
//     %s = wave.unary exp2 %q                      wave.iterate "K" (%0) {
//     …                                              …
//
// An op leaves if its operands, those of its expressions among them, are made outside and it has no effect. A read
// leaves only if nothing in the kernel writes its memory. Done on tiles, before any of them is routed through shared
// memory, so that what leaves is shared once.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Access.h"
#include "soliton/ir/Forms.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace soliton {
#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

static bool isWritten(Value memory) {
  return llvm::any_of(memory.getUsers(), [&](Operation *user) { return writes(user, memory); });
}

static bool isInvariant(Operation *op, IterateOp loop) {
  bool operandsOutside = llvm::all_of(
      op->getOperands(), [&](Value operand) { return !loop->isAncestor(operand.getParentBlock()->getParentOp()); });
  if (!operandsOutside)
    return false;
  if (auto access = dyn_cast<AccessOpInterface>(op))
    return access.getMemoryUses().size() == 1 && !isWritten(access.getIndexedMemory());
  return op->getNumRegions() == 0 && mlir::isPure(op);
}

namespace {
struct HoistInvariantsPass final : impl::HoistInvariantsPassBase<HoistInvariantsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(requireForm(getOperation(), Form::Indexed)))
      return signalPassFailure();
    // Inner loops first: what leaves one may leave the next.
    getOperation().walk([](IterateOp loop) {
      // Of a loop that runs once everything would leave, and nothing would be gained.
      if (loop.getCount() && loop.getCount()->getValue().isConstant(1))
        return;
      for (Operation &op : llvm::make_early_inc_range(loop.block().without_terminator()))
        if (isInvariant(&op, loop))
          op.moveBefore(loop);
    });
  }
};
} // namespace
} // namespace soliton
