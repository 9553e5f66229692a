// RUN: soliton-opt %s | soliton-opt | FileCheck %s
// RUN: soliton-opt %s --mlir-print-op-generic | soliton-opt | FileCheck %s

// CHECK-LABEL: machine.kernel @all attributes {arg_names = ["a", "scale", "M"], shared_bytes = 1024 : i64, target = "gfx942", wave_size = 64 : i64, waves = 4 : i64}
machine.kernel @all attributes {arg_names = ["a", "scale", "M"], wave_size = 64 : i64, waves = 4 : i64, shared_bytes = 1024 : i64, target = "gfx942"} {
^bb0(%a: !machine.ptr, %scale: f32, %m: i32):
  // CHECK: machine.id lane {upper = 64 : i64}
  %lane = machine.id lane {upper = 64 : i64}
  // CHECK: machine.id workgroup0
  %wg = machine.id workgroup0
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %on = arith.constant true
  // CHECK: %[[BUFFER:.*]] = machine.buffer %{{.*}}[%{{.*}}], %{{.*}}
  %buffer = machine.buffer %a[%zero], %bytes
  // CHECK: machine.load %[[BUFFER]][%{{.*}}, %{{.*}}] {alignment = 16 : i64, immediate = 16 : i64} : vector<8xf16>
  %0 = machine.load %buffer [%lane, %wg] {immediate = 16 : i64, alignment = 16 : i64} : vector<8xf16>
  // CHECK: machine.load %[[BUFFER]][%{{.*}} : i64] {alignment = 4 : i64} : vector<4xi1>
  %far = arith.extsi %lane : i32 to i64
  %bits = machine.load %buffer [%far : i64] {alignment = 4 : i64} : vector<4xi1>
  // CHECK: machine.load[%{{.*}}] mask %{{.*}} {alignment = 8 : i64} : vector<4xf16>
  %1 = machine.load [%lane] mask %on {alignment = 8 : i64} : vector<4xf16>
  // CHECK: machine.store %{{.*}}, %[[BUFFER]][%{{.*}}, %{{.*}}] mask %{{.*}} {alignment = 8 : i64} : vector<4xf16>
  machine.store %1, %buffer [%lane, %wg] mask %on {alignment = 8 : i64} : vector<4xf16>
  // CHECK: machine.store %{{.*}},[%{{.*}}] {alignment = 8 : i64} : vector<4xf16>
  machine.store %1, [%lane] {alignment = 8 : i64} : vector<4xf16>
  %f = arith.constant dense<1.0> : vector<1xf32>
  // CHECK: machine.atomic add %{{.*}}, %[[BUFFER]][%{{.*}}] : vector<1xf32> -> vector<1xf32>
  %2 = machine.atomic add %f, %buffer [%lane] : vector<1xf32> -> vector<1xf32>
  // CHECK: machine.copy_async %[[BUFFER]][%{{.*}}, %{{.*}}], [%{{.*}}] mask %{{.*}} {bytes = 16 : i64, lane_scatter}
  machine.copy_async %buffer [%lane, %wg], [%wg] mask %on {bytes = 16 : i64, lane_scatter}
  // CHECK: machine.load_matrix "ldmatrix.x4"[%{{.*}}] : vector<8xf16>
  %3 = machine.load_matrix "ldmatrix.x4" [%lane] : vector<8xf16>
  // CHECK: machine.store_matrix "stmatrix.x4" %{{.*}}, [%{{.*}}] {immediate = 64 : i64} : vector<8xf16>
  machine.store_matrix "stmatrix.x4" %3, [%lane] {immediate = 64 : i64} : vector<8xf16>
  %acc = arith.constant dense<0.0> : vector<4xf32>
  // CHECK: machine.mma "mfma_f32_16x16x16_f16" %{{.*}}, %{{.*}}, %{{.*}} : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %4 = machine.mma "mfma_f32_16x16x16_f16" %1, %1, %acc : vector<4xf16>, vector<4xf16>, vector<4xf32>
  %x = arith.constant dense<1.0> : vector<32xf4E2M1FN>
  %s = arith.constant dense<1.0> : vector<2xf8E8M0FNU>
  // CHECK: machine.mma "v_mfma_scale_f32_16x16x128_f8f6f4" %{{.*}}, %{{.*}}, %{{.*}} scaled %{{.*}}, %{{.*}} bytes [1, 0] : vector<2xf8E8M0FNU>, vector<2xf8E8M0FNU> : vector<32xf4E2M1FN>, vector<32xf4E2M1FN>, vector<4xf32>
  %scaled = machine.mma "v_mfma_scale_f32_16x16x128_f8f6f4" %x, %x, %acc scaled %s, %s bytes [1, 0] : vector<2xf8E8M0FNU>, vector<2xf8E8M0FNU> : vector<32xf4E2M1FN>, vector<32xf4E2M1FN>, vector<4xf32>
  // CHECK: machine.mma_async "wgmma" %{{.*}} : vector<4xf16>, %{{.*}}, %{{.*}} {zero_acc} : vector<4xf32>
  %5 = machine.mma_async "wgmma" %1 : vector<4xf16>, %zero, %acc {zero_acc} : vector<4xf32>
  // CHECK: machine.mma_async "wgmma" lhs %{{.*}}, %{{.*}}, %{{.*}} : vector<4xf32>
  %6 = machine.mma_async "wgmma" lhs %zero, %zero, %5 : vector<4xf32>
  // CHECK: machine.shared_tile[%{{.*}}] {k_major, leading = 16 : i64, stride = 1024 : i64, swizzle = 128 : i64}
  %tile = machine.shared_tile [%lane] {leading = 16 : i64, stride = 1024 : i64, swizzle = 128 : i64, k_major}
  // CHECK: machine.commit mma
  machine.commit mma
  // CHECK: machine.wait mma, 0(%{{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %7 = machine.wait mma, 0 (%6) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: machine.wait shared, 2
  machine.wait shared, 2
  // CHECK: machine.shuffle bfly %{{.*}} {offset = 16 : i64} : vector<1xf32>
  %8 = machine.shuffle bfly %f {offset = 16 : i64} : vector<1xf32>
  // CHECK: machine.shuffle idx %{{.*}}, %{{.*}} : vector<1xf32>
  %9 = machine.shuffle idx %f, %lane : vector<1xf32>
  // CHECK: machine.uniform %{{.*}} : i32
  %10 = machine.uniform %lane : i32
  // CHECK: machine.ballot %{{.*}}
  %11 = machine.ballot %on
  // CHECK: machine.swap %{{.*}}, %{{.*}} {width = 32 : i64}
  %12, %13 = machine.swap %lane, %wg {width = 32 : i64}
  // CHECK: machine.convert %{{.*}} {saturate} : vector<4xf32> -> vector<4xf8E4M3FN>
  %14 = machine.convert %acc {saturate} : vector<4xf32> -> vector<4xf8E4M3FN>
  // CHECK: machine.barrier {id = 1 : i64, waves = 2 : i64}
  machine.barrier {id = 1 : i64, waves = 2 : i64}
  // CHECK: machine.barrier plus %{{.*}} {arrives, id = 1 : i64, waves = 2 : i64}
  machine.barrier plus %m {id = 1 : i64, waves = 2 : i64, arrives}
  // CHECK: machine.barrier{{$}}
  machine.barrier
  // CHECK: machine.mbarrier_init %{{.*}} {count = 4 : i64}
  machine.mbarrier_init %wg {count = 4 : i64}
  // CHECK: machine.mbarrier_arrive %{{.*}} {expect = 16384 : i64}
  machine.mbarrier_arrive %wg {expect = 16384 : i64}
  // CHECK: machine.mbarrier_wait %{{.*}}, %{{.*}}
  machine.mbarrier_wait %wg, %m
  // CHECK: machine.fence shared_async
  machine.fence shared_async
  // CHECK: machine.sched_barrier {mask = 7 : i64}
  machine.sched_barrier {mask = 7 : i64}
  // CHECK: machine.sched_group {count = 2 : i64, mask = 8 : i64, sync = 0 : i64}
  machine.sched_group {mask = 8 : i64, count = 2 : i64, sync = 0 : i64}
  // CHECK: machine.priority 2
  machine.priority 2
  // CHECK: machine.registers 232 {increase}
  machine.registers 232 {increase}
}

// CHECK-LABEL: machine.kernel @tiles
// CHECK-SAME: maps = [
// CHECK-SAME: #machine.tensor_map<argument = 0, element = f16, sizes = ["K", "M"], strides = ["2*K"], box = [64, 128], swizzle = 128>,
// CHECK-SAME: #machine.tensor_map<argument = 1, element = f32, sizes = [1024], box = [32], offset = "16*M">,
// CHECK-SAME: #machine.tensor_map<argument = 1, element = i8, sizes = [16, 1, 2, 3, 4], strides = [16, 16, 32, 96], box = [16, 1, 1, 1, 1], swizzle = 32, offset = 64>]
machine.kernel @tiles attributes {arg_names = ["a", "b", "M", "K", "map_a", "map_b", "map_c"], wave_size = 32 : i64, waves = 4 : i64,
                                  shared_bytes = 32768 : i64, target = "sm_90a", maps = [
    #machine.tensor_map<argument = 0, element = f16, sizes = ["K", "M"], strides = ["2*K"], box = [64, 128], swizzle = 128>,
    #machine.tensor_map<argument = 1, element = f32, sizes = ["1024"], box = [32], offset = "M*16", swizzle = 0>,
    #machine.tensor_map<argument = 1, element = i8, sizes = [16, 1, 2, 3, 4], strides = [16, 16, 32, 96], box = [16, 1, 1, 1, 1], offset = 64, swizzle = 32>]} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %m: i32, %k: i32, %map_a: !machine.map, %map_b: !machine.map, %map_c: !machine.map):
  // CHECK: machine.copy_tile %[[A:.*]][%{{.*}}, %{{.*}}], [%{{.*}}], %{{.*}}
  machine.copy_tile %map_a [%k, %m], [%m], %k
  // CHECK: machine.copy_tile %[[B:.*]][%{{.*}}], [%{{.*}}], %{{.*}}
  machine.copy_tile %map_b [%k], [%m], %k
  // CHECK: machine.store_tile %[[A]][%{{.*}}, %{{.*}}], [%{{.*}}]
  machine.store_tile %map_a [%k, %m], [%m]
  // CHECK: machine.store_tile %[[B]][%{{.*}}], [%{{.*}}] {add}
  machine.store_tile %map_b [%k], [%m] {add}
  // CHECK: machine.wait bulk, 1 {read}
  machine.wait bulk, 1 {read}
  // CHECK: machine.elect
  %one = machine.elect
}

// CHECK-LABEL: machine.kernel @pixels
// CHECK-SAME: #machine.tensor_map<argument = 0, element = f16, sizes = [512, 28, 28, "B"], strides = [1024, 28672, 802816], box = [64, 128], lower = [-1, -2], upper = [-1, 0], steps = [1, 2], swizzle = 128>
machine.kernel @pixels attributes {arg_names = ["x", "B", "map"], wave_size = 32 : i64, waves = 1 : i64, shared_bytes = 16384 : i64, target = "sm_90a", maps = [
    #machine.tensor_map<argument = 0, element = f16, sizes = [512, 28, 28, "B"], strides = [1024, 28672, 802816], box = [64, 128], swizzle = 128,
                        steps = [1, 2], lower = [-1, -2], upper = [-1, 0]>]} {
^bb0(%x: !machine.ptr, %b: i32, %map: !machine.map):
  // CHECK: machine.copy_tile %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}], [%{{.*}}], %[[B:.*]] offsets[%[[B]], %[[B]]]
  machine.copy_tile %map [%b, %b, %b, %b], [%b], %b offsets [%b, %b]
}

// CHECK-LABEL: machine.kernel @clusters attributes
// CHECK-SAME: cluster = array<i64: 2, 1, 1>, dependent
// CHECK-SAME: stable = ["a"]
machine.kernel @clusters attributes {arg_names = ["a", "map"], wave_size = 32 : i64, waves = 4 : i64, shared_bytes = 32768 : i64, target = "sm_90a",
    cluster = array<i64: 2, 1, 1>, dependent, stable = ["a"], maps = [#machine.tensor_map<argument = 0, element = f16, sizes = [64], box = [64]>]} {
^bb0(%a: !machine.ptr, %map: !machine.map):
  // CHECK: %[[RANK:.*]] = machine.id cluster_rank
  %rank = machine.id cluster_rank
  // CHECK: machine.id cluster1
  %cluster = machine.id cluster1
  // CHECK: machine.id grid0
  %grid = machine.id grid0
  // CHECK: machine.cluster_arrive
  machine.cluster_arrive
  // CHECK: machine.cluster_wait
  machine.cluster_wait
  // CHECK: machine.copy_tile %{{.*}}[%{{.*}}], [%{{.*}}], %{{.*}} multicast %{{.*}}
  machine.copy_tile %map [%grid], [%grid], %grid multicast %rank
  // CHECK: machine.mbarrier_arrive %{{.*}} on %[[RANK]] {expect = 128 : i64}
  machine.mbarrier_arrive %grid on %rank {expect = 128 : i64}
  // CHECK: machine.grid_wait
  machine.grid_wait
  // CHECK: machine.grid_launch
  machine.grid_launch
}
