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

llvm::LogicalResult KernelOp::verify() {
  // kernel_c1
  for (mlir::BlockArgument argument : block().getArguments())
    if (!llvm::isa<PtrType>(argument.getType()) && !argument.getType().isIntOrFloat())
      return emitOpError() << "parameter " << argument.getArgNumber() << " has type " << argument.getType()
                           << ", expected `!machine.ptr`, an integer or a float";
  if (getArgNames().size() != block().getNumArguments())
    return emitOpError() << "names " << getArgNames().size() << " parameters, has " << block().getNumArguments();
  // kernel_c2
  if (static_cast<int64_t>(getWaveSize()) < 1 || static_cast<int64_t>(getWaves()) < 1 ||
      static_cast<int64_t>(getSharedBytes()) < 0)
    return emitOpError() << "has " << static_cast<int64_t>(getWaves()) << " waves of "
                         << static_cast<int64_t>(getWaveSize()) << " lanes and "
                         << static_cast<int64_t>(getSharedBytes())
                         << " shared bytes, expected positive numbers and no negative size";
  return mlir::success();
}

//===-- Memory --------------------------------------------------------------===//

llvm::LogicalResult LoadOp::verify() {
  if (failed(verifyLane(*this, getLane(), getBuffer(), getUniform())))
    return mlir::failure();
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

llvm::LogicalResult WaitOp::verify() {
  // wait_c1
  if (getValues().getTypes() != getResults().getTypes())
    return emitOpError() << "returns other types than those of its values";
  return mlir::success();
}

} // namespace soliton::machine

#define GET_OP_CLASSES
#include "soliton/ir/MachineOps.cpp.inc"
