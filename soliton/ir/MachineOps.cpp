//===- MachineOps.cpp - What holds of each op of the machine form -----------===//

#include "soliton/ir/Machine.h"

#include "mlir/IR/DialectImplementation.h"

namespace soliton::machine {

/// `%lane`, or `%lane : i64`.
static mlir::ParseResult parseLane(mlir::OpAsmParser &parser, mlir::OpAsmParser::UnresolvedOperand &lane,
                                   mlir::Type &type) {
  type = parser.getBuilder().getI32Type();
  if (parser.parseOperand(lane))
    return mlir::failure();
  return mlir::succeeded(parser.parseOptionalColon()) ? parser.parseType(type) : mlir::ParseResult(mlir::success());
}

static void printLane(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Value lane, mlir::Type type) {
  printer << lane;
  if (!type.isInteger(32))
    printer << " : " << type;
}

/// load_c3, store_c3, atomic_c2, copy_async_c2
static llvm::LogicalResult verifyLane(mlir::Operation *op, mlir::Value lane, mlir::Value buffer, mlir::Value uniform) {
  if (lane.getType().isInteger(32) || (buffer && !uniform))
    return mlir::success();
  return op->emitOpError() << "has a 64-bit lane offset " << (buffer ? "and a uniform one" : "into shared memory")
                           << ", expected " << (buffer ? "one of them" : "32 bits");
}

/// Bytes of a vector as it lies in memory; nothing if its elements are no numbers of a known width or do not fill
/// bytes.
static std::optional<int64_t> bytesOf(mlir::Type type) {
  auto vector = llvm::cast<mlir::VectorType>(type);
  if (!vector.getElementType().isIntOrFloat())
    return std::nullopt;
  int64_t width = vector.getElementTypeBitWidth(), bits = vector.getNumElements() * (width == 1 ? 8 : width);
  return bits % 8 == 0 ? std::optional(bits / 8) : std::nullopt;
}

static llvm::LogicalResult verifyAccess(mlir::Operation *op, mlir::Type type, int64_t alignment) {
  // load_c1, store_c1
  std::optional<int64_t> bytes = bytesOf(type);
  if (!bytes || !llvm::is_contained({1, 2, 4, 8, 12, 16}, *bytes))
    return op->emitOpError() << "moves " << type << ", expected 1, 2, 4, 8, 12 or 16 bytes";
  // load_c2, store_c2
  if (alignment < 1 || (alignment & (alignment - 1)) != 0)
    return op->emitOpError() << "has alignment " << alignment << ", expected a power of two";
  return mlir::success();
}

//===-- Structure -----------------------------------------------------------===//

/// Whether the kernel binds every symbol of the map.
static llvm::LogicalResult verifySymbols(KernelOp kernel, TensorMapAttr map) {
  auto isBound = [&](sym::Expr symbol) {
    for (auto [name, argument] : llvm::zip(kernel.getArgNames(), kernel.block().getArguments()))
      if (llvm::cast<mlir::StringAttr>(name).getValue() == llvm::StringRef(symbol.symbolName()) &&
          argument.getType().isInteger(32))
        return true;
    return false;
  };
  llvm::SmallVector<sym::Expr> exprs(map.getSizes());
  exprs.append(map.getStrides().begin(), map.getStrides().end());
  exprs.push_back(map.getOffset());
  for (sym::Expr expr : exprs)
    for (sym::Expr symbol : sym::symbolsOf(expr))
      if (!isBound(symbol))
        return kernel.emitOpError() << "has a tensor map that speaks of `" << symbol.symbolName()
                                    << "`, expected the name of an `i32` parameter";
  return mlir::success();
}

/// kernel_c3
static llvm::LogicalResult verifyMaps(KernelOp kernel) {
  size_t maps = kernel.getMaps() ? kernel.getMapsAttr().size() : 0, count = kernel.block().getNumArguments();
  for (mlir::BlockArgument argument : kernel.block().getArguments())
    if (llvm::isa<MapType>(argument.getType()) != (argument.getArgNumber() + maps >= count))
      return kernel.emitOpError() << "has " << maps << " tensor maps, but parameter " << argument.getArgNumber()
                                  << " has type " << argument.getType()
                                  << ", expected the last parameters to be as many `!machine.map`";
  if (maps > count)
    return kernel.emitOpError() << "has " << maps << " tensor maps for " << count << " parameters";
  for (size_t i = 0; i < maps; ++i) {
    auto map = llvm::cast<TensorMapAttr>(kernel.getMapsAttr()[i]);
    auto number = static_cast<size_t>(map.getArgument());
    if (map.getArgument() < 0 || number >= count || !llvm::isa<PtrType>(kernel.block().getArgument(number).getType()))
      return kernel.emitOpError() << "has a tensor map of parameter " << map.getArgument()
                                  << ", expected the number of a `!machine.ptr`";
    if (failed(verifySymbols(kernel, map)))
      return mlir::failure();
  }
  return mlir::success();
}

static llvm::StringRef nameOf(KernelOp kernel, mlir::BlockArgument parameter) {
  return llvm::cast<mlir::StringAttr>(kernel.getArgNames()[parameter.getArgNumber()]).getValue();
}

static llvm::SmallVector<llvm::StringRef> stableNames(KernelOp kernel) {
  mlir::ArrayAttr names = kernel.getStableAttr();
  return names ? llvm::to_vector(names.getAsValueRange<mlir::StringAttr>()) : llvm::SmallVector<llvm::StringRef>();
}

llvm::LogicalResult KernelOp::verify() {
  // kernel_c1
  for (mlir::BlockArgument argument : block().getArguments())
    if (!llvm::isa<PtrType, MapType>(argument.getType()) && !argument.getType().isIntOrFloat())
      return emitOpError() << "parameter " << argument.getArgNumber() << " has type " << argument.getType()
                           << ", expected `!machine.ptr`, an integer, a float or `!machine.map`";
  if (getArgNames().size() != block().getNumArguments())
    return emitOpError() << "names " << getArgNames().size() << " parameters, has " << block().getNumArguments();
  // kernel_c2
  if (static_cast<int64_t>(getWaveSize()) < 1 || static_cast<int64_t>(getWaves()) < 1 ||
      static_cast<int64_t>(getSharedBytes()) < 0)
    return emitOpError() << "has " << static_cast<int64_t>(getWaves()) << " waves of "
                         << static_cast<int64_t>(getWaveSize()) << " lanes and "
                         << static_cast<int64_t>(getSharedBytes())
                         << " shared bytes, expected positive numbers and no negative size";
  // kernel_c4
  if (getCluster() && (getCluster()->size() != 3 || llvm::any_of(*getCluster(), [](int64_t size) { return size < 1; })))
    return emitOpError() << "has clusters of " << *getCluster() << " workgroups, expected three positive numbers";
  // kernel_c5
  for (llvm::StringRef name : stableNames(*this))
    if (!llvm::any_of(block().getArguments(), [&](mlir::BlockArgument argument) {
          return llvm::isa<PtrType>(argument.getType()) && nameOf(*this, argument) == name;
        }))
      return emitOpError() << "calls `" << name << "` stable, expected the name of a `!machine.ptr`";
  return verifyMaps(*this);
}

bool KernelOp::isStable(mlir::Value parameter) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(parameter);
  return argument && argument.getOwner() == &block() && llvm::is_contained(stableNames(*this), nameOf(*this, argument));
}

int64_t KernelOp::clusterSize() {
  int64_t size = 1;
  for (int64_t extent : getCluster().value_or(llvm::ArrayRef<int64_t>()))
    size *= extent;
  return size;
}

TensorMapAttr KernelOp::mapOf(mlir::Value parameter) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(parameter);
  if (!argument || argument.getOwner() != &block() || !llvm::isa<MapType>(argument.getType()))
    return {};
  size_t first = block().getNumArguments() - getMapsAttr().size();
  return llvm::cast<TensorMapAttr>(getMapsAttr()[argument.getArgNumber() - first]);
}

//===-- Memory --------------------------------------------------------------===//

llvm::LogicalResult LoadOp::verify() {
  if (failed(verifyLane(*this, getLane(), getBuffer(), getUniform())))
    return mlir::failure();
  // load_c4
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (getWorkgroup() && getBuffer())
    return emitOpError() << "is of another workgroup's shared block, expected no buffer";
  if (getWorkgroup() && kernel && static_cast<int64_t>(*getWorkgroup()) >= kernel.clusterSize())
    return emitOpError() << "is of workgroup " << *getWorkgroup() << " of a cluster of " << kernel.clusterSize();
  return verifyAccess(*this, getResult().getType(), getAlignment());
}

llvm::LogicalResult PrefetchOp::verify() {
  // prefetch_c1
  return verifyLane(*this, getLane(), getBuffer(), getUniform());
}

llvm::LogicalResult StoreOp::verify() {
  if (failed(verifyLane(*this, getLane(), getBuffer(), getUniform())))
    return mlir::failure();
  return verifyAccess(*this, getValue().getType(), getAlignment());
}

llvm::LogicalResult AtomicOp::verify() {
  // atomic_c1
  if (getValue().getType() != getResult().getType())
    return emitOpError() << "combines " << getValue().getType() << " into " << getResult().getType()
                         << ", expected one type";
  if ((getKind() == AtomicKind::cas) != static_cast<bool>(getExpected()))
    return emitOpError() << "is `" << stringifyAtomicKind(getKind()) << "` " << (getExpected() ? "with" : "without")
                         << " an expected value, which `cas` alone has";
  if (getExpected() && getExpected().getType() != getValue().getType())
    return emitOpError() << "expects " << getExpected().getType() << ", expected " << getValue().getType();
  return verifyLane(*this, getLane(), getBuffer(), getUniform());
}

llvm::LogicalResult PrintOp::verify() {
  // print_c1
  if (getValue().getType().getNumElements() != 1 || getDims().size() != getPlaces().size())
    return emitOpError() << "prints " << getValue().getType().getNumElements() << " elements at " << getPlaces().size()
                         << " places of " << getDims().size()
                         << " dimensions, expected one element and a place for each dimension";
  return mlir::success();
}

llvm::LogicalResult CopyAsyncOp::verify() {
  // copy_async_c1
  int64_t bytes = getBytes();
  if (!llvm::is_contained({4, 8, 12, 16}, bytes))
    return emitOpError() << "copies " << bytes << " bytes, expected 4, 8, 12 or 16";
  return verifyLane(*this, getLane(), getBuffer(), getUniform());
}

/// copy_tile_c1, store_tile_c1: the op's map, or null where it is not one.
static TensorMapAttr verifyMap(mlir::Operation *op, mlir::Value parameter, size_t coordinates) {
  auto kernel = op->getParentOfType<KernelOp>();
  TensorMapAttr map = kernel ? kernel.mapOf(parameter) : TensorMapAttr();
  if (!map)
    op->emitOpError() << "has a map that is no parameter of the kernel";
  else if (map.rank() != coordinates)
    op->emitOpError() << "has " << coordinates << " coordinates, expected the " << map.rank() << " of its map";
  return map && map.rank() == coordinates ? map : TensorMapAttr();
}

/// copy_tile_c2, mbarrier_arrive_c1, cluster_arrive_c1, cluster_wait_c1
static llvm::LogicalResult verifyCluster(mlir::Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (kernel && kernel.clusterSize() > 1)
    return mlir::success();
  return op->emitOpError()
         << "speaks of other workgroups of its cluster, expected a kernel with a `cluster` of several";
}

llvm::LogicalResult CopyTileOp::verify() {
  TensorMapAttr map = verifyMap(*this, getMap(), getCoordinates().size());
  if (!map)
    return mlir::failure();
  // copy_tile_c3
  if (getOffsets().size() != map.getLower().size())
    return emitOpError() << "has " << getOffsets().size() << " offsets, expected one for each of the "
                         << map.getLower().size() << " corners of its map";
  return getMulticast() ? verifyCluster(*this) : mlir::success();
}

llvm::LogicalResult StoreTileOp::verify() {
  TensorMapAttr map = verifyMap(*this, getMap(), getCoordinates().size());
  if (!map)
    return mlir::failure();
  // store_tile_c3
  if (map.hasCorners())
    return emitOpError() << "has a map with corners, which only copies to shared memory take";
  // store_tile_c2
  mlir::Type element = map.getElement();
  bool isAdded =
      element.isInteger(32) || element.isInteger(64) || element.isF16() || element.isBF16() || element.isF32();
  if (getAdd() && !isAdded)
    return emitOpError() << "adds elements of type " << element
                         << ", expected integers of 32 or 64 bits, or floats of 16 or 32";
  return mlir::success();
}

llvm::LogicalResult MbarrierArriveOp::verify() {
  return getRank() ? verifyCluster(*this) : mlir::success();
}

llvm::LogicalResult ClusterArriveOp::verify() {
  return verifyCluster(*this);
}

llvm::LogicalResult ClusterWaitOp::verify() {
  return verifyCluster(*this);
}

//===-- Matrices ------------------------------------------------------------===//

llvm::LogicalResult MmaOp::verify() {
  // mma_c1
  auto holds = [](mlir::Value scales, int64_t byte) {
    auto type = llvm::cast<mlir::VectorType>(scales.getType());
    return llvm::isa<mlir::Float8E8M0FNUType>(type.getElementType()) && type.getNumElements() <= 4 && byte >= 0 &&
           byte < type.getNumElements();
  };
  bool fits = getScales().size() == getScaleBytes().size() && (getScales().empty() || getScales().size() == 2);
  for (size_t i = 0; fits && i < getScales().size(); ++i)
    fits = holds(getScales()[i], getScaleBytes()[i]);
  if (fits)
    return mlir::success();
  return emitOpError() << "has " << getScales().size() << " scales and bytes " << getScaleBytes()
                       << ", expected none, or one of four or fewer f8E8M0FNU for each factor";
}

llvm::LogicalResult SharedTileOp::verify() {
  // shared_tile_c1
  auto span = static_cast<int64_t>(getSwizzle());
  if (span != 32 && span != 64 && span != 128)
    return emitOpError() << "has chunks that change places within " << span << " bytes, expected 32, 64 or 128";
  for (auto [name, distance] : {std::pair("leading", getLeading()), {"stride", getStride()}})
    if (distance % 16 != 0 || distance >= (1 << 18))
      return emitOpError() << "has a `" << name << "` of " << distance
                           << " bytes, expected a multiple of 16 below 2^18";
  return mlir::success();
}

llvm::LogicalResult MmaAsyncOp::verify() {
  // mma_async_c1
  if (bool(getLhs()) == bool(getLhsDescriptor()))
    return emitOpError() << "has " << (getLhs() ? "both a register operand and" : "neither a register operand nor")
                         << " a descriptor as its left operand, expected one of them";
  return mlir::success();
}

//===-- Lanes ---------------------------------------------------------------===//

llvm::LogicalResult ShuffleOp::verify() {
  // shuffle_c1
  bool byIndex = getMode() == ShuffleMode::idx;
  if (byIndex && (!getIndex() || getOffset()))
    return emitOpError() << "names its source by `idx`, expected an index and no `offset`";
  if (!byIndex && (getIndex() || !getOffset()))
    return emitOpError() << "names its source by `" << stringifyShuffleMode(getMode())
                         << "`, expected an `offset` and no index";
  return mlir::success();
}

llvm::LogicalResult ConvertOp::verify() {
  // convert_c1
  auto value = llvm::cast<mlir::VectorType>(getValue().getType());
  auto result = llvm::cast<mlir::VectorType>(getResult().getType());
  if (value.getNumElements() != result.getNumElements())
    return emitOpError() << "turns " << value.getNumElements() << " elements into " << result.getNumElements()
                         << ", expected as many";
  return mlir::success();
}

//===-- Time ----------------------------------------------------------------===//

llvm::LogicalResult BarrierOp::verify() {
  // barrier_c1
  if ((getPlus() || getArrives()) && !getWaves())
    return emitOpError() << (getArrives() ? "is one at which waves only arrive" : "has a number that is computed")
                         << ", expected how many `waves` it counts";
  return mlir::success();
}

llvm::LogicalResult WaitOp::verify() {
  // wait_c1
  if (getValues().getTypes() != getResults().getTypes())
    return emitOpError() << "returns other types than those of its values";
  // wait_c2
  if (getRead() && getCounter() != Counter::bulk)
    return emitOpError() << "waits until `" << stringifyCounter(getCounter()) << "` has read, expected `bulk`";
  return mlir::success();
}

} // namespace soliton::machine

#define GET_OP_CLASSES
#include "soliton/ir/MachineOps.cpp.inc"
