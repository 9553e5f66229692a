//===- Module.cpp - The extension soliton._native -----------------------------------===//
//
// Its parts in the order in which a kernel needs them. Python's own modules (soliton/lang.py, soliton/wave.py, …) give
// them Wave's names; nobody else imports this one.
//
//===----------------------------------------------------------------------===//
#include "Exchange.h"
#include "Launch.h"
#include "Tuner.h"

NB_MODULE(_native, module) {
  using namespace soliton::python;
  module.doc() = "The C++ side of soliton; use soliton.lang, soliton.wave and soliton.compile.";
  // Kernels may be held to the end by registries of others (torch's operators), which is no mistake to warn a user of.
  nb::set_leak_warnings(false);
  bindErrors(module);
  bindExpressions(module);
  bindConstraints(module);
  bindKernels(module);
  bindOps(module);
  bindLanes(module);
  bindSchedules(module);
  bindExchange(module);
  bindLaunch(module);
  bindCompiler(module);
  bindTools(module);
  bindTuner(module);
}
