//===- LateSharedTest.cpp - Shared accesses that nobody has waited for -----===//
//
// Without checks and as late as is legal: a forgotten wait must change the result, a wait must mend it, and a wave
// always sees its own accesses in order.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/TestSupport.h"

using namespace soliton;
using namespace soliton::emu;

namespace {

constexpr uint32_t kLanes = 64;

struct Exchange {
  bool wait = true; ///< before the barriers
  bool barriersComplete = false;
};

std::vector<uint32_t> resultOf(const Program &program, uint64_t seed) {
  std::vector<uint32_t> out(2 * kLanes, 0);
  Result r = run(program, {.buffers = {{out.data(), out.size() * 4}}, .seed = seed, .adversarial = true});
  EXPECT_TRUE(r.ok()) << format(r);
  return out;
}

/// Two waves; each stores to its half, meets the other, and reads the other's half.
Program swapHalves(Exchange options) {
  Rules rules;
  rules.barrierCompletesShared = options.barriersComplete;
  Builder b({.waveSize = kLanes, .waves = 2, .sharedBytes = 512, .rules = rules});
  uint32_t tile = b.shared("tile", 0, 512), out = b.buffer("out");
  Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4)), wave = b.id(IdKind::Wave);
  Value own = b.mul(wave, b.constant(DType::i32, 256));
  Value other = b.mul(b.binary(BinaryOp::SubI, b.constant(DType::i32, 1), wave), b.constant(DType::i32, 256));
  b.store(b.add(wave, b.constant(DType::i32, 7)), {.region = tile, .lane = at, .uniform = own});
  if (options.wait)
    b.wait(CounterKind::shared, 0);
  b.barrier();
  Value found = b.load(DType::i32, 1, {.region = tile, .lane = at, .uniform = other});
  b.store(found, {.region = out, .lane = at, .uniform = own});
  return b.finish();
}

/// Wave 1 overwrites, behind a barrier, what both have loaded in front of it.
Program overwrite(bool wait) {
  Builder b({.waveSize = kLanes, .waves = 2, .sharedBytes = 256});
  uint32_t tile = b.shared("tile", 0, 256), out = b.buffer("out");
  Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4)), wave = b.id(IdKind::Wave);
  b.store(b.constant(DType::i32, 7), {.region = tile, .lane = at});
  b.wait(CounterKind::shared, 0);
  b.barrier();
  Value found = b.load(DType::i32, 1, {.region = tile, .lane = at});
  if (wait)
    b.wait(CounterKind::shared, 0);
  b.barrier();
  b.beginIf(b.cmp(CmpOp::Eq, wave, b.constant(DType::i32, 1)));
  b.store(b.constant(DType::i32, 9), {.region = tile, .lane = at});
  b.wait(CounterKind::shared, 0);
  b.endIf();
  b.barrier();
  b.store(found, {.region = out, .lane = at, .uniform = b.mul(wave, b.constant(DType::i32, 256))});
  return b.finish();
}

TEST(LateShared, AStoreThatWasNotWaitedForIsNotSeenBehindTheBarrier) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    std::vector<uint32_t> late = resultOf(swapHalves({.wait = false}), seed);
    EXPECT_TRUE(late.front() != 8 || late.back() != 7) << seed;
    std::vector<uint32_t> right = resultOf(swapHalves({}), seed);
    EXPECT_EQ(right.front(), 8u);
    EXPECT_EQ(right.back(), 7u);
  }
}

TEST(LateShared, WhereBarriersCompleteNothingIsLate) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    std::vector<uint32_t> right = resultOf(swapHalves({.wait = false, .barriersComplete = true}), seed);
    EXPECT_EQ(right.front(), 8u);
    EXPECT_EQ(right.back(), 7u);
  }
}

TEST(LateShared, ALoadThatWasNotWaitedForSeesWhatComesBehindTheBarrier) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    EXPECT_EQ(resultOf(overwrite(false), seed).front(), 9u);
    EXPECT_EQ(resultOf(overwrite(true), seed).front(), 7u);
  }
}

/// A use of the younger load shows that the store before it is done too; masked lanes keep their fill value.
TEST(LateShared, AWaveSeesItsOwnAccessesInOrder) {
  Builder b({.waveSize = kLanes, .waves = 2, .sharedBytes = 512});
  uint32_t tile = b.shared("tile", 0, 512), out = b.buffer("out");
  Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4));
  Value own = b.mul(b.id(IdKind::Wave), b.constant(DType::i32, 256));
  Loop loop = b.beginFor(b.constant(DType::i32, 0), b.constant(DType::i32, 4), b.constant(DType::i32, 1));
  b.store(b.add(lane, loop.induction), {.region = tile, .lane = at, .uniform = own});
  Value found = b.load(DType::i32, 1, {.region = tile, .lane = at, .uniform = own});
  b.store(b.add(found, b.constant(DType::i32, 1)), {.region = tile, .lane = at, .uniform = own});
  b.endFor(loop);
  b.store(b.load(DType::i32, 1, {.region = tile, .lane = at, .uniform = own}),
          {.region = out, .lane = at, .uniform = own});
  std::vector<uint32_t> result = resultOf(b.finish(), 5);
  for (uint32_t i = 0; i < 2 * kLanes; ++i)
    EXPECT_EQ(result[i], i % kLanes + 4);
}

} // namespace
