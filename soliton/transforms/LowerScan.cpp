//===- LowerScan.cpp - Registers and lanes that add up -----------------------------------===//
//
// Carries out the plan of layout/Scan.h for one group of registers. The digits of the dimension are taken from the
// least significant on; behind each, every register holds the sum inside its run, and the total of the run is at hand:
//
//   registers  a, b, c, d   become   a, a+b, a+b+c, a+b+c+d
//   lanes      totals t: log2 steps of t += t of the lane 2^k before, then each takes the sum of the lanes before it
//
// What comes before the whole row, the initial value and the totals of the waves before, joins at the last digit.
//
//===----------------------------------------------------------------------===//

#include "soliton/layout/LayoutExpr.h"
#include "soliton/layout/Scan.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace soliton {
using namespace wave;
namespace arith = mlir::arith;

namespace {
/// The registers of one group while they are added up.
class GroupScan {
public:
  using Combine = llvm::function_ref<Value(Value, Value)>;
  /// Whether the lane's digit is at least this: an i1.
  using IsAtLeast = llvm::function_ref<Value(const ScanDigit &, int64_t)>;
  /// The lane whose digit is the last one: an i32.
  using LastLane = llvm::function_ref<Value(const ScanDigit &)>;

  GroupScan(OpBuilder &builder, Location loc, Combine combine, Value nothing, SmallVector<Value> registers)
      : builder(builder), loc(loc), combine(combine), nothing(nothing), sums(std::move(registers)), totals(sums) {}

  /// Runs of `digit.extent` of the runs so far become one; `before`, if there, comes before all of them.
  void addRegisters(const ScanDigit &digit, Value before);
  void addLanes(const ScanDigit &digit, Value before, bool isLast, IsAtLeast isAtLeast, LastLane lastLane);
  /// `before` alone.
  void add(Value before) {
    for (Value &sum : sums)
      sum = combine(before, sum);
  }
  ArrayRef<Value> results() const { return sums; }

private:
  Value joined(Value a, Value b) { return a ? combine(a, b) : b; }
  Value fromLaneBefore(Value value, int64_t distance) {
    return machine::ShuffleOp::create(builder, loc, value.getType(), machine::ShuffleMode::up, value, Value(),
                                      builder.getI64IntegerAttr(distance));
  }

  OpBuilder &builder;
  Location loc;
  Combine combine;
  Value nothing;
  SmallVector<Value> sums;
  /// Of the run that each register is in.
  SmallVector<Value> totals;
};
} // namespace

void GroupScan::addRegisters(const ScanDigit &digit, Value before) {
  auto count = static_cast<int64_t>(sums.size());
  SmallVector<Value> wholes(totals);
  for (int64_t first = 0; first < count; ++first) {
    if (first / digit.divisor % digit.extent != 0)
      continue;
    Value sum = before;
    for (int64_t i = 0; i < digit.extent; ++i) {
      int64_t reg = first + i * digit.divisor;
      if (sum)
        sums[reg] = combine(sum, sums[reg]);
      sum = joined(sum, totals[reg]);
    }
    for (int64_t i = 0; i < digit.extent; ++i)
      wholes[first + i * digit.divisor] = sum;
  }
  totals = std::move(wholes);
}

void GroupScan::addLanes(const ScanDigit &digit, Value before, bool isLast, IsAtLeast isAtLeast, LastLane lastLane) {
  // Registers of one run share its total.
  llvm::DenseMap<Value, std::pair<Value, Value>> known;
  for (auto [sum, total] : llvm::zip(sums, totals)) {
    auto [found, isNew] = known.try_emplace(total);
    if (isNew) {
      Value upTo = total;
      for (int64_t covered = 1; covered < digit.extent; covered *= 2) {
        Value more = combine(fromLaneBefore(upTo, covered * digit.divisor), upTo);
        upTo = arith::SelectOp::create(builder, loc, isAtLeast(digit, covered), more, upTo);
      }
      Value lanesBefore =
          arith::SelectOp::create(builder, loc, isAtLeast(digit, 1), fromLaneBefore(upTo, digit.divisor), nothing);
      Value whole;
      if (!isLast)
        whole = machine::ShuffleOp::create(builder, loc, upTo.getType(), machine::ShuffleMode::idx, upTo,
                                           lastLane(digit), mlir::IntegerAttr());
      found->second = {joined(before, lanesBefore), whole};
    }
    sum = combine(found->second.first, sum);
    total = found->second.second;
  }
}

/// What the waves before this one add up to: of all totals those whose run begins before its own.
Value MachineLowering::wavesBefore(ScanOp op) {
  Location loc = op.getLoc();
  Dim dim(op.getDim().str());
  TileType type = op.getTotals().getType();
  sym::Expr own = coordinateExpr(op.getSource().getType().layout(), dim, 0, sym::Expr(0), waveSymbol());
  Value before;
  for (int64_t reg = 0; reg < type.layout().regs(); ++reg) {
    sym::Expr isBefore = sym::simplify(sym::lt(type.layout().coordinate(dim, reg, 0, 0), own), geometry.facts());
    Value total = registerOf(op.getTotals(), reg, loc);
    Value nothing = arith::ConstantOp::create(
        builder, loc,
        mlir::DenseElementsAttr::get(cast<mlir::ShapedType>(total.getType()),
                                     identity(op.getKind(), mlir::getElementTypeOrSelf(total.getType()))));
    Value counted = builder.createOrFold<arith::SelectOp>(loc, exprs.emitI1(isBefore, loc), total, nothing);
    before = before ? combine(op.getKind(), before, counted, loc) : counted;
  }
  return before;
}

/// Lane by lane, and register by register: each has an element of its own row.
void MachineLowering::lowerShuffle(ShuffleOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> elements;
  for (int64_t reg = 0; reg < op.getResult().getType().layout().regs(); ++reg) {
    Value source = registerOf(op.getSource(), reg, loc);
    Value index;
    if (op.getIndex())
      index = mlir::vector::ExtractOp::create(builder, loc, registerOf(op.getIndex(), reg, loc), 0);
    Value moved = machine::ShuffleOp::create(builder, loc, source.getType(),
                                             *machine::symbolizeShuffleMode(stringifyShuffleMode(op.getMode())), source,
                                             index, op.getOffsetAttr());
    elements.push_back(mlir::vector::ExtractOp::create(builder, loc, moved, 0));
  }
  define(op.getResult(),
         mlir::vector::FromElementsOp::create(builder, loc, vectorType(op.getResult().getType()), elements));
}

void MachineLowering::lowerScan(ScanOp op) {
  Location loc = op.getLoc();
  const Layout &layout = op.getSource().getType().layout();
  ScanPlan plan = planScan(layout, Dim(op.getDim().str()));
  SmallVector<Value> registers;
  for (int64_t reg = 0; reg < layout.regs(); ++reg)
    registers.push_back(registerOf(op.getSource(), reg, loc));
  auto one = cast<mlir::VectorType>(registers.front().getType());
  Value nothing = arith::ConstantOp::create(
      builder, loc, mlir::DenseElementsAttr::get(one, identity(op.getKind(), one.getElementType())));
  auto combined = [&](Value a, Value b) { return combine(op.getKind(), a, b, loc); };
  auto digitOf = [](const ScanDigit &digit) {
    return sym::mod(sym::floordiv(laneSymbol(), digit.divisor), digit.extent);
  };
  auto isAtLeast = [&](const ScanDigit &digit, int64_t number) {
    return exprs.emitI1(sym::simplify(sym::ge(digitOf(digit), number), geometry.facts()), loc);
  };
  auto lastLane = [&](const ScanDigit &digit) {
    sym::Expr lane = laneSymbol() + (digit.extent - 1 - digitOf(digit)) * digit.divisor;
    return exprs.emitI32(sym::simplify(lane, geometry.facts()), loc);
  };

  Value before = op.getInit() ? registerOf(op.getInit(), 0, loc) : Value();
  if (op.getTotals()) {
    Value waves = wavesBefore(op);
    before = before ? combined(before, waves) : waves;
  }
  GroupScan scan(builder, loc, combined, nothing, std::move(registers));
  for (const ScanDigit &digit : plan.digits) {
    bool isLast = &digit == &plan.digits.back();
    if (digit.axis == Axis::reg)
      scan.addRegisters(digit, isLast ? before : Value());
    else
      scan.addLanes(digit, isLast ? before : Value(), isLast, isAtLeast, lastLane);
  }
  if (plan.digits.empty() && before)
    scan.add(before);
  SmallVector<Value> elements;
  for (Value sum : scan.results())
    elements.push_back(mlir::vector::ExtractOp::create(builder, loc, sum, 0));
  define(op.getResult(),
         mlir::vector::FromElementsOp::create(builder, loc, vectorType(op.getResult().getType()), elements));
}

} // namespace soliton
