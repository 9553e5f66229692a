#include "soliton/display/Svg.h"

#include "soliton/display/PageParts.h"
#include "soliton/display/SvgBlocks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace soliton::sched {

std::string num(double value) {
  char buffer[32];
  double rounded = std::round(value * 10) / 10;
  std::snprintf(buffer, sizeof buffer, std::floor(rounded) == rounded ? "%.0f" : "%.1f", rounded);
  return buffer;
}

/// How many bytes the character at `at` takes; 0 if it is none that may stand in XML.
static size_t characterLength(std::string_view text, size_t at) {
  unsigned char first = static_cast<unsigned char>(text[at]);
  if (first < 0x80)
    return first >= 0x20 && first != 0x7F ? 1 : 0;
  size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size())
    return 0;
  for (size_t i = at + 1; i < at + length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80)
      return 0;
  return length;
}

std::string escapeXml(std::string_view text) {
  std::string clean;
  for (size_t at = 0; at < text.size();) {
    size_t length = characterLength(text, at);
    clean += length > 0 ? std::string(text.substr(at, length)) : "?";
    at += std::max<size_t>(length, 1);
  }
  return escapeHtml(clean);
}

namespace {
// All lengths are in units of the view box, which is kWidth wide.
constexpr double kWidth = 1200, kLeft = 132, kRight = 22;
constexpr double kPlot = kWidth - kLeft - kRight;
constexpr double kLaneHeight = 30, kLaneGap = 8, kPauseHeight = 20, kBandHeight = 24, kGroupGap = 30;
constexpr double kTop = 82;
constexpr int kColours = 6, kMostInLegend = 10;
/// What stands closer together is one block.
constexpr double kClose = 12;

/// Two themes, one set of classes. Colours of iterations are told apart in both, and by people who see fewer of them.
constexpr const char *kStyle = R"css(
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; fill: #1c2430; }
.card { fill: #ffffff; stroke: #e3e6eb; }
.title { font-size: 20px; font-weight: 600; } .strong { font-weight: 600; }
.soft { fill: #5b6778; }
.lane { fill: #f4f6f9; }
.band { fill: #e9edf3; } .band.k { fill: #d7dfeb; }
.grid { stroke: #d4dae3; stroke-width: 1; }
.edge { stroke: #8795a8; stroke-width: 1; }
.barrier { stroke: #7c3aed; stroke-width: 1.2; stroke-dasharray: 4 3; }
.gate { fill: #7c3aed; }
.p { stroke: none; } .p.c { fill: url(#counter); } .p.b { fill: url(#meet); } .p.r { fill: url(#value); }
.hc { stroke: #d08a2e; } .hb { stroke: #9a78e8; } .hr { stroke: #9aa7b8; }
.in { fill: #ffffff; font-weight: 600; }
.i0 { fill: #3b6fd4; } .i1 { fill: #d9702b; } .i2 { fill: #258a72; } .i3 { fill: #b0468f; } .i4 { fill: #7a6a1f; }
.i5 { fill: #5b6778; }
.tail { opacity: 0.3; } .body { opacity: 0.45; }
@media (prefers-color-scheme: dark) {
text { fill: #e4e9f0; }
.card { fill: #1a2028; stroke: #2b333e; }
.soft { fill: #9aa7b8; }
.lane { fill: #202833; }
.band { fill: #28313d; } .band.k { fill: #344153; }
.grid { stroke: #313b48; }
.edge { stroke: #667386; }
.barrier { stroke: #a78bfa; } .gate { fill: #a78bfa; }
.hc { stroke: #e0a04e; } .hb { stroke: #8f74cf; } .hr { stroke: #667386; }
.in { fill: #ffffff; }
.i0 { fill: #5b8dee; } .i1 { fill: #e0803d; } .i2 { fill: #35a589; } .i3 { fill: #c763a9; } .i4 { fill: #a08d35; }
.i5 { fill: #7d8a9c; }
}
)css";

/// Of pictures with roles.
constexpr const char *kHandStyle = R"css(.hand { stroke: #258a72; stroke-width: 1.2; fill: none; }
@media (prefers-color-scheme: dark) { .hand { stroke: #35a589; } }
)css";

constexpr const char *kHatches = R"svg(<defs>
<pattern id="counter" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M1 0V6" class="hc" stroke-width="1.6"/></pattern>
<pattern id="meet" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M1 0V6" class="hb" stroke-width="1.6"/></pattern>
<pattern id="value" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M1 0V5" class="hr" stroke-width="1.2"/></pattern>
</defs>
)svg";

/// A little more than the fonts take, so that nothing spills over.
double textWidth(std::string_view text, double size = 12) {
  size_t letters = static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return static_cast<double>(letters) * size * 0.56;
}

/// The first that is no wider; empty if none.
std::string fitting(const std::vector<std::string> &labels, double width) {
  for (const std::string &label : labels)
    if (textWidth(label) <= width)
      return label;
  return "";
}

/// 1, 2 or 5 times a power of ten, so that eight to twenty marks stand on the axis.
int64_t tickStep(int64_t length) {
  int64_t step = 1;
  for (int64_t power = 1; power < length; power *= 10)
    for (int64_t factor : {1, 2, 5})
      if (factor * power * 8 <= length)
        step = factor * power;
  return step;
}

/// With as many more trips of the kernel, up to a few, as make it half of the picture.
Summary summarizeLong(Picture picture) {
  constexpr int kMostTrips = 4;
  for (;; ++picture.trips) {
    Summary summary = summarize(picture);
    int64_t kernel = 0;
    for (const Span &span : summary.timeline.spans)
      kernel += span.group == 0 && span.phase == Phase::Kernel ? span.end - span.begin : 0;
    if (2 * kernel >= summary.timeline.length || picture.trips >= kMostTrips)
      return summary;
  }
}

class Drawing {
public:
  explicit Drawing(const Picture &picture)
      : summary(summarizeLong(picture)), picture(summary.drawn->picture()), said(picture),
        problem(this->picture.problem), timeline(summary.timeline),
        scale(kPlot / static_cast<double>(std::max<int64_t>(timeline.length, 1))),
        parts(makeBlocks(this->picture, timeline, static_cast<int64_t>(kClose / scale))) {}

  std::string print() {
    double y = kTop;
    for (int group = 0; group < problem.groups; ++group)
      y = drawGroup(group, y) + kGroupGap;
    drawHandovers();
    drawAxis(y - kGroupGap + 14);
    double height = y - kGroupGap + 62;
    drawExplanation(height - 14);
    return head(height) + body + "</svg>\n";
  }

private:
  double x(int64_t time) const { return kLeft + static_cast<double>(time) * scale; }

  void text(double atX, double atY, std::string_view words, const std::string &attributes = "") {
    body += "<text x=\"" + num(atX) + "\" y=\"" + num(atY) + "\"" + (attributes.empty() ? "" : " " + attributes) + ">" +
            escapeXml(words) + "</text>\n";
  }

  void rect(double left, double top, double right, double bottom, const std::string &attributes) {
    body += "<rect x=\"" + num(left) + "\" y=\"" + num(top) + "\" width=\"" + num(std::max(right - left, 0.5)) +
            "\" height=\"" + num(bottom - top) + "\" " + attributes + "/>\n";
  }

  void line(const std::string &kind, double x1, double y1, double x2, double y2) {
    body += "<path class=\"" + kind + "\" d=\"M" + num(x1) + " " + num(y1) + "L" + num(x2) + " " + num(y2) + "\"/>\n";
  }

  //===- Words around it -------------------------------------------------------------===//

  std::string story() const {
    std::string words = counted(picture.schedule.stages(), "stage");
    if (summary.interval() > 0) {
      words += " · " + num(summary.modelled) + " cycles per trip, modelled";
      words += " (at least " + std::to_string(summary.bounds.lower()) + ")";
    }
    words += " · " + counted(picture.report.registers, "register") + " · " +
             (picture.report.sharedBytes % 1024 == 0 ? std::to_string(picture.report.sharedBytes / 1024) + " KiB"
                                                     : counted(picture.report.sharedBytes, "byte")) +
             " shared";
    words += " · " + counted(summary.kernelCount(EntryKind::Barrier), "barrier") + " per trip";
    if (said.crew.copying > 0)
      words += " · " + crewText(said);
    else if (problem.groups > 1)
      words += " · " + std::to_string(problem.groups) + " groups of waves";
    return words;
  }

  std::string head(double height) {
    std::string subject = "loop " + problem.loop + (picture.kernel.empty() ? "" : " of " + picture.kernel) +
                          (picture.target.empty() ? "" : " on " + picture.target);
    std::string name = escapeXml(picture.schedule.algorithm);
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + num(kWidth) + " " + num(height) +
                      "\" role=\"img\" aria-label=\"" + name + ": " + escapeXml(subject) + "\">\n<title>" + name +
                      ": " + escapeXml(subject + "; " + story()) + "</title>\n<style>" + kStyle +
                      (said.crew.copying > 0 ? kHandStyle : "") + "</style>\n" + kHatches +
                      "<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"" + num(kWidth - 1) + "\" height=\"" +
                      num(height - 1) + "\" rx=\"12\"/>\n<text x=\"22\" y=\"36\"><tspan " + "class=\"title\">" + name +
                      "</tspan><tspan class=\"soft\" dx=\"10\">" + escapeXml(subject) +
                      "</tspan></text>\n<text class=\"soft\" x=\"22\" y=\"60\">" + escapeXml(story()) + "</text>\n";
    return svg + legend();
  }

  /// Which colour is which iteration.
  std::string legend() const {
    double right = kWidth - kRight;
    std::string svg;
    int last = 0;
    for (const SvgBlock &block : parts.blocks)
      last = std::max(last, block.iteration);
    last = std::min(last, kMostInLegend - 1);
    for (int i = last; i >= 0; --i) {
      right -= 30;
      svg += "<rect class=\"i" + std::to_string(i % kColours) + "\" x=\"" + num(right) +
             "\" y=\"25\" width=\"12\" height=\"12\" " + "rx=\"3\"/><text x=\"" + num(right + 16) + "\" y=\"35\">" +
             std::to_string(i) + "</text>\n";
    }
    return svg + "<text class=\"soft\" x=\"" + num(right - 8) + "\" y=\"35\" text-anchor=\"end\">iteration</text>\n";
  }

  void drawAxis(double y) {
    int64_t step = tickStep(timeline.length);
    for (int64_t time = 0; time <= timeline.length; time += step)
      text(x(time), y, std::to_string(time), "class=\"soft\" text-anchor=\"middle\"");
    text(kLeft - 30, y, "cycles", "class=\"soft\" text-anchor=\"end\"");
  }

  void drawExplanation(double y) {
    text(22, y,
         "A block: a unit is busy. Its tail: the result is on its way. Hatched: the waves stand still. Dashed: a "
         "barrier, "
         "where waves meet. Modelled by the target's table, not measured.",
         "class=\"soft\"");
  }

  //===- One group of waves ----------------------------------------------------------===//

  double drawGroup(int group, double y) {
    if (problem.groups > 1)
      text(22, y + 16,
           !picture.groupNames.empty() ? picture.groupNames[group]
           : group == 0                ? "first waves"
           : problem.groups == 2       ? "second waves"
                                       : "waves " + std::to_string(group),
           "class=\"strong\"");
    double top = y, lanesTop = y + kBandHeight + 6, at = lanesTop;
    std::vector<double> laneTop(parts.lanes.size(), 0);
    for (size_t i = 0; i < parts.lanes.size(); ++i)
      if (parts.lanes[i].group == group) {
        laneTop[i] = at;
        at += kLaneHeight + kLaneGap;
      }
    double pauseTop = at, bottom = at + kPauseHeight + 6;
    drawGrid(top + kBandHeight, bottom);
    for (size_t i = 0; i < parts.lanes.size(); ++i)
      if (parts.lanes[i].group == group) {
        rect(kLeft, laneTop[i], kWidth - kRight, laneTop[i] + kLaneHeight, "class=\"lane\" rx=\"4\"");
        text(kLeft - 12, laneTop[i] + 19, parts.lanes[i].name, "text-anchor=\"end\"");
      }
    text(kLeft - 12, pauseTop + 14, "waiting", "text-anchor=\"end\"");
    pauseTops.push_back(pauseTop);
    blockTops.push_back(laneTop.empty() ? pauseTop : lanesTop);
    drawBands(group, top, bottom);
    drawBlocks(group, laneTop);
    drawPauses(group, pauseTop);
    drawBarriers(group, lanesTop, pauseTop);
    return bottom;
  }

  void drawGrid(double top, double bottom) {
    int64_t step = tickStep(timeline.length);
    for (int64_t time = 0; time <= timeline.length; time += step)
      line("grid", x(time), top, x(time), bottom);
  }

  void drawBands(int group, double top, double bottom) {
    for (const Span &span : timeline.spans) {
      if (span.group != group)
        continue;
      bool kernel = span.phase == Phase::Kernel;
      double left = x(span.begin) + 1, right = std::max(x(span.end) - 1, left);
      rect(left, top, right, top + kBandHeight, std::string("class=\"band") + (kernel ? " k" : "") + "\" rx=\"4\"");
      std::string trip = "trip " + std::to_string(span.trip + 1), cycles = std::to_string(span.end - span.begin);
      std::vector<std::string> labels;
      if (kernel)
        labels = {"kernel, " + trip + " · " + cycles + " cycles", trip + " · " + cycles, trip};
      else if (span.phase == Phase::Prologue)
        labels = {"prologue: fills the pipeline", "prologue"};
      else
        labels = {"epilogue: finishes what was begun", "epilogue"};
      text(left + 8, top + 16, fitting(labels, right - left - 14));
      if (span.begin > 0)
        line("edge", x(span.begin), top, x(span.begin), bottom);
    }
  }

  /// Where the next block of the lane begins, or the end of the picture.
  int64_t roomAfter(const SvgBlock &block) const {
    int64_t next = timeline.length;
    for (const SvgBlock &other : parts.blocks)
      if (other.lane == block.lane && other.begin() >= block.end())
        next = std::min(next, other.begin());
    return next;
  }

  void drawBlocks(int group, const std::vector<double> &laneTop) {
    for (const SvgBlock &block : parts.blocks) {
      if (parts.lanes[block.lane].group != group)
        continue;
      double top = laneTop[block.lane], bottom = top + kLaneHeight;
      std::string colour = "i" + std::to_string(block.iteration % kColours);
      body += "<g><title>" + escapeXml(block.title) + "</title>\n";
      if (block.done > block.end())
        rect(x(block.begin()), bottom - 6, x(block.done), bottom, "class=\"tail " + colour + "\" rx=\"2\"");
      rect(x(block.begin()), top, x(block.end()), bottom, "class=\"body " + colour + "\" rx=\"3\"");
      drawBusy(block, top, colour);
      body += "</g>\n";
      drawLabel(block, top);
    }
  }

  void drawBusy(const SvgBlock &block, double top, const std::string &colour) {
    body += "<path class=\"" + colour + "\" d=\"";
    for (auto [begin, end] : block.busy)
      body += "M" + num(x(begin)) + " " + num(top) + "h" + num(std::max(x(end) - x(begin), 0.5)) + "v" +
              num(kLaneHeight) + "h-" + num(std::max(x(end) - x(begin), 0.5)) + "z";
    body += "\"/>\n";
  }

  /// Inside the block if it fits, else behind it if nothing is there, else in front of that of the next one.
  void drawLabel(const SvgBlock &block, double top) {
    double width = x(block.end()) - x(block.begin());
    if (std::string inside = fitting(block.labels, width - 8); !inside.empty()) {
      text(x(block.begin()) + width / 2, top + 19, inside, "class=\"in\" text-anchor=\"middle\"");
      return;
    }
    std::vector<std::string> labels = block.labels;
    std::string &before = unsaid[block.lane];
    if (!before.empty())
      for (std::string &label : labels)
        label = before + ", " + label;
    labels.insert(labels.end(), block.labels.begin(), block.labels.end());
    std::string behind = fitting(labels, x(roomAfter(block)) - x(block.end()) - 10);
    before = behind.empty() ? block.labels.back() : "";
    if (!behind.empty())
      text(x(block.end()) + 5, top + 17, behind);
  }

  void drawPauses(int group, double top) {
    for (const SvgPause &pause : parts.pauses) {
      if (pause.group != group)
        continue;
      double left = x(pause.begin), right = x(pause.end);
      const char *kind = pause.stall == Stall::Barrier ? "b" : pause.stall == Stall::Register ? "r" : "c";
      rect(left, top, right, top + kPauseHeight, std::string("class=\"p ") + kind + "\"");
      std::string label = fitting(pause.labels, right - left - 20);
      if (label.empty())
        continue;
      double half = textWidth(label) / 2 + 5, middle = (left + right) / 2;
      rect(middle - half, top + 2, middle + half, top + kPauseHeight - 2, "class=\"card\" stroke-width=\"0\" rx=\"3\"");
      text(middle, top + 14, label, "text-anchor=\"middle\"");
    }
  }

  /// Who waits for whom: from where one role has a tile copied, or says that it is done with one, to where another goes
  /// on behind that.
  void drawHandovers() {
    for (const Event &event : timeline.events) {
      if (!isWaiting(event) || event.blame < 0 || event.stall == Stall::Barrier)
        continue;
      const Event &cause = timeline.events[event.blame];
      if (cause.group == event.group)
        continue;
      double from = pauseTops[cause.group] + (cause.group < event.group ? kPauseHeight : 0), left = x(cause.start);
      double to = pauseTops[event.group] + (cause.group < event.group ? 0 : kPauseHeight), right = x(event.start);
      if (cause.entry->kind == EntryKind::Op) {
        left = x(cause.end);
        from = blockTops[cause.group] + (cause.group < event.group ? kLaneHeight : 0);
      }
      double bend = std::clamp((right - left) / 2, 0.0, 30.0);
      body += "<path class=\"hand\" d=\"M" + num(left) + " " + num(from) + "C" + num(left + bend) + " " + num(from) +
              " " + num(right - bend) + " " + num(to) + " " + num(right) + " " + num(to) + "\"/>\n";
    }
  }

  void drawBarriers(int group, double top, double pauseTop) {
    for (const Event &event : timeline.events) {
      if (event.group != group || event.entry->kind != EntryKind::Barrier)
        continue;
      double at = x(event.start), middle = pauseTop + kPauseHeight / 2;
      line("barrier", at, top, at, pauseTop);
      body += "<path class=\"gate\" d=\"M" + num(at) + " " + num(middle - 6) + "l5 6l-5 6l-5-6z\"><title>barrier at " +
              std::to_string(event.start) + "</title></path>\n";
    }
  }

  Summary summary;
  /// As it is drawn, and as it was said.
  const Picture &picture;
  const Picture &said;
  const Problem &problem;
  const Timeline &timeline;
  double scale;
  SvgBlocks parts;
  std::string body;
  /// By group: where its pauses are drawn, and the first of its lanes.
  std::vector<double> pauseTops, blockTops;
  /// By lane: the label of a block that had no room for it.
  std::map<int, std::string> unsaid;
};
} // namespace

std::string printSvg(const Picture &picture) {
  return Drawing(picture).print();
}

} // namespace soliton::sched
