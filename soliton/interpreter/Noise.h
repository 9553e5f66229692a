//===- Noise.h - How far rounding may carry a result ---------------------------===//
//
// Two ways to compute the same differ by roundings. How much that matters depends on the program: a sum of positive
// numbers hardly feels it, a difference of nearly equal ones does. So the program itself is asked: it is run again with
// results moved at random, and what that does to the outputs is what roundings can do (Monte Carlo arithmetic).
//
//   sums     another order of terms, another approximation of a function. Terms of n could be moved by √n · 2⁻²⁴ (f32),
//            as the sums before them are that they are added to, results of functions by 8 · 2⁻²⁴; they are moved by
//            up to 32 times that, so that a comparison which might come out otherwise does
//   steps    a number that comes out a little different may be rounded to the next one of a narrow type: results in 16
//            bits or fewer are moved by up to one of their steps, which is much more than most of them ever are
//
// Seeds 2k and 2k + 1 move everything in opposite directions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/interpreter/Interpreter.h"
#include "soliton/interpreter/Tile.h"

namespace soliton::interp {

class Noise {
public:
  Noise(NoiseKind kind, uint64_t seed) : kind(kind), direction(seed % 2 ? -1 : 1), state(seed / 2) {}

  /// The result of an op that rounds.
  Tile afterOp(mlir::Operation *op, Tile result);
  /// What is summed along `dim` in this type, before it is.
  Tile beforeSum(const Tile &terms, Dim dim, DType sum);

private:
  Tile moved(Tile tile, double most);
  double next();

  NoiseKind kind;
  double direction;
  uint64_t state;
};

} // namespace soliton::interp
