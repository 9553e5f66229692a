//===- LowerAtomic.cpp - Read-modify-write as instructions ---------------------------===//
//
// One atomic becomes one instruction at the address that LowerAddress.cpp gives it. Least and largest floats become
// those of integers, which every chip has: floats without sign are ordered as their bits are, those with a sign the
// other way round, and each lane knows its own value's sign.
//
//   wave.atomic min %x, %m       %old0 = machine.atomic min  %bits, … mask %positive
//                                %old1 = machine.atomic umax %bits, … mask %negative
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace soliton {
using namespace wave;
namespace arith = mlir::arith;

static machine::AtomicKind machineKind(AtomicKind kind) {
  switch (kind) {
  case AtomicKind::add:
    return machine::AtomicKind::add;
  case AtomicKind::min:
    return machine::AtomicKind::min;
  case AtomicKind::max:
    return machine::AtomicKind::max;
  case AtomicKind::exchange:
    return machine::AtomicKind::exchange;
  case AtomicKind::bit_and:
    return machine::AtomicKind::bit_and;
  case AtomicKind::bit_or:
    return machine::AtomicKind::bit_or;
  case AtomicKind::bit_xor:
    return machine::AtomicKind::bit_xor;
  case AtomicKind::cas:
    return machine::AtomicKind::cas;
  }
  llvm_unreachable("no such kind");
}

Value MachineLowering::atomicAt(machine::AtomicKind kind, Value value, const Address &at, Value mask, Location loc,
                                Value expected) {
  return machine::AtomicOp::create(builder, loc, value.getType(), kind, value, expected, at.buffer, at.lane, at.uniform,
                                   mask, at.immediate);
}

Value MachineLowering::atomicByBits(AtomicKind kind, Value value, const Address &at, Location loc) {
  auto type = cast<mlir::VectorType>(value.getType());
  unsigned width = type.getElementTypeBitWidth();
  auto integer = mlir::IntegerType::get(type.getContext(), width);
  auto integers = mlir::VectorType::get({1}, integer);
  bool isMin = kind == AtomicKind::min;
  auto constant = [&](const llvm::APInt &number) -> Value {
    return arith::ConstantOp::create(builder, loc, mlir::IntegerAttr::get(integer, number));
  };
  auto both = [&](Value a, Value b) -> Value { return a ? Value(arith::AndIOp::create(builder, loc, a, b)) : b; };

  Value number = mlir::vector::ExtractOp::create(builder, loc, value, 0);
  Value bits = mlir::vector::ExtractOp::create(
      builder, loc, mlir::vector::BitCastOp::create(builder, loc, integers, value).getResult(), 0);
  // A NaN changes nothing: it becomes the number that is never taken.
  Value isNumber = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, number, number);
  bits = arith::SelectOp::create(
      builder, loc, isNumber, bits,
      constant(isMin ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getSignedMinValue(width)));
  Value zero = constant(llvm::APInt::getZero(width));
  Value negative = both(isNumber, arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, bits, zero));
  Value positive =
      arith::XOrIOp::create(builder, loc, negative, arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  Value operand = mlir::vector::FromElementsOp::create(builder, loc, integers, bits);
  Value up =
      atomicAt(isMin ? machine::AtomicKind::min : machine::AtomicKind::max, operand, at, both(at.mask, positive), loc);
  Value down = atomicAt(isMin ? machine::AtomicKind::umax : machine::AtomicKind::umin, operand, at,
                        both(at.mask, negative), loc);
  // A lane's old value is in one of them, and 0 in the other.
  Value old = arith::OrIOp::create(builder, loc, up, down);
  return mlir::vector::BitCastOp::create(builder, loc, type, old);
}

LogicalResult MachineLowering::lowerAtomic(AtomicOp atomic) {
  Value value = vector(atomic.getValue());
  auto type = cast<mlir::VectorType>(value.getType());
  FailureOr<Address> at = address(Access(atomic, geometry), atomic, type.getNumElements());
  if (failed(at))
    return failure();
  AtomicKind kind = atomic.getKind();
  bool byBits = isa<mlir::FloatType>(type.getElementType()) && (kind == AtomicKind::min || kind == AtomicKind::max);
  define(atomic.getResult(), byBits ? atomicByBits(kind, value, *at, atomic.getLoc())
                                    : atomicAt(machineKind(kind), value, *at, at->mask, atomic.getLoc(),
                                               atomic.getExpected() ? vector(atomic.getExpected()) : Value()));
  return success();
}

} // namespace soliton
