// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-synchronize))' | FileCheck %s

!row = !wave.tile<[M], f32, "lane = (64 M 1), wave = (2 M 64)">
!other = !wave.tile<[M], f32, "lane = (64 M 2), wave = (2 M 1)">
!tile = !wave.memory<["M"], f32, shared, "[M 128]">

// What the write left behind is read on one way and after both: one barrier before the conditional serves them all.
// CHECK-LABEL: wave.kernel @both
// CHECK: wave.write
// CHECK-NEXT: wave.wait shared, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.conditional
// CHECK-NOT: wave.barrier
// CHECK: wave.kernel @settled
wave.kernel @both attributes {arg_names = ["a"], constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 128 : i64}, dynamic = ["T"], form = 3 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>):
  %s = wave.allocate {offset = 0 : i64} : !tile
  %0 = wave.fill 1.0 : f32 -> !row
  wave.write %0, %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 0, role = shared_store>} : !row, !tile
  %1 = wave.conditional <"T < 2"> -> !other {
    %2 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 1, role = shared_load>} : !tile -> !other
    wave.yield %2 : !other
  } else {
    %2 = wave.fill 2.0 : f32 -> !other
    wave.yield %2 : !other
  }
  %3 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 2, role = shared_load>} : !tile -> !other
  %4 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 3, role = shared_load>} : !tile -> !other
}

// Both ways have a barrier; each gets the wait without which it orders nothing.
// CHECK: wave.conditional
// CHECK-NEXT: wave.wait shared, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: } else {
// CHECK-NEXT: wave.wait shared, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: }
// CHECK-NEXT: wave.read
wave.kernel @settled attributes {arg_names = ["a"], constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 128 : i64}, dynamic = ["T"], form = 3 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>):
  %s = wave.allocate {offset = 0 : i64} : !tile
  %0 = wave.fill 1.0 : f32 -> !row
  wave.write %0, %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 0, role = shared_store>} : !row, !tile
  wave.conditional <"T < 2"> {
    wave.barrier
  } else {
    wave.barrier
  }
  %1 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 1, role = shared_load>} : !tile -> !other
}

// Each wave reads what it wrote itself: its own accesses are in order.
// CHECK-LABEL: wave.kernel @own
// CHECK-NOT: wave.barrier
// CHECK-NOT: wave.wait
// CHECK-LABEL: wave.kernel @lanes
wave.kernel @own attributes {arg_names = ["a"], constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 128 : i64}, dynamic = [], form = 3 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>):
  %s = wave.allocate {offset = 0 : i64} : !tile
  %0 = wave.fill 1.0 : f32 -> !row
  wave.write %0, %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 0, role = shared_store>} : !row, !tile
  %1 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 1, role = shared_load>}
      : !tile -> !wave.tile<[M], f32, "reg = (1 M 1), lane = (2 M 32)(32 M 1), wave = (2 M 64)">
}

// Where lanes of a wave are not in lockstep, what another lane wrote is another's.
// CHECK: wave.write
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.read
wave.kernel @lanes attributes {arg_names = ["a"], constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"32">>],
    subs = {M = 128 : i64}, dynamic = [], form = 3 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M"], f32, global>):
  %s = wave.allocate {offset = 0 : i64} : !tile
  %0 = wave.fill 1.0 : f32 -> !wave.tile<[M], f32, "lane = (32 M 1), wave = (4 M 32)">
  wave.write %0, %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 0, role = shared_store>}
      : !wave.tile<[M], f32, "lane = (32 M 1), wave = (4 M 32)">, !tile
  %1 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 1, role = shared_load>}
      : !tile -> !wave.tile<[M], f32, "lane = (2 M 16)(16 M 1), wave = (4 M 32)">
}

// That holds for a workgroup of one wave, too.
// CHECK-LABEL: wave.kernel @one_wave
// CHECK: wave.write
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.read
wave.kernel @one_wave attributes {arg_names = ["a"], constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>],
    subs = {M = 128 : i64}, dynamic = [], form = 3 : i32, target = "sm_90a"} {
^bb0(%a: !wave.memory<["M"], f32, global>):
  %s = wave.allocate {offset = 0 : i64} : !tile
  %0 = wave.fill 1.0 : f32 -> !wave.tile<[M], f32, "reg = (4 M 32), lane = (32 M 1)">
  wave.write %0, %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 0, role = shared_store>}
      : !wave.tile<[M], f32, "reg = (4 M 32), lane = (32 M 1)">, !tile
  %1 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 1, role = shared_load>}
      : !tile -> !wave.tile<[M], f32, "reg = (4 M 1), lane = (32 M 4)">
}
