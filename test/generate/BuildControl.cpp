//===- BuildControl.cpp - Elements, iterations and workgroups that go ways of their own ---------===//
//
// Elements that are not there name a place outside the memory, as the language says `when` and `lane_while`; loops that
// run as long as data want; branches in branches; workgroups that choose their tiles.
//
//   when(x < y, [&] { … })       accesses inside have the index  select(0 < $dynamic_val0, i, -1)
//
//===----------------------------------------------------------------------===//
#include "test/generate/Build.h"

#include <cmath>

namespace soliton::generate {

static Formula indexOf(size_t k) {
  return Formula::symbol("$index" + std::to_string(k));
}
static std::vector<Formula> plainIndices(size_t count) {
  std::vector<Formula> indices;
  for (size_t k = 0; k < count; ++k)
    indices.push_back(indexOf(k));
  return indices;
}

bool Builder::stepEverything() {
  struct Row {
    unsigned weight;
    void (Builder::*make)();
    std::vector<std::string> features;
  };
  static const std::vector<Row> kRows = {{24,
                                          &Builder::stepMove,
                                          {"moved.slice", "moved.extract", "moved.reshape", "moved.concatenate",
                                           "rows.topk", "bitcast.same", "bitcast.width", "number.extracted"}},
                                         {10, &Builder::stepWhen, {"conditional.when"}},
                                         {8, &Builder::stepWhile, {"loop.while"}},
                                         {7, &Builder::stepElementWhile, {"loop.element-while"}},
                                         {12, &Builder::stepBranches, {"conditional.nested", "conditional.alone"}},
                                         {5, &Builder::stepPrefetch, {"prefetch"}},
                                         {6, &Builder::stepLog, {"log"}},
                                         {6, &Builder::stepArray, {"lanes.array"}},
                                         {5, &Builder::stepFunctionOfTwo, {"function-of-two"}},
                                         {6, &Builder::stepOtherReduce, {"reduce.prod", "reduce.any"}},
                                         {6, &Builder::stepArgReduce, {"reduce.argmax"}},
                                         {20,
                                          &Builder::stepLanes,
                                          {"lanes", "lanes.shuffle", "lanes.vote", "lanes.vector", "lanes.atomic",
                                           "lanes.any-thread", "lanes.own-place"}}};
  if (choose.hasStrides() && choose.chance(wants({"hint", "wait.counted", "print"}) ? 40 : 12))
    return choose.chance(65) ? stepHint() : stepPrint(), true;
  std::vector<size_t> fit, all;
  for (size_t i = 0; i < kRows.size(); ++i) {
    bool ofLane = kRows[i].make == &Builder::stepLanes;
    if (ofLane && (!program.threads || ofLanes))
      continue;
    for (unsigned k = 0; k < kRows[i].weight; ++k)
      all.push_back(i);
    if (std::ranges::any_of(kRows[i].features, [&](const std::string &each) { return choose.isWanted(each); }))
      fit.push_back(i);
  }
  size_t before = block->ops.size();
  size_t chosen = fit.empty() || choose.chance(40) ? choose.from(all) : choose.from(fit);
  (this->*kRows[chosen].make)();
  return block->ops.size() > before;
}

//===-- Elements that are not there ---------------------------------------------------------------===//

void Builder::applyMask(Op &op, const Dims &dims, size_t firstDynamic) {
  if (mask < 0)
    return;
  for (const std::string &each : type(mask).dims)
    if (!std::ranges::count(dims, each))
      return;
  if (!op.indices)
    op.indices = plainIndices(dims.size());
  auto k = std::to_string(op.operands.size() - firstDynamic);
  op.operands.push_back(mask);
  Formula isThere = Formula::of(FormulaKind::lt, {0, Formula::symbol("$dynamic_val" + k)});
  op.indices->front() = Formula::of(FormulaKind::select, {isThere, op.indices->front(), -1});
}

/// Some elements of a value against others.
int Builder::truthOf(int value) {
  static const std::vector<std::string> kWords = {"lt", "le", "ne", "gt"};
  Element element = type(value).element;
  int other = choose.chance(50) ? partnerFor(value) : fill(type(value).dims, element, isFloat(element) ? 1 : 0);
  Dims dims = unionOf(type(value).dims, type(other).dims);
  return emit({.kind = OpKind::compare, .operands = {value, other}, .word = choose.from(kWords)}, {dims, Element::i1},
              {1, true});
}

/// What holds for one element, as a tile without dimensions.
int Builder::anyOf(int truth) {
  int some = truth;
  while (!type(some).dims.empty())
    some = reduce("any", some, type(some).dims.back(), -1);
  int number = cast(some, Element::i32);
  std::erase(pool, number);
  std::erase_if(pool, [&](int each) { return each > truth && type(each).dims.empty(); });
  return number;
}

void Builder::stepWhen() {
  auto fits = [&](int each) {
    return isArithmetic(type(each).element) && bitsOf(type(each).element) >= 8 && !type(each).dims.empty();
  };
  int value = valueWhere(fits, Element::f32);
  if (!fits(value) || mask >= 0 || !choose.maybe("conditional.when", 100))
    return;
  int truth = truthOf(value);
  const Dims dims = type(truth).dims;
  if (elementsOf(dims) > 4096)
    return;
  int sides[2] = {value, value};
  for (int side = 0; side < (choose.chance(50) ? 2 : 1); ++side) {
    int holds = side == 0 ? truth : unary("logical_not", truth);
    mask = cast(holds, Element::i32);
    int loaded = readFresh(dims, type(value).element);
    sides[side] = choose.chance(50) ? binary("add", loaded, value) : loaded;
    if (choose.chance(50))
      writeOut(sides[side]);
    if (choose.chance(30))
      atomicOut(sides[side]);
    mask = -1;
  }
  Known a = knownOf(sides[0]), b = knownOf(sides[1]);
  Dims all = unionOf(unionOf(dims, type(sides[0]).dims), type(sides[1]).dims);
  emit({.kind = OpKind::select, .operands = {truth, sides[0], sides[1]}}, {all, type(value).element},
       {std::max(a.bound, b.bound), a.exact && b.exact});
}

//===-- Loops that data end -----------------------------------------------------------------------===//

void Builder::takeNumber(int value) {
  numbers.push_back("$DATA" + std::to_string(value));
  append({.kind = OpKind::indexOf, .operands = {value}, .word = numbers.back()});
}

/// The iterations of `iterate_while`, which end where what they count is no longer below the limit.
int Builder::whileLoop(int counter, int value, const Formula &limit) {
  const ValueType counting = type(counter), shape = type(value);
  std::string axis = "WHILE_" + std::to_string(++names);
  Op loop{.kind = OpKind::iterate, .operands = {counter, value}, .word = axis, .formula = Formula(INT32_MAX)};
  loops.push_back(axis);
  ++depth;
  loop.blocks.push_back(inBlock([&](Block &body) {
    body.arguments = {addValue(counting, {}), addValue(shape, {INFINITY, false})};
    pool.push_back(body.arguments[1]);
    for (int64_t i = choose.between(0, 2); i > 0; --i)
      step();
    int other = readFresh(chooseSubset(shape.dims, 1), shape.element);
    int next = binary(choose.chance(50) ? "max" : isFloat(shape.element) ? "min" : "add", body.arguments[1], other);
    if (choose.chance(30))
      writeOut(next);
    int one = emit({.kind = OpKind::fill, .number = 1}, counting, {1, true});
    int counted = emit({.kind = OpKind::binary, .operands = {body.arguments[0], one}, .word = "add"}, counting, {});
    body.yields = {counted, next};
    takeNumber(counted);
    append({.kind = OpKind::exit, .formula = Formula::of(FormulaKind::lt, {Formula::symbol(numbers.back()), limit})});
  }));
  --depth;
  loops.pop_back();
  loop.results = {addValue(counting, {}), addValue(shape, {INFINITY, false})};
  int result = loop.results[1];
  append(std::move(loop));
  return result;
}

/// `iterate_while`: nothing, or a loop that asks at the end of each iteration whether there is another one.
void Builder::stepWhile() {
  auto fits = [&](int each) { return isArithmetic(type(each).element) && !type(each).dims.empty(); };
  int value = valueWhere(fits, Element::i32);
  if (!fits(value) || depth >= 2 || elementsOf(type(value).dims) > 4096 || !choose.maybe("loop.while", 100))
    return;
  Formula limit = choose.between(0, 3);
  if (!numbers.empty() && choose.chance(60))
    limit = Formula::of(FormulaKind::min, {anyNumber(), 4});
  int counter = emit({.kind = OpKind::fill, .number = 0}, {{}, Element::i32}, {0, true});
  pool.pop_back();
  std::set<std::string> features = choose.take();
  takeNumber(counter);
  Op op{.kind = OpKind::conditional, .formula = Formula::of(FormulaKind::lt, {Formula::symbol(numbers.back()), limit})};
  numbers.pop_back(); // it counts for the loop alone
  op.blocks.push_back(inBlock([&](Block &taken) { taken.yields = {whileLoop(counter, value, limit)}; }));
  op.blocks.push_back({{}, {}, {value}});
  for (const std::string &feature : features)
    choose.note(feature);
  emit(std::move(op), type(value), {INFINITY, false});
}

int Builder::isBelow(int steps, int most) {
  return emit({.kind = OpKind::compare, .operands = {steps, most}, .word = "lt"}, {type(steps).dims, Element::i1},
              {1, true});
}

/// Whether an element is left, for the whole workgroup.
Formula Builder::someAreLeft(int live) {
  takeNumber(anyOf(live));
  Formula condition = Formula::of(FormulaKind::lt, {0, Formula::symbol(numbers.back())});
  numbers.pop_back();
  return condition;
}

/// One iteration of `lane_while`; elements that are done keep what they have.
Builder::Going Builder::goOn(const Going &before, int most) {
  const ValueType shape = type(before.state);
  auto kept = [&](int now, int then) {
    return emit({.kind = OpKind::select, .operands = {before.live, now, then}}, shape, {INFINITY, false});
  };
  mask = cast(before.live, Element::i32);
  int loaded = readFresh(shape.dims, shape.element), next = binary("add", before.state, loaded);
  if (choose.chance(25))
    atomicOut(loaded);
  if (choose.chance(25))
    writeOut(next);
  mask = -1;
  int state = kept(next, before.state);
  int steps = kept(binary("add", before.steps, fill(shape.dims, shape.element, 1)), before.steps);
  int live = emit({.kind = OpKind::binary, .operands = {before.live, isBelow(steps, most)}, .word = "bit_and"},
                  type(before.live), {1, true});
  return {state, steps, live};
}

Builder::Going Builder::elementLoop(const Going &first, int most) {
  std::string axis = "WHILE_" + std::to_string(++names);
  Op loop{.kind = OpKind::iterate,
          .operands = {first.state, first.steps, first.live},
          .word = axis,
          .formula = Formula(INT32_MAX)};
  loops.push_back(axis);
  ++depth;
  auto values = [&] {
    return Going{addValue(type(first.state), {INFINITY, false}), addValue(type(first.steps), {INFINITY, false}),
                 addValue(type(first.live), {1, true})};
  };
  loop.blocks.push_back(inBlock([&](Block &body) {
    Going before = values();
    body.arguments = {before.state, before.steps, before.live};
    Going after = goOn(before, most);
    body.yields = {after.state, after.steps, after.live};
    Formula condition = someAreLeft(after.live);
    append({.kind = OpKind::exit, .formula = condition});
  }));
  --depth;
  loops.pop_back();
  Going last = values();
  loop.results = {last.state, last.steps, last.live};
  append(std::move(loop));
  return last;
}

/// `lane_while`: each element goes on while its own condition holds.
void Builder::stepElementWhile() {
  auto fits = [&](int each) {
    const ValueType &tile = type(each);
    return !isFloat(tile.element) && tile.element != Element::i1 && bitsOf(tile.element) >= 16 && !tile.dims.empty() &&
           elementsOf(tile.dims) <= 2048;
  };
  int value = valueWhere(fits, Element::i32);
  if (!fits(value) || depth >= 2 || mask >= 0 || !choose.maybe("loop.element-while", 100))
    return;
  const ValueType shape = type(value);
  int most = binary("mod", value, fill(shape.dims, shape.element, static_cast<double>(choose.between(2, 4))));
  int zero = fill(shape.dims, shape.element, 0);
  Going first{value, zero, isBelow(zero, most)};
  std::set<std::string> features = choose.take();
  Op op{.kind = OpKind::conditional, .formula = someAreLeft(first.live)};
  op.blocks.push_back(inBlock([&](Block &taken) {
    Going last = elementLoop(first, most);
    taken.yields = {last.state, last.steps};
  }));
  op.blocks.push_back({{}, {}, {value, zero}});
  op.results = {addValue(shape, {INFINITY, false}), addValue(shape, {4, true})};
  pool.insert(pool.end(), op.results.begin(), op.results.end());
  for (const std::string &feature : features)
    choose.note(feature);
  append(std::move(op));
}

//===-- Branches ----------------------------------------------------------------------------------===//

/// What a branch does that acts through what it writes.
void Builder::branchBody(int budget) {
  if (choose.hasNumbers() && choose.chance(20))
    stepNumber();
  for (int64_t i = choose.between(0, 1); i > 0; --i)
    step();
  if (budget > 0 && choose.maybe("conditional.nested", 60)) {
    Op op{.kind = OpKind::conditional, .formula = chooseCondition()};
    bool alone = choose.maybe("conditional.alone", 50);
    op.features = choose.take();
    op.blocks.push_back(inBlock([&](Block &) { branchBody(budget - 1); }));
    if (!alone)
      op.blocks.push_back(inBlock([&](Block &) { branchBody(0); }));
    block->ops.push_back(std::move(op));
  }
  writeOut(anyValue());
  if (choose.chance(20))
    atomicOut(anyValue());
}

void Builder::stepBranches() {
  if (depth >= 2 || !choose.maybe("conditional", 100))
    return;
  ++depth;
  Op op{.kind = OpKind::conditional, .formula = chooseCondition()};
  bool alone = choose.maybe("conditional.alone", 50);
  op.features = choose.take();
  op.blocks.push_back(inBlock([&](Block &) { branchBody(choose.chance(70) ? 1 : 2); }));
  if (!alone)
    op.blocks.push_back(inBlock([&](Block &) { branchBody(0); }));
  --depth;
  block->ops.push_back(std::move(op));
}

//===-- Hints and logs ------------------------------------------------------------------------------===//

void Builder::stepPrefetch() {
  if (mask >= 0 || ofLanes || !choose.maybe("prefetch", 100))
    return;
  readFresh(readableDims(), chooseArithmetic());
  if (block->ops.back().kind != OpKind::read) // it was cast
    return;
  const Op read = block->ops.back();
  const Memory &memory = program.memories[static_cast<size_t>(read.memory)];
  if (!read.operands.empty() || memory.shared || bitsOf(memory.type) < 8)
    return;
  Op op{.kind = OpKind::prefetch, .memory = read.memory, .along = type(read.results[0]).dims, .indices = read.indices};
  op.features = {"prefetch"};
  block->ops.insert(block->ops.end() - 1, std::move(op));
}

/// `debug_log`: a tensor of its own, with a place for each iteration.
void Builder::stepLog() {
  auto fits = [&](int each) { return bitsOf(type(each).element) >= 8 && !type(each).dims.empty(); };
  int value = valueWhere(fits, Element::f32);
  if (!fits(value) || ofLanes || mask >= 0 || elementsOf(unionOf(type(value).dims, requiredDims())) > 8192 ||
      !choose.maybe("log", 100))
    return;
  value = withRequiredDims(value);
  const ValueType tile = type(value);
  Op op{.kind = OpKind::write, .operands = {value}};
  std::vector<Formula> shape;
  for (const std::string &each : tile.dims)
    shape.push_back(Formula::symbol(each));
  if (Dims named = namedLoops(); !named.empty() && hasRoom(shape) && choose.chance(80)) {
    op.indices = plainIndices(tile.dims.size());
    constexpr int64_t kPlaces = 3;
    Formula iteration = Formula::symbol("$ARG_" + named.back());
    op.indices->insert(op.indices->begin(), Formula::of(FormulaKind::min, {iteration, kPlaces - 1}));
    shape.insert(shape.begin(), kPlaces);
    choose.note("log.iteration");
  }
  ownPlace(op, tile.dims, shape);
  op.memory = newMemory(shape, tile.element, Data::output);
  append(std::move(op));
}

/// `debug_print`: a line for each element, on the emulator.
void Builder::stepPrint() {
  constexpr int64_t kMostLines = 128;
  auto fits = [&](int each) {
    return !type(each).dims.empty() && elementsOf(type(each).dims) <= kMostLines && knownOf(each).exact;
  };
  int value = valueWhere(fits, Element::f32);
  if (!fits(value) || ofLanes || !choose.maybe("print", 100))
    return;
  std::string label = "p" + std::to_string(program.values.size());
  emit({.kind = OpKind::print, .operands = {value}, .word = label}, type(value), knownOf(value));
}

/// What only changes timing.
void Builder::stepHint() {
  auto number = [](int64_t each) { return std::to_string(each); };
  if (choose.maybe("wait.counted", 30)) {
    static const std::vector<std::string> kCounters = {"vm", "shared", "cp_async"};
    append({.kind = OpKind::wait, .word = choose.from(kCounters), .number = static_cast<double>(choose.between(0, 5))});
    return;
  }
  static const std::vector<int64_t> kClasses = {0, 1, 2, 8, 16, 32, 64, 128, 256, 512};
  std::string text;
  switch (choose.among({{"hint.priority", 40}, {"hint.barrier", 40}, {"hint.group", 20}})) {
  case 0:
    text = "wave.priority " + number(choose.between(0, 3));
    break;
  case 1:
    text = "wave.sched_barrier {mask = " + number(choose.from(kClasses) | choose.from(kClasses)) + " : i64}";
    break;
  default:
    text = "wave.sched_group {count = " + number(choose.between(0, 4)) +
           " : i64, group = " + number(choose.between(0, 1)) + " : i64, mask = " + number(choose.from(kClasses)) +
           " : i64}";
  }
  append({.kind = OpKind::hint, .word = text});
}

/// Functions of two numbers without an exact result.
void Builder::stepFunctionOfTwo() {
  static const std::vector<Element> kTypes = {Element::f32, Element::f32, Element::f16, Element::bf16};
  Element element = choose.from(kTypes);
  std::string word = choose.chance(50) ? "pow" : "atan2";
  auto fits = [&](int each) {
    return type(each).element == element && knownOf(each).exact && knownOf(each).bound <= 3 && !type(each).dims.empty();
  };
  int value = valueWhere(fits, element);
  if (!fits(value) || !choose.maybe("function-of-two", 100))
    return;
  int positive = binary("add", unary("abs", value), fill(type(value).dims, element, 1));
  int other = readFresh(type(value).dims, element, /*plain=*/true);
  if (!fits(other))
    return;
  int result =
      emit({.kind = OpKind::binary, .operands = {positive, other}, .word = word}, type(value), {INFINITY, false});
  std::erase(pool, result);
  writeOut(result, 16);
  std::erase_if(pool, [&](int each) { return each > positive; });
}

//===-- Workgroups that choose their tiles ----------------------------------------------------------===//

int64_t Builder::sharers() const {
  if (program.grid)
    return *program.grid;
  if (!program.threads)
    return 1;
  const WorkgroupConstraint &lanes = *std::ranges::find(program.workgroups, kWaves, &WorkgroupConstraint::dim);
  return lanes.primary ? lanes.iters->number : 1;
}

void Builder::ownPlace(Op &op, const Dims &dims, std::vector<Formula> &shape) const {
  if (sharers() == 1)
    return;
  if (!op.indices)
    op.indices = plainIndices(dims.size());
  op.indices->insert(op.indices->begin(), Formula::symbol("$WG0"));
  shape.insert(shape.begin(), sharers());
}

void Builder::choosePersistent() {
  bool fits = std::ranges::any_of(program.workgroups, [](const auto &each) { return each.dim != "U"; });
  if (choose.hasEverything() && fits && !program.grid && choose.maybe("grid.persistent", 6))
    program.grid = choose.between(2, 4);
}

/// Each workgroup takes tiles of a dimension in turn.
void Builder::stepPersistent() {
  std::vector<WorkgroupConstraint> fit = program.workgroups;
  std::erase_if(fit, [](const auto &each) { return each.dim == "U"; });
  const WorkgroupConstraint chosen = choose.from(fit);
  Dims others = parallel;
  std::erase(others, chosen.dim);
  Dims dims = {chosen.dim};
  if (!others.empty() && choose.chance(70))
    dims = unionOf(dims, chooseSubset(others, 1));
  while (dims.size() > 1 && elementsOf(dims) > 4096)
    dims.pop_back();
  Element element = chooseArithmetic();
  if (bitsOf(element) < 8)
    element = Element::f32;
  std::string axis = "TILES_" + std::to_string(++names);
  Formula id = Formula::symbol("$WG0"), count = *program.grid, size = Formula::symbol(chosen.dim);
  Op loop{.kind = OpKind::iterate, .word = axis, .formula = ceildiv(ceildiv(size, chosen.tile) - id, count)};
  std::vector<Formula> shape, indices = plainIndices(dims.size());
  for (const std::string &each : dims)
    shape.push_back(Formula::symbol(each));
  indices[0] = indices[0] + (id + count * Formula::symbol("$ARG_" + axis)) * chosen.tile;
  loops.push_back(axis);
  ++depth;
  loop.features = choose.take();
  loop.blocks.push_back(inBlock([&](Block &) {
    Op read{.kind = OpKind::read, .memory = newMemory(shape, element, Data::integers), .indices = indices};
    int value = emit(std::move(read), {dims, element}, {100, true});
    int changed = choose.chance(50) ? unary("neg", value) : binary("add", value, value);
    for (int64_t i = choose.between(0, 2); i > 0; --i)
      step();
    for (int each : pool)
      if (type(each).dims == dims && bitsOf(type(each).element) >= 8 && choose.chance(50))
        changed = each;
    Op write{.kind = OpKind::write, .operands = {changed}, .indices = indices};
    write.memory = newMemory(shape, type(changed).element, Data::output);
    append(std::move(write));
  }));
  --depth;
  loops.pop_back();
  loop.features.insert("grid.persistent");
  block->ops.push_back(std::move(loop));
}

} // namespace soliton::generate
