//===- HostMemory.h - The emulator's device memory ---------------------------===//
//
// Host memory at the alignment that GPU allocators give. Large blocks are pages that exist once they are touched, so a
// tensor of many gibibytes costs what a program uses of it, and filling one with zeros gives its pages back.
//
//   HostMemory memory;
//   void *big = memory.allocate(uint64_t(8) << 30);
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace soliton::rt {

class HostMemory {
public:
  HostMemory() = default;
  HostMemory(const HostMemory &) = delete;
  ~HostMemory();

  /// Null for no bytes. Throws CompileError `driver-error` where the host has none.
  void *allocate(size_t bytes);
  void free(void *memory);
  void fill(void *memory, uint8_t value, size_t bytes);

private:
  /// Whether these bytes belong to a large block.
  bool isSparse(const std::byte *memory, size_t bytes) const;

  mutable std::mutex guard;
  std::map<std::byte *, size_t> blocks;
};

} // namespace soliton::rt
