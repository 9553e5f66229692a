// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-mask-accesses,wave-dissolve-loops,cse))' | FileCheck %s

// Both loops run once and read the same row: it is read once, and what is computed from it is computed once.
// CHECK-LABEL: wave.kernel @kept
// CHECK-NOT: wave.iterate
// CHECK-COUNT-1: wave.read
// CHECK-NOT: wave.read
// CHECK: wave.reduce max
// CHECK-COUNT-1: wave.binary sub
// CHECK-NOT: wave.binary sub
// CHECK: wave.write
wave.kernel @kept attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 0>, #wave.tiling<dim = "N", tile = <"1024">>,
                   #wave.wave<dim = "M", tile = <"1">>, #wave.wave<dim = "N", tile = <"512">>],
    subs = {M = 64 : i64, N = 1000 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M", "N"], f16, global>, %b: !wave.memory<["M", "N"], f16, global>):
  %low = wave.fill -1.0 : f32 -> !wave.tile<[M], f32>
  %none = wave.fill 0.0 : f32 -> !wave.tile<[M], f32>
  %largest, %total = wave.iterate "N" (%low, %none) : (!wave.tile<[M], f32>, !wave.tile<[M], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], f32>) {
  ^bb1(%before: !wave.tile<[M], f32>, %sum: !wave.tile<[M], f32>):
    %0 = wave.read %a : !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
    %1 = wave.cast %0 : !wave.tile<[M, N], f16> -> !wave.tile<[M, N], f32>
    %2 = wave.reduce max %1 init %before along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    %3 = wave.binary sub %1, %2 : !wave.tile<[M, N], f32>, !wave.tile<[M], f32> -> !wave.tile<[M, N], f32>
    %4 = wave.reduce sum %3 init %sum along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    wave.yield %2, %4 : !wave.tile<[M], f32>, !wave.tile<[M], f32>
  }
  wave.iterate "N" () : () -> () {
    %0 = wave.read %a : !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
    %1 = wave.cast %0 : !wave.tile<[M, N], f16> -> !wave.tile<[M, N], f32>
    %2 = wave.binary sub %1, %largest : !wave.tile<[M, N], f32>, !wave.tile<[M], f32> -> !wave.tile<[M, N], f32>
    %3 = wave.binary mul %2, %total : !wave.tile<[M, N], f32>, !wave.tile<[M], f32> -> !wave.tile<[M, N], f32>
    %4 = wave.cast %3 : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f16>
    wave.write %4, %b : !wave.tile<[M, N], f16>, !wave.memory<["M", "N"], f16, global>
  }
}

// -----

// A lane would keep 128 elements, half of its registers: the row is read again.
// CHECK-LABEL: wave.kernel @too_long
// CHECK-COUNT-2: wave.iterate
wave.kernel @too_long attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 0>, #wave.tiling<dim = "N", tile = <"4096">>],
    subs = {M = 64 : i64, N = 4096 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M", "N"], f16, global>, %b: !wave.memory<["M", "N"], f16, global>):
  %none = wave.fill 0.0 : f16 -> !wave.tile<[M], f16>
  %total = wave.iterate "N" (%none) : (!wave.tile<[M], f16>) -> !wave.tile<[M], f16> {
  ^bb1(%sum: !wave.tile<[M], f16>):
    %0 = wave.read %a : !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
    %1 = wave.reduce sum %0 init %sum along "N" : (!wave.tile<[M, N], f16>, !wave.tile<[M], f16>) -> !wave.tile<[M], f16>
    wave.yield %1 : !wave.tile<[M], f16>
  }
  wave.iterate "N" () : () -> () {
    %0 = wave.read %a : !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
    %1 = wave.binary sub %0, %total : !wave.tile<[M, N], f16>, !wave.tile<[M], f16> -> !wave.tile<[M, N], f16>
    wave.write %1, %b : !wave.tile<[M, N], f16>, !wave.memory<["M", "N"], f16, global>
  }
}

// -----

// Several trips, and a loop that has a tag for a schedule to speak of, stay as they are.
// CHECK-LABEL: wave.kernel @loops
// CHECK-COUNT-2: wave.iterate
wave.kernel @loops attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 0>, #wave.tiling<dim = "N", tile = <"256">>],
    subs = {M = 64 : i64, N = 257 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M", "N"], f16, global>, %b: !wave.memory<["M", "N"], f16, global>):
  %none = wave.fill 0.0 : f16 -> !wave.tile<[M], f16>
  %total = wave.iterate "N" (%none) : (!wave.tile<[M], f16>) -> !wave.tile<[M], f16> {
  ^bb1(%sum: !wave.tile<[M], f16>):
    %0 = wave.read %a : !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
    %1 = wave.reduce sum %0 init %sum along "N" : (!wave.tile<[M, N], f16>, !wave.tile<[M], f16>) -> !wave.tile<[M], f16>
    wave.yield %1 : !wave.tile<[M], f16>
  }
  wave.iterate "N" () : () -> () {
    %0 = wave.read %a : !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
    %1 = wave.binary sub %0, %total : !wave.tile<[M, N], f16>, !wave.tile<[M], f16> -> !wave.tile<[M, N], f16>
    wave.write %1, %b : !wave.tile<[M, N], f16>, !wave.memory<["M", "N"], f16, global>
  }
}
