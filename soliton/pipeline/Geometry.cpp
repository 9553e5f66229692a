#include "soliton/pipeline/Geometry.h"

#include "soliton/pipeline/Config.h"

#include <tuple>

namespace soliton::pipe {
namespace {
/// Lanes of a wave.
constexpr int kLanes = 64;
/// Bytes that a lane moves with one copy or one shared read.
constexpr int kAccessBytes = 16;

int ceilDiv(int a, int b) {
  return (a + b - 1) / b;
}

class GeometryBuilder {
public:
  GeometryBuilder(const TileShape &shape, int waves, Where where) : shape(shape), where(where), waves(waves) {
    result.geometry.bm = shape.bm;
    result.geometry.bn = shape.bn;
    result.geometry.bk = shape.bk;
  }

  GeometryResult build(bool roundUp, int waveM, int waveN, int halfA, int halfB) {
    this->waveM = waveM;
    this->waveN = waveN;
    if (!checkShape())
      return std::move(result);
    countInstructions();
    countCopies(roundUp, halfA, halfB);
    checkCounts(halfA, halfB);
    return std::move(result);
  }

private:
  void error(std::string message, std::string hint) {
    result.errors.push_back(
        {Severity::error, DiagId::PipelineGeometry, where.place(), std::move(message), std::move(hint), {}});
  }

  void divides(const char *what, int value, const char *by, int divisor) {
    if (value > 0 && divisor > 0 && value % divisor == 0)
      return;
    error(std::string(what) + " = " + std::to_string(value) + " is no positive multiple of " + by + " = " +
              std::to_string(divisor),
          "choose a tile that it divides");
  }

  bool checkShape() {
    KernelGeometry &g = result.geometry;
    if (shape.elemBytes != 1 && shape.elemBytes != 2) {
      error("elements of " + std::to_string(shape.elemBytes) + " bytes, expected 1 (fp8) or 2 (bf16, f16)", "");
      return false;
    }
    g.elemBytes = shape.elemBytes;
    g.simdWidth = kAccessBytes / shape.elemBytes;
    g.isFp8 = shape.elemBytes == 1;
    g.mmaM = g.mmaN = shape.mma;
    g.swizzle = shape.swizzle;
    // 16x16x32 and 32x32x16 for two bytes, 16x16x128 and 32x32x64 for one.
    g.mmaK = (g.isFp8 ? 128 : 32) * 16 / shape.mma;
    divides("a wave's rows", waveM, "two matrix instructions", 2 * g.mmaM);
    divides("a wave's columns", waveN, "two matrix instructions", 2 * g.mmaN);
    divides("BK", shape.bk, "the matrix instruction's K", g.mmaK);
    divides("BM", shape.bm, "a wave's rows", waveM);
    divides("BN", shape.bn, "a wave's columns", waveN);
    return result.ok();
  }

  /// Shared reads and matrix instructions of one quadrant.
  void countInstructions() {
    KernelGeometry &g = result.geometry;
    int quadM = waveM / g.mmaM / 2, quadN = waveN / g.mmaN / 2;
    int fragment = g.mmaM * g.mmaK / kLanes;
    // The wide fp8 instruction takes its K in two halves that do not lie side by side.
    int width = g.isFp8 && g.mmaM == 16 ? 16 : fragment;
    int reads = fragment / width * ceilDiv(width * g.elemBytes, kAccessBytes);
    g.kMmas = shape.bk / g.mmaK;
    g.mmasPerOp = quadM * quadN * g.kMmas;
    g.lgkmPerLoadA = quadM * g.kMmas * reads;
    g.lgkmPerLoadB = quadN * g.kMmas * reads;
    g.sharedBytes = int64_t{2} * (shape.bm + shape.bn) * shape.bk * g.elemBytes;
  }

  /// Copies that one wave issues for a half-tile.
  void countCopies(bool roundUp, int halfA, int halfB) {
    KernelGeometry &g = result.geometry;
    rowsPerCopy = waves * kLanes / (shape.bk / g.simdWidth);
    auto copies = [&](int rows) {
      return rowsPerCopy == 0 ? 0 : roundUp ? ceilDiv(rows, rowsPerCopy) : rows / rowsPerCopy;
    };
    g.vmPerLoadA = copies(halfA);
    g.vmPerLoadB = copies(halfB);
  }

  void checkCounts(int halfA, int halfB) {
    const KernelGeometry &g = result.geometry;
    for (auto [operand, count, rows] : {std::tuple("A", g.vmPerLoadA, halfA), std::tuple("B", g.vmPerLoadB, halfB)})
      if (count == 0)
        error(std::string("a load of ") + operand + " copies nothing: its half-tile has " + std::to_string(rows) +
                  " rows, one copy of all waves " + std::to_string(rowsPerCopy),
              "take a larger tile or a larger BK, or fewer waves");
    int64_t limit = mi355xSharedBytes();
    if (g.sharedBytes > limit)
      error("the stages take " + std::to_string(g.sharedBytes) + " bytes of shared memory, there are " +
                std::to_string(limit),
            "take a smaller tile");
  }

  const TileShape &shape;
  Where where;
  int waves, waveM = 0, waveN = 0, rowsPerCopy = 0;
  GeometryResult result;
};

/// The same where groups of four waves multiply what lies in shared memory.
class GroupGeometryBuilder {
public:
  GroupGeometryBuilder(const TileShape &shape, int rows, int columns, Where where)
      : shape(shape), where(where), rows(rows), columns(columns) {}

  GeometryResult build(int stages) {
    KernelGeometry &g = result.geometry;
    g = {.bm = shape.bm, .bn = shape.bn, .bk = shape.bk, .mmaM = kRows, .mmaN = columns / 2, .mmaK = kDepth};
    g.inPlace = true;
    g.sharedBytes = int64_t{stages} * (shape.bm + shape.bn) * shape.bk * g.elemBytes;
    if (checkShape())
      count();
    return std::move(result);
  }

private:
  /// Of the instruction, whose columns are the author's choice in steps.
  static constexpr int kRows = 64, kDepth = 16, kColumnStep = 8, kMostColumns = 256, kLanesOfGroup = 128;
  static constexpr int kPanelBytes = 128;

  void error(std::string message, std::string hint) {
    result.errors.push_back(
        {Severity::error, DiagId::PipelineGeometry, where.place(), std::move(message), std::move(hint), {}});
  }
  void divides(const char *what, int value, int divisor) {
    if (value <= 0 || value % divisor != 0)
      error(std::string(what) + " = " + std::to_string(value) + " is no positive multiple of " +
                std::to_string(divisor),
            "choose a tile that it divides");
  }

  bool checkShape() {
    if (shape.elemBytes != 2) {
      error("elements of " + std::to_string(shape.elemBytes) + " bytes, expected 2 (bf16, f16)",
            "sums of 8-bit floats keep too few bits in the instructions that read shared memory by themselves");
      return false;
    }
    divides("the rows of a group of four waves", rows, 2 * kRows);
    divides("the columns of a group of four waves", columns, 2 * kColumnStep);
    divides("BK", shape.bk, kDepth);
    if (columns / 2 > kMostColumns)
      error("a quadrant has " + std::to_string(columns / 2) + " columns, an instruction at most " +
                std::to_string(kMostColumns),
            "take a narrower tile, or let groups of waves share the columns");
    int64_t sums = int64_t{rows} * columns / kLanesOfGroup;
    if (sums >= sm90aRegisters())
      error("the sums of a group's " + std::to_string(rows) + "x" + std::to_string(columns) + " take " +
                std::to_string(sums) + " registers a lane, there are " + std::to_string(sm90aRegisters()),
            "take a smaller tile, or more groups of waves");
    if (result.geometry.sharedBytes > sm90aSharedBytes())
      error("the stages take " + std::to_string(result.geometry.sharedBytes) + " bytes of shared memory, there are " +
                std::to_string(sm90aSharedBytes()),
            "take a smaller tile");
    return result.ok();
  }

  void count() {
    KernelGeometry &g = result.geometry;
    int panels = ceilDiv(shape.bk * g.elemBytes, kPanelBytes);
    g.kMmas = shape.bk / kDepth;
    g.mmasPerOp = rows / kRows / 2 * g.kMmas;
    g.vmPerLoadA = shape.bm / 2 / kRows * panels;
    g.vmPerLoadB = shape.bn / columns * panels;
  }

  const TileShape &shape;
  Where where;
  int rows, columns;
  GeometryResult result;
};
} // namespace

int safeMaxGlobals(int kMmas) {
  return kMmas >= 2 ? 1 : 0;
}

int KernelGeometry::maxGlobals() const {
  // Below eight matrix instructions a block is too short to cover a load of its own.
  return mmasPerOp < 8 ? 0 : safeMaxGlobals(kMmas);
}

KernelGeometry oneInstructionEach() {
  KernelGeometry geometry;
  geometry.vmPerLoadA = geometry.vmPerLoadB = geometry.lgkmPerLoadA = geometry.lgkmPerLoadB = 1;
  geometry.mmasPerOp = geometry.kMmas = 1;
  return geometry;
}

GeometryResult fourWaveGeometry(const TileShape &shape, Where where) {
  return GeometryBuilder(shape, 4, where).build(true, shape.bm / 2, shape.bn / 2, shape.bm / 2, shape.bn / 2);
}

GeometryResult pingPongGeometry(const TileShape &shape, Where where) {
  int waveM = shape.wm ? shape.wm : shape.bm / 2, waveN = shape.wn ? shape.wn : shape.bn / 4;
  return GeometryBuilder(shape, 8, where).build(false, waveM, waveN, waveM, shape.bn / 2);
}

GeometryResult fourWaveGroupGeometry(const TileShape &shape, Where where) {
  constexpr int stages = 4; // loads two tiles ahead, one that is multiplied, one whose products are under way
  return GroupGeometryBuilder(shape, shape.bm, shape.bn, where).build(stages);
}

GeometryResult pingPongGroupGeometry(const TileShape &shape, Where where) {
  constexpr int stages = 3; // loads two tiles ahead, one that is multiplied
  bool alongM = shape.bm >= shape.bn;
  int rows = shape.wm ? shape.wm : alongM ? shape.bm / 2 : shape.bm;
  int columns = shape.wn ? shape.wn : alongM ? shape.bn : shape.bn / 2;
  return GroupGeometryBuilder(shape, rows, columns, where).build(stages);
}

} // namespace soliton::pipe
