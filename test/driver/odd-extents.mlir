// RUN: soliton-opt %s --check-with-emulator -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts))' | FileCheck %s

// Lanes cannot share 17 or 33 elements evenly, and each would hold all 561: whole dimensions are rounded up to what they can share, and
// what lies beyond is masked.
// CHECK: wave.read %{{.*}} -> <[A, B, C], f32, "reg = (5 C 8)(6 A 4), lane = (8 C 1)(2 B 1)(4 A 1)
wave.kernel @odd attributes {
    arg_names = ["a", "b", "c", "d"],
    constraints = [#wave.workgroup<dim = "W", tile = <"1">, workgroupDim = 0>],
    subs = {W = 1 : i64, A = 17 : i64, B = 2 : i64, C = 33 : i64},
    dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["A", "B", "C"], f32, global>, %b: !wave.memory<["A", "C"], f32, global>, %c: !wave.memory<["A", "B", "C"], f32, global>, %d: !wave.memory<["A", "B"], f32, global>):
  %0 = wave.read %a : !wave.memory<["A", "B", "C"], f32, global> -> !wave.tile<[A, B, C], f32>
  %1 = wave.read %b : !wave.memory<["A", "C"], f32, global> -> !wave.tile<[A, C], f32>
  %2 = wave.binary add %0, %1 : !wave.tile<[A, B, C], f32>, !wave.tile<[A, C], f32> -> !wave.tile<[A, B, C], f32>
  %3 = wave.reduce sum %2 along "C" : (!wave.tile<[A, B, C], f32>) -> !wave.tile<[A, B], f32>
  %4 = wave.binary mul %2, %3 : !wave.tile<[A, B, C], f32>, !wave.tile<[A, B], f32> -> !wave.tile<[A, B, C], f32>
  wave.write %4, %c : !wave.tile<[A, B, C], f32>, !wave.memory<["A", "B", "C"], f32, global>
  wave.write %3, %d : !wave.tile<[A, B], f32>, !wave.memory<["A", "B"], f32, global>
}
