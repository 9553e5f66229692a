#include "test/attack/Attack.h"

#include "soliton/authoring/LoopHooks.h"
#include "soliton/schedule/RegisterWaits.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/Verify.h"

#include <algorithm>
#include <random>

namespace soliton::attack {
namespace {
using sched::Entry;
using sched::EntryKind;
using sched::Mutation;
using sched::OpKind;
using sched::Phase;

bool isMemory(OpKind kind) {
  return kind == OpKind::GlobalLoad || kind == OpKind::SharedStore || kind == OpKind::SharedLoad ||
         kind == OpKind::CopyAsync;
}

/// Picks what to break in one base.
class Saboteur {
public:
  Saboteur(const Base &base, Mutation kind, uint32_t seed)
      : base(base), problem(base.loop.problem), kind(kind), seed(seed), random(seed) {}

  /// The damage, to be applied while compiling; null where there is nothing to break.
  std::shared_ptr<sched::LoopHooks> run() {
    switch (kind) {
    case Mutation::ShrinkBuffer:
      return shrinkBuffer();
    case Mutation::SwapStages:
      return swapStages();
    case Mutation::WrongDistance:
      if (pick(2) == 0)
        if (std::shared_ptr<sched::LoopHooks> damage = derivedFromWrongDistance())
          return damage;
      return wrongDistance();
    case Mutation::MissingStagger:
      if (pick(4) == 0)
        return noStagger();
      break;
    default:
      break;
    }
    std::optional<sched::Mutant> mutant = sched::mutate(problem, base.loop.schedule, base.loop.program, kind, seed);
    if (!mutant)
      return nullptr;
    what = mutant->what;
    return replacing(std::move(mutant->schedule), std::move(mutant->program));
  }

  std::string what;

private:
  size_t pick(size_t count) { return random() % count; }

  static std::shared_ptr<sched::LoopHooks> replacing(sched::Schedule schedule, sched::Program program) {
    auto damage = std::make_shared<sched::LoopHooks>();
    damage->afterSchedule = [schedule](const sched::Problem &, sched::Schedule &into) { into = schedule; };
    damage->afterSynchronize = [program](const sched::Problem &, const sched::Schedule &, sched::Program &into) {
      into = program;
    };
    return damage;
  }

  /// All groups of waves start together and end together.
  std::shared_ptr<sched::LoopHooks> noStagger() {
    sched::Program program = base.loop.program;
    size_t dropped = 0;
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
      dropped += std::erase_if(program.list(phase), [](const Entry &entry) { return entry.stagger; });
    what = "dropped all barriers of the stagger";
    return dropped > 0 ? replacing(base.loop.schedule, std::move(program)) : nullptr;
  }

  /// Fewer buffers of a tile than its barriers and waits were made for.
  std::shared_ptr<sched::LoopHooks> shrinkBuffer() {
    sched::Schedule schedule = base.loop.schedule;
    std::vector<size_t> tiles;
    for (size_t region = 0; region < problem.regions.size() && region < schedule.buffers.size(); ++region)
      if (problem.regions[region].space == sched::Space::Shared && schedule.buffers[region] > 1)
        tiles.push_back(region);
    if (tiles.empty())
      return nullptr;
    size_t region = tiles[pick(tiles.size())];
    int &buffers = schedule.buffers[region];
    buffers = 1 + static_cast<int>(pick(static_cast<size_t>(buffers) - 1));
    what = "left `" + problem.regions[region].name + "` " + std::to_string(buffers) + " of " +
           std::to_string(base.loop.schedule.buffers[region]) + " buffers";
    return replacing(std::move(schedule), base.loop.program);
  }

  /// Two accesses of memory change stages before barriers and waits are derived.
  std::shared_ptr<sched::LoopHooks> swapStages() {
    std::vector<std::pair<int, int>> pairs;
    const std::vector<sched::Slot> &slots = base.loop.schedule.slots;
    for (int a = 0; a < problem.numOps(); ++a)
      for (int b = a + 1; b < problem.numOps(); ++b)
        if (slots[a].scheduled() && slots[b].scheduled() && slots[a].stage != slots[b].stage &&
            isMemory(problem.operations[a].kind) && isMemory(problem.operations[b].kind))
          pairs.emplace_back(a, b);
    if (pairs.empty())
      return nullptr;
    auto [a, b] = pairs[pick(pairs.size())];
    what = "swapped the stages of `" + problem.operations[a].key + "` and `" + problem.operations[b].key + "`";
    auto damage = std::make_shared<sched::LoopHooks>();
    damage->afterSchedule = [a = a, b = b](const sched::Problem &, sched::Schedule &schedule) {
      std::swap(schedule.slots[a].stage, schedule.slots[b].stage);
    };
    return damage;
  }

  /// One access of memory belongs to the iteration before or behind, with the buffer of that.
  std::shared_ptr<sched::LoopHooks> wrongDistance() {
    std::vector<sched::Location> found;
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue}) {
      const std::vector<Entry> &entries = base.loop.program.list(phase);
      for (size_t i = 0; i < entries.size(); ++i)
        if (entries[i].kind == EntryKind::Op && isMemory(problem.operations[entries[i].op].kind))
          found.push_back({phase, static_cast<int>(i)});
    }
    if (found.empty())
      return nullptr;
    sched::Location where = found[pick(found.size())];
    sched::Program program = base.loop.program;
    Entry &entry = program.list(where.phase)[where.index];
    int by = pick(2) == 0 ? 1 : -1;
    what = "shifted `" + toString(problem, entry) + "` of the " + std::string(nameOf(where.phase)) + " by " +
           std::to_string(by) + " iteration";
    entry.iteration += by;
    return replacing(base.loop.schedule, std::move(program));
  }

  /// Barriers and waits are derived as if one access of a tile belonged to the iteration before or behind.
  std::shared_ptr<sched::LoopHooks> derivedFromWrongDistance() {
    std::vector<std::pair<int, size_t>> found;
    for (int op = 0; op < problem.numOps(); ++op)
      for (size_t i = 0; i < problem.operations[op].accesses.size(); ++i)
        if (problem.regions[problem.operations[op].accesses[i].region].space == sched::Space::Shared)
          found.emplace_back(op, i);
    if (found.empty() || problem.groups > 1)
      return nullptr;
    // What the author put outside of the kernel, and eliminated epilogues, are not in the schedule.
    sched::Program right = derive(problem);
    if (right.peeled != base.loop.program.peeled || !verify(problem, base.loop.schedule, right).ok())
      return nullptr;
    auto [op, access] = found[pick(found.size())];
    int by = pick(2) == 0 ? 1 : -1;
    sched::Problem wrong = problem;
    wrong.operations[op].accesses[access].offset += by;
    sched::Program program = derive(wrong);
    if (program == right)
      return nullptr;
    what = "derived barriers and waits as if `" + problem.operations[op].key + "` touched the iteration " +
           (by > 0 ? "behind" : "before");
    return replacing(base.loop.schedule, std::move(program));
  }

  sched::Program derive(const sched::Problem &from) const {
    sched::Program program = sched::synchronize(from, base.loop.schedule).program;
    sched::mergeRegisterWaits(from, program);
    return program;
  }

  const Base &base;
  const sched::Problem &problem;
  Mutation kind;
  uint32_t seed;
  std::mt19937 random;
};

/// Both sides, each with its op by name and its place (one op where two groups of waves or two iterations of it are the
/// sides), and what to do.
bool isComplete(const Base &base, const Diagnostic &diagnostic) {
  auto namesAnOp = [&](const std::string &text) {
    const std::vector<sched::Operation> &ops = base.loop.problem.operations;
    return std::any_of(ops.begin(), ops.end(),
                       [&](const sched::Operation &op) { return text.find("`" + op.key + "`") != std::string::npos; });
  };
  bool other = std::any_of(diagnostic.notes.begin(), diagnostic.notes.end(),
                           [&](const Note &note) { return note.place.known() && namesAnOp(note.message); });
  return other && diagnostic.place.known() && namesAnOp(diagnostic.message) && !diagnostic.hint.empty();
}

bool isComplete(const emu::Finding &finding) {
  return finding.origin.place.known() && finding.otherOrigin.place.known() && !finding.hint.empty();
}

/// The same damage, this time to be proven.
void askVerifier(const Base &base, const sched::LoopHooks &damage, Attempt &attempt) {
  std::vector<Diagnostic> wrong;
  auto proven = std::make_shared<sched::LoopHooks>(damage);
  proven->skipProof = false;
  bool refused = !compileUnder(base.setting, proven, wrong);
  // That it needs too much room, say, would not do: another schedule of the kind may not.
  auto first = std::find_if(wrong.begin(), wrong.end(), isAboutOrder);
  if (!refused || first == wrong.end())
    return;
  attempt.byVerifier = true;
  attempt.complete |= isComplete(base, *first);
  attempt.report += format(*first) + "\n";
}

void askEmulator(const Base &base, const emu::Program &program, Attempt &attempt) {
  Outcome outcome = run(base, program, /*seed=*/0, /*checks=*/true);
  attempt.byEmulator = !outcome.result.ok();
  if (outcome.result.findings.empty())
    return;
  const emu::Finding &first = outcome.result.findings.front();
  attempt.complete |= isComplete(first);
  attempt.report += emu::format(first) + "\n";
}
} // namespace

Attempt attack(const Base &base, Mutation kind, uint32_t seed) {
  Attempt attempt;
  attempt.kind = kind;
  attempt.base = base.setting.name();
  Saboteur saboteur(base, kind, seed);
  std::shared_ptr<sched::LoopHooks> damage = saboteur.run();
  if (!damage)
    return attempt;
  attempt.what = saboteur.what;
  attempt.verdict = Verdict::Unbuildable;
  damage->skipProof = true;
  std::vector<Diagnostic> wrong;
  std::optional<CompileResult> compiled = compileUnder(base.setting, damage, wrong);
  if (!compiled)
    return attempt;
  emu::Program program = decode(compiled->image);
  attempt.verdict = Verdict::Harmless;
  for (int order = 0; order < kSeeds && attempt.verdict == Verdict::Harmless; ++order) {
    attempt.harm = run(base, program, static_cast<uint64_t>(order), /*checks=*/false).harm();
    if (attempt.harm.empty())
      continue;
    attempt.verdict = Verdict::Harmful;
    attempt.seed = order;
  }
  if (attempt.verdict == Verdict::Harmless)
    return attempt;
  askVerifier(base, *damage, attempt);
  askEmulator(base, program, attempt);
  return attempt;
}

} // namespace soliton::attack
