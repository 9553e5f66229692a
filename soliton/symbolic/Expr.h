//===- Expr.h - Integer index algebra --------------------------------------===//
//
// Index expressions over integers: what frontends write, layouts produce and address lowering simplifies.
//
//   Expr wg = Expr::symbol("$WG0"), lane = Expr::symbol("$LANE");
//   Facts facts;
//   facts.setRange(lane, {0, 63});
//   Expr row = simplify(64 * wg + mod(lane + 64 * wg, 64), facts);   // 64*$WG0 + $LANE
//
// An `Expr` is a handle to an immutable, hash-consed node: equal handles are equal structures, copying is free and
// nodes live for ever. Operators build a canonical form (sums flattened, coefficients merged, literal divisions
// reduced); `simplify` adds what facts prove. Meaning: exact integers; `floordiv`, `mod` round towards minus infinity
// for every sign; `/` is exact division; predicates are 0 or 1. An expression may be replaced by one that is equal
// wherever the first is defined.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace soliton::sym {

/// What a node is. `gt`, `ge` are `lt`, `le` with swapped operands; literal shifts are products and quotients.
enum class Kind : uint8_t {
  constant,
  symbol,
  add,      ///< two or more addends, the constant (if any) last
  mul,      ///< two or more factors, the constant (if any) first
  exactDiv, ///< (a, b), defined where b divides a
  floordiv, ///< (a, b)
  ceildiv,  ///< (a, b)
  mod,      ///< (a, b), sign of b
  min,      ///< two or more operands
  max,      ///< two or more operands
  select,   ///< (condition, then, otherwise); only the chosen branch needs to be defined
  lt,
  le,
  eq,
  ne,
  logicalAnd, ///< two or more predicates
  logicalOr,  ///< two or more predicates
  logicalNot,
  bitXor, ///< two or more operands, infinite two's complement
  shl,
  shr
};

/// The name of a kind: "floordiv".
std::string_view kindName(Kind kind);

enum class ErrorKind : uint8_t {
  overflow,        ///< a coefficient or value leaves int64
  divisionByZero,  ///< the divisor is the literal 0, or evaluates to it
  inexactDivision, ///< `/` where neither constants nor facts prove that nothing remains
  badShift,        ///< a shift by a negative or too large amount
  unboundSymbol,   ///< evaluation met a symbol without a value
  tooLarge,        ///< nesting or length beyond the limits
  badArgument,     ///< a symbol was expected, a divisor must be positive, ...
  syntax           ///< text that is no expression
};

/// All that can go wrong with an expression.
class ExprError : public std::runtime_error {
public:
  ExprError(ErrorKind kind, const std::string &message, size_t column = 0)
      : std::runtime_error(message), errorKind(kind), errorColumn(column) {}
  ErrorKind kind() const { return errorKind; }
  /// Where in the parsed text, counted from 1; 0 where there is no text.
  size_t column() const { return errorColumn; }

private:
  ErrorKind errorKind;
  size_t errorColumn;
};

class Expr;

namespace detail {
/// A hash-consed node; operands follow it in memory.
struct Node {
  Kind kind;
  bool predicate;    ///< its value is 0 or 1
  bool hasExactDiv;  ///< an exact division is somewhere in it
  bool undefined;    ///< stands for a mistake
  uint16_t depth;    ///< 0 for leaves
  uint16_t weight;   ///< nodes of the tree, saturating
  uint32_t count;    ///< operands
  uint32_t nameSize; ///< symbols
  uint64_t hash;
  uint64_t order;   ///< first key of the canonical order
  uint64_t symbols; ///< Bloom filter of the symbols in it
  int64_t value;    ///< the constant; the coefficient of a product that starts with a constant
  union {
    const Node *monomial; ///< a scaled product without its coefficient
    const char *name;     ///< symbols
  };
};
const Node *constantNode(int64_t value);
extern const Node zeroNode;
const Node *unsignedOverflow(uint64_t value);
} // namespace detail

/// An integer expression: an 8-byte handle, free to copy, safe to share between threads. The default is the constant 0.
class Expr {
public:
  Expr() : node(&detail::zeroNode) {}
  template <std::integral T>
  Expr(T value) : node(nodeOf(value)) {}
  explicit Expr(const detail::Node *node) : node(node) {}

  /// The symbol of that name; the same name is the same symbol everywhere.
  static Expr symbol(std::string_view name);

  Kind kind() const { return node->kind; }
  std::span<const Expr> operands() const;
  Expr operand(size_t i) const { return operands()[i]; }
  std::optional<int64_t> constantValue() const {
    return isConstant() ? std::optional<int64_t>(node->value) : std::nullopt;
  }
  bool isConstant() const { return node->kind == Kind::constant; }
  bool isConstant(int64_t value) const { return isConstant() && node->value == value; }
  bool isSymbol() const { return node->kind == Kind::symbol; }
  /// False for what a mistake left behind while mistakes are collected.
  bool isDefined() const { return !node->undefined; }
  /// Comparisons, connectives and the constants 0 and 1.
  bool isPredicate() const { return node->predicate; }
  /// The name of a symbol; empty for anything else.
  std::string_view symbolName() const {
    return isSymbol() ? std::string_view(node->name, node->nameSize) : std::string_view();
  }
  /// Structural identity. Whether two expressions have equal values is `prove(eq(a, b), facts)`.
  bool operator==(const Expr &other) const { return node == other.node; }
  size_t hash() const { return static_cast<size_t>(node->hash); }
  const detail::Node *get() const { return node; }

private:
  template <std::integral T>
  static const detail::Node *nodeOf(T value) {
    if constexpr (std::unsigned_integral<T> && sizeof(T) >= sizeof(int64_t))
      if (value > static_cast<T>(INT64_MAX))
        return detail::unsignedOverflow(value);
    return detail::constantNode(static_cast<int64_t>(value));
  }
  const detail::Node *node;
};

inline std::span<const Expr> Expr::operands() const {
  return {reinterpret_cast<const Expr *>(node + 1), node->count};
}

//===- Mistakes ------------------------------------------------------------===//
// A mistake in construction (a coefficient overflows, a literal divisor is 0, a literal shift is negative, ...) throws
// ExprError. A thread that collects mistakes gets an *undefined* expression instead: whatever is built from it is
// undefined too, it prints as the operation that went wrong, and what computes with it (`simplify`, `substitute`,
// `evaluate`, `rangeOf`, `prove`, ...) throws the ExprError then.

/// Sets what this thread does from now on; returns what it did before.
bool collectMistakes(bool on);

/// In its scope a mistake throws: for code that computes with expressions and handles ExprError.
class ThrowMistakes {
public:
  ThrowMistakes() : before(collectMistakes(false)) {}
  ThrowMistakes(const ThrowMistakes &) = delete;
  ThrowMistakes &operator=(const ThrowMistakes &) = delete;
  ~ThrowMistakes() { collectMistakes(before); }

private:
  bool before;
};

/// Throws the mistake that left `e` behind, if one did.
void requireDefined(Expr e);

//===- Construction --------------------------------------------------------===//

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator*(Expr a, Expr b);
/// Exact division. Stays as a node until constants or facts prove it; `simplify` throws where they do not. Inside
/// `floor`, `ceil`, `floordiv` and `ceildiv` it is a rational number that vanishes.
Expr operator/(Expr a, Expr b);
/// Floor modulus, the same as `mod`.
Expr operator%(Expr a, Expr b);
inline Expr &operator+=(Expr &a, Expr b) {
  return a = a + b;
}
inline Expr &operator-=(Expr &a, Expr b) {
  return a = a - b;
}
inline Expr &operator*=(Expr &a, Expr b) {
  return a = a * b;
}

Expr floordiv(Expr a, Expr b);
Expr ceildiv(Expr a, Expr b);
Expr mod(Expr a, Expr b);
/// Rounds a rational (sums of exact divisions) down: floor(x/2 + y/3) is floordiv(3*x + 2*y, 6).
Expr floor(Expr a);
Expr ceil(Expr a);
/// A literal power, expanded: pow(x, 3) is x*x*x.
Expr pow(Expr base, int64_t exponent);

Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr min(std::span<const Expr> operands);
Expr max(std::span<const Expr> operands);
Expr select(Expr condition, Expr then, Expr otherwise);
/// The value of the first case (condition, value) that holds, else `otherwise`.
Expr piecewise(std::span<const std::pair<Expr, Expr>> cases, Expr otherwise);

Expr lt(Expr a, Expr b);
Expr le(Expr a, Expr b);
Expr gt(Expr a, Expr b);
Expr ge(Expr a, Expr b);
Expr eq(Expr a, Expr b);
Expr ne(Expr a, Expr b);
inline Expr operator<(Expr a, Expr b) {
  return lt(a, b);
}
inline Expr operator<=(Expr a, Expr b) {
  return le(a, b);
}
inline Expr operator>(Expr a, Expr b) {
  return gt(a, b);
}
inline Expr operator>=(Expr a, Expr b) {
  return ge(a, b);
}
/// Connectives; an operand that is no predicate means "is not 0".
Expr logicalAnd(Expr a, Expr b);
Expr logicalOr(Expr a, Expr b);
Expr logicalNot(Expr a);
Expr logicalAnd(std::span<const Expr> operands);
Expr logicalOr(std::span<const Expr> operands);

Expr bitXor(Expr a, Expr b);
/// a * 2^b and floor(a / 2^b), for b >= 0.
Expr shl(Expr a, Expr b);
Expr shr(Expr a, Expr b);

/// The node of that kind over those operands, canonical as if built by the function of that name.
Expr build(Kind kind, std::span<const Expr> operands);

//===- Structure -----------------------------------------------------------===//

/// A canonical total order of structures, the same in every process: -1, 0 or 1.
int compare(Expr a, Expr b);
/// The symbols in `e`, sorted by name.
std::vector<Expr> symbolsOf(Expr e);
bool contains(Expr e, Expr symbol);
/// How many distinct nodes `e` has.
size_t nodeCount(Expr e);

/// coefficient * atom, where the atom is no sum and has no coefficient.
struct AffineTerm {
  int64_t coefficient;
  Expr atom;
};
struct AffineTerms {
  std::vector<AffineTerm> terms;
  int64_t constant = 0;
};
/// `e` as a sum of scaled atoms and a constant.
AffineTerms affineTerms(Expr e);
Expr fromAffineTerms(const AffineTerms &terms);

/// The addends of `e` (products of sums multiplied out) that mention one of the symbols, and the others. Their sum has
/// the value of `e`.
struct Split {
  Expr with, without;
};
Split splitBy(Expr e, std::span<const Expr> symbols);

//===- Substitution, evaluation, text --------------------------------------===//

/// A simultaneous replacement of symbols.
class Substitution {
public:
  Substitution() = default;
  Substitution(std::initializer_list<std::pair<Expr, Expr>> pairs);
  /// Throws ExprError (badArgument) if `symbol` is none. The last value of a symbol counts.
  void set(Expr symbol, Expr value);
  const Expr *find(Expr symbol) const;
  bool empty() const { return list.empty(); }
  std::span<const std::pair<Expr, Expr>> pairs() const { return {list.data(), list.size()}; }
  uint64_t symbols() const { return filter; }

private:
  std::vector<std::pair<Expr, Expr>> list;
  uint64_t filter = 0;
};
Expr substitute(Expr e, const Substitution &substitution);

/// Values of symbols.
class Environment {
public:
  Environment() = default;
  Environment(std::initializer_list<std::pair<Expr, int64_t>> pairs);
  void set(Expr symbol, int64_t value);
  std::optional<int64_t> find(Expr symbol) const;

private:
  std::vector<std::pair<Expr, int64_t>> list;
};
/// The value of `e`. Throws ExprError: overflow, divisionByZero, inexactDivision, badShift, unboundSymbol.
int64_t evaluate(Expr e, const Environment &environment = {});

/// Text that `parse` reads back to the same node: `64*$WG0 + 32*floordiv($WAVE, 2) + mod($LANE, 16)`.
std::string toString(Expr e);
/// Reads `toString`'s text and also `//`, `%`, `**`, `^`, `<<`, `>>`, `floor(x/2)`. Throws ExprError with the column.
Expr parse(std::string_view text);

//===- Facts, simplification, proofs ---------------------------------------===//

struct Range;
class Facts;

/// The normal form of `e` under the facts: equal to `e` wherever `e` is defined and the facts hold; idempotent. Throws
/// ExprError (inexactDivision) on an exact division that they do not prove.
Expr simplify(Expr e);
Expr simplify(Expr e, const Facts &facts);

/// Bounds that hold for every value the facts allow.
Range rangeOf(Expr e);
Range rangeOf(Expr e, const Facts &facts);
/// The largest proven divisor of `e`; 0 means that `e` is proven to be 0.
int64_t divisorOf(Expr e);
int64_t divisorOf(Expr e, const Facts &facts);
/// true: holds for every value the facts allow; false: holds for none; nothing: neither was proven. Complete for
/// linear arithmetic with literal divisors, `min`, `max`, `select` and connectives, up to a work limit.
std::optional<bool> prove(Expr predicate);
std::optional<bool> prove(Expr predicate, const Facts &facts);

/// e[symbol + step] - e[symbol] if it is provably the same for every `symbol` (both ends within its range).
std::optional<Expr> differenceAlong(Expr e, Expr symbol, int64_t step, const Facts &facts);
/// The literal stride of `e` along `symbol`, if it is proven to have one.
std::optional<int64_t> strideAlong(Expr e, Expr symbol, const Facts &facts);
/// The largest n <= limit, a power of two, such that `e` is contiguous within every aligned run of n values of
/// `symbol`: e[n*b + i] = e[n*b] + i for 0 <= i < n. At least 1.
int64_t contiguousRun(Expr e, Expr symbol, int64_t limit, const Facts &facts);

/// Drops this thread's memoised results (for benchmarks; never needed for correctness).
void clearCaches();

} // namespace soliton::sym

template <>
struct std::hash<soliton::sym::Expr> {
  size_t operator()(soliton::sym::Expr e) const noexcept { return e.hash(); }
};

#include "soliton/symbolic/Facts.h" // IWYU pragma: export
