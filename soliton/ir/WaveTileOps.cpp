//===- WaveTileOps.cpp - How each op on tiles is carried out ------------------------===//
//
// What is not here is pointwise. For example a sum along N: the result lies as the source does without N, an initial
// value as the result does, and what it costs is decided by how the source lies.
//
//   %1 = wave.reduce sum %0 along "N" : [M, N] -> [M]        work reduce, part (%1, %0), priced %0
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Wave.h"

using namespace soliton;
using namespace soliton::wave;
using mlir::Value;

void wave::detail::relateByWork(TileOpInterface op, LayoutRelations &relations) {
  if (op.getWork() != TileWork::pointwise)
    return;
  for (Value operand : op->getOperands())
    if (llvm::isa<TileType>(operand.getType()))
      relations.alike.emplace_back(op->getResult(0), operand);
}

//===-- Work --------------------------------------------------------------------------------------------===//

TileWork FillOp::getWork() {
  return TileWork::constant;
}
TileWork SplatOp::getWork() {
  return TileWork::constant;
}
TileWork SelfIndexOp::getWork() {
  return TileWork::generate;
}
TileWork PermuteOp::getWork() {
  return TileWork::rename;
}
TileWork SliceOp::getWork() {
  return TileWork::rename;
}
TileWork JoinOp::getWork() {
  return TileWork::rename;
}
TileWork BitcastOp::getWork() {
  return getGroups() ? TileWork::rename : TileWork::pointwise;
}
TileWork BroadcastOp::getWork() {
  return TileWork::move;
}
TileWork ConvertOp::getWork() {
  return getPlan() == ConvertPlanKind::rename ? TileWork::rename : TileWork::move;
}
TileWork MmaOp::getWork() {
  return TileWork::contract;
}
TileWork ReduceOp::getWork() {
  return TileWork::reduce;
}
TileWork ScanOp::getWork() {
  return TileWork::scan;
}
TileWork ShuffleOp::getWork() {
  return TileWork::exchange;
}
TileWork ReadOp::getWork() {
  return TileWork::access;
}
TileWork WriteOp::getWork() {
  return TileWork::access;
}
TileWork AtomicOp::getWork() {
  return TileWork::access;
}
TileWork CopyOp::getWork() {
  return TileWork::access;
}
TileWork CopyOutOp::getWork() {
  return TileWork::access;
}
TileWork IterateOp::getWork() {
  return TileWork::region;
}
TileWork ConditionalOp::getWork() {
  return TileWork::region;
}

bool UnaryOp::isTranscendental() {
  return !llvm::is_contained({UnaryKind::abs, UnaryKind::neg, UnaryKind::logical_not, UnaryKind::floor, UnaryKind::ceil,
                              UnaryKind::round, UnaryKind::roundeven},
                             getKind());
}

//===-- Layouts -----------------------------------------------------------------------------------------===//

void PermuteOp::relateLayouts(LayoutRelations &relations) {
  relations.alike.emplace_back(getResult(), getOperand());
}

void BitcastOp::relateLayouts(LayoutRelations &relations) {
  std::optional<ScaledDim> dim = getGroups();
  if (!dim)
    relations.alike.emplace_back(getResult(), getOperand());
  else if (isGrouping())
    relations.groups.push_back({getResult(), getOperand(), *dim});
  else
    relations.groups.push_back({getOperand(), getResult(), *dim});
}

void MmaOp::relateLayouts(LayoutRelations &relations) {
  relations.alike.emplace_back(getResult(), getAcc());
}

void ReduceOp::relateLayouts(LayoutRelations &relations) {
  relations.parts.emplace_back(getResult(), getSource());
  if (getInit())
    relations.alike.emplace_back(getResult(), getInit());
}

void ScanOp::relateLayouts(LayoutRelations &relations) {
  relations.alike.emplace_back(getResult(), getSource());
  if (getInit())
    relations.parts.emplace_back(getInit(), getSource());
}

void ShuffleOp::relateLayouts(LayoutRelations &relations) {
  relations.alike.emplace_back(getResult(), getSource());
  if (getIndex())
    relations.alike.emplace_back(getResult(), getIndex());
}

void BroadcastOp::relateLayouts(LayoutRelations &relations) {
  relations.parts.emplace_back(getOperand(), getResult());
}

/// Each element of a gathered or scattered tile is where the values of its own say.
static void relateAccess(AccessOpInterface access, LayoutRelations &relations) {
  for (Value value : access.getDynamicValues())
    relations.alike.emplace_back(access.getMovedValue(), value);
}

void ReadOp::relateLayouts(LayoutRelations &relations) {
  relateAccess(*this, relations);
}
void WriteOp::relateLayouts(LayoutRelations &relations) {
  relateAccess(*this, relations);
}

void AtomicOp::relateLayouts(LayoutRelations &relations) {
  relateAccess(*this, relations);
  relations.alike.emplace_back(getResult(), getValue());
  if (getExpected())
    relations.alike.emplace_back(getExpected(), getValue());
}

void IterateOp::relateLayouts(LayoutRelations &relations) {
  mlir::Operation *yield = block().getTerminator();
  for (auto [init, argument, yielded, result] : llvm::zip(getInits(), carried(), yield->getOperands(), getResults()))
    for (Value other : {Value(init), Value(yielded), Value(result)})
      relations.alike.emplace_back(argument, other);
}

void ConditionalOp::relateLayouts(LayoutRelations &relations) {
  for (mlir::Block *block : {&thenBlock(), &elseBlock()})
    for (auto [result, yielded] : llvm::zip(getResults(), block->getTerminator()->getOperands()))
      relations.alike.emplace_back(result, yielded);
}

//===-- Prices ------------------------------------------------------------------------------------------===//

// The operands of an mma pay for how they are handed to it (MmaWays.cpp), those of a broadcast for the relation.
Value ReduceOp::getPricedTile() {
  return getSource();
}
Value ScanOp::getPricedTile() {
  return getSource();
}
Value ShuffleOp::getPricedTile() {
  return getResult();
}
Value ReadOp::getPricedTile() {
  return getResult();
}
Value WriteOp::getPricedTile() {
  return getValue();
}
Value AtomicOp::getPricedTile() {
  return getValue();
}
