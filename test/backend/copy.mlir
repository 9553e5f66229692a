// RUN: soliton-opt %s > %t
// Sixteen bytes a lane from `a` to `b`, as far as `n` bytes reach.

machine.kernel @copy attributes {arg_names = ["a", "b", "n"], wave_size = 64 : i64, waves = 4 : i64, shared_bytes = 0 : i64,
                                 target = "gfx942"} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %n: i32):
  %c16 = arith.constant 16 : i32
  %c64 = arith.constant 64 : i32
  %c4096 = arith.constant 4096 : i32
  %zero = arith.constant 0 : i64
  %lane = machine.id lane {upper = 64 : i64}
  %wave = machine.id wave {upper = 4 : i64}
  %workgroup = machine.id workgroup0
  %bytes = arith.extsi %n : i32 to i64
  %from = machine.buffer %a[%zero], %bytes
  %to = machine.buffer %b[%zero], %bytes
  %0 = arith.muli %wave, %c64 : i32
  %thread = arith.addi %0, %lane : i32
  %offset = arith.muli %thread, %c16 : i32
  %start = arith.muli %workgroup, %c4096 : i32
  %end = arith.addi %offset, %start : i32
  %inside = arith.cmpi slt, %end, %n : i32
  %v = machine.load %from [%offset, %start] mask %inside {alignment = 16 : i64} : vector<8xf16>
  machine.store %v, %to [%offset, %start] mask %inside {alignment = 16 : i64} : vector<8xf16>
}
