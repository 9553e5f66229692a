//===- Roles.h - Which waves issue what, and who walks tiles -----------------------===//
//
// Most of a schedule is about one loop. Two things that it may say are about the whole workgroup: that waves of their
// own issue some of its ops, and that a launch has only so many workgroups, each of which walks several tiles.
//
//   s.specialize({"read_a", "read_b"}, {.waves = 4, .registers = 40});     four waves copy, the others compute
//   s.persistent(132, {.overlap_tiles = true});
//
// There is one role beside that of the waves that compute: one lane of it asks for copies of boxes, so that nothing but
// those can be said of it, and all of the loop's, since who copies is counted once for the kernel. Its program, what
// it waits for and what it awaits follow from the loop's (transforms/LowerService.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/ByRole.h"

namespace soliton::sched {

struct Roles {
  /// Waves beside those that compute; 0: nothing is said.
  int copyingWaves = 0;
  /// What each of their lanes keeps of its registers; 0: what copies need at the least.
  int copyingRegisters = 0;
  /// A launch has no more workgroups than these; 0: nothing is said.
  int workgroups = 0;
  /// Waves that are done with a tile go on to the next one while others are at theirs.
  bool overlapTiles = false;
  /// Waves that compute: what the kernel has, known once it holds.
  int computingWaves = 0;
  /// Where they are said.
  Place copyingPlace, workgroupsPlace;

  Crew crew() const { return {copyingWaves, computingWaves}; }
  /// Nothing of `said` is missing here or different.
  bool hold(const Roles &said) const;
};

/// The loop's copies of boxes, in the order of the source.
std::vector<int> copiesOfBoxes(const Problem &problem);

/// What is wrong with a role of so many waves that issues these ops of the loop.
std::vector<Diagnostic> checkRole(const Problem &problem, const std::vector<int> &ops, int waves, int registers,
                                  const Place &place);
/// What is wrong with so many workgroups that walk.
std::optional<Diagnostic> checkWorkgroups(int64_t workgroups, const Place &place);

} // namespace soliton::sched
