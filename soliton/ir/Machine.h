//===- Machine.h - The `machine` dialect in C++ ---------------------------===//
//
// See MachineOps.td for the vocabulary and the meaning of time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Expr.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "soliton/ir/MachineDialect.h.inc"
#include "soliton/ir/MachineEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "soliton/ir/MachineTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "soliton/ir/MachineAttrs.h.inc"

namespace soliton::machine {
/// What waits count: each access ticks it.
struct CounterResource : mlir::SideEffects::Resource::Base<CounterResource> {
  llvm::StringRef getName() final { return "counter"; }
};
} // namespace soliton::machine

#define GET_OP_CLASSES
#include "soliton/ir/MachineOps.h.inc"

namespace soliton::machine {

/// On a kernel: predicates in sizes, as text, that launches check since its addresses rely on them.
inline constexpr llvm::StringLiteral kLimits = "limits";

} // namespace soliton::machine
