// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-store-in-boxes,wave-place-shared,wave-expand-tiles,wave-synchronize))' | FileCheck %s --check-prefix=SYNC
// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-store-in-boxes,wave-place-shared,wave-expand-tiles,wave-synchronize),wave-lower-to-machine)' | FileCheck %s --check-prefix=MACHINE

// The staged tile lies in rows of 128 bytes, a panel behind the other, and leaves in a box for each of them, behind a barrier that shows what
// lanes wrote to those who read it past the registers. The kernel ends when the boxes have been read.
// SYNC-LABEL: wave.kernel @staged
// SYNC: wave.allocate {{.*}}f32, shared, "[M 128, N 64] swizzle(4, 1, 8) panel 32">
// SYNC: wave.write {{.*}}shared, "[M 128, N 64] swizzle(4, 1, 8) panel 32">
// SYNC-NOT: wave.read
// SYNC: wave.barrier {publishes}
// SYNC-NEXT: wave.copy_out {{.*}}elements_per_thread = 4096 : i64{{.*}}piece = {N = 0 : i64}{{.*}}"reg = (32 N 1)(128 M 1), lane = (32 _ 0), wave = (8 _ 0)">
// SYNC-NEXT: wave.copy_out {{.*}}elements_per_thread = 4096 : i64{{.*}}piece = {N = 1 : i64}{{.*}}offset = (N 32)">
// SYNC-NEXT: wave.commit bulk
// SYNC-NEXT: wave.wait bulk, 0

// MACHINE-LABEL: machine.kernel @staged
// MACHINE-SAME: #machine.tensor_map<argument = 2, element = f32, sizes = [256, 250], strides = [1024], box = [32, 128], swizzle = 128>
// MACHINE: machine.fence shared_async
// MACHINE-NEXT: machine.barrier
// MACHINE: scf.if
// MACHINE: machine.store_tile
// MACHINE: machine.store_tile
// MACHINE: }
// MACHINE-NEXT: machine.commit bulk
// MACHINE-NEXT: machine.wait bulk, 0 {read}
wave.kernel @staged attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 250 : i64, N = 256 : i64, K = 200 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies, staged_writes, writes_in_boxes} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["N", "K"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %b : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    %2 = wave.mma %0, %1, %acc {kind = "F32_64x64x16_F16"} : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// What is written in each iteration goes lane by lane.
// SYNC-LABEL: wave.kernel @in_a_loop
// SYNC-NOT: wave.copy_out
// MACHINE-LABEL: machine.kernel @in_a_loop
// MACHINE-NOT: machine.store_tile
wave.kernel @in_a_loop attributes {
    arg_names = ["a", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.tiling<dim = "N", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 256 : i64, N = 256 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", staged_writes, writes_in_boxes} {
^bb0(%a: !wave.memory<["M", "N"], f16, global>, %c: !wave.memory<["M", "N"], f16, shared>):
  wave.iterate "N" () : () -> () {
    %0 = wave.read %a : !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
    wave.write %0, %c : !wave.tile<[M, N], f16>, !wave.memory<["M", "N"], f16, shared>
    wave.yield
  }
}

// -----

// Tiles that begin 64 rows in front of the tensor leave in boxes of 64 rows, none of which lies across its first row; those in front of it
// are not asked for.
// SYNC-LABEL: wave.kernel @in_front
// SYNC-COUNT-4: wave.copy_out {{.*}}elements_per_thread = 2048 : i64
// SYNC-NOT: wave.copy_out
// MACHINE-LABEL: machine.kernel @in_front
// MACHINE-SAME: box = [32, 64]
// MACHINE: machine.fence shared_async
// MACHINE: scf.if
// MACHINE-NEXT: scf.if %[[IN:[0-9]+]] {
// MACHINE-NEXT: machine.store_tile
// MACHINE-NEXT: }
// MACHINE: machine.store_tile
// MACHINE: scf.if %[[IN]] {
// MACHINE-NEXT: machine.store_tile
// MACHINE-NEXT: }
// MACHINE: machine.store_tile
// MACHINE-NOT: machine.store_tile
wave.kernel @in_front attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0, apply = <"128*$WG - 64">>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 250 : i64, N = 256 : i64, K = 200 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies, staged_writes, writes_in_boxes} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["N", "K"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %b : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    %2 = wave.mma %0, %1, %acc {kind = "F32_64x64x16_F16"} : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// Three rows in front of it there is no such box: lanes write what is inside.
// SYNC-LABEL: wave.kernel @across
// SYNC-NOT: wave.copy_out
// MACHINE-LABEL: machine.kernel @across
// MACHINE-NOT: machine.store_tile
wave.kernel @across attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0, apply = <"128*$WG - 3">>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 250 : i64, N = 256 : i64, K = 200 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies, staged_writes, writes_in_boxes} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["N", "K"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %b : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    %2 = wave.mma %0, %1, %acc {kind = "F32_64x64x16_F16"} : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
