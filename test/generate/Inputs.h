//===- Inputs.h - What a generated kernel is given, and whether two results are one ------------===//
//
//   std::optional<std::string> wrong = difference(program, found, expected);   // "`m1[0, 2]` is 3, expected 4"
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Program.h"

#include <map>

namespace soliton::generate {

using Bytes = std::vector<uint8_t>;

/// The arguments as a launch gets them: memories in order, then scalars. The same for the same program.
std::vector<Bytes> inputsOf(const Program &program);

/// The sizes that a launch says.
std::map<std::string, int64_t> dynamicSizes(const Program &program);

/// Whether some memory allows for units in the last place.
bool mayDiffer(const Program &program);

/// The first element in which two results differ; nothing if they agree. NaN equals NaN, and where a memory allows for
/// units in the last place they are allowed.
std::optional<std::string> difference(const Program &program, const std::vector<Bytes> &found,
                                      const std::vector<Bytes> &expected, bool mayFuse = false);

} // namespace soliton::generate
