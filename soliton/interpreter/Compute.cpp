//===- Compute.cpp - The meaning of element-wise ops -------------------------===//

#include "soliton/interpreter/Compute.h"

#include "soliton/interpreter/Failure.h"
#include "soliton/interpreter/Numbers.h"
#include "soliton/support/Float.h"

namespace soliton::interp {
using namespace wave;

static Alignment aligned(mlir::Operation *op, const Tile &of, const Domain &from) {
  std::optional<Alignment> result = align(of.domain, from);
  if (!result)
    fail(op->getLoc(), DiagId::ReferenceUndefined,
         "an operand of `" + op->getName().getStringRef().str() + "` does not cover all coordinates of the result");
  return std::move(*result);
}

static double fit(DType type, double value) {
  return round(type, value);
}
static int64_t fit(DType type, int64_t value) {
  return wrap(type, value);
}

/// Calls `body` with a zero of the kind of numbers that the type has.
template <typename Body>
static auto byKind(DType type, Body body) {
  return isFloat(type) ? body(double()) : body(int64_t());
}

[[noreturn]] static void failKind(mlir::Operation *op, llvm::StringRef kind, DType type) {
  fail(op->getLoc(), DiagId::ReferenceUndefined,
       "`" + kind.str() + "` has no value on these " + std::string(name(type)) + " elements");
}

//===-- Copies ----------------------------------------------------------------===//

Tile reindex(mlir::Operation *op, const Tile &operand, const Domain &result) {
  Tile tile(result, operand.type);
  Alignment from = aligned(op, operand, result);
  byKind(operand.type, [&](auto zero) {
    const auto &source = operand.as<decltype(zero)>();
    auto &target = tile.as<decltype(zero)>();
    forEach<1>(result, {&from}, [&](size_t at, const auto &offsets) { target[at] = source[offsets[0]]; });
  });
  return tile;
}

Tile join(JoinOp op, const std::vector<const Tile *> &pieces, const Domain &result) {
  Tile tile(result, *dtypeOf(op.getResult().getType().getElementType()));
  std::vector<bool> covered(result.size(), false);
  for (const Tile *piece : pieces) {
    Alignment to = aligned(op, tile, piece->domain);
    byKind(tile.type, [&](auto zero) {
      const auto &source = piece->as<decltype(zero)>();
      auto &target = tile.as<decltype(zero)>();
      forEach<1>(piece->domain, {&to}, [&](size_t at, const auto &offsets) {
        target[offsets[0]] = source[at];
        covered[offsets[0]] = true;
      });
    });
  }
  if (!llvm::all_of(covered, [](bool each) { return each; }))
    fail(op.getLoc(), DiagId::ReferenceUndefined,
         "the pieces of `wave.join` do not cover all coordinates of the result");
  return tile;
}

//===-- Element by element ----------------------------------------------------===//

Tile unary(UnaryOp op, const Tile &operand, const Domain &result) {
  Tile tile(result, operand.type);
  Alignment from = aligned(op, operand, result);
  byKind(operand.type, [&](auto zero) {
    const auto &source = operand.as<decltype(zero)>();
    auto &target = tile.as<decltype(zero)>();
    forEach<1>(result, {&from}, [&](size_t at, const auto &offsets) {
      auto value = apply(op.getKind(), source[offsets[0]]);
      if (!value)
        failKind(op, stringifyUnaryKind(op.getKind()), operand.type);
      target[at] = fit(operand.type, *value);
    });
  });
  return tile;
}

Tile binary(BinaryOp op, const Tile &lhs, const Tile &rhs, const Domain &result) {
  Tile tile(result, lhs.type);
  Alignment left = aligned(op, lhs, result), right = aligned(op, rhs, result);
  byKind(lhs.type, [&](auto zero) {
    const auto &a = lhs.as<decltype(zero)>();
    const auto &b = rhs.as<decltype(zero)>();
    auto &target = tile.as<decltype(zero)>();
    forEach<2>(result, {&left, &right}, [&](size_t at, const auto &offsets) {
      auto value = apply(op.getKind(), a[offsets[0]], b[offsets[1]]);
      if (!value)
        failKind(op, stringifyBinaryKind(op.getKind()), lhs.type);
      target[at] = fit(lhs.type, *value);
    });
  });
  return tile;
}

Tile compare(CompareOp op, const Tile &lhs, const Tile &rhs, const Domain &result) {
  Tile tile(result, DType::i1);
  Alignment left = aligned(op, lhs, result), right = aligned(op, rhs, result);
  std::vector<int64_t> &target = tile.as<int64_t>();
  byKind(lhs.type, [&](auto zero) {
    const auto &a = lhs.as<decltype(zero)>();
    const auto &b = rhs.as<decltype(zero)>();
    forEach<2>(result, {&left, &right}, [&](size_t at, const auto &offsets) {
      target[at] = compare(op.getPredicate(), a[offsets[0]], b[offsets[1]]);
    });
  });
  return tile;
}

Tile select(SelectOp op, const Tile &condition, const Tile &ifTrue, const Tile &ifFalse, const Domain &result) {
  Tile tile(result, ifTrue.type);
  Alignment by = aligned(op, condition, result), left = aligned(op, ifTrue, result),
            right = aligned(op, ifFalse, result);
  const std::vector<int64_t> &choice = condition.as<int64_t>();
  byKind(ifTrue.type, [&](auto zero) {
    const auto &a = ifTrue.as<decltype(zero)>();
    const auto &b = ifFalse.as<decltype(zero)>();
    auto &target = tile.as<decltype(zero)>();
    forEach<3>(result, {&by, &left, &right}, [&](size_t at, const auto &offsets) {
      target[at] = choice[offsets[0]] ? a[offsets[1]] : b[offsets[2]];
    });
  });
  return tile;
}

static double castTo(DType type, double value, double) {
  return round(type, value);
}
static double castTo(DType type, int64_t value, double) {
  return toFloat(type, value);
}
static int64_t castTo(DType type, double value, int64_t) {
  return toInteger(type, value);
}
static int64_t castTo(DType type, int64_t value, int64_t) {
  return wrap(type, value);
}

Tile cast(CastOp op, const Tile &operand, DType type, const Domain &result) {
  Tile tile(result, type);
  Alignment from = aligned(op, operand, result);
  byKind(operand.type, [&](auto from_) {
    byKind(type, [&](auto to) {
      const auto &source = operand.as<decltype(from_)>();
      auto &target = tile.as<decltype(to)>();
      forEach<1>(result, {&from},
                 [&](size_t at, const auto &offsets) { target[at] = castTo(type, source[offsets[0]], to); });
    });
  });
  return tile;
}

static uint64_t bitsOf(DType type, double value) {
  return encode(type, value);
}
static uint64_t bitsOf(DType, int64_t value) {
  return static_cast<uint64_t>(value);
}
static double fromBits(DType type, uint64_t bits, double) {
  return decode(type, bits);
}
static int64_t fromBits(DType type, uint64_t bits, int64_t) {
  return wrap(type, static_cast<int64_t>(bits));
}

/// The bits of every element, as integers of the same places.
static Tile bitTile(const Tile &tile) {
  Tile result;
  result.domain = tile.domain;
  result.type = DType::i64;
  std::vector<int64_t> bits;
  byKind(tile.type, [&](auto zero) {
    for (auto value : tile.as<decltype(zero)>())
      bits.push_back(static_cast<int64_t>(bitsOf(tile.type, value)));
  });
  result.values = std::move(bits);
  return result;
}

static uint64_t lowBits(int count) {
  return count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
}

/// Elements of other widths: the bits of a row stay where they are, the first element has the lowest. The element at
/// place p has those from `p * to` on, which lie in the elements from `p * to / from` on of the operand.
static Tile regroup(BitcastOp op, const Tile &operand, DType type, const Domain &result) {
  int64_t from = soliton::bits(operand.type), to = soliton::bits(type);
  Tile source = bitTile(operand), tile(result, type), bits(result, DType::i64);
  const Places &places = result.places.back();
  Domain wanted = result;
  wanted.dims.back() = operand.domain.dims.back();
  for (int64_t part = 0; part * from < to + from - 1; ++part) {
    for (size_t i = 0; i < places.size(); ++i)
      wanted.places.back()[i] = std::min(places[i] * to / from + part, (places[i] * to + to - 1) / from);
    Tile moved = reindex(op, source, wanted);
    for (size_t at = 0; at < result.size(); ++at) {
      size_t i = at % places.size();
      uint64_t element = static_cast<uint64_t>(moved.as<int64_t>()[at]) & lowBits(static_cast<int>(from));
      int64_t shift = wanted.places.back()[i] * from - places[i] * to;
      bits.as<int64_t>()[at] |= static_cast<int64_t>(shift < 0 ? element >> -shift : element << shift);
    }
  }
  byKind(type, [&](auto to) {
    auto &target = tile.as<decltype(to)>();
    for (size_t at = 0; at < result.size(); ++at)
      target[at] = fromBits(type, static_cast<uint64_t>(bits.as<int64_t>()[at]) & lowBits(soliton::bits(type)), to);
  });
  return tile;
}

Tile bitcast(BitcastOp op, const Tile &operand, DType type, const Domain &result) {
  if (op.getGroups())
    return regroup(op, operand, type, result);
  Tile tile(result, type);
  Alignment from = aligned(op, operand, result);
  const uint64_t mask = lowBits(bits(type));
  byKind(operand.type, [&](auto from_) {
    byKind(type, [&](auto to) {
      const auto &source = operand.as<decltype(from_)>();
      auto &target = tile.as<decltype(to)>();
      forEach<1>(result, {&from}, [&](size_t at, const auto &offsets) {
        target[at] = fromBits(type, bitsOf(operand.type, source[offsets[0]]) & mask, to);
      });
    });
  });
  return tile;
}

Tile applyExpr(ApplyExprOp op, sym::Expr expr, const std::vector<const Tile *> &operands, DType type,
               const Domain &result) {
  Tile tile(result, type);
  std::vector<Tile> values;
  std::vector<sym::Expr> symbols;
  for (size_t k = 0; k < operands.size(); ++k) {
    values.push_back(reindex(op, *operands[k], result));
    symbols.push_back(sym::Expr::symbol("$APPLY_EXPR_ARG_" + std::to_string(k)));
  }
  sym::Environment environment;
  for (size_t at = 0; at < result.size(); ++at) {
    for (size_t k = 0; k < operands.size(); ++k)
      environment.set(symbols[k], values[k].as<int64_t>()[at]);
    int64_t value = 0;
    try {
      value = sym::evaluate(expr, environment);
    } catch (const sym::ExprError &error) {
      fail(op.getLoc(), DiagId::ReferenceUndefined, "`" + sym::toString(expr) + "` has no value: " + error.what());
    }
    if (isFloat(type))
      tile.as<double>()[at] = toFloat(type, value);
    else
      tile.as<int64_t>()[at] = wrap(type, value);
  }
  return tile;
}

} // namespace soliton::interp
