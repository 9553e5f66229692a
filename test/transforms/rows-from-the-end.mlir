// RUN: soliton-opt %s --check-with-emulator -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: soliton-opt %s --wave-pipeline --wave-lower-to-machine | FileCheck %s

// Rows are counted from the end and their length is known only at launch: what a lane adds is below 0, by one row at
// most, which moves the base of all of them.
// CHECK: machine.kernel @reversed attributes {{.*}}limits = ["N < 536870912"]
// CHECK: %[[WORKGROUP:.*]] = machine.id workgroup0
// CHECK: %[[WIDE:.*]] = arith.extsi %[[WORKGROUP]] : i32 to i64
// CHECK: %[[START:.*]] = arith.muli %{{.*}}, %[[WIDE]] : i64
// CHECK: machine.buffer %{{.*}}[%[[START]]]
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK: %[[LANE:.*]] = arith.addi %[[ROW]], %{{.*}} : i32
// CHECK: machine.store %{{.*}}, %{{.*}}[%[[LANE]]]
wave.kernel @reversed attributes {
    arg_names = ["out"],
    constraints = [#wave.workgroup<dim = "N", tile = <"1">, workgroupDim = 0>],
    subs = {M = 2 : i64}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%out: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.fill 3.0 : f32 -> !wave.tile<[M, N], f32>
  wave.write %0, %out {indices = [#wave.expr<"((M - 1) - $index0)">, #wave.expr<"$index1">]} : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
