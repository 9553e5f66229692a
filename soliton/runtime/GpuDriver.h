//===- GpuDriver.h - A vendor's driver, opened at run time -------------------===//
//
// CUDA's and HIP's driver calls agree in signature almost everywhere. What agrees is one table of functions, filled by
// name from the library; what differs (contexts, error names, architecture, clusters, tensor maps) is virtual. Nothing
// of either vendor is included or linked.
//
//   std::shared_ptr<GpuDriver> driver = openCuda("libcuda.so.1");      // null where there is no such library
//   driver->check(driver->api.memAlloc(&pointer, bytes), "cuMemAlloc");
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/Device.h"

#include <memory>
#include <span>

namespace soliton::rt {

/// Functions with one ABI in both drivers. A status of 0 is success.
struct GpuApi {
  int (*init)(unsigned flags) = nullptr;
  int (*deviceCount)(int *count) = nullptr;
  int (*deviceGet)(int *device, int index) = nullptr;
  int (*deviceName)(char *name, int bytes, int device) = nullptr;
  int (*deviceMemory)(size_t *bytes, int device) = nullptr;
  int (*memAlloc)(void **pointer, size_t bytes) = nullptr;
  int (*memFree)(void *pointer) = nullptr;
  /// In the order of a stream; null where the driver is too old.
  int (*memAllocAsync)(void **pointer, size_t bytes, void *stream) = nullptr;
  int (*memFreeAsync)(void *pointer, void *stream) = nullptr;
  int (*copyToDevice)(void *device, const void *host, size_t bytes, void *stream) = nullptr;
  int (*copyToHost)(void *host, const void *device, size_t bytes, void *stream) = nullptr;
  int (*fill)(void *device, unsigned char value, size_t bytes, void *stream) = nullptr;
  int (*moduleLoad)(void **module, const void *image, unsigned numOptions, int *options, void **values) = nullptr;
  int (*moduleUnload)(void *module) = nullptr;
  int (*moduleFunction)(void **function, void *module, const char *name) = nullptr;
  int (*functionAttribute)(int *value, int attribute, void *function) = nullptr;
  int (*launch)(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned threadsX, unsigned threadsY,
                unsigned threadsZ, unsigned sharedBytes, void *stream, void **parameters, void **extra) = nullptr;
  int (*streamCreate)(void **stream, unsigned flags) = nullptr;
  int (*streamDestroy)(void *stream) = nullptr;
  int (*streamSynchronize)(void *stream) = nullptr;
  int (*synchronize)() = nullptr;
  int (*eventCreate)(void **event, unsigned flags) = nullptr;
  int (*eventDestroy)(void *event) = nullptr;
  int (*eventRecord)(void *event, void *stream) = nullptr;
  int (*eventSynchronize)(void *event) = nullptr;
  int (*eventElapsed)(float *milliseconds, void *start, void *end) = nullptr;
  /// Null where the driver is too old, all of them or none.
  int (*captureBegin)(void *stream, int mode) = nullptr;
  int (*captureEnd)(void *stream, void **graph) = nullptr;
  int (*graphInstantiate)(void **executable, void *graph, unsigned long long flags) = nullptr;
  int (*graphDestroy)(void *graph) = nullptr;
  int (*graphLaunch)(void *executable, void *stream) = nullptr;
  int (*executableDestroy)(void *executable) = nullptr;

  bool hasGraphs() const {
    return captureBegin && captureEnd && graphInstantiate && graphDestroy && graphLaunch && executableDestroy;
  }
};

/// One workgroup grid, as the driver takes it.
struct GpuLaunch {
  void *function;
  std::array<uint32_t, 3> grid, threads, cluster;
  uint32_t sharedBytes;
  void *stream;
  void *block;
  size_t blockBytes;
  /// LaunchStep::isDependent
  bool isDependent;
  /// Where in the block each parameter lies that is no tensor map, in the order of the kernel; then the first map, and
  /// how many there are.
  std::span<const uint32_t> parameters = {};
  uint32_t firstMap = 0, maps = 0;
};

/// A tensor map with all its formulas evaluated.
struct GpuTensorMap {
  void *data;
  DType dtype;
  uint32_t rank;
  std::array<uint64_t, 5> sizes, strides;
  std::array<uint32_t, 5> box;
  uint32_t swizzle;
  /// How many dimensions have corners; TensorMapSpec says what they are.
  uint32_t corners;
  std::array<int32_t, 3> lower, upper;
  std::array<uint32_t, 3> steps;

  bool operator==(const GpuTensorMap &) const = default;
};

class GpuDriver {
public:
  virtual ~GpuDriver();
  GpuDriver(const GpuDriver &) = delete;

  GpuApi api;

  virtual DeviceKind kind() const = 0;
  /// The driver's name and sentence for a status: `CUDA_ERROR_INVALID_VALUE (invalid argument)`.
  virtual std::string describe(int status) const = 0;
  virtual DeviceInfo query(int index) const = 0;

  /// What must be current while calls are made for a device; `enter` returns what `leave` needs to restore.
  virtual void *retainContext(int index) const = 0;
  virtual void releaseContext(int index) const = 0;
  virtual void *enter(void *context) const = 0;
  virtual void leave(void *token) const = 0;

  /// Loads code of the image: its own, or that of a further kernel.
  virtual void *loadModule(const KernelImage &image, std::span<const std::byte> code, std::string &log) const = 0;
  /// Lets a function use more shared memory or larger clusters than the driver's default.
  virtual void raiseLimits(void *function, const LaunchStep &step) const = 0;
  virtual int launch(const GpuLaunch &launch) const = 0;
  /// Writes `kTensorMapBytes` bytes to `destination`.
  virtual void encodeTensorMap(const GpuTensorMap &map, std::byte *destination) const = 0;
  virtual bool hasTensorMaps() const = 0;
  virtual bool hasClusters() const = 0;

  /// Throws CompileError `driver-error` unless `status` is success.
  void check(int status, const char *call) const {
    if (status != 0)
      failCall(status, call);
  }

protected:
  GpuDriver() = default;
  /// Takes over an open library.
  void adopt(void *handle) { library = handle; }
  /// The function of that name; null where an optional one is missing, otherwise throws `driver-error`.
  void *symbol(const char *name, bool optional = false) const;
  [[noreturn]] void failCall(int status, const char *call) const;

private:
  void *library = nullptr;
};

/// Both return null where the library is not there, and throw CompileError `driver-error` where it is but fails.
std::shared_ptr<GpuDriver> openCuda(const std::string &library);
std::shared_ptr<GpuDriver> openHip(const std::string &library);

/// Opens a shared library; null where it is not there.
void *openLibrary(const std::string &name);

} // namespace soliton::rt
