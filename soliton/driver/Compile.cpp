//===- Compile.cpp - Trace, transform, translate ----------------------------------------===//
//
// One compilation: the frontend's module through Pipelines.cpp, then the back end that makes the image. Every step is
// timed; all that MLIR or LLVM say becomes diagnostics.
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/DependentLaunches.h"
#include "soliton/analysis/Persistent.h"
#include "soliton/backend/Backend.h"
#include "soliton/backend/emulator/Translate.h"
#include "soliton/driver/Auto.h"
#include "soliton/driver/Compilation.h"
#include "soliton/driver/FormVerifier.h"
#include "soliton/driver/LaunchInfo.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/driver/Progress.h"
#include "soliton/driver/SharedReport.h"
#include "soliton/driver/Tuned.h"
#include "soliton/frontend/Emit.h"
#include "soliton/transforms/Passes.h"
#include "soliton/transforms/Tickets.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

namespace soliton {

mlir::MLIRContext &threadContext() {
  thread_local std::unique_ptr<mlir::MLIRContext> context;
  thread_local int uses = 0;
  if (!context || ++uses > 256) {
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    context->loadDialect<wave::WaveDialect, machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                         mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
    uses = 0;
  }
  return *context;
}

Compilation::Compilation(const CompileOptions &options, rt::ImageKind kind)
    : options(options), kind(kind), context(threadContext()), collector(&context), last(Clock::now()) {}

void Compilation::lap(std::string_view name) {
  Clock::time_point now = Clock::now();
  double ms = std::chrono::duration<double, std::milli>(now - last).count();
  last = now;
  auto phase = llvm::find_if(result.phases, [&](const CompilePhase &each) { return each.name == name; });
  if (phase == result.phases.end())
    result.phases.push_back({std::string(name), ms});
  else
    phase->ms += ms;
}

void Compilation::trace(const Kernel &kernel) {
  sayProgress("trace");
  EmittedKernel emitted = emitKernel(kernel, context, {options.subs, options.dynamic, options.target, options.place});
  early = std::move(emitted.diagnostics);
  traced = std::move(emitted.module);
  lap("trace");
}

CompileAttempt Compilation::fromKernel(const Kernel &kernel) {
  trace(kernel);
  return finish(std::move(traced));
}

CompileAttempt Compilation::fromText(std::string_view text, std::string_view fileName,
                                     const std::function<rt::ImageKind(const std::string &)> &kindFor) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text.data(), text.size()), &context,
                                                        llvm::StringRef(fileName.data(), fileName.size()));
  if (module)
    for (wave::KernelOp kernel : module->getOps<wave::KernelOp>()) {
      if (!options.target.empty())
        kernel.setTarget(options.target);
      kind = kindFor(kernel.getTarget() ? kernel.getTarget()->str() : std::string());
    }
  lap("parse");
  return finish(std::move(module));
}

CompileAttempt Compilation::finish(mlir::OwningOpRef<mlir::ModuleOp> module) {
  CompileAttempt attempt;
  if (module && mlir::succeeded(run(*module)))
    attempt.result = std::move(result);
  else
    attempt.loops = std::move(result.loops);
  attempt.diagnostics = std::move(early);
  for (Diagnostic &diagnostic : collector.take())
    attempt.diagnostics.push_back(std::move(diagnostic));
  if (attempt.result)
    attempt.result->warnings.insert(attempt.result->warnings.end(), attempt.diagnostics.begin(),
                                    attempt.diagnostics.end());
  return attempt;
}

void Compilation::keepText(Artefact artefact, mlir::Operation *op) {
  if (!wants(artefact))
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  result.artefacts.emplace_back(artefact, text + "\n");
}

namespace {

/// Says which pass runs.
class PassNames final : public mlir::PassInstrumentation {
  void runBeforePass(mlir::Pass *pass, mlir::Operation *) override {
    if (!pass->getArgument().empty()) // those that only hold others have no name
      sayProgress(pass->getArgument());
  }
};

} // namespace

mlir::LogicalResult Compilation::runPasses(mlir::ModuleOp module,
                                           llvm::function_ref<void(mlir::OpPassManager &)> build) {
  mlir::PassManager manager(&context);
  manager.enableVerifier(false);
  build(manager);
  if (!options.printAfter.empty()) {
    auto chosen = [this](mlir::Pass *pass, mlir::Operation *) {
      return options.printAfter == "all" || pass->getArgument() == options.printAfter;
    };
    manager.enableIRPrinting([](mlir::Pass *, mlir::Operation *) { return false; }, chosen, /*printModuleScope=*/true,
                             /*printAfterOnlyOnChange=*/false, /*printAfterOnlyOnFailure=*/false, llvm::errs());
  }
  FormVerifier::Verdict forms;
  manager.addInstrumentation(std::make_unique<FormVerifier>(forms));
  if (isProgressHeard())
    manager.addInstrumentation(std::make_unique<PassNames>());
  bool done = mlir::succeeded(manager.run(module));
  formsMs += forms.ms;
  return mlir::success(done && !forms.violated);
}

/// The alignment and the widths that the machine form relies on become what the launch checks.
void Compilation::describeMachine(machine::KernelOp kernel) {
  llvm::DenseMap<mlir::Value, int64_t> alignment;
  kernel.walk([&](mlir::Operation *op) {
    ++result.machineOps;
    result.matrixOps += llvm::isa<machine::MmaOp, machine::MmaAsyncOp>(op);
    auto note = [&](mlir::Value buffer, int64_t bytes) {
      if (!buffer)
        return;
      int64_t &most = alignment[buffer.getDefiningOp<machine::BufferOp>().getBase()];
      most = std::max(most, bytes);
    };
    if (auto load = llvm::dyn_cast<machine::LoadOp>(op))
      note(load.getBuffer(), load.getAlignment());
    if (auto store = llvm::dyn_cast<machine::StoreOp>(op))
      note(store.getBuffer(), store.getAlignment());
    if (auto copy = llvm::dyn_cast<machine::CopyAsyncOp>(op))
      note(copy.getBuffer(), static_cast<int64_t>(copy.getBytes()));
  });
  size_t parameter = 0;
  for (rt::ArgumentSpec &argument : result.image.arguments)
    if (argument.kind == rt::ArgumentKind::buffer)
      argument.alignment = std::max<int64_t>(1, alignment.lookup(kernel.block().getArgument(parameter++)));
}

mlir::LogicalResult Compilation::translateToBinary(machine::KernelOp kernel, const Target &target) {
  backend::Options wanted;
  wanted.keepAssembly = wants(Artefact::assembly);
  wanted.keepLlvmIr = wants(Artefact::llvm);
  wanted.allowSpills = options.allowSpills;
  wanted.allowSerialization = options.allowSerialization;
  wanted.workgroupsPerUnit = options.workgroupsPerUnit;
  bool amd = kind == rt::ImageKind::hsaco;
  sayProgress(amd ? "hsaco" : "ptx");
  mlir::FailureOr<backend::CodeObject> code =
      amd ? backend::compileToHsaco(kernel, target, wanted) : backend::compileToPtx(kernel, target, wanted);
  if (mlir::failed(code))
    return mlir::failure();
  bool isAsked = kind == rt::ImageKind::ptx && options.askAssembler && backend::findPtxas();
  if (isAsked && wants(Artefact::ptx)) // a text to be read, whatever is wrong with it
    wanted.allowSpills = wanted.allowSerialization = true;
  if ((kind == rt::ImageKind::cubin || isAsked) && mlir::failed(backend::assembleCubin(*code, kernel, target, wanted)))
    return mlir::failure();
  for (backend::Phase &phase : code->phases)
    result.phases.push_back({phase.name, phase.ms});
  last = Clock::now();
  const std::string &bytes = kind == rt::ImageKind::ptx ? code->assembly : code->bytes;
  const auto *begin = reinterpret_cast<const std::byte *>(bytes.data());
  result.image.code.assign(begin, begin + bytes.size());
  result.image.entry = code->entry;
  (code->sharedIsDynamic ? result.image.dynamicSharedBytes : result.image.staticSharedBytes) = code->sharedBytes;
  result.vgprs = code->vgprs;
  result.agprs = code->agprs;
  result.sgprs = code->sgprs;
  result.spillBytes = code->spillBytes;
  result.warnings = code->warnings;
  if (wants(Artefact::llvm))
    result.artefacts.emplace_back(Artefact::llvm, code->llvmIr);
  for (Artefact text : {Artefact::assembly, Artefact::ptx})
    if (wants(text) && !code->assembly.empty())
      result.artefacts.emplace_back(text, code->assembly);
  for (Artefact binary : {Artefact::hsaco, Artefact::cubin})
    if (wants(binary) && !code->bytes.empty())
      result.artefacts.emplace_back(binary, code->bytes);
  return mlir::success();
}

mlir::LogicalResult Compilation::translate(machine::KernelOp kernel, const Target &target) {
  result.image.kind = kind;
  if (kind != rt::ImageKind::emulator)
    return translateToBinary(kernel, target);
  sayProgress("emulator");
  mlir::FailureOr<emu::Program> program = translateToEmulator(kernel, target);
  if (mlir::failed(program))
    return mlir::failure();
  std::vector<uint8_t> bytes = emu::serialize(*program);
  const auto *begin = reinterpret_cast<const std::byte *>(bytes.data());
  result.image.code.assign(begin, begin + bytes.size());
  result.image.staticSharedBytes = program->sharedBytes;
  lap("emulator");
  return mlir::success();
}

/// What an image of that kind can be made for; reported with what would be right.
static mlir::LogicalResult checkKind(rt::ImageKind kind, const Target &target, mlir::Location loc) {
  bool amd = target.vendor == Vendor::amd,
       wrong = (kind == rt::ImageKind::hsaco && !amd) ||
               ((kind == rt::ImageKind::ptx || kind == rt::ImageKind::cubin) && amd);
  if (!wrong)
    return mlir::success();
  return report(loc, DiagId::WrongTarget)
             .hint(amd ? "for this target emit `hsaco`" : "for this target emit `ptx` or `cubin`")
         << "`" << target.name << "` has no `" << std::string(rt::name(kind)) << "`";
}

/// A schedule's text has lines, or is JSON; a path is neither.
static bool isPathOfSchedule(std::string_view file) {
  return !file.empty() && file.find('\n') == std::string_view::npos && file.front() != '{' && file.front() != '[';
}

/// What the options ask for that there is not.
bool Compilation::checkOptions() {
  bool isOnePass = !options.printAfter.empty() && options.printAfter != "all";
  std::vector<std::string> names = isOnePass ? passNames() : std::vector<std::string>();
  if (isOnePass && !llvm::is_contained(names, options.printAfter)) {
    std::optional<std::string> guess = nearest(options.printAfter, names);
    early.push_back({Severity::error,
                     DiagId::PassUnknown,
                     options.place,
                     "there is no pass `" + options.printAfter + "` to print the program after" +
                         (guess ? "; did you mean `" + *guess + "`?" : ""),
                     "the passes are, in order, " + listOf(names) + "; `all` prints after each",
                     {}});
    return false;
  }
  if (const std::string &file = options.schedule.file; isPathOfSchedule(file)) {
    early.push_back({Severity::error,
                     DiagId::ScheduleFile,
                     options.place,
                     "the schedule file `" + file + "` cannot be read",
                     "`schedule.file` is the path of a schedule file, or its text",
                     {}});
    return false;
  }
  return true;
}

/// Gives the kernel what the schedule says of the workgroup, as an earlier attempt found it (compileAsSaid). Whoever
/// said something else is told.
mlir::LogicalResult Compilation::takeRoles(wave::KernelOp kernel) {
  const sched::Roles *said = options.schedule.said.get();
  if (!said)
    return mlir::success();
  auto contradiction = [&](const Place &place, const std::string &found, const std::string &expected) {
    emit(&context, {Severity::error,
                    DiagId::ScheduleRoles,
                    place,
                    "the schedule says " + found + ", and the kernel or the compilation's options say " + expected,
                    "say it in one place, or the same in both",
                    {}});
    return mlir::failure();
  };
  if (said->copyingWaves > 0) {
    bool isSaid = options.serviceWaves || kernel.getServiceWaves();
    auto other = static_cast<int64_t>(kernel.getServiceWaves().value_or(0));
    if (isSaid && other != said->copyingWaves)
      return contradiction(said->copyingPlace, std::to_string(said->copyingWaves) + " waves that copy",
                           std::to_string(other) + " service waves");
    kernel.setServiceWaves(said->copyingWaves);
    if (said->copyingRegisters > 0)
      kernel.setServiceRegisters(said->copyingRegisters);
  }
  if (said->overlapTiles)
    kernel.setOverlapTiles(true);
  if (said->workgroups == 0)
    return mlir::success();
  if (options.persistent > 0 && options.persistent != said->workgroups)
    return contradiction(said->workgroupsPlace, std::to_string(said->workgroups) + " workgroups that walk tiles",
                         std::to_string(options.persistent));
  kernel.setPersistent(said->workgroups);
  return mlir::success();
}

/// In place of what the kernel says.
mlir::LogicalResult Compilation::setTileCluster(wave::KernelOp kernel) {
  llvm::ArrayRef<int64_t> along = options.workgroupsPerCluster;
  auto isSeveral = [](int64_t workgroups) { return workgroups > 1; };
  bool arePositive = llvm::all_of(along, [](int64_t workgroups) { return workgroups >= 1; });
  if (!arePositive || static_cast<int64_t>(along.size()) > wave::kMaxGridDims || llvm::count_if(along, isSeveral) > 1)
    return report(kernel.getLoc(), DiagId::NotSupportedHere)
               .hint("`2` for neighbours along the first, `1x2` along the second")
           << "`workgroupsPerCluster` is `" << textOfPerCluster(options.workgroupsPerCluster)
           << "`, expected a positive number for each of up to " << wave::kMaxGridDims
           << " dimensions of the grid, one of them larger than 1";
  kernel.removeWorkgroupsPerClusterAttr();
  if (llvm::any_of(along, isSeveral))
    kernel.setWorkgroupsPerCluster(along);
  return mlir::success();
}

mlir::LogicalResult Compilation::run(mlir::ModuleOp module) {
  if (!checkOptions())
    return mlir::failure();
  auto kernels = module.getOps<wave::KernelOp>();
  if (kernels.empty() || std::next(kernels.begin()) != kernels.end())
    return report(module.getLoc(), DiagId::InvalidIr)
           << "the module has " << std::distance(kernels.begin(), kernels.end())
           << " kernels of the wave dialect, expected 1";
  wave::KernelOp kernel = *kernels.begin();
  if (!kernel.getTarget())
    return report(kernel.getLoc(), DiagId::UnknownTarget).hint("name one: " + listOf(targetNames()))
           << "the kernel names no target";
  if (options.directCopies)
    kernel.setDirectCopies(true);
  if (options.stagedWrites)
    kernel.setStagedWrites(true);
  if (options.stagedWrites && options.boxedWrites)
    kernel.setWritesInBoxes(true);
  if (options.raster != 0)
    kernel.setRaster(options.raster);
  if (options.persistent > 0)
    kernel.setPersistent(options.persistent);
  if (options.serviceWaves)
    *options.serviceWaves > 0 ? kernel.setServiceWaves(*options.serviceWaves) : kernel.setServiceWaves(std::nullopt);
  if (mlir::failed(takeRoles(kernel)))
    return mlir::failure();
  if (options.overlapTiles.value_or(false))
    kernel.setOverlapTiles(true);
  if (options.turns.value_or(false))
    kernel.setTurns(true);
  if (options.dependentLaunch)
    kernel.setDependent(*options.dependentLaunch);
  if (mlir::failed(addStable(kernel, options.stable)))
    return mlir::failure();
  const Target *target = findTarget(kernel.getTarget()->str());
  if (target && mlir::failed(checkDependentLaunch(kernel, *target)))
    return mlir::failure();
  if (options.shortSums)
    kernel.setShortSums(true);
  if (options.cluster > 1)
    kernel.setCluster(options.cluster);
  if (!options.workgroupsPerCluster.empty() && mlir::failed(setTileCluster(kernel)))
    return mlir::failure();
  if (kernel.getCluster() && kernel.getWorkgroupsPerCluster())
    return report(kernel.getLoc(), DiagId::NotSupportedHere).hint("leave `cluster` or `workgroups_per_cluster` out")
           << "workgroups of a cluster that share a sum, and tiles too";
  if (!options.mma.empty())
    kernel.walk([&](wave::MmaOp mma) {
      if (!mma.getKind())
        mma.setKind(options.mma);
    });
  PaddingPlan plan = planPadding(kernel, options.paddedRows);
  // Copies of rows have the workspace to themselves; tiles are then walked in their order.
  if (!plan.isUsed())
    addTickets(kernel);
  return plan.isUsed() ? compileAll(module, plan) : compileOne(module);
}

/// A kernel that becomes several.
mlir::LogicalResult Compilation::compileAll(mlir::ModuleOp module, const PaddingPlan &plan) {
  auto step = [&](mlir::ModuleOp each) -> mlir::FailureOr<CompileResult> {
    result = {};
    if (mlir::failed(compileOne(each)))
      return mlir::failure();
    return std::move(result);
  };
  mlir::FailureOr<CompileResult> all =
      compilePlan(module, plan, {step, [&](std::string_view what) { noteMissingVersion(what); }});
  if (mlir::succeeded(all))
    result = std::move(*all);
  return all;
}

/// What kept a version from being compiled is no error while there is the other one.
void Compilation::noteMissingVersion(std::string_view what) {
  for (Diagnostic &diagnostic : collector.take())
    if (diagnostic.severity != Severity::error)
      early.push_back(std::move(diagnostic));
    else
      early.push_back({Severity::remark,
                       DiagId::LayoutChoice,
                       diagnostic.place,
                       std::string(what) + ": " + diagnostic.message,
                       "",
                       {}});
}

/// Whether so many workgroups could be in a compute unit at once.
static mlir::LogicalResult checkRoom(wave::KernelOp kernel, const Geometry &geometry, int64_t workgroups) {
  const Target &target = geometry.target();
  int64_t room = target.simdsPerComputeUnit * target.maxWavesPerSimd, waves = geometry.allWaves();
  if (workgroups >= 0 && workgroups <= room / waves)
    return mlir::success();
  return report(kernel.getLoc(), DiagId::NotSupportedHere).hint("ask for fewer, or for 0: as many as happen to fit")
         << "`workgroupsPerUnit` asks for " << workgroups << " workgroups of " << waves
         << (waves == 1 ? " wave" : " waves") << ", a compute unit of `" << target.name << "` has room for " << room
         << " waves";
}

/// All passes and the back end, for the one kernel of a module.
mlir::LogicalResult Compilation::compileOne(mlir::ModuleOp module) {
  sched::ScheduleRequest schedule = options.schedule;
  schedule.workgroupsPerUnit = options.workgroupsPerUnit;
  schedule.reports = std::make_shared<std::vector<sched::LoopReport>>();
  formsMs = 0;
  mlir::LogicalResult transformed =
      runPasses(module, [&](mlir::OpPassManager &pm) { buildScheduledPipeline(pm, schedule, options.explainLayouts); });
  result.loops = std::move(*schedule.reports);
  if (mlir::failed(transformed))
    return mlir::failure();
  lap("transform");
  result.phases.back().ms -= formsMs;
  wave::KernelOp kernel = *module.getOps<wave::KernelOp>().begin();
  mlir::FailureOr<Geometry> geometry = Geometry::of(kernel);
  if (mlir::failed(geometry) || mlir::failed(checkKind(kind, geometry->target(), kernel.getLoc())) ||
      mlir::failed(checkRoom(kernel, *geometry, options.workgroupsPerUnit)))
    return mlir::failure();
  const Target &target = geometry->target();
  WholeKernel whole = makeWholeKernel(kernel, *geometry);
  lap("read back");
  sayProgress("verify");
  if (mlir::failed(proveAgain(kernel, whole, target)))
    return mlir::failure();
  lap("verify");
  result.phases.back().ms += formsMs;
  result.image = describeLaunch(kernel, *geometry, whole);
  if (mlir::failed(checkCounts(kernel, result.image)) || mlir::failed(checkPlaces(kernel, result.image)))
    return mlir::failure();
  if (options.countBankConflicts)
    result.bankConflicts = countSharedConflicts(kernel, *geometry);
  keepText(Artefact::wave, module);
  lap("describe");
  if (mlir::failed(runPasses(module, [&](auto &pm) { buildMachinePipeline(pm, options.wideOffsets); })))
    return mlir::failure();
  machine::KernelOp lowered = *module.getOps<machine::KernelOp>().begin();
  describeMachine(lowered);
  addLimits(result.image, lowered);
  addNeeds(result.image, lowered);
  lap("lower");
  keepText(Artefact::machine, module);
  last = Clock::now();
  return translate(lowered, target);
}

double CompileResult::totalMs() const {
  double total = 0;
  for (const CompilePhase &phase : phases)
    total += phase.ms;
  return total;
}

/// The text in place of the path; what cannot be read stays a path, and is reported.
static void readScheduleFile(sched::ScheduleRequest &schedule) {
  if (!isPathOfSchedule(schedule.file))
    return;
  auto file = llvm::MemoryBuffer::getFile(schedule.file);
  if (!file || (*file)->getBufferSize() == 0)
    return;
  schedule.fileName = schedule.file;
  schedule.file = (*file)->getBuffer().str();
}

CompileOptions placed(CompileOptions options, const Place &call) {
  if (!options.place.known())
    options.place = call;
  readScheduleFile(options.schedule);
  return isAuto(options) ? options : withDefaults(std::move(options));
}

CompileAttempt compileImage(const Kernel &kernel, const CompileOptions &options, rt::ImageKind kind, Place place) {
  sym::ThrowMistakes scope; // the author's thread collects them
  CompileOptions complete = placed(options, place);
  auto compileWith = [&](const CompileOptions &chosen) {
    return compileAsSaid(chosen,
                         [&](const CompileOptions &said) { return Compilation(said, kind).fromKernel(kernel); });
  };
  return isAuto(complete) ? compileByChoice(kernel, complete, compileWith) : compileWith(complete);
}

CompileAttempt compileText(std::string_view text, std::string_view fileName, const CompileOptions &options,
                           const std::function<rt::ImageKind(const std::string &target)> &kind) {
  sym::ThrowMistakes scope;
  CompileOptions complete = placed(options, options.place);
  auto compileWith = [&] {
    return compileAsSaid(complete, [&](const CompileOptions &said) {
      return Compilation(said, rt::ImageKind::emulator).fromText(text, fileName, kind);
    });
  };
  if (!isAuto(complete))
    return compileWith();
  // A module has bound its tiles and instructions, so there is nothing left to choose but the schedule.
  complete.schedule.name = sched::kFastest;
  if (CompileAttempt attempt = compileWith())
    return attempt;
  complete.schedule.name = "none";
  return compileWith();
}

} // namespace soliton
