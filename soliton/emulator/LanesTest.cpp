//===- LanesTest.cpp - Control flow and exchange between lanes ------------===//
#include "soliton/emulator/TestSupport.h"

using namespace soliton;
using namespace soliton::emu;

namespace {

TEST(Control, LoopCarriesAndSwapsValues) {
  // (x, y) = (y, x + y), ten times: Fibonacci; the two assignments happen at once.
  Lanes lanes = evaluate([](Builder &b, Value lane) {
    auto c = [&](int64_t v) { return b.constant(DType::i32, v); };
    Loop loop = b.beginFor(c(0), c(10), c(1), {lane, b.add(lane, c(1))});
    b.endFor(loop, {loop.carried[1], b.add(loop.carried[0], loop.carried[1])});
    return b.concat({loop.carried[0], loop.carried[1]});
  });
  for (uint64_t l = 0; l < 64; ++l) {
    uint64_t x = l, y = l + 1;
    for (int i = 0; i < 10; ++i) {
      uint64_t next = x + y;
      x = y;
      y = next;
    }
    EXPECT_EQ(lanes[l], (std::vector<uint64_t>{x, y}));
  }
}

TEST(Control, EmptyLoopKeepsInits) {
  Lanes lanes = evaluate([](Builder &b, Value lane) {
    Loop loop = b.beginFor(b.constant(DType::i64, 5), b.constant(DType::i64, 5), b.constant(DType::i64, 1), {lane});
    b.endFor(loop, {b.add(loop.carried[0], lane)});
    return loop.carried[0];
  });
  EXPECT_EQ(lanes[7][0], 7u);
}

TEST(Control, NestedLaneConditions) {
  Lanes lanes = evaluate([](Builder &b, Value lane) {
    auto c = [&](int64_t v) { return b.constant(DType::i32, v); };
    Value result = b.variable(DType::i32);
    b.assign(result, c(0));
    b.beginIf(b.cmp(CmpOp::Ult, lane, c(32)));
    b.beginIf(b.cmp(CmpOp::Ult, lane, c(8)));
    b.assign(result, c(1));
    b.beginElse();
    b.assign(result, c(2));
    b.endIf();
    b.beginElse();
    b.beginIf(b.cmp(CmpOp::Eq, lane, c(99)));
    b.assign(result, c(3));
    b.endIf();
    b.assign(result, b.add(result, c(10)));
    b.endIf();
    return result;
  });
  for (uint64_t l = 0; l < 64; ++l)
    EXPECT_EQ(lanes[l][0], l < 8 ? 1u : l < 32 ? 2u : 10u);
}

TEST(Control, UniformConditionAndEndlessLoop) {
  Lanes lanes = evaluate([](Builder &b, Value lane) {
    auto c = [&](int64_t v) { return b.constant(DType::i32, v); };
    // Collatz steps of each lane + 1, by a loop that goes on while any lane does.
    Value x = b.variable(DType::i32), steps = b.variable(DType::i32);
    b.assign(x, b.add(lane, c(1)));
    b.assign(steps, c(0));
    b.beginLoop();
    Value open = b.cmp(CmpOp::Ne, x, c(1));
    b.breakUnless(b.cmp(CmpOp::Ne, b.ballot(open), b.constant(DType::i64, 0)));
    b.beginIf(open);
    Value odd = b.cmp(CmpOp::Eq, b.binary(BinaryOp::RemU, x, c(2)), c(1));
    b.assign(x, b.select(odd, b.add(b.mul(x, c(3)), c(1)), b.binary(BinaryOp::DivU, x, c(2))));
    b.assign(steps, b.add(steps, c(1)));
    b.endIf();
    b.endLoop();
    Value chosen = b.variable(DType::i32);
    b.beginIf(b.cmp(CmpOp::Eq, b.id(IdKind::Wave), c(1)));
    b.assign(chosen, c(-1));
    b.beginElse();
    b.assign(chosen, steps);
    b.endIf();
    return chosen;
  });
  for (uint64_t l = 0; l < 64; ++l) {
    uint64_t x = l + 1, steps = 0;
    for (; x != 1; ++steps)
      x = x % 2 ? 3 * x + 1 : x / 2;
    EXPECT_EQ(lanes[l][0], steps);
  }
}

TEST(Builder, RefusesUniformAssignmentUnderLaneCondition) {
  Builder b({.waveSize = 64, .waves = 1});
  Value x = b.variable(DType::i32, 1, true);
  b.beginIf(b.cmp(CmpOp::Eq, b.id(IdKind::Lane), b.constant(DType::i32, 0)));
  EXPECT_THROW(b.assign(x, b.constant(DType::i32, 1)), ProgramError);
}

TEST(Lanes, Shuffles) {
  for (uint32_t size : {32u, 64u}) {
    Lanes lanes = evaluate(
        [](Builder &b, Value lane) {
          Value index = b.mul(lane, b.constant(DType::i32, 3));
          Value wide = b.convert(ConvertOp::ExtU, DType::i64, lane);
          return b.concat({b.convert(ConvertOp::ExtU, DType::i64, b.shuffle(ShuffleOp::Xor, lane, 5, 16)),
                           b.shuffle(ShuffleOp::Up, wide, 3, 16), b.shuffle(ShuffleOp::Down, wide, 3, 16),
                           b.shuffle(ShuffleOp::Index, wide, index, 16)});
        },
        size);
    for (uint64_t l = 0; l < size; ++l) {
      uint64_t base = l & ~15ull, in = l & 15;
      // A lane whose source is outside keeps its own value.
      EXPECT_EQ(lanes[l], (std::vector<uint64_t>{base + (in ^ 5), in < 3 ? l : l - 3, in > 12 ? l : l + 3,
                                                 3 * l < 16 ? base + 3 * l : l}));
    }
  }
}

TEST(Lanes, SwapOfHalvesAndRows) {
  for (uint32_t group : {32u, 16u}) {
    Lanes lanes = evaluate([&](Builder &b, Value lane) {
      auto [x, y] = b.swap(lane, b.add(lane, b.constant(DType::i32, 100)), group);
      return b.concat({x, y});
    });
    for (uint64_t l = 0; l < 64; ++l) {
      bool odd = l / group % 2;
      EXPECT_EQ(lanes[l][0], odd ? l - group + 100 : l);
      EXPECT_EQ(lanes[l][1], odd ? l + 100 : l + group);
    }
  }
}

TEST(Lanes, BallotAndFirstLane) {
  Lanes lanes = evaluate([](Builder &b, Value lane) {
    Value odd = b.cmp(CmpOp::Eq, b.binary(BinaryOp::And, lane, b.constant(DType::i32, 1)), b.constant(DType::i32, 1));
    Value bits = b.variable(DType::i64, 1, false), first = b.variable(DType::i32);
    b.assign(bits, b.constant(DType::i64, 0));
    b.assign(first, b.constant(DType::i32, 0));
    b.beginIf(b.cmp(CmpOp::Uge, lane, b.constant(DType::i32, 8)));
    b.assign(bits, b.ballot(odd));
    b.assign(first, b.firstLane(lane));
    b.endIf();
    return b.concat({bits, b.convert(ConvertOp::ExtU, DType::i64, first)});
  });
  EXPECT_EQ(lanes[8], (std::vector<uint64_t>{0xaaaaaaaaaaaaaa00ull, 8}));
  EXPECT_EQ(lanes[7], (std::vector<uint64_t>{0, 0}));
}

TEST(Lanes, Ids) {
  Builder b({.waveSize = 32, .waves = 3});
  uint32_t out = b.buffer("out");
  Value scalar = b.scalar(DType::i32);
  auto c = [&](int64_t v) { return b.constant(DType::i32, v); };
  Value linear = b.add(b.id(IdKind::Workgroup0),
                       b.mul(b.id(IdKind::Grid0),
                             b.add(b.id(IdKind::Workgroup1), b.mul(b.id(IdKind::Grid1), b.id(IdKind::Workgroup2)))));
  Value thread = b.add(b.id(IdKind::Lane), b.mul(c(32), b.add(b.id(IdKind::Wave), b.mul(linear, c(3)))));
  b.store(b.add(thread, scalar), {.region = out, .lane = b.mul(thread, c(4))});
  std::vector<uint32_t> result(2 * 3 * 4 * 96);
  Result r =
      run(b.finish(),
          {.grid = {2, 3, 4}, .buffers = {{result.data(), result.size() * 4}}, .scalars = {1000}, .checks = true});
  ASSERT_TRUE(r.ok()) << format(r);
  for (uint32_t i = 0; i < result.size(); ++i)
    EXPECT_EQ(result[i], i + 1000);
  EXPECT_EQ(r.statistics.globalAccesses, 24u * 3);
}

} // namespace
