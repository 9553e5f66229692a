// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses))' | FileCheck %s

// 200 columns in a tile of 256: the read is guarded along N, and what lies beyond becomes the identity of the maximum.
// CHECK-LABEL: wave.kernel @row_sum
// CHECK: wave.read
// CHECK-SAME: guards = [#wave.expr<"$index1 < 200">]
// CHECK: wave.self_index "N"
// CHECK: wave.apply_expr <"$APPLY_EXPR_ARG_0 < 200">
// CHECK: wave.fill 0xFF800000 : f32
// CHECK: wave.select
// CHECK: wave.reduce max

wave.kernel @row_sum attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"BN">, workgroupDim = 0>, #wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 1>,
                   #wave.wave<dim = "N", tile = <"BN/2">>],
    subs = {BN = 256 : i64, M = 8 : i64, N = 200 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.reduce max %0 along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  wave.write %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
