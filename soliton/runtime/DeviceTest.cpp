#include "soliton/runtime/Device.h"

#include "soliton/runtime/TestSupport.h"

#include <cstdlib>

using namespace soliton;
using namespace soliton::rt;

TEST(Device, SearchIsChangedByTheEnvironment) {
  ::setenv("SOLITON_CUDA_LIBRARY", "/somewhere/libfake.so", 1);
  ::setenv("SOLITON_HIP_LIBRARY", "", 1);
  EXPECT_EQ(DeviceSearch::fromEnvironment().cudaLibrary, "/somewhere/libfake.so");
  EXPECT_EQ(DeviceSearch::fromEnvironment().hipLibrary, "");
  ::unsetenv("SOLITON_CUDA_LIBRARY");
  ::unsetenv("SOLITON_HIP_LIBRARY");
  EXPECT_EQ(DeviceSearch::fromEnvironment().cudaLibrary, "libcuda.so.1");
  EXPECT_EQ(DeviceSearch::fromEnvironment().hipLibrary, "libamdhip64.so");
}

TEST(Device, ByName) {
  EXPECT_EQ(device("emulator").info().kind, DeviceKind::emulator);
  EXPECT_EQ(&device("emulator"), devices().devices.back().get());
  EXPECT_EQ(&defaultDevice(), devices().devices.front().get());
  expectError([] { device("cuda:77"); }, DiagId::NoDevice, "found no device `cuda:77` [no-device]");
  expectError([] { device(""); }, DiagId::NoDevice, "`emulator`");
}

TEST(Device, KindsOfImages) {
  EXPECT_TRUE(canLoad(DeviceKind::cuda, ImageKind::ptx));
  EXPECT_TRUE(canLoad(DeviceKind::cuda, ImageKind::cubin));
  EXPECT_FALSE(canLoad(DeviceKind::cuda, ImageKind::hsaco));
  EXPECT_TRUE(canLoad(DeviceKind::hip, ImageKind::hsaco));
  EXPECT_FALSE(canLoad(DeviceKind::hip, ImageKind::ptx));
  EXPECT_TRUE(canLoad(DeviceKind::emulator, ImageKind::emulator));
  EXPECT_FALSE(canLoad(DeviceKind::emulator, ImageKind::cubin));
}
