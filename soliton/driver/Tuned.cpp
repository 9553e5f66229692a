#include "soliton/driver/Tuned.h"

#include "soliton/driver/Compilation.h"
#include "soliton/frontend/Emit.h"
#include "soliton/frontend/Program.h"
#include "soliton/runtime/Cache.h"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

namespace soliton {
namespace {

constexpr std::string_view kFirst = "soliton-tuned 1\n", kSchedule = "--- schedule\n", kChoice = "choice ";
/// Larger files are none of ours.
constexpr std::streamsize kLargest = 4 << 20;

//===- Keys -------------------------------------------------------------------------===//

/// Name, parameters with types and shapes, and what their sizes are bound to.
std::string kernelText(const Kernel &kernel, const CompileOptions &options) {
  const frontend::Program &program = *kernel.program();
  std::ostringstream text;
  std::set<std::string> sizes;
  text << program.name;
  for (const frontend::Parameter &parameter : program.parameters) {
    text << " " << parameter.name << ":" << toString(frontend::TileInfo{parameter.shape, parameter.type});
    for (Expr extent : parameter.shape)
      for (sym::Expr symbol : sym::symbolsOf(extent))
        sizes.insert(std::string(symbol.symbolName()));
  }
  for (const auto &[symbol, value] : options.subs)
    if (std::optional<int64_t> number = value.constantValue();
        number && symbol.isSymbol() && sizes.erase(std::string(symbol.symbolName())) > 0)
      text << " " << symbol.symbolName() << "=" << *number;
  for (const std::string &name : sizes)
    text << " " << name << "=?"; // known at launch
  return text.str();
}

/// The sizes come in the order in which they are bound, so they are sorted: `M=1,N=2` is `N=2,M=1`.
std::string sortedWords(const std::string &text) {
  std::istringstream words(text);
  std::multiset<std::string> sorted;
  for (std::string word; words >> word;)
    sorted.insert(word);
  std::string result;
  for (const std::string &word : sorted)
    result += word + " ";
  return result;
}

std::optional<std::filesystem::path> fileOf(const Kernel &kernel, const CompileOptions &options,
                                            const std::string &device) {
  static const std::optional<std::string> build = buildIdAt(reinterpret_cast<const void *>(&compileKey));
  std::optional<std::filesystem::path> folder = rt::ImageCache::defaultFolder();
  if (!folder || !build)
    return std::nullopt;
  rt::CacheKey key = rt::KeyBuilder()
                         .add("kernel", sortedWords(kernelText(kernel, options)))
                         .add("target", options.target)
                         .add("device", device)
                         .add("build", *build)
                         .finish();
  return *folder / "tuned" / key.text();
}

//===- Files ------------------------------------------------------------------------===//

std::string textOf(const TunedResult &result) {
  std::string text = std::string(kFirst) + "program = " + result.program + "\norigin = " + result.origin +
                     "\nmicroseconds = " + std::to_string(result.microseconds) + "\n";
  for (const auto &[name, value] : result.choices)
    text += std::string(kChoice) + name + " = " + value + "\n";
  return result.schedule.empty() ? text : text + std::string(kSchedule) + result.schedule;
}

/// Nothing for a file that `textOf` did not write.
std::optional<TunedResult> parse(std::string_view text) {
  if (!text.starts_with(kFirst))
    return std::nullopt;
  text.remove_prefix(kFirst.size());
  TunedResult result;
  while (!text.empty()) {
    if (text.starts_with(kSchedule)) {
      result.schedule = text.substr(kSchedule.size());
      break;
    }
    size_t end = text.find('\n'), equals = text.find(" = ");
    if (end == std::string_view::npos || equals == std::string_view::npos || equals > end)
      return std::nullopt;
    std::string name(text.substr(0, equals)), value(text.substr(equals + 3, end - equals - 3));
    if (name.starts_with(kChoice))
      result.choices[name.substr(kChoice.size())] = value;
    else if (name == "program")
      result.program = value;
    else if (name == "origin")
      result.origin = value;
    else if (name == "microseconds")
      result.microseconds = std::strtod(value.c_str(), nullptr);
    else
      return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return result.program.empty() ? std::nullopt : std::optional(std::move(result));
}

std::optional<std::string> readWhole(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() < 0 || file.tellg() > kLargest)
    return std::nullopt;
  std::string text(static_cast<size_t>(file.tellg()), '\0');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  return file ? std::optional(std::move(text)) : std::nullopt;
}

//===- Application ------------------------------------------------------------------===//

std::optional<int64_t> numberIn(const std::string &text) {
  int64_t value = 0;
  const char *end = text.data() + text.size();
  return std::from_chars(text.data(), end, value) == std::from_chars_result{end, std::errc()} ? std::optional(value)
                                                                                              : std::nullopt;
}

std::string contradiction(const std::string &name, const std::string &said, const std::string &tuned) {
  return "`" + name + " = " + said + "` was said, and it has `" + tuned + "`";
}

/// Binds a symbol that is open; a sentence where it is bound to something else.
std::string bindSymbol(CompileOptions &options, const std::string &name, const std::string &value) {
  std::optional<int64_t> number = numberIn(value);
  if (!number)
    return "`" + name + " = " + value + "` is no choice that this compiler knows";
  for (const auto &[symbol, bound] : options.subs)
    if (symbol.isSymbol() && symbol.symbolName() == name) {
      std::optional<int64_t> said = bound.constantValue();
      return said == number ? "" : contradiction(name, said ? std::to_string(*said) : "a formula", value);
    }
  options.subs.emplace_back(sym::Expr::symbol(name), *number);
  return {};
}

/// One choice; a sentence where it contradicts what was said.
std::string take(CompileOptions &options, const std::string &name, const std::string &value) {
  if (name == "schedule")
    options.schedule.name = value;
  else if (name == "direct_copies")
    options.directCopies = value == "on";
  else if (name == "staged_writes")
    options.stagedWrites = value == "on";
  else if (name == "padded_rows")
    options.paddedRows = value == "on"    ? RowPadding::always
                         : value == "off" ? RowPadding::never
                                          : RowPadding::automatic;
  else if (name == "mma") {
    std::string kind = value == "default" ? "" : value;
    if (!options.mma.empty() && options.mma != kind)
      return contradiction(name, options.mma, value);
    options.mma = kind;
  } else if (name == "swizzle")
    options.schedule.placement.swizzle = value == "on";
  else if (name == "raster" || name == "cluster" || name == "persistent") {
    int64_t &said = name == "raster" ? options.raster : name == "cluster" ? options.cluster : options.persistent;
    std::optional<int64_t> tuned = numberIn(value);
    if (!tuned || (said != 0 && said != *tuned))
      return contradiction(name, std::to_string(said), value);
    said = *tuned;
  } else if (name == "service_waves") {
    std::optional<int64_t> tuned = numberIn(value);
    if (!tuned || options.serviceWaves.value_or(*tuned) != *tuned)
      return contradiction(name, std::to_string(options.serviceWaves.value_or(0)), value);
    options.serviceWaves = tuned;
  } else if (name == "overlap_tiles" || name == "turns") {
    std::optional<bool> &said = name == "turns" ? options.turns : options.overlapTiles;
    if (said && *said != (value == "on"))
      return contradiction(name, *said ? "on" : "off", value);
    said = value == "on";
  } else if (name == "workgroups_per_cluster") {
    std::optional<std::vector<int64_t>> tuned = perClusterFrom(value);
    if (!tuned || (!options.workgroupsPerCluster.empty() && options.workgroupsPerCluster != *tuned))
      return contradiction(name, textOfPerCluster(options.workgroupsPerCluster), value);
    options.workgroupsPerCluster = *tuned;
  } else
    return bindSymbol(options, name, value);
  return {};
}

} // namespace

std::optional<std::vector<int64_t>> perClusterFrom(const std::string &text) {
  std::vector<int64_t> along;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, 'x');)
    if (std::optional<int64_t> number = numberIn(word))
      along.push_back(*number);
    else
      return std::nullopt;
  return along.empty() ? std::nullopt : std::optional(along);
}

std::string textOfPerCluster(const std::vector<int64_t> &along) {
  std::string text;
  for (int64_t workgroups : along)
    text += (text.empty() ? "" : "x") + std::to_string(workgroups);
  return text;
}

std::string driverOf(const rt::Device &device) {
  const char *path = device.info().kind == rt::DeviceKind::cuda  ? "/sys/module/nvidia/version"
                     : device.info().kind == rt::DeviceKind::hip ? "/sys/module/amdgpu/version"
                                                                 : "";
  std::string version;
  std::getline(std::ifstream(path) >> std::ws, version);
  return version.empty() && *path ? "unknown" : version;
}

std::string tunedDevice(const rt::Device &device) {
  std::string driver = driverOf(device);
  return device.info().name + (driver.empty() ? "" : ", driver " + driver);
}

std::string modelledOn(const std::string &target) {
  return "modelled " + target;
}

std::variant<CompileOptions, std::string> withTuned(CompileOptions options, const TunedResult &result) {
  for (const auto &[name, value] : result.choices)
    if (std::string wrong = take(options, name, value); !wrong.empty())
      return wrong;
  if (!result.schedule.empty()) {
    options.schedule.name = "none";
    options.schedule.file = result.schedule;
    options.schedule.fileName = "tuned.schedule";
  }
  return withDefaults(std::move(options));
}

std::optional<std::string> programHash(const Kernel &kernel, const CompileOptions &options) {
  sym::ThrowMistakes scope;
  EmittedKernel emitted =
      emitKernel(kernel, threadContext(), {options.subs, options.dynamic, options.target, options.place});
  if (!emitted.module)
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream stream(text);
  emitted.module->print(stream);
  return rt::KeyBuilder().add("program", text).finish().text();
}

bool publishTuned(const Kernel &kernel, const CompileOptions &options, const std::string &device,
                  const TunedResult &result) {
  std::optional<std::filesystem::path> path = fileOf(kernel, options, device);
  std::error_code error;
  if (!path || (std::filesystem::create_directories(path->parent_path(), error), error))
    return false;
  // By rename: readers see a whole file or none.
  std::filesystem::path draft = path->string() + "." + std::to_string(getpid());
  std::ofstream(draft, std::ios::binary) << textOf(result);
  std::filesystem::rename(draft, *path, error);
  return !error;
}

std::optional<TunedResult> findTuned(const Kernel &kernel, const CompileOptions &options, const std::string &device) {
  std::optional<std::filesystem::path> path = fileOf(kernel, options, device);
  std::optional<std::string> text = path ? readWhole(*path) : std::nullopt;
  return text ? parse(*text) : std::nullopt;
}

/// What the file for this device holds, as a choice; nothing where there is no file.
static std::optional<AutoChoice> choiceOf(const Kernel &kernel, const CompileOptions &options,
                                          const std::string &device) {
  std::optional<std::filesystem::path> path = fileOf(kernel, options, device);
  std::error_code error;
  if (!path || !std::filesystem::exists(*path, error))
    return std::nullopt;
  std::optional<std::string> text = readWhole(*path);
  std::optional<TunedResult> result = text ? parse(*text) : std::nullopt;
  if (!result)
    return AutoChoice{options, "a tuned result", "`" + path->string() + "` is no file that `soliton tune` wrote"};
  std::string why = "a tuned result: " + result->origin;
  std::variant<CompileOptions, std::string> taken = withTuned(options, *result);
  if (const std::string *wrong = std::get_if<std::string>(&taken))
    return AutoChoice{options, why, *wrong};
  CompileOptions &tuned = std::get<CompileOptions>(taken);
  if (programHash(kernel, tuned) != result->program)
    return AutoChoice{options, why, "the kernel is another one by now"};
  return AutoChoice{std::move(tuned), why};
}

std::vector<AutoChoice> tunedChoices(const Kernel &kernel, const CompileOptions &options) {
  std::vector<AutoChoice> choices;
  const char *wanted = std::getenv("SOLITON_TUNED");
  if (options.tuned == TunedUse::off || (wanted && std::string_view(wanted) == "off"))
    return choices;
  if (!options.tunedOn.empty())
    if (std::optional<AutoChoice> measured = choiceOf(kernel, options, options.tunedOn))
      choices.push_back(std::move(*measured));
  if (options.tuned == TunedUse::modelled && (choices.empty() || !choices.back().misfit.empty()))
    if (std::optional<AutoChoice> modelled = choiceOf(kernel, options, modelledOn(options.target)))
      choices.push_back(std::move(*modelled));
  return choices;
}

} // namespace soliton
