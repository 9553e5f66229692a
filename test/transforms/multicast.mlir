// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize,wave-multicast-copies))' | FileCheck %s --check-prefix=WAVE
// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize,wave-multicast-copies),wave-lower-to-machine)' | FileCheck %s --check-prefix=MACHINE

// Two neighbours along M have the same tile of B, which each of them copies half of, to both. Three tiles of rows make
// two clusters: the grid has whole ones.
// WAVE-LABEL: wave.kernel @products
// WAVE-SAME: grid = [#wave.expr<"4">, #wave.expr<"4">,
// WAVE: wave.copy %arg0{{.*}}boxed, elements_per_thread = 4096 : i64
// WAVE-NOT: multicast
// WAVE: wave.copy %arg1{{.*}}boxed, elements_per_thread = 4096 : i64, multicast

// MACHINE-LABEL: machine.kernel @products
// MACHINE-SAME: cluster = array<i64: 2, 1, 1>
// MACHINE-SAME: sizes = [200, 150], strides = [400], box = [64, 64], swizzle = 128>
// MACHINE-SAME: sizes = [200, 256], strides = [400], box = [64, 32], swizzle = 128>]
// MACHINE: %[[RANK:.*]] = machine.id cluster_rank {upper = 2 : i64}
// Nothing is copied before all of them have made their barriers.
// MACHINE: machine.mbarrier_init
// MACHINE: machine.cluster_arrive
// MACHINE-NEXT: machine.cluster_wait
// MACHINE: scf.for
// Without releases a tile is overwritten when all waves of the cluster have met.
// MACHINE: machine.cluster_arrive
// MACHINE-NEXT: machine.cluster_wait
// MACHINE: machine.copy_tile %{{[a-z0-9]+}}[{{[^]]*}}], [{{[^]]*}}], %[[BARRIER:[0-9a-z_]+]]{{$}}
// MACHINE: machine.copy_tile %{{[a-z0-9]+}}[{{[^]]*}}], [{{[^]]*}}], %[[BARRIER]] multicast %c3_i32
// Of its own tile of A and the whole one of B.
// MACHINE: machine.mbarrier_arrive %[[BARRIER]] {expect = 16384 : i64}
// Nobody ends while another one may copy to it.
// MACHINE: machine.store
// MACHINE: machine.cluster_arrive
// MACHINE-NEXT: machine.cluster_wait
// MACHINE-NEXT: }
wave.kernel @products attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 150 : i64, N = 256 : i64, K = 200 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies,
    workgroups_per_cluster = array<i64: 2>} {
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
