#include "soliton/target/Chips.h"

namespace soliton::detail {

Target gfx9Base() {
  Target target;
  target.vendor = Vendor::amd;
  target.waveSize = 64;
  target.maxThreadsPerWorkgroup = 1024;
  target.maxWavesPerWorkgroup = 16;
  target.simdsPerComputeUnit = 4;
  target.maxWavesPerSimd = 8;
  target.registersPerLane = 256;
  target.accumulatorRegistersPerLane = 256;
  target.registerFilePerSimdLane = 512;
  target.registerGranule = 8;
  // vmcnt has 6 bits, lgkmcnt 4; copies to shared memory count as vm.
  target.counters = {{CounterKind::vm, 63}, {CounterKind::shared, 15}};
  target.barrierCompletesShared = false;
  // global_atomic_pk_add_f16, global_atomic_pk_add_bf16 and their ds_ siblings; there are no others.
  target.narrowAtomicElements = 2;
  target.asyncCopyCounter = CounterKind::vm;
  target.asyncCopyIsLaneLinear = true;
  target.maxAccessBytes = 16;
  target.cacheLineBytes = 128;
  return target;
}

std::vector<MmaKind> gfx9Mmas(DType e4m3, DType e5m2) {
  std::vector<MmaKind> kinds;
  for (DType type : {DType::f16, DType::bf16}) {
    std::string suffix(name(type));
    kinds.push_back(
        mfma({"F32_16x16x16_F16", 16, 16, 16, 4, 16, type, type, DType::f32, "v_mfma_f32_16x16x16_" + suffix, 16}));
    kinds.push_back(
        mfma({"F32_32x32x8_F16", 32, 32, 8, 4, 8, type, type, DType::f32, "v_mfma_f32_32x32x8_" + suffix, 32}));
  }
  for (DType lhs : {e4m3, e5m2})
    for (DType rhs : {e4m3, e5m2}) {
      std::string suffix = std::string(lhs == e4m3 ? "fp8" : "bf8") + (rhs == e4m3 ? "_fp8" : "_bf8");
      std::string small = "v_mfma_f32_16x16x32_" + suffix, large = "v_mfma_f32_32x32x16_" + suffix;
      kinds.push_back(mfma({"F32_16x16x32_F8", 16, 16, 32, 8, 32, lhs, rhs, DType::f32, small, 16, true}));
      kinds.push_back(mfma({"F32_16x16x32_K4_F8", 16, 16, 32, 4, 32, lhs, rhs, DType::f32, small, 16}));
      kinds.push_back(mfma({"F32_32x32x16_F8", 32, 32, 16, 8, 16, lhs, rhs, DType::f32, large, 32}));
      kinds.push_back(mfma({"F32_32x32x16_K4_F8", 32, 32, 16, 4, 16, lhs, rhs, DType::f32, large, 32}));
    }
  DType i8 = DType::i8, f32 = DType::f32, f64 = DType::f64;
  kinds.push_back(mfma({"I32_16x16x32_I8", 16, 16, 32, 8, 32, i8, i8, DType::i32, "v_mfma_i32_16x16x32_i8", 16}));
  kinds.push_back(mfma({"I32_32x32x16_I8", 32, 32, 16, 8, 16, i8, i8, DType::i32, "v_mfma_i32_32x32x16_i8", 32}));
  kinds.push_back(mfma({"F32_16x16x4_F32", 16, 16, 4, 1, 4, f32, f32, f32, "v_mfma_f32_16x16x4_f32", 32, true}));
  kinds.push_back(mfma({"F32_32x32x2_F32", 32, 32, 2, 1, 2, f32, f32, f32, "v_mfma_f32_32x32x2_f32", 64}));
  kinds.push_back(mfmaF64({"F64_16x16x4_F64", 16, 16, 4, 1, 4, f64, f64, f64, "v_mfma_f64_16x16x4_f64", 32, true}));
  return kinds;
}

std::vector<MmaKind> gfx9WideMmas(bool native, bool isDefault) {
  std::vector<MmaKind> kinds;
  for (DType type : {DType::f16, DType::bf16}) {
    std::string suffix(name(type));
    std::string small = std::string(native ? "v_mfma_f32_16x16x32_" : "v_mfma_f32_16x16x16_") + suffix;
    std::string large = std::string(native ? "v_mfma_f32_32x32x16_" : "v_mfma_f32_32x32x8_") + suffix;
    int64_t smallK = native ? 32 : 16, largeK = native ? 16 : 8;
    auto add = [&](const char *smallName, const char *largeName, bool preferred) {
      kinds.push_back(mfma({smallName, 16, 16, 32, 8, smallK, type, type, DType::f32, small, 16, preferred}));
      kinds.push_back(mfma({largeName, 32, 32, 16, 8, largeK, type, type, DType::f32, large, 32}));
    };
    add("F32_16x16x32_F16", "F32_32x32x16_F16", isDefault);
    add("F32_16x16x32_K8_F16", "F32_32x32x16_K8_F16", false);
    if (type == DType::bf16)
      add("F32_16x16x32_BF16", "F32_32x32x16_BF16", false);
  }
  return kinds;
}

std::vector<std::vector<int>> gfx9WideReadPhases() {
  std::vector<std::vector<int>> phases;
  for (auto [a, b] : {std::pair(0, 20), {32, 52}, {4, 16}, {36, 48}, {8, 28}, {40, 60}, {12, 24}, {44, 56}}) {
    phases.push_back(laneRange(a, 4));
    for (int lane : laneRange(b, 4))
      phases.back().push_back(lane);
  }
  return phases;
}

} // namespace soliton::detail
