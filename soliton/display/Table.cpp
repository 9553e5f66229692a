#include "soliton/display/Table.h"

#include "soliton/display/Summary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace soliton::sched {
namespace {
constexpr size_t kPageWidth = 118;
constexpr size_t kCycleWidth = 12;
constexpr size_t kClusterWidth = 9;
constexpr size_t kMostRegisterRows = 12;
constexpr size_t kMostPairs = 4;
constexpr int kMostSyncs = 8;

/// Characters, not bytes.
size_t width(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

std::string padded(std::string text, size_t columns) {
  size_t have = width(text);
  return have < columns ? text + std::string(columns - have, ' ') : text;
}

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, std::floor(value) == value ? "%.0f" : "%.1f", value);
  return buffer;
}

std::string percent(double share) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "%3.0f %%", share * 100);
  return buffer;
}

/// Eighths of a block per part.
std::string sparkline(const std::vector<double> &profile) {
  constexpr const char *blocks[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (double value : profile)
    text += blocks[value <= 0 ? 0 : std::clamp(static_cast<int>(std::lround(value * 8)), 1, 8)];
  return text;
}

std::string runText(const Run &run) {
  return run.ops.size() > 1 ? run.label + " ×" + std::to_string(run.ops.size()) : run.label;
}

std::string cellText(const std::vector<Run> &runs, bool mixed) {
  std::string text;
  for (const Run &run : runs)
    text += (text.empty() ? "" : mixed ? " ⇄ " : ", ") + runText(run);
  return text;
}

std::string groupText(const Problem &problem, GroupMask groups) {
  if ((groups & problem.allGroups()) == problem.allGroups())
    return "";
  std::string list;
  for (int group = 0; group < problem.groups; ++group)
    if (groups >> group & 1)
      list += (list.empty() ? "" : ",") + std::to_string(group);
  return " [group " + list + "]";
}

class TablePrinter {
public:
  explicit TablePrinter(const Picture &picture)
      : picture(picture), problem(picture.problem), schedule(picture.schedule), summary(summarize(picture)) {}

  std::string print() {
    head();
    kernel();
    list(Phase::Prologue);
    list(Phase::Epilogue);
    resources();
    waiting();
    storage();
    synchronisation();
    hazards();
    return std::move(text);
  }

private:
  void line(const std::string &content) {
    size_t end = content.find_last_not_of(' ');
    text += content.substr(0, end == std::string::npos ? 0 : end + 1) + "\n";
  }
  void fact(const std::string &name, const std::string &value) { line("  " + padded(name, 12) + value); }
  void title(const std::string &name) { text += "\n" + name + "\n"; }

  /// A list of words, wrapped behind `indent` columns.
  void wrapped(const std::string &first, const std::vector<std::string> &words, size_t indent) {
    std::string row = padded(first, indent);
    bool fresh = true;
    for (size_t i = 0; i < words.size(); ++i) {
      std::string word = words[i] + (i + 1 < words.size() ? "," : "");
      if (!fresh && width(row) + 1 + width(word) > kPageWidth) {
        line(row);
        row = std::string(indent, ' ');
        fresh = true;
      }
      row += (fresh ? "" : " ") + word;
      fresh = false;
    }
    line(row);
  }

  void head() {
    line("loop " + problem.loop + " · " + schedule.algorithm + (picture.kernel.empty() ? "" : " · " + picture.kernel) +
         (picture.target.empty() ? "" : " · " + picture.target));
    std::string groups = problem.groups > 1 ? ", " + counted(problem.groups, "wave group") : "";
    fact("operations", std::to_string(problem.numOps()) + " in " + counted(schedule.stages(), "stage") +
                           (summary.clusters > 1 ? ", " + counted(summary.clusters, "cluster") : "") + groups);
    if (std::string crew = crewText(picture); !crew.empty())
      fact("roles", crew);
    interval();
    fact("bound", counted(summary.bounds.lower(), "cycle") + " at least");
    fact("  units", std::to_string(summary.bounds.resource) + ": " + describeResourceBound(picture, summary.bounds));
    fact("  values", std::to_string(summary.bounds.recurrence) + ": " + describeRecurrence(picture, summary));
    if (summary.provenBound)
      fact("proven", *summary.provenBound == schedule.interval
                         ? "no interval is shorter than " + std::to_string(schedule.interval) + " (certificate)"
                         : "no interval is shorter than " + std::to_string(*summary.provenBound) + " (certificate)");
    fact("registers", std::to_string(picture.report.registers) + " per lane" + limit(problem.limits.registers));
    fact("shared", std::to_string(picture.report.sharedBytes) + " bytes" + limit(problem.limits.sharedBytes));
    fact("per trip", counted(summary.kernelCount(EntryKind::Barrier), "barrier") + ", " +
                         counted(summary.kernelCount(EntryKind::Wait), "wait"));
    fact("hazards", hazardCounts());
    if (!summary.unscheduled.empty())
      unscheduled();
  }

  void interval() {
    std::string modelled = number(summary.modelled) + " cycles per trip (modelled: in-order issue, not measured)";
    if (schedule.timing == Timing::Cycles)
      fact("interval", counted(schedule.interval, "cycle") + "; with waits and barriers " + modelled);
    else if (summary.modelled > 0)
      fact("interval", "an order of " + counted(schedule.interval, "step") + "; " + modelled);
    else
      fact("interval", "an order of " + counted(schedule.interval, "step") + ", no kernel");
  }

  std::string limit(int64_t value) const { return value > 0 ? " of " + std::to_string(value) : ""; }

  std::string hazardCounts() const {
    std::string result = std::to_string(summary.hazardCount(HazardClass::Proven)) + " proven";
    if (int count = summary.hazardCount(HazardClass::LatencyOnly))
      result += ", " + std::to_string(count) + " protected only by latency";
    if (int count = summary.hazardCount(HazardClass::Violated))
      result += ", " + std::to_string(count) + " violated";
    return result;
  }

  void unscheduled() {
    std::vector<std::string> words;
    for (int op : summary.unscheduled)
      words.push_back(problem.operations[op].key);
    wrapped("  unscheduled", words, 14);
  }

  void kernel() {
    if (picture.program.kernel.empty())
      return;
    int stages = schedule.stages();
    std::vector<size_t> widths;
    size_t total = kCycleWidth + kClusterWidth;
    for (int stage = 0; stage < stages; ++stage) {
      widths.push_back(width(stageName(stage)));
      for (const KernelRow &row : summary.kernel)
        widths.back() = std::max(widths.back(), width(cellText(row.cells[stage], row.mixed)));
      total += widths.back() + 2;
    }
    // Many stages do not fit beside each other: then one line says one stage.
    bool narrow = total > kPageWidth;
    title("kernel, trip n");
    std::string header =
        padded("  cycle", kCycleWidth) + (summary.clusters > 1 ? padded("cluster", kClusterWidth) : "");
    for (int stage = 0; stage < stages && !narrow; ++stage)
      header += padded(stageName(stage), widths[stage] + 2);
    line(header + (narrow ? "stage" : ""));
    for (const KernelRow &row : summary.kernel)
      if (row.sync >= 0)
        syncRow(picture.program.kernel[row.sync]);
      else if (narrow)
        narrowRow(row);
      else
        wideRow(row, widths);
    if (std::any_of(summary.kernel.begin(), summary.kernel.end(), [](const KernelRow &row) { return row.mixed; }))
      line("  (⇄: these alternate; --json has every op)");
  }

  std::string stageName(int stage) const {
    return "stage " + std::to_string(stage) + " (" + iterationText(schedule.stages() - 1 - stage) + ")";
  }

  void syncRow(const Entry &entry) {
    line(padded("", kCycleWidth + (summary.clusters > 1 ? kClusterWidth : 0)) + "── " + labelOf(problem, entry) +
         groupText(problem, entry.groups) + (entry.op >= 0 ? " (written)" : ""));
  }

  std::string rowHead(const KernelRow &row) const {
    std::string cycles = std::to_string(row.firstCycle);
    if (row.lastCycle != row.firstCycle)
      cycles += "–" + std::to_string(row.lastCycle);
    return padded("  " + cycles, kCycleWidth) +
           (summary.clusters > 1 ? padded(std::to_string(row.cluster), kClusterWidth) : "");
  }

  void wideRow(const KernelRow &row, const std::vector<size_t> &widths) {
    std::string content = rowHead(row);
    for (size_t stage = 0; stage < widths.size(); ++stage)
      content += padded(cellText(row.cells[stage], row.mixed), widths[stage] + 2);
    line(content);
  }

  void narrowRow(const KernelRow &row) {
    std::string head = rowHead(row);
    // Older iterations first, as they are emitted.
    for (int stage = schedule.stages() - 1; stage >= 0; --stage) {
      if (row.cells[stage].empty())
        continue;
      line(head + padded(stageName(stage).substr(6), 9) + cellText(row.cells[stage], row.mixed));
      head = std::string(width(head), ' ');
    }
  }

  void list(Phase phase) {
    const std::vector<Entry> &entries = picture.program.list(phase);
    if (entries.empty())
      return;
    bool exact = picture.program.exactTrips && phase == Phase::Prologue;
    std::string end = phase == Phase::Epilogue ? "T" : "";
    title(exact ? "the loop, " + counted(*picture.program.exactTrips, "iteration")
                : std::string(nameOf(phase)) + (phase == Phase::Epilogue ? ", T iterations in all" : ""));
    std::vector<std::string> words;
    for (const Stretch &stretch : foldEntries(problem, entries)) {
      std::string word = cellText(stretch.runs, stretch.mixed) + groupText(problem, stretch.entry->groups);
      if (stretch.entry->kind == EntryKind::Op)
        word += " @" + end +
                (stretch.entry->iteration == 0 && !end.empty() ? "" : std::to_string(stretch.entry->iteration));
      words.push_back(word);
    }
    wrapped("  ", words, 2);
  }

  void resources() {
    if (problem.resources.empty())
      return;
    title(schedule.timing == Timing::Cycles
              ? "units modulo the interval of " + counted(schedule.interval, "cycle")
              : std::string("units over one ") + (picture.program.kernel.empty() ? "run" : "trip of the kernel") +
                    " (modelled)");
    size_t columns = 8;
    for (const Resource &resource : problem.resources)
      columns = std::max(columns, width(resource.name));
    for (const ResourceUse &use : summary.resources) {
      const Resource &resource = problem.resources[use.resource];
      line("  " + padded(resource.name, columns + 2) + padded("×" + std::to_string(resource.units), 5) +
           padded(std::to_string(use.busy) + " busy", 13) + padded(percent(use.share), 7) + sparkline(use.profile));
    }
  }

  void waiting() {
    if (summary.waiting.empty())
      return;
    title("waiting in one trip (modelled)");
    for (const WaitCause &cause : summary.waiting)
      line("  " + padded(counted(cause.cycles, "cycle"), 14) + "for " + std::string(nameOf(cause.stall)) +
           (cause.label.empty() ? "" : ": " + cause.label));
  }

  void storage() {
    title("storage (registers of one value are free again when it was read last)");
    size_t shown = 0, left = 0, columns = 8;
    for (const RegionUse &use : summary.regions)
      columns = std::max(columns, std::min<size_t>(width(use.name), 40));
    for (const RegionUse &use : summary.regions) {
      if (use.space == Space::Register && ++shown > kMostRegisterRows) {
        ++left;
        continue;
      }
      std::string size = use.space == Space::Register ? counted(use.size, "register") : counted(use.size, "byte");
      line("  " + padded(std::string(nameOf(use.space)), 10) + padded(use.name, columns + 2) + padded(size, 14) +
           padded(counted(use.buffers, "buffer"), 11) +
           (use.count > 1 ? "×" + std::to_string(use.count) + " pieces" : ""));
    }
    if (left > 0)
      line("  and " + counted(left, "smaller group") + " of registers");
  }

  void synchronisation() {
    if (summary.syncs.empty())
      return;
    title("barriers and waits");
    std::map<Phase, int> count;
    for (const SyncPoint &point : summary.syncs)
      ++count[point.where.phase];
    for (const SyncPoint &point : summary.syncs)
      if (point.where.phase == Phase::Kernel || count[point.where.phase] <= kMostSyncs)
        syncPoint(point);
    for (Phase phase : {Phase::Prologue, Phase::Epilogue})
      if (count[phase] > kMostSyncs)
        line("  and " + std::to_string(count[phase]) + " in the " + std::string(nameOf(phase)) + " (--json has them)");
  }

  /// What only this one protects, else what it protects together with others.
  void syncPoint(const SyncPoint &point) {
    std::string place =
        std::string(nameOf(point.where.phase)) + (point.before.empty() ? ", at the end" : ", before " + point.before);
    line("  " + padded(labelOf(problem, point.entry) + groupText(problem, point.entry.groups) + " ", 22) + place +
         (point.entry.op >= 0 ? " (written: " + problem.operations[point.entry.op].key + ")" : ""));
    if (point.entry.region >= 0)
      line(std::string(24, ' ') + explainPhase(problem, point.entry));
    bool sole = !point.pairs.empty() && point.pairs.front().sole;
    size_t shown = 0, all = 0;
    for (const ProtectedPair &pair : point.pairs) {
      if (pair.sole != sole || ++all > kMostPairs)
        continue;
      ++shown;
      line(std::string(24, ' ') + (sole ? "" : "with others: ") + explain(pair) +
           (pair.count > 1 ? " (" + std::to_string(pair.count) + " pairs)" : ""));
    }
    if (all > shown)
      line(std::string(24, ' ') + "and " + std::to_string(all - shown) + " more");
  }

  void hazards() {
    bool bad = std::any_of(summary.hazards.begin(), summary.hazards.end(),
                           [](const HazardRow &row) { return row.value != HazardClass::Proven; });
    if (!bad)
      return;
    title("hazards that are not proven");
    for (const HazardRow &row : summary.hazards)
      if (row.value != HazardClass::Proven)
        line("  " + padded(std::string(nameOf(row.value)) + (row.waived ? " (waived)" : ""), 24) +
             std::string(nameOf(row.kind)) + " " + row.region + ": " + row.from + " -> " + row.to +
             (row.count > 1 ? " ×" + std::to_string(row.count) : "") + (row.fix.empty() ? "" : "; fix: " + row.fix));
  }

  const Picture &picture;
  const Problem &problem;
  const Schedule &schedule;
  Summary summary;
  std::string text;
};
} // namespace

std::string printTable(const Picture &picture) {
  return TablePrinter(picture).print();
}

} // namespace soliton::sched
