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
    for (size_t i = 0; i < row.size(); ++i)
      for (size_t r = 0; r < results.size(); ++r) {
        Place from = at, to = at;
        from[along] = row[i];
        to[along] = static_cast<int64_t>(i);
        size_t number = 0;
        for (size_t d = 0; d < to.size(); ++d)
          number = number * static_cast<size_t>(keys.extents[d]) + static_cast<size_t>(to[d]);
        results[r].elements[number] = Finder(tileAt(op.operands[r]), keys.dims)(from);
      }
  });
  for (size_t r = 0; r < results.size(); ++r)
    values[static_cast<size_t>(op.results[r])] = std::move(results[r]);
}

/// Elements that leave their place are 0 beyond the end of the dimension along which they do.
void Evaluator::rearrange(const Op &op) {
  const Tile &source = tileAt(op.operands[0]);
  Tile result = newTile(op.results[0]);
  Finder each(source, source.dims);
  forEachPlace(result.extents, [&](size_t number, const Place &at) {
    Place from;
    for (size_t d = 0; d < source.dims.size(); ++d) {
      from.push_back(valueOf((*op.indices)[d], [&](const std::string &name) {
        return at[static_cast<size_t>(std::stoi(name.substr(6)))];
      }));
      bool stays = textOf((*op.indices)[d]) == "$index" + std::to_string(d);
      if (from[d] < 0 || from[d] >= source.extents[d] ||
          (!stays && !isInside(source.dims[d], startOf(source.dims[d]) + from[d])))
        return;
    }
    result.elements[number] = each(from);
  });
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

} // namespace soliton::generate
