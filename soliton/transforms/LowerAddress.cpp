//===- LowerAddress.cpp - Where an access goes, in the parts that the machine adds ------===//
//
// The byte offset of an access is a sum. Its parts go where the machine computes them best:
//
//   64-bit base, once per kernel    what depends on the workgroup and on sizes only
//   uniform                         what depends on the wave or an iteration, but not on the lane; outside of what
//                                   moves with iterations also what sizes set apart: the pieces of a tile share a base
//   lane                            the rest
//   immediate                       the constant
//
// None of lane, uniform and immediate is negative: what is below 0 at its least moves the base, by a number or by what
// the sizes make of it (`-2*i` of ceildiv(K, 2) iterations: by `2*ceildiv(K, 2) - 2`). For shared memory everything but
// the constant is in `lane`: its instructions have no uniform operand.
//
// Lane, uniform and immediate have 31 bits together where that can be shown, or be checked at launch (`near`). Where it
// is what is uniform that does not fit, it moves the base, wave by wave and iteration by iteration, in 64 bits of the
// scalar unit (`moved`). The values of a gather may be anything, but guards keep what it touches within the memory: in
// one that is small all of the offset is in `lane`, whatever its parts are (`guarded`). Where lanes themselves lie too
// far apart each has an offset of 64 bits (`far`):
//
//   a: [2^20, 2^13] of f32, rows 16·i … 16·i + 15 of iteration i       moved: base + 2^19·i, lane < 2^19
//   a gather of rows of the same tensor                                far:   2^15·row + 4·column
//   a gather of rows of a: [2^10, 2^13]                                guarded: the same in 32 bits
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/MachineLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

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
  // LLVM would rather add the parts in every iteration than have a register for the sum.
  bool isSumInLoop = outermost && terms.terms.size() > 1 && !cast<AccessOpInterface>(op).isAsync();
  if (perLane || isSumInLoop)
    address.lane = pinned(address.lane, loc);
  if (perLane) {
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
      if (!bound || !isNear(term.coefficient, *bound))
        return std::nullopt;
      sum = sum + term.coefficient * *bound;
    }
    return sym::simplify(sum, facts);
  }
  /// The least value.
  std::optional<Expr> leastOf(sym::AffineTerms terms) const {
    terms.constant = -terms.constant;
    for (sym::AffineTerm &term : terms.terms)
      term.coefficient = -term.coefficient;
    std::optional<Expr> bound = of(terms);
    return bound ? std::optional<Expr>(-*bound) : std::nullopt;
  }

private:
  /// Whether the product is one that sums of a few others can be compared with.
  static bool isNear(int64_t coefficient, Expr bound) {
    constexpr double kFar = 0x1p48;
    std::optional<int64_t> number = bound.constantValue();
    return !number || std::fabs(static_cast<double>(coefficient) * static_cast<double>(*number)) < kFar;
  }

  std::optional<Expr> least(Expr expr) const {
    std::optional<int64_t> low = sym::rangeOf(expr, facts).lo;
    return low ? std::optional<Expr>(*low) : std::nullopt;
  }

  std::optional<Expr> of(Expr expr) const {
    bool isSize = llvm::none_of(sym::symbolsOf(expr), [](Expr e) { return e.symbolName().starts_with("$"); });
    if (isSize)
      return expr;
    // The count may speak of the workgroup, as of a loop that stops at the diagonal.
    if (symbols.isIteration(expr))
      return of(sym::affineTerms(symbols.countOf(expr) - 1));
    if (expr.kind() == sym::Kind::max)
      return ofMax(expr);
    if (expr.kind() == sym::Kind::min) // each operand is a bound; one of sizes says most
      for (Expr operand : expr.operands())
        if (std::optional<Expr> bound = of(operand); bound && !bound->isConstant())
          return bound;
    if (expr.kind() == sym::Kind::mul) {
      Expr product = 1;
      for (Expr factor : expr.operands()) {
        std::optional<Expr> bound = of(factor);
        std::optional<int64_t> low = sym::rangeOf(factor, facts).lo;
        bool isAny = bound && bound->constantValue().value_or(0) >= INT32_MAX; // no size keeps a multiple of that
        if (!bound || isAny || !low || *low < 0)
          return std::nullopt;
        product = product * *bound;
      }
      return product;
    }
    if (expr.kind() == sym::Kind::add) // a factor, as of `(64*i + lane)*M`
      return of(sym::affineTerms(expr));
    if (std::optional<Expr> bound = ofQuotient(expr))
      return bound;
    // The number of a workgroup is bounded by sizes; its range says nothing about them.
    if (llvm::any_of(sym::symbolsOf(expr), [](Expr e) { return e.symbolName().starts_with("$WG"); }))
      return std::nullopt;
    std::optional<int64_t> high = sym::rangeOf(expr, facts).hi;
    return high ? std::optional<Expr>(*high) : std::nullopt;
  }
  std::optional<Expr> ofMax(Expr expr) const {
    std::optional<Expr> most;
    for (Expr operand : expr.operands()) {
      std::optional<Expr> bound = of(sym::affineTerms(operand));
      if (!bound)
        return std::nullopt;
      most = most ? sym::max(*most, *bound) : *bound;
    }
    return most;
  }
  /// Of `floordiv(17*i + lane, 4)`, which grows with what is divided.
  std::optional<Expr> ofQuotient(Expr expr) const {
    if (expr.kind() != sym::Kind::floordiv && expr.kind() != sym::Kind::ceildiv)
      return std::nullopt;
    std::optional<int64_t> divisor = expr.operand(1).constantValue();
    std::optional<Expr> bound = of(sym::affineTerms(expr.operand(0)));
    if (!bound || !divisor || *divisor <= 0)
      return std::nullopt;
    return expr.kind() == sym::Kind::floordiv ? sym::floordiv(*bound, *divisor) : sym::ceildiv(*bound, *divisor);
  }

  const IndexSymbols &symbols;
  const sym::Facts &facts;
};
} // namespace

/// The part is made not to be negative by moving what it is below 0 to the base. False where it has no least value.
static bool lift(sym::AffineTerms &part, sym::AffineTerms &base, const UpperBounds &bounds, const sym::Facts &facts) {
  // A number that is large takes the bits that sizes need.
  constexpr int64_t kLargestNumber = 1 << 24;
  if (part.terms.empty())
    return true;
  std::optional<int64_t> least = sym::rangeOf(sym::fromAffineTerms(part), facts).lo;
  if (least && *least >= -kLargestNumber) {
    int64_t below = std::min<int64_t>(*least, 0);
    base.constant += below;
    part.constant -= below;
    return true;
  }
  std::optional<Expr> below = bounds.leastOf(part);
  if (!below || (below->isConstant() && *below->constantValue() < -INT32_MAX))
    return false;
  base = sym::affineTerms(sym::fromAffineTerms(base) + *below);
  part = sym::affineTerms(sym::fromAffineTerms(part) - *below);
  return true;
}

/// Whether the parts, none of which is negative, have 31 bits together.
bool MachineLowering::fit(ArrayRef<sym::AffineTerms> parts, const sym::Facts &facts, bool mayCheck) {
  std::optional<int64_t> largest = 0;
  for (const sym::AffineTerms &part : parts) {
    std::optional<int64_t> high = sym::rangeOf(sym::fromAffineTerms(part), facts).hi;
    bool isSmall = largest && high && *high <= INT32_MAX - *largest;
    largest = isSmall ? std::optional(*largest + *high) : std::nullopt;
  }
  if (largest)
    return true;
  // By sizes, which say more than their own largest values.
  Expr sum = 0;
  for (const sym::AffineTerms &part : parts) {
    std::optional<Expr> bound = UpperBounds(geometry.symbols(), facts).of(part);
    if (!bound)
      return false;
    sum = sum + *bound;
  }
  return fits(sym::simplify(sum, facts), facts, mayCheck);
}

/// Whether a largest value has 31 bits. One of sizes that are known only at launch is checked there, unless launches of
/// any size are wanted.
bool MachineLowering::fits(Expr largest, const sym::Facts &facts, bool mayCheck) {
  if (std::optional<int64_t> value = largest.constantValue())
    return *value <= INT32_MAX;
  // A limit that tensors of the least sizes nearly reach is none to compile for.
  std::optional<int64_t> least = sym::rangeOf(largest, facts).lo;
  if (wideOffsets || !mayCheck || (least && *least > INT32_MAX / 2))
    return false;
  // Of offsets of which one is never less than the other only that one has to be checked.
  auto isAtLeast = [&](Expr one, Expr other) {
    return sym::rangeOf(sym::simplify(one - other, geometry.facts()), geometry.facts()).lo.value_or(-1) >= 0;
  };
  if (llvm::any_of(limits, [&](Expr known) { return isAtLeast(known, largest); }))
    return true;
  llvm::erase_if(limits, [&](Expr known) { return isAtLeast(largest, known); });
  limits.push_back(largest);
  return true;
}

Value MachineLowering::bufferAt(Operation *op, Expr start) {
  if (exprs.isOfLoop(start))
    return movedBuffer(builder, memoryOf(op), op->getLoc(), start);
  Value &buffer = buffers[{memoryOf(op), start.get()}];
  if (buffer)
    return buffer;
  OpBuilder at = builder;
  if (outermost)
    at.setInsertionPoint(outermost);
  return buffer = movedBuffer(at, memoryOf(op), op->getLoc(), start);
}

Value MachineLowering::movedBuffer(OpBuilder &at, Value memory, Location loc, Expr start) {
  Expr bytes = bytesOf(cast<MemoryType>(memory.getType()), geometry) - start, place = start;
  if (kernel.isInWorkspace(memory)) {
    size_t part = cast<BlockArgument>(memory).getArgNumber() - kernel.numGivenParameters();
    Expr offset = cast<ExprAttr>((*kernel.getWorkspace())[part]).getValue();
    place = sym::simplify(start + geometry.bind(offset), geometry.facts());
  }
  Value startValue = exprs.emitI64(place, loc), bytesValue = exprs.emitI64(sym::simplify(bytes, geometry.facts()), loc);
  return machine::BufferOp::create(at, loc, machine::BufferType::get(kernel.getContext()), parameters.lookup(memory),
                                   startValue, bytesValue);
}

MachineLowering::OffsetParts MachineLowering::partsOf(Expr offset) const {
  std::vector<Expr> ofLanes, ofWaves;
  for (Expr symbol : sym::symbolsOf(offset))
    if (symbol == laneSymbol() || symbol.symbolName().starts_with("$dynamic"))
      ofLanes.push_back(symbol);
    else if (symbol == waveSymbol() || geometry.symbols().isIteration(symbol))
      ofWaves.push_back(symbol);
  sym::Split byLane = sym::splitBy(offset, ofLanes), byWave = sym::splitBy(byLane.without, ofWaves);
  return {sym::affineTerms(byLane.with), sym::affineTerms(byWave.with), sym::affineTerms(byWave.without)};
}

/// What sizes alone set the access apart from others of its tile goes to `uniform`, so that they share a base: 128 rows
/// of a length that is known at launch have one, and an offset of 32 bits each. An access that moves with iterations
/// keeps it in the base, where it costs no addition in each of them.
MachineLowering::OffsetParts MachineLowering::withSharedBase(OffsetParts parts) const {
  for (const sym::AffineTerm &term : parts.uniform.terms)
    for (Expr symbol : sym::symbolsOf(term.atom))
      if (geometry.symbols().isIteration(symbol))
        return parts;
  auto isPiece = [](const sym::AffineTerm &term) {
    return term.coefficient > 0 &&
           llvm::none_of(sym::symbolsOf(term.atom), [](Expr e) { return e.symbolName().starts_with("$"); });
  };
  llvm::copy_if(parts.base.terms, std::back_inserter(parts.uniform.terms), isPiece);
  llvm::erase_if(parts.base.terms, isPiece);
  return parts;
}

std::optional<MachineLowering::Address> MachineLowering::nearAddress(Operation *op, OffsetParts parts,
                                                                     const sym::Facts &facts, bool mayCheck) {
  auto &[lane, uniform, base] = parts;
  // An immediate is never negative; a negative constant moves the base.
  if (base.constant > 0)
    lane.constant += std::exchange(base.constant, 0);
  UpperBounds bounds(geometry.symbols(), facts);
  if (!lift(lane, base, bounds, facts) || !lift(uniform, base, bounds, facts) || !fit({lane, uniform}, facts, mayCheck))
    return std::nullopt;
  Location loc = op->getLoc();
  Address address;
  address.immediate = std::exchange(lane.constant, 0) + std::exchange(uniform.constant, 0);
  address.buffer = bufferAt(op, sym::fromAffineTerms(base));
  address.lane = exprs.emitI32(sym::fromAffineTerms(lane), loc);
  if (!uniform.terms.empty())
    address.uniform = exprs.emitI32(sym::fromAffineTerms(uniform), loc);
  return address;
}

std::optional<MachineLowering::Address> MachineLowering::movedAddress(Operation *op, OffsetParts parts,
                                                                      const sym::Facts &facts, bool mayCheck) {
  auto &[lane, uniform, base] = parts;
  if (!lift(lane, base, UpperBounds(geometry.symbols(), facts), facts) || !fit(lane, facts, mayCheck))
    return std::nullopt;
  Address address;
  address.immediate = std::exchange(lane.constant, 0);
  address.buffer =
      movedBuffer(builder, memoryOf(op), op->getLoc(), sym::fromAffineTerms(base) + sym::fromAffineTerms(uniform));
  address.lane = exprs.emitI32(sym::fromAffineTerms(lane), op->getLoc());
  return address;
}

std::optional<MachineLowering::Address> MachineLowering::guardedAddress(Operation *op, Expr offset) {
  auto memory = cast<MemoryType>(memoryOf(op).getType());
  if (!fits(sym::simplify(bytesOf(memory, geometry), geometry.facts()), geometry.facts(), /*mayCheck=*/true))
    return std::nullopt;
  Address address;
  address.buffer = bufferAt(op, 0);
  // Without its constant it may be below 0, which an immediate cannot mend.
  address.lane = exprs.emitI32(offset, op->getLoc());
  return address;
}

MachineLowering::Address MachineLowering::farAddress(Operation *op, OffsetParts parts, bool isPositive) {
  Address address;
  if (!isPositive) {
    address.buffer = bufferAt(op, 0);
    Expr offset =
        sym::fromAffineTerms(parts.base) + sym::fromAffineTerms(parts.uniform) + sym::fromAffineTerms(parts.lane);
    address.lane = exprs.emitI64(offset, op->getLoc());
    return address;
  }
  if (parts.base.constant > 0 && parts.base.constant <= INT32_MAX)
    address.immediate = std::exchange(parts.base.constant, 0);
  address.buffer = bufferAt(op, sym::fromAffineTerms(parts.base));
  address.lane = exprs.emitI64(sym::fromAffineTerms(parts.lane) + sym::fromAffineTerms(parts.uniform), op->getLoc());
  return address;
}

MachineLowering::Address MachineLowering::globalAddress(Operation *op, Expr offset, const sym::Facts &facts) {
  OffsetParts parts = partsOf(offset);
  // Values that are read have no bound that a launch could check.
  bool gathers = !cast<AccessOpInterface>(op).getDynamicValues().empty();
  // Lanes that lie below others move the base themselves: taking sizes out of it would only put them back.
  bool liesAbove = sym::rangeOf(sym::fromAffineTerms(parts.lane), facts).lo.value_or(-1) >= 0;
  for (const OffsetParts &each : {liesAbove ? withSharedBase(parts) : parts, parts})
    if (std::optional<Address> address = nearAddress(op, each, facts, /*mayCheck=*/!gathers))
      return *address;
  if (std::optional<Address> address = movedAddress(op, parts, facts, /*mayCheck=*/!gathers))
    return *address;
  // Guards keep the whole offset within the memory, not its parts: those of a gather, or of a row counted from the end
  // (`(M - 1 - m) * N`, N known at launch), may be below 0.
  Expr moving = sym::fromAffineTerms(parts.lane) + sym::fromAffineTerms(parts.uniform);
  std::optional<int64_t> least = sym::rangeOf(moving, facts).lo;
  bool isPositive = !gathers && least && *least >= 0;
  if (std::optional<Address> address = isPositive ? std::nullopt : guardedAddress(op, offset))
    return *address;
  return farAddress(op, std::move(parts), isPositive);
}

} // namespace soliton
