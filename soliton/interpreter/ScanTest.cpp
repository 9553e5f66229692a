//===- ScanTest.cpp - The meaning of scan and arg_reduce ------------------------===//
#include "soliton/interpreter/ReferenceTest.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace soliton::interp {
namespace {

constexpr int kRows = 6, kColumns = 19;

//===-- Scans -----------------------------------------------------------------===//

/// Rows of 19, 8 an iteration, carried from one to the next.
std::string rowScan(const std::string &kind) {
  return R"mlir(
wave.kernel @rows attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.tiling<dim = "N", tile = <"8">>],
    subs = {M = 6 : i64, N = 19 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %init = wave.fill 2.0 : f32 -> !wave.tile<[M], f32>
  %r = wave.iterate "N" (%init) : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
  ^bb0(%x: !wave.tile<[M], f32>):
    %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
    %1 = wave.scan )mlir" +
         kind + R"mlir( %0 init %x : !wave.tile<[M], f32> along "N" : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
    wave.write %1, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
    %2 = wave.reduce )mlir" +
         kind + R"mlir( %0 init %x along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    wave.yield %2 : !wave.tile<[M], f32>
  }
})mlir";
}

template <typename Combine>
std::vector<double> running(const std::vector<double> &in, Combine combine) {
  std::vector<double> out(in.size());
  for (int m = 0; m < kRows; ++m) {
    double sum = 2;
    for (int n = 0; n < kColumns; ++n)
      out[m * kColumns + n] = sum = combine(sum, in[m * kColumns + n]);
  }
  return out;
}

TEST_F(Reference, RunningSumsGoOnFromIterationToIteration) {
  std::vector<double> in = integers(kRows * kColumns, 5);
  EXPECT_EQ(output(rowScan("sum"), DType::f32, {{encodeAll(DType::f32, in), Bytes(kRows * kColumns * 4)}, {}}),
            running(in, std::plus()));
}

TEST_F(Reference, RunningProductsAndExtremes) {
  std::vector<double> signs = integers(kRows * kColumns, 5, -1, 1), in = integers(kRows * kColumns, 5);
  auto scan = [&](const char *kind, const std::vector<double> &from) {
    return output(rowScan(kind), DType::f32, {{encodeAll(DType::f32, from), Bytes(kRows * kColumns * 4)}, {}});
  };
  EXPECT_EQ(scan("prod", signs), running(signs, std::multiplies()));
  EXPECT_EQ(scan("max", in), running(in, [](double a, double b) { return std::max(a, b); }));
  EXPECT_EQ(scan("min", in), running(in, [](double a, double b) { return std::min(a, b); }));
}

TEST_F(Reference, RunsBeforeAnElementsOwnCountByTheirTotals) {
  // Totals that are not the sums of their runs show that they are what is added.
  const char *text = R"mlir(
wave.kernel @runs attributes {arg_names = ["t", "a", "b"], constraints = [], subs = {N = 8 : i64}, dynamic = [], form = 3 : i32} {
^bb0(%t: !wave.memory<["N"], i32, global>, %a: !wave.memory<["N"], i32, global>, %b: !wave.memory<["N"], i32, global>):
  %0 = wave.read %a {starts = [#wave.expr<"0">]} : !wave.memory<["N"], i32, global> -> !wave.tile<[N], i32, "reg = (4 N 1), wave = (2 N 4)">
  %1 = wave.read %t {starts = [#wave.expr<"0">]} : !wave.memory<["N"], i32, global> -> !wave.tile<[N], i32, "reg = (2 N 4), wave = (2 _ 0)">
  %2 = wave.scan sum %0 after %1 : !wave.tile<[N], i32, "reg = (2 N 4), wave = (2 _ 0)"> along "N" : !wave.tile<[N], i32, "reg = (4 N 1), wave = (2 N 4)"> -> !wave.tile<[N], i32, "reg = (4 N 1), wave = (2 N 4)">
  wave.write %2, %b {starts = [#wave.expr<"0">]} : !wave.tile<[N], i32, "reg = (4 N 1), wave = (2 N 4)">, !wave.memory<["N"], i32, global>
})mlir";
  std::vector<double> totals = {100, 0, 0, 0, 200, 0, 0, 0}, in = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(output(text, DType::i32, {{encodeAll(DType::i32, totals), encodeAll(DType::i32, in), Bytes(32)}, {}}),
            (std::vector<double>{1, 3, 6, 10, 105, 111, 118, 126}));
}

//===-- Extremes --------------------------------------------------------------===//

/// Which place of each row of 19 has the extreme, 8 an iteration.
std::string rowPlace(const std::string &kind, const std::string &begin) {
  return R"mlir(
wave.kernel @places attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.tiling<dim = "N", tile = <"8">>],
    subs = {M = 6 : i64, N = 19 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M"], i32, global>):
  %value = wave.fill )mlir" +
         begin + R"mlir( : f32 -> !wave.tile<[M], f32>
  %index = wave.fill 2147483647 : i32 -> !wave.tile<[M], i32>
  %v, %i = wave.iterate "N" (%value, %index) : (!wave.tile<[M], f32>, !wave.tile<[M], i32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], i32>) {
  ^bb0(%x: !wave.tile<[M], f32>, %y: !wave.tile<[M], i32>):
    %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
    %1, %2 = wave.arg_reduce )mlir" +
         kind +
         R"mlir( %0 init %x, %y along "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M], f32>, !wave.tile<[M], i32>) -> (!wave.tile<[M], f32>, !wave.tile<[M], i32>)
    wave.yield %1, %2 : !wave.tile<[M], f32>, !wave.tile<[M], i32>
  }
  wave.write %i, %b : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global>
})mlir";
}

TEST_F(Reference, TheFirstOfEqualExtremesIsFound) {
  std::vector<double> in(kRows * kColumns, 0);
  auto set = [&](int row, int column, double value) { in[row * kColumns + column] = value; };
  set(0, 7, 3);
  set(0, 8, 3); // of another iteration
  set(1, 18, 1);
  set(2, 4, -1);
  set(3, 2, kNaN);
  set(3, 1, INFINITY);
  set(4, 9, kNaN);
  set(4, 17, kNaN);
  for (int n = 0; n < kColumns; ++n)
    set(5, n, -INFINITY);
  auto places = [&](const char *kind, const char *begin) {
    return output(rowPlace(kind, begin), DType::i32, {{encodeAll(DType::f32, in), Bytes(24)}, {}});
  };
  EXPECT_EQ(places("max", "0xFF800000"), (std::vector<double>{7, 18, 0, 2, 9, 0}));
  EXPECT_EQ(places("min", "0x7F800000"), (std::vector<double>{0, 0, 4, 2, 9, 0}));
  // What a row begins with is one more candidate.
  EXPECT_EQ(places("max", "2.0"), (std::vector<double>{7, 2147483647, 2147483647, 2, 9, 2147483647}));
}

} // namespace
} // namespace soliton::interp
