#include "soliton/target/Target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace soliton;

namespace {
const Dim M("M"), K("K"), S("S"), C("C");

const Target &target(std::string_view name) {
  return *findTarget(name);
}

/// Clocks of an access in which lane l addresses `stride * l`.
int64_t linearClocks(const Target &chip, int64_t bytes, bool write) {
  std::vector<int64_t> addresses;
  for (int64_t lane = 0; lane < chip.waveSize; ++lane)
    addresses.push_back(lane * bytes);
  return serviceClocks(chip.sharedAccess(bytes, write).model, addresses, bytes);
}
} // namespace

TEST(Targets, Registry) {
  EXPECT_EQ(targetNames(), (std::vector<std::string>{"sm_90a", "gfx942", "gfx950"}));
  EXPECT_EQ(findTarget("sm_90a")->waveSize, 32);
  EXPECT_EQ(findTarget("gfx900"), nullptr);
  EXPECT_EQ(selectTarget("gfx950").target, findTarget("gfx950"));
}

TEST(Targets, UnknownTargetIsGuessed) {
  TargetChoice choice = selectTarget("gfx941", Place("kernel.cpp", 3, 7));
  EXPECT_EQ(choice.target, nullptr);
  EXPECT_EQ(format(*choice.error),
            "kernel.cpp:3:7: error: found target `gfx941`, expected `sm_90a`, `gfx942` or `gfx950` "
            "[unknown-target]\n  hint: did you mean `gfx942`?");
  EXPECT_TRUE(selectTarget("tpu").error->hint.empty());
}

TEST(Targets, Memories) {
  EXPECT_EQ(target("gfx942").sharedBytes, 65536);
  EXPECT_EQ(target("gfx950").sharedBytes, 163840);
  EXPECT_EQ(target("sm_90a").sharedBytes, 232448);
  EXPECT_TRUE(target("gfx950").hasAsyncCopy(12) && !target("gfx950").hasAsyncCopy(8));
  EXPECT_TRUE(target("gfx942").hasAsyncCopy(4) && !target("gfx942").hasAsyncCopy(16));
  EXPECT_TRUE(target("sm_90a").hasAsyncCopy(8) && !target("sm_90a").hasAsyncCopy(12));
  EXPECT_TRUE(target("sm_90a").barrierCompletesShared && !target("gfx942").barrierCompletesShared);
  EXPECT_EQ(target("gfx942").fp8e4m3, DType::f8e4m3fnuz);
  EXPECT_EQ(target("gfx950").fp8e4m3, DType::f8e4m3fn);
}

TEST(Targets, Counters) {
  EXPECT_EQ(target("gfx942").counter(CounterKind::vm)->maxPending, 63);
  EXPECT_EQ(target("gfx950").counter(CounterKind::shared)->maxPending, 15);
  EXPECT_EQ(target("gfx942").counter(CounterKind::mma), nullptr);
  EXPECT_EQ(target("sm_90a").counter(CounterKind::mma)->maxPending, 7);
  EXPECT_TRUE(target("sm_90a").counter(CounterKind::cpAsync)->grouped);
  EXPECT_FALSE(target("sm_90a").counter(CounterKind::shared)->needsInstruction);
  for (const Target *chip : allTargets()) {
    EXPECT_NE(chip->counter(chip->asyncCopyCounter), nullptr);
    for (const Counter &counter : chip->counters)
      EXPECT_EQ(parseCounterKind(name(counter.kind)), counter.kind);
  }
  EXPECT_FALSE(parseCounterKind("lgkm"));
}

TEST(Targets, PhasesServeEachLaneOnce) {
  for (const Target *chip : allTargets())
    for (const SharedAccess &row : chip->sharedAccesses) {
      std::vector<int> lanes, all(static_cast<size_t>(chip->waveSize));
      for (const std::vector<int> &phase : row.model.phases)
        lanes.insert(lanes.end(), phase.begin(), phase.end());
      std::ranges::sort(lanes);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(lanes, all) << chip->name << " " << row.bytes;
    }
}

TEST(Targets, ConflictFreeClocksAsMeasured) {
  struct Row {
    const char *chip;
    int64_t bytes;
    bool write;
    int64_t clocks;
  } rows[] = {{"gfx942", 4, false, 2}, {"gfx942", 8, false, 4}, {"gfx942", 16, false, 8}, {"gfx942", 8, true, 4},
              {"gfx942", 16, true, 8}, {"gfx950", 4, false, 1}, {"gfx950", 8, false, 2},  {"gfx950", 16, false, 4},
              {"gfx950", 8, true, 4},  {"gfx950", 16, true, 8}, {"sm_90a", 4, false, 1},  {"sm_90a", 8, false, 2},
              {"sm_90a", 16, true, 4}};
  for (const Row &row : rows) {
    EXPECT_EQ(linearClocks(target(row.chip), row.bytes, row.write), row.clocks) << row.chip << " " << row.bytes;
    EXPECT_EQ(target(row.chip).sharedAccess(row.bytes, row.write).clocks, row.clocks) << row.chip << " " << row.bytes;
  }
  EXPECT_EQ(target("gfx950").sharedAccess(12, false).clocks, 8);
  EXPECT_EQ(target("gfx942").sharedAccess(2, false).bytes, 4) << "narrower accesses are served as words";
}

TEST(Targets, ConflictDegreeMultipliesService) {
  // 16-byte reads: the model's 4c clocks are the measured 16c of four waves and max(8, 4c) of one.
  const BankModel &model = target("gfx950").sharedAccess(16, false).model;
  for (int64_t degree : {1, 2, 4, 8, 16}) {
    std::vector<int64_t> addresses(64);
    for (const std::vector<int> &phase : model.phases)
      for (size_t i = 0; i < phase.size(); ++i) {
        int64_t columns = 16 / degree, at = static_cast<int64_t>(i);
        addresses[static_cast<size_t>(phase[i])] = at % columns * 16 + at / columns * 256;
      }
    EXPECT_EQ(serviceClocks(model, addresses, 16), 4 * degree);
    EXPECT_EQ(countConflicts(model, addresses, 16), 4 * degree - 4);
  }
}

TEST(Targets, PhasesOfWideReadsAreNotConsecutive) {
  // Rows of 128 bytes read 16 bytes per lane by 16 rows: lanes 0-3 share a phase with 20-23 (32 banks), so consecutive
  // eights would call conflict-free what is not.
  std::vector<int64_t> addresses(64);
  for (int64_t lane = 0; lane < 64; ++lane)
    addresses[static_cast<size_t>(lane)] = lane / 8 * 1024 + lane % 8 * 16;
  const BankModel &model = target("gfx942").sharedAccess(16, false).model;
  EXPECT_EQ(serviceClocks(model, addresses, 16), 8);
  for (int64_t lane = 0; lane < 64; ++lane)
    addresses[static_cast<size_t>(lane)] = lane / 4 * 1024 + lane % 4 * 16;
  EXPECT_EQ(serviceClocks(model, addresses, 16), 16) << "lanes 0-3 and 20-23 meet in the same banks";
}

TEST(Targets, SwizzleThatSixtyFourBanksWouldBless) {
  // 64 f16 per row, 16-byte reads of the 16x16x32 operand: chunks of 8 that change every row are free on 32 banks,
  // those that change every second row only on 64; checking gfx942 with 64 banks calls the latter good.
  const Target &narrow = target("gfx942"), &wide = target("gfx950");
  MmaChoice mma = selectMma(narrow, "F32_16x16x32_K8_F16", {DType::f16, DType::f16, DType::f32});
  ASSERT_TRUE(mma);
  Layout operand = mma.kind->lhs.layout.tiled(Axis::reg, K, 2, 32);
  SharedAccessPattern reads{operand, 8, narrow.sharedAccess(16, false).model}, wrong = reads, onWide = reads;
  wrong.model.banks = 64;
  onWide.model = wide.sharedAccess(16, false).model;
  SharedMap everyRow{{{M, 64}, {K, 64}}, 0, {8, 1, 8}}, everySecond{{{M, 64}, {K, 64}}, 0, {8, 2, 8}};
  EXPECT_EQ(countConflicts(everyRow, 16, reads), 0);
  EXPECT_EQ(countConflicts(everySecond, 16, reads), 2 * 8) << "two instructions of 16 clocks instead of 8";
  EXPECT_EQ(countConflicts(everySecond, 16, wrong), 0);
  EXPECT_EQ(countConflicts(everySecond, 16, onWide), 0);
  EXPECT_EQ(chooseSwizzle({{{M, 64}, {K, 64}}}, 16, {reads}).map, everyRow);
}

TEST(Targets, PaddingOfTheWorkedExample) {
  // 128x32 f16, read 8 bytes per lane in the layout of the 16x16x16 operand.
  const Target &chip = target("gfx942");
  MmaChoice mma = selectMma(chip, "F32_16x16x16_F16", {DType::f16, DType::f16, DType::f32});
  ASSERT_TRUE(mma);
  Layout operand =
      mma.kind->lhs.layout.tiled(Axis::reg, K, 2, 16).tiled(Axis::reg, M, 4, 16).tiled(Axis::wave, M, 2, 64);
  SharedAccessPattern reads{operand, 4, chip.sharedAccess(8, false).model};
  SharedMap map{{{M, 128}, {K, 32}}};
  EXPECT_GT(countConflicts(map, 16, reads), 0);
  SharedChoice choice = choosePadding(map, 16, {reads});
  EXPECT_EQ(choice.map.padding, 4);
  EXPECT_EQ(choice.conflicts, 0);
  EXPECT_EQ(chooseSwizzle(map, 16, {reads}).conflicts, 0);
}

TEST(Targets, MatrixLoads) {
  // Formulas of the collective loads: which (address lane S, element C) lane l's register r receives.
  const MatrixAccess &b16 = *target("gfx950").matrixAccess("ds_read_b64_tr_b16");
  const MatrixAccess &b8 = *target("gfx950").matrixAccess("ds_read_b64_tr_b8");
  const MatrixAccess &b4 = *target("gfx950").matrixAccess("ds_read_b64_tr_b4");
  for (int64_t lane = 0; lane < 64; ++lane) {
    int64_t q = lane % 16, group = lane / 16 * 16;
    auto expect = [&](const MatrixAccess &access, int64_t r, int64_t s, int64_t c) {
      EXPECT_EQ(access.result.coordinate(S, r, lane, 0), group + s) << access.name;
      EXPECT_EQ(access.result.coordinate(C, r, lane, 0), c) << access.name;
    };
    for (int64_t r = 0; r < 4; ++r)
      expect(b16, r, 4 * r + q / 4, q % 4);
    for (int64_t r = 0; r < 8; ++r)
      expect(b8, r, 2 * r + q / 8, q % 8);
    for (int64_t r = 0; r < 16; ++r)
      expect(b4, r, r, q);
  }
  const MatrixAccess &plain = *target("sm_90a").matrixAccess("ldmatrix.x4");
  const MatrixAccess &turned = *target("sm_90a").matrixAccess("ldmatrix.x4.trans");
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t r = 0; r < 8; ++r) {
      int64_t matrix = r / 2, row = lane / 4, column = 2 * (lane % 4) + r % 2;
      EXPECT_EQ(plain.result.coordinate(S, r, lane, 0), 8 * matrix + row);
      EXPECT_EQ(plain.result.coordinate(C, r, lane, 0), column);
      EXPECT_EQ(turned.result.coordinate(S, r, lane, 0), 8 * matrix + column);
      EXPECT_EQ(turned.result.coordinate(C, r, lane, 0), row);
    }
  for (const Target *chip : allTargets())
    for (const MatrixAccess &access : chip->matrixAccesses) {
      EXPECT_TRUE(access.result.isBijectiveUpToReplication()) << access.name;
      EXPECT_EQ(access.result.extent(C), access.contiguous) << access.name;
      EXPECT_EQ(access.result.lanes(), chip->waveSize) << access.name;
    }
  EXPECT_EQ(target("gfx942").matrixAccess("ds_read_b64_tr_b16"), nullptr);
}

//===----------------------------------------------------------------------===//
// Selecting an MMA
//===----------------------------------------------------------------------===//

namespace {
const MmaTypes kHalf{DType::f16, DType::f16, DType::f32};

std::string errorOf(std::string_view chip, std::optional<std::string_view> mma, MmaTypes types) {
  MmaChoice choice = selectMma(target(chip), mma, types);
  EXPECT_FALSE(choice);
  return choice.error ? format(*choice.error) : "";
}
} // namespace

TEST(SelectMma, DefaultsPerElementTypes) {
  auto defaultOf = [](std::string_view chip, MmaTypes types) {
    return selectMma(target(chip), std::nullopt, types).kind->name;
  };
  EXPECT_EQ(defaultOf("gfx942", kHalf), "F32_16x16x16_F16");
  EXPECT_EQ(defaultOf("gfx950", kHalf), "F32_16x16x32_F16");
  EXPECT_EQ(defaultOf("sm_90a", kHalf), "F32_16x16x16_F16");
  EXPECT_EQ(defaultOf("gfx950", {DType::bf16, DType::bf16, DType::f32}), "F32_16x16x32_F16");
  EXPECT_EQ(defaultOf("gfx950", {DType::i8, DType::i8, DType::i32}), "I32_16x16x64_I8");
  EXPECT_EQ(defaultOf("gfx942", {DType::f64, DType::f64, DType::f64}), "F64_16x16x4_F64");
  EXPECT_EQ(defaultOf("gfx950", {DType::f4e2m1fn, DType::f8e4m3fn, DType::f32, true}), "F32_16x16x128_F8F6F4");
  for (const Target *chip : allTargets()) {
    EXPECT_EQ(defaultOf(chip->name, {chip->fp8e4m3, chip->fp8e5m2, DType::f32}), "F32_16x16x32_F8");
    for (const MmaKind &kind : chip->mmas) {
      MmaTypes types{kind.lhs.type, kind.rhs.type, kind.acc.type, kind.scaleBlock != 0};
      int defaults = 0;
      for (const MmaKind *legal : legalMmas(*chip, types))
        defaults += legal->isDefault;
      EXPECT_EQ(defaults, 1) << chip->name << " " << kind.name;
      EXPECT_EQ(selectMma(*chip, kind.name, types).kind, &kind);
    }
  }
}

TEST(SelectMma, PortableNames) {
  for (const Target *chip : allTargets()) {
    for (const char *text : {"F32_16x16x16_F16", "F32_32x32x8_F16", "F32_16x16x32_K8_F16", "F32_32x32x16_K8_F16",
                             "F32_16x16x32_F16", "F32_32x32x16_F16"})
      for (DType type : {DType::f16, DType::bf16})
        EXPECT_TRUE(selectMma(*chip, text, {type, type, DType::f32})) << chip->name << " " << text;
    for (const char *text : {"F32_16x16x32_F8", "F32_32x32x16_F8", "F32_16x16x32_K4_F8", "F32_32x32x16_K4_F8"})
      EXPECT_TRUE(selectMma(*chip, text, {chip->fp8e4m3, chip->fp8e4m3, DType::f32})) << chip->name << " " << text;
    for (const char *text : {"I32_16x16x32_I8", "I32_32x32x16_I8"})
      EXPECT_TRUE(selectMma(*chip, text, {DType::i8, DType::i8, DType::i32})) << chip->name << " " << text;
  }
}

TEST(SelectMma, NotOnTarget) {
  EXPECT_EQ(errorOf("gfx942", "F32_16x16x128_F8F6F4", kHalf),
            "soliton: error: the MMA type `F32_16x16x128_F8F6F4` does not exist on `gfx942` [mma-not-on-target]\n"
            "  hint: use `F32_16x16x16_F16`, `F32_32x32x8_F16`, `F32_16x16x32_F16`, `F32_32x32x16_F16`, "
            "`F32_16x16x32_K8_F16` or `F32_32x32x16_K8_F16`");
  EXPECT_EQ(errorOf("sm_90a", std::nullopt, {DType::f32, DType::f32, DType::f32}),
            "soliton: error: `sm_90a` has no matrix instruction that multiplies `f32` by `f32` into `f32` "
            "[mma-not-on-target]\n  hint: `sm_90a` multiplies `f16`, `bf16`, `f8e4m3fn`, `f8e5m2`, `i8` or `f64`");
  EXPECT_EQ(errorOf("gfx942", std::nullopt, {DType::f16, DType::f16, DType::f16}),
            "soliton: error: `gfx942` has no matrix instruction that multiplies `f16` by `f16` into `f16` "
            "[mma-not-on-target]\n  hint: `gfx942` adds such products up in `f32`");
  EXPECT_NE(errorOf("gfx942", "I32_16x16x16_I8", {DType::i8, DType::i8, DType::i32}).find("[mma-not-on-target]"),
            std::string::npos);
  EXPECT_NE(errorOf("sm_90a", "GFX1250_F32_16x16x32_F16", kHalf).find("more)"), std::string::npos);
}

TEST(SelectMma, TypeMismatch) {
  EXPECT_EQ(
      errorOf("gfx942", "F32_16x16x16_F16", {DType::f16, DType::bf16, DType::f32}),
      "soliton: error: `F32_16x16x16_F16` on `gfx942` multiplies `f16` by `f16` into `f32` or `bf16` by `bf16` into "
      "`f32`; found `f16` by `bf16` into `f32` [mma-type-mismatch]\n"
      "  hint: `gfx942` multiplies `f16`, `bf16`, `f8e4m3fnuz`, `f8e5m2fnuz`, `i8`, `f32` or `f64`");
  std::string scaled = errorOf("gfx950", "F32_16x16x128_F8F6F4", {DType::f8e4m3fn, DType::f8e4m3fn, DType::f32});
  EXPECT_NE(scaled.find("multiplies scaled `f8e4m3fn`"), std::string::npos);
  EXPECT_NE(scaled.find("hint: use `F32_16x16x32_F8`"), std::string::npos);
}

TEST(SelectMma, UnknownNameIsGuessed) {
  EXPECT_EQ(errorOf("gfx942", "F32_16x16x16_F15", kHalf), "soliton: error: there is no MMA type `F32_16x16x16_F15` "
                                                          "[mma-unknown]\n  hint: did you mean `F32_16x16x16_F16`?");
}
TEST(SelectMma, ScaledProductsAreConvertedWhereNoInstructionScales) {
  MmaTypes types{DType::f4e2m1fn, DType::f8e5m2, DType::f32, true};
  EXPECT_EQ(multipliedAs(*findTarget("gfx950"), types), types);
  EXPECT_NE(selectMma(*findTarget("gfx950"), "F32_16x16x128_F8F6F4", types).kind->scaleBlock, 0);
  for (const char *name : {"gfx942", "sm_90a"}) {
    const Target &target = *findTarget(name);
    EXPECT_EQ(multipliedAs(target, types), (MmaTypes{DType::bf16, DType::bf16, DType::f32}));
    // A name of another target's scaled instruction says nothing; any other is looked for.
    EXPECT_EQ(selectMma(target, "F32_16x16x128_F8F6F4", types).kind, legalMmas(target, types).front()) << name;
    EXPECT_EQ(selectMma(target, "F32_16x16x16_F16", types).kind->name, "F32_16x16x16_F16") << name;
    EXPECT_EQ(selectMma(target, "F32_16x16x16_F17", types).error->id, DiagId::MmaUnknown) << name;
  }
  types.acc = DType::f16;
  EXPECT_EQ(selectMma(*findTarget("gfx942"), std::nullopt, types).error->id, DiagId::MmaNotOnTarget);
}
