// RUN: soliton-opt %s --check-with-emulator -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/gfx942/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null

// How many running sums of a row are not above its share: another order of summation may count one more or less, and
// is right where noise does the same.
wave.kernel @counts attributes {arg_names = ["a", "share", "counts"],
    constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"1">>],
    subs = {M = 64 : i64, N = 1000 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f16, global>, %share: !wave.memory<["M"], f32, global>, %counts: !wave.memory<["M"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f16, global> -> !wave.tile<[M, N], f16>
  %1 = wave.cast %0 : !wave.tile<[M, N], f16> -> !wave.tile<[M, N], f32>
  %2 = wave.unary exp %1 : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  %3 = wave.reduce sum %2 along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  %4 = wave.read %share : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  %5 = wave.binary mul %3, %4 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  %6 = wave.scan sum %2 along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  %7 = wave.compare le %6, %5 : !wave.tile<[M, N], f32>, !wave.tile<[M], f32> -> !wave.tile<[M, N], i1>
  %8 = wave.cast %7 : !wave.tile<[M, N], i1> -> !wave.tile<[M, N], i32>
  %9 = wave.reduce sum %8 along "N" : (!wave.tile<[M, N], i32>) -> !wave.tile<[M], i32>
  wave.write %9, %counts : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global>
}
