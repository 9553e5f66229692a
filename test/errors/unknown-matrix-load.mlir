// RUN: not soliton-opt %s --wave-pipeline --split-input-file 2>&1 | FileCheck %s

// What a program says is never left out silently: the target has to have the load.
// CHECK: error: `sm_90a` has no collective load `ds_read_b64_tr_b16` of shared memory [invalid-ir]
wave.kernel @foreign attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"32">, workgroupDim = 0>],
    subs = {M = 32 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M"], f16, global>, %b: !wave.memory<["M"], f16, global>):
  %s = wave.allocate : !wave.memory<["M"], f16, shared>
  %0 = wave.read %a : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
  wave.write %0, %s : !wave.tile<[M], f16>, !wave.memory<["M"], f16, shared>
  %1 = wave.read %s {matrix_load = "ds_read_b64_tr_b16"} : !wave.memory<["M"], f16, shared> -> !wave.tile<[M], f16>
  wave.write %1, %b : !wave.tile<[M], f16>, !wave.memory<["M"], f16, global>
}

// -----

// A parameter that goes through shared memory is read from global memory first.
// CHECK: error: {{.*}}loads global memory by `ldmatrix.x4`, expected shared memory
wave.kernel @staged attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"32">, workgroupDim = 0>],
    subs = {M = 32 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M"], f16, shared>, %b: !wave.memory<["M"], f16, global>):
  %0 = wave.read %a {matrix_load = "ldmatrix.x4"} : !wave.memory<["M"], f16, shared> -> !wave.tile<[M], f16>
  wave.write %0, %b : !wave.tile<[M], f16>, !wave.memory<["M"], f16, global>
}
