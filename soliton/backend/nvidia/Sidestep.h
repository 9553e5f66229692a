//===- Sidestep.h - What ptxas gets wrong, said differently ----------------------------===//
//
// Found by random kernels on an H200, seen in the machine code of ptxas 13.0:
//
//   neg.s16 %b, %a;  cvt.s32.s16 %c, %b;      -(-32768) is 32768: the sign is not extended again; so is |-32768|
//   add.s16x2 %b, %a, 1;  st.b16 of one half  the constant is lost where only one half is used
//   max.s16 %b, %a, 0;  setp.eq.s16 %p, %b, 0 one instruction whose predicate is that of the other half of the word
//
// So narrow numbers are negated and compared for the greater one in 32 bits, out of LLVM's sight (it would narrow them
// again), and halves of words are added one by one.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace llvm {
class Module;
}

namespace soliton::backend {

/// After LLVM has optimised the module: it makes such operations of others.
void sidestepPtxas(llvm::Module &module);

} // namespace soliton::backend
