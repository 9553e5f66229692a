//===- Errors.cpp - Diagnostics as Python's exceptions --------------------------------===//
//
// A CompileError of C++ becomes the class that Python registered, made of one dictionary for each diagnostic:
//
//   {"severity": "error", "id": "mma-shape-mismatch", "place": ("gemm.py", 31, 11), "message": …, "hint": …,
//    "notes": [(("gemm.py", 28, 9), "`b` is read here")]}
//
//===----------------------------------------------------------------------===//
#include "Bindings.h"

namespace soliton::python {

namespace {

/// The class, kept for the life of the process.
PyObject *errorClass = nullptr;

std::string_view severityName(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "remark";
}

nb::dict dictOf(const Diagnostic &diagnostic) {
  nb::dict dict;
  dict["severity"] = nb::cast(std::string(severityName(diagnostic.severity)));
  dict["id"] = nb::cast(std::string(idText(diagnostic.id)));
  dict["place"] = nb::cast(diagnostic.place);
  dict["message"] = nb::cast(diagnostic.message);
  dict["hint"] = nb::cast(diagnostic.hint);
  nb::list notes;
  for (const Note &note : diagnostic.notes)
    notes.append(nb::make_tuple(note.place, note.message));
  dict["notes"] = notes;
  return dict;
}

void raise(const CompileError &error) {
  if (!errorClass) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return;
  }
  nb::object made = nb::borrow(errorClass)(listOfDiagnostics(error.diagnostics()));
  PyErr_SetObject(errorClass, made.ptr());
}

/// What C++ throws past a function of Python that it called, and that nobody but C++ understands.
thread_local std::exception_ptr passing;
PyObject *passingClass = nullptr;

void translate(const std::exception_ptr &thrown, void *) {
  try {
    std::rethrow_exception(thrown);
  } catch (const CompileError &error) {
    raise(error);
  } catch (const sym::ExprError &error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception &) {
    throw; // nanobind's to translate
  } catch (const nb::builtin_exception &) {
    throw;
  } catch (...) {
    passing = std::current_exception();
    PyErr_SetNone(passingClass);
  }
}

} // namespace

void rethrowPassing() {
  if (std::exception_ptr thrown = std::exchange(passing, nullptr))
    std::rethrow_exception(thrown);
}

nb::list listOfDiagnostics(const std::vector<Diagnostic> &diagnostics) {
  nb::list list;
  for (const Diagnostic &diagnostic : diagnostics)
    list.append(dictOf(diagnostic));
  return list;
}

void bindErrors(nb::module_ &module) {
  nb::register_exception_translator(translate);
  passingClass = PyErr_NewException("soliton._native.Passing", PyExc_BaseException, nullptr);
  module.def("set_error_class", [](nb::object type) { errorClass = type.release().ptr(); });
  module.def("explain", [](std::string_view id) -> std::optional<std::string> {
    if (std::optional<DiagId> found = parseDiagId(id))
      return std::string(explanation(*found));
    return std::nullopt;
  });
  module.def("diagnostic_ids", [] {
    nb::list ids;
    for (DiagId id : allDiagIds())
      ids.append(std::string(idText(id)));
    return ids;
  });
}

} // namespace soliton::python
