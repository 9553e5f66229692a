#include "soliton/runtime/LaunchExpr.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace soliton::rt {
namespace {

struct OpRow {
  std::string_view name;
  int arity;
  /// How messages write it: between its operands, or empty for `name(a, b)`.
  std::string_view infix;
};

constexpr std::array kOps = {
    OpRow{"const", 0, ""}, OpRow{"symbol", 0, ""},   OpRow{"add", 2, "+"},    OpRow{"sub", 2, "-"},
    OpRow{"mul", 2, "*"},  OpRow{"floordiv", 2, ""}, OpRow{"ceildiv", 2, ""}, OpRow{"mod", 2, "%"},
    OpRow{"min", 2, ""},   OpRow{"max", 2, ""},      OpRow{"select", 3, ""},  OpRow{"lt", 2, "<"},
    OpRow{"le", 2, "<="},  OpRow{"gt", 2, ">"},      OpRow{"ge", 2, ">="},    OpRow{"eq", 2, "=="},
    OpRow{"ne", 2, "!="},  OpRow{"and", 2, "&&"},    OpRow{"or", 2, "||"},    OpRow{"not", 1, ""},
    OpRow{"xor", 2, "^"},  OpRow{"shl", 2, "<<"},    OpRow{"shr", 2, ">>"},
};
static_assert(kOps.size() == size_t(LaunchOp::shr) + 1);

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

LaunchValue fault(LaunchFault why) {
  return {0, why};
}

LaunchValue floorDivide(int64_t a, int64_t b) {
  if (b == 0)
    return fault(LaunchFault::divisionByZero);
  if (a == kLowest && b == -1)
    return fault(LaunchFault::overflow);
  int64_t quotient = a / b;
  return {quotient - (a % b != 0 && (a < 0) != (b < 0))};
}

LaunchValue ceilDivide(int64_t a, int64_t b) {
  LaunchValue floor = floorDivide(a, b);
  return floor.ok() ? LaunchValue{floor.value + (a % b != 0)} : floor;
}

LaunchValue floorModulo(int64_t a, int64_t b) {
  if (b == 0)
    return fault(LaunchFault::divisionByZero);
  if (b == -1)
    return {0};
  int64_t rest = a % b;
  return {rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest};
}

LaunchValue shiftLeft(int64_t a, int64_t b) {
  if (b < 0 || b > 63)
    return fault(LaunchFault::badShift);
  auto shifted = static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  return shifted >> b == a ? LaunchValue{shifted} : fault(LaunchFault::overflow);
}

LaunchValue shiftRight(int64_t a, int64_t b) {
  return b < 0 || b > 63 ? fault(LaunchFault::badShift) : LaunchValue{a >> b};
}

LaunchValue checked(bool overflowed, int64_t value) {
  return overflowed ? fault(LaunchFault::overflow) : LaunchValue{value};
}

LaunchValue binary(LaunchOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
  case LaunchOp::add: {
    bool overflowed = __builtin_add_overflow(a, b, &result);
    return checked(overflowed, result);
  }
  case LaunchOp::sub: {
    bool overflowed = __builtin_sub_overflow(a, b, &result);
    return checked(overflowed, result);
  }
  case LaunchOp::mul: {
    bool overflowed = __builtin_mul_overflow(a, b, &result);
    return checked(overflowed, result);
  }
  case LaunchOp::floordiv:
    return floorDivide(a, b);
  case LaunchOp::ceildiv:
    return ceilDivide(a, b);
  case LaunchOp::mod:
    return floorModulo(a, b);
  case LaunchOp::min:
    return {std::min(a, b)};
  case LaunchOp::max:
    return {std::max(a, b)};
  case LaunchOp::lt:
    return {a < b};
  case LaunchOp::le:
    return {a <= b};
  case LaunchOp::gt:
    return {a > b};
  case LaunchOp::ge:
    return {a >= b};
  case LaunchOp::eq:
    return {a == b};
  case LaunchOp::ne:
    return {a != b};
  case LaunchOp::bitXor:
    return {a ^ b};
  case LaunchOp::shl:
    return shiftLeft(a, b);
  case LaunchOp::shr:
    return shiftRight(a, b);
  default:
    return fault(LaunchFault::malformed);
  }
}

/// Applies to faulty operands too: only the operations that choose may drop a fault.
LaunchValue applyOp(LaunchOp op, const LaunchValue *operand) {
  if (!operand[0].ok())
    return operand[0];
  bool truth = operand[0].value != 0;
  switch (op) {
  case LaunchOp::logicalNot:
    return {!truth};
  case LaunchOp::select:
    return operand[truth ? 1 : 2];
  case LaunchOp::logicalAnd:
  case LaunchOp::logicalOr:
    if (truth == (op == LaunchOp::logicalOr))
      return {truth};
    return operand[1].ok() ? LaunchValue{operand[1].value != 0} : operand[1];
  default:
    return operand[1].ok() ? binary(op, operand[0].value, operand[1].value) : operand[1];
  }
}

LaunchValue leaf(const LaunchExpr::Step &step, std::span<const int64_t> symbols) {
  if (step.op == LaunchOp::constant)
    return {step.value};
  if (step.value < 0 || static_cast<size_t>(step.value) >= symbols.size())
    return fault(LaunchFault::unknownSymbol);
  return {symbols[static_cast<size_t>(step.value)]};
}

bool isLeaf(LaunchOp op) {
  return op == LaunchOp::constant || op == LaunchOp::symbol;
}

std::optional<int64_t> parseNumber(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<LaunchExpr::Step> parseToken(std::string_view token) {
  if (std::optional<int64_t> number = parseNumber(token))
    return LaunchExpr::Step{LaunchOp::constant, *number};
  if (token.size() > 1 && token[0] == 's' && token[1] >= '0' && token[1] <= '9') {
    std::optional<int64_t> index = parseNumber(token.substr(1));
    return index ? std::optional(LaunchExpr::Step{LaunchOp::symbol, *index}) : std::nullopt;
  }
  for (size_t i = size_t(LaunchOp::add); i < kOps.size(); ++i)
    if (kOps[i].name == token)
      return LaunchExpr::Step{static_cast<LaunchOp>(i), 0};
  return std::nullopt;
}

std::string leafText(const LaunchExpr::Step &step, std::span<const std::string> names) {
  if (step.op == LaunchOp::constant)
    return std::to_string(step.value);
  auto index = static_cast<size_t>(step.value);
  return index < names.size() ? names[index] : "s" + std::to_string(step.value);
}

std::string callText(const OpRow &op, std::span<const std::string> operands) {
  if (!op.infix.empty())
    return "(" + operands[0] + " " + std::string(op.infix) + " " + operands[1] + ")";
  std::string text(op.name);
  for (size_t i = 0; i < operands.size(); ++i)
    text += (i == 0 ? "(" : ", ") + operands[i];
  return text + ")";
}

} // namespace

int arity(LaunchOp op) {
  return kOps[static_cast<size_t>(op)].arity;
}

std::string_view describe(LaunchFault fault) {
  switch (fault) {
  case LaunchFault::none:
    return "no fault";
  case LaunchFault::overflow:
    return "it overflows 64 bits";
  case LaunchFault::divisionByZero:
    return "it divides by zero";
  case LaunchFault::badShift:
    return "it shifts by less than 0 or more than 63";
  case LaunchFault::unknownSymbol:
    return "it names a symbol that the kernel does not have";
  case LaunchFault::malformed:
    break;
  }
  return "it is malformed";
}

LaunchExpr LaunchExpr::symbol(uint32_t index) {
  LaunchExpr result;
  result.program = {{LaunchOp::symbol, index}};
  return result;
}

LaunchExpr LaunchExpr::apply(LaunchOp op, std::span<const LaunchExpr> operands) {
  LaunchExpr result;
  result.program.clear();
  for (const LaunchExpr &operand : operands)
    result.program.insert(result.program.end(), operand.program.begin(), operand.program.end());
  result.program.push_back({op, 0});
  return result;
}

std::optional<int64_t> LaunchExpr::constantValue() const {
  if (program.size() == 1 && program[0].op == LaunchOp::constant)
    return program[0].value;
  return std::nullopt;
}

bool LaunchExpr::wellFormed(size_t numSymbols) const {
  if (program.size() > kMaxSteps)
    return false;
  size_t depth = 0;
  for (const Step &step : program) {
    if (static_cast<size_t>(step.op) >= kOps.size())
      return false;
    if (step.op == LaunchOp::symbol && (step.value < 0 || static_cast<size_t>(step.value) >= numSymbols))
      return false;
    auto taken = static_cast<size_t>(arity(step.op));
    if (depth < taken)
      return false;
    depth = depth - taken + 1;
    if (depth > kMaxDepth)
      return false;
  }
  return depth == 1;
}

LaunchValue LaunchExpr::evaluate(std::span<const int64_t> symbols) const {
  if (program.size() == 1 && isLeaf(program[0].op))
    return leaf(program[0], symbols);
  std::array<LaunchValue, kMaxDepth> stack;
  size_t depth = 0;
  for (const Step &step : program) {
    if (static_cast<size_t>(step.op) >= kOps.size())
      return fault(LaunchFault::malformed);
    auto taken = static_cast<size_t>(arity(step.op));
    if (depth < taken || depth - taken >= kMaxDepth)
      return fault(LaunchFault::malformed);
    depth -= taken;
    stack[depth] = isLeaf(step.op) ? leaf(step, symbols) : applyOp(step.op, &stack[depth]);
    ++depth;
  }
  return depth == 1 ? stack[0] : fault(LaunchFault::malformed);
}

std::string LaunchExpr::text() const {
  std::string result;
  for (const Step &step : program) {
    if (!result.empty())
      result += ' ';
    if (isLeaf(step.op))
      result += (step.op == LaunchOp::symbol ? "s" : "") + std::to_string(step.value);
    else
      result += kOps[static_cast<size_t>(step.op)].name;
  }
  return result;
}

std::optional<LaunchExpr> LaunchExpr::parse(std::string_view text) {
  LaunchExpr result;
  result.program.clear();
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::optional<Step> step = parseToken(text.substr(0, end));
    if (!step || result.program.size() == kMaxSteps)
      return std::nullopt;
    result.program.push_back(*step);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!result.wellFormed(std::numeric_limits<size_t>::max()))
    return std::nullopt;
  return result;
}

std::string LaunchExpr::toString(std::span<const std::string> symbolNames) const {
  std::vector<std::string> stack;
  for (const Step &step : program) {
    auto taken = static_cast<size_t>(arity(step.op));
    if (stack.size() < taken)
      return "<malformed>";
    std::string piece =
        isLeaf(step.op) ? leafText(step, symbolNames) : callText(kOps[size_t(step.op)], std::span(stack).last(taken));
    stack.resize(stack.size() - taken);
    stack.push_back(std::move(piece));
  }
  if (stack.size() != 1)
    return "<malformed>";
  std::string &whole = stack[0];
  bool wrapped = program.size() > 1 && whole.front() == '(';
  return wrapped ? whole.substr(1, whole.size() - 2) : whole;
}

} // namespace soliton::rt
