#include "soliton/layout/LaneFunction.h"

#include <algorithm>
#include <tuple>

namespace soliton {

int64_t LaneFunction::operator()(int64_t lane, int64_t wave) const {
  int64_t result = base;
  for (const Term &term : terms) {
    int64_t position = term.axis == Axis::lane ? lane : wave;
    result += term.scale * ((position / term.divisor % term.extent) ^ term.flip);
  }
  return result;
}

static bool isPowerOfTwo(int64_t number) {
  return (number & (number - 1)) == 0;
}

LaneFunction LaneFunction::canonical() const {
  LaneFunction result{base, {}};
  std::vector<Term> sorted = terms;
  std::ranges::sort(sorted, {}, [](const Term &t) { return std::tuple(t.axis, t.divisor); });
  for (const Term &term : sorted) {
    if (term.extent == 1 || term.scale == 0)
      continue;
    Term *last = result.terms.empty() ? nullptr : &result.terms.back();
    bool follows = last && last->axis == term.axis && term.divisor == last->divisor * last->extent &&
                   term.scale == last->scale * last->extent;
    // A flip acts on bits: it joins only where both extents are whole numbers of them.
    bool flips = last && (last->flip != 0 || term.flip != 0);
    if (!follows || (flips && !(isPowerOfTwo(last->extent) && isPowerOfTwo(term.extent)))) {
      result.terms.push_back(term);
      continue;
    }
    last->flip += term.flip * last->extent;
    last->extent *= term.extent;
  }
  return result;
}

std::optional<int64_t> LaneFunction::xorMask(int64_t lanes) const {
  LaneFunction form = canonical();
  int64_t mask = 0, next = 1;
  for (const Term &term : form.terms) {
    // Every digit stays where it is; flips are bits of the mask.
    if (term.axis != Axis::lane || term.divisor != next || term.scale != next)
      return std::nullopt;
    mask += term.flip * next;
    next *= term.extent;
  }
  if (form.base != 0 || next != lanes || (mask != 0 && !isPowerOfTwo(lanes)))
    return std::nullopt;
  return mask;
}

} // namespace soliton
