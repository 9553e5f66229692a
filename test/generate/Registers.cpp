#include "test/generate/Registers.h"

#include <algorithm>
#include <map>

namespace soliton::generate {

namespace {
constexpr int64_t kLanes = 32;

int64_t bitsOfLane(const Program &program, const ValueType &type) {
  int64_t elements = 1;
  for (const std::string &dim : type.dims) {
    auto wave = std::ranges::find(program.waves, dim, &WaveConstraint::dim);
    elements *= wave == program.waves.end() ? tileOf(program, dim) : wave->tile;
  }
  return (elements + kLanes - 1) / kLanes * bitsOf(type.element);
}

/// Places in the order of the text: an op has one where it begins and one where its blocks end.
class Lifetimes {
public:
  explicit Lifetimes(const Program &program) : program(program) { visit(program.body, {}); }

  int64_t most() const {
    std::map<int64_t, int64_t> changes;
    for (const auto &[value, life] : lives) {
      int64_t bits = bitsOfLane(program, program.values[static_cast<size_t>(value)]);
      changes[life.from] += bits;
      changes[life.to + 1] -= bits;
    }
    int64_t alive = 0, largest = 0;
    for (const auto &[place, change] : changes)
      largest = std::max(largest, alive += change);
    return largest / 32;
  }

private:
  struct Life {
    int64_t from = 0, to = 0;
    /// The loops around the place where it is made.
    size_t depth = 0;
  };

  void make(int value, size_t depth) { lives[value] = {next, next, depth}; }

  /// What is made outside a loop and used in it lives until the outermost such loop ends.
  void use(int value, const std::vector<const Op *> &around) {
    auto life = lives.find(value);
    if (life == lives.end())
      return; // made again wherever it is used
    life->second.to = std::max(life->second.to, next);
    if (life->second.depth < around.size())
      untilEnd[around[life->second.depth]].push_back(value);
  }

  void visit(const Block &block, const std::vector<const Op *> &around) {
    for (int argument : block.arguments)
      make(argument, around.size());
    for (const Op &op : block.ops)
      visit(op, around);
    for (int value : block.yields)
      use(value, around);
  }

  void visit(const Op &op, const std::vector<const Op *> &around) {
    ++next;
    for (int value : op.operands)
      use(value, around);
    std::vector<const Op *> inside = around;
    if (op.kind == OpKind::iterate)
      inside.push_back(&op);
    for (const Block &block : op.blocks)
      visit(block, inside);
    next += op.blocks.empty() ? 0 : 1;
    for (int value : untilEnd[&op])
      lives[value].to = next;
    if (op.kind != OpKind::fill)
      for (int result : op.results)
        make(result, around.size());
  }

  const Program &program;
  int64_t next = 0;
  std::map<int, Life> lives;
  std::map<const Op *, std::vector<int>> untilEnd;
};
} // namespace

int64_t registersOf(const Program &program) {
  return Lifetimes(program).most();
}

} // namespace soliton::generate
