// Engines beside the lanes and what they are awaited by: tile copies, matrices, mbarriers, clusters, launches that overlap.
#ifndef SOLITON_IR_MACHINEASYNC_TD
#define SOLITON_IR_MACHINEASYNC_TD

include "MachineTypes.td"

//===-- Tile copies ---------------------------------------------------------------------------------------------===//

def Machine_CopyTileOp : Machine_Op<"copy_tile", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one lane copies a box of a tensor to shared memory (TMA)";
  let description = [{
    Copies the box at `coordinates`, innermost first, of the tensor that the map describes to the shared block at `destination`,
    and then completes as many transaction bytes of the mbarrier at `mbarrier` as the box has. Elements outside of the tensor are
    zeros. Executed by one lane of one wave. The copy engine reads what was written before the launch; what this kernel
    wrote to shared memory by other means has to be made known to it by `fence shared_async`.
    `multicast`, if there, has a bit for each workgroup of the cluster: the box goes to the same place in the shared block of each whose
    bit is set, and completes bytes of the mbarrier at the same place there.
    `offsets`, of a map with corners: the coordinates are those of the first pixel, and what is copied of each lies this much further on,
    along the dimensions that have corners. A pixel of a filter that is off the image is zeros.
    `destination` is a multiple of 128 bytes, and the first coordinate one of 16 bytes: the hardware faults otherwise.

    Constraints:
      * (C1) `map` is a parameter of the kernel, and has as many dimensions as there are coordinates.
      * (C2) where there is `multicast`, the kernel has clusters.
      * (C3) there are as many `offsets` as the map has lower corners.

    Example:
    ```mlir
    machine.copy_tile %map [%k, %m], [%destination], %mbarrier
    machine.copy_tile %map [%k, %m], [%destination], %mbarrier multicast %mask
    machine.copy_tile %map [%c, %w, %h, %n], [%destination], %mbarrier offsets [%s, %r]
    ```
  }];
  let arguments = (ins Machine_MapType:$map, Variadic<I32>:$coordinates, I32:$destination, I32:$mbarrier,
                       Variadic<I32>:$offsets, Optional<I32>:$multicast);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$map, "::mlir::ValueRange":$coordinates, "::mlir::Value":$destination, "::mlir::Value":$mbarrier,
                   CArg<"::mlir::ValueRange", "{}">:$offsets), [{
      build($_builder, $_state, map, coordinates, destination, mbarrier, offsets, ::mlir::Value());
    }]>
  ];
  let assemblyFormat = "$map `[` $coordinates `]` `,` `[` $destination `]` `,` $mbarrier (`offsets` `[` $offsets^ `]`)? (`multicast` $multicast^)? attr-dict";
  let hasVerifier = 1; // copy_tile_c1, copy_tile_c2, copy_tile_c3
}

def Machine_StoreTileOp : Machine_Op<"store_tile", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one lane copies a box from shared memory to a tensor (TMA)";
  let description = [{
    Copies the shared block from `source` on to the box at `coordinates`, innermost first, of the tensor that the map describes;
    what lies outside of the tensor is left out. `add`: adds to what is there, each element in one step. Executed by one lane of one
    wave, whose counter `bulk` it ticks: after `commit bulk`, `wait bulk {read}` says that the shared block may be written again,
    `wait bulk` that the tensor is written. What lanes wrote to the block has to be made known to the copy engine by
    `fence shared_async` in each of their waves, and a barrier. `source` is a multiple of 128 bytes, and the first coordinate one of
    16 bytes, and no coordinate is below 0, though a box may reach beyond the tensor's end: the hardware faults otherwise.

    Constraints:
      * (C1) `map` is a parameter of the kernel, and has as many dimensions as there are coordinates.
      * (C2) what is added are integers of 32 or 64 bits, or floats of 16 or 32.
      * (C3) the map has no corners.

    Example:
    ```mlir
    machine.store_tile %map [%n, %m], [%source]
    machine.store_tile %map [%n, %m], [%source] {add}
    ```
  }];
  let arguments = (ins Machine_MapType:$map, Variadic<I32>:$coordinates, I32:$source, UnitAttr:$add);
  let assemblyFormat = "$map `[` $coordinates `]` `,` `[` $source `]` attr-dict";
  let hasVerifier = 1; // store_tile_c1, store_tile_c2, store_tile_c3
}

//===-- Matrices in shared memory ---------------------------------------------------------------------------------===//

def Machine_SharedTileOp : Machine_Op<"shared_tile", [Pure]> {
  let summary = "the descriptor of a tile in shared memory, for matrix instructions that read it by themselves";
  let description = [{
    A tile of 8-row groups from byte `address` of the shared block on, the same in the waves that issue the instruction together. With `w` the bytes
    of an element, element (`outer`, `k`) of a tile that is contiguous along K (`k_major`) lies at byte
    `outer / 8 · stride + outer % 8 · swizzle + k · w`, otherwise at
    `outer · w / swizzle · leading + k / 8 · stride + k % 8 · swizzle + outer · w % swizzle`, where chunks of 16 bytes change places:
    bits 4 … of that address are exchanged by bits 7 … of it, as many as `swizzle` bytes have chunks.

    Constraints:
      * (C1) `swizzle` is 32, 64 or 128; `leading` and `stride` are multiples of 16 below 2^18.

    Example:
    ```mlir
    %a = machine.shared_tile [%address] {leading = 16 : i64, stride = 1024 : i64, swizzle = 128 : i64, k_major}
    ```
  }];
  let arguments = (ins I32:$address, I64Attr:$leading, I64Attr:$stride, I64Attr:$swizzle, UnitAttr:$k_major);
  let results = (outs I64:$result);
  let assemblyFormat = "`[` $address `]` attr-dict";
  let hasVerifier = 1; // shared_tile_c1
}

def Machine_MmaAsyncOp : Machine_Op<"mma_async", [AttrSizedOperandSegments, Machine_ReadAndTick, AllTypesMatch<["acc", "result"]>]> {
  let summary = "one matrix instruction of four waves whose result is pending until a wait returns it (wgmma)";
  let description = [{
    `result = acc + lhs · rhs`; `rhs` and, if it is not in registers, `lhs` are shared tiles named by 64-bit descriptors,
    as `shared_tile` makes them. Raw bits, whose meaning only the hardware knows, are not executed by the emulator.
    The result may only be used by another `mma_async` or by the `wait mma` that completes it. With `zero_acc` it is `lhs · rhs`: what
    `acc` holds is not read, and says which registers to use where it is no constant.

    Constraints:
      * (C1) the left operand is in registers or is a descriptor, not both.

    Example:
    ```mlir
    %1 = machine.mma_async "wgmma_m64n8k16_f32_f16" lhs %a, %b, %acc : vector<4xf32>
    ```
  }];
  // `acc` has a fixed position, from which the result's type is inferred.
  let arguments = (ins StrAttr:$kind, I64:$rhsDescriptor, Machine_Vector:$acc, Optional<Machine_Vector>:$lhs,
                       Optional<I64>:$lhsDescriptor, UnitAttr:$zero_acc);
  let results = (outs Machine_Vector:$result);
  let assemblyFormat = "$kind ($lhs^ `:` type($lhs))? (`lhs` $lhsDescriptor^)? `,` $rhsDescriptor `,` $acc attr-dict `:` type($acc)";
  let hasVerifier = 1; // mma_async_c1
}

//===-- Mbarriers -----------------------------------------------------------------------------------------------===//

def Machine_MbarrierInitOp : Machine_Op<"mbarrier_init", [MemoryEffects<[MemWrite]>]> {
  let summary = "a barrier object in shared memory that completes a phase after `count` arrivals";
  let arguments = (ins I32:$address, I64Attr:$count);
  let assemblyFormat = "$address attr-dict";
}
def Machine_MbarrierArriveOp : Machine_Op<"mbarrier_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "arrive; `expect`, if not 0, first adds that many transaction bytes to the phase";
  let description = [{
    Each lane that comes here arrives. `on`, if there, is the rank of the workgroup of the cluster whose mbarrier, at the same place of
    its shared block, is meant. What the lane's wave did before is ordered before what a wait for the phase returns to.

    Constraints:
      * (C1) where there is `on`, the kernel has clusters.

    Example:
    ```mlir
    machine.mbarrier_arrive %full {expect = 32768 : i64}
    machine.mbarrier_arrive %empty on %rank
    ```
  }];
  let arguments = (ins I32:$address, Optional<I32>:$rank, DefaultValuedAttr<I64Attr, "0">:$expect);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$address, CArg<"int64_t", "0">:$expect), [{
      build($_builder, $_state, address, ::mlir::Value(), static_cast<uint64_t>(expect));
    }]>
  ];
  let assemblyFormat = "$address (`on` $rank^)? attr-dict";
  let hasVerifier = 1; // mbarrier_arrive_c1
}
def Machine_MbarrierWaitOp : Machine_Op<"mbarrier_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "until the phase of this parity is complete";
  let arguments = (ins I32:$address, I32:$parity);
  let assemblyFormat = "$address `,` $parity attr-dict";
}

//===-- Clusters ------------------------------------------------------------------------------------------------===//

def Machine_ClusterArriveOp : Machine_Op<"cluster_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "this wave has come to the barrier of its cluster, and goes on";
  let description = [{
    Each wave of the cluster arrives, then waits, in turns. No workgroup makes use of another's shared memory before all of them
    have begun, nor leaves while another may still use its own: a barrier stands at either end.

    Constraints:
      * (C1) the kernel has clusters.

    Example:
    ```mlir
    machine.cluster_arrive
    machine.cluster_wait
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1; // cluster_arrive_c1
}
def Machine_ClusterWaitOp : Machine_Op<"cluster_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "until all waves of the cluster have arrived";
  let description = [{
    Behind it lies what each of them did before it arrived.

    Constraints:
      * (C1) the kernel has clusters.

    Example:
    ```mlir
    machine.cluster_wait
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1; // cluster_wait_c1
}

//===-- Launches that overlap -----------------------------------------------------------------------------------===//

def Machine_GridWaitOp : Machine_Op<"grid_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "until the launches ahead in the stream have ended and their writes are seen";
  let description = [{
    A kernel that is `dependent` touches no memory before it but what is `stable`; the emulator, where launches do not overlap,
    finds what does. In other kernels it returns at once. NVIDIA: griddepcontrol.wait.

    Example:
    ```mlir
    machine.grid_wait
    ```
  }];
  let assemblyFormat = "attr-dict";
}
def Machine_GridLaunchOp : Machine_Op<"grid_launch", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "as far as this workgroup is concerned, the next launch of the stream may begin";
  let description = [{
    It begins when every workgroup has said so or ended, if it is `dependent`. What it may find in memory it does not learn here, but by
    its own `grid_wait`. NVIDIA: griddepcontrol.launch_dependents.

    Example:
    ```mlir
    machine.grid_launch
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif
