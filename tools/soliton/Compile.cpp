//===- Compile.cpp - soliton compile -------------------------------------------------------------===//

#include "tools/soliton/Commands.h"

#include "soliton/driver/Plugin.h"

#include <fstream>
#include <iomanip>
#include <sstream>

namespace soliton::cli {
namespace {

struct Emission {
  const char *name;
  Artefact artefact;
};
constexpr Emission kEmissions[] = {
    {"wave", Artefact::wave}, {"machine", Artefact::machine}, {"llvm", Artefact::llvm},  {"asm", Artefact::assembly},
    {"ptx", Artefact::ptx},   {"hsaco", Artefact::hsaco},     {"cubin", Artefact::cubin}};

/// The whole of what a launch needs, as one file: every kernel of the plan and its manifest.
constexpr const char *kImage = "image";
/// The library that a C++ file of kernels becomes.
constexpr const char *kPlugin = "plugin";

std::optional<Artefact> parseEmission(const std::string &text) {
  if (text.empty() || text == kImage)
    return std::nullopt;
  std::vector<std::string> names{kImage, kPlugin};
  for (const Emission &emission : kEmissions) {
    if (text == emission.name)
      return emission.artefact;
    names.push_back(emission.name);
  }
  throw UsageError(withChoices("found `--emit " + text + "`", text, names));
}

/// The image that has to be made for an artefact to exist; texts of the middle end need none, so the cheapest is made.
rt::ImageKind imageFor(std::optional<Artefact> artefact, const Target &target) {
  if (artefact == Artefact::wave || artefact == Artefact::machine)
    return rt::ImageKind::emulator;
  if (artefact == Artefact::cubin)
    return rt::ImageKind::cubin;
  if (artefact == Artefact::ptx)
    return rt::ImageKind::ptx;
  if (artefact == Artefact::hsaco)
    return rt::ImageKind::hsaco;
  return target.vendor == Vendor::amd ? rt::ImageKind::hsaco : rt::ImageKind::ptx;
}

Json summary(const CompileCommand &command, const CompileResult &result) {
  Json conflicts = Json::array();
  for (const BankConflicts &entry : result.bankConflicts)
    conflicts.push_back({{"file", entry.place.file},
                         {"line", entry.place.line},
                         {"access", entry.write ? "store" : "load"},
                         {"bytes_per_lane", entry.bytesPerLane},
                         {"conflicts", entry.conflicts}});
  return {{"ok", true},
          {"kernel", command.choice.kernel},
          {"target", result.image.target},
          {"kind", rt::name(result.image.kind)},
          {"compile_ms", phasesJson(result)},
          {"code_object_bytes", result.image.code.size()},
          {"shared_bytes", result.image.staticSharedBytes + result.image.dynamicSharedBytes},
          {"threads", result.image.threads[0]},
          {"vgprs", result.vgprs},
          {"agprs", result.agprs},
          {"sgprs", result.sgprs},
          {"spill_bytes", result.spillBytes},
          {"machine_ops", result.machineOps},
          {"matrix_ops", result.matrixOps},
          {"bank_conflicts", conflicts},
          {"output", command.output},
          {"warnings", diagnosticsJson(result.warnings)}};
}

} // namespace

bool isFile(const std::string &kernel) {
  return kernel.size() > 5 && kernel.ends_with(".mlir");
}

std::string readFile(const std::string &path) {
  constexpr std::streamsize kLimit = 64 << 20;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw UsageError("cannot read `" + path + "`");
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (static_cast<std::streamsize>(text.size()) > kLimit)
    throw UsageError("`" + path + "` has more than 64 MiB");
  return text;
}

void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush())
    throw UsageError("cannot write `" + path + "`");
}

CompileOptions optionsForFile(const KernelChoice &choice) {
  CompileOptions options;
  options.wideOffsets = choice.wideOffsets;
  options.mma = choice.mma;
  if (!choice.directCopies.empty())
    options.directCopies = isOn("--direct-copies", choice.directCopies);
  options.stagedWrites = !choice.stagedWrites.empty() && isOn("--staged-writes", choice.stagedWrites);
  options.boxedWrites = choice.boxedWrites.empty() || isOn("--boxed-writes", choice.boxedWrites);
  options.shortSums = !choice.shortSums.empty() && isOn("--short-sums", choice.shortSums);
  options.raster = choice.raster;
  options.persistent = choice.persistent;
  options.serviceWaves = choice.serviceWaves;
  if (!choice.overlapTiles.empty())
    options.overlapTiles = isOn("--overlap-tiles", choice.overlapTiles);
  if (!choice.turns.empty())
    options.turns = isOn("--turns", choice.turns);
  if (!choice.dependentLaunch.empty())
    options.dependentLaunch = isOn("--dependent-launch", choice.dependentLaunch);
  options.stable = choice.stable;
  options.cluster = choice.cluster;
  options.workgroupsPerCluster = choice.workgroupsPerCluster;
  options.workgroupsPerUnit = choice.workgroupsPerUnit;
  options.paddedRows = paddingOf(choice.paddedRows);
  if (choice.targetGiven && !findTarget(choice.target))
    throw UsageError(unknown("target", choice.target, targetNames()));
  if (choice.targetGiven)
    options.target = choice.target;
  if (choice.faithful || !choice.waive.empty())
    throw UsageError("`--faithful` is for kernels of the library, whose tile it knows; found the text of a module");
  options.schedule = resolveSchedule(choice.schedule);
  options.schedule.placement.swizzle = isOn("--swizzle", choice.swizzle);
  return options;
}

/// Whether the choice of layouts is to be explained.
static bool explainsLayouts(const CompileCommand &command) {
  if (!command.explain.empty() && command.explain != "layouts" && command.explain != "auto")
    throw UsageError("found `--explain " + command.explain + "`, expected `layouts` or `auto`");
  return command.explain == "layouts";
}

/// The library of a user's file, for machines where there is no compiler.
static int compilePluginFile(const CompileCommand &command, std::ostream &out, std::ostream &err) {
  if (!isPluginFile(command.choice.kernel) || command.choice.kernel.ends_with(".so"))
    throw UsageError("`--emit plugin` takes a C++ file of kernels, found `" + command.choice.kernel + "`");
  if (command.output.empty())
    throw UsageError("`--emit plugin` writes a library: say where with `-o FILE.so`");
  err << withLineEnd(buildPlugin(command.choice.kernel, command.output));
  if (command.choice.json)
    out << line({{"ok", true}, {"kernel", command.choice.kernel}, {"output", command.output}});
  else
    out << "wrote " << command.output << "\n";
  return 0;
}

int compileKernel(const CompileCommand &command, std::ostream &out, std::ostream &err) {
  if (!command.aot.empty())
    return compileAot(command, out, err);
  if (command.emit == kPlugin)
    return compilePluginFile(command, out, err);
  std::optional<Artefact> artefact = parseEmission(command.emit);
  Resolved resolved = resolve(command.choice, err);
  resolved.options.askAssembler = command.emit == kImage || artefact == Artefact::ptx;
  resolved.options.printAfter = command.printAfter;
  resolved.options.explainLayouts = explainsLayouts(command);
  resolved.options.countBankConflicts = command.choice.json;
  if (artefact)
    resolved.options.keep = {*artefact};
  // A target that nobody knows is reported with a module's other mistakes.
  auto kind = [&](const std::string &name) {
    const Target *target = findTarget(name);
    return target ? imageFor(artefact, *target) : rt::ImageKind::emulator;
  };
  CompileAttempt attempt = compileResolved(resolved, kind, /*isKept=*/false);
  if (!attempt)
    return reportFailure(attempt.diagnostics, command.choice.json, out, err);
  const CompileResult &result = *attempt.result;
  if (command.emit == kImage) {
    if (command.output.empty())
      throw UsageError("`--emit image` writes a binary file: say where with `-o`");
    rt::writeImage(command.output, result.image);
  }
  if (artefact && result.artefacts.empty())
    throw UsageError("`" + result.image.target + "` has no `" + command.emit + "`");
  if (artefact && !command.output.empty())
    writeFile(command.output, result.artefacts.front().second);
  else if (artefact && !command.choice.json)
    out << result.artefacts.front().second;
  for (const Diagnostic &warning : result.warnings)
    if (warning.id != DiagId::AutoChoice || command.explain == "auto")
      err << format(warning) << "\n";
  if (command.choice.json) {
    out << line(summary(command, result));
    return 0;
  }
  if (command.time || !artefact) {
    std::ostream &stream = artefact && command.output.empty() ? err : out;
    for (const CompilePhase &phase : result.phases)
      stream << std::left << std::setw(16) << phase.name << std::right << std::fixed << std::setprecision(2)
             << std::setw(10) << phase.ms << " ms\n";
    stream << std::left << std::setw(16) << "total" << std::right << std::setw(10) << result.totalMs() << " ms\n";
  }
  if (!command.output.empty())
    out << "wrote " << command.output << "\n";
  return 0;
}

} // namespace soliton::cli
