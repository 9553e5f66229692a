#include "soliton/schedule/ScheduleFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace soliton::sched {
namespace {
constexpr size_t kMostBytes = size_t{32} << 20;
constexpr size_t kMostOps = 200000;
constexpr size_t kMostKey = 4096;
constexpr int kMostDepth = 8;
constexpr int kMostValue = 1 << 24;

using Diagnostics = std::vector<Diagnostic>;

void fail(Diagnostics &diagnostics, const std::string &name, int line, std::string message, std::string hint = {}) {
  diagnostics.push_back(
      {Severity::error, DiagId::ScheduleFile, Place(name, line, 1), std::move(message), std::move(hint), {}});
}

std::string quoted(const std::string &text) {
  // Keys may hold anything; invalid UTF-8 is replaced so that the file stays readable.
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Words of one line of the text form: bare words, numbers and quoted strings.
class LineReader {
public:
  explicit LineReader(std::string_view line) : rest(line) {}

  bool atEnd() {
    skip();
    return rest.empty();
  }
  bool word(std::string_view &result) {
    skip();
    size_t end = std::min(rest.find_first_of(" \t#"), rest.size());
    result = rest.substr(0, end);
    rest.remove_prefix(end);
    return !result.empty();
  }
  bool word(std::string_view expected, bool) {
    std::string_view found;
    return word(found) && found == expected;
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

private:
  void skip() {
    size_t begin = std::min(rest.find_first_not_of(" \t\r"), rest.size());
    rest.remove_prefix(begin);
    if (!rest.empty() && rest[0] == '#')
      rest = {};
  }
  std::string_view rest;
};

/// One line of the text form; false if it is malformed.
bool parseLine(LineReader &reader, ScheduleFile &file, int number) {
  std::string_view head;
  if (!reader.word(head))
    return false;
  if (head == "loop")
    return reader.text(file.loop);
  if (head == "algorithm")
    return reader.text(file.algorithm);
  if (head == "interval")
    return reader.number(file.interval) && file.interval > 0;
  if (head == "timing") {
    std::string_view value;
    bool known = reader.word(value) && (value == "order" || value == "cycles");
    file.timing = value == "cycles" ? Timing::Cycles : Timing::Order;
    return known;
  }
  if (head == "buffers") {
    std::string region;
    int count = 0;
    return reader.text(region) && reader.number(count) && count > 0 && file.buffers.emplace(region, count).second;
  }
  if (head != "op" || file.lines.size() >= kMostOps)
    return false;
  ScheduleFile::Line line;
  line.line = number;
  if (!reader.text(line.key) || !reader.word("stage", true) || !reader.number(line.slot.stage) ||
      !reader.word("cycle", true) || !reader.number(line.slot.cycle))
    return false;
  while (!reader.atEnd()) {
    std::string_view field;
    reader.word(field);
    int *target = field == "cluster" ? &line.slot.cluster : field == "rank" ? &line.slot.rank : nullptr;
    if (!target || !reader.number(*target))
      return false;
  }
  file.lines.push_back(std::move(line));
  return true;
}

ScheduleFile parseText(std::string_view text, Diagnostics &diagnostics, ScheduleFile file) {
  int number = 0;
  bool header = false;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    LineReader reader(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (reader.atEnd())
      continue;
    if (!header) {
      int version = 0;
      header = reader.word("soliton-schedule", true) && reader.number(version) && version == 1 && reader.atEnd();
      if (!header) {
        fail(diagnostics, file.name, number, "the file does not begin with `soliton-schedule 1`");
        return file;
      }
      continue;
    }
    if (!parseLine(reader, file, number) || !reader.atEnd()) {
      fail(diagnostics, file.name, number,
           "the line is no `loop`, `algorithm`, `interval`, `timing`, `buffers` or `op`",
           "an op reads: op \"key\" stage 0 cycle 0 cluster 0 rank 0");
      return file;
    }
  }
  if (!header)
    fail(diagnostics, file.name, 1, "the file is empty");
  return file;
}

/// The parser builds what it reads, so the nesting is limited before it starts.
bool tooDeep(std::string_view text) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
      continue;
    }
    inString = c == '"';
    depth += c == '{' || c == '[';
    depth -= c == '}' || c == ']';
    if (depth > kMostDepth)
      return true;
  }
  return false;
}

bool readInt(const nlohmann::json &object, const char *key, int &value, bool required) {
  auto it = object.find(key);
  if (it == object.end())
    return !required;
  if (!it->is_number_integer())
    return false;
  int64_t wide = it->is_number_unsigned() && it->get<uint64_t>() > uint64_t{kMostValue} ? -1 : it->get<int64_t>();
  value = static_cast<int>(wide);
  return wide >= 0 && wide <= kMostValue;
}

bool readText(const nlohmann::json &object, const char *key, std::string &value) {
  auto it = object.find(key);
  if (it == object.end())
    return true;
  if (!it->is_string() || it->get_ref<const std::string &>().size() > kMostKey)
    return false;
  value = it->get<std::string>();
  return true;
}

bool readOps(const nlohmann::json &root, ScheduleFile &file) {
  auto ops = root.find("ops");
  if (ops == root.end() || !ops->is_array() || ops->size() > kMostOps)
    return false;
  for (const nlohmann::json &op : *ops) {
    ScheduleFile::Line line;
    if (!op.is_object() || !op.contains("key") || !readText(op, "key", line.key) ||
        !readInt(op, "stage", line.slot.stage, true) || !readInt(op, "cycle", line.slot.cycle, true) ||
        !readInt(op, "cluster", line.slot.cluster, false) || !readInt(op, "rank", line.slot.rank, false))
      return false;
    file.lines.push_back(std::move(line));
  }
  return true;
}

bool readHead(const nlohmann::json &root, ScheduleFile &file) {
  std::string timing = "order";
  if (!readText(root, "loop", file.loop) || !readText(root, "algorithm", file.algorithm) ||
      !readInt(root, "interval", file.interval, true) || file.interval < 1 || !readText(root, "timing", timing) ||
      (timing != "order" && timing != "cycles"))
    return false;
  file.timing = timing == "cycles" ? Timing::Cycles : Timing::Order;
  auto buffers = root.find("buffers");
  if (buffers == root.end())
    return true;
  if (!buffers->is_object() || buffers->size() > kMostOps)
    return false;
  for (auto it = buffers->begin(); it != buffers->end(); ++it)
    if (!readInt(*buffers, it.key().c_str(), file.buffers[it.key()], true) || file.buffers[it.key()] < 1)
      return false;
  return true;
}

ScheduleFile parseJson(std::string_view text, Diagnostics &diagnostics, ScheduleFile file) {
  if (tooDeep(text)) {
    fail(diagnostics, file.name, 1, "the JSON is nested more than " + std::to_string(kMostDepth) + " deep");
    return file;
  }
  nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  int version = 0;
  std::string format;
  if (!root.is_object() || !readText(root, "format", format) || format != "soliton-schedule" ||
      !readInt(root, "version", version, true) || version != 1) {
    fail(diagnostics, file.name, 1, "the JSON is no object of format `soliton-schedule`, version 1");
    return file;
  }
  if (!readHead(root, file) || !readOps(root, file))
    fail(diagnostics, file.name, 1, "a field is missing, has the wrong type or is out of range",
         "an op reads: {\"key\": \"mma\", \"stage\": 0, \"cycle\": 0, \"cluster\": 0, \"rank\": 0}");
  return file;
}

std::string slotText(const Slot &slot) {
  return "stage " + std::to_string(slot.stage) + " cycle " + std::to_string(slot.cycle) + " cluster " +
         std::to_string(slot.cluster) + (slot.rank == 0 ? "" : " rank " + std::to_string(slot.rank));
}
} // namespace

ScheduleFile toFile(const Problem &problem, const Schedule &schedule) {
  ScheduleFile file;
  file.loop = problem.loop;
  file.algorithm = schedule.algorithm;
  file.interval = schedule.interval;
  file.timing = schedule.timing;
  for (size_t region = 0; region < schedule.buffers.size() && region < problem.regions.size(); ++region)
    if (problem.regions[region].space == Space::Shared && problem.regions[region].rotating &&
        schedule.buffers[region] > 0)
      file.buffers[problem.regions[region].name] = schedule.buffers[region];
  for (int op : emissionOrder(schedule))
    file.lines.push_back({problem.operations[op].key, schedule.slots[op], 0});
  return file;
}

std::string printText(const ScheduleFile &file) {
  std::string text = "soliton-schedule 1\nloop " + quoted(file.loop) + "\nalgorithm " + quoted(file.algorithm) +
                     "\ninterval " + std::to_string(file.interval) + "\ntiming " + std::string(nameOf(file.timing)) +
                     "\n";
  for (const auto &[region, count] : file.buffers)
    text += "buffers " + quoted(region) + " " + std::to_string(count) + "\n";
  for (const ScheduleFile::Line &line : file.lines)
    text += "op " + quoted(line.key) + " " + slotText(line.slot) + "\n";
  return text;
}

std::string printJson(const ScheduleFile &file) {
  std::string text = "{\n  \"format\": \"soliton-schedule\",\n  \"version\": 1,\n  \"loop\": " + quoted(file.loop) +
                     ",\n  \"algorithm\": " + quoted(file.algorithm) +
                     ",\n  \"interval\": " + std::to_string(file.interval) + ",\n  \"timing\": \"" +
                     std::string(nameOf(file.timing)) + "\",\n  \"buffers\": {";
  bool first = true;
  for (const auto &[region, count] : file.buffers) {
    text += (first ? "" : ", ") + quoted(region) + ": " + std::to_string(count);
    first = false;
  }
  text += "},\n  \"ops\": [";
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const Slot &slot = file.lines[i].slot;
    text += (i == 0 ? "\n" : ",\n") + std::string("    {\"key\": ") + quoted(file.lines[i].key) +
            ", \"stage\": " + std::to_string(slot.stage) + ", \"cycle\": " + std::to_string(slot.cycle) +
            ", \"cluster\": " + std::to_string(slot.cluster) + ", \"rank\": " + std::to_string(slot.rank) + "}";
  }
  return text + "\n  ]\n}\n";
}

ScheduleFile parseScheduleFile(std::string_view text, Diagnostics &diagnostics, const std::string &name) {
  ScheduleFile file;
  file.name = name;
  if (text.size() > kMostBytes) {
    fail(diagnostics, name, 1,
         "the file has " + std::to_string(text.size()) + " bytes, expected at most " + std::to_string(kMostBytes));
    return file;
  }
  size_t begin = text.find_first_not_of(" \t\r\n");
  bool json = begin != std::string_view::npos && text[begin] == '{';
  return json ? parseJson(text, diagnostics, std::move(file)) : parseText(text, diagnostics, std::move(file));
}

Schedule bindSchedule(const Problem &problem, const ScheduleFile &file, Diagnostics &diagnostics) {
  Schedule schedule = emptySchedule(problem, file.algorithm, file.interval, file.timing);
  std::unordered_map<std::string_view, int> byKey;
  std::vector<std::string> keys;
  for (int op = 0; op < problem.numOps(); ++op) {
    byKey.emplace(problem.operations[op].key, op);
    keys.push_back(problem.operations[op].key);
  }
  auto unknown = [&](const Place &place, std::string message, std::string hint) {
    diagnostics.push_back({Severity::error, DiagId::ScheduleUnknownOp, place, std::move(message), std::move(hint), {}});
  };
  for (const ScheduleFile::Line &line : file.lines) {
    Place place(file.name, line.line, 1);
    auto it = byKey.find(line.key);
    if (it == byKey.end()) {
      std::optional<std::string> meant = nearest(line.key, keys);
      unknown(place, "the loop `" + problem.loop + "` has no op `" + line.key + "`",
              meant ? "did you mean `" + *meant + "`?" : "");
    } else if (schedule.slots[it->second].scheduled()) {
      unknown(place, "`" + line.key + "` is scheduled twice", "keep one of the lines");
    } else {
      schedule.slots[it->second] = line.slot;
    }
  }
  schedule.buffers.assign(file.buffers.empty() ? 0 : problem.regions.size(), 0);
  for (const auto &[name, count] : file.buffers) {
    auto region = std::find_if(problem.regions.begin(), problem.regions.end(),
                               [&, wanted = name](const Region &r) { return r.name == wanted; });
    if (region == problem.regions.end())
      unknown(Place(file.name, 1, 1), "the loop `" + problem.loop + "` has no region `" + name + "`", "");
    else
      schedule.buffers[region - problem.regions.begin()] = count;
  }
  for (int op = 0; op < problem.numOps(); ++op)
    if (!schedule.slots[op].scheduled() && problem.operations[op].kind != OpKind::Free)
      diagnostics.push_back(
          {Severity::error,
           DiagId::ScheduleMissingOp,
           problem.operations[op].place,
           "`" + problem.operations[op].key + "` is in the loop `" + problem.loop + "` but not in `" + file.name + "`",
           "add a line for it; nothing is left out silently",
           {}});
  return schedule;
}

std::vector<std::string> diff(const ScheduleFile &before, const ScheduleFile &after) {
  std::vector<std::string> changes;
  if (before.interval != after.interval)
    changes.push_back("~ interval " + std::to_string(before.interval) + " -> " + std::to_string(after.interval));
  std::map<std::string, int> buffers = before.buffers;
  buffers.insert(after.buffers.begin(), after.buffers.end());
  auto count = [](const ScheduleFile &file, const std::string &region) {
    auto it = file.buffers.find(region);
    return it == file.buffers.end() ? 0 : it->second;
  };
  for (const auto &[region, unused] : buffers)
    if (count(before, region) != count(after, region))
      changes.push_back("~ buffers " + region + " " + std::to_string(count(before, region)) + " -> " +
                        std::to_string(count(after, region)));
  std::map<std::string, Slot> old;
  for (const ScheduleFile::Line &line : before.lines)
    old[line.key] = line.slot;
  for (const ScheduleFile::Line &line : after.lines) {
    auto it = old.find(line.key);
    if (it == old.end())
      changes.push_back("+ " + line.key + ": " + slotText(line.slot));
    else if (!(it->second == line.slot))
      changes.push_back("~ " + line.key + ": " + slotText(it->second) + " -> " + slotText(line.slot));
    if (it != old.end())
      old.erase(it);
  }
  for (const auto &[key, slot] : old)
    changes.push_back("- " + key + ": " + slotText(slot));
  return changes;
}

} // namespace soliton::sched
