//===- Kernels.h - The few loops in which the time goes -------------------===//
//
// Small dense products and half-precision conversion. Kernels.inc is compiled twice, for every x86-64 and for x86-64-v3
// (AVX2, FMA); `kernels()` picks by what the machine has. Both give the same bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace soliton::emu {

struct Kernels {
  /// c[i][j] = fma(a[i][kk], b[kk][j], c[i][j]) for kk ascending; row-major. `exact`: every product is exact in f32, so
  /// that multiplication and addition may be separate.
  void (*productF32)(const float *a, const float *b, float *c, int m, int n, int k, bool exact);
  void (*productF64)(const double *a, const double *b, double *c, int m, int n, int k);
  /// Wraps at 32 bits.
  void (*productI32)(const int32_t *a, const int32_t *b, int32_t *c, int m, int n, int k);
  /// f16 bits in the low half of each word.
  void (*halfToFloat)(const uint32_t *from, float *to, size_t count);
  /// Nearest even.
  void (*floatToHalf)(const float *from, uint32_t *to, size_t count);
  /// fma of each element.
  void (*fmaF32)(const float *a, const float *b, const float *c, float *to, size_t count);
};

/// The best of this machine.
const Kernels &kernels();
const Kernels &baselineKernels();

} // namespace soliton::emu
