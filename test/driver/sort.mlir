// RUN: soliton-opt %s --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/gfx950/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null

// Rows in order with what they carry, beyond the end of the tensor too.
wave.kernel @rows attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.wave<dim = "N", tile = <"32">>],
    subs = {N = 90 : i64}, dynamic = ["M"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>, %c: !wave.memory<["M", "N"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.self_index "N" : !wave.tile<[N], i32>
  %2 = wave.broadcast %1 : !wave.tile<[N], i32> -> !wave.tile<[M, N], i32>
  %3, %4 = wave.sort descending %0 with %2 along "N" into "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M, N], i32>) -> (!wave.tile<[M, N], f32>, !wave.tile<[M, N], i32>)
  wave.write %3, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
  wave.write %4, %c : !wave.tile<[M, N], i32>, !wave.memory<["M", "N"], i32, global>
}

// -----

// The two least of sixteen leave the row one after the other; all ten of nine, and one that is not there.
wave.kernel @first attributes {arg_names = ["a", "d", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>],
    subs = {N = 16 : i64, K = 2 : i64, L = 9 : i64, T = 10 : i64}, dynamic = ["M"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f16, global>, %d: !wave.memory<["L", "M"], i16, global>, %b: !wave.memory<["M", "K"], f16, global>,
     %c: !wave.memory<["T", "M"], i16, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
  %1 = wave.sort ascending %0 along "N" into "K" : (!wave.tile<[M, N], f16>) -> !wave.tile<[M, K], f16>
  wave.write %1, %b : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, global>
  %2 = wave.read %d : !wave.memory<["L", "M"], i16, global> -> !wave.tile<[L, M], i16>
  %3 = wave.sort ascending %2 along "L" into "T" : (!wave.tile<[L, M], i16>) -> !wave.tile<[T, M], i16>
  wave.write %3, %c : !wave.tile<[T, M], i16>, !wave.memory<["T", "M"], i16, global>
}

// -----

// One row, all of it: the elements of a shared tile are looked at by a tile that lacks its last dimension.
wave.kernel @one attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"1">, workgroupDim = 0>],
    subs = {N = 12 : i64, M = 3 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.sort ascending %0 along "N" into "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32>
  wave.write %1, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// A workgroup whose part begins before the first element: what is not there comes before nothing.
wave.kernel @before attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 0, apply = <"32*$WG - 3">>],
    subs = {N = 61 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["N"], i32, global>, %b: !wave.memory<["N"], i32, global>):
  %0 = wave.read %a : !wave.memory<["N"], i32, global> -> !wave.tile<[N], i32>
  %1 = wave.sort descending %0 along "N" into "N" : (!wave.tile<[N], i32>) -> !wave.tile<[N], i32>
  wave.write %1, %b {indices = [#wave.expr<"$index0 + 3">]} : !wave.tile<[N], i32>, !wave.memory<["N"], i32, global>
}
