//===- Library.cpp - Kernels of the library at sizes, tiles and waves that nobody chose -----------===//
#include "kernels/Kernels.h"
#include "soliton/driver/Compile.h"
#include "soliton/runtime/EmulatorDevice.h"
#include "soliton/target/Target.h"
#include "test/generate/Choose.h"
#include "test/generate/Judge.h"

#include <algorithm>
#include <set>

namespace soliton::generate {
namespace {

struct LibraryCase {
  const kernels::KernelEntry *entry = nullptr;
  const kernels::Variant *variant = nullptr;
  kernels::Sizes sizes, tiles;
  std::set<std::string> dynamic;
  std::string schedule = "none";
  bool directCopies = false;
  /// On the target that copies boxes: waves that have them copied, how many workgroups walk the tiles, and in which
  /// order; the matrix instruction that reads what boxes bring.
  int64_t serviceWaves = 0, persistent = 0, raster = 0;
  bool stagedWrites = false, overlapTiles = false, turns = false;
  std::string mma;
  /// On the target that has such launches: it begins early, and knows of memories that nobody writes meanwhile.
  bool isDependent = false;
  std::vector<std::string> stable;

  std::string name() const {
    std::string text = entry->name + " " + variant->name;
    for (const kernels::Sizes &list : {sizes, tiles})
      for (const auto &[symbol, value] : list)
        text += " " + symbol + "=" + std::to_string(value) + (dynamic.contains(symbol) ? "(dynamic)" : "");
    text += " schedule " + schedule + (directCopies ? ", direct copies" : "");
    if (!mma.empty())
      text += ", " + mma;
    for (auto [option, value] :
         {std::pair("service waves", serviceWaves), {"persistent", persistent}, {"raster", raster}})
      if (value != 0)
        text += std::string(", ") + option + " " + std::to_string(value);
    text += isDependent ? ", begun early" : "";
    for (const std::string &memory : stable)
      text += ", stable " + memory;
    return text + (stagedWrites ? ", staged writes" : "") + (overlapTiles ? ", overlapping" : "") +
           (turns ? ", in turns" : "");
  }
};

using Numbers = std::vector<int64_t>;

int64_t chooseTile(Choose &choose, const kernels::KernelEntry &entry, const std::string &name) {
  bool isProduct = std::ranges::any_of(entry.tiles, [](const auto &tile) { return tile.name == "WAVES_N"; }) &&
                   entry.family != "rows";
  if (name.starts_with("WAVES"))
    return choose.from(Numbers{1, 2, 2, 4});
  if (!name.starts_with("BLOCK")) // workgroups, or tiles that one takes
    return choose.from(Numbers{1, 2, 3, 8});
  if (name == "BLOCK_H" || (name == "BLOCK_S" && entry.family == "attention")) // heads and parts, whose rows a lane has
    return choose.from(Numbers{4, 4, 8});
  if (isProduct)
    return choose.from(name == "BLOCK_K" ? Numbers{32, 64, 128} : Numbers{64, 64, 128});
  if (entry.family == "attention" || entry.family == "convolution")
    return choose.from(name == "BLOCK_Q" ? Numbers{32, 64, 128} : Numbers{32, 64});
  if (name == "BLOCK_S" || name == "BLOCK_T")
    return choose.from(Numbers{4, 8, 32, 64});
  // Waves share the rows, so their number divides them.
  return choose.from(name == "BLOCK_M" ? Numbers{16, 32, 64, 128} : Numbers{1, 2, 8, 16, 17, 32, 64, 96, 128});
}

/// What a size of this name may be that no tile suggests; nothing for extents of tensors, which may be anything.
const Numbers *numbersFor(const std::string &name) {
  static const std::map<std::string, Numbers> numbers = {
      {"B", {1, 2, 3}},   {"E", {1, 2, 5}},       {"H_KV", {1, 2}},    {"D", {32, 32, 64}},  {"GROUP", {32, 64}},
      {"PAGE", {32, 64}}, {"WINDOW", {1, 5, 33}}, {"TOPK", {1, 2, 5}}, {"BINS", {1, 5, 64}}, {"C", {1, 3, 32}},
      {"R", {1, 2, 3}},   {"S", {1, 2, 3}},       {"STRIDE", {1, 2}},  {"PAD", {0, 1, 2}},   {"DILATION", {1, 2}}};
  auto found = numbers.find(name);
  return found == numbers.end() ? nullptr : &found->second;
}

int64_t chooseSize(Choose &choose, const LibraryCase &chosen, const std::string &name) {
  // A sequence's length, not a filter's.
  const Numbers *numbers = chosen.tiles.contains("BLOCK_" + name) ? nullptr : numbersFor(name);
  if (numbers)
    return choose.from(*numbers);
  auto tile = chosen.tiles.find("BLOCK_" + name);
  int64_t unit = tile == chosen.tiles.end() ? 16 : tile->second;
  return choose.chance(40) ? unit * choose.between(1, 3) : choose.between(1, 3 * unit);
}

/// What the kernels assume of their sizes.
void keepAssumptions(LibraryCase &chosen) {
  kernels::Sizes &sizes = chosen.sizes, &tiles = chosen.tiles;
  if (sizes.contains("H_KV") && sizes.contains("H")) // heads of queries share those of keys
    sizes["H"] = sizes["H_KV"] * (1 + sizes["H"] % 3);
  else if (chosen.entry->family == "attention")
    for (const char *count : {"N", "H"})
      if (sizes.contains(count))
        sizes[count] = 1 + sizes[count] % 3;
  if (sizes.contains("TOPK")) // a row has that many
    for (const char *chosenFrom : {"N", "E"})
      if (sizes.contains(chosenFrom))
        sizes[chosenFrom] = std::max(sizes[chosenFrom], sizes["TOPK"]);
  const std::string rows = chosen.entry->name.ends_with("_dkv") ? "BLOCK_KV" : "BLOCK_Q";
  if (tiles.contains(rows) && tiles.contains("WAVES")) // a wave has the rows of one or two matrix instructions
    tiles["WAVES"] = std::clamp(tiles["WAVES"], tiles[rows] / 32, tiles[rows] / 16);
  if (tiles.contains("WAVES_K")) { // whose accumulators meet in shared memory
    int64_t waves = tiles["WAVES_K"];
    tiles = {{"BLOCK_M", 32}, {"BLOCK_N", 32}, {"BLOCK_K", 128}, {"WAVES_M", 1}, {"WAVES_N", 1}, {"WAVES_K", waves}};
  }
  if (chosen.entry->family == "rows")
    for (const std::string dim : {"M", "N"}) // each wave has as many
      if (auto waves = tiles.find("WAVES_" + dim); waves != tiles.end())
        tiles["BLOCK_" + dim] = (tiles["BLOCK_" + dim] + waves->second - 1) / waves->second * waves->second;
  if (chosen.entry->name.starts_with("gemm_mxfp")) { // whole blocks with a scale, and tiles of whole instructions
    sizes["K"] = (sizes["K"] + 31) / 32 * 32;
    tiles["BLOCK_K"] = 128;
  }
  if (chosen.entry->family == "convolution") // the filter fits the image
    for (const char *extent : {"H", "W"})
      if (sizes.contains(extent))
        sizes[extent] = 5 + sizes[extent] % 12;
}

/// Products, and chains of them, whose tiles may come in boxes. Backward passes have other products, and rows from data
/// have no boxes.
const std::set<std::string> &haveBoxes() {
  static const std::set<std::string> names = {"gemm",
                                              "conv2d_nhwc",
                                              "attention",
                                              "attention_causal",
                                              "attention_window",
                                              "attention_softcap",
                                              "attention_gqa",
                                              "attention_lse",
                                              "attention_causal_lse"};
  return names;
}

/// Their tiles in boxes, by matrix instructions of four waves.
void chooseBoxes(Choose &choose, LibraryCase &chosen) {
  const kernels::KernelEntry &entry = *chosen.entry;
  bool isPlain = entry.family != "attention" && haveBoxes().contains(entry.name);
  bool isChain = entry.family == "attention" && haveBoxes().contains(entry.name);
  bool isHalf = chosen.variant->name == "f16" || chosen.variant->name == "bf16";
  if ((!isPlain && !isChain) || !isHalf || !choose.maybe("library.boxes", 60))
    return;
  chosen.directCopies = true;
  chosen.schedule = choose.from(std::vector<std::string>{"ring", "ring", "ring", "none", "modulo"});
  int64_t rows = choose.from(Numbers{64, 128, 128, 192});
  if (isChain) {
    chosen.mma = "F32_64xNx16_F16";
    chosen.tiles["BLOCK_Q"] = rows;
    chosen.tiles["BLOCK_KV"] = choose.from(Numbers{64, 128});
    chosen.tiles["WAVES"] = rows / 16;
  } else {
    chosen.mma = "F32_64x64x16_F16";
    chosen.tiles["BLOCK_M"] = rows;
    chosen.tiles["BLOCK_K"] = 64;
    chosen.tiles["WAVES_M"] = rows / 16;
    for (const char *columns : {"N", "F"})
      if (chosen.tiles.contains(std::string("BLOCK_") + columns)) {
        chosen.tiles[std::string("BLOCK_") + columns] = 64;
        chosen.tiles[std::string("WAVES_") + columns] = 1;
      }
  }
  if (choose.maybe("library.service-waves", 60))
    chosen.serviceWaves = choose.from(Numbers{1, 2, 3, 4, 4, 4});
  if (choose.maybe("library.persistent", 40))
    chosen.persistent = choose.from(Numbers{1, 2, 5, 100});
  if (choose.maybe("library.raster", 40))
    chosen.raster = choose.from(Numbers{1, 2, 8, -1, -2, -8});
  chosen.stagedWrites = choose.maybe("library.staged-writes", 40);
}

void chooseLaunches(Choose &choose, LibraryCase &chosen) {
  chosen.isDependent = choose.maybe("library.dependent", 30);
  if (!chosen.isDependent)
    return;
  for (const kernels::ArgumentInfo &argument : chosen.entry->arguments(*chosen.variant))
    if (!argument.isOutput && !argument.dims.empty() && choose.maybe("library.stable", 50))
      chosen.stable.push_back(argument.name);
}

LibraryCase chooseCase(Choose &choose) {
  LibraryCase chosen;
  chosen.entry = choose.from(kernels::allKernels());
  if (choose.hasStrides() && choose.chance(40))
    chosen.entry = kernels::findKernel(choose.from(std::vector<std::string>(haveBoxes().begin(), haveBoxes().end())));
  chosen.variant = &choose.from(chosen.entry->variants);
  const std::string &family = chosen.entry->family;
  for (const kernels::DefaultSize &tile : chosen.entry->tiles)
    chosen.tiles[tile.name] = chooseTile(choose, *chosen.entry, tile.name);
  std::vector<std::string> free = chosen.entry->dynamicSizes();
  for (const kernels::DefaultSize &size : chosen.entry->sizes) {
    chosen.sizes[size.name] = chooseSize(choose, chosen, size.name);
    if (std::ranges::find(free, size.name) != free.end() && choose.maybe("library.dynamic", 30))
      chosen.dynamic.insert(size.name);
  }
  keepAssumptions(chosen);
  static const std::vector<std::string> kSchedules = {"none", "none", "prefetch", "four_stage", "list", "modulo"};
  if (family == "gemm") {
    chosen.schedule = choose.from(kSchedules);
    chosen.directCopies = choose.maybe("library.direct-copies", 25);
  }
  if (choose.hasStrides()) {
    chooseBoxes(choose, chosen);
    chooseLaunches(choose, chosen);
    if (chosen.serviceWaves > 0 && chosen.persistent > 0 && chosen.schedule != "none")
      chosen.overlapTiles = choose.maybe("library.overlap-tiles", 50);
    auto rows = [&](const char *tile) { return chosen.tiles.contains(tile) ? chosen.tiles.at(tile) : 0; };
    bool hasTeams = std::max(rows("BLOCK_M"), rows("BLOCK_Q")) >= 128;
    chosen.turns = !chosen.mma.empty() && hasTeams && choose.maybe("library.turns", 40);
  }
  return chosen;
}

CompileOptions optionsFor(const LibraryCase &chosen, const Target &target) {
  CompileOptions options;
  options.target = target.name;
  options.directCopies = chosen.directCopies;
  options.schedule.name = chosen.schedule;
  if (!chosen.mma.empty()) {
    options.mma = chosen.mma;
    options.persistent = chosen.persistent;
    options.raster = chosen.raster;
    options.stagedWrites = chosen.stagedWrites;
    options.overlapTiles = chosen.overlapTiles;
    options.turns = chosen.turns;
    if (chosen.serviceWaves > 0)
      options.serviceWaves = chosen.serviceWaves;
  }
  if (target.hasDependentLaunches) {
    options.dependentLaunch = chosen.isDependent;
    options.stable = chosen.stable;
  }
  for (const auto &[name, value] : chosen.sizes)
    if (chosen.dynamic.contains(name))
      options.dynamic.push_back(sym::Expr::symbol(name));
    else
      options.subs.emplace_back(sym::Expr::symbol(name), value);
  for (const auto &[name, value] : chosen.tiles)
    options.subs.emplace_back(sym::Expr::symbol(name), value);
  for (const auto &derived : chosen.entry->derivedSubs())
    options.subs.push_back(derived);
  return options;
}

/// What is wrong with a launch on these inputs; nothing if it computes what the reference does.
std::optional<std::string> launch(const LibraryCase &chosen, rt::LoadedKernel &kernel,
                                  const kernels::Problem &problem) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<rt::Argument> arguments;
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    const kernels::Array &array = problem.arrays[i];
    if (problem.arguments[i].dims.empty()) {
      arguments.push_back(isFloat(array.type) ? rt::Argument(array.values.at(0))
                                              : rt::Argument(static_cast<int64_t>(array.values.at(0))));
      memory.emplace_back();
      continue;
    }
    size_t elements = 1;
    for (int64_t extent : array.shape)
      elements *= static_cast<size_t>(extent);
    memory.push_back(
        array.values.empty()
            ? std::vector<std::byte>(elements * static_cast<size_t>(rt::storageBits(array.type)) / 8, std::byte(0xff))
            : kernels::encodeArray(array));
    arguments.emplace_back(rt::Tensor::dense(memory.back().data(), array.type, array.shape));
  }
  kernel.launch(arguments);
  kernels::Expected all = chosen.entry->reference(problem);
  for (size_t i = 0, output = 0; i < problem.arguments.size(); ++i) {
    if (!problem.arguments[i].isOutput)
      continue;
    const kernels::Expected &expected = all.of(output++);
    std::vector<double> found = kernels::decodeArray(problem.arrays[i].type, memory[i], problem.arrays[i].shape);
    if (kernels::Comparison comparison = kernels::compare(expected, found); !comparison.ok)
      return "element " + std::to_string(*comparison.firstWrong) + " is " +
             std::to_string(found[*comparison.firstWrong]) + ", expected " +
             std::to_string(expected.values[*comparison.firstWrong]);
  }
  return std::nullopt;
}

Verdict refused(const std::string &target, const std::vector<Diagnostic> &diagnostics) {
  for (const Diagnostic &each : diagnostics)
    if (each.severity == Severity::error)
      return {Outcome::refused, std::string(idText(each.id)), target, format(each)};
  return {Outcome::failed, "refused-silently", target, "the compiler failed and said nothing"};
}

Verdict judgeOn(const LibraryCase &chosen, const Target &target, const JudgeOptions &options) {
  Kernel kernel = chosen.entry->build(*chosen.variant);
  CompileAttempt attempt = compileImage(kernel, optionsFor(chosen, target), rt::ImageKind::emulator);
  if (!attempt)
    return refused(target.name, attempt.diagnostics);
  for (uint64_t interleaving : options.interleavings) {
    auto device = rt::makeEmulatorDevice({.checks = true, .adversarial = true, .seed = interleaving, .threads = 1});
    auto loaded = device->load(attempt.result->image);
    for (bool integers : {true, false}) {
      kernels::Problem problem =
          kernels::makeProblem(*chosen.entry, *chosen.variant, chosen.sizes,
                               kernels::ProblemOptions{.seed = 1, .integers = integers}.on(&target));
      try {
        if (std::optional<std::string> wrong = launch(chosen, *loaded, problem))
          return {Outcome::failed, "wrong-result", target.name, *wrong};
      } catch (const CompileError &error) {
        return {Outcome::failed, "emulator", target.name, format(error.diagnostics())};
      }
    }
  }
  if (!options.binaries)
    return {};
  rt::ImageKind kind = target.vendor == Vendor::amd ? rt::ImageKind::hsaco : rt::ImageKind::ptx;
  CompileAttempt binary = compileImage(kernel, optionsFor(chosen, target), kind);
  return binary ? Verdict() : refused(target.name, binary.diagnostics);
}
} // namespace

Verdict judgeLibrary(uint64_t seed, const JudgeOptions &options, std::set<std::string> &features, std::string &what) {
  const RandomOptions all;
  Choose choose(seed, all);
  LibraryCase chosen = chooseCase(choose);
  features = choose.take();
  features.insert({"library", "library." + chosen.entry->name, "library.schedule." + chosen.schedule});
  what = chosen.name();
  for (const Target *target : allTargets()) {
    if (!chosen.mma.empty() && !target->hasTileCopy)
      continue;
    Verdict verdict = judgeOn(chosen, *target, options);
    if (verdict.outcome != Outcome::accepted)
      return verdict;
  }
  return {};
}

} // namespace soliton::generate
