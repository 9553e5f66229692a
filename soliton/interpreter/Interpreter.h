//===- Interpreter.h - The reference: what a wave program means -------------===//
//
// Executes a `wave.kernel` of every form before `Machine` on whole tiles, in f64 or exact integers, with no lanes. It
// is the definition: after every pass a kernel must still compute what the traced program computes.
//
//   interp::Inputs inputs;
//   inputs.arguments = {bytesOfA, bytesOfB, bytesOfC};
//   inputs.symbols = {{"M", 64}};
//   interp::Result result = interp::run(kernel, inputs);
//   if (result.ok()) use(result.arguments[2]);
//
// Workgroups run one after the other, those of a cluster in turns. A tile is a function from coordinates to numbers:
// without a layout its coordinates are the box of its dimensions' tiles, with one they are the layout's image; each op
// means the same on both. After each op numbers are rounded to the element type; `mma` and `reduce` accumulate in f64
// (integers: exactly) and round once. So two forms of a kernel agree exactly on integer-valued data, and within the
// rounding of accumulators otherwise.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Wave.h"
#include "soliton/support/Diagnostics.h"

#include <map>

namespace soliton::interp {

using Bytes = std::vector<uint8_t>;

enum class NoiseKind : uint8_t { none, sums, steps };

struct Inputs {
  /// One per parameter of the kernel, in order: a memory's elements in row-major order, or one scalar; encoded as the
  /// element type says. `i1` takes a byte; narrower types are packed from the lowest bit on, each row from a byte on.
  std::vector<Bytes> arguments;
  /// Values of the dynamic symbols.
  std::map<std::string, int64_t> symbols;
  /// Results are moved at random, to see what roundings could do (Noise.h).
  NoiseKind noise = NoiseKind::none;
  uint64_t noiseSeed = 1;
};

struct Result {
  /// The arguments as the kernel leaves them; bytes that were not written are untouched.
  std::vector<Bytes> arguments;
  /// Why the program has no meaning: an access outside a memory, an undefined value, an op that is not known.
  std::vector<Diagnostic> diagnostics;

  bool ok() const { return diagnostics.empty(); }
};

/// Runs all workgroups of the kernel's grid.
Result run(wave::KernelOp kernel, const Inputs &inputs);

} // namespace soliton::interp
