// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-decompose-ops,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-place-shared,wave-expand-tiles))' | FileCheck %s
// RUN: sed -e s/gfx942/gfx950/ -e 's/K = 64/K = 128/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-decompose-ops,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-place-shared,wave-expand-tiles))' | FileCheck %s --check-prefix=NATIVE

// Two blocks, each of two instructions that begin at 0: their sum is scaled by both parts of both scales, then added.
// CHECK-LABEL: wave.kernel @scaled
// CHECK-COUNT-4: wave.read
// CHECK: %[[Z0:.*]] = wave.fill 0.000000e+00 : f32
// CHECK: %[[A:.*]] = wave.mma {{.*}}, %[[Z0]] {
// CHECK-NOT: scaled
// CHECK: %[[B:.*]] = wave.mma {{.*}}, %[[A]] {
// CHECK: %[[S:.*]] = wave.binary mul {{.*}} : <[M, N], f32
// CHECK: %[[BS:.*]] = wave.binary mul %[[B]], %[[S]]
// CHECK: %[[T:.*]] = wave.binary mul
// CHECK: %[[BST:.*]] = wave.binary mul %[[BS]], %[[T]]
// CHECK: %[[FIRST:.*]] = wave.binary add %{{.*}}, %[[BST]]
// CHECK: %[[Z1:.*]] = wave.fill 0.000000e+00 : f32
// CHECK: wave.mma {{.*}}, %[[Z1]] {
// CHECK: wave.mma
// CHECK: %[[SUM:.*]] = wave.binary add %[[FIRST]]
// CHECK-NOT: wave.mma
// CHECK: wave.write %[[SUM]]

// An instruction that scales takes the scales as they are.
// NATIVE-LABEL: wave.kernel @scaled
// NATIVE-NOT: wave.binary mul
// NATIVE: wave.mma {{.*}} scaled
wave.kernel @scaled attributes {arg_names = ["a", "s", "b", "t", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"TILE">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"TILE">, workgroupDim = 1>],
    subs = {TILE = 16 : i64, M = 16 : i64, N = 16 : i64, K = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f8E4M3FN, global>, %s: !wave.memory<["M", "K/32"], f8E8M0FNU, global>, %b: !wave.memory<["N", "K"], f8E4M3FN, global>,
     %t: !wave.memory<["N", "K/32"], f8E8M0FNU, global>, %c: !wave.memory<["M", "N"], f32, global>):
  %acc = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %0 = wave.read %a : !wave.memory<["M", "K"], f8E4M3FN, global> -> !wave.tile<[M, K], f8E4M3FN>
  %1 = wave.read %b : !wave.memory<["N", "K"], f8E4M3FN, global> -> !wave.tile<[N, K], f8E4M3FN>
  %2 = wave.read %s : !wave.memory<["M", "K/32"], f8E8M0FNU, global> -> !wave.tile<[M, "K/32"], f8E8M0FNU>
  %3 = wave.read %t : !wave.memory<["N", "K/32"], f8E8M0FNU, global> -> !wave.tile<[N, "K/32"], f8E8M0FNU>
  %4 = wave.mma %0, %1, %acc scaled %2, %3 : !wave.tile<[M, "K/32"], f8E8M0FNU>, !wave.tile<[N, "K/32"], f8E8M0FNU> : !wave.tile<[M, K], f8E4M3FN>, !wave.tile<[N, K], f8E4M3FN>, !wave.tile<[M, N], f32>
  wave.write %4, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
