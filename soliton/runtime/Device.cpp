#include "soliton/runtime/Device.h"

#include "soliton/runtime/EmulatorDevice.h"
#include "soliton/runtime/Errors.h"
#include "soliton/runtime/GpuDevice.h"

#include <algorithm>
#include <cstdlib>

namespace soliton::rt {
namespace {

using Open = std::shared_ptr<GpuDriver> (*)(const std::string &);

void addDevices(FoundDevices &found, const std::string &library, Open open) {
  if (library.empty())
    return;
  try {
    std::shared_ptr<GpuDriver> driver = open(library);
    if (!driver)
      return;
    for (std::shared_ptr<Device> &device : devicesOf(driver))
      found.devices.push_back(std::move(device));
  } catch (const CompileError &error) {
    for (Diagnostic problem : error.diagnostics()) {
      problem.severity = Severity::warning;
      problem.message = "`" + library + "` gives no device: " + problem.message;
      found.problems.push_back(std::move(problem));
    }
  }
}

void overrideFrom(const char *variable, std::string &library) {
  if (const char *value = std::getenv(variable))
    library = value;
}

std::string deviceName(const Device &device) {
  const DeviceInfo &info = device.info();
  std::string kind(name(info.kind));
  return info.kind == DeviceKind::emulator ? kind : kind + ":" + std::to_string(info.index);
}

/// Events that are destroyed with their scope.
class ScopedEvent {
public:
  explicit ScopedEvent(Device &device) : device(device), event(device.createEvent()) {}
  ~ScopedEvent() {
    try {
      device.destroy(event);
    } catch (const CompileError &) {
      // The measurement's own error is the one to report.
    }
  }
  ScopedEvent(const ScopedEvent &) = delete;
  Device &device;
  Event event;
};

double medianOf(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  size_t middle = samples.size() / 2;
  return samples.size() % 2 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

} // namespace

std::string_view name(DeviceKind kind) {
  return kind == DeviceKind::cuda ? "cuda" : kind == DeviceKind::hip ? "hip" : "emulator";
}

bool canLoad(DeviceKind device, ImageKind image) {
  switch (image) {
  case ImageKind::ptx:
  case ImageKind::cubin:
    return device == DeviceKind::cuda;
  case ImageKind::hsaco:
    return device == DeviceKind::hip;
  case ImageKind::emulator:
    return device == DeviceKind::emulator;
  }
  return false;
}

DeviceBuffer::~DeviceBuffer() {
  try {
    device->free(memory);
  } catch (const CompileError &) {
    // A destructor has nobody to tell; the next call on the device reports the same error.
  }
}

Tensor DeviceBuffer::tensor(DType dtype, std::initializer_list<int64_t> shape) const {
  Tensor view = Tensor::dense(memory, dtype, shape, device->info().memory(), device->info().index);
  std::optional<int64_t> needed = view.bytes();
  if (!needed || static_cast<size_t>(*needed) > size)
    fail(DiagId::ArgumentShape, view.toString() + " does not fit a buffer of " + std::to_string(size) + " bytes");
  return view;
}

DeviceSearch DeviceSearch::fromEnvironment() {
  DeviceSearch search;
  overrideFrom("SOLITON_CUDA_LIBRARY", search.cudaLibrary);
  overrideFrom("SOLITON_HIP_LIBRARY", search.hipLibrary);
  return search;
}

FoundDevices findDevices(const DeviceSearch &search) {
  FoundDevices found;
  addDevices(found, search.cudaLibrary, openCuda);
  addDevices(found, search.hipLibrary, openHip);
  found.devices.push_back(makeEmulatorDevice());
  return found;
}

const FoundDevices &devices() {
  // Never destroyed: at the end of the process the driver may be gone before us.
  static const FoundDevices *found = new FoundDevices(findDevices());
  return *found;
}

Device &defaultDevice() {
  return *devices().devices.front();
}

Device &device(std::string_view wanted) {
  std::vector<std::string> names;
  for (const std::shared_ptr<Device> &each : devices().devices) {
    if (deviceName(*each) == wanted || name(each->info().kind) == wanted)
      return *each;
    names.push_back(deviceName(*each));
  }
  Diagnostic wrong =
      diagnose(DiagId::NoDevice, "found no device `" + std::string(wanted) + "`", "there is " + listOf(names));
  for (const Diagnostic &problem : devices().problems)
    wrong.notes.push_back({Place(), problem.message});
  throw CompileError({wrong});
}

namespace {
/// A graph that goes with its scope.
class ScopedGraph {
public:
  ScopedGraph(Device &device, std::optional<Graph> graph) : device(device), graph(graph) {}
  ~ScopedGraph() {
    if (graph)
      device.destroy(*graph);
  }
  ScopedGraph(const ScopedGraph &) = delete;
  ScopedGraph &operator=(const ScopedGraph &) = delete;

  bool isThere() const { return graph.has_value(); }
  void replay(Stream stream) const { device.replay(*graph, stream); }

private:
  Device &device;
  std::optional<Graph> graph;
};
} // namespace

size_t copiesBeyondCache(const DeviceInfo &info, size_t bytes) {
  constexpr size_t kMost = 1024, kLargestCache = size_t{256} << 20; // where nothing tells
  if (info.kind == DeviceKind::emulator)
    return 1;
  size_t each = std::max<size_t>(bytes, 1), wanted = 2 * (info.cacheBytes > 0 ? info.cacheBytes : kLargestCache) / each;
  return std::clamp(std::min(wanted + 1, info.memoryBytes / 4 / each), size_t{1}, kMost);
}

static void checkPlaces(const Device &device, std::span<const Argument> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor *tensor = arguments[i].tensor();
    if (tensor && tensor->memory != device.info().memory())
      fail(DiagId::ArgumentDevice,
           "argument " + std::to_string(i) + " of a timed launch: found " + tensor->toString() +
               ", expected memory of " + deviceName(device),
           "copies would be timed too; copy it there first");
  }
}

Timing measure(Device &device, LoadedKernel &kernel, std::span<const Argument> arguments,
               const TimingOptions &options) {
  checkPlaces(device, arguments);
  for (const std::vector<Argument> &copy : options.copies)
    checkPlaces(device, copy);
  for (int i = 0; i < options.warmup; ++i)
    kernel.launch(arguments, options.launch);
  ScopedEvent start(device), end(device);
  Timing timing;
  int turns = static_cast<int>(options.copies.size()) + 1;
  int launches = (std::max(1, options.launchesPerSample) + turns - 1) / turns * turns;
  auto launchAll = [&](Stream stream) {
    LaunchOptions there = options.launch;
    there.stream = stream;
    for (int i = 0; i < launches; ++i)
      kernel.launch(i % turns == 0 ? arguments : std::span(options.copies[i % turns - 1]), there);
  };
  ScopedGraph graph(device, options.replays ? device.capture(launchAll) : std::nullopt);
  timing.isReplayed = graph.isThere();
  if (graph.isThere())
    graph.replay(options.launch.stream); // the first one also brings it to the device
  for (int sample = 0; sample < std::max(1, options.repetitions); ++sample) {
    device.record(start.event, options.launch.stream);
    if (graph.isThere())
      graph.replay(options.launch.stream);
    else
      launchAll(options.launch.stream);
    device.record(end.event, options.launch.stream);
    timing.microseconds.push_back(device.microseconds(start.event, end.event) / launches);
  }
  timing.median = medianOf(timing.microseconds);
  timing.minimum = *std::min_element(timing.microseconds.begin(), timing.microseconds.end());
  return timing;
}

} // namespace soliton::rt
