// RUN: soliton-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-place-shared))'

// More waves than a workgroup may have.
// expected-error@+2 {{a workgroup has 32 waves = 2048 threads, `gfx942` allows 1024 [too-many-threads]}}
// expected-note@+1 {{hint: use larger wave tiles or smaller workgroup tiles}}
wave.kernel @threads attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"2048">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 4096 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  wave.write %0, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// -----

// A dimension that nothing bounds at compile time.
wave.kernel @extent attributes {
    arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>],
    subs = {M = 4096 : i64}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  // expected-error@+2 {{has a dimension whose extent is not known [tile-extent-unknown]}}
  // expected-note@+1 {{hint: give every dimension of the tile a workgroup or tiling constraint}}
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  // expected-error@+2 {{has a dimension whose extent is not known [tile-extent-unknown]}}
  // expected-note@+1 {{hint: give every dimension of the tile a workgroup or tiling constraint}}
  wave.write %0, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// Two tiles of 64 KiB on a chip with 64 KiB.
// expected-error@+2 {{the kernel needs 131072 bytes of shared memory, `gfx942` has 65536 [shared-memory-exceeded]}}
// expected-note@+1 {{hint: use smaller tiles, or keep an operand out of shared memory}}
wave.kernel @shared attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"128">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"256">>, #wave.wave<dim = "M", tile = <"64">>, #wave.wave<dim = "N", tile = <"64">>],
    subs = {M = 128 : i64, N = 128 : i64, K = 256 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
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
