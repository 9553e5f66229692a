//===- Matrix.cpp - MFMA ----------------------------------------------------------===//
//
// `kind` is the instruction's mnemonic. LLVM names its intrinsics after three generations of spelling; the table knows
// them.
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/amd/AmdTranslator.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace soliton::backend {

using llvm::LogicalResult;
using llvm::Value;
using mlir::success;
namespace I = llvm::Intrinsic;

namespace {
struct Mfma {
  llvm::StringLiteral name;
  I::ID id;
};
} // namespace

static constexpr Mfma kMfmas[] = {
    {"mfma_f32_32x32x8_f16", I::amdgcn_mfma_f32_32x32x8f16},
    {"mfma_f32_16x16x16_f16", I::amdgcn_mfma_f32_16x16x16f16},
    {"mfma_f32_32x32x4_2b_f16", I::amdgcn_mfma_f32_32x32x4f16},
    {"mfma_f32_16x16x4_4b_f16", I::amdgcn_mfma_f32_16x16x4f16},
    {"mfma_f32_4x4x4_16b_f16", I::amdgcn_mfma_f32_4x4x4f16},
    {"mfma_f32_32x32x8_bf16", I::amdgcn_mfma_f32_32x32x8bf16_1k},
    {"mfma_f32_16x16x16_bf16", I::amdgcn_mfma_f32_16x16x16bf16_1k},
    {"mfma_f32_32x32x4_2b_bf16", I::amdgcn_mfma_f32_32x32x4bf16_1k},
    {"mfma_f32_16x16x4_4b_bf16", I::amdgcn_mfma_f32_16x16x4bf16_1k},
    {"mfma_f32_4x4x4_16b_bf16", I::amdgcn_mfma_f32_4x4x4bf16_1k},
    {"mfma_f32_32x32x2_f32", I::amdgcn_mfma_f32_32x32x2f32},
    {"mfma_f32_16x16x4_f32", I::amdgcn_mfma_f32_16x16x4f32},
    {"mfma_f32_32x32x1_2b_f32", I::amdgcn_mfma_f32_32x32x1f32},
    {"mfma_f32_16x16x1_4b_f32", I::amdgcn_mfma_f32_16x16x1f32},
    {"mfma_f32_4x4x1_16b_f32", I::amdgcn_mfma_f32_4x4x1f32},
    {"mfma_f64_16x16x4_f64", I::amdgcn_mfma_f64_16x16x4f64},
    {"mfma_f64_4x4x4_4b_f64", I::amdgcn_mfma_f64_4x4x4f64},
    {"mfma_i32_32x32x16_i8", I::amdgcn_mfma_i32_32x32x16_i8},
    {"mfma_i32_16x16x32_i8", I::amdgcn_mfma_i32_16x16x32_i8},
    {"mfma_i32_32x32x4_2b_i8", I::amdgcn_mfma_i32_32x32x4i8},
    {"mfma_i32_16x16x4_4b_i8", I::amdgcn_mfma_i32_16x16x4i8},
    {"mfma_i32_4x4x4_16b_i8", I::amdgcn_mfma_i32_4x4x4i8},
    {"mfma_f32_32x32x4_xf32", I::amdgcn_mfma_f32_32x32x4_xf32},
    {"mfma_f32_16x16x8_xf32", I::amdgcn_mfma_f32_16x16x8_xf32},
    {"mfma_f32_32x32x16_fp8_fp8", I::amdgcn_mfma_f32_32x32x16_fp8_fp8},
    {"mfma_f32_32x32x16_fp8_bf8", I::amdgcn_mfma_f32_32x32x16_fp8_bf8},
    {"mfma_f32_32x32x16_bf8_fp8", I::amdgcn_mfma_f32_32x32x16_bf8_fp8},
    {"mfma_f32_32x32x16_bf8_bf8", I::amdgcn_mfma_f32_32x32x16_bf8_bf8},
    {"mfma_f32_16x16x32_fp8_fp8", I::amdgcn_mfma_f32_16x16x32_fp8_fp8},
    {"mfma_f32_16x16x32_fp8_bf8", I::amdgcn_mfma_f32_16x16x32_fp8_bf8},
    {"mfma_f32_16x16x32_bf8_fp8", I::amdgcn_mfma_f32_16x16x32_bf8_fp8},
    {"mfma_f32_16x16x32_bf8_bf8", I::amdgcn_mfma_f32_16x16x32_bf8_bf8},
    {"mfma_f32_32x32x16_f16", I::amdgcn_mfma_f32_32x32x16_f16},
    {"mfma_f32_16x16x32_f16", I::amdgcn_mfma_f32_16x16x32_f16},
    {"mfma_f32_32x32x16_bf16", I::amdgcn_mfma_f32_32x32x16_bf16},
    {"mfma_f32_16x16x32_bf16", I::amdgcn_mfma_f32_16x16x32_bf16},
    {"mfma_i32_32x32x32_i8", I::amdgcn_mfma_i32_32x32x32_i8},
    {"mfma_i32_16x16x64_i8", I::amdgcn_mfma_i32_16x16x64_i8},
    {"mfma_f32_32x32x64_f8f6f4", I::amdgcn_mfma_scale_f32_32x32x64_f8f6f4},
    {"mfma_f32_16x16x128_f8f6f4", I::amdgcn_mfma_scale_f32_16x16x128_f8f6f4},
    {"mfma_scale_f32_32x32x64_f8f6f4", I::amdgcn_mfma_scale_f32_32x32x64_f8f6f4},
    {"mfma_scale_f32_16x16x128_f8f6f4", I::amdgcn_mfma_scale_f32_16x16x128_f8f6f4},
};

static bool isScaled(I::ID id) {
  return id == I::amdgcn_mfma_scale_f32_32x32x64_f8f6f4 || id == I::amdgcn_mfma_scale_f32_16x16x128_f8f6f4;
}

/// LLVM makes one of two products that it finds to be of the same numbers: pieces of a constant tile look alike, and
/// those that a mask turns off. It must not know such a factor's numbers. A constant is hidden for each product anew; a
/// masked piece, which many products share, once in each block. Selection keeps the order of the IR only as far as it
/// keeps its nodes: a product whose first factor passes such an assembly cannot come before it.
void AmdTranslator::hideNumbers(llvm::MutableArrayRef<Value *> factors) {
  if (!countsAccesses)
    return;
  auto hide = [&](Value *factor) -> Value * {
    return assembly(factor->getType(), "", "=v,0", {factor}, AsmEffect::memory);
  };
  if (options.pin) {
    factors[0] = hide(factors[0]);
    return;
  }
  for (Value *&factor : factors)
    if (knownNumbers.of(factor) == Known::always) {
      factor = hide(factor);
      return;
    }
  for (Value *&factor : factors)
    if (knownNumbers.of(factor) == Known::whereMasked) {
      Value *&hidden = hiddenFactors[{factor, builder.GetInsertBlock()}];
      factor = hidden = hidden ? hidden : hide(factor);
    }
}

LogicalResult AmdTranslator::translate(machine::MmaOp op) {
  llvm::StringRef kind = op.getKind();
  kind.consume_front("v_");
  std::vector<std::string> legal = nativeMmas(/*async=*/false);
  bool onTarget = llvm::any_of(legal, [&](llvm::StringRef name) { return name == kind || name.drop_front(2) == kind; });
  const Mfma *row = llvm::find_if(kMfmas, [&](const Mfma &m) { return m.name == kind; });
  if (!onTarget || row == std::end(kMfmas))
    return notOnTarget(op, "matrix instruction", op.getKind(), legal);
  if (isScaled(row->id))
    return translateScaled(op, row->id);
  if (!op.getScales().empty())
    return unsupported(op) << "`" << op.getKind() << "` takes no scales";
  llvm::FunctionType *type = I::getType(context, row->id);
  Value *operands[] = {get(op.getLhs()), get(op.getRhs()), get(op.getAcc())};
  llvm::SmallVector<Value *> args;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    llvm::Type *wanted = type->getParamType(i);
    if (bitsOf(operand->getType()) != bitsOf(wanted))
      return unsupported(op) << "operand " << i << " of `" << op.getKind() << "` has type "
                             << op->getOperand(i).getType() << ", expected " << bitsOf(wanted) << " bits a lane";
    args.push_back(bits(operand, wanted));
  }
  hideNumbers(llvm::MutableArrayRef(args).take_front(2));
  args.append({i32(0), i32(0), i32(0)}); // no broadcast, no lane permutation
  llvm::CallInst *product = call(row->id, {}, args);
  keep(product);
  set(op, bits(product, operands[2]->getType()));
  return success();
}

/// The format field of an operand of the f8f6f4 instructions.
static std::optional<int> formatOf(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  if (llvm::isa<mlir::Float8E4M3FNType>(element))
    return 0;
  if (llvm::isa<mlir::Float8E5M2Type>(element))
    return 1;
  if (llvm::isa<mlir::Float6E2M3FNType>(element))
    return 2;
  if (llvm::isa<mlir::Float6E3M2FNType>(element))
    return 3;
  if (llvm::isa<mlir::Float4E2M1FNType>(element))
    return 4;
  return std::nullopt;
}

/// Scales are one to four bytes of a register, one of which the instruction takes.
LogicalResult AmdTranslator::translateScaled(machine::MmaOp op, I::ID id) {
  std::optional<int> lhs = formatOf(op.getLhs().getType()), rhs = formatOf(op.getRhs().getType());
  // What bytes were read as needs not be taken apart.
  auto wordsOf = [&](mlir::Value factor) {
    auto cast = factor.getDefiningOp<mlir::vector::BitCastOp>();
    return toWords(get(cast ? cast.getSource() : factor));
  };
  Value *a = wordsOf(op.getLhs()), *b = wordsOf(op.getRhs()), *acc = get(op.getAcc());
  auto fits = [&](std::optional<int> format, Value *words) { // 32 elements a lane
    unsigned width = format ? (*format <= 1 ? 8 : *format <= 3 ? 6 : 4) : 0;
    return format && countOf(words->getType()) == width;
  };
  if (!fits(lhs, a) || !fits(rhs, b) ||
      acc->getType() != I::getType(context, id, {a->getType(), b->getType()})->getReturnType())
    return unsupported(op) << "`" << op.getKind() << "` on " << op.getLhs().getType() << ", " << op.getRhs().getType()
                           << " and " << op.getAcc().getType()
                           << ", expected 32 elements a lane of f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN or "
                           << "f4E2M1FN and its f32 accumulator";
  Value *factors[] = {a, b};
  hideNumbers(factors);
  // Without scales both are 0, for which LLVM takes the instruction that has none.
  Value *scales[] = {i32(0), i32(0)}, *bytes[] = {i32(0), i32(0)};
  for (auto [i, scale] : llvm::enumerate(op.getScales())) {
    Value *held = get(scale);
    llvm::Type *integer = builder.getIntNTy(bitsOf(held->getType()));
    scales[i] = builder.CreateZExt(builder.CreateBitCast(held, integer), builder.getInt32Ty());
    bytes[i] = i32(static_cast<int>(op.getScaleBytes()[i]));
  }
  llvm::CallInst *product =
      call(id, {a->getType(), b->getType()},
           {factors[0], factors[1], acc, i32(*lhs), i32(*rhs), bytes[0], scales[0], bytes[1], scales[1]});
  keep(product);
  set(op, product);
  return success();
}

} // namespace soliton::backend
