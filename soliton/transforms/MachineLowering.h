//===- MachineLowering.h - State of the lowering to one lane's program --------------===//
//
// Shared by LowerToMachine.cpp (structure), LowerAccess.cpp (memory) and LowerCompute.cpp (everything else). Each
// lowering sees one op; what it needs to know of others is in the types.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Access.h"
#include "soliton/ir/Machine.h"
#include "soliton/layout/LaneFunction.h"
#include "soliton/transforms/ExprEmitter.h"

namespace soliton {

class MachineLowering {
public:
  MachineLowering(wave::KernelOp kernel, const Geometry &geometry)
      : kernel(kernel), geometry(geometry), builder(kernel.getContext()), exprs(builder, geometry.facts()) {}

  /// Builds the machine kernel before the wave kernel.
  LogicalResult run();

private:
  machine::KernelOp makeKernel();
  void bindIds();
  void bindWorkgroupIds();
  LogicalResult lowerBlock(Block &block);
  LogicalResult lower(Operation *op);
  LogicalResult lowerLoop(wave::IterateOp loop);
  LogicalResult lowerConditional(wave::ConditionalOp op);
  /// Lowers the block of a loop or branch into the one of `around`, which yields what it yields.
  LogicalResult lowerBody(Operation *around, Block &from, Block &to);
  LogicalResult lowerBarrier(wave::BarrierOp op);
  void lowerTime(Operation *op);

  // LowerAccess.cpp
  LogicalResult lowerRead(wave::ReadOp read);
  LogicalResult lowerWrite(wave::WriteOp write);
  LogicalResult lowerCopy(wave::CopyOp copy);
  Value fromStored(Value stored, mlir::VectorType type, Location loc);
  Value toStored(Value value, Location loc);
  struct Address {
    Value buffer;
    Value lane;
    Value uniform;
    Value mask;
    int64_t immediate = 0;
    int64_t alignment = 1;
  };
  FailureOr<Address> address(Operation *op, int64_t elements);
  /// The value as a register of its own.
  Value pinned(Value value, Location loc);
  Address sharedAddress(Operation *op, Value memory, sym::Expr offset);
  FailureOr<Address> globalAddress(Operation *op, sym::Expr offset, const sym::Facts &facts);
  bool fitsLane(sym::AffineTerms &part, sym::AffineTerms &base, const sym::Facts &facts);
  Value bufferAt(Operation *op, sym::Expr start);
  sym::Substitution bindDynamic(const Access &access, Operation *op, sym::Facts &facts);

  // LowerCompute.cpp
  LogicalResult lowerUnary(wave::UnaryOp op);
  LogicalResult lowerBinary(wave::BinaryOp op);
  void lowerBitcast(wave::BitcastOp op);
  LogicalResult lowerCast(wave::CastOp op);
  LogicalResult lowerApplyExpr(wave::ApplyExprOp op);
  void lowerCompare(wave::CompareOp op);
  void lowerFill(wave::FillOp op);
  void lowerSelfIndex(wave::SelfIndexOp op);
  void lowerJoin(wave::JoinOp op);
  void lowerMma(wave::MmaOp op);
  Value combine(wave::ReduceKind kind, Value lhs, Value rhs, Location loc);

  // LowerMovement.cpp
  LogicalResult lowerRemap(Operation *op);
  void lowerReduce(wave::ReduceOp op);
  Value picked(Value vector, ArrayRef<int64_t> positions, Location loc);
  /// One register of a tile, as a vector of one element.
  Value registerOf(Value tile, int64_t index, Location loc);
  Value laneFunction(const LaneFunction &function, Location loc);

  mlir::VectorType vectorType(wave::TileType type);
  Value vector(Value tile) const { return vectors.find(tile)->second; }
  void define(Value tile, Value vector) { vectors[tile] = vector; }

  wave::KernelOp kernel;
  const Geometry &geometry;
  OpBuilder builder;
  ExprEmitter exprs;
  llvm::DenseMap<Value, Value> vectors;
  /// Parameters of the wave kernel to those of the machine kernel.
  llvm::DenseMap<Value, Value> parameters;
  llvm::DenseMap<std::pair<Value, const void *>, Value> buffers;
  llvm::DenseMap<Value, Value> pins;
  /// Symbols made for values that expressions are about.
  int64_t freshSymbols = 0;
  /// What launches must check for offsets inside tiles to have 31 bits.
  SmallVector<sym::Expr> limits;
  /// The outermost loop or branch that is being lowered; what is the same for the whole kernel goes before it.
  Operation *outermost = nullptr;
};

} // namespace soliton
