//===- Data.cpp - Inputs, encodings and comparisons -----------------------------===//
#include "kernels/Kernels.h"

#include "soliton/support/Float.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace soliton;
using namespace soliton::kernels;

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// In [-1, 1).
  double unit() { return static_cast<double>(static_cast<int64_t>(next()) >> 10) * 0x1p-53; }
  int64_t integer(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(next() % static_cast<uint64_t>(hi - lo + 1));
  }

private:
  uint64_t state;
};

/// Integers small enough that the sums and products of every kernel are exact in f32.
constexpr int64_t kSmall = 3;
/// Integers of integer kernels; the products of a long contraction still fit i32.
constexpr int64_t kLarge = 100;

double draw(Random &random, DType type, const std::optional<Range> &range, bool integers) {
  if (range && isInteger(type))
    return static_cast<double>(random.integer(static_cast<int64_t>(range->low), static_cast<int64_t>(range->high)));
  if (range)
    return roundTo(type, range->low + (range->high - range->low) * (random.unit() + 1) / 2);
  if (integers)
    return static_cast<double>(random.integer(-kSmall, kSmall));
  if (isInteger(type))
    return static_cast<double>(random.integer(-kLarge, kLarge));
  return roundTo(type, random.unit());
}

/// A size, or what a formula of sizes comes to.
int64_t sizeOf(const std::string &formula, const Sizes &sizes) {
  if (auto size = sizes.find(formula); size != sizes.end())
    return size->second;
  sym::Environment environment;
  for (const auto &[name, value] : sizes)
    environment.set(Expr::symbol(name), value);
  return sym::evaluate(sym::parse(formula), environment);
}

} // namespace

const Array &Problem::operator[](std::string_view name) const {
  for (size_t i = 0; i != arguments.size(); ++i)
    if (arguments[i].name == name)
      return arrays[i];
  throw std::out_of_range("no argument " + std::string(name));
}

const Array &Problem::output() const {
  for (size_t i = 0; i != arguments.size(); ++i)
    if (arguments[i].isOutput)
      return arrays[i];
  throw std::out_of_range("no output");
}

ProblemOptions ProblemOptions::on(const Target *target, bool accepted) const {
  ProblemOptions options = *this;
  if (!target)
    return options;
  options.nativeF8 = target->fp8e4m3;
  for (const MmaKind &kind : target->mmas)
    if (kind.sumBits)
      options.shortSums = {std::ldexp(1.0, -static_cast<int>(kind.sumBits)),
                           accepted ? std::numeric_limits<size_t>::max() : static_cast<size_t>(kShortSum)};
  return options;
}

Problem kernels::makeProblem(const KernelEntry &entry, const Variant &variant, const Sizes &sizes,
                             const ProblemOptions &options) {
  return makeProblem(entry.arguments(variant), variant, sizes, options);
}

Problem kernels::makeProblem(std::vector<ArgumentInfo> arguments, const Variant &variant, const Sizes &sizes,
                             const ProblemOptions &options) {
  Problem problem{.variant = variant, .sizes = sizes, .arguments = std::move(arguments), .integers = options.integers};
  if (DType input = variant.input.resolve(options.nativeF8); isFloat(input) && bits(input) == 8)
    problem.shortSums = options.shortSums;
  Random random(options.seed);
  for (const ArgumentInfo &argument : problem.arguments) {
    Array array{.type = argument.type.resolve(options.nativeF8)};
    size_t elements = 1;
    for (const std::string &dim : argument.dims) {
      array.shape.push_back(sizeOf(dim, sizes));
      elements *= static_cast<size_t>(array.shape.back());
    }
    if (!argument.isOutput) {
      std::optional<Range> range = argument.range;
      if (!argument.upTo.empty())
        range = Range{0, static_cast<double>(sizeOf(argument.upTo, sizes))};
      array.values.resize(elements);
      for (double &value : array.values)
        value = draw(random, array.type, range, options.integers);
      if (argument.isPartition) {
        std::ranges::sort(array.values);
        array.values.front() = 0;
        array.values.back() = range->high;
      }
    }
    if (argument.startsAtZero)
      array.values.assign(elements, 0);
    problem.arrays.push_back(std::move(array));
  }
  return problem;
}

namespace {
/// Where the elements of a dense array lie: `i1` takes a byte, narrower ones share bytes, each row starts on one.
struct Rows {
  Rows(DType type, std::span<const int64_t> shape)
      : width(type == DType::i1 ? 8 : static_cast<size_t>(bits(type))),
        columns(shape.empty() ? 1 : static_cast<size_t>(shape.back())), rowBytes((columns * width + 7) / 8) {}
  size_t firstBit(size_t at) const { return at / columns * rowBytes * 8 + at % columns * width; }
  size_t width, columns, rowBytes;
};
} // namespace

std::vector<std::byte> kernels::encodeArray(const Array &array) {
  Rows rows(array.type, array.shape);
  std::vector<std::byte> bytes(array.values.empty() ? 0 : array.values.size() / rows.columns * rows.rowBytes);
  for (size_t i = 0; i != array.values.size(); ++i) {
    uint64_t code = encode(array.type, array.values[i]);
    size_t first = rows.firstBit(i);
    for (size_t b = 0; b < rows.width; b += 8 - (first + b) % 8) {
      size_t at = first + b, taken = std::min(8 - at % 8, rows.width - b);
      bytes[at / 8] |= static_cast<std::byte>((code >> b & ((1u << taken) - 1)) << at % 8);
    }
  }
  return bytes;
}

std::vector<double> kernels::decodeArray(DType type, std::span<const std::byte> bytes, std::span<const int64_t> shape) {
  Rows rows(type, shape);
  std::vector<double> values(rows.rowBytes == 0 ? 0 : bytes.size() / rows.rowBytes * rows.columns);
  for (size_t i = 0; i != values.size(); ++i) {
    uint64_t code = 0;
    size_t first = rows.firstBit(i);
    for (size_t b = 0; b < rows.width; b += 8 - (first + b) % 8)
      code |= static_cast<uint64_t>(bytes[(first + b) / 8]) >> (first + b) % 8 << b;
    values[i] = decode(type, code);
  }
  return values;
}

Comparison kernels::compare(const Expected &expected, std::span<const double> result) {
  Comparison comparison;
  if (result.size() != expected.values.size())
    return {.ok = false, .maxAbsError = INFINITY, .errorBound = 0, .firstWrong = 0};
  for (size_t i = 0; i != result.size(); ++i) {
    // Written so that NaN is wrong, and infinity right where it is expected.
    bool equal = result[i] == expected.values[i];
    double error = equal ? 0 : std::abs(result[i] - expected.values[i]), bound = expected.bounds[i];
    bool right = error <= bound;
    if (!right && !comparison.firstWrong)
      comparison.firstWrong = i;
    comparison.ok &= right;
    error = std::isnan(error) ? INFINITY : error;
    if (i == 0 || error > comparison.maxAbsError) {
      comparison.maxAbsError = error;
      comparison.errorBound = bound;
    }
  }
  return comparison;
}

double kernels::halfUlp(DType type, double value) {
  if (isInteger(type))
    return 0;
  double smallest = decode(type, 1); // the smallest subnormal: the spacing near 0
  if (value == 0 || !std::isfinite(value))
    return smallest / 2;
  return std::max(smallest, epsilon(type) * std::ldexp(1.0, std::ilogb(value))) / 2;
}

static Expected rounded(DType type, std::vector<double> values, std::vector<double> errors, bool exact) {
  if (isInteger(type) || exact) {
    for (double &value : values)
      value = isFloat(type) ? roundTo(type, value) : value;
    std::fill(errors.begin(), errors.end(), 0.0);
    return {std::move(values), std::move(errors)};
  }
  for (size_t i = 0; i != values.size(); ++i) {
    double most = std::abs(values[i]) + errors[i], least = std::abs(values[i]) - errors[i];
    errors[i] += halfUlp(type, most);
    // Beyond the largest number: infinity; beside it: either.
    if (std::isinf(roundTo(type, most))) {
      errors[i] = std::isinf(roundTo(type, least)) ? 0 : INFINITY;
      values[i] = errors[i] == 0 ? std::copysign(INFINITY, values[i]) : values[i];
    }
  }
  return {std::move(values), std::move(errors)};
}

Expected kernels::roundedOutput(const Problem &problem, std::vector<double> values, std::vector<double> errors,
                                bool exact) {
  return rounded(problem.output().type, std::move(values), std::move(errors), exact && problem.integers);
}

Expected kernels::roundedOutput(const Problem &problem, std::string_view output, std::vector<double> values,
                                std::vector<double> errors, bool exact) {
  return rounded(problem[output].type, std::move(values), std::move(errors), exact && problem.integers);
}
