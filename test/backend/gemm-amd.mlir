// RUN: soliton-opt %s > %t
// One step of C[M, 1024] = A[M, K] · B[1024, K]ᵀ: 128 × 128 tile, K in steps of 32, four waves of 64 × 64, operands through shared memory.
// K must be a multiple of 32; C has 1024 columns and at most 1024 rows.

machine.kernel @gemm attributes {arg_names = ["a", "b", "c", "k"], wave_size = 64 : i64, waves = 4 : i64,
                                 shared_bytes = 16384 : i64, target = "gfx942"} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %c: !machine.ptr, %k: i32):
  %c2 = arith.constant 2 : i32
  %c128 = arith.constant 128 : i32
  %c64 = arith.constant 64 : i32
  %c3 = arith.constant 3 : i32
  %c16 = arith.constant 16 : i32
  %c15 = arith.constant 15 : i32
  %c4 = arith.constant 4 : i32
  %c8 = arith.constant 8 : i32
  %c1 = arith.constant 1 : i32
  %c4096 = arith.constant 4096 : i32
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %c524288 = arith.constant 524288 : i32
  %c512 = arith.constant 512 : i32
  %c262144 = arith.constant 262144 : i32
  %c256 = arith.constant 256 : i32
  %c16384 = arith.constant 16384 : i32
  %c8192 = arith.constant 8192 : i32
  %c12288 = arith.constant 12288 : i32
  %c65536 = arith.constant 65536 : i32
  %c131072 = arith.constant 131072 : i32
  %c196608 = arith.constant 196608 : i32
  %0 = machine.id lane {upper = 64 : i64}
  %1 = machine.id wave {upper = 4 : i64}
  %2 = machine.id workgroup0
  %3 = machine.id workgroup1
  %4 = arith.muli %k, %c2 : i32
  %5 = arith.muli %4, %c128 : i32
  %6 = arith.extsi %5 : i32 to i64
  %7 = arith.extsi %2 : i32 to i64
  %8 = arith.muli %7, %6 : i64
  %9 = machine.buffer %a[%8], %6
  %10 = arith.extsi %3 : i32 to i64
  %11 = arith.muli %10, %6 : i64
  %12 = machine.buffer %b[%11], %6
  %13 = arith.muli %1, %c64 : i32
  %14 = arith.addi %13, %0 : i32
  %15 = arith.shrui %14, %c2 : i32
  %16 = arith.andi %14, %c3 : i32
  %17 = arith.muli %16, %c16 : i32
  %18 = arith.muli %15, %4 : i32
  %19 = arith.addi %18, %17 : i32
  %20 = arith.muli %4, %c64 : i32
  %21 = arith.addi %19, %20 : i32
  %22 = arith.muli %14, %c16 : i32
  %23 = arith.andi %0, %c15 : i32
  %24 = arith.shrui %0, %c4 : i32
  %25 = arith.muli %23, %c64 : i32
  %26 = arith.muli %24, %c8 : i32
  %27 = arith.addi %25, %26 : i32
  %28 = arith.shrui %1, %c1 : i32
  %29 = arith.andi %1, %c1 : i32
  %30 = arith.muli %28, %c4096 : i32
  %31 = arith.muli %29, %c4096 : i32
  %32 = arith.addi %27, %30 : i32
  %33 = arith.addi %27, %31 : i32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %r:16 = scf.for %k0 = %c0 to %k step %c32 iter_args(%acc00 = %zero, %acc01 = %zero, %acc02 = %zero, %acc03 = %zero, %acc10 = %zero, %acc11 = %zero, %acc12 = %zero, %acc13 = %zero, %acc20 = %zero, %acc21 = %zero, %acc22 = %zero, %acc23 = %zero, %acc30 = %zero, %acc31 = %zero, %acc32 = %zero, %acc33 = %zero) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) : i32 {
    %34 = arith.muli %k0, %c2 : i32
    %35 = machine.load %9 [%19, %34] {alignment = 16 : i64} : vector<8xf16>
    %36 = machine.load %9 [%21, %34] {alignment = 16 : i64} : vector<8xf16>
    %37 = machine.load %12 [%19, %34] {alignment = 16 : i64} : vector<8xf16>
    %38 = machine.load %12 [%21, %34] {alignment = 16 : i64} : vector<8xf16>
    machine.store %35, [%22] {alignment = 16 : i64} : vector<8xf16>
    machine.store %36, [%22] {immediate = 4096 : i64, alignment = 16 : i64} : vector<8xf16>
    machine.store %37, [%22] {immediate = 8192 : i64, alignment = 16 : i64} : vector<8xf16>
    machine.store %38, [%22] {immediate = 12288 : i64, alignment = 16 : i64} : vector<8xf16>
    machine.wait shared, 0
    machine.barrier
    %39 = machine.load [%32] {immediate = 0 : i64, alignment = 8 : i64} : vector<4xf16>
    %40 = machine.load [%32] {immediate = 1024 : i64, alignment = 8 : i64} : vector<4xf16>
    %41 = machine.load [%32] {immediate = 2048 : i64, alignment = 8 : i64} : vector<4xf16>
    %42 = machine.load [%32] {immediate = 3072 : i64, alignment = 8 : i64} : vector<4xf16>
    %43 = machine.load [%33] {immediate = 8192 : i64, alignment = 8 : i64} : vector<4xf16>
    %44 = machine.load [%33] {immediate = 9216 : i64, alignment = 8 : i64} : vector<4xf16>
    %45 = machine.load [%33] {immediate = 10240 : i64, alignment = 8 : i64} : vector<4xf16>
    %46 = machine.load [%33] {immediate = 11264 : i64, alignment = 8 : i64} : vector<4xf16>
    %47 = machine.mma "v_mfma_f32_16x16x16_f16" %39, %43, %acc00 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %48 = machine.mma "v_mfma_f32_16x16x16_f16" %39, %44, %acc01 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %49 = machine.mma "v_mfma_f32_16x16x16_f16" %39, %45, %acc02 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %50 = machine.mma "v_mfma_f32_16x16x16_f16" %39, %46, %acc03 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %51 = machine.mma "v_mfma_f32_16x16x16_f16" %40, %43, %acc10 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %52 = machine.mma "v_mfma_f32_16x16x16_f16" %40, %44, %acc11 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %53 = machine.mma "v_mfma_f32_16x16x16_f16" %40, %45, %acc12 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %54 = machine.mma "v_mfma_f32_16x16x16_f16" %40, %46, %acc13 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %55 = machine.mma "v_mfma_f32_16x16x16_f16" %41, %43, %acc20 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %56 = machine.mma "v_mfma_f32_16x16x16_f16" %41, %44, %acc21 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %57 = machine.mma "v_mfma_f32_16x16x16_f16" %41, %45, %acc22 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %58 = machine.mma "v_mfma_f32_16x16x16_f16" %41, %46, %acc23 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %59 = machine.mma "v_mfma_f32_16x16x16_f16" %42, %43, %acc30 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %60 = machine.mma "v_mfma_f32_16x16x16_f16" %42, %44, %acc31 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %61 = machine.mma "v_mfma_f32_16x16x16_f16" %42, %45, %acc32 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %62 = machine.mma "v_mfma_f32_16x16x16_f16" %42, %46, %acc33 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %63 = machine.load [%32] {immediate = 32 : i64, alignment = 8 : i64} : vector<4xf16>
    %64 = machine.load [%32] {immediate = 1056 : i64, alignment = 8 : i64} : vector<4xf16>
    %65 = machine.load [%32] {immediate = 2080 : i64, alignment = 8 : i64} : vector<4xf16>
    %66 = machine.load [%32] {immediate = 3104 : i64, alignment = 8 : i64} : vector<4xf16>
    %67 = machine.load [%33] {immediate = 8224 : i64, alignment = 8 : i64} : vector<4xf16>
    %68 = machine.load [%33] {immediate = 9248 : i64, alignment = 8 : i64} : vector<4xf16>
    %69 = machine.load [%33] {immediate = 10272 : i64, alignment = 8 : i64} : vector<4xf16>
    %70 = machine.load [%33] {immediate = 11296 : i64, alignment = 8 : i64} : vector<4xf16>
    %71 = machine.mma "v_mfma_f32_16x16x16_f16" %63, %67, %47 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %72 = machine.mma "v_mfma_f32_16x16x16_f16" %63, %68, %48 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %73 = machine.mma "v_mfma_f32_16x16x16_f16" %63, %69, %49 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %74 = machine.mma "v_mfma_f32_16x16x16_f16" %63, %70, %50 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %75 = machine.mma "v_mfma_f32_16x16x16_f16" %64, %67, %51 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %76 = machine.mma "v_mfma_f32_16x16x16_f16" %64, %68, %52 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %77 = machine.mma "v_mfma_f32_16x16x16_f16" %64, %69, %53 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %78 = machine.mma "v_mfma_f32_16x16x16_f16" %64, %70, %54 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %79 = machine.mma "v_mfma_f32_16x16x16_f16" %65, %67, %55 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %80 = machine.mma "v_mfma_f32_16x16x16_f16" %65, %68, %56 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %81 = machine.mma "v_mfma_f32_16x16x16_f16" %65, %69, %57 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %82 = machine.mma "v_mfma_f32_16x16x16_f16" %65, %70, %58 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %83 = machine.mma "v_mfma_f32_16x16x16_f16" %66, %67, %59 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %84 = machine.mma "v_mfma_f32_16x16x16_f16" %66, %68, %60 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %85 = machine.mma "v_mfma_f32_16x16x16_f16" %66, %69, %61 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %86 = machine.mma "v_mfma_f32_16x16x16_f16" %66, %70, %62 : vector<4xf16>, vector<4xf16>, vector<4xf32>
    machine.wait shared, 0
    machine.barrier
    scf.yield %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86 : vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  %87 = arith.constant 4096 : i64
  %88 = arith.constant 4194304 : i64
  %89 = arith.constant 0 : i64
  %90 = machine.buffer %c[%89], %88
  %91 = arith.muli %2, %c524288 : i32
  %92 = arith.muli %3, %c512 : i32
  %93 = arith.addi %91, %92 : i32
  %94 = arith.muli %28, %c262144 : i32
  %95 = arith.addi %93, %94 : i32
  %96 = arith.muli %29, %c256 : i32
  %97 = arith.addi %95, %96 : i32
  %98 = arith.muli %24, %c16384 : i32
  %99 = arith.muli %23, %c4 : i32
  %100 = arith.addi %98, %99 : i32
  %101 = vector.extract %r#0[0] : f32 from vector<4xf32>
  %102 = vector.broadcast %101 : f32 to vector<1xf32>
  machine.store %102, %90 [%100, %97] {alignment = 4 : i64} : vector<1xf32>
  %103 = vector.extract %r#0[1] : f32 from vector<4xf32>
  %104 = vector.broadcast %103 : f32 to vector<1xf32>
  %105 = arith.addi %100, %c4096 : i32
  machine.store %104, %90 [%105, %97] {alignment = 4 : i64} : vector<1xf32>
  %106 = vector.extract %r#0[2] : f32 from vector<4xf32>
  %107 = vector.broadcast %106 : f32 to vector<1xf32>
  %108 = arith.addi %100, %c8192 : i32
  machine.store %107, %90 [%108, %97] {alignment = 4 : i64} : vector<1xf32>
  %109 = vector.extract %r#0[3] : f32 from vector<4xf32>
  %110 = vector.broadcast %109 : f32 to vector<1xf32>
  %111 = arith.addi %100, %c12288 : i32
  machine.store %110, %90 [%111, %97] {alignment = 4 : i64} : vector<1xf32>
  %112 = vector.extract %r#1[0] : f32 from vector<4xf32>
  %113 = vector.broadcast %112 : f32 to vector<1xf32>
  machine.store %113, %90 [%100, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %114 = vector.extract %r#1[1] : f32 from vector<4xf32>
  %115 = vector.broadcast %114 : f32 to vector<1xf32>
  %116 = arith.addi %100, %c4096 : i32
  machine.store %115, %90 [%116, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %117 = vector.extract %r#1[2] : f32 from vector<4xf32>
  %118 = vector.broadcast %117 : f32 to vector<1xf32>
  %119 = arith.addi %100, %c8192 : i32
  machine.store %118, %90 [%119, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %120 = vector.extract %r#1[3] : f32 from vector<4xf32>
  %121 = vector.broadcast %120 : f32 to vector<1xf32>
  %122 = arith.addi %100, %c12288 : i32
  machine.store %121, %90 [%122, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %123 = vector.extract %r#2[0] : f32 from vector<4xf32>
  %124 = vector.broadcast %123 : f32 to vector<1xf32>
  machine.store %124, %90 [%100, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %125 = vector.extract %r#2[1] : f32 from vector<4xf32>
  %126 = vector.broadcast %125 : f32 to vector<1xf32>
  %127 = arith.addi %100, %c4096 : i32
  machine.store %126, %90 [%127, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %128 = vector.extract %r#2[2] : f32 from vector<4xf32>
  %129 = vector.broadcast %128 : f32 to vector<1xf32>
  %130 = arith.addi %100, %c8192 : i32
  machine.store %129, %90 [%130, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %131 = vector.extract %r#2[3] : f32 from vector<4xf32>
  %132 = vector.broadcast %131 : f32 to vector<1xf32>
  %133 = arith.addi %100, %c12288 : i32
  machine.store %132, %90 [%133, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %134 = vector.extract %r#3[0] : f32 from vector<4xf32>
  %135 = vector.broadcast %134 : f32 to vector<1xf32>
  machine.store %135, %90 [%100, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %136 = vector.extract %r#3[1] : f32 from vector<4xf32>
  %137 = vector.broadcast %136 : f32 to vector<1xf32>
  %138 = arith.addi %100, %c4096 : i32
  machine.store %137, %90 [%138, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %139 = vector.extract %r#3[2] : f32 from vector<4xf32>
  %140 = vector.broadcast %139 : f32 to vector<1xf32>
  %141 = arith.addi %100, %c8192 : i32
  machine.store %140, %90 [%141, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %142 = vector.extract %r#3[3] : f32 from vector<4xf32>
  %143 = vector.broadcast %142 : f32 to vector<1xf32>
  %144 = arith.addi %100, %c12288 : i32
  machine.store %143, %90 [%144, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %145 = arith.addi %100, %c65536 : i32
  %146 = vector.extract %r#4[0] : f32 from vector<4xf32>
  %147 = vector.broadcast %146 : f32 to vector<1xf32>
  machine.store %147, %90 [%145, %97] {alignment = 4 : i64} : vector<1xf32>
  %148 = vector.extract %r#4[1] : f32 from vector<4xf32>
  %149 = vector.broadcast %148 : f32 to vector<1xf32>
  %150 = arith.addi %145, %c4096 : i32
  machine.store %149, %90 [%150, %97] {alignment = 4 : i64} : vector<1xf32>
  %151 = vector.extract %r#4[2] : f32 from vector<4xf32>
  %152 = vector.broadcast %151 : f32 to vector<1xf32>
  %153 = arith.addi %145, %c8192 : i32
  machine.store %152, %90 [%153, %97] {alignment = 4 : i64} : vector<1xf32>
  %154 = vector.extract %r#4[3] : f32 from vector<4xf32>
  %155 = vector.broadcast %154 : f32 to vector<1xf32>
  %156 = arith.addi %145, %c12288 : i32
  machine.store %155, %90 [%156, %97] {alignment = 4 : i64} : vector<1xf32>
  %157 = vector.extract %r#5[0] : f32 from vector<4xf32>
  %158 = vector.broadcast %157 : f32 to vector<1xf32>
  machine.store %158, %90 [%145, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %159 = vector.extract %r#5[1] : f32 from vector<4xf32>
  %160 = vector.broadcast %159 : f32 to vector<1xf32>
  %161 = arith.addi %145, %c4096 : i32
  machine.store %160, %90 [%161, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %162 = vector.extract %r#5[2] : f32 from vector<4xf32>
  %163 = vector.broadcast %162 : f32 to vector<1xf32>
  %164 = arith.addi %145, %c8192 : i32
  machine.store %163, %90 [%164, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %165 = vector.extract %r#5[3] : f32 from vector<4xf32>
  %166 = vector.broadcast %165 : f32 to vector<1xf32>
  %167 = arith.addi %145, %c12288 : i32
  machine.store %166, %90 [%167, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %168 = vector.extract %r#6[0] : f32 from vector<4xf32>
  %169 = vector.broadcast %168 : f32 to vector<1xf32>
  machine.store %169, %90 [%145, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %170 = vector.extract %r#6[1] : f32 from vector<4xf32>
  %171 = vector.broadcast %170 : f32 to vector<1xf32>
  %172 = arith.addi %145, %c4096 : i32
  machine.store %171, %90 [%172, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %173 = vector.extract %r#6[2] : f32 from vector<4xf32>
  %174 = vector.broadcast %173 : f32 to vector<1xf32>
  %175 = arith.addi %145, %c8192 : i32
  machine.store %174, %90 [%175, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %176 = vector.extract %r#6[3] : f32 from vector<4xf32>
  %177 = vector.broadcast %176 : f32 to vector<1xf32>
  %178 = arith.addi %145, %c12288 : i32
  machine.store %177, %90 [%178, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %179 = vector.extract %r#7[0] : f32 from vector<4xf32>
  %180 = vector.broadcast %179 : f32 to vector<1xf32>
  machine.store %180, %90 [%145, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %181 = vector.extract %r#7[1] : f32 from vector<4xf32>
  %182 = vector.broadcast %181 : f32 to vector<1xf32>
  %183 = arith.addi %145, %c4096 : i32
  machine.store %182, %90 [%183, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %184 = vector.extract %r#7[2] : f32 from vector<4xf32>
  %185 = vector.broadcast %184 : f32 to vector<1xf32>
  %186 = arith.addi %145, %c8192 : i32
  machine.store %185, %90 [%186, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %187 = vector.extract %r#7[3] : f32 from vector<4xf32>
  %188 = vector.broadcast %187 : f32 to vector<1xf32>
  %189 = arith.addi %145, %c12288 : i32
  machine.store %188, %90 [%189, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %190 = arith.addi %100, %c131072 : i32
  %191 = vector.extract %r#8[0] : f32 from vector<4xf32>
  %192 = vector.broadcast %191 : f32 to vector<1xf32>
  machine.store %192, %90 [%190, %97] {alignment = 4 : i64} : vector<1xf32>
  %193 = vector.extract %r#8[1] : f32 from vector<4xf32>
  %194 = vector.broadcast %193 : f32 to vector<1xf32>
  %195 = arith.addi %190, %c4096 : i32
  machine.store %194, %90 [%195, %97] {alignment = 4 : i64} : vector<1xf32>
  %196 = vector.extract %r#8[2] : f32 from vector<4xf32>
  %197 = vector.broadcast %196 : f32 to vector<1xf32>
  %198 = arith.addi %190, %c8192 : i32
  machine.store %197, %90 [%198, %97] {alignment = 4 : i64} : vector<1xf32>
  %199 = vector.extract %r#8[3] : f32 from vector<4xf32>
  %200 = vector.broadcast %199 : f32 to vector<1xf32>
  %201 = arith.addi %190, %c12288 : i32
  machine.store %200, %90 [%201, %97] {alignment = 4 : i64} : vector<1xf32>
  %202 = vector.extract %r#9[0] : f32 from vector<4xf32>
  %203 = vector.broadcast %202 : f32 to vector<1xf32>
  machine.store %203, %90 [%190, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %204 = vector.extract %r#9[1] : f32 from vector<4xf32>
  %205 = vector.broadcast %204 : f32 to vector<1xf32>
  %206 = arith.addi %190, %c4096 : i32
  machine.store %205, %90 [%206, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %207 = vector.extract %r#9[2] : f32 from vector<4xf32>
  %208 = vector.broadcast %207 : f32 to vector<1xf32>
  %209 = arith.addi %190, %c8192 : i32
  machine.store %208, %90 [%209, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %210 = vector.extract %r#9[3] : f32 from vector<4xf32>
  %211 = vector.broadcast %210 : f32 to vector<1xf32>
  %212 = arith.addi %190, %c12288 : i32
  machine.store %211, %90 [%212, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %213 = vector.extract %r#10[0] : f32 from vector<4xf32>
  %214 = vector.broadcast %213 : f32 to vector<1xf32>
  machine.store %214, %90 [%190, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %215 = vector.extract %r#10[1] : f32 from vector<4xf32>
  %216 = vector.broadcast %215 : f32 to vector<1xf32>
  %217 = arith.addi %190, %c4096 : i32
  machine.store %216, %90 [%217, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %218 = vector.extract %r#10[2] : f32 from vector<4xf32>
  %219 = vector.broadcast %218 : f32 to vector<1xf32>
  %220 = arith.addi %190, %c8192 : i32
  machine.store %219, %90 [%220, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %221 = vector.extract %r#10[3] : f32 from vector<4xf32>
  %222 = vector.broadcast %221 : f32 to vector<1xf32>
  %223 = arith.addi %190, %c12288 : i32
  machine.store %222, %90 [%223, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %224 = vector.extract %r#11[0] : f32 from vector<4xf32>
  %225 = vector.broadcast %224 : f32 to vector<1xf32>
  machine.store %225, %90 [%190, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %226 = vector.extract %r#11[1] : f32 from vector<4xf32>
  %227 = vector.broadcast %226 : f32 to vector<1xf32>
  %228 = arith.addi %190, %c4096 : i32
  machine.store %227, %90 [%228, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %229 = vector.extract %r#11[2] : f32 from vector<4xf32>
  %230 = vector.broadcast %229 : f32 to vector<1xf32>
  %231 = arith.addi %190, %c8192 : i32
  machine.store %230, %90 [%231, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %232 = vector.extract %r#11[3] : f32 from vector<4xf32>
  %233 = vector.broadcast %232 : f32 to vector<1xf32>
  %234 = arith.addi %190, %c12288 : i32
  machine.store %233, %90 [%234, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %235 = arith.addi %100, %c196608 : i32
  %236 = vector.extract %r#12[0] : f32 from vector<4xf32>
  %237 = vector.broadcast %236 : f32 to vector<1xf32>
  machine.store %237, %90 [%235, %97] {alignment = 4 : i64} : vector<1xf32>
  %238 = vector.extract %r#12[1] : f32 from vector<4xf32>
  %239 = vector.broadcast %238 : f32 to vector<1xf32>
  %240 = arith.addi %235, %c4096 : i32
  machine.store %239, %90 [%240, %97] {alignment = 4 : i64} : vector<1xf32>
  %241 = vector.extract %r#12[2] : f32 from vector<4xf32>
  %242 = vector.broadcast %241 : f32 to vector<1xf32>
  %243 = arith.addi %235, %c8192 : i32
  machine.store %242, %90 [%243, %97] {alignment = 4 : i64} : vector<1xf32>
  %244 = vector.extract %r#12[3] : f32 from vector<4xf32>
  %245 = vector.broadcast %244 : f32 to vector<1xf32>
  %246 = arith.addi %235, %c12288 : i32
  machine.store %245, %90 [%246, %97] {alignment = 4 : i64} : vector<1xf32>
  %247 = vector.extract %r#13[0] : f32 from vector<4xf32>
  %248 = vector.broadcast %247 : f32 to vector<1xf32>
  machine.store %248, %90 [%235, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %249 = vector.extract %r#13[1] : f32 from vector<4xf32>
  %250 = vector.broadcast %249 : f32 to vector<1xf32>
  %251 = arith.addi %235, %c4096 : i32
  machine.store %250, %90 [%251, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %252 = vector.extract %r#13[2] : f32 from vector<4xf32>
  %253 = vector.broadcast %252 : f32 to vector<1xf32>
  %254 = arith.addi %235, %c8192 : i32
  machine.store %253, %90 [%254, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %255 = vector.extract %r#13[3] : f32 from vector<4xf32>
  %256 = vector.broadcast %255 : f32 to vector<1xf32>
  %257 = arith.addi %235, %c12288 : i32
  machine.store %256, %90 [%257, %97] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xf32>
  %258 = vector.extract %r#14[0] : f32 from vector<4xf32>
  %259 = vector.broadcast %258 : f32 to vector<1xf32>
  machine.store %259, %90 [%235, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %260 = vector.extract %r#14[1] : f32 from vector<4xf32>
  %261 = vector.broadcast %260 : f32 to vector<1xf32>
  %262 = arith.addi %235, %c4096 : i32
  machine.store %261, %90 [%262, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %263 = vector.extract %r#14[2] : f32 from vector<4xf32>
  %264 = vector.broadcast %263 : f32 to vector<1xf32>
  %265 = arith.addi %235, %c8192 : i32
  machine.store %264, %90 [%265, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %266 = vector.extract %r#14[3] : f32 from vector<4xf32>
  %267 = vector.broadcast %266 : f32 to vector<1xf32>
  %268 = arith.addi %235, %c12288 : i32
  machine.store %267, %90 [%268, %97] {immediate = 128 : i64, alignment = 4 : i64} : vector<1xf32>
  %269 = vector.extract %r#15[0] : f32 from vector<4xf32>
  %270 = vector.broadcast %269 : f32 to vector<1xf32>
  machine.store %270, %90 [%235, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %271 = vector.extract %r#15[1] : f32 from vector<4xf32>
  %272 = vector.broadcast %271 : f32 to vector<1xf32>
  %273 = arith.addi %235, %c4096 : i32
  machine.store %272, %90 [%273, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %274 = vector.extract %r#15[2] : f32 from vector<4xf32>
  %275 = vector.broadcast %274 : f32 to vector<1xf32>
  %276 = arith.addi %235, %c8192 : i32
  machine.store %275, %90 [%276, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
  %277 = vector.extract %r#15[3] : f32 from vector<4xf32>
  %278 = vector.broadcast %277 : f32 to vector<1xf32>
  %279 = arith.addi %235, %c12288 : i32
  machine.store %278, %90 [%279, %97] {immediate = 192 : i64, alignment = 4 : i64} : vector<1xf32>
}
