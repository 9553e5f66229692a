#include "test/generate/Judge.h"

#include "soliton/driver/CheckPasses.h"
#include "soliton/driver/Compile.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/interpreter/Interpreter.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Machine.h"
#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"
#include "soliton/runtime/EmulatorDevice.h"
#include "test/generate/Evaluate.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/Signals.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sstream>
#include <unistd.h>

namespace soliton::generate {
namespace {

constexpr size_t kGuardBytes = 64;
constexpr uint8_t kGuard = 0xa5;

Verdict failedWith(std::string kind, std::string target, std::string message) {
  return {Outcome::failed, std::move(kind), std::move(target), std::move(message)};
}

/// Counts the processor time from here to the end of the block.
class Stopwatch {
public:
  Stopwatch(std::map<std::string, double> &seconds, const char *stage) : total(seconds[stage]), began(now()) {}
  ~Stopwatch() { total += now() - began; }

private:
  static double now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double &total;
  double began;
};

/// That a back end cannot translate what the compiler gave it, or a pass left a form that is none, is no refusal: the
/// author can change nothing about it.
bool isOurs(DiagId id) {
  return id == DiagId::BackendFailed || id == DiagId::FormViolated;
}

/// The diagnostic that explains a refusal: the first error.
Verdict refusedWith(const std::string &target, const std::vector<Diagnostic> &diagnostics, const char *stage) {
  for (const Diagnostic &each : diagnostics)
    if (each.severity == Severity::error)
      return {isOurs(each.id) ? Outcome::failed : Outcome::refused, std::string(idText(each.id)), target,
              std::string(stage) + format(diagnostics)};
  return failedWith("refused-silently", target, std::string(stage) + "the compiler failed and said nothing");
}

DType dtypeOf(Element type) {
  return static_cast<DType>(type); // both lists are in one order; GenerateTest checks it
}

//===-- The meaning -----------------------------------------------------------------------------===//

/// The traced program in a context of its own.
struct Traced {
  Traced() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<wave::WaveDialect, machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                        mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  }
  bool parse(const std::string &text) {
    DiagnosticCollector collector(&context);
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "generated.mlir");
    diagnostics = collector.take();
    return bool(module);
  }
  wave::KernelOp kernel() { return *module->getOps<wave::KernelOp>().begin(); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Diagnostic> diagnostics;
};

/// What the interpreter makes of the program; a verdict where it makes nothing.
std::optional<Verdict> interpret(const Program &program, const std::string &target, const std::vector<Bytes> &inputs,
                                 std::vector<Bytes> &result) {
  Traced traced;
  if (!traced.parse(print(program, target)))
    return refusedWith(target, traced.diagnostics, "parsing: ");
  interp::Inputs given{inputs, dynamicSizes(program)};
  interp::Result found = interp::run(traced.kernel(), given);
  if (!found.ok())
    return failedWith("interpreter-refuses", "", format(found.diagnostics));
  result = std::move(found.arguments);
  return std::nullopt;
}

//===-- Running -----------------------------------------------------------------------------------===//

/// The arguments between guard zones, in the memory of a device.
class Launch {
public:
  Launch(const Program &program, const std::vector<Bytes> &inputs, rt::Device &device)
      : program(program), device(device) {
    for (const Memory &memory : program.memories)
      if (memory.isParameter)
        parameters.push_back(&memory);
    for (size_t i = 0; i < parameters.size(); ++i) {
      Bytes placed = spread(*parameters[i], inputs[i]);
      std::vector<uint8_t> guarded(placed.size() + 2 * kGuardBytes, kGuard);
      std::ranges::copy(placed, guarded.begin() + kGuardBytes);
      device.copyToDevice(places.emplace_back(device, guarded.size()).data(), guarded.data(), guarded.size());
    }
  }

  void run(rt::LoadedKernel &kernel) {
    std::vector<rt::Argument> arguments;
    const rt::DeviceInfo &info = device.info();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Memory &memory = *parameters[i];
      uint8_t *data = static_cast<uint8_t *>(places[i].data()) + kGuardBytes;
      std::vector<int64_t> extents = extentsOf(program, memory), strides;
      for (const Formula &stride : memory.strides)
        strides.push_back(sizeOf(program, stride));
      arguments.emplace_back(
          strides.empty()
              ? rt::Tensor::dense(data, dtypeOf(memory.type), extents, info.memory(), info.index)
              : rt::Tensor::strided(data, dtypeOf(memory.type), extents, strides, info.memory(), info.index));
    }
    for (const Scalar &scalar : program.scalars)
      arguments.push_back(isFloat(scalar.type) ? rt::Argument(static_cast<double>(scalar.value))
                                               : rt::Argument(scalar.value));
    std::vector<int64_t> symbols;
    for (const rt::SymbolSpec &symbol : kernel.image().symbols)
      if (!symbol.argument)
        symbols.push_back(program.findDim(symbol.name)->size);
    kernel.launch(arguments, {.symbols = symbols});
    device.synchronise();
  }

  /// What is wrong with the arguments now, if anything is: a guard zone that was written, or another result.
  std::optional<Verdict> judge(const std::vector<Bytes> &expected, const std::string &target,
                               const std::string &where) {
    std::vector<Bytes> found;
    for (size_t i = 0; i < places.size(); ++i) {
      std::vector<uint8_t> guarded(places[i].bytes());
      device.copyToHost(guarded.data(), places[i].data(), guarded.size());
      auto begin = guarded.begin() + kGuardBytes, end = guarded.end() - kGuardBytes;
      auto intact = [](uint8_t byte) { return byte == kGuard; };
      Bytes placed(begin, end), elements = gather(*parameters[i], placed);
      if (!std::all_of(guarded.begin(), begin, intact) || !std::all_of(end, guarded.end(), intact) ||
          spread(*parameters[i], elements) != placed)
        return failedWith("guard-overwritten", target, where + "wrote beside an argument, or between its elements");
      found.push_back(std::move(elements));
    }
    if (std::optional<std::string> wrong =
            difference(program, found, expected, /*mayFuse=*/device.info().kind != rt::DeviceKind::emulator))
      return failedWith("wrong-result", target, where + *wrong);
    return std::nullopt;
  }

private:
  static size_t widthOf(const Memory &memory) { return memory.type == Element::i1 ? 1 : bitsOf(memory.type) / 8; }

  /// The elements at their places, guards between them.
  Bytes spread(const Memory &memory, const Bytes &elements) const {
    if (memory.strides.empty())
      return elements;
    std::vector<int64_t> at = placesOf(program, memory);
    size_t width = widthOf(memory), span = at.empty() ? 0 : static_cast<size_t>(std::ranges::max(at)) + 1;
    Bytes placed(span * width, kGuard);
    for (size_t i = 0; i < at.size(); ++i)
      std::copy_n(elements.begin() + static_cast<ptrdiff_t>(i * width), width,
                  placed.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(at[i]) * width));
    return placed;
  }
  Bytes gather(const Memory &memory, const Bytes &placed) const {
    if (memory.strides.empty())
      return placed;
    Bytes elements;
    for (int64_t at : placesOf(program, memory)) {
      auto from = placed.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(at) * widthOf(memory));
      elements.insert(elements.end(), from, from + static_cast<ptrdiff_t>(widthOf(memory)));
    }
    return elements;
  }

  const Program &program;
  rt::Device &device;
  std::vector<const Memory *> parameters;
  std::vector<rt::DeviceBuffer> places;
};

/// What goes to the standard output from here on, until it is asked for.
class Captured {
public:
  Captured() : file(std::tmpfile()), before(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
  }
  Captured(const Captured &) = delete;
  ~Captured() {
    stop();
    std::fclose(file);
  }

  /// Each line once, without who printed it.
  std::set<std::string> lines() {
    stop();
    std::fseek(file, 0, SEEK_SET);
    std::set<std::string> found;
    std::string text;
    for (int c = 0; (c = std::fgetc(file)) != EOF;)
      text += static_cast<char>(c);
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      line.resize(std::min(line.size(), line.find("  (workgroup")));
      found.insert(line.ends_with("= -0") ? line.substr(0, line.size() - 2) + "0" : line);
    }
    return found;
  }

private:
  void stop() {
    if (before < 0)
      return;
    std::fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    before = -1;
  }

  std::FILE *file;
  int before;
};

bool prints(const Program &program) {
  bool found = false;
  forEachOp(program.body, [&](const Op &op) { found |= op.kind == OpKind::print; });
  return found;
}

class TargetJudge {
public:
  TargetJudge(const Program &program, const JudgeOptions &options, const std::string &target,
              std::map<std::string, double> &seconds)
      : program(program), options(options), target(target), text(print(program, target)), seconds(seconds) {}

  Verdict run(const std::vector<Bytes> &inputs, const std::vector<Bytes> &expected) {
    CompileAttempt attempt = compile(rt::ImageKind::emulator, "compile for the emulator");
    if (!attempt)
      return refusedWith(target, attempt.diagnostics, "");
    for (uint64_t interleaving : options.interleavings)
      if (std::optional<Verdict> wrong = emulate(attempt.result->image, interleaving, inputs, expected))
        return *wrong;
    if (!options.binaries)
      return {};
    bool isAmd = target.starts_with("gfx");
    CompileAttempt binary =
        compile(isAmd ? rt::ImageKind::hsaco : rt::ImageKind::ptx, isAmd ? "compile to HSACO" : "compile to PTX");
    if (prints(program))
      return judgePrintingCode(binary, inputs);
    if (!binary)
      return refusedWith(target, binary.diagnostics, "code object: ");
    if (isAmd || options.gpu.empty())
      return {};
    Stopwatch watch(seconds, "run on the GPU");
    return launch(rt::device(options.gpu), binary.result->image, "on " + options.gpu + ": ", inputs, expected)
        .value_or(Verdict());
  }

private:
  CompileAttempt compile(rt::ImageKind kind, const char *stage) {
    Stopwatch watch(seconds, stage);
    CompileOptions wanted;
    wanted.schedule.name = program.schedule;
    wanted.directCopies = program.directCopies;
    return compileText(text, "generated.mlir", wanted, [&](const std::string &) { return kind; });
  }

  std::optional<Verdict> emulate(const rt::KernelImage &image, uint64_t interleaving, const std::vector<Bytes> &inputs,
                                 const std::vector<Bytes> &expected) {
    Stopwatch watch(seconds, "emulate");
    auto device = rt::makeEmulatorDevice({.checks = true, .adversarial = true, .seed = interleaving, .threads = 1});
    std::string where = "interleaving " + std::to_string(interleaving) + ": ";
    if (!prints(program))
      return launch(*device, image, where, inputs, expected);
    Captured output;
    if (std::optional<Verdict> wrong = launch(*device, image, where, inputs, expected))
      return wrong;
    return judgeLines(output.lines(), inputs, where);
  }

  /// Only the emulator prints; a print in a branch that nobody takes is gone before a chip hears of it.
  Verdict judgePrintingCode(const CompileAttempt &binary, const std::vector<Bytes> &inputs) {
    std::set<std::string> wanted;
    evaluate(program, inputs, &wanted);
    bool isRefused = !binary && refusedWith(target, binary.diagnostics, "").kind == idText(DiagId::BackendUnsupported);
    if (isRefused || (binary && wanted.empty()))
      return {};
    return failedWith("print-compiled", target, "code for a chip that prints: " + format(binary.diagnostics));
  }

  std::optional<Verdict> judgeLines(const std::set<std::string> &found, const std::vector<Bytes> &inputs,
                                    const std::string &where) {
    std::set<std::string> wanted;
    evaluate(program, inputs, &wanted);
    for (const std::string &line : found)
      if (!wanted.contains(line))
        return failedWith("wrong-print", target, where + "printed " + line);
    for (const std::string &line : wanted)
      if (!found.contains(line))
        return failedWith("wrong-print", target, where + "did not print " + line);
    return std::nullopt;
  }

  std::optional<Verdict> launch(rt::Device &device, const rt::KernelImage &image, const std::string &where,
                                const std::vector<Bytes> &inputs, const std::vector<Bytes> &expected) {
    try {
      Launch launch(program, inputs, device);
      launch.run(*device.load(image));
      return launch.judge(expected, target, where);
    } catch (const CompileError &error) {
      std::string kind = error.diagnostics().empty() ? "launch" : std::string(idText(error.diagnostics().front().id));
      return failedWith(std::string(name(device.info().kind)) + ":" + kind, target,
                        where + format(error.diagnostics()));
    }
  }

  const Program &program;
  const JudgeOptions &options;
  const std::string &target;
  std::string text;
  std::map<std::string, double> &seconds;
};

/// After every pass the kernel means what the traced program means.
std::optional<Verdict> checkEveryPass(const Program &program, const std::string &target,
                                      const std::vector<Bytes> &inputs) {
  Traced traced;
  if (!traced.parse(print(program, target)))
    return std::nullopt;
  DiagnosticCollector collector(&traced.context);
  PassCheckOptions options;
  options.oracle.symbols = dynamicSizes(program);
  options.oracle.arguments = inputs;
  options.oracle.mayDiffer = mayDiffer(program);
  sched::ScheduleRequest schedule;
  schedule.name = program.schedule;
  options.build = [&](mlir::OpPassManager &pm) {
    buildScheduledPipeline(pm, schedule);
    buildMachinePipeline(pm);
  };
  if (program.directCopies)
    traced.kernel().setDirectCopies(true);
  if (mlir::succeeded(checkPasses(*traced.module, options)))
    return std::nullopt;
  std::vector<Diagnostic> diagnostics = collector.take();
  for (const Diagnostic &each : diagnostics)
    if (each.id == DiagId::PassChangedMeaning)
      return failedWith("pass-changed-meaning", target, each.message);
  return refusedWith(target, diagnostics, "pass by pass: ");
}

/// What the program computes, by the interpreter; whether the evaluator agrees.
Verdict meaningOf(const Program &program, const JudgeOptions &options, const std::string &target,
                  const std::vector<Bytes> &inputs, std::vector<Bytes> &expected,
                  std::map<std::string, double> &seconds) {
  {
    Stopwatch watch(seconds, "interpret");
    if (std::optional<Verdict> wrong = interpret(program, target, inputs, expected))
      return *wrong;
  }
  if (!options.evaluate)
    return {};
  Stopwatch watch(seconds, "evaluate");
  try {
    if (std::optional<std::string> wrong = difference(program, expected, evaluate(program, inputs)))
      return failedWith("interpreter-differs", "", "the interpreter's " + *wrong + " by the evaluator");
  } catch (const std::exception &error) {
    return failedWith("generator", "", std::string("the evaluator: ") + error.what());
  }
  return {};
}

/// On the emulator and as a code object; what failed says which pass it was, if the interpreter notices.
Verdict judgeTarget(const Program &program, const JudgeOptions &options, const std::string &target,
                    const std::vector<Bytes> &inputs, const std::vector<Bytes> &expected,
                    std::map<std::string, double> &seconds) {
  Verdict verdict = TargetJudge(program, options, target, seconds).run(inputs, expected);
  if (verdict.outcome == Outcome::refused || (verdict.outcome == Outcome::accepted && !options.everyPass))
    return verdict;
  Stopwatch watch(seconds, "after every pass");
  Captured lines; // which were judged before
  std::optional<Verdict> wrong = checkEveryPass(program, target, inputs);
  if (verdict.outcome == Outcome::accepted)
    return wrong.value_or(verdict);
  verdict.message += wrong ? "\nafter every pass: " + wrong->message : "\nafter every pass the interpreter agrees";
  return verdict;
}
} // namespace

void reportCrashes() {
  setenv("LLVM_DISABLE_SYMBOLIZATION", "1", 1); // the names that the linker knows will do
  llvm::sys::PrintStackTraceOnErrorSignal("SolitonGenerate", /*DisableCrashReporting=*/true);
}

Verdict judge(const Program &program, const JudgeOptions &options) {
  if (std::optional<std::string> mistake = findMistake(program))
    return failedWith("generator", "", *mistake);
  const std::vector<std::string> &targets = options.targets.empty() ? program.targets : options.targets;
  if (options.parseOnly) {
    Traced traced;
    return traced.parse(print(program, targets.front()))
               ? Verdict()
               : refusedWith(targets.front(), traced.diagnostics, "parsing: ");
  }
  std::vector<Bytes> inputs, expected;
  std::map<std::string, double> seconds;
  std::optional<Program> own;
  Verdict verdict;
  for (size_t i = 0; i < targets.size() && verdict.outcome == Outcome::accepted; ++i) {
    // Targets whose waves have as many lanes have one program, which has one meaning.
    if (!own ||
        (program.threads && own->findDim(kLanes)->size != forTarget(program, targets[i]).findDim(kLanes)->size)) {
      own = forTarget(program, targets[i]);
      inputs = inputsOf(*own);
      verdict = meaningOf(*own, options, targets[i], inputs, expected, seconds);
    }
    if (verdict.outcome == Outcome::accepted)
      verdict = judgeTarget(*own, options, targets[i], inputs, expected, seconds);
  }
  verdict.seconds = std::move(seconds);
  return verdict;
}

} // namespace soliton::generate
