//===- Price.h - What it costs to move a value between holders -------------------------===//
//
// Clocks of one wave for carrying out a plan, by a short table that the target fills. A butterfly over two lanes of
// eight registers, at 4 clocks an addition and 8 an exchange:
//
//   priceOf(planReduce(layout, N), 32, {.valu = 4, .exchange = 8})  ==  8 * (8 + 4)
//
// Renamed registers cost nothing. A transposition within a lane's registers is not free: lanes that want different
// registers select among them, and each select is counted.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Convert.h"
#include "soliton/layout/Reduce.h"

namespace soliton {

struct MovePrices {
  /// One vector instruction: an addition, a select.
  int64_t valu = 4;
  /// One exchange of 32 bits between lanes.
  int64_t exchange = 8;
  /// Until the first exchange of a plan has arrived.
  int64_t exchangeLatency = 0;
};

/// Selects and exchanges of 32-bit words that a shuffle makes.
struct ShuffleWork {
  int64_t selects = 0, exchanges = 0;
};
ShuffleWork workOf(const ConvertPlan &plan, int64_t sourceRegisters, int elementBits);

/// A rename or shuffle; what goes through shared memory has no price here.
int64_t priceOf(const ConvertPlan &plan, int64_t sourceRegisters, int elementBits, const MovePrices &prices);

/// Registers and lanes; partial results of waves are not counted.
int64_t priceOf(const ReducePlan &plan, int elementBits, const MovePrices &prices);

} // namespace soliton
