// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols))' | FileCheck %s

// Drivers promise 65535 workgroups along the second dimension: so many are launched as they are.
// CHECK-LABEL: wave.kernel @most
// CHECK-SAME: linear = false
wave.kernel @most attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 2000000000 : i64, N = 4194240 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// One more, and they are launched in one dimension and take their number apart.
// CHECK-LABEL: wave.kernel @more
// CHECK-SAME: linear = true
wave.kernel @more attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 2 : i64, N = 4194241 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// The first dimension takes any number, the second one only what is known.
// CHECK-LABEL: wave.kernel @first
// CHECK-SAME: linear = false
wave.kernel @first attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>],
    subs = {}, dynamic = ["M"], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  wave.write %0, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// -----

// CHECK-LABEL: wave.kernel @second
// CHECK-SAME: linear = true
wave.kernel @second attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 64 : i64}, dynamic = ["N"], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// More than three dimensions.
// CHECK-LABEL: wave.kernel @fourth
// CHECK-SAME: linear = true
wave.kernel @fourth attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 3>],
    subs = {M = 128 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  wave.write %0, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// -----

// In bands: two rows of tiles at a time, whatever the grid is.
// CHECK-LABEL: wave.kernel @bands
// CHECK-SAME: linear = true
wave.kernel @bands attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 320 : i64, N = 192 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", raster = 2 : i64} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
