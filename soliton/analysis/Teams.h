//===- Teams.h - Waves that issue matrix instructions together ---------------------------===//
//
// Neighbouring waves, one on each unit of a compute unit, issue a matrix instruction together. Workgroups that walk
// tiles may have several such *teams*, which nothing keeps in step: while one has its results leave, another
// multiplies.
//
//   12 waves, 4 units      teams 0 to 3, 4 to 7, 8 to 11; team t has rows 64*t to 64*t + 63 of the tile
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"

namespace soliton {

/// Waves of a team, in a kernel whose tiles overlap; nothing where all its waves are one, or no several teams.
inline std::optional<int64_t> teamWavesOf(wave::KernelOp kernel, const Geometry &geometry) {
  int64_t waves = geometry.target().simdsPerComputeUnit, teams = geometry.waveCount() / waves;
  bool areTeams = geometry.waveCount() % waves == 0 && teams > 1 && teams < geometry.target().namedBarriers;
  return kernel.getOverlapTiles() && areTeams ? std::optional(waves) : std::nullopt;
}

} // namespace soliton
