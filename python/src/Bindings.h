//===- Bindings.h - How Python and the kernel language meet -------------------------===//
//
// What all files of the extension share: places, element types and operands as Python hands them over. The extension
// decides nothing: it turns Python's arguments into calls of the public API, and diagnostics into exceptions.
//
//   place          ("gemm.py", 12, 9), counted from 1; None where nothing is known
//   element type   "f16"
//   operand        a Value, an int or a float
//
//===----------------------------------------------------------------------===//
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <soliton/soliton.h>

namespace nb = nanobind;

/// ("gemm.py", 12, 9) as a place.
template <>
struct nanobind::detail::type_caster<soliton::Place> {
  NB_TYPE_CASTER(soliton::Place, const_name("tuple[str, int, int] | None"))

  bool from_python(handle source, uint8_t, cleanup_list *) noexcept {
    if (source.is_none()) {
      value = soliton::Place("", 0, 0);
      return true;
    }
    if (!PyTuple_Check(source.ptr()) || PyTuple_Size(source.ptr()) != 3)
      return false;
    const char *file = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(source.ptr(), 0), nullptr);
    long line = PyLong_AsLong(PyTuple_GetItem(source.ptr(), 1));
    long column = PyLong_AsLong(PyTuple_GetItem(source.ptr(), 2));
    if (!file || PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    value = soliton::Place(file, static_cast<int>(line), static_cast<int>(column));
    return true;
  }
  static handle from_cpp(const soliton::Place &place, rv_policy, cleanup_list *) noexcept {
    return nb::make_tuple(place.file, place.line, place.column).release();
  }
};

/// "f16" as an element type.
template <>
struct nanobind::detail::type_caster<soliton::ElementType> {
  NB_TYPE_CASTER(soliton::ElementType, const_name("str"))

  bool from_python(handle source, uint8_t, cleanup_list *) noexcept {
    const char *text = PyUnicode_Check(source.ptr()) ? PyUnicode_AsUTF8AndSize(source.ptr(), nullptr) : nullptr;
    std::optional<soliton::ElementType> type;
    if (text)
      type = soliton::parseElementType(text);
    if (!type)
      return false;
    value = *type;
    return true;
  }
  static handle from_cpp(soliton::ElementType type, rv_policy, cleanup_list *) noexcept {
    return nb::str(soliton::toString(type).c_str()).release();
  }
};

namespace soliton::python {

/// A number or an expression as an expression.
inline Expr exprOf(nb::handle object) {
  if (PyLong_Check(object.ptr()))
    return Expr(nb::cast<int64_t>(object));
  return nb::cast<Expr>(object);
}

/// A value or a number of Python, written at `place`.
inline Operand operandOf(nb::handle object, const Place &place) {
  if (PyBool_Check(object.ptr()))
    return Operand(static_cast<int64_t>(object.ptr() == Py_True), place);
  if (PyLong_Check(object.ptr()))
    return Operand(nb::cast<int64_t>(object), place);
  if (PyFloat_Check(object.ptr()))
    return Operand(PyFloat_AsDouble(object.ptr()), place);
  return Operand(nb::cast<Value>(object), place);
}

/// A dictionary for each, as Errors.cpp describes them.
nb::list listOfDiagnostics(const std::vector<Diagnostic> &diagnostics);

/// Throws on what a call of C++ threw past Python, if something did.
void rethrowPassing();

void bindExpressions(nb::module_ &module);
void bindConstraints(nb::module_ &module);
void bindKernels(nb::module_ &module);
void bindOps(nb::module_ &module);
void bindLanes(nb::module_ &module);
void bindErrors(nb::module_ &module);
void bindCompiler(nb::module_ &module);
void bindSchedules(nb::module_ &module);
void bindTools(nb::module_ &module);

/// Python's own error that a call of its code left in a compilation, to be raised when that is over.
struct PendingError {
  std::optional<nb::python_error> error;
};

/// What Compiler.cpp understands: {"target": "gfx942", "subs": [(M, Expr)], …}
CompileOptions optionsOf(const nb::dict &given, const Place &place, const std::shared_ptr<PendingError> &pending);

/// A schedule that is a Python function of a ScheduleContext.
std::shared_ptr<const WaveSchedule> scheduleOf(const std::string &name, nb::object function, bool strict,
                                               std::shared_ptr<PendingError> pending);

} // namespace soliton::python
