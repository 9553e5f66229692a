// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement))' | FileCheck %s

// The loop starts before the first element: the coordinate of a partial sum may lie outside of the dimension though one
// of its elements does not. What is outside was masked before; the stages that follow mask nothing.
// CHECK: wave.reduce sum %{{.*}} along "K" {start = #wave.expr<"-1">}
// CHECK-SAME: -> !wave.tile<[K, M], f32
// CHECK: wave.reduce sum %{{[^ ]*}} along "K" :
// CHECK-SAME: -> !wave.tile<[M], f32
wave.kernel @before attributes {
    arg_names = ["out"],
    constraints = [#wave.tiling<dim = "K", tile = <"4">, start = <"(-1)">>],
    subs = {M = 1 : i64, K = 1 : i64}, dynamic = [], form = 0 : i32, target = "TARGET"} {
^bb0(%out: !wave.memory<["M"], f32, global>):
  wave.iterate "K" () : () -> () {
  ^bb0(%i: index):
    %0 = wave.fill 1.0 : f32 -> !wave.tile<[K, M], f32>
    %1 = wave.reduce sum %0 along "K" : (!wave.tile<[K, M], f32>) -> !wave.tile<[M], f32>
    wave.write %1, %out : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
  }
}
