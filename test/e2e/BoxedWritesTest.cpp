//===- BoxedWritesTest.cpp - Results that leave shared memory in boxes -------------------------------===//
//
// Products whose sums are staged and leave in boxes of their tensor: right on the emulator at all kinds of sizes and
// types, with what lies around the tensor as it was; taken by ptxas; lane by lane, and said so, where a tensor has no
// boxes; and what the emulator and the proof find where a fence, a barrier or a wait is missing.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/Findings.h"
#include "test/e2e/Products.h"

#include "soliton/backend/Backend.h"
#include "soliton/driver/CheckPasses.h"
#include "soliton/driver/FormVerifier.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/support/Float.h"

#include "mlir/Pass/PassManager.h"

#include <cstring>

namespace soliton::test {
namespace {

/// c[B, M, N] = a · bᵀ for each of B, plus one, written as `out`; `twice` writes the sum to a second tensor too.
struct Written {
  int64_t m = 64, n = 64, k = 64, b = 0;
  int64_t blockN = 64;
  DType out = DType::f16;
  bool twice = false, boxed = true;
  /// Tiles are counted from the last row: the first one may begin in front of the tensor.
  bool fromTheEnd = false;
  std::string schedule = "ring";
  std::vector<std::string> dynamic = {};

  int64_t rows() const { return std::max<int64_t>(b, 1) * m; }
};

std::ostream &operator<<(std::ostream &out, const Written &w) {
  return out << w.b << "x" << w.m << "x" << w.n << "x" << w.k << " as " << name(w.out) << ", " << w.schedule
             << (w.twice ? ", twice" : "") << (w.fromTheEnd ? ", from the end" : "")
             << (w.boxed ? "" : ", lane by lane");
}

ElementType elementOf(DType type) {
  return type == DType::f32 ? f32 : type == DType::bf16 ? bf16 : type == DType::f8e4m3fn ? f8e4m3fn : f16;
}

Kernel build(const Written &w) {
  auto [B, M, N, K] = symbols<"B M N K">();
  WorkgroupOptions rows;
  if (w.fromTheEnd)
    rows.apply_fn = [M = M](Expr workgroup) { return M - 64 * (sym::ceildiv(M, 64) - workgroup); };
  std::vector<Constraint> constraints = {WorkgroupConstraint(M, 64, 0, rows),
                                         WorkgroupConstraint(N, w.blockN, 1),
                                         TilingConstraint(K, 64),
                                         WaveConstraint(M, 16),
                                         WaveConstraint(N, w.blockN),
                                         HardwareConstraint{.mma = MmaType("F32_64x64x16_F16")}};
  if (w.b > 0)
    constraints.push_back(WorkgroupConstraint(B, 1, 2));
  Kernel kernel{"written", constraints};
  auto batched = [&, B = B](std::vector<Expr> shape) {
    if (w.b > 0)
      shape.insert(shape.begin(), B);
    return shape;
  };
  auto a = kernel.memory("a", batched({M, K}), shared, f16), b = kernel.memory("b", batched({N, K}), shared, f16);
  auto c = kernel.memory("c", batched({M, N}), global, elementOf(w.out));
  lang::Value sum = kernel.iterate(K, kernel.fill(batched({M, N}), f32, 0),
                                   [&](lang::Value acc) { return mma(read(a), read(b), acc); });
  write(cast(sum + 1.0, elementOf(w.out)), c);
  if (w.twice)
    write(cast(sum, f32), kernel.memory("d", batched({M, N}), global, f32));
  return kernel;
}

CompileOptions optionsOf(const Written &w) {
  CompileOptions options;
  options.target = "sm_90a";
  options.device = "emulator";
  options.directCopies = options.stagedWrites = true;
  options.boxedWrites = w.boxed;
  options.paddedRows = RowPadding::never;
  options.schedule.name = w.schedule;
  options.cache = false;
  for (auto [name, size] : {std::pair("B", w.b), {"M", w.m}, {"N", w.n}, {"K", w.k}}) {
    if (size == 0)
      continue;
    if (std::ranges::count(w.dynamic, name) == 0)
      options.subs.push_back({symbol(name), size});
    else
      options.dynamic.push_back(symbol(name));
  }
  return options;
}

std::vector<int64_t> shapeOf(const Written &w, int64_t outer, int64_t inner) {
  return w.b > 0 ? std::vector{w.b, outer, inner} : std::vector{outer, inner};
}

/// Small integers, row by row.
struct Factor {
  std::vector<int> values;
  std::vector<uint8_t> bytes;

  Factor(int64_t count, int seed) {
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<int>((i * 7 + i / 5 * seed) % 5) - 2);
      uint64_t bits = encode(DType::f16, values.back());
      bytes.push_back(static_cast<uint8_t>(bits));
      bytes.push_back(static_cast<uint8_t>(bits >> 8));
    }
  }
};

/// The result of one launch: exact, between bytes that nobody touched.
void expectRight(const CompiledKernel &run, const Written &w) {
  constexpr size_t guard = 4096;
  auto width = static_cast<size_t>(bits(w.out)) / 8;
  size_t bytes = static_cast<size_t>(w.rows() * w.n) * width;
  Factor a(w.rows() * w.k, 3), b(std::max<int64_t>(w.b, 1) * w.n * w.k, 11);
  std::vector<uint8_t> memory(bytes + 2 * guard, 0xee);
  run(rt::Tensor::dense(a.bytes.data(), DType::f16, shapeOf(w, w.m, w.k)),
      rt::Tensor::dense(b.bytes.data(), DType::f16, shapeOf(w, w.n, w.k)),
      rt::Tensor::dense(memory.data() + guard, w.out, shapeOf(w, w.m, w.n)));
  for (size_t i = 0; i < guard; ++i)
    ASSERT_TRUE(memory[i] == 0xee && memory[guard + bytes + i] == 0xee) << "byte " << i << " of a guard";
  for (int64_t row = 0; row < w.rows(); ++row)
    for (int64_t n = 0; n < w.n; ++n) {
      int want = 1;
      for (int64_t k = 0; k < w.k; ++k)
        want += a.values[static_cast<size_t>(row * w.k + k)] *
                b.values[static_cast<size_t>((row / w.m * w.n + n) * w.k + k)];
      uint64_t found = 0;
      std::memcpy(&found, &memory[guard + static_cast<size_t>(row * w.n + n) * width], width);
      ASSERT_EQ(found, encode(w.out, want)) << "row " << row << " column " << n;
    }
}

std::string textOf(const Written &w, Artefact which) {
  CompileOptions options = optionsOf(w);
  options.keep = {which};
  CompileAttempt code =
      compileImage(build(w), options, which == Artefact::ptx ? rt::ImageKind::ptx : rt::ImageKind::emulator);
  EXPECT_TRUE(code) << format(code.diagnostics);
  return code ? code.result->artefacts.front().second : "";
}

size_t count(const std::string &text, std::string_view word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

/// Right at the sizes it was compiled for and at `further` ones, in so many boxes; ptxas takes it.
void check(const Written &w, size_t boxes, const std::vector<Written> &further = {}) {
  SCOPED_TRACE(testing::PrintToString(w));
  EXPECT_EQ(count(textOf(w, Artefact::machine), "machine.store_tile"), boxes);
  if (backend::findPtxas()) {
    CompileAttempt code = compileImage(build(w), optionsOf(w), rt::ImageKind::cubin);
    EXPECT_TRUE(code) << format(code.diagnostics);
  }
  CompiledKernel run = compile(build(w), optionsOf(w));
  expectRight(run, w);
  for (const Written &other : further) {
    SCOPED_TRACE(testing::PrintToString(other));
    expectRight(run, other);
  }
}

TEST(BoxedWrites, EveryType) {
  check({.m = 128, .n = 128}, 1);
  check({.m = 128, .n = 128, .out = DType::bf16}, 1);
  // Rows of 256 bytes are two panels.
  check({.m = 128, .n = 128, .out = DType::f32}, 2);
  check({.m = 64, .n = 128, .blockN = 128}, 2);
  // Bytes are exchanged between lanes until each has 16 of a row: nothing is staged.
  check({.m = 64, .n = 64, .k = 8, .out = DType::f8e4m3fn}, 0);
}

TEST(BoxedWrites, SizesThatFillNoTile) {
  for (auto [m, n] : {std::pair(1, 8), {127, 136}, {65, 72}, {130, 24}})
    for (DType out : {DType::f16, DType::f32})
      check({.m = m, .n = n, .k = 72, .out = out}, out == DType::f32 ? 2 : 1);
}

TEST(BoxedWrites, Schedules) {
  for (const char *schedule : {"none", "prefetch", "modulo"})
    check({.m = 100, .n = 96, .k = 200, .schedule = schedule}, 1);
}

TEST(BoxedWrites, SizesThatALaunchSays) {
  check({.m = 64, .n = 128, .dynamic = {"M", "K"}}, 1, {{.m = 1, .n = 128, .k = 8}, {.m = 127, .n = 128, .k = 200}});
}

TEST(BoxedWrites, Batches) {
  check({.m = 70, .n = 72, .k = 64, .b = 3}, 1);
  check({.m = 64, .n = 64, .k = 64, .b = 2, .out = DType::f32}, 2);
}

TEST(BoxedWrites, TurnedOff) {
  check({.m = 128, .n = 128, .boxed = false}, 0);
}

/// The remarks of a compilation that say so.
std::vector<std::string> remarksOf(const Written &w) {
  std::vector<std::string> texts;
  CompileAttempt code = compileImage(build(w), optionsOf(w), rt::ImageKind::ptx);
  EXPECT_TRUE(code) << format(code.diagnostics);
  for (const Diagnostic &said : code ? code.result->warnings : std::vector<Diagnostic>())
    if (said.id == DiagId::DirectCopyImpossible)
      texts.push_back(said.message);
  return texts;
}

TEST(BoxedWrites, RowsThatBoxesCannotBeginAtGoLaneByLane) {
  Written odd{.m = 70, .n = 67};
  check(odd, 0);
  std::vector<std::string> remarks = remarksOf(odd);
  EXPECT_EQ(std::ranges::count_if(remarks,
                                  [](const std::string &text) {
                                    return text.starts_with("this tile goes to global memory as lanes hold it") ||
                                           text.starts_with("this tile leaves shared memory through registers");
                                  }),
            1)
      << testing::PrintToString(remarks);
  // Nothing is known of rows whose length a launch says.
  check({.m = 70, .n = 64, .dynamic = {"N"}}, 0, {{.m = 70, .n = 131}});
  EXPECT_TRUE(remarksOf({.m = 70, .n = 64}).empty());
}

/// The engine writes no box that begins in front of its tensor: boxes are so short that each is inside or is not.
TEST(BoxedWrites, NothingInFrontOfTheTensor) {
  check({.m = 128, .n = 64, .fromTheEnd = true}, 1);
  check({.m = 96, .n = 64, .fromTheEnd = true}, 2);                     // from row -32 on, by 32
  check({.m = 72, .n = 64, .out = DType::f32, .fromTheEnd = true}, 16); // from row -56 on, by 8
  check({.m = 8, .n = 64, .fromTheEnd = true}, 8);
  check({.m = 70, .n = 64, .fromTheEnd = true}, 0);
  check({.m = 64, .n = 64, .fromTheEnd = true, .dynamic = {"M"}}, 0, {{.m = 1, .n = 64}, {.m = 130, .n = 64}});
  std::vector<std::string> remarks = remarksOf({.m = 70, .n = 64, .fromTheEnd = true});
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("it may begin in front of its memory, and not by whole boxes"), std::string::npos);
}

/// Of all shared accesses, by the bank model.
int64_t conflictsOf(const Written &w) {
  CompileOptions options = optionsOf(w);
  options.countBankConflicts = true;
  CompileAttempt code = compileImage(build(w), options, rt::ImageKind::emulator);
  EXPECT_TRUE(code) << format(code.diagnostics);
  int64_t conflicts = 0;
  for (const BankConflicts &access : code ? code.result->bankConflicts : std::vector<BankConflicts>())
    conflicts += access.conflicts;
  return conflicts;
}

/// The exchange of chunks that boxes have serves pieces of 4 bytes; those of 8 meet in pairs.
TEST(BoxedWrites, PiecesOfSixteenBitsMeetNoOther) {
  EXPECT_EQ(conflictsOf({.m = 128, .n = 128}), 0);
  EXPECT_EQ(conflictsOf({.m = 128, .n = 128, .out = DType::bf16}), 0);
  EXPECT_GT(conflictsOf({.m = 128, .n = 128, .out = DType::f32}), 0);
  EXPECT_EQ(conflictsOf({.m = 128, .n = 128, .out = DType::f32, .boxed = false}), 0);
}

//===-- What must not be missing ------------------------------------------------------------------------===//

/// Two tiles that leave one after the other from the same place.
const Written kTwice{.m = 64, .n = 64, .out = DType::f32, .twice = true, .schedule = "none"};

std::vector<emu::FindingKind> findings(const Written &w, const Change &change) {
  Factor a(w.m * w.k, 3), b(w.n * w.k, 11);
  std::vector<uint8_t> c(static_cast<size_t>(w.m * w.n * 4)), d(c);
  std::vector<emu::Buffer> buffers = {
      {a.bytes.data(), a.bytes.size()}, {b.bytes.data(), b.bytes.size()}, {c.data(), c.size()}, {d.data(), d.size()}};
  buffers.resize(w.twice ? 4 : 3);
  return findingsOf(textOf(w, Artefact::machine), change, buffers);
}

TEST(BoxedWrites, TheEmulatorMissesWhatIsTakenAway) {
  auto has = [](const std::vector<emu::FindingKind> &kinds, emu::FindingKind kind) {
    return std::ranges::count(kinds, kind) > 0;
  };
  for (const Written &w : {Written{}, kTwice}) {
    SCOPED_TRACE(testing::PrintToString(w));
    EXPECT_TRUE(findings(w, {}).empty());
    EXPECT_TRUE(has(findings(w, {.from = "machine.fence shared_async\n", .to = "\n"}), emu::FindingKind::MissingFence));
    EXPECT_FALSE(findings(w, {.from = "machine.barrier\n", .to = "\n"}).empty());
    EXPECT_TRUE(has(findings(w, {.erased = "machine.commit"}), emu::FindingKind::MissingWait));
    EXPECT_TRUE(has(findings(w, {.from = "machine.wait bulk, 0", .to = "machine.wait bulk, 1"}),
                    emu::FindingKind::MissingWait));
  }
}

/// The tile's place is written again only behind a wait for those who copy it.
TEST(BoxedWrites, APlaceIsWrittenAgainWhenItWasRead) {
  std::string machine = textOf(kTwice, Artefact::machine);
  EXPECT_EQ(count(machine, "machine.store_tile"), 4u);
  EXPECT_EQ(count(machine, "machine.wait bulk, 0 {read}"), 2u);
}

TEST(BoxedWrites, TheProofMissesWhatIsTakenAway) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  CompileOptions options = optionsOf(kTwice);
  EmittedKernel emitted = emitKernel(build(kTwice), context, {options.subs, options.dynamic, options.target, {}});
  ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
  wave::KernelOp kernel = *emitted.module->getOps<wave::KernelOp>().begin();
  kernel.setDirectCopies(true);
  kernel.setStagedWrites(true);
  kernel.setWritesInBoxes(true);
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
  // Each wait for a copy, each barrier that publishes, and each barrier behind the loop.
  int waits = 0, fences = 0;
  kernel.walk([&](wave::WaitOp wait) {
    if (wait.getCounter() != wave::Counter::Bulk)
      return;
    ++waits;
    wait.setCount(1);
    EXPECT_FALSE(proven());
    wait.setCount(0);
  });
  kernel.walk([&](wave::BarrierOp barrier) {
    if (!barrier.getPublishes())
      return;
    ++fences;
    barrier.setPublishes(false);
    EXPECT_FALSE(proven());
    barrier.setPublishes(true);
  });
  EXPECT_EQ(waits, 2);
  EXPECT_EQ(fences, 2);
  EXPECT_TRUE(proven());
  for (wave::BarrierOp barrier : llvm::make_early_inc_range(kernel.block().getOps<wave::BarrierOp>()))
    if (barrier.getPublishes()) {
      barrier.erase();
      EXPECT_FALSE(proven());
      break;
    }
}

TEST(BoxedWrites, EveryPassIsRight) {
  for (const Written &w : {Written{.m = 70, .n = 72, .k = 80}, Written{.m = 64, .n = 24, .out = DType::f32},
                           Written{.m = 40, .n = 64, .b = 2}, kTwice}) {
    SCOPED_TRACE(testing::PrintToString(w));
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    CompileOptions options = optionsOf(w);
    EmittedKernel emitted = emitKernel(build(w), context, {options.subs, options.dynamic, options.target, {}});
    ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
    wave::KernelOp kernel = *emitted.module->getOps<wave::KernelOp>().begin();
    kernel.setDirectCopies(true);
    kernel.setStagedWrites(true);
    kernel.setWritesInBoxes(true);
    DiagnosticCollector collector(&context);
    EXPECT_TRUE(mlir::succeeded(checkPasses(*emitted.module, {}))) << format(collector.diagnostics());
  }
}

} // namespace
} // namespace soliton::test
