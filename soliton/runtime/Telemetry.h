//===- Telemetry.h - How warm and how fast a GPU is right now ----------------===//
//
// A time that was measured means little without the clock at which it was: NVML tells, opened at run time like the
// driver. What is not there is said, not guessed.
//
//   Telemetry now = readTelemetry(device.info());
//   now.clockMHz, now.celsius, or now.absent == "there is no `libnvidia-ml.so.1`"
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/Device.h"

namespace soliton::rt {

struct Telemetry {
  unsigned clockMHz = 0, memoryMHz = 0, celsius = 0;
  /// Why nothing is known; empty otherwise.
  std::string absent = {};
};

/// The library is that of `SOLITON_NVML_LIBRARY`, else `libnvidia-ml.so.1`.
Telemetry readTelemetry(const DeviceInfo &device);

} // namespace soliton::rt
