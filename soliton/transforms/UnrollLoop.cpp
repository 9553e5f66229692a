#include "soliton/transforms/UnrollLoop.h"

#include "soliton/transforms/LoopProblem.h"

#include "mlir/IR/IRMapping.h"

namespace soliton {
using namespace wave;

/// Shared tiles that every iteration fills anew before it reads them, and nobody else touches: each copy of the body
/// has its own, so that the copies need not wait for each other.
static SmallVector<AllocateOp> tilesOfOneIteration(IterateOp loop) {
  llvm::SetVector<AllocateOp> tiles;
  llvm::SmallPtrSet<Operation *, 4> readFirst;
  for (Operation &op : loop.block()) {
    AllocateOp tile = sharedTileOf(&op);
    if (tile && isa<ReadOp>(op) && !tiles.contains(tile))
      readFirst.insert(tile);
    else if (tile && !readFirst.contains(tile))
      tiles.insert(tile);
  }
  tiles.remove_if([&](AllocateOp tile) {
    return llvm::any_of(tile.getResult().getUsers(), [&](Operation *user) { return !loop->isAncestor(user); });
  });
  return tiles.takeVector();
}

IterateOp unrollLoop(IterateOp loop, int factor, IndexSymbols &symbols) {
  SmallVector<AllocateOp> tiles = tilesOfOneIteration(loop);
  OpBuilder builder(loop);
  sym::Expr count = sym::simplify(sym::floordiv(loop.getCount()->getValue(), factor));
  auto unrolled = IterateOp::create(builder, loop.getLoc(), loop.getResultTypes(), loop.getAxis(), loop.getInits(),
                                    loop.getSymbols(), exprAttr(builder.getContext(), count), loop.getTagsAttr());
  Block &body = unrolled.makeBody();
  SmallVector<Value> carried(unrolled.carried());
  sym::Expr iteration = symbols.symbol(loop.iteration()), trip = symbols.symbol(unrolled.iteration());
  builder.setInsertionPointToEnd(&body);
  for (int copy = 0; copy < factor; ++copy) {
    mlir::IRMapping mapping;
    mapping.map(loop.carried(), carried);
    for (AllocateOp tile : copy ? ArrayRef<AllocateOp>(tiles) : ArrayRef<AllocateOp>()) {
      OpBuilder beside(tile);
      mapping.map(tile.getResult(), beside.clone(*tile)->getResult(0));
    }
    for (Operation &op : loop.block().without_terminator()) {
      Operation *clone = builder.clone(op, mapping);
      rewriteExpressions(clone, symbols,
                         [&](sym::Expr expr) { return sym::substitute(expr, {{iteration, trip * factor + copy}}); });
      if (auto origin = op.getAttrOfType<OriginAttr>("origin"))
        clone->setAttr("origin", OriginAttr::get(op.getContext(), origin.getOp(), origin.getRole(), origin.getPiece(),
                                                 origin.getCopy() * factor + copy, origin.getTags()));
    }
    for (auto [next, value] : llvm::zip(carried, loop.block().getTerminator()->getOperands()))
      next = mapping.lookupOrDefault(value);
  }
  YieldOp::create(builder, loop.getLoc(), carried);
  return unrolled;
}

} // namespace soliton
