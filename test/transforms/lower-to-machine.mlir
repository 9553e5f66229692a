// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-place-shared,wave-expand-tiles,wave-synchronize),wave-lower-to-machine)' | FileCheck %s

// The whole loop in machine form: nothing in it computes an address but the iteration.
// CHECK-LABEL: machine.kernel @gemm
// CHECK-SAME: shared_bytes = 8192
// CHECK: scf.for
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi
// CHECK-NEXT: machine.load {{.*}} : vector<8xf16>
// CHECK-NEXT: machine.load {{.*}} : vector<8xf16>
// CHECK-NEXT: machine.wait shared, 0
// CHECK-NEXT: machine.barrier
// CHECK-COUNT-2: machine.store
// CHECK: machine.barrier
// CHECK-COUNT-4: machine.load
// CHECK-COUNT-8: machine.mma "v_mfma_f32_16x16x16_f16"
// CHECK: scf.yield

wave.kernel @gemm attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"BM">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"BN">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"BK">>, #wave.wave<dim = "M", tile = <"BM/2">>, #wave.wave<dim = "N", tile = <"BN/2">>],
    subs = {BM = 64 : i64, BN = 64 : i64, BK = 32 : i64, M = 128 : i64, N = 128 : i64, K = 96 : i64},
    dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["N", "K"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %b : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    %2 = wave.mma %0, %1, %acc : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
