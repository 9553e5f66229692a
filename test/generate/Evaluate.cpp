#include "test/generate/Evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

namespace soliton::generate {
namespace {

/// A number of either sort; the element type says which one counts.
struct Number {
  double real = 0;
  int64_t whole = 0;
};

/// A tile without holders: extents and elements, row-major.
struct Tile {
  std::vector<std::string> dims;
  std::vector<int64_t> extents;
  Element type = Element::f32;
  std::vector<Number> elements;
};

using Place = std::vector<int64_t>;

template <typename Visit>
void forEachPlace(const std::vector<int64_t> &extents, Visit visit) {
  Place at(extents.size(), 0);
  if (std::ranges::count(extents, 0))
    return;
  for (size_t number = 0;; ++number) {
    visit(number, at);
    size_t d = extents.size();
    while (d > 0 && ++at[d - 1] == extents[d - 1])
      at[--d] = 0;
    if (d == 0)
      return;
  }
}

/// Finds the elements of a tile from coordinates along other dimensions, in their order; along those that the tile
/// lacks it is constant.
class Finder {
public:
  Finder(const Tile &tile, const std::vector<std::string> &dims) : tile(tile), steps(dims.size(), 0) {
    size_t step = 1;
    for (size_t d = tile.dims.size(); d-- > 0; step *= static_cast<size_t>(tile.extents[d]))
      if (auto found = std::ranges::find(dims, tile.dims[d]); found != dims.end())
        steps[static_cast<size_t>(found - dims.begin())] = step;
  }
  Number operator()(const Place &at) const {
    size_t number = 0;
    for (size_t d = 0; d < steps.size(); ++d)
      number += static_cast<size_t>(at[d]) * steps[d];
    return tile.elements[number];
  }

private:
  const Tile &tile;
  std::vector<size_t> steps;
};

//===-- Functions of elements -----------------------------------------------------------------===//

Number rounded(Element type, Number value) {
  return isFloat(type) ? Number{roundTo(type, value.real), 0} : Number{0, wrapTo(type, value.whole)};
}

double realFunction(const std::string &name, double x) {
  static const std::map<std::string, double (*)(double)> functions = {
      {"abs", [](double v) { return std::fabs(v); }},       {"neg", [](double v) { return -v; }},
      {"exp", [](double v) { return std::exp(v); }},        {"exp2", [](double v) { return std::exp2(v); }},
      {"log", [](double v) { return std::log(v); }},        {"log2", [](double v) { return std::log2(v); }},
      {"log10", [](double v) { return std::log10(v); }},    {"sqrt", [](double v) { return std::sqrt(v); }},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }}, {"reciprocal", [](double v) { return 1 / v; }},
      {"sin", [](double v) { return std::sin(v); }},        {"cos", [](double v) { return std::cos(v); }},
      {"sinh", [](double v) { return std::sinh(v); }},      {"tanh", [](double v) { return std::tanh(v); }},
      {"erf", [](double v) { return std::erf(v); }},        {"cbrt", [](double v) { return std::cbrt(v); }},
      {"floor", [](double v) { return std::floor(v); }},    {"ceil", [](double v) { return std::ceil(v); }},
      {"round", [](double v) { return std::round(v); }},    {"roundeven", [](double v) { return std::nearbyint(v); }},
  };
  return functions.at(name)(x);
}

int64_t wholeFunction(const std::string &name, int64_t x) {
  if (name == "abs")
    return x < 0 ? -x : x;
  if (name == "neg")
    return -x;
  if (name == "logical_not")
    return ~x;
  return x; // the roundings
}

double realCombination(const std::string &name, double a, double b) {
  bool isNaN = std::isnan(a) || std::isnan(b);
  if (name == "add" || name == "sum")
    return a + b;
  if (name == "sub")
    return a - b;
  if (name == "mul")
    return a * b;
  if (name == "div")
    return a / b;
  if (name == "floordiv")
    return std::floor(a / b);
  if (name == "mod") { // the sign of the divisor, as torch.remainder
    double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  if (name == "max")
    return isNaN ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
  if (name == "min")
    return isNaN ? std::numeric_limits<double>::quiet_NaN() : std::min(a, b);
  if (name == "pow")
    return std::pow(a, b);
  if (name == "atan2")
    return std::atan2(a, b);
  throw std::runtime_error("floats have no `" + name + "`");
}

int64_t power(int64_t base, int64_t exponent) {
  uint64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i)
    result *= static_cast<uint64_t>(base);
  return static_cast<int64_t>(result);
}

int64_t wholeCombination(const std::string &name, int64_t a, int64_t b) {
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if (name == "add" || name == "sum")
    return static_cast<int64_t>(x + y);
  if (name == "sub")
    return static_cast<int64_t>(x - y);
  if (name == "mul")
    return static_cast<int64_t>(x * y);
  if (name == "max")
    return std::max(a, b);
  if (name == "min")
    return std::min(a, b);
  if (name == "bit_and")
    return a & b;
  if (name == "bit_or")
    return a | b;
  if (name == "bit_xor")
    return a ^ b;
  if (name == "pow")
    return power(a, b);
  if (b == 0)
    throw std::runtime_error("an integer is divided by zero");
  if (name == "div")
    return b == -1 ? static_cast<int64_t>(0 - x) : a / b;
  int64_t rest = b == -1 ? 0 : a % b;
  bool down = rest != 0 && (rest < 0) != (b < 0);
  if (name == "floordiv")
    return (b == -1 ? static_cast<int64_t>(0 - x) : a / b) - down;
  if (name == "mod")
    return down ? rest + b : rest;
  throw std::runtime_error("integers have no `" + name + "`");
}

template <typename T>
bool holds(const std::string &predicate, T a, T b) {
  if (predicate == "eq")
    return a == b;
  if (predicate == "ne")
    return a != b;
  if (predicate == "lt")
    return a < b;
  if (predicate == "le")
    return a <= b;
  return predicate == "gt" ? a > b : a >= b;
}

Number converted(Element from, Element to, Number value) {
  if (isFloat(from) && isFloat(to))
    return {roundTo(to, value.real), 0};
  if (isFloat(to)) // exact in f64 up to 2^53, which is all that is generated
    return {roundTo(to, static_cast<double>(value.whole)), 0};
  if (isFloat(from))
    return {0, to == Element::i1 ? value.real != 0 : wrapTo(to, static_cast<int64_t>(std::trunc(value.real)))};
  return {0, wrapTo(to, value.whole)};
}

/// What a reduction of nothing gives.
Number identityOf(const std::string &kind, Element type) {
  if (kind == "sum")
    return {};
  bool low = kind == "max";
  if (isFloat(type)) {
    bool hasInfinity = formatOf(type).specials == Specials::ieee;
    double limit = hasInfinity ? std::numeric_limits<double>::infinity() : largest(type);
    if (type == Element::f8e8m0fnu)
      return {low ? 0x1p-127 : 0x1p127, 0};
    return {low ? -limit : limit, 0};
  }
  if (type == Element::i1)
    return {0, !low};
  auto high = static_cast<int64_t>(~uint64_t(0) >> (65 - bitsOf(type)));
  return {0, low ? -high - 1 : high};
}

//===-- The kernel ----------------------------------------------------------------------------===//

constexpr int kWorkgroupDims = 5;

/// An author's shared tile: what was written so far.
struct SharedTile {
  std::vector<int64_t> extents;
  std::vector<std::optional<Number>> elements;
};

class Evaluator {
public:
  Evaluator(const Program &program, std::vector<Bytes> arguments)
      : program(program), arguments(std::move(arguments)), values(program.values.size()) {
    for (const Memory &memory : program.memories)
      if (memory.isParameter)
        storages.emplace_back(extentsOf(program, memory), memory.type);
      else
        storages.emplace_back(std::vector<int64_t>{}, memory.type);
  }

  std::vector<Bytes> run() {
    // From the last workgroup to the first: a program that depends on their order is a mistake of the generator.
    std::vector<int64_t> counts = launch();
    int64_t total = 1;
    for (int64_t count : counts)
      total *= count;
    for (int64_t number = total; number-- > 0;) {
      int64_t rest = number;
      for (int d = kWorkgroupDims; d-- > 0; rest /= counts[static_cast<size_t>(d)])
        ids[static_cast<size_t>(d)] = rest % counts[static_cast<size_t>(d)];
      shared.clear();
      runBlock(program.body);
    }
    return arguments;
  }

private:
  //===-- Who and where -----------------------------------------------------------------===//

  std::vector<int64_t> launch() {
    std::vector<int64_t> counts(kWorkgroupDims, 1);
    if (program.grid) {
      counts[0] = *program.grid;
      return counts;
    }
    for (const WorkgroupConstraint &each : program.workgroups) {
      int64_t size = program.findDim(each.dim)->size;
      int64_t count = each.iters ? formula(*each.iters) : (size + each.tile - 1) / each.tile;
      if (each.primary)
        counts[static_cast<size_t>(each.workgroupDim)] *= count;
    }
    return counts;
  }

  int64_t symbol(const std::string &name) const {
    if (const Dim *dim = program.findDim(name))
      return dim->size;
    if (name.starts_with("$WG"))
      return ids[static_cast<size_t>(std::stoi(name.substr(3)))];
    if (name.starts_with("$ARG_"))
      for (size_t i = loops.size(); i-- > 0;)
        if (loops[i].first == name.substr(5))
          return loops[i].second;
    throw std::runtime_error("`" + name + "` has no value");
  }
  int64_t formula(const Formula &each) const {
    return valueOf(each, [&](const std::string &name) { return symbol(name); });
  }
  /// With workgroup ids exchanged as the kernel says, all at once.
  int64_t reordered(const Formula &each) const {
    return valueOf(each, [&](const std::string &name) {
      for (const Reordering &order : program.reorderings)
        if (name == "$WG" + std::to_string(order.workgroupDim))
          return formula(order.equation);
      return symbol(name);
    });
  }

  int64_t workgroupStart(const std::string &dim) const {
    if (program.grid)
      return 0;
    for (const WorkgroupConstraint &each : program.workgroups)
      if (each.dim == dim) {
        Formula id = Formula::symbol("$WG" + std::to_string(each.workgroupDim));
        return reordered(
            each.apply ? substitute(*each.apply,
                                    [&](const std::string &name) { return name == "$WG" ? id : Formula::symbol(name); })
                       : id * each.tile);
      }
    for (const Alias &each : program.aliases)
      if (each.source == dim)
        for (const WorkgroupConstraint &target : program.workgroups)
          if (target.dim == each.target)
            return reordered(Formula::symbol("$WG" + std::to_string(target.workgroupDim)) * tileOf(program, dim));
    return 0;
  }

  int64_t loopStart(const std::string &dim) const {
    std::string axis = dim;
    for (const Alias &each : program.aliases)
      if (each.source == dim)
        axis = each.target;
    for (size_t i = loops.size(); i-- > 0;)
      if (loops[i].first == axis) {
        int64_t start = loops[i].second * tileOf(program, dim);
        for (const TilingConstraint &tiling : program.tilings)
          if (tiling.dim == dim && tiling.start)
            start += reordered(*tiling.start);
        return start;
      }
    return 0;
  }

  int64_t startOf(const std::string &dim) const { return workgroupStart(dim) + loopStart(dim); }
  int64_t sizeOfDim(const std::string &dim) const { return program.findDim(dim)->size; }
  bool isInside(const std::string &dim, int64_t place) const { return place >= 0 && place < sizeOfDim(dim); }

  //===-- Tiles -------------------------------------------------------------------------===//

  Tile newTile(int value) const {
    const ValueType &type = program.values[static_cast<size_t>(value)];
    Tile tile{type.dims, {}, type.element, {}};
    size_t count = 1;
    for (const std::string &dim : type.dims) {
      tile.extents.push_back(tileOf(program, dim));
      count *= static_cast<size_t>(tile.extents.back());
    }
    tile.elements.resize(count);
    return tile;
  }
  const Tile &tileAt(int value) const { return values[static_cast<size_t>(value)]; }

  /// Each element of the result from those of the operands at its place.
  template <typename Function>
  void elementwise(const Op &op, Function function) {
    Tile result = newTile(op.results[0]);
    std::vector<Finder> find;
    for (int operand : op.operands)
      find.emplace_back(tileAt(operand), result.dims);
    std::vector<Number> operands(find.size());
    forEachPlace(result.extents, [&](size_t number, const Place &at) {
      for (size_t i = 0; i < find.size(); ++i)
        operands[i] = find[i](at);
      result.elements[number] = function(operands, at);
    });
    values[static_cast<size_t>(op.results[0])] = std::move(result);
  }

  //===-- Memory ------------------------------------------------------------------------===//

  /// What an access does, with all that is the same for its elements worked out.
  struct Access {
    const Op &op;
    std::vector<int64_t> starts;
    /// The coordinates that are within bounds, from and to; unlimited where nothing is said.
    std::vector<std::pair<int64_t, int64_t>> within;
    std::vector<Finder> dynamic;
  };

  Access accessOf(const Op &op, const Tile &tile, size_t firstDynamic) const {
    const Memory &memory = program.memories[static_cast<size_t>(op.memory)];
    Access access{op, {}, {}, {}};
    for (size_t d = 0; d < tile.dims.size(); ++d) {
      access.starts.push_back(memory.isParameter ? startOf(tile.dims[d]) : 0);
      std::pair<int64_t, int64_t> all(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
      if (op.bounds && (*op.bounds)[d])
        all.second = formula(*(*op.bounds)[d]);
      else if (!op.bounds && memory.isParameter)
        all = {0, sizeOfDim(tile.dims[d])};
      access.within.push_back(all);
    }
    for (size_t i = firstDynamic; i < op.operands.size(); ++i)
      access.dynamic.emplace_back(tileAt(op.operands[i]), tile.dims);
    return access;
  }

  /// The element of the memory for a coordinate of the tile; nothing where the access does nothing.
  std::optional<Place> placeOf(const Access &access, const Place &at) const {
    Place global = at;
    for (size_t d = 0; d < at.size(); ++d) {
      global[d] += access.starts[d];
      if (global[d] < access.within[d].first || global[d] >= access.within[d].second)
        return std::nullopt;
    }
    if (!access.op.indices)
      return global;
    auto lookup = [&](const std::string &name) -> int64_t {
      if (name.starts_with("$index"))
        return global[static_cast<size_t>(std::stoi(name.substr(6)))];
      if (name.starts_with("$dynamic_val"))
        return access.dynamic[static_cast<size_t>(std::stoi(name.substr(12)))](at).whole;
      return symbol(name);
    };
    Place place;
    for (const Formula &index : *access.op.indices)
      place.push_back(valueOf(index, lookup));
    return place;
  }

  static std::optional<size_t> numberIn(const SharedTile &tile, const Place &at) {
    size_t number = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      if (at[d] < 0 || at[d] >= tile.extents[d])
        return std::nullopt;
      number = number * static_cast<size_t>(tile.extents[d]) + static_cast<size_t>(at[d]);
    }
    return number;
  }

  Number load(const Op &op, const Place &at) const {
    const Memory &memory = program.memories[static_cast<size_t>(op.memory)];
    if (!memory.isParameter) {
      const SharedTile &tile = shared.at(op.memory);
      std::optional<size_t> number = numberIn(tile, at);
      if (!number)
        return {};
      if (!tile.elements[*number])
        throw std::runtime_error("reads an element of a shared tile that was never written");
      return *tile.elements[*number];
    }
    const Storage &storage = storages[static_cast<size_t>(op.memory)];
    if (!storage.contains(at))
      return {};
    uint64_t bits = storage.load(arguments[argumentOf(op.memory)], at);
    return isFloat(memory.type) ? Number{decode(memory.type, bits), 0}
                                : Number{0, wrapTo(memory.type, static_cast<int64_t>(bits))};
  }

  void store(const Op &op, const Place &at, Number value) {
    const Memory &memory = program.memories[static_cast<size_t>(op.memory)];
    if (!memory.isParameter) {
      SharedTile &tile = shared.at(op.memory);
      if (std::optional<size_t> number = numberIn(tile, at))
        tile.elements[*number] = value;
      return;
    }
    const Storage &storage = storages[static_cast<size_t>(op.memory)];
    if (storage.contains(at))
      storage.store(arguments[argumentOf(op.memory)], at,
                    isFloat(memory.type) ? encode(memory.type, value.real) : static_cast<uint64_t>(value.whole));
  }
  size_t argumentOf(int memory) const {
    size_t argument = 0;
    for (int i = 0; i < memory; ++i)
      argument += program.memories[static_cast<size_t>(i)].isParameter;
    return argument;
  }

  void read(const Op &op) {
    Tile result = newTile(op.results[0]);
    Access access = accessOf(op, result, 0);
    forEachPlace(result.extents, [&](size_t number, const Place &at) {
      std::optional<Place> place = placeOf(access, at);
      result.elements[number] = place ? load(op, *place) : Number{};
    });
    values[static_cast<size_t>(op.results[0])] = std::move(result);
  }

  void write(const Op &op) {
    const Tile &tile = tileAt(op.operands[0]);
    Access access = accessOf(op, tile, 1);
    forEachPlace(tile.extents, [&](size_t number, const Place &at) {
      if (std::optional<Place> place = placeOf(access, at))
        store(op, *place, tile.elements[number]);
    });
  }

  void allocate(const Op &op) {
    SharedTile tile{extentsOf(program, program.memories[static_cast<size_t>(op.memory)]), {}};
    size_t count = 1;
    for (int64_t extent : tile.extents)
      count *= static_cast<size_t>(extent);
    tile.elements.resize(count);
    shared[op.memory] = std::move(tile);
  }

  //===-- Sums --------------------------------------------------------------------------===//

  void reduce(const Op &op) {
    const Tile &source = tileAt(op.operands[0]);
    Tile result = newTile(op.results[0]);
    std::vector<std::string> dims = result.dims;
    dims.push_back(op.dim);
    Finder each(source, dims);
    int64_t start = startOf(op.dim), extent = tileOf(program, op.dim);
    forEachPlace(result.extents, [&](size_t number, const Place &at) {
      Number sum =
          op.operands.size() > 1 ? Finder(tileAt(op.operands[1]), result.dims)(at) : identityOf(op.word, result.type);
      Place from = at;
      from.push_back(0);
      for (int64_t k = 0; k < extent; ++k) {
        if (!isInside(op.dim, start + k))
          continue;
        from.back() = k;
        sum = isFloat(result.type) ? Number{realCombination(op.word, sum.real, each(from).real), 0}
                                   : Number{0, wholeCombination(op.word, sum.whole, each(from).whole)};
      }
      result.elements[number] = rounded(result.type, sum);
    });
    values[static_cast<size_t>(op.results[0])] = std::move(result);
  }

  void mma(const Op &op) {
    const Tile &lhs = tileAt(op.operands[0]), &rhs = tileAt(op.operands[1]), &acc = tileAt(op.operands[2]);
    Tile result = newTile(op.results[0]);
    std::vector<std::string> dims = result.dims;
    for (const std::string &dim : lhs.dims)
      if (!std::ranges::count(result.dims, dim))
        dims.push_back(dim);
    const std::string &contracted = dims.back();
    Finder left(lhs, dims), right(rhs, dims), sums(acc, result.dims);
    int64_t start = startOf(contracted), extent = tileOf(program, contracted);
    forEachPlace(result.extents, [&](size_t number, const Place &at) {
      Number sum = sums(at);
      Place from = at;
      from.push_back(0);
      for (int64_t k = 0; k < extent; ++k) {
        if (!isInside(contracted, start + k))
          continue;
        from.back() = k;
        Number a = left(from), b = right(from);
        sum.real += a.real * b.real;
        sum.whole += a.whole * b.whole;
      }
      result.elements[number] = rounded(result.type, sum);
    });
    values[static_cast<size_t>(op.results[0])] = std::move(result);
  }

  //===-- Control -----------------------------------------------------------------------===//

  void runBlock(const Block &block) {
    for (const Op &op : block.ops)
      execute(op);
  }

  void iterate(const Op &op) {
    const TilingConstraint &tiling = *std::ranges::find(program.tilings, op.word, &TilingConstraint::dim);
    int64_t count = tiling.iters ? reordered(*tiling.iters) : (sizeOfDim(op.word) + tiling.tile - 1) / tiling.tile;
    std::vector<Tile> carried;
    for (int init : op.operands)
      carried.push_back(tileAt(init));
    const Block &body = op.blocks[0];
    for (int64_t number = 0; number < count; ++number) {
      loops.emplace_back(op.word, number);
      for (size_t i = 0; i < carried.size(); ++i)
        values[static_cast<size_t>(body.arguments[i])] = carried[i];
      runBlock(body);
      for (size_t i = 0; i < carried.size(); ++i)
        carried[i] = tileAt(body.yields[i]);
      loops.pop_back();
    }
    for (size_t i = 0; i < carried.size(); ++i)
      values[static_cast<size_t>(op.results[i])] = carried[i];
  }

  void branch(const Op &op) {
    const Block &taken = op.blocks[formula(*op.formula) ? 0 : 1];
    runBlock(taken);
    for (size_t i = 0; i < op.results.size(); ++i)
      values[static_cast<size_t>(op.results[i])] = tileAt(taken.yields[i]);
  }

  void fill(const Op &op, Number value) {
    Tile result = newTile(op.results[0]);
    std::ranges::fill(result.elements, value);
    values[static_cast<size_t>(op.results[0])] = std::move(result);
  }

  void execute(const Op &op) {
    switch (op.kind) {
    case OpKind::read:
      return read(op);
    case OpKind::write:
      return write(op);
    case OpKind::allocate:
      return allocate(op);
    case OpKind::reduce:
      return reduce(op);
    case OpKind::mma:
      return mma(op);
    case OpKind::iterate:
      return iterate(op);
    case OpKind::conditional:
      return branch(op);
    case OpKind::barrier:
    case OpKind::wait:
      return;
    case OpKind::fill: {
      Element type = program.values[static_cast<size_t>(op.results[0])].element;
      return fill(op, isFloat(type) ? Number{roundTo(type, op.number), 0}
                                    : Number{0, wrapTo(type, static_cast<int64_t>(op.number))});
    }
    case OpKind::splat: {
      const Scalar &scalar = program.scalars[static_cast<size_t>(op.memory)];
      return fill(op, isFloat(scalar.type) ? Number{roundTo(scalar.type, static_cast<double>(scalar.value)), 0}
                                           : Number{0, wrapTo(scalar.type, scalar.value)});
    }
    default:
      return compute(op);
    }
  }

  void compute(const Op &op) {
    Element to = program.values[static_cast<size_t>(op.results[0])].element;
    Element from = op.operands.empty() ? to : program.values[static_cast<size_t>(op.operands.back())].element;
    elementwise(op, [&](const std::vector<Number> &x, const Place &at) -> Number {
      switch (op.kind) {
      case OpKind::unary:
        return rounded(to, {isFloat(to) ? realFunction(op.word, x[0].real) : 0,
                            isFloat(to) ? 0 : wholeFunction(op.word, x[0].whole)});
      case OpKind::binary:
        return rounded(to, {isFloat(to) ? realCombination(op.word, x[0].real, x[1].real) : 0,
                            isFloat(to) ? 0 : wholeCombination(op.word, x[0].whole, x[1].whole)});
      case OpKind::compare:
        return {0, isFloat(from) ? holds(op.word, x[0].real, x[1].real) : holds(op.word, x[0].whole, x[1].whole)};
      case OpKind::select:
        return x[0].whole ? x[1] : x[2];
      case OpKind::cast:
        return converted(from, to, x[0]);
      case OpKind::selfIndex:
        return {0, wrapTo(to, startOf(op.dim) + at[0])};
      case OpKind::applyExpr: {
        int64_t value = valueOf(*op.formula, [&](const std::string &name) {
          constexpr std::string_view kPrefix = "$APPLY_EXPR_ARG_";
          return name.starts_with(kPrefix) ? x[static_cast<size_t>(std::stoi(name.substr(kPrefix.size())))].whole
                                           : symbol(name);
        });
        return isFloat(to) ? Number{roundTo(to, static_cast<double>(value)), 0} : Number{0, wrapTo(to, value)};
      }
      default: // broadcast, permute
        return x[0];
      }
    });
  }

  const Program &program;
  std::vector<Bytes> arguments;
  std::vector<Tile> values;
  std::vector<Storage> storages;
  std::map<int, SharedTile> shared;
  std::vector<int64_t> ids = std::vector<int64_t>(kWorkgroupDims, 0);
  /// Axis and number of the iterations that we are in, outer ones first.
  std::vector<std::pair<std::string, int64_t>> loops;
};
} // namespace

std::vector<Bytes> evaluate(const Program &program, const std::vector<Bytes> &inputs) {
  return Evaluator(program, inputs).run();
}

//===-- Inputs and verdicts ---------------------------------------------------------------------===//

/// A small generator of its own: the same numbers everywhere.
static uint64_t scrambled(uint64_t &state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static uint64_t encodeWhole(Element type, int64_t value) {
  return isFloat(type) ? encode(type, static_cast<double>(value)) : static_cast<uint64_t>(value);
}

static Bytes contentsOf(const Program &program, const Memory &memory, uint64_t state) {
  Storage storage(extentsOf(program, memory), memory.type);
  Bytes bytes(storage.bytes(), memory.data == Data::output ? 0xff : 0);
  if (memory.data == Data::output)
    return bytes;
  std::vector<int64_t> order;
  for (int64_t number = 0; number < storage.elements(); ++number) {
    std::vector<int64_t> at = storage.coordinates(number);
    int64_t value =
        memory.low + static_cast<int64_t>(scrambled(state) % static_cast<uint64_t>(memory.high - memory.low + 1));
    if (memory.data == Data::permutation) {
      if (at.back() == 0) {
        order.resize(static_cast<size_t>(storage.extents().back()));
        for (size_t i = 0; i < order.size(); ++i)
          order[i] = static_cast<int64_t>(i);
        for (size_t i = order.size(); i > 1; --i)
          std::swap(order[i - 1], order[scrambled(state) % i]);
      }
      value = order[static_cast<size_t>(at.back())];
    }
    // e8m0 has neither zero nor sign.
    if (memory.type == Element::f8e8m0fnu)
      value = 1 + (value & 1);
    storage.store(bytes, at, encodeWhole(memory.type, value));
  }
  return bytes;
}

std::vector<Bytes> inputsOf(const Program &program) {
  std::vector<Bytes> inputs;
  uint64_t state = program.seed * 77 + 5;
  for (const Memory &memory : program.memories)
    if (memory.isParameter)
      inputs.push_back(contentsOf(program, memory, scrambled(state)));
  for (const Scalar &scalar : program.scalars) {
    Storage storage({1}, scalar.type);
    Bytes bytes(storage.bytes());
    storage.store(bytes, {0}, encodeWhole(scalar.type, scalar.value));
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

static bool agree(const Memory &memory, uint64_t found, uint64_t expected) {
  if (!isFloat(memory.type))
    return wrapTo(memory.type, static_cast<int64_t>(found)) == wrapTo(memory.type, static_cast<int64_t>(expected));
  double is = decode(memory.type, found), should = decode(memory.type, expected);
  if (is == should || (std::isnan(is) && std::isnan(should)))
    return true;
  double unit = std::ldexp(1.0, std::ilogb(std::max(std::fabs(should), 1e-300)) - formatOf(memory.type).fractionBits);
  return memory.ulps > 0 && std::fabs(is - should) <= memory.ulps * unit;
}

std::optional<std::string> difference(const Program &program, const std::vector<Bytes> &found,
                                      const std::vector<Bytes> &expected) {
  size_t argument = 0;
  for (const Memory &memory : program.memories) {
    if (!memory.isParameter)
      continue;
    Storage storage(extentsOf(program, memory), memory.type);
    const Bytes &is = found[argument], &should = expected[argument];
    ++argument;
    for (int64_t number = 0; number < storage.elements() && is != should; ++number) {
      std::vector<int64_t> at = storage.coordinates(number);
      uint64_t a = storage.load(is, at), b = storage.load(should, at);
      if (agree(memory, a, b))
        continue;
      std::string place;
      for (int64_t each : at)
        place += (place.empty() ? "" : ", ") + std::to_string(each);
      return "`" + memory.name + "[" + place + "]` is " + std::to_string(decode(memory.type, a)) + ", expected " +
             std::to_string(decode(memory.type, b));
    }
  }
  return std::nullopt;
}

} // namespace soliton::generate
