//===- LaunchExpr.h - Integer formulas that a launch evaluates ------------===//
//
// Grid sizes, shapes and assumptions of a compiled kernel depend on sizes known only at launch. A LaunchExpr is such a
// formula as a small postfix program over int64, so that launching needs no symbolic engine and no allocation.
//
//   ceildiv(M, 128)  ==  LaunchExpr::apply(LaunchOp::ceildiv, {LaunchExpr::symbol(0), 128})  ==  "s0 128 ceildiv"
//
// Evaluation never traps: overflow, division by zero and the like are a fault in the result. A fault in the branch
// that `select` does not take (or behind a decided `and`/`or`) does not count.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace soliton::rt {

/// Division and remainder are floor semantics for every sign; comparisons give 0 or 1; any non-zero value is true.
enum class LaunchOp : uint8_t {
  constant,
  symbol,
  add,
  sub,
  mul,
  floordiv,
  ceildiv,
  mod,
  min,
  max,
  select, ///< condition, then, else
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logicalAnd,
  logicalOr,
  logicalNot,
  bitXor,
  shl, ///< an error where bits are lost
  shr, ///< floor division by a power of two
};

/// Why an evaluation has no value.
enum class LaunchFault : uint8_t { none, overflow, divisionByZero, badShift, unknownSymbol, malformed };

std::string_view describe(LaunchFault fault);

struct LaunchValue {
  int64_t value = 0;
  LaunchFault fault = LaunchFault::none;

  bool ok() const { return fault == LaunchFault::none; }
  bool operator==(const LaunchValue &) const = default;
};

class LaunchExpr {
public:
  /// `value` is the constant or the symbol's index; unused by other operations.
  struct Step {
    LaunchOp op = LaunchOp::constant;
    int64_t value = 0;
    bool operator==(const Step &) const = default;
  };

  /// Limits of what is accepted and evaluated; a program beyond them is malformed.
  static constexpr size_t kMaxDepth = 64;
  static constexpr size_t kMaxSteps = 4096;

  LaunchExpr(int64_t constant = 0) : program{{LaunchOp::constant, constant}} {}
  static LaunchExpr symbol(uint32_t index);
  /// `operands` in order; their number must be the operation's arity (anything else makes a malformed program).
  static LaunchExpr apply(LaunchOp op, std::span<const LaunchExpr> operands);
  static LaunchExpr apply(LaunchOp op, std::initializer_list<LaunchExpr> operands) {
    return apply(op, std::span(operands.begin(), operands.size()));
  }

  std::span<const Step> steps() const { return {program.data(), program.size()}; }
  std::optional<int64_t> constantValue() const;

  /// Whether the program leaves exactly one value, within the limits, and names only symbols below `numSymbols`.
  bool wellFormed(size_t numSymbols) const;

  /// The value where symbol `i` has the value `symbols[i]`. Does not allocate.
  LaunchValue evaluate(std::span<const int64_t> symbols) const;

  /// Postfix text, e.g. `s0 128 ceildiv`; `parse` reads it back and returns nothing for any other text.
  std::string text() const;
  static std::optional<LaunchExpr> parse(std::string_view text);

  /// Infix text with names, for messages: `ceildiv(M, 128)`.
  std::string toString(std::span<const std::string> symbolNames) const;

  bool operator==(const LaunchExpr &) const = default;

private:
  std::vector<Step> program;
};

/// How many operands an operation takes.
int arity(LaunchOp op);

} // namespace soliton::rt
