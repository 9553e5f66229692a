//===- CompileTest.cpp - What the compiler says, and where it points ------------------------------===//
#include "soliton/soliton.h"

#include <gtest/gtest.h>

namespace soliton::test {
namespace {

/// A kernel whose tile is bound by nobody.
Kernel unbound() {
  auto [M, BM] = symbols<"M BM">();
  Kernel kernel{"unbound", {WorkgroupConstraint(M, BM, 0)}};
  MemoryRef a = kernel.memory("a", {M}, global, f32), b = kernel.memory("b", {M}, global, f32);
  write(read(a), b);
  return kernel;
}

TEST(Compile, WhatOptionsForgetIsSaidInTheAuthorsFile) {
  CompileOptions options;
  options.target = "gfx942";
  options.device = "emulator";
  CompileOutcome outcome = tryCompile(unbound(), options);
  ASSERT_FALSE(outcome);
  ASSERT_FALSE(outcome.diagnostics.empty());
  for (const Diagnostic &diagnostic : outcome.diagnostics)
    EXPECT_TRUE(diagnostic.place.file.ends_with("CompileTest.cpp")) << format(outcome.diagnostics);
}

TEST(Compile, ATargetThatDoesNotExistIsSaidAtTheCall) {
  CompileOptions options;
  options.target = "gfx9420";
  options.device = "emulator";
  int line = __LINE__ + 1;
  CompileOutcome outcome = tryCompile(unbound(), options);
  ASSERT_FALSE(outcome);
  ASSERT_FALSE(outcome.diagnostics.empty());
  EXPECT_TRUE(outcome.diagnostics[0].place.file.ends_with("CompileTest.cpp")) << format(outcome.diagnostics);
  EXPECT_EQ(outcome.diagnostics[0].place.line, line) << format(outcome.diagnostics);
}

} // namespace
} // namespace soliton::test
