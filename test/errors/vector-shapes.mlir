// RUN: soliton-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols))'

// One element of `B` in a workgroup, and a tile of four of them.
// expected-error@+2 {{the vector shape 0 of `B` means one element in a workgroup, its tile has 4 [hardware-value]}}
// expected-note@+1 {{hint: give it a workgroup tile of 1, or the vector shape 4}}
wave.kernel @batch attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "B", tile = <"4">, workgroupDim = 1>, #wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>,
                   #wave.hardware<vectorShapes = {B = #wave.expr<"0">, M = #wave.expr<"64">}, maxBitsPerLoad = 128>],
    subs = {B = 8 : i64, M = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["B", "M"], f32, global>, %b: !wave.memory<["B", "M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["B", "M"], f32, global> -> !wave.tile<[B, M], f32>
  wave.write %0, %b : !wave.tile<[B, M], f32>, !wave.memory<["B", "M"], f32, global>
}

// -----

// expected-error@+1 {{the vector shape of `M` is -1, expected 0 or a positive number [size-not-positive]}}
wave.kernel @negative attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>,
                   #wave.hardware<vectorShapes = {M = #wave.expr<"0 - BM">}, maxBitsPerLoad = 128>],
    subs = {M = 64 : i64, BM = 1 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  wave.write %0, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// -----

// expected-error@+2 {{the vector shape of `M` is `BM`, expected a number at compile time [symbol-unbound]}}
// expected-note@+1 {{hint: bind its symbols in `subs`}}
wave.kernel @unbound attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>,
                   #wave.hardware<vectorShapes = {M = #wave.expr<"BM">}, maxBitsPerLoad = 128>],
    subs = {M = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  wave.write %0, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// -----

// Any other number of elements at a time gives the same result: a tile of one, shapes that do not divide.
wave.kernel @fine attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "B", tile = <"1">, workgroupDim = 1>, #wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>,
                   #wave.hardware<vectorShapes = {B = #wave.expr<"0">, M = #wave.expr<"48">}, maxBitsPerLoad = 128>],
    subs = {B = 8 : i64, M = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["B", "M"], f32, global>, %b: !wave.memory<["B", "M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["B", "M"], f32, global> -> !wave.tile<[B, M], f32>
  wave.write %0, %b : !wave.tile<[B, M], f32>, !wave.memory<["B", "M"], f32, global>
}
