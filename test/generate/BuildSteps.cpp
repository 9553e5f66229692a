//===- BuildSteps.cpp - Steps element by element, and reductions -------------------------------===//
#include "test/generate/Build.h"

#include <cmath>

namespace soliton::generate {

//===-- Values --------------------------------------------------------------------------------===//

int Builder::addValue(ValueType type, Known facts) {
  known.push_back(facts);
  return program.addValue(std::move(type));
}

int Builder::emit(Op op, ValueType type, Known facts) {
  splitsBytes |=
      op.kind == OpKind::read && bitsOf(type.element) == 4 && (op.indices || op.bounds || op.elementsPerThread);
  int value = addValue(std::move(type), facts);
  op.results = {value};
  append(std::move(op));
  pool.push_back(value);
  return value;
}

int64_t Builder::elementsOf(const Dims &dims) const {
  int64_t count = 1;
  for (const std::string &each : dims)
    count *= tileOf(program, each);
  return count;
}

Builder::Dims Builder::chooseSubset(const Dims &dims, size_t least) {
  Dims all = dims, chosen;
  choose.shuffle(all);
  size_t count = std::min(all.size(), least + choose.below(all.size() - least + 1));
  // Larger tiles are more interesting than smaller ones.
  if (count < all.size() && choose.chance(40))
    ++count;
  all.resize(count);
  if (choose.chance(60)) { // in the order of the program
    for (const std::string &each : dims)
      if (std::ranges::count(all, each))
        chosen.push_back(each);
    return chosen;
  }
  return all;
}

Builder::Dims Builder::unionOf(const Dims &a, const Dims &b) {
  Dims all = a;
  for (const std::string &each : b)
    if (!std::ranges::count(all, each))
      all.push_back(each);
  return all;
}

Known Builder::clipped(Element type, double bound, bool exact) const {
  bool holds = exact && bound <= exactLimit(type);
  return {holds ? bound : INFINITY, holds};
}

int Builder::anyValue() {
  return pool.empty() ? readFresh(readableDims(), chooseElement())
                      : pool[std::max(choose.below(pool.size()), choose.below(pool.size()))];
}

Element Builder::chooseElement() {
  static const std::vector<Choose::Weighted> kTypes = {
      {"type.f32", 30},     {"type.f16", 16},     {"type.bf16", 10},      {"type.f64", 4},    {"type.i32", 14},
      {"type.i64", 4},      {"type.i16", 4},      {"type.i8", 8},         {"type.i1", 5},     {"type.index", 3},
      {"type.i4", 4},       {"type.f8e4m3fn", 4}, {"type.f8e4m3fnuz", 3}, {"type.f8e5m2", 3}, {"type.f8e5m2fnuz", 3},
      {"type.f6e2m3fn", 3}, {"type.f4e2m1fn", 4}, {"type.f8e8m0fnu", 1}};
  static const std::vector<Element> kElementsOfTypes = {
      Element::f32,      Element::f16,      Element::bf16,       Element::f64,    Element::i32,
      Element::i64,      Element::i16,      Element::i8,         Element::i1,     Element::index,
      Element::i4,       Element::f8e4m3fn, Element::f8e4m3fnuz, Element::f8e5m2, Element::f8e5m2fnuz,
      Element::f6e2m3fn, Element::f4e2m1fn, Element::f8e8m0fnu};
  if (!choose.hasStrides())
    return kElementsOfTypes[choose.among(kTypes)];
  std::vector<Choose::Weighted> types = kTypes;
  types.push_back({"type.f6e3m2fn", 3});
  size_t chosen = choose.among(types);
  return chosen == kTypes.size() ? Element::f6e3m2fn : kElementsOfTypes[chosen];
}

bool Builder::isArithmetic(Element type) const {
  if (type == Element::i1 || type == Element::f8e8m0fnu)
    return false;
  return bitsOf(type) >= 16 || type == Element::i8 || choose.mayUse("arithmetic.small");
}

Element Builder::chooseArithmetic() {
  for (int attempt = 0; attempt < 8; ++attempt)
    if (Element type = chooseElement(); isArithmetic(type))
      return type;
  return Element::f32;
}

//===-- Element by element --------------------------------------------------------------------===//

int Builder::fill(const Dims &dims, Element type, double number) {
  return emit({.kind = OpKind::fill, .number = number}, {dims, type}, clipped(type, std::fabs(number), true));
}

int Builder::unary(const std::string &word, int value) {
  Known facts = knownOf(value);
  if (word == "logical_not")
    facts = clipped(type(value).element, facts.bound + 1, facts.exact);
  return emit({.kind = OpKind::unary, .operands = {value}, .word = word}, type(value), facts);
}

int Builder::binary(const std::string &word, int a, int b) {
  Known x = knownOf(a), y = knownOf(b);
  double bound = word == "mul"                    ? x.bound * y.bound
                 : word == "max" || word == "min" ? std::max(x.bound, y.bound)
                                                  : x.bound + y.bound;
  if (bitsOf(type(a).element) < 16)
    choose.note("arithmetic.small");
  return emit({.kind = OpKind::binary, .operands = {a, b}, .word = word},
              {unionOf(type(a).dims, type(b).dims), type(a).element},
              clipped(type(a).element, bound, x.exact && y.exact));
}

int Builder::cast(int value, Element to) {
  Known facts = knownOf(value);
  bool keeps = facts.exact && facts.bound <= exactLimit(to);
  return emit({.kind = OpKind::cast, .operands = {value}}, {type(value).dims, to},
              {keeps ? facts.bound : INFINITY, keeps});
}

int Builder::clampTo(int value, double limit) {
  const ValueType shape = type(value);
  int high = binary("min", value, fill(shape.dims, shape.element, limit));
  int both = binary("max", high, fill(shape.dims, shape.element, -limit));
  if (knownOf(value).exact)
    known[static_cast<size_t>(both)] = {std::min(limit, knownOf(value).bound), true};
  return both;
}

/// Another value of the same element type that an op may take together with this one.
int Builder::partnerFor(int value) {
  Element element = type(value).element;
  auto fits = [&](int other) {
    return type(other).element == element && elementsOf(unionOf(type(value).dims, type(other).dims)) <= 8192;
  };
  std::vector<int> fit;
  for (int other : pool)
    if (fits(other))
      fit.push_back(other);
  if (!fit.empty() && choose.chance(60))
    return choose.from(fit);
  Dims dims = chooseSubset(type(value).dims, 1);
  if (choose.chance(25))
    return fill(dims, element, static_cast<double>(choose.between(isFloat(element) ? -3 : 1, 3)));
  return readFresh(dims, element, false, /*mayBeReal=*/true);
}

void Builder::step() {
  struct Row {
    unsigned weight;
    void (Builder::*make)();
    /// What it is taken for where that is wanted.
    std::vector<std::string> features;
  };
  if (choose.hasEverything() && choose.chance(choose.hasStrides() ? 50 : 40) && stepEverything())
    return;
  bool isWanted = choose.isWanted("rows.sort") || choose.isWanted("rows.moved");
  if (choose.hasRows() && choose.chance(isWanted ? 55 : 25))
    return choose.chance(50) ? stepSort() : stepRearrange();
  static const std::vector<Row> kRows = {
      {10, &Builder::stepUnary, {"unary.abs"}},
      {18, &Builder::stepBinary, {"binary.add"}},
      {5, &Builder::stepDivision, {}},
      {5, &Builder::stepBits, {}},
      {10, &Builder::stepSelect, {"select"}},
      {10, &Builder::stepCast, {"cast"}},
      {5, &Builder::stepBroadcast, {"broadcast"}},
      {5, &Builder::stepPermute, {"permute"}},
      {7, &Builder::stepIndex, {"self_index"}},
      {7, &Builder::stepApply, {"apply_expr"}},
      {10, &Builder::stepReduce, {"reduce.sum", "reduce.prod", "reduce.scan.sum", "reduce.argmax"}},
      {4, &Builder::stepSplat, {"scalar"}},
      {6, &Builder::stepSharedTile, {"shared.author", "barrier.author", "wait.author"}},
      {4, &Builder::stepRoundTrip, {"memory.written-and-read", "barrier.author"}},
      {3, &Builder::stepInPlace, {"memory.in-place"}},
      {12, &Builder::stepLoop, {"loop", "loop.nested", "loop.nested-same", "loop.sequential", "carried.2"}},
      {6, &Builder::stepConditional, {"conditional"}},
      {4, &Builder::stepFunction, {"function.exp"}}};
  if (choose.hasNumbers() && choose.chance(numbers.empty() ? 30 : 8))
    stepNumber();
  std::vector<size_t> fit;
  for (size_t i = 0; choose.isSteered() && i < kRows.size(); ++i)
    if (std::ranges::any_of(kRows[i].features, [&](const std::string &each) { return choose.isWanted(each); }))
      fit.push_back(i);
  if (!fit.empty() && choose.chance(60))
    return (this->*kRows[choose.from(fit)].make)();
  unsigned total = 0;
  for (const Row &row : kRows)
    total += row.weight;
  auto drawn = static_cast<unsigned>(choose.below(total));
  for (const Row &row : kRows) {
    if (drawn < row.weight)
      return (this->*row.make)();
    drawn -= row.weight;
  }
}

void Builder::stepUnary() {
  int value = valueWhere([&](int each) { return isArithmetic(type(each).element); }, Element::f32);
  static const std::vector<std::string> kReal = {"abs", "neg", "floor", "ceil", "round", "roundeven"};
  static const std::vector<std::string> kWhole = {"abs", "neg", "logical_not"};
  std::string word = choose.from(isFloat(type(value).element) ? kReal : kWhole);
  if (choose.maybe("unary." + word, 100))
    unary(word, value);
}

void Builder::stepBinary() {
  int value = valueWhere([&](int each) { return isArithmetic(type(each).element); }, Element::f32);
  static const std::vector<std::string> kWords = {"add", "add", "sub", "mul", "max", "min"};
  std::string word = choose.from(kWords);
  if (!choose.maybe("binary." + word, 100))
    return;
  int other = partnerFor(value);
  if (type(value).dims != type(other).dims)
    choose.note("binary.broadcast");
  binary(word, value, other);
}

void Builder::stepDivision() {
  int value = valueWhere([&](int each) { return isArithmetic(type(each).element) && bitsOf(type(each).element) >= 8; },
                         Element::i32);
  const ValueType shape = type(value);
  bool real = isFloat(shape.element);
  static const std::vector<std::string> kWords = {"floordiv", "mod", "mod", "div"};
  std::string word = choose.from(kWords);
  // Only these have one right answer for every operand; a quotient of floats that is not rounded down has too.
  if ((real && !knownOf(value).exact) || !choose.maybe("binary." + word + (real ? ".real" : ".whole"), 100))
    return;
  double divisor = static_cast<double>(choose.from(std::vector<int64_t>{2, 3, 5, -2, -3, 7}));
  int other = fill(choose.chance(50) ? shape.dims : Dims{shape.dims.front()}, shape.element, divisor);
  Known facts = knownOf(value);
  if (word == "mod" && facts.exact)
    facts.bound = std::fabs(divisor);
  if (word == "div" && real)
    facts = {INFINITY, false};
  emit({.kind = OpKind::binary, .operands = {value, other}, .word = word}, shape, facts);
}

void Builder::stepBits() {
  int value = valueWhere([&](int each) { return !isFloat(type(each).element); }, Element::i32);
  int other = partnerFor(value);
  static const std::vector<std::string> kWords = {"bit_and", "bit_or", "bit_xor"};
  std::string word = choose.from(kWords);
  if (!choose.maybe("binary." + word, 100))
    return;
  double bound = 1, larger = std::max(knownOf(value).bound, knownOf(other).bound);
  while (bound <= larger && !std::isinf(larger))
    bound *= 2;
  emit({.kind = OpKind::binary, .operands = {value, other}, .word = word},
       {unionOf(type(value).dims, type(other).dims), type(value).element},
       clipped(type(value).element, bound, knownOf(value).exact && knownOf(other).exact));
}

void Builder::stepSelect() {
  int a = valueWhere([&](int each) { return isArithmetic(type(each).element); }, Element::f32), b = partnerFor(a);
  static const std::vector<std::string> kWords = {"eq", "ne", "lt", "le", "gt", "ge"};
  std::string word = choose.from(kWords);
  if (!choose.maybe("compare." + word, 100))
    return;
  Dims dims = unionOf(type(a).dims, type(b).dims);
  int less = emit({.kind = OpKind::compare, .operands = {a, b}, .word = word}, {dims, Element::i1}, {1, true});
  if (!choose.maybe("select", 75))
    return;
  int c = choose.chance(50) ? a : anyValue(), d = partnerFor(c);
  Dims all = unionOf(unionOf(dims, type(c).dims), type(d).dims);
  if (elementsOf(all) > 8192)
    return;
  emit({.kind = OpKind::select, .operands = {less, c, d}}, {all, type(c).element},
       clipped(type(c).element, std::max(knownOf(c).bound, knownOf(d).bound), knownOf(c).exact && knownOf(d).exact));
}

void Builder::stepCast() {
  int value = anyValue();
  Element from = type(value).element, to = chooseElement();
  if (from == Element::f8e8m0fnu || to == Element::f8e8m0fnu || from == to)
    return;
  // From float to integer only what the integer can hold has one right answer.
  if (isFloat(from) && !isFloat(to) &&
      (to == Element::i1 || !knownOf(value).exact || knownOf(value).bound > exactLimit(to)))
    return;
  std::string sorts = std::string(isFloat(from) ? "real" : "whole") + "-" + (isFloat(to) ? "real" : "whole");
  if (choose.maybe("cast." + sorts, 100) && choose.maybe(to == Element::i1 ? "cast.i1" : "cast", 100))
    cast(value, to);
}

void Builder::stepBroadcast() {
  int value = anyValue();
  Dims more = unionOf(type(value).dims, readableDims());
  if (more.size() == type(value).dims.size() || elementsOf(more) > 8192 || !choose.maybe("broadcast", 100))
    return;
  if (choose.chance(30))
    choose.shuffle(more);
  emit({.kind = OpKind::broadcast, .operands = {value}}, {more, type(value).element}, knownOf(value));
}

void Builder::stepPermute() {
  int value = anyValue();
  Dims dims = type(value).dims;
  choose.shuffle(dims);
  if (dims.size() > 1 && choose.maybe("permute", 100))
    emit({.kind = OpKind::permute, .operands = {value}}, {dims, type(value).element}, knownOf(value));
}

void Builder::stepIndex() {
  if (!choose.maybe("self_index", 100))
    return;
  std::string along = choose.from(readableDims());
  static const std::vector<Element> kTypes = {Element::i32, Element::i32, Element::i64, Element::index, Element::i16};
  emit({.kind = OpKind::selfIndex, .dim = along}, {{along}, choose.from(kTypes)}, {2000, true});
}

void Builder::stepApply() {
  auto fits = [&](int each) {
    return !isFloat(type(each).element) && type(each).element != Element::i1 && knownOf(each).exact &&
           knownOf(each).bound <= 1e6;
  };
  int value = valueWhere(fits, Element::i32);
  if (!fits(value) || !choose.maybe("apply_expr", 100))
    return;
  Formula x = Formula::symbol("$APPLY_EXPR_ARG_0"), y = Formula::symbol("$APPLY_EXPR_ARG_1");
  std::vector<int> operands = {value};
  Dims dims = type(value).dims;
  if (choose.maybe("apply_expr.two", 50)) {
    int other = partnerFor(value);
    // The first one has all dimensions.
    if (fits(other) && unionOf(dims, type(other).dims).size() == dims.size()) {
      operands.push_back(other);
      dims = unionOf(dims, type(other).dims);
    }
  }
  if (operands.size() == 1)
    y = Formula(choose.between(1, 4));
  static const std::vector<FormulaKind> kKinds = {FormulaKind::add, FormulaKind::min,      FormulaKind::max,
                                                  FormulaKind::mod, FormulaKind::floordiv, FormulaKind::select};
  FormulaKind kind = choose.from(kKinds);
  Formula formula = x + y;
  double bound = knownOf(value).bound + (operands.size() > 1 ? knownOf(operands[1]).bound : 4);
  if (kind == FormulaKind::mod || kind == FormulaKind::floordiv)
    formula = Formula::of(kind, {x * 2 - y, choose.between(2, 5)});
  else if (kind == FormulaKind::select)
    formula = Formula::of(kind, {Formula::of(FormulaKind::lt, {x, y}), x, y * 2});
  else
    formula = Formula::of(kind, {x, y});
  emit({.kind = OpKind::applyExpr, .operands = operands, .formula = formula}, {dims, type(value).element},
       clipped(type(value).element, 2 * bound + 5, true));
}

int Builder::reduce(const std::string &word, int value, const std::string &along, int init) {
  ValueType result = type(value);
  std::erase(result.dims, along);
  Known facts = knownOf(value);
  if (word == "sum")
    facts = clipped(result.element,
                    facts.bound * static_cast<double>(tileOf(program, along)) + (init >= 0 ? knownOf(init).bound : 0),
                    facts.exact && (init < 0 || knownOf(init).exact));
  else if (word == "any" || word == "all")
    facts = {1, true};
  else if (word == "prod" && facts.bound <= 1 && init < 0)
    facts = {1, facts.exact};
  else // of nothing it is the lowest number there is
    facts = {INFINITY, false};
  Op op{.kind = OpKind::reduce, .operands = {value}, .word = word, .dim = along};
  if (init >= 0)
    op.operands.push_back(init);
  return emit(std::move(op), result, facts);
}

/// Products of numbers that stay exact in any order, and truths.
void Builder::stepOtherReduce() {
  static const std::vector<std::string> kWords = {"prod", "prod", "any", "all"};
  std::string word = choose.from(kWords);
  bool ofTruths = word != "prod";
  auto fits = [&](int each) {
    Element element = type(each).element;
    return type(each).dims.size() > 1 &&
           (ofTruths ? element == Element::i1 : isArithmetic(element) && (!isFloat(element) || knownOf(each).exact));
  };
  int value = valueWhere(fits, ofTruths ? Element::i1 : Element::f32);
  if (!fits(value) || !choose.maybe("reduce." + word, 100))
    return;
  std::string along = choose.from(type(value).dims);
  choose.note(along == type(value).dims.back() ? "reduce.last" : "reduce.inner");
  if (isFloat(type(value).element) && knownOf(value).bound > 1)
    value = clampTo(value, 1);
  int result = reduce(word, value, along, -1);
  if (choose.hasEverything() && choose.chance(60))
    writeOut(result);
}

/// A running sum, product or extreme of a value, or one of the same that begins with another.
int Builder::scan(const std::string &word, int value, const std::string &along, int init) {
  Known facts = knownOf(value);
  if (word == "sum")
    facts = clipped(type(value).element,
                    facts.bound * static_cast<double>(tileOf(program, along)) + (init >= 0 ? knownOf(init).bound : 0),
                    facts.exact && (init < 0 || knownOf(init).exact));
  else if (word != "prod" || facts.bound > 1 || init >= 0)
    facts = {INFINITY, false};
  Op op{.kind = OpKind::scan, .operands = {value}, .word = word, .dim = along};
  if (init >= 0)
    op.operands.push_back(init);
  return emit(std::move(op), type(value), facts);
}

void Builder::stepScan() {
  int value =
      valueWhere([&](int each) { return isArithmetic(type(each).element) && !type(each).dims.empty(); }, Element::f32);
  const ValueType shape = type(value);
  std::string along = choose.from(shape.dims);
  Known facts = knownOf(value);
  double sum = facts.bound * static_cast<double>(tileOf(program, along));
  bool real = isFloat(shape.element);
  bool mayAdd = !real || (facts.exact && sum <= exactLimit(shape.element));
  std::string word = mayAdd && choose.chance(60) ? "sum" : choose.chance(50) ? "max" : "min";
  if ((!real || (facts.exact && facts.bound <= 1)) && choose.chance(20))
    word = "prod";
  if (!choose.maybe("reduce.scan." + word, 100))
    return;
  Dims rest = shape.dims;
  std::erase(rest, along);
  int init = -1;
  // Of sums and products of floats the bound would have to be counted.
  if ((!real || word == "max" || word == "min") && !rest.empty() && choose.chance(40))
    init = readFresh(rest, shape.element);
  scan(word, value, along, init);
}

/// Both results join the pool.
void Builder::argReduce(const std::string &word, int value, const std::string &along, std::vector<int> inits,
                        Element index) {
  Dims rest = type(value).dims;
  std::erase(rest, along);
  Op op{.kind = OpKind::argReduce, .operands = {value}, .word = word, .dim = along};
  op.operands.insert(op.operands.end(), inits.begin(), inits.end());
  // Of nothing both are as large as they can be.
  op.results = {addValue({rest, type(value).element}, {INFINITY, false}), addValue({rest, index}, {INFINITY, false})};
  pool.insert(pool.end(), op.results.begin(), op.results.end());
  append(std::move(op));
}

void Builder::stepArgReduce() {
  // It takes as many places as there are elements.
  auto fits = [&](int each) {
    return isArithmetic(type(each).element) && type(each).dims.size() > 1 && elementsOf(type(each).dims) <= 4096;
  };
  int value = valueWhere(fits, Element::f32);
  std::string word = choose.chance(50) ? "max" : "min";
  if (!fits(value) || !choose.maybe("reduce.arg" + word, 100))
    return;
  std::string along = choose.from(type(value).dims);
  Element index = choose.chance(75) ? Element::i32 : Element::i64;
  Dims rest = type(value).dims;
  std::erase(rest, along);
  std::vector<int> inits;
  if (choose.chance(30))
    inits = {readFresh(rest, type(value).element), readFresh(rest, index)};
  argReduce(word, value, along, inits, index);
  if (choose.hasEverything() && choose.chance(60))
    writeOut(pool.back());
}

void Builder::stepReduce() {
  if (choose.isWhole() && choose.chance(50)) {
    void (Builder::*const others[])() = {&Builder::stepOtherReduce, &Builder::stepScan, &Builder::stepScan,
                                         &Builder::stepArgReduce};
    return (this->*others[choose.below(4)])();
  }
  int value =
      valueWhere([&](int each) { return isArithmetic(type(each).element) && !type(each).dims.empty(); }, Element::f32);
  const ValueType shape = type(value);
  if (shape.dims.size() < 2)
    return;
  std::string along = choose.from(shape.dims);
  Known facts = knownOf(value);
  double sum = facts.bound * static_cast<double>(tileOf(program, along));
  bool mayAdd = !isFloat(shape.element) || (facts.exact && sum <= exactLimit(shape.element));
  std::string word = mayAdd && choose.chance(55) ? "sum" : choose.chance(50) ? "max" : "min";
  if (!choose.maybe("reduce." + word, 100))
    return;
  choose.note(along == shape.dims.back() ? "reduce.last" : "reduce.inner");
  reduce(word, value, along, -1);
}

void Builder::stepSplat() {
  if (!choose.maybe("scalar", 100))
    return;
  static const std::vector<Element> kTypes = {Element::f32, Element::i32, Element::f16, Element::i64};
  Scalar scalar{"x" + std::to_string(program.scalars.size()), choose.from(kTypes), choose.between(-3, 3)};
  program.scalars.push_back(scalar);
  emit({.kind = OpKind::splat, .memory = static_cast<int>(program.scalars.size()) - 1}, {readableDims(), scalar.type},
       {3, true});
}

/// Functions without an exact result go straight to memory, where units in the last place are allowed for.
void Builder::stepFunction() {
  static const std::vector<std::string> kWords = {"exp",        "exp2", "log", "log2", "log10", "sqrt", "rsqrt",
                                                  "reciprocal", "sin",  "cos", "sinh", "tanh",  "erf",  "cbrt"};
  static const std::vector<Element> kTypes = {Element::f32, Element::f32, Element::f16, Element::bf16};
  std::string word = choose.from(kWords);
  if (!choose.maybe("function." + word, 100))
    return;
  Element element = choose.from(kTypes);
  int value = valueWhere(
      [&](int each) { return type(each).element == element && knownOf(each).exact && knownOf(each).bound <= 16; },
      element);
  const ValueType shape = type(value);
  // From 1 on all of them are defined.
  int positive = binary("add", unary("abs", value), fill(shape.dims, element, 1));
  int result = emit({.kind = OpKind::unary, .operands = {positive}, .word = word}, shape, {INFINITY, false});
  std::erase(pool, result);
  writeOut(result, 16);
  std::erase_if(pool, [&](int each) { return each > positive; });
}

} // namespace soliton::generate
