//===- ExpandScaled.cpp - Scaled products by instructions that do not scale ------------===//
//
// 32 neighbouring elements along K, a *block*, have one scale a row and one a column. The instructions sum the plain
// products of a block from 0 on; the sum is scaled behind them:
//
//   %d = wave.mma %a, %b, %c scaled %s, %t       becomes, for each block,     %p = wave.mma %a1, %b1, wave.mma %a0,
//   %b0, 0
//                                                                             %c = %c + %p * (s' t') * (s" t")
//
// An element times its scale, or the sum times one scale, may be too large or too small for f32 although the result is
// neither. So each scale is cut into two powers of two, s = s' s", such that s' t' and s" t" are numbers of f32, never
// one above 1 and the other below it: the first product is infinite or 0 only if the result is.
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Forms.h"
#include "soliton/layout/Grouped.h"
#include "soliton/transforms/Expander.h"

#include <array>

namespace soliton {
using namespace wave;

namespace {
/// Bits of the power of two of f32.
constexpr int32_t powerOfTwo(int32_t exponent) {
  return (127 + exponent) << 23;
}

/// What s' is cut to. The sums of the limits of rows and columns, and of what is left, 127 and -127 less them, are
/// exponents of f32.
struct Limits {
  int32_t least, most;
};
constexpr Limits kRows{-63, 64}, kColumns{-64, 63};
} // namespace

/// The products of one op, and the factors that are in use.
class Expander::ScaledSums {
public:
  ScaledSums(Expander &expander, MmaOp mma)
      : expander(expander), builder(expander.builder), mma(mma), loc(mma.getLoc()), kind(expander.kindOf(mma)),
        accType(mma.getAcc().getType()), contracted(mma.getContractedDim().getValue().str()),
        block(mma.getScaleDim().dim()), lhs(operand(mma.getLhs(), kind.lhs.nativeRegs)),
        rhs(operand(mma.getRhs(), kind.rhs.nativeRegs)), rows(factors(mma.getScales()[0], kRows)),
        columns(factors(mma.getScales()[1], kColumns)) {
    for (auto &[place, begin] : lhs.pieces)
      blocks[place.front() / kScaleBlock].push_back(place.front());
    for (auto &[number, steps] : blocks) {
      llvm::sort(steps);
      steps.erase(llvm::unique(steps), steps.end());
    }
  }

  /// Block by block, so that the factors of one are not held while others are summed.
  void run() {
    const Fragment acc = expander.fragment(mma.getAcc());
    int64_t size = kind.acc.nativeRegs;
    SmallVector<OriginAttr> places = expander.origins(mma, Role::Compute, accType.layout(), size);
    SmallVector<Value> sums(places.size());
    for (auto &[number, steps] : blocks)
      for (auto [i, sum] : llvm::enumerate(sums)) {
        at = places[i];
        begin = static_cast<int64_t>(i) * size;
        type = pieceType(accType, begin, size);
        if (!sum)
          sum = acc.range(builder, loc, begin, size, at);
        sum = binary(BinaryKind::add, sum, scaledSum(number, steps));
      }
    Fragment &result = expander.define(mma.getResult());
    for (Value sum : sums)
      result.append(sum);
  }

private:
  /// A factor of the product by the places of its pieces.
  struct Operand {
    Fragment fragment;
    int64_t size;
    SmallVector<Dim> dims;
    std::map<std::vector<int64_t>, int64_t> pieces;
  };
  /// The scales of one factor by their places, and both parts of those in use, as rows or columns.
  struct Factors {
    Fragment scales;
    Limits limits;
    SmallVector<Dim> dims;
    std::map<std::vector<int64_t>, int64_t> pieces;
    SmallVector<StringAttr> names;
    std::map<int64_t, std::array<Value, 2>> parts;
  };

  Operand operand(Value value, int64_t size) {
    auto type = cast<TileType>(value.getType());
    SmallVector<Dim> dims = operandDims(type, contracted);
    return {expander.fragment(value), size, dims, piecesByPlace(type.layout(), dims, size)};
  }

  Factors factors(Value scales, Limits limits) {
    auto type = cast<TileType>(scales.getType());
    Factors result{expander.fragment(scales), limits, operandDims(type, block), {}, {}, {}};
    result.pieces = piecesByPlace(type.layout(), result.dims, 1);
    for (StringAttr name : type.getDims())
      if (name.getValue() != block.name())
        result.names.push_back(name);
    return result;
  }

  /// s', the scale within the limits, and s", the scale divided by it: an exponent is less than any above it, as
  /// integers too, and 254 less its bits is that of the inverse. A NaN is within the limits, and left in s".
  std::array<Value, 2> cut(Value scales, Limits limits) {
    auto type = cast<TileType>(scales.getType());
    TileType real = type.withElementType(builder.getF32Type()), whole = type.withElementType(builder.getI32Type());
    Value scale = CastOp::create(builder, loc, real, scales, mma.getTagsAttr(), at);
    Value bits = bitcast(scale, whole);
    bits = binary(BinaryKind::max, bits, fill(whole, powerOfTwo(limits.least)));
    bits = binary(BinaryKind::min, bits, fill(whole, powerOfTwo(limits.most)));
    Value inverse = bitcast(binary(BinaryKind::sub, fill(whole, 2 * powerOfTwo(0)), bits), real);
    return {bitcast(bits, real), binary(BinaryKind::mul, scale, inverse)};
  }

  Value binary(BinaryKind operation, Value a, Value b) {
    return BinaryOp::create(builder, loc, a.getType(), operation, a, b, mma.getTagsAttr(), at);
  }
  Value bitcast(Value value, TileType type) {
    return BitcastOp::create(builder, loc, type, value, mma.getTagsAttr(), at);
  }
  Value fill(TileType type, int32_t number) {
    return FillOp::create(builder, loc, type, builder.getI32IntegerAttr(number), mma.getTagsAttr(), at);
  }

  /// The place of the current piece of the accumulator, in the dimensions of an operand but the first.
  std::vector<int64_t> placeAt(ArrayRef<Dim> dims, int64_t first, int64_t reg) {
    std::vector<int64_t> place = {first};
    for (Dim dim : dims.drop_front())
      place.push_back(accType.layout().coordinate(dim, reg, 0, 0));
    return place;
  }
  Value pieceOf(const Operand &operand, int64_t step, OriginAttr origin) {
    int64_t first = operand.pieces.at(placeAt(operand.dims, step, begin));
    return operand.fragment.range(builder, loc, first, operand.size, origin);
  }

  OriginAttr originAt(int64_t step) {
    SmallVector<mlir::NamedAttribute> piece;
    if (at.getPiece())
      llvm::append_range(piece, at.getPiece());
    if (lhs.pieces.size() > 1)
      piece.emplace_back(mma.getContractedDim(), builder.getI64IntegerAttr(step / kind.k));
    return OriginAttr::get(mma.getContext(), at.getOp(), Role::Compute,
                           mlir::DictionaryAttr::get(mma.getContext(), piece), 0, at.getTags());
  }

  Value scaledSum(int64_t number, ArrayRef<int64_t> steps) {
    auto zero = cast<mlir::TypedAttr>(builder.getZeroAttr(type.getElementType()));
    Value sum = FillOp::create(builder, loc, type, zero, mma.getTagsAttr(), at);
    for (auto [i, step] : llvm::enumerate(steps)) {
      // Steps of a block may lie side by side in lanes: what counts is their order.
      OriginAttr origin = originAt(number * kScaleBlock + static_cast<int64_t>(i) * kind.k);
      sum = MmaOp::create(builder, loc, type, pieceOf(lhs, step, origin), pieceOf(rhs, step, origin), sum, ValueRange(),
                          mma.getKindAttr(), mma.getTagsAttr(), origin);
    }
    for (size_t part : {0, 1})
      sum = binary(BinaryKind::mul, sum,
                   binary(BinaryKind::mul, factor(rows, part, number), factor(columns, part, number)));
    return sum;
  }

  /// One part of the scales of a block for each element of the current piece.
  Value factor(Factors &from, size_t part, int64_t number) {
    SmallVector<Dim> dims(ArrayRef(from.dims).drop_front());
    Layout layout = restrictedTo(type.layout(), dims);
    SmallVector<Value> registers;
    for (int64_t reg = 0; reg < layout.regs(); ++reg) {
      std::vector<int64_t> place = {number};
      for (Dim dim : dims)
        place.push_back(layout.coordinate(dim, reg, 0, 0));
      registers.push_back(partsOf(from, from.pieces.at(place))[part]);
    }
    Value joined = registers.front();
    if (registers.size() > 1)
      joined = JoinOp::create(builder, loc, narrowType(from, layout), registers, ArrayAttr(), at);
    return BroadcastOp::create(builder, loc, type, joined, mma.getTagsAttr(), at);
  }

  /// Both parts of a register of scales, of the rows or columns alone: sums over its one block.
  const std::array<Value, 2> &partsOf(Factors &from, int64_t reg) {
    auto [found, isNew] = from.parts.try_emplace(reg);
    if (isNew)
      for (auto [line, part] : llvm::zip(found->second, cut(from.scales.range(builder, loc, reg, 1, at), from.limits)))
        line =
            ReduceOp::create(builder, loc, narrowType(from, cast<TileType>(part.getType()).layout().withoutDim(block)),
                             ReduceKind::sum, part, Value(), ValueRange(),
                             StringAttr::get(mma.getContext(), block.name()), ExprAttr(), mma.getTagsAttr(), at);
    return found->second;
  }
  TileType narrowType(const Factors &from, const Layout &layout) {
    return TileType::get(mma.getContext(), from.names, builder.getF32Type(), LayoutAttr::get(mma.getContext(), layout));
  }

  Expander &expander;
  OpBuilder &builder;
  MmaOp mma;
  Location loc;
  const MmaKind &kind;
  TileType accType;
  Dim contracted, block;
  OriginAttr at;
  Operand lhs, rhs;
  Factors rows, columns;
  /// Where the instructions of each block begin along K.
  std::map<int64_t, SmallVector<int64_t>> blocks;
  /// The piece of the accumulator that is being summed.
  int64_t begin = 0;
  TileType type;
};

void Expander::expandScaled(MmaOp mma) {
  ScaledSums(*this, mma).run();
}

} // namespace soliton
