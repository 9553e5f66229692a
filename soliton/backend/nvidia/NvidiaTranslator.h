//===- NvidiaTranslator.h - The machine ops on Hopper -----------------------------===//
//
// Each op is one PTX instruction:
//
//   load %b [%lane, %s] : vector<8xf16>      ld.global.v4.b32
//   load … mask %m                           @p ld.global.v4.b32 (zeros elsewhere)
//   mma "mma.sync.aligned.m16n8k16…"         mma.sync
//   mma_async, wait mma                      wgmma.mma_async, wgmma.wait_group
//   copy_async, commit, wait cp_async        cp.async, cp.async.commit_group, cp.async.wait_group
//
// A buffer is its address. Shared memory is one dynamic block. Ordinary loads and stores are LLVM's; what LLVM has no
// op for, or would split or branch around, is inline PTX.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/backend/common/Translator.h"

namespace soliton::backend {

class NvidiaTranslator final : public Translator {
public:
  using Translator::Translator;

private:
  void declareShared() override;
  void setAttributes() override;
  void beginBody() override;
  llvm::Type *bufferType() override { return llvm::PointerType::get(context, kGlobalSpace); }
  llvm::LogicalResult translateMachine(mlir::Operation *op) override;
  llvm::Value *fastExp2(llvm::Value *x) override;
  llvm::Value *fastReciprocal(llvm::Value *x) override;
  llvm::Value *fastReciprocalRoot(llvm::Value *x) override;
  llvm::Value *bufferBase(mlir::Value buffer) override { return get(buffer); }
  bool translatePredicated(mlir::scf::IfOp op) override;
  void meetAgain() override;
  llvm::Value *keptHere(mlir::Value result, llvm::Value *converted) override;

  // Memory.cpp
  struct Access {
    llvm::StringRef space;
    llvm::Value *address;
    int64_t immediate, bytes;
  };
  llvm::LogicalResult translate(machine::BufferOp op);
  llvm::LogicalResult translate(machine::LoadOp op);
  llvm::LogicalResult translate(machine::StoreOp op);
  llvm::LogicalResult translate(machine::PrefetchOp op);
  llvm::LogicalResult translate(machine::LoadMatrixOp op);
  llvm::LogicalResult translate(machine::StoreMatrixOp op);
  llvm::LogicalResult checkAccess(mlir::Operation *op, bool isShared, int64_t bytes, int64_t alignment);
  llvm::Type *memoryType(int64_t bytes);
  llvm::Value *maskedLoad(const Access &access, llvm::Value *mask);
  void maskedStore(const Access &access, llvm::Value *mask, llvm::Value *value);
  /// A shared address as the 32-bit number that inline PTX takes.
  llvm::Value *sharedNumber(llvm::Value *offset);
  llvm::Value *remoteNumber(llvm::Value *offset, uint64_t workgroup);
  llvm::LogicalResult requireShared(mlir::Operation *op);
  llvm::Value *sharedUnits();
  llvm::Value *descriptorOf(mlir::Value descriptor);
  llvm::LogicalResult checkMatrix(mlir::Operation *op, llvm::StringRef kind, bool store, llvm::Type *type,
                                  unsigned &count);

  // Matrix.cpp
  llvm::LogicalResult translate(machine::MmaOp op);
  llvm::LogicalResult translateSmallMma(machine::MmaOp op);
  llvm::SmallVector<llvm::Value *> widenedHalves(mlir::Value operand, bool upper);
  llvm::Value *joinResults(llvm::Value *result);
  llvm::LogicalResult translate(machine::SharedTileOp op);
  llvm::LogicalResult translate(machine::MmaAsyncOp op);
  bool needsFence(machine::MmaAsyncOp op);
  void fenceGroup(machine::MmaAsyncOp op);
  llvm::Value *afterFence(mlir::Value value);
  /// The registers that products really take for a factor.
  llvm::Value *asProductsTake(mlir::Value factor);
  /// The table's row if the operands are what it takes, otherwise null and a diagnostic.
  const MmaKind *checkAsync(machine::MmaAsyncOp op);

  // Async.cpp
  llvm::LogicalResult translate(machine::CopyAsyncOp op);
  llvm::LogicalResult translate(machine::CopyTileOp op);
  llvm::LogicalResult translate(machine::StoreTileOp op);
  std::string addCoordinates(mlir::OperandRange coordinates, llvm::SmallVectorImpl<llvm::Value *> &args,
                             std::string &constraints);
  std::string addOffsets(mlir::OperandRange offsets, llvm::SmallVectorImpl<llvm::Value *> &args,
                         std::string &constraints);
  llvm::LogicalResult translate(machine::CommitOp op);
  llvm::LogicalResult translate(machine::WaitOp op);
  llvm::LogicalResult translate(machine::MbarrierInitOp op);
  llvm::LogicalResult translate(machine::MbarrierArriveOp op);
  llvm::LogicalResult translate(machine::MbarrierWaitOp op);
  llvm::LogicalResult translate(machine::ClusterArriveOp op);
  llvm::LogicalResult translate(machine::ClusterWaitOp op);
  llvm::LogicalResult translate(machine::GridWaitOp op);
  llvm::LogicalResult translate(machine::GridLaunchOp op);
  llvm::LogicalResult translate(machine::BarrierOp op);
  llvm::LogicalResult translate(machine::FenceOp op);
  llvm::LogicalResult translate(machine::RegistersOp op);
  /// One instruction that touches memory or orders it.
  void ptx(llvm::StringRef text, llvm::StringRef constraints = "", llvm::ArrayRef<llvm::Value *> args = {});
  void waitForMma(machine::WaitOp op);

  // Lanes.cpp
  llvm::LogicalResult translate(machine::IdOp op);
  llvm::LogicalResult translate(machine::ShuffleOp op);
  llvm::LogicalResult translate(machine::UniformOp op);
  llvm::LogicalResult translate(machine::PinOp op);
  llvm::LogicalResult translate(machine::BallotOp op);
  llvm::LogicalResult translate(machine::ElectOp op);
  llvm::Value *threadId();
  llvm::Value *laneId();
  llvm::Value *broadcastFirst(llvm::Value *word);

  // Convert.cpp
  llvm::LogicalResult translate(machine::ConvertOp op);
  llvm::Value *widen(llvm::Value *value, DType small) override;
  llvm::Value *narrow(llvm::Value *value, DType small) override;
  llvm::Value *toFp8(llvm::ArrayRef<llvm::Value *> list, bool isE5m2, bool saturate);
  llvm::Value *fromFp8(llvm::Value *value, bool isE5m2);

  /// The asynchronous matrix instruction before which the last fence stands, and what came out of it.
  machine::MmaAsyncOp lastFence;
  llvm::DenseMap<mlir::Value, llvm::Value *> fenced;
  /// Factors in registers as products took them.
  llvm::DenseMap<mlir::Value, llvm::Value *> takenFactors;
};

/// `{$3, $4, $5}`: operands of inline PTX, counted from `first`.
std::string operandList(unsigned first, unsigned count);
/// ` + 16`, or nothing for 0.
std::string plus(int64_t immediate);

/// PTX features that LLVM has to be told of for this kernel.
std::string ptxFeatures(machine::KernelOp kernel);

} // namespace soliton::backend
