// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize))' | FileCheck %s

// Four waves of 32 rows: each takes part in two instructions of 64 rows, with 16 of each. A box is what one of them reads.
// CHECK-LABEL: wave.kernel @quadrants
// CHECK: wave.copy {{.*}}boxed, elements_per_thread = 4096 : i64{{.*}}piece = {M = 0 : i64}{{.*}}"reg = (64 K 1)(64 M 1), lane = (32 _ 0), wave = (4 _ 0)">
// CHECK: wave.copy {{.*}}boxed, elements_per_thread = 4096 : i64{{.*}}piece = {M = 1 : i64}{{.*}}"reg = (64 K 1)(64 M 1), lane = (32 _ 0), wave = (4 _ 0), offset = (M 64)">
// CHECK: wave.copy {{.*}}boxed, elements_per_thread = 4096 : i64{{.*}}piece = {N = 0 : i64}{{.*}}"reg = (64 K 1)(64 N 1), lane = (32 _ 0), wave = (4 _ 0)">
// CHECK: wave.copy {{.*}}boxed, elements_per_thread = 4096 : i64{{.*}}piece = {N = 1 : i64}{{.*}}"reg = (64 K 1)(64 N 1), lane = (32 _ 0), wave = (4 _ 0), offset = (N 64)">
// CHECK: wave.read {{.*}}in_place{{.*}}piece = {K = 0 : i64, M = 0 : i64}{{.*}}"reg = (16 K 1)(16 M 1), lane = (32 _ 0), wave = (4 M 16)">
// CHECK: wave.read {{.*}}in_place{{.*}}piece = {K = 0 : i64, M = 1 : i64}{{.*}}wave = (4 M 16), offset = (M 64)">
wave.kernel @quadrants attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"128">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"32">>],
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
