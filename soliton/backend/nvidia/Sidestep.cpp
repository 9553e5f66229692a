//===- Sidestep.cpp - What ptxas gets wrong, said differently --------------------------===//

#include "soliton/backend/nvidia/Sidestep.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

namespace soliton::backend {

using llvm::Value;

static bool isNarrow(llvm::Type *type) {
  return type->isIntOrIntVectorTy() && type->getScalarSizeInBits() < 32 && type->getScalarSizeInBits() > 1;
}

namespace {
/// A narrow operation as one of 32 bits on its operands, shifted left afterwards: `x * -8` is `-x << 3`.
struct WideOperation {
  const char *text = nullptr;
  llvm::SmallVector<Value *, 2> operands;
  unsigned shift = 0;
  bool isSigned = true;
};
} // namespace

static WideOperation wideExtreme(const llvm::MinMaxIntrinsic &extreme) {
  bool isSigned = extreme.isSigned();
  auto text = [&](const char *ofSigned, const char *ofUnsigned) { return isSigned ? ofSigned : ofUnsigned; };
  bool isGreatest = llvm::ICmpInst::isGT(extreme.getPredicate());
  return {isGreatest ? text("max.s32 $0, $1, $2;", "max.u32 $0, $1, $2;")
                     : text("min.s32 $0, $1, $2;", "min.u32 $0, $1, $2;"),
          {extreme.getLHS(), extreme.getRHS()},
          0,
          isSigned};
}

static WideOperation wideOperation(llvm::Instruction &instruction) {
  using namespace llvm::PatternMatch;
  if (!isNarrow(instruction.getType()))
    return {};
  Value *operand = nullptr;
  const llvm::APInt *factor = nullptr;
  if (match(&instruction, m_Neg(m_Value(operand))))
    return {"neg.s32 $0, $1;", {operand}};
  if (match(&instruction, m_Mul(m_Value(operand), m_APInt(factor))) && factor->isNegatedPowerOf2())
    return {"neg.s32 $0, $1;", {operand}, (-*factor).logBase2()};
  if (match(&instruction, m_Intrinsic<llvm::Intrinsic::abs>(m_Value(operand))))
    return {"abs.s32 $0, $1;", {operand}};
  if (auto *extreme = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&instruction))
    return wideExtreme(*extreme);
  return {};
}

static bool addsHalves(const llvm::Instruction &instruction) {
  unsigned opcode = instruction.getOpcode();
  return instruction.getType()->isVectorTy() && instruction.getType()->getScalarSizeInBits() == 16 &&
         (opcode == llvm::Instruction::Add || opcode == llvm::Instruction::Sub);
}

/// A value of the type, made of what `each` makes of the elements of `operands`.
static Value *byElements(llvm::IRBuilder<> &builder, llvm::Type *type, llvm::ArrayRef<Value *> operands,
                         llvm::function_ref<Value *(llvm::ArrayRef<Value *>)> each) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector)
    return each(operands);
  Value *result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    llvm::SmallVector<Value *> elements;
    for (Value *operand : operands)
      elements.push_back(builder.CreateExtractElement(operand, i));
    result = builder.CreateInsertElement(result, each(elements), i);
  }
  return result;
}

static Value *inWords(llvm::IRBuilder<> &builder, const WideOperation &operation) {
  llvm::Type *word = builder.getInt32Ty(), *narrow = operation.operands[0]->getType();
  llvm::SmallVector<llvm::Type *> words(operation.operands.size(), word);
  auto *type = llvm::FunctionType::get(word, words, false);
  auto *code =
      llvm::InlineAsm::get(type, operation.text, words.size() == 1 ? "=r,r" : "=r,r,r", /*hasSideEffects=*/false);
  return byElements(builder, narrow, operation.operands, [&](llvm::ArrayRef<Value *> elements) -> Value * {
    llvm::SmallVector<Value *> wide;
    for (Value *element : elements)
      wide.push_back(builder.CreateIntCast(element, word, operation.isSigned));
    llvm::CallInst *call = builder.CreateCall(type, code, wide);
    call->setDoesNotThrow();
    call->setDoesNotAccessMemory();
    return builder.CreateShl(builder.CreateTrunc(call, narrow->getScalarType()), operation.shift);
  });
}

static Value *replacementFor(llvm::Instruction &instruction) {
  llvm::IRBuilder<> builder(&instruction);
  if (WideOperation operation = wideOperation(instruction); operation.text)
    return inWords(builder, operation);
  if (!addsHalves(instruction))
    return nullptr;
  auto opcode = static_cast<llvm::Instruction::BinaryOps>(instruction.getOpcode());
  return byElements(
      builder, instruction.getType(), {instruction.getOperand(0), instruction.getOperand(1)},
      [&](llvm::ArrayRef<Value *> elements) { return builder.CreateBinOp(opcode, elements[0], elements[1]); });
}

void sidestepPtxas(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
      if (Value *replacement = replacementFor(instruction)) {
        instruction.replaceAllUsesWith(replacement);
        instruction.eraseFromParent();
      }
}

} // namespace soliton::backend
