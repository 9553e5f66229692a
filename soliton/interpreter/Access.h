//===- Access.h - Which element of a memory belongs to which of a tile -------===//
//
// For a coordinate c of the tile, g = start + c is its place in the tensor, and its element is memory[indices(g)] if g
// is within the bounds. Index expressions are split into parts that depend on one dimension, which become tables:
//
//   2*$index0 + floordiv($index1, 3)     two tables, one addition per element
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/interpreter/Geometry.h"
#include "soliton/interpreter/Memory.h"

namespace soliton::interp {

class Access {
public:
  /// `op` is a read or write of `memory`; `isArgument` says whether it is an argument of the kernel. `dynamic` are the
  /// op's dynamic values.
  Access(mlir::Operation *op, const Memory &memory, bool isArgument, const Domain &tile,
         std::vector<const Tile *> dynamic, Geometry &geometry);

  /// Calls `visit(position in the tile, element of the memory)` for every place within the bounds.
  template <typename Visit>
  void forEach(Visit visit) const {
    if (tile.size() == 0)
      return;
    std::vector<size_t> index(tile.rank(), 0);
    for (size_t position = 0, total = tile.size(); position < total; ++position) {
      if (isInside(index)) {
        std::optional<size_t> element = isSeparable ? separableAddress(index) : address(index);
        if (element)
          visit(position, *element);
      }
      for (size_t d = tile.rank(); d-- > 0;) {
        if (++index[d] < tile.places[d].size())
          break;
        index[d] = 0;
      }
    }
  }

private:
  /// One index of the memory: constant + tables + dynamic values + rest.
  struct Index {
    int64_t constant = 0;
    /// Per dimension of the tile; empty where it adds nothing.
    std::vector<std::vector<int64_t>> tables;
    /// (coefficient, number of the dynamic value).
    std::vector<std::pair<int64_t, size_t>> dynamic;
    /// What mixes dimensions, evaluated for each element.
    std::optional<sym::Expr> rest;
  };

  void readStarts(bool isArgument, Geometry &geometry);
  void readBounds(bool isArgument, Geometry &geometry);
  void readIndices(Geometry &geometry);
  Index plainIndex(size_t dim) const;
  Index split(sym::Expr expr) const;
  void addTerm(Index &index, int64_t coefficient, sym::Expr atom) const;
  void restrict(size_t d, llvm::function_ref<bool(int64_t place)> holds);
  void addGuard(sym::Expr guard);
  void makeSeparable();
  bool staysInside(size_t k) const;

  bool isInside(const std::vector<size_t> &index) const {
    for (size_t d = 0; d < index.size(); ++d)
      if (!inside[d].empty() && !inside[d][index[d]])
        return false;
    return true;
  }
  size_t separableAddress(const std::vector<size_t> &index) const {
    int64_t result = base;
    for (size_t d = 0; d < index.size(); ++d)
      result += steps[d][index[d]];
    return static_cast<size_t>(result);
  }
  /// The element, or nothing where it is not touched.
  std::optional<size_t> address(const std::vector<size_t> &index) const;
  int64_t dynamicValue(size_t k, const std::vector<size_t> &index) const;
  int64_t evaluate(sym::Expr expr, const std::vector<size_t> &index) const;
  int64_t valueOf(const Index &part, const std::vector<size_t> &index) const;
  [[noreturn]] void failOutside(size_t k, int64_t value) const;

  mlir::Operation *op;
  const Memory &memory;
  const Domain &tile;
  std::vector<const Tile *> dynamic;
  std::vector<Alignment> dynamicAt;
  std::vector<int64_t> starts;
  /// Per dimension and place; empty where there is no bound.
  std::vector<std::vector<bool>> inside;
  /// What must hold besides, for conditions that are no table.
  std::vector<sym::Expr> guards;
  /// Guards were decided: from then on nothing else keeps an access inside its memory.
  bool guarded = false;
  std::vector<Index> indices;
  std::vector<int64_t> strides;
  /// All indices are sums of tables: their offsets are added up per dimension.
  bool isSeparable = true;
  int64_t base = 0;
  std::vector<std::vector<int64_t>> steps;
};

} // namespace soliton::interp
