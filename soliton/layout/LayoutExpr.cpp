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

std::map<Dim, Expr> swizzledExpr(const SharedMap &map, std::map<Dim, Expr> place) {
  const Swizzle &swizzle = map.swizzle;
  if (swizzle.phases <= 1)
    return place;
  // Phases are powers of two and divide the chunks of a panel: chunks stay inside theirs.
  Expr column = at(place, map.dims.back().dim);
  Expr phase = mod(floordiv(rowExpr(map, place), swizzle.rowsPerPhase), swizzle.phases);
  Expr chunk = bitXor(floordiv(column, swizzle.chunk), phase);
  place.insert_or_assign(map.dims.back().dim, chunk * swizzle.chunk + mod(column, swizzle.chunk));
  return place;
}

Expr offsetExpr(const SharedMap &map, const std::map<Dim, Expr> &coordinate) {
  std::map<Dim, Expr> place = swizzledExpr(map, coordinate);
  Expr row = rowExpr(map, place);
  Expr column = map.dims.empty() ? Expr(0) : at(place, map.dims.back().dim);
  bool panels = hasPanels(map);
  Expr inside = panels ? mod(column, map.panel) : column;
  Expr line = panels ? floordiv(column, map.panel) * map.rows() + row : row;
  return line * map.pitch() + inside;
}

} // namespace soliton
