//===- Resolve.cpp - From words on the command line to a kernel and its symbols --------------===//

#include "tools/soliton/Commands.h"

#include "kernels/Schedules.h"
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/driver/Plugin.h"
#include "soliton/frontend/Program.h"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace soliton::cli {

std::string withChoices(const std::string &sentence, const std::string &found,
                        const std::vector<std::string> &choices) {
  std::optional<std::string> guess = nearest(found, choices);
  return sentence + (guess ? "; did you mean `" + *guess + "`?" : ".") + " The choices are " + listOf(choices) + ".";
}

std::string unknown(const std::string &what, const std::string &found, const std::vector<std::string> &choices) {
  return withChoices("unknown " + what + " `" + found + "`", found, choices);
}

std::pair<std::string, int64_t> assignment(const std::string &text) {
  size_t equals = text.find('=');
  int64_t value = 0;
  const char *begin = equals == std::string::npos ? nullptr : text.data() + equals + 1,
             *end = text.data() + text.size();
  if (!begin || equals == 0 || std::from_chars(begin, end, value) != std::from_chars_result{end, std::errc()})
    throw UsageError("found `" + text + "`, expected `NAME=NUMBER`, as in `M=256`");
  return {text.substr(0, equals), value};
}

namespace {

std::vector<std::string> namesOf(const std::vector<kernels::DefaultSize> &list) {
  std::vector<std::string> names;
  for (const kernels::DefaultSize &size : list)
    names.push_back(size.name);
  return names;
}

/// The defaults with what the user said in their place.
std::map<std::string, int64_t> overridden(const std::vector<kernels::DefaultSize> &defaults,
                                          const std::vector<std::string> &said, const std::string &what) {
  std::map<std::string, int64_t> values, least;
  for (const kernels::DefaultSize &size : defaults) {
    values[size.name] = size.value;
    least[size.name] = size.least;
  }
  for (const std::string &text : said) {
    auto [name, value] = assignment(text);
    if (!values.contains(name))
      throw UsageError(unknown(what, name, namesOf(defaults)));
    if (value < least[name])
      throw UsageError("found `" + text + "`, expected a number of at least " + std::to_string(least[name]));
    values[name] = value;
  }
  return values;
}

/// The file's own, then algorithms, then the schedules that ship.
std::vector<std::string> scheduleNames(const std::vector<WaveSchedule> &own) {
  std::vector<std::string> names = {"auto", std::string(sched::kFastest)};
  for (const WaveSchedule &schedule : own)
    names.push_back(schedule.name);
  for (const std::string &name : sched::algorithmNames())
    names.push_back(name);
  for (const kernels::ScheduleEntry &entry : kernels::allSchedules())
    names.push_back(entry.name());
  return names;
}

/// A shipped schedule, or a file, that is about direct copies.
bool wantsDirectCopies(const std::string &said, const sched::ScheduleRequest &request) {
  if (const kernels::ScheduleEntry *shipped = kernels::findSchedule(said))
    return shipped->directCopies;
  std::vector<Diagnostic> reportedWhenItIsBound;
  if (request.file.empty() || sched::isWaveFile(request.file))
    return false;
  return std::ranges::any_of(sched::parseScheduleFiles(request.file, reportedWhenItIsBound),
                             &sched::ScheduleFile::directCopies);
}

} // namespace

bool isOn(const std::string &option, const std::string &value) {
  if (value != "on" && value != "off")
    throw UsageError("found `" + option + " " + value + "`, expected `on` or `off`");
  return value == "on";
}

RowPadding paddingOf(const std::string &value) {
  if (value == "auto")
    return RowPadding::automatic;
  if (value != "on" && value != "off")
    throw UsageError("found `--padded-rows " + value + "`, expected `on`, `off` or `auto`");
  return value == "on" ? RowPadding::always : RowPadding::never;
}

sched::ScheduleRequest resolveSchedule(const std::string &said, const std::vector<WaveSchedule> &own) {
  sched::ScheduleRequest request;
  request.name = said;
  for (const WaveSchedule &schedule : own)
    if (schedule.name == said) {
      request.written = std::make_shared<WaveSchedule>(schedule);
      return request;
    }
  if (sched::parseAlgorithm(said) || said == sched::kFastest || said == "auto")
    return request;
  if (const kernels::ScheduleEntry *entry = kernels::findSchedule(said)) {
    request.written = std::make_shared<WaveSchedule>(entry->schedule);
    return request;
  }
  constexpr std::streamsize kLargestFile = 16 << 20;
  std::ifstream file(said, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() < 0 || said.empty())
    throw UsageError(unknown("schedule", said, scheduleNames(own)) + " A file of that name can't be read either.");
  std::streamsize size = file.tellg();
  if (size == 0 || size > kLargestFile)
    throw UsageError("the schedule file `" + said + "` has " + std::to_string(size) + " bytes, expected 1 to " +
                     std::to_string(kLargestFile));
  request.file.resize(static_cast<size_t>(size));
  file.seekg(0);
  file.read(request.file.data(), size);
  if (!file)
    throw UsageError("the schedule file `" + said + "` can't be read");
  request.fileName = said;
  return request;
}

/// Sizes that follow from the shapes of given arrays and that nobody said.
static std::vector<std::string> withInferred(const KernelChoice &choice, const Resolved &resolved,
                                             const GivenShapes &given) {
  std::vector<std::string> said = choice.sizes;
  auto isSaid = [&](const std::string &name) {
    return std::ranges::any_of(said, [&](const std::string &text) { return text.starts_with(name + "="); });
  };
  std::vector<std::string> names = namesOf(resolved.entry->sizes);
  auto infer = [&](const std::string &argument, const std::vector<std::string> &dims) {
    auto shape = given.find(argument);
    for (size_t d = 0; shape != given.end() && d < std::min(dims.size(), shape->second.size()); ++d)
      if (std::ranges::find(names, dims[d]) != names.end() && !isSaid(dims[d]))
        said.push_back(dims[d] + "=" + std::to_string(shape->second[d]));
  };
  if (resolved.own)
    for (const frontend::Parameter &parameter : resolved.own->kernel.kernel.program()->parameters) {
      std::vector<std::string> dims;
      for (const Expr &dim : parameter.shape)
        dims.push_back(dim.isSymbol() ? std::string(dim.symbolName()) : "");
      infer(parameter.name, dims);
    }
  else
    for (const kernels::ArgumentInfo &argument : resolved.entry->arguments(*resolved.variant))
      infer(argument.name, argument.dims);
  return said;
}

static void resolveVariant(Resolved &resolved, const std::string &dtype) {
  const kernels::KernelEntry &entry = *resolved.entry;
  resolved.variant = dtype.empty() ? &entry.variants.front() : entry.findVariant(dtype);
  if (resolved.variant)
    return;
  if (resolved.own)
    throw UsageError("`" + entry.name + "` says its element types itself; leave `--dtype " + dtype + "` out");
  std::vector<std::string> names;
  for (const kernels::Variant &variant : entry.variants)
    names.push_back(variant.name);
  throw UsageError(unknown("dtype", dtype, names));
}

/// Which kernel it is.
static Resolved findChoice(const KernelChoice &choice, std::ostream &err) {
  Resolved resolved;
  if (isPluginFile(choice.kernel.substr(0, choice.kernel.rfind(':')))) {
    resolved.own = std::make_shared<OwnKernel>(loadOwnKernel(choice.kernel, err));
    resolved.entry = &resolved.own->entry;
    return resolved;
  }
  resolved.entry = kernels::findKernel(choice.kernel);
  if (resolved.entry)
    return resolved;
  std::vector<std::string> names;
  for (const kernels::KernelEntry *entry : kernels::allKernels())
    names.push_back(entry->name);
  throw UsageError(unknown("kernel", choice.kernel, names) + " Or give a file: `FILE.cpp`, `FILE.mlir`.");
}

static void resolveSymbols(Resolved &resolved, const KernelChoice &choice, const GivenShapes &given) {
  const kernels::KernelEntry &entry = *resolved.entry;
  resolved.sizes = overridden(entry.sizes, withInferred(choice, resolved, given), "size");
  std::map<std::string, int64_t> tiles =
      overridden(entry.tilesFor(*resolved.variant, *findTarget(choice.target)), choice.settings, "symbol");
  for (const std::string &name : choice.dynamic) {
    if (!resolved.sizes.contains(name))
      throw UsageError(unknown("size", name, namesOf(entry.sizes)));
    if (std::ranges::find(entry.fixedSizes, name) != entry.fixedSizes.end())
      throw UsageError("`" + name + "` of `" + entry.name +
                       "` is bound when it is compiled; sizes that may be dynamic: " + listOf(entry.dynamicSizes()));
    resolved.options.dynamic.push_back(sym::Expr::symbol(name));
  }
  for (const auto &[name, value] : resolved.sizes)
    if (std::find(choice.dynamic.begin(), choice.dynamic.end(), name) == choice.dynamic.end())
      resolved.options.subs.emplace_back(sym::Expr::symbol(name), value);
  auto isSaid = [&](const std::string &name) {
    return std::ranges::any_of(choice.settings, [&](const std::string &text) { return text.starts_with(name + "="); });
  };
  for (const auto &[name, value] : tiles) {
    bool isOpen = choice.schedule == "auto" && !isSaid(name);
    (isOpen ? resolved.options.defaults : resolved.options.subs).emplace_back(sym::Expr::symbol(name), value);
  }
  for (const auto &derived : entry.derivedSubs())
    resolved.options.subs.push_back(derived);
}

/// The text of a module binds its own symbols; sizes are for those that it leaves to the launch.
static Resolved resolveModule(const KernelChoice &choice) {
  Resolved resolved;
  resolved.text = readFile(choice.kernel);
  resolved.fileName = choice.kernel;
  resolved.options = optionsForFile(choice);
  for (const std::string &text : choice.sizes) {
    auto [name, value] = assignment(text);
    if (value < 0)
      throw UsageError("found `" + text + "`, expected a number of at least 0");
    resolved.sizes[name] = value;
  }
  return resolved;
}

Resolved resolve(const KernelChoice &choice, std::ostream &err, const GivenShapes &given) {
  if (isFile(choice.kernel))
    return resolveModule(choice);
  if (!findTarget(choice.target))
    throw UsageError(unknown("target", choice.target, targetNames()));
  Resolved resolved = findChoice(choice, err);
  resolveVariant(resolved, choice.dtype);
  resolved.options.target = choice.target;
  resolveSymbols(resolved, choice, given);
  const std::vector<WaveSchedule> own = resolved.own ? resolved.own->kernel.schedules : std::vector<WaveSchedule>();
  resolved.options.schedule = resolveSchedule(choice.schedule, own);
  useShipped(resolved, choice);
  resolved.options.schedule.placement.swizzle = isOn("--swizzle", choice.swizzle);
  resolved.options.wideOffsets = choice.wideOffsets;
  resolved.options.tuned = choice.tuned == "off"        ? TunedUse::off
                           : choice.tuned == "modelled" ? TunedUse::modelled
                                                        : TunedUse::measured;
  resolved.options.mma = choice.mma;
  resolved.options.directCopies = choice.directCopies.empty()
                                      ? wantsDirectCopies(choice.schedule, resolved.options.schedule)
                                      : isOn("--direct-copies", choice.directCopies);
  resolved.options.stagedWrites = !choice.stagedWrites.empty() && isOn("--staged-writes", choice.stagedWrites);
  resolved.options.boxedWrites = choice.boxedWrites.empty() || isOn("--boxed-writes", choice.boxedWrites);
  resolved.options.shortSums = !choice.shortSums.empty() && isOn("--short-sums", choice.shortSums);
  resolved.options.raster = choice.raster;
  resolved.options.persistent = choice.persistent;
  resolved.options.serviceWaves = choice.serviceWaves;
  if (!choice.overlapTiles.empty())
    resolved.options.overlapTiles = isOn("--overlap-tiles", choice.overlapTiles);
  if (!choice.turns.empty())
    resolved.options.turns = isOn("--turns", choice.turns);
  if (!choice.dependentLaunch.empty())
    resolved.options.dependentLaunch = isOn("--dependent-launch", choice.dependentLaunch);
  resolved.options.stable = choice.stable;
  resolved.options.cluster = choice.cluster;
  resolved.options.workgroupsPerCluster = choice.workgroupsPerCluster;
  resolved.options.workgroupsPerUnit = choice.workgroupsPerUnit;
  resolved.options.paddedRows = paddingOf(choice.paddedRows);
  if (resolved.own) {
    const Substitutions &subs = resolved.own->kernel.subs;
    resolved.options.subs.insert(resolved.options.subs.end(), subs.begin(), subs.end());
    resolved.options.place = resolved.own->place;
  }
  return resolved;
}

CompileAttempt compileResolved(const Resolved &resolved, const ImageChoice &kind, bool isKept) {
  if (!resolved.entry)
    return compileText(resolved.text, resolved.fileName, resolved.options, kind);
  Kernel kernel = resolved.entry->build(*resolved.variant);
  rt::ImageKind image = kind(resolved.options.target);
  // What is said of no op in particular has no place in the user's text, and none in ours.
  return isKept ? compileOrFind(kernel, resolved.options, image, Place())
                : compileImage(kernel, resolved.options, image, Place());
}

std::string line(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json phasesJson(const CompileResult &result) {
  Json phases = Json::object();
  for (const CompilePhase &phase : result.phases)
    phases[phase.name] = phase.ms;
  phases["total"] = result.totalMs();
  return phases;
}

Json diagnosticsJson(const std::vector<Diagnostic> &diagnostics) {
  auto place = [](const Place &p) { return Json{{"file", p.file}, {"line", p.line}, {"column", p.column}}; };
  Json list = Json::array();
  for (const Diagnostic &diagnostic : diagnostics) {
    Json notes = Json::array();
    for (const Note &note : diagnostic.notes)
      notes.push_back({{"place", place(note.place)}, {"message", note.message}});
    list.push_back({{"id", idText(diagnostic.id)},
                    {"severity", diagnostic.severity == Severity::error     ? "error"
                                 : diagnostic.severity == Severity::warning ? "warning"
                                                                            : "remark"},
                    {"place", place(diagnostic.place)},
                    {"message", diagnostic.message},
                    {"hint", diagnostic.hint},
                    {"notes", notes}});
  }
  return list;
}

int reportFailure(const std::vector<Diagnostic> &diagnostics, bool json, std::ostream &out, std::ostream &err) {
  if (json)
    out << line({{"ok", false}, {"diagnostics", diagnosticsJson(diagnostics)}});
  err << format(diagnostics);
  return 2;
}

} // namespace soliton::cli
