// RUN: soliton-opt %s --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/gfx950/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null

// Running sums of rows that lanes share, and rounds of them: registers below lanes, registers above them.
wave.kernel @rounds attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"1024">, workgroupDim = 1>],
    subs = {N = 700 : i64}, dynamic = ["M"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], i32, global>, %b: !wave.memory<["M", "N"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], i32, global> -> !wave.tile<[M, N], i32>
  %1 = wave.scan sum %0 along "N" : !wave.tile<[M, N], i32> -> !wave.tile<[M, N], i32>
  wave.write %1, %b : !wave.tile<[M, N], i32>, !wave.memory<["M", "N"], i32, global>
}

// -----

// Rows that waves share, from a value of their own, and columns.
wave.kernel @waves attributes {arg_names = ["a", "i", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"256">, workgroupDim = 1>,
                   #wave.wave<dim = "N", tile = <"64">>], subs = {}, dynamic = ["M", "N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %i: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>,
     %c: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.read %i : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  %2 = wave.scan max %0 init %1 : !wave.tile<[M], f32> along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  %3 = wave.scan sum %0 along "M" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  wave.write %2, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
  wave.write %3, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// Extents that are no powers of two, and a running sum of what a matrix instruction leaves behind.
wave.kernel @odd attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"6">, workgroupDim = 0>], subs = {M = 11 : i64, N = 33 : i64}, dynamic = [],
    form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], i32, global>, %b: !wave.memory<["M", "N"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], i32, global> -> !wave.tile<[M, N], i32>
  %1 = wave.scan sum %0 along "M" : !wave.tile<[M, N], i32> -> !wave.tile<[M, N], i32>
  %2 = wave.scan min %1 along "N" : !wave.tile<[M, N], i32> -> !wave.tile<[M, N], i32>
  wave.write %2, %b : !wave.tile<[M, N], i32>, !wave.memory<["M", "N"], i32, global>
}

// -----

wave.kernel @product attributes {arg_names = ["a", "b", "c", "d"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"16">>, #wave.wave<dim = "M", tile = <"32">>, #wave.wave<dim = "N", tile = <"32">>],
    subs = {M = 64 : i64, N = 64 : i64, K = 32 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared>, %b: !wave.memory<["N", "K"], f16, shared>, %c: !wave.memory<["M", "N"], f32, global>,
     %d: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %r = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb0(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %b : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    %2 = wave.mma %0, %1, %acc : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  %3 = wave.scan sum %r along "M" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  %4 = wave.scan sum %r along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  wave.write %3, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
  wave.write %4, %d : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// Where the largest of a row is that waves share, and truths of rows.
wave.kernel @extremes attributes {arg_names = ["a", "v", "i", "t"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"256">, workgroupDim = 1>,
                   #wave.wave<dim = "N", tile = <"128">>], subs = {}, dynamic = ["M", "N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %v: !wave.memory<["M"], f32, global>, %i: !wave.memory<["M"], i32, global>,
     %t: !wave.memory<["M"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1, %2 = wave.arg_reduce max %0 along "N" : (!wave.tile<[M, N], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], i32>)
  %3 = wave.compare gt %0, %1 : !wave.tile<[M, N], f32>, !wave.tile<[M], f32> -> !wave.tile<[M, N], i1>
  %4 = wave.reduce any %3 along "N" : (!wave.tile<[M, N], i1>) -> !wave.tile<[M], i1>
  %5 = wave.compare le %0, %1 : !wave.tile<[M, N], f32>, !wave.tile<[M], f32> -> !wave.tile<[M, N], i1>
  %6 = wave.reduce all %5 along "N" : (!wave.tile<[M, N], i1>) -> !wave.tile<[M], i1>
  %7 = wave.binary bit_or %4, %6 : !wave.tile<[M], i1>, !wave.tile<[M], i1> -> !wave.tile<[M], i1>
  %8 = wave.cast %7 : !wave.tile<[M], i1> -> !wave.tile<[M], i32>
  wave.write %1, %v : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
  wave.write %2, %i : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global>
  wave.write %8, %t : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global>
}
