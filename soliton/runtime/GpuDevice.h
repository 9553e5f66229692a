//===- GpuDevice.h - A device behind a vendor's driver -----------------------===//
//
// Device and LoadedKernel on top of GpuDriver, the same code for both vendors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/GpuDriver.h"

namespace soliton::rt {

/// The devices that `driver` reports, in its order.
std::vector<std::shared_ptr<Device>> devicesOf(const std::shared_ptr<GpuDriver> &driver);

} // namespace soliton::rt
