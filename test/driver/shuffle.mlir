// RUN: soliton-opt %s --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/gfx950/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/sm_90a/; s/L = 64/L = 32/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null

// Lanes of four waves exchange what they read, by every way to name another one; sources outside the row change nothing.
wave.kernel @modes attributes {arg_names = ["a", "i", "b", "c"],
    constraints = [#wave.workgroup<dim = "W", tile = <"4">, workgroupDim = 0>, #wave.wave<dim = "W", tile = <"1">>],
    subs = {W = 6 : i64, L = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["W", "L"], f32, global>, %i: !wave.memory<["W", "L"], i32, global>, %b: !wave.memory<["W", "L"], f32, global>,
     %c: !wave.memory<["W", "L"], f32, global>):
  %0 = wave.read %a : !wave.memory<["W", "L"], f32, global> -> !wave.tile<[W, L], f32>
  %1 = wave.read %i : !wave.memory<["W", "L"], i32, global> -> !wave.tile<[W, L], i32>
  %2 = wave.shuffle bfly %0 along "L" {offset = 5 : i64} : !wave.tile<[W, L], f32> -> !wave.tile<[W, L], f32>
  %3 = wave.shuffle up %2 along "L" {offset = 3 : i64} : !wave.tile<[W, L], f32> -> !wave.tile<[W, L], f32>
  %4 = wave.shuffle down %3 along "L" {offset = 1 : i64} : !wave.tile<[W, L], f32> -> !wave.tile<[W, L], f32>
  %5 = wave.shuffle idx %0 from %1 : !wave.tile<[W, L], i32> along "L" : !wave.tile<[W, L], f32> -> !wave.tile<[W, L], f32>
  wave.write %4, %b : !wave.tile<[W, L], f32>, !wave.memory<["W", "L"], f32, global>
  wave.write %5, %c : !wave.tile<[W, L], f32>, !wave.memory<["W", "L"], f32, global>
}

// -----

// Rows that no lane has one element of: the tile is dealt out anew, exchanged, and dealt back.
wave.kernel @converted attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"4">>],
    subs = {M = 13 : i64, L = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "L"], f16, global>, %b: !wave.memory<["M", "L"], f16, global>):
  %0 = wave.read %a {elements_per_thread = 8 : i64} : !wave.memory<["M", "L"], f16, global> -> !wave.tile<[M, L], f16>
  %1 = wave.shuffle bfly %0 along "L" {offset = 17 : i64} : !wave.tile<[M, L], f16> -> !wave.tile<[M, L], f16>
  wave.write %1, %b : !wave.tile<[M, L], f16>, !wave.memory<["M", "L"], f16, global>
}
