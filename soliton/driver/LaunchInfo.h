//===- LaunchInfo.h - What a launch must know, read off the kernel ----------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"
#include "soliton/ir/Machine.h"
#include "soliton/runtime/KernelImage.h"

namespace soliton {

/// Name, target, arguments, symbols, grid, threads and checks of a kernel whose symbols are bound; no code yet.
rt::KernelImage describeLaunch(wave::KernelOp kernel, const Geometry &geometry);

/// Adds what the lowered kernel's addresses rely on to what launches check.
void addLimits(rt::KernelImage &image, machine::KernelOp kernel);

} // namespace soliton
