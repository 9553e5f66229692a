//===- Rearrange.cpp - The elements of a tile under other dimensions --------------------===//
//
// Types and checks of what moves elements without computing: all of it on the tile that a workgroup holds, counted from
// the tile's beginning.
//
//   reshape(x, {H, D})                     [N] -> [H, D], row-major order kept
//   slice(x, N, H, {.start = 16})          [M, N] -> [M, H], element h is 16 + h
//   extract(x, N, 3)                       [M, N] -> [M]
//   concatenate({{a, A}, {b, B}}, N)       [M, A], [M, B] -> [M, N]
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/Tracer.h"

#include "soliton/frontend/Ops.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::frontend;

static Expr placeSymbol(size_t k) {
  return Expr::symbol("$index" + std::to_string(k));
}

Value lang::reshape(const Value &value, std::vector<Expr> dims, OpOptions options, Place place) {
  Tracer tracer("reshape", place, {value});
  if (!tracer.ok() || !checkDims(tracer.program(), DiagId::ReshapeDims, "the result of `reshape`", dims, place))
    return tracer.poison();
  if (dims == tracer.tile(0).dims)
    return value;
  return tracer.record({.kind = OpKind::rearrange}, {std::move(dims), tracer.tile(0).type}, options.tag);
}

/// The position of `dim` in the tile; reports one that is not there.
static std::optional<size_t> findDim(Tracer &tracer, Expr dim) {
  const std::vector<Expr> &dims = tracer.tile(0).dims;
  auto at = std::find(dims.begin(), dims.end(), dim);
  if (at != dims.end())
    return static_cast<size_t>(at - dims.begin());
  tracer.error(DiagId::SliceDims,
               quoted(tracer.what()) + " along " + quoted(dim) + ", but the tile has the dimensions " +
                   quoted(frontend::toString(dims)),
               "", {tracer.noteOn(0)});
  return std::nullopt;
}

Value lang::slice(const Value &value, Expr dim, Expr into, SliceOptions options, Place place) {
  Tracer tracer("slice", place, {value});
  if (!tracer.ok() || !tracer.checkDefined("the start", options.start) ||
      !tracer.checkDefined("the stride", options.stride))
    return tracer.poison();
  std::optional<size_t> at = findDim(tracer, dim);
  if (!at)
    return tracer.poison();
  TileInfo result = tracer.tile(0);
  result.dims[*at] = into;
  if (!checkDims(tracer.program(), DiagId::SliceDims, "the result of `slice`", result.dims, place))
    return tracer.poison();
  std::vector<Expr> indices;
  for (size_t k = 0; k != result.dims.size(); ++k)
    indices.push_back(k == *at ? options.start + options.stride * placeSymbol(k) : placeSymbol(k));
  OpRecord op{.kind = OpKind::rearrange, .indices = std::move(indices)};
  return tracer.record(std::move(op), std::move(result), options.tag);
}

Value lang::extract(const Value &value, Expr dim, Expr at, OpOptions options, Place place) {
  Tracer tracer("extract", place, {value});
  if (!tracer.ok() || !tracer.checkDefined("the place", at))
    return tracer.poison();
  std::optional<size_t> gone = findDim(tracer, dim);
  if (!gone)
    return tracer.poison();
  TileInfo result = tracer.tile(0);
  result.dims.erase(result.dims.begin() + static_cast<ptrdiff_t>(*gone));
  std::vector<Expr> indices;
  for (size_t k = 0; k != result.dims.size() + 1; ++k)
    indices.push_back(k == *gone ? at : placeSymbol(k - (k > *gone ? 1 : 0)));
  OpRecord op{.kind = OpKind::rearrange, .indices = std::move(indices)};
  return tracer.record(std::move(op), std::move(result), options.tag);
}

/// The dimensions of a piece with `into` in the place of the one along which it lies.
static std::vector<Expr> dimsInto(std::vector<Expr> dims, Expr along, Expr into) {
  std::replace(dims.begin(), dims.end(), along, into);
  return dims;
}

Value lang::concatenate(const std::vector<Piece> &pieces, Expr into, OpOptions options, Place place) {
  std::vector<Value> values;
  OpRecord op{.kind = OpKind::concatenate, .expr = into};
  for (const Piece &piece : pieces) {
    values.push_back(piece.value);
    op.dims.push_back(piece.dim);
  }
  Tracer tracer("concatenate", place, values);
  if (!tracer.ok())
    return tracer.poison();
  TileInfo result{dimsInto(tracer.tile(0).dims, op.dims[0], into), tracer.tile(0).type};
  if (!checkDims(tracer.program(), DiagId::ConcatenatePieces, "the result of `concatenate`", result.dims, place))
    return tracer.poison();
  for (size_t k = 0; k != values.size(); ++k) {
    const TileInfo &tile = tracer.tile(k);
    bool lies = hasDim(tile.dims, op.dims[k]) && hasDim(result.dims, into);
    if (lies && tile.type == result.type && dimsInto(tile.dims, op.dims[k], into) == result.dims)
      continue;
    tracer.error(DiagId::ConcatenatePieces,
                 "piece " + std::to_string(k) + " of `concatenate` is " + quoted(frontend::toString(tile)) +
                     " and lies along " + quoted(op.dims[k]) + ", expected " + quoted(frontend::toString(result)) +
                     " with that dimension in the place of " + quoted(into),
                 "`permute` or `cast` it first", {tracer.noteOn(0), tracer.noteOn(k)});
    return tracer.poison();
  }
  return tracer.record(std::move(op), std::move(result), options.tag);
}
