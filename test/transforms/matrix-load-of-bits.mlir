// RUN: soliton-opt %s --split-input-file --check-with-emulator -o /dev/null
// RUN: soliton-opt %s --split-input-file --wave-pipeline --machine-pipeline | FileCheck %s

// A transposed tile of i1 goes through shared memory as bytes; a matrix load would make bytes of it in registers.
// CHECK-LABEL: machine.kernel @bits
// CHECK-NOT: machine.load_matrix
// CHECK: machine.store
wave.kernel @bits attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.workgroup<dim = "D", tile = <"32">, workgroupDim = 1>],
    subs = {M = 37 : i64, D = 36 : i64, B = 1 : i64, H = 1 : i64}, dynamic = [], form = 0 : i32, target = "gfx950"} {
^bb0(%a: !wave.memory<["H", "B", "M", "D"], i1, shared>, %b: !wave.memory<["(H * D)", "M", "B"], i1, global>):
  %0 = wave.read %a {indices = [#wave.expr<"$index0">, #wave.expr<"$index3">, #wave.expr<"$index2">, #wave.expr<"$index1">]} : !wave.memory<["H", "B", "M", "D"], i1, shared> -> !wave.tile<[H, D, M, B], i1>
  wave.write %0, %b {indices = [#wave.expr<"(($index0 * D) + $index1)">, #wave.expr<"$index2">, #wave.expr<"$index3">]} : !wave.tile<[H, D, M, B], i1>, !wave.memory<["(H * D)", "M", "B"], i1, global>
}

// -----

// A tile of eight rows of a tensor that has seven: the eighth is not in shared memory, and a matrix load has no mask.
// CHECK-LABEL: machine.kernel @seven
// CHECK-NOT: machine.load_matrix
// CHECK: machine.store
wave.kernel @seven attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"7">, workgroupDim = 0>, #wave.workgroup<dim = "M", tile = <"32">, workgroupDim = 1>],
    subs = {M = 79 : i64, N = 7 : i64}, dynamic = [], form = 0 : i32, target = "gfx950"} {
^bb0(%a: !wave.memory<["N", "M"], f16, shared>, %b: !wave.memory<["M", "N"], f16, global>):
  %0 = wave.read %a {indices = [#wave.expr<"$index1">, #wave.expr<"$index0">]} : !wave.memory<["N", "M"], f16, shared> -> !wave.tile<[M, N], f16>
  wave.write %0, %b : !wave.tile<[M, N], f16>, !wave.memory<["M", "N"], f16, global>
}
