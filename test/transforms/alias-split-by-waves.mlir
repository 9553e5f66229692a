// RUN: soliton-opt %s --check-with-emulator -o /dev/null
// RUN: soliton-opt %s --wave-pipeline | FileCheck %s

// A tile of a dimension and its alias: the waves of both split the dimension, and each has the whole of the alias.
// CHECK-LABEL: wave.kernel @both
// CHECK: wave.read {{.*}}wave = (2 N 32)
wave.kernel @both attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 0>, #wave.wave<dim = "N", tile = <"32">>,
                   #wave.alias<source = "S", target = "N", sourceToTarget = <"$x/2">>],
    subs = {N = 128 : i64, S = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["N", "S"], f32, global>, %b: !wave.memory<["S", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["N", "S"], f32, global> -> !wave.tile<[N, S], f32>
  %1 = wave.permute %0 : !wave.tile<[N, S], f32> -> !wave.tile<[S, N], f32>
  wave.write %1, %b : !wave.tile<[S, N], f32>, !wave.memory<["S", "N"], f32, global>
}
