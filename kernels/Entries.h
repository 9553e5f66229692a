//===- Entries.h - The kernels by name, for the registry ---------------------------===//
#pragma once

#include "kernels/Kernels.h"

namespace soliton::kernels {

/// BLOCK_M rows a workgroup, shared by four waves; a loop walks the columns.
std::vector<Constraint> rowsInLoops();

const KernelEntry &copyEntry();
const KernelEntry &transposeEntry();
const KernelEntry &axpyEntry();
const KernelEntry &geluEntry();
const KernelEntry &rowSumEntry();
const KernelEntry &rowCumsumEntry();
const KernelEntry &rowArgmaxEntry();
/// Those that share a text, or most of one.
const std::vector<KernelEntry> &softmaxEntries();
const std::vector<KernelEntry> &normEntries();
const std::vector<KernelEntry> &ropeEntries();
const std::vector<KernelEntry> &gemmEntries();
const std::vector<KernelEntry> &weightEntries();
const std::vector<KernelEntry> &convolutionEntries();
const std::vector<KernelEntry> &attentionEntries();

} // namespace soliton::kernels
