//===- Decompose.h - What others say, said by them ---------------------------------------===//
//
// Words for the passages of DecomposeOps: each puts one op in front of the one that is being taken apart. What moves
// between lanes and waves goes through a tile in shared memory of the operand's dimensions:
//
//   %1 = wave.rearrange %0 {indices = …}     becomes     wave.write %0, %tile
//                                                        %1 = wave.read %tile {indices = …}
//
// Layouts, address maps, bounds, barriers and waits are then found as for tiles that authors allocate.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"
#include "soliton/ir/Names.h"

namespace soliton {

class Decomposer {
public:
  Decomposer(Operation *op, const Geometry &geometry)
      : op(op), geometry(geometry), builder(op), loc(op->getLoc()), tags(op->getAttrOfType<ArrayAttr>("tags")) {}

  Value fill(wave::TileType type, mlir::TypedAttr value);
  /// All elements are the same integer, or the float that it is.
  Value number(wave::TileType type, int64_t value);
  Value binary(wave::BinaryKind kind, Value a, Value b, wave::TileType type);
  Value compare(wave::ComparePredicate predicate, Value a, Value b, wave::TileType like);
  Value select(Value condition, Value ifTrue, Value ifFalse, wave::TileType type);
  Value cast(Value value, Type element);
  /// The places of a dimension in the whole tensor.
  Value places(StringAttr dim, Type element);
  /// An expression of the places, as a line of `element`; `symbols` are what `$0`, … stand for.
  Value ofPlaces(StringAttr dim, wave::ExprAttr expr, ValueRange symbols, Type element);

  Value allocate(ArrayRef<StringAttr> dims, Type element);
  void write(Value value, Value memory, ArrayAttr indices = {}, ValueRange dynamicValues = {});
  Value read(wave::TileType type, Value memory, ArrayAttr indices = {}, ValueRange symbols = {});

  /// Where the tile of a dimension starts.
  sym::Expr start(StringAttr dim) const;
  /// Elements of the workgroup's part; reports a dimension for which that is not known.
  FailureOr<int64_t> part(StringAttr dim) const;
  /// Whether all of the part is within the dimension.
  bool isInside(StringAttr dim) const;
  /// `value` where it is within its dimension `dim`, 0 elsewhere.
  Value zeroOutside(Value value, StringAttr dim);
  /// An expression of index values of the kernel, bound to operands.
  wave::ExprAttr bind(sym::Expr expr, SmallVector<Value> &symbols) const;

  Operation *op;
  const Geometry &geometry;
  OpBuilder builder;
  Location loc;
  ArrayAttr tags;
};

LogicalResult decomposeRearrange(wave::RearrangeOp op, const Geometry &geometry);
LogicalResult decomposeConcatenate(wave::ConcatenateOp op, const Geometry &geometry);
LogicalResult decomposeSort(wave::SortOp op, const Geometry &geometry);
/// A product whose sum would be short begins anew, and is added.
void decomposeShortSum(wave::MmaOp op, const Geometry &geometry);

} // namespace soliton
