//===- Kernels.h - Every kernel of the library, once, in the language -----------===//
//
// A kernel here is its text in the language, its sizes and tiles, and an independent reference in plain C++ and f64
// that says what each element of the result must be and how far from it an implementation may be.
//
//   const KernelEntry *gemm = findKernel("gemm");
//   Kernel kernel = gemm->build(gemm->variants[0]);
//   Problem problem = makeProblem(*gemm, gemm->variants[0], {{"M", 64}, {"N", 64}, {"K", 64}}, {.seed = 1});
//   Expected expected = gemm->reference(problem);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/soliton.h"
#include "soliton/target/Target.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <span>

namespace soliton::kernels {

/// A symbol and the number that it has where nobody says otherwise.
struct DefaultSize {
  std::string name;
  int64_t value = 0;
  int64_t least = 1;
};

/// One choice of element types. `name` is what `--dtype` takes: `f16`, or `f16-bf16` where the output differs from the
/// usual one.
struct Variant {
  std::string name;
  ElementType input, output;
  /// Tiles that differ from the kernel's.
  std::vector<DefaultSize> tiles = {};
};

struct Range {
  double low = -1, high = 1;
};

/// A symbol that sizes decide: `{"M", "B*H*W"}`.
struct DerivedSize {
  std::string name, formula;
};

/// A parameter of a kernel, in order.
struct ArgumentInfo {
  std::string name;
  /// Size symbols, or formulas of them, outermost first; none for a scalar.
  std::vector<std::string> dims;
  ElementType type;
  bool isOutput = false;
  /// Where its numbers lie if not in [-1, 1): numbers that mean something, such as a scale.
  std::optional<Range> range = {};
  /// Integers from 0 to what this formula of sizes comes to, instead.
  std::string upTo = {};
  /// In order, from 0 to the largest: where parts begin, and where the last one ends.
  bool isPartition = false;
  /// An output that the kernel adds to.
  bool startsAtZero = false;
};

/// Numbers of one argument, row-major, each exactly representable in `type`.
struct Array {
  DType type = DType::f32;
  std::vector<int64_t> shape = {};
  std::vector<double> values = {};
};

using Sizes = std::map<std::string, int64_t>;

/// What a matrix unit may lose of a sum of 8-bit floats beside what rounding to f32 loses: so much of the largest term
/// for each of so many terms.
struct ShortSums {
  double roundoff = 0;
  size_t terms = 0;

  /// Of Σ|a||b| over `depth` products, with the bound's factor of two.
  double lost(size_t depth) const { return 2 * static_cast<double>(std::min(depth, terms)) * roundoff; }
};

struct Problem {
  Variant variant;
  Sizes sizes;
  std::vector<ArgumentInfo> arguments;
  /// One per argument; the output's `values` are empty unless it starts at zero.
  std::vector<Array> arrays = {};
  /// Inputs are small integers, so that sums and products are exact in any order.
  bool integers = false;
  ShortSums shortSums = {};

  int64_t size(const std::string &name) const { return sizes.at(name); }
  const Array &operator[](std::string_view name) const;
  /// The first output.
  const Array &output() const;
};

/// What an output must be: each element within its bound of its value.
struct Expected {
  std::vector<double> values;
  std::vector<double> bounds;
  /// The same for the outputs after the first, in the order of the arguments.
  std::vector<Expected> more = {};

  const Expected &of(size_t output) const { return output == 0 ? *this : more.at(output - 1); }
};

struct KernelEntry {
  std::string name;
  /// What kind of kernel it is: a list shows those of a family together.
  std::string family;
  std::string description;
  /// Sizes of tensors, and numbers that are part of the computation, such as a window.
  std::vector<DefaultSize> sizes;
  /// Those that are bound when the kernel is compiled; all others may be left to the launch.
  std::vector<std::string> fixedSizes = {};
  /// Symbols of the kernel's text that follow from the sizes.
  std::vector<DerivedSize> derivedSizes = {};
  std::vector<DefaultSize> tiles;
  /// Tiles that differ where a wave has 32 lanes, and so half the registers.
  std::vector<DefaultSize> narrowTiles = {};
  /// The legal element types; the first is the default.
  std::vector<Variant> variants;
  std::function<std::vector<ArgumentInfo>(const Variant &)> arguments;
  std::function<Kernel(const Variant &)> build;
  std::function<Expected(const Problem &)> reference;

  /// Tiles of a variant that suit a target.
  std::vector<DefaultSize> tilesFor(const Variant &variant, const Target &target) const;
  /// The variant of that name, or null.
  const Variant *findVariant(std::string_view name) const;
  /// The sizes that may be left to the launch.
  std::vector<std::string> dynamicSizes() const;
  /// What the derived sizes stand for, beside the sizes in a compilation's `subs`.
  Substitutions derivedSubs() const;
};

/// All kernels, in the order in which a list shows them.
const std::vector<const KernelEntry *> &allKernels();
/// The kernel of that name, or null.
const KernelEntry *findKernel(std::string_view name);

//===- Data -------------------------------------------------------------------------===//

struct ProblemOptions {
  uint64_t seed = 0;
  /// Small integers instead of random numbers.
  bool integers = false;
  /// What `f8` is on the target.
  DType nativeF8 = DType::f8e4m3fn;
  ShortSums shortSums = {};

  /// With what is the target's, if there is one. `accepted`: the kernel was compiled with short sums.
  ProblemOptions on(const Target *target, bool accepted = false) const;
};

/// Inputs for a kernel at these sizes; the same for the same seed everywhere.
Problem makeProblem(const KernelEntry &entry, const Variant &variant, const Sizes &sizes,
                    const ProblemOptions &options = {});
/// The same for arguments that no entry lists.
Problem makeProblem(std::vector<ArgumentInfo> arguments, const Variant &variant, const Sizes &sizes,
                    const ProblemOptions &options = {});

/// The bytes of an array as a device sees them: `i1` takes a byte, narrower elements share bytes, rows start on one.
std::vector<std::byte> encodeArray(const Array &array);
/// `shape` counts only for elements below a byte.
std::vector<double> decodeArray(DType type, std::span<const std::byte> bytes, std::span<const int64_t> shape = {});

/// How a result compares with what was expected.
struct Comparison {
  bool ok = true;
  double maxAbsError = 0;
  /// The bound of the element that has it.
  double errorBound = 0;
  /// The first element that is wrong.
  std::optional<size_t> firstWrong;
};
Comparison compare(const Expected &expected, std::span<const double> result);

//===- For references ---------------------------------------------------------------===//

/// Half the distance between the numbers of a type around `value`: what rounding may change. 0 for integers.
double halfUlp(DType type, double value);
/// The unit roundoff of f32, in which float kernels compute.
inline constexpr double kF32Roundoff = 0x1p-24;

/// The output for exact values and bounds on the error before rounding to the output's type. Where the inputs are
/// integers and `exact` says that the arithmetic is too, only the rounded value itself is right.
Expected roundedOutput(const Problem &problem, std::vector<double> values, std::vector<double> errors, bool exact);
/// The same for one of several outputs.
Expected roundedOutput(const Problem &problem, std::string_view output, std::vector<double> values,
                       std::vector<double> errors, bool exact);

} // namespace soliton::kernels
