// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-promote-to-shared,wave-mask-accesses))' | FileCheck %s

// A tile of 33 elements is held as 40, so that lanes share it evenly; what lies beyond the workgroup's part is neither
// read nor written, and no reduction counts it.
// CHECK-LABEL: wave.kernel @sums
// CHECK: wave.read %{{.*}} {guards = [{{.*}}"$index1 < 33*$1 + 33">]
// CHECK: wave.apply_expr <"{{.*}}$APPLY_EXPR_ARG_0 < 33*$0 + 33{{.*}}">
// CHECK: wave.reduce max
wave.kernel @sums attributes {
    arg_names = ["a", "maxima", "copy"],
    constraints = [#wave.workgroup<dim = "N", tile = <"33">, workgroupDim = 0>, #wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 1>],
    subs = {M = 12 : i64}, dynamic = ["N"], form = 0 : i32, target = "TARGET"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %maxima: !wave.memory<["M", "ceildiv(N, 33)"], f32, global>, %copy: !wave.memory<["N", "M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.reduce max %0 along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  %wg = wave.workgroup_id 0
  wave.write %1, %maxima [%wg] {indices = [#wave.expr<"$index0">, #wave.expr<"$0">]} : !wave.tile<[M], f32>, !wave.memory<["M", "ceildiv(N, 33)"], f32, global>
  wave.write %0, %copy {indices = [#wave.expr<"$index1">, #wave.expr<"$index0">]} : !wave.tile<[M, N], f32>, !wave.memory<["N", "M"], f32, global>
}
