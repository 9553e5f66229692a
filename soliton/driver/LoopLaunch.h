//===- LoopLaunch.h - What a kernel and its sizes say of a launch -------------------------===//
//
// Before anything runs: how many workgroups there will be, how often a loop of theirs runs, and at which sizes the same
// kernel is small enough to be emulated. Sizes that are known only at launch count as well, where `bound` says them.
//
//   launchOf(&attention, compiled, loop, {{KV, 512}, …})     128 workgroups of 4 waves, 8 iterations
//   smallSizes(gemm, {{M, 4096}, {BM, 128}, …}, 13)         M 141, N 141, K 205: six iterations, and a ragged rest
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Compile.h"
#include "soliton/schedule/LoopCost.h"

#include <map>

namespace soliton {

/// How a loop of the compiled kernel would be launched; 0 where that is not known now. Without the
/// kernel (a module's text) nobody knows its iterations.
sched::Launch launchOf(const Kernel *kernel, const CompileResult &compiled, const sched::LoopReport &loop,
                       const lang::Substitutions &bound);

/// Tiles that the kernel's workgroups have to compute; 0 where that is not known now. A launch with fewer workgroups
/// walks them.
int64_t tilesOf(const Kernel &kernel, const lang::Substitutions &bound);

/// Of the workgroups of a launch; equal unless a workgroup's number decides.
struct Iterations {
  /// Rounded up.
  int64_t mean = 0;
  int64_t most = 0;
};

/// Iterations of the loop along the dimension of that name: where data decide, as many as the whole dimension has; 0
/// where that is not known now.
Iterations iterationsOf(const Kernel &kernel, std::string_view loop, const lang::Substitutions &bound);

/// The number that an expression comes to, if symbols that are bound give one.
std::optional<int64_t> valueOf(sym::Expr formula, const lang::Substitutions &bound);

/// The least sizes that show what large ones would: six iterations of every loop, one tile of a workgroup, and `more`
/// elements beside, which no tile fills. Dimensions that nothing tiles keep their size, and none grows.
std::map<std::string, int64_t> smallSizes(const Kernel &kernel, const lang::Substitutions &bound, int64_t more);

} // namespace soliton
