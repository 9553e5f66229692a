#include "test/generate/Evaluator.h"

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

void Evaluator::mma(const Op &op) {
  const Tile &lhs = tileAt(op.operands[0]), &rhs = tileAt(op.operands[1]), &acc = tileAt(op.operands[2]);
  Tile result = newTile(op.results[0]);
  std::vector<std::string> dims = result.dims;
  for (const std::string &dim : lhs.dims)
    if (!std::ranges::count(result.dims, dim))
      dims.push_back(dim);
  const std::string &contracted = dims.back();
  Finder left(lhs, dims), right(rhs, dims), sums(acc, result.dims);
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
      sum.real += a.real * b.real;
      sum.whole += a.whole * b.whole;
    }
    result.elements[number] = rounded(result.type, sum);
  });
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

} // namespace soliton::generate
