//===- WholeTrees.h - Random kernels as trees ---------------------------------------===//
//
// What the tests of whole kernels draw: loops, branches and accesses of shared and global memory, as many as a shape
// allows.
//
//   Kernel kernel = RandomKernel(/*seed=*/7, TreeShape()).make();
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Whole.h"

#include <random>

namespace soliton::sched::whole::testing {

inline constexpr int kVm = 0, kShared = 1, kGroups = 2, kBoxes = 3;

inline std::vector<Counter> machineCounters() {
  return {{"vm", Retirement::InOrder, 63}, {"shared", Retirement::InOrder, 15}, {"cp_async", Retirement::Group, 63}};
}

/// What one lane has copied for the workgroup.
inline Counter boxCounter() {
  Counter boxes{"boxes", Retirement::Group, 63};
  boxes.ofWorkgroup = true;
  return boxes;
}

class Dice {
public:
  explicit Dice(uint32_t seed) : random(seed) {}
  int pick(int low, int high) { return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1)); }
  bool chance(int percent) { return pick(0, 99) < percent; }

private:
  std::mt19937 random;
};

struct TreeShape {
  int nodes = 8;
  /// Of one sequence.
  int length = 5;
  int depth = 2;
  bool loops = true;
  bool branches = true;
  /// Barriers, waits and commits of the author's, and how many of a hundred nodes they are.
  bool said = true;
  int saidShare = 10;
  bool pipelines = true;
  /// A barrier completes ordinary accesses, and copies go in groups.
  bool groupsOnly = false;
  /// One lane copies boxes; waves release, and that lane awaits. Of a hundred nodes so many are either.
  int releases = 0;
  /// Of a hundred accesses so many are known to concern one team for each element.
  int teams = 0;
};

/// A random kernel of about that many nodes.
class RandomKernel {
public:
  RandomKernel(uint32_t seed, TreeShape shape) : dice(seed), shape(shape) {}

  Kernel make() {
    kernel.counters = machineCounters();
    if (shape.releases > 0)
      kernel.counters.push_back(boxCounter());
    tiles = dice.pick(1, 2);
    for (int i = 0; i < tiles; ++i) {
      Region tile;
      tile.name = "tile" + std::to_string(i);
      // Now and then two tiles share bytes.
      tile.offset = dice.chance(15) ? 0 : 64 * i;
      tile.bytes = 64;
      kernel.regions.push_back(tile);
    }
    Region memory;
    memory.name = "memory";
    memory.space = Space::Global;
    kernel.regions.push_back(memory);
    left = shape.nodes;
    kernel.body = sequence(shape.depth);
    number(kernel);
    return std::move(kernel);
  }

private:
  Sequence sequence(int depth) {
    Sequence result;
    int count = std::min(left, dice.pick(2, shape.length));
    while (count-- > 0 && left > 0) {
      int what = dice.pick(0, 99);
      if (shape.releases > 0 && dice.chance(shape.releases))
        dice.chance(50) ? addReleased(result, depth) : result.push_back(releaseOrAwait());
      else if (depth > 0 && shape.loops && what < 16)
        result.push_back(randomLoop(depth));
      else if (depth > 0 && shape.branches && what < 26)
        result.push_back(branch(sequence(depth - 1), dice.chance(50) ? sequence(depth - 1) : Sequence{}));
      else if (depth > 0 && shape.pipelines && what < 34)
        addPipeline(result);
      else if (shape.said && what < 34 + shape.saidShare)
        result.push_back(said());
      else
        result.push_back(randomInstruction());
      --left;
    }
    return result;
  }

  Node randomLoop(int depth) {
    static constexpr std::pair<int, int> kTrips[] = {{0, -1}, {0, -1}, {1, -1}, {1, 1},
                                                     {2, 2},  {3, 3},  {0, 1},  {2, -1}};
    auto [least, most] = kTrips[dice.pick(0, 7)];
    Node node = loop({}, least, most < 0 ? std::nullopt : std::optional<int64_t>(most));
    node.id = 1000 + static_cast<int>(loops.size());
    loops.push_back(node.id);
    around.push_back(node.id);
    node.bodies[0] = sequence(depth - 1);
    around.pop_back();
    return node;
  }

  Node said() {
    int what = dice.pick(0, 3);
    if (what < 2)
      return shape.teams > 0 && what == 0 ? barrierOfTeams() : barrier();
    if (what == 2 && shape.groupsOnly)
      return dice.chance(50) ? commit(kGroups) : wait(kGroups, dice.pick(0, 1));
    return wait(dice.pick(0, 1), dice.pick(0, 2));
  }

  Node box(Access access) {
    access.write = true;
    access.function = -1;
    access.oneWave = false;
    access.team = -1;
    access.apart.clear();
    access.counter = kBoxes;
    return instruction("box" + std::to_string(names++), {access}, {{kBoxes, 1}});
  }

  /// A use that is complete where it is released, and a box in its place: one of them, or both, in a loop.
  void addReleased(Sequence &result, int depth) {
    Access use = randomAccess(/*global=*/false);
    use.counter = shape.groupsOnly ? -1 : kShared;
    use.apart.clear();
    Sequence uses = {instruction("use" + std::to_string(names++), {use}, {{kShared, 1}}),
                     wait(kShared, dice.chance(80) ? 0 : 1), release()};
    Sequence copies = {await(dice.chance(70) ? 0 : 1), box(use), commit(kBoxes), wait(kBoxes, 0)};
    auto add = [&](Sequence part, bool inLoop) {
      if (inLoop)
        result.push_back(loop(std::move(part), dice.pick(0, 1)));
      else
        result.insert(result.end(), part.begin(), part.end());
    };
    bool mayLoop = depth > 0 && shape.loops;
    if (mayLoop && dice.chance(25)) {
      copies.insert(copies.end(), uses.begin(), uses.end());
      result.push_back(release());
      return add(std::move(copies), true);
    }
    add(std::move(uses), mayLoop && dice.chance(40));
    add(std::move(copies), mayLoop && dice.chance(40));
  }

  Node releaseOrAwait() {
    int what = dice.pick(0, 9);
    return what < 5   ? release()
           : what < 8 ? await(dice.pick(0, 2))
           : what < 9 ? commit(kBoxes)
                      : wait(kBoxes, dice.pick(0, 1));
  }

  Access randomAccess(bool global) {
    Access access;
    access.region = global ? tiles : dice.pick(0, tiles - 1);
    access.write = dice.chance(50);
    if (int part = dice.pick(0, 2); part < 2) {
      access.begin = part;
      access.end = part + 1;
    } else {
      access.end = 2;
    }
    access.function = dice.pick(-1, 1);
    access.oneWave = access.function >= 0 && dice.chance(70);
    if (access.function >= 0 && dice.chance(40))
      access.apart = around;
    // Who knows the wave knows its team.
    if (shape.teams > 0 && dice.chance(shape.teams))
      access.team = access.function >= 0 ? access.function : dice.pick(0, 1);
    return access;
  }

  Node randomInstruction() {
    bool global = dice.chance(25);
    Access access = randomAccess(global);
    if (!global && shape.releases > 0 && dice.chance(30))
      return box(access);
    if (!global && access.write && dice.chance(25)) { // a copy past the registers
      int counter = shape.groupsOnly ? kGroups : kVm;
      access.counter = counter;
      return instruction("copy" + std::to_string(names++), {access}, {{counter, 1}});
    }
    int counter = global ? kVm : kShared;
    access.counter = shape.groupsOnly ? -1 : counter;
    return instruction((access.write ? "store" : "load") + std::to_string(names++), {access}, {{counter, 1}});
  }

  Access staged(int region, bool write, int clock, int phase) {
    Access access;
    access.region = region;
    access.write = write;
    access.end = 2;
    access.clock = clock;
    access.phase = phase;
    access.counter = shape.groupsOnly ? -1 : kShared;
    return access;
  }

  /// Stores `ahead` iterations ahead of the loads, with as many buffers as it takes or one too few.
  void addPipeline(Sequence &result) {
    int clock = clocks++, ahead = dice.pick(1, 2), copies = dice.pick(1, 2);
    Region tile;
    tile.name = "ring" + std::to_string(clock);
    tile.offset = 1024 * (clock + 1);
    tile.bytes = 64;
    tile.buffers = dice.pick(ahead, ahead + 2);
    int region = static_cast<int>(kernel.regions.size());
    kernel.regions.push_back(tile);
    auto add = [&](Sequence &to, bool write, int phase) {
      to.push_back(instruction((write ? "fill" : "use") + std::to_string(names++),
                               {staged(region, write, clock, phase)}, {{kShared, 1}}));
    };
    Node restart;
    restart.kind = NodeKind::Restart;
    restart.clock = clock;
    result.push_back(restart);
    for (int i = 0; i < ahead; ++i)
      add(result, true, i);
    Node node = loop({}, dice.chance(50) ? 0 : 1);
    if (dice.chance(30))
      node.most = node.least = dice.pick(0, 3);
    node.clock = clock;
    node.step = copies;
    bool fillFirst = dice.chance(50);
    for (int i = 0; i < copies; ++i) {
      add(node.bodies[0], fillFirst, fillFirst ? i + ahead : i);
      add(node.bodies[0], !fillFirst, fillFirst ? i : i + ahead);
    }
    result.push_back(node);
    for (int i = 0; i < ahead; ++i)
      add(result, false, i);
  }

  Dice dice;
  TreeShape shape;
  Kernel kernel;
  /// Regions that are drawn: so many tiles, then the memory; the rings of pipelines come behind them.
  int tiles = 1;
  int left = 0;
  int names = 0;
  int clocks = 0;
  std::vector<int> loops, around;
};

} // namespace soliton::sched::whole::testing
