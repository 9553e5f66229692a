// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols))' | FileCheck %s

// Symbols become numbers, the loop learns its count and the mma its instruction.
// CHECK-LABEL: wave.kernel @gemm
// CHECK: !wave.memory<["128", "96"], f16, shared>
// CHECK: wave.iterate "K"
// CHECK-SAME: count = #wave.expr<"3">
// CHECK: wave.mma
// CHECK-SAME: kind = "F32_16x16x16_F16"

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

// -----

// An empty tensor is legal: no workgroup is launched for it, so what holds in workgroups says nothing about shapes.
// CHECK-LABEL: wave.kernel @empty
// CHECK: !wave.memory<["max(1, M - 1)"], f32, global>
wave.kernel @empty attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 0>, #wave.assume<predicate = <"mod(M, 8) == 0">>],
    subs = {}, dynamic = ["M"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["max((M - 1), 1)"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["max((M - 1), 1)"], f32, global> -> !wave.tile<[M], f32>
  wave.write %0, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
