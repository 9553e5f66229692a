#include "soliton/analysis/InPlace.h"

namespace soliton {
using namespace wave;

Layout inPlaceFragment(const MmaKind &kind, int which, int64_t waveSize) {
  Dim k("K"), outer(which == 0 ? "M" : "N");
  return Layout({{kind.k, k, 1}, {which == 0 ? rowsPerWave(kind) : kind.n, outer, 1}}, {Digit(waveSize)});
}

bool mayStayInPlace(ReadOp read) {
  bool isParameter = read.getMemory().getType().isShared() && isa<mlir::BlockArgument>(read.getMemory());
  return read.getInPlace() || (isParameter && read.getDynamicValues().empty());
}

bool takesInPlace(MmaOp mma, unsigned which, const MmaKind &kind) {
  auto read = mma->getOperand(which).getDefiningOp<ReadOp>();
  return readsInPlace(kind) && (which == 1 || (read && mayStayInPlace(read)));
}

int64_t registersTaken(MmaOp mma, const MmaKind &kind, unsigned operand) {
  if (operand < 2 && takesInPlace(mma, operand, kind))
    return kind.k * (operand == 0 ? rowsPerWave(kind) : kind.n);
  const int64_t registers[] = {kind.lhs.nativeRegs, kind.rhs.nativeRegs, kind.acc.nativeRegs, 1, 1};
  return registers[operand];
}

bool isZero(Value tile) {
  auto fill = tile.getDefiningOp<FillOp>();
  if (!fill)
    return false;
  if (auto number = dyn_cast<mlir::FloatAttr>(fill.getValue()))
    return number.getValue().isPosZero();
  auto number = dyn_cast<mlir::IntegerAttr>(fill.getValue());
  return number && number.getValue().isZero();
}

/// Whether consecutive waves form groups along the dimension: each has the rows of one wave of one or more
/// instructions, and the waves along it are counted first.
static bool formGroups(Dim rows, const MmaKind &kind, const Geometry &geometry) {
  Digits waves = canonical(geometry.waveDigits({rows}));
  return !waves.empty() && waves.front().dim == rows && waves.front().extent % kind.waves == 0 &&
         geometry[rows].waveTile % rowsPerWave(kind) == 0;
}

std::optional<InPlaceRows> rowsInPlace(MmaOp mma, const MmaKind &kind, const Geometry &geometry) {
  auto dim = [](mlir::StringAttr name) { return Dim(name.getValue().str()); };
  if (geometry[dim(mma.getContractedDim())].waves > 1)
    return std::nullopt;
  if (formGroups(dim(mma.getRowDim()), kind, geometry))
    return InPlaceRows::left;
  if (kind.lhs.type == kind.rhs.type && formGroups(dim(mma.getColumnDim()), kind, geometry))
    return InPlaceRows::right;
  return std::nullopt;
}

SmallVector<ReadOp> inPlaceFactors(Operation *op) {
  SmallVector<ReadOp> factors;
  if (auto mma = dyn_cast<MmaOp>(op))
    for (Value factor : {mma.getLhs(), mma.getRhs()})
      if (auto read = factor.getDefiningOp<ReadOp>(); read && read.getInPlace())
        factors.push_back(read);
  return factors;
}

bool isFactorInPlace(Operation *op, const Target &target) {
  auto read = dyn_cast<ReadOp>(op);
  if (!read || read.use_empty())
    return false;
  auto first = dyn_cast<MmaOp>(read->use_begin()->getOwner());
  unsigned which = read->use_begin()->getOperandNumber();
  if (!first || which > 1 || !first.getKind() || !takesInPlace(first, which, mmaKindOf(first, target)))
    return false;
  return llvm::all_of(read->getUses(), [&](mlir::OpOperand &use) {
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    return mma && mma.getKindAttr() == first.getKindAttr() && use.getOperandNumber() == which;
  });
}

int64_t partOfRow(const MmaKind &kind, int which, bool alongK) {
  int64_t bytes = bits(which == 0 ? kind.lhs.type : kind.rhs.type) / 8;
  return alongK ? 0 : bytes * (which == 0 ? kind.m : kind.n);
}

std::optional<InPlaceTile> inPlaceTile(const SharedMap &map, int64_t elementBytes, int64_t part) {
  int64_t row = map.dims.back().extent * elementBytes;
  for (int64_t span : {128, 64, 32})
    if (row % span == 0 && part % span == 0)
      return InPlaceTile{span, map.rows() * span};
  return std::nullopt;
}

std::optional<InPlaceTile> inPlaceTile(ReadOp factor, const SharedMap &map, const Target &target) {
  mlir::OpOperand &use = *factor->use_begin();
  auto mma = cast<MmaOp>(use.getOwner());
  bool alongK = map.dims.back().dim == Dim(mma.getContractedDim().getValue().str());
  int64_t part = partOfRow(mmaKindOf(mma, target), static_cast<int>(use.getOperandNumber()), alongK);
  return inPlaceTile(map, elementBytes(factor.getResult().getType().getElementType()), part);
}

SharedMap inPlaceMap(SharedMap plain, int64_t elementBytes, const InPlaceTile &tile) {
  int64_t perRow = tile.span / elementBytes;
  plain.padding = 0;
  plain.panel = plain.dims.back().extent > perRow ? perRow : 0;
  // Bits 4 … of an address are exchanged by bits 7 …: eight rows of 128 bytes, four times two of 64, twice four of 32.
  plain.swizzle = {.chunk = 16 / elementBytes, .rowsPerPhase = 128 / tile.span, .phases = tile.span / 16};
  return plain;
}

InPlaceTile inPlaceTileOf(const SharedMap &map, int64_t elementBytes) {
  int64_t perRow = map.panel ? map.panel : map.dims.back().extent;
  return {perRow * elementBytes, map.rows() * perRow * elementBytes};
}

} // namespace soliton
