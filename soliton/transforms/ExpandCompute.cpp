//===- ExpandCompute.cpp - Expansion of what computes element by element -----------===//

#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Forms.h"
#include "soliton/layout/Route.h"
#include "soliton/layout/Scan.h"
#include "soliton/transforms/Expander.h"

namespace soliton {
using namespace wave;

/// The same op on other operands, with the piece's type and origin.
static Value cloneOnPiece(OpBuilder &builder, Operation *op, ValueRange operands, TileType type, OriginAttr origin) {
  mlir::OperationState state(op->getLoc(), op->getName(), operands, {type}, op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Operation *piece = builder.create(state);
  piece->setAttr("origin", origin);
  return piece->getResult(0);
}

static SmallVector<Dim> dimsOf(TileType type) {
  return llvm::map_to_vector(type.getDims(), [](StringAttr name) { return Dim(name.getValue().str()); });
}

static bool isTile(Value value) {
  return isa<TileType>(value.getType());
}

/// Registers of a piece where no operand suggests one: 16 bytes' worth.
static int64_t naturalGranule(TileType type) {
  int64_t bytes = elementBytes(type.getElementType());
  return wholePieces(type.getLayout().getValue(), std::max<int64_t>(1, 16 / bytes));
}

void Expander::expandElementwise(Operation *op) {
  auto type = cast<TileType>(op->getResult(0).getType());
  int64_t granule = 0;
  SmallVector<Value> tiles = llvm::filter_to_vector(op->getOperands(), isTile);
  for (Value operand : tiles)
    if (int64_t size = fragment(operand).granule(); size > 0 && type.layout().splits(size))
      granule = granule == 0 ? size : std::min(granule, size);
  if (granule == 0)
    granule = naturalGranule(type);

  SmallVector<Fragment> operands;
  for (Value operand : tiles)
    operands.push_back(fragment(operand));
  Fragment &result = define(op->getResult(0));
  for (auto [i, at] : llvm::enumerate(origins(op, Role::Compute, type.layout(), granule))) {
    SmallVector<Value> pieces;
    for (const Fragment &operand : operands)
      pieces.push_back(operand.range(builder, op->getLoc(), i * granule, granule, at));
    // Index operands, behind the tiles, serve every piece.
    llvm::append_range(pieces, llvm::make_filter_range(op->getOperands(), [](Value each) { return !isTile(each); }));
    result.append(cloneOnPiece(builder, op, pieces, pieceType(type, i * granule, granule), at));
  }
}

/// Registers of a side of a bitcast that one instruction gets: whole groups, as many as an instruction behind it takes.
static int64_t groupsPiece(BitcastOp op, const ScaledDim &group, int64_t held) {
  int64_t from = op.isGrouping() ? group.divisor : group.places;
  Layout layout = op.getOperand().getType().layout();
  if (held > 0 && held % from == 0 && layout.splits(held))
    return held;
  constexpr int64_t kMostRegisters = 32;
  int64_t most = std::max<int64_t>(kMostRegisters / group.divisor, 1) * from, best = from;
  for (int64_t piece = from; piece <= most && piece <= layout.regs(); piece += from)
    if (layout.regs() % piece == 0 && layout.splits(piece))
      best = piece;
  return best;
}

/// The registers of each piece of the operand as those of so many elements, or the other way round.
void Expander::expandGroups(BitcastOp op) {
  TileType type = op.getResult().getType();
  const Fragment operand = fragment(op.getOperand());
  ScaledDim group = *op.getGroups();
  int64_t granule = groupsPiece(op, group, operand.granule());
  int64_t made = op.isGrouping() ? granule / group.divisor * group.places : granule / group.places * group.divisor;
  Fragment &result = define(op.getResult());
  for (auto [i, at] : llvm::enumerate(origins(op, Role::Compute, type.layout(), made)))
    result.append(cloneOnPiece(builder, op, operand.range(builder, op.getLoc(), i * granule, granule, at),
                               pieceType(type, i * made, made), at));
}

void Expander::expandGenerated(Operation *op) {
  auto type = cast<TileType>(op->getResult(0).getType());
  int64_t granule = 0;
  // A loop carries its values in pieces of its own; make those at once.
  for (mlir::OpOperand &use : op->getResult(0).getUses())
    if (auto loop = dyn_cast<IterateOp>(use.getOwner()))
      granule = carriedGranule(loop.carried()[use.getOperandNumber()]);
    else if (auto mma = dyn_cast<MmaOp>(use.getOwner()); mma && mma.getAcc() == op->getResult(0))
      granule = kindOf(mma).acc.nativeRegs;
  if (granule == 0)
    granule = naturalGranule(type);
  Fragment &result = define(op->getResult(0));
  for (auto [i, at] : llvm::enumerate(origins(op, Role::Compute, type.layout(), granule)))
    result.append(cloneOnPiece(builder, op, op->getOperands(), pieceType(type, i * granule, granule), at));
}

/// Registers that get new names: each piece of the result is joined from the runs of source registers that it consists
/// of.
void Expander::expandRename(ConvertOp convert, ArrayRef<int64_t> registers) {
  TileType type = convert.getResult().getType();
  int64_t granule = naturalGranule(type);
  for (mlir::OpOperand &use : convert.getResult().getUses())
    if (auto mma = dyn_cast<MmaOp>(use.getOwner()))
      granule = registersTaken(mma, kindOf(mma), use.getOperandNumber());
  const Fragment from = fragment(convert.getOperand());
  Fragment &result = define(convert.getResult());
  for (auto [piece, at] : llvm::enumerate(origins(convert, Role::Convert, type.layout(), granule))) {
    int64_t begin = piece * granule;
    SmallVector<Value> parts;
    for (int64_t i = begin; i < begin + granule;) {
      int64_t run = 1;
      while (i + run < begin + granule && registers[i + run] == registers[i] + run)
        ++run;
      // Cut further where the digits do not split: pieces are joined anyway.
      llvm::append_range(parts, from.parts(builder, convert.getLoc(), registers[i], run, at));
      i += run;
    }
    result.append(JoinOp::create(builder, convert.getLoc(), pieceType(type, begin, granule), parts, ArrayAttr(), at));
  }
}

/// Each piece of the result is a broadcast of the operand's registers that it repeats: those of its own registers that
/// stand at the start of every dimension that the operand lacks.
void Expander::expandBroadcast(BroadcastOp broadcast, ArrayRef<int64_t> registers) {
  TileType type = broadcast.getResult().getType(), narrow = broadcast.getOperand().getType();
  int64_t granule = naturalGranule(type);
  SmallVector<Dim> dims = dimsOf(narrow);
  const Fragment from = fragment(broadcast.getOperand());
  Fragment &result = define(broadcast.getResult());
  for (auto [piece, at] : llvm::enumerate(origins(broadcast, Role::Compute, type.layout(), granule))) {
    int64_t begin = piece * granule;
    TileType wide = pieceType(type, begin, granule);
    Layout spread = inDimsOf(wide.layout(), dims), layout = restrictedTo(wide.layout(), dims);
    SmallVector<Value> parts;
    for (int64_t i = 0; i < granule; ++i) {
      int64_t position = i;
      bool repeats = false;
      for (const Digit &digit : spread.reg) {
        repeats |= digit.dim && !narrow.hasDim(digit.dim->name()) && position % digit.extent != 0;
        position /= digit.extent;
      }
      if (!repeats)
        llvm::append_range(parts, from.parts(builder, broadcast.getLoc(), registers[begin + i], 1, at));
    }
    Value repeated = parts.front();
    if (parts.size() > 1)
      repeated = JoinOp::create(builder, broadcast.getLoc(), narrow.withLayout(layout), parts, ArrayAttr(), at);
    result.append(cloneOnPiece(builder, broadcast, repeated, wide, at));
  }
}

void Expander::expandRemap(Operation *op) {
  auto type = cast<TileType>(op->getResult(0).getType());
  auto source = cast<TileType>(op->getOperand(0).getType());
  ConvertPlan plan = planConvert(source.layout(), inDimsOf(type.layout(), dimsOf(source)), {.trusted = true});
  if (plan.kind == ConvertKind::rename) {
    if (auto convert = dyn_cast<ConvertOp>(op))
      return expandRename(convert, plan.registers);
    return expandBroadcast(cast<BroadcastOp>(op), plan.registers);
  }
  // Registers that do not meet are converted apart.
  const Layout &before = cast<TileType>(op->getOperand(0).getType()).layout();
  int64_t count = independentRegisters(before, type.layout());
  if (!before.splits(count) || !type.layout().splits(count) || before.regs() != type.layout().regs())
    count = type.layout().regs();
  const Fragment from = fragment(op->getOperand(0));
  Fragment &result = define(op->getResult(0));
  for (auto [i, at] : llvm::enumerate(origins(op, Role::Convert, type.layout(), count))) {
    Value piece = count == type.layout().regs() ? from.whole(builder, op->getLoc(), at)
                                                : from.range(builder, op->getLoc(), i * count, count, at);
    result.append(cloneOnPiece(builder, op, piece, pieceType(type, i * count, count), at));
  }
}

Value Expander::combine(ReduceOp reduce, Value lhs, Value rhs, OriginAttr at) {
  return BinaryOp::create(builder, reduce.getLoc(), lhs.getType(), combination(reduce.getKind()), lhs, rhs, ArrayAttr(),
                          at);
}

/// The registers of `layout` that are reduced into one: only the digits of `dim` are left, the others stand still at
/// `first`.
static Layout reducedGroup(const Layout &layout, Dim dim, int64_t first) {
  Layout group = layout;
  std::erase_if(group.reg, [&](const Digit &digit) { return digit.dim != dim; });
  for (Dim other : layout.dims())
    group.offset[other] = layout.coordinate(other, first, 0, 0);
  return group;
}

/// The registers of one group as one value.
static Value joinGroup(OpBuilder &builder, Location loc, const Fragment &from, Dim dim, ArrayRef<int64_t> group,
                       OriginAttr at) {
  SmallVector<Value> registers;
  for (int64_t reg : group)
    registers.push_back(from.range(builder, loc, reg, 1, at));
  TileType type = from.tileType();
  if (registers.size() == 1)
    return registers.front();
  return JoinOp::create(builder, loc, type.withLayout(reducedGroup(type.layout(), dim, group.front())), registers,
                        ArrayAttr(), at);
}

/// One op per result register: it combines registers of the lane, or makes one exchange between lanes.
void Expander::expandReduce(ReduceOp reduce) {
  TileType source = reduce.getSource().getType(), type = reduce.getResult().getType();
  Dim dim(reduce.getDim().str());
  ReducePlan plan = planReduce(source.layout(), dim, type.layout());
  const Fragment from = fragment(reduce.getSource());
  Fragment init = reduce.getInit() ? fragment(reduce.getInit()) : Fragment();
  Fragment &result = define(reduce.getResult());
  SmallVector<OriginAttr> places = origins(reduce, Role::Compute, type.layout(), 1);
  for (auto [r, group] : llvm::enumerate(plan.registers)) {
    OriginAttr at = places[r];
    Value joined = joinGroup(builder, reduce.getLoc(), from, dim, group, at);
    Value sum = ReduceOp::create(builder, reduce.getLoc(), pieceType(type, r, 1), reduce.getKind(), joined, Value(),
                                 reduce.getSymbols(), reduce.getDim(), reduce.getStartAttr(), reduce.getTagsAttr(), at);
    if (reduce.getInit())
      sum = combine(reduce, init.range(builder, reduce.getLoc(), r, 1, at), sum, at);
    result.append(sum);
  }
}

/// One op per group of registers that differ along the dimension only.
void Expander::expandScan(ScanOp scan) {
  TileType type = scan.getResult().getType();
  Dim dim(scan.getDim().str());
  Location loc = scan.getLoc();
  const Fragment from = fragment(scan.getSource());
  Fragment init = scan.getInit() ? fragment(scan.getInit()) : Fragment();
  Fragment totals = scan.getTotals() ? fragment(scan.getTotals()) : Fragment();
  std::vector<std::vector<int64_t>> totalGroups;
  if (scan.getTotals())
    totalGroups = planScan(totals.tileType().layout(), dim).groups;
  Fragment &result = define(scan.getResult());
  SmallVector<OriginAttr> places = origins(scan, Role::Compute, type.layout(), 1);
  ScanPlan plan = planScan(type.layout(), dim);
  SmallVector<std::pair<Value, int64_t>> held(type.layout().regs());
  for (auto [g, group] : llvm::enumerate(plan.groups)) {
    OriginAttr at = places[group.front()];
    Value source = joinGroup(builder, loc, from, dim, group, at);
    Value before = scan.getInit() ? init.range(builder, loc, g, 1, at) : Value();
    Value runs = scan.getTotals() ? joinGroup(builder, loc, totals, dim, totalGroups[g], at) : Value();
    Value sums = ScanOp::create(builder, loc, source.getType(), scan.getKind(), source, before, runs, scan.getSymbols(),
                                scan.getDim(), scan.getStartAttr(), scan.getTagsAttr(), at);
    for (auto [i, reg] : llvm::enumerate(group))
      held[reg] = {sums, i};
  }
  if (plan.groups.size() == 1)
    return result.append(held.front().first);
  for (auto [reg, sums] : llvm::enumerate(held)) {
    Value one = sums.first;
    if (plan.groups.front().size() > 1)
      one = SliceOp::create(builder, loc, pieceType(cast<TileType>(one.getType()), sums.second, 1), one, sums.second,
                            ArrayAttr(), places[reg]);
    result.append(one);
  }
}

} // namespace soliton
