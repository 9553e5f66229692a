//===- Mappings.h - Where a tile lies in a memory, said by dimensions -----------------===//
//
// What an `IndexMapping` says with iterators, said with the tile's own dimensions:
//
//   std::vector<Expr> tile{N, K};
//   read(b, {.mapping = mappingByName(tile, {K, N})});                        // b[K, N], transposed
//   read(s, {.mapping = mappingOf(tile, {{N, placeIn(tile, N)}, {G, sym::floordiv(placeIn(tile, K), 32)}})});
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/soliton.h"

namespace soliton::kernels {

/// The place along a dimension of the tile.
Expr placeIn(const std::vector<Expr> &tile, Expr dim);
/// The places in a memory, one for each of its dimensions, of a tile that is read, or written.
IndexMapping mappingOf(const std::vector<Expr> &tile, const DimMap &memory, bool isWrite = false);
/// A memory that has the tile's dimensions in another order.
IndexMapping mappingByName(const std::vector<Expr> &tile, const std::vector<Expr> &memory, bool isWrite = false);
/// The tile of a memory with its dimensions in this order.
Value readAs(const MemoryRef &memory, const std::vector<Expr> &dims, const char *tag,
             Place place = std::source_location::current());

} // namespace soliton::kernels
