//===- Memory.cpp - Global and shared accesses ---------------------------------------===//

#include "soliton/backend/nvidia/NvidiaTranslator.h"

namespace soliton::backend {

using llvm::LogicalResult;
using llvm::Value;
using mlir::failed;
using mlir::failure;
using mlir::success;

LogicalResult NvidiaTranslator::translate(machine::BufferOp op) {
  set(op, builder.CreatePtrAdd(get(op.getBase()), get(op.getOffset()))); // the size is for targets that check it
  return success();
}

LogicalResult NvidiaTranslator::requireShared(mlir::Operation *op) {
  if (shared)
    return success();
  return unsupported(op) << "an access to shared memory in a kernel that has none";
}

LogicalResult NvidiaTranslator::checkAccess(mlir::Operation *op, bool isShared, int64_t bytes, int64_t alignment) {
  if (isShared && failed(requireShared(op)))
    return failure();
  if (bytes == 12)
    return unsupported(op) << "an access of 12 bytes, " << target.name << " has 1, 2, 4, 8 and 16";
  if (alignment < bytes)
    return unsupported(op) << "an access of " << bytes << " bytes is aligned to " << alignment << ", expected " << bytes
                           << " so that it stays one instruction";
  return success();
}

llvm::Type *NvidiaTranslator::memoryType(int64_t bytes) {
  if (bytes <= 4)
    return intType(static_cast<unsigned>(bytes) * 8);
  return vectorOf(builder.getInt32Ty(), static_cast<size_t>(bytes) / 4);
}

Value *NvidiaTranslator::sharedNumber(Value *offset) {
  return builder.CreateAdd(builder.CreatePtrToInt(shared, builder.getInt32Ty()), offset);
}

//===-- Masked accesses ------------------------------------------------------------===//

/// `b8`, `b16`, `b32`, `v2.b32`, `v4.b32`.
static std::string suffixOf(int64_t bytes) {
  if (bytes <= 4)
    return "b" + std::to_string(bytes * 8);
  return "v" + std::to_string(bytes / 4) + ".b32";
}

/// A single register stands without braces.
static std::string registerList(unsigned count) {
  return count == 1 ? "$0" : operandList(0, count);
}

Value *NvidiaTranslator::maskedLoad(const Access &access, Value *mask) {
  auto count = static_cast<unsigned>(std::max<int64_t>(access.bytes / 4, 1));
  // A byte is loaded into a 16-bit register.
  unsigned width = access.bytes >= 4 ? 32 : 16;
  const char *constraint = width == 32 ? "=&r," : "=&h,";
  std::string text = "{\n\t", constraints;
  for (unsigned i = 0; i < count; ++i) {
    text += "mov.b" + std::to_string(width) + " $" + std::to_string(i) + ", 0;\n\t";
    constraints += constraint;
  }
  text += "@$" + std::to_string(count + 1) + " ld." + access.space.str() + "." + suffixOf(access.bytes) + " " +
          registerList(count) + ", [$" + std::to_string(count) + plus(access.immediate) + "];\n\t}";
  constraints += std::string(access.space.starts_with("shared") ? "r" : "l") + ",b,~{memory}";
  llvm::SmallVector<llvm::Type *> parts(count, intType(width));
  llvm::Type *type = count == 1 ? parts[0] : static_cast<llvm::Type *>(llvm::StructType::get(context, parts));
  Value *result = assembly(type, text, constraints, {access.address, mask}, AsmEffect::memory);
  if (count == 1)
    return builder.CreateTrunc(result, memoryType(access.bytes));
  llvm::SmallVector<Value *> words;
  for (unsigned i = 0; i < count; ++i)
    words.push_back(builder.CreateExtractValue(result, i));
  return fromElements(words, memoryType(access.bytes));
}

void NvidiaTranslator::maskedStore(const Access &access, Value *mask, Value *value) {
  llvm::SmallVector<Value *> args = elements(value);
  unsigned count = args.size();
  std::string constraints;
  for (Value *&arg : args) {
    if (bitsOf(arg->getType()) == 8)
      arg = builder.CreateZExt(arg, intType(16));
    constraints += bitsOf(arg->getType()) == 32 ? "r," : "h,";
  }
  args.append({access.address, mask});
  std::string text = "@$" + std::to_string(count + 1) + " st." + access.space.str() + "." + suffixOf(access.bytes) +
                     " [$" + std::to_string(count) + plus(access.immediate) + "], " + registerList(count) + ";";
  constraints += std::string(access.space.starts_with("shared") ? "r" : "l") + ",b,~{memory}";
  assembly(builder.getVoidTy(), text, constraints, args, AsmEffect::memory);
}

//===-- Loads and stores ---------------------------------------------------------------===//

/// The place in another workgroup's shared block, as the cluster's workgroups see each other's.
Value *NvidiaTranslator::remoteNumber(Value *offset, uint64_t workgroup) {
  return assembly(intType(32), "mapa.shared::cluster.u32 $0, $1, " + std::to_string(workgroup) + ";", "=r,r",
                  {sharedNumber(offset)}, AsmEffect::none);
}

LogicalResult NvidiaTranslator::translate(machine::LoadOp op) {
  llvm::Type *type = convert(op.getResult().getType(), op.getLoc());
  if (!type || failed(checkWidth(op, type)))
    return failure();
  int64_t bytes = memoryBytes(type);
  bool isShared = !op.getBuffer();
  if (failed(checkAccess(op, isShared, bytes, static_cast<int64_t>(op.getAlignment()))))
    return failure();
  auto immediate = static_cast<int64_t>(op.getImmediate());
  if (op.getWorkgroup()) {
    Value *address = remoteNumber(addressOf(op.getLane(), op.getUniform()), *op.getWorkgroup());
    Value *mask = op.getMask() ? get(op.getMask()) : builder.getTrue();
    set(op, fromMemory(maskedLoad({"shared::cluster", address, immediate, bytes}, mask), type));
    return success();
  }
  if (op.getMask()) {
    Value *address = isShared ? sharedNumber(addressOf(op.getLane(), op.getUniform()))
                              : globalAddress(get(op.getBuffer()), op.getLane(), op.getUniform(), 0);
    Value *loaded = maskedLoad({isShared ? "shared" : "global", address, immediate, bytes}, get(op.getMask()));
    set(op, fromMemory(loaded, type));
    return success();
  }
  Value *address = isShared ? sharedAddress(addressOf(op.getLane(), op.getUniform()), immediate)
                            : globalAddress(get(op.getBuffer()), op.getLane(), op.getUniform(), immediate);
  set(op, fromMemory(builder.CreateAlignedLoad(memoryType(bytes), address, llvm::Align(op.getAlignment())), type));
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::StoreOp op) {
  Value *value = get(op.getValue());
  if (failed(checkWidth(op, value->getType())))
    return failure();
  int64_t bytes = memoryBytes(value->getType());
  bool isShared = !op.getBuffer();
  if (failed(checkAccess(op, isShared, bytes, static_cast<int64_t>(op.getAlignment()))))
    return failure();
  value = toMemory(value, memoryType(bytes));
  auto immediate = static_cast<int64_t>(op.getImmediate());
  if (op.getMask()) {
    Value *address = isShared ? sharedNumber(addressOf(op.getLane(), op.getUniform()))
                              : globalAddress(get(op.getBuffer()), op.getLane(), op.getUniform(), 0);
    maskedStore({isShared ? "shared" : "global", address, immediate, bytes}, get(op.getMask()), value);
    return success();
  }
  Value *address = isShared ? sharedAddress(addressOf(op.getLane(), op.getUniform()), immediate)
                            : globalAddress(get(op.getBuffer()), op.getLane(), op.getUniform(), immediate);
  builder.CreateAlignedStore(value, address, llvm::Align(op.getAlignment()));
  return success();
}

//===-- Matrices in shared memory -----------------------------------------------------===//

/// Whether `kind` is a row of the target's table and the vector has its registers; `count` of them.
LogicalResult NvidiaTranslator::checkMatrix(mlir::Operation *op, llvm::StringRef kind, bool store, llvm::Type *type,
                                            unsigned &count) {
  const MatrixAccess *access = target.matrixAccess(std::string_view(kind.data(), kind.size()));
  if (!access || access->store != store) {
    std::vector<std::string> legal;
    for (const MatrixAccess &row : target.matrixAccesses)
      if (row.store == store)
        legal.push_back(row.name);
    return notOnTarget(op, store ? "matrix store" : "matrix load", kind, legal);
  }
  auto [first, rest] = kind.split(".x");
  count = rest.consume_front("1") ? 1 : rest.consume_front("2") ? 2 : 4;
  if (bitsOf(type) != count * 32)
    return unsupported(op) << "`" << kind << "` moves " << count * 32 << " bits a lane, found " << bitsOf(type);
  return requireShared(op);
}

/// Without the mask a lane could name a place outside of the tensor.
LogicalResult NvidiaTranslator::translate(machine::PrefetchOp op) {
  Value *address = globalAddress(get(op.getBuffer()), op.getLane(), op.getUniform(), 0);
  std::string text = "prefetch.global.L2 [$0" + plus(static_cast<int64_t>(op.getImmediate())) + "];";
  if (op.getMask())
    ptx("@$1 " + text, "l,b", {address, get(op.getMask())});
  else
    ptx(text, "l", {address});
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::LoadMatrixOp op) {
  llvm::Type *type = convert(op.getResult().getType(), op.getLoc());
  unsigned count = 0;
  if (!type || failed(checkMatrix(op, op.getKind(), /*store=*/false, type, count)))
    return failure();
  std::string constraints;
  for (unsigned i = 0; i < count; ++i)
    constraints += "=r,";
  std::string text = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) +
                     (op.getKind().ends_with(".trans") ? ".trans" : "") + ".shared.b16 " + operandList(0, count) +
                     ", [$" + std::to_string(count) + plus(static_cast<int64_t>(op.getImmediate())) + "];";
  llvm::SmallVector<llvm::Type *> parts(count, intType(32));
  llvm::Type *result = count == 1 ? parts[0] : static_cast<llvm::Type *>(llvm::StructType::get(context, parts));
  Value *loaded =
      assembly(result, text, constraints + "r,~{memory}", {sharedNumber(get(op.getLane()))}, AsmEffect::memory);
  llvm::SmallVector<Value *> words;
  for (unsigned i = 0; i < count; ++i)
    words.push_back(count == 1 ? loaded : builder.CreateExtractValue(loaded, i));
  set(op, fromWords(fromElements(words, vectorOf(builder.getInt32Ty(), count)), type));
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::StoreMatrixOp op) {
  Value *value = get(op.getValue());
  unsigned count = 0;
  if (failed(checkMatrix(op, op.getKind(), /*store=*/true, value->getType(), count)))
    return failure();
  llvm::SmallVector<Value *> args = wordList(value);
  std::string constraints;
  for (unsigned i = 0; i < count; ++i)
    constraints += "r,";
  args.push_back(sharedNumber(get(op.getLane())));
  std::string text = "stmatrix.sync.aligned.m8n8.x" + std::to_string(count) +
                     (op.getKind().ends_with(".trans") ? ".trans" : "") + ".shared.b16 [$" + std::to_string(count) +
                     plus(static_cast<int64_t>(op.getImmediate())) + "], " + operandList(0, count) + ";";
  assembly(builder.getVoidTy(), text, constraints + "r,~{memory}", args, AsmEffect::memory);
  return success();
}

} // namespace soliton::backend
