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

size_t bytesNeeded(DType type, size_t elements) {
  return (elements * bits(type) + 7) / 8;
}

/// The bits of element `at`.
static uint64_t readBits(DType type, const Bytes &bytes, size_t at) {
  size_t width = bits(type);
  uint64_t result = 0;
  if (width % 8 == 0) {
    std::memcpy(&result, bytes.data() + at * (width / 8), width / 8);
    return result;
  }
  for (size_t i = 0; i < width; ++i) {
    size_t bit = at * width + i;
    result |= uint64_t(bytes[bit / 8] >> (bit % 8) & 1) << i;
  }
  return result;
}

static void writeBits(DType type, Bytes &bytes, size_t at, uint64_t value) {
  size_t width = bits(type);
  if (width % 8 == 0) {
    std::memcpy(bytes.data() + at * (width / 8), &value, width / 8);
    return;
  }
  for (size_t i = 0; i < width; ++i) {
    size_t bit = at * width + i;
    auto mask = static_cast<uint8_t>(1u << (bit % 8));
    bytes[bit / 8] = static_cast<uint8_t>((bytes[bit / 8] & ~mask) | ((value >> i & 1) ? mask : 0));
  }
}

double decodeFloat(DType type, const Bytes &bytes, size_t at) {
  uint64_t raw = readBits(type, bytes, at);
  if (const float *table = decodeTable(type))
    return table[raw];
  return decode(type, raw);
}

int64_t decodeInteger(DType type, const Bytes &bytes, size_t at) {
  return wrap(type, static_cast<int64_t>(readBits(type, bytes, at)));
}

Memory::Memory(DType type, std::vector<int64_t> extents, Bytes bytes)
    : elementType(type), sizes(std::move(extents)), encoded(std::move(bytes)) {
  size_t count = countOf(sizes);
  if (isFloat(type)) {
    std::vector<double> numbers(count);
    for (size_t i = 0; i < count; ++i)
      numbers[i] = decodeFloat(type, encoded, i);
    values = std::move(numbers);
  } else {
    std::vector<int64_t> numbers(count);
    for (size_t i = 0; i < count; ++i)
      numbers[i] = decodeInteger(type, encoded, i);
    values = std::move(numbers);
  }
}

Memory::Memory(DType type, std::vector<int64_t> extents)
    : elementType(type), sizes(std::move(extents)), written(countOf(sizes), false) {
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
    writeBits(elementType, encoded, at, encode(elementType, value));
}

void Memory::store(size_t at, int64_t value) {
  std::get<std::vector<int64_t>>(values)[at] = value;
  if (!written.empty())
    written[at] = true;
  else
    writeBits(elementType, encoded, at, static_cast<uint64_t>(value));
}

} // namespace soliton::interp
