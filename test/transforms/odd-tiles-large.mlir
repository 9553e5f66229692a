// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-promote-to-shared,wave-mask-accesses))' | FileCheck %s

// 700 elements for 64 lanes are held as 704, eleven in each; of 700 each would have 175.
// CHECK-LABEL: wave.kernel @row
// CHECK: wave.read %{{.*}} -> <[N], f32, "reg = (11 N 64), lane = (64 N 1)">
wave.kernel @row attributes {
    arg_names = ["a", "sum"], constraints = [],
    subs = {N = 700 : i64}, dynamic = [], form = 0 : i32, target = "TARGET"} {
^bb0(%a: !wave.memory<["N"], f32, global>, %sum: !wave.memory<["1"], f32, global>):
  %0 = wave.read %a : !wave.memory<["N"], f32, global> -> !wave.tile<[N], f32>
  %1 = wave.reduce sum %0 along "N" : (!wave.tile<[N], f32>) -> !wave.tile<[], f32>
  wave.write %1, %sum {indices = [#wave.expr<"0">]} : !wave.tile<[], f32>, !wave.memory<["1"], f32, global>
}
