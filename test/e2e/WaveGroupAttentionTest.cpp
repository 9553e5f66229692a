//===- WaveGroupAttentionTest.cpp - Attention by matrix instructions of four waves ------------------===//
//
// The second product of attention takes its left factor, the weights, from registers: right on the emulator, whose
// checks know fences, groups and proxies, under every algorithm, at all kinds of sizes; the overlapped ring assembled
// by ptxas, where it is found, without a spill and without a serialised instruction.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "soliton/backend/emulator/Translate.h"
#include "soliton/driver/Auto.h"
#include "soliton/ir/Machine.h"
#include "test/e2e/Support.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

namespace soliton::test {
namespace {
using kernels::Sizes;

struct Attended {
  Sizes sizes;
  std::string schedule = "ring";
  const char *kernel = "attention";
  const char *variant = "f16";
  bool directCopies = true;
  std::vector<std::string> dynamic = {};
  int64_t step = 128;

  Case which() const {
    Case result{kernels::findKernel(kernel), nullptr, findTarget("sm_90a")};
    result.variant = result.entry->findVariant(variant);
    result.tiles = {{"BLOCK_Q", 128}, {"BLOCK_KV", step}, {"WAVES", 8}};
    result.directCopies = directCopies;
    result.schedule = schedule;
    return result;
  }

  CompileAttempt compile(rt::ImageKind kind, std::vector<Artefact> keep = {}) const {
    CompileOptions options = which().options(sizes, dynamic);
    options.keep = std::move(keep);
    options.mma = "F32_64xNx16_F16";
    options.stagedWrites = true;
    if (kind == rt::ImageKind::ptx)
      options.keep = {Artefact::ptx};
    return compileImage(which().entry->build(*which().variant), options, kind);
  }
};

Sizes sizesOf(int64_t q, int64_t kv, int64_t d) {
  return {{"B", 1}, {"H", 2}, {"Q", q}, {"KV", kv}, {"D", d}};
}

void expectRight(const Attended &attended) {
  SCOPED_TRACE(attended.which().name() + " " + attended.schedule);
  CompileAttempt compiled = attended.compile(rt::ImageKind::emulator);
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  checkOnEmulator(attended.which(), *compiled.result, attended.sizes);
}

std::string ptxOf(const Attended &attended) {
  CompileAttempt compiled = attended.compile(rt::ImageKind::ptx);
  EXPECT_TRUE(compiled) << format(compiled.diagnostics);
  return compiled ? compiled.result->artefacts.front().second : "";
}

TEST(WaveGroupAttention, WeightsStayInRegisters) {
  std::string ptx = ptxOf({sizesOf(128, 256, 64), "none"});
  // Scores: both factors by descriptors. Weighted values: four registers, then a descriptor.
  EXPECT_NE(ptx.find("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"), std::string::npos);
  EXPECT_NE(ptx.find("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"), std::string::npos);
  EXPECT_EQ(ptx.find("mma.sync.aligned.m16n8k16"), std::string::npos);
}

TEST(WaveGroupAttention, EveryAlgorithm) {
  for (const char *schedule : {"none", "prefetch", "ring", "modulo"})
    for (bool directCopies : {false, true})
      expectRight({.sizes = sizesOf(128, 512, 64), .schedule = schedule, .directCopies = directCopies});
}

TEST(WaveGroupAttention, SizesThatFillNoTile) {
  for (auto [q, kv] : {std::pair(1, 1), {77, 130}, {200, 700}})
    for (const char *schedule : {"none", "ring"})
      expectRight({.sizes = sizesOf(q, kv, 64), .schedule = schedule});
  expectRight({.sizes = sizesOf(130, 900, 128)});
}

TEST(WaveGroupAttention, SizesThatALaunchSays) {
  for (int64_t kv : {64, 128, 300, 1030})
    expectRight({.sizes = sizesOf(200, kv, 64), .dynamic = {"Q", "KV"}});
}

TEST(WaveGroupAttention, Variants) {
  expectRight({.sizes = sizesOf(200, 700, 128), .kernel = "attention_causal"});
  expectRight({.sizes = sizesOf(128, 600, 64), .variant = "bf16"});
}

TEST(WaveGroupAttention, TheRingOverlapsProductsWithTheSoftmaxBefore) {
  CompileAttempt compiled = Attended{sizesOf(4096, 4096, 128)}.compile(rt::ImageKind::emulator, {Artefact::machine});
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  // One wait leaves the later product under way; the loop has both products in front of it.
  const std::string &machine = compiled.result->artefacts.front().second;
  size_t loop = machine.find("scf.for");
  ASSERT_NE(loop, std::string::npos);
  size_t leaves = machine.find("machine.wait mma, 1", loop), none = machine.find("machine.wait mma, 0", loop);
  ASSERT_NE(leaves, std::string::npos);
  ASSERT_LT(leaves, none);
  std::string before = machine.substr(loop, leaves - loop), between = machine.substr(leaves, none - leaves),
              behind = machine.substr(none, machine.find("scf.yield", none) - none);
  auto times = [](const std::string &text, std::string_view word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(times(before, "machine.mma_async"), 16u);
  EXPECT_EQ(times(before, "machine.commit mma"), 2u);
  // The largest scores under the second product; then what was summed is made ready for the next one, in front of the
  // exponentials, which hide it.
  EXPECT_GT(times(between, "arith.max"), 0u);
  size_t exponential = behind.find("math.exp2");
  ASSERT_NE(exponential, std::string::npos);
  EXPECT_GT(times(behind.substr(0, exponential), "arith.mulf"), 0u);
  EXPECT_EQ(times(between, "math.exp2"), 2u); // by how much the sums of its two rows change
  std::string ptx = ptxOf({sizesOf(4096, 4096, 128)});
  EXPECT_GE(times(ptx, "wgmma.fence"), 2u);
}

//===-- Released buffers -------------------------------------------------------------------------------===//

TEST(WaveGroupAttention, NoWaveWaitsForAllOthersInTheRing) {
  std::string ptx = ptxOf({sizesOf(4096, 4096, 128)});
  size_t loop = ptx.find("nounroll"), end = ptx.find("wgmma.wait_group.sync.aligned 0", loop);
  ASSERT_NE(loop, std::string::npos);
  EXPECT_EQ(ptx.substr(loop, end - loop).find("bar.sync"), std::string::npos);
  // One arrival that expects no bytes: that of a wave which is done.
  EXPECT_NE(ptx.find("mbarrier.arrive.shared::cta.b64"), std::string::npos);
}

/// Lanes read a tile in whose place boxes of another one are copied afterwards: they say that they are done.
TEST(WaveGroupAttention, BoxesThatTakeThePlaceOfWhatLanesRead) {
  for (int64_t step : {64, 128})
    expectRight({.sizes = sizesOf(200, 300, 64), .kernel = "attention_backward_dq", .step = step});
}

/// What is found in the machine form of one workgroup's attention once `change` has been at it.
std::vector<emu::FindingKind> findingsAfter(llvm::function_ref<int(mlir::ModuleOp)> change) {
  Attended attended{.sizes = {{"B", 1}, {"H", 1}, {"Q", 128}, {"KV", 1024}, {"D", 64}}};
  CompileAttempt code = attended.compile(rt::ImageKind::emulator, {Artefact::machine});
  EXPECT_TRUE(code) << format(code.diagnostics);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(code ? code.result->artefacts.front().second : "", &context);
  EXPECT_GT(change(*module), 0);
  mlir::FailureOr<emu::Program> program =
      translateToEmulator(*module->getOps<machine::KernelOp>().begin(), *findTarget("sm_90a"));
  EXPECT_TRUE(mlir::succeeded(program));
  std::vector<std::vector<uint16_t>> tensors(4, std::vector<uint16_t>(1024 * 64, 0x3c00));
  emu::LaunchConfig launch{.scalars = {0x3e000000}, .checks = true, .adversarial = true};
  for (std::vector<uint16_t> &tensor : tensors)
    launch.buffers.push_back({tensor.data(), tensor.size() * 2});
  std::vector<emu::FindingKind> kinds;
  for (const emu::Finding &finding : emu::run(*program, launch).findings)
    kinds.push_back(finding.kind);
  return kinds;
}

/// Calls `visit` for each op of that kind that the copying lane, or one lane of each wave, executes.
template <typename OpTy>
int forEachInBranch(mlir::ModuleOp module, llvm::function_ref<bool(OpTy)> visit) {
  std::vector<OpTy> ops;
  module.walk([&](OpTy op) {
    if (op->template getParentOfType<mlir::scf::IfOp>())
      ops.push_back(op);
  });
  int changed = 0;
  for (OpTy op : ops)
    changed += visit(op);
  return changed;
}

TEST(WaveGroupAttention, TheEmulatorMissesWhatReleasesLack) {
  EXPECT_TRUE(findingsAfter([](mlir::ModuleOp) { return 1; }).empty());
  // A wave that does not say that it is done.
  EXPECT_FALSE(findingsAfter([](mlir::ModuleOp module) {
                 return forEachInBranch<machine::MbarrierArriveOp>(
                     module, [](auto op) { return op.getExpect() == 0 ? (op.erase(), true) : false; });
               }).empty());
  // A lane that copies without having heard.
  EXPECT_FALSE(findingsAfter([](mlir::ModuleOp module) {
                 return forEachInBranch<machine::MbarrierWaitOp>(module, [](auto op) { return op.erase(), true; });
               }).empty());
  // One that waits for the other phase.
  EXPECT_FALSE(findingsAfter([](mlir::ModuleOp module) {
                 return forEachInBranch<machine::MbarrierWaitOp>(module, [](auto op) {
                   mlir::OpBuilder builder(op);
                   mlir::Value one =
                       mlir::arith::ConstantOp::create(builder, op.getLoc(), builder.getI32IntegerAttr(1));
                   op.getParityMutable().assign(
                       mlir::arith::XOrIOp::create(builder, op.getLoc(), op.getParity(), one).getResult());
                   return true;
                 });
               }).empty());
  // Phases that are complete when not all waves have come.
  EXPECT_FALSE(findingsAfter([](mlir::ModuleOp module) {
                 return forEachInBranch<machine::MbarrierInitOp>(module, [](auto op) {
                   return op.getCount() > 1 ? (op.setCount(op.getCount() / 2), true) : false;
                 });
               }).empty());
}

TEST(WaveGroupAttention, MasksAreForTheLastTrips) {
  auto countOf = [](const std::string &text, std::string_view word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      ++count;
    return count;
  };
  // Prologue, loop without masks, loop with them: the products of the loop are there twice, the selects are not.
  Attended causal{.sizes = sizesOf(4096, 4096, 128), .kernel = "attention_causal"};
  CompileAttempt compiled = causal.compile(rt::ImageKind::emulator, {Artefact::machine});
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  const std::string &machine = compiled.result->artefacts.front().second;
  EXPECT_EQ(countOf(machine, "scf.for"), 2u);
  size_t first = machine.find("scf.for"), second = machine.find("scf.for", first + 1);
  EXPECT_EQ(countOf(machine.substr(first, second - first), "arith.select"), 0u);
  EXPECT_GT(countOf(machine.substr(second), "arith.select"), 0u);
}

TEST(WaveGroupAttention, MasksOfEveryKindOfTail) {
  for (auto [q, kv] : {std::pair(512, 512), {300, 640}, {640, 300}, {129, 129}})
    expectRight({.sizes = sizesOf(q, kv, 64), .kernel = "attention_causal"});
  expectRight({.sizes = sizesOf(512, 640, 64), .kernel = "attention_causal", .dynamic = {"Q", "KV"}});
}

TEST(WaveGroupAttention, AutoTakesAChainOfProducts) {
  // Depth of a head, service waves that somebody asked for, and what comes of it.
  for (auto [depth, service, rows, step] : {std::tuple(64, -1, 192, 128), {128, -1, 128, 128}, {64, 0, 128, 64}}) {
    Attended attended{.sizes = sizesOf(4096, 4096, depth)};
    CompileOptions open;
    open.target = "sm_90a";
    if (service >= 0)
      open.serviceWaves = service;
    for (const auto &[name, size] : attended.sizes)
      open.subs.emplace_back(symbol(name), size);
    std::vector<AutoChoice> choices =
        chooseAutomatically(attended.which().entry->build(*attended.which().variant), open);
    const CompileOptions &first = choices.front().options;
    EXPECT_EQ(first.mma, "F32_64xNx16_F16");
    EXPECT_EQ(first.schedule.name, "ring");
    auto bound = [&](const char *name) {
      auto found = std::ranges::find(first.subs, sym::Expr(symbol(name)), &std::pair<sym::Expr, sym::Expr>::first);
      return found == first.subs.end() ? std::nullopt : found->second.constantValue();
    };
    EXPECT_EQ(bound("BLOCK_Q"), rows);
    EXPECT_EQ(bound("BLOCK_KV"), step);
    EXPECT_EQ(bound("WAVES"), rows / 16);
    EXPECT_EQ(first.serviceWaves, service < 0 ? 4 : service);
    EXPECT_EQ(first.raster, 0);
  }
}

/// Three teams over 64 columns take turns, and their tiles overlap if a workgroup walks several; who says `off` has it
/// so.
TEST(WaveGroupAttention, AutoTakesTurnsWhereTheyWereFaster) {
  auto first = [](int64_t heads, int64_t queries, int64_t keys, int64_t depth, std::optional<bool> said) {
    const kernels::KernelEntry *entry = kernels::findKernel("attention");
    CompileOptions open;
    open.target = "sm_90a";
    open.turns = open.overlapTiles = said;
    for (auto [name, size] : {std::pair("B", int64_t{1}), {"H", heads}, {"Q", queries}, {"KV", keys}, {"D", depth}})
      open.subs.emplace_back(symbol(name), size);
    return chooseAutomatically(entry->build(*entry->findVariant("f16")), open).front().options;
  };
  using Said = std::optional<bool>;
  CompileOptions many = first(32, 4032, 4096, 64, {}), few = first(1, 4032, 4096, 64, {});
  EXPECT_EQ(many.turns, Said(true));
  EXPECT_EQ(many.overlapTiles, Said(true));
  EXPECT_EQ(few.turns, Said(true));
  EXPECT_EQ(few.overlapTiles, Said()) << "a tile each";
  EXPECT_EQ(first(32, 4032, 4096, 64, false).turns, Said(false));
  EXPECT_EQ(first(32, 4032, 4096, 64, false).overlapTiles, Said(false));
  EXPECT_EQ(first(32, 4032, 384, 64, {}).turns, Said()) << "three steps are straight code";
  EXPECT_EQ(first(32, 4096, 4096, 128, {}).turns, Said());
}

/// Queries that see more keys than others: workgroups take the longest of several heads first.
TEST(WaveGroupAttention, AutoTakesHeadsInBandsWhereRowsAreUneven) {
  for (auto [depth, raster] : {std::pair(64, -16), {128, -8}}) {
    const kernels::KernelEntry *entry = kernels::findKernel("attention_causal");
    CompileOptions open;
    open.target = "sm_90a";
    for (const auto &[name, size] : sizesOf(4096, 4096, depth))
      open.subs.emplace_back(symbol(name), size);
    EXPECT_EQ(chooseAutomatically(entry->build(*entry->findVariant("f16")), open).front().options.raster, raster);
  }
}

TEST(WaveGroupAttention, NothingSpills) {
  if (!backend::findPtxas())
    GTEST_SKIP() << "no ptxas here";
  for (const char *kernel : {"attention", "attention_causal"})
    for (int64_t d : {64, 128})
      for (const char *variant : {"f16", "bf16"}) {
        CompileAttempt compiled =
            Attended{.sizes = sizesOf(4096, 4096, d), .kernel = kernel, .variant = variant}.compile(
                rt::ImageKind::cubin);
        EXPECT_TRUE(compiled) << format(compiled.diagnostics);
      }
}

} // namespace
} // namespace soliton::test
