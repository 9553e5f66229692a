#include "test/generate/Evaluator.h"

#include <cmath>

namespace soliton::generate {

void Evaluator::reduce(const Op &op) {
  const Tile &source = tileAt(op.operands[0]);
  Tile result = newTile(op.results[0]);
  std::vector<std::string> dims = result.dims;
  dims.push_back(op.dim);
  Finder each(source, dims);
  int64_t start = startOf(op.dim), extent = tileOf(program, op.dim);
  forEachPlace(result.extents, [&](size_t number, const Place &at) {
    Number sum =
        op.operands.size() > 1 ? Finder(tileAt(op.operands[1]), result.dims)(at) : identityOf(op.word, result.type);
    Place from = at;
    from.push_back(0);
    for (int64_t k = 0; k < extent; ++k) {
      if (!isInside(op.dim, start + k))
        continue;
      from.back() = k;
      sum = isFloat(result.type) ? Number{realCombination(op.word, sum.real, each(from).real), 0}
                                 : Number{0, wholeCombination(op.word, sum.whole, each(from).whole)};
    }
    result.elements[number] = rounded(result.type, sum);
  });
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

void Evaluator::scan(const Op &op) {
  const Tile &source = tileAt(op.operands[0]);
  Tile result = newTile(op.results[0]);
  Finder each(source, result.dims);
  auto along = static_cast<size_t>(std::ranges::find(result.dims, op.dim) - result.dims.begin());
  int64_t start = startOf(op.dim);
  forEachPlace(result.extents, [&](size_t number, const Place &at) {
    Number sum =
        op.operands.size() > 1 ? Finder(tileAt(op.operands[1]), result.dims)(at) : identityOf(op.word, result.type);
    Place from = at;
    for (from[along] = 0; from[along] <= at[along]; ++from[along]) {
      if (!isInside(op.dim, start + from[along]))
        continue;
      sum = isFloat(result.type) ? Number{realCombination(op.word, sum.real, each(from).real), 0}
                                 : Number{0, wholeCombination(op.word, sum.whole, each(from).whole)};
    }
    result.elements[number] = rounded(result.type, sum);
  });
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

void Evaluator::argReduce(const Op &op) {
  const Tile &source = tileAt(op.operands[0]);
  Tile value = newTile(op.results[0]), index = newTile(op.results[1]);
  std::vector<std::string> dims = value.dims;
  dims.push_back(op.dim);
  Finder each(source, dims);
  int64_t start = startOf(op.dim), extent = tileOf(program, op.dim);
  // In terms of the largest: negated for the smallest, and not a number above all.
  auto exceeds = [&](Number a, Number b) {
    if (!isFloat(value.type))
      return op.word == "max" ? a.whole > b.whole : a.whole < b.whole;
    if (std::isnan(a.real) || std::isnan(b.real))
      return std::isnan(a.real) && !std::isnan(b.real);
    return op.word == "max" ? a.real > b.real : a.real < b.real;
  };
  forEachPlace(value.extents, [&](size_t number, const Place &at) {
    Number best = identityOf(op.word, value.type), where = identityOf("min", index.type);
    if (op.operands.size() > 1) {
      best = Finder(tileAt(op.operands[1]), value.dims)(at);
      where = Finder(tileAt(op.operands[2]), value.dims)(at);
    }
    Place from = at;
    from.push_back(0);
    for (int64_t k = 0; k < extent; ++k) {
      from.back() = k;
      int64_t place = wrapTo(index.type, start + k);
      Number candidate = each(from);
      bool earlier = !exceeds(best, candidate) && place < where.whole;
      if (isInside(op.dim, start + k) && (exceeds(candidate, best) || earlier)) {
        best = candidate;
        where.whole = place;
      }
    }
    value.elements[number] = best;
    index.elements[number] = where;
  });
  values[static_cast<size_t>(op.results[0])] = std::move(value);
  values[static_cast<size_t>(op.results[1])] = std::move(index);
}

void Evaluator::mma(const Op &op) {
  const Tile &lhs = tileAt(op.operands[0]), &rhs = tileAt(op.operands[1]), &acc = tileAt(op.operands[2]);
  Tile result = newTile(op.results[0]);
  std::vector<std::string> dims = result.dims;
  for (const std::string &dim : lhs.dims)
    if (!std::ranges::count(result.dims, dim))
      dims.push_back(dim);
  const std::string &contracted = dims.back();
  Finder left(lhs, dims), right(rhs, dims), sums(acc, result.dims);
  std::vector<std::string> blocks = dims;
  blocks.back() += "/32";
  std::vector<Finder> scales;
  for (size_t i = 3; i < op.operands.size(); ++i)
    scales.emplace_back(tileAt(op.operands[i]), blocks);
  int64_t start = startOf(contracted), extent = tileOf(program, contracted);
  forEachPlace(result.extents, [&](size_t number, const Place &at) {
    Number sum = sums(at);
    Place from = at;
    from.push_back(0);
    for (int64_t k = 0; k < extent; ++k) {
      if (!isInside(contracted, start + k))
        continue;
      from.back() = k;
      Number a = left(from), b = right(from);
      for (Place block = from; const Finder &scale : scales) {
        block.back() = k / 32;
        a.real *= scale(block).real;
      }
      sum.real += a.real * b.real;
      sum.whole += a.whole * b.whole;
    }
    result.elements[number] = rounded(result.type, sum);
  });
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

} // namespace soliton::generate
