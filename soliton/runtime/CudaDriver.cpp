// The CUDA driver behind GpuDriver. Constants and structures below restate the driver's public ABI.

#include "soliton/runtime/Errors.h"
#include "soliton/runtime/GpuDriver.h"
#include "soliton/runtime/LaunchPlan.h"

#include <algorithm>
#include <cstring>

namespace soliton::rt {
namespace {

enum DeviceAttribute : int {
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kMultiprocessorCount = 16,
  kSecondCacheBytes = 38,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kMaxSharedPerBlockOptin = 97,
};

enum FunctionAttribute : int { kMaxDynamicShared = 8, kNonPortableCluster = 14 };

enum JitOption : int {
  kInfoLog = 3,
  kInfoLogBytes = 4,
  kErrorLog = 5,
  kErrorLogBytes = 6,
  kLogVerbose = 12,
  kLineInfo = 13,
};

constexpr size_t kLogBytes = 16384;
constexpr uint32_t kDefaultSharedBytes = 48 * 1024;
constexpr uint32_t kPortableCluster = 8;
/// Attributes of a launch.
constexpr int kClusterDimension = 4, kMayBeginEarly = 6;

struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int flag;
  } value;
};

struct LaunchConfig {
  unsigned grid[3], threads[3], sharedBytes;
  void *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

void *const kParameterBuffer = reinterpret_cast<void *>(1);
void *const kParameterBytes = reinterpret_cast<void *>(2);

/// The engine moves bytes and fills with zeros: only the width matters, and that zero is zero in each type.
int tensorMapType(DType dtype) {
  switch (storageBits(dtype)) {
  case 8:
    return 0; // u8
  case 16:
    return dtype == DType::bf16 ? 9 : dtype == DType::f16 ? 6 : 1; // bf16, f16, u16
  case 32:
    return dtype == DType::f32 ? 7 : 2; // f32, u32
  case 64:
    return dtype == DType::f64 ? 8 : 4; // f64, u64
  default:
    return -1;
  }
}

class CudaDriver final : public GpuDriver {
public:
  explicit CudaDriver(void *library);

  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::string describe(int status) const override;
  DeviceInfo query(int index) const override;
  void *retainContext(int index) const override;
  void releaseContext(int index) const override { contextRelease(handle(index)); }
  void *enter(void *context) const override;
  void leave(void *token) const override;
  void *loadModule(const KernelImage &image, std::span<const std::byte> code, std::string &log) const override;
  void raiseLimits(void *function, const LaunchStep &step) const override;
  int launch(const GpuLaunch &launch) const override;
  int launch(const GpuLaunch &l, void **parameters, void **extra) const;
  void encodeTensorMap(const GpuTensorMap &map, std::byte *destination) const override;
  bool hasTensorMaps() const override { return tensorMapEncode && imageMapEncode; }
  bool hasClusters() const override { return launchEx; }

private:
  template <typename F>
  void bind(F &function, const char *name, bool optional = false) {
    function = reinterpret_cast<F>(symbol(name, optional));
  }
  void bindCommon();
  int handle(int index) const;
  int attribute(int which, int device) const;

  int (*errorName)(int, const char **) = nullptr;
  int (*errorString)(int, const char **) = nullptr;
  int (*deviceAttribute)(int *, int, int) = nullptr;
  int (*contextRetain)(void **, int) = nullptr;
  int (*contextRelease)(int) = nullptr;
  int (*contextCurrent)(void **) = nullptr;
  int (*contextPush)(void *) = nullptr;
  int (*contextPop)(void **) = nullptr;
  int (*functionSetAttribute)(void *, int, int) = nullptr;
  int (*launchEx)(const void *, void *, void **, void **) = nullptr;
  int (*tensorMapEncode)(void *map, int type, unsigned rank, void *data, const uint64_t *sizes, const uint64_t *strides,
                         const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion,
                         int fill) = nullptr;
  int (*imageMapEncode)(void *map, int type, unsigned rank, void *data, const uint64_t *sizes, const uint64_t *strides,
                        const int *lower, const int *upper, unsigned channels, unsigned pixels, const unsigned *steps,
                        int interleave, int swizzle, int promotion, int fill) = nullptr;
};

CudaDriver::CudaDriver(void *library) {
  adopt(library);
  bind(errorName, "cuGetErrorName");
  bind(errorString, "cuGetErrorString");
  bind(deviceAttribute, "cuDeviceGetAttribute");
  bind(contextRetain, "cuDevicePrimaryCtxRetain");
  bind(contextRelease, "cuDevicePrimaryCtxRelease_v2");
  bind(contextCurrent, "cuCtxGetCurrent");
  bind(contextPush, "cuCtxPushCurrent_v2");
  bind(contextPop, "cuCtxPopCurrent_v2");
  bind(functionSetAttribute, "cuFuncSetAttribute");
  bind(launchEx, "cuLaunchKernelEx", /*optional=*/true);
  bind(tensorMapEncode, "cuTensorMapEncodeTiled", /*optional=*/true);
  bind(imageMapEncode, "cuTensorMapEncodeIm2col", /*optional=*/true);
  bindCommon();
  check(api.init(0), "cuInit");
}

void CudaDriver::bindCommon() {
  bind(api.init, "cuInit");
  bind(api.deviceCount, "cuDeviceGetCount");
  bind(api.deviceGet, "cuDeviceGet");
  bind(api.deviceName, "cuDeviceGetName");
  bind(api.deviceMemory, "cuDeviceTotalMem_v2");
  bind(api.memAlloc, "cuMemAlloc_v2");
  bind(api.memFree, "cuMemFree_v2");
  bind(api.memAllocAsync, "cuMemAllocAsync", /*optional=*/true);
  bind(api.memFreeAsync, "cuMemFreeAsync", /*optional=*/true);
  bind(api.copyToDevice, "cuMemcpyHtoDAsync_v2");
  bind(api.copyToHost, "cuMemcpyDtoHAsync_v2");
  bind(api.fill, "cuMemsetD8Async");
  bind(api.moduleLoad, "cuModuleLoadDataEx");
  bind(api.moduleUnload, "cuModuleUnload");
  bind(api.moduleFunction, "cuModuleGetFunction");
  bind(api.functionAttribute, "cuFuncGetAttribute");
  bind(api.launch, "cuLaunchKernel");
  bind(api.streamCreate, "cuStreamCreate");
  bind(api.streamDestroy, "cuStreamDestroy_v2");
  bind(api.streamSynchronize, "cuStreamSynchronize");
  bind(api.synchronize, "cuCtxSynchronize");
  bind(api.eventCreate, "cuEventCreate");
  bind(api.eventDestroy, "cuEventDestroy_v2");
  bind(api.eventRecord, "cuEventRecord");
  bind(api.eventSynchronize, "cuEventSynchronize");
  bind(api.eventElapsed, "cuEventElapsedTime");
  bind(api.captureBegin, "cuStreamBeginCapture_v2", /*optional=*/true);
  bind(api.captureEnd, "cuStreamEndCapture", /*optional=*/true);
  bind(api.graphInstantiate, "cuGraphInstantiateWithFlags", /*optional=*/true);
  bind(api.graphDestroy, "cuGraphDestroy", /*optional=*/true);
  bind(api.graphLaunch, "cuGraphLaunch", /*optional=*/true);
  bind(api.executableDestroy, "cuGraphExecDestroy", /*optional=*/true);
}

std::string CudaDriver::describe(int status) const {
  const char *name = nullptr, *sentence = nullptr;
  if (errorName(status, &name) != 0 || !name)
    return "error " + std::to_string(status);
  bool explained = errorString(status, &sentence) == 0 && sentence;
  return "`" + std::string(name) + "`" + (explained ? " (" + std::string(sentence) + ")" : "");
}

int CudaDriver::handle(int index) const {
  int device = 0;
  check(api.deviceGet(&device, index), "cuDeviceGet");
  return device;
}

int CudaDriver::attribute(int which, int device) const {
  int value = 0;
  check(deviceAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

DeviceInfo CudaDriver::query(int index) const {
  int device = handle(index);
  char name[256] = {};
  check(api.deviceName(name, sizeof(name) - 1, device), "cuDeviceGetName");
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.index = index;
  info.name = name;
  info.architecture =
      "sm_" + std::to_string(attribute(kCapabilityMajor, device)) + std::to_string(attribute(kCapabilityMinor, device));
  check(api.deviceMemory(&info.memoryBytes, device), "cuDeviceTotalMem");
  info.multiprocessors = static_cast<uint32_t>(attribute(kMultiprocessorCount, device));
  info.maxSharedBytes = static_cast<uint32_t>(attribute(kMaxSharedPerBlockOptin, device));
  info.cacheBytes = static_cast<size_t>(std::max(attribute(kSecondCacheBytes, device), 0));
  for (size_t axis = 0; axis < 3; ++axis)
    info.limits.workgroups[axis] = static_cast<uint32_t>(attribute(kMaxGridX + static_cast<int>(axis), device));
  return info;
}

void *CudaDriver::retainContext(int index) const {
  void *context = nullptr;
  check(contextRetain(&context, handle(index)), "cuDevicePrimaryCtxRetain");
  return context;
}

void *CudaDriver::enter(void *context) const {
  void *current = nullptr;
  check(contextCurrent(&current), "cuCtxGetCurrent");
  if (current == context)
    return nullptr;
  check(contextPush(context), "cuCtxPushCurrent");
  return context;
}

void CudaDriver::leave(void *token) const {
  void *popped = nullptr;
  if (token)
    contextPop(&popped);
}

void *CudaDriver::loadModule(const KernelImage &image, std::span<const std::byte> bytes, std::string &log) const {
  std::vector<char> info(kLogBytes), errors(kLogBytes);
  int options[] = {kInfoLog, kInfoLogBytes, kErrorLog, kErrorLogBytes, kLogVerbose, kLineInfo};
  void *values[] = {info.data(),
                    reinterpret_cast<void *>(kLogBytes - 1),
                    errors.data(),
                    reinterpret_cast<void *>(kLogBytes - 1),
                    reinterpret_cast<void *>(uintptr_t(1)),
                    reinterpret_cast<void *>(uintptr_t(1))};
  // PTX is text and must end in a zero byte; binaries do not mind one more.
  std::vector<std::byte> code(bytes.begin(), bytes.end());
  code.push_back(std::byte(0));
  void *module = nullptr;
  int status = api.moduleLoad(&module, code.data(), std::size(options), options, values);
  if (status != 0) {
    std::string said = errors.data();
    fail(DiagId::DriverError,
         "loading `" + image.kernel + "` failed with " + describe(status) + (said.empty() ? "" : ": " + said));
  }
  log = info.data();
  return module;
}

void CudaDriver::raiseLimits(void *function, const LaunchStep &step) const {
  auto bytes = static_cast<int>(step.dynamicSharedBytes);
  if (step.dynamicSharedBytes > kDefaultSharedBytes)
    check(functionSetAttribute(function, kMaxDynamicShared, bytes), "cuFuncSetAttribute");
  if (uint64_t(step.cluster[0]) * step.cluster[1] * step.cluster[2] > kPortableCluster)
    check(functionSetAttribute(function, kNonPortableCluster, 1), "cuFuncSetAttribute");
}

/// Parameters one by one. A map is aligned in the constant bank, which does not begin at a multiple of its alignment:
/// where it lies among the parameters is the assembler's matter (0x30 behind three pointers on sm_90a, not 0x40), so a
/// block of ours with maps in it is not what a kernel takes: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES.
struct ParameterPointers {
  explicit ParameterPointers(const GpuLaunch &l) {
    size_t count = 0;
    auto *block = static_cast<std::byte *>(l.block);
    for (uint32_t offset : l.parameters)
      list[count++] = block + offset;
    for (uint32_t map = 0; map < l.maps; ++map)
      list[count++] = block + l.firstMap + map * kTensorMapBytes;
    list[count] = nullptr;
  }

  // With a workspace, and an end that nobody but a test looks for.
  std::array<void *, kMaxArguments + kMaxSymbols + kMaxTensorMaps + 2> list;
};

int CudaDriver::launch(const GpuLaunch &l) const {
  if (l.maps > 0)
    return launch(l, ParameterPointers(l).list.data(), nullptr);
  size_t bytes = l.blockBytes;
  void *extra[] = {kParameterBuffer, l.block, kParameterBytes, &bytes, nullptr};
  return launch(l, nullptr, extra);
}

/// With parameters one by one, or as a block.
int CudaDriver::launch(const GpuLaunch &l, void **parameters, void **extra) const {
  bool isClustered = l.cluster != std::array<uint32_t, 3>{1, 1, 1};
  if (!isClustered && !l.isDependent)
    return api.launch(l.function, l.grid[0], l.grid[1], l.grid[2], l.threads[0], l.threads[1], l.threads[2],
                      l.sharedBytes, l.stream, parameters, extra);
  LaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (isClustered) {
    attributes[count].id = kClusterDimension;
    std::copy(l.cluster.begin(), l.cluster.end(), attributes[count++].value.cluster);
  }
  if (l.isDependent) {
    attributes[count].id = kMayBeginEarly;
    attributes[count++].value.flag = 1;
  }
  LaunchConfig config = {{l.grid[0], l.grid[1], l.grid[2]},
                         {l.threads[0], l.threads[1], l.threads[2]},
                         l.sharedBytes,
                         l.stream,
                         attributes,
                         count};
  return launchEx(&config, l.function, parameters, extra);
}

void CudaDriver::encodeTensorMap(const GpuTensorMap &map, std::byte *destination) const {
  unsigned steps[5] = {1, 1, 1, 1, 1};
  constexpr int promoteTo128Bytes = 2;
  int swizzle = map.swizzle == 128 ? 3 : map.swizzle == 64 ? 2 : map.swizzle == 32 ? 1 : 0;
  if (map.corners > 0) {
    std::copy_n(map.steps.begin(), map.corners, steps + 1);
    return check(imageMapEncode(destination, tensorMapType(map.dtype), map.rank, map.data, map.sizes.data(),
                                map.strides.data(), map.lower.data(), map.upper.data(), map.box[0], map.box[1], steps,
                                /*interleave=*/0, swizzle, promoteTo128Bytes, /*fill with zeros=*/0),
                 "cuTensorMapEncodeIm2col");
  }
  check(tensorMapEncode(destination, tensorMapType(map.dtype), map.rank, map.data, map.sizes.data(), map.strides.data(),
                        map.box.data(), steps, /*interleave=*/0, swizzle, promoteTo128Bytes,
                        /*fill with zeros=*/0),
        "cuTensorMapEncodeTiled");
}

} // namespace

std::shared_ptr<GpuDriver> openCuda(const std::string &library) {
  void *handle = openLibrary(library);
  return handle ? std::make_shared<CudaDriver>(handle) : nullptr;
}

} // namespace soliton::rt
