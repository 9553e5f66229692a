//===- DecomposeSort.cpp - How many come before each element ---------------------------------===//
//
// An element's place in the order is the number of those that come before it. Each lane counts for its own elements
// while all look at the row's elements one after the other, in shared memory; then every element is written to its
// place and the row is read back:
//
//   wave.write keys, %row                              %rank = wave.iterate "SORT" (0) {
//   %rank = …                                            %y = wave.read %row [j]                one place for all lanes
//   wave.write keys, %sorted {indices = [%rank]}         %rank + (%y < keys, or equal and j before)
//   %result = wave.read %sorted                        }
//
// For n elements and R registers a lane that is n · (5 R + a load), one barrier on either side, and a loop of a few
// instructions whatever n is. A bitonic network takes log²n / 2 · (6 R + exchange): less from some hundred elements on
// where a row lies in one wave, but an exchange between waves is a pass through memory and two barriers, it is
// unrolled, n is a power of two, and ties need the places as second keys. Where few of many are wanted (an eighth), the
// largest element leaves the row that many times instead: k · (10 R + two reductions).
//
// Floats are compared by their bits as integers, so that NaN is the largest and both zeros are equal.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Decompose.h"

#include "soliton/ir/Diagnose.h"

namespace soliton {
using namespace wave;

namespace {
class SortDecomposition {
public:
  SortDecomposition(SortOp op, const Geometry &geometry)
      : op(op), say(op, geometry), dim(op.getDimAttr()), into(op.getIntoAttr()), type(op.getKeys().getType()),
        ranks(type.withElementType(say.builder.getI32Type())), isDescending(op.getOrder() == SortOrder::descending) {}

  LogicalResult run();

private:
  Value integerKeys();
  /// What no key is, behind all of them.
  int64_t leastWanted(Type element) const {
    unsigned bits = element.getIntOrFloatBitWidth();
    return isDescending ? llvm::minIntN(bits) : llvm::maxIntN(bits);
  }
  bool hasLeastWanted() const {
    Type element = type.getElementType();
    return isa<mlir::FloatType>(element) || elementBits(element) < 32;
  }
  IterateOp loop(ExprAttr count, ValueRange symbols, ValueRange inits);
  Value countBefore(Value keys);
  Value takeExtremes(Value keys);
  Value withinRow(Value rank);
  Value moved(Value value, Value rank, TileType to);

  SortOp op;
  Decomposer say;
  StringAttr dim, into;
  TileType type, ranks;
  bool isDescending;
  int64_t row = 0, wanted = 0;
};
} // namespace

/// Integers of 32 or 64 bits that are ordered as the keys are.
Value SortDecomposition::integerKeys() {
  OpBuilder &builder = say.builder;
  Type element = type.getElementType();
  if (element.isIndex())
    return say.cast(op.getKeys(), builder.getI64Type());
  if (!isa<mlir::FloatType>(element))
    return element.getIntOrFloatBitWidth() < 32 ? say.cast(op.getKeys(), builder.getI32Type()) : op.getKeys();
  Type wide = element.getIntOrFloatBitWidth() == 64 ? element : Type(builder.getF32Type());
  Value keys = say.cast(op.getKeys(), wide);
  TileType floats = type.withElementType(wide);
  Type integer = builder.getIntegerType(wide.getIntOrFloatBitWidth());
  TileType integers = type.withElementType(integer);
  int64_t most = llvm::maxIntN(integer.getIntOrFloatBitWidth());
  Value zero = say.number(floats, 0);
  Value plain = say.select(say.compare(ComparePredicate::eq, keys, zero, floats), zero, keys, floats);
  Value bits = BitcastOp::create(builder, say.loc, integers, plain, say.tags, OriginAttr());
  // The more a negative float is, the less are its bits.
  Value flipped = say.binary(BinaryKind::bit_xor, bits, say.number(integers, most), integers);
  Value isNegative = say.compare(ComparePredicate::lt, bits, say.number(integers, 0), integers);
  Value ordered = say.select(isNegative, flipped, bits, integers);
  Value isNan = say.compare(ComparePredicate::ne, keys, keys, floats);
  return say.select(isNan, say.number(integers, most - 1), ordered, integers);
}

/// A loop along an axis of its own, its body empty.
IterateOp SortDecomposition::loop(ExprAttr count, ValueRange symbols, ValueRange inits) {
  auto made = IterateOp::create(say.builder, say.loc, inits.getTypes(), "SORT_" + dim.getValue().str(), inits, symbols,
                                count, say.tags);
  say.builder.setInsertionPointToEnd(&made.makeBody());
  return made;
}

Value SortDecomposition::countBefore(Value keys) {
  auto keyType = cast<TileType>(keys.getType());
  Value memory = say.allocate(type.getDims(), keyType.getElementType());
  say.write(keys, memory);
  Value none = say.number(ranks, 0);
  // The elements of the row that are there: a workgroup may begin before the first, and end behind the last.
  sym::Expr start = say.start(dim), first = 0, end = row;
  if (!say.isInside(dim)) {
    first = sym::max(-start, 0);
    end = sym::min(say.geometry[Dim(dim.str())].size - start, sym::Expr(row));
  }
  const sym::Facts &facts = say.geometry.factsAt(op);
  first = sym::simplify(first, facts);
  SmallVector<Value> symbols;
  ExprAttr bound = say.bind(sym::simplify(sym::max(end - first, 0), facts), symbols);
  IterateOp each = loop(bound, symbols, none);

  SmallVector<StringAttr> others;
  SmallVector<sym::Expr> indices;
  for (StringAttr name : type.getDims()) {
    indices.push_back(name == dim ? operandSymbol(0) + first : placeSymbol(others.size()));
    if (name != dim)
      others.push_back(name);
  }
  MLIRContext *context = op.getContext();
  auto one = TileType::get(context, others, keyType.getElementType(), LayoutAttr());
  SmallVector<Value> at{each.iteration()};
  SmallVector<Attribute> elsewhere =
      llvm::map_to_vector(indices, [&](sym::Expr index) -> Attribute { return say.bind(index, at); });
  Value other = say.read(one, memory, say.builder.getArrayAttr(elsewhere), at);
  SmallVector<Value> places{each.iteration()};
  ExprAttr isEarlier = say.bind(sym::lt(operandSymbol(0) + first + start, applySymbol(0)), places);
  Value earlier = say.ofPlaces(dim, isEarlier, places, say.builder.getI1Type());
  Value less = say.compare(isDescending ? ComparePredicate::gt : ComparePredicate::lt, other, keys, keyType);
  Value orEqual = say.compare(isDescending ? ComparePredicate::ge : ComparePredicate::le, other, keys, keyType);
  Value before = say.select(earlier, orEqual, less, type.withElementType(say.builder.getI1Type()));
  Value more = say.binary(BinaryKind::add, each.carried()[0], say.cast(before, say.builder.getI32Type()), ranks);
  YieldOp::create(say.builder, say.loc, more);
  say.builder.setInsertionPoint(op);
  return withinRow(each.getResult(0));
}

/// What lies beyond the end of the row has no place in it.
Value SortDecomposition::withinRow(Value rank) {
  if (say.isInside(dim))
    return rank;
  SmallVector<Value> symbols;
  sym::Expr place = applySymbol(0), size = say.geometry[Dim(dim.str())].size;
  ExprAttr inside = say.bind(sym::logicalAnd(sym::ge(place, 0), sym::lt(place, size)), symbols);
  Value line = say.ofPlaces(dim, inside, symbols, say.builder.getI1Type());
  return say.select(line, rank, say.number(ranks, row + wanted), ranks);
}

/// `wanted` times, the first of the elements that come before all others leaves the row.
Value SortDecomposition::takeExtremes(Value keys) {
  auto keyType = cast<TileType>(keys.getType());
  Value gone = say.number(keyType, leastWanted(keyType.getElementType()));
  Value nowhere = say.number(ranks, row + wanted);
  IterateOp each = loop(exprAttr(op.getContext(), wanted), {}, {keys, nowhere});
  Value left = each.carried()[0], rank = each.carried()[1];
  auto rest = TileType::get(
      op.getContext(),
      llvm::to_vector(llvm::make_filter_range(type.getDims(), [&](StringAttr name) { return name != dim; })),
      keyType.getElementType(), LayoutAttr());
  Type i32 = say.builder.getI32Type();
  auto found = ArgReduceOp::create(say.builder, say.loc, rest, rest.withElementType(i32),
                                   isDescending ? ExtremeKind::max : ExtremeKind::min, left, ValueRange(), dim,
                                   say.tags, OriginAttr());
  TileType truths = type.withElementType(say.builder.getI1Type());
  Value isFound = say.compare(ComparePredicate::eq, say.places(dim, i32), found.getIndex(), truths);
  Value isThere = say.compare(ComparePredicate::ne, left, gone, truths);
  Value taken = say.binary(BinaryKind::bit_and, isFound, isThere, truths);
  Value place = say.ofPlaces(dim, exprAttr(op.getContext(), operandSymbol(0)), each.iteration(), i32);
  Value next = say.select(taken, gone, left, keyType);
  YieldOp::create(say.builder, say.loc, {next, say.select(taken, place, rank, ranks)});
  say.builder.setInsertionPoint(op);
  return each.getResult(1);
}

/// The elements at their places, those that have one.
Value SortDecomposition::moved(Value value, Value rank, TileType to) {
  Value memory = say.allocate(to.getDims(), to.getElementType());
  if (!say.isInside(dim) || wanted > row)
    say.write(say.number(to, 0), memory);
  SmallVector<sym::Expr> indices;
  for (auto [k, name] : llvm::enumerate(type.getDims()))
    indices.push_back(name == dim ? dynamicSymbol(0) : placeSymbol(k));
  say.write(value, memory, exprArrayAttr(op.getContext(), indices), rank);
  return say.read(to, memory);
}

LogicalResult SortDecomposition::run() {
  FailureOr<int64_t> elements = say.part(dim), kept = say.part(into);
  if (failed(elements) || failed(kept))
    return failure();
  row = *elements;
  wanted = *kept;
  Value keys = integerKeys();
  Value rank = hasLeastWanted() && wanted * 8 <= row ? takeExtremes(keys) : countBefore(keys);
  for (auto [value, result] : llvm::zip(op.getOperands(), op.getResults()))
    if (!result.use_empty())
      result.replaceAllUsesWith(moved(value, rank, cast<TileType>(result.getType())));
  op.erase();
  return success();
}

LogicalResult decomposeSort(SortOp op, const Geometry &geometry) {
  return SortDecomposition(op, geometry).run();
}

} // namespace soliton
