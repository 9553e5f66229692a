#include "test/generate/Evaluator.h"

namespace soliton::generate {

namespace {
/// The coordinates of the element with this number, row-major.
Place apart(size_t number, const std::vector<int64_t> &extents) {
  Place at(extents.size());
  for (size_t d = extents.size(); d-- > 0; number /= static_cast<size_t>(extents[d]))
    at[d] = static_cast<int64_t>(number % static_cast<size_t>(extents[d]));
  return at;
}

/// Whether elements keep their place along the operand's d-th dimension.
bool staysAlong(const Op &op, const Tile &source, const Tile &result, size_t d) {
  auto found = std::ranges::find(result.dims, source.dims[d]);
  if (op.indices)
    return found != result.dims.end() &&
           textOf((*op.indices)[d]) == "$index" + std::to_string(found - result.dims.begin());
  // In row-major order they do as long as all dimensions before do.
  return d < result.dims.size() &&
         std::equal(source.dims.begin(), source.dims.begin() + static_cast<ptrdiff_t>(d) + 1, result.dims.begin());
}
} // namespace

/// Elements that leave their place are 0 beyond the end of the dimension along which they do.
void Evaluator::rearrange(const Op &op) {
  const Tile &source = tileAt(op.operands[0]);
  Tile result = newTile(op.results[0]);
  Finder each(source, source.dims);
  forEachPlace(result.extents, [&](size_t number, const Place &at) {
    Place from = op.indices ? Place() : apart(number, source.extents);
    for (size_t d = 0; d < source.dims.size(); ++d) {
      if (op.indices)
        from.push_back(valueOf((*op.indices)[d], [&](const std::string &name) {
          return name.starts_with("$index") ? at[static_cast<size_t>(std::stoi(name.substr(6)))] : symbol(name);
        }));
      if (from[d] < 0 || from[d] >= source.extents[d] ||
          (!staysAlong(op, source, result, d) && !isInside(source.dims[d], startOf(source.dims[d]) + from[d])))
        return;
    }
    result.elements[number] = each(from);
  });
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

void Evaluator::concatenate(const Op &op) {
  Tile result = newTile(op.results[0]);
  auto along = static_cast<size_t>(std::ranges::find(result.dims, op.dim) - result.dims.begin());
  forEachPlace(result.extents, [&](size_t number, Place at) {
    for (size_t k = 0; k < op.operands.size(); ++k) {
      const Tile &piece = tileAt(op.operands[k]);
      if (at[along] >= piece.extents[along]) {
        at[along] -= piece.extents[along];
        continue;
      }
      if (isInside(op.along[k], startOf(op.along[k]) + at[along]))
        result.elements[number] = Finder(piece, piece.dims)(at);
      return;
    }
  });
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

/// The bits of a group of elements, the first of which is the lowest, or of one.
void Evaluator::bitcast(const Op &op) {
  const Tile &source = tileAt(op.operands[0]);
  Tile result = newTile(op.results[0]);
  auto bitsIn = [&](size_t number) {
    Number element = source.elements[number];
    uint64_t bits = isFloat(source.type) ? encode(source.type, element.real) : static_cast<uint64_t>(element.whole);
    return bits & ~uint64_t(0) >> (64 - bitsOf(source.type));
  };
  auto from = static_cast<size_t>(bitsOf(source.type)), to = static_cast<size_t>(bitsOf(result.type));
  for (size_t number = 0; number < result.elements.size(); ++number) {
    uint64_t bits = 0;
    if (from >= to)
      bits = bitsIn(number / (from / to)) >> (number % (from / to) * to);
    for (size_t k = 0; from < to && k < to / from; ++k)
      bits |= bitsIn(number * (to / from) + k) << (k * from);
    bits &= ~uint64_t(0) >> (64 - to);
    result.elements[number] = isFloat(result.type) ? Number{decode(result.type, bits), 0}
                                                   : Number{0, wrapTo(result.type, static_cast<int64_t>(bits))};
  }
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

/// Each element becomes another one of its row, or stays where there is none.
void Evaluator::shuffle(const Op &op) {
  const Tile &source = tileAt(op.operands[0]);
  Tile result = newTile(op.results[0]);
  auto along = static_cast<size_t>(std::ranges::find(result.dims, op.dim) - result.dims.begin());
  Finder each(source, source.dims);
  auto offset = static_cast<int64_t>(op.number);
  forEachPlace(result.extents, [&](size_t number, const Place &at) {
    Place from = at;
    int64_t lane = at[along];
    from[along] = op.word == "bfly"   ? lane ^ offset
                  : op.word == "up"   ? lane - offset
                  : op.word == "down" ? lane + offset
                                      : Finder(tileAt(op.operands[1]), result.dims)(at).whole;
    bool inside = from[along] >= 0 && from[along] < result.extents[along];
    result.elements[number] = each(inside ? from : at);
  });
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

} // namespace soliton::generate
