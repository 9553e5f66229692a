#include "soliton/transforms/UnrollLoop.h"

#include "soliton/transforms/LoopProblem.h"

#include "mlir/IR/IRMapping.h"

namespace soliton {
using namespace wave;

static Attribute substituted(Attribute attribute, const sym::Substitution &by) {
  if (auto expr = dyn_cast<ExprAttr>(attribute))
    return exprAttr(attribute.getContext(), sym::substitute(expr.getValue(), by));
  if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    SmallVector<Attribute> entries;
    for (Attribute entry : array)
      entries.push_back(substituted(entry, by));
    return ArrayAttr::get(attribute.getContext(), entries);
  }
  return attribute;
}

void substituteInAttributes(Operation *op, sym::Expr symbol, sym::Expr value) {
  sym::Substitution by;
  by.set(symbol, value);
  for (mlir::NamedAttribute attribute : llvm::to_vector(op->getAttrs()))
    op->setAttr(attribute.getName(), substituted(attribute.getValue(), by));
}

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

IterateOp unrollLoop(IterateOp loop, int factor) {
  SmallVector<AllocateOp> tiles = tilesOfOneIteration(loop);
  OpBuilder builder(loop);
  sym::Expr count = sym::simplify(sym::floordiv(loop.getCount()->getValue(), factor));
  auto unrolled = IterateOp::create(builder, loop.getLoc(), loop.getResultTypes(), loop.getAxis(), loop.getInits(),
                                    exprAttr(builder.getContext(), count), loop.getTagsAttr());
  Block &body = unrolled.getBody().emplaceBlock();
  SmallVector<Value> carried;
  for (BlockArgument argument : loop.block().getArguments())
    carried.push_back(body.addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToEnd(&body);
  for (int copy = 0; copy < factor; ++copy) {
    mlir::IRMapping mapping;
    mapping.map(loop.block().getArguments(), carried);
    for (AllocateOp tile : copy ? ArrayRef<AllocateOp>(tiles) : ArrayRef<AllocateOp>()) {
      OpBuilder beside(tile);
      mapping.map(tile.getResult(), beside.clone(*tile)->getResult(0));
    }
    for (Operation &op : loop.block().without_terminator()) {
      Operation *clone = builder.clone(op, mapping);
      substituteInAttributes(clone, loop.inductionSymbol(), loop.inductionSymbol() * factor + copy);
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
