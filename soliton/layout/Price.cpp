#include "soliton/layout/Price.h"

namespace soliton {
namespace {
int64_t wordsOf(int64_t registers, int elementBits) {
  return (registers * elementBits + 31) / 32;
}
} // namespace

ShuffleWork workOf(const ConvertPlan &plan, int64_t sourceRegisters, int elementBits) {
  ShuffleWork work;
  int64_t words = wordsOf(plan.granule, elementBits), groups = sourceRegisters / plan.granule;
  for (const ShuffleRound &round : plan.rounds) {
    if (!round.sendGroup.isConstant())
      work.selects += (groups - 1) * words;
    if (round.crossesLanes)
      work.exchanges += words;
    // A slot that depends on the lane is written in every slot by those lanes that mean it.
    if (!round.slot.isConstant())
      work.selects += plan.slots * words;
    else if (!round.guards.empty())
      work.selects += words;
  }
  return work;
}

int64_t priceOf(const ConvertPlan &plan, int64_t sourceRegisters, int elementBits, const MovePrices &prices) {
  if (plan.kind != ConvertKind::shuffle)
    return 0;
  ShuffleWork work = workOf(plan, sourceRegisters, elementBits);
  return work.selects * prices.valu + work.exchanges * prices.exchange +
         (work.exchanges > 0 ? prices.exchangeLatency : 0);
}

int64_t priceOf(const ReducePlan &plan, int elementBits, const MovePrices &prices) {
  int64_t words = wordsOf(1, elementBits), combined = 0, exchanges = 0;
  for (const std::vector<int64_t> &group : plan.registers)
    combined += static_cast<int64_t>(group.size()) - 1;
  for (const LaneStep &step : plan.lanes) {
    exchanges += static_cast<int64_t>(plan.registers.size());
    combined += step.kind == LaneStep::Kind::broadcast ? 0 : static_cast<int64_t>(plan.registers.size());
  }
  return (combined * prices.valu + exchanges * prices.exchange) * words + (exchanges > 0 ? prices.exchangeLatency : 0);
}

} // namespace soliton
