//===- BankConflicts.h - What the bank model says about one access ------------------------===//
#pragma once

#include "soliton/support/Diagnostics.h"

namespace soliton {

/// One access of shared memory and what the bank model says about it.
struct BankConflicts {
  Place place;
  bool write = false;
  int64_t bytesPerLane = 0;
  int64_t conflicts = 0;
};

} // namespace soliton
