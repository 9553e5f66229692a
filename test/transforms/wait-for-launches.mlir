// RUN: soliton-opt %s --pass-pipeline='builtin.module(machine.kernel(wave-wait-for-launches))' | FileCheck %s

// What a launch ahead may write waits for it; arithmetic, barriers in memory and boxes of stable memory do not. The arrivals that say how many
// bytes there are stay with the boxes behind the wait.
// CHECK-LABEL: machine.kernel @ring
// CHECK: machine.grid_launch
// CHECK-NOT: machine.grid_wait
// CHECK: machine.mbarrier_init
// CHECK: machine.barrier
// CHECK: scf.if %[[FIRST:.*]] {
// CHECK-NEXT: machine.copy_tile %[[B:[a-z0-9_]+]][%c0_i32, %c0_i32], [%{{.*}}], %c16384_i32
// CHECK-NEXT: }
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: machine.copy_tile %[[B]][%c64_i32, %c0_i32], [%{{.*}}], %c16392_i32
// CHECK-NEXT: }
// CHECK-NEXT: machine.grid_wait
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: machine.copy_tile %[[A:[a-z0-9_]+]][%c0_i32, %c0_i32], [%{{.*}}], %c16384_i32
// CHECK-NEXT: machine.mbarrier_arrive %c16384_i32 {expect = 8192 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: machine.copy_tile %[[A]][%c64_i32, %c0_i32], [%{{.*}}], %c16392_i32
// CHECK-NEXT: machine.mbarrier_arrive %c16392_i32 {expect = 8192 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: machine.mbarrier_wait
// CHECK-NOT: machine.grid_wait
machine.kernel @ring attributes {arg_names = ["a", "b", "map0", "map1"], wave_size = 32 : i64, waves = 4 : i64, shared_bytes = 16400 : i64,
    target = "sm_90a", dependent, stable = ["b"], maps = [
    #machine.tensor_map<argument = 0, element = f16, sizes = [128, 32], strides = [256], box = [64, 32], swizzle = 128>,
    #machine.tensor_map<argument = 1, element = f16, sizes = [128, 32], strides = [256], box = [64, 32], swizzle = 128>]} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %of_a: !machine.map, %of_b: !machine.map):
  machine.grid_launch
  machine.grid_wait
  %c0_i32 = arith.constant 0 : i32
  %c64_i32 = arith.constant 64 : i32
  %c4096_i32 = arith.constant 4096 : i32
  %c8192_i32 = arith.constant 8192 : i32
  %c12288_i32 = arith.constant 12288 : i32
  %c16384_i32 = arith.constant 16384 : i32
  %c16392_i32 = arith.constant 16392 : i32
  %lane = machine.id lane
  %first = arith.cmpi eq, %lane, %c0_i32 : i32
  scf.if %first {
    machine.mbarrier_init %c16384_i32 {count = 1 : i64}
    machine.mbarrier_init %c16392_i32 {count = 1 : i64}
  }
  machine.barrier
  scf.if %first {
    machine.copy_tile %of_a [%c0_i32, %c0_i32], [%c0_i32], %c16384_i32
    machine.copy_tile %of_b [%c0_i32, %c0_i32], [%c4096_i32], %c16384_i32
    machine.mbarrier_arrive %c16384_i32 {expect = 8192 : i64}
  }
  scf.if %first {
    machine.copy_tile %of_a [%c64_i32, %c0_i32], [%c8192_i32], %c16392_i32
    machine.copy_tile %of_b [%c64_i32, %c0_i32], [%c12288_i32], %c16392_i32
    machine.mbarrier_arrive %c16392_i32 {expect = 8192 : i64}
  }
  machine.mbarrier_wait %c16384_i32, %c0_i32
  machine.mbarrier_wait %c16392_i32, %c0_i32
}

// Without stable memory nothing is taken apart.
// CHECK-LABEL: machine.kernel @nothing_stable
// CHECK: machine.barrier
// CHECK-NEXT: machine.grid_wait
// CHECK-NEXT: scf.if
// CHECK-NEXT: machine.copy_tile
// CHECK-NEXT: machine.mbarrier_arrive
machine.kernel @nothing_stable attributes {arg_names = ["a", "map0"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 4112 : i64,
    target = "sm_90a", dependent, maps = [
    #machine.tensor_map<argument = 0, element = f16, sizes = [128, 32], strides = [256], box = [64, 32], swizzle = 128>]} {
^bb0(%a: !machine.ptr, %of_a: !machine.map):
  machine.grid_launch
  machine.grid_wait
  %c0_i32 = arith.constant 0 : i32
  %c4096_i32 = arith.constant 4096 : i32
  %lane = machine.id lane
  %first = arith.cmpi eq, %lane, %c0_i32 : i32
  machine.barrier
  scf.if %first {
    machine.copy_tile %of_a [%c0_i32, %c0_i32], [%c0_i32], %c4096_i32
    machine.mbarrier_arrive %c4096_i32 {expect = 4096 : i64}
  }
}

// Waves that take different ways wait on each of them, also on one that touches nothing.
// CHECK-LABEL: machine.kernel @roles
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: machine.registers
// CHECK-NEXT: machine.barrier
// CHECK-NEXT: machine.grid_wait
// CHECK-NEXT: } else {
// CHECK-NEXT: machine.barrier
// CHECK-NEXT: machine.grid_wait
// CHECK-NEXT: machine.load
// CHECK-NOT: machine.grid_wait
machine.kernel @roles attributes {arg_names = ["a"], wave_size = 32 : i64, waves = 8 : i64, shared_bytes = 0 : i64, target = "sm_90a", dependent} {
^bb0(%a: !machine.ptr):
  machine.grid_launch
  machine.grid_wait
  %c4_i32 = arith.constant 4 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %wave = machine.id wave
  %serves = arith.cmpi sge, %wave, %c4_i32 : i32
  %buffer = machine.buffer %a[%zero], %bytes
  scf.if %serves {
    machine.registers 40
    machine.barrier
  } else {
    machine.barrier
    %0 = machine.load %buffer [%lane] {alignment = 1 : i64} : vector<1xi8>
    machine.store %0, %buffer [%lane] {alignment = 1 : i64} : vector<1xi8>
  }
}

// Lanes that take different ways wait together, in front of them; so do waves in front of a loop, whatever it reads first.
// CHECK-LABEL: machine.kernel @lanes
// CHECK: machine.load
// CHECK-NEXT: machine.grid_wait
// CHECK-NEXT: scf.if
// CHECK-NOT: machine.grid_wait
// CHECK-LABEL: machine.kernel @loop
// CHECK: machine.load
// CHECK-NEXT: machine.grid_wait
// CHECK-NEXT: scf.for
// CHECK-NOT: machine.grid_wait
machine.kernel @lanes attributes {arg_names = ["a", "b"], wave_size = 32 : i64, waves = 8 : i64, shared_bytes = 0 : i64, target = "sm_90a", dependent,
    stable = ["b"]} {
^bb0(%a: !machine.ptr, %b: !machine.ptr):
  machine.grid_launch
  machine.grid_wait
  %c4_i32 = arith.constant 4 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %few = arith.cmpi slt, %lane, %c4_i32 : i32
  %of_a = machine.buffer %a[%zero], %bytes
  %of_b = machine.buffer %b[%zero], %bytes
  %0 = machine.load %of_b [%lane] {alignment = 1 : i64} : vector<1xi8>
  scf.if %few {
    machine.store %0, %of_a [%lane] {alignment = 1 : i64} : vector<1xi8>
  } else {
    machine.barrier
  }
}
machine.kernel @loop attributes {arg_names = ["a", "b"], wave_size = 32 : i64, waves = 8 : i64, shared_bytes = 0 : i64, target = "sm_90a", dependent,
    stable = ["b"]} {
^bb0(%a: !machine.ptr, %b: !machine.ptr):
  machine.grid_launch
  machine.grid_wait
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c4_i32 = arith.constant 4 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %of_a = machine.buffer %a[%zero], %bytes
  %of_b = machine.buffer %b[%zero], %bytes
  %0 = machine.load %of_b [%lane] {alignment = 1 : i64} : vector<1xi8>
  scf.for %i = %c0_i32 to %c4_i32 step %c1_i32 : i32 {
    %1 = machine.load %of_b [%lane] {alignment = 1 : i64} : vector<1xi8>
    machine.store %1, %of_a [%lane] {alignment = 1 : i64} : vector<1xi8>
  }
}

// One that touches no other memory waits all the same: launches behind it rely on that.
// CHECK-LABEL: machine.kernel @reads_weights
// CHECK: machine.load
// CHECK-NEXT: machine.grid_wait
// CHECK-NEXT: }
machine.kernel @reads_weights attributes {arg_names = ["b"], wave_size = 32 : i64, waves = 8 : i64, shared_bytes = 0 : i64, target = "sm_90a",
    dependent, stable = ["b"]} {
^bb0(%b: !machine.ptr):
  machine.grid_launch
  machine.grid_wait
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %of_b = machine.buffer %b[%zero], %bytes
  %0 = machine.load %of_b [%lane] {alignment = 1 : i64} : vector<1xi8>
}

// CHECK-LABEL: machine.kernel @plain
// CHECK-NOT: machine.grid_wait
machine.kernel @plain attributes {arg_names = ["b"], wave_size = 32 : i64, waves = 8 : i64, shared_bytes = 0 : i64, target = "sm_90a"} {
^bb0(%b: !machine.ptr):
}
