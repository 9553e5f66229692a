#include "soliton/interpreter/Noise.h"

#include "soliton/support/Float.h"

#include <cmath>

namespace soliton::interp {
using namespace wave;

/// How many times more than results of sums and functions could be off they are moved.
static constexpr double kTimes = 32;

/// Uniform in [-1, 1): splitmix64.
double Noise::next() {
  uint64_t bits = state += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  bits ^= bits >> 31;
  return static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-63;
}

Tile Noise::moved(Tile tile, double most) {
  for (double &value : tile.as<double>())
    if (std::isfinite(value))
      value += value * most * direction * next();
  return tile;
}

Tile Noise::afterOp(mlir::Operation *op, Tile result) {
  auto tileOp = llvm::dyn_cast<TileOpInterface>(op);
  if (!tileOp || !isFloat(result.type) || !llvm::isa<UnaryOp, BinaryOp, CastOp, MmaOp, ReduceOp, ScanOp>(op))
    return result;
  double unit = epsilon(result.type);
  bool isNarrow = bits(result.type) <= 16;
  if (kind == NoiseKind::steps)
    return isNarrow ? moved(std::move(result), unit) : result;
  return tileOp.isTranscendental() ? moved(std::move(result), kTimes * 8 * unit / 2) : result;
}

Tile Noise::beforeSum(const Tile &terms, Dim dim, DType sum) {
  std::optional<size_t> along = terms.domain.find(dim);
  if (kind == NoiseKind::steps || !isFloat(terms.type) || !along)
    return terms;
  // Matrix units add products of 8-bit floats in fewer bits.
  double unit = bits(terms.type) <= 8 ? 0x1p-13 : epsilon(sum) / 2;
  return moved(terms, kTimes * unit * std::sqrt(static_cast<double>(terms.domain.places[*along].size())));
}

} // namespace soliton::interp
