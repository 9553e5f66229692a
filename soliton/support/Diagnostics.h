//===- Diagnostics.h - Errors as values ------------------------------------===//
//
// What the compiler has to say to a kernel author, as data. Printed as
//
//   gemm.cpp:31:11: error: `mma` contracts 32 columns of `a` with 16 of `b` [mma-shape-mismatch]
//   gemm.cpp:28:9: note: `b` is read here with BLOCK_K = 16
//     hint: give both operands the same K tile
//
// Every id stands in Diagnostics.def with the sentence that explains it; a test fails when one has no test.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <exception>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace soliton {

/// A place in the author's text. `file` is empty where there is none.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;

  Place() = default;
  Place(std::string file, int line, int column) : file(std::move(file)), line(line), column(column) {}
  Place(const std::source_location &loc)
      : file(loc.file_name()), line(static_cast<int>(loc.line())), column(static_cast<int>(loc.column())) {}

  bool known() const { return !file.empty(); }
  bool operator==(const Place &) const = default;
};

enum class Severity { error, warning, remark };

/// The stable ids of Diagnostics.def.
enum class DiagId {
#define SOLITON_DIAGNOSTIC(ENUM, ID, SENTENCE) ENUM,
#include "soliton/support/Diagnostics.def"
};

std::string_view idText(DiagId id);
/// What the id means, for `docs/errors.md`.
std::string_view explanation(DiagId id);
std::optional<DiagId> parseDiagId(std::string_view text);
const std::vector<DiagId> &allDiagIds();

struct Note {
  Place place;
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::error;
  DiagId id;
  Place place;
  /// What was found and what was expected; lower-case, no period, code in backticks.
  std::string message;
  /// What to do about it; may be empty.
  std::string hint;
  std::vector<Note> notes;
};

std::string format(const Diagnostic &diagnostic);
std::string format(const std::vector<Diagnostic> &diagnostics);

/// Thrown at the border of the public API; holds everything that was found, never only the first.
class CompileError : public std::exception {
public:
  explicit CompileError(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic> &diagnostics() const { return list; }
  const char *what() const noexcept override { return text.c_str(); }

private:
  std::vector<Diagnostic> list;
  std::string text;
};

/// The closest of `choices` to `text` by edit distance, if one is close enough to be meant.
std::optional<std::string> nearest(std::string_view text, const std::vector<std::string> &choices);

/// `choices` for a message: "`a`, `b` or `c`".
std::string listOf(const std::vector<std::string> &choices);

} // namespace soliton
