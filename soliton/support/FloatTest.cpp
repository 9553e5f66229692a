#include "soliton/support/Float.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace soliton;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<DType> narrowFloats() {
  std::vector<DType> types;
  for (DType type : allDTypes())
    if (isFloat(type) && bits(type) <= 16)
      types.push_back(type);
  return types;
}

/// Random doubles whose exponents cover a format's range and a little beyond.
double randomNear(std::mt19937_64 &random, int lowestExponent, int highestExponent) {
  uint64_t mantissa = random();
  // Short mantissas make ties likely.
  if (random() & 1)
    mantissa &= ~uint64_t(0) << (random() % 60);
  double value = std::bit_cast<double>((mantissa & ((uint64_t(1) << 52) - 1)) | uint64_t(1023) << 52);
  int exponent = lowestExponent + static_cast<int>(random() % uint64_t(highestExponent - lowestExponent + 1));
  return std::ldexp(random() & 1 ? -value : value, exponent);
}
} // namespace

TEST(Float, EveryNarrowPatternRoundTrips) {
  for (DType type : narrowFloats())
    for (uint64_t pattern = 0; pattern < uint64_t(1) << bits(type); ++pattern) {
      double value = decode(type, pattern);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decode(type, encode(type, value)))) << name(type) << " " << pattern;
      else
        EXPECT_EQ(encode(type, value), pattern) << name(type);
    }
}

TEST(Float, PatternsAreOrderedAsTheirNumbers) {
  for (DType type : narrowFloats()) {
    double last = decode(type, 0);
    uint64_t end = uint64_t(1) << (bits(type) - (type == DType::f8e8m0fnu ? 0 : 1));
    for (uint64_t pattern = 1; pattern < end && !std::isnan(decode(type, pattern)); ++pattern) {
      EXPECT_GT(decode(type, pattern), last) << name(type);
      last = decode(type, pattern);
    }
  }
}

// Between two neighbours: below the middle goes down, above goes up, the middle to the even encoding.
TEST(Float, RoundsToNearestTiesToEven) {
  for (DType type : narrowFloats()) {
    if (type == DType::f8e8m0fnu)
      continue;
    for (uint64_t pattern = 0; decode(type, pattern) < largestFinite(type); ++pattern) {
      double low = decode(type, pattern), high = decode(type, pattern + 1), middle = low + (high - low) / 2;
      EXPECT_EQ(encode(type, std::nextafter(middle, 0)), pattern);
      EXPECT_EQ(encode(type, middle), pattern + (pattern & 1)) << name(type) << " " << middle;
      EXPECT_EQ(encode(type, std::nextafter(middle, kInf)), pattern + 1);
    }
  }
}

TEST(Float, LargestFinite) {
  EXPECT_EQ(largestFinite(DType::f4e2m1fn), 6);
  EXPECT_EQ(largestFinite(DType::f6e2m3fn), 7.5);
  EXPECT_EQ(largestFinite(DType::f6e3m2fn), 28);
  EXPECT_EQ(largestFinite(DType::f8e4m3fn), 448);
  EXPECT_EQ(largestFinite(DType::f8e4m3fnuz), 240);
  EXPECT_EQ(largestFinite(DType::f8e5m2), 57344);
  EXPECT_EQ(largestFinite(DType::f8e5m2fnuz), 57344);
  EXPECT_EQ(largestFinite(DType::f8e8m0fnu), 0x1p127);
  EXPECT_EQ(largestFinite(DType::f16), 65504);
  EXPECT_EQ(largestFinite(DType::bf16), 0x1.fep127);
  EXPECT_EQ(largestFinite(DType::f32), std::numeric_limits<float>::max());
  EXPECT_EQ(largestFinite(DType::f64), std::numeric_limits<double>::max());
}

TEST(Float, SmallestSubnormals) {
  EXPECT_EQ(decode(DType::f4e2m1fn, 1), 0.5);
  EXPECT_EQ(decode(DType::f6e2m3fn, 1), 0.125);
  EXPECT_EQ(decode(DType::f6e3m2fn, 1), 0.0625);
  EXPECT_EQ(decode(DType::f8e4m3fn, 1), 0x1p-9);
  EXPECT_EQ(decode(DType::f8e4m3fnuz, 1), 0x1p-10);
  EXPECT_EQ(decode(DType::f8e5m2, 1), 0x1p-16);
  EXPECT_EQ(decode(DType::f8e5m2fnuz, 1), 0x1p-17);
  EXPECT_EQ(decode(DType::f16, 1), 0x1p-24);
  EXPECT_EQ(decode(DType::bf16, 1), 0x1p-133);
  EXPECT_EQ(decode(DType::f32, 1), 0x1p-149);
  EXPECT_EQ(decode(DType::f64, 1), 0x1p-1074);
  EXPECT_EQ(encode(DType::f16, 0x1p-25), 0u) << "a tie with zero goes to zero";
  EXPECT_EQ(encode(DType::f16, 0x1.004p-25), 1u);
  EXPECT_EQ(encode(DType::f32, 0x1p-1074), 0u);
}

TEST(Float, Specials) {
  EXPECT_TRUE(std::isnan(decode(DType::f8e4m3fn, 0x7f)) && std::isnan(decode(DType::f8e4m3fn, 0xff)));
  EXPECT_TRUE(std::isnan(decode(DType::f8e4m3fnuz, 0x80)) && std::isnan(decode(DType::f8e5m2fnuz, 0x80)));
  EXPECT_TRUE(std::isnan(decode(DType::f8e8m0fnu, 0xff)));
  EXPECT_EQ(decode(DType::f8e5m2, 0x7c), kInf);
  EXPECT_EQ(decode(DType::f8e5m2, 0xfc), -kInf);
  EXPECT_EQ(encode(DType::f8e4m3fnuz, -0.0), 0u);
  EXPECT_EQ(encode(DType::f8e4m3fnuz, -0x1p-20), 0u) << "no negative zero, also after rounding";
  EXPECT_EQ(encode(DType::f8e4m3fn, -0.0), 0x80u);
  EXPECT_EQ(encode(DType::f8e4m3fn, kNaN), 0x7fu);
  EXPECT_EQ(encode(DType::f8e5m2fnuz, kNaN), 0x80u);
  EXPECT_EQ(encode(DType::f16, kNaN), 0x7e00u);
  EXPECT_EQ(encode(DType::f4e2m1fn, kNaN), 7u);
  EXPECT_EQ(encode(DType::f64, -kInf), 0xfff0000000000000u);
}

TEST(Float, OverflowToInfinityOrNaN) {
  EXPECT_EQ(encode(DType::f8e4m3fn, 464), 0x7eu) << "a tie with the number that is not there stays";
  EXPECT_EQ(encode(DType::f8e4m3fn, 464.001), 0x7fu);
  EXPECT_EQ(encode(DType::f8e4m3fn, -kInf), 0xffu);
  EXPECT_EQ(encode(DType::f8e4m3fnuz, 247.9), 0x7fu);
  EXPECT_EQ(encode(DType::f8e4m3fnuz, 248), 0x80u);
  EXPECT_EQ(encode(DType::f8e4m3fnuz, -248), 0x80u);
  EXPECT_EQ(encode(DType::f8e5m2, 61440), 0x7cu);
  EXPECT_EQ(encode(DType::f8e5m2, 61439), 0x7bu);
  EXPECT_EQ(encode(DType::f16, 65520), 0x7c00u);
  EXPECT_EQ(encode(DType::f16, -65519.99), 0xfbffu);
  EXPECT_EQ(encode(DType::f4e2m1fn, 1e9), 7u) << "formats with neither infinity nor NaN saturate";
  EXPECT_EQ(encode(DType::f6e2m3fn, -kInf), 0x3fu);
}

TEST(Float, OverflowSaturates) {
  for (DType type : narrowFloats()) {
    EXPECT_EQ(decode(type, encode(type, 0x1p1000, Overflow::saturate)), largestFinite(type));
    EXPECT_EQ(decode(type, encode(type, kInf, Overflow::saturate)), largestFinite(type));
    if (type != DType::f8e8m0fnu)
      EXPECT_EQ(decode(type, encode(type, -kInf, Overflow::saturate)), -largestFinite(type));
    EXPECT_EQ(encode(type, kNaN, Overflow::saturate), encode(type, kNaN)) << "NaN stays NaN";
  }
}

TEST(Float, ScalesArePowersOfTwo) {
  for (uint64_t pattern = 0; pattern < 255; ++pattern)
    EXPECT_EQ(decode(DType::f8e8m0fnu, pattern), std::ldexp(1.0, int(pattern) - 127));
  EXPECT_EQ(encode(DType::f8e8m0fnu, 1.49), 127u);
  EXPECT_EQ(encode(DType::f8e8m0fnu, 1.5), 128u);
  EXPECT_EQ(encode(DType::f8e8m0fnu, 3.0), 129u) << "a tie goes up from every exponent";
  EXPECT_EQ(encode(DType::f8e8m0fnu, 0.0), 0u);
  EXPECT_EQ(encode(DType::f8e8m0fnu, -0.0), 0u);
  EXPECT_EQ(encode(DType::f8e8m0fnu, 0x1p-140), 0u);
  EXPECT_EQ(encode(DType::f8e8m0fnu, 0x1p-1074), 0u);
  EXPECT_EQ(encode(DType::f8e8m0fnu, -1.0), 255u);
  EXPECT_EQ(encode(DType::f8e8m0fnu, 0x1.8p127), 255u);
  EXPECT_EQ(encode(DType::f8e8m0fnu, kInf), 255u);
}

TEST(Float, AgreesWithTheMachineOnF32) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    double value = randomNear(random, -155, 130);
    ASSERT_EQ(encode(DType::f32, value), std::bit_cast<uint32_t>(static_cast<float>(value))) << value;
    uint32_t pattern = static_cast<uint32_t>(random());
    float expected = std::bit_cast<float>(pattern);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(decode(DType::f32, pattern)));
    else
      ASSERT_EQ(decode(DType::f32, pattern), double(expected));
  }
}

#ifdef __FLT16_MANT_DIG__
TEST(Float, AgreesWithTheMachineOnF16) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200'000; ++i) {
    float value = static_cast<float>(randomNear(random, -30, 18));
    ASSERT_EQ(encode(DType::f16, value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
  for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    float expected = static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(pattern)));
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(decode(DType::f16, pattern)));
    else
      EXPECT_EQ(decode(DType::f16, pattern), double(expected));
  }
}
#endif

TEST(Float, F64IsItsOwnEncoding) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100'000; ++i) {
    uint64_t pattern = i % 4 ? random() : random() & 0x800fffffffffffff; // every fourth is subnormal
    if (std::isnan(std::bit_cast<double>(pattern)))
      continue;
    ASSERT_EQ(encode(DType::f64, decode(DType::f64, pattern)), pattern);
  }
}

TEST(Float, FastHelpersAgreeWithTheTable) {
  for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    auto half = static_cast<uint16_t>(pattern);
    double f16 = decode(DType::f16, half), bf16 = decode(DType::bf16, half);
    EXPECT_TRUE(std::isnan(f16) ? std::isnan(halfToFloat(half)) : halfToFloat(half) == f16) << pattern;
    EXPECT_EQ(std::signbit(f16), !std::isnan(f16) && std::signbit(halfToFloat(half)));
    EXPECT_TRUE(std::isnan(bf16) ? std::isnan(bfloatToFloat(half)) : bfloatToFloat(half) == bf16) << pattern;
  }
  std::mt19937_64 random(4);
  for (int i = 0; i < 1'000'000; ++i) {
    float value = static_cast<float>(i % 2 ? randomNear(random, -30, 18) : randomNear(random, -152, 130));
    ASSERT_EQ(floatToHalf(value), encode(DType::f16, value)) << value;
    ASSERT_EQ(floatToBfloat(value), encode(DType::bf16, value)) << value;
  }
  for (double special : {0.0, -0.0, kInf, -kInf, kNaN}) {
    EXPECT_EQ(floatToHalf(static_cast<float>(special)), encode(DType::f16, special));
    EXPECT_EQ(floatToBfloat(static_cast<float>(special)), encode(DType::bf16, special));
  }
}

TEST(Float, DecodeTableHoldsEveryNarrowType) {
  for (DType type : allDTypes()) {
    const float *table = decodeTable(type);
    if (bits(type) > 16) {
      EXPECT_EQ(table, nullptr);
      continue;
    }
    ASSERT_NE(table, nullptr);
    for (uint64_t pattern = 0; pattern < uint64_t(1) << bits(type); ++pattern) {
      double expected = decode(type, pattern);
      EXPECT_TRUE(std::isnan(expected) ? std::isnan(table[pattern]) : table[pattern] == expected) << name(type);
    }
  }
}

TEST(Float, IntegersTruncateAndWrap) {
  EXPECT_EQ(encode(DType::i8, 3.9), 3u);
  EXPECT_EQ(encode(DType::i8, -3.9), 0xfdu);
  EXPECT_EQ(encode(DType::i8, 128), 0x80u);
  EXPECT_EQ(decode(DType::i8, 0x80), -128);
  EXPECT_EQ(encode(DType::i32, -1), 0xffffffffu);
  EXPECT_EQ(encode(DType::i64, -1), ~uint64_t(0));
  EXPECT_EQ(encode(DType::i64, 0x1p63), uint64_t(1) << 63);
  EXPECT_EQ(encode(DType::i64, 0x1p64), 0u);
  EXPECT_EQ(encode(DType::i32, kNaN), 0u);
  EXPECT_EQ(encode(DType::i32, kInf), 0u);
  EXPECT_EQ(decode(DType::i4, 0xf), -1);
  EXPECT_EQ(decode(DType::i1, 1), 1);
  EXPECT_EQ(decode(DType::index, ~uint64_t(0)), -1);
  for (int value = -128; value < 128; ++value)
    EXPECT_EQ(decode(DType::i8, encode(DType::i8, value)), value);
}

TEST(Float, EpsilonAndRoundTo) {
  EXPECT_EQ(epsilon(DType::f16), 0x1p-10);
  EXPECT_EQ(epsilon(DType::f64), std::numeric_limits<double>::epsilon());
  for (DType type : {DType::f8e4m3fn, DType::f16, DType::bf16, DType::f32})
    EXPECT_EQ(decode(type, encode(type, 1) + 1), 1 + epsilon(type));
  EXPECT_EQ(roundTo(DType::bf16, 1.00390625), 1);
  EXPECT_EQ(roundTo(DType::f32, 0.1), double(0.1f));
}
