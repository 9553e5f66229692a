#include "soliton/runtime/HostTensor.h"

#include "soliton/runtime/TestSupport.h"

#include <cmath>

namespace soliton {
namespace {

TEST(HostTypes, RoundAsTheirFormatDoes) {
  EXPECT_EQ(sizeof(half), 2u);
  EXPECT_EQ(sizeof(float8_e5m2), 1u);
  half x = 0.1f;
  EXPECT_EQ(x, 0.0999755859375f);
  EXPECT_EQ(bfloat16(1.00390625f).toBits(), 0x3f80);
  EXPECT_EQ(float8_e4m3fn(449.0f), 448.0f);
  EXPECT_TRUE(std::isinf(half(70000.0f)));
  EXPECT_EQ(half::fromBits(0x3c00), 1.0f);
  EXPECT_EQ(x + x, 2 * 0.0999755859375f);
}

TEST(HostTypes, EveryBitPatternSurvives) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    half x = half::fromBits(static_cast<uint16_t>(bits));
    if (!std::isnan(static_cast<float>(x))) {
      EXPECT_EQ(half(static_cast<float>(x)).toBits(), bits);
    }
  }
}

TEST(HostTensor, ElementsByPlace) {
  Tensor<half> a({2, 3}, [](int64_t i, int64_t j) { return 10 * i + j; });
  EXPECT_EQ(a.size(), 6u);
  EXPECT_EQ(a(1, 2), 12.0f);
  a(0, 1) = 7;
  EXPECT_EQ(a.data()[1], 7.0f);
  Tensor<int64_t> b({2, 1, 2, 2}, [](int64_t i, int64_t, int64_t k, int64_t l) { return i * 4 + k * 2 + l; });
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(b.data()[i], i);
  EXPECT_EQ(Tensor<float>({0, 5}).size(), 0u);
}

TEST(HostTensor, ViewsSayWhatTheyAre) {
  Tensor<bfloat16> a({4, 5});
  EXPECT_EQ(a.view().toString(), "bf16[4, 5] on host");
  EXPECT_FALSE(a.view().readOnly);
  EXPECT_TRUE(std::as_const(a).view().readOnly);
  EXPECT_EQ(a.view().data, a.data());
}

TEST(HostTensor, MistakesAreSaid) {
  Tensor<float> a({2, 3});
  EXPECT_THROW(a(2, 0), std::out_of_range);
  EXPECT_THROW(a(0, -1), std::out_of_range);
  EXPECT_THROW(a(0), std::out_of_range);
  EXPECT_THROW(Tensor<float>({2}, [](int64_t, int64_t) { return 0; }), std::out_of_range);
  rt::expectError([] { Tensor<float>({-1}); }, DiagId::ArgumentSize, "shape [-1]");
  rt::expectError([] { Tensor<float>({1 << 30, 1 << 30}); }, DiagId::ArgumentSize, "memory holds");
}

} // namespace
} // namespace soliton
