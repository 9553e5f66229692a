//===- Translator.cpp - Kernel, types and the tools of the translation --------===//

#include "soliton/backend/common/Translator.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DataLayout.h"

namespace soliton::backend {

using llvm::LogicalResult;
using mlir::failed;
using mlir::failure;
using mlir::success;

Translator::Translator(machine::KernelOp kernel, const Target &target, const Options &options, llvm::Module &module)
    : kernel(kernel), target(target), options(options), module(module), context(module.getContext()), builder(context) {
}

LogicalResult Translator::run() {
  if (failed(declareKernel()))
    return failure();
  if (options.lineInfo)
    lines.begin(*function, kernel.getLoc(), target.vendor == Vendor::nvidia);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  builder.SetCurrentDebugLocation(lines.at(kernel.getLoc()));
  if (kernel.getSharedBytes() > 0)
    declareShared();
  setAttributes();
  beginBody();
  if (failed(translateBlock(kernel.block())))
    return failure();
  builder.SetCurrentDebugLocation(lines.at(kernel.getLoc()));
  builder.CreateRetVoid();
  lines.finish();
  return success();
}

LogicalResult Translator::declareKernel() {
  constexpr uint32_t mapBytes = 128, mapAlignment = 64;
  if (kernel.clusterSize() > target.maxClusterSize)
    return unsupported(kernel) << "clusters of " << kernel.clusterSize() << " workgroups, expected at most "
                               << target.maxClusterSize << " on " << target.name;
  if (kernel.getDependent() && !target.hasDependentLaunches)
    return unsupported(kernel) << "`" << target.name << "` has no launches that begin before those ahead of them end, "
                               << "expected a kernel that is not `dependent`";
  const llvm::DataLayout &layout = module.getDataLayout();
  llvm::SmallVector<llvm::Type *> types;
  for (auto [argument, name] : llvm::zip(kernel.block().getArguments(), kernel.getArgNames())) {
    bool isMap = llvm::isa<machine::MapType>(argument.getType());
    if (isMap && !target.hasTileCopy)
      return unsupported(kernel) << "`" << target.name << "` has no tile copies, expected a kernel without tensor maps";
    // A descriptor that the launch passes by value, at a generic address.
    llvm::Type *type = isMap ? llvm::PointerType::get(context, 0) : convert(argument.getType(), kernel.getLoc());
    if (!type)
      return failure();
    Parameter parameter;
    parameter.name = llvm::cast<mlir::StringAttr>(name).str();
    parameter.kind = isMap                 ? ParameterKind::tensorMap
                     : type->isPointerTy() ? ParameterKind::pointer
                                           : ParameterKind::scalar;
    parameter.size = isMap ? mapBytes : static_cast<uint32_t>(layout.getTypeStoreSize(type));
    uint32_t alignment = isMap ? mapAlignment : static_cast<uint32_t>(layout.getABITypeAlign(type).value());
    parameter.offset = static_cast<uint32_t>(llvm::alignTo(parameterSize, alignment));
    parameterSize = parameter.offset + parameter.size;
    parameterList.push_back(parameter);
    types.push_back(type);
  }
  auto *type = llvm::FunctionType::get(builder.getVoidTy(), types, false);
  function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kernel.getSymName(), module);
  for (auto [argument, value, parameter] : llvm::zip(kernel.block().getArguments(), function->args(), parameterList)) {
    value.setName(parameter.name);
    set(argument, &value);
    if (parameter.kind != ParameterKind::tensorMap)
      continue;
    auto *bytes = llvm::ArrayType::get(builder.getInt8Ty(), mapBytes);
    value.addAttr(llvm::Attribute::getWithByValType(context, bytes));
    value.addAttr(llvm::Attribute::getWithAlignment(context, llvm::Align(mapAlignment)));
    value.addAttr(llvm::Attribute::get(context, "nvvm.grid_constant"));
  }
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr(llvm::Attribute::NoRecurse);
  return success();
}

LogicalResult Translator::translateBlock(mlir::Block &block) {
  for (mlir::Operation &op : block) {
    if (op.hasTrait<mlir::OpTrait::IsTerminator>())
      break; // the op around the block reads its operands
    builder.SetCurrentDebugLocation(lines.at(op.getLoc()));
    if (failed(translate(&op)))
      return failure();
  }
  return success();
}

LogicalResult Translator::translate(mlir::Operation *op) {
  llvm::StringRef dialect = op->getName().getDialectNamespace();
  builder.clearFastMathFlags();
  if (dialect == "arith")
    return translateArith(op);
  if (dialect == "vector")
    return translateVector(op);
  if (dialect == "machine")
    return translateMachine(op);
  if (dialect == "math")
    return translateMath(op);
  if (dialect == "scf")
    return translateControl(op);
  return notOfTheForm(op);
}

LogicalResult Translator::notOfTheForm(mlir::Operation *op) {
  return unsupported(op) << "`" << op->getName().getStringRef() << "` is no op of the machine form";
}

//===-- Types and values ------------------------------------------------------===//

llvm::Type *Translator::convert(mlir::Type type, mlir::Location loc) {
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(type)) {
    if (vector.getRank() != 1 || vector.isScalable()) {
      (void)(report(loc, DiagId::BackendUnsupported) << "a value has type " << type << ", expected a vector of rank 1");
      return nullptr;
    }
    llvm::Type *element = convert(vector.getElementType(), loc);
    return element ? vectorOf(element, static_cast<size_t>(vector.getNumElements())) : nullptr;
  }
  if (type.isF16())
    return builder.getHalfTy();
  if (type.isBF16())
    return builder.getBFloatTy();
  if (type.isF32())
    return builder.getFloatTy();
  if (type.isF64())
    return builder.getDoubleTy();
  if (type.isIntOrFloat() && (llvm::isa<mlir::IntegerType>(type) || type.getIntOrFloatBitWidth() <= 8))
    return intType(type.getIntOrFloatBitWidth());
  if (llvm::isa<machine::PtrType>(type))
    return llvm::PointerType::get(context, kGlobalSpace);
  if (llvm::isa<machine::BufferType>(type))
    return bufferType();
  (void)(report(loc, DiagId::BackendUnsupported) << "a value has type " << type << ", which no target has");
  return nullptr;
}

unsigned Translator::bitsOf(llvm::Type *type) {
  return type->getPrimitiveSizeInBits().getFixedValue();
}

unsigned Translator::countOf(llvm::Type *type) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? vector->getNumElements() : 1;
}

llvm::Type *Translator::vectorOf(llvm::Type *element, size_t count) {
  return count == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
}

llvm::Value *Translator::bits(llvm::Value *value, llvm::Type *type) {
  return value->getType() == type ? value : builder.CreateBitCast(value, type);
}

llvm::Value *Translator::toWords(llvm::Value *value) {
  unsigned width = bitsOf(value->getType());
  if (width <= 32)
    return builder.CreateZExt(bits(value, intType(width)), builder.getInt32Ty());
  if (width % 32 != 0) { // whole words, the rest zero
    value = builder.CreateZExt(bits(value, intType(width)), intType(llvm::alignTo(width, 32)));
    width = llvm::alignTo(width, 32);
  }
  return bits(value, llvm::FixedVectorType::get(builder.getInt32Ty(), width / 32));
}

llvm::Value *Translator::fromWords(llvm::Value *words, llvm::Type *type) {
  unsigned width = bitsOf(type), have = bitsOf(words->getType());
  if (width == have)
    return bits(words, type);
  return bits(builder.CreateTrunc(bits(words, intType(have)), intType(width)), type);
}

llvm::SmallVector<llvm::Value *> Translator::elements(llvm::Value *value) {
  if (!value->getType()->isVectorTy())
    return {value};
  llvm::SmallVector<llvm::Value *> list;
  for (unsigned i = 0; i < countOf(value->getType()); ++i)
    list.push_back(builder.CreateExtractElement(value, i));
  return list;
}

llvm::Value *Translator::fromElements(llvm::ArrayRef<llvm::Value *> list, llvm::Type *type) {
  if (!type->isVectorTy())
    return list.front();
  llvm::Value *result = llvm::PoisonValue::get(type);
  for (auto [i, element] : llvm::enumerate(list))
    result = builder.CreateInsertElement(result, element, i);
  return result;
}

llvm::Value *Translator::mapElements(llvm::Value *value, llvm::function_ref<llvm::Value *(llvm::Value *)> function) {
  llvm::SmallVector<llvm::Value *> list = elements(value);
  for (llvm::Value *&element : list)
    element = function(element);
  return fromElements(list, vectorOf(list.front()->getType(), list.size()));
}

//===-- Emission --------------------------------------------------------------===//

llvm::CallInst *Translator::call(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type *> overloads,
                                 llvm::ArrayRef<llvm::Value *> args) {
  return builder.CreateIntrinsic(id, overloads, args);
}

llvm::CallInst *Translator::assembly(llvm::Type *result, llvm::StringRef text, llvm::StringRef constraints,
                                     llvm::ArrayRef<llvm::Value *> args, AsmEffect effect) {
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *argument : args)
    types.push_back(argument->getType());
  auto *type = llvm::FunctionType::get(result, types, false);
  auto *code = llvm::InlineAsm::get(type, text, constraints, effect == AsmEffect::memory);
  llvm::CallInst *call = builder.CreateCall(type, code, args);
  call->setDoesNotThrow();
  if (effect != AsmEffect::none)
    call->setConvergent();
  if (effect != AsmEffect::memory)
    call->setDoesNotAccessMemory();
  return call;
}

/// One is enough.
void Translator::compilerFence(bool clobbersMemory) {
  llvm::BasicBlock *block = builder.GetInsertBlock();
  auto *last = block->empty() ? nullptr : llvm::dyn_cast<llvm::CallInst>(&block->back());
  auto *code = last ? llvm::dyn_cast<llvm::InlineAsm>(last->getCalledOperand()) : nullptr;
  const char *constraints = clobbersMemory ? "~{memory}" : "";
  bool isFenced = code && code->getAsmString().empty() && code->getConstraintString() == constraints;
  if (!isFenced)
    assembly(builder.getVoidTy(), "", constraints, {}, AsmEffect::memory);
}

llvm::Value *Translator::predicated(llvm::Value *condition, llvm::Type *type,
                                    llvm::function_ref<llvm::Value *()> body) {
  llvm::BasicBlock *before = builder.GetInsertBlock();
  auto *then = llvm::BasicBlock::Create(context, "masked", function);
  auto *after = llvm::BasicBlock::Create(context, "unmasked", function);
  builder.CreateCondBr(condition, then, after);
  builder.SetInsertPoint(then);
  llvm::Value *result = body();
  llvm::BasicBlock *last = builder.GetInsertBlock();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
  if (!type)
    return nullptr;
  llvm::PHINode *phi = builder.CreatePHI(type, 2);
  phi->addIncoming(result, last);
  phi->addIncoming(llvm::Constant::getNullValue(type), before);
  return phi;
}

llvm::Value *Translator::addressOf(mlir::Value lane, mlir::Value uniform) {
  llvm::Value *offset = get(lane);
  return uniform ? builder.CreateAdd(offset, get(uniform)) : offset;
}

llvm::Value *Translator::sharedAddress(llvm::Value *offset, int64_t immediate) {
  llvm::Value *address = builder.CreatePtrAdd(shared, offset);
  return immediate ? builder.CreatePtrAdd(address, i32(immediate)) : address;
}

llvm::Value *Translator::globalAddress(llvm::Value *base, mlir::Value lane, mlir::Value uniform, int64_t immediate) {
  // Uniform first: that part is the same for a whole wave and often for a whole loop.
  if (uniform)
    base = builder.CreatePtrAdd(base, builder.CreateSExt(get(uniform), builder.getInt64Ty()));
  base = builder.CreatePtrAdd(base, builder.CreateSExtOrTrunc(get(lane), builder.getInt64Ty()));
  return immediate ? builder.CreatePtrAdd(base, builder.getInt64(static_cast<uint64_t>(immediate))) : base;
}

//===-- Elements in memory ------------------------------------------------------===//

int64_t Translator::memoryBytes(llvm::Type *type) {
  unsigned width = type->getScalarSizeInBits();
  return countOf(type) * (width == 1 ? 8 : width) / 8;
}

LogicalResult Translator::checkWidth(mlir::Operation *op, llvm::Type *type) {
  unsigned width = type->getScalarSizeInBits();
  bool isWhole = width == 1 || countOf(type) * width % 8 == 0;
  if (isWhole && llvm::is_contained({1, 2, 4, 8, 12, 16}, memoryBytes(type)))
    return success();
  return unsupported(op) << "an access of " << countOf(type) << " elements of " << width
                         << " bits, expected 1, 2, 4, 8, 12 or 16 bytes";
}

/// LLVM would take a vector of such elements apart through memory of its own.
static bool isPacked(llvm::Type *type) {
  unsigned width = type->getScalarSizeInBits();
  return width != 1 && width % 8 != 0;
}

llvm::Value *Translator::fromMemory(llvm::Value *loaded, llvm::Type *type) {
  unsigned width = type->getScalarSizeInBits(), count = countOf(type);
  if (width == 1) {
    llvm::Value *bytes = bits(loaded, vectorOf(intType(8), count));
    return builder.CreateICmpNE(bytes, llvm::Constant::getNullValue(bytes->getType()));
  }
  if (!isPacked(type) || count == 1)
    return bits(loaded, type);
  // Cut in 32 bits and narrowed as a whole: LLVM would make a bit cast of the single pieces.
  llvm::SmallVector<llvm::Value *> words = wordList(loaded), list;
  for (unsigned i = 0; i < count; ++i) {
    unsigned word = i * width / 32, shift = i * width % 32;
    bool isCut = shift + width > 32;
    list.push_back(isCut ? builder.CreateIntrinsic(llvm::Intrinsic::fshr, {builder.getInt32Ty()},
                                                   {words[word + 1], words[word], i32(shift)})
                         : builder.CreateLShr(words[word], shift));
  }
  return builder.CreateTrunc(fromElements(list, vectorOf(builder.getInt32Ty(), count)), type);
}

llvm::Value *Translator::toMemory(llvm::Value *value, llvm::Type *memory) {
  llvm::Type *type = value->getType();
  unsigned width = type->getScalarSizeInBits(), count = countOf(type);
  if (width == 1)
    return bits(builder.CreateZExt(value, vectorOf(intType(8), count)), memory);
  if (!isPacked(type) || count == 1)
    return bits(value, memory);
  llvm::SmallVector<llvm::Value *> words(llvm::divideCeil(count * width, 32), i32(0));
  llvm::Value *wide = builder.CreateZExt(value, vectorOf(builder.getInt32Ty(), count));
  for (auto [i, element] : llvm::enumerate(elements(wide))) {
    unsigned word = static_cast<unsigned>(i) * width / 32, shift = static_cast<unsigned>(i) * width % 32;
    words[word] = builder.CreateOr(words[word], builder.CreateShl(element, shift));
    if (shift + width > 32)
      words[word + 1] = builder.CreateOr(words[word + 1], builder.CreateLShr(element, 32 - shift));
  }
  return fromWords(fromElements(words, vectorOf(builder.getInt32Ty(), words.size())), memory);
}

llvm::Value *Translator::recast(llvm::Value *value, llvm::Type *type) {
  if (value->getType()->getScalarSizeInBits() == type->getScalarSizeInBits())
    return bits(value, type);
  if (isPacked(value->getType()))
    value = toMemory(value, vectorOf(intType(8), bitsOf(value->getType()) / 8));
  return isPacked(type) ? fromMemory(value, type) : bits(value, type);
}

//===-- Diagnostics -----------------------------------------------------------===//

/// Parts between dots or underscores that two names share.
static size_t likeness(llvm::StringRef a, llvm::StringRef b) {
  llvm::SmallVector<llvm::StringRef> parts, others;
  llvm::SplitString(a, parts, "._");
  llvm::SplitString(b, others, "._");
  return llvm::count_if(parts, [&](llvm::StringRef part) { return llvm::is_contained(others, part); });
}

LogicalResult Translator::notOnTarget(mlir::Operation *op, llvm::StringRef what, llvm::StringRef kind,
                                      std::vector<std::string> legal) {
  std::optional<std::string> close = nearest(kind.str(), legal);
  std::string hint = close ? "did you mean `" + *close + "`?" : "";
  // Of a long list those of the same shape or types: the rest is in the target's table.
  constexpr size_t most = 16;
  if (legal.size() > most) {
    std::vector<std::pair<size_t, std::string>> ranked;
    for (std::string &entry : legal)
      ranked.emplace_back(likeness(entry, kind), std::move(entry));
    llvm::sort(ranked, [](const auto &a, const auto &b) {
      return std::pair(b.first, a.second) < std::pair(a.first, b.second);
    });
    legal.clear();
    for (size_t i = 0; i < most; ++i)
      legal.push_back(std::move(ranked[i].second));
  }
  if (legal.empty())
    return unsupported(op) << what << " `" << kind << "` does not exist on " << target.name << ", which has none";
  return unsupported(op).hint(hint) << what << " `" << kind << "` does not exist on " << target.name << ", expected "
                                    << listOf(legal);
}

std::vector<std::string> Translator::nativeMmas(bool async) const {
  std::vector<std::string> names;
  for (const MmaKind &kind : target.mmas)
    if (kind.async == async && !llvm::is_contained(names, kind.native.instruction))
      names.push_back(kind.native.instruction);
  return names;
}

LogicalResult Translator::requireCounter(machine::WaitOp op, CounterKind kind) {
  const Counter *counter = target.counter(kind);
  std::string_view text = name(kind);
  llvm::StringRef counterName(text.data(), text.size());
  if (!counter)
    return unsupported(op) << "a wait for `" << counterName << "`, a counter that " << target.name << " does not have";
  auto count = static_cast<int64_t>(op.getCount());
  if (count < 0 || count > counter->maxPending)
    return unsupported(op) << "a wait leaves " << count << " pending on `" << counterName << "`, expected 0 to "
                           << counter->maxPending;
  return success();
}

} // namespace soliton::backend
