// RUN: soliton compile %s --target gfx942 --emit hsaco -o %t.hsaco
// RUN: llvm-dwarfdump --debug-line %t.hsaco | FileCheck %s --check-prefix=TABLE
// RUN: llvm-objdump -d -l %t.hsaco | FileCheck %s --check-prefix=CODE
// RUN: soliton compile %s --target sm_90a --emit ptx -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx

// Code objects of a kernel in a file of text name the lines of that file.
wave.kernel @doubled attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"256">, workgroupDim = 0>], subs = {M = 1024 : i64}, dynamic = [],
    form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  // TABLE: name: "lines.mlir"
  // PTX: .loc [[FILE:[0-9]+]] [[#@LINE+5]] 8
  // PTX: ld.global
  // CODE: {{^}}; {{.*}}lines.mlir:[[#@LINE+3]]
  // CODE-NOT: {{^}}; {{.*}}lines.mlir
  // CODE: buffer_load
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  // PTX: .loc [[FILE]] [[#@LINE+5]] 8
  // PTX: add.{{.*}}f32
  // CODE: {{^}}; {{.*}}lines.mlir:[[#@LINE+3]]
  // CODE-NOT: {{^}}; {{.*}}lines.mlir
  // CODE: v_{{(pk_)?}}add_f32
  %1 = wave.binary add %0, %0 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  // PTX: .loc [[FILE]] [[#@LINE+6]] 3
  // PTX: st.global
  // PTX: .file [[FILE]] "{{.*}}lines.mlir"
  // CODE: {{^}}; {{.*}}lines.mlir:[[#@LINE+3]]
  // CODE-NOT: {{^}}; {{.*}}lines.mlir
  // CODE: buffer_store
  wave.write %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
