#include "soliton/layout/Route.h"

#include "soliton/layout/PrimeDigits.h"

#include <algorithm>

namespace soliton {
namespace {
/// Moves digits between registers and lanes until every lane has what it should have.
class Exchanges {
public:
  Exchanges(const Layout &from, const Layout &to, int elementBits)
      : goal(to), now(from), together(std::max(1, 32 / elementBits)) {
    now.reg = primeDigits(canonical(from.reg));
    now.lane = primeDigits(canonical(from.lane));
    wanted = primeDigits(canonical(to.lane));
  }

  std::vector<Layout> run() {
    if (!isPermutation())
      return {};
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t lane = 0; lane < wanted.size(); ++lane)
        moved |= !(now.lane[lane] == wanted[lane]) && fetch(lane);
    }
    if (stages.empty())
      return {};
    // What is left to do is among lanes only, or among names of registers.
    stages.push_back(goal);
    return stages;
  }

private:
  /// Both hold the same digits, each once, in lists of lanes that pair up; nothing is repeated or left out.
  bool isPermutation() const {
    auto sorted = [](Digits digits) {
      std::ranges::sort(digits, {}, [](const Digit &digit) {
        return std::tuple(digit.dim ? digit.dim->name() : "", digit.stride, digit.extent);
      });
      return digits;
    };
    Digits before = now.reg, after = primeDigits(canonical(goal.reg));
    before.insert(before.end(), now.lane.begin(), now.lane.end());
    after.insert(after.end(), wanted.begin(), wanted.end());
    if (sorted(before) != sorted(after) || now.lane.size() != wanted.size() ||
        canonical(now.wave) != canonical(goal.wave))
      return false;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (now.lane[i].extent != wanted[i].extent || now.lane[i].dim.has_value() != wanted[i].dim.has_value())
        return false;
    return std::ranges::all_of(now.reg, [](const Digit &digit) { return digit.dim.has_value(); });
  }

  /// Puts the wanted digit into this place of the lanes, if a register has it.
  bool fetch(size_t lane) {
    auto found = std::ranges::find(now.reg, wanted[lane]);
    if (found == now.reg.end() || found->extent != 2)
      return false;
    Digit digit = *found;
    now.reg.erase(found);
    // Digits that stay fill the words that are exchanged.
    int64_t filled = 1;
    auto place = now.reg.begin();
    for (; place != now.reg.end() && filled * place->extent <= together; ++place)
      filled *= place->extent;
    size_t index = static_cast<size_t>(place - now.reg.begin());
    now.reg.insert(place, digit);
    stages.push_back(now);
    std::swap(now.reg[index], now.lane[lane]);
    stages.push_back(now);
    return true;
  }

  const Layout &goal;
  Layout now;
  Digits wanted;
  int64_t together;
  std::vector<Layout> stages;
};

std::optional<int64_t> priceOfStep(const Layout &from, const Layout &to, const ConvertOptions &options,
                                   const MovePrices &prices) {
  if (isRename(from, to))
    return 0;
  int64_t count = independentRegisters(from, to), pieces = from.regs() / count;
  std::optional<Layout> a = from.subLayout(0, count), b = to.subLayout(0, count);
  if (!a || !b)
    return std::nullopt;
  ConvertOptions trusted = options;
  trusted.trusted = true;
  ConvertPlan plan = planConvert(*a, *b, trusted);
  if (plan.kind != ConvertKind::shuffle)
    return std::nullopt;
  return pieces * priceOf(plan, count, options.elementBits, {prices.valu, prices.exchange, 0}) + prices.exchangeLatency;
}
} // namespace

int64_t independentRegisters(const Layout &from, const Layout &to) {
  Digits a = primeDigits(canonical(from.reg)), b = primeDigits(canonical(to.reg));
  int64_t count = from.regs();
  if (count != to.regs())
    return count;
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    count /= a.back().extent;
    a.pop_back();
    b.pop_back();
  }
  return count;
}

std::vector<Layout> exchangeStages(const Layout &from, const Layout &to, int elementBits) {
  return Exchanges(from, to, elementBits).run();
}

ConvertRoute routeConvert(const Layout &from, const Layout &to, const ConvertOptions &options,
                          const MovePrices &prices) {
  ConvertPlan plan = planConvert(from, to, options);
  ConvertRoute route{plan.kind, {to}, 0, plan.reason};
  if (plan.kind == ConvertKind::rename || plan.kind == ConvertKind::impossible)
    return route;
  std::optional<int64_t> direct;
  if (plan.kind == ConvertKind::shuffle)
    direct = from.regs() == to.regs() ? priceOfStep(from, to, options, prices)
                                      : priceOf(plan, from.regs(), options.elementBits, prices);
  std::vector<Layout> stages = exchangeStages(from, to, options.elementBits);
  std::optional<int64_t> chained = stages.empty() ? std::nullopt : std::optional<int64_t>(0);
  const Layout *before = &from;
  for (const Layout &stage : stages) {
    std::optional<int64_t> step = priceOfStep(*before, stage, options, prices);
    chained = chained && step ? std::optional(*chained + *step) : std::nullopt;
    before = &stage;
  }
  // More than so many exchanges in a row are dearer than a trip through shared memory.
  if (plan.kind == ConvertKind::shared && (!chained || *chained > options.maxExchanges * prices.exchange))
    return route;
  if (chained && (!direct || *chained < *direct)) {
    route.kind = ConvertKind::shuffle;
    route.stages = stages;
    route.price = *chained;
    return route;
  }
  route.price = direct.value_or(priceOf(plan, from.regs(), options.elementBits, prices));
  return route;
}

} // namespace soliton
