//===- SamplePrograms.h - Hand-built kernels for tests and benchmarks -----===//
//
// C[m][n] = sum over k of A[m][k] * B[n][k], f16 in, f32 out, rows contiguous; m and n multiples of 128, k of 32. The
// buffers are A, B, C; the grid is {n / 128, m / 128, 1}.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Builder.h"

namespace soliton::emu::samples {

struct GemmShape {
  uint32_t m = 128, n = 128, k = 32;
};

/// What is left out, to see it found.
enum class Omit { Nothing, WaitAfterStore, BarrierAfterStore, BarrierBeforeStore, WaitForCopy };

/// 16x16x16 product of waves of 64: lane l holds row l%16, k = 4 (l/16) + e of A and B, rows 4 (l/16) + e of C.
MmaKind mma16x16x16();

/// 16x8x16 product of waves of 32.
MmaKind mma16x8x16();

/// 64xNx16 asynchronous product of four waves of 32, A and B in shared memory.
MmaKind mma64xNx16(uint32_t n);

/// Four waves of 64, global → register → padded shared tile, tile 128x128x32.
Program gemmWaves64(const GemmShape &shape, Omit omit = Omit::Nothing);

/// Four waves of 32, copy_async into padded shared tiles, row matrices, tile 128x128x32.
Program gemmWaves32(const GemmShape &shape, Omit omit = Omit::Nothing);

/// Eight waves of 32: wave 4 copies tiles (two stages, mbarriers full and empty), waves 0..3 multiply 64x128x64 tiles
/// with mma_async. Grid {n / 128, m / 64, 1}; k a multiple of 64. `Omit::WaitForCopy` leaves out the wait for `full`,
/// `Omit::WaitAfterStore` the wait for the products before `empty` is signalled.
Program gemmTiles(const GemmShape &shape, Omit omit = Omit::Nothing);

} // namespace soliton::emu::samples
