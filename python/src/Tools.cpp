//===- Tools.cpp - What the `soliton` command shows, for Python --------------------------===//
//
// Schedules and layouts of a kernel as texts and pictures, the targets and devices that are there, and the cache. Texts
// are those of the command: both call soliton/display.
//
//===----------------------------------------------------------------------===//
#include "Bindings.h"

#include <soliton/authoring/ScheduleFile.h>
#include <soliton/display/LayoutPicture.h>
#include <soliton/display/Page.h>
#include <soliton/display/Svg.h>
#include <soliton/display/Table.h>
#include <soliton/display/Trace.h>
#include <soliton/driver/Reference.h>
#include <soliton/driver/ValueLayouts.h>
#include <soliton/runtime/Cache.h>
#include <soliton/support/Float.h>
#include <soliton/target/Target.h>

#include <cstring>

namespace soliton::python {

namespace {

//===- Schedules ---------------------------------------------------------------------------===//

/// One dictionary for each innermost loop that was scheduled, and what was wrong, if anything was.
nb::tuple schedulesOf(const Kernel &kernel, const nb::dict &given, Place place) {
  auto pending = std::make_shared<PendingError>();
  CompileOptions options = optionsOf(given, place, pending);
  options.schedule.reportsNone = true;
  CompileAttempt attempt;
  {
    nb::gil_scoped_release others;
    attempt = compileImage(kernel, options, rt::ImageKind::emulator, place); // the cheapest that has a schedule
  }
  if (pending->error)
    throw std::move(*pending->error);
  nb::list loops;
  for (const sched::LoopReport &loop : attempt ? attempt.result->loops : attempt.loops) {
    sched::Picture picture{loop.problem,  loop.schedule,  loop.program,    loop.verified,
                           kernel.name(), options.target, loop.certificate};
    picture.crew = loop.roles.crew();
    nb::dict dict;
    dict["loop"] = loop.problem.loop;
    dict["algorithm"] = loop.schedule.algorithm;
    dict["interval"] = loop.schedule.interval;
    dict["stages"] = loop.schedule.stages();
    dict["table"] = sched::printTable(picture);
    dict["json"] = sched::printTableJson(picture);
    dict["html"] = sched::printPage(picture);
    dict["svg"] = sched::printSvg(picture);
    dict["trace"] = sched::printTrace(picture);
    dict["file"] = sched::printText({sched::toFile(loop)});
    dict["certificate"] = loop.certificate;
    dict["remarks"] = listOfDiagnostics(loop.remarks);
    loops.append(dict);
  }
  return nb::make_tuple(loops, listOfDiagnostics(attempt.diagnostics));
}

//===- Layouts -----------------------------------------------------------------------------===//

nb::dict textsOf(const LayoutPicture &picture) {
  nb::dict dict;
  dict["title"] = picture.title;
  dict["text"] = printLayoutText(picture);
  dict["json"] = printLayoutJson(picture);
  dict["svg"] = printLayoutSvg(picture);
  return dict;
}

/// The tiles of tagged operations: (tag, role, type, dimensions, layout).
nb::list valueLayoutsOf(const Kernel &kernel, const nb::dict &given, Place place, const std::string &tag) {
  auto pending = std::make_shared<PendingError>();
  CompileOptions options = optionsOf(given, place, pending);
  ValueLayouts found;
  {
    nb::gil_scoped_release others;
    found = valueLayouts(kernel, options);
  }
  if (!found.ok)
    throw CompileError(found.diagnostics);
  nb::list list;
  for (const ValueLayout &value : found.values) {
    if (!tag.empty() && value.tag != tag)
      continue;
    nb::dict dict;
    if (!value.dims.empty()) {
      std::optional<Dim> rows;
      if (value.dims.size() > 1)
        rows = value.dims[value.dims.size() - 2];
      LayoutPicture picture;
      picture.title = value.tag + " of " + kernel.name() + " on " + options.target;
      picture.subtitle = "a workgroup's tile, as it lies in registers";
      std::string role = value.role == "result" ? "" : " " + value.role;
      picture.views.push_back({value.tag + role, value.type, value.layout, rows, value.dims.back()});
      dict = textsOf(picture);
    }
    dict["tag"] = value.tag;
    dict["role"] = value.role;
    dict["type"] = value.type;
    dict["layout"] = value.layout.str();
    list.append(dict);
  }
  return list;
}

/// Nothing where the target has no such instruction, or none of its operands lies in registers.
std::optional<nb::dict> instructionLayout(const std::string &instruction, const std::string &targetName,
                                          const std::string &type) {
  for (const Target *target : allTargets())
    if (targetName.empty() || target->name == targetName)
      for (const MmaKind &kind : target->mmas)
        if (kind.name == instruction && (type.empty() || name(kind.lhs.type) == type))
          if (LayoutPicture picture = pictureOf(kind, target->name); !picture.views.empty())
            return textsOf(picture);
  return std::nullopt;
}

//===- What a kernel must compute --------------------------------------------------------------===//

/// What the interpreter makes of these arguments: for each its bytes, and how far off each element may be (an empty
/// list where bits must agree). A number is the bytes of one element.
nb::list reference(const Kernel &kernel, const nb::dict &given, Place place, const std::vector<nb::bytes> &arguments,
                   const std::vector<std::pair<std::string, int64_t>> &symbols, bool integers) {
  auto pending = std::make_shared<PendingError>();
  CompileOptions options = optionsOf(given, place, pending);
  ReferenceRequest request{.arguments = {}, .symbols = {symbols.begin(), symbols.end()}, .integers = integers};
  for (const nb::bytes &bytes : arguments) {
    const auto *data = static_cast<const uint8_t *>(bytes.data());
    request.arguments.emplace_back(data, data + bytes.size());
  }
  ReferenceOutcome outcome;
  {
    nb::gil_scoped_release others;
    outcome = referenceOf(kernel, options, request);
  }
  if (!outcome.result)
    throw CompileError(outcome.diagnostics);
  nb::list list;
  for (size_t i = 0; i < outcome.result->arguments.size(); ++i) {
    const std::vector<uint8_t> &bytes = outcome.result->arguments[i];
    list.append(nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), outcome.result->tolerance[i]));
  }
  return list;
}

/// The numbers in `bytes`; of types that take whole bytes.
std::vector<double> decodeBytes(ElementType type, const nb::bytes &bytes) {
  DType dtype = type.resolve();
  auto width = static_cast<size_t>(rt::storageBits(dtype) / 8);
  if (rt::storageBits(dtype) % 8 != 0 || bytes.size() % width != 0)
    throw nb::value_error("elements that share bytes");
  std::vector<double> numbers;
  numbers.reserve(bytes.size() / width);
  const auto *data = static_cast<const uint8_t *>(bytes.data());
  for (size_t i = 0; i < bytes.size(); i += width) {
    uint64_t bits = 0;
    std::memcpy(&bits, data + i, width);
    if (isFloat(dtype))
      numbers.push_back(decode(dtype, bits));
    else if (dtype == DType::i1)
      numbers.push_back(bits != 0);
    else
      numbers.push_back(static_cast<double>(static_cast<int64_t>(bits << (64 - 8 * width)) >> (64 - 8 * width)));
  }
  return numbers;
}

/// The other way round.
nb::bytes encodeNumbers(ElementType type, const std::vector<double> &numbers) {
  DType dtype = type.resolve();
  auto width = static_cast<size_t>(rt::storageBits(dtype) / 8);
  if (rt::storageBits(dtype) % 8 != 0)
    throw nb::value_error("elements that share bytes");
  std::string bytes(numbers.size() * width, '\0');
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint64_t bits =
        isFloat(dtype) ? encode(dtype, numbers[i]) : static_cast<uint64_t>(static_cast<int64_t>(numbers[i]));
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return nb::bytes(bytes.data(), bytes.size());
}

//===- What is there -------------------------------------------------------------------------===//

nb::list targetList() {
  nb::list list;
  for (const Target *target : allTargets()) {
    nb::dict dict;
    dict["name"] = target->name;
    dict["product"] = target->product;
    dict["wave_size"] = target->waveSize;
    dict["shared_bytes"] = target->sharedBytes;
    nb::list instructions;
    for (const MmaKind &kind : target->mmas)
      instructions.append(kind.name);
    dict["matrix_instructions"] = instructions;
    list.append(dict);
  }
  return list;
}

nb::dict deviceList() {
  nb::list devices;
  for (const std::shared_ptr<rt::Device> &device : rt::devices().devices) {
    const rt::DeviceInfo &info = device->info();
    nb::dict dict;
    dict["kind"] = std::string(rt::name(info.kind));
    dict["index"] = info.index;
    dict["name"] = info.name;
    dict["architecture"] = info.architecture;
    dict["target"] = targetOf(*device);
    dict["memory_bytes"] = info.memoryBytes;
    devices.append(dict);
  }
  nb::dict dict;
  dict["devices"] = devices;
  dict["problems"] = listOfDiagnostics(rt::devices().problems);
  rt::DeviceSearch search = rt::DeviceSearch::fromEnvironment();
  dict["libraries"] = nb::make_tuple(search.cudaLibrary, search.hipLibrary);
  return dict;
}

//===- The cache -----------------------------------------------------------------------------===//

/// Where it is, and why it is not used, where it is not.
nb::dict cacheState() {
  nb::dict dict;
  std::optional<rt::ImageCache> cache = rt::ImageCache::byDefault();
  dict["folder"] = cache ? cache->place().string() : "";
  std::string flaw = rt::ImageCache::isOff() ? "it is off, since `SOLITON_CACHE` says so"
                     : !cache                ? "there is none: set `SOLITON_CACHE_DIR`, `XDG_CACHE_HOME` or `HOME`"
                                             : cache->flaw().value_or("");
  dict["flaw"] = flaw;
  return dict;
}

rt::ImageCache usedCache() {
  nb::dict state = cacheState();
  if (std::string flaw = nb::cast<std::string>(state["flaw"]); !flaw.empty())
    throw std::runtime_error("the cache cannot be used: " + flaw);
  return *rt::ImageCache::byDefault();
}

nb::list cacheEntries() {
  nb::list list;
  for (const rt::CacheEntry &entry : usedCache().entries()) {
    nb::dict dict;
    auto age = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::file_clock::now() - entry.used);
    dict["key"] = entry.file.stem().string();
    dict["bytes"] = entry.bytes;
    dict["seconds_since_use"] = static_cast<int64_t>(age.count());
    dict["ok"] = entry.image.has_value();
    dict["kernel"] = entry.image ? entry.image->kernel : "";
    dict["target"] = entry.image ? entry.image->target : "";
    list.append(dict);
  }
  return list;
}

/// Removes damaged entries, or all; how many went.
size_t removeEntries(bool onlyDamaged) {
  rt::ImageCache cache = usedCache();
  size_t removed = 0;
  for (const rt::CacheEntry &entry : cache.entries())
    if (!onlyDamaged || !entry.image) {
      rt::ImageCache::remove(entry);
      ++removed;
    }
  return removed;
}

} // namespace

void bindTools(nb::module_ &module) {
  module.def("schedules", schedulesOf, nb::arg("kernel"), nb::arg("options"), nb::arg("place").none());
  module.def("value_layouts", valueLayoutsOf, nb::arg("kernel"), nb::arg("options"), nb::arg("place").none(),
             nb::arg("tag"));
  module.def("instruction_layout", instructionLayout, nb::arg("instruction"), nb::arg("target"), nb::arg("type"));
  module.def("reference", reference, nb::arg("kernel"), nb::arg("options"), nb::arg("place").none(),
             nb::arg("arguments"), nb::arg("symbols"), nb::arg("integers"));
  module.def("decode", decodeBytes, nb::arg("type"), nb::arg("bytes"));
  module.def("encode", encodeNumbers, nb::arg("type"), nb::arg("numbers"));
  module.def("target_list", targetList);
  module.def("device_list", deviceList);
  module.def("cache_state", cacheState);
  module.def("cache_entries", cacheEntries);
  module.def("cache_remove", removeEntries, nb::arg("only_damaged"));
}

} // namespace soliton::python
