#include "soliton/analysis/Multicast.h"

namespace soliton {
using namespace wave;

/// Rows after which the exchange of 16-byte chunks begins anew.
static constexpr int64_t kRowsOfExchange = 8;

sym::Expr rankSymbol() {
  static const sym::Expr symbol = sym::Expr::symbol("$RANK");
  return symbol;
}

/// The box's outermost dimension of which it has several places.
static size_t sharedDimOf(const Box &box) {
  size_t found = 0;
  for (auto [dim, extent] : llvm::enumerate(box.extents))
    if (extent > 1)
      found = dim;
  return found;
}

bool mayDiffer(ArrayRef<sym::Expr> exprs, const TileCluster &cluster) {
  return llvm::any_of(exprs, [&](sym::Expr expr) {
    return llvm::any_of(sym::symbolsOf(expr), [&](sym::Expr symbol) {
      return symbol == workgroupSymbol(cluster.dim) || StringRef(symbol.symbolName()).starts_with(kDataSymbols);
    });
  });
}

std::string reasonAgainstSharing(CopyOp copy, const TileCluster &cluster, const Geometry &geometry) {
  Box box = boxOf(copy, geometry);
  auto buffer = copy.getBufferAttr();
  if (mayDiffer(box.coordinates, cluster) || mayDiffer(box.offsets, cluster) || mayDiffer(box.sizes, cluster) ||
      mayDiffer(box.strides, cluster) || (buffer && mayDiffer({geometry.named(buffer, copy.getSymbols())}, cluster)))
    return kEachItsOwn.str();
  if (!box.steps.empty())
    return "it is pixels of images";
  // An innermost dimension is a row, of which a share would be a part.
  size_t dim = sharedDimOf(box);
  int64_t rows = 1;
  for (int64_t extent : ArrayRef(box.extents).drop_front())
    rows *= extent;
  if (dim == 0 || box.extents[dim] % cluster.size != 0 || rows / cluster.size % kRowsOfExchange != 0)
    return "its boxes of " + std::to_string(rows) + " rows are no shares of whole " + std::to_string(kRowsOfExchange) +
           " rows for " + std::to_string(cluster.size) + " workgroups";
  return "";
}

Box shareOf(Box box, const TileCluster &cluster) {
  size_t dim = sharedDimOf(box);
  box.extents[dim] /= cluster.size;
  box.coordinates[dim] = box.coordinates[dim] + rankSymbol() * box.extents[dim];
  return box;
}

bool partsCluster(Operation *around, const TileCluster &cluster, const Geometry &geometry) {
  if (auto loop = dyn_cast<IterateOp>(around))
    return loop.exit() || mayDiffer({geometry.named(*loop.getCount(), loop.getSymbols())}, cluster);
  auto branch = dyn_cast<ConditionalOp>(around);
  return branch && mayDiffer({geometry.named(branch.getCondition(), branch.getSymbols())}, cluster);
}

} // namespace soliton
