// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize))' | FileCheck %s --check-prefix=SYNC
// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize),wave-lower-to-machine)' | FileCheck %s --check-prefix=MACHINE

// Factors that a matrix instruction of four waves reads by itself: tiles of rows of 128 bytes, pieces that are no instructions.
// Rows of 504 bytes begin on no multiple of 16: lanes copy them, 8 bytes each (boxes.mlir has others).
// SYNC-LABEL: wave.kernel @products
// SYNC-DAG: wave.allocate {offset = 0 : i64} : <["N", "K"], f16, shared, "[N 64, K 64] swizzle(8, 1, 8)">
// SYNC-DAG: wave.allocate {offset = 8192 : i64} : <["M", "K"], f16, shared, "[M 128, K 64] swizzle(8, 1, 8)">
// SYNC: wave.iterate
// What the products of the iteration before read is overwritten behind a barrier that shows nothing to anybody.
// SYNC: wave.barrier{{$}}
// SYNC-COUNT-12: wave.copy
// SYNC: %[[A0:.*]] = wave.read {{.*}}in_place, {{.*}}piece = {K = 0 : i64}{{.*}}"reg = (16 K 1)(16 M 1), lane = (32 _ 0), wave = (8 M 16)">
// SYNC-NEXT: %[[A1:.*]] = wave.read {{.*}}in_place, {{.*}}piece = {K = 1 : i64}{{.*}}offset = (K 16)">
// SYNC: %[[B0:.*]] = wave.read {{.*}}in_place, {{.*}}piece = {K = 0 : i64}{{.*}}"reg = (16 K 1)(64 N 1), lane = (32 _ 0), wave = (8 _ 0)">
// The product reads, so that the barrier stands in front of it. It publishes what was copied and waited for.
// SYNC: wave.commit cp_async
// SYNC-NEXT: wave.wait cp_async, 0
// SYNC-NEXT: wave.barrier {publishes}
// SYNC-NEXT: wave.mma %[[A0]], %[[B0]],
// SYNC-NEXT: wave.mma %[[A1]],
// SYNC-COUNT-2: wave.mma
// SYNC-NOT: wave.barrier

// MACHINE-LABEL: machine.kernel @products
// MACHINE: %[[WAVE:.*]] = machine.id wave
// Four waves have one descriptor: that of the first one's rows.
// MACHINE: %[[GROUP:.*]] = arith.shrsi %[[WAVE]],
// MACHINE-NEXT: %[[ROWS:.*]] = arith.muli {{.*}}%[[GROUP]]
// MACHINE: scf.for
// MACHINE: machine.wait cp_async, 0
// MACHINE-NEXT: machine.fence shared_async
// MACHINE-NEXT: machine.barrier
// MACHINE: %[[AT:.*]] = arith.addi %[[ROWS]],
// MACHINE: %[[A:.*]] = machine.shared_tile[%[[AT]]] {k_major, leading = 16 : i64, stride = 1024 : i64, swizzle = 128 : i64}
// MACHINE: %[[B:.*]] = machine.shared_tile
// MACHINE: %[[D:.*]] = machine.mma_async "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16" lhs %[[A]], %[[B]],
// MACHINE: machine.mma_async {{.*}}, %[[D]] : vector<32xf32>
// MACHINE: machine.mma_async
// MACHINE: %[[LAST:.*]] = machine.mma_async
// One group, waited for where the iteration ends.
// MACHINE-NEXT: machine.commit mma
// MACHINE-NEXT: %[[DONE:.*]] = machine.wait mma, 0(%[[LAST]])
// MACHINE-NEXT: scf.yield %[[DONE]]
wave.kernel @products attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 256 : i64, N = 256 : i64, K = 252 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies} {
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
