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
// A sum that a loop carries and only adds products to stays under way from one iteration to the next; so does one that
// the next iteration waits for.
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

/// Whether nothing takes the sum from that op of its block on.
static bool isDoneWith(Value sum, Operation *at) {
  return llvm::all_of(sum.getUsers(),
                      [&](Operation *user) { return user->getBlock() == at->getBlock() && user->isBeforeInBlock(at); });
}

/// The value of the iteration before in whose place the loop hands on what comes of the product; none where it does
/// not.
static Value carriedBefore(MmaOp op) {
  auto loop = dyn_cast<IterateOp>(op->getParentOp());
  Value sum = op.getResult();
  while (loop && sum.hasOneUse()) {
    mlir::OpOperand &use = *sum.getUses().begin();
    if (use.getOwner() == loop.block().getTerminator())
      return loop.carried()[use.getOperandNumber()];
    if (inPlaceFactors(use.getOwner()).empty())
      return {};
    sum = use.getOwner()->getResult(0);
  }
  return {};
}

/// Sums of products in front of the op whose registers it may take: of one that a loop hands on those that it comes
/// back in, of others those of the block, newest first.
static SmallVector<Value> sumsBefore(MmaOp op) {
  if (Value carried = carriedBefore(op))
    return {carried};
  SmallVector<Value> sums;
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
    if (!inPlaceFactors(before).empty())
      sums.push_back(before->getResult(0));
  return sums;
}

/// For a product that begins with zeros: the registers of a sum that was waited for and is of no more use. In others
/// the assembler would begin it before that sum was used, and have both at once.
static Value registersToUseAgain(MmaOp op, llvm::function_ref<Value(Value)> vectorOf) {
  for (Value sum : sumsBefore(op)) {
    Value registers = vectorOf(sum);
    bool isTaken = llvm::any_of(registers.getUsers(), [](Operation *user) { return isa<machine::MmaAsyncOp>(user); });
    bool isAlike = registers.getType() == vectorOf(op.getAcc()).getType();
    if (registers.getDefiningOp<machine::WaitOp>() && isAlike && !isTaken && isDoneWith(sum, op))
      return registers;
  }
  return {};
}

LogicalResult MachineLowering::lowerInPlace(MmaOp op) {
  // A sum that somebody else uses too is copied, which has to wait for it.
  if (products.isUnderWay(op.getAcc()) && !op.getAcc().hasOneUse())
    finishProducts();
  const MmaKind &kind = mmaKindOf(op, geometry.target());
  auto right = op.getRhs().getDefiningOp<ReadOp>();
  if (!right || !right.getInPlace())
    return report(op.getLoc(), DiagId::InvalidIr)
           << "`" << kind.name << "` reads its right factor by itself, expected a read that is `in_place`";
  auto left = op.getLhs().getDefiningOp<ReadOp>();
  bool isHeld = !left || !left.getInPlace();
  Value tile = isHeld ? Value() : tileInPlace(left, op, kind), rhs = tileInPlace(right, op, kind);
  Value held = isHeld ? vector(op.getLhs()) : Value(), acc = vector(op.getAcc());
  bool beginsAnew = isZero(op.getAcc());
  if (beginsAnew)
    if (Value registers = registersToUseAgain(op, [&](Value tile) { return vector(tile); }))
      acc = registers;
  define(op.getResult(), machine::MmaAsyncOp::create(builder, op.getLoc(), acc.getType(), kind.native.instruction, rhs,
                                                     acc, held, tile, beginsAnew));
  products.issue(op.getAcc(), op.getResult());
  if (isHeld)
    products.hold(op.getLhs());
  return success();
}

/// Whether a loop may carry the sum on while products are being added to it: nothing else takes it.
static bool isOnlyAddedTo(Value carried) {
  if (!carried.hasOneUse())
    return false;
  auto product = dyn_cast<MmaOp>(*carried.getUsers().begin());
  return product && product.getAcc() == carried && !inPlaceFactors(product).empty();
}

/// Whether a loop may carry a sum on that its next iteration waits for: it is a product's that holds no registers but
/// those of its sum, and nothing of this iteration takes it.
static bool isLeftToNext(IterateOp loop, BlockArgument carried) {
  Value sum = loop.block().getTerminator()->getOperand(carried.getArgNumber() - 1);
  Operation *product = sum.getDefiningOp();
  return !loop.exit() && product && product->getBlock() == &loop.block() && inPlaceFactors(product).size() == 2 &&
         sum.hasOneUse() && !isOnlyAddedTo(carried);
}

bool MachineLowering::mayEnterWithProducts(IterateOp loop) const {
  return !products.isOpen() && products.allOf([&](Value sum) {
    auto init = llvm::find(loop.getInits(), sum);
    return init != loop.getInits().end() && sum.hasOneUse() &&
           isLeftToNext(loop, loop.carried()[init - loop.getInits().begin()]);
  });
}

bool MachineLowering::goesOnWithProducts(Operation *op) const {
  if (auto loop = dyn_cast<IterateOp>(op))
    return mayEnterWithProducts(loop);
  if (isInPlace(op))
    return true;
  // Of what a product takes, only the sum that it goes on with may be under way.
  if (!inPlaceFactors(op).empty())
    return !products.isUnderWay(cast<MmaOp>(op).getLhs());
  // The terminator of a loop hands on groups that are under way where the next iteration may take their sums so.
  if (auto loop = dyn_cast<IterateOp>(op->getParentOp()); loop && isa<YieldOp>(op) && !loop.exit())
    return !products.isOpen() && llvm::all_of(llvm::zip(loop.carried(), op->getOperands()), [&](auto pair) {
      auto [argument, value] = pair;
      return !products.isUnderWay(value) ||
             (value.hasOneUse() && (isOnlyAddedTo(argument) || isLeftToNext(loop, argument)));
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

/// What the iteration before leaves under way, in the groups in which it was issued.
static ProductsUnderWay handedOnBy(IterateOp loop) {
  ProductsUnderWay products;
  Operation *yield = loop.block().getTerminator();
  for (Operation &op : loop.block()) {
    if (auto commit = dyn_cast<CommitOp>(op); commit && commit.getCounter() == wave::Counter::Mma)
      products.commit();
    for (auto [argument, value] : llvm::zip(loop.carried(), yield->getOperands()))
      if (value.getDefiningOp() == &op && isLeftToNext(loop, argument))
        products.issue(Value(), argument);
  }
  return products;
}

bool MachineLowering::enterWithProducts(IterateOp loop) {
  if (crew == Crew::Copying)
    return false;
  products = handedOnBy(loop);
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
  // Whoever takes the registers of a factor for something else has to come behind this.
  for (Value factor : products.release(count))
    values.push_back(vector(factor));
  auto wait =
      machine::WaitOp::create(builder, loc, ValueRange(values).getTypes(), machine::Counter::mma, count, values);
  for (auto [tile, done] : llvm::zip(sums, wait.getResults()))
    define(tile, done);
}

/// Whether the op only gives registers other names, or is what it begins with.
static bool isRename(Operation &op) {
  return isa<mlir::vector::InsertStridedSliceOp, mlir::vector::ExtractStridedSliceOp, mlir::vector::ShuffleOp>(op) ||
         op.hasTrait<mlir::OpTrait::ConstantLike>();
}

/// Registers that products of a group take are put together before the first of them: whoever translates the group can
/// then fence all of them at once.
void MachineLowering::gatherFactors(Block &block) {
  Operation *first = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (mlir::Region &region : op.getRegions())
      for (Block &inner : region)
        gatherFactors(inner);
    auto commit = dyn_cast<machine::CommitOp>(op);
    if ((commit && commit.getCounter() == machine::Counter::mma) || isa<machine::WaitOp>(op) || op.getNumRegions() > 0)
      first = nullptr;
    else if (isa<machine::MmaAsyncOp>(op) && !first)
      first = &op;
    auto isThere = [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !def || def->getBlock() != &block || def->isBeforeInBlock(first);
    };
    if (first && isRename(op) && llvm::all_of(op.getOperands(), isThere))
      op.moveBefore(first);
  }
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
