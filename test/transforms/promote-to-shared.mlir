// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared))' | FileCheck %s

// A parameter in the shared space is read once by all waves, written to a shared tile and read back from it; the two writes
// come together before both reads.
// CHECK-LABEL: wave.kernel @gemm
// CHECK: ^bb0(%{{.*}}: !wave.memory<["128", "96"], f16, global>
// CHECK-COUNT-2: wave.allocate
// CHECK: wave.iterate
// CHECK: wave.read %{{.*}} <["128", "96"], f16, global> -> <[M, K], f16, "reg = (8 K 1), lane = (4 K 8)(16 M 1), wave = (4 M 16)">
// CHECK: wave.read %{{.*}} <["128", "96"], f16, global>
// CHECK: wave.write %{{.*}} <["M", "K"], f16, shared>
// CHECK: wave.write %{{.*}} <["N", "K"], f16, shared>
// CHECK: wave.read %{{.*}} <["M", "K"], f16, shared>
// CHECK: wave.read %{{.*}} <["N", "K"], f16, shared>
// CHECK: wave.mma

wave.kernel @gemm attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"BM">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"BN">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"BK">>, #wave.wave<dim = "M", tile = <"BM/2">>, #wave.wave<dim = "N", tile = <"BN/2">>],
    subs = {BM = 64 : i64, BN = 64 : i64, BK = 32 : i64, M = 128 : i64, N = 128 : i64, K = 96 : i64},
    dynamic = [], form = 0 : i32, target = "gfx942"} {
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
