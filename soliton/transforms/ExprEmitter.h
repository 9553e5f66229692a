//===- ExprEmitter.h - Index expressions as arithmetic ------------------------------===//
//
// Emits the arith ops of an expression, each subexpression once and as far outside of loops as its symbols allow:
//
//   4*mod($LANE, 16) + 64*$ARG_K       %0 = arith.andi %lane, 15     (before the loop)
//                                      %1 = arith.muli %0, 4         (before the loop)
//                                      %2 = arith.muli %iv, 64       (in the loop)
//                                      %3 = arith.addi %1, %2        (in the loop)
//
// Sums and products may be computed in 32 bits whatever their operands are, since only the low bits of the result
// count. What is compared or divided must be exact: it has 64 bits unless its range is known to fit 32.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Names.h"
#include "soliton/symbolic/Expr.h"

namespace soliton {

class ExprEmitter {
public:
  /// Ops go before `builder`'s place, or before the loops that do not matter to them.
  ExprEmitter(OpBuilder &builder, sym::Facts facts) : builder(builder), facts(std::move(facts)), levels(1) {}

  /// The value of a symbol, an i32 or i64, known from this level of loops on.
  void bind(sym::Expr symbol, Value value);
  /// The same for a symbol that no facts are known about: it may be anything that its type holds.
  void bindAny(sym::Expr symbol, Value value);
  /// The body of a loop (or a branch) begins; what it does not change is emitted before `loop`.
  void enterLoop(Operation *loop);
  void leaveLoop();
  /// Whether it changes inside the outermost of the loops (or branches) around.
  bool isOfLoop(sym::Expr expr) { return levelOf(expr) > 0; }

  Value emitI32(sym::Expr expr, Location loc) { return emit(expr, 32, loc); }
  Value emitI64(sym::Expr expr, Location loc) { return emit(expr, 64, loc); }
  /// A predicate as i1.
  Value emitI1(sym::Expr expr, Location loc) { return emit(expr, 1, loc); }

private:
  struct Level {
    /// The loop whose body the next level is; null for the innermost.
    Operation *loop = nullptr;
    llvm::DenseMap<std::pair<const void *, unsigned>, Value> known;
    std::vector<sym::Expr> symbols;
  };

  unsigned levelOf(sym::Expr expr);
  Value emit(sym::Expr expr, unsigned width, Location loc);
  Value build(OpBuilder &at, sym::Expr expr, unsigned width, Location loc);
  Value buildSum(OpBuilder &at, sym::Expr expr, unsigned width, Location loc);
  Value buildExact(OpBuilder &at, sym::Expr expr, unsigned width, Location loc);
  Value buildDivision(OpBuilder &at, sym::Expr expr, unsigned width, Location loc);
  Value buildCompare(OpBuilder &at, sym::Expr expr, Location loc);
  Value constant(OpBuilder &at, int64_t value, unsigned width, Location loc);
  bool isNonNegative(sym::Expr expr);
  unsigned exactWidth(std::initializer_list<sym::Expr> exprs);

  OpBuilder &builder;
  sym::Facts facts;
  std::vector<Level> levels;
  llvm::DenseMap<const void *, unsigned> symbolLevel;
  llvm::DenseMap<const void *, Value> symbolValue;
  llvm::DenseMap<const void *, unsigned> exprLevel;
};

} // namespace soliton
