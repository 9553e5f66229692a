//===- Parse.cpp - Text as expressions -------------------------------------===//
//
// Recursive descent, loosest first:
//
//   ||   &&   < <= > >= == !=   ^   << >>   + -   * / // %   unary - + !   **
//
// and calls: floordiv ceildiv mod min max select xor shl shr floor ceil ceiling pow.
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/Integer.h"
#include "soliton/symbolic/Text.h"

#include <algorithm>

namespace soliton::sym {
using namespace detail;

namespace {

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Expr parseAll() {
    if (text.size() > maxTextSize)
      throwError(ErrorKind::tooLarge, "the text of the expression is too long");
    Expr e = disjunction();
    skipSpace();
    if (at < text.size())
      fail("`" + std::string(1, text[at]) + "` where the expression should end");
    return e;
  }
  size_t column() const { return at + 1; }

private:
  [[noreturn]] void fail(const std::string &found) const {
    throw ExprError(ErrorKind::syntax, "column " + std::to_string(column()) + ": found " + found, column());
  }
  [[noreturn]] void expected(const char *what) {
    skipSpace();
    std::string found = at < text.size() ? "`" + std::string(1, text[at]) + "`" : std::string("the end");
    fail(found + ", expected " + what);
  }

  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
      ++at;
  }
  /// Consumes `token` unless one of `longer` characters follows it.
  bool accept(std::string_view token, std::string_view longer = {}) {
    skipSpace();
    if (text.substr(at, token.size()) != token)
      return false;
    size_t next = at + token.size();
    if (next < text.size() && longer.find(text[next]) != std::string_view::npos)
      return false;
    at = next;
    return true;
  }

  Expr disjunction() {
    std::vector<Expr> operands = {conjunction()};
    while (accept("||"))
      operands.push_back(conjunction());
    return operands.size() == 1 ? operands[0] : logicalOr(operands);
  }

  Expr conjunction() {
    std::vector<Expr> operands = {comparison()};
    while (accept("&&"))
      operands.push_back(comparison());
    return operands.size() == 1 ? operands[0] : logicalAnd(operands);
  }

  Expr comparison() {
    Expr left = exclusive();
    if (accept("<="))
      return le(left, exclusive());
    if (accept(">="))
      return ge(left, exclusive());
    if (accept("=="))
      return eq(left, exclusive());
    if (accept("!="))
      return ne(left, exclusive());
    if (accept("<", "<"))
      return lt(left, exclusive());
    if (accept(">", ">"))
      return gt(left, exclusive());
    return left;
  }

  Expr exclusive() {
    Expr left = shifted();
    while (accept("^"))
      left = bitXor(left, shifted());
    return left;
  }

  Expr shifted() {
    Expr left = sum();
    while (true) {
      if (accept("<<"))
        left = shl(left, sum());
      else if (accept(">>"))
        left = shr(left, sum());
      else
        return left;
    }
  }

  Expr sum() {
    std::vector<Expr> addends = {term()};
    while (true) {
      if (accept("+"))
        addends.push_back(term());
      else if (accept("-"))
        addends.push_back(-term());
      else
        break;
    }
    return addends.size() == 1 ? addends[0] : build(Kind::add, addends);
  }

  Expr term() {
    std::vector<Expr> factors = {unary()};
    auto reduce = [&](Expr (*operation)(Expr, Expr)) {
      Expr left = factors.size() == 1 ? factors[0] : build(Kind::mul, factors);
      factors = {operation(left, unary())};
    };
    while (true) {
      if (accept("//"))
        reduce(floordiv);
      else if (accept("/"))
        reduce([](Expr a, Expr b) { return a / b; });
      else if (accept("%"))
        reduce(mod);
      else if (accept("*", "*"))
        factors.push_back(unary());
      else
        break;
    }
    return factors.size() == 1 ? factors[0] : build(Kind::mul, factors);
  }

  Expr unary() {
    if (++nesting > maxNesting)
      throw ExprError(ErrorKind::tooLarge, "the text of the expression is nested too deeply", column());
    Expr out = prefix();
    --nesting;
    return out;
  }

  Expr prefix() {
    if (accept("-")) {
      skipSpace();
      if (text.substr(at, 19) == "9223372036854775808") { // the one literal whose negation alone fits
        at += 19;
        return Expr(INT64_MIN);
      }
      return -unary();
    }
    if (accept("+"))
      return unary();
    if (accept("!", "="))
      return logicalNot(unary());
    Expr base = atom();
    if (!accept("**"))
      return base;
    skipSpace();
    if (at == text.size() || text[at] < '0' || text[at] > '9')
      expected("a literal exponent");
    return pow(base, number());
  }

  int64_t number() {
    uint64_t value = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      if (__builtin_mul_overflow(value, uint64_t(10), &value) ||
          __builtin_add_overflow(value, static_cast<uint64_t>(text[at] - '0'), &value) || value > INT64_MAX)
        throw ExprError(ErrorKind::overflow, "the constant does not fit 64 signed bits", column());
      ++at;
    }
    return static_cast<int64_t>(value);
  }

  Expr atom() {
    skipSpace();
    if (at == text.size())
      expected("an expression");
    char c = text[at];
    if (c >= '0' && c <= '9')
      return Expr(number());
    if (c == '`')
      return quotedSymbol();
    if (accept("(")) {
      Expr inner = disjunction();
      if (!accept(")"))
        expected("`)`");
      return inner;
    }
    if (!isNameCharacter(c, true))
      expected("an expression");
    size_t begin = at;
    while (at < text.size() && isNameCharacter(text[at], false))
      ++at;
    std::string_view name = text.substr(begin, at - begin);
    if (accept("("))
      return call(name, begin);
    if (name == "true" || name == "false")
      return Expr(name == "true");
    return Expr::symbol(name);
  }

  Expr quotedSymbol() {
    std::string name;
    for (++at; at < text.size() && text[at] != '`'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size())
        ++at;
      name += text[at];
    }
    if (at == text.size())
      expected("a closing backquote");
    ++at;
    return Expr::symbol(name);
  }

  Expr call(std::string_view name, size_t begin) {
    std::vector<Expr> arguments = {disjunction()};
    while (accept(","))
      arguments.push_back(disjunction());
    if (!accept(")"))
      expected("`,` or `)`");
    for (const Function &function : functions)
      if (function.name == name)
        return apply(function, arguments, begin);
    at = begin;
    fail("the unknown function `" + std::string(name) + "`");
  }

  struct Function {
    std::string_view name;
    size_t least, most;
    Expr (*apply)(std::span<const Expr>);
  };
  static const Function functions[13];

  Expr apply(const Function &function, std::span<const Expr> arguments, size_t begin) {
    if (arguments.size() < function.least || arguments.size() > function.most) {
      at = begin;
      fail(std::to_string(arguments.size()) + " arguments of `" + std::string(function.name) + "`, expected " +
           std::to_string(function.least));
    }
    return function.apply(arguments);
  }

  std::string_view text;
  size_t at = 0;
  unsigned nesting = 0;
};

using Arguments = std::span<const Expr>;

Expr literalPower(Arguments a) {
  if (!a[1].isConstant())
    throwError(ErrorKind::badArgument, "the exponent of `pow` is no literal");
  return pow(a[0], *a[1].constantValue());
}

const Parser::Function Parser::functions[13] = {
    {"floordiv", 2, 2, [](Arguments a) { return floordiv(a[0], a[1]); }},
    {"ceildiv", 2, 2, [](Arguments a) { return ceildiv(a[0], a[1]); }},
    {"mod", 2, 2, [](Arguments a) { return mod(a[0], a[1]); }},
    {"min", 1, SIZE_MAX, [](Arguments a) { return min(a); }},
    {"max", 1, SIZE_MAX, [](Arguments a) { return max(a); }},
    {"select", 3, 3, [](Arguments a) { return select(a[0], a[1], a[2]); }},
    {"xor", 2, SIZE_MAX, [](Arguments a) { return build(Kind::bitXor, a); }},
    {"shl", 2, 2, [](Arguments a) { return shl(a[0], a[1]); }},
    {"shr", 2, 2, [](Arguments a) { return shr(a[0], a[1]); }},
    {"floor", 1, 1, [](Arguments a) { return floor(a[0]); }},
    {"ceil", 1, 1, [](Arguments a) { return ceil(a[0]); }},
    {"ceiling", 1, 1, [](Arguments a) { return ceil(a[0]); }},
    {"pow", 2, 2, literalPower},
};

} // namespace

Expr parse(std::string_view text) {
  ThrowMistakes scope;
  Parser parser(text);
  try {
    return parser.parseAll();
  } catch (const ExprError &error) {
    if (error.column() != 0)
      throw;
    throw ExprError(error.kind(), "column " + std::to_string(parser.column()) + ": " + error.what(), parser.column());
  }
}

} // namespace soliton::sym
