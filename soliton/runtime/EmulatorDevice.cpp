#include "soliton/runtime/EmulatorDevice.h"

#include "soliton/runtime/Errors.h"
#include "soliton/runtime/HostMemory.h"
#include "soliton/runtime/LaunchPlan.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace soliton::rt {
namespace {

Diagnostic toDiagnostic(const emu::Finding &finding) {
  DiagId id = parseDiagId(emu::name(finding.kind)).value_or(DiagId::EmulatorFinding);
  Diagnostic diagnostic = diagnose(id, finding.message, finding.hint);
  diagnostic.place = finding.origin.place;
  if (finding.other != emu::Finding::kNone)
    diagnostic.notes.push_back({finding.otherOrigin.place, "`" + finding.otherOrigin.what + "` is here"});
  return diagnostic;
}

emu::Program decode(const KernelImage &image, std::span<const std::byte> code) {
  std::string who = "`" + image.kernel + "`: ";
  try {
    emu::Program program = emu::deserialize({reinterpret_cast<const uint8_t *>(code.data()), code.size()});
    if (std::string flaw = emu::validate(program); !flaw.empty())
      fail(DiagId::ImageInvalid, who + "its emulator program is invalid: " + flaw);
    return program;
  } catch (const emu::ProgramError &error) {
    fail(DiagId::ImageInvalid, who + "its code is no emulator program: " + error.what());
  }
}

/// The program's own signature must be the image's: buffers, the workspace, then scalars, then symbols; and its
/// clusters must be those of the launch.
void checkSignature(const KernelImage &image, const LaunchStep &step, const emu::Program &program) {
  if (program.cluster != step.cluster)
    fail(DiagId::ImageInvalid, "`" + image.kernel + "`: the emulator program has clusters of " +
                                   std::to_string(program.clusterSize()) + " workgroups, the manifest says otherwise");
  size_t buffers = image.workspace.exists() ? 1 : 0;
  std::vector<DType> scalars;
  for (const ArgumentSpec &argument : image.arguments) {
    if (argument.kind == ArgumentKind::buffer)
      ++buffers;
    else
      scalars.push_back(argument.dtype);
  }
  scalars.insert(scalars.end(), image.symbols.size(), DType::i32);
  if (program.numBuffers != buffers || program.scalars != scalars)
    fail(DiagId::ImageInvalid,
         "`" + image.kernel + "`: the emulator program takes " + std::to_string(program.numBuffers) + " buffers and " +
             std::to_string(program.scalars.size()) + " scalars, the manifest says " + std::to_string(buffers) +
             " and " + std::to_string(scalars.size()) + ", or their types differ");
}

/// The emulator programs of the image's plan.
std::vector<emu::Program> decodeAll(const KernelImage &image) {
  std::string who = "`" + image.kernel + "`: ";
  if (std::optional<std::string> flaw = findFlaw(image))
    fail(DiagId::ImageInvalid, who + "the image cannot be loaded: " + *flaw);
  if (image.kind != ImageKind::emulator)
    fail(DiagId::ImageMismatch, who + "found an image of kind `" + std::string(name(image.kind)) +
                                    "`, which a device of kind `emulator` cannot load");
  std::vector<emu::Program> programs = {decode(image, image.code)};
  for (const LaunchStep &step : image.further)
    programs.push_back(decode(image, step.code));
  std::vector<LaunchStep> steps = launchSteps(image);
  for (size_t i = 0; i < programs.size(); ++i)
    checkSignature(image, steps[i], programs[i]);
  return programs;
}

/// The workspace of one launch: the caller's, or one that starts as a pattern that is NaN in every float format.
class HostWorkspace {
public:
  HostWorkspace(const PreparedLaunch &prepared, const KernelImage &image, const Workspace &given) : place(given.data) {
    if (!place && prepared.workspaceBytes > 0) {
      place = memory.allocate(prepared.workspaceBytes);
      std::memset(place, 0xff, prepared.workspaceBytes);
    }
    for (size_t i = 0; i < image.workspace.zeroed.size(); ++i)
      if (const PreparedLaunch::Range &range = prepared.zeroed[i]; range.bytes > 0)
        std::memset(static_cast<std::byte *>(place) + range.offset, 0, range.bytes);
  }
  void *data() const { return place; }

private:
  HostMemory memory;
  void *place;
};

class EmulatorKernel final : public LoadedKernel {
public:
  EmulatorKernel(const KernelImage &image, Device &device, const EmulatorOptions &options)
      : LoadedKernel(image), info(device.info()), options(options), programs(decodeAll(image)), plan(kernel) {}

  KernelResources resources() const override {
    KernelResources resources;
    for (const emu::Program &program : programs) {
      resources.staticSharedBytes = std::max(resources.staticSharedBytes, static_cast<int>(program.sharedBytes));
      resources.maxThreads = std::max(resources.maxThreads, static_cast<int>(program.waves * program.waveSize));
    }
    return resources;
  }
  uint64_t workspaceBytes(std::span<const Argument> arguments, const LaunchOptions &launchOptions) const override {
    return plan.workspaceBytes(arguments, launchOptions, info);
  }
  const std::string &log() const override { return said; }
  void launch(std::span<const Argument> arguments, const LaunchOptions &options) override;
  const emu::Statistics *statistics() const { return launched ? &last : nullptr; }

private:
  emu::LaunchConfig configure(std::span<const Argument> arguments, const PreparedLaunch &prepared,
                              emu::Buffer workspace) const;
  void runStep(size_t step, emu::LaunchConfig &config);

  DeviceInfo info;
  EmulatorOptions options;
  std::vector<emu::Program> programs;
  LaunchPlan plan;
  std::string said;
  emu::Statistics last;
  bool launched = false;
};

/// Some seconds' worth: no kernel that somebody waits for comes near it.
constexpr uint64_t kDefaultSteps = 100'000'000;

uint64_t stepLimitFor(const EmulatorOptions &options) {
  if (options.stepLimit != 0)
    return options.stepLimit;
  const char *text = std::getenv("SOLITON_EMULATOR_STEPS");
  if (!text)
    return kDefaultSteps;
  uint64_t steps = 0;
  auto [end, code] = std::from_chars(text, text + std::strlen(text), steps);
  if (code != std::errc() || *end != '\0' || steps == 0)
    fail(DiagId::EmulatorFinding,
         "`SOLITON_EMULATOR_STEPS` is `" + std::string(text) + "`, expected the number of instructions of a wave");
  return steps;
}

emu::LaunchConfig EmulatorKernel::configure(std::span<const Argument> arguments, const PreparedLaunch &prepared,
                                            emu::Buffer workspace) const {
  emu::LaunchConfig config;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (const Tensor *tensor = arguments[i].tensor()) {
      config.buffers.push_back({tensor->data, static_cast<uint64_t>(*tensor->bytes())});
      continue;
    }
    uint64_t bits = 0;
    std::memcpy(&bits, prepared.block.data() + plan.parameters().arguments[i],
                static_cast<size_t>(storageBits(kernel.arguments[i].dtype) + 7) / 8);
    config.scalars.push_back(bits);
  }
  if (kernel.workspace.exists())
    config.buffers.push_back(workspace);
  for (size_t i = 0; i < kernel.symbols.size(); ++i)
    config.scalars.push_back(static_cast<uint32_t>(prepared.symbols[i]));
  config.seed = options.seed;
  config.checks = options.checks;
  config.adversarial = options.adversarial;
  config.bankConflicts = options.bankConflicts;
  config.threads = options.threads;
  config.resident = options.resident;
  config.stepLimit = stepLimitFor(options);
  return config;
}

void EmulatorKernel::launch(std::span<const Argument> arguments, const LaunchOptions &launchOptions) {
  PreparedLaunch prepared;
  plan.prepare(arguments, launchOptions, info, prepared);
  if (prepared.empty)
    return;
  HostWorkspace workspace(prepared, kernel, launchOptions.workspace);
  emu::LaunchConfig config = configure(arguments, prepared, {workspace.data(), prepared.workspaceBytes});
  last = {};
  launched = true;
  said.clear();
  for (size_t i = 0; i < programs.size(); ++i) {
    config.grid = prepared.grids[i];
    if (!prepared.isEmpty(i))
      runStep(i, config);
  }
}

void EmulatorKernel::runStep(size_t step, emu::LaunchConfig &config) {
  emu::Result result = emu::run(programs[step], config);
  last += result.statistics;
  for (const emu::Finding &warning : result.warnings)
    said += emu::format(warning);
  std::vector<Diagnostic> wrong;
  if (!result.error.empty()) {
    wrong.push_back(
        diagnose(DiagId::EmulatorFinding, "`" + kernel.kernel + "` did not run to its end: " + result.error));
    wrong.back().place = result.errorPlace;
    if (result.errorPlace.known())
      wrong.back().hint = "if it does end, raise `SOLITON_EMULATOR_STEPS` or `EmulatorOptions::stepLimit`";
  }
  for (const emu::Finding &finding : result.findings)
    wrong.push_back(toDiagnostic(finding));
  if (!wrong.empty())
    throw CompileError(std::move(wrong));
}

class EmulatorDevice final : public Device {
public:
  explicit EmulatorDevice(const EmulatorOptions &options) : options(options) {
    about.kind = DeviceKind::emulator;
    about.name = "emulator";
    about.limits.total = 0xffffffff;
  }

  const DeviceInfo &info() const override { return about; }

  void *allocate(size_t bytes) override { return memory.allocate(bytes); }
  void free(void *pointer) override { memory.free(pointer); }
  void copyToDevice(void *device, const void *host, size_t bytes, Stream) override { copy(device, host, bytes); }
  void copyToHost(void *host, const void *device, size_t bytes, Stream) override { copy(host, device, bytes); }
  void fill(void *pointer, uint8_t value, size_t bytes, Stream) override { memory.fill(pointer, value, bytes); }

  std::unique_ptr<LoadedKernel> load(const KernelImage &image) override {
    return std::make_unique<EmulatorKernel>(image, *this, options);
  }

  // Launches are done when they return: a stream has nothing to order.
  Stream createStream() override { return {}; }
  void destroy(Stream) override {}
  void synchronise(Stream) override {}
  void synchronise() override {}

  Event createEvent() override { return {new Clock::time_point()}; }
  void destroy(Event event) override { delete static_cast<Clock::time_point *>(event.handle); }
  void record(Event event, Stream) override { *static_cast<Clock::time_point *>(event.handle) = Clock::now(); }
  double microseconds(Event start, Event end) override {
    auto elapsed = *static_cast<Clock::time_point *>(end.handle) - *static_cast<Clock::time_point *>(start.handle);
    return std::chrono::duration<double, std::micro>(elapsed).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  static void copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0)
      std::memmove(to, from, bytes);
  }

  DeviceInfo about;
  EmulatorOptions options;
  HostMemory memory;
};

} // namespace

std::shared_ptr<Device> makeEmulatorDevice(const EmulatorOptions &options) {
  return std::make_shared<EmulatorDevice>(options);
}

const emu::Statistics *statisticsOf(const LoadedKernel &kernel) {
  auto *emulated = dynamic_cast<const EmulatorKernel *>(&kernel);
  return emulated ? emulated->statistics() : nullptr;
}

} // namespace soliton::rt
