//===- TuneJudge.cpp - What a candidate comes to ----------------------------------------------------===//

#include "soliton/driver/LoopLaunch.h"
#include "soliton/driver/Tuned.h"
#include "soliton/frontend/Program.h"
#include "soliton/runtime/EmulatorDevice.h"
#include "soliton/tuner/KernelJudge.h"
#include "tools/soliton/Placed.h"
#include "tools/soliton/Tune.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

namespace soliton::cli {
using tune::Candidate;
using tune::refusedBy;
using tune::Result;
using tune::Stage;

/// What sizes at which answers are checked are larger by than the small ones: whole tiles, one more, ragged.
static constexpr std::array<int64_t, 3> kMore = {0, 1, 13};

KernelChoice chosen(const KernelChoice &choice, const Candidate &candidate) {
  KernelChoice result = choice;
  for (const auto &[name, value] : candidate.choices) {
    if (name == "schedule")
      result.schedule = value;
    else if (name == "direct_copies")
      result.directCopies = value;
    else if (name == "mma")
      result.mma = value == "default" ? "" : value;
    else if (name == "padded_rows")
      result.paddedRows = value;
    else if (name == "staged_writes")
      result.stagedWrites = value;
    else if (name == "swizzle")
      result.swizzle = value;
    else if (name == "raster")
      result.raster = std::strtoll(value.c_str(), nullptr, 10);
    else if (name == "cluster")
      result.cluster = std::strtoll(value.c_str(), nullptr, 10);
    else if (name == "persistent")
      result.persistent = std::strtoll(value.c_str(), nullptr, 10);
    else if (name == "service_waves")
      result.serviceWaves = std::strtoll(value.c_str(), nullptr, 10);
    else if (name == "overlap_tiles")
      result.overlapTiles = value;
    else if (name == "turns")
      result.turns = value;
    else if (name == "workgroups_per_cluster")
      result.workgroupsPerCluster = perClusterFrom(value).value_or(std::vector<int64_t>{0});
    else {
      std::erase_if(result.settings, [&](const std::string &said) { return said.starts_with(name + "="); });
      result.settings.push_back(name + "=" + value);
    }
  }
  return result;
}

lang::Substitutions withSizes(const Resolved &resolved) {
  lang::Substitutions bound = resolved.options.subs;
  for (const sym::Expr &size : resolved.options.dynamic)
    bound.emplace_back(size, resolved.sizes.at(std::string(size.symbolName())));
  return bound;
}

TuneJudge::TuneJudge(KernelChoice choice, std::string device, std::string cache)
    : choice(std::move(choice)), device(std::move(device)), cache(std::move(cache)) {}
TuneJudge::~TuneJudge() = default;

rt::ImageKind imageForName(const std::string &device) {
  return device.starts_with("cuda")  ? rt::ImageKind::ptx
         : device.starts_with("hip") ? rt::ImageKind::hsaco
                                     : rt::ImageKind::emulator;
}

Resolved TuneJudge::resolvedFor(const Candidate &candidate, const kernels::Sizes *sizes) const {
  KernelChoice said = chosen(choice, candidate);
  if (sizes) {
    said.sizes.clear();
    for (const auto &[name, value] : *sizes)
      said.sizes.push_back(name + "=" + std::to_string(value));
  }
  std::ostringstream unheard;
  Resolved resolved = resolve(said, unheard);
  if (!candidate.schedule.empty()) {
    resolved.options.schedule = {};
    resolved.options.schedule.file = candidate.schedule;
    resolved.options.schedule.fileName = "tuned.schedule";
  }
  resolved.options.schedule.reportsNone = true;
  // Sizes that are given are small: one workgroup walks all of their tiles, or none would walk any.
  if (sizes && resolved.options.persistent > 0)
    resolved.options.persistent = 1;
  // A candidate is what it says, not what an earlier run found.
  resolved.options.tuned = TunedUse::off;
  return resolved;
}

CompileAttempt TuneJudge::compileLoops(const Candidate &candidate) const {
  auto kind = [](const std::string &) { return rt::ImageKind::emulator; };
  return compileResolved(resolvedFor(candidate), kind, /*isKept=*/false);
}

const CompileAttempt &TuneJudge::compiled(const Candidate &candidate, const kernels::Sizes *sizes,
                                          rt::ImageKind kind) const {
  constexpr size_t kMost = 64;
  std::string key = candidate.text() + std::string(rt::name(kind));
  for (const auto &[name, value] : sizes ? *sizes : kernels::Sizes())
    key += " " + name + "=" + std::to_string(value);
  if (auto known = made.find(key); known != made.end())
    return known->second;
  if (made.size() >= kMost)
    made.clear();
  Resolved resolved = resolvedFor(candidate, sizes);
  // What has reports is not kept.
  resolved.options.schedule.reportsNone = false;
  bool isShared = std::getenv("SOLITON_TUNE_SHARED") != nullptr;
  return made[key] = compileResolved(resolved, [&](const std::string &) { return kind; }, isShared);
}

//===- Modelled ---------------------------------------------------------------------===//

sched::Launch TuneJudge::launchOf(const Candidate &candidate, const CompileResult &compiled,
                                  const sched::LoopReport &loop) const {
  Resolved resolved = resolvedFor(candidate);
  if (!resolved.entry)
    return soliton::launchOf(nullptr, compiled, loop, {});
  Kernel kernel = resolved.entry->build(*resolved.variant);
  return soliton::launchOf(&kernel, compiled, loop, withSizes(resolved));
}

Result TuneJudge::model(const Candidate &candidate) const {
  Resolved resolved = resolvedFor(candidate);
  return tune::judgeByModel(
      {.compile =
           [&](rt::ImageKind kind) {
             return compileResolved(resolved, [=](const std::string &) { return kind; }, /*isKept=*/false);
           },
       .launch = [&](const CompileResult &compiled,
                     const sched::LoopReport &loop) { return launchOf(candidate, compiled, loop); }});
}

//===- The right answer -------------------------------------------------------------===//

/// Six iterations of every loop and a bit more, one or two tiles of the rest, two of what there is few of.
kernels::Sizes TuneJudge::smallSizes(const Resolved &resolved, int64_t more) const {
  constexpr int64_t kTile = 64, kFew = 32, kIterations = 6, kWalked = 2;
  // A workgroup that walks several tiles needs some to walk.
  const bool isWalked = resolved.options.persistent > 0;
  kernels::Sizes sizes = resolved.sizes;
  if (!resolved.entry)
    return sizes;
  const std::shared_ptr<frontend::Program> program = resolved.entry->build(*resolved.variant).program();
  for (auto &[name, value] : sizes) {
    const std::vector<std::string> &fixed = resolved.entry->fixedSizes;
    if (std::ranges::find(fixed, name) != fixed.end())
      continue;
    const auto *tiling = program->find<TilingConstraint>(
        [&](const TilingConstraint &each) { return each.dim.isSymbol() && each.dim.symbolName() == name; });
    std::optional<int64_t> tile = tiling ? valueOf(tiling->tile, resolved.options.subs) : std::nullopt;
    const auto *workgroups = program->find<WorkgroupConstraint>(
        [&](const WorkgroupConstraint &each) { return each.dim.isSymbol() && each.dim.symbolName() == name; });
    std::optional<int64_t> rows =
        isWalked && workgroups ? valueOf(workgroups->tile, resolved.options.subs) : std::nullopt;
    int64_t small = tile ? kIterations * *tile : value <= kFew ? 2 : rows ? kWalked * *rows : kTile;
    value = std::min(value, small + (value > kFew ? more : 0));
  }
  return sizes;
}

/// What is wrong with its results; empty if nothing. Throws CompileError where the emulator finds a mistake.
static std::string wrongResult(const Resolved &resolved, const rt::KernelImage &image, rt::Device &device) {
  std::unique_ptr<rt::LoadedKernel> kernel = device.load(image);
  const Target *target = findTarget(image.target);
  for (bool integers : {true, false}) {
    Trial trial =
        makeTrial(resolved, image,
                  kernels::ProblemOptions{.seed = 1, .integers = integers}.on(target, resolved.options.shortSums), {});
    PlacedArguments placed(device, trial);
    kernel->launch(placed.arguments(), {.symbols = trial.symbols});
    device.synchronise();
    bool guardsIntact = true;
    Verdict verdict = judge(resolved, trial, placed.fetch(guardsIntact));
    if (!guardsIntact)
      return "memory beside an argument was written";
    if (!verdict.comparison.ok)
      return "`" + verdict.argument + "` is wrong by " + std::to_string(verdict.comparison.maxAbsError) +
             ", expected at most " + std::to_string(verdict.comparison.errorBound);
  }
  return {};
}

Result TuneJudge::answerOnEmulator(const Candidate &candidate) const {
  constexpr std::array<int64_t, 2> kWholeAndRagged = {kMore.front(), kMore.back()};
  return answer(candidate, *rt::makeEmulatorDevice({.checks = true, .adversarial = true, .seed = 1}), kWholeAndRagged);
}

Result TuneJudge::answerOn(rt::Device &device, const Candidate &candidate, bool isThorough) const {
  return answer(candidate, device, isThorough ? std::span(kMore) : std::span(kMore).first(1));
}

Result TuneJudge::answer(const Candidate &candidate, rt::Device &device, std::span<const int64_t> larger) const {
  std::string unchecked;
  for (int64_t more : larger) {
    kernels::Sizes sizes = smallSizes(resolvedFor(candidate), more);
    Resolved resolved = resolvedFor(candidate, &sizes);
    const CompileAttempt &attempt = compiled(candidate, &sizes, imageFor(device));
    // A schedule may be for aligned rows alone, or name instructions that masks make others of.
    if (!attempt && more > 0) {
      unchecked = "not for ragged sizes: " + refusedBy(attempt.diagnostics).why;
      continue;
    }
    if (!attempt)
      return Result::refused("answer", refusedBy(attempt.diagnostics).why);
    if (std::string wrong = wrongResult(resolved, attempt.result->image, device); !wrong.empty())
      return Result::refused("answer", wrong);
  }
  Result result;
  result.why = unchecked;
  return result;
}

void TuneJudge::build(const Candidate &candidate) const {
  rt::ImageKind kind = imageForName(device);
  try {
    compiled(candidate, nullptr, kind);
    for (int64_t more : kMore) {
      kernels::Sizes sizes = smallSizes(resolvedFor(candidate), more);
      compiled(candidate, &sizes, kind);
    }
  } catch (
      const std::exception &) { // NOLINT(bugprone-empty-catch): who measures it compiles it, and says what is wrong
  }
}

Result TuneJudge::judge(const Candidate &candidate, const tune::Question &question) const {
  auto start = std::chrono::steady_clock::now();
  bool isMeasured = question.stage == Stage::Device || question.stage == Stage::Duel;
  std::string filter = isMeasured ? "device" : question.stage == Stage::Answer ? "answer" : "";
  Result result;
  try {
    if (isMeasured && !bench)
      bench = std::make_unique<TuneBench>(*this, device, cache);
    result = isMeasured                        ? bench->measure(candidate, question.other)
             : question.stage == Stage::Answer ? answerOnEmulator(candidate)
                                               : model(candidate);
  } catch (const CompileError &error) {
    result = refusedBy(error.diagnostics());
    result.refusedBy = filter.empty() ? result.refusedBy : filter;
  } catch (const std::exception &error) {
    result = Result::refused(filter.empty() ? "verifier" : filter, error.what());
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

} // namespace soliton::cli
