#include "soliton/layout/Atoms.h"

#include <algorithm>
#include <numeric>

namespace soliton::detail {
namespace {
struct PlacedDigit {
  int64_t extent, stride;
  Spot spot;
};

bool moves(const Digit &digit) {
  return digit.dim && digit.stride != 0 && digit.extent > 1;
}

std::vector<PlacedDigit> placedDigits(const Layout &layout, Dim dim) {
  std::vector<PlacedDigit> result;
  for (Axis axis : {Axis::reg, Axis::lane, Axis::wave}) {
    int64_t weight = 1;
    for (const Digit &digit : layout.digits(axis)) {
      if (moves(digit) && digit.dim == dim)
        result.push_back({digit.extent, digit.stride, {axis, weight}});
      weight *= digit.extent;
    }
  }
  std::ranges::sort(result, {}, &PlacedDigit::stride);
  return result;
}

int64_t smallestPrime(int64_t number) {
  for (int64_t p = 2; p * p <= number; ++p)
    if (number % p == 0)
      return p;
  return number;
}

void addPrimes(std::vector<Atom> &atoms, int64_t extent, Spot from, Spot to) {
  while (extent > 1) {
    int64_t prime = smallestPrime(extent);
    atoms.push_back({prime, from, to});
    from.weight *= prime;
    to.weight *= prime;
    extent /= prime;
  }
}

/// Cuts one dim's digits of both layouts wherever either has a boundary; false where boundaries do not nest.
bool refineDim(std::vector<PlacedDigit> from, std::vector<PlacedDigit> to, std::vector<Atom> &atoms) {
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    int64_t common = std::gcd(from[i].extent, to[j].extent);
    if (common != from[i].extent && common != to[j].extent)
      return false;
    addPrimes(atoms, common, from[i].spot, to[j].spot);
    auto advance = [&](std::vector<PlacedDigit> &list, size_t &at) {
      list[at].extent /= common;
      list[at].spot.weight *= common;
      at += list[at].extent == 1;
    };
    advance(from, i);
    advance(to, j);
  }
  return true;
}

/// Digits of one side that say nothing about the dims of the source.
void addReplication(const Layout &layout, const std::set<Dim> &known, std::vector<Atom> &atoms, bool isFrom) {
  for (Axis axis : {Axis::reg, Axis::lane, Axis::wave}) {
    int64_t weight = 1;
    for (const Digit &digit : layout.digits(axis)) {
      if (!moves(digit) || !known.contains(*digit.dim))
        addPrimes(atoms, digit.extent, isFrom ? Spot{axis, weight} : Spot{}, isFrom ? Spot{} : Spot{axis, weight});
      weight *= digit.extent;
    }
  }
}
} // namespace

std::optional<std::vector<Atom>> refine(const Layout &from, const Layout &to) {
  std::vector<Atom> atoms;
  std::set<Dim> dims = from.dims();
  for (Dim dim : dims)
    if (!refineDim(placedDigits(from, dim), placedDigits(to, dim), atoms))
      return std::nullopt;
  addReplication(from, dims, atoms, true);
  addReplication(to, dims, atoms, false);
  return atoms;
}

} // namespace soliton::detail
