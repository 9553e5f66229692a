#include "soliton/runtime/Strided.h"

#include "soliton/runtime/TestSupport.h"

namespace soliton::rt {
namespace {

constexpr std::byte kGap{0xee};

std::vector<std::byte> bytesOf(const std::vector<int16_t> &values) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

TEST(Strided, ElementsGoToTheirPlacesAndBack) {
  Tensor view = Tensor::strided(nullptr, DType::i16, {2, 3}, {4, 1});
  std::vector<std::byte> dense = bytesOf({1, 2, 3, 4, 5, 6});
  std::vector<std::byte> placed = spread(view, dense, kGap);
  EXPECT_EQ(placed, bytesOf({1, 2, 3, static_cast<int16_t>(0xeeee), 4, 5, 6}));
  EXPECT_EQ(gather(view, placed), dense);
}

TEST(Strided, ColumnsMayComeFirst) {
  Tensor view = Tensor::strided(nullptr, DType::i16, {2, 3}, {1, 2});
  EXPECT_EQ(spread(view, bytesOf({1, 2, 3, 4, 5, 6}), kGap), bytesOf({1, 4, 2, 5, 3, 6}));
}

TEST(Strided, OfElementsThatShareAPlaceTheLastOneStays) {
  Tensor view = Tensor::strided(nullptr, DType::i16, {2, 3}, {0, 1});
  std::vector<std::byte> placed = spread(view, bytesOf({1, 2, 3, 4, 5, 6}), kGap);
  EXPECT_EQ(placed, bytesOf({4, 5, 6}));
  EXPECT_EQ(gather(view, placed), bytesOf({4, 5, 6, 4, 5, 6}));
}

TEST(Strided, WhatIsWrittenBetweenElementsIsNoticed) {
  Tensor view = Tensor::strided(nullptr, DType::i16, {2, 3}, {4, 1});
  std::vector<std::byte> placed = spread(view, bytesOf({1, 2, 3, 4, 5, 6}), kGap);
  EXPECT_TRUE(isGapIntact(view, placed, kGap));
  placed[7] = std::byte(0);
  EXPECT_FALSE(isGapIntact(view, placed, kGap));
}

TEST(Strided, AnEmptyViewHasNoBytes) {
  Tensor view = Tensor::strided(nullptr, DType::i16, {2, 0}, {4, 1});
  EXPECT_TRUE(spread(view, {}, kGap).empty());
  EXPECT_TRUE(gather(view, {}).empty());
}

TEST(Strided, AStrideForEachDimension) {
  expectError([] { Tensor::strided(nullptr, DType::i16, {2, 3}, {1}); }, DiagId::ArgumentRank,
              "found 1 strides for a tensor of 2 dimensions");
  EXPECT_EQ(Tensor::strided(nullptr, DType::i16, {2, 3}, {7, 2}).span(), 12);
  EXPECT_EQ(Tensor::strided(nullptr, DType::i16, {2, 3}, {-7, 2}).span(), std::nullopt);
}

} // namespace
} // namespace soliton::rt
