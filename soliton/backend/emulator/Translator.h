//===- Translator.h - State of one translation --------------------------------------===//
//
// Shared by Translate.cpp (structure and control), TranslateArith.cpp and TranslateMachine.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/backend/emulator/Translate.h"
#include "soliton/emulator/Builder.h"
#include "soliton/ir/Names.h"

namespace soliton {

class EmulatorTranslator {
public:
  EmulatorTranslator(machine::KernelOp kernel, const Target &target);
  FailureOr<emu::Program> run();

private:
  void bindArguments();
  LogicalResult block(Block &block);
  LogicalResult translate(Operation *op);
  LogicalResult loop(Operation *op);
  LogicalResult whileLoop(Operation *op);
  LogicalResult branch(Operation *op);

  // TranslateArith.cpp; nothing for an op of another kind.
  std::optional<emu::Value> arithmetic(Operation *op);
  std::optional<emu::Value> binary(Operation *op);
  std::optional<emu::Value> unary(Operation *op);
  std::optional<emu::Value> conversion(Operation *op);
  std::optional<emu::Value> vectorOp(Operation *op);
  emu::Value constant(Operation *op);

  // TranslateMachine.cpp
  LogicalResult machineOp(Operation *op);
  LogicalResult mbarrierOp(Operation *op);
  emu::At globalOrShared(Value buffer, Value lane, Value uniform, int64_t immediate);
  FailureOr<uint32_t> mmaKind(machine::MmaOp mma);
  FailureOr<uint32_t> mmaKind(machine::MmaAsyncOp mma);
  LogicalResult mmaAsync(machine::MmaAsyncOp mma);
  FailureOr<uint32_t> matrixKind(Operation *op, StringRef name);

  struct Buffer {
    uint32_t region;
    emu::Value base, limit;
  };

  emu::Value value(Value v) { return values.lookup(v); }
  void define(Value v, emu::Value slot) { values[v] = slot; }

  machine::KernelOp kernel;
  const Target &target;
  emu::Builder build;
  llvm::DenseMap<Value, emu::Value> values;
  llvm::DenseMap<Value, uint32_t> regions;
  llvm::DenseMap<Value, Buffer> buffers;
  /// Tiles by their descriptors.
  llvm::DenseMap<Value, uint32_t> tiles;
  std::map<std::string, uint32_t> kinds;
  uint32_t sharedRegion = 0;
};

/// The element type and count of a scalar or one-dimensional vector.
std::pair<DType, uint32_t> slotType(Type type);

} // namespace soliton
