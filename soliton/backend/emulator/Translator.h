//===- Translator.h - State of one translation --------------------------------------===//
//
// Shared by Translate.cpp (structure and control), TranslateArith.cpp, TranslateMachine.cpp and TranslateMaps.cpp.
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

  // TranslateMaps.cpp
  void bindMaps();
  emu::Quantity quantity(sym::Expr expr);
  emu::Value number(sym::Expr expr);
  emu::Value combine(sym::Kind kind, emu::Value a, emu::Value b);
  std::vector<emu::Value> coordinates(mlir::OperandRange given);
  emu::Value uniformOrNone(Value given) { return given ? build.asUniform(value(given)) : emu::Value{}; }

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
  /// Tensor maps by their parameters.
  llvm::DenseMap<Value, uint32_t> maps;
  /// Tiles by their descriptors.
  llvm::DenseMap<Value, uint32_t> tiles;
  std::map<std::string, uint32_t> kinds;
  uint32_t sharedRegion = 0;
};

/// The element type and count of a scalar or one-dimensional vector.
std::pair<DType, uint32_t> slotType(Type type);

} // namespace soliton
