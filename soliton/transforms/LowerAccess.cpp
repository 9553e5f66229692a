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

MachineLowering::Address MachineLowering::sharedAddress(Operation *op, Expr offset) {
  auto allocation = memoryOf(op).getDefiningOp<AllocateOp>();
  sym::AffineTerms terms = sym::affineTerms(offset);
  int64_t constant = terms.constant + static_cast<int64_t>(*allocation.getOffset());
  terms.constant = 0;
  Address address;
  address.lane = exprs.emitI32(sym::fromAffineTerms(terms), op->getLoc());
  address.immediate = constant;
  return address;
}

MachineLowering::Address MachineLowering::globalAddress(Operation *op, Expr offset) {
  sym::AffineTerms all = sym::affineTerms(offset), lane, uniform, base;
  for (const sym::AffineTerm &term : all.terms) {
    bool workgroupOnly = true;
    for (Expr symbol : sym::symbolsOf(term.atom))
      workgroupOnly &= !(symbol == waveSymbol()) && !symbol.symbolName().starts_with("$ARG_");
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
    Address address = access.memory().isShared() ? sharedAddress(op, offset) : globalAddress(op, offset);
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

} // namespace soliton
