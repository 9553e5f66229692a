// RUN: soliton-opt %s > %t
// Four numbers a lane to f8 of both kinds, saturated and not, and back. 48 bytes a lane: e4m3 saturated, e4m3, e5m2 saturated,
// e5m2, the first as f32, the third as f16, and eight bytes that stay.

machine.kernel @convert attributes {arg_names = ["a", "b"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64,
                                    target = "sm_90a"} {
^bb0(%a: !machine.ptr, %b: !machine.ptr):
  %c16 = arith.constant 16 : i32
  %c48 = arith.constant 48 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 1048576 : i64
  %more = arith.constant 3145728 : i64
  %lane = machine.id lane
  %workgroup = machine.id workgroup0
  %size = arith.constant 32 : i32
  %0 = arith.muli %workgroup, %size : i32
  %thread = arith.addi %0, %lane : i32
  %in = arith.muli %thread, %c16 : i32
  %out = arith.muli %thread, %c48 : i32
  %from = machine.buffer %a[%zero], %bytes
  %to = machine.buffer %b[%zero], %more
  %x = machine.load %from [%in] {alignment = 16 : i64} : vector<4xf32>
  %e4s = machine.convert %x {saturate} : vector<4xf32> -> vector<4xf8E4M3FN>
  %e4 = machine.convert %x : vector<4xf32> -> vector<4xf8E4M3FN>
  %e5s = machine.convert %x {saturate} : vector<4xf32> -> vector<4xf8E5M2>
  %e5 = machine.convert %x : vector<4xf32> -> vector<4xf8E5M2>
  %back = machine.convert %e4s : vector<4xf8E4M3FN> -> vector<4xf32>
  %halves = machine.convert %e5s : vector<4xf8E5M2> -> vector<4xf16>
  machine.store %e4s, %to [%out] {alignment = 4 : i64} : vector<4xf8E4M3FN>
  machine.store %e4, %to [%out] {immediate = 4 : i64, alignment = 4 : i64} : vector<4xf8E4M3FN>
  machine.store %e5s, %to [%out] {immediate = 8 : i64, alignment = 4 : i64} : vector<4xf8E5M2>
  machine.store %e5, %to [%out] {immediate = 12 : i64, alignment = 4 : i64} : vector<4xf8E5M2>
  machine.store %back, %to [%out] {immediate = 16 : i64, alignment = 16 : i64} : vector<4xf32>
  machine.store %halves, %to [%out] {immediate = 32 : i64, alignment = 8 : i64} : vector<4xf16>
}
