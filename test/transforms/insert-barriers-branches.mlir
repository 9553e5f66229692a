// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-insert-barriers))' | FileCheck %s

!row = !wave.tile<[M], f32, "lane = (64 M 1), wave = (2 M 64)">
!tile = !wave.memory<["M"], f32, shared, "[M 128]">

// What the write left pending is pending in both blocks; the block with a barrier settles it only for itself, so the
// read after them needs one of its own. A barrier for some waves settles nothing.
// CHECK-LABEL: wave.kernel @both
// CHECK: wave.write
// CHECK-NEXT: wave.conditional
// CHECK-NEXT: wave.wait shared, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.read
// CHECK: } else {
// CHECK-NEXT: wave.barrier {first_wave
// CHECK-NEXT: wave.fill
// CHECK: }
// CHECK-NEXT: wave.wait shared, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.read
// CHECK-NOT: wave.barrier
wave.kernel @both attributes {arg_names = ["a"], constraints = [], subs = {M = 128 : i64}, dynamic = ["T"], form = 3 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>):
  %s = wave.allocate {offset = 0 : i64} : !tile
  %0 = wave.fill 1.0 : f32 -> !row
  wave.write %0, %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 0, role = shared_store>} : !row, !tile
  %1 = wave.conditional <"T < 2"> -> !row {
    %2 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 1, role = shared_load>} : !tile -> !row
    wave.yield %2 : !row
  } else {
    wave.barrier {first_wave = 0 : i64, last_wave = 1 : i64}
    %2 = wave.fill 2.0 : f32 -> !row
    wave.yield %2 : !row
  }
  %3 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 2, role = shared_load>} : !tile -> !row
  %4 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 3, role = shared_load>} : !tile -> !row
}

// Both blocks end with a barrier after the write: nothing is pending after them.
// CHECK-LABEL: wave.kernel @settled
// CHECK: wave.conditional
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: } else {
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: }
// CHECK-NEXT: wave.read
wave.kernel @settled attributes {arg_names = ["a"], constraints = [], subs = {M = 128 : i64}, dynamic = ["T"], form = 3 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>):
  %s = wave.allocate {offset = 0 : i64} : !tile
  %0 = wave.fill 1.0 : f32 -> !row
  wave.write %0, %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 0, role = shared_store>} : !row, !tile
  wave.conditional <"T < 2"> {
    wave.barrier
  } else {
    wave.barrier
  }
  %1 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 1, role = shared_load>} : !tile -> !row
}
