// The vocabulary of the `machine` dialect: structure, memory, matrices, lanes, time.
#ifndef SOLITON_IR_MACHINEOPS_TD
#define SOLITON_IR_MACHINEOPS_TD

include "MachineTypes.td"

//===-- Structure -----------------------------------------------------------------------------------------------===//

def Machine_KernelOp : Machine_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "a kernel as one lane executes it";
  let description = [{
    Block arguments: one `!machine.ptr` per memory in the author's order, then the scalars in order, then one `i32` per dynamic
    symbol, then one `!machine.map` per entry of `maps`. `waves × wave_size` lanes make a workgroup; `shared_bytes` is its shared block. `keep_order` asks the back end to issue
    memory accesses, matrix instructions, waits and barriers in the order of the program: a schedule has decided it.
    `cluster` workgroups along the three axes of the grid are resident together and reach each other's shared memory by multicast
    copies, remote arrivals and loads. `dependent`: a launch may begin before those ahead of it in its stream have ended, and waits for
    them by `grid_wait`; every workgroup does so before it ends. `stable` names memory that none of those launches writes, and this
    one does not: it may be read before the wait.

    Constraints:
      * (C1) parameters are `!machine.ptr`, integers, floats or `!machine.map`, and `arg_names` names each.
      * (C2) `wave_size` and `waves` are positive, `shared_bytes` is not negative.
      * (C3) the last parameters, and no others, are `!machine.map`, as many as `maps` has entries; each entry describes a
        `!machine.ptr` parameter by symbols that are names of `i32` parameters.
      * (C4) `cluster` is three positive numbers.
      * (C5) `stable`, if there, names parameters that are `!machine.ptr`.

    Example:
    ```mlir
    machine.kernel @copy attributes {arg_names = ["a", "b"], wave_size = 64 : i64, waves = 4 : i64, shared_bytes = 0 : i64,
                                     target = "gfx942"} {
    ^bb0(%a: !machine.ptr, %b: !machine.ptr):
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$arg_names, I64Attr:$wave_size, I64Attr:$waves,
                       I64Attr:$shared_bytes, StrAttr:$target, UnitAttr:$keep_order,
                       OptionalAttr<Machine_TensorMapArrayAttr>:$maps, OptionalAttr<DenseI64ArrayAttr>:$cluster, UnitAttr:$dependent,
                       OptionalAttr<StrArrayAttr>:$stable);
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::ArrayAttr":$argNames, "int64_t":$waveSize, "int64_t":$waves,
                   "int64_t":$sharedBytes, "::llvm::StringRef":$target, CArg<"bool", "false">:$keepOrder), [{
      build($_builder, $_state, name, argNames, waveSize, waves, sharedBytes, target, keepOrder, ::mlir::ArrayAttr(),
            ::mlir::DenseI64ArrayAttr(), false, ::mlir::ArrayAttr());
    }]>
  ];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1; // kernel_c1 … kernel_c5
  let extraClassDeclaration = [{
    ::mlir::Block &block() { return getBody().front(); }
    /// The entry of `maps` for a `!machine.map` parameter; null for anything else.
    TensorMapAttr mapOf(::mlir::Value parameter);
    /// Workgroups of a cluster; 1 where there are none.
    int64_t clusterSize();
    /// Whether `stable` names the parameter.
    bool isStable(::mlir::Value parameter);
  }];
}

def Machine_IdOp : Machine_Op<"id", [Pure]> {
  let summary = "this lane's place";
  let description = [{
    `lane`: 0 … wave_size − 1 inside the wave. `wave`: the wave inside the workgroup, uniform. `workgroup0…2`: uniform,
    0 … 2^31 − 2 along `workgroup0` and 0 … 65534 along the others. `grid0…2`: how many workgroups there are. `cluster_rank`: the
    workgroup inside its cluster, the first axis fastest. `cluster0…2`: the cluster inside the grid. `upper`, if there, is a bound
    that is never reached.
    AMD: workitem id and readfirstlane. NVIDIA: special registers.

    Example:
    ```mlir
    %0 = machine.id lane {upper = 64 : i64}
    ```
  }];
  let arguments = (ins Machine_Id:$kind, OptionalAttr<I64Attr>:$upper);
  let results = (outs I32:$result);
  let assemblyFormat = "$kind attr-dict";
}

def Machine_BufferOp : Machine_Op<"buffer", [Pure]> {
  let summary = "a window of global memory";
  let description = [{
    The buffer at `base + offset` of `bytes` bytes; accesses outside it are errors. `offset` and `bytes` are uniform.
    AMD: a buffer resource. NVIDIA: an address.

    Example:
    ```mlir
    %1 = machine.buffer %a[%offset], %bytes
    ```
  }];
  let arguments = (ins Machine_PtrType:$base, I64:$offset, I64:$bytes);
  let results = (outs Machine_BufferType:$result);
  let assemblyFormat = "$base `[` $offset `]` `,` $bytes attr-dict";
}

//===-- Memory --------------------------------------------------------------------------------------------------===//

// A lane's part of an address: `%lane`, or `%lane : i64`.
def Machine_Lane : AnyTypeOf<[I32, I64]>;

class Machine_MemoryOp<string mnemonic, list<Trait> traits = []>
    : Machine_Op<mnemonic, !listconcat(traits, [AttrSizedOperandSegments])>;

def Machine_LoadOp : Machine_MemoryOp<"load", [Machine_ReadAndTick]> {
  let summary = "one load instruction, 1 to 16 bytes a lane";
  let description = [{
    `result = memory[lane + uniform + immediate …]` in lanes where `mask` is set (all if there is none), zeros elsewhere.
    With a buffer it is a global access, without one an access to the shared block. The address is a multiple of `alignment`.

    `lane` is signed. As an `i32`, lane + immediate of every lane that takes part is not negative (AMD's range check sees
    these two alone), and the sum with `uniform` stays below 2^31. As an `i64` it is the byte offset from the buffer's base,
    of any size; there is no `uniform` then, and lanes outside the buffer have to be masked: nothing else keeps them out.

    `workgroup`, if there, is the number in the cluster of the workgroup whose shared block it reads.

    In memory an i1 is a byte (0 or 1; anything but 0 is true), elements of 4 and 6 bits lie packed, the first one lowest.

    Constraints:
      * (C1) the result has 1, 2, 4, 8, 12 or 16 bytes.
      * (C2) `alignment` is a power of two.
      * (C3) a 64-bit lane offset is of a buffer, without `uniform`.
      * (C4) `workgroup` is only there without a buffer, and smaller than the kernel's cluster.

    Example:
    ```mlir
    %2 = machine.load %buffer [%lane, %uniform] {immediate = 16 : i64, alignment = 16 : i64} : vector<8xf16>
    %4 = machine.load %buffer [%far : i64] mask %m {alignment = 4 : i64} : vector<1xf32>
    %3 = machine.load [%lane] mask %m {alignment = 8 : i64} : vector<4xf16>
    %5 = machine.load [%lane] {alignment = 16 : i64, workgroup = 1 : i64} : vector<4xf32>
    ```
  }];
  let arguments = (ins Optional<Machine_BufferType>:$buffer, Machine_Lane:$lane, Optional<I32>:$uniform, Optional<I1>:$mask,
                       DefaultValuedAttr<I64Attr, "0">:$immediate, I64Attr:$alignment, OptionalAttr<I64Attr>:$workgroup);
  let results = (outs Machine_Vector:$result);
  let assemblyFormat = "($buffer^)? `[` custom<Lane>($lane, type($lane)) (`,` $uniform^)? `]` (`mask` $mask^)? attr-dict `:` type($result)";
  let hasVerifier = 1; // load_c1, load_c2, load_c3, load_c4
}

def Machine_PrefetchOp : Machine_MemoryOp<"prefetch", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the line of global memory at an address will be read soon";
  let description = [{
    A hint, in lanes where `mask` is set (all if there is none). It reads nothing: it changes no value, takes part in no race and
    ticks no counter. Addresses as for `load`; a lane that takes part names a byte of the buffer.
    AMD: none of its targets has such an instruction. NVIDIA: prefetch.global.L2.

    Constraints:
      * (C1) a 64-bit lane offset has no `uniform`.

    Example:
    ```mlir
    machine.prefetch %buffer [%lane, %uniform] mask %m {immediate = 128 : i64}
    ```
  }];
  let arguments = (ins Machine_BufferType:$buffer, Machine_Lane:$lane, Optional<I32>:$uniform, Optional<I1>:$mask,
                       DefaultValuedAttr<I64Attr, "0">:$immediate);
  let assemblyFormat = "$buffer `[` custom<Lane>($lane, type($lane)) (`,` $uniform^)? `]` (`mask` $mask^)? attr-dict";
  let hasVerifier = 1; // prefetch_c1
}

def Machine_StoreOp : Machine_MemoryOp<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "one store instruction, 1 to 16 bytes a lane";
  let description = [{
    `memory[lane + uniform + immediate …] = value` in lanes where `mask` is set (all if there is none). Addresses as for `load`.

    Constraints:
      * (C1) the value has 1, 2, 4, 8, 12 or 16 bytes.
      * (C2) `alignment` is a power of two.
      * (C3) a 64-bit lane offset is of a buffer, without `uniform`.

    Example:
    ```mlir
    machine.store %v, %buffer [%lane, %uniform] {alignment = 4 : i64} : vector<1xf32>
    ```
  }];
  let arguments = (ins Machine_Vector:$value, Optional<Machine_BufferType>:$buffer, Machine_Lane:$lane, Optional<I32>:$uniform,
                       Optional<I1>:$mask, DefaultValuedAttr<I64Attr, "0">:$immediate, I64Attr:$alignment);
  let assemblyFormat = "$value `,` ($buffer^)? `[` custom<Lane>($lane, type($lane)) (`,` $uniform^)? `]` (`mask` $mask^)? attr-dict `:` type($value)";
  let hasVerifier = 1; // store_c1, store_c2, store_c3
}

def Machine_AtomicOp : Machine_MemoryOp<"atomic", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one atomic read-modify-write a lane; the result is the old value";
  let description = [{
    `result = memory[a]; memory[a] = kind(memory[a], value)` without interruption, in lanes where `mask` is set; 0 in others. Addresses as for `load`.
    `umin` and `umax` compare integers without sign. `cas` writes the value where memory held `expected`.

    Constraints:
      * (C1) value and result have one type; `cas`, and only it, has `expected`, of that type.
      * (C2) a 64-bit lane offset is of a buffer, without `uniform`.

    Example:
    ```mlir
    %1 = machine.atomic add %v, %buffer [%lane] : vector<1xf32> -> vector<1xf32>
    ```
  }];
  let arguments = (ins Machine_AtomicKind:$kind, Machine_Vector:$value, Optional<Machine_Vector>:$expected, Optional<Machine_BufferType>:$buffer, Machine_Lane:$lane,
                       Optional<I32>:$uniform, Optional<I1>:$mask, DefaultValuedAttr<I64Attr, "0">:$immediate);
  let results = (outs Machine_Vector:$result);
  let assemblyFormat = "$kind $value (`expecting` $expected^ `:` type($expected))? `,` ($buffer^)? `[` custom<Lane>($lane, type($lane)) (`,` $uniform^)? `]` (`mask` $mask^)? attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1; // atomic_c1, atomic_c2
}

def Machine_CopyAsyncOp : Machine_MemoryOp<"copy_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "global to shared memory, past the registers";
  let description = [{
    Copies `bytes` bytes a lane from the buffer at `lane + uniform + immediate` to the shared block at
    `destination + destination_immediate`; lanes whose mask is off write zeros. Ticks the target's counter (vm or cp_async).
    Where the hardware scatters by itself (AMD), `destination` is uniform and lane `l` writes at `destination + l·bytes`:
    `lane_scatter` says so.

    Constraints:
      * (C1) `bytes` is 4, 8, 12 or 16.
      * (C2) a 64-bit lane offset has no `uniform`.

    Example:
    ```mlir
    machine.copy_async %buffer [%lane, %uniform], [%destination] {bytes = 16 : i64}
    ```
  }];
  let arguments = (ins Machine_BufferType:$buffer, Machine_Lane:$lane, Optional<I32>:$uniform, I32:$destination, Optional<I1>:$mask,
                       DefaultValuedAttr<I64Attr, "0">:$immediate, DefaultValuedAttr<I64Attr, "0">:$destination_immediate,
                       I64Attr:$bytes, UnitAttr:$lane_scatter);
  let assemblyFormat = "$buffer `[` custom<Lane>($lane, type($lane)) (`,` $uniform^)? `]` `,` `[` $destination `]` (`mask` $mask^)? attr-dict";
  let hasVerifier = 1; // copy_async_c1, copy_async_c2
}

def Machine_LoadMatrixOp : Machine_Op<"load_matrix", [Machine_ReadAndTick]> {
  let summary = "a collective load of matrix fragments from shared memory";
  let description = [{
    `kind` is a row of the target's table (`ldmatrix.x4`, `ldmatrix.x4.trans`, `ds_read_tr16_b64`, …): it says which lane's address
    names which row and which lane receives which element.

    Example:
    ```mlir
    %0 = machine.load_matrix "ldmatrix.x4" [%lane] : vector<8xf16>
    ```
  }];
  let arguments = (ins StrAttr:$kind, I32:$lane, DefaultValuedAttr<I64Attr, "0">:$immediate);
  let results = (outs Machine_Vector:$result);
  let assemblyFormat = "$kind `[` $lane `]` attr-dict `:` type($result)";
}

def Machine_StoreMatrixOp : Machine_Op<"store_matrix", [MemoryEffects<[MemWrite]>]> {
  let summary = "a collective store of matrix fragments to shared memory";
  let arguments = (ins StrAttr:$kind, Machine_Vector:$value, I32:$lane, DefaultValuedAttr<I64Attr, "0">:$immediate);
  let assemblyFormat = "$kind $value `,` `[` $lane `]` attr-dict `:` type($value)";
}

//===-- Matrices ------------------------------------------------------------------------------------------------===//

def Machine_MmaOp : Machine_Op<"mma", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "one matrix instruction";
  let description = [{
    `result = acc + lhs · rhs` on the fragments of the target's native instruction `kind`; all lanes of the wave take part.
    An instruction that scales takes for each factor a register of up to four scales, of which `scale_bytes` says the one that
    is meant: lane `l` has that of row (or column) `l mod m` and of block `l div m` of the instruction's K.
    AMD: mfma. NVIDIA: mma.sync.

    Constraints:
      * (C1) there are no scales, or two of one to four `f8E8M0FNU`, and a byte of each.

    Example:
    ```mlir
    %d = machine.mma "mfma_f32_16x16x16_f16" %a, %b, %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %e = machine.mma "v_mfma_scale_f32_16x16x128_f8f6f4" %x, %y, %c scaled %s, %t bytes [1, 0] : vector<2xf8E8M0FNU>, vector<1xf8E8M0FNU>
           : vector<32xf4E2M1FN>, vector<32xf4E2M1FN>, vector<4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$kind, Machine_Vector:$lhs, Machine_Vector:$rhs, Machine_Vector:$acc, Variadic<Machine_Vector>:$scales,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$scale_bytes);
  let results = (outs Machine_Vector:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::llvm::StringRef":$kind, "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::Value":$acc),
              [{ build($_builder, $_state, result, kind, lhs, rhs, acc, ::mlir::ValueRange(), $_builder.getDenseI64ArrayAttr({})); }]>
  ];
  let assemblyFormat = [{
    $kind $lhs `,` $rhs `,` $acc (`scaled` $scales^ `bytes` $scale_bytes `:` type($scales))? attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
  let hasVerifier = 1; // mma_c1
}

//===-- Lanes ---------------------------------------------------------------------------------------------------===//

def Machine_ShuffleOp : Machine_Op<"shuffle", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "a value of another lane of the wave";
  let description = [{
    `bfly`: lane ^ offset. `up`: lane − offset. `down`: lane + offset. `idx`: the lane that `index` names.
    A source outside the wave gives the lane's own value. Elements are moved in 32-bit words.

    Constraints:
      * (C1) `idx` has `index`, the others have `offset`.

    Example:
    ```mlir
    %1 = machine.shuffle bfly %0 {offset = 16 : i64} : vector<1xf32>
    %2 = machine.shuffle idx %0, %lane : vector<2xf16>
    ```
  }];
  let arguments = (ins Machine_ShuffleMode:$mode, Machine_Vector:$value, Optional<I32>:$index, OptionalAttr<I64Attr>:$offset);
  let results = (outs Machine_Vector:$result);
  let assemblyFormat = "$mode $value (`,` $index^)? attr-dict `:` type($value)";
  let hasVerifier = 1; // shuffle_c1
}

def Machine_UniformOp : Machine_Op<"uniform", [Pure, SameOperandsAndResultType]> {
  let summary = "the first lane's value, in all lanes";
  let arguments = (ins AnyTypeOf<[I32, I64]>:$value);
  let results = (outs AnyTypeOf<[I32, I64]>:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Machine_PinOp : Machine_Op<"pin", [Pure, SameOperandsAndResultType]> {
  let summary = "the same value, which the back end must not take apart";
  let description = [{
    `result = value`. A sum behind it stays a register of its own: its constant is not moved to where the register is used, which for an
    address would be once per access whose immediate it no longer fits.

    Example:
    ```mlir
    %1 = machine.pin %0 : i32
    ```
  }];
  let arguments = (ins I32:$value);
  let results = (outs I32:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Machine_BallotOp : Machine_Op<"ballot", [Pure]> {
  let summary = "one bit per lane: where the predicate holds";
  let arguments = (ins I1:$predicate);
  let results = (outs I64:$result);
  let assemblyFormat = "$predicate attr-dict";
}

def Machine_ElectOp : Machine_Op<"elect", [Pure]> {
  let summary = "true in one lane of the wave, the same one each time";
  let description = [{
    What one lane does for its wave (tile copies, arrivals) stands under it: the back end knows that one lane is left, where
    `lane == 0` is a comparison to it. All lanes of the wave take part. NVIDIA: elect.sync. The emulator: the first lane.

    Example:
    ```mlir
    %one = machine.elect
    scf.if %one {
      machine.copy_tile %map [%k, %m], [%destination], %mbarrier
    }
    ```
  }];
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Machine_SwapOp : Machine_Op<"swap", [Pure]> {
  let summary = "exchange halves of two registers between groups of `width` lanes (permlane swap)";
  let arguments = (ins I32:$first, I32:$second, I64Attr:$width);
  let results = (outs I32:$newFirst, I32:$newSecond);
  let assemblyFormat = "$first `,` $second attr-dict";
}

def Machine_ConvertOp : Machine_Op<"convert", [Pure]> {
  let summary = "convert to or from a small float, rounding to nearest even";
  let description = [{
    `saturate`: beyond the largest finite number the result is that number; otherwise it is the format's infinity or NaN.

    Constraints:
      * (C1) value and result have as many elements.

    Example:
    ```mlir
    %1 = machine.convert %0 {saturate} : vector<4xf32> -> vector<4xf8E4M3FN>
    ```
  }];
  let arguments = (ins Machine_Vector:$value, UnitAttr:$saturate);
  let results = (outs Machine_Vector:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1; // convert_c1
}

//===-- Time ----------------------------------------------------------------------------------------------------===//

def Machine_BarrierOp : Machine_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "execution only: no wave goes on before all `waves` of them have come here";
  let description = [{
    Barriers have numbers: `id`, and `plus` more where that is a value that all lanes of a wave have. A wave that only `arrives` is counted as one that
    has come, and goes on; what it did before is known to those that come and wait.

    Constraints:
      * (C1) one whose number is computed, or at which waves only arrive, says how many `waves` it counts.

    Example:
    ```mlir
    machine.barrier
    machine.barrier {id = 1 : i64, waves = 8 : i64}
    machine.barrier plus %team {id = 1 : i64, waves = 8 : i64, arrives}
    ```
  }];
  let arguments = (ins Optional<I32>:$plus, DefaultValuedAttr<I64Attr, "0">:$id, OptionalAttr<I64Attr>:$waves, UnitAttr:$arrives);
  let assemblyFormat = "(`plus` $plus^)? attr-dict";
  let builders = [OpBuilder<(ins "int64_t":$id, "::mlir::IntegerAttr":$waves), [{ build($_builder, $_state, ::mlir::Value(), static_cast<uint64_t>(id), waves, false); }]>];
  let hasVerifier = 1; // barrier_c1
}

def Machine_CommitOp : Machine_Op<"commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "close a group of asynchronous operations";
  let arguments = (ins Machine_Counter:$counter);
  let assemblyFormat = "$counter attr-dict";
}

def Machine_WaitOp : Machine_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "until at most `count` operations (or groups) are unfinished; returns the values that were pending";
  let description = [{
    The results are the values, complete. `read`: that many may still be on their way to global memory, but have read the shared
    memory that they copy.

    Constraints:
      * (C1) there is one result per value, of its type.
      * (C2) `read` is of `bulk`.

    Example:
    ```mlir
    machine.wait shared, 0
    machine.wait bulk, 1 {read}
    %1 = machine.wait mma, 0 (%0) : (vector<4xf32>) -> vector<4xf32>
    ```
  }];
  let arguments = (ins Machine_Counter:$counter, I64Attr:$count, Variadic<Machine_Vector>:$values, UnitAttr:$read);
  let results = (outs Variadic<Machine_Vector>:$results);
  let assemblyFormat = "$counter `,` $count (`(` $values^ `)`)? attr-dict (`:` functional-type($values, $results)^)?";
  let hasVerifier = 1; // wait_c1, wait_c2
}

def Machine_FenceOp : Machine_Op<"fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "order between proxies or scopes";
  let arguments = (ins Machine_FenceSpace:$space);
  let assemblyFormat = "$space attr-dict";
}

def Machine_SchedBarrierOp : Machine_Op<"sched_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the back end's scheduler moves only what `mask` allows across this point";
  let arguments = (ins DefaultValuedAttr<I64Attr, "0">:$mask);
  let assemblyFormat = "attr-dict";
}
def Machine_SchedGroupOp : Machine_Op<"sched_group", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the next `count` instructions of the classes in `mask` come here";
  let arguments = (ins I64Attr:$mask, I64Attr:$count, I64Attr:$sync);
  let assemblyFormat = "attr-dict";
}
def Machine_PriorityOp : Machine_Op<"priority", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "this wave's issue priority";
  let arguments = (ins I64Attr:$level);
  let assemblyFormat = "$level attr-dict";
}
def Machine_RegistersOp : Machine_Op<"registers", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "this warpgroup's register budget from here on (setmaxnreg)";
  let arguments = (ins I64Attr:$count, UnitAttr:$increase);
  let assemblyFormat = "$count attr-dict";
}


def Machine_PrintOp : Machine_Op<"print", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one line a lane: label, place, element, workgroup, wave, lane";
  let description = [{
    Only the emulator has it.

    Constraints:
      * (C1) one element, and a name in `dims` for each of `places`.

    Example:
    ```mlir
    machine.print "x" %v at (%m, %n) {dims = ["M", "N"]} : vector<1xf32>
    ```
  }];
  let arguments = (ins StrAttr:$label, Machine_Vector:$value, Variadic<I32>:$places, StrArrayAttr:$dims);
  let assemblyFormat = "$label $value `at` `(` $places `)` attr-dict `:` type($value)";
  let hasVerifier = 1; // print_c1
}

include "MachineAsync.td"

#endif
