//===- Evaluator.h - A generated kernel, run by plain loops -------------------------------------===//
//
//   Evaluate.cpp          workgroups, loops, branches, what is computed element by element
//   EvaluatePlaces.cpp    where the tile of a dimension starts
//   EvaluateMemory.cpp    reads, writes, author's shared tiles
//   EvaluateSums.cpp      reductions, scans and matrix products
//   EvaluateRows.cpp      rows in order
//   EvaluateMoves.cpp     elements that move, from lane to lane too, and bits under another type
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Evaluate.h"
#include "test/generate/EvaluateElements.h"

#include <map>
#include <stdexcept>

namespace soliton::generate {

constexpr int kWorkgroupDims = 5;

/// An author's shared tile: what was written so far.
struct SharedTile {
  std::vector<int64_t> extents;
  std::vector<std::optional<Number>> elements;
};

class Evaluator {
public:
  Evaluator(const Program &program, std::vector<Bytes> arguments);
  std::vector<Bytes> run();
  const std::set<std::string> &printed() const { return lines; }

private:
  //===-- Who and where -----------------------------------------------------------------===//

  std::vector<int64_t> launch();
  int64_t symbol(const std::string &name) const;
  int64_t formula(const Formula &each) const;
  /// With workgroup ids exchanged as the kernel says, all at once.
  int64_t reordered(const Formula &each) const;
  int64_t workgroupStart(const std::string &dim) const;
  int64_t loopStart(const std::string &dim) const;
  int64_t startOf(const std::string &dim) const { return workgroupStart(dim) + loopStart(dim); }
  int64_t sizeOfDim(const std::string &dim) const {
    Groups groups = groupsOf(dim);
    return program.findDim(groups.base)->size / groups.size;
  }
  bool isInside(const std::string &dim, int64_t place) const { return place >= 0 && place < sizeOfDim(dim); }

  //===-- Tiles -------------------------------------------------------------------------===//

  Tile newTile(int value) const {
    const ValueType &type = program.values[static_cast<size_t>(value)];
    Tile tile{type.dims, {}, type.element, {}};
    size_t count = 1;
    for (const std::string &dim : type.dims) {
      tile.extents.push_back(tileOf(program, dim));
      count *= static_cast<size_t>(tile.extents.back());
    }
    tile.elements.resize(count);
    return tile;
  }
  const Tile &tileAt(int value) const { return values[static_cast<size_t>(value)]; }

  /// Each element of the result from those of the operands at its place.
  template <typename Function>
  void elementwise(const Op &op, Function function) {
    Tile result = newTile(op.results[0]);
    std::vector<Finder> find;
    for (int operand : op.operands)
      find.emplace_back(tileAt(operand), result.dims);
    std::vector<Number> operands(find.size());
    forEachPlace(result.extents, [&](size_t number, const Place &at) {
      for (size_t i = 0; i < find.size(); ++i)
        operands[i] = find[i](at);
      result.elements[number] = function(operands, at);
    });
    values[static_cast<size_t>(op.results[0])] = std::move(result);
  }

  //===-- Memory ------------------------------------------------------------------------===//

  /// What an access does, with all that is the same for its elements worked out.
  struct Access {
    const Op &op;
    std::vector<int64_t> starts;
    /// The coordinates that are within bounds, from and to; unlimited where nothing is said.
    std::vector<std::pair<int64_t, int64_t>> within;
    std::vector<Finder> dynamic;
  };

  Access accessOf(const Op &op, const Tile &tile, size_t firstDynamic) const;
  /// The element of the memory for a coordinate of the tile; nothing where the access does nothing.
  std::optional<Place> placeOf(const Access &access, const Place &at) const;
  static std::optional<size_t> numberIn(const SharedTile &tile, const Place &at);
  Number load(const Op &op, const Place &at) const;
  void store(const Op &op, const Place &at, Number value);
  size_t argumentOf(int memory) const;
  void read(const Op &op);
  void write(const Op &op);
  void atomic(const Op &op);
  /// Whether the memory has that place.
  bool isInside(const Op &op, const Place &at) const;
  void allocate(const Op &op);

  //===-- Computing ---------------------------------------------------------------------===//

  void reduce(const Op &op);
  void scan(const Op &op);
  void argReduce(const Op &op);
  void sort(const Op &op);
  void rearrange(const Op &op);
  void concatenate(const Op &op);
  void bitcast(const Op &op);
  void shuffle(const Op &op);
  void mma(const Op &op);
  void printTile(const Op &op);
  void runBlock(const Block &block);
  void iterate(const Op &op);
  void branch(const Op &op);
  void fill(const Op &op, Number value);
  void execute(const Op &op);
  void compute(const Op &op);

  const Program &program;
  std::vector<Bytes> arguments;
  std::vector<Tile> values;
  std::vector<Storage> storages;
  std::map<int, SharedTile> shared;
  std::vector<int64_t> ids = std::vector<int64_t>(kWorkgroupDims, 0);
  /// Axis and number of the iterations that we are in, outer ones first.
  std::vector<std::pair<std::string, int64_t>> loops;
  /// For each of them, whether the iteration is its last.
  std::vector<bool> ended;
  /// What was printed, each line once.
  std::set<std::string> lines;
  /// What data said, by symbol.
  std::map<std::string, int64_t> numbers;
};

} // namespace soliton::generate
