//===- TileCopyTest.cpp - Kernels with tile copies, from their text to a launch ---------===//
//
// Machine form as it stands in test/backend, translated for the emulator, with an image as the compiler makes it: sizes
// that only the launch knows reach the tensor maps, and a launch that tile copies cannot serve is refused.
//
//===----------------------------------------------------------------------===//
#include "soliton/driver/LaunchInfo.h"

#include "soliton/backend/emulator/Translate.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/runtime/EmulatorDevice.h"
#include "soliton/support/Float.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace soliton {
namespace {
using rt::LaunchExpr;
using rt::LaunchOp;

std::string readInput(const std::string &file) {
  std::ifstream stream(std::string(SOLITON_BACKEND_INPUTS) + "/" + file);
  EXPECT_TRUE(stream) << file;
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// The image of a kernel over `a: f16[M, K]` and `b`, whose symbols are M and, where there are two, K.
rt::KernelImage imageOf(const std::string &text, std::vector<LaunchExpr> outShape, std::array<LaunchExpr, 3> grid) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticCollector collector(&context);
  context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::scf::SCFDialect,
                      mlir::vector::VectorDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << format(collector.diagnostics());
  auto kernel = *module->getOps<machine::KernelOp>().begin();
  rt::KernelImage image;
  image.kernel = image.entry = kernel.getSymName().str();
  image.target = kernel.getTarget().str();
  image.threads = {static_cast<uint32_t>(kernel.getWaves() * kernel.getWaveSize()), 1, 1};
  image.grid = std::move(grid);
  bool hasColumns = kernel.block().getArgument(3).getType().isInteger(32);
  rt::ArgumentSpec a;
  a.name = "a";
  a.dtype = DType::f16;
  a.shape = {LaunchExpr::symbol(0), hasColumns ? LaunchExpr::symbol(1) : LaunchExpr(64)};
  rt::ArgumentSpec b = a;
  b.name = "b";
  b.shape = std::move(outShape);
  b.isOutput = true;
  image.arguments = {a, b};
  image.symbols = {{"M", 0, 0}};
  if (hasColumns)
    image.symbols.push_back({cast<StringAttr>(kernel.getArgNames()[3]).str(), 0, 1});
  addNeeds(image, kernel);
  mlir::FailureOr<emu::Program> program = translateToEmulator(kernel, *findTarget("sm_90a"));
  EXPECT_TRUE(mlir::succeeded(program)) << format(collector.diagnostics());
  std::vector<uint8_t> code = emu::serialize(*program);
  image.code.resize(code.size());
  std::memcpy(image.code.data(), code.data(), code.size());
  // What a file holds is what was made.
  EXPECT_EQ(rt::deserialize(rt::serialize(image)), image);
  return image;
}

LaunchExpr ceildiv(uint32_t symbol, int64_t by) {
  return LaunchExpr::apply(LaunchOp::ceildiv, {LaunchExpr::symbol(symbol), by});
}

rt::KernelImage overRowsAndColumns(const std::string &text) {
  return imageOf(text, {LaunchExpr::symbol(0), LaunchExpr::symbol(1)}, {ceildiv(1, 64), ceildiv(0, 32), 1});
}

/// Small integers, so that doubling and adding are exact; the arrays begin at a multiple of 16 bytes.
struct Arrays {
  Arrays(int64_t rows, int64_t columns, int64_t outRows) : a(Count(rows * columns)), b(Count(outRows * columns)) {
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = half(int64_t(i * 7 % 1000));
    std::fill(b.begin(), b.end(), half(3));
    in = rt::Tensor::dense(a.data(), DType::f16, {rows, columns});
    out = rt::Tensor::dense(b.data(), DType::f16, {outRows, columns});
  }
  static size_t Count(int64_t count) { return static_cast<size_t>(count); }
  static uint16_t half(int64_t value) { return static_cast<uint16_t>(encode(DType::f16, double(value))); }

  std::vector<uint16_t> a, b;
  rt::Tensor in, out;
};

void launch(const rt::KernelImage &image, Arrays &arrays, uint64_t seed = 1) {
  auto device = rt::makeEmulatorDevice({.checks = true, .adversarial = true, .seed = seed});
  device->load(image)->launch({arrays.in, arrays.out});
}

TEST(TileCopy, RowsOfAnyNumberAndColumnsOfEight) {
  rt::KernelImage image = overRowsAndColumns(readInput("tile-copy.mlir"));
  for (auto [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {32, 64}, {64, 128}, {1, 8}, {33, 72}, {100, 200}, {31, 56}, {7, 8}, {2, 1000}}) {
    Arrays arrays(rows, columns, rows);
    launch(image, arrays);
    EXPECT_EQ(arrays.a, arrays.b) << rows << " x " << columns;
  }
}

TEST(TileCopy, RowsThatDoNotBeginAtSixteenBytesAreRefused) {
  rt::KernelImage image = overRowsAndColumns(readInput("tile-copy.mlir"));
  EXPECT_EQ(image.arguments[0].alignment, 16);
  Arrays odd(33, 65, 33), one(1, 72, 1), beside(32, 64, 32);
  try {
    launch(image, odd);
    ADD_FAILURE() << "rows of 130 bytes were copied";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.diagnostics()[0].id, DiagId::TileCopyTensor) << error.what();
    EXPECT_NE(std::string(error.what()).find("the distance of neighbours in bytes, `2 * K`, is 130"), std::string::npos)
        << error.what();
  }
  beside.in.data = beside.a.data() + 4;
  beside.in.shape[0] = beside.out.shape[0] = 31;
  try {
    launch(image, beside);
    ADD_FAILURE() << "an address of 8 beyond a multiple of 16 was taken";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.diagnostics()[0].id, DiagId::ArgumentAlignment) << error.what();
  }
}

TEST(TileCopy, BothDirections) {
  std::string text = readInput("tile-store.mlir");
  rt::KernelImage image = overRowsAndColumns(text);
  rt::KernelImage adding =
      overRowsAndColumns(replaced(text, "[%column0, %row0], [%c0]\n", "[%column0, %row0], [%c0] {add}\n"));
  for (auto [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{{32, 64}, {33, 72}, {5, 8}, {100, 136}})
    for (bool adds : {false, true}) {
      Arrays arrays(rows, columns, rows);
      launch(adds ? adding : image, arrays);
      for (size_t i = 0; i < arrays.a.size(); ++i)
        ASSERT_EQ(arrays.b[i], Arrays::half(int64_t(i * 7 % 1000) * 2 + (adds ? 3 : 0)))
            << rows << " " << columns << " " << i;
    }
}

/// What the emulator finds, as text.
std::string findingOf(const rt::KernelImage &image) {
  Arrays arrays(64, 128, 64);
  try {
    launch(image, arrays);
  } catch (const CompileError &error) {
    EXPECT_EQ(error.diagnostics()[0].id, DiagId::EmulatorFinding);
    return error.what();
  }
  return "nothing";
}

TEST(TileCopy, WhatIsLeftOutIsFound) {
  std::string text = readInput("tile-store.mlir");
  auto without = [&](const std::string &line) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
    return findingOf(overRowsAndColumns(replaced(text, line, "")));
  };
  auto expect = [](const std::string &found, const std::string &what) {
    EXPECT_NE(found.find(what), std::string::npos) << found;
  };
  expect(without("  machine.fence shared_async\n"), "insert `fence proxy` after it");
  expect(without("    machine.wait bulk, 0 {read}\n"), "ends while `store_tile` may still read shared memory");
  expect(without("  machine.mbarrier_wait %mbarrier, %c0\n"), "wait for that phase of the tile copy's mbarrier first");
  expect(findingOf(overRowsAndColumns(replaced(text, "expect = 4096", "expect = 8192"))),
         "whose mbarrier at shared byte 4096 lacks 0 arrivals and 4096 bytes");
  expect(findingOf(overRowsAndColumns(replaced(text, "%map_a [%column0, %row0]", "%map_a [%c4, %row0]"))),
         "`copy_tile` of `map_a` in wave 0 begins at byte 8 of its rows, expected a multiple of 16");
}

TEST(TileCopy, MulticastInAClusterOfTwo) {
  LaunchExpr m = LaunchExpr::symbol(0);
  auto image = [&](const std::string &text) {
    return imageOf(text, {LaunchExpr::apply(LaunchOp::mul, {m, 2}), 64},
                   {LaunchExpr::apply(LaunchOp::mul, {ceildiv(0, 64), 2}), 1, 1});
  };
  std::string text = readInput("multicast.mlir");
  rt::KernelImage right = image(text);
  EXPECT_EQ(right.cluster, (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_TRUE(right.isDependent);
  for (uint64_t seed : {0u, 1u, 2u, 3u})
    for (int64_t rows : {64, 192}) {
      Arrays arrays(rows, 64, 2 * rows);
      launch(right, arrays, seed);
      for (size_t i = 0; i < arrays.b.size(); ++i)
        ASSERT_EQ(arrays.b[i], arrays.a[i % arrays.a.size()]) << rows << " " << i;
    }
  auto findingWithout = [&](const std::string &line) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
    Arrays arrays(64, 64, 128);
    try {
      launch(image(replaced(text, line, "")), arrays, 0);
    } catch (const CompileError &error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(findingWithout("  machine.cluster_arrive\n  machine.cluster_wait\n").find("of the cluster"),
            std::string::npos);
}

} // namespace
} // namespace soliton
