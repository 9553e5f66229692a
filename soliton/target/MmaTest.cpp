// Every row of every table, element by element. The formulas of the fragments are written here a second time, as the
// vendors give them: lane and register to row, column and k of one native instruction.
#include "soliton/layout/Convert.h"
#include "soliton/target/Target.h"

#include <gtest/gtest.h>

#include <set>

using namespace soliton;

namespace {
const Dim M("M"), N("N"), K("K");

struct Cell {
  int64_t row, column;
  auto operator<=>(const Cell &) const = default;
};

bool isScaled(const MmaKind &kind) {
  return kind.scaleBlock != 0;
}

/// Left operand (row, k) and, with n for m, right operand (column, k) of one mfma.
Cell mfmaOperand(const MmaKind &kind, DType type, int64_t rows, int64_t lane, int64_t e) {
  int64_t group = lane / rows;
  if (isScaled(kind) && bits(type) == 8)
    return {lane % rows, rows == 16 ? 64 * (e / 16) + 16 * group + e % 16 : 32 * (e / 16) + 16 * group + e % 16};
  if (isScaled(kind))
    return {lane % rows, 32 * group + e};
  int64_t perLane = kind.native.k * rows / 64;
  return {lane % rows, perLane * group + e};
}

Cell mfmaAcc(const MmaKind &kind, int64_t lane, int64_t r) {
  if (kind.acc.type == DType::f64)
    return {4 * r + lane / 16, lane % 16};
  if (kind.m == 16)
    return {4 * (lane / 16) + r, lane % 16};
  return {8 * (r / 4) + 4 * (lane / 32) + r % 4, lane % 32};
}

/// m16n8kK and warpgroup fragments; g = lane / 4, q = lane % 4. A register holds 32 bits (f64: one element).
Cell syncLhs(const MmaKind &kind, int64_t lane, int64_t e) {
  int64_t g = lane / 4, q = lane % 4, pack = std::max(1, 32 / bits(kind.lhs.type));
  int64_t a = e / pack, low = e % pack;
  return {g + 8 * (a % 2), pack * q + low + 4 * pack * (a / 2)};
}

Cell syncRhs(const MmaKind &kind, int64_t lane, int64_t e) {
  int64_t g = lane / 4, q = lane % 4, pack = std::max(1, 32 / bits(kind.rhs.type));
  return {g, pack * q + e % pack + 4 * pack * (e / pack)};
}

Cell syncAcc(int64_t lane, int64_t r) {
  return {lane / 4 + 8 * ((r >> 1) & 1), 8 * (r >> 2) + 2 * (lane % 4) + (r & 1)};
}

Cell nativeLhs(const Target &target, const MmaKind &kind, int64_t lane, int64_t e) {
  return target.vendor == Vendor::amd ? mfmaOperand(kind, kind.lhs.type, kind.m, lane, e) : syncLhs(kind, lane, e);
}
Cell nativeRhs(const Target &target, const MmaKind &kind, int64_t lane, int64_t e) {
  return target.vendor == Vendor::amd ? mfmaOperand(kind, kind.rhs.type, kind.n, lane, e) : syncRhs(kind, lane, e);
}
Cell nativeAcc(const Target &target, const MmaKind &kind, int64_t lane, int64_t r) {
  return target.vendor == Vendor::amd ? mfmaAcc(kind, lane, r) : syncAcc(lane, r);
}

std::string label(const Target &target, const MmaKind &kind) {
  return target.name + " " + kind.name + " " + std::string(name(kind.lhs.type)) + " " +
         std::string(name(kind.rhs.type));
}

void expectTile(const Layout &layout, std::map<Dim, int64_t> extents, const Target &target, const MmaKind &kind) {
  std::erase_if(extents, [](auto &entry) { return entry.second == 1; });
  EXPECT_TRUE(layout.isBijectiveUpToReplication()) << layout.str();
  EXPECT_EQ(layout.replication(), 1) << layout.str();
  EXPECT_EQ(layout.extents(), extents) << layout.str();
  EXPECT_EQ(layout.lanes(), target.waveSize) << layout.str();
  EXPECT_EQ(layout.waves(), kind.waves) << layout.str();
}

/// One native instruction multiplies what the layouts say: row and column are the piece's, and the logical k of its
/// k-th step is the same on both sides. Returns the logical k's.
std::set<int64_t> checkPiece(const Target &target, const MmaKind &kind, const MmaPiece &piece) {
  std::map<int64_t, int64_t> logicalK;
  auto sameK = [&](int64_t nativeK, int64_t k) { EXPECT_EQ(logicalK.emplace(nativeK, k).first->second, k); };
  for (int64_t lane = 0; lane < target.waveSize; ++lane) {
    for (int64_t e = 0; e < kind.lhs.nativeRegs; ++e) {
      Cell cell = nativeLhs(target, kind, lane, e);
      EXPECT_EQ(kind.lhs.layout.coordinate(M, piece.lhsBegin + e, lane, 0), piece.m * kind.native.m + cell.row);
      sameK(cell.column, kind.lhs.layout.coordinate(K, piece.lhsBegin + e, lane, 0));
    }
    for (int64_t e = 0; e < kind.rhs.nativeRegs; ++e) {
      Cell cell = nativeRhs(target, kind, lane, e);
      EXPECT_EQ(kind.rhs.layout.coordinate(N, piece.rhsBegin + e, lane, 0), piece.n * kind.native.n + cell.row);
      sameK(cell.column, kind.rhs.layout.coordinate(K, piece.rhsBegin + e, lane, 0));
    }
    for (int64_t r = 0; r < kind.acc.nativeRegs; ++r) {
      Cell cell = nativeAcc(target, kind, lane, r);
      EXPECT_EQ(kind.acc.layout.coordinate(M, piece.accBegin + r, lane, 0), piece.m * kind.native.m + cell.row);
      EXPECT_EQ(kind.acc.layout.coordinate(N, piece.accBegin + r, lane, 0), piece.n * kind.native.n + cell.column);
    }
  }
  EXPECT_EQ(static_cast<int64_t>(logicalK.size()), kind.native.k);
  std::set<int64_t> result;
  for (auto [native, logical] : logicalK)
    result.insert(logical);
  return result;
}

void checkInRegisters(const Target &target, const MmaKind &kind) {
  expectTile(kind.lhs.layout, {{M, kind.m}, {K, kind.k}}, target, kind);
  expectTile(kind.rhs.layout, {{N, kind.n}, {K, kind.k}}, target, kind);
  expectTile(kind.acc.layout, {{M, kind.m}, {N, kind.n}}, target, kind);
  EXPECT_EQ(kind.lhs.layout.regs(), kind.lhs.nativeRegs * kind.piecesM * kind.piecesK);
  EXPECT_EQ(kind.rhs.layout.regs(), kind.rhs.nativeRegs * kind.piecesN * kind.piecesK);
  EXPECT_EQ(kind.acc.layout.regs(), kind.acc.nativeRegs * kind.piecesM * kind.piecesN);
  EXPECT_EQ(static_cast<int64_t>(kind.pieces().size()), kind.pieceCount());
  std::map<std::pair<int64_t, int64_t>, std::set<int64_t>> done;
  for (const MmaPiece &piece : kind.pieces())
    for (int64_t k : checkPiece(target, kind, piece))
      EXPECT_TRUE((done[{piece.m, piece.n}].insert(k).second)) << "k " << k << " is multiplied twice";
  EXPECT_EQ(static_cast<int64_t>(done.size()), kind.piecesM * kind.piecesN);
  for (auto &[at, ks] : done)
    EXPECT_EQ(static_cast<int64_t>(ks.size()), kind.k);
}

void checkWarpgroup(const Target &target, const MmaKind &kind) {
  expectTile(kind.lhs.layout, {{M, 64}, {K, kind.k}}, target, kind);
  expectTile(kind.acc.layout, {{M, 64}, {N, kind.n}}, target, kind);
  EXPECT_TRUE(kind.lhs.inRegisters && kind.lhs.inShared && kind.rhs.inShared && !kind.rhs.inRegisters);
  EXPECT_TRUE(kind.async);
  EXPECT_EQ(kind.pieceCount(), 1);
  EXPECT_EQ(kind.k * bits(kind.lhs.type), 256) << "K is 32 bytes";
  EXPECT_EQ(kind.native.cycles, kind.n / 2);
  for (int64_t wave = 0; wave < 4; ++wave)
    for (int64_t lane = 0; lane < 32; ++lane) {
      for (int64_t r = 0; r < kind.n / 2; ++r) {
        Cell cell = syncAcc(lane, r);
        ASSERT_EQ(kind.acc.layout.coordinate(M, r, lane, wave), 16 * wave + cell.row);
        ASSERT_EQ(kind.acc.layout.coordinate(N, r, lane, wave), cell.column);
      }
      for (int64_t e = 0; e < kind.k / 2; ++e) {
        Cell cell = syncLhs(kind, lane, e);
        ASSERT_EQ(kind.lhs.layout.coordinate(M, e, lane, wave), 16 * wave + cell.row);
        ASSERT_EQ(kind.lhs.layout.coordinate(K, e, lane, wave), cell.column);
      }
    }
}

const MmaKind &find(std::string_view target, std::string_view name, DType type) {
  DType acc = type == DType::i8 ? DType::i32 : type == DType::f64 ? DType::f64 : DType::f32;
  MmaChoice choice = selectMma(*findTarget(target), name, {type, type, acc});
  EXPECT_TRUE(choice) << format(choice.error.value());
  return *choice.kind;
}
} // namespace

TEST(MmaTables, EveryKindMultipliesMatrices) {
  int checked = 0;
  for (const Target *target : allTargets())
    for (const MmaKind &kind : target->mmas) {
      SCOPED_TRACE(label(*target, kind));
      kind.waves == 1 ? checkInRegisters(*target, kind) : checkWarpgroup(*target, kind);
      ASSERT_FALSE(HasFailure());
      ++checked;
    }
  EXPECT_GT(checked, 250);
}

TEST(MmaTables, NamesSayTheShape) {
  for (const Target *target : allTargets())
    for (const MmaKind &kind : target->mmas) {
      std::string shape = std::to_string(kind.m) + "x" + std::to_string(kind.n) + "x" + std::to_string(kind.k);
      EXPECT_NE(kind.name.find("_" + shape + "_"), std::string::npos) << kind.name;
      EXPECT_GT(kind.cycles(), 0);
      std::string prefix = isFloat(kind.acc.type) ? "F" : "I";
      EXPECT_EQ(kind.name.find(prefix + std::to_string(bits(kind.acc.type)) + "_"), 0u) << kind.name;
    }
}

TEST(MmaTables, NoKindAppearsTwice) {
  for (const Target *target : allTargets()) {
    std::set<std::string> seen;
    for (const MmaKind &kind : target->mmas)
      EXPECT_TRUE(seen.insert(label(*target, kind) + (isScaled(kind) ? " scaled" : "")).second) << label(*target, kind);
  }
}

TEST(MmaTables, ElementOrderOfWave) {
  // The K index of element g in lane L, from the language's table (wave64).
  struct Row {
    const char *target, *name;
    DType type;
    int64_t (*k)(int64_t L, int64_t g);
  } rows[] = {
      {"gfx942", "F32_16x16x16_F16", DType::f16, [](int64_t L, int64_t g) { return 4 * (L / 16) + g; }},
      {"gfx942", "F32_32x32x8_F16", DType::bf16, [](int64_t L, int64_t g) { return 4 * (L / 32) + g; }},
      {"gfx942", "F32_16x16x32_K8_F16", DType::f16, [](int64_t L, int64_t g) { return 8 * (L / 16) + g; }},
      {"gfx942", "F32_32x32x16_K8_F16", DType::f16, [](int64_t L, int64_t g) { return 8 * (L / 32) + g; }},
      {"gfx950", "F32_16x16x32_K8_F16", DType::f16, [](int64_t L, int64_t g) { return 8 * (L / 16) + g; }},
      {"gfx950", "F32_16x16x32_F16", DType::f16, [](int64_t L, int64_t g) { return 8 * (L / 16) + g; }},
      {"gfx950", "F32_32x32x16_BF16", DType::bf16, [](int64_t L, int64_t g) { return 8 * (L / 32) + g; }},
      {"gfx942", "F32_16x16x32_F8", DType::f8e4m3fnuz, [](int64_t L, int64_t g) { return 8 * (L / 16) + g; }},
      {"gfx942", "F32_16x16x32_K4_F8", DType::f8e4m3fnuz,
       [](int64_t L, int64_t g) { return 16 * (g / 4) + 4 * (L / 16) + g % 4; }},
      {"gfx950", "F32_32x32x16_K4_F8", DType::f8e5m2,
       [](int64_t L, int64_t g) { return 8 * (g / 4) + 4 * (L / 32) + g % 4; }},
      {"gfx942", "I32_16x16x32_I8", DType::i8, [](int64_t L, int64_t g) { return 8 * (L / 16) + g; }},
      {"gfx942", "I32_32x32x16_I8", DType::i8, [](int64_t L, int64_t g) { return 8 * (L / 32) + g; }},
      {"gfx942", "F64_16x16x4_F64", DType::f64, [](int64_t L, int64_t) { return L / 16; }},
  };
  for (const Row &row : rows) {
    const MmaKind &kind = find(row.target, row.name, row.type);
    for (int64_t lane = 0; lane < 64; ++lane)
      for (int64_t g = 0; g < kind.lhs.layout.regs(); ++g) {
        ASSERT_EQ(kind.lhs.layout.coordinate(K, g, lane, 0), row.k(lane, g)) << row.name;
        ASSERT_EQ(kind.rhs.layout.coordinate(K, g, lane, 0), row.k(lane, g)) << row.name;
      }
  }
}

TEST(MmaTables, ScalesFollowTheBlocksOfK) {
  const Target &target = *findTarget("gfx950");
  int checked = 0;
  for (const MmaKind &kind : target.mmas) {
    if (!isScaled(kind))
      continue;
    ++checked;
    EXPECT_EQ(kind.unverified, bits(kind.lhs.type) == 6 || bits(kind.rhs.type) == 6);
    for (int64_t lane = 0; lane < 64; ++lane) {
      EXPECT_EQ(kind.lhsScale.coordinate(M, 0, lane, 0), lane % kind.m);
      EXPECT_EQ(kind.lhsScale.coordinate(K, 0, lane, 0), lane / kind.m);
      EXPECT_EQ(kind.rhsScale.coordinate(N, 0, lane, 0), lane % kind.n);
      EXPECT_EQ(kind.rhsScale.coordinate(K, 0, lane, 0), lane / kind.n);
    }
    EXPECT_EQ(kind.lhsScale.extent(K) * kind.scaleBlock, kind.k);
    int64_t narrow = kind.m == 16 ? 16 : 32;
    EXPECT_EQ(kind.native.cycles, bits(kind.lhs.type) == 8 || bits(kind.rhs.type) == 8 ? 2 * narrow : narrow);
  }
  EXPECT_EQ(checked, 50); // five types on each side, two shapes
}

TEST(MmaTables, TextOfTheDesign) {
  EXPECT_EQ(find("gfx942", "F32_32x32x8_F16", DType::f16).acc.layout.str(),
            "reg = (4 M 1)(4 M 8), lane = (32 N 1)(2 M 4)");
  EXPECT_EQ(find("sm_90a", "F32_64x128x16_F16", DType::bf16).acc.layout.str(),
            "reg = (2 N 1)(2 M 8)(16 N 8), lane = (4 N 2)(8 M 1), wave = (4 M 16)");
  const MmaKind &logical = find("sm_90a", "F32_16x16x16_F16", DType::f16);
  EXPECT_EQ(logical.pieceCount(), 2);
  EXPECT_EQ(logical.native.instruction, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  EXPECT_EQ(find("gfx942", "F32_16x16x32_K8_F16", DType::f16).piecesK, 2);
  EXPECT_EQ(find("gfx950", "F32_16x16x32_K8_F16", DType::f16).piecesK, 1);
  EXPECT_EQ(find("gfx942", "F32_16x16x32_K4_F8", DType::f8e5m2fnuz).native.instruction, "v_mfma_f32_16x16x32_bf8_bf8");
}

//===----------------------------------------------------------------------===//
// Attention: the scores are the next product's operand without moving data
//===----------------------------------------------------------------------===//

namespace {
const Dim Q("Q"), K2("K2");

/// S^T = K Q^T accumulates [K2, Q]; O^T = V^T P^T takes P as its right operand [Q, K2].
ConvertPlan transposedScores(std::string_view target, std::string_view scores, std::string_view output, DType type,
                             int64_t length) {
  const MmaKind &first = find(target, scores, type), &second = find(target, output, type);
  Layout acc = first.acc.layout.renamed({{M, K2}, {N, Q}}).tiled(Axis::reg, K2, length / first.m, first.m);
  Layout rhs = second.rhs.layout.renamed({{N, Q}, {K, K2}}).tiled(Axis::reg, K2, length / second.k, second.k);
  return planConvert(acc, rhs, {.elementBits = bits(type)});
}

/// S = Q K^T accumulates [Q, K2], which is the left operand of O = P V.
ConvertPlan plainScores(std::string_view target, std::string_view scores, std::string_view output, DType type,
                        int64_t length) {
  const MmaKind &first = find(target, scores, type), &second = find(target, output, type);
  Layout acc = first.acc.layout.renamed({{M, Q}, {N, K2}}).tiled(Axis::reg, K2, length / first.n, first.n);
  Layout lhs = second.lhs.layout.renamed({{M, Q}, {K, K2}}).tiled(Axis::reg, K2, length / second.k, second.k);
  return planConvert(acc, lhs, {.elementBits = bits(type)});
}
} // namespace

TEST(Attention, ScoresAreRenamedOnAmd) {
  DType f16 = DType::f16, fp8 = DType::f8e4m3fnuz;
  for (const char *target : {"gfx942", "gfx950"}) {
    EXPECT_EQ(transposedScores(target, "F32_16x16x16_F16", "F32_16x16x16_F16", f16, 64).kind, ConvertKind::rename);
    EXPECT_EQ(transposedScores(target, "F32_32x32x8_F16", "F32_32x32x8_F16", f16, 64).kind, ConvertKind::rename);
  }
  EXPECT_EQ(transposedScores("gfx942", "F32_16x16x32_F8", "F32_16x16x32_K4_F8", fp8, 64).kind, ConvertKind::rename);
  EXPECT_EQ(transposedScores("gfx942", "F32_32x32x16_F8", "F32_32x32x16_K4_F8", fp8, 64).kind, ConvertKind::rename);
  // Without the K4 order lanes have to exchange; 32 scores of 8 bits are 8 words, 4 elements travel together.
  ConvertPlan plan = transposedScores("gfx942", "F32_16x16x32_F8", "F32_16x16x32_F8", fp8, 32);
  EXPECT_EQ(plan.kind, ConvertKind::shuffle);
  EXPECT_EQ(plan.granule, 4);
  EXPECT_EQ(plan.rounds.size(), 2u);
}

TEST(Attention, ReshapeOf32x32CutsSlicesInOrder) {
  ConvertPlan plan = transposedScores("gfx942", "F32_32x32x8_F16", "F32_32x32x8_F16", DType::f16, 32);
  ASSERT_EQ(plan.kind, ConvertKind::rename);
  for (int64_t reg = 0; reg < 16; ++reg)
    EXPECT_EQ(plan.registers[static_cast<size_t>(reg)], reg) << "slice s of 4 is rows 8s + ...";
}

TEST(Attention, ScoresAreRenamedOnHopper) {
  DType f16 = DType::f16, fp8 = DType::f8e4m3fn;
  EXPECT_EQ(plainScores("sm_90a", "F32_16x16x16_F16", "F32_16x16x16_F16", f16, 64).kind, ConvertKind::rename);
  EXPECT_EQ(plainScores("sm_90a", "F32_16x16x32_F8", "F32_16x16x32_K4_F8", fp8, 64).kind, ConvertKind::rename);
  EXPECT_EQ(plainScores("sm_90a", "F32_32x32x16_F8", "F32_32x32x16_K4_F8", fp8, 64).kind, ConvertKind::rename);
  EXPECT_EQ(plainScores("sm_90a", "F32_64x128x16_F16", "F32_64x64x16_F16", f16, 128).kind, ConvertKind::rename);
  EXPECT_EQ(plainScores("sm_90a", "F32_16x16x32_F8", "F32_16x16x32_F8", fp8, 32).kind, ConvertKind::shuffle);
}
