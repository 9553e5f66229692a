//===- RearrangeTest.cpp - Tiles under other dimensions ------------------------------------===//
//
// Reshapes, slices, single places and tiles one behind the other, of rows that lanes, waves and workgroups share, and
// of tiles that reach beyond the end of their tensor.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <numeric>

namespace soliton::test {
namespace {

class Rearrange : public ForTarget {};

std::vector<int32_t> counted(int64_t count) {
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

TEST_P(Rearrange, ReshapeKeepsTheOrderOfTheTile) {
  auto [M, N, H, D] = symbols<"M N H D">();
  Kernel kernel{"heads", {WorkgroupConstraint(M, 4, 0), WaveConstraint(M, 2), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, i32), b = kernel.memory("b", {M, D, H}, global, i32);
  Value heads = reshape(read(a), {M, H, D});
  write(permute(heads, {M, D, H}), b);
  CompiledKernel run = compiled(kernel, options({{M, 10}, {N, 48}, {H, 3}, {D, 16}}));
  std::vector<int32_t> in = counted(10 * 48), out(10 * 48, -1);
  run(rt::Tensor::of(in, {10, 48}), rt::Tensor::of(out, {10, 16, 3}));
  for (int64_t m = 0; m < 10; ++m)
    for (int64_t h = 0; h < 3; ++h)
      for (int64_t d = 0; d < 16; ++d)
        ASSERT_EQ(out[static_cast<size_t>((m * 16 + d) * 3 + h)], in[static_cast<size_t>(m * 48 + h * 16 + d)]);
}

TEST_P(Rearrange, ReshapeOfWhatLiesBeyondTheEndIsZero) {
  auto [M, N, P] = symbols<"M N P">();
  Kernel kernel{
      "flat", {WorkgroupConstraint(M, 8, 0), WorkgroupConstraint(P, 64, 0, {.primary = false}), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, i32), b = kernel.memory("b", {P}, global, i32);
  // Sums of something and nothing: 1 is no element of the tensor.
  write(reshape(read(a) + 1, {P}), b);
  CompiledKernel run = compiled(kernel, options({{N, 8}}, {M, P}));
  std::vector<int32_t> in = counted(13 * 8), out(128, -1);
  run(rt::Tensor::of(in, {13, 8}), rt::Tensor::of(out, {128}));
  for (size_t i = 0; i < 128; ++i)
    ASSERT_EQ(out[i], i < 13 * 8 ? in[i] + 1 : 0) << i;
}

TEST_P(Rearrange, SlicesByNumbersAndByData) {
  auto [M, N, H] = symbols<"M N H">();
  Kernel kernel{
      "slices",
      {WorkgroupConstraint(M, 4, 0), WorkgroupConstraint(N, 64, 1), WaveConstraint(N, 32), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, f32), first = kernel.memory("first", {H}, global, i32);
  auto even = kernel.memory("even", {M, H}, global, f32), some = kernel.memory("some", {M, H}, global, f32);
  auto column = kernel.memory("column", {M}, global, f32);
  Value x = read(a);
  Expr start = index_of(read_at(first, {0}));
  write(slice(x, N, H, {.stride = 2}), even);
  write(slice(x, N, H, {.start = start}), some);
  write(extract(x, N, start + 1), column);
  CompiledKernel run = compiled(kernel, options({{N, 64}, {H, 32}}, {M}));
  for (int32_t begin : {0, 7, 50}) {
    Floats in = Floats::random(DType::f32, {6, 64}), evens(DType::f32, {6, 32}), parts(DType::f32, {6, 32}),
           columns(DType::f32, {6});
    std::vector<int32_t> starts(32, begin);
    run(in.tensor(), rt::Tensor::of(starts, {32}), evens.tensor(), parts.tensor(), columns.tensor());
    for (int64_t m = 0; m < 6; ++m) {
      ASSERT_EQ(columns[m], in[m * 64 + begin + 1]);
      for (int64_t h = 0; h < 32; ++h) {
        ASSERT_EQ(evens[m * 32 + h], in[m * 64 + 2 * h]);
        // What is not in the tile is 0.
        ASSERT_EQ(parts[m * 32 + h], begin + h < 64 ? in[m * 64 + begin + h] : 0) << begin << " " << h;
      }
    }
  }
}

TEST_P(Rearrange, TilesOneBehindTheOther) {
  auto [M, A, B, N] = symbols<"M A B N">();
  Kernel kernel{"both", {WorkgroupConstraint(M, 16, 0), WaveConstraint(M, 8), HardwareConstraint{}}};
  auto a = kernel.memory("a", {A, M}, global, f16), b = kernel.memory("b", {B, M}, global, f16);
  auto c = kernel.memory("c", {N, M}, global, f16);
  write(concatenate({{read(a), A}, {read(b) * 2.0, B}}, N), c);
  CompiledKernel run = compiled(kernel, options({{A, 3}, {B, 5}, {N, 8}}, {M}));
  Floats left = Floats::random(DType::f16, {3, 21}), right = Floats::random(DType::f16, {5, 21}, 2),
         both(DType::f16, {8, 21});
  run(left.tensor(), right.tensor(), both.tensor());
  for (int64_t n = 0; n < 8; ++n)
    for (int64_t m = 0; m < 21; ++m)
      ASSERT_EQ(both[n * 21 + m], n < 3 ? left[n * 21 + m] : 2 * right[(n - 3) * 21 + m]);
}

TEST_P(Rearrange, TilesThatDoNotFitAreRefused) {
  auto [M, N, H, D] = symbols<"M N H D">();
  Kernel reshaped{"reshaped", {WorkgroupConstraint(M, 4, 0), HardwareConstraint{}}};
  auto a = reshaped.memory("a", {M, N}, global, i32), b = reshaped.memory("b", {M, H, D}, global, i32);
  write(reshape(read(a), {M, H, D}), b);
  EXPECT_EQ(refusal(reshaped, options({{M, 8}, {N, 10}, {H, 3}, {D, 4}})), "reshape-dims");

  Kernel joined{"joined", {WorkgroupConstraint(M, 4, 0), HardwareConstraint{}}};
  auto x = joined.memory("x", {M, H}, global, i32), y = joined.memory("y", {M, D}, global, i32);
  auto z = joined.memory("z", {M, N}, global, i32);
  write(concatenate({{read(x), H}, {read(y), D}}, N), z);
  EXPECT_EQ(refusal(joined, options({{M, 8}, {N, 10}, {H, 3}, {D, 4}})), "concatenate-pieces");
}

INSTANTIATE_TEST_SUITE_P(Targets, Rearrange, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
