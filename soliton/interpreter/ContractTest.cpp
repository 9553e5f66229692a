// Matrix products and reductions, compared with loops written out here.
#include "soliton/interpreter/ReferenceTest.h"

namespace soliton::interp {
namespace {

//===-- Matrices --------------------------------------------------------------===//

std::string gemm(const std::string &in, const std::string &out, const std::string &extra = "") {
  std::string text = R"mlir(
wave.kernel @gemm attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"BM">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"BN">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"BK">>EXTRA],
    subs = {BM = 32 : i64, BN = 16 : i64, BK = 8 : i64}, dynamic = ["M", "N", "K"], form = 0 : i32} {
^bb0(%a: !wave.memory<["M", "K"], IN, shared>, %b: !wave.memory<["N", "K"], IN, global>, %c: !wave.memory<["M", "N"], OUT, global>):
  %zero = wave.fill ZERO : OUT -> !wave.tile<[M, N], OUT>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], OUT>) -> !wave.tile<[M, N], OUT> {
  ^bb0(%acc: !wave.tile<[M, N], OUT>):
    %0 = wave.read %a : !wave.memory<["M", "K"], IN, shared> -> !wave.tile<[M, K], IN>
    %1 = wave.read %b : !wave.memory<["N", "K"], IN, global> -> !wave.tile<[N, K], IN>
    %2 = wave.mma %0, %1, %acc : !wave.tile<[M, K], IN>, !wave.tile<[N, K], IN>, !wave.tile<[M, N], OUT>
    wave.yield %2 : !wave.tile<[M, N], OUT>
  }
  wave.write %sum, %c : !wave.tile<[M, N], OUT>, !wave.memory<["M", "N"], OUT, global>
})mlir";
  auto replaceAll = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replaceAll("EXTRA", extra);
  replaceAll("ZERO", out[0] == 'i' ? "0" : "0.0");
  replaceAll("OUT", out);
  replaceAll("IN", in);
  return text;
}

struct Size {
  int64_t m, n, k;
};

std::vector<double> product(Size s, const std::vector<double> &a, const std::vector<double> &b) {
  std::vector<double> c(s.m * s.n, 0);
  for (int64_t m = 0; m < s.m; ++m)
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t k = 0; k < s.k; ++k)
        c[m * s.n + n] += a[m * s.k + k] * b[n * s.k + k];
  return c;
}

TEST_F(Reference, GemmIsExactOnWholeNumbersOfAnySize) {
  for (Size s : {Size{64, 64, 64}, Size{50, 33, 37}, Size{1, 1, 1}, Size{31, 17, 7}, Size{33, 16, 8}}) {
    std::vector<double> a = integers(s.m * s.k, 1), b = integers(s.n * s.k, 2);
    EXPECT_EQ(output(gemm("f16", "f32"), DType::f32,
                     {{encodeAll(DType::f16, a), encodeAll(DType::f16, b),
                       encodeAll(DType::f32, std::vector<double>(s.m * s.n, kNaN))},
                      {{"M", s.m}, {"N", s.n}, {"K", s.k}}}),
              product(s, a, b))
        << s.m << "x" << s.n << "x" << s.k;
  }
}

TEST_F(Reference, ExchangedOperandsGiveTheSameProduct) {
  std::string text = gemm("f16", "f32");
  const std::string straight = "wave.mma %0, %1, %acc : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>";
  ASSERT_NE(text.find(straight), std::string::npos);
  text.replace(text.find(straight), straight.size(),
               "wave.mma %1, %0, %acc : !wave.tile<[N, K], f16>, !wave.tile<[M, K], f16>");
  Size s{50, 33, 37};
  std::vector<double> a = integers(s.m * s.k, 1), b = integers(s.n * s.k, 2);
  EXPECT_EQ(output(text, DType::f32,
                   {{encodeAll(DType::f16, a), encodeAll(DType::f16, b),
                     encodeAll(DType::f32, std::vector<double>(s.m * s.n, kNaN))},
                    {{"M", s.m}, {"N", s.n}, {"K", s.k}}}),
            product(s, a, b));
}

TEST_F(Reference, ScaledProductsHaveOneScaleFor32Neighbours) {
  const char *text = R"mlir(
wave.kernel @scaled attributes {arg_names = ["a", "s", "b", "t", "c"], constraints = [#wave.tiling<dim = "K", tile = <"64">>],
    subs = {M = 3 : i64, N = 2 : i64, K = 96 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M", "K"], f8E4M3FN, global>, %s: !wave.memory<["M", "K/32"], f8E8M0FNU, global>,
     %b: !wave.memory<["N", "K"], f8E4M3FN, global>, %t: !wave.memory<["N", "K/32"], f8E8M0FNU, global>, %c: !wave.memory<["M", "N"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
  ^bb0(%acc: !wave.tile<[M, N], f32>):
    %0 = wave.read %a : !wave.memory<["M", "K"], f8E4M3FN, global> -> !wave.tile<[M, K], f8E4M3FN>
    %1 = wave.read %b : !wave.memory<["N", "K"], f8E4M3FN, global> -> !wave.tile<[N, K], f8E4M3FN>
    %2 = wave.read %s : !wave.memory<["M", "K/32"], f8E8M0FNU, global> -> !wave.tile<[M, "K/32"], f8E8M0FNU>
    %3 = wave.read %t : !wave.memory<["N", "K/32"], f8E8M0FNU, global> -> !wave.tile<[N, "K/32"], f8E8M0FNU>
    %4 = wave.mma %0, %1, %acc scaled %2, %3 : !wave.tile<[M, "K/32"], f8E8M0FNU>, !wave.tile<[N, "K/32"], f8E8M0FNU> : !wave.tile<[M, K], f8E4M3FN>, !wave.tile<[N, K], f8E4M3FN>, !wave.tile<[M, N], f32>
    wave.yield %4 : !wave.tile<[M, N], f32>
  }
  wave.write %sum, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
})mlir";
  Size s{3, 2, 96};
  std::vector<double> a = integers(s.m * s.k, 1), b = integers(s.n * s.k, 2);
  // Far from 1 on both sides, and near it together.
  std::vector<double> left = {0x1p100, 0x1p-127, 1, 0x1p101, 0x1p-126, 2, 0x1p99, 0x1p-127, 4},
                      right = {0x1p-100, 0x1p127, 0.5, 0x1p-99, 0x1p126, 1};
  std::vector<double> scaledA = a, scaledB = b;
  for (size_t i = 0; i < a.size(); ++i)
    scaledA[i] *= left[i / 32];
  for (size_t i = 0; i < b.size(); ++i)
    scaledB[i] *= right[i / 32];
  EXPECT_EQ(output(text, DType::f32,
                   {{encodeAll(DType::f8e4m3fn, a), encodeAll(DType::f8e8m0fnu, left), encodeAll(DType::f8e4m3fn, b),
                     encodeAll(DType::f8e8m0fnu, right), encodeAll(DType::f32, std::vector<double>(6, kNaN))},
                    {}}),
            product(s, scaledA, scaledB));
}

TEST_F(Reference, GemmOfBytesIsExact) {
  Size s{40, 20, 19};
  std::vector<double> a = integers(s.m * s.k, 1, -128, 127), b = integers(s.n * s.k, 2, -128, 127);
  EXPECT_EQ(output(gemm("i8", "i32"), DType::i32,
                   {{encodeAll(DType::i8, a), encodeAll(DType::i8, b), Bytes(s.m * s.n * 4)},
                    {{"M", s.m}, {"N", s.n}, {"K", s.k}}}),
            product(s, a, b));
}

TEST_F(Reference, GemmOfRandomNumbersIsWithinTheBoundOfComputedRight) {
  Size s{48, 32, 64};
  std::mt19937 random(3);
  std::normal_distribution<double> next;
  auto numbers = [&](size_t count) {
    std::vector<double> values(count);
    for (double &value : values)
      value = roundTo(DType::bf16, next(random));
    return values;
  };
  std::vector<double> a = numbers(s.m * s.k), b = numbers(s.n * s.k), absA = a, absB = b;
  for (double &value : absA)
    value = std::fabs(value);
  for (double &value : absB)
    value = std::fabs(value);
  std::vector<double> exact = product(s, a, b), magnitude = product(s, absA, absB);
  std::vector<double> found = output(gemm("bf16", "f32"), DType::f32,
                                     {{encodeAll(DType::bf16, a), encodeAll(DType::bf16, b), Bytes(s.m * s.n * 4)},
                                      {{"M", s.m}, {"N", s.n}, {"K", s.k}}});
  ASSERT_EQ(found.size(), exact.size());
  double unit = epsilon(DType::f32) / 2;
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], exact[i], 2 * s.k * unit * magnitude[i] + unit * std::fabs(exact[i]));
}

TEST_F(Reference, ReorderedWorkgroupsTakeOtherTiles) {
  // Two workgroups along M, numbers 0 and 1, compute the tiles 3 and 2 of four; the first two stay as they were.
  Size s{128, 16, 8};
  std::vector<double> a = integers(s.m * s.k, 1), b = integers(s.n * s.k, 2), expected = product(s, a, b);
  std::fill(expected.begin(), expected.begin() + 64 * s.n, -7);
  std::string text = gemm("f16", "f32", R"mlir(, #wave.reordering<equation = <"3 - $WG0">, workgroupDim = 0>)mlir");
  text.replace(text.find("workgroupDim = 0>"), 17, "workgroupDim = 0, iters = <\"2\">>");
  EXPECT_EQ(output(text, DType::f32,
                   {{encodeAll(DType::f16, a), encodeAll(DType::f16, b),
                     encodeAll(DType::f32, std::vector<double>(s.m * s.n, -7))},
                    {{"M", s.m}, {"N", s.n}, {"K", s.k}}}),
            expected);
}

TEST_F(Reference, WorkgroupsStartWhereApplySays) {
  // Tiles of 32 that start at 32*$WG + 32: the first 32 rows are nobody's.
  Size s{96, 16, 8};
  std::vector<double> a = integers(s.m * s.k, 1), b = integers(s.n * s.k, 2), expected = product(s, a, b);
  std::fill(expected.begin(), expected.begin() + 32 * s.n, -7);
  std::string text = gemm("f16", "f32");
  text.replace(text.find("workgroupDim = 0>"), 17, "workgroupDim = 0, apply = <\"32*$WG + 32\">>");
  EXPECT_EQ(output(text, DType::f32,
                   {{encodeAll(DType::f16, a), encodeAll(DType::f16, b),
                     encodeAll(DType::f32, std::vector<double>(s.m * s.n, -7))},
                    {{"M", s.m}, {"N", s.n}, {"K", s.k}}}),
            expected);
}

TEST_F(Reference, LoopsStartAndEndWhereTheTilingSays) {
  // Two iterations of 8 from 4 on: K from 4 to 20 of 24.
  Size s{32, 16, 24};
  std::vector<double> a = integers(s.m * s.k, 1), b = integers(s.n * s.k, 2), part = a;
  for (int64_t m = 0; m < s.m; ++m)
    for (int64_t k = 0; k < s.k; ++k)
      if (k < 4 || k >= 20)
        part[m * s.k + k] = 0;
  std::string text = gemm("f16", "f32");
  text.replace(text.find("tile = <\"BK\">"), 13, "tile = <\"BK\">, iters = <\"2\">, start = <\"4\">");
  EXPECT_EQ(output(text, DType::f32,
                   {{encodeAll(DType::f16, a), encodeAll(DType::f16, b), Bytes(s.m * s.n * 4)},
                    {{"M", s.m}, {"N", s.n}, {"K", s.k}}}),
            product(s, part, b));
}

/// A 4x4x8 product in two pieces along M and two along K: slices of a whole tile, four instructions, a join.
const char *kPieces = R"mlir(
wave.kernel @pieces attributes {arg_names = ["a", "b", "c"], constraints = [],
    subs = {M = 4 : i64, N = 4 : i64, K = 8 : i64}, dynamic = [], form = 3 : i32} {
^bb0(%a: !wave.memory<["M", "K"], f16, global>, %b: !wave.memory<["N", "K"], f16, global>, %c: !wave.memory<["M", "N"], f32, global>):
  %a0 = wave.read %a {starts = [#wave.expr<"0">, #wave.expr<"0">]} : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16, "reg = (4 K 1)(2 K 4)(2 M 2), lane = (2 M 1)(2 _ 0)">
  %b0 = wave.read %b {starts = [#wave.expr<"0">, #wave.expr<"0">]} : !wave.memory<["N", "K"], f16, global> -> !wave.tile<[N, K], f16, "reg = (4 K 1)(2 K 4), lane = (4 N 1)">
  %z = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32, "reg = (2 M 1), lane = (4 N 1)">
  %a00 = wave.slice %a0 from 0 : !wave.tile<[M, K], f16, "reg = (4 K 1)(2 K 4)(2 M 2), lane = (2 M 1)(2 _ 0)"> -> !wave.tile<[M, K], f16, "reg = (4 K 1), lane = (2 M 1)(2 _ 0)">
  %a01 = wave.slice %a0 from 4 : !wave.tile<[M, K], f16, "reg = (4 K 1)(2 K 4)(2 M 2), lane = (2 M 1)(2 _ 0)"> -> !wave.tile<[M, K], f16, "reg = (4 K 1), lane = (2 M 1)(2 _ 0), offset = (K 4)">
  %a10 = wave.slice %a0 from 8 : !wave.tile<[M, K], f16, "reg = (4 K 1)(2 K 4)(2 M 2), lane = (2 M 1)(2 _ 0)"> -> !wave.tile<[M, K], f16, "reg = (4 K 1), lane = (2 M 1)(2 _ 0), offset = (M 2)">
  %a11 = wave.slice %a0 from 12 : !wave.tile<[M, K], f16, "reg = (4 K 1)(2 K 4)(2 M 2), lane = (2 M 1)(2 _ 0)"> -> !wave.tile<[M, K], f16, "reg = (4 K 1), lane = (2 M 1)(2 _ 0), offset = (K 4)(M 2)">
  %b00 = wave.slice %b0 from 0 : !wave.tile<[N, K], f16, "reg = (4 K 1)(2 K 4), lane = (4 N 1)"> -> !wave.tile<[N, K], f16, "reg = (4 K 1), lane = (4 N 1)">
  %b01 = wave.slice %b0 from 4 : !wave.tile<[N, K], f16, "reg = (4 K 1)(2 K 4), lane = (4 N 1)"> -> !wave.tile<[N, K], f16, "reg = (4 K 1), lane = (4 N 1), offset = (K 4)">
  %z1 = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32, "reg = (2 M 1), lane = (4 N 1), offset = (M 2)">
  %c00 = wave.mma %a00, %b00, %z : !wave.tile<[M, K], f16, "reg = (4 K 1), lane = (2 M 1)(2 _ 0)">, !wave.tile<[N, K], f16, "reg = (4 K 1), lane = (4 N 1)">, !wave.tile<[M, N], f32, "reg = (2 M 1), lane = (4 N 1)">
  %c01 = wave.mma %a01, %b01, %c00 : !wave.tile<[M, K], f16, "reg = (4 K 1), lane = (2 M 1)(2 _ 0), offset = (K 4)">, !wave.tile<[N, K], f16, "reg = (4 K 1), lane = (4 N 1), offset = (K 4)">, !wave.tile<[M, N], f32, "reg = (2 M 1), lane = (4 N 1)">
  %c10 = wave.mma %a10, %b00, %z1 : !wave.tile<[M, K], f16, "reg = (4 K 1), lane = (2 M 1)(2 _ 0), offset = (M 2)">, !wave.tile<[N, K], f16, "reg = (4 K 1), lane = (4 N 1)">, !wave.tile<[M, N], f32, "reg = (2 M 1), lane = (4 N 1), offset = (M 2)">
  %c11 = wave.mma %a11, %b01, %c10 : !wave.tile<[M, K], f16, "reg = (4 K 1), lane = (2 M 1)(2 _ 0), offset = (K 4)(M 2)">, !wave.tile<[N, K], f16, "reg = (4 K 1), lane = (4 N 1), offset = (K 4)">, !wave.tile<[M, N], f32, "reg = (2 M 1), lane = (4 N 1), offset = (M 2)">
  %all = wave.join %c01, %c11 : (!wave.tile<[M, N], f32, "reg = (2 M 1), lane = (4 N 1)">, !wave.tile<[M, N], f32, "reg = (2 M 1), lane = (4 N 1), offset = (M 2)">) -> !wave.tile<[M, N], f32, "reg = (4 M 1), lane = (4 N 1)">
  wave.write %all, %c {starts = [#wave.expr<"0">, #wave.expr<"0">]} : !wave.tile<[M, N], f32, "reg = (4 M 1), lane = (4 N 1)">, !wave.memory<["M", "N"], f32, global>
})mlir";

TEST_F(Reference, PiecesMeanWhatTheWholeMeans) {
  Size s{4, 4, 8};
  std::vector<double> a = integers(s.m * s.k, 1), b = integers(s.n * s.k, 2);
  EXPECT_EQ(output(kPieces, DType::f32, {{encodeAll(DType::f16, a), encodeAll(DType::f16, b), Bytes(64)}, {}}),
            product(s, a, b));
}

//===-- Reductions ------------------------------------------------------------===//

std::string rowReduction(const std::string &kind) {
  return R"mlir(
wave.kernel @rows attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.tiling<dim = "N", tile = <"8">>],
    subs = {M = 6 : i64, N = 19 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %init = wave.fill -1000.0 : f32 -> !wave.tile<[M], f32>
  %r = wave.iterate "N" (%init) : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
  ^bb0(%x: !wave.tile<[M], f32>):
    %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
    %1 = wave.reduce )mlir" +
         kind + R"mlir( %0 init %x along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    wave.yield %1 : !wave.tile<[M], f32>
  }
  wave.write %r, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
})mlir";
}

TEST_F(Reference, RowSumCountsEveryElementOnce) {
  std::vector<double> in = integers(6 * 19, 5), expected(6, -1000);
  for (int m = 0; m < 6; ++m)
    for (int n = 0; n < 19; ++n)
      expected[m] += in[m * 19 + n];
  EXPECT_EQ(output(rowReduction("sum"), DType::f32, {{encodeAll(DType::f32, in), Bytes(24)}, {}}), expected);
}

TEST_F(Reference, RowMaximumIgnoresWhatIsOutOfBounds) {
  // All elements are negative: a masked 0 would win.
  std::vector<double> in = integers(6 * 19, 5, -90, -10), expected(6, -1000);
  for (int m = 0; m < 6; ++m)
    for (int n = 0; n < 19; ++n)
      expected[m] = std::max(expected[m], in[m * 19 + n]);
  EXPECT_EQ(output(rowReduction("max"), DType::f32, {{encodeAll(DType::f32, in), Bytes(24)}, {}}), expected);
}

TEST_F(Reference, RowProductIgnoresWhatIsOutOfBounds) {
  // A masked 0 would make it 0.
  std::vector<double> in = integers(6 * 19, 5, 1, 2), expected(6, -1000);
  for (int m = 0; m < 6; ++m)
    for (int n = 0; n < 19; ++n)
      expected[m] *= in[m * 19 + n];
  EXPECT_EQ(output(rowReduction("prod"), DType::f32, {{encodeAll(DType::f32, in), Bytes(24)}, {}}), expected);
}

/// Whether each row of 19 has an element above 0, whether all are.
std::string rowTruth(const std::string &kind) {
  return R"mlir(
wave.kernel @truths attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"24">, workgroupDim = 1>],
    subs = {M = 6 : i64, N = 19 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %1 = wave.compare gt %0, %zero : !wave.tile<[M, N], f32>, !wave.tile<[M, N], f32> -> !wave.tile<[M, N], i1>
  %2 = wave.reduce )mlir" +
         kind + R"mlir( %1 along "N" : (!wave.tile<[M, N], i1>) -> !wave.tile<[M], i1>
  %3 = wave.cast %2 : !wave.tile<[M], i1> -> !wave.tile<[M], i32>
  wave.write %3, %b : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global>
})mlir";
}

TEST_F(Reference, TruthsOfARowAreThoseOfItsElementsOnly) {
  std::vector<double> in(6 * 19, -1);
  std::fill(in.begin() + 19, in.begin() + 38, 1); // all of row 1
  in[2 * 19 + 18] = 1;                            // the last of row 2
  auto truths = [&](const char *kind) {
    return output(rowTruth(kind), DType::i32, {{encodeAll(DType::f32, in), Bytes(24)}, {}});
  };
  EXPECT_EQ(truths("any"), (std::vector<double>{0, 1, 1, 0, 0, 0}));
  // Beyond the 19 elements of a row a tile holds 5 that are not above 0.
  EXPECT_EQ(truths("all"), (std::vector<double>{0, 1, 0, 0, 0, 0}));
}

TEST_F(Reference, PartialReductionKeepsEveryFourth) {
  const char *text = R"mlir(
wave.kernel @partial attributes {arg_names = ["a", "b"], constraints = [], subs = {N = 16 : i64}, dynamic = [], form = 3 : i32} {
^bb0(%a: !wave.memory<["N"], i32, global>, %b: !wave.memory<["N"], i32, global>):
  %0 = wave.read %a {starts = [#wave.expr<"0">]} : !wave.memory<["N"], i32, global> -> !wave.tile<[N], i32, "reg = (4 N 1), lane = (4 N 4)">
  %1 = wave.reduce sum %0 along "N" : (!wave.tile<[N], i32, "reg = (4 N 1), lane = (4 N 4)">) -> !wave.tile<[N], i32, "lane = (4 N 4)">
  wave.write %1, %b {starts = [#wave.expr<"0">]} : !wave.tile<[N], i32, "lane = (4 N 4)">, !wave.memory<["N"], i32, global>
})mlir";
  std::vector<double> in = ramp(16);
  EXPECT_EQ(
      output(text, DType::i32, {{encodeAll(DType::i32, in), encodeAll(DType::i32, std::vector<double>(16, -1))}, {}}),
      (std::vector<double>{6, -1, -1, -1, 22, -1, -1, -1, 38, -1, -1, -1, 54, -1, -1, -1}));
}

} // namespace
} // namespace soliton::interp
