//===- LaunchTest.cpp - Kernels from C, and the headers that are written for them ----------------===//
#include "soliton/runtime/launch.h"
#include "soliton/runtime/LaunchHeader.h"

#include "gtest/gtest.h"

namespace soliton::rt {
namespace {

KernelImage sampleImage() {
  KernelImage image;
  image.kernel = "my kernel";
  image.target = "a chip";
  LaunchExpr m = LaunchExpr::symbol(0), k = LaunchExpr::symbol(1);
  ArgumentSpec in;
  in.name = "in";
  in.dtype = DType::f16;
  in.shape = {m, LaunchExpr::apply(LaunchOp::ceildiv, {k, 32})};
  ArgumentSpec out = in;
  out.name = "while";
  out.isOutput = true;
  ArgumentSpec factor;
  factor.name = "factor";
  factor.kind = ArgumentKind::scalar;
  image.arguments = {in, out, factor};
  image.symbols = {{"M", 0, 0}, {"K", std::nullopt, 0}};
  return image;
}

TEST(LaunchHeader, NamesAreThoseOfC) {
  EXPECT_EQ(cName("my kernel"), "my_kernel");
  EXPECT_EQ(cName("while"), "while_");
  EXPECT_EQ(cName("2x"), "_2x");
}

TEST(LaunchHeader, SizesAreParametersAndExtentsFollow) {
  std::string text = printLaunchHeader(sampleImage());
  EXPECT_NE(text.find("static inline int my_kernel_launch(soliton_kernel *kernel, int where, const void *in, "
                      "void *while_, double factor, int64_t M, int64_t K, void *stream)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("{where, (void *)in, 2, {M, soliton_ceildiv(K, 32)}, 0, 0, 0, {0}}"), std::string::npos) << text;
  // Only K is no extent of an array.
  EXPECT_NE(text.find("symbols[] = {K}"), std::string::npos) << text;
}

TEST(LaunchHeader, StridesFollowFromTheirSymbols) {
  KernelImage image = sampleImage();
  image.symbols.push_back({"LD", 0, 0, 0, 1, /*isStride=*/true});
  image.arguments[0].strides = {LaunchExpr::symbol(2), 1};
  std::string text = printLaunchHeader(image);
  EXPECT_NE(text.find("in: f16[M, soliton_ceildiv(K, 32)], strides [LD, 1]"), std::string::npos) << text;
  EXPECT_NE(text.find("{where, (void *)in, 2, {M, soliton_ceildiv(K, 32)}, 0, 0, 1, {LD, 1}}"), std::string::npos)
      << text;
  EXPECT_NE(text.find("int64_t LD, void *stream"), std::string::npos) << text;
  EXPECT_NE(text.find("symbols[] = {K}"), std::string::npos) << text;
}

TEST(Launch, FormulasRoundDown) {
  EXPECT_EQ(soliton_floordiv(-7, 2), -4);
  EXPECT_EQ(soliton_ceildiv(7, 2), 4);
  EXPECT_EQ(soliton_ceildiv(-7, 2), -3);
  EXPECT_EQ(soliton_mod(-7, 4), 1);
}

TEST(Launch, FailuresAreTextsAndNeverExceptions) {
  EXPECT_EQ(soliton_open("/nowhere/at/all.kernel", "emulator"), nullptr);
  EXPECT_NE(std::string(soliton_error()).find("all.kernel"), std::string::npos) << soliton_error();
  EXPECT_NE(soliton_launch(nullptr, nullptr, 0, nullptr, 0, nullptr), 0);
  EXPECT_NE(std::string(soliton_error()).find("no kernel"), std::string::npos) << soliton_error();
  EXPECT_NE(soliton_synchronize(nullptr), 0);
  EXPECT_EQ(soliton_allocate(nullptr, 4), nullptr);
  soliton_close(nullptr);
}

} // namespace
} // namespace soliton::rt
