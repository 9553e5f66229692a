// What ops of the `wave` dialect say about themselves, so that passes ask them instead of listing op classes.
#ifndef SOLITON_IR_WAVEINTERFACES_TD
#define SOLITON_IR_WAVEINTERFACES_TD

include "mlir/IR/OpBase.td"

def Wave_IndexedOp : OpInterface<"IndexedOpInterface"> {
  let cppNamespace = "::soliton::wave";
  let description = [{
    An op with index expressions. They speak of SSA values, the op's `symbols`: `$0` in an expression is the first of them.
    What else may occur are sizes, which are the kernel's, and the placeholders that the op itself defines (`$index0`).

    ```mlir
    %0 = wave.read %a[%wg, %k] {starts = [#wave.expr<"64*$0">, #wave.expr<"32*$1">]} : …
    ```
  }];
  let methods = [
    InterfaceMethod<"The index values that the expressions speak of.", "::mlir::OperandRange", "getSymbols">,
    InterfaceMethod<"The same, to be replaced.", "::mlir::MutableOperandRange", "getSymbolsMutable">
  ];
  let verify = [{ return ::soliton::wave::detail::verifyPlaceholders($_op); }];
}

def Wave_AccessOp : OpInterface<"AccessOpInterface", [Wave_IndexedOp]> {
  let cppNamespace = "::soliton::wave";
  let description = [{
    An op that moves a tile to, from or between memories. `starts`, `indices` and `guards` say which places of one of them, the
    *indexed* memory; where the tile lies in another one follows from its layout.

    | op | indexed memory | tile in registers | memory uses |
    | --- | --- | --- | --- |
    | `read` | `memory` | the result | reads `memory` |
    | `write` | `memory` | `value` | writes `memory` |
    | `atomic` | `memory` | `value` | reads and writes `memory` in one step |
    | `copy` | `source` | none | reads `source`, writes `destination`, later |
    | `copy_out` | `destination` | none | reads `source`, writes `destination`, later |
  }];
  let methods = [
    InterfaceMethod<"The memory whose places the expressions say.", "::mlir::Value", "getIndexedMemory">,
    InterfaceMethod<"The type of what is moved.", "::soliton::wave::TileType", "getMovedTile">,
    InterfaceMethod<"The tile in registers; null where it goes past them.", "::mlir::Value", "getMovedValue">,
    InterfaceMethod<"Every memory that it touches, the indexed one first.", "::soliton::wave::MemoryUses", "getMemoryUses">,
    InterfaceMethod<"Whether it goes on after the wave has issued it, until a counter is waited for.", "bool", "isAsync",
                    (ins), "", "return false;">,
    InterfaceMethod<"The values of which `indices` and `guards` speak, element by element.", "::mlir::OperandRange",
                    "getDynamicValues">,
    InterfaceMethod<"The same, to be replaced.", "::mlir::MutableOperandRange", "getDynamicValuesMutable">,
    InterfaceMethod<"One expression for each dimension of the indexed memory, or null.", "::mlir::ArrayAttr", "getIndicesAttr">,
    InterfaceMethod<"One expression for each dimension of the tile, or null.", "::mlir::ArrayAttr", "getStartsAttr">,
    InterfaceMethod<"What must hold for an element to be touched, or null.", "::mlir::ArrayAttr", "getGuardsAttr">
  ];
  let extraSharedClassDeclaration = [{
    /// Whether the indexed memory is written; otherwise it is read.
    bool writesIndexed() { return $_op.getMemoryUses().front().isWrite; }
    /// How the indexed memory is read and written in one step; nothing for a plain access.
    std::optional<::soliton::wave::AtomicKind> getAtomicKind() { return $_op.getMemoryUses().front().atomic; }
    /// Whether the indexed memory is a tile that the workgroup shares. A parameter in the shared space is one for what
    /// can be staged; atomics act on the caller's tensor.
    bool isIndexedShared() {
      ::mlir::Value memory = $_op.getIndexedMemory();
      return ::llvm::cast<::soliton::wave::MemoryType>(memory.getType()).isShared() &&
             !($_op.getMemoryUses().front().atomic && ::llvm::isa<::mlir::BlockArgument>(memory));
    }
  }];
}

def Wave_TileOp : OpInterface<"TileOpInterface"> {
  let cppNamespace = "::soliton::wave";
  let description = [{
    An op that computes or moves tiles. What it says here is what layouts are chosen by, how it is cut into instructions and what
    they cost. By default it is pointwise: operands and result lie alike, and each register costs an instruction. WaveTileOps.cpp has
    what the ops say that are not.
  }];
  let methods = [
    InterfaceMethod<"How it is carried out.", "::soliton::wave::TileWork", "getWork", (ins), "",
                    "return ::soliton::wave::TileWork::pointwise;">,
    InterfaceMethod<"How its tiles lie relative to each other.", "void", "relateLayouts",
                    (ins "::soliton::wave::LayoutRelations &":$relations), "",
                    "::soliton::wave::detail::relateByWork($_op, relations);">,
    InterfaceMethod<"The tile whose layout decides what it costs; null where none does.", "::mlir::Value", "getPricedTile",
                    (ins), "",
                    "return $_op.getWork() == ::soliton::wave::TileWork::pointwise ? $_op->getResult(0) : ::mlir::Value();">,
    InterfaceMethod<"Whether its instructions are those of the slower unit for functions.", "bool", "isTranscendental", (ins), "",
                    "return false;">
  ];
}

#endif
