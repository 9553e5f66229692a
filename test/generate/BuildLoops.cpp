//===- BuildLoops.cpp - Loops, branches, matrix products, and the whole body -------------------===//
#include "test/generate/Build.h"

#include <cmath>
#include <tuple>

namespace soliton::generate {

static double tripsOf(const Program &program, const std::string &axis) {
  const TilingConstraint &tiling = *std::ranges::find(program.tilings, axis, &TilingConstraint::dim);
  int64_t size = program.findDim(axis)->size;
  return static_cast<double>(tiling.iters ? sizeOf(program, *tiling.iters) : (size + tiling.tile - 1) / tiling.tile);
}

//===-- Loops -----------------------------------------------------------------------------------===//

void Builder::stepLoop() {
  std::vector<std::string> axes, again;
  for (const TilingConstraint &each : program.tilings)
    (std::ranges::count(loops, each.dim) ? again : axes).push_back(each.dim);
  if (depth >= 2)
    return;
  if (!again.empty() && choose.maybe("loop.nested-same", 8))
    return loopOver(choose.from(again));
  if (axes.empty() || !choose.mayUse("loop") || (depth > 0 && !choose.maybe("loop.nested", 50)))
    return;
  choose.note("loop");
  loopOver(choose.from(axes));
}

/// What a carried value becomes, and what is known about it after the loop.
int Builder::nextCarried(int argument, int init, const std::string &axis, Known &result) {
  const ValueType shape = type(argument);
  double trips = tripsOf(program, axis), tile = static_cast<double>(tileOf(program, axis));
  Dims wide = shape.dims;
  wide.insert(wide.begin() + static_cast<ptrdiff_t>(choose.below(wide.size() + 1)), axis);
  bool mayReduce = !std::ranges::count(shape.dims, axis) && elementsOf(wide) <= 8192;
  size_t way =
      choose.among({{"carry.add", 25}, {"carry.sum", 35}, {"carry.max", 20}, {"carry.replace", 10}, {"carry.kept", 5}});
  if (way == 4) {
    result = knownOf(init);
    return argument;
  }
  if (way == 3) {
    result = {INFINITY, false};
    return readFresh(shape.dims, shape.element);
  }
  if (way == 2 || !mayReduce) {
    result = {INFINITY, false};
    if (way != 0 && mayReduce)
      return reduce(choose.chance(50) ? "max" : "min", readFresh(wide, shape.element), axis, argument);
    int other = readFresh(chooseSubset(shape.dims, 1), shape.element);
    if (!isFloat(shape.element) || way == 2)
      return binary(way == 2 ? "max" : "add", argument, other);
    result = clipped(shape.element, knownOf(init).bound + trips * knownOf(other).bound, knownOf(init).exact);
    return binary("add", argument, other);
  }
  int source = way == 1 ? readFresh(wide, shape.element) : readFresh(chooseSubset(shape.dims, 1), shape.element);
  double each = knownOf(source).bound * (way == 1 ? tile : 1);
  result = clipped(shape.element, knownOf(init).bound + trips * each, knownOf(init).exact);
  if (way == 0)
    return binary("add", argument, source);
  if (isFloat(shape.element) && !result.exact) {
    result = {INFINITY, false};
    return reduce("max", source, axis, argument);
  }
  if (!isFloat(shape.element) && choose.isWhole() && choose.chance(30)) {
    result = {INFINITY, false};
    return reduce("prod", source, axis, argument);
  }
  return reduce("sum", source, axis, argument);
}

void Builder::stepNumber() {
  static const std::vector<Element> kTypes = {Element::i32, Element::i32, Element::i64, Element::i16, Element::i8};
  Element element = choose.from(kTypes);
  int value = -1;
  if (choose.chance(25)) {
    program.scalars.push_back({"x" + std::to_string(program.scalars.size()), element, choose.between(-2, 5)});
    value =
        emit({.kind = OpKind::splat, .memory = static_cast<int>(program.scalars.size()) - 1}, {{}, element}, {5, true});
  } else {
    constexpr int64_t kPlaces = 7;
    Op read{.kind = OpKind::read, .memory = newMemory({kPlaces}, element, Data::integers)};
    program.memories.back().low = -2;
    program.memories.back().high = 5;
    bool ofPlace = choose.chance(60);
    read.indices = {ofPlace ? mod(choosePlace(), kPlaces) : Formula(choose.between(0, kPlaces))};
    value = emit(std::move(read), {{}, element}, {5, true});
  }
  pool.pop_back(); // a tile without dimensions is nothing that other steps expect
  numbers.push_back("$DATA" + std::to_string(value));
  append({.kind = OpKind::indexOf, .operands = {value}, .word = numbers.back()});
}

/// Data say how often a loop runs, up to what its dimension has.
void Builder::chooseCount(Op &loop) {
  const TilingConstraint &tiling = *std::ranges::find(program.tilings, loop.word, &TilingConstraint::dim);
  if (numbers.empty() || tiling.iters || tiling.start || !choose.maybe("number.count", 35))
    return;
  Formula most = ceildiv(Formula::symbol(loop.word), tiling.tile);
  // A dimension that is set to a number has as many tiles as that has.
  if (choose.hasEverything() && choose.chance(40)) {
    loop.formula =
        Formula::of(FormulaKind::min, {ceildiv(Formula::of(FormulaKind::max, {anyNumber(), 0}), tiling.tile), most});
    return;
  }
  loop.formula = Formula::of(FormulaKind::min, {Formula::of(FormulaKind::max, {anyNumber(), 0}), most});
}

/// Before the end of its body a loop may say whether it goes on.
void Builder::chooseExit(const std::string &axis) {
  if (!choose.hasNumbers() || !choose.maybe("loop.exit", 15))
    return;
  Formula iteration = Formula::symbol("$ARG_" + axis);
  Formula place = numbers.empty() ? iteration : iteration + anyNumber();
  append({.kind = OpKind::exit, .formula = Formula::of(FormulaKind::lt, {place, choose.between(0, 3)})});
}

void Builder::loopOver(const std::string &axis) {
  Op loop{.kind = OpKind::iterate, .word = axis};
  chooseCount(loop);
  size_t count = choose.among({{"carried.1", 50}, {"carried.2", 25}, {"carried.3", 10}, {"carried.0", 15}});
  count = count == 3 ? 0 : count + 1;
  Dims candidates = parallel;
  for (size_t i = 0; i < count; ++i) {
    Dims dims = chooseSubset(candidates, 1);
    if (choose.maybe("carried.tile", 8))
      dims = unionOf(dims, {axis});
    Element element = chooseArithmetic();
    auto fits = [&](int each) { return isArithmetic(type(each).element) && !type(each).dims.empty(); };
    bool fromPool = choose.maybe("carried.from-pool", 25) && std::ranges::any_of(pool, fits);
    loop.operands.push_back(fromPool ? valueWhere(fits, element)
                                     : fill(dims, element, static_cast<double>(choose.between(0, 2))));
  }
  std::set<std::string> features = choose.take();
  Block body, *outer = block;
  auto outerNames = std::pair(pool, numbers);
  block = &body;
  loops.push_back(axis);
  ++depth;
  for (int init : loop.operands) {
    body.arguments.push_back(addValue(type(init), {INFINITY, false}));
    pool.push_back(body.arguments.back());
  }
  if (wants({"loop.nested", "loop.nested-same"}))
    stepLoop();
  for (int64_t i = choose.between(count ? 0 : 1, 2); i > 0; --i)
    step();
  std::vector<Known> after(count);
  for (size_t i = 0; i < count; ++i)
    body.yields.push_back(nextCarried(body.arguments[i], loop.operands[i], axis, after[i]));
  if (count >= 2 && type(body.yields[0]) == type(body.yields[1]) && choose.maybe("carry.swapped", 25)) {
    std::swap(body.yields[0], body.yields[1]);
    after[0] = after[1] = {INFINITY, false};
  }
  if (count == 0 || choose.maybe("loop.writes", 20))
    writeOut(anyValue());
  if (choose.isWhole() && choose.chance(25))
    atomicOut(anyValue());
  chooseExit(axis);
  --depth;
  loops.pop_back();
  block = outer;
  std::tie(pool, numbers) = std::move(outerNames);
  for (size_t i = 0; loop.formula && i < count; ++i) { // it may not run at all
    Known before = knownOf(loop.operands[i]);
    after[i] = {std::max(after[i].bound, before.bound), after[i].exact && before.exact};
  }
  loop.blocks.push_back(std::move(body));
  for (size_t i = 0; i < count; ++i) {
    loop.results.push_back(addValue(type(loop.operands[i]), after[i]));
    pool.push_back(loop.results.back());
  }
  for (const std::string &feature : features)
    choose.note(feature);
  append(std::move(loop));
}

//===-- Branches --------------------------------------------------------------------------------===//

Formula Builder::chooseCondition() {
  if (!numbers.empty() && choose.maybe("number.branch", 45))
    return choose.chance(50) ? Formula::of(FormulaKind::lt, {anyNumber(), choose.between(0, 3)})
                             : Formula::of(FormulaKind::eq, {mod(anyNumber(), 2), 0});
  std::vector<Formula> places;
  if (program.reorderings.empty() && !program.grid)
    for (const WorkgroupConstraint &each : program.workgroups)
      places.push_back(Formula::symbol("$WG" + std::to_string(each.workgroupDim)));
  if (Dims named = namedLoops(); !named.empty()) {
    places.push_back(Formula::symbol("$ARG_" + named.back()));
    places.push_back(Formula::symbol("$ARG_" + named.front()));
  }
  if (places.empty() || choose.maybe("condition.size", 20))
    return Formula::of(FormulaKind::le, {choose.between(1, 40), Formula::symbol(choose.from(program.dims).name)});
  Formula place = choose.from(places);
  choose.note(place.name.starts_with("$WG") ? "condition.workgroup" : "condition.iteration");
  return choose.chance(50) ? Formula::of(FormulaKind::lt, {place, choose.between(0, 2)})
                           : Formula::of(FormulaKind::eq, {mod(place, 2), 0});
}

void Builder::stepConditional() {
  if (!choose.maybe("conditional", 100))
    return;
  int value = valueWhere([&](int each) { return isArithmetic(type(each).element); }, Element::f32);
  const ValueType shape = type(value);
  int other = partnerFor(value);
  Op op{.kind = OpKind::conditional, .formula = chooseCondition()};
  std::set<std::string> features = choose.take();
  bool writes = choose.maybe("conditional.writes", 15);
  for (int side = 0; side < 2; ++side) {
    Block body, *outer = block;
    auto outerNames = std::pair(pool, numbers);
    block = &body;
    bool fits = unionOf(shape.dims, type(other).dims).size() == shape.dims.size();
    int result = side == 0 && fits   ? binary(choose.chance(50) ? "add" : "max", value, other)
                 : choose.chance(50) ? unary("neg", value)
                                     : value;
    if (side == 0 && writes)
      writeOut(result);
    body.yields = {result};
    block = outer;
    std::tie(pool, numbers) = std::move(outerNames);
    op.blocks.push_back(std::move(body));
  }
  Known a = knownOf(op.blocks[0].yields[0]), b = knownOf(op.blocks[1].yields[0]);
  for (const std::string &feature : features)
    choose.note(feature);
  emit(std::move(op), shape, {std::max(a.bound, b.bound), a.exact && b.exact});
}

//===-- Matrix products -------------------------------------------------------------------------===//

Element Builder::matrixAccumulator() const {
  return matrixType == Element::i8 ? Element::i32 : matrixType == Element::f64 ? Element::f64 : Element::f32;
}

int64_t Builder::waveTileOf(const std::string &dim) const {
  for (const WaveConstraint &each : program.waves)
    if (each.dim == dim)
      return each.tile;
  return tileOf(program, dim);
}

/// A matrix instruction that all targets have, by name, of those that fit the tiles.
std::string Builder::chooseMmaKind(const Dims &outer, const std::string &contracted) {
  struct Kind {
    const char *name;
    int64_t side, depth;
  };
  static const std::vector<Kind> kHalf = {{"F32_16x16x16_F16", 16, 16}, {"F32_32x32x8_F16", 32, 8}},
                                 kByte = {{"I32_16x16x32_I8", 16, 32}}, kSmall = {{"F32_16x16x32_F8", 16, 32}};
  bool isHalf = matrixType == Element::f16 || matrixType == Element::bf16;
  std::vector<Kind> kinds = isHalf                                           ? kHalf
                            : matrixType == Element::i8                      ? kByte
                            : isFloat(matrixType) && bitsOf(matrixType) == 8 ? kSmall
                                                                             : std::vector<Kind>();
  std::erase_if(kinds, [&](const Kind &kind) {
    return waveTileOf(outer.back()) % kind.side != 0 || waveTileOf(outer[outer.size() - 2]) % kind.side != 0 ||
           tileOf(program, contracted) % kind.depth != 0;
  });
  if (!choose.isSteered() || kinds.empty() || !choose.maybe("mma.named", 15))
    return {};
  return choose.from(kinds).name;
}

/// 2·n·u·Σ|a||b|: how far two sums of the products may lie apart.
double Builder::slackOfProduct(const std::string &contracted) const {
  auto count = static_cast<double>(std::max(program.findDim(contracted)->size, tileOf(program, contracted)));
  return 2 * count * std::ldexp(1.0, -formatOf(matrixAccumulator()).fractionBits - 1) * count;
}

int Builder::mmaOperand(const Dims &dims, Element element, double bound) {
  if (realProduct) {
    int value = readFresh(dims, element, true);
    program.memories[static_cast<size_t>(block->ops.back().memory)].data = Data::reals;
    known[static_cast<size_t>(value)] = {1, false};
    return value;
  }
  bool plain = choose.chance(65);
  int value = -1;
  static const std::vector<Element> kPacked = {Element::i8, Element::f32, Element::bf16};
  if (isFloat(element) && bitsOf(element) >= 16 && choose.maybe("mma.operand-cast", 12))
    value = cast(readFresh(dims, choose.from(kPacked), plain), element);
  else
    value = readFresh(dims, element, plain);
  if (isArithmetic(element) && bitsOf(element) >= 16 && choose.maybe("mma.operand-arithmetic", 10))
    value = unary("neg", value);
  return knownOf(value).bound > bound || !knownOf(value).exact ? clampTo(value, bound) : value;
}

/// Elements from -3 to 3 in blocks whose scales are 1 or 2: every format has them, and all sums are exact.
int Builder::scaledContract(const Dims &left, const Dims &right, int acc) {
  auto blocks = [](Dims dims) {
    dims.back() += "/32";
    return dims;
  };
  int a = readForProduct(left, matrixType, -3, 3), b = readForProduct(right, rightType.value_or(matrixType), -3, 3);
  int scaleA = readForProduct(blocks(left), Element::f8e8m0fnu, 1, 2);
  int scaleB = readForProduct(blocks(right), Element::f8e8m0fnu, 1, 2);
  const std::string &contracted = left.back();
  double depth = static_cast<double>(tileOf(program, contracted)) *
                 (isLooped(contracted) ? std::max(1.0, tripsOf(program, contracted)) : 1);
  return emit({.kind = OpKind::mma, .operands = {a, b, acc, scaleA, scaleB}}, type(acc),
              clipped(matrixAccumulator(), depth * 36, true));
}

/// acc + lhs · rhs over one tile of the contracted dimension; the left operand is read where there is none.
int Builder::contract(const Dims &outer, const std::string &contracted, int acc, int lhs) {
  Dims left(outer.begin(), outer.end() - 2), right = left;
  left.push_back(outer[outer.size() - 2]);
  left.push_back(contracted);
  right.push_back(outer.back());
  right.push_back(contracted);
  if (scaledProduct)
    return scaledContract(left, right, acc);
  int a = lhs >= 0 ? lhs : mmaOperand(left, matrixType, 3), b = mmaOperand(right, matrixType, 3);
  double depth = static_cast<double>(tileOf(program, contracted)) *
                 (isLooped(contracted) ? std::max(1.0, tripsOf(program, contracted)) : 1);
  return emit({.kind = OpKind::mma, .operands = {a, b, acc}, .word = chooseMmaKind(outer, contracted)},
              {outer, matrixAccumulator()},
              clipped(matrixAccumulator(), depth * knownOf(a).bound * knownOf(b).bound, !realProduct));
}

int Builder::matrixProduct(const Dims &outer, const std::string &contracted, int lhs) {
  int zero = fill(outer, matrixAccumulator(), 0);
  if (!isLooped(contracted) || std::ranges::count(loops, contracted))
    return contract(outer, contracted, zero, lhs);
  Op loop{.kind = OpKind::iterate, .operands = {zero}, .word = contracted};
  bool more = choose.maybe("mma.carried-more", 20);
  if (more)
    loop.operands.push_back(fill(chooseSubset(Dims(outer.begin(), outer.end()), 1), Element::f32, 0));
  Block body, *around = block;
  auto outerNames = std::pair(pool, numbers);
  block = &body;
  loops.push_back(contracted);
  ++depth;
  std::vector<Known> after(loop.operands.size());
  for (int init : loop.operands)
    body.arguments.push_back(addValue(type(init), {INFINITY, false}));
  int product = contract(outer, contracted, body.arguments[0], lhs);
  body.yields = {product};
  after[0] = knownOf(product);
  if (more)
    body.yields.push_back(nextCarried(body.arguments[1], loop.operands[1], contracted, after[1]));
  if (choose.chance(15))
    step();
  --depth;
  loops.pop_back();
  block = around;
  std::tie(pool, numbers) = std::move(outerNames);
  loop.blocks.push_back(std::move(body));
  for (size_t i = 0; i < loop.operands.size(); ++i) {
    loop.results.push_back(addValue(type(loop.operands[i]), after[i]));
    pool.push_back(loop.results.back());
  }
  int result = loop.results[0];
  choose.note("loop");
  if (!loops.empty())
    choose.note("loop.nested");
  append(std::move(loop));
  return result;
}

/// Two products with arithmetic between: what the second sums over are the columns of the first.
void Builder::attention() {
  Dims batch;
  for (const std::string &each : parallel)
    if (each == "B" || each == "H")
      batch.push_back(each);
  auto with = [&](const std::string &row, const std::string &column) { return unionOf(batch, {row, column}); };
  bool three = program.findDim("E") != nullptr;
  Dims outer = with("M", "D");
  int zero = fill(outer, matrixAccumulator(), 0);
  auto oneTile = [&](int acc) {
    int scores = matrixProduct(with("M", "N"), "K", -1);
    if (choose.maybe("mma.between", 60)) {
      Dims rows = batch;
      rows.push_back("M");
      int row = readFresh(rows, matrixAccumulator(), true);
      scores = binary(choose.chance(50) ? "add" : "max", scores, row);
    }
    int limited = clampTo(scores, 4);
    int probabilities = matrixType == matrixAccumulator() ? limited : cast(limited, matrixType);
    return contract(outer, "N", acc, probabilities);
  };
  int result = -1;
  if (!isLooped("N")) {
    result = oneTile(zero);
  } else {
    Op loop{.kind = OpKind::iterate, .operands = {zero}, .word = "N"};
    Block body, *around = block;
    auto outerNames = std::pair(pool, numbers);
    block = &body;
    loops.push_back("N");
    ++depth;
    body.arguments = {addValue(type(zero), {INFINITY, false})};
    body.yields = {oneTile(body.arguments[0])};
    Known after = knownOf(body.yields[0]);
    --depth;
    loops.pop_back();
    block = around;
    std::tie(pool, numbers) = std::move(outerNames);
    loop.blocks.push_back(std::move(body));
    choose.note("loop");
    result = emit(std::move(loop), type(zero), after);
  }
  if (!three)
    return;
  int limited = clampTo(result, 4);
  matrixProduct(with("M", "E"), "D", matrixType == matrixAccumulator() ? limited : cast(limited, matrixType));
}

//===-- The whole body ----------------------------------------------------------------------------===//

void Builder::chooseMatrixBody() {
  if (program.findDim("D"))
    return attention();
  Dims outer;
  for (const std::string &each : parallel)
    if (each == "B" || each == "H")
      outer.push_back(each);
  outer.push_back("M");
  outer.push_back("N");
  bool rounds = matrixType == Element::f16 || matrixType == Element::bf16 || matrixType == Element::f64;
  realProduct = choose.isSteered() && rounds && choose.maybe("data.real", 15);
  int result = matrixProduct(outer, "K", -1);
  if (!realProduct)
    return;
  choose.note("data.real");
  writeOut(result, 0, slackOfProduct("K"));
  pool.clear();
  realProduct = false;
}

void Builder::chooseBody() {
  program.features = choose.take();
  if (usesMatrix) {
    chooseMatrixBody();
    int result = pool.empty() ? -1 : pool.back();
    for (int64_t i = choose.between(0, 3); i > 0; --i)
      step();
    if (result >= 0)
      writeOut(result);
  } else {
    for (int64_t i = choose.between(1, 2); i > 0; --i)
      readFresh(readableDims(), chooseElement(), false, /*mayBeReal=*/true);
    for (int64_t i = choose.between(choose.isSteered() ? 2 : 0, 7); i > 0; --i)
      step();
  }
  if (program.grid.value_or(1) > 1)
    stepPersistent();
  if (program.threads)
    stepLanes();
  std::set<int> written;
  for (int64_t i = choose.between(1, choose.isSteered() ? 4 : 2); i > 0 && !pool.empty(); --i)
    if (int value = pool.back() == anyValue() ? pool.back() : anyValue(); written.insert(value).second)
      writeOut(value);
  bool meets = choose.hasEverything() && wants({"atomic.cas", "atomic.exchange", "atomic.scatter-add"});
  if (choose.isWhole() && (meets || choose.isWanted("atomic.add") || choose.chance(25)))
    atomicOut(anyValue());
  bool writes = false;
  forEachOp(program.body, [&](const Op &op) {
    writes |= op.kind == OpKind::write && program.memories[static_cast<size_t>(op.memory)].data == Data::output;
  });
  mustWrite = !writes; // every value was too large
  if (mustWrite)
    writeOut(readFresh({parallel.front()}, Element::f32, true));
  choose.take();
}

void Builder::chooseSchedule() {
  bool hasLoop = false, hasShared = false, isTimed = true;
  forEachOp(program.body, [&](const Op &op) {
    hasLoop |= op.kind == OpKind::iterate;
    if (op.kind == OpKind::iterate) // what takes numbers in its iterations keeps the program's order
      forEachOp(op.blocks[0],
                [&](const Op &inner) { isTimed &= inner.kind != OpKind::indexOf && inner.kind != OpKind::exit; });
    hasShared |= op.kind == OpKind::read && program.memories[static_cast<size_t>(op.memory)].shared;
  });
  static const char *const kNames[] = {"none", "prefetch", "four_stage", "list", "modulo", "exact"};
  if (hasLoop && isTimed)
    program.schedule = kNames[choose.among({{"schedule.none", 55},
                                            {"schedule.prefetch", 12},
                                            {"schedule.four_stage", 8},
                                            {"schedule.list", 8},
                                            {"schedule.modulo", 14},
                                            {"schedule.exact", 3}})];
  program.directCopies = hasShared && choose.maybe("direct-copies", 20);
}

Program Builder::finish() {
  std::set<std::string> late = choose.take();
  prune(program);
  program.features.insert(late.begin(), late.end());
  forEachOp(program.body, [&](const Op &op) { program.features.insert(op.features.begin(), op.features.end()); });
  // Sixteen elements of six bits are an access of twelve bytes, which sm_90a does not have.
  if (choose.isSteered() &&
      std::ranges::any_of(program.memories, [](const Memory &each) { return bitsOf(each.type) == 6; }))
    std::erase(program.targets, "sm_90a");
  int outputs = 0;
  for (const Memory &memory : program.memories)
    outputs += memory.isParameter && memory.data == Data::output;
  if (outputs > 1)
    program.features.insert("outputs.several");
  if (std::ranges::count(program.body.ops, OpKind::iterate, &Op::kind) > 1)
    program.features.insert("loop.sequential");
  bool several = !program.grid && !program.workgroups.empty();
  for (const WorkgroupConstraint &each : program.workgroups)
    several &= countOf(each) > 1;
  if (several)
    program.features.insert("grid.every-dimension");
  std::erase_if(program.features,
                [](const std::string &each) { return each.starts_with("parallel.") || each.starts_with("serial."); });
  return std::move(program);
}

} // namespace soliton::generate
