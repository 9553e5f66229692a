//===- ScheduleFileJson.cpp - The JSON form of schedule files --------------===//
//
// One object; what is wrong is named by its path: `ops[3].stage`.
//
//===----------------------------------------------------------------------===//
#include "soliton/authoring/ScheduleFileParts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>

namespace soliton::sched {
namespace {
using namespace files;
using Json = nlohmann::json;

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

/// Reads fields of objects; after the first that does not fit, `wrong` is its path.
class JsonReader {
public:
  JsonReader(ScheduleFile &file, int version) : file(file), version(version) {}
  std::string wrong;

  void read(const Json &root) {
    only(root, {"format",        "version",       "loop",
                "algorithm",     "interval",      "timing",
                "unrolled",      "kernel_copies", "eliminate_epilogue",
                "copies_run_on", "releases",      "direct_copies",
                "strict",        "groups",        "stagger",
                "buffers",       "ops",           "insertions",
                "orders",        "waivers",       "specialize",
                "persistent",    "overlap_tiles"});
    head(root);
    if (version >= 2)
      newer(root);
    list(root, "ops", kMostOps, true, [&](const Json &entry) { op(entry); });
  }

private:
  bool bad(const std::string &field) {
    if (wrong.empty())
      wrong = path + field;
    return false;
  }

  /// From version 2 on a field that nobody knows is a mistake: nothing is skipped silently.
  void only(const Json &object, std::initializer_list<std::string_view> known) {
    for (auto it = object.begin(); it != object.end() && version >= 2; ++it)
      if (std::find(known.begin(), known.end(), it.key()) == known.end())
        bad(it.key());
  }

  bool number(const Json &value, int &result) {
    if (!value.is_number_integer())
      return false;
    bool large = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{kMostValue};
    int64_t wide = large ? -1 : value.get<int64_t>();
    if (wide < 0 || wide > kMostValue)
      return false;
    result = static_cast<int>(wide);
    return true;
  }
  bool number(const Json &object, const char *field, int &value, bool required = false) {
    auto it = object.find(field);
    if (it == object.end() ? !required : number(*it, value))
      return true;
    return bad(field);
  }
  bool text(const Json &object, const char *field, std::string &value, bool required = false) {
    auto it = object.find(field);
    if (it == object.end())
      return !required || bad(field);
    if (!it->is_string() || it->get_ref<const std::string &>().size() > kMostKey)
      return bad(field);
    value = it->get<std::string>();
    return true;
  }
  bool flag(const Json &object, const char *field, bool &value) {
    auto it = object.find(field);
    if (it == object.end())
      return true;
    if (!it->is_boolean())
      return bad(field);
    value = it->get<bool>();
    return true;
  }
  template <typename Number>
  bool numbers(const Json &object, const char *field, std::vector<Number> &result, size_t most) {
    auto it = object.find(field);
    if (it == object.end())
      return true;
    if (!it->is_array() || it->size() > most)
      return bad(field);
    result.clear();
    for (const Json &element : *it) {
      int value = 0;
      if (!number(element, value))
        return bad(field);
      result.push_back(value);
    }
    return true;
  }
  template <typename Read>
  void list(const Json &root, const char *field, size_t most, bool required, Read read) {
    auto it = root.find(field);
    if (it == root.end() && !required)
      return;
    if (it == root.end() || !it->is_array() || it->size() > most) {
      bad(field);
      return;
    }
    for (size_t i = 0; i < it->size() && wrong.empty(); ++i) {
      path = std::string(field) + "[" + std::to_string(i) + "]";
      if (!(*it)[i].is_object()) {
        bad("");
        return;
      }
      path += ".";
      read((*it)[i]);
    }
    path.clear();
  }

  void head(const Json &root) {
    std::string timing = "order";
    text(root, "loop", file.loop);
    text(root, "algorithm", file.algorithm);
    number(root, "interval", file.interval, true);
    if (text(root, "timing", timing) && timing != "order" && timing != "cycles")
      bad("timing");
    file.timing = timing == "cycles" ? Timing::Cycles : Timing::Order;
    auto buffers = root.find("buffers");
    if (buffers == root.end())
      return;
    if (!buffers->is_object() || buffers->size() > kMostOps) {
      bad("buffers");
      return;
    }
    for (auto it = buffers->begin(); it != buffers->end(); ++it)
      if (!number(it.value(), file.buffers[it.key()]))
        bad("buffers." + it.key());
  }

  /// What version 1 does not have.
  void newer(const Json &root) {
    number(root, "unrolled", file.unrolled);
    number(root, "kernel_copies", file.kernelCopies);
    flag(root, "eliminate_epilogue", file.eliminateEpilogue);
    flag(root, "copies_run_on", file.copiesRunOn);
    flag(root, "releases", file.releases);
    flag(root, "direct_copies", file.directCopies);
    flag(root, "strict", file.strict);
    number(root, "persistent", file.persistent);
    flag(root, "overlap_tiles", file.overlapTiles);
    specialized(root);
    numbers(root, "groups", file.groupStart, kMaxGroups);
    numbers(root, "stagger", file.stagger, kMaxGroups);
    list(root, "insertions", kMostAdded, false, [&](const Json &entry) { insertion(entry); });
    list(root, "orders", 2 * kMostOps, false, [&](const Json &entry) {
      ScheduleFile::Ordered &order = file.orders.emplace_back();
      only(entry, {"part", "key", "rank"});
      part(entry, order.phase) && text(entry, "key", order.key, true) && number(entry, "rank", order.rank, true);
    });
    list(root, "waivers", kMostOps, false, [&](const Json &entry) {
      Waiver &waiver = file.waivers.emplace_back();
      only(entry, {"from", "to", "region", "reason"});
      text(entry, "from", waiver.from) && text(entry, "to", waiver.to) && text(entry, "region", waiver.region) &&
          text(entry, "reason", waiver.reason);
    });
  }

  void specialized(const Json &root) {
    auto it = root.find("specialize");
    if (it == root.end())
      return;
    if (!it->is_object()) {
      bad("specialize");
      return;
    }
    path = "specialize.";
    ScheduleFile::Specialized &role = file.specialized.emplace();
    only(*it, {"waves", "registers", "ops"});
    number(*it, "waves", role.waves, true);
    number(*it, "registers", role.registers);
    auto keys = it->find("ops");
    if (keys == it->end() || !keys->is_array() || keys->size() > kMostOps) {
      bad("ops");
    } else {
      for (const Json &key : *keys)
        if (!key.is_string() || key.get_ref<const std::string &>().size() > kMostKey)
          bad("ops");
        else
          role.keys.push_back(key.get<std::string>());
    }
    path.clear();
  }

  bool part(const Json &entry, Phase &phase) {
    std::string word;
    return text(entry, "part", word, true) && (parsePart(word, phase) || bad("part"));
  }

  void added(const Json &entry, ScheduleFile::Added &added) {
    std::string word;
    if (!text(entry, "added", word, true))
      return;
    if (!parseWord(word, added)) {
      bad("added");
      return;
    }
    size_t arguments = added.arguments.size();
    text(entry, "counter", added.counter, hasCounter(added));
    number(entry, "value", added.value, added.kind == OpKind::Wait);
    numbers(entry, "arguments", added.arguments, 8);
    if (added.arguments.size() != arguments || (arguments > 0 && !entry.contains("arguments")))
      bad("arguments");
    if (!hasCounter(added) && !added.counter.empty())
      bad("counter");
    if (added.kind != OpKind::Wait && added.value != 0)
      bad("value");
    int group = 0;
    if (!entry.contains("group"))
      return;
    if (!number(entry, "group", group) || group >= kMaxGroups)
      bad("group");
    else
      added.groups = GroupMask{1} << group;
  }

  void op(const Json &entry) {
    ScheduleFile::Line line;
    only(entry, {"key", "stage", "cycle", "cluster", "rank", "added", "counter", "value", "arguments", "group"});
    text(entry, "key", line.key, true);
    number(entry, "stage", line.slot.stage, true);
    number(entry, "cycle", line.slot.cycle, true);
    number(entry, "cluster", line.slot.cluster);
    number(entry, "rank", line.slot.rank);
    if (version >= 2 && entry.contains("added"))
      added(entry, line.added.emplace());
    file.lines.push_back(std::move(line));
  }

  void insertion(const Json &entry) {
    ScheduleFile::Outside &result = file.insertions.emplace_back();
    only(entry, {"part", "at", "added", "counter", "value", "arguments", "group"});
    auto at = entry.find("at");
    part(entry, result.phase);
    if (at != entry.end() && at->is_number())
      number(entry, "at", result.rank);
    else if (at == entry.end() || (*at != "start" && *at != "end"))
      bad("at");
    else
      result.atStart = *at == "start";
    added(entry, result.added);
  }

  ScheduleFile &file;
  int version;
  std::string path;
};

std::string addedFields(const ScheduleFile::Added &added) {
  std::string text = "\"added\": \"" + std::string(wordOf(added)) + "\"";
  if (hasCounter(added))
    text += ", \"counter\": " + quoted(added.counter);
  if (added.kind == OpKind::Wait)
    text += ", \"value\": " + std::to_string(added.value);
  if (!added.arguments.empty())
    text += ", \"arguments\": " + Json(added.arguments).dump();
  if (added.groups != kAllGroups)
    text += ", \"group\": " + std::to_string(std::countr_zero(added.groups));
  return text;
}

std::string slotFields(const Slot &slot) {
  return "\"stage\": " + std::to_string(slot.stage) + ", \"cycle\": " + std::to_string(slot.cycle) +
         ", \"cluster\": " + std::to_string(slot.cluster) + ", \"rank\": " + std::to_string(slot.rank);
}

/// `, "name": [` and one object a line, or nothing for an empty list.
template <typename List, typename Print>
std::string listField(const char *name, const List &list, Print print, bool always = false) {
  if (list.empty() && !always)
    return {};
  std::string text = ",\n  \"" + std::string(name) + "\": [";
  for (size_t i = 0; i < list.size(); ++i)
    text += (i == 0 ? "\n    {" : ",\n    {") + print(list[i]) + "}";
  return text + "\n  ]";
}

std::string rolesFields(const ScheduleFile &file) {
  std::string text;
  if (file.specialized) {
    text += ",\n  \"specialize\": {\"waves\": " + std::to_string(file.specialized->waves) +
            ", \"registers\": " + std::to_string(file.specialized->registers) + ", \"ops\": [";
    for (const std::string &key : file.specialized->keys)
      text += (&key == file.specialized->keys.data() ? "" : ", ") + quoted(key);
    text += "]}";
  }
  if (file.persistent > 0)
    text += ",\n  \"persistent\": " + std::to_string(file.persistent);
  return text + (file.overlapTiles ? ",\n  \"overlap_tiles\": true" : "");
}

std::string headFields(const ScheduleFile &file) {
  std::string text = "  \"format\": \"soliton-schedule\",\n  \"version\": " + std::to_string(kNewest) +
                     ",\n  \"loop\": " + quoted(file.loop) + ",\n  \"algorithm\": " + quoted(file.algorithm) +
                     ",\n  \"interval\": " + std::to_string(file.interval) + ",\n  \"timing\": \"" +
                     std::string(nameOf(file.timing)) + "\",\n  \"unrolled\": " + std::to_string(file.unrolled) +
                     ",\n  \"kernel_copies\": " + std::to_string(file.kernelCopies) +
                     ",\n  \"eliminate_epilogue\": " + (file.eliminateEpilogue ? "true" : "false") +
                     ",\n  \"copies_run_on\": " + (file.copiesRunOn ? "true" : "false") +
                     ",\n  \"releases\": " + (file.releases ? "true" : "false") +
                     ",\n  \"direct_copies\": " + (file.directCopies ? "true" : "false") +
                     ",\n  \"strict\": " + (file.strict ? "true" : "false") + rolesFields(file) +
                     ",\n  \"groups\": " + Json(file.groupStart).dump() +
                     ",\n  \"stagger\": " + Json(file.stagger).dump() + ",\n  \"buffers\": {";
  bool first = true;
  for (const auto &[region, count] : file.buffers) {
    text += (first ? "" : ", ") + quoted(region) + ": " + std::to_string(count);
    first = false;
  }
  return text + "}";
}
} // namespace

static void readOne(const Json &root, ScheduleFile &file, Diagnostics &diagnostics) {
  int version = 0;
  if (root.is_object() && root.contains("format") && root["format"] == "soliton-schedule" && root.contains("version"))
    version = root["version"] == 1 ? 1 : root["version"] == 2 ? 2 : 0;
  if (version == 0)
    return fail(diagnostics, file.name, 1, "the JSON is no object of format `soliton-schedule`, version 2 (or 1)");
  JsonReader reader(file, version);
  reader.read(root);
  if (!reader.wrong.empty())
    fail(diagnostics, file.name, 1, "`" + reader.wrong + "` is missing, unknown, of the wrong type or out of range",
         "an op reads: {\"key\": \"mma\", \"stage\": 0, \"cycle\": 0, \"cluster\": 0, \"rank\": 0}");
}

std::vector<ScheduleFile> files::parseJson(std::string_view text, Diagnostics &diagnostics, const std::string &name) {
  std::vector<ScheduleFile> result;
  if (tooDeep(text)) {
    fail(diagnostics, name, 1, "the JSON is nested more than " + std::to_string(kMostDepth) + " deep");
    return result;
  }
  Json root = Json::parse(text, nullptr, false);
  if (root.is_array() && (root.empty() || root.size() > kMostLoops)) {
    fail(diagnostics, name, 1, "the JSON is a list of " + std::to_string(root.size()) + " schedules");
    return result;
  }
  size_t before = diagnostics.size();
  for (size_t i = 0; i < (root.is_array() ? root.size() : 1) && diagnostics.size() == before; ++i) {
    result.emplace_back().name = name;
    readOne(root.is_array() ? root[i] : root, result.back(), diagnostics);
  }
  return result;
}

std::string printJson(const ScheduleFile &file) {
  std::string text = "{\n" + headFields(file);
  text += listField(
      "ops", file.lines,
      [](const ScheduleFile::Line &line) {
        return "\"key\": " + quoted(line.key) + ", " + (line.added ? addedFields(*line.added) + ", " : std::string()) +
               slotFields(line.slot);
      },
      true);
  text += listField("insertions", file.insertions, [](const ScheduleFile::Outside &insertion) {
    std::string at = insertion.rank >= 0 ? std::to_string(insertion.rank) : insertion.atStart ? "\"start\"" : "\"end\"";
    return "\"part\": \"" + std::string(nameOf(insertion.phase)) + "\", \"at\": " + at + ", " +
           addedFields(insertion.added);
  });
  text += listField("orders", file.orders, [](const ScheduleFile::Ordered &order) {
    return "\"part\": \"" + std::string(nameOf(order.phase)) + "\", \"key\": " + quoted(order.key) +
           ", \"rank\": " + std::to_string(order.rank);
  });
  text += listField("waivers", file.waivers, [](const Waiver &waiver) {
    return "\"from\": " + quoted(waiver.from) + ", \"to\": " + quoted(waiver.to) +
           ", \"region\": " + quoted(waiver.region) + ", \"reason\": " + quoted(waiver.reason);
  });
  return text + "\n}\n";
}

std::string printJson(const std::vector<ScheduleFile> &files) {
  if (files.size() == 1)
    return printJson(files.front());
  std::string text;
  for (const ScheduleFile &file : files)
    text += (text.empty() ? "[\n" : ",\n") + printJson(file);
  return text + "]\n";
}

} // namespace soliton::sched
