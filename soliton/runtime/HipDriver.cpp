// The HIP runtime behind GpuDriver, symmetric to CudaDriver. Tested against a recording stand-in of the library only;
// it has not been executed on an AMD GPU.

#include "soliton/runtime/Errors.h"
#include "soliton/runtime/GpuDriver.h"

#include <algorithm>
#include <string_view>

namespace soliton::rt {
namespace {

void *const kParameterBuffer = reinterpret_cast<void *>(1);
void *const kParameterBytes = reinterpret_cast<void *>(2);
void *const kParameterEnd = reinterpret_cast<void *>(3);

/// No version of the property structure is larger.
constexpr size_t kPropertyBytes = 8192;

class HipDriver final : public GpuDriver {
public:
  explicit HipDriver(void *library);

  DeviceKind kind() const override { return DeviceKind::hip; }
  std::string describe(int status) const override;
  DeviceInfo query(int index) const override;
  // HIP selects a device per thread instead of a context: the number is the token, plus one so that null means none.
  void *retainContext(int index) const override { return reinterpret_cast<void *>(intptr_t(index) + 1); }
  void releaseContext(int) const override {}
  void *enter(void *context) const override;
  void leave(void *token) const override;
  void *loadModule(const KernelImage &image, std::span<const std::byte> code, std::string &log) const override;
  void raiseLimits(void *, const LaunchStep &) const override {} // All shared memory is available without asking.
  int launch(const GpuLaunch &launch) const override;
  void encodeTensorMap(const GpuTensorMap &, std::byte *) const override {
    fail(DiagId::ImageMismatch, "this device has no tensor maps");
  }
  bool hasTensorMaps() const override { return false; }
  bool hasClusters() const override { return false; }

private:
  template <typename F>
  void bind(F &function, const char *name, bool optional = false) {
    function = reinterpret_cast<F>(symbol(name, optional));
  }
  void bindCommon();
  std::string architecture(int device) const;

  const char *(*errorName)(int) = nullptr;
  const char *(*errorString)(int) = nullptr;
  int (*deviceCurrent)(int *) = nullptr;
  int (*deviceSelect)(int) = nullptr;
  int (*deviceProperties)(void *, int) = nullptr;
};

HipDriver::HipDriver(void *library) {
  adopt(library);
  bind(errorName, "hipGetErrorName");
  bind(errorString, "hipGetErrorString");
  bind(deviceCurrent, "hipGetDevice");
  bind(deviceSelect, "hipSetDevice");
  bind(deviceProperties, "hipGetDevicePropertiesR0600", /*optional=*/true);
  if (!deviceProperties)
    bind(deviceProperties, "hipGetDeviceProperties");
  bindCommon();
  check(api.init(0), "hipInit");
}

void HipDriver::bindCommon() {
  bind(api.init, "hipInit");
  bind(api.deviceCount, "hipGetDeviceCount");
  bind(api.deviceGet, "hipDeviceGet");
  bind(api.deviceName, "hipDeviceGetName");
  bind(api.deviceMemory, "hipDeviceTotalMem");
  bind(api.memAlloc, "hipMalloc");
  bind(api.memFree, "hipFree");
  bind(api.memAllocAsync, "hipMallocAsync", /*optional=*/true);
  bind(api.memFreeAsync, "hipFreeAsync", /*optional=*/true);
  bind(api.copyToDevice, "hipMemcpyHtoDAsync");
  bind(api.copyToHost, "hipMemcpyDtoHAsync");
  bind(api.fill, "hipMemsetD8Async");
  bind(api.moduleLoad, "hipModuleLoadDataEx");
  bind(api.moduleUnload, "hipModuleUnload");
  bind(api.moduleFunction, "hipModuleGetFunction");
  bind(api.functionAttribute, "hipFuncGetAttribute");
  bind(api.launch, "hipModuleLaunchKernel");
  bind(api.streamCreate, "hipStreamCreateWithFlags");
  bind(api.streamDestroy, "hipStreamDestroy");
  bind(api.streamSynchronize, "hipStreamSynchronize");
  bind(api.synchronize, "hipDeviceSynchronize");
  bind(api.eventCreate, "hipEventCreateWithFlags");
  bind(api.eventDestroy, "hipEventDestroy");
  bind(api.eventRecord, "hipEventRecord");
  bind(api.eventSynchronize, "hipEventSynchronize");
  bind(api.eventElapsed, "hipEventElapsedTime");
  bind(api.captureBegin, "hipStreamBeginCapture", /*optional=*/true);
  bind(api.captureEnd, "hipStreamEndCapture", /*optional=*/true);
  bind(api.graphInstantiate, "hipGraphInstantiateWithFlags", /*optional=*/true);
  bind(api.graphDestroy, "hipGraphDestroy", /*optional=*/true);
  bind(api.graphLaunch, "hipGraphLaunch", /*optional=*/true);
  bind(api.executableDestroy, "hipGraphExecDestroy", /*optional=*/true);
}

std::string HipDriver::describe(int status) const {
  const char *name = errorName(status), *sentence = errorString(status);
  if (!name)
    return "error " + std::to_string(status);
  return "`" + std::string(name) + "`" + (sentence ? " (" + std::string(sentence) + ")" : "");
}

/// The property structure changes between versions; the architecture is its only text that starts with `gfx`.
std::string HipDriver::architecture(int device) const {
  std::vector<char> properties(kPropertyBytes + 1);
  check(deviceProperties(properties.data(), device), "hipGetDeviceProperties");
  std::string_view all(properties.data(), kPropertyBytes);
  size_t start = all.find("gfx");
  if (start == std::string_view::npos)
    return "";
  std::string name(properties.data() + start);
  return name.substr(0, name.find(':'));
}

DeviceInfo HipDriver::query(int index) const {
  int device = 0;
  check(api.deviceGet(&device, index), "hipDeviceGet");
  char name[256] = {};
  check(api.deviceName(name, sizeof(name) - 1, device), "hipDeviceGetName");
  DeviceInfo info;
  info.kind = DeviceKind::hip;
  info.index = index;
  info.name = name;
  info.architecture = architecture(device);
  check(api.deviceMemory(&info.memoryBytes, device), "hipDeviceTotalMem");
  // A dispatch packet counts threads, in 32 bits an axis.
  info.limits.threads = 0xffffffff;
  return info;
}

void *HipDriver::enter(void *context) const {
  int current = 0, wanted = static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1;
  check(deviceCurrent(&current), "hipGetDevice");
  if (current == wanted)
    return nullptr;
  check(deviceSelect(wanted), "hipSetDevice");
  return reinterpret_cast<void *>(intptr_t(current) + 1);
}

void HipDriver::leave(void *token) const {
  if (token)
    deviceSelect(static_cast<int>(reinterpret_cast<intptr_t>(token)) - 1);
}

void *HipDriver::loadModule(const KernelImage &image, std::span<const std::byte> code, std::string &) const {
  void *module = nullptr;
  int status = api.moduleLoad(&module, code.data(), 0, nullptr, nullptr);
  if (status != 0)
    fail(DiagId::DriverError, "loading `" + image.kernel + "` failed with " + describe(status));
  return module;
}

int HipDriver::launch(const GpuLaunch &l) const {
  size_t bytes = l.blockBytes;
  void *extra[] = {kParameterBuffer, l.block, kParameterBytes, &bytes, kParameterEnd};
  return api.launch(l.function, l.grid[0], l.grid[1], l.grid[2], l.threads[0], l.threads[1], l.threads[2],
                    l.sharedBytes, l.stream, nullptr, extra);
}

} // namespace

std::shared_ptr<GpuDriver> openHip(const std::string &library) {
  void *handle = openLibrary(library);
  return handle ? std::make_shared<HipDriver>(handle) : nullptr;
}

} // namespace soliton::rt
