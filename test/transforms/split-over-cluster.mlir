// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-split-over-cluster))' | FileCheck %s

// Two workgroups share the iterations of a tile's loop: which is whose is said by constraints, their sums are exchanged behind it, and
// each writes half of the rows.
// CHECK-LABEL: wave.kernel @product
// CHECK-SAME: #wave.tiling<dim = "K", tile = <"64">, iters = <"ceildiv(K, 128)">, start = <"64*$WG4*ceildiv(K, 128)">>
// CHECK-SAME: #wave.workgroup<dim = "$CLUSTER", tile = <"1">, workgroupDim = 4, iters = <"2">>
// CHECK: %[[TILE:.*]] = wave.allocate : <["M", "N"], f32, shared>
// CHECK: %[[SUM:.*]] = wave.iterate "K"
// CHECK: wave.write %[[SUM]], %[[TILE]] :
// CHECK-NEXT: wave.barrier {cluster}
// CHECK-NEXT: %[[RANK:.*]] = wave.workgroup_id 4
// CHECK-NEXT: %[[FIRST:.*]] = wave.read %[[TILE]][%[[RANK]]] {within = {{.*}}, workgroup = 0 : i64}
// CHECK-NEXT: %[[SECOND:.*]] = wave.read %[[TILE]][%[[RANK]]] {within = {{.*}}, workgroup = 1 : i64}
// CHECK-NEXT: wave.barrier {cluster}
// CHECK-NEXT: %[[ALL:.*]] = wave.binary add %[[FIRST]], %[[SECOND]]
// CHECK-NOT: wave.write %[[SUM]]
// CHECK: wave.write %[[ALL]], %{{.*}}[%{{.*}}, %{{.*}}] {within = {{.*}}}
wave.kernel @product attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"32">>],
    subs = {M = 256 : i64, N = 256 : i64, K = 252 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", cluster = 2 : i64} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["N", "K"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %b : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    %2 = wave.mma %0, %1, %acc : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
