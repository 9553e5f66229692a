// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-combine-late))' | FileCheck %s

// Two waves share a row that a loop walks. What is only added to is carried by each lane of each wave, and combined behind the loop.
// CHECK-LABEL: wave.kernel @row_sum
// CHECK: %[[NONE:.*]] = wave.fill 0.000000e+00 : f32 -> <[M, N], f32, "[[PARTS:lane = \(64 N 2\), wave = \(2 N 128\)]]">
// CHECK: %[[SUMS:.*]] = wave.iterate "N"(%[[NONE]])
// CHECK: %[[OWN:.*]] = wave.reduce sum {{.*}} -> !wave.tile<[M, N], f32, "[[PARTS]]">
// CHECK: %[[NEXT:.*]] = wave.binary add %{{.*}}, %[[OWN]]
// CHECK: wave.yield %[[NEXT]]
// CHECK: wave.reduce sum %[[SUMS]] init %{{.*}} along "N"
wave.kernel @row_sum attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 0>, #wave.tiling<dim = "N", tile = <"256">>,
                   #wave.wave<dim = "N", tile = <"128">>],
    subs = {M = 2 : i64, N = 600 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.fill 1.0 : f32 -> !wave.tile<[M], f32>
  %1 = wave.iterate "N"(%0) : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
  ^bb0(%acc: !wave.tile<[M], f32>):
    %2 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
    %3 = wave.reduce sum %2 init %acc along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    wave.yield %3 : !wave.tile<[M], f32>
  }
  wave.write %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// The largest so far is looked at, so lanes and waves meet on it in every iteration; the sum below it is scaled, and does not.
// CHECK-LABEL: wave.kernel @softmax_sum
// CHECK: wave.iterate "N"(%{{.*}}, %{{.*}}) {{.*}} : (!wave.tile<[M], f32, {{.*}}>, !wave.tile<[M, N], f32, {{.*}}>)
// CHECK: wave.reduce max {{.*}} -> !wave.tile<[M], f32
// CHECK: %[[FACTOR:.*]] = wave.broadcast {{.*}} -> <[M, N], f32, "lane = (64 N 2), wave = (2 N 128)">
// CHECK: wave.binary mul %{{.*}}, %[[FACTOR]]
wave.kernel @softmax_sum attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 0>, #wave.tiling<dim = "N", tile = <"256">>,
                   #wave.wave<dim = "N", tile = <"128">>],
    subs = {M = 2 : i64, N = 600 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.fill -1000.0 : f32 -> !wave.tile<[M], f32>
  %1 = wave.fill 0.0 : f32 -> !wave.tile<[M], f32>
  %2:2 = wave.iterate "N"(%0, %1) : (!wave.tile<[M], f32>, !wave.tile<[M], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], f32>) {
  ^bb0(%before: !wave.tile<[M], f32>, %acc: !wave.tile<[M], f32>):
    %3 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
    %4 = wave.reduce max %3 init %before along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    %5 = wave.binary sub %before, %4 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    %6 = wave.binary mul %acc, %5 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    %7 = wave.reduce sum %3 init %6 along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    wave.yield %4, %7 : !wave.tile<[M], f32>, !wave.tile<[M], f32>
  }
  wave.write %2#1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// Each of two waves multiplies its half of K and has an accumulator of its own.
// CHECK-LABEL: wave.kernel @product
// CHECK: wave.iterate "K"(%{{.*}}) {{.*}} : (!wave.tile<[K, M, N], f32, {{.*}}wave = (2 K 32)">)
// CHECK: wave.mma {{.*}} <[K, M, N], f32
// CHECK-NOT: wave.reduce
// CHECK: wave.yield
// CHECK: wave.reduce sum {{.*}} along "K"
wave.kernel @product attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"32">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "K", tile = <"32">>],
    subs = {M = 32 : i64, N = 32 : i64, K = 150 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["N", "K"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %1 = wave.iterate "K"(%0) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb0(%acc: !wave.tile<[M, N], f32>):
    %2 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %3 = wave.read %b : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    %4 = wave.mma %2, %3, %acc : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %4 : !wave.tile<[M, N], f32>
  }
  wave.write %1, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
