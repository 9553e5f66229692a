//===- AutoProductsTest.cpp - Products with something beside them, as `auto` compiles them ----------===//
//
// Several products of one left factor, batches, and what is added to results: by matrix instructions of four waves,
// with tiles that come in boxes, right at odd and tiny sizes and at those that a launch says.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "test/e2e/Asked.h"

namespace soliton::test {
namespace {

constexpr std::array kKernels = {"gemm_gated", "gemm_residual", "gemm_batched", "gemm_silu"};

TEST(AutoProducts, TakeBoxesAndGroups) {
  for (const char *kernel : kKernels) {
    SCOPED_TRACE(kernel);
    std::string ptx = ptxOf(asked(kernel, {{"B", 4}, {"M", 4096}, {"N", 4096}, {"K", 4096}}));
    EXPECT_NE(ptx.find("wgmma.mma_async"), std::string::npos);
    EXPECT_NE(ptx.find(std::string(kernel) == "gemm_gated" ? ".m64n128k16." : ".m64n256k16."), std::string::npos);
    EXPECT_NE(ptx.find("cp.async.bulk.tensor"), std::string::npos);
    EXPECT_EQ(ptx.find("cp.async.cg"), std::string::npos);
  }
}

TEST(AutoProducts, AreRight) {
  for (const char *kernel : kKernels)
    for (auto [m, n, k] : {std::tuple(256, 256, 256), {200, 300, 136}, {129, 65, 77}, {1, 1, 8}}) {
      Asked a = asked(kernel, {{"B", 2}, {"M", m}, {"N", n}, {"K", k}});
      expectRight(a);
      a.persistent = 3;
      expectRight(a);
    }
}

TEST(AutoProducts, AtSizesThatALaunchSays) {
  for (const char *kernel : kKernels) {
    Asked a = asked(kernel, {{"B", 2}, {"M", 200}, {"N", 300}, {"K", 136}});
    a.dynamic = {"M", "N", "K"};
    expectRight(a);
  }
}

/// The first row of the table fits. `gemm_silu` takes the second one: its quotients, in whose middle ptxas branches,
/// need more registers at once.
TEST(AutoProducts, NothingSpills) {
  if (!backend::findPtxas())
    GTEST_SKIP() << "no ptxas here";
  for (const char *kernel : {"gemm_gated", "gemm_residual", "gemm_batched"}) {
    Asked a = asked(kernel, {{"B", 4}, {"M", 4096}, {"N", 4096}, {"K", 4096}});
    CompileAttempt compiled = a.compile(rt::ImageKind::cubin);
    ASSERT_TRUE(compiled) << format(compiled.diagnostics);
    for (const Diagnostic &said : compiled.result->warnings)
      EXPECT_EQ(said.message.find("passed over"), std::string::npos) << kernel << ": " << said.message;
  }
}

} // namespace
} // namespace soliton::test
