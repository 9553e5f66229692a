//===- ServiceWavesTest.cpp - A wave that has tiles copied for those that compute -------------------===//
//
// Products, attention and convolutions whose boxes a wave besides has copied: right on the emulator, with all checks
// and waves in an adversarial order, whatever the sizes, the number of workgroups and the order of their tiles are;
// registers that groups of waves exchange; what the emulator finds where something is taken away from one of the roles;
// and what is refused.
//
//===----------------------------------------------------------------------===//
#include "soliton/analysis/ServiceWaves.h"
#include "soliton/backend/Backend.h"
#include "soliton/backend/emulator/Translate.h"
#include "soliton/driver/CheckPasses.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Machine.h"
#include "soliton/pipeline/Drive.h"
#include "soliton/pipeline/PingPong.h"
#include "soliton/transforms/CopyRing.h"
#include "test/e2e/Products.h"
#include "test/e2e/Served.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <map>
#include <random>

namespace soliton::test {
namespace {
Product served(int64_t m, int64_t n, int64_t k, int64_t serviceWaves = 4) {
  return {.m = m, .n = n, .k = k, .directCopies = true, .schedule = "ring", .serviceWaves = serviceWaves};
}

std::string ptxOf(const Product &p) {
  CompileOptions options = optionsOf(p);
  options.keep = {Artefact::ptx};
  return textOf(compileImage(build(p), options, rt::ImageKind::ptx));
}

/// Between words one space, whoever printed them.
std::string plain(std::string text) {
  std::ranges::replace(text, '\t', ' ');
  auto [first, last] = std::ranges::unique(text, [](char a, char b) { return a == ' ' && b == ' '; });
  text.erase(first, last);
  return text;
}

//===-- Products ----------------------------------------------------------------------------------------===//

TEST(ServiceWaves, Products) {
  for (int64_t waves : {1, 2, 3, 4})
    for (bool staged : {false, true}) {
      Product p = served(128, 192, 320, waves);
      p.stagedWrites = staged;
      check(p);
    }
}

TEST(ServiceWaves, ProductsThatWalk) {
  for (int64_t waves : {1, 4})
    for (int64_t workgroups : {1, 2, 5})
      for (bool staged : {false, true}) {
        Product p = served(128, 192, 320, waves);
        p.persistent = workgroups;
        p.stagedWrites = staged;
        check(p);
      }
}

/// Including bands of more columns than there are.
TEST(ServiceWaves, ProductsInBands) {
  for (int64_t raster : {2, -1, -2, -8})
    for (int64_t workgroups : {0, 2}) {
      Product p = served(320, 192, 64, raster % 2 == 0 ? 4 : 1);
      p.raster = raster;
      p.persistent = workgroups;
      check(p);
    }
}

/// The last: fewer of K than a row of boxes has bytes.
TEST(ServiceWaves, ProductsThatFillNoTile) {
  for (auto [m, n, k] :
       {std::tuple(130, 72, 200), {1, 8, 8}, {1, 1, 64}, {65, 136, 72}, {200, 200, 1000}, {64, 64, 8}, {127, 131, 80}})
    for (int64_t waves : {1, 4})
      for (int64_t workgroups : {0, 2}) {
        Product p = served(m, n, k, waves);
        p.persistent = workgroups;
        p.stagedWrites = true;
        check(p);
      }
}

TEST(ServiceWaves, SizesThatALaunchSays) {
  for (int64_t workgroups : {0, 2})
    for (int64_t raster : {0, -2}) {
      Product p = served(128, 128, 256);
      p.dynamic = {"M", "N"};
      p.stagedWrites = true;
      p.persistent = workgroups;
      p.raster = raster;
      check(p, {served(1, 1, 256), served(0, 64, 256), served(64, 0, 256), served(131, 257, 256)});
    }
}

TEST(ServiceWaves, TwoGroupsAndSmallerTypes) {
  for (DType type : {DType::bf16, DType::f8e4m3fn, DType::i8}) {
    Product p = served(130, 144, 384);
    p.blockM = 128;
    p.type = type;
    check(p);
    p.persistent = 1;
    check(p);
  }
}

/// What `auto` takes for 8-bit floats: two groups that compute with the registers of a third.
TEST(ServiceWaves, SumsThatBeginAnew) {
  for (int64_t workgroups : {0, 1, 2})
    for (auto [m, n, k] : {std::tuple(256, 384, 512), {129, 200, 272}}) {
      Product p = served(m, n, k);
      p.blockM = 128;
      p.blockN = p.columns = 192;
      p.blockK = 128;
      p.type = DType::f8e4m3fn;
      p.stagedWrites = true;
      p.persistent = workgroups;
      p.raster = workgroups == 2 ? 8 : 0;
      check(p);
    }
}

TEST(ServiceWaves, ExchangedOperands) {
  Product p = fewRows(20, 192, 640);
  p.schedule = "ring";
  p.serviceWaves = 4;
  check(p);
  p.persistent = 2;
  check(p);
}

TEST(ServiceWaves, OtherSchedules) {
  for (const char *schedule : {"prefetch", "modulo", "none"})
    for (int64_t workgroups : {0, 2}) {
      Product p = served(130, 72, 320);
      p.schedule = schedule;
      p.persistent = workgroups;
      check(p);
    }
}

//===-- Attention ---------------------------------------------------------------------------------------===//

TEST(ServiceWaves, Attention) {
  for (int64_t d : {64, 128})
    for (int64_t waves : {1, 4})
      for (int64_t workgroups : {0, 1, 2, 5}) {
        Attended a = attended(300, 520, d);
        a.serviceWaves = waves;
        a.persistent = workgroups;
        a.stagedWrites = workgroups != 2;
        expectRight(a);
      }
}

TEST(ServiceWaves, VariantsOfAttention) {
  for (const char *kernel :
       {"attention_causal", "attention_gqa", "attention_lse", "attention_window", "attention_causal_lse"})
    for (int64_t d : {64, 128})
      for (int64_t workgroups : {0, 2}) {
        Attended a = attended(200, 330, d, kernel);
        a.serviceWaves = d == 64 ? 1 : 4;
        a.persistent = workgroups;
        expectRight(a);
      }
}

/// One row, one key, and fewer of either than a tile has.
TEST(ServiceWaves, AttentionOfFewRowsAndKeys) {
  for (const char *kernel : {"attention", "attention_causal"})
    for (auto [q, kv] : {std::pair(1, 1), {1, 700}, {77, 1}, {129, 129}, {640, 300}})
      for (int64_t workgroups : {0, 2}) {
        Attended a = attended(q, kv, 64, kernel);
        a.persistent = workgroups;
        expectRight(a);
      }
}

TEST(ServiceWaves, AttentionInBands) {
  for (const char *kernel : {"attention", "attention_causal"})
    for (int64_t raster : {2, -1, -2, -8})
      for (int64_t workgroups : {0, 2}) {
        Attended a = attended(400, 200, 64, kernel);
        a.sizes["H"] = 3;
        a.raster = raster;
        a.persistent = workgroups;
        expectRight(a);
      }
}

/// Three groups that compute, as `auto` has them with up to 64 columns.
TEST(ServiceWaves, ThreeGroupsThatCompute) {
  for (const char *kernel : {"attention", "attention_causal"})
    for (int64_t workgroups : {0, 2}) {
      Attended a = attended(400, 700, 64, kernel);
      a.rows = 192;
      a.persistent = workgroups;
      expectRight(a);
    }
}

TEST(ServiceWaves, AttentionOfSizesThatALaunchSays) {
  for (const char *kernel : {"attention", "attention_causal"})
    for (int64_t kv : {1, 64, 300, 1030})
      for (int64_t workgroups : {0, 2}) {
        Attended a = attended(200, kv, 64, kernel);
        a.dynamic = {"Q", "KV"};
        a.persistent = workgroups;
        a.raster = workgroups == 2 ? -2 : 0;
        expectRight(a);
      }
}

//===-- Tiles of different length -----------------------------------------------------------------------===//

/// Rows below the causal mask: workgroups draw the next tile, whoever copies, and however many there are.
TEST(ServiceWaves, UnevenTilesAreDrawn) {
  for (int64_t waves : {0, 1, 4})
    for (int64_t workgroups : {1, 2, 5, 100}) {
      Attended a = attended(700, 900, 64, "attention_causal");
      a.serviceWaves = waves;
      a.persistent = workgroups;
      a.raster = -2;
      expectRight(a);
    }
  // Without copies that begin early nothing else says where a ticket is drawn.
  Attended unstaged = attended(300, 640, 128, "attention_causal_lse");
  unstaged.stagedWrites = false;
  unstaged.persistent = 3;
  expectRight(unstaged);
}

/// The counter lies in the workspace, which a launch sets to 0; tiles of one length need none.
TEST(ServiceWaves, ACounterOnlyWhereTilesAreUneven) {
  for (auto [kernel, workgroups, isDrawn] :
       {std::tuple("attention_causal", 2, true), {"attention_causal", 0, false}, {"attention", 2, false}}) {
    Attended a = attended(700, 900, 64, kernel);
    a.persistent = workgroups;
    CompileAttempt compiled = a.compile(rt::ImageKind::emulator, {Artefact::machine});
    ASSERT_TRUE(compiled) << format(compiled.diagnostics);
    const rt::WorkspaceSpec &workspace = compiled.result->image.workspace;
    EXPECT_EQ(workspace.exists(), isDrawn) << kernel << " " << workgroups;
    EXPECT_EQ(workspace.zeroed.size(), isDrawn ? 1u : 0u);
    EXPECT_EQ(count(compiled.result->artefacts.front().second, "machine.atomic"), isDrawn ? 1u : 0u);
  }
}

//===-- Convolutions ------------------------------------------------------------------------------------===//

TEST(ServiceWaves, Convolutions) {
  for (int64_t waves : {1, 4})
    for (int64_t workgroups : {0, 2})
      for (bool staged : {false, true}) {
        const kernels::KernelEntry *entry = kernels::findKernel("conv2d_nhwc");
        Case which{entry,
                   entry->findVariant("f16"),
                   findTarget("sm_90a"),
                   {{"BLOCK_M", 64}, {"BLOCK_F", 64}, {"BLOCK_K", 64}, {"WAVES_M", 4}, {"WAVES_F", 1}},
                   /*directCopies=*/true,
                   "ring"};
        Sizes sizes{{"B", 2}, {"H", 9}, {"W", 11},     {"C", 64},  {"F", 72},
                    {"R", 3}, {"S", 3}, {"STRIDE", 1}, {"PAD", 1}, {"DILATION", 1}};
        CompileOptions options = which.options(sizes);
        options.mma = "F32_64x64x16_F16";
        options.serviceWaves = waves;
        options.persistent = workgroups;
        options.stagedWrites = staged;
        options.keep = {Artefact::machine};
        CompileAttempt compiled = compileImage(entry->build(*which.variant), options, rt::ImageKind::emulator);
        ASSERT_TRUE(compiled) << format(compiled.diagnostics);
        checkOnEmulator(which, *compiled.result, sizes);
      }
}

//===-- Code --------------------------------------------------------------------------------------------===//

TEST(ServiceWaves, GroupsExchangeRegisters) {
  // Waves that compute, and what each of those that copy and those that compute has.
  for (auto [waves, copying, computing] : {std::tuple(8, 40, 232), {12, 32, 160}}) {
    SCOPED_TRACE(waves);
    Product p = served(1024, 1024, 1024);
    p.blockM = 16 * waves;
    p.persistent = 4;
    std::string ptx = plain(ptxOf(p));
    EXPECT_EQ(count(ptx, "setmaxnreg.dec.sync.aligned.u32 " + std::to_string(copying) + ";"), 1u);
    EXPECT_EQ(count(ptx, "setmaxnreg.inc.sync.aligned.u32 " + std::to_string(computing) + ";"), 1u);
    EXPECT_EQ(count(ptx, "setmaxnreg"), 2u);
    // All that have work meet: those that compute, and one.
    EXPECT_GT(count(ptx, "bar.sync 0, " + std::to_string(32 * (waves + 1)) + ";"), 0u);
  }
}

TEST(ServiceWaves, OneWaveGivesNoRegisters) {
  for (int64_t waves : {1, 2, 3})
    EXPECT_EQ(count(ptxOf(served(1024, 1024, 1024, waves)), "setmaxnreg"), 0u);
}

TEST(ServiceWaves, NothingSpills) {
  if (!backend::findPtxas())
    GTEST_SKIP() << "no ptxas here";
  for (const char *kernel : {"attention", "attention_causal"})
    for (auto [d, rows] : {std::pair(64, 192), {64, 128}, {128, 128}})
      for (int64_t workgroups : {0, 132}) {
        Attended a = attended(4096, 4096, d, kernel);
        a.rows = rows;
        a.persistent = workgroups;
        CompileAttempt compiled = a.compile(rt::ImageKind::cubin);
        EXPECT_TRUE(compiled) << testing::PrintToString(a) << format(compiled.diagnostics);
      }
  for (int64_t columns : {128, 192, 256})
    for (int64_t workgroups : {0, 132}) {
      Product p = served(8192, 8192, 8192);
      p.blockM = 128;
      p.blockN = p.columns = columns;
      p.stagedWrites = true;
      p.persistent = workgroups;
      CompileAttempt compiled = compileImage(build(p), optionsOf(p), rt::ImageKind::cubin);
      EXPECT_TRUE(compiled) << testing::PrintToString(p) << format(compiled.diagnostics);
    }
}

//===-- What must not be missing ------------------------------------------------------------------------===//

/// One workgroup of a product that walks three tiles.
std::vector<emu::FindingKind> inProduct(Changes change) {
  Product p = served(64, 192, 320);
  p.persistent = 1;
  p.stagedWrites = true;
  CompileOptions options = optionsOf(p);
  options.keep = {Artefact::machine};
  Data a(p.type, {p.m, p.k}, 1), b(p.type, {p.n, p.k}, 2), c(p.sum(), {p.m, p.n}, 3);
  return findingsAfter(
      textOf(compileImage(build(p), options, rt::ImageKind::emulator)),
      {{a.bytes.data(), a.bytes.size()}, {b.bytes.data(), b.bytes.size()}, {c.bytes.data(), c.bytes.size()}}, {},
      change);
}

/// One workgroup of attention, with releases; it walks two tiles.
std::vector<emu::FindingKind> inAttention(Changes change) {
  Attended a{.sizes = {{"B", 1}, {"H", 1}, {"Q", 256}, {"KV", 1024}, {"D", 64}}, .persistent = 1};
  return findingsAfter(a, change);
}

TEST(ServiceWaves, NothingIsFoundWhereNothingIsMissing) {
  auto nothing = [](Roles &) { return 1; };
  EXPECT_TRUE(inProduct(nothing).empty());
  EXPECT_TRUE(inAttention(nothing).empty());
}

TEST(ServiceWaves, TheEmulatorMissesAwaits) {
  EXPECT_TRUE(has(inAttention([](Roles &roles) { return erase(roles.awaits()); }), emu::FindingKind::Race));
  EXPECT_FALSE(inAttention([](Roles &roles) { return flip(roles.awaits()); }).empty());
}

TEST(ServiceWaves, TheEmulatorMissesReleases) {
  auto releases = [](Roles &roles) {
    auto arrivals = roles.of<machine::MbarrierArriveOp>(Role::computing);
    EXPECT_TRUE(llvm::all_of(arrivals, [](machine::MbarrierArriveOp op) { return op.getExpect() == 0; }));
    return erase(arrivals);
  };
  EXPECT_TRUE(has(inAttention(releases), emu::FindingKind::Deadlock));
  // Phases that are complete when not all waves have come, or never.
  for (int more : {-1, 1})
    EXPECT_FALSE(inAttention([&](Roles &roles) {
                   int changed = 0;
                   roles.roles->getParentOfType<machine::KernelOp>().walk([&](machine::MbarrierInitOp op) {
                     if (op.getCount() == 1)
                       return;
                     op.setCount(static_cast<uint64_t>(static_cast<int64_t>(op.getCount()) + more));
                     ++changed;
                   });
                   return changed;
                 }).empty());
}

TEST(ServiceWaves, TheEmulatorMissesWaitsForBoxes) {
  EXPECT_FALSE(inAttention([](Roles &roles) { return erase(roles.boxWaits(Role::computing)); }).empty());
  for (auto in : {inProduct, inAttention})
    for (Role role : {Role::copying, Role::computing})
      EXPECT_TRUE(has(in([&](Roles &roles) { return flip(roles.boxWaits(role)); }), emu::FindingKind::Deadlock));
  // Whoever comes to a barrier with the wave that has boxes copied, which has waited for them, need not wait himself:
  // of a plain ring either half is enough, and nothing is not.
  EXPECT_FALSE(inProduct([](Roles &roles) {
                 return erase(roles.boxWaits(Role::copying)) + erase(roles.boxWaits(Role::computing));
               }).empty());
}

TEST(ServiceWaves, TheEmulatorMissesBytes) {
  for (auto in : {inProduct, inAttention})
    for (int more : {-16, 16})
      EXPECT_FALSE(in([&](Roles &roles) {
                     int changed = 0;
                     for (auto op : roles.of<machine::MbarrierArriveOp>(Role::copying))
                       if (op.getExpect() > 0) {
                         op.setExpect(static_cast<uint64_t>(static_cast<int64_t>(op.getExpect()) + more));
                         ++changed;
                       }
                     return changed;
                   }).empty());
}

/// Barriers that one wave more, or less, comes to than they count.
TEST(ServiceWaves, TheEmulatorMissesWavesAtBarriers) {
  for (auto in : {inProduct, inAttention}) {
    for (int more : {-1, 1})
      for (int roles : {1, 2, 3})
        EXPECT_FALSE(in([&](Roles &each) {
                       int changed = 0;
                       for (Role role : {Role::copying, Role::computing})
                         for (auto op : each.of<machine::BarrierOp>(role))
                           if (op.getWaves() && (roles >> static_cast<int>(role) & 1)) {
                             op.setWaves(static_cast<uint64_t>(static_cast<int64_t>(*op.getWaves()) + more));
                             ++changed;
                           }
                       return changed;
                     }).empty())
            << more << " " << roles;
    for (Role role : {Role::copying, Role::computing})
      EXPECT_FALSE(in([&](Roles &roles) { return erase(roles.of<machine::BarrierOp>(role)); }).empty());
  }
}

/// A wave beside whole groups has no product to take part in.
TEST(ServiceWaves, TheEmulatorMissesAGroup) {
  Product p{.directCopies = true};
  EXPECT_TRUE(has(findingsWith(p, "waves = 4 : i64", "waves = 5 : i64"), emu::FindingKind::Divergent));
}

//===-- What is refused ---------------------------------------------------------------------------------===//

CompileAttempt attempt(const Product &p, const char *target = "sm_90a") {
  CompileOptions options = optionsOf(p);
  options.target = target;
  return compileImage(build(p), options, rt::ImageKind::emulator);
}

TEST(ServiceWaves, NothingToCopy) {
  constexpr std::string_view nothing = "a kernel that copies no boxes has nothing for service waves to do";
  for (const char *schedule : {"none", "ring", "modulo"}) {
    Product p = served(64, 64, 128);
    p.directCopies = false;
    p.schedule = schedule;
    expectRefused(attempt(p), nothing, "Products.cpp");
  }
  // Rows that boxes cannot begin at, and targets that have none.
  expectRefused(attempt(served(64, 64, 77)), nothing, "Products.cpp");
  for (const char *target : {"gfx942", "gfx950"}) {
    Product p = served(64, 64, 128);
    p.named = false;
    p.schedule = "none";
    expectRefused(attempt(p, target), nothing, "Products.cpp");
  }
}

/// A product, of whose K so many tiles are summed as a memory says, or two.
Kernel countedProduct(bool byData) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"counted",
                {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 64),
                 WaveConstraint(M, 16), WaveConstraint(N, 64), HardwareConstraint{.mma = MmaType("F32_64x64x16_F16")}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto counts = kernel.memory("counts", {M}, global, i32);
  auto c = kernel.memory("c", {M, N}, global, f32);
  Expr tiles = byData ? index_of(read_at(counts, {0})) : Expr(2);
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0), [&](lang::Value acc) { return mma(read(a), read(b), acc); },
                       {.count = tiles}),
        c);
  return kernel;
}

TEST(ServiceWaves, NumbersFromData) {
  Product p = served(64, 64, 320);
  p.schedule = "none";
  expectRefused(compileImage(countedProduct(true), optionsOf(p), rt::ImageKind::emulator),
                "service waves do not know numbers that are read from data", "ServiceWavesTest.cpp");
  CompileAttempt known = compileImage(countedProduct(false), optionsOf(p), rt::ImageKind::emulator);
  EXPECT_TRUE(known) << format(known.diagnostics);
  // Those who asked for none have it.
  p.serviceWaves = 0;
  CompileAttempt alone = compileImage(countedProduct(true), optionsOf(p), rt::ImageKind::emulator);
  EXPECT_TRUE(alone) << format(alone.diagnostics);
}

/// Rows that data bound are no boxes.
TEST(ServiceWaves, AttentionOfLengthsFromData) {
  for (const char *kernel : {"attention_lengths", "attention_ragged", "attention_paged"}) {
    SCOPED_TRACE(kernel);
    Attended a = attended(128, 256, 64, kernel);
    a.mma = "";
    a.schedule = "none";
    a.keys = 32;
    CompileAttempt compiled = a.compile(rt::ImageKind::emulator);
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.diagnostics.back().id, DiagId::NotSupportedHere) << format(compiled.diagnostics);
    a.serviceWaves = 0;
    compiled = a.compile(rt::ImageKind::emulator);
    EXPECT_TRUE(compiled) << format(compiled.diagnostics);
  }
}

/// A product, of whose K only so much is summed.
Kernel endingProduct() {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"ending",
                {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 64),
                 WaveConstraint(M, 16), WaveConstraint(N, 64), HardwareConstraint{.mma = MmaType("F32_64x64x16_F16")}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto c = kernel.memory("c", {M, N}, global, f32);
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0),
                       [&](lang::Value acc) {
                         kernel.continue_while(sym::lt(iteration(K), 2));
                         return mma(read(a), read(b), acc);
                       }),
        c);
  return kernel;
}

TEST(ServiceWaves, LoopsThatEndEarlier) {
  Product p = served(64, 64, 320);
  p.schedule = "none";
  expectRefused(compileImage(endingProduct(), optionsOf(p), rt::ImageKind::emulator),
                "service waves do not know when a loop ends that data end", "ServiceWavesTest.cpp");
}

TEST(ServiceWaves, Clusters) {
  Product p = served(64, 64, 2048);
  p.cluster = 2;
  expectRefused(attempt(p), "service waves in a cluster", "Products.cpp");
}

TEST(ServiceWaves, BarriersOfSomeWaves) {
  pipe::GeometryResult shape = pipe::pingPongGroupGeometry({.bm = 256, .bn = 128, .bk = 64});
  ASSERT_TRUE(shape.ok()) << format(shape.errors);
  Case which{kernels::findKernel("gemm"), nullptr, findTarget("sm_90a")};
  which.variant = which.entry->findVariant("f16");
  which.tiles = {{"BLOCK_M", 256}, {"BLOCK_N", 128}, {"BLOCK_K", 64}, {"WAVES_M", 8}, {"WAVES_N", 1}};
  which.directCopies = true;
  CompileOptions options = which.options({{"M", 256}, {"N", 128}, {"K", 640}});
  options.schedule = pipe::pipeline(pipe::PingPong(shape.geometry));
  options.mma = "F32_64x64x16_F16";
  Kernel kernel = which.entry->build(*which.variant);
  EXPECT_TRUE(compileImage(kernel, options, rt::ImageKind::emulator));
  options.serviceWaves = 4;
  expectRefused(compileImage(kernel, options, rt::ImageKind::emulator), "a barrier of some waves beside service waves",
                "Gemm.cpp");
}

TEST(ServiceWaves, MoreWavesThanAWorkgroupHas) {
  Product p = served(512, 64, 128, 1);
  p.blockM = 512;
  expectRefused(attempt(p), "33 waves, expected at most 32", "Products.cpp");
  p.blockM = 448;
  EXPECT_TRUE(attempt(p));
}

/// `HardwareConstraint` says so as well as the option does, which has the last word.
TEST(ServiceWaves, TheKernelSaysSo) {
  Product p = served(128, 128, 256);
  auto machineOf = [&](int64_t said, std::optional<int64_t> asked) {
    CompileOptions options = optionsOf(p);
    options.serviceWaves = asked;
    options.keep = {Artefact::machine};
    return textOf(compileImage(build(p, {.n_service_waves = said}), options, rt::ImageKind::emulator));
  };
  // Places of the text differ in nothing: both are built by one function.
  EXPECT_EQ(machineOf(4, std::nullopt), machineOf(0, 4));
  EXPECT_EQ(machineOf(4, 0), machineOf(0, std::nullopt));
  EXPECT_EQ(machineOf(1, 4), machineOf(4, std::nullopt));
  EXPECT_NE(machineOf(4, std::nullopt), machineOf(0, std::nullopt));
}

TEST(ServiceWaves, FewerThanNone) {
  Product p = served(64, 64, 128);
  CompileOptions options = optionsOf(p);
  options.serviceWaves = std::nullopt;
  expectRefused(compileImage(build(p, {.n_service_waves = -1}), options, rt::ImageKind::emulator),
                "`n_service_waves` is -1, expected 0 or more", "ServiceWavesTest.cpp", DiagId::HardwareValue);
}

//===-- Registers and barriers --------------------------------------------------------------------------===//

/// The kernel of a product once its tiles are placed, for what is asked of it.
struct Scheduled {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit Scheduled(const Product &p) {
    CompileOptions options = optionsOf(p);
    EmittedKernel emitted = emitKernel(build(p), context, {options.subs, options.dynamic, options.target, {}});
    EXPECT_TRUE(emitted.module) << format(emitted.diagnostics);
    module = std::move(emitted.module);
    kernel().setDirectCopies(true);
    mlir::PassManager manager(&context);
    buildScheduledPipeline(manager, options.schedule);
    DiagnosticCollector collector(&context);
    EXPECT_TRUE(mlir::succeeded(manager.run(*module))) << format(collector.diagnostics());
  }
  wave::KernelOp kernel() { return *module->getOps<wave::KernelOp>().begin(); }
};

TEST(ServiceWaves, RegistersAreThoseThatThereAre) {
  const Target &target = *findTarget("sm_90a");
  int64_t simds = target.simdsPerComputeUnit;
  for (int64_t waves : {4, 8, 12, 16}) {
    Product p = served(64, 64, 128);
    p.blockM = 16 * waves;
    Scheduled scheduled(p);
    for (int64_t service : {1, 2, 3, 4}) {
      SCOPED_TRACE(std::to_string(waves) + " and " + std::to_string(service));
      scheduled.kernel().setServiceWaves(service);
      mlir::FailureOr<Geometry> geometry = Geometry::of(scheduled.kernel());
      ASSERT_TRUE(mlir::succeeded(geometry));
      EXPECT_EQ(geometry->allWaves(), waves + service);
      ServiceRegisters registers = registersWithService(*geometry);
      int64_t onSimd = (waves + service + simds - 1) / simds, all = registers.atEntry * onSimd;
      EXPECT_LE(all, target.registerFilePerSimdLane);
      for (int64_t each : {registers.atEntry, registers.computing, registers.copying}) {
        EXPECT_EQ(each % 8, 0);
        // What the instruction that exchanges them may say.
        EXPECT_GE(each, 24);
        EXPECT_LE(each, 256);
      }
      EXPECT_EQ(registers.change(), service == 4);
      EXPECT_LE(registers.computing * (waves / simds) + (service == 4 ? registers.copying : 0), all);
      EXPECT_GE(registers.computing, registers.atEntry);
      EXPECT_LE(registers.copying, registers.atEntry);
    }
    // Computing and copying, where a group serves.
    static const std::map<int64_t, std::pair<int64_t, int64_t>> want = {
        {4, {256, 240}}, {8, {232, 40}}, {12, {160, 32}}, {16, {112, 32}}};
    mlir::FailureOr<Geometry> geometry = Geometry::of(scheduled.kernel());
    ServiceRegisters registers = registersWithService(*geometry);
    EXPECT_EQ(std::pair(registers.computing, registers.copying), want.at(waves));
  }
}

/// A wave that serves looks at a release only when it awaits it: barriers tell nothing of that.
TEST(ServiceWaves, BarriersTellNothingOfReleases) {
  auto barriersFor = [](int64_t service, int releases, bool awaited) {
    Scheduled scheduled(served(64, 64, 320));
    wave::KernelOp kernel = scheduled.kernel();
    if (service > 0)
      kernel.setServiceWaves(service);
    else
      kernel.removeServiceWavesAttr();
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(&kernel.block());
    for (int i = 0; i < releases; ++i) {
      wave::ReleaseOp::create(builder, kernel.getLoc(), mlir::ArrayAttr());
      if (awaited)
        wave::AwaitOp::create(builder, kernel.getLoc(), 0, mlir::ArrayAttr());
      wave::BarrierOp::create(builder, kernel.getLoc(), mlir::ArrayAttr());
    }
    mlir::FailureOr<CopyRing> ring = CopyRing::of(kernel);
    EXPECT_TRUE(mlir::succeeded(ring));
    return mlir::succeeded(ring) ? ring->numReleases() : -1;
  };
  for (int releases : {1, 3, 4, 5}) {
    SCOPED_TRACE(releases);
    EXPECT_EQ(barriersFor(0, releases, false), 1);
    EXPECT_EQ(barriersFor(0, releases, true), 1);
    auto all = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(releases)));
    EXPECT_EQ(barriersFor(1, releases, false), all);
    EXPECT_EQ(barriersFor(4, releases, false), all);
    EXPECT_EQ(barriersFor(4, releases, true), 1);
  }
}

//===-- Bands -------------------------------------------------------------------------------------------===//

/// Every tile of random grids is taken once, whatever the bands and the number of workgroups are.
TEST(ServiceWaves, EveryTileIsTakenOnce) {
  std::mt19937 random(11);
  auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int trial = 0; trial < 120; ++trial) {
    auto [M, N, B] = symbols<"M N B">();
    int64_t sizes[] = {pick(1, 13), pick(1, 13), pick(1, 3)};
    Kernel kernel{"count", {WorkgroupConstraint(M, 1, 0), WorkgroupConstraint(N, 1, 1), WorkgroupConstraint(B, 1, 2)}};
    auto c = kernel.memory("c", {B, M, N}, global, i32);
    atomic_add(kernel.fill({B, M, N}, i32, 1), c);
    CompileOptions options;
    options.target = trial % 5 == 4 ? "gfx942" : "sm_90a";
    options.device = "emulator";
    options.cache = false;
    options.raster = trial == 0 ? 0 : pick(1, 16) * (pick(0, 1) == 0 ? 1 : -1);
    options.persistent = trial % 3 == 0 ? pick(1, 9) : 0;
    bool isDynamic = trial % 2 == 1;
    for (auto [symbol, size] : {std::pair(M, sizes[0]), {N, sizes[1]}, {B, sizes[2]}}) {
      if (isDynamic)
        options.dynamic.push_back(symbol);
      else
        options.subs.push_back({symbol, size});
    }
    SCOPED_TRACE(testing::PrintToString(std::tuple(sizes[0], sizes[1], sizes[2], options.raster, options.persistent)) +
                 (isDynamic ? " dynamic " : " ") + options.target);
    std::vector<int32_t> counts(static_cast<size_t>(sizes[0] * sizes[1] * sizes[2]), 0);
    compile(kernel, options)(rt::Tensor::dense(counts.data(), DType::i32, {sizes[2], sizes[0], sizes[1]}));
    EXPECT_TRUE(std::ranges::all_of(counts, [](int32_t each) { return each == 1; })) << testing::PrintToString(counts);
  }
}

//===-- After every pass --------------------------------------------------------------------------------===//

TEST(ServiceWaves, EveryPassIsRight) {
  for (int64_t waves : {1, 4})
    for (int64_t workgroups : {0, 2}) {
      Product p = served(130, 72, 200, waves);
      p.persistent = workgroups;
      p.stagedWrites = true;
      p.raster = -2;
      expectEveryPassRight(build(p), optionsOf(p), p.instruction());
      Attended a = attended(150, 200, 64, waves == 1 ? "attention" : "attention_causal");
      a.sizes["H"] = 1;
      CompileOptions options = a.which().options(a.sizes);
      options.serviceWaves = waves;
      options.persistent = workgroups;
      options.stagedWrites = true;
      expectEveryPassRight(a.which().entry->build(*a.which().variant), options, "F32_64xNx16_F16");
    }
}

} // namespace
} // namespace soliton::test
