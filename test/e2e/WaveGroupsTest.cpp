//===- WaveGroupsTest.cpp - Matrix instructions of four waves, factors in shared memory ------------===//
//
// Products whose hardware constraint names a matrix instruction that four waves issue together and that reads both
// factors from shared memory: right on the emulator, whose checks know fences, groups and proxies, at all kinds of
// sizes, after every pass, under the schedules that fit; assembled by ptxas, where it is found, without a spill and
// without a serialised instruction; refused where waves, factors or types do not fit.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "soliton/driver/CheckPasses.h"
#include "soliton/driver/FormVerifier.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Wave.h"
#include "soliton/soliton.h"
#include "soliton/support/Float.h"
#include "test/e2e/Findings.h"

#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <cstring>
#include <random>

namespace soliton::test {
namespace {

/// A product c[M, N] = a · bᵀ and how it is distributed.
struct Product {
  int64_t m = 64, n = 64, k = 64;
  int64_t blockM = 64, blockN = 64, blockK = 64, wavesN = 1;
  /// Columns of the instruction.
  int64_t columns = 64;
  DType type = DType::f16;
  /// The factor's memory is [K, M] or [K, N].
  bool leftByK = false, rightByK = false;
  bool directCopies = false;
  std::string schedule = "none";
  std::vector<std::string> dynamic = {};
  /// The hardware constraint names the instruction.
  bool named = true;

  std::string instruction() const {
    bool bytes = type == DType::i8;
    return (bytes ? "I32_64x" : "F32_64x") + std::to_string(columns) + (bytes ? "x32_I8" : "x16_F16");
  }
  ElementType element() const { return type == DType::i8 ? i8 : type == DType::bf16 ? bf16 : f16; }
  DType sum() const { return type == DType::i8 ? DType::i32 : DType::f32; }
};

std::ostream &operator<<(std::ostream &out, const Product &p) {
  out << p.m << "x" << p.n << "x" << p.k << " in " << p.blockM << "x" << p.blockN << "x" << p.blockK << " by "
      << p.instruction() << " of " << name(p.type) << ", " << p.schedule;
  return out << (p.leftByK ? " leftByK" : "") << (p.rightByK ? " rightByK" : "") << (p.directCopies ? " copies" : "");
}

Kernel build(const Product &p) {
  auto [M, N, K] = symbols<"M N K">();
  HardwareConstraint hardware;
  if (p.named)
    hardware.mma = MmaType(p.instruction());
  Kernel kernel{"product",
                {WorkgroupConstraint(M, p.blockM, 0), WorkgroupConstraint(N, p.blockN, 1),
                 TilingConstraint(K, p.blockK), WaveConstraint(M, 16), WaveConstraint(N, p.blockN / p.wavesN),
                 hardware}};
  auto memory = [&](const char *name, Expr outer, bool byK) {
    return kernel.memory(name, byK ? std::vector<Expr>{K, outer} : std::vector<Expr>{outer, K}, shared, p.element());
  };
  auto a = memory("a", M, p.leftByK), b = memory("b", N, p.rightByK);
  auto sums = p.type == DType::i8 ? i32 : f32;
  auto c = kernel.memory("c", {M, N}, global, sums);
  auto factor = [&](const MemoryRef &from, Expr outer, bool byK) {
    auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
    if (!byK)
      return read(from);
    return read(from, {.mapping = IndexMapping{
                           .num_iterators = 2, .inputs = {{K, j}, {outer, i}}, .outputs = {{outer, i}, {K, j}}}});
  };
  write(kernel.iterate(K, kernel.fill({M, N}, sums, 0),
                       [&](lang::Value acc) { return mma(factor(a, M, p.leftByK), factor(b, N, p.rightByK), acc); }),
        c);
  return kernel;
}

CompileOptions optionsOf(const Product &p) {
  CompileOptions options;
  options.target = "sm_90a";
  options.device = "emulator";
  options.directCopies = p.directCopies;
  options.paddedRows = RowPadding::never;
  options.schedule.name = p.schedule;
  options.cache = false;
  for (auto [name, size] : {std::pair("M", p.m), {"N", p.n}, {"K", p.k}})
    if (std::ranges::count(p.dynamic, name) == 0)
      options.subs.push_back({symbol(name), size});
    else
      options.dynamic.push_back(symbol(name));
  return options;
}

/// Small integers: every sum is exact.
struct Data {
  DType type;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
  std::vector<int> values;

  Data(DType type, std::vector<int64_t> shape, unsigned seed) : type(type), shape(std::move(shape)) {
    std::mt19937 engine(seed);
    size_t width = static_cast<size_t>(bits(type)) / 8, count = static_cast<size_t>(this->shape[0] * this->shape[1]);
    bytes.resize(count * width);
    for (size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<int>(engine() % 9) - 4);
      uint64_t number = encode(type, values.back());
      std::memcpy(&bytes[i * width], &number, width);
    }
  }
  rt::Tensor tensor() { return rt::Tensor::dense(bytes.data(), type, shape); }
};

void expectRight(const CompiledKernel &run, const Product &p) {
  Data a(p.type, p.leftByK ? std::vector{p.k, p.m} : std::vector{p.m, p.k}, 1);
  Data b(p.type, p.rightByK ? std::vector{p.k, p.n} : std::vector{p.n, p.k}, 2);
  Data c(p.sum(), {p.m, p.n}, 3);
  std::memset(c.bytes.data(), 0xff, c.bytes.size());
  run(a.tensor(), b.tensor(), c.tensor());
  for (int64_t m = 0; m < p.m; ++m)
    for (int64_t n = 0; n < p.n; ++n) {
      int64_t want = 0;
      for (int64_t k = 0; k < p.k; ++k)
        want += a.values[static_cast<size_t>(p.leftByK ? k * p.m + m : m * p.k + k)] *
                b.values[static_cast<size_t>(p.rightByK ? k * p.n + n : n * p.k + k)];
      uint32_t word = 0;
      std::memcpy(&word, &c.bytes[static_cast<size_t>(m * p.n + n) * 4], 4);
      ASSERT_EQ(decode(p.sum(), word), static_cast<double>(want)) << "row " << m << " column " << n;
    }
}

/// A serialised group of instructions, or a spill, is an error of the assembler's.
rt::ImageKind binary() {
  return backend::findPtxas() ? rt::ImageKind::cubin : rt::ImageKind::ptx;
}

/// Compiled, run and held against the reference; ptxas takes it as it is.
void check(const Product &p, const std::vector<Product> &further = {}) {
  SCOPED_TRACE(testing::PrintToString(p));
  Kernel kernel = build(p);
  CompileAttempt code = compileImage(kernel, optionsOf(p), binary());
  ASSERT_TRUE(code) << format(code.diagnostics);
  EXPECT_GT(code.result->matrixOps, 0);
  // Remarks may say why a tile is not copied directly; what ptxas has to say would be warnings.
  EXPECT_TRUE(std::ranges::all_of(code.result->warnings, [](const Diagnostic &said) {
    return said.severity == Severity::remark;
  })) << format(code.result->warnings);
  CompiledKernel run = compile(kernel, optionsOf(p));
  expectRight(run, p);
  for (const Product &other : further) {
    SCOPED_TRACE(testing::PrintToString(other));
    expectRight(run, other);
  }
}

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

TEST(WaveGroups, EveryPassIsRight) {
  for (const Product &p :
       {Product{.m = 70, .n = 64, .k = 80}, Product{.m = 64, .n = 40, .k = 72, .leftByK = true, .rightByK = true},
        Product{.m = 70, .n = 64, .k = 200, .directCopies = true},
        Product{.m = 64, .n = 40, .k = 72, .leftByK = true, .rightByK = true, .directCopies = true}}) {
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

/// What it reports of the product's machine form with a change.
std::vector<emu::FindingKind> findingsWith(const Product &p, const std::string &from, const std::string &to,
                                           const std::string &erased = {}) {
  CompileOptions options = optionsOf(p);
  options.keep = {Artefact::machine};
  CompileAttempt code = compileImage(build(p), options, rt::ImageKind::emulator);
  EXPECT_TRUE(code) << format(code.diagnostics);
  Data a(p.type, {p.m, p.k}, 1), b(p.type, {p.n, p.k}, 2), c(p.sum(), {p.m, p.n}, 3);
  return findingsOf(
      code ? code.result->artefacts.front().second : "", {from, to, erased},
      {{a.bytes.data(), a.bytes.size()}, {b.bytes.data(), b.bytes.size()}, {c.bytes.data(), c.bytes.size()}});
}

TEST(WaveGroups, TheEmulatorMissesWhatIsTakenAway) {
  auto finds = [](const std::vector<emu::FindingKind> &kinds, emu::FindingKind kind) {
    return std::ranges::count(kinds, kind) > 0;
  };
  for (bool copies : {false, true})
    for (const char *schedule : {"none", "prefetch", "ring"}) {
      Product p{.k = 320, .directCopies = copies, .schedule = schedule};
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
  int64_t rows = 16, columns = 64, wavesK = 1;
  AddressSpace space = shared;
  DType type = DType::f16;
  std::string instruction = "F32_64x64x16_F16";
  bool computed = false;
  int rowsOn = 0;
};

std::string refusal(const Refused &r) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"product",
                {WorkgroupConstraint(M, 64, r.rowsOn), WorkgroupConstraint(N, r.columns, 1 - r.rowsOn),
                 TilingConstraint(K, 64), WaveConstraint(M, r.rows),
                 WaveConstraint(N, r.rowsOn ? r.columns / 2 : r.columns), WaveConstraint(K, 64 / r.wavesK),
                 HardwareConstraint{.mma = MmaType(r.instruction)}}};
  ElementType element = r.type == DType::f16 ? f16 : f8;
  auto a = kernel.memory("a", {M, K}, r.space, element), b = kernel.memory("b", {N, K}, shared, element);
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0),
                       [&](lang::Value acc) { return mma(r.computed ? read(a) + read(a) : read(a), read(b), acc); }),
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
  EXPECT_EQ(refusal({.columns = 32}), "tile-not-multiple-of-mma");
  EXPECT_EQ(refusal({.space = global}), "mma-operand-in-registers");
  EXPECT_EQ(refusal({.computed = true}), "mma-operand-in-registers");
  EXPECT_EQ(refusal({.type = DType::f8e4m3fn, .instruction = "F32_64x64x32_F8"}), "not-supported-here");
}

} // namespace
} // namespace soliton::test
