// How far roundings carry results: as far as they do when the same is computed in another order, and no further.
#include "soliton/interpreter/Noise.h"

#include "soliton/interpreter/ReferenceTest.h"
#include "soliton/support/Float.h"

#include <numeric>

namespace soliton::interp {
namespace {
const char *const kProgram = R"(
wave.kernel @difference attributes {arg_names = ["a", "b", "c"], constraints = [], subs = {N = 4 : i64}, dynamic = [],
                                    form = 0 : i32} {
^bb0(%a: !wave.memory<["N"], f32, global>, %b: !wave.memory<["N"], f32, global>, %c: !wave.memory<["N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["N"], f32, global> -> !wave.tile<[N], f32>
  %1 = wave.read %b : !wave.memory<["N"], f32, global> -> !wave.tile<[N], f32>
  %2 = wave.unary exp2 %0 : !wave.tile<[N], f32> -> !wave.tile<[N], f32>
  %3 = wave.binary sub %2, %1 : !wave.tile<[N], f32>, !wave.tile<[N], f32> -> !wave.tile<[N], f32>
  wave.write %3, %c : !wave.tile<[N], f32>, !wave.memory<["N"], f32, global>
}
)";

class NoiseOf : public Reference {
protected:
  /// 2^a - b.
  std::vector<double> results(double b, NoiseKind noise, uint64_t seed = 1) {
    Bytes other = encodeAll(DType::f32, std::vector<double>(4, b));
    return output(kProgram, DType::f32, {{encodeAll(DType::f32, {3, 3, 3, 3}), other, Bytes(16)}, {}, noise, seed});
  }
  double largestMove(double b, NoiseKind noise) {
    double most = 0, is = results(b, NoiseKind::none)[0];
    for (double found : results(b, noise))
      most = std::max(most, std::abs(found / is - 1));
    return most;
  }
};

TEST_F(NoiseOf, MovesWhatIsLeftOfNearlyEqualNumbersMost) {
  EXPECT_GT(largestMove(0, NoiseKind::sums), 32 * 0x1p-24);
  EXPECT_LE(largestMove(0, NoiseKind::sums), 32 * 8.1 * 0x1p-24);
  EXPECT_GT(largestMove(7.999999, NoiseKind::sums), 0.01) << "the function's last bits are all that is left";
  EXPECT_EQ(largestMove(7.999999, NoiseKind::steps), 0) << "nothing is narrow";
}

TEST_F(NoiseOf, IsTheSameForTheSameSeed) {
  EXPECT_EQ(results(1, NoiseKind::sums, 7), results(1, NoiseKind::sums, 7));
  EXPECT_NE(results(1, NoiseKind::sums, 7), results(1, NoiseKind::sums, 8));
}

TEST(Noise, MovesTermsByTheSumsTheyAreAddedTo) {
  Domain row{{Dim("N")}, {Places(100)}};
  std::iota(row.places[0].begin(), row.places[0].end(), 0);
  Tile terms(row, DType::f32), integers(row, DType::i32);
  std::ranges::fill(terms.as<double>(), 1);
  terms.as<double>()[7] = std::numeric_limits<double>::infinity();
  Tile moved = Noise(NoiseKind::sums, 1).beforeSum(terms, Dim("N"), DType::f32);
  double most = 0;
  for (size_t i = 0; i < 100; ++i)
    most = std::max(most, i == 7 ? 0 : std::abs(moved.as<double>()[i] - 1));
  EXPECT_EQ(moved.as<double>()[7], terms.as<double>()[7]);
  EXPECT_GT(most, 32 * 9 * 0x1p-24);
  EXPECT_LE(most, 32 * 10 * 0x1p-24);
  Tile back = Noise(NoiseKind::sums, 0).beforeSum(terms, Dim("N"), DType::f32);
  EXPECT_EQ(back.as<double>()[0] - 1, 1 - moved.as<double>()[0]);
  EXPECT_EQ(Noise(NoiseKind::steps, 1).beforeSum(terms, Dim("N"), DType::f32).as<double>(), terms.as<double>());
  EXPECT_EQ(Noise(NoiseKind::sums, 1).beforeSum(integers, Dim("N"), DType::i32).as<int64_t>(), integers.as<int64_t>());
}
} // namespace
} // namespace soliton::interp
