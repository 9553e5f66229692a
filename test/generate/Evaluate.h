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

#include "test/generate/Inputs.h"

namespace soliton::generate {

/// The arguments as the kernel leaves them. Throws std::runtime_error for a program without a meaning (an element of a
/// shared tile that was never written). What it prints, whoever does, is added to `printed`: `x[M=3, N=5] = 1.5`.
std::vector<Bytes> evaluate(const Program &program, const std::vector<Bytes> &inputs,
                            std::set<std::string> *printed = nullptr);

} // namespace soliton::generate
