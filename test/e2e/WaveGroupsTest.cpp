//===- WaveGroupsTest.cpp - Matrix instructions of four waves, factors in shared memory ------------===//
//
// Products whose hardware constraint names a matrix instruction that four waves issue together and that reads both
// factors from shared memory: right on the emulator, whose checks know fences, groups and proxies, at all kinds of
// sizes, after every pass, under the schedules that fit; assembled by ptxas, where it is found, without a spill and
// without a serialised instruction; refused where waves, factors or types do not fit.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "test/e2e/Products.h"

#include "soliton/driver/CheckPasses.h"
#include "soliton/driver/FormVerifier.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "test/e2e/Findings.h"

#include "mlir/Pass/PassManager.h"

namespace soliton::test {
namespace {

TEST(WaveGroups, WholeTiles) {
  check({});
  check({.m = 128, .n = 128, .k = 128});
  check({.m = 128, .n = 128, .k = 64, .blockM = 128, .blockN = 128, .columns = 128});
  // Two instructions beside each other, and two groups of waves that share the columns.
  check({.m = 64, .n = 128, .k = 64, .blockN = 128});
  check({.m = 64, .n = 128, .k = 64, .blockN = 128, .wavesN = 2});
}

TEST(WaveGroups, EveryRowOfShared) {
  for (int64_t blockK : {16, 32, 48, 64, 96, 128})
    check({.n = 40, .k = 2 * blockK, .blockN = 40, .blockK = blockK, .columns = 40});
}

TEST(WaveGroups, OtherTypes) {
  check({.m = 70, .n = 64, .k = 80, .type = DType::bf16});
  check({.m = 70, .n = 64, .k = 80, .type = DType::i8});
  check({.m = 70, .n = 64, .k = 300, .blockK = 128, .type = DType::i8});
}

TEST(WaveGroups, FactorsEitherWayRound) {
  for (bool copies : {false, true})
    for (bool left : {false, true})
      for (bool right : {false, true}) {
        check({.m = 128, .n = 128, .k = 128, .leftByK = left, .rightByK = right, .directCopies = copies});
        check({.m = 72,
               .n = 136,
               .k = 72,
               .blockN = 128,
               .columns = 32,
               .leftByK = left,
               .rightByK = right,
               .directCopies = copies});
      }
  // Bytes lie along K in shared memory, whatever global memory does.
  check({.m = 64, .n = 64, .k = 64, .type = DType::i8, .leftByK = true, .rightByK = true});
}

TEST(WaveGroups, SizesThatFillNoTile) {
  for (bool copies : {false, true}) {
    check({.m = 127, .n = 131, .k = 77, .directCopies = copies});
    check({.m = 1, .n = 1, .k = 1, .directCopies = copies});
    check({.m = 65, .n = 7, .k = 200, .directCopies = copies});
  }
}

TEST(WaveGroups, SizesThatALaunchSays) {
  for (const char *schedule : {"none", "prefetch"}) {
    Product p{.m = 128, .n = 64, .k = 128, .schedule = schedule, .dynamic = {"M", "N", "K"}};
    check(p, {{.m = 1, .n = 1, .k = 1},
              {.m = 127, .n = 131, .k = 77},
              {.m = 5, .n = 70, .k = 0},
              {.m = 64, .n = 64, .k = 320}});
  }
}

TEST(WaveGroups, Schedules) {
  for (const char *schedule : {"prefetch", "modulo", "list", "four_stage", "ring"})
    for (bool copies : {false, true}) {
      check(
          {.m = 128, .n = 128, .k = 256, .blockN = 128, .columns = 128, .directCopies = copies, .schedule = schedule});
      check({.m = 100, .n = 90, .k = 200, .directCopies = copies, .schedule = schedule});
    }
}

//===-- Few rows: the columns are the instruction's rows -----------------------------------------------===//

TEST(WaveGroups, FewRows) {
  for (bool copies : {false, true})
    for (int64_t columns : {8, 16, 32, 64}) {
      Product p = fewRows(columns, 128, 192, columns);
      p.directCopies = copies;
      check(p);
      p.m = columns - 3, p.n = 72, p.k = 77;
      check(p);
    }
  // Two groups of waves, two instructions beside each other, rows of two panels, tiny ones.
  Product wide{.m = 30, .n = 256, .k = 256, .blockM = 32, .blockN = 128, .blockK = 128, .columns = 16};
  wide.directCopies = wide.exchanged = true;
  check(wide);
  check(fewRows(1, 1, 1));
  check(fewRows(1, 8, 8));
}

TEST(WaveGroups, FewRowsOfOtherTypesAndEitherWayRound) {
  for (DType type : {DType::bf16, DType::i8}) {
    Product p = fewRows(13, 70, 208);
    p.type = type;
    check(p);
  }
  for (bool left : {false, true})
    for (bool right : {false, true}) {
      Product p = fewRows(24, 136, 136, 32);
      p.leftByK = left, p.rightByK = right;
      check(p);
    }
}

TEST(WaveGroups, FewRowsUnderSchedules) {
  for (const char *schedule : {"prefetch", "modulo", "ring"}) {
    Product p = fewRows(16, 128, 1024);
    p.schedule = schedule;
    check(p);
  }
  for (const char *schedule : {"none", "prefetch", "ring"}) {
    Product p = fewRows(16, 128, 1024);
    p.schedule = schedule;
    p.dynamic = {"M", "N", "K"};
    check(p, {fewRows(1, 1, 1), fewRows(40, 131, 77), fewRows(16, 64, 0), fewRows(7, 200, 2048)});
  }
}

TEST(WaveGroups, EveryPassIsRight) {
  for (const Product &p : {Product{.m = 70, .n = 64, .k = 80}, fewRows(13, 70, 200),
                           Product{.m = 64, .n = 40, .k = 72, .leftByK = true, .rightByK = true},
                           Product{.m = 70, .n = 64, .k = 200, .directCopies = true},
                           Product{.m = 64, .n = 40, .k = 72, .leftByK = true, .rightByK = true, .directCopies = true},
                           Product{.m = 70, .n = 64, .k = 208, .type = DType::f8e4m3fn, .directCopies = true}}) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    CompileOptions options = optionsOf(p);
    EmittedKernel emitted = emitKernel(build(p), context, {options.subs, options.dynamic, options.target, {}});
    ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
    (*emitted.module->getOps<wave::KernelOp>().begin()).setDirectCopies(p.directCopies);
    DiagnosticCollector collector(&context);
    EXPECT_TRUE(mlir::succeeded(checkPasses(*emitted.module, {}))) << format(collector.diagnostics());
  }
}

//===-- What the emulator would find -------------------------------------------------------------------===//

TEST(WaveGroups, TheEmulatorMissesWhatIsTakenAway) {
  auto finds = [](const std::vector<emu::FindingKind> &kinds, emu::FindingKind kind) {
    return std::ranges::count(kinds, kind) > 0;
  };
  for (auto [copies, type] : {std::pair(false, DType::f16), {true, DType::f16}, {true, DType::f8e4m3fn}})
    for (const char *schedule : {"none", "prefetch", "ring"}) {
      Product p{.k = 320, .type = type, .directCopies = copies, .schedule = schedule};
      SCOPED_TRACE(testing::PrintToString(p));
      EXPECT_TRUE(findingsWith(p, "", "").empty());
      // What is written by stores has to be shown to the instructions; what is copied in boxes has not.
      if (!copies)
        EXPECT_TRUE(finds(findingsWith(p, "machine.fence shared_async\n", "\n"), emu::FindingKind::MissingFence));
      // Sums that are used too early, and factors that are overwritten while they are read.
      std::vector<emu::FindingKind> early = findingsWith(p, "machine.wait mma, 0", "machine.wait mma, 7");
      EXPECT_TRUE(finds(early, emu::FindingKind::PendingValue) || finds(early, emu::FindingKind::MissingWait));
      EXPECT_FALSE(findingsWith(p, "machine.barrier\n", "\n").empty());
    }
}

/// Pieces that take turns: a sum that is taken while it is under way, in the loop and behind it.
TEST(WaveGroups, TheEmulatorMissesWaitsOfPiecesInTurn) {
  Product p{.k = 1024, .columns = 32, .type = DType::f8e4m3fn, .directCopies = true, .schedule = "ring"};
  EXPECT_TRUE(findingsWith(p, "", "").empty());
  std::vector<emu::FindingKind> early = findingsWith(p, "machine.wait mma, 1", "machine.wait mma, 2");
  EXPECT_GT(std::ranges::count(early, emu::FindingKind::PendingValue), 0);
  early = findingsWith(p, "machine.wait mma, 0", "machine.wait mma, 1");
  EXPECT_GT(std::ranges::count(early, emu::FindingKind::PendingValue), 0);
}

/// Copies of boxes complete on barriers in memory: too few bytes, too many, or a phase that nobody waits for.
TEST(WaveGroups, TheEmulatorMissesWhatBoxesLack) {
  for (const char *schedule : {"none", "prefetch", "ring"}) {
    Product p{.k = 1024, .directCopies = true, .schedule = schedule};
    SCOPED_TRACE(testing::PrintToString(p));
    // In a ring a phase that is complete too early vouches for all of its copies: the emulator sees wrong numbers only.
    if (p.schedule != "ring")
      EXPECT_FALSE(findingsWith(p, "expect = 16384", "expect = 8192").empty());
    EXPECT_FALSE(findingsWith(p, "expect = 16384", "expect = 16400").empty());
    EXPECT_FALSE(findingsWith(p, "", "", "machine.mbarrier_wait").empty());
  }
}

//===-- What the compiler says of itself ---------------------------------------------------------------===//

/// The kernel with its barriers and waits, in the form `Synchronized`.
TEST(WaveGroups, ABarrierThatDoesNotPublishIsFound) {
  for (bool copies : {false, true})
    for (const char *schedule : {"none", "prefetch"}) {
      // Rows that no box begins with are copied lane by lane, as ordinary writes are.
      Product p{.k = copies ? 194 : 192, .directCopies = copies, .schedule = schedule};
      SCOPED_TRACE(testing::PrintToString(p));
      mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
      CompileOptions options = optionsOf(p);
      EmittedKernel emitted = emitKernel(build(p), context, {options.subs, options.dynamic, options.target, {}});
      ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
      wave::KernelOp kernel = *emitted.module->getOps<wave::KernelOp>().begin();
      kernel.setDirectCopies(copies);
      mlir::PassManager manager(&context);
      buildScheduledPipeline(manager, options.schedule);
      DiagnosticCollector collector(&context);
      ASSERT_TRUE(mlir::succeeded(manager.run(*emitted.module))) << format(collector.diagnostics());
      mlir::FailureOr<Geometry> geometry = Geometry::of(kernel);
      ASSERT_TRUE(mlir::succeeded(geometry));
      auto proven = [&] {
        return mlir::succeeded(proveAgain(kernel, makeWholeKernel(kernel, *geometry), geometry->target()));
      };
      EXPECT_TRUE(proven());
      int published = 0;
      kernel.walk([&](wave::BarrierOp barrier) {
        if (!barrier.getPublishes())
          return;
        ++published;
        barrier.setPublishes(false);
        EXPECT_FALSE(proven());
        barrier.setPublishes(true);
      });
      EXPECT_GT(published, 0);
    }
}

//===-- What can be named at compilation ---------------------------------------------------------------===//

TEST(WaveGroups, AnInstructionThatTheOptionsName) {
  Product p{.m = 70, .n = 64, .k = 80};
  p.named = false;
  CompileOptions options = optionsOf(p);
  options.keep = {Artefact::ptx};
  auto ptx = [&] {
    CompileAttempt code = compileImage(build(p), options, rt::ImageKind::ptx);
    EXPECT_TRUE(code) << format(code.diagnostics);
    return code ? code.result->artefacts.front().second : "";
  };
  options.mma = "F32_64x64x16_F16";
  EXPECT_NE(ptx().find("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"), std::string::npos);
  expectRight(compile(build(p), options), p);
  options.mma = "F32_16x8x16_F16";
  EXPECT_EQ(ptx().find("wgmma"), std::string::npos);
  options.mma = "F32_64x65x16_F16";
  CompileAttempt unknown = compileImage(build(p), options, rt::ImageKind::ptx);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.diagnostics.front().id, DiagId::MmaUnknown);
}

//===-- What does not fit -------------------------------------------------------------------------------===//

struct Refused {
  int64_t rows = 16, columns = 64, wavesK = 1, wavesN = 1;
  AddressSpace space = shared;
  DType type = DType::f16;
  std::string instruction = "F32_64x64x16_F16";
  bool computed = false, computedRight = false;
  int rowsOn = 0;
};

std::string refusal(const Refused &r) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"product",
                {WorkgroupConstraint(M, 64, r.rowsOn), WorkgroupConstraint(N, r.columns, 1 - r.rowsOn),
                 TilingConstraint(K, 64), WaveConstraint(M, r.rows),
                 WaveConstraint(N, r.rowsOn ? r.columns / 2 : r.columns / r.wavesN), WaveConstraint(K, 64 / r.wavesK),
                 HardwareConstraint{.mma = MmaType(r.instruction)}}};
  ElementType element = r.type == DType::f16 ? f16 : f8;
  auto a = kernel.memory("a", {M, K}, r.space, element), b = kernel.memory("b", {N, K}, shared, element);
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0),
                       [&](lang::Value acc) {
                         return mma(r.computed ? read(a) + read(a) : read(a),
                                    r.computedRight ? read(b) + read(b) : read(b), acc);
                       }),
        kernel.memory("c", {M, N}, global, f32));
  CompileOptions options;
  options.target = "sm_90a";
  options.subs = {{M, 64}, {N, 256}, {K, 64}};
  options.cache = false;
  for (const Diagnostic &diagnostic : compileImage(kernel, options, rt::ImageKind::ptx).diagnostics)
    if (diagnostic.severity == Severity::error)
      return std::string(idText(diagnostic.id));
  return "";
}

TEST(WaveGroups, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.rows = 32}), "mma-wave-group");
  EXPECT_EQ(refusal({.rows = 64}), "mma-wave-group");
  EXPECT_EQ(refusal({.wavesK = 2}), "mma-wave-group");
  // Waves along the columns are counted before those along the rows.
  EXPECT_EQ(refusal({.columns = 128, .rowsOn = 1}), "mma-wave-group");
  EXPECT_EQ(refusal({.rows = 32, .wavesN = 4}), "mma-wave-group");
  // Four waves of 16 columns are a group, whose instruction takes the rows as its columns.
  EXPECT_EQ(refusal({.rows = 64, .wavesN = 4}), "");
  EXPECT_EQ(refusal({.rows = 64, .wavesN = 4, .instruction = "F32_64x128x16_F16"}), "tile-not-multiple-of-mma");
  EXPECT_EQ(refusal({.columns = 32}), "tile-not-multiple-of-mma");
  // A parameter of which only factors are read is staged; a left factor that is computed stays in registers.
  EXPECT_EQ(refusal({.space = global}), "");
  EXPECT_EQ(refusal({.computed = true}), "");
  EXPECT_EQ(refusal({.computedRight = true}), "mma-operand-in-registers");
  EXPECT_EQ(refusal({.type = DType::f8e4m3fn, .instruction = "F32_64x64x16_F16"}), "mma-type-mismatch");
}

} // namespace
} // namespace soliton::test
