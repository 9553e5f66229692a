// RUN: soliton-opt %s > %t
// b[0] += 1 in the first `n` lanes, b[1] = max(b[1], lane), b[2] += 0.5; then the old values of a shared counter, one a lane.

machine.kernel @atomic attributes {arg_names = ["b", "n"], wave_size = 64 : i64, waves = 1 : i64, shared_bytes = 16 : i64,
                                   target = "gfx942"} {
^bb0(%b: !machine.ptr, %n: i32):
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %one = arith.constant dense<1> : vector<1xi32>
  %none = arith.constant dense<0> : vector<1xi32>
  %half = arith.constant dense<0.5> : vector<1xf32>
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %to = machine.buffer %b[%zero], %bytes
  %lane = machine.id lane
  %m = arith.cmpi slt, %lane, %n : i32
  %v = vector.broadcast %lane : i32 to vector<1xi32>
  %o0 = machine.atomic add %one, %to [%c0] mask %m : vector<1xi32> -> vector<1xi32>
  %o1 = machine.atomic max %v, %to [%c0] {immediate = 4 : i64} : vector<1xi32> -> vector<1xi32>
  %o2 = machine.atomic add %half, %to [%c0] {immediate = 8 : i64} : vector<1xf32> -> vector<1xf32>
  machine.store %none, [%c0] {alignment = 4 : i64} : vector<1xi32>
  machine.wait shared, 0
  machine.barrier
  %o3 = machine.atomic add %one, [%c0] : vector<1xi32> -> vector<1xi32>
  %out = arith.muli %lane, %c4 : i32
  machine.store %o3, %to [%out] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xi32>
}
