// RUN: soliton-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{found element type 'none', expected one of the language, such as `f16` or `i32`}}
func.func private @tile_c1(!wave.tile<[M], none>)

// -----

// expected-error@+1 {{dimension `M` appears twice, expected distinct dimensions}}
func.func private @tile_c2(!wave.tile<[M, M], f32>)

// -----

// expected-error@+1 {{the layout moves along `N`, which is no dimension of the tile}}
func.func private @tile_c3(!wave.tile<[M], f32, "lane = (64 N 1)">)

// -----

// expected-error@+1 {{the layout has 1 registers, 2048 lanes and 1 waves, expected at most 65536, 1024 and 1024}}
func.func private @tile_c4(!wave.tile<[M], f32, "lane = (2048 M 1)">)

// -----

// expected-error@+1 {{is no layout: expected a dimension or `_` at column 13 of the layout}}
func.func private @layout_text(!wave.tile<[M], f32, "lane = (64 7 1)">)

// -----

// expected-error@+1 {{found element type 'vector<4xf32>', expected one of the language}}
func.func private @memory_c1(!wave.memory<["M"], vector<4xf32>, global>)

// -----

// expected-error@+1 {{a global memory has an address map, expected one in shared memory only}}
func.func private @memory_c2(!wave.memory<["M"], f32, global, "[M 64]">)

// -----

// expected-error@+1 {{the address map has 2 dimensions, the memory 1}}
func.func private @memory_c2_rank(!wave.memory<["M"], f32, shared, "[M 64, K 32]">)

// -----

// expected-error@+1 {{the memory has 1 strides for 2 dimensions}}
func.func private @memory_c3_rank(!wave.memory<["M", "K"], f32, global, strides = ["1"]>)

// -----

// expected-error@+1 {{the memory has the stride -8, expected 0 or more}}
func.func private @memory_c3_negative(!wave.memory<["M", "K"], f32, global, strides = ["-8", "1"]>)

// -----

// expected-error@+1 {{strides of elements that share bytes, expected elements of whole bytes}}
func.func private @memory_c3_packed(!wave.memory<["M", "K"], f4E2M1FN, global, strides = ["LDA", "1"]>)

// -----

// expected-error@+1 {{found address space `local`, expected `global` or `shared`}}
func.func private @memory_space(!wave.memory<["M"], f32, local>)

// -----

// expected-error@+1 {{`M +` is no expression}}
func.func private @memory_shape(!wave.memory<["M +"], f32, global>)

// -----

// expected-error@+1 {{is no address map: panels of 24 elements do not divide the row}}
func.func private @map_text(!wave.memory<["M"], f32, shared, "[M 64] panel 24">)

// -----

// expected-error@+1 {{parameter 0 has type 'index', expected a memory, an integer or a float}}
wave.kernel @kernel_c1 attributes {arg_names = ["a"], constraints = [], subs = {}, dynamic = [], form = 0 : i32} {
^bb0(%a: index):
}

// -----

// expected-error@+1 {{names 0 parameters, has 1}}
wave.kernel @kernel_c2 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32} {
^bb0(%a: f32):
}

// -----

// expected-error@+1 {{symbol "M" is both bound and dynamic}}
wave.kernel @kernel_c3 attributes {arg_names = [], constraints = [], subs = {M = 4 : i64}, dynamic = ["M"], form = 0 : i32} {
}

// -----

// expected-error@+1 {{found 7 : i32 among the constraints, expected a constraint such as `#wave.workgroup<...>`}}
wave.kernel @kernel_c4 attributes {arg_names = [], constraints = [7 : i32], subs = {}, dynamic = [], form = 0 : i32} {
}

// -----

// expected-error@+1 {{distributes over workgroup dimension 5, expected 0 to 4}}
wave.kernel @kernel_c4_dim attributes {arg_names = [], constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 5>], subs = {}, dynamic = [], form = 0 : i32} {
}

// -----

// expected-error@+1 {{binds `M` to "four", expected a 64-bit integer}}
wave.kernel @kernel_c5 attributes {arg_names = [], constraints = [], subs = {M = "four"}, dynamic = [], form = 0 : i32} {
}

// -----

// expected-error@+1 {{has form 7, expected 0 to 6}}
wave.kernel @kernel_c6 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 7 : i32} {
}

// -----

// expected-error@+1 {{has a `workspace` of 1 memories, which are not its last parameters}}
wave.kernel @kernel_c7 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32, workspace = [#wave.expr<"0">]} {
}

// -----

// expected-error@+1 {{has a `workspace` with an entry that is no expression}}
wave.kernel @kernel_c7_offset attributes {arg_names = ["a"], constraints = [], subs = {}, dynamic = [], form = 0 : i32, workspace = [7]} {
^bb0(%a: !wave.memory<["M"], f16, global>):
}

// -----

func.func @read_c1(%a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{moves 'f32' elements, the memory has 'f16'}}
  %0 = wave.read %a : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @read_c2(%a: !wave.memory<["M", "K"], f16, global>) {
  // expected-error@+1 {{has 1 `indices`, expected 2, one per dimension of the memory}}
  %0 = wave.read %a {indices = [#wave.expr<"$index0">]} : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16>
  return
}

// -----

func.func @read_c2_rank(%a: !wave.memory<["M", "K"], f16, global>) {
  // expected-error@+1 {{has a result of 1 dimensions, the memory has 2 and there are no `indices`}}
  %0 = wave.read %a : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @read_c3(%a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{has 2 `starts`, expected 1, one per dimension of the result}}
  %0 = wave.read %a {starts = [#wave.expr<"0">, #wave.expr<"0">]} : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @read_c4(%a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{has "M" in `bounds`, expected an expression or "unbounded"}}
  %0 = wave.read %a {bounds = ["M"]} : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @read_c5(%a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{names a buffer of global memory, expected shared memory}}
  %0 = wave.read %a {buffer = #wave.expr<"1">} : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @read_c6(%a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{loads global memory by `ldmatrix.x4`, expected shared memory}}
  %0 = wave.read %a {matrix_load = "ldmatrix.x4"} : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @read_c6_width(%a: !wave.memory<["M"], f16, shared>) {
  // expected-error@+1 {{has `elements_per_thread`, `ldmatrix.x4` says what lanes receive}}
  %0 = wave.read %a {elements_per_thread = 2 : i64, matrix_load = "ldmatrix.x4"} : !wave.memory<["M"], f16, shared> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @read_c7(%a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{is in place in global memory, expected shared memory}}
  %0 = wave.read %a {in_place} : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @read_c7_others(%a: !wave.memory<["M"], f16, shared>) {
  // expected-error@+1 {{is in place, expected no `matrix_load`, `guards` or dynamic values}}
  %0 = wave.read %a {in_place, matrix_load = "ldmatrix.x4"} : !wave.memory<["M"], f16, shared> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @write_c5(%v: !wave.tile<[M], f16>, %a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{names a buffer of global memory, expected shared memory}}
  wave.write %v, %a {buffer = #wave.expr<"1">} : !wave.tile<[M], f16>, !wave.memory<["M"], f16, global>
  return
}

// -----

func.func @write_c1(%v: !wave.tile<[M], f32>, %a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{moves 'f32' elements, the memory has 'f16'}}
  wave.write %v, %a : !wave.tile<[M], f32>, !wave.memory<["M"], f16, global>
  return
}

// -----

func.func @write_c2(%v: !wave.tile<[M], f16>, %a: !wave.memory<["M", "K"], f16, global>) {
  // expected-error@+1 {{has a value of 1 dimensions, the memory has 2 and there are no `indices`}}
  wave.write %v, %a : !wave.tile<[M], f16>, !wave.memory<["M", "K"], f16, global>
  return
}

// -----

func.func @write_c3(%v: !wave.tile<[M], f16>, %a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{has 0 `bounds`, expected 1, one per dimension of the value}}
  wave.write %v, %a {bounds = []} : !wave.tile<[M], f16>, !wave.memory<["M"], f16, global>
  return
}

// -----

func.func @write_c4(%v: !wave.tile<[M], f16>, %a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{has 4 : i64 in `starts`, expected an expression}}
  wave.write %v, %a {starts = [4 : i64]} : !wave.tile<[M], f16>, !wave.memory<["M"], f16, global>
  return
}

// -----

func.func @atomic_c1(%v: !wave.tile<[M], i16>, %a: !wave.memory<["M"], i16, global>) {
  // expected-error@+1 {{is `add` of 'i16' elements, expected i32, i64, f32 or f64 (`add` also f16 or bf16, bits and `cas` of integers only)}}
  %0 = wave.atomic add %v, %a : !wave.tile<[M], i16>, !wave.memory<["M"], i16, global> -> !wave.tile<[M], i16>
  return
}

// -----

func.func @atomic_c1_bits(%v: !wave.tile<[M], f32>, %a: !wave.memory<["M"], f32, global>) {
  // expected-error@+1 {{is `bit_or` of 'f32' elements}}
  %0 = wave.atomic bit_or %v, %a : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @atomic_c2(%v: !wave.tile<[M], i32>, %a: !wave.memory<["M", "K"], i32, global>) {
  // expected-error@+1 {{has a value of 1 dimensions, the memory has 2 and there are no `indices`}}
  %0 = wave.atomic add %v, %a : !wave.tile<[M], i32>, !wave.memory<["M", "K"], i32, global> -> !wave.tile<[M], i32>
  return
}

// -----

func.func @atomic_c6(%v: !wave.tile<[M], i32>, %a: !wave.memory<["M"], i32, global>) {
  // expected-error@+1 {{gives '!wave.tile<[N], i32>' for the value '!wave.tile<[M], i32>', expected the same}}
  %0 = wave.atomic add %v, %a : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global> -> !wave.tile<[N], i32>
  return
}

// -----

func.func @allocate_c1() {
  // expected-error@+1 {{allocates global memory, expected shared memory}}
  %0 = wave.allocate : !wave.memory<["M"], f16, global>
  return
}

// -----

func.func @allocate_c2() {
  // expected-error@+1 {{has 0 buffers, expected at least 1}}
  %0 = wave.allocate {buffers = 0 : i64} : !wave.memory<["M"], f16, shared>
  return
}

// -----

func.func @allocate_c3() {
  // expected-error@+1 {{allocates a tile with strides, which only parameters have}}
  %0 = wave.allocate : !wave.memory<["M"], f16, shared, strides = ["2"]>
  return
}

// -----

func.func @fill_c1() {
  // expected-error@+1 {{fills 'f32' elements with a value of type 'f16'}}
  %0 = wave.fill 0.0 : f16 -> !wave.tile<[M], f32>
  return
}

// -----

func.func @splat_c1(%s: f16) {
  // expected-error@+1 {{fills 'f32' elements with a scalar of type 'f16'}}
  %0 = wave.splat %s : f16 -> !wave.tile<[M], f32>
  return
}

// -----

func.func @mma_c1(%a: !wave.tile<[M, K], f16>, %b: !wave.tile<[N, J], f16>, %c: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{has `rhs` of dimensions [N, J], expected `N`, `K`}}
  %0 = wave.mma %a, %b, %c : !wave.tile<[M, K], f16>, !wave.tile<[N, J], f16>, !wave.tile<[M, N], f32>
  return
}

// -----

func.func @mma_c1_nothing(%a: !wave.tile<[M, N], f16>, %b: !wave.tile<[N, K], f16>, %c: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{contracts nothing: `lhs` has dimensions [M, N], all of which the accumulator has}}
  %0 = wave.mma %a, %b, %c : !wave.tile<[M, N], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
  return
}

// -----

func.func @mma_c1_batch(%a: !wave.tile<[B, M, K], f16>, %b: !wave.tile<[N, K], f16>, %c: !wave.tile<[B, M, N], f32>) {
  // expected-error@+1 {{has `rhs` of dimensions [N, K], expected `N`, `K` and the batches of the accumulator [B, M, N]}}
  %0 = wave.mma %a, %b, %c : !wave.tile<[B, M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[B, M, N], f32>
  return
}

// -----

func.func @mma_c2(%a: !wave.tile<[M, K], f16>, %b: !wave.tile<[N, K], f16>, %c: !wave.tile<[M], f32>) {
  // expected-error@+1 {{accumulates into dimensions [M], expected at least two}}
  %0 = wave.mma %a, %b, %c : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M], f32>
  return
}

// -----

func.func @mma_c3(%a: !wave.tile<[M, K], f4E2M1FN>, %b: !wave.tile<[N, K], f4E2M1FN>, %c: !wave.tile<[M, N], f32>, %s: !wave.tile<[M, "K/16"], f8E8M0FNU>) {
  // expected-error@+1 {{has scales of `lhs` with dimensions [M, K/16] of 'f8E8M0FNU', expected `K/32` in place of `K` in [M, K], of f8E8M0FNU}}
  %0 = wave.mma %a, %b, %c scaled %s, %s : !wave.tile<[M, "K/16"], f8E8M0FNU>, !wave.tile<[M, "K/16"], f8E8M0FNU> : !wave.tile<[M, K], f4E2M1FN>, !wave.tile<[N, K], f4E2M1FN>, !wave.tile<[M, N], f32>
  return
}

// -----

func.func @mma_c3_count(%a: !wave.tile<[M, K], f4E2M1FN>, %b: !wave.tile<[N, K], f4E2M1FN>, %c: !wave.tile<[M, N], f32>, %s: !wave.tile<[M, "K/32"], f8E8M0FNU>) {
  // expected-error@+1 {{has 1 scales, expected none or one for each operand}}
  %0 = wave.mma %a, %b, %c scaled %s : !wave.tile<[M, "K/32"], f8E8M0FNU> : !wave.tile<[M, K], f4E2M1FN>, !wave.tile<[N, K], f4E2M1FN>, !wave.tile<[M, N], f32>
  return
}

// -----

func.func @unary_c1(%a: !wave.tile<[M], f16>) {
  // expected-error@+1 {{turns '!wave.tile<[M], f16>' into '!wave.tile<[M], f32>', expected one type}}
  %0 = wave.unary exp %a : !wave.tile<[M], f16> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @binary_c1(%a: !wave.tile<[M], f16>, %b: !wave.tile<[M], f32>) {
  // expected-error@+1 {{combines 'f16' with 'f32', expected one element type}}
  %0 = wave.binary add %a, %b : !wave.tile<[M], f16>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @binary_c2(%a: !wave.tile<[M], f32>, %b: !wave.tile<[K], f32>) {
  // expected-error@+1 {{has an operand of dimensions [K], expected some of the result's [M]}}
  %0 = wave.binary add %a, %b : !wave.tile<[M], f32>, !wave.tile<[K], f32> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @binary_c2_missing(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{has dimension `N` in its result, but no operand has it}}
  %0 = wave.binary add %a, %a : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M, N], f32>
  return
}

// -----

func.func @compare_c1(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{has element type 'f32', expected i1}}
  %0 = wave.compare lt %a, %a : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @compare_c2(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{has an operand of dimensions [M], expected some of the result's [N]}}
  %0 = wave.compare lt %a, %a : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[N], i1>
  return
}

// -----

func.func @select_c1(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{chooses by 'f32', expected i1}}
  %0 = wave.select %a, %a, %a : !wave.tile<[M], f32>, !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @select_c2(%c: !wave.tile<[N], i1>, %a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{has an operand of dimensions [N], expected some of the result's [M]}}
  %0 = wave.select %c, %a, %a : !wave.tile<[N], i1>, !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @cast_c1(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{turns dimensions [M] into [N], expected the same}}
  %0 = wave.cast %a : !wave.tile<[M], f32> -> !wave.tile<[N], f16>
  return
}

// -----

func.func @bitcast_c1(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{turns dimensions [M] into [N], expected the same}}
  %0 = wave.bitcast %a : !wave.tile<[M], f32> -> !wave.tile<[N], i32>
  return
}

// -----

func.func @bitcast_c2_groups(%a: !wave.tile<[M, "K/2"], i8>) {
  // expected-error@+1 {{reads the bits of 'i8' as 'f6E2M3FN', expected types of the same number of whole bytes}}
  %0 = wave.bitcast %a : !wave.tile<[M, "K/2"], i8> -> !wave.tile<[M, K], f6E2M3FN>
  return
}

// -----

func.func @bitcast_c2(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{reads the bits of 'f32' as 'f16', expected types of the same number of whole bytes}}
  %0 = wave.bitcast %a : !wave.tile<[M], f32> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @broadcast_c1(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{turns dimensions [M] into [N], expected the result to have all of the operand's}}
  %0 = wave.broadcast %a : !wave.tile<[M], f32> -> !wave.tile<[N], f32>
  return
}

// -----

func.func @permute_c1(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{turns dimensions [M, N] into [N, K], expected a permutation}}
  %0 = wave.permute %a : !wave.tile<[M, N], f32> -> !wave.tile<[N, K], f32>
  return
}

// -----

func.func @self_index_c1() {
  // expected-error@+1 {{has dimensions [N], expected [M]}}
  %0 = wave.self_index "M" : !wave.tile<[N], i32>
  return
}

// -----

func.func @self_index_c1_type() {
  // expected-error@+1 {{has element type 'f32', expected an integer or `index`}}
  %0 = wave.self_index "M" : !wave.tile<[M], f32>
  return
}

// -----

func.func @apply_expr_c1(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{has an input of 'f32' elements, expected integers}}
  %0 = wave.apply_expr <"$APPLY_EXPR_ARG_0"> %a : (!wave.tile<[M], f32>) -> !wave.tile<[M], i32>
  return
}

// -----

func.func @apply_expr_c1_none() {
  // expected-error@+1 {{has no inputs, expected at least one}}
  %0 = wave.apply_expr <"1"> : () -> !wave.tile<[M], i32>
  return
}

// -----

func.func @reduce_c1(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{reduces along `K`, expected a dimension of its source [M, N]}}
  %0 = wave.reduce sum %a along "K" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  return
}

// -----

func.func @reduce_c2(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{turns dimensions [M, N] into [], expected all but `N`}}
  %0 = wave.reduce sum %a along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[], f32>
  return
}

// -----

func.func @reduce_c3(%a: !wave.tile<[M, N], f32>, %i: !wave.tile<[N], f32>) {
  // expected-error@+1 {{has an initial value of type '!wave.tile<[N], f32>', expected '!wave.tile<[M], f32>'}}
  %0 = wave.reduce sum %a init %i along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[N], f32>) -> !wave.tile<[M], f32>
  return
}

// -----

func.func @reduce_c4_truths(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{combines 'f32' by `any`, expected i1}}
  %0 = wave.reduce any %a along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  return
}

// -----

func.func @reduce_c4_numbers(%a: !wave.tile<[M, N], i1>) {
  // expected-error@+1 {{combines 'i1' by `sum`, expected numbers}}
  %0 = wave.reduce sum %a along "N" : (!wave.tile<[M, N], i1>) -> !wave.tile<[M], i1>
  return
}

// -----

func.func @shuffle_c1(%a: !wave.tile<[M, L], f32>) {
  // expected-error @+1 {{goes along `K`, expected a dimension of its source [M, L]}}
  %0 = wave.shuffle up %a along "K" {offset = 1 : i64} : !wave.tile<[M, L], f32> -> !wave.tile<[M, L], f32>
  return
}

// -----

func.func @shuffle_c2(%a: !wave.tile<[M, L], f32>) {
  // expected-error @+1 {{turns dimensions [M, L] into [M], expected the same}}
  %0 = wave.shuffle up %a along "L" {offset = 1 : i64} : !wave.tile<[M, L], f32> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @shuffle_c3(%a: !wave.tile<[L], f32>) {
  // expected-error @+1 {{`idx` takes an index and no offset}}
  %0 = wave.shuffle idx %a along "L" {offset = 1 : i64} : !wave.tile<[L], f32> -> !wave.tile<[L], f32>
  return
}

// -----

func.func @shuffle_c3_negative(%a: !wave.tile<[L], f32>) {
  // expected-error @+1 {{`down` takes an offset that is not negative, and no index}}
  %0 = wave.shuffle down %a along "L" {offset = -1 : i64} : !wave.tile<[L], f32> -> !wave.tile<[L], f32>
  return
}

// -----

func.func @shuffle_c3_type(%a: !wave.tile<[L], f32>) {
  // expected-error @+1 {{expected i32 with the dimensions [L]}}
  %0 = wave.shuffle idx %a from %a : !wave.tile<[L], f32> along "L" : !wave.tile<[L], f32> -> !wave.tile<[L], f32>
  return
}

// -----

func.func @scan_c1(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{goes along `K`, expected a dimension of its source [M, N]}}
  %0 = wave.scan sum %a along "K" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  return
}

// -----

func.func @scan_c2(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{turns dimensions [M, N] into [M], expected the same}}
  %0 = wave.scan sum %a along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @scan_c3(%a: !wave.tile<[M, N], f32>, %i: !wave.tile<[N], f32>) {
  // expected-error@+1 {{has an initial value of dimensions [N], expected all but `N`}}
  %0 = wave.scan sum %a init %i : !wave.tile<[N], f32> along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  return
}

// -----

func.func @scan_c3_totals(%a: !wave.tile<[M, N], f32>, %t: !wave.tile<[M], f32>) {
  // expected-error@+1 {{has totals of dimensions [M], expected those of its source}}
  %0 = wave.scan sum %a after %t : !wave.tile<[M], f32> along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  return
}

// -----

func.func @scan_c4(%a: !wave.tile<[M, N], i1>) {
  // expected-error@+1 {{combines 'i1' by `sum`, expected numbers}}
  %0 = wave.scan sum %a along "N" : !wave.tile<[M, N], i1> -> !wave.tile<[M, N], i1>
  return
}

// -----

func.func @arg_reduce_c1(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{looks along `K`, expected a dimension of its source [M, N]}}
  %0, %1 = wave.arg_reduce max %a along "K" : (!wave.tile<[M, N], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], i32>)
  return
}

// -----

func.func @arg_reduce_c1_truths(%a: !wave.tile<[M, N], i1>) {
  // expected-error@+1 {{looks for an extreme of i1, expected numbers}}
  %0, %1 = wave.arg_reduce max %a along "N" : (!wave.tile<[M, N], i1>) -> (!wave.tile<[M], i1>, !wave.tile<[M], i32>)
  return
}

// -----

func.func @arg_reduce_c2(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{turns dimensions [M, N] into [M] and [N], expected all but `N`}}
  %0, %1 = wave.arg_reduce max %a along "N" : (!wave.tile<[M, N], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[N], i32>)
  return
}

// -----

func.func @arg_reduce_c2_places(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{has places of 'f32', expected i32 or i64}}
  %0, %1 = wave.arg_reduce max %a along "N" : (!wave.tile<[M, N], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], f32>)
  return
}

// -----

func.func @arg_reduce_c3(%a: !wave.tile<[M, N], f32>, %i: !wave.tile<[M], f32>) {
  // expected-error@+1 {{begins with other types than it has results}}
  %0, %1 = wave.arg_reduce max %a init %i along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], i32>)
  return
}

// -----

func.func @sort_c1(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{goes along `K`, expected a dimension of its keys [M, N]}}
  %0 = wave.sort ascending %a along "K" into "K" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32>
  return
}

// -----

func.func @sort_c1_truths(%a: !wave.tile<[M, N], i1>) {
  // expected-error@+1 {{orders 'i1', expected numbers of whole bytes}}
  %0 = wave.sort ascending %a along "N" into "N" : (!wave.tile<[M, N], i1>) -> !wave.tile<[M, N], i1>
  return
}

// -----

func.func @sort_c2(%a: !wave.tile<[M, N], f32>, %b: !wave.tile<[M], f32>) {
  // expected-error@+1 {{carries a tile of dimensions [M], expected those of its keys [M, N]}}
  %0, %1 = wave.sort ascending %a with %b along "N" into "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>)
  return
}

// -----

func.func @sort_c3(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{turns dimensions [M, N] into [M, N], expected `K` for `N`}}
  %0 = wave.sort ascending %a along "N" into "K" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32>
  return
}

// -----

func.func @sort_c3_count(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{has 2 results for 1 tiles}}
  %0, %1 = wave.sort ascending %a along "N" into "N" : (!wave.tile<[M, N], f32>) -> (!wave.tile<[M, N], f32>, !wave.tile<[M, N], f32>)
  return
}

// -----

func.func @rearrange_c1(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{combines 'f32' with 'f16', expected one element type}}
  %0 = wave.rearrange %a : !wave.tile<[M], f32> -> !wave.tile<[N], f16>
  return
}

// -----

func.func @rearrange_c2(%a: !wave.tile<[M, N], f32>) {
  // expected-error@+1 {{has 1 entries in `indices`, the operand has 2 dimensions}}
  %0 = wave.rearrange %a {indices = [#wave.expr<"$index0">]} : !wave.tile<[M, N], f32> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @rearrange_c2_expressions(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{has an entry in `indices` that is no expression}}
  %0 = wave.rearrange %a {indices = [1 : i64]} : !wave.tile<[M], f32> -> !wave.tile<[N], f32>
  return
}

// -----

func.func @concatenate_c1(%a: !wave.tile<[A], f32>) {
  // expected-error@+1 {{has 1 pieces along 2 dimensions, expected as many, and at least one}}
  %0 = wave.concatenate %a along ["A", "B"] into "N" : (!wave.tile<[A], f32>) -> !wave.tile<[N], f32>
  return
}

// -----

func.func @concatenate_c2(%a: !wave.tile<[A], f32>) {
  // expected-error@+1 {{has a piece of dimensions [A], expected those of its result [M, N] with `A` for `N`}}
  %0 = wave.concatenate %a along ["A"] into "N" : (!wave.tile<[A], f32>) -> !wave.tile<[M, N], f32>
  return
}

// -----

func.func @concatenate_c2_dim(%a: !wave.tile<[A], f32>) {
  // expected-error@+1 {{goes along `N`, expected a dimension of its result [M]}}
  %0 = wave.concatenate %a along ["A"] into "N" : (!wave.tile<[A], f32>) -> !wave.tile<[M], f32>
  return
}

// -----

func.func @print_c1(%a: !wave.tile<[A], f32>) {
  // expected-error@+1 {{gives '!wave.tile<[A], f16>' for '!wave.tile<[A], f32>', expected the same}}
  %0 = wave.print "x" %a : !wave.tile<[A], f32> -> !wave.tile<[A], f16>
  return
}

// -----

func.func @print_c2(%a: !wave.tile<[A], f32>) {
  // expected-error@+1 {{has 2 starts for 1 dimensions, expected an expression for each}}
  %0 = wave.print "x" %a {starts = [#wave.expr<"0">, #wave.expr<"0">]} : !wave.tile<[A], f32> -> !wave.tile<[A], f32>
  return
}

// -----

func.func @prefetch_c1(%a: !wave.memory<["M"], f32, shared>) {
  // expected-error@+1 {{fetches 'f32' elements of a shared memory of 'f32', expected global memory of one type}}
  wave.prefetch %a : !wave.memory<["M"], f32, shared> -> !wave.tile<[M], f32>
  return
}

// -----

func.func @prefetch_c2(%a: !wave.memory<["M"], f32, global>) {
  // expected-error@+1 {{has a tile of 2 dimensions, the memory has 1 and there are no `indices`}}
  wave.prefetch %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M, N], f32>
  return
}

// -----

func.func @atomic_c7(%a: !wave.tile<[M], i32>, %b: !wave.memory<["M"], i32, global>) {
  // expected-error@+1 {{is `cas` without an expected value, which `cas` alone has}}
  %0 = wave.atomic cas %a, %b : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  return
}

// -----

func.func @atomic_c7_types(%a: !wave.tile<[M], i32>, %e: !wave.tile<[M], i64>, %b: !wave.memory<["M"], i32, global>) {
  // expected-error@+1 {{expects '!wave.tile<[M], i64>' where the value is '!wave.tile<[M], i32>', expected the same}}
  %0 = wave.atomic cas %a expecting %e : !wave.tile<[M], i64>, %b : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  return
}

// -----

func.func @convert_c1(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{combines 'f32' with 'f16', expected one element type}}
  %0 = wave.convert %a : !wave.tile<[M], f32> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @slice_c1(%a: !wave.tile<[M], f32, "reg = (8 M 1)">) {
  // expected-error@+1 {{has the layout `reg = (4 M 1)`, expected `reg = (4 M 1), offset = (M 4)`}}
  %0 = wave.slice %a from 4 : !wave.tile<[M], f32, "reg = (8 M 1)"> -> !wave.tile<[M], f32, "reg = (4 M 1)">
  return
}

// -----

func.func @slice_c1_beyond(%a: !wave.tile<[M], f32, "reg = (8 M 1)">) {
  // expected-error@+1 {{takes registers 6 to 10 of 8, which are no layout of their own}}
  %0 = wave.slice %a from 6 : !wave.tile<[M], f32, "reg = (8 M 1)"> -> !wave.tile<[M], f32, "reg = (4 M 1)">
  return
}

// -----

func.func @join_c1(%a: !wave.tile<[M], f32, "reg = (4 M 1)">) {
  // expected-error@+1 {{has register 0 of a piece as its register 4, but they hold different coordinates}}
  %0 = wave.join %a, %a : (!wave.tile<[M], f32, "reg = (4 M 1)">, !wave.tile<[M], f32, "reg = (4 M 1)">) -> !wave.tile<[M], f32, "reg = (8 M 1)">
  return
}

// -----

func.func @join_c1_few(%a: !wave.tile<[M], f32, "reg = (4 M 1)">) {
  // expected-error@+1 {{has pieces of 4 registers together, the result has 8}}
  %0 = wave.join %a : (!wave.tile<[M], f32, "reg = (4 M 1)">) -> !wave.tile<[M], f32, "reg = (8 M 1)">
  return
}

// -----

func.func @iterate_c1(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{carries value 0 as '!wave.tile<[M], f32>', but the type in its yielded values is '!wave.tile<[M], f16>'}}
  %0 = wave.iterate "M" (%a) : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
  ^bb0(%x: !wave.tile<[M], f32>):
    %1 = wave.cast %x : !wave.tile<[M], f32> -> !wave.tile<[M], f16>
    wave.yield %1 : !wave.tile<[M], f16>
  }
  return
}

// -----

func.func @iterate_c1_arguments(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{has 0 block arguments, expected 1 as there are initial values}}
  %0 = wave.iterate "M" (%a) : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
    wave.yield %a : !wave.tile<[M], f32>
  }
  return
}

// -----

func.func @copy_c1(%a: !wave.memory<["M", "K"], f16, shared>, %s: !wave.memory<["M", "K"], f16, shared>) {
  // expected-error@+1 {{copies from shared to shared memory, expected global to shared}}
  wave.copy %a, %s {elements_per_thread = 8 : i64} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M", "K"], f16, shared>
  return
}

// -----

func.func @copy_c1_type(%a: !wave.memory<["M", "K"], f32, global>, %s: !wave.memory<["M", "K"], f16, shared>) {
  // expected-error@+1 {{moves 'f16' elements from a memory of 'f32' to one of 'f16'}}
  wave.copy %a, %s {elements_per_thread = 8 : i64} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f32, global>, !wave.memory<["M", "K"], f16, shared>
  return
}

// -----

func.func @copy_c2(%a: !wave.memory<["M", "K"], f16, global>, %s: !wave.memory<["M", "K"], f16, shared>) {
  // expected-error@+1 {{moves a tile whose dimensions are not those of the shared memory in order}}
  wave.copy %a, %s {elements_per_thread = 8 : i64} : !wave.tile<[K, M], f16>, !wave.memory<["M", "K"], f16, global>, !wave.memory<["M", "K"], f16, shared>
  return
}

// -----

func.func @copy_c3(%a: !wave.memory<["M", "K"], f16, global>, %s: !wave.memory<["M", "K"], f16, shared>) {
  // expected-error@+1 {{has 1 `starts`, expected 2, one per dimension of the tile}}
  wave.copy %a, %s {elements_per_thread = 8 : i64, starts = [#wave.expr<"0">]} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, global>, !wave.memory<["M", "K"], f16, shared>
  return
}

// -----

func.func @copy_c3_entry(%a: !wave.memory<["M", "K"], f16, global>, %s: !wave.memory<["M", "K"], f16, shared>) {
  // expected-error@+1 {{has "some" in `guards`, expected an expression}}
  wave.copy %a, %s {elements_per_thread = 8 : i64, guards = ["some"]} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, global>, !wave.memory<["M", "K"], f16, shared>
  return
}

// -----

func.func @copy_c3_rank(%a: !wave.memory<["M"], f16, global>, %s: !wave.memory<["M", "K"], f16, shared>) {
  // expected-error@+1 {{has a tile of 2 dimensions, the source has 1 and there are no `indices`}}
  wave.copy %a, %s {elements_per_thread = 8 : i64} : !wave.tile<[M, K], f16>, !wave.memory<["M"], f16, global>, !wave.memory<["M", "K"], f16, shared>
  return
}

// -----

func.func @copy_c4(%a: !wave.memory<["M", "K"], f16, global>, %s: !wave.memory<["M", "K"], f16, shared>) {
  // expected-error@+1 {{moves 0 elements a thread, expected at least 1}}
  wave.copy %a, %s {elements_per_thread = 0 : i64} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, global>, !wave.memory<["M", "K"], f16, shared>
  return
}

// -----

func.func @workgroup_id_c1() {
  // expected-error@+1 {{asks for dimension 5 of the grid, expected 0 to 4}}
  %0 = wave.workgroup_id 5
  return
}

// -----

func.func @apply_expr_c1_dims(%a: !wave.tile<[M], i32>, %b: !wave.tile<[N], i32>) {
  // expected-error@+1 {{has an input with dimensions [N], expected those of the first, [M], or some of them}}
  %0 = wave.apply_expr <"$APPLY_EXPR_ARG_0 + $APPLY_EXPR_ARG_1"> %a, %b : (!wave.tile<[M], i32>, !wave.tile<[N], i32>) -> !wave.tile<[M], i32>
  return
}

// -----

func.func @placeholders(%a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{depends on `$WG0`, expected its index operands and sizes}}
  %0 = wave.read %a {starts = [#wave.expr<"64*$WG0">]} : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
  return
}

// -----

func.func @copy_c6(%a: !wave.memory<["M"], f16, global>, %s: !wave.memory<["M"], f16, shared>) {
  // expected-error@+1 {{is `multicast`, expected one that is `boxed`}}
  wave.copy %a, %s {elements_per_thread = 64 : i64, multicast} : !wave.tile<[M], f16, "reg = (64 M 1), lane = (32 _ 0)">, !wave.memory<["M"], f16, global>, !wave.memory<["M"], f16, shared>
  return
}

// -----

func.func @copy_c5(%a: !wave.memory<["M"], f16, global>, %s: !wave.memory<["M"], f16, shared>) {
  // expected-error@+1 {{copies boxes and has `guards`, expected none: a box ends where its source does}}
  wave.copy %a, %s {elements_per_thread = 64 : i64, boxed, guards = [#wave.expr<"$index0 < M">]} : !wave.tile<[M], f16, "reg = (64 M 1), lane = (32 _ 0)">, !wave.memory<["M"], f16, global>, !wave.memory<["M"], f16, shared>
  return
}

// -----

func.func @copy_c5_lanes(%a: !wave.memory<["M"], f16, global>, %s: !wave.memory<["M"], f16, shared>) {
  // expected-error@+1 {{copies boxes and deals elements out to lanes or waves, expected all of them in each}}
  wave.copy %a, %s {elements_per_thread = 2 : i64, boxed} : !wave.tile<[M], f16, "reg = (2 M 1), lane = (32 M 2)">, !wave.memory<["M"], f16, global>, !wave.memory<["M"], f16, shared>
  return
}

// -----

func.func @copy_out_c1(%s: !wave.memory<["M", "K"], f16, global>, %c: !wave.memory<["M", "K"], f16, global>) {
  // expected-error@+1 {{copies from global to global memory, expected shared to global}}
  wave.copy_out %s, %c {elements_per_thread = 512 : i64} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, global>, !wave.memory<["M", "K"], f16, global>
  return
}

// -----

func.func @copy_out_c1_type(%s: !wave.memory<["M", "K"], f16, shared>, %c: !wave.memory<["M", "K"], f32, global>) {
  // expected-error@+1 {{moves 'f16' elements from a memory of 'f16' to one of 'f32'}}
  wave.copy_out %s, %c {elements_per_thread = 512 : i64} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M", "K"], f32, global>
  return
}

// -----

func.func @copy_out_c2(%s: !wave.memory<["M", "K"], f16, shared>, %c: !wave.memory<["M", "K"], f16, global>) {
  // expected-error@+1 {{moves a tile whose dimensions are not those of the shared memory in order}}
  wave.copy_out %s, %c {elements_per_thread = 512 : i64} : !wave.tile<[K, M], f16>, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M", "K"], f16, global>
  return
}

// -----

func.func @copy_out_c3(%s: !wave.memory<["M", "K"], f16, shared>, %c: !wave.memory<["M", "K"], f16, global>) {
  // expected-error@+1 {{has 1 `starts`, expected 2, one per dimension of the tile}}
  wave.copy_out %s, %c {elements_per_thread = 512 : i64, starts = [#wave.expr<"0">]} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M", "K"], f16, global>
  return
}

// -----

func.func @copy_out_c3_entry(%s: !wave.memory<["M", "K"], f16, shared>, %c: !wave.memory<["M", "K"], f16, global>) {
  // expected-error@+1 {{has "some" in `starts`, expected an expression}}
  wave.copy_out %s, %c {elements_per_thread = 512 : i64, starts = ["some", "other"]} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M", "K"], f16, global>
  return
}

// -----

func.func @copy_out_c3_rank(%s: !wave.memory<["M", "K"], f16, shared>, %c: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{has a tile of 2 dimensions, the destination has 1 and there are no `indices`}}
  wave.copy_out %s, %c {elements_per_thread = 512 : i64} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M"], f16, global>
  return
}

// -----

func.func @copy_out_c4(%s: !wave.memory<["M", "K"], f16, shared>, %c: !wave.memory<["M", "K"], f16, global>) {
  // expected-error@+1 {{moves 0 elements a thread, expected at least 1}}
  wave.copy_out %s, %c {elements_per_thread = 0 : i64} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M", "K"], f16, global>
  return
}

// -----

func.func @copy_out_c5(%s: !wave.memory<["M", "K"], f16, shared>, %c: !wave.memory<["M", "K"], f16, global>) {
  // expected-error@+1 {{deals elements out to lanes, or to waves of a team, expected all of them in each}}
  wave.copy_out %s, %c {elements_per_thread = 2 : i64} : !wave.tile<[M, K], f16, "reg = (2 K 1), lane = (32 K 2)">, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M", "K"], f16, global>
  return
}

// -----

func.func @copy_out_c5_teams(%s: !wave.memory<["M", "K"], f16, shared>, %c: !wave.memory<["M", "K"], f16, global>) {
  // Waves 0 and 2, 1 and 3 would be teams.
  // expected-error@+1 {{deals elements out to lanes, or to waves of a team, expected all of them in each}}
  wave.copy_out %s, %c {elements_per_thread = 64 : i64} : !wave.tile<[M, K], f16, "reg = (64 K 1), wave = (2 M 1)(2 _ 0)">, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M", "K"], f16, global>
  return
}

// -----

func.func @copy_out_c6(%s: !wave.memory<["M", "K"], f16, shared>, %c: !wave.memory<["M", "K"], f16, global>) {
  // expected-error@+1 {{has a destination that something else touches, expected other copies like it at most}}
  wave.copy_out %s, %c {elements_per_thread = 512 : i64} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M", "K"], f16, global>
  %0 = wave.read %c : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16>
  return
}

// -----

func.func @copy_out_c6_loop(%s: !wave.memory<["M", "K"], f16, shared>, %c: !wave.memory<["M", "K"], f16, global>) {
  wave.iterate "K" () : () -> () {
    // expected-error@+1 {{is in a loop, expected none: boxes are written in any order}}
    wave.copy_out %s, %c {elements_per_thread = 512 : i64} : !wave.tile<[M, K], f16>, !wave.memory<["M", "K"], f16, shared>, !wave.memory<["M", "K"], f16, global>
    wave.yield
  }
  return
}

// -----

// expected-error@+1 {{has a `raster` of 0, expected bands of some rows, or, below 0, of columns}}
wave.kernel @kernel_c8 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32, raster = 0 : i64} {
}

// -----

// expected-error@+1 {{has a `cluster` of 1 workgroups, expected at least 2}}
wave.kernel @kernel_c9 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32, cluster = 1 : i64} {
}

// -----

// expected-error@+1 {{has `persistent` of 0 workgroups, expected at least 1}}
wave.kernel @kernel_c10 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32, persistent = 0 : i64} {
}

// -----

// expected-error@+1 {{has -1 `service_waves`, expected at least 1}}
wave.kernel @kernel_c11 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32, service_waves = -1 : i64} {
}

// -----

// expected-error@+1 {{has `workgroups_per_cluster` of 2, 2, expected positive numbers, one of them larger than 1, and no `cluster`}}
wave.kernel @kernel_c13 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32, workgroups_per_cluster = array<i64: 2, 2>} {
}

// -----

// expected-error@+1 {{has `workgroups_per_cluster` of 2, expected positive numbers, one of them larger than 1, and no `cluster`}}
wave.kernel @kernel_c13_sum attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32, workgroups_per_cluster = array<i64: 2>, cluster = 2 : i64} {
}

// -----

// expected-error@+1 {{has `service_registers` of 20, expected a multiple of 8 from 24 to 256 beside `service_waves`}}
wave.kernel @kernel_c15 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32, service_waves = 4 : i64, service_registers = 20 : i64} {
}

// -----

// expected-error@+1 {{has `service_registers` of 40, expected a multiple of 8 from 24 to 256 beside `service_waves`}}
wave.kernel @kernel_c15_alone attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32, service_registers = 40 : i64} {
}

// -----

// expected-error@+1 {{has `tickets`, expected `persistent` and a last memory of one i32 in the workspace}}
wave.kernel @kernel_c12 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32, persistent = 2 : i64, tickets} {
}

// -----

// expected-error@+1 {{calls "s" stable, expected the name of a memory}}
wave.kernel @kernel_c14 attributes {arg_names = ["a", "s"], constraints = [], subs = {}, dynamic = [], form = 0 : i32, stable = ["a", "s"]} {
^bb0(%a: !wave.memory<["M"], f16, global>, %s: f32):
}

// -----

// expected-error@+1 {{calls "c" stable, expected the name of a memory}}
wave.kernel @kernel_c14_unknown attributes {arg_names = ["a"], constraints = [], subs = {}, dynamic = [], form = 0 : i32, stable = ["c"]} {
^bb0(%a: !wave.memory<["M"], f16, global>):
}

// -----

func.func @read_c8(%a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{is of another workgroup, expected plain reads of shared memory}}
  %0 = wave.read %a {workgroup = 1 : i64} : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
  return
}

// -----

wave.kernel @read_c8_number attributes {arg_names = ["a"], constraints = [], subs = {}, dynamic = [], form = 0 : i32, cluster = 2 : i64} {
^bb0(%a: !wave.memory<["M"], f16, shared>):
  // expected-error@+1 {{is of workgroup 2 of a cluster of 2}}
  %0 = wave.read %a {workgroup = 2 : i64} : !wave.memory<["M"], f16, shared> -> !wave.tile<[M], f16>
}

// -----

func.func @write_c4_within(%v: !wave.tile<[M], f16>, %a: !wave.memory<["M"], f16, global>) {
  // expected-error@+1 {{has 3 : i64 in `within`, expected an expression}}
  wave.write %v, %a {within = [3 : i64]} : !wave.tile<[M], f16>, !wave.memory<["M"], f16, global>
  return
}
