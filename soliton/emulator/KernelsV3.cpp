//===- KernelsV3.cpp - Kernels for machines with AVX2 and FMA -------------===//
//
// Compiled with flags of its own; reached only through the run-time check in KernelsBase.cpp.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Kernels.h"

#define SOLITON_HAVE_FMA

namespace soliton::emu {
namespace {
#include "soliton/emulator/Kernels.inc"
}

const Kernels &kernelsV3();
const Kernels &kernelsV3() {
  return table;
}

} // namespace soliton::emu
