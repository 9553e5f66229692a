// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts))' | FileCheck %s

// The accumulator takes the layout of the matrix instruction, transposed, so that a lane stores 16 bytes of a row: the operands
// are exchanged. A lane has the k of two instructions side by side.
// CHECK-LABEL: wave.kernel @gemm
// CHECK: wave.fill
// CHECK-SAME: <[M, N], f32, "reg = (4 N 1)(2 N 16)(2 M 16), lane = (16 M 1)(4 N 4), wave = (2 M 32)(2 N 32)">
// CHECK: wave.read
// CHECK-SAME: starts = [#wave.expr<"64*$0">, #wave.expr<"32*$1">]
// CHECK-SAME: <[M, K], f16, "reg = (8 K 1)(2 M 16), lane = (16 M 1)(4 K 8), wave = (2 M 32)(2 _ 0)">
// CHECK: wave.mma %{{.*}} : <[N, K], f16, {{.*}}>, <[M, K], f16, {{.*}}>, <[M, N], f32
// CHECK-NOT: wave.convert

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
