//===- WaveMemory.cpp - Reads, writes, allocations: what holds of them locally ===//

#include "soliton/ir/Wave.h"

namespace soliton::wave {

/// Fails unless `list`, if there, has `expected` entries, one per dimension of `what`.
static llvm::LogicalResult verifyCount(mlir::Operation *op, llvm::StringRef name, std::optional<mlir::ArrayAttr> list,
                                       int64_t expected, llvm::StringRef what) {
  if (!list || static_cast<int64_t>(list->size()) == expected)
    return mlir::success();
  return op->emitOpError() << "has " << list->size() << " `" << name << "`, expected " << expected
                           << ", one per dimension of the " << what;
}

/// Fails unless all entries are expressions; `unbounded` is accepted where `allowUnbounded`.
static llvm::LogicalResult verifyExprs(mlir::Operation *op, llvm::StringRef name, std::optional<mlir::ArrayAttr> list,
                                       bool allowUnbounded = false) {
  if (!list)
    return mlir::success();
  for (mlir::Attribute entry : *list) {
    auto text = llvm::dyn_cast<mlir::StringAttr>(entry);
    if (llvm::isa<ExprAttr>(entry) || (allowUnbounded && text && text.getValue() == kUnbounded))
      continue;
    return op->emitOpError() << "has " << entry << " in `" << name << "`, expected an expression"
                             << (allowUnbounded ? " or \"unbounded\"" : "");
  }
  return mlir::success();
}

/// What `read` and `write` share; `tile` is the result or the value.
template <typename Op>
static llvm::LogicalResult verifyAccess(Op op, TileType tile, llvm::StringRef what) {
  MemoryType memory = op.getMemory().getType();
  // read_c1, write_c1
  if (memory.getElementType() != tile.getElementType())
    return op.emitOpError() << "moves " << tile.getElementType() << " elements, the memory has "
                            << memory.getElementType();
  // read_c2, write_c2
  if (failed(verifyCount(op, "indices", op.getIndices(), memory.getRank(), "memory")))
    return mlir::failure();
  if (!op.getIndices() && memory.getRank() != tile.getRank())
    return op.emitOpError() << "has a " << what << " of " << tile.getRank() << " dimensions, the memory has "
                            << memory.getRank() << " and there are no `indices`";
  // read_c3, write_c3
  if (failed(verifyCount(op, "starts", op.getStarts(), tile.getRank(), what)) ||
      failed(verifyCount(op, "bounds", op.getBounds(), tile.getRank(), what)))
    return mlir::failure();
  // read_c4, write_c4
  if (failed(verifyExprs(op, "indices", op.getIndices())) || failed(verifyExprs(op, "starts", op.getStarts())) ||
      failed(verifyExprs(op, "bounds", op.getBounds(), /*allowUnbounded=*/true)))
    return mlir::failure();
  return mlir::success();
}

llvm::LogicalResult ReadOp::verify() {
  return verifyAccess(*this, getResult().getType(), "result");
}

llvm::LogicalResult WriteOp::verify() {
  return verifyAccess(*this, getValue().getType(), "value");
}

llvm::LogicalResult AllocateOp::verify() {
  // allocate_c1
  if (!getResult().getType().isShared())
    return emitOpError() << "allocates global memory, expected shared memory";
  return mlir::success();
}

} // namespace soliton::wave
