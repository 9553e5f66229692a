//===- LowerAccess.cpp - Addresses and the instructions that use them ----------------===//
//
// The byte offset of an access is a sum. Its parts go where the machine computes them best:
//
//   64-bit base, once per kernel    what depends on the workgroup and on sizes only
//   uniform                         what depends on the wave or an iteration, but not on the lane
//   lane                            the rest
//   immediate                       the constant
//
// For shared memory everything but the constant is in `lane`: its instructions have no uniform operand.
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace soliton {
using namespace wave;
using sym::Expr;

Value MachineLowering::pinned(Value value, Location loc) {
  Value &pin = pins[value];
  if (!pin) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(value);
    pin = machine::PinOp::create(builder, loc, value.getType(), value);
  }
  return pin;
}

MachineLowering::Address MachineLowering::sharedAddress(Operation *op, Value memory, Expr offset) {
  auto allocation = memory.getDefiningOp<AllocateOp>();
  Expr buffer = 0;
  if (auto which = op->getAttrOfType<ExprAttr>("buffer"))
    buffer = geometry.named(which, cast<IndexedOpInterface>(op).getSymbols()) * bytesPerBuffer(allocation);
  auto start = static_cast<int64_t>(*allocation.getOffset());
  // A tile that ends where immediates do not reach has its start in the lane's part, once for all its accesses.
  bool reaches = start + bytesPerBuffer(allocation) <= geometry.target().maxSharedImmediate;
  bool perLane = !reaches && !isa<CopyOp>(op);
  sym::AffineTerms terms = sym::affineTerms(perLane ? offset : offset + buffer);
  int64_t constant = std::exchange(terms.constant, 0);
  (reaches ? constant : terms.constant) += start;
  Location loc = op->getLoc();
  Address address;
  address.lane = exprs.emitI32(sym::fromAffineTerms(terms), loc);
  if (perLane) {
    address.lane = pinned(address.lane, loc);
    constant += buffer.constantValue().value_or(0);
    if (!buffer.isConstant())
      address.lane = mlir::arith::AddIOp::create(builder, loc, address.lane, exprs.emitI32(buffer, loc));
  }
  address.immediate = constant;
  return address;
}

MachineLowering::Address MachineLowering::globalAddress(Operation *op, Expr offset) {
  sym::AffineTerms all = sym::affineTerms(offset), lane, uniform, base;
  for (const sym::AffineTerm &term : all.terms) {
    bool workgroupOnly = true;
    for (Expr symbol : sym::symbolsOf(term.atom))
      workgroupOnly &= !(symbol == waveSymbol()) && !geometry.symbols().isIteration(symbol);
    bool perLane = sym::contains(term.atom, laneSymbol());
    (perLane ? lane : workgroupOnly ? base : uniform).terms.push_back(term);
  }
  // An immediate is never negative; a negative constant moves the base.
  (all.constant < 0 ? base.constant : lane.constant) = all.constant;
  Address address;
  address.immediate = std::exchange(lane.constant, 0);
  Location loc = op->getLoc();
  Expr start = sym::fromAffineTerms(base);
  Value &buffer = buffers[{memoryOf(op), start.get()}];
  if (!buffer) {
    auto memory = cast<MemoryType>(memoryOf(op).getType());
    int64_t elementBytes = soliton::elementBytes(memory.getElementType());
    Expr bytes = shapeOf(memory, geometry).elements * elementBytes - start;
    Value startValue = exprs.emitI64(start, loc),
          bytesValue = exprs.emitI64(sym::simplify(bytes, geometry.facts()), loc);
    OpBuilder at = builder;
    if (outermost)
      at.setInsertionPoint(outermost);
    buffer = machine::BufferOp::create(at, loc, machine::BufferType::get(op->getContext()),
                                       parameters.lookup(memoryOf(op)), startValue, bytesValue);
  }
  address.buffer = buffer;
  address.lane = exprs.emitI32(sym::fromAffineTerms(lane), loc);
  if (!uniform.terms.empty())
    address.uniform = exprs.emitI32(sym::fromAffineTerms(uniform), loc);
  return address;
}

FailureOr<MachineLowering::Address> MachineLowering::address(Operation *op, int64_t elements) {
  try {
    Access access(op, geometry);
    Expr offset = access.byteOffset(0);
    Address address = access.memory().isShared() ? sharedAddress(op, memoryOf(op), offset) : globalAddress(op, offset);
    address.alignment = elements * access.elementBytes();
    Expr mask = access.mask(0);
    if (!mask.isConstant(1))
      address.mask = exprs.emitI1(mask, op->getLoc());
    return address;
  } catch (const sym::ExprError &error) {
    return report(op->getLoc(), DiagId::ExpressionInvalid)
           << "the address of this access has no value: " << error.what();
  }
}

LogicalResult MachineLowering::lowerRead(ReadOp read) {
  if (!read.getDynamicValues().empty())
    return report(read.getLoc(), DiagId::NotSupportedHere) << "a mapping with dynamic values has no machine form yet";
  mlir::VectorType type = vectorType(read.getResult().getType());
  FailureOr<Address> at = address(read, type.getNumElements());
  if (failed(at))
    return failure();
  define(read.getResult(), machine::LoadOp::create(builder, read.getLoc(), type, at->buffer, at->lane, at->uniform,
                                                   at->mask, at->immediate, at->alignment));
  return success();
}

LogicalResult MachineLowering::lowerWrite(WriteOp write) {
  if (!write.getDynamicValues().empty())
    return report(write.getLoc(), DiagId::NotSupportedHere) << "a mapping with dynamic values has no machine form yet";
  Value value = vector(write.getValue());
  FailureOr<Address> at = address(write, cast<mlir::VectorType>(value.getType()).getNumElements());
  if (failed(at))
    return failure();
  machine::StoreOp::create(builder, write.getLoc(), value, at->buffer, at->lane, at->uniform, at->mask, at->immediate,
                           at->alignment);
  return success();
}

LogicalResult MachineLowering::lowerCopy(CopyOp copy) {
  FailureOr<Address> from = address(copy, static_cast<int64_t>(copy.getElementsPerThread()));
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
