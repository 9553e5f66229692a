// RUN: soliton-opt %s | soliton-opt > %t
// B[M, N] = 2·A[M, N] by tile copies in both directions: a workgroup copies its box of 64 columns and 32 rows to shared memory, with
// the 128-byte swizzle, doubles it there and copies it out. M is any, N a multiple of 8.

machine.kernel @tile_store attributes {arg_names = ["a", "b", "M", "N", "map_a", "map_b"], wave_size = 32 : i64, waves = 2 : i64,
                                       shared_bytes = 4112 : i64, target = "sm_90a", maps = [
    #machine.tensor_map<argument = 0, element = f16, sizes = ["N", "M"], strides = ["2*N"], box = [64, 32], swizzle = 128>,
    #machine.tensor_map<argument = 1, element = f16, sizes = ["N", "M"], strides = ["2*N"], box = [64, 32], swizzle = 128>]} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %m: i32, %n: i32, %map_a: !machine.map, %map_b: !machine.map):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %c1024 = arith.constant 1024 : i32
  %mbarrier = arith.constant 4096 : i32
  %lane = machine.id lane
  %wave = machine.id wave
  %wg0 = machine.id workgroup0
  %wg1 = machine.id workgroup1
  %column0 = arith.muli %wg0, %c64 : i32
  %row0 = arith.muli %wg1, %c32 : i32
  %one = machine.elect
  %wave_is_0 = arith.cmpi eq, %wave, %c0 : i32
  %leads = arith.andi %one, %wave_is_0 : i1
  scf.if %leads {
    machine.mbarrier_init %mbarrier {count = 1 : i64}
  }
  machine.barrier
  scf.if %leads {
    machine.mbarrier_arrive %mbarrier {expect = 4096 : i64}
    machine.copy_tile %map_a [%column0, %row0], [%c0], %mbarrier
  }
  machine.mbarrier_wait %mbarrier, %c0
  %w = arith.muli %wave, %c32 : i32
  %thread = arith.addi %w, %lane : i32
  %first = arith.muli %thread, %c16 : i32
  %two = arith.constant dense<2.0> : vector<8xf16>
  scf.for %i = %c0 to %c4 step %c1 : i32 {
    %i1024 = arith.muli %i, %c1024 : i32
    %at = arith.addi %first, %i1024 : i32
    %v = machine.load [%at] {alignment = 16 : i64} : vector<8xf16>
    %doubled = arith.mulf %v, %two : vector<8xf16>
    machine.store %doubled, [%at] {alignment = 16 : i64} : vector<8xf16>
  }
  machine.fence shared_async
  machine.barrier
  scf.if %leads {
    machine.store_tile %map_b [%column0, %row0], [%c0]
    machine.commit bulk
    machine.wait bulk, 0 {read}
  }
}
