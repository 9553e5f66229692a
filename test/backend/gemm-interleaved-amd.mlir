// RUN: soliton-opt %s > %t
// GEMM of 128 × 128 × 32 a workgroup, four waves: the global loads of the next step and the later shared reads stand
// between the matrix instructions, each in the place that a schedule gave it.
machine.kernel @gemm attributes {keep_order, arg_names = ["a", "b", "c"], shared_bytes = 16384 : i64, target = "gfx942", wave_size = 64 : i64, waves = 4 : i64} {
^bb0(%arg0: !machine.ptr, %arg1: !machine.ptr, %arg2: !machine.ptr):
  %0 = machine.id lane {upper = 64 : i64}
  %1 = machine.id wave {upper = 4 : i64}
  %2 = machine.id workgroup0 {upper = 32 : i64}
  %3 = machine.id workgroup1 {upper = 32 : i64}
  %cst = arith.constant dense<0.000000e+00> : vector<4xf32>
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c128_i32 = arith.constant 128 : i32
  %c1048576_i64 = arith.constant 1048576 : i64
  %4 = arith.extsi %2 : i32 to i64
  %5 = arith.muli %c1048576_i64, %4 : i64
  %c-1048576_i64 = arith.constant -1048576 : i64
  %6 = arith.muli %c-1048576_i64, %4 : i64
  %c33554432_i64 = arith.constant 33554432 : i64
  %7 = arith.addi %6, %c33554432_i64 : i64
  %8 = machine.buffer %arg0[%5], %7
  %c8192_i32 = arith.constant 8192 : i32
  %c2_i32 = arith.constant 2 : i32
  %9 = arith.shrsi %0, %c2_i32 : i32
  %10 = arith.muli %c8192_i32, %9 : i32
  %c16_i32 = arith.constant 16 : i32
  %c3_i32 = arith.constant 3 : i32
  %11 = arith.andi %0, %c3_i32 : i32
  %12 = arith.muli %c16_i32, %11 : i32
  %13 = arith.addi %10, %12 : i32
  %c131072_i32 = arith.constant 131072 : i32
  %14 = arith.muli %c131072_i32, %1 : i32
  %c64_i32 = arith.constant 64 : i32
  %15 = arith.extsi %3 : i32 to i64
  %16 = arith.muli %c1048576_i64, %15 : i64
  %17 = arith.muli %c-1048576_i64, %15 : i64
  %18 = arith.addi %17, %c33554432_i64 : i64
  %19 = machine.buffer %arg1[%16], %18
  %c1024_i32 = arith.constant 1024 : i32
  %20 = arith.muli %c1024_i32, %1 : i32
  %21 = arith.muli %c64_i32, %9 : i32
  %22 = arith.addi %20, %21 : i32
  %23 = arith.andi %9, %c3_i32 : i32
  %24 = arith.xori %11, %23 : i32
  %25 = arith.muli %c16_i32, %24 : i32
  %26 = arith.addi %22, %25 : i32
  %c15_i32 = arith.constant 15 : i32
  %27 = arith.andi %0, %c15_i32 : i32
  %28 = arith.muli %c64_i32, %27 : i32
  %c4096_i32 = arith.constant 4096 : i32
  %29 = arith.andi %1, %c1_i32 : i32
  %30 = arith.muli %c4096_i32, %29 : i32
  %31 = arith.addi %28, %30 : i32
  %c4_i32 = arith.constant 4 : i32
  %32 = arith.shrsi %0, %c4_i32 : i32
  %33 = arith.xori %32, %11 : i32
  %34 = arith.muli %c16_i32, %33 : i32
  %35 = arith.addi %31, %34 : i32
  %36 = arith.shrsi %1, %c1_i32 : i32
  %37 = arith.muli %c4096_i32, %36 : i32
  %38 = arith.addi %37, %28 : i32
  %39 = arith.addi %38, %34 : i32
  %c127x_i32 = arith.constant 127 : i32
  %c1x_i32 = arith.constant 1 : i32
  %x119_p = arith.muli %c64_i32, %c0_i32 : i32
  %x120_p = arith.addi %14, %x119_p : i32
  %x121_p = machine.load %8[%13, %x120_p] {alignment = 16 : i64} : vector<8xf16>
  %x122_p = machine.load %8[%13, %x120_p] {alignment = 16 : i64, immediate = 524288 : i64} : vector<8xf16>
  %x123_p = machine.load %19[%13, %x120_p] {alignment = 16 : i64} : vector<8xf16>
  %x124_p = machine.load %19[%13, %x120_p] {alignment = 16 : i64, immediate = 524288 : i64} : vector<8xf16>
  %r40x:20 = scf.for %arg3 = %c0_i32 to %c127x_i32 step %c1_i32 iter_args(%car0 = %x121_p, %car1 = %x122_p, %car2 = %x123_p, %car3 = %x124_p, %arg4 = %cst, %arg5 = %cst, %arg6 = %cst, %arg7 = %cst, %arg8 = %cst, %arg9 = %cst, %arg10 = %cst, %arg11 = %cst, %arg12 = %cst, %arg13 = %cst, %arg14 = %cst, %arg15 = %cst, %arg16 = %cst, %arg17 = %cst, %arg18 = %cst, %arg19 = %cst) -> (vector<8xf16>, vector<8xf16>, vector<8xf16>, vector<8xf16>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)  : i32 {
    %nx = arith.addi %arg3, %c1x_i32 : i32
    machine.wait shared, 0
    machine.barrier
    machine.store %car0,[%26] {alignment = 16 : i64, immediate = 8192 : i64} : vector<8xf16>
    machine.store %car1,[%26] {alignment = 16 : i64, immediate = 12288 : i64} : vector<8xf16>
    machine.store %car2,[%26] {alignment = 16 : i64} : vector<8xf16>
    machine.store %car3,[%26] {alignment = 16 : i64, immediate = 4096 : i64} : vector<8xf16>
    machine.wait shared, 0
    machine.barrier
    %119 = arith.muli %c64_i32, %nx : i32
    %120 = arith.addi %14, %119 : i32
    %125 = machine.load[%35] {alignment = 16 : i64, immediate = 8192 : i64} : vector<8xf16>
    %126 = machine.load[%35] {alignment = 16 : i64, immediate = 9216 : i64} : vector<8xf16>
    %129 = machine.load[%39] {alignment = 16 : i64} : vector<8xf16>
    %133 = vector.extract_strided_slice %125 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %134 = vector.extract_strided_slice %129 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %135 = machine.mma "v_mfma_f32_16x16x16_f16" %133, %134, %arg4 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %136 = vector.extract_strided_slice %125 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %137 = vector.extract_strided_slice %129 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %138 = machine.mma "v_mfma_f32_16x16x16_f16" %136, %137, %135 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %139 = vector.extract_strided_slice %126 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %140 = machine.mma "v_mfma_f32_16x16x16_f16" %139, %134, %arg5 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %127 = machine.load[%35] {alignment = 16 : i64, immediate = 10240 : i64} : vector<8xf16>
    %141 = vector.extract_strided_slice %126 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %142 = machine.mma "v_mfma_f32_16x16x16_f16" %141, %137, %140 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %143 = vector.extract_strided_slice %127 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %144 = machine.mma "v_mfma_f32_16x16x16_f16" %143, %134, %arg6 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %145 = vector.extract_strided_slice %127 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %146 = machine.mma "v_mfma_f32_16x16x16_f16" %145, %137, %144 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %128 = machine.load[%35] {alignment = 16 : i64, immediate = 11264 : i64} : vector<8xf16>
    %147 = vector.extract_strided_slice %128 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %148 = machine.mma "v_mfma_f32_16x16x16_f16" %147, %134, %arg7 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %149 = vector.extract_strided_slice %128 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %150 = machine.mma "v_mfma_f32_16x16x16_f16" %149, %137, %148 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %130 = machine.load[%39] {alignment = 16 : i64, immediate = 1024 : i64} : vector<8xf16>
    %151 = vector.extract_strided_slice %130 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %152 = machine.mma "v_mfma_f32_16x16x16_f16" %133, %151, %arg8 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %131 = machine.load[%39] {alignment = 16 : i64, immediate = 2048 : i64} : vector<8xf16>
    %153 = vector.extract_strided_slice %130 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %154 = machine.mma "v_mfma_f32_16x16x16_f16" %136, %153, %152 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %155 = machine.mma "v_mfma_f32_16x16x16_f16" %139, %151, %arg9 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %156 = machine.mma "v_mfma_f32_16x16x16_f16" %141, %153, %155 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %132 = machine.load[%39] {alignment = 16 : i64, immediate = 3072 : i64} : vector<8xf16>
    %157 = machine.mma "v_mfma_f32_16x16x16_f16" %143, %151, %arg10 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %158 = machine.mma "v_mfma_f32_16x16x16_f16" %145, %153, %157 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %159 = machine.mma "v_mfma_f32_16x16x16_f16" %147, %151, %arg11 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %121 = machine.load %8[%13, %120] {alignment = 16 : i64} : vector<8xf16>
    %160 = machine.mma "v_mfma_f32_16x16x16_f16" %149, %153, %159 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %161 = vector.extract_strided_slice %131 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %162 = machine.mma "v_mfma_f32_16x16x16_f16" %133, %161, %arg12 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %163 = vector.extract_strided_slice %131 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %164 = machine.mma "v_mfma_f32_16x16x16_f16" %136, %163, %162 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %122 = machine.load %8[%13, %120] {alignment = 16 : i64, immediate = 524288 : i64} : vector<8xf16>
    %165 = machine.mma "v_mfma_f32_16x16x16_f16" %139, %161, %arg13 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %166 = machine.mma "v_mfma_f32_16x16x16_f16" %141, %163, %165 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %167 = machine.mma "v_mfma_f32_16x16x16_f16" %143, %161, %arg14 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %123 = machine.load %19[%13, %120] {alignment = 16 : i64} : vector<8xf16>
    %168 = machine.mma "v_mfma_f32_16x16x16_f16" %145, %163, %167 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %169 = machine.mma "v_mfma_f32_16x16x16_f16" %147, %161, %arg15 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %170 = machine.mma "v_mfma_f32_16x16x16_f16" %149, %163, %169 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %124 = machine.load %19[%13, %120] {alignment = 16 : i64, immediate = 524288 : i64} : vector<8xf16>
    %171 = vector.extract_strided_slice %132 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %172 = machine.mma "v_mfma_f32_16x16x16_f16" %133, %171, %arg16 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %173 = vector.extract_strided_slice %132 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
    %174 = machine.mma "v_mfma_f32_16x16x16_f16" %136, %173, %172 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %175 = machine.mma "v_mfma_f32_16x16x16_f16" %139, %171, %arg17 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %176 = machine.mma "v_mfma_f32_16x16x16_f16" %141, %173, %175 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %177 = machine.mma "v_mfma_f32_16x16x16_f16" %143, %171, %arg18 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %178 = machine.mma "v_mfma_f32_16x16x16_f16" %145, %173, %177 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %179 = machine.mma "v_mfma_f32_16x16x16_f16" %147, %171, %arg19 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %180 = machine.mma "v_mfma_f32_16x16x16_f16" %149, %173, %179 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %121, %122, %123, %124, %138, %142, %146, %150, %154, %156, %158, %160, %164, %166, %168, %170, %174, %176, %178, %180 : vector<8xf16>, vector<8xf16>, vector<8xf16>, vector<8xf16>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  machine.wait shared, 0
  machine.barrier
  machine.store %r40x#0,[%26] {alignment = 16 : i64, immediate = 8192 : i64} : vector<8xf16>
  machine.store %r40x#1,[%26] {alignment = 16 : i64, immediate = 12288 : i64} : vector<8xf16>
  machine.store %r40x#2,[%26] {alignment = 16 : i64} : vector<8xf16>
  machine.store %r40x#3,[%26] {alignment = 16 : i64, immediate = 4096 : i64} : vector<8xf16>
  machine.wait shared, 0
  machine.barrier
  %x125_e = machine.load[%35] {alignment = 16 : i64, immediate = 8192 : i64} : vector<8xf16>
  %x126_e = machine.load[%35] {alignment = 16 : i64, immediate = 9216 : i64} : vector<8xf16>
  %x127_e = machine.load[%35] {alignment = 16 : i64, immediate = 10240 : i64} : vector<8xf16>
  %x128_e = machine.load[%35] {alignment = 16 : i64, immediate = 11264 : i64} : vector<8xf16>
  %x129_e = machine.load[%39] {alignment = 16 : i64} : vector<8xf16>
  %x130_e = machine.load[%39] {alignment = 16 : i64, immediate = 1024 : i64} : vector<8xf16>
  %x131_e = machine.load[%39] {alignment = 16 : i64, immediate = 2048 : i64} : vector<8xf16>
  %x132_e = machine.load[%39] {alignment = 16 : i64, immediate = 3072 : i64} : vector<8xf16>
  %x133_e = vector.extract_strided_slice %x125_e {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x134_e = vector.extract_strided_slice %x129_e {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x135_e = machine.mma "v_mfma_f32_16x16x16_f16" %x133_e, %x134_e, %r40x#4 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x136_e = vector.extract_strided_slice %x125_e {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x137_e = vector.extract_strided_slice %x129_e {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x138_e = machine.mma "v_mfma_f32_16x16x16_f16" %x136_e, %x137_e, %x135_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x139_e = vector.extract_strided_slice %x126_e {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x140_e = machine.mma "v_mfma_f32_16x16x16_f16" %x139_e, %x134_e, %r40x#5 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x141_e = vector.extract_strided_slice %x126_e {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x142_e = machine.mma "v_mfma_f32_16x16x16_f16" %x141_e, %x137_e, %x140_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x143_e = vector.extract_strided_slice %x127_e {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x144_e = machine.mma "v_mfma_f32_16x16x16_f16" %x143_e, %x134_e, %r40x#6 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x145_e = vector.extract_strided_slice %x127_e {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x146_e = machine.mma "v_mfma_f32_16x16x16_f16" %x145_e, %x137_e, %x144_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x147_e = vector.extract_strided_slice %x128_e {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x148_e = machine.mma "v_mfma_f32_16x16x16_f16" %x147_e, %x134_e, %r40x#7 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x149_e = vector.extract_strided_slice %x128_e {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x150_e = machine.mma "v_mfma_f32_16x16x16_f16" %x149_e, %x137_e, %x148_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x151_e = vector.extract_strided_slice %x130_e {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x152_e = machine.mma "v_mfma_f32_16x16x16_f16" %x133_e, %x151_e, %r40x#8 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x153_e = vector.extract_strided_slice %x130_e {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x154_e = machine.mma "v_mfma_f32_16x16x16_f16" %x136_e, %x153_e, %x152_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x155_e = machine.mma "v_mfma_f32_16x16x16_f16" %x139_e, %x151_e, %r40x#9 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x156_e = machine.mma "v_mfma_f32_16x16x16_f16" %x141_e, %x153_e, %x155_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x157_e = machine.mma "v_mfma_f32_16x16x16_f16" %x143_e, %x151_e, %r40x#10 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x158_e = machine.mma "v_mfma_f32_16x16x16_f16" %x145_e, %x153_e, %x157_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x159_e = machine.mma "v_mfma_f32_16x16x16_f16" %x147_e, %x151_e, %r40x#11 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x160_e = machine.mma "v_mfma_f32_16x16x16_f16" %x149_e, %x153_e, %x159_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x161_e = vector.extract_strided_slice %x131_e {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x162_e = machine.mma "v_mfma_f32_16x16x16_f16" %x133_e, %x161_e, %r40x#12 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x163_e = vector.extract_strided_slice %x131_e {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x164_e = machine.mma "v_mfma_f32_16x16x16_f16" %x136_e, %x163_e, %x162_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x165_e = machine.mma "v_mfma_f32_16x16x16_f16" %x139_e, %x161_e, %r40x#13 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x166_e = machine.mma "v_mfma_f32_16x16x16_f16" %x141_e, %x163_e, %x165_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x167_e = machine.mma "v_mfma_f32_16x16x16_f16" %x143_e, %x161_e, %r40x#14 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x168_e = machine.mma "v_mfma_f32_16x16x16_f16" %x145_e, %x163_e, %x167_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x169_e = machine.mma "v_mfma_f32_16x16x16_f16" %x147_e, %x161_e, %r40x#15 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x170_e = machine.mma "v_mfma_f32_16x16x16_f16" %x149_e, %x163_e, %x169_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x171_e = vector.extract_strided_slice %x132_e {offsets = [0], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x172_e = machine.mma "v_mfma_f32_16x16x16_f16" %x133_e, %x171_e, %r40x#16 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x173_e = vector.extract_strided_slice %x132_e {offsets = [4], sizes = [4], strides = [1]} : vector<8xf16> to vector<4xf16>
  %x174_e = machine.mma "v_mfma_f32_16x16x16_f16" %x136_e, %x173_e, %x172_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x175_e = machine.mma "v_mfma_f32_16x16x16_f16" %x139_e, %x171_e, %r40x#17 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x176_e = machine.mma "v_mfma_f32_16x16x16_f16" %x141_e, %x173_e, %x175_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x177_e = machine.mma "v_mfma_f32_16x16x16_f16" %x143_e, %x171_e, %r40x#18 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x178_e = machine.mma "v_mfma_f32_16x16x16_f16" %x145_e, %x173_e, %x177_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x179_e = machine.mma "v_mfma_f32_16x16x16_f16" %x147_e, %x171_e, %r40x#19 : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x180_e = machine.mma "v_mfma_f32_16x16x16_f16" %x149_e, %x173_e, %x179_e : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %41 = vector.extract_strided_slice %x138_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  %c2097152_i64 = arith.constant 2097152 : i64
  %42 = arith.muli %c2097152_i64, %4 : i64
  %c512_i64 = arith.constant 512 : i64
  %43 = arith.muli %c512_i64, %15 : i64
  %44 = arith.addi %42, %43 : i64
  %c-2097152_i64 = arith.constant -2097152 : i64
  %45 = arith.muli %c-2097152_i64, %4 : i64
  %c-512_i64 = arith.constant -512 : i64
  %46 = arith.muli %c-512_i64, %15 : i64
  %47 = arith.addi %45, %46 : i64
  %c67108864_i64 = arith.constant 67108864 : i64
  %48 = arith.addi %47, %c67108864_i64 : i64
  %49 = machine.buffer %arg2[%44], %48
  %c65536_i32 = arith.constant 65536 : i32
  %50 = arith.muli %c65536_i32, %32 : i32
  %51 = arith.muli %c4_i32, %27 : i32
  %52 = arith.addi %50, %51 : i32
  %c256_i32 = arith.constant 256 : i32
  %53 = arith.muli %c256_i32, %36 : i32
  %c1048576_i32 = arith.constant 1048576 : i32
  %54 = arith.muli %c1048576_i32, %29 : i32
  %55 = arith.addi %53, %54 : i32
  machine.store %41, %49[%52, %55] {alignment = 4 : i64} : vector<1xf32>
  %56 = vector.extract_strided_slice %x138_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %56, %49[%52, %55] {alignment = 4 : i64, immediate = 16384 : i64} : vector<1xf32>
  %57 = vector.extract_strided_slice %x138_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %57, %49[%52, %55] {alignment = 4 : i64, immediate = 32768 : i64} : vector<1xf32>
  %58 = vector.extract_strided_slice %x138_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %58, %49[%52, %55] {alignment = 4 : i64, immediate = 49152 : i64} : vector<1xf32>
  %59 = vector.extract_strided_slice %x142_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %59, %49[%52, %55] {alignment = 4 : i64, immediate = 262144 : i64} : vector<1xf32>
  %60 = vector.extract_strided_slice %x142_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %60, %49[%52, %55] {alignment = 4 : i64, immediate = 278528 : i64} : vector<1xf32>
  %61 = vector.extract_strided_slice %x142_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %61, %49[%52, %55] {alignment = 4 : i64, immediate = 294912 : i64} : vector<1xf32>
  %62 = vector.extract_strided_slice %x142_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %62, %49[%52, %55] {alignment = 4 : i64, immediate = 311296 : i64} : vector<1xf32>
  %63 = vector.extract_strided_slice %x146_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %63, %49[%52, %55] {alignment = 4 : i64, immediate = 524288 : i64} : vector<1xf32>
  %64 = vector.extract_strided_slice %x146_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %64, %49[%52, %55] {alignment = 4 : i64, immediate = 540672 : i64} : vector<1xf32>
  %65 = vector.extract_strided_slice %x146_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %65, %49[%52, %55] {alignment = 4 : i64, immediate = 557056 : i64} : vector<1xf32>
  %66 = vector.extract_strided_slice %x146_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %66, %49[%52, %55] {alignment = 4 : i64, immediate = 573440 : i64} : vector<1xf32>
  %67 = vector.extract_strided_slice %x150_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %67, %49[%52, %55] {alignment = 4 : i64, immediate = 786432 : i64} : vector<1xf32>
  %68 = vector.extract_strided_slice %x150_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %68, %49[%52, %55] {alignment = 4 : i64, immediate = 802816 : i64} : vector<1xf32>
  %69 = vector.extract_strided_slice %x150_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %69, %49[%52, %55] {alignment = 4 : i64, immediate = 819200 : i64} : vector<1xf32>
  %70 = vector.extract_strided_slice %x150_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %70, %49[%52, %55] {alignment = 4 : i64, immediate = 835584 : i64} : vector<1xf32>
  %71 = vector.extract_strided_slice %x154_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %71, %49[%52, %55] {alignment = 4 : i64, immediate = 64 : i64} : vector<1xf32>
  %72 = vector.extract_strided_slice %x154_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %72, %49[%52, %55] {alignment = 4 : i64, immediate = 16448 : i64} : vector<1xf32>
  %73 = vector.extract_strided_slice %x154_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %73, %49[%52, %55] {alignment = 4 : i64, immediate = 32832 : i64} : vector<1xf32>
  %74 = vector.extract_strided_slice %x154_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %74, %49[%52, %55] {alignment = 4 : i64, immediate = 49216 : i64} : vector<1xf32>
  %75 = vector.extract_strided_slice %x156_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %75, %49[%52, %55] {alignment = 4 : i64, immediate = 262208 : i64} : vector<1xf32>
  %76 = vector.extract_strided_slice %x156_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %76, %49[%52, %55] {alignment = 4 : i64, immediate = 278592 : i64} : vector<1xf32>
  %77 = vector.extract_strided_slice %x156_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %77, %49[%52, %55] {alignment = 4 : i64, immediate = 294976 : i64} : vector<1xf32>
  %78 = vector.extract_strided_slice %x156_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %78, %49[%52, %55] {alignment = 4 : i64, immediate = 311360 : i64} : vector<1xf32>
  %79 = vector.extract_strided_slice %x158_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %79, %49[%52, %55] {alignment = 4 : i64, immediate = 524352 : i64} : vector<1xf32>
  %80 = vector.extract_strided_slice %x158_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %80, %49[%52, %55] {alignment = 4 : i64, immediate = 540736 : i64} : vector<1xf32>
  %81 = vector.extract_strided_slice %x158_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %81, %49[%52, %55] {alignment = 4 : i64, immediate = 557120 : i64} : vector<1xf32>
  %82 = vector.extract_strided_slice %x158_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %82, %49[%52, %55] {alignment = 4 : i64, immediate = 573504 : i64} : vector<1xf32>
  %83 = vector.extract_strided_slice %x160_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %83, %49[%52, %55] {alignment = 4 : i64, immediate = 786496 : i64} : vector<1xf32>
  %84 = vector.extract_strided_slice %x160_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %84, %49[%52, %55] {alignment = 4 : i64, immediate = 802880 : i64} : vector<1xf32>
  %85 = vector.extract_strided_slice %x160_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %85, %49[%52, %55] {alignment = 4 : i64, immediate = 819264 : i64} : vector<1xf32>
  %86 = vector.extract_strided_slice %x160_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %86, %49[%52, %55] {alignment = 4 : i64, immediate = 835648 : i64} : vector<1xf32>
  %87 = vector.extract_strided_slice %x164_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %87, %49[%52, %55] {alignment = 4 : i64, immediate = 128 : i64} : vector<1xf32>
  %88 = vector.extract_strided_slice %x164_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %88, %49[%52, %55] {alignment = 4 : i64, immediate = 16512 : i64} : vector<1xf32>
  %89 = vector.extract_strided_slice %x164_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %89, %49[%52, %55] {alignment = 4 : i64, immediate = 32896 : i64} : vector<1xf32>
  %90 = vector.extract_strided_slice %x164_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %90, %49[%52, %55] {alignment = 4 : i64, immediate = 49280 : i64} : vector<1xf32>
  %91 = vector.extract_strided_slice %x166_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %91, %49[%52, %55] {alignment = 4 : i64, immediate = 262272 : i64} : vector<1xf32>
  %92 = vector.extract_strided_slice %x166_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %92, %49[%52, %55] {alignment = 4 : i64, immediate = 278656 : i64} : vector<1xf32>
  %93 = vector.extract_strided_slice %x166_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %93, %49[%52, %55] {alignment = 4 : i64, immediate = 295040 : i64} : vector<1xf32>
  %94 = vector.extract_strided_slice %x166_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %94, %49[%52, %55] {alignment = 4 : i64, immediate = 311424 : i64} : vector<1xf32>
  %95 = vector.extract_strided_slice %x168_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %95, %49[%52, %55] {alignment = 4 : i64, immediate = 524416 : i64} : vector<1xf32>
  %96 = vector.extract_strided_slice %x168_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %96, %49[%52, %55] {alignment = 4 : i64, immediate = 540800 : i64} : vector<1xf32>
  %97 = vector.extract_strided_slice %x168_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %97, %49[%52, %55] {alignment = 4 : i64, immediate = 557184 : i64} : vector<1xf32>
  %98 = vector.extract_strided_slice %x168_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %98, %49[%52, %55] {alignment = 4 : i64, immediate = 573568 : i64} : vector<1xf32>
  %99 = vector.extract_strided_slice %x170_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %99, %49[%52, %55] {alignment = 4 : i64, immediate = 786560 : i64} : vector<1xf32>
  %100 = vector.extract_strided_slice %x170_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %100, %49[%52, %55] {alignment = 4 : i64, immediate = 802944 : i64} : vector<1xf32>
  %101 = vector.extract_strided_slice %x170_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %101, %49[%52, %55] {alignment = 4 : i64, immediate = 819328 : i64} : vector<1xf32>
  %102 = vector.extract_strided_slice %x170_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %102, %49[%52, %55] {alignment = 4 : i64, immediate = 835712 : i64} : vector<1xf32>
  %103 = vector.extract_strided_slice %x174_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %103, %49[%52, %55] {alignment = 4 : i64, immediate = 192 : i64} : vector<1xf32>
  %104 = vector.extract_strided_slice %x174_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %104, %49[%52, %55] {alignment = 4 : i64, immediate = 16576 : i64} : vector<1xf32>
  %105 = vector.extract_strided_slice %x174_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %105, %49[%52, %55] {alignment = 4 : i64, immediate = 32960 : i64} : vector<1xf32>
  %106 = vector.extract_strided_slice %x174_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %106, %49[%52, %55] {alignment = 4 : i64, immediate = 49344 : i64} : vector<1xf32>
  %107 = vector.extract_strided_slice %x176_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %107, %49[%52, %55] {alignment = 4 : i64, immediate = 262336 : i64} : vector<1xf32>
  %108 = vector.extract_strided_slice %x176_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %108, %49[%52, %55] {alignment = 4 : i64, immediate = 278720 : i64} : vector<1xf32>
  %109 = vector.extract_strided_slice %x176_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %109, %49[%52, %55] {alignment = 4 : i64, immediate = 295104 : i64} : vector<1xf32>
  %110 = vector.extract_strided_slice %x176_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %110, %49[%52, %55] {alignment = 4 : i64, immediate = 311488 : i64} : vector<1xf32>
  %111 = vector.extract_strided_slice %x178_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %111, %49[%52, %55] {alignment = 4 : i64, immediate = 524480 : i64} : vector<1xf32>
  %112 = vector.extract_strided_slice %x178_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %112, %49[%52, %55] {alignment = 4 : i64, immediate = 540864 : i64} : vector<1xf32>
  %113 = vector.extract_strided_slice %x178_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %113, %49[%52, %55] {alignment = 4 : i64, immediate = 557248 : i64} : vector<1xf32>
  %114 = vector.extract_strided_slice %x178_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %114, %49[%52, %55] {alignment = 4 : i64, immediate = 573632 : i64} : vector<1xf32>
  %115 = vector.extract_strided_slice %x180_e {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %115, %49[%52, %55] {alignment = 4 : i64, immediate = 786624 : i64} : vector<1xf32>
  %116 = vector.extract_strided_slice %x180_e {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %116, %49[%52, %55] {alignment = 4 : i64, immediate = 803008 : i64} : vector<1xf32>
  %117 = vector.extract_strided_slice %x180_e {offsets = [2], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %117, %49[%52, %55] {alignment = 4 : i64, immediate = 819392 : i64} : vector<1xf32>
  %118 = vector.extract_strided_slice %x180_e {offsets = [3], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  machine.store %118, %49[%52, %55] {alignment = 4 : i64, immediate = 835776 : i64} : vector<1xf32>
}
