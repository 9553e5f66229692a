// H100, H200: the table.
#include "soliton/target/Chips.h"

namespace soliton::detail {

static std::vector<SharedAccess> sharedAccesses() {
  std::vector<SharedAccess> rows;
  for (bool write : {false, true})
    for (int bytes : {4, 8, 16})
      rows.push_back({bytes, write, {32, consecutivePhases(32, 128 / bytes)}, bytes / 4});
  return rows;
}

/// Lane l addresses row l mod 8 of matrix l div 8; a row is 8 elements of 16 bits.
static std::vector<MatrixAccess> matrixAccesses() {
  Dim S("S"), C("C");
  std::vector<MatrixAccess> rows;
  for (bool store : {false, true})
    for (int64_t count : {1, 2, 4})
      for (bool transposed : {false, true}) {
        std::string text =
            std::string(store ? "stmatrix.x" : "ldmatrix.x") + std::to_string(count) + (transposed ? ".trans" : "");
        Layout plain({{2, C, 1}, {count, S, 8}}, {{4, C, 2}, {8, S, 1}});
        Layout turned({{2, S, 1}, {count, S, 8}}, {{4, S, 2}, {8, C, 1}});
        rows.push_back({text, 16, 8, transposed, store, (transposed ? turned : plain).canonical(), 16});
      }
  return rows;
}

static void addSixteenBit(std::vector<MmaKind> &kinds) {
  DType f32 = DType::f32;
  for (DType type : {DType::f16, DType::bf16}) {
    kinds.push_back(mmaSync({"F32_16x16x16_F16", 16, 16, 16, 16, KOrder::native, type, type, f32, true}));
    kinds.push_back(mmaSync({"F32_32x32x8_F16", 32, 32, 8, 8, KOrder::native, type, type, f32}));
    kinds.push_back(mmaSync({"F32_16x16x32_F16", 16, 16, 32, 16, KOrder::native, type, type, f32}));
    kinds.push_back(mmaSync({"F32_32x32x16_F16", 32, 32, 16, 16, KOrder::native, type, type, f32}));
    kinds.push_back(mmaSync({"F32_16x16x32_K8_F16", 16, 16, 32, 16, KOrder::contiguous, type, type, f32}));
    kinds.push_back(mmaSync({"F32_32x32x16_K8_F16", 32, 32, 16, 16, KOrder::contiguous, type, type, f32}));
    kinds.push_back(mmaSync({"F32_16x8x16_F16", 16, 8, 16, 16, KOrder::native, type, type, f32}));
  }
  DType bf16 = DType::bf16;
  kinds.push_back(mmaSync({"F32_16x16x32_BF16", 16, 16, 32, 16, KOrder::native, bf16, bf16, f32}));
  kinds.push_back(mmaSync({"F32_32x32x16_BF16", 32, 32, 16, 16, KOrder::native, bf16, bf16, f32}));
}

static void addEightBit(std::vector<MmaKind> &kinds) {
  DType f32 = DType::f32;
  for (DType lhs : {DType::f8e4m3fn, DType::f8e5m2})
    for (DType rhs : {DType::f8e4m3fn, DType::f8e5m2}) {
      kinds.push_back(mmaSync({"F32_16x16x32_F8", 16, 16, 32, 32, KOrder::native, lhs, rhs, f32, true}));
      kinds.push_back(mmaSync({"F32_32x32x16_F8", 32, 32, 16, 16, KOrder::native, lhs, rhs, f32}));
      kinds.push_back(mmaSync({"F32_16x16x32_K4_F8", 16, 16, 32, 32, KOrder::accumulator, lhs, rhs, f32}));
      kinds.push_back(mmaSync({"F32_32x32x16_K4_F8", 32, 32, 16, 16, KOrder::accumulator, lhs, rhs, f32}));
      kinds.push_back(mmaSync({"F32_16x8x32_F8", 16, 8, 32, 32, KOrder::native, lhs, rhs, f32}));
    }
  DType i8 = DType::i8, i32 = DType::i32;
  kinds.push_back(mmaSync({"I32_16x16x32_I8", 16, 16, 32, 32, KOrder::native, i8, i8, i32, true}));
  kinds.push_back(mmaSync({"I32_16x16x16_I8", 16, 16, 16, 16, KOrder::native, i8, i8, i32}));
  kinds.push_back(mmaSync({"I32_32x32x16_I8", 32, 32, 16, 16, KOrder::native, i8, i8, i32}));
  kinds.push_back(mmaSync({"I32_16x16x64_I8", 16, 16, 64, 32, KOrder::native, i8, i8, i32}));
  kinds.push_back(mmaSync({"I32_32x32x32_I8", 32, 32, 32, 32, KOrder::native, i8, i8, i32}));
  kinds.push_back(mmaSync({"I32_16x8x32_I8", 16, 8, 32, 32, KOrder::native, i8, i8, i32}));
}

static void addWarpgroup(std::vector<MmaKind> &kinds) {
  for (int64_t n = 8; n <= 256; n += 8) {
    for (DType type : {DType::f16, DType::bf16})
      kinds.push_back(wgmma(n, 16, type, type, DType::f32));
    for (DType lhs : {DType::f8e4m3fn, DType::f8e5m2})
      for (DType rhs : {DType::f8e4m3fn, DType::f8e5m2})
        kinds.push_back(wgmma(n, 32, lhs, rhs, DType::f32));
    // Integer shapes: 8, 16, 24, 32, then steps of 16.
    if (n <= 32 || n % 16 == 0)
      kinds.push_back(wgmma(n, 32, DType::i8, DType::i8, DType::i32));
  }
}

static std::vector<MmaKind> mmas() {
  std::vector<MmaKind> kinds;
  addSixteenBit(kinds);
  addEightBit(kinds);
  DType f64 = DType::f64;
  kinds.push_back(mmaSync({"F64_16x16x4_F64", 16, 16, 4, 4, KOrder::native, f64, f64, f64, true}));
  addWarpgroup(kinds);
  return kinds;
}

static Target build() {
  Target target;
  target.name = "sm_90a";
  target.product = "H100, H200";
  target.vendor = Vendor::nvidia;
  target.waveSize = 32;
  target.maxThreadsPerWorkgroup = 1024;
  target.maxWavesPerWorkgroup = 32;
  target.computeUnits = 132;
  target.simdsPerComputeUnit = 4;
  target.maxWavesPerSimd = 16;
  target.clockMHz = 1830;
  target.sharedBytes = 227 * 1024;
  target.sharedGranule = 128;
  target.sharedAccesses = sharedAccesses();
  target.registersPerLane = 255;
  target.accumulatorRegistersPerLane = 0;
  target.registerFilePerSimdLane = 512;
  target.registerGranule = 8;
  target.counters = {{CounterKind::vm, 63, true, false, /*needsInstruction=*/false},
                     {CounterKind::shared, 63, true, false, /*needsInstruction=*/false},
                     {CounterKind::cpAsync, 63, true, /*grouped=*/true},
                     {CounterKind::bulk, 63, true, /*grouped=*/true},
                     {CounterKind::mma, 7, true, /*grouped=*/true},
                     {CounterKind::boxes, 15, true, /*grouped=*/true, /*needsInstruction=*/true, /*ofWorkgroup=*/true}};
  target.barrierCompletesShared = true;
  target.lanesInLockstep = false;
  target.namedBarriers = 16;
  target.hasMbarrier = true;
  target.hasThreeWordAccess = false;
  target.hasPrefetch = true;
  target.hasTileCopy = true;
  target.hasRegisterReallocation = true;
  target.hasDependentLaunches = true;
  target.maxClusterSize = 16;
  target.asyncCopyBytes = {4, 8, 16};
  target.asyncCopyCounter = CounterKind::cpAsync;
  target.asyncCopyIsLaneLinear = false;
  target.maxAccessBytes = 16;
  target.cacheLineBytes = 128;
  target.sectorBytes = 32;
  target.fp8e4m3 = DType::f8e4m3fn;
  target.fp8e5m2 = DType::f8e5m2;
  // Coarse; only rates derived from the chip's peak are exact.
  target.costs = {.valuIssue = 1,
                  .transcendentalIssue = 8,
                  .scalarIssue = 1,
                  .memoryIssue = 1,
                  .sharedLatency = 30,
                  .sharedStoreIssue = 4,
                  .globalLatencyL1 = 38,
                  .globalLatencyL2 = 270,
                  .globalLatencyMemory = 700,
                  .globalService16 = 8,
                  .globalService4 = 2,
                  .globalSector = 2,
                  .globalLine = 1,
                  .globalBytesInFlight = 65536,
                  .shuffleLatency = 24,
                  .barrier = 20,
                  .mmaShadowStart = 0,
                  .mmaResultExtra = 16,
                  .mmaChainExtra = 16,
                  .measured = false};
  target.matrixAccesses = matrixAccesses();
  target.mmas = mmas();
  return target;
}

const Target &sm90a() {
  static const Target target = build();
  return target;
}

} // namespace soliton::detail
