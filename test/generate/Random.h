//===- Random.h - A kernel from a seed ------------------------------------------------------===//
//
// Random, well-typed kernels with one meaning: every element is written by one workgroup, nothing is read that another
// workgroup writes, and data are small integers wherever an order of summation could show. Each choice has a name, a
// *feature*; campaigns count pairs of them, and can leave some out:
//
//   Program program = randomProgram(17, {.without = {"mma", "type.f8"}});
//   program.features == {"dims.2", "type.f16", "workgroup", "read.permuted", …}
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Program.h"

namespace soliton::generate {

struct RandomOptions {
  /// Prefixes of features that are not to be used.
  std::vector<std::string> without = {};
  /// If not empty: prefixes of all features that may be used (besides the plainest choice of each kind).
  std::vector<std::string> only = {};
};

/// The same for the same seed and options, everywhere.
Program randomProgram(uint64_t seed, const RandomOptions &options = {});

/// Drops what nothing uses: values, memories, dimensions and their constraints.
void prune(Program &program);

} // namespace soliton::generate
