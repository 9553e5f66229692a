//===- Signs.h - Signs that LLVM cannot copy, copied as bits --------------------------------===//
//
// LLVM moves conversions through a copied sign, and then has no instruction for f16 with the sign of a bf16:
//
//   fptrunc(copysign(fpext f16 %x, fpext bf16 %y))      Cannot select: f16 = fcopysign f16, bf16
//
// A sign that comes from a bf16 is therefore taken by integer operations, of which the chip makes one `v_bfi_b32`.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace llvm {
class Module;
}

namespace soliton::backend {

/// After LLVM has optimised the module: it makes copied signs of integer operations.
void copySignsAsBits(llvm::Module &module);

} // namespace soliton::backend
