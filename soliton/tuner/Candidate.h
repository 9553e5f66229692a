//===- Candidate.h - One thing that is tried -------------------------------===//
//
// Choices by name, and the schedule of a loop where a search found one. Equal candidates have equal texts, and so equal
// hashes, wherever they were made:
//
//   soliton-candidate 1
//   BLOCK_M = 128
//   schedule = modulo
//
// A schedule follows as it stands in a schedule file (authoring/ScheduleFile.h), after a line `--- schedule`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/Diagnostics.h"

#include <map>
#include <string>
#include <string_view>

namespace soliton::tune {

/// What somebody who tunes can change: a choice that is none, a file that is no database. What was found and what was
/// expected, and what to do about it.
class TuneError : public CompileError {
public:
  TuneError(DiagId id, std::string message, std::string hint, Place place = {})
      : CompileError({{Severity::error, id, std::move(place), std::move(message), std::move(hint), {}}}) {}
};

using Assignment = std::map<std::string, std::string>;

struct Candidate {
  Assignment choices;
  /// The text of a schedule file; empty: as the choices say.
  std::string schedule;

  std::string text() const;
  /// SHA-256 of the text, 64 hexadecimal digits.
  std::string hash() const;
  bool operator==(const Candidate &) const = default;
};

/// Reads the text of a candidate; throws TuneError.
Candidate parseCandidate(std::string_view text);

/// 64 hexadecimal digits of a SHA-256.
std::string hashOf(std::string text);

} // namespace soliton::tune
