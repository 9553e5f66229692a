// RUN: soliton-opt %s --check-with-emulator --split-input-file | FileCheck %s
// RUN: sed s/gfx942/gfx950/ %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null
// RUN: sed s/gfx942/sm_90a/ %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null

// Elements of all waves and workgroups meet in a few places.
// CHECK: machine.kernel @histogram
// CHECK: machine.atomic add {{.*}} mask {{.*}} : vector<1xi32>
wave.kernel @histogram attributes {arg_names = ["a", "bins"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 300 : i64, B = 7 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], i32, global>, %bins: !wave.memory<["B"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  %1 = wave.apply_expr <"$APPLY_EXPR_ARG_0 % 7"> %0 : (!wave.tile<[M], i32>) -> !wave.tile<[M], i32>
  %2 = wave.fill 1 : i32 -> !wave.tile<[M], i32>
  %3 = wave.atomic add %2, %bins using %1 : !wave.tile<[M], i32> {indices = [#wave.expr<"$dynamic_val0">]} : !wave.tile<[M], i32>, !wave.memory<["B"], i32, global> -> !wave.tile<[M], i32>
}

// -----

// Sums of parts of rows meet: lanes and both waves hold a row's sum, and the first of them adds it.
// CHECK: machine.kernel @split_sum
// CHECK: machine.atomic add {{.*}} mask {{.*}} : vector<1xf32>
wave.kernel @split_sum attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>,
                   #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>, #wave.wave<dim = "N", tile = <"32">>],
    subs = {M = 21 : i64, N = 150 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.reduce sum %0 along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  %2 = wave.atomic add %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
}

// -----

// What was there is everybody's: holders that did not change the place hear of it through shared memory.
// CHECK: machine.kernel @old_of_rows
// CHECK: machine.atomic exchange
// CHECK: machine.store {{.*}} : vector<1xi32>
// CHECK: machine.barrier
// CHECK: machine.load
wave.kernel @old_of_rows attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>, #wave.wave<dim = "N", tile = <"32">>,
                   #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 21 : i64, N = 50 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], i32, global>, %b: !wave.memory<["M"], i32, global>, %c: !wave.memory<["M", "N"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], i32, global> -> !wave.tile<[M, N], i32>
  %1 = wave.reduce max %0 along "N" : (!wave.tile<[M, N], i32>) -> !wave.tile<[M], i32>
  %2 = wave.atomic exchange %1, %b : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  %3 = wave.broadcast %2 : !wave.tile<[M], i32> -> !wave.tile<[M, N], i32>
  %4 = wave.binary sub %3, %0 : !wave.tile<[M, N], i32>, !wave.tile<[M, N], i32> -> !wave.tile<[M, N], i32>
  wave.write %4, %c : !wave.tile<[M, N], i32>, !wave.memory<["M", "N"], i32, global>
}

// -----

// Floats by the order of their bits.
// CHECK: machine.kernel @least
// CHECK: machine.atomic min {{.*}} : vector<1xi32>
// CHECK: machine.atomic umax {{.*}} : vector<1xi32>
// CHECK: machine.atomic max {{.*}} : vector<1xi64>
// CHECK: machine.atomic umin {{.*}} : vector<1xi64>
wave.kernel @least attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>],
    subs = {M = 130 : i64, ONE = 3 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["ONE"], f32, global>, %c: !wave.memory<["ONE"], f64, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  %1 = wave.atomic min %0, %b {indices = [#wave.expr<"$index0 % 3">]} : !wave.tile<[M], f32>, !wave.memory<["ONE"], f32, global> -> !wave.tile<[M], f32>
  %2 = wave.cast %0 : !wave.tile<[M], f32> -> !wave.tile<[M], f64>
  %3 = wave.atomic max %2, %c {indices = [#wave.expr<"$index0 % 3">]} : !wave.tile<[M], f64>, !wave.memory<["ONE"], f64, global> -> !wave.tile<[M], f64>
}

// -----

// Counts in a shared tile, and then those of all workgroups: other waves' counts are waited for.
// CHECK: machine.kernel @histogram_of_parts
// CHECK: machine.store
// CHECK: machine.barrier
// CHECK: machine.atomic add %{{[^,]*}},[
// CHECK: machine.barrier
// CHECK: machine.load
// CHECK: machine.atomic add %{{[^,]*}}, %
wave.kernel @histogram_of_parts attributes {arg_names = ["a", "bins"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 300 : i64, B = 16 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], i32, global>, %bins: !wave.memory<["B"], i32, global>):
  %s = wave.allocate : !wave.memory<["B"], i32, shared>
  %z = wave.fill 0 : i32 -> !wave.tile<[B], i32>
  wave.write %z, %s : !wave.tile<[B], i32>, !wave.memory<["B"], i32, shared>
  %0 = wave.read %a : !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  %1 = wave.apply_expr <"$APPLY_EXPR_ARG_0 % 16"> %0 : (!wave.tile<[M], i32>) -> !wave.tile<[M], i32>
  %2 = wave.fill 1 : i32 -> !wave.tile<[M], i32>
  %3 = wave.atomic add %2, %s using %1 : !wave.tile<[M], i32> {indices = [#wave.expr<"$dynamic_val0">]} : !wave.tile<[M], i32>, !wave.memory<["B"], i32, shared> -> !wave.tile<[M], i32>
  %4 = wave.read %s : !wave.memory<["B"], i32, shared> -> !wave.tile<[B], i32>
  %5 = wave.atomic add %4, %bins : !wave.tile<[B], i32>, !wave.memory<["B"], i32, global> -> !wave.tile<[B], i32>
}

// -----

// Two kinds keep their order: all waves have added before one takes the largest.
// CHECK: machine.kernel @two_kinds
// CHECK: machine.atomic add
// CHECK: machine.barrier
// CHECK: machine.atomic max
wave.kernel @two_kinds attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 128 : i64, B = 5 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], i32, global>, %b: !wave.memory<["B"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  %1 = wave.atomic add %0, %b {indices = [#wave.expr<"$index0 % 5">]} : !wave.tile<[M], i32>, !wave.memory<["B"], i32, global> -> !wave.tile<[M], i32>
  %2 = wave.atomic max %0, %b {indices = [#wave.expr<"($index0 + 3) % 5">]} : !wave.tile<[M], i32>, !wave.memory<["B"], i32, global> -> !wave.tile<[M], i32>
}

// -----

// Two f16 elements of a lane at once.
// CHECK: machine.kernel @narrow
// CHECK: machine.atomic add {{.*}} : vector<2xf16>
wave.kernel @narrow attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 6 : i64, N = 96 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f16, global>, %b: !wave.memory<["M", "N"], f16, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
  %1 = wave.atomic add %0, %b : !wave.tile<[M, N], f16>, !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
}

// -----

// Whoever finds 0 leaves its own place there; each place is asked by one.
// CHECK: machine.kernel @claim
// CHECK: machine.atomic cas {{.*}} expecting {{.*}} : vector<1xi32>
wave.kernel @claim attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 300 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], i32, global>, %b: !wave.memory<["M"], i32, global>, %c: !wave.memory<["M"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  %1 = wave.self_index "M" : !wave.tile<[M], i32>
  %2 = wave.atomic cas %1 expecting %0 : !wave.tile<[M], i32>, %b : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  wave.write %2, %c : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global>
}
