// RUN: soliton-opt %s | soliton-opt > %t
// B[2, M, 64] = A[M, 64] twice: two workgroups of a cluster copy 32 rows each to both, and each writes all 64 of them to its own part
// of B. M is a multiple of 64. A workgroup says that it has read by arriving at the other's mbarrier; nobody leaves before.

machine.kernel @multicast attributes {arg_names = ["a", "b", "M", "map"], wave_size = 32 : i64, waves = 4 : i64, shared_bytes = 8208 : i64,
                                      target = "sm_90a", cluster = array<i64: 2, 1, 1>, dependent, maps = [
    #machine.tensor_map<argument = 0, element = f16, sizes = [64, "M"], strides = [128], box = [64, 32], swizzle = 128>]} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %m: i32, %map: !machine.map):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c7 = arith.constant 7 : i32
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %c4096 = arith.constant 4096 : i32
  %full = arith.constant 8192 : i32
  %done = arith.constant 8200 : i32
  %lane = machine.id lane
  %wave = machine.id wave
  %rank = machine.id cluster_rank {upper = 2 : i64}
  %cluster = machine.id cluster0
  %one = machine.elect
  %wave_is_0 = arith.cmpi eq, %wave, %c0 : i32
  %leads = arith.andi %one, %wave_is_0 : i1
  scf.if %leads {
    machine.mbarrier_init %full {count = 1 : i64}
    machine.mbarrier_init %done {count = 4 : i64}
  }
  machine.cluster_arrive
  machine.cluster_wait
  machine.grid_wait
  %row0 = arith.muli %cluster, %c64 : i32
  scf.if %leads {
    machine.mbarrier_arrive %full {expect = 8192 : i64}
    %r32 = arith.muli %rank, %c32 : i32
    %mine = arith.addi %row0, %r32 : i32
    %to = arith.muli %rank, %c4096 : i32
    machine.copy_tile %map [%c0, %mine], [%to], %full multicast %c3
  }
  machine.mbarrier_wait %full, %c0
  machine.grid_launch
  %zero = arith.constant 0 : i64
  %size = arith.constant 256 : i64
  %rows = arith.extsi %m : i32 to i64
  %bytes = arith.muli %rows, %size : i64
  %out = machine.buffer %b[%zero], %bytes
  %w = arith.muli %wave, %c32 : i32
  %thread = arith.addi %w, %lane : i32
  %chunk = arith.andi %thread, %c7 : i32
  %first = arith.shrui %thread, %c3 : i32
  %own = arith.muli %rank, %m : i32
  %base = arith.addi %own, %row0 : i32
  scf.for %i = %c0 to %c4 step %c1 : i32 {
    %i16 = arith.muli %i, %c16 : i32
    %r = arith.addi %i16, %first : i32
    %r7 = arith.andi %r, %c7 : i32
    %stored = arith.xori %chunk, %r7 : i32
    %stored16 = arith.muli %stored, %c16 : i32
    %r128 = arith.muli %r, %c128 : i32
    %from = arith.addi %r128, %stored16 : i32
    %v = machine.load [%from] {alignment = 16 : i64} : vector<8xf16>
    %row = arith.addi %base, %r : i32
    %line = arith.muli %row, %c128 : i32
    %chunk16 = arith.muli %chunk, %c16 : i32
    %offset = arith.addi %line, %chunk16 : i32
    machine.store %v, %out [%offset] {alignment = 16 : i64} : vector<8xf16>
  }
  %other = arith.xori %rank, %c1 : i32
  scf.if %one {
    machine.mbarrier_arrive %done on %other
  }
  machine.mbarrier_wait %done, %c0
}
