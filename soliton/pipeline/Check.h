//===- Check.h - What a declaration gets wrong -------------------------------------===//
//
// Before anything is ordered: every op has a cost, both halves are the same but for their stage and tile, everything
// that is read is written by some op, loads and fragments name the stage that their K tile lies in, and building the
// body lost nothing.
//
//   pipeline.cpp:31:9: error: `MMA[0,1]` reads `fragB1`, which no op writes [pipeline-operand-missing]
//     hint: declare the op that fills it
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/PipelineSchedule.h"

namespace soliton::pipe {

/// Errors of the ops that a pipeline declares and of the body that it builds of them.
std::vector<Diagnostic> checkDeclaration(const PipelineSchedule &pipeline, std::span<const OpDesc> body);

} // namespace soliton::pipe
