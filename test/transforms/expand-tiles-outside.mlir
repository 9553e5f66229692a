// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-mask-accesses,wave-plan-movement,wave-place-shared,wave-expand-tiles,wave-drop-unused))' | FileCheck %s
// RUN: soliton-opt %s --check-with-emulator -o /dev/null

// The tensors have 3 of the tile's 64 columns, of which a lane holds every fourth: columns 4 and beyond are no instructions.
// What is read there is 0.
// CHECK-LABEL: wave.kernel @outside
// CHECK: wave.read
// CHECK-NOT: wave.read
// CHECK-COUNT-15: wave.fill 0.0
// CHECK-NOT: wave.read
// CHECK: wave.binary add
// CHECK: wave.write
// CHECK: wave.write
// CHECK-NOT: wave.write
wave.kernel @outside attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 64 : i64, N = 3 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["N", "M"], f32, global>, %b: !wave.memory<["N", "M"], f32, global>, %c: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a {indices = [#wave.expr<"$index1">, #wave.expr<"$index0">]} : !wave.memory<["N", "M"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.reduce sum %0 along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  %2 = wave.binary add %0, %0 : !wave.tile<[M, N], f32>, !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  wave.write %2, %b {indices = [#wave.expr<"$index1">, #wave.expr<"$index0">]} : !wave.tile<[M, N], f32>, !wave.memory<["N", "M"], f32, global>
  wave.write %1, %c : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
