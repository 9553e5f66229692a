// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols))' 2>&1 | FileCheck %s

// A loop along a dimension that no memory has still needs its size.
// CHECK: loop-unbound.mlir:[[#@LINE+6]]:{{[0-9]+}}: error: the iterations over `T` mention `T`, which has no value [symbol-unbound]
// CHECK: hint: bind it in `subs` or list it among the dynamic symbols
wave.kernel @loop attributes {arg_names = ["a"], constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>,
    #wave.tiling<dim = "T", tile = <"1">>], subs = {M = 128 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  %1 = wave.iterate "T" (%0) : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
  ^bb0(%x: !wave.tile<[M], f32>):
    wave.yield %x : !wave.tile<[M], f32>
  }
  wave.write %1, %a : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
