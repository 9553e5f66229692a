//===- SamplePrograms.cpp - Hand-built kernels for tests and benchmarks ---===//
//
// See SamplePrograms.h.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/SamplePrograms.h"

namespace soliton::emu::samples {

MmaKind mma16x16x16() {
  MmaKind kind{.name = "16x16x16.f16", .m = 16, .n = 16, .k = 16};
  kind.fragA = fragment(4, 64, [](uint32_t r, uint32_t l) { return l % 16 * 16 + 4 * (l / 16) + r; });
  kind.fragB = fragment(4, 64, [](uint32_t r, uint32_t l) { return (4 * (l / 16) + r) * 16 + l % 16; });
  kind.fragAcc = fragment(4, 64, [](uint32_t r, uint32_t l) { return (4 * (l / 16) + r) * 16 + l % 16; });
  return kind;
}

MmaKind mma16x8x16() {
  MmaKind kind{.name = "16x8x16.f16", .m = 16, .n = 8, .k = 16};
  kind.fragA = fragment(
      8, 32, [](uint32_t r, uint32_t l) { return (l / 4 + 8 * (r / 2 % 2)) * 16 + 2 * (l % 4) + r % 2 + 8 * (r / 4); });
  kind.fragB = fragment(4, 32, [](uint32_t r, uint32_t l) { return (2 * (l % 4) + r % 2 + 8 * (r / 2)) * 8 + l / 4; });
  kind.fragAcc =
      fragment(4, 32, [](uint32_t r, uint32_t l) { return (l / 4 + 8 * (r / 2)) * 8 + 2 * (l % 4) + r % 2; });
  return kind;
}

MmaKind mma64xNx16(uint32_t n) {
  MmaKind kind{.name = "64xNx16.f16", .m = 64, .n = n, .k = 16, .blocks = 1, .waves = 4};
  kind.fragA = fragment(
      8, 32, [](uint32_t r, uint32_t l) { return (l / 4 + 8 * (r / 2 % 2)) * 16 + 2 * (l % 4) + r % 2 + 8 * (r / 4); });
  kind.fragAcc = fragment(n / 2, 32, [n](uint32_t r, uint32_t l) {
    return (l / 4 + 8 * (r / 2 % 2)) * n + 8 * (r / 4) + 2 * (l % 4) + r % 2;
  });
  return kind;
}

namespace {

/// Rows of a shared tile of 32 halves, padded to 80 bytes.
constexpr uint32_t kPitch = 80;
constexpr uint32_t kTileBytes = 128 * kPitch;

/// Integer arithmetic with literals.
struct Ints {
  Builder &b;
  Value c(int64_t value) { return b.constant(DType::i32, value); }
  Value add(Value x, Value y) { return b.add(x, y); }
  Value mul(Value x, int64_t y) { return b.mul(x, c(y)); }
  Value div(Value x, int64_t y) { return b.binary(BinaryOp::DivU, x, c(y)); }
  Value rem(Value x, int64_t y) { return b.binary(BinaryOp::RemU, x, c(y)); }
};

/// What both kernels share: who copies which 16-byte chunk of a 128x32 tile.
struct Chunk {
  Value global, shared;
};

std::vector<Chunk> chunksOf(Builder &b, Value thread, uint32_t threads, uint32_t k) {
  Ints i{b};
  std::vector<Chunk> chunks;
  for (uint32_t first = 0; first < 512; first += threads) {
    Value chunk = i.add(thread, i.c(first));
    Value row = i.div(chunk, 4), column = i.rem(chunk, 4);
    chunks.push_back({i.add(i.mul(row, k * 2), i.mul(column, 16)), i.add(i.mul(row, kPitch), i.mul(column, 16))});
  }
  return chunks;
}

/// Byte offset of the workgroup's first row: id * 128 rows of `rowBytes`, as a uniform i64.
Value rowBase(Builder &b, IdKind id, int64_t rowBytes) {
  Value wide = b.convert(ConvertOp::ExtU, DType::i64, b.id(id));
  return b.mul(wide, b.constant(DType::i64, 128 * rowBytes));
}

struct Common {
  uint32_t a, bt, c, tileA, tileB;
  Value lane, waveM, waveN, thread, baseA, baseB, baseC;
};

Common begin(Builder &b, const GemmShape &shape, uint32_t waveSize) {
  Common s;
  Ints i{b};
  s.a = b.buffer("a");
  s.bt = b.buffer("b");
  s.c = b.buffer("c");
  s.tileA = b.shared("tile a", 0, kTileBytes);
  s.tileB = b.shared("tile b", kTileBytes, kTileBytes);
  s.lane = b.id(IdKind::Lane);
  Value wave = b.id(IdKind::Wave);
  s.waveM = i.div(wave, 2);
  s.waveN = i.rem(wave, 2);
  s.thread = i.add(i.mul(wave, waveSize), s.lane);
  s.baseA = rowBase(b, IdKind::Workgroup1, shape.k * 2);
  s.baseB = rowBase(b, IdKind::Workgroup0, shape.k * 2);
  Value column = b.convert(ConvertOp::ExtU, DType::i64, i.mul(b.id(IdKind::Workgroup0), 128 * 4));
  s.baseC = b.add(rowBase(b, IdKind::Workgroup1, shape.n * 4), column);
  return s;
}

} // namespace

Program gemmWaves64(const GemmShape &shape, Omit omit) {
  Builder b({.name = "gemm64", .waveSize = 64, .waves = 4, .sharedBytes = 2 * kTileBytes});
  Ints i{b};
  Common s = begin(b, shape, 64);
  uint32_t kind = b.mmaKind(mma16x16x16());
  std::vector<Chunk> chunks = chunksOf(b, s.thread, 256, shape.k);
  Value inRow = i.add(i.mul(i.rem(s.lane, 16), kPitch), i.mul(i.div(s.lane, 16), 8));
  Value readA = i.add(inRow, i.mul(s.waveM, 64 * kPitch)), readB = i.add(inRow, i.mul(s.waveN, 64 * kPitch));
  std::vector<Value> zeros(16, b.constantFloat(DType::f32, 0, 4));
  Loop loop = b.beginFor(i.c(0), i.c(shape.k * 2), i.c(64), zeros);
  std::vector<Value> loaded;
  b.at({"gemm64.cpp", 10, 3}, "read a and b");
  for (const Chunk &chunk : chunks) {
    loaded.push_back(
        b.load(DType::f16, 8, {.region = s.a, .lane = chunk.global, .uniform = loop.induction, .base = s.baseA}));
    loaded.push_back(
        b.load(DType::f16, 8, {.region = s.bt, .lane = chunk.global, .uniform = loop.induction, .base = s.baseB}));
  }
  b.at({"gemm64.cpp", 11, 3}, "before store");
  if (omit != Omit::BarrierBeforeStore) {
    b.wait(CounterKind::shared, 0);
    b.barrier();
  }
  b.at({"gemm64.cpp", 12, 3}, "store");
  for (size_t c = 0; c < chunks.size(); ++c) {
    b.store(loaded[2 * c], {.region = s.tileA, .lane = chunks[c].shared});
    b.store(loaded[2 * c + 1], {.region = s.tileB, .lane = chunks[c].shared});
  }
  b.at({"gemm64.cpp", 13, 3}, "after store");
  if (omit != Omit::WaitAfterStore)
    b.wait(CounterKind::shared, 0);
  if (omit != Omit::BarrierAfterStore)
    b.barrier();
  std::vector<Value> acc = loop.carried;
  for (uint32_t step = 0; step < 2; ++step) {
    std::vector<Value> fragA, fragB;
    b.at({"gemm64.cpp", 14, 5}, "load");
    for (uint32_t t = 0; t < 4; ++t) {
      fragA.push_back(
          b.load(DType::f16, 4, {.region = s.tileA, .lane = readA, .immediate = t * 16 * kPitch + step * 32}));
      fragB.push_back(
          b.load(DType::f16, 4, {.region = s.tileB, .lane = readB, .immediate = t * 16 * kPitch + step * 32}));
    }
    b.at({"gemm64.cpp", 15, 5}, "mma");
    for (uint32_t t = 0; t < 16; ++t)
      acc[t] = b.mma(kind, fragA[t / 4], fragB[t % 4], acc[t]);
  }
  b.endFor(loop, acc);
  b.at({"gemm64.cpp", 17, 3}, "write c");
  Value row = i.add(i.mul(s.waveM, 64), i.mul(i.div(s.lane, 16), 4));
  Value column = i.add(i.mul(s.waveN, 64), i.rem(s.lane, 16));
  Value write = i.add(i.mul(row, shape.n * 4), i.mul(column, 4));
  for (uint32_t t = 0; t < 16; ++t)
    for (uint32_t r = 0; r < 4; ++r)
      b.store(b.extract(loop.carried[t], r), {.region = s.c,
                                              .lane = write,
                                              .immediate = (t / 4 * 16 + r) * int64_t(shape.n) * 4 + t % 4 * 64,
                                              .base = s.baseC});
  return b.finish();
}

Program gemmWaves32(const GemmShape &shape, Omit omit) {
  Rules rules{.barrierCompletesShared = true, .globalTicksVm = false};
  Builder b({.name = "gemm32", .waveSize = 32, .waves = 4, .sharedBytes = 2 * kTileBytes, .rules = rules});
  Ints i{b};
  Common s = begin(b, shape, 32);
  uint32_t kind = b.mmaKind(mma16x8x16()), rows = b.matrixKind(matrixRows8x8(4, false));
  std::vector<Chunk> chunks = chunksOf(b, s.thread, 128, shape.k);
  Value eighth = i.div(s.lane, 8), inEight = i.rem(s.lane, 8);
  Value rowA = i.add(inEight, i.mul(i.rem(eighth, 2), 8)), rowB = i.add(inEight, i.mul(i.div(eighth, 2), 8));
  Value readA = i.add(i.mul(i.add(rowA, i.mul(s.waveM, 64)), kPitch), i.mul(i.div(eighth, 2), 16));
  Value readB = i.add(i.mul(i.add(rowB, i.mul(s.waveN, 64)), kPitch), i.mul(i.rem(eighth, 2), 16));
  std::vector<Value> zeros(32, b.constantFloat(DType::f32, 0, 4));
  Loop loop = b.beginFor(i.c(0), i.c(shape.k * 2), i.c(64), zeros);
  b.at({"gemm32.cpp", 10, 3}, "copy");
  if (omit != Omit::BarrierBeforeStore)
    b.barrier();
  for (const Chunk &chunk : chunks) {
    b.copyAsync(16, {.region = s.a, .lane = chunk.global, .uniform = loop.induction, .base = s.baseA},
                {.region = s.tileA, .lane = chunk.shared}, CounterKind::cpAsync, false);
    b.copyAsync(16, {.region = s.bt, .lane = chunk.global, .uniform = loop.induction, .base = s.baseB},
                {.region = s.tileB, .lane = chunk.shared}, CounterKind::cpAsync, false);
  }
  b.commit(CounterKind::cpAsync);
  if (omit != Omit::WaitForCopy)
    b.wait(CounterKind::cpAsync, 0);
  if (omit != Omit::BarrierAfterStore)
    b.barrier();
  std::vector<Value> acc = loop.carried;
  for (uint32_t step = 0; step < 2; ++step) {
    std::vector<Value> fragA, fragB;
    b.at({"gemm32.cpp", 14, 5}, "load");
    for (uint32_t t = 0; t < 4; ++t) {
      int64_t at = t * 16 * kPitch + step * 32;
      fragA.push_back(b.loadMatrix(rows, DType::f16, {.region = s.tileA, .lane = readA, .immediate = at}));
      Value both = b.loadMatrix(rows, DType::f16, {.region = s.tileB, .lane = readB, .immediate = at});
      fragB.push_back(b.slice(both, 0, 4));
      fragB.push_back(b.slice(both, 4, 4));
    }
    b.at({"gemm32.cpp", 15, 5}, "mma");
    for (uint32_t t = 0; t < 32; ++t)
      acc[t] = b.mma(kind, fragA[t / 8], fragB[t % 8], acc[t]);
  }
  b.endFor(loop, acc);
  b.at({"gemm32.cpp", 17, 3}, "write c");
  Value row = i.add(i.mul(s.waveM, 64), i.div(s.lane, 4));
  Value column = i.add(i.mul(s.waveN, 64), i.mul(i.rem(s.lane, 4), 2));
  Value write = i.add(i.mul(row, shape.n * 4), i.mul(column, 4));
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t r = 0; r < 2; ++r)
      b.store(b.slice(loop.carried[t], 2 * r, 2),
              {.region = s.c,
               .lane = write,
               .immediate = (t / 8 * 16 + r * 8) * int64_t(shape.n) * 4 + t % 8 * 32,
               .base = s.baseC});
  return b.finish();
}

namespace {

constexpr uint32_t kStageA = 64 * 128, kStageB = 128 * 128, kStages = 2;
constexpr uint32_t kFull = kStages * (kStageA + kStageB), kEmpty = kFull + 8 * kStages;

TensorMap rowsMap(const char *name, uint32_t argument, uint32_t rows, uint32_t k, uint32_t boxRows) {
  TensorMap map{.name = name, .argument = argument, .type = DType::f16, .rank = 2, .swizzle = 128};
  map.size = {Quantity{k}, Quantity{rows}};
  map.stride = {Quantity{2}, Quantity{int64_t(k) * 2}};
  map.box = {64, boxRows};
  return map;
}

struct TileKernel {
  Builder &b;
  Ints i;
  uint32_t stageA, stageB, full, empty, kind;

  At mbarrier(uint32_t region, Value stage) { return {.region = region, .uniform = i.mul(stage, 8)}; }
  Value parity(Value iteration) { return i.rem(i.div(iteration, kStages), 2); }

  void produce(const GemmShape &shape, uint32_t mapA, uint32_t mapB) {
    Loop loop = b.beginFor(i.c(0), i.c(shape.k / 64), i.c(1));
    Value stage = i.rem(loop.induction, kStages);
    b.at({"tiles.cpp", 20, 3}, "wait empty");
    b.mbarrierWait(mbarrier(empty, stage), b.binary(BinaryOp::Xor, parity(loop.induction), i.c(1)));
    b.at({"tiles.cpp", 21, 3}, "copy tile");
    b.mbarrierExpect(mbarrier(full, stage), kStageA + kStageB);
    Value k = i.mul(loop.induction, 64);
    b.copyTileLoad(mapA, {k, i.mul(b.id(IdKind::Workgroup1), 64)}, {.region = stageA, .uniform = i.mul(stage, kStageA)},
                   mbarrier(full, stage));
    b.copyTileLoad(mapB, {k, i.mul(b.id(IdKind::Workgroup0), 128)},
                   {.region = stageB, .uniform = i.mul(stage, kStageB)}, mbarrier(full, stage));
    b.endFor(loop);
  }

  void consume(const GemmShape &shape, uint32_t c, Omit omit) {
    Value zero = b.constantFloat(DType::f32, 0, 64);
    Loop loop = b.beginFor(i.c(0), i.c(shape.k / 64), i.c(1), {zero});
    Value stage = i.rem(loop.induction, kStages);
    b.at({"tiles.cpp", 30, 3}, "wait full");
    if (omit != Omit::WaitForCopy)
      b.mbarrierWait(mbarrier(full, stage), parity(loop.induction));
    b.at({"tiles.cpp", 31, 3}, "mma");
    b.fence(FenceOp::Mma);
    Value acc = loop.carried[0];
    for (uint32_t step = 0; step < 4; ++step) {
      uint32_t tileA = b.sharedTile({.region = stageA, .uniform = i.mul(stage, kStageA), .immediate = step * 32}, 0,
                                    1024, 128, true);
      uint32_t tileB = b.sharedTile({.region = stageB, .uniform = i.mul(stage, kStageB), .immediate = step * 32}, 0,
                                    1024, 128, true);
      acc = b.mmaAsync(kind, {}, tileA, tileB, acc);
    }
    b.commit(CounterKind::mma);
    if (omit != Omit::WaitAfterStore)
      acc = b.wait(CounterKind::mma, 0, {acc})[0];
    b.at({"tiles.cpp", 32, 3}, "arrive empty");
    b.mbarrierArrive(mbarrier(empty, stage));
    b.endFor(loop, {acc});
    b.at({"tiles.cpp", 34, 3}, "write c");
    Value done = b.wait(CounterKind::mma, 0, {loop.carried[0]})[0];
    write(shape, c, done);
  }

  void write(const GemmShape &shape, uint32_t c, Value acc) {
    Value lane = b.id(IdKind::Lane), group = i.mul(b.id(IdKind::Wave), 16);
    Value row = i.add(i.add(i.mul(b.id(IdKind::Workgroup1), 64), group), i.div(lane, 4));
    Value column = i.add(i.mul(b.id(IdKind::Workgroup0), 128), i.mul(i.rem(lane, 4), 2));
    Value at = i.add(i.mul(row, shape.n * 4), i.mul(column, 4));
    for (uint32_t r = 0; r < 64; r += 2)
      b.store(b.slice(acc, r, 2),
              {.region = c, .lane = at, .immediate = r / 2 % 2 * 8 * int64_t(shape.n) * 4 + r / 4 * 32});
  }
};

} // namespace

Program gemmTiles(const GemmShape &shape, Omit omit) {
  Rules rules{.barrierCompletesShared = true, .globalTicksVm = false};
  Builder b({.name = "tiles", .waveSize = 32, .waves = 8, .sharedBytes = kEmpty + 8 * kStages, .rules = rules});
  Ints i{b};
  b.buffer("a");
  b.buffer("b");
  uint32_t c = b.buffer("c");
  TileKernel kernel{b,
                    i,
                    b.shared("stage a", 0, kStages * kStageA),
                    b.shared("stage b", kStages * kStageA, kStages * kStageB),
                    b.shared("full", kFull, 8 * kStages),
                    b.shared("empty", kEmpty, 8 * kStages),
                    b.mmaKind(mma64xNx16(128))};
  uint32_t mapA = b.tensorMap(rowsMap("a", 0, shape.m, shape.k, 64));
  uint32_t mapB = b.tensorMap(rowsMap("b", 1, shape.n, shape.k, 128));
  Value wave = b.id(IdKind::Wave);
  b.at({"tiles.cpp", 10, 3}, "init");
  b.beginIf(b.cmp(CmpOp::Eq, wave, i.c(0)));
  for (uint32_t stage = 0; stage < kStages; ++stage) {
    b.mbarrierInit({.region = kernel.full, .immediate = stage * 8}, 1);
    b.mbarrierInit({.region = kernel.empty, .immediate = stage * 8}, 4);
  }
  b.endIf();
  b.barrier();
  b.beginIf(b.cmp(CmpOp::Ult, wave, i.c(4)));
  kernel.consume(shape, c, omit);
  b.beginElse();
  b.beginIf(b.cmp(CmpOp::Eq, wave, i.c(4)));
  kernel.produce(shape, mapA, mapB);
  b.endIf();
  b.endIf();
  return b.finish();
}

} // namespace soliton::emu::samples
