//===- ScaledTest.cpp - Products of small floats with scales -------------------------------===//
//
// `scaled_mma` with any scales there are: 2^-127 to 2^127 and NaN. What is too large or too small for f32 with one
// scale alone may be neither with both. Every program is compiled for the chip and run by the emulator.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <cmath>

namespace soliton::test {
namespace {

constexpr int64_t kBlock = 32;

/// One factor: bytes of elements and of scales, and the numbers that they are.
struct Factor {
  Factor(DType type, int64_t rows, int64_t depth, unsigned seed)
      : type(type), rows(rows), depth(depth), engine(seed), bytes(static_cast<size_t>(rows * depth * bits(type) / 8)),
        scales(static_cast<size_t>(rows * depth / kBlock), 127) {
    for (uint8_t &byte : bytes)
      do
        byte = static_cast<uint8_t>(engine());
      while (bits(type) == 8 && !std::isfinite(decode(type, byte)));
  }
  int64_t rowBytes() const { return depth * bits(type) / 8; }
  double element(int64_t row, int64_t k) const {
    uint64_t code = 0;
    for (int64_t bit = 0; bit < bits(type); ++bit) {
      int64_t at = k * bits(type) + bit;
      code |= uint64_t(bytes[static_cast<size_t>(row * rowBytes() + at / 8)] >> (at % 8) & 1) << bit;
    }
    return decode(type, code);
  }
  uint8_t &scale(int64_t row, int64_t block) { return scales[static_cast<size_t>(row * depth / kBlock + block)]; }
  double scaled(int64_t row, int64_t k) {
    uint8_t byte = scale(row, k / kBlock);
    return byte == 255 ? NAN : std::ldexp(element(row, k), byte - 127);
  }
  rt::Tensor elements() {
    return rt::Tensor::dense(bytes.data(), bits(type) < 8 ? DType::i8 : type, {rows, rowBytes()});
  }
  rt::Tensor allScales() { return rt::Tensor::dense(scales.data(), DType::i8, {rows, depth / kBlock}); }

  DType type;
  int64_t rows, depth;
  std::mt19937 engine;
  std::vector<uint8_t> bytes, scales;
};

class Scaled : public ForTarget {
protected:
  /// The product of two factors; `inverted` scales lie in memory as what is not set in them.
  static Kernel product(DType left, DType right, bool inverted = false) {
    auto [M, N, K] = symbols<"M N K">();
    Kernel k{"scaled",
             {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 128),
              WaveConstraint(M, 16), HardwareConstraint{}}};
    auto factor = [&](const char *name, Expr row, DType type) {
      bool packed = bits(type) < 8;
      auto memory = k.memory(name, {row, K * bits(type) / 8}, shared, packed ? i8 : ElementType(type));
      return [memory, packed, type] { return packed ? bitcast(read(memory), type) : read(memory); };
    };
    auto scales = [&](const char *name, Expr row) {
      auto memory = k.memory(name, {row, K / 32}, shared, i8);
      return [memory, inverted] {
        Value bytes = read(memory);
        return bitcast(inverted ? bytes ^ -1 : bytes, f8e8m0fnu);
      };
    };
    auto a = factor("a", M, left), b = factor("b", N, right);
    auto s = scales("s", M), t = scales("t", N);
    auto c = k.memory("c", {M, N}, global, f32);
    write(k.iterate(K, k.fill({M, N}, f32, 0.0), [&](Value acc) { return scaled_mma(a(), s(), b(), t(), acc); }), c);
    return k;
  }

  CompileOptions sizes(int64_t m, int64_t n, int64_t depth) const {
    auto [M, N, K] = symbols<"M N K">();
    return options({{M, m}, {N, n}, {K, depth}});
  }

  static void run(const CompiledKernel &kernel, Factor &a, Factor &b, Floats &c) {
    kernel(a.elements(), b.elements(), a.allScales(), b.allScales(), c.tensor());
  }

  /// Every element whose terms f32 holds is right.
  static int64_t check(Factor &a, Factor &b, const Floats &c) {
    int64_t judged = 0;
    for (int64_t i = 0; i < a.rows * b.rows; ++i) {
      double want = 0, size = 0;
      for (int64_t k = 0; k < a.depth; ++k) {
        double term = a.scaled(i / b.rows, k) * b.scaled(i % b.rows, k);
        want += term;
        size += std::abs(term);
      }
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(c[i])) << i;
        continue;
      }
      if (size > 0x1p127)
        continue;
      ++judged;
      double bound = 2 * static_cast<double>(a.depth) * 0x1p-24 * size + static_cast<double>(a.depth) * 0x1p-149;
      EXPECT_NEAR(c[i], want, bound) << i;
      if (testing::Test::HasFailure())
        return judged;
    }
    return judged;
  }
};

/// Both scales of a block are far from 1, in opposite directions.
TEST_P(Scaled, ScalesThatOnlyTogetherAreNumbers) {
  for (auto [left, right] : {std::pair(DType::f4e2m1fn, DType::f4e2m1fn),
                             {DType::f8e4m3fn, DType::f8e5m2},
                             {DType::f8e5m2, DType::f4e2m1fn},
                             {DType::f6e2m3fn, DType::f6e3m2fn},
                             {DType::f6e3m2fn, DType::f4e2m1fn},
                             {DType::f8e4m3fn, DType::f6e2m3fn}}) {
    CompiledKernel kernel = compiled(product(left, right), sizes(45, 33, 352));
    Factor a(left, 45, 352, 1), b(right, 33, 352, 2);
    for (int64_t block = 0; block < 11; ++block) {
      auto far = static_cast<int64_t>(a.engine() % 255);
      for (auto [factor, middle] : {std::pair(&a, far), {&b, 254 - far}})
        for (int64_t row = 0; row < factor->rows; ++row) {
          int64_t wanted = middle + static_cast<int64_t>(factor->engine() % 5) - 2;
          factor->scale(row, block) = static_cast<uint8_t>(std::clamp<int64_t>(wanted, 0, 254));
        }
    }
    Floats c(DType::f32, {45, 33}, -1);
    run(kernel, a, b, c);
    EXPECT_EQ(check(a, b, c), 45 * 33);
  }
}

TEST_P(Scaled, AnyScales) {
  CompiledKernel kernel = compiled(product(DType::f4e2m1fn, DType::f4e2m1fn), sizes(64, 64, 32));
  Factor a(DType::f4e2m1fn, 64, 32, 3), b(DType::f4e2m1fn, 64, 32, 4);
  for (Factor *factor : {&a, &b})
    for (uint8_t &scale : factor->scales)
      scale = static_cast<uint8_t>(factor->engine() % 255);
  a.scale(0, 0) = b.scale(0, 0) = 0;
  a.scale(1, 0) = b.scale(1, 0) = 254;
  Floats c(DType::f32, {64, 64}, -1);
  run(kernel, a, b, c);
  EXPECT_GT(check(a, b, c), 1000);
}

TEST_P(Scaled, AScaleThatIsNoNumber) {
  CompiledKernel kernel = compiled(product(DType::f8e4m3fn, DType::f8e4m3fn), sizes(32, 32, 128));
  Factor a(DType::f8e4m3fn, 32, 128, 5), b(DType::f8e4m3fn, 32, 128, 6);
  a.scale(3, 1) = b.scale(30, 2) = 255;
  Floats c(DType::f32, {32, 32}, -1);
  run(kernel, a, b, c);
  EXPECT_EQ(check(a, b, c), 31 * 31);
}

/// Beyond the end of K bytes are 0, and what is made of them would be no number.
TEST_P(Scaled, ComputedScalesEndWhereTheirDimensionDoes) {
  CompiledKernel kernel = compiled(product(DType::f8e4m3fn, DType::f4e2m1fn, /*inverted=*/true), sizes(20, 40, 160));
  Factor a(DType::f8e4m3fn, 20, 160, 7), b(DType::f4e2m1fn, 40, 160, 8);
  for (Factor *factor : {&a, &b})
    for (uint8_t &scale : factor->scales)
      scale = static_cast<uint8_t>(120 + factor->engine() % 10);
  Factor storedA = a, storedB = b;
  for (Factor *factor : {&storedA, &storedB})
    for (uint8_t &scale : factor->scales)
      scale = static_cast<uint8_t>(~scale);
  Floats c(DType::f32, {20, 40}, -1);
  run(kernel, storedA, storedB, c);
  EXPECT_EQ(check(a, b, c), 20 * 40);
}

/// The elements themselves in memory, not bytes that are read as them.
TEST_P(Scaled, SixBitElementsInMemory) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel k{"sixes",
           {WorkgroupConstraint(M, 32, 0), WorkgroupConstraint(N, 32, 1), TilingConstraint(K, 128),
            WaveConstraint(M, 16), HardwareConstraint{}}};
  auto a = k.memory("a", {M, K}, shared, f6e2m3fn), b = k.memory("b", {N, K}, global, f6e3m2fn);
  auto s = k.memory("s", {M, K / 32}, shared, i8), t = k.memory("t", {N, K / 32}, shared, i8);
  auto c = k.memory("c", {M, N}, global, f32);
  write(k.iterate(K, k.fill({M, N}, f32, 0.0),
                  [&](Value acc) {
                    return scaled_mma(read(a), bitcast(read(s), f8e8m0fnu), read(b), bitcast(read(t), f8e8m0fnu), acc);
                  }),
        c);
  CompiledKernel kernel = compiled(k, sizes(40, 33, 160));
  Factor left(DType::f6e2m3fn, 40, 160, 9), right(DType::f6e3m2fn, 33, 160, 10);
  for (Factor *factor : {&left, &right})
    for (uint8_t &scale : factor->scales)
      scale = static_cast<uint8_t>(120 + factor->engine() % 10);
  Floats out(DType::f32, {40, 33}, -1);
  auto elements = [](Factor &factor) {
    return rt::Tensor::dense(factor.bytes.data(), factor.type, {factor.rows, factor.depth});
  };
  kernel(elements(left), elements(right), left.allScales(), right.allScales(), out.tensor());
  EXPECT_EQ(check(left, right, out), 40 * 33);
}

INSTANTIATE_TEST_SUITE_P(Targets, Scaled, testing::ValuesIn(allTargets()), targetName);

} // namespace
} // namespace soliton::test
