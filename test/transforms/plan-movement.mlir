// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement))' | FileCheck %s

// Two waves share a row: each reduces its part, registers first and then one exchange between lanes after the other, the parts
// meet in shared memory, and every wave combines them.
// CHECK-LABEL: wave.kernel @row_sum
// CHECK: wave.allocate
// CHECK: %[[R:.*]] = wave.reduce max %{{.*}} along "N" {{.*}} -> !wave.tile<[M, N], f32, "lane = (64 N 2), wave = (2 N 128)">
// CHECK: %[[A:.*]] = wave.reduce max %[[R]] along "N" {{.*}} -> !wave.tile<[M, N], f32, "lane = (2 _ 0)(32 N 4), wave = (2 N 128)">
// CHECK: %[[B:.*]] = wave.reduce max %[[A]] along "N" {{.*}} -> !wave.tile<[M, N], f32, "lane = (4 _ 0)(16 N 8), wave = (2 N 128)">
// CHECK-COUNT-3: wave.reduce max
// CHECK: %[[PART:.*]] = wave.reduce max %{{.*}} along "N" {{.*}} -> !wave.tile<[M, N], f32, "lane = (64 _ 0), wave = (2 N 128)">
// CHECK: wave.write %[[PART]]
// CHECK: %[[ALL:.*]] = wave.read {{.*}} "reg = (2 N 128)
// CHECK: wave.reduce max %[[ALL]] along "N"

wave.kernel @row_sum attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"BN">, workgroupDim = 0>, #wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 1>,
                   #wave.wave<dim = "N", tile = <"BN/2">>],
    subs = {BN = 256 : i64, M = 8 : i64, N = 200 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.reduce max %0 along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  wave.write %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
