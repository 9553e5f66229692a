// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants))' | FileCheck %s

// The bias does not follow the loop: it is read once, before it. What follows the iteration stays.
// CHECK-LABEL: wave.kernel @hoist
// CHECK: wave.read {{.*}}tags = ["bias"]
// CHECK: wave.unary exp2
// CHECK: wave.iterate
// CHECK: wave.read {{.*}}tags = ["moving"]
wave.kernel @hoist attributes {
    arg_names = ["a", "bias", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"16">>],
    subs = {M = 128 : i64, K = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f32, global>, %bias: !wave.memory<["M"], f32, global>, %c: !wave.memory<["M"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
  ^bb1(%acc: !wave.tile<[M], f32>):
    %0 = wave.read %bias {tags = ["bias"]} : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
    %1 = wave.unary exp2 %0 : !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    %2 = wave.read %a {tags = ["moving"]} : !wave.memory<["M", "K"], f32, global> -> !wave.tile<[M, K], f32>
    %3 = wave.reduce sum %2 along "K" : (!wave.tile<[M, K], f32>) -> !wave.tile<[M], f32>
    %4 = wave.binary mul %3, %1 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    %5 = wave.binary add %4, %acc : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    wave.yield %5 : !wave.tile<[M], f32>
  }
  wave.write %sum, %c : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
