// RUN: soliton-opt %s --check-with-emulator | FileCheck %s
// RUN: soliton-opt %s --check-with-emulator=seed=9 | FileCheck %s
// RUN: sed -e 's/stable = \["w"\]/stable = ["y"]/' %s | not soliton-opt - --check-with-emulator 2>&1 | FileCheck %s --check-prefix=WRITTEN

// Right after every pass: the lowering waits at the beginning, and the wait comes down to the first tile that a launch ahead may write.
// CHECK: machine.kernel @scaled
// CHECK-SAME: dependent, {{.*}}stable = ["w"]
// CHECK: machine.grid_launch
// CHECK-NOT: machine.grid_wait
// CHECK: %[[W:.*]] = machine.buffer %arg1
// CHECK: machine.load %[[W]]
// CHECK: machine.grid_wait
// CHECK: machine.load
// CHECK-NOT: machine.grid_wait

// A text that contradicts itself: nothing is to write what it calls stable.
// WRITTEN: which is stable: no launch is to write it [stable-write]

wave.kernel @scaled attributes {arg_names = ["x", "w", "y"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"32">>],
    subs = {M = 77 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", dependent, stable = ["w"]} {
^bb0(%x: !wave.memory<["M"], f32, global>, %w: !wave.memory<["M"], f32, global>, %y: !wave.memory<["M"], f32, global>):
  %0 = wave.read %w : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  %1 = wave.read %x : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  %2 = wave.binary mul %0, %1 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  wave.write %2, %y : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
