// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared))' | FileCheck %s
// RUN: soliton-opt %s --check-with-emulator -o /dev/null

// All waves take the same branch, so that tiles go through shared memory there as anywhere.
// CHECK-LABEL: wave.kernel @branch
// CHECK: %[[TILE:.*]] = wave.allocate
// CHECK: wave.conditional
// CHECK: %[[READ:.*]] = wave.read %{{.*}} global>
// CHECK-NEXT: wave.write %[[READ]], %[[TILE]]
// CHECK-NEXT: wave.read %[[TILE]]
wave.kernel @branch attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"32">>],
    subs = {M = 100 : i64, N = 24 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f16, shared>, %b: !wave.memory<["M", "N"], f16, global>):
  %w = wave.workgroup_id 0
  wave.conditional <"$0 >= 1"> [%w] {
    %0 = wave.read %a : !wave.memory<["M", "N"], f16, shared> -> !wave.tile<[M, N], f16>
    wave.write %0, %b : !wave.tile<[M, N], f16>, !wave.memory<["M", "N"], f16, global>
    wave.yield
  } else {
    wave.yield
  }
}
