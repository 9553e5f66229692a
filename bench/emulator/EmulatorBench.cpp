//===- EmulatorBench.cpp - How fast the emulator is -----------------------===//
//
// Two hand-built f16 matrix products: 512³ with all checks, 1024³ without. Prints seconds; asserts nothing but that the
// runs are clean and a few elements are right.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Machine.h"
#include "soliton/emulator/SamplePrograms.h"
#include "soliton/support/Float.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

using namespace soliton;
using namespace soliton::emu;

static double timeOf(const Program &program, uint32_t size, bool checks, std::array<uint32_t, 3> grid) {
  std::vector<uint16_t> a(size_t(size) * size), b(a.size());
  std::vector<float> c(a.size(), std::nanf(""));
  std::mt19937 random(1);
  for (std::vector<uint16_t> *matrix : {&a, &b})
    for (uint16_t &x : *matrix)
      x = static_cast<uint16_t>(encode(DType::f16, int(random() % 9) - 4));
  LaunchConfig config{.grid = grid,
                      .buffers = {{a.data(), a.size() * 2}, {b.data(), b.size() * 2}, {c.data(), c.size() * 4}},
                      .checks = checks};
  auto begin = std::chrono::steady_clock::now();
  Result result = run(program, config);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!result.ok())
    std::printf("%s", format(result).c_str());
  for (uint32_t sample = 0; sample < 64; ++sample) {
    size_t row = random() % size, column = random() % size;
    double sum = 0;
    for (size_t k = 0; k < size; ++k)
      sum += decode(DType::f16, a[row * size + k]) * decode(DType::f16, b[column * size + k]);
    if (c[row * size + column] != sum)
      return std::printf("wrong at %zu, %zu\n", row, column), -1;
  }
  return seconds;
}

int main() {
  for (uint32_t size : {512u, 1024u}) {
    bool checks = size == 512;
    samples::GemmShape shape{size, size, size};
    std::array<uint32_t, 3> grid{size / 128, size / 128, 1};
    const char *how = checks ? "with all checks" : "without checks";
    std::printf("%u^3 f16, waves of 64, 16x16x16, %s: %.3f s\n", size, how,
                timeOf(samples::gemmWaves64(shape), size, checks, grid));
    std::printf("%u^3 f16, waves of 32, 16x8x16 + row matrices, %s: %.3f s\n", size, how,
                timeOf(samples::gemmWaves32(shape), size, checks, grid));
    std::printf("%u^3 f16, waves of 32, 64x128x16 + tile copies, %s: %.3f s\n", size, how,
                timeOf(samples::gemmTiles(shape), size, checks, {size / 128, size / 64, 1}));
  }
}
