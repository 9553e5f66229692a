// MI300X: the table.
#include "soliton/target/Chips.h"

namespace soliton::detail {

static std::vector<SharedAccess> sharedAccesses() {
  std::vector<std::vector<int>> wide = gfx9WideReadPhases();
  return {
      {4, false, {32, consecutivePhases(64, 32)}, 2},
      {8, false, {32, consecutivePhases(64, 16)}, 4},
      {12, false, {32, wide}, 8},
      {16, false, {32, wide}, 8},
      {4, true, {32, consecutivePhases(64, 32)}, 2},
      {8, true, {32, consecutivePhases(64, 16)}, 4},
      {12, true, {32, consecutivePhases(64, 8)}, 8},
      {16, true, {32, consecutivePhases(64, 8)}, 8},
  };
}

static Target build() {
  Target target = gfx9Base();
  target.name = "gfx942";
  target.product = "MI300X";
  target.computeUnits = 304;
  target.clockMHz = 2100;
  target.sharedBytes = 64 * 1024;
  target.sharedGranule = 512;
  target.sharedAccesses = sharedAccesses();
  target.asyncCopyBytes = {4};
  target.fp8e4m3 = DType::f8e4m3fnuz;
  target.fp8e5m2 = DType::f8e5m2fnuz;
  target.costs = {.valuIssue = 4,
                  .transcendentalIssue = 16,
                  .scalarIssue = 4,
                  .memoryIssue = 4,
                  .sharedLatency = 64,
                  .sharedStoreIssue = 20,
                  .globalLatencyL1 = 118,
                  .globalLatencyL2 = 213,
                  .globalLatencyMemory = 880,
                  .globalService16 = 16,
                  .globalService4 = 4,
                  .globalSector = 10,
                  .globalLine = 1,
                  .globalBytesInFlight = 32768,
                  .shuffleLatency = 50,
                  .barrier = 4,
                  .mmaShadowStart = 4,
                  .mmaResultExtra = 16,
                  .measured = false};
  target.mmas = gfx9Mmas(target.fp8e4m3, target.fp8e5m2);
  for (MmaKind &kind : target.mmas)
    kind.isDefault |= kind.name == "F32_16x16x16_F16" || kind.name == "I32_16x16x32_I8";
  for (MmaKind &kind : gfx9WideMmas(/*native=*/false, /*isDefault=*/false))
    target.mmas.push_back(std::move(kind));
  return target;
}

const Target &gfx942() {
  static const Target target = build();
  return target;
}

} // namespace soliton::detail
