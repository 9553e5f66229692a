#include "test/generate/Shrink.h"

#include "test/generate/Random.h"

#include <algorithm>
#include <map>

namespace soliton::generate {
namespace {
using Cut = std::function<void(Program &)>;

/// The op of that number in program order, with the block that holds it.
struct Place {
  Block *block = nullptr;
  size_t at = 0;
  Op &op() const { return block->ops[at]; }
};

bool findOp(Block &block, size_t &number, Place &place) {
  for (size_t i = 0; i < block.ops.size(); ++i) {
    if (number-- == 0) {
      place = {&block, i};
      return true;
    }
    for (Block &inner : block.ops[i].blocks)
      if (findOp(inner, number, place))
        return true;
  }
  return false;
}
Place opAt(Program &program, size_t number) {
  Place place;
  findOp(program.body, number, place);
  return place;
}
size_t countOps(const Program &program) {
  size_t count = 0;
  forEachOp(program.body, [&](const Op &) { ++count; });
  return count;
}

template <typename Change>
void forEachUse(Block &block, Change change) {
  for (Op &op : block.ops) {
    for (int &operand : op.operands)
      change(operand);
    for (Block &inner : op.blocks)
      forEachUse(inner, change);
  }
  for (int &value : block.yields)
    change(value);
}

void replaceUses(Program &program, const std::map<int, int> &by) {
  forEachUse(program.body, [&](int &value) {
    if (auto found = by.find(value); found != by.end())
      value = found->second;
  });
}

/// Takes away what uses a value that nobody makes any more; of loops and branches the part that hands it on.
void dropDependents(Block &block, std::set<int> &gone) {
  std::vector<Op> kept;
  for (Op &op : block.ops) {
    bool dead = std::ranges::any_of(op.operands, [&](int value) { return gone.contains(value); });
    for (Block &inner : op.blocks) {
      if (dead)
        gone.insert(inner.arguments.begin(), inner.arguments.end());
      dropDependents(inner, gone);
      dead |= std::ranges::any_of(inner.yields, [&](int value) { return gone.contains(value); });
    }
    if (dead)
      gone.insert(op.results.begin(), op.results.end());
    else
      kept.push_back(std::move(op));
  }
  block.ops = std::move(kept);
}

int addPlainRead(Program &program, Block &block, size_t at, const ValueType &type) {
  Memory memory;
  memory.name = "m" + std::to_string(program.memories.size());
  for (const std::string &dim : type.dims)
    memory.shape.push_back(Formula::symbol(dim));
  memory.type = type.element;
  memory.low = type.element == Element::i1 ? 0 : -3;
  memory.high = type.element == Element::i1 ? 1 : 3;
  program.memories.push_back(std::move(memory));
  int value = program.addValue(type);
  Op read{.kind = OpKind::read, .results = {value}, .memory = static_cast<int>(program.memories.size()) - 1};
  block.ops.insert(block.ops.begin() + static_cast<ptrdiff_t>(at), std::move(read));
  return value;
}

//===-- Cuts of ops -----------------------------------------------------------------------------===//

void removeWithDependents(Program &program, size_t number) {
  Place place = opAt(program, number);
  std::set<int> gone(place.op().results.begin(), place.op().results.end());
  place.block->ops.erase(place.block->ops.begin() + static_cast<ptrdiff_t>(place.at));
  dropDependents(program.body, gone);
}

/// Results become the operands that have their types: a loop's inits, what a cast of nothing casts.
void replaceByOperands(Program &program, size_t number, size_t first) {
  Place place = opAt(program, number);
  const Op op = place.op();
  std::map<int, int> by;
  for (size_t i = 0; i < op.results.size(); ++i) {
    size_t from = op.kind == OpKind::iterate ? i : first;
    if (from >= op.operands.size() ||
        !(program.values[static_cast<size_t>(op.operands[from])] == program.values[static_cast<size_t>(op.results[i])]))
      return;
    by[op.results[i]] = op.operands[from];
  }
  place.block->ops.erase(place.block->ops.begin() + static_cast<ptrdiff_t>(place.at));
  replaceUses(program, by);
}

void replaceByRead(Program &program, size_t number) {
  Place place = opAt(program, number);
  const Op op = place.op();
  bool plain = op.kind == OpKind::read && !op.indices && !op.bounds && op.operands.empty() &&
               program.memories[static_cast<size_t>(op.memory)].isParameter;
  if (op.results.empty() || op.kind == OpKind::fill || plain)
    return;
  std::map<int, int> by;
  place.block->ops.erase(place.block->ops.begin() + static_cast<ptrdiff_t>(place.at));
  for (int result : op.results)
    by[result] = addPlainRead(program, *place.block, place.at, program.values[static_cast<size_t>(result)]);
  replaceUses(program, by);
}

void replaceByFill(Program &program, size_t number) {
  Op &op = opAt(program, number).op();
  if (op.results.size() != 1 || op.kind == OpKind::fill)
    return;
  op = Op{.kind = OpKind::fill, .results = op.results, .number = 1};
}

/// One of its blocks instead of a loop or a branch.
void inlineBlock(Program &program, size_t number, size_t which) {
  Place place = opAt(program, number);
  if (which >= place.op().blocks.size())
    return;
  const Op op = place.op();
  std::map<int, int> by;
  const Block &body = op.blocks[which];
  for (size_t i = 0; i < body.arguments.size(); ++i)
    by[body.arguments[i]] = op.operands[i];
  for (size_t i = 0; i < op.results.size(); ++i)
    by[op.results[i]] = by.contains(body.yields[i]) ? by.at(body.yields[i]) : body.yields[i];
  auto at = place.block->ops.begin() + static_cast<ptrdiff_t>(place.at);
  at = place.block->ops.erase(at);
  place.block->ops.insert(at, body.ops.begin(), body.ops.end());
  replaceUses(program, by);
}

void dropCarried(Program &program, size_t number, size_t which) {
  Op &op = opAt(program, number).op();
  if (op.kind != OpKind::iterate || which >= op.results.size())
    return;
  std::map<int, int> by = {{op.results[which], op.operands[which]},
                           {op.blocks[0].arguments[which], op.operands[which]}};
  auto erase = [&](std::vector<int> &list) { list.erase(list.begin() + static_cast<ptrdiff_t>(which)); };
  erase(op.results);
  erase(op.operands);
  erase(op.blocks[0].arguments);
  erase(op.blocks[0].yields);
  replaceUses(program, by);
}

void dropWrites(Block &block) {
  std::erase_if(block.ops, [](const Op &op) { return op.kind == OpKind::write; });
  for (Op &op : block.ops)
    for (Block &inner : op.blocks)
      dropWrites(inner);
}

/// The result of this op is all that the kernel writes.
void writeInstead(Program &program, size_t number) {
  Place place = opAt(program, number);
  if (place.op().results.size() != 1)
    return;
  int value = place.op().results[0];
  const ValueType type = program.values[static_cast<size_t>(value)];
  if (type.dims.empty())
    return;
  // Only writes go, so that ops keep their order; the op is found again by its result.
  dropWrites(program.body);
  size_t at = 0;
  while (!std::ranges::count(opAt(program, at).op().results, value))
    ++at;
  place = opAt(program, at);
  Memory memory{
      .name = "m" + std::to_string(program.memories.size()), .shape = {}, .type = type.element, .data = Data::output};
  for (const std::string &dim : type.dims)
    memory.shape.push_back(Formula::symbol(dim));
  program.memories.push_back(std::move(memory));
  place.block->ops.insert(
      place.block->ops.begin() + static_cast<ptrdiff_t>(place.at) + 1,
      Op{.kind = OpKind::write, .operands = {value}, .memory = static_cast<int>(program.memories.size()) - 1});
}

void plainAccess(Program &program, size_t number) {
  Op &op = opAt(program, number).op();
  if (!op.indices)
    return;
  const ValueType &tile = program.values[static_cast<size_t>(op.kind == OpKind::read ? op.results[0] : op.operands[0])];
  Memory &memory = program.memories[static_cast<size_t>(op.memory)];
  op.indices.reset();
  op.operands.resize(isStore(op));
  memory.shape.clear();
  for (const std::string &dim : tile.dims)
    memory.shape.push_back(Formula::symbol(dim));
}

void addOpCuts(const Program &program, std::vector<Cut> &cuts) {
  size_t count = countOps(program);
  for (size_t n = count; n-- > 0;)
    cuts.push_back([n](Program &p) { removeWithDependents(p, n); });
  for (size_t n = 0; n < count; ++n)
    cuts.push_back([n](Program &p) { writeInstead(p, n); });
  for (size_t n = 0; n < count; ++n) {
    for (size_t which = 0; which < 3; ++which)
      cuts.push_back([n, which](Program &p) { replaceByOperands(p, n, which); });
    for (size_t which = 0; which < 2; ++which)
      cuts.push_back([n, which](Program &p) { inlineBlock(p, n, which); });
    for (size_t which = 0; which < 3; ++which)
      cuts.push_back([n, which](Program &p) { dropCarried(p, n, which); });
    cuts.push_back([n](Program &p) { replaceByRead(p, n); });
    cuts.push_back([n](Program &p) { replaceByFill(p, n); });
    cuts.push_back([n](Program &p) { plainAccess(p, n); });
    cuts.push_back([n](Program &p) { opAt(p, n).op().bounds.reset(); });
    cuts.push_back([n](Program &p) { opAt(p, n).op().elementsPerThread.reset(); });
    cuts.push_back([n](Program &p) {
      Op &op = opAt(p, n).op();
      if (op.kind == OpKind::reduce || op.kind == OpKind::scan || op.kind == OpKind::argReduce)
        op.operands.resize(1);
    });
  }
}

//===-- Cuts of constraints ---------------------------------------------------------------------===//

void dropWorkgroup(Program &program, size_t which) {
  const WorkgroupConstraint each = program.workgroups[which];
  Dim &dim = *std::ranges::find(program.dims, each.dim, &Dim::name);
  dim.size = std::min(dim.size, each.tile);
  dim.dynamic = false;
  program.workgroups.erase(program.workgroups.begin() + static_cast<ptrdiff_t>(which));
  std::erase_if(program.waves, [&](const WaveConstraint &wave) { return wave.dim == each.dim; });
  program.reorderings.clear();
  program.wavesPerBlock.clear();
  std::set<int> used;
  for (const WorkgroupConstraint &other : program.workgroups)
    used.insert(other.workgroupDim);
  for (WorkgroupConstraint &other : program.workgroups)
    other.workgroupDim = static_cast<int>(std::distance(used.begin(), used.find(other.workgroupDim)));
}

void addConstraintCuts(const Program &program, std::vector<Cut> &cuts) {
  cuts.push_back([](Program &p) { p.schedule = "none"; });
  cuts.push_back([](Program &p) { p.directCopies = false; });
  cuts.push_back([](Program &p) { p.reorderings.clear(); });
  cuts.push_back([](Program &p) { p.assumptions.clear(); });
  cuts.push_back([](Program &p) { p.wavesPerBlock.clear(); });
  cuts.push_back([](Program &p) { p.grid.reset(); });
  for (size_t i = 0; i < program.waves.size(); ++i)
    cuts.push_back([i](Program &p) { p.waves.erase(p.waves.begin() + static_cast<ptrdiff_t>(i)); });
  for (size_t i = 0; i < program.workgroups.size(); ++i) {
    cuts.push_back([i](Program &p) { dropWorkgroup(p, i); });
    cuts.push_back([i](Program &p) { p.workgroups[i].apply.reset(); });
    cuts.push_back([i](Program &p) { p.workgroups[i].iters.reset(); });
    cuts.push_back([i](Program &p) { // of its own
      for (const WorkgroupConstraint &each : p.workgroups)
        p.workgroups[i].workgroupDim = std::max(p.workgroups[i].workgroupDim, each.workgroupDim + 1);
      p.workgroups[i].primary = true;
      std::set<int> used;
      for (const WorkgroupConstraint &each : p.workgroups)
        used.insert(each.workgroupDim);
      for (WorkgroupConstraint &each : p.workgroups)
        each.workgroupDim = static_cast<int>(std::distance(used.begin(), used.find(each.workgroupDim)));
    });
  }
  for (size_t i = 0; i < program.tilings.size(); ++i) {
    cuts.push_back([i](Program &p) { p.tilings[i].start.reset(); });
    cuts.push_back([i](Program &p) { p.tilings[i].iters.reset(); });
  }
  for (size_t i = 0; i < program.memories.size(); ++i)
    cuts.push_back([i](Program &p) { p.memories[i].shared &= !p.memories[i].isParameter; });
}

//===-- Cuts of dimensions ------------------------------------------------------------------------===//

void removeDim(Program &program, const std::string &name) {
  for (ValueType &value : program.values)
    std::erase(value.dims, name);
  for (Memory &memory : program.memories)
    std::erase_if(memory.shape,
                  [&](const Formula &extent) { return extent.kind == FormulaKind::symbol && extent.name == name; });
  for (size_t i = program.workgroups.size(); i-- > 0;)
    if (program.workgroups[i].dim == name)
      dropWorkgroup(program, i);
  std::erase_if(program.tilings, [&](const TilingConstraint &each) { return each.dim == name; });
  std::erase_if(program.dims, [&](const Dim &each) { return each.name == name; });
}

void setTile(Program &program, const std::string &name, int64_t tile) {
  if (tile < 1)
    return;
  int64_t before = tileOf(program, name);
  for (TilingConstraint &each : program.tilings)
    if (each.dim == name)
      each.tile = tile;
  for (WorkgroupConstraint &each : program.workgroups)
    if (each.dim == name)
      each.tile = tile;
  for (WaveConstraint &each : program.waves)
    if (each.dim == name)
      each.tile = std::max<int64_t>(1, each.tile * tile / before);
}

void addDimCuts(const Program &program, std::vector<Cut> &cuts) {
  for (const Dim &each : program.dims) {
    std::string name = each.name;
    auto size = [name](auto change) {
      return [name, change](Program &p) {
        Dim &dim = *std::ranges::find(p.dims, name, &Dim::name);
        dim.size = std::max<int64_t>(1, change(dim.size, tileOf(p, name)));
      };
    };
    cuts.push_back([name](Program &p) { removeDim(p, name); });
    cuts.push_back([name](Program &p) { std::ranges::find(p.dims, name, &Dim::name)->dynamic = false; });
    cuts.push_back(size([](int64_t, int64_t) { return int64_t(1); }));
    cuts.push_back(size([](int64_t now, int64_t tile) { return std::min(now, tile); }));
    cuts.push_back(size([](int64_t now, int64_t tile) { return now > tile ? tile + 1 : now; }));
    cuts.push_back(size([](int64_t now, int64_t tile) { return now > 2 * tile ? 2 * tile : now; }));
    cuts.push_back(size([](int64_t now, int64_t) { return now / 2; }));
    cuts.push_back(size([](int64_t now, int64_t) { return now - 1; }));
    for (int64_t tile : {int64_t(1), int64_t(2), tileOf(program, name) / 2, int64_t(16)})
      if (tile < tileOf(program, name)) {
        cuts.push_back([name, tile](Program &p) { setTile(p, name, tile); });
        cuts.push_back([name, tile](Program &p) {
          Dim &dim = *std::ranges::find(p.dims, name, &Dim::name);
          dim.size = std::max<int64_t>(1, dim.size * tile / tileOf(p, name));
          setTile(p, name, tile);
        });
      }
  }
}

//===-- Cuts of types and formulas ------------------------------------------------------------------===//

void replaceType(Program &program, Element from, Element to) {
  for (ValueType &value : program.values)
    if (value.element == from)
      value.element = to;
  for (Memory &memory : program.memories)
    if (memory.type == from)
      memory.type = to;
  for (Scalar &scalar : program.scalars)
    if (scalar.type == from)
      scalar.type = to;
}

void addSmallCuts(const Program &program, std::vector<Cut> &cuts) {
  std::set<Element> used;
  for (const ValueType &value : program.values)
    used.insert(value.element);
  for (Element from : used) {
    if (from == Element::f32 || from == Element::i1)
      continue;
    cuts.push_back([from](Program &p) { replaceType(p, from, Element::f32); });
    if (from != Element::i32)
      cuts.push_back([from](Program &p) { replaceType(p, from, Element::i32); });
  }
  size_t count = countOps(program);
  for (size_t n = 0; n < count; ++n)
    for (size_t k = 0; k < 4; ++k) {
      cuts.push_back([n, k](Program &p) { // the first operand of a formula in its place
        Op &op = opAt(p, n).op();
        if (op.indices && k < op.indices->size() && !(*op.indices)[k].operands.empty())
          (*op.indices)[k] = Formula((*op.indices)[k].operands[0]);
      });
      cuts.push_back([n, k](Program &p) {
        Op &op = opAt(p, n).op();
        if (op.bounds && k < op.bounds->size())
          (*op.bounds)[k] = std::nullopt;
      });
    }
}

std::vector<Cut> cutsOf(const Program &program) {
  std::vector<Cut> cuts;
  addOpCuts(program, cuts);
  addConstraintCuts(program, cuts);
  addDimCuts(program, cuts);
  addSmallCuts(program, cuts);
  return cuts;
}

/// What a cut leaves, if that is another well-formed program.
std::optional<Program> cutBy(const Program &program, const Cut &cut, const std::string &before) {
  Program smaller = program;
  cut(smaller);
  prune(smaller);
  if (findMistake(smaller) || print(smaller, "") + smaller.schedule + (smaller.directCopies ? "+" : "") == before)
    return std::nullopt;
  return smaller;
}
} // namespace

Program shrink(Program program, const StillFails &stillFails, int budget) {
  bool smaller = true;
  while (smaller && budget > 0) {
    smaller = false;
    size_t at = 0;
    std::vector<Cut> cuts = cutsOf(program);
    while (at < cuts.size() && budget > 0) {
      std::string now = print(program, "") + program.schedule + (program.directCopies ? "+" : "");
      std::optional<Program> candidate = cutBy(program, cuts[at++], now);
      if (!candidate)
        continue;
      --budget;
      if (!stillFails(*candidate))
        continue;
      program = std::move(*candidate);
      smaller = true;
      // What was tried before the cut that worked is tried again in the next round.
      cuts = cutsOf(program);
    }
  }
  return program;
}

} // namespace soliton::generate
