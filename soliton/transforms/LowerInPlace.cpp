//===- LowerInPlace.cpp - Matrix instructions that read shared memory by themselves -----===//
//
// Products of one block form a group: they are issued one after the other, and the group is waited for before anybody
// could tell that they were not complete where they stand, as all proofs take them to be: before an op that uses a
// result, that writes what they read, or at which waves meet, and before control flow.
//
//   %1 = wave.mma %a0, %b0, %c          %1 = machine.mma_async lhs %ta0, %tb0, %c
//   wave.copy %x, %s                    machine.copy_async                            another buffer
//   %2 = wave.mma %a1, %b1, %1  becomes %2 = machine.mma_async lhs %ta1, %tb1, %1
//   wave.barrier                        machine.commit mma
//                                       %3 = machine.wait mma, 0 (%2)
//                                       machine.barrier
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"

namespace soliton {
using namespace wave;

/// The descriptor of what one instruction reads of a factor: it begins with the part of the first of its waves.
Value MachineLowering::tileInPlace(ReadOp factor, MmaOp product, const MmaKind &kind) {
  auto tile = factor.getMemory().getDefiningOp<AllocateOp>();
  MemoryType type = tile.getResult().getType();
  const SharedMap &map = type.getMap().getValue();
  InPlaceTile lies = inPlaceTileOf(map, elementBytes(type.getElementType()));
  bool alongK = map.dims.back().dim == Dim(product.getContractedDim().getValue().str());
  sym::Expr first = sym::floordiv(waveSymbol(), kind.waves) * kind.waves;
  sym::Expr offset =
      sym::substitute(Access(factor, geometry).byteOffset(0), {{laneSymbol(), sym::Expr(0)}, {waveSymbol(), first}});
  Location loc = product.getLoc();
  Address at = sharedAddress(factor, factor.getMemory(), sym::simplify(offset, geometry.factsAt(factor)));
  Value address = at.lane;
  if (at.immediate != 0)
    address = mlir::arith::AddIOp::create(
        builder, loc, address,
        mlir::arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(at.immediate))));
  // Rows of one panel that go along the contracted dimension have no next one inside an instruction.
  int64_t leading = alongK ? 16 : lies.panel;
  return machine::SharedTileOp::create(builder, loc, address, leading, 8 * lies.span, lies.span, alongK);
}

LogicalResult MachineLowering::lowerInPlace(MmaOp op) {
  // A sum that somebody else uses too is copied, which has to wait for it.
  if (llvm::is_contained(inFlight, op.getAcc()) && !op.getAcc().hasOneUse())
    finishProducts();
  const MmaKind &kind = mmaKindOf(op, geometry.target());
  SmallVector<ReadOp> factors = inPlaceFactors(op);
  if (factors.size() != 2)
    return report(op.getLoc(), DiagId::InvalidIr)
           << "`" << kind.name << "` reads both factors by itself, expected reads that are `in_place`";
  Value lhs = tileInPlace(factors[0], op, kind), rhs = tileInPlace(factors[1], op, kind), acc = vector(op.getAcc());
  define(op.getResult(), machine::MmaAsyncOp::create(builder, op.getLoc(), acc.getType(), kind.native.instruction, rhs,
                                                     acc, /*lhs=*/Value(), lhs, /*zero_acc=*/false));
  llvm::erase(inFlight, op.getAcc());
  inFlight.push_back(op.getResult());
  llvm::append_range(beingRead, factors);
  return success();
}

/// Whether two accesses of shared memory may touch the same bytes. Buffers of a tile are taken in turn.
static bool mayMeet(Operation *a, AllocateOp tileOfA, Operation *b, AllocateOp tileOfB) {
  auto begin = [](AllocateOp tile) { return static_cast<int64_t>(*tile.getOffset()); };
  auto end = [&](AllocateOp tile) {
    return begin(tile) + bytesPerBuffer(tile) * static_cast<int64_t>(tile.getBuffers());
  };
  if (end(tileOfA) <= begin(tileOfB) || end(tileOfB) <= begin(tileOfA))
    return false;
  auto first = a->getAttrOfType<InstanceAttr>("instance"), second = b->getAttrOfType<InstanceAttr>("instance");
  if (tileOfA != tileOfB || !first || !second || first.getPipeline() != second.getPipeline())
    return true;
  return (first.getIteration() - second.getIteration()) % static_cast<int64_t>(tileOfA.getBuffers()) == 0;
}

bool MachineLowering::overwritesFactors(AccessOpInterface access) const {
  for (const MemoryUse &use : access.getMemoryUses())
    if (auto tile = use.memory.getDefiningOp<AllocateOp>(); tile && use.isWrite)
      for (ReadOp factor : beingRead)
        if (mayMeet(access, tile, factor, factor.getMemory().getDefiningOp<AllocateOp>()))
          return true;
  return false;
}

bool MachineLowering::goesOnWithProducts(Operation *op) const {
  if (isInPlace(op) || !inPlaceFactors(op).empty())
    return true;
  if (auto commit = dyn_cast<CommitOp>(op))
    return commit.getCounter() != wave::Counter::Mma;
  auto access = dyn_cast<AccessOpInterface>(op);
  bool computes = isa<TileOpInterface>(op) && op->getNumRegions() == 0;
  return (computes || access) && !(access && overwritesFactors(access)) &&
         llvm::none_of(op->getOperands(), [&](Value operand) { return llvm::is_contained(inFlight, operand); });
}

void MachineLowering::finishProducts() {
  if (inFlight.empty())
    return;
  Location loc = inFlight.front().getLoc();
  SmallVector<Value> values = llvm::map_to_vector(inFlight, [&](Value tile) { return vector(tile); });
  machine::CommitOp::create(builder, loc, machine::Counter::mma);
  auto wait = machine::WaitOp::create(builder, loc, ValueRange(values).getTypes(), machine::Counter::mma, 0, values);
  for (auto [tile, done] : llvm::zip_equal(inFlight, wait.getResults()))
    define(tile, done);
  inFlight.clear();
  beingRead.clear();
}

} // namespace soliton
