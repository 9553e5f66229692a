//===- Staging.h - Host arrays on a device with its own memory ---------------===//
//
// The slow path of a launch: copies host tensors to the device, hands their new addresses to the launch, and copies
// outputs back. Host ranges that overlap share one copy, so aliasing arguments still alias.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/LaunchPlan.h"

namespace soliton::rt {

class Staging {
public:
  /// Copies every host tensor in and writes its device address into `launch`.
  Staging(Device &device, const KernelImage &image, const LaunchPlan &plan, std::span<const Argument> arguments,
          PreparedLaunch &launch, Stream stream);

  /// Copies the outputs back, after everything before it on the stream.
  void copyBack(Stream stream);

private:
  /// A maximal union of overlapping host ranges.
  struct Range {
    std::byte *begin;
    std::byte *end;
    size_t buffer;
  };
  void findRanges(std::span<const Argument> arguments);
  void *deviceAddress(const void *host) const;

  Device &device;
  std::vector<Range> ranges;
  std::vector<DeviceBuffer> buffers;
  std::vector<const Tensor *> outputs;
};

} // namespace soliton::rt
