// The vocabulary of the `wave` dialect: structure, memory, compute; control and time are in WaveControl.td.
#ifndef SOLITON_IR_WAVEOPS_TD
#define SOLITON_IR_WAVEOPS_TD

include "WaveTypes.td"
include "WaveInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Wave_Tile : DialectType<Wave_Dialect, CPred<"::llvm::isa<::soliton::wave::TileType>($_self)">, "tile"> {
  let cppType = "::soliton::wave::TileType";
}
def Wave_Memory : DialectType<Wave_Dialect, CPred<"::llvm::isa<::soliton::wave::MemoryType>($_self)">, "memory"> {
  let cppType = "::soliton::wave::MemoryType";
}

/// An op on tiles that says the listed things itself, in WaveTileOps.cpp.
class Wave_Says<list<string> what> : DeclareOpInterfaceMethods<Wave_TileOp, what>;

/// Every op may carry the author's tags and, once expanded, its origin.
class Wave_Op<string mnemonic, list<Trait> traits = []> : Op<Wave_Dialect, mnemonic, traits>;

//===-- Structure -----------------------------------------------------------------------------------------------===//

def Wave_KernelOp : Wave_Op<"kernel", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "a kernel: its memories, its constraints, its body";
  let description = [{
    The block arguments are the kernel's parameters in the author's order. `constraints` distribute its dimensions; `subs`
    binds symbols to numbers (`dim -> i64`) and `dynamic` lists those that are known only at launch. `form` names what holds
    of the program now (see Forms.h), `target` the machine it is compiled for. `keep_order` says that a schedule has decided the
    order of the instructions and that the back end must not change it. `direct_copies` asks for tiles to go from global to shared
    memory past the registers, where the target can. `staged_writes` asks for tiles whose lanes hold too little of a row to go to
    global memory through shared memory; with `writes_in_boxes` they leave that in boxes of their tensor, where the target and the tensor
    allow it. With `raster` workgroups take the tiles of the first two dimensions of the grid in bands of so
    many along the first, so that those that run together read the same rows and columns; bands of a negative number lie along the second,
    which then counts fastest. With `cluster` so many workgroups share the
    iterations of the loop that sums a product; they are resident together and read each other's shared memory. It is asked of the pass
    that splits the loop, behind which they are counted along the last dimension of the grid. `short_sums` accepts that a matrix instruction
    whose accumulator is short adds up more in it than one tile. With `persistent` a launch has no more workgroups than that, each of which walks
    every so many-th tile; with `tickets` it draws the next one from a counter, the last memory of its workspace. With `service_waves` a workgroup has so many waves beside those that compute, and the first of them has boxes
    copied; the program is that of one wave all the same, and says nothing of who executes what. Lanes of theirs keep
    `service_registers`, where a schedule says so. With `workgroups_per_cluster` so many
    neighbours along a dimension of the grid, of which there are whole clusters then, are resident together: of a tile that is the same for
    all of them each has its share copied, to all of them. With `overlap_tiles` no wave of a workgroup that walks tiles waits for all others
    between two of them: the next one's boxes are copied as those waves that read their places release them. With `turns` teams of waves, those that issue matrix
    instructions together, take turns at it in loops. `geometry` is what the constraints say, once they were resolved.
    `dependent`: a launch may begin before those ahead of it in its stream have ended; it waits for them before it touches global memory, but
    for that which `stable` names, which nobody writes meanwhile.
    With `workspace` the last parameters, as many as it has entries, are memories that a launch keeps in its workspace; an entry
    is the offset of its memory in bytes. Rows of such a memory hold 0 beyond the size of the dimension that walks them.

    Constraints:
      * (C1) every parameter is a memory or a scalar (an integer or float type).
      * (C2) `arg_names` has one name per parameter.
      * (C3) no symbol is both bound and dynamic.
      * (C4) every entry of `constraints` is a constraint of this dialect; a workgroup dimension is 0 to 4.
      * (C5) `subs` binds symbols to 64-bit integers or expressions of other symbols.
      * (C6) `form` is the number of a form.
      * (C7) `workspace`, if there, has expressions, and as many memories are the last parameters.
      * (C8) `raster`, if there, is not 0.
      * (C9) `cluster`, if there, is at least 2.
      * (C10) `persistent`, if there, is at least 1.
      * (C11) `service_waves`, if there, is at least 1.
      * (C12) where there are `tickets` there is `persistent`, and the last memory lies in the workspace and has one i32.
      * (C13) `workgroups_per_cluster`, if there, has up to 5 positive numbers, one of which is larger than 1, and there is no `cluster`.
      * (C14) `stable`, if there, names parameters that are memories.
      * (C15) `service_registers`, if there, is a multiple of 8 from 24 to 256, and there are `service_waves`.

    Example:
    ```mlir
    wave.kernel @copy attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"BM">, workgroupDim = 0>],
                                  subs = {BM = 64 : i64}, dynamic = ["M"], form = 0 : i32, target = "gfx942"} {
    ^bb0(%a: !wave.memory<["M"], f16, global>, %b: !wave.memory<["M"], f16, global>):
      %0 = wave.read %a : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
      wave.write %0, %b : !wave.tile<[M], f16>, !wave.memory<["M"], f16, global>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$arg_names, ArrayAttr:$constraints,
                       DictionaryAttr:$subs, StrArrayAttr:$dynamic, I32Attr:$form, OptionalAttr<StrAttr>:$target,
                       UnitAttr:$keep_order, UnitAttr:$direct_copies, OptionalAttr<Wave_GeometryAttr>:$geometry,
                       OptionalAttr<ArrayAttr>:$workspace, UnitAttr:$staged_writes, OptionalAttr<I64Attr>:$raster,
                       UnitAttr:$short_sums, OptionalAttr<I64Attr>:$cluster, UnitAttr:$writes_in_boxes,
                       OptionalAttr<I64Attr>:$persistent, OptionalAttr<I64Attr>:$service_waves, UnitAttr:$tickets,
                       OptionalAttr<DenseI64ArrayAttr>:$workgroups_per_cluster,

                       UnitAttr:$dependent, OptionalAttr<StrArrayAttr>:$stable,
                       OptionalAttr<I64Attr>:$service_registers, UnitAttr:$overlap_tiles, UnitAttr:$turns);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1; // kernel_c1 … kernel_c15
  let extraClassDeclaration = [{
    ::mlir::Block &block() { return getBody().front(); }
    /// Parameters that a launch is given; those behind them lie in its workspace.
    unsigned numGivenParameters() {
      return block().getNumArguments() - (getWorkspace() ? static_cast<unsigned>(getWorkspace()->size()) : 0);
    }
    /// Whether `stable` names the parameter.
    bool isStable(::mlir::BlockArgument parameter) {
      return getStable() && ::llvm::is_contained(getStable()->getAsRange<::mlir::StringAttr>(), getArgNames()[parameter.getArgNumber()]);
    }
    bool isInWorkspace(::mlir::Value memory) {
      auto argument = ::llvm::dyn_cast<::mlir::BlockArgument>(memory);
      return argument && argument.getOwner() == &block() && argument.getArgNumber() >= numGivenParameters();
    }
  }];
}

def Wave_WorkgroupIdOp : Wave_Op<"workgroup_id", [Pure]> {
  let summary = "this workgroup's place along a dimension of the grid";
  let description = [{
    Grids have up to five dimensions; how they are launched is the target's matter.

    Constraints:
      * (C1) `dim` is 0 to 4.

    Example:
    ```mlir
    %wg = wave.workgroup_id 0
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1; // workgroup_id_c1
}

def Wave_IndexOfOp : Wave_Op<"index_of", [Pure]> {
  let summary = "the one element of a tile without dimensions, as a number that expressions may speak of";
  let description = [{
    So data decide how often a loop runs, which branch is taken and where a tile is read: what is the same for the whole
    workgroup. The element is a signed number.

    Constraints:
      * (C1) the tile has no dimensions, and integers of 8 bits or more as elements.

    Example:
    ```mlir
    %0 = wave.read %lengths[%wg] {indices = [#wave.expr<"$0">]} : !wave.memory<["B"], i32, global> -> !wave.tile<[], i32>
    %1 = wave.index_of %0 : !wave.tile<[], i32>
    ```
  }];
  let arguments = (ins Wave_Tile:$tile, OptionalAttr<StrArrayAttr>:$tags, OptionalAttr<Wave_OriginAttr>:$origin);
  let results = (outs Index:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
  let hasVerifier = 1; // index_of_c1
}

//===-- Memory --------------------------------------------------------------------------------------------------===//

def Wave_ReadOp : Wave_Op<"read", [Wave_IndexedOp, Wave_AccessOp, Wave_Says<["getWork", "relateLayouts", "getPricedTile"]>, AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "read a tile of a memory";
  let description = [{
    For each coordinate `c` of the result, with `g[d] = start[d] + c[d]` its place in the whole tensor:
    `result[c] = memory[indices(g)]` where that is a place of the memory and every `g[d]` is within its dimension,
    otherwise 0.

    Expressions speak of the index values in `symbols`: `$0` is the first of them.
    `starts` has one expression per dimension of the result (absent before the form `Indexed`: the constraints say it).
    `indices` has one expression per dimension of the memory in `$index<k>`, the place along the k-th dimension of the
    result, and `$dynamic_val<k>`, the k-th of `dynamicValues`; absent means the dimensions in order.
    A place is within its dimension if `0 <= g[d] < size`. `bounds`, with one expression per dimension of the result, replaces
    that by `g[d] < bound`, or, for the text `unbounded`, by nothing; places outside the memory read as 0 all the same.
    `within`, if there, are further conditions in `$index<k>`: other elements are 0.
    From the form `Placed` on there are neither: an element is read where all `guards` hold, comparisons in `$index<k>` and
    `$dynamic_val<k>`; those that always hold are left out.
    `buffer` says which buffer of a multi-buffered shared memory it touches; absent means the first.
    `matrix_load` names a collective load of the target's table (`ldmatrix.x4.trans`, `ds_read_b64_tr_b16`): each lane
    receives what the layout says, from rows that other lanes point to. What is read is the same.
    Where it is `in_place`, nobody holds the tile: the matrix instruction that takes it as a factor reads the memory by itself, when it
    is issued. The layout says which places each wave's part of the instruction reads; all lanes have all of them.
    `workgroup`, if there, is the number in the cluster of the workgroup whose shared memory it reads, which may be its own.

    Constraints:
      * (C1) the element types of memory and result agree.
      * (C2) `indices`, if there, has as many entries as the memory has dimensions; otherwise the ranks agree.
      * (C3) `starts` and `bounds`, if there, have as many entries as the result has dimensions.
      * (C4) the entries, and those of `guards` and `within`, are expressions; one of `bounds` may be `unbounded`.
      * (C5) `buffer` is only there for shared memory.
      * (C6) `matrix_load` is only there for shared memory, and then without `elements_per_thread`.
      * (C7) `in_place` is only there for shared memory, without `matrix_load`, `guards` and dynamic values.
      * (C8) `workgroup` is only there for shared memory, without `in_place` and `matrix_load`, and smaller than the kernel's `cluster`.

    Example:
    ```mlir
    %0 = wave.read %a {elements_per_thread = 4 : i64} : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16>
    ```
  }];
  let arguments = (ins Wave_Memory:$memory, Variadic<Wave_Tile>:$dynamicValues, Variadic<Index>:$symbols,
                       OptionalAttr<I64Attr>:$elements_per_thread, OptionalAttr<ArrayAttr>:$indices,
                       OptionalAttr<ArrayAttr>:$starts, OptionalAttr<ArrayAttr>:$bounds, OptionalAttr<ArrayAttr>:$guards,
                       OptionalAttr<StrArrayAttr>:$tags, OptionalAttr<Wave_OriginAttr>:$origin,
                       OptionalAttr<Wave_ExprAttr>:$buffer, OptionalAttr<StrAttr>:$matrix_load, UnitAttr:$in_place,
                       OptionalAttr<ArrayAttr>:$within, OptionalAttr<I64Attr>:$workgroup);
  let results = (outs Wave_Tile:$result);
  let builders = [OpBuilder<(ins "TileType":$result, "::mlir::Value":$memory, "::mlir::ValueRange":$dynamicValues, "::mlir::ValueRange":$symbols,
                                 "::mlir::IntegerAttr":$elementsPerThread, "::mlir::ArrayAttr":$indices, "::mlir::ArrayAttr":$starts,
                                 "::mlir::ArrayAttr":$bounds, "::mlir::ArrayAttr":$guards, "::mlir::ArrayAttr":$tags, "OriginAttr":$origin,
                                 "ExprAttr":$buffer, "::mlir::StringAttr":$matrixLoad), [{
    build($_builder, $_state, result, memory, dynamicValues, symbols, elementsPerThread, indices, starts, bounds, guards, tags, origin, buffer,
          matrixLoad, /*in_place=*/false, /*within=*/nullptr, /*workgroup=*/nullptr);
  }]>];
  let assemblyFormat = [{ $memory (`[` $symbols^ `]`)? (`using` $dynamicValues^ `:` type($dynamicValues))? attr-dict `:` type($memory) `->` type($result) }];
  let hasVerifier = 1; // read_c1 … read_c8
  let extraClassDeclaration = [{
    ::mlir::Value getIndexedMemory() { return getMemory(); }
    TileType getMovedTile() { return getResult().getType(); }
    ::mlir::Value getMovedValue() { return getResult(); }
    MemoryUses getMemoryUses() { return {{getMemory(), /*isWrite=*/false}}; }
  }];
}

def Wave_WriteOp : Wave_Op<"write", [Wave_IndexedOp, Wave_AccessOp, Wave_Says<["getWork", "relateLayouts", "getPricedTile"]>, AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "write a tile to a memory";
  let description = [{
    For each coordinate `c` of the value, with `g` as for `wave.read`: `memory[indices(g)] = value[c]` where that is a place of
    the memory and every `g[d]` is within its dimension, otherwise nothing. Attributes as for `wave.read`.

    Constraints:
      * (C1) the element types of value and memory agree.
      * (C2) `indices`, if there, has as many entries as the memory has dimensions; otherwise the ranks agree.
      * (C3) `starts` and `bounds`, if there, have as many entries as the value has dimensions.
      * (C4) the entries are expressions; one of `bounds` may be `unbounded`.
      * (C5) `buffer` is only there for shared memory.

    Example:
    ```mlir
    wave.write %0, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
    ```
  }];
  let arguments = (ins Wave_Tile:$value, Wave_Memory:$memory, Variadic<Wave_Tile>:$dynamicValues, Variadic<Index>:$symbols,
                       OptionalAttr<I64Attr>:$elements_per_thread, OptionalAttr<ArrayAttr>:$indices,
                       OptionalAttr<ArrayAttr>:$starts, OptionalAttr<ArrayAttr>:$bounds, OptionalAttr<ArrayAttr>:$guards,
                       OptionalAttr<StrArrayAttr>:$tags, OptionalAttr<Wave_OriginAttr>:$origin,
                       OptionalAttr<Wave_ExprAttr>:$buffer, OptionalAttr<ArrayAttr>:$within);
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$memory, "::mlir::ValueRange":$dynamicValues, "::mlir::ValueRange":$symbols,
                                 "::mlir::IntegerAttr":$elementsPerThread, "::mlir::ArrayAttr":$indices, "::mlir::ArrayAttr":$starts,
                                 "::mlir::ArrayAttr":$bounds, "::mlir::ArrayAttr":$guards, "::mlir::ArrayAttr":$tags, "OriginAttr":$origin,
                                 "ExprAttr":$buffer), [{
    build($_builder, $_state, value, memory, dynamicValues, symbols, elementsPerThread, indices, starts, bounds, guards, tags, origin, buffer,
          /*within=*/nullptr);
  }]>];
  let assemblyFormat = [{ $value `,` $memory (`[` $symbols^ `]`)? (`using` $dynamicValues^ `:` type($dynamicValues))? attr-dict `:` type($value) `,` type($memory) }];
  let hasVerifier = 1; // write_c1 … write_c5
  let extraClassDeclaration = [{
    ::mlir::Value getIndexedMemory() { return getMemory(); }
    TileType getMovedTile() { return getValue().getType(); }
    ::mlir::Value getMovedValue() { return getValue(); }
    MemoryUses getMemoryUses() { return {{getMemory(), /*isWrite=*/true}}; }
  }];
}

def Wave_AtomicOp : Wave_Op<"atomic", [Wave_IndexedOp, Wave_AccessOp, Wave_Says<["getWork", "relateLayouts", "getPricedTile"]>, AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "change elements of a memory, each in one step, and give what was there";
  let description = [{
    For each coordinate `c` of the value, with `g` as for `wave.read`, where `memory[indices(g)]` is a place of the memory and every
    `g[d]` is within its dimension: `result[c] = memory[indices(g)]; memory[indices(g)] = kind(memory[indices(g)], value[c])`, and
    nobody sees or changes the place in between. Elsewhere the result is 0. Attributes as for `wave.read`.

    Of a tile in shared memory `g` is the place in the whole tensor all the same: what lies beyond a dimension changes nothing.

    Coordinates that meet at one place change it one after the other, in an order that is not said; so do atomics of one kind by
    different waves and workgroups. Any other two accesses of a workgroup to the same place keep the order of the program.
    Of floats, `min` and `max` leave a place as it is where the value is NaN, and want no NaN there.
    `cas` compares and swaps: the place becomes `value[c]` where it held `expected[c]`, and stays otherwise.

    Constraints:
      * (C1) the element types of value, memory and result agree: `i32`, `i64`, `f32` or `f64`; `add` may have `f16` or `bf16`, the
        bitwise kinds and `cas` have integers.
      * (C2) to (C5) as for `wave.write`.
      * (C6) value and result have the same dimensions.
      * (C7) `cas`, and only it, has `expected`, of the value's type.

    Example:
    ```mlir
    %old = wave.atomic add %0, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
    ```
  }];
  let arguments = (ins Wave_AtomicKind:$kind, Wave_Tile:$value, Optional<Wave_Tile>:$expected, Wave_Memory:$memory, Variadic<Wave_Tile>:$dynamicValues,
                       Variadic<Index>:$symbols, OptionalAttr<I64Attr>:$elements_per_thread, OptionalAttr<ArrayAttr>:$indices,
                       OptionalAttr<ArrayAttr>:$starts, OptionalAttr<ArrayAttr>:$bounds, OptionalAttr<ArrayAttr>:$guards,
                       OptionalAttr<StrArrayAttr>:$tags, OptionalAttr<Wave_OriginAttr>:$origin,
                       OptionalAttr<Wave_ExprAttr>:$buffer);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = [{ $kind $value (`expecting` $expected^ `:` type($expected))? `,` $memory (`[` $symbols^ `]`)? (`using` $dynamicValues^ `:` type($dynamicValues))? attr-dict `:` type($value) `,` type($memory) `->` type($result) }];
  let hasVerifier = 1; // atomic_c1 … atomic_c7
  let extraClassDeclaration = [{
    ::mlir::Value getIndexedMemory() { return getMemory(); }
    TileType getMovedTile() { return getValue().getType(); }
    ::mlir::Value getMovedValue() { return getValue(); }
    MemoryUses getMemoryUses() { return {{getMemory(), /*isWrite=*/true, getKind()}}; }
  }];
}

def Wave_AllocateOp : Wave_Op<"allocate", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a tile in the workgroup's shared memory";
  let description = [{
    Its contents are undefined until written. `offset` is its place in the workgroup's one shared block, once assigned.
    With `buffers` there are that many tiles, one behind the other; each access says which one it means.

    Constraints:
      * (C1) the result is in shared memory.
      * (C2) `buffers` is at least 1.
      * (C3) the result has no strides.

    Example:
    ```mlir
    %0 = wave.allocate : !wave.memory<["M", "K"], f16, shared>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset, OptionalAttr<StrArrayAttr>:$tags,
                       DefaultValuedAttr<I64Attr, "1">:$buffers);
  let results = (outs Wave_Memory:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1; // allocate_c1, allocate_c2, allocate_c3
}

def Wave_PrefetchOp : Wave_Op<"prefetch", [Wave_IndexedOp, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a memory will be read soon";
  let description = [{
    A hint: the tile of `memory` that a `wave.read` with these `indices` gives at this place. It changes no value, is no access
    and orders nothing. `wave-decompose-ops` leaves it out for targets that have no such instruction.

    Constraints:
      * (C1) the memory is global, and the tile has its element type.
      * (C2) `indices`, if there, has as many entries, expressions, as the memory has dimensions; otherwise the ranks agree.

    Example:
    ```mlir
    wave.prefetch %a : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16>
    ```
  }];
  let arguments = (ins Wave_Memory:$memory, Variadic<Index>:$symbols, TypeAttrOf<Wave_Tile>:$tile, OptionalAttr<ArrayAttr>:$indices,
                       OptionalAttr<ArrayAttr>:$starts, OptionalAttr<StrArrayAttr>:$tags);
  let assemblyFormat = "$memory (`[` $symbols^ `]`)? attr-dict `:` type($memory) `->` $tile";
  let hasVerifier = 1; // prefetch_c1, prefetch_c2
}

def Wave_CopyOp : Wave_Op<"copy", [Wave_IndexedOp, Wave_AccessOp, Wave_Says<["getWork"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "copy a tile from global to shared memory, past the registers";
  let description = [{
    For each coordinate `c` of the tile, with `g[d] = start[d] + c[d]` its place in the whole tensor:
    `destination[c] = source[indices(g)]` where all `guards` hold, otherwise 0. It is what a `wave.read` of the source and a
    `wave.write` to the destination do together, but asynchronous: the destination is undefined for the wave itself until a `wave.wait`
    of the target's counter, for others until that and a barrier. `starts`, `indices` and `guards` are those of `wave.read`, for the
    source; `buffer` is the one of the destination that is written.

    The layout of `tile` says who writes which place of the shared tile, *as stored*: the coordinate `c` that lies at a place is
    what the address map's swizzle puts there, so the swizzle is in which element a lane fetches, and the lanes of one instruction
    may write one behind the other, as some machines must. One instruction moves `elements_per_thread` elements a lane.

    Where it is `boxed`, one lane of the workgroup has the machine copy a box of the source; nobody holds what is moved, so the layout
    gives all of it to every lane of every wave, and `elements_per_thread` is what one box has. The copy ticks the counter `boxes`, whose
    groups are the workgroup's: a `wave.wait` completes them for the wave that waits, whoever issued them. Places outside of the source
    give 0 by themselves; there are no `guards`. Where it is `multicast` too, the tile is the same for all workgroups of the cluster: each of them
    asks for its share of the box, which all of them get, and each is told when it has the whole one.

    Constraints:
      * (C1) the source is in global memory, the destination in shared memory, and their element types and the tile's agree.
      * (C2) the tile has the dimensions of the destination, in order.
      * (C3) `indices`, if there, has as many entries as the source has dimensions; otherwise the ranks agree. `starts`, if there,
        has as many entries as the tile has dimensions. The entries, and those of `guards`, are expressions.
      * (C4) `elements_per_thread` is at least 1.
      * (C5) one that is `boxed` has no `guards`, and no digit of lane or wave with a dimension.
      * (C6) one that is `multicast` is `boxed`, in a kernel with `workgroups_per_cluster`.

    Example:
    ```mlir
    wave.copy %a, %s {elements_per_thread = 8 : i64} : !wave.tile<[M, K], f16, "reg = (8 K 1), lane = (4 K 8)(16 M 1)">,
        !wave.memory<["M", "K"], f16, global>, !wave.memory<["M", "K"], f16, shared>
    ```
  }];
  let arguments = (ins Wave_Memory:$source, Wave_Memory:$destination, Variadic<Index>:$symbols, TypeAttrOf<Wave_Tile>:$tile, I64Attr:$elements_per_thread,
                       OptionalAttr<ArrayAttr>:$indices, OptionalAttr<ArrayAttr>:$starts, OptionalAttr<ArrayAttr>:$guards,
                       OptionalAttr<StrArrayAttr>:$tags, OptionalAttr<Wave_OriginAttr>:$origin,
                       OptionalAttr<Wave_ExprAttr>:$buffer, UnitAttr:$boxed, UnitAttr:$multicast);
  let assemblyFormat = "$source (`[` $symbols^ `]`)? `,` $destination attr-dict `:` $tile `,` type($source) `,` type($destination)";
  let hasVerifier = 1; // copy_c1 … copy_c6
  let extraClassDeclaration = [{
    /// Bytes that one instruction moves in each lane.
    int64_t bytesPerLane();

    ::mlir::Value getIndexedMemory() { return getSource(); }
    TileType getMovedTile() { return getTile(); }
    ::mlir::Value getMovedValue() { return {}; }
    MemoryUses getMemoryUses() { return {{getSource(), /*isWrite=*/false}, {getDestination(), /*isWrite=*/true}}; }
    bool isAsync() { return true; }
    ::mlir::OperandRange getDynamicValues() { return getOperation()->getOperands().take_front(0); }
    ::mlir::MutableOperandRange getDynamicValuesMutable() { return {getOperation(), 0, 0}; }
  }];
}

def Wave_CopyOutOp : Wave_Op<"copy_out", [Wave_IndexedOp, Wave_AccessOp, Wave_Says<["getWork"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "copy a tile from shared to global memory, past the registers";
  let description = [{
    For each coordinate `c` of the tile, with `g[d] = start[d] + c[d]` its place in the whole tensor:
    `destination[indices(g)] = source[c]`, where that place is one of the destination's. It is what a `wave.read` of the source and a
    `wave.write` to the destination do together, but asynchronous, and one lane of the workgroup has the machine do it, box by box.
    `starts` and `indices` are those of `wave.write`, for the destination; `buffer` is the one of the source that is read.

    Nobody holds what is moved, so the layout gives all of it to every lane of every wave, and `elements_per_thread` is what one box
    has. Where digits of waves have a dimension, each team of waves that hold the same part has one lane copy it. The copy ticks the counter `bulk`: behind a `wave.commit` and a `wave.wait` of it, the source may be written again. A kernel waits
    for all of them before it ends. What lanes wrote to the source has to be published by the barrier in front of the copy.

    Constraints:
      * (C1) the source is in shared memory, the destination in global memory, and their element types and the tile's agree.
      * (C2) the tile has the dimensions of the source, in order.
      * (C3) `indices`, if there, has as many entries as the destination has dimensions; otherwise the ranks agree. `starts`, if there,
        has as many entries as the tile has dimensions. The entries are expressions.
      * (C4) `elements_per_thread` is at least 1.
      * (C5) no digit of lanes has a dimension; digits of waves that have one come behind those that have none.
      * (C6) nothing but copies like it touches the destination, and it is in no loop: boxes are written in any order.

    Example:
    ```mlir
    wave.copy_out %s, %c {elements_per_thread = 8192 : i64} : !wave.tile<[M, N], f16, "reg = (64 N 1)(128 M 1), lane = (32 _ 0)">,
        !wave.memory<["M", "N"], f16, shared>, !wave.memory<["M", "N"], f16, global>
    ```
  }];
  let arguments = (ins Wave_Memory:$source, Wave_Memory:$destination, Variadic<Index>:$symbols, TypeAttrOf<Wave_Tile>:$tile, I64Attr:$elements_per_thread,
                       OptionalAttr<ArrayAttr>:$indices, OptionalAttr<ArrayAttr>:$starts,
                       OptionalAttr<StrArrayAttr>:$tags, OptionalAttr<Wave_OriginAttr>:$origin, OptionalAttr<Wave_ExprAttr>:$buffer);
  let assemblyFormat = "$source `,` $destination (`[` $symbols^ `]`)? attr-dict `:` $tile `,` type($source) `,` type($destination)";
  let hasVerifier = 1; // copy_out_c1 … copy_out_c6
  let extraClassDeclaration = [{
    ::mlir::Value getIndexedMemory() { return getDestination(); }
    TileType getMovedTile() { return getTile(); }
    ::mlir::Value getMovedValue() { return {}; }
    MemoryUses getMemoryUses() { return {{getDestination(), /*isWrite=*/true}, {getSource(), /*isWrite=*/false}}; }
    bool isAsync() { return true; }
    /// Neighbouring waves of which one has a part copied.
    int64_t wavesPerPart();
    /// Its destination's end is the only bound.
    ::mlir::ArrayAttr getGuardsAttr() { return {}; }
    ::mlir::OperandRange getDynamicValues() { return getOperation()->getOperands().take_front(0); }
    ::mlir::MutableOperandRange getDynamicValuesMutable() { return {getOperation(), 0, 0}; }
  }];
}

//===-- Compute -------------------------------------------------------------------------------------------------===//

class Wave_ComputeOp<string mnemonic, list<Trait> traits = []> : Wave_Op<mnemonic, !listconcat(traits, [Pure])> {
  dag common = (ins OptionalAttr<StrArrayAttr>:$tags, OptionalAttr<Wave_OriginAttr>:$origin);
}

def Wave_FillOp : Wave_ComputeOp<"fill", [Wave_Says<["getWork"]>]> {
  let summary = "a tile whose elements are all the same constant";
  let description = [{
    `result[c] = value`.

    Constraints:
      * (C1) `value` has the element type of the result.

    Example:
    ```mlir
    %0 = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
    ```
  }];
  let arguments = !con((ins TypedAttrInterface:$value), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$value attr-dict `->` type($result)";
  let hasVerifier = 1; // fill_c1
}

def Wave_SplatOp : Wave_ComputeOp<"splat", [Wave_Says<["getWork"]>]> {
  let summary = "a tile whose elements are all the same scalar parameter";
  let arguments = !con((ins AnyType:$scalar), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($scalar) `->` type($result)";
  let hasVerifier = 1; // splat_c1: the element type of the result is the scalar's type
}

def Wave_MmaOp : Wave_ComputeOp<"mma", [Wave_Says<["getWork", "relateLayouts"]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "multiply two tiles and add a third";
  let description = [{
    Computes `result[m, n] = acc[m, n] + sum_k lhs[m, k] * rhs[n, k]` over the in-bounds `k` that both operands cover (from the form
    `Placed` on, over all of them: what is out of bounds was read as 0). The sum is taken in f64 (integers: exactly) and rounded once. `M` and
    `N` are the last two dimensions of `acc`, in either order: `lhs` has the rows, and an accumulator `[N, M]` is the same one. Dimensions
    before them are batches that all operands share. `kind` names the matrix instruction; absent means the kernel's.
    With `scales`, one for 32 neighbouring elements of `K` on each side, the products are those of
    `lhs[m, k] * scales[0][m, k/32]` and `rhs[n, k] * scales[1][n, k/32]`.

    A *partial* product, of tiles with layouts, keeps `K` as the accumulator's first dimension with fewer coordinates: each `k` is added
    at the largest of them that is not beyond it, which is that of the wave that holds it.

    Constraints:
      * (C1) `lhs` has `M` and a dimension `K` that `acc` lacks, or has first; `rhs` has `N` and the same `K`.
      * (C2) `acc` has at least two dimensions.
      * (C3) there are no scales, or two of `f8E8M0FNU` with the dimensions of `lhs` and `rhs` but `K/32` for `K`.

    Example:
    ```mlir
    %d = wave.mma %a, %b, %c : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    %e = wave.mma %x, %y, %c scaled %s, %t : !wave.tile<[M, "K/32"], f8E8M0FNU>, !wave.tile<[N, "K/32"], f8E8M0FNU>
           : !wave.tile<[M, K], f4E2M1FN>, !wave.tile<[N, K], f4E2M1FN>, !wave.tile<[M, N], f32>
    ```
  }];
  let arguments = !con((ins Wave_Tile:$lhs, Wave_Tile:$rhs, Wave_Tile:$acc, Variadic<Wave_Tile>:$scales, OptionalAttr<StrAttr>:$kind), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc (`scaled` $scales^ `:` type($scales))? attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
  let hasVerifier = 1; // mma_c1 … mma_c3
  let extraClassDeclaration = [{
    bool isScaled() { return !getScales().empty(); }
    /// The dimension of the scales: one place for a block of the contracted one.
    ::soliton::ScaledDim getScaleDim();
    /// Whether each wave has an accumulator of its own for its part of the contracted dimension.
    bool isPartial();
    /// The contracted dimension: in both operands, not in the accumulator, unless it is partial.
    ::mlir::StringAttr getContractedDim();
    ::mlir::StringAttr getRowDim();
    ::mlir::StringAttr getColumnDim();
  }];
}

def Wave_UnaryOp : Wave_ComputeOp<"unary", [Wave_Says<["isTranscendental"]>]> {
  let summary = "apply a function to every element";
  let description = [{
    `result[c] = kind(operand[c])`, rounded to the element type. `logical_not` flips every bit; `round` takes halves away from
    zero, `roundeven` to even. Integers have `abs`, `neg`, `logical_not` and the roundings.

    Constraints:
      * (C1) operand and result have the same type.

    Example:
    ```mlir
    %1 = wave.unary exp2 %0 : !wave.tile<[M], f32>
    ```
  }];
  let arguments = !con((ins Wave_UnaryKind:$kind, Wave_Tile:$operand), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$kind $operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1; // unary_c1
}

def Wave_BinaryOp : Wave_ComputeOp<"binary", [Wave_TileOp]> {
  let summary = "combine two tiles element by element";
  let description = [{
    `result[c] = kind(lhs[c], rhs[c])`; an operand that lacks a dimension of the result is constant along it. Integers wrap; their
    `div` rounds toward zero, `floordiv` down; `mod` is what `floordiv` leaves and has the sign of `rhs`, of floats too. `max` and
    `min` with NaN are NaN. Bits belong to integers, `atan2` to floats.

    Constraints:
      * (C1) both operands and the result have one element type.
      * (C2) the dimensions of each operand are among those of the result, and each of the result's is in an operand.

    Example:
    ```mlir
    %2 = wave.binary add %0, %1 : !wave.tile<[M, N], f32>, !wave.tile<[M], f32> -> !wave.tile<[M, N], f32>
    ```
  }];
  let arguments = !con((ins Wave_BinaryKind:$kind, Wave_Tile:$lhs, Wave_Tile:$rhs), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1; // binary_c1, binary_c2
}

def Wave_CompareOp : Wave_ComputeOp<"compare", [Wave_TileOp]> {
  let summary = "compare two tiles element by element";
  let description = [{
    `result[c] = lhs[c] predicate rhs[c]`, an `i1`; comparisons with NaN are false except `ne`.

    Constraints:
      * (C1) both operands have one element type; the result's is `i1`.
      * (C2) dimensions as for `wave.binary`.

    Example:
    ```mlir
    %2 = wave.compare lt %0, %1 : !wave.tile<[M], i32>, !wave.tile<[M], i32> -> !wave.tile<[M], i1>
    ```
  }];
  let arguments = !con((ins Wave_ComparePredicate:$predicate, Wave_Tile:$lhs, Wave_Tile:$rhs), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1; // compare_c1, compare_c2
}

def Wave_SelectOp : Wave_ComputeOp<"select", [Wave_TileOp]> {
  let summary = "choose between two tiles element by element";
  let description = [{
    `result[c] = condition[c] ? ifTrue[c] : ifFalse[c]`.

    Constraints:
      * (C1) the condition's element type is `i1`; the others have one element type.
      * (C2) dimensions as for `wave.binary`.

    Example:
    ```mlir
    %3 = wave.select %0, %1, %2 : !wave.tile<[M], i1>, !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    ```
  }];
  let arguments = !con((ins Wave_Tile:$condition, Wave_Tile:$ifTrue, Wave_Tile:$ifFalse), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = [{ $condition `,` $ifTrue `,` $ifFalse attr-dict `:` type($condition) `,` type($ifTrue) `,` type($ifFalse) `->` type($result) }];
  let hasVerifier = 1; // select_c1, select_c2
}

def Wave_CastOp : Wave_ComputeOp<"cast", [Wave_TileOp]> {
  let summary = "convert every element to another type";
  let description = [{
    Floats round to nearest even; float to integer rounds toward zero; integers wrap, so `i1` takes the low bit; `i1` from a float
    is `!= 0`.

    Constraints:
      * (C1) operand and result have the same dimensions.

    Example:
    ```mlir
    %1 = wave.cast %0 : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f16>
    ```
  }];
  let arguments = !con((ins Wave_Tile:$operand), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1; // cast_c1
}

def Wave_BitcastOp : Wave_ComputeOp<"bitcast", [Wave_Says<["getWork", "relateLayouts"]>]> {
  let summary = "read the bits of the elements as another type";
  let description = [{
    `result[c]` is the number whose bits are those of `operand[c]`. Which NaN a NaN is, is not said. Of elements `n` times as wide, each
    is a group of `n` narrow ones, the first of which has its lowest bits: along the last dimension `K`, which the wide ones have as
    `K/n`, `wide[k]` has the bits of `narrow[n*k] … narrow[n*k + n - 1]`. Where neither width is a whole number of the other, the least
    group of whole elements of both has the same bits: four `f6` of `K` are three bytes of `3*(K/4)`.

    Constraints:
      * (C1) operand and result have the same dimensions, but the last one of the wider elements counts groups of the other's.
      * (C2) the wider element type has whole bytes, and the elements of a group have as many bits on both sides.

    Example:
    ```mlir
    %1 = wave.bitcast %0 : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], i32>
    %2 = wave.bitcast %a : !wave.tile<[M, "K/2"], i8> -> !wave.tile<[M, K], f4E2M1FN>
    %3 = wave.bitcast %b : !wave.tile<[M, "3*(K/4)"], i8> -> !wave.tile<[M, K], f6E3M2FN>
    ```
  }];
  let arguments = !con((ins Wave_Tile:$operand), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1; // bitcast_c1, bitcast_c2
  let extraClassDeclaration = [{
    /// Which dimension counts groups of narrow elements; nothing where both have one width.
    std::optional<::soliton::ScaledDim> getGroups();
    /// Of two widths: whether the result has the wider elements.
    bool isGrouping();
  }];
}

def Wave_BroadcastOp : Wave_ComputeOp<"broadcast", [Wave_Says<["getWork", "relateLayouts"]>]> {
  let summary = "repeat a tile along further dimensions";
  let description = [{
    `result[c] = operand[c restricted to its dimensions]`. Where the operand has `K/n` and the result `K`, each of its elements
    stands for `n` neighbouring ones: `operand[k / n]`.

    Constraints:
      * (C1) the dimensions of the operand are among those of the result, or count groups of them; element types agree.

    Example:
    ```mlir
    %1 = wave.broadcast %0 : !wave.tile<[M], f32> -> !wave.tile<[M, N], f32>
    %2 = wave.broadcast %s : !wave.tile<[M, "K/32"], f32> -> !wave.tile<[M, K], f32>
    ```
  }];
  let arguments = !con((ins Wave_Tile:$operand), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1; // broadcast_c1
}

def Wave_PermuteOp : Wave_ComputeOp<"permute", [Wave_Says<["getWork", "relateLayouts"]>]> {
  let summary = "name the dimensions in another order";
  let description = [{
    `result[c] = operand[c]`: coordinates have names, so only the order in which a read or write lists them changes.

    Constraints:
      * (C1) the result's dimensions are a permutation of the operand's; element types agree.

    Example:
    ```mlir
    %1 = wave.permute %0 : !wave.tile<[M, N], f32> -> !wave.tile<[N, M], f32>
    ```
  }];
  let arguments = !con((ins Wave_Tile:$operand), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1; // permute_c1
}

def Wave_SelfIndexOp : Wave_ComputeOp<"self_index", [Wave_Says<["getWork"]>, Wave_IndexedOp]> {
  let summary = "each element's own place along a dimension";
  let description = [{
    `result[c] = start + c[dim]`: the place in the whole tensor. `start` is absent before the form `Indexed`.

    Constraints:
      * (C1) the result has the one dimension `dim` and an integer or index element type.

    Example:
    ```mlir
    %0 = wave.self_index "M" : !wave.tile<[M], i32>
    ```
  }];
  let arguments = !con((ins StrAttr:$dim, Variadic<Index>:$symbols, OptionalAttr<Wave_ExprAttr>:$start), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$dim (`[` $symbols^ `]`)? attr-dict `:` type($result)";
  let hasVerifier = 1; // self_index_c1
}

def Wave_ApplyExprOp : Wave_ComputeOp<"apply_expr", [Wave_TileOp, Wave_IndexedOp, AttrSizedOperandSegments]> {
  let summary = "evaluate an index expression on every element";
  let description = [{
    `result[c] = expr[$APPLY_EXPR_ARG_k := inputs[k][c]]` in exact integers, then as the result's element type. An input that
    lacks a dimension of the result is constant along it.

    Constraints:
      * (C1) inputs have integer element types; there is at least one, the result has the dimensions of the first, and those of the
        others are among them.

    Example:
    ```mlir
    %1 = wave.apply_expr <"2*$APPLY_EXPR_ARG_0 + 1"> %0 : (!wave.tile<[M], i32>) -> !wave.tile<[M], i32>
    ```
  }];
  let arguments = !con((ins Wave_ExprAttr:$expr, Variadic<Wave_Tile>:$inputs, Variadic<Index>:$symbols), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$expr (`[` $symbols^ `]`)? $inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1; // apply_expr_c1
}

def Wave_ReduceOp : Wave_ComputeOp<"reduce", [Wave_Says<["getWork", "relateLayouts", "getPricedTile"]>, Wave_IndexedOp, AttrSizedOperandSegments]> {
  let summary = "combine a tile along a dimension";
  let description = [{
    `result[c] = init[c] ∘ source[c, d0] ∘ source[c, d1] …` over the in-bounds coordinates along `dim`. Of none of them `sum` is 0, `prod`
    1, `any` false, `all` true, `max` the lowest number of the type and `min` its highest. With NaN `max` and `min` are NaN.
    A *partial* reduction keeps `dim` in its result with fewer coordinates, and there is no `init`: digits of the source's layout that
    the result's lacks are combined, so a coordinate goes to the one where they are 0 (without layouts: to the largest one
    that is not beyond it). In bounds is `0 <= start + c[dim] <` the dimension's size; `start` absent means the
    constraints' start before the form `Indexed`, from there on that nothing is masked, as for partial results, whose coordinates stand
    for all that went into them.

    Constraints:
      * (C1) `dim` is a dimension of the source.
      * (C2) the result has the source's dimensions without `dim` (with it, if partial) and its element type.
      * (C3) `init`, if there, has the result's type.
      * (C4) `any` and `all` combine `i1`, the others numbers.

    Example:
    ```mlir
    %1 = wave.reduce sum %0 along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
    ```
  }];
  let arguments = !con((ins Wave_ReduceKind:$kind, Wave_Tile:$source, Optional<Wave_Tile>:$init, Variadic<Index>:$symbols, StrAttr:$dim,
                            OptionalAttr<Wave_ExprAttr>:$start), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = [{
    $kind $source (`init` $init^)? `along` $dim (`[` $symbols^ `]`)? attr-dict `:` custom<ReduceTypes>(type($source), type($init), type($result))
  }];
  let hasVerifier = 1; // reduce_c1 … reduce_c4
}

def Wave_ArgReduceOp : Wave_ComputeOp<"arg_reduce"> {
  let summary = "the largest or smallest element along a dimension, and where it is";
  let description = [{
    Of the pairs `(source[c, d], start + d)` over the in-bounds coordinates along `dim`, and of the pair `inits` if it is there, the one
    with the most extreme element: `value[c]` is the element, `index[c]` its place in the whole tensor. NaN is more extreme than any
    number; of equal elements the one with the least place is taken. Of nothing, `value` is what `wave.reduce` gives and `index`
    the largest number of its type. A loop that carries both finds the extreme of all that it has read.
    `wave-decompose-ops` says it by two reductions; it is not there from the form `Indexed` on.

    Constraints:
      * (C1) `dim` is a dimension of the source, whose elements are numbers.
      * (C2) `value` and `index` have the source's dimensions without `dim`; `value` has its element type, `index` `i32` or `i64`.
      * (C3) `inits`, if there, are a value and an index of the results' types.

    Example:
    ```mlir
    %value, %index = wave.arg_reduce max %0 along "N" : (!wave.tile<[M, N], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], i32>)
    ```
  }];
  let arguments = !con((ins Wave_ExtremeKind:$kind, Wave_Tile:$source, Variadic<Wave_Tile>:$inits, StrAttr:$dim), common);
  let results = (outs Wave_Tile:$value, Wave_Tile:$index);
  let assemblyFormat = "$kind $source (`init` $inits^)? `along` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // arg_reduce_c1 … arg_reduce_c3
}

def Wave_ScanOp : Wave_ComputeOp<"scan", [Wave_Says<["getWork", "relateLayouts", "getPricedTile"]>, Wave_IndexedOp, AttrSizedOperandSegments]> {
  let summary = "combine each element with those before it along a dimension";
  let description = [{
    `result[c, d] = init[c] ∘ source[c, d0] ∘ … ∘ source[c, d]` over the coordinates along `dim` up to `d` that are in bounds; ∘, in bounds
    and `start` are those of `wave.reduce`. Beyond the bounds stands what the last element before them has.

    `totals` says that the row is cut into runs, one for each of its coordinates along `dim`, which are where runs begin: a run counts
    in those behind it by its total alone, `result[c, d] = init[c] ∘ totals[c, r0] ∘ … ∘ source[c, r] ∘ … ∘ source[c, d]`, where `r` begins the
    run of `d` and `r0 …` are before it. The runs are those of the waves, and all of them hold all totals.

    Constraints:
      * (C1) `dim` is a dimension of the source.
      * (C2) source and result have the same dimensions and element types.
      * (C3) `init`, if there, has the source's dimensions without `dim`; `totals`, if there, has its dimensions; both its element type.
      * (C4) `any` and `all` combine `i1`, the others numbers.

    Example:
    ```mlir
    %1 = wave.scan sum %0 along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
    %2 = wave.scan sum %0 init %i : !wave.tile<[M], f32> along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
    ```
  }];
  let arguments = !con((ins Wave_ReduceKind:$kind, Wave_Tile:$source, Optional<Wave_Tile>:$init, Optional<Wave_Tile>:$totals,
                            Variadic<Index>:$symbols, StrAttr:$dim, OptionalAttr<Wave_ExprAttr>:$start), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = [{
    $kind $source (`init` $init^ `:` type($init))? (`after` $totals^ `:` type($totals))? `along` $dim (`[` $symbols^ `]`)? attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1; // scan_c1 … scan_c4
}

def Wave_ShuffleOp : Wave_ComputeOp<"shuffle", [Wave_Says<["getWork", "relateLayouts", "getPricedTile"]>]> {
  let summary = "each element becomes another one of its row";
  let description = [{
    `result[c, d] = source[c, s]`, where `s` along `dim` is `d xor offset` (`bfly`), `d − offset` (`up`), `d + offset` (`down`) or `index[c, d]`
    (`idx`). Where `s` is no place of the row, which has as many elements as a wave has lanes, the element keeps its value.

    Constraints:
      * (C1) `dim` is a dimension of the source.
      * (C2) source and result have the same dimensions and element types.
      * (C3) `idx` has an `index`, a tile of `i32` of the source's dimensions; the others have an `offset` that is not negative.

    Example:
    ```mlir
    %1 = wave.shuffle bfly %0 along "LANES" {offset = 16 : i64} : !wave.tile<[WAVES, LANES], f32> -> !wave.tile<[WAVES, LANES], f32>
    %3 = wave.shuffle idx %0 from %2 : !wave.tile<[LANES], i32> along "LANES" : !wave.tile<[LANES], f32> -> !wave.tile<[LANES], f32>
    ```
  }];
  let arguments = !con((ins Wave_ShuffleMode:$mode, Wave_Tile:$source, Optional<Wave_Tile>:$index, OptionalAttr<I64Attr>:$offset,
                            StrAttr:$dim), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = [{
    $mode $source (`from` $index^ `:` type($index))? `along` $dim attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1; // shuffle_c1 … shuffle_c3
}

def Wave_RearrangeOp : Wave_ComputeOp<"rearrange", [Wave_IndexedOp]> {
  let summary = "the elements of a tile, elsewhere";
  let description = [{
    `result[c] = operand[indices(c)]`: `indices` has one expression per dimension of the operand in `$index<k>`, the coordinate along the k-th
    dimension of the result, both counted from the beginning of the workgroup's tile. Without `indices` the elements keep their row-major order:
    the l-th element of the result is the l-th of the operand. What is not in the operand's tile is 0, and so is what lies beyond
    the end of a dimension of the operand that the result lacks.
    `wave-decompose-ops` says it by a tile in shared memory, written and read; it is not there from the form `Indexed` on.

    Constraints:
      * (C1) the element types agree.
      * (C2) `indices`, if there, has as many entries, expressions, as the operand has dimensions.
      * (C3) without `indices`, both tiles have as many elements, once their extents are known.

    Example:
    ```mlir
    %1 = wave.rearrange %0 {indices = [#wave.expr<"$index0">, #wave.expr<"$index1 + 16">]} : !wave.tile<[M, N], f32> -> !wave.tile<[M, H], f32>
    ```
  }];
  let arguments = !con((ins Wave_Tile:$operand, Variadic<Index>:$symbols, OptionalAttr<ArrayAttr>:$indices), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$operand (`[` $symbols^ `]`)? attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1; // rearrange_c1, rearrange_c2
}

def Wave_ConcatenateOp : Wave_ComputeOp<"concatenate"> {
  let summary = "tiles one behind the other along a dimension";
  let description = [{
    The k-th piece has the dimension `along[k]` where the result has `dim`. With `b_k` the sum of the extents of the pieces before it,
    `result[…, b_k + i, …] = piece_k[…, i, …]`, counted from the beginning of the workgroup's tiles. What lies beyond the end of its dimension
    `along[k]` is 0. `wave-decompose-ops` says it by a tile in shared memory; it is not there from the form `Indexed` on.

    Constraints:
      * (C1) there is at least one piece, and an entry of `along` for each.
      * (C2) each piece has the result's dimensions, with `along[k]` in the place of `dim`, and its element type.
      * (C3) the extents of the pieces add up to that of `dim`, once they are known.

    Example:
    ```mlir
    %2 = wave.concatenate %0, %1 along ["A", "B"] into "N" : (!wave.tile<[M, A], f32>, !wave.tile<[M, B], f32>) -> !wave.tile<[M, N], f32>
    ```
  }];
  let arguments = !con((ins Variadic<Wave_Tile>:$pieces, StrArrayAttr:$along, StrAttr:$dim), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$pieces `along` $along `into` $dim attr-dict `:` functional-type($pieces, $result)";
  let hasVerifier = 1; // concatenate_c1, concatenate_c2
}

def Wave_SortOp : Wave_ComputeOp<"sort"> {
  let summary = "rows in order, or the first of them";
  let description = [{
    The in-bounds elements along `dim` in `order`: `results[0][c, i]` is the element of which `i` others of `keys[c, ·]` come before.
    Of equal elements the one with the lower place comes first; NaN is larger than any number, and equal to NaN. The k-th of `payloads` is
    rearranged in the same way and becomes `results[k + 1]`. The results have `into` in the place of `dim`: the first elements
    of the row, as many as the tile has along `into`; where the row has fewer, 0.
    `wave-decompose-ops` says it by counting which elements come before each; it is not there from the form `Indexed` on.

    Constraints:
      * (C1) `dim` is a dimension of the keys, which are integers of 8 bits or more or floats of 8 bits or more.
      * (C2) payloads have the dimensions of the keys, in order, and elements of whole bytes or `i1`.
      * (C3) there is a result for the keys and one for each payload, of the same element type and dimensions, with `into` in the place of `dim`.

    Example:
    ```mlir
    %v, %i = wave.sort descending %0 with %1 along "N" into "K" : (!wave.tile<[M, N], f32>, !wave.tile<[M, N], i32>) -> (!wave.tile<[M, K], f32>, !wave.tile<[M, K], i32>)
    ```
  }];
  let arguments = !con((ins Wave_SortOrder:$order, Wave_Tile:$keys, Variadic<Wave_Tile>:$payloads, StrAttr:$dim, StrAttr:$into), common);
  let results = (outs Variadic<Wave_Tile>:$results);
  let assemblyFormat = "$order $keys (`with` $payloads^)? `along` $dim `into` $into attr-dict `:` functional-type(operands, $results)";
  let hasVerifier = 1; // sort_c1 … sort_c3
}

def Wave_PrintOp : Wave_Op<"print", [Wave_TileOp, Wave_IndexedOp, MemoryEffects<[MemWrite]>]> {
  let summary = "show the elements of a tile, and who holds them";
  let description = [{
    `result[c] = operand[c]`, and each element is printed with its label, its place in the whole tensor, workgroup, wave and lane. `starts` has
    one expression per dimension; it is absent before the form `Indexed`. Only the emulator prints: other back ends refuse it.

    Constraints:
      * (C1) operand and result have the same type.
      * (C2) `starts`, if there, has an expression for each dimension.

    Example:
    ```mlir
    %1 = wave.print "x" %0 : !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    ```
  }];
  let arguments = (ins StrAttr:$label, Wave_Tile:$operand, Variadic<Index>:$symbols, OptionalAttr<ArrayAttr>:$starts,
                       OptionalAttr<StrArrayAttr>:$tags, OptionalAttr<Wave_OriginAttr>:$origin);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$label $operand (`[` $symbols^ `]`)? attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1; // print_c1, print_c2
}

def Wave_ConvertOp : Wave_ComputeOp<"convert", [Wave_Says<["getWork"]>]> {
  let summary = "the same tile, held by others";
  let description = [{
    `result[c] = operand[c]`. Only the layout differs. `plan` says how the data moves, once decided.

    Constraints:
      * (C1) dimensions and element types agree.

    Example:
    ```mlir
    %1 = wave.convert %0 : !wave.tile<[M], f32, "lane = (32 M 1)"> -> !wave.tile<[M], f32, "reg = (32 M 1), lane = (32 _ 0)">
    ```
  }];
  let arguments = !con((ins Wave_Tile:$operand, OptionalAttr<Wave_ConvertPlan>:$plan), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1; // convert_c1
}

def Wave_SliceOp : Wave_ComputeOp<"slice", [Wave_Says<["getWork"]>]> {
  let summary = "some registers of a tile";
  let description = [{
    `result[c] = operand[c]` for the coordinates that registers `first … first + n` of the operand hold.

    Constraints:
      * (C1) the result's layout is the operand's, cut to those registers.

    Example:
    ```mlir
    %1 = wave.slice %0 from 4 : !wave.tile<[M], f32, "reg = (8 M 1)"> -> !wave.tile<[M], f32, "reg = (4 M 1), offset = (M 4)">
    ```
  }];
  let arguments = !con((ins Wave_Tile:$operand, I64Attr:$first), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$operand `from` $first attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1; // slice_c1
}

def Wave_JoinOp : Wave_ComputeOp<"join", [Wave_Says<["getWork"]>]> {
  let summary = "a tile from pieces, registers in order";
  let description = [{
    The union of its operands: register `r` of the result is the r-th register of the operands laid end to end.

    Constraints:
      * (C1) the registers of the operands add up to the result's and hold the same coordinates.

    Example:
    ```mlir
    %2 = wave.join %0, %1 : (!wave.tile<[M], f32, "reg = (4 M 1)">, !wave.tile<[M], f32, "reg = (4 M 1), offset = (M 4)">)
                          -> !wave.tile<[M], f32, "reg = (8 M 1)">
    ```
  }];
  let arguments = !con((ins Variadic<Wave_Tile>:$pieces), common);
  let results = (outs Wave_Tile:$result);
  let assemblyFormat = "$pieces attr-dict `:` functional-type($pieces, $result)";
  let hasVerifier = 1; // join_c1
}

include "WaveControl.td"

#endif
