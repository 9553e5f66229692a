#include "soliton/analysis/MatrixLoads.h"

#include "soliton/layout/MatrixRows.h"

namespace soliton {
using namespace wave;

/// The widest load of the target that makes the tile's layout from rows along `along`.
static const MatrixAccess *widestLoad(TileType type, Dim along, const Target &target) {
  const MatrixAccess *best = nullptr;
  for (const MatrixAccess &access : target.matrixAccesses) {
    int64_t registers = access.result.regs();
    // An i1 is a byte in memory only: what registers hold of it no matrix load makes.
    bool fits = !access.store && access.transposed && access.elementBits == elementBits(type.getElementType()) &&
                type.layout().splits(registers) &&
                matrixRows({access.result, access.contiguous}, type.layout(), along).has_value();
    if (fits && (!best || best->result.regs() < registers))
      best = &access;
  }
  return best;
}

/// Whether lanes hold places beyond the tile or the tensor, for which shared memory has no room: a matrix load has no
/// mask for them, and rows of 7 halves do not begin where it could.
static bool goesBeyond(const Layout &layout, ArrayRef<DimExtent> tile, const Geometry &geometry) {
  return llvm::any_of(tile, [&](const DimExtent &dim) {
    int64_t held = layout.extent(dim.dim);
    return held > geometry[dim.dim].part().value_or(held) ||
           held > geometry[dim.dim].size.constantValue().value_or(held);
  });
}

/// Clocks for `elements` of a lane, `bytes` at a time, in or out of shared memory.
static ChoiceCost sharedClocks(int64_t elements, int64_t elementBytes, int64_t bytes, bool write,
                               const Target &target) {
  return elements * elementBytes / bytes * (target.costs.memoryIssue + target.sharedAccess(bytes, write).clocks);
}

std::optional<MatrixLoadChoice> findMatrixLoad(ReadOp read, const Geometry &geometry) {
  TileType type = tileOf(read);
  const Target &target = geometry.target();
  std::optional<std::vector<DimExtent>> order = memoryOrder(read, geometry);
  if (!order || !read.getDynamicValues().empty() || !type.hasLayout() ||
      order->back().dim == Dim(type.getDims().back().getValue().str()) || goesBeyond(type.layout(), *order, geometry))
    return std::nullopt;
  MatrixLoadChoice choice;
  choice.load = widestLoad(type, order->back().dim, target);
  if (!choice.load)
    return std::nullopt;
  LayoutCosts costs(geometry);
  int64_t bytes = elementBytes(type.getElementType()), loaded = type.layout().regs(), stored = 1;
  for (const DimExtent &dim : *order)
    stored *= dim.extent;
  stored = std::max<int64_t>(1, stored / (geometry.waveSize() * geometry.waveCount()));
  ChoiceCost fetched = sharedClocks(loaded, bytes, 16, false, target);
  choice.cost = costs.stagedRead(read, 16 / bytes) + sharedClocks(stored, bytes, 16, true, target) +
                sharedClocks(loaded, bytes, choice.load->result.regs() * bytes, false, target);
  // Words of a block change places by two selects each.
  choice.inRegisters = costs.stagedRead(read, 8 / bytes) + 2 * stored * bytes / 4 * target.costs.valuIssue +
                       sharedClocks(stored, bytes, 8, true, target) + fetched;
  return choice.cost <= choice.inRegisters ? std::optional(choice) : std::nullopt;
}

} // namespace soliton
