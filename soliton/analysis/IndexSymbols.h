//===- IndexSymbols.h - SSA index values as symbols of the algebra -----------------===//
//
// Expressions on ops speak of their index operands by position; the algebra computes with symbols. Here every index
// value of a kernel gets a symbol of its own, with what is known about it:
//
//   %wg = wave.workgroup_id 0                      $WG0         0 <= $WG0 < grid
//   wave.iterate "K" … { ^bb0(%k: index, …)        $ARG_K       0 <= $ARG_K < count
//   a loop along K inside that one                 $ARG_K_1
//   %n = wave.index_of %tile                       $DATA0       what the tile's elements can be
//
//   wave.read %a[%k, %wg] {starts = ["64*$1", "32*$0"]}       starts: 64*$WG0, 32*$ARG_K
//
// and back: an expression in such symbols is put on an op together with the values that it needs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"

#include <map>

namespace soliton {

/// The number of a lane in its wave, of a wave in its workgroup, and of a workgroup along a dimension of the grid.
sym::Expr laneSymbol();
sym::Expr waveSymbol();
sym::Expr workgroupSymbol(int64_t dim);
/// What names of numbers that are read from data begin with.
inline constexpr llvm::StringLiteral kDataSymbols = "$DATA";

class IndexSymbols {
public:
  explicit IndexSymbols(wave::KernelOp kernel) : kernel(kernel) {}

  /// What is known of all symbols, whether or not a loop runs.
  sym::Facts known;
  /// What is known besides where `op` stands: each loop around it is at one of its iterations, and so has one.
  const sym::Facts &factsAt(Operation *op);

  /// The symbol of an index value.
  sym::Expr symbol(mlir::Value index);
  /// The value of a symbol that stands for one; the id of a workgroup is made where there is none yet.
  mlir::Value value(sym::Expr symbol);
  /// Whether it counts the iterations of a loop.
  bool isIteration(sym::Expr symbol) const { return iterations.contains(symbol.get()); }
  /// How many iterations the loop has whose iterations it counts.
  sym::Expr countOf(sym::Expr iteration) const { return iterations.find(iteration.get())->second; }
  /// The value is gone; what comes to stand at its address is another one.
  void forget(mlir::Value index);

  MLIRContext *context() { return kernel.getContext(); }

  /// An expression of the op in symbols.
  sym::Expr named(sym::Expr expr, ValueRange operands);

private:
  sym::Expr learn(wave::IterateOp loop);
  sym::Expr learn(wave::IndexOfOp index);

  wave::KernelOp kernel;
  llvm::DenseMap<mlir::Value, sym::Expr> symbols;
  llvm::DenseMap<const void *, mlir::Value> values;
  /// Iterations to the counts of their loops.
  llvm::DenseMap<const void *, sym::Expr> iterations;
  llvm::DenseMap<Operation *, std::unique_ptr<sym::Facts>> factsIn;
  /// Loops seen along each axis, and numbers from data.
  std::map<std::string, int> loopsAlong;
  int numbersSeen = 0;
};

/// Collects the operands of expressions that are put on one op.
class OperandBinder {
public:
  /// `operands` are there already.
  explicit OperandBinder(IndexSymbols &symbols, SmallVector<mlir::Value> operands = {})
      : symbols(symbols), values(std::move(operands)) {}

  /// The expression in `$0`, `$1`, … of `operands()`.
  wave::ExprAttr bind(sym::Expr expr);
  ArrayAttr bind(ArrayRef<sym::Expr> exprs);
  ArrayRef<mlir::Value> operands() const { return values; }

private:
  IndexSymbols &symbols;
  SmallVector<mlir::Value> values;
};

/// Replaces every expression of the op (in symbols) by what `change` makes of it, and its index operands accordingly.
void rewriteExpressions(Operation *op, IndexSymbols &symbols, llvm::function_ref<sym::Expr(sym::Expr)> change);

} // namespace soliton
