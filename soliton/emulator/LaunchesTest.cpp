//===- LaunchesTest.cpp - Programs that begin before the launches ahead have ended ---------===//
#include "soliton/emulator/TestSupport.h"

namespace soliton::emu {
namespace {

enum class Access : uint8_t { load, store, atomic, copyAsync, loadTile, storeTile };

/// One wave that touches `in` before it waits, and writes `out` behind.
struct Early {
  Access access = Access::load;
  bool dependent = true, stable = false, waits = true, isEarly = true;
};

const Rules kRules{.barrierCompletesShared = true, .globalTicksVm = false};

void touch(Builder &b, Access access, uint32_t in, uint32_t tile) {
  Value lane = b.id(IdKind::Lane), zero = b.constant(DType::i32, 0), at = b.mul(lane, b.constant(DType::i32, 4));
  At global{.region = in, .lane = at}, inTile{.region = tile};
  TensorMap map{.name = "row", .type = DType::f32, .rank = 1};
  map.size = {Quantity{32}};
  map.stride = {Quantity{4}};
  map.box = {32};
  Value isFirst = b.cmp(CmpOp::Eq, lane, zero);
  b.at({"k.cpp", 1, 1}, "early");
  switch (access) {
  case Access::load:
    b.load(DType::i32, 1, global);
    return;
  case Access::store:
    return b.store(lane, global);
  case Access::atomic:
    b.atomic(AtomicOp::Add, lane, global);
    return;
  case Access::copyAsync:
    b.copyAsync(4, global, {.region = tile, .lane = at}, CounterKind::cpAsync, /*laneOrder=*/false);
    b.commit(CounterKind::cpAsync);
    b.wait(CounterKind::cpAsync, 0);
    return;
  case Access::loadTile: {
    At full{.region = tile, .immediate = 128};
    b.mbarrierInit(full, 1);
    b.beginIf(isFirst);
    b.copyTileLoad(b.tensorMap(map), {b.asUniform(zero)}, inTile, full);
    b.mbarrierExpect(full, 128);
    b.endIf();
    b.mbarrierWait(full, b.asUniform(zero));
    return;
  }
  case Access::storeTile:
    b.store(lane, {.region = tile, .lane = at});
    b.fence(FenceOp::Proxy);
    b.beginIf(isFirst);
    b.copyTileStore(b.tensorMap(map), {b.asUniform(zero)}, inTile);
    b.endIf();
    b.commit(CounterKind::bulk);
    b.wait(CounterKind::bulk, 0);
    return;
  }
}

Program program(const Early &early) {
  Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 256, .rules = kRules, .dependent = early.dependent});
  uint32_t in = b.buffer("in", early.stable), out = b.buffer("out"), tile = b.shared("tile", 0, 256);
  if (early.isEarly)
    touch(b, early.access, in, tile);
  if (early.waits)
    b.gridWait();
  if (!early.isEarly)
    touch(b, early.access, in, tile);
  Value lane = b.id(IdKind::Lane);
  b.at({"k.cpp", 2, 1}, "write");
  b.store(lane, {.region = out, .lane = b.mul(lane, b.constant(DType::i32, 4))});
  return b.finish();
}

Result play(const Program &program) {
  std::vector<uint32_t> in(32, 7), out(32);
  Result result = run(program, {.buffers = {{in.data(), 128}, {out.data(), 128}}, .checks = true, .adversarial = true});
  EXPECT_EQ(result.error, "");
  return result;
}

constexpr Access kReads[] = {Access::load, Access::copyAsync, Access::loadTile},
                 kWrites[] = {Access::store, Access::atomic, Access::storeTile};

TEST(Launches, AnAccessBeforeTheWaitIsFound) {
  for (Access access :
       {Access::load, Access::store, Access::atomic, Access::copyAsync, Access::loadTile, Access::storeTile}) {
    SCOPED_TRACE(static_cast<int>(access));
    EXPECT_TRUE(finds(play(program({.access = access})), FindingKind::EarlyAccess));
    EXPECT_TRUE(play(program({.access = access, .isEarly = false})).ok());
    EXPECT_TRUE(play(program({.access = access, .dependent = false})).ok()) << "others begin when all have ended";
  }
}

TEST(Launches, StableMemoryIsReadBeforeTheWaitAndNeverWritten) {
  for (Access access : kReads)
    EXPECT_TRUE(play(program({.access = access, .stable = true})).ok()) << static_cast<int>(access);
  for (Access access : kWrites)
    for (bool isEarly : {false, true})
      for (bool dependent : {false, true})
        EXPECT_TRUE(finds(play(program({.access = access, .dependent = dependent, .stable = true, .isEarly = isEarly})),
                          FindingKind::StableWrite))
            << static_cast<int>(access);
}

TEST(Launches, FindingsNameTheMemoryAndTheWayOut) {
  std::string text = format(play(program({.access = Access::store})));
  EXPECT_NE(
      text.find("k.cpp:1:1: error: `early` writes `in` in wave 0 before it has waited for the launches ahead, which "
                "may still read there [early-access]"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("put `grid_wait` before it"), std::string::npos);
  text = format(play(program({.access = Access::store, .stable = true})));
  EXPECT_NE(text.find("which is stable: no launch is to write it [stable-write]"), std::string::npos) << text;
}

/// A workgroup of two waves; each may wait before it writes.
Program twoWaves(bool firstWaits, bool secondWaits, bool writes) {
  Builder b({.waveSize = 32, .waves = 2, .rules = kRules, .dependent = true});
  uint32_t out = b.buffer("out");
  Value lane = b.id(IdKind::Lane), wave = b.id(IdKind::Wave);
  for (int number : {0, 1}) {
    b.beginIf(b.cmp(CmpOp::Eq, wave, b.constant(DType::i32, number)));
    if (number == 0 ? firstWaits : secondWaits)
      b.gridWait();
    if (writes)
      b.store(lane, {.region = out, .lane = b.mul(lane, b.constant(DType::i32, 4)), .immediate = 128 * number});
    b.endIf();
  }
  b.at({"k.cpp", 9, 1}, "end");
  return b.finish();
}

Result playTwoWaves(bool firstWaits, bool secondWaits, bool writes) {
  std::vector<uint32_t> out(64);
  return run(twoWaves(firstWaits, secondWaits, writes), {.buffers = {{out.data(), 256}}, .checks = true});
}

TEST(Launches, EachWaveWaitsForItself) {
  EXPECT_TRUE(playTwoWaves(true, true, true).ok());
  EXPECT_TRUE(finds(playTwoWaves(true, false, true), FindingKind::EarlyAccess));
  EXPECT_TRUE(finds(playTwoWaves(false, true, true), FindingKind::EarlyAccess));
}

/// Launches behind it wait for it alone.
TEST(Launches, AWorkgroupThatTouchesNothingWaitsAllTheSame) {
  EXPECT_TRUE(playTwoWaves(false, true, false).ok());
  EXPECT_TRUE(playTwoWaves(true, false, false).ok());
  EXPECT_TRUE(finds(playTwoWaves(false, false, false), FindingKind::EarlyAccess));
}

TEST(Launches, WhatIsStableOutlivesTheFile) {
  Program made = program({.stable = true});
  EXPECT_EQ(made.stable, std::vector<uint32_t>{0});
  EXPECT_EQ(deserialize(serialize(made)), made);
  EXPECT_NE(disassemble(made).find("grid.wait"), std::string::npos);
  made.stable = {2};
  EXPECT_EQ(validate(made), "buffer 2 is stable and does not exist");
  made.stable = {0, 1, 0};
  EXPECT_EQ(validate(made), "3 stable buffers of 2");
}

} // namespace
} // namespace soliton::emu
