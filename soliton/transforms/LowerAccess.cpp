//===- LowerAccess.cpp - Reads, writes and copies as instructions --------------------===//
//
// One access becomes one instruction at the address that LowerAddress.cpp gives it, in lanes that its mask names:
//
//   wave.read %a {starts = …, guards = ["$index0 < M"]}      machine.load %buffer [%lane] mask %inside
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace soliton {
using namespace wave;
using sym::Expr;

/// The values that a gather's offset and mask are made of, as symbols of their own: no other access shares what is
/// computed from them.
sym::Substitution MachineLowering::bindDynamic(const Access &access, Operation *op, sym::Facts &facts) {
  sym::Substitution fresh;
  for (size_t k = 0; k < access.dynamicCount(); ++k) {
    Value tile = cast<AccessOpInterface>(op).getDynamicValues()[k];
    Value element = mlir::vector::ExtractOp::create(builder, op->getLoc(), vector(tile), 0);
    unsigned bits = cast<mlir::IntegerType>(element.getType()).getWidth();
    if (bits < 32)
      element = mlir::arith::ExtSIOp::create(builder, op->getLoc(), builder.getI32Type(), element);
    Expr symbol = Expr::symbol("$dynamic_value" + std::to_string(freshSymbols++));
    exprs.bindAny(symbol, element);
    if (bits <= 32)
      facts.setRange(symbol, {INT32_MIN, INT32_MAX});
    fresh.set(access.dynamicSymbol(k, 0), symbol);
  }
  return fresh;
}

FailureOr<MachineLowering::Address> MachineLowering::address(const Access &access, Operation *op, int64_t elements) {
  try {
    sym::Facts facts = geometry.factsAt(op);
    sym::Substitution fresh = bindDynamic(access, op, facts);
    Expr offset = sym::substitute(access.byteOffset(0), fresh), mask = sym::substitute(access.mask(0), fresh);
    // Lanes that the mask turns off have no address.
    if (!mask.isConstant())
      facts.assume(mask);
    Address address =
        access.memory().isShared() ? sharedAddress(op, memoryOf(op), offset) : globalAddress(op, offset, facts);
    int64_t bytes = access.bytesOf(elements);
    address.alignment = bytes & -bytes; // of twelve bytes, four
    if (!mask.isConstant(1))
      address.mask = exprs.emitI1(mask, op->getLoc());
    if (elements == 1 && elementBits(tileOf(op).getElementType()) == 4)
      address.isSecond = exprs.emitI1(sym::substitute(access.placeInByte(0), fresh), op->getLoc());
    return address;
  } catch (const sym::ExprError &error) {
    return report(op->getLoc(), DiagId::ExpressionInvalid)
           << "the address of this access has no value: " << error.what();
  }
}

/// How the registers of a tile lie in memory: as they are; `i1` as bytes; what shares bytes as those bytes.
static mlir::VectorType storedType(mlir::VectorType type) {
  int64_t bits = elementBits(type.getElementType());
  if (bits % 8 == 0)
    return type;
  return mlir::VectorType::get({bits == 1 ? type.getNumElements() : (type.getNumElements() * bits + 7) / 8},
                               mlir::IntegerType::get(type.getContext(), 8));
}

Value MachineLowering::fromStored(Value stored, mlir::VectorType type, Location loc) {
  if (stored.getType() == type)
    return stored;
  if (!type.getElementType().isInteger(1))
    return mlir::vector::BitCastOp::create(builder, loc, type, stored);
  Value zero = mlir::arith::ConstantOp::create(builder, loc, builder.getZeroAttr(stored.getType()));
  return mlir::arith::CmpIOp::create(builder, loc, mlir::arith::CmpIPredicate::ne, stored, zero);
}

Value MachineLowering::toStored(Value value, Location loc) {
  auto type = cast<mlir::VectorType>(value.getType());
  mlir::VectorType stored = storedType(type);
  if (stored == type)
    return value;
  if (!type.getElementType().isInteger(1))
    return mlir::vector::BitCastOp::create(builder, loc, stored, value);
  return mlir::arith::ExtUIOp::create(builder, loc, stored, value);
}

/// Elements of 6 bits lie together in 3, 6 or 12 bytes, which few instructions move at once. Waits count accesses: with
/// more instructions than they know of they wait for no less.
int64_t MachineLowering::pieceBytes(const Address &at, int64_t bytes) const {
  bool isOne = llvm::isPowerOf2_64(bytes) || (bytes == 12 && at.buffer && geometry.target().hasThreeWordAccess);
  return isOne ? bytes : at.alignment;
}

Value MachineLowering::loadPieces(const Address &at, mlir::VectorType stored, Location loc) {
  auto load = [&](mlir::VectorType type, int64_t offset) -> Value {
    return machine::LoadOp::create(builder, loc, type, at.buffer, at.lane, at.uniform, at.mask, at.immediate + offset,
                                   at.alignment, at.workgroup);
  };
  int64_t bytes = stored.getNumElements() * stored.getElementTypeBitWidth() / 8, piece = pieceBytes(at, bytes);
  if (piece == bytes)
    return load(stored, 0);
  auto word = mlir::IntegerType::get(kernel.getContext(), static_cast<unsigned>(piece) * 8);
  auto words = mlir::VectorType::get({bytes / piece}, word);
  Value all = mlir::arith::ConstantOp::create(builder, loc, builder.getZeroAttr(words));
  for (int64_t i = 0; i < bytes / piece; ++i)
    all = mlir::vector::InsertStridedSliceOp::create(builder, loc, load(mlir::VectorType::get({1}, word), i * piece),
                                                     all, {i}, {1});
  return mlir::vector::BitCastOp::create(builder, loc, stored, all);
}

void MachineLowering::storePieces(const Address &at, Value stored, Location loc) {
  auto store = [&](Value value, int64_t offset) {
    machine::StoreOp::create(builder, loc, value, at.buffer, at.lane, at.uniform, at.mask, at.immediate + offset,
                             at.alignment);
  };
  auto type = cast<mlir::VectorType>(stored.getType());
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8, piece = pieceBytes(at, bytes);
  if (piece == bytes)
    return store(stored, 0);
  auto word = mlir::IntegerType::get(kernel.getContext(), static_cast<unsigned>(piece) * 8);
  Value words = mlir::vector::BitCastOp::create(builder, loc, mlir::VectorType::get({bytes / piece}, word), stored);
  for (int64_t i = 0; i < bytes / piece; ++i)
    store(slice(words, i, 1, loc), i * piece);
}

LogicalResult MachineLowering::lowerMatrixLoad(ReadOp read, const MatrixAccess &matrix) {
  Access rows(read, geometry, matrixRowsOf(read, geometry.target()));
  FailureOr<Address> at = address(rows, read, matrix.contiguous);
  if (failed(at))
    return failure();
  define(read.getResult(), machine::LoadMatrixOp::create(builder, read.getLoc(), vectorType(read.getResult().getType()),
                                                         matrix.name, at->lane, at->immediate));
  return success();
}

LogicalResult MachineLowering::lowerRead(ReadOp read) {
  mlir::VectorType type = vectorType(read.getResult().getType());
  if (const MatrixAccess *matrix = matrixAccessOf(read, geometry.target()))
    return lowerMatrixLoad(read, *matrix);
  FailureOr<Address> at = address(Access(read, geometry), read, type.getNumElements());
  if (failed(at))
    return failure();
  at->workgroup = read.getWorkgroupAttr();
  Value loaded = loadPieces(*at, storedType(type), read.getLoc());
  if (!at->isSecond) {
    define(read.getResult(), fromStored(loaded, type, read.getLoc()));
    return success();
  }
  // Both elements of the byte, and the one that is meant.
  auto both = mlir::VectorType::get({2}, type.getElementType());
  Value pair = mlir::vector::BitCastOp::create(builder, read.getLoc(), both, loaded);
  auto half = [&](int64_t which) -> Value {
    return mlir::vector::ExtractStridedSliceOp::create(builder, read.getLoc(), pair, {which}, {1}, {1});
  };
  define(read.getResult(),
         mlir::arith::SelectOp::create(builder, read.getLoc(), at->isSecond, half(1), half(0)).getResult());
  return success();
}

LogicalResult MachineLowering::lowerWrite(WriteOp write) {
  Value value = vector(write.getValue());
  FailureOr<Address> at =
      address(Access(write, geometry), write, cast<mlir::VectorType>(value.getType()).getNumElements());
  if (failed(at))
    return failure();
  storePieces(*at, toStored(value, write.getLoc()), write.getLoc());
  return success();
}

LogicalResult MachineLowering::lowerCopy(CopyOp copy) {
  FailureOr<Address> from = address(Access(copy, geometry), copy, static_cast<int64_t>(copy.getElementsPerThread()));
  if (failed(from))
    return failure();
  Expr offset = destinationOffset(copy, geometry);
  bool linear = geometry.target().asyncCopyIsLaneLinear;
  // The machine adds what a lane's number makes: the destination is the first lane's.
  if (linear)
    offset = sym::simplify(sym::substitute(offset, {{laneSymbol(), Expr(0)}}), geometry.factsAt(copy));
  Address to = sharedAddress(copy, copy.getDestination(), offset);
  machine::CopyAsyncOp::create(builder, copy.getLoc(), from->buffer, from->lane, from->uniform, to.lane, from->mask,
                               from->immediate, to.immediate, copy.bytesPerLane(), linear);
  return success();
}

} // namespace soliton
