//===- Random.cpp - A kernel from a seed -----------------------------------------------------===//
//
// Dimensions and their distribution first, then a body of random steps over a pool of values, then writes. From seed
// 1000 on a kernel whose tiles need more registers than a lane has is drawn again.
//
//===----------------------------------------------------------------------===//
#include "test/generate/Random.h"

#include "test/generate/Build.h"
#include "test/generate/Registers.h"

namespace soliton::generate {

static Program drawProgram(uint64_t seed, const RandomOptions &options, uint64_t draw) {
  Builder builder(seed, options, draw);
  builder.chooseDims();
  builder.chooseConstraints();
  builder.chooseBody();
  builder.chooseSchedule();
  return builder.finish();
}

Program randomProgram(uint64_t seed, const RandomOptions &options) {
  // Addresses, masks and counters take some of the 255 that a lane of the smallest chip has.
  constexpr int64_t kMostRegisters = 200;
  constexpr uint64_t kMostDraws = 32;
  Program program = drawProgram(seed, options, 0);
  if (seed < Choose::kFirstSteered)
    return program;
  int64_t least = registersOf(program);
  for (uint64_t draw = 1; draw < kMostDraws && least > kMostRegisters; ++draw) {
    Program another = drawProgram(seed, options, draw);
    if (int64_t needed = registersOf(another); needed < least) {
      least = needed;
      program = std::move(another);
    }
  }
  return program;
}

//===-- Pruning -------------------------------------------------------------------------------===//

namespace {
struct Uses {
  std::set<int> values, memories, scalars;
  std::set<std::string> dims;
};

void noteSymbols(const Formula &formula, std::set<std::string> &names) {
  if (formula.kind == FormulaKind::symbol)
    names.insert(formula.name);
  for (const Formula &operand : formula.operands)
    noteSymbols(operand, names);
}

bool hasEffect(const Op &op, const Uses &uses) {
  if (isStore(op) || op.kind == OpKind::barrier || op.kind == OpKind::wait || op.kind == OpKind::exit ||
      op.kind == OpKind::prefetch || op.kind == OpKind::print || op.kind == OpKind::hint)
    return true;
  if (op.kind == OpKind::indexOf) // symbols are names like those of dimensions
    return uses.dims.contains(op.word);
  if (op.kind == OpKind::allocate)
    return uses.memories.contains(op.memory);
  if (std::ranges::any_of(op.results, [&](int result) { return uses.values.contains(result); }))
    return true;
  bool writes = false;
  for (const Block &block : op.blocks)
    forEachOp(block, [&](const Op &inner) { writes |= isStore(inner); });
  return writes;
}

/// From the last op to the first: what is used has its operands used.
void collect(Block &block, Uses &uses) {
  uses.values.insert(block.yields.begin(), block.yields.end());
  std::vector<Op> kept;
  for (size_t i = block.ops.size(); i-- > 0;) {
    Op &op = block.ops[i];
    if (!hasEffect(op, uses))
      continue;
    for (Block &inner : op.blocks)
      collect(inner, uses);
    uses.values.insert(op.operands.begin(), op.operands.end());
    uses.values.insert(op.results.begin(), op.results.end());
    if (isAccess(op) || op.kind == OpKind::prefetch)
      uses.memories.insert(op.memory);
    uses.dims.insert(op.along.begin(), op.along.end());
    if (op.kind == OpKind::splat)
      uses.scalars.insert(op.memory);
    if (op.kind == OpKind::iterate)
      uses.dims.insert(op.word);
    if (op.formula)
      noteSymbols(*op.formula, uses.dims);
    for (const std::optional<Formula> &bound : op.bounds.value_or(std::vector<std::optional<Formula>>()))
      if (bound)
        noteSymbols(*bound, uses.dims);
    for (const Formula &index : op.indices.value_or(std::vector<Formula>()))
      noteSymbols(index, uses.dims);
    kept.push_back(std::move(op));
  }
  std::ranges::reverse(kept);
  block.ops = std::move(kept);
}

void renumber(Block &block, const std::vector<int> &memories, const std::vector<int> &scalars) {
  for (Op &op : block.ops) {
    if (op.memory >= 0)
      op.memory =
          op.kind == OpKind::splat ? scalars[static_cast<size_t>(op.memory)] : memories[static_cast<size_t>(op.memory)];
    for (Block &inner : op.blocks)
      renumber(inner, memories, scalars);
  }
}

template <typename T>
std::vector<int> keepOnly(std::vector<T> &list, const std::set<int> &used) {
  std::vector<int> numbers(list.size(), -1);
  std::vector<T> kept;
  for (size_t i = 0; i < list.size(); ++i)
    if (used.contains(static_cast<int>(i))) {
      numbers[i] = static_cast<int>(kept.size());
      kept.push_back(std::move(list[i]));
    }
  list = std::move(kept);
  return numbers;
}
} // namespace

void prune(Program &program) {
  Uses uses;
  collect(program.body, uses);
  for (int value : uses.values)
    for (const std::string &dim : program.values[static_cast<size_t>(value)].dims)
      uses.dims.insert({dim, groupsOf(dim).base});
  // Lanes are there with their waves, or not at all.
  if (uses.dims.contains(kWaves) || uses.dims.contains(kLanes))
    uses.dims.insert({kWaves, kLanes});
  else
    program.threads.reset();
  for (int memory : uses.memories)
    for (const auto &formulas :
         {program.memories[static_cast<size_t>(memory)].shape, program.memories[static_cast<size_t>(memory)].strides})
      for (const Formula &formula : formulas)
        noteSymbols(formula, uses.dims);
  for (const Alias &alias : program.aliases)
    if (uses.dims.contains(alias.source))
      uses.dims.insert(alias.target);
  // A rotation counts the workgroups of all dimensions that multiply.
  for (const WorkgroupConstraint &each : program.workgroups)
    if (each.apply && uses.dims.contains(each.dim))
      noteSymbols(*each.apply, uses.dims);
  std::vector<int> memories = keepOnly(program.memories, uses.memories),
                   scalars = keepOnly(program.scalars, uses.scalars);
  renumber(program.body, memories, scalars);
  auto unused = [&](const std::string &dim) { return !uses.dims.contains(dim); };
  // Reorderings speak of the whole grid.
  if (std::erase_if(program.workgroups, [&](const auto &each) { return each.dim != "U" && unused(each.dim); }))
    program.reorderings.clear();
  std::erase_if(program.assumptions, [&](const Formula &each) {
    std::set<std::string> names;
    noteSymbols(each, names);
    return std::ranges::any_of(names, unused);
  });
  std::erase_if(program.tilings, [&](const auto &each) { return unused(each.dim); });
  std::erase_if(program.waves, [&](const auto &each) { return unused(each.dim); });
  std::erase_if(program.aliases, [&](const auto &each) { return unused(each.source); });
  std::erase_if(program.dims, [&](const Dim &each) {
    return unused(each.name) && !std::ranges::count(program.workgroups, each.name, &WorkgroupConstraint::dim);
  });
  // Workgroup dimensions without holes.
  std::set<int> used;
  for (const WorkgroupConstraint &each : program.workgroups)
    used.insert(each.workgroupDim);
  for (WorkgroupConstraint &each : program.workgroups)
    each.workgroupDim = static_cast<int>(std::distance(used.begin(), used.find(each.workgroupDim)));
}

} // namespace soliton::generate
