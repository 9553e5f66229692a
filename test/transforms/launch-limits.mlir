// RUN: soliton-opt %s --split-input-file --wave-pipeline --machine-pipeline | FileCheck %s

// Rows of a length that only the launch knows share a base: how far the last wave's last row is, a launch checks.
// CHECK-LABEL: machine.kernel @rows
// CHECK-SAME: limits = ["N < 8521760"]
// CHECK-COUNT-1: machine.buffer %arg0
// CHECK-NOT: machine.buffer %arg0
wave.kernel @rows attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 128 : i64}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// What is assumed need not be checked twice.
// CHECK-LABEL: machine.kernel @assumed
// CHECK-NOT: limits
// CHECK: machine.load
wave.kernel @assumed attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>, #wave.wave<dim = "M", tile = <"16">>,
                   #wave.assume<predicate = <"N <= 100000">>],
    subs = {M = 128 : i64}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// -----

// A line: tiles move the base, and a tile is as long as it is.
// CHECK-LABEL: machine.kernel @line
// CHECK-NOT: limits
// CHECK: machine.load
wave.kernel @line attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 0>],
    subs = {}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["N"], f32, global>, %b: !wave.memory<["N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["N"], f32, global> -> !wave.tile<[N], f32>
  wave.write %0, %b : !wave.tile<[N], f32>, !wave.memory<["N"], f32, global>
}

// -----

// A loop walks rows: the last iteration counts.
// CHECK-LABEL: machine.kernel @walk
// CHECK-SAME: limits = ["{{.*}}ceildiv(K, 8){{.*}}"]
wave.kernel @walk attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"8">>],
    subs = {N = 128 : i64}, dynamic = ["K"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["K", "N"], f32, global>, %b: !wave.memory<["N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[N], f32>) -> !wave.tile<[N], f32> {
  ^bb1(%acc: !wave.tile<[N], f32>):
    %0 = wave.read %a : !wave.memory<["K", "N"], f32, global> -> !wave.tile<[K, N], f32>
    %1 = wave.reduce sum %0 init %acc along "K" : (!wave.tile<[K, N], f32>, !wave.tile<[N], f32>) -> !wave.tile<[N], f32>
    wave.yield %1 : !wave.tile<[N], f32>
  }
  wave.write %sum, %b : !wave.tile<[N], f32>, !wave.memory<["N"], f32, global>
}

// -----

// Elements counted from the end: how far the iterations go below the first one moves the base, by what K makes of it.
// CHECK-LABEL: machine.kernel @backwards
// CHECK-SAME: limits = ["K + 2*ceildiv(K, 2) < 2147483649"]
wave.kernel @backwards attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"2">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"2">>],
    subs = {M = 1 : i64}, dynamic = ["K"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "K"], i8, global>, %b: !wave.memory<["M", "K"], i8, global>):
  wave.iterate "K" () : () -> () {
  ^bb1(%i: index):
    %0 = wave.read %a {indices = [#wave.expr<"$index0">, #wave.expr<"((K - 1) - $index1)">]} : !wave.memory<["M", "K"], i8, global> -> !wave.tile<[M, K], i8>
    wave.write %0, %b : !wave.tile<[M, K], i8>, !wave.memory<["M", "K"], i8, global>
  }
}

// -----

// A quotient of iterations is bounded by the quotient of their count.
// CHECK-LABEL: machine.kernel @quotient
// CHECK-SAME: limits = ["{{.*}}floordiv({{.*}}ceildiv(L, 17){{.*}}, 4){{.*}} < {{[0-9]+}}"]
wave.kernel @quotient attributes {arg_names = ["a"],
    constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.tiling<dim = "L", tile = <"17">>],
    subs = {}, dynamic = ["M", "L"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "ceildiv(L, 4)", "4"], f32, global>):
  wave.iterate "L" () : () -> () {
  ^bb1(%i: index):
    %0 = wave.fill 1.0 : f32 -> !wave.tile<[M, L], f32>
    wave.write %0, %a {indices = [#wave.expr<"$index0">, #wave.expr<"floordiv($index1, 4)">, #wave.expr<"mod($index1, 4)">]} : !wave.tile<[M, L], f32>, !wave.memory<["M", "ceildiv(L, 4)", "4"], f32, global>
  }
}

// -----

// What is read may be anything, and so may rows: no bound of it is one that sizes are compared with.
// CHECK-LABEL: machine.kernel @gather
// CHECK-SAME: limits = ["N < 35791393"]
wave.kernel @gather attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 1>],
    subs = {M = 16 : i64}, dynamic = ["N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], i32, global>, %b: !wave.memory<["2", "N"], i32, global>, %c: !wave.memory<["M", "N"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  %1 = wave.read %b using %0 : !wave.tile<[M], i32> {indices = [#wave.expr<"($dynamic_val0 + mod($index0, 2))">, #wave.expr<"$index1">]} : !wave.memory<["2", "N"], i32, global> -> !wave.tile<[M, N], i32>
  wave.write %1, %c : !wave.tile<[M, N], i32>, !wave.memory<["M", "N"], i32, global>
}

// -----

// Rows numbered by a loop, as long as a product of sizes: the count of iterations bounds the sum that is multiplied.
// CHECK-LABEL: machine.kernel @rows_of_a_product
// CHECK-SAME: limits = ["{{.*}}K*M*(64*ceildiv(L, 64) - 1){{.*}} < {{[0-9]+}}"]
wave.kernel @rows_of_a_product attributes {arg_names = ["a"],
    constraints = [#wave.workgroup<dim = "M", tile = <"2">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"5">>, #wave.tiling<dim = "L", tile = <"64">>],
    subs = {}, dynamic = ["M", "K", "L"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["(L * M)", "K"], f16, global>):
  wave.iterate "K" () : () -> () {
  ^bb1(%i: index):
    wave.iterate "L" () : () -> () {
    ^bb2(%j: index):
      %0 = wave.fill 1.0 : f16 -> !wave.tile<[L, M, K], f16>
      wave.write %0, %a {indices = [#wave.expr<"(($index0 * M) + $index1)">, #wave.expr<"$index2">]} : !wave.tile<[L, M, K], f16>, !wave.memory<["(L * M)", "K"], f16, global>
    }
  }
}

// -----

// A loop that ends with its workgroup's rows: what a launch checks speaks of sizes alone.
// CHECK-LABEL: machine.kernel @up_to_the_diagonal
// CHECK-SAME: limits = ["ceildiv(L, 64) < {{[0-9]+}}"]
wave.kernel @up_to_the_diagonal attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>,
                   #wave.tiling<dim = "L", tile = <"64">, iters = <"max(min(ceildiv(L, 64), ($WG0 + 1)), 0)">>],
    subs = {}, dynamic = ["M", "L"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["L"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.fill 0.0 : f32 -> !wave.tile<[M], f32>
  %r = wave.iterate "L" (%0) : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
  ^bb1(%acc: !wave.tile<[M], f32>):
    %x = wave.read %a : !wave.memory<["L"], f32, global> -> !wave.tile<[L], f32>
    %y = wave.broadcast %x : !wave.tile<[L], f32> -> !wave.tile<[M, L], f32>
    %s = wave.reduce sum %y init %acc along "L" : (!wave.tile<[M, L], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    wave.yield %s : !wave.tile<[M], f32>
  }
  wave.write %r, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
