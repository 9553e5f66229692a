//===- GemmTest.cpp - Whole kernels, and each of them with a part missing -===//
#include "soliton/emulator/SamplePrograms.h"
#include "soliton/emulator/TestSupport.h"
#include "soliton/support/Float.h"

#include <cmath>
#include <random>

using namespace soliton;
using namespace soliton::emu;
using samples::GemmShape;
using samples::Omit;

namespace {

struct Gemm {
  GemmShape shape;
  std::vector<uint16_t> a, b;
  std::vector<float> c;

  Gemm(const GemmShape &shape, bool integers) : shape(shape), a(shape.m * shape.k), b(shape.n * shape.k) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> real(-1, 1);
    for (std::vector<uint16_t> *matrix : {&a, &b})
      for (uint16_t &x : *matrix)
        x = uint16_t(encode(DType::f16, integers ? double(int(random() % 9) - 4) : real(random)));
  }

  /// With guard zones of 64 floats around C, which must stay as they are.
  Result launch(const Program &program, std::array<uint32_t, 3> grid, LaunchConfig config) {
    std::vector<float> guarded(size_t(shape.m) * shape.n + 128, -12345.0f);
    std::fill(guarded.begin() + 64, guarded.end() - 64, std::nanf(""));
    config.grid = grid;
    config.buffers = {
        {a.data(), a.size() * 2}, {b.data(), b.size() * 2}, {guarded.data() + 64, size_t(shape.m) * shape.n * 4}};
    Result result = run(program, config);
    for (size_t i = 0; i < 64; ++i)
      EXPECT_TRUE(guarded[i] == -12345.0f && guarded[guarded.size() - 1 - i] == -12345.0f);
    c.assign(guarded.begin() + 64, guarded.end() - 64);
    return result;
  }

  void expectRight(bool exact) const {
    std::vector<double> x, y;
    for (uint16_t bits : a)
      x.push_back(decode(DType::f16, bits));
    for (uint16_t bits : b)
      y.push_back(decode(DType::f16, bits));
    for (size_t i = 0; i < shape.m; ++i)
      for (size_t j = 0; j < shape.n; ++j) {
        double sum = 0, magnitude = 0;
        for (size_t k = 0; k < shape.k; ++k) {
          double product = x[i * shape.k + k] * y[j * shape.k + k];
          sum += product;
          magnitude += std::fabs(product);
        }
        double bound = exact ? 0 : 2 * shape.k * std::ldexp(1.0, -24) * magnitude;
        ASSERT_LE(std::fabs(c[i * shape.n + j] - sum), bound) << i << ", " << j;
      }
  }
};

struct Kernel {
  const char *name;
  Program (*make)(const GemmShape &, Omit);
  uint32_t rows;
};

const Kernel kKernels[] = {
    {"waves64", samples::gemmWaves64, 128}, {"waves32", samples::gemmWaves32, 128}, {"tiles", samples::gemmTiles, 64}};

TEST(Gemm, RightAndClean) {
  for (const Kernel &kernel : kKernels)
    for (bool integers : {true, false}) {
      Gemm gemm({256, 128, 192}, integers);
      std::array<uint32_t, 3> grid{1, 256 / kernel.rows, 1};
      Program program = kernel.make(gemm.shape, Omit::Nothing);
      Result r = gemm.launch(program, grid, {.checks = true});
      ASSERT_TRUE(r.ok()) << kernel.name << "\n" << format(r);
      gemm.expectRight(integers);
    }
}

TEST(Gemm, EveryScheduleAndLateCompletion) {
  for (const Kernel &kernel : kKernels) {
    Gemm gemm({128, 128, 128}, true);
    Program program = kernel.make(gemm.shape, Omit::Nothing);
    for (uint64_t seed : {1, 2, 3})
      for (bool checks : {true, false}) {
        Result r =
            gemm.launch(program, {1, 128 / kernel.rows, 1}, {.seed = seed, .checks = checks, .adversarial = true});
        ASSERT_TRUE(r.ok()) << kernel.name << "\n" << format(r);
        gemm.expectRight(true);
      }
  }
}

TEST(Gemm, SerializedProgramIsTheSame) {
  for (const Kernel &kernel : kKernels) {
    Program program = kernel.make({128, 128, 64}, Omit::Nothing);
    EXPECT_EQ(deserialize(serialize(program)), program);
  }
}

/// Every omission is found, whatever the schedule, and names the right repair.
TEST(Gemm, OmissionsAreFound) {
  struct Case {
    int kernel;
    Omit omit;
    FindingKind kind;
    /// What it is where the schedule lets the later access come first.
    FindingKind otherwise;
  };
  constexpr FindingKind race = FindingKind::Race, wait = FindingKind::MissingWait,
                        barrier = FindingKind::MissingBarrier;
  for (const Case &c :
       {Case{0, Omit::WaitAfterStore, wait, wait}, Case{0, Omit::BarrierAfterStore, barrier, race},
        Case{0, Omit::BarrierBeforeStore, race, barrier}, Case{1, Omit::WaitForCopy, wait, wait},
        Case{1, Omit::BarrierAfterStore, barrier, barrier}, Case{1, Omit::BarrierBeforeStore, barrier, barrier},
        Case{2, Omit::WaitForCopy, wait, FindingKind::Uninitialized}, Case{2, Omit::WaitAfterStore, wait, wait}})
    for (uint64_t seed : {0, 4}) {
      const Kernel &kernel = kKernels[c.kernel];
      Gemm gemm({128, 128, 256}, true);
      Result r =
          gemm.launch(kernel.make(gemm.shape, c.omit), {1, 128 / kernel.rows, 1}, {.seed = seed, .checks = true});
      bool found = false;
      for (FindingKind kind : kindsOf(r))
        found |= kind == c.kind || kind == c.otherwise;
      EXPECT_TRUE(found) << kernel.name << " " << int(c.omit) << "\n" << format(r);
    }
}

TEST(Gemm, Statistics) {
  Gemm gemm({128, 128, 64}, true);
  Result r = gemm.launch(samples::gemmWaves64(gemm.shape), {1, 1, 1}, {});
  EXPECT_EQ(r.statistics.mma, 4u * 2 * 2 * 16);
  EXPECT_EQ(r.statistics.barriers, 4u * 2 * 2);
  EXPECT_EQ(r.statistics.sharedAccesses, 4u * 2 * (4 + 16));
  EXPECT_EQ(r.statistics.globalAccesses, 4u * (2 * 4 + 64));
}

} // namespace
