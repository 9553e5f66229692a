#include "soliton/runtime/GpuDevice.h"

#include "soliton/runtime/Errors.h"
#include "soliton/runtime/Staging.h"
#include "soliton/runtime/TensorMaps.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace soliton::rt {
namespace {

enum FunctionAttribute : int { kMaxThreads = 0, kSharedBytes = 1, kLocalBytes = 3, kRegisters = 4 };

/// A driver's context of one device; shared by the device and its kernels, so that either may go first.
struct Context {
  Context(std::shared_ptr<GpuDriver> driver, int index)
      : driver(std::move(driver)), info(this->driver->query(index)), handle(this->driver->retainContext(index)) {}
  ~Context() { driver->releaseContext(info.index); }
  Context(const Context &) = delete;

  std::shared_ptr<GpuDriver> driver;
  DeviceInfo info;
  void *handle;
};

/// Makes a device's context current for a scope and restores what was.
class Current {
public:
  explicit Current(const Context &context) : driver(*context.driver), token(driver.enter(context.handle)) {}
  ~Current() { driver.leave(token); }
  Current(const Current &) = delete;

private:
  GpuDriver &driver;
  void *token;
};

//===-- Whether an image runs on a device ---------------------------------===//

/// `sm_90a` as 90 and `a`.
struct Capability {
  int number = 0;
  char feature = 0;
};

std::optional<Capability> parseCapability(std::string_view text) {
  if (text.substr(0, 3) != "sm_")
    return std::nullopt;
  Capability result;
  auto [end, error] = std::from_chars(text.data() + 3, text.data() + text.size(), result.number);
  if (error != std::errc() || text.data() + text.size() - end > 1)
    return std::nullopt;
  if (end != text.data() + text.size())
    result.feature = *end;
  return result;
}

bool runsOn(const KernelImage &image, const std::string &architecture) {
  std::optional<Capability> wanted = parseCapability(image.target), found = parseCapability(architecture);
  if (!wanted || !found)
    return image.target == architecture || architecture.empty();
  if (wanted->feature == 'a')
    return wanted->number == found->number;
  if (image.kind == ImageKind::ptx)
    return found->number >= wanted->number;
  return found->number / 10 == wanted->number / 10 && found->number >= wanted->number;
}

void checkImage(const KernelImage &image, const GpuDriver &driver, const DeviceInfo &info) {
  std::string who = "`" + image.kernel + "`: ";
  if (std::optional<std::string> flaw = findFlaw(image))
    fail(DiagId::ImageInvalid, who + "the image cannot be loaded: " + *flaw);
  if (!canLoad(info.kind, image.kind))
    fail(DiagId::ImageMismatch, who + "found an image of kind `" + std::string(name(image.kind)) +
                                    "`, which a device of kind `" + std::string(name(info.kind)) + "` cannot load");
  if (!runsOn(image, info.architecture))
    fail(DiagId::ImageMismatch,
         who + "compiled for `" + image.target + "`, found `" + info.architecture + "` (" + info.name + ")",
         "compile it for this device's target");
  bool clusters = false, maps = false;
  for (const LaunchStep &step : launchSteps(image)) {
    uint64_t shared = uint64_t(step.dynamicSharedBytes) + step.staticSharedBytes;
    if (info.maxSharedBytes != 0 && shared > info.maxSharedBytes)
      fail(DiagId::ImageMismatch, who + "a workgroup needs " + std::to_string(shared) + " bytes of shared memory, " +
                                      info.name + " has " + std::to_string(info.maxSharedBytes));
    clusters |= step.isDependent || step.cluster != std::array<uint32_t, 3>{1, 1, 1};
    maps |= !step.tensorMaps.empty();
  }
  if ((clusters && !driver.hasClusters()) || (maps && !driver.hasTensorMaps()))
    fail(DiagId::ImageMismatch,
         who + "it needs clusters, dependent launches or tensor maps, which the driver does not have");
}

//===-- The device --------------------------------------------------------===//

class GpuDevice final : public Device {
public:
  explicit GpuDevice(std::shared_ptr<Context> context) : context(std::move(context)) {}

  const DeviceInfo &info() const override { return context->info; }

  void *allocate(size_t bytes) override {
    Current current(*context);
    void *memory = nullptr;
    if (bytes > 0)
      check(api().memAlloc(&memory, bytes), "memory allocation");
    return memory;
  }
  void free(void *memory) override {
    Current current(*context);
    if (memory)
      check(api().memFree(memory), "memory release");
  }
  void copyToDevice(void *device, const void *host, size_t bytes, Stream stream) override {
    Current current(*context);
    if (bytes == 0)
      return;
    check(api().copyToDevice(device, host, bytes, stream.handle), "copy to the device");
    check(api().streamSynchronize(stream.handle), "copy to the device");
  }
  void copyToHost(void *host, const void *device, size_t bytes, Stream stream) override {
    Current current(*context);
    if (bytes == 0)
      return;
    check(api().copyToHost(host, device, bytes, stream.handle), "copy to the host");
    check(api().streamSynchronize(stream.handle), "copy to the host");
  }
  void fill(void *memory, uint8_t value, size_t bytes, Stream stream) override {
    Current current(*context);
    if (bytes > 0)
      check(api().fill(memory, value, bytes, stream.handle), "fill");
  }

  std::unique_ptr<LoadedKernel> load(const KernelImage &image) override;

  Stream createStream() override {
    Current current(*context);
    Stream stream;
    check(api().streamCreate(&stream.handle, 0), "stream creation");
    return stream;
  }
  void destroy(Stream stream) override {
    Current current(*context);
    check(api().streamDestroy(stream.handle), "stream destruction");
  }
  void synchronise(Stream stream) override {
    Current current(*context);
    check(api().streamSynchronize(stream.handle), "stream synchronisation");
  }
  void synchronise() override {
    Current current(*context);
    check(api().synchronize(), "synchronisation");
  }

  Event createEvent() override {
    Current current(*context);
    Event event;
    check(api().eventCreate(&event.handle, 0), "event creation");
    return event;
  }
  void destroy(Event event) override {
    Current current(*context);
    check(api().eventDestroy(event.handle), "event destruction");
  }
  void record(Event event, Stream stream) override {
    Current current(*context);
    check(api().eventRecord(event.handle, stream.handle), "event record");
  }
  std::optional<Graph> capture(const std::function<void(Stream)> &enqueue) override {
    if (!api().hasGraphs())
      return std::nullopt;
    Current current(*context);
    constexpr int kOfThisThread = 1; // what others do meanwhile is no part of it
    Stream stream = createStream();
    check(api().captureBegin(stream.handle, kOfThisThread), "begin of a capture");
    std::exception_ptr mistake;
    try {
      enqueue(stream);
    } catch (...) {
      mistake = std::current_exception();
    }
    void *recorded = nullptr;
    int status = api().captureEnd(stream.handle, &recorded);
    destroy(stream);
    if (mistake)
      std::rethrow_exception(mistake);
    check(status, "end of a capture");
    Graph graph;
    check(api().graphInstantiate(&graph.handle, recorded, 0), "instantiation of a graph");
    check(api().graphDestroy(recorded), "destruction of a graph");
    return graph;
  }
  void replay(Graph graph, Stream stream) override {
    Current current(*context);
    check(api().graphLaunch(graph.handle, stream.handle), "launch of a graph");
  }
  void destroy(Graph graph) override {
    Current current(*context);
    check(api().executableDestroy(graph.handle), "destruction of a graph");
  }

  double microseconds(Event start, Event end) override {
    Current current(*context);
    float milliseconds = 0;
    check(api().eventSynchronize(end.handle), "event synchronisation");
    check(api().eventElapsed(&milliseconds, start.handle, end.handle), "event time");
    return double(milliseconds) * 1000;
  }

private:
  const GpuApi &api() const { return context->driver->api; }
  void check(int status, const char *call) const { context->driver->check(status, call); }

  std::shared_ptr<Context> context;
};

//===-- The kernel --------------------------------------------------------===//

class GpuKernel final : public LoadedKernel {
public:
  GpuKernel(std::shared_ptr<Context> context, const KernelImage &image);
  ~GpuKernel() override;

  KernelResources resources() const override;
  const std::string &log() const override { return said; }
  void launch(std::span<const Argument> arguments, const LaunchOptions &options) override;
  uint64_t workspaceBytes(std::span<const Argument> arguments, const LaunchOptions &options) const override {
    return plan.workspaceBytes(arguments, options, context->info);
  }

private:
  void loadStep(const LaunchStep &step);
  void unload();
  void submit(PreparedLaunch &prepared, const LaunchOptions &options);
  void writeMaps(size_t step, PreparedLaunch &prepared);
  void makeNothing();

  std::shared_ptr<Context> context;
  LaunchPlan plan;
  std::string said;
  std::vector<void *> modules;
  /// By kernel of the plan.
  std::vector<void *> functions;
  TensorMapCache maps;
  /// Where maps of tensors without elements point to, which need an element: zeros that are read, and a place for what
  /// is written. Null where there are no maps.
  void *nothing = nullptr;
};

/// Bytes of either.
constexpr size_t kNothingBytes = 256;

/// The workspace of one launch: the caller's, or memory that exists between two points of the stream.
class LentWorkspace {
public:
  LentWorkspace(const GpuDriver &driver, const KernelImage &image, uint64_t bytes, const LaunchOptions &options)
      : driver(driver), stream(options.stream.handle), memory(options.workspace.data) {
    if (memory || bytes == 0)
      return;
    if (!driver.api.memAllocAsync || !driver.api.memFreeAsync)
      fail(DiagId::LaunchWorkspace,
           "`" + image.kernel + "` needs a workspace of " + std::to_string(bytes) +
               " bytes, which this driver cannot allocate in the order of a stream",
           "give the launch a workspace");
    driver.check(driver.api.memAllocAsync(&memory, bytes, stream), "allocation of a workspace");
    owned = true;
  }
  ~LentWorkspace() {
    if (owned) // An error is on its way already.
      driver.api.memFreeAsync(memory, stream);
  }
  LentWorkspace(const LentWorkspace &) = delete;

  void *data() const { return memory; }
  void giveBack() {
    if (std::exchange(owned, false))
      driver.check(driver.api.memFreeAsync(memory, stream), "release of a workspace");
  }

private:
  const GpuDriver &driver;
  void *stream;
  void *memory;
  bool owned = false;
};

std::unique_ptr<LoadedKernel> GpuDevice::load(const KernelImage &image) {
  checkImage(image, *context->driver, context->info);
  return std::make_unique<GpuKernel>(context, image);
}

GpuKernel::GpuKernel(std::shared_ptr<Context> owner, const KernelImage &image)
    : LoadedKernel(image), context(std::move(owner)), plan(kernel), maps(kMaxTensorMaps) {
  Current current(*context);
  try {
    for (const LaunchStep &step : plan.steps())
      loadStep(step);
    makeNothing();
  } catch (...) {
    unload();
    throw;
  }
}

void GpuKernel::loadStep(const LaunchStep &step) {
  GpuDriver &driver = *context->driver;
  if (modules.empty() || !step.code.empty()) {
    std::string log;
    modules.push_back(driver.loadModule(kernel, step.code.empty() ? kernel.code : step.code, log));
    said += log;
  }
  void *module = step.code.empty() ? modules.front() : modules.back(), *function = nullptr;
  int status = driver.api.moduleFunction(&function, module, step.entry.c_str());
  if (status != 0)
    fail(DiagId::DriverError,
         "`" + kernel.kernel + "`: looking up the entry `" + step.entry + "` failed with " + driver.describe(status));
  driver.raiseLimits(function, step);
  functions.push_back(function);
}

void GpuKernel::makeNothing() {
  const GpuDriver &driver = *context->driver;
  if (std::ranges::all_of(plan.steps(), [](const LaunchStep &step) { return step.tensorMaps.empty(); }))
    return;
  driver.check(driver.api.memAlloc(&nothing, 2 * kNothingBytes), "memory allocation");
  driver.check(driver.api.fill(nothing, 0, 2 * kNothingBytes, nullptr), "fill");
  driver.check(driver.api.streamSynchronize(nullptr), "fill");
}

void GpuKernel::unload() {
  if (nothing)
    context->driver->api.memFree(nothing);
  for (void *module : modules)
    context->driver->api.moduleUnload(module);
}

GpuKernel::~GpuKernel() {
  try {
    Current current(*context);
    unload();
  } catch (const CompileError &) {
    // Nothing can be unloaded once the driver has gone away.
  }
}

KernelResources GpuKernel::resources() const {
  Current current(*context);
  KernelResources most;
  for (void *function : functions) {
    auto attribute = [&](int which) {
      int value = 0;
      context->driver->check(context->driver->api.functionAttribute(&value, which, function),
                             "function attribute query");
      return value;
    };
    most.registers = std::max(most.registers, attribute(kRegisters));
    most.localBytes = std::max(most.localBytes, attribute(kLocalBytes));
    most.staticSharedBytes = std::max(most.staticSharedBytes, attribute(kSharedBytes));
    most.maxThreads = std::max(most.maxThreads, attribute(kMaxThreads));
  }
  return most;
}

void GpuKernel::launch(std::span<const Argument> arguments, const LaunchOptions &options) {
  PreparedLaunch prepared;
  plan.prepare(arguments, options, context->info, prepared);
  if (prepared.empty)
    return;
  if (!prepared.needsStaging) {
    Current current(*context);
    submit(prepared, options);
    return;
  }
  GpuDevice device(context);
  Staging staging(device, kernel, plan, arguments, prepared, options.stream);
  {
    Current current(*context);
    submit(prepared, options);
  }
  staging.copyBack(options.stream);
}

void GpuKernel::submit(PreparedLaunch &prepared, const LaunchOptions &options) {
  const GpuDriver &driver = *context->driver;
  void *stream = options.stream.handle;
  LentWorkspace workspace(driver, kernel, prepared.workspaceBytes, options);
  plan.setWorkspace(prepared, workspace.data());
  // Behind a fill, which is no kernel, a launch begins when that has ended.
  bool mayBeginEarly = true;
  for (size_t i = 0; i < kernel.workspace.zeroed.size(); ++i)
    if (const PreparedLaunch::Range &range = prepared.zeroed[i]; range.bytes > 0) {
      mayBeginEarly = false;
      driver.check(driver.api.fill(static_cast<std::byte *>(workspace.data()) + range.offset, 0, range.bytes, stream),
                   "fill of a workspace");
    }
  const ParameterLayout &layout = plan.parameters();
  for (size_t i = 0; i < plan.steps().size(); ++i) {
    const LaunchStep &step = plan.steps()[i];
    if (prepared.isEmpty(i))
      continue;
    writeMaps(i, prepared);
    bool isDependent = std::exchange(mayBeginEarly, true) && step.isDependent;
    GpuLaunch launch = {functions[i],          prepared.grids[i],       step.threads,
                        step.cluster,          step.dynamicSharedBytes, stream,
                        prepared.block.data(), plan.blockBytes(i),      isDependent,
                        layout.inOrder,        layout.tensorMaps,       static_cast<uint32_t>(step.tensorMaps.size())};
    if (int status = driver.launch(launch))
      fail(DiagId::DriverError, "launching `" + kernel.kernel + "` failed with " + driver.describe(status));
  }
  workspace.giveBack();
}

void GpuKernel::writeMaps(size_t step, PreparedLaunch &prepared) {
  std::byte *destination = prepared.block.data() + plan.parameters().tensorMaps;
  size_t number = plan.firstTensor(step);
  for (const TensorMapSpec &spec : plan.steps()[step].tensorMaps) {
    const MappedTensor &tensor = prepared.tensors[number];
    void *data = spec.argument ? plan.pointer(prepared, *spec.argument) : plan.workspace(prepared);
    GpuTensorMap map = describeMap(spec, tensor, data);
    if (tensor.isEmpty) {
      bool isRead = spec.argument && !kernel.arguments[*spec.argument].isOutput;
      map.data = static_cast<std::byte *>(nothing) + (isRead ? 0 : kNothingBytes);
      map.sizes.fill(1);
      map.strides.fill(static_cast<uint64_t>(kTensorMapAlignment));
      map.lower.fill(0);
      map.upper.fill(0);
    }
    maps.write(*context->driver, number, map, destination);
    destination += kTensorMapBytes;
    ++number;
  }
}

} // namespace

std::vector<std::shared_ptr<Device>> devicesOf(const std::shared_ptr<GpuDriver> &driver) {
  int count = 0;
  driver->check(driver->api.deviceCount(&count), "device count");
  std::vector<std::shared_ptr<Device>> devices;
  for (int i = 0; i < count; ++i)
    devices.push_back(std::make_shared<GpuDevice>(std::make_shared<Context>(driver, i)));
  return devices;
}

} // namespace soliton::rt
