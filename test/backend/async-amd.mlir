// RUN: soliton-opt %s > %t
// Two buffers in shared memory filled straight from global memory, sixteen bytes a lane; while one is on its way the other is
// read. The program's waits are the only ones: two copies stay pending through the first half.

machine.kernel @async attributes {arg_names = ["a", "b"], wave_size = 64 : i64, waves = 4 : i64, shared_bytes = 16384 : i64,
                                  target = "gfx950"} {
^bb0(%a: !machine.ptr, %b: !machine.ptr):
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %c64 = arith.constant 64 : i32
  %c1024 = arith.constant 1024 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 16384 : i64
  %from = machine.buffer %a[%zero], %bytes
  %to = machine.buffer %b[%zero], %bytes
  %lane = machine.id lane
  %wave = machine.id wave
  %0 = arith.muli %wave, %c64 : i32
  %thread = arith.addi %0, %lane : i32
  %in = arith.muli %thread, %c16 : i32
  %destination = arith.muli %wave, %c1024 : i32
  %limit = arith.constant 200 : i32
  %m = arith.cmpi slt, %thread, %limit : i32
  machine.copy_async %from [%in], [%destination] {bytes = 16 : i64, lane_scatter}
  machine.copy_async %from [%in], [%destination] {immediate = 4096 : i64, destination_immediate = 4096 : i64, bytes = 16 : i64, lane_scatter}
  machine.copy_async %from [%in], [%destination] {immediate = 8192 : i64, destination_immediate = 8192 : i64, bytes = 16 : i64, lane_scatter}
  machine.copy_async %from [%in], [%destination] mask %m {immediate = 12288 : i64, destination_immediate = 12288 : i64, bytes = 16 : i64, lane_scatter}
  machine.wait vm, 2
  machine.barrier
  %read = arith.muli %thread, %c8 : i32
  %x = machine.load [%read] {alignment = 8 : i64} : vector<4xf16>
  %y = machine.load_matrix "ds_read_b64_tr_b16" [%read] {immediate = 4096 : i64} : vector<4xf16>
  %sum = arith.addf %x, %y : vector<4xf16>
  machine.wait vm, 0
  machine.barrier
  %z = machine.load [%read] {immediate = 8192 : i64, alignment = 8 : i64} : vector<4xf16>
  %w = machine.load [%read] {immediate = 12288 : i64, alignment = 8 : i64} : vector<4xf16>
  %more = arith.addf %z, %w : vector<4xf16>
  %all = arith.addf %sum, %more : vector<4xf16>
  machine.store %all, %to [%read] {alignment = 8 : i64} : vector<4xf16>
}
