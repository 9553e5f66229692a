// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts))' | FileCheck %s --check-prefixes=CHECK,MI300
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts))' | FileCheck %s --check-prefixes=CHECK,MI350
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-plan-movement))' | FileCheck %s --check-prefix=H200
// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts{explain=true}))' 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null

// The first product is transposed, so that what lies in its accumulator is an operand of the second as it stands: the second takes
// its contraction in the order in which that operand lies, and `v` is read in the same. Row statistics live in the lanes of their
// rows. Nothing is moved between lanes but in the reductions, and the result is stored 16 bytes a lane.
// CHECK-LABEL: wave.kernel @attention
// CHECK-NOT: wave.convert %{{.*}} : <[H, M, L]
// MI300: wave.reduce max {{.*}} : (!wave.tile<[H, M, L], f32, "reg = (4 L 1)(4 L 16)(2 M 16), lane = (16 M 1)(4 L 4), wave = (4 M 32)">,
// MI300-SAME: -> !wave.tile<[H, M], f32, "reg = (2 M 16), lane = (16 M 1)(4 _ 0), wave = (4 M 32)">
// MI350: wave.reduce max {{.*}} : (!wave.tile<[H, M, L], f32, "reg = (4 L 1)(4 L 16)(2 M 16), lane = (16 M 1)(4 L 4), wave = (4 M 32)">,
// CHECK: wave.read %arg2
// CHECK-SAME: <[H, N, L], f16, "reg = (4 L 1)(4 L 16)(4 N 16), lane = (16 N 1)(4 L 4), wave = (4 _ 0)">
// CHECK-NOT: wave.convert
// CHECK: wave.mma {{.*}} : <[H, N, L], f16, {{.*}}>, <[H, M, L], f16, {{.*}}>, <[H, M, N], f32
// CHECK: wave.write {{.*}} : <[H, M, N], f32, "reg = (4 N 1)

// Its accumulator is an operand as the instruction counts; converts only rename registers.
// H200-LABEL: wave.kernel @attention
// H200-NOT: plan = {{.*}}shuffle
// H200-NOT: wave.allocate
// H200: wave.mma {{.*}} : <[H, M, L], f16, {{.*}}>, <[H, N, L], f16, {{.*}}>, <[H, M, N], f32

// WHY: remark: mma exchanged, places 4@1 4@8, steps 2@4 2@32: [[#]] clocks; second mma {{.*}}: [[#]]
// WHY: remark: mma exchanged, places 4@1 4@4, steps 4@16
// WHY: remark: tile reg = {{.*}} clocks; second tile reg =

wave.kernel @attention attributes {
    arg_names = ["q", "k", "v", "o"],
    constraints = [#wave.workgroup<dim = "M", tile = <"BM">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"BN">, workgroupDim = 1>, #wave.workgroup<dim = "H", tile = <"1">, workgroupDim = 2>,
                   #wave.tiling<dim = "L", tile = <"BL">>, #wave.wave<dim = "M", tile = <"BM/4">>],
    subs = {H = 2 : i64, M = 128 : i64, N = 64 : i64, L = 192 : i64, D = 64 : i64, BM = 128 : i64, BN = 64 : i64, BL = 64 : i64},
    dynamic = [], form = 0 : i32, target = "TARGET"} {
^bb0(%q: !wave.memory<["H", "M", "D"], f16, global>, %k: !wave.memory<["H", "L", "D"], f16, shared>, %v: !wave.memory<["H", "L", "N"], f16, shared>, %o: !wave.memory<["H", "M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[H, M, N], f32>
  %s0 = wave.fill 0.0 : f32 -> !wave.tile<[H, M], f32>
  %m0 = wave.fill -1.0e+30 : f32 -> !wave.tile<[H, M], f32>
  %r:3 = wave.iterate "L" (%zero, %m0, %s0) : (!wave.tile<[H, M, N], f32>, !wave.tile<[H, M], f32>, !wave.tile<[H, M], f32>) -> (!wave.tile<[H, M, N], f32>, !wave.tile<[H, M], f32>, !wave.tile<[H, M], f32>) {
  ^bb1(%acc: !wave.tile<[H, M, N], f32>, %mx: !wave.tile<[H, M], f32>, %sm: !wave.tile<[H, M], f32>):
    %c0 = wave.fill 0.0 : f32 -> !wave.tile<[H, M, L], f32>
    %qr = wave.read %q : !wave.memory<["H", "M", "D"], f16, global> -> !wave.tile<[H, M, D], f16>
    %kr = wave.read %k : !wave.memory<["H", "L", "D"], f16, shared> -> !wave.tile<[H, L, D], f16>
    %s = wave.mma %qr, %kr, %c0 : !wave.tile<[H, M, D], f16>, !wave.tile<[H, L, D], f16>, !wave.tile<[H, M, L], f32>
    %m1 = wave.reduce max %s init %mx along "L" : (!wave.tile<[H, M, L], f32>, !wave.tile<[H, M], f32>) -> !wave.tile<[H, M], f32>
    %d = wave.binary sub %mx, %m1 : !wave.tile<[H, M], f32>, !wave.tile<[H, M], f32> -> !wave.tile<[H, M], f32>
    %e = wave.unary exp2 %d : !wave.tile<[H, M], f32> -> !wave.tile<[H, M], f32>
    %sd = wave.binary sub %s, %m1 : !wave.tile<[H, M, L], f32>, !wave.tile<[H, M], f32> -> !wave.tile<[H, M, L], f32>
    %p = wave.unary exp2 %sd : !wave.tile<[H, M, L], f32> -> !wave.tile<[H, M, L], f32>
    %sm1 = wave.binary mul %sm, %e : !wave.tile<[H, M], f32>, !wave.tile<[H, M], f32> -> !wave.tile<[H, M], f32>
    %sm2 = wave.reduce sum %p init %sm1 along "L" : (!wave.tile<[H, M, L], f32>, !wave.tile<[H, M], f32>) -> !wave.tile<[H, M], f32>
    %ph = wave.cast %p : !wave.tile<[H, M, L], f32> -> !wave.tile<[H, M, L], f16>
    %vr = wave.read %v {indices = [#wave.expr<"$index0">, #wave.expr<"$index2">, #wave.expr<"$index1">]} : !wave.memory<["H", "L", "N"], f16, shared> -> !wave.tile<[H, N, L], f16>
    %acc1 = wave.binary mul %acc, %e : !wave.tile<[H, M, N], f32>, !wave.tile<[H, M], f32> -> !wave.tile<[H, M, N], f32>
    %acc2 = wave.mma %ph, %vr, %acc1 : !wave.tile<[H, M, L], f16>, !wave.tile<[H, N, L], f16>, !wave.tile<[H, M, N], f32>
    wave.yield %acc2, %m1, %sm2 : !wave.tile<[H, M, N], f32>, !wave.tile<[H, M], f32>, !wave.tile<[H, M], f32>
  }
  %rc = wave.unary reciprocal %r#2 : !wave.tile<[H, M], f32> -> !wave.tile<[H, M], f32>
  %out = wave.binary mul %r#0, %rc : !wave.tile<[H, M, N], f32>, !wave.tile<[H, M], f32> -> !wave.tile<[H, M, N], f32>
  wave.write %out, %o : !wave.tile<[H, M, N], f32>, !wave.memory<["H", "M", "N"], f32, global>
}
