// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize))' | FileCheck %s --check-prefix=SYNC
// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize),wave-lower-to-machine)' | FileCheck %s --check-prefix=MACHINE

// Tiles whose rows begin on multiples of 16 bytes are copied in boxes, one for each of them: one lane asks for both.
// SYNC-LABEL: wave.kernel @products
// SYNC: wave.iterate
// Before the tiles are overwritten the products that read them are waited for, and the waves meet.
// SYNC: wave.commit mma
// SYNC-NEXT: wave.wait mma, 0
// SYNC-NEXT: wave.barrier{{$}}
// SYNC: wave.copy {{.*}}boxed, elements_per_thread = 8192 : i64{{.*}}"reg = (64 K 1)(128 M 1), lane = (32 _ 0), wave = (8 _ 0)">
// SYNC: wave.copy {{.*}}boxed, elements_per_thread = 4096 : i64{{.*}}"reg = (64 K 1)(64 N 1), lane = (32 _ 0), wave = (8 _ 0)">
// Nothing has to be shown to the products: the engine that copies is seen by them as it is.
// SYNC: wave.commit boxes
// SYNC-NEXT: wave.wait boxes, 0
// SYNC-NEXT: wave.barrier{{$}}
// SYNC: wave.mma

// MACHINE-LABEL: machine.kernel @products
// MACHINE-SAME: maps = [#machine.tensor_map<argument = 0, element = f16, sizes = [200, 250], strides = [400], box = [64, 128], swizzle = 128>
// MACHINE-SAME: #machine.tensor_map<argument = 1, element = f16, sizes = [200, 256], strides = [400], box = [64, 64], swizzle = 128>]
// MACHINE: scf.if %[[FIRST:.*]] {
// MACHINE: machine.mbarrier_init
// MACHINE: machine.barrier
// MACHINE: scf.for {{.*}} iter_args({{.*}}, %[[COMMITTED:.*]] = %c0_i32
// MACHINE: scf.if %[[FIRST]] {
// MACHINE: machine.copy_tile
// MACHINE: machine.copy_tile
// MACHINE: machine.mbarrier_arrive {{.*}} {expect = 24576 : i64}
// MACHINE: }
// MACHINE: %[[NEXT:.*]] = arith.addi %[[COMMITTED]],
// MACHINE: machine.mbarrier_wait
// MACHINE-NEXT: machine.barrier
// MACHINE: machine.mma_async
// MACHINE: scf.yield {{.*}}, %[[NEXT]]
wave.kernel @products attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 250 : i64, N = 256 : i64, K = 200 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies} {
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
