//===- ArrayFuzz.cpp - Files of arrays from anywhere ----------------------------------===//
//
// Whatever the bytes: an array that prints and reads back as it was, or a CompileError.
//
//   SolitonArrayFuzzer -runs=1000000
//
//===----------------------------------------------------------------------===//
#include "soliton/runtime/ArrayFile.h"

#include "soliton/support/Diagnostics.h"

#include <cstring>

using namespace soliton;
using namespace soliton::rt;

/// A right file with some bytes replaced: the input is a list of places and values.
static std::vector<std::byte> damagedSample(const uint8_t *data, size_t size) {
  const std::vector<int64_t> shape{2, 3, 2};
  std::vector<std::byte> file = printNpy(DType::i16, shape, std::vector<std::byte>(24));
  for (size_t i = 0; i + 1 < size; i += 2)
    file[data[i] % file.size()] = static_cast<std::byte>(data[i + 1]);
  return file;
}

/// A third is read as it is, a third is a header's text with all around it made right, a third is damage to a right
/// file.
static std::vector<std::byte> asFile(const uint8_t *data, size_t size) {
  const auto *bytes = reinterpret_cast<const std::byte *>(data);
  if (size == 0 || size % 3 == 0)
    return {bytes, bytes + size};
  if (size % 3 == 1)
    return damagedSample(data, size);
  size_t header = std::min<size_t>(size - 1, data[0]);
  std::string start = "\x93NUMPY";
  start += {'\x01', '\x00', static_cast<char>(header), '\x00'};
  std::vector<std::byte> file(start.size() + size - 1);
  std::memcpy(file.data(), start.data(), start.size());
  std::memcpy(file.data() + start.size(), data + 1, size - 1);
  return file;
}

static DType typeOf(const ArrayFile &array) {
  switch (array.width) {
  case 1:
    return array.kind == 'b' ? DType::i1 : array.kind == 'V' ? DType::f8e4m3fn : DType::i8;
  case 2:
    return array.kind == 'f' ? DType::f16 : array.kind == 'V' ? DType::bf16 : DType::i16;
  case 4:
    return array.kind == 'f' ? DType::f32 : DType::i32;
  default:
    return array.kind == 'f' ? DType::f64 : DType::i64;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    ArrayFile array = parseNpy(asFile(data, size), "fuzz.npy");
    DType type = typeOf(array);
    std::vector<std::byte> bytes = bytesFor(array, type, array.shape, "fuzz.npy");
    ArrayFile again = parseNpy(printNpy(type, array.shape, bytes), "again.npy");
    if (again.bytes != bytes || again.shape != array.shape)
      __builtin_trap();
  } catch (const CompileError &) {
    // Refused with a diagnostic: what is asked for.
  }
  return 0;
}
