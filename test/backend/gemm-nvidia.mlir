// RUN: soliton-opt %s > %t
// C[M, 1024] = A[M, K] · B[1024, K]ᵀ: 128 × 128 tile, K in steps of 32, four waves of 64 × 64, asynchronous copies to shared memory.
// K must be a multiple of 32; C has 1024 columns and at most 1024 rows.

machine.kernel @gemm attributes {arg_names = ["a", "b", "c", "k"], wave_size = 32 : i64, waves = 4 : i64,
                                 shared_bytes = 16384 : i64, target = "sm_90a"} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %c: !machine.ptr, %k: i32):
  %c2 = arith.constant 2 : i32
  %c128 = arith.constant 128 : i32
  %c32 = arith.constant 32 : i32
  %c3 = arith.constant 3 : i32
  %c16 = arith.constant 16 : i32
  %c64 = arith.constant 64 : i32
  %c96 = arith.constant 96 : i32
  %c15 = arith.constant 15 : i32
  %c4 = arith.constant 4 : i32
  %c1 = arith.constant 1 : i32
  %c4096 = arith.constant 4096 : i32
  %c0 = arith.constant 0 : i32
  %c524288 = arith.constant 524288 : i32
  %c512 = arith.constant 512 : i32
  %c262144 = arith.constant 262144 : i32
  %c256 = arith.constant 256 : i32
  %c8 = arith.constant 8 : i32
  %0 = machine.id lane {upper = 32 : i64}
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
  %13 = arith.muli %1, %c32 : i32
  %14 = arith.addi %13, %0 : i32
  %15 = arith.shrui %14, %c2 : i32
  %16 = arith.andi %14, %c3 : i32
  %17 = arith.muli %16, %c16 : i32
  %18 = arith.muli %15, %4 : i32
  %19 = arith.addi %18, %17 : i32
  %20 = arith.muli %4, %c32 : i32
  %21 = arith.addi %19, %20 : i32
  %22 = arith.muli %4, %c64 : i32
  %23 = arith.addi %19, %22 : i32
  %24 = arith.muli %4, %c96 : i32
  %25 = arith.addi %19, %24 : i32
  %26 = arith.muli %14, %c16 : i32
  %27 = arith.andi %0, %c15 : i32
  %28 = arith.shrui %0, %c4 : i32
  %29 = arith.muli %27, %c64 : i32
  %30 = arith.muli %28, %c16 : i32
  %31 = arith.addi %29, %30 : i32
  %32 = arith.shrui %1, %c1 : i32
  %33 = arith.andi %1, %c1 : i32
  %34 = arith.muli %32, %c4096 : i32
  %35 = arith.muli %33, %c4096 : i32
  %36 = arith.addi %31, %34 : i32
  %37 = arith.addi %31, %35 : i32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %r:32 = scf.for %k0 = %c0 to %k step %c32 iter_args(%acc00 = %zero, %acc01 = %zero, %acc02 = %zero, %acc03 = %zero, %acc04 = %zero, %acc05 = %zero, %acc06 = %zero, %acc07 = %zero, %acc10 = %zero, %acc11 = %zero, %acc12 = %zero, %acc13 = %zero, %acc14 = %zero, %acc15 = %zero, %acc16 = %zero, %acc17 = %zero, %acc20 = %zero, %acc21 = %zero, %acc22 = %zero, %acc23 = %zero, %acc24 = %zero, %acc25 = %zero, %acc26 = %zero, %acc27 = %zero, %acc30 = %zero, %acc31 = %zero, %acc32 = %zero, %acc33 = %zero, %acc34 = %zero, %acc35 = %zero, %acc36 = %zero, %acc37 = %zero) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) : i32 {
    %38 = arith.muli %k0, %c2 : i32
    machine.copy_async %9 [%19, %38], [%26] {bytes = 16 : i64}
    machine.copy_async %9 [%21, %38], [%26] {destination_immediate = 2048 : i64, bytes = 16 : i64}
    machine.copy_async %9 [%23, %38], [%26] {destination_immediate = 4096 : i64, bytes = 16 : i64}
    machine.copy_async %9 [%25, %38], [%26] {destination_immediate = 6144 : i64, bytes = 16 : i64}
    machine.copy_async %12 [%19, %38], [%26] {destination_immediate = 8192 : i64, bytes = 16 : i64}
    machine.copy_async %12 [%21, %38], [%26] {destination_immediate = 10240 : i64, bytes = 16 : i64}
    machine.copy_async %12 [%23, %38], [%26] {destination_immediate = 12288 : i64, bytes = 16 : i64}
    machine.copy_async %12 [%25, %38], [%26] {destination_immediate = 14336 : i64, bytes = 16 : i64}
    machine.commit cp_async
    machine.wait cp_async, 0
    machine.barrier
    %39 = machine.load_matrix "ldmatrix.x4" [%36] {immediate = 0 : i64} : vector<8xf16>
    %40 = machine.load_matrix "ldmatrix.x4" [%36] {immediate = 1024 : i64} : vector<8xf16>
    %41 = machine.load_matrix "ldmatrix.x4" [%36] {immediate = 2048 : i64} : vector<8xf16>
    %42 = machine.load_matrix "ldmatrix.x4" [%36] {immediate = 3072 : i64} : vector<8xf16>
    %43 = machine.load_matrix "ldmatrix.x4" [%37] {immediate = 8192 : i64} : vector<8xf16>
    %44 = vector.shuffle %43, %43 [0, 1, 4, 5] : vector<8xf16>, vector<8xf16>
    %45 = vector.shuffle %43, %43 [2, 3, 6, 7] : vector<8xf16>, vector<8xf16>
    %46 = machine.load_matrix "ldmatrix.x4" [%37] {immediate = 9216 : i64} : vector<8xf16>
    %47 = vector.shuffle %46, %46 [0, 1, 4, 5] : vector<8xf16>, vector<8xf16>
    %48 = vector.shuffle %46, %46 [2, 3, 6, 7] : vector<8xf16>, vector<8xf16>
    %49 = machine.load_matrix "ldmatrix.x4" [%37] {immediate = 10240 : i64} : vector<8xf16>
    %50 = vector.shuffle %49, %49 [0, 1, 4, 5] : vector<8xf16>, vector<8xf16>
    %51 = vector.shuffle %49, %49 [2, 3, 6, 7] : vector<8xf16>, vector<8xf16>
    %52 = machine.load_matrix "ldmatrix.x4" [%37] {immediate = 11264 : i64} : vector<8xf16>
    %53 = vector.shuffle %52, %52 [0, 1, 4, 5] : vector<8xf16>, vector<8xf16>
    %54 = vector.shuffle %52, %52 [2, 3, 6, 7] : vector<8xf16>, vector<8xf16>
    %55 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %39, %44, %acc00 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %56 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %39, %45, %acc01 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %57 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %39, %47, %acc02 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %58 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %39, %48, %acc03 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %59 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %39, %50, %acc04 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %60 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %39, %51, %acc05 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %61 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %39, %53, %acc06 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %62 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %39, %54, %acc07 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %63 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %40, %44, %acc10 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %64 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %40, %45, %acc11 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %65 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %40, %47, %acc12 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %66 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %40, %48, %acc13 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %67 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %40, %50, %acc14 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %68 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %40, %51, %acc15 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %69 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %40, %53, %acc16 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %70 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %40, %54, %acc17 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %71 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %41, %44, %acc20 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %72 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %41, %45, %acc21 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %73 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %41, %47, %acc22 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %74 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %41, %48, %acc23 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %75 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %41, %50, %acc24 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %76 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %41, %51, %acc25 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %77 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %41, %53, %acc26 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %78 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %41, %54, %acc27 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %79 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %42, %44, %acc30 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %80 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %42, %45, %acc31 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %81 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %42, %47, %acc32 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %82 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %42, %48, %acc33 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %83 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %42, %50, %acc34 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %84 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %42, %51, %acc35 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %85 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %42, %53, %acc36 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %86 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %42, %54, %acc37 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %87 = machine.load_matrix "ldmatrix.x4" [%36] {immediate = 32 : i64} : vector<8xf16>
    %88 = machine.load_matrix "ldmatrix.x4" [%36] {immediate = 1056 : i64} : vector<8xf16>
    %89 = machine.load_matrix "ldmatrix.x4" [%36] {immediate = 2080 : i64} : vector<8xf16>
    %90 = machine.load_matrix "ldmatrix.x4" [%36] {immediate = 3104 : i64} : vector<8xf16>
    %91 = machine.load_matrix "ldmatrix.x4" [%37] {immediate = 8224 : i64} : vector<8xf16>
    %92 = vector.shuffle %91, %91 [0, 1, 4, 5] : vector<8xf16>, vector<8xf16>
    %93 = vector.shuffle %91, %91 [2, 3, 6, 7] : vector<8xf16>, vector<8xf16>
    %94 = machine.load_matrix "ldmatrix.x4" [%37] {immediate = 9248 : i64} : vector<8xf16>
    %95 = vector.shuffle %94, %94 [0, 1, 4, 5] : vector<8xf16>, vector<8xf16>
    %96 = vector.shuffle %94, %94 [2, 3, 6, 7] : vector<8xf16>, vector<8xf16>
    %97 = machine.load_matrix "ldmatrix.x4" [%37] {immediate = 10272 : i64} : vector<8xf16>
    %98 = vector.shuffle %97, %97 [0, 1, 4, 5] : vector<8xf16>, vector<8xf16>
    %99 = vector.shuffle %97, %97 [2, 3, 6, 7] : vector<8xf16>, vector<8xf16>
    %100 = machine.load_matrix "ldmatrix.x4" [%37] {immediate = 11296 : i64} : vector<8xf16>
    %101 = vector.shuffle %100, %100 [0, 1, 4, 5] : vector<8xf16>, vector<8xf16>
    %102 = vector.shuffle %100, %100 [2, 3, 6, 7] : vector<8xf16>, vector<8xf16>
    %103 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %87, %92, %55 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %104 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %87, %93, %56 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %105 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %87, %95, %57 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %106 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %87, %96, %58 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %107 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %87, %98, %59 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %108 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %87, %99, %60 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %109 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %87, %101, %61 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %110 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %87, %102, %62 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %111 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %88, %92, %63 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %112 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %88, %93, %64 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %113 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %88, %95, %65 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %114 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %88, %96, %66 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %115 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %88, %98, %67 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %116 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %88, %99, %68 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %117 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %88, %101, %69 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %118 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %88, %102, %70 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %119 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %89, %92, %71 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %120 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %89, %93, %72 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %121 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %89, %95, %73 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %122 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %89, %96, %74 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %123 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %89, %98, %75 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %124 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %89, %99, %76 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %125 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %89, %101, %77 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %126 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %89, %102, %78 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %127 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %90, %92, %79 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %128 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %90, %93, %80 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %129 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %90, %95, %81 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %130 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %90, %96, %82 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %131 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %90, %98, %83 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %132 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %90, %99, %84 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %133 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %90, %101, %85 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    %134 = machine.mma "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" %90, %102, %86 : vector<8xf16>, vector<4xf16>, vector<4xf32>
    machine.barrier
    scf.yield %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127, %128, %129, %130, %131, %132, %133, %134 : vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  %135 = arith.constant 4194304 : i64
  %136 = arith.constant 0 : i64
  %137 = machine.buffer %c[%136], %135
  %138 = arith.muli %2, %c524288 : i32
  %139 = arith.muli %3, %c512 : i32
  %140 = arith.addi %138, %139 : i32
  %141 = arith.muli %32, %c262144 : i32
  %142 = arith.addi %140, %141 : i32
  %143 = arith.muli %33, %c256 : i32
  %144 = arith.addi %142, %143 : i32
  %145 = arith.shrui %0, %c2 : i32
  %146 = arith.andi %0, %c3 : i32
  %147 = arith.muli %145, %c4096 : i32
  %148 = arith.muli %146, %c8 : i32
  %149 = arith.addi %147, %148 : i32
  %150 = vector.extract_strided_slice %r#0 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %150, %137 [%149, %144] {alignment = 8 : i64} : vector<2xf32>
  %151 = vector.extract_strided_slice %r#0 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %151, %137 [%149, %144] {immediate = 32768 : i64, alignment = 8 : i64} : vector<2xf32>
  %152 = vector.extract_strided_slice %r#1 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %152, %137 [%149, %144] {immediate = 32 : i64, alignment = 8 : i64} : vector<2xf32>
  %153 = vector.extract_strided_slice %r#1 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %153, %137 [%149, %144] {immediate = 32800 : i64, alignment = 8 : i64} : vector<2xf32>
  %154 = vector.extract_strided_slice %r#2 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %154, %137 [%149, %144] {immediate = 64 : i64, alignment = 8 : i64} : vector<2xf32>
  %155 = vector.extract_strided_slice %r#2 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %155, %137 [%149, %144] {immediate = 32832 : i64, alignment = 8 : i64} : vector<2xf32>
  %156 = vector.extract_strided_slice %r#3 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %156, %137 [%149, %144] {immediate = 96 : i64, alignment = 8 : i64} : vector<2xf32>
  %157 = vector.extract_strided_slice %r#3 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %157, %137 [%149, %144] {immediate = 32864 : i64, alignment = 8 : i64} : vector<2xf32>
  %158 = vector.extract_strided_slice %r#4 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %158, %137 [%149, %144] {immediate = 128 : i64, alignment = 8 : i64} : vector<2xf32>
  %159 = vector.extract_strided_slice %r#4 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %159, %137 [%149, %144] {immediate = 32896 : i64, alignment = 8 : i64} : vector<2xf32>
  %160 = vector.extract_strided_slice %r#5 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %160, %137 [%149, %144] {immediate = 160 : i64, alignment = 8 : i64} : vector<2xf32>
  %161 = vector.extract_strided_slice %r#5 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %161, %137 [%149, %144] {immediate = 32928 : i64, alignment = 8 : i64} : vector<2xf32>
  %162 = vector.extract_strided_slice %r#6 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %162, %137 [%149, %144] {immediate = 192 : i64, alignment = 8 : i64} : vector<2xf32>
  %163 = vector.extract_strided_slice %r#6 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %163, %137 [%149, %144] {immediate = 32960 : i64, alignment = 8 : i64} : vector<2xf32>
  %164 = vector.extract_strided_slice %r#7 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %164, %137 [%149, %144] {immediate = 224 : i64, alignment = 8 : i64} : vector<2xf32>
  %165 = vector.extract_strided_slice %r#7 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %165, %137 [%149, %144] {immediate = 32992 : i64, alignment = 8 : i64} : vector<2xf32>
  %166 = vector.extract_strided_slice %r#8 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %166, %137 [%149, %144] {immediate = 65536 : i64, alignment = 8 : i64} : vector<2xf32>
  %167 = vector.extract_strided_slice %r#8 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %167, %137 [%149, %144] {immediate = 98304 : i64, alignment = 8 : i64} : vector<2xf32>
  %168 = vector.extract_strided_slice %r#9 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %168, %137 [%149, %144] {immediate = 65568 : i64, alignment = 8 : i64} : vector<2xf32>
  %169 = vector.extract_strided_slice %r#9 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %169, %137 [%149, %144] {immediate = 98336 : i64, alignment = 8 : i64} : vector<2xf32>
  %170 = vector.extract_strided_slice %r#10 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %170, %137 [%149, %144] {immediate = 65600 : i64, alignment = 8 : i64} : vector<2xf32>
  %171 = vector.extract_strided_slice %r#10 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %171, %137 [%149, %144] {immediate = 98368 : i64, alignment = 8 : i64} : vector<2xf32>
  %172 = vector.extract_strided_slice %r#11 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %172, %137 [%149, %144] {immediate = 65632 : i64, alignment = 8 : i64} : vector<2xf32>
  %173 = vector.extract_strided_slice %r#11 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %173, %137 [%149, %144] {immediate = 98400 : i64, alignment = 8 : i64} : vector<2xf32>
  %174 = vector.extract_strided_slice %r#12 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %174, %137 [%149, %144] {immediate = 65664 : i64, alignment = 8 : i64} : vector<2xf32>
  %175 = vector.extract_strided_slice %r#12 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %175, %137 [%149, %144] {immediate = 98432 : i64, alignment = 8 : i64} : vector<2xf32>
  %176 = vector.extract_strided_slice %r#13 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %176, %137 [%149, %144] {immediate = 65696 : i64, alignment = 8 : i64} : vector<2xf32>
  %177 = vector.extract_strided_slice %r#13 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %177, %137 [%149, %144] {immediate = 98464 : i64, alignment = 8 : i64} : vector<2xf32>
  %178 = vector.extract_strided_slice %r#14 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %178, %137 [%149, %144] {immediate = 65728 : i64, alignment = 8 : i64} : vector<2xf32>
  %179 = vector.extract_strided_slice %r#14 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %179, %137 [%149, %144] {immediate = 98496 : i64, alignment = 8 : i64} : vector<2xf32>
  %180 = vector.extract_strided_slice %r#15 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %180, %137 [%149, %144] {immediate = 65760 : i64, alignment = 8 : i64} : vector<2xf32>
  %181 = vector.extract_strided_slice %r#15 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %181, %137 [%149, %144] {immediate = 98528 : i64, alignment = 8 : i64} : vector<2xf32>
  %182 = vector.extract_strided_slice %r#16 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %182, %137 [%149, %144] {immediate = 131072 : i64, alignment = 8 : i64} : vector<2xf32>
  %183 = vector.extract_strided_slice %r#16 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %183, %137 [%149, %144] {immediate = 163840 : i64, alignment = 8 : i64} : vector<2xf32>
  %184 = vector.extract_strided_slice %r#17 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %184, %137 [%149, %144] {immediate = 131104 : i64, alignment = 8 : i64} : vector<2xf32>
  %185 = vector.extract_strided_slice %r#17 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %185, %137 [%149, %144] {immediate = 163872 : i64, alignment = 8 : i64} : vector<2xf32>
  %186 = vector.extract_strided_slice %r#18 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %186, %137 [%149, %144] {immediate = 131136 : i64, alignment = 8 : i64} : vector<2xf32>
  %187 = vector.extract_strided_slice %r#18 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %187, %137 [%149, %144] {immediate = 163904 : i64, alignment = 8 : i64} : vector<2xf32>
  %188 = vector.extract_strided_slice %r#19 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %188, %137 [%149, %144] {immediate = 131168 : i64, alignment = 8 : i64} : vector<2xf32>
  %189 = vector.extract_strided_slice %r#19 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %189, %137 [%149, %144] {immediate = 163936 : i64, alignment = 8 : i64} : vector<2xf32>
  %190 = vector.extract_strided_slice %r#20 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %190, %137 [%149, %144] {immediate = 131200 : i64, alignment = 8 : i64} : vector<2xf32>
  %191 = vector.extract_strided_slice %r#20 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %191, %137 [%149, %144] {immediate = 163968 : i64, alignment = 8 : i64} : vector<2xf32>
  %192 = vector.extract_strided_slice %r#21 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %192, %137 [%149, %144] {immediate = 131232 : i64, alignment = 8 : i64} : vector<2xf32>
  %193 = vector.extract_strided_slice %r#21 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %193, %137 [%149, %144] {immediate = 164000 : i64, alignment = 8 : i64} : vector<2xf32>
  %194 = vector.extract_strided_slice %r#22 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %194, %137 [%149, %144] {immediate = 131264 : i64, alignment = 8 : i64} : vector<2xf32>
  %195 = vector.extract_strided_slice %r#22 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %195, %137 [%149, %144] {immediate = 164032 : i64, alignment = 8 : i64} : vector<2xf32>
  %196 = vector.extract_strided_slice %r#23 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %196, %137 [%149, %144] {immediate = 131296 : i64, alignment = 8 : i64} : vector<2xf32>
  %197 = vector.extract_strided_slice %r#23 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %197, %137 [%149, %144] {immediate = 164064 : i64, alignment = 8 : i64} : vector<2xf32>
  %198 = vector.extract_strided_slice %r#24 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %198, %137 [%149, %144] {immediate = 196608 : i64, alignment = 8 : i64} : vector<2xf32>
  %199 = vector.extract_strided_slice %r#24 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %199, %137 [%149, %144] {immediate = 229376 : i64, alignment = 8 : i64} : vector<2xf32>
  %200 = vector.extract_strided_slice %r#25 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %200, %137 [%149, %144] {immediate = 196640 : i64, alignment = 8 : i64} : vector<2xf32>
  %201 = vector.extract_strided_slice %r#25 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %201, %137 [%149, %144] {immediate = 229408 : i64, alignment = 8 : i64} : vector<2xf32>
  %202 = vector.extract_strided_slice %r#26 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %202, %137 [%149, %144] {immediate = 196672 : i64, alignment = 8 : i64} : vector<2xf32>
  %203 = vector.extract_strided_slice %r#26 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %203, %137 [%149, %144] {immediate = 229440 : i64, alignment = 8 : i64} : vector<2xf32>
  %204 = vector.extract_strided_slice %r#27 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %204, %137 [%149, %144] {immediate = 196704 : i64, alignment = 8 : i64} : vector<2xf32>
  %205 = vector.extract_strided_slice %r#27 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %205, %137 [%149, %144] {immediate = 229472 : i64, alignment = 8 : i64} : vector<2xf32>
  %206 = vector.extract_strided_slice %r#28 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %206, %137 [%149, %144] {immediate = 196736 : i64, alignment = 8 : i64} : vector<2xf32>
  %207 = vector.extract_strided_slice %r#28 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %207, %137 [%149, %144] {immediate = 229504 : i64, alignment = 8 : i64} : vector<2xf32>
  %208 = vector.extract_strided_slice %r#29 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %208, %137 [%149, %144] {immediate = 196768 : i64, alignment = 8 : i64} : vector<2xf32>
  %209 = vector.extract_strided_slice %r#29 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %209, %137 [%149, %144] {immediate = 229536 : i64, alignment = 8 : i64} : vector<2xf32>
  %210 = vector.extract_strided_slice %r#30 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %210, %137 [%149, %144] {immediate = 196800 : i64, alignment = 8 : i64} : vector<2xf32>
  %211 = vector.extract_strided_slice %r#30 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %211, %137 [%149, %144] {immediate = 229568 : i64, alignment = 8 : i64} : vector<2xf32>
  %212 = vector.extract_strided_slice %r#31 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %212, %137 [%149, %144] {immediate = 196832 : i64, alignment = 8 : i64} : vector<2xf32>
  %213 = vector.extract_strided_slice %r#31 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  machine.store %213, %137 [%149, %144] {immediate = 229600 : i64, alignment = 8 : i64} : vector<2xf32>
}
