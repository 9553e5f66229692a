//===- Elementwise.cpp - Element-wise ops and how their operands are made alike -----===//
//
// Decides the type of a result: one element type for all operands, numbers taking it; dimensions of the operand that
// has the most, which must contain those of the others.
//
//   x[M, N] + y[M]   is   [M, N]          x[M, N] + y[N, K]   is an error
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/Tracer.h"

#include "soliton/frontend/Ops.h"

#include <cmath>

using namespace soliton;
using namespace soliton::frontend;

namespace {

/// Which element types a function takes.
enum class Domain { any, floats, integers, numbers };

bool admits(Domain domain, ElementType type) {
  if (type == f8e8m0fnu)
    return false; // scales have no arithmetic: neither 0 nor a sign
  switch (domain) {
  case Domain::any:
    return true;
  case Domain::floats:
    return isFloat(type);
  case Domain::integers:
    return isInteger(type);
  case Domain::numbers:
    return type != i1;
  }
  return false;
}

std::string_view describe(Domain domain) {
  switch (domain) {
  case Domain::floats:
    return "a float type";
  case Domain::integers:
    return "an integer type";
  default:
    return "a type of numbers";
  }
}

bool isScalarParameter(const Value &value) {
  return value.program() && !value.isPoisoned() && value.program()->values[value.id()].parameter;
}

/// Numbers and scalar parameters as tiles like the others; the rest as it is.
std::vector<Value> materialize(std::vector<Operand> operands, const Place &place) {
  const Value *model = nullptr; // the tile whose dimensions and type the others take
  for (const Operand &operand : operands)
    if (!operand.isNumber() && operand.value.program() &&
        (!model || operand.value.dims().size() > model->dims().size()))
      model = &operand.value;
  std::vector<Value> values;
  for (const Operand &operand : operands) {
    if (!operand.isNumber() && model && isScalarParameter(operand.value) && operand.value.program() == model->program())
      values.push_back(Kernel(operand.value.program()).splat(model->dims(), operand.value, {}, place));
    else if (!operand.isNumber())
      values.push_back(operand.value);
    else if (!model)
      values.push_back({});
    else if (model->isPoisoned())
      values.push_back(*model);
    else
      values.push_back(constantTile(model->program(), model->dims(), model->type(), operand, {}, place));
  }
  return values;
}

/// The dimensions of the result of operands [first, last).
std::optional<std::vector<Expr>> unite(Tracer &tracer, size_t count) {
  size_t widest = 0;
  for (size_t i = 1; i != count; ++i)
    if (tracer.tile(i).dims.size() > tracer.tile(widest).dims.size())
      widest = i;
  const std::vector<Expr> &dims = tracer.tile(widest).dims;
  for (size_t i = 0; i != count; ++i) {
    if (isSubset(tracer.tile(i).dims, dims))
      continue;
    tracer.error(DiagId::ElementwiseDims,
                 "`" + tracer.what() + "` of tiles with the dimensions " +
                     quoted(frontend::toString(tracer.tile(widest).dims)) + " and " +
                     quoted(frontend::toString(tracer.tile(i).dims)) + ", expected one to contain the other",
                 "`broadcast` both to the dimensions of the result", {tracer.noteOn(widest), tracer.noteOn(i)});
    return std::nullopt;
  }
  return dims;
}

bool checkSameType(Tracer &tracer, size_t first, size_t second) {
  ElementType lhs = tracer.tile(first).type, rhs = tracer.tile(second).type;
  if (lhs == rhs)
    return true;
  tracer.error(DiagId::ElementwiseTypeMismatch,
               "`" + tracer.what() + "` of " + quoted(lang::toString(lhs)) + " and " + quoted(lang::toString(rhs)) +
                   ", expected one element type",
               "`cast` one of them", {tracer.noteOn(first), tracer.noteOn(second)});
  return false;
}

bool checkDomain(Tracer &tracer, Domain domain, std::string_view hint) {
  ElementType type = tracer.tile(0).type;
  if (admits(domain, type))
    return true;
  tracer.error(DiagId::ElementwiseType,
               "`" + tracer.what() + "` of " + quoted(lang::toString(type)) + ", expected " +
                   std::string(describe(domain)),
               std::string(hint), {tracer.noteOn(0)});
  return false;
}

struct BinaryFunction {
  std::string_view spelling; ///< as the author writes it
  std::string_view word;     ///< as the dialect calls it
  Domain domain = Domain::numbers;
  bool compares = false;
  std::string_view hint = {};
};

Value binary(const BinaryFunction &function, Operand lhs, Operand rhs, const OpOptions &options, const Place &place) {
  Tracer tracer(std::string(function.spelling), place, materialize({std::move(lhs), std::move(rhs)}, place));
  if (!tracer.ok() || !checkSameType(tracer, 0, 1) || !checkDomain(tracer, function.domain, function.hint))
    return tracer.poison();
  auto dims = unite(tracer, 2);
  if (!dims)
    return tracer.poison();
  ElementType type = function.compares ? i1 : tracer.tile(0).type;
  OpKind kind = function.compares ? OpKind::compare : OpKind::binary;
  return tracer.record({.kind = kind, .function = function.word}, {std::move(*dims), type}, options.tag);
}

Value unary(std::string_view spelling, std::string_view word, Domain domain, const Value &operand,
            const OpOptions &options, const Place &place) {
  Tracer tracer(std::string(spelling), place, {operand});
  if (!tracer.ok() || !checkDomain(tracer, domain, domain == Domain::floats ? "cast it to `f32` first" : ""))
    return tracer.poison();
  return tracer.record({.kind = OpKind::unary, .function = word}, tracer.tile(0), options.tag);
}

Value operatorOf(const BinaryFunction &function, Operand lhs, Operand rhs) {
  Place place = rhs.place;
  return binary(function, std::move(lhs), std::move(rhs), {}, place);
}

} // namespace

//===- Operators ------------------------------------------------------------------------------===//

#define SOLITON_OPERATOR(SYMBOL, ...)                                                                                  \
  Value lang::operator SYMBOL(Operand lhs, Operand rhs) {                                                              \
    return operatorOf(BinaryFunction __VA_ARGS__, std::move(lhs), std::move(rhs));                                     \
  }
SOLITON_OPERATOR(+, {"+", "add"})
SOLITON_OPERATOR(-, {"-", "sub"})
SOLITON_OPERATOR(*, {"*", "mul"})
SOLITON_OPERATOR(/, {"/", "div", Domain::floats, false, "use `floordiv` for integers, or cast them to `f32`"})
SOLITON_OPERATOR(%, {"%", "mod", Domain::numbers})
SOLITON_OPERATOR(&, {"&", "bit_and", Domain::integers})
SOLITON_OPERATOR(|, {"|", "bit_or", Domain::integers})
SOLITON_OPERATOR(^, {
                        "^", "bit_xor", Domain::integers})
SOLITON_OPERATOR(<, {"<", "lt", Domain::numbers, true})
SOLITON_OPERATOR(<=, {"<=", "le", Domain::numbers, true})
SOLITON_OPERATOR(>, {">", "gt", Domain::numbers, true})
SOLITON_OPERATOR(>=, {">=", "ge", Domain::numbers, true})
SOLITON_OPERATOR(==, {"==", "eq", Domain::any, true})
SOLITON_OPERATOR(!=, {"!=", "ne", Domain::any, true})
#undef SOLITON_OPERATOR

Value lang::operator-(Operand operand) {
  return unary("-", "neg", Domain::numbers, operand.value, {}, operand.place);
}

Value lang::operator~(Operand operand) {
  return unary("~", "logical_not", Domain::integers, operand.value, {}, operand.place);
}

//===- Functions ------------------------------------------------------------------------------===//

#define SOLITON_BINARY(NAME, ...)                                                                                      \
  Value lang::NAME(Operand lhs, Operand rhs, OpOptions options, Place place) {                                         \
    return binary(BinaryFunction __VA_ARGS__, std::move(lhs), std::move(rhs), options, place);                         \
  }
SOLITON_BINARY(floordiv, {"floordiv", "floordiv", Domain::numbers})
SOLITON_BINARY(maximum, {"maximum", "max", Domain::numbers})
SOLITON_BINARY(minimum, {"minimum", "min", Domain::numbers})
SOLITON_BINARY(pow, {"pow", "pow", Domain::floats})
SOLITON_BINARY(atan2, {"atan2", "atan2", Domain::floats})
SOLITON_BINARY(lt, {"lt", "lt", Domain::numbers, true})
SOLITON_BINARY(le, {"le", "le", Domain::numbers, true})
SOLITON_BINARY(gt, {"gt", "gt", Domain::numbers, true})
SOLITON_BINARY(ge, {"ge", "ge", Domain::numbers, true})
SOLITON_BINARY(eq, {"eq", "eq", Domain::any, true})
SOLITON_BINARY(ne, {"ne", "ne", Domain::any, true})
#undef SOLITON_BINARY

#define SOLITON_UNARY(NAME, DOMAIN)                                                                                    \
  Value lang::NAME(const Value &operand, OpOptions options, Place place) {                                             \
    return unary(#NAME, #NAME, Domain::DOMAIN, operand, options, place);                                               \
  }
SOLITON_UNARY(abs, numbers)
SOLITON_UNARY(exp, floats)
SOLITON_UNARY(exp2, floats)
SOLITON_UNARY(log, floats)
SOLITON_UNARY(log2, floats)
SOLITON_UNARY(log10, floats)
SOLITON_UNARY(sqrt, floats)
SOLITON_UNARY(rsqrt, floats)
SOLITON_UNARY(reciprocal, floats)
SOLITON_UNARY(sin, floats)
SOLITON_UNARY(cos, floats)
SOLITON_UNARY(sinh, floats)
SOLITON_UNARY(tanh, floats)
SOLITON_UNARY(erf, floats)
SOLITON_UNARY(cbrt, floats)
SOLITON_UNARY(floor, floats)
SOLITON_UNARY(ceil, floats)
SOLITON_UNARY(round, floats)
SOLITON_UNARY(roundeven, floats)
#undef SOLITON_UNARY

//===- Composed -------------------------------------------------------------------------------===//

/// `value op number`, at one place.
static Value combine(const BinaryFunction &function, Operand lhs, Operand rhs, const Place &place) {
  return binary(function, std::move(lhs), std::move(rhs), {}, place);
}

Value lang::tanh_approx(const Value &x, OpOptions options, Place place) {
  const double log2e = 1.4426950408889634;
  Value magnitude = unary("tanh_approx", "abs", Domain::floats, x, {}, place);
  Value t = exp2(combine({"*", "mul"}, magnitude, -2.0 * log2e, place), {}, place);
  Value value = combine({"/", "div", Domain::floats}, combine({"-", "sub"}, 1.0, t, place),
                        combine({"+", "add"}, 1.0, t, place), place);
  Value negative = combine({"<", "lt", Domain::numbers, true}, x, 0.0, place);
  return select(negative, -Operand(value, place), value, std::move(options), place);
}

Value lang::softsign(const Value &x, SoftsignOptions options, Place place) {
  double cap = options.logit_cap;
  if (options.apply_scaling && options.head_dim && *options.head_dim > 0)
    cap /= std::sqrt(static_cast<double>(*options.head_dim));
  Tracer tracer("softsign", place, {x});
  if (tracer.ok() && (!(cap > 0) || (options.apply_scaling && options.head_dim.value_or(0) <= 0))) {
    tracer.error(DiagId::ConstantRange, "`softsign` needs a cap above 0, and a `head_dim` above 0 where it is scaled");
    return tracer.poison();
  }
  if (!tracer.ok() || !checkDomain(tracer, Domain::floats, "cast it to `f32` first"))
    return tracer.poison();
  Value scaled = unary("softsign", "abs", Domain::floats, combine({"*", "mul"}, x, 1.0 / cap, place), {}, place);
  Value result = combine({"/", "div", Domain::floats}, x, combine({"+", "add"}, 1.0, scaled, place), place);
  return tag(result, options.tag);
}

//===- Select ---------------------------------------------------------------------------------===//

Value lang::select(const Value &condition, Operand ifTrue, Operand ifFalse, OpOptions options, Place place) {
  std::vector<Value> branches;
  if (ifTrue.isNumber() && ifFalse.isNumber()) {
    // Two numbers: floats if one is, as in C++.
    ElementType type = ifTrue.kind == Operand::real || ifFalse.kind == Operand::real ? f32 : i32;
    if (condition.program() && !condition.isPoisoned())
      for (const Operand &branch : {ifTrue, ifFalse})
        branches.push_back(constantTile(condition.program(), condition.dims(), type, branch, {}, place));
  } else {
    branches = materialize({std::move(ifTrue), std::move(ifFalse)}, place);
  }
  std::vector<Value> operands{condition};
  operands.insert(operands.end(), branches.begin(), branches.end());
  Tracer tracer("select", place, operands);
  if (!tracer.ok())
    return tracer.poison();
  if (tracer.tile(0).type != i1) {
    tracer.error(DiagId::SelectCondition,
                 "the condition of `select` is " + quoted(lang::toString(tracer.tile(0).type)) + ", expected `i1`",
                 "compare it, e.g. `x != 0`", {tracer.noteOn(0)});
    return tracer.poison();
  }
  auto dims = unite(tracer, 3);
  if (!dims || !checkSameType(tracer, 1, 2))
    return tracer.poison();
  return tracer.record({.kind = OpKind::select}, {std::move(*dims), tracer.tile(1).type}, options.tag);
}
