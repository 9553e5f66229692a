// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize),wave-lower-to-machine)' | FileCheck %s
// RUN: soliton-opt %s --check-with-emulator -o /dev/null

// Two teams of four waves. The second one's arrival lets the first one begin. Which barrier is whose is computed once.
// CHECK-LABEL: machine.kernel @products
// CHECK: %[[TEAM:.*]] = arith.shrsi
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[TEAM]], %c1_i32
// CHECK-NEXT: scf.if %[[LAST]] {
// CHECK-NEXT: machine.barrier {arrives, id = 1 : i64, waves = 8 : i64}
// CHECK-NEXT: }
// CHECK: %[[BEHIND:.*]] = arith.addi %[[TEAM]], %c1_i32
// CHECK: %[[NEXT:.*]] = arith.andi %[[BEHIND]]
// CHECK: scf.for
// The barriers of all waves are in no turn.
// CHECK: machine.barrier{{$}}
// CHECK: machine.barrier{{$}}
// CHECK-NEXT: machine.barrier plus %[[TEAM]] {id = 1 : i64, waves = 8 : i64}
// CHECK-NOT: machine.barrier
// CHECK-COUNT-4: machine.mma_async
// CHECK-NEXT: machine.barrier plus %[[NEXT]] {arrives, id = 1 : i64, waves = 8 : i64}
// CHECK-NEXT: machine.commit mma
// CHECK-NEXT: machine.wait mma, 0
// CHECK: scf.yield
// CHECK-NOT: machine.barrier plus
// Behind the loop the first team takes what the second one's last turn left.
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: machine.barrier {id = 1 : i64, waves = 8 : i64}
// CHECK-NEXT: }
wave.kernel @products attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 250 : i64, N = 256 : i64, K = 200 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies, turns} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["N", "K"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %b : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    %2 = wave.mma %0, %1, %acc {kind = "F32_64x64x16_F16"} : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
