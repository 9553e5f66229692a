//===- ScheduleFileParts.h - What the two forms of a schedule file share ---===//
//
// Limits of what is read, the words for what a schedule puts in, and the checks that both forms need:
//
//   wordOf(added)  ->  `sched_group`          describe(added)  ->  `sched_group 8 4 0`
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/ScheduleFile.h"

namespace soliton::sched::files {

inline constexpr size_t kMostBytes = size_t{32} << 20;
inline constexpr size_t kMostOps = 200000;
inline constexpr size_t kMostAdded = 10000;
inline constexpr size_t kMostKey = 4096;
inline constexpr int kMostDepth = 8;
inline constexpr int kMostValue = 1 << 24;
inline constexpr int kMostStages = 256;
inline constexpr int kMostCycles = 1 << 20;
inline constexpr int kMostBuffers = 256;
inline constexpr int kMostCopies = 64;
inline constexpr int kMostStagger = 16;
inline constexpr int kMostGroups = 2;
inline constexpr size_t kMostLoops = 256;
inline constexpr int kNewest = 2;

using Diagnostics = std::vector<Diagnostic>;

/// Reports a mistake in the text.
void fail(Diagnostics &diagnostics, const std::string &name, int line, std::string message, std::string hint = {});

/// In quotes, with escapes; bytes that are no UTF-8 are replaced.
std::string quoted(const std::string &text);

/// `barrier`, `wait`, `commit`, `priority`, `sched_barrier`, `sched_group`.
std::string_view wordOf(const ScheduleFile::Added &added);
/// Kind, hint and as many arguments as it takes, from its word; false if there is no such word.
bool parseWord(std::string_view word, ScheduleFile::Added &added);
bool hasCounter(const ScheduleFile::Added &added);

/// As in the text form, without the slot: `wait vm 4`, `barrier groups 1`.
std::string describe(const ScheduleFile::Added &added);
std::string describe(const Slot &slot);
/// `insert prologue end wait vm 0`
std::string describe(const ScheduleFile::Outside &insertion);
std::string describe(const Waiver &waiver);
/// `specialize waves 4 registers 40 "read_a/copy"`; empty where nothing is said.
std::string describe(const std::optional<ScheduleFile::Specialized> &specialized);
/// `0 4`
std::string describe(const std::vector<int> &numbers);

/// `prologue` or `epilogue`; false for anything else.
bool parsePart(std::string_view word, Phase &phase);

/// The names of the regions; the second of one name is `name#2`.
std::vector<std::string> regionKeys(const Problem &problem);

/// Numbers that no schedule can have, in a file that was read; one diagnostic each.
void checkNumbers(const ScheduleFile &file, Diagnostics &diagnostics);

std::vector<ScheduleFile> parseText(std::string_view text, Diagnostics &diagnostics, const std::string &name);
std::vector<ScheduleFile> parseJson(std::string_view text, Diagnostics &diagnostics, const std::string &name);

} // namespace soliton::sched::files
