//===- Compile.cpp - The road from a machine kernel to code ---------------------===//

#include "soliton/backend/amd/AmdTranslator.h"
#include "soliton/backend/amd/Hsaco.h"
#include "soliton/backend/amd/Order.h"
#include "soliton/backend/amd/Signs.h"
#include "soliton/backend/common/Codegen.h"
#include "soliton/backend/common/Pressure.h"
#include "soliton/backend/common/Spread.h"
#include "soliton/backend/nvidia/NvidiaTranslator.h"
#include "soliton/backend/nvidia/Sidestep.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace soliton::backend {

using mlir::failed;
using mlir::failure;

double CodeObject::msOf(std::string_view phase) const {
  double sum = 0;
  for (const Phase &entry : phases)
    if (entry.name == phase)
      sum += entry.ms;
  return sum;
}

static llvm::LogicalResult checkTarget(machine::KernelOp kernel, const Target &target, Vendor vendor) {
  if (target.vendor != vendor)
    return report(kernel.getLoc(), DiagId::WrongTarget)
           << "`" << kernel.getSymName() << "` is compiled for " << target.name << ", whose code is of another kind";
  if (kernel.getTarget() != target.name)
    return report(kernel.getLoc(), DiagId::WrongTarget).hint("lower it again for the target that is meant")
           << "`" << kernel.getSymName() << "` was made for " << kernel.getTarget() << ", not for " << target.name;
  if (static_cast<int64_t>(kernel.getWaveSize()) != target.waveSize)
    return report(kernel.getLoc(), DiagId::BackendUnsupported)
           << "`" << kernel.getSymName() << "` has waves of " << static_cast<int64_t>(kernel.getWaveSize())
           << " lanes, " << target.name << " has " << target.waveSize;
  auto waves = static_cast<int64_t>(kernel.getWaves());
  if (waves * target.waveSize > target.maxThreadsPerWorkgroup)
    return report(kernel.getLoc(), DiagId::BackendUnsupported)
           << "`" << kernel.getSymName() << "` has " << waves * target.waveSize << " lanes, expected at most "
           << target.maxThreadsPerWorkgroup;
  if (static_cast<int64_t>(kernel.getSharedBytes()) > target.sharedBytes)
    return report(kernel.getLoc(), DiagId::BackendUnsupported)
           << "`" << kernel.getSymName() << "` needs " << static_cast<int64_t>(kernel.getSharedBytes())
           << " bytes of shared memory, " << target.name << " has " << target.sharedBytes;
  return mlir::success();
}

namespace {
/// One compilation: the LLVM objects in the order in which they must live.
struct Job {
  Job(machine::KernelOp kernel, const Target &target, const Options &options)
      : kernel(kernel), target(target), options(options), messages(context),
        machine(makeTargetMachine(target, target.vendor == Vendor::nvidia ? ptxFeatures(kernel) : std::string())),
        module(kernel.getSymName(), context) {}

  machine::KernelOp kernel;
  const Target &target;
  const Options &options;
  llvm::LLVMContext context;
  LlvmMessages messages;
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::Module module;
  CodeObject code;
  bool crashed = false;
};

/// A job that crashed is left in memory: what LLVM was doing still points into it.
struct JobDeleter {
  void operator()(Job *job) const {
    if (!job->crashed)
      delete job;
  }
};
using OwnedJob = std::unique_ptr<Job, JobDeleter>;
} // namespace

static std::string print(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

template <typename TargetTranslator>
static llvm::LogicalResult translate(Job &job) {
  PhaseTimer timer(job.code.phases, "translate");
  sinkSpreads(job.kernel);
  job.module.setTargetTriple(job.machine->getTargetTriple());
  job.module.setDataLayout(job.machine->createDataLayout());
  TargetTranslator translator(job.kernel, job.target, job.options, job.module);
  if (failed(translator.run()))
    return failure();
  job.code.entry = job.kernel.getSymName().str();
  job.code.parameters = translator.parameters();
  job.code.parameterBytes = translator.parameterBytes();
  job.code.threads = static_cast<uint32_t>(job.kernel.getWaves() * job.kernel.getWaveSize());
  job.code.sharedBytes = static_cast<uint32_t>(job.kernel.getSharedBytes());
  if (job.options.keepLlvmIr)
    job.code.llvmIr = print(job.module);
  return mlir::success();
}

/// Optimises and emits inside the guard; `output` is what the target's emitter wrote.
static llvm::LogicalResult generate(Job &job, llvm::CodeGenFileType type, std::string &output) {
  std::string flaws;
  std::optional<std::string> crash = runGuarded([&] {
    llvm::raw_string_ostream stream(flaws);
    if (llvm::verifyModule(job.module, &stream))
      return;
    {
      PhaseTimer timer(job.code.phases, "llvm_opt");
      optimize(job.module, *job.machine);
      if (job.target.vendor == Vendor::nvidia)
        sidestepPtxas(job.module);
      else
        copySignsAsBits(job.module);
    }
    if (job.options.keepAssembly && type == llvm::CodeGenFileType::ObjectFile)
      job.code.assembly = emit(*llvm::CloneModule(job.module), *job.machine, llvm::CodeGenFileType::AssemblyFile);
    PhaseTimer timer(job.code.phases, "llvm_codegen");
    output = emit(job.module, *job.machine, type);
  });
  auto fail = [&](llvm::StringRef who, const std::string &what) -> llvm::LogicalResult {
    return report(job.kernel.getLoc(), DiagId::BackendFailed)
           << who << " refused `" << job.kernel.getSymName() << "` for " << job.target.name << ": " << what;
  };
  job.crashed = crash.has_value();
  if (crash)
    return fail("LLVM", job.messages.errors.empty() ? *crash : job.messages.errors);
  if (!flaws.empty())
    return fail("LLVM's verifier", flaws);
  if (!job.messages.errors.empty() || output.empty())
    return fail("LLVM", job.messages.errors.empty() ? "it has no emitter" : job.messages.errors);
  return mlir::success();
}

static void addWarning(CodeObject &code, machine::KernelOp kernel, DiagId id, std::string message,
                       std::string hint = "") {
  code.warnings.push_back({Severity::warning, id, placeOf(kernel.getLoc()), std::move(message), std::move(hint), {}});
}

/// What the code object does otherwise than the program. Waits that count instructions are wrong, not slow, where LLVM
/// has made others of them.
static std::optional<std::string> changedBy(Job &job) {
  PhaseTimer timer(job.code.phases, "check");
  std::string error;
  std::optional<Disassembly> listing = disassembleHsaco(job.code.bytes, job.target.name, error);
  return listing ? scheduleMismatch(job.kernel, *listing) : error;
}

/// The most accumulator registers of a lane that matrix instructions of one block hold.
static int64_t accumulatorRegisters(machine::KernelOp kernel) {
  llvm::DenseMap<mlir::Block *, int64_t> registers;
  int64_t most = 0;
  kernel.walk([&](machine::MmaOp op) {
    auto before = op.getAcc().getDefiningOp<machine::MmaOp>();
    if (before && before->getBlock() == op->getBlock())
      return;
    auto type = llvm::cast<mlir::VectorType>(op.getAcc().getType());
    int64_t &sum = registers[op->getBlock()];
    sum += llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(), 32);
    most = std::max(most, sum);
  });
  return most;
}

namespace {
/// How a code object is made.
struct Way {
  /// LLVM may put accumulators into registers of their own, beyond the 256 that every instruction can name, at the
  /// price of copies wherever another instruction needs one of them.
  bool accumulatorsApart = false;
  /// Products and narrow loads are tied to their places: LLVM cannot move them, at the price of copies.
  bool pin = false;
};

struct Built {
  CodeObject code;
  /// What of the order LLVM has changed.
  std::optional<std::string> changed;
};
} // namespace

static mlir::FailureOr<Built> buildHsaco(machine::KernelOp kernel, const Target &target, Options options, Way way) {
  options.pin = way.pin;
  std::shared_lock generating(optionsMutex());
  OwnedJob owned(new Job(kernel, target, options));
  Job &job = *owned;
  if (!job.machine)
    return report(kernel.getLoc(), DiagId::BackendFailed) << "LLVM does not know " << target.name;
  std::string object, error;
  const bool keep = keepsOrder(kernel);
  if (failed(translate<AmdTranslator>(job)))
    return failure();
  setGate(job.module, keep);
  if (!way.accumulatorsApart)
    job.module.getFunction(job.code.entry)->addFnAttr("amdgpu-agpr-alloc", "0");
  if (failed(generate(job, llvm::CodeGenFileType::ObjectFile, object)))
    return failure();
  generating.unlock();
  {
    PhaseTimer timer(job.code.phases, "lld");
    job.code.bytes = linkHsaco(object, error);
  }
  if (job.code.bytes.empty())
    return report(kernel.getLoc(), DiagId::BackendFailed) << "lld refused `" << kernel.getSymName() << "`: " << error;
  std::optional<HsacoKernel> facts = readHsaco(job.code.bytes, error);
  if (!facts)
    return report(kernel.getLoc(), DiagId::BackendFailed) << "the code object cannot be read: " << error;
  std::optional<std::string> changed = keep && options.checkOrder ? changedBy(job) : std::nullopt;
  CodeObject &code = job.code;
  code.vgprs = facts->vgprs;
  code.agprs = facts->agprs;
  code.sgprs = facts->sgprs;
  code.spilledRegisters = facts->vgprSpills;
  code.spillBytes = facts->vgprSpills * 4;
  code.scratchBytes = facts->privateBytes;
  if (code.spilledRegisters || code.scratchBytes)
    addWarning(code, kernel, DiagId::RegisterSpill,
               "`" + code.entry + "` spills " + std::to_string(code.spilledRegisters) + " vector registers (" +
                   std::to_string(code.scratchBytes) + " bytes of private memory a lane)",
               "use a smaller tile, fewer stages or more waves");
  if (!job.messages.warnings.empty())
    addWarning(code, kernel, DiagId::BackendFailed, job.messages.warnings);
  return Built{std::move(code), std::move(changed)};
}

/// What needs half as many registers again as there are would spill most of them, after minutes of looking for places.
static llvm::LogicalResult checkDemand(machine::KernelOp kernel, const Target &target, const Options &options) {
  Pressure pressure = pressureOf(kernel);
  int64_t alive = pressure.registers, has = target.registersPerLane + target.accumulatorRegistersPerLane;
  if (options.allowSpills || 2 * alive <= 3 * has)
    return llvm::success();
  return report(kernel.getLoc(), DiagId::RegisterSpill)
             .hint("use a smaller tile or more waves")
             .note(pressure.at->getLoc(), "most of them are alive here")
         << "`" << kernel.getSymName() << "` keeps about " << alive << " registers a lane alive, " << target.name
         << " has " << has;
}

mlir::FailureOr<CodeObject> compileToHsaco(machine::KernelOp kernel, const Target &target, const Options &options) {
  // Of the 256 registers that every instruction can name. What fits into them with room for addresses has its
  // accumulators there too, however many they are.
  constexpr int64_t half = 128, most = 208;
  // What needs half as many again would spill for certain, after a long search for places.
  const int64_t alive = registersAlive(kernel);
  bool isHopeless = 2 * alive > 3 * target.registersPerLane;
  if (failed(checkTarget(kernel, target, Vendor::amd)) || failed(checkDemand(kernel, target, options)))
    return failure();
  initializeTargets();
  Way way{.accumulatorsApart = isHopeless || (accumulatorRegisters(kernel) > half && alive > most)};
  mlir::FailureOr<Built> built = buildHsaco(kernel, target, options, way);
  if (succeeded(built) && built->changed) {
    way.pin = true;
    built = buildHsaco(kernel, target, options, way);
  }
  if (failed(built))
    return failure();
  if (built->changed)
    return report(kernel.getLoc(), DiagId::BackendFailed)
               .hint("an access whose value nobody uses, or one like another before it, should not be in the program")
           << "LLVM changed the schedule of `" << kernel.getSymName() << "`: " << *built->changed;
  if (way.accumulatorsApart || built->code.scratchBytes == 0)
    return std::move(built->code);
  // What is wrong with the second attempt is nobody's business: the first one stands.
  mlir::ScopedDiagnosticHandler quiet(kernel.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  way.accumulatorsApart = true;
  mlir::FailureOr<Built> other = buildHsaco(kernel, target, options, way);
  bool isBetter = succeeded(other) && !other->changed && other->code.scratchBytes < built->code.scratchBytes;
  return std::move((isBetter ? other : built)->code);
}

mlir::FailureOr<CodeObject> compileToPtx(machine::KernelOp kernel, const Target &target, const Options &options) {
  if (failed(checkTarget(kernel, target, Vendor::nvidia)) || failed(checkDemand(kernel, target, options)))
    return failure();
  initializeTargets();
  std::shared_lock generating(optionsMutex());
  OwnedJob owned(new Job(kernel, target, options));
  Job &job = *owned;
  if (!job.machine)
    return report(kernel.getLoc(), DiagId::BackendFailed) << "LLVM does not know " << target.name;
  if (failed(translate<NvidiaTranslator>(job)))
    return failure();
  setGate(job.module, /*keepsOrder=*/false);
  if (failed(generate(job, llvm::CodeGenFileType::AssemblyFile, job.code.assembly)))
    return failure();
  job.code.sharedIsDynamic = true;
  if (!job.messages.warnings.empty())
    addWarning(job.code, kernel, DiagId::BackendFailed, job.messages.warnings);
  return std::move(job.code);
}

} // namespace soliton::backend
