#include "soliton/pipeline/TileProgram.h"

#include <algorithm>

namespace soliton::pipe {
namespace {
class Tiles {
public:
  Tiles(const PipelineSchedule &pipeline, const CompiledPipeline &made)
      : pipeline(pipeline), made(made), parts(made.config.numPartitions), taken(made.body.size(), 0) {}

  std::optional<TileProgram> run() {
    TileProgram program;
    for (const ScheduleEntry &entry : made.prologue)
      add(program.prologue, entry.op, [&](int index) { return firstTile(index) + parts * taken[index]; });
    std::vector<int> before = taken;
    std::vector<std::vector<TileEntry>> halves = kernel();
    for (const std::vector<TileEntry> &half : halves)
      if (!std::ranges::equal(halves[0], half, [&](const TileEntry &a, const TileEntry &b) { return isSame(a, b); }))
        return std::nullopt;
    program.kernel = std::move(halves[0]);
    // The loop runs all tiles but those of one trip; what the prologue has done of an op is done.
    std::ranges::fill(taken, 0);
    for (const ScheduleEntry &entry : made.epilogue)
      add(program.epilogue, entry.op,
          [&](int index) { return firstTile(index) + parts * (before[index] + taken[index] - 1); });
    std::erase_if(program.epilogue, [](const TileEntry &entry) { return entry.op >= 0 && entry.tile >= 0; });
    if (made.config.waveStagger.enabled)
      addStagger(program);
    return program;
  }

private:
  int halfOf(int index) const { return index / (static_cast<int>(made.body.size()) / parts); }
  int aheadOf(int index) const { return pipeline.tilesAhead(made.body[index], halfOf(index)); }
  /// An op of a body works on every `parts`-th tile.
  int firstTile(int index) const { return (halfOf(index) + aheadOf(index)) % parts; }

  /// Equal compute ops of two halves are taken in turn.
  int bodyIndex(const OpDesc &op) const {
    int found = -1;
    for (size_t i = 0; i < made.body.size(); ++i) {
      const OpDesc &other = made.body[i];
      bool isMeant = other.tag == op.tag && other.stage == op.stage && other.subtile == op.subtile;
      if (isMeant && (found < 0 || taken[i] < taken[found]))
        found = static_cast<int>(i);
    }
    return found;
  }

  template <typename TileOf>
  void add(std::vector<TileEntry> &list, const OpDesc &op, TileOf tileOf) {
    TileEntry entry;
    if (op.tag < kFirstFrameworkTag) {
      entry.op = bodyIndex(op);
      entry.tile = tileOf(entry.op);
      ++taken[entry.op];
    } else {
      entry.mark = op;
    }
    list.push_back(entry);
  }

  std::vector<std::vector<TileEntry>> kernel() {
    std::ranges::fill(taken, 0);
    std::vector<std::vector<TileEntry>> halves(parts);
    int blocksPerHalf = static_cast<int>(made.blockStarts.size()) / parts;
    for (int i = 0; i < static_cast<int>(made.kernel.size()); ++i) {
      auto blocks = std::ranges::upper_bound(made.blockStarts, i) - made.blockStarts.begin();
      int half = std::min((static_cast<int>(blocks) - 1) / blocksPerHalf, parts - 1);
      add(halves[half], made.kernel[i].op, [&](int index) { return halfOf(index) + aheadOf(index) - half; });
    }
    return halves;
  }

  bool isSame(const TileEntry &a, const TileEntry &b) const {
    if (a.op < 0 || b.op < 0)
      return a.op < 0 && b.op < 0 && a.mark.tag == b.mark.tag && a.mark.waitValue == b.mark.waitValue;
    const OpDesc &x = made.body[a.op], &y = made.body[b.op];
    return x.tag == y.tag && x.channel == y.channel && x.subtile == y.subtile && a.tile == b.tile &&
           (isStaged(x.role) || x.stage == y.stage);
  }

  /// As the kernel around a staggered program does it (Audit.cpp judges the same).
  void addStagger(TileProgram &program) const {
    TileEntry all, behind, ahead;
    all.mark = behind.mark = ahead.mark = barrier();
    behind.groups = 2;
    ahead.groups = 1;
    program.prologue.push_back(all);
    program.prologue.insert(program.prologue.begin() + made.staggerIndex, behind);
    program.epilogue.push_back(ahead);
  }

  const PipelineSchedule &pipeline;
  const CompiledPipeline &made;
  int parts;
  /// By index in the body: how often the list has it so far.
  std::vector<int> taken;
};
} // namespace

std::optional<TileProgram> byTiles(const PipelineSchedule &pipeline, const CompiledPipeline &made) {
  return Tiles(pipeline, made).run();
}

AddedOp addedFor(const OpDesc &mark, const Place &place) {
  switch (mark.tag) {
  case kWaitVm:
    return MemoryCounterWait({.load = mark.waitValue}, place);
  case kWaitLgkm:
    return MemoryCounterWait({.ds = mark.waitValue}, place);
  case kSetPrio:
    return SetWavePrio(mark.waitValue, place);
  case kBarrier:
    return WorkgroupBarrier(place);
  default:
    return SchedulingBarrier({}, place);
  }
}

} // namespace soliton::pipe
