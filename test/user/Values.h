//===- Values.h - Numbers for programs in tests ----------------------------------------===//
#pragma once

#include "soliton/soliton.h"
#include "soliton/support/Float.h"
#include "soliton/target/Target.h"

#include "gtest/gtest.h"

#include <cstring>
#include <random>

namespace soliton::test {

inline int64_t elementsOf(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// An array of any float type that counts in f32 here: written rounded, read exactly.
class Floats {
public:
  Floats(DType type, std::vector<int64_t> shape, double value = 0)
      : type(type), shape(std::move(shape)), width(static_cast<size_t>(bits(type)) / 8),
        bytes(static_cast<size_t>(elementsOf(this->shape)) * width) {
    for (int64_t i = 0; i < size(); ++i)
      set(i, value);
  }
  /// Numbers between -1 and 1, the same every time.
  static Floats random(DType type, std::vector<int64_t> shape, unsigned seed = 1) {
    Floats result(type, std::move(shape));
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> numbers(-1, 1);
    for (int64_t i = 0; i < result.size(); ++i)
      result.set(i, numbers(engine));
    return result;
  }

  int64_t size() const { return static_cast<int64_t>(bytes.size() / width); }
  double operator[](int64_t i) const {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + static_cast<size_t>(i) * width, width);
    return decode(type, bits);
  }
  void set(int64_t i, double value) {
    uint64_t bits = encode(type, value);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * width, &bits, width);
  }
  rt::Tensor tensor() { return rt::Tensor::dense(bytes.data(), type, shape); }

private:
  DType type;
  std::vector<int64_t> shape;
  size_t width;
  std::vector<std::byte> bytes;
};

/// Tests that run for every target.
class ForTarget : public testing::TestWithParam<const Target *> {
protected:
  CompileOptions options(lang::Substitutions subs, const std::vector<Expr> &dynamic = {}) const {
    CompileOptions options;
    options.target = GetParam()->name;
    options.subs = std::move(subs);
    options.dynamic = dynamic;
    options.device = "emulator";
    return options;
  }

  rt::ImageKind binary() const { return GetParam()->vendor == Vendor::amd ? rt::ImageKind::hsaco : rt::ImageKind::ptx; }

  /// Compiled for the emulator; the back end takes it too.
  CompiledKernel compiled(const Kernel &kernel, const CompileOptions &options) const {
    CompileAttempt code = compileImage(kernel, options, binary());
    EXPECT_TRUE(code) << format(code.diagnostics);
    return compile(kernel, options);
  }

  /// The id of the first error of a launch; empty if there is none.
  template <typename Launch>
  static std::string refused(Launch launch) {
    try {
      launch();
    } catch (const CompileError &error) {
      return std::string(idText(error.diagnostics().front().id));
    }
    return "";
  }

  /// The id of the first error of a compilation; empty if there is none.
  static std::string refusal(const Kernel &kernel, const CompileOptions &options) {
    for (const Diagnostic &diagnostic : tryCompile(kernel, options).diagnostics)
      if (diagnostic.severity == Severity::error)
        return std::string(idText(diagnostic.id));
    return "";
  }
};

inline std::string targetName(const testing::TestParamInfo<const Target *> &info) {
  return info.param->name;
}

} // namespace soliton::test
