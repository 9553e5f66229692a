//===- BuildMoves.cpp - Tiles that change their dimensions, and bits under another type ---------===//
//
// What moves elements has a dimension of its own to move them to, which one workgroup holds whole:
//
//   slice(x, N, P0, {.start = 1})      [M, N] -> [M, P0]          topk(x, T1, N)     [M, N] -> [M, T1]
//
//===----------------------------------------------------------------------===//
#include "test/generate/Build.h"

#include <cmath>

namespace soliton::generate {

/// What goes through shared memory has at most this many elements.
static constexpr int64_t kMostMoved = 2048;

static Formula indexOf(size_t k) {
  return Formula::symbol("$index" + std::to_string(k));
}

std::string Builder::ownDim(const std::string &kind, int64_t size) {
  std::string name = kind + std::to_string(program.dims.size());
  program.dims.push_back({.name = name, .size = size, .own = true});
  return name;
}

void Builder::stepMove() {
  static const std::vector<std::string> kFeatures = {"moved.slice",       "moved.extract", "moved.reshape",
                                                     "moved.concatenate", "rows.topk",     "bitcast.same"};
  void (Builder::*const steps[])() = {&Builder::stepSlice,       &Builder::stepExtract, &Builder::stepReshape,
                                      &Builder::stepConcatenate, &Builder::stepTopk,    &Builder::stepBitcast};
  std::vector<size_t> fit;
  for (size_t i = 0; i < kFeatures.size(); ++i)
    if (choose.isWanted(kFeatures[i]) || (i == 5 && choose.isWanted("bitcast.width")))
      fit.push_back(i);
  size_t chosen = fit.empty() || choose.chance(30) ? choose.below(kFeatures.size()) : choose.from(fit);
  (this->*steps[chosen])();
}

int Builder::sliceOf(int value, const std::string &along, const std::string &into) {
  ValueType result = type(value);
  Op op{.kind = OpKind::rearrange, .operands = {value}};
  op.indices.emplace();
  for (size_t k = 0; k < result.dims.size(); ++k)
    op.indices->push_back(indexOf(k));
  auto d = static_cast<size_t>(std::ranges::find(result.dims, along) - result.dims.begin());
  Formula start = !numbers.empty() && choose.chance(40) ? anyNumber() : Formula(choose.between(-1, 3));
  (*op.indices)[d] = start + Formula(choose.between(1, 2)) * indexOf(d);
  result.dims[d] = into;
  return emit(std::move(op), result, knownOf(value));
}

void Builder::stepSlice() {
  int value = smallValue();
  if (value < 0 || !choose.maybe("moved.slice", 100))
    return;
  std::string along = choose.from(type(value).dims);
  int64_t extent = tileOf(program, along);
  sliceOf(value, along, ownDim("P", choose.between(1, std::min<int64_t>(extent + 1, 16))));
}

void Builder::stepExtract() {
  int value = smallValue();
  if (!ofLanes && choose.chance(choose.isWanted("number.extracted") ? 80 : 15)) // a row of whole numbers
    value = readFresh({choose.from(parallel)}, choose.chance(50) ? Element::i32 : Element::i16, /*plain=*/true);
  if (value < 0 || elementsOf(type(value).dims) > kMostMoved || !choose.maybe("moved.extract", 100))
    return;
  ValueType result = type(value);
  size_t d = choose.below(result.dims.size());
  int64_t extent = tileOf(program, result.dims[d]);
  Op op{.kind = OpKind::rearrange, .operands = {value}};
  op.indices.emplace();
  for (size_t k = 0; k < result.dims.size(); ++k)
    op.indices->push_back(indexOf(k - (k > d ? 1 : 0)));
  (*op.indices)[d] = !numbers.empty() && choose.chance(40) ? anyNumber() : Formula(choose.between(0, extent));
  result.dims.erase(result.dims.begin() + static_cast<ptrdiff_t>(d));
  int extracted = emit(std::move(op), result, knownOf(value));
  if (!result.dims.empty())
    return;
  // What has no dimensions is a number, if it is a whole one.
  pool.pop_back();
  if (!isFloat(result.element) && knownOf(value).exact && knownOf(value).bound <= 100 &&
      choose.maybe("number.extracted", 100)) {
    takeNumber(extracted);
    Op op{.kind = OpKind::conditional, .formula = Formula::of(FormulaKind::lt, {0, Formula::symbol(numbers.back())})};
    op.blocks.push_back(inBlock([&](Block &) { writeOut(anyValue()); }));
    block->ops.push_back(std::move(op));
  }
}

void Builder::stepReshape() {
  int value = smallValue();
  if (value < 0 || !choose.maybe("moved.reshape", 100))
    return;
  ValueType result = type(value);
  int64_t last = tileOf(program, result.dims.back());
  // How many lanes a wave has is the target's, but not how many a workgroup has.
  bool hasLanes = std::ranges::count(result.dims, kLanes) || std::ranges::count(result.dims, kWaves);
  if (hasLanes && result.dims != Dims{kWaves, kLanes})
    return;
  if (result.dims.size() > 1 && (hasLanes || choose.chance(60))) { // the last two as one
    last *= tileOf(program, result.dims[result.dims.size() - 2]);
    result.dims.resize(result.dims.size() - 2);
    result.dims.push_back(ownDim("R", last));
  } else { // the last one as two
    int64_t part = last % 4 == 0 ? 4 : last % 2 == 0 ? 2 : last % 3 == 0 ? 3 : 1;
    result.dims.back() = ownDim("R", last / part);
    result.dims.push_back(ownDim("R", part));
  }
  emit({.kind = OpKind::rearrange, .operands = {value}}, result, knownOf(value));
}

void Builder::stepConcatenate() {
  int value = smallValue();
  if (value < 0 || 2 * elementsOf(type(value).dims) > kMostMoved || !choose.maybe("moved.concatenate", 100))
    return;
  const ValueType shape = type(value);
  std::string along = choose.from(shape.dims);
  if (along == kWaves || along == kLanes) // pieces whose extents are the target's
    return;
  std::vector<int> alike;
  for (int each : pool)
    if (type(each) == shape)
      alike.push_back(each);
  Op op{.kind = OpKind::concatenate, .operands = {value, choose.from(alike)}, .along = {along, along}};
  if (choose.chance(50)) { // a piece along another dimension
    std::string into = ownDim("P", choose.between(1, 8));
    op.operands[1] = sliceOf(value, along, into);
    op.along[1] = into;
  }
  if (choose.chance(25)) {
    op.operands.push_back(value);
    op.along.push_back(along);
  }
  int64_t extent = 0;
  Known facts = knownOf(value);
  for (size_t i = 0; i < op.operands.size(); ++i) {
    extent += tileOf(program, op.along[i]);
    Known other = knownOf(op.operands[i]);
    facts = {std::max(facts.bound, other.bound), facts.exact && other.exact};
  }
  op.dim = ownDim("C", extent);
  ValueType result = shape;
  std::ranges::replace(result.dims, along, op.dim);
  emit(std::move(op), result, facts);
}

void Builder::stepTopk() {
  int keys = smallValue();
  if (keys < 0 || !choose.maybe("rows.topk", 100))
    return;
  Op op{.kind = OpKind::sort, .operands = {keys}, .word = choose.chance(30) ? "ascending" : "descending"};
  op.dim = choose.from(type(keys).dims);
  op.into = ownDim("T", choose.between(1, std::min<int64_t>(tileOf(program, op.dim) + 1, 8)));
  std::vector<int> payloads;
  for (int value : pool)
    if (type(value).dims == type(keys).dims && isArithmetic(type(value).element) && bitsOf(type(value).element) >= 8)
      payloads.push_back(value);
  if (choose.chance(60))
    op.operands.push_back(choose.from(payloads));
  for (int value : op.operands) {
    ValueType result = type(value);
    std::ranges::replace(result.dims, op.dim, op.into);
    op.results.push_back(addValue(result, knownOf(value)));
  }
  pool.insert(pool.end(), op.results.begin(), op.results.end());
  append(std::move(op));
}

//===-- Bits under another type --------------------------------------------------------------------===//

/// Of which NaN a NaN is, and of the sign of a zero that was computed, nothing is said: bits of floats are those that
/// were read, and what they become is written where it is a float.
void Builder::stepBitcast() {
  static const std::vector<std::pair<Element, Element>> kSame = {
      {Element::f32, Element::i32},      {Element::i32, Element::f32},   {Element::f16, Element::i16},
      {Element::i16, Element::bf16},     {Element::f64, Element::i64},   {Element::i64, Element::f64},
      {Element::f8e4m3fn, Element::i8},  {Element::i8, Element::f8e5m2}, {Element::bf16, Element::f16},
      {Element::f8e4m3fnuz, Element::i8}};
  static const std::vector<std::pair<Element, Element>> kWidths = {
      {Element::i8, Element::i32},      {Element::i16, Element::i32},     {Element::i32, Element::i64},
      {Element::f4e2m1fn, Element::i8}, {Element::i4, Element::i8},       {Element::i8, Element::i16},
      {Element::f16, Element::i32},     {Element::f8e4m3fn, Element::i32}};
  bool isWidth = choose.isWanted("bitcast.width") || choose.chance(40);
  if (isWidth && !ofLanes) {
    auto [narrow, wide] = choose.from(kWidths);
    return bitcastOfWidth(narrow, wide);
  }
  auto [from, to] = choose.from(kSame);
  if (!choose.maybe("bitcast.same", 100))
    return;
  int value = readFresh(readableDims(), from, /*plain=*/true);
  int bits = emit({.kind = OpKind::bitcast, .operands = {value}}, {type(value).dims, to}, {INFINITY, false});
  if (!isFloat(to))
    return;
  std::erase(pool, bits);
  writeOut(bits);
}

/// Groups of narrow elements along a dimension whose tiles are whole groups.
void Builder::bitcastOfWidth(Element narrow, Element wide) {
  int64_t group = bitsOf(wide) / bitsOf(narrow);
  Dims fit;
  for (const Dim &each : program.dims) {
    bool aligned = !each.own && !each.dynamic && each.size % group == 0 && waveTileOf(each.name) % group == 0 &&
                   tileOf(program, each.name) % group == 0 && each.name != "U";
    for (const WorkgroupConstraint &constraint : program.workgroups)
      aligned &= constraint.dim != each.name || !constraint.apply;
    for (const TilingConstraint &constraint : program.tilings)
      aligned &= constraint.dim != each.name || (!constraint.start && std::ranges::count(loops, each.name));
    for (const Alias &alias : program.aliases)
      aligned &= alias.source != each.name && alias.target != each.name;
    if (aligned)
      fit.push_back(each.name);
  }
  if (fit.empty() || !choose.maybe("bitcast.width", 100))
    return;
  std::string along = choose.from(fit);
  Dims dims = readableDims();
  std::erase(dims, along);
  dims.push_back(along);
  if (elementsOf(dims) > 4096)
    dims = {along};
  Dims groups = dims;
  groups.back() += "/" + std::to_string(group);
  bool apart = choose.chance(60); // wide ones are read
  int value = readFresh(apart ? groups : dims, apart ? wide : narrow, /*plain=*/true);
  std::erase(pool, value);
  int bits = emit({.kind = OpKind::bitcast, .operands = {value}},
                  apart ? ValueType{dims, narrow} : ValueType{groups, wide}, {INFINITY, false});
  std::erase(pool, bits);
  if (apart && !isFloat(narrow) && bitsOf(narrow) >= 8) {
    pool.push_back(bits);
    return;
  }
  // A tile of groups is written as it is: other phrases expect dimensions.
  std::vector<Formula> shape;
  bool covers = true;
  for (const std::string &each : requiredDims())
    covers &= std::ranges::count(dims, each) > 0;
  if (!covers || mask >= 0)
    return;
  const ValueType written = type(bits);
  for (const std::string &each : written.dims) {
    Groups counted = groupsOf(each);
    shape.push_back(counted.size > 1 ? floordiv(Formula::symbol(counted.base), counted.size)
                                     : Formula::symbol(counted.base));
  }
  if (!packsWhole(dims, written.element))
    return;
  Op op{.kind = OpKind::write, .operands = {bits}};
  ownPlace(op, written.dims, shape);
  op.memory = newMemory(shape, written.element, Data::output);
  append(std::move(op));
}

} // namespace soliton::generate
