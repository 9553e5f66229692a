//===- WaveCompute.cpp - Ops on tiles: what holds of them locally -----------===//

#include "soliton/ir/Wave.h"

#include <numeric>

namespace soliton::wave {

/// The dimensions for a message: `[M, K]`.
static std::string dimsText(TileType tile) {
  std::string text = "[";
  for (auto [index, dim] : llvm::enumerate(tile.getDims()))
    text += (index ? ", " : "") + dim.str();
  return text + "]";
}

static bool sameDims(TileType a, TileType b) {
  return a.getDims() == b.getDims();
}

static bool isWithin(TileType part, TileType whole) {
  return llvm::all_of(part.getDims(), [&](mlir::StringAttr dim) { return whole.hasDim(dim); });
}

static ScaledDim scaledDimOf(mlir::StringAttr name) {
  return scaledDim(Dim(name.getValue().str()));
}

/// Fails unless the operands' dimensions are those of the result, some operands lacking some.
static llvm::LogicalResult verifyBroadcast(mlir::Operation *op, llvm::ArrayRef<TileType> operands, TileType result) {
  for (TileType operand : operands)
    if (!isWithin(operand, result))
      return op->emitOpError() << "has an operand of dimensions " << dimsText(operand)
                               << ", expected some of the result's " << dimsText(result);
  for (mlir::StringAttr dim : result.getDims())
    if (llvm::none_of(operands, [&](TileType operand) { return operand.hasDim(dim); }))
      return op->emitOpError() << "has dimension `" << dim.getValue() << "` in its result, but no operand has it";
  return mlir::success();
}

static llvm::LogicalResult verifyElementTypes(mlir::Operation *op, TileType a, TileType b) {
  if (a.getElementType() == b.getElementType())
    return mlir::success();
  return op->emitOpError() << "combines " << a.getElementType() << " with " << b.getElementType()
                           << ", expected one element type";
}

//===-- Constants -----------------------------------------------------------===//

llvm::LogicalResult FillOp::verify() {
  // fill_c1
  if (getValue().getType() != getResult().getType().getElementType())
    return emitOpError() << "fills " << getResult().getType().getElementType() << " elements with a value of type "
                         << getValue().getType();
  return mlir::success();
}

llvm::LogicalResult SplatOp::verify() {
  // splat_c1
  if (getScalar().getType() != getResult().getType().getElementType())
    return emitOpError() << "fills " << getResult().getType().getElementType() << " elements with a scalar of type "
                         << getScalar().getType();
  return mlir::success();
}

llvm::LogicalResult SelfIndexOp::verify() {
  // self_index_c1
  TileType tile = getResult().getType();
  if (tile.getRank() != 1 || !tile.hasDim(getDim()))
    return emitOpError() << "has dimensions " << dimsText(tile) << ", expected [" << getDim() << "]";
  if (!tile.getElementType().isIntOrIndex())
    return emitOpError() << "has element type " << tile.getElementType() << ", expected an integer or `index`";
  return mlir::success();
}

//===-- Matrices ------------------------------------------------------------===//

mlir::StringAttr MmaOp::getContractedDim() {
  for (mlir::StringAttr dim : getLhs().getType().getDims())
    if (!getAcc().getType().hasDim(dim))
      return dim;
  return isPartial() ? getAcc().getType().getDims().front() : mlir::StringAttr();
}
bool MmaOp::isPartial() {
  TileType lhs = getLhs().getType(), rhs = getRhs().getType(), acc = getAcc().getType();
  if (!acc.hasLayout() || acc.getRank() < 3 || lhs.getRank() + 1 != acc.getRank() || rhs.getRank() != lhs.getRank())
    return false;
  mlir::StringAttr first = acc.getDims().front();
  return lhs.hasDim(first) && rhs.hasDim(first) &&
         llvm::all_of(lhs.getDims(), [&](mlir::StringAttr dim) { return acc.hasDim(dim); });
}
/// Whether the accumulator is stored as [N, M]: dimensions have names, so the product is the same.
static bool isTransposed(MmaOp op) {
  llvm::ArrayRef<mlir::StringAttr> dims = op.getAcc().getType().getDims();
  TileType lhs = op.getLhs().getType();
  return !lhs.hasDim(dims.drop_back().back()) && lhs.hasDim(dims.back());
}
mlir::StringAttr MmaOp::getRowDim() {
  llvm::ArrayRef<mlir::StringAttr> dims = getAcc().getType().getDims();
  return isTransposed(*this) ? dims.back() : dims.drop_back().back();
}
mlir::StringAttr MmaOp::getColumnDim() {
  llvm::ArrayRef<mlir::StringAttr> dims = getAcc().getType().getDims();
  return isTransposed(*this) ? dims.drop_back().back() : dims.back();
}

ScaledDim MmaOp::getScaleDim() {
  return {Dim(getContractedDim().getValue().str()), kScaleBlock};
}

/// Fails unless the scales are those of `operand`: its dimensions, with one place for a block of the contracted one.
static llvm::LogicalResult verifyMmaScales(MmaOp op, llvm::StringRef name, TileType scales, TileType operand) {
  std::string block = op.getScaleDim().dim().name();
  bool fits = scales.getRank() == operand.getRank() && scales.hasDim(block) &&
              llvm::all_of(operand.getDims(), [&](mlir::StringAttr dim) {
                return dim == op.getContractedDim() ? !scales.hasDim(dim) : scales.hasDim(dim);
              });
  if (fits && dtypeOf(scales.getElementType()) == DType::f8e8m0fnu)
    return mlir::success();
  return op.emitOpError() << "has scales of `" << name << "` with dimensions " << dimsText(scales) << " of "
                          << scales.getElementType() << ", expected `" << block << "` in place of `"
                          << op.getContractedDim().getValue() << "` in " << dimsText(operand) << ", of f8E8M0FNU";
}

/// Fails unless `operand` has the batches of the accumulator, `kept` and `contracted`, in any order.
static llvm::LogicalResult verifyMmaOperand(MmaOp op, llvm::StringRef name, TileType operand, mlir::StringAttr kept,
                                            mlir::StringAttr contracted) {
  TileType acc = op.getAcc().getType();
  int64_t rank = op.isPartial() ? acc.getRank() - 1 : acc.getRank();
  bool fits = operand.getRank() == rank && operand.hasDim(kept) && operand.hasDim(contracted) &&
              llvm::all_of(acc.getDims().drop_back(2), [&](mlir::StringAttr batch) { return operand.hasDim(batch); });
  if (fits)
    return mlir::success();
  mlir::InFlightDiagnostic diag = op.emitOpError()
                                  << "has `" << name << "` of dimensions " << dimsText(operand) << ", expected `"
                                  << kept.getValue() << "`, `" << contracted.getValue() << "`";
  if (acc.getRank() > 2)
    diag << " and the batches of the accumulator " << dimsText(acc);
  return diag;
}

llvm::LogicalResult MmaOp::verify() {
  // mma_c2
  if (getAcc().getType().getRank() < 2)
    return emitOpError() << "accumulates into dimensions " << dimsText(getAcc().getType()) << ", expected at least two";
  // mma_c1
  mlir::StringAttr contracted = getContractedDim();
  if (!contracted)
    return emitOpError() << "contracts nothing: `lhs` has dimensions " << dimsText(getLhs().getType())
                         << ", all of which the accumulator has";
  if (failed(verifyMmaOperand(*this, "lhs", getLhs().getType(), getRowDim(), contracted)) ||
      failed(verifyMmaOperand(*this, "rhs", getRhs().getType(), getColumnDim(), contracted)))
    return mlir::failure();
  // mma_c3
  if (!isScaled())
    return mlir::success();
  if (getScales().size() != 2)
    return emitOpError() << "has " << getScales().size() << " scales, expected none or one for each operand";
  if (failed(verifyMmaScales(*this, "lhs", llvm::cast<TileType>(getScales()[0].getType()), getLhs().getType())) ||
      failed(verifyMmaScales(*this, "rhs", llvm::cast<TileType>(getScales()[1].getType()), getRhs().getType())))
    return mlir::failure();
  return mlir::success();
}

//===-- Element by element --------------------------------------------------===//

llvm::LogicalResult UnaryOp::verify() {
  // unary_c1
  if (getOperand().getType() != getResult().getType())
    return emitOpError() << "turns " << getOperand().getType() << " into " << getResult().getType()
                         << ", expected one type";
  return mlir::success();
}

llvm::LogicalResult BinaryOp::verify() {
  TileType lhs = getLhs().getType(), rhs = getRhs().getType(), result = getResult().getType();
  // binary_c1
  if (failed(verifyElementTypes(*this, lhs, rhs)) || failed(verifyElementTypes(*this, lhs, result)))
    return mlir::failure();
  // binary_c2
  return verifyBroadcast(*this, {lhs, rhs}, result);
}

llvm::LogicalResult CompareOp::verify() {
  TileType lhs = getLhs().getType(), rhs = getRhs().getType(), result = getResult().getType();
  // compare_c1
  if (failed(verifyElementTypes(*this, lhs, rhs)))
    return mlir::failure();
  if (!result.getElementType().isInteger(1))
    return emitOpError() << "has element type " << result.getElementType() << ", expected i1";
  // compare_c2
  return verifyBroadcast(*this, {lhs, rhs}, result);
}

llvm::LogicalResult SelectOp::verify() {
  TileType condition = getCondition().getType(), ifTrue = getIfTrue().getType(), ifFalse = getIfFalse().getType();
  TileType result = getResult().getType();
  // select_c1
  if (!condition.getElementType().isInteger(1))
    return emitOpError() << "chooses by " << condition.getElementType() << ", expected i1";
  if (failed(verifyElementTypes(*this, ifTrue, ifFalse)) || failed(verifyElementTypes(*this, ifTrue, result)))
    return mlir::failure();
  // select_c2
  return verifyBroadcast(*this, {condition, ifTrue, ifFalse}, result);
}

llvm::LogicalResult CastOp::verify() {
  // cast_c1
  if (!sameDims(getOperand().getType(), getResult().getType()))
    return emitOpError() << "turns dimensions " << dimsText(getOperand().getType()) << " into "
                         << dimsText(getResult().getType()) << ", expected the same";
  return mlir::success();
}

/// The dimension of `groups` that counts groups of the last one of `elements`, all others being the same.
static std::optional<ScaledDim> groupsOf(TileType groups, TileType elements) {
  if (groups.getRank() != elements.getRank() || groups.getRank() == 0 ||
      groups.getDims().drop_back() != elements.getDims().drop_back())
    return std::nullopt;
  ScaledDim wide = scaledDimOf(groups.getDims().back()), narrow = scaledDimOf(elements.getDims().back());
  int64_t places = wide.places * narrow.divisor, of = wide.divisor * narrow.places, common = std::gcd(places, of);
  if (wide.base != narrow.base || places >= of)
    return std::nullopt;
  return ScaledDim{narrow.dim(), of / common, places / common};
}

bool BitcastOp::isGrouping() {
  return groupsOf(getResult().getType(), getOperand().getType()).has_value();
}
std::optional<ScaledDim> BitcastOp::getGroups() {
  TileType operand = getOperand().getType(), result = getResult().getType();
  return isGrouping() ? groupsOf(result, operand) : groupsOf(operand, result);
}

llvm::LogicalResult BitcastOp::verify() {
  TileType operand = getOperand().getType(), result = getResult().getType();
  // bitcast_c1
  std::optional<ScaledDim> groups = getGroups();
  if (!groups && !sameDims(operand, result))
    return emitOpError() << "turns dimensions " << dimsText(operand) << " into " << dimsText(result)
                         << ", expected the same, or groups along the last";
  // bitcast_c2
  TileType narrow = isGrouping() ? operand : result, wide = isGrouping() ? result : operand;
  std::optional<DType> few = dtypeOf(narrow.getElementType()), many = dtypeOf(wide.getElementType());
  ScaledDim group = groups.value_or(ScaledDim{Dim("")});
  if (!few || !many || bits(*few) * group.divisor != bits(*many) * group.places || bits(*many) % 8 != 0)
    return emitOpError() << "reads the bits of " << operand.getElementType() << " as " << result.getElementType()
                         << ", expected types of the same number of whole bytes";
  return mlir::success();
}

llvm::LogicalResult ApplyExprOp::verify() {
  // apply_expr_c1
  if (getInputs().empty())
    return emitOpError() << "has no inputs, expected at least one";
  TileType first = llvm::cast<TileType>(getInputs().front().getType());
  for (mlir::Value input : getInputs()) {
    TileType type = llvm::cast<TileType>(input.getType());
    if (!type.getElementType().isIntOrIndex())
      return emitOpError() << "has an input of " << type.getElementType() << " elements, expected integers";
    if (!isWithin(type, first))
      return emitOpError() << "has an input with dimensions " << dimsText(type) << ", expected those of the first, "
                           << dimsText(first) << ", or some of them";
  }
  if (!sameDims(first, getResult().getType()))
    return emitOpError() << "has dimensions " << dimsText(getResult().getType())
                         << ", expected those of its first input " << dimsText(first);
  return mlir::success();
}

//===-- Shape ---------------------------------------------------------------===//

llvm::LogicalResult BroadcastOp::verify() {
  TileType operand = getOperand().getType(), result = getResult().getType();
  // broadcast_c1
  if (failed(verifyElementTypes(*this, operand, result)))
    return mlir::failure();
  bool fits = llvm::all_of(operand.getDims(), [&](mlir::StringAttr dim) {
    ScaledDim scaled = scaledDimOf(dim);
    return result.hasDim(dim) || (scaled.isWhole() && result.hasDim(scaled.base.name()));
  });
  if (!fits)
    return emitOpError() << "turns dimensions " << dimsText(operand) << " into " << dimsText(result)
                         << ", expected the result to have all of the operand's";
  return mlir::success();
}

llvm::LogicalResult PermuteOp::verify() {
  TileType operand = getOperand().getType(), result = getResult().getType();
  // permute_c1
  if (failed(verifyElementTypes(*this, operand, result)))
    return mlir::failure();
  if (operand.getRank() != result.getRank() || !isWithin(operand, result))
    return emitOpError() << "turns dimensions " << dimsText(operand) << " into " << dimsText(result)
                         << ", expected a permutation";
  return mlir::success();
}

BinaryKind combination(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum:
    return BinaryKind::add;
  case ReduceKind::max:
    return BinaryKind::max;
  case ReduceKind::min:
    return BinaryKind::min;
  case ReduceKind::prod:
    return BinaryKind::mul;
  case ReduceKind::any:
    return BinaryKind::bit_or;
  case ReduceKind::all:
    return BinaryKind::bit_and;
  }
  llvm_unreachable("no such reduction");
}

mlir::TypedAttr identity(ReduceKind kind, mlir::Type type) {
  if (auto real = llvm::dyn_cast<mlir::FloatType>(type)) {
    const llvm::fltSemantics &format = real.getFloatSemantics();
    if (kind == ReduceKind::sum)
      return mlir::FloatAttr::get(real, llvm::APFloat::getZero(format));
    if (kind == ReduceKind::prod)
      return mlir::FloatAttr::get(real, llvm::APFloat::getOne(format));
    bool negative = kind == ReduceKind::max;
    return mlir::FloatAttr::get(real, llvm::APFloat::semanticsHasInf(format)
                                          ? llvm::APFloat::getInf(format, negative)
                                          : llvm::APFloat::getLargest(format, negative));
  }
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  llvm::APInt value(width, kind == ReduceKind::prod || kind == ReduceKind::all ? 1 : 0);
  if (kind == ReduceKind::max || kind == ReduceKind::min)
    value = kind == ReduceKind::max ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getSignedMaxValue(width);
  return mlir::IntegerAttr::get(type, value);
}

/// Fails unless truths are combined as truths and numbers as numbers.
static llvm::LogicalResult verifyCombines(mlir::Operation *op, ReduceKind kind, TileType source) {
  bool ofTruths = kind == ReduceKind::any || kind == ReduceKind::all;
  if (ofTruths == source.getElementType().isInteger(1))
    return mlir::success();
  return op->emitOpError() << "combines " << source.getElementType() << " by `" << stringifyReduceKind(kind)
                           << "`, expected " << (ofTruths ? "i1" : "numbers");
}

llvm::LogicalResult ReduceOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  // reduce_c1
  if (!source.hasDim(getDim()))
    return emitOpError() << "reduces along `" << getDim() << "`, expected a dimension of its source "
                         << dimsText(source);
  // reduce_c2
  bool partial = result.hasDim(getDim());
  llvm::SmallVector<mlir::StringAttr> dims;
  for (mlir::StringAttr dim : source.getDims())
    if (partial || dim != getDim())
      dims.push_back(dim);
  if (result.getDims() != llvm::ArrayRef(dims))
    return emitOpError() << "turns dimensions " << dimsText(source) << " into " << dimsText(result)
                         << ", expected all but `" << getDim() << "`";
  if (failed(verifyElementTypes(*this, source, result)))
    return mlir::failure();
  // reduce_c4
  if (failed(verifyCombines(*this, getKind(), source)))
    return mlir::failure();
  // reduce_c3
  if (!getInit())
    return mlir::success();
  if (partial)
    return emitOpError() << "keeps `" << getDim() << "` and has an initial value, expected none";
  if (getInit().getType() != result)
    return emitOpError() << "has an initial value of type " << getInit().getType() << ", expected " << result;
  return mlir::success();
}

/// The tile's dimensions without one of them.
static llvm::SmallVector<mlir::StringAttr> dimsWithout(TileType tile, llvm::StringRef dim) {
  return llvm::to_vector(
      llvm::make_filter_range(tile.getDims(), [&](mlir::StringAttr each) { return each.getValue() != dim; }));
}

llvm::LogicalResult ArgReduceOp::verify() {
  TileType source = getSource().getType(), value = getValue().getType(), index = getIndex().getType();
  // arg_reduce_c1
  if (!source.hasDim(getDim()))
    return emitOpError() << "looks along `" << getDim() << "`, expected a dimension of its source " << dimsText(source);
  if (source.getElementType().isInteger(1))
    return emitOpError() << "looks for an extreme of i1, expected numbers";
  // arg_reduce_c2
  llvm::SmallVector<mlir::StringAttr> dims = dimsWithout(source, getDim());
  if (value.getDims() != llvm::ArrayRef(dims) || index.getDims() != llvm::ArrayRef(dims))
    return emitOpError() << "turns dimensions " << dimsText(source) << " into " << dimsText(value) << " and "
                         << dimsText(index) << ", expected all but `" << getDim() << "`";
  if (failed(verifyElementTypes(*this, source, value)))
    return mlir::failure();
  if (!index.getElementType().isInteger(32) && !index.getElementType().isInteger(64))
    return emitOpError() << "has places of " << index.getElementType() << ", expected i32 or i64";
  // arg_reduce_c3
  if (getInits().empty())
    return mlir::success();
  if (getInits().size() != 2 || getInits().getTypes() != getResultTypes())
    return emitOpError() << "begins with other types than it has results, expected " << value << " and " << index;
  return mlir::success();
}

/// An op along a dimension of its source whose result has the source's dimensions and elements.
static llvm::LogicalResult verifyAlong(mlir::Operation *op, TileType source, TileType result, llvm::StringRef dim) {
  if (!source.hasDim(dim))
    return op->emitOpError() << "goes along `" << dim << "`, expected a dimension of its source " << dimsText(source);
  if (!sameDims(source, result))
    return op->emitOpError() << "turns dimensions " << dimsText(source) << " into " << dimsText(result)
                             << ", expected the same";
  return verifyElementTypes(op, source, result);
}

llvm::LogicalResult ShuffleOp::verify() {
  TileType source = getSource().getType();
  // shuffle_c1, shuffle_c2
  if (failed(verifyAlong(*this, source, getResult().getType(), getDim())))
    return mlir::failure();
  // shuffle_c3
  bool takesIndex = getMode() == ShuffleMode::idx;
  if (takesIndex != bool(getIndex()) || takesIndex == bool(getOffset()) ||
      (getOffset() && getOffsetAttr().getInt() < 0))
    return emitOpError() << "`" << stringifyShuffleMode(getMode()) << "` takes "
                         << (takesIndex ? "an index and no offset" : "an offset that is not negative, and no index");
  if (getIndex() && (!sameDims(source, getIndex().getType()) || !getIndex().getType().getElementType().isInteger(32)))
    return emitOpError() << "has an index of type " << getIndex().getType() << ", expected i32 with the dimensions "
                         << dimsText(source);
  return mlir::success();
}

llvm::LogicalResult ScanOp::verify() {
  TileType source = getSource().getType();
  // scan_c1, scan_c2
  if (failed(verifyAlong(*this, source, getResult().getType(), getDim())))
    return mlir::failure();
  // scan_c4
  if (failed(verifyCombines(*this, getKind(), source)))
    return mlir::failure();
  // scan_c3
  if (mlir::TypedValue<TileType> init = getInit()) {
    if (init.getType().getDims() != llvm::ArrayRef(dimsWithout(source, getDim())))
      return emitOpError() << "has an initial value of dimensions " << dimsText(init.getType())
                           << ", expected all but `" << getDim() << "`";
    if (failed(verifyElementTypes(*this, source, init.getType())))
      return mlir::failure();
  }
  if (mlir::TypedValue<TileType> totals = getTotals()) {
    if (!sameDims(source, totals.getType()))
      return emitOpError() << "has totals of dimensions " << dimsText(totals.getType())
                           << ", expected those of its source";
    return verifyElementTypes(*this, source, totals.getType());
  }
  return mlir::success();
}

//===-- Rows and rearrangements -----------------------------------------------===//

llvm::LogicalResult RearrangeOp::verify() {
  // rearrange_c1
  TileType operand = getOperand().getType();
  if (failed(verifyElementTypes(*this, operand, getResult().getType())))
    return mlir::failure();
  // rearrange_c2
  if (!getIndices())
    return mlir::success();
  if (getIndices()->size() != operand.getDims().size())
    return emitOpError() << "has " << getIndices()->size() << " entries in `indices`, the operand has "
                         << operand.getDims().size() << " dimensions";
  if (!llvm::all_of(*getIndices(), llvm::IsaPred<ExprAttr>))
    return emitOpError() << "has an entry in `indices` that is no expression";
  return mlir::success();
}

/// The tile's dimensions with another one in the place of `dim`.
static llvm::SmallVector<mlir::StringAttr> dimsWith(TileType tile, mlir::StringAttr dim, mlir::StringAttr other) {
  return llvm::map_to_vector(tile.getDims(), [&](mlir::StringAttr each) { return each == dim ? other : each; });
}

llvm::LogicalResult ConcatenateOp::verify() {
  TileType result = getResult().getType();
  // concatenate_c1
  if (getPieces().empty() || getPieces().size() != getAlong().size())
    return emitOpError() << "has " << getPieces().size() << " pieces along " << getAlong().size()
                         << " dimensions, expected as many, and at least one";
  // concatenate_c2
  if (!result.hasDim(getDim()))
    return emitOpError() << "goes along `" << getDim() << "`, expected a dimension of its result " << dimsText(result);
  for (auto [piece, along] : llvm::zip(getPieces(), getAlong().getAsRange<mlir::StringAttr>())) {
    auto type = llvm::cast<TileType>(piece.getType());
    if (type.getDims() != llvm::ArrayRef(dimsWith(result, getDimAttr(), along)))
      return emitOpError() << "has a piece of dimensions " << dimsText(type) << ", expected those of its result "
                           << dimsText(result) << " with `" << along.getValue() << "` for `" << getDim() << "`";
    if (failed(verifyElementTypes(*this, type, result)))
      return mlir::failure();
  }
  return mlir::success();
}

static bool isSortable(mlir::Type element) {
  return element.isFloat() ? element.getIntOrFloatBitWidth() % 8 == 0
                           : element.isInteger() && element.getIntOrFloatBitWidth() >= 8;
}

llvm::LogicalResult SortOp::verify() {
  TileType keys = getKeys().getType();
  // sort_c1
  if (!keys.hasDim(getDim()))
    return emitOpError() << "goes along `" << getDim() << "`, expected a dimension of its keys " << dimsText(keys);
  if (!isSortable(keys.getElementType()))
    return emitOpError() << "orders " << keys.getElementType() << ", expected numbers of whole bytes";
  // sort_c2
  for (mlir::Value payload : getPayloads()) {
    auto type = llvm::cast<TileType>(payload.getType());
    if (!sameDims(type, keys))
      return emitOpError() << "carries a tile of dimensions " << dimsText(type) << ", expected those of its keys "
                           << dimsText(keys);
    mlir::Type element = type.getElementType();
    if (!element.isInteger(1) && !element.isIndex() && !isSortable(element))
      return emitOpError() << "carries " << element << ", expected elements of whole bytes or i1";
  }
  // sort_c3
  if (getResults().size() != getPayloads().size() + 1)
    return emitOpError() << "has " << getResults().size() << " results for " << getPayloads().size() + 1 << " tiles";
  for (auto [operand, result] : llvm::zip(getOperands(), getResults())) {
    auto from = llvm::cast<TileType>(operand.getType()), to = llvm::cast<TileType>(result.getType());
    if (to.getDims() != llvm::ArrayRef(dimsWith(from, getDimAttr(), getIntoAttr())))
      return emitOpError() << "turns dimensions " << dimsText(from) << " into " << dimsText(to) << ", expected `"
                           << getInto() << "` for `" << getDim() << "`";
    if (failed(verifyElementTypes(*this, from, to)))
      return mlir::failure();
  }
  return mlir::success();
}

llvm::LogicalResult PrintOp::verify() {
  // print_c1
  if (getOperand().getType() != getResult().getType())
    return emitOpError() << "gives " << getResult().getType() << " for " << getOperand().getType()
                         << ", expected the same";
  // print_c2
  if (getStarts() && (getStarts()->size() != getOperand().getType().getDims().size() ||
                      !llvm::all_of(*getStarts(), llvm::IsaPred<ExprAttr>)))
    return emitOpError() << "has " << getStarts()->size() << " starts for " << getOperand().getType().getDims().size()
                         << " dimensions, expected an expression for each";
  return mlir::success();
}

//===-- Layout --------------------------------------------------------------===//

llvm::LogicalResult ConvertOp::verify() {
  TileType operand = getOperand().getType(), result = getResult().getType();
  // convert_c1
  if (failed(verifyElementTypes(*this, operand, result)))
    return mlir::failure();
  if (!sameDims(operand, result))
    return emitOpError() << "turns dimensions " << dimsText(operand) << " into " << dimsText(result)
                         << ", expected the same";
  return mlir::success();
}

llvm::LogicalResult SliceOp::verify() {
  TileType operand = getOperand().getType(), result = getResult().getType();
  // slice_c1
  if (failed(verifyElementTypes(*this, operand, result)))
    return mlir::failure();
  if (!sameDims(operand, result) || !operand.hasLayout() || !result.hasLayout())
    return emitOpError() << "turns " << operand << " into " << result
                         << ", expected the same dimensions and two layouts";
  int64_t first = getFirst(), count = result.layout().regs();
  std::optional<Layout> cut;
  if (first >= 0 && first <= operand.layout().regs() - count)
    cut = operand.layout().subLayout(first, count);
  if (!cut)
    return emitOpError() << "takes registers " << first << " to " << first + count << " of " << operand.layout().regs()
                         << ", which are no layout of their own";
  if (!(*cut == result.layout()))
    return emitOpError() << "has the layout `" << result.layout().str() << "`, expected `" << cut->str() << "`";
  return mlir::success();
}

/// The first register of `piece` at which it holds other coordinates than the result does from register `first` on.
static std::optional<int64_t> findDifference(const Layout &piece, const Layout &result, int64_t first) {
  for (int64_t reg = 0; reg < piece.regs(); ++reg) {
    Coordinates found = piece.coordinates(reg, 0, 0), expected = result.coordinates(first + reg, 0, 0);
    std::erase_if(found, [](const auto &entry) { return entry.second == 0; });
    std::erase_if(expected, [](const auto &entry) { return entry.second == 0; });
    if (found != expected)
      return reg;
  }
  return std::nullopt;
}

static llvm::LogicalResult verifyPiece(JoinOp op, TileType piece, int64_t first) {
  TileType result = op.getResult().getType();
  if (!sameDims(piece, result) || !piece.hasLayout())
    return op.emitOpError() << "has a piece " << piece << ", expected the result's dimensions and a layout";
  if (failed(verifyElementTypes(op, piece, result)))
    return mlir::failure();
  const Layout &part = piece.layout(), &whole = result.layout();
  if (first + part.regs() > whole.regs())
    return op.emitOpError() << "has pieces of more than the result's " << whole.regs() << " registers";
  if (canonical(part.lane) != canonical(whole.lane) || canonical(part.wave) != canonical(whole.wave))
    return op.emitOpError() << "has a piece with the layout `" << part.str()
                            << "`, expected the lanes and waves of the result's `" << whole.str() << "`";
  if (std::optional<int64_t> reg = findDifference(part, whole, first))
    return op.emitOpError() << "has register " << *reg << " of a piece as its register " << first + *reg
                            << ", but they hold different coordinates";
  return mlir::success();
}

llvm::LogicalResult JoinOp::verify() {
  // join_c1
  TileType result = getResult().getType();
  if (!result.hasLayout())
    return emitOpError() << "has no layout in its result";
  int64_t first = 0;
  for (mlir::Value value : getPieces()) {
    auto piece = llvm::cast<TileType>(value.getType());
    if (failed(verifyPiece(*this, piece, first)))
      return mlir::failure();
    first += piece.layout().regs();
  }
  if (first != result.layout().regs())
    return emitOpError() << "has pieces of " << first << " registers together, the result has "
                         << result.layout().regs();
  return mlir::success();
}

} // namespace soliton::wave
