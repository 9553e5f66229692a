//===- EmulatorDevice.h - The device that is always there --------------------===//
//
// Runs emulator programs on host memory, in place. A launch returns when it is done; what the emulator finds wrong
// (races, missing waits, out-of-bounds accesses) is thrown as diagnostics at the author's lines. Times are host times
// of the emulation, not those of any GPU.
//
//   auto device = makeEmulatorDevice({.checks = true, .seed = 7});
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Machine.h"
#include "soliton/runtime/Device.h"

namespace soliton::rt {

struct EmulatorOptions {
  /// Judge every access.
  bool checks = true;
  /// Complete asynchronous work as late as is legal.
  bool adversarial = true;
  /// How waves interleave; 0 runs each until it blocks.
  uint64_t seed = 1;
  bool bankConflicts = false;
  uint32_t threads = 2;
  /// Workgroups that run at once where they can see each other; 0: as many as the target holds.
  uint32_t resident = 0;
  /// Instructions that one wave may execute, so that a loop without an end is an error after seconds; 0: what
  /// `SOLITON_EMULATOR_STEPS` says, or else a hundred million.
  uint64_t stepLimit = 0;
};

std::shared_ptr<Device> makeEmulatorDevice(const EmulatorOptions &options = {});

/// What the last launch of an emulator kernel counted; null for kernels of other devices and before the first launch.
const emu::Statistics *statisticsOf(const LoadedKernel &kernel);

} // namespace soliton::rt
