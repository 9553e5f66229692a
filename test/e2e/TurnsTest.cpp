//===- TurnsTest.cpp - Teams of waves issue their products in turn --------------------------------------===//
//
// Products and attention whose teams wait for their turn in loops: right on the emulator, with all checks and waves in
// an adversarial order, whatever the sizes, the number of teams and the walk over tiles are; what the emulator finds
// where a wait or an arrival is taken away; and what is refused.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "soliton/ir/Diagnose.h"
#include "test/e2e/Products.h"
#include "test/e2e/Served.h"

namespace soliton::test {
namespace {

/// Two teams, of 64 rows each.
Product inTurns(int64_t m, int64_t n, int64_t k) {
  return {.m = m, .n = n, .k = k, .blockM = 128, .directCopies = true, .schedule = "ring", .turns = true};
}

Product walked(Product p, int64_t workgroups = 2, bool overlaps = false) {
  p.persistent = workgroups;
  p.stagedWrites = true;
  p.serviceWaves = 4;
  p.overlapTiles = overlaps;
  return p;
}

Attended inTurns(Attended a) {
  a.turns = true;
  return a;
}

Attended walked(Attended a, int64_t workgroups = 2, bool overlaps = false) {
  a.persistent = workgroups;
  a.overlapTiles = overlaps;
  return a;
}

//===-- Right -------------------------------------------------------------------------------------------===//

TEST(Turns, Products) {
  for (int64_t waves : {0, 1, 4}) {
    Product p = inTurns(256, 136, 640);
    p.serviceWaves = waves;
    check(p);
    p.blockM = 192;
    check(p);
  }
}

TEST(Turns, ProductsThatAreWalked) {
  for (bool overlaps : {false, true})
    for (int64_t workgroups : {1, 2, 5}) {
      check(walked(inTurns(256, 192, 640), workgroups, overlaps));
      check(walked(inTurns(130, 72, 1000), workgroups, overlaps));
    }
}

/// Some of them have no loop left, and no turns.
TEST(Turns, ProductsThatFillNoTile) {
  for (auto [m, n, k] : {std::tuple(1, 8, 8), {1, 1, 64}, {65, 136, 200}, {200, 200, 1000}, {127, 131, 80}})
    for (bool overlaps : {false, true})
      check(walked(inTurns(m, n, k), 2, overlaps));
}

TEST(Turns, SizesThatALaunchSays) {
  Product p = walked(inTurns(256, 128, 640), 2, /*overlaps=*/true);
  p.dynamic = {"M", "N"};
  p.raster = -2;
  check(p, {inTurns(1, 1, 640), inTurns(0, 64, 640), inTurns(64, 0, 640), inTurns(131, 257, 640)});
}

TEST(Turns, OtherSchedules) {
  for (const char *schedule : {"none", "prefetch", "modulo"}) {
    Product p = inTurns(256, 136, 640);
    p.schedule = schedule;
    check(p);
  }
}

/// Sums that begin anew with every tile of K, by two and three teams.
TEST(Turns, SumsThatBeginAnew) {
  for (auto [rows, columns] : {std::pair(128, 192), {192, 128}}) {
    Product p = walked(inTurns(400, 400, 1024), 2, /*overlaps=*/true);
    p.blockM = rows;
    p.blockN = p.columns = columns;
    p.blockK = 128;
    p.type = DType::f8e4m3fn;
    check(p);
  }
}

TEST(Turns, TilesInCommon) {
  Product p = inTurns(512, 192, 640);
  p.perCluster = {2};
  for (int64_t waves : {0, 4}) {
    p.serviceWaves = waves;
    check(p);
  }
}

/// So many keys that loops are left.
TEST(Turns, Attention) {
  for (const char *kernel : {"attention", "attention_causal", "attention_window"})
    for (auto [d, rows, waves] : {std::tuple(64, 192, 4), {64, 128, 0}, {128, 128, 1}, {128, 128, 4}}) {
      Attended a = inTurns(attended(200, 1000, d, kernel));
      a.sizes["H"] = 1;
      a.rows = rows;
      a.serviceWaves = waves;
      expectRight(a);
    }
}

TEST(Turns, AttentionThatIsWalked) {
  for (const char *kernel : {"attention", "attention_causal", "attention_window"})
    for (auto [d, rows] : {std::pair(64, 192), {128, 128}})
      for (bool overlaps : {false, true}) {
        Attended a = walked(inTurns(attended(390, 910, d, kernel)), 2, overlaps);
        a.rows = rows;
        a.sizes["H"] = 1;
        expectRight(a);
      }
}

/// One row, one key, and fewer of either than a tile has: tiles whose loops have no trip, too.
TEST(Turns, AttentionOfFewRowsAndKeys) {
  for (const char *kernel : {"attention", "attention_causal"})
    for (auto [q, kv] : {std::pair(1, 1), {1, 700}, {77, 1}, {400, 300}})
      for (bool overlaps : {false, true}) {
        Attended a = walked(inTurns(attended(q, kv, 64, kernel)), 2, overlaps);
        a.rows = 192;
        a.sizes["H"] = 3;
        a.dynamic = {"Q", "KV"};
        expectRight(a);
      }
}

TEST(Turns, AttentionOfOtherSchedules) {
  for (const char *schedule : {"none", "prefetch", "modulo"}) {
    Attended a = inTurns(attended(300, 400, 64));
    a.schedule = schedule;
    a.serviceWaves = 0;
    expectRight(a);
  }
}

TEST(Turns, EveryPassIsRight) {
  Product p = walked(inTurns(130, 72, 640));
  expectEveryPassRight(build(p), optionsOf(p), p.instruction());
  Attended a = walked(inTurns(attended(300, 400, 64, "attention_causal")), 2, /*overlaps=*/true);
  expectEveryPassRight(a.which().entry->build(*a.which().variant), a.options(), a.mma);
}

//===-- Code --------------------------------------------------------------------------------------------===//

/// One wait and one arrival in each loop, for both products of a trip; one arrival in front of all of them, one wait
/// behind. Numbers begin behind those of teams that have their results leave.
TEST(Turns, BothProductsOfATripAreOneTurn) {
  for (auto [kernel, loops] : {std::pair("attention", 1u), {"attention_causal", 2u}})
    for (bool overlaps : {false, true}) {
      Attended a = walked(inTurns(attended(4096, 4096, 64, kernel)), 132, overlaps);
      a.rows = 192;
      std::string machine = textOf(a.compile(rt::ImageKind::emulator, {Artefact::machine}));
      std::string id = overlaps ? "id = 4 : i64, waves = 8 : i64" : "id = 1 : i64, waves = 8 : i64";
      auto isThere = [&](size_t times, const std::string &text) {
        EXPECT_EQ(count(machine, text), times) << text << "\n" << testing::PrintToString(a);
      };
      for (const char *arrives : {"", "arrives, "}) {
        std::string said = std::string(" {") + arrives + id + "}";
        isThere(loops + 1, said);
        isThere(1, "machine.barrier" + said);
      }
    }
}

TEST(Turns, NothingSpills) {
  if (!backend::findPtxas())
    GTEST_SKIP() << "no ptxas here";
  for (const char *kernel : {"attention", "attention_causal"})
    for (auto [d, rows] : {std::pair(64, 192), {128, 128}})
      for (bool overlaps : {false, true}) {
        Attended a = walked(inTurns(attended(4096, 4096, d, kernel)), 132, overlaps);
        a.rows = rows;
        CompileAttempt compiled = a.compile(rt::ImageKind::cubin);
        EXPECT_TRUE(compiled) << testing::PrintToString(a) << format(compiled.diagnostics);
      }
  for (int64_t columns : {128, 192, 256}) {
    Product p = walked(inTurns(8192, 8192, 8192), 132);
    p.blockN = p.columns = columns;
    CompileAttempt compiled = compileImage(build(p), optionsOf(p), rt::ImageKind::cubin);
    EXPECT_TRUE(compiled) << testing::PrintToString(p) << format(compiled.diagnostics);
  }
}

//===-- What must not be missing ------------------------------------------------------------------------===//

/// One workgroup of three teams that walks three tiles, in order or drawn.
std::vector<emu::FindingKind> inAttention(const char *kernel, bool overlaps, Changes change) {
  Attended a = walked(inTurns(attended(576, 1152, 64, kernel)), 1, overlaps);
  a.sizes["H"] = 1;
  a.rows = 192;
  return findingsAfter(a, change);
}

/// Found in each of them, whether tiles overlap or not.
void expectFound(emu::FindingKind kind, Changes change) {
  for (const char *kernel : {"attention", "attention_causal"})
    for (bool overlaps : {false, true})
      EXPECT_TRUE(has(inAttention(kernel, overlaps, change), kind)) << kernel << (overlaps ? ", overlapping" : "");
}

/// Barriers that hand turns on, in loops or beside them.
std::vector<machine::BarrierOp> turnsOf(Roles &roles, bool arrives, bool inLoop) {
  std::vector<machine::BarrierOp> barriers = roles.of<machine::BarrierOp>(Role::computing);
  std::erase_if(barriers, [&](machine::BarrierOp barrier) {
    return barrier.getWaves() != 8 || barrier.getArrives() != arrives || bool(barrier.getPlus()) != inLoop;
  });
  return barriers;
}

TEST(Turns, NothingIsFoundWhereNothingIsMissing) {
  for (const char *kernel : {"attention", "attention_causal"})
    for (bool overlaps : {false, true})
      EXPECT_TRUE(inAttention(kernel, overlaps, [](Roles &) { return 1; }).empty()) << kernel;
}

TEST(Turns, TheEmulatorMissesArrivals) {
  for (bool inLoop : {false, true})
    expectFound(emu::FindingKind::Deadlock,
                [&](Roles &roles) { return erase(turnsOf(roles, /*arrives=*/true, inLoop)); });
}

/// Those of one of several loops: turns that get lost between them.
TEST(Turns, TheEmulatorMissesArrivalsOfALoop) {
  for (bool overlaps : {false, true})
    for (bool isFirst : {false, true})
      EXPECT_TRUE(has(inAttention("attention_causal", overlaps,
                                  [&](Roles &roles) {
                                    auto arrivals = turnsOf(roles, /*arrives=*/true, /*inLoop=*/true);
                                    return erase(std::vector{isFirst ? arrivals.front() : arrivals.back()});
                                  }),
                      emu::FindingKind::Deadlock));
}

/// Arrivals at a barrier at which nobody waits.
TEST(Turns, TheEmulatorMissesWaits) {
  expectFound(emu::FindingKind::Divergent,
              [&](Roles &roles) { return erase(turnsOf(roles, /*arrives=*/false, /*inLoop=*/true)); });
}

//===-- What is refused ---------------------------------------------------------------------------------===//

CompileAttempt attempt(const Product &p) {
  return compileImage(build(p), optionsOf(p), rt::ImageKind::emulator);
}

TEST(Turns, OneTeam) {
  Product p = inTurns(64, 64, 640);
  p.blockM = 64;
  expectRefused(attempt(p), "turns of 4 waves that issue matrix instructions together, expected several such teams",
                "Products.cpp");
}

/// Not refused: whether a loop is left depends on the sizes.
TEST(Turns, NoLoop) {
  auto said = [](int64_t k) {
    CompileAttempt compiled = attempt(inTurns(128, 128, k));
    return compiled ? format(compiled.result->warnings) : format(compiled.diagnostics);
  };
  const char *remark = "no loop is left around these products, at which 2 teams would take turns [no-turns]";
  EXPECT_NE(said(64).find(remark), std::string::npos) << said(64);
  EXPECT_EQ(said(1024).find("no-turns"), std::string::npos) << said(1024);
}

TEST(Turns, NoTeams) {
  Case copies{kernels::findKernel("copy"), nullptr, findTarget("sm_90a")};
  copies.variant = copies.entry->findVariant("f32");
  CompileOptions options = copies.options({{"M", 64}, {"N", 64}}, {});
  options.turns = true;
  expectRefused(compileImage(copies.entry->build(*copies.variant), options, rt::ImageKind::emulator),
                "turns of a kernel in which no waves issue matrix instructions together", "Elementwise.cpp");
}

} // namespace
} // namespace soliton::test
