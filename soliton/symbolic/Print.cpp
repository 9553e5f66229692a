//===- Print.cpp - Expressions as text -------------------------------------===//
//
//   64*$WG0 + 32*floordiv($WAVE, 2) + mod($LANE, 16) + 3
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/Linear.h"
#include "soliton/symbolic/Mistake.h"
#include "soliton/symbolic/Text.h"

namespace soliton::sym {
using namespace detail;

namespace {

enum Precedence { disjunction, conjunction, comparison, addition, multiplication, primary };

struct Printer {
  std::string out;

  void print(Expr e, Precedence context) {
    if (out.size() > maxTextSize)
      throwError(ErrorKind::tooLarge, "the expression is too large to be printed");
    if (!e.isDefined()) {
      out += textOfMistake(e);
      return;
    }
    bool brackets = precedenceOf(e) < context;
    if (brackets)
      out += '(';
    body(e);
    if (brackets)
      out += ')';
  }

  static Precedence precedenceOf(Expr e) {
    switch (e.kind()) {
    case Kind::constant:
      return e.get()->value < 0 ? addition : primary;
    case Kind::logicalOr:
      return disjunction;
    case Kind::logicalAnd:
      return conjunction;
    case Kind::lt:
    case Kind::le:
    case Kind::eq:
    case Kind::ne:
      return comparison;
    case Kind::add:
      return addition;
    case Kind::mul:
    case Kind::exactDiv:
      return multiplication;
    default:
      return primary;
    }
  }

  void body(Expr e) {
    switch (e.kind()) {
    case Kind::constant:
      out += std::to_string(e.get()->value);
      return;
    case Kind::symbol:
      name(e.symbolName());
      return;
    case Kind::add:
      return sum(e);
    case Kind::mul:
      return scaledProduct(termOf(e));
    case Kind::exactDiv:
      print(e.operand(0), primary);
      out += '/';
      return print(e.operand(1), primary);
    case Kind::lt:
      return infix(e, " < ", addition);
    case Kind::le:
      return infix(e, " <= ", addition);
    case Kind::eq:
      return infix(e, " == ", addition);
    case Kind::ne:
      return infix(e, " != ", addition);
    case Kind::logicalAnd:
      return infix(e, " && ", comparison);
    case Kind::logicalOr:
      return infix(e, " || ", conjunction);
    case Kind::logicalNot:
      out += '!';
      return print(e.operand(0), primary);
    default:
      return call(e);
    }
  }

  void sum(Expr e) {
    bool first = true;
    for (Expr addend : e.operands()) {
      Term term = termOf(addend);
      bool constant = addend.isConstant();
      int64_t sign = constant ? term.monomial->value : term.coefficient;
      if (first || sign >= 0 || sign == INT64_MIN) {
        out += first ? "" : " + ";
        print(addend, multiplication == precedenceOf(addend) ? multiplication : addition);
      } else if (constant) {
        out += " - " + std::to_string(-sign);
      } else {
        out += " - ";
        scaledProduct({term.monomial, -term.coefficient});
      }
      first = false;
    }
  }

  void scaledProduct(Term term) {
    if (term.coefficient == -1)
      out += '-';
    else if (term.coefficient != 1)
      out += std::to_string(term.coefficient) + "*";
    Expr monomial(term.monomial);
    bool first = true;
    for (Expr factor : factorsOf(monomial)) {
      out += first ? "" : "*";
      print(factor, primary);
      first = false;
    }
  }

  void infix(Expr e, const char *separator, Precedence inner) {
    bool first = true;
    for (Expr operand : e.operands()) {
      out += first ? "" : separator;
      print(operand, inner);
      first = false;
    }
  }

  void call(Expr e) {
    out += kindName(e.kind());
    out += '(';
    bool first = true;
    for (Expr operand : e.operands()) {
      out += first ? "" : ", ";
      print(operand, disjunction);
      first = false;
    }
    out += ')';
  }

  void name(std::string_view text) {
    if (isPlainName(text)) {
      out += text;
      return;
    }
    out += '`';
    for (char c : text) {
      if (c == '`' || c == '\\')
        out += '\\';
      out += c;
    }
    out += '`';
  }
};

} // namespace

bool detail::isNameCharacter(char c, bool first) {
  bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
  return letter || (!first && c >= '0' && c <= '9');
}

bool detail::isPlainName(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i)
    if (!isNameCharacter(text[i], i == 0))
      return false;
  return !text.empty() && text != "true" && text != "false";
}

std::string toString(Expr e) {
  Printer printer;
  printer.print(e, disjunction);
  return std::move(printer.out);
}

} // namespace soliton::sym
