// Types of the `wave` dialect: tiles in registers, memories.
#ifndef SOLITON_IR_WAVETYPES_TD
#define SOLITON_IR_WAVETYPES_TD

include "WaveAttrs.td"

class Wave_TypeDef<string name, string typeMnemonic> : TypeDef<Wave_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Wave_TileType : Wave_TypeDef<"Tile", "tile"> {
  let summary = "the part of a tensor that a workgroup holds in registers";
  let description = [{
    A function from coordinates to elements. Dimensions are symbols; a scalar has none. The layout, once decided, says
    which coordinates are covered and who holds them: `!wave.tile<[M, N], f32, "reg = (4 M 1), lane = (16 N 1)(4 M 4)">`.

    Constraints:
      * (C1) the element type is one of the language's.
      * (C2) the dimensions differ.
      * (C3) the layout moves along dimensions of the tile only.
      * (C4) the layout has at most 65536 registers, 1024 lanes and 1024 waves.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$dims, "::mlir::Type":$elementType,
                        OptionalParameter<"LayoutAttr">:$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasLayout() { return bool(getLayout()); }
    const ::soliton::Layout &layout() { return getLayout().getValue(); }
    int64_t getRank() { return getDims().size(); }
    bool hasDim(::llvm::StringRef dim);
    TileType withLayout(::soliton::Layout layout);
    TileType withoutLayout();
    TileType withElementType(::mlir::Type elementType);
  }];
}

def Wave_MemoryType : Wave_TypeDef<"Memory", "memory"> {
  let summary = "a tensor in global memory, or a tile of one in the workgroup's shared memory";
  let description = [{
    `!wave.memory<["M", "K"], f16, global>` is row-major with the extents of its shape expressions. A shared one carries an
    address map once it is placed: `!wave.memory<["M", "K"], f16, shared, "[M 128, K 32] pad 4">`. A tensor whose elements
    lie otherwise says how many lie from one index to the next along each dimension:
    `!wave.memory<["M", "K"], f16, global, strides = ["LDA", "1"]>`.

    Constraints:
      * (C1) the element type is one of the language's.
      * (C2) only a shared memory has an address map; it has as many dimensions as the memory.
      * (C3) strides are one for each dimension, of elements that have bytes of their own, and none is a number below 0.
      * (C4) a memory with an address map has no strides.
  }];
  let parameters = (ins ArrayRefParameter<"ExprAttr">:$shape, "::mlir::Type":$elementType, "AddressSpace":$space,
                        OptionalParameter<"SharedMapAttr">:$map, OptionalArrayRefParameter<"ExprAttr">:$strides);
  let builders = [
    TypeBuilder<(ins "::llvm::ArrayRef<ExprAttr>":$shape, "::mlir::Type":$elementType, "AddressSpace":$space,
                     "SharedMapAttr":$map), [{
      return $_get($_ctxt, shape, elementType, space, map, ::llvm::ArrayRef<ExprAttr>());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() { return getShape().size(); }
    bool isShared() { return getSpace() == AddressSpace::Shared; }
    /// Whether elements lie as `strides` say, and not row by row without gaps.
    bool isStrided() { return !getStrides().empty(); }
    /// The same tensor in another address space.
    MemoryType inSpace(AddressSpace space);
  }];
}

#endif
