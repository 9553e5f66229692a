//===- UnrollLoop.h - Several iterations in one ------------------------------------===//
//
//   wave.iterate "K" {count = T} { f(k) }   becomes   wave.iterate "K" {count = T / 2} { f(2*k), f(2*k + 1) }
//
// The copies are told apart by their origin; a shared tile that each iteration fills anew is there once per copy. What
// T leaves over is the caller's to run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/IndexSymbols.h"

namespace soliton {

/// Builds the loop with `factor` copies of its body in front of `loop`, which stays.
wave::IterateOp unrollLoop(wave::IterateOp loop, int factor, IndexSymbols &symbols);

} // namespace soliton
