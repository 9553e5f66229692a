//===- SynchronizeTest.cpp - Whole kernels are ordered, and the proof of it can be relied on ------===//
//
// Kernels whose waves meet in memory, through the compiler and on the emulator; and the compiler's barriers, waits and
// commits taken away, weakened or moved, one at a time: whatever the verifier of whole kernels still accepts must run
// clean and right.
//
//===----------------------------------------------------------------------===//
#include "soliton/analysis/Geometry.h"
#include "soliton/driver/FormVerifier.h"
#include "soliton/driver/Oracle.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/schedule/WholeFacts.h"
#include "soliton/schedule/WholePlaces.h"
#include "soliton/schedule/WholeVerify.h"
#include "soliton/transforms/Passes.h"
#include "soliton/transforms/WholeKernel.h"
#include "test/e2e/Support.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

namespace soliton::test {
namespace {
using kernels::Sizes;
using Module = mlir::OwningOpRef<mlir::ModuleOp>;

wave::KernelOp kernelOf(mlir::ModuleOp module) {
  return *module.getOps<wave::KernelOp>().begin();
}

class Synchronize : public testing::Test {
protected:
  Synchronize() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<wave::WaveDialect, machine::MachineDialect>();
  }

  Module parsed(const std::string &target, const std::string &arguments, const std::string &body) {
    std::string text =
        R"(wave.kernel @k attributes {constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>,
        #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>, #wave.tiling<dim = "K", tile = <"16">>,
        #wave.wave<dim = "M", tile = <"32">>], subs = {M = 64 : i64, N = 64 : i64, K = 64 : i64},
        dynamic = [], form = 0 : i32, target = ")" +
        target + "\", " + arguments + "\n" + body + "}\n";
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  Module traced(const Case &which, const Sizes &sizes, const std::vector<std::string> &dynamic = {}) {
    CompileOptions options = which.options(sizes, dynamic);
    EmittedKernel emitted =
        emitKernel(which.entry->build(*which.variant), context, {options.subs, options.dynamic, options.target, {}});
    EXPECT_TRUE(emitted.module) << format(emitted.diagnostics);
    return std::move(emitted.module);
  }

  bool run(mlir::ModuleOp module, llvm::function_ref<void(mlir::OpPassManager &)> build) {
    mlir::PassManager manager(&context);
    build(manager);
    return mlir::succeeded(manager.run(module));
  }

  /// The kernel with its barriers and waits; null where it does not compile.
  Module synchronized(mlir::ModuleOp module, const sched::ScheduleRequest &schedule = {}) {
    Module clone = module.clone();
    DiagnosticCollector collector(&context);
    bool built = run(*clone, [&](mlir::OpPassManager &pm) { buildScheduledPipeline(pm, schedule); });
    EXPECT_TRUE(built) << format(collector.diagnostics());
    return built ? std::move(clone) : Module();
  }

  /// What the emulator has against a synchronized kernel; empty if nothing.
  std::string objection(const Oracle &oracle, mlir::ModuleOp module) {
    Module clone = module.clone();
    DiagnosticCollector collector(&context);
    if (!run(*clone, [](mlir::OpPassManager &pm) { buildMachinePipeline(pm); }))
      return "it does not lower: " + format(collector.diagnostics());
    return oracle.disagreement(*clone->getOps<machine::KernelOp>().begin()).value_or("");
  }

  /// Compiled and run: what is wrong with it.
  std::string verdict(mlir::ModuleOp module, const sched::ScheduleRequest &schedule = {}) {
    mlir::FailureOr<Oracle> oracle = Oracle::of(kernelOf(module), {});
    Module built = synchronized(module, schedule);
    return mlir::failed(oracle) || !built ? "not compiled" : objection(*oracle, *built);
  }

  int countBarriers(mlir::ModuleOp module) {
    int count = 0;
    module.walk([&](wave::BarrierOp) { ++count; });
    return count;
  }

  /// How many of its mutants the verifier refused and accepted; accepted ones that the emulator objects to are errors.
  struct Tally {
    int refused = 0, confirmed = 0, accepted = 0;
  };
  void attack(mlir::ModuleOp module, const sched::ScheduleRequest &schedule, Tally &tally);
  bool isProven(mlir::ModuleOp module);

  mlir::MLIRContext context;
};

constexpr const char *kMemory = "!wave.memory<[\"M\", \"N\"], f32, global>";
constexpr const char *kTile = "!wave.tile<[M, N], f32>";

std::string read(const std::string &result, const std::string &memory, const std::string &type,
                 const std::string &attributes = "") {
  return "  " + result + " = wave.read " + memory + " " + attributes + " : " + type + " -> " + kTile + "\n";
}
std::string write(const std::string &value, const std::string &memory, const std::string &type) {
  return "  wave.write " + value + ", " + memory + " : " + kTile + ", " + type + "\n";
}
constexpr const char *kOthers = "{indices = [#wave.expr<\"mod($index0 + 32, 64)\">, #wave.expr<\"$index1\">]}";

class OnTarget : public Synchronize, public testing::WithParamInterface<const char *> {};
} // namespace

//===-- Kernels whose waves meet -------------------------------------------------------------------===//

TEST_P(OnTarget, AnAuthorsBarrierWithoutItsWaits) {
  std::string shared = "!wave.memory<[\"M\", \"N\"], f32, shared>";
  Module module =
      parsed(GetParam(), "arg_names = [\"a\", \"b\"]} {",
             "^bb0(%a: " + std::string(kMemory) + ", %b: " + kMemory + "):\n  %s = wave.allocate : " + shared + "\n" +
                 read("%0", "%a", kMemory) + write("%0", "%s", shared) + "  wave.barrier\n" +
                 read("%1", "%s", shared, kOthers) + write("%1", "%b", kMemory));
  ASSERT_TRUE(module);
  EXPECT_EQ(verdict(*module), "");
  EXPECT_EQ(countBarriers(*synchronized(*module)), 1) << "the author's is enough";
}

TEST_P(OnTarget, GlobalMemoryWrittenByOneWaveAndReadByAnother) {
  Module module = parsed(GetParam(), "arg_names = [\"a\", \"t\", \"b\"]} {",
                         "^bb0(%a: " + std::string(kMemory) + ", %t: " + kMemory + ", %b: " + kMemory + "):\n" +
                             read("%0", "%a", kMemory) + write("%0", "%t", kMemory) +
                             read("%1", "%t", kMemory, kOthers) + write("%1", "%b", kMemory));
  ASSERT_TRUE(module);
  EXPECT_EQ(verdict(*module), "");
  EXPECT_EQ(countBarriers(*synchronized(*module)), 1);
}

TEST_P(OnTarget, GlobalMemoryThatEachWaveReadsBackItself) {
  Module module = parsed(GetParam(), "arg_names = [\"a\", \"t\", \"b\"]} {",
                         "^bb0(%a: " + std::string(kMemory) + ", %t: " + kMemory + ", %b: " + kMemory + "):\n" +
                             read("%0", "%a", kMemory) + write("%0", "%t", kMemory) + read("%1", "%t", kMemory) +
                             write("%1", "%b", kMemory));
  ASSERT_TRUE(module);
  EXPECT_EQ(verdict(*module), "");
  EXPECT_EQ(countBarriers(*synchronized(*module)), 0);
}

TEST_P(OnTarget, ALoopThatReadsWhatWasWrittenBeforeItAndWritesItAgain) {
  Module module = parsed(GetParam(), "arg_names = [\"a\", \"t\"]} {",
                         "^bb0(%a: " + std::string(kMemory) + ", %t: " + kMemory + "):\n" + read("%0", "%a", kMemory) +
                             write("%0", "%t", kMemory) + "  wave.iterate \"K\" () : () -> () {\n" +
                             read("%1", "%t", kMemory, kOthers) + "  %2 = wave.unary neg %1 : " + kTile + " -> " +
                             kTile + "\n" + write("%2", "%t", kMemory) + "  }\n");
  ASSERT_TRUE(module);
  EXPECT_EQ(verdict(*module), "");
}

TEST_P(OnTarget, AScheduledLoopWhoseWavesMeetInGlobalMemory) {
  Module module = parsed(GetParam(), "arg_names = [\"a\", \"t\"]} {",
                         "^bb0(%a: " + std::string(kMemory) + ", %t: " + kMemory + "):\n" + read("%0", "%a", kMemory) +
                             write("%0", "%t", kMemory) + "  wave.iterate \"K\" () : () -> () {\n" +
                             read("%1", "%t", kMemory, kOthers) + "  %2 = wave.unary neg %1 : " + kTile + " -> " +
                             kTile + "\n" + write("%2", "%t", kMemory) + "  }\n");
  ASSERT_TRUE(module);
  for (const char *schedule : {"prefetch", "modulo", "list"}) {
    sched::ScheduleRequest request;
    request.name = schedule;
    EXPECT_EQ(verdict(*module, request), "") << schedule;
  }
}

TEST_P(OnTarget, AnUpdateInPlaceOfWhatAllWavesRead) {
  std::string row = "!wave.tile<[N], f32>", memory = "!wave.memory<[\"N\"], f32, global>";
  Module module = parsed(GetParam(), "arg_names = [\"t\"]} {",
                         "^bb0(%t: " + memory + "):\n  %0 = wave.read %t : " + memory + " -> " + row +
                             "\n  %1 = wave.unary neg %0 : " + row + " -> " + row + "\n  wave.write %1, %t : " + row +
                             ", " + memory + "\n");
  ASSERT_TRUE(module);
  EXPECT_EQ(verdict(*module), "");
  EXPECT_EQ(countBarriers(*synchronized(*module)), 1);
}

INSTANTIATE_TEST_SUITE_P(All, OnTarget, testing::Values("gfx942", "gfx950", "sm_90a"),
                         [](const auto &info) { return std::string(info.param); });

TEST_F(Synchronize, InPlacePairsAreThoseThatEachWaveReadsBeforeItWrites) {
  std::string head = "^bb0(%a: " + std::string(kMemory) + ", %b: " + kMemory + "):\n";
  auto inPlace = [&](const std::string &body) {
    Module module = parsed("gfx942", "arg_names = [\"a\", \"b\"]} {", head + body);
    Module built = synchronized(*module);
    FailureOr<Geometry> geometry = Geometry::of(kernelOf(*built));
    std::vector<sched::whole::Aliasing> found =
        sched::whole::findAliasing(makeWholeKernel(kernelOf(*built), *geometry).kernel);
    EXPECT_EQ(found.size(), 1u);
    return found.size() == 1 && found[0].inPlace;
  };
  EXPECT_TRUE(inPlace(read("%0", "%a", kMemory) + write("%0", "%b", kMemory)));
  EXPECT_FALSE(inPlace(read("%0", "%a", kMemory, kOthers) + write("%0", "%b", kMemory)));
  EXPECT_FALSE(inPlace(read("%0", "%a", kMemory) + write("%0", "%b", kMemory) + read("%1", "%a", kMemory) +
                       write("%1", "%b", kMemory)));
}

TEST_F(Synchronize, TilesThatAreUsedOneAfterTheOtherNeverLiveTogether) {
  std::string shared = "!wave.memory<[\"M\", \"N\"], f32, shared>";
  std::string use = "  wave.barrier\n";
  Module module =
      parsed("gfx942", "arg_names = [\"a\", \"b\"]} {",
             "^bb0(%a: " + std::string(kMemory) + ", %b: " + kMemory + "):\n  %s = wave.allocate : " + shared +
                 "\n  %u = wave.allocate : " + shared + "\n" + read("%0", "%a", kMemory) + write("%0", "%s", shared) +
                 use + read("%1", "%s", shared, kOthers) + write("%1", "%u", shared) + use +
                 read("%2", "%u", shared, kOthers) + write("%2", "%b", kMemory));
  // Asked before tiles have places, which is when it matters.
  ASSERT_TRUE(run(*module, [](mlir::OpPassManager &pm) {
    mlir::OpPassManager &kernel = pm.nest<wave::KernelOp>();
    kernel.addPass(createBindSymbolsPass());
    kernel.addPass(createAssignLayoutsPass());
  }));
  FailureOr<Geometry> geometry = Geometry::of(kernelOf(*module));
  std::vector<sched::whole::Lifetime> found =
      sched::whole::findLifetimes(makeWholeKernel(kernelOf(*module), *geometry).kernel);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(neverTogether(found[0], found[1]));
}

//===-- Forms are checked in every compilation ------------------------------------------------------===//

namespace {
struct ClaimPlaced final : mlir::PassWrapper<ClaimPlaced, mlir::OperationPass<wave::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ClaimPlaced)
  void runOnOperation() override { setForm(getOperation(), Form::Placed); }
};
} // namespace

TEST_F(Synchronize, APassThatClaimsTooMuchIsFound) {
  Module module = parsed("gfx942", "arg_names = [\"a\", \"b\"]} {",
                         "^bb0(%a: " + std::string(kMemory) + ", %b: " + kMemory + "):\n" + read("%0", "%a", kMemory) +
                             write("%0", "%b", kMemory));
  DiagnosticCollector collector(&context);
  FormVerifier::Verdict verdict;
  mlir::PassManager manager(&context);
  manager.addInstrumentation(std::make_unique<FormVerifier>(verdict));
  manager.nest<wave::KernelOp>().addPass(createBindSymbolsPass());
  ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
  EXPECT_FALSE(verdict.violated) << format(collector.diagnostics());
  manager.nest<wave::KernelOp>().addPass(std::make_unique<ClaimPlaced>());
  ASSERT_TRUE(mlir::succeeded(manager.run(*parsed("gfx942", "arg_names = [\"a\", \"b\"]} {",
                                                  "^bb0(%a: " + std::string(kMemory) + ", %b: " + kMemory + "):\n" +
                                                      read("%0", "%a", kMemory) + write("%0", "%b", kMemory)))));
  EXPECT_TRUE(verdict.violated);
  ASSERT_FALSE(collector.diagnostics().empty());
  EXPECT_EQ(collector.diagnostics().front().id, DiagId::FormViolated);
}

TEST_F(Synchronize, WhatIsLoweredIsProvenOnceMore) {
  Module module = parsed("gfx942", "arg_names = [\"a\", \"t\", \"b\"]} {",
                         "^bb0(%a: " + std::string(kMemory) + ", %t: " + kMemory + ", %b: " + kMemory + "):\n" +
                             read("%0", "%a", kMemory) + write("%0", "%t", kMemory) +
                             read("%1", "%t", kMemory, kOthers) + write("%1", "%b", kMemory));
  Module built = synchronized(*module);
  ASSERT_TRUE(built);
  DiagnosticCollector collector(&context);
  auto again = [&] {
    FailureOr<Geometry> geometry = Geometry::of(kernelOf(*built));
    return proveAgain(kernelOf(*built), makeWholeKernel(kernelOf(*built), *geometry), geometry->target());
  };
  EXPECT_TRUE(mlir::succeeded(again()));
  built->walk([](wave::BarrierOp barrier) { barrier.erase(); });
  EXPECT_TRUE(mlir::failed(again()));
  EXPECT_EQ(collector.diagnostics().back().id, DiagId::FormViolated);
}

TEST_F(Synchronize, TilesThatLiveTogetherMayNotShareAPlace) {
  Case which{kernels::findKernel("gemm"), nullptr, findTarget("gfx942")};
  which.variant = &which.entry->variants.front();
  Module built = synchronized(*traced(which, {{"M", 64}, {"N", 64}, {"K", 96}}));
  ASSERT_TRUE(built);
  auto isPlaced = [&] {
    FailureOr<Geometry> geometry = Geometry::of(kernelOf(*built));
    return sched::whole::verifyPlaces(makeWholeKernel(kernelOf(*built), *geometry).kernel).empty();
  };
  EXPECT_TRUE(isPlaced());
  int tiles = 0;
  built->walk([&](wave::AllocateOp tile) { tile.setOffset(0), ++tiles; });
  EXPECT_EQ(tiles, 2);
  EXPECT_FALSE(isPlaced());
}

//===-- Mutants ------------------------------------------------------------------------------------===//

bool Synchronize::isProven(mlir::ModuleOp module) {
  wave::KernelOp kernel = kernelOf(module);
  FailureOr<Geometry> geometry = Geometry::of(kernel);
  return mlir::succeeded(geometry) && sched::whole::verify(makeWholeKernel(kernel, *geometry).kernel).ok();
}

namespace {
enum class Damage { Drop, Weaken, MoveUp, MoveDown };

/// Does it to the `index`-th barrier, wait or commit; false where that is nothing.
bool damage(mlir::ModuleOp module, size_t index, Damage how) {
  llvm::SmallVector<mlir::Operation *> ops;
  module.walk([&](mlir::Operation *op) {
    if (mlir::isa<wave::BarrierOp, wave::WaitOp, wave::CommitOp>(op))
      ops.push_back(op);
  });
  mlir::Operation *op = ops[index];
  auto isAccess = [](mlir::Operation *other) { return mlir::isa<wave::ReadOp, wave::WriteOp, wave::CopyOp>(other); };
  switch (how) {
  case Damage::Drop:
    op->erase();
    return true;
  case Damage::Weaken:
    if (auto wait = mlir::dyn_cast<wave::WaitOp>(op)) {
      wait.setCount(wait.getCount() + 1);
      return true;
    }
    return false;
  case Damage::MoveUp: {
    mlir::Operation *other = op->getPrevNode();
    while (other && !isAccess(other))
      other = other->getPrevNode();
    if (other)
      op->moveBefore(other);
    return other != nullptr;
  }
  case Damage::MoveDown: {
    mlir::Operation *other = op->getNextNode();
    while (other && !isAccess(other))
      other = other->getNextNode();
    if (other)
      op->moveAfter(other);
    return other != nullptr;
  }
  }
  return false;
}
} // namespace

void Synchronize::attack(mlir::ModuleOp module, const sched::ScheduleRequest &schedule, Tally &tally) {
  mlir::FailureOr<Oracle> oracle = Oracle::of(kernelOf(module), {});
  Module built = synchronized(module, schedule);
  ASSERT_TRUE(mlir::succeeded(oracle) && built);
  ASSERT_TRUE(isProven(*built));
  ASSERT_EQ(objection(*oracle, *built), "");
  size_t points = 0;
  built->walk([&](mlir::Operation *op) { points += mlir::isa<wave::BarrierOp, wave::WaitOp, wave::CommitOp>(op); });
  for (size_t index = 0; index < points; ++index)
    for (Damage how : {Damage::Drop, Damage::Weaken, Damage::MoveUp, Damage::MoveDown}) {
      Module mutant = built->clone();
      if (!damage(*mutant, index, how))
        continue;
      bool proven = isProven(*mutant);
      std::string said = objection(*oracle, *mutant);
      EXPECT_FALSE(proven && !said.empty())
          << "point " << index << ", damage " << static_cast<int>(how) << ": " << said;
      tally.accepted += proven;
      tally.refused += !proven;
      tally.confirmed += !proven && !said.empty();
    }
}

TEST_F(Synchronize, WhatTheVerifierAcceptsOfDamagedKernelsRunsClean) {
  Tally tally;
  for (const char *name : {"gemm", "gemm_nn", "row_softmax", "transpose"})
    for (const char *target : {"gfx942", "sm_90a"}) {
      Case which{kernels::findKernel(name), nullptr, findTarget(target)};
      which.variant = &which.entry->variants.front();
      Sizes sizes = {{"M", 64}, {"N", 64}};
      if (std::string_view(name).starts_with("gemm")) {
        which.tiles = {{"BLOCK_M", 32}, {"BLOCK_N", 32}};
        sizes["K"] = 96;
      } else {
        which.tiles = {{"BLOCK_M", 4}, {"BLOCK_N", 64}};
      }
      for (const char *schedule : {"none", "prefetch"}) {
        sched::ScheduleRequest request;
        request.name = schedule;
        Module module = traced(which, sizes);
        SCOPED_TRACE(std::string(name) + " on " + target + ", " + schedule);
        attack(*module, request, tally);
      }
    }
  // The verifier refuses for a reason: the emulator sees most of it.
  EXPECT_GT(tally.refused, 20);
  EXPECT_GT(2 * tally.confirmed, tally.refused);
  RecordProperty("refused", tally.refused);
  RecordProperty("accepted", tally.accepted);
}

} // namespace soliton::test
