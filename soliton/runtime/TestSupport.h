//===- TestSupport.h - What the runtime's tests share -----------------------===//
//
//   expectError([&] { kernel->launch({a}); }, DiagId::ArgumentCount, "found 1 arguments, expected 2");
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/KernelImage.h"
#include "soliton/support/Diagnostics.h"

#include <cstring>
#include <gtest/gtest.h>

namespace soliton::rt {

/// Expects that `action` throws exactly one diagnostic of that id whose text has `fragment` in it.
template <typename Action>
void expectError(Action action, DiagId id, const std::string &fragment) {
  try {
    action();
  } catch (const CompileError &error) {
    EXPECT_EQ(error.diagnostics().size(), 1u) << error.what();
    EXPECT_EQ(idText(error.diagnostics()[0].id), idText(id)) << error.what();
    EXPECT_NE(std::string(error.what()).find(fragment), std::string::npos) << error.what();
    return;
  }
  ADD_FAILURE() << "no error, expected " << idText(id);
}

/// scale(in: f32[M, 64], out: f32[M, 64], factor: f32), M bound by `in`, grid {ceildiv(M, 16), 1, 1}.
inline KernelImage scaleImage(ImageKind kind = ImageKind::ptx) {
  LaunchExpr m = LaunchExpr::symbol(0);
  KernelImage image;
  image.kernel = "scale";
  image.target = kind == ImageKind::hsaco ? "gfx942" : "sm_90a";
  image.kind = kind;
  image.entry = "scale_entry";
  const char code[] = "// code";
  image.code.resize(sizeof(code) - 1);
  std::memcpy(image.code.data(), code, sizeof(code) - 1);
  image.threads = {128, 1, 1};
  image.grid = {LaunchExpr::apply(LaunchOp::ceildiv, {m, 16}), 1, 1};
  ArgumentSpec in;
  in.name = "in";
  in.shape = {m, 64};
  in.alignment = 16;
  ArgumentSpec out = in;
  out.name = "out";
  out.isOutput = true;
  ArgumentSpec factor;
  factor.name = "factor";
  factor.kind = ArgumentKind::scalar;
  image.arguments = {in, out, factor};
  image.mayAliasExactly = {{0, 1}};
  image.symbols = {{"M", 0, 0}};
  image.checks = {
      {LaunchExpr::apply(LaunchOp::eq, {LaunchExpr::apply(LaunchOp::mod, {m, 8}), 0}), "`M` must be a multiple of 8"}};
  image.metadata = {{"schedule", "none"}};
  return image;
}

} // namespace soliton::rt
