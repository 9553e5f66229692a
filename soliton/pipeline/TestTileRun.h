//===- TestTileRun.h - Which K tile lies where, program run by program ---===//
//
// A simulator that knows nothing of the core: every accumulator must get every K tile once, in order, from operands of
// that very tile.
//
//   EXPECT_TRUE(computesRight(compilePipeline(Pipeline4Wave(geometry))));
//
//===----------------------------------------------------------------------===//
#pragma once

#include "TestPipelines.h"

#include <map>

namespace soliton::pipe::testing {
inline constexpr int kUnset = -1000;

/// Which K tile lies where, for one wave of a double-buffer program of `trips` trips.
class TileRun {
public:
  TileRun(const CompiledPipeline &made, int trips, bool wholeStage) : wholeStage(wholeStage) {
    run(made.prologue, 0);
    for (int trip = 0; trip < trips; ++trip)
      run(made.kernel, 2 * (trip + 1));
    run(made.epilogue, 2 * (trips + 1));
    for (int row : {0, 1})
      for (int column : {0, 1}) {
        std::vector<int> expected;
        for (int tile = 0; tile < 2 * (trips + 1); ++tile)
          expected.push_back(tile);
        right &= sums[{row, column}] == expected;
      }
  }

  bool right = true;

private:
  using Key = std::tuple<int, int, int>;

  void run(const std::vector<ScheduleEntry> &entries, int base) {
    for (const ScheduleEntry &entry : entries)
      step(entry.op, base);
  }

  void step(const OpDesc &op, int base) {
    int channel = op.tag == kLoadA || op.tag == kMmaLoadA ? 0 : 1;
    if (op.role == OpRole::GlobalLoad)
      tiles[{channel, op.stage, op.subtile}] = base + tilesFromLoop(op.k);
    if (op.role == OpRole::FragmentLoad)
      fragments[{channel, op.subtile}] = read(channel, op);
    if (op.role != OpRole::Compute)
      return;
    int a = value({0, op.stage}), b = value({1, op.subtile});
    sums[{op.stage, op.subtile}].push_back(a == b ? a : kUnset);
  }

  int tileAt(const Key &key) const {
    auto found = tiles.find(key);
    return found == tiles.end() ? kUnset : found->second;
  }
  int value(std::pair<int, int> fragment) const {
    auto found = fragments.find(fragment);
    return found == fragments.end() ? kUnset : found->second;
  }
  /// Ping-pong: rows and columns of a quadrant may lie in either half-tile.
  int read(int channel, const OpDesc &op) const {
    int first = tileAt({channel, op.stage, 0}), second = tileAt({channel, op.stage, 1});
    return !wholeStage ? tileAt({channel, op.stage, op.subtile}) : first == second ? first : kUnset;
  }

  bool wholeStage;
  std::map<Key, int> tiles;
  std::map<std::pair<int, int>, int> fragments;
  std::map<std::pair<int, int>, std::vector<int>> sums;
};

inline bool computesRight(const CompiledPipeline &made) {
  for (int trips : {0, 1, 2, 5})
    if (!TileRun(made, trips, made.name == "ping_pong").right)
      return false;
  return true;
}

} // namespace soliton::pipe::testing
