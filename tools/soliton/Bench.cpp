//===- Bench.cpp - soliton bench ---------------------------------------------------------------------===//

#include "soliton/driver/Tuned.h"
#include "tools/soliton/Placed.h"

namespace soliton::cli {

static Json reportOf(const BenchCommand &command, const Resolved &resolved, const CompileResult &compiled,
                     const rt::Device &device) {
  return {{"kernel", command.choice.kernel},
          {"target", compiled.image.target},
          {"device", device.info().name},
          {"dtype", resolved.isOfLibrary() ? resolved.variant->name : ""}};
}

/// What `auto` took and passed over, in its words; empty where nobody asked it.
static std::vector<std::string> automaticChoices(const CompileResult &compiled) {
  std::vector<std::string> said;
  for (const Diagnostic &diagnostic : compiled.warnings)
    if (diagnostic.id == DiagId::AutoChoice)
      said.push_back(diagnostic.message);
  return said;
}

int benchKernel(const BenchCommand &command, std::ostream &out, std::ostream &err) {
  rt::Device &device = command.device.empty() ? rt::defaultDevice() : rt::device(command.device);
  KernelChoice choice = choiceFor(command.choice, device);
  Resolved resolved = resolve(choice, err);
  resolved.options.tunedOn = tunedDevice(device);
  CompileAttempt compiled =
      compileResolved(resolved, [&](const std::string &) { return imageFor(device); }, /*isKept=*/false);
  if (!compiled)
    return reportFailure(compiled.diagnostics, choice.json, out, err);
  const rt::KernelImage &image = compiled.result->image;
  std::unique_ptr<rt::LoadedKernel> kernel = device.load(image);
  const Target *target = findTarget(image.target);
  Trial trial = makeTrial(resolved, image, kernels::ProblemOptions{.seed = 1}.on(target), {});
  PlacedArguments placed(device, trial);
  // One workspace for all launches: who launches often lends one, too.
  rt::TimingOptions options{.repetitions = command.repetitions};
  options.launch.symbols = trial.symbols;
  std::optional<rt::DeviceBuffer> workspace;
  if (uint64_t bytes = kernel->workspaceBytes(placed.arguments(), options.launch); bytes > 0) {
    workspace.emplace(device, bytes);
    options.launch.workspace = {workspace->data(), workspace->bytes()};
  }
  rt::Timing timing = rt::measure(device, *kernel, placed.arguments(), options);
  rt::KernelResources resources = kernel->resources();
  bool isEmulated = device.info().kind == rt::DeviceKind::emulator;
  if (!choice.json) {
    out << choice.kernel << " on " << device.info().name << ": median " << timing.median << " us, minimum "
        << timing.minimum << " us" << (isEmulated ? " (time of the emulation, not of a GPU)" : "") << "\n";
    return 0;
  }
  Json report = reportOf(command, resolved, *compiled.result, device);
  report.update({{"size", Json(trial.problem.sizes)},
                 {"median_us", timing.median},
                 {"minimum_us", timing.minimum},
                 {"repetitions", timing.microseconds.size()},
                 {"registers", resources.registers},
                 {"local_bytes", resources.localBytes},
                 {"emulated", isEmulated},
                 {"auto", automaticChoices(*compiled.result)},
                 {"compile_ms", phasesJson(*compiled.result)}});
  out << line(report);
  return 0;
}

} // namespace soliton::cli
