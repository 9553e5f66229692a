//===- SimtAccess.cpp - The places that lanes name --------------------------------===//
//
// From a lane's place to one index per dimension of the memory: expressions of ids become expressions of the tile's
// places, a lane's own integers become dynamic values, and lanes that are not there are sent outside the memory.
//
//   x(256*$WG0 + thread_id())             [WAVES, LANES], index  256*$WG0 + $index0*LANES + $index1
//   x(bin), where `bin` is a value        index  $dynamic_val0
//   when(c, …) x(i)                       index  select($dynamic_val0 > 0, i, -1)
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/SimtTracing.h"

#include "soliton/frontend/Simt.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::frontend;

namespace {

class PlaceResolver {
public:
  PlaceResolver(Tracer &tracer, const Element &element, const Place &place)
      : tracer(tracer), program(tracer.program()), element(element), place(place) {}

  /// `vector`: the dimension of a vector, if there is one. Nothing if the place makes no sense.
  std::optional<AccessOptions> run(std::optional<Expr> vector);

private:
  bool isRanked();
  std::optional<Expr> indexOf(const IndexEntry &entry);
  std::optional<Expr> fromValue(const Value &value);
  Expr dynamic(const Value &value);
  Expr masked(Expr index);

  Tracer &tracer;
  Program &program;
  const Element &element;
  const Place &place;
  ResolvedMapping mapping;
  std::vector<Value> values;
};

bool PlaceResolver::isRanked() {
  const Parameter &memory = program.parameters[element.memory.id()];
  if (element.at.size() == memory.shape.size())
    return true;
  tracer.error(DiagId::SimtPlace,
               quoted(tracer.what()) + " names a place of " + quoted(memory.name) + " by " +
                   std::to_string(element.at.size()) + " indices, expected " + std::to_string(memory.shape.size()) +
                   ", one for each dimension",
               "", {{memory.place, quoted(memory.name) + " is declared here"}});
  return false;
}

Expr PlaceResolver::dynamic(const Value &value) {
  values.push_back(broadcast(value, mapping.dims, {}, place));
  return IndexMapping::dynamic_val(static_cast<int>(values.size()) - 1);
}

std::optional<Expr> PlaceResolver::fromValue(const Value &value) {
  Tracer index(tracer.what(), place, {value}, element.memory.program());
  if (!index.ok())
    return std::nullopt;
  if (isFloat(value.type()) || value.type() == i1 || !isSubset(value.dims(), mapping.dims)) {
    index.error(DiagId::SimtPlace,
                quoted(tracer.what()) + " takes " + quoted(frontend::toString(index.tile(0))) +
                    " as an index, expected an integer of this lane",
                isFloat(value.type()) ? "cast it to `i32`" : "", {index.noteOn(0)});
    return std::nullopt;
  }
  return dynamic(value);
}

std::optional<Expr> PlaceResolver::indexOf(const IndexEntry &entry) {
  if (entry.value.program())
    return fromValue(entry.value);
  if (!tracer.checkDefined("a place", entry.expr) || !checkLaneSymbols(tracer, entry.expr))
    return std::nullopt;
  // Places of tiles in shared memory are counted from the workgroup's part; those of elements never are.
  bool isElement = !hasDim(mapping.dims, lanes());
  if (program.parameters[element.memory.id()].isAllocated && isElement)
    return fromValue(Kernel(element.memory.program()).per_lane(entry.expr, i32, {}, place));
  return onPlaces(entry.expr, mapping.dims);
}

/// Lanes that are not there name a place outside the memory.
Expr PlaceResolver::masked(Expr index) {
  Value mask = program.lanes.back().mask;
  bool isElement = !hasDim(mapping.dims, lanes());
  if (program.parameters[element.memory.id()].isAllocated && isElement) {
    Value inside = insideTensor(Kernel(element.memory.program()), program.lanes.back().dims, place);
    mask = mask.program() ? mask & inside : inside;
  }
  if (!mask.program())
    return index;
  return sym::select(sym::gt(dynamic(cast(mask, i32, {}, place)), 0), index, -1);
}

std::optional<AccessOptions> PlaceResolver::run(std::optional<Expr> vector) {
  if (!isRanked())
    return std::nullopt;
  mapping.dims = program.lanes.back().dims;
  if (vector)
    mapping.dims.push_back(*vector);
  mapping.indices.emplace();
  for (const IndexEntry &entry : element.at) {
    std::optional<Expr> index = indexOf(entry);
    if (!index)
      return std::nullopt;
    mapping.indices->push_back(*index);
  }
  if (vector)
    mapping.indices->back() += IndexMapping::iterator(static_cast<int>(mapping.dims.size()) - 1);
  mapping.indices->front() = masked(mapping.indices->front());
  AccessOptions options;
  // Each lane has its own elements, and a vector is one access.
  if (hasDim(mapping.dims, lanes()))
    options.elements_per_thread = vector.value_or(1);
  options.mapping_dynamic_vals = values;
  options.places = std::make_shared<ResolvedMapping>(std::move(mapping));
  return options;
}

bool checkElement(Tracer &tracer, const Element &element) {
  if (!element.memory.program())
    tracer.error(DiagId::UndefinedValue, quoted(tracer.what()) + " got a memory that no kernel made",
                 "make it with `Kernel::memory`");
  return element.memory.program() && tracer.ok() && checkLane(tracer);
}

/// The value as one of the lanes that run, of the memory's type where it is a number, with its vector.
std::optional<Value> laneValue(Tracer &tracer, const Operand &value, const Element &to, std::optional<Expr> &vector,
                               const Place &place) {
  Program &program = tracer.program();
  std::vector<Expr> dims = program.lanes.back().dims;
  if (value.isNumber())
    return constantTile(to.memory.program(), dims, to.memory.type(), value, {}, place);
  Tracer given(tracer.what(), place, {value.value}, to.memory.program());
  if (!given.ok())
    return std::nullopt;
  std::vector<Expr> own = given.tile(0).dims;
  if (!own.empty() && isVectorDim(program, own.back()) && !hasDim(dims, own.back())) {
    vector = own.back();
    dims.push_back(own.back());
  }
  if (!isSubset(own, dims)) {
    given.error(DiagId::SimtValue,
                quoted(tracer.what()) + " puts " + quoted(frontend::toString(given.tile(0))) +
                    ", expected a value of one lane, which has dimensions among " + quoted(frontend::toString(dims)),
                "`write` puts whole tiles; `elements(tile, …)` speaks of one element of it", {given.noteOn(0)});
    return std::nullopt;
  }
  return own == dims ? given.operand(0) : broadcast(given.operand(0), dims, {}, place);
}

using TileAtomic = Value (*)(const Value &, const MemoryRef &, AccessOptions, Place);

Value laneAtomic(const char *name, TileAtomic atomic, const Operand &value, const Element &to, const OpOptions &options,
                 const Place &place) {
  Tracer tracer(name, place, {}, to.memory.program());
  std::optional<Expr> vector;
  if (!checkElement(tracer, to))
    return tracer.poison();
  std::optional<Value> given = laneValue(tracer, value, to, vector, place);
  std::optional<AccessOptions> access;
  if (given)
    access = PlaceResolver(tracer, to, place).run(vector);
  if (!access)
    return tracer.poison();
  access->tag = options.tag;
  return atomic(*given, to.memory, std::move(*access), place);
}

} // namespace

Value lang::load(const Element &from, LoadOptions options, Place place) {
  Tracer tracer("load", place, {}, from.memory.program());
  if (!checkElement(tracer, from))
    return tracer.poison();
  if (options.vector < 1 || options.vector > 16) {
    tracer.error(DiagId::SimtValue, "`load` of a vector of " + std::to_string(options.vector) + ", expected 1 to 16");
    return tracer.poison();
  }
  std::optional<Expr> vector;
  if (options.vector > 1)
    vector = vectorDim(tracer.program(), options.vector);
  auto access = PlaceResolver(tracer, from, place).run(vector);
  if (!access)
    return tracer.poison();
  access->tag = options.tag;
  return read(from.memory, std::move(*access), place);
}

void lang::store(Operand value, const Element &to, OpOptions options, Place place) {
  Tracer tracer("store", place, {}, to.memory.program());
  std::optional<Expr> vector;
  if (!checkElement(tracer, to))
    return;
  std::optional<Value> given = laneValue(tracer, value, to, vector, place);
  std::optional<AccessOptions> access;
  if (given)
    access = PlaceResolver(tracer, to, place).run(vector);
  if (!access)
    return;
  access->tag = options.tag;
  write(*given, to.memory, std::move(*access), place);
}

#define SOLITON_ATOMIC(NAME)                                                                                           \
  Value lang::NAME(Operand value, const Element &to, OpOptions options, Place place) {                                 \
    return laneAtomic(#NAME, static_cast<TileAtomic>(lang::NAME), value, to, options, place);                          \
  }
SOLITON_ATOMIC(atomic_add)
SOLITON_ATOMIC(atomic_min)
SOLITON_ATOMIC(atomic_max)
SOLITON_ATOMIC(atomic_exchange)
SOLITON_ATOMIC(atomic_and)
SOLITON_ATOMIC(atomic_or)
SOLITON_ATOMIC(atomic_xor)
#undef SOLITON_ATOMIC
