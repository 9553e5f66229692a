#include "soliton/layout/LayoutExpr.h"

namespace soliton {
using sym::Expr;

Expr digitsExpr(const Digits &digits, Dim dim, Expr position) {
  Digits form = canonical(digits);
  int64_t total = countOf(form), weight = 1;
  Expr result = 0;
  for (const Digit &digit : form) {
    if (digit.dim == dim) {
      Expr value = weight == 1 ? position : floordiv(position, weight);
      if (weight * digit.extent != total)
        value = mod(value, digit.extent);
      result = result + value * digit.stride;
    }
    weight *= digit.extent;
  }
  return result;
}

Expr coordinateExpr(const Layout &layout, Dim dim, int64_t reg, Expr lane, Expr wave) {
  int64_t fixed = layout.coordinate(dim, reg, 0, 0);
  return digitsExpr(layout.lane, dim, lane) + digitsExpr(layout.wave, dim, wave) + Expr(fixed);
}

Expr laneExpr(const LaneFunction &function, Expr lane, Expr wave) {
  Expr result = function.base;
  for (const LaneFunction::Term &term : function.terms) {
    Expr digit = term.axis == Axis::lane ? lane : wave;
    if (term.divisor != 1)
      digit = floordiv(digit, term.divisor);
    digit = mod(digit, term.extent);
    if (term.flip != 0)
      digit = bitXor(digit, term.flip);
    result = result + digit * term.scale;
  }
  return result;
}

Expr sourceLaneExpr(const LaneStep &step, Expr lane) {
  if (step.kind == LaneStep::Kind::butterfly)
    return bitXor(lane, step.mask);
  Expr digit = mod(floordiv(lane, step.divisor), step.extent);
  Expr wanted = step.kind == LaneStep::Kind::broadcast ? Expr(0) : mod(digit + step.shift, step.extent);
  return lane + (wanted - digit) * step.divisor;
}

static Expr at(const std::map<Dim, Expr> &coordinate, Dim dim) {
  auto found = coordinate.find(dim);
  return found == coordinate.end() ? Expr(0) : found->second;
}

/// The number of the row that the coordinates lie in: all dims but the fastest.
static Expr rowExpr(const SharedMap &map, const std::map<Dim, Expr> &coordinate) {
  Expr row = 0;
  for (size_t i = 0; i + 1 < map.dims.size(); ++i)
    row = row * map.dims[i].extent + at(coordinate, map.dims[i].dim);
  return row;
}

static bool hasPanels(const SharedMap &map) {
  return map.panel > 0 && map.panel != map.dims.back().extent;
}

static Expr phaseExpr(const Swizzle &swizzle, const Expr &row) {
  Expr phase = mod(floordiv(row, swizzle.rowsPerPhase), swizzle.phases);
  if (swizzle.farPhases > 1)
    phase = phase + mod(floordiv(row, swizzle.farRowsPerPhase), swizzle.farPhases) * swizzle.phases;
  return phase;
}

/// The place in a line of several rows, in chunks, of what the coordinates name.
static Expr chunkInLine(const SharedMap &map, const std::map<Dim, Expr> &place) {
  Expr row = mod(at(place, map.dims[map.dims.size() - 2].dim), map.rowsPerLine());
  Expr chunk = row * map.chunksPerRow() + floordiv(at(place, map.dims.back().dim), map.swizzle.chunk);
  return bitXor(chunk, phaseExpr(map.swizzle, rowExpr(map, place)));
}

std::map<Dim, Expr> swizzledExpr(const SharedMap &map, std::map<Dim, Expr> place) {
  const Swizzle &swizzle = map.swizzle;
  if (!map.isSwizzled())
    return place;
  Dim fastest = map.dims.back().dim;
  Expr column = at(place, fastest), inside = mod(column, swizzle.chunk);
  if (int64_t rows = map.rowsPerLine(); rows > 1) {
    Dim next = map.dims[map.dims.size() - 2].dim;
    Expr chunk = chunkInLine(map, place);
    place.insert_or_assign(next, floordiv(at(place, next), rows) * rows + floordiv(chunk, map.chunksPerRow()));
    place.insert_or_assign(fastest, mod(chunk, map.chunksPerRow()) * swizzle.chunk + inside);
    return place;
  }
  // Phases are powers of two and divide the chunks of a panel: chunks stay inside theirs.
  Expr chunk = bitXor(floordiv(column, swizzle.chunk), phaseExpr(swizzle, rowExpr(map, place)));
  place.insert_or_assign(fastest, chunk * swizzle.chunk + inside);
  return place;
}

Expr offsetExpr(const SharedMap &map, const std::map<Dim, Expr> &coordinate) {
  if (int64_t rows = map.rowsPerLine(); rows > 1) // which has neither padding nor panels
    return floordiv(rowExpr(map, coordinate), rows) * (rows * map.pitch()) +
           chunkInLine(map, coordinate) * map.swizzle.chunk +
           mod(at(coordinate, map.dims.back().dim), map.swizzle.chunk);
  std::map<Dim, Expr> place = swizzledExpr(map, coordinate);
  Expr row = rowExpr(map, place);
  Expr column = map.dims.empty() ? Expr(0) : at(place, map.dims.back().dim);
  bool panels = hasPanels(map);
  Expr inside = panels ? mod(column, map.panel) : column;
  Expr line = panels ? floordiv(column, map.panel) * map.rows() + row : row;
  return line * map.pitch() + inside;
}

} // namespace soliton
