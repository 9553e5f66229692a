// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared))' | FileCheck %s
// RUN: soliton-opt %s --check-with-emulator -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null

// `b` lies along N, its shared tile along K: a lane reads 4 by 4 elements, 8 bytes along N each, exchanges its registers and writes 8
// bytes along K each.
// CHECK-LABEL: wave.kernel @gemm_nn
// CHECK: %[[B:.*]] = wave.read %arg1{{.*}} -> <[N, K], f16, "reg = (4 N 1)(4 K 1), lane = (4 N 4)(4 K 4)
// CHECK: %[[T:.*]] = wave.convert %[[B]] : {{.*}} -> <[N, K], f16, "reg = (4 K 1)(4 N 1), lane = (4 N 4)(4 K 4)
// CHECK: wave.write %[[T]]
// CHECK: %[[R:.*]] = wave.read %{{.*}} <["N", "K"], f16, shared>
// CHECK: wave.mma %[[R]]
wave.kernel @gemm_nn attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"BM">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"BN">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"BK">>, #wave.wave<dim = "M", tile = <"BM/2">>, #wave.wave<dim = "N", tile = <"BN/2">>],
    subs = {BM = 64 : i64, BN = 128 : i64, BK = 32 : i64, M = 128 : i64, N = 128 : i64, K = 96 : i64},
    dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["K", "N"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %b {indices = [#wave.expr<"$index1">, #wave.expr<"$index0">]} : !wave.memory<["K", "N"], f16, shared> -> !wave.tile<[N, K], f16>
    %2 = wave.mma %0, %1, %acc : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
