// MI355X: the table.
#include "soliton/target/Chips.h"

namespace soliton::detail {

/// Reads of 16 bytes: the 16 lanes that 64 banks serve together.
static std::vector<std::vector<int>> wideReadPhases() {
  std::vector<std::vector<int>> phases;
  for (int half : {0, 32})
    phases.push_back({half + 0, half + 1, half + 2, half + 3, half + 12, half + 13, half + 14, half + 15, half + 20,
                      half + 21, half + 22, half + 23, half + 24, half + 25, half + 26, half + 27});
  for (int half : {0, 32})
    phases.push_back({half + 4, half + 5, half + 6, half + 7, half + 8, half + 9, half + 10, half + 11, half + 16,
                      half + 17, half + 18, half + 19, half + 28, half + 29, half + 30, half + 31});
  return phases;
}

/// Reads see 64 banks; stores and 12-byte reads behave as 32.
static std::vector<SharedAccess> sharedAccesses() {
  return {
      {4, false, {64, consecutivePhases(64, 64)}, 1}, {8, false, {64, consecutivePhases(64, 32)}, 2},
      {12, false, {32, gfx9WideReadPhases()}, 8},     {16, false, {64, wideReadPhases()}, 4},
      {4, true, {32, consecutivePhases(64, 32)}, 2},  {8, true, {32, consecutivePhases(64, 16)}, 4},
      {12, true, {32, consecutivePhases(64, 8)}, 8},  {16, true, {32, consecutivePhases(64, 8)}, 8},
  };
}

/// Lanes work in groups of 16; lane q's register r is element c of the row that lane s of its group addresses.
static std::vector<MatrixAccess> transposingLoads() {
  Dim S("S"), C("C");
  Layout b16({{4, S, 4}}, {{4, C, 1}, {4, S, 1}, {4, S, 16}});
  Layout b8({{8, S, 2}}, {{8, C, 1}, {2, S, 1}, {4, S, 16}});
  Layout b4({{16, S, 1}}, {{16, C, 1}, {4, S, 16}});
  return {{"ds_read_b64_tr_b16", 16, 4, true, false, b16, 8},
          {"ds_read_b64_tr_b8", 8, 8, true, false, b8, 8},
          {"ds_read_b64_tr_b4", 4, 16, true, false, b4, 8}};
}

static std::vector<MmaKind> mmas(DType e4m3, DType e5m2) {
  std::vector<MmaKind> kinds = gfx9Mmas(e4m3, e5m2);
  for (MmaKind &kind : kinds)
    if (kind.name == "F64_16x16x4_F64")
      kind.native.cycles = 64;
  for (MmaKind &kind : gfx9WideMmas(/*native=*/true, /*isDefault=*/true))
    kinds.push_back(std::move(kind));
  DType i8 = DType::i8;
  kinds.push_back(
      mfma({"I32_16x16x64_I8", 16, 16, 64, 16, 64, i8, i8, DType::i32, "v_mfma_i32_16x16x64_i8", 16, true}));
  kinds.push_back(mfma({"I32_32x32x32_I8", 32, 32, 32, 16, 32, i8, i8, DType::i32, "v_mfma_i32_32x32x32_i8", 32}));
  const DType scaled[] = {e4m3, e5m2, DType::f6e2m3fn, DType::f6e3m2fn, DType::f4e2m1fn};
  for (DType lhs : scaled)
    for (DType rhs : scaled) {
      int64_t rate = bits(lhs) == 8 || bits(rhs) == 8 ? 2 : 1;
      kinds.push_back(
          mfmaScaled("F32_16x16x128_F8F6F4", 16, 128, lhs, rhs, "v_mfma_scale_f32_16x16x128_f8f6f4", 16 * rate, true));
      kinds.push_back(
          mfmaScaled("F32_32x32x64_F8F6F4", 32, 64, lhs, rhs, "v_mfma_scale_f32_32x32x64_f8f6f4", 32 * rate, false));
    }
  return kinds;
}

static Target build() {
  Target target = gfx9Base();
  target.name = "gfx950";
  target.product = "MI355X";
  target.computeUnits = 256;
  target.clockMHz = 2400;
  target.sharedBytes = 160 * 1024;
  target.sharedGranule = 1280;
  target.sharedAccesses = sharedAccesses();
  target.asyncCopyBytes = {4, 12, 16};
  target.fp8e4m3 = DType::f8e4m3fn;
  target.fp8e5m2 = DType::f8e5m2;
  target.costs = {.valuIssue = 4,
                  .transcendentalIssue = 8,
                  .scalarIssue = 4,
                  .memoryIssue = 4,
                  .sharedLatency = 60,
                  .sharedStoreIssue = 16,
                  .globalLatencyL1 = 137,
                  .globalLatencyL2 = 245,
                  .globalLatencyMemory = 1000,
                  .globalService16 = 16,
                  .globalService4 = 4,
                  .globalSector = 6,
                  .globalLine = 1,
                  .globalBytesInFlight = 32768,
                  .shuffleLatency = 50,
                  .barrier = 4,
                  .mmaShadowStart = 8,
                  .mmaResultExtra = 20,
                  .measured = false};
  target.matrixAccesses = transposingLoads();
  target.mmas = mmas(target.fp8e4m3, target.fp8e5m2);
  return target;
}

const Target &gfx950() {
  static const Target target = build();
  return target;
}

} // namespace soliton::detail
