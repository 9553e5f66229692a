//===- Errors.h - How the runtime fails --------------------------------------===//
//
// One line to throw one diagnostic; used inside the runtime only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/Diagnostics.h"

namespace soliton::rt {

inline Diagnostic diagnose(DiagId id, std::string message, std::string hint = "") {
  return {Severity::error, id, Place(), std::move(message), std::move(hint), {}};
}

[[noreturn]] inline void fail(DiagId id, std::string message, std::string hint = "") {
  throw CompileError({diagnose(id, std::move(message), std::move(hint))});
}

} // namespace soliton::rt
