#include "soliton/support/DType.h"

#include <array>

namespace soliton {
namespace {
struct Row {
  DType type;
  std::string_view name;
  int bits;
  bool isFloat;
};

constexpr std::array kRows = {
    Row{DType::i1, "i1", 1, false},
    Row{DType::i4, "i4", 4, false},
    Row{DType::i8, "i8", 8, false},
    Row{DType::i16, "i16", 16, false},
    Row{DType::i32, "i32", 32, false},
    Row{DType::i64, "i64", 64, false},
    Row{DType::index, "index", 64, false},
    Row{DType::f4e2m1fn, "f4e2m1fn", 4, true},
    Row{DType::f6e2m3fn, "f6e2m3fn", 6, true},
    Row{DType::f6e3m2fn, "f6e3m2fn", 6, true},
    Row{DType::f8e4m3fn, "f8e4m3fn", 8, true},
    Row{DType::f8e4m3fnuz, "f8e4m3fnuz", 8, true},
    Row{DType::f8e5m2, "f8e5m2", 8, true},
    Row{DType::f8e5m2fnuz, "f8e5m2fnuz", 8, true},
    Row{DType::f8e8m0fnu, "f8e8m0fnu", 8, true},
    Row{DType::f16, "f16", 16, true},
    Row{DType::bf16, "bf16", 16, true},
    Row{DType::f32, "f32", 32, true},
    Row{DType::f64, "f64", 64, true},
};

const Row &row(DType type) {
  return kRows[static_cast<size_t>(type)];
}
} // namespace

const std::vector<DType> &allDTypes() {
  static const std::vector<DType> types = [] {
    std::vector<DType> result;
    for (const Row &r : kRows)
      result.push_back(r.type);
    return result;
  }();
  return types;
}

std::string_view name(DType type) {
  return row(type).name;
}

std::optional<DType> parseDType(std::string_view text) {
  for (const Row &r : kRows)
    if (r.name == text)
      return r.type;
  return std::nullopt;
}

int bits(DType type) {
  return row(type).bits;
}
bool isFloat(DType type) {
  return row(type).isFloat;
}

} // namespace soliton
