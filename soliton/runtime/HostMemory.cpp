#include "soliton/runtime/HostMemory.h"

#include "soliton/runtime/Errors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace soliton::rt {

static constexpr size_t kAlignment = 256;
static constexpr size_t kPage = 4096;
/// Blocks from here on are mapped; below, the C library is faster.
static constexpr size_t kSparseBytes = size_t(4) << 20;

HostMemory::~HostMemory() {
  for (auto [block, bytes] : blocks)
    bytes >= kSparseBytes ? void(::munmap(block, bytes)) : std::free(block);
}

void *HostMemory::allocate(size_t bytes) {
  if (bytes == 0)
    return nullptr;
  void *memory = nullptr;
  if (bytes >= kSparseBytes) {
    // Without a reservation: the host promises nothing for pages that nobody touches.
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory = memory == MAP_FAILED ? nullptr : memory;
  } else {
    memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  }
  if (!memory)
    fail(DiagId::DriverError, "the host has no " + std::to_string(bytes) + " bytes of memory");
  std::lock_guard lock(guard);
  blocks[static_cast<std::byte *>(memory)] = bytes;
  return memory;
}

void HostMemory::free(void *memory) {
  std::lock_guard lock(guard);
  auto found = blocks.find(static_cast<std::byte *>(memory));
  if (found == blocks.end())
    return;
  if (found->second >= kSparseBytes)
    ::munmap(memory, found->second);
  else
    std::free(memory);
  blocks.erase(found);
}

bool HostMemory::isSparse(const std::byte *memory, size_t bytes) const {
  std::lock_guard lock(guard);
  auto after = blocks.upper_bound(const_cast<std::byte *>(memory));
  if (after == blocks.begin())
    return false;
  auto [block, size] = *std::prev(after);
  return size >= kSparseBytes && memory + bytes <= block + size;
}

void HostMemory::fill(void *memory, uint8_t value, size_t bytes) {
  if (bytes == 0)
    return;
  auto *begin = static_cast<std::byte *>(memory), *end = begin + bytes;
  if (value != 0 || bytes < kSparseBytes || !isSparse(begin, bytes)) {
    std::memset(memory, value, bytes);
    return;
  }
  // Pages that are given back read as zeros.
  auto up = [](std::byte *p) {
    return reinterpret_cast<std::byte *>((reinterpret_cast<uintptr_t>(p) + kPage - 1) / kPage * kPage);
  };
  std::byte *first = up(begin), *last = up(end) == end ? end : up(end) - kPage;
  std::memset(begin, 0, static_cast<size_t>(first - begin));
  if (::madvise(first, static_cast<size_t>(last - first), MADV_DONTNEED) != 0)
    std::memset(first, 0, static_cast<size_t>(last - first));
  std::memset(last, 0, static_cast<size_t>(end - last));
}

} // namespace soliton::rt
