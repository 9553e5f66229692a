// RUN: soliton-opt %s --check-with-emulator -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: soliton-opt %s --wave-pipeline --wave-lower-to-machine | FileCheck %s

// Rows are counted from the end and their length is known only at launch: what a lane adds is below 0, so all of the offset is in one part
// and the memory begins at its beginning.
// CHECK: machine.kernel @reversed attributes {{.*}}limits = ["N < 268435456"]
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK: machine.buffer %{{.*}}[%[[ZERO]]]
wave.kernel @reversed attributes {
    arg_names = ["out"],
    constraints = [#wave.workgroup<dim = "N", tile = <"1">, workgroupDim = 0>],
    subs = {M = 2 : i64}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%out: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.fill 3.0 : f32 -> !wave.tile<[M, N], f32>
  wave.write %0, %out {indices = [#wave.expr<"((M - 1) - $index0)">, #wave.expr<"$index1">]} : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
