// RUN: not soliton-opt %s --wave-pipeline 2>&1 | FileCheck %s

// A lane would have one of the two elements in a byte: each wave has one column.
// CHECK: packed-elements.mlir:[[#@LINE+8]]:3: error: lanes would touch parts of the bytes in which 'i4' elements lie [packed-elements-split]
// CHECK: hint: read and write whole bytes a lane along the tensor's last dimension, or use a wider element type
wave.kernel @single attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"1">, workgroupDim = 1>],
    subs = {M = 64 : i64, N = 8 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], i4, global>, %b: !wave.memory<["M", "N"], i4, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], i4, global> -> !wave.tile<[M, N], i4>
  wave.write %0, %b : !wave.tile<[M, N], i4>, !wave.memory<["M", "N"], i4, global>
}
