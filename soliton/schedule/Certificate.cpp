#include "soliton/schedule/Certificate.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace soliton::sched {
namespace {
using Hop = ProofStep::Hop;
constexpr size_t kMostText = size_t{64} << 20;

std::string hopsText(const std::vector<Hop> &hops) {
  std::string text;
  for (const Hop &hop : hops)
    text += " " + std::to_string(hop.from) + ">" + std::to_string(hop.to) + "@" + std::to_string(hop.distance);
  return text;
}

/// Words of a text, one at a time.
class Words {
public:
  explicit Words(std::string_view text) : rest(text) { advance(); }

  std::string_view peek() const { return word; }
  std::string_view take() {
    std::string_view result = word;
    advance();
    return result;
  }
  bool takeIf(std::string_view expected) {
    if (word != expected)
      return false;
    advance();
    return true;
  }
  bool number(int64_t &value) { return parseNumber(take(), value); }
  bool number(int &value) {
    int64_t wide = 0;
    if (!number(wide) || wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
      return false;
    value = static_cast<int>(wide);
    return true;
  }
  /// All `a>b@d` words that follow.
  bool hops(std::vector<Hop> &list) {
    while (word.find('>') != std::string_view::npos) {
      size_t arrow = word.find('>'), at = word.find('@');
      int64_t from, to, distance;
      if (at == std::string_view::npos || at < arrow || !parseNumber(word.substr(0, arrow), from) ||
          !parseNumber(word.substr(arrow + 1, at - arrow - 1), to) || !parseNumber(word.substr(at + 1), distance))
        return false;
      list.push_back({static_cast<int>(from), static_cast<int>(to), static_cast<int>(distance)});
      advance();
    }
    return !list.empty();
  }

private:
  static bool parseNumber(std::string_view text, int64_t &value) {
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failure == std::errc() && end == text.data() + text.size() && std::abs(value) < (int64_t{1} << 40);
  }
  void advance() {
    size_t begin = rest.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) {
      word = rest = {};
      return;
    }
    size_t end = std::min(rest.find_first_of(" \t\r\n", begin), rest.size());
    word = rest.substr(begin, end - begin);
    rest = rest.substr(end);
  }

  std::string_view rest, word;
};

bool parseSteps(Words &words, std::vector<ProofStep> &steps) {
  while (true) {
    ProofStep step;
    if (words.takeIf("split")) {
      step.kind = ProofStep::Kind::Split;
      if (!words.number(step.subject))
        return false;
    } else if (words.takeIf("units")) {
      step.kind = ProofStep::Kind::Units;
      if (!words.number(step.subject) || !words.number(step.cycle))
        return false;
    } else if (words.takeIf("cycle")) {
      step.kind = ProofStep::Kind::Cycle;
      if (!words.hops(step.hops))
        return false;
    } else {
      return true;
    }
    steps.push_back(std::move(step));
  }
}

bool parseBound(Words &words, Certificate &certificate) {
  if (words.takeIf("units"))
    return words.number(certificate.boundResource) && words.number(certificate.resourceBound);
  return words.takeIf("cycle") && words.hops(certificate.boundCycle) && words.number(certificate.recurrenceBound);
}

bool parseBody(Words &words, Certificate &certificate) {
  if (!words.takeIf("interval") || !words.number(certificate.interval))
    return false;
  certificate.bound = certificate.interval;
  if (words.takeIf("bound")) {
    if (!words.number(certificate.bound))
      return false;
  } else if (!words.takeIf("optimal")) {
    return false;
  }
  if (!words.takeIf("start"))
    return false;
  for (int64_t time; !words.peek().empty() && words.peek() != "bound" && words.peek() != "refute";) {
    if (!words.number(time))
      return false;
    certificate.start.push_back(time);
  }
  while (words.takeIf("bound"))
    if (!parseBound(words, certificate))
      return false;
  while (words.takeIf("refute")) {
    Refutation refutation;
    if (!words.number(refutation.interval) || !parseSteps(words, refutation.steps))
      return false;
    certificate.refutations.push_back(std::move(refutation));
  }
  return words.peek().empty();
}

/// Re-derives everything from the problem; shares nothing with the search but the dependences.
class Checker {
public:
  Checker(const Problem &problem, const Certificate &certificate) : problem(problem), certificate(certificate) {
    for (const Dependence &dep : deriveDependences(problem)) {
      auto [it, isNew] = latency.try_emplace({dep.from, dep.to, dep.distance}, dep.latency);
      if (!isNew)
        it->second = std::max(it->second, dep.latency);
    }
  }

  std::optional<std::string> run() {
    if (std::optional<std::string> wrong = checkSchedule())
      return wrong;
    int proven = 1;
    if (certificate.boundResource >= 0) {
      if (!resourceBoundHolds())
        return "the resource bound does not add up";
      proven = std::max(proven, certificate.resourceBound);
    }
    if (!certificate.boundCycle.empty()) {
      if (!recurrenceBoundHolds())
        return "the recurrence bound does not add up";
      proven = std::max(proven, certificate.recurrenceBound);
    }
    for (; proven < certificate.bound; ++proven) {
      auto found = std::find_if(certificate.refutations.begin(), certificate.refutations.end(),
                                [&](const Refutation &r) { return r.interval == proven; });
      if (found == certificate.refutations.end())
        return "interval " + std::to_string(proven) + " is not refuted";
      if (!refutes(*found))
        return "the refutation of interval " + std::to_string(proven) + " does not hold";
    }
    return certificate.bound > certificate.interval ? std::optional<std::string>("the bound exceeds the interval")
                                                    : std::nullopt;
  }

private:
  std::optional<std::string> checkSchedule() const {
    if (certificate.interval < 1 || certificate.start.size() != problem.operations.size())
      return "the certificate is about another problem";
    for (const auto &[edge, cycles] : latency) {
      auto [from, to, distance] = edge;
      if (certificate.start[to] + int64_t{distance} * certificate.interval - certificate.start[from] < cycles)
        return "the start times violate `" + problem.operations[from].key + "` -> `" + problem.operations[to].key + "`";
    }
    std::map<std::pair<int, int64_t>, int> used;
    for (int op = 0; op < problem.numOps(); ++op)
      for (const Reservation &use : problem.operations[op].reservations)
        for (int i = 0; i < length(op, use); ++i) {
          int64_t cycle = wrap(certificate.start[op] + use.start + i, certificate.interval);
          if ((used[{use.resource, cycle}] += use.units) > problem.resources[use.resource].units)
            return "the start times need too many units of `" + problem.resources[use.resource].name + "`";
        }
    return std::nullopt;
  }

  /// Waves that share a unit take turns on it.
  int length(int op, const Reservation &use) const { return problem.busyCycles(problem.operations[op], use); }

  static int64_t wrap(int64_t time, int64_t interval) { return ((time % interval) + interval) % interval; }

  bool resourceBoundHolds() const {
    if (certificate.boundResource >= static_cast<int>(problem.resources.size()))
      return false;
    int64_t busy = 0;
    for (int op = 0; op < problem.numOps(); ++op)
      for (const Reservation &use : problem.operations[op].reservations)
        if (use.resource == certificate.boundResource)
          busy += int64_t{length(op, use)} * use.units;
    return busy > int64_t{certificate.resourceBound - 1} * problem.resources[certificate.boundResource].units;
  }

  bool closed(const std::vector<Hop> &hops) const {
    for (size_t i = 0; i < hops.size(); ++i)
      if (hops[i].to != hops[(i + 1) % hops.size()].from ||
          !latency.count({hops[i].from, hops[i].to, hops[i].distance}))
        return false;
    return !hops.empty();
  }

  bool recurrenceBoundHolds() const {
    if (!closed(certificate.boundCycle))
      return false;
    int64_t cycles = 0, distance = 0;
    for (const Hop &hop : certificate.boundCycle) {
      cycles += latency.at({hop.from, hop.to, hop.distance});
      distance += hop.distance;
    }
    return distance > 0 && cycles > int64_t{certificate.recurrenceBound - 1} * distance;
  }

  bool refutes(const Refutation &refutation) {
    interval = refutation.interval;
    rows.clear();
    size_t next = 0;
    return interval >= 1 && !refutation.steps.empty() && holds(refutation.steps, next) &&
           next == refutation.steps.size();
  }

  bool holds(const std::vector<ProofStep> &steps, size_t &next) {
    if (next >= steps.size())
      return false;
    const ProofStep &step = steps[next++];
    switch (step.kind) {
    case ProofStep::Kind::Units:
      return unitsOverflow(step);
    case ProofStep::Kind::Cycle:
      return cycleContradicts(step.hops);
    case ProofStep::Kind::Split:
      break;
    }
    if (step.subject < 0 || step.subject >= problem.numOps() || rows.count(step.subject))
      return false;
    // Rotating a schedule changes nothing, so the first op may be taken to start at 0.
    int count = rows.empty() ? 1 : interval;
    for (int row = 0; row < count; ++row) {
      rows[step.subject] = row;
      if (!holds(steps, next))
        return false;
    }
    rows.erase(step.subject);
    return true;
  }

  bool unitsOverflow(const ProofStep &step) const {
    if (step.subject < 0 || step.subject >= static_cast<int>(problem.resources.size()))
      return false;
    int used = 0;
    for (const auto &[op, row] : rows)
      for (const Reservation &use : problem.operations[op].reservations)
        if (use.resource == step.subject)
          for (int i = 0; i < length(op, use); ++i)
            used += wrap(int64_t{row} + use.start + i, interval) == step.cycle ? use.units : 0;
    return used > problem.resources[step.subject].units;
  }

  bool cycleContradicts(const std::vector<Hop> &hops) const {
    if (!closed(hops))
      return false;
    size_t first = 0;
    while (first < hops.size() && !rows.count(hops[first].from))
      ++first;
    // Without a fixed op in it the plain sum must be positive.
    int64_t begin = first < hops.size() ? rows.at(hops[first].from) : 0, time = begin;
    for (size_t i = 0; i < hops.size(); ++i) {
      const Hop &hop = hops[(first + i) % hops.size()];
      time += latency.at({hop.from, hop.to, hop.distance}) - int64_t{hop.distance} * interval;
      if (auto it = rows.find(hop.to); it != rows.end())
        time += wrap(it->second - time, interval);
    }
    return time > begin;
  }

  const Problem &problem;
  const Certificate &certificate;
  std::map<std::tuple<int, int, int>, int> latency;
  int interval = 1;
  std::map<int, int> rows;
};
} // namespace

std::string toString(const Certificate &certificate) {
  std::string text = "soliton-certificate 1\ninterval " + std::to_string(certificate.interval);
  text +=
      certificate.bound == certificate.interval ? " optimal\n" : " bound " + std::to_string(certificate.bound) + "\n";
  text += "start";
  for (int64_t time : certificate.start)
    text += " " + std::to_string(time);
  if (certificate.boundResource >= 0)
    text +=
        "\nbound units " + std::to_string(certificate.boundResource) + " " + std::to_string(certificate.resourceBound);
  if (!certificate.boundCycle.empty())
    text += "\nbound cycle" + hopsText(certificate.boundCycle) + " " + std::to_string(certificate.recurrenceBound);
  text += "\n";
  for (const Refutation &refutation : certificate.refutations) {
    text += "refute " + std::to_string(refutation.interval) + "\n";
    for (const ProofStep &step : refutation.steps)
      text += step.kind == ProofStep::Kind::Split ? "  split " + std::to_string(step.subject) + "\n"
              : step.kind == ProofStep::Kind::Units
                  ? "    units " + std::to_string(step.subject) + " " + std::to_string(step.cycle) + "\n"
                  : "    cycle" + hopsText(step.hops) + "\n";
  }
  return text;
}

std::optional<Certificate> parseCertificate(std::string_view text, std::string &error) {
  if (text.size() > kMostText) {
    error =
        "the certificate has " + std::to_string(text.size()) + " bytes, expected at most " + std::to_string(kMostText);
    return std::nullopt;
  }
  Words words(text);
  if (!words.takeIf("soliton-certificate") || !words.takeIf("1")) {
    error = "the text is no certificate of version 1";
    return std::nullopt;
  }
  Certificate certificate;
  if (!parseBody(words, certificate)) {
    error = "the certificate is malformed near `" + std::string(words.peek().substr(0, 40)) + "`";
    return std::nullopt;
  }
  return certificate;
}

std::optional<std::string> checkCertificate(const Problem &problem, const Certificate &certificate) {
  if (!validate(problem).empty())
    return "the problem itself is invalid";
  return Checker(problem, certificate).run();
}

std::optional<std::string> checkCertificate(const Problem &problem, std::string_view text) {
  std::string error;
  std::optional<Certificate> certificate = parseCertificate(text, error);
  return certificate ? checkCertificate(problem, *certificate) : std::optional(error);
}

} // namespace soliton::sched
