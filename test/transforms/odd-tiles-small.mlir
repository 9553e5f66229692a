// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-promote-to-shared,wave-mask-accesses))' | FileCheck %s

// Small odd extents are rounded up where lanes would hold the same elements otherwise: 3x5x7 of them.
// CHECK-LABEL: wave.kernel @small
// CHECK: wave.read %{{.*}} -> <[A, B, C], f16, "reg = (3 B 2), lane = (8 C 1)(2 B 1)(4 A 1)">
wave.kernel @small attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "A", tile = <"3">, workgroupDim = 0>],
    subs = {A = 7 : i64, B = 5 : i64, C = 7 : i64}, dynamic = [], form = 0 : i32, target = "TARGET"} {
^bb0(%a: !wave.memory<["A", "B", "C"], f16, global>, %b: !wave.memory<["C", "A", "B"], f16, global>):
  %s = wave.allocate : !wave.memory<["A", "B", "C"], f16, shared>
  %0 = wave.read %a : !wave.memory<["A", "B", "C"], f16, global> -> !wave.tile<[A, B, C], f16>
  wave.write %0, %s : !wave.tile<[A, B, C], f16>, !wave.memory<["A", "B", "C"], f16, shared>
  %1 = wave.read %s {indices = [#wave.expr<"2 - $index0">, #wave.expr<"$index1">, #wave.expr<"$index2">]} : !wave.memory<["A", "B", "C"], f16, shared> -> !wave.tile<[A, B, C], f16>
  wave.write %1, %b {indices = [#wave.expr<"$index2">, #wave.expr<"$index0">, #wave.expr<"$index1">]} : !wave.tile<[A, B, C], f16>, !wave.memory<["C", "A", "B"], f16, global>
}
