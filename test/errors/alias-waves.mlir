// RUN: soliton-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols))'

// A dimension and its alias in one product, both split by the same waves.
wave.kernel @both attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 0>, #wave.wave<dim = "N", tile = <"32">>,
                   #wave.alias<source = "S", target = "N", sourceToTarget = <"$x/2">>],
    subs = {N = 128 : i64, S = 64 : i64, K = 16 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["N", "K"], f16, global>, %b: !wave.memory<["S", "K"], f16, global>, %c: !wave.memory<["N", "S"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[N, S], f32>
  %1 = wave.read %a : !wave.memory<["N", "K"], f16, global> -> !wave.tile<[N, K], f16>
  %2 = wave.read %b : !wave.memory<["S", "K"], f16, global> -> !wave.tile<[S, K], f16>
  // expected-error@+2 {{`N` and `S` are split by the same waves, and this `mma` has both [not-supported-here]}}
  // expected-note@+1 {{hint: give one of them no waves}}
  %3 = wave.mma %1, %2, %0 : !wave.tile<[N, K], f16>, !wave.tile<[S, K], f16>, !wave.tile<[N, S], f32>
  wave.write %3, %c : !wave.tile<[N, S], f32>, !wave.memory<["N", "S"], f32, global>
}

// -----

// One wave has all of both.
wave.kernel @alone attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 0>,
                   #wave.alias<source = "S", target = "N", sourceToTarget = <"$x/2">>],
    subs = {N = 128 : i64, S = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["N", "S"], f32, global>, %b: !wave.memory<["N", "S"], f32, global>):
  %0 = wave.read %a : !wave.memory<["N", "S"], f32, global> -> !wave.tile<[N, S], f32>
  wave.write %0, %b : !wave.tile<[N, S], f32>, !wave.memory<["N", "S"], f32, global>
}
