//===- Compiler.cpp - Compiling and launching from Python ------------------------------===//
//
//   compiled = compile(kernel, {"target": "gfx942", "subs": [(M, Expr)], …}, place)
//   compiled.launch([(address, "f16", shape, strides, "host", 0, False), 3, 0.5], [(M, 300)])
//
// The interpreter is free for other threads while a kernel is compiled or emulated.
//
//===----------------------------------------------------------------------===//
#include "Launch.h"

#include <soliton/authoring/ScheduleFile.h>
#include <soliton/driver/Assembler.h>
#include <soliton/driver/Progress.h>
#include <soliton/target/Target.h>

#include <nanobind/stl/map.h>

#include <algorithm>
#include <mutex>

namespace soliton::python {

namespace {

struct Compiled {
  CompiledKernel kernel;
  nb::list warnings;
  PlainLaunch plain;
};

/// Where a compilation is; one thread compiles, another one looks.
class Progress {
public:
  void begin(std::string_view name) {
    std::scoped_lock locked(mutex);
    step = name;
  }
  std::string now() const {
    std::scoped_lock locked(mutex);
    return step;
  }

private:
  mutable std::mutex mutex;
  std::string step;
};

Artefact artefactOf(const std::string &name) {
  static const std::pair<const char *, Artefact> names[] = {{"wave", Artefact::wave},  {"machine", Artefact::machine},
                                                            {"llvm", Artefact::llvm},  {"assembly", Artefact::assembly},
                                                            {"ptx", Artefact::ptx},    {"hsaco", Artefact::hsaco},
                                                            {"cubin", Artefact::cubin}};
  for (const auto &[known, artefact] : names)
    if (name == known)
      return artefact;
  throw nb::key_error(name.c_str());
}

std::vector<Artefact> artefactsOf(const std::vector<std::string> &names) {
  std::vector<Artefact> artefacts;
  for (const std::string &name : names)
    artefacts.push_back(artefactOf(name));
  return artefacts;
}

RowPadding rowPaddingOf(const std::string &name) {
  static const std::pair<const char *, RowPadding> names[] = {
      {"auto", RowPadding::automatic}, {"off", RowPadding::never}, {"on", RowPadding::always}};
  for (const auto &[known, padding] : names)
    if (name == known)
      return padding;
  throw nb::key_error(name.c_str());
}

/// One entry of the dictionary of options.
void setOption(CompileOptions &options, const std::string &name, nb::handle value,
               const std::shared_ptr<PendingError> &pending) {
  if (name == "target")
    options.target = nb::cast<std::string>(value);
  else if (name == "device")
    options.device = nb::cast<std::string>(value);
  else if (name == "subs")
    options.subs = nb::cast<Substitutions>(value);
  else if (name == "dynamic")
    options.dynamic = nb::cast<std::vector<Expr>>(value);
  else if (name == "schedule")
    options.schedule.name = nb::cast<std::string>(value);
  else if (name == "schedule_file")
    options.schedule.file = nb::cast<std::string>(value);
  else if (name == "schedule_function")
    options.schedule.written = scheduleOf("schedule", nb::borrow(value), false, pending);
  else if (name == "strict")
    options.schedule.strict = nb::cast<bool>(value);
  else if (name == "keep")
    options.keep = artefactsOf(nb::cast<std::vector<std::string>>(value));
  else if (name == "direct_copies")
    options.directCopies = nb::cast<bool>(value);
  else if (name == "mma")
    options.mma = nb::cast<std::string>(value);
  else if (name == "padded_rows")
    options.paddedRows = rowPaddingOf(nb::cast<std::string>(value));
  else if (name == "staged_writes")
    options.stagedWrites = nb::cast<bool>(value);
  else if (name == "boxed_writes")
    options.boxedWrites = nb::cast<bool>(value);
  else if (name == "short_sums")
    options.shortSums = nb::cast<bool>(value);
  else if (name == "persistent")
    options.persistent = nb::cast<int64_t>(value);
  else if (name == "service_waves")
    options.serviceWaves = nb::cast<int64_t>(value);
  else if (name == "overlap_tiles")
    options.overlapTiles = nb::cast<bool>(value);
  else if (name == "turns")
    options.turns = nb::cast<bool>(value);
  else if (name == "dependent_launch")
    options.dependentLaunch = nb::cast<bool>(value);
  else if (name == "stable")
    options.stable = nb::cast<std::vector<std::string>>(value);
  else if (name == "raster")
    options.raster = nb::cast<int64_t>(value);
  else if (name == "cluster")
    options.cluster = nb::cast<int64_t>(value);
  else if (name == "workgroups_per_cluster")
    options.workgroupsPerCluster = nb::cast<std::vector<int64_t>>(value);
  else if (name == "workgroups_per_unit")
    options.workgroupsPerUnit = nb::cast<int64_t>(value);
  else if (name == "wide_offsets")
    options.wideOffsets = nb::cast<bool>(value);
  else if (name == "allow_spills")
    options.allowSpills = nb::cast<bool>(value);
  else if (name == "explain_layouts")
    options.explainLayouts = nb::cast<bool>(value);
  else if (name == "print_after")
    options.printAfter = nb::cast<std::string>(value);
  else if (name == "cache")
    options.cache = nb::cast<bool>(value);
  else
    throw nb::key_error(name.c_str());
}

} // namespace

CompileOptions optionsOf(const nb::dict &given, const Place &place, const std::shared_ptr<PendingError> &pending) {
  CompileOptions options{.place = place};
  for (auto [key, value] : given)
    setOption(options, nb::cast<std::string>(key), value, pending);
  return options;
}

namespace {

Compiled compileKernel(const Kernel &kernel, const nb::dict &given, Place place, Progress *progress) {
  auto pending = std::make_shared<PendingError>();
  CompileOptions options = optionsOf(given, place, pending);
  CompileOutcome outcome;
  {
    nb::gil_scoped_release others;
    std::optional<ProgressScope> watched;
    if (progress)
      watched.emplace([progress](std::string_view step) { progress->begin(step); });
    outcome = tryCompile(kernel, options, place);
  }
  if (pending->error)
    throw std::move(*pending->error);
  if (!outcome)
    throw CompileError(outcome.diagnostics);
  PlainLaunch plain(*outcome.kernel);
  return {std::move(*outcome.kernel), listOfDiagnostics(outcome.diagnostics), plain};
}

/// Without a device: artefacts only.
nb::dict compileTexts(const Kernel &kernel, const nb::dict &given, const std::string &kind, Place place) {
  auto pending = std::make_shared<PendingError>();
  CompileOptions options = optionsOf(given, place, pending);
  std::optional<rt::ImageKind> image = rt::parseImageKind(kind);
  if (!image)
    throw nb::key_error(kind.c_str());
  CompileAttempt attempt;
  {
    nb::gil_scoped_release others;
    attempt = compileImage(kernel, options, *image, place);
  }
  if (pending->error)
    throw std::move(*pending->error);
  if (!attempt)
    throw CompileError(attempt.diagnostics);
  nb::dict texts;
  static const char *const names[] = {"wave", "machine", "llvm", "assembly", "ptx", "hsaco", "cubin"};
  for (const auto &[artefact, content] : attempt.result->artefacts)
    texts[names[static_cast<size_t>(artefact)]] = nb::bytes(content.data(), content.size());
  std::vector<sched::ScheduleFile> files;
  for (const sched::LoopReport &loop : attempt.result->loops)
    files.push_back(sched::toFile(loop));
  std::string schedules = sched::printText(files);
  texts["schedule"] = nb::bytes(schedules.data(), schedules.size());
  return texts;
}

//===- Launching ----------------------------------------------------------------------===//

/// An array as soliton/_tensors.py describes it.
using ArrayTuple =
    std::tuple<uint64_t, ElementType, std::vector<int64_t>, std::vector<int64_t>, std::string, int, bool>;

rt::Tensor tensorOf(const ArrayTuple &array) {
  const auto &[address, type, shape, strides, memory, device, readOnly] = array;
  rt::MemoryKind kind = memory == "cuda"  ? rt::MemoryKind::cuda
                        : memory == "hip" ? rt::MemoryKind::hip
                                          : rt::MemoryKind::host;
  rt::Tensor tensor = rt::Tensor::dense(reinterpret_cast<void *>(address), type.resolve(), shape, kind, device);
  for (size_t d = 0; d < strides.size() && d < rt::kMaxRank; ++d)
    tensor.strides[d] = strides[d];
  tensor.readOnly = readOnly;
  return tensor;
}

std::vector<CallArgument> argumentsOf(const std::vector<nb::object> &given,
                                      const std::vector<std::pair<Expr, int64_t>> &sizes) {
  std::vector<CallArgument> arguments;
  for (const nb::object &each : given) {
    if (PyFloat_Check(each.ptr()))
      arguments.emplace_back(nb::cast<double>(each));
    else if (PyLong_Check(each.ptr()))
      arguments.emplace_back(nb::cast<int64_t>(each));
    else
      arguments.emplace_back(rt::Argument(tensorOf(nb::cast<ArrayTuple>(each))));
  }
  for (const auto &[symbol, value] : sizes)
    arguments.emplace_back(symbol, value);
  return arguments;
}

void launch(const Compiled &self, const std::vector<nb::object> &given,
            const std::vector<std::pair<Expr, int64_t>> &sizes, uint64_t stream) {
  std::vector<CallArgument> arguments = argumentsOf(given, sizes);
  rt::LaunchOptions options{.stream = {reinterpret_cast<void *>(stream)}};
  nb::gil_scoped_release others;
  call(self.kernel.loaded(), self.kernel.device().info(), arguments, options);
}

/// The arguments in the device's own memory, for as long as they are timed there.
class OnDevice {
public:
  OnDevice(rt::Device &device, const std::vector<nb::object> &given) : device(device) {
    for (const nb::object &each : given) {
      if (PyFloat_Check(each.ptr()))
        list.emplace_back(nb::cast<double>(each));
      else if (PyLong_Check(each.ptr()))
        list.emplace_back(nb::cast<int64_t>(each));
      else
        place(tensorOf(nb::cast<ArrayTuple>(each)));
    }
  }
  std::span<const rt::Argument> arguments() const { return list; }
  size_t bytes() const {
    size_t sum = 0;
    for (const auto &[host, memory] : arrays)
      sum += memory->bytes();
    for (const auto &memory : inputs)
      sum += memory->bytes();
    return sum;
  }

  /// To where they came from.
  void bring() const {
    for (const auto &[host, memory] : arrays)
      device.copyToHost(host, memory->data(), memory->bytes());
  }

private:
  void place(rt::Tensor tensor) {
    size_t bytes =
        (static_cast<size_t>(rt::storageBits(tensor.dtype)) * static_cast<size_t>(tensor.elements().value_or(0)) + 7) /
        8;
    auto memory = std::make_unique<rt::DeviceBuffer>(device, std::max<size_t>(bytes, 1));
    device.copyToDevice(memory->data(), tensor.data, bytes);
    if (!tensor.readOnly)
      arrays.emplace_back(tensor.data, std::move(memory));
    else
      inputs.push_back(std::move(memory));
    tensor.data = (tensor.readOnly ? inputs.back() : arrays.back().second)->data();
    tensor.memory = device.info().memory();
    tensor.device = device.info().index;
    list.emplace_back(tensor);
  }

  rt::Device &device;
  std::vector<std::pair<void *, std::unique_ptr<rt::DeviceBuffer>>> arrays;
  std::vector<std::unique_ptr<rt::DeviceBuffer>> inputs;
  std::vector<rt::Argument> list;
};

/// Microseconds of each sample by events of the device, of as many launches as a sample of 200 us takes, and how many
/// those are. Arrays of the host are copied there before and back behind; with cold caches to so many places that what
/// a launch reads is in none.
std::pair<std::vector<double>, int> measured(const Compiled &self, const std::vector<nb::object> &given,
                                             const std::map<std::string, int64_t> &sizes, int warmup, int samples,
                                             bool isCold) {
  constexpr double kSampleMicroseconds = 200;
  constexpr int kMostLaunches = 100;
  rt::Device &device = self.kernel.device();
  std::vector<int64_t> symbols;
  for (const rt::SymbolSpec &symbol : self.kernel.compiled().image.symbols)
    if (!symbol.argument)
      symbols.push_back(sizes.at(symbol.name));
  OnDevice placed(device, given);
  std::vector<std::unique_ptr<OnDevice>> elsewhere;
  for (size_t i = isCold ? rt::copiesBeyondCache(device.info(), placed.bytes()) : 0; i > 0; --i)
    elsewhere.push_back(std::make_unique<OnDevice>(device, given));
  nb::gil_scoped_release others;
  rt::TimingOptions options{.warmup = warmup, .repetitions = 1, .launch = {.symbols = symbols}};
  std::optional<rt::DeviceBuffer> workspace;
  if (uint64_t bytes = self.kernel.loaded().workspaceBytes(placed.arguments(), options.launch); bytes > 0) {
    workspace.emplace(device, bytes);
    options.launch.workspace = {workspace->data(), workspace->bytes()};
  }
  bool isGpu = device.info().kind != rt::DeviceKind::emulator;
  double once = rt::measure(device, self.kernel.loaded(), placed.arguments(), options).median;
  if (isGpu) // the emulator's time is that of this machine's clock, and long
    options.launchesPerSample =
        std::clamp(static_cast<int>(kSampleMicroseconds / std::max(once, 1.0)), 1, kMostLaunches);
  options.warmup = 0;
  options.repetitions = samples;
  for (const auto &each : elsewhere)
    options.copies.emplace_back(each->arguments().begin(), each->arguments().end());
  rt::Timing timing = rt::measure(device, self.kernel.loaded(), placed.arguments(), options);
  placed.bring();
  return {timing.microseconds, options.launchesPerSample};
}

nb::list specsOf(const rt::KernelImage &image) {
  nb::list specs;
  for (const rt::ArgumentSpec &argument : image.arguments) {
    bool isArray = argument.kind == rt::ArgumentKind::buffer;
    specs.append(nb::make_tuple(argument.name, isArray, toString(ElementType(argument.dtype)), argument.isOutput,
                                argument.isRead, argument.shape.size()));
  }
  return specs;
}

//===- For other processes ------------------------------------------------------------===//

/// What a device of that name loads. The device is not asked, so that a copy of a process that has used it may compile.
rt::ImageKind imageKindFor(const std::string &device, const std::string &target) {
  const Target *known = findTarget(target);
  if (device.starts_with("cuda"))
    return known && canAssemble(*known) ? rt::ImageKind::cubin : rt::ImageKind::ptx;
  return device.starts_with("hip") ? rt::ImageKind::hsaco : rt::ImageKind::emulator;
}

/// {"image": bytes for `load_image`, "arguments": as `Compiled.arguments()`}.
nb::dict compileForDevice(const Kernel &kernel, const nb::dict &given, const std::string &device, Place place) {
  auto pending = std::make_shared<PendingError>();
  CompileOptions options = optionsOf(given, place, pending);
  CompileAttempt attempt;
  {
    nb::gil_scoped_release others;
    attempt = compileOrFind(kernel, options, imageKindFor(device, options.target), place);
  }
  if (pending->error)
    throw std::move(*pending->error);
  if (!attempt)
    throw CompileError(attempt.diagnostics);
  std::vector<std::byte> file = rt::serialize(attempt.result->image);
  nb::dict dict;
  dict["image"] = nb::bytes(file.data(), file.size());
  dict["arguments"] = specsOf(attempt.result->image);
  return dict;
}

Compiled loadImage(const nb::bytes &file, const std::string &device) {
  CompileResult result;
  result.image = rt::deserialize({static_cast<const std::byte *>(file.data()), file.size()});
  CompiledKernel kernel(std::move(result), rt::device(device));
  PlainLaunch plain(kernel);
  return {std::move(kernel), nb::list(), plain};
}

/// What is known about the code, and how long each step of its compilation took.
nb::dict summaryOf(const Compiled &self) {
  const CompileResult &result = self.kernel.compiled();
  nb::dict dict, phases;
  for (const CompilePhase &phase : result.phases)
    phases[phase.name.c_str()] = phase.ms;
  dict["is_from_cache"] = result.isFromCache;
  dict["total_ms"] = result.totalMs();
  dict["phases_ms"] = phases;
  dict["vgprs"] = result.vgprs;
  dict["agprs"] = result.agprs;
  dict["sgprs"] = result.sgprs;
  dict["spill_bytes"] = result.spillBytes;
  dict["machine_ops"] = result.machineOps;
  dict["matrix_ops"] = result.matrixOps;
  return dict;
}

} // namespace

void bindCompiler(nb::module_ &module) {
  nb::class_<Compiled>(module, "Compiled")
      .def("launch", launch, nb::arg("arguments"), nb::arg("sizes"), nb::arg("stream") = 0)
      .def("launch_plain", [](const Compiled &self, nb::tuple arguments,
                              bool byWidth) { return self.plain(self.kernel, arguments, byWidth); })
      .def("measure", measured, nb::arg("arguments"), nb::arg("sizes"), nb::arg("warmup"), nb::arg("samples"),
           nb::arg("cold") = false)
      .def("arguments", [](const Compiled &self) { return specsOf(self.kernel.compiled().image); })
      .def("summary", summaryOf)
      .def("symbols",
           [](const Compiled &self) {
             nb::list names;
             for (const rt::SymbolSpec &symbol : self.kernel.compiled().image.symbols)
               names.append(nb::make_tuple(symbol.name, symbol.argument.has_value()));
             return names;
           })
      .def("manifest", [](const Compiled &self) { return rt::manifest(self.kernel.compiled().image); })
      .def("log", [](const Compiled &self) { return self.kernel.loaded().log(); })
      .def_prop_ro("warnings", [](const Compiled &self) { return self.warnings; })
      .def_prop_ro("is_from_cache", [](const Compiled &self) { return self.kernel.compiled().isFromCache; })
      .def_prop_ro("target", [](const Compiled &self) { return self.kernel.compiled().image.target; })
      .def_prop_ro("threads",
                   [](const Compiled &self) {
                     auto [x, y, z] = self.kernel.compiled().image.threads;
                     return std::tuple(x, y, z);
                   })
      .def_prop_ro("memory",
                   [](const Compiled &self) { return std::string(rt::name(self.kernel.device().info().memory())); })
      .def_prop_ro("device",
                   [](const Compiled &self) { return std::string(rt::name(self.kernel.device().info().kind)); });
  nb::class_<Progress>(module, "Progress").def(nb::init<>()).def_prop_ro("step", &Progress::now);
  module.def("compile", compileKernel, nb::arg("kernel"), nb::arg("options"), nb::arg("place").none(),
             nb::arg("progress").none() = nb::none());
  module.def("compile_texts", compileTexts, nb::arg("kernel"), nb::arg("options"), nb::arg("kind"),
             nb::arg("place").none());
  module.def("compile_image", compileForDevice, nb::arg("kernel"), nb::arg("options"), nb::arg("device"),
             nb::arg("place").none());
  module.def("load_image", loadImage, nb::arg("image"), nb::arg("device"));
  module.def("targets", [] {
    nb::list names;
    for (const Target *target : allTargets())
      names.append(target->name);
    return names;
  });
  module.def("gpu_target", []() -> std::string {
    for (const std::shared_ptr<rt::Device> &device : rt::devices().devices)
      if (device->info().kind != rt::DeviceKind::emulator)
        return targetOf(*device);
    return {};
  });
}

} // namespace soliton::python
