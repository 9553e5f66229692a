// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-place-shared,wave-expand-tiles,wave-synchronize))' 2>&1 | FileCheck %s

// What one wave wrote to global memory another one reads: complete, then a barrier.
// CHECK-LABEL: wave.kernel @others
// CHECK: role = global_store
// CHECK: wave.wait vm, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.read %arg1
// CHECK-NOT: wave.barrier
// CHECK-LABEL: wave.kernel @own
wave.kernel @others attributes {arg_names = ["a", "t", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>, #wave.wave<dim = "M", tile = <"32">>],
    subs = {M = 64 : i64, N = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %t: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %t : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
  %1 = wave.read %t {indices = [#wave.expr<"mod($index0 + 32, 64)">, #wave.expr<"$index1">]} : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %1, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// The same wave reads what it wrote.
// CHECK-NOT: wave.barrier
// CHECK-LABEL: wave.kernel @replicated
wave.kernel @own attributes {arg_names = ["a", "t", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>, #wave.wave<dim = "M", tile = <"32">>],
    subs = {M = 64 : i64, N = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %t: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %t : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
  %1 = wave.read %t : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %1, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// All waves read the row, one of them writes it: only after the others have read.
// CHECK: wave.read
// CHECK: wave.wait vm, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.write
wave.kernel @replicated attributes {arg_names = ["t"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>, #wave.wave<dim = "M", tile = <"32">>],
    subs = {M = 64 : i64, N = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%t: !wave.memory<["N"], f32, global>):
  %0 = wave.read %t : !wave.memory<["N"], f32, global> -> !wave.tile<[N], f32>
  %1 = wave.unary neg %0 : !wave.tile<[N], f32> -> !wave.tile<[N], f32>
  wave.write %1, %t : !wave.tile<[N], f32>, !wave.memory<["N"], f32, global>
}
