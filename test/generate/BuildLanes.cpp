//===- BuildLanes.cpp - What one lane says -----------------------------------------------------===//
//
// A kernel with `Simt(threads)` speaks of one lane: elements of `[WAVES, LANES]`, beside its tiles or alone. Inside a
// region of lanes the other phrases are about lanes too: what they read are loads, what they write are stores.
//
//   store(load(x(256*$WG0 + thread_id())) + 1, y(255 - thread_id()))
//
// How many lanes a wave has is the target's (forTarget); here they have 64, of which 32 are half.
//
//===----------------------------------------------------------------------===//
#include "test/generate/Build.h"

#include <cmath>
#include <map>

namespace soliton::generate {

static const Formula kWaveId = Formula::symbol("$index0"), kLaneId = Formula::symbol("$index1");

static Formula threadId() {
  return kWaveId * Formula::symbol(kLanes) + kLaneId;
}

void Builder::chooseLanes() {
  bool wanted = wants({"lanes", "lanes.own-place", "lanes.shuffle", "lanes.vote", "lanes.vector", "lanes.array",
                       "lanes.atomic", "lanes.any-thread"});
  if (!choose.hasEverything() || program.grid || !choose.mayUse("lanes") || !choose.chance(wanted ? 90 : 12))
    return;
  choose.note("lanes");
  program.threads = choose.from(std::vector<int64_t>{64, 128, 128, 256});
  program.dims.push_back({.name = kWaves, .size = *program.threads / 64, .own = true});
  program.dims.push_back({.name = kLanes, .size = 64, .own = true});
}

/// All workgroups have all lanes; where no tile counts them, there are as many as the kernel says.
void Builder::distributeLanes() {
  if (!program.threads)
    return;
  bool alone = program.workgroups.empty();
  program.workgroups.push_back({.dim = kWaves,
                                .tile = *program.threads / 64,
                                .workgroupDim = 0,
                                .primary = alone,
                                .apply = Formula(0),
                                .iters = Formula(alone ? choose.between(1, 3) : 1)});
  program.waves.push_back({kWaves, 1});
}

void Builder::stepLanes() {
  if (!program.threads || ofLanes)
    return;
  Dims outer = std::exchange(parallel, {kWaves, kLanes});
  std::vector<int> tiles = std::exchange(pool, {});
  int maskOutside = std::exchange(mask, -1);
  ofLanes = true;
  choose.note("lanes");
  laneLoad({kWaves, kLanes}, choose.chance(60) ? Element::i32 : chooseArithmetic());
  for (int64_t i = choose.between(1, 4); i > 0; --i)
    laneStep();
  laneStore(laneValue(), 0);
  ofLanes = false;
  mask = maskOutside;
  pool = std::move(tiles);
  parallel = std::move(outer);
}

void Builder::laneStep() {
  struct Row {
    unsigned weight;
    void (Builder::*make)();
    const char *feature;
  };
  static const std::vector<Row> kRows = {
      {6, &Builder::stepShuffle, "lanes.shuffle"}, {5, &Builder::stepVote, "lanes.vote"},
      {4, &Builder::stepVector, "lanes.vector"},   {5, &Builder::stepArray, "lanes.array"},
      {2, &Builder::stepIds, "lanes.id"},          {3, &Builder::stepAnyThread, "lanes.any-thread"},
      {4, &Builder::stepWhen, "conditional.when"}, {3, &Builder::stepElementWhile, "loop.element-while"},
      {14, &Builder::step, "lanes.step"}};
  std::vector<size_t> all, fit;
  for (size_t i = 0; i < kRows.size(); ++i) {
    for (unsigned k = 0; k < kRows[i].weight; ++k)
      all.push_back(i);
    if (choose.isWanted(kRows[i].feature))
      fit.push_back(i);
  }
  (this->*kRows[fit.empty() || choose.chance(40) ? choose.from(all) : choose.from(fit)].make)();
  if (choose.chance(choose.isWanted("lanes.atomic") ? 50 : 10))
    laneAtomic(laneValue());
}

/// A value of each lane.
int Builder::laneValue() {
  std::vector<int> fit;
  for (int value : pool)
    if (std::ranges::count(type(value).dims, kLanes))
      fit.push_back(value);
  return fit.empty() ? laneLoad({kWaves, kLanes}, Element::i32) : choose.from(fit);
}

//===-- Places ------------------------------------------------------------------------------------===//

/// A place of a lane's own, below the number of threads; `each`: no two have one.
Formula Builder::chooseThread(bool each) {
  Formula thread = threadId(), count = *program.threads;
  switch (choose.below(each ? 4 : 8)) {
  case 0:
    return thread;
  case 1:
    return count - 1 - thread;
  case 2:
    return mod(thread * (2 * choose.between(0, 40) + 1) + choose.between(0, 70), count);
  case 3: // lanes first
    return kLaneId * Formula::symbol(kWaves) + kWaveId;
  case 4:
    return floordiv(thread, choose.between(2, 5));
  case 5:
    return kLaneId;
  case 6:
    return kWaveId + choose.between(0, 3);
  default:
    return mod(thread, choose.between(1, 40));
  }
}

int Builder::laneLoad(const Dims &dims, Element element) {
  // Packed elements have no places of their own.
  if (bitsOf(element) < 8 && element != Element::i1)
    return cast(laneLoad(dims, unpacked(element)), element);
  Op op{.kind = OpKind::read};
  Formula place = chooseThread(false), extent = *program.threads;
  std::vector<int> own;
  for (int value : pool)
    if (!isFloat(type(value).element) && bitsOf(type(value).element) >= 8 && !type(value).dims.empty() &&
        unionOf(dims, type(value).dims).size() == dims.size())
      own.push_back(value);
  if (!own.empty() && choose.maybe("lanes.own-place", 30)) {
    op.operands.push_back(choose.from(own));
    place = Formula::symbol("$dynamic_val0");
    extent = choose.between(2, 70);
  } else if (!program.workgroups.empty() && choose.chance(50)) {
    int d = choose.from(program.workgroups).workgroupDim;
    place = place + extent * Formula::symbol("$WG" + std::to_string(d));
    extent = extent * choose.between(1, 3);
  } else if (choose.chance(40)) {
    place = place + choose.between(-2, 3);
  }
  std::vector<Formula> shape = {extent};
  // The tile may lack the waves, or have other dimensions in front or behind.
  auto placeOf = [&](const std::string &name) {
    auto found = std::ranges::find(dims, name == "$index0" ? kWaves : kLanes);
    if (name != "$index0" && name != "$index1")
      return Formula::symbol(name);
    return found == dims.end() ? Formula(0) : Formula::symbol("$index" + std::to_string(found - dims.begin()));
  };
  op.indices = {substitute(place, placeOf)};
  for (size_t k = 0; k < dims.size(); ++k)
    if (dims[k] != kWaves && dims[k] != kLanes) {
      op.indices->push_back(Formula::symbol("$index" + std::to_string(k)));
      shape.push_back(Formula::symbol(dims[k]));
    }
  if (dims == Dims{kWaves, kLanes})
    op.elementsPerThread = 1;
  applyMask(op, dims, 0);
  op.memory = newMemory(shape, element, Data::integers);
  const Memory &memory = program.memories.back();
  auto bound = static_cast<double>(std::max(std::abs(memory.low), std::abs(memory.high)));
  return emit(std::move(op), {dims, element}, {bound, true});
}

/// Each lane of each workgroup has a place of its own.
void Builder::laneStore(int value, double ulps) {
  Dims dims = unionOf({kWaves, kLanes}, type(value).dims);
  if (elementsOf(dims) > 8192)
    return;
  if (dims != type(value).dims)
    value = emit({.kind = OpKind::broadcast, .operands = {value}}, {dims, type(value).element}, knownOf(value));
  if (Element element = type(value).element; bitsOf(element) < 8 && element != Element::i1)
    value = cast(value, unpacked(element));
  Op op{.kind = OpKind::write, .operands = {value}};
  op.indices.emplace();
  std::vector<Formula> shape;
  std::map<int, Formula> counts;
  for (const WorkgroupConstraint &each : program.workgroups)
    if (each.primary) {
      Formula count = each.iters ? *each.iters : ceildiv(Formula::symbol(each.dim), each.tile);
      auto [found, isNew] = counts.try_emplace(each.workgroupDim, count);
      if (!isNew)
        found->second = found->second * count;
    }
  for (const auto &[d, count] : counts) {
    op.indices->push_back(Formula::symbol("$WG" + std::to_string(d)));
    shape.push_back(count);
  }
  op.indices->push_back(chooseThread(/*each=*/true));
  shape.emplace_back(*program.threads);
  for (size_t k = 2; k < dims.size(); ++k) {
    op.indices->push_back(Formula::symbol("$index" + std::to_string(k)));
    shape.push_back(Formula::symbol(dims[k]));
  }
  if (dims.size() == 2)
    op.elementsPerThread = 1;
  applyMask(op, dims, 1);
  op.memory = newMemory(shape, type(value).element, Data::output);
  program.memories.back().ulps = ulps;
  append(std::move(op));
}

/// Lanes of all workgroups meet.
void Builder::laneAtomic(int value) {
  Element element = type(value).element;
  Known facts = knownOf(value);
  constexpr double kMostTimes = 256 * 32 * 5 * 8;
  bool fits = element == Element::i32 || element == Element::i64 ||
              (element == Element::f32 && facts.exact && kMostTimes * facts.bound <= exactLimit(element));
  if (!fits || type(value).dims != Dims{kWaves, kLanes} || !choose.maybe("lanes.atomic", 100))
    return;
  static const std::vector<std::string> kWhole = {"add", "min", "max", "bit_or", "bit_xor"}, kReal = {"add", "max"};
  Op op{.kind = OpKind::atomic, .operands = {value}, .word = choose.from(isFloat(element) ? kReal : kWhole)};
  int64_t places = choose.between(1, 20);
  op.indices = {mod(chooseThread(false), places)};
  op.elementsPerThread = 1;
  applyMask(op, type(value).dims, 1);
  op.memory = newMemory({places}, element, Data::integers);
  op.results = {addValue(type(value), {})};
  append(std::move(op));
}

//===-- Ids and other lanes --------------------------------------------------------------------------===//

/// `per_lane(expr)`.
void Builder::stepIds() {
  const Dims dims = {kWaves, kLanes};
  Element element = choose.chance(70) ? Element::i32 : Element::i64;
  std::vector<int> ids;
  for (const std::string &each : dims) {
    int id = emit({.kind = OpKind::selfIndex, .dim = each}, {{each}, element}, {256, true});
    std::erase(pool, id);
    ids.push_back(emit({.kind = OpKind::broadcast, .operands = {id}}, {dims, element}, {256, true}));
  }
  Formula wave = Formula::symbol("$APPLY_EXPR_ARG_0"), lane = Formula::symbol("$APPLY_EXPR_ARG_1");
  Formula thread = wave * Formula::symbol(kLanes) + lane;
  Formula ways[] = {thread, mod(thread * 3, 32), Formula(*program.threads) - thread};
  emit({.kind = OpKind::applyExpr, .operands = ids, .formula = ways[choose.below(3)]}, {dims, element}, {1000, true});
}

void Builder::stepShuffle() {
  auto fits = [&](int each) {
    return type(each).dims == Dims{kWaves, kLanes} && bitsOf(type(each).element) >= 8 &&
           type(each).element != Element::i1;
  };
  int value = valueWhere(fits, Element::i32);
  if (!fits(value))
    return;
  Op op{.kind = OpKind::shuffle, .operands = {value}, .dim = kLanes};
  op.word = choose.from(std::vector<std::string>{"bfly", "up", "down", "idx", "idx"});
  if (!choose.maybe("lanes.shuffle." + op.word, 100))
    return;
  // As far as the smaller waves reach, and a little beyond.
  op.number = static_cast<double>(choose.between(0, 34));
  if (op.word == "idx") {
    auto isPlace = [&](int each) { return type(each) == ValueType{{kWaves, kLanes}, Element::i32}; };
    int index = valueWhere(isPlace, Element::i32);
    if (!isPlace(index))
      return;
    op.operands.push_back(index);
  }
  emit(std::move(op), type(value), knownOf(value));
}

/// Votes of the wave: some, all, how many, how many before, and which.
void Builder::stepVote() {
  auto fits = [&](int each) { return type(each).dims == Dims{kWaves, kLanes} && isArithmetic(type(each).element); };
  int value = valueWhere(fits, Element::i32);
  if (!fits(value))
    return;
  int truth = truthOf(value);
  if (type(truth).dims != Dims{kWaves, kLanes} || !choose.maybe("lanes.vote", 100))
    return;
  switch (choose.below(4)) {
  case 0:
    reduce(choose.chance(50) ? "any" : "all", truth, kLanes, -1);
    return;
  case 1:
    reduce("sum", cast(truth, Element::i32), kLanes, -1);
    return;
  case 2: {
    int one = cast(truth, Element::i32);
    binary("sub", scan("sum", one, kLanes, -1), one);
    return;
  }
  default: { // a bit for each lane
    choose.note("lanes.vote.ballot");
    int lane = emit({.kind = OpKind::selfIndex, .dim = kLanes}, {{kLanes}, Element::i64}, {64, true});
    Formula bit =
        Formula::of(FormulaKind::shl, {1, Formula::of(FormulaKind::min, {Formula::symbol("$APPLY_EXPR_ARG_0"), 62})});
    int bits = emit({.kind = OpKind::applyExpr, .operands = {lane}, .formula = bit}, {{kLanes}, Element::i64},
                    {INFINITY, false});
    int chosen = emit({.kind = OpKind::select, .operands = {truth, bits, fill({kLanes}, Element::i64, 0)}},
                      {{kWaves, kLanes}, Element::i64}, {INFINITY, false});
    reduce("sum", chosen, kLanes, -1);
  }
  }
}

/// All workgroups would have one place, unless there is only one, or each has its own row.
void Builder::storeVector(int vector) {
  if (program.workgroups.size() > 1 || sharers() > 1)
    return laneStore(vector, 0);
  int64_t width = tileOf(program, type(vector).dims.back());
  Op store{.kind = OpKind::write, .operands = {vector}};
  store.indices = {chooseThread(true) * width + Formula::symbol("$index2")};
  store.elementsPerThread = width;
  applyMask(store, type(vector).dims, 1);
  store.memory = newMemory({Formula(*program.threads * width)}, type(vector).element, Data::output);
  append(std::move(store));
}

/// `component(v, k)`: the sum of one element and zeros.
int Builder::componentOf(int vector) {
  const ValueType vectors = type(vector);
  const std::string &dim = vectors.dims.back();
  int at = emit({.kind = OpKind::selfIndex, .dim = dim}, {{dim}, Element::i32}, {8, true});
  int which = fill({dim}, Element::i32, static_cast<double>(choose.between(0, tileOf(program, dim) - 1)));
  int isIt = emit({.kind = OpKind::compare, .operands = {at, which}, .word = "eq"}, {{dim}, Element::i1}, {1, true});
  int alone = emit({.kind = OpKind::select, .operands = {isIt, vector, fill(vectors.dims, vectors.element, 0)}},
                   vectors, knownOf(vector));
  int component = reduce("sum", alone, dim, -1);
  known[static_cast<size_t>(component)] = knownOf(vector);
  return component;
}

/// Neighbours along the last dimension, as a vector of the lane.
void Builder::stepVector() {
  if (!choose.maybe("lanes.vector", 100))
    return;
  static const std::vector<Element> kTypes = {Element::f32, Element::f16,  Element::i32,
                                              Element::i8,  Element::bf16, Element::i64};
  Element element = choose.from(kTypes);
  int64_t width = choose.from(std::vector<int64_t>{2, 4, 4, 8});
  std::string dim = "VECTOR_" + std::to_string(width);
  if (!program.findDim(dim))
    program.dims.push_back({.name = dim, .size = width, .own = true});
  const ValueType vectors{{kWaves, kLanes, dim}, element};
  Op load{.kind = OpKind::read};
  load.indices = {chooseThread(false) * width + Formula::symbol("$index2") + choose.between(0, 1)};
  load.elementsPerThread = width;
  applyMask(load, vectors.dims, 0);
  load.memory = newMemory({Formula(*program.threads * width)}, element, Data::integers);
  int vector = emit(std::move(load), vectors, {100, true});
  if (choose.chance(50))
    storeVector(unary("neg", vector));
  if (choose.chance(50))
    reduce(!isFloat(element) || element == Element::f32 ? "sum" : "max", vector, dim, -1);
  else
    componentOf(vector);
  std::erase_if(pool, [&](int each) { return std::ranges::count(type(each).dims, dim) > 0; });
}

//===-- Arrays in shared memory ---------------------------------------------------------------------===//

int Builder::newArray(Element element) {
  Memory memory{.name = "s" + std::to_string(program.memories.size()), .shape = {}, .type = element};
  memory.shape = {Formula::symbol(ownDim("ARRAY_", *program.threads))};
  memory.shared = true;
  memory.isParameter = false;
  auto number = static_cast<int>(program.memories.size());
  program.memories.push_back(std::move(memory));
  program.body.ops.insert(program.body.ops.begin(), Op{.kind = OpKind::allocate, .memory = number});
  return number;
}

static Op accessOf(OpKind kind, int array, const Formula &place) {
  Op op{.kind = kind, .memory = array};
  op.indices = {place};
  op.elementsPerThread = 1;
  return op;
}

/// Some of the lanes put something else.
void Builder::changeArray(int array, int value) {
  int truth = truthOf(value), other = unary("neg", value);
  Op change = accessOf(OpKind::write, array, chooseThread(/*each=*/true));
  change.operands = {other};
  if (type(truth).dims == type(value).dims) {
    mask = cast(truth, Element::i32);
    applyMask(change, type(value).dims, 1);
    mask = -1;
  }
  append(std::move(change));
  authorSync(true);
}

/// They meet in a few places, if the type has atomics.
bool Builder::meetInArray(int array, int value) {
  Element element = type(value).element;
  if (isFloat(element) || bitsOf(element) < 32)
    return false;
  Op meet = accessOf(OpKind::atomic, array, mod(chooseThread(false), choose.between(1, 16)));
  meet.word = choose.chance(50) ? "add" : "max";
  meet.operands = {value};
  meet.results = {addValue(type(value), {})};
  append(std::move(meet));
  authorSync(true);
  return true;
}

/// Lanes put something at places that they compute, some of them change it, and all find what others have put.
void Builder::stepArray() {
  if (!ofLanes || mask >= 0 || !choose.maybe("lanes.array", 100))
    return;
  static const std::vector<Element> kTypes = {Element::i32, Element::i32, Element::f32, Element::i64, Element::f16};
  Element element = choose.from(kTypes);
  auto fits = [&](int each) { return type(each) == ValueType{{kWaves, kLanes}, element}; };
  int value = valueWhere(fits, element);
  if (!fits(value))
    return;
  int array = newArray(element);
  Op put = accessOf(OpKind::write, array, chooseThread(/*each=*/true));
  put.operands = {value};
  append(std::move(put));
  authorSync(true);
  if (choose.chance(50))
    changeArray(array, value);
  Known facts = knownOf(value);
  if (choose.chance(50) && meetInArray(array, value))
    facts = {INFINITY, false};
  Op find = accessOf(OpKind::read, array, chooseThread(false) + choose.between(-1, 3));
  emit(std::move(find), type(value), facts);
}

//===-- Votes of the workgroup ------------------------------------------------------------------------===//

/// A branch for the whole workgroup, of what one thread says.
void Builder::stepAnyThread() {
  auto fits = [&](int each) { return type(each).dims == Dims{kWaves, kLanes} && isArithmetic(type(each).element); };
  int value = valueWhere(fits, Element::i32);
  if (!fits(value) || depth >= 2 || mask >= 0 || !choose.maybe("lanes.any-thread", 100))
    return;
  std::set<std::string> features = choose.take();
  takeNumber(anyOf(truthOf(value)));
  Op op{.kind = OpKind::conditional, .formula = Formula::of(FormulaKind::lt, {0, Formula::symbol(numbers.back())})};
  const ValueType shape = type(value);
  Known facts;
  ++depth;
  for (int side = 0; side < 2; ++side)
    op.blocks.push_back(inBlock([&](Block &body) {
      if (side == 0 && choose.chance(50))
        laneStore(laneValue(), 0);
      int result = side == 0 ? binary("max", value, laneLoad(shape.dims, shape.element)) : value;
      body.yields = {result};
      facts = {std::max(facts.bound, knownOf(result).bound), false};
    }));
  --depth;
  for (const std::string &feature : features)
    choose.note(feature);
  emit(std::move(op), shape, facts);
}

} // namespace soliton::generate
