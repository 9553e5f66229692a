//===- OverlapTilesTest.cpp - The next tile begins while waves are at the last one ----------------------===//
//
// Products and attention whose workgroups walk tiles without meeting between them: right on the emulator, with all
// checks and waves in an adversarial order, whatever the sizes, the number of tiles and of teams are; what the emulator
// finds where something is taken away; and what is refused.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "soliton/ir/Diagnose.h"
#include "test/e2e/Products.h"
#include "test/e2e/Served.h"

namespace soliton::test {
namespace {

Product overlapping(int64_t m, int64_t n, int64_t k, int64_t workgroups = 2) {
  return {.m = m,
          .n = n,
          .k = k,
          .directCopies = true,
          .schedule = "ring",
          .persistent = workgroups,
          .stagedWrites = true,
          .serviceWaves = 4,
          .overlapTiles = true};
}

/// Two teams, of 64 rows each.
Product ofTeams(Product p) {
  p.blockM = 128;
  return p;
}

Attended overlapping(Attended a, int64_t workgroups = 2) {
  a.persistent = workgroups;
  a.overlapTiles = true;
  return a;
}

//===-- Right -------------------------------------------------------------------------------------------===//

TEST(OverlapTiles, Products) {
  for (int64_t workgroups : {1, 2, 5})
    for (int64_t waves : {1, 4})
      for (bool staged : {false, true}) {
        Product p = ofTeams(overlapping(256, 192, 320, workgroups));
        p.serviceWaves = waves;
        p.stagedWrites = staged;
        check(p);
      }
}

TEST(OverlapTiles, ProductsThatFillNoTile) {
  for (auto [m, n, k] :
       {std::tuple(130, 72, 200), {1, 8, 8}, {1, 1, 64}, {65, 136, 72}, {200, 200, 1000}, {64, 64, 8}, {127, 131, 80}})
    for (int64_t workgroups : {1, 2}) {
      check(overlapping(m, n, k, workgroups));
      check(ofTeams(overlapping(m, n, k, workgroups)));
    }
}

TEST(OverlapTiles, SizesThatALaunchSays) {
  Product p = ofTeams(overlapping(256, 128, 256));
  p.dynamic = {"M", "N"};
  p.raster = -2;
  check(p, {overlapping(1, 1, 256), overlapping(0, 64, 256), overlapping(64, 0, 256), overlapping(131, 257, 256)});
}

TEST(OverlapTiles, SmallerTypesAndBands) {
  for (DType type : {DType::bf16, DType::f8e4m3fn, DType::i8})
    for (int64_t raster : {0, 2, -1}) {
      Product p = ofTeams(overlapping(300, 144, 384, 2));
      p.type = type;
      p.raster = raster;
      check(p);
    }
}

/// Sums that begin anew with every tile of K, by two and three teams.
TEST(OverlapTiles, SumsThatBeginAnew) {
  for (auto [rows, columns] : {std::pair(128, 192), {192, 128}}) {
    Product p = overlapping(400, 400, 512, 2);
    p.blockM = rows;
    p.blockN = p.columns = columns;
    p.blockK = 128;
    p.type = DType::f8e4m3fn;
    check(p);
  }
}

/// Teams that lie along the columns leave in boxes of all of them.
TEST(OverlapTiles, TeamsAlongColumns) {
  Product p = overlapping(130, 256, 320, 2);
  p.blockN = 128;
  p.wavesN = 2;
  check(p);
}

TEST(OverlapTiles, OtherSchedules) {
  for (const char *schedule : {"prefetch", "modulo"}) {
    Product p = ofTeams(overlapping(256, 136, 320));
    p.schedule = schedule;
    check(p);
  }
}

TEST(OverlapTiles, Attention) {
  for (const char *kernel : {"attention", "attention_causal"})
    for (auto [d, rows] : {std::pair(64, 192), {64, 128}, {128, 128}})
      for (int64_t workgroups : {1, 2, 5}) {
        Attended a = overlapping(attended(400, 520, d, kernel), workgroups);
        a.rows = rows;
        a.serviceWaves = workgroups == 2 ? 1 : 4;
        expectRight(a);
      }
}

TEST(OverlapTiles, VariantsOfAttention) {
  for (const char *kernel : {"attention_gqa", "attention_lse", "attention_window", "attention_causal_lse"})
    for (int64_t raster : {0, -2}) {
      Attended a = overlapping(attended(200, 330, 64, kernel));
      a.raster = raster;
      expectRight(a);
    }
}

/// One row, one key, and fewer of either than a tile has: tiles whose loops have no trip, too.
TEST(OverlapTiles, AttentionOfFewRowsAndKeys) {
  for (const char *kernel : {"attention", "attention_causal"})
    for (auto [q, kv] : {std::pair(1, 1), {1, 700}, {77, 1}, {129, 129}, {640, 300}})
      for (bool isSaid : {true, false}) {
        Attended a = overlapping(attended(q, kv, 64, kernel));
        a.rows = 192;
        a.sizes["H"] = 5;
        if (isSaid)
          a.dynamic = {"Q", "KV"};
        expectRight(a);
      }
}

/// More small tiles would fit than barriers in memory can tell apart.
TEST(OverlapTiles, RingsOfManySmallTiles) {
  for (const char *kernel : {"attention", "attention_causal"}) {
    Attended a = overlapping(attended(200, 704, 64, kernel));
    a.keys = 64;
    expectRight(a);
    a.overlapTiles = false;
    expectRight(a);
  }
}

/// A loop whose trips a workgroup's place decides, and whose products nobody has waited for.
TEST(OverlapTiles, ProductsInBranches) {
  Attended a = overlapping(attended(400, 8, 64, "attention_window"), 5);
  a.rows = a.keys = 64;
  expectRight(a);
}

TEST(OverlapTiles, EveryPassIsRight) {
  Product p = ofTeams(overlapping(130, 72, 200));
  expectEveryPassRight(build(p), optionsOf(p), p.instruction());
  for (const char *kernel : {"attention", "attention_causal"}) {
    Attended a = overlapping(attended(300, 200, 64, kernel));
    expectEveryPassRight(a.which().entry->build(*a.which().variant), a.options(), a.mma);
  }
}

//===-- Code --------------------------------------------------------------------------------------------===//

std::string machineOf(const Product &p) {
  CompileOptions options = optionsOf(p);
  options.keep = {Artefact::machine};
  return textOf(compileImage(build(p), options, rt::ImageKind::emulator));
}

/// All waves meet once, before the first tile; each team meets in front of its results and behind them, and has boxes
/// of its own rows leave.
TEST(OverlapTiles, NobodyWaitsForAllWavesBetweenTiles) {
  Product p = ofTeams(overlapping(256, 256, 640));
  std::string machine = machineOf(p);
  EXPECT_EQ(count(machine, "machine.barrier {id = 1 : i64, waves = 4 : i64}"), 2u);
  EXPECT_EQ(count(machine, "machine.barrier {id = 2 : i64, waves = 4 : i64}"), 2u);
  // The first one, in the program of those that compute, those that copy, and those that are there for their registers.
  EXPECT_EQ(count(machine, "machine.barrier\n") + count(machine, "machine.barrier "), 3u + 4u);
  EXPECT_EQ(count(machine, "box = [32, 64]"), 1u);
  p.overlapTiles = false;
  machine = machineOf(p);
  EXPECT_EQ(count(machine, "waves = 4 : i64}"), 0u);
  EXPECT_EQ(count(machine, "box = [32, 128]"), 1u);
}

TEST(OverlapTiles, NothingSpills) {
  if (!backend::findPtxas())
    GTEST_SKIP() << "no ptxas here";
  for (const char *kernel : {"attention", "attention_causal"})
    for (auto [d, rows] : {std::pair(64, 192), {128, 128}}) {
      Attended a = overlapping(attended(4096, 4096, d, kernel), 132);
      a.rows = rows;
      CompileAttempt compiled = a.compile(rt::ImageKind::cubin);
      EXPECT_TRUE(compiled) << testing::PrintToString(a) << format(compiled.diagnostics);
    }
  for (int64_t columns : {128, 192, 256}) {
    Product p = ofTeams(overlapping(8192, 8192, 8192, 132));
    p.blockN = p.columns = columns;
    CompileAttempt compiled = compileImage(build(p), optionsOf(p), rt::ImageKind::cubin);
    EXPECT_TRUE(compiled) << testing::PrintToString(p) << format(compiled.diagnostics);
  }
}

//===-- What must not be missing ------------------------------------------------------------------------===//

/// One workgroup of three teams that walks three tiles, in order or drawn.
std::vector<emu::FindingKind> inAttention(const char *kernel, Changes change) {
  Attended a = overlapping(attended(576, 576, 64, kernel), 1);
  a.sizes["H"] = 1;
  a.rows = 192;
  return findingsAfter(a, change);
}

std::vector<emu::FindingKind> inBoth(Changes change) {
  std::vector<emu::FindingKind> all = inAttention("attention", change), drawn = inAttention("attention_causal", change);
  // Neither of them may do without.
  return all.empty() || drawn.empty() ? std::vector<emu::FindingKind>() : all;
}

TEST(OverlapTiles, NothingIsFoundWhereNothingIsMissing) {
  for (const char *kernel : {"attention", "attention_causal"})
    EXPECT_TRUE(inAttention(kernel, [](Roles &) { return 1; }).empty()) << kernel;
}

TEST(OverlapTiles, TheEmulatorMissesBarriersOfTeams) {
  // The one in front of the results, the one behind them.
  for (bool isFirst : {true, false})
    EXPECT_FALSE(inBoth([&](Roles &roles) {
                   std::vector<machine::BarrierOp> barriers = roles.of<machine::BarrierOp>(Role::computing);
                   std::map<uint64_t, std::vector<machine::BarrierOp>> byTeam;
                   for (machine::BarrierOp barrier : barriers)
                     if (barrier.getId() > 0)
                       byTeam[barrier.getId()].push_back(barrier);
                   int erased = 0;
                   for (auto &[id, each] : byTeam) {
                     EXPECT_EQ(each.size(), 2u);
                     (isFirst ? each.front() : each.back()).erase();
                     ++erased;
                   }
                   return erased;
                 }).empty());
}

TEST(OverlapTiles, TheEmulatorMissesWaitsForResults) {
  EXPECT_FALSE(inBoth([](Roles &roles) {
                 std::vector<machine::WaitOp> waits = roles.of<machine::WaitOp>(Role::computing);
                 std::erase_if(waits, [](machine::WaitOp wait) { return wait.getCounter() != machine::Counter::bulk; });
                 return erase(waits);
               }).empty());
}

TEST(OverlapTiles, TheEmulatorMissesFences) {
  EXPECT_FALSE(inBoth([](Roles &roles) { return erase(roles.of<machine::FenceOp>(Role::computing)); }).empty());
}

TEST(OverlapTiles, TheEmulatorMissesAwaits) {
  EXPECT_FALSE(inBoth([](Roles &roles) { return erase(roles.awaits()); }).empty());
  EXPECT_FALSE(inBoth([](Roles &roles) { return flip(roles.awaits()); }).empty());
}

/// The await in front of the next tile's first copies, and the one in front of the tiles that the last product reads.
TEST(OverlapTiles, TheEmulatorMissesTheAwaitsBetweenTiles) {
  for (const char *kernel : {"attention", "attention_causal"})
    EXPECT_FALSE(inAttention(kernel,
                             [](Roles &roles) {
                               std::vector<machine::MbarrierWaitOp> between = roles.awaits();
                               std::erase_if(between, [](machine::MbarrierWaitOp wait) {
                                 int loops = 0;
                                 for (mlir::Operation *op = wait; (op = op->getParentOp());)
                                   loops += llvm::isa<mlir::scf::ForOp, mlir::scf::WhileOp>(op);
                                 return loops != 1;
                               });
                               return erase(between);
                             })
                     .empty())
        << kernel;
}

TEST(OverlapTiles, TheEmulatorMissesReleases) {
  EXPECT_FALSE(
      inBoth([](Roles &roles) { return erase(roles.of<machine::MbarrierArriveOp>(Role::computing)); }).empty());
}

TEST(OverlapTiles, TheEmulatorMissesWaitsForBoxes) {
  EXPECT_FALSE(inBoth([](Roles &roles) { return erase(roles.boxWaits(Role::computing)); }).empty());
  EXPECT_FALSE(inBoth([](Roles &roles) { return flip(roles.boxWaits(Role::computing)); }).empty());
}

/// Who learns nothing of the end waits for ever.
TEST(OverlapTiles, TheEmulatorMissesTheGroupBehindTheLastTile) {
  EXPECT_TRUE(has(inAttention("attention_causal",
                              [](Roles &roles) {
                                std::vector<machine::MbarrierArriveOp> empty;
                                for (auto op : roles.of<machine::MbarrierArriveOp>(Role::copying))
                                  if (op.getExpect() == 0 && !op->getParentOfType<mlir::scf::ForOp>())
                                    empty.push_back(op);
                                return erase(empty);
                              }),
                  emu::FindingKind::Deadlock));
}

//===-- What is refused ---------------------------------------------------------------------------------===//

CompileAttempt attempt(const Product &p) {
  return compileImage(build(p), optionsOf(p), rt::ImageKind::emulator);
}

TEST(OverlapTiles, OneTileEach) {
  expectRefused(attempt(overlapping(64, 64, 128, 0)),
                "tiles that overlap in a kernel whose workgroups have one tile each, expected `persistent` ones",
                "Products.cpp");
}

TEST(OverlapTiles, NoServiceWaves) {
  Product p = overlapping(64, 64, 128);
  p.serviceWaves = 0;
  expectRefused(attempt(p),
                "tiles that overlap in a kernel in which no wave serves the others, expected `serviceWaves`",
                "Products.cpp");
}

TEST(OverlapTiles, Clusters) {
  Product p = overlapping(128, 128, 128);
  p.perCluster = {2};
  expectRefused(attempt(p), "tiles that overlap in workgroups of a cluster", "Products.cpp");
}

TEST(OverlapTiles, NoBoxes) {
  constexpr std::string_view noCopies = "tiles that overlap in a kernel that does not begin with copies of boxes";
  expectRefused(attempt(overlapping(64, 64, 77)), noCopies, "Products.cpp");
  Product p = overlapping(64, 64, 128);
  p.schedule = "none";
  expectRefused(attempt(p), noCopies, "Products.cpp");
}

} // namespace
} // namespace soliton::test
