//===- Rope.cpp - Rotary position embedding --------------------------------------------------===//
//
// Pairs of elements of each row are rotated by an angle that depends on the row's place and the pair, given as tables
// of cosines and sines. A pair is an element and the one half a row away, or two neighbours; which of both it is, is a
// mapping of the second read:
//
//   y = x * cos + other(x) * sin,   other(x)[d] = d < D/2 ? -x[d + D/2] : x[d - D/2]
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

#include <cmath>

using namespace soliton;
using namespace soliton::kernels;

namespace {

Kernel buildRope(const std::string &name, bool neighbours, const Variant &variant) {
  auto [B, S, H, D, BS] = symbols<"B S H D BLOCK_S">();
  Expr half = sym::floordiv(D, 2);
  Kernel rope{name,
              {WorkgroupConstraint(S, BS, 0), WorkgroupConstraint(H, 1, 1), WorkgroupConstraint(B, 1, 2),
               WaveConstraint(S, BS / 4), Assumption(sym::eq(sym::mod(D, 2), 0)), HardwareConstraint{}}};
  auto x = rope.memory("x", {B, S, H, D}, global, variant.input);
  auto cosines = rope.memory("cos", {S, half}, global, f32), sines = rope.memory("sin", {S, half}, global, f32);
  auto y = rope.memory("y", {B, S, H, D}, global, variant.output);

  std::vector<Expr> tile{B, S, H, D}, table{S, D};
  Expr place = placeIn(tile, D);
  Expr other = neighbours ? place + 1 - 2 * sym::mod(place, 2) : sym::mod(place + half, D);
  IndexMapping paired =
      mappingOf(tile, {{B, placeIn(tile, B)}, {S, placeIn(tile, S)}, {H, placeIn(tile, H)}, {D, other}});
  Expr pair = neighbours ? sym::floordiv(placeIn(table, D), 2) : sym::mod(placeIn(table, D), half);
  IndexMapping ofPair = mappingOf(table, {{S, placeIn(table, S)}, {half, pair}});

  // The first of a pair takes its partner with a minus.
  Value isSecond =
      apply_expr(rope.self_index(D), [&](Expr d) { return neighbours ? sym::mod(d, 2) : sym::floordiv(d, half); });
  Value partner = cast(read(x, {.mapping = paired, .tag = "read_partner"}), f32);
  Value turned = select(isSecond > 0, partner, -partner);
  Value own = cast(read(x, {.tag = "read_x"}), f32);
  write(own * read(cosines, {.mapping = ofPair}) + turned * read(sines, {.mapping = ofPair}), y, {.tag = "write_y"});
  return rope;
}

Expected ropeReference(bool neighbours, const Problem &problem) {
  int64_t depth = problem.size("D"), heads = problem.size("H"), places = problem.size("S"), half = depth / 2;
  const std::vector<double> &x = problem["x"].values;
  std::vector<double> values(x.size()), errors(x.size());
  for (size_t row = 0; row != x.size() / static_cast<size_t>(depth); ++row) {
    size_t place = row / static_cast<size_t>(heads) % static_cast<size_t>(places);
    for (int64_t p = 0; p != half; ++p) {
      size_t base = row * static_cast<size_t>(depth), at = place * static_cast<size_t>(half) + static_cast<size_t>(p);
      size_t first = base + static_cast<size_t>(neighbours ? 2 * p : p);
      size_t second = base + static_cast<size_t>(neighbours ? 2 * p + 1 : p + half);
      double c = problem["cos"].values[at], s = problem["sin"].values[at];
      values[first] = x[first] * c - x[second] * s;
      values[second] = x[second] * c + x[first] * s;
      errors[first] = 3 * kF32Roundoff * (std::abs(x[first] * c) + std::abs(x[second] * s));
      errors[second] = 3 * kF32Roundoff * (std::abs(x[second] * c) + std::abs(x[first] * s));
    }
  }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/true);
}

KernelEntry entryOf(std::string name, std::string description, bool neighbours) {
  return {.name = name,
          .family = "rope",
          .description = std::move(description),
          .sizes = {{"B", 1}, {"S", 256}, {"H", 4}, {"D", 64}},
          .fixedSizes = {"D"},
          .tiles = {{"BLOCK_S", 32}},
          .variants = {{"f16", f16, f16}, {"bf16", bf16, bf16}, {"f32", f32, f32}},
          .arguments = [](const Variant &variant) -> std::vector<ArgumentInfo> {
            return {{"x", {"B", "S", "H", "D"}, variant.input},
                    {"cos", {"S", "floordiv(D, 2)"}, f32},
                    {"sin", {"S", "floordiv(D, 2)"}, f32},
                    {"y", {"B", "S", "H", "D"}, variant.output, true}};
          },
          .build = [name, neighbours](const Variant &variant) { return buildRope(name, neighbours, variant); },
          .reference = [neighbours](const Problem &problem) { return ropeReference(neighbours, problem); }};
}

} // namespace

const std::vector<KernelEntry> &kernels::ropeEntries() {
  static const std::vector<KernelEntry> entries{
      entryOf("rope", "y[B, S, H, D]: x[d] and x[d + D/2] rotated by cos[S, D/2], sin[S, D/2]", false),
      entryOf("rope_interleaved", "y[B, S, H, D]: x[2d] and x[2d + 1] rotated by cos[S, D/2], sin[S, D/2]", true)};
  return entries;
}
