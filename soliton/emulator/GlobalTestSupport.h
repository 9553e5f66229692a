//===- GlobalTestSupport.h - What tests of global memory share -------------===//
//
//   for (uint64_t seed : kSeeds)
//     EXPECT_TRUE(launch(program, /*grid=*/2, buffers, seed).ok());
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/TestSupport.h"

namespace soliton::emu::global {

inline constexpr std::array<uint64_t, 6> kSeeds{0, 1, 2, 3, 77, 12345};

/// Everything a test says about a launch but the program.
inline Result launch(const Program &program, uint32_t grid, std::vector<Buffer> buffers, uint64_t seed,
                     uint32_t resident = 0, bool adversarial = false) {
  return run(program, {.grid = {grid, 1, 1},
                       .buffers = std::move(buffers),
                       .seed = seed,
                       .checks = true,
                       .adversarial = adversarial,
                       .stepLimit = 1'000'000,
                       .resident = resident});
}

inline Value isWave(Builder &b, int64_t number) {
  return b.cmp(CmpOp::Eq, b.id(IdKind::Wave), b.constant(DType::i32, number));
}
inline Value firstLaneOnly(Builder &b) {
  return b.cmp(CmpOp::Eq, b.id(IdKind::Lane), b.constant(DType::i32, 0));
}

} // namespace soliton::emu::global
