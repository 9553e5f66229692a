//===- MemoryTest.cpp - Loads, stores, atomics, copies, row matrices ------===//
#include "soliton/emulator/TestSupport.h"
#include "soliton/support/Float.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace soliton;
using namespace soliton::emu;

namespace {

std::vector<uint8_t> counting(size_t size) {
  std::vector<uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), uint8_t(0));
  return bytes;
}

TEST(Memory, EveryWidth) {
  for (auto [type, count] : std::vector<std::pair<DType, uint32_t>>{
           {DType::i8, 1}, {DType::i8, 16}, {DType::i16, 4}, {DType::i32, 3}, {DType::i64, 2}, {DType::f16, 8}}) {
    uint32_t bytes = uint32_t(bits(type)) / 8;
    std::vector<uint8_t> input = counting(64 * 16);
    Lanes lanes = evaluate(
        [&](Builder &b, Value lane) {
          return b.load(type, count, {.region = 0, .lane = b.mul(lane, b.constant(DType::i32, 16))});
        },
        64, input);
    for (size_t l = 0; l < 64; ++l)
      for (size_t e = 0; e < count; ++e) {
        uint64_t want = 0;
        for (size_t i = 0; i < bytes; ++i)
          want |= uint64_t(input[l * 16 + e * bytes + i]) << (8 * i);
        EXPECT_EQ(lanes[l][e], want);
      }
  }
}

TEST(Memory, PackedFloats) {
  std::vector<uint8_t> input = counting(64 * 16);
  Lanes lanes = evaluate(
      [](Builder &b, Value lane) {
        Value at = b.mul(lane, b.constant(DType::i32, 16));
        Value four = b.load(DType::f4e2m1fn, 32, {.region = 0, .lane = at});
        Value six = b.load(DType::f6e2m3fn, 16, {.region = 0, .lane = b.mul(lane, b.constant(DType::i32, 12))});
        return b.concat({b.bitcast(DType::i32, four), b.bitcast(DType::i32, six),
                         b.bitcast(DType::i32, b.convert(ConvertOp::FToF, DType::f32, b.slice(four, 3, 1)))});
      },
      64, input);
  for (uint32_t l = 0; l < 64; ++l) {
    for (uint32_t w = 0; w < 4; ++w)
      EXPECT_EQ(lanes[l][w], *reinterpret_cast<uint32_t *>(&input[l * 16 + w * 4]));
    for (uint32_t w = 0; w < 3; ++w)
      EXPECT_EQ(lanes[l][4 + w], *reinterpret_cast<uint32_t *>(&input[l * 12 + w * 4]));
    EXPECT_EQ(std::bit_cast<float>(uint32_t(lanes[l][7])), float(decode(DType::f4e2m1fn, input[l * 16 + 1] >> 4)));
  }
}

TEST(Memory, MaskFillAndUniformParts) {
  std::vector<uint8_t> input = counting(256);
  Lanes lanes = evaluate(
      [](Builder &b, Value lane) {
        Value mask = b.cmp(CmpOp::Ult, lane, b.constant(DType::i32, 16));
        At at{.region = 0,
              .lane = b.mul(lane, b.constant(DType::i32, 4)),
              .uniform = b.constant(DType::i32, 8),
              .immediate = -4,
              .base = b.constant(DType::i64, 60)};
        Value filled = b.load(DType::i32, 1, at, {.mask = mask, .fill = b.constant(DType::i32, 77)});
        Value zero = b.load(DType::i32, 1, at, {.mask = mask});
        Value same = b.load(DType::i32, 1, {.region = 0, .immediate = 12});
        return b.concat({filled, zero, b.add(same, b.binary(BinaryOp::SubI, lane, lane))});
      },
      64, input);
  auto word = [&](size_t at) { return *reinterpret_cast<uint32_t *>(&input[at]); };
  EXPECT_EQ(lanes[3], (std::vector<uint64_t>{word(64 + 12), word(64 + 12), word(12)}));
  EXPECT_EQ(lanes[20], (std::vector<uint64_t>{77, 0, word(12)}));
}

TEST(Memory, ClampReadsFillBeyondLimit) {
  std::vector<uint8_t> input = counting(256);
  Lanes lanes = evaluate(
      [](Builder &b, Value lane) {
        At at{.region = 0, .lane = b.mul(lane, b.constant(DType::i32, 4)), .limit = b.constant(DType::i64, 128)};
        return b.load(DType::i32, 1, at, {.fill = b.constant(DType::i32, 5), .clamp = true});
      },
      64, input);
  EXPECT_EQ(lanes[31][0], *reinterpret_cast<uint32_t *>(&input[124]));
  EXPECT_EQ(lanes[32][0], 5u);
}

TEST(Memory, SharedRoundTrip) {
  Lanes lanes = evaluate(
      [](Builder &b, Value lane) {
        uint32_t tile = b.shared("tile", 0, 512);
        b.store(b.concat({lane, b.mul(lane, lane)}), {.region = tile, .lane = b.mul(lane, b.constant(DType::i32, 8))});
        Value other = b.binary(BinaryOp::Xor, lane, b.constant(DType::i32, 63));
        return b.load(DType::i32, 2, {.region = tile, .lane = b.mul(other, b.constant(DType::i32, 8))});
      },
      64, {}, 512);
  for (uint64_t l = 0; l < 64; ++l)
    EXPECT_EQ(lanes[l], (std::vector<uint64_t>{63 - l, (63 - l) * (63 - l)}));
}

TEST(Memory, Atomics) {
  Builder b({.waveSize = 64, .waves = 2});
  uint32_t out = b.buffer("out");
  Value lane = b.id(IdKind::Lane), at = b.constant(DType::i32, 0);
  Value one = b.convert(ConvertOp::SToF, DType::f32, b.add(lane, b.constant(DType::i32, 1)));
  b.atomic(AtomicOp::Add, lane, {.region = out, .lane = at});
  b.atomic(AtomicOp::MaxS, b.binary(BinaryOp::SubI, lane, b.constant(DType::i32, 70)),
           {.region = out, .lane = at, .immediate = 4});
  b.atomic(AtomicOp::MinU, b.add(lane, b.constant(DType::i32, 9)), {.region = out, .lane = at, .immediate = 8});
  b.atomic(AtomicOp::Add, one, {.region = out, .lane = at, .immediate = 12});
  b.atomic(AtomicOp::MaxF, one, {.region = out, .lane = at, .immediate = 16});
  b.atomic(AtomicOp::Add, b.convert(ConvertOp::FToF, DType::f16, b.constantFloat(DType::f32, 1)),
           {.region = out, .lane = at, .immediate = 20});
  std::vector<uint32_t> result{0, uint32_t(-100), 50, 0, 0, 0};
  Result r = run(b.finish(), {.grid = {3, 1, 1}, .buffers = {{result.data(), 24}}, .checks = true});
  ASSERT_TRUE(r.ok()) << format(r);
  EXPECT_EQ(result[0], 6u * 63 * 32);
  EXPECT_EQ(int32_t(result[1]), -7);
  EXPECT_EQ(result[2], 9u);
  EXPECT_EQ(std::bit_cast<float>(result[3]), 6.0f * 64 * 65 / 2);
  EXPECT_EQ(std::bit_cast<float>(result[4]), 64.0f);
  EXPECT_EQ(decode(DType::f16, result[5] & 0xffff), 384.0);
}

TEST(Memory, AtomicReturnsOldValuesOfEachLane) {
  Lanes lanes = evaluate(
      [](Builder &b, Value lane) {
        uint32_t tile = b.shared("ticket", 0, 4);
        b.store(b.constant(DType::i32, 5), {.region = tile},
                {.mask = b.cmp(CmpOp::Eq, lane, b.constant(DType::i32, 0))});
        return b.atomic(AtomicOp::Add, b.constant(DType::i32, 2), {.region = tile}, {}, true);
      },
      64, {}, 4);
  for (uint64_t l = 0; l < 64; ++l)
    EXPECT_EQ(lanes[l][0], 5 + 2 * l);
}

TEST(Memory, CompareSwapWritesWhereItFindsWhatItExpects) {
  Lanes lanes = evaluate(
      [](Builder &b, Value lane) {
        uint32_t tile = b.shared("owner", 0, 4);
        b.store(b.constant(DType::i32, -1), {.region = tile},
                {.mask = b.cmp(CmpOp::Eq, lane, b.constant(DType::i32, 0))});
        return b.compareSwap(lane, b.constant(DType::i32, -1), {.region = tile});
      },
      64, {}, 4);
  EXPECT_EQ(static_cast<int32_t>(lanes[0][0]), -1);
  for (uint64_t l = 1; l < 64; ++l)
    EXPECT_EQ(lanes[l][0], 0u) << "lane 0 was first";
}

TEST(Memory, PrintsALineForEachLane) {
  testing::internal::CaptureStdout();
  evaluate(
      [](Builder &b, Value lane) {
        b.print("x[M=?]", b.constantFloat(DType::f32, 1.5), {b.add(lane, b.constant(DType::i32, 100))});
        return lane;
      },
      64, {}, 4);
  std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::ranges::count(text, '\n'), 64);
  EXPECT_NE(text.find("x[M=163] = 1.5  (workgroup 0 0 0, wave 0, lane 63)\n"), std::string::npos) << text;
}

TEST(Memory, CopyAsyncInLaneOrderAndPerLane) {
  std::vector<uint8_t> input = counting(1024);
  for (bool laneOrder : {true, false})
    for (uint32_t bytes : {4u, 16u}) {
      Lanes lanes = evaluate(
          [&](Builder &b, Value lane) {
            uint32_t tile = b.shared("tile", 0, 1024);
            Value reversed = b.binary(BinaryOp::Xor, lane, b.constant(DType::i32, 63));
            At to{.region = tile};
            if (!laneOrder)
              to.lane = b.mul(lane, b.constant(DType::i32, bytes));
            Value mask = b.cmp(CmpOp::Uge, lane, b.constant(DType::i32, 4));
            b.copyAsync(bytes, {.region = 0, .lane = b.mul(reversed, b.constant(DType::i32, bytes))}, to,
                        CounterKind::vm, laneOrder, mask, true);
            b.wait(CounterKind::vm, 0);
            return b.load(DType::i32, 1, {.region = tile, .lane = b.mul(lane, b.constant(DType::i32, bytes))});
          },
          64, input, 1024);
      for (uint32_t l = 0; l < 64; ++l)
        EXPECT_EQ(lanes[l][0], l < 4 ? 0u : *reinterpret_cast<uint32_t *>(&input[(63 - l) * bytes]));
    }
}

/// Rows of 16-bit numbers 256 * row + column, 16 bytes each, in shared memory.
void fillRows(Builder &b, Value lane, uint32_t tile) {
  for (uint32_t column = 0; column < 8; ++column)
    b.store(b.convert(ConvertOp::TruncI, DType::i16,
                      b.add(b.mul(lane, b.constant(DType::i32, 256)), b.constant(DType::i32, column))),
            {.region = tile, .lane = b.mul(lane, b.constant(DType::i32, 16)), .immediate = column * 2});
}

TEST(Matrix, RowsOf8x8) {
  for (bool transposed : {false, true})
    for (uint32_t matrices : {1u, 2u, 4u}) {
      Lanes lanes = evaluate(
          [&](Builder &b, Value lane) {
            uint32_t tile = b.shared("tile", 0, 512), kind = b.matrixKind(matrixRows8x8(matrices, transposed));
            fillRows(b, lane, tile);
            return b.loadMatrix(kind, DType::i16, {.region = tile, .lane = b.mul(lane, b.constant(DType::i32, 16))});
          },
          32, {}, 512);
      for (uint32_t l = 0; l < 32; ++l)
        for (uint32_t r = 0; r < 2 * matrices; ++r) {
          uint32_t row = l / 4, column = 2 * (l % 4) + r % 2;
          if (transposed)
            std::swap(row, column);
          EXPECT_EQ(lanes[l][r], 256 * (row + 8 * (r / 2)) + column);
        }
    }
}

TEST(Matrix, StoreIsTheInverseOfLoad) {
  Lanes lanes = evaluate(
      [&](Builder &b, Value lane) {
        uint32_t tile = b.shared("tile", 0, 1024), kind = b.matrixKind(matrixRows8x8(4, true));
        fillRows(b, lane, tile);
        Value at = b.mul(lane, b.constant(DType::i32, 16));
        Value value = b.loadMatrix(kind, DType::i16, {.region = tile, .lane = at});
        b.storeMatrix(kind, value, {.region = tile, .lane = at, .immediate = 512});
        return b.load(DType::i16, 8, {.region = tile, .lane = at, .immediate = 512});
      },
      32, {}, 1024);
  for (uint32_t l = 0; l < 32; ++l)
    for (uint32_t e = 0; e < 8; ++e)
      EXPECT_EQ(lanes[l][e], 256 * l + e);
}

TEST(Matrix, TransposedReads) {
  // Source lane s of each group of 16 supplies 8 bytes; result[q][r] = source[s][c].
  for (uint32_t width : {16u, 8u, 4u}) {
    uint32_t count = 64 / width;
    std::vector<uint8_t> input = counting(512);
    for (size_t i = 0; i < input.size(); ++i)
      input[i] = uint8_t(i * 37 + i / 256);
    DType type = width == 16 ? DType::i16 : width == 8 ? DType::i8 : DType::f4e2m1fn;
    Lanes lanes = evaluate(
        [&](Builder &b, Value lane) {
          uint32_t tile = b.shared("tile", 0, 512), kind = b.matrixKind(transposedRead(width, 64));
          Value at = b.mul(lane, b.constant(DType::i32, 8));
          b.store(b.load(DType::i32, 2, {.region = 0, .lane = at}), {.region = tile, .lane = at});
          return b.bitcast(DType::i32, b.loadMatrix(kind, type, {.region = tile, .lane = at}));
        },
        64, input, 512);
    for (uint32_t l = 0; l < 64; ++l) {
      uint64_t got = lanes[l][0] | lanes[l][1] << 32;
      for (uint32_t r = 0; r < count; ++r) {
        uint32_t q = l % 16, s, c;
        if (width == 16)
          s = 4 * r + q / 4, c = q % 4;
        else if (width == 8)
          s = 2 * r + q / 8, c = q % 8;
        else
          s = r, c = q;
        uint64_t row = *reinterpret_cast<uint64_t *>(&input[(l / 16 * 16 + s) * 8]);
        EXPECT_EQ(got >> (r * width) & ((1ull << width) - 1), row >> (c * width) & ((1ull << width) - 1));
      }
    }
  }
}

TEST(Memory, BankConflictsAreCounted) {
  auto conflicts = [](int64_t pitch) {
    Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 32 * 128});
    uint32_t tile = b.shared("tile", 0, 32 * 128);
    Value lane = b.id(IdKind::Lane);
    b.store(lane, {.region = tile, .lane = b.mul(lane, b.constant(DType::i32, pitch))});
    return run(b.finish(), {.bankConflicts = true}).statistics.bankConflicts;
  };
  EXPECT_EQ(conflicts(4), 0u);
  EXPECT_EQ(conflicts(8), 1u);
  EXPECT_EQ(conflicts(128), 31u);
  EXPECT_EQ(conflicts(0), 0u);
}

TEST(Memory, LanesThatAnAtomicLeavesOutGetZero) {
  // Both by its mask and by the condition around it, also where the slot held something before.
  std::vector<uint8_t> input(256, 5);
  Lanes lanes = evaluate(
      [](Builder &b, Value lane) {
        Value at = b.mul(lane, b.constant(DType::i32, 4)), result = b.variable(DType::i32);
        b.assign(result, b.constant(DType::i32, 9));
        b.beginIf(b.cmp(CmpOp::Ult, lane, b.constant(DType::i32, 32)));
        Value even =
            b.cmp(CmpOp::Eq, b.binary(BinaryOp::And, lane, b.constant(DType::i32, 1)), b.constant(DType::i32, 0));
        b.assign(result,
                 b.atomic(AtomicOp::Add, b.constant(DType::i32, 1), {.region = 0, .lane = at}, {.mask = even}, true));
        b.endIf();
        return result;
      },
      64, input);
  for (uint32_t lane = 0; lane < 64; ++lane)
    EXPECT_EQ(lanes[lane][0], lane >= 32 ? 9u : lane % 2 ? 0u : 0x05050505u);
}

TEST(Memory, MatrixStoresTakeUniformValues) {
  Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 512, .rules = {.barrierCompletesShared = true}});
  uint32_t out = b.buffer("out"), tile = b.shared("tile", 0, 512), kind = b.matrixKind(matrixRows8x8(4, false));
  Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 16));
  b.storeMatrix(kind, b.constant(DType::i16, 7, 8), {.region = tile, .lane = at});
  b.barrier();
  b.store(b.load(DType::i16, 8, {.region = tile, .lane = at}), {.region = out, .lane = at});
  std::vector<uint16_t> output(256);
  Result r = run(b.finish(), {.buffers = {{output.data(), 512}}, .checks = true});
  EXPECT_TRUE(r.ok()) << format(r);
  EXPECT_EQ(output, std::vector<uint16_t>(256, 7));
}

} // namespace
