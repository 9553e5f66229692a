// RUN: soliton-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{parameter 0 has type 'index', expected `!machine.ptr`, an integer or a float}}
machine.kernel @kernel_c1 attributes {arg_names = ["a"], wave_size = 64 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "gfx942"} {
^bb0(%a: index):
}

// -----

// expected-error@+1 {{names 2 parameters, has 1}}
machine.kernel @kernel_c1_names attributes {arg_names = ["a", "b"], wave_size = 64 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "gfx942"} {
^bb0(%a: !machine.ptr):
}

// -----

// expected-error@+1 {{has 0 waves of 64 lanes and 0 shared bytes, expected positive numbers and no negative size}}
machine.kernel @kernel_c2 attributes {arg_names = [], wave_size = 64 : i64, waves = 0 : i64, shared_bytes = 0 : i64, target = "gfx942"} {
}

// -----

func.func @load_c1(%lane: i32) {
  // expected-error@+1 {{moves 'vector<3xf16>', expected 1, 2, 4, 8, 12 or 16 bytes}}
  %0 = machine.load [%lane] {alignment = 2 : i64} : vector<3xf16>
  return
}

// -----

func.func @load_c1_bits(%lane: i32) {
  // expected-error@+1 {{moves 'vector<3xi1>', expected 1, 2, 4, 8, 12 or 16 bytes}}
  %0 = machine.load [%lane] {alignment = 2 : i64} : vector<3xi1>
  return
}

// -----

func.func @load_c2(%lane: i32) {
  // expected-error@+1 {{has alignment 12, expected a power of two}}
  %0 = machine.load [%lane] {alignment = 12 : i64} : vector<4xf16>
  return
}

// -----

func.func @store_c1(%v: vector<5xf32>, %lane: i32) {
  // expected-error@+1 {{moves 'vector<5xf32>', expected 1, 2, 4, 8, 12 or 16 bytes}}
  machine.store %v, [%lane] {alignment = 4 : i64} : vector<5xf32>
  return
}

// -----

func.func @store_c2(%v: vector<4xf32>, %lane: i32) {
  // expected-error@+1 {{has alignment 0, expected a power of two}}
  machine.store %v, [%lane] {alignment = 0 : i64} : vector<4xf32>
  return
}

// -----

func.func @atomic_c1(%v: vector<1xf32>, %lane: i32) {
  // expected-error@+1 {{combines 'vector<1xf32>' into 'vector<1xi32>', expected one type}}
  %0 = machine.atomic add %v, [%lane] : vector<1xf32> -> vector<1xi32>
  return
}

// -----

func.func @copy_async_c1(%buffer: !machine.buffer, %lane: i32) {
  // expected-error@+1 {{copies 2 bytes, expected 4, 8, 12 or 16}}
  machine.copy_async %buffer [%lane], [%lane] {bytes = 2 : i64}
  return
}

// -----

func.func @load_c3(%far: i64) {
  // expected-error@+1 {{has a 64-bit lane offset into shared memory, expected 32 bits}}
  %0 = machine.load [%far : i64] {alignment = 4 : i64} : vector<1xf32>
  return
}

// -----

func.func @store_c3(%v: vector<1xf32>, %buffer: !machine.buffer, %far: i64, %uniform: i32) {
  // expected-error@+1 {{has a 64-bit lane offset and a uniform one, expected one of them}}
  machine.store %v, %buffer [%far : i64, %uniform] {alignment = 4 : i64} : vector<1xf32>
  return
}

// -----

func.func @atomic_c1_cas(%v: vector<1xi32>, %lane: i32) {
  // expected-error@+1 {{is `cas` without an expected value, which `cas` alone has}}
  %0 = machine.atomic cas %v, [%lane] : vector<1xi32> -> vector<1xi32>
  return
}

// -----

func.func @print_c1(%v: vector<2xi32>, %m: i32) {
  // expected-error@+1 {{prints 2 elements at 1 places of 1 dimensions, expected one element and a place for each dimension}}
  machine.print "x" %v at (%m) {dims = ["M"]} : vector<2xi32>
  return
}

// -----

func.func @atomic_c2(%v: vector<1xf32>, %far: i64) {
  // expected-error@+1 {{has a 64-bit lane offset into shared memory, expected 32 bits}}
  %0 = machine.atomic add %v, [%far : i64] : vector<1xf32> -> vector<1xf32>
  return
}

// -----

func.func @copy_async_c2(%buffer: !machine.buffer, %far: i64, %uniform: i32) {
  // expected-error@+1 {{has a 64-bit lane offset and a uniform one, expected one of them}}
  machine.copy_async %buffer [%far : i64, %uniform], [%uniform] {bytes = 4 : i64}
  return
}

// -----

func.func @shared_tile_c1(%address: i32) {
  // expected-error@+1 {{has chunks that change places within 16 bytes, expected 32, 64 or 128}}
  %0 = machine.shared_tile [%address] {leading = 16 : i64, stride = 1024 : i64, swizzle = 16 : i64, k_major}
  return
}

// -----

func.func @shared_tile_c1_distance(%address: i32) {
  // expected-error@+1 {{has a `stride` of 1000 bytes, expected a multiple of 16 below 2^18}}
  %0 = machine.shared_tile [%address] {leading = 16 : i64, stride = 1000 : i64, swizzle = 128 : i64}
  return
}

// -----

func.func @mma_async_c1(%a: vector<4xf16>, %d: i64, %acc: vector<4xf32>) {
  // expected-error@+1 {{has neither a register operand nor a descriptor as its left operand, expected one of them}}
  %0 = machine.mma_async "wgmma", %d, %acc : vector<4xf32>
  return
}

// -----

func.func @shuffle_c1(%v: vector<1xf32>) {
  // expected-error@+1 {{names its source by `bfly`, expected an `offset` and no index}}
  %0 = machine.shuffle bfly %v : vector<1xf32>
  return
}

// -----

func.func @shuffle_c1_index(%v: vector<1xf32>) {
  // expected-error@+1 {{names its source by `idx`, expected an index and no `offset`}}
  %0 = machine.shuffle idx %v {offset = 1 : i64} : vector<1xf32>
  return
}

// -----

func.func @convert_c1(%v: vector<4xf32>) {
  // expected-error@+1 {{turns 4 elements into 2, expected as many}}
  %0 = machine.convert %v : vector<4xf32> -> vector<2xf8E4M3FN>
  return
}

// -----

func.func @wait_c1(%v: vector<4xf32>) {
  // expected-error@+1 {{returns other types than those of its values}}
  %0 = machine.wait mma, 0 (%v) : (vector<4xf32>) -> vector<4xf16>
  return
}

// -----

func.func @mma_c1(%a: vector<32xf4E2M1FN>, %c: vector<4xf32>, %s: vector<2xf8E8M0FNU>) {
  // expected-error@+1 {{has 2 scales and bytes 2, 0, expected none, or one of four or fewer f8E8M0FNU for each factor}}
  %0 = machine.mma "v_mfma_scale_f32_16x16x128_f8f6f4" %a, %a, %c scaled %s, %s bytes [2, 0] : vector<2xf8E8M0FNU>, vector<2xf8E8M0FNU> : vector<32xf4E2M1FN>, vector<32xf4E2M1FN>, vector<4xf32>
  return
}
