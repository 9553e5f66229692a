#include "soliton/support/DType.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace soliton;

TEST(DType, RowsStandInTheOrderOfTheEnumeration) {
  ASSERT_EQ(allDTypes().size(), size_t(DType::f64) + 1);
  for (size_t i = 0; i < allDTypes().size(); ++i)
    EXPECT_EQ(static_cast<size_t>(allDTypes()[i]), i);
}

TEST(DType, NamesAreUniqueAndParseBack) {
  std::set<std::string_view> names;
  for (DType type : allDTypes()) {
    EXPECT_TRUE(names.insert(name(type)).second) << name(type);
    EXPECT_EQ(parseDType(name(type)), type);
  }
  EXPECT_EQ(parseDType("f8"), std::nullopt);
  EXPECT_EQ(parseDType(""), std::nullopt);
  EXPECT_EQ(parseDType("F16"), std::nullopt);
}

TEST(DType, NameStartsWithKindAndWidth) {
  for (DType type : allDTypes()) {
    if (type == DType::index)
      continue;
    std::string text(name(type));
    std::string prefix = (type == DType::bf16 ? "bf" : isFloat(type) ? "f" : "i") + std::to_string(bits(type));
    EXPECT_EQ(text.substr(0, prefix.size()), prefix);
  }
  EXPECT_EQ(bits(DType::index), 64);
}

TEST(DType, IsEitherFloatOrInteger) {
  for (DType type : allDTypes())
    EXPECT_NE(isFloat(type), isInteger(type));
  EXPECT_TRUE(isInteger(DType::index));
  EXPECT_TRUE(isFloat(DType::f8e8m0fnu));
}
