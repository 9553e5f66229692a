//===- Entries.h - The kernels by name, for the registry ---------------------------===//
#pragma once

#include "kernels/Kernels.h"

namespace soliton::kernels {

/// BLOCK_M rows a workgroup; a loop walks the columns. WAVES_M waves share the rows, WAVES_N waves each row.
std::vector<Constraint> rowsInLoops();
/// The tiles of kernels with these constraints: four waves share the rows.
std::vector<DefaultSize> rowTiles();

/// Tiles of BLOCK_M × BLOCK_N, WAVES_M by WAVES_N waves; a loop walks K. The matrix instruction is the target's.
std::vector<Constraint> productTiles(bool batched, TilingOptions loop = {});

/// The elements of an operand by their strides.
struct Operand2d {
  const double *values;
  size_t row, k;
};
/// One product, row-major [M, N], with 2·K·u·Σ|a||b| for its error, and what short sums lose.
void addProduct(const Operand2d &a, const Operand2d &b, size_t rows, size_t columns, size_t depth, double *values,
                double *errors, const ShortSums &shortSums = {});

const KernelEntry &copyEntry();
const KernelEntry &transposeEntry();
const KernelEntry &axpyEntry();
const KernelEntry &geluEntry();
const KernelEntry &rowSumEntry();
const KernelEntry &rowCumsumEntry();
const KernelEntry &rowArgmaxEntry();
/// Those that share a text, or most of one.
const std::vector<KernelEntry> &choiceEntries();
const std::vector<KernelEntry> &softmaxEntries();
const std::vector<KernelEntry> &normEntries();
const std::vector<KernelEntry> &normBackwardEntries();
const std::vector<KernelEntry> &ropeEntries();
const std::vector<KernelEntry> &gemmEntries();
const std::vector<KernelEntry> &gridEntries();
const std::vector<KernelEntry> &weightEntries();
const std::vector<KernelEntry> &scaledEntries();
const std::vector<KernelEntry> &convolutionEntries();
const std::vector<KernelEntry> &attentionEntries();
const std::vector<KernelEntry> &attentionBackwardEntries();
const std::vector<KernelEntry> &attentionDecodeEntries();
const std::vector<KernelEntry> &moeEntries();
const std::vector<KernelEntry> &samplingEntries();

} // namespace soliton::kernels
