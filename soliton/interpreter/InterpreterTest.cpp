// What the reference computes on small kernels: copies, functions of elements, shared memory, and what it refuses.
#include "soliton/interpreter/ReferenceTest.h"

namespace soliton::interp {
namespace {

//===-- Copies ----------------------------------------------------------------===//

const char *kCopy = R"mlir(
wave.kernel @copy attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"BM">, workgroupDim = 0>],
                              subs = {BM = 64 : i64}, dynamic = ["M"], form = 0 : i32} {
^bb0(%a: !wave.memory<["M"], f16, global>, %b: !wave.memory<["M"], f16, global>):
  %0 = wave.read %a : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
  wave.write %0, %b : !wave.tile<[M], f16>, !wave.memory<["M"], f16, global>
})mlir";

TEST_F(Reference, CopiesEveryElementOfAnOddSize) {
  std::vector<double> in = ramp(100);
  EXPECT_EQ(output(kCopy, DType::f16, {{encodeAll(DType::f16, in), Bytes(200, 0xff)}, {{"M", 100}}}), in);
}

TEST_F(Reference, CopiesNothingOfAnEmptyTensor) {
  EXPECT_EQ(output(kCopy, DType::f16, {{{}, {}}, {{"M", 0}}}), std::vector<double>());
}

TEST_F(Reference, LeavesBytesThatAreNotWritten) {
  // One workgroup of 64 by a fixed number of them; the rest keeps its NaN pattern bit for bit.
  std::string text = kCopy;
  text.replace(text.find("workgroupDim = 0>"), 17, "workgroupDim = 0, iters = <\"1\">>");
  Result result = execute(text, {{encodeAll(DType::f16, ramp(100)), Bytes(200, 0xff)}, {{"M", 100}}});
  ASSERT_TRUE(result.ok()) << format(result.diagnostics);
  EXPECT_EQ(Bytes(result.arguments[1].begin() + 128, result.arguments[1].end()), Bytes(72, 0xff));
  EXPECT_EQ(Bytes(result.arguments[1].begin(), result.arguments[1].begin() + 128),
            Bytes(result.arguments[0].begin(), result.arguments[0].begin() + 128));
}

TEST_F(Reference, ReadsTransposed) {
  // b[n, m] = a[m, n]: the tile's dimensions are [N, M], the memory's [M, N].
  const char *text = R"mlir(
wave.kernel @transpose attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"16">, workgroupDim = 1>],
    subs = {M = 20 : i64, N = 37 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["N", "M"], f32, global>):
  %0 = wave.read %a {indices = [#wave.expr<"$index1">, #wave.expr<"$index0">]} : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[N, M], f32>
  wave.write %0, %b : !wave.tile<[N, M], f32>, !wave.memory<["N", "M"], f32, global>
})mlir";
  std::vector<double> in = ramp(20 * 37), expected(20 * 37);
  for (int m = 0; m < 20; ++m)
    for (int n = 0; n < 37; ++n)
      expected[n * 20 + m] = in[m * 37 + n];
  EXPECT_EQ(output(text, DType::f32, {{encodeAll(DType::f32, in), Bytes(20 * 37 * 4)}, {}}), expected);
}

TEST_F(Reference, GathersByDynamicValuesAndMixedIndices) {
  // b[m] = a[idx[m] + mod(m * 1, 3) * 0, m - 2*floordiv(m, 2)] : a row chosen by data, a column by an expression.
  const char *text = R"mlir(
wave.kernel @gather attributes {arg_names = ["idx", "a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>],
    subs = {M = 10 : i64, R = 7 : i64, C = 4 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%i: !wave.memory<["M"], i32, global>, %a: !wave.memory<["R", "C"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %i : !wave.memory<["M"], i32, global> -> !wave.tile<[M], i32>
  %1 = wave.read %a using %0 : !wave.tile<[M], i32> {indices = [#wave.expr<"$dynamic_val0">, #wave.expr<"mod($index0 + $dynamic_val0, 4)">]}
      : !wave.memory<["R", "C"], f32, global> -> !wave.tile<[M], f32>
  wave.write %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
})mlir";
  std::vector<double> index = integers(10, 1, 0, 6), in = ramp(28), expected(10);
  for (int m = 0; m < 10; ++m)
    expected[m] = in[static_cast<int>(index[m]) * 4 + (m + static_cast<int>(index[m])) % 4];
  EXPECT_EQ(output(text, DType::f32, {{encodeAll(DType::i32, index), encodeAll(DType::f32, in), Bytes(40)}, {}}),
            expected);
}

//===-- Past the registers ----------------------------------------------------===//

/// b[m, k] = a[m, k] through buffer 1 of a swizzled shared tile; the tile is 4 x 32, `PIECE` what is copied of it.
const char *kDirect = R"mlir(
!global = !wave.memory<["M", "K"], f16, global>
!shared = !wave.memory<["M", "K"], f16, shared, "[M 4, K 32] swizzle(8, 1, 4)">
!tile = !wave.tile<[M, K], f16, "reg = (32 K 1), lane = (4 M 1)">
wave.kernel @direct attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.workgroup<dim = "K", tile = <"32">, workgroupDim = 1>],
    subs = {M = 6 : i64, K = 40 : i64}, dynamic = [], form = 2 : i32} {
^bb0(%a: !global, %b: !global):
  %s = wave.allocate {offset = 0 : i64, buffers = 2 : i64} : !shared
  %m = wave.workgroup_id 0
  %k = wave.workgroup_id 1
  wave.copy %a[%m, %k], %s {elements_per_thread = 8 : i64, buffer = #wave.expr<"1">, starts = [#wave.expr<"4*$0">, #wave.expr<"32*$1">],
                    guards = [#wave.expr<"$index0 < BOUND">, #wave.expr<"$index1 < K">]} : PIECE, !global, !shared
  %0 = wave.read %s {buffer = #wave.expr<"1">, starts = [#wave.expr<"0">, #wave.expr<"0">]} : !shared -> !tile
  wave.write %0, %b[%m, %k] {starts = [#wave.expr<"4*$0">, #wave.expr<"32*$1">], guards = [#wave.expr<"$index0 < M">, #wave.expr<"$index1 < K">]}
      : !tile, !global
})mlir";

std::string direct(const std::string &bound, const std::string &piece) {
  std::string text = kDirect;
  text.replace(text.find("BOUND"), 5, bound);
  text.replace(text.find("PIECE"), 5, piece);
  return text;
}

TEST_F(Reference, CopiesToSharedMemoryWithZerosBeyondTheBounds) {
  std::vector<double> in = ramp(6 * 40), expected = in;
  Inputs inputs{{encodeAll(DType::f16, in), Bytes(6 * 40 * 2, 0xff)}, {}};
  EXPECT_EQ(output(direct("M", "!tile"), DType::f16, inputs), expected);
  std::fill(expected.begin() + 5 * 40, expected.end(), 0.0);
  EXPECT_EQ(output(direct("5", "!tile"), DType::f16, inputs), expected);
}

TEST_F(Reference, CopiesOfLanesBeyondAnOddTileGoNowhereUntilItHasAMap) {
  std::vector<double> in = ramp(6 * 40);
  Inputs inputs{{encodeAll(DType::f16, in), Bytes(6 * 40 * 2, 0xff)}, {}};
  std::string text = direct("M", "!wave.tile<[M, K], f16, \"reg = (32 K 1), lane = (8 M 1)\">");
  for (auto [from, to] : {std::pair<std::string, std::string>{", \"[M 4, K 32] swizzle(8, 1, 4)\"", ""},
                          {"offset = 0 : i64, ", ""},
                          {"form = 2", "form = 1"}})
    text.replace(text.find(from), from.size(), to);
  EXPECT_EQ(output(text, DType::f16, inputs), in);
}

TEST_F(Reference, CopiesOnlyWhatASwizzleKeepsTogether) {
  Inputs inputs{{encodeAll(DType::f16, ramp(6 * 40)), Bytes(6 * 40 * 2, 0xff)}, {}};
  Result result = execute(direct("M", "!wave.tile<[M, K], f16, \"reg = (8 K 1), lane = (2 K 8)(4 M 1)\">"), inputs);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.diagnostics[0].message, "copies a part of what the destination's swizzle exchanges");
  result = execute(direct("M", "!wave.tile<[M, K], f16, \"reg = (32 K 1), lane = (8 M 1)\">"), inputs);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.diagnostics[0].message, "copies to 4 along dimension 0 of a tile of 4");
}

TEST_F(Reference, CopiesOnlyWholeLinesWhereASwizzleExchangesRows) {
  std::vector<double> in = ramp(6 * 40);
  Inputs inputs{{encodeAll(DType::f16, in), Bytes(6 * 40 * 2, 0xff)}, {}};
  auto inLines = [](std::string text) { return text.replace(text.find("swizzle(8, 1, 4)"), 16, "swizzle(8, 2, 8)"); };
  EXPECT_EQ(output(inLines(direct("M", "!tile")), DType::f16, inputs), in);
  Result result = execute(inLines(direct("M", "!wave.tile<[M, K], f16, \"reg = (32 K 1), lane = (1 M 1)\">")), inputs);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.diagnostics[0].message, "copies a part of what the destination's swizzle exchanges");
}

//===-- Control ---------------------------------------------------------------===//

/// b = 100 times the number of iterations in which `k < LIMIT` holds, plus 1 where M >= 3, else plus 2.
const char *kBranches = R"mlir(
!tile = !wave.tile<[M], i32>
!memory = !wave.memory<["M"], i32, global>
wave.kernel @branches attributes {arg_names = ["b"], constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>],
                                  subs = {}, dynamic = ["M", "LIMIT"], form = 0 : i32} {
^bb0(%b: !memory):
  %zero = wave.fill 0 : i32 -> !tile
  %hundred = wave.fill 100 : i32 -> !tile
  %wg = wave.workgroup_id 0
  %sum = wave.iterate "K" (%zero) {count = #wave.expr<"5">} : (!tile) -> !tile {
  ^bb1(%k: index, %x: !tile):
    wave.priority 1
    %next = wave.conditional <"$0 < LIMIT - $1"> [%k, %wg] -> !tile {
      %0 = wave.binary add %x, %hundred : !tile, !tile -> !tile
      wave.barrier {first_wave = 1 : i64, last_wave = 2 : i64}
      wave.yield %0 : !tile
    } else {
      wave.wait vm, 3
      wave.yield %x : !tile
    }
    wave.yield %next : !tile
  }
  // Only the block that is taken runs: the other one would overwrite it.
  %added:2 = wave.conditional <"M >= 3"> -> !tile, !tile {
    %0 = wave.fill 1 : i32 -> !tile
    wave.yield %0, %sum : !tile, !tile
  } else {
    %0 = wave.fill 2 : i32 -> !tile
    wave.write %0, %b : !tile, !memory
    wave.yield %0, %sum : !tile, !tile
  }
  wave.sched_barrier
  wave.sched_group {mask = 8 : i64, count = 4 : i64}
  wave.commit cp_async
  %result = wave.binary add %added#0, %added#1 : !tile, !tile -> !tile
  wave.conditional <"M > 2"> {
    wave.write %result, %b : !tile, !memory
  } else {
  }
})mlir";

TEST_F(Reference, RunsTheBlockThatTheConditionNames) {
  auto branches = [&](int64_t size, int64_t limit) {
    return output(kBranches, DType::i32, {{Bytes(size * 4, 0xff)}, {{"M", size}, {"LIMIT", limit}}});
  };
  EXPECT_EQ(branches(6, 3), (std::vector<double>{301, 301, 301, 301, 201, 201}));
  EXPECT_EQ(branches(3, 0), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(branches(3, 9), (std::vector<double>{501, 501, 501}));
  EXPECT_EQ(branches(2, 9), (std::vector<double>{2, 2}));
}

TEST_F(Reference, AConditionalHandsOnAnyNumberOfValues) {
  constexpr int kValues = 200;
  std::string types, fills, yields, sum, last = "%v0#0";
  for (int i = 0; i < kValues; ++i) {
    std::string number = std::to_string(i), comma = i ? ", " : "";
    types += comma + "!tile";
    fills += "  %f" + number + " = wave.fill " + number + " : i32 -> !tile\n";
    yields += comma + "%f" + number;
    if (i > 0) {
      sum += "  %s" + number + " = wave.binary add " + last + ", %v0#" + number + " : !tile, !tile -> !tile\n";
      last = "%s" + number;
    }
  }
  std::string block = "{\n  wave.yield " + yields + " : " + types + "\n  }";
  std::string text = "!tile = !wave.tile<[M], i32>\n!memory = !wave.memory<[\"M\"], i32, global>\n"
                     "wave.kernel @many attributes {arg_names = [\"b\"], constraints = [], subs = {M = 2 : i64}, "
                     "dynamic = [], form = 0 : i32} {\n^bb0(%b: !memory):\n" +
                     fills + "  %v0:" + std::to_string(kValues) + " = wave.conditional <\"M > 1\"> -> " + types + " " +
                     block + " else " + block + "\n" + sum + "  wave.write " + last + ", %b : !tile, !memory\n}";
  constexpr double kSum = kValues * (kValues - 1) / 2;
  EXPECT_EQ(output(text, DType::i32, {{Bytes(8)}, {}}), (std::vector<double>{kSum, kSum}));
}

TEST_F(Reference, RefusesAConditionWithoutAValue) {
  std::string text = kBranches;
  text.replace(text.find("M >= 3"), 6, "OTHER >= 3");
  Result result = execute(text, {{Bytes(16)}, {{"M", 4}, {"LIMIT", 1}}});
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].id, DiagId::ReferenceUndefined);
}

//===-- Element by element ----------------------------------------------------===//

TEST_F(Reference, MasksByIndexAndScales) {
  // b[m] = 2*m + 1 < limit ? scale * a[m] : -1, cast to f16.
  const char *text = R"mlir(
wave.kernel @mask attributes {arg_names = ["limit", "scale", "a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>],
    subs = {M = 21 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%limit: i32, %scale: f32, %a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f16, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  %i = wave.self_index "M" : !wave.tile<[M], i32>
  %odd = wave.apply_expr <"2*$APPLY_EXPR_ARG_0 + 1"> %i : (!wave.tile<[M], i32>) -> !wave.tile<[M], i32>
  %l = wave.splat %limit : i32 -> !wave.tile<[M], i32>
  %s = wave.splat %scale : f32 -> !wave.tile<[], f32>
  %less = wave.compare lt %odd, %l : !wave.tile<[M], i32>, !wave.tile<[M], i32> -> !wave.tile<[M], i1>
  %scaled = wave.binary mul %0, %s : !wave.tile<[M], f32>, !wave.tile<[], f32> -> !wave.tile<[M], f32>
  %minus = wave.fill -1.0 : f32 -> !wave.tile<[M], f32>
  %chosen = wave.select %less, %scaled, %minus : !wave.tile<[M], i1>, !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  %half = wave.cast %chosen : !wave.tile<[M], f32> -> !wave.tile<[M], f16>
  wave.write %half, %b : !wave.tile<[M], f16>, !wave.memory<["M"], f16, global>
})mlir";
  std::vector<double> in = ramp(21), expected(21);
  for (int m = 0; m < 21; ++m)
    expected[m] = 2 * m + 1 < 25 ? roundTo(DType::f16, roundTo(DType::f32, 0.1) * in[m]) : -1;
  // 0.1f * m is rounded to f32 first, then to f16; all 12 products here round the same way in one step.
  EXPECT_EQ(
      output(text, DType::f16,
             {{encodeAll(DType::i32, {25}), encodeAll(DType::f32, {0.1}), encodeAll(DType::f32, in), Bytes(42)}, {}}),
      expected);
}

TEST_F(Reference, CastsRoundOnce) {
  // 1 + 2^-11 + 2^-30 is above the middle of two halves; by way of f32 it would be in the middle and go down.
  const char *text = R"mlir(
wave.kernel @cast attributes {arg_names = ["a", "b"], constraints = [], subs = {M = 2 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M"], f64, global>, %b: !wave.memory<["M"], f16, global>):
  %0 = wave.read %a : !wave.memory<["M"], f64, global> -> !wave.tile<[M], f64>
  %1 = wave.cast %0 : !wave.tile<[M], f64> -> !wave.tile<[M], f16>
  wave.write %1, %b : !wave.tile<[M], f16>, !wave.memory<["M"], f16, global>
})mlir";
  EXPECT_EQ(output(text, DType::f16, {{encodeAll(DType::f64, {1 + 0x1p-11 + 0x1p-30, 1 + 0x1p-11}), Bytes(4)}, {}}),
            (std::vector<double>{1 + 0x1p-10, 1}));
}

TEST_F(Reference, BitcastsKeepBits) {
  const char *text = R"mlir(
wave.kernel @bits attributes {arg_names = ["a", "b"], constraints = [], subs = {M = 4 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M"], f16, global>, %b: !wave.memory<["M"], bf16, global>):
  %0 = wave.read %a : !wave.memory<["M"], f16, global> -> !wave.tile<[M], f16>
  %1 = wave.bitcast %0 : !wave.tile<[M], f16> -> !wave.tile<[M], i16>
  %one = wave.fill 1 : i16 -> !wave.tile<[M], i16>
  %2 = wave.binary bit_xor %1, %one : !wave.tile<[M], i16>, !wave.tile<[M], i16> -> !wave.tile<[M], i16>
  %3 = wave.bitcast %2 : !wave.tile<[M], i16> -> !wave.tile<[M], bf16>
  wave.write %3, %b : !wave.tile<[M], bf16>, !wave.memory<["M"], bf16, global>
})mlir";
  std::vector<double> in = {1, -2, 0.333251953125, -0.0}, expected;
  for (double value : in)
    expected.push_back(decode(DType::bf16, encode(DType::f16, value) ^ 1));
  EXPECT_EQ(output(text, DType::bf16, {{encodeAll(DType::f16, in), Bytes(8)}, {}}), expected);
}

TEST_F(Reference, BitcastsToNarrowerElementsSpreadGroupsTheLowestBitsFirst) {
  const char *text = R"mlir(
wave.kernel @bits attributes {arg_names = ["a", "b"], constraints = [], subs = {M = 2 : i64, K = 4 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M", "K/2"], i16, global>, %b: !wave.memory<["M", "K"], i8, global>):
  %0 = wave.read %a : !wave.memory<["M", "K/2"], i16, global> -> !wave.tile<[M, "K/2"], i16>
  %1 = wave.bitcast %0 : !wave.tile<[M, "K/2"], i16> -> !wave.tile<[M, K], i8>
  %2 = wave.bitcast %1 : !wave.tile<[M, K], i8> -> !wave.tile<[M, "K/4"], i32>
  %3 = wave.bitcast %2 : !wave.tile<[M, "K/4"], i32> -> !wave.tile<[M, K], i8>
  wave.write %3, %b : !wave.tile<[M, K], i8>, !wave.memory<["M", "K"], i8, global>
})mlir";
  EXPECT_EQ(output(text, DType::i8, {{encodeAll(DType::i16, {0x0201, 0x0403, 0x0605, -1}), Bytes(8)}, {}}),
            (std::vector<double>{1, 2, 3, 4, 5, 6, -1, -1}));
}

std::string elementwise(const std::string &type, const std::string &body) {
  return R"mlir(
wave.kernel @each attributes {arg_names = ["a", "b", "c"], constraints = [], subs = {M = 8 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M"], )mlir" +
         type + R"mlir(, global>, %b: !wave.memory<["M"], )mlir" + type +
         R"mlir(, global>, %c: !wave.memory<["M"], )mlir" + type +
         R"mlir(, global>):
  %x = wave.read %a : !wave.memory<["M"], )mlir" +
         type + R"mlir(, global> -> !wave.tile<[M], )mlir" + type + R"mlir(>
  %y = wave.read %b : !wave.memory<["M"], )mlir" +
         type + R"mlir(, global> -> !wave.tile<[M], )mlir" + type + R"mlir(>
  %r = )mlir" +
         body + R"mlir( -> !wave.tile<[M], )mlir" + type + R"mlir(>
  wave.write %r, %c : !wave.tile<[M], )mlir" +
         type + R"mlir(>, !wave.memory<["M"], )mlir" + type + R"mlir(, global>
})mlir";
}

struct Each {
  const char *type, *op;
  DType dtype;
  std::vector<double> a, b, expected;
};

TEST_F(Reference, AnIntegerAsATruthIsItsLowBit) {
  std::string text = R"mlir(
wave.kernel @bit attributes {arg_names = ["a", "b"], constraints = [], subs = {M = 4 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M"], i8, global>, %b: !wave.memory<["M"], i1, global>):
  %0 = wave.read %a : !wave.memory<["M"], i8, global> -> !wave.tile<[M], i8>
  %1 = wave.cast %0 : !wave.tile<[M], i8> -> !wave.tile<[M], i1>
  wave.write %1, %b : !wave.tile<[M], i1>, !wave.memory<["M"], i1, global>
})mlir";
  Result result = execute(text, {{{0, 1, 2, 255}, Bytes(4)}, {}});
  ASSERT_TRUE(result.ok()) << format(result.diagnostics);
  EXPECT_EQ(result.arguments[1], (Bytes{0, 1, 0, 1}));
}

TEST_F(Reference, FunctionsOfElements) {
  const double inf = INFINITY;
  const std::vector<Each> cases = {
      {"i8",
       "add",
       DType::i8,
       {127, -128, 5, 0, 0, 0, 0, 0},
       {1, -1, 6, 0, 0, 0, 0, 0},
       {-128, 127, 11, 0, 0, 0, 0, 0}},
      {"i32", "div", DType::i32, {7, -7, 7, -7, 0, 9, 1, 6}, {2, 2, -2, -2, 3, 3, 1, 4}, {3, -3, -3, 3, 0, 3, 1, 1}},
      {"i32",
       "floordiv",
       DType::i32,
       {7, -7, 7, -7, 0, 9, 1, 6},
       {2, 2, -2, -2, 3, 3, 1, 4},
       {3, -4, -4, 3, 0, 3, 1, 1}},
      {"i32", "mod", DType::i32, {7, -7, 7, -7, 0, 9, 1, 6}, {2, 2, -2, -2, 3, 3, 1, 4}, {1, 1, -1, -1, 0, 0, 0, 2}},
      {"f32",
       "mod",
       DType::f32,
       {7, -7, 7, -7, 5.5, 9, 1, 6},
       {2, 2, -2, -2, 3, 3, 1, 4},
       {1, 1, -1, -1, 2.5, 0, 0, 2}},
      {"i32",
       "bit_xor",
       DType::i32,
       {1, 3, 0, -1, 8, 9, 10, 11},
       {1, 1, 0, 0, 4, 4, 4, 4},
       {0, 2, 0, -1, 12, 13, 14, 15}},
      {"i16",
       "pow",
       DType::i16,
       {2, 3, -2, 0, 1, 10, 2, 7},
       {10, 4, 3, 0, 9, 4, 16, 2},
       {1024, 81, -8, 1, 1, 10000, 0, 49}},
      {"f32",
       "max",
       DType::f32,
       {1, -1, 0, inf, 3, -inf, 2, 8},
       {2, -2, 0, 5, 3, 4, 1, 9},
       {2, -1, 0, inf, 3, 4, 2, 9}},
      {"f16",
       "add",
       DType::f16,
       {2048, 65504, 1, 0, 0, 0, 0, 0},
       {1, 32, 1, 0, 0, 0, 0, 0},
       {2048, inf, 2, 0, 0, 0, 0, 0}},
  };
  for (const Each &each : cases) {
    std::string type = std::string("!wave.tile<[M], ") + each.type + ">";
    std::string body = std::string("wave.binary ") + each.op + " %x, %y : " + type + ", " + type;
    EXPECT_EQ(
        output(elementwise(each.type, body), each.dtype,
               {{encodeAll(each.dtype, each.a), encodeAll(each.dtype, each.b), Bytes(8 * bits(each.dtype) / 8)}, {}}),
        each.expected)
        << each.type << " " << each.op;
  }
}

TEST_F(Reference, RefusesFunctionsWithoutAValue) {
  Result zero = execute(elementwise("i32", "wave.binary div %x, %y : !wave.tile<[M], i32>, !wave.tile<[M], i32>"),
                        {{Bytes(32, 1), Bytes(32, 0), Bytes(32)}, {}});
  ASSERT_EQ(zero.diagnostics.size(), 1u);
  EXPECT_EQ(zero.diagnostics[0].message, "`div` has no value on these i32 elements");
  Result bitsOfFloats =
      execute(elementwise("f32", "wave.binary bit_or %x, %y : !wave.tile<[M], f32>, !wave.tile<[M], f32>"),
              {{Bytes(32), Bytes(32), Bytes(32)}, {}});
  ASSERT_EQ(bitsOfFloats.diagnostics.size(), 1u);
  EXPECT_EQ(bitsOfFloats.diagnostics[0].id, DiagId::ReferenceUndefined);
}

//===-- Shared memory ---------------------------------------------------------===//

std::string throughShared(const std::string &write) {
  return R"mlir(
wave.kernel @shared attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"8">, workgroupDim = 0>],
    subs = {M = 20 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %s = wave.allocate : !wave.memory<["M"], f32, shared>
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  )mlir" +
         write +
         R"mlir(
  wave.wait shared, 0
  wave.barrier
  %1 = wave.read %s {indices = [#wave.expr<"7 - $index0">]} : !wave.memory<["M"], f32, shared> -> !wave.tile<[M], f32>
  wave.write %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
})mlir";
}

TEST_F(Reference, SharedMemoryHoldsTheTileOfOneWorkgroup) {
  // Each workgroup reverses its eight elements; the last tile is padded with the zeros that were read.
  std::vector<double> in = ramp(20), expected(20);
  for (int m = 0; m < 20; ++m) {
    int source = m / 8 * 8 + 7 - m % 8;
    expected[m] = source < 20 ? in[source] : 0;
  }
  EXPECT_EQ(output(throughShared("wave.write %0, %s : !wave.tile<[M], f32>, !wave.memory<[\"M\"], f32, shared>"),
                   DType::f32, {{encodeAll(DType::f32, in), Bytes(80)}, {}}),
            expected);
}

TEST_F(Reference, SharedMemoryIsUndefinedUntilWritten) {
  Result result = execute(throughShared(""), {{Bytes(80), Bytes(80)}, {}});
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].message, "reads an element of shared memory that was never written");
  EXPECT_EQ(result.diagnostics[0].place.file, "kernel.mlir");
  EXPECT_EQ(result.diagnostics[0].place.line, 10);
}

//===-- Bounds ----------------------------------------------------------------===//

std::string mapped(const std::string &read, const std::string &write, const std::string &more = "") {
  return R"mlir(
wave.kernel @mapped attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0)mlir" +
         more + R"mlir(>], subs = {M = 6 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a )mlir" +
         read + R"mlir( : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  wave.write %0, %b )mlir" +
         write + R"mlir( : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
})mlir";
}

TEST_F(Reference, APlaceOutsideTheMemoryReadsZeroAndIsNotWritten) {
  Inputs inputs{{encodeAll(DType::f32, {1, 2, 3, 4, 5, 6}), encodeAll(DType::f32, std::vector<double>(6, 9))}, {}};
  auto shifted = [](const char *by) { return "{indices = [#wave.expr<\"$index0 + " + std::string(by) + "\">]}"; };
  EXPECT_EQ(output(mapped(shifted("(-1)"), ""), DType::f32, inputs), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(output(mapped(shifted("2"), ""), DType::f32, inputs), (std::vector<double>{3, 4, 5, 6, 0, 0}));
  EXPECT_EQ(output(mapped("", shifted("(-2)")), DType::f32, inputs), (std::vector<double>{3, 4, 5, 6, 9, 9}));
  EXPECT_EQ(output(mapped("", shifted("1")), DType::f32, inputs), (std::vector<double>{9, 1, 2, 3, 4, 5}));
}

TEST_F(Reference, StatedBoundsReplaceThoseOfTheDimensionButNotTheMemorys) {
  Inputs inputs{{encodeAll(DType::f32, {1, 2, 3, 4, 5, 6}), encodeAll(DType::f32, std::vector<double>(6, 9))}, {}};
  EXPECT_EQ(output(mapped("{bounds = [#wave.expr<\"3\">]}", ""), DType::f32, inputs),
            (std::vector<double>{1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(output(mapped("{bounds = [\"unbounded\"]}", "{bounds = [\"unbounded\"]}"), DType::f32, inputs),
            (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Reference, ACoordinateBelowItsDimensionIsOutsideIt) {
  // The workgroups start at -2, 2 and 6: what lies before the first element is neither read nor written.
  Inputs inputs{{encodeAll(DType::f32, {1, 2, 3, 4, 5, 6}), encodeAll(DType::f32, std::vector<double>(6, 9))}, {}};
  std::string wrap = "{indices = [#wave.expr<\"mod($index0, 6)\">]}";
  EXPECT_EQ(output(mapped(wrap, wrap, ", apply = <\"4*$WG - 2\">"), DType::f32, inputs),
            (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

//===-- Constraints -----------------------------------------------------------===//

TEST_F(Reference, FiveWorkgroupDimensions) {
  std::string text = R"mlir(
wave.kernel @five attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"2">, workgroupDim = 0>],
    subs = {M = 4 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  wave.write %0, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
})mlir";
  wave::KernelOp kernel = parse(text);
  mlir::Builder builder(&context);
  llvm::SmallVector<mlir::Attribute> constraints;
  auto number = [&](int64_t value) { return wave::ExprAttr::get(&context, sym::Expr(value)); };
  for (auto [dim, place] :
       {std::pair("M", 4), std::pair("A", 3), std::pair("B", 2), std::pair("C", 1), std::pair("D", 0)})
    constraints.push_back(
        wave::WorkgroupConstraintAttr::get(&context, builder.getStringAttr(dim), number(2), place, true, {}, {}));
  kernel.setConstraintsAttr(builder.getArrayAttr(constraints));
  kernel.setSubsAttr(builder.getDictionaryAttr(
      {builder.getNamedAttr("M", builder.getI64IntegerAttr(4)), builder.getNamedAttr("A", builder.getI64IntegerAttr(2)),
       builder.getNamedAttr("B", builder.getI64IntegerAttr(3)), builder.getNamedAttr("C", builder.getI64IntegerAttr(2)),
       builder.getNamedAttr("D", builder.getI64IntegerAttr(1))}));
  Result result = interp::run(kernel, {{encodeAll(DType::f32, {1, 2, 3, 4}), Bytes(16)}, {}});
  ASSERT_TRUE(result.ok()) << format(result.diagnostics);
  EXPECT_EQ(decodeAll(DType::f32, result.arguments[1]), (std::vector<double>{1, 2, 3, 4}));
}

TEST_F(Reference, AnAliasIsWalkedByTheLoopOfItsTarget) {
  std::string text = R"mlir(
wave.kernel @alias attributes {arg_names = ["a", "b"], constraints = [#wave.tiling<dim = "K", tile = <"4">>,
    #wave.alias<source = "S", target = "K", sourceToTarget = <"floordiv($x, 2)">>],
    subs = {K = 8 : i64, S = 4 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["S"], f32, global>, %b: !wave.memory<["S"], f32, global>):
  wave.iterate "K" () : () -> () {
    %0 = wave.read %a : !wave.memory<["S"], f32, global> -> !wave.tile<[S], f32>
    wave.write %0, %b : !wave.tile<[S], f32>, !wave.memory<["S"], f32, global>
  }
})mlir";
  EXPECT_EQ(output(text, DType::f32, {{encodeAll(DType::f32, {1, 2, 3, 4}), Bytes(16)}, {}}),
            (std::vector<double>{1, 2, 3, 4}));
}

TEST_F(Reference, AnInnerLoopOnOneAxisHidesTheOuterOnlyWhileItRuns) {
  std::string text = R"mlir(
wave.kernel @nested attributes {arg_names = ["a", "b"], constraints = [#wave.tiling<dim = "N", tile = <"2">>],
    subs = {N = 4 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["N"], f32, global>, %b: !wave.memory<["N"], f32, global>):
  wave.iterate "N" () : () -> () {
    wave.iterate "N" () : () -> () {
    }
    %0 = wave.read %a : !wave.memory<["N"], f32, global> -> !wave.tile<[N], f32>
    wave.write %0, %b : !wave.tile<[N], f32>, !wave.memory<["N"], f32, global>
  }
})mlir";
  EXPECT_EQ(output(text, DType::f32, {{encodeAll(DType::f32, {1, 2, 3, 4}), Bytes(16)}, {}}),
            (std::vector<double>{1, 2, 3, 4}));
}

//===-- Bytes -----------------------------------------------------------------===//

TEST_F(Reference, NarrowTypesSharePackedBytesAndRowsStartOnBytes) {
  auto copy = [&](const char *type, const Bytes &in, size_t bytes) {
    std::string memory = std::string("!wave.memory<[\"M\", \"N\"], ") + type + ", global>",
                tile = std::string("!wave.tile<[M, N], ") + type + ">";
    Result result = execute("wave.kernel @c attributes {arg_names = [\"a\", \"b\"], constraints = [], "
                            "subs = {M = 2 : i64, N = 3 : i64}, dynamic = [], form = 0 : i32} {\n^bb0(%a: " +
                                memory + ", %b: " + memory + "):\n  %0 = wave.read %a : " + memory + " -> " + tile +
                                "\n  wave.write %0, %b : " + tile + ", " + memory + "\n}",
                            {{in, Bytes(bytes)}, {}});
    EXPECT_TRUE(result.ok()) << format(result.diagnostics);
    return result.ok() ? result.arguments[1] : Bytes();
  };
  // The even element is the low half; what a row leaves of its last byte is not touched.
  EXPECT_EQ(copy("i4", {0x21, 0xf3, 0x54, 0xf6}, 4), (Bytes{0x21, 0x03, 0x54, 0x06}));
  EXPECT_EQ(copy("f6E2M3FN", {0x41, 0x20, 0xfc, 0x01, 0x02, 0x00}, 6), (Bytes{0x41, 0x20, 0x00, 0x01, 0x02, 0x00}));
  // A byte for each truth; every non-zero one is true, which is written as 1.
  EXPECT_EQ(copy("i1", {0, 1, 2, 255, 0, 1}, 6), (Bytes{0, 1, 1, 1, 0, 1}));
}

//===-- Errors ----------------------------------------------------------------===//

TEST_F(Reference, AnUnmaskedAccessOutsideItsMemoryIsAnError) {
  // From `Placed` on an access without bounds is not masked.
  std::string text = kCopy;
  text.replace(text.find("form = 0"), 8, "form = 2");
  Result result = execute(text, {{Bytes(200), Bytes(200)}, {{"M", 100}}});
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].message, "`wave.read` is at 100 along dimension 0 of a memory of 100");
  Result byOne = execute(text, {{Bytes(254), Bytes(254)}, {{"M", 127}}});
  ASSERT_EQ(byOne.diagnostics.size(), 1u);
  EXPECT_EQ(byOne.diagnostics[0].message, "`wave.read` is at 127 along dimension 0 of a memory of 127");
  EXPECT_TRUE(execute(text, {{Bytes(256), Bytes(256)}, {{"M", 128}}}).ok());
}

TEST_F(Reference, NamesTheOpItDoesNotKnow) {
  Result result = execute(R"mlir(
wave.kernel @odd attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32} {
  %0 = arith.constant 1 : i32
})mlir",
                          {});
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].id, DiagId::NotSupportedHere);
  EXPECT_EQ(result.diagnostics[0].message, "the reference interpreter does not know `arith.constant`");
}

TEST_F(Reference, ChecksItsInputs) {
  auto message = [&](Inputs inputs) {
    Result result = execute(kCopy, std::move(inputs));
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.diagnostics[0].id, DiagId::ReferenceInput);
    return result.diagnostics[0].message;
  };
  EXPECT_EQ(message({{Bytes(200), Bytes(200)}, {}}), "the dynamic symbol `M` has no value");
  EXPECT_EQ(message({{Bytes(200)}, {{"M", 100}}}), "found 1 arguments, expected 2");
  EXPECT_EQ(message({{Bytes(200), Bytes(199)}, {{"M", 100}}}), "argument `b` has 199 bytes, expected 200");
}

} // namespace
} // namespace soliton::interp
