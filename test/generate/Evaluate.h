//===- Evaluate.h - What a generated kernel computes, by plain loops -------------------------===//
//
// A second reading of the language, of the generator's own programs, that shares nothing with the reference
// interpreter: whole tensors, nested loops over coordinates, formulas evaluated for each element. What both misread
// alike must be misread twice.
//
//   std::vector<Bytes> after = evaluate(program, inputsOf(program));
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Program.h"

namespace soliton::generate {

using Bytes = std::vector<uint8_t>;

/// The arguments as a launch gets them: memories in order, then scalars. The same for the same program.
std::vector<Bytes> inputsOf(const Program &program);

/// The arguments as the kernel leaves them. Throws std::runtime_error for a program without a meaning (an element of a
/// shared tile that was never written).
std::vector<Bytes> evaluate(const Program &program, const std::vector<Bytes> &inputs);

/// The first element in which two results differ; nothing if they agree. NaN equals NaN, and where a memory allows for
/// units in the last place they are allowed.
std::optional<std::string> difference(const Program &program, const std::vector<Bytes> &found,
                                      const std::vector<Bytes> &expected);

} // namespace soliton::generate
