#include "test/attack/Bases.h"

#include "kernels/Kernels.h"
#include "kernels/Schedules.h"
#include "soliton/target/Target.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <random>

namespace soliton::attack {
namespace {
const kernels::KernelEntry &gemm() {
  static const kernels::KernelEntry *entry = kernels::findKernel("gemm");
  return *entry;
}

kernels::Sizes sizesOf(const Setting &setting) {
  return {{"M", setting.blockM}, {"N", setting.blockN}, {"K", setting.blockK * setting.trips}};
}

/// Small integers, so that every right order of operations gives the same bytes.
std::shared_ptr<const Data> makeData(const kernels::Sizes &sizes) {
  kernels::Problem problem =
      kernels::makeProblem(gemm(), gemm().variants.front(), sizes, {.seed = 1, .integers = true});
  auto data = std::make_shared<Data>();
  data->a = kernels::encodeArray(problem["a"]);
  data->b = kernels::encodeArray(problem["b"]);
  kernels::Array result = problem.output();
  result.values = gemm().reference(problem).values;
  data->c = kernels::encodeArray(result);
  return data;
}

std::shared_ptr<const Data> dataOf(const kernels::Sizes &sizes) {
  static std::mutex mutex;
  static std::map<kernels::Sizes, std::shared_ptr<const Data>> known;
  std::lock_guard lock(mutex);
  std::shared_ptr<const Data> &data = known[sizes];
  if (!data)
    data = makeData(sizes);
  return data;
}
} // namespace

std::string Setting::name() const {
  return target + " " + (file.empty() ? schedule : "file of " + schedule) + (directCopies ? " direct " : " ") +
         std::to_string(blockM) + "x" + std::to_string(blockN) + "x" + std::to_string(blockK) + ", " +
         std::to_string(wavesM * wavesN) + " waves, " + std::to_string(trips) + " trips" +
         (dynamic ? " known at launch" : "");
}

CompileOptions Setting::options() const {
  CompileOptions options;
  options.target = target;
  options.directCopies = directCopies;
  options.schedule.name = schedule;
  options.schedule.file = file;
  const kernels::ScheduleEntry *shipped = kernels::findSchedule(schedule);
  if (shipped && file.empty())
    options.schedule.written = std::make_shared<WaveSchedule>(shipped->schedule);
  auto set = [&](const char *name, int64_t value) { options.subs.emplace_back(sym::Expr::symbol(name), value); };
  for (const auto &[name, value] : sizesOf(*this))
    if (dynamic && name == "K")
      options.dynamic.push_back(sym::Expr::symbol(name));
    else
      set(name.c_str(), value);
  set("BLOCK_M", blockM);
  set("BLOCK_N", blockN);
  set("BLOCK_K", blockK);
  set("WAVES_M", wavesM);
  set("WAVES_N", wavesN);
  return options;
}

bool isAboutOrder(const Diagnostic &diagnostic) {
  switch (diagnostic.id) {
  case DiagId::ScheduleBarriers:
  case DiagId::ScheduleBuffers:
  case DiagId::ScheduleDependence:
  case DiagId::ScheduleHazard:
  case DiagId::ScheduleLatencyOnly:
  case DiagId::ScheduleMissingOp:
  case DiagId::ScheduleResource:
  case DiagId::ScheduleWaitValue:
    return true;
  default:
    return false;
  }
}

std::optional<CompileResult> compileUnder(const Setting &setting, std::shared_ptr<const sched::LoopHooks> damage,
                                          std::vector<Diagnostic> &wrong) {
  CompileOptions options = setting.options();
  options.schedule.hooks = std::move(damage);
  CompileAttempt attempt = compileImage(gemm().build(gemm().variants.front()), options, rt::ImageKind::emulator);
  for (Diagnostic &diagnostic : attempt.diagnostics)
    if (diagnostic.severity == Severity::error)
      wrong.push_back(std::move(diagnostic));
  return std::move(attempt.result);
}

emu::Program decode(const rt::KernelImage &image) {
  return emu::deserialize({reinterpret_cast<const uint8_t *>(image.code.data()), image.code.size()});
}

std::optional<Base> makeBase(const Setting &setting, std::vector<Diagnostic> &wrong) {
  std::optional<CompileResult> compiled = compileUnder(setting, nullptr, wrong);
  if (!compiled || compiled->loops.size() != 1)
    return std::nullopt;
  return Base{setting, std::move(compiled->loops.front()), decode(compiled->image), dataOf(sizesOf(setting))};
}

Outcome run(const Base &base, const emu::Program &program, uint64_t seed, bool checks) {
  // Copies: a broken kernel must not spoil what the next one reads. The result starts as NaN patterns.
  std::vector<std::byte> a = base.data->a, b = base.data->b, c(base.data->c.size(), std::byte{0xff});
  emu::LaunchConfig config;
  config.buffers = {{a.data(), a.size()}, {b.data(), b.size()}, {c.data(), c.size()}};
  if (base.setting.dynamic)
    config.scalars = {static_cast<uint64_t>(base.setting.blockK * base.setting.trips)};
  config.seed = seed;
  config.checks = checks;
  config.adversarial = true;
  config.stepLimit = 10'000'000;
  config.threads = 1;
  Outcome outcome;
  outcome.result = emu::run(program, config);
  outcome.right = outcome.result.error.empty() && c == base.data->c && a == base.data->a && b == base.data->b;
  return outcome;
}

std::string Outcome::harm() const {
  for (const emu::Finding &finding : result.findings) {
    if (finding.kind == emu::FindingKind::Deadlock)
      return "hang";
    if (finding.kind == emu::FindingKind::OutOfBounds)
      return "out of bounds";
  }
  if (!result.error.empty())
    return "hang";
  return right ? "" : "wrong result";
}

//===-- Settings --------------------------------------------------------------------------------------------------===//

namespace {
struct Tile {
  int64_t m, n, k, wavesM, wavesN;
};

/// Two matrix instructions along K at least; eight waves for those that want two groups.
std::vector<Tile> tilesFor(int waves) {
  if (waves == 8)
    return {{64, 128, 32, 2, 4}, {128, 128, 32, 2, 4}, {128, 64, 32, 4, 2}, {128, 128, 64, 2, 4}, {64, 128, 64, 2, 4}};
  return {{32, 32, 32, 1, 1}, {32, 64, 32, 1, 2}, {64, 32, 64, 2, 1}, {64, 64, 32, 2, 2}, {64, 64, 64, 2, 2}};
}

/// Rows of unknown length cannot be copied directly.
void addSettings(std::vector<Setting> &list, const Target &target, const std::string &schedule, bool direct,
                 int waves) {
  for (const Tile &tile : tilesFor(waves))
    for (int64_t trips : {2, 3, 4, 5, 6, 8})
      for (bool dynamic : {false, true})
        if (!(dynamic && direct))
          list.push_back(
              {target.name, schedule, {}, direct, tile.m, tile.n, tile.k, tile.wavesM, tile.wavesN, trips, dynamic});
}
} // namespace

/// It names the writes of tiles, which direct copies have not.
static bool namesWrites(const kernels::ScheduleEntry &entry) {
  return entry.name() == "seed000" || entry.name() == "single_buffer";
}

const std::vector<Setting> &allSettings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> list;
    for (const char *name : {"gfx942", "gfx950", "sm_90a"}) {
      const Target &target = *findTarget(name);
      for (const char *algorithm : {"prefetch", "four_stage", "list", "modulo"})
        for (bool direct : {false, true})
          addSettings(list, target, algorithm, direct, 0);
      for (const kernels::ScheduleEntry &entry : kernels::allSchedules())
        for (bool direct : {false, true})
          if (direct ? !namesWrites(entry) : !entry.directCopies || entry.isDeclared)
            addSettings(list, target, entry.name(), direct, entry.waves);
    }
    std::shuffle(list.begin(), list.end(), std::mt19937(2026));
    return list;
  }();
  return all;
}

} // namespace soliton::attack
