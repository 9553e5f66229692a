//===- Fragments.h - A tile's registers while it is being cut into pieces ----------===//
//
// During expansion every tile value is a row of *pieces*, each a value that holds consecutive registers:
//
//   16 registers of an accumulator  =  [0, 4) [4, 8) [8, 12) [12, 16)
//
// Ask for any range of registers: an existing piece is returned as it is, anything else is sliced or joined.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"

namespace soliton {

/// The pieces of one tile.
class Fragment {
public:
  Fragment() = default;
  explicit Fragment(wave::TileType type) : type(type) {}

  wave::TileType tileType() const { return type; }
  int64_t registers() const { return type.getLayout().getValue().regs(); }
  /// Pieces are appended in the order of their registers.
  void append(Value piece);
  const SmallVector<Value> &pieces() const { return values; }
  /// Registers of every piece, if they are all alike; 0 otherwise.
  int64_t granule() const;

  /// Registers [begin, begin + count) as values in order, as few as can be: two of three registers, say, are no layout
  /// of their own.
  SmallVector<Value> parts(OpBuilder &builder, Location loc, int64_t begin, int64_t count,
                           wave::OriginAttr origin) const;
  /// Registers [begin, begin + count) as one value.
  Value range(OpBuilder &builder, Location loc, int64_t begin, int64_t count, wave::OriginAttr origin) const;
  /// All of them.
  Value whole(OpBuilder &builder, Location loc, wave::OriginAttr origin) const;

private:
  wave::TileType type;
  SmallVector<Value> values;
  SmallVector<int64_t> begins;
  int64_t end = 0;
};

/// The type of registers [begin, begin + count) of a tile.
wave::TileType pieceType(wave::TileType tile, int64_t begin, int64_t count);

/// The largest number of registers, at most `registers`, into which the layout can be cut evenly.
int64_t wholePieces(const Layout &layout, int64_t registers);

} // namespace soliton
