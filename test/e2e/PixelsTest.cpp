//===- PixelsTest.cpp - Convolutions whose windows come as boxes of images --------------------------===//
//
// Convolutions of the library by matrix instructions that read shared memory: the copy engine walks over pixels, so
// that windows are rows of a matrix. Right on the emulator, whose checks know pixels, corners and bytes, at all kinds
// of strides, paddings, dilations and sizes; assembled by ptxas, where it is found. What the engine cannot walk over is
// copied lane by lane, right too, and said.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "test/e2e/Support.h"

#include "soliton/driver/CheckPasses.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"

namespace soliton::test {
namespace {

struct Convolution {
  std::string kernel = "conv2d_nhwc";
  int64_t images = 1, rows = 8, columns = 8, channels = 64, filters = 64;
  int64_t filterRows = 3, filterColumns = 3, stride = 1, pad = 1, dilation = 1;
  int64_t blockM = 64, blockK = 64;
  std::string schedule = "ring";
  std::string type = "f16";
};

kernels::Sizes sizesOf(const Convolution &c) {
  kernels::Sizes sizes{{"B", c.images},        {"W", c.columns},     {"C", c.channels}, {"F", c.filters},
                       {"S", c.filterColumns}, {"STRIDE", c.stride}, {"PAD", c.pad},    {"DILATION", c.dilation}};
  if (c.kernel.starts_with("conv2d")) {
    sizes["H"] = c.rows;
    sizes["R"] = c.filterRows;
  }
  return sizes;
}

constexpr const char *kInstruction = "F32_64x64x16_F16";

Case caseOf(const Convolution &c) {
  const kernels::KernelEntry *entry = kernels::findKernel(c.kernel);
  auto variant = std::ranges::find(entry->variants, c.type, &kernels::Variant::name);
  return {entry,
          &*variant,
          findTarget("sm_90a"),
          {{"BLOCK_M", c.blockM}, {"BLOCK_F", 64}, {"BLOCK_K", c.blockK}, {"WAVES_M", c.blockM / 16}, {"WAVES_F", 1}},
          /*directCopies=*/true,
          c.schedule};
}

/// How the images come to shared memory, as the instructions say it: `.im2col`, `cp.async.cg` lane by lane, or else in
/// plain boxes, as filters do.
void check(const Convolution &c, const std::string &copies) {
  Case which = caseOf(c);
  kernels::Sizes sizes = sizesOf(c);
  SCOPED_TRACE(testing::PrintToString(sizes) + " " + c.schedule);
  CompileOptions options = which.options(sizes);
  options.mma = kInstruction;
  CompileAttempt emulated = compileImage(which.entry->build(*which.variant), options, rt::ImageKind::emulator);
  ASSERT_TRUE(emulated) << format(emulated.diagnostics);
  checkOnEmulator(which, *emulated.result, sizes);
  options.keep = {Artefact::ptx};
  CompileAttempt compiled = compileImage(which.entry->build(*which.variant), options,
                                         backend::findPtxas() ? rt::ImageKind::cubin : rt::ImageKind::ptx);
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  const std::string &ptx = compiled.result->artefacts.at(0).second;
  for (const char *way : {".im2col", "cp.async.cg"})
    EXPECT_EQ(ptx.find(way) != std::string::npos, way == copies) << way;
  bool isSaid = std::ranges::count(compiled.result->warnings, DiagId::BoxesImpossible, &Diagnostic::id) > 0;
  EXPECT_EQ(isSaid, copies == "cp.async.cg") << format(compiled.result->warnings);
}

TEST(Pixels, StridesPaddingsAndDilations) {
  check({}, ".im2col");
  check({.images = 3, .rows = 9, .columns = 11, .filters = 72}, ".im2col");
  check({.images = 2,
         .rows = 9,
         .columns = 11,
         .filterRows = 5,
         .filterColumns = 1,
         .stride = 2,
         .pad = 3,
         .dilation = 2},
        ".im2col");
  check({.images = 2, .rows = 17, .columns = 13, .stride = 3, .pad = 0}, ".im2col");
  check({.images = 2, .rows = 40, .columns = 40, .stride = 8, .pad = 4, .dilation = 5}, ".im2col");
  check({.images = 3,
         .rows = 20,
         .columns = 9,
         .filters = 8,
         .filterRows = 2,
         .filterColumns = 4,
         .pad = 3,
         .dilation = 2},
        ".im2col");
}

TEST(Pixels, TilesOfSeveralImages) {
  // Images smaller than the tile, down to one pixel, and a filter larger than they are.
  check({.images = 9, .rows = 3, .columns = 3}, ".im2col");
  check({.images = 70, .rows = 1, .columns = 1}, ".im2col");
  check({.rows = 2, .columns = 3, .filterRows = 5, .filterColumns = 5, .pad = 2}, ".im2col");
  check({.images = 5, .rows = 7, .columns = 7, .stride = 2, .blockM = 128}, ".im2col");
}

TEST(Pixels, ChannelsAndSteps) {
  check({.images = 2, .rows = 5, .columns = 6, .channels = 128}, ".im2col");
  // Rows of 64 and of 192 bytes hold 32 channels at a time.
  check({.images = 2, .rows = 5, .columns = 6, .channels = 96, .blockK = 32}, ".im2col");
  check({.images = 2, .rows = 5, .columns = 6, .channels = 96, .blockK = 96}, ".im2col");
  check({.images = 2, .rows = 5, .columns = 6, .channels = 128, .blockK = 128}, ".im2col");
  check({.images = 2, .rows = 6, .columns = 6, .type = "bf16"}, ".im2col");
}

TEST(Pixels, Schedules) {
  for (const char *schedule : {"none", "prefetch", "modulo"})
    check({.images = 2, .rows = 6, .columns = 7, .channels = 128, .schedule = schedule}, ".im2col");
}

TEST(Pixels, Lines) {
  check({.kernel = "conv1d", .images = 3, .columns = 30, .filterColumns = 5, .stride = 3, .pad = 2, .dilation = 2},
        ".im2col");
  // One dimension has corners of 16 bits.
  check({.kernel = "conv1d", .images = 2, .columns = 100, .filterColumns = 3, .pad = 200, .dilation = 200}, ".im2col");
}

/// Pixels without neighbours are rows of a matrix as they lie.
TEST(Pixels, OnePixelFilters) {
  check({.images = 3, .rows = 5, .columns = 7, .channels = 128, .filterRows = 1, .filterColumns = 1, .pad = 0},
        ".tile");
  check({.images = 3, .rows = 5, .columns = 7, .filterRows = 1, .filterColumns = 1, .stride = 2, .pad = 0}, ".im2col");
  check({.images = 3, .rows = 5, .columns = 7, .filterRows = 1, .filterColumns = 1, .pad = 1}, ".im2col");
}

/// The interpreter, which knows no engine, computes the same after every pass.
TEST(Pixels, EveryPassIsRight) {
  for (const Convolution &c : {Convolution{.images = 2, .rows = 6, .columns = 5, .stride = 2},
                               Convolution{.rows = 4, .columns = 9, .filterRows = 1, .filterColumns = 1, .pad = 0}}) {
    Case which = caseOf(c);
    CompileOptions options = which.options(sizesOf(c));
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    EmittedKernel emitted =
        emitKernel(which.entry->build(*which.variant), context, {options.subs, options.dynamic, options.target, {}});
    ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
    emitted.module->walk([](wave::MmaOp mma) { mma.setKind(kInstruction); });
    (*emitted.module->getOps<wave::KernelOp>().begin()).setDirectCopies(true);
    DiagnosticCollector collector(&context);
    EXPECT_TRUE(mlir::succeeded(checkPasses(*emitted.module, {}))) << format(collector.diagnostics());
  }
}

TEST(Pixels, WhatNoMapHolds) {
  // A row of the tile has channels of two places of the filter.
  check({.images = 2, .rows = 5, .columns = 6, .channels = 96}, "cp.async.cg");
  // A step of nine pixels, a corner at -130, and a tile whose end is not that of the filter.
  check({.images = 2, .rows = 30, .columns = 30, .stride = 9}, "cp.async.cg");
  check({.rows = 3, .columns = 3, .pad = 130, .dilation = 130}, "cp.async.cg");
  check({.images = 2, .rows = 5, .columns = 6, .blockK = 128}, "cp.async.cg");
}

} // namespace
} // namespace soliton::test
