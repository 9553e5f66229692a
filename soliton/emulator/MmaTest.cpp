//===- MmaTest.cpp - Products, against sums written out -------------------===//
#include "soliton/emulator/Kernels.h"
#include "soliton/emulator/SamplePrograms.h"
#include "soliton/emulator/TestSupport.h"
#include "soliton/support/Float.h"

#include <bit>
#include <cmath>
#include <random>

using namespace soliton;
using namespace soliton::emu;

namespace {

using Matrix = std::vector<uint64_t>;

/// The registers of one fragment as a value that differs between lanes.
Value fragmentValue(Builder &b, Value lane, DType type, const Fragment &fragment, const Matrix &matrix,
                    uint32_t waveSize) {
  std::vector<Value> parts;
  for (uint32_t r = 0; r < fragment.registers; ++r) {
    std::vector<uint64_t> bits;
    for (uint32_t l = 0; l < waveSize; ++l) {
      uint32_t element = fragment.element[r * waveSize + l];
      bits.push_back(element == kNoElement ? 0 : matrix[element]);
    }
    parts.push_back(table(b, lane, type, bits));
  }
  return b.concat(parts);
}

/// Runs one product; the accumulator by element number. Every holder of an element must agree.
Matrix multiply(const MmaKind &kind, const Matrix &a, const Matrix &bm, const Matrix &c, uint32_t waveSize,
                const Matrix &scaleA = {}, const Matrix &scaleB = {}) {
  Lanes lanes = evaluate(
      [&](Builder &b, Value lane) {
        Value sa, sb;
        if (kind.scaleBlock) {
          sa = fragmentValue(b, lane, DType::i8, kind.fragScaleA, scaleA, waveSize);
          sb = fragmentValue(b, lane, DType::i8, kind.fragScaleB, scaleB, waveSize);
        }
        return b.mma(b.mmaKind(kind), fragmentValue(b, lane, kind.a, kind.fragA, a, waveSize),
                     fragmentValue(b, lane, kind.b, kind.fragB, bm, waveSize),
                     fragmentValue(b, lane, kind.acc, kind.fragAcc, c, waveSize), sa, sb);
      },
      waveSize);
  Matrix result(c.size(), 0xdeadbeef);
  for (uint32_t r = 0; r < kind.fragAcc.registers; ++r)
    for (uint32_t l = 0; l < waveSize; ++l)
      result[kind.fragAcc.element[r * waveSize + l]] = lanes[l][r];
  return result;
}

Matrix randomFloats(DType type, size_t size, std::mt19937 &random, bool integers) {
  Matrix matrix;
  std::uniform_real_distribution<double> real(-1, 1);
  for (size_t i = 0; i < size; ++i)
    matrix.push_back(encode(type, integers ? double(int(random() % 9) - 4) : real(random)));
  return matrix;
}

TEST(Mma, IntegerValuedFloatsAreExact) {
  std::mt19937 random(7);
  for (MmaKind kind : {samples::mma16x16x16(), samples::mma16x8x16()})
    for (DType type : {DType::f16, DType::bf16, DType::f8e4m3fn}) {
      kind.a = kind.b = type;
      uint32_t waveSize = kind.n == 16 ? 64 : 32;
      Matrix a = randomFloats(type, kind.m * kind.k, random, true),
             b = randomFloats(type, kind.k * kind.n, random, true);
      Matrix c = randomFloats(DType::f32, kind.m * kind.n, random, true), d = multiply(kind, a, b, c, waveSize);
      for (uint32_t i = 0; i < kind.m; ++i)
        for (uint32_t j = 0; j < kind.n; ++j) {
          double sum = decode(DType::f32, c[i * kind.n + j]);
          for (uint32_t k = 0; k < kind.k; ++k)
            sum += decode(type, a[i * kind.k + k]) * decode(type, b[k * kind.n + j]);
          ASSERT_EQ(decode(DType::f32, d[i * kind.n + j]), sum);
        }
    }
}

TEST(Mma, AccumulatesByFmaInOrder) {
  std::mt19937 random(8);
  for (DType type : {DType::f16, DType::bf16, DType::f32}) {
    MmaKind kind = samples::mma16x16x16();
    kind.a = kind.b = type;
    Matrix a = randomFloats(type, 256, random, false), b = randomFloats(type, 256, random, false);
    Matrix c = randomFloats(DType::f32, 256, random, false), d = multiply(kind, a, b, c, 64);
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t j = 0; j < 16; ++j) {
        float sum = float(decode(DType::f32, c[i * 16 + j]));
        for (uint32_t k = 0; k < 16; ++k)
          sum = std::fmaf(float(decode(type, a[i * 16 + k])), float(decode(type, b[k * 16 + j])), sum);
        ASSERT_EQ(d[i * 16 + j], std::bit_cast<uint32_t>(sum));
      }
  }
}

/// One row and one column of a product of e4m3 that is added up in few bits; all other elements are zeros.
double shortSum(double start, const std::vector<std::pair<double, double>> &terms) {
  MmaKind kind = samples::mma16x16x16();
  kind.a = kind.b = DType::f8e4m3fn;
  kind.sumBits = 13;
  Matrix a(256), b(256), c(256);
  c[0] = encode(DType::f32, start);
  for (size_t k = 0; k < terms.size(); ++k) {
    a[k] = encode(kind.a, terms[k].first);
    b[k * 16] = encode(kind.b, terms[k].second);
  }
  return decode(DType::f32, multiply(kind, a, b, c, 64)[0]);
}

TEST(Mma, ShortSumsCutEveryTermBelowTheLargest) {
  EXPECT_EQ(shortSum(8192, {{1.5, 1}, {1.5, 1}, {-1.75, 1}}), 8192 + 1 + 1 - 1);
  // The largest may be a product, and the sum so far may be cut too.
  EXPECT_EQ(shortSum(0.75, {{256, 32}, {1, 1}}), 8192 + 1);
  EXPECT_EQ(shortSum(8191.5, {{1, 0.5}, {1, 1}}), 8191.5 + 0.5 + 1);
  // A product's exponent is the sum of those of its factors: 1.5 · 1.5 does not count as 2.
  EXPECT_EQ(shortSum(0, {{1.5, 1.5}, {0x1p-7, 0x1p-6}, {0x1p-6, 0x1p-8}}), 2.25 + 0x1p-13);
  EXPECT_EQ(shortSum(0x1p-140, {}), 0x1p-140);
  EXPECT_EQ(shortSum(0, {}), 0);
  EXPECT_TRUE(std::isnan(shortSum(1, {{NAN, 1}, {1, 1}})));
}

TEST(Mma, HalfAccumulatorRoundsOnce) {
  std::mt19937 random(9);
  MmaKind kind = samples::mma16x8x16();
  kind.acc = DType::f16;
  Matrix a = randomFloats(DType::f16, 256, random, false), b = randomFloats(DType::f16, 128, random, false);
  Matrix c = randomFloats(DType::f16, 128, random, false), d = multiply(kind, a, b, c, 32);
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t j = 0; j < 8; ++j) {
      float sum = float(decode(DType::f16, c[i * 8 + j]));
      for (uint32_t k = 0; k < 16; ++k)
        sum = std::fmaf(float(decode(DType::f16, a[i * 16 + k])), float(decode(DType::f16, b[k * 8 + j])), sum);
      ASSERT_EQ(d[i * 8 + j], encode(DType::f16, sum));
    }
}

TEST(Mma, IntegersWrap) {
  MmaKind kind = samples::mma16x16x16();
  kind.a = kind.b = DType::i8;
  kind.acc = DType::i32;
  std::mt19937 random(10);
  Matrix a(256), b(256), c(256);
  for (size_t i = 0; i < 256; ++i) {
    a[i] = random() & 0xff;
    b[i] = random() & 0xff;
    c[i] = random();
  }
  Matrix d = multiply(kind, a, b, c, 64);
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t j = 0; j < 16; ++j) {
      int64_t sum = int32_t(c[i * 16 + j]);
      for (uint32_t k = 0; k < 16; ++k)
        sum += int64_t(int8_t(a[i * 16 + k])) * int8_t(b[k * 16 + j]);
      ASSERT_EQ(uint32_t(d[i * 16 + j]), uint32_t(sum));
    }
}

TEST(Mma, DoublesAndBlocks) {
  // 16x16x4 f64: k = l / 16, C row = 4 r + l / 16; and 4x4x4 in 16 blocks of f16.
  MmaKind wide{.name = "16x16x4.f64", .m = 16, .n = 16, .k = 4, .a = DType::f64, .b = DType::f64, .acc = DType::f64};
  wide.fragA = fragment(1, 64, [](uint32_t, uint32_t l) { return l % 16 * 4 + l / 16; });
  wide.fragB = fragment(1, 64, [](uint32_t, uint32_t l) { return l / 16 * 16 + l % 16; });
  wide.fragAcc = fragment(4, 64, [](uint32_t r, uint32_t l) { return (4 * r + l / 16) * 16 + l % 16; });
  MmaKind blocks{.name = "4x4x4.16b", .m = 4, .n = 4, .k = 4, .blocks = 16};
  blocks.fragA = fragment(4, 64, [](uint32_t r, uint32_t l) { return l / 4 * 16 + l % 4 * 4 + r; });
  blocks.fragB = fragment(4, 64, [](uint32_t r, uint32_t l) { return l / 4 * 16 + r * 4 + l % 4; });
  blocks.fragAcc = fragment(4, 64, [](uint32_t r, uint32_t l) { return l / 4 * 16 + r * 4 + l % 4; });
  std::mt19937 random(11);
  for (const MmaKind &kind : {wide, blocks}) {
    Matrix a = randomFloats(kind.a, kind.blocks * kind.m * kind.k, random, true),
           b = randomFloats(kind.b, kind.blocks * kind.k * kind.n, random, true);
    Matrix c = randomFloats(kind.acc, kind.blocks * kind.m * kind.n, random, true), d = multiply(kind, a, b, c, 64);
    for (uint32_t block = 0; block < kind.blocks; ++block)
      for (uint32_t i = 0; i < kind.m; ++i)
        for (uint32_t j = 0; j < kind.n; ++j) {
          double sum = decode(kind.acc, c[(block * kind.m + i) * kind.n + j]);
          for (uint32_t k = 0; k < kind.k; ++k)
            sum += decode(kind.a, a[(block * kind.m + i) * kind.k + k]) *
                   decode(kind.b, b[(block * kind.k + k) * kind.n + j]);
          ASSERT_EQ(decode(kind.acc, d[(block * kind.m + i) * kind.n + j]), sum) << kind.name;
        }
  }
}

TEST(Mma, ScaledBlocks) {
  // 16x16x128 with one scale for each 32 along k: lane l has the scale of row l % 16, block l / 16.
  for (DType type : {DType::f4e2m1fn, DType::f8e4m3fn}) {
    MmaKind kind{.name = "16x16x128.scaled", .m = 16, .n = 16, .k = 128, .a = type, .b = type};
    bool chunks = type == DType::f8e4m3fn;
    auto k = [chunks](uint32_t e, uint32_t l) {
      return chunks ? 64 * (e / 16) + 16 * (l / 16) + e % 16 : 32 * (l / 16) + e;
    };
    kind.fragA = fragment(32, 64, [&](uint32_t e, uint32_t l) { return l % 16 * 128 + k(e, l); });
    kind.fragB = fragment(32, 64, [&](uint32_t e, uint32_t l) { return k(e, l) * 16 + l % 16; });
    kind.fragAcc = fragment(4, 64, [](uint32_t r, uint32_t l) { return (4 * (l / 16) + r) * 16 + l % 16; });
    kind.scaleBlock = 32;
    kind.fragScaleA = kind.fragScaleB = fragment(1, 64, [](uint32_t, uint32_t l) { return l % 16 * 4 + l / 16; });
    std::mt19937 random(12);
    Matrix a = randomFloats(type, 16 * 128, random, true), b = randomFloats(type, 128 * 16, random, true), sa, sb;
    for (int i = 0; i < 64; ++i) {
      sa.push_back(125 + random() % 5);
      sb.push_back(125 + random() % 5);
    }
    Matrix c = randomFloats(DType::f32, 256, random, true), d = multiply(kind, a, b, c, 64, sa, sb);
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t j = 0; j < 16; ++j) {
        double sum = decode(DType::f32, c[i * 16 + j]);
        for (uint32_t q = 0; q < 128; ++q)
          sum += decode(type, a[i * 128 + q]) * decode(type, b[q * 16 + j]) *
                 std::ldexp(1.0, int(sa[i * 4 + q / 32] + sb[j * 4 + q / 32]) - 254);
        ASSERT_EQ(decode(DType::f32, d[i * 16 + j]), sum);
      }
  }
}

TEST(Kernels, BothInstructionSetsGiveTheSameBits) {
  std::mt19937 random(13);
  for (int n : {5, 8, 16, 24}) {
    std::vector<float> a(7 * 9), b(9 * size_t(n)), c(7 * size_t(n)), d;
    for (std::vector<float> *m : {&a, &b, &c})
      for (float &x : *m) {
        uint32_t bits = encode(DType::f16, std::ldexp(double(random()) / 4e9 - 0.5, int(random() % 8)));
        kernels().halfToFloat(&bits, &x, 1);
      }
    d = c;
    kernels().productF32(a.data(), b.data(), c.data(), 7, n, 9, true);
    baselineKernels().productF32(a.data(), b.data(), d.data(), 7, n, 9, true);
    EXPECT_EQ(c, d);
  }
  std::vector<uint32_t> halves(65536), again(65536);
  std::vector<float> x(65536), y(65536);
  for (uint32_t i = 0; i < 65536; ++i)
    halves[i] = i;
  kernels().halfToFloat(halves.data(), x.data(), 65536);
  baselineKernels().halfToFloat(halves.data(), y.data(), 65536);
  for (uint32_t i = 0; i < 65536; ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(x[i]), std::bit_cast<uint32_t>(y[i]));
  baselineKernels().floatToHalf(x.data(), again.data(), 65536);
  for (uint32_t i = 0; i < 65536; ++i)
    ASSERT_TRUE(again[i] == i || std::isnan(x[i]));
}

} // namespace
