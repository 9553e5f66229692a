//===- RearrangeTest.cpp - The meaning of what moves and orders elements ------------------===//
#include "soliton/interpreter/ReferenceTest.h"

#include <cmath>

namespace soliton::interp {
namespace {

/// Rows of five in a tile of eight columns, through `op`, to a tensor of `out` columns.
std::string rows(const std::string &op, const std::string &out) {
  return R"mlir(
wave.kernel @rows attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"2">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"8">, workgroupDim = 1>],
    subs = {M = 2 : i64, N = 5 : i64, H = 4 : i64, P = 16 : i64, E = 12 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<)mlir" +
         out + R"mlir(, f32, global>):
  %x = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  %one = wave.fill 1.0 : f32 -> !wave.tile<[M, N], f32>
  %0 = wave.binary add %x, %one : !wave.tile<[M, N], f32>, !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  )mlir" +
         op + "\n}";
}

const std::vector<double> kIn = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

class RearrangeTest : public Reference {
protected:
  std::vector<double> run(const std::string &text, size_t elements, const std::vector<double> &in = kIn) {
    return output(text, DType::f32, {{encodeAll(DType::f32, in), Bytes(elements * 4)}, {}});
  }
};

TEST_F(RearrangeTest, OrderIsKeptAndWhatLiesBeyondTheEndIsZero) {
  EXPECT_EQ(run(rows(R"mlir(%1 = wave.rearrange %0 : !wave.tile<[M, N], f32> -> !wave.tile<[P], f32>
  wave.write %1, %b : !wave.tile<[P], f32>, !wave.memory<["P"], f32, global>)mlir",
                     R"(["P"])"),
                16),
            (std::vector<double>{2, 3, 4, 5, 6, 0, 0, 0, 7, 8, 9, 10, 11, 0, 0, 0}));
}

TEST_F(RearrangeTest, PlacesOutsideOfTheTileAreZero) {
  EXPECT_EQ(
      run(rows(
              R"mlir(%1 = wave.rearrange %0 {indices = [#wave.expr<"$index0">, #wave.expr<"2*$index1 - 2">]} : !wave.tile<[M, N], f32> -> !wave.tile<[M, H], f32>
  wave.write %1, %b : !wave.tile<[M, H], f32>, !wave.memory<["M", "H"], f32, global>)mlir",
              R"(["M", "H"])"),
          8),
      (std::vector<double>{0, 2, 4, 6, 0, 7, 9, 11}));
}

TEST_F(RearrangeTest, PiecesLieOneBehindTheOther) {
  EXPECT_EQ(run(rows(R"mlir(%1 = wave.fill 3.0 : f32 -> !wave.tile<[M, H], f32>
  %2 = wave.concatenate %1, %0 along ["H", "N"] into "E" : (!wave.tile<[M, H], f32>, !wave.tile<[M, N], f32>) -> !wave.tile<[M, E], f32>
  wave.write %2, %b : !wave.tile<[M, E], f32>, !wave.memory<["M", "E"], f32, global>)mlir",
                     R"(["M", "E"])"),
                24),
            (std::vector<double>{3, 3, 3, 3, 2, 3, 4, 5, 6, 0, 0, 0, 3, 3, 3, 3, 7, 8, 9, 10, 11, 0, 0, 0}));
}

TEST_F(RearrangeTest, RowsAreOrderedAndEqualElementsKeepTheirOrder) {
  std::string sort = R"mlir(%1 = wave.self_index "N" : !wave.tile<[N], i32>
  %2 = wave.cast %1 : !wave.tile<[N], i32> -> !wave.tile<[N], f32>
  %3 = wave.broadcast %2 : !wave.tile<[N], f32> -> !wave.tile<[M, N], f32>
  %4, %5 = wave.sort descending %0 with %3 along "N" into "N" : (!wave.tile<[M, N], f32>, !wave.tile<[M, N], f32>) -> (!wave.tile<[M, N], f32>, !wave.tile<[M, N], f32>)
  wave.write %5, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>)mlir";
  EXPECT_EQ(run(rows(sort, R"(["M", "N"])"), 10, {3, 1, 3, NAN, -2, 0, -0.0, INFINITY, NAN, NAN}),
            (std::vector<double>{3, 0, 2, 1, 4, 3, 4, 2, 0, 1}));
}

TEST_F(RearrangeTest, RowsThatAreTooShortEndInZeros) {
  EXPECT_EQ(
      run(rows(
              R"mlir(%1 = wave.sort ascending %0 along "N" into "E" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, E], f32>
  wave.write %1, %b : !wave.tile<[M, E], f32>, !wave.memory<["M", "E"], f32, global>)mlir",
              R"(["M", "E"])"),
          24, {5, 4, 3, 2, 1, 10, 9, 8, 7, 6}),
      (std::vector<double>{2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9, 10, 11, 0, 0, 0, 0, 0, 0, 0}));
}

} // namespace
} // namespace soliton::interp
