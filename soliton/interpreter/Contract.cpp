//===- Contract.cpp - The meaning of mma and reduce --------------------------===//
//
// Sums are taken in f64, or in integers modulo 2^64, and rounded once at the end.
//
//===----------------------------------------------------------------------===//

#include "soliton/interpreter/Compute.h"
#include "soliton/interpreter/Failure.h"
#include "soliton/interpreter/Numbers.h"
#include "soliton/layout/Reduce.h"

#include <algorithm>

namespace soliton::interp {
using namespace wave;

static Dim dimOf(mlir::StringAttr name) {
  return Dim(name.getValue().str());
}
static double fit(DType type, double value) {
  return round(type, value);
}
static int64_t fit(DType type, int64_t value) {
  return wrap(type, value);
}

//===-- mma -------------------------------------------------------------------===//

/// The coordinates along the contracted dimension that both operands cover and that are within its size.
static Places contracted(const Tile &lhs, const Tile &rhs, Dim dim, llvm::function_ref<bool(int64_t)> isInside) {
  const Places &a = lhs.domain.places[*lhs.domain.find(dim)], &b = rhs.domain.places[*rhs.domain.find(dim)];
  Places both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  std::erase_if(both, [&](int64_t place) { return !isInside(place); });
  return both;
}

/// acc[b][m][n] += lhs[b][m][k] * rhs[b][k][n], all dense.
template <typename T>
static void multiply(size_t batches, size_t rows, size_t columns, size_t depth, const T *lhs, const T *rhs, T *acc) {
  for (size_t b = 0; b < batches; ++b, rhs += depth * columns)
    for (size_t m = 0; m < rows; ++m, lhs += depth, acc += columns)
      for (size_t k = 0; k < depth; ++k) {
        T factor = lhs[k];
        const T *row = rhs + k * columns;
        for (size_t n = 0; n < columns; ++n) {
          if constexpr (std::is_same_v<T, int64_t>)
            acc[n] = static_cast<int64_t>(static_cast<uint64_t>(acc[n]) +
                                          static_cast<uint64_t>(factor) * static_cast<uint64_t>(row[n]));
          else
            acc[n] += factor * row[n];
        }
      }
}

/// `lhs` has the accumulator's last dimension but one, `rhs` its last.
static Tile mmaInto(MmaOp op, const Tile &lhs, const Tile &rhs, const Tile &acc,
                    llvm::function_ref<bool(int64_t)> isInside) {
  if (isFloat(lhs.type) != isFloat(acc.type) || isFloat(rhs.type) != isFloat(acc.type))
    fail(op.getLoc(), DiagId::ReferenceUndefined, "`wave.mma` mixes integers and floats");
  Dim k = dimOf(op.getContractedDim());
  Places depth = contracted(lhs, rhs, k, isInside);
  size_t rank = acc.domain.rank();
  size_t rows = acc.domain.places[rank - 2].size(), columns = acc.domain.places[rank - 1].size();

  // [batches, M, K] and [batches, K, N].
  Domain left = acc.domain, right = acc.domain;
  left.dims[rank - 1] = k;
  left.places[rank - 1] = depth;
  right.dims[rank - 2] = k;
  right.places[rank - 2] = depth;
  Tile a = reindex(op, lhs, left), b = reindex(op, rhs, right), result = acc;
  size_t batches = rows * columns == 0 ? 0 : acc.domain.size() / (rows * columns);
  auto compute = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> &sums = result.as<T>();
    multiply<T>(batches, rows, columns, depth.size(), a.as<T>().data(), b.as<T>().data(), sums.data());
    for (T &sum : sums)
      sum = fit(acc.type, sum);
  };
  if (isFloat(acc.type))
    compute(double());
  else
    compute(int64_t());
  return result;
}

/// Each element times the scale of its block: exact in f64, whose exponents have room for both.
static Tile timesScale(MmaOp op, const Tile &operand, const Tile &scale) {
  Tile result = operand;
  result.type = DType::f64;
  Tile factors = reindex(op, scale, operand.domain);
  std::vector<double> &values = result.as<double>();
  const std::vector<double> &by = factors.as<double>();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] *= by[i];
  return result;
}

static Tile mmaByWave(MmaOp op, const Tile &lhs, const Tile &rhs, const Tile &acc,
                      llvm::function_ref<bool(int64_t)> isInside);

Tile mma(MmaOp op, const Tile &lhs, const Tile &rhs, const Tile &acc, const std::vector<const Tile *> &scales,
         llvm::function_ref<bool(int64_t)> isInside) {
  if (!scales.empty())
    return mma(op, timesScale(op, lhs, *scales[0]), timesScale(op, rhs, *scales[1]), acc, {}, isInside);
  if (acc.domain.find(dimOf(op.getContractedDim())))
    return mmaByWave(op, lhs, rhs, acc, isInside);
  // An accumulator [N, M] is the transposed product: rows are then the other operand's.
  if (dimOf(op.getRowDim()) == acc.domain.dims.back())
    return mmaInto(op, rhs, lhs, acc, isInside);
  return mmaInto(op, lhs, rhs, acc, isInside);
}

/// A partial product: for each coordinate of K in the accumulator, its first dimension, the sum over those up to the
/// next one.
static Tile mmaByWave(MmaOp op, const Tile &lhs, const Tile &rhs, const Tile &acc,
                      llvm::function_ref<bool(int64_t)> isInside) {
  const Places &kept = acc.domain.places.front();
  Domain one = acc.domain;
  one.dims.erase(one.dims.begin());
  one.places.erase(one.places.begin());
  Tile result = acc;
  for (size_t i = 0; i < kept.size(); ++i) {
    auto isOfThis = [&](int64_t k) {
      return isInside(k) && (i == 0 || k >= kept[i]) && (i + 1 == kept.size() || k < kept[i + 1]);
    };
    auto compute = [&](auto zero) {
      using T = decltype(zero);
      Tile part(one, acc.type);
      auto begin = result.as<T>().begin() + static_cast<int64_t>(i * one.size());
      std::copy_n(begin, one.size(), part.as<T>().begin());
      part = mma(op, lhs, rhs, part, {}, isOfThis);
      std::ranges::copy(part.as<T>(), begin);
    };
    if (isFloat(acc.type))
      compute(double());
    else
      compute(int64_t());
  }
  return result;
}

//===-- reduce ----------------------------------------------------------------===//

static Domain without(const Domain &domain, Dim dim) {
  Domain result;
  for (size_t d = 0; d < domain.rank(); ++d)
    if (domain.dims[d] != dim) {
      result.dims.push_back(domain.dims[d]);
      result.places.push_back(domain.places[d]);
    }
  return result;
}

/// Where a coordinate of a partial reduction's source goes: what its layouts say, or, without them, the largest one of
/// `kept` that is not beyond it.
static int64_t keptPlace(ReduceOp op, Dim dim, const Places &kept, int64_t place) {
  TileType source = op.getSource().getType(), result = op.getResult().getType();
  if (source.getLayout() && result.getLayout() && result.hasDim(dim.name()))
    return keptCoordinate(source.getLayout().getValue(), result.getLayout().getValue(), dim, place);
  auto next = std::ranges::upper_bound(kept, place);
  return next == kept.begin() ? place : *std::prev(next);
}

/// For each source coordinate along `dim` the offset of its place among those that are `kept`.
static std::vector<size_t> bucketSteps(ReduceOp op, Dim dim, const Places &source, const Places &kept, size_t stride) {
  std::vector<size_t> steps;
  for (int64_t place : source) {
    int64_t wanted = dim.name() == op.getDim() ? keptPlace(op, dim, kept, place) : place;
    auto found = std::ranges::lower_bound(kept, wanted);
    if (found == kept.end() || *found != wanted)
      fail(op.getLoc(), DiagId::ReferenceUndefined,
           "the partial reduction has no place for coordinate " + std::to_string(place));
    steps.push_back(static_cast<size_t>(found - kept.begin()) * stride);
  }
  return steps;
}

/// Where each source coordinate goes in the result.
static Alignment targets(ReduceOp op, const Domain &source, const Domain &result, Dim dim) {
  Domain rest = without(source, dim), restOfResult = without(result, dim);
  bool same = rest.size() == restOfResult.size() && align(rest, restOfResult) && align(restOfResult, rest);
  if (!same)
    fail(op.getLoc(), DiagId::ReferenceUndefined, "source and result of `wave.reduce` cover different coordinates");
  Alignment to;
  for (size_t d = 0; d < source.rank(); ++d) {
    std::optional<size_t> at = result.find(source.dims[d]);
    std::vector<size_t> steps(source.places[d].size(), 0);
    if (at) {
      size_t stride = 1;
      for (size_t later = *at + 1; later < result.rank(); ++later)
        stride *= result.places[later].size();
      steps = bucketSteps(op, source.dims[d], source.places[d], result.places[*at], stride);
    }
    to.steps.push_back(std::move(steps));
  }
  return to;
}

template <typename T>
static void reduceInto(ReduceOp op, const Tile &source, const Tile *init, Dim dim, const Alignment &to, Tile &tile,
                       llvm::function_ref<bool(int64_t)> isInside) {
  std::vector<T> &sums = tile.as<T>();
  std::ranges::fill(sums, identity(op.getKind(), tile.type, T()));
  if (init)
    sums = reindex(op, *init, tile.domain).as<T>();
  const Places &along = source.domain.places[*source.domain.find(dim)];
  std::vector<bool> inside;
  for (int64_t place : along)
    inside.push_back(isInside(place));
  // The position along `dim` of each element, from an alignment that only that dimension has.
  Alignment where;
  for (size_t d = 0; d < source.domain.rank(); ++d) {
    std::vector<size_t> steps(source.domain.places[d].size(), 0);
    for (size_t i = 0; i < steps.size() && source.domain.dims[d] == dim; ++i)
      steps[i] = i;
    where.steps.push_back(std::move(steps));
  }
  const std::vector<T> &values = source.as<T>();
  forEach<2>(source.domain, {&to, &where}, [&](size_t at, const auto &offsets) {
    if (inside[offsets[1]])
      sums[offsets[0]] = combine(op.getKind(), sums[offsets[0]], values[at]);
  });
  for (T &sum : sums)
    sum = fit(tile.type, sum);
}

Tile reduce(ReduceOp op, const Tile &source, const Tile *init, const Domain &result,
            llvm::function_ref<bool(int64_t)> isInside) {
  Dim dim(op.getDim().str());
  Tile tile(result, source.type);
  Alignment to = targets(op, source.domain, result, dim);
  if (isFloat(source.type))
    reduceInto<double>(op, source, init, dim, to, tile, isInside);
  else
    reduceInto<int64_t>(op, source, init, dim, to, tile, isInside);
  return tile;
}

} // namespace soliton::interp
