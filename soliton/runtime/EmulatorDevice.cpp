#include "soliton/runtime/EmulatorDevice.h"

#include "soliton/runtime/Errors.h"
#include "soliton/runtime/LaunchPlan.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

namespace soliton::rt {
namespace {

constexpr size_t kAlignment = 256; // What GPU allocators give.

Diagnostic toDiagnostic(const emu::Finding &finding) {
  DiagId id = parseDiagId(emu::name(finding.kind)).value_or(DiagId::EmulatorFinding);
  Diagnostic diagnostic = diagnose(id, finding.message, finding.hint);
  diagnostic.place = finding.origin.place;
  if (finding.other != emu::Finding::kNone)
    diagnostic.notes.push_back({finding.otherOrigin.place, "`" + finding.otherOrigin.what + "` is here"});
  return diagnostic;
}

emu::Program decode(const KernelImage &image) {
  std::string who = "`" + image.kernel + "`: ";
  if (std::optional<std::string> flaw = findFlaw(image))
    fail(DiagId::ImageInvalid, who + "the image cannot be loaded: " + *flaw);
  if (image.kind != ImageKind::emulator)
    fail(DiagId::ImageMismatch, who + "found an image of kind `" + std::string(name(image.kind)) +
                                    "`, which a device of kind `emulator` cannot load");
  try {
    emu::Program program = emu::deserialize({reinterpret_cast<const uint8_t *>(image.code.data()), image.code.size()});
    if (std::string flaw = emu::validate(program); !flaw.empty())
      fail(DiagId::ImageInvalid, who + "its emulator program is invalid: " + flaw);
    return program;
  } catch (const emu::ProgramError &error) {
    fail(DiagId::ImageInvalid, who + "its code is no emulator program: " + error.what());
  }
}

/// The program's own signature must be the image's: buffers, then scalars, then symbols.
void checkSignature(const KernelImage &image, const emu::Program &program) {
  size_t buffers = 0;
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

class EmulatorKernel final : public LoadedKernel {
public:
  EmulatorKernel(const KernelImage &image, const DeviceInfo &info, const EmulatorOptions &options)
      : LoadedKernel(image), info(info), options(options), program(decode(image)), plan(kernel) {
    checkSignature(image, program);
  }

  KernelResources resources() const override {
    KernelResources resources;
    resources.staticSharedBytes = static_cast<int>(program.sharedBytes);
    resources.maxThreads = static_cast<int>(program.waves * program.waveSize);
    return resources;
  }
  const std::string &log() const override { return said; }
  void launch(std::span<const Argument> arguments, const LaunchOptions &options) override;
  const emu::Statistics *statistics() const { return launched ? &last : nullptr; }

private:
  emu::LaunchConfig configure(std::span<const Argument> arguments, const PreparedLaunch &prepared) const;

  DeviceInfo info;
  EmulatorOptions options;
  emu::Program program;
  LaunchPlan plan;
  std::string said;
  emu::Statistics last;
  bool launched = false;
};

emu::LaunchConfig EmulatorKernel::configure(std::span<const Argument> arguments, const PreparedLaunch &prepared) const {
  emu::LaunchConfig config;
  config.grid = prepared.grid;
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
  for (size_t i = 0; i < kernel.symbols.size(); ++i)
    config.scalars.push_back(static_cast<uint32_t>(prepared.symbols[i]));
  config.seed = options.seed;
  config.checks = options.checks;
  config.adversarial = options.adversarial;
  config.bankConflicts = options.bankConflicts;
  config.threads = options.threads;
  return config;
}

void EmulatorKernel::launch(std::span<const Argument> arguments, const LaunchOptions &launchOptions) {
  PreparedLaunch prepared;
  plan.prepare(arguments, launchOptions, info, prepared);
  if (prepared.empty)
    return;
  emu::Result result = emu::run(program, configure(arguments, prepared));
  last = result.statistics;
  launched = true;
  std::vector<Diagnostic> wrong;
  if (!result.error.empty())
    wrong.push_back(
        diagnose(DiagId::EmulatorFinding, "`" + kernel.kernel + "` did not run to its end: " + result.error));
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
  }

  const DeviceInfo &info() const override { return about; }

  void *allocate(size_t bytes) override {
    if (bytes == 0)
      return nullptr;
    void *memory = bytes > SIZE_MAX - kAlignment
                       ? nullptr
                       : std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (!memory)
      fail(DiagId::DriverError, "the host has no " + std::to_string(bytes) + " bytes of memory");
    return memory;
  }
  void free(void *memory) override { std::free(memory); }
  void copyToDevice(void *device, const void *host, size_t bytes, Stream) override { copy(device, host, bytes); }
  void copyToHost(void *host, const void *device, size_t bytes, Stream) override { copy(host, device, bytes); }
  void fill(void *memory, uint8_t value, size_t bytes, Stream) override {
    if (bytes > 0)
      std::memset(memory, value, bytes);
  }

  std::unique_ptr<LoadedKernel> load(const KernelImage &image) override {
    return std::make_unique<EmulatorKernel>(image, about, options);
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
