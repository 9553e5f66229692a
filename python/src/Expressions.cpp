//===- Expressions.cpp - Index expressions in Python ---------------------------------===//
//
//   M, BLOCK_M = sym.M, sym.BLOCK_M
//   ceildiv(M, BLOCK_M) * 2 - 1
//
// Operators of Python build expressions, `==` and `hash` are those of structures (symbols are keys of dictionaries),
// and the truth of what is not known yet is an error. Operands of other kinds are refused politely, so that SymPy can
// take over.
//
//===----------------------------------------------------------------------===//
#include "Bindings.h"

#include <nanobind/operators.h>

namespace soliton::python {

namespace {

/// The operand of an operator, if it is one of ours.
std::optional<Expr> operandExpr(nb::handle object) {
  Expr expr;
  if (PyLong_Check(object.ptr()) && !PyBool_Check(object.ptr()))
    return nb::cast<int64_t>(object);
  if (nb::try_cast(object, expr, false))
    return expr;
  return std::nullopt;
}

nb::object notImplemented() {
  return nb::borrow(Py_NotImplemented);
}

using Binary = Expr (*)(Expr, Expr);

template <Binary function>
nb::object forward(Expr self, nb::object other) {
  std::optional<Expr> operand = operandExpr(other);
  return operand ? nb::cast(function(self, *operand)) : notImplemented();
}
template <Binary function>
nb::object reflected(Expr self, nb::object other) {
  std::optional<Expr> operand = operandExpr(other);
  return operand ? nb::cast(function(*operand, self)) : notImplemented();
}

template <Binary function>
void defineOperator(nb::class_<Expr> &type, const char *name, const char *reflectedName) {
  type.def(name, &forward<function>, nb::is_operator());
  type.def(reflectedName, &reflected<function>, nb::is_operator());
}

Expr add(Expr a, Expr b) {
  return a + b;
}
Expr subtract(Expr a, Expr b) {
  return a - b;
}
Expr multiply(Expr a, Expr b) {
  return a * b;
}
Expr divide(Expr a, Expr b) {
  return a / b;
}
Expr logicalAnd(Expr a, Expr b) {
  return sym::logicalAnd(a, b);
}
Expr logicalOr(Expr a, Expr b) {
  return sym::logicalOr(a, b);
}
Expr minimum(Expr a, Expr b) {
  return sym::min(a, b);
}
Expr maximum(Expr a, Expr b) {
  return sym::max(a, b);
}

int64_t number(Expr e, const char *what) {
  if (std::optional<int64_t> value = e.constantValue())
    return *value;
  throw nb::type_error(("`" + sym::toString(e) + "` is known only when the kernel is compiled, and has no " + what +
                        " here; take soliton.min, soliton.max or soliton.select")
                           .c_str());
}

void defineArithmetic(nb::class_<Expr> &type) {
  defineOperator<add>(type, "__add__", "__radd__");
  defineOperator<subtract>(type, "__sub__", "__rsub__");
  defineOperator<multiply>(type, "__mul__", "__rmul__");
  defineOperator<divide>(type, "__truediv__", "__rtruediv__");
  defineOperator<sym::floordiv>(type, "__floordiv__", "__rfloordiv__");
  defineOperator<sym::mod>(type, "__mod__", "__rmod__");
  defineOperator<sym::shl>(type, "__lshift__", "__rlshift__");
  defineOperator<sym::shr>(type, "__rshift__", "__rrshift__");
  defineOperator<sym::bitXor>(type, "__xor__", "__rxor__");
  defineOperator<logicalAnd>(type, "__and__", "__rand__");
  defineOperator<logicalOr>(type, "__or__", "__ror__");
  type.def("__neg__", [](Expr self) { return -self; });
  type.def("__pos__", [](Expr self) { return self; });
  type.def("__invert__", [](Expr self) { return sym::logicalNot(self); });
  type.def("__pow__", [](Expr self, int64_t exponent) { return sym::pow(self, exponent); }, nb::is_operator());
  type.def("__floor__", [](Expr self) { return sym::floor(self); });
  type.def("__ceil__", [](Expr self) { return sym::ceil(self); });
}

void defineComparisons(nb::class_<Expr> &type) {
  type.def("__lt__", &forward<sym::lt>, nb::is_operator());
  type.def("__le__", &forward<sym::le>, nb::is_operator());
  type.def("__gt__", &forward<sym::gt>, nb::is_operator());
  type.def("__ge__", &forward<sym::ge>, nb::is_operator());
  auto equals = [](Expr self, nb::object other) -> nb::object {
    std::optional<Expr> operand = operandExpr(other);
    return operand ? nb::cast(self == *operand) : notImplemented();
  };
  type.def("__eq__", equals, nb::is_operator(), nb::arg("other").none());
  type.def("__hash__", [](Expr self) { return static_cast<int64_t>(self.hash()); });
  type.def("__bool__", [](Expr self) { return number(self, "truth") != 0; });
  type.def("__int__", [](Expr self) { return number(self, "value"); });
  type.def("__index__", [](Expr self) { return number(self, "value"); });
}

/// Names that a program may be given, and what inspects an expression; conversions to SymPy are written with them.
void defineInspection(nb::class_<Expr> &type) {
  type.def_prop_ro(
      "kind", [](Expr self) { return std::string(sym::kindName(self.kind())); },
      "What it is: \"constant\", \"symbol\", \"add\", \"floordiv\", …");
  type.def_prop_ro(
      "args",
      [](Expr self) { return nb::tuple(nb::cast(std::vector<Expr>(self.operands().begin(), self.operands().end()))); },
      "Its operands.");
  type.def_prop_ro("name", [](Expr self) { return std::string(self.symbolName()); }, "The name of a symbol.");
  type.def_prop_ro("value", [](Expr self) { return self.constantValue(); }, "The number, if it is one.");
  type.def_prop_ro(
      "free_symbols",
      [](Expr self) {
        nb::set symbols;
        for (Expr symbol : sym::symbolsOf(self))
          symbols.add(nb::cast(symbol));
        return symbols;
      },
      "The symbols in it.");
  auto substitute = [](Expr self, const std::vector<std::pair<nb::object, nb::object>> &pairs) {
    sym::Substitution substitution;
    for (const auto &[symbol, value] : pairs)
      substitution.set(exprOf(symbol), exprOf(value));
    return sym::substitute(self, substitution);
  };
  type.def("_substitute", substitute);
  type.def("__repr__", [](Expr self) { return sym::toString(self); });
  type.def("__str__", [](Expr self) { return sym::toString(self); });
}

void defineFunctions(nb::module_ &module) {
  module.def("symbol", [](std::string_view name) { return symbol(name); });
  module.def("constant", [](int64_t value) { return Expr(value); });
  module.def("address_space", [](bool isShared) { return isShared ? Expr(shared) : Expr(global); });
  module.def("iterator", [](int k) { return IndexMapping::iterator(k); });
  module.def("dynamic_val", [](int k) { return IndexMapping::dynamic_val(k); });
  module.def("workgroup_id", [](int dim) { return workgroup_id(dim); });
  module.def("iteration", [](Expr axis) { return iteration(axis); });
  module.def("thread_id", [] { return thread_id(); });
  module.def("lane_id", [] { return lane_id(); });
  module.def("wave_id", [] { return wave_id(); });
  auto two = [&](const char *name, Binary function) {
    module.def(name, [function](nb::object a, nb::object b) { return function(exprOf(a), exprOf(b)); });
  };
  two("expr_ceildiv", sym::ceildiv);
  two("expr_floordiv", sym::floordiv);
  two("expr_mod", sym::mod);
  two("expr_exact_div", divide);
  two("expr_min", minimum);
  two("expr_max", maximum);
  two("expr_eq", sym::eq);
  two("expr_ne", sym::ne);
  two("expr_lt", sym::lt);
  two("expr_le", sym::le);
  two("expr_xor", sym::bitXor);
  two("expr_and", logicalAnd);
  two("expr_or", logicalOr);
  module.def("expr_not", [](nb::object a) { return sym::logicalNot(exprOf(a)); });
  module.def("expr_floor", [](nb::object a) { return sym::floor(exprOf(a)); });
  module.def("expr_ceil", [](nb::object a) { return sym::ceil(exprOf(a)); });
  module.def("expr_select", [](nb::object condition, nb::object then, nb::object otherwise) {
    return sym::select(exprOf(condition), exprOf(then), exprOf(otherwise));
  });
  module.def("expr_parse", [](std::string_view text) { return sym::parse(text); });
}

} // namespace

void bindExpressions(nb::module_ &module) {
  auto type = nb::class_<Expr>(module, "Expr", nb::dynamic_attr(),
                               "An exact integer expression of symbols: sizes, tiles, places.");
  defineArithmetic(type);
  defineComparisons(type);
  defineInspection(type);
  defineFunctions(module);
}

} // namespace soliton::python
