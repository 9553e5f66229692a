// RUN: soliton-opt %s --check-with-emulator --split-input-file | FileCheck %s

// The largest element by its bits: floats that are not negative are ordered as their bits are.
// CHECK: machine.kernel @largest_bits
// CHECK: vector.bitcast {{.*}} : vector<{{.*}}xf32> to vector<{{.*}}xi32>
// CHECK: vector.bitcast {{.*}} : vector<{{.*}}xi32> to vector<{{.*}}xf32>
wave.kernel @largest_bits attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>], subs = {N = 37 : i64}, dynamic = ["M"],
    form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %1 = wave.unary abs %0 : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  %2 = wave.bitcast %1 : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], i32>
  %3 = wave.reduce max %2 along "N" : (!wave.tile<[M, N], i32>) -> !wave.tile<[M], i32>
  %4 = wave.bitcast %3 : !wave.tile<[M], i32> -> !wave.tile<[M], f32>
  wave.write %4, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
