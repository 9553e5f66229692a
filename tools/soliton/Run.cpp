//===- Run.cpp - soliton run, soliton bench ---------------------------------------------------------===//
//
// A result is right if integer-valued inputs give exactly the expected bits and random ones stay within the error
// bound, and if nothing outside the output was touched: it lies between guard zones and starts as NaN patterns.
//
//===----------------------------------------------------------------------===//

#include "tools/soliton/Commands.h"

#include "soliton/runtime/EmulatorDevice.h"

#include <chrono>
#include <cstring>
#include <iomanip>

namespace soliton::cli {
namespace {

constexpr size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xa5}, kUnwritten{0xff};

double milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

/// One argument in the device's memory, between guard zones.
class PlacedArray {
public:
  /// An array without values is unwritten. `isOutput`: what it holds afterwards is the result.
  PlacedArray(rt::Device &device, const kernels::Array &array, bool isOutput)
      : device(device), array(array), isOutput(isOutput) {
    int64_t elements = 1;
    for (int64_t extent : array.shape)
      elements *= extent;
    bytes = (static_cast<size_t>(elements) * rt::storageBits(array.type) + 7) / 8;
    host.assign(bytes + 2 * kGuardBytes, kGuard);
    if (array.values.empty())
      std::fill_n(host.begin() + kGuardBytes, bytes, kUnwritten);
    else
      std::ranges::copy(kernels::encodeArray(array), host.begin() + kGuardBytes);
    memory = std::make_unique<rt::DeviceBuffer>(device, host.size());
    device.copyToDevice(memory->data(), host.data(), host.size());
  }

  rt::Argument argument() const {
    return rt::Tensor::dense(static_cast<std::byte *>(memory->data()) + kGuardBytes, array.type, array.shape,
                             device.info().memory(), device.info().index);
  }

  /// Whether the guard zones are as they were; fetches what the kernel wrote.
  bool fetch() {
    device.copyToHost(host.data(), memory->data(), host.size());
    auto intact = [](std::byte b) { return b == kGuard; };
    return std::all_of(host.begin(), host.begin() + kGuardBytes, intact) &&
           std::all_of(host.end() - kGuardBytes, host.end(), intact);
  }
  std::vector<double> values() const {
    return kernels::decodeArray(array.type, std::span(host).subspan(kGuardBytes, bytes));
  }
  bool output() const { return isOutput; }

private:
  rt::Device &device;
  const kernels::Array &array;
  bool isOutput;
  size_t bytes = 0;
  std::vector<std::byte> host;
  std::unique_ptr<rt::DeviceBuffer> memory;
};

struct Outcome {
  bool ok = true;
  bool guardsIntact = true;
  kernels::Comparison comparison;
  double ms = 0;
};

/// An output that is the array of an input, by their numbers.
struct InPlace {
  size_t output = 0, input = 0;
};

/// What `b=a` means for this kernel; throws UsageError with the legal choices.
std::optional<InPlace> resolveInPlace(const std::string &said, const std::vector<kernels::ArgumentInfo> &arguments) {
  if (said.empty())
    return std::nullopt;
  auto find = [&](const std::string &name, bool isOutput) {
    std::vector<std::string> names;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].isOutput != isOutput || arguments[i].dims.empty())
        continue;
      if (arguments[i].name == name)
        return i;
      names.push_back(arguments[i].name);
    }
    throw UsageError("`--in-place " + said + "`: `" + name + "` is no " + (isOutput ? "output" : "input") +
                     " of the kernel; the choices are " + listOf(names) + ". Say OUTPUT=INPUT.");
  };
  size_t equals = std::min(said.find('='), said.size());
  return InPlace{find(said.substr(0, equals), true), find(said.substr(std::min(equals + 1, said.size())), false)};
}

std::vector<std::unique_ptr<PlacedArray>> place(rt::Device &device, const kernels::Problem &problem,
                                                std::vector<rt::Argument> &arguments,
                                                std::optional<InPlace> inPlace = std::nullopt) {
  std::vector<std::unique_ptr<PlacedArray>> arrays;
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    if (inPlace && i == inPlace->output) {
      arguments.push_back(arguments[inPlace->input]);
      continue;
    }
    if (problem.arguments[i].dims.empty()) {
      double number = problem.arrays[i].values.at(0);
      arguments.push_back(isFloat(problem.arrays[i].type) ? rt::Argument(number)
                                                          : rt::Argument(static_cast<int64_t>(number)));
      continue;
    }
    bool isOutput = problem.arguments[i].isOutput || (inPlace && i == inPlace->input);
    arrays.push_back(std::make_unique<PlacedArray>(device, problem.arrays[i], isOutput));
    arguments.push_back(arrays.back()->argument());
  }
  return arrays;
}

Outcome attempt(rt::Device &device, rt::LoadedKernel &kernel, const Resolved &resolved,
                const kernels::ProblemOptions &options, std::optional<InPlace> inPlace) {
  kernels::Problem problem = kernels::makeProblem(*resolved.entry, *resolved.variant, resolved.sizes, options);
  std::vector<rt::Argument> arguments;
  std::vector<std::unique_ptr<PlacedArray>> arrays = place(device, problem, arguments, inPlace);
  auto start = std::chrono::steady_clock::now();
  kernel.launch(arguments);
  device.synchronise();
  Outcome outcome;
  outcome.ms = milliseconds(start);
  std::vector<double> result;
  for (auto &array : arrays) {
    outcome.guardsIntact &= array->fetch();
    if (array->output())
      result = array->values();
  }
  outcome.comparison = kernels::compare(resolved.entry->reference(problem), result);
  outcome.ok = outcome.comparison.ok && outcome.guardsIntact;
  return outcome;
}

rt::ImageKind imageFor(const rt::Device &device) {
  return device.info().kind == rt::DeviceKind::cuda  ? rt::ImageKind::ptx
         : device.info().kind == rt::DeviceKind::hip ? rt::ImageKind::hsaco
                                                     : rt::ImageKind::emulator;
}

/// The target of a device where the user named none.
std::string targetFor(const KernelChoice &choice, bool given, const rt::Device &device) {
  std::string own = targetOf(device);
  return given || own.empty() ? choice.target : own;
}

} // namespace

int runKernel(const RunCommand &command, std::ostream &out, std::ostream &err) {
  bool checks = isOn("--check", command.check);
  std::shared_ptr<rt::Device> emulator;
  if (command.device == "emulator")
    emulator = rt::makeEmulatorDevice({.checks = checks, .adversarial = checks, .seed = checks ? command.seed : 0});
  rt::Device &device = emulator ? *emulator : rt::device(command.device);
  KernelChoice choice = command.choice;
  choice.target = targetFor(choice, command.targetGiven, device);
  Resolved resolved = resolve(choice);
  std::optional<InPlace> inPlace = resolveInPlace(command.inPlace, resolved.entry->arguments(*resolved.variant));
  CompileAttempt compiled = compileOrFind(resolved.entry->build(*resolved.variant), resolved.options, imageFor(device));
  if (!compiled)
    return reportFailure(compiled.diagnostics, choice.json, out, err);
  std::unique_ptr<rt::LoadedKernel> kernel = device.load(compiled.result->image);

  kernels::ProblemOptions options{
      .seed = command.seed, .integers = true, .nativeF8 = findTarget(choice.target)->fp8e4m3};
  Outcome exact = attempt(device, *kernel, resolved, options, inPlace);
  options.integers = false;
  Outcome random = attempt(device, *kernel, resolved, options, inPlace);
  bool ok = exact.ok && random.ok;

  Json sizes = Json::object();
  for (const auto &[name, value] : resolved.sizes)
    sizes[name] = value;
  Json report = {{"kernel", choice.kernel},
                 {"target", choice.target},
                 {"device", command.device},
                 {"device_name", device.info().name},
                 {"dtype", resolved.variant->name},
                 {"size", sizes},
                 {"ok", ok},
                 {"exact_ok", exact.ok},
                 {"random_ok", random.ok},
                 {"guards_intact", exact.guardsIntact && random.guardsIntact},
                 {"max_abs_error", random.comparison.maxAbsError},
                 {"error_bound", random.comparison.errorBound},
                 {"from_cache", compiled.result->isFromCache},
                 {"compile_ms", phasesJson(*compiled.result)},
                 {"run_ms", random.ms},
                 {"code_object_bytes", compiled.result->image.code.size()},
                 {"warnings", diagnosticsJson(compiled.result->warnings)}};
  if (choice.json) {
    out << line(report);
  } else {
    out << choice.kernel << " on " << choice.target << " (" << command.device << "): " << (ok ? "right" : "WRONG")
        << ", max error " << random.comparison.maxAbsError << " within " << random.comparison.errorBound
        << (compiled.result->isFromCache ? ", found in the cache in " : ", compiled in ") << std::fixed
        << std::setprecision(1) << compiled.result->totalMs() << " ms, ran in " << random.ms << " ms\n";
  }
  return ok ? 0 : 1;
}

int benchKernel(const BenchCommand &command, std::ostream &out, std::ostream &err) {
  rt::Device &device = command.device.empty() ? rt::defaultDevice() : rt::device(command.device);
  KernelChoice choice = command.choice;
  choice.target = targetFor(choice, command.targetGiven, device);
  Resolved resolved = resolve(choice);
  CompileAttempt compiled = compileImage(resolved.entry->build(*resolved.variant), resolved.options, imageFor(device));
  if (!compiled)
    return reportFailure(compiled.diagnostics, choice.json, out, err);
  std::unique_ptr<rt::LoadedKernel> kernel = device.load(compiled.result->image);
  kernels::Problem problem = kernels::makeProblem(*resolved.entry, *resolved.variant, resolved.sizes,
                                                  {.seed = 1, .nativeF8 = findTarget(choice.target)->fp8e4m3});
  std::vector<rt::Argument> arguments;
  auto arrays = place(device, problem, arguments);
  // One workspace for all launches: who launches often lends one, too.
  rt::TimingOptions options{.repetitions = command.repetitions};
  std::optional<rt::DeviceBuffer> workspace;
  if (uint64_t bytes = kernel->workspaceBytes(arguments); bytes > 0) {
    workspace.emplace(device, bytes);
    options.launch.workspace = {workspace->data(), workspace->bytes()};
  }
  rt::Timing timing = rt::measure(device, *kernel, arguments, options);
  rt::KernelResources resources = kernel->resources();
  Json sizes = Json::object();
  for (const auto &[name, value] : resolved.sizes)
    sizes[name] = value;
  Json report = {{"kernel", choice.kernel},
                 {"target", choice.target},
                 {"device", device.info().name},
                 {"dtype", resolved.variant->name},
                 {"size", sizes},
                 {"median_us", timing.median},
                 {"minimum_us", timing.minimum},
                 {"repetitions", timing.microseconds.size()},
                 {"registers", resources.registers},
                 {"local_bytes", resources.localBytes},
                 {"emulated", device.info().kind == rt::DeviceKind::emulator},
                 {"compile_ms", phasesJson(*compiled.result)}};
  if (choice.json)
    out << line(report);
  else
    out << choice.kernel << " on " << device.info().name << ": median " << timing.median << " us, minimum "
        << timing.minimum << " us"
        << (device.info().kind == rt::DeviceKind::emulator ? " (time of the emulation, not of a GPU)" : "") << "\n";
  return 0;
}

} // namespace soliton::cli
