// RUN: soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-synchronize))' | FileCheck %s

!global = !wave.memory<["M"], f32, global>
!shared = !wave.memory<["M"], f32, shared, "[M 128]">
!line = !wave.tile<[M], f32, "reg = (1 M 1), lane = (32 M 1), wave = (4 M 32)">
!other = !wave.tile<[M], f32, "reg = (1 M 1), lane = (32 M 4), wave = (4 M 1)">

// The author's barrier counts: what it protects is complete before it, and no other is needed before the read. A copy
// over what was read needs one more, which has nothing to complete; the next read's has.
// CHECK-LABEL: wave.kernel @author
// CHECK: wave.copy
// CHECK-NEXT: wave.commit cp_async
// CHECK-NEXT: wave.wait cp_async, 0
// CHECK-NEXT: wave.barrier {tags = ["mine"]}
// CHECK-NEXT: wave.read
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.copy
// CHECK-NEXT: wave.commit cp_async
// CHECK-NEXT: wave.wait cp_async, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.read
wave.kernel @author attributes {
    arg_names = ["a"], constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"32">>],
    subs = {M = 1024 : i64}, dynamic = [], form = 3 : i32, target = "sm_90a"} {
^bb0(%a: !global):
  %wg = wave.workgroup_id 0
  %s = wave.allocate {offset = 0 : i64} : !shared
  wave.copy %a[%wg], %s {elements_per_thread = 1 : i64, starts = [#wave.expr<"128*$0">], origin = #wave.origin<op = 0, role = copy_async>} : !line, !global, !shared
  wave.barrier {tags = ["mine"]}
  %0 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 1, role = shared_load>} : !shared -> !other
  wave.copy %a[%wg], %s {elements_per_thread = 1 : i64, starts = [#wave.expr<"128*$0">], origin = #wave.origin<op = 2, role = copy_async>} : !line, !global, !shared
  %1 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 3, role = shared_load>} : !shared -> !other
}

// One iteration's copies are still under way when the next begins: its first barrier completes them.
// CHECK-LABEL: wave.kernel @carried
// CHECK: wave.iterate
// CHECK: wave.wait vm, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.read
// CHECK-NEXT: wave.wait shared, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.copy
wave.kernel @carried attributes {
    arg_names = ["a"], constraints = [#wave.workgroup<dim = "M", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>,
                                      #wave.tiling<dim = "K", tile = <"1">>],
    subs = {M = 1024 : i64, K = 8 : i64}, dynamic = [], form = 3 : i32, target = "gfx942"} {
^bb0(%a: !global):
  %wg = wave.workgroup_id 0
  %s = wave.allocate {offset = 0 : i64} : !shared
  wave.iterate "K" () {count = #wave.expr<"8">} : () -> () {
    %0 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 1, role = shared_load>}
        : !shared -> !wave.tile<[M], f32, "reg = (1 M 1), lane = (64 M 2), wave = (2 M 1)">
    wave.copy %a[%wg], %s {elements_per_thread = 1 : i64, starts = [#wave.expr<"128*$0">], origin = #wave.origin<op = 2, role = copy_async>}
        : !wave.tile<[M], f32, "reg = (1 M 1), lane = (64 M 1), wave = (2 M 64)">, !global, !shared
  }
}

// A tile of a batch has one place along the batch: its rows are told apart along the next dimension, so that copies of
// different rows do not wait for each other.
!batch = !wave.memory<["B", "M", "K"], f32, global>
!tile = !wave.memory<["B", "M", "K"], f32, shared, "[B 1, M 4, K 32] swizzle(8, 1, 4)">
!first = !wave.tile<[B, M, K], f32, "reg = (1 K 1), lane = (32 K 1)">
!second = !wave.tile<[B, M, K], f32, "reg = (1 K 1), lane = (32 K 1), offset = (M 1)">
!both = !wave.tile<[B, M, K], f32, "reg = (4 M 1)(2 K 16), lane = (16 K 1)(2 _ 0)">
// CHECK-LABEL: wave.kernel @batch
// CHECK: wave.copy
// CHECK-NEXT: wave.copy
// CHECK-NEXT: wave.commit cp_async
// CHECK-NEXT: wave.wait cp_async, 0
// CHECK-NEXT: wave.barrier
// CHECK-NEXT: wave.read
wave.kernel @batch attributes {
    arg_names = ["a"], constraints = [#wave.workgroup<dim = "B", tile = <"1">, workgroupDim = 0>, #wave.tiling<dim = "M", tile = <"4">>, #wave.workgroup<dim = "K", tile = <"32">, workgroupDim = 1>],
    subs = {B = 4 : i64, M = 32 : i64, K = 32 : i64}, dynamic = [], form = 3 : i32, target = "sm_90a"} {
^bb0(%a: !batch):
  %wg = wave.workgroup_id 0
  %s = wave.allocate {offset = 0 : i64} : !tile
  wave.iterate "M" () {count = #wave.expr<"8">} : () -> () {
  ^bb1(%m: index):
    wave.copy %a[%wg, %m], %s {elements_per_thread = 1 : i64, starts = [#wave.expr<"$0">, #wave.expr<"4*$1">, #wave.expr<"0">], origin = #wave.origin<op = 0, role = copy_async>} : !first, !batch, !tile
    wave.copy %a[%wg, %m], %s {elements_per_thread = 1 : i64, starts = [#wave.expr<"$0">, #wave.expr<"4*$1">, #wave.expr<"0">], origin = #wave.origin<op = 1, role = copy_async>} : !second, !batch, !tile
    %0 = wave.read %s {starts = [#wave.expr<"0">, #wave.expr<"0">, #wave.expr<"0">], origin = #wave.origin<op = 2, role = shared_load>} : !tile -> !both
  }
}
