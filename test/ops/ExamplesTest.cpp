//===- ExamplesTest.cpp - What the pages of docs/ops show -------------------------------------===//
//
// Every example runs on the emulator of every target, between the numbers that its page shows.
//
//===----------------------------------------------------------------------===//
#include "kernels/Kernels.h"
#include "soliton/soliton.h"
#include "soliton/target/Target.h"

#include "gtest/gtest.h"

#include <cmath>
#include <map>

namespace soliton::test {
namespace {

struct Example {
  const char *name;
  Kernel (*build)();
  lang::Substitutions sizes;
  /// What arguments hold before and after, by name.
  std::map<std::string, std::vector<double>> before, after;
};

#include "test/ops/Examples.inc"

class Examples : public testing::TestWithParam<const Example *> {};

kernels::Array arrayOf(const rt::ArgumentSpec &argument, const Example &example) {
  kernels::Array array{argument.dtype, {}, {}};
  size_t count = 1;
  for (const rt::LaunchExpr &extent : argument.shape) {
    array.shape.push_back(*extent.constantValue());
    count *= static_cast<size_t>(array.shape.back());
  }
  auto given = example.before.find(argument.name);
  array.values = given != example.before.end() ? given->second : std::vector<double>(count, 0);
  EXPECT_EQ(array.values.size(), count) << argument.name;
  return array;
}

TEST_P(Examples, ComputeWhatTheirPagesShow) {
  const Example &example = *GetParam();
  for (const Target *target : allTargets()) {
    CompiledKernel run =
        compile(example.build(), {.target = target->name, .subs = example.sizes, .device = "emulator"});
    const std::vector<rt::ArgumentSpec> &specs = run.compiled().image.arguments;
    std::vector<kernels::Array> arrays;
    std::vector<std::vector<std::byte>> bytes;
    std::vector<rt::Argument> arguments;
    for (const rt::ArgumentSpec &spec : specs) {
      const kernels::Array &array = arrays.emplace_back(arrayOf(spec, example));
      if (spec.kind == rt::ArgumentKind::scalar && !isFloat(spec.dtype)) {
        arguments.emplace_back(static_cast<int64_t>(array.values[0]));
        bytes.emplace_back();
      } else if (spec.kind == rt::ArgumentKind::scalar) {
        arguments.emplace_back(array.values[0]);
        bytes.emplace_back();
      } else {
        void *data = bytes.emplace_back(kernels::encodeArray(array)).data();
        arguments.emplace_back(rt::Tensor::dense(data, spec.dtype, std::span<const int64_t>(array.shape)));
      }
    }
    run.loaded().launch(arguments);
    for (const auto &[name, expected] : example.after) {
      auto at = std::ranges::find(specs, name, &rt::ArgumentSpec::name);
      ASSERT_NE(at, specs.end()) << name;
      size_t i = static_cast<size_t>(at - specs.begin());
      std::vector<double> found = kernels::decodeArray(specs[i].dtype, bytes[i], arrays[i].shape);
      ASSERT_EQ(found.size(), expected.size()) << name;
      for (size_t k = 0; k < found.size(); ++k) // pages show seven digits
        EXPECT_LE(std::abs(found[k] - expected[k]), 2e-6 * std::abs(expected[k]))
            << name << "[" << k << "] is " << found[k] << " on " << target->name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Examples, testing::ValuesIn(kExamples),
                         [](const auto &info) { return std::string(info.param->name); });

} // namespace
} // namespace soliton::test
