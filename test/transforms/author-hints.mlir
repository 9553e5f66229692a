// RUN: soliton-opt %s --wave-pipeline --wave-lower-to-machine | FileCheck %s

// What the author wrote about time stays where it is, all the way down.
// CHECK-LABEL: machine.kernel @hints
// CHECK: machine.load
// CHECK-NEXT: machine.priority 1
// CHECK-NEXT: machine.sched_barrier
// CHECK-NEXT: machine.sched_group {count = 4 : i64, mask = 8 : i64, sync = 0 : i64}
// CHECK-NEXT: machine.wait vm, 3
// CHECK-NEXT: machine.barrier
// CHECK: machine.priority 0
// CHECK: machine.store
wave.kernel @hints attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"256">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 256 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  wave.priority 1
  wave.sched_barrier
  wave.sched_group {mask = 8 : i64, count = 4 : i64}
  wave.wait vm, 3
  wave.barrier
  %1 = wave.unary exp2 %0 : !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  wave.priority 0
  wave.write %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
