//===- WaveMemory.cpp - Reads, writes, copies, allocations: what holds locally ===//

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

bool hasAtomic(AtomicKind kind, mlir::Type type) {
  bool isWide = type.isInteger(32) || type.isInteger(64) || type.isF32() || type.isF64();
  switch (kind) {
  case AtomicKind::add:
    return isWide || type.isF16() || type.isBF16();
  case AtomicKind::min:
  case AtomicKind::max:
  case AtomicKind::exchange:
    return isWide;
  case AtomicKind::bit_and:
  case AtomicKind::bit_or:
  case AtomicKind::bit_xor:
  case AtomicKind::cas:
    return isWide && type.isInteger();
  }
  return false;
}

/// What `read`, `write` and `atomic` share; `tile` is the result or the value.
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
      failed(verifyExprs(op, "bounds", op.getBounds(), /*allowUnbounded=*/true)) ||
      failed(verifyExprs(op, "guards", op.getGuards())))
    return mlir::failure();
  // read_c5, write_c5
  if (op.getBuffer() && !memory.isShared())
    return op.emitOpError() << "names a buffer of global memory, expected shared memory";
  return mlir::success();
}

llvm::LogicalResult ReadOp::verify() {
  if (failed(verifyAccess(*this, getResult().getType(), "result")) ||
      failed(verifyExprs(*this, "within", getWithin()))) // read_c4
    return mlir::failure();
  // read_c6
  if (getMatrixLoad() && !getMemory().getType().isShared())
    return emitOpError() << "loads global memory by `" << *getMatrixLoad() << "`, expected shared memory";
  if (getMatrixLoad() && getElementsPerThread())
    return emitOpError() << "has `elements_per_thread`, `" << *getMatrixLoad() << "` says what lanes receive";
  // read_c7
  if (getInPlace() && !getMemory().getType().isShared())
    return emitOpError() << "is in place in global memory, expected shared memory";
  if (getInPlace() && (getMatrixLoad() || (getGuards() && !getGuards()->empty()) || !getDynamicValues().empty()))
    return emitOpError() << "is in place, expected no `matrix_load`, `guards` or dynamic values";
  // read_c8
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!getWorkgroup())
    return mlir::success();
  if (!getMemory().getType().isShared() || getInPlace() || getMatrixLoad())
    return emitOpError() << "is of another workgroup, expected plain reads of shared memory";
  if (kernel && *getWorkgroup() >= kernel.getCluster().value_or(1))
    return emitOpError() << "is of workgroup " << *getWorkgroup() << " of a cluster of "
                         << kernel.getCluster().value_or(1);
  return mlir::success();
}

llvm::LogicalResult WriteOp::verify() {
  if (failed(verifyAccess(*this, getValue().getType(), "value")))
    return mlir::failure();
  return verifyExprs(*this, "within", getWithin()); // write_c4
}

llvm::LogicalResult AtomicOp::verify() {
  // atomic_c1
  mlir::Type type = getValue().getType().getElementType();
  if (!hasAtomic(getKind(), type))
    return emitOpError()
           << "is `" << stringifyAtomicKind(getKind()) << "` of " << type
           << " elements, expected i32, i64, f32 or f64 (`add` also f16 or bf16, bits and `cas` of integers only)";
  if (failed(verifyAccess(*this, getValue().getType(), "value")))
    return mlir::failure();
  // atomic_c6
  TileType value = getValue().getType(), result = getResult().getType();
  if (value.getDims() != result.getDims() || value.getElementType() != result.getElementType())
    return emitOpError() << "gives " << result << " for the value " << value << ", expected the same";
  // atomic_c7
  if ((getKind() == AtomicKind::cas) != static_cast<bool>(getExpected()))
    return emitOpError() << "is `" << stringifyAtomicKind(getKind()) << "` " << (getExpected() ? "with" : "without")
                         << " an expected value, which `cas` alone has";
  if (getExpected() && (getExpected().getType().getDims() != value.getDims() ||
                        getExpected().getType().getElementType() != value.getElementType()))
    return emitOpError() << "expects " << getExpected().getType() << " where the value is " << value
                         << ", expected the same";
  return mlir::success();
}

llvm::LogicalResult PrefetchOp::verify() {
  auto tile = llvm::cast<TileType>(getTile());
  MemoryType memory = getMemory().getType();
  // prefetch_c1
  if (memory.isShared() || memory.getElementType() != tile.getElementType())
    return emitOpError() << "fetches " << tile.getElementType() << " elements of a "
                         << stringifyAddressSpace(memory.getSpace()) << " memory of " << memory.getElementType()
                         << ", expected global memory of one type";
  // prefetch_c2
  if (failed(verifyCount(*this, "indices", getIndices(), memory.getRank(), "memory")) ||
      failed(verifyExprs(*this, "indices", getIndices())))
    return mlir::failure();
  if (!getIndices() && memory.getRank() != tile.getRank())
    return emitOpError() << "has a tile of " << tile.getRank() << " dimensions, the memory has " << memory.getRank()
                         << " and there are no `indices`";
  return mlir::success();
}

llvm::LogicalResult CopyOp::verify() {
  MemoryType source = getSource().getType(), destination = getDestination().getType();
  auto tile = llvm::cast<TileType>(getTile());
  // copy_c1
  if (source.isShared() || !destination.isShared())
    return emitOpError() << "copies from " << stringifyAddressSpace(source.getSpace()) << " to "
                         << stringifyAddressSpace(destination.getSpace()) << " memory, expected global to shared";
  if (source.getElementType() != tile.getElementType() || destination.getElementType() != tile.getElementType())
    return emitOpError() << "moves " << tile.getElementType() << " elements from a memory of "
                         << source.getElementType() << " to one of " << destination.getElementType();
  // copy_c2
  bool same = destination.getRank() == tile.getRank();
  for (size_t k = 0; same && k < tile.getDims().size(); ++k)
    same = destination.getShape()[k].getValue() == sizeSymbol(tile.getDims()[k].getValue());
  if (!same)
    return emitOpError() << "moves a tile whose dimensions are not those of the shared memory in order";
  // copy_c3
  if (failed(verifyCount(*this, "indices", getIndices(), source.getRank(), "source")) ||
      failed(verifyCount(*this, "starts", getStarts(), tile.getRank(), "tile")) ||
      failed(verifyExprs(*this, "indices", getIndices())) || failed(verifyExprs(*this, "starts", getStarts())) ||
      failed(verifyExprs(*this, "guards", getGuards())))
    return mlir::failure();
  if (!getIndices() && source.getRank() != tile.getRank())
    return emitOpError() << "has a tile of " << tile.getRank() << " dimensions, the source has " << source.getRank()
                         << " and there are no `indices`";
  // copy_c4
  if (static_cast<int64_t>(getElementsPerThread()) < 1)
    return emitOpError() << "moves " << static_cast<int64_t>(getElementsPerThread())
                         << " elements a thread, expected at least 1";
  // copy_c6
  auto kernel = getMulticast() ? (*this)->getParentOfType<KernelOp>() : KernelOp();
  if (getMulticast() && (!getBoxed() || (kernel && !kernel.getWorkgroupsPerCluster())))
    return emitOpError() << "is `multicast`, expected "
                         << (getBoxed() ? "a kernel with `workgroups_per_cluster`" : "one that is `boxed`");
  // copy_c5
  if (!getBoxed())
    return mlir::success();
  if (getGuards() && !getGuards()->empty())
    return emitOpError() << "copies boxes and has `guards`, expected none: a box ends where its source does";
  auto hasDim = [](const Digit &digit) { return digit.dim.has_value(); };
  if (tile.hasLayout() && (llvm::any_of(tile.layout().lane, hasDim) || llvm::any_of(tile.layout().wave, hasDim)))
    return emitOpError() << "copies boxes and deals elements out to lanes or waves, expected all of them in each";
  return mlir::success();
}

llvm::LogicalResult CopyOutOp::verify() {
  MemoryType source = getSource().getType(), destination = getDestination().getType();
  auto tile = llvm::cast<TileType>(getTile());
  // copy_out_c1
  if (!source.isShared() || destination.isShared())
    return emitOpError() << "copies from " << stringifyAddressSpace(source.getSpace()) << " to "
                         << stringifyAddressSpace(destination.getSpace()) << " memory, expected shared to global";
  if (source.getElementType() != tile.getElementType() || destination.getElementType() != tile.getElementType())
    return emitOpError() << "moves " << tile.getElementType() << " elements from a memory of "
                         << source.getElementType() << " to one of " << destination.getElementType();
  // copy_out_c2
  bool same = source.getRank() == tile.getRank();
  for (size_t k = 0; same && k < tile.getDims().size(); ++k)
    same = source.getShape()[k].getValue() == sizeSymbol(tile.getDims()[k].getValue());
  if (!same)
    return emitOpError() << "moves a tile whose dimensions are not those of the shared memory in order";
  // copy_out_c3
  if (failed(verifyCount(*this, "indices", getIndices(), destination.getRank(), "destination")) ||
      failed(verifyCount(*this, "starts", getStarts(), tile.getRank(), "tile")) ||
      failed(verifyExprs(*this, "indices", getIndices())) || failed(verifyExprs(*this, "starts", getStarts())))
    return mlir::failure();
  if (!getIndices() && destination.getRank() != tile.getRank())
    return emitOpError() << "has a tile of " << tile.getRank() << " dimensions, the destination has "
                         << destination.getRank() << " and there are no `indices`";
  // copy_out_c4
  if (static_cast<int64_t>(getElementsPerThread()) < 1)
    return emitOpError() << "moves " << static_cast<int64_t>(getElementsPerThread())
                         << " elements a thread, expected at least 1";
  // copy_out_c5
  auto hasDim = [](const Digit &digit) { return digit.dim.has_value(); };
  if (tile.hasLayout() &&
      (llvm::any_of(tile.layout().lane, hasDim) ||
       !llvm::is_sorted(tile.layout().wave, [&](const Digit &a, const Digit &b) { return !hasDim(a) && hasDim(b); })))
    return emitOpError() << "deals elements out to lanes, or to waves of a team, expected all of them in each";
  // copy_out_c6
  if ((*this)->getParentOfType<IterateOp>())
    return emitOpError() << "is in a loop, expected none: boxes are written in any order";
  if (!llvm::all_of(getDestination().getUsers(), llvm::IsaPred<CopyOutOp>))
    return emitOpError() << "has a destination that something else touches, expected other copies like it at most";
  return mlir::success();
}

int64_t CopyOutOp::wavesPerPart() {
  int64_t waves = 1;
  for (const Digit &digit : llvm::cast<TileType>(getTile()).layout().wave)
    waves *= digit.dim ? 1 : digit.extent;
  return waves;
}

int64_t CopyOp::bytesPerLane() {
  return static_cast<int64_t>(getElementsPerThread()) *
         bits(*dtypeOf(llvm::cast<TileType>(getTile()).getElementType())) / 8;
}

llvm::LogicalResult AllocateOp::verify() {
  // allocate_c1
  if (!getResult().getType().isShared())
    return emitOpError() << "allocates global memory, expected shared memory";
  // allocate_c2
  if (static_cast<int64_t>(getBuffers()) < 1)
    return emitOpError() << "has " << static_cast<int64_t>(getBuffers()) << " buffers, expected at least 1";
  // allocate_c3
  if (getResult().getType().isStrided())
    return emitOpError() << "allocates a tile with strides, which only parameters have";
  return mlir::success();
}

} // namespace soliton::wave
