//===- ScheduleFileText.cpp - The text form of schedule files --------------===//
//
// One statement a line, its first word saying which: `op "mma/0.0" stage 1 cycle 1 cluster 0 rank 3`.
//
//===----------------------------------------------------------------------===//
#include "soliton/authoring/ScheduleFileParts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace soliton::sched {
namespace {
using namespace files;

/// Words of one line: bare words, numbers and quoted strings.
class LineReader {
public:
  explicit LineReader(std::string_view line) : rest(line) {}

  bool atEnd() {
    skip();
    return rest.empty();
  }
  bool word(std::string_view &result) {
    skip();
    size_t end = std::min(rest.find_first_of(" \t\r#"), rest.size());
    result = rest.substr(0, end);
    rest.remove_prefix(end);
    return !result.empty();
  }
  bool expect(std::string_view expected) {
    std::string_view found;
    return word(found) && found == expected;
  }
  /// Takes the word if it is the next one.
  bool accept(std::string_view wanted) {
    LineReader ahead = *this;
    if (!ahead.expect(wanted))
      return false;
    *this = ahead;
    return true;
  }
  bool number(int &value) {
    std::string_view text;
    if (!word(text))
      return false;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failure == std::errc() && end == text.data() + text.size() && value >= 0 && value <= kMostValue;
  }
  bool text(std::string &result) {
    skip();
    if (rest.empty() || rest[0] != '"')
      return false;
    size_t end = 1;
    while (end < rest.size() && rest[end] != '"')
      end += rest[end] == '\\' ? 2 : 1;
    if (end >= rest.size() || end > kMostKey)
      return false;
    nlohmann::json value = nlohmann::json::parse(rest.substr(0, end + 1), nullptr, false);
    rest.remove_prefix(end + 1);
    if (!value.is_string())
      return false;
    result = value.get<std::string>();
    return true;
  }
  /// A bare word or a string.
  bool name(std::string &result) {
    skip();
    if (!rest.empty() && rest[0] == '"')
      return text(result);
    std::string_view bare;
    if (!word(bare) || bare.size() > kMostKey)
      return false;
    result = bare;
    return true;
  }
  bool numbers(std::vector<int> &list, size_t most) {
    list.clear();
    while (!atEnd() && list.size() < most)
      if (!number(list.emplace_back()))
        return false;
    return !list.empty();
  }

private:
  void skip() {
    size_t begin = std::min(rest.find_first_not_of(" \t\r"), rest.size());
    rest.remove_prefix(begin);
    if (!rest.empty() && rest[0] == '#')
      rest = {};
  }
  std::string_view rest;
};

class TextReader {
public:
  TextReader(ScheduleFile &file, int version) : file(file), version(version) {}

  /// One line; false if it is malformed.
  bool statement(LineReader &reader, int number) {
    line = number;
    std::string_view head;
    if (!reader.word(head))
      return false;
    if (head == "op")
      return op(reader, false);
    return settings(head, reader) || (version >= 2 && newer(head, reader));
  }

private:
  bool settings(std::string_view head, LineReader &reader) {
    if (head == "loop")
      return reader.text(file.loop);
    if (head == "algorithm")
      return reader.text(file.algorithm);
    if (head == "interval")
      return reader.number(file.interval);
    if (head == "timing") {
      file.timing = reader.accept("cycles") ? Timing::Cycles : Timing::Order;
      return file.timing == Timing::Cycles || reader.expect("order");
    }
    std::string region;
    int count = 0;
    return head == "buffers" && reader.text(region) && reader.number(count) && file.buffers.size() < kMostOps &&
           file.buffers.emplace(region, count).second;
  }

  /// What version 1 does not have.
  bool newer(std::string_view head, LineReader &reader) {
    if (head == "added")
      return op(reader, true);
    if (head == "unrolled")
      return reader.number(file.unrolled);
    if (head == "kernel_copies")
      return reader.number(file.kernelCopies);
    if (head == "eliminate_epilogue")
      return file.eliminateEpilogue = true;
    if (head == "copies_run_on")
      return file.copiesRunOn = true;
    if (head == "releases")
      return file.releases = true;
    if (head == "direct_copies")
      return file.directCopies = true;
    if (head == "strict")
      return file.strict = true;
    if (head == "specialize")
      return !file.specialized && specialized(reader, file.specialized.emplace());
    if (head == "persistent") {
      file.persistentLine = line;
      return reader.number(file.persistent);
    }
    if (head == "overlap_tiles")
      return file.overlapTiles = true;
    if (head == "groups")
      return reader.numbers(file.groupStart, kMaxGroups);
    if (head == "stagger")
      return reader.numbers(file.stagger, kMaxGroups);
    if (head == "insert")
      return insertion(reader);
    if (head == "order")
      return order(reader);
    if (head != "waive" || file.waivers.size() >= kMostOps)
      return false;
    Waiver &waiver = file.waivers.emplace_back();
    return reader.text(waiver.from) && reader.text(waiver.to) && reader.text(waiver.region) &&
           reader.text(waiver.reason);
  }

  bool specialized(LineReader &reader, ScheduleFile::Specialized &role) {
    role.line = line;
    if (!reader.expect("waves") || !reader.number(role.waves) || !reader.expect("registers") ||
        !reader.number(role.registers))
      return false;
    while (!reader.atEnd())
      if (role.keys.size() >= kMostOps || !reader.text(role.keys.emplace_back()))
        return false;
    return true;
  }

  bool added(LineReader &reader, ScheduleFile::Added &added) {
    std::string_view word;
    if (!reader.word(word) || !parseWord(word, added) || (hasCounter(added) && !reader.name(added.counter)) ||
        (added.kind == OpKind::Wait && !reader.number(added.value)))
      return false;
    for (int64_t &argument : added.arguments) {
      int value = 0;
      if (!reader.number(value))
        return false;
      argument = value;
    }
    int group = 0;
    if (!reader.accept("groups"))
      return true;
    if (!reader.number(group) || group >= kMaxGroups)
      return false;
    added.groups = GroupMask{1} << group;
    return true;
  }

  bool op(LineReader &reader, bool isAdded) {
    ScheduleFile::Line result;
    result.line = line;
    if (file.lines.size() >= kMostOps || !reader.text(result.key) ||
        (isAdded && !added(reader, result.added.emplace())) || !reader.expect("stage") ||
        !reader.number(result.slot.stage) || !reader.expect("cycle") || !reader.number(result.slot.cycle))
      return false;
    while (!reader.atEnd()) {
      std::string_view field;
      reader.word(field);
      int *target = field == "cluster" ? &result.slot.cluster : field == "rank" ? &result.slot.rank : nullptr;
      if (!target || !reader.number(*target))
        return false;
    }
    file.lines.push_back(std::move(result));
    return true;
  }

  bool insertion(LineReader &reader) {
    ScheduleFile::Outside result;
    result.line = line;
    std::string_view part, at;
    if (file.insertions.size() >= kMostAdded || !reader.word(part) || !parsePart(part, result.phase) ||
        !reader.word(at))
      return false;
    result.atStart = at != "end";
    if (at == "rank" ? !reader.number(result.rank) : at != "start" && at != "end")
      return false;
    if (!added(reader, result.added))
      return false;
    file.insertions.push_back(std::move(result));
    return true;
  }

  bool order(LineReader &reader) {
    ScheduleFile::Ordered result;
    result.line = line;
    std::string_view part;
    if (file.orders.size() >= 2 * kMostOps || !reader.word(part) || !parsePart(part, result.phase) ||
        !reader.text(result.key) || !reader.number(result.rank))
      return false;
    file.orders.push_back(std::move(result));
    return true;
  }

  ScheduleFile &file;
  int version;
  int line = 0;
};

constexpr std::string_view kStatements = "`loop`, `algorithm`, `interval`, `timing`, `buffers` or `op`";
constexpr std::string_view kNewerStatements =
    "`loop`, `algorithm`, `interval`, `timing`, `unrolled`, `kernel_copies`, `eliminate_epilogue`, `direct_copies`, "
    "`strict`, `specialize`, `persistent`, `overlap_tiles`, `groups`, `stagger`, `buffers`, `op`, `added`, `insert`, "
    "`order` or `waive`";
} // namespace

std::vector<ScheduleFile> files::parseText(std::string_view text, Diagnostics &diagnostics, const std::string &name) {
  std::vector<ScheduleFile> result;
  int number = 0, version = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    LineReader reader(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (reader.atEnd())
      continue;
    if (reader.accept("soliton-schedule") || version == 0) {
      bool header = reader.number(version) && reader.atEnd() && result.size() < kMostLoops;
      if (!header || version < 1 || version > kNewest) {
        fail(diagnostics, name, number, "a schedule does not begin with `soliton-schedule 2` (or 1)");
        return result;
      }
      result.emplace_back().name = name;
      continue;
    }
    if (!TextReader(result.back(), version).statement(reader, number) || !reader.atEnd()) {
      fail(diagnostics, name, number,
           "the line is no " + std::string(version == 1 ? kStatements : kNewerStatements) + " of version " +
               std::to_string(version),
           "an op reads: op \"key\" stage 0 cycle 0 cluster 0 rank 0");
      return result;
    }
  }
  if (version == 0)
    fail(diagnostics, name, 1, "the file is empty");
  return result;
}

std::string printText(const ScheduleFile &file) {
  std::string text = "soliton-schedule " + std::to_string(kNewest) + "\nloop " + quoted(file.loop) + "\nalgorithm " +
                     quoted(file.algorithm) + "\ninterval " + std::to_string(file.interval) + "\ntiming " +
                     std::string(nameOf(file.timing)) + "\n";
  if (file.unrolled != 1)
    text += "unrolled " + std::to_string(file.unrolled) + "\n";
  if (file.kernelCopies != 1)
    text += "kernel_copies " + std::to_string(file.kernelCopies) + "\n";
  text += std::string(file.eliminateEpilogue ? "eliminate_epilogue\n" : "") +
          (file.copiesRunOn ? "copies_run_on\n" : "") + (file.releases ? "releases\n" : "") +
          (file.directCopies ? "direct_copies\n" : "") + (file.strict ? "strict\n" : "");
  if (file.specialized)
    text += describe(file.specialized) + "\n";
  if (file.persistent > 0)
    text += "persistent " + std::to_string(file.persistent) + "\n";
  text += file.overlapTiles ? "overlap_tiles\n" : "";
  if (file.groupStart.size() > 1)
    text += "groups " + describe(file.groupStart) + "\n";
  if (!file.stagger.empty())
    text += "stagger " + describe(file.stagger) + "\n";
  for (const auto &[region, count] : file.buffers)
    text += "buffers " + quoted(region) + " " + std::to_string(count) + "\n";
  for (const ScheduleFile::Line &line : file.lines)
    text += (line.added ? "added " : "op ") + quoted(line.key) + " " +
            (line.added ? describe(*line.added) + " " : std::string()) + describe(line.slot) + "\n";
  for (const ScheduleFile::Outside &insertion : file.insertions)
    text += describe(insertion) + "\n";
  for (const ScheduleFile::Ordered &order : file.orders)
    text +=
        "order " + std::string(nameOf(order.phase)) + " " + quoted(order.key) + " " + std::to_string(order.rank) + "\n";
  for (const Waiver &waiver : file.waivers)
    text += describe(waiver) + "\n";
  return text;
}

std::string printText(const std::vector<ScheduleFile> &files) {
  std::string text;
  for (const ScheduleFile &file : files)
    text += (text.empty() ? "" : "\n") + printText(file);
  return text;
}

} // namespace soliton::sched
