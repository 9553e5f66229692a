// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-decompose-ops))' | FileCheck %s

// The first place of an element that equals the largest, or that is no number; a row begins with a candidate.
// CHECK-LABEL: wave.kernel @largest
// CHECK: %[[X:.*]] = wave.read
// CHECK: %[[V:.*]] = wave.reduce max %[[X]] init %[[V0:.*]] along "N" {tags = ["find"]}
// CHECK: %[[AT:.*]] = wave.self_index "N"
// CHECK: %[[EQ:.*]] = wave.compare eq %[[X]], %[[V]]
// CHECK: %[[NAN:.*]] = wave.compare ne %[[X]], %[[X]]
// CHECK: %[[HERE:.*]] = wave.binary bit_or %[[EQ]], %[[NAN]]
// CHECK: %[[NOWHERE:.*]] = wave.fill 2147483647 : i32
// CHECK: %[[P:.*]] = wave.select %[[HERE]], %[[AT]], %[[NOWHERE]]
// CHECK: wave.compare eq %[[V0]], %[[V]]
// CHECK: %[[P0:.*]] = wave.select
// CHECK: %[[I:.*]] = wave.reduce min %[[P]] init %[[P0]] along "N" {tags = ["find"]}
// CHECK: wave.write %[[V]]
// CHECK: wave.write %[[I]]
wave.kernel @largest attributes {arg_names = ["a", "v", "i"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 64 : i64, N = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %v: !wave.memory<["M"], f32, global>, %i: !wave.memory<["M"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.read %v : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  %2 = wave.read %i : !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  %3, %4 = wave.arg_reduce max %0 init %1, %2 along "N" {tags = ["find"]} : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>, !wave.tile<[M], i32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], i32>)
  wave.write %3, %v : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
  wave.write %4, %i : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global>
}

// -----

// Integers are all numbers.
// CHECK-LABEL: wave.kernel @smallest
// CHECK: wave.reduce min
// CHECK: wave.compare eq
// CHECK-NOT: wave.compare ne
// CHECK: wave.fill 9223372036854775807 : i64
// CHECK: wave.reduce min
wave.kernel @smallest attributes {arg_names = ["a", "i"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 64 : i64, N = 64 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], i8, global>, %i: !wave.memory<["M"], i64, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], i8, global> -> !wave.tile<[M, N], i8>
  %1, %2 = wave.arg_reduce min %0 along "N" : (!wave.tile<[M, N], i8>) -> (!wave.tile<[M], i8>, !wave.tile<[M], i64>)
  wave.write %2, %i : !wave.tile<[M], i64>, !wave.memory<["M"], i64, global>
}

// -----

// Elements that move are written to a tile in shared memory and read from it, 0 beyond the end where they leave a place.
// CHECK-LABEL: wave.kernel @moved
// CHECK: %[[TILE:.*]] = wave.allocate : <["M", "N"], f32, shared>
// CHECK: %[[X:.*]] = wave.read %{{.*}} : <["M", "N"], f32, global>
// CHECK: %[[IN:.*]] = wave.apply_expr
// CHECK: %[[ZERO:.*]] = wave.fill 0.000000e+00
// CHECK: %[[Y:.*]] = wave.select %[[IN]], %[[X]], %[[ZERO]]
// CHECK: wave.write %[[Y]], %[[TILE]]
// CHECK: wave.read %[[TILE]] {indices = [#wave.expr<"$index0">, #wave.expr<"2*$index1">]}
// CHECK-NOT: wave.rearrange
wave.kernel @moved attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>],
    subs = {M = 64 : i64, N = 100 : i64, H = 32 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "H"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.rearrange %0 {indices = [#wave.expr<"$index0">, #wave.expr<"2*$index1">]} : !wave.tile<[M, N], f32> -> !wave.tile<[M, H], f32>
  wave.write %1, %b : !wave.tile<[M, H], f32>, !wave.memory<["M", "H"], f32, global>
}

// -----

// Each element's place is the number of those before it; the hint goes.
// CHECK-LABEL: wave.kernel @sorted
// CHECK-NOT: wave.prefetch
// CHECK: wave.write %[[KEYS:.*]], %[[ROW:.*]] :
// CHECK: %[[RANK:.*]] = wave.iterate "SORT_N"
// CHECK: wave.read %[[ROW]][%{{.*}}] {indices = [#wave.expr<"$index0">, #wave.expr<"$0">]} : <["M", "N"], i32, shared> -> <[M], i32>
// CHECK: wave.yield
// CHECK: wave.write %{{.*}}, %[[OUT:.*]] using %[[RANK]]
// CHECK: wave.read %[[OUT]]
wave.kernel @sorted attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>],
    subs = {M = 64 : i64, N = 16 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], i32, global>, %b: !wave.memory<["M", "N"], i32, global>):
  wave.prefetch %a : !wave.memory<["M", "N"], i32, global> -> !wave.tile<[M, N], i32>
  %0 = wave.read %a : !wave.memory<["M", "N"], i32, global> -> !wave.tile<[M, N], i32>
  %1 = wave.sort ascending %0 along "N" into "N" : (!wave.tile<[M, N], i32>) -> !wave.tile<[M, N], i32>
  wave.write %1, %b : !wave.tile<[M, N], i32>, !wave.memory<["M", "N"], i32, global>
}

// -----

// Few of many leave the row one after the other.
// CHECK-LABEL: wave.kernel @first
// CHECK: wave.iterate "SORT_N"({{.*}}) {count = #wave.expr<"2">}
// CHECK: wave.reduce max
// CHECK: wave.reduce min
wave.kernel @first attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>],
    subs = {M = 64 : i64, N = 16 : i64, K = 2 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "K"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.sort descending %0 along "N" into "K" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, K], f32>
  wave.write %1, %b : !wave.tile<[M, K], f32>, !wave.memory<["M", "K"], f32, global>
}

// -----

// Sums of 8-bit floats are short: each product begins anew and is added in f32.
// CHECK-LABEL: wave.kernel @sums
// CHECK: ^bb0(%{{.*}}: index, %[[ACC:.*]]: !wave.tile<[M, N], f32>):
// CHECK: %[[ZERO:.*]] = wave.fill 0.000000e+00 : f32
// CHECK: %[[TILE:.*]] = wave.mma %{{.*}}, %{{.*}}, %[[ZERO]]
// CHECK: %[[SUM:.*]] = wave.binary add %[[ACC]], %[[TILE]]
// CHECK: wave.yield %[[SUM]]
wave.kernel @sums attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"128">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 64 : i64, N = 64 : i64, K = 256 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M", "K"], f8E4M3FN, shared>, %b: !wave.memory<["N", "K"], f8E5M2, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f8E4M3FN, shared> -> !wave.tile<[M, K], f8E4M3FN>
    %1 = wave.read %b : !wave.memory<["N", "K"], f8E5M2, shared> -> !wave.tile<[N, K], f8E5M2>
    %2 = wave.mma %0, %1, %acc {kind = "F32_64x64x32_F8"} : !wave.tile<[M, K], f8E4M3FN>, !wave.tile<[N, K], f8E5M2>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// The author accepts them.
// CHECK-LABEL: wave.kernel @accepted
// CHECK: ^bb0(%{{.*}}: index, %[[ACC:.*]]: !wave.tile<[M, N], f32>):
// CHECK: %[[SUM:.*]] = wave.mma %{{.*}}, %{{.*}}, %[[ACC]]
// CHECK-NEXT: wave.yield %[[SUM]]
wave.kernel @accepted attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"128">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 64 : i64, N = 64 : i64, K = 256 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", short_sums} {
^bb0(%a: !wave.memory<["M", "K"], f8E4M3FN, shared>, %b: !wave.memory<["N", "K"], f8E5M2, shared>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb1(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f8E4M3FN, shared> -> !wave.tile<[M, K], f8E4M3FN>
    %1 = wave.read %b : !wave.memory<["N", "K"], f8E5M2, shared> -> !wave.tile<[N, K], f8E5M2>
    %2 = wave.mma %0, %1, %acc {kind = "F32_64x64x32_F8"} : !wave.tile<[M, K], f8E4M3FN>, !wave.tile<[N, K], f8E5M2>, !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
