//===- Diagnose.h - Diagnostics between MLIR and the language ---------------===//
//
// One voice for what a pass or verifier has to say, and the way back to values:
//
//   return report(op.getLoc(), DiagId::FormViolated)
//              .hint("run --wave-infer-layouts first")
//              .note(other.getLoc(), "produced here")
//          << "`" << name << "` has no layout";
//
// emits `... has no layout [form-violated]` with notes; a DiagnosticCollector on the context turns all that was emitted
// into soliton::Diagnostic values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/Diagnostics.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

namespace soliton {

/// The author's place behind a location: names and fusions unwrapped, the callee of a call. Unknown if there is none.
Place placeOf(mlir::Location loc);

/// A diagnostic that is being written; emitted when it dies. Converts to failure.
class Report {
public:
  Report(mlir::InFlightDiagnostic diagnostic, DiagId id) : diagnostic(std::move(diagnostic)), id(id) {}
  Report(Report &&other)
      : diagnostic(std::move(other.diagnostic)), id(other.id), hintText(std::move(other.hintText)),
        notes(std::move(other.notes)), active(std::exchange(other.active, false)) {}
  Report &operator=(Report &&) = delete;
  ~Report();

  /// Whatever an MLIR diagnostic takes: text, numbers, types, attributes.
  template <typename T>
  Report &operator<<(T &&value) & {
    diagnostic << std::forward<T>(value);
    return *this;
  }
  template <typename T>
  Report &&operator<<(T &&value) && {
    diagnostic << std::forward<T>(value);
    return std::move(*this);
  }
  /// What the author can do about it.
  Report &hint(std::string text) &;
  Report &&hint(std::string text) && { return std::move(hint(std::move(text))); }
  /// Another place that has to do with it.
  Report &note(mlir::Location loc, std::string text) &;
  Report &&note(mlir::Location loc, std::string text) && { return std::move(note(loc, std::move(text))); }

  operator llvm::LogicalResult() const { return mlir::failure(); }
  operator mlir::ParseResult() const { return mlir::failure(); }
  template <typename T>
  operator mlir::FailureOr<T>() const {
    return mlir::failure();
  }

private:
  mlir::InFlightDiagnostic diagnostic;
  DiagId id;
  std::string hintText;
  std::vector<std::pair<mlir::Location, std::string>> notes;
  bool active = true;
};

/// An error, a warning or a remark at a place.
Report report(mlir::Location loc, DiagId id);
Report reportWarning(mlir::Location loc, DiagId id);
Report reportRemark(mlir::Location loc, DiagId id);

/// Says what another layer found, at its place.
void emit(mlir::MLIRContext *context, const Diagnostic &diagnostic);

/// Catches every diagnostic of a context while it lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// What was emitted so far, in order. A text without a known ` [id]` at its end has the id `invalid-ir`.
  const std::vector<Diagnostic> &diagnostics() const { return list; }
  bool hasErrors() const;
  /// Hands them over and starts anew.
  std::vector<Diagnostic> take() { return std::exchange(list, {}); }

private:
  std::vector<Diagnostic> list;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace soliton
