//===- LowerAccess.cpp - Addresses and the instructions that use them ----------------===//
//
// The byte offset of an access is a sum. Its parts go where the machine computes them best:
//
//   64-bit base, once per kernel    what depends on the workgroup and on sizes only
//   uniform                         what depends on the wave or an iteration, but not on the lane
//   lane                            the rest
//   immediate                       the constant
//
// None of lane, uniform and immediate is negative: what is below 0 at its least moves the base. For shared memory
// everything but the constant is in `lane`: its instructions have no uniform operand.
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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
  bool perLane = !reaches && !cast<AccessOpInterface>(op).isAsync();
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

namespace {
/// The largest values of expressions, in sizes that are known at launch.
class UpperBounds {
public:
  UpperBounds(const IndexSymbols &symbols, const sym::Facts &facts) : symbols(symbols), facts(facts) {}

  /// Nothing where a value has no largest one.
  std::optional<Expr> of(const sym::AffineTerms &terms) const {
    Expr sum = terms.constant;
    for (const sym::AffineTerm &term : terms.terms) {
      std::optional<Expr> bound = term.coefficient > 0 ? of(term.atom) : least(term.atom);
      if (!bound)
        return std::nullopt;
      sum = sum + term.coefficient * *bound;
    }
    return sym::simplify(sum, facts);
  }

private:
  std::optional<Expr> least(Expr expr) const {
    std::optional<int64_t> low = sym::rangeOf(expr, facts).lo;
    return low ? std::optional<Expr>(*low) : std::nullopt;
  }

  std::optional<Expr> of(Expr expr) const {
    bool isSize = llvm::none_of(sym::symbolsOf(expr), [](Expr e) { return e.symbolName().starts_with("$"); });
    if (isSize)
      return expr;
    if (symbols.isIteration(expr))
      return symbols.countOf(expr) - 1;
    if (expr.kind() == sym::Kind::min) // each operand is a bound; one of sizes says most
      for (Expr operand : expr.operands())
        if (std::optional<Expr> bound = of(operand); bound && !bound->isConstant())
          return bound;
    if (expr.kind() == sym::Kind::mul) {
      Expr product = 1;
      for (Expr factor : expr.operands()) {
        std::optional<Expr> bound = of(factor);
        std::optional<int64_t> low = sym::rangeOf(factor, facts).lo;
        if (!bound || !low || *low < 0)
          return std::nullopt;
        product = product * *bound;
      }
      return product;
    }
    std::optional<int64_t> high = sym::rangeOf(expr, facts).hi;
    return high ? std::optional<Expr>(*high) : std::nullopt;
  }

  const IndexSymbols &symbols;
  const sym::Facts &facts;
};
} // namespace

/// Whether a part of an offset, made not to be negative by moving what it is below 0 to the base, has 31 bits. What
/// depends on sizes that are known only at launch is checked there.
bool MachineLowering::fitsLane(sym::AffineTerms &part, sym::AffineTerms &base, const sym::Facts &facts) {
  if (part.terms.empty())
    return true;
  sym::Range range = sym::rangeOf(sym::fromAffineTerms(part), facts);
  if (!range.lo)
    return false;
  if (*range.lo < 0) {
    base.constant += *range.lo;
    part.constant -= *range.lo;
  }
  if (range.hi && *range.hi - std::min<int64_t>(*range.lo, 0) <= INT32_MAX)
    return true;
  std::optional<Expr> end = UpperBounds(geometry.symbols(), facts).of(part);
  if (!end || end->isConstant())
    return false;
  if (Expr limit = sym::le(*end, INT32_MAX); !llvm::is_contained(limits, limit))
    limits.push_back(limit);
  return true;
}

Value MachineLowering::bufferAt(Operation *op, Expr start) {
  Value &buffer = buffers[{memoryOf(op), start.get()}];
  if (buffer)
    return buffer;
  auto memory = cast<MemoryType>(memoryOf(op).getType());
  Location loc = op->getLoc();
  Expr bytes = bytesOf(memory, geometry) - start;
  Value startValue = exprs.emitI64(start, loc), bytesValue = exprs.emitI64(sym::simplify(bytes, geometry.facts()), loc);
  OpBuilder at = builder;
  if (outermost)
    at.setInsertionPoint(outermost);
  return buffer = machine::BufferOp::create(at, loc, machine::BufferType::get(op->getContext()),
                                            parameters.lookup(memoryOf(op)), startValue, bytesValue);
}

FailureOr<MachineLowering::Address> MachineLowering::globalAddress(Operation *op, Expr offset,
                                                                   const sym::Facts &facts) {
  std::vector<Expr> ofLanes, ofWaves;
  for (Expr symbol : sym::symbolsOf(offset))
    if (symbol == laneSymbol() || symbol.symbolName().starts_with("$dynamic"))
      ofLanes.push_back(symbol);
    else if (symbol == waveSymbol() || geometry.symbols().isIteration(symbol))
      ofWaves.push_back(symbol);
  sym::Split byLane = sym::splitBy(offset, ofLanes), byWave = sym::splitBy(byLane.without, ofWaves);
  sym::AffineTerms lane = sym::affineTerms(byLane.with), uniform = sym::affineTerms(byWave.with),
                   base = sym::affineTerms(byWave.without);
  // An immediate is never negative; a negative constant moves the base.
  if (base.constant > 0)
    lane.constant += std::exchange(base.constant, 0);
  if (!fitsLane(lane, base, facts) || !fitsLane(uniform, base, facts))
    return report(op->getLoc(), DiagId::NotSupportedHere).hint("use smaller tiles, or a tensor below 2 GiB")
           << "the elements that a workgroup touches here lie more than 2 GiB apart";
  Location loc = op->getLoc();
  Address address;
  address.immediate = std::exchange(lane.constant, 0) + std::exchange(uniform.constant, 0);
  address.buffer = bufferAt(op, sym::fromAffineTerms(base));
  address.lane = exprs.emitI32(sym::fromAffineTerms(lane), loc);
  if (!uniform.terms.empty())
    address.uniform = exprs.emitI32(sym::fromAffineTerms(uniform), loc);
  return address;
}

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

FailureOr<MachineLowering::Address> MachineLowering::address(Operation *op, int64_t elements) {
  try {
    Access access(op, geometry);
    sym::Facts facts = geometry.factsAt(op);
    sym::Substitution fresh = bindDynamic(access, op, facts);
    Expr offset = sym::substitute(access.byteOffset(0), fresh), mask = sym::substitute(access.mask(0), fresh);
    // Lanes that the mask turns off have no address.
    if (!mask.isConstant())
      facts.assume(mask);
    FailureOr<Address> address =
        access.memory().isShared() ? sharedAddress(op, memoryOf(op), offset) : globalAddress(op, offset, facts);
    if (failed(address))
      return failure();
    int64_t bytes = access.bytesOf(elements);
    address->alignment = bytes & -bytes; // of twelve bytes, four
    if (!mask.isConstant(1))
      address->mask = exprs.emitI1(mask, op->getLoc());
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
  return mlir::VectorType::get({bits == 1 ? type.getNumElements() : type.getNumElements() * bits / 8},
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

LogicalResult MachineLowering::lowerRead(ReadOp read) {
  mlir::VectorType type = vectorType(read.getResult().getType());
  FailureOr<Address> at = address(read, type.getNumElements());
  if (failed(at))
    return failure();
  Value loaded = machine::LoadOp::create(builder, read.getLoc(), storedType(type), at->buffer, at->lane, at->uniform,
                                         at->mask, at->immediate, at->alignment);
  define(read.getResult(), fromStored(loaded, type, read.getLoc()));
  return success();
}

LogicalResult MachineLowering::lowerWrite(WriteOp write) {
  Value value = vector(write.getValue());
  FailureOr<Address> at = address(write, cast<mlir::VectorType>(value.getType()).getNumElements());
  if (failed(at))
    return failure();
  machine::StoreOp::create(builder, write.getLoc(), toStored(value, write.getLoc()), at->buffer, at->lane, at->uniform,
                           at->mask, at->immediate, at->alignment);
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
