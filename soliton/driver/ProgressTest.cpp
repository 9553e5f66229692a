#include "soliton/driver/Progress.h"
#include "soliton/soliton.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

using namespace soliton;

namespace {

Kernel copyKernel() {
  auto [N] = symbols<"N">();
  Kernel copy{"copy", {WorkgroupConstraint(N, 64, 0), HardwareConstraint{}}};
  auto a = copy.memory("a", {N}, global, f32), b = copy.memory("b", {N}, global, f32);
  write(read(a), b);
  return copy;
}

void compileCopy() {
  auto [N] = symbols<"N">();
  compile(copyKernel(), {.target = "gfx942", .subs = {{N, 100}}, .device = "emulator", .cache = false});
}

bool has(const std::vector<std::string> &steps, const std::string &step) {
  return std::ranges::find(steps, step) != steps.end();
}

TEST(Progress, StepsAreSaidInOrder) {
  std::vector<std::string> steps;
  ProgressScope watched([&](std::string_view step) { steps.emplace_back(step); });
  compileCopy();
  ASSERT_GT(steps.size(), 10u);
  EXPECT_EQ(steps.front(), "trace");
  EXPECT_EQ(steps.back(), "emulator");
  EXPECT_TRUE(has(steps, "verify"));
  EXPECT_FALSE(has(steps, ""));
}

TEST(Progress, OnlyTheInnermostHears) {
  int outer = 0, inner = 0;
  ProgressScope first([&](std::string_view) { ++outer; });
  {
    ProgressScope second([&](std::string_view) { ++inner; });
    compileCopy();
  }
  EXPECT_EQ(outer, 0);
  EXPECT_GT(inner, 10);
  compileCopy();
  EXPECT_EQ(outer, inner);
}

TEST(Progress, OtherThreadsAreNotHeard) {
  int heard = 0;
  ProgressScope watched([&](std::string_view) { ++heard; });
  std::thread(compileCopy).join();
  EXPECT_EQ(heard, 0);
}

} // namespace
