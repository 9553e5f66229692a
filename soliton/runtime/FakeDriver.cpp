#include "soliton/runtime/FakeDriver.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#ifdef SOLITON_FAKE_HIP
#define FAKE(CUDA, HIP) HIP
static constexpr uintptr_t kEnd = 3;
#else
#define FAKE(CUDA, HIP) CUDA
static constexpr uintptr_t kEnd = 0;
#endif

using namespace soliton::rt;

static FakeState &state() {
  static FakeState instance;
  return instance;
}

/// Remembers the call and says whether it fails.
static int step(const char *name) {
  FakeState &s = state();
  if (s.recording)
    s.calls.push_back(name);
  return s.failing == name ? s.status : 0;
}

#define STEP(NAME)                                                                                                     \
  if (int status = step(NAME))                                                                                         \
  return status

static void remember(const void *function, std::array<unsigned, 3> grid, std::array<unsigned, 3> threads,
                     std::array<unsigned, 3> cluster, unsigned shared, void *stream, void **parameters, void **extra) {
  FakeState &s = state();
  constexpr size_t kMapBytes = 128;
  size_t mappedBytes = 0;
  void *asBlock[] = {reinterpret_cast<void *>(1), nullptr, reinterpret_cast<void *>(2), &mappedBytes,
                     reinterpret_cast<void *>(kEnd)};
  if (!extra && s.takesPointers && parameters) { // They point into a block, whose last parameter is a map.
    void **last = parameters;
    while (last[1])
      ++last;
    asBlock[1] = parameters[0];
    mappedBytes =
        static_cast<size_t>(static_cast<std::byte *>(*last) - static_cast<std::byte *>(parameters[0])) + kMapBytes;
    extra = asBlock;
  }
  if (!extra) // A caller other than the runtime.
    return;
  bool wellFormed = extra[0] == reinterpret_cast<void *>(1) && extra[2] == reinterpret_cast<void *>(2) &&
                    extra[4] == reinterpret_cast<void *>(kEnd);
  if (!wellFormed)
    std::abort();
  auto *block = static_cast<std::byte *>(extra[1]);
  const auto &entry = *static_cast<const std::string *>(function);
  if (s.recording)
    s.launches.push_back({entry,
                          grid,
                          threads,
                          cluster,
                          shared,
                          stream,
                          {block, block + *static_cast<size_t *>(extra[3])},
                          false,
                          extra == asBlock});
  if (!s.kernel)
    return;
  s.playing = entry;
  s.kernel(block);
}

extern "C" {

FakeState *solitonFakeState() {
  return &state();
}

int FAKE(cuInit, hipInit)(unsigned) {
  return step("cuInit");
}

int FAKE(cuDeviceGetCount, hipGetDeviceCount)(int *count) {
  STEP("cuDeviceGetCount");
  *count = state().numDevices;
  return 0;
}

int FAKE(cuDeviceGet, hipDeviceGet)(int *device, int index) {
  STEP("cuDeviceGet");
  *device = index;
  return 0;
}

int FAKE(cuDeviceGetName, hipDeviceGetName)(char *name, int bytes, int device) {
  STEP("cuDeviceGetName");
  std::strncpy(name, device == 0 ? "Fake GPU" : "Other GPU", static_cast<size_t>(bytes));
  return 0;
}

int FAKE(cuDeviceTotalMem_v2, hipDeviceTotalMem)(size_t *bytes, int) {
  STEP("cuDeviceTotalMem");
  *bytes = size_t(1) << 37;
  return 0;
}

#ifndef SOLITON_FAKE_INCOMPLETE
int FAKE(cuMemAlloc_v2, hipMalloc)(void **pointer, size_t bytes) {
  STEP("cuMemAlloc");
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  state().allocations[*pointer] = bytes;
  return 0;
}
#endif

int FAKE(cuMemFree_v2, hipFree)(void *pointer) {
  STEP("cuMemFree");
  if (!state().allocations.erase(pointer))
    return 1;
  std::free(pointer);
  return 0;
}

int FAKE(cuMemAllocAsync, hipMallocAsync)(void **pointer, size_t bytes, void *stream) {
  STEP("cuMemAllocAsync");
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*pointer, 0xff, bytes);
  state().allocations[*pointer] = bytes;
  state().workspaces[stream].push_back(bytes);
  return 0;
}

int FAKE(cuMemFreeAsync, hipFreeAsync)(void *pointer, void *) {
  STEP("cuMemFreeAsync");
  if (!state().allocations.erase(pointer))
    return 1;
  std::free(pointer);
  return 0;
}

int FAKE(cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync)(void *device, const void *host, size_t bytes, void *) {
  STEP("cuMemcpyHtoD");
  std::memcpy(device, host, bytes);
  return 0;
}

int FAKE(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync)(void *host, const void *device, size_t bytes, void *) {
  STEP("cuMemcpyDtoH");
  std::memcpy(host, device, bytes);
  return 0;
}

int FAKE(cuMemsetD8Async, hipMemsetD8Async)(void *device, unsigned char value, size_t bytes, void *) {
  STEP("cuMemsetD8");
  std::memset(device, value, bytes);
  return 0;
}

int FAKE(cuModuleLoadDataEx, hipModuleLoadDataEx)(void **module, const void *image, unsigned numOptions, int *options,
                                                  void **values) {
  FakeState &s = state();
  int status = step("cuModuleLoadDataEx");
  for (unsigned i = 0; i < numOptions; ++i)
    if (options[i] == (status ? 5 : 3))
      std::strcpy(static_cast<char *>(values[i]), (status ? s.errorLog : s.infoLog).c_str());
  if (status)
    return status;
#ifndef SOLITON_FAKE_HIP
  constexpr int lineInfo = 13;
  for (unsigned i = 0; i < numOptions; ++i)
    s.moduleLines |= options[i] == lineInfo && values[i];
  // Reads to the zero byte that text must end in.
  auto *bytes = static_cast<const std::byte *>(image);
  s.moduleImage.assign(bytes, bytes + std::strlen(static_cast<const char *>(image)) + 1);
#endif
  ++s.modules;
  *module = &s;
  return 0;
}

int FAKE(cuModuleUnload, hipModuleUnload)(void *) {
  STEP("cuModuleUnload");
  --state().modules;
  return 0;
}

int FAKE(cuModuleGetFunction, hipModuleGetFunction)(void **function, void *, const char *name) {
  STEP("cuModuleGetFunction");
  state().entry = name;
  *function = const_cast<std::string *>(&*state().functions.insert(name).first);
  return 0;
}

int FAKE(cuFuncGetAttribute, hipFuncGetAttribute)(int *value, int attribute, void *) {
  STEP("cuFuncGetAttribute");
  constexpr int values[] = {1024, 2048, 0, 16, 96};
  *value = attribute < 5 ? values[attribute] : -1;
  return 0;
}

int FAKE(cuLaunchKernel, hipModuleLaunchKernel)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned tx,
                                                unsigned ty, unsigned tz, unsigned shared, void *stream,
                                                void **parameters, void **extra) {
  STEP("cuLaunchKernel");
  bool known = false;
  for (const std::string &name : state().functions)
    known |= function == &name;
  if (!known)
    return 1;
  remember(function, {gx, gy, gz}, {tx, ty, tz}, {1, 1, 1}, shared, stream, parameters, extra);
  return 0;
}

int FAKE(cuStreamCreate, hipStreamCreateWithFlags)(void **stream, unsigned) {
  STEP("cuStreamCreate");
  *stream = reinterpret_cast<void *>(uintptr_t(0x100) + static_cast<uintptr_t>(++state().streams));
  return 0;
}

int FAKE(cuStreamDestroy_v2, hipStreamDestroy)(void *) {
  STEP("cuStreamDestroy");
  --state().streams;
  return 0;
}

int FAKE(cuStreamSynchronize, hipStreamSynchronize)(void *) {
  return step("cuStreamSynchronize");
}
int FAKE(cuCtxSynchronize, hipDeviceSynchronize)() {
  return step("cuCtxSynchronize");
}

int FAKE(cuEventCreate, hipEventCreateWithFlags)(void **event, unsigned) {
  STEP("cuEventCreate");
  *event = reinterpret_cast<void *>(uintptr_t(0x200) + static_cast<uintptr_t>(++state().events));
  return 0;
}

int FAKE(cuEventDestroy_v2, hipEventDestroy)(void *) {
  STEP("cuEventDestroy");
  --state().events;
  return 0;
}

int FAKE(cuEventRecord, hipEventRecord)(void *, void *) {
  return step("cuEventRecord");
}
int FAKE(cuEventSynchronize, hipEventSynchronize)(void *) {
  return step("cuEventSynchronize");
}

/// Samples of 0.03, 0.01, 0.02, 0.03, … milliseconds.
int FAKE(cuEventElapsedTime, hipEventElapsedTime)(float *milliseconds, void *, void *) {
  STEP("cuEventElapsedTime");
  static int count = 0;
  constexpr float samples[] = {0.03f, 0.01f, 0.02f};
  *milliseconds = samples[count++ % 3];
  return 0;
}

int FAKE(cuDeviceGetPCIBusId, hipDeviceGetPCIBusId)(char *text, int bytes, int device) {
  STEP("cuDeviceGetPCIBusId");
  std::strncpy(text, device == 0 ? "0000:01:00.0" : "0000:02:00.0", static_cast<size_t>(bytes));
  return 0;
}

#ifndef SOLITON_FAKE_INCOMPLETE

int FAKE(cuStreamBeginCapture_v2, hipStreamBeginCapture)(void *, int) {
  return step("cuStreamBeginCapture");
}

int FAKE(cuStreamEndCapture, hipStreamEndCapture)(void *, void **graph) {
  STEP("cuStreamEndCapture");
  *graph = reinterpret_cast<void *>(uintptr_t(0x200));
  return 0;
}

int FAKE(cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags)(void **executable, void *, unsigned long long) {
  STEP("cuGraphInstantiate");
  *executable = reinterpret_cast<void *>(uintptr_t(0x300));
  return 0;
}

int FAKE(cuGraphDestroy, hipGraphDestroy)(void *) {
  return step("cuGraphDestroy");
}

int FAKE(cuGraphLaunch, hipGraphLaunch)(void *, void *) {
  return step("cuGraphLaunch");
}

int FAKE(cuGraphExecDestroy, hipGraphExecDestroy)(void *) {
  return step("cuGraphExecDestroy");
}

#endif

#ifdef SOLITON_FAKE_HIP

const char *hipGetErrorName(int status) {
  return status == 1 ? "hipErrorInvalidValue" : nullptr;
}
const char *hipGetErrorString(int) {
  return "invalid argument";
}

int hipGetDevice(int *device) {
  STEP("hipGetDevice");
  FakeState &s = state();
  *device = s.contexts.empty() ? 0 : static_cast<int>(reinterpret_cast<uintptr_t>(s.contexts.back())) - 1;
  return 0;
}

int hipSetDevice(int device) {
  STEP("hipSetDevice");
  state().contexts = {reinterpret_cast<void *>(static_cast<uintptr_t>(device) + 1)};
  return 0;
}

int hipGetDevicePropertiesR0600(void *properties, int) {
  STEP("hipGetDeviceProperties");
  const std::string &text = state().properties;
  std::memcpy(static_cast<char *>(properties) + 1160, text.c_str(), text.size() + 1);
  return 0;
}

#else

int cuGetErrorName(int status, const char **name) {
  *name = status == 1 ? "CUDA_ERROR_INVALID_VALUE" : status == 218 ? "CUDA_ERROR_INVALID_PTX" : nullptr;
  return *name ? 0 : 1;
}

int cuGetErrorString(int, const char **text) {
  *text = "a sentence";
  return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
  STEP("cuDeviceGetAttribute");
  *value = attribute == 75                    ? state().capabilityMajor
           : attribute == 76                  ? state().capabilityMinor
           : attribute == 16                  ? 132
           : attribute == 97                  ? 232448
           : attribute == 38                  ? 50 << 20
           : attribute == 5                   ? 0x7fffffff
           : attribute == 6 || attribute == 7 ? 65535
                                              : -1;
  return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  STEP("cuDevicePrimaryCtxRetain");
  ++state().retained;
  *context = reinterpret_cast<void *>(static_cast<uintptr_t>(device) + 1);
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int) {
  STEP("cuDevicePrimaryCtxRelease");
  --state().retained;
  return 0;
}

int cuCtxGetCurrent(void **context) {
  STEP("cuCtxGetCurrent");
  *context = state().contexts.empty() ? nullptr : state().contexts.back();
  return 0;
}

int cuCtxPushCurrent_v2(void *context) {
  STEP("cuCtxPushCurrent");
  state().contexts.push_back(context);
  return 0;
}

int cuCtxPopCurrent_v2(void **context) {
  STEP("cuCtxPopCurrent");
  *context = state().contexts.back();
  state().contexts.pop_back();
  return 0;
}

int cuFuncSetAttribute(void *, int attribute, int value) {
  STEP("cuFuncSetAttribute");
  state().functionAttributes[attribute] = value;
  return 0;
}

int cuLaunchKernelEx(const void *config, void *function, void **parameters, void **extra) {
  STEP("cuLaunchKernelEx");
  const auto *words = static_cast<const unsigned *>(config);
  void *stream = nullptr;
  const unsigned *attributes = nullptr;
  std::memcpy(static_cast<void *>(&stream), static_cast<const char *>(config) + 32, sizeof(stream));
  std::memcpy(static_cast<void *>(&attributes), static_cast<const char *>(config) + 40, sizeof(attributes));
  constexpr unsigned cluster = 4, mayBeginEarly = 6, wordsEach = 18;
  std::array<unsigned, 3> clusters = {1, 1, 1};
  bool isDependent = false;
  for (const unsigned *each = attributes; each != attributes + words[12] * wordsEach; each += wordsEach) {
    if (each[0] != cluster && each[0] != mayBeginEarly)
      return 1;
    if (each[0] == cluster)
      clusters = {each[2], each[3], each[4]};
    isDependent |= each[0] == mayBeginEarly && each[2] == 1;
  }
  remember(function, {words[0], words[1], words[2]}, {words[3], words[4], words[5]}, clusters, words[6], stream,
           parameters, extra);
  if (state().recording && (extra || (parameters && state().takesPointers)))
    state().launches.back().isDependent = isDependent;
  return 0;
}

int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *data, const uint64_t *sizes,
                           const uint64_t *strides, const unsigned *box, const unsigned *, int, int swizzle, int, int) {
  STEP("cuTensorMapEncodeTiled");
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0)
    return 1;
  std::memset(map, 0xab, 128);
  state().maps.push_back(
      {type, swizzle, data, {sizes, sizes + rank}, {strides, strides + rank - 1}, {box, box + rank}});
  return 0;
}

int cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *data, const uint64_t *sizes,
                            const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                            unsigned pixels, const unsigned *steps, int, int swizzle, int, int) {
  STEP("cuTensorMapEncodeIm2col");
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0)
    return 1;
  std::memset(map, 0xcd, 128);
  state().maps.push_back({type,
                          swizzle,
                          data,
                          {sizes, sizes + rank},
                          {strides, strides + rank - 1},
                          {channels, pixels},
                          {lower, lower + rank - 2},
                          {upper, upper + rank - 2},
                          {steps, steps + rank}});
  return 0;
}

#endif

} // extern "C"
