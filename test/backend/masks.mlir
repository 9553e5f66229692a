// RUN: soliton-opt %s > %t
// Masked accesses of every width, global and shared: the lanes from `n` on load zeros and store nothing. Sixty-four bytes a
// lane: what was loaded as 16, 8, 4, 2 and 1 bytes, then the same 16 bytes through shared memory.

machine.kernel @masks attributes {arg_names = ["a", "b", "n"], wave_size = 64 : i64, waves = 1 : i64, shared_bytes = 2048 : i64,
                                  target = "gfx942"} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %n: i32):
  %c16 = arith.constant 16 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %from = machine.buffer %a[%zero], %bytes
  %to = machine.buffer %b[%zero], %bytes
  %lane = machine.id lane
  %in = arith.muli %lane, %c16 : i32
  %out = arith.muli %lane, %c64 : i32
  %m = arith.cmpi slt, %lane, %n : i32
  %v16 = machine.load %from [%in] mask %m {alignment = 16 : i64} : vector<4xf32>
  %v8 = machine.load %from [%in] mask %m {immediate = 8 : i64, alignment = 8 : i64} : vector<4xbf16>
  %v4 = machine.load %from [%in] mask %m {immediate = 4 : i64, alignment = 4 : i64} : vector<1xf32>
  %v2 = machine.load %from [%in] mask %m {immediate = 2 : i64, alignment = 2 : i64} : vector<1xf16>
  %v1 = machine.load %from [%in] mask %m {immediate = 1 : i64, alignment = 1 : i64} : vector<1xi8>
  machine.store %v16, %to [%out] {alignment = 16 : i64} : vector<4xf32>
  machine.store %v8, %to [%out] {immediate = 16 : i64, alignment = 8 : i64} : vector<4xbf16>
  machine.store %v4, %to [%out] {immediate = 24 : i64, alignment = 4 : i64} : vector<1xf32>
  machine.store %v2, %to [%out] {immediate = 28 : i64, alignment = 2 : i64} : vector<1xf16>
  machine.store %v1, %to [%out] {immediate = 30 : i64, alignment = 1 : i64} : vector<1xi8>
  machine.store %v16, [%in] mask %m {immediate = 512 : i64, alignment = 16 : i64} : vector<4xf32>
  machine.wait shared, 0
  machine.barrier
  %s16 = machine.load [%in] mask %m {immediate = 512 : i64, alignment = 16 : i64} : vector<4xf32>
  %s4 = machine.load [%in] mask %m {immediate = 516 : i64, alignment = 4 : i64} : vector<1xf32>
  machine.store %s16, %to [%out] mask %m {immediate = 32 : i64, alignment = 16 : i64} : vector<4xf32>
  machine.store %s4, %to [%out] mask %m {immediate = 48 : i64, alignment = 4 : i64} : vector<1xf32>
  machine.store %v2, %to [%out] mask %m {immediate = 52 : i64, alignment = 2 : i64} : vector<1xf16>
  machine.store %v1, %to [%out] mask %m {immediate = 54 : i64, alignment = 1 : i64} : vector<1xi8>
}
