//===- Reference.h - What a kernel must compute, by the meaning of its program ------------===//
//
// For kernels that come without a reference of their own: the interpreter runs the traced program on given arguments,
// and says how far from it an implementation may be (Oracle.h has the bound).
//
//   ReferenceOutcome outcome = referenceOf(kernel, options, {.arguments = bytes, .symbols = {{"M", 300}}});
//   outcome.result->arguments[2]                  // the bytes that argument 2 must hold
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Compile.h"

#include <cstddef>
#include <map>

namespace soliton {

struct ReferenceRequest {
  /// One per parameter of the kernel, in order: its elements row by row, or one scalar.
  std::vector<std::vector<uint8_t>> arguments;
  /// Values of the symbols that are known only at launch.
  std::map<std::string, int64_t> symbols = {};
  /// The inputs are small integers: where the kernel keeps integers, bits must agree.
  bool integers = false;
};

struct ReferenceResult {
  std::vector<std::vector<uint8_t>> arguments;
  /// For each argument and element, how far off it may be; empty where bits must agree.
  std::vector<std::vector<double>> tolerance;
};

struct ReferenceOutcome {
  std::optional<ReferenceResult> result;
  std::vector<Diagnostic> diagnostics;
};

ReferenceOutcome referenceOf(const Kernel &kernel, const CompileOptions &options, const ReferenceRequest &request);
/// The same for the text of a module in form `Traced`.
ReferenceOutcome referenceOf(std::string_view text, std::string_view fileName, const CompileOptions &options,
                             const ReferenceRequest &request);

} // namespace soliton
