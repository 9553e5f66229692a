#include "soliton/runtime/Device.h"
#include "soliton/runtime/FakeDriver.h"
#include "soliton/runtime/TestSupport.h"

#include <dlfcn.h>

using namespace soliton;
using namespace soliton::rt;

namespace {

class Cuda : public testing::Test {
protected:
  void SetUp() override {
    handle = ::dlopen(SOLITON_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << ::dlerror();
    fake = reinterpret_cast<decltype(&solitonFakeState)>(::dlsym(handle, "solitonFakeState"))();
    *fake = FakeState();
    fake->takesPointers = true;
    device = findDevices({SOLITON_FAKE_CUDA, ""}).devices.front();
  }
  void TearDown() override {
    device.reset();
    *fake = FakeState();
    ::dlclose(handle);
  }

  void *handle = nullptr;
  FakeState *fake = nullptr;
  std::shared_ptr<Device> device;
};

bool loads(Device &device, const std::string &target, ImageKind kind) {
  KernelImage image = scaleImage(kind);
  image.target = target;
  try {
    device.load(image);
    return true;
  } catch (const CompileError &error) {
    EXPECT_EQ(error.diagnostics()[0].id, DiagId::ImageMismatch) << error.what();
    return false;
  }
}

} // namespace

TEST_F(Cuda, PtxIsHandedOverWithItsEndAndTheLogsComeBack) {
  auto kernel = device->load(scaleImage());
  ASSERT_EQ(fake->moduleImage.size(), 8u);
  EXPECT_EQ(fake->moduleImage.back(), std::byte(0));
  EXPECT_EQ(kernel->log(), "0 bytes spill stores");
  EXPECT_TRUE(fake->moduleLines) << "a profiler shall show the author's lines";
  fake->failing = "cuModuleLoadDataEx";
  fake->status = 218;
  expectError([&] { device->load(scaleImage()); }, DiagId::DriverError,
              "loading `scale` failed with `CUDA_ERROR_INVALID_PTX` (a sentence): line 3: unknown instruction");
}

TEST_F(Cuda, LargeSharedMemoryIsAskedForAndLimited) {
  KernelImage image = scaleImage();
  image.dynamicSharedBytes = 49152;
  device->load(image);
  EXPECT_TRUE(fake->functionAttributes.empty());
  image.dynamicSharedBytes = 200000;
  device->load(image);
  EXPECT_EQ(fake->functionAttributes, (std::map<int, int>{{8, 200000}}));
  image.staticSharedBytes = 40000;
  expectError([&] { device->load(image); }, DiagId::ImageMismatch,
              "a workgroup needs 240000 bytes of shared memory, Fake GPU has 232448");
  fake->failing = "cuFuncSetAttribute";
  fake->status = 1;
  image.staticSharedBytes = 0;
  expectError([&] { device->load(image); }, DiagId::DriverError, "`cuFuncSetAttribute` failed");
  EXPECT_EQ(fake->modules, 0);
}

TEST_F(Cuda, ClustersGoThroughTheExtendedLaunch) {
  KernelImage image = scaleImage();
  image.cluster = {2, 1, 1};
  image.dynamicSharedBytes = 512;
  auto kernel = device->load(image);
  DeviceBuffer buffer(*device, 32 * 256);
  Tensor tensor = buffer.tensor(DType::f32, {32, 64});
  Stream stream{reinterpret_cast<void *>(0x77)};
  kernel->launch({tensor, tensor, 1.0}, {.stream = stream});
  const FakeLaunch &launch = fake->launches.at(0);
  EXPECT_EQ(launch.grid, (std::array<unsigned, 3>{2, 1, 1}));
  EXPECT_EQ(launch.threads, (std::array<unsigned, 3>{128, 1, 1}));
  EXPECT_EQ(launch.cluster, (std::array<unsigned, 3>{2, 1, 1}));
  EXPECT_EQ(launch.sharedBytes, 512u);
  EXPECT_EQ(launch.stream, stream.handle);
  EXPECT_TRUE(fake->functionAttributes.empty());
  image.cluster = {16, 1, 1};
  device->load(image);
  EXPECT_EQ(fake->functionAttributes, (std::map<int, int>{{14, 1}}));
}

TEST_F(Cuda, DependentLaunchesMayBeginEarly) {
  for (uint32_t size : {1u, 2u}) {
    KernelImage image = scaleImage();
    image.cluster = {size, 1, 1};
    image.isDependent = true;
    auto kernel = device->load(image);
    DeviceBuffer buffer(*device, 32 * 256);
    Tensor tensor = buffer.tensor(DType::f32, {32, 64});
    kernel->launch({tensor, tensor, 1.0});
    EXPECT_TRUE(fake->launches.back().isDependent);
    EXPECT_EQ(fake->launches.back().cluster, (std::array<unsigned, 3>{size, 1, 1}));
  }
}

/// A fill is no kernel: a launch behind it begins when it has ended, whatever the image says; kernels behind kernels do
/// as that says.
TEST_F(Cuda, BehindAFillALaunchIsPlain) {
  for (bool isZeroed : {false, true}) {
    KernelImage image = scaleImage();
    image.isDependent = true;
    LaunchStep second = firstStep(image);
    second.code.clear();
    image.further = {second};
    image.workspace.bytes = 16;
    if (isZeroed)
      image.workspace.zeroed = {{0, 16}};
    auto kernel = device->load(image);
    DeviceBuffer buffer(*device, 32 * 256);
    Tensor tensor = buffer.tensor(DType::f32, {32, 64});
    fake->launches.clear();
    kernel->launch({tensor, tensor, 1.0});
    ASSERT_EQ(fake->launches.size(), 2u);
    EXPECT_EQ(fake->launches[0].isDependent, !isZeroed);
    EXPECT_TRUE(fake->launches[1].isDependent);
  }
}

TEST_F(Cuda, TensorMapsAreEncodedIntoTheBlock) {
  KernelImage image = scaleImage();
  TensorMapSpec map;
  map.sizes = {64, LaunchExpr::symbol(0)};
  map.strides = {256};
  map.dtype = DType::f32;
  map.box = {32, 16};
  map.swizzle = 128;
  image.tensorMaps = {map};
  auto kernel = device->load(image);
  DeviceBuffer buffer(*device, 32 * 256);
  Tensor tensor = buffer.tensor(DType::f32, {32, 64});
  kernel->launch({tensor, tensor, 1.0});
  ASSERT_EQ(fake->maps.size(), 1u);
  EXPECT_EQ(fake->maps[0].data, buffer.data());
  EXPECT_EQ(fake->maps[0].type, 7);
  EXPECT_EQ(fake->maps[0].swizzle, 3);
  EXPECT_EQ(fake->maps[0].sizes, (std::vector<uint64_t>{64, 32}));
  EXPECT_EQ(fake->maps[0].strides, (std::vector<uint64_t>{256}));
  EXPECT_EQ(fake->maps[0].box, (std::vector<unsigned>{32, 16}));
  EXPECT_EQ(fake->launches.at(0).block.size(), 192u);
  EXPECT_EQ(fake->launches.at(0).block.at(64), std::byte(0xab));
  EXPECT_TRUE(fake->launches.at(0).isByPointers) << "where a map lies among the parameters is the assembler's matter";
  fake->failing = "cuTensorMapEncodeTiled";
  fake->status = 1;
  Tensor half = buffer.tensor(DType::f32, {16, 64});
  expectError([&] { kernel->launch({half, half, 1.0}); }, DiagId::DriverError, "`cuTensorMapEncodeTiled` failed");
}

TEST_F(Cuda, TensorMapsOfImages) {
  KernelImage image = scaleImage();
  TensorMapSpec map;
  map.dtype = DType::f32;
  map.sizes = {32, 4, 4, LaunchExpr::symbol(0)};
  map.strides = {128, 512, 2048};
  map.box = {32, 100};
  map.swizzle = 128;
  map.lower = {-1, -2};
  map.upper = {-1, 0};
  map.steps = {1, 2};
  image.tensorMaps = {map};
  auto kernel = device->load(image);
  DeviceBuffer buffer(*device, 32 * 256);
  Tensor tensor = buffer.tensor(DType::f32, {32, 64});
  kernel->launch({tensor, tensor, 1.0});
  kernel->launch({tensor, tensor, 1.0});
  ASSERT_EQ(fake->maps.size(), 1u) << "the descriptor is kept";
  EXPECT_EQ(fake->maps[0].sizes, (std::vector<uint64_t>{32, 4, 4, 32}));
  EXPECT_EQ(fake->maps[0].strides, (std::vector<uint64_t>{128, 512, 2048}));
  EXPECT_EQ(fake->maps[0].box, (std::vector<unsigned>{32, 100}));
  EXPECT_EQ(fake->maps[0].lower, (std::vector<int>{-1, -2}));
  EXPECT_EQ(fake->maps[0].upper, (std::vector<int>{-1, 0}));
  EXPECT_EQ(fake->maps[0].steps, (std::vector<unsigned>{1, 1, 2, 1}));
  EXPECT_EQ(fake->launches.at(0).block.at(64), std::byte(0xcd));
  fake->failing = "cuTensorMapEncodeIm2col";
  fake->status = 1;
  Tensor half = buffer.tensor(DType::f32, {16, 64});
  expectError([&] { kernel->launch({half, half, 1.0}); }, DiagId::DriverError, "`cuTensorMapEncodeIm2col` failed");
}

TEST_F(Cuda, TensorMapsAreEncodedOncePerTensor) {
  KernelImage image = scaleImage();
  TensorMapSpec map;
  map.dtype = DType::f32;
  map.sizes = {64, LaunchExpr::symbol(0)};
  map.strides = {256};
  map.box = {32, 16};
  image.tensorMaps = {map};
  auto kernel = device->load(image);
  DeviceBuffer first(*device, 40 * 256), second(*device, 40 * 256);
  auto launch = [&](DeviceBuffer &buffer, int64_t rows) {
    Tensor tensor = buffer.tensor(DType::f32, {rows, 64});
    kernel->launch({tensor, tensor, 1.0});
    return fake->maps.size();
  };
  EXPECT_EQ(launch(first, 32), 1u);
  EXPECT_EQ(launch(first, 32), 1u) << "the descriptor is kept";
  EXPECT_EQ(launch(second, 32), 2u) << "another address";
  EXPECT_EQ(launch(first, 16), 3u) << "another extent";
  EXPECT_EQ(launch(first, 32), 3u);
  EXPECT_EQ(fake->launches.back().block.at(64), std::byte(0xab));
  // A bounded number of them: those that were used longest ago are made again.
  for (int64_t rows : {8, 24, 16, 32})
    launch(second, rows);
  for (int64_t rows : {8, 24, 40})
    launch(first, rows);
  size_t made = fake->maps.size();
  EXPECT_EQ(launch(second, 16), made);
  EXPECT_EQ(launch(first, 32), made + 1) << "the oldest of nine is forgotten";
  fake->failing = "cuTensorMapEncodeTiled";
  fake->status = 1;
  expectError([&] { launch(second, 40); }, DiagId::DriverError, "`cuTensorMapEncodeTiled` failed");
}

TEST_F(Cuda, MapsOfTensorsWithoutElementsPointToZeros) {
  KernelImage image = scaleImage();
  image.checks.clear();
  image.grid = {2, 1, 1};
  TensorMapSpec map;
  map.dtype = DType::f32;
  map.sizes = {64, LaunchExpr::symbol(0)};
  map.strides = {256};
  map.box = {32, 16};
  image.tensorMaps = {map, map};
  image.tensorMaps[1].argument = 1;
  auto kernel = device->load(image);
  EXPECT_EQ(fake->allocations.size(), 1u);
  Tensor tensor = Tensor::dense(nullptr, DType::f32, {0, 64}, MemoryKind::cuda, 0);
  kernel->launch({tensor, tensor, 1.0});
  ASSERT_EQ(fake->maps.size(), 2u);
  EXPECT_EQ(fake->maps[0].sizes, (std::vector<uint64_t>{1, 1}));
  EXPECT_EQ(fake->maps[0].strides, (std::vector<uint64_t>{16}));
  auto *zeros = static_cast<std::byte *>(fake->maps[0].data), *written = static_cast<std::byte *>(fake->maps[1].data);
  EXPECT_EQ(written, zeros + 256) << "what is written is never read as zeros";
  EXPECT_EQ(std::vector<std::byte>(zeros, zeros + 16), std::vector<std::byte>(16));
  kernel.reset();
  EXPECT_TRUE(fake->allocations.empty());
}

TEST_F(Cuda, EachKernelOfAPlanHasItsOwnTensorMaps) {
  KernelImage image = scaleImage();
  LaunchExpr m = LaunchExpr::symbol(0);
  image.workspace.bytes = LaunchExpr::apply(LaunchOp::mul, {m, 512});
  image.further = {{"second", {}, {64, 1, 1}, {1, 1, 1}, {m, 1, 1}}, {"third", {}, {64, 1, 1}, {1, 1, 1}, {0, 1, 1}}};
  TensorMapSpec inWorkspace;
  inWorkspace.argument.reset();
  inWorkspace.dtype = DType::f32;
  inWorkspace.offset = LaunchExpr::apply(LaunchOp::mul, {m, 256});
  inWorkspace.sizes = {64, m};
  inWorkspace.strides = {256};
  inWorkspace.box = {32, 16};
  image.further[0].tensorMaps = {inWorkspace};
  // Nobody asks for the maps of a kernel that has no workgroup.
  image.further[1].tensorMaps = {inWorkspace};
  image.further[1].tensorMaps[0].strides = {100};
  auto kernel = device->load(image);
  DeviceBuffer buffer(*device, 32 * 256), workspace(*device, 32 * 512);
  Tensor tensor = buffer.tensor(DType::f32, {32, 64});
  kernel->launch({tensor, tensor, 1.0}, {.workspace = {workspace.data(), 32 * 512}});
  ASSERT_EQ(fake->launches.size(), 2u);
  EXPECT_EQ(fake->launches[0].block.size(), 32u) << "pointers, workspace, factor, M";
  EXPECT_EQ(fake->launches[1].block.size(), 192u);
  ASSERT_EQ(fake->maps.size(), 1u);
  EXPECT_EQ(fake->maps[0].data, static_cast<std::byte *>(workspace.data()) + 32 * 256);
}

TEST_F(Cuda, ArchitecturesThatFit) {
  EXPECT_TRUE(loads(*device, "sm_90a", ImageKind::cubin));
  EXPECT_TRUE(loads(*device, "sm_80", ImageKind::ptx));
  EXPECT_FALSE(loads(*device, "sm_80", ImageKind::cubin));
  EXPECT_FALSE(loads(*device, "sm_100", ImageKind::ptx));
  EXPECT_FALSE(loads(*device, "sm_80a", ImageKind::ptx));
  EXPECT_FALSE(loads(*device, "gfx942", ImageKind::ptx));
  fake->capabilityMinor = 3;
  std::shared_ptr<Device> newer = findDevices({SOLITON_FAKE_CUDA, ""}).devices.front();
  EXPECT_TRUE(loads(*newer, "sm_90", ImageKind::cubin));
  EXPECT_FALSE(loads(*newer, "sm_90a", ImageKind::cubin));
}

TEST_F(Cuda, ADriverWithoutAFunctionIsAProblem) {
  FoundDevices found = findDevices({SOLITON_FAKE_INCOMPLETE, ""});
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_NE(found.problems[0].message.find("no function `cuMemAlloc_v2`"), std::string::npos);
  EXPECT_EQ(found.devices.size(), 1u);
}

TEST_F(Cuda, ADriverThatIsNotThereIsNone) {
  FoundDevices found = findDevices({"libsoliton-no-such-driver.so", "libsoliton-no-such-driver.so"});
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_EQ(found.devices[0]->info().kind, DeviceKind::emulator);
}

TEST(Hip, TensorMapsAndClustersAreRefused) {
  std::shared_ptr<Device> device = findDevices({"", SOLITON_FAKE_HIP}).devices.front();
  KernelImage image = scaleImage(ImageKind::hsaco);
  image.cluster = {2, 1, 1};
  expectError([&] { device->load(image); }, DiagId::ImageMismatch, "clusters, dependent launches or tensor maps");
}
