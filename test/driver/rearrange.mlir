// RUN: soliton-opt %s --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/gfx950/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null

// A row under two dimensions, of a tile that reaches beyond the end.
wave.kernel @heads attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"2">>],
    subs = {N = 24 : i64, H = 3 : i64, D = 8 : i64, P = 96 : i64}, dynamic = ["M"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], i32, global>, %b: !wave.memory<["M", "H", "D"], i32, global>, %c: !wave.memory<["P"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], i32, global> -> !wave.tile<[M, N], i32>
  %1 = wave.rearrange %0 : !wave.tile<[M, N], i32> -> !wave.tile<[M, H, D], i32>
  wave.write %1, %b : !wave.tile<[M, H, D], i32>, !wave.memory<["M", "H", "D"], i32, global>
  %2 = wave.rearrange %0 : !wave.tile<[M, N], i32> -> !wave.tile<[P], i32>
  %3 = wave.atomic max %2, %c : !wave.tile<[P], i32>, !wave.memory<["P"], i32, global> -> !wave.tile<[P], i32>
}

// -----

// Every other element from the third on, one column, and both behind each other, in a loop.
wave.kernel @parts attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"16">>],
    subs = {K = 48 : i64, H = 6 : i64, E = 10 : i64, F = 4 : i64}, dynamic = ["M"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f32, global>, %b: !wave.memory<["M", "E"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, E], f32>
  %r = wave.iterate "K" (%zero) : (!wave.tile<[M, E], f32>) -> !wave.tile<[M, E], f32> {
  ^bb0(%k: index, %acc: !wave.tile<[M, E], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f32, global> -> !wave.tile<[M, K], f32>
    %1 = wave.rearrange %0 {indices = [#wave.expr<"$index0">, #wave.expr<"2*$index1 + 3">]} : !wave.tile<[M, K], f32> -> !wave.tile<[M, H], f32>
    %2 = wave.rearrange %0[%k] {indices = [#wave.expr<"$index0">, #wave.expr<"$index1 + $0">]} : !wave.tile<[M, K], f32> -> !wave.tile<[M, F], f32>
    %3 = wave.concatenate %1, %2 along ["H", "F"] into "E" : (!wave.tile<[M, H], f32>, !wave.tile<[M, F], f32>) -> !wave.tile<[M, E], f32>
    %4 = wave.binary add %acc, %3 : !wave.tile<[M, E], f32>, !wave.tile<[M, E], f32> -> !wave.tile<[M, E], f32>
    wave.yield %4 : !wave.tile<[M, E], f32>
  }
  wave.write %r, %b : !wave.tile<[M, E], f32>, !wave.memory<["M", "E"], f32, global>
}
