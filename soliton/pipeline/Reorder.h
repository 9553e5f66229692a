//===- Reorder.h - From a declaration to a body that overlaps ----------------------===//
//
//   single buffer   LD ST BAR F0 F1 C0 C1      becomes   F1 C0 BAR ST LD C1 BAR F0
//   double buffer   loads, frags, computes     becomes   FB FA LA M00 | FB LA M01 | FA LB M10 | LB M11, in each half
//
// A load for which no block has room is left out; checkDeclaration() (Check.h) reports what a body lost.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Order.h"

namespace soliton::pipe {

/// Fragments of the next tile behind the second barrier, its stores and loads between the two, computes around them.
std::vector<OpDesc> singleBufferReorder(std::span<const OpDesc> ops, const PipelineConfig &config);

/// One half: in front of each compute op the fragments it is the first to need, then as many loads as its block takes.
std::vector<OpDesc> interleaveBlocks(std::span<const OpDesc> half, const PipelineConfig &config);

/// Both halves.
std::vector<OpDesc> doubleBufferReorder(std::span<const OpDesc> ops, const PipelineConfig &config);

/// The best order of each run of ops between barriers.
std::vector<OpDesc> optimizeWithinBarriers(std::span<const OpDesc> body, const PipelineConfig &config);

} // namespace soliton::pipe
