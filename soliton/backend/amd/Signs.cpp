//===- Signs.cpp - Signs that LLVM cannot copy, copied as bits ------------------------------===//

#include "soliton/backend/amd/Signs.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace soliton::backend {

static bool takesSignOfBf16(const llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (!call || call->getIntrinsicID() != llvm::Intrinsic::copysign)
    return false;
  auto *cast = llvm::dyn_cast<llvm::CastInst>(call->getArgOperand(1));
  return cast && cast->getSrcTy()->getScalarType()->isBFloatTy();
}

void copySignsAsBits(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (!takesSignOfBf16(instruction))
        continue;
      llvm::IRBuilder<> builder(&instruction);
      llvm::Type *type = instruction.getType();
      unsigned width = type->getScalarSizeInBits();
      llvm::Type *bits = type->getWithNewType(builder.getIntNTy(width));
      llvm::APInt sign = llvm::APInt::getSignMask(width);
      auto part = [&](unsigned operand, const llvm::APInt &mask) {
        return builder.CreateAnd(builder.CreateBitCast(instruction.getOperand(operand), bits),
                                 llvm::ConstantInt::get(bits, mask));
      };
      llvm::Value *both = builder.CreateOr(part(0, ~sign), part(1, sign));
      instruction.replaceAllUsesWith(builder.CreateBitCast(both, type));
      instruction.eraseFromParent();
    }
}

} // namespace soliton::backend
