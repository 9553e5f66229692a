#include "soliton/runtime/Device.h"

#include "soliton/runtime/FakeDriver.h"
#include "soliton/runtime/TestSupport.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <new>

using namespace soliton;
using namespace soliton::rt;

static std::atomic<size_t> allocations = 0;

// Counts every allocation of the process, to prove that a launch makes none.
void *operator new(size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}

namespace {

enum class Vendor { cuda, hip };

class Gpu : public testing::TestWithParam<Vendor> {
protected:
  void SetUp() override {
    library = isCuda() ? SOLITON_FAKE_CUDA : SOLITON_FAKE_HIP;
    handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << ::dlerror();
    auto get = reinterpret_cast<decltype(&solitonFakeState)>(::dlsym(handle, "solitonFakeState"));
    fake = get();
    *fake = FakeState();
  }
  void TearDown() override {
    *fake = FakeState();
    ::dlclose(handle);
  }

  bool isCuda() const { return GetParam() == Vendor::cuda; }
  MemoryKind memory() const { return isCuda() ? MemoryKind::cuda : MemoryKind::hip; }
  FoundDevices find() const { return findDevices({isCuda() ? library : "", isCuda() ? "" : library}); }
  std::shared_ptr<Device> first() const {
    FoundDevices found = find();
    EXPECT_TRUE(found.problems.empty()) << format(found.problems);
    return found.devices.front();
  }
  KernelImage image() const { return scaleImage(isCuda() ? ImageKind::ptx : ImageKind::hsaco); }
  void fail(const char *call) {
    fake->failing = call;
    fake->status = 1;
  }
  std::string errorName() const { return isCuda() ? "`CUDA_ERROR_INVALID_VALUE`" : "`hipErrorInvalidValue`"; }
  template <typename T>
  T parameter(size_t offset, size_t launch = 0) const {
    T value;
    std::memcpy(static_cast<void *>(&value), fake->launches.at(launch).block.data() + offset, sizeof(T));
    return value;
  }

  std::string library;
  void *handle = nullptr;
  FakeState *fake = nullptr;
};

/// Plays scale(in, out, factor) on `rows` x 64 floats.
void playScale(const std::byte *block) {
  float *in, *out, factor;
  int32_t rows;
  std::memcpy(static_cast<void *>(&in), block, 8);
  std::memcpy(static_cast<void *>(&out), block + 8, 8);
  std::memcpy(&factor, block + 16, 4);
  std::memcpy(&rows, block + 20, 4);
  for (int i = 0; i < rows * 64; ++i)
    out[i] = in[i] * factor;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Both, Gpu, testing::Values(Vendor::cuda, Vendor::hip),
                         [](const auto &info) { return info.param == Vendor::cuda ? "Cuda" : "Hip"; });

TEST_P(Gpu, DevicesAreFoundBeforeTheEmulator) {
  FoundDevices found = find();
  ASSERT_EQ(found.devices.size(), 3u);
  EXPECT_EQ(found.devices[0]->info().name, "Fake GPU");
  EXPECT_EQ(found.devices[1]->info().name, "Other GPU");
  EXPECT_EQ(found.devices[1]->info().index, 1);
  EXPECT_EQ(found.devices[0]->info().architecture, isCuda() ? "sm_90" : "gfx942");
  EXPECT_EQ(found.devices[0]->info().memory(), memory());
  EXPECT_EQ(found.devices[2]->info().kind, DeviceKind::emulator);
  if (isCuda()) {
    EXPECT_EQ(found.devices[0]->info().multiprocessors, 132u);
    EXPECT_EQ(found.devices[0]->info().cacheBytes, size_t{50} << 20);
    EXPECT_EQ(fake->retained, 2);
    found.devices.clear();
    EXPECT_EQ(fake->retained, 0);
  }
}

TEST_P(Gpu, ADriverThatFailsIsAProblemNotAnError) {
  for (const char *call : {"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem",
                           isCuda() ? "cuDeviceGetAttribute" : "hipGetDeviceProperties"}) {
    fail(call);
    FoundDevices found = find();
    EXPECT_EQ(found.devices.size(), 1u) << call;
    ASSERT_EQ(found.problems.size(), 1u) << call;
    EXPECT_EQ(found.problems[0].severity, Severity::warning);
    EXPECT_NE(format(found.problems[0]).find(errorName()), std::string::npos) << format(found.problems[0]);
  }
}

TEST_P(Gpu, AStatusWithoutANameIsShownAsNumber) {
  fail("cuInit");
  fake->status = 4711;
  EXPECT_NE(find().problems.at(0).message.find("error 4711"), std::string::npos);
}

TEST_P(Gpu, MemoryStreamsAndEvents) {
  std::shared_ptr<Device> device = first();
  std::vector<int> host = {1, 2, 3}, back(3);
  {
    DeviceBuffer buffer(*device, 12);
    device->copyToDevice(buffer.data(), host.data(), 12);
    device->copyToHost(back.data(), buffer.data(), 12);
    EXPECT_EQ(back, host);
    device->fill(buffer.data(), 0xff, 8);
    device->copyToHost(back.data(), buffer.data(), 12);
    EXPECT_EQ(back, (std::vector<int>{-1, -1, 3}));
    EXPECT_EQ(buffer.tensor(DType::i32, {3}).memory, memory());
    expectError([&] { buffer.tensor(DType::i32, {4}); }, DiagId::ArgumentShape, "does not fit a buffer of 12 bytes");
    EXPECT_EQ(fake->allocations.size(), 1u);
  }
  EXPECT_TRUE(fake->allocations.empty());
  Stream stream = device->createStream();
  Event event = device->createEvent();
  device->record(event, stream);
  device->synchronise(stream);
  device->synchronise();
  EXPECT_GT(device->microseconds(event, event), 0);
  device->destroy(event);
  device->destroy(stream);
  EXPECT_EQ(fake->streams + fake->events, 0);
  EXPECT_EQ(device->allocate(0), nullptr);
}

TEST_P(Gpu, EveryFailingCallIsNamed) {
  std::shared_ptr<Device> device = first();
  DeviceBuffer buffer(*device, 16);
  int host[4] = {};
  auto expectFailure = [&](const char *call, auto action) {
    fail(call);
    expectError(action, DiagId::DriverError, "failed with " + errorName());
    fake->failing.clear();
  };
  expectFailure("cuMemAlloc", [&] { device->allocate(16); });
  expectFailure("cuMemFree", [&] { device->free(buffer.data()); });
  expectFailure("cuMemcpyHtoD", [&] { device->copyToDevice(buffer.data(), host, 16); });
  expectFailure("cuMemcpyDtoH", [&] { device->copyToHost(host, buffer.data(), 16); });
  expectFailure("cuStreamSynchronize", [&] { device->copyToHost(host, buffer.data(), 16); });
  expectFailure("cuMemsetD8", [&] { device->fill(buffer.data(), 0, 16); });
  expectFailure("cuStreamCreate", [&] { device->createStream(); });
  expectFailure("cuStreamDestroy", [&] { device->destroy(Stream()); });
  expectFailure("cuStreamSynchronize", [&] { device->synchronise(Stream()); });
  expectFailure("cuCtxSynchronize", [&] { device->synchronise(); });
  expectFailure("cuEventCreate", [&] { device->createEvent(); });
  expectFailure("cuEventDestroy", [&] { device->destroy(Event()); });
  expectFailure("cuEventRecord", [&] { device->record(Event()); });
  expectFailure("cuEventSynchronize", [&] { device->microseconds(Event(), Event()); });
  expectFailure("cuEventElapsedTime", [&] { device->microseconds(Event(), Event()); });
  expectFailure(isCuda() ? "cuCtxGetCurrent" : "hipGetDevice", [&] { device->synchronise(); });
  fake->contexts.clear();
  std::shared_ptr<Device> other = find().devices[1];
  expectFailure(isCuda() ? "cuCtxPushCurrent" : "hipSetDevice", [&] { other->synchronise(); });
}

TEST_P(Gpu, TheCallersContextIsRestored) {
  std::shared_ptr<Device> other = find().devices[1];
  void *mine = reinterpret_cast<void *>(uintptr_t(1));
  fake->contexts = {mine};
  other->synchronise();
  EXPECT_EQ(fake->contexts, std::vector<void *>{mine});
}

TEST_P(Gpu, LaunchesInPlace) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(image());
  DeviceBuffer in(*device, 32 * 256), out(*device, 32 * 256);
  std::vector<float> values(32 * 64, 3.0f);
  device->copyToDevice(in.data(), values.data(), in.bytes());
  fake->kernel = playScale;
  fake->calls.clear();
  Stream stream{reinterpret_cast<void *>(0x55)};
  kernel->launch({in.tensor(DType::f32, {32, 64}), out.tensor(DType::f32, {32, 64}), 2.0}, {.stream = stream});
  std::vector<std::string> expected =
      isCuda() ? std::vector<std::string>{"cuCtxGetCurrent", "cuCtxPushCurrent", "cuLaunchKernel", "cuCtxPopCurrent"}
               : std::vector<std::string>{"hipGetDevice", "cuLaunchKernel"};
  EXPECT_EQ(fake->calls, expected) << "nothing else is asked of the driver";
  const FakeLaunch &launch = fake->launches.at(0);
  EXPECT_EQ(launch.grid, (std::array<unsigned, 3>{2, 1, 1}));
  EXPECT_EQ(launch.threads, (std::array<unsigned, 3>{128, 1, 1}));
  EXPECT_EQ(launch.stream, stream.handle);
  EXPECT_EQ(launch.block.size(), 24u);
  EXPECT_EQ(parameter<void *>(0), in.data());
  EXPECT_EQ(parameter<void *>(8), out.data());
  EXPECT_EQ(launch.entry, "scale_entry");
  device->copyToHost(values.data(), out.data(), out.bytes());
  EXPECT_EQ(values, std::vector<float>(32 * 64, 6.0f));
}

TEST_P(Gpu, ALaunchAllocatesNothing) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(image());
  DeviceBuffer in(*device, 32 * 256), out(*device, 32 * 256);
  std::array<Argument, 3> arguments = {in.tensor(DType::f32, {32, 64}), out.tensor(DType::f32, {32, 64}), 2.0};
  fake->recording = false;
  kernel->launch(arguments);
  // The stand-in keeps a stack of contexts of its own; ours stays current, as it does in any program with one device.
  if (isCuda())
    fake->contexts = {reinterpret_cast<void *>(uintptr_t(1))};
  size_t before = allocations;
  for (int i = 0; i < 1000; ++i)
    kernel->launch(arguments);
  EXPECT_EQ(allocations, before);
}

TEST_P(Gpu, HostTensorsAreCopiedInAndOutputsBack) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(image());
  std::vector<float> in(16 * 64, 1.5f), out(16 * 64, -1.0f);
  fake->kernel = playScale;
  kernel->launch({Tensor::of(in, {16, 64}), Tensor::of(out, {16, 64}), 2.0});
  EXPECT_EQ(out, std::vector<float>(16 * 64, 3.0f));
  EXPECT_EQ(in, std::vector<float>(16 * 64, 1.5f));
  EXPECT_TRUE(fake->allocations.empty()) << "copies are freed";
  // An output over its input is one copy on the device as well.
  kernel->launch({Tensor::of(in, {16, 64}), Tensor::of(in, {16, 64}), 2.0});
  EXPECT_EQ(in, std::vector<float>(16 * 64, 3.0f));
  EXPECT_EQ(parameter<void *>(0, 1), parameter<void *>(8, 1));
}

TEST_P(Gpu, StagedArraysThatOverlapKeepTheirDistance) {
  std::shared_ptr<Device> device = first();
  KernelImage onlyReads = image();
  onlyReads.arguments[1].isOutput = false;
  auto kernel = device->load(onlyReads);
  std::vector<float> all(24 * 64, 1.0f);
  Tensor head = Tensor::dense(all.data(), DType::f32, {16, 64});
  Tensor tail = Tensor::dense(all.data() + 8 * 64, DType::f32, {16, 64});
  std::map<void *, size_t> staged;
  fake->kernel = [&](const std::byte *) { staged = fake->allocations; };
  kernel->launch({head, tail, 1.0});
  EXPECT_EQ(staged, (std::map<void *, size_t>{{parameter<void *>(0), 24 * 256}})) << "one copy holds both";
  EXPECT_EQ(parameter<char *>(8) - parameter<char *>(0), 8 * 256);
  Tensor skewed = Tensor::dense(all.data() + 1, DType::f32, {16, 64});
  expectError([&] { kernel->launch({head, skewed, 1.0}); }, DiagId::ArgumentAlignment, "4 beyond a multiple of 16");
  std::vector<float> out(16 * 64);
  kernel->launch({skewed, Tensor::of(out, {16, 64}), 1.0}); // Alone it is copied to an aligned place.
}

/// twice(in, out) by way of a workspace of as many bytes: `first` doubles into it and counts rows in a counter behind,
/// `second` copies out what the first wrote and adds the count.
static KernelImage twoKernels(KernelImage image) {
  LaunchExpr m = LaunchExpr::symbol(0), bytes = LaunchExpr::apply(LaunchOp::mul, {m, 256});
  image.entry = "first";
  LaunchStep second{"second"};
  second.threads = {64, 1, 1};
  second.grid = {m, 1, 1};
  second.dynamicSharedBytes = 1024;
  image.further = {second};
  image.workspace.bytes = LaunchExpr::apply(LaunchOp::add, {bytes, 16});
  image.workspace.zeroed = {{bytes, 16}};
  return image;
}

static void playTwoKernels(const std::string &entry, const std::byte *block) {
  float *in, *out, *workspace;
  int32_t rows;
  std::memcpy(static_cast<void *>(&in), block, 8);
  std::memcpy(static_cast<void *>(&out), block + 8, 8);
  std::memcpy(static_cast<void *>(&workspace), block + 16, 8);
  std::memcpy(&rows, block + 28, 4);
  float *count = workspace + rows * 64;
  for (int i = 0; i < rows * 64; ++i)
    if (entry == "first")
      workspace[i] = 2 * in[i];
    else
      out[i] = workspace[i] + *count;
  if (entry == "first")
    *count += static_cast<float>(rows);
}

TEST_P(Gpu, APlanRunsItsKernelsInOrderOverOneWorkspace) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(twoKernels(image()));
  EXPECT_EQ(fake->modules, 1) << "both entries are in one module";
  DeviceBuffer in(*device, 16 * 256), out(*device, 16 * 256);
  std::vector<float> values(16 * 64, 3.0f);
  device->copyToDevice(in.data(), values.data(), in.bytes());
  std::array<Argument, 3> arguments = {in.tensor(DType::f32, {16, 64}), out.tensor(DType::f32, {16, 64}), 1.0};
  fake->kernel = [&](const std::byte *block) { playTwoKernels(fake->playing, block); };
  Stream stream{reinterpret_cast<void *>(0x55)};
  for (int round = 0; round < 2; ++round) { // The counter starts at zero each time.
    fake->calls.clear();
    fake->launches.clear();
    kernel->launch(arguments, {.stream = stream});
    std::vector<std::string> calls;
    for (const std::string &call : fake->calls)
      if (call.find("Ctx") == std::string::npos && call.find("hip") == std::string::npos)
        calls.push_back(call);
    EXPECT_EQ(calls, (std::vector<std::string>{"cuMemAllocAsync", "cuMemsetD8", "cuLaunchKernel", "cuLaunchKernel",
                                               "cuMemFreeAsync"}));
    EXPECT_EQ(fake->launches[0].entry, "first");
    EXPECT_EQ(fake->launches[1].entry, "second");
    EXPECT_EQ(fake->launches[1].grid, (std::array<unsigned, 3>{16, 1, 1}));
    EXPECT_EQ(fake->launches[1].threads, (std::array<unsigned, 3>{64, 1, 1}));
    EXPECT_EQ(fake->launches[1].sharedBytes, 1024u);
    EXPECT_EQ(fake->launches[1].stream, stream.handle);
    EXPECT_EQ(parameter<void *>(16, 0), parameter<void *>(16, 1));
    device->copyToHost(values.data(), out.data(), out.bytes());
    EXPECT_EQ(values, std::vector<float>(16 * 64, 22.0f));
  }
  EXPECT_EQ(fake->workspaces[stream.handle], (std::vector<size_t>{16 * 256 + 16, 16 * 256 + 16}));
  EXPECT_EQ(kernel->workspaceBytes(arguments), 16u * 256 + 16);
}

TEST_P(Gpu, ACallersWorkspaceIsUsedAndZeroed) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(twoKernels(image()));
  DeviceBuffer in(*device, 16 * 256), out(*device, 16 * 256), workspace(*device, 16 * 256 + 16);
  std::memset(workspace.data(), 0x7f, workspace.bytes());
  std::array<Argument, 3> arguments = {in.tensor(DType::f32, {16, 64}), out.tensor(DType::f32, {16, 64}), 1.0};
  kernel->launch(arguments, {.workspace = {workspace.data(), workspace.bytes()}});
  EXPECT_TRUE(fake->workspaces.empty());
  EXPECT_EQ(parameter<void *>(16, 0), workspace.data());
  const auto *bytes = static_cast<const uint8_t *>(workspace.data());
  EXPECT_EQ(bytes[16 * 256 - 1], 0x7f);
  EXPECT_EQ(bytes[16 * 256], 0);
  EXPECT_EQ(bytes[16 * 256 + 15], 0);
  expectError([&] { kernel->launch(arguments, {.workspace = {workspace.data(), 64}}); }, DiagId::LaunchWorkspace,
              "has 64 bytes, expected at least 4112");
}

TEST_P(Gpu, AFailingPlanFreesItsWorkspace) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(twoKernels(image()));
  DeviceBuffer in(*device, 16 * 256), out(*device, 16 * 256);
  std::array<Argument, 3> arguments = {in.tensor(DType::f32, {16, 64}), out.tensor(DType::f32, {16, 64}), 1.0};
  for (const char *call : {"cuMemAllocAsync", "cuMemsetD8", "cuLaunchKernel"}) {
    fail(call);
    expectError([&] { kernel->launch(arguments); }, DiagId::DriverError, errorName());
    fake->failing.clear();
    EXPECT_EQ(fake->allocations.size(), 2u) << call;
  }
  fail("cuMemFreeAsync");
  expectError([&] { kernel->launch(arguments); }, DiagId::DriverError, "release of a workspace");
}

TEST_P(Gpu, KernelsOfAPlanMayHaveModulesOfTheirOwn) {
  KernelImage two = twoKernels(image());
  two.further[0].code = two.code;
  auto kernel = first()->load(two);
  EXPECT_EQ(fake->modules, 2);
  EXPECT_EQ(kernel->resources().registers, 96);
  kernel.reset();
  EXPECT_EQ(fake->modules, 0);
}

TEST_P(Gpu, KernelsWithoutWorkgroupsAreLeftOut) {
  std::shared_ptr<Device> device = first();
  KernelImage two = twoKernels(image());
  two.grid[1] = 0;
  auto kernel = device->load(two);
  DeviceBuffer in(*device, 16 * 256), out(*device, 16 * 256);
  kernel->launch({in.tensor(DType::f32, {16, 64}), out.tensor(DType::f32, {16, 64}), 1.0});
  ASSERT_EQ(fake->launches.size(), 1u);
  EXPECT_EQ(fake->launches[0].entry, "second");
}

TEST_P(Gpu, FailuresWhileStagingFreeWhatWasCopied) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(image());
  std::vector<float> in(16 * 64), out(16 * 64);
  for (const char *call : {"cuMemcpyHtoD", "cuLaunchKernel", "cuStreamSynchronize", "cuMemcpyDtoH"}) {
    fail(call);
    expectError([&] { kernel->launch({Tensor::of(in, {16, 64}), Tensor::of(out, {16, 64}), 2.0}); },
                DiagId::DriverError, errorName());
    fake->failing.clear();
    EXPECT_TRUE(fake->allocations.empty()) << call;
  }
}

TEST_P(Gpu, NothingIsLaunchedWithoutWork) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(image());
  Tensor nothing = Tensor::dense(nullptr, DType::f32, {0, 64});
  kernel->launch({nothing, nothing, 1.0});
  EXPECT_TRUE(fake->launches.empty());
  expectError([&] { kernel->launch({nothing, nothing}); }, DiagId::ArgumentCount, "found 2 arguments");
}

TEST_P(Gpu, LoadingAndLaunchingFailWithTheDriversNames) {
  std::shared_ptr<Device> device = first();
  fail("cuModuleLoadDataEx");
  expectError([&] { device->load(image()); }, DiagId::DriverError, "loading `scale` failed with " + errorName());
  fail("cuModuleGetFunction");
  expectError([&] { device->load(image()); }, DiagId::DriverError, "looking up the entry `scale_entry` failed");
  EXPECT_EQ(fake->modules, 0) << "the module is unloaded again";
  fake->failing.clear();
  auto kernel = device->load(image());
  DeviceBuffer buffer(*device, 32 * 256);
  Tensor tensor = buffer.tensor(DType::f32, {32, 64});
  fail("cuLaunchKernel");
  expectError([&] { kernel->launch({tensor, tensor, 1.0}); }, DiagId::DriverError, "launching `scale` failed with");
  fail("cuFuncGetAttribute");
  expectError([&] { kernel->resources(); }, DiagId::DriverError, "function attribute query");
  fake->failing.clear();
  kernel.reset();
  EXPECT_EQ(fake->modules, 0);
}

TEST_P(Gpu, ResourcesAreReported) {
  auto kernel = first()->load(image());
  KernelResources resources = kernel->resources();
  EXPECT_EQ(resources.registers, 96);
  EXPECT_EQ(resources.localBytes, 16);
  EXPECT_EQ(resources.staticSharedBytes, 2048);
  EXPECT_EQ(resources.maxThreads, 1024);
}

TEST_P(Gpu, AKernelMayOutliveItsDevice) {
  std::unique_ptr<LoadedKernel> kernel;
  {
    std::shared_ptr<Device> device = first();
    kernel = device->load(image());
  }
  EXPECT_EQ(kernel->resources().registers, 96);
  kernel.reset();
  EXPECT_EQ(fake->modules + fake->retained, 0);
}

TEST_P(Gpu, ImagesOfOtherKindsAreRefused) {
  std::shared_ptr<Device> device = first();
  KernelImage wrong = image();
  wrong.kind = ImageKind::emulator;
  expectError([&] { device->load(wrong); }, DiagId::ImageMismatch, "found an image of kind `emulator`");
  wrong = image();
  wrong.code.clear();
  expectError([&] { device->load(wrong); }, DiagId::ImageInvalid, "no code");
  wrong = image();
  wrong.target = isCuda() ? "sm_100a" : "gfx950";
  expectError([&] { device->load(wrong); }, DiagId::ImageMismatch, "compiled for `" + wrong.target + "`, found `");
}

TEST_P(Gpu, LaunchesAreRecordedOnceAndReplayed) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(image());
  DeviceBuffer buffer(*device, 32 * 256);
  std::array<Argument, 3> arguments = {buffer.tensor(DType::f32, {32, 64}), buffer.tensor(DType::f32, {32, 64}), 1.0};
  TimingOptions options{.warmup = 2, .repetitions = 6, .launchesPerSample = 5};
  options.replays = true;
  Timing timing = measure(*device, *kernel, arguments, options);
  EXPECT_TRUE(timing.isReplayed);
  // Two to warm up and five for the graph; one replay to warm up and one for each sample.
  EXPECT_EQ(fake->launches.size(), 7u);
  EXPECT_EQ(std::ranges::count(fake->calls, "cuGraphLaunch"), 7);
  EXPECT_EQ(std::ranges::count(fake->calls, "cuGraphExecDestroy"), 1);
  EXPECT_EQ(fake->streams, 0);
  // What fails while it is recorded is said, and the recording ends.
  fake->calls.clear();
  fake->failing = "cuGraphInstantiate";
  fake->status = 1;
  expectError([&] { measure(*device, *kernel, arguments, options); }, DiagId::DriverError, "instantiation of a graph");
  EXPECT_EQ(std::ranges::count(fake->calls, "cuStreamEndCapture"), 1);
}

/// Launches take turns with arguments elsewhere, each as often as the others, in a graph and without.
TEST_P(Gpu, CopiesOfArgumentsTakeTurns) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(image());
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  TimingOptions options{.warmup = 0, .repetitions = 2, .launchesPerSample = 4};
  auto argumentsAt = [&] {
    buffers.push_back(std::make_unique<DeviceBuffer>(*device, 32 * 256));
    Tensor tensor = buffers.back()->tensor(DType::f32, {32, 64});
    return std::vector<Argument>{tensor, tensor, 1.0};
  };
  std::vector<Argument> arguments = argumentsAt();
  options.copies = {argumentsAt(), argumentsAt()};
  // 50 MiB of cache: twice that and what is left.
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.memoryBytes = size_t{80} << 30;
  info.cacheBytes = 50 << 20;
  EXPECT_EQ(copiesBeyondCache(info, 30 << 20), 4u);
  info.cacheBytes = 0;
  EXPECT_EQ(copiesBeyondCache(info, 1 << 20), 513u);
  EXPECT_EQ(copiesBeyondCache(info, 1), 1024u);
  info.memoryBytes = 64 << 20;
  EXPECT_EQ(copiesBeyondCache(info, 40 << 20), 1u);
  // Four launches are two turns of three.
  for (bool replays : {true, false}) {
    fake->launches.clear();
    options.replays = replays;
    EXPECT_EQ(measure(*device, *kernel, arguments, options).isReplayed, replays);
    ASSERT_EQ(fake->launches.size(), replays ? 6u : 12u);
    for (size_t i = 0; i < fake->launches.size(); ++i) {
      void *at = nullptr;
      std::memcpy(static_cast<void *>(&at), fake->launches[i].block.data(), sizeof at);
      EXPECT_EQ(at, buffers[i % 3]->data()) << i;
    }
  }
  options.copies = {{Tensor::of(std::span<float>(), {0}), Tensor::of(std::span<float>(), {0}), 1.0}};
  expectError([&] { measure(*device, *kernel, arguments, options); }, DiagId::ArgumentDevice, "argument 0 of a timed");
}

TEST_P(Gpu, MeasuresTheMedian) {
  std::shared_ptr<Device> device = first();
  auto kernel = device->load(image());
  DeviceBuffer buffer(*device, 32 * 256);
  std::array<Argument, 3> arguments = {buffer.tensor(DType::f32, {32, 64}), buffer.tensor(DType::f32, {32, 64}), 1.0};
  Timing timing = measure(*device, *kernel, arguments, {.warmup = 2, .repetitions = 6, .launchesPerSample = 5});
  EXPECT_EQ(fake->launches.size(), 32u);
  ASSERT_EQ(timing.microseconds.size(), 6u);
  EXPECT_NEAR(timing.median, 4.0, 1e-3);
  EXPECT_NEAR(timing.minimum, 2.0, 1e-3);
  EXPECT_EQ(fake->events, 0);
  std::vector<float> host(32 * 64);
  arguments[0] = Tensor::of(host, {32, 64});
  expectError([&] { measure(*device, *kernel, arguments); }, DiagId::ArgumentDevice, "argument 0 of a timed launch");
}
