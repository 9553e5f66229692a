//===- TileTest.cpp - Tile copies and asynchronous products ---------------===//
#include "soliton/emulator/SamplePrograms.h"
#include "soliton/emulator/TestSupport.h"
#include "soliton/support/Float.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <tuple>

using namespace soliton;
using namespace soliton::emu;

namespace {

const Rules kRules{.barrierCompletesShared = true, .globalTicksVm = false};

/// A 2-d map over f32 with rows of `columns` elements.
TensorMap map2d(uint32_t argument, int64_t columns, int64_t rows, uint32_t boxColumns, uint32_t boxRows,
                uint32_t swizzle) {
  TensorMap map{.name = "map", .argument = argument, .type = DType::f32, .rank = 2, .swizzle = swizzle};
  map.size = {Quantity{columns}, Quantity{rows}};
  map.stride = {Quantity{4}, Quantity{columns * 4}};
  map.box = {boxColumns, boxRows};
  return map;
}

/// Copies the box at (x, y) of a 20x12 matrix into shared memory and from there, linearly, to `out`.
std::vector<float> loadBox(int64_t x, int64_t y, uint32_t swizzle, bool late) {
  Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 1024 + 8, .rules = kRules});
  b.buffer("in");
  uint32_t out = b.buffer("out"), tile = b.shared("tile", 0, 1024);
  At mbarrier{.region = b.shared("mbarrier", 1024, 8)};
  uint32_t map = b.tensorMap(map2d(0, 20, 12, 8, 8, swizzle));
  b.mbarrierInit(mbarrier, 1);
  b.mbarrierExpect(mbarrier, 256);
  b.copyTileLoad(map, {b.constant(DType::i32, x), b.constant(DType::i32, y)}, {.region = tile}, mbarrier);
  b.mbarrierWait(mbarrier, b.constant(DType::i32, 0));
  Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 8));
  b.store(b.load(DType::f32, 2, {.region = tile, .lane = at}), {.region = out, .lane = at});
  std::vector<float> input(20 * 12), output(64);
  std::iota(input.begin(), input.end(), 1.0f);
  Result r =
      run(b.finish(),
          {.buffers = {{input.data(), input.size() * 4}, {output.data(), 256}}, .checks = true, .adversarial = late});
  EXPECT_TRUE(r.ok()) << format(r);
  return output;
}

TEST(Tile, LoadFillsZerosOutsideAndSwizzles) {
  for (bool late : {false, true})
    for (uint32_t swizzle : {0u, 32u})
      for (auto [x, y] : std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {4, 3}, {16, 8}, {-4, -2}, {40, 0}}) {
        std::vector<float> box = loadBox(x, y, swizzle, late);
        for (int64_t r = 0; r < 8; ++r)
          for (int64_t c = 0; c < 8; ++c) {
            bool inside = x + c >= 0 && x + c < 20 && y + r >= 0 && y + r < 12;
            // Rows of 32 bytes: the two 16-byte chunks change places in rows 4..7.
            int64_t chunk = swizzle ? (c / 4) ^ (r / 4 % 2) : c / 4;
            EXPECT_EQ(box[size_t(r * 8 + chunk * 4 + c % 4)], inside ? float((y + r) * 20 + x + c + 1) : 0.0f);
          }
      }
}

/// Images of 4 channels and `columns` x `rows` pixels of f32, of which four channels are copied at a time.
struct Pixels {
  int64_t columns, rows, images;
  /// Along columns and rows.
  std::array<int32_t, 2> lower, upper, step;
  /// The first pixel's column, row and image, and what is off it.
  std::array<int64_t, 3> first;
  std::array<int64_t, 2> offset;
};

constexpr uint32_t kPixels = 32;

Result copyPixels(const Pixels &p, bool late, std::vector<float> &output) {
  Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 1024 + 8, .rules = kRules});
  b.buffer("in");
  uint32_t out = b.buffer("out"), tile = b.shared("tile", 0, 1024);
  At mbarrier{.region = b.shared("mbarrier", 1024, 8)};
  TensorMap map{.name = "map", .argument = 0, .type = DType::f32, .rank = 4};
  map.size = {Quantity{4}, Quantity{p.columns}, Quantity{p.rows}, Quantity{p.images}};
  map.stride = {Quantity{4}, Quantity{16}, Quantity{16 * p.columns}, Quantity{16 * p.columns * p.rows}};
  map.box = {4, kPixels, 1, 1};
  map.corners = 2;
  for (size_t d = 0; d < 2; ++d)
    std::tie(map.lower[d], map.upper[d], map.step[d]) = std::tie(p.lower[d], p.upper[d], p.step[d]);
  uint32_t number = b.tensorMap(map);
  auto constant = [&](int64_t value) { return b.constant(DType::i32, value); };
  b.mbarrierInit(mbarrier, 1);
  b.mbarrierExpect(mbarrier, 16 * kPixels);
  b.copyTileLoad(number, {constant(0), constant(p.first[0]), constant(p.first[1]), constant(p.first[2])},
                 {.region = tile}, mbarrier, {}, {constant(p.offset[0]), constant(p.offset[1])});
  b.mbarrierWait(mbarrier, constant(0));
  Value at = b.mul(b.id(IdKind::Lane), constant(16));
  b.store(b.load(DType::f32, 4, {.region = tile, .lane = at}), {.region = out, .lane = at});
  std::vector<float> input(static_cast<size_t>(4 * p.columns * p.rows * p.images));
  std::iota(input.begin(), input.end(), 1.0f);
  output.assign(4 * kPixels, -1.0f);
  return run(b.finish(), {.buffers = {{input.data(), input.size() * 4}, {output.data(), output.size() * 4}},
                          .checks = true,
                          .adversarial = late});
}

TEST(Tile, PixelsGoOnInTheNextRowAndImage) {
  for (bool late : {false, true})
    for (const Pixels &p : {Pixels{5, 3, 4, {-1, -1}, {-1, -1}, {1, 1}, {-1, -1, 0}, {0, 0}},
                            {5, 3, 4, {-1, -1}, {-1, -1}, {1, 1}, {2, 0, 1}, {2, 1}},
                            {7, 6, 3, {-2, -1}, {0, -1}, {2, 3}, {0, 2, 2}, {3, 0}},
                            {2, 2, 9, {-2, -2}, {-1, -2}, {1, 1}, {-1, -1, 0}, {4, 4}},
                            {4, 4, 1, {0, 0}, {0, 0}, {1, 1}, {0, 0, 0}, {0, 0}}}) {
      std::vector<float> output;
      Result r = copyPixels(p, late, output);
      EXPECT_TRUE(r.ok()) << format(r);
      int64_t column = p.first[0], row = p.first[1], image = p.first[2];
      for (size_t i = 0; i < kPixels; ++i) {
        int64_t x = column + p.offset[0], y = row + p.offset[1];
        bool inside = x >= 0 && x < p.columns && y >= 0 && y < p.rows && image < p.images;
        for (int64_t c = 0; c < 4; ++c)
          ASSERT_EQ(output[4 * i + static_cast<size_t>(c)],
                    inside ? float(4 * ((image * p.rows + y) * p.columns + x) + c + 1) : 0.0f)
              << i << " " << c;
        column += p.step[0];
        if (column <= p.columns - 1 + p.upper[0])
          continue;
        column = p.lower[0];
        row += p.step[1];
        if (row <= p.rows - 1 + p.upper[1])
          continue;
        row = p.lower[1];
        ++image;
      }
    }
}

TEST(Tile, PixelsThatNobodyCanAskFor) {
  std::vector<float> output;
  auto finds = [&](const Pixels &p, const char *said) {
    Result r = copyPixels(p, false, output);
    ASSERT_EQ(kindsOf(r), std::vector{FindingKind::OutOfBounds}) << format(r);
    EXPECT_NE(r.findings[0].message.find(said), std::string::npos) << format(r);
  };
  finds({5, 3, 4, {-1, -1}, {-1, -1}, {1, 1}, {4, 0, 0}, {0, 0}},
        "begins at 4 along dimension 1, expected a pixel: -1 to 3 in steps of 1");
  finds({7, 6, 3, {-2, -1}, {0, -1}, {2, 3}, {0, 1, 0}, {0, 0}},
        "begins at 1 along dimension 2, expected a pixel: -1 to 4 in steps of 3");
  finds({5, 3, 4, {-1, -1}, {-1, -1}, {1, 1}, {-1, -1, 0}, {0, -1}},
        "is off by -1 along dimension 2, expected 0 to 255");
  EXPECT_THROW(copyPixels({5, 3, 4, {-200, 0}, {0, 0}, {1, 1}, {0, 0, 0}, {0, 0}}, false, output), ProgramError);
  EXPECT_THROW(copyPixels({5, 3, 4, {0, 0}, {0, 0}, {1, 9}, {0, 0, 0}, {0, 0}}, false, output), ProgramError);
}

TEST(Tile, OneLaneIssuesACopy) {
  // Lanes below `active` reach the copy: none, one, all of them, or several, each of which would issue it.
  auto program = [](int64_t active) {
    Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 1024 + 8, .rules = kRules});
    b.buffer("in");
    uint32_t tile = b.shared("tile", 0, 1024);
    At mbarrier{.region = b.shared("mbarrier", 1024, 8)};
    uint32_t map = b.tensorMap(map2d(0, 20, 12, 8, 8, 0));
    b.mbarrierInit(mbarrier, 1);
    Value lanes = b.cmp(CmpOp::Slt, b.id(IdKind::Lane), b.constant(DType::i32, active));
    Value zero = b.constant(DType::i32, 0);
    b.beginIf(lanes);
    b.mbarrierExpect(mbarrier, 256);
    b.copyTileLoad(map, {zero, zero}, {.region = tile}, mbarrier);
    b.endIf();
    if (active > 0)
      b.mbarrierWait(mbarrier, zero);
    return b.finish();
  };
  std::vector<float> input(20 * 12);
  auto launch = [&](int64_t active) {
    return run(program(active), {.buffers = {{input.data(), input.size() * 4}}, .checks = true});
  };
  EXPECT_TRUE(launch(0).ok());
  EXPECT_EQ(launch(0).statistics.asyncCopies, 0u);
  EXPECT_TRUE(launch(1).ok()) << format(launch(1));
  EXPECT_TRUE(launch(32).ok());
  Result several = launch(5);
  ASSERT_EQ(kindsOf(several), (std::vector{FindingKind::Divergent, FindingKind::Divergent})) << format(several);
  EXPECT_NE(several.findings[1].message.find("is issued by 5 lanes, expected one"), std::string::npos);
}

/// Writes lane numbers into a tile with ordinary stores, then copies it out.
Program storeTile(bool fence, bool wait, bool add) {
  Builder b({.waveSize = 32, .waves = 2, .sharedBytes = 256, .rules = kRules});
  b.buffer("out");
  uint32_t tile = b.shared("tile", 0, 256);
  Value lane = b.id(IdKind::Lane), wave = b.id(IdKind::Wave);
  Value number = b.convert(ConvertOp::SToF, DType::f32, b.add(lane, b.mul(wave, b.constant(DType::i32, 32))));
  b.at({"t.cpp", 1, 1}, "store");
  b.store(number, {.region = tile,
                   .lane = b.mul(lane, b.constant(DType::i32, 4)),
                   .uniform = b.mul(wave, b.constant(DType::i32, 128))});
  if (fence)
    b.fence(FenceOp::Proxy);
  b.barrier();
  b.beginIf(b.cmp(CmpOp::Eq, wave, b.constant(DType::i32, 0)));
  b.beginIf(b.cmp(CmpOp::Eq, lane, b.constant(DType::i32, 0)));
  b.at({"t.cpp", 2, 1}, "store tile");
  uint32_t map = b.tensorMap(map2d(0, 12, 10, 8, 8, 0));
  b.copyTileStore(map, {b.constant(DType::i32, 8), b.constant(DType::i32, 4)}, {.region = tile}, add);
  b.commit(CounterKind::bulk);
  b.endIf();
  if (wait)
    b.wait(CounterKind::bulk, 0);
  b.endIf();
  return b.finish();
}

TEST(Tile, StoreClipsAndAdds) {
  for (bool late : {false, true})
    for (bool add : {false, true}) {
      std::vector<float> output(12 * 10, 1000.0f);
      Result r = run(storeTile(true, true, add),
                     {.buffers = {{output.data(), output.size() * 4}}, .checks = true, .adversarial = late});
      ASSERT_TRUE(r.ok()) << format(r);
      for (int64_t row = 0; row < 10; ++row)
        for (int64_t column = 0; column < 12; ++column) {
          float number = float((row - 4) * 8 + column - 8);
          bool inside = row >= 4 && column >= 8;
          EXPECT_EQ(output[size_t(row * 12 + column)], inside ? number + (add ? 1000 : 0) : 1000.0f);
        }
    }
}

TEST(Tile, NothingIsWrittenInFrontOfATensor) {
  auto storeAt = [](int64_t x, int64_t y) {
    Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 256, .rules = kRules});
    b.buffer("out");
    uint32_t tile = b.shared("tile", 0, 256);
    b.store(b.constant(DType::f32, 0), {.region = tile, .lane = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 8))});
    b.store(b.constant(DType::f32, 0),
            {.region = tile, .lane = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 8)), .immediate = 4});
    b.fence(FenceOp::Proxy);
    b.barrier();
    b.beginIf(b.cmp(CmpOp::Eq, b.id(IdKind::Lane), b.constant(DType::i32, 0)));
    b.copyTileStore(b.tensorMap(map2d(0, 12, 10, 8, 8, 0)), {b.constant(DType::i32, x), b.constant(DType::i32, y)},
                    {.region = tile}, /*add=*/false);
    b.commit(CounterKind::bulk);
    b.endIf();
    b.wait(CounterKind::bulk, 0);
    static std::vector<float> output(12 * 10);
    return run(b.finish(), {.buffers = {{output.data(), output.size() * 4}}, .checks = true});
  };
  EXPECT_TRUE(storeAt(0, 0).ok()) << format(storeAt(0, 0));
  EXPECT_TRUE(storeAt(12, 10).ok()) << "all of it behind the tensor";
  Result rows = storeAt(0, -8), columns = storeAt(-4, 0);
  ASSERT_EQ(kindsOf(rows), (std::vector{FindingKind::OutOfBounds})) << format(rows);
  EXPECT_NE(rows.findings[0].message.find("begins at -8 along dimension 1, expected 0 or more"), std::string::npos);
  ASSERT_EQ(kindsOf(columns), (std::vector{FindingKind::OutOfBounds})) << format(columns);
  EXPECT_NE(columns.findings[0].message.find("begins at -4 along dimension 0"), std::string::npos);
}

TEST(Tile, MissingFenceAndWait) {
  std::vector<float> output(120);
  auto go = [&](const Program &p) { return run(p, {.buffers = {{output.data(), 480}}, .checks = true}); };
  Result fence = go(storeTile(false, true, false));
  ASSERT_TRUE(finds(fence, FindingKind::MissingFence));
  EXPECT_EQ(fence.findings[0].origin.place.line, 2);
  EXPECT_EQ(fence.findings[0].otherOrigin.place.line, 1);
  EXPECT_TRUE(finds(go(storeTile(true, false, false)), FindingKind::MissingWait));
}

/// A tile is stored, and its place in shared memory written again behind a wait for the read; then what it wrote is
/// read.
Result storeTwice(bool waitRead, bool waitAll, std::vector<float> &output) {
  Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 128, .rules = kRules});
  uint32_t out = b.buffer("out"), copy = b.buffer("copy");
  uint32_t tile = b.shared("tile", 0, 128);
  Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4)), zero = b.constant(DType::i32, 0);
  TensorMap map{.name = "map", .argument = 0, .type = DType::f32, .rank = 1};
  map.size = {Quantity{32}};
  map.box = {32};
  uint32_t number = b.tensorMap(map);
  auto fill = [&](float value) { b.store(b.constantFloat(DType::f32, value), {.region = tile, .lane = at}); };
  fill(1);
  b.fence(FenceOp::Proxy);
  b.barrier();
  b.beginIf(b.cmp(CmpOp::Eq, lane, zero));
  b.copyTileStore(number, {zero}, {.region = tile});
  b.commit(CounterKind::bulk);
  if (waitRead)
    b.waitRead(0);
  b.endIf();
  b.barrier();
  fill(2);
  if (waitAll)
    b.wait(CounterKind::bulk, 0);
  b.store(b.load(DType::f32, 1, {.region = out, .lane = at}), {.region = copy, .lane = at});
  output.assign(32, 0);
  std::vector<float> there(32);
  return run(b.finish(), {.buffers = {{output.data(), 128}, {there.data(), 128}}, .checks = true, .adversarial = true});
}

TEST(Tile, AStoreHasReadBeforeItHasWritten) {
  std::vector<float> output;
  Result right = storeTwice(true, true, output);
  EXPECT_TRUE(right.ok()) << format(right);
  EXPECT_EQ(output, std::vector<float>(32, 1.0f));
  EXPECT_TRUE(finds(storeTwice(false, true, output), FindingKind::MissingWait)) << "the place is written too early";
  EXPECT_TRUE(finds(storeTwice(true, false, output), FindingKind::MissingWait)) << "the tensor is read too early";
}

TEST(Tile, MapBeyondItsBufferIsFound) {
  std::vector<float> output(100);
  EXPECT_TRUE(finds(run(storeTile(true, true, false), {.buffers = {{output.data(), 400}}, .checks = true}),
                    FindingKind::OutOfBounds));
}

/// A copy of a box of f16 at column `x` of rows that lie `pitch` bytes apart, from byte `offset` of its buffer on, all
/// of them known only when the program runs.
Result copyAt(int64_t x, int64_t pitch, int64_t offset, int64_t rows = 8) {
  Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 1024 + 8, .rules = kRules});
  b.buffer("in");
  At tile{.region = b.shared("tile", 0, 1024)}, mbarrier{.region = b.shared("mbarrier", 1024, 8)};
  TensorMap map{.name = "a", .type = DType::f16, .rank = 2};
  auto given = [&] { return Quantity{0, b.scalar(DType::i64).slot}; };
  map.size = {Quantity{16}, given()};
  map.stride = {Quantity{2}, given()};
  map.offset = given();
  map.box = {8, 8};
  b.mbarrierInit(mbarrier, 1);
  b.mbarrierExpect(mbarrier, 128);
  b.copyTileLoad(b.tensorMap(map), {b.constant(DType::i32, x), b.constant(DType::i32, 0)}, tile, mbarrier);
  b.mbarrierWait(mbarrier, b.constant(DType::i32, 0));
  std::vector<uint16_t> input(512);
  return run(b.finish(), {.buffers = {{input.data(), 1024}},
                          .scalars = {uint64_t(rows), uint64_t(pitch), uint64_t(offset)},
                          .checks = true});
}

TEST(Tile, WhatTheHardwareFaultsOnIsFound) {
  EXPECT_TRUE(copyAt(0, 32, 0).ok());
  EXPECT_TRUE(copyAt(8, 48, 64).ok());
  EXPECT_TRUE(copyAt(-8, 32, 0).ok());
  auto expect = [](const Result &result, const std::string &what) {
    ASSERT_EQ(kindsOf(result), (std::vector{FindingKind::Misaligned})) << format(result);
    EXPECT_NE(result.findings[0].message.find(what), std::string::npos) << result.findings[0].message;
  };
  for (int64_t x : {1, 2, 4, -4})
    expect(copyAt(x, 32, 0), " of `a` in wave 0 begins at byte " + std::to_string(2 * x) + " of its rows");
  expect(copyAt(0, 34, 0), "whose neighbours along dimension 1 lie 34 bytes apart, expected a multiple of 16");
  expect(copyAt(0, 32, 8), "has a tensor that begins at byte 8");
  EXPECT_TRUE(copyAt(0, 34, 0, 1).ok()) << "one row has no neighbour";
}

TEST(Tile, SizesWithoutMeaningLeaveNothingInside) {
  EXPECT_TRUE(copyAt(0, 32, 0, -1).ok());
  EXPECT_TRUE(copyAt(0, 32, 0, int64_t(1) << 50).ok());
  EXPECT_TRUE(finds(copyAt(0, 256, 0), FindingKind::OutOfBounds));
}

// --- mma_async. Shared memory is filled with an image made here, by the layouts as they are documented.

struct TileLayout {
  uint32_t swizzle;
  bool kMajor;
  uint32_t leading, stride;
};

/// Byte of element (outer, k) of a 64x16 f16 operand.
uint32_t byteOf(const TileLayout &t, uint32_t outer, uint32_t k) {
  uint32_t row = t.kMajor ? outer : k, column = t.kMajor ? k : outer; // Columns are contiguous.
  if (t.swizzle == 0)                                                 // Core matrices of 8 rows of 16 bytes.
    return row / 8 * (t.kMajor ? t.stride : t.leading) + column / 8 * (t.kMajor ? t.leading : t.stride) + row % 8 * 16 +
           column % 8 * 2;
  uint32_t perRow = t.swizzle / 2, inRow = column % perRow, chunk = inRow / 8;
  chunk ^= t.swizzle == 128 ? row % 8 : t.swizzle == 64 ? row / 2 % 4 : row / 4 % 2;
  return row / 8 * t.stride + column / perRow * t.leading + row % 8 * t.swizzle + chunk * 16 + inRow % 8 * 2;
}

struct Operands {
  std::vector<double> a, b; // [64][16], [64][16]: outer, k
  Operands() {
    std::mt19937 random(21);
    for (std::vector<double> *m : {&a, &b})
      for (int i = 0; i < 64 * 16; ++i)
        m->push_back(int(random() % 9) - 4);
  }
};

constexpr uint32_t kOperandBytes = 8192;

/// D = A·Bᵀ + 1 by one mma_async; `waitFirst` reads the result only after the wait.
Program product(const TileLayout &ta, const TileLayout &tb, bool aInRegisters, bool waitFirst) {
  Builder b({.waveSize = 32, .waves = 4, .sharedBytes = 2 * kOperandBytes, .rules = kRules});
  uint32_t image = b.buffer("image"), out = b.buffer("out"), fragments = b.buffer("fragments");
  uint32_t all = b.shared("operands", 0, 2 * kOperandBytes), kind = b.mmaKind(samples::mma64xNx16(64));
  Value lane = b.id(IdKind::Lane), wave = b.id(IdKind::Wave),
        thread = b.add(lane, b.mul(wave, b.constant(DType::i32, 32)));
  Value at = b.mul(thread, b.constant(DType::i32, 16));
  for (int64_t start = 0; start < 2 * kOperandBytes; start += 128 * 16)
    b.store(b.load(DType::i32, 4, {.region = image, .lane = at, .immediate = start}),
            {.region = all, .lane = at, .immediate = start});
  b.fence(FenceOp::Proxy);
  b.barrier();
  Value acc = b.constantFloat(DType::f32, 1, 32), a;
  if (aInRegisters)
    a = b.load(DType::f16, 8, {.region = fragments, .lane = at});
  uint32_t tileA = b.sharedTile({.region = all}, ta.leading, ta.stride, ta.swizzle, ta.kMajor);
  uint32_t tileB =
      b.sharedTile({.region = all, .immediate = kOperandBytes}, tb.leading, tb.stride, tb.swizzle, tb.kMajor);
  Value d = b.mmaAsync(kind, a, aInRegisters ? std::nullopt : std::optional(tileA), tileB, acc);
  b.commit(CounterKind::mma);
  if (waitFirst)
    d = b.wait(CounterKind::mma, 0, {d})[0];
  b.at({"t.cpp", 5, 1}, "use");
  for (uint32_t r = 0; r < 32; ++r)
    b.store(b.extract(d, r), {.region = out, .lane = b.mul(thread, b.constant(DType::i32, 128)), .immediate = r * 4});
  if (!waitFirst)
    b.wait(CounterKind::mma, 0);
  return b.finish();
}

Result runProduct(const TileLayout &ta, const TileLayout &tb, bool aInRegisters, bool waitFirst, bool checks,
                  std::vector<float> &out) {
  Operands operands;
  std::vector<uint8_t> image(2 * kOperandBytes);
  std::vector<uint16_t> fragments(128 * 8);
  auto put = [&](uint32_t at, double value) {
    uint16_t bits = uint16_t(encode(DType::f16, value));
    std::memcpy(&image[at], &bits, 2);
  };
  for (uint32_t outer = 0; outer < 64; ++outer)
    for (uint32_t k = 0; k < 16; ++k) {
      put(byteOf(ta, outer, k), operands.a[outer * 16 + k]);
      put(kOperandBytes + byteOf(tb, outer, k), operands.b[outer * 16 + k]);
    }
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t e = 0; e < 8; ++e) {
      uint32_t row = 16 * (t / 32) + t % 32 / 4 + 8 * (e / 2 % 2), k = 2 * (t % 4) + e % 2 + 8 * (e / 4);
      fragments[t * 8 + e] = uint16_t(encode(DType::f16, operands.a[row * 16 + k]));
    }
  out.assign(128 * 32, 0);
  return run(product(ta, tb, aInRegisters, waitFirst), {.buffers = {{image.data(), image.size()},
                                                                    {out.data(), out.size() * 4},
                                                                    {fragments.data(), fragments.size() * 2}},
                                                        .checks = checks});
}

TEST(MmaAsync, EveryOperandLayout) {
  // Operands are 64 x 16: one panel along k, so that only the distances that occur matter.
  std::vector<TileLayout> layouts{{0, true, 128, 256},  {32, true, 0, 256},       {64, true, 0, 512},
                                  {128, true, 0, 1024}, {128, false, 2048, 1024}, {64, false, 1024, 512},
                                  {0, false, 128, 256}};
  Operands operands;
  for (const TileLayout &ta : layouts)
    for (const TileLayout &tb : layouts)
      for (bool checks : {false, true}) {
        std::vector<float> out;
        Result r = runProduct(ta, tb, &ta == &layouts[0], true, checks, out);
        ASSERT_TRUE(r.ok()) << format(r);
        for (uint32_t t = 0; t < 128; ++t)
          for (uint32_t e = 0; e < 32; ++e) {
            uint32_t row = 16 * (t / 32) + t % 32 / 4 + 8 * (e / 2 % 2), column = 8 * (e / 4) + 2 * (t % 4) + e % 2;
            double sum = 1;
            for (uint32_t k = 0; k < 16; ++k)
              sum += operands.a[row * 16 + k] * operands.b[column * 16 + k];
            ASSERT_EQ(out[t * 32 + e], sum)
                << ta.swizzle << ta.kMajor << " " << tb.swizzle << tb.kMajor << " row " << row << " column " << column;
          }
      }
}

TEST(MmaAsync, ResultIsPendingUntilTheWait) {
  TileLayout layout{128, true, 0, 1024};
  std::vector<float> out;
  Result r = runProduct(layout, layout, false, false, true, out);
  ASSERT_TRUE(finds(r, FindingKind::PendingValue));
  EXPECT_EQ(r.findings[0].origin.place.line, 5);
  EXPECT_TRUE(std::isnan(out[0]));
}

} // namespace
