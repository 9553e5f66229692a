// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-place-shared,wave-expand-tiles,wave-synchronize))' 2>&1 | FileCheck %s
// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-place-shared,wave-expand-tiles,wave-synchronize{strict=true}))' 2>&1 | FileCheck %s --check-prefix=STRICT

// An author's barrier without its wait protects nothing that is still in flight.
// CHECK: [[@LINE+14]]:3: remark: `wait shared 0` was added in front of a barrier that `write` may reach in flight [schedule-remark]
// STRICT: [[@LINE+13]]:3: error: `wait shared 0` was added in front of a barrier that `write` may reach in flight [schedule-remark]
// CHECK: role = shared_store
// CHECK: wave.wait shared, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.read
// CHECK-NOT: wave.barrier
wave.kernel @author attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>, #wave.wave<dim = "M", tile = <"32">>],
    subs = {M = 64 : i64, N = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %s = wave.allocate : !wave.memory<["M", "N"], f32, shared>
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %s : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, shared>
  wave.barrier
  %1 = wave.read %s {indices = [#wave.expr<"mod($index0 + 32, 64)">, #wave.expr<"$index1">]} : !wave.memory<["M", "N"], f32, shared> -> !wave.tile<[M, N], f32>
  wave.write %1, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
