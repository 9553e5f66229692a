//===- Facts.h - What is known about symbols -------------------------------===//
//
// Ranges, divisibility and assumptions that simplification and proofs may use.
//
//   Facts facts;
//   facts.setRange(lane, {0, 63});         // 0 <= lane <= 63
//   facts.setDivisor(k, 32);               // 32 divides k
//   facts.assume(lt(wg, ceildiv(m, 64)));  // any predicate
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Expr.h"

namespace soliton::sym {

/// Inclusive bounds; an absent end is unbounded.
struct Range {
  std::optional<int64_t> lo, hi;
  bool operator==(const Range &) const = default;
  bool contains(int64_t value) const { return (!lo || *lo <= value) && (!hi || value <= *hi); }
};

/// A conjunction of what is known. A value: copy it to know more in one place.
class Facts {
public:
  /// What is known about one symbol: lo <= symbol <= hi and symbol = residue (mod divisor).
  struct Entry {
    Expr symbol;
    Range range;
    int64_t divisor = 1; ///< 1: nothing known
    int64_t residue = 0;
  };

  /// Intersects with what is known already. Throws ExprError (badArgument) if `symbol` is none.
  void setRange(Expr symbol, Range range);
  /// `divisor` >= 1 divides `symbol`; a second one is combined (least common multiple).
  void setDivisor(Expr symbol, int64_t divisor);
  /// Any predicate. Bounds and congruences of one symbol join its entry, the rest is used by proofs.
  void assume(Expr predicate);

  /// Adds what `predicate` says about single symbols and nothing else; true if that was something.
  bool refine(Expr predicate);

  /// The range known for a symbol.
  Range rangeOf(Expr symbol) const;
  const Entry *find(Expr symbol) const;
  std::span<const Entry> entries() const { return {list.data(), list.size()}; }
  /// Assumptions that are no fact about a single symbol, in simplified form.
  std::span<const Expr> assumptions() const { return {predicates.data(), predicates.size()}; }
  bool empty() const { return list.empty() && predicates.empty(); }
  /// Facts with the same version are equal; changes with every change. 0: nothing is known.
  uint64_t version() const { return id; }

private:
  Entry &entryOf(Expr symbol);
  bool assumeBound(Expr predicate);
  bool assumeCongruence(Expr predicate);
  void setCongruence(Expr symbol, int64_t divisor, int64_t residue);
  void changed();

  std::vector<Entry> list;
  std::vector<Expr> predicates;
  uint64_t id = 0;
};

} // namespace soliton::sym
