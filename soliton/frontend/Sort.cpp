//===- Sort.cpp - Rows in order ---------------------------------------------------------===//
//
// Types and checks of `sort` and `topk`, which are one op: rows of keys, and what they carry, in order, of which as
// many elements are kept as the result's dimension has.
//
//   sort(x, N)           f32[M, N] -> f32[M, N], i32[M, N]
//   topk(x, K, N)        f32[M, N] -> f32[M, K], i32[M, K]
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/Tracer.h"

#include "soliton/frontend/Ops.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::frontend;

/// Whether rows along `dim` have an order; reports why not.
static bool checkKeys(Tracer &tracer, Expr dim) {
  const TileInfo &keys = tracer.tile(0);
  if (!hasDim(keys.dims, dim)) {
    tracer.error(DiagId::ReduceDim,
                 quoted(tracer.what()) + " along " + quoted(dim) + ", but the tile has the dimensions " +
                     quoted(frontend::toString(keys.dims)),
                 "", {tracer.noteOn(0)});
    return false;
  }
  if (bits(keys.type.resolve()) % 8 != 0 || keys.type == f8e8m0fnu) {
    tracer.error(DiagId::ElementwiseType,
                 quoted(tracer.what()) + " of " + quoted(lang::toString(keys.type)) +
                     ", expected numbers of whole bytes",
                 "cast to `i32` or `f32` first", {tracer.noteOn(0)});
    return false;
  }
  return true;
}

/// Whether operand `number` can be carried along.
static bool checkPayload(Tracer &tracer, size_t number) {
  const TileInfo &keys = tracer.tile(0), &tile = tracer.tile(number);
  bool isMoved = tile.type == i1 || bits(tile.type.resolve()) % 8 == 0;
  if (tile.dims == keys.dims && isMoved)
    return true;
  tracer.error(DiagId::SortPayload,
               quoted(tracer.what()) + " carries " + quoted(frontend::toString(tile)) + ", expected the dimensions " +
                   quoted(frontend::toString(keys.dims)) + (isMoved ? "" : " and elements of whole bytes"),
               isMoved ? "`broadcast` or `permute` it first" : "cast it first",
               {tracer.noteOn(0), tracer.noteOn(number)});
  return false;
}

namespace {
struct Rows {
  const char *name;
  Expr dim, into;
  bool descending;
  std::string tag;
};
} // namespace

static std::vector<Value> ordered(const Rows &rows, const Value &keys, const std::vector<Value> &payloads,
                                  const Place &place) {
  std::vector<Value> operands{keys};
  operands.insert(operands.end(), payloads.begin(), payloads.end());
  Tracer tracer(rows.name, place, operands);
  bool good = tracer.ok() && checkKeys(tracer, rows.dim);
  for (size_t k = 1; good && k != operands.size(); ++k)
    good = checkPayload(tracer, k);
  std::vector<TileInfo> results;
  for (size_t k = 0; good && k != operands.size(); ++k) {
    results.push_back(tracer.tile(k));
    std::replace(results.back().dims.begin(), results.back().dims.end(), rows.dim, rows.into);
  }
  if (!good ||
      !checkDims(tracer.program(), DiagId::TileDims, "the result of " + quoted(rows.name), results[0].dims, place))
    return std::vector<Value>(operands.size(), tracer.poison());
  OpRecord op{.kind = OpKind::sort,
              .function = rows.descending ? "descending" : "ascending",
              .dims = {rows.into},
              .expr = rows.dim};
  return tracer.recordAll(std::move(op), std::move(results), rows.tag);
}

/// The keys and their places.
static Sorted withPlaces(const Rows &rows, const Value &source, const Place &place) {
  Tracer tracer(rows.name, place, {source});
  if (!tracer.ok() || !checkKeys(tracer, rows.dim))
    return {tracer.poison(), tracer.poison()};
  std::vector<Expr> dims = tracer.tile(0).dims;
  Value places = Kernel(source.program()).self_index(rows.dim, i32, {}, place);
  if (dims.size() > 1)
    places = broadcast(places, dims, {}, place);
  std::vector<Value> results = ordered(rows, source, {places}, place);
  return {results[0], results[1]};
}

Sorted lang::sort(const Value &source, Expr dim, SortOptions options, Place place) {
  return withPlaces({"sort", dim, dim, options.descending, options.tag}, source, place);
}
std::vector<Value> lang::sort_by(const Value &keys, const std::vector<Value> &payloads, Expr dim, SortOptions options,
                                 Place place) {
  return ordered({"sort_by", dim, dim, options.descending, options.tag}, keys, payloads, place);
}
Sorted lang::topk(const Value &source, Expr k_dim, Expr dim, TopkOptions options, Place place) {
  return withPlaces({"topk", dim, k_dim, options.largest, options.tag}, source, place);
}
std::vector<Value> lang::topk_by(const Value &keys, const std::vector<Value> &payloads, Expr k_dim, Expr dim,
                                 TopkOptions options, Place place) {
  return ordered({"topk_by", dim, k_dim, options.largest, options.tag}, keys, payloads, place);
}
