// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-drop-unused))' | FileCheck %s

// Nobody uses the product but the product of the next iteration: it goes, with what only it needs. The sum stays.
// CHECK-LABEL: wave.kernel @product_of_itself
// CHECK-NOT: wave.mma
// CHECK-NOT: tags = ["a"]
// CHECK: wave.iterate "K"(%{{[0-9]+}}) {{.*}} : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32>
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[SUM:.*]]: !wave.tile<[M], f32>):
// CHECK-NEXT: %[[ONE:.*]] = wave.read {{.*}}tags = ["c"]
// CHECK-NEXT: %[[NEXT:.*]] = wave.binary add %[[SUM]], %[[ONE]]
// CHECK-NEXT: wave.yield %[[NEXT]]
wave.kernel @product_of_itself attributes {
    arg_names = ["a", "b", "c", "d"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"16">>],
    subs = {M = 16 : i64, N = 16 : i64, K = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f16, global>, %b: !wave.memory<["N", "K"], f16, global>, %c: !wave.memory<["M"], f32, global>, %d: !wave.memory<["M"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %1 = wave.fill 0.0 : f32 -> !wave.tile<[M], f32>
  %2, %3 = wave.iterate "K" (%0, %1) : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) {
  ^bb0(%acc: !wave.tile<[M, N], f32>, %sum: !wave.tile<[M], f32>):
    %4 = wave.read %a {tags = ["a"]} : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16>
    %5 = wave.read %b : !wave.memory<["N", "K"], f16, global> -> !wave.tile<[N, K], f16>
    %6 = wave.mma %4, %5, %acc : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    %7 = wave.read %c {tags = ["c"]} : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
    %8 = wave.binary add %sum, %7 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    wave.yield %6, %8 : !wave.tile<[M, N], f32>, !wave.tile<[M], f32>
  }
  wave.write %3, %d : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// -----

// What a loop hands on unchanged is what it began with; a result of a branch that nobody uses is not made.
// CHECK-LABEL: wave.kernel @unchanged
// CHECK: %[[ONE:.*]] = wave.fill 1.0
// CHECK: wave.iterate "K"() {{.*}} : () -> ()
// CHECK: wave.write %[[ONE]], %{{.*}}tags = ["inside"]
// CHECK: wave.conditional
// CHECK-NEXT: wave.write %{{.*}}tags = ["branch"]
// CHECK-NOT: wave.unary
// CHECK: wave.write %[[ONE]], %{{.*}}tags = ["behind"]
wave.kernel @unchanged attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"16">>],
    subs = {M = 16 : i64, K = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.fill 1.0 : f32 -> !wave.tile<[M], f32>
  %1 = wave.iterate "K" (%0) : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
  ^bb0(%same: !wave.tile<[M], f32>):
    wave.write %same, %a {tags = ["inside"]} : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
    wave.yield %same : !wave.tile<[M], f32>
  }
  %w = wave.workgroup_id 0
  %2 = wave.conditional <"$0 < 1"> [%w] -> !wave.tile<[M], f32> {
    wave.write %0, %a {tags = ["branch"]} : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
    %3 = wave.unary exp2 %0 : !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    wave.yield %3 : !wave.tile<[M], f32>
  } else {
    wave.yield %0 : !wave.tile<[M], f32>
  }
  wave.write %1, %b {tags = ["behind"]} : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// -----

// What neither loop's results need goes with both, though the first hands it to the second.
// CHECK-LABEL: wave.kernel @handed_to_another_loop
// CHECK: wave.iterate "K"(%{{[0-9]+}}) {{.*}} : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32>
// CHECK: wave.iterate "K"(%{{[0-9]+}}) {{.*}} : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32>
wave.kernel @handed_to_another_loop attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"32">>],
    subs = {M = 64 : i64, K = 128 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M], f32>
  %1:2 = wave.iterate "K" (%0, %0) : (!wave.tile<[M], f32>, !wave.tile<[M], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], f32>) {
  ^bb1(%x: !wave.tile<[M], f32>, %y: !wave.tile<[M], f32>):
    %2 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
    %3 = wave.binary add %x, %2 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    %4 = wave.binary max %y, %2 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    wave.yield %3, %4 : !wave.tile<[M], f32>, !wave.tile<[M], f32>
  }
  %5:2 = wave.iterate "K" (%1#0, %1#1) : (!wave.tile<[M], f32>, !wave.tile<[M], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], f32>) {
  ^bb1(%x: !wave.tile<[M], f32>, %y: !wave.tile<[M], f32>):
    %2 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
    %3 = wave.binary add %x, %2 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    %4 = wave.binary min %y, %2 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    wave.yield %3, %4 : !wave.tile<[M], f32>, !wave.tile<[M], f32>
  }
  wave.write %5#0, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// -----

// A loop that is known to make no iteration hands on what it was given, and goes with what is in it.
// CHECK-LABEL: wave.kernel @no_iterations
// CHECK: %[[ZERO:.*]] = wave.fill 0
// CHECK-NOT: wave.iterate
// CHECK-NOT: wave.read
// CHECK: wave.write %[[ZERO]]
wave.kernel @no_iterations attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"32">, iters = <"0">>],
    subs = {M = 64 : i64, K = 128 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M], f32>
  %1 = wave.iterate "K" (%0) : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
  ^bb1(%x: !wave.tile<[M], f32>):
    %2 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
    %3 = wave.binary add %x, %2 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    wave.write %3, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
    wave.yield %3 : !wave.tile<[M], f32>
  }
  wave.write %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
