//===- Memory.cpp - Buffers, LDS and direct-to-LDS loads -------------------------===//

#include "soliton/backend/amd/AmdTranslator.h"

#include "llvm/IR/IntrinsicsAMDGPU.h"

namespace soliton::backend {

using llvm::LogicalResult;
using llvm::Value;
using mlir::failed;
using mlir::failure;
using mlir::success;
namespace I = llvm::Intrinsic;

/// No buffer is larger, so an offset of this size is outside every buffer.
static constexpr uint32_t kOutside = 0x80000000u;

/// What scalar units lack (comparisons and divisions of 64 bits, a choice of 0 or 1) LLVM computes in every lane, and
/// then asks in a loop whether the lanes agree. They do: one lane speaks for all.
Value *AmdTranslator::scalar(Value *value) {
  return llvm::isa<llvm::Constant>(value) ? value : call(I::amdgcn_readfirstlane, {value->getType()}, {value});
}

LogicalResult AmdTranslator::translate(machine::BufferOp op) {
  constexpr int32_t flags = 0x00027000; // raw, 32-bit data format, as every GFX9 wants it
  Value *base = builder.CreatePtrAdd(get(op.getBase()), get(op.getOffset()));
  // The smaller of `bytes` and kOutside, by a comparison that scalar units have.
  Value *isSmall = builder.CreateICmpEQ(builder.CreateLShr(get(op.getBytes()), 31), builder.getInt64(0));
  Value *bytes = builder.CreateSelect(isSmall, get(op.getBytes()), builder.getInt64(kOutside));
  Value *resource = call(I::amdgcn_make_buffer_rsrc, {bufferType(), base->getType()},
                         {scalar(base), builder.getInt16(0), scalar(bytes), builder.getInt32(flags)});
  bases[op] = base;
  origins[op] = get(op.getBase());
  set(op, resource);
  return success();
}

/// What the instruction moves: words, or a byte or half-word.
llvm::Type *AmdTranslator::memoryType(int64_t bytes) {
  if (bytes <= 4)
    return intType(static_cast<unsigned>(bytes) * 8);
  return llvm::FixedVectorType::get(builder.getInt32Ty(), static_cast<unsigned>(bytes) / 4);
}

AmdTranslator::BufferOffsets AmdTranslator::bufferOffsets(mlir::Value lane, mlir::Value uniform, mlir::Value mask,
                                                          int64_t immediate) {
  BufferOffsets offsets{get(lane), uniform ? scalar(get(uniform)) : i32(0)};
  // The range check sees the lane's offset alone, so that is what a mask sends outside; what is uniform stays scalar,
  // and a mask that no iteration changes is applied once.
  if (mask)
    offsets.lane = builder.CreateSelect(get(mask), offsets.lane, builder.getInt32(kOutside));
  if (immediate)
    offsets.lane = builder.CreateAdd(offsets.lane, i32(immediate));
  return offsets;
}

/// A shared access that the hardware would do in pieces breaks the schedule's count of instructions.
LogicalResult AmdTranslator::checkShared(mlir::Operation *op, int64_t bytes, int64_t alignment) {
  if (!shared)
    return unsupported(op) << "an access to shared memory in a kernel that has none";
  int64_t needed = bytes == 12 ? 16 : bytes;
  if (alignment < needed)
    return unsupported(op).hint("pad or swizzle shared memory in steps of the access's width")
           << "a shared access of " << bytes << " bytes is aligned to " << alignment << ", expected " << needed
           << " so that it stays one instruction";
  return success();
}

/// Ordinary shared accesses never overlap a copy that is under way: the schedule's waits see to that, so that LLVM need
/// not.
void AmdTranslator::markShared(llvm::Instruction *access) {
  access->setMetadata(llvm::LLVMContext::MD_noalias, asyncScope);
}

//===-- What is loaded ----------------------------------------------------------------===//

/// LLVM widens a byte by the load itself, and then takes it for one of the place that needs it wide. Where it must not,
/// the byte is widened at once, out of LLVM's sight.
Value *AmdTranslator::keepLoaded(Value *loaded) {
  llvm::Type *narrow = loaded->getType();
  keep(loaded);
  keepApart();
  if (!options.pin || !narrow->isIntegerTy() || bitsOf(narrow) >= 32)
    return loaded;
  Value *wide = builder.CreateZExt(loaded, builder.getInt32Ty());
  return builder.CreateTrunc(assembly(builder.getInt32Ty(), "", "=v,0", {wide}, AsmEffect::none), narrow);
}

Value *AmdTranslator::hidden(Value *operand) {
  return countsAccesses ? assembly(operand->getType(), "", "=v,0", {operand}, AsmEffect::none) : operand;
}

//===-- 64-bit addresses --------------------------------------------------------------===//

/// In a register of each lane: a scalar load would tick another counter.
Value *AmdTranslator::farAddress(Value *address) {
  if (!countsAccesses)
    return address;
  Value *number = builder.CreatePtrToInt(address, builder.getInt64Ty());
  return builder.CreateIntToPtr(assembly(builder.getInt64Ty(), "", "=v,0", {number}, AsmEffect::none),
                                address->getType());
}

/// Lanes that are off read the first bytes of the tensor, which exist, and drop them: no branch, so that the counter
/// ticks in every wave.
Value *AmdTranslator::loadFar(machine::LoadOp op, llvm::Type *type) {
  auto immediate = static_cast<int64_t>(op.getImmediate());
  Value *address = globalAddress(bases.lookup(op.getBuffer()), op.getLane(), {}, immediate);
  if (op.getMask())
    address = builder.CreateSelect(get(op.getMask()), address, origins.lookup(op.getBuffer()));
  Value *loaded =
      builder.CreateAlignedLoad(memoryType(memoryBytes(type)), farAddress(address), llvm::Align(op.getAlignment()));
  Value *result = fromMemory(keepLoaded(loaded), type);
  return op.getMask() ? builder.CreateSelect(get(op.getMask()), result, llvm::Constant::getNullValue(type)) : result;
}

void AmdTranslator::storeFar(machine::StoreOp op, Value *value) {
  auto store = [&]() -> Value * {
    Value *address =
        globalAddress(bases.lookup(op.getBuffer()), op.getLane(), {}, static_cast<int64_t>(op.getImmediate()));
    builder.CreateAlignedStore(value, farAddress(address), llvm::Align(op.getAlignment()));
    return nullptr;
  };
  if (op.getMask())
    predicated(get(op.getMask()), nullptr, store);
  else
    store();
  keepApart();
}

//===-- Loads, stores, copies ---------------------------------------------------------===//

LogicalResult AmdTranslator::translate(machine::LoadOp op) {
  llvm::Type *type = convert(op.getResult().getType(), op.getLoc());
  if (!type || failed(checkWidth(op, type)))
    return failure();
  int64_t bytes = memoryBytes(type);
  auto immediate = static_cast<int64_t>(op.getImmediate());
  if (isFar(op.getLane())) {
    set(op, loadFar(op, type));
    return success();
  }
  if (op.getBuffer()) {
    auto [lane, uniform] = bufferOffsets(op.getLane(), op.getUniform(), op.getMask(), immediate);
    Value *loaded =
        call(I::amdgcn_raw_ptr_buffer_load, {memoryType(bytes)}, {get(op.getBuffer()), lane, uniform, i32(0)});
    set(op, fromMemory(keepLoaded(loaded), type));
    return success();
  }
  if (failed(checkShared(op, bytes, static_cast<int64_t>(op.getAlignment()))))
    return failure();
  Value *offset = addressOf(op.getLane(), op.getUniform());
  if (op.getMask()) { // any place inside will do where the result is not used
    offset = builder.CreateSelect(get(op.getMask()), builder.CreateAdd(offset, i32(immediate)), i32(0));
    immediate = 0;
  }
  llvm::LoadInst *load =
      builder.CreateAlignedLoad(memoryType(bytes), sharedAddress(offset, immediate), llvm::Align(op.getAlignment()));
  markShared(load);
  Value *result = fromMemory(keepLoaded(load), type);
  if (op.getMask())
    result = builder.CreateSelect(get(op.getMask()), result, llvm::Constant::getNullValue(type));
  set(op, result);
  return success();
}

LogicalResult AmdTranslator::translate(machine::StoreOp op) {
  Value *value = get(op.getValue());
  if (failed(checkWidth(op, value->getType())))
    return failure();
  int64_t bytes = memoryBytes(value->getType());
  value = toMemory(value, memoryType(bytes));
  auto immediate = static_cast<int64_t>(op.getImmediate());
  if (isFar(op.getLane())) {
    storeFar(op, value);
    return success();
  }
  if (op.getBuffer()) {
    auto [lane, uniform] = bufferOffsets(op.getLane(), op.getUniform(), op.getMask(), immediate);
    call(I::amdgcn_raw_ptr_buffer_store, {value->getType()}, {value, get(op.getBuffer()), lane, uniform, i32(0)});
    keepApart();
    return success();
  }
  if (failed(checkShared(op, bytes, static_cast<int64_t>(op.getAlignment()))))
    return failure();
  Value *offset = addressOf(op.getLane(), op.getUniform());
  auto store = [&]() -> Value * {
    markShared(builder.CreateAlignedStore(value, sharedAddress(offset, immediate), llvm::Align(op.getAlignment())));
    return nullptr;
  };
  if (op.getMask())
    predicated(get(op.getMask()), nullptr, store);
  else
    store();
  keepApart();
  return success();
}

/// Without a buffer nothing reads as zero by itself.
LogicalResult AmdTranslator::copyFar(machine::CopyAsyncOp op) {
  if (op.getMask())
    return unsupported(op).hint("compile it without direct copies")
           << "an asynchronous copy with a mask and 64-bit addresses, on " << target.name
           << " lanes that are off would leave what was there";
  Value *source =
      globalAddress(bases.lookup(op.getBuffer()), op.getLane(), {}, static_cast<int64_t>(op.getImmediate()));
  Value *destination = sharedAddress(get(op.getDestination()), static_cast<int64_t>(op.getDestinationImmediate()));
  llvm::CallInst *copy =
      call(I::amdgcn_global_load_lds, {},
           {farAddress(source), destination, i32(static_cast<int64_t>(op.getBytes())), i32(0), i32(0)});
  copy->setMetadata(llvm::LLVMContext::MD_alias_scope, asyncScope);
  keepApart();
  return success();
}

LogicalResult AmdTranslator::translate(machine::CopyAsyncOp op) {
  auto bytes = static_cast<int64_t>(op.getBytes());
  if (!target.hasAsyncCopy(bytes)) {
    std::vector<std::string> widths;
    for (int64_t width : target.asyncCopyBytes)
      widths.push_back(std::to_string(width));
    return unsupported(op) << "an asynchronous copy of " << bytes << " bytes a lane, expected " << listOf(widths)
                           << " on " << target.name;
  }
  if (!op.getLaneScatter())
    return unsupported(op).hint("permute the global address instead, and set lane_scatter")
           << "an asynchronous copy names a shared address per lane, on " << target.name
           << " lane l writes at destination + l times its width";
  if (!shared)
    return unsupported(op) << "a copy to shared memory in a kernel that has none";
  if (isFar(op.getLane()))
    return copyFar(op);
  auto immediate = static_cast<int64_t>(op.getImmediate());
  // The instruction's own offset would move both addresses: it stays 0, and the immediate is scalar, so that the pieces
  // of a tile share the lanes' offsets.
  auto [lane, uniform] = bufferOffsets(op.getLane(), op.getUniform(), op.getMask(), 0);
  if (immediate)
    uniform = builder.CreateAdd(uniform, i32(immediate));
  Value *destination = sharedAddress(get(op.getDestination()), static_cast<int64_t>(op.getDestinationImmediate()));
  llvm::CallInst *copy = call(I::amdgcn_raw_ptr_buffer_load_lds, {},
                              {get(op.getBuffer()), destination, i32(bytes), lane, uniform, i32(0), i32(0)});
  copy->setMetadata(llvm::LLVMContext::MD_alias_scope, asyncScope);
  keepApart();
  return success();
}

LogicalResult AmdTranslator::translate(machine::LoadMatrixOp op) {
  std::vector<std::string> legal;
  for (const MatrixAccess &access : target.matrixAccesses)
    if (!access.store)
      legal.push_back(access.name);
  struct Row {
    llvm::StringLiteral name;
    I::ID id;
    unsigned words;
    bool halves;
  };
  static constexpr Row rows[] = {{"ds_read_b64_tr_b16", I::amdgcn_ds_read_tr16_b64, 2, true},
                                 {"ds_read_b64_tr_b8", I::amdgcn_ds_read_tr8_b64, 2, false},
                                 {"ds_read_b64_tr_b4", I::amdgcn_ds_read_tr4_b64, 2, false},
                                 {"ds_read_b96_tr_b6", I::amdgcn_ds_read_tr6_b96, 3, false}};
  const Row *row = llvm::find_if(rows, [&](const Row &r) { return r.name == op.getKind(); });
  if (row == std::end(rows) || !llvm::is_contained(legal, op.getKind().str()))
    return notOnTarget(op, "matrix load", op.getKind(), legal);
  llvm::Type *type = convert(op.getResult().getType(), op.getLoc());
  if (!type)
    return failure();
  if (bitsOf(type) != row->words * 32)
    return unsupported(op) << "`" << op.getKind() << "` gives " << row->words * 32 << " bits a lane, found "
                           << op.getResult().getType();
  if (!shared)
    return unsupported(op) << "an access to shared memory in a kernel that has none";
  llvm::Type *native =
      row->halves ? llvm::FixedVectorType::get(intType(16), 4) : llvm::FixedVectorType::get(intType(32), row->words);
  llvm::CallInst *load =
      call(row->id, {native}, {sharedAddress(get(op.getLane()), static_cast<int64_t>(op.getImmediate()))});
  markShared(load);
  keep(load);
  keepApart();
  set(op, bits(load, type));
  return success();
}

} // namespace soliton::backend
