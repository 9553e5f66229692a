// RUN: soliton-opt %s --check-with-emulator -o /dev/null
// RUN: soliton-opt %s --wave-pipeline | FileCheck %s

// Two registers from an even place on stay together where indices wrap at four.
// CHECK: wave.read {{.*}} -> <[K, M, D], f32, "reg = (2 D 1)
wave.kernel @generated attributes {
    arg_names = ["m6", "m9"],
    constraints = [#wave.workgroup<dim = "D", tile = <"16">, workgroupDim = 0>,
                   #wave.tiling<dim = "K", tile = <"8">>],
    subs = {M = 1 : i64, K = 1 : i64, D = 2 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%m0: !wave.memory<["K", "M", "4"], f32, global>, %m1: !wave.memory<["M", "D"], f32, global>):
  %22 = wave.fill 1.00000000000000000e+00 : f32 -> !wave.tile<[M, D], f32>
  %32, %33 = wave.iterate "K" (%22, %22) : (!wave.tile<[M, D], f32>, !wave.tile<[M, D], f32>) -> (!wave.tile<[M, D], f32>, !wave.tile<[M, D], f32>) {
  ^bb0(%23: !wave.tile<[M, D], f32>, %24: !wave.tile<[M, D], f32>):
    %28 = wave.read %m0 {indices = [#wave.expr<"$index0">, #wave.expr<"$index1">, #wave.expr<"mod(($index2 + 0), 4)">]} : !wave.memory<["K", "M", "4"], f32, global> -> !wave.tile<[K, M, D], f32>
    %29 = wave.reduce sum %28 along "K" : (!wave.tile<[K, M, D], f32>) -> !wave.tile<[M, D], f32>
    wave.yield %29, %24 : !wave.tile<[M, D], f32>, !wave.tile<[M, D], f32>
  }
  wave.write %32, %m1 : !wave.tile<[M, D], f32>, !wave.memory<["M", "D"], f32, global>
}
