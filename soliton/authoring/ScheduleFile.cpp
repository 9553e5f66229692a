//===- ScheduleFile.cpp - Between plans and schedule files -----------------===//
//
//   LoopPlan  --toFile-->  ScheduleFile  --printText, printJson-->  text
//   text  --parseScheduleFile-->  ScheduleFile  --planFromFile (BindScheduleFile.cpp)-->  LoopPlan
//
//===----------------------------------------------------------------------===//
#include "soliton/authoring/ScheduleFileParts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

namespace soliton::sched {
using namespace files;

//===- Words -------------------------------------------------------------------------===//

void files::fail(Diagnostics &diagnostics, const std::string &name, int line, std::string message, std::string hint) {
  diagnostics.push_back({Severity::error,
                         DiagId::ScheduleFile,
                         Place(name, std::max(line, 1), 1),
                         std::move(message),
                         std::move(hint),
                         {}});
}

std::string files::quoted(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string_view files::wordOf(const ScheduleFile::Added &added) {
  if (added.kind != OpKind::Hint)
    return nameOf(added.kind);
  return added.hint == HintKind::Priority       ? "priority"
         : added.hint == HintKind::SchedBarrier ? "sched_barrier"
                                                : "sched_group";
}

bool files::parseWord(std::string_view word, ScheduleFile::Added &added) {
  for (OpKind kind : {OpKind::Barrier, OpKind::Wait, OpKind::Commit})
    if (word == nameOf(kind)) {
      added.kind = kind;
      return true;
    }
  added.kind = OpKind::Hint;
  added.hint = word == "priority"        ? HintKind::Priority
               : word == "sched_barrier" ? HintKind::SchedBarrier
               : word == "sched_group"   ? HintKind::SchedGroup
                                         : HintKind::None;
  added.arguments.assign(added.hint == HintKind::SchedGroup ? 3 : 1, 0);
  return added.hint != HintKind::None;
}

bool files::hasCounter(const ScheduleFile::Added &added) {
  return added.kind == OpKind::Wait || added.kind == OpKind::Commit;
}

bool files::parsePart(std::string_view word, Phase &phase) {
  phase = word == nameOf(Phase::Prologue) ? Phase::Prologue : Phase::Epilogue;
  return word == nameOf(phase);
}

std::string files::describe(const std::vector<int> &numbers) {
  std::string text;
  for (int number : numbers)
    text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

std::string files::describe(const ScheduleFile::Added &added) {
  std::string text(wordOf(added));
  bool bare = !added.counter.empty() && std::all_of(added.counter.begin(), added.counter.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (hasCounter(added))
    text += " " + (bare ? added.counter : quoted(added.counter));
  if (added.kind == OpKind::Wait)
    text += " " + std::to_string(added.value);
  for (int64_t argument : added.arguments)
    text += " " + std::to_string(argument);
  if (added.groups != kAllGroups)
    text += " groups " + std::to_string(std::countr_zero(added.groups));
  return text;
}

std::string files::describe(const Slot &slot) {
  return "stage " + std::to_string(slot.stage) + " cycle " + std::to_string(slot.cycle) + " cluster " +
         std::to_string(slot.cluster) + (slot.rank == 0 ? "" : " rank " + std::to_string(slot.rank));
}

std::string files::describe(const ScheduleFile::Outside &insertion) {
  std::string at = insertion.rank >= 0 ? "rank " + std::to_string(insertion.rank) : insertion.atStart ? "start" : "end";
  return "insert " + std::string(nameOf(insertion.phase)) + " " + at + " " + describe(insertion.added);
}

std::string files::describe(const Waiver &waiver) {
  return "waive " + quoted(waiver.from) + " " + quoted(waiver.to) + " " + quoted(waiver.region) + " " +
         quoted(waiver.reason);
}

std::string files::describe(const std::optional<ScheduleFile::Specialized> &specialized) {
  if (!specialized)
    return {};
  std::string text =
      "specialize waves " + std::to_string(specialized->waves) + " registers " + std::to_string(specialized->registers);
  for (const std::string &key : specialized->keys)
    text += " " + quoted(key);
  return text;
}

//===- From a plan -------------------------------------------------------------------===//

namespace {
ScheduleFile::Added addedOf(const Problem &problem, OpKind kind, int counter, int value, GroupMask groups) {
  ScheduleFile::Added added;
  added.kind = kind;
  if (hasCounter(added))
    added.counter = problem.counters[counter].name;
  added.value = kind == OpKind::Wait ? value : 0;
  bool all = (groups & problem.allGroups()) == problem.allGroups();
  added.groups = all ? kAllGroups : groups & problem.allGroups();
  return added;
}

void writeOrder(const LoopPlan &plan, Phase phase, ScheduleFile &file) {
  const std::vector<int> &ranks = phase == Phase::Prologue ? plan.prologueRank : plan.epilogueRank;
  if (ranks.empty())
    return;
  int last = plan.schedule.stages() - 1;
  size_t begin = file.orders.size();
  for (int op : emissionOrder(plan.schedule)) {
    int stage = plan.schedule.slots[op].stage;
    if (phase == Phase::Prologue ? stage < last : stage > 0)
      file.orders.push_back({phase, plan.problem.operations[op].key, ranks[op], 0});
  }
  std::sort(file.orders.begin() + static_cast<std::ptrdiff_t>(begin), file.orders.end(),
            [](const auto &a, const auto &b) { return std::tie(a.rank, a.key) < std::tie(b.rank, b.key); });
}

void writeSchedule(const Problem &problem, const Schedule &schedule, ScheduleFile &file) {
  file.loop = problem.loop;
  file.algorithm = schedule.algorithm;
  file.interval = schedule.interval;
  file.timing = schedule.timing;
  std::vector<std::string> regions = regionKeys(problem);
  for (size_t region = 0; region < schedule.buffers.size() && region < problem.regions.size(); ++region)
    if (problem.regions[region].space == Space::Shared && problem.regions[region].rotating &&
        schedule.buffers[region] > 0)
      file.buffers[regions[region]] = schedule.buffers[region];
  for (int index : emissionOrder(schedule)) {
    const Operation &op = problem.operations[index];
    ScheduleFile::Line &line = file.lines.emplace_back();
    line.key = op.key;
    line.slot = schedule.slots[index];
    file.directCopies |= op.kind == OpKind::CopyAsync;
    if (!isAdded(op))
      continue;
    line.added = addedOf(problem, op.kind, op.counter, op.value, op.groups);
    line.added->hint = op.hint;
    line.added->arguments = op.arguments;
  }
}
} // namespace

/// A loop that copies nothing says nothing of who does.
static void writeRoles(const LoopPlan &plan, ScheduleFile &file) {
  file.persistent = plan.roles.workgroups;
  file.overlapTiles = plan.roles.overlapTiles;
  std::vector<int> copies = copiesOfBoxes(plan.problem);
  if (plan.roles.copyingWaves == 0 || copies.empty())
    return;
  file.specialized = {plan.roles.copyingWaves, plan.roles.copyingRegisters, {}, 0};
  for (int copy : copies)
    file.specialized->keys.push_back(plan.problem.operations[copy].key);
}

std::vector<std::string> files::regionKeys(const Problem &problem) {
  std::map<std::string, int> seen;
  std::vector<std::string> keys;
  for (const Region &region : problem.regions) {
    int number = ++seen[region.name];
    keys.push_back(number == 1 ? region.name : region.name + "#" + std::to_string(number));
  }
  return keys;
}

ScheduleFile toFile(const Problem &problem, const Schedule &schedule) {
  ScheduleFile file;
  writeSchedule(problem, schedule, file);
  return file;
}

ScheduleFile toFile(const LoopPlan &plan) {
  ScheduleFile file;
  writeSchedule(plan.problem, plan.schedule, file);
  file.unrolled = plan.unrollFirst;
  file.kernelCopies = plan.unrollKernel;
  file.eliminateEpilogue = plan.eliminateEpilogue;
  file.copiesRunOn = plan.schedule.copiesRunOn;
  file.releases = plan.schedule.releases;
  file.strict = plan.strict;
  writeRoles(plan, file);
  file.groupStart = plan.groupStart;
  file.stagger = plan.problem.stagger;
  for (const Insertion &insertion : plan.insertions) {
    OpKind kind = insertion.kind == EntryKind::Wait ? OpKind::Wait : OpKind::Barrier;
    file.insertions.push_back({insertion.phase, insertion.rank >= 0 || insertion.atStart, insertion.rank,
                               addedOf(plan.problem, kind, insertion.counter, insertion.value, insertion.groups), 0});
  }
  writeOrder(plan, Phase::Prologue, file);
  writeOrder(plan, Phase::Epilogue, file);
  file.waivers = plan.waivers;
  return file;
}

//===- Reading -----------------------------------------------------------------------===//

namespace {
class NumberCheck {
public:
  NumberCheck(const ScheduleFile &file, Diagnostics &diagnostics) : file(file), diagnostics(diagnostics) {}

  void run() {
    atMost("the interval", file.interval, 1, kMostCycles);
    atMost("`unrolled`", file.unrolled, 1, kMostCopies);
    atMost("`kernel_copies`", file.kernelCopies, 1, kMostCopies);
    for (const auto &[region, count] : file.buffers)
      atMost("the number of buffers of `" + region + "`", count, 1, kMostBuffers);
    groups();
    size_t numAdded = 0;
    for (const ScheduleFile::Line &line : file.lines) {
      atMost("the stage of `" + line.key + "`", line.slot.stage, 0, kMostStages - 1, line.line);
      atMost("the cycle of `" + line.key + "`", line.slot.cycle, 0, file.interval - 1, line.line);
      if (line.added)
        added(*line.added, line.line);
      numAdded += line.added ? 1 : 0;
    }
    atMost("the number of added ops", static_cast<int>(numAdded), 0, kMostAdded);
    for (const ScheduleFile::Outside &insertion : file.insertions) {
      added(insertion.added, insertion.line);
      if (insertion.added.kind != OpKind::Barrier && insertion.added.kind != OpKind::Wait)
        wrong(insertion.line, "`" + std::string(wordOf(insertion.added)) + "` stands outside of the kernel",
              "only barriers and waits can");
    }
  }

private:
  void wrong(int line, std::string message, std::string hint = {}) {
    if (diagnostics.size() < 16)
      fail(diagnostics, file.name, line, std::move(message), std::move(hint));
  }
  void atMost(const std::string &what, int value, int least, int most, int line = 1) {
    if (value < least || value > most)
      wrong(line, what + " is " + std::to_string(value) + ", expected " + std::to_string(least) + " to " +
                      std::to_string(most));
  }
  void groups() {
    bool ascending = !file.groupStart.empty() && file.groupStart.front() == 0 &&
                     std::is_sorted(file.groupStart.begin(), file.groupStart.end(), std::less_equal<>());
    if (!ascending || file.groupStart.size() > kMostGroups)
      wrong(1, "the groups of waves begin at " + describe(file.groupStart),
            "one split is possible: `groups 0 4`, the first wave of each");
    if (!file.stagger.empty() && file.stagger.size() != file.groupStart.size())
      wrong(1, std::to_string(file.stagger.size()) + " numbers of `stagger` for " +
                   std::to_string(file.groupStart.size()) + " groups of waves");
    for (int count : file.stagger)
      atMost("a stagger", count, 0, kMostStagger);
  }
  void added(const ScheduleFile::Added &added, int line) {
    if (std::string found = wrongNumber(added.kind, added.hint, added.arguments, added.value); !found.empty())
      wrong(line, found, "give a number in range");
    if (added.groups == kAllGroups)
      return;
    if (added.kind != OpKind::Barrier)
      wrong(line, "`" + std::string(wordOf(added)) + "` is for some groups of waves only", "only barriers can be");
    else if (file.groupStart.size() < 2 || added.groups >= GroupMask{1} << file.groupStart.size())
      wrong(line, "the barrier is for a group of waves that is not there", "declare them: `groups 0 4`");
  }

  const ScheduleFile &file;
  Diagnostics &diagnostics;
};
} // namespace

void files::checkNumbers(const ScheduleFile &file, Diagnostics &diagnostics) {
  NumberCheck(file, diagnostics).run();
}

std::vector<ScheduleFile> parseScheduleFiles(std::string_view text, Diagnostics &diagnostics, const std::string &name) {
  if (text.size() > kMostBytes) {
    fail(diagnostics, name, 1,
         "the file has " + std::to_string(text.size()) + " bytes, expected at most " + std::to_string(kMostBytes));
    return {};
  }
  size_t begin = text.find_first_not_of(" \t\r\n");
  bool json = begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
  size_t before = diagnostics.size();
  std::vector<ScheduleFile> result = json ? parseJson(text, diagnostics, name) : parseText(text, diagnostics, name);
  for (const ScheduleFile &file : result)
    if (diagnostics.size() == before)
      checkNumbers(file, diagnostics);
  return result;
}

ScheduleFile parseScheduleFile(std::string_view text, Diagnostics &diagnostics, const std::string &name) {
  size_t before = diagnostics.size();
  std::vector<ScheduleFile> result = parseScheduleFiles(text, diagnostics, name);
  if (result.size() > 1 && diagnostics.size() == before)
    fail(diagnostics, name, 1, "the file holds schedules of " + std::to_string(result.size()) + " loops, expected 1");
  return result.empty() ? ScheduleFile{} : std::move(result.front());
}

const ScheduleFile &fileOf(const Problem &problem, const std::vector<ScheduleFile> &files) {
  std::set<std::string_view> keys;
  for (const Operation &op : problem.operations)
    keys.insert(op.key);
  auto known = [&](const ScheduleFile &file) {
    return std::count_if(file.lines.begin(), file.lines.end(),
                         [&](const ScheduleFile::Line &line) { return !line.added && keys.contains(line.key); });
  };
  return *std::max_element(files.begin(), files.end(), [&](const ScheduleFile &a, const ScheduleFile &b) {
    return std::pair(known(a), a.loop == problem.loop) < std::pair(known(b), b.loop == problem.loop);
  });
}

//===- Comparing ---------------------------------------------------------------------===//

namespace {
std::map<std::string, std::string> settingsOf(const ScheduleFile &file) {
  std::map<std::string, std::string> settings = {{"interval", std::to_string(file.interval)},
                                                 {"timing", std::string(nameOf(file.timing))},
                                                 {"unrolled", std::to_string(file.unrolled)},
                                                 {"kernel_copies", std::to_string(file.kernelCopies)},
                                                 {"eliminate_epilogue", file.eliminateEpilogue ? "on" : "off"},
                                                 {"copies_run_on", file.copiesRunOn ? "on" : "off"},
                                                 {"releases", file.releases ? "on" : "off"},
                                                 {"direct_copies", file.directCopies ? "on" : "off"},
                                                 {"strict", file.strict ? "on" : "off"},
                                                 {"specialize", file.specialized ? describe(file.specialized) : "none"},
                                                 {"persistent", std::to_string(file.persistent)},
                                                 {"overlap_tiles", file.overlapTiles ? "on" : "off"},
                                                 {"groups", describe(file.groupStart)},
                                                 {"stagger", file.stagger.empty() ? "0" : describe(file.stagger)}};
  for (const ScheduleFile::Ordered &order : file.orders)
    settings["order " + std::string(nameOf(order.phase)) + " " + order.key] = std::to_string(order.rank);
  return settings;
}

/// What stands alone: insertions and waivers, each as often as it is there.
std::multiset<std::string> othersOf(const ScheduleFile &file) {
  std::multiset<std::string> others;
  for (const ScheduleFile::Outside &insertion : file.insertions)
    others.insert(describe(insertion));
  for (const Waiver &waiver : file.waivers)
    others.insert(describe(waiver));
  return others;
}

void compare(const std::map<std::string, std::string> &before, const std::map<std::string, std::string> &after,
             const std::string &absent, std::vector<std::string> &changes) {
  std::map<std::string, std::string> all = before;
  all.insert(after.begin(), after.end());
  auto of = [&](const std::map<std::string, std::string> &map, const std::string &key) {
    auto it = map.find(key);
    return it == map.end() ? absent : it->second;
  };
  for (const auto &[key, unused] : all)
    if (of(before, key) != of(after, key))
      changes.push_back("~ " + key + " " + of(before, key) + " -> " + of(after, key));
}

std::map<std::string, std::string> buffersOf(const ScheduleFile &file) {
  std::map<std::string, std::string> buffers;
  for (const auto &[region, count] : file.buffers)
    buffers["buffers " + region] = std::to_string(count);
  return buffers;
}

std::string placeOf(const ScheduleFile::Line &line) {
  return (line.added ? describe(*line.added) + " " : std::string()) + describe(line.slot);
}
} // namespace

std::vector<std::string> diff(const ScheduleFile &before, const ScheduleFile &after) {
  std::vector<std::string> changes;
  compare(settingsOf(before), settingsOf(after), "none", changes);
  compare(buffersOf(before), buffersOf(after), "0", changes);
  std::map<std::string, std::string> old;
  for (const ScheduleFile::Line &line : before.lines)
    old[line.key] = placeOf(line);
  for (const ScheduleFile::Line &line : after.lines) {
    auto it = old.find(line.key);
    std::string place = placeOf(line);
    if (it == old.end())
      changes.push_back("+ " + line.key + ": " + place);
    else if (it->second != place)
      changes.push_back("~ " + line.key + ": " + it->second + " -> " + place);
    if (it != old.end())
      old.erase(it);
  }
  for (const auto &[key, place] : old)
    changes.push_back("- " + key + ": " + place);
  std::multiset<std::string> gone = othersOf(before);
  for (const std::string &other : othersOf(after))
    if (auto it = gone.find(other); it != gone.end())
      gone.erase(it);
    else
      changes.push_back("+ " + other);
  for (const std::string &other : gone)
    changes.push_back("- " + other);
  return changes;
}

} // namespace soliton::sched
