//===- Memory.h - A tensor in memory, as numbers -----------------------------===//
#pragma once

#include "soliton/interpreter/Interpreter.h"
#include "soliton/support/DType.h"

#include <variant>

namespace soliton::interp {

/// A row-major tensor: an argument of the kernel, whose bytes are kept up to date, or a tile in shared memory, whose
/// elements are undefined until they are written.
class Memory {
public:
  /// An argument; `bytes` holds all elements (see `bytesNeeded`).
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
  /// Empty for shared memory.
  Bytes encoded;
};

/// Bytes of that many elements.
size_t bytesNeeded(DType type, size_t elements);
size_t countOf(const std::vector<int64_t> &extents);

/// The number at element `at` of encoded bytes.
double decodeFloat(DType type, const Bytes &bytes, size_t at);
int64_t decodeInteger(DType type, const Bytes &bytes, size_t at);

} // namespace soliton::interp
