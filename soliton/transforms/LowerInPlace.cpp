//===- LowerInPlace.cpp - Matrix instructions that read shared memory by themselves -----===//
//
// Products are issued one after the other and complete in groups. What they read of shared memory is proven to stay as
// it is until their group has been waited for, like that of any other asynchronous access; the waits and commits for
// that are in the program. What is added here are waits for their sums, before an op that takes one and is no product:
//
//   %1 = wave.mma %a0, %b0, %c          %1 = machine.mma_async lhs %ta0, %tb0, %c
//   %2 = wave.mma %a1, %b1, %1          %2 = machine.mma_async lhs %ta1, %tb1, %1
//   wave.commit mma             becomes machine.commit mma
//   wave.copy %x, %s                    machine.copy_async                               another buffer
//   %3 = wave.cast %2                   %4 = machine.wait mma, 0 (%2)                    and then the cast of %4
//
// A sum that a loop carries and only adds products to stays under way from one iteration to the next.
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/IR/Matchers.h"

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

/// Zeros that somebody would have to write into registers while other products are under way, which the assembler
/// takes for a reason to wait for those: the instruction begins a sum by itself.
static bool isZero(Value acc) {
  auto fill = acc.getDefiningOp<FillOp>();
  return fill && (mlir::matchPattern(fill.getValueAttr(), mlir::m_AnyZeroFloat()) ||
                  mlir::matchPattern(fill.getValueAttr(), mlir::m_Zero()));
}

LogicalResult MachineLowering::lowerInPlace(MmaOp op) {
  // A sum that somebody else uses too is copied, which has to wait for it.
  if (products.isUnderWay(op.getAcc()) && !op.getAcc().hasOneUse())
    finishProducts();
  const MmaKind &kind = mmaKindOf(op, geometry.target());
  SmallVector<ReadOp> factors = inPlaceFactors(op);
  if (factors.size() != 2)
    return report(op.getLoc(), DiagId::InvalidIr)
           << "`" << kind.name << "` reads both factors by itself, expected reads that are `in_place`";
  Value lhs = tileInPlace(factors[0], op, kind), rhs = tileInPlace(factors[1], op, kind), acc = vector(op.getAcc());
  define(op.getResult(), machine::MmaAsyncOp::create(builder, op.getLoc(), acc.getType(), kind.native.instruction, rhs,
                                                     acc, /*lhs=*/Value(), lhs, isZero(op.getAcc())));
  products.issue(op.getAcc(), op.getResult());
  return success();
}

/// Whether a loop may carry the sum on while products are being added to it: nothing else takes it.
static bool isOnlyAddedTo(Value carried) {
  if (!carried.hasOneUse())
    return false;
  auto product = dyn_cast<MmaOp>(*carried.getUsers().begin());
  return product && product.getAcc() == carried && !inPlaceFactors(product).empty();
}

bool MachineLowering::goesOnWithProducts(Operation *op) const {
  if (isInPlace(op) || !inPlaceFactors(op).empty())
    return true;
  // The terminator of a loop hands on groups that are under way where the next iteration may take their sums so.
  if (auto loop = dyn_cast<IterateOp>(op->getParentOp()); loop && isa<YieldOp>(op) && !loop.exit())
    return !products.isOpen() && llvm::all_of(llvm::zip(loop.carried(), op->getOperands()), [&](auto pair) {
      auto [argument, value] = pair;
      return !products.isUnderWay(value) || (value.hasOneUse() && isOnlyAddedTo(argument));
    });
  bool changesFlow = op->getNumRegions() > 0 || isa<YieldOp>(op);
  return !changesFlow && llvm::none_of(op->getOperands(), [&](Value operand) { return products.isUnderWay(operand); });
}

namespace {
/// What an iteration leaves to the next one.
struct LeftUnderWay {
  /// Whether there is a group: committed, and not waited for.
  bool group = false;
  /// Commits without a product: groups to the proof, none to the machine.
  int64_t emptyCommits = 0;
};
} // namespace

static LeftUnderWay leftBy(Block &block) {
  LeftUnderWay left;
  bool open = false;
  for (Operation &op : block) {
    auto commit = dyn_cast<CommitOp>(op);
    auto wait = dyn_cast<WaitOp>(op);
    if (!inPlaceFactors(&op).empty()) {
      open = true;
    } else if (commit && commit.getCounter() == wave::Counter::Mma) {
      left.group |= open;
      left.emptyCommits += open ? 0 : 1;
      open = false;
    } else if (op.getNumRegions() > 0 || (wait && wait.getCounter() == wave::Counter::Mma && wait.getCount() == 0)) {
      open = left.group = false;
    }
  }
  left.group &= !open;
  return left;
}

bool MachineLowering::enterWithProducts(IterateOp loop) {
  LeftUnderWay left = leftBy(loop.block());
  emptyCommits = left.emptyCommits;
  return std::exchange(earlierProducts, earlierProducts || left.group);
}

/// What is under way at the end of an iteration is so behind the loop.
void MachineLowering::leaveWithProducts(IterateOp loop, bool earlier) {
  Operation *yield = loop.block().getTerminator();
  products.renameTo([&](Value sum) -> Value {
    auto at = llvm::find(yield->getOperands(), sum);
    return at == yield->operand_end() ? Value() : loop.getResult(at - yield->operand_begin());
  });
  earlierProducts = earlier;
}

/// A group without products is none to the assembler either, which would take it for one of other products.
void MachineLowering::commitProducts(Location loc) {
  if (!products.isOpen()) {
    ++emptyCommits;
    return;
  }
  machine::CommitOp::create(builder, loc, machine::Counter::mma);
  products.commit();
}

void MachineLowering::waitForProducts(Location loc, int64_t count) {
  if (products.empty() && !earlierProducts)
    return;
  // Groups that were left out are not among those that may stay.
  count = std::max<int64_t>(0, count - emptyCommits);
  if (count == 0) {
    earlierProducts = false;
    emptyCommits = 0;
  }
  SmallVector<Value> sums = products.retire(count);
  SmallVector<Value> values = llvm::map_to_vector(sums, [&](Value tile) { return vector(tile); });
  auto wait =
      machine::WaitOp::create(builder, loc, ValueRange(values).getTypes(), machine::Counter::mma, count, values);
  for (auto [tile, done] : llvm::zip_equal(sums, wait.getResults()))
    define(tile, done);
}

void MachineLowering::finishProducts() {
  if (products.empty())
    return;
  Location loc = products.anySum().getLoc();
  if (products.isOpen()) {
    machine::CommitOp::create(builder, loc, machine::Counter::mma);
    products.commit();
  }
  waitForProducts(loc, 0);
}

} // namespace soliton
