//===- CompileAndLoad.cpp - What was compiled before, and what is loaded ------------------===//
//
// A kernel on its way to a device: found among those that this process has loaded, otherwise in the cache, otherwise
// compiled.
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/Backend.h"
#include "soliton/driver/Auto.h"
#include "soliton/driver/Compilation.h"
#include "soliton/driver/Tuned.h"

#include <map>
#include <mutex>

namespace soliton {

std::optional<rt::CacheKey> Compilation::traceForCache(const Kernel &kernel) {
  trace(kernel);
  if (!traced || !options.cache || rt::ImageCache::isOff())
    return std::nullopt;
  std::string program;
  llvm::raw_string_ostream stream(program);
  traced->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return compileKey(program, options, kind);
}

std::optional<CompileAttempt> Compilation::find(const rt::ImageCache &cache, const rt::CacheKey &key) {
  std::optional<rt::KernelImage> image = cache.find(key);
  std::optional<CompileResult> found = image ? fromFindings(std::move(*image)) : std::nullopt;
  lap("cache");
  if (!found)
    return std::nullopt;
  found->phases = result.phases;
  CompileAttempt attempt;
  attempt.diagnostics = found->warnings;
  attempt.result = std::move(found);
  return attempt;
}

CompileAttempt Compilation::findOrFinish(const std::optional<rt::CacheKey> &key) {
  std::optional<rt::ImageCache> cache = key ? rt::ImageCache::byDefault() : std::nullopt;
  if (std::optional<std::string> flaw = cache ? cache->flaw() : std::nullopt) {
    early.push_back({Severity::warning,
                     DiagId::ImageFile,
                     options.place,
                     *flaw + ", so nothing is kept there",
                     "set `SOLITON_CACHE_DIR` to a folder of your own, or `SOLITON_CACHE=off`",
                     {}});
    cache.reset();
  }
  if (!cache)
    return finish(std::move(traced));
  if (std::optional<CompileAttempt> found = find(*cache, *key))
    return std::move(*found);
  // Of many processes that start at once one compiles.
  std::optional<rt::CacheClaim> claim = cache->claim(*key, std::chrono::seconds(20));
  if (std::optional<CompileAttempt> found = find(*cache, *key))
    return std::move(*found);
  CompileAttempt attempt = finish(std::move(traced));
  if (attempt)
    cache->store(*key, withFindings(*attempt.result));
  return attempt;
}

CompileAttempt compileOrFind(const Kernel &kernel, const CompileOptions &options, rt::ImageKind kind, Place place) {
  sym::ThrowMistakes scope;
  CompileOptions complete = placed(options, place);
  auto findWith = [&](const CompileOptions &chosen) {
    return compileAsSaid(chosen, [&](const CompileOptions &said) {
      Compilation compilation(said, kind);
      return compilation.findOrFinish(compilation.traceForCache(kernel));
    });
  };
  return isAuto(complete) ? compileByChoice(kernel, complete, findWith) : findWith(complete);
}

CompiledKernel::CompiledKernel(CompileResult compiled, rt::Device &device)
    : result(std::make_shared<CompileResult>(std::move(compiled))), where(&device), kernel(device.load(result->image)) {
}

std::string targetOf(const rt::Device &device) {
  const std::string &architecture = device.info().architecture;
  if (architecture.empty())
    return {};
  for (const Target *target : allTargets())
    if (target->name == architecture || target->name == architecture + "a")
      return target->name;
  return architecture;
}

/// The device that the options ask for: by name, or the first that runs the target, or the emulator.
static rt::Device &chooseDevice(const CompileOptions &options, const Target *target) {
  if (!options.device.empty())
    return rt::device(options.device);
  for (const std::shared_ptr<rt::Device> &device : rt::devices().devices)
    if (device->info().kind != rt::DeviceKind::emulator && (!target || targetOf(*device) == target->name))
      return *device;
  return rt::device("emulator");
}

static rt::ImageKind imageKindFor(const rt::Device &device) {
  switch (device.info().kind) {
  case rt::DeviceKind::cuda: // with an assembler at hand its verdict comes before the launch, not after it
    return backend::findPtxas() ? rt::ImageKind::cubin : rt::ImageKind::ptx;
  case rt::DeviceKind::hip:
    return rt::ImageKind::hsaco;
  case rt::DeviceKind::emulator:
    break;
  }
  return rt::ImageKind::emulator;
}

/// Without an assembler only the driver knows whether registers sufficed.
static void judgeSpills(CompileOutcome &outcome, const CompileOptions &options) {
  const CompiledKernel &kernel = *outcome.kernel;
  int spilled = kernel.compiled().image.kind == rt::ImageKind::ptx ? kernel.loaded().resources().localBytes : 0;
  if (spilled == 0)
    return;
  outcome.diagnostics.push_back(
      {options.allowSpills ? Severity::warning : Severity::error,
       DiagId::RegisterSpill,
       options.place,
       "`" + kernel.compiled().image.entry + "` spills " + std::to_string(spilled) + " bytes of registers a lane",
       "use a smaller tile, fewer stages or more waves",
       {}});
  if (!options.allowSpills)
    outcome.kernel.reset();
}

namespace {
/// Kernels that this process has loaded; those go first that were not asked for longest.
class LoadedKernels {
public:
  std::optional<CompileOutcome> find(const rt::CacheKey &key, const rt::Device &device) {
    std::lock_guard lock(mutex);
    auto found = kernels.find({key, &device});
    if (found == kernels.end())
      return std::nullopt;
    found->second.used = ++clock;
    return found->second.outcome;
  }

  void add(const rt::CacheKey &key, const rt::Device &device, const CompileOutcome &outcome) {
    constexpr size_t kMost = 256;
    std::lock_guard lock(mutex);
    if (kernels.size() >= kMost)
      kernels.erase(std::ranges::min_element(kernels, {}, [](const auto &each) { return each.second.used; }));
    kernels.insert_or_assign({key, &device}, Entry{outcome, ++clock});
  }

private:
  struct Entry {
    CompileOutcome outcome;
    uint64_t used = 0;
  };
  std::mutex mutex;
  std::map<std::pair<rt::CacheKey, const rt::Device *>, Entry> kernels;
  uint64_t clock = 0;
};
} // namespace

static CompileOutcome compileFor(rt::Device &device, const Kernel &kernel, const CompileOptions &options) {
  static LoadedKernels loaded;
  sym::ThrowMistakes scope;
  Compilation compilation(options, imageKindFor(device));
  std::optional<rt::CacheKey> key = compilation.traceForCache(kernel);
  if (std::optional<CompileOutcome> known = key ? loaded.find(*key, device) : std::nullopt)
    return *known;
  CompileAttempt attempt = compilation.findOrFinish(key);
  CompileOutcome outcome;
  outcome.diagnostics = std::move(attempt.diagnostics);
  if (!attempt)
    return outcome;
  outcome.kernel.emplace(std::move(*attempt.result), device);
  judgeSpills(outcome, options);
  if (key && outcome)
    loaded.add(*key, device, outcome);
  return outcome;
}

CompileOutcome tryCompile(const Kernel &kernel, const CompileOptions &options, Place place) {
  try {
    rt::Device &device = chooseDevice(options, findTarget(options.target));
    CompileOptions complete = placed(options, place);
    if (complete.target.empty())
      complete.target = targetOf(device);
    if (complete.tunedOn.empty())
      complete.tunedOn = tunedDevice(device);
    auto compileWith = [&](const CompileOptions &chosen) {
      return compileAsSaid(chosen, [&](const CompileOptions &said) { return compileFor(device, kernel, said); });
    };
    return isAuto(complete) ? firstThatCompiles<CompileOutcome>(kernel, complete, compileWith) : compileWith(complete);
  } catch (const CompileError &error) {
    return {std::nullopt, error.diagnostics()};
  }
}

CompiledKernel compile(const Kernel &kernel, const CompileOptions &options, Place place) {
  CompileOutcome outcome = tryCompile(kernel, options, place);
  if (!outcome)
    throw CompileError(std::move(outcome.diagnostics));
  return std::move(*outcome.kernel);
}

} // namespace soliton
