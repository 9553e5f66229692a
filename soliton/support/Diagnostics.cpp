#include "soliton/support/Diagnostics.h"

#include <algorithm>
#include <numeric>

namespace soliton {
namespace {
struct Row {
  DiagId id;
  std::string_view text;
  std::string_view explanation;
};

constexpr Row kRows[] = {
#define SOLITON_DIAGNOSTIC(ENUM, ID, SENTENCE) {DiagId::ENUM, ID, SENTENCE},
#include "soliton/support/Diagnostics.def"
};

std::string_view severityWord(Severity severity) {
  switch (severity) {
  case Severity::error:
    return "error";
  case Severity::warning:
    return "warning";
  case Severity::remark:
    return "remark";
  }
  return "error";
}

std::string prefix(const Place &place) {
  if (!place.known())
    return "soliton: ";
  return place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
}

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}
} // namespace

std::string_view idText(DiagId id) {
  return kRows[static_cast<size_t>(id)].text;
}
std::string_view explanation(DiagId id) {
  return kRows[static_cast<size_t>(id)].explanation;
}

std::optional<DiagId> parseDiagId(std::string_view text) {
  for (const Row &row : kRows)
    if (row.text == text)
      return row.id;
  return std::nullopt;
}

const std::vector<DiagId> &allDiagIds() {
  static const std::vector<DiagId> ids = [] {
    std::vector<DiagId> result;
    for (const Row &row : kRows)
      result.push_back(row.id);
    return result;
  }();
  return ids;
}

std::string format(const Diagnostic &diagnostic) {
  std::string text = prefix(diagnostic.place);
  text += severityWord(diagnostic.severity);
  text += ": " + diagnostic.message + " [" + std::string(idText(diagnostic.id)) + "]";
  for (const Note &note : diagnostic.notes)
    text += "\n" + prefix(note.place) + "note: " + note.message;
  if (!diagnostic.hint.empty())
    text += "\n  hint: " + diagnostic.hint;
  return text;
}

std::string format(const std::vector<Diagnostic> &diagnostics) {
  std::string text;
  for (const Diagnostic &diagnostic : diagnostics)
    text += format(diagnostic) + "\n";
  return text;
}

CompileError::CompileError(std::vector<Diagnostic> diagnostics) : list(std::move(diagnostics)), text(format(list)) {}

/// The one choice that has `text` in it, as `expand-tile` is in `wave-expand-tiles`; two or more say nothing.
static std::optional<std::string> onlyOneWith(std::string_view text, const std::vector<std::string> &choices) {
  constexpr size_t kTellingLetters = 4;
  auto hasText = [&](const std::string &choice) { return choice.find(text) != std::string::npos; };
  auto found = std::find_if(choices.begin(), choices.end(), hasText);
  if (text.size() < kTellingLetters || found == choices.end() || std::count_if(found, choices.end(), hasText) > 1)
    return std::nullopt;
  return *found;
}

std::optional<std::string> nearest(std::string_view text, const std::vector<std::string> &choices) {
  std::optional<std::string> best;
  // A third of the letters may be wrong; beyond that a guess confuses more than it helps.
  size_t bound = std::max<size_t>(1, text.size() / 3) + 1;
  for (const std::string &choice : choices) {
    size_t distance = editDistance(text, choice);
    if (distance < bound) {
      bound = distance;
      best = choice;
    }
  }
  return best ? best : onlyOneWith(text, choices);
}

std::string listOf(const std::vector<std::string> &choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0)
      text += i + 1 == choices.size() ? " or " : ", ";
    text += "`" + choices[i] + "`";
  }
  return text;
}

} // namespace soliton
