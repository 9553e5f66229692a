//===- Wave.h - The `wave` dialect in C++ ---------------------------------===//
//
// Everything of the dialect: attributes, types, ops. See WaveOps.td and WaveControl.td for the vocabulary.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Grouped.h"
#include "soliton/layout/Layout.h"
#include "soliton/layout/Shared.h"
#include "soliton/support/DType.h"
#include "soliton/symbolic/Expr.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "soliton/ir/WaveDialect.h.inc"
#include "soliton/ir/WaveEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "soliton/ir/WaveAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "soliton/ir/WaveTypes.h.inc"

namespace soliton::wave {

/// How an op on tiles is carried out.
enum class TileWork {
  constant,  ///< the same in every element: belongs to whatever uses it
  generate,  ///< made from the elements' places
  pointwise, ///< register by register, each element by itself
  rename,    ///< no instruction: the same registers under other names
  move,      ///< elements change their registers, lanes or waves
  contract,  ///< by matrix instructions
  reduce,    ///< elements of one tile are combined
  scan,      ///< each element is combined with those before it
  exchange,  ///< lanes get each other's elements, register by register
  access,    ///< memory (AccessOpInterface)
  region     ///< what its blocks do
};

/// What an op says about how its tiles lie.
struct LayoutRelations {
  /// Tiles of one layout. Where the second lacks dimensions of the first, it is constant along them.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> alike;
  /// A tile, and one that has further dimensions: the first lies as the second does without them.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> parts;
  /// A tile of groups and one of their elements: who holds a group holds its elements, side by side.
  struct Groups {
    mlir::Value groups, elements;
    ScaledDim dim;
  };
  llvm::SmallVector<Groups, 1> groups;
};

/// What an op does to one memory.
struct MemoryUse {
  mlir::Value memory;
  bool isWrite = false;
  /// It reads what it writes, in one step.
  std::optional<AtomicKind> atomic = {};
};
using MemoryUses = llvm::SmallVector<MemoryUse, 2>;

/// The op only orders or times others; nothing moves across it.
template <typename Op>
class OrdersOthers : public mlir::OpTrait::TraitBase<Op, OrdersOthers> {};

class TileOpInterface;

namespace detail {
/// Fails where an expression of the op speaks of an index operand that is not there.
llvm::LogicalResult verifyPlaceholders(mlir::Operation *op);
/// Every tile among the operands of a pointwise op or of another name for it lies as the result does.
void relateByWork(TileOpInterface op, LayoutRelations &relations);
} // namespace detail
} // namespace soliton::wave

#include "soliton/ir/WaveInterfaces.h.inc"
#define GET_OP_CLASSES
#include "soliton/ir/WaveOps.h.inc"

namespace soliton::wave {

/// The text that stands in `bounds` for a dimension that needs no check.
inline constexpr llvm::StringLiteral kUnbounded = "unbounded";

/// Elements of the contracted dimension that have a scale in common, for a scaled `mma`.
inline constexpr int64_t kScaleBlock = 32;

/// The size of a dimension as an expression: `K`, or `K/32`.
sym::Expr sizeSymbol(llvm::StringRef dim);

/// How many dimensions a grid of workgroups may have.
inline constexpr int64_t kMaxGridDims = 5;
/// The one along which the workgroups of a cluster that share a tile are counted.
inline constexpr int64_t kClusterDim = kMaxGridDims - 1;

/// What stands for the k-th index operand in an op's expressions: `$0`, `$1`, …
sym::Expr operandSymbol(size_t k);
/// What stands for the place along the k-th dimension of an access' tile in its `indices`: `$index0`, …
sym::Expr placeSymbol(size_t k);
/// What stands for the k-th dynamic value of an access in its `indices`: `$dynamic_val0`, …
sym::Expr dynamicSymbol(size_t k);
/// What stands for the k-th operand of an `apply_expr`: `$APPLY_EXPR_ARG_0`, …
sym::Expr applySymbol(size_t k);

/// Builds the attribute of an expression.
ExprAttr exprAttr(mlir::MLIRContext *context, sym::Expr value);

/// A list of expression attributes.
mlir::ArrayAttr exprArrayAttr(mlir::MLIRContext *context, llvm::ArrayRef<sym::Expr> values);

/// The expressions of an array of expression attributes.
llvm::SmallVector<sym::Expr> exprsOf(mlir::ArrayAttr array);

/// Whether an `atomic` of this kind has such elements.
bool hasAtomic(AtomicKind kind, mlir::Type type);

/// Ops that only order or time others: barriers, waits and hints.
inline bool isTime(mlir::Operation *op) {
  return op->hasTrait<OrdersOthers>();
}

/// The language's name for an MLIR element type, and back. Nothing for types that are no element types.
std::optional<DType> dtypeOf(mlir::Type type);
mlir::Type mlirType(mlir::MLIRContext *context, DType type);

/// What a reduction does with two elements.
BinaryKind combination(ReduceKind kind);
/// The element that changes nothing when combined. A type without infinities has its lowest or largest value.
mlir::TypedAttr identity(ReduceKind kind, mlir::Type type);

} // namespace soliton::wave
