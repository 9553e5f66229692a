#include "soliton/layout/PrimeDigits.h"

namespace soliton {

Digits primeDigits(const Digits &digits) {
  Digits result;
  for (Digit digit : digits)
    for (int64_t prime = 2; digit.extent > 1; ++prime)
      for (; digit.extent % prime == 0; digit.extent /= prime, digit.stride *= prime) {
        result.push_back(digit);
        result.back().extent = prime;
      }
  return result;
}

} // namespace soliton
