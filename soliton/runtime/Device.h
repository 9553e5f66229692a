//===- Device.h - Where kernels run ------------------------------------------===//
//
// One interface for an NVIDIA GPU, an AMD GPU and the emulator. GPUs are reached through their driver library, opened
// at run time; nothing is linked, no process is started, and no compiler is needed.
//
//   Device &device = defaultDevice();                       // the first GPU, otherwise the emulator
//   auto kernel = device.load(image);
//   kernel->launch({Tensor::of(a, {64, 32}), Tensor::of(b, {64, 32})});
//
// Every failure is thrown as a CompileError whose diagnostics name the argument or carry the driver's own error name.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/KernelImage.h"
#include "soliton/runtime/Tensor.h"
#include "soliton/support/Diagnostics.h"

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace soliton::rt {

enum class DeviceKind : uint8_t { cuda, hip, emulator };

std::string_view name(DeviceKind kind);

/// How many workgroups one launch may have.
struct GridLimits {
  /// Along each axis.
  std::array<uint32_t, 3> workgroups = {0x7fffffff, 65535, 65535};
  /// Threads along an axis, and workgroups in all; 0: no limit of its own.
  uint64_t threads = 0, total = 0;
};

struct DeviceInfo {
  DeviceKind kind = DeviceKind::emulator;
  /// The number under which its driver knows it.
  int index = 0;
  /// What its maker calls it.
  std::string name;
  /// What images must be compiled for, as the driver reports it; empty for the emulator, which runs those of every
  /// target.
  std::string architecture;
  size_t memoryBytes = 0;
  uint32_t multiprocessors = 0;
  uint32_t maxSharedBytes = 0;
  /// Of the last cache in front of memory; 0: nothing tells.
  size_t cacheBytes = 0;
  GridLimits limits;

  /// Memory in which tensors need no copy.
  MemoryKind memory() const {
    return kind == DeviceKind::cuda ? MemoryKind::cuda : kind == DeviceKind::hip ? MemoryKind::hip : MemoryKind::host;
  }
};

/// A driver's stream; null is the default stream. Belongs to who created it.
struct Stream {
  void *handle = nullptr;
};

/// A driver's event; belongs to who created it.
struct Event {
  void *handle = nullptr;
};

/// Launches that were recorded once and run again as one; belongs to who captured it.
struct Graph {
  void *handle = nullptr;
};

/// Device memory that the caller lends for a launch; it must not be used by anything else until that is done, a launch
/// on another stream least of all.
struct Workspace {
  void *data = nullptr;
  size_t bytes = 0;
};

struct LaunchOptions {
  Stream stream = {};
  /// Values of the symbols that no argument binds, in the image's order.
  std::span<const int64_t> symbols = {};
  /// Without one, a launch that needs a workspace allocates it in the order of the stream.
  Workspace workspace = {};
};

/// What the loaded code takes of each thread and workgroup, as the driver reports it.
struct KernelResources {
  int registers = 0;
  /// Bytes of local memory a thread uses; beyond 0 the kernel spills.
  int localBytes = 0;
  int staticSharedBytes = 0;
  int maxThreads = 0;
};

/// A kernel in a device's memory, ready to launch. Outlives neither its device nor the process.
class LoadedKernel {
public:
  virtual ~LoadedKernel() = default;

  const KernelImage &image() const { return kernel; }
  virtual KernelResources resources() const = 0;
  /// What the driver's compiler said, or what the emulator warned of in the last launch; empty if nothing.
  virtual const std::string &log() const = 0;

  /// Bytes of workspace that such a launch needs; its address must be a multiple of `kWorkspaceAlignment`. Throws for
  /// arguments that `launch` would refuse.
  virtual uint64_t workspaceBytes(std::span<const Argument> arguments, const LaunchOptions &options = {}) const = 0;

  /// Checks the arguments and enqueues the kernel; returns before it has run. Tensors in the device's own memory are
  /// used in place and nothing is allocated. A host tensor on a GPU is copied in, and back if it is an output; then the
  /// call waits for the kernel.
  virtual void launch(std::span<const Argument> arguments, const LaunchOptions &options = {}) = 0;
  void launch(std::initializer_list<Argument> arguments, const LaunchOptions &options = {}) {
    launch(std::span(arguments.begin(), arguments.size()), options);
  }

protected:
  explicit LoadedKernel(const KernelImage &image) : kernel(image) {}
  KernelImage kernel;
};

class Device {
public:
  virtual ~Device() = default;
  virtual const DeviceInfo &info() const = 0;

  virtual void *allocate(size_t bytes) = 0;
  virtual void free(void *memory) = 0;
  virtual void copyToDevice(void *device, const void *host, size_t bytes, Stream stream = {}) = 0;
  virtual void copyToHost(void *host, const void *device, size_t bytes, Stream stream = {}) = 0;
  virtual void fill(void *memory, uint8_t value, size_t bytes, Stream stream = {}) = 0;

  virtual std::unique_ptr<LoadedKernel> load(const KernelImage &image) = 0;

  virtual Stream createStream() = 0;
  virtual void destroy(Stream stream) = 0;
  virtual void synchronise(Stream stream) = 0;
  /// Waits for everything on the device.
  virtual void synchronise() = 0;

  virtual Event createEvent() = 0;
  virtual void destroy(Event event) = 0;
  virtual void record(Event event, Stream stream = {}) = 0;
  /// Waits for `end`; the time between both on the device.
  virtual double microseconds(Event start, Event end) = 0;

  /// What `enqueue` puts on a stream of its own, without running it; nothing where the device or its driver has no
  /// graphs.
  virtual std::optional<Graph> capture(const std::function<void(Stream)> &) { return std::nullopt; }
  virtual void replay(Graph, Stream) {}
  virtual void destroy(Graph) {}
};

/// Device memory that is freed with its scope.
class DeviceBuffer {
public:
  DeviceBuffer(Device &device, size_t bytes) : device(&device), memory(device.allocate(bytes)), size(bytes) {}
  DeviceBuffer(DeviceBuffer &&other) noexcept : device(other.device), memory(other.memory), size(other.size) {
    other.memory = nullptr;
  }
  DeviceBuffer &operator=(DeviceBuffer &&) = delete;
  ~DeviceBuffer();

  void *data() const { return memory; }
  size_t bytes() const { return size; }
  /// A dense view of the whole of it.
  Tensor tensor(DType dtype, std::initializer_list<int64_t> shape) const;

private:
  Device *device;
  void *memory;
  size_t size;
};

struct Timing {
  /// One sample per repetition, in the order they ran.
  std::vector<double> microseconds;
  double median = 0;
  double minimum = 0;
  /// The launches of a sample were replayed from a graph, so that the host's part is not in it.
  bool isReplayed = false;
};

struct TimingOptions {
  int warmup = 3;
  int repetitions = 20;
  /// Launches between two events; more of them hide the cost of the events.
  int launchesPerSample = 1;
  LaunchOptions launch = {};
  /// From a graph where the device has them; `Timing::isReplayed` says.
  bool replays = false;
  /// Arguments like the given ones, elsewhere in memory: launches take turns with all of them, so that what one reads
  /// is in no cache if the others are larger than that. A sample is some whole turns then.
  std::vector<std::vector<Argument>> copies = {};
};

/// How many `TimingOptions::copies` of arguments of so many bytes it takes that none is in a cache when its turn comes
/// again: the others are twice the last cache, as far as 1,024 of them and a quarter of memory suffice. The emulator
/// has no caches, and takes turns with one.
size_t copiesBeyondCache(const DeviceInfo &info, size_t bytes);

/// Times launches by events on the device. Arguments must lie in its memory, for copies would be timed too.
Timing measure(Device &device, LoadedKernel &kernel, std::span<const Argument> arguments,
               const TimingOptions &options = {});

/// Where the driver libraries are; an empty name means not to look.
struct DeviceSearch {
  std::string cudaLibrary = "libcuda.so.1";
  std::string hipLibrary = "libamdhip64.so";

  /// As above, changed by `SOLITON_CUDA_LIBRARY` and `SOLITON_HIP_LIBRARY`.
  static DeviceSearch fromEnvironment();
};

struct FoundDevices {
  /// GPUs by driver and number, the emulator last; never empty.
  std::vector<std::shared_ptr<Device>> devices;
  /// Why a driver that is there gave no device. A driver that is not there is no problem.
  std::vector<Diagnostic> problems;
};

FoundDevices findDevices(const DeviceSearch &search = DeviceSearch::fromEnvironment());

/// What `findDevices` found on the first call.
const FoundDevices &devices();

/// The first GPU, or the emulator.
Device &defaultDevice();

/// The device by name: `cuda`, `cuda:1`, `hip:0`, `emulator`. Throws CompileError `no-device`, which lists those there
/// are.
Device &device(std::string_view name);

/// Which of `kind` a device can load.
bool canLoad(DeviceKind device, ImageKind image);

} // namespace soliton::rt
