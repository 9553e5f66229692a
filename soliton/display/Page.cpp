#include "soliton/display/Page.h"

#include "soliton/display/PageParts.h"

namespace soliton::sched {
namespace {
/// How to read the timeline, in the author's words.
constexpr const char *kHowToRead = R"html(
<details class="card" open>
<summary>How to read this</summary>
<div class="guide"><div>
<p><b>Time</b> runs from left to right, in cycles. The <i>prologue</i> fills the pipeline, the <i>kernel</i> is the loop
that the chip repeats (two trips are drawn, all others look like the last), the <i>epilogue</i> finishes what was begun.</p>
<p><b>Hatched</b> blocks are waiting: the wave stands still. <b>Dashed lines</b> are barriers, where the waves of the
workgroup meet.</p>
</div><div>
<p><b>A lane</b> is a unit of the chip, a <b>block</b> one operation that keeps it busy. The colour is the tag in your
kernel, the number behind # the iteration it works for. The faint tail is the time until its result is there.</p>
<p><b>Point</b> at a block: <span class="needs">arrows come from what it needs</span> and <span class="feeds">go to what
needs it</span>. Click to keep them. Drag to move, scroll with Ctrl to zoom.</p>
</div><div>
<p><b>In flight</b> counts memory operations that were begun and are not finished. Such a count has a name, <code>vm</code>
say, and <code>wait vm 2</code> means: go on when at most 2 of them are left.</p>
<p><b>Registers</b> counts the registers of one lane that hold a value which is still needed. The dotted line is all there
are.</p>
</div></div>
</details>
)html";

std::string legend(const Picture &picture) {
  std::vector<std::string> tags;
  tagNumbers(picture.problem, tags);
  std::string html = "<div class=\"legend\" id=\"legend\">";
  for (size_t i = 0; i < tags.size(); ++i)
    html += "<button type=\"button\" class=\"tag t" + std::to_string(i % 10) + "\" data-tag=\"" + std::to_string(i) +
            "\">" + escapeHtml(tags[i]) + "</button>";
  return html + "</div>";
}

constexpr const char *kTimeline = R"html(
<div class="tools">
<span class="tool-group" role="group" aria-label="zoom"><button type="button" id="whole">whole run</button><button type="button"
id="trip">one trip</button><button type="button" id="out" aria-label="zoom out">&minus;</button><button type="button" id="in"
aria-label="zoom in">+</button></span>
<label>colour by <select id="colour"><option value="tag">tag</option><option value="iteration">iteration</option><option
value="stage">stage</option></select></label>
</div>
<div id="stage"><canvas id="timeline"></canvas><div id="tip" hidden></div></div>
<noscript><p>The timeline needs JavaScript; the tables below do not.</p></noscript>
)html";
} // namespace

std::string escapeHtml(std::string_view text) {
  std::string safe;
  for (char c : text)
    switch (c) {
    case '<':
      safe += "&lt;";
      break;
    case '>':
      safe += "&gt;";
      break;
    case '&':
      safe += "&amp;";
      break;
    case '"':
      safe += "&quot;";
      break;
    case '\'':
      safe += "&#39;";
      break;
    default:
      safe += c;
    }
  return safe;
}

std::string printPage(const Picture &picture) {
  Summary summary = summarize(picture);
  std::string title = escapeHtml("loop " + picture.problem.loop + " · " + picture.schedule.algorithm +
                                 (picture.kernel.empty() ? "" : " · " + picture.kernel));
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                     "content=\"width=device-width, initial-scale=1\">\n<title>" +
                     title + "</title>\n<style>\n" + kPageStyle + "</style>\n</head>\n<body>\n<main>\n";
  html += pageHead(picture, summary);
  html += kHowToRead;
  html +=
      "<section class=\"card wide\"><h2>Timeline <small>modelled: in-order issue with the latencies of the target's "
      "table, nothing is measured</small></h2>\n";
  html += legend(picture) + kTimeline + "</section>\n";
  for (const auto &[heading, text] : picture.further)
    html += "<section class=\"card wide\"><h2>" + escapeHtml(heading) + "</h2>\n<pre>" + escapeHtml(text) +
            "</pre></section>\n";
  html += pageTables(picture, summary);
  html += "</main>\n<script type=\"application/json\" id=\"data\">" + pageData(picture, summary) +
          "</script>\n<script>\n" + kPageScript + "</script>\n</body>\n</html>\n";
  return html;
}

} // namespace soliton::sched
