#include "test/generate/Evaluator.h"

#include <algorithm>
#include <cmath>

namespace soliton::generate {

/// 0 is what stands behind the last element of a row.
void Evaluator::sort(const Op &op) {
  const Tile &keys = tileAt(op.operands[0]);
  std::vector<Tile> results;
  for (int result : op.results)
    results.push_back(newTile(result));
  auto along = static_cast<size_t>(std::ranges::find(keys.dims, op.dim) - keys.dims.begin());
  int64_t start = startOf(op.dim);
  auto isLess = [&](Number a, Number b) {
    return isFloat(keys.type) ? a.real < b.real || (std::isnan(b.real) && !std::isnan(a.real)) : a.whole < b.whole;
  };
  Finder key(keys, keys.dims);
  forEachPlace(keys.extents, [&](size_t, const Place &at) {
    if (at[along] != 0)
      return;
    std::vector<int64_t> row;
    for (int64_t k = 0; k < keys.extents[along]; ++k)
      if (isInside(op.dim, start + k))
        row.push_back(k);
    auto elementAt = [&](int64_t k) {
      Place from = at;
      from[along] = k;
      return key(from);
    };
    std::ranges::stable_sort(row, [&](int64_t a, int64_t b) {
      return op.word == "ascending" ? isLess(elementAt(a), elementAt(b)) : isLess(elementAt(b), elementAt(a));
    });
    // The results may have fewer elements in a row, or more.
    size_t count = std::min(row.size(), static_cast<size_t>(results[0].extents[along]));
    for (size_t i = 0; i < count; ++i)
      for (size_t r = 0; r < results.size(); ++r) {
        Place from = at, to = at;
        from[along] = row[i];
        to[along] = static_cast<int64_t>(i);
        size_t number = 0;
        for (size_t d = 0; d < to.size(); ++d)
          number = number * static_cast<size_t>(results[r].extents[d]) + static_cast<size_t>(to[d]);
        results[r].elements[number] = Finder(tileAt(op.operands[r]), keys.dims)(from);
      }
  });
  for (size_t r = 0; r < results.size(); ++r)
    values[static_cast<size_t>(op.results[r])] = std::move(results[r]);
}

} // namespace soliton::generate
