#include "soliton/transforms/Fragments.h"

namespace soliton {
using namespace wave;

TileType pieceType(TileType tile, int64_t begin, int64_t count) {
  const Layout &layout = tile.getLayout().getValue();
  if (begin == 0 && count == layout.regs())
    return tile;
  std::optional<Layout> piece = layout.subLayout(begin, count);
  assert(piece && "ranges are chosen where the digits split; see wholePieces");
  return tile.withLayout(*piece);
}

int64_t wholePieces(const Layout &layout, int64_t registers) {
  for (int64_t size = std::min(registers, layout.regs()); size > 1; --size)
    if (layout.splits(size))
      return size;
  return 1;
}

void Fragment::append(Value piece) {
  values.push_back(piece);
  begins.push_back(end);
  end += cast<TileType>(piece.getType()).layout().regs();
}

int64_t Fragment::granule() const {
  int64_t size = values.empty() ? 0 : end / static_cast<int64_t>(values.size());
  for (auto [i, begin] : llvm::enumerate(begins))
    if (begin != static_cast<int64_t>(i) * size)
      return 0;
  return size;
}

SmallVector<Value> Fragment::parts(OpBuilder &builder, Location loc, int64_t begin, int64_t count,
                                   OriginAttr origin) const {
  SmallVector<Value> result;
  size_t holder = llvm::upper_bound(begins, begin) - begins.begin() - 1;
  for (size_t i = holder; i < begins.size() && begins[i] < begin + count; ++i) {
    int64_t first = begins[i], last = i + 1 < begins.size() ? begins[i + 1] : end;
    int64_t from = std::max(begin, first), to = std::min(begin + count, last);
    if (from == first && to == last) {
      result.push_back(values[i]);
      continue;
    }
    auto piece = cast<TileType>(values[i].getType());
    while (from < to) {
      int64_t run = to - from;
      while (run > 1 && !piece.layout().subLayout(from - first, run))
        --run;
      result.push_back(SliceOp::create(builder, loc, pieceType(piece, from - first, run), values[i], from - first,
                                       ArrayAttr(), origin));
      from += run;
    }
  }
  return result;
}

Value Fragment::range(OpBuilder &builder, Location loc, int64_t begin, int64_t count, OriginAttr origin) const {
  SmallVector<Value> found = parts(builder, loc, begin, count, origin);
  if (found.size() == 1)
    return found.front();
  return JoinOp::create(builder, loc, pieceType(type, begin, count), found, ArrayAttr(), origin);
}

Value Fragment::whole(OpBuilder &builder, Location loc, OriginAttr origin) const {
  return range(builder, loc, 0, end, origin);
}

} // namespace soliton
