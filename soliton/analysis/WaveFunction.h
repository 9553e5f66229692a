//===- WaveFunction.h - Which wave touches which element ---------------------------===//
//
// An access is a function from the elements of a memory to the waves (and, where lanes of a wave are not in lockstep,
// the lanes) that touch them. Two accesses with the same function concern one wave at a time: no barrier has to order
// them, however their instructions are cut into pieces.
//
//   wave.read %t   wave = (2 M 32), starts 64*$WG0, 0     row r is touched by wave (r - 64*$WG0) / 32 mod 2
//   wave.write %t  the same digits and starts             the same wave
//
// The function is known only where it can be read off: indices are dimensions in some order, and the digits of waves
// nest with the others, so that a digit is a quotient and a remainder of the place. Everything else is unknown.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"

namespace soliton {

struct WaveFunction {
  /// Equal texts are equal functions, for accesses of one memory.
  std::string text;
  /// The same without iterations: equal texts give an element to the same wave, in whatever iteration. Empty: not
  /// known.
  std::string who;
  /// Each element has one wave. Not so for a read of what several waves hold; of a write one of them writes.
  bool isOneWave = true;
  /// And one workgroup of the launch.
  bool isOneWorkgroup = false;
  /// Loops around the access whose different iterations touch different elements.
  SmallVector<wave::IterateOp> apart;
};

/// The function of a read, a write, or what a copy does to its source or (`destination`) its shared tile.
std::optional<WaveFunction> waveFunctionOf(Operation *op, const Geometry &geometry, bool destination = false);

/// Likewise from elements to teams of so many neighbouring waves, each of which has one; empty where that is not known.
std::string teamFunctionOf(Operation *op, const Geometry &geometry, int64_t teamWaves, bool destination = false);

} // namespace soliton
