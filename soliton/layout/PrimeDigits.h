//===- PrimeDigits.h - Digits that cannot be cut further ----------------------------===//
//
// Plans that move or combine digits one at a time first cut them into those of prime extent:
//
//   (12 M 1)      (2 M 1)(2 M 2)(3 M 4)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"

namespace soliton {

/// The same function, least significant first.
Digits primeDigits(const Digits &digits);

} // namespace soliton
