//===- Decompose.cpp - Moves of elements as accesses of a shared tile ----------------------===//
//
// A rearrangement is a write and a read; tiles that are concatenated are written to one tile, each behind the other.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Decompose.h"

#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Rearrange.h"

namespace soliton {
using namespace wave;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

Value Decomposer::fill(TileType type, mlir::TypedAttr value) {
  return FillOp::create(builder, loc, type, value, tags, OriginAttr());
}

Value Decomposer::number(TileType type, int64_t value) {
  Type element = type.getElementType();
  if (isa<mlir::FloatType>(element))
    return fill(type, builder.getFloatAttr(element, static_cast<double>(value)));
  return fill(type, builder.getIntegerAttr(element, value));
}

Value Decomposer::binary(BinaryKind kind, Value a, Value b, TileType type) {
  return BinaryOp::create(builder, loc, type, kind, a, b, tags, OriginAttr());
}

Value Decomposer::compare(ComparePredicate predicate, Value a, Value b, TileType like) {
  return CompareOp::create(builder, loc, like.withElementType(builder.getI1Type()), predicate, a, b, tags,
                           OriginAttr());
}

Value Decomposer::select(Value condition, Value ifTrue, Value ifFalse, TileType type) {
  return SelectOp::create(builder, loc, type, condition, ifTrue, ifFalse, tags, OriginAttr());
}

Value Decomposer::cast(Value value, Type element) {
  auto type = mlir::cast<TileType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return CastOp::create(builder, loc, type.withElementType(element), value, tags, OriginAttr());
}

Value Decomposer::places(StringAttr dim, Type element) {
  auto type = TileType::get(op->getContext(), {dim}, element, LayoutAttr());
  return SelfIndexOp::create(builder, loc, type, dim, ValueRange(), ExprAttr(), tags, OriginAttr());
}

Value Decomposer::ofPlaces(StringAttr dim, ExprAttr expr, ValueRange symbols, Type element) {
  auto type = TileType::get(op->getContext(), {dim}, element, LayoutAttr());
  Value line = places(dim, builder.getI32Type());
  return ApplyExprOp::create(builder, loc, type, expr, ValueRange(line), symbols, tags, OriginAttr());
}

Value Decomposer::allocate(ArrayRef<StringAttr> dims, Type element) {
  MLIRContext *context = op->getContext();
  SmallVector<ExprAttr> shape;
  for (StringAttr dim : dims)
    shape.push_back(exprAttr(context, sym::Expr::symbol(dim.getValue())));
  // What has no dimensions is one place.
  if (shape.empty())
    shape.push_back(exprAttr(context, 1));
  auto type = MemoryType::get(context, shape, element, AddressSpace::Shared, SharedMapAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op->getParentOfType<KernelOp>().block());
  return AllocateOp::create(builder, loc, type, mlir::IntegerAttr(), ArrayAttr());
}

void Decomposer::write(Value value, Value memory, ArrayAttr indices, ValueRange dynamicValues) {
  WriteOp::create(builder, loc, value, memory, dynamicValues, ValueRange(), mlir::IntegerAttr(), indices, ArrayAttr(),
                  ArrayAttr(), ArrayAttr(), tags, OriginAttr(), ExprAttr());
}

Value Decomposer::read(TileType type, Value memory, ArrayAttr indices, ValueRange symbols) {
  return ReadOp::create(builder, loc, type, memory, ValueRange(), symbols, mlir::IntegerAttr(), indices, ArrayAttr(),
                        ArrayAttr(), ArrayAttr(), tags, OriginAttr(), ExprAttr(), StringAttr());
}

sym::Expr Decomposer::start(StringAttr dim) const {
  return geometry.start(Dim(dim.str()), op);
}

FailureOr<int64_t> Decomposer::part(StringAttr dim) const {
  if (std::optional<int64_t> part = geometry[Dim(dim.str())].part())
    return *part;
  return report(loc, DiagId::TileExtentUnknown)
             .hint("give the dimension a workgroup or tiling constraint, or bind its size in `subs`")
         << "the extent of the tile along `" << dim.getValue() << "` is not known";
}

bool Decomposer::isInside(StringAttr dim) const {
  const Distribution &distribution = geometry[Dim(dim.str())];
  sym::Expr end = start(dim) + distribution.part().value_or(1);
  sym::Expr inside = sym::logicalAnd(sym::ge(start(dim), 0), sym::le(end, distribution.size));
  return sym::prove(inside, geometry.factsAt(op)) == std::optional(true);
}

ExprAttr Decomposer::bind(sym::Expr expr, SmallVector<Value> &symbols) const {
  OperandBinder binder(geometry.symbols(), symbols);
  ExprAttr bound = binder.bind(expr);
  symbols = llvm::to_vector(binder.operands());
  return bound;
}

Value Decomposer::zeroOutside(Value value, StringAttr dim) {
  if (isInside(dim))
    return value;
  auto type = mlir::cast<TileType>(value.getType());
  sym::Expr place = applySymbol(0);
  SmallVector<Value> symbols;
  sym::Expr inside = sym::logicalAnd(sym::ge(place, 0), sym::lt(place, geometry[Dim(dim.str())].size));
  Value line = ofPlaces(dim, bind(inside, symbols), symbols, builder.getI1Type());
  return select(line, value, number(type, 0), type);
}

//===----------------------------------------------------------------------===//
// Rearrangements
//===----------------------------------------------------------------------===//

/// The elements of both tiles, last dimension fastest, are the same: the operand's places of the result's.
static FailureOr<ArrayAttr> indicesInOrder(Decomposer &say, TileType from, TileType to) {
  sym::Expr linear = 0;
  int64_t total = 1, elements = 1;
  for (auto [k, dim] : llvm::enumerate(to.getDims())) {
    FailureOr<int64_t> part = say.part(dim);
    if (failed(part))
      return failure();
    linear = linear * *part + placeSymbol(k);
    total *= *part;
  }
  SmallVector<int64_t> extents;
  for (StringAttr dim : from.getDims()) {
    FailureOr<int64_t> part = say.part(dim);
    if (failed(part))
      return failure();
    extents.push_back(*part);
    elements *= *part;
  }
  if (total != elements)
    return report(say.loc, DiagId::ReshapeDims).hint("bind sizes or tiles whose products are equal")
           << "`reshape` of a tile of " << elements << " elements into one of " << total;
  SmallVector<sym::Expr> indices;
  int64_t stride = elements;
  for (auto [k, extent] : llvm::enumerate(extents)) {
    stride /= extent;
    sym::Expr index = sym::floordiv(linear, stride);
    indices.push_back(k == 0 ? index : sym::mod(index, extent));
  }
  return exprArrayAttr(say.op->getContext(), indices);
}

LogicalResult decomposeRearrange(RearrangeOp op, const Geometry &geometry) {
  Decomposer say(op, geometry);
  TileType from = op.getOperand().getType(), to = op.getResult().getType();
  ArrayAttr indices = op.getIndicesAttr();
  if (!indices) {
    FailureOr<ArrayAttr> inOrder = indicesInOrder(say, from, to);
    if (failed(inOrder))
      return failure();
    indices = *inOrder;
  }
  Value source = op.getOperand();
  for (auto [k, dim] : llvm::enumerate(from.getDims())) {
    if (failed(say.part(dim)))
      return failure();
    if (!staysInPlace(op, k))
      source = say.zeroOutside(source, dim);
  }
  Value memory = say.allocate(from.getDims(), from.getElementType());
  bool isOne = from.getDims().empty();
  ArrayAttr first = exprArrayAttr(op.getContext(), {sym::Expr(0)});
  say.write(source, memory, isOne ? first : ArrayAttr());
  op.getResult().replaceAllUsesWith(say.read(to, memory, isOne ? first : indices, op.getSymbols()));
  op.erase();
  return success();
}

LogicalResult decomposeConcatenate(ConcatenateOp op, const Geometry &geometry) {
  Decomposer say(op, geometry);
  TileType to = op.getResult().getType();
  auto dim = op.getDimAttr();
  FailureOr<int64_t> whole = say.part(dim);
  if (failed(whole))
    return failure();
  Value memory = say.allocate(to.getDims(), to.getElementType());
  int64_t before = 0;
  for (auto [piece, along] : llvm::zip(op.getPieces(), op.getAlong().getAsRange<StringAttr>())) {
    FailureOr<int64_t> part = say.part(along);
    if (failed(part))
      return failure();
    SmallVector<sym::Expr> indices;
    for (auto [k, each] : llvm::enumerate(to.getDims()))
      indices.push_back(each == dim ? placeSymbol(k) + before : placeSymbol(k));
    say.write(say.zeroOutside(piece, along), memory, exprArrayAttr(op.getContext(), indices));
    before += *part;
  }
  if (before != *whole)
    return report(op.getLoc(), DiagId::ConcatenatePieces).hint("bind a size or tile that is the sum of the pieces'")
           << "the pieces of `concatenate` have " << before << " elements along `" << dim.getValue()
           << "` together, the result has " << *whole;
  op.getResult().replaceAllUsesWith(say.read(to, memory));
  op.erase();
  return success();
}

} // namespace soliton
