//===- Numbers.cpp - Numbers from data that expressions speak of ---------------------------===//
//
// `index_of` makes a symbol that stands for an element of a tile; `set_symbol` makes the author's own symbol stand for
// one from here on. A binding is lexical: it holds in the text that follows, to the end of the body or branch that it
// stands in, whatever an iteration before has set.
//
//   set_symbol(LENGTH, read_at(lengths, {workgroup_id(0)}));
//   read(x, {.bounds = {{{N, LENGTH}}}});                       // LENGTH is recorded as $DATA_<kernel>_0
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/Tracer.h"

#include "soliton/frontend/Ops.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::frontend;

Expr lang::index_of(const Value &value, OpOptions options, Place place) {
  Tracer given("index_of", place, {value});
  if (!given.ok())
    return 0;
  // Along a dimension of which the workgroup has one place, the tile is one element.
  const std::vector<Expr> dims = given.tile(0).dims;
  bool isOne = std::all_of(dims.begin(), dims.end(), [&](Expr dim) { return given.program().hasOnePlace(dim); });
  if (!dims.empty() && isOne && isInteger(given.tile(0).type)) {
    Value one = given.tile(0).type == i1 ? cast(value, i32, {}, place) : value;
    for (Expr dim : dims)
      one = max(one, dim, {}, place);
    return index_of(one, std::move(options), std::move(place));
  }
  if (!given.tile(0).dims.empty() || isFloat(given.tile(0).type)) {
    given.error(DiagId::IndexOfTile,
                "`index_of` takes " + quoted(frontend::toString(given.tile(0))) + ", expected one integer",
                given.tile(0).dims.empty() ? "cast it to `i32` first" : "read one element, or reduce the tile to one",
                {given.noteOn(0)});
    return 0;
  }
  // What holds is 1.
  if (given.tile(0).type == i1) {
    Value counted = cast(value, i32, {}, place);
    return index_of(counted, std::move(options), std::move(place));
  }
  // A parameter is no tile.
  bool isParameter = given.info(0).parameter.has_value();
  Value tile = isParameter ? given.record({.kind = OpKind::splat}, given.tile(0)) : value;
  Tracer tracer("index_of", place, {tile});
  Program &program = tracer.program();
  Expr number = Expr::symbol(program.numberPrefix() + std::to_string(program.numbers.size()));
  program.numbers.emplace_back(place, program.current);
  tracer.recordEffect({.kind = OpKind::indexOf, .expr = number}, options.tag);
  return number;
}

/// Whether the expressions of the kernel's own constraints speak of the symbol: they are evaluated before it is set.
static bool isOfConstraints(const Program &program, Expr symbol) {
  for (const AnyConstraint &constraint : program.constraints) {
    std::vector<Expr> exprs;
    if (auto *each = std::get_if<WorkgroupConstraint>(&constraint))
      exprs = {each->tile};
    if (auto *each = std::get_if<TilingConstraint>(&constraint))
      exprs = {each->tile};
    if (auto *each = std::get_if<WaveConstraint>(&constraint))
      exprs = {each->tile};
    for (Expr expr : exprs)
      for (Expr used : sym::symbolsOf(expr))
        if (used == symbol)
          return true;
  }
  return false;
}

void lang::set_symbol(Expr symbol, const Value &value, OpOptions options, Place place) {
  Tracer tracer("set_symbol", place, {value});
  if (!tracer.ok())
    return;
  Program &program = tracer.program();
  if (!symbol.isDefined() || !symbol.isSymbol() || symbol.symbolName().starts_with("$")) {
    tracer.error(DiagId::SetSymbol, "`set_symbol` of " + quoted(symbol) + ", expected a symbol of the kernel's own",
                 "make one with `symbols<…>()`");
    return;
  }
  if (isOfConstraints(program, symbol)) {
    tracer.error(DiagId::SetSymbol, "`set_symbol` of " + quoted(symbol) + ", which is a tile of a constraint",
                 "tiles are the same in the whole kernel: set another symbol");
    return;
  }
  Expr number = index_of(tracer.operand(0), std::move(options), place);
  if (!number.isConstant())
    program.regions[program.current].set.emplace_back(symbol, number);
}
