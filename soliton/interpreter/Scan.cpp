//===- Scan.cpp - The meaning of scan and arg_reduce -------------------------===//
//
// Rows are walked element by element, in order, in f64 or in integers modulo 2^64; each result is rounded once.
//
//===----------------------------------------------------------------------===//

#include "soliton/interpreter/Compute.h"
#include "soliton/interpreter/Numbers.h"

#include <cmath>
#include <limits>

namespace soliton::interp {
using namespace wave;

static double fit(DType type, double value) {
  return round(type, value);
}
static int64_t fit(DType type, int64_t value) {
  return wrap(type, value);
}

/// `domain` without `dim`, or with it as the last dimension, at these places.
static Domain rowsOf(const Domain &domain, Dim dim, const Places *along) {
  Domain rows;
  for (size_t d = 0; d < domain.rank(); ++d)
    if (domain.dims[d] != dim) {
      rows.dims.push_back(domain.dims[d]);
      rows.places.push_back(domain.places[d]);
    }
  if (along) {
    rows.dims.push_back(dim);
    rows.places.push_back(*along);
  }
  return rows;
}

static const Places &placesAlong(const Tile &tile, Dim dim) {
  return tile.domain.places[*tile.domain.find(dim)];
}

//===-- scan ------------------------------------------------------------------===//

namespace {
/// One row at a time: elements, the totals of its runs, and where it begins.
template <typename T>
struct RowScan {
  ReduceKind kind;
  DType type;
  const Places &along;
  /// Where runs begin; empty where the row is one.
  const Places *runs;
  llvm::function_ref<bool(int64_t)> isInside;

  void operator()(T before, const T *source, const T *totals, T *result) const {
    T sum = before;
    size_t run = 0;
    for (size_t i = 0; i < along.size(); ++i) {
      // Whole runs before the element's own count by their totals.
      bool isNew = false;
      while (runs && run < runs->size() && (*runs)[run] <= along[i]) {
        if (run > 0)
          before = combine(kind, before, totals[run - 1]);
        ++run;
        isNew = true;
      }
      if (isNew)
        sum = before;
      if (isInside(along[i]))
        sum = combine(kind, sum, source[i]);
      result[i] = fit(type, sum);
    }
  }
};
} // namespace

template <typename T>
static void scanRows(ScanOp op, const Tile &source, const Tile *init, const Tile *totals, Tile &result,
                     llvm::function_ref<bool(int64_t)> isInside) {
  const Places &along = result.domain.places.back();
  const Places *runs = totals ? &totals->domain.places.back() : nullptr;
  RowScan<T> scanRow{op.getKind(), result.type, along, runs, isInside};
  std::vector<T> &sums = result.as<T>();
  size_t rows = along.empty() ? 0 : sums.size() / along.size();
  for (size_t row = 0; row < rows; ++row) {
    T before = init ? init->as<T>()[row] : identity(op.getKind(), result.type, T());
    scanRow(before, source.as<T>().data() + row * along.size(),
            totals ? totals->as<T>().data() + row * runs->size() : nullptr, sums.data() + row * along.size());
  }
}

Tile scan(ScanOp op, const Tile &source, const Tile *init, const Tile *totals, const Domain &result,
          llvm::function_ref<bool(int64_t)> isInside) {
  Dim dim(op.getDim().str());
  Domain rows = rowsOf(source.domain, dim, &placesAlong(source, dim));
  Tile each = reindex(op, source, rows), sums(rows, source.type), before, runs;
  if (init)
    before = reindex(op, *init, rowsOf(source.domain, dim, nullptr));
  if (totals)
    runs = reindex(op, *totals, rowsOf(source.domain, dim, &placesAlong(*totals, dim)));
  if (isFloat(source.type))
    scanRows<double>(op, each, init ? &before : nullptr, totals ? &runs : nullptr, sums, isInside);
  else
    scanRows<int64_t>(op, each, init ? &before : nullptr, totals ? &runs : nullptr, sums, isInside);
  return reindex(op, sums, result);
}

//===-- shuffle ---------------------------------------------------------------===//

/// Which element of its row the `d`-th becomes; itself where there is none.
static size_t sourceOf(ShuffleOp op, int64_t d, int64_t index, size_t extent) {
  auto offset = static_cast<int64_t>(op.getOffset().value_or(0));
  int64_t from = op.getMode() == ShuffleMode::bfly   ? d ^ offset
                 : op.getMode() == ShuffleMode::up   ? d - offset
                 : op.getMode() == ShuffleMode::down ? d + offset
                                                     : index;
  return static_cast<size_t>(from >= 0 && from < static_cast<int64_t>(extent) ? from : d);
}

Tile shuffle(ShuffleOp op, const Tile &source, const Tile *index, const Domain &result) {
  Dim dim(op.getDim().str());
  const Places &along = placesAlong(source, dim);
  Domain rows = rowsOf(source.domain, dim, &along);
  Tile each = reindex(op, source, rows), moved(rows, source.type), from;
  if (index)
    from = reindex(op, *index, rows);
  size_t extent = along.size();
  auto move = [&](auto zero) {
    const auto &values = each.as<decltype(zero)>();
    auto &target = moved.as<decltype(zero)>();
    for (size_t at = 0; at < target.size(); ++at) {
      size_t row = at / extent * extent;
      int64_t said = index ? from.as<int64_t>()[at] : 0;
      target[at] = values[row + sourceOf(op, static_cast<int64_t>(at - row), said, extent)];
    }
  };
  if (isFloat(source.type))
    move(double());
  else
    move(int64_t());
  return reindex(op, moved, result);
}

//===-- arg_reduce ------------------------------------------------------------===//

static bool isNan(double value) {
  return std::isnan(value);
}
static bool isNan(int64_t) {
  return false;
}

/// An element and its place.
template <typename T>
struct Candidate {
  T value;
  int64_t index;
};

/// NaN is more extreme than any number; of equals the first place counts.
template <typename T>
static bool isBetter(ExtremeKind kind, const Candidate<T> &a, const Candidate<T> &b) {
  if (isNan(a.value) || isNan(b.value))
    return isNan(a.value) && (!isNan(b.value) || a.index < b.index);
  if (a.value == b.value)
    return a.index < b.index;
  return kind == ExtremeKind::max ? a.value > b.value : a.value < b.value;
}

template <typename T>
static void findInRows(ArgReduceOp op, const Tile &source, const Extremes *init, int64_t start, Extremes &result,
                       llvm::function_ref<bool(int64_t)> isInside) {
  const Places &along = source.domain.places.back();
  std::vector<T> &values = result.value.as<T>();
  std::vector<int64_t> &indices = result.index.as<int64_t>();
  ReduceKind kind = op.getKind() == ExtremeKind::max ? ReduceKind::max : ReduceKind::min;
  for (size_t row = 0; row < values.size(); ++row) {
    Candidate<T> best{identity(kind, source.type, T()), identity(ReduceKind::min, result.index.type, int64_t())};
    if (init)
      best = {init->value.as<T>()[row], init->index.as<int64_t>()[row]};
    for (size_t i = 0; i < along.size(); ++i) {
      Candidate<T> each{source.as<T>()[row * along.size() + i], wrap(result.index.type, start + along[i])};
      if (isInside(along[i]) && isBetter(op.getKind(), each, best))
        best = each;
    }
    values[row] = best.value;
    indices[row] = best.index;
  }
}

Extremes argReduce(ArgReduceOp op, const Tile &source, const Extremes *init, DType indexType, int64_t start,
                   llvm::function_ref<bool(int64_t)> isInside) {
  Dim dim(op.getDim().str());
  Domain rest = rowsOf(source.domain, dim, nullptr);
  Tile each = reindex(op, source, rowsOf(source.domain, dim, &placesAlong(source, dim)));
  Extremes result{Tile(rest, source.type), Tile(rest, indexType)}, before;
  if (init)
    before = {reindex(op, init->value, rest), reindex(op, init->index, rest)};
  if (isFloat(source.type))
    findInRows<double>(op, each, init ? &before : nullptr, start, result, isInside);
  else
    findInRows<int64_t>(op, each, init ? &before : nullptr, start, result, isInside);
  return result;
}

} // namespace soliton::interp
