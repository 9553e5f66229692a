// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts))' 2>&1 | FileCheck %s

// Lanes exchange what they hold, so a row that is shuffled has an element for each of them.
// CHECK: a shuffle along `N`, of which a workgroup has 48 elements, expected 64, one for each lane of a wave [shuffle-source]
wave.kernel @short attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>], subs = {M = 8 : i64, N = 48 : i64}, dynamic = [],
    form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], i32, global>, %b: !wave.memory<["M", "N"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], i32, global> -> !wave.tile<[M, N], i32>
  %1 = wave.shuffle up %0 along "N" {offset = 1 : i64} : !wave.tile<[M, N], i32> -> !wave.tile<[M, N], i32>
  wave.write %1, %b : !wave.tile<[M, N], i32>, !wave.memory<["M", "N"], i32, global>
}
