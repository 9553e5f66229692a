//===- KernelsBase.cpp - Kernels for every machine, and the choice --------===//
//
// See Kernels.h.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Kernels.h"

namespace soliton::emu {
namespace {
#include "soliton/emulator/Kernels.inc"
}

const Kernels &baselineKernels() {
  return table;
}

#ifdef SOLITON_KERNELS_V3
const Kernels &kernelsV3();

const Kernels &kernels() {
  static const bool hasV3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return hasV3 ? kernelsV3() : table;
}
#else
const Kernels &kernels() {
  return table;
}
#endif

} // namespace soliton::emu
