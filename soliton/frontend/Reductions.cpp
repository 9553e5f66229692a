//===- Reductions.cpp - What goes along a dimension -------------------------------===//
//
// Reductions, scans, and where extremes are: which dimension, of which elements, beginning with what.
//
//   sum(x, N)            f32[M, N] -> f32[M]
//   cumsum(x, N)         f32[M, N] -> f32[M, N]
//   argmax(x, N)         f32[M, N] -> f32[M], i32[M]
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/Tracer.h"

#include "soliton/frontend/Ops.h"
#include "soliton/support/Float.h"

#include <algorithm>
#include <limits>

using namespace soliton;
using namespace soliton::frontend;

/// The type of the source without `dim`; reports a dimension that is not there, and truths where numbers are expected
/// or numbers where truths are.
static std::optional<TileInfo> checkAlong(Tracer &tracer, Expr dim) {
  TileInfo rest = tracer.tile(0);
  auto at = std::find(rest.dims.begin(), rest.dims.end(), dim);
  if (at == rest.dims.end()) {
    tracer.error(DiagId::ReduceDim,
                 quoted(tracer.what()) + " along " + quoted(dim) + ", but the tile has the dimensions " +
                     quoted(frontend::toString(rest.dims)),
                 "", {tracer.noteOn(0)});
    return std::nullopt;
  }
  rest.dims.erase(at);
  bool ofTruths = tracer.what() == "any" || tracer.what() == "all";
  if ((rest.type == i1) != ofTruths || rest.type == f8e8m0fnu) { // scales have neither 0 nor a sign
    tracer.error(DiagId::ElementwiseType,
                 quoted(tracer.what()) + " of " + quoted(lang::toString(rest.type)) + ", expected " +
                     (ofTruths ? "`i1`" : "numbers"),
                 ofTruths                 ? "compare first, e.g. `x != 0`"
                 : rest.type == f8e8m0fnu ? "it is a format of scales"
                                          : "cast to `i32` first",
                 {tracer.noteOn(0)});
    return std::nullopt;
  }
  return rest;
}

/// Whether operand `number`, with which it begins, has the type that it should.
static bool checkInit(Tracer &tracer, size_t number, const TileInfo &expected) {
  if (tracer.tile(number) == expected)
    return true;
  tracer.error(DiagId::ReduceInit,
               quoted(tracer.what()) + " starts from " + quoted(frontend::toString(tracer.tile(number))) +
                   ", expected " + quoted(frontend::toString(expected)),
               "", {tracer.noteOn(0), tracer.noteOn(number)});
  return false;
}

static std::vector<Value> operandsOf(const Value &source, std::initializer_list<const Value *> inits) {
  std::vector<Value> operands{source};
  for (const Value *init : inits)
    if (init)
      operands.push_back(*init);
  return operands;
}

/// What changes no result of a reduction or scan.
static Operand neutralOf(std::string_view function, ElementType type, const Place &place) {
  bool isLeast = function == "max", isMost = function == "min";
  if (!isLeast && !isMost)
    return {function == "prod" || function == "all" ? 1 : 0, place};
  DType held = type.resolve();
  if (isFloat(held)) {
    double most = bits(held) >= 16 ? std::numeric_limits<double>::infinity() : largestFinite(held);
    return {isLeast ? -most : most, place};
  }
  auto most = static_cast<int64_t>((uint64_t(1) << (bits(held) - 1)) - 1);
  return {isLeast ? -most - 1 : most, place};
}

static Value maskedFor(std::string_view function, const Value &source, Expr dim, const Place &place) {
  if (!source.program() || source.isPoisoned())
    return source;
  return maskedAlong(source, dim, neutralOf(function, source.program()->values[source.id()].tile.type, place), place);
}

//===- Reductions ---------------------------------------------------------------------------===//

static Value reduce(std::string_view function, const Value &given, const Value *init, Expr dim,
                    const ReduceOptions &options, const Place &place) {
  Value source = maskedFor(function, given, dim, place);
  Tracer tracer(std::string(function), place, operandsOf(source, {init}));
  if (!tracer.ok())
    return tracer.poison();
  std::optional<TileInfo> result = checkAlong(tracer, dim);
  if (!result || (init && !checkInit(tracer, 1, *result)))
    return tracer.poison();
  OpRecord op{.kind = OpKind::reduce, .function = function, .expr = dim, .hasInit = init != nullptr};
  return tracer.record(std::move(op), std::move(*result), options.tag);
}

#define SOLITON_REDUCE(NAME)                                                                                           \
  Value lang::NAME(const Value &source, Expr dim, ReduceOptions options, Place place) {                                \
    return reduce(#NAME, source, nullptr, dim, options, place);                                                        \
  }                                                                                                                    \
  Value lang::NAME(const Value &source, const Value &init, Expr dim, ReduceOptions options, Place place) {             \
    return reduce(#NAME, source, &init, dim, options, place);                                                          \
  }
SOLITON_REDUCE(sum)
SOLITON_REDUCE(max)
SOLITON_REDUCE(min)
SOLITON_REDUCE(prod)
SOLITON_REDUCE(any)
SOLITON_REDUCE(all)
#undef SOLITON_REDUCE

//===- Scans --------------------------------------------------------------------------------===//

static Value scan(std::string_view name, std::string_view function, const Value &given, const Value *init, Expr dim,
                  const ReduceOptions &options, const Place &place) {
  Value source = maskedFor(function, given, dim, place);
  Tracer tracer(std::string(name), place, operandsOf(source, {init}));
  if (!tracer.ok())
    return tracer.poison();
  std::optional<TileInfo> rest = checkAlong(tracer, dim);
  if (!rest || (init && !checkInit(tracer, 1, *rest)))
    return tracer.poison();
  OpRecord op{.kind = OpKind::scan, .function = function, .expr = dim, .hasInit = init != nullptr};
  return tracer.record(std::move(op), tracer.tile(0), options.tag);
}

#define SOLITON_SCAN(NAME, KIND)                                                                                       \
  Value lang::NAME(const Value &source, Expr dim, ReduceOptions options, Place place) {                                \
    return scan(#NAME, #KIND, source, nullptr, dim, options, place);                                                   \
  }                                                                                                                    \
  Value lang::NAME(const Value &source, const Value &init, Expr dim, ReduceOptions options, Place place) {             \
    return scan(#NAME, #KIND, source, &init, dim, options, place);                                                     \
  }
SOLITON_SCAN(cumsum, sum)
SOLITON_SCAN(cumprod, prod)
SOLITON_SCAN(cummax, max)
SOLITON_SCAN(cummin, min)
#undef SOLITON_SCAN

//===- Where extremes are ---------------------------------------------------------------------===//

static Extreme extreme(std::string_view name, std::string_view function, const Value &source, const Extreme *init,
                       Expr dim, const ReduceOptions &options, const Place &place) {
  Tracer tracer(std::string(name), place,
                operandsOf(source, {init ? &init->value : nullptr, init ? &init->index : nullptr}));
  if (!tracer.ok())
    return {tracer.poison(), tracer.poison()};
  std::optional<TileInfo> value = checkAlong(tracer, dim);
  if (!value)
    return {tracer.poison(), tracer.poison()};
  TileInfo index{value->dims, i32};
  if (init && (!checkInit(tracer, 1, *value) || !checkInit(tracer, 2, index)))
    return {tracer.poison(), tracer.poison()};
  OpRecord op{.kind = OpKind::argReduce, .function = function, .expr = dim, .hasInit = init != nullptr};
  std::vector<Value> results = tracer.recordAll(std::move(op), {std::move(*value), std::move(index)}, options.tag);
  return {results[0], results[1]};
}

#define SOLITON_EXTREME(NAME, KIND)                                                                                    \
  Extreme lang::NAME(const Value &source, Expr dim, ReduceOptions options, Place place) {                              \
    return extreme(#NAME, #KIND, source, nullptr, dim, options, place);                                                \
  }                                                                                                                    \
  Extreme lang::NAME(const Value &source, const Extreme &init, Expr dim, ReduceOptions options, Place place) {         \
    return extreme(#NAME, #KIND, source, &init, dim, options, place);                                                  \
  }
SOLITON_EXTREME(argmax, max)
SOLITON_EXTREME(argmin, min)
#undef SOLITON_EXTREME
