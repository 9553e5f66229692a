//===- Module.cpp - The extension soliton._native -----------------------------------===//
//
// Its parts in the order in which a kernel needs them. Python's own modules (soliton/lang.py, soliton/wave.py, …) give
// them Wave's names; nobody else imports this one.
//
//===----------------------------------------------------------------------===//
#include "Bindings.h"

NB_MODULE(_native, module) {
  using namespace soliton::python;
  module.doc() = "The C++ side of soliton; use soliton.lang, soliton.wave and soliton.compile.";
  bindErrors(module);
  bindExpressions(module);
  bindConstraints(module);
  bindKernels(module);
  bindOps(module);
  bindSchedules(module);
  bindCompiler(module);
}
