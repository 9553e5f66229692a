//===- BuildRows.cpp - Rows in order, and elements that move ---------------------------------===//
//
// What goes through shared memory of its own: sorted rows with what they carry, and tiles whose elements come from
// elsewhere along one dimension.
//
//===----------------------------------------------------------------------===//
#include "test/generate/Build.h"

namespace soliton::generate {

/// Elements that are ordered and moved have whole bytes.
static bool isWholeByte(Element type) {
  return bitsOf(type) >= 8;
}

/// A tile that fits into shared memory several times, of numbers that can be ordered: `index` is no such type.
int Builder::smallValue() {
  auto fits = [&](int each) {
    return isArithmetic(type(each).element) && isWholeByte(type(each).element) && !type(each).dims.empty() &&
           elementsOf(type(each).dims) <= 2048 && !(choose.hasEverything() && type(each).element == Element::index);
  };
  int value = valueWhere(fits, Element::f32);
  return fits(value) ? value : -1;
}

void Builder::stepSort() {
  int keys = smallValue();
  std::string word = choose.chance(50) ? "ascending" : "descending";
  if (keys < 0 || !choose.maybe("rows.sort", 100))
    return;
  Op op{.kind = OpKind::sort, .operands = {keys}, .word = word, .dim = choose.from(type(keys).dims)};
  std::vector<int> payloads;
  for (int value : pool)
    if (type(value).dims == type(keys).dims && isArithmetic(type(value).element) && isWholeByte(type(value).element))
      payloads.push_back(value);
  if (!payloads.empty() && choose.chance(50))
    op.operands.push_back(choose.from(payloads));
  for (int value : op.operands)
    op.results.push_back(addValue(type(value), knownOf(value)));
  pool.insert(pool.end(), op.results.begin(), op.results.end());
  append(std::move(op));
}

void Builder::stepRearrange() {
  int value = smallValue();
  if (value < 0 || !choose.maybe("rows.moved", 100))
    return;
  const Dims dims = type(value).dims;
  size_t d = choose.below(dims.size());
  int64_t extent = tileOf(program, dims[d]);
  Op op{.kind = OpKind::rearrange, .operands = {value}};
  op.indices.emplace();
  for (size_t k = 0; k < dims.size(); ++k)
    op.indices->push_back(Formula::symbol("$index" + std::to_string(k)));
  Formula place = (*op.indices)[d];
  Formula ways[] = {place + Formula(choose.between(-3, 3)), Formula(extent - 1) - place, floordiv(place, Formula(2)),
                    Formula(2) * place, Formula(choose.between(0, extent))};
  (*op.indices)[d] = ways[choose.below(5)];
  emit(std::move(op), type(value), knownOf(value));
}

} // namespace soliton::generate
