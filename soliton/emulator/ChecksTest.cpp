//===- ChecksTest.cpp - Broken programs are found, repaired ones are not --===//
//
// Each test builds a small program with one thing missing, expects exactly that finding with the right places and hint,
// and expects none once it is repaired, under several schedules.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/TestSupport.h"

using namespace soliton;
using namespace soliton::emu;

namespace {

constexpr std::array<uint64_t, 4> kSeeds{0, 1, 2, 77};

Result launch(const Program &program, std::vector<Buffer> buffers = {}, uint64_t seed = 0, bool adversarial = false) {
  return run(
      program,
      {.grid = {2, 1, 1}, .buffers = std::move(buffers), .seed = seed, .checks = true, .adversarial = adversarial});
}

/// Wave 0 stores, wave 1 loads what it stored.
Program handOver(bool wait, bool barrier, bool barrierCompletes = false) {
  Builder b({.waveSize = 64, .waves = 2, .sharedBytes = 256, .rules = {.barrierCompletesShared = barrierCompletes}});
  uint32_t tile = b.shared("tile", 0, 256);
  Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4));
  Value first = b.cmp(CmpOp::Eq, b.id(IdKind::Wave), b.constant(DType::i32, 0));
  b.beginIf(first);
  b.at({"k.cpp", 1, 1}, "store");
  b.store(lane, {.region = tile, .lane = at});
  if (wait)
    b.wait(CounterKind::shared, 0);
  b.endIf();
  if (barrier)
    b.barrier();
  b.beginIf(b.cmp(CmpOp::Eq, b.id(IdKind::Wave), b.constant(DType::i32, 1)));
  b.at({"k.cpp", 2, 1}, "load");
  b.load(DType::i32, 1, {.region = tile, .lane = at});
  b.endIf();
  return b.finish();
}

TEST(Checks, MissingWait) {
  for (uint64_t seed : kSeeds) {
    Result r = launch(handOver(false, true), {}, seed);
    ASSERT_TRUE(finds(r, FindingKind::MissingWait));
    EXPECT_EQ(r.findings[0].origin.place.line, 2);
    EXPECT_EQ(r.findings[0].otherOrigin.place.line, 1);
    EXPECT_EQ(r.findings[0].wave, 1u);
    EXPECT_EQ(r.findings[0].address, 0);
    EXPECT_EQ(r.findings[0].hint, "insert `wait shared 0` between it and the barrier");
  }
}

TEST(Checks, MissingBarrier) {
  Result r = launch(handOver(true, false));
  ASSERT_TRUE(finds(r, FindingKind::MissingBarrier));
  EXPECT_EQ(r.findings[0].hint, "insert `barrier` between");
  // In another schedule the load may come first; nothing waited for it then. It is one finding all the same.
  for (uint64_t seed : kSeeds) {
    Result other = run(handOver(true, false), {.seed = seed, .checks = true});
    ASSERT_EQ(other.findings.size(), 1u) << format(other);
    EXPECT_TRUE(other.findings[0].kind == FindingKind::MissingBarrier || other.findings[0].kind == FindingKind::Race);
  }
}

TEST(Checks, Race) {
  Result r = launch(handOver(false, false));
  ASSERT_TRUE(finds(r, FindingKind::Race));
  EXPECT_EQ(r.findings[0].hint, "insert `wait shared 0` + `barrier` between");
  EXPECT_EQ(format(r.findings[0]),
            "k.cpp:2:1: error: `load` reads shared byte 0 (byte 0 of `tile`) in wave 1, lane 0, not ordered "
            "after the write by `store` of wave 0 [race]\n  k.cpp:1:1: note: `store` here\n"
            "    hint: insert `wait shared 0` + `barrier` between\n");
}

TEST(Checks, BarrierCompletesWhereTheTargetSaysSo) {
  EXPECT_TRUE(launch(handOver(false, true, true)).ok());
  EXPECT_TRUE(finds(launch(handOver(false, false, true)), FindingKind::MissingBarrier));
}

TEST(Checks, RepairedHandOverIsClean) {
  for (uint64_t seed : kSeeds)
    for (bool adversarial : {false, true})
      EXPECT_TRUE(launch(handOver(true, true), {}, seed, adversarial).ok());
}

/// Each wave reads all of the tile, then each writes its own part of it.
Program readThenWrite(bool wait, bool barrier) {
  Builder b({.waveSize = 64, .waves = 4, .sharedBytes = 1024});
  uint32_t tile = b.shared("tile", 0, 1024);
  Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4)),
        own = b.mul(b.id(IdKind::Wave), b.constant(DType::i32, 256));
  b.store(lane, {.region = tile, .lane = at, .uniform = own});
  b.wait(CounterKind::shared, 0);
  b.barrier();
  for (uint32_t part = 0; part < 4; ++part)
    b.load(DType::i32, 1, {.region = tile, .lane = at, .immediate = part * 256});
  if (wait)
    b.wait(CounterKind::shared, 0);
  if (barrier)
    b.barrier();
  b.at({"k.cpp", 9, 1}, "overwrite");
  b.store(lane, {.region = tile, .lane = at, .uniform = own});
  return b.finish();
}

TEST(Checks, WriteAfterRead) {
  for (uint64_t seed : kSeeds) {
    EXPECT_TRUE(launch(readThenWrite(true, true), {}, seed).ok());
    // Without a barrier the schedule decides whether a write comes after a read or a read after a write.
    Result r = launch(readThenWrite(false, false), {}, seed);
    ASSERT_FALSE(r.findings.empty());
    for (FindingKind kind : kindsOf(r))
      EXPECT_EQ(kind, FindingKind::Race);
    for (FindingKind kind : kindsOf(launch(readThenWrite(false, true), {}, seed)))
      EXPECT_EQ(kind, FindingKind::MissingWait);
    EXPECT_FALSE(launch(readThenWrite(false, true), {}, seed).ok());
  }
}

/// Counted waits: two stores, `wait shared n`, barrier, the other wave reads only the first one.
Program partialWait(uint32_t pending) {
  Builder b({.waveSize = 64, .waves = 2, .sharedBytes = 512});
  uint32_t tile = b.shared("tile", 0, 512);
  Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4));
  b.beginIf(b.cmp(CmpOp::Eq, b.id(IdKind::Wave), b.constant(DType::i32, 0)));
  b.store(lane, {.region = tile, .lane = at});
  b.store(lane, {.region = tile, .lane = at, .immediate = 256});
  b.wait(CounterKind::shared, pending);
  b.endIf();
  b.barrier();
  b.load(DType::i32, 1, {.region = tile, .lane = at});
  return b.finish();
}

TEST(Checks, CountersRetireInOrder) {
  EXPECT_TRUE(launch(partialWait(0)).ok());
  EXPECT_TRUE(launch(partialWait(1)).ok());
  EXPECT_TRUE(finds(launch(partialWait(2)), FindingKind::MissingWait));
  EXPECT_EQ(kindsOf(launch(partialWait(16))), (std::vector{FindingKind::CounterOverflow, FindingKind::MissingWait}));
}

/// copy_async on either counter, read by its own wave and, after a barrier, by the other one.
Program copied(CounterKind counter, bool wait, bool barrier, bool readOther) {
  bool groups = counter == CounterKind::cpAsync;
  Builder b({.waveSize = 64,
             .waves = 2,
             .sharedBytes = 512,
             .rules = {.barrierCompletesShared = groups, .globalTicksVm = !groups}});
  uint32_t in = b.buffer("in"), tile = b.shared("tile", 0, 512);
  Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4)), wave = b.id(IdKind::Wave);
  Value own = b.mul(wave, b.constant(DType::i32, 256));
  b.at({"k.cpp", 3, 1}, "copy");
  b.copyAsync(4, {.region = in, .lane = at, .uniform = own}, {.region = tile, .uniform = own}, counter, true);
  if (groups)
    b.commit(counter);
  if (wait)
    b.wait(counter, 0);
  if (barrier)
    b.barrier();
  Value other =
      b.mul(b.binary(BinaryOp::Xor, wave, b.constant(DType::i32, readOther ? 1 : 0)), b.constant(DType::i32, 256));
  b.at({"k.cpp", 4, 1}, "load");
  b.load(DType::i32, 1, {.region = tile, .lane = at, .uniform = other});
  return b.finish();
}

TEST(Checks, CopyAsync) {
  std::vector<uint32_t> input(128, 7);
  std::vector<Buffer> buffers{{input.data(), 512}};
  for (CounterKind counter : {CounterKind::vm, CounterKind::cpAsync})
    for (bool adversarial : {false, true}) {
      EXPECT_TRUE(launch(copied(counter, true, false, false), buffers, 0, adversarial).ok());
      EXPECT_TRUE(launch(copied(counter, true, true, true), buffers, 5, adversarial).ok());
      Result own = launch(copied(counter, false, true, false), buffers, 0, adversarial);
      ASSERT_TRUE(finds(own, FindingKind::MissingWait));
      EXPECT_EQ(own.findings[0].hint, "insert `wait " + std::string(name(counter)) + " 0` between");
      EXPECT_TRUE(finds(launch(copied(counter, false, true, true), buffers, 0, adversarial), FindingKind::MissingWait));
      // Wave 0 reads what wave 1 has yet to copy, wave 1 reads what wave 0 has copied.
      std::vector<FindingKind> expected{FindingKind::MissingBarrier};
      if (counter == CounterKind::vm)
        expected.insert(expected.begin(), FindingKind::Race);
      EXPECT_EQ(kindsOf(launch(copied(counter, true, false, true), buffers, 0, adversarial)), expected);
    }
}

TEST(Checks, LateCopiesArePoison) {
  // Without checks the missing wait shows in the result: NaN patterns instead of 7.
  auto result = [](bool wait) {
    Builder b({.waveSize = 64, .waves = 1, .sharedBytes = 256});
    uint32_t in = b.buffer("in"), out = b.buffer("out"), tile = b.shared("tile", 0, 256);
    Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4));
    b.copyAsync(4, {.region = in, .lane = at}, {.region = tile}, CounterKind::vm, true);
    if (wait)
      b.wait(CounterKind::vm, 0);
    b.store(b.load(DType::i32, 1, {.region = tile, .lane = at}), {.region = out, .lane = at});
    std::vector<uint32_t> input(64, 7), output(64);
    EXPECT_TRUE(run(b.finish(), {.buffers = {{input.data(), 256}, {output.data(), 256}}, .adversarial = true}).ok());
    return output[0];
  };
  EXPECT_EQ(result(true), 7u);
  EXPECT_EQ(result(false), 0xffffffffu);
}

TEST(Checks, OutOfBounds) {
  auto program = [](int64_t immediate, bool shared, bool mask) {
    Builder b({.waveSize = 64, .waves = 1, .sharedBytes = 512});
    uint32_t out = b.buffer("out"), tile = b.shared("tile", 128, 256);
    Value lane = b.id(IdKind::Lane);
    b.at({"k.cpp", 5, 1}, "store");
    Masked masked;
    if (mask)
      masked.mask = b.cmp(CmpOp::Ult, lane, b.constant(DType::i32, 63));
    b.store(lane,
            {.region = shared ? tile : out, .lane = b.mul(lane, b.constant(DType::i32, 4)), .immediate = immediate},
            masked);
    return b.finish();
  };
  std::vector<uint32_t> output(66, 0xabababab);
  std::vector<Buffer> buffers{{output.data() + 1, 256}};
  auto once = [&](const Program &p, bool checks) { return run(p, {.buffers = buffers, .checks = checks}); };
  for (bool checks : {true, false})
    for (bool shared : {true, false}) {
      EXPECT_TRUE(once(program(0, shared, false), checks).ok());
      Result above = once(program(4, shared, false), checks), below = once(program(-4, shared, false), checks);
      ASSERT_TRUE(finds(above, FindingKind::OutOfBounds));
      EXPECT_EQ(above.findings[0].lane, 63u);
      EXPECT_EQ(above.findings[0].address, 256);
      ASSERT_TRUE(finds(below, FindingKind::OutOfBounds));
      EXPECT_EQ(below.findings[0].lane, 0u);
      EXPECT_TRUE(once(program(4, shared, true), checks).ok());
    }
  EXPECT_EQ(output[0], 0xababababu);
  EXPECT_EQ(output[65], 0xababababu);
}

TEST(Checks, DeclaredBytesAreALimitToo) {
  Builder b({.waveSize = 64, .waves = 1});
  uint32_t in = b.buffer("in");
  b.load(DType::i32, 1,
         {.region = in,
          .lane = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4)),
          .limit = b.constant(DType::i64, 100)});
  std::vector<uint32_t> input(64);
  Result r = run(b.finish(), {.buffers = {{input.data(), 256}}, .checks = true});
  ASSERT_TRUE(finds(r, FindingKind::OutOfBounds));
  EXPECT_EQ(r.findings[0].lane, 25u);
}

TEST(Checks, Misaligned) {
  auto program = [](int64_t pitch) {
    Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 1024});
    uint32_t tile = b.shared("tile", 0, 1024);
    b.store(b.constant(DType::i32, 1, 4),
            {.region = tile, .lane = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, pitch))});
    return b.finish();
  };
  EXPECT_TRUE(launch(program(16)).ok());
  Result r = launch(program(24));
  ASSERT_TRUE(finds(r, FindingKind::Misaligned));
  EXPECT_EQ(r.findings[0].lane, 1u);
}

TEST(Checks, Uninitialized) {
  auto program = [](uint32_t written) {
    Builder b({.waveSize = 64, .waves = 1, .sharedBytes = 256});
    uint32_t tile = b.shared("tile", 0, 256);
    Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4));
    b.store(lane, {.region = tile, .lane = at}, {.mask = b.cmp(CmpOp::Ult, lane, b.constant(DType::i32, written))});
    b.load(DType::i32, 1, {.region = tile, .lane = at});
    return b.finish();
  };
  EXPECT_TRUE(launch(program(64)).ok());
  Result r = launch(program(60));
  ASSERT_TRUE(finds(r, FindingKind::Uninitialized));
  EXPECT_EQ(r.findings[0].address, 240);
}

/// An atomic that adds to nothing gives anything; one that only puts something there does not.
TEST(Checks, AtomicsOfUninitializedMemory) {
  auto program = [](AtomicOp op, bool isWritten) {
    Builder b({.waveSize = 64, .waves = 1, .sharedBytes = 256});
    uint32_t tile = b.shared("tile", 0, 256);
    Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4));
    if (isWritten)
      b.store(lane, {.region = tile, .lane = at});
    b.atomic(op, lane, {.region = tile, .lane = at});
    return b.finish();
  };
  EXPECT_TRUE(launch(program(AtomicOp::Add, true)).ok());
  EXPECT_TRUE(launch(program(AtomicOp::Exchange, false)).ok());
  Result r = launch(program(AtomicOp::Add, false));
  ASSERT_TRUE(finds(r, FindingKind::Uninitialized));
  EXPECT_EQ(r.findings[0].address, 0);
}

TEST(Checks, LanesOfOneStoreDisagree) {
  auto program = [](bool same) {
    Builder b({.waveSize = 64, .waves = 1, .sharedBytes = 256});
    uint32_t tile = b.shared("tile", 0, 256);
    Value lane = b.id(IdKind::Lane), half = b.binary(BinaryOp::DivU, lane, b.constant(DType::i32, 2));
    b.store(same ? half : lane, {.region = tile, .lane = b.mul(half, b.constant(DType::i32, 4))});
    return b.finish();
  };
  EXPECT_TRUE(launch(program(true)).ok());
  EXPECT_TRUE(finds(launch(program(false)), FindingKind::LaneConflict));
}

TEST(Checks, DivergentBarrierAndUniform) {
  auto program = [](bool insideCondition) {
    Builder b({.waveSize = 64, .waves = 1});
    b.beginIf(b.cmp(CmpOp::Ult, b.id(IdKind::Lane), b.constant(DType::i32, 8)));
    b.at({"k.cpp", 6, 1}, "barrier");
    if (insideCondition)
      b.barrier();
    b.endIf();
    if (!insideCondition)
      b.barrier();
    return b.finish();
  };
  EXPECT_TRUE(launch(program(false)).ok());
  Result r = launch(program(true));
  ASSERT_TRUE(finds(r, FindingKind::Divergent));
  EXPECT_EQ(r.findings[0].lane, 8u);
  Builder b({.waveSize = 64, .waves = 1});
  Loop loop = b.beginFor(b.constant(DType::i32, 0), b.id(IdKind::Lane), b.constant(DType::i32, 1));
  b.endFor(loop);
  EXPECT_TRUE(finds(launch(b.finish()), FindingKind::Divergent));
}

TEST(Checks, DivergentGroupsOfCopies) {
  // The lanes that do not come by would wait for other groups.
  auto program = [](bool divergentCommit, bool divergentWait) {
    Builder b({.waveSize = 32,
               .waves = 1,
               .sharedBytes = 128,
               .rules = {.barrierCompletesShared = true, .globalTicksVm = false}});
    uint32_t in = b.buffer("in"), tile = b.shared("tile", 0, 128);
    Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4));
    Value some = b.cmp(CmpOp::Ult, lane, b.constant(DType::i32, 8));
    b.copyAsync(4, {.region = in, .lane = at}, {.region = tile, .lane = at}, CounterKind::cpAsync, false);
    if (divergentCommit)
      b.beginIf(some);
    b.commit(CounterKind::cpAsync);
    if (divergentCommit)
      b.endIf();
    if (divergentWait)
      b.beginIf(some);
    b.wait(CounterKind::cpAsync, 0);
    if (divergentWait)
      b.endIf();
    b.load(DType::i32, 1, {.region = tile, .lane = at});
    return b.finish();
  };
  std::vector<uint32_t> input(32);
  EXPECT_TRUE(launch(program(false, false), {{input.data(), 128}}).ok());
  EXPECT_TRUE(finds(launch(program(true, false), {{input.data(), 128}}), FindingKind::Divergent));
  EXPECT_TRUE(finds(launch(program(false, true), {{input.data(), 128}}), FindingKind::Divergent));
}

TEST(Checks, Deadlock) {
  auto program = [](bool all) {
    Builder b({.waveSize = 64, .waves = 2});
    b.at({"k.cpp", 7, 1}, "barrier");
    if (!all)
      b.beginIf(b.cmp(CmpOp::Eq, b.id(IdKind::Wave), b.constant(DType::i32, 0)));
    b.barrier();
    if (!all)
      b.endIf();
    return b.finish();
  };
  for (uint64_t seed : kSeeds)
    for (bool checks : {true, false}) {
      EXPECT_TRUE(run(program(true), {.seed = seed, .checks = checks}).ok());
      Result r = run(program(false), {.seed = seed, .checks = checks});
      ASSERT_TRUE(finds(r, FindingKind::Deadlock));
      EXPECT_EQ(r.findings[0].message, "no wave can go on: wave 0 waits at `barrier`, wave 1 has ended");
    }
}

TEST(Checks, NamedBarriersOfSomeWaves) {
  // Waves 0 and 1 meet at barrier 3 and hand over; waves 2 and 3 do not take part.
  Builder b({.waveSize = 32, .waves = 4, .sharedBytes = 128, .rules = {.barrierCompletesShared = true}});
  uint32_t tile = b.shared("tile", 0, 128);
  Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4)), wave = b.id(IdKind::Wave);
  b.beginIf(b.cmp(CmpOp::Ult, wave, b.constant(DType::i32, 2)));
  b.beginIf(b.cmp(CmpOp::Eq, wave, b.constant(DType::i32, 1)));
  b.store(lane, {.region = tile, .lane = at});
  b.endIf();
  b.barrier(3, 2);
  b.load(DType::i32, 1, {.region = tile, .lane = at});
  b.endIf();
  Program program = b.finish();
  for (uint64_t seed : kSeeds)
    EXPECT_TRUE(launch(program, {}, seed).ok());
}

TEST(Checks, GlobalConflicts) {
  auto program = [](bool disjoint, bool atomic) {
    Builder b({.waveSize = 64, .waves = 1});
    uint32_t out = b.buffer("out");
    Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4));
    Value mine = b.mul(b.id(IdKind::Workgroup0), b.constant(DType::i32, disjoint ? 256 : 252));
    At where{.region = out, .lane = at, .uniform = mine};
    if (atomic)
      b.atomic(AtomicOp::Add, lane, where);
    else
      b.store(lane, where);
    return b.finish();
  };
  std::vector<uint32_t> output(256);
  for (uint32_t threads : {1u, 2u, 4u}) {
    auto go = [&](const Program &p) {
      return run(p, {.grid = {4, 1, 1}, .buffers = {{output.data(), 1024}}, .checks = true, .threads = threads});
    };
    EXPECT_TRUE(go(program(true, false)).ok());
    EXPECT_TRUE(go(program(false, true)).ok());
    Result r = go(program(false, false));
    ASSERT_TRUE(finds(r, FindingKind::GlobalConflict));
    EXPECT_EQ(r.findings[0].address % 252, 0);
  }
}

TEST(Checks, GlobalHandOverBetweenWaves) {
  auto program = [](bool wait, bool barrier) {
    Builder b({.waveSize = 64, .waves = 2});
    uint32_t out = b.buffer("out");
    Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4));
    Value mine = b.mul(b.id(IdKind::Workgroup0), b.constant(DType::i32, 256));
    b.beginIf(b.cmp(CmpOp::Eq, b.id(IdKind::Wave), b.constant(DType::i32, 0)));
    b.store(lane, {.region = out, .lane = at, .uniform = mine});
    if (wait)
      b.wait(CounterKind::vm, 0);
    b.endIf();
    if (barrier)
      b.barrier();
    b.load(DType::i32, 1, {.region = out, .lane = at, .uniform = mine});
    return b.finish();
  };
  std::vector<uint32_t> output(128);
  EXPECT_TRUE(launch(program(true, true), {{output.data(), 512}}).ok());
  EXPECT_TRUE(finds(launch(program(false, true), {{output.data(), 512}}), FindingKind::MissingWait));
  EXPECT_TRUE(finds(launch(program(true, false), {{output.data(), 512}}), FindingKind::MissingBarrier));
}

TEST(Checks, MbarrierMisuse) {
  auto program = [](bool init, uint32_t arrivals) {
    Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 8, .rules = {.barrierCompletesShared = true}});
    At at{.region = b.shared("mbarrier", 0, 8)};
    if (init)
      b.mbarrierInit(at, 2);
    b.mbarrierArrive(at, arrivals);
    if (init && arrivals == 2)
      b.mbarrierWait(at, b.constant(DType::i32, 0));
    return b.finish();
  };
  EXPECT_TRUE(launch(program(true, 2)).ok());
  EXPECT_TRUE(finds(launch(program(false, 2)), FindingKind::MbarrierMisuse));
  EXPECT_TRUE(finds(launch(program(true, 3)), FindingKind::MbarrierMisuse));
}

TEST(Checks, MbarrierOrdersWaves) {
  auto program = [](bool wait) {
    Builder b({.waveSize = 32, .waves = 2, .sharedBytes = 256, .rules = {.barrierCompletesShared = true}});
    uint32_t tile = b.shared("tile", 0, 128);
    At mbarrier{.region = b.shared("mbarrier", 128, 8)};
    Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4)), wave = b.id(IdKind::Wave);
    b.beginIf(b.cmp(CmpOp::Eq, wave, b.constant(DType::i32, 0)));
    b.mbarrierInit(mbarrier, 32);
    b.endIf();
    b.barrier();
    b.beginIf(b.cmp(CmpOp::Eq, wave, b.constant(DType::i32, 0)));
    b.store(lane, {.region = tile, .lane = at});
    b.mbarrierArrive(mbarrier, 1, true);
    b.beginElse();
    if (wait)
      b.mbarrierWait(mbarrier, b.constant(DType::i32, 0));
    b.load(DType::i32, 1, {.region = tile, .lane = at});
    b.endIf();
    return b.finish();
  };
  for (uint64_t seed : kSeeds)
    EXPECT_TRUE(launch(program(true), {}, seed).ok());
  EXPECT_TRUE(finds(launch(program(false)), FindingKind::MissingBarrier));
}

TEST(Checks, StepLimitIsAnError) {
  Builder b({.waveSize = 32, .waves = 1});
  Value count = b.variable(DType::i32, 1, true);
  b.assign(count, b.constant(DType::i32, 0));
  b.beginLoop();
  b.assign(count, b.add(count, b.constant(DType::i32, 1)));
  b.endLoop();
  Result r = run(b.finish(), {.stepLimit = 1000});
  EXPECT_EQ(r.error, "wave 0 of workgroup 0 was stopped after 1000 instructions");
}

TEST(Checks, AWaveThatIsStoppedNamesTheInnermostLoop) {
  Builder b({.waveSize = 32, .waves = 1});
  Value count = b.variable(DType::i32, 1, true);
  b.assign(count, b.constant(DType::i32, 0));
  b.beginLoop();
  b.beginLoop();
  b.assign(count, b.add(count, b.constant(DType::i32, 1)));
  b.at(Place("kernel.cpp", 12, 3), "loop");
  b.endLoop();
  b.at(Place("kernel.cpp", 10, 3), "loop");
  b.endLoop();
  Result r = run(b.finish(), {.stepLimit = 1000});
  EXPECT_EQ(r.error, "wave 0 of workgroup 0 was stopped after 1000 instructions, in this loop");
  EXPECT_EQ(r.errorPlace, Place("kernel.cpp", 12, 3));
}

TEST(Checks, ALoopThatChangesNothingIsADeadlock) {
  Builder b({.waveSize = 32, .waves = 1});
  b.beginLoop();
  b.endLoop();
  Result r = run(b.finish(), {});
  ASSERT_TRUE(finds(r, FindingKind::Deadlock));
  EXPECT_EQ(r.findings[0].message, "no wave can go on: wave 0 loops for ever at `jump`");
}

TEST(Checks, LaunchHasToFitTheProgram) {
  Builder b({.waveSize = 32, .waves = 1});
  b.buffer("in");
  Program program = b.finish();
  EXPECT_EQ(run(program, {}).error, "0 buffers, expected 1");
  EXPECT_EQ(run(program, {.buffers = {{nullptr, 4}}}).error, "buffer 0 has 4 bytes and no data");
}

} // namespace
