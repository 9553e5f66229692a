//===- Mistake.cpp - Undefined expressions ---------------------------------===//
//
// An undefined expression is a node of its own, 0/0 to whoever looks inside; what was wrong is kept beside it.
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/Mistake.h"
#include "soliton/symbolic/Integer.h"
#include "soliton/symbolic/Interner.h"

#include <mutex>
#include <string>
#include <unordered_map>

namespace soliton::sym {
using namespace detail;

constinit thread_local bool detail::collecting = false;

bool collectMistakes(bool on) {
  return std::exchange(collecting, on);
}

namespace {
struct Kept {
  ExprError mistake;
  std::string text;
};

/// What was wrong, by node; nodes and mistakes live for ever.
class Mistakes {
public:
  const Node *add(const ExprError &mistake, std::string text) {
    std::lock_guard lock(mutex);
    const Node *node = makeUndefined();
    table.emplace(node, Kept{mistake, std::move(text)});
    return node;
  }
  Kept of(Expr e) {
    std::lock_guard lock(mutex);
    return table.at(e.get());
  }

private:
  std::mutex mutex;
  std::unordered_map<const Node *, Kept> table;
};

Mistakes &mistakes() {
  static Mistakes *instance = new Mistakes; // immortal, as nodes are
  return *instance;
}

/// `a / b` or `mod(a, b)`; long operands are left out.
std::string textOf(std::string_view operation, std::span<const Expr> operands) {
  auto part = [](Expr e) {
    std::string text = e.get()->weight <= 64 ? toString(e) : "...";
    return text;
  };
  bool infix = operation.size() <= 2 && operands.size() == 2;
  if (infix)
    return "(" + part(operands[0]) + ") " + std::string(operation) + " (" + part(operands[1]) + ")";
  std::string out(operation);
  for (size_t i = 0; i < operands.size() && i < 4; ++i)
    out += (i == 0 ? "(" : ", ") + part(operands[i]);
  return out + (operands.size() > 4 ? ", ...)" : operands.empty() ? "" : ")");
}
} // namespace

void requireDefined(Expr e) {
  if (!e.isDefined())
    throw mistakes().of(e).mistake;
}

std::string detail::textOfMistake(Expr undefined) {
  return mistakes().of(undefined).text;
}

Expr detail::passOn(std::span<const Expr> operands) {
  for (Expr e : operands) {
    if (e.isDefined())
      continue;
    if (!collecting)
      requireDefined(e);
    return e;
  }
  return Expr();
}

Expr detail::keepMistake(const ExprError &mistake, const char *operation, std::span<const Expr> operands) {
  return Expr(mistakes().add(mistake, textOf(operation, operands)));
}

const Node *detail::unsignedOverflow(uint64_t value) {
  ExprError mistake(ErrorKind::overflow, "the constant " + std::to_string(value) + " does not fit 64 signed bits");
  if (!collecting)
    throw mistake;
  return mistakes().add(mistake, std::to_string(value));
}

} // namespace soliton::sym
