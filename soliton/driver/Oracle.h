//===- Oracle.h - What a traced kernel computes, and whether another form of it does too ---===//
//
//   FailureOr<Oracle> oracle = Oracle::of(kernel, {});      // makes inputs, runs the traced program on them
//   … passes change the kernel …
//   if (std::optional<std::string> wrong = oracle->disagreement(kernel)) …
//
// Inputs are numbers of the type that a memory's bits are read as (`bitcast`). Two sets: small integers, for which a
// kernel of sums and products is exact and must agree bit for bit, and random numbers, for which an element may be off
// by
//
//   min(d + 3 · s, 2 · n · u · S) + ulp
//
//   d, s  what noise in sums and functions, and in narrow results, moves the element by (interpreter/Noise.h); an
//         integer may be off by as much too, where comparisons of floats decide it
//   n     roundings on the way to an element: all that is contracted, and eight for each operation
//   u     unit roundoff of the coarsest type that is computed in, or of short sums
//   S     the element's value where every input is replaced by its absolute value: Σ|a||b|
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Machine.h"
#include "soliton/interpreter/Memory.h"
#include "soliton/ir/Machine.h"
#include "soliton/runtime/Tensor.h"
#include "soliton/target/Target.h"

#include <array>

namespace soliton {

struct OracleOptions {
  /// Of the inputs.
  uint64_t seed = 1;
  /// Values of dynamic symbols. The others get small odd numbers, or the first ones for which the kernel's assumptions
  /// hold.
  std::map<std::string, int64_t> symbols = {};
  /// How the emulator interleaves waves, one run each.
  std::vector<uint64_t> interleavings = {1, 7};
  /// If not empty: the one set of inputs, for which bits must agree, or, where sums may differ, numbers within bounds.
  std::vector<interp::Bytes> arguments = {};
  bool mayDiffer = false;
  /// They are small integers: sums may differ only where the kernel makes fractions of them.
  bool integers = false;
};

class Geometry;

class Oracle {
public:
  /// Reports why the kernel has no meaning to compare with.
  static mlir::FailureOr<Oracle> of(wave::KernelOp kernel, const OracleOptions &options);

  /// What the kernel does differently from the traced program, or why it cannot be executed; nothing if it agrees.
  std::optional<std::string> disagreement(wave::KernelOp kernel) const;
  /// The same for the machine form, on the emulator with all of its checks.
  std::optional<std::string> disagreement(machine::KernelOp kernel) const;

  /// What the traced program makes of the first set of inputs, and how far each element may be off (empty: not at all).
  const std::vector<interp::Bytes> &expected() const { return trials.front().expected; }
  const std::vector<std::vector<double>> &tolerance() const { return trials.front().tolerance; }

private:
  struct Argument;
  /// One set of inputs and what the traced program makes of them.
  struct Trial {
    interp::Inputs inputs;
    std::vector<interp::Bytes> expected;
    /// Per argument and element; empty where bits must agree.
    std::vector<std::vector<double>> tolerance;
  };

  mlir::LogicalResult prepare(wave::KernelOp kernel);
  mlir::LogicalResult chooseSymbols(wave::KernelOp kernel);
  void chooseStrides(wave::KernelOp kernel, const Geometry &geometry);
  interp::Bytes placed(const Argument &argument, const interp::Bytes &dense) const;
  mlir::LogicalResult addTrial(wave::KernelOp kernel, interp::Inputs inputs, bool mayDiffer);
  mlir::LogicalResult addTolerance(wave::KernelOp kernel, Trial &trial) const;
  /// Of each element the value where every input is replaced by its absolute value.
  using Sizes = std::vector<std::vector<double>>;
  mlir::FailureOr<Sizes> effectOf(interp::NoiseKind noise, wave::KernelOp kernel, const Trial &trial,
                                  const Sizes &sizes) const;
  interp::Inputs makeInputs(wave::KernelOp kernel, bool integers) const;
  interp::Inputs absolute(const interp::Inputs &inputs) const;
  std::optional<std::string> compare(const Trial &trial, const std::vector<interp::Bytes> &found) const;
  std::optional<std::string> emulate(const emu::Program &program, const Trial &trial, uint64_t interleaving) const;

  struct Argument {
    std::string name;
    DType type;
    interp::Packing packing;
    bool isScalar = false;
    /// Written and never read: it starts as a pattern that no result has.
    bool isOutput = false;
    /// What tiles are drawn from: 0 at a launch, and nobody's result.
    bool isCounter = false;
    /// Where its elements lie, if not row by row without gaps.
    std::optional<rt::Tensor> view = std::nullopt;

    /// The number at element `at`.
    double get(const interp::Bytes &bytes, size_t at) const;
  };

  OracleOptions options;
  const Target *target = nullptr;
  std::vector<Argument> arguments;
  std::vector<std::string> dynamic;
  std::map<std::string, int64_t> symbols;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  bool exact = false;
  double roundings = 0, roundoff = 0;
  std::vector<Trial> trials;
};

} // namespace soliton
