#include "test/e2e/Served.h"

#include "soliton/backend/emulator/Translate.h"
#include "soliton/driver/CheckPasses.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

namespace soliton::test {

Case Attended::which() const {
  Case result{kernels::findKernel(kernel), nullptr, findTarget("sm_90a")};
  result.variant = result.entry->findVariant(variant);
  result.tiles = {{"BLOCK_Q", rows}, {"BLOCK_KV", keys}, {"WAVES", rows / 16}};
  result.directCopies = true;
  result.schedule = schedule;
  return result;
}

CompileOptions Attended::options() const {
  CompileOptions options = which().options(sizes, dynamic);
  options.mma = mma;
  options.stagedWrites = stagedWrites;
  options.serviceWaves = serviceWaves;
  options.persistent = persistent;
  options.raster = raster;
  options.overlapTiles = overlapTiles;
  options.turns = turns;
  return options;
}

CompileAttempt Attended::compile(rt::ImageKind kind, std::vector<Artefact> keep) const {
  CompileOptions asked = options();
  asked.keep = std::move(keep);
  return compileImage(which().entry->build(*which().variant), asked, kind);
}

std::ostream &operator<<(std::ostream &out, const Attended &a) {
  return out << a.which().name() << " " << testing::PrintToString(a.sizes) << " of " << a.rows << " by " << a.keys
             << ", service waves: " << a.serviceWaves << ", workgroups: " << a.persistent << ", raster: " << a.raster
             << (a.stagedWrites ? ", staged" : "") << (a.overlapTiles ? ", overlapping" : "")
             << (a.turns ? ", in turns" : "");
}

Sizes sizesOf(const char *kernel, int64_t q, int64_t kv, int64_t d, int64_t heads) {
  Sizes sizes;
  for (const kernels::DefaultSize &size : kernels::findKernel(kernel)->sizes)
    sizes[size.name] = size.value;
  for (auto [name, value] : {std::pair("B", int64_t{1}), {"H", heads}, {"Q", q}, {"KV", kv}, {"D", d}})
    sizes[name] = value;
  return sizes;
}

Attended attended(int64_t q, int64_t kv, int64_t d, const char *kernel) {
  return {.sizes = sizesOf(kernel, q, kv, d), .kernel = kernel};
}

void expectRight(const Attended &a) {
  SCOPED_TRACE(testing::PrintToString(a));
  CompileAttempt compiled = a.compile(rt::ImageKind::emulator);
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  EXPECT_EQ(compiled.result->image.threads[0], 32 * (a.rows / 16 + a.serviceWaves));
  checkOnEmulator(a.which(), *compiled.result, a.sizes);
}

std::string textOf(CompileAttempt compiled) {
  EXPECT_TRUE(compiled) << format(compiled.diagnostics);
  return compiled ? compiled.result->artefacts.front().second : "";
}

size_t count(const std::string &text, std::string_view word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

std::vector<emu::FindingKind> findingsAfter(const std::string &machine, std::vector<emu::Buffer> buffers,
                                            std::vector<uint64_t> scalars, Changes change, int32_t *tickets) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(machine, &context);
  EXPECT_TRUE(module);
  if (!module)
    return {};
  Roles roles(*module);
  EXPECT_GT(change(roles), 0);
  mlir::FailureOr<emu::Program> program =
      translateToEmulator(*module->getOps<machine::KernelOp>().begin(), *findTarget("sm_90a"));
  EXPECT_TRUE(mlir::succeeded(program));
  std::vector<emu::FindingKind> kinds;
  for (uint64_t seed : {0, 1, 7, 19}) {
    if (tickets)
      *tickets = 0;
    emu::LaunchConfig launch{.buffers = buffers, .scalars = scalars, .seed = seed, .checks = true, .adversarial = true};
    emu::Result result = emu::run(*program, launch);
    EXPECT_EQ(result.error, "");
    for (const emu::Finding &finding : result.findings)
      kinds.push_back(finding.kind);
  }
  return kinds;
}

std::vector<emu::FindingKind> findingsAfter(const Attended &a, Changes change) {
  size_t rows = static_cast<size_t>(std::max(a.sizes.at("Q"), a.sizes.at("KV")));
  std::vector<std::vector<uint16_t>> tensors(
      4, std::vector<uint16_t>(rows * static_cast<size_t>(a.sizes.at("H") * a.sizes.at("D")), 0x3c00));
  std::vector<emu::Buffer> buffers;
  for (std::vector<uint16_t> &tensor : tensors)
    buffers.push_back({tensor.data(), tensor.size() * 2});
  int32_t tickets = 0;
  CompileAttempt compiled = a.compile(rt::ImageKind::emulator, {Artefact::machine});
  if (compiled && compiled.result->image.workspace.exists())
    buffers.push_back({&tickets, sizeof tickets});
  return findingsAfter(textOf(std::move(compiled)), buffers, {0x3e000000}, change, &tickets);
}

int flip(const std::vector<machine::MbarrierWaitOp> &waits) {
  for (machine::MbarrierWaitOp wait : waits) {
    mlir::OpBuilder builder(wait);
    mlir::Value one = mlir::arith::ConstantOp::create(builder, wait.getLoc(), builder.getI32IntegerAttr(1));
    wait.getParityMutable().assign(
        mlir::arith::XOrIOp::create(builder, wait.getLoc(), wait.getParity(), one).getResult());
  }
  return static_cast<int>(waits.size());
}

void expectRefused(const CompileAttempt &attempt, std::string_view message, std::string_view file, DiagId id) {
  ASSERT_FALSE(attempt) << message;
  std::vector<Diagnostic> errors;
  std::ranges::copy_if(attempt.diagnostics, std::back_inserter(errors),
                       [](const Diagnostic &each) { return each.severity == Severity::error; });
  ASSERT_EQ(errors.size(), 1u) << format(attempt.diagnostics);
  EXPECT_EQ(errors.front().id, id);
  EXPECT_NE(errors.front().message.find(message), std::string::npos) << format(errors);
  EXPECT_NE(errors.front().place.file.find(file), std::string::npos) << format(errors);
  EXPECT_GT(errors.front().place.line, 0);
}

void expectEveryPassRight(const Kernel &kernel, const CompileOptions &options, const std::string &instruction) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  EmittedKernel emitted = emitKernel(kernel, context, {options.subs, options.dynamic, options.target, {}});
  ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
  emitted.module->walk([&](wave::MmaOp mma) { mma.setKind(instruction); });
  wave::KernelOp op = *emitted.module->getOps<wave::KernelOp>().begin();
  op.setDirectCopies(true);
  op.setStagedWrites(options.stagedWrites);
  op.setServiceWaves(options.serviceWaves);
  op.setOverlapTiles(options.overlapTiles.value_or(false));
  op.setTurns(options.turns.value_or(false));
  if (options.persistent > 0)
    op.setPersistent(options.persistent);
  if (options.raster != 0)
    op.setRaster(options.raster);
  DiagnosticCollector collector(&context);
  PassCheckOptions passes;
  passes.build = [&](mlir::OpPassManager &pm) {
    buildScheduledPipeline(pm, options.schedule);
    buildMachinePipeline(pm);
  };
  EXPECT_TRUE(mlir::succeeded(checkPasses(*emitted.module, passes))) << format(collector.diagnostics());
}

} // namespace soliton::test
