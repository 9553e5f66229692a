//===- Priority.h - Whether waves can be told who goes first ---------------===//
//
// Of machines without such an instruction a schedule's `priority` is nothing; who searches need not try it there.
//
//   if (hasWavePriority(*findTarget("gfx942"))) …
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/target/Target.h"

namespace soliton {

/// A wave may ask to be issued before others of its SIMD (`s_setprio`).
bool hasWavePriority(const Target &target);

} // namespace soliton
