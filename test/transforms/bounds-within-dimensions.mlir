// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses))' | FileCheck %s
// RUN: soliton-opt %s --split-input-file --check-with-emulator -o /dev/null

// Bounds that end before the dimension does: what is read behind them is 0, and the product takes it as it is.
// CHECK-LABEL: wave.kernel @within
// CHECK-NOT: wave.select
// CHECK: wave.mma
wave.kernel @within attributes {
    arg_names = ["a", "b", "c"], constraints = [#wave.tiling<dim = "K", tile = <"32">>],
    subs = {M = 16 : i64, N = 16 : i64, K = 20 : i64}, dynamic = [], form = 0 : i32, target = "gfx950"} {
^bb0(%a: !wave.memory<["M", "K"], f16, global>, %b: !wave.memory<["N", "K"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %1 = wave.read %a {bounds = [#wave.expr<"M">, #wave.expr<"15">]} : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16>
  %2 = wave.read %b {bounds = [#wave.expr<"N">, #wave.expr<"K">]} : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
  %3 = wave.mma %1, %2, %0 : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
  wave.write %3, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// The memory goes on behind the dimension, and so does the bound: the product must not take what is there.
// CHECK-LABEL: wave.kernel @beyond
// CHECK: wave.select
// CHECK: wave.mma
wave.kernel @beyond attributes {
    arg_names = ["a", "b", "c"], constraints = [#wave.tiling<dim = "K", tile = <"32">>],
    subs = {M = 16 : i64, N = 16 : i64, K = 20 : i64, L = 40 : i64}, dynamic = [], form = 0 : i32, target = "gfx950"} {
^bb0(%a: !wave.memory<["M", "L"], f16, global>, %b: !wave.memory<["N", "L"], f16, global>, %c: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %1 = wave.read %a {bounds = [#wave.expr<"M">, #wave.expr<"25">]} : !wave.memory<["M", "L"], f16, global> -> !wave.tile<[M, K], f16>
  %2 = wave.read %b {bounds = [#wave.expr<"N">, #wave.expr<"25">]} : !wave.memory<["N", "L"], f16, global> -> !wave.tile<[N, K], f16>
  %3 = wave.mma %1, %2, %0 : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
  wave.write %3, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
