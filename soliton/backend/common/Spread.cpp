//===- Spread.cpp - Values that repeat others are made where they are needed ----------------===//

#include "soliton/backend/common/Spread.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SmallSet.h"

namespace soliton::backend {

static bool isSpread(mlir::Operation &op) {
  if (llvm::isa<mlir::vector::BroadcastOp>(op))
    return true;
  auto shuffle = llvm::dyn_cast<mlir::vector::ShuffleOp>(op);
  if (!shuffle)
    return false;
  auto count = llvm::cast<mlir::VectorType>(shuffle.getV1().getType()).getNumElements();
  bool isOne = shuffle.getV1() == shuffle.getV2();
  llvm::SmallSet<int64_t, 16> taken;
  return llvm::any_of(shuffle.getMask(),
                      [&](int64_t from) { return from >= 0 && !taken.insert(isOne ? from % count : from).second; });
}

/// From the last op to the first, so that a user has its final place when what it uses looks for one.
static void sinkSpreads(mlir::Block &block) {
  llvm::DenseMap<mlir::Operation *, int64_t> places;
  llvm::SmallVector<mlir::Operation *> spreads;
  for (mlir::Operation &op : block) {
    places[&op] = static_cast<int64_t>(places.size());
    if (isSpread(op))
      spreads.push_back(&op);
  }
  for (mlir::Operation *op : llvm::reverse(spreads)) {
    mlir::Operation *first = nullptr;
    for (mlir::Operation *user : op->getUsers()) {
      user = block.findAncestorOpInBlock(*user);
      if (!first || places.lookup(user) < places.lookup(first))
        first = user;
    }
    if (!first)
      continue;
    op->moveBefore(first);
    places[op] = places.lookup(first);
  }
}

void sinkSpreads(machine::KernelOp kernel) {
  kernel->walk([](mlir::Block *block) { sinkSpreads(*block); });
}

} // namespace soliton::backend
