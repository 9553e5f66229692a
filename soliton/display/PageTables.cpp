//===- PageTables.cpp - The words and tables of a page ---------------------===//
#include "soliton/display/PageParts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace soliton::sched {
namespace {
std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, std::floor(value) == value ? "%.0f" : "%.1f", value);
  return buffer;
}

std::string percent(double share) {
  return std::to_string(std::lround(share * 100)) + " %";
}

std::string code(std::string_view text) {
  return "<code>" + escapeHtml(text) + "</code>";
}

/// Backticks of messages as code.
std::string prose(std::string_view text) {
  std::string html;
  bool open = false;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('`', begin), text.size());
    html += escapeHtml(text.substr(begin, end - begin));
    if (end < text.size()) {
      html += open ? "</code>" : "<code>";
      open = !open;
    }
    begin = end + 1;
  }
  return html + (open ? "</code>" : "");
}

std::string bytes(int64_t value) {
  return value % 1024 == 0 && value > 0 ? std::to_string(value / 1024) + " KiB" : counted(value, "byte");
}

class PageTables {
public:
  PageTables(const Picture &picture, const Summary &summary)
      : picture(picture), problem(picture.problem), schedule(picture.schedule), summary(summary) {
    std::vector<std::string> tags;
    tagOfOp = tagNumbers(problem, tags);
  }

  std::string head() {
    html =
        "<header><p class=\"crumbs\">" +
        escapeHtml(picture.kernel + (picture.kernel.empty() || picture.target.empty() ? "" : " · ") + picture.target) +
        "</p><h1>Loop " + escapeHtml(problem.loop) + " <span>scheduled by " + escapeHtml(schedule.algorithm) +
        "</span></h1>\n";
    story();
    tiles();
    problems();
    return html + "</header>\n";
  }

  std::string tables() {
    html.clear();
    kernel();
    html += "<div class=\"columns\"><div>\n";
    units();
    waiting();
    html += "</div><div>\n";
    storage();
    html += "</div></div>\n";
    synchronisation();
    hazards();
    certificate();
    return html;
  }

private:
  void tile(const std::string &value, const std::string &unit, const std::string &name, const std::string &note,
            const char *mood = "") {
    html += "<div class=\"tile " + std::string(mood) + "\"><div class=\"value\">" + value + "<small>" + unit +
            "</small></div><div class=\"name\">" + name + "</div><div class=\"note\">" + note + "</div></div>\n";
  }

  bool isStaggered() const {
    return std::any_of(problem.stagger.begin(), problem.stagger.end(), [](int amount) { return amount > 0; });
  }

  /// What the schedule does, in two or three sentences.
  void story() {
    int stages = schedule.stages();
    html += "<p class=\"story\">";
    if (picture.program.exactTrips)
      html += "The loop runs " + counted(*picture.program.exactTrips, "time") + ", so it is laid out whole. ";
    else if (stages == 1)
      html += "Iterations run one after the other: each does all its work before the next begins. ";
    else
      html += "Every iteration is cut into " + counted(stages, "stage") + ", and the kernel works on " +
              std::to_string(stages) + " iterations at once: while stage " + std::to_string(stages - 1) +
              " finishes iteration <i>n</i>, stage 0 already begins iteration <i>" + iterationText(stages - 1) +
              "</i>. ";
    if (problem.groups > 1)
      html += "The waves form " + std::to_string(problem.groups) + " groups" +
              (isStaggered() ? ", started one after the other, so that one computes while another moves data. "
                             : " that do different work. ");
    if (picture.crew.copying > 0)
      html += "Of its waves " + crewText(picture) +
              " for them: that one waits until they are done with a buffer, and they wait "
              "for what comes there. ";
    if (summary.interval() > 0)
      html +=
          "A trip takes " + number(summary.modelled) + " cycles by the model; " +
          prose(summary.bounds.resource >= summary.bounds.recurrence ? describeResourceBound(picture, summary.bounds)
                                                                     : describeRecurrence(picture, summary)) +
          ", so none can take less than " + std::to_string(summary.bounds.lower()) + ".";
    html += "</p>\n";
  }

  void tiles() {
    html += "<div class=\"tiles\">\n";
    if (summary.interval() > 0) {
      double share = static_cast<double>(summary.bounds.lower()) / std::max<int64_t>(summary.modelled, 1);
      tile(number(summary.modelled), "cycles", "per iteration",
           summary.planned > 0 ? "planned " + std::to_string(summary.planned) + ", modelled with waits" : "modelled");
      tile(std::to_string(summary.bounds.lower()), "cycles", "at best",
           summary.provenBound && *summary.provenBound == schedule.interval
               ? "the plan is proven optimal"
               : "this one reaches " + percent(std::min(share, 1.0)) + (isStaggered() ? " in each group" : ""),
           share > 0.9 ? "good" : "");
    }
    tile(std::to_string(schedule.stages()), "", schedule.stages() == 1 ? "stage" : "stages",
         counted(problem.numOps(), "operation"));
    tile(std::to_string(picture.report.registers), "per lane", "registers",
         problem.limits.registers > 0 ? "of " + std::to_string(problem.limits.registers) : "at the peak",
         problem.limits.registers > 0 && picture.report.registers > problem.limits.registers ? "bad" : "");
    tile(bytes(picture.report.sharedBytes), "", "shared memory",
         problem.limits.sharedBytes > 0 ? "of " + bytes(problem.limits.sharedBytes) : "per workgroup");
    tile(std::to_string(summary.kernelCount(EntryKind::Barrier)), "", "barriers per trip",
         counted(summary.kernelCount(EntryKind::Wait), "wait"));
    int open = summary.hazardCount(HazardClass::LatencyOnly) + summary.hazardCount(HazardClass::Violated);
    tile(open == 0 ? std::to_string(summary.hazardCount(HazardClass::Proven)) : std::to_string(open), "",
         open == 0 ? "hazards, all proven" : "hazards not proven", "between waves, or in flight",
         open == 0 ? "good" : "bad");
    html += "</div>\n";
  }

  void problems() {
    for (const Diagnostic &diagnostic : picture.report.diagnostics)
      if (diagnostic.severity == Severity::error)
        html +=
            "<p class=\"problem\">" +
            (diagnostic.place.known() ? code(diagnostic.place.file + ":" + std::to_string(diagnostic.place.line)) + " "
                                      : "") +
            prose(diagnostic.message) + (diagnostic.hint.empty() ? "" : " <i>" + prose(diagnostic.hint) + "</i>") +
            "</p>\n";
    if (summary.timeline.deadlock)
      html += "<p class=\"problem\">By the model, waves wait for each other for ever.</p>\n";
  }

  std::string chip(const Run &run) const {
    int tag = tagOfOp[run.ops.front()];
    std::string keys;
    for (size_t i = 0; i < run.ops.size() && i < 16; ++i)
      keys += (i == 0 ? "" : "\n") + problem.operations[run.ops[i]].key;
    if (run.ops.size() > 16)
      keys += "\n…";
    std::string colour = tag < 0 ? "hint" : "t" + std::to_string(tag % 10);
    return "<span class=\"chip " + colour + "\" title=\"" + escapeHtml(keys) + "\">" + escapeHtml(run.label) +
           (run.ops.size() > 1 ? " <b>×" + std::to_string(run.ops.size()) + "</b>" : "") + "</span>";
  }

  void kernel() {
    if (picture.program.kernel.empty())
      return;
    int stages = schedule.stages();
    bool clusters = summary.clusters > 1;
    html += "<section class=\"card\"><h2>The kernel, in order <small>what every trip does, from top to bottom; "
            "×16 are pieces of one operation, ⇄ means that they alternate</small></h2>\n<table class=\"kernel\"><tr>"
            "<th class=\"num\">" +
            std::string(schedule.timing == Timing::Cycles ? "cycle" : "step") + "</th>" +
            (clusters ? "<th class=\"num\">cluster</th>" : "");
    for (int stage = 0; stage < stages; ++stage)
      html += "<th>stage " + std::to_string(stage) + " <small>iteration " + iterationText(stages - 1 - stage) +
              "</small></th>";
    html += "</tr>\n";
    for (const KernelRow &row : summary.kernel)
      row.sync >= 0 ? syncRow(row, clusters) : opRow(row, clusters);
    html += "</table></section>\n";
  }

  void opRow(const KernelRow &row, bool clusters) {
    html += "<tr><td class=\"num\">" + std::to_string(row.firstCycle) +
            (row.lastCycle != row.firstCycle ? "–" + std::to_string(row.lastCycle) : "") + "</td>" +
            (clusters ? "<td class=\"num\">" + std::to_string(row.cluster) + "</td>" : "");
    for (const std::vector<Run> &cell : row.cells) {
      html += "<td>";
      for (size_t i = 0; i < cell.size(); ++i)
        html += (i > 0 && row.mixed ? "<span class=\"mixed\">⇄</span>" : "") + chip(cell[i]);
      html += "</td>";
    }
    html += "</tr>\n";
  }

  void syncRow(const KernelRow &row, bool clusters) {
    auto point = std::find_if(summary.syncs.begin(), summary.syncs.end(), [&](const SyncPoint &candidate) {
      return candidate.where == Location{Phase::Kernel, row.sync};
    });
    html += "<tr class=\"sync\"><td></td>" + std::string(clusters ? "<td></td>" : "") + "<td colspan=\"" +
            std::to_string(schedule.stages()) + "\">" + syncName(point->entry) + " <span class=\"why\">" +
            why(*point, 1) + "</span></td></tr>\n";
  }

  std::string syncName(const Entry &entry) const {
    std::string groups;
    if ((entry.groups & problem.allGroups()) != problem.allGroups())
      for (int group = 0; group < problem.groups; ++group)
        if (entry.groups >> group & 1)
          groups += " group " + std::to_string(group);
    return "<span class=\"syncname " + std::string(entry.kind == EntryKind::Barrier ? "barrier" : "wait") + "\">" +
           escapeHtml(labelOf(problem, entry)) + "</span>" + (groups.empty() ? "" : "<small>" + groups + "</small>") +
           (entry.op >= 0 ? "<small> written by you</small>" : "");
  }

  /// What it protects: what nothing else does first, at most `most` lines.
  std::string why(const SyncPoint &point, size_t most) const {
    if (point.entry.kind == EntryKind::Commit)
      return "closes the group, so that a wait can count it";
    if (point.entry.region >= 0)
      return escapeHtml(explainPhase(problem, point.entry));
    if (point.entry.stagger)
      return "lets the groups run one step apart";
    if (point.pairs.empty())
      return "nothing that the model knows of needs it";
    std::string text;
    bool sole = point.pairs.front().sole;
    size_t shown = 0, all = 0;
    for (const ProtectedPair &pair : point.pairs) {
      if (pair.sole != sole || ++all > most)
        continue;
      text +=
          (shown++ == 0 ? (sole ? "so that " : "with others, so that ") : "<br>so that ") + escapeHtml(explain(pair));
    }
    return text + (all > shown ? " <small>and " + std::to_string(all - shown) + " more</small>" : "");
  }

  void units() {
    if (problem.resources.empty())
      return;
    html +=
        "<section class=\"card\"><h2>Units <small>" + std::string("over one trip, modelled") + "</small></h2>\n<table>";
    for (const ResourceUse &use : summary.resources) {
      const Resource &resource = problem.resources[use.resource];
      html += "<tr><td>" + escapeHtml(resource.name) +
              (resource.units > 1 ? " ×" + std::to_string(resource.units) : "") + "</td><td class=\"num\">" +
              percent(use.share) + "</td><td class=\"profile\">" + profile(use) + "</td></tr>\n";
    }
    html += "</table></section>\n";
  }

  /// A small chart without a script.
  std::string profile(const ResourceUse &use) const {
    std::string points = "0,20 ";
    double step = 192.0 / use.profile.size();
    for (size_t i = 0; i < use.profile.size(); ++i) {
      std::string y = number(std::round((20 - 19 * std::min(use.profile[i], 1.0)) * 10) / 10);
      points += number(std::round(i * step * 10) / 10) + "," + y + " " + number(std::round((i + 1) * step * 10) / 10) +
                "," + y + " ";
    }
    return "<svg viewBox=\"0 0 192 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><polygon points=\"" + points +
           "192,20\"/></svg>";
  }

  void waiting() {
    html += "<section class=\"card\"><h2>Waiting <small>in one trip, modelled</small></h2>\n";
    if (summary.waiting.empty())
      html += "<p>Nothing: the wave never stands still.</p>";
    html += "<table>";
    for (const WaitCause &cause : summary.waiting)
      html += "<tr><td class=\"num\">" + counted(cause.cycles, "cycle") + "</td><td>for " +
              escapeHtml(nameOf(cause.stall)) + (cause.label.empty() ? "" : ": " + code(cause.label)) + "</td></tr>\n";
    html += "</table></section>\n";
  }

  void storage() {
    html += "<section class=\"card\"><h2>Storage <small>a value that the next iteration would overwrite too early gets "
            "another buffer</small></h2>\n<table><tr><th>where</th><th>what</th><th class=\"num\">size</th><th "
            "class=\"num\">buffers</th></tr>\n";
    for (const RegionUse &use : summary.regions)
      html += "<tr><td>" + std::string(nameOf(use.space)) + "</td><td>" + escapeHtml(use.name) +
              (use.count > 1 ? " <small>×" + std::to_string(use.count) + "</small>" : "") + "</td><td class=\"num\">" +
              (use.space == Space::Register ? counted(use.size, "register") : bytes(use.size)) +
              "</td><td class=\"num\">" + std::to_string(use.buffers) + "</td></tr>\n";
    html += "</table></section>\n";
  }

  void synchronisation() {
    if (summary.syncs.empty())
      return;
    html += "<section class=\"card\"><h2>Barriers and waits <small>where each stands and what would go wrong without "
            "it</small></h2>\n<table><tr><th>where</th><th>what</th><th>before</th><th>why</th></tr>\n";
    for (const SyncPoint &point : summary.syncs)
      html += "<tr><td>" + std::string(nameOf(point.where.phase)) + "</td><td>" + syncName(point.entry) + "</td><td>" +
              (point.before.empty() ? "<small>the end</small>" : code(point.before)) + "</td><td class=\"why\">" +
              why(point, 4) + "</td></tr>\n";
    html += "</table></section>\n";
  }

  void hazards() {
    if (summary.hazards.empty())
      return;
    bool fixes = std::any_of(summary.hazards.begin(), summary.hazards.end(),
                             [](const HazardRow &row) { return !row.fix.empty(); });
    html +=
        "<section class=\"card\"><h2>Hazards <small>pairs of operations whose order no program text "
        "guarantees</small></h2>\n<p class=\"keys\"><span class=\"class proven\">proven</span> a wait and a barrier "
        "order them always <span class=\"class latency\">latency only</span> it works while latencies are as modelled "
        "<span class=\"class violated\">violated</span> not even that</p>\n<table><tr><th>class</th><th>what</th><th "
        "class=\"num\">pairs</th><th>lines</th>" +
        std::string(fixes ? "<th>fix</th>" : "") + "</tr>\n";
    for (const HazardRow &row : summary.hazards) {
      const char *mood = row.value == HazardClass::Proven        ? "proven"
                         : row.value == HazardClass::LatencyOnly ? "latency"
                                                                 : "violated";
      ProtectedPair pair{row.kind, row.from, row.to, row.region, row.example.space == Space::Register, row.count, true};
      html += "<tr><td><span class=\"class " + std::string(mood) + "\">" + std::string(nameOf(row.value)) +
              (row.waived ? ", waived" : "") + "</span></td><td>" + escapeHtml(explain(pair)) + " <small>" +
              std::string(nameOf(row.kind)) + "</small></td><td class=\"num\">" + std::to_string(row.count) +
              "</td><td>" + lines(row.example) + "</td>" + (fixes ? "<td>" + prose(row.fix) + "</td>" : "") + "</tr>\n";
    }
    html += "</table></section>\n";
  }

  std::string lines(const Dependence &dep) const {
    std::string text;
    for (int op : {dep.from, dep.to})
      if (const Place &place = problem.operations[op].place; place.known())
        text += (text.empty() ? "" : " → ") + code(place.file + ":" + std::to_string(place.line));
    return text;
  }

  void certificate() {
    if (picture.certificate.empty())
      return;
    html += "<section class=\"card\"><details><summary>Certificate: why no interval is shorter</summary><pre>" +
            escapeHtml(picture.certificate) + "</pre></details></section>\n";
  }

  const Picture &picture;
  const Problem &problem;
  const Schedule &schedule;
  const Summary &summary;
  std::vector<int> tagOfOp;
  std::string html;
};
} // namespace

std::string pageHead(const Picture &picture, const Summary &summary) {
  return PageTables(picture, summary).head();
}

std::string pageTables(const Picture &picture, const Summary &summary) {
  return PageTables(picture, summary).tables();
}

} // namespace soliton::sched
