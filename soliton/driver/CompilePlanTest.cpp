#include "soliton/driver/CompilePlan.h"

#include <gtest/gtest.h>

namespace soliton {
namespace {
using Pair = std::array<uint32_t, 2>;

/// A step of a plan over `a`, `b` and `c` that reads and writes some of them.
PlanStep step(const std::string &entry, const std::string &reads, const std::string &writes,
              std::vector<Pair> mayAlias = {}, StepUse use = StepUse::always) {
  PlanStep step{{}, use};
  step.compiled.image.entry = step.compiled.image.kernel = entry;
  step.compiled.image.mayAliasExactly = std::move(mayAlias);
  for (std::string name : {"a", "b", "c"}) {
    rt::ArgumentSpec argument;
    argument.name = name;
    argument.isRead = reads.find(name) != std::string::npos;
    argument.isOutput = writes.find(name) != std::string::npos;
    step.compiled.image.arguments.push_back(std::move(argument));
  }
  return step;
}

std::vector<Pair> aliasesOf(std::vector<PlanStep> steps) {
  return asOne(std::move(steps), rt::LaunchExpr::symbol(0)).image.mayAliasExactly;
}

TEST(CompilePlan, StepsRunInOrderAndTheirDemandsAddUp) {
  PlanStep copy = step("copy", "a", ""), product = step("product", "b", "c");
  copy.compiled.image.threads = {64, 1, 1};
  copy.compiled.image.cluster = {2, 1, 1};
  copy.compiled.image.arguments[0].alignment = 16;
  copy.compiled.image.checks = {{1, "copies"}};
  product.compiled.image.threads = {256, 1, 1};
  product.compiled.image.checks = {{1, "multiplies"}};
  rt::KernelImage image = asOne({copy, product}, 1).image;
  EXPECT_EQ(image.kernel, "product");
  std::vector<rt::LaunchStep> steps = rt::launchSteps(image);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].entry, "copy");
  EXPECT_EQ(steps[0].threads[0], 64u);
  EXPECT_EQ(steps[0].cluster[0], 2u);
  EXPECT_EQ(steps[1].entry, "product");
  EXPECT_EQ(steps[1].threads[0], 256u);
  EXPECT_EQ(steps[1].cluster[0], 1u);
  EXPECT_EQ(image.arguments[0].alignment, 16);
  EXPECT_TRUE(image.arguments[0].isRead && image.arguments[1].isRead && image.arguments[2].isOutput);
  EXPECT_EQ(image.checks.size(), 2u);
}

TEST(CompilePlan, WhatAnEarlierStepCopiedMayBeWrittenOver) {
  EXPECT_EQ(aliasesOf({step("copy", "a", ""), step("product", "b", "c")}), (std::vector<Pair>{{0, 2}}));
}

TEST(CompilePlan, OneArrayForTwoArgumentsIsWhatEveryStepAllows) {
  PlanStep onRows = step("on_rows", "ab", "c", {{0, 2}}, StepUse::wherePlanPays),
           plain = step("plain", "ab", "c", {{0, 2}, {1, 2}}, StepUse::elsewhere);
  EXPECT_EQ(aliasesOf({onRows, plain}), (std::vector<Pair>{{0, 2}}));
  EXPECT_EQ(aliasesOf({plain, onRows}), (std::vector<Pair>{{0, 2}}));
}

TEST(CompilePlan, WhatAnEarlierStepWroteIsReadTooLate) {
  // `c` is gone when the second step reads `a`; `b` is written after it.
  EXPECT_EQ(aliasesOf({step("first", "", "c"), step("second", "a", "b", {{0, 1}})}), (std::vector<Pair>{{0, 1}}));
}

TEST(CompilePlan, ArgumentsThatAreWrittenAreNeverOneArray) {
  EXPECT_TRUE(aliasesOf({step("first", "a", ""), step("second", "", "ac", {{0, 2}})}).empty());
}

TEST(CompilePlan, KernelsOfOtherLaunchesAreLeftOut) {
  PlanStep pays = step("pays", "a", "c", {}, StepUse::wherePlanPays),
           other = step("other", "a", "c", {}, StepUse::elsewhere);
  pays.compiled.image.grid[0] = 7;
  other.compiled.image.grid[0] = 9;
  other.compiled.image.checks = {{0, "never holds"}};
  rt::KernelImage image = asOne({pays, other}, rt::LaunchExpr::symbol(0)).image;
  std::vector<rt::LaunchStep> steps = rt::launchSteps(image);
  const std::vector<int64_t> yes = {1}, no = {0};
  EXPECT_EQ(steps[0].grid[0].evaluate(yes).value, 7);
  EXPECT_EQ(steps[1].grid[0].evaluate(yes).value, 0);
  EXPECT_EQ(steps[0].grid[0].evaluate(no).value, 0);
  EXPECT_EQ(steps[1].grid[0].evaluate(no).value, 9);
  // What a kernel that is left out asks for is nobody's business.
  ASSERT_EQ(image.checks.size(), 1u);
  EXPECT_NE(image.checks[0].predicate.evaluate(yes).value, 0);
  EXPECT_EQ(image.checks[0].predicate.evaluate(no).value, 0);
}

} // namespace
} // namespace soliton
