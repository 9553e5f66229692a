#include "soliton/frontend/Ops.h"
#include "soliton/frontend/SimtTracing.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::frontend;

Kernel::Kernel(std::string name, std::vector<Constraint> constraints, Place place)
    : owner(std::make_shared<Program>()) {
  sym::collectMistakes(true);
  owner->name = std::move(name);
  owner->place = place;
  owner->regions[0].place = std::move(place);
  for (const Constraint &constraint : constraints)
    owner->constraints.push_back(constraint.data().value);
  if (!isIdentifier(owner->name))
    report(*owner, DiagId::NameInvalid, owner->place, "the kernel's name " + quoted(owner->name) + " is no identifier",
           "use letters, digits and `_`, starting with a letter");
  distributeLanes(owner);
  checkConstraints(*owner);
}

const std::string &Kernel::name() const {
  return owner->name;
}

const std::vector<Diagnostic> &Kernel::diagnostics() const {
  return owner->diagnostics;
}

/// Reports a parameter whose name is no identifier or taken.
static void checkParameterName(Program &program, const std::string &name, const Place &place) {
  if (!isIdentifier(name))
    report(program, DiagId::NameInvalid, place, "the parameter's name " + quoted(name) + " is no identifier",
           "use letters, digits and `_`, starting with a letter");
  for (const Parameter &other : program.parameters)
    if (other.name == name) {
      report(program, DiagId::MemoryRepeated, place,
             "kernel " + quoted(program.name) + " has two parameters named " + quoted(name), "give one another name",
             {{other.place, "the first one"}});
      return;
    }
}

MemoryRef Kernel::memory(std::string name, std::vector<Expr> shape, Expr space, ElementType type, Place place) {
  checkParameterName(*owner, name, place);
  if (shape.empty())
    report(*owner, DiagId::MemoryRank, place, "memory " + quoted(name) + " has no dimensions, expected at least one",
           "give it a shape, e.g. `{M, K}`; numbers are passed with `Kernel::scalar`");
  for (Expr extent : shape)
    checkDefined(*owner, "the shape of " + quoted(name), extent, place);
  if (checkDefined(*owner, "the address space of " + quoted(name), space, place) && !space.isSymbol())
    report(*owner, DiagId::AddressSpaceUnknown, place,
           "the address space of " + quoted(name) + " is " + quoted(space) +
               ", expected `global`, `shared` or a symbol");
  for (size_t i = 0; i != shape.size(); ++i)
    if (dimInfo(shape[i]) && std::find(shape.begin(), shape.begin() + i, shape[i]) != shape.begin() + i)
      report(*owner, DiagId::MemoryDims, place,
             "memory " + quoted(name) + " has the dimension " + quoted(shape[i]) + " twice in " +
                 quoted(frontend::toString(shape)),
             "use another symbol with the same size");
  owner->parameters.push_back(
      {.name = std::move(name), .shape = std::move(shape), .space = space, .type = type, .place = std::move(place)});
  return {owner, static_cast<uint32_t>(owner->parameters.size() - 1)};
}

/// Whether strides are what strides can be.
static void checkStrides(Program &program, const std::string &name, const std::vector<Expr> &strides, size_t rank,
                         ElementType type, const Place &place) {
  auto wrong = [&](const std::string &what, std::string hint) {
    report(program, DiagId::MemoryStrides, place, what, std::move(hint));
  };
  if (strides.size() != rank)
    wrong("memory " + quoted(name) + " has " + std::to_string(strides.size()) + " strides for " + std::to_string(rank) +
              " dimensions, expected one for each",
          "the stride of a dimension in which elements follow each other is 1");
  if (type != i1 && bits(type.resolve(DType::f8e4m3fn)) < 8)
    wrong("memory " + quoted(name) + " has strides, and its elements share bytes",
          "pass the packed bytes as `i8` and `bitcast` what is read");
  for (Expr stride : strides)
    if (checkDefined(program, "a stride of " + quoted(name), stride, place) && stride.constantValue().value_or(0) < 0)
      wrong("memory " + quoted(name) + " has the stride " + quoted(stride) + ", expected 0 or more",
            "begin at the other end, and count backwards by a mapping");
}

MemoryRef Kernel::memory(std::string name, std::vector<Expr> shape, Expr space, ElementType type, MemoryOptions options,
                         Place place) {
  if (!options.strides.empty())
    checkStrides(*owner, name, options.strides, shape.size(), type, place);
  MemoryRef result = memory(std::move(name), std::move(shape), space, type, std::move(place));
  owner->parameters.back().strides = std::move(options.strides);
  owner->parameters.back().isStable = options.stable;
  return result;
}

MemoryRef Kernel::allocate(std::string name, std::vector<Expr> dims, ElementType type, Place place) {
  for (Expr dim : dims)
    if (dim.isDefined() && !dimInfo(dim))
      report(*owner, DiagId::MemoryDims, place,
             "the shared tile " + quoted(name) + " has the dimension " + quoted(dim) +
                 ", expected a symbol or one divided by a number",
             "it holds the tile that a workgroup has of each of its dimensions");
  MemoryRef tile = memory(std::move(name), std::move(dims), shared, type, std::move(place));
  owner->parameters.back().isAllocated = true;
  return tile;
}

Value Kernel::scalar(std::string name, ElementType type, Place place) {
  checkParameterName(*owner, name, place);
  uint32_t index = static_cast<uint32_t>(owner->parameters.size());
  ValueId id = addValue(*owner, {.tile = {{}, type}, .place = place, .parameter = index});
  owner->parameters.push_back(
      {.name = std::move(name), .isScalar = true, .type = type, .place = std::move(place), .value = id});
  return {owner, id};
}

Value Kernel::fill(std::vector<Expr> dims, ElementType type, Operand number, OpOptions options, Place place) {
  if (!number.isNumber())
    return splat(std::move(dims), number.value, std::move(options), std::move(place));
  if (!checkDims(*owner, DiagId::TileDims, "the tile", dims, place))
    return poisonedValue(owner, place);
  return constantTile(owner, dims, type, number, options.tag, place);
}

Value Kernel::splat(std::vector<Expr> dims, Value scalar, OpOptions options, Place place) {
  Tracer tracer("splat", place, {scalar}, owner);
  if (!tracer.ok() || !checkDims(*owner, DiagId::TileDims, "the tile", dims, place))
    return tracer.poison();
  if (!tracer.info(0).parameter) {
    tracer.error(DiagId::SplatScalar,
                 "`splat` got a tile of " + quoted(frontend::toString(tracer.tile(0))) +
                     ", expected a scalar parameter",
                 "use `broadcast` for tiles");
    return tracer.poison();
  }
  return tracer.record({.kind = OpKind::splat}, {std::move(dims), tracer.tile(0).type}, options.tag);
}

Value Kernel::self_index(Expr dim, ElementType type, OpOptions options, Place place) {
  Tracer tracer("self_index", place, owner);
  if (!checkDims(*owner, DiagId::TileDims, "`self_index`", {dim}, place))
    return tracer.poison();
  if (isFloat(type) || type == i1) {
    tracer.error(DiagId::ElementwiseType,
                 "`self_index` of " + quoted(lang::toString(type)) + ", expected an integer type",
                 "use `i32` and cast the result");
    return tracer.poison();
  }
  Value index = tracer.record({.kind = OpKind::selfIndex, .expr = dim}, {{dim}, type}, options.tag);
  std::optional<Expr> start = owner->startOf(dim);
  return start ? apply_expr(index, [&](Expr at) { return at + *start; }, {}, place) : index;
}

//===- Loops --------------------------------------------------------------------------===//

/// Whether a loop over `axis` can start here; reports why not.
static bool checkLoop(Tracer &tracer, Expr axis, const std::optional<Expr> &count) {
  Program &program = tracer.program();
  if (!tracer.checkDefined("the dimension of the loop", axis) ||
      (count && !tracer.checkDefined("the number of iterations", *count)))
    return false;
  for (RegionId region = program.current; region != 0; region = program.regions[region].parent)
    if (program.regions[region].axis == axis) {
      tracer.error(DiagId::IterateNested, "a loop over " + quoted(axis) + " inside a loop over " + quoted(axis),
                   "split the dimension into two symbols", {{program.regions[region].place, "the outer loop"}});
      return false;
    }
  // Groups of elements are walked with the elements.
  bool isTiled = program.find<TilingConstraint>([&](const TilingConstraint &each) { return each.dim == axis; });
  if ((count && axis.isSymbol()) || isTiled || program.find<SymbolicAlias>([&](const SymbolicAlias &alias) {
        return alias.source == axis && program.findFor<TilingConstraint>(alias.target);
      }))
    return true;
  std::vector<std::string> tiled;
  for (const AnyConstraint &constraint : program.constraints)
    if (auto *tiling = std::get_if<TilingConstraint>(&constraint))
      tiled.push_back(sym::toString(tiling->dim));
  std::string message = "a loop over " + quoted(axis) + ", which has no tiling constraint";
  if (!tiled.empty())
    message += "; those with one are " + listOf(tiled);
  tracer.error(DiagId::IterateWithoutTiling, message,
               "add `TilingConstraint(" + sym::toString(axis) + ", BLOCK_" + sym::toString(axis) + ")`");
  return false;
}

/// Compares what the body returned with what it was given.
static bool checkYields(Program &program, const std::vector<Value> &inits, const std::vector<Value> &yields,
                        const Place &place) {
  if (yields.size() != inits.size()) {
    report(program, DiagId::LoopCount, place,
           "the loop's body returns " + std::to_string(yields.size()) + " values, expected " +
               std::to_string(inits.size()) + ", one for each that it carries");
    return false;
  }
  bool good = true;
  for (size_t i = 0; i != inits.size(); ++i) {
    const ValueInfo &first = program.values[inits[i].id()];
    if (yields[i].program().get() != &program) {
      report(program, DiagId::UndefinedValue, place, "the loop's body returns a value that this kernel did not make");
      good = false;
      continue;
    }
    const ValueInfo &next = program.values[yields[i].id()];
    if (next.poisoned) {
      good = false;
      continue;
    }
    if (!program.encloses(next.region, program.current)) {
      report(program, DiagId::ValueOutOfLoop, place,
             "the loop's body returns " + describe(program, yields[i].id()) + ", which exists only inside another loop",
             "return it from that loop's body", {{next.place, "it is made here"}});
      good = false;
    } else if (next.tile != first.tile) {
      report(program, DiagId::LoopTypeMismatch, next.place,
             "the loop carries " + quoted(toString(first.tile)) + " but its body returns " +
                 quoted(toString(next.tile)),
             next.tile.dims == first.tile.dims ? "cast the result to " + quoted(lang::toString(first.tile.type))
                                               : "start with a tile of the result's dimensions",
             {{first.place, "the first value"}});
      good = false;
    }
  }
  return good;
}

namespace {
/// Ops go to `inner` while this lives, also if the author's body throws.
struct RegionScope {
  RegionScope(Program &program, RegionId inner) : program(program), outer(program.current) { program.current = inner; }
  ~RegionScope() { program.current = outer; }
  Program &program;
  RegionId outer;
};
} // namespace

std::vector<Value> Kernel::iterateAll(Expr axis, std::vector<Value> inits, const LoopBody &body,
                                      const LoopOptions &options, const Place &place) {
  Program &program = *owner;
  Tracer tracer = inits.empty() ? Tracer("iterate", place, owner) : Tracer("iterate", place, inits, owner);
  for (size_t i = 0; i != inits.size(); ++i)
    inits[i] = tracer.operand(i);
  bool good = tracer.ok() && checkLoop(tracer, axis, options.count);

  RegionId inner = static_cast<RegionId>(program.regions.size());
  program.regions.push_back({.parent = program.current, .axis = axis, .place = place});
  const TilingConstraint *tiling = program.findFor<TilingConstraint>(axis);
  if (tiling && program.speaksOfSet(tiling->options.start))
    program.regions[inner].start = program.withNumbers(*tiling->options.start);
  std::vector<Value> yields, arguments;
  for (const Value &init : inits) {
    bool known = init.program() == owner && !init.isPoisoned();
    ValueInfo info{.tile = known ? program.values[init.id()].tile : TileInfo(),
                   .region = inner,
                   .place = place,
                   .poisoned = !known};
    arguments.push_back({owner, addValue(program, std::move(info))});
    program.regions[inner].arguments.push_back(arguments.back().id());
  }
  // The body is traced even if the loop is wrong, so that its own mistakes are found too.
  bool initsKnown = std::all_of(inits.begin(), inits.end(), [&](const Value &v) { return v.program() == owner; });
  {
    RegionScope scope(program, inner);
    yields = body(arguments);
    good = initsKnown && checkYields(program, inits, yields, place) && good;
  }
  return closeLoop(tracer, axis, inner, inits, yields, good, options);
}

std::vector<Value> Kernel::closeLoop(frontend::Tracer &tracer, Expr axis, uint32_t body,
                                     const std::vector<Value> &inits, const std::vector<Value> &yields, bool good,
                                     const LoopOptions &options) {
  std::vector<Value> results;
  if (!good) {
    for (size_t i = 0; i != inits.size(); ++i)
      results.push_back(tracer.poison());
    return results;
  }
  for (const Value &value : yields)
    owner->regions[body].yields.push_back(value.id());
  std::optional<Expr> count = options.count;
  // A dimension that was set has as many tiles as it says, and so has one whose constraint counts by symbols that were.
  const TilingConstraint *tiling = owner->findFor<TilingConstraint>(axis);
  if (!count && tiling && owner->speaksOfSet(tiling->options.iters))
    count = tiling->options.iters;
  else if (!count && tiling && !tiling->options.iters)
    if (owner->numberOf(axis) || owner->regions[body].start)
      count = sym::max(
          sym::ceildiv(owner->numberOf(axis).value_or(axis) - owner->regions[body].start.value_or(0), tiling->tile), 0);
  uint32_t index =
      tracer.recordEffect({.kind = OpKind::iterate, .expr = axis, .count = count, .body = body}, options.tag);
  for (const Value &init : inits) {
    TileInfo tile = owner->values[init.id()].tile;
    ValueId id = addValue(
        *owner, {.tile = std::move(tile), .region = owner->current, .place = owner->ops[index].place, .op = index});
    owner->ops[index].results.push_back(id);
    results.push_back({owner, id});
  }
  return results;
}

void Kernel::continue_while(Expr condition, OpOptions options, Place place) {
  Tracer tracer("continue_while", std::move(place), owner);
  if (!tracer.checkDefined("the condition", condition))
    return;
  const Region &region = owner->regions[owner->current];
  bool isSecond = std::any_of(region.ops.begin(), region.ops.end(),
                              [&](uint32_t op) { return owner->ops[op].kind == OpKind::exit; });
  if (!region.axis || isSecond) {
    tracer.error(DiagId::LoopExit,
                 isSecond ? "a loop has two `continue_while`" : "`continue_while` does not stand in the body of a loop",
                 isSecond ? "combine the conditions, e.g. `a && b`"
                          : "write it into the loop's body, not into a branch of it: `select` what it depends on");
    return;
  }
  tracer.recordEffect({.kind = OpKind::exit, .expr = condition}, options.tag);
}

/// Nothing, or a loop that asks at the end of each iteration whether there is another one.
std::vector<Value> Kernel::whileAll(std::vector<Value> inits, const LoopCondition &condition, const LoopBody &body,
                                    const OpOptions &options, const Place &place) {
  size_t known = owner->regions.size();
  Expr axis = Expr::symbol("WHILE_" + std::to_string(known));
  LoopOptions loop{.tag = options.tag, .count = Expr(INT32_MAX)};
  auto iteration = [&](const std::vector<Value> &values) {
    std::vector<Value> next = body(values);
    // A body that returns too little is reported by the loop.
    if (next.size() == values.size())
      continue_while(condition(next), {}, place);
    return next;
  };
  auto some = [&] { return iterateAll(axis, inits, iteration, loop, place); };
  return conditionalAll(condition(inits), some, [&] { return inits; }, {}, place);
}

//===- Conditionals ---------------------------------------------------------------------===//

Value Kernel::poisoned(const Place &place) const {
  return poisonedValue(owner, place);
}

uint32_t Kernel::traceBranch(const BranchBody &body, const Place &place, std::vector<Value> &yields) {
  auto inner = static_cast<RegionId>(owner->regions.size());
  owner->regions.push_back({.parent = owner->current, .place = place});
  RegionScope scope(*owner, inner);
  yields = body();
  return inner;
}

/// Whether both branches return tiles of the same types, made where they may be.
static bool checkBranches(Program &program, const std::vector<Value> (&yields)[2], const RegionId (&regions)[2],
                          const Place &place) {
  if (yields[0].size() != yields[1].size()) {
    report(program, DiagId::ConditionalBranches, place,
           "one branch returns " + std::to_string(yields[0].size()) + " values and the other " +
               std::to_string(yields[1].size()) + ", expected as many",
           "return from the other branch what the value is there, e.g. a `fill` of its type");
    return false;
  }
  for (size_t i = 0; i != yields[0].size(); ++i) {
    const TileInfo *tiles[2] = {};
    for (int branch : {0, 1}) {
      const Value &value = yields[branch][i];
      if (value.program().get() != &program) {
        report(program, DiagId::UndefinedValue, place, "a branch returns a value that this kernel did not make");
        return false;
      }
      const ValueInfo &info = program.values[value.id()];
      if (info.poisoned)
        return false;
      if (!program.encloses(info.region, regions[branch])) {
        report(program, DiagId::ValueOutOfLoop, place,
               "a branch returns " + describe(program, value.id()) + ", which exists only inside another region",
               "return it from that region", {{info.place, "it is made here"}});
        return false;
      }
      tiles[branch] = &info.tile;
    }
    if (*tiles[0] != *tiles[1]) {
      report(program, DiagId::ConditionalBranches, place,
             "one branch returns " + quoted(toString(*tiles[0])) + " and the other " + quoted(toString(*tiles[1])) +
                 ", expected the same",
             "`cast` or `broadcast` one of them");
      return false;
    }
  }
  return true;
}

std::vector<Value> Kernel::conditionalAll(Expr condition, const BranchBody &then, const BranchBody &otherwise,
                                          const OpOptions &options, const Place &place) {
  Tracer tracer("conditional", place, owner);
  bool good = tracer.checkDefined("the condition", condition);
  // Branches are traced even if the condition is wrong, so that their own mistakes are found too.
  std::vector<Value> yields[2];
  const RegionId regions[2] = {traceBranch(then, place, yields[0]), traceBranch(otherwise, place, yields[1])};
  good = checkBranches(*owner, yields, regions, place) && good;
  std::vector<Value> results;
  if (!good) {
    for (size_t i = 0; i != yields[0].size(); ++i)
      results.push_back(tracer.poison());
    return results;
  }
  for (int branch : {0, 1})
    for (const Value &value : yields[branch])
      owner->regions[regions[branch]].yields.push_back(value.id());
  uint32_t index = tracer.recordEffect(
      {.kind = OpKind::conditional, .expr = condition, .body = regions[0], .otherwise = regions[1]}, options.tag);
  for (const Value &value : yields[0]) {
    TileInfo tile = owner->values[value.id()].tile;
    ValueId id = addValue(*owner, {.tile = std::move(tile), .region = owner->current, .place = place, .op = index});
    owner->ops[index].results.push_back(id);
    results.push_back({owner, id});
  }
  return results;
}
