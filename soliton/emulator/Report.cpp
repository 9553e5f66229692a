//===- Report.cpp - Collects and prints findings --------------------------===//
//
// See Report.h; also the text form of a Result.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Report.h"

#include <algorithm>
#include <sstream>

namespace soliton::emu {

/// Distinct findings beyond this are dropped while running; far more than anyone reads.
static constexpr size_t kMaxKept = 4096;

std::string_view name(FindingKind kind) {
  static constexpr std::string_view names[] = {"race",          "missing-wait",     "missing-barrier", "missing-fence",
                                               "lane-conflict", "global-conflict",  "redundant-write", "pending-value",
                                               "out-of-bounds", "misaligned",       "uninitialized",   "divergent",
                                               "deadlock",      "counter-overflow", "mbarrier-misuse", "early-access",
                                               "stable-write"};
  auto index = static_cast<size_t>(kind);
  return index < std::size(names) ? names[index] : "?";
}

uint64_t Reporter::identity(uint32_t instruction) const {
  if (instruction >= program.code.size() || program.code[instruction].place == 0)
    return instruction;
  return uint64_t(1) << 32 | program.code[instruction].place;
}

Reporter::Key Reporter::keyOf(FindingKind kind, uint32_t instruction, uint32_t other) const {
  // Which of two unordered accesses came first depends on the schedule: the pair has no order.
  auto [low, high] = std::minmax({identity(instruction), identity(other)});
  return {low, high, static_cast<uint8_t>(kind)};
}

bool Reporter::isNew(FindingKind kind, uint32_t instruction, uint32_t other) const {
  return findings.size() < kMaxKept && !findings.count(keyOf(kind, instruction, other));
}

void Reporter::withdraw(FindingKind kind, uint32_t instruction, uint32_t workgroup) {
  auto found = findings.find(keyOf(kind, instruction, Finding::kNone));
  if (found != findings.end() && found->second.workgroup == workgroup)
    findings.erase(found);
}

static Origin originOf(const Program &program, uint32_t instruction) {
  if (instruction >= program.code.size())
    return {};
  Origin origin = program.places[program.code[instruction].place];
  if (origin.what.empty())
    origin.what = name(program.code[instruction].op);
  return origin;
}

std::string Reporter::nameOf(uint32_t instruction) const {
  return '`' + originOf(program, instruction).what + '`';
}

std::string Reporter::waveName(uint32_t wave) const {
  if (program.clusterSize() == 1)
    return std::to_string(wave);
  return std::to_string(wave % program.waves) + " of workgroup " + std::to_string(wave / program.waves) +
         " of the cluster";
}

void Reporter::add(Finding finding) {
  Key key = keyOf(finding.kind, finding.instruction, finding.other);
  if (findings.size() >= kMaxKept || findings.count(key))
    return;
  finding.origin = originOf(program, finding.instruction);
  finding.otherOrigin = originOf(program, finding.other);
  findings.emplace(key, std::move(finding));
}

void Reporter::merge(std::vector<Reporter> &reporters, uint32_t limit, Result &result) {
  std::map<Key, Finding> all;
  for (Reporter &reporter : reporters)
    for (auto &[key, finding] : reporter.findings) {
      auto [place, isNew] = all.try_emplace(key, finding);
      if (!isNew && finding.workgroup < place->second.workgroup)
        place->second = finding;
    }
  for (auto &[key, finding] : all)
    (isWarning(finding.kind) ? result.warnings : result.findings).push_back(std::move(finding));
  for (std::vector<Finding> *list : {&result.findings, &result.warnings}) {
    std::sort(list->begin(), list->end(), [](const Finding &a, const Finding &b) {
      return std::tuple(a.instruction, a.other, a.kind) < std::tuple(b.instruction, b.other, b.kind);
    });
    if (list->size() > limit) {
      result.truncated = true;
      list->resize(limit);
    }
  }
}

static void printPlace(std::ostream &out, const Place &place) {
  if (place.known())
    out << place.file << ':' << place.line << ':' << place.column << ": ";
}

std::string format(const Finding &finding) {
  std::ostringstream out;
  printPlace(out, finding.origin.place);
  out << (isWarning(finding.kind) ? "warning: " : "error: ") << finding.message << " [" << name(finding.kind) << "]\n";
  if (finding.other != Finding::kNone) {
    out << "  ";
    printPlace(out, finding.otherOrigin.place);
    out << "note: `" << finding.otherOrigin.what << "` here\n";
  }
  if (!finding.hint.empty())
    out << "    hint: " << finding.hint << '\n';
  return out.str();
}

std::string format(const Result &result) {
  std::string text;
  if (!result.error.empty())
    text += "error: " + result.error + '\n';
  for (const std::vector<Finding> *list : {&result.findings, &result.warnings})
    for (const Finding &finding : *list)
      text += format(finding);
  if (result.truncated)
    text += "further findings were dropped\n";
  return text;
}

} // namespace soliton::emu
