//===- TuneChoices.cpp - What a choice of a declared space may be -----------------------------------===//
//
// A name that nobody knows, and a value that an option does not take, would cost every candidate that has it, and some
// would pass for another: `raster=abc` for `raster=0`. So both are said before anything is tried, and so is a value
// that the command says beside a space that does not hold it:
//
//   --space BLOK_M=64,128                      unknown name, did you mean `BLOCK_M`?
//   --space BLOCK_M=64,128 --set BLOCK_M=32    which of them?
//
//===----------------------------------------------------------------------===//

#include "soliton/driver/Tuned.h"
#include "tools/soliton/Tune.h"

#include <algorithm>
#include <charconv>

namespace soliton::cli {

namespace {

struct Legal {
  std::string expected;
  std::function<bool(const std::string &)> takes;
  /// Empty where they are too many to list.
  std::vector<std::string> all;
};

Legal words(const std::vector<std::string> &all) {
  return {listOf(all), [all](const std::string &value) { return std::ranges::find(all, value) != all.end(); }, all};
}

Legal numbers(int64_t least, int64_t most) {
  auto takes = [=](const std::string &text) {
    int64_t value = 0;
    const char *end = text.data() + text.size();
    return std::from_chars(text.data(), end, value) == std::from_chars_result{end, std::errc()} && value >= least &&
           value <= most;
  };
  return {"numbers from " + std::to_string(least) + " to " + std::to_string(most), takes, {}};
}

/// Of the target, or of any where the text of a module says which it is for.
std::vector<std::string> instructionsOf(const Resolved &resolved) {
  std::vector<std::string> names = {"default"};
  for (const std::string &target : targetNames())
    if (resolved.options.target.empty() || target == resolved.options.target)
      for (const MmaKind &kind : findTarget(target)->mmas)
        if (std::ranges::find(names, kind.name) == names.end())
          names.push_back(kind.name);
  return names;
}

bool isPerCluster(const std::string &value) {
  constexpr int64_t kMost = 16;
  std::optional<std::vector<int64_t>> along = perClusterFrom(value);
  return along && std::ranges::all_of(*along, [](int64_t each) { return each >= 1 && each <= kMost; });
}

/// What the command's options of these names take; instructions are those of the target.
std::map<std::string, Legal> legalOptions(const std::vector<std::string> &instructions) {
  constexpr int64_t kMostTiles = 65535, kMostTogether = 16, kMostServing = 4;
  const Legal isOn = words({"off", "on"});
  return {{"direct_copies", isOn},
          {"staged_writes", isOn},
          {"swizzle", isOn},
          {"overlap_tiles", isOn},
          {"turns", isOn},
          {"padded_rows", words({"auto", "on", "off"})},
          {"mma", words(instructions)},
          {"raster", numbers(-kMostTiles, kMostTiles)},
          {"persistent", numbers(0, kMostTiles)},
          {"cluster", numbers(1, kMostTogether)},
          {"service_waves", numbers(0, kMostServing)},
          {"workgroups_per_cluster", {"`2` or `1x2`, of 1 to 16", isPerCluster, {}}}};
}

tune::TuneError noValue(const std::string &name, const std::string &value, const Legal &legal) {
  std::optional<std::string> guess = nearest(value, legal.all);
  return {DiagId::TuneSpace, "found `" + value + "` as a value of `" + name + "`, expected " + legal.expected,
          guess ? "did you mean `" + *guess + "`?" : "leave it out of `--space " + name + "=…`"};
}

/// Numbers of a kernel's symbols, from the least that it takes.
std::map<std::string, Legal> legalSymbols(const Resolved &resolved) {
  std::map<std::string, Legal> legal;
  if (resolved.entry)
    for (const kernels::DefaultSize &tile :
         resolved.entry->tilesFor(*resolved.variant, *findTarget(resolved.options.target)))
      legal[tile.name] = numbers(std::max<int64_t>(tile.least, 1), INT32_MAX);
  return legal;
}

tune::TuneError unknownChoice(const std::string &name, const KernelChoice &choice, const Resolved &resolved,
                              const std::vector<std::string> &known) {
  if (resolved.sizes.contains(name))
    return {DiagId::TuneSpace,
            "found `" + name + "` as a choice, expected what leaves the answer as it is: it is a size of `" +
                choice.kernel + "`",
            "say `--size " + name + "=…`, and tune each size for itself"};
  std::optional<std::string> guess = nearest(name, known);
  return {DiagId::TuneSpace,
          "found `" + name + "` as a choice of `" + choice.kernel + "`, expected one of " + listOf(known),
          guess            ? "did you mean `" + *guess + "`?"
          : resolved.entry ? "`soliton kernels` lists the symbols of each kernel"
                           : "the text of a module binds its own symbols"};
}

/// An own schedule, an algorithm, one that ships, or a file.
void checkSchedule(const std::string &value, const Resolved &resolved) {
  try {
    resolveSchedule(value, resolved.own ? resolved.own->kernel.schedules : std::vector<WaveSchedule>());
  } catch (const UsageError &error) {
    throw tune::TuneError(DiagId::TuneSpace, "found `" + value + "` as a value of `schedule`: " + error.what(),
                          "say `--space schedule=prefetch,modulo`");
  }
}

} // namespace

tune::Assignment saidOf(const KernelChoice &choice) {
  const KernelChoice usual;
  // What `soliton tune` starts from where nobody says a schedule.
  constexpr const char *kUsualSchedule = "modulo";
  tune::Assignment said;
  auto add = [&](const std::string &name, const std::string &value, bool isSaid) {
    if (isSaid)
      said[name] = value;
  };
  add("schedule", choice.schedule, choice.schedule != kUsualSchedule && choice.schedule != usual.schedule);
  add("direct_copies", choice.directCopies, !choice.directCopies.empty());
  add("staged_writes", choice.stagedWrites, !choice.stagedWrites.empty());
  add("overlap_tiles", choice.overlapTiles, !choice.overlapTiles.empty());
  add("turns", choice.turns, !choice.turns.empty());
  add("swizzle", choice.swizzle, choice.swizzle != usual.swizzle);
  add("padded_rows", choice.paddedRows, choice.paddedRows != usual.paddedRows);
  add("mma", choice.mma, !choice.mma.empty());
  add("raster", std::to_string(choice.raster), choice.raster != 0);
  add("cluster", std::to_string(choice.cluster), choice.cluster > 1);
  add("persistent", std::to_string(choice.persistent), choice.persistent > 0);
  add("service_waves", std::to_string(choice.serviceWaves.value_or(0)), choice.serviceWaves.has_value());
  add("workgroups_per_cluster", textOfPerCluster(choice.workgroupsPerCluster), !choice.workgroupsPerCluster.empty());
  for (const std::string &setting : choice.settings) {
    auto [name, value] = assignment(setting);
    said[name] = std::to_string(value);
  }
  return said;
}

std::string wordsOf(const tune::Candidate &candidate) {
  const std::map<std::string, Legal> known = legalOptions({});
  std::string symbols, options;
  for (const auto &[name, value] : candidate.choices) {
    // As it is where nothing is said; of a number that says nothing the command takes none.
    bool isUsual = (name == "mma" && value == "default") || (name == "cluster" && value == "1") ||
                   (name == "persistent" && value == "0") || (name == "raster" && value == "0") ||
                   (name == "swizzle" && value == "on") || (name == "workgroups_per_cluster" && value == "1");
    if (isUsual || name == "schedule")
      continue;
    std::string option = name;
    std::ranges::replace(option, '_', '-');
    if (!known.contains(name))
      symbols += (symbols.empty() ? "" : ",") + name + "=" + value;
    else
      options += " --" + option + " " + value;
  }
  return symbols.empty() ? options.substr(std::min<size_t>(options.size(), 1)) : "--set " + symbols + options;
}

void checkChoice(const tune::Choice &made, const KernelChoice &choice, const Resolved &resolved) {
  std::map<std::string, Legal> legal = legalSymbols(resolved);
  legal.merge(legalOptions(instructionsOf(resolved)));
  std::vector<std::string> known = {"schedule"};
  for (const auto &[name, values] : legal)
    known.push_back(name);
  for (const std::string &value : made.values)
    if (made.name == "schedule")
      checkSchedule(value, resolved);
    else if (auto found = legal.find(made.name); found == legal.end())
      throw unknownChoice(made.name, choice, resolved, known);
    else if (!found->second.takes(value))
      throw noValue(made.name, value, found->second);
  tune::Assignment said = saidOf(choice);
  auto beside = said.find(made.name);
  if (beside != said.end() && std::ranges::find(made.values, beside->second) == made.values.end())
    throw tune::TuneError(DiagId::TuneSpace,
                          "`" + made.name + " = " + beside->second + "` was said beside a space of " +
                              listOf(made.values) + ", expected one of them",
                          "add it to `--space " + made.name + "=…`, where the search then starts, or leave it out");
}

} // namespace soliton::cli
