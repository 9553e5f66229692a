//===- Memory.cpp - Encoded elements ------------------------------------------===//

#include "soliton/interpreter/Memory.h"

#include "soliton/interpreter/Numbers.h"
#include "soliton/support/Float.h"

#include <cstring>

namespace soliton::interp {

size_t countOf(const std::vector<int64_t> &extents) {
  size_t count = 1;
  for (int64_t extent : extents)
    count *= static_cast<size_t>(extent);
  return count;
}

Packing::Packing(DType type, const std::vector<int64_t> &extents)
    : isBoolean(type == DType::i1), width(isBoolean ? 8 : static_cast<size_t>(bits(type))) {
  for (size_t d = 0; d + 1 < extents.size(); ++d)
    rows *= static_cast<size_t>(extents[d]);
  columns = extents.empty() ? 1 : static_cast<size_t>(extents.back());
  rowBytes = (columns * width + 7) / 8;
}

uint64_t Packing::load(const Bytes &from, size_t at) const {
  size_t first = firstBit(at);
  uint64_t result = 0;
  if (width % 8 == 0) {
    std::memcpy(&result, from.data() + first / 8, width / 8);
    return isBoolean ? result != 0 : result;
  }
  for (size_t i = 0; i < width; ++i)
    result |= uint64_t(from[(first + i) / 8] >> ((first + i) % 8) & 1) << i;
  return result;
}

void Packing::store(Bytes &to, size_t at, uint64_t value) const {
  size_t first = firstBit(at);
  if (width % 8 == 0) {
    std::memcpy(to.data() + first / 8, &value, width / 8);
    return;
  }
  for (size_t i = 0; i < width; ++i) {
    auto mask = static_cast<uint8_t>(1u << ((first + i) % 8));
    uint8_t &byte = to[(first + i) / 8];
    byte = static_cast<uint8_t>((byte & ~mask) | ((value >> i & 1) ? mask : 0));
  }
}

double decodeFloat(DType type, uint64_t raw) {
  if (const float *table = decodeTable(type))
    return table[raw];
  return decode(type, raw);
}

int64_t decodeInteger(DType type, uint64_t raw) {
  return wrap(type, static_cast<int64_t>(raw));
}

Memory::Memory(DType type, std::vector<int64_t> extents, Bytes bytes)
    : elementType(type), sizes(std::move(extents)), packing(type, sizes), encoded(std::move(bytes)) {
  size_t count = countOf(sizes);
  if (isFloat(type)) {
    std::vector<double> numbers(count);
    for (size_t i = 0; i < count; ++i)
      numbers[i] = decodeFloat(type, packing.load(encoded, i));
    values = std::move(numbers);
  } else {
    std::vector<int64_t> numbers(count);
    for (size_t i = 0; i < count; ++i)
      numbers[i] = decodeInteger(type, packing.load(encoded, i));
    values = std::move(numbers);
  }
}

Memory::Memory(DType type, std::vector<int64_t> extents)
    : elementType(type), sizes(std::move(extents)), written(countOf(sizes), false), packing(type, sizes) {
  if (isFloat(type))
    values = std::vector<double>(written.size());
  else
    values = std::vector<int64_t>(written.size());
}

void Memory::store(size_t at, double value) {
  std::get<std::vector<double>>(values)[at] = value;
  if (!written.empty())
    written[at] = true;
  else
    packing.store(encoded, at, encode(elementType, value));
}

void Memory::store(size_t at, int64_t value) {
  std::get<std::vector<int64_t>>(values)[at] = value;
  if (!written.empty())
    written[at] = true;
  else
    packing.store(encoded, at, static_cast<uint64_t>(value));
}

} // namespace soliton::interp
