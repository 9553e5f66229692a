// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies))' 2>&1 | FileCheck %s --check-prefix=USE
// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize))' 2>/dev/null | FileCheck %s --check-prefix=SYNC
// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize),wave-lower-to-machine)' 2>/dev/null | FileCheck %s --check-prefix=MACHINE

// What cannot be copied says why: rows of 77 elements are aligned to two bytes.
// USE: remark: this tile goes to shared memory through registers: 4 bytes that follow each other in the tile are not proven to do so in global memory, aligned and bounded alike [direct-copy-impossible]
// Rows of K are not contiguous where N is the fastest dimension of the memory.
// USE: remark: this tile goes to shared memory through registers: 4 bytes
// Four elements are too few for a wave.
// USE: remark: this tile goes to shared memory through registers: a wave cannot write 4 bytes a lane in one run of the tile

// A wave's instruction writes 1024 bytes: eight rows of 128, 16 bytes a lane; all waves together write 32 rows of each of the
// two parts of 128 rows that waves read. Masked along M, which is no multiple of the tile.
// USE-LABEL: wave.kernel @wide
// USE-NOT: wave.write %{{.*}}, shared
// USE: wave.copy %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} {elements_per_thread = 8 : i64, guards = [#wave.expr<"$index0 < 500">], starts = [#wave.expr<"256*$0">, #wave.expr<"64*$1">], tags = ["read_a"]} : !wave.tile<[M, K], bf16, "reg = (8 K 1)(4 M 32), lane = (8 K 8)(8 M 1), wave = (4 M 8)(2 M 128)">, <["500", "4096"], bf16, global>, <["M", "K"], bf16, shared>
// USE: wave.copy %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} {elements_per_thread = 8 : i64, guards = [], starts = [#wave.expr<"256*$0">, #wave.expr<"64*$1">]}

// The swizzle keeps 16 bytes together and leaves the 16-byte reads of all phases without a conflict; no padding.
// SYNC-LABEL: wave.kernel @wide
// SYNC-DAG: wave.allocate {offset = 0 : i64} : <["{{[MN]}}", "K"], bf16, shared, "[{{[MN]}} 256, K 64] swizzle(8, 1, 8)">
// SYNC-DAG: wave.allocate {offset = 32768 : i64} : <["{{[MN]}}", "K"], bf16, shared, "[{{[MN]}} 256, K 64] swizzle(8, 1, 8)">
// SYNC: wave.iterate
// SYNC: wave.copy {{.*}}origin = #wave.origin<op = [[A:[0-9]+]], role = copy_async, piece = {M = 0 : i64}, tags = ["read_a"]>{{.*}}: !wave.tile<[M, K], bf16, "reg = (8 K 1), lane = (8 K 8)(8 M 1), wave = (4 M 8)(2 M 128)">
// SYNC-NEXT: wave.copy {{.*}}origin = #wave.origin<op = [[A]], role = copy_async, piece = {M = 1 : i64}, tags = ["read_a"]>{{.*}}"reg = (8 K 1), lane = (8 K 8)(8 M 1), wave = (4 M 8)(2 M 128), offset = (M 32)">
// SYNC-COUNT-2: wave.copy
// The copies count as vm; everyone waits for their own, and for what they have read of the tile that comes next, before the barrier.
// SYNC-NEXT: wave.wait vm, 0
// SYNC-NEXT: wave.wait shared, 0
// SYNC-NEXT: wave.barrier
// SYNC-COUNT-4: wave.copy
// SYNC-COUNT-16: role = shared_load
// SYNC: wave.wait vm, 0
// SYNC-NEXT: wave.wait shared, 0
// SYNC-NEXT: wave.barrier
// SYNC-NOT: wave.barrier
// SYNC: wave.yield

// The destination is the wave's, the swizzle is in the lanes' global offsets.
// MACHINE-LABEL: machine.kernel @wide
// MACHINE: %[[LANE:.*]] = machine.id lane
// MACHINE: arith.xori
// MACHINE: scf.for
// MACHINE: machine.copy_async %[[BUFFER:.*]][%[[FROM:.*]], %[[STEP:.*]]], [%[[TO:.*]]] {bytes = 16 : i64, lane_scatter}
// MACHINE-NEXT: machine.copy_async %[[BUFFER]][%[[FROM]], %[[STEP]]], [%[[TO]]] {bytes = 16 : i64, destination_immediate = 4096 : i64, immediate = 262144 : i64, lane_scatter}
// MACHINE-NEXT: machine.copy_async
// Only the last rows may lie beyond the end.
// MACHINE: machine.copy_async %[[BUFFER]][%[[FROM]], %[[STEP]]], [%[[TO]]] mask %{{.*}} {bytes = 16 : i64, destination_immediate = 12288 : i64, immediate = 786432 : i64, lane_scatter}
// MACHINE: machine.wait vm, 0
wave.kernel @wide attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"256">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"256">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"128">>, #wave.wave<dim = "N", tile = <"64">>],
    subs = {M = 500 : i64, N = 4096 : i64, K = 4096 : i64}, dynamic = [], form = 0 : i32, target = "gfx950", direct_copies} {
^bb0(%a: !wave.memory<["M", "K"], bf16, shared>, %b: !wave.memory<["N", "K"], bf16, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a {tags = ["read_a"]} : !wave.memory<["M", "K"], bf16, shared> -> !wave.tile<[M, K], bf16>
    %1 = wave.read %b : !wave.memory<["N", "K"], bf16, shared> -> !wave.tile<[N, K], bf16>
    %2 = wave.mma %0, %1, %acc : !wave.tile<[M, K], bf16>, !wave.tile<[N, K], bf16>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// Four bytes a lane: a run is 256 bytes, four rows of 64.
// USE-LABEL: wave.kernel @narrow
// USE: wave.copy {{.*}} {elements_per_thread = 2 : i64, {{.*}}"reg = (2 K 1)(8 M 8), lane = (16 K 2)(4 M 1), wave = (2 M 4)(2 M 64)">
// USE: wave.copy
// SYNC-LABEL: wave.kernel @narrow
// SYNC-COUNT-2: shared, "[{{[MN]}} 128, K 32] swizzle(8, 1, 4)">
// SYNC-COUNT-16: wave.copy
// SYNC-NEXT: wave.wait vm, 0
// MACHINE-LABEL: machine.kernel @narrow
// MACHINE: machine.copy_async {{.*}}bytes = 4 : i64{{.*}}lane_scatter
wave.kernel @narrow attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"128">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"32">>, #wave.wave<dim = "M", tile = <"64">>, #wave.wave<dim = "N", tile = <"64">>,
                   #wave.hardware<mma = "F32_16x16x32_K8_F16">],
    subs = {M = 512 : i64, N = 512 : i64, K = 512 : i64}, dynamic = [], form = 0 : i32, target = "gfx942", direct_copies} {
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

// Groups are closed before they are waited for, and every lane has its own address.
// USE-LABEL: wave.kernel @groups
// USE: wave.copy {{.*}} {elements_per_thread = 8 : i64
// SYNC-LABEL: wave.kernel @groups
// SYNC-COUNT-2: wave.copy
// SYNC-NEXT: wave.commit cp_async
// SYNC-NEXT: wave.wait cp_async, 0
// SYNC-NEXT: wave.barrier
// SYNC: role = shared_load
// SYNC-NOT: wave.barrier
// MACHINE-LABEL: machine.kernel @groups
// MACHINE: machine.copy_async
// MACHINE-NOT: lane_scatter
// MACHINE: machine.commit cp_async
// MACHINE-NEXT: machine.wait cp_async, 0
// MACHINE-NEXT: machine.barrier
wave.kernel @groups attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 1>,
                   #wave.wave<dim = "N", tile = <"8">>],
    subs = {M = 128 : i64, N = 64 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies} {
^bb0(%a: !wave.memory<["M", "N"], f16, shared>, %b: !wave.memory<["M", "N"], f16, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f16, shared> -> !wave.tile<[M, N], f16>
  wave.write %0, %b : !wave.tile<[M, N], f16>, !wave.memory<["M", "N"], f16, global>
}

// Rows are copied by the waves that read them: each waits for its own, and for nobody else.
// SYNC-LABEL: wave.kernel @own
// SYNC-COUNT-2: wave.copy
// SYNC-NEXT: wave.commit cp_async
// SYNC-NEXT: wave.wait cp_async, 0
// SYNC-NOT: wave.barrier
// SYNC-LABEL: wave.kernel @impossible
wave.kernel @own attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 1>,
                   #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 128 : i64, N = 64 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies} {
^bb0(%a: !wave.memory<["M", "N"], f16, shared>, %b: !wave.memory<["M", "N"], f16, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f16, shared> -> !wave.tile<[M, N], f16>
  wave.write %0, %b : !wave.tile<[M, N], f16>, !wave.memory<["M", "N"], f16, global>
}

// USE-LABEL: wave.kernel @impossible
// USE-NOT: wave.copy
wave.kernel @impossible attributes {
    arg_names = ["a", "b", "c", "d", "e"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"32">>, #wave.wave<dim = "M", tile = <"32">>, #wave.wave<dim = "N", tile = <"32">>],
    subs = {M = 128 : i64, N = 128 : i64, K = 77 : i64, Q = 4 : i64}, dynamic = [], form = 0 : i32, target = "gfx942", direct_copies} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["K", "N"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>,
     %d: !wave.memory<["Q"], f32, shared>, %e: !wave.memory<["Q"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %b {indices = [#wave.expr<"$index1">, #wave.expr<"$index0">]} : !wave.memory<["K", "N"], f16, shared> -> !wave.tile<[N, K], f16>
    %2 = wave.mma %0, %1, %acc : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
  %3 = wave.read %d : !wave.memory<["Q"], f32, shared> -> !wave.tile<[Q], f32>
  wave.write %3, %e : !wave.tile<[Q], f32>, !wave.memory<["Q"], f32, global>
}
