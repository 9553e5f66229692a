// RUN: soliton-opt %s --split-input-file --wave-pipeline --machine-pipeline | FileCheck %s

// Rows of a length that only the launch knows: how far the last wave's rows are, a launch checks.
// CHECK-LABEL: machine.kernel @rows
// CHECK-SAME: limits = ["N < {{[0-9]+}}"]
wave.kernel @rows attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 128 : i64}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// What is assumed need not be checked twice.
// CHECK-LABEL: machine.kernel @assumed
// CHECK-NOT: limits
// CHECK: machine.load
wave.kernel @assumed attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>, #wave.wave<dim = "M", tile = <"16">>,
                   #wave.assume<predicate = <"N <= 100000">>],
    subs = {M = 128 : i64}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// A line: tiles move the base, and a tile is as long as it is.
// CHECK-LABEL: machine.kernel @line
// CHECK-NOT: limits
// CHECK: machine.load
wave.kernel @line attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 0>],
    subs = {}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["N"], f32, global>, %b: !wave.memory<["N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["N"], f32, global> -> !wave.tile<[N], f32>
  wave.write %0, %b : !wave.tile<[N], f32>, !wave.memory<["N"], f32, global>
}

// -----

// A loop walks rows: the last iteration counts.
// CHECK-LABEL: machine.kernel @walk
// CHECK-SAME: limits = ["{{.*}}ceildiv(K, 8){{.*}}"]
wave.kernel @walk attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"8">>],
    subs = {N = 128 : i64}, dynamic = ["K"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["K", "N"], f32, global>, %b: !wave.memory<["N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[N], f32>) -> !wave.tile<[N], f32> {
  ^bb1(%acc: !wave.tile<[N], f32>):
    %0 = wave.read %a : !wave.memory<["K", "N"], f32, global> -> !wave.tile<[K, N], f32>
    %1 = wave.reduce sum %0 init %acc along "K" : (!wave.tile<[K, N], f32>, !wave.tile<[N], f32>) -> !wave.tile<[N], f32>
    wave.yield %1 : !wave.tile<[N], f32>
  }
  wave.write %sum, %b : !wave.tile<[N], f32>, !wave.memory<["N"], f32, global>
}
