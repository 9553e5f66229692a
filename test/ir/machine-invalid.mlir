// RUN: soliton-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{parameter 0 has type 'index', expected `!machine.ptr`, an integer, a float or `!machine.map`}}
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

// -----

// expected-error@+1 {{a tensor map of 2 sizes, 0 strides and a box of 2 dimensions, expected one to five sizes, one stride less and as many extents}}
func.func @tensor_map_c1() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [64, 8], box = [64, 8]>} {
  return
}

// -----

// expected-error@+1 {{a tensor map of 6 sizes, 5 strides and a box of 6 dimensions}}
func.func @tensor_map_c1_rank() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [8, 1, 1, 1, 1, 1], strides = [16, 16, 16, 16, 16], box = [8, 1, 1, 1, 1, 1]>} {
  return
}

// -----

// expected-error@+1 {{a tensor map of elements of type 'i4', expected integers or floats of 8, 16, 32 or 64 bits}}
func.func @tensor_map_c2() attributes {map = #machine.tensor_map<argument = 0, element = i4, sizes = [64], box = [64]>} {
  return
}

// -----

// expected-error@+1 {{the box has 264 elements along a dimension, expected 1 to 256}}
func.func @tensor_map_c3() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [512], box = [264]>} {
  return
}

// -----

// expected-error@+1 {{a row of the box has 24 bytes, expected a multiple of 16}}
func.func @tensor_map_c3_row() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [512], box = [12]>} {
  return
}

// -----

// expected-error@+1 {{chunks change places within 256 bytes, expected 0, 32, 64 or 128}}
func.func @tensor_map_c4() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [512], box = [64], swizzle = 256>} {
  return
}

// -----

// expected-error@+1 {{a row of the box has 128 bytes, expected at most the 64 within which chunks change places}}
func.func @tensor_map_c4_row() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [512], box = [64], swizzle = 64>} {
  return
}

// -----

// expected-error@+1 {{the tensor has 5000000000 elements along a dimension, expected 0 to 2^32}}
func.func @tensor_map_c5() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [5000000000], box = [64]>} {
  return
}

// -----

// expected-error@+1 {{the tensor has a stride of 130 bytes, expected a multiple of 16 below 2^40}}
func.func @tensor_map_c5_stride() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [65, 8], strides = [130], box = [64, 8]>} {
  return
}

// -----

// expected-error@+1 {{the tensor begins at byte 8, expected a multiple of 16}}
func.func @tensor_map_c5_offset() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [64], box = [64], offset = 8>} {
  return
}

// -----

// expected-error@+1 {{found `stride`, expected `swizzle`, `offset`, `lower`, `upper` or `steps`}}
func.func @tensor_map_text() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [64], box = [64], stride = 8>} {
  return
}

// -----

// expected-error@+1 {{has 1 tensor maps, but parameter 1 has type '!machine.map', expected the last parameters to be as many `!machine.map`}}
machine.kernel @kernel_c3 attributes {arg_names = ["a", "K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = f16, sizes = ["K", 8], strides = ["2*K"], box = [64, 8]>]} {
^bb0(%a: !machine.ptr, %map: !machine.map, %k: i32):
}

// -----

// expected-error@+1 {{has 1 tensor maps, but parameter 1 has type 'i32'}}
machine.kernel @kernel_c3_count attributes {arg_names = ["a", "K"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = f16, sizes = ["K", 8], strides = ["2*K"], box = [64, 8]>]} {
^bb0(%a: !machine.ptr, %k: i32):
}

// -----

// expected-error@+1 {{has a tensor map of parameter 0, expected the number of a `!machine.ptr`}}
machine.kernel @kernel_c3_argument attributes {arg_names = ["K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = f16, sizes = ["K", 8], strides = ["2*K"], box = [64, 8]>]} {
^bb0(%k: i32, %map: !machine.map):
}

// -----

// expected-error@+1 {{has a tensor map that speaks of `K`, expected the name of an `i32` parameter}}
machine.kernel @kernel_c3_symbol attributes {arg_names = ["a", "M", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = f16, sizes = ["K", 8], strides = ["2*K"], box = [64, 8]>]} {
^bb0(%a: !machine.ptr, %m: i32, %map: !machine.map):
}

// -----

// expected-error@+1 {{a tensor map of 4 sizes, 3 strides and a box of 4 dimensions, expected one to five sizes, one stride less and as many extents, two with corners}}
func.func @tensor_map_c1_corners() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [64, 8, 8, 2], strides = [128, 1024, 8192], box = [64, 16, 1, 1], lower = [0, 0], upper = [0, 0], steps = [1, 1]>} {
  return
}

// -----

// expected-error@+1 {{the box has 1025 elements along a dimension, expected 1 to 1024}}
func.func @tensor_map_c3_pixels() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [64, 8, 8, 2], strides = [128, 1024, 8192], box = [64, 1025], lower = [0, 0], upper = [0, 0], steps = [1, 1]>} {
  return
}

// -----

// expected-error@+1 {{a tensor map of 4 sizes, 2 lower and 1 upper corners and 2 steps, expected three to five sizes, and of the others two less}}
func.func @tensor_map_c6() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [64, 8, 8, 2], strides = [128, 1024, 8192], box = [64, 16], lower = [0, 0], upper = [0], steps = [1, 1]>} {
  return
}

// -----

// expected-error@+1 {{a corner at -129, expected -128 to 127 where 2 dimensions have corners}}
func.func @tensor_map_c6_corner() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [64, 8, 8, 2], strides = [128, 1024, 8192], box = [64, 16], lower = [-129, 0], upper = [0, 0], steps = [1, 1]>} {
  return
}

// -----

// expected-error@+1 {{pixels have a step of 9, expected 1 to 8}}
func.func @tensor_map_c6_step() attributes {map = #machine.tensor_map<argument = 0, element = f16, sizes = [64, 8, 8, 2], strides = [128, 1024, 8192], box = [64, 16], lower = [0, 0], upper = [0, 0], steps = [1, 9]>} {
  return
}

// -----

machine.kernel @copy_tile_c3 attributes {arg_names = ["a", "K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = f16, sizes = [64, 8, 8, 2], strides = [128, 1024, 8192], box = [64, 16], lower = [0, 0], upper = [0, 0], steps = [1, 1]>]} {
^bb0(%a: !machine.ptr, %k: i32, %map: !machine.map):
  // expected-error@+1 {{has 0 offsets, expected one for each of the 2 corners of its map}}
  machine.copy_tile %map [%k, %k, %k, %k], [%k], %k
}

// -----

machine.kernel @store_tile_c3 attributes {arg_names = ["a", "K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = f16, sizes = [64, 8, 8, 2], strides = [128, 1024, 8192], box = [64, 16], lower = [0, 0], upper = [0, 0], steps = [1, 1]>]} {
^bb0(%a: !machine.ptr, %k: i32, %map: !machine.map):
  // expected-error@+1 {{has a map with corners, which only copies to shared memory take}}
  machine.store_tile %map [%k, %k, %k, %k], [%k]
}

// -----

machine.kernel @copy_tile_c1 attributes {arg_names = ["a", "K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = f16, sizes = ["K", 8], strides = ["2*K"], box = [64, 8]>]} {
^bb0(%a: !machine.ptr, %k: i32, %map: !machine.map):
  // expected-error@+1 {{has 1 coordinates, expected the 2 of its map}}
  machine.copy_tile %map [%k], [%k], %k
}

// -----

func.func @copy_tile_c1_parameter(%map: !machine.map, %x: i32) {
  // expected-error@+1 {{has a map that is no parameter of the kernel}}
  machine.copy_tile %map [%x], [%x], %x
  return
}

// -----

machine.kernel @copy_tile_c2 attributes {arg_names = ["a", "K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = i16, sizes = [64], box = [64]>]} {
^bb0(%a: !machine.ptr, %k: i32, %map: !machine.map):
  // expected-error@+1 {{speaks of other workgroups of its cluster, expected a kernel with a `cluster` of several}}
  machine.copy_tile %map [%k], [%k], %k multicast %k
}

// -----

machine.kernel @store_tile_c1 attributes {arg_names = ["a", "K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = i16, sizes = [64], box = [64]>]} {
^bb0(%a: !machine.ptr, %k: i32, %map: !machine.map):
  // expected-error@+1 {{has 2 coordinates, expected the 1 of its map}}
  machine.store_tile %map [%k, %k], [%k]
}

// -----

machine.kernel @store_tile_c2 attributes {arg_names = ["a", "K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = i16, sizes = [64], box = [64]>]} {
^bb0(%a: !machine.ptr, %k: i32, %map: !machine.map):
  // expected-error@+1 {{adds elements of type 'i16', expected integers of 32 or 64 bits, or floats of 16 or 32}}
  machine.store_tile %map [%k], [%k] {add}
}

// -----

machine.kernel @mbarrier_arrive_c1 attributes {arg_names = ["a", "K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = i16, sizes = [64], box = [64]>]} {
^bb0(%a: !machine.ptr, %k: i32, %map: !machine.map):
  // expected-error@+1 {{speaks of other workgroups of its cluster, expected a kernel with a `cluster` of several}}
  machine.mbarrier_arrive %k on %k
}

// -----

machine.kernel @cluster_arrive_c1 attributes {arg_names = ["a", "K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = i16, sizes = [64], box = [64]>]} {
^bb0(%a: !machine.ptr, %k: i32, %map: !machine.map):
  // expected-error@+1 {{speaks of other workgroups of its cluster, expected a kernel with a `cluster` of several}}
  machine.cluster_arrive
}

// -----

machine.kernel @cluster_wait_c1 attributes {arg_names = ["a", "K", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", maps = [#machine.tensor_map<argument = 0, element = i16, sizes = [64], box = [64]>]} {
^bb0(%a: !machine.ptr, %k: i32, %map: !machine.map):
  // expected-error@+1 {{speaks of other workgroups of its cluster, expected a kernel with a `cluster` of several}}
  machine.cluster_wait
}

// -----

// expected-error@+1 {{has clusters of 2, 0, 1 workgroups, expected three positive numbers}}
machine.kernel @kernel_c4 attributes {arg_names = [], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", cluster = array<i64: 2, 0, 1>} {
}

// -----

// expected-error@+1 {{calls `M` stable, expected the name of a `!machine.ptr`}}
machine.kernel @kernel_c5 attributes {arg_names = ["a", "M"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "sm_90a", stable = ["a", "M"]} {
^bb0(%a: !machine.ptr, %m: i32):
}

// -----

func.func @wait_c2() {
  // expected-error@+1 {{waits until `mma` has read, expected `bulk`}}
  machine.wait mma, 0 {read}
  return
}

// -----

func.func @load_c4(%buffer: !machine.buffer, %lane: i32) {
  // expected-error@+1 {{is of another workgroup's shared block, expected no buffer}}
  %0 = machine.load %buffer [%lane] {alignment = 4 : i64, workgroup = 1 : i64} : vector<1xf32>
  return
}

// -----

machine.kernel @load_c4_number attributes {arg_names = [], wave_size = 32 : i64, waves = 4 : i64, shared_bytes = 64 : i64, target = "sm_90a", cluster = array<i64: 2, 1, 1>} {
  %lane = machine.id lane
  // expected-error@+1 {{is of workgroup 2 of a cluster of 2}}
  %0 = machine.load [%lane] {alignment = 4 : i64, workgroup = 2 : i64} : vector<1xf32>
}

// -----

func.func @barrier_c1(%team: i32) {
  // expected-error@+1 {{has a number that is computed, expected how many `waves` it counts}}
  machine.barrier plus %team {id = 1 : i64}
  return
}

// -----

func.func @barrier_c1_arrives() {
  // expected-error@+1 {{is one at which waves only arrive, expected how many `waves` it counts}}
  machine.barrier {id = 1 : i64, arrives}
  return
}
