//===- Library.cpp - Kernels of the library at sizes, tiles and waves that nobody chose -----------===//
#include "kernels/Kernels.h"
#include "soliton/driver/Compile.h"
#include "soliton/runtime/EmulatorDevice.h"
#include "soliton/target/Target.h"
#include "test/generate/Choose.h"
#include "test/generate/Judge.h"

#include <algorithm>

namespace soliton::generate {
namespace {

struct LibraryCase {
  const kernels::KernelEntry *entry = nullptr;
  const kernels::Variant *variant = nullptr;
  kernels::Sizes sizes, tiles;
  std::set<std::string> dynamic;
  std::string schedule = "none";
  bool directCopies = false;

  std::string name() const {
    std::string text = entry->name + " " + variant->name;
    for (const kernels::Sizes &list : {sizes, tiles})
      for (const auto &[symbol, value] : list)
        text += " " + symbol + "=" + std::to_string(value) + (dynamic.contains(symbol) ? "(dynamic)" : "");
    return text + " schedule " + schedule + (directCopies ? ", direct copies" : "");
  }
};

int64_t chooseTile(Choose &choose, const std::string &name, bool isMatrix) {
  if (name.starts_with("WAVES"))
    return choose.from(std::vector<int64_t>{1, 2, 2, 4});
  if (isMatrix)
    return name == "BLOCK_K" ? choose.from(std::vector<int64_t>{32, 64, 128})
                             : choose.from(std::vector<int64_t>{64, 64, 128});
  // Waves share the rows, so their number divides them.
  return name == "BLOCK_M" ? choose.from(std::vector<int64_t>{16, 32, 64, 128})
                           : choose.from(std::vector<int64_t>{1, 2, 8, 16, 17, 32, 64, 96, 128});
}

/// Kernels of which every size may be any number that a tile suggests.
const std::vector<const kernels::KernelEntry *> &freeKernels() {
  static const std::vector<const kernels::KernelEntry *> list = [] {
    std::vector<const kernels::KernelEntry *> all;
    for (const kernels::KernelEntry *entry : kernels::allKernels())
      if (std::ranges::all_of(entry->sizes, [](const auto &size) {
            return std::string_view("MNK").find(size.name) != std::string_view::npos;
          }))
        all.push_back(entry);
    return all;
  }();
  return list;
}

LibraryCase chooseCase(Choose &choose) {
  LibraryCase chosen;
  chosen.entry = choose.from(freeKernels());
  chosen.variant = &choose.from(chosen.entry->variants);
  bool isMatrix = chosen.entry->name.starts_with("gemm");
  for (const kernels::DefaultSize &tile : chosen.entry->tiles)
    chosen.tiles[tile.name] = chooseTile(choose, tile.name, isMatrix);
  for (const kernels::DefaultSize &size : chosen.entry->sizes) {
    auto tile = chosen.tiles.find("BLOCK_" + size.name);
    int64_t unit = tile == chosen.tiles.end() ? 16 : tile->second;
    chosen.sizes[size.name] = choose.chance(40) ? unit * choose.between(1, 3) : choose.between(1, 3 * unit);
    if (choose.maybe("library.dynamic", 30))
      chosen.dynamic.insert(size.name);
  }
  static const std::vector<std::string> kSchedules = {"none", "none", "prefetch", "four_stage", "list", "modulo"};
  if (isMatrix) {
    chosen.schedule = choose.from(kSchedules);
    chosen.directCopies = choose.maybe("library.direct-copies", 25);
  }
  return chosen;
}

CompileOptions optionsFor(const LibraryCase &chosen, const Target &target) {
  CompileOptions options;
  options.target = target.name;
  options.directCopies = chosen.directCopies;
  options.schedule.name = chosen.schedule;
  for (const auto &[name, value] : chosen.sizes)
    if (chosen.dynamic.contains(name))
      options.dynamic.push_back(sym::Expr::symbol(name));
    else
      options.subs.emplace_back(sym::Expr::symbol(name), value);
  for (const auto &[name, value] : chosen.tiles)
    options.subs.emplace_back(sym::Expr::symbol(name), value);
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
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    if (!problem.arguments[i].isOutput)
      continue;
    kernels::Expected expected = chosen.entry->reference(problem);
    std::vector<double> found = kernels::decodeArray(problem.arrays[i].type, memory[i]);
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
      kernels::Problem problem = kernels::makeProblem(*chosen.entry, *chosen.variant, chosen.sizes,
                                                      {.seed = 1, .integers = integers, .nativeF8 = target.fp8e4m3});
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
    Verdict verdict = judgeOn(chosen, *target, options);
    if (verdict.outcome != Outcome::accepted)
      return verdict;
  }
  return {};
}

} // namespace soliton::generate
