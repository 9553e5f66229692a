//===- ArrayFile.h - Arrays as files: numpy's .npy, and plain bytes ------------------===//
//
// Versions 1.0 to 3.0 of the format, in row-major and in column-major order, of either byte order; read as bytes in
// row-major order, little end first, which is how a kernel takes them. Nothing but numbers is read.
//
//   ArrayFile file = readNpy("a.npy");                      // <f2, (256, 64)
//   std::vector<std::byte> bytes = bytesFor(file, DType::f16, {{256, 64}}, "a.npy");
//   writeNpy("c.npy", DType::f32, {{256, 256}}, result);
//
// What numpy has no type for comes and goes as its bits: bf16 as 16-bit and f8 as 8-bit integers (or as `V2`, `V1`,
// which is what ml_dtypes writes); elements of less than a byte as rows of bytes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/DType.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace soliton::rt {

struct ArrayFile {
  /// As numpy names its types: `f` with 2 bytes, `i` with 4; `b` is true or false, `u` unsigned, `V` bytes.
  char kind = 'f';
  uint32_t width = 4;
  std::vector<int64_t> shape = {};
  std::vector<std::byte> bytes = {};

  /// `<f2 (256, 64)`, for messages.
  std::string toString() const;
};

/// What a `.npy` file holds; `name` is for messages. Throws CompileError `array-file`.
ArrayFile parseNpy(std::span<const std::byte> file, const std::string &name);
ArrayFile readNpy(const std::string &path);

/// The bytes of an array of this type and shape: those of the file, if it holds such a one. Throws `array-file`.
std::vector<std::byte> bytesFor(const ArrayFile &file, DType type, std::span<const int64_t> shape,
                                const std::string &name);

/// A `.npy` file of version 1.0. `bytes` must be as many as `arrayBytes` says.
std::vector<std::byte> printNpy(DType type, std::span<const int64_t> shape, std::span<const std::byte> bytes);
void writeNpy(const std::string &path, DType type, std::span<const int64_t> shape, std::span<const std::byte> bytes);

/// Bytes of a dense array: `i1` takes a byte, narrower elements share bytes, and each row starts on one.
size_t arrayBytes(DType type, std::span<const int64_t> shape);

/// A whole file, as it is; throws `array-file`.
std::vector<std::byte> readBytes(const std::string &path);
void writeBytes(const std::string &path, std::span<const std::byte> bytes);

} // namespace soliton::rt
