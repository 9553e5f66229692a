// RUN: soliton-opt %s > %t
// Eight waves in two groups, one a barrier behind the other: while one group reads its fragments, the other multiplies.
// Tiles come past the registers into two buffers; what is in flight is counted, never drained in the loop.
machine.kernel @pingpong attributes {arg_names = ["a", "b", "c", "steps"], wave_size = 64 : i64, waves = 8 : i64, shared_bytes = 65536 : i64,
                                     target = "gfx950", keep_order} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %c: !machine.ptr, %steps: i32):
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 16777216 : i64
  %acc = arith.constant dense<0.0> : vector<4xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %c16 = arith.constant 16 : i32
  %c1024 = arith.constant 1024 : i32
  %c8192 = arith.constant 8192 : i32
  %c32768 = arith.constant 32768 : i32
  %from_a = machine.buffer %a[%zero], %bytes
  %from_b = machine.buffer %b[%zero], %bytes
  %to = machine.buffer %c[%zero], %bytes
  %lane = machine.id lane
  %wave = machine.id wave
  %in = arith.muli %lane, %c16 : i32
  %row = arith.muli %wave, %c8192 : i32
  %part = arith.muli %wave, %c1024 : i32
  %read = arith.addi %in, %part : i32
  machine.copy_async %from_a [%in, %row], [%part] {bytes = 16 : i64, lane_scatter}
  machine.copy_async %from_b [%in, %row], [%part] {destination_immediate = 16384 : i64, bytes = 16 : i64, lane_scatter}
  machine.copy_async %from_a [%in, %row], [%part] {immediate = 1024 : i64, destination_immediate = 32768 : i64, bytes = 16 : i64, lane_scatter}
  machine.copy_async %from_b [%in, %row], [%part] {immediate = 1024 : i64, destination_immediate = 49152 : i64, bytes = 16 : i64, lane_scatter}
  %late = arith.cmpi sge, %wave, %c4 : i32
  scf.if %late {
    machine.barrier
  }
  machine.wait vm, 2
  machine.barrier
  %sum:4 = scf.for %i = %c0 to %steps step %c1 iter_args(%s0 = %acc, %s1 = %acc, %s2 = %acc, %s3 = %acc) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) : i32 {
    %parity = arith.andi %i, %c1 : i32
    %buffer = arith.muli %parity, %c32768 : i32
    %at = arith.addi %read, %buffer : i32
    %destination = arith.addi %part, %buffer : i32
    %next = arith.addi %i, %c2 : i32
    %step = arith.muli %next, %c1024 : i32
    %from = arith.addi %row, %step : i32
    %a0 = machine.load [%at] {alignment = 16 : i64} : vector<8xbf16>
    %a1 = machine.load [%at] {immediate = 8192 : i64, alignment = 16 : i64} : vector<8xbf16>
    %b0 = machine.load [%at] {immediate = 16384 : i64, alignment = 16 : i64} : vector<8xbf16>
    %b1 = machine.load [%at] {immediate = 24576 : i64, alignment = 16 : i64} : vector<8xbf16>
    machine.wait shared, 0
    machine.barrier
    machine.sched_barrier
    machine.priority 1
    %m0 = machine.mma "v_mfma_f32_16x16x32_bf16" %a0, %b0, %s0 : vector<8xbf16>, vector<8xbf16>, vector<4xf32>
    %m1 = machine.mma "v_mfma_f32_16x16x32_bf16" %a1, %b0, %s1 : vector<8xbf16>, vector<8xbf16>, vector<4xf32>
    %m2 = machine.mma "v_mfma_f32_16x16x32_bf16" %a0, %b1, %s2 : vector<8xbf16>, vector<8xbf16>, vector<4xf32>
    %m3 = machine.mma "v_mfma_f32_16x16x32_bf16" %a1, %b1, %s3 : vector<8xbf16>, vector<8xbf16>, vector<4xf32>
    machine.priority 0
    machine.barrier
    machine.sched_barrier
    machine.copy_async %from_a [%in, %from], [%destination] {bytes = 16 : i64, lane_scatter}
    machine.copy_async %from_b [%in, %from], [%destination] {destination_immediate = 16384 : i64, bytes = 16 : i64, lane_scatter}
    machine.wait vm, 2
    machine.barrier
    scf.yield %m0, %m1, %m2, %m3 : vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
  }
  %early = arith.cmpi slt, %wave, %c4 : i32
  scf.if %early {
    machine.barrier
  }
  machine.store %sum#0, %to [%in, %row] {alignment = 16 : i64} : vector<4xf32>
  machine.store %sum#1, %to [%in, %row] {immediate = 1024 : i64, alignment = 16 : i64} : vector<4xf32>
  machine.store %sum#2, %to [%in, %row] {immediate = 2048 : i64, alignment = 16 : i64} : vector<4xf32>
  machine.store %sum#3, %to [%in, %row] {immediate = 3072 : i64, alignment = 16 : i64} : vector<4xf32>
}
