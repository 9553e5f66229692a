//===- LaunchInfo.h - What a launch must know, read off the kernel ----------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"
#include "soliton/runtime/KernelImage.h"

namespace soliton {

/// Name, target, arguments, symbols, grid, threads and checks of a kernel whose symbols are bound; no code yet.
rt::KernelImage describeLaunch(wave::KernelOp kernel, const Geometry &geometry);

} // namespace soliton
