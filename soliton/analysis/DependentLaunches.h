//===- DependentLaunches.h - What a kernel that is launched early may be ----------------------===//
//
// A kernel that is `dependent` begins while launches ahead of it in its stream still run. Its target must have that,
// and memory that its author calls `stable` is written by nobody meanwhile, not by the kernel either:
//
//   gemm.cpp:31:3: error: `b` is stable, and the kernel writes it here [stable-memory]
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"
#include "soliton/target/Target.h"

#include <string>
#include <vector>

namespace soliton {

/// Adds memories to those that the kernel calls stable; reports a name that is none.
LogicalResult addStable(wave::KernelOp kernel, const std::vector<std::string> &names);

/// Reports what cannot be launched early there, and writes of stable memory.
LogicalResult checkDependentLaunch(wave::KernelOp kernel, const Target &target);

} // namespace soliton
