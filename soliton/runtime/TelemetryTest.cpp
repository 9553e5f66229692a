// What NVML tells, and what is said where it is not there. The library is opened once in a process, so each case has
// one.
#include "soliton/runtime/Telemetry.h"

#include "gtest/gtest.h"

#include <cstdlib>

namespace soliton::rt {
namespace {

Telemetry ofCuda(const char *nvml) {
  setenv("SOLITON_NVML_LIBRARY", nvml, 1);
  setenv("SOLITON_CUDA_LIBRARY", SOLITON_FAKE_CUDA, 1);
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  return readTelemetry(device);
}

[[noreturn]] void leaveWith(bool isRight) {
  std::_Exit(isRight ? 0 : 1);
}

TEST(TelemetryDeathTest, ClocksAndTemperatureComeFromTheDeviceAtTheSamePlaceOfTheBus) {
  EXPECT_EXIT(
      {
        Telemetry now = ofCuda(SOLITON_FAKE_NVML);
        leaveWith(now.absent.empty() && now.clockMHz == 1980 && now.memoryMHz == 2619 && now.celsius == 41);
      },
      testing::ExitedWithCode(0), "");
}

TEST(TelemetryDeathTest, WithoutTheLibraryThatIsSaid) {
  EXPECT_EXIT(
      {
        Telemetry now = ofCuda("libno-such-thing.so");
        leaveWith(now.absent == "there is no `libno-such-thing.so`" && now.clockMHz == 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Telemetry, TheEmulatorHasNoClock) {
  EXPECT_EQ(readTelemetry({}).absent, "nothing tells the clocks of a device of `emulator`");
}

} // namespace
} // namespace soliton::rt
