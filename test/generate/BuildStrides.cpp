//===- BuildStrides.cpp - Memories whose elements do not lie row by row -------------------------===//
//
//   [M, N] with strides [LD3, 1]      rows of a larger matrix, how large is known at launch
//   [M, N] with strides [2, 2 * M]    columns one behind the other, with gaps between the elements
//   [M, N] with strides [0, 1]        one row for all rows; only what is read
//
//===----------------------------------------------------------------------===//
#include "test/generate/Build.h"

namespace soliton::generate {

/// A number that is known at launch only.
std::string Builder::strideSymbol(int64_t size) {
  std::string name = "LD" + std::to_string(program.dims.size());
  program.dims.push_back({.name = name, .size = size, .dynamic = true, .own = true, .isStride = true});
  return name;
}

void Builder::chooseStrides(Memory &memory) {
  // How many lanes a wave has is the target's, and so would be how far they lie apart.
  bool mayHave = choose.hasStrides() && !ofLanes && (bitsOf(memory.type) % 8 == 0 || memory.type == Element::i1);
  unsigned percent = wants({"strides.numbers", "strides.launch", "strides.formulas"}) ? 40 : 10;
  if (!mayHave || !choose.mayUse("strides") || !choose.chance(percent))
    return;
  size_t way = choose.among({{"strides.numbers", 30}, {"strides.launch", 40}, {"strides.formulas", 30}});
  std::vector<size_t> order; // from the one whose elements lie closest
  for (size_t d = memory.shape.size(); d-- > 0;)
    order.push_back(d);
  if (choose.chance(40))
    choose.shuffle(order);
  memory.strides.resize(order.size(), 1);
  Formula next = choose.chance(25) ? choose.between(2, 3) : 1;
  for (size_t d : order) {
    int64_t stride = sizeOf(program, next);
    memory.strides[d] = way == 2 ? next : Formula(stride);
    if (way == 1 && (d != order.front() || stride > 1)) {
      bool aligned = choose.chance(30);
      stride = aligned ? (stride + 7) / 8 * 8 : stride;
      Formula symbol = Formula::symbol(strideSymbol(stride));
      if (aligned)
        program.assumptions.push_back(Formula::of(FormulaKind::eq, {mod(symbol, 8), 0}));
      memory.strides[d] = symbol;
      next = stride;
    }
    Formula extent = Formula::of(FormulaKind::max, {memory.shape[d], 1});
    next = way == 2 ? next * extent : Formula(sizeOf(program, next) * sizeOf(program, extent));
    if (choose.chance(50))
      next = next + choose.between(1, 5);
  }
}

/// Along one dimension, or two of them, elements are the same.
void Builder::repeatElements(Memory &memory) {
  if (memory.strides.empty() || !choose.maybe("strides.repeated", 20))
    return;
  size_t d = choose.below(memory.strides.size()), other = choose.below(memory.strides.size());
  memory.strides[d] = d == other ? Formula(0) : memory.strides[other];
}

} // namespace soliton::generate
