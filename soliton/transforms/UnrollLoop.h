//===- UnrollLoop.h - Several iterations in one ------------------------------------===//
//
//   wave.iterate "K" {count = T} { f($ARG_K) }   becomes   wave.iterate "K" {count = T / 2} { f(2*$ARG_K), f(2*$ARG_K +
//   1) }
//
// The copies are told apart by their origin; a shared tile that each iteration fills anew is there once per copy. What
// T leaves over is the caller's to run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"

namespace soliton {

/// Builds the loop with `factor` copies of its body in front of `loop`, which stays.
wave::IterateOp unrollLoop(wave::IterateOp loop, int factor);

/// Puts `value` for `symbol` in all expressions of an op's attributes.
void substituteInAttributes(Operation *op, sym::Expr symbol, sym::Expr value);

} // namespace soliton
