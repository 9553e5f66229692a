//===- Diagnose.cpp - Diagnostics between MLIR and the language -------------===//

#include "soliton/ir/Diagnose.h"

namespace soliton {

static constexpr llvm::StringLiteral kHint = "hint: ";

Place placeOf(mlir::Location loc) {
  Place place;
  loc->walk([&](mlir::Location part) {
    if (auto range = llvm::dyn_cast<mlir::FileLineColRange>(part)) {
      place = Place(range.getFilename().str(), static_cast<int>(range.getStartLine()),
                    static_cast<int>(range.getStartColumn()));
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return place;
}

Report::~Report() {
  if (!active)
    return;
  std::string_view text = idText(id);
  diagnostic << " [" << llvm::StringRef(text.data(), text.size()) << "]";
  for (const auto &[loc, message] : notes)
    diagnostic.attachNote(loc) << message;
  if (!hintText.empty())
    diagnostic.attachNote() << kHint << hintText;
}

Report &Report::hint(std::string text) & {
  hintText = std::move(text);
  return *this;
}

Report &Report::note(mlir::Location loc, std::string text) & {
  notes.emplace_back(loc, std::move(text));
  return *this;
}

Report report(mlir::Location loc, DiagId id) {
  return Report(mlir::emitError(loc), id);
}
Report reportWarning(mlir::Location loc, DiagId id) {
  return Report(mlir::emitWarning(loc), id);
}
Report reportRemark(mlir::Location loc, DiagId id) {
  return Report(mlir::emitRemark(loc), id);
}

static mlir::Location locationOf(mlir::MLIRContext *context, const Place &place) {
  if (place.file.empty())
    return mlir::UnknownLoc::get(context);
  return mlir::FileLineColLoc::get(context, place.file, place.line, place.column);
}

void emit(mlir::MLIRContext *context, const Diagnostic &diagnostic) {
  mlir::Location loc = locationOf(context, diagnostic.place);
  Report said = diagnostic.severity == Severity::error     ? report(loc, diagnostic.id)
                : diagnostic.severity == Severity::warning ? reportWarning(loc, diagnostic.id)
                                                           : reportRemark(loc, diagnostic.id);
  said << diagnostic.message;
  for (const Note &note : diagnostic.notes)
    said.note(locationOf(context, note.place), note.message);
  if (!diagnostic.hint.empty())
    said.hint(diagnostic.hint);
}

static Severity severityOf(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Warning:
    return Severity::warning;
  case mlir::DiagnosticSeverity::Remark:
  case mlir::DiagnosticSeverity::Note:
    return Severity::remark;
  case mlir::DiagnosticSeverity::Error:
    return Severity::error;
  }
  return Severity::error;
}

/// Takes a known ` [id]` off the end of `text`.
static DiagId takeId(std::string &text) {
  size_t open = text.rfind(" [");
  if (open == std::string::npos || text.back() != ']')
    return DiagId::InvalidIr;
  std::optional<DiagId> id = parseDiagId(std::string_view(text).substr(open + 2, text.size() - open - 3));
  if (!id)
    return DiagId::InvalidIr;
  text.resize(open);
  return *id;
}

static Diagnostic convert(mlir::Diagnostic &source) {
  Diagnostic result;
  result.severity = severityOf(source.getSeverity());
  result.message = source.str();
  result.id = takeId(result.message);
  result.place = placeOf(source.getLocation());
  for (mlir::Diagnostic &note : source.getNotes()) {
    std::string text = note.str();
    if (llvm::StringRef(text).starts_with(kHint))
      result.hint = text.substr(kHint.size());
    else
      result.notes.push_back({placeOf(note.getLocation()), std::move(text)});
  }
  return result;
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        list.push_back(convert(diagnostic));
        return mlir::success();
      }) {}

bool DiagnosticCollector::hasErrors() const {
  return llvm::any_of(list, [](const Diagnostic &d) { return d.severity == Severity::error; });
}

} // namespace soliton
