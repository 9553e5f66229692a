// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-promote-to-shared,wave-mask-accesses))' | FileCheck %s

// The tile holds 24 elements, the shared memory of its whole dimension has 17: no more are written.
// CHECK: wave.write %{{.*}} {guards = [#wave.expr<"$index0 < 17">]

wave.kernel @generated attributes {
    arg_names = ["m6"],
    constraints = [],
    subs = {N = 17 : i64}, dynamic = [], form = 0 : i32, target = "TARGET"} {
^bb0(%m1: !wave.memory<["N"], f32, global>):
  %m0 = wave.allocate : !wave.memory<["N"], i1, shared>
  %16 = wave.fill true -> !wave.tile<[N], i1>
  %17 = wave.fill 1.00000000000000000e+00 : f32 -> !wave.tile<[N], f32>
  wave.write %16, %m0 : !wave.tile<[N], i1>, !wave.memory<["N"], i1, shared>
  wave.write %17, %m1 : !wave.tile<[N], f32>, !wave.memory<["N"], f32, global>
}
