//===- Failure.h - How the interpreter gives up ------------------------------===//
#pragma once

#include "soliton/ir/Diagnose.h"

namespace soliton::interp {

/// Thrown inside the interpreter only; `run` turns it into a diagnostic.
struct Failure {
  Diagnostic diagnostic;
};

/// The program has no meaning at `loc`.
[[noreturn]] void fail(mlir::Location loc, DiagId id, std::string message, std::string hint = {});

} // namespace soliton::interp
