#include "soliton/display/Picture.h"

#include "soliton/schedule/Lifetimes.h"

#include <algorithm>
#include <cctype>

namespace soliton::sched {
namespace {
bool isDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// `3`, `0.1`, `M1.K0`, `copy1`: each dotted part is a number, or the short or upper-case name of a dimension and one.
bool isPiece(std::string_view part) {
  if (part.empty())
    return false;
  while (!part.empty()) {
    std::string_view word = part.substr(0, part.find('.'));
    part.remove_prefix(std::min(word.size() + 1, part.size()));
    size_t digits = std::min(word.find_first_of("0123456789"), word.size());
    std::string_view name = word.substr(0, digits), number = word.substr(digits);
    bool isName = name.size() <= 2 || name == "copy" ||
                  std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (number.empty() || !isName || !std::all_of(number.begin(), number.end(), isDigit))
      return false;
  }
  return true;
}

/// Characters of `.12` at the end of `scheduling_barrier.12`.
size_t ordinalSize(std::string_view part) {
  size_t dot = part.rfind('.');
  bool ordinal = dot != std::string_view::npos && dot > 0 && dot + 1 < part.size() &&
                 std::all_of(part.begin() + dot + 1, part.end(), isDigit);
  return ordinal ? part.size() - dot : 0;
}

std::string stripped(std::string text) {
  size_t size = text.find_last_not_of("0123456789.");
  if (size != std::string::npos)
    text.resize(size + 1);
  return text;
}
} // namespace

AsDrawn::AsDrawn(Picture picture)
    : said(std::move(picture)), parts(divideByRole(said.problem, said.program, said.crew)) {
  if (!parts)
    return;
  divided.emplace(Picture{parts->problem,
                          said.schedule,
                          parts->program,
                          said.report,
                          said.kernel,
                          said.target,
                          said.certificate,
                          said.trips,
                          said.further,
                          {},
                          parts->names});
}

std::string groupName(const Picture &picture, int group) {
  if (!picture.groupNames.empty())
    return picture.groupNames[group];
  return picture.problem.groups > 1 ? "wave group " + std::to_string(group) : "";
}

std::string crewText(const Picture &picture) {
  const Crew &crew = picture.crew;
  return crew.copying == 0
             ? ""
             : counted(crew.computing, "wave") + (crew.computing == 1 ? " computes" : " compute") + ", 1 copies";
}

std::string labelOf(const Operation &op) {
  std::string_view rest = op.key;
  // A repeated key ends in `#2`.
  if (size_t hash = rest.rfind('#'); hash != std::string_view::npos && isPiece(rest.substr(hash + 1)))
    rest = rest.substr(0, hash);
  std::string tag(rest.substr(0, rest.find('/'))), label = tag;
  rest.remove_prefix(tag.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(part.size());
    // `mma/mma` says no more than `mma`.
    if (!isPiece(part) && part != tag)
      label += "/" + std::string(part.substr(0, part.size() - ordinalSize(part)));
  }
  return label;
}

std::string tagOf(const Operation &op) {
  if (!op.origin.tags.empty() && !op.origin.tags.front().empty())
    return op.origin.tags.front();
  size_t slash = op.key.find('/');
  return slash == std::string::npos ? stripped(op.key) : op.key.substr(0, slash);
}

std::string labelOf(const Problem &problem, const Entry &entry) {
  if (entry.kind == EntryKind::Op)
    return labelOf(problem.operations[entry.op]);
  std::string counter = entry.counter >= 0 ? problem.counters[entry.counter].name : "";
  switch (entry.kind) {
  case EntryKind::Barrier:
    return entry.stagger ? "barrier (stagger)" : "barrier";
  case EntryKind::Wait:
    return "wait " + counter + " " + std::to_string(entry.value);
  case EntryKind::Commit:
    return "commit " + counter;
  case EntryKind::Release:
    return "release";
  case EntryKind::Await:
    return "await " + std::to_string(entry.value);
  case EntryKind::Arrive:
    return "arrive " + counter + " " + problem.regions[entry.region].name;
  default:
    return "phase_wait " + counter + " " + problem.regions[entry.region].name;
  }
}

std::string foldedName(const std::string &name) {
  Operation named;
  named.key = name;
  return name.find('/') == std::string::npos ? stripped(name) : labelOf(named);
}

std::string iterationText(int offset) {
  return offset == 0 ? "n" : "n" + std::string(offset > 0 ? "+" : "") + std::to_string(offset);
}

std::string counted(int64_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

Schedule withBuffers(const Problem &problem, const Schedule &schedule) {
  Schedule decided = schedule;
  assignBuffers(problem, decided);
  return decided;
}

} // namespace soliton::sched
