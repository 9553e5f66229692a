//===- Route.h - A conversion as a chain of single exchanges ----------------------------===//
//
// A conversion whose lanes exchange many registers is cut twice. Registers that do not meet are apart from the start:
// where the outer register digits of both layouts agree, each piece of the inner ones is a conversion of its own. And a
// register digit that changes places with a lane digit does so by itself: half of a lane's registers cross once,
// instead of being selected from all others. A transposition of 4x4 between 4 registers and 4 lanes:
//
//   from              reg = (4 M 1), lane = (4 N 1)
//   first exchange    reg = (2 M 2)(2 N 1), lane = (2 M 1)(2 N 2)       each a chain of conversions of two registers
//   second            reg = (4 N 1), lane = (4 M 1)
//
// The route is decided once; every op of it is one conversion of a few registers, priced by its plan.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Price.h"

namespace soliton {

struct ConvertRoute {
  /// That of the whole: rename, shuffle, shared or impossible.
  ConvertKind kind = ConvertKind::impossible;
  /// The layouts on the way, the last is the goal. Each step is a rename or a shuffle.
  std::vector<Layout> stages;
  /// Of all steps; 0 where nothing is exchanged.
  int64_t price = 0;
  std::string reason;
};

/// The cheapest of the direct plan and the chain of exchanges, or shared memory where the lanes cannot do it or would
/// exchange more than `options.maxExchanges` words at once.
ConvertRoute routeConvert(const Layout &from, const Layout &to, const ConvertOptions &options,
                          const MovePrices &prices);

/// Registers that are converted together: pieces [k * n, (k + 1) * n) of the result come from the same of the source.
int64_t independentRegisters(const Layout &from, const Layout &to);

/// Layouts between `from` and `to`, `to` last: one digit of two changes between registers and lanes at a time. Nothing
/// where the layouts differ in more than the places of their digits. Digits that fill a 32-bit word stay together.
std::vector<Layout> exchangeStages(const Layout &from, const Layout &to, int elementBits);

} // namespace soliton
