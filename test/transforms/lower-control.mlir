// RUN: soliton-opt %s --wave-lower-to-machine --cse --split-input-file --verify-diagnostics | FileCheck %s

!row = !wave.tile<[M], f32, "lane = (64 M 1), wave = (8 M 64)">
!tile = !wave.memory<["M"], f32, shared, "[M 512]">

// A conditional is a branch; the addresses and buffers of both blocks are made before it.
// CHECK-LABEL: machine.kernel @guarded
// CHECK-SAME: keep_order
// CHECK: ^bb0(%{{.*}}: !machine.ptr, %{{.*}}: !machine.ptr, %[[T:.*]]: i32):
// CHECK: %[[C:.*]] = arith.cmpi slt, %{{.*}}, %[[T]] : i32
// CHECK-DAG: %[[A:.*]] = machine.buffer
// CHECK-DAG: %[[B:.*]] = machine.buffer
// CHECK: %[[R:.*]] = scf.if %[[C]] -> (vector<1xf32>) {
// CHECK-NEXT: %[[X:.*]] = machine.load %[[A]]
// CHECK-NEXT: scf.yield %[[X]]
// CHECK-NEXT: } else {
// CHECK: scf.for
// CHECK: machine.load %[[B]]
// CHECK: scf.yield
// CHECK: }
// CHECK: machine.store %[[R]], %[[B]]
// A number is no branch at all, and neither is what the facts decide.
// CHECK-NEXT: machine.priority 1
// CHECK-NEXT: machine.priority 3
// CHECK-NOT: scf.if
wave.kernel @guarded attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"512">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 512 : i64}, dynamic = ["T"], form = 5 : i32, target = "gfx942", keep_order} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.conditional <"T >= 3"> -> !row {
    %1 = wave.read %a {starts = [#wave.expr<"0">]} : !wave.memory<["M"], f32, global> -> !row
    wave.yield %1 : !row
  } else {
    %1 = wave.fill 1.0 : f32 -> !row
    %2 = wave.iterate "M" (%1) {count = #wave.expr<"T">} : (!row) -> !row {
    ^bb1(%x: !row):
      %3 = wave.read %b {starts = [#wave.expr<"0">]} : !wave.memory<["M"], f32, global> -> !row
      %4 = wave.binary add %x, %3 : !row, !row -> !row
      wave.yield %4 : !row
    }
    wave.yield %2 : !row
  }
  wave.write %0, %b {starts = [#wave.expr<"0">]} : !row, !wave.memory<["M"], f32, global>
  wave.conditional <"1"> {
    wave.priority 1
  } else {
    wave.priority 2
  }
  %wg = wave.workgroup_id 0
  wave.conditional <"$0 < 1"> [%wg] {
    wave.priority 3
  } else {
    wave.priority 0
  }
}

// -----

// One to one, and in place; a barrier for some waves is a branch on the wave's number.
// CHECK-LABEL: machine.kernel @time
// CHECK-DAG: %[[W:.*]] = machine.id wave
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : i32
// CHECK: %[[LATE:.*]] = arith.cmpi slt, %[[THREE]], %[[W]] : i32
// CHECK-NEXT: scf.if %[[LATE]] {
// CHECK-NEXT: machine.barrier
// CHECK-NEXT: }
// CHECK-NEXT: machine.commit cp_async
// CHECK-NEXT: machine.wait vm, 6
// CHECK-NEXT: machine.wait shared, 4
// CHECK-NEXT: machine.wait cp_async, 1
// CHECK-NEXT: machine.wait bulk, 0
// Where no products are under way nobody waits for them.
// CHECK-NEXT: machine.priority 1
// CHECK-NEXT: machine.sched_barrier
// CHECK-NEXT: machine.sched_barrier {mask = 8 : i64}
// CHECK-NEXT: machine.sched_group {count = 4 : i64, mask = 8 : i64, sync = 1 : i64}
// CHECK-NEXT: machine.barrier
// CHECK: scf.if
// CHECK-NEXT: machine.barrier
wave.kernel @time attributes {arg_names = [], constraints = [#wave.workgroup<dim = "M", tile = <"512">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 512 : i64}, dynamic = [], form = 5 : i32, target = "gfx942"} {
  wave.barrier {first_wave = 4 : i64, last_wave = 8 : i64}
  wave.commit cp_async
  wave.wait vm, 6
  wave.wait shared, 4
  wave.wait cp_async, 1
  wave.wait bulk, 0
  wave.wait mma, 2
  wave.priority 1
  wave.sched_barrier
  wave.sched_barrier {mask = 8 : i64}
  wave.sched_group {mask = 8 : i64, count = 4 : i64, group = 1 : i64}
  wave.barrier {first_wave = 0 : i64, last_wave = 8 : i64}
  wave.barrier {first_wave = 2 : i64, last_wave = 3 : i64}
}

// -----

wave.kernel @beyond attributes {arg_names = [], constraints = [#wave.workgroup<dim = "M", tile = <"512">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 512 : i64}, dynamic = [], form = 5 : i32, target = "gfx942"} {
  // expected-error@+1 {{a barrier for the waves 4 to 9 of a workgroup that has 8}}
  wave.barrier {first_wave = 4 : i64, last_wave = 9 : i64}
}
