//===- StridesTest.cpp - Tensors whose elements do not lie row by row -------------------===//
//
// Slices of larger matrices, transposed views, batches, rows that are all the same: passed as they are, with strides
// that are numbers or known only at launch. What lies between the elements must stay as it is.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

namespace soliton::test {
namespace {

constexpr float kGap = -77;

class Strides : public ForTarget {};

/// f32 memory of which a view has some elements.
struct Matrix {
  Matrix(std::vector<int64_t> shape, std::vector<int64_t> strides, float value = kGap)
      : shape(std::move(shape)), strides(std::move(strides)),
        memory(static_cast<size_t>(spanOf(this->shape, this->strides)) + kBefore + kBehind, value) {}

  static int64_t spanOf(const std::vector<int64_t> &shape, const std::vector<int64_t> &strides) {
    return *rt::Tensor::strided(nullptr, DType::f32, shape, strides).span();
  }

  /// Element `i` is `value(i)`, counted row by row.
  Matrix &fill(float (*value)(int64_t)) {
    int64_t count = elementsOf(shape);
    for (int64_t i = 0; i < count; ++i)
      (*this)[i] = value(i);
    return *this;
  }
  size_t placeOf(int64_t i) const {
    int64_t place = kBefore;
    for (size_t d = shape.size(); d-- > 0; i /= shape[d])
      place += i % shape[d] * strides[d];
    return static_cast<size_t>(place);
  }
  float &operator[](int64_t i) { return memory[placeOf(i)]; }
  rt::Tensor view() { return rt::Tensor::strided(memory.data() + kBefore, DType::f32, shape, strides); }

  void expectGaps() {
    std::vector<bool> isElement(memory.size());
    for (int64_t i = 0; i < elementsOf(shape); ++i)
      isElement[placeOf(i)] = true;
    for (size_t i = 0; i < memory.size(); ++i)
      if (!isElement[i]) {
        ASSERT_EQ(memory[i], kGap) << i;
      }
  }

  static constexpr int64_t kBefore = 16, kBehind = 64;
  std::vector<int64_t> shape, strides;
  std::vector<float> memory;
};

float count(int64_t i) {
  return static_cast<float>(i % 1009);
}

struct Copy {
  Expr M = symbol("M"), N = symbol("N"), LDA = symbol("LDA"), LDB = symbol("LDB");
  Kernel kernel;

  static Expr symbol(const char *name) { return Expr::symbol(name); }
  explicit Copy(std::vector<Expr> from, std::vector<Expr> to, std::vector<Constraint> more = {})
      : kernel{"copy", withTiles(std::move(more))} {
    auto a = kernel.memory("a", {M, N}, global, f32, {.strides = std::move(from)});
    auto b = kernel.memory("b", {M, N}, global, f32, {.strides = std::move(to)});
    write(read(a), b);
  }
  static std::vector<Constraint> withTiles(std::vector<Constraint> more) {
    more.push_back(WorkgroupConstraint(symbol("M"), 16, 1));
    more.push_back(WorkgroupConstraint(symbol("N"), 64, 0));
    more.push_back(HardwareConstraint{});
    return more;
  }
};

TEST_P(Strides, ASliceIsCopiedToASlice) {
  Expr LDA = Expr::symbol("LDA"), LDB = Expr::symbol("LDB");
  Copy copy({LDA, 1}, {LDB, 1});
  CompiledKernel run = compiled(copy.kernel, options({}, {copy.M, copy.N, LDA, LDB}));
  for (auto [m, n, lda, ldb] : {std::array{40, 70, 100, 71}, {16, 64, 64, 64}, {1, 5, 9, 6}, {33, 1, 3, 2}}) {
    Matrix a({m, n}, {lda, 1}), b({m, n}, {ldb, 1});
    a.fill(count);
    run(a.view(), b.view());
    for (int64_t i = 0; i < m * n; ++i)
      ASSERT_EQ(b[i], count(i)) << m << "x" << n << ", " << i;
    b.expectGaps();
  }
}

TEST_P(Strides, PointersTakeStridesByName) {
  Expr LDA = Expr::symbol("LDA"), LDB = Expr::symbol("LDB");
  Copy copy({LDA, 1}, {LDB, 1});
  CompiledKernel run = compiled(copy.kernel, options({{copy.N, 30}}, {copy.M, LDA, LDB}));
  std::vector<float> a(20 * 50), b(20 * 41, kGap);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(i);
  run(a.data(), b.data(), {copy.M, 20}, {LDA, 50}, {LDB, 41});
  for (size_t i = 0; i < b.size(); ++i)
    ASSERT_EQ(b[i], i % 41 < 30 ? a[i / 41 * 50 + i % 41] : kGap) << i;
  std::ranges::fill(b, kGap);
  run(a, b, {copy.M, 20}, {LDA, 50}, {LDB, 41});
  EXPECT_EQ(b[41], 50.0f);
  EXPECT_EQ(b[40], kGap);
  EXPECT_EQ(refused([&] { run(a.data(), b.data(), {copy.M, 20}, {LDA, 50}); }), "argument-count");
  EXPECT_EQ(refused([&] { run(a, b, {copy.M, 20}, {LDA, 55}, {LDB, 41}); }), "argument-shape");
}

TEST_P(Strides, NumbersAndFormulas) {
  auto [P] = symbols<"P">();
  Copy copy({100, 1}, {2 * P, 2});
  CompiledKernel run = compiled(copy.kernel, options({{copy.M, 20}, {copy.N, 40}}, {P}));
  Matrix a({20, 40}, {100, 1}), b({20, 40}, {90, 2});
  a.fill(count);
  run.launch({a.view(), b.view(), {P, 45}});
  for (int64_t i = 0; i < 800; ++i)
    ASSERT_EQ(b[i], count(i)) << i;
  b.expectGaps();
  EXPECT_EQ(refused([&] { run.launch({a.view(), b.view(), {P, 44}}); }), "argument-stride");
}

TEST_P(Strides, ATransposedViewIsReadWide) {
  Expr LDA = Expr::symbol("LDA");
  for (bool shared_space : {false, true}) {
    auto [M, N] = symbols<"M N">();
    Kernel kernel{"transposed", {WorkgroupConstraint(M, 32, 1), WorkgroupConstraint(N, 32, 0), HardwareConstraint{}}};
    auto a = kernel.memory("a", {M, N}, shared_space ? Expr(shared) : Expr(global), f32, {.strides = {1, LDA}});
    auto b = kernel.memory("b", {M, N}, global, f32);
    write(read(a), b);
    CompiledKernel run = compiled(kernel, options({{M, 50}, {N, 70}}, {LDA}));
    Matrix in({50, 70}, {1, 60}), out({50, 70}, {70, 1});
    in.fill(count);
    run(in.view(), out.view());
    for (int64_t i = 0; i < 50 * 70; ++i)
      ASSERT_EQ(out[i], count(i)) << i;
  }
}

/// One row for all rows, one number for all elements: stride 0.
TEST_P(Strides, AnInputMayRepeatItself) {
  Expr LDA = Expr::symbol("LDA");
  Copy known({0, 1}, {70, 1}), late({LDA, 1}, {70, 1}), all({0, 0}, {70, 1});
  CompiledKernel one = compiled(known.kernel, options({{known.M, 40}, {known.N, 70}}));
  CompiledKernel two = compiled(late.kernel, options({{known.M, 40}, {known.N, 70}}, {LDA}));
  CompiledKernel three = compiled(all.kernel, options({{known.M, 40}, {known.N, 70}}));
  for (const CompiledKernel *run : {&one, &two}) {
    Matrix a({40, 70}, {0, 1}), b({40, 70}, {70, 1});
    for (int64_t i = 0; i < 70; ++i)
      a[i] = count(i);
    (*run)(a.view(), b.view());
    for (int64_t i = 0; i < 2800; ++i)
      ASSERT_EQ(b[i], count(i % 70)) << i;
  }
  Matrix a({40, 70}, {0, 0}), b({40, 70}, {70, 1});
  a[0] = 5;
  three(a.view(), b.view());
  for (int64_t i = 0; i < 2800; ++i)
    ASSERT_EQ(b[i], 5) << i;
}

TEST_P(Strides, WhatDoesNotFitIsRefused) {
  Expr LDA = Expr::symbol("LDA"), LDB = Expr::symbol("LDB");
  Copy copy({LDA, 1}, {LDB, 1}), dense({}, {});
  CompiledKernel run = compiled(copy.kernel, options({{copy.M, 20}, {copy.N, 40}}, {LDA, LDB}));
  CompiledKernel plain = compiled(dense.kernel, options({{copy.M, 20}, {copy.N, 40}}));
  Matrix a({20, 40}, {50, 1}), b({20, 40}, {50, 1});
  EXPECT_EQ(refused([&] { plain(a.view(), b.view()); }), "argument-stride");
  // Columns that lie apart where the kernel has them side by side.
  Matrix apart({20, 40}, {80, 2});
  EXPECT_EQ(refused([&] { run(apart.view(), b.view()); }), "argument-stride");
  // Backwards.
  rt::Tensor backwards = rt::Tensor::strided(a.memory.data() + 19 * 50, DType::f32, {20, 40}, {-50, 1});
  EXPECT_EQ(refused([&] { run(backwards, b.view()); }), "symbol-range");
  EXPECT_EQ(refused([&] { plain(backwards, b.view()); }), "argument-stride");
  // Rows of the output that overlap, or are one.
  for (int64_t stride : {0, 39}) {
    rt::Tensor overlapping = rt::Tensor::strided(b.memory.data(), DType::f32, {20, 40}, {stride, 1});
    EXPECT_EQ(refused([&] { run(a.view(), overlapping); }), "argument-self-overlap") << stride;
    EXPECT_EQ(refused([&] { run(overlapping, b.view()); }), "argument-overlap") << stride;
  }
  rt::Tensor touching = rt::Tensor::strided(b.memory.data(), DType::f32, {20, 40}, {40, 1});
  EXPECT_EQ(refused([&] { run(a.view(), touching); }), "");
  // One row has no neighbours, whatever its stride says.
  Copy row({LDA, 1}, {LDB, 1});
  CompiledKernel single = compiled(row.kernel, options({{copy.M, 1}, {copy.N, 40}}, {LDA, LDB}));
  rt::Tensor first = rt::Tensor::strided(a.memory.data(), DType::f32, {1, 40}, {0, 1});
  rt::Tensor second = rt::Tensor::strided(b.memory.data(), DType::f32, {1, 40}, {-3, 1});
  EXPECT_EQ(refused([&] { single(first, second); }), "");
}

TEST_P(Strides, AssumptionsAboutStridesMakeAccessesWide) {
  Expr LDA = Expr::symbol("LDA"), LDB = Expr::symbol("LDB");
  auto whole = [](Expr stride) { return Constraint(Assumption(sym::eq(sym::mod(stride, 4), 0))); };
  Copy narrow({LDA, 1}, {LDB, 1}), wide({LDA, 1}, {LDB, 1}, {whole(LDA), whole(LDB)});
  CompileOptions all = options({{wide.M, 32}, {wide.N, 64}}, {LDA, LDB});
  all.keep = {Artefact::machine};
  CompiledKernel one = compiled(narrow.kernel, all), four = compiled(wide.kernel, all);
  auto loads = [](const CompiledKernel &run, const char *type) {
    return run.compiled().artefacts.front().second.find(type) != std::string::npos;
  };
  EXPECT_FALSE(loads(one, "vector<4xf32>"));
  EXPECT_TRUE(loads(four, "vector<4xf32>"));
  Matrix a({32, 64}, {68, 1}), b({32, 64}, {72, 1}), odd({32, 64}, {69, 1});
  a.fill(count);
  four(a.view(), b.view());
  for (int64_t i = 0; i < 32 * 64; ++i)
    ASSERT_EQ(b[i], count(i)) << i;
  b.expectGaps();
  EXPECT_EQ(refused([&] { four(odd.view(), b.view()); }), "launch-assumption");
}

/// c = a · bᵀ of f16, with leading dimensions.
struct Gemm {
  Expr B = Expr::symbol("B"), M = Expr::symbol("M"), N = Expr::symbol("N"), K = Expr::symbol("K");
  Expr LDA = Expr::symbol("LDA"), LDB = Expr::symbol("LDB"), LDC = Expr::symbol("LDC"), SA = Expr::symbol("SA");
  Kernel kernel;

  Gemm(Expr space, bool aligned, bool batched) : kernel{batched ? "batched" : "gemm", constraints(aligned, batched)} {
    auto dims = [&](Expr rows, Expr columns) {
      return batched ? std::vector<Expr>{B, rows, columns} : std::vector<Expr>{rows, columns};
    };
    auto strides = [&](Expr batch, Expr leading) {
      return MemoryOptions{.strides = batched ? std::vector<Expr>{batch, leading, 1} : std::vector<Expr>{leading, 1}};
    };
    auto a = kernel.memory("a", dims(M, K), space, f16, strides(SA, LDA));
    auto b = kernel.memory("b", dims(N, K), space, f16, strides(0, LDB));
    auto c = kernel.memory("c", dims(M, N), global, f32, strides(M * LDC, LDC));
    Value zero = kernel.fill(dims(M, N), f32, 0.0);
    write(kernel.iterate(K, zero, [&](Value acc) { return mma(read(a), read(b), acc); }), c);
  }

  std::vector<Constraint> constraints(bool aligned, bool batched) const {
    std::vector<Constraint> list = {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1),
                                    TilingConstraint(K, 32),       WaveConstraint(M, 16),
                                    WaveConstraint(N, 16),         HardwareConstraint{}};
    if (batched)
      list.push_back(WorkgroupConstraint(B, 1, 2));
    for (Expr stride : {LDA, LDB})
      if (aligned)
        list.push_back(Assumption(sym::eq(sym::mod(stride, 8), 0)));
    if (aligned && batched)
      list.push_back(Assumption(sym::eq(sym::mod(SA, 8), 0)));
    return list;
  }
};

/// Integers, so that sums are exact.
std::vector<uint16_t> halves(int64_t count) {
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = floatToHalf(static_cast<float>(static_cast<int>(i * 7 % 11) - 5));
  return values;
}

TEST_P(Strides, LeadingDimensionsOfAProduct) {
  for (bool aligned : {false, true})
    for (bool direct : {false, true}) {
      Gemm gemm(aligned ? shared : global, aligned, false);
      CompileOptions all = options({}, {gemm.M, gemm.N, gemm.K, gemm.LDA, gemm.LDB, gemm.LDC});
      all.directCopies = direct;
      if (direct && !aligned)
        continue;
      CompiledKernel run = compiled(gemm.kernel, all);
      int64_t m = 50, n = 40, k = 70, lda = aligned ? 80 : 75, ldb = aligned ? 72 : 71, ldc = 45;
      std::vector<uint16_t> a = halves(m * lda), b = halves(n * ldb);
      Matrix c({m, n}, {ldc, 1});
      run(rt::Tensor::strided(a.data(), DType::f16, {m, k}, {lda, 1}),
          rt::Tensor::strided(b.data(), DType::f16, {n, k}, {ldb, 1}), c.view());
      for (int64_t i = 0; i < m * n; ++i) {
        float expected = 0;
        for (int64_t x = 0; x < k; ++x)
          expected += halfToFloat(a[static_cast<size_t>(i / n * lda + x)]) *
                      halfToFloat(b[static_cast<size_t>(i % n * ldb + x)]);
        ASSERT_EQ(c[i], expected) << aligned << direct << ", " << i;
      }
      c.expectGaps();
    }
}

TEST_P(Strides, ABatchMayLieAnywhere) {
  Gemm gemm(shared, true, true);
  CompiledKernel run = compiled(
      gemm.kernel, options({{gemm.N, 40}, {gemm.K, 64}}, {gemm.B, gemm.M, gemm.LDA, gemm.LDB, gemm.LDC, gemm.SA}));
  int64_t batch = 3, m = 20, n = 40, k = 64, lda = 72, ldb = 64, ldc = 41, sa = 2000;
  std::vector<uint16_t> a = halves(batch * sa), b = halves(n * ldb);
  Matrix c({batch, m, n}, {m * ldc, ldc, 1});
  run(rt::Tensor::strided(a.data(), DType::f16, {batch, m, k}, {sa, lda, 1}),
      rt::Tensor::strided(b.data(), DType::f16, {batch, n, k}, {0, ldb, 1}), c.view());
  for (int64_t i = 0; i < batch * m * n; ++i) {
    float expected = 0;
    for (int64_t x = 0; x < k; ++x)
      expected += halfToFloat(a[static_cast<size_t>(i / (m * n) * sa + i / n % m * lda + x)]) *
                  halfToFloat(b[static_cast<size_t>(i % n * ldb + x)]);
    ASSERT_EQ(c[i], expected) << i;
  }
  c.expectGaps();
}

/// Mapped reads, atomics and bounds know strides too: sums of columns in reversed rows.
TEST_P(Strides, AtomicsAndMappings) {
  auto [M, N, LDA, STEP] = symbols<"M N LDA STEP">();
  Kernel kernel{"columns", {WorkgroupConstraint(M, 16, 0), WorkgroupConstraint(N, 32, 1), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, N}, global, f32, {.strides = {LDA, 1}});
  auto sums = kernel.memory("sums", {N}, global, f32, {.strides = {STEP}});
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  IndexMapping reversed{.num_iterators = 2, .inputs = {{M, M - 1 - i}, {N, j}}, .outputs = {{M, i}, {N, j}}};
  atomic_add(sum(read(a, {.mapping = reversed}), M), sums);
  CompiledKernel run = compiled(kernel, options({}, {M, N, LDA, STEP}));
  Matrix in({37, 45}, {50, 1}), out({45}, {3});
  in.fill(count);
  for (int64_t n = 0; n < 45; ++n)
    out[n] = 0;
  run(in.view(), out.view());
  for (int64_t n = 0; n < 45; ++n) {
    float expected = 0;
    for (int64_t m = 0; m < 37; ++m)
      expected += in[m * 45 + n];
    ASSERT_EQ(out[n], expected) << n;
  }
  out.expectGaps();
}

/// Where both have the same strides an array may take the other's place; strides of their own are two arrays.
TEST_P(Strides, InPlaceMeansTheSamePlaces) {
  Expr LDA = Expr::symbol("LDA"), LDB = Expr::symbol("LDB");
  Copy same({LDA, 1}, {LDA, 1}), other({LDA, 1}, {LDB, 1});
  CompiledKernel one = compiled(same.kernel, options({{same.M, 20}, {same.N, 40}}, {LDA}));
  CompiledKernel two = compiled(other.kernel, options({{same.M, 20}, {same.N, 40}}, {LDA, LDB}));
  Matrix a({20, 40}, {50, 1});
  rt::Tensor narrow = rt::Tensor::strided(a.view().data, DType::f32, {20, 40}, {45, 1});
  EXPECT_EQ(refused([&] { one(a.view(), a.view()); }), "");
  EXPECT_EQ(refused([&] { one(a.view(), narrow); }), "argument-stride");
  EXPECT_EQ(refused([&] { two(a.view(), a.view()); }), "argument-overlap");
  EXPECT_EQ(refused([&] { two(a.view(), narrow); }), "argument-overlap");
}

TEST_P(Strides, EmptyTensorsAreLaunchedLikeOthers) {
  Expr LDA = Expr::symbol("LDA"), LDB = Expr::symbol("LDB");
  Copy copy({LDA, 1}, {LDB, 1});
  CompiledKernel run = compiled(copy.kernel, options({}, {copy.M, copy.N, LDA, LDB}));
  std::vector<float> a(10), b(10, kGap);
  for (auto [m, n] : {std::array<int64_t, 2>{0, 5}, {5, 0}, {0, 0}})
    EXPECT_EQ(refused([&] {
                run(rt::Tensor::strided(a.data(), DType::f32, {m, n}, {8, 1}),
                    rt::Tensor::strided(b.data(), DType::f32, {m, n}, {0, 1}));
              }),
              "");
  EXPECT_EQ(b, std::vector<float>(10, kGap));
}

TEST_P(Strides, OutputsThatOverlapByNumbersAreNotCompiled) {
  for (const std::vector<Expr> &strides : {std::vector<Expr>{0, 1}, {39, 1}, {1, 19}}) {
    Copy copy({40, 1}, strides);
    EXPECT_EQ(refusal(copy.kernel, options({{copy.M, 20}, {copy.N, 40}})), "argument-self-overlap");
    EXPECT_EQ(refusal(copy.kernel, options({{copy.M, 20}}, {copy.N})), "");
  }
}

TEST_P(Strides, MistakesInTheKernelAreFoundAtItsLine) {
  auto [M, N, LDA] = symbols<"M N LDA">();
  auto refusalOf = [&](std::vector<Expr> strides, ElementType type, lang::Substitutions subs) {
    Kernel kernel{"wrong", {WorkgroupConstraint(M, 16, 0), WorkgroupConstraint(N, 32, 1), HardwareConstraint{}}};
    auto a = kernel.memory("a", {M, N}, global, type, {.strides = std::move(strides)});
    write(read(a), kernel.memory("b", {M, N}, global, type));
    return refusal(kernel, options(std::move(subs)));
  };
  lang::Substitutions sizes = {{M, 32}, {N, 32}};
  EXPECT_EQ(refusalOf({1}, f32, sizes), "memory-strides");
  EXPECT_EQ(refusalOf({-32, 1}, f32, sizes), "memory-strides");
  EXPECT_EQ(refusalOf({64, 1}, f4e2m1fn, sizes), "memory-strides");
  EXPECT_EQ(refusalOf({LDA, 1}, f32, {{M, 32}, {N, 32}, {LDA, -4}}), "memory-strides");
  EXPECT_EQ(refusalOf({LDA, 1}, f32, sizes), "symbol-unbound");
  EXPECT_EQ(refusalOf({LDA, 1}, f32, {{M, 32}, {N, 32}, {LDA, 40}}), "");
}

INSTANTIATE_TEST_SUITE_P(All, Strides, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
