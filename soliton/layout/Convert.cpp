#include "soliton/layout/Convert.h"

#include "soliton/layout/Atoms.h"

#include <algorithm>
#include <array>

namespace soliton {
namespace {
using detail::Atom;

//===----------------------------------------------------------------------===//
// Rename
//===----------------------------------------------------------------------===//

/// Digits of dims that the source lacks say nothing about its value.
Digits restricted(const Digits &digits, const std::set<Dim> &dims) {
  Digits result = digits;
  for (Digit &digit : result)
    if (digit.dim && !dims.contains(*digit.dim))
      digit = Digit(digit.extent);
  return result;
}

/// Same lane and wave functions: each destination register is one source register, whatever the register digits.
std::optional<ConvertPlan> planRename(const Layout &from, const Layout &to) {
  if (canonical(from.lane) != canonical(to.lane) || canonical(from.wave) != canonical(to.wave))
    return std::nullopt;
  auto at = [](const Digits &digits, int64_t reg) {
    Coordinates result;
    addCoordinates(digits, reg, result);
    std::erase_if(result, [](const auto &entry) { return entry.second == 0; });
    return result;
  };
  std::map<Coordinates, int64_t> where;
  for (int64_t reg = from.regs(); reg-- > 0;)
    where[at(from.reg, reg)] = reg;
  ConvertPlan plan;
  plan.kind = ConvertKind::rename;
  for (int64_t reg = 0; reg < to.regs(); ++reg) {
    auto found = where.find(at(to.reg, reg));
    if (found == where.end())
      return std::nullopt;
    plan.registers.push_back(found->second);
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Shuffle
//===----------------------------------------------------------------------===//

/// Builds the rounds from the atoms. A source register digit that is a lane digit of the destination is *chosen*: lanes
/// want different registers. So that every lane offers one register per round it is paired with a source lane digit
/// that is replicated (whichever lane is asked, it can offer the right one) or becomes a destination register (in round
/// t lane digit a reads from a xor t and files at a xor t); a chosen digit without a partner costs guarded rounds.
class ShufflePlanner {
public:
  ShufflePlanner(std::vector<Atom> refined, const Layout &from, const Layout &to) : lanes(from.lanes()), to(to) {
    takeGranule(refined);
    for (const Atom &atom : refined)
      entries.push_back({atom});
    numberSlots();
    pair(/*sameWeight=*/true);
    pair(/*sameWeight=*/false);
  }

  /// An element that another wave holds cannot be shuffled.
  bool isPossible() const {
    return std::ranges::all_of(entries, [](const Entry &entry) {
      const Atom &atom = entry.atom;
      return !atom.from.on(Axis::wave) || !atom.to.axis ||
             (atom.to.on(Axis::wave) && atom.to.weight == atom.from.weight);
    });
  }

  int64_t granuleSize() const { return granule; }

  int64_t roundCount() const {
    int64_t count = 1;
    for (const Entry &entry : entries)
      if (entry.isVaried())
        count *= entry.atom.extent;
    return count;
  }

  ConvertPlan run() const {
    ConvertPlan plan;
    plan.kind = ConvertKind::shuffle;
    plan.granule = granule;
    plan.slots = slots;
    for (int64_t index = 0; index < roundCount(); ++index)
      plan.rounds.push_back(round(index));
    for (int64_t group = 0; group < to.regs() / granule; ++group) {
      int64_t slot = 0;
      for (const Entry &entry : entries)
        if (entry.slotWeight)
          slot += group / entry.atom.to.weight % entry.atom.extent * entry.slotWeight;
      plan.slotOf.push_back(slot);
    }
    return plan;
  }

private:
  struct Entry {
    Atom atom;
    int64_t slotWeight = 0;             // of digits that are registers of the destination
    std::optional<size_t> partner = {}; // of a chosen digit and of the lane digit it is paired with
    bool isChosen() const { return atom.from.on(Axis::reg) && atom.to.on(Axis::lane); }
    bool isGathered() const { return atom.from.on(Axis::lane) && atom.to.on(Axis::reg); }
    bool isFree() const { return atom.from.on(Axis::lane) && !atom.to.axis; }
    bool isKept() const { return atom.from.on(Axis::reg) && atom.to.on(Axis::reg); }
    /// Takes each of its values in some round.
    bool isVaried() const { return isKept() || isGathered() || (isChosen() && !partner); }
  };

  /// Lowest register digits that both layouts have at the same place travel together.
  void takeGranule(std::vector<Atom> &atoms) {
    auto isNext = [&](const Atom &atom) {
      return atom.from.on(Axis::reg) && atom.to.on(Axis::reg) && atom.from.weight == granule &&
             atom.to.weight == granule;
    };
    for (auto found = std::ranges::find_if(atoms, isNext); found != atoms.end();
         found = std::ranges::find_if(atoms, isNext)) {
      granule *= found->extent;
      atoms.erase(found);
    }
    for (Atom &atom : atoms)
      for (detail::Spot *spot : {&atom.from, &atom.to})
        if (spot->on(Axis::reg))
          spot->weight /= granule;
  }

  void numberSlots() {
    std::ranges::sort(entries, {}, [](const Entry &entry) { return entry.atom.to.weight; });
    for (Entry &entry : entries)
      if (entry.isKept() || entry.isGathered()) {
        entry.slotWeight = slots;
        slots *= entry.atom.extent;
      }
  }

  void pair(bool sameWeight) {
    for (bool wantFree : {true, false})
      for (size_t i = 0; i < entries.size(); ++i)
        for (size_t j = 0; j < entries.size() && entries[i].isChosen() && !entries[i].partner; ++j) {
          const Entry &other = entries[j];
          bool fits = wantFree ? other.isFree() : other.isGathered() && other.atom.extent == 2;
          if (other.partner || !fits || other.atom.extent != entries[i].atom.extent ||
              (sameWeight && other.atom.from.weight != entries[i].atom.to.weight))
            continue;
          entries[i].partner = j;
          entries[j].partner = i;
        }
  }

  ShuffleRound round(int64_t index) const {
    ShuffleRound result;
    for (const Entry &entry : entries) {
      int64_t value = 0;
      if (entry.isVaried()) {
        value = index % entry.atom.extent;
        index /= entry.atom.extent;
      }
      add(entry, value, result);
    }
    for (LaneFunction *function : {&result.sourceLane, &result.sendGroup, &result.slot})
      *function = function->canonical();
    result.crossesLanes = result.sourceLane.xorMask(lanes) != 0;
    return result;
  }

  void add(const Entry &entry, int64_t value, ShuffleRound &round) const {
    const Atom &atom = entry.atom;
    int64_t extent = atom.extent, from = atom.from.weight, at = atom.to.weight;
    auto term = [&](Axis axis, int64_t divisor, int64_t scale, int64_t flip = 0) {
      return LaneFunction::Term{axis, divisor, extent, scale, flip};
    };
    if (entry.isKept()) {
      round.sendGroup.base += value * from;
      round.slot.base += value * entry.slotWeight;
    } else if (entry.isChosen() && !entry.partner) {
      round.sendGroup.base += value * from;
      round.guards.push_back({{0, {term(Axis::lane, at, 1)}}, value});
    } else if (entry.isGathered() && entry.partner) {
      const Atom &chosen = entries[*entry.partner].atom;
      round.sourceLane.terms.push_back(term(Axis::lane, chosen.to.weight, from, value));
      round.slot.terms.push_back(term(Axis::lane, chosen.to.weight, entry.slotWeight, value));
      round.sendGroup.terms.push_back(term(Axis::lane, from, chosen.from.weight, value));
    } else if (entry.isGathered()) {
      round.sourceLane.base += value * from;
      round.slot.base += value * entry.slotWeight;
    } else if (entry.isFree() && entry.partner) {
      const Atom &chosen = entries[*entry.partner].atom;
      round.sourceLane.terms.push_back(term(Axis::lane, chosen.to.weight, from));
      round.sendGroup.terms.push_back(term(Axis::lane, from, chosen.from.weight));
    } else if (entry.isFree()) {
      round.sourceLane.terms.push_back(term(Axis::lane, from, from));
    } else if (atom.from.on(Axis::lane) && atom.to.axis) {
      round.sourceLane.terms.push_back(term(*atom.to.axis, at, from));
    } else if (atom.from.on(Axis::reg) && atom.to.on(Axis::wave)) {
      round.sendGroup.terms.push_back(term(Axis::wave, at, from));
    }
  }

  int64_t lanes;
  const Layout &to;
  std::vector<Entry> entries;
  int64_t granule = 1;
  int64_t slots = 1;
};

std::optional<ConvertPlan> planShuffle(const Layout &from, const Layout &to, const ConvertOptions &options) {
  std::optional<std::vector<Atom>> atoms = detail::refine(from, to);
  if (!atoms)
    return std::nullopt;
  ShufflePlanner planner(std::move(*atoms), from, to);
  int64_t words = (planner.granuleSize() * options.elementBits + 31) / 32;
  if (!planner.isPossible() || planner.roundCount() > 4 * options.maxExchanges)
    return std::nullopt;
  ConvertPlan plan = planner.run();
  return plan.crossings() * words <= options.maxExchanges ? std::optional(plan) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// What can be planned at all
//===----------------------------------------------------------------------===//

std::string mismatch(const Layout &from, const Layout &to, bool trusted) {
  auto differ = [](std::string_view what, int64_t a, int64_t b) {
    return "the source has " + std::to_string(a) + " " + std::string(what) + ", the destination " + std::to_string(b);
  };
  if (from.lanes() != to.lanes())
    return differ("lanes", from.lanes(), to.lanes());
  if (from.waves() != to.waves())
    return differ("waves", from.waves(), to.waves());
  for (Dim dim : from.dims()) {
    auto start = [&](const Layout &layout) {
      auto found = layout.offset.find(dim);
      return found == layout.offset.end() ? 0 : found->second;
    };
    if (from.extent(dim) != to.extent(dim))
      return differ("elements along `" + dim.name() + "`", from.extent(dim), to.extent(dim));
    if (start(from) != start(to))
      return differ("as start of `" + dim.name() + "`", start(from), start(to));
  }
  if (trusted)
    return "";
  if (!from.isBijectiveUpToReplication())
    return "the source layout `" + from.str() + "` does not hold each element once";
  if (!to.isBijectiveUpToReplication())
    return "the destination layout `" + to.str() + "` does not hold each element once";
  return "";
}
} // namespace

std::string_view name(ConvertKind kind) {
  constexpr std::array<std::string_view, 4> names = {"rename", "shuffle", "shared", "impossible"};
  return names[static_cast<size_t>(kind)];
}

int64_t ConvertPlan::crossings() const {
  return std::ranges::count_if(rounds, [](const ShuffleRound &round) { return round.crossesLanes; });
}

bool isRename(const Layout &from, const Layout &to) {
  std::set<Dim> dims = from.dims();
  auto agree = [&](const Digits &a, const Digits &b) { return canonical(a) == canonical(restricted(b, dims)); };
  return agree(from.lane, to.lane) && agree(from.wave, to.wave);
}

ConvertPlan planConvert(const Layout &source, const Layout &destination, const ConvertOptions &options) {
  Layout from = source.canonical(), to = destination.canonical();
  ConvertPlan plan;
  plan.reason = mismatch(from, to, options.trusted);
  if (!plan.reason.empty())
    return plan;
  std::set<Dim> dims = from.dims();
  for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
    to.digits(axis) = restricted(to.digits(axis), dims);
  if (std::optional<ConvertPlan> rename = planRename(from, to))
    return *rename;
  if (std::optional<ConvertPlan> shuffle = planShuffle(from, to, options))
    return *shuffle;
  plan.kind = ConvertKind::shared;
  return plan;
}

} // namespace soliton
