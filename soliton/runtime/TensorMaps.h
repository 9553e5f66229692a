//===- TensorMaps.h - The tensors of a launch, as tile copies want them --------------===//
//
// The copy engine reads a descriptor of 128 bytes in which the driver has encoded address, extents, strides, box and
// swizzle of a tensor. A launch evaluates the formulas of its maps and checks them; a loaded kernel keeps the
// descriptors that it made last, since most launches differ in nothing that they hold.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/GpuDriver.h"
#include "soliton/runtime/LaunchPlan.h"

#include <mutex>

namespace soliton::rt {

/// Appends what is wrong with it.
MappedTensor evaluateTensor(const KernelImage &image, const TensorMapSpec &map, std::span<const int64_t> symbols,
                            std::vector<Diagnostic> &wrong);

/// The map for a tensor that begins at `data`.
GpuTensorMap describeMap(const TensorMapSpec &spec, const MappedTensor &tensor, void *data);

/// The descriptors that a loaded kernel made last, some for each of its maps. Several threads may launch it.
class TensorMapCache {
public:
  explicit TensorMapCache(size_t maps) : rings(maps) {}

  /// Writes the descriptor of a kernel's map of that number.
  void write(const GpuDriver &driver, size_t number, const GpuTensorMap &map, std::byte *destination);

private:
  struct Entry {
    GpuTensorMap map = {};
    bool isUsed = false;
    alignas(64) std::array<std::byte, kTensorMapBytes> bytes;
  };
  struct Ring {
    std::array<Entry, 8> entries;
    size_t next = 0;
  };
  std::mutex mutex;
  std::vector<Ring> rings;
};

} // namespace soliton::rt
