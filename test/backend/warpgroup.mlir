// RUN: soliton-opt %s > %t
// C[M, N] = A[M, K] · B[N, K]ᵀ with tile copies and asynchronous matrix instructions: 128 × 128 tile of one warpgroup, K in steps
// of 64, tiles in shared memory with the 128-byte swizzle. C has 1024 columns; K is a multiple of 64.

machine.kernel @warpgroup attributes {arg_names = ["a", "b", "c", "k", "map_a", "map_b"], wave_size = 32 : i64, waves = 4 : i64,
                                      shared_bytes = 33792 : i64, target = "sm_90a", maps = [
    #machine.tensor_map<argument = 0, element = f16, sizes = ["k", 1024], strides = ["2*k"], box = [64, 128], swizzle = 128>,
    #machine.tensor_map<argument = 1, element = f16, sizes = ["k", 1024], strides = ["2*k"], box = [64, 128], swizzle = 128>]} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %c: !machine.ptr, %k: i32, %map_a: !machine.map, %map_b: !machine.map):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c8 = arith.constant 8 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c512 = arith.constant 512 : i32
  %c4096 = arith.constant 4096 : i32
  %c16384 = arith.constant 16384 : i32
  %c32768 = arith.constant 32768 : i32
  %c65536 = arith.constant 65536 : i32
  %c524288 = arith.constant 524288 : i32
  %true = arith.constant true
  %lane = machine.id lane
  %wave = machine.id wave
  %wg0 = machine.id workgroup0
  %wg1 = machine.id workgroup1
  %lane_is_0 = arith.cmpi eq, %lane, %c0 : i32
  %wave_is_0 = arith.cmpi eq, %wave, %c0 : i32
  %leads = arith.andi %lane_is_0, %wave_is_0 : i1
  scf.if %leads {
    machine.mbarrier_init %c32768 {count = 1 : i64}
  }
  machine.barrier
  %row0 = arith.muli %wg0, %c128 : i32
  %col0 = arith.muli %wg1, %c128 : i32
  %zero = arith.constant dense<0.0> : vector<64xf32>
  %r:3 = scf.for %k0 = %c0 to %k step %c64 iter_args(%upper = %zero, %lower = %zero, %parity = %c0) -> (vector<64xf32>, vector<64xf32>, i32) : i32 {
    scf.if %leads {
      machine.mbarrier_arrive %c32768 {expect = 32768 : i64}
      machine.copy_tile %map_a [%k0, %row0], [%c0], %c32768
      machine.copy_tile %map_b [%k0, %col0], [%c16384], %c32768
    }
    machine.mbarrier_wait %c32768, %parity
    %b0 = arith.constant 4611686293305361408 : i64
    %a00 = arith.constant 4611686293305360384 : i64
    %d00 = machine.mma_async "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" lhs %a00, %b0, %upper : vector<64xf32>
    %a01 = arith.constant 4611686293305360896 : i64
    %d01 = machine.mma_async "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" lhs %a01, %b0, %lower : vector<64xf32>
    %b1 = arith.constant 4611686293305361410 : i64
    %a10 = arith.constant 4611686293305360386 : i64
    %d10 = machine.mma_async "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" lhs %a10, %b1, %d00 : vector<64xf32>
    %a11 = arith.constant 4611686293305360898 : i64
    %d11 = machine.mma_async "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" lhs %a11, %b1, %d01 : vector<64xf32>
    %b2 = arith.constant 4611686293305361412 : i64
    %a20 = arith.constant 4611686293305360388 : i64
    %d20 = machine.mma_async "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" lhs %a20, %b2, %d10 : vector<64xf32>
    %a21 = arith.constant 4611686293305360900 : i64
    %d21 = machine.mma_async "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" lhs %a21, %b2, %d11 : vector<64xf32>
    %b3 = arith.constant 4611686293305361414 : i64
    %a30 = arith.constant 4611686293305360390 : i64
    %d30 = machine.mma_async "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" lhs %a30, %b3, %d20 : vector<64xf32>
    %a31 = arith.constant 4611686293305360902 : i64
    %d31 = machine.mma_async "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" lhs %a31, %b3, %d21 : vector<64xf32>
    machine.commit mma
    %done:2 = machine.wait mma, 0 (%d30, %d31) : (vector<64xf32>, vector<64xf32>) -> (vector<64xf32>, vector<64xf32>)
    machine.barrier
    %next = arith.xori %parity, %c1 : i32
    scf.yield %done#0, %done#1, %next : vector<64xf32>, vector<64xf32>, i32
  }
  %start = arith.constant 0 : i64
  %bytes = arith.constant 4194304 : i64
  %to = machine.buffer %c[%start], %bytes
  %g = arith.shrui %lane, %c2 : i32
  %q = arith.andi %lane, %c3 : i32
  %lr = arith.muli %g, %c4096 : i32
  %lc = arith.muli %q, %c8 : i32
  %offset = arith.addi %lr, %lc : i32
  %ur = arith.muli %wg0, %c524288 : i32
  %uc = arith.muli %wg1, %c512 : i32
  %uw = arith.muli %wave, %c65536 : i32
  %u0 = arith.addi %ur, %uc : i32
  %uniform = arith.addi %u0, %uw : i32
  %s0_0 = vector.extract_strided_slice %r#0 {offsets = [0], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_0, %to [%offset, %uniform] {alignment = 8 : i64} : vector<2xf32>
  %s0_1 = vector.extract_strided_slice %r#0 {offsets = [2], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_1, %to [%offset, %uniform] {immediate = 32768 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_2 = vector.extract_strided_slice %r#0 {offsets = [4], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_2, %to [%offset, %uniform] {immediate = 32 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_3 = vector.extract_strided_slice %r#0 {offsets = [6], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_3, %to [%offset, %uniform] {immediate = 32800 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_4 = vector.extract_strided_slice %r#0 {offsets = [8], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_4, %to [%offset, %uniform] {immediate = 64 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_5 = vector.extract_strided_slice %r#0 {offsets = [10], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_5, %to [%offset, %uniform] {immediate = 32832 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_6 = vector.extract_strided_slice %r#0 {offsets = [12], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_6, %to [%offset, %uniform] {immediate = 96 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_7 = vector.extract_strided_slice %r#0 {offsets = [14], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_7, %to [%offset, %uniform] {immediate = 32864 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_8 = vector.extract_strided_slice %r#0 {offsets = [16], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_8, %to [%offset, %uniform] {immediate = 128 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_9 = vector.extract_strided_slice %r#0 {offsets = [18], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_9, %to [%offset, %uniform] {immediate = 32896 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_10 = vector.extract_strided_slice %r#0 {offsets = [20], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_10, %to [%offset, %uniform] {immediate = 160 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_11 = vector.extract_strided_slice %r#0 {offsets = [22], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_11, %to [%offset, %uniform] {immediate = 32928 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_12 = vector.extract_strided_slice %r#0 {offsets = [24], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_12, %to [%offset, %uniform] {immediate = 192 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_13 = vector.extract_strided_slice %r#0 {offsets = [26], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_13, %to [%offset, %uniform] {immediate = 32960 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_14 = vector.extract_strided_slice %r#0 {offsets = [28], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_14, %to [%offset, %uniform] {immediate = 224 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_15 = vector.extract_strided_slice %r#0 {offsets = [30], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_15, %to [%offset, %uniform] {immediate = 32992 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_16 = vector.extract_strided_slice %r#0 {offsets = [32], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_16, %to [%offset, %uniform] {immediate = 256 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_17 = vector.extract_strided_slice %r#0 {offsets = [34], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_17, %to [%offset, %uniform] {immediate = 33024 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_18 = vector.extract_strided_slice %r#0 {offsets = [36], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_18, %to [%offset, %uniform] {immediate = 288 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_19 = vector.extract_strided_slice %r#0 {offsets = [38], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_19, %to [%offset, %uniform] {immediate = 33056 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_20 = vector.extract_strided_slice %r#0 {offsets = [40], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_20, %to [%offset, %uniform] {immediate = 320 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_21 = vector.extract_strided_slice %r#0 {offsets = [42], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_21, %to [%offset, %uniform] {immediate = 33088 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_22 = vector.extract_strided_slice %r#0 {offsets = [44], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_22, %to [%offset, %uniform] {immediate = 352 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_23 = vector.extract_strided_slice %r#0 {offsets = [46], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_23, %to [%offset, %uniform] {immediate = 33120 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_24 = vector.extract_strided_slice %r#0 {offsets = [48], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_24, %to [%offset, %uniform] {immediate = 384 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_25 = vector.extract_strided_slice %r#0 {offsets = [50], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_25, %to [%offset, %uniform] {immediate = 33152 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_26 = vector.extract_strided_slice %r#0 {offsets = [52], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_26, %to [%offset, %uniform] {immediate = 416 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_27 = vector.extract_strided_slice %r#0 {offsets = [54], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_27, %to [%offset, %uniform] {immediate = 33184 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_28 = vector.extract_strided_slice %r#0 {offsets = [56], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_28, %to [%offset, %uniform] {immediate = 448 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_29 = vector.extract_strided_slice %r#0 {offsets = [58], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_29, %to [%offset, %uniform] {immediate = 33216 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_30 = vector.extract_strided_slice %r#0 {offsets = [60], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_30, %to [%offset, %uniform] {immediate = 480 : i64, alignment = 8 : i64} : vector<2xf32>
  %s0_31 = vector.extract_strided_slice %r#0 {offsets = [62], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s0_31, %to [%offset, %uniform] {immediate = 33248 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_0 = vector.extract_strided_slice %r#1 {offsets = [0], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_0, %to [%offset, %uniform] {immediate = 262144 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_1 = vector.extract_strided_slice %r#1 {offsets = [2], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_1, %to [%offset, %uniform] {immediate = 294912 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_2 = vector.extract_strided_slice %r#1 {offsets = [4], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_2, %to [%offset, %uniform] {immediate = 262176 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_3 = vector.extract_strided_slice %r#1 {offsets = [6], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_3, %to [%offset, %uniform] {immediate = 294944 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_4 = vector.extract_strided_slice %r#1 {offsets = [8], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_4, %to [%offset, %uniform] {immediate = 262208 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_5 = vector.extract_strided_slice %r#1 {offsets = [10], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_5, %to [%offset, %uniform] {immediate = 294976 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_6 = vector.extract_strided_slice %r#1 {offsets = [12], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_6, %to [%offset, %uniform] {immediate = 262240 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_7 = vector.extract_strided_slice %r#1 {offsets = [14], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_7, %to [%offset, %uniform] {immediate = 295008 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_8 = vector.extract_strided_slice %r#1 {offsets = [16], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_8, %to [%offset, %uniform] {immediate = 262272 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_9 = vector.extract_strided_slice %r#1 {offsets = [18], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_9, %to [%offset, %uniform] {immediate = 295040 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_10 = vector.extract_strided_slice %r#1 {offsets = [20], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_10, %to [%offset, %uniform] {immediate = 262304 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_11 = vector.extract_strided_slice %r#1 {offsets = [22], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_11, %to [%offset, %uniform] {immediate = 295072 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_12 = vector.extract_strided_slice %r#1 {offsets = [24], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_12, %to [%offset, %uniform] {immediate = 262336 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_13 = vector.extract_strided_slice %r#1 {offsets = [26], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_13, %to [%offset, %uniform] {immediate = 295104 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_14 = vector.extract_strided_slice %r#1 {offsets = [28], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_14, %to [%offset, %uniform] {immediate = 262368 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_15 = vector.extract_strided_slice %r#1 {offsets = [30], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_15, %to [%offset, %uniform] {immediate = 295136 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_16 = vector.extract_strided_slice %r#1 {offsets = [32], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_16, %to [%offset, %uniform] {immediate = 262400 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_17 = vector.extract_strided_slice %r#1 {offsets = [34], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_17, %to [%offset, %uniform] {immediate = 295168 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_18 = vector.extract_strided_slice %r#1 {offsets = [36], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_18, %to [%offset, %uniform] {immediate = 262432 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_19 = vector.extract_strided_slice %r#1 {offsets = [38], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_19, %to [%offset, %uniform] {immediate = 295200 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_20 = vector.extract_strided_slice %r#1 {offsets = [40], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_20, %to [%offset, %uniform] {immediate = 262464 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_21 = vector.extract_strided_slice %r#1 {offsets = [42], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_21, %to [%offset, %uniform] {immediate = 295232 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_22 = vector.extract_strided_slice %r#1 {offsets = [44], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_22, %to [%offset, %uniform] {immediate = 262496 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_23 = vector.extract_strided_slice %r#1 {offsets = [46], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_23, %to [%offset, %uniform] {immediate = 295264 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_24 = vector.extract_strided_slice %r#1 {offsets = [48], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_24, %to [%offset, %uniform] {immediate = 262528 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_25 = vector.extract_strided_slice %r#1 {offsets = [50], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_25, %to [%offset, %uniform] {immediate = 295296 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_26 = vector.extract_strided_slice %r#1 {offsets = [52], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_26, %to [%offset, %uniform] {immediate = 262560 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_27 = vector.extract_strided_slice %r#1 {offsets = [54], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_27, %to [%offset, %uniform] {immediate = 295328 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_28 = vector.extract_strided_slice %r#1 {offsets = [56], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_28, %to [%offset, %uniform] {immediate = 262592 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_29 = vector.extract_strided_slice %r#1 {offsets = [58], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_29, %to [%offset, %uniform] {immediate = 295360 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_30 = vector.extract_strided_slice %r#1 {offsets = [60], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_30, %to [%offset, %uniform] {immediate = 262624 : i64, alignment = 8 : i64} : vector<2xf32>
  %s1_31 = vector.extract_strided_slice %r#1 {offsets = [62], sizes = [2], strides = [1]} : vector<64xf32> to vector<2xf32>
  machine.store %s1_31, %to [%offset, %uniform] {immediate = 295392 : i64, alignment = 8 : i64} : vector<2xf32>
}
