//===- Entries.h - The kernels by name, for the registry ---------------------------===//
#pragma once

#include "kernels/Kernels.h"

namespace soliton::kernels {

const KernelEntry &copyEntry();
const KernelEntry &transposeEntry();
const KernelEntry &axpyEntry();
const KernelEntry &geluEntry();
const KernelEntry &rowSumEntry();
const KernelEntry &rowSoftmaxEntry();
const KernelEntry &gemmEntry();
const KernelEntry &gemmNnEntry();

} // namespace soliton::kernels
