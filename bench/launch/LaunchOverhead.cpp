// What a launch through the runtime costs more than the driver's own launch of the same kernel.
//
//   $ launch-overhead
//   NVIDIA H200: kernel of 3 arrays and 3 sizes, median of 200 batches of 100 launches
//   driver   2.10 us
//   runtime  2.25 us
//   overhead 0.15 us (at most 5)
//
// Host time from the first to the last call of a batch; the device is idle before each batch and its queue never full.
// The two kinds of batches alternate, so that both see the same machine. Exits with 1 where the overhead is beyond 5
// us, with 2 where there is no CUDA device.

#include "soliton/runtime/Device.h"
#include "soliton/runtime/GpuDriver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

using namespace soliton;
using namespace soliton::rt;

namespace {

constexpr int kBatches = 200;
constexpr int kLaunches = 100;
constexpr double kLimitMicroseconds = 5;

constexpr char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry touch(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 m, .param .u32 n, .param .u32 k)
{
  ret;
}
)";

/// touch(a: f16[M, K], b: f16[N, K], c: f32[M, N]), as a matrix product would be launched.
KernelImage touchImage() {
  LaunchExpr m = LaunchExpr::symbol(0), n = LaunchExpr::symbol(1), k = LaunchExpr::symbol(2);
  KernelImage image;
  image.kernel = image.entry = "touch";
  image.target = "sm_70";
  image.kind = ImageKind::ptx;
  image.code.resize(sizeof(kPtx) - 1);
  std::memcpy(image.code.data(), kPtx, sizeof(kPtx) - 1);
  image.threads = {128, 1, 1};
  image.grid = {LaunchExpr::apply(LaunchOp::ceildiv, {m, 128}), LaunchExpr::apply(LaunchOp::ceildiv, {n, 256}), 1};
  auto buffer = [](const char *name, DType dtype, LaunchExpr rows, LaunchExpr columns) {
    ArgumentSpec spec;
    spec.name = name;
    spec.dtype = dtype;
    spec.shape = {rows, columns};
    spec.alignment = 16;
    return spec;
  };
  image.arguments = {buffer("a", DType::f16, m, k), buffer("b", DType::f16, n, k), buffer("c", DType::f32, m, n)};
  image.arguments[2].isOutput = true;
  image.symbols = {{"M", 0, 0}, {"N", 1, 0}, {"K", 0, 1}};
  image.checks = {{LaunchExpr::apply(LaunchOp::eq, {LaunchExpr::apply(LaunchOp::mod, {k, 64}), 0}),
                   "`K` must be a multiple of 64"}};
  return image;
}

template <typename Launch>
double batchMicroseconds(Device &device, Launch launch) {
  device.synchronise();
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i)
    launch();
  auto elapsed = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::micro>(elapsed).count() / kLaunches;
}

double median(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

/// The same kernel by the driver's calls alone, in the context that the runtime uses.
class RawKernel {
public:
  explicit RawKernel(GpuDriver &driver) : driver(driver) {
    token = driver.enter(driver.retainContext(0));
    driver.check(driver.api.moduleLoad(&module, kPtx, 0, nullptr, nullptr), "cuModuleLoadDataEx");
    driver.check(driver.api.moduleFunction(&function, module, "touch"), "cuModuleGetFunction");
  }
  ~RawKernel() {
    driver.api.moduleUnload(module);
    driver.leave(token);
    driver.releaseContext(0);
  }
  void launch(void **parameters, unsigned gridX, unsigned gridY) {
    driver.check(driver.api.launch(function, gridX, gridY, 1, 128, 1, 1, 0, nullptr, parameters, nullptr),
                 "cuLaunchKernel");
  }

private:
  GpuDriver &driver;
  void *token = nullptr, *module = nullptr, *function = nullptr;
};

int compare(Device &device, GpuDriver &driver) {
  auto kernel = device.load(touchImage());
  DeviceBuffer a(device, 512 * 256 * 2), b(device, 512 * 256 * 2), c(device, 512 * 512 * 4);
  std::array<Argument, 3> arguments = {a.tensor(DType::f16, {512, 256}), b.tensor(DType::f16, {512, 256}),
                                       c.tensor(DType::f32, {512, 512})};
  RawKernel raw(driver);
  void *pointers[] = {a.data(), b.data(), c.data()};
  int32_t sizes[] = {512, 512, 256};
  auto at = [](auto &value) { return static_cast<void *>(&value); };
  void *parameters[] = {at(pointers[0]), at(pointers[1]), at(pointers[2]), at(sizes[0]), at(sizes[1]), at(sizes[2])};
  std::vector<double> rawTimes, ourTimes;
  for (int batch = -10; batch < kBatches; ++batch) {
    double rawTime = batchMicroseconds(device, [&] { raw.launch(parameters, 4, 2); });
    double ourTime = batchMicroseconds(device, [&] { kernel->launch(arguments); });
    if (batch < 0) // The first batches warm both up.
      continue;
    rawTimes.push_back(rawTime);
    ourTimes.push_back(ourTime);
  }
  device.synchronise();
  double overhead = median(ourTimes) - median(rawTimes);
  std::printf("%s: kernel of 3 arrays and 3 sizes, median of %d batches of %d launches\n", device.info().name.c_str(),
              kBatches, kLaunches);
  std::printf("driver   %.3f us\nruntime  %.3f us\noverhead %.3f us (at most %g)\n", median(rawTimes), median(ourTimes),
              overhead, kLimitMicroseconds);
  return overhead <= kLimitMicroseconds ? 0 : 1;
}

} // namespace

int main() {
  try {
    DeviceSearch search = DeviceSearch::fromEnvironment();
    search.hipLibrary.clear();
    FoundDevices found = findDevices(search);
    if (!found.problems.empty())
      std::fputs(format(found.problems).c_str(), stderr);
    if (found.devices.front()->info().kind != DeviceKind::cuda) {
      std::fputs("launch-overhead: found no CUDA device\n", stderr);
      return 2;
    }
    return compare(*found.devices.front(), *openCuda(search.cudaLibrary));
  } catch (const CompileError &error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
