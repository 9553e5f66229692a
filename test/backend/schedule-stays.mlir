// RUN: split-file %s %t
// RUN: soliton compile %t/equal-products.mlir --schedule four_stage --emit hsaco -o %t/1.hsaco
// RUN: soliton compile %t/unchanged.mlir --schedule exact --emit hsaco -o %t/2.hsaco
// RUN: soliton compile %t/dynamic.mlir --schedule prefetch --emit hsaco -o %t/3.hsaco
// RUN: soliton compile %t/constant.mlir --schedule prefetch --emit hsaco -o %t/4.hsaco
// RUN: soliton compile %t/folded.mlir --schedule prefetch --emit hsaco -o %t/5.hsaco
// RUN: soliton compile %t/delayed.mlir --schedule modulo --emit hsaco -o %t/6.hsaco
// RUN: soliton-opt %t/constant.mlir --check-with-emulator="passes=wave.kernel(wave-bind-symbols,wave-drop-unused,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,cse,wave-place-shared,wave-expand-tiles,wave-drop-unused,wave-schedule-loops{schedule=modulo},wave-synchronize),wave-lower-to-machine,cse" -o /dev/null
// RUN: soliton-opt %t/delayed.mlir --check-with-emulator="passes=wave.kernel(wave-bind-symbols,wave-drop-unused,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,cse,wave-place-shared,wave-expand-tiles,wave-drop-unused,wave-schedule-loops{schedule=modulo},wave-synchronize),wave-lower-to-machine,cse" -o /dev/null

// What LLVM could merge, drop or fold: each must reach the code object as the schedule says, or be gone before it is made.

//--- equal-products.mlir
// Both columns of products are the same constants.
wave.kernel @equal_products attributes {
    arg_names = ["c"],
    constraints = [#wave.workgroup<dim = "E", tile = <"32">, workgroupDim = 0>],
    subs = {M = 16 : i64, D = 4 : i64, E = 1 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%c: !wave.memory<["M", "E"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M, D], f32>
  %1 = wave.fill 0.0 : f32 -> !wave.tile<[M, E], f32>
  %2 = wave.fill 1.0 : f32 -> !wave.tile<[E, D], f32>
  %3 = wave.mma %0, %2, %1 : !wave.tile<[M, D], f32>, !wave.tile<[E, D], f32>, !wave.tile<[M, E], f32>
  wave.write %3, %c : !wave.tile<[M, E], f32>, !wave.memory<["M", "E"], f32, global>
}

//--- unchanged.mlir
// The loop carries a value that it does not change, and nobody uses it.
wave.kernel @unchanged attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.tiling<dim = "K", tile = <"1">>],
    subs = {K = 1 : i64, D = 63 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["D", "K"], f32, global>, %b: !wave.memory<["D"], f32, global>):
  %0 = wave.read %b : !wave.memory<["D"], f32, global> -> !wave.tile<[D], f32>
  %1 = wave.iterate "K" (%0) : (!wave.tile<[D], f32>) -> (!wave.tile<[D], f32>) {
  ^bb0(%2: !wave.tile<[D], f32>):
    %3 = wave.fill 1.0 : f32 -> !wave.tile<[D, K], f32>
    wave.write %3, %a : !wave.tile<[D, K], f32>, !wave.memory<["D", "K"], f32, global>
    wave.yield %2 : !wave.tile<[D], f32>
  }
}

//--- dynamic.mlir
// Products of constants, a number of trips that is known at launch.
wave.kernel @dynamic attributes {
    arg_names = ["c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.tiling<dim = "N", tile = <"4">>],
    subs = {M = 1 : i64, D = 16 : i64}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%c: !wave.memory<["M", "D"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M, D], f32>
  %1 = wave.iterate "N" (%0) : (!wave.tile<[M, D], f32>) -> (!wave.tile<[M, D], f32>) {
  ^bb0(%2: !wave.tile<[M, D], f32>):
    %3 = wave.fill 1.0 : f32 -> !wave.tile<[M, N], f32>
    %4 = wave.fill 1.0 : f32 -> !wave.tile<[D, N], f32>
    %5 = wave.mma %3, %4, %2 : !wave.tile<[M, N], f32>, !wave.tile<[D, N], f32>, !wave.tile<[M, D], f32>
    wave.yield %5 : !wave.tile<[M, D], f32>
  }
  wave.write %1, %c : !wave.tile<[M, D], f32>, !wave.memory<["M", "D"], f32, global>
}

//--- constant.mlir
// The loop hands on a constant that is not the one it began with.
wave.kernel @constant attributes {
    arg_names = ["a", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"4">>],
    subs = {M = 64 : i64, K = 16 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f32, global>, %c: !wave.memory<["M"], f32, global>):
  %0 = wave.fill 1.0 : f32 -> !wave.tile<[M], f32>
  %1, %2 = wave.iterate "K" (%0, %0) : (!wave.tile<[M], f32>, !wave.tile<[M], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], f32>) {
  ^bb0(%3: !wave.tile<[M], f32>, %sum: !wave.tile<[M], f32>):
    %4 = wave.read %a : !wave.memory<["M", "K"], f32, global> -> !wave.tile<[M, K], f32>
    %5 = wave.reduce sum %4 init %sum along "K" : (!wave.tile<[M, K], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    %6 = wave.binary mul %5, %3 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    %7 = wave.fill 2.0 : f32 -> !wave.tile<[M], f32>
    wave.yield %7, %6 : !wave.tile<[M], f32>, !wave.tile<[M], f32>
  }
  %8 = wave.binary add %1, %2 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  wave.write %8, %c : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

//--- folded.mlir
// What is read decides nothing: the condition is always true.
wave.kernel @folded attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"16">>],
    subs = {M = 16 : i64, N = 16 : i64, K = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f16, global>, %b: !wave.memory<["M", "N"], f32, global>, %c: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %1 = wave.fill 1.0 : f32 -> !wave.tile<[M, N], f32>
  %2 = wave.iterate "K" (%0) : (!wave.tile<[M, N], f32>) -> (!wave.tile<[M, N], f32>) {
  ^bb0(%3: !wave.tile<[M, N], f32>):
    %4 = wave.read %a : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16>
    %5 = wave.fill 1.0 : f16 -> !wave.tile<[N, K], f16>
    %6 = wave.mma %4, %5, %3 : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %6 : !wave.tile<[M, N], f32>
  }
  %7 = wave.read %b : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %8 = wave.compare le %0, %1 : !wave.tile<[M, N], f32>, !wave.tile<[M, N], f32> -> !wave.tile<[M, N], i1>
  %9 = wave.select %8, %2, %7 : !wave.tile<[M, N], i1>, !wave.tile<[M, N], f32>, !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  wave.write %9, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

//--- delayed.mlir
// Values that wander through the loop: each is what another was an iteration before, and two change places.
wave.kernel @delayed attributes {
    arg_names = ["a", "c", "d"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"4">>],
    subs = {M = 64 : i64, K = 20 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f32, global>, %c: !wave.memory<["M"], f32, global>, %d: !wave.memory<["M"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M], f32>
  %1 = wave.fill 3.0 : f32 -> !wave.tile<[M], f32>
  %2, %3, %4 = wave.iterate "K" (%0, %0, %1) : (!wave.tile<[M], f32>, !wave.tile<[M], f32>, !wave.tile<[M], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], f32>, !wave.tile<[M], f32>) {
  ^bb0(%sum: !wave.tile<[M], f32>, %before: !wave.tile<[M], f32>, %other: !wave.tile<[M], f32>):
    %5 = wave.read %a : !wave.memory<["M", "K"], f32, global> -> !wave.tile<[M, K], f32>
    %6 = wave.reduce sum %5 init %sum along "K" : (!wave.tile<[M, K], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    %7 = wave.binary add %6, %other : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
    wave.yield %7, %other, %before : !wave.tile<[M], f32>, !wave.tile<[M], f32>, !wave.tile<[M], f32>
  }
  wave.write %2, %c : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
  %8 = wave.binary add %3, %4 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  wave.write %8, %d : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
