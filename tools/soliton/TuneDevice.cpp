//===- TuneDevice.cpp - How long a candidate takes on a device --------------------------------------===//
//
// One kernel at a time: right at a small size (in a duel at three), then warmed up, then timed by events, some launches
// a sample so that the events do not count; then right again. In a duel both take turns, sample by sample, so that the
// chip's clock and heat are the same for both. Launches are replayed from a graph where the driver has them, so that a
// busy host does not count. The figure is the median; its spread the distance of the quartiles; samples far from it are
// counted and said. Clock and temperature are read behind the last sample.
//
// Caches are warm: inputs and outputs stay where they are between launches. Or cold: there are several copies of all
// arguments, which launches take in turn, so many that what the others touch is twice what the last cache holds when a
// copy's turn comes again.
//
//===----------------------------------------------------------------------===//

#include "soliton/runtime/Telemetry.h"
#include "tools/soliton/Placed.h"
#include "tools/soliton/Tune.h"

#include <algorithm>
#include <cmath>

namespace soliton::cli {
using tune::Candidate;
using tune::Result;

namespace {

constexpr int kSamples = 21, kWarmUps = 5;
/// A sample takes this long, if it can.
constexpr double kSampleMicroseconds = 200;

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(part * static_cast<double>(values.size() - 1)))];
}

/// Samples farther from the median than four times the usual distance (of a normal distribution: one in 15,000).
int64_t countOutliers(const std::vector<double> &values) {
  double median = quantile(values, 0.5);
  std::vector<double> distances;
  for (double value : values)
    distances.push_back(std::abs(value - median));
  double usual = 1.4826 * quantile(distances, 0.5);
  return std::ranges::count_if(distances, [&](double distance) { return distance > 4 * usual + 0.01 * median; });
}

} // namespace

/// What kernels of the same sizes share.
struct TuneBench::Arguments {
  Arguments(const Resolved &resolved, const rt::KernelImage &image, rt::Device &device, bool isCold)
      : trial(makeTrial(resolved, image, optionsFor(image), {})), placed(device, trial) {
    for (size_t i = isCold ? rt::copiesBeyondCache(device.info(), bytes()) : 0; i > 0; --i) {
      elsewhere.push_back(std::make_unique<PlacedArguments>(device, trial));
      std::span<const rt::Argument> list = elsewhere.back()->arguments();
      copies.emplace_back(list.begin(), list.end());
    }
  }

  size_t bytes() const {
    size_t sum = 0;
    for (const std::vector<std::byte> &each : trial.bytes)
      sum += each.size();
    return sum;
  }

  static kernels::ProblemOptions optionsFor(const rt::KernelImage &image) {
    return kernels::ProblemOptions{.seed = 1}.on(findTarget(image.target));
  }

  Trial trial;
  PlacedArguments placed;
  std::vector<std::unique_ptr<PlacedArguments>> elsewhere;
  std::vector<std::vector<rt::Argument>> copies;
};

struct TuneBench::Loaded {
  std::unique_ptr<rt::LoadedKernel> kernel;
  std::optional<rt::DeviceBuffer> workspace;
  rt::TimingOptions timing;
  bool isReplayed = false;
};

TuneBench::TuneBench(const TuneJudge &judge, const std::string &device, std::string cache)
    : judge(judge), device(rt::device(device)), cache(std::move(cache)) {}
TuneBench::~TuneBench() = default;

std::unique_ptr<TuneBench::Loaded> TuneBench::load(const Candidate &candidate) {
  Resolved resolved = judge.resolvedFor(candidate);
  const CompileAttempt &attempt = judge.compiled(candidate, nullptr, imageFor(device));
  if (!attempt)
    throw CompileError(attempt.diagnostics);
  if (!arguments)
    arguments = std::make_unique<Arguments>(resolved, attempt.result->image, device, cache != "warm");
  auto loaded = std::make_unique<Loaded>();
  loaded->kernel = device.load(attempt.result->image);
  loaded->timing.warmup = 0;
  loaded->timing.replays = true;
  loaded->timing.launch.symbols = arguments->trial.symbols;
  std::span<const rt::Argument> list = arguments->placed.arguments();
  if (uint64_t bytes = loaded->kernel->workspaceBytes(list, loaded->timing.launch); bytes > 0) {
    loaded->workspace.emplace(device, bytes);
    loaded->timing.launch.workspace = {loaded->workspace->data(), loaded->workspace->bytes()};
  }
  return loaded;
}

/// One sample more; the first decides how many launches make one.
void TuneBench::sample(Loaded &loaded, std::vector<double> &microseconds, bool isFirst, bool isCold) {
  if (isFirst) {
    loaded.timing.copies = isCold ? arguments->copies : std::vector<std::vector<rt::Argument>>();
    loaded.timing.warmup = kWarmUps;
    loaded.timing.repetitions = 3;
    loaded.timing.launchesPerSample = 1;
    double once = rt::measure(device, *loaded.kernel, arguments->placed.arguments(), loaded.timing).median;
    loaded.timing.launchesPerSample = std::clamp(static_cast<int>(kSampleMicroseconds / std::max(once, 1.0)), 1, 100);
    loaded.timing.warmup = 0;
    loaded.timing.repetitions = 1;
  }
  rt::Timing timing = rt::measure(device, *loaded.kernel, arguments->placed.arguments(), loaded.timing);
  loaded.isReplayed = timing.isReplayed;
  microseconds.push_back(timing.median);
}

Result TuneBench::measure(const Candidate &candidate, const Candidate *other) {
  // Who may win is looked at more closely.
  bool isThorough = other != nullptr;
  if (Result before = judge.answerOn(device, candidate, isThorough); before.isRefused())
    return Result::refused("device", before.why);
  std::unique_ptr<Loaded> mine = load(candidate), its = other ? load(*other) : nullptr;
  std::vector<double> own, others;
  for (int i = 0; i < kSamples; ++i) {
    sample(*mine, own, i == 0, cache == "cold");
    if (its)
      sample(*its, others, i == 0, cache == "cold");
  }
  std::vector<double> cold;
  for (int i = 0; i < kSamples && cache == "both"; ++i)
    sample(*mine, cold, i == 0, /*isCold=*/true);
  rt::Telemetry now = rt::readTelemetry(device.info());
  if (Result after = judge.answerOn(device, candidate, isThorough); after.isRefused())
    return Result::refused("device", "after it was timed: " + after.why);
  Result result;
  result.measuredMicroseconds = quantile(own, 0.5);
  result.cache = cache;
  result.coldMicroseconds = cache == "cold" ? result.measuredMicroseconds : cold.empty() ? 0 : quantile(cold, 0.5);
  result.spread = quantile(own, 0.75) - quantile(own, 0.25);
  result.outliers = countOutliers(own);
  result.isReplayed = mine->isReplayed;
  result.clockMHz = now.clockMHz;
  result.celsius = now.celsius;
  if (its)
    result.otherMicroseconds = quantile(others, 0.5);
  return result;
}

} // namespace soliton::cli
