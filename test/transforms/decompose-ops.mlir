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
