//===- BuildAccess.cpp - Reads, writes, and memory that a kernel reads again -------------------===//
#include "test/generate/Build.h"

namespace soliton::generate {

/// A tile has at most this many elements.
static constexpr int64_t kMostTile = 8192;

static Formula indexOf(size_t k) {
  return Formula::symbol("$index" + std::to_string(k));
}
static Formula sizeSymbol(const std::string &dim) {
  Groups groups = groupsOf(dim);
  Formula base = Formula::symbol(groups.base);
  return groups.size > 1 ? floordiv(base, groups.size) : base;
}

int Builder::newMemory(std::vector<Formula> shape, Element type, Data data) {
  Memory memory;
  memory.name = "m" + std::to_string(program.memories.size());
  memory.shape = std::move(shape);
  memory.type = type;
  memory.data = data;
  chooseRange(memory);
  chooseStrides(memory);
  program.memories.push_back(std::move(memory));
  return static_cast<int>(program.memories.size()) - 1;
}

bool Builder::hasRoom(const std::vector<Formula> &shape) const {
  constexpr size_t kMostDims = 8;
  return shape.size() + (sharers() > 1 ? 1 : 0) < kMostDims;
}

void Builder::chooseRange(Memory &memory) {
  memory.low = -3;
  memory.high = 3;
  if (memory.type == Element::i1)
    memory.low = 0, memory.high = 1;
  else if (memory.type == Element::i4)
    memory.low = -8, memory.high = 7;
  else if (!isFloat(memory.type) && choose.chance(30))
    memory.low = -100, memory.high = 100;
}

/// Whether lanes can have whole bytes, or the twelve in which sixteen elements of 6 bits lie, along the last dimension;
/// what they cannot have is refused, which few kernels are to be.
bool Builder::packsWhole(const Dims &dims, Element type) const {
  if (bitsOf(type) % 8 == 0 || type == Element::i1)
    return true;
  const std::string &last = dims.back();
  int64_t group = bitsOf(type) == 4 ? 2 : 16;
  bool aligned = waveTileOf(last) % group == 0 && (group > 2 || !splitsBytes);
  if (group > 2)
    aligned &= !program.findDim(last)->dynamic && program.findDim(last)->size % group == 0;
  for (const WorkgroupConstraint &each : program.workgroups)
    aligned &= each.dim != last || !each.apply;
  for (const TilingConstraint &each : program.tilings)
    aligned &= each.dim != last || !each.start;
  return aligned;
}

/// A type that holds what the packed one does.
Element Builder::unpacked(Element type) const {
  return isFloat(type) ? Element::f16 : Element::i8;
}

//===-- Reading -------------------------------------------------------------------------------===//

Builder::Dims Builder::readableDims() {
  if (ofLanes)
    return {kWaves, kLanes};
  Dims here;
  for (const Dim &each : program.dims) {
    if (each.own)
      continue;
    bool outside = isLooped(each.name) && !std::ranges::count(loops, each.name);
    for (const Alias &alias : program.aliases)
      outside |= each.name == alias.source && isLooped(alias.target) && !std::ranges::count(loops, alias.target);
    if (each.name != "U" && (!outside || choose.maybe("read.first-tile", 5)))
      here.push_back(each.name);
  }
  Dims chosen = chooseSubset(here, 1);
  // Inside a loop most reads are about its axis, if that is a dimension.
  if (!loops.empty() && choose.chance(70) && !std::ranges::count(chosen, loops.back()) && isLooped(loops.back()))
    chosen.push_back(loops.back());
  while (chosen.size() > 1 && elementsOf(chosen) > kMostTile)
    chosen.pop_back();
  return chosen;
}

void Builder::gather(Op &op, const Dims &dims, std::vector<Formula> &shape) {
  size_t along = choose.below(dims.size());
  int64_t extent = choose.between(2, 9);
  Dims of = choose.chance(60) ? Dims{dims[along]} : Dims{choose.from(dims)};
  static const std::vector<Element> kTypes = {Element::i32, Element::i32, Element::i64, Element::index, Element::i16};
  Element type = choose.from(kTypes);
  std::vector<Formula> indexShape;
  for (const std::string &each : of)
    indexShape.push_back(sizeSymbol(each));
  int memory = newMemory(indexShape, type, Data::integers);
  bool outside = choose.maybe("read.gather.outside", 30);
  program.memories[static_cast<size_t>(memory)].low = outside ? -2 : 0;
  program.memories[static_cast<size_t>(memory)].high = outside ? extent + 1 : extent - 1;
  int value = emit({.kind = OpKind::read, .memory = memory}, {of, type}, {static_cast<double>(extent + 1), true});
  op.operands.push_back(value);
  Formula place = Formula::symbol("$dynamic_val0");
  if (choose.chance(25))
    place = place + mod(indexOf(along), 2);
  (*op.indices)[along] = place;
  shape[along] = extent;
}

//===-- Mappings ------------------------------------------------------------------------------===//

static std::vector<Formula> plainIndices(size_t count) {
  std::vector<Formula> indices;
  for (size_t k = 0; k < count; ++k)
    indices.push_back(indexOf(k));
  return indices;
}

/// The memory has the tile's dimensions in another order.
void Builder::permute(std::vector<Formula> &indices, const Dims &dims, std::vector<Formula> &shape) {
  std::vector<size_t> order;
  for (size_t k = 0; k < dims.size(); ++k)
    order.push_back(k);
  choose.shuffle(order);
  for (size_t k = 0; k < order.size(); ++k) {
    indices[k] = indexOf(order[k]);
    shape[k] = sizeSymbol(dims[order[k]]);
  }
}

/// The first two dimensions are one of the memory's.
static void merge(std::vector<Formula> &indices, const std::vector<std::string> &dims, std::vector<Formula> &shape) {
  if (dims.size() < 2)
    return;
  indices[0] = indices[0] * sizeSymbol(dims[1]) + indices[1];
  shape[0] = shape[0] * shape[1];
  indices.erase(indices.begin() + 1);
  shape.erase(shape.begin() + 1);
}

/// The d-th dimension is two of the memory's, the second of four elements.
static void split(std::vector<Formula> &indices, size_t d, const Formula &size, std::vector<Formula> &shape) {
  auto next = static_cast<ptrdiff_t>(d) + 1;
  shape[d] = ceildiv(size, 4);
  shape.insert(shape.begin() + next, 4);
  indices.insert(indices.begin() + next, mod(indices[d], 4));
  indices[d] = floordiv(indices[d], 4);
}

void Builder::mapRead(Op &op, const Dims &dims, std::vector<Formula> &shape) {
  size_t d = choose.below(dims.size());
  std::vector<Formula> indices = plainIndices(dims.size());
  Formula size = sizeSymbol(dims[d]);
  switch (choose.among({{"read.plain", 55},
                        {"read.permuted", 12},
                        {"read.offset", 8},
                        {"read.scaled", 5},
                        {"read.divided", 5},
                        {"read.wrapped", 6},
                        {"read.reversed", 5},
                        {"read.merged", 4},
                        {"read.split", 3},
                        {"read.constant", 3},
                        {"read.dropped", 4},
                        {"read.larger", 4},
                        {"read.gather", 8},
                        {"read.place", 4}})) {
  case 0:
    return;
  case 1:
    permute(indices, dims, shape);
    break;
  case 2:
    if (!numbers.empty() && choose.maybe("number.place", 50))
      indices[d] = indices[d] + anyNumber();
    else
      indices[d] = indices[d] + choose.from(std::vector<int64_t>{-3, -1, 1, 2});
    if (choose.chance(40))
      shape[d] = size + 2;
    break;
  case 3:
    indices[d] = indices[d] * 2 + choose.between(0, 1);
    if (choose.chance(60))
      shape[d] = size * 2;
    break;
  case 4:
    indices[d] = floordiv(indices[d], 2);
    shape[d] = ceildiv(size, 2);
    break;
  case 5: {
    int64_t extent = choose.between(1, 16);
    indices[d] = mod(indices[d] + choose.between(0, 3), extent);
    shape[d] = extent;
    break;
  }
  case 6:
    indices[d] = size - 1 - indices[d];
    break;
  case 7:
    merge(indices, dims, shape);
    break;
  case 8:
    if (hasRoom(shape))
      split(indices, d, size, shape);
    break;
  case 9:
    if (!hasRoom(shape))
      break;
    shape.insert(shape.begin(), 3);
    indices.insert(indices.begin(), choose.between(0, 3));
    break;
  case 10:
    if (dims.size() < 2)
      break;
    shape.erase(shape.begin() + static_cast<ptrdiff_t>(d));
    indices.erase(indices.begin() + static_cast<ptrdiff_t>(d));
    break;
  case 11:
    shape[d] = choose.chance(60) ? size + choose.between(1, 5) : Formula::of(FormulaKind::max, {size - 1, 1});
    return;
  case 12:
    op.indices = std::move(indices);
    return gather(op, dims, shape);
  default: // a further dimension, of which the workgroup or the iteration has its own part
    if (!hasRoom(shape))
      break;
    shape.insert(shape.begin(), 3);
    indices.insert(indices.begin(), choosePlace());
  }
  op.indices = std::move(indices);
}

Builder::Dims Builder::namedLoops() const {
  Dims named = loops;
  std::erase_if(named, [](const std::string &axis) { return axis.starts_with("WHILE_"); });
  return named;
}

Formula Builder::choosePlace() {
  if (!numbers.empty() && choose.maybe("number.place", 50))
    return anyNumber();
  if (Dims named = namedLoops(); !named.empty() && choose.maybe("place.iteration", 60))
    return Formula::symbol("$ARG_" + choose.from(named));
  if (program.workgroups.empty() || !program.reorderings.empty() || program.grid)
    return 1;
  choose.note("place.workgroup");
  return Formula::symbol("$WG" + std::to_string(choose.from(program.workgroups).workgroupDim));
}

void Builder::chooseBounds(Op &op, const Dims &dims, bool isWrite) {
  bool wanted = choose.hasEverything() && !numbers.empty() && choose.isWanted("number.bound");
  if (!choose.maybe(isWrite ? "write.bounds" : "read.bounds", wanted ? 50 : 6))
    return;
  std::vector<std::optional<Formula>> bounds;
  for (const std::string &each : dims) {
    Formula size = sizeSymbol(each);
    switch (choose.below(4)) {
    case 0:
      bounds.emplace_back(std::nullopt);
      break;
    case 1:
      bounds.emplace_back(Formula::of(FormulaKind::max, {size - 1, 1}));
      break;
    case 2:
      bounds.emplace_back(size + 2);
      break;
    default:
      // What `set_symbol` says of a dimension.
      if (choose.hasEverything() && !numbers.empty() && choose.maybe("number.bound", 60))
        bounds.emplace_back(Formula::of(FormulaKind::min, {anyNumber(), size}));
      else
        bounds.emplace_back(choose.between(1, 20));
    }
  }
  op.bounds = std::move(bounds);
}

int Builder::readFresh(const Dims &dims, Element type, bool plain, bool mayBeReal) {
  if (ofLanes && std::ranges::count(dims, kLanes))
    return laneLoad(dims, type);
  bool sixteen = choose.isSteered() && bitsOf(type) == 6; // that lie in twelve bytes stay together
  if (sixteen && !packsWhole(dims, type))
    return cast(readFresh(dims, unpacked(type), plain), type);
  plain |= sixteen;
  Op op{.kind = OpKind::read};
  std::vector<Formula> shape;
  for (const std::string &each : dims)
    shape.push_back(sizeSymbol(each));
  if (!plain && type != Element::f8e8m0fnu) {
    mapRead(op, dims, shape);
    chooseBounds(op, dims, false);
  }
  bool mayName = !op.indices && !(choose.isSteered() && bitsOf(type) < 8) && tileOf(program, dims.back()) % 4 == 0;
  if (mayName && choose.maybe("elements-per-thread", 5))
    op.elementsPerThread = choose.from(std::vector<int64_t>{1, 2, 4});
  op.memory = newMemory(shape, type, Data::integers);
  Memory &memory = program.memories[static_cast<size_t>(op.memory)];
  // What is read through shared memory has to fit there, with what else is.
  constexpr int64_t kMostShared = 12 << 10;
  bool fits = !choose.isSteered() || (!sixteen && elementsOf(dims) * bitsOf(type) / 8 <= kMostShared);
  memory.shared = fits && choose.maybe("memory.shared", usesMatrix ? 45 : 8);
  auto bound = static_cast<double>(std::max(std::abs(memory.low), std::abs(memory.high)));
  applyMask(op, dims, 0);
  bool real = mayBeReal && choose.isSteered() && isFloat(type) && bitsOf(type) >= 16 && choose.maybe("data.real", 15);
  if (real)
    memory.data = Data::reals;
  if (!plain)
    repeatElements(memory);
  return emit(std::move(op), {dims, type}, {bound, !real});
}

/// A read of whole numbers as they lie, for a product alone: nothing else takes it.
int Builder::readForProduct(const Dims &dims, Element type, int64_t low, int64_t high) {
  std::vector<Formula> shape;
  for (const std::string &each : dims)
    shape.push_back(sizeSymbol(each));
  Op op{.kind = OpKind::read, .memory = newMemory(shape, type, Data::integers)};
  Memory &memory = program.memories[static_cast<size_t>(op.memory)];
  memory.low = low;
  memory.high = high;
  memory.shared = choose.maybe("memory.shared", 60);
  int value = emit(std::move(op), {dims, type}, {static_cast<double>(high), true});
  std::erase(pool, value);
  return value;
}

//===-- Writing -------------------------------------------------------------------------------===//

Builder::Dims Builder::requiredDims() const {
  if (ofLanes)
    return {};
  Dims required;
  std::set<int> covered;
  for (const WorkgroupConstraint &each : program.workgroups)
    if (!program.grid && each.dim != "U" && each.dim != kWaves && covered.insert(each.workgroupDim).second)
      required.push_back(each.dim);
  for (const std::string &axis : loops)
    if (!std::ranges::count(required, axis) && isLooped(axis))
      required.push_back(axis);
  return required;
}

int Builder::withRequiredDims(int value) {
  Dims dims = unionOf(type(value).dims, requiredDims());
  if (dims.size() == type(value).dims.size())
    return value;
  return emit({.kind = OpKind::broadcast, .operands = {value}}, {dims, type(value).element}, knownOf(value));
}

void Builder::scatter(Op &op, const Dims &dims, std::vector<Formula> &shape) {
  size_t along = choose.below(dims.size());
  int memory = newMemory({sizeSymbol(dims[along])}, choose.chance(70) ? Element::i32 : Element::i64, Data::permutation);
  Element type = program.memories[static_cast<size_t>(memory)].type;
  int value = emit({.kind = OpKind::read, .memory = memory}, {{dims[along]}, type}, {1e6, true});
  op.operands.push_back(value);
  (*op.indices)[along] = Formula::symbol("$dynamic_val0");
  if (choose.chance(30))
    shape[along] = shape[along] + 1;
}

/// Whether coordinates outside their dimension fall outside the memory as well.
bool Builder::mapWrite(Op &op, const Dims &dims, std::vector<Formula> &shape) {
  size_t d = choose.below(dims.size());
  std::vector<Formula> indices = plainIndices(dims.size());
  Formula size = sizeSymbol(dims[d]);
  std::vector<Choose::Weighted> ways = {{"write.plain", 60}, {"write.permuted", 12}, {"write.offset", 6},
                                        {"write.scaled", 5}, {"write.reversed", 5},  {"write.merged", 5},
                                        {"write.split", 4},  {"write.larger", 3},    {"write.scatter", 6}};
  if (choose.hasStrides())
    ways.push_back({"write.lacking", 8});
  switch (choose.among(ways)) {
  case 0:
    return true;
  case 1:
    permute(indices, dims, shape);
    op.indices = std::move(indices);
    return true;
  case 2:
    indices[d] = indices[d] + choose.from(std::vector<int64_t>{-3, -1, 1, 2});
    break;
  case 3:
    indices[d] = indices[d] * 2 + choose.between(0, 1);
    shape[d] = choose.chance(70) ? size * 2 : size;
    break;
  case 4:
    indices[d] = size - 1 - indices[d];
    break;
  case 5:
    merge(indices, dims, shape);
    break;
  case 6:
    if (hasRoom(shape))
      split(indices, d, size, shape);
    break;
  case 7:
    shape[d] = size + choose.between(1, 5);
    return true;
  case 9: { // the memory has a dimension that the tile lacks, of which one place is written
    if (!hasRoom(shape))
      return true;
    auto at = static_cast<ptrdiff_t>(choose.below(dims.size() + 1));
    shape.insert(shape.begin() + at, choose.between(2, 5));
    indices.insert(indices.begin() + at, choosePlace());
    op.indices = std::move(indices);
    return true;
  }
  default:
    op.indices = std::move(indices);
    scatter(op, dims, shape);
    return false;
  }
  op.indices = std::move(indices);
  return false;
}

void Builder::writeOut(int value, double ulps, double slack) {
  if (ofLanes)
    return laneStore(value, ulps);
  // A tile of many thousand elements is no better a test than one of a few, only slower.
  bool tooLarge = elementsOf(unionOf(type(value).dims, requiredDims())) > 2 * kMostTile;
  if (choose.isSteered() && tooLarge && !mustWrite)
    return;
  value = withRequiredDims(value);
  if (choose.isSteered() && !packsWhole(type(value).dims, type(value).element))
    value = cast(value, unpacked(type(value).element));
  const ValueType written = type(value);
  bool packed = choose.isSteered() && bitsOf(written.element) % 8 != 0 && written.element != Element::i1;
  Op op{.kind = OpKind::write, .operands = {value}};
  std::vector<Formula> shape;
  for (const std::string &each : written.dims)
    shape.push_back(sizeSymbol(each));
  if (!packed && mapWrite(op, written.dims, shape))
    chooseBounds(op, written.dims, true);
  applyMask(op, written.dims, 1);
  ownPlace(op, written.dims, shape);
  op.memory = newMemory(shape, written.element, Data::output);
  program.memories[static_cast<size_t>(op.memory)].ulps = ulps;
  program.memories[static_cast<size_t>(op.memory)].slack = slack;
  append(std::move(op));
}

//===-- Atomics --------------------------------------------------------------------------------===//

/// A type in which no order of additions shows.
Element Builder::atomicElement(int value) {
  Element own = type(value).element;
  Known facts = knownOf(value);
  double most = 100 + facts.bound;
  for (const Dim &dim : program.dims)
    if (!dim.own || std::ranges::count(type(value).dims, dim.name))
      most *= static_cast<double>(dim.size + 1);
  // Loops that data end run a few times, and all workgroups may come.
  for (const std::string &axis : loops)
    most *= isLooped(axis) ? 1 : 5;
  most *= static_cast<double>(sharers());
  std::vector<Element> fit;
  for (Element each : {Element::i32, Element::i64, Element::f32, Element::f64})
    if (each == own ? !isFloat(own)
                    : facts.exact && facts.bound <= exactLimit(each) && own != Element::i1 && own != Element::f8e8m0fnu)
      if (!isFloat(each) || (facts.exact && most <= exactLimit(each)))
        fit.push_back(each);
  if (facts.exact && isFloat(own) && bitsOf(own) >= 32 && most <= exactLimit(own))
    fit.push_back(own);
  return fit.empty() ? Element::i1 : choose.from(fit);
}

/// Whether each element has a place of its own.
bool Builder::mapAtomic(Op &op, const Dims &dims, std::vector<Formula> &shape) {
  size_t d = choose.below(dims.size());
  std::vector<Formula> indices = plainIndices(dims.size());
  if (wants({"atomic.cas", "atomic.exchange"}) && choose.hasEverything() && choose.chance(60))
    return true;
  if (choose.hasEverything() && choose.maybe("atomic.scatter-add", 15)) { // several elements may name one place
    op.indices = std::move(indices);
    gather(op, dims, shape);
    return false;
  }
  switch (
      choose.among({{"atomic.plain", 30}, {"atomic.wrapped", 30}, {"atomic.one-place", 20}, {"atomic.scatter", 20}})) {
  case 0:
    return true;
  case 1: {
    int64_t places = choose.between(1, 5);
    indices[d] = mod(indices[d] + choose.between(0, 3), places);
    shape[d] = Formula(places);
    break;
  }
  case 2:
    indices[d] = Formula(choose.between(0, 1));
    shape[d] = Formula(2);
    break;
  default:
    op.indices = std::move(indices);
    scatter(op, dims, shape);
    return false;
  }
  op.indices = std::move(indices);
  return false;
}

void Builder::atomicOut(int value) {
  if (ofLanes)
    return laneAtomic(value);
  Element element = atomicElement(value);
  if (element == Element::i1 || elementsOf(unionOf(type(value).dims, requiredDims())) > kMostTile)
    return;
  bool apart = choose.chance(50) || type(value).dims.empty();
  if (apart)
    value = withRequiredDims(value);
  if (type(value).element != element)
    value = cast(value, element);
  const ValueType tile = type(value);
  Op op{.kind = OpKind::atomic, .operands = {value}};
  size_t kinds = isFloat(element) ? 3 : 4;
  static const std::vector<Choose::Weighted> kKinds = {
      {"atomic.add", 40}, {"atomic.min", 20}, {"atomic.max", 20}, {"atomic.bits", 20}};
  size_t kind = choose.among({kKinds.begin(), kKinds.begin() + static_cast<ptrdiff_t>(kinds)});
  op.word =
      kind < 3 ? kKinds[kind].feature.substr(7) : choose.from(std::vector<std::string>{"bit_and", "bit_or", "bit_xor"});
  std::vector<Formula> shape;
  for (const std::string &each : tile.dims)
    shape.push_back(sizeSymbol(each));
  bool unique = mapAtomic(op, tile.dims, shape) && apart && loops.empty() && sharers() == 1;
  applyMask(op, tile.dims, 1);
  op.memory = newMemory(shape, element, Data::integers);
  // Who comes first gets it, so nobody else may come.
  if (unique && choose.hasEverything() && choose.maybe("atomic.exchange", 30)) {
    op.word = "exchange";
  } else if (unique && choose.hasRows() && !isFloat(element) && choose.maybe("atomic.cas", 75)) {
    op.word = "cas";
    op.operands.insert(op.operands.begin() + 1, readFresh(tile.dims, element));
  }
  // What was there is the same in every order only where nobody else comes.
  if (unique && choose.maybe("atomic.old", 60)) {
    emit(std::move(op), tile, {100, true});
    return;
  }
  op.results = {addValue(tile, {})};
  append(std::move(op));
}

//===-- Memory that is read again ---------------------------------------------------------------===//

void Builder::authorSync(bool shared) {
  if (!choose.maybe("barrier.author", 45))
    return;
  if (shared && choose.maybe("wait.author", 40))
    append({.kind = OpKind::wait, .word = "shared"});
  append({.kind = OpKind::barrier});
}

/// Adds the value to the shared tile that holds it, each element to another one's place; what is known of it then.
Known Builder::changeTile(int value, int memory) {
  const ValueType tile = type(value);
  Known facts = knownOf(value), after = clipped(tile.element, 2 * facts.bound, facts.exact);
  bool hasAtomic = bitsOf(tile.element) >= 32 && tile.element != Element::index;
  if (!choose.isWhole() || !hasAtomic || (isFloat(tile.element) && !after.exact) || !choose.maybe("atomic.shared", 40))
    return facts;
  Op op{.kind = OpKind::atomic, .operands = {value}, .memory = memory, .word = choose.chance(60) ? "add" : "max"};
  size_t d = choose.below(tile.dims.size());
  op.indices = plainIndices(tile.dims.size());
  (*op.indices)[d] = mod((*op.indices)[d] + choose.between(0, 3), tileOf(program, tile.dims[d]));
  op.results = {addValue(tile, {})};
  append(std::move(op));
  authorSync(true);
  return after;
}

void Builder::stepSharedTile() {
  if (!choose.mayUse("shared.author"))
    return;
  int value = anyValue();
  const ValueType tile = type(value);
  if (tile.element == Element::f8e8m0fnu || elementsOf(tile.dims) > (choose.isSteered() ? 2048 : 4096) ||
      (choose.isSteered() && (bitsOf(tile.element) == 6 || !packsWhole(tile.dims, tile.element))))
    return;
  choose.note("shared.author");
  Memory memory;
  memory.name = "s" + std::to_string(program.memories.size());
  for (const std::string &each : tile.dims)
    memory.shape.push_back(sizeSymbol(each));
  memory.type = tile.element;
  memory.shared = true;
  memory.isParameter = false;
  auto number = static_cast<int>(program.memories.size());
  program.memories.push_back(std::move(memory));
  program.body.ops.insert(program.body.ops.begin(), Op{.kind = OpKind::allocate, .memory = number});
  append({.kind = OpKind::write, .operands = {value}, .memory = number});
  authorSync(true);
  Known facts = changeTile(value, number);
  Op read{.kind = OpKind::read, .memory = number};
  Dims dims = tile.dims;
  size_t d = choose.below(dims.size());
  std::vector<Formula> indices;
  size_t way =
      choose.among({{"shared.plain", 30}, {"shared.rotated", 30}, {"shared.reversed", 15}, {"shared.transposed", 25}});
  switch (way) {
  case 0:
    break;
  case 1:
  case 2: {
    indices = plainIndices(dims.size());
    int64_t extent = tileOf(program, dims[d]);
    indices[d] = way == 1 ? mod(indices[d] + choose.between(1, extent), extent) : Formula(extent - 1) - indices[d];
    read.indices = std::move(indices);
    break;
  }
  default:
    choose.shuffle(dims);
    for (const std::string &each : tile.dims)
      indices.push_back(indexOf(static_cast<size_t>(std::ranges::find(dims, each) - dims.begin())));
    read.indices = std::move(indices);
  }
  emit(std::move(read), {dims, tile.element}, facts);
  if (choose.chance(40))
    authorSync(true);
}

void Builder::stepRoundTrip() {
  if (!choose.mayUse("memory.written-and-read") || ofLanes || sharers() > 1)
    return;
  int value = anyValue();
  if (type(value).element == Element::f8e8m0fnu)
    return;
  choose.note("memory.written-and-read");
  if (choose.isSteered() && elementsOf(unionOf(type(value).dims, requiredDims())) > 2 * kMostTile)
    return;
  value = withRequiredDims(value);
  if (choose.isSteered() && !packsWhole(type(value).dims, type(value).element))
    value = cast(value, unpacked(type(value).element));
  const ValueType tile = type(value);
  std::vector<Formula> shape, indices;
  for (size_t k = 0; k < tile.dims.size(); ++k) {
    shape.push_back(sizeSymbol(tile.dims[k]));
    indices.push_back(indexOf(k));
  }
  int memory = newMemory(shape, tile.element, Data::integers);
  append({.kind = OpKind::write, .operands = {value}, .memory = memory});
  authorSync(false);
  Op read{.kind = OpKind::read, .memory = memory};
  // Elements of the workgroup's own tile, in another order.
  size_t d = choose.below(tile.dims.size());
  bool aligned = true;
  for (const WorkgroupConstraint &each : program.workgroups)
    aligned &= each.dim != tile.dims[d] || !each.apply;
  for (const TilingConstraint &each : program.tilings)
    aligned &= each.dim != tile.dims[d] || !each.start;
  aligned &= !choose.isSteered() || bitsOf(tile.element) != 6;
  if (aligned && choose.maybe("memory.read-rotated", 50)) {
    int64_t extent = tileOf(program, tile.dims[d]);
    indices[d] = floordiv(indices[d], extent) * extent + mod(indices[d] + choose.between(1, extent), extent);
    read.indices = std::move(indices);
  }
  Known facts = knownOf(value);
  facts.bound = std::max(facts.bound, 100.0);
  emit(std::move(read), tile, clipped(tile.element, facts.bound, facts.exact));
}

void Builder::stepInPlace() {
  if (!choose.mayUse("memory.in-place") || ofLanes || sharers() > 1 || mask >= 0)
    return;
  Element element = chooseArithmetic();
  Dims dims = requiredDims();
  if (dims.empty() && choose.isSteered()) // one workgroup has all of them
    dims = chooseSubset(parallel, 1);
  if (dims.empty() || elementsOf(dims) > kMostTile || (choose.isSteered() && !packsWhole(dims, element)))
    return;
  choose.note("memory.in-place");
  int value = readFresh(dims, element, true);
  int memory = block->ops.back().memory;
  program.memories[static_cast<size_t>(memory)].shared = false;
  int changed = binary("add", unary("neg", value), fill(dims, element, 1));
  append({.kind = OpKind::write, .operands = {changed}, .memory = memory});
}

} // namespace soliton::generate
