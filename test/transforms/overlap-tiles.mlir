// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-store-in-boxes,wave-place-shared,wave-expand-tiles,wave-synchronize))' | FileCheck %s --check-prefix=WAVE
// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-store-in-boxes,wave-place-shared,wave-expand-tiles,wave-synchronize),wave-lower-to-machine)' | FileCheck %s --check-prefix=MACHINE
// RUN: soliton-opt %s --check-with-emulator -o /dev/null

// The next tile's factors may come when every wave has released those of the last one, which is behind its product. Two teams of four waves meet
// by themselves: in front of their results, until those of the tile before have left, and behind them.
// WAVE-LABEL: wave.kernel @product
// WAVE: wave.await 0
// WAVE-NEXT: wave.copy %arg0
// WAVE-NEXT: wave.copy %arg1
// WAVE-NEXT: wave.commit boxes
// WAVE: wave.wait boxes, 0
// WAVE-NOT: wave.barrier
// WAVE: wave.mma
// WAVE: wave.commit mma
// WAVE-NEXT: wave.wait mma, 0
// WAVE-NEXT: wave.wait boxes, 0
// WAVE-NEXT: wave.release
// WAVE: wave.wait bulk, 0
// WAVE-NEXT: wave.barrier {team = 4 : i64}
// WAVE-NEXT: wave.write
// WAVE: wave.barrier {publishes, team = 4 : i64}
// WAVE-NEXT: wave.copy_out {{.*}}"reg = (32 N 1)(64 M 1), lane = (32 _ 0), wave = (4 _ 0)(2 M 64)">
// WAVE-NEXT: wave.copy_out {{.*}}"reg = (32 N 1)(64 M 1), lane = (32 _ 0), wave = (4 _ 0)(2 M 64), offset = (N 32)">
// WAVE-NEXT: wave.commit bulk
// WAVE-NEXT: }

// MACHINE-LABEL: machine.kernel @product
// MACHINE-SAME: box = [32, 64], swizzle = 128>
// The wave that copies begins with the first tile, before all meet for the only time.
// MACHINE: machine.registers 40
// MACHINE: machine.copy_tile
// MACHINE: machine.barrier
// MACHINE: scf.for
// Behind each tile it awaits a release that it has not looked at, and copies the next one.
// MACHINE: arith.cmpi sge
// MACHINE-NEXT: scf.if
// MACHINE: machine.mbarrier_wait
// MACHINE: machine.copy_tile
// MACHINE-NOT: machine.barrier
// MACHINE: scf.yield
// MACHINE: machine.registers 232
// MACHINE: machine.barrier
// MACHINE: scf.for
// MACHINE-NOT: machine.barrier{{$}}
// MACHINE: machine.mma_async
// MACHINE: machine.mbarrier_arrive
// MACHINE: machine.wait bulk, 0 {read}
// MACHINE: machine.barrier {id = 1 : i64, waves = 4 : i64}
// MACHINE: machine.barrier {id = 2 : i64, waves = 4 : i64}
// MACHINE: machine.fence shared_async
// MACHINE: machine.barrier {id = 1 : i64, waves = 4 : i64}
// MACHINE: machine.barrier {id = 2 : i64, waves = 4 : i64}
// The first lane of each team's first wave.
// MACHINE: scf.if
// MACHINE: machine.store_tile
// MACHINE: machine.store_tile
// MACHINE: machine.commit bulk
// Behind the last tile:
// MACHINE: }
// MACHINE: machine.wait bulk, 0 {read}
// MACHINE-NEXT: }
wave.kernel @product attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 250 : i64, N = 256 : i64, K = 64 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies, staged_writes, writes_in_boxes,
    persistent = 2 : i64, service_waves = 4 : i64, overlap_tiles} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["N", "K"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %0 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
  %1 = wave.read %b : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
  %2 = wave.mma %0, %1, %zero {kind = "F32_64x64x16_F16"} : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
  wave.write %2, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
