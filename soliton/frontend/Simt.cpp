//===- Simt.cpp - Lanes as elements of a tile --------------------------------------===//
//
// What `Simt` and `elements` stand for. A lane's value is an element of a tile `[WAVES, LANES]`; the workgroup has all
// of it, each wave a row, so that lane `l` of wave `w` holds element (w, l):
//
//   Simt(256, {n})   WorkgroupConstraint(WAVES, WAVES, 0, {at 0, n workgroups}), WaveConstraint(WAVES, 1)
//   WAVES = 256 / LANES, LANES = the lanes of the target's waves
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/Simt.h"

#include "soliton/frontend/SimtTracing.h"

#include <algorithm>
#include <limits>

using namespace soliton;
using namespace soliton::frontend;

//===- Lanes and their ids ----------------------------------------------------------===//

bool frontend::isLaneSymbol(Expr symbol) {
  std::string_view name = symbol.symbolName();
  return name == "$LANE" || name == "$WAVE" || name.starts_with("$AT_");
}

bool frontend::checkLane(Tracer &tracer) {
  if (!tracer.program().lanes.empty())
    return true;
  tracer.error(DiagId::SimtLane,
               quoted(tracer.what()) + " speaks of one lane, but kernel " + quoted(tracer.program().name) +
                   " speaks of tiles",
               "give the kernel `Simt(threads, {workgroups})`, or speak of a tile's elements: `elements(tile, …)`");
  return false;
}

/// The place of a lane's tile that an id is.
static std::optional<Expr> placeOf(Expr symbol, const std::vector<Expr> &dims) {
  Expr dim = symbol == lane_id()   ? lanes()
             : symbol == wave_id() ? waves()
                                   : Expr::symbol(symbol.symbolName().substr(std::string_view("$AT_").size()));
  auto at = std::find(dims.begin(), dims.end(), dim);
  if (at == dims.end())
    return std::nullopt;
  return IndexMapping::iterator(static_cast<int>(at - dims.begin()));
}

bool frontend::checkLaneSymbols(Tracer &tracer, Expr expr) {
  const std::vector<Expr> &dims = tracer.program().lanes.back().dims;
  for (Expr symbol : sym::symbolsOf(expr)) {
    if (!isLaneSymbol(symbol) || placeOf(symbol, dims))
      continue;
    bool isId = !symbol.symbolName().starts_with("$AT_");
    std::string what = symbol == lane_id()   ? "`lane_id()`"
                       : symbol == wave_id() ? "`wave_id()`"
                                             : quoted("coordinate(" + std::string(symbol.symbolName().substr(4)) + ")");
    tracer.error(DiagId::SimtLane,
                 quoted(tracer.what()) + " speaks of " + what + ", but here an element of " +
                     quoted(frontend::toString(dims)) + " is spoken of",
                 isId ? "an element has `coordinate(dim)` for each of its dimensions"
                      : "a lane has `thread_id()`, `lane_id()` and `wave_id()`; an element its own dimensions");
    return false;
  }
  return true;
}

Expr frontend::onPlaces(Expr expr, const std::vector<Expr> &dims) {
  sym::Substitution places;
  for (Expr symbol : sym::symbolsOf(expr))
    if (isLaneSymbol(symbol))
      places.set(symbol, *placeOf(symbol, dims));
  return sym::substitute(expr, places);
}

Expr frontend::vectorDim(Program &program, int64_t n) {
  Expr dim = lang::vector(n);
  if (!isVectorDim(program, dim))
    program.ownSizes.emplace_back(dim, n);
  return dim;
}

bool frontend::isVectorDim(const Program &program, Expr dim) {
  return dim.symbolName().starts_with("VECTOR_") && std::any_of(program.ownSizes.begin(), program.ownSizes.end(),
                                                                [&](const auto &own) { return own.first == dim; });
}

void frontend::distributeLanes(const std::shared_ptr<Program> &program) {
  auto *found = program->findAny<Simt>();
  if (!found)
    return;
  Simt simt = *found;
  auto refuse = [&](std::string message, std::string hint, const Place &other) {
    report(*program, DiagId::SimtThreads, simt.place, std::move(message), std::move(hint), {{other, "the other one"}});
  };
  if (auto *wave = program->findAny<WaveConstraint>())
    refuse("`Simt` has a lane in every wave, but " + quoted(wave->dim) + " is distributed over waves too",
           "leave `Simt` out and speak of a tile's elements: `elements(tile, …)`", wave->place);
  auto *workgroup = program->findAny<WorkgroupConstraint>();
  if (workgroup && !simt.grid.empty())
    refuse("`Simt` says a grid, and the workgroups of " + quoted(workgroup->dim) + " say another one",
           "leave one of them out", workgroup->place);
  if (auto *grid = program->findAny<GridConstraint>())
    refuse("a kernel with `Simt` has a grid constraint", "say `Simt(threads, {workgroups})`", grid->place);
  bool isPrimary = workgroup == nullptr;
  auto nowhere = [](Expr) { return Expr(0); };
  std::vector<Expr> grid = simt.grid.empty() ? std::vector<Expr>{1} : simt.grid;
  WorkgroupOptions all{.apply_fn = nowhere, .primary = isPrimary, .iters = grid[0]};
  program->constraints.push_back(WorkgroupConstraint(waves(), waves(), 0, all, simt.place));
  program->constraints.push_back(WaveConstraint(waves(), 1, simt.place));
  for (size_t dim = 1; dim < grid.size(); ++dim) {
    Expr along = Expr::symbol("GRID_" + std::to_string(dim));
    program->ownSizes.emplace_back(along, 1);
    program->constraints.push_back(
        WorkgroupConstraint(along, 1, static_cast<int>(dim), {.apply_fn = nowhere, .iters = grid[dim]}, simt.place));
  }
  if (!program->findAny<HardwareConstraint>())
    program->constraints.push_back(HardwareConstraint{.place = simt.place});
  program->lanes.push_back({.dims = {waves(), lanes()}, .mask = {}});
}

//===- Values of lanes -----------------------------------------------------------------===//

Value Kernel::per_lane(Expr expr, ElementType type, OpOptions options, Place place) {
  Tracer tracer("per_lane", place, {}, owner);
  if (!tracer.checkDefined("the expression", expr) || !checkLane(tracer) || !checkLaneSymbols(tracer, expr))
    return tracer.poison();
  std::vector<Expr> dims = owner->lanes.back().dims;
  std::vector<Value> indices;
  for (Expr dim : dims)
    indices.push_back(broadcast(self_index(dim, type, {}, place), dims, {}, place));
  Expr onIndices = onPlaces(expr, dims);
  auto evaluate = [&](const std::vector<Expr> &arguments) {
    sym::Substitution names;
    for (size_t k = 0; k != dims.size(); ++k)
      names.set(IndexMapping::iterator(static_cast<int>(k)), arguments[k]);
    return sym::substitute(onIndices, names);
  };
  return apply_expr(indices, evaluate, std::move(options), place);
}

Value frontend::insideTensor(Kernel kernel, const std::vector<Expr> &dims, const Place &place) {
  Expr inside = 1;
  for (Expr dim : dims)
    inside = sym::logicalAnd(inside, sym::lt(coordinate(dim), dim));
  return ne(kernel.per_lane(sym::select(inside, 1, 0), i32, {}, place), 0, {}, place);
}

MemoryRef Kernel::shared_array(std::string name, std::vector<Expr> extents, ElementType type, Place place) {
  std::vector<Expr> dims;
  for (size_t k = 0; k != extents.size(); ++k) {
    dims.push_back(Expr::symbol("ARRAY_" + std::to_string(owner->ownSizes.size())));
    if (checkDefined(*owner, "the extent of " + quoted(name), extents[k], place))
      owner->ownSizes.emplace_back(dims.back(), extents[k]);
  }
  return allocate(std::move(name), std::move(dims), type, std::move(place));
}

Expr lang::vector(int64_t n) {
  return symbol("VECTOR_" + std::to_string(n));
}

Value lang::component(const Value &vector, int64_t index, Place place) {
  Tracer tracer("component", place, {vector});
  if (!tracer.ok())
    return tracer.poison();
  Program &program = tracer.program();
  std::vector<Expr> dims = tracer.tile(0).dims;
  auto own = std::find_if(program.ownSizes.begin(), program.ownSizes.end(),
                          [&](const auto &size) { return !dims.empty() && size.first == dims.back(); });
  if (own == program.ownSizes.end() || !isVectorDim(program, dims.back()) || index < 0 ||
      index >= own->second.constantValue()) {
    tracer.error(DiagId::SimtValue,
                 "`component` " + std::to_string(index) + " of " + quoted(frontend::toString(tracer.tile(0))) +
                     ", expected a lane's vector that has it",
                 "`load(x(i), {.vector = 4})` makes one", {tracer.noteOn(0)});
    return tracer.poison();
  }
  Kernel kernel(vector.program());
  Value at = eq(kernel.self_index(dims.back(), i32, {}, place), index, {}, place);
  Value number = tracer.operand(0);
  // `sum` of one element and zeros; NaN times nothing is never computed.
  return sum(select(at, number, kernel.fill(dims, number.type(), 0, {}, place), {}, place), dims.back(), {}, place);
}

//===- The other lanes -----------------------------------------------------------------===//

/// Whether `value` is one of each lane of a wave.
static bool checkShuffled(Tracer &tracer) {
  if (!tracer.ok() || !checkLane(tracer))
    return false;
  if (hasDim(tracer.tile(0).dims, lanes()))
    return true;
  tracer.error(DiagId::ShuffleSource,
               quoted(tracer.what()) + " of " + quoted(frontend::toString(tracer.tile(0))) +
                   ", expected a value that each lane of a wave has its own of",
               "lanes exchange values in a kernel with `Simt`", {tracer.noteOn(0)});
  return false;
}

/// `index`: for `idx`. A truth value travels as a number.
static Value exchange(const char *name, std::string_view mode, const Value &value, std::optional<Value> index,
                      int64_t offset, const OpOptions &options, const Place &place) {
  Tracer given(name, place, {value});
  if (!checkShuffled(given))
    return given.poison();
  if (offset < 0) {
    given.error(DiagId::ShuffleSource,
                quoted(name) + " by " + std::to_string(offset) + ", expected a number that is not negative",
                "`shuffle_up` and `shuffle_down` go the two ways");
    return given.poison();
  }
  if (value.type() == i1)
    return ne(exchange(name, mode, cast(value, i32, {}, place), index, offset, options, place), 0, {}, place);
  std::vector<Value> operands{value};
  if (index)
    operands.push_back(broadcast(*index, value.dims(), {}, place));
  Tracer tracer(name, place, operands);
  if (!tracer.ok())
    return tracer.poison();
  return tracer.record({.kind = OpKind::shuffle, .function = mode, .constant = offset, .expr = lanes()}, tracer.tile(0),
                       options.tag);
}

Value lang::shuffle(const Value &value, IndexEntry lane, OpOptions options, Place place) {
  Tracer tracer("shuffle", place, {value});
  if (!checkShuffled(tracer))
    return tracer.poison();
  Value index = lane.value.program() ? lane.value : Kernel(value.program()).per_lane(lane.expr, i32, {}, place);
  if (!index.isPoisoned() && (index.type() != i32 || !isSubset(index.dims(), value.dims()))) {
    tracer.error(DiagId::ShuffleSource,
                 "`shuffle` takes " + quoted(lang::toString(index.type()) + frontend::toString(index.dims())) +
                     " as the number of a lane, expected an `i32` of each lane",
                 "cast it to `i32`");
    return tracer.poison();
  }
  return exchange("shuffle", "idx", value, index, 0, options, place);
}

Value lang::shuffle_xor(const Value &value, int64_t mask, OpOptions options, Place place) {
  return exchange("shuffle_xor", "bfly", value, {}, mask, options, place);
}
Value lang::shuffle_up(const Value &value, int64_t distance, OpOptions options, Place place) {
  return exchange("shuffle_up", "up", value, {}, distance, options, place);
}
Value lang::shuffle_down(const Value &value, int64_t distance, OpOptions options, Place place) {
  return exchange("shuffle_down", "down", value, {}, distance, options, place);
}
Value lang::rotate(const Value &value, int64_t distance, OpOptions options, Place place) {
  return shuffle(value, sym::mod(lane_id() + distance, lanes()), std::move(options), std::move(place));
}

/// The condition as 0 and 1.
static Value counted(const char *name, const Value &condition, const Place &place) {
  Tracer tracer(name, place, {condition});
  if (!checkShuffled(tracer))
    return tracer.poison();
  if (condition.type() != i1) {
    tracer.error(DiagId::SelectCondition,
                 "the condition of " + quoted(name) + " is " + quoted(lang::toString(condition.type())) +
                     ", expected `i1`",
                 "compare it, e.g. `x != 0`", {tracer.noteOn(0)});
    return tracer.poison();
  }
  return cast(condition, i32, {}, place);
}

Value lang::ballot(const Value &condition, Place place) {
  Value one = counted("ballot", condition, place);
  if (one.isPoisoned())
    return one;
  Kernel kernel(condition.program());
  Value lane = kernel.self_index(lanes(), i64, {}, place);
  Value low = apply_expr(lane, [](Expr l) { return sym::shl(1, sym::min(l, 62)); }, {}, place);
  Value bit =
      select(eq(lane, 63, {}, place), kernel.fill({lanes()}, i64, std::numeric_limits<int64_t>::min()), low, {}, place);
  return sum(select(condition, broadcast(bit, condition.dims(), {}, place), 0, {}, place), lanes(), {}, place);
}
Value lang::vote_count(const Value &condition, Place place) {
  return sum(counted("vote_count", condition, place), lanes(), {}, place);
}
Value lang::vote_rank(const Value &condition, Place place) {
  Value one = counted("vote_rank", condition, place);
  return cumsum(one, lanes(), {}, place) - Operand(one, place);
}
Value lang::vote_any(const Value &condition, Place place) {
  return counted("vote_any", condition, place).isPoisoned() ? poisonedValue(condition.program(), place)
                                                            : any(condition, lanes(), {}, place);
}
Value lang::vote_all(const Value &condition, Place place) {
  return counted("vote_all", condition, place).isPoisoned() ? poisonedValue(condition.program(), place)
                                                            : all(condition, lanes(), {}, place);
}
Expr lang::any_thread(const Value &condition, Place place) {
  Value some = condition;
  for (Expr dim : condition.dims())
    some = any(some, dim, {}, place);
  return sym::gt(index_of(cast(some, i32, {}, place), {}, place), 0);
}

//===- Lanes that go different ways ------------------------------------------------------===//

detail::WhenScope::WhenScope(const Value &condition, bool holds, Place place) : program(condition.program()) {
  Tracer tracer("when", place, {condition});
  bool isLane = tracer.ok() && checkLane(tracer);
  if (isLane && condition.type() != i1) {
    tracer.error(DiagId::SelectCondition,
                 "the condition of `when` is " + quoted(lang::toString(condition.type())) + ", expected `i1`",
                 "compare it, e.g. `x != 0`", {tracer.noteOn(0)});
    isLane = false;
  } else if (isLane && !isSubset(condition.dims(), program->lanes.back().dims)) {
    tracer.error(DiagId::SimtValue,
                 "the condition of `when` is " + quoted(frontend::toString(tracer.tile(0))) +
                     ", expected one of each lane, which has dimensions among " +
                     quoted(frontend::toString(program->lanes.back().dims)),
                 "", {tracer.noteOn(0)});
    isLane = false;
  }
  // Mistakes inside are found even if the condition is wrong.
  if (!isLane) {
    if (program)
      program->lanes.push_back(program->lanes.empty() ? LaneScope() : program->lanes.back());
    return;
  }
  Value mask = holds ? condition : ~Operand(condition, place);
  const LaneScope outer = program->lanes.back();
  if (outer.mask.program())
    mask = Operand(outer.mask, place) & Operand(mask, place);
  program->lanes.push_back({.dims = outer.dims, .mask = mask});
}

detail::WhenScope::~WhenScope() {
  if (program)
    program->lanes.pop_back();
}

detail::ElementsScope::ElementsScope(const Value &tile, Place place) : program(tile.program()) {
  Tracer tracer("elements", place, {tile});
  if (!program)
    return;
  std::vector<Expr> dims = tile.dims();
  if (tracer.ok() && dims.empty())
    tracer.error(DiagId::SimtValue, "`elements` of a value without dimensions", "speak of it as it is", {});
  if (tracer.ok() && !program->lanes.empty())
    tracer.error(DiagId::SimtLane, "`elements` where a lane is spoken of already",
                 "a lane's value is its element; write loops over tiles in a kernel of tiles");
  program->lanes.push_back({.dims = std::move(dims), .mask = {}});
}

detail::ElementsScope::~ElementsScope() {
  if (program)
    program->lanes.pop_back();
}

/// The state of a lane that is done stays; the loop ends with the last of them.
std::vector<Value> detail::laneWhile(const std::vector<Value> &inits,
                                     const std::function<Value(const std::vector<Value> &)> &condition,
                                     const std::function<std::vector<Value>(const std::vector<Value> &)> &body,
                                     Place place) {
  Tracer tracer("lane_while", place, inits);
  std::vector<Value> poisoned(inits.size(), tracer.poison());
  if (!tracer.ok() || !checkLane(tracer))
    return poisoned;
  Kernel kernel(inits.front().program());
  const std::vector<Expr> dims = kernel.program()->lanes.back().dims;
  std::vector<Value> state;
  for (const Value &init : inits) {
    if (!isSubset(init.dims(), dims)) {
      tracer.error(DiagId::SimtValue,
                   "`lane_while` carries " + quoted(lang::toString(init.type()) + frontend::toString(init.dims())) +
                       ", expected values of one lane, with dimensions among " + quoted(frontend::toString(dims)));
      return poisoned;
    }
    state.push_back(broadcast(init, dims, {}, place));
  }
  auto isLive = [&](const std::vector<Value> &values) { return broadcast(condition(values), dims, {}, place); };
  Value live = isLive(state);
  if (live.isPoisoned())
    return poisoned;
  auto split = [&](const std::vector<Value> &carried) {
    return std::vector<Value>(carried.begin(), carried.end() - 1);
  };
  std::vector<Value> carried = state;
  carried.push_back(live);
  auto step = [&](const std::vector<Value> &before) {
    std::vector<Value> old = split(before), next;
    {
      WhenScope scope(before.back(), true, place);
      next = body(old);
    }
    for (size_t i = 0; i < std::min(next.size(), old.size()); ++i)
      next[i] = select(before.back(), next[i], old[i], {}, place);
    if (next.size() == old.size())
      next.push_back(Operand(before.back(), place) & Operand(isLive(next), place));
    return next;
  };
  std::vector<Value> results = kernel.iterate_while(
      carried, [&](const std::vector<Value> &values) { return any_thread(values.back(), place); }, step, {}, place);
  return split(results);
}
