#include "soliton/transforms/ExprEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace soliton {
namespace arith = mlir::arith;
using sym::Expr;
using sym::Kind;

void ExprEmitter::bind(Expr symbol, Value value) {
  // Bound again in an inner loop, what is made of it belongs there.
  if (symbolValue.contains(symbol.get()))
    exprLevel.clear();
  symbolValue[symbol.get()] = value;
  symbolLevel[symbol.get()] = levels.size() - 1;
  levels.back().symbols.push_back(symbol);
}

void ExprEmitter::bindAny(Expr symbol, Value value) {
  if (cast<mlir::IntegerType>(value.getType()).getWidth() <= 32)
    facts.setRange(symbol, {INT32_MIN, INT32_MAX});
  bind(symbol, value);
}

void ExprEmitter::enterLoop(Operation *loop) {
  levels.back().loop = loop;
  levels.emplace_back();
}

void ExprEmitter::leaveLoop() {
  for (Expr symbol : levels.back().symbols) {
    symbolValue.erase(symbol.get());
    symbolLevel.erase(symbol.get());
  }
  levels.pop_back();
  levels.back().loop = nullptr;
  exprLevel.clear();
}

unsigned ExprEmitter::levelOf(Expr expr) {
  if (auto found = exprLevel.find(expr.get()); found != exprLevel.end())
    return found->second;
  unsigned level = expr.isSymbol() ? symbolLevel.lookup(expr.get()) : 0;
  for (Expr operand : expr.operands())
    level = std::max(level, levelOf(operand));
  return exprLevel[expr.get()] = level;
}

bool ExprEmitter::isNonNegative(Expr expr) {
  std::optional<int64_t> low = sym::rangeOf(expr, facts).lo;
  return low && *low >= 0;
}

/// The least width in which all of them are exact.
unsigned ExprEmitter::exactWidth(std::initializer_list<Expr> exprs) {
  for (Expr expr : exprs) {
    sym::Range range = sym::rangeOf(expr, facts);
    if (!range.lo || !range.hi || *range.lo < INT32_MIN || *range.hi > INT32_MAX)
      return 64;
  }
  return 32;
}

static mlir::IntegerType integer(OpBuilder &at, unsigned width) {
  return at.getIntegerType(width);
}

Value ExprEmitter::constant(OpBuilder &at, int64_t value, unsigned width, Location loc) {
  return arith::ConstantOp::create(at, loc, at.getIntegerAttr(integer(at, width), value));
}

Value ExprEmitter::emit(Expr expr, unsigned width, Location loc) {
  unsigned level = levelOf(expr);
  auto key = std::pair<const void *, unsigned>(expr.get(), width);
  for (unsigned outer = level; outer < levels.size(); ++outer)
    if (auto found = levels[outer].known.find(key); found != levels[outer].known.end())
      return found->second;
  OpBuilder at = builder;
  if (levels[level].loop)
    at.setInsertionPoint(levels[level].loop);
  Value value = build(at, expr, width, loc);
  levels[level].known[key] = value;
  return value;
}

/// Operands of the innermost loops are added last, so that the rest of the sum leaves the loop.
Value ExprEmitter::buildSum(OpBuilder &at, Expr expr, unsigned width, Location loc) {
  std::vector<std::vector<Expr>> byLevel(levels.size());
  for (Expr operand : expr.operands())
    byLevel[levelOf(operand)].push_back(operand);
  Expr done = 0;
  Value sum;
  for (const std::vector<Expr> &operands : byLevel) {
    if (operands.empty())
      continue;
    for (Expr operand : operands)
      done = done + operand;
    if (!(done == expr)) {
      sum = emit(done, width, loc);
      continue;
    }
    for (Expr operand : operands) {
      Value value = emit(operand, width, loc);
      sum = sum ? arith::AddIOp::create(at, loc, sum, value).getResult() : value;
    }
  }
  return sum;
}

Value ExprEmitter::buildDivision(OpBuilder &at, Expr expr, unsigned width, Location loc) {
  Expr dividend = expr.operand(0), divisor = expr.operand(1);
  Value a = emit(dividend, width, loc);
  std::optional<int64_t> number = divisor.constantValue();
  bool isMod = expr.kind() == Kind::mod;
  if (number && *number > 0 && (*number & (*number - 1)) == 0 && expr.kind() != Kind::ceildiv) {
    // Shifts and masks are floor division and modulus for every sign.
    if (isMod)
      return arith::AndIOp::create(at, loc, a, constant(at, *number - 1, width, loc));
    return arith::ShRSIOp::create(at, loc, a,
                                  constant(at, llvm::countr_zero(static_cast<uint64_t>(*number)), width, loc));
  }
  Value b = emit(divisor, width, loc);
  bool plain = isNonNegative(dividend) && isNonNegative(divisor);
  if (expr.kind() == Kind::ceildiv) {
    if (plain) {
      Value last = arith::AddIOp::create(at, loc, a, arith::SubIOp::create(at, loc, b, constant(at, 1, width, loc)));
      return arith::DivUIOp::create(at, loc, last, b);
    }
    return arith::CeilDivSIOp::create(at, loc, a, b);
  }
  if (plain)
    return isMod ? arith::RemUIOp::create(at, loc, a, b).getResult()
                 : arith::DivUIOp::create(at, loc, a, b).getResult();
  Value quotient = arith::FloorDivSIOp::create(at, loc, a, b);
  if (!isMod)
    return quotient;
  return arith::SubIOp::create(at, loc, a, arith::MulIOp::create(at, loc, quotient, b));
}

Value ExprEmitter::buildCompare(OpBuilder &at, Expr expr, Location loc) {
  arith::CmpIPredicate predicate = expr.kind() == Kind::lt   ? arith::CmpIPredicate::slt
                                   : expr.kind() == Kind::le ? arith::CmpIPredicate::sle
                                   : expr.kind() == Kind::eq ? arith::CmpIPredicate::eq
                                                             : arith::CmpIPredicate::ne;
  unsigned width = exactWidth({expr.operand(0), expr.operand(1)});
  return arith::CmpIOp::create(at, loc, predicate, emit(expr.operand(0), width, loc),
                               emit(expr.operand(1), width, loc));
}

/// Divisions, minima and the like, whose operands must be exact: in the width that they need, then in the one asked
/// for.
Value ExprEmitter::buildExact(OpBuilder &at, Expr expr, unsigned width, Location loc) {
  unsigned needed = 32;
  for (Expr operand : expr.operands())
    if (expr.kind() != Kind::select || !(operand == expr.operand(0)))
      needed = std::max(needed, exactWidth({operand}));
  if (needed > width)
    return arith::TruncIOp::create(at, loc, integer(at, width), emit(expr, needed, loc));
  if (needed < width && exactWidth({expr}) == 32)
    return arith::ExtSIOp::create(at, loc, integer(at, width), emit(expr, needed, loc));
  auto fold = [&](auto create) {
    Value result = emit(expr.operand(0), width, loc);
    for (Expr operand : expr.operands().subspan(1))
      result = create(result, emit(operand, width, loc));
    return result;
  };
  switch (expr.kind()) {
  case Kind::exactDiv:
    return arith::DivSIOp::create(at, loc, emit(expr.operand(0), width, loc), emit(expr.operand(1), width, loc));
  case Kind::min:
    return fold([&](Value a, Value b) { return arith::MinSIOp::create(at, loc, a, b).getResult(); });
  case Kind::max:
    return fold([&](Value a, Value b) { return arith::MaxSIOp::create(at, loc, a, b).getResult(); });
  case Kind::select:
    return arith::SelectOp::create(at, loc, emit(expr.operand(0), 1, loc), emit(expr.operand(1), width, loc),
                                   emit(expr.operand(2), width, loc));
  case Kind::bitXor:
    return fold([&](Value a, Value b) { return arith::XOrIOp::create(at, loc, a, b).getResult(); });
  case Kind::shl:
    return arith::ShLIOp::create(at, loc, emit(expr.operand(0), width, loc), emit(expr.operand(1), width, loc));
  case Kind::shr:
    return arith::ShRSIOp::create(at, loc, emit(expr.operand(0), width, loc), emit(expr.operand(1), width, loc));
  default:
    return buildDivision(at, expr, width, loc);
  }
}

Value ExprEmitter::build(OpBuilder &at, Expr expr, unsigned width, Location loc) {
  if (std::optional<int64_t> value = expr.constantValue())
    return constant(at, *value, width, loc);
  bool isLogic = expr.kind() == Kind::lt || expr.kind() == Kind::le || expr.kind() == Kind::eq ||
                 expr.kind() == Kind::ne || expr.kind() == Kind::logicalAnd || expr.kind() == Kind::logicalOr ||
                 expr.kind() == Kind::logicalNot;
  if (isLogic && width != 1)
    return arith::ExtUIOp::create(at, loc, integer(at, width), emit(expr, 1, loc));
  if (!isLogic && width == 1)
    return arith::CmpIOp::create(at, loc, arith::CmpIPredicate::ne, emit(expr, exactWidth({expr}), loc),
                                 constant(at, 0, exactWidth({expr}), loc));

  auto fold = [&](auto create) {
    Value result = emit(expr.operand(0), width, loc);
    for (Expr operand : expr.operands().subspan(1))
      result = create(result, emit(operand, width, loc));
    return result;
  };
  switch (expr.kind()) {
  case Kind::symbol: {
    Value value = symbolValue.lookup(expr.get());
    assert(value && "every symbol of an expression is bound before it is emitted");
    unsigned has = cast<mlir::IntegerType>(value.getType()).getWidth();
    if (width > has)
      return arith::ExtSIOp::create(at, loc, integer(at, width), value);
    return width < has ? arith::TruncIOp::create(at, loc, integer(at, width), value).getResult() : value;
  }
  case Kind::add:
    return buildSum(at, expr, width, loc);
  case Kind::mul:
    return fold([&](Value a, Value b) { return arith::MulIOp::create(at, loc, a, b).getResult(); });
  case Kind::floordiv:
  case Kind::ceildiv:
  case Kind::mod:
  case Kind::exactDiv:
  case Kind::min:
  case Kind::max:
  case Kind::select:
  case Kind::bitXor:
  case Kind::shl:
  case Kind::shr:
    return buildExact(at, expr, width, loc);
  case Kind::lt:
  case Kind::le:
  case Kind::eq:
  case Kind::ne:
    return buildCompare(at, expr, loc);
  case Kind::logicalAnd:
    return fold([&](Value a, Value b) { return arith::AndIOp::create(at, loc, a, b).getResult(); });
  case Kind::logicalOr:
    return fold([&](Value a, Value b) { return arith::OrIOp::create(at, loc, a, b).getResult(); });
  case Kind::logicalNot:
    return arith::XOrIOp::create(at, loc, emit(expr.operand(0), 1, loc), constant(at, 1, 1, loc));
  case Kind::constant:
    break;
  }
  return constant(at, 0, width, loc);
}

} // namespace soliton
