//===- BarrierTest.cpp - Barriers count arrivals, wherever the waves stand ---===//
//
// Waves may wait at different barriers of the program: what counts is how many have arrived. That is what lets one
// group of waves run a barrier behind another; what is an error is a wave that nobody will ever join.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/TestSupport.h"

using namespace soliton;
using namespace soliton::emu;

namespace {

constexpr std::array<uint64_t, 6> kSeeds{0, 1, 2, 3, 77, 1234};

struct Stagger {
  bool before = true; ///< waves 2 and 3 execute one barrier more before the loop
  bool after = true;  ///< waves 0 and 1 make up for it after the loop
  uint32_t apart = 2; ///< barriers between a write and the reads of it, and back
  bool wait = true;   ///< for the wave's own accesses before a barrier
  int64_t rounds = 5;
};

/// Four waves; in each round each writes its part of the tile and then reads its neighbours'.
Program exchange(Stagger options) {
  Builder b({.waveSize = 64, .waves = 4, .sharedBytes = 1024});
  uint32_t tile = b.shared("tile", 0, 1024);
  Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4)), wave = b.id(IdKind::Wave),
        own = b.mul(wave, b.constant(DType::i32, 256));
  auto onlyFor = [&](bool present, CmpOp which, const char *name) {
    if (!present)
      return;
    b.beginIf(b.cmp(which, wave, b.constant(DType::i32, 2)));
    b.at({"k.cpp", 1, 1}, name);
    b.barrier();
    b.endIf();
  };
  auto meet = [&] {
    if (options.wait)
      b.wait(CounterKind::shared, 0);
    b.at({"k.cpp", 3, 1}, "meet");
    for (uint32_t i = 0; i < options.apart; ++i)
      b.barrier();
  };
  onlyFor(options.before, CmpOp::Uge, "before");
  Loop loop = b.beginFor(b.constant(DType::i32, 0), b.constant(DType::i32, options.rounds), b.constant(DType::i32, 1));
  b.at({"k.cpp", 2, 1}, "write");
  b.store(lane, {.region = tile, .lane = at, .uniform = own});
  meet();
  b.at({"k.cpp", 4, 1}, "read");
  for (uint32_t part = 0; part < 4; ++part)
    b.load(DType::i32, 1, {.region = tile, .lane = at, .immediate = part * 256});
  meet();
  b.endFor(loop);
  onlyFor(options.after, CmpOp::Ult, "after");
  return b.finish();
}

Result launch(const Program &program, uint64_t seed, bool checks = true) {
  return run(program, {.grid = {2, 1, 1}, .seed = seed, .checks = checks, .adversarial = true});
}

TEST(Barriers, WavesMayStandAtDifferentOnes) {
  for (uint64_t seed : kSeeds)
    for (int64_t rounds : {0, 1, 5}) {
      Result r = launch(exchange({.rounds = rounds}), seed);
      EXPECT_TRUE(r.ok()) << format(r);
    }
}

TEST(Barriers, WithoutStaggerOneIsEnough) {
  for (uint64_t seed : kSeeds)
    EXPECT_TRUE(launch(exchange({.before = false, .after = false, .apart = 1}), seed).ok());
}

TEST(Barriers, OneIsTooFewForAStaggeredGroup) {
  // The group behind writes while the one ahead reads: the join at a release orders only what came before it.
  for (uint64_t seed : kSeeds) {
    Result r = launch(exchange({.apart = 1}), seed);
    ASSERT_FALSE(r.findings.empty());
    for (FindingKind kind : kindsOf(r))
      EXPECT_TRUE(kind == FindingKind::Race || kind == FindingKind::MissingBarrier) << format(r);
  }
}

TEST(Barriers, AStaggeredBarrierDoesNotReplaceTheWait) {
  for (uint64_t seed : kSeeds) {
    Result r = launch(exchange({.wait = false}), seed);
    ASSERT_FALSE(r.findings.empty());
    for (FindingKind kind : kindsOf(r))
      EXPECT_EQ(kind, FindingKind::MissingWait) << format(r);
  }
}

TEST(Barriers, AGroupLeftBehindIsADeadlock) {
  for (uint64_t seed : kSeeds)
    for (bool checks : {true, false}) {
      Result behind = launch(exchange({.after = false}), seed, checks);
      ASSERT_TRUE(finds(behind, FindingKind::Deadlock)) << format(behind);
      EXPECT_EQ(behind.findings.back().message,
                "no wave can go on: wave 0 has ended, wave 1 has ended, wave 2 waits at "
                "`meet`, wave 3 waits at `meet`");
      Result ahead = launch(exchange({.before = false}), seed, checks);
      ASSERT_TRUE(finds(ahead, FindingKind::Deadlock)) << format(ahead);
      EXPECT_EQ(ahead.findings.back().message, "no wave can go on: wave 0 waits at `after`, wave 1 waits at `after`, "
                                               "wave 2 has ended, wave 3 has ended");
    }
}

TEST(Barriers, ADeadlockOfRolesSaysWhoWaitsForWhat) {
  // Wave 0 waits for a phase that wave 1 would complete, which waits at a barrier of two for wave 0.
  Builder b({.waveSize = 32, .waves = 4, .sharedBytes = 8});
  At full{.region = b.shared("full", 0, 8)};
  Value wave = b.id(IdKind::Wave), zero = b.constant(DType::i32, 0);
  auto is = [&](int64_t number) { return b.cmp(CmpOp::Eq, wave, b.constant(DType::i32, number)); };
  b.beginIf(is(0));
  b.mbarrierInit(full, 2);
  b.endIf();
  b.barrier();
  b.beginIf(is(0));
  b.at({"k.cpp", 1, 1}, "consume");
  b.mbarrierWait(full, zero);
  b.endIf();
  b.beginIf(is(1));
  b.at({"k.cpp", 2, 1}, "order");
  b.barrier(3, 2);
  b.mbarrierArrive(full);
  b.endIf();
  Program program = b.finish();
  for (uint64_t seed : kSeeds) {
    Result r = launch(program, seed);
    ASSERT_TRUE(finds(r, FindingKind::Deadlock));
    EXPECT_EQ(r.findings[0].message, "no wave can go on: wave 0 waits at `consume`, whose mbarrier at shared byte 0 "
                                     "lacks 2 arrivals and 0 bytes, wave 1 waits at `order`, number 3, where 1 of 2 "
                                     "waves have come, wave 2 has ended, wave 3 has ended");
    EXPECT_EQ(r.findings[0].origin.what, "consume");
    EXPECT_EQ(r.findings[0].otherOrigin.what, "order");
  }
}

enum class Dropped { nothing, wait, arrival };

/// Three waves write one word in turn, trip after trip. In wave 1 something may be missing, of all trips but the first.
Program inTurns(Dropped dropped) {
  Builder b({.waveSize = 32, .waves = 3, .sharedBytes = 4, .rules = {.barrierCompletesShared = true}});
  At word{.region = b.shared("word", 0, 4)};
  Value wave = b.id(IdKind::Wave);
  auto number = [&](int64_t value) { return b.constant(DType::i32, value); };
  auto is = [&](Value value, int64_t other) { return b.cmp(CmpOp::Eq, value, number(other)); };
  Value next = b.select(is(wave, 2), number(0), b.add(wave, number(1)));
  b.at({"k.cpp", 1, 1}, "begin");
  b.beginIf(is(wave, 2));
  b.barrier(4, 2, Value(), /*arrives=*/true);
  b.endIf();
  Loop loop = b.beginFor(number(0), number(4), number(1));
  auto unless = [&](bool isMissing, auto emit) {
    if (isMissing)
      b.beginIf(b.binary(BinaryOp::Or, b.cmp(CmpOp::Ne, wave, number(1)), is(loop.induction, 0)));
    emit();
    if (isMissing)
      b.endIf();
  };
  b.at({"k.cpp", 2, 1}, "wait");
  unless(dropped == Dropped::wait, [&] { b.barrier(4, 2, wave, /*arrives=*/false); });
  b.at({"k.cpp", 3, 1}, "write");
  b.beginIf(is(b.id(IdKind::Lane), 0));
  b.store(b.id(IdKind::Wave), word);
  b.endIf();
  b.at({"k.cpp", 4, 1}, "pass");
  unless(dropped == Dropped::arrival, [&] { b.barrier(4, 2, next, /*arrives=*/true); });
  b.endFor(loop);
  return b.finish();
}

TEST(Barriers, WhoArrivesHandsOnWhatItKnows) {
  Program program = inTurns(Dropped::nothing);
  for (uint64_t seed : kSeeds) {
    Result r = launch(program, seed);
    EXPECT_TRUE(r.ok()) << format(r);
  }
}

TEST(Barriers, ATurnThatIsNotHandedOnIsADeadlock) {
  Program program = inTurns(Dropped::arrival);
  for (uint64_t seed : kSeeds) {
    Result r = launch(program, seed);
    ASSERT_TRUE(finds(r, FindingKind::Deadlock)) << format(r);
    EXPECT_EQ(r.findings[0].message,
              "no wave can go on: wave 0 waits at `wait`, number 4, where 1 of 2 waves have come, wave 1 waits at "
              "`wait`, number 5, where 1 of 2 waves have come, wave 2 waits at `wait`, number 6, where 1 of 2 waves "
              "have come");
  }
}

TEST(Barriers, AnArrivalThatNobodyWaitsForIsFound) {
  Program program = inTurns(Dropped::wait);
  for (uint64_t seed : kSeeds) {
    Result r = launch(program, seed);
    EXPECT_GT(std::ranges::count(kindsOf(r), FindingKind::Divergent), 0) << format(r);
    EXPECT_NE(format(r).find("arrives at a barrier twice"), std::string::npos) << format(r);
  }
}

TEST(Barriers, NumbersAreBelowSixteen) {
  Builder b({.waveSize = 32, .waves = 2});
  b.barrier(15, 1, b.id(IdKind::Wave), /*arrives=*/false);
  Program program = b.finish();
  EXPECT_NE(launch(program, 0).error.find("barrier 16, which does not exist"), std::string::npos);
}

TEST(Barriers, LanesOfOneWaveMayNotDiffer) {
  Builder b({.waveSize = 64, .waves = 2});
  b.beginIf(b.cmp(CmpOp::Ult, b.id(IdKind::Lane), b.constant(DType::i32, 32)));
  b.at({"k.cpp", 6, 1}, "half");
  b.barrier();
  b.endIf();
  Program program = b.finish();
  for (uint64_t seed : kSeeds)
    ASSERT_TRUE(finds(launch(program, seed), FindingKind::Divergent));
}

} // namespace
