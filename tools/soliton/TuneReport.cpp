//===- TuneReport.cpp - The page of a tuning run ----------------------------------------------------===//
//
// One file without anything from outside: the best so far over candidates, the space as parallel coordinates, what was
// refused by which filter, the best ten, and the winner's schedule.
//
//===----------------------------------------------------------------------===//

#include "tools/soliton/Tune.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

namespace soliton::cli {

namespace {

constexpr double kWidth = 860, kHeight = 240, kMargin = 46;

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

std::string number(double value, int digits = 2) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

constexpr const char *kStyle = R"(
:root { color-scheme: light dark; --line: #0b6bcb; --soft: #8884; --text: #222; --back: #fff; --good: #137333; }
@media (prefers-color-scheme: dark) { :root { --line: #6cb2ff; --text: #ddd; --back: #16181c; --good: #7bd88f; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); margin: 2rem auto; max-width: 900px;
  padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
td, th { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid var(--soft); vertical-align: top; }
td.n, th.n { text-align: right; }
svg { width: 100%; height: auto; }
svg text { fill: var(--text); font-size: 11px; stroke: var(--back); stroke-width: 3px; paint-order: stroke; }
.axis { stroke: var(--soft); } .best { stroke: var(--line); fill: none; stroke-width: 2; }
.bound { stroke: var(--good); stroke-dasharray: 5 4; } .dot { fill: var(--soft); }
.path { fill: none; stroke: var(--line); stroke-width: 1; } .winner { stroke: var(--good); stroke-width: 3; opacity: 1; }
iframe { width: 100%; height: 720px; border: 1px solid var(--soft); }
code { font-size: .9em; }
)";

std::string unitOf(const TuneStory &story) {
  return story.command.device.empty()    ? "us modelled"
         : story.command.cache == "cold" ? "us measured with cold caches"
                                         : "us measured with warm caches";
}

/// A curve that only falls, with dots for each candidate.
struct Curve {
  std::vector<std::pair<double, double>> best, dots;
  double bound = 0;
  std::string unit;
};

std::string drawn(const Curve &curve) {
  if (curve.best.empty())
    return "<p>Nothing was accepted.</p>\n";
  double right = 1, low = curve.best.back().second, high = curve.best.front().second;
  for (const auto *list : {&curve.best, &curve.dots})
    for (const auto &[x, y] : *list)
      right = std::max(right, x);
  if (curve.bound > 0)
    low = std::min(low, curve.bound);
  high = std::max(high, low * 1.02);
  auto x = [&](double value) { return kMargin + value / right * (kWidth - 2 * kMargin); };
  auto y = [&](double value) {
    return kHeight - kMargin - std::clamp((value - low) / (high - low), 0.0, 1.0) * (kHeight - 1.6 * kMargin);
  };
  std::string svg = "<svg viewBox=\"0 0 " + number(kWidth, 0) + " " + number(kHeight, 0) + "\" role=\"img\">\n";
  svg += "<line class=\"axis\" x1=\"" + number(x(0)) + "\" x2=\"" + number(x(right)) + "\" y1=\"" + number(y(low)) +
         "\" y2=\"" + number(y(low)) + "\"/>\n";
  for (const auto &[at, value] : curve.dots)
    if (value <= high)
      svg += "<circle class=\"dot\" r=\"2\" cx=\"" + number(x(at)) + "\" cy=\"" + number(y(value)) + "\"/>\n";
  std::string points;
  double last = curve.best.front().second;
  for (const auto &[at, value] : curve.best) {
    points += number(x(at)) + "," + number(y(last)) + " " + number(x(at)) + "," + number(y(value)) + " ";
    last = value;
  }
  points += number(x(right)) + "," + number(y(last));
  svg += "<polyline class=\"best\" points=\"" + points + "\"/>\n";
  if (curve.bound > 0)
    svg += "<line class=\"bound\" x1=\"" + number(x(0)) + "\" x2=\"" + number(x(right)) + "\" y1=\"" +
           number(y(curve.bound)) + "\" y2=\"" + number(y(curve.bound)) + "\"/>\n";
  auto label = [&](double value, const std::string &text) {
    svg += "<text x=\"2\" y=\"" + number(y(value) + 4) + "\">" + text + "</text>\n";
  };
  label(high, number(high, 1));
  label(last, number(last, 1));
  svg += "<text text-anchor=\"end\" x=\"" + number(kWidth - kMargin) + "\" y=\"" + number(kHeight - 8) + "\">" +
         number(right, 0) + " candidates, " + curve.unit + "</text>\n</svg>\n";
  return svg;
}

/// Where the axes of choices stand, and last that of the cost: each has room for the longest of its words.
std::vector<double> axesOf(const std::vector<tune::Choice> &choices) {
  constexpr double kLetter = 6, kLeast = 26;
  std::vector<double> places = {0};
  for (const tune::Choice &choice : choices) {
    size_t longest = choice.name.size() / 2; // names stand in two rows, in turn
    for (const std::string &value : choice.values)
      longest = std::max(longest, value.size());
    places.push_back(places.back() + kLeast + kLetter * static_cast<double>(longest));
  }
  double room = kWidth - 3 * kMargin;
  for (double &place : places)
    place = kMargin + place * room / places.back();
  return places;
}

/// An axis a choice, a line a candidate; the last axis is the cost.
std::string parallel(const TuneStory &story) {
  constexpr double kRow = 13, kAbove = 2 * kRow + 14;
  const std::vector<tune::Choice> &choices = story.space.choices();
  double least = tune::kRefused, most = 0;
  for (const tune::Trial &trial : story.trials)
    if (std::isfinite(trial.cost)) {
      least = std::min(least, trial.cost);
      most = std::max(most, trial.cost);
    }
  if (choices.empty() || !std::isfinite(least))
    return "<p>There was nothing to choose from.</p>\n";
  size_t axes = choices.size() + 1, rows = 0;
  for (const tune::Choice &choice : choices)
    rows = std::max(rows, choice.values.size());
  double height = std::max(kHeight, kAbove + kRow * static_cast<double>(rows) + kRow);
  std::vector<double> places = axesOf(choices);
  auto x = [&](size_t axis) { return places[axis]; };
  auto y = [&](double part) { return height - kRow - part * (height - kRow - kAbove); };
  auto placeOf = [](const tune::Choice &choice, const std::string &value) {
    double place = static_cast<double>(std::ranges::find(choice.values, value) - choice.values.begin());
    return choice.values.size() > 1 ? place / static_cast<double>(choice.values.size() - 1) : 0.5;
  };
  std::string svg = "<svg viewBox=\"0 0 " + number(kWidth, 0) + " " + number(height, 0) + "\" role=\"img\">\n";
  std::string winner;
  for (size_t i = 0; i < story.trials.size(); ++i) {
    const tune::Trial &trial = story.trials[i];
    if (!std::isfinite(trial.cost))
      continue;
    double part = most > least ? (trial.cost - least) / (most - least) : 0;
    std::string points;
    for (size_t axis = 0; axis < choices.size(); ++axis) {
      auto value = trial.candidate.choices.find(choices[axis].name);
      if (value != trial.candidate.choices.end())
        points += number(x(axis)) + "," + number(y(placeOf(choices[axis], value->second))) + " ";
    }
    points += number(x(choices.size())) + "," + number(y(part));
    bool isWinner = story.best == i;
    std::string text = "<polyline class=\"path" + std::string(isWinner ? " winner" : "") + "\" opacity=\"" +
                       number(isWinner ? 1 : 0.15 + 0.5 * (1 - part)) + "\" points=\"" + points + "\"/>\n";
    (isWinner ? winner : svg) += text;
  }
  svg += winner;
  for (size_t axis = 0; axis < axes; ++axis) {
    svg += "<line class=\"axis\" x1=\"" + number(x(axis)) + "\" x2=\"" + number(x(axis)) + "\" y1=\"" + number(y(0)) +
           "\" y2=\"" + number(y(1)) + "\"/>\n";
    bool isCost = axis == choices.size();
    auto text = [&](double at, double place, const std::string &what) {
      svg += "<text x=\"" + number(at) + "\" y=\"" + number(place) + "\">" + escaped(what) + "</text>\n";
    };
    text(x(axis), axis % 2 == 0 ? kRow : 2 * kRow, isCost ? unitOf(story) : choices[axis].name);
    if (isCost) {
      text(x(axis) + 6, y(0) + 4, number(least));
      text(x(axis) + 6, y(1) + 4, number(most));
      continue;
    }
    for (const std::string &value : choices[axis].values)
      text(x(axis) + 4, y(placeOf(choices[axis], value)) + 4, value);
  }
  return svg + "</svg>\n";
}

std::string refusals(const TuneStory &story) {
  std::map<std::string, std::pair<int64_t, std::string>> filters;
  for (const tune::Trial &trial : story.trials)
    if (trial.result.isRefused()) {
      auto &[count, example] = filters[trial.result.refusedBy];
      if (count++ == 0)
        example = trial.result.why;
    }
  if (filters.empty())
    return "<p>Nothing was refused.</p>\n";
  std::string table = "<table><tr><th>filter</th><th class=\"n\">refused</th><th>the first of them</th></tr>\n";
  for (const auto &[filter, found] : filters)
    table += "<tr><td>" + escaped(filter) + "</td><td class=\"n\">" + std::to_string(found.first) + "</td><td>" +
             escaped(found.second) + "</td></tr>\n";
  return table + "</table>\n";
}

std::string bestTen(const TuneStory &story) {
  constexpr size_t kShown = 10;
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < story.trials.size(); ++i)
    if (std::isfinite(story.trials[i].cost))
      order.emplace_back(story.trials[i].cost, i);
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), kShown));
  std::string table = "<table><tr><th class=\"n\">" + unitOf(story) +
                      "</th><th class=\"n\">cycles</th><th class=\"n\">bound</th><th "
                      "class=\"n\">registers</th><th>choices</th></tr>\n";
  for (const auto &[cost, i] : order) {
    const tune::Trial &trial = story.trials[i];
    std::string choices;
    for (const auto &[name, value] : trial.candidate.choices)
      choices += (choices.empty() ? "" : ", ") + name + " = " + value;
    if (!trial.candidate.schedule.empty())
      choices += " (its schedule moved)";
    table += "<tr><td class=\"n\">" + number(cost) + "</td><td class=\"n\">" + std::to_string(trial.result.cycles) +
             "</td><td class=\"n\">" + std::to_string(trial.result.bound) + "</td><td class=\"n\">" +
             std::to_string(trial.result.registers) + "</td><td>" + escaped(choices) + "</td></tr>\n";
  }
  return table + "</table>\n";
}

Curve spaceCurve(const TuneStory &story) {
  Curve curve;
  curve.unit = unitOf(story);
  double least = tune::kRefused;
  for (size_t i = 0; i < story.trials.size(); ++i) {
    double cost = story.trials[i].cost;
    if (!std::isfinite(cost))
      continue;
    curve.dots.emplace_back(static_cast<double>(i + 1), cost);
    if (cost < least) {
      least = cost;
      curve.best.emplace_back(static_cast<double>(i + 1), cost);
    }
  }
  return curve;
}

std::string movesSection(const Moves &moves) {
  if (moves.tried == 0)
    return "<p>" + escaped(moves.whyNot.empty() ? "No schedules were moved." : moves.whyNot) + "</p>\n";
  Curve curve;
  curve.unit = "cycles modelled; dashed: no schedule is faster";
  curve.bound = static_cast<double>(moves.bound);
  for (const auto &[tried, cycles] : moves.curve)
    curve.best.emplace_back(static_cast<double>(tried), static_cast<double>(cycles));
  curve.dots.emplace_back(static_cast<double>(moves.tried), static_cast<double>(moves.best));
  return "<p>" + std::to_string(moves.tried) + " schedules of loop <code>" + escaped(moves.loop) +
         "</code> from <code>" + escaped(moves.start) + "</code>: " + std::to_string(moves.before) +
         " cycles before, " + std::to_string(moves.best) + " after, bound " + std::to_string(moves.bound) + ".</p>\n" +
         drawn(curve);
}

} // namespace

std::string printTunePage(const TuneStory &story) {
  std::string title = "tune " + story.command.choice.kernel + " on " + story.target;
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(title) +
                     "</title><style>" + kStyle + "</style></head><body>\n<h1>" + escaped(title) + "</h1>\n";
  page += "<p>" + std::to_string(story.trials.size()) + " candidates by <code>" + escaped(story.command.strategy) +
          "</code>, seed " + std::to_string(story.command.seed) + ", ended by " + escaped(story.ended) +
          (story.command.device.empty()
               ? ". All times are <em>modelled</em>: nothing was measured on a device.</p>\n"
               : ". Times are <em>measured</em> on " + escaped(story.command.device) + " with " +
                     (story.command.cache == "cold" ? "cold" : "warm") + " caches; cycles are modelled.</p>\n");
  page += "<h2>Best so far</h2>\n" + drawn(spaceCurve(story));
  page += "<h2>Choices</h2>\n" + parallel(story);
  page += "<h2>Refused</h2>\n" + refusals(story);
  page += "<h2>The best</h2>\n" + bestTen(story);
  page += "<h2>Moves</h2>\n" + movesSection(story.moves);
  if (!story.schedulePage.empty())
    page += "<h2>The winner's schedule</h2>\n<iframe title=\"schedule\" srcdoc=\"" + escaped(story.schedulePage) +
            "\"></iframe>\n";
  return page + "</body></html>\n";
}

} // namespace soliton::cli
