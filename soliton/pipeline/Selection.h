//===- Selection.h - Which instructions of a kernel an op stands for ---------------===//
//
// An op of a declaration is coarse. In a kernel that exists it is a set of instructions, found by where they come from:
// the op of the kernel's author (its tag), what they do (role), and which pieces of the tile they are about.
//
//   LOAD_A[s1,0]       {"read_a", GlobalLoad, feeds {"read_a", FragmentLoad, M 0 of 2}}    copies of rows that fragment
//                                                                                         0 of some wave reads
//   MMA_LOAD_A[s1,0]   {"read_a", FragmentLoad, M 0 of 2}
//   MMA[0,1]           {"mma", Compute, M 0 of 2, N 1 of 2}
//
// tileSelections() is that reading of channel, stage and subtile; a pipeline of another kind says its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Config.h"

namespace soliton::pipe {

/// One of `of` equal parts of the pieces along a dimension of the kernel. A piece is what one instruction of a wave is
/// about, so parts are parts of what each wave holds.
struct Part {
  std::string dim;
  int index = 0;
  int of = 1;

  bool operator==(const Part &) const = default;
};

struct Selection {
  /// The op of the kernel: `read(a, {.tag = "read_a"})`. Empty: whatever has that role and is selected by no tag.
  std::string tag;
  /// What its instructions do; None: what the pipeline's op does.
  OpRole role = OpRole::None;
  std::vector<Part> parts = {};
  /// Only those that one of these needs.
  std::vector<Selection> feeds = {};

  bool operator==(const Selection &) const = default;
};

/// The tags of a kernel that multiplies.
struct ProductTags {
  std::array<std::string, 2> operands = {"read_a", "read_b"};
  std::string mma = "mma";
};

/// A matrix product through staged tiles: fragments are parts of their operand along M or N, compute ops the quadrants
/// of both, loads the rows that the fragments of their subtile read.
std::vector<Selection> tileSelections(const OpDesc &op, const PipelineConfig &config, const ProductTags &tags = {});

} // namespace soliton::pipe
