//===- Run.cpp - soliton run -------------------------------------------------------------------------===//
//
// Twice: with small integers, which must come out exactly, and with random numbers; or once, with the arrays of files.
// Trial.h says what is right.
//
//===----------------------------------------------------------------------===//

#include "tools/soliton/Placed.h"

#include "soliton/driver/Tuned.h"
#include "soliton/runtime/EmulatorDevice.h"

#include <chrono>
#include <iomanip>

namespace soliton::cli {
namespace {

double milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

struct Outcome {
  bool ok = true;
  bool guardsIntact = true;
  Verdict verdict;
  double ms = 0;
};

/// One compiled kernel on a device.
class Runner {
public:
  Runner(const RunCommand &command, const Resolved &resolved, rt::Device &device, const rt::KernelImage &image)
      : command(command), resolved(resolved), device(device), image(image), kernel(device.load(image)),
        inputs(parseFiles("--input", command.inputs)), outputs(parseFiles("--output", command.outputs)) {}

  Outcome attempt(bool integers, bool isLast) {
    const Target *target = findTarget(image.target);
    kernels::ProblemOptions drawn{.seed = command.seed, .integers = integers};
    Trial trial = makeTrial(resolved, image, drawn.on(target, resolved.options.shortSums), inputs);
    sizes = trial.problem.sizes;
    PlacedArguments placed(device, trial, resolveInPlace(command.inPlace, trial.problem.arguments));
    auto start = std::chrono::steady_clock::now();
    kernel->launch(placed.arguments(), {.symbols = trial.symbols});
    device.synchronise();
    Outcome outcome;
    outcome.ms = milliseconds(start);
    std::vector<std::vector<std::byte>> results = placed.fetch(outcome.guardsIntact);
    outcome.verdict = judge(resolved, trial, results);
    outcome.ok = outcome.verdict.comparison.ok && outcome.guardsIntact;
    if (isLast)
      writeResults(trial, results, outputs);
    return outcome;
  }
  bool isGiven() const { return !inputs.empty(); }

  kernels::Sizes sizes;

private:
  const RunCommand &command;
  const Resolved &resolved;
  rt::Device &device;
  const rt::KernelImage &image;
  std::unique_ptr<rt::LoadedKernel> kernel;
  Files inputs, outputs;
};

Json reportOf(const RunCommand &command, const Resolved &resolved, const CompileResult &compiled,
              const rt::Device &device) {
  return {{"kernel", command.choice.kernel},
          {"target", compiled.image.target},
          {"device", command.device},
          {"device_name", device.info().name},
          {"dtype", resolved.isOfLibrary() ? resolved.variant->name : ""}};
}

void addOutcome(Json &report, const Outcome &last, const CompileResult &compiled) {
  const kernels::Comparison &comparison = last.verdict.comparison;
  report["max_abs_error"] = comparison.maxAbsError;
  report["error_bound"] = comparison.errorBound;
  report["from_cache"] = compiled.isFromCache;
  report["compile_ms"] = phasesJson(compiled);
  report["run_ms"] = last.ms;
  report["code_object_bytes"] = compiled.image.code.size();
  report["warnings"] = diagnosticsJson(compiled.warnings);
}

/// What the words `right` and `WRONG` stand for.
std::string summary(const Outcome &outcome) {
  std::ostringstream text;
  const kernels::Comparison &comparison = outcome.verdict.comparison;
  text << "max error " << comparison.maxAbsError << " within " << comparison.errorBound;
  if (comparison.firstWrong)
    text << ", first wrong at element " << *comparison.firstWrong << " of `" << outcome.verdict.argument << "`";
  if (!outcome.guardsIntact)
    text << ", and memory beside an argument was written";
  return text.str();
}

} // namespace

rt::ImageKind imageFor(const rt::Device &device) {
  return device.info().kind == rt::DeviceKind::cuda  ? rt::ImageKind::ptx
         : device.info().kind == rt::DeviceKind::hip ? rt::ImageKind::hsaco
                                                     : rt::ImageKind::emulator;
}

KernelChoice choiceFor(const KernelChoice &choice, const rt::Device &device) {
  KernelChoice result = choice;
  std::string own = targetOf(device);
  if (!choice.targetGiven && !own.empty()) {
    result.target = own;
    result.targetGiven = true;
  }
  return result;
}

int runKernel(const RunCommand &command, std::ostream &out, std::ostream &err) {
  bool checks = isOn("--check", command.check);
  std::shared_ptr<rt::Device> emulator;
  if (command.device == "emulator")
    emulator = rt::makeEmulatorDevice({.checks = checks, .adversarial = checks, .seed = checks ? command.seed : 0});
  rt::Device &device = emulator ? *emulator : rt::device(command.device);
  KernelChoice choice = choiceFor(command.choice, device);
  Resolved resolved = resolve(choice, err, shapesOf(parseFiles("--input", command.inputs)));
  resolved.options.tunedOn = tunedDevice(device);
  CompileAttempt compiled =
      compileResolved(resolved, [&](const std::string &) { return imageFor(device); }, /*isKept=*/true);
  if (!compiled)
    return reportFailure(compiled.diagnostics, choice.json, out, err);

  Runner runner(command, resolved, device, compiled.result->image);
  std::optional<Outcome> exact;
  if (!runner.isGiven())
    exact = runner.attempt(/*integers=*/true, /*isLast=*/false);
  Outcome last = runner.attempt(/*integers=*/false, /*isLast=*/true);
  bool ok = last.ok && (!exact || exact->ok);
  if (!choice.json) {
    out << choice.kernel << " on " << compiled.result->image.target << " (" << command.device
        << "): " << (ok ? "right" : "WRONG") << ", " << summary(exact && !exact->ok ? *exact : last)
        << (compiled.result->isFromCache ? ", found in the cache in " : ", compiled in ") << std::fixed
        << std::setprecision(1) << compiled.result->totalMs() << " ms, ran in " << last.ms << " ms\n";
    return ok ? 0 : 1;
  }
  Json report = reportOf(command, resolved, *compiled.result, device);
  report["size"] = Json(runner.sizes);
  report["ok"] = ok;
  if (exact)
    report["exact_ok"] = exact->ok;
  report[exact ? "random_ok" : "given_ok"] = last.ok;
  report["guards_intact"] = last.guardsIntact && (!exact || exact->guardsIntact);
  addOutcome(report, last, *compiled.result);
  out << line(report);
  return ok ? 0 : 1;
}

} // namespace soliton::cli
