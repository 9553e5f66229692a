#include "soliton/tuner/Candidate.h"

#include "soliton/support/Sha256.h"

namespace soliton::tune {

static constexpr std::string_view kFirst = "soliton-candidate 1\n", kSchedule = "--- schedule\n";

std::string hashOf(std::string text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (uint8_t byte : sha256(std::move(text))) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

std::string Candidate::text() const {
  std::string result(kFirst);
  for (const auto &[name, value] : choices)
    result += name + " = " + value + "\n";
  if (!schedule.empty())
    result += std::string(kSchedule) + schedule;
  return result;
}

std::string Candidate::hash() const {
  return hashOf(text());
}

Candidate parseCandidate(std::string_view text) {
  auto fail = [](const std::string &found) -> Candidate {
    throw TuneError(DiagId::TuneCandidate,
                    "found `" + found + "` in a candidate, expected `soliton-candidate 1` and lines `NAME = VALUE`",
                    "`soliton tune best` prints one as it should be");
  };
  if (!text.starts_with(kFirst))
    return fail(std::string(text.substr(0, text.find('\n'))));
  text.remove_prefix(kFirst.size());
  Candidate candidate;
  while (!text.empty()) {
    if (text.starts_with(kSchedule)) {
      candidate.schedule = text.substr(kSchedule.size());
      break;
    }
    size_t end = text.find('\n'), equals = text.find(" = ");
    if (end == std::string_view::npos || equals == std::string_view::npos || equals > end || equals == 0)
      return fail(std::string(text.substr(0, end)));
    candidate.choices.emplace(text.substr(0, equals), text.substr(equals + 3, end - equals - 3));
    text.remove_prefix(end + 1);
  }
  return candidate;
}

} // namespace soliton::tune
