//===- LaneFunction.h - Small functions of lane and wave --------------------------===//
//
// What plans say about lanes: base + sum of scale * (digit xor flip), digit = (position / divisor) mod extent. The lane
// that a butterfly with mask 16 reads on 64 lanes is one term: extent 64, scale 1, flip 16.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"

namespace soliton {

struct LaneFunction {
  struct Term {
    Axis axis = Axis::lane; // lane or wave
    int64_t divisor = 1;
    int64_t extent = 2;
    int64_t scale = 1;
    /// 0 unless the extent is a power of two.
    int64_t flip = 0;
    bool operator==(const Term &) const = default;
  };
  int64_t base = 0;
  std::vector<Term> terms;

  int64_t operator()(int64_t lane, int64_t wave) const;
  bool isConstant() const { return terms.empty(); }
  /// The mask where the function is `lane xor mask` for that many lanes (0: the own lane), else nothing.
  std::optional<int64_t> xorMask(int64_t lanes) const;
  /// Terms sorted by axis and divisor, neighbours merged.
  LaneFunction canonical() const;
  bool operator==(const LaneFunction &) const = default;
};

} // namespace soliton
