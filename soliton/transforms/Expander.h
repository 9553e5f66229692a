//===- Expander.h - State of the one expansion ------------------------------------===//
//
// Shared by ExpandTiles.cpp (structure, memory, matrices), ExpandScaled.cpp (products whose sums are scaled) and
// ExpandCompute.cpp (everything element by element).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Access.h"
#include "soliton/transforms/Fragments.h"

#include <map>

namespace soliton {

class Expander {
public:
  /// `keepOutside`: also instructions of which it is known that they touch nothing.
  Expander(wave::KernelOp kernel, const Geometry &geometry, bool keepOutside)
      : kernel(kernel), geometry(geometry), keepOutside(keepOutside), builder(kernel.getContext()) {}

  LogicalResult run();

private:
  LogicalResult expandBlock(Block &block);
  LogicalResult expand(Operation *op);
  LogicalResult expandLoop(wave::IterateOp loop);
  LogicalResult expandConditional(wave::ConditionalOp op);
  void expandIndexOf(wave::IndexOfOp op);
  void expandYield(Operation *yield, ArrayRef<int64_t> granules, wave::OriginAttr at);
  LogicalResult expandAccess(Operation *op);
  LogicalResult expandRead(wave::ReadOp read);
  void expandInPlace(wave::ReadOp read);
  LogicalResult expandWrite(wave::WriteOp write);
  LogicalResult expandAtomic(wave::AtomicOp atomic);
  /// Registers that one instruction of an access moves.
  FailureOr<int64_t> accessWidth(Operation *op, const Access &access);
  void expandCopy(wave::CopyOp copy);
  void expandCopyOut(wave::CopyOutOp copy);
  void expandMma(wave::MmaOp mma);
  struct Scales;
  std::vector<Scales> scalesOf(wave::MmaOp mma);

  // ExpandScaled.cpp
  class ScaledSums;
  void expandScaled(wave::MmaOp mma);
  /// The same registers of each of an access' dynamic values.
  SmallVector<Value> dynamicPieces(ValueRange values, int64_t begin, int64_t count, wave::OriginAttr at);

  void expandElementwise(Operation *op);
  void expandGroups(wave::BitcastOp op);
  void expandGenerated(Operation *op);
  void expandRemap(Operation *op);
  void expandRename(wave::ConvertOp convert, ArrayRef<int64_t> registers);
  void expandBroadcast(wave::BroadcastOp broadcast, ArrayRef<int64_t> registers);
  void expandReduce(wave::ReduceOp reduce);
  void expandScan(wave::ScanOp scan);
  Value combine(wave::ReduceOp reduce, Value lhs, Value rhs, wave::OriginAttr origin);

  /// The registers of each of a loop's carried values that travel together.
  int64_t carriedGranule(Value value) const;
  /// The fragment of an operand.
  const Fragment &fragment(Value value) const { return fragments.find(value)->second; }
  Fragment &define(Value value) { return fragments[value] = Fragment(cast<wave::TileType>(value.getType())); }
  /// Origins of the pieces of `op` when it is cut into pieces of `size` registers of `layout`.
  SmallVector<wave::OriginAttr> origins(Operation *op, wave::Role role, const Layout &layout, int64_t size);
  wave::OriginAttr origin(Operation *op, wave::Role role);
  const MmaKind &kindOf(wave::MmaOp mma) const;

  wave::KernelOp kernel;
  const Geometry &geometry;
  bool keepOutside;
  OpBuilder builder;
  llvm::DenseMap<Value, Fragment> fragments;
  llvm::DenseMap<Operation *, int64_t> numbers;
};

/// Pieces of `size` registers by the coordinates of their first in lane 0 of wave 0.
std::map<std::vector<int64_t>, int64_t> piecesByPlace(const Layout &layout, ArrayRef<Dim> dims, int64_t size);

/// The dimensions of an operand, the contracted one first.
SmallVector<Dim> operandDims(wave::TileType type, Dim contracted);

} // namespace soliton
