//===- AmdTranslator.h - The machine ops on CDNA ---------------------------------===//
//
// Each op is one instruction:
//
//   load %b [%lane, %s] : vector<8xf16>      buffer_load_dwordx4 v[..], v_lane, s[rsrc], s_s offen offset:imm
//   load [%lane] : vector<4xf16>             ds_read_b64
//   mma "v_mfma_f32_16x16x16_f16"            v_mfma_f32_16x16x16_f16
//   wait shared, 0 / barrier                 s_waitcnt lgkmcnt(0) / s_barrier
//
// Buffers are raw buffer resources. A masked global access gets an offset beyond every buffer: the hardware then reads
// zero and drops what is stored, without a branch. Lane offsets of 64 bits are global_load and global_store.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/backend/amd/Known.h"
#include "soliton/backend/common/Translator.h"

namespace soliton::backend {

class AmdTranslator final : public Translator {
public:
  using Translator::Translator;

private:
  void declareShared() override;
  void setAttributes() override;
  void beginBody() override;
  llvm::Type *bufferType() override { return llvm::PointerType::get(context, 8); }
  llvm::LogicalResult translateMachine(mlir::Operation *op) override;
  llvm::Value *fastExp2(llvm::Value *x) override;
  llvm::Value *fastReciprocal(llvm::Value *x) override;
  llvm::Value *fastReciprocalRoot(llvm::Value *x) override;
  llvm::Value *bufferBase(mlir::Value buffer) override { return bases.lookup(buffer); }
  llvm::Value *hidden(llvm::Value *operand) override;

  // Memory.cpp
  llvm::LogicalResult translate(machine::BufferOp op);
  llvm::LogicalResult translate(machine::LoadOp op);
  llvm::LogicalResult translate(machine::StoreOp op);
  llvm::LogicalResult translate(machine::CopyAsyncOp op);
  llvm::LogicalResult translate(machine::LoadMatrixOp op);
  llvm::LogicalResult checkShared(mlir::Operation *op, int64_t bytes, int64_t alignment);
  struct BufferOffsets {
    llvm::Value *lane, *uniform;
  };
  BufferOffsets bufferOffsets(mlir::Value lane, mlir::Value uniform, mlir::Value mask, int64_t immediate);
  static bool isFar(mlir::Value lane) { return lane.getType().isInteger(64); }
  llvm::Value *scalar(llvm::Value *value);
  llvm::Value *farAddress(llvm::Value *address);
  llvm::Value *keepLoaded(llvm::Value *loaded);
  llvm::Value *loadFar(machine::LoadOp op, llvm::Type *type);
  void storeFar(machine::StoreOp op, llvm::Value *value);
  llvm::LogicalResult copyFar(machine::CopyAsyncOp op);
  llvm::Type *memoryType(int64_t bytes);
  void markShared(llvm::Instruction *access);
  /// Nothing that touches memory moves across this point in LLVM. Where accesses are counted, `keep` holds their loads
  /// in front of it, so that assembly which does not say `memory` will do: looking that name up among all registers of
  /// the chip takes half a millisecond, and a kernel may have ten thousand fences.
  void orderFence() { compilerFence(/*clobbersMemory=*/!countsAccesses); }
  /// After an access that is counted: LLVM joins it with no other.
  void keepApart() {
    if (countsAccesses)
      orderFence();
  }
  /// After a load or matrix instruction whose place a schedule has decided: it stays, also where LLVM finds that nobody
  /// needs its value. This is no instruction, and nothing waits for it.
  void keep(llvm::Value *value) {
    if (countsAccesses)
      call(llvm::Intrinsic::fake_use, {}, {value});
  }

  // Matrix.cpp
  llvm::LogicalResult translate(machine::MmaOp op);
  llvm::LogicalResult translateScaled(machine::MmaOp op, llvm::Intrinsic::ID id);
  void hideNumbers(llvm::MutableArrayRef<llvm::Value *> factors);

  // Lanes.cpp
  llvm::LogicalResult translate(machine::IdOp op);
  llvm::LogicalResult translate(machine::ShuffleOp op);
  llvm::LogicalResult translate(machine::UniformOp op);
  llvm::LogicalResult translate(machine::PinOp op);
  llvm::LogicalResult translate(machine::BallotOp op);
  llvm::LogicalResult translate(machine::SwapOp op);
  llvm::Value *laneId();
  llvm::Value *butterfly(llvm::Value *word, unsigned offset);
  llvm::Value *dpp(llvm::Value *word, unsigned control);
  llvm::Value *permute(llvm::Value *word, llvm::Value *lane);
  bool hasPermlaneSwap() const;

  // Extremes.cpp
  /// A chain of maxima or minima: the number without regard to NaN, the lanes in which a leaf was NaN as far as they
  /// were compared, and the one leaf that was not.
  struct Extreme {
    llvm::Value *number, *nan, *unpaired;
    bool isMax;
  };
  bool translateExtreme(mlir::Operation *op) override;
  void shuffleExtreme(machine::ShuffleOp op);
  Extreme extremeOf(mlir::Value value, bool isMax);
  llvm::Value *lanesWithNan(llvm::Value *a, llvm::Value *b);
  llvm::Value *nanLanes(const Extreme &extreme);
  llvm::Value *wholeOf(const Extreme &extreme);
  llvm::Value *butterflyMask(llvm::Value *mask, unsigned offset);
  /// Whether an instruction keeps NaN.
  bool hasMaximum() const { return target.name == "gfx950"; }

  // Convert.cpp
  llvm::LogicalResult translate(machine::ConvertOp op);
  llvm::Value *clampFinite(llvm::Value *x, double largest);
  llvm::Value *widen(llvm::Value *value, DType small) override;
  llvm::Value *narrow(llvm::Value *value, DType small) override;
  bool isNativeFp8(DType small) const;
  /// Words of four.
  llvm::Value *toFp8(llvm::ArrayRef<llvm::Value *> list, bool isE5m2);
  llvm::Value *fromFp8(llvm::Value *value, bool isE5m2);
  llvm::Value *toFp4(llvm::ArrayRef<llvm::Value *> list);
  llvm::Value *fromFp4(llvm::Value *value);
  llvm::LogicalResult fp6(machine::ConvertOp op, bool toSmall, bool isE3m2);

  // Time.cpp
  llvm::LogicalResult translate(machine::BarrierOp op);
  llvm::LogicalResult translate(machine::WaitOp op);
  llvm::LogicalResult translate(machine::FenceOp op);
  llvm::LogicalResult translateHint(mlir::Operation *op);

  /// Where each buffer begins, and where its tensor does.
  llvm::DenseMap<mlir::Value, llvm::Value *> bases, origins;
  llvm::DenseMap<mlir::Value, Extreme> extremes;
  llvm::MDNode *asyncScope = nullptr;
  bool countsAccesses = false;
  KnownNumbers knownNumbers;
  /// Factors of products whose numbers LLVM might know, as it sees them in a block.
  llvm::DenseMap<std::pair<llvm::Value *, llvm::BasicBlock *>, llvm::Value *> hiddenFactors;
  /// Some access is branched around where no lane wants it: its counter then counts fewer than the program.
  bool sharedMaySkip = false, globalMaySkip = false;
};

} // namespace soliton::backend
