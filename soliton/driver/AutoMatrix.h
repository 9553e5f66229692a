//===- AutoMatrix.h - Tiles of kernels that wait for matrix units ----------------------===//
//
// What `schedule = auto` takes for kernels with matrix products in a loop that left their tiles open, by tables:
//
//   products   one product, or several of one left factor (AutoProducts.cpp)
//   chains     products of which later ones take what was computed from earlier ones: attention (AutoChains.cpp)
//
//   gemm, M = N = K = 8192:   BLOCK_M = 128, BLOCK_N = 256, BLOCK_K = 64, 132 workgroups that walk tiles, in a ring
//
// Each row of a table that fits is a choice, and so is it with what was measured to make it faster; the best one that
// compiles is taken.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Auto.h"
#include "soliton/frontend/Program.h"
#include "soliton/target/Target.h"

#include <algorithm>

namespace soliton {

/// What a choice is held to be worth, and the choice.
using AutoRow = std::pair<double, AutoChoice>;

/// Nothing where the kernel has no such product.
std::optional<std::vector<AutoRow>> chooseProducts(const frontend::Program &program, const CompileOptions &options,
                                                   const Target &target);
std::vector<AutoRow> chooseChains(const frontend::Program &program, const CompileOptions &options,
                                  const Target &target);

/// Waves of a group: with them comes one wave for each SIMD, whose registers the others take.
inline constexpr int64_t kServiceWaves = 4;
/// How much faster tiles are that overlap (docs/decisions/0062-lanes-meet-again.md).
inline constexpr double kOverlapping = 1.01;

/// Whether a copying wave, which has none of the program's values, can follow it: nothing is a number from data.
inline bool canBeServed(const frontend::Program &program, const CompileOptions &options) {
  bool saidNone = options.serviceWaves && *options.serviceWaves == 0;
  return !saidNone && options.cluster <= 1 && std::ranges::none_of(program.ops, [](const frontend::OpRecord &op) {
    return op.kind == frontend::OpKind::indexOf || op.kind == frontend::OpKind::exit;
  });
}

/// The same with tiles that overlap; nothing where none follows another one, or the author said whether they do.
inline std::optional<AutoRow> overlapping(const AutoRow &row) {
  const CompileOptions &options = row.second.options;
  if (options.overlapTiles || options.persistent == 0 || !options.workgroupsPerCluster.empty())
    return std::nullopt;
  AutoRow faster = row;
  faster.first *= kOverlapping;
  faster.second.options.overlapTiles = true;
  faster.second.why += ", tiles overlap";
  return faster;
}

} // namespace soliton
