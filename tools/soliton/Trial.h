//===- Trial.h - Arguments for a kernel, and whether it made of them what it must ------------===//
//
// A result is right if integer-valued inputs give exactly the expected bits and random ones stay within the error
// bound, and if nothing outside of an output was touched: it lies between guard zones and starts as NaN patterns.
//
//   Trial trial = makeTrial(resolved, image, {.seed = 1}, files);
//   std::vector<PlacedArray> …launch…
//   Verdict verdict = judge(resolved, trial, results);
//
// What is expected says, in this order: the library's reference; that of the file's author; the traced program itself.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/soliton/Commands.h"

#include <cstddef>

namespace soliton::cli {

/// Files for arguments, by their names.
using Files = std::map<std::string, std::string>;
/// What `--input` or `--output` says: `a=a.npy`; throws UsageError for anything else.
Files parseFiles(const std::string &option, const std::vector<std::string> &said);
/// The extents of arrays that `.npy` files hold.
GivenShapes shapesOf(const Files &files);

struct Trial {
  kernels::Problem problem;
  /// For each argument its bytes; an output's are patterns that no result has.
  std::vector<std::vector<std::byte>> bytes;
  /// Which of them the kernel writes.
  std::vector<bool> isWritten;
  /// Values of the symbols that no argument binds, in the image's order.
  std::vector<int64_t> symbols;
  /// For each argument how far apart its elements lie along each dimension; empty: row by row without gaps.
  std::vector<std::vector<int64_t>> strides;

  /// Where the elements of argument `i` lie, counted from `data`.
  rt::Tensor view(size_t i, void *data, const rt::DeviceInfo &device) const;
};

/// Drawn, or read from files. Throws UsageError for a size that is missing or unknown, CompileError for a file that
/// does not fit.
Trial makeTrial(const Resolved &resolved, const rt::KernelImage &image, const kernels::ProblemOptions &options,
                const Files &inputs);

struct Verdict {
  kernels::Comparison comparison;
  /// The argument that `comparison` is about.
  std::string argument;
};

/// `results` are the arguments as the kernel left them. Throws CompileError where the program has no meaning.
Verdict judge(const Resolved &resolved, const Trial &trial, const std::vector<std::vector<std::byte>> &results);

/// Writes what arguments hold to files: numpy's where they are called `.npy`, plain bytes otherwise.
void writeResults(const Trial &trial, const std::vector<std::vector<std::byte>> &results, const Files &outputs);

} // namespace soliton::cli
