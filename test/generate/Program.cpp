#include "test/generate/Program.h"

#include <algorithm>

namespace soliton::generate {

const Dim *Program::findDim(const std::string &name) const {
  auto found = std::ranges::find(dims, name, &Dim::name);
  return found == dims.end() ? nullptr : &*found;
}

int Program::addValue(ValueType type) {
  values.push_back(std::move(type));
  return static_cast<int>(values.size()) - 1;
}

int64_t sizeOf(const Program &program, const Formula &formula) {
  return valueOf(formula, [&](const std::string &name) {
    const Dim *dim = program.findDim(name);
    return dim ? dim->size : 0;
  });
}

std::vector<int64_t> extentsOf(const Program &program, const Memory &memory) {
  std::vector<int64_t> extents;
  for (const Formula &extent : memory.shape)
    extents.push_back(memory.isParameter ? sizeOf(program, extent) : tileOf(program, extent.name));
  return extents;
}

std::vector<int64_t> placesOf(const Program &program, const Memory &memory) {
  std::vector<int64_t> extents = extentsOf(program, memory), places = {0};
  for (size_t d = 0; d < extents.size(); ++d) {
    std::vector<int64_t> further;
    int64_t stride = sizeOf(program, memory.strides[d]);
    for (int64_t place : places)
      for (int64_t i = 0; i < extents[d]; ++i)
        further.push_back(place + i * stride);
    places = std::move(further);
  }
  return places;
}

Groups groupsOf(const std::string &dim) {
  size_t slash = dim.find('/');
  return slash == std::string::npos ? Groups{dim} : Groups{dim.substr(0, slash), std::stoll(dim.substr(slash + 1))};
}

int64_t tileOf(const Program &program, const std::string &dim) {
  if (Groups groups = groupsOf(dim); groups.size > 1)
    return tileOf(program, groups.base) / groups.size;
  for (const TilingConstraint &each : program.tilings)
    if (each.dim == dim)
      return each.tile;
  for (const WorkgroupConstraint &each : program.workgroups)
    if (each.dim == dim)
      return each.tile;
  for (const Alias &each : program.aliases)
    if (each.source == dim)
      return valueOf(each.map, [&](const std::string &) { return tileOf(program, each.target); });
  const Dim *whole = program.findDim(dim);
  return whole ? whole->size : 1;
}

Program forTarget(const Program &program, const std::string &target) {
  if (!program.threads)
    return program;
  Program own = program;
  int64_t lanes = target.starts_with("gfx") ? 64 : 32, waves = *program.threads / lanes;
  for (Dim &dim : own.dims)
    if (dim.name == kLanes || dim.name == kWaves)
      dim.size = dim.name == kLanes ? lanes : waves;
  for (WorkgroupConstraint &each : own.workgroups)
    if (each.dim == kWaves)
      each.tile = waves;
  return own;
}

//===-- Mistakes ------------------------------------------------------------------------------===//

namespace {
using Dims = std::vector<std::string>;

bool isSubset(const Dims &part, const Dims &whole) {
  return std::ranges::all_of(part, [&](const std::string &dim) { return std::ranges::count(whole, dim) == 1; });
}
bool sameDims(const Dims &a, const Dims &b) {
  return a.size() == b.size() && isSubset(a, b);
}
/// Each operand is constant along what it lacks, and together they cover the result.
bool covers(const std::vector<const ValueType *> &operands, const Dims &result) {
  Dims seen;
  for (const ValueType *operand : operands) {
    if (!isSubset(operand->dims, result))
      return false;
    seen.insert(seen.end(), operand->dims.begin(), operand->dims.end());
  }
  return std::ranges::all_of(result, [&](const std::string &dim) { return std::ranges::count(seen, dim) > 0; });
}

class Checker {
public:
  explicit Checker(const Program &program) : program(program), defined(program.values.size(), false) {}

  std::optional<std::string> check() {
    checkConstraints();
    checkBlock(program.body);
    int writes = 0;
    forEachOp(program.body, [&](const Op &op) { writes += isStore(op) && isParameter(op); });
    require(writes > 0, "nothing is written");
    std::set<int> made;
    forEachOp(program.body, [&](const Op &op) {
      if (op.kind == OpKind::allocate)
        made.insert(op.memory);
      if (isAccess(op))
        require(isParameter(op) || made.contains(op.memory), "a shared tile is used before it is made");
    });
    return mistake;
  }

private:
  void require(bool holds, const std::string &what) {
    if (!holds && !mistake)
      mistake = what;
  }
  bool isParameter(const Op &op) const { return program.memories[static_cast<size_t>(op.memory)].isParameter; }
  const ValueType &type(int value) const { return program.values[static_cast<size_t>(value)]; }

  void checkConstraints() {
    std::set<std::string> constrained;
    for (const WorkgroupConstraint &each : program.workgroups) {
      require(program.findDim(each.dim) != nullptr, "a constraint on nothing");
      require(constrained.insert(each.dim).second, "two workgroup constraints on `" + each.dim + "`");
    }
    for (const TilingConstraint &each : program.tilings)
      require(program.findDim(each.dim) != nullptr, "a tiling of nothing");
    for (const WaveConstraint &each : program.waves) {
      require(isTiled(each.dim), "waves on a dimension that neither workgroups nor loops share");
      require(each.tile > 0 && tileOf(program, each.dim) % each.tile == 0, "waves do not divide their tile");
    }
    for (const Dim &dim : program.dims)
      require(!dim.dynamic || dim.isStride || isTiled(dim.name), "a tile whose size is not known");
    for (const Memory &memory : program.memories)
      require(memory.strides.empty() || (memory.isParameter && memory.strides.size() == memory.shape.size() &&
                                         (bitsOf(memory.type) % 8 == 0 || memory.type == Element::i1)),
              "strides of what has none");
    // Workgroup dimensions are counted from 0 on without holes.
    std::set<int> used;
    for (const WorkgroupConstraint &each : program.workgroups)
      used.insert(each.workgroupDim);
    require(used.empty() || *used.rbegin() == static_cast<int>(used.size()) - 1, "a hole in the workgroup dimensions");
  }
  bool isTiled(const std::string &dim) const {
    return std::ranges::count(program.tilings, dim, &TilingConstraint::dim) ||
           std::ranges::count(program.workgroups, dim, &WorkgroupConstraint::dim) ||
           std::ranges::count(program.aliases, dim, &Alias::source);
  }

  void checkBlock(const Block &block) {
    std::vector<int> mine = block.arguments;
    size_t numbersBefore = numbers.size();
    for (int argument : block.arguments)
      defined[static_cast<size_t>(argument)] = true;
    for (const Op &op : block.ops) {
      for (int operand : op.operands)
        require(defined[static_cast<size_t>(operand)], "a value is used before it is made");
      checkNumbers(op);
      if (mistake)
        return;
      checkOp(op);
      for (int result : op.results) {
        defined[static_cast<size_t>(result)] = true;
        mine.push_back(result);
      }
    }
    for (int value : block.yields)
      require(defined[static_cast<size_t>(value)], "a value is yielded before it is made");
    for (int value : mine)
      defined[static_cast<size_t>(value)] = false;
    numbers.resize(numbersBefore);
  }

  /// Numbers from data are taken before expressions speak of them.
  void checkNumbers(const Op &op) {
    auto check = [&](const Formula &formula) {
      substitute(formula, [&](const std::string &name) {
        require(!name.starts_with("$DATA") || std::ranges::count(numbers, name), "a number is used before it is taken");
        return Formula::symbol(name);
      });
    };
    if (op.formula)
      check(*op.formula);
    for (const Formula &index : op.indices.value_or(std::vector<Formula>()))
      check(index);
    for (const std::optional<Formula> &bound : op.bounds.value_or(std::vector<std::optional<Formula>>()))
      if (bound)
        check(*bound);
    if (op.kind != OpKind::indexOf)
      return;
    require(type(op.operands[0]).dims.empty() && !isFloat(type(op.operands[0]).element), "a number of a tile");
    numbers.push_back(op.word);
  }

  void checkOp(const Op &op) {
    for (int result : op.results)
      for (const std::string &dim : type(result).dims)
        require(program.findDim(groupsOf(dim).base) != nullptr, "a tile of an unknown dimension");
    if (isAccess(op))
      checkAccess(op);
    else if (op.kind == OpKind::prefetch)
      require(isParameter(op) && !op.along.empty(), "a hint about no parameter");
    else if (op.kind == OpKind::iterate || op.kind == OpKind::conditional)
      checkControl(op);
    else if (!op.results.empty())
      checkCompute(op);
  }

  void checkAccess(const Op &op) {
    const Memory &memory = program.memories[static_cast<size_t>(op.memory)];
    const ValueType &tile = type(op.kind == OpKind::read ? op.results[0] : op.operands[0]);
    require(!memory.shape.empty(), "a memory without dimensions");
    require(tile.element == memory.type, "an access changes the element type");
    size_t mapped = op.indices ? op.indices->size() : tile.dims.size();
    require(mapped == memory.shape.size(), "an access has another rank than its memory");
    require(!op.bounds || op.bounds->size() == tile.dims.size(), "as many bounds as dimensions");
    if (op.kind == OpKind::atomic)
      require(type(op.results[0]) == tile &&
                  (op.word != "cas" || (op.operands.size() > 1 && type(op.operands[1]) == tile)),
              "an atomic gives or expects another type");
    for (size_t i = isStore(op); i < op.operands.size(); ++i)
      require(isSubset(type(op.operands[i]).dims, tile.dims) && !isFloat(type(op.operands[i]).element),
              "a dynamic value does not fit its access");
    if (!memory.isParameter && !op.indices)
      for (size_t d = 0; d < mapped && !mistake; ++d)
        require(tileOf(program, tile.dims[d]) == tileOf(program, memory.shape[d].name),
                "a shared tile of other extents");
  }

  void checkControl(const Op &op) {
    for (const Block &block : op.blocks) {
      require(block.yields.size() == op.results.size(), "a block yields too few values");
      for (size_t i = 0; i < op.results.size() && !mistake; ++i)
        require(type(block.yields[i]) == type(op.results[i]), "a block yields another type");
    }
    if (op.kind == OpKind::iterate) {
      bool isTiled = std::ranges::count(program.tilings, op.word, &TilingConstraint::dim) == 1;
      require(isTiled || (op.formula && !program.findDim(op.word)), "a loop over no tiling");
      require(op.operands.size() == op.results.size() && op.blocks[0].arguments.size() == op.results.size(),
              "a loop carries other values than it gets");
      for (size_t i = 0; i < op.results.size() && !mistake; ++i)
        require(type(op.operands[i]) == type(op.results[i]) && type(op.blocks[0].arguments[i]) == type(op.results[i]),
                "a carried value changes its type");
    }
    if (mistake)
      return;
    for (const Block &block : op.blocks)
      checkBlock(block);
  }

  void checkCompute(const Op &op) {
    const ValueType &result = type(op.results[0]);
    std::vector<const ValueType *> operands;
    for (int operand : op.operands)
      operands.push_back(&type(operand));
    auto sameElements = [&](size_t from) {
      return std::all_of(operands.begin() + static_cast<ptrdiff_t>(from), operands.end(),
                         [&](const ValueType *each) { return each->element == operands.back()->element; });
    };
    switch (op.kind) {
    case OpKind::unary:
    case OpKind::print:
      return require(*operands[0] == result, "a unary op changes the type");
    case OpKind::binary:
      return require(covers(operands, result.dims) && sameElements(0) && operands[0]->element == result.element,
                     "a binary op mixes types");
    case OpKind::compare:
      return require(covers(operands, result.dims) && sameElements(0) && result.element == Element::i1,
                     "a comparison mixes types");
    case OpKind::select:
      return require(covers(operands, result.dims) && sameElements(1) && operands[0]->element == Element::i1 &&
                         operands[1]->element == result.element,
                     "a choice mixes types");
    case OpKind::cast:
      return require(operands[0]->dims == result.dims, "a cast changes the dimensions");
    case OpKind::broadcast:
      return require(isSubset(operands[0]->dims, result.dims) && operands[0]->element == result.element,
                     "a broadcast loses dimensions");
    case OpKind::permute:
      return require(sameDims(operands[0]->dims, result.dims) && operands[0]->element == result.element,
                     "a permutation of other dimensions");
    case OpKind::applyExpr:
      return require(covers(operands, result.dims), "apply_expr of other dimensions");
    case OpKind::reduce:
      return checkReduce(op, operands, result);
    case OpKind::scan:
      return checkScan(op, operands, result);
    case OpKind::argReduce:
      return checkArgReduce(op, operands, result);
    case OpKind::sort:
      require(op.results.size() == operands.size() && std::ranges::count(operands[0]->dims, op.dim) == 1,
              "a sort along a dimension that is not there");
      for (size_t i = 0; !mistake && i < operands.size(); ++i) {
        ValueType sorted = *operands[i];
        std::ranges::replace(sorted.dims, op.dim, op.into.empty() ? op.dim : op.into);
        require(sorted == type(op.results[i]) && operands[i]->dims == operands[0]->dims, "a sort to other types");
      }
      return;
    case OpKind::rearrange:
      return require(operands[0]->element == result.element &&
                         (op.indices ? op.indices->size() == operands[0]->dims.size()
                                     : elementsOf(operands[0]->dims) == elementsOf(result.dims)),
                     "elements move to another type");
    case OpKind::concatenate:
      return checkConcatenate(op, operands, result);
    case OpKind::bitcast:
      return checkBitcast(*operands[0], result);
    case OpKind::shuffle:
      return require(*operands[0] == result && std::ranges::count(result.dims, op.dim) == 1 &&
                         (operands.size() == 1 || *operands[1] == ValueType{result.dims, Element::i32}),
                     "a shuffle to another type");
    case OpKind::mma:
      return checkMma(operands, result), checkScales(operands);
    default:
      return;
    }
  }

  int64_t elementsOf(const Dims &dims) const {
    int64_t count = 1;
    for (const std::string &dim : dims)
      count *= tileOf(program, dim);
    return count;
  }

  void checkConcatenate(const Op &op, const std::vector<const ValueType *> &operands, const ValueType &result) {
    int64_t extent = 0;
    require(op.along.size() == operands.size(), "pieces that lie nowhere");
    for (size_t i = 0; !mistake && i < operands.size(); ++i) {
      ValueType piece = *operands[i];
      extent += tileOf(program, op.along[i]);
      require(std::ranges::count(piece.dims, op.along[i]) == 1, "a piece that lies nowhere");
      std::ranges::replace(piece.dims, op.along[i], op.dim);
      require(piece == result, "a piece of another type");
    }
    require(extent == tileOf(program, op.dim), "pieces do not fill the whole");
  }

  /// Of two widths the wider one counts groups along the last dimension.
  void checkBitcast(const ValueType &from, const ValueType &to) {
    const ValueType &narrow = bitsOf(from.element) < bitsOf(to.element) ? from : to;
    const ValueType &wide = &narrow == &from ? to : from;
    int64_t group = bitsOf(wide.element) / bitsOf(narrow.element);
    Dims dims = narrow.dims;
    if (group > 1 && !dims.empty())
      dims.back() += "/" + std::to_string(group);
    require(wide.dims == dims && bitsOf(wide.element) == group * bitsOf(narrow.element) &&
                bitsOf(wide.element) % 8 == 0,
            "bits of another width");
  }

  void checkReduce(const Op &op, const std::vector<const ValueType *> &operands, const ValueType &result) {
    Dims rest = operands[0]->dims;
    require(std::erase(rest, op.dim) == 1, "a reduction along a dimension that is not there");
    require(rest == result.dims && operands[0]->element == result.element, "a reduction to another type");
    require(operands.size() == 1 || *operands[1] == result, "a reduction from another type");
  }

  void checkScan(const Op &op, const std::vector<const ValueType *> &operands, const ValueType &result) {
    Dims rest = operands[0]->dims;
    require(std::erase(rest, op.dim) == 1, "a scan along a dimension that is not there");
    require(*operands[0] == result, "a scan to another type");
    require(operands.size() == 1 || *operands[1] == ValueType{rest, result.element}, "a scan from another type");
  }

  void checkArgReduce(const Op &op, const std::vector<const ValueType *> &operands, const ValueType &result) {
    Dims rest = operands[0]->dims;
    require(std::erase(rest, op.dim) == 1, "an extreme along a dimension that is not there");
    require(op.results.size() == 2 && rest == result.dims && operands[0]->element == result.element,
            "an extreme of another type");
    if (mistake)
      return;
    const ValueType &index = type(op.results[1]);
    require(index == ValueType{rest, Element::i32} || index == ValueType{rest, Element::i64},
            "a place of another type");
    require(operands.size() == 1 || (operands.size() == 3 && *operands[1] == result && *operands[2] == index),
            "an extreme from another type");
  }

  void checkMma(const std::vector<const ValueType *> &operands, const ValueType &result) {
    require(*operands[2] == result && result.dims.size() >= 2, "an mma changes its accumulator");
    if (mistake)
      return;
    size_t rank = result.dims.size();
    auto operandFits = [&](const ValueType &operand, const std::string &own, std::string &contracted) {
      Dims rest = operand.dims;
      if (rest.size() != rank || std::erase(rest, own) != 1)
        return false;
      for (size_t d = 0; d + 2 < rank; ++d)
        if (std::erase(rest, result.dims[d]) != 1)
          return false;
      contracted = rest.size() == 1 ? rest[0] : "";
      return rest.size() == 1 && std::ranges::count(result.dims, contracted) == 0;
    };
    std::string left, right;
    require(operandFits(*operands[0], result.dims[rank - 2], left) &&
                operandFits(*operands[1], result.dims[rank - 1], right) && left == right,
            "an mma of other dimensions");
  }

  /// One for 32 elements of each factor, along its last dimension.
  void checkScales(const std::vector<const ValueType *> &operands) {
    require(operands.size() == 3 || operands.size() == 5, "an mma of other operands");
    for (size_t i = 3; !mistake && i < operands.size(); ++i) {
      Dims expected = operands[i - 3]->dims;
      const Dim *whole = program.findDim(expected.back());
      require(whole && whole->size % 32 == 0 && tileOf(program, whole->name) % 32 == 0, "a part of a block");
      expected.back() += "/32";
      require(operands[i]->dims == expected && operands[i]->element == Element::f8e8m0fnu, "scales of other blocks");
    }
  }

  const Program &program;
  std::vector<bool> defined;
  /// Symbols of numbers from data.
  std::vector<std::string> numbers;
  std::optional<std::string> mistake;
};
} // namespace

std::optional<std::string> findMistake(const Program &program) {
  return Checker(program).check();
}

} // namespace soliton::generate
