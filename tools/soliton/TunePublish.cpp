//===- TunePublish.cpp - What `auto` takes of a run -------------------------------------------------===//
//
// The winner is said in the words of the compiler alone (symbols, options, a schedule by name or as a file), applied to
// the kernel as `auto` will find it, and compiled once: what does not pass here is not left for anybody.
//
//===----------------------------------------------------------------------===//

#include "soliton/authoring/ScheduleFile.h"
#include "soliton/driver/Tuned.h"
#include "soliton/frontend/Program.h"
#include "soliton/tuner/KernelJudge.h"
#include "tools/soliton/Tune.h"

namespace soliton::cli {

namespace {

/// The schedules of all loops as a file: of those that are functions of ours or of the author.
std::string scheduleAsFile(const Publication &publication) {
  CompileAttempt attempt = publication.judge.compileLoops(publication.winner.candidate);
  std::vector<sched::ScheduleFile> files;
  if (attempt)
    for (const sched::LoopReport &loop : attempt.result->loops)
      files.push_back(sched::toFile(loop));
  return files.empty() ? "" : sched::printText(files);
}

/// What was said, else what the kernel says.
int64_t serviceWavesOf(const Resolved &made) {
  const std::shared_ptr<frontend::Program> program = made.entry->build(*made.variant).program();
  const auto *hardware = program->findAny<HardwareConstraint>();
  return made.options.serviceWaves.value_or(hardware ? hardware->n_service_waves : 0);
}

TunedResult resultOf(const Publication &publication) {
  Resolved made = publication.judge.resolvedFor(publication.winner.candidate);
  const CompileOptions &options = made.options;
  TunedResult result;
  result.origin = publication.origin;
  result.microseconds = publication.winner.cost;
  for (const auto &[symbol, value] : options.subs)
    if (std::optional<int64_t> number = value.constantValue();
        number && !made.sizes.contains(std::string(symbol.symbolName())))
      result.choices[std::string(symbol.symbolName())] = std::to_string(*number);
  result.choices["direct_copies"] = options.directCopies ? "on" : "off";
  result.choices["staged_writes"] = options.stagedWrites ? "on" : "off";
  result.choices["raster"] = std::to_string(options.raster);
  result.choices["cluster"] = std::to_string(options.cluster);
  result.choices["persistent"] = std::to_string(options.persistent);
  if (findTarget(options.target)->hasTileCopy)
    result.choices["service_waves"] = std::to_string(serviceWavesOf(made));
  if (options.overlapTiles.value_or(false))
    result.choices["overlap_tiles"] = "on";
  if (options.turns.value_or(false))
    result.choices["turns"] = "on";
  if (!options.workgroupsPerCluster.empty())
    result.choices["workgroups_per_cluster"] = textOfPerCluster(options.workgroupsPerCluster);
  result.choices["swizzle"] = options.schedule.placement.swizzle ? "on" : "off";
  result.choices["mma"] = options.mma.empty() ? "default" : options.mma;
  result.choices["padded_rows"] = options.paddedRows == RowPadding::always  ? "on"
                                  : options.paddedRows == RowPadding::never ? "off"
                                                                            : "auto";
  result.schedule = options.schedule.file;
  if (options.schedule.written)
    result.schedule = scheduleAsFile(publication);
  if (result.schedule.empty())
    result.choices["schedule"] = options.schedule.name;
  return result;
}

/// The kernel as somebody compiles it who says its sizes and nothing else.
Resolved asFound(const KernelChoice &choice) {
  KernelChoice plain;
  plain.kernel = choice.kernel;
  plain.target = choice.target;
  plain.targetGiven = true;
  plain.dtype = choice.dtype;
  plain.sizes = choice.sizes;
  plain.dynamic = choice.dynamic;
  std::ostringstream unheard;
  return resolve(plain, unheard);
}

} // namespace

std::optional<tune::Candidate> choiceOfAuto(const KernelChoice &choice) {
  Resolved found = asFound(choice);
  if (!found.entry)
    return std::nullopt;
  found.options.tuned = TunedUse::off;
  Kernel kernel = found.entry->build(*found.variant);
  std::vector<AutoChoice> choices = chooseAutomatically(kernel, found.options);
  if (choices.empty() || choices.front().options.schedule.written || !choices.front().options.schedule.file.empty())
    return std::nullopt;
  const CompileOptions &options = choices.front().options;
  if (options.schedule.name == sched::kFastest || options.schedule.name == "none")
    return std::nullopt; // no row of its table: nobody measured that
  tune::Candidate candidate;
  for (const auto &[symbol, value] : options.subs)
    if (std::optional<int64_t> number = value.constantValue();
        number && !found.sizes.contains(std::string(symbol.symbolName())))
      candidate.choices[std::string(symbol.symbolName())] = std::to_string(*number);
  candidate.choices["schedule"] = options.schedule.name;
  candidate.choices["direct_copies"] = options.directCopies ? "on" : "off";
  candidate.choices["staged_writes"] = options.stagedWrites ? "on" : "off";
  candidate.choices["raster"] = std::to_string(options.raster);
  candidate.choices["cluster"] = std::to_string(std::max<int64_t>(options.cluster, 1));
  candidate.choices["persistent"] = std::to_string(options.persistent);
  if (options.serviceWaves)
    candidate.choices["service_waves"] = std::to_string(*options.serviceWaves);
  if (options.overlapTiles.value_or(false))
    candidate.choices["overlap_tiles"] = "on";
  if (options.turns.value_or(false))
    candidate.choices["turns"] = "on";
  if (!options.workgroupsPerCluster.empty())
    candidate.choices["workgroups_per_cluster"] = textOfPerCluster(options.workgroupsPerCluster);
  candidate.choices["mma"] = options.mma.empty() ? "default" : options.mma;
  return candidate;
}

std::string publish(const Publication &publication) {
  Resolved found = asFound(publication.command.choice);
  Kernel kernel = found.entry->build(*found.variant);
  TunedResult result = resultOf(publication);
  if (auto schedule = result.choices.find("schedule"); schedule != result.choices.end() && schedule->second == "auto")
    return "takes what it took before: the winner is its own choice";
  if (std::optional<TunedResult> before = findTuned(kernel, found.options, publication.device);
      before && before->microseconds > 0 && before->microseconds < result.microseconds &&
      before->origin.find(publication.sizes) != std::string::npos)
    return "keeps an earlier result: " + before->origin;
  std::variant<CompileOptions, std::string> taken = withTuned(found.options, result);
  if (const std::string *wrong = std::get_if<std::string>(&taken))
    return "will not take it: " + *wrong;
  CompileOptions &options = std::get<CompileOptions>(taken);
  CompileAttempt proof = compileImage(kernel, options, rt::ImageKind::emulator, Place());
  std::optional<std::string> program = programHash(kernel, options);
  if (!proof || !program)
    return "will not take it: " + tune::refusedBy(proof.diagnostics).why;
  result.program = *program;
  if (!publishTuned(kernel, found.options, publication.device, result))
    return "can't take it: there is no folder for tuned results that can be written";
  return publication.command.device.empty() ? "takes it where `--tuned modelled` allows what was not measured"
                                            : "takes it from now on, on " + publication.device;
}

} // namespace soliton::cli
