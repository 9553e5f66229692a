//===- Memory.h - A tensor in memory, as numbers -----------------------------===//
#pragma once

#include "soliton/interpreter/Interpreter.h"
#include "soliton/support/DType.h"

#include <variant>

namespace soliton::interp {

/// Where the elements of a row-major tensor lie in bytes: `i1` takes a byte, of which non-zero is true; narrower types
/// share bytes from the lowest bit on; each row starts on a byte.
class Packing {
public:
  Packing(DType type, const std::vector<int64_t> &extents);

  size_t bytes() const { return rows * rowBytes; }
  size_t elements() const { return rows * columns; }
  /// The bits of element `at`, counted row by row.
  uint64_t load(const Bytes &from, size_t at) const;
  void store(Bytes &to, size_t at, uint64_t bits) const;

private:
  size_t firstBit(size_t at) const { return at / columns * rowBytes * 8 + at % columns * width; }

  bool isBoolean;
  size_t width, rows = 1, columns = 1, rowBytes = 0;
};

/// A row-major tensor: an argument of the kernel, whose bytes are kept up to date, or a tile in shared memory, whose
/// elements are undefined until they are written.
class Memory {
public:
  /// An argument; `bytes` holds all elements (see `Packing`).
  Memory(DType type, std::vector<int64_t> extents, Bytes bytes);
  /// A tile in shared memory.
  Memory(DType type, std::vector<int64_t> extents);

  const std::vector<int64_t> &extents() const { return sizes; }
  DType type() const { return elementType; }
  bool isDefined(size_t at) const { return written.empty() || written[at]; }

  template <typename T>
  T load(size_t at) const {
    return std::get<std::vector<T>>(values)[at];
  }
  void store(size_t at, double value);
  void store(size_t at, int64_t value);

  const Bytes &bytes() const { return encoded; }

private:
  DType elementType;
  std::vector<int64_t> sizes;
  std::variant<std::vector<double>, std::vector<int64_t>> values;
  /// Empty for arguments: all of them are defined.
  std::vector<bool> written;
  Packing packing;
  /// Empty for shared memory.
  Bytes encoded;
};

size_t countOf(const std::vector<int64_t> &extents);

/// The number that bits stand for.
double decodeFloat(DType type, uint64_t bits);
int64_t decodeInteger(DType type, uint64_t bits);

} // namespace soliton::interp
