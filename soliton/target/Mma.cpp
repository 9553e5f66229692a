#include "soliton/target/MmaRows.h"

namespace soliton {

std::vector<MmaPiece> MmaKind::pieces() const {
  std::vector<MmaPiece> result;
  for (int64_t i = 0; i < piecesM; ++i)
    for (int64_t j = 0; j < piecesN; ++j)
      for (int64_t l = 0; l < piecesK; ++l)
        result.push_back({i, j, l, lhs.nativeRegs * (l + piecesK * i), rhs.nativeRegs * (l + piecesK * j),
                          acc.nativeRegs * (j + piecesN * i)});
  return result;
}

namespace detail {
namespace {
/// Interned on first use: tables may be asked for while the process starts.
struct MmaDims {
  Dim M = Dim("M"), N = Dim("N"), K = Dim("K");
};

MmaOperand operand(DType type, Layout layout, int64_t nativeRegs) {
  return {type, layout.canonical(), nativeRegs};
}

//===----------------------------------------------------------------------===//
// 64 lanes: the closed form of all mfma fragments
//===----------------------------------------------------------------------===//

Layout mfmaOperandLayout(Dim rows, int64_t count, int64_t k, int64_t chunk) {
  auto [M, N, K] = MmaDims();
  int64_t lanesAlongK = 64 / count, perLane = k / lanesAlongK;
  return Layout({{chunk, K, 1}, {perLane / chunk, K, chunk * lanesAlongK}},
                {{count, rows, 1}, {lanesAlongK, K, chunk}});
}

Layout mfmaAccLayout(int64_t m, int64_t n) {
  auto [M, N, K] = MmaDims();
  int64_t lanesAlongM = 64 / n;
  return Layout({{4, M, 1}, {m / (4 * lanesAlongM), M, 4 * lanesAlongM}}, {{n, N, 1}, {lanesAlongM, M, 4}});
}
} // namespace

MmaKind mfma(const MfmaRow &row) {
  auto [M, N, K] = MmaDims();
  MmaKind kind;
  kind.name = row.name;
  kind.m = row.m, kind.n = row.n, kind.k = row.k;
  kind.lhs = operand(row.lhs, mfmaOperandLayout(M, row.m, row.k, row.chunk), row.nativeK * row.m / 64);
  kind.rhs = operand(row.rhs, mfmaOperandLayout(N, row.n, row.k, row.chunk), row.nativeK * row.n / 64);
  kind.acc = operand(row.acc, mfmaAccLayout(row.m, row.n), row.m * row.n / 64);
  kind.native = {row.instruction, row.m, row.n, row.nativeK, row.cycles};
  kind.piecesK = row.k / row.nativeK;
  kind.isDefault = row.isDefault;
  return kind;
}

MmaKind mfmaF64(const MfmaRow &row) {
  auto [M, N, K] = MmaDims();
  MmaKind kind = mfma(row);
  int64_t lanesAlongM = 64 / row.n;
  kind.acc.layout = Layout({{row.m / lanesAlongM, M, lanesAlongM}}, {{row.n, N, 1}, {lanesAlongM, M, 1}});
  return kind;
}

MmaKind mfmaScaled(const char *name, int64_t m, int64_t k, DType lhs, DType rhs, std::string instruction,
                   int64_t cycles, bool isDefault) {
  auto [M, N, K] = MmaDims();
  MmaKind kind = mfma({name, m, m, k, 32, k, lhs, rhs, DType::f32, std::move(instruction), cycles, isDefault});
  auto chunk = [](DType type) { return bits(type) >= 8 ? 16 : 32; };
  kind.lhs.layout = mfmaOperandLayout(M, m, k, chunk(lhs)).canonical();
  kind.rhs.layout = mfmaOperandLayout(N, m, k, chunk(rhs)).canonical();
  kind.scaleBlock = 32;
  kind.lhsScale = Layout({}, {{m, M, 1}, {64 / m, K, 1}});
  kind.rhsScale = Layout({}, {{m, N, 1}, {64 / m, K, 1}});
  // Published descriptions of 6-bit fragments disagree.
  kind.unverified = bits(lhs) == 6 || bits(rhs) == 6;
  return kind;
}

//===----------------------------------------------------------------------===//
// 32 lanes: m16n8 fragments and warpgroup fragments
//===----------------------------------------------------------------------===//

namespace {
/// Elements of K in one register.
int64_t packed(DType type) {
  return std::max(1, 32 / bits(type));
}

/// Register digits of K inside one native instruction (before and after the row digit of the left operand) and the lane
/// stride.
struct KDigits {
  Digits low, high;
  int64_t laneStride;
  int64_t pieceStride;
};

KDigits kDigits(const MmaSyncRow &row) {
  auto [M, N, K] = MmaDims();
  int64_t pack = packed(row.lhs), highCount = row.nativeK / (4 * pack);
  switch (row.order) {
  case KOrder::native:
    return {{{pack, K, 1}}, {{highCount, K, 4 * pack}}, pack, row.nativeK};
  case KOrder::contiguous:
    return {{{pack, K, 1}}, {{highCount, K, pack}}, row.k / 4, row.nativeK / 4};
  case KOrder::accumulator:
    return {{{2, K, 1}, {pack / 2, K, 8}}, {{highCount, K, 4 * pack}}, 2, row.nativeK};
  }
  return {};
}

Digits joined(std::initializer_list<Digits> lists) {
  Digits result;
  for (const Digits &list : lists)
    result.insert(result.end(), list.begin(), list.end());
  return result;
}

std::string_view ptxName(DType type) {
  switch (type) {
  case DType::f8e4m3fn:
    return "e4m3";
  case DType::f8e5m2:
    return "e5m2";
  case DType::i8:
    return "s8";
  case DType::i32:
    return "s32";
  default:
    return name(type);
  }
}

std::string ptxTypes(DType acc, DType lhs, DType rhs) {
  return "." + std::string(ptxName(acc)) + "." + std::string(ptxName(lhs)) + "." + std::string(ptxName(rhs));
}

std::string shape(int64_t m, int64_t n, int64_t k) {
  return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
}
} // namespace

MmaKind mmaSync(const MmaSyncRow &row) {
  auto [M, N, K] = MmaDims();
  MmaKind kind;
  kind.name = row.name;
  kind.m = row.m, kind.n = row.n, kind.k = row.k;
  kind.piecesM = row.m / 16, kind.piecesN = row.n / 8, kind.piecesK = row.k / row.nativeK;
  KDigits k = kDigits(row);
  Digits kPieces = {{kind.piecesK, K, k.pieceStride}};
  Digits lhs = joined({k.low, {{2, M, 8}}, k.high, kPieces, {{kind.piecesM, M, 16}}});
  Digits rhs = joined({k.low, k.high, kPieces, {{kind.piecesN, N, 8}}});
  Digits acc = {{2, N, 1}, {2, M, 8}, {kind.piecesN, N, 8}, {kind.piecesM, M, 16}};
  kind.lhs = operand(row.lhs, Layout(lhs, {{4, K, k.laneStride}, {8, M, 1}}), row.nativeK / 2);
  kind.rhs = operand(row.rhs, Layout(rhs, {{4, K, k.laneStride}, {8, N, 1}}), row.nativeK / 4);
  kind.acc = operand(row.acc, Layout(acc, {{4, N, 2}, {8, M, 1}}), 4);
  // About 0.6 of the warpgroup rate: 2048 16-bit products take 6 clocks.
  int64_t cycles = std::max<int64_t>(2, 6 * row.nativeK * bits(row.lhs) / 256);
  kind.native = {"mma.sync.aligned." + shape(16, 8, row.nativeK) + ".row.col" + ptxTypes(row.acc, row.lhs, row.rhs) +
                     "." + std::string(ptxName(row.acc)),
                 16, 8, row.nativeK, cycles};
  kind.isDefault = row.isDefault;
  return kind;
}

MmaKind wgmma(int64_t n, int64_t k, DType lhs, DType rhs, DType acc) {
  auto [M, N, K] = MmaDims();
  MmaKind kind;
  std::string family = acc == DType::i32 ? "I8" : bits(lhs) == 8 ? "F8" : "F16";
  kind.name = std::string(acc == DType::i32 ? "I32_64x" : "F32_64x") + std::to_string(n) + "x" + std::to_string(k) +
              "_" + family;
  kind.m = 64, kind.n = n, kind.k = k;
  int64_t pack = packed(lhs);
  Layout lhsLayout({{pack, K, 1}, {2, M, 8}, {2, K, 4 * pack}}, {{4, K, pack}, {8, M, 1}}, {{4, M, 16}});
  Layout accLayout({{2, N, 1}, {2, M, 8}, {n / 8, N, 8}}, {{4, N, 2}, {8, M, 1}}, {{4, M, 16}});
  kind.lhs = operand(lhs, lhsLayout, k / 2);
  kind.lhs.inShared = true;
  kind.rhs = {rhs, Layout(), 0, /*inRegisters=*/false, /*inShared=*/true};
  kind.acc = operand(acc, accLayout, n / 2);
  kind.native = {"wgmma.mma_async.sync.aligned." + shape(64, n, k) + ptxTypes(acc, lhs, rhs), 64, n, k, n / 2};
  kind.waves = 4;
  kind.async = true;
  // Not in any manual: with 13 bits the sums that an H200 made of e4m3 come out (docs/decisions/0039-sums-of-bytes.md).
  kind.sumBits = acc == DType::f32 && bits(lhs) == 8 ? 13 : 0;
  return kind;
}

std::vector<int> laneRange(int first, int count) {
  std::vector<int> lanes;
  for (int lane = first; lane < first + count; ++lane)
    lanes.push_back(lane);
  return lanes;
}

std::vector<std::vector<int>> consecutivePhases(int lanes, int count) {
  std::vector<std::vector<int>> phases;
  for (int first = 0; first < lanes; first += count)
    phases.push_back(laneRange(first, count));
  return phases;
}

} // namespace detail
} // namespace soliton
