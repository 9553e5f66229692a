// RUN: soliton-opt %s --check-with-emulator --split-input-file | FileCheck %s
// RUN: sed s/gfx950/gfx942/ %s | soliton-opt - --check-with-emulator --split-input-file | FileCheck %s --check-prefix=BEFORE
// RUN: sed s/gfx950/sm_90a/ %s | soliton-opt - --check-with-emulator --split-input-file | FileCheck %s --check-prefix=BEFORE

// Two f4 in a byte, two scales in a register, of which each instruction takes one. Elsewhere nothing is scaled by a
// matrix instruction.
// CHECK-LABEL: machine.kernel @mxfp4
// CHECK: machine.mma "v_mfma_scale_f32_16x16x128_f8f6f4" {{.*}} scaled {{.*}} bytes [0, 0] : vector<2xf8E8M0FNU>, vector<2xf8E8M0FNU> : vector<32xf4E2M1FN>, vector<32xf4E2M1FN>, vector<4xf32>
// CHECK: machine.mma "v_mfma_scale_f32_16x16x128_f8f6f4" {{.*}} scaled {{.*}} bytes [1, 1]
// BEFORE-LABEL: machine.kernel @mxfp4
// BEFORE-NOT: scaled
wave.kernel @mxfp4 attributes {arg_names = ["a", "s", "b", "t", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"32">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"256">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 45 : i64, N = 33 : i64, K = 352 : i64}, dynamic = [], form = 0 : i32, target = "gfx950"} {
^bb0(%a: !wave.memory<["M", "K/2"], i8, shared>, %s: !wave.memory<["M", "K/32"], i8, shared>, %b: !wave.memory<["N", "K/2"], i8, shared>,
     %t: !wave.memory<["N", "K/32"], i8, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K/2"], i8, shared> -> !wave.tile<[M, "K/2"], i8>
    %1 = wave.bitcast %0 : !wave.tile<[M, "K/2"], i8> -> !wave.tile<[M, K], f4E2M1FN>
    %2 = wave.read %b : !wave.memory<["N", "K/2"], i8, shared> -> !wave.tile<[N, "K/2"], i8>
    %3 = wave.bitcast %2 : !wave.tile<[N, "K/2"], i8> -> !wave.tile<[N, K], f4E2M1FN>
    %4 = wave.read %s : !wave.memory<["M", "K/32"], i8, shared> -> !wave.tile<[M, "K/32"], i8>
    %low = wave.fill 1 : i8 -> !wave.tile<[M, "K/32"], i8>
    %base = wave.fill 126 : i8 -> !wave.tile<[M, "K/32"], i8>
    %bit = wave.binary bit_and %4, %low : !wave.tile<[M, "K/32"], i8>, !wave.tile<[M, "K/32"], i8> -> !wave.tile<[M, "K/32"], i8>
    %exponent = wave.binary bit_or %bit, %base : !wave.tile<[M, "K/32"], i8>, !wave.tile<[M, "K/32"], i8> -> !wave.tile<[M, "K/32"], i8>
    %5 = wave.bitcast %exponent : !wave.tile<[M, "K/32"], i8> -> !wave.tile<[M, "K/32"], f8E8M0FNU>
    %6 = wave.read %t : !wave.memory<["N", "K/32"], i8, shared> -> !wave.tile<[N, "K/32"], i8>
    %lowT = wave.fill 1 : i8 -> !wave.tile<[N, "K/32"], i8>
    %baseT = wave.fill 126 : i8 -> !wave.tile<[N, "K/32"], i8>
    %bitT = wave.binary bit_and %6, %lowT : !wave.tile<[N, "K/32"], i8>, !wave.tile<[N, "K/32"], i8> -> !wave.tile<[N, "K/32"], i8>
    %exponentT = wave.binary bit_or %bitT, %baseT : !wave.tile<[N, "K/32"], i8>, !wave.tile<[N, "K/32"], i8> -> !wave.tile<[N, "K/32"], i8>
    %7 = wave.bitcast %exponentT : !wave.tile<[N, "K/32"], i8> -> !wave.tile<[N, "K/32"], f8E8M0FNU>
    %8 = wave.mma %1, %3, %acc scaled %5, %7 : !wave.tile<[M, "K/32"], f8E8M0FNU>, !wave.tile<[N, "K/32"], f8E8M0FNU> : !wave.tile<[M, K], f4E2M1FN>, !wave.tile<[N, K], f4E2M1FN>, !wave.tile<[M, N], f32>
    wave.yield %8 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// Bytes in chunks of 16 with f4: blocks are the instruction's own, whoever holds their elements. K is dynamic.
// CHECK-LABEL: machine.kernel @mixed
// CHECK: machine.mma "v_mfma_scale_f32_32x32x64_f8f6f4" {{.*}} : vector<32xf8E4M3FN>, vector<32xf4E2M1FN>, vector<16xf32>
// BEFORE-LABEL: machine.kernel @mixed
wave.kernel @mixed attributes {arg_names = ["a", "s", "b", "t", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"32">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.assume<predicate = <"mod(K, 32) == 0">>],
    subs = {M = 32 : i64, N = 40 : i64}, dynamic = ["K"], form = 0 : i32, target = "gfx950"} {
^bb0(%a: !wave.memory<["M", "K"], f8E4M3FN, shared>, %s: !wave.memory<["M", "K/32"], f8E8M0FNU, global>, %b: !wave.memory<["N", "K"], f4E2M1FN, shared>,
     %t: !wave.memory<["N", "K/32"], f8E8M0FNU, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f8E4M3FN, shared> -> !wave.tile<[M, K], f8E4M3FN>
    %1 = wave.read %b : !wave.memory<["N", "K"], f4E2M1FN, shared> -> !wave.tile<[N, K], f4E2M1FN>
    %2 = wave.read %s : !wave.memory<["M", "K/32"], f8E8M0FNU, global> -> !wave.tile<[M, "K/32"], f8E8M0FNU>
    %3 = wave.read %t : !wave.memory<["N", "K/32"], f8E8M0FNU, shared> -> !wave.tile<[N, "K/32"], f8E8M0FNU>
    %4 = wave.mma %0, %1, %acc scaled %2, %3 : !wave.tile<[M, "K/32"], f8E8M0FNU>, !wave.tile<[N, "K/32"], f8E8M0FNU> : !wave.tile<[M, K], f8E4M3FN>, !wave.tile<[N, K], f4E2M1FN>, !wave.tile<[M, N], f32>
    wave.yield %4 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// Elements become groups and groups elements, along a dimension that lanes share.
// CHECK-LABEL: machine.kernel @regrouped
// BEFORE-LABEL: machine.kernel @regrouped
wave.kernel @regrouped attributes {arg_names = ["a", "words", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 21 : i64, N = 152 : i64}, dynamic = [], form = 0 : i32, target = "gfx950"} {
^bb0(%a: !wave.memory<["M", "N"], i8, global>, %words: !wave.memory<["M", "N/4"], i32, global>, %b: !wave.memory<["M", "N/2"], i16, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], i8, global> -> !wave.tile<[M, N], i8>
  %1 = wave.bitcast %0 : !wave.tile<[M, N], i8> -> !wave.tile<[M, "N/4"], i32>
  %2 = wave.bitcast %1 : !wave.tile<[M, "N/4"], i32> -> !wave.tile<[M, "N/2"], i16>
  wave.write %1, %words : !wave.tile<[M, "N/4"], i32>, !wave.memory<["M", "N/4"], i32, global>
  wave.write %2, %b : !wave.tile<[M, "N/2"], i16>, !wave.memory<["M", "N/2"], i16, global>
}

// -----

// Four f6 in three bytes: 24 bytes a lane are what an instruction takes.
// CHECK-LABEL: machine.kernel @mxfp6
// CHECK: machine.mma "v_mfma_scale_f32_16x16x128_f8f6f4" {{.*}} : vector<32xf6E2M3FN>, vector<32xf6E3M2FN>, vector<4xf32>
// BEFORE-LABEL: machine.kernel @mxfp6
// BEFORE-NOT: scaled
wave.kernel @mxfp6 attributes {arg_names = ["a", "s", "b", "t", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"32">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"256">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 45 : i64, N = 33 : i64, K = 352 : i64}, dynamic = [], form = 0 : i32, target = "gfx950"} {
^bb0(%a: !wave.memory<["M", "3*(K/4)"], i8, shared>, %s: !wave.memory<["M", "K/32"], i8, shared>, %b: !wave.memory<["N", "3*(K/4)"], i8, shared>,
     %t: !wave.memory<["N", "K/32"], i8, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "3*(K/4)"], i8, shared> -> !wave.tile<[M, "3*(K/4)"], i8>
    %1 = wave.bitcast %0 : !wave.tile<[M, "3*(K/4)"], i8> -> !wave.tile<[M, K], f6E2M3FN>
    %2 = wave.read %b : !wave.memory<["N", "3*(K/4)"], i8, shared> -> !wave.tile<[N, "3*(K/4)"], i8>
    %3 = wave.bitcast %2 : !wave.tile<[N, "3*(K/4)"], i8> -> !wave.tile<[N, K], f6E3M2FN>
    %4 = wave.read %s : !wave.memory<["M", "K/32"], i8, shared> -> !wave.tile<[M, "K/32"], i8>
    %low = wave.fill 1 : i8 -> !wave.tile<[M, "K/32"], i8>
    %base = wave.fill 126 : i8 -> !wave.tile<[M, "K/32"], i8>
    %bit = wave.binary bit_and %4, %low : !wave.tile<[M, "K/32"], i8>, !wave.tile<[M, "K/32"], i8> -> !wave.tile<[M, "K/32"], i8>
    %exponent = wave.binary bit_or %bit, %base : !wave.tile<[M, "K/32"], i8>, !wave.tile<[M, "K/32"], i8> -> !wave.tile<[M, "K/32"], i8>
    %5 = wave.bitcast %exponent : !wave.tile<[M, "K/32"], i8> -> !wave.tile<[M, "K/32"], f8E8M0FNU>
    %6 = wave.read %t : !wave.memory<["N", "K/32"], i8, shared> -> !wave.tile<[N, "K/32"], i8>
    %lowT = wave.fill 1 : i8 -> !wave.tile<[N, "K/32"], i8>
    %baseT = wave.fill 126 : i8 -> !wave.tile<[N, "K/32"], i8>
    %bitT = wave.binary bit_and %6, %lowT : !wave.tile<[N, "K/32"], i8>, !wave.tile<[N, "K/32"], i8> -> !wave.tile<[N, "K/32"], i8>
    %exponentT = wave.binary bit_or %bitT, %baseT : !wave.tile<[N, "K/32"], i8>, !wave.tile<[N, "K/32"], i8> -> !wave.tile<[N, "K/32"], i8>
    %7 = wave.bitcast %exponentT : !wave.tile<[N, "K/32"], i8> -> !wave.tile<[N, "K/32"], f8E8M0FNU>
    %8 = wave.mma %1, %3, %acc scaled %5, %7 : !wave.tile<[M, "K/32"], f8E8M0FNU>, !wave.tile<[N, "K/32"], f8E8M0FNU> : !wave.tile<[M, K], f6E2M3FN>, !wave.tile<[N, K], f6E3M2FN>, !wave.tile<[M, N], f32>
    wave.yield %8 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
