//===- ServiceWaves.h - What the registers of a workgroup with service waves are -----===//
//
// A workgroup that has a group of waves for copies begins with as many registers for each wave as all of them can have.
// Those that copy give most of theirs away, those that compute take them. With eight waves that compute, two on each
// SIMD, and four that serve:
//
//   at entry    512 / 3, in steps of 8          168
//   computing   (3 · 168 - 32) / 2, likewise    232
//   copying     3 · 168 - 2 · 232                40
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"

namespace soliton {

/// Registers of a lane by what its wave does.
struct ServiceRegisters {
  int64_t atEntry = 0, computing = 0, copying = 0;

  /// Whether waves exchange registers at all: groups of four do, of which each SIMD has one wave.
  bool change() const { return computing != atEntry; }
};

/// Whether those that compute and those that copy are groups between which registers change hands.
bool mayExchangeRegisters(const Geometry &geometry);

/// Of a kernel with service waves. Those that copy keep as many as the kernel says, or as few as copies need.
ServiceRegisters registersWithService(const Geometry &geometry);

} // namespace soliton
