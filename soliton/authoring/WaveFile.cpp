//===- WaveFile.cpp - The schedule file of Wave ----------------------------===//
//
//   Initiation Interval: 2
//   Number of Stages: 2
//   # Resource Reservation Table (RRT): …
//   Cycle | GLOBAL | SHARED | MMA
//   -----
//   0 | 1 | 0 | 1
//   # Schedule: …
//   Node Name | Node Type | Node Sort Key | Cycle | Relative Cycle | Stage | User Sort Keys
//   -----
//   read_a/0 | global_load | (0,) | 0 | 0 | 0 | (1,), (2,)
//
// Upstream matches rows by sort key only, which is a position; a name that fits one op wins here.
//
//===----------------------------------------------------------------------===//
#include "soliton/authoring/ScheduleFile.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

namespace soliton::sched {
namespace {
constexpr size_t kMostBytes = size_t{32} << 20;
constexpr int kMostValue = 1 << 24;

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string() : std::string(text.substr(begin, end - begin + 1));
}

std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> result;
  while (true) {
    size_t bar = line.find('|');
    result.push_back(trimmed(line.substr(0, bar)));
    if (bar == std::string_view::npos)
      return result;
    line.remove_prefix(bar + 1);
  }
}

bool number(std::string_view text, int &value) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() && value >= 0 && value <= kMostValue;
}

/// `(12,)` or `(3, 4)`: only the first component can be a position here.
bool sortKey(std::string_view text, int &value) {
  if (text.size() < 3 || text.front() != '(' || text.back() != ')')
    return false;
  std::string_view inside = text.substr(1, text.size() - 2);
  return number(trimmed(inside.substr(0, inside.find(','))), value);
}

/// Units of each resource in each cycle of the kernel.
std::vector<std::vector<int>> reservations(const Problem &problem, const Schedule &schedule) {
  std::vector<std::vector<int>> table(schedule.interval, std::vector<int>(problem.resources.size(), 0));
  for (int op = 0; op < problem.numOps(); ++op)
    for (const Reservation &use : problem.operations[op].reservations)
      for (int i = 0; i < problem.busyCycles(problem.operations[op], use) && schedule.slots[op].scheduled(); ++i)
        table[(schedule.time(op) + use.start + i) % schedule.interval][use.resource] += use.units;
  return table;
}

class WaveReader {
public:
  WaveReader(const Problem &problem, std::vector<Diagnostic> &diagnostics, const std::string &name)
      : problem(problem), diagnostics(diagnostics), name(name),
        schedule(emptySchedule(problem, "wave", 0, Timing::Order)) {}

  Schedule read(std::string_view text) {
    for (int line = 1; !text.empty() && diagnostics.empty(); ++line) {
      size_t end = std::min(text.find('\n'), text.size());
      readLine(trimmed(text.substr(0, end)), line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (diagnostics.empty() && schedule.interval < 1)
      fail(1, "the file has no line `Initiation Interval: N`");
    if (schedule.interval < 1)
      schedule.interval = 1;
    return std::move(schedule);
  }

private:
  void fail(int line, std::string message) {
    diagnostics.push_back({Severity::error, DiagId::ScheduleFile, Place(name, line, 1), std::move(message), {}, {}});
  }

  void readLine(const std::string &text, int line) {
    if (text.empty() || text[0] == '#' || text.find_first_not_of("-+| ") == std::string::npos)
      return;
    constexpr std::string_view intervalHead = "Initiation Interval:", stagesHead = "Number of Stages:";
    int ignored = 0;
    if (text.starts_with(intervalHead)) {
      if (!number(trimmed(std::string_view(text).substr(intervalHead.size())), schedule.interval))
        fail(line, "the initiation interval is no number");
    } else if (text.starts_with(stagesHead)) {
      if (!number(trimmed(std::string_view(text).substr(stagesHead.size())), ignored))
        fail(line, "the number of stages is no number");
    } else if (text.starts_with("Cycle ") || text.starts_with("Cycle|")) {
      section = Section::Reservations;
    } else if (text.starts_with("Node Name")) {
      section = Section::Nodes;
    } else if (section == Section::Nodes) {
      readNode(cells(text), line);
    } else if (section == Section::Head) {
      fail(line, "the line belongs to no part of a schedule file");
    }
  }

  void readNode(const std::vector<std::string> &row, int line) {
    int key = 0, cycle = 0, relative = 0, stage = 0;
    if (row.size() < 6 || !sortKey(row[2], key) || !number(row[3], cycle) || !number(row[4], relative) ||
        !number(row[5], stage))
      return fail(line, "the row is no `name | type | (key,) | cycle | relative cycle | stage | users`");
    int op = problem.find(row[0]);
    if (op < 0)
      op = key;
    if (op >= problem.numOps())
      return fail(line, "the loop `" + problem.loop + "` has no op `" + row[0] + "` and none at " + row[2]);
    if (schedule.slots[op].scheduled())
      return fail(line, "`" + problem.operations[op].key + "` is scheduled twice");
    if (schedule.interval > 0 && (cycle % schedule.interval != relative || cycle / schedule.interval != stage))
      return fail(line, "cycle " + row[3] + " is not cycle " + row[4] + " of stage " + row[5] + " at this interval");
    schedule.slots[op] = {stage, relative, 0, 0};
  }

  enum class Section : uint8_t { Head, Reservations, Nodes };
  const Problem &problem;
  std::vector<Diagnostic> &diagnostics;
  const std::string &name;
  Schedule schedule;
  Section section = Section::Head;
};
} // namespace

bool isWaveFile(std::string_view text) {
  for (text = text.substr(0, kMostBytes); !text.empty();) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line[0] != '#')
      return line.starts_with("Initiation Interval:") || line.starts_with("Number of Stages:");
  }
  return false;
}

std::vector<std::string> lostInWave(const LoopPlan &plan) {
  std::vector<std::string> lost;
  auto add = [&](bool there, std::string what) {
    if (there)
      lost.push_back(std::move(what));
  };
  auto count = std::count_if(plan.problem.operations.begin(), plan.problem.operations.end(), isAdded);
  add(count > 0, std::to_string(count) + " added barriers, waits and hints");
  add(!plan.insertions.empty(), "what is put in front of and behind the kernel");
  add(std::any_of(plan.schedule.slots.begin(), plan.schedule.slots.end(), [](const Slot &s) { return s.cluster > 0; }),
      "clusters");
  add(plan.unrollFirst > 1, "the unrolled loop");
  add(plan.eliminateEpilogue, "the eliminated epilogue");
  add(plan.groupStart.size() > 1, "groups of waves");
  add(!plan.prologueRank.empty() || !plan.epilogueRank.empty(), "the order of prologue and epilogue");
  add(!plan.waivers.empty(), "waivers");
  add(plan.roles.copyingWaves > 0, "waves that copy");
  add(plan.roles.workgroups > 0, "workgroups that walk tiles");
  add(plan.roles.overlapTiles, "tiles that overlap");
  return lost;
}

std::string printWave(const Problem &problem, const Schedule &schedule) {
  std::string text = "Initiation Interval: " + std::to_string(schedule.interval) +
                     "\nNumber of Stages: " + std::to_string(schedule.stages()) +
                     "\n\n# Resource Reservation Table (RRT): units in use in each cycle\nCycle";
  for (const Resource &resource : problem.resources)
    text += " | " + resource.name;
  text += "\n------\n";
  std::vector<std::vector<int>> table = reservations(problem, schedule);
  for (size_t cycle = 0; cycle < table.size(); ++cycle) {
    text += std::to_string(cycle);
    for (int units : table[cycle])
      text += " | " + std::to_string(units);
    text += "\n";
  }
  text +=
      "\n# Schedule\nNode Name | Node Type | Node Sort Key | Cycle | Relative Cycle | Stage | User Sort Keys\n------\n";
  std::vector<std::set<int>> users(problem.operations.size());
  for (const Dependence &dep : deriveDependences(problem))
    if (dep.kind == DepKind::Raw)
      users[dep.from].insert(dep.to);
  std::vector<int> order = emissionOrder(schedule);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return std::tuple(schedule.time(a), a) < std::tuple(schedule.time(b), b); });
  for (int op : order) {
    const Slot &slot = schedule.slots[op];
    text += problem.operations[op].key + " | " + std::string(nameOf(problem.operations[op].kind)) + " | (" +
            std::to_string(op) + ",) | " + std::to_string(schedule.time(op)) + " | " + std::to_string(slot.cycle) +
            " | " + std::to_string(slot.stage) + " | ";
    bool first = true;
    for (int user : users[op]) {
      text += (first ? "(" : ", (") + std::to_string(user) + ",)";
      first = false;
    }
    text += "\n";
  }
  return text;
}

Schedule parseWave(const Problem &problem, std::string_view text, std::vector<Diagnostic> &diagnostics,
                   const std::string &name) {
  if (text.size() > kMostBytes) {
    diagnostics.push_back(
        {Severity::error,
         DiagId::ScheduleFile,
         Place(name, 1, 1),
         "the file has " + std::to_string(text.size()) + " bytes, expected at most " + std::to_string(kMostBytes),
         {},
         {}});
    return emptySchedule(problem, "wave", 1, Timing::Order);
  }
  return WaveReader(problem, diagnostics, name).read(text);
}

} // namespace soliton::sched
