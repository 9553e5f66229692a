//===- ArithTest.cpp - Arithmetic against independent expectations --------===//
#include "soliton/emulator/TestSupport.h"
#include "soliton/support/Float.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace soliton;
using namespace soliton::emu;

namespace {

uint64_t maskOf(int width) {
  return width == 64 ? ~0ull : (1ull << width) - 1;
}

__int128 signedOf(uint64_t bits, int width) {
  __int128 value = bits & maskOf(width);
  return value >> (width - 1) & 1 ? value - (static_cast<__int128>(1) << width) : value;
}

__int128 floorDiv(__int128 a, __int128 b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

/// The operation in unbounded integers; nothing where it is undefined.
std::optional<__int128> expected(BinaryOp op, uint64_t a, uint64_t b, int width) {
  __int128 x = signedOf(a, width), y = signedOf(b, width), p = a & maskOf(width), q = b & maskOf(width);
  switch (op) {
  case BinaryOp::AddI:
    return x + y;
  case BinaryOp::SubI:
    return x - y;
  case BinaryOp::MulI:
    return width == 64 ? static_cast<__int128>(a * b) : x * y;
  case BinaryOp::MulHiS:
    return width == 64 ? std::optional<__int128>() : (x * y) >> width;
  case BinaryOp::MulHiU:
    return width == 64 ? std::optional<__int128>() : (p * q) >> width;
  case BinaryOp::DivS:
    return y == 0 ? 0 : x / y;
  case BinaryOp::DivU:
    return q == 0 ? 0 : p / q;
  case BinaryOp::RemS:
    return y == 0 ? 0 : x % y;
  case BinaryOp::RemU:
    return q == 0 ? 0 : p % q;
  case BinaryOp::FloorDivS:
    return y == 0 ? 0 : floorDiv(x, y);
  case BinaryOp::CeilDivS:
    return y == 0 ? 0 : -floorDiv(-x, y);
  case BinaryOp::CeilDivU:
    return q == 0 ? 0 : (p + q - 1) / q;
  case BinaryOp::And:
    return p & q;
  case BinaryOp::Or:
    return p | q;
  case BinaryOp::Xor:
    return p ^ q;
  case BinaryOp::Shl:
    return q >= width ? 0 : p << q;
  case BinaryOp::ShrS:
    return x >> (q >= width ? width - 1 : static_cast<int>(q));
  case BinaryOp::ShrU:
    return q >= width ? 0 : p >> q;
  case BinaryOp::MinS:
    return std::min(x, y);
  case BinaryOp::MaxS:
    return std::max(x, y);
  case BinaryOp::MinU:
    return std::min(p, q);
  case BinaryOp::MaxU:
    return std::max(p, q);
  default:
    return {};
  }
}

TEST(Arith, IntegersOfEveryWidth) {
  for (DType type : {DType::i8, DType::i16, DType::i32, DType::i64}) {
    int width = bits(type);
    std::vector<uint64_t> values{
        0, 1, 2, 3, 5, 7, 100, maskOf(width), maskOf(width) - 6, maskOf(width) >> 1, (maskOf(width) >> 1) + 1};
    for (int op = 0; op <= int(BinaryOp::MaxU); ++op)
      for (size_t shift = 0; shift < values.size(); ++shift) {
        std::vector<uint64_t> rotated;
        for (size_t i = 0; i < values.size(); ++i)
          rotated.push_back(values[(i + shift) % values.size()]);
        auto kind = static_cast<BinaryOp>(op);
        Lanes lanes = evaluate([&](Builder &b, Value lane) {
          return b.binary(kind, table(b, lane, type, values), table(b, lane, type, rotated));
        });
        for (size_t l = 0; l < 64; ++l) {
          uint64_t x = values[l % values.size()], y = rotated[l % values.size()];
          if (std::optional<__int128> e = expected(kind, x, y, width)) {
            ASSERT_EQ(lanes[l][0], static_cast<uint64_t>(*e) & maskOf(width))
                << name(kind) << " " << soliton::name(type) << " " << x << ", " << y;
          }
        }
      }
  }
}

TEST(Arith, MulHi64) {
  Lanes lanes = evaluate([](Builder &b, Value lane) {
    Value x = table(b, lane, DType::i64, {0xfedcba9876543210ull, 3});
    return b.concat({b.binary(BinaryOp::MulHiU, x, x), b.binary(BinaryOp::MulHiS, x, x)});
  });
  EXPECT_EQ(lanes[0], (std::vector<uint64_t>{0xfdbac097c8dc5accull, 0x00014b66dc33f6acull}));
  EXPECT_EQ(lanes[1], (std::vector<uint64_t>{0, 0}));
}

uint64_t f32(float x) {
  return std::bit_cast<uint32_t>(x);
}

TEST(Arith, FloatMinMaxAndNaN) {
  float nan = std::nanf("");
  Lanes lanes = evaluate([&](Builder &b, Value lane) {
    Value x = table(b, lane, DType::f32, {f32(1), f32(nan), f32(2), f32(-0.0f)});
    Value y = table(b, lane, DType::f32, {f32(3), f32(4), f32(nan), f32(0.0f)});
    return b.concat({b.binary(BinaryOp::MinimumF, x, y), b.binary(BinaryOp::MaximumF, x, y),
                     b.binary(BinaryOp::MinNumF, x, y), b.binary(BinaryOp::MaxNumF, x, y)});
  });
  EXPECT_EQ(lanes[0], (std::vector<uint64_t>{f32(1), f32(3), f32(1), f32(3)}));
  for (int l : {1, 2})
    for (int e : {0, 1})
      EXPECT_TRUE(std::isnan(std::bit_cast<float>(uint32_t(lanes[size_t(l)][size_t(e)]))));
  EXPECT_EQ(lanes[1][2], f32(4));
  EXPECT_EQ(lanes[2][3], f32(2));
  EXPECT_EQ(lanes[3], (std::vector<uint64_t>{f32(-0.0f), f32(0.0f), f32(-0.0f), f32(0.0f)}));
}

TEST(Arith, SmallFloatsRoundOnce) {
  for (DType type : {DType::f16, DType::bf16, DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz}) {
    std::vector<uint64_t> x, y;
    for (int i = 0; i < 32; ++i) {
      x.push_back(encode(type, 0.3 * i - 2));
      y.push_back(encode(type, 1.7 - 0.11 * i));
    }
    Lanes lanes = evaluate([&](Builder &b, Value lane) {
      Value a = table(b, lane, type, x), c = table(b, lane, type, y);
      return b.concat({b.binary(BinaryOp::AddF, a, c), b.binary(BinaryOp::MulF, a, c), b.binary(BinaryOp::DivF, a, c),
                       b.fma(a, a, c)});
    });
    for (size_t l = 0; l < 32; ++l) {
      double a = decode(type, x[l]), c = decode(type, y[l]);
      EXPECT_EQ(lanes[l][0], encode(type, a + c)) << soliton::name(type) << l;
      EXPECT_EQ(lanes[l][1], encode(type, a * c)) << soliton::name(type) << l;
      if (c != 0)
        EXPECT_EQ(lanes[l][2], encode(type, a / c)) << soliton::name(type) << l;
      EXPECT_EQ(lanes[l][3], encode(type, a * a + c)) << soliton::name(type) << l;
    }
  }
}

TEST(Arith, FmaRoundsOnceInF32) {
  float x = 1 + std::ldexp(1.0f, -12);
  Lanes lanes = evaluate([&](Builder &b, Value lane) {
    Value a = table(b, lane, DType::f32, {f32(x)});
    return b.concat({b.fma(a, a, b.splat(b.constantFloat(DType::f32, -1), 1)), b.binary(BinaryOp::MulF, a, a)});
  });
  EXPECT_EQ(lanes[0][0], f32(static_cast<float>(double(x) * x - 1)));
  EXPECT_NE(f32(std::bit_cast<float>(uint32_t(lanes[0][1])) - 1), lanes[0][0]);
}

TEST(Arith, MathFunctions) {
  struct Case {
    UnaryOp op;
    double (*f)(double);
  };
  std::vector<Case> cases{{UnaryOp::Exp, std::exp},
                          {UnaryOp::Exp2, std::exp2},
                          {UnaryOp::ExpM1, std::expm1},
                          {UnaryOp::Log, std::log},
                          {UnaryOp::Log2, std::log2},
                          {UnaryOp::Log10, std::log10},
                          {UnaryOp::Log1P, std::log1p},
                          {UnaryOp::Sqrt, std::sqrt},
                          {UnaryOp::Sin, std::sin},
                          {UnaryOp::Cos, std::cos},
                          {UnaryOp::Tan, std::tan},
                          {UnaryOp::Tanh, std::tanh},
                          {UnaryOp::Erf, std::erf},
                          {UnaryOp::Floor, std::floor},
                          {UnaryOp::Ceil, std::ceil},
                          {UnaryOp::Round, std::round},
                          {UnaryOp::TruncF, std::trunc},
                          {UnaryOp::AbsF, std::fabs},
                          {UnaryOp::Cbrt, std::cbrt},
                          {UnaryOp::Sinh, std::sinh},
                          {UnaryOp::Cosh, std::cosh},
                          {UnaryOp::Atan, std::atan},
                          {UnaryOp::RoundEven, std::nearbyint}};
  std::vector<uint64_t> inputs{f32(0.3f), f32(1.0f), f32(2.5f), f32(0.5f), f32(3.5f)};
  for (const Case &c : cases) {
    Lanes lanes = evaluate([&](Builder &b, Value lane) { return b.unary(c.op, table(b, lane, DType::f32, inputs)); });
    for (size_t l = 0; l < inputs.size(); ++l) {
      double want = c.f(std::bit_cast<float>(uint32_t(inputs[l])));
      float got = std::bit_cast<float>(uint32_t(lanes[l][0]));
      EXPECT_LE(std::fabs(got - want), std::fabs(want) * 3e-7) << name(c.op) << l;
    }
  }
  Lanes lanes = evaluate([&](Builder &b, Value lane) {
    Value x = table(b, lane, DType::f64, {std::bit_cast<uint64_t>(4.0)});
    return b.concat({b.unary(UnaryOp::Rsqrt, x), b.unary(UnaryOp::Rcp, x), b.unary(UnaryOp::NegF, x),
                     b.binary(BinaryOp::PowF, x, x), b.binary(BinaryOp::Atan2, x, x)});
  });
  std::vector<double> want{0.5, 0.25, -4, 256, std::atan2(4.0, 4.0)};
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(std::bit_cast<double>(lanes[0][i]), want[i]);
}

TEST(Arith, IntegerUnary) {
  Lanes lanes = evaluate([&](Builder &b, Value lane) {
    Value x = table(b, lane, DType::i16, {0x00f0, 0x8000, 0});
    return b.concat({b.unary(UnaryOp::NegI, x), b.unary(UnaryOp::AbsI, x), b.unary(UnaryOp::Not, x),
                     b.unary(UnaryOp::CountLeadingZeros, x), b.unary(UnaryOp::CountTrailingZeros, x),
                     b.unary(UnaryOp::PopCount, x)});
  });
  EXPECT_EQ(lanes[0], (std::vector<uint64_t>{0xff10, 0x00f0, 0xff0f, 8, 4, 4}));
  EXPECT_EQ(lanes[1], (std::vector<uint64_t>{0x8000, 0x8000, 0x7fff, 0, 15, 1}));
  EXPECT_EQ(lanes[2], (std::vector<uint64_t>{0, 0, 0xffff, 16, 16, 0}));
}

TEST(Arith, Comparisons) {
  auto truth = [](CmpOp op, DType type, uint64_t x, uint64_t y) {
    return evaluate(
        [&](Builder &b, Value lane) { return b.cmp(op, table(b, lane, type, {x}), b.constantBits(type, {y})); })[0][0];
  };
  for (DType type : {DType::i8, DType::i32, DType::i64}) {
    uint64_t minusOne = maskOf(bits(type));
    EXPECT_EQ(truth(CmpOp::Slt, type, minusOne, 1), 1u);
    EXPECT_EQ(truth(CmpOp::Ult, type, minusOne, 1), 0u);
    EXPECT_EQ(truth(CmpOp::Sge, type, 1, minusOne), 1u);
    EXPECT_EQ(truth(CmpOp::Ugt, type, minusOne, 1), 1u);
    EXPECT_EQ(truth(CmpOp::Eq, type, 5, 5), 1u);
    EXPECT_EQ(truth(CmpOp::Ne, type, 5, 5), 0u);
  }
  for (DType type : {DType::f16, DType::f32, DType::f64}) {
    uint64_t one = encode(type, 1), two = encode(type, 2), nan = encode(type, std::nan(""));
    struct Row {
      CmpOp op;
      bool less, equal, unordered;
    };
    for (Row row :
         {Row{CmpOp::Oeq, false, true, false}, Row{CmpOp::Olt, true, false, false}, Row{CmpOp::Ole, true, true, false},
          Row{CmpOp::Ogt, false, false, false}, Row{CmpOp::Oge, false, true, false},
          Row{CmpOp::One, true, false, false}, Row{CmpOp::Ord, true, true, false}, Row{CmpOp::Ueq, false, true, true},
          Row{CmpOp::UltF, true, false, true}, Row{CmpOp::UleF, true, true, true}, Row{CmpOp::UgtF, false, false, true},
          Row{CmpOp::UgeF, false, true, true}, Row{CmpOp::Une, true, false, true}, Row{CmpOp::Uno, false, false, true},
          Row{CmpOp::True, true, true, true}, Row{CmpOp::False, false, false, false}}) {
      EXPECT_EQ(truth(row.op, type, one, two), row.less) << name(row.op);
      EXPECT_EQ(truth(row.op, type, two, two), row.equal) << name(row.op);
      EXPECT_EQ(truth(row.op, type, nan, two), row.unordered) << name(row.op);
    }
  }
}

TEST(Convert, IntegersAndFloats) {
  Lanes lanes = evaluate([](Builder &b, Value lane) {
    Value x = table(b, lane, DType::i8, {0x80, 0x7f});
    return b.concat({b.convert(ConvertOp::ExtS, DType::i64, x), b.convert(ConvertOp::ExtU, DType::i64, x),
                     b.bitcast(DType::i64, b.convert(ConvertOp::SToF, DType::f64, x)),
                     b.bitcast(DType::i64, b.convert(ConvertOp::UToF, DType::f64, x))});
  });
  EXPECT_EQ(lanes[0], (std::vector<uint64_t>{0xffffffffffffff80ull, 0x80, std::bit_cast<uint64_t>(-128.0),
                                             std::bit_cast<uint64_t>(128.0)}));
  lanes = evaluate([](Builder &b, Value lane) {
    Value x = table(b, lane, DType::f32, {f32(-1.9f), f32(1e20f), f32(std::nanf("")), f32(-1e20f)});
    return b.concat({b.convert(ConvertOp::FToS, DType::i16, x), b.convert(ConvertOp::FToU, DType::i16, x)});
  });
  EXPECT_EQ(lanes[0], (std::vector<uint64_t>{0xffff, 0}));
  EXPECT_EQ(lanes[1], (std::vector<uint64_t>{0x7fff, 0xffff}));
  EXPECT_EQ(lanes[2], (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(lanes[3], (std::vector<uint64_t>{0x8000, 0}));
}

TEST(Convert, EveryHalfBothWays) {
  for (uint32_t start = 0; start < 65536; start += 64 * 64) {
    Lanes lanes = evaluate([&](Builder &b, Value lane) {
      std::vector<uint64_t> offsets;
      for (uint32_t e = 0; e < 64; ++e)
        offsets.push_back(start + e * 64);
      Value word = b.add(b.constantBits(DType::i32, offsets), b.splat(lane, 64));
      Value half = b.bitcast(DType::f16, b.convert(ConvertOp::TruncI, DType::i16, word));
      Value wide = b.convert(ConvertOp::FToF, DType::f32, half);
      return b.concat({b.bitcast(DType::i32, wide),
                       b.convert(ConvertOp::ExtU, DType::i32,
                                 b.bitcast(DType::i16, b.convert(ConvertOp::FToF, DType::f16, wide)))});
    });
    for (uint32_t l = 0; l < 64; ++l)
      for (uint32_t e = 0; e < 64; ++e) {
        uint64_t bits = start + e * 64 + l;
        double want = decode(DType::f16, bits);
        float got = std::bit_cast<float>(uint32_t(lanes[l][e]));
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(got) && std::isnan(decode(DType::f16, lanes[l][64 + e])));
        } else {
          ASSERT_EQ(std::bit_cast<uint64_t>(double(got)), std::bit_cast<uint64_t>(want)) << bits;
          ASSERT_EQ(lanes[l][64 + e], bits);
        }
      }
  }
}

TEST(Convert, FloatsRoundAsFloatH) {
  std::vector<uint64_t> inputs;
  uint32_t seed = 12345;
  for (int i = 0; i < 64; ++i) {
    seed = seed * 1664525 + 1013904223;
    inputs.push_back(f32(std::ldexp(1.0f + (seed >> 9) * std::ldexp(1.0f, -23), int(seed % 40) - 26)));
  }
  for (DType type : {DType::f16, DType::bf16, DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz}) {
    for (bool saturate : {false, true}) {
      Lanes lanes = evaluate([&](Builder &b, Value lane) {
        return b.convert(ConvertOp::FToF, type, table(b, lane, DType::f32, inputs), Rounding::NearestEven, saturate);
      });
      for (size_t l = 0; l < 64; ++l)
        EXPECT_EQ(lanes[l][0], encode(type, std::bit_cast<float>(uint32_t(inputs[l])),
                                      saturate ? Overflow::saturate : Overflow::toNaN))
            << soliton::name(type) << " " << std::bit_cast<float>(uint32_t(inputs[l]));
    }
  }
}

TEST(Convert, DirectedRounding) {
  // 1.3 lies between the f8e4m3 neighbours 1.25 and 1.375.
  auto rounded = [](double value, Rounding rounding) {
    Lanes lanes = evaluate([&](Builder &b, Value lane) {
      return b.convert(ConvertOp::FToF, DType::f8e4m3fn, table(b, lane, DType::f32, {f32(float(value))}), rounding,
                       true);
    });
    return decode(DType::f8e4m3fn, lanes[0][0]);
  };
  EXPECT_EQ(rounded(1.3, Rounding::NearestEven), 1.25);
  EXPECT_EQ(rounded(1.3, Rounding::Up), 1.375);
  EXPECT_EQ(rounded(1.3, Rounding::Down), 1.25);
  EXPECT_EQ(rounded(1.36, Rounding::TowardZero), 1.25);
  EXPECT_EQ(rounded(-1.3, Rounding::Up), -1.25);
  EXPECT_EQ(rounded(-1.3, Rounding::Down), -1.375);
  EXPECT_EQ(rounded(1000, Rounding::TowardZero), 448);
  EXPECT_EQ(rounded(1e-9, Rounding::Up), std::ldexp(1.0, -9));
  EXPECT_EQ(rounded(1e-9, Rounding::Down), 0);
}

TEST(Vector, BitcastSliceInsertConcatPermute) {
  Lanes lanes = evaluate([](Builder &b, Value lane) {
    Value words = table(b, lane, DType::i32, {0x44332211, 0x88776655});
    Value bytes = b.bitcast(DType::i8, b.concat({words, b.splat(b.constant(DType::i32, 0x0d0c0b0a), 1)}));
    Value halves = b.bitcast(DType::i16, bytes);
    Value wide = b.bitcast(DType::i64, halves);
    Value reversed = b.permute(halves, b.constant(DType::i16, 7), {4, 3, 2, 1, 0});
    Value inserted = b.insert(b.slice(halves, 0, 2), reversed, 3);
    return b.concat(
        {b.convert(ConvertOp::ExtU, DType::i64, bytes), wide, b.convert(ConvertOp::ExtU, DType::i64, inserted)});
  });
  EXPECT_EQ(lanes[0], (std::vector<uint64_t>{0x11, 0x22, 0x33, 0x44, 0x0a, 0x0b, 0x0c, 0x0d, 0x0d0c0b0a44332211ull, 7,
                                             0x0d0c, 0x0b0a, 0x2211, 0x4433}));
  EXPECT_EQ(lanes[1][8], 0x0d0c0b0a88776655ull);
  lanes = evaluate([](Builder &b, Value lane) { // 16 elements of 6 bits are 3 words.
    Value six = b.bitcast(DType::f6e2m3fn, b.concat({table(b, lane, DType::i32, {0x7fffffff, 1}),
                                                     b.constant(DType::i32, 0x12345678), b.constant(DType::i32, 0)}));
    return b.concat({b.bitcast(DType::i32, six),
                     b.bitcast(DType::i32, b.concat({b.slice(six, 5, 1),
                                                     b.constantBits(DType::f6e2m3fn, std::vector<uint64_t>(15, 0))}))});
  });
  EXPECT_EQ(lanes[0], (std::vector<uint64_t>{0x7fffffff, 0x12345678, 0, (0x7fffffffu >> 30 & 3) | (0x8 << 2), 0, 0}));
}

} // namespace
