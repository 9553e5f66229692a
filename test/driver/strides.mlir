// RUN: soliton-opt %s --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/gfx950/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null

// A product whose operands are slices of larger matrices, one of them transposed.
wave.kernel @gemm attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"32">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"32">>, #wave.wave<dim = "M", tile = <"16">>, #wave.hardware<>,
                   #wave.assume<predicate = <"mod(LDA, 8) == 0">>, #wave.assume<predicate = <"mod(LDB, 8) == 0">>],
    subs = {}, dynamic = ["K", "LDA", "LDB", "LDC", "M", "N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], f16, shared, strides = ["LDA", "1"]>, %b: !wave.memory<["N", "K"], f16, shared, strides = ["1", "LDB"]>,
     %c: !wave.memory<["M", "N"], f32, global, strides = ["LDC", "1"]>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %1 = wave.iterate "K" (%0) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb0(%acc: !wave.tile<[M, N], f32>):
    %2 = wave.read %a : !wave.memory<["M", "K"], f16, shared, strides = ["LDA", "1"]> -> !wave.tile<[M, K], f16>
    %3 = wave.read %b : !wave.memory<["N", "K"], f16, shared, strides = ["1", "LDB"]> -> !wave.tile<[N, K], f16>
    %4 = wave.mma %2, %3, %acc : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    wave.yield %4 : !wave.tile<[M, N], f32>
  }
  wave.write %1, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global, strides = ["LDC", "1"]>
}

// -----

// Every row is the same, every other place of the result is somebody else's.
wave.kernel @repeated attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.hardware<>], subs = {}, dynamic = ["LDB", "M", "N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], i16, global, strides = ["0", "1"]>, %b: !wave.memory<["M", "N"], i16, global, strides = ["LDB", "2"]>):
  %0 = wave.read %a : !wave.memory<["M", "N"], i16, global, strides = ["0", "1"]> -> !wave.tile<[M, N], i16>
  wave.write %0, %b : !wave.tile<[M, N], i16>, !wave.memory<["M", "N"], i16, global, strides = ["LDB", "2"]>
}
