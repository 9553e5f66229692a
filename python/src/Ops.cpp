//===- Ops.cpp - Operations of the language in Python ----------------------------------===//
//
// Operations of one shape are one function that takes their name: `unary("exp2", x, tag, place)`. Python knows which
// there are by `op_names(family)`, so that a new one needs a line here and its docstring there.
//
//===----------------------------------------------------------------------===//
#include "Bindings.h"

#include <map>

namespace soliton::python {

namespace {

using Dims = std::vector<Expr>;

OpOptions tagged(const std::string &tag) {
  return {.tag = tag};
}

template <typename Function>
Function find(const std::map<std::string, Function, std::less<>> &table, std::string_view name) {
  auto found = table.find(name);
  if (found == table.end())
    throw nb::key_error(std::string(name).c_str());
  return found->second;
}

//===- Element by element -----------------------------------------------------------===//

using UnaryOp = Value (*)(const Value &, OpOptions, Place);
using BinaryOp = Value (*)(Operand, Operand, OpOptions, Place);

#define SOLITON_OP(NAME) {#NAME, static_cast<UnaryOp>(&lang::NAME)}
const std::map<std::string, UnaryOp, std::less<>> unaryOps = {
    SOLITON_OP(abs),   SOLITON_OP(exp),  SOLITON_OP(exp2),  SOLITON_OP(log),        SOLITON_OP(log2),
    SOLITON_OP(log10), SOLITON_OP(sqrt), SOLITON_OP(rsqrt), SOLITON_OP(reciprocal), SOLITON_OP(sin),
    SOLITON_OP(cos),   SOLITON_OP(sinh), SOLITON_OP(tanh),  SOLITON_OP(erf),        SOLITON_OP(cbrt),
    SOLITON_OP(floor), SOLITON_OP(ceil), SOLITON_OP(round), SOLITON_OP(roundeven),  SOLITON_OP(tanh_approx),
};
#undef SOLITON_OP

// Operators take their place from their operands, and a tag from `tag`.
template <auto function>
Value byOperator(Operand lhs, Operand rhs, OpOptions options, Place) {
  Value made = function(std::move(lhs), std::move(rhs));
  return options.tag.empty() ? made : tag(made, options.tag);
}
#define SOLITON_OPERATOR(NAME, SIGN)                                                                                   \
  {#NAME, byOperator<[](Operand a, Operand b) { return std::move(a) SIGN std::move(b); }>}
#define SOLITON_OP(NAME) {#NAME, static_cast<BinaryOp>(&lang::NAME)}
const std::map<std::string, BinaryOp, std::less<>> binaryOps = {
    SOLITON_OPERATOR(add, +), SOLITON_OPERATOR(sub, -), SOLITON_OPERATOR(mul, *), SOLITON_OPERATOR(truediv, /),
    SOLITON_OPERATOR(mod, %), SOLITON_OPERATOR(and, &), SOLITON_OPERATOR(or, |),  SOLITON_OPERATOR(xor, ^),
    SOLITON_OP(floordiv),     SOLITON_OP(maximum),      SOLITON_OP(minimum),      SOLITON_OP(pow),
    SOLITON_OP(atan2),        SOLITON_OP(lt),           SOLITON_OP(le),           SOLITON_OP(gt),
    SOLITON_OP(ge),           SOLITON_OP(eq),           SOLITON_OP(ne),
};
#undef SOLITON_OP
#undef SOLITON_OPERATOR

//===- Along a dimension ------------------------------------------------------------===//

struct ReduceOp {
  Value (*plain)(const Value &, Expr, ReduceOptions, Place);
  Value (*from)(const Value &, const Value &, Expr, ReduceOptions, Place);
};
#define SOLITON_OP(NAME)                                                                                               \
  {                                                                                                                    \
    #NAME, {                                                                                                           \
      static_cast<Value (*)(const Value &, Expr, ReduceOptions, Place)>(&lang::NAME),                                  \
          static_cast<Value (*)(const Value &, const Value &, Expr, ReduceOptions, Place)>(&lang::NAME)                \
    }                                                                                                                  \
  }
const std::map<std::string, ReduceOp, std::less<>> reduceOps = {
    SOLITON_OP(sum), SOLITON_OP(max),    SOLITON_OP(min),     SOLITON_OP(prod),   SOLITON_OP(any),
    SOLITON_OP(all), SOLITON_OP(cumsum), SOLITON_OP(cumprod), SOLITON_OP(cummax), SOLITON_OP(cummin),
};
#undef SOLITON_OP

//===- Memory -----------------------------------------------------------------------===//

using AtomicOp = Value (*)(const Value &, const MemoryRef &, AccessOptions, Place);
#define SOLITON_OP(NAME) {#NAME, static_cast<AtomicOp>(&lang::NAME)}
const std::map<std::string, AtomicOp, std::less<>> atomicOps = {
    SOLITON_OP(atomic_add), SOLITON_OP(atomic_min), SOLITON_OP(atomic_max), SOLITON_OP(atomic_exchange),
    SOLITON_OP(atomic_and), SOLITON_OP(atomic_or),  SOLITON_OP(atomic_xor),
};
#undef SOLITON_OP

/// A value stands for the indices that it holds.
std::vector<IndexEntry> entriesOf(const std::vector<nb::object> &objects) {
  std::vector<IndexEntry> entries;
  for (const nb::object &object : objects) {
    Value value;
    if (nb::try_cast(object, value, false))
      entries.push_back(value);
    else
      entries.push_back(exprOf(object));
  }
  return entries;
}

/// What Python collects in a dictionary before it reads or writes.
AccessOptions accessOf(const nb::dict &given) {
  AccessOptions options;
  for (auto [key, item] : given) {
    std::string name = nb::cast<std::string>(key);
    nb::object value = nb::borrow(item);
    if (name == "elements_per_thread")
      options.elements_per_thread = exprOf(value);
    else if (name == "mapping")
      options.mapping = nb::cast<IndexMapping>(value);
    else if (name == "mapping_dynamic_vals")
      options.mapping_dynamic_vals = nb::cast<std::vector<Value>>(value);
    else if (name == "bounds")
      options.bounds = nb::cast<DimMap>(value);
    else if (name == "source")
      options.source = entriesOf(nb::cast<std::vector<nb::object>>(value));
    else if (name == "target")
      options.target = entriesOf(nb::cast<std::vector<nb::object>>(value));
    else if (name == "tag")
      options.tag = nb::cast<std::string>(value);
    else
      throw nb::key_error(name.c_str());
  }
  return options;
}

void bindMemory(nb::module_ &module) {
  nb::class_<IndexMapping>(module, "IndexMapping")
      .def("__init__",
           [](IndexMapping *self, int iterators, DimMap inputs, DimMap outputs, std::vector<DimMap> values) {
             new (self) IndexMapping{iterators, std::move(inputs), std::move(outputs), std::move(values)};
           })
      .def_ro("num_iterators", &IndexMapping::num_iterators)
      .def_ro("inputs", &IndexMapping::inputs)
      .def_ro("outputs", &IndexMapping::outputs)
      .def_ro("values", &IndexMapping::dynamic_val_mappings);
  module.def(
      "read",
      [](const MemoryRef &memory, nb::dict options, Place place) { return read(memory, accessOf(options), place); },
      nb::arg("memory"), nb::arg("options"), nb::arg("place").none());
  module.def(
      "read_at",
      [](const MemoryRef &memory, Dims at, const std::string &tag, Place place) {
        return read_at(memory, std::move(at), tagged(tag), place);
      },
      nb::arg("memory"), nb::arg("at"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "prefetch",
      [](const MemoryRef &memory, nb::dict options, Place place) { prefetch(memory, accessOf(options), place); },
      nb::arg("memory"), nb::arg("options"), nb::arg("place").none());
  module.def(
      "write",
      [](const Value &value, const MemoryRef &memory, nb::dict options, Place place) {
        write(value, memory, accessOf(options), place);
      },
      nb::arg("value"), nb::arg("memory"), nb::arg("options"), nb::arg("place").none());
  module.def(
      "atomic",
      [](std::string_view name, const Value &value, const MemoryRef &memory, nb::dict options, Place place) {
        return find(atomicOps, name)(value, memory, accessOf(options), place);
      },
      nb::arg("name"), nb::arg("value"), nb::arg("memory"), nb::arg("options"), nb::arg("place").none());
  module.def(
      "atomic_cas",
      [](const Value &expected, const Value &value, const MemoryRef &memory, nb::dict options, Place place) {
        return atomic_cas(expected, value, memory, accessOf(options), place);
      },
      nb::arg("expected"), nb::arg("value"), nb::arg("memory"), nb::arg("options"), nb::arg("place").none());
  module.def(
      "scatter_add",
      [](const Value &values, const Value &indices, Expr dim, const MemoryRef &memory, const std::string &tag,
         Place place) { scatter_add(values, indices, dim, memory, tagged(tag), place); },
      nb::arg("values"), nb::arg("indices"), nb::arg("dim"), nb::arg("memory"), nb::arg("tag"),
      nb::arg("place").none());
}

//===- The others -------------------------------------------------------------------===//

MmaOptions mmaOptions(const std::optional<std::string> &type, const std::string &tag) {
  MmaOptions options{.tag = tag};
  if (type)
    options.mma_type = MmaType(*type);
  return options;
}

void bindMatrices(nb::module_ &module) {
  module.def(
      "mma",
      [](const Value &lhs, const Value &rhs, const Value &acc, std::optional<std::string> type, const std::string &tag,
         Place place) { return mma(lhs, rhs, acc, mmaOptions(type, tag), place); },
      nb::arg("lhs"), nb::arg("rhs"), nb::arg("acc"), nb::arg("mma_type").none(), nb::arg("tag"),
      nb::arg("place").none());
  module.def(
      "scaled_mma",
      [](const Value &lhs, const Value &lhsScale, const Value &rhs, const Value &rhsScale, const Value &acc,
         std::optional<std::string> type, const std::string &tag,
         Place place) { return scaled_mma(lhs, lhsScale, rhs, rhsScale, acc, mmaOptions(type, tag), place); },
      nb::arg("lhs"), nb::arg("lhs_scale"), nb::arg("rhs"), nb::arg("rhs_scale"), nb::arg("acc"),
      nb::arg("mma_type").none(), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "reduce",
      [](std::string_view name, const Value &source, std::optional<Value> init, Expr dim, bool block,
         const std::string &tag, Place place) {
        ReduceOp op = find(reduceOps, name);
        ReduceOptions options{.block = block, .tag = tag};
        return init ? op.from(source, *init, dim, options, place) : op.plain(source, dim, options, place);
      },
      nb::arg("name"), nb::arg("source"), nb::arg("init").none(), nb::arg("dim"), nb::arg("block"), nb::arg("tag"),
      nb::arg("place").none());
  module.def(
      "extreme",
      [](bool largest, const Value &source, std::optional<std::pair<Value, Value>> init, Expr dim,
         const std::string &tag, Place place) {
        ReduceOptions options{.tag = tag};
        Extreme found;
        if (init) {
          Extreme from{init->first, init->second};
          found = largest ? argmax(source, from, dim, options, place) : argmin(source, from, dim, options, place);
        } else {
          found = largest ? argmax(source, dim, options, place) : argmin(source, dim, options, place);
        }
        return std::pair(found.value, found.index);
      },
      nb::arg("largest"), nb::arg("source"), nb::arg("init").none(), nb::arg("dim"), nb::arg("tag"),
      nb::arg("place").none());
  module.def(
      "sort",
      [](const Value &source, Expr dim, bool descending, const std::string &tag, Place place) {
        Sorted sorted = sort(source, dim, {.descending = descending, .tag = tag}, place);
        return std::pair(sorted.value, sorted.index);
      },
      nb::arg("source"), nb::arg("dim"), nb::arg("descending"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "topk",
      [](const Value &source, Expr kDim, Expr dim, bool largest, const std::string &tag, Place place) {
        Sorted sorted = topk(source, kDim, dim, {.largest = largest, .tag = tag}, place);
        return std::pair(sorted.value, sorted.index);
      },
      nb::arg("source"), nb::arg("k_dim"), nb::arg("dim"), nb::arg("largest"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "sort_by",
      [](const Value &keys, const std::vector<Value> &payloads, Expr dim, bool descending, const std::string &tag,
         Place place) { return sort_by(keys, payloads, dim, {.descending = descending, .tag = tag}, place); },
      nb::arg("keys"), nb::arg("payloads"), nb::arg("dim"), nb::arg("descending"), nb::arg("tag"),
      nb::arg("place").none());
  module.def(
      "topk_by",
      [](const Value &keys, const std::vector<Value> &payloads, Expr kDim, Expr dim, bool largest,
         const std::string &tag,
         Place place) { return topk_by(keys, payloads, kDim, dim, {.largest = largest, .tag = tag}, place); },
      nb::arg("keys"), nb::arg("payloads"), nb::arg("k_dim"), nb::arg("dim"), nb::arg("largest"), nb::arg("tag"),
      nb::arg("place").none());
}

Value applyExpr(const std::vector<Value> &values, nb::callable function, const std::string &tag, Place place) {
  auto call = [&](const std::vector<Expr> &arguments) { return exprOf(function(arguments)); };
  return apply_expr(values, call, tagged(tag), place);
}

void bindShapes(nb::module_ &module) {
  module.def(
      "cast",
      [](const Value &value, ElementType type, const std::string &tag, Place place) {
        return cast(value, type, tagged(tag), place);
      },
      nb::arg("value"), nb::arg("type"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "bitcast",
      [](const Value &value, ElementType type, const std::string &tag, Place place) {
        return bitcast(value, type, tagged(tag), place);
      },
      nb::arg("value"), nb::arg("type"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "select",
      [](const Value &condition, nb::object then, nb::object otherwise, const std::string &tag, Place place) {
        return select(condition, operandOf(then, place), operandOf(otherwise, place), tagged(tag), place);
      },
      nb::arg("condition"), nb::arg("then"), nb::arg("otherwise"), nb::arg("tag"), nb::arg("place").none());
  using Rearrange = Value (*)(const Value &, std::vector<Expr>, OpOptions, Place);
  static const std::map<std::string, Rearrange, std::less<>> rearranges = {
      {"broadcast", &lang::broadcast}, {"permute", &lang::permute}, {"reshape", &lang::reshape}};
  module.def(
      "rearrange",
      [](std::string_view name, const Value &value, Dims dims, const std::string &tag, Place place) {
        return find(rearranges, name)(value, std::move(dims), tagged(tag), place);
      },
      nb::arg("name"), nb::arg("value"), nb::arg("dims"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "slice",
      [](const Value &value, Expr dim, Expr into, Expr start, Expr stride, const std::string &tag, Place place) {
        return slice(value, dim, into, {.start = start, .stride = stride, .tag = tag}, place);
      },
      nb::arg("value"), nb::arg("dim"), nb::arg("into"), nb::arg("start"), nb::arg("stride"), nb::arg("tag"),
      nb::arg("place").none());
  module.def(
      "extract",
      [](const Value &value, Expr dim, Expr at, const std::string &tag, Place place) {
        return extract(value, dim, at, tagged(tag), place);
      },
      nb::arg("value"), nb::arg("dim"), nb::arg("at"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "concatenate",
      [](const std::vector<std::pair<Value, Expr>> &pieces, Expr into, const std::string &tag, Place place) {
        std::vector<Piece> list;
        for (const auto &[value, dim] : pieces)
          list.push_back({value, dim});
        return concatenate(list, into, tagged(tag), place);
      },
      nb::arg("pieces"), nb::arg("into"), nb::arg("tag"), nb::arg("place").none());
}

void bindSymbolsAndLogs(nb::module_ &module) {
  module.def("apply_expr", applyExpr, nb::arg("values"), nb::arg("function"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "index_of", [](const Value &value, Place place) { return index_of(value, {}, place); }, nb::arg("value"),
      nb::arg("place").none());
  module.def(
      "set_symbol",
      [](Expr symbol, const Value &value, const std::string &tag, Place place) {
        set_symbol(symbol, value, tagged(tag), place);
      },
      nb::arg("symbol"), nb::arg("value"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "debug_log",
      [](const Value &value, std::string label, const std::vector<std::pair<Expr, Expr>> &loops, const std::string &tag,
         Place place) {
        DebugLogOptions options{.tag = tag};
        for (const auto &[dim, axis] : loops)
          options.loops.push_back({dim, axis});
        return debug_log(value, std::move(label), options, place);
      },
      nb::arg("value"), nb::arg("label"), nb::arg("loops"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "debug_print",
      [](const Value &value, std::string label, const std::string &tag, Place place) {
        return debug_print(value, std::move(label), tagged(tag), place);
      },
      nb::arg("value"), nb::arg("label"), nb::arg("tag"), nb::arg("place").none());
  module.def("tag", [](const Value &value, std::string_view name) { return tag(value, name); });
  module.def("named", [](const Value &value, std::string_view name) { return named(value, name); });
}

void bindElementwise(nb::module_ &module) {
  module.def(
      "unary",
      [](std::string_view name, const Value &operand, const std::string &tag, Place place) {
        return find(unaryOps, name)(operand, tagged(tag), place);
      },
      nb::arg("name"), nb::arg("operand"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "negate", [](const Value &operand, Place place) { return -Operand(operand, place); }, nb::arg("operand"),
      nb::arg("place").none());
  module.def(
      "invert", [](const Value &operand, Place place) { return ~Operand(operand, place); }, nb::arg("operand"),
      nb::arg("place").none());
  module.def(
      "binary",
      [](std::string_view name, nb::object lhs, nb::object rhs, const std::string &tag, Place place) {
        return find(binaryOps, name)(operandOf(lhs, place), operandOf(rhs, place), tagged(tag), place);
      },
      nb::arg("name"), nb::arg("lhs"), nb::arg("rhs"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "softsign",
      [](const Value &operand, double cap, bool scaled, std::optional<int64_t> headDim, const std::string &tag,
         Place place) {
        return softsign(operand, {.logit_cap = cap, .apply_scaling = scaled, .head_dim = headDim, .tag = tag}, place);
      },
      nb::arg("operand"), nb::arg("logit_cap"), nb::arg("apply_scaling"), nb::arg("head_dim").none(), nb::arg("tag"),
      nb::arg("place").none());
}

template <typename Table>
nb::list namesOf(const Table &table) {
  nb::list names;
  for (const auto &[name, function] : table)
    names.append(name);
  return names;
}

} // namespace

void bindOps(nb::module_ &module) {
  bindMemory(module);
  bindMatrices(module);
  bindShapes(module);
  bindSymbolsAndLogs(module);
  bindElementwise(module);
  module.def("op_names", [](std::string_view family) {
    if (family == "unary")
      return namesOf(unaryOps);
    if (family == "binary")
      return namesOf(binaryOps);
    if (family == "reduce")
      return namesOf(reduceOps);
    return namesOf(atomicOps);
  });
}

} // namespace soliton::python
