// RUN: soliton-opt %s | soliton-opt > %t
// B[M, K] = A[M, K] by tile copies: a workgroup copies the box of 64 columns and 32 rows that it is about to shared memory, with the
// 128-byte swizzle, reads it from there and writes it out. M is any, K a multiple of 8.

machine.kernel @tile_copy attributes {arg_names = ["a", "b", "M", "K", "map"], wave_size = 32 : i64, waves = 2 : i64,
                                      shared_bytes = 4112 : i64, target = "sm_90a", maps = [
    #machine.tensor_map<argument = 0, element = f16, sizes = ["K", "M"], strides = ["2*K"], box = [64, 32], swizzle = 128>]} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %m: i32, %k: i32, %map: !machine.map):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c4 = arith.constant 4 : i32
  %mbarrier = arith.constant 4096 : i32
  %lane = machine.id lane
  %wave = machine.id wave
  %wg0 = machine.id workgroup0
  %wg1 = machine.id workgroup1
  %column0 = arith.muli %wg0, %c64 : i32
  %row0 = arith.muli %wg1, %c32 : i32
  %lane_is_0 = arith.cmpi eq, %lane, %c0 : i32
  %wave_is_0 = arith.cmpi eq, %wave, %c0 : i32
  %leads = arith.andi %lane_is_0, %wave_is_0 : i1
  scf.if %leads {
    machine.mbarrier_init %mbarrier {count = 1 : i64}
  }
  machine.barrier
  scf.if %leads {
    machine.mbarrier_arrive %mbarrier {expect = 4096 : i64}
    machine.copy_tile %map [%column0, %row0], [%c0], %mbarrier
  }
  machine.mbarrier_wait %mbarrier, %c0
  %rows = arith.extsi %m : i32 to i64
  %columns = arith.extsi %k : i32 to i64
  %elements = arith.muli %rows, %columns : i64
  %two = arith.constant 2 : i64
  %bytes = arith.muli %elements, %two : i64
  %zero = arith.constant 0 : i64
  %to = machine.buffer %b[%zero], %bytes
  %w = arith.muli %wave, %c32 : i32
  %thread = arith.addi %w, %lane : i32
  %chunk = arith.andi %thread, %c7 : i32
  %first = arith.shrui %thread, %c3 : i32
  %chunk8 = arith.muli %chunk, %c8 : i32
  %column = arith.addi %column0, %chunk8 : i32
  %in_columns = arith.cmpi slt, %column, %k : i32
  scf.for %i = %c0 to %c4 step %c1 : i32 {
    %i8 = arith.muli %i, %c8 : i32
    %r = arith.addi %i8, %first : i32
    %r7 = arith.andi %r, %c7 : i32
    %stored = arith.xori %chunk, %r7 : i32
    %stored16 = arith.muli %stored, %c16 : i32
    %r128 = arith.muli %r, %c128 : i32
    %from = arith.addi %r128, %stored16 : i32
    %v = machine.load [%from] {alignment = 16 : i64} : vector<8xf16>
    %row = arith.addi %row0, %r : i32
    %in_rows = arith.cmpi slt, %row, %m : i32
    %in = arith.andi %in_rows, %in_columns : i1
    %line = arith.muli %row, %k : i32
    %element = arith.addi %line, %column : i32
    %offset = arith.muli %element, %c2 : i32
    machine.store %v, %to [%offset] mask %in {alignment = 16 : i64} : vector<8xf16>
  }
}
