//===- Ptxas.cpp - PTX to cubin, and what ptxas has to say about it ----------------------===//

#include "soliton/backend/Backend.h"
#include "soliton/backend/common/Codegen.h"
#include "soliton/backend/common/Pressure.h"
#include "soliton/ir/Diagnose.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <set>

namespace soliton::backend {

using mlir::failed;
using mlir::success;

/// Where the package `nvidia-cuda-nvcc` of PyPI has it, inside the Python environment that is active.
static std::vector<std::string> placesInWheels() {
  std::vector<std::string> places;
  const char *environment = std::getenv("VIRTUAL_ENV");
  if (!environment)
    return places;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator at(std::string(environment) + "/lib", code), end; !code && at != end;
       at.increment(code))
    if (llvm::sys::path::filename(at->path()).starts_with("python"))
      places.push_back(at->path() + "/site-packages/nvidia/cuda_nvcc/bin/ptxas");
  return places;
}

std::optional<std::string> findPtxas(const Options &options) {
  std::vector<std::string> places;
  if (!options.ptxas.empty())
    return llvm::sys::fs::can_execute(options.ptxas) ? std::optional(options.ptxas) : std::nullopt;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *home = std::getenv(variable))
      places.push_back(std::string(home) + "/bin/ptxas");
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    places.push_back(*found);
  for (std::string &place : placesInWheels())
    places.push_back(std::move(place));
  places.push_back("/usr/local/cuda/bin/ptxas");
  for (const std::string &place : places)
    if (llvm::sys::fs::can_execute(place))
      return place;
  return std::nullopt;
}

namespace {
struct Run {
  int code = -1;
  std::string cubin, messages;
};
} // namespace

static std::string readAll(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

static Run runPtxas(const std::string &program, const std::string &ptx, const std::string &chip, bool lines) {
  llvm::SmallString<128> input, output, log;
  Run run;
  int descriptor = -1;
  if (llvm::sys::fs::createTemporaryFile("soliton", "ptx", descriptor, input) ||
      llvm::sys::fs::createTemporaryFile("soliton", "cubin", output) ||
      llvm::sys::fs::createTemporaryFile("soliton", "log", log)) {
    run.messages = "no temporary file";
    return run;
  }
  llvm::FileRemover removeInput(input), removeOutput(output), removeLog(log);
  {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << ptx;
  }
  std::string architecture = "-arch=" + chip;
  llvm::SmallVector<llvm::StringRef> args = {program, "-v", architecture};
  if (lines)
    args.push_back("-lineinfo");
  args.append({input, "-o", output});
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(log), llvm::StringRef(log)};
  std::string error;
  run.code = llvm::sys::ExecuteAndWait(program, args, std::nullopt, redirects, 0, 0, &error);
  run.messages = readAll(log) + error;
  if (run.code == 0)
    run.cubin = readAll(output);
  return run;
}

/// The number before `what` in "… 16 bytes spill stores …", or 0.
static uint32_t numberBefore(llvm::StringRef text, llvm::StringRef what) {
  size_t at = text.find(what);
  if (at == llvm::StringRef::npos)
    return 0;
  llvm::StringRef head = text.take_front(at).rtrim();
  uint32_t value = 0;
  (void)head.take_back(head.size() - (head.find_last_not_of("0123456789") + 1)).getAsInteger(10, value);
  return value;
}

static uint32_t numberAfter(llvm::StringRef text, llvm::StringRef what) {
  uint32_t value = 0;
  size_t at = text.find(what);
  if (at != llvm::StringRef::npos)
    (void)text.drop_front(at + what.size()).consumeInteger(10, value);
  return value;
}

/// Messages that say that ptxas had to add a wait or fence: the program used what was still pending.
static bool saysInjected(llvm::StringRef line) {
  return line.contains("C7517") || line.contains("C7519");
}

/// Messages that say that a fast instruction became a slow one.
static bool saysSerialized(llvm::StringRef line) {
  for (llvm::StringRef code :
       {"C7508", "C7509", "C7510", "C7511", "C7512", "C7513", "C7514", "C7515", "C7516", "C7518", "C7520"})
    if (line.contains(code))
      return true;
  return line.contains("are serialized") || line.contains("setmaxnreg ignored");
}

static constexpr const char *kSpillHint = "use a smaller tile, fewer stages or more waves";

/// Where most registers are alive, and how many.
static std::string describe(const Pressure &pressure) {
  return "most registers are alive here: about " + std::to_string(pressure.registers) + " a lane";
}

static llvm::LogicalResult judgeSpills(CodeObject &code, machine::KernelOp kernel, const Options &options) {
  if (!code.spillBytes)
    return success();
  std::string text = "`" + code.entry + "` spills " + std::to_string(code.spillBytes) + " bytes of registers a lane";
  Pressure pressure = pressureOf(kernel);
  mlir::Location place = pressure.at ? pressure.at->getLoc() : kernel.getLoc();
  if (!options.allowSpills)
    return report(kernel.getLoc(), DiagId::RegisterSpill).hint(kSpillHint).note(place, describe(pressure)) << text;
  code.warnings.push_back({Severity::warning,
                           DiagId::RegisterSpill,
                           placeOf(kernel.getLoc()),
                           text,
                           kSpillHint,
                           {{placeOf(place), describe(pressure)}}});
  return success();
}

/// The places of asynchronous matrix instructions, each line of the author's once. ptxas names a function, not a line:
/// what it says is about all of them.
static llvm::SmallVector<mlir::Location> matrixPlaces(machine::KernelOp kernel) {
  llvm::SmallVector<mlir::Location> places;
  std::set<std::pair<std::string, int>> seen;
  kernel.walk([&](machine::MmaAsyncOp mma) {
    Place place = placeOf(mma.getLoc());
    if (seen.emplace(place.file, static_cast<int>(place.line)).second)
      places.push_back(mma.getLoc());
  });
  if (places.empty())
    places.push_back(kernel.getLoc());
  return places;
}

static llvm::LogicalResult judgeOrder(CodeObject &code, machine::KernelOp kernel, llvm::StringRef messages,
                                      const Options &options) {
  llvm::SmallVector<llvm::StringRef> lines;
  messages.split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines) {
    bool serialized = saysSerialized(line);
    if (!serialized && !saysInjected(line))
      continue;
    llvm::SmallVector<mlir::Location> places = matrixPlaces(kernel);
    if (serialized && !options.allowSerialization) {
      Report error = report(places.front(), DiagId::MatrixSerialized);
      for (mlir::Location other : llvm::drop_begin(places))
        error.note(other, "and this one");
      error << "matrix instructions of `" << code.entry << "` are not run as they were issued: " << line.trim();
      return error;
    }
    code.warnings.push_back(
        {Severity::warning, DiagId::MatrixSerialized, placeOf(places.front()), line.trim().str(), "", {}});
  }
  return success();
}

llvm::LogicalResult assembleCubin(CodeObject &code, machine::KernelOp kernel, const Target &target,
                                  const Options &options) {
  std::optional<std::string> program = findPtxas(options);
  if (!program)
    return report(kernel.getLoc(), DiagId::BackendFailed)
               .hint("install CUDA, set CUDA_HOME, or let the driver compile the PTX")
           << "there is no ptxas to assemble `" << code.entry << "` with";
  Run run;
  {
    PhaseTimer timer(code.phases, "ptxas");
    run = runPtxas(*program, code.assembly, target.name, options.lineInfo);
  }
  if (run.code != 0 || run.cubin.empty())
    return report(kernel.getLoc(), DiagId::BackendFailed) << "ptxas refused `" << code.entry << "`: " << run.messages;
  code.bytes = run.cubin;
  code.vgprs = numberAfter(run.messages, "Used ");
  code.scratchBytes = numberBefore(run.messages, "bytes stack frame");
  code.spillBytes =
      std::max(numberBefore(run.messages, "bytes spill stores"), numberBefore(run.messages, "bytes spill loads"));
  code.spilledRegisters = code.spillBytes / 4;
  if (failed(judgeSpills(code, kernel, options)))
    return mlir::failure();
  return judgeOrder(code, kernel, run.messages, options);
}

} // namespace soliton::backend
