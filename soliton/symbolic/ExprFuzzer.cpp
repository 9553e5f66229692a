//===- ExprFuzzer.cpp - Text that must not break the expression engine -----===//
//
// Any text is either refused with an ExprError or read; what is read prints to text that is read back to the same
// node, and can be simplified, analysed and evaluated without a crash. Built with -DSOLITON_FUZZ=ON.
//
//===----------------------------------------------------------------------===//
#include "soliton/symbolic/Expr.h"

#include <cstdio>
#include <cstdlib>

using namespace soliton::sym;

static void require(bool holds, const char *what, Expr e) {
  if (holds)
    return;
  std::fprintf(stderr, "%s: %s\n", what, toString(e).c_str());
  std::abort();
}

/// Facts and values from the names alone, so that an input is all there is to reproduce.
static void describe(Expr e, Facts &facts, Environment &environment) {
  for (Expr symbol : symbolsOf(e)) {
    int64_t size = static_cast<int64_t>(symbol.hash() % 7) * 8;
    if (size != 0)
      facts.setRange(symbol, {0, size - 1});
    if (symbol.hash() % 3 == 0)
      facts.setDivisor(symbol, 4);
    environment.set(symbol, 0);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    Expr e = parse(std::string_view(reinterpret_cast<const char *>(data), size));
    require(parse(toString(e)) == e, "does not read back", e);
    Facts facts;
    Environment environment;
    describe(e, facts, environment);
    Expr simplified = simplify(e, facts);
    require(parse(toString(simplified)) == simplified, "does not read back", simplified);
    require(simplify(simplified, facts) == simplified, "is not simplified at once", e);
    int64_t value = evaluate(e, environment);
    require(evaluate(simplified, environment) == value, "changes its value", e);
    require(rangeOf(e, facts).contains(value), "leaves its range", e);
  } catch (const ExprError &) { // a refusal is an answer
  }
  return 0;
}
