// RUN: soliton-opt %s | soliton-opt | FileCheck %s
// RUN: soliton-opt %s --mlir-print-op-generic | soliton-opt | FileCheck %s

// What the author wrote: every op without a layout.
// CHECK-LABEL: wave.kernel @traced attributes
// CHECK-SAME:    arg_names = ["a", "b", "c", "s"]
// CHECK-SAME:    #wave.workgroup<dim = "M", tile = <"BM">, workgroupDim = 0>
// CHECK-SAME:    #wave.workgroup<dim = "N", tile = <"BN">, workgroupDim = 1, primary = false, apply = <"2*$WG">, iters = <"3">>
// CHECK-SAME:    #wave.tiling<dim = "K", tile = <"BK">>
// CHECK-SAME:    #wave.tiling<dim = "K2", tile = <"BK">, iters = <"4">, start = <"1">>
// CHECK-SAME:    #wave.wave<dim = "M", tile = <"floordiv(BM, 2)">>
// CHECK-SAME:    #wave.hardware<threadsPerWave = 64 : i64, wavesPerBlock = [2, 2, 1], mma = "F32_16x16x16_F16", vectorShapes = {M = #wave.expr<"16">}, maxBitsPerLoad = 64>
// CHECK-SAME:    #wave.grid<size = <"304">>
// CHECK-SAME:    #wave.reordering<equation = <"mod($WG0, 8)">, workgroupDim = 0>
// CHECK-SAME:    #wave.alias<source = "U", target = "K", sourceToTarget = <"2*$x">>
// CHECK-SAME:    #wave.assume<predicate = <"mod(M, 16) == 0">>
// CHECK-SAME:    dynamic = ["M"], form = 0 : i32, subs = {BK = 32 : i64, BM = 64 : i64}, target = "gfx942"
wave.kernel @traced attributes {
    arg_names = ["a", "b", "c", "s"],
    constraints = [
      #wave.workgroup<dim = "M", tile = <"BM">, workgroupDim = 0>,
      #wave.workgroup<dim = "N", tile = <"BN">, workgroupDim = 1, primary = false, apply = <"2*$WG">, iters = <"3">>,
      #wave.tiling<dim = "K", tile = <"BK">>, #wave.tiling<dim = "K2", tile = <"BK">, iters = <"4">, start = <"1">>,
      #wave.wave<dim = "M", tile = <"floordiv(BM, 2)">>,
      #wave.hardware<threadsPerWave = 64 : i64, wavesPerBlock = [2, 2, 1], mma = "F32_16x16x16_F16",
                     vectorShapes = {M = #wave.expr<"16">}, maxBitsPerLoad = 64>,
      #wave.grid<size = <"304">>, #wave.reordering<equation = <"mod($WG0, 8)">, workgroupDim = 0>,
      #wave.alias<source = "U", target = "K", sourceToTarget = <"2*$x">>,
      #wave.assume<predicate = <"mod(M, 16) == 0">>],
    subs = {BM = 64 : i64, BK = 32 : i64}, dynamic = ["M"], form = 0 : i32, target = "gfx942"} {
// CHECK: ^bb0(%[[A:.*]]: !wave.memory<["M", "K"], f16, global>, %[[B:.*]]: !wave.memory<["N", "K"], f16, shared>,
^bb0(%a: !wave.memory<["M", "K"], f16, global>, %b: !wave.memory<["N", "K"], f16, shared>,
     %c: !wave.memory<["M", "N"], f32, global>, %s: f32):
  // CHECK: wave.fill 0.000000e+00 : f32 -> <[M, N], f32>
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  // CHECK: wave.splat %{{.*}} : f32 -> <[M, N], f32>
  %splat = wave.splat %s : f32 -> !wave.tile<[M, N], f32>
  // CHECK: wave.iterate "K"(%{{.*}}) {tags = ["loop"]} : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  %sum = wave.iterate "K" (%zero) {tags = ["loop"]} : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb0(%acc: !wave.tile<[M, N], f32>):
    // CHECK: wave.read %[[A]] {elements_per_thread = 4 : i64, tags = ["read_a"]}
    %0 = wave.read %a {elements_per_thread = 4 : i64, tags = ["read_a"]} : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16>
    // CHECK: wave.read %{{.*}} {matrix_load = "ldmatrix.x4.trans"}
    %1 = wave.read %b {matrix_load = "ldmatrix.x4.trans"} : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    // CHECK: wave.read %{{.*}} {in_place} : <["N", "K"], f16, shared>
    %in_place = wave.read %b {in_place} : !wave.memory<["N", "K"], f16, shared> -> !wave.tile<[N, K], f16>
    // CHECK: wave.mma %{{.*}}, %{{.*}}, %{{.*}} {kind = "F32_16x16x16_F16"} : <[M, K], f16>, <[N, K], f16>, <[M, N], f32>
    %2 = wave.mma %0, %1, %acc {kind = "F32_16x16x16_F16"} : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
    // CHECK: wave.yield %{{.*}} : !wave.tile<[M, N], f32>
    wave.yield %2 : !wave.tile<[M, N], f32>
  }
  // CHECK: wave.unary exp2 %{{.*}} : <[M, N], f32> -> <[M, N], f32>
  %exp = wave.unary exp2 %sum : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  // CHECK: wave.reduce max %{{.*}} along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  %max = wave.reduce max %exp along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  // CHECK: wave.reduce prod %{{.*}} along "N"
  %prod = wave.reduce prod %exp along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  // CHECK: wave.scan sum %{{.*}} along "N" : <[M, N], f32> -> <[M, N], f32>
  %sums = wave.scan sum %exp along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  // CHECK: wave.shuffle bfly %{{.*}} along "N" {offset = 16 : i64} : <[M, N], f32> -> <[M, N], f32>
  %swapped = wave.shuffle bfly %exp along "N" {offset = 16 : i64} : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  // CHECK: wave.scan max %{{.*}} init %{{.*}} : !wave.tile<[M], f32> after %{{.*}} : !wave.tile<[M, N], f32> along "N" : <[M, N], f32> -> <[M, N], f32>
  %runs = wave.scan max %exp init %max : !wave.tile<[M], f32> after %sums : !wave.tile<[M, N], f32> along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  // CHECK: %{{.*}}, %{{.*}} = wave.arg_reduce max %{{.*}} along "N" : (!wave.tile<[M, N], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], i32>)
  %largest, %place = wave.arg_reduce max %exp along "N" : (!wave.tile<[M, N], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], i32>)
  // CHECK: wave.arg_reduce min %{{.*}} init %{{.*}}, %{{.*}} along "N"
  %least, %where = wave.arg_reduce min %exp init %largest, %place along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>, !wave.tile<[M], i32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], i32>)
  // CHECK: wave.sort descending %{{.*}} with %{{.*}} along "N" into "K" : (!wave.tile<[M, N], f32>, !wave.tile<[M, N], f32>) -> (!wave.tile<[M, K], f32>, !wave.tile<[M, K], f32>)
  %sorted, %with = wave.sort descending %exp with %sums along "N" into "K" : (!wave.tile<[M, N], f32>, !wave.tile<[M, N], f32>) -> (!wave.tile<[M, K], f32>, !wave.tile<[M, K], f32>)
  // CHECK: wave.rearrange %{{.*}} {indices = [#wave.expr<"$index0">, #wave.expr<"$index1 + 16">]} : <[M, N], f32> -> <[M, K], f32>
  %part = wave.rearrange %exp {indices = [#wave.expr<"$index0">, #wave.expr<"$index1 + 16">]} : !wave.tile<[M, N], f32> -> !wave.tile<[M, K], f32>
  // CHECK: wave.rearrange %{{.*}} : <[M, N], f32> -> <[P], f32>
  %flat = wave.rearrange %exp : !wave.tile<[M, N], f32> -> !wave.tile<[P], f32>
  // CHECK: wave.concatenate %{{.*}}, %{{.*}} along ["K", "N"] into "L" : (!wave.tile<[M, K], f32>, !wave.tile<[M, N], f32>) -> !wave.tile<[M, L], f32>
  %behind = wave.concatenate %part, %exp along ["K", "N"] into "L" : (!wave.tile<[M, K], f32>, !wave.tile<[M, N], f32>) -> !wave.tile<[M, L], f32>
  // CHECK: wave.print "x" %{{.*}} : <[M, N], f32> -> <[M, N], f32>
  %shown = wave.print "x" %exp : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  // CHECK: wave.reduce sum %{{.*}} init %{{.*}} along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
  %row = wave.reduce sum %exp init %max along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
  // CHECK: wave.broadcast %{{.*}} : <[M], f32> -> <[M, N], f32>
  %wide = wave.broadcast %row : !wave.tile<[M], f32> -> !wave.tile<[M, N], f32>
  // CHECK: wave.binary add %{{.*}}, %{{.*}} : <[M, N], f32>, <[M], f32> -> <[M, N], f32>
  %add = wave.binary add %wide, %row : !wave.tile<[M, N], f32>, !wave.tile<[M], f32> -> !wave.tile<[M, N], f32>
  // CHECK: wave.compare lt %{{.*}}, %{{.*}} : <[M, N], f32>, <[M, N], f32> -> <[M, N], i1>
  %less = wave.compare lt %add, %splat : !wave.tile<[M, N], f32>, !wave.tile<[M, N], f32> -> !wave.tile<[M, N], i1>
  // CHECK: wave.select %{{.*}}, %{{.*}}, %{{.*}} : <[M, N], i1>, <[M, N], f32>, <[M], f32> -> <[M, N], f32>
  %chosen = wave.select %less, %add, %row : !wave.tile<[M, N], i1>, !wave.tile<[M, N], f32>, !wave.tile<[M], f32> -> !wave.tile<[M, N], f32>
  // CHECK: wave.cast %{{.*}} : <[M, N], f32> -> <[M, N], bf16>
  %cast = wave.cast %chosen : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], bf16>
  // CHECK: wave.bitcast %{{.*}} : <[M, "N/2"], i8> -> <[M, N], f4E2M1FN>
  %bytes = wave.fill 7 : i8 -> !wave.tile<[M, "N/2"], i8>
  %nibbles = wave.bitcast %bytes : !wave.tile<[M, "N/2"], i8> -> !wave.tile<[M, N], f4E2M1FN>
  // CHECK: wave.bitcast %{{.*}} : <[M, N], bf16> -> <[M, N], i16>
  %bits = wave.bitcast %cast : !wave.tile<[M, N], bf16> -> !wave.tile<[M, N], i16>
  // CHECK: wave.permute %{{.*}} : <[M, N], bf16> -> <[N, M], bf16>
  %turned = wave.permute %cast : !wave.tile<[M, N], bf16> -> !wave.tile<[N, M], bf16>
  // CHECK: wave.self_index "M" : <[M], i32>
  %index = wave.self_index "M" : !wave.tile<[M], i32>
  // CHECK: wave.apply_expr <"2*$APPLY_EXPR_ARG_0 + 1"> %{{.*}} : (!wave.tile<[M], i32>) -> !wave.tile<[M], i32>
  %odd = wave.apply_expr <"2*$APPLY_EXPR_ARG_0 + 1"> %index : (!wave.tile<[M], i32>) -> !wave.tile<[M], i32>
  // CHECK: wave.read %[[A]] using %{{.*}} : !wave.tile<[M], i32> {bounds = [#wave.expr<"M">, "unbounded"], indices = [#wave.expr<"$dynamic_val0">, #wave.expr<"$index1">]}
  %gathered = wave.read %a using %odd : !wave.tile<[M], i32> {bounds = [#wave.expr<"M">, "unbounded"], indices = [#wave.expr<"$dynamic_val0">, #wave.expr<"$index1">]} : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16>
  // CHECK: wave.atomic max %{{.*}}, %{{.*}} : <[M, N], f32>, <["M", "N"], f32, global> -> <[M, N], f32>
  %old = wave.atomic max %chosen, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  // CHECK: wave.write %{{.*}}, %{{.*}} : <[M, N], f32>, <["M", "N"], f32, global>
  wave.write %chosen, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}

// Decided and expanded: layouts, places, origins.
// CHECK-LABEL: wave.kernel @expanded
wave.kernel @expanded attributes {arg_names = ["a", "b"], constraints = [], subs = {M = 64 : i64}, dynamic = [], form = 5 : i32} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  // CHECK: wave.allocate {offset = 256 : i64} : <["M", "K"], f16, shared, "[M 64, K 64] pad 4 swizzle(8, 1, 8) panel 64">
  %shared = wave.allocate {offset = 256 : i64} : !wave.memory<["M", "K"], f16, shared, "[M 64, K 64] pad 4 swizzle(8, 1, 8) panel 64">
  // CHECK: wave.read %{{.*}}[%{{.*}}] {origin = #wave.origin<op = 3, role = global_load, piece = {M = 1 : i64}, copy = 2, tags = ["a"]>, starts = [#wave.expr<"64*$0">]}
  // CHECK-SAME: <[M], f32, "reg = (4 M 1), lane = (16 M 4)">
  %wg = wave.workgroup_id 0
  %0 = wave.read %a[%wg] {starts = [#wave.expr<"64*$0">], origin = #wave.origin<op = 3, role = global_load, piece = {M = 1 : i64}, copy = 2, tags = ["a"]>}
      : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32, "lane = (16 M 4), reg = (2 M 1)(2 M 2)">
  // CHECK: wave.slice %{{.*}} from 2 : {{.*}} -> <[M], f32, "reg = (2 M 1), lane = (16 M 4), offset = (M 2)">
  %1 = wave.slice %0 from 2 : !wave.tile<[M], f32, "reg = (4 M 1), lane = (16 M 4)"> -> !wave.tile<[M], f32, "reg = (2 M 1), lane = (16 M 4), offset = (M 2)">
  %2 = wave.slice %0 from 0 : !wave.tile<[M], f32, "reg = (4 M 1), lane = (16 M 4)"> -> !wave.tile<[M], f32, "reg = (2 M 1), lane = (16 M 4)">
  // CHECK: wave.join %{{.*}}, %{{.*}} :
  %3 = wave.join %2, %1 : (!wave.tile<[M], f32, "reg = (2 M 1), lane = (16 M 4)">, !wave.tile<[M], f32, "reg = (2 M 1), lane = (16 M 4), offset = (M 2)">) -> !wave.tile<[M], f32, "reg = (4 M 1), lane = (16 M 4)">
  // CHECK: wave.convert %{{.*}} {plan = 1 : i32} :
  %4 = wave.convert %3 {plan = 1 : i32} : !wave.tile<[M], f32, "reg = (4 M 1), lane = (16 M 4)"> -> !wave.tile<[M], f32, "reg = (4 M 16), lane = (16 M 1)">
  // Past the registers: the tile is a type, the buffer that of the destination.
  // CHECK: wave.copy %{{.*}}[%{{.*}}], %{{.*}} {buffer = #wave.expr<"mod($0, 2)">, elements_per_thread = 4 : i64, guards = [#wave.expr<"$index0 < M">], origin = #wave.origin<op = 4, role = copy_async>, starts = [#wave.expr<"64*$0">]}
  // CHECK-SAME: : !wave.tile<[M], f32, "reg = (4 M 1), lane = (16 M 4)">, <["M"], f32, global>, <["M"], f32, shared>
  %line = wave.allocate {buffers = 2 : i64} : !wave.memory<["M"], f32, shared>
  wave.copy %a[%wg], %line {elements_per_thread = 4 : i64, starts = [#wave.expr<"64*$0">], guards = [#wave.expr<"$index0 < M">], buffer = #wave.expr<"mod($0, 2)">,
                       origin = #wave.origin<op = 4, role = copy_async>}
      : !wave.tile<[M], f32, "reg = (4 M 1), lane = (16 M 4)">, !wave.memory<["M"], f32, global>, !wave.memory<["M"], f32, shared>
  // CHECK: wave.copy_out %{{.*}}, %{{.*}}[%{{.*}}] {buffer = #wave.expr<"mod($0, 2)">, elements_per_thread = 64 : i64, origin = #wave.origin<op = 5, role = global_store>, starts = [#wave.expr<"64*$0">]}
  // CHECK-SAME: : !wave.tile<[M], f32, "reg = (64 M 1), lane = (32 _ 0)">, <["M"], f32, shared>, <["M"], f32, global>
  wave.copy_out %line, %b[%wg] {elements_per_thread = 64 : i64, starts = [#wave.expr<"64*$0">], buffer = #wave.expr<"mod($0, 2)">,
                       origin = #wave.origin<op = 5, role = global_store>}
      : !wave.tile<[M], f32, "reg = (64 M 1), lane = (32 _ 0)">, !wave.memory<["M"], f32, shared>, !wave.memory<["M"], f32, global>
  // CHECK: wave.barrier
  wave.barrier
  // CHECK: wave.wait cp_async, 1
  wave.wait cp_async, 1
  // A loop that carries nothing, counted.
  // CHECK: wave.iterate "M"() {count = #wave.expr<"3">} : () -> () {
  wave.iterate "M" () {count = #wave.expr<"3">} : () -> () {
  }
  // A scalar: a tile of no dimensions.
  // CHECK: wave.fill 1 : i32 -> <[], i32, "reg = (1 _ 0)">
  %5 = wave.fill 1 : i32 -> !wave.tile<[], i32, "reg = (1 _ 0)">
}

// Elements that do not lie row by row.
// CHECK-LABEL: func.func private @strided
// CHECK-SAME:    !wave.memory<["M", "K"], f16, global, strides = ["LDA", "1"]>
// CHECK-SAME:    !wave.memory<["B", "M", "K"], f16, shared, strides = ["0", "2*LDA", "1"]>
func.func private @strided(!wave.memory<["M", "K"], f16, global, strides = ["LDA", "1"]>,
                           !wave.memory<["B", "M", "K"], f16, shared, strides = ["0", "LDA * 2", "1"]>)
