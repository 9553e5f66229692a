#include "kernels/Mappings.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::kernels;

Expr kernels::placeIn(const std::vector<Expr> &tile, Expr dim) {
  auto found = std::ranges::find(tile, dim);
  return IndexMapping::iterator(static_cast<int>(found - tile.begin()));
}

IndexMapping kernels::mappingOf(const std::vector<Expr> &tile, const DimMap &memory, bool isWrite) {
  IndexMapping mapping{.num_iterators = static_cast<int>(tile.size())};
  DimMap own;
  for (Expr dim : tile)
    own.emplace_back(dim, placeIn(tile, dim));
  mapping.inputs = isWrite ? own : memory;
  mapping.outputs = isWrite ? memory : own;
  return mapping;
}

IndexMapping kernels::mappingByName(const std::vector<Expr> &tile, const std::vector<Expr> &memory, bool isWrite) {
  DimMap places;
  for (Expr dim : memory)
    places.emplace_back(dim, placeIn(tile, dim));
  return mappingOf(tile, places, isWrite);
}

Value kernels::readAs(const MemoryRef &memory, const std::vector<Expr> &dims, const char *tag, Place place) {
  AccessOptions options{.tag = tag};
  if (memory.shape() != dims)
    options.mapping = mappingByName(dims, memory.shape());
  return read(memory, options, place);
}
