//===- FormulasTest.cpp - Symbols that stand for formulas of sizes known at launch ------===//
#include "test/user/Values.h"

namespace soliton::test {
namespace {

class Formulas : public ForTarget {};

/// Sums of 32 neighbours each: a loop over as many groups as there are, a dimension of the result.
TEST_P(Formulas, ALoopAndADimensionOfTheResult) {
  auto [M, K, T, J] = symbols<"M K T J">();
  Kernel kernel{"groups", {WorkgroupConstraint(M, 16, 0), TilingConstraint(T, 1), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, global, i32), out = kernel.memory("out", {M, T}, global, i32);
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  kernel.iterate(T, [&] {
    IndexMapping group{.num_iterators = 2, .inputs = {{M, i}, {K, 32 * iteration(T) + j}}, .outputs = {{M, i}, {J, j}}};
    write(sum(read(a, {.mapping = group}), J), out);
  });
  CompiledKernel run = compiled(kernel, options({{J, 32}, {T, sym::ceildiv(K, 32)}}, {M, K}));
  for (auto [m, k] : {std::array<int64_t, 2>{20, 100}, {5, 32}, {16, 1}, {33, 129}}) {
    int64_t groups = (k + 31) / 32;
    std::vector<int32_t> in(static_cast<size_t>(m * k)), found(static_cast<size_t>(m * groups), -1);
    for (size_t x = 0; x < in.size(); ++x)
      in[x] = static_cast<int32_t>(x % 97);
    run(rt::Tensor::of(in, {m, k}), rt::Tensor::of(found, {m, groups}));
    for (int64_t row = 0; row < m; ++row)
      for (int64_t g = 0; g < groups; ++g) {
        int32_t expected = 0;
        for (int64_t x = 32 * g; x < std::min(k, 32 * g + 32); ++x)
          expected += in[static_cast<size_t>(row * k + x)];
        ASSERT_EQ(found[static_cast<size_t>(row * groups + g)], expected) << m << "x" << k << ", " << row << ", " << g;
      }
    std::vector<int32_t> wrong(static_cast<size_t>(m * (groups + 1)));
    EXPECT_EQ(refused([&] { run(rt::Tensor::of(in, {m, k}), rt::Tensor::of(wrong, {m, groups + 1})); }),
              "symbol-conflict");
  }
}

/// A product of sizes as an extent, in the grid and in a condition; where nothing has them they are given by name.
TEST_P(Formulas, HalfOfAProduct) {
  auto [M, N, T] = symbols<"M N T">();
  Kernel kernel{"half", {WorkgroupConstraint(T, 64, 0), HardwareConstraint{}}};
  auto a = kernel.memory("a", {T}, global, i32), b = kernel.memory("b", {T}, global, i32);
  Value x = read(a);
  Expr isLast = sym::eq(workgroup_id(0), sym::ceildiv(T, 64) - 1);
  write(kernel.conditional(isLast, [&] { return -x; }, [&] { return x + kernel.self_index(T); }), b);
  CompiledKernel run = compiled(kernel, options({{T, M * N / 2}}, {M, N}));
  for (auto [m, n] : {std::array<int64_t, 2>{20, 13}, {2, 1}, {16, 8}}) {
    int64_t size = m * n / 2;
    std::vector<int32_t> in(static_cast<size_t>(size), 7), out(in.size(), -1);
    run.launch({in, out, {M, m}, {N, n}});
    for (int64_t t = 0; t < size; ++t)
      ASSERT_EQ(out[static_cast<size_t>(t)], t / 64 == (size - 1) / 64 ? -7 : 7 + t) << m << "x" << n << ", " << t;
  }
  std::vector<int32_t> in(7), out(7);
  EXPECT_EQ(refused([&] { run.launch({in, out, {M, 3}, {N, 5}}); }), "launch-assumption");
}

/// Formulas of formulas, and of numbers.
TEST_P(Formulas, FormulasMayUseOthers) {
  auto [M, U, T] = symbols<"M U T">();
  Kernel kernel{"chain", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M}, global, i32), b = kernel.memory("b", {M}, global, i32);
  write(apply_expr(read(a), [&](Expr x) { return x + T; }), b);
  CompiledKernel run = compiled(kernel, options({{T, 3 * U + 1}, {U, sym::floordiv(M, 10)}}, {M}));
  std::vector<int32_t> in(75, 2), out(75);
  run(in, out);
  for (int32_t value : out)
    ASSERT_EQ(value, 2 + 3 * 7 + 1);
}

TEST_P(Formulas, TilesAreNumbersAndNothingRefersToItself) {
  auto [M, K, T] = symbols<"M K T">();
  Kernel kernel{"tile", {WorkgroupConstraint(M, T, 0), HardwareConstraint{}}};
  write(read(kernel.memory("a", {M}, global, i32)), kernel.memory("b", {M}, global, i32));
  EXPECT_EQ(refusal(kernel, options({{T, sym::ceildiv(M, 32)}}, {M})), "tile-dynamic");
  EXPECT_EQ(refusal(kernel, options({{T, K}}, {M})), "substitution-invalid");
  EXPECT_EQ(refusal(kernel, options({{M, 2 * T}, {T, M + 1}})), "substitution-invalid");
  Kernel whole{"whole", {WorkgroupConstraint(M, 16, 0), HardwareConstraint{}}};
  write(read(whole.memory("a", {M, T}, global, i32)), whole.memory("b", {M, T}, global, i32));
  EXPECT_EQ(refusal(whole, options({{T, sym::ceildiv(K, 32)}}, {M, K})), "constraint-missing");
}

INSTANTIATE_TEST_SUITE_P(All, Formulas, testing::ValuesIn(allTargets()), targetName);

//===- Tiles that lack dimensions of the memory they are written to --------------------===//

class MissingDims : public ForTarget {};

/// A batch that workgroups share out one by one.
TEST_P(MissingDims, AreTheWorkgroupsPlace) {
  auto [B, N] = symbols<"B N">();
  Kernel kernel{"batch", {WorkgroupConstraint(N, 64, 0), WorkgroupConstraint(B, 1, 1), HardwareConstraint{}}};
  auto a = kernel.memory("a", {N}, global, i32), b = kernel.memory("b", {B, N}, global, i32);
  write(apply_expr(read(a), [&](Expr x) { return x + 100 * workgroup_id(1); }), b);
  CompiledKernel run = compiled(kernel, options({}, {B, N}));
  std::vector<int32_t> in(70), out(3 * 70, -1);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<int32_t>(i);
  run(rt::Tensor::of(in, {70}), rt::Tensor::of(out, {3, 70}));
  for (int32_t i = 0; i < 210; ++i)
    ASSERT_EQ(out[static_cast<size_t>(i)], i % 70 + 100 * (i / 70)) << i;
}

/// A row that `set_symbol` chose.
TEST_P(MissingDims, AreWhatWasSet) {
  auto [B, N, ROWS] = symbols<"B N ROWS">();
  Kernel kernel{"row", {WorkgroupConstraint(N, 64, 0), HardwareConstraint{}}};
  auto a = kernel.memory("a", {N}, global, i32), b = kernel.memory("b", {B, N}, global, i32);
  auto rows = kernel.memory("rows", {ROWS}, global, i32);
  set_symbol(B, read_at(rows, {1}));
  write(read(a), b);
  CompiledKernel run = compiled(kernel, options({{B, 4}, {ROWS, 2}}, {N}));
  std::vector<int32_t> in(70, 9), out(4 * 70, -1), chosen = {0, 2};
  run(rt::Tensor::of(in, {70}), rt::Tensor::of(out, {4, 70}), rt::Tensor::of(chosen, {2}));
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], i / 70 == 2 ? 9 : -1) << i;
}

TEST_P(MissingDims, AreRefusedWhereSeveralPlacesAreMeant) {
  auto [B, N] = symbols<"B N">();
  auto refusalOf = [&](std::vector<Constraint> constraints, std::vector<Expr> shape) {
    constraints.push_back(WorkgroupConstraint(N, 64, 0));
    constraints.push_back(HardwareConstraint{});
    Kernel kernel{"wrong", constraints};
    write(read(kernel.memory("a", {N}, global, i32)), kernel.memory("b", std::move(shape), global, i32));
    return refusal(kernel, options({{B, 4}, {N, 100}}));
  };
  EXPECT_EQ(refusalOf({WorkgroupConstraint(B, 2, 1)}, {B, N}), "write-dims");
  EXPECT_EQ(refusalOf({}, {B, N}), "write-dims");
  EXPECT_EQ(refusalOf({WorkgroupConstraint(B, 1, 1)}, {B, N}), "");
  EXPECT_EQ(refusalOf({WorkgroupConstraint(B, 1, 1)}, {N, B}), "");
}

INSTANTIATE_TEST_SUITE_P(All, MissingDims, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
