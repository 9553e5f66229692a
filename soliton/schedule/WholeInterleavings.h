//===- WholeInterleavings.h - Every interleaving of small kernels ----------------------===//
//
// An oracle for whole kernels that shares nothing with derivation and verifier but the tree: it follows one way through
// a kernel, lets two waves run in every possible order, completes asynchronous accesses at every possible moment, and
// compares each value that is read with the one that the program's order says. Elements: each part of each buffer has
// one for each wave; who touches which of them follows from the access' function, and is drawn where nothing is known.
// Boxes are copied by the first wave alone, land in any order, and every wave waits for them by itself; that wave
// awaits what both have released. The two waves are of one team or of two.
//
//   EXPECT_EQ(attack(kernel, seed), "");
//
//===----------------------------------------------------------------------===//
#pragma once

#include "WholeTrees.h"

#include <functional>
#include <map>
#include <set>
#include <unordered_set>

namespace soliton::sched::whole::testing {

/// One step of a way through a kernel: a node, the clocks' values and the iterations of the loops around it.
struct Step {
  const Node *node = nullptr;
  std::map<int, int> clocks;
  std::map<int, int> iterations;
};

/// Ways through a kernel: trips and branches as `choose(low, high)` says.
class Way {
public:
  Way(const Kernel &kernel, std::function<int(int, int)> choose) : choose(std::move(choose)) { walk(kernel.body); }
  std::vector<Step> steps;

private:
  void walk(const Sequence &sequence) {
    for (const Node &node : sequence)
      step(node);
  }
  void step(const Node &node) {
    switch (node.kind) {
    case NodeKind::Restart:
      clocks[node.clock] = 0;
      return;
    case NodeKind::Branch:
      return walk(node.bodies[choose(0, 1)]);
    case NodeKind::Loop: {
      int least = static_cast<int>(node.least), most = static_cast<int>(node.most.value_or(node.least + 2));
      int trips = choose(least, most);
      for (int trip = 0; trip < trips; ++trip) {
        iterations[node.id] = trip;
        walk(node.bodies[0]);
        clocks[node.clock] += node.step;
      }
      iterations.erase(node.id);
      return;
    }
    default:
      steps.push_back({&node, clocks, iterations});
    }
  }

  std::function<int(int, int)> choose;
  std::map<int, int> clocks, iterations;
};

/// Every interleaving of two waves along one way.
class Interleavings {
public:
  Interleavings(const Kernel &kernel, const std::vector<Step> &steps, uint32_t seed, size_t mostStates = 60000)
      : kernel(kernel), steps(steps), dice(seed), mostStates(mostStates) {
    // Different functions are different: one of them is the other's opposite.
    turn = {dice.pick(0, 1)};
    turn.push_back(1 - turn[0]);
    isOneTeam = dice.chance(50);
    prepare();
  }

  /// What goes wrong; empty if nothing does.
  std::string run() {
    State start;
    start.waves.resize(2);
    explore(start);
    return failure;
  }
  bool gaveUp() const { return seen.size() >= mostStates; }

private:
  /// An access of one wave at one step: the cells, and the version that each must have if it reads.
  struct Effect {
    bool write = false;
    int counter = -1;
    std::vector<int> cells;
    std::vector<int> expected;
    int version = 0;
  };
  struct InFlight {
    int step = 0;
    int access = 0;
    /// Index on its counter; of an open group the index that it will have.
    int index = 0;
    auto operator<=>(const InFlight &) const = default;
  };
  struct Wave {
    int next = 0;
    int barriers = 0, releases = 0;
    std::vector<int> issued = std::vector<int>(4, 0);
    std::vector<InFlight> inFlight;
  };
  struct State {
    std::vector<Wave> waves;
    std::map<int, int> memory;
  };

  int cellOf(int place, int part, int element, int iteration) {
    auto key = std::make_tuple(place, part, element, iteration);
    return cells.try_emplace(key, static_cast<int>(cells.size())).first->second;
  }

  /// Regions that overlap are one place.
  int placeOf(int region, int buffer) const {
    const Region &tile = kernel.regions[region];
    if (tile.space != Space::Shared || tile.bytes == 0)
      return -1 - region;
    return static_cast<int>(tile.offset) + buffer;
  }

  std::vector<int> cellsOf(const Access &access, const Step &step, int wave, int drawn) {
    int buffers = std::max(1, kernel.regions[access.region].buffers), buffer = 0;
    if (access.clock >= 0) {
      auto clock = step.clocks.find(access.clock);
      int now = (clock == step.clocks.end() ? 0 : clock->second) + access.phase;
      buffer = ((now % buffers) + buffers) % buffers;
    }
    if (access.counter == kBoxes && wave > 0)
      return {};
    bool all = (!access.write && !access.oneWave) || access.counter == kBoxes;
    bool isOfTeam = access.team >= 0 && !isOneTeam;
    int known = isOfTeam ? access.team : access.function;
    int shift = known >= 0 ? turn[known] : drawn;
    all &= !isOfTeam;
    std::vector<int> iterations = {0, 1, 2};
    if (access.function >= 0 && !access.apart.empty()) {
      int mixed = 0;
      for (int loop : access.apart)
        mixed = 3 * mixed + step.iterations.at(loop);
      iterations = {mixed};
    }
    std::vector<int> result;
    for (int64_t part = access.begin; part < std::min<int64_t>(access.end, 2); ++part)
      for (int element = 0; element < 2; ++element)
        for (int iteration : iterations)
          if (all || element == (wave + shift) % 2)
            result.push_back(cellOf(placeOf(access.region, buffer), static_cast<int>(part), element, iteration));
    return result;
  }

  void prepare() {
    std::map<int, int> memory;
    effects.resize(steps.size());
    for (size_t s = 0; s < steps.size(); ++s) {
      const Node &node = *steps[s].node;
      for (size_t a = 0; a < node.accesses.size(); ++a) {
        int drawn = dice.pick(0, 1);
        std::vector<Effect> both;
        for (int wave = 0; wave < 2; ++wave) {
          const Access &access = node.accesses[a];
          Effect effect{
              access.write, access.counter, cellsOf(access, steps[s], wave, drawn), {}, static_cast<int>(s) + 1};
          for (int cell : effect.cells)
            effect.expected.push_back(memory[cell]);
          both.push_back(std::move(effect));
        }
        effects[s].push_back(std::move(both));
      }
      for (const auto &both : effects[s])
        for (const Effect &effect : both)
          for (int cell : effect.cells)
            if (effect.write)
              memory[cell] = effect.version;
    }
    final = std::move(memory);
  }

  std::vector<int> encode(const State &state) const {
    std::vector<int> code;
    for (const Wave &wave : state.waves) {
      code.push_back(wave.next);
      code.push_back(wave.barriers);
      code.push_back(wave.releases);
      for (const InFlight &each : wave.inFlight) {
        code.push_back(each.step);
        code.push_back(each.access);
      }
      code.push_back(-1);
    }
    for (auto [cell, version] : state.memory) {
      code.push_back(cell);
      code.push_back(version);
    }
    return code;
  }

  void explore(const State &state) {
    if (!failure.empty() || seen.size() >= mostStates || !seen.insert(encode(state)).second)
      return;
    bool finished = true;
    for (int w = 0; w < 2; ++w) {
      const Wave &wave = state.waves[w];
      finished &= wave.next == static_cast<int>(steps.size()) && wave.inFlight.empty();
      if (wave.next < static_cast<int>(steps.size()))
        execute(state, w);
      // Any access that is the oldest of its counter may complete now, and any box.
      std::set<int> tried;
      for (size_t i = 0; i < wave.inFlight.size(); ++i) {
        int counter = effectOf(wave.inFlight[i], w).counter;
        if (counter != kBoxes && !tried.insert(counter).second)
          continue;
        State then = state;
        complete(then, w, i);
        explore(then);
      }
    }
    if (finished && failure.empty())
      for (auto [cell, version] : final)
        if (auto it = state.memory.find(cell); (it == state.memory.end() ? 0 : it->second) != version)
          failure = "a cell ends as step " + std::to_string(it == state.memory.end() ? 0 : it->second) +
                    " wrote it, expected step " + std::to_string(version);
  }

  const Effect &effectOf(const InFlight &each, int wave) const { return effects[each.step][each.access][wave]; }

  void complete(State &state, int w, size_t index) {
    InFlight each = state.waves[w].inFlight[index];
    state.waves[w].inFlight.erase(state.waves[w].inFlight.begin() + static_cast<std::ptrdiff_t>(index));
    apply(state, effectOf(each, w), each.step, w);
  }

  void apply(State &state, const Effect &effect, int step, int w) {
    for (size_t i = 0; i < effect.cells.size(); ++i) {
      int &cell = state.memory[effect.cells[i]];
      if (effect.write)
        cell = effect.version;
      else if (cell != effect.expected[i] && failure.empty())
        failure = "`" + steps[step].node->name + "` of wave " + std::to_string(w) + " at step " +
                  std::to_string(step + 1) + " reads what step " + std::to_string(cell) + " wrote, expected step " +
                  std::to_string(effect.expected[i]);
    }
  }

  void execute(const State &state, int w) {
    const Step &step = steps[state.waves[w].next];
    const Node &node = *step.node;
    State then = state;
    Wave &wave = then.waves[w];
    int at = wave.next++;
    switch (node.kind) {
    case NodeKind::Barrier: {
      // With two groups, each wave is one of them.
      auto executes = [&](const Node &barrier, int who) {
        bool meets = barrier.kind == NodeKind::Barrier && (isOneTeam || !barrier.team);
        return meets && (kernel.groups == 1 || (barrier.groups >> who & 1));
      };
      if (!executes(node, w))
        break;
      const Wave &other = state.waves[1 - w];
      bool there = other.next < static_cast<int>(steps.size()) && executes(*steps[other.next].node, 1 - w);
      if (other.barriers <= state.waves[w].barriers && !(there && other.barriers == state.waves[w].barriers))
        return;
      ++wave.barriers;
      break;
    }
    case NodeKind::Release:
      ++wave.releases;
      break;
    case NodeKind::Await:
      if (w == 0 && state.waves[1].releases < wave.releases - node.value)
        return;
      break;
    case NodeKind::Wait:
      if (node.counter == kBoxes) {
        const Wave &copies = state.waves[0];
        int last = wave.issued[kBoxes] - node.value;
        bool areOnTheirWay = std::any_of(copies.inFlight.begin(), copies.inFlight.end(), [&](const InFlight &each) {
          return effectOf(each, 0).counter == kBoxes && each.index <= last;
        });
        if (copies.issued[kBoxes] < last || areOnTheirWay)
          return;
        break;
      }
      while (true) {
        size_t i = 0;
        while (i < wave.inFlight.size() && !(effectOf(wave.inFlight[i], w).counter == node.counter &&
                                             wave.inFlight[i].index <= wave.issued[node.counter] - node.value))
          ++i;
        if (i == wave.inFlight.size())
          break;
        // Only after it has completed, which may be any time before: other orders are explored elsewhere.
        return;
      }
      break;
    case NodeKind::Commit:
      ++wave.issued[node.counter];
      break;
    default: {
      for (const Tick &tick : node.ticks)
        if (tick.counter < kGroups)
          wave.issued[tick.counter] += tick.amount;
      for (size_t a = 0; a < node.accesses.size(); ++a) {
        const Effect &effect = effects[at][a][w];
        if (effect.counter == kBoxes && w > 0)
          continue;
        if (effect.counter < 0) {
          apply(then, effect, at, w);
        } else {
          int index = wave.issued[effect.counter] + (effect.counter >= kGroups);
          wave.inFlight.push_back({at, static_cast<int>(a), index});
        }
      }
    }
    }
    explore(then);
  }

  struct Hash {
    size_t operator()(const std::vector<int> &code) const {
      size_t hash = 1469598103934665603ull;
      for (int value : code)
        hash = (hash ^ static_cast<size_t>(value)) * 1099511628211ull;
      return hash;
    }
  };

  const Kernel &kernel;
  const std::vector<Step> &steps;
  Dice dice;
  size_t mostStates;
  std::vector<int> turn;
  bool isOneTeam = false;
  std::map<std::tuple<int, int, int, int>, int> cells;
  /// By step, access and wave.
  std::vector<std::vector<std::vector<Effect>>> effects;
  std::map<int, int> final;
  std::unordered_set<std::vector<int>, Hash> seen;
  std::string failure;
};

/// What goes wrong on one of `ways` random ways with one of `draws` assignments each; empty if nothing does.
inline std::string attack(const Kernel &kernel, uint32_t seed, int ways = 6, int draws = 3) {
  Dice dice(seed);
  for (int way = 0; way < ways; ++way) {
    Way path(kernel, [&](int low, int high) { return dice.pick(low, high); });
    if (path.steps.size() > 40)
      continue;
    for (int draw = 0; draw < draws; ++draw) {
      Interleavings all(kernel, path.steps, seed * 31 + static_cast<uint32_t>(draw));
      if (std::string failure = all.run(); !failure.empty()) {
        std::string text;
        for (size_t s = 0; s < path.steps.size(); ++s)
          text += std::to_string(s + 1) + ": " + toString(kernel, *path.steps[s].node) + "\n";
        return failure + "\n" + text;
      }
    }
  }
  return {};
}

} // namespace soliton::sched::whole::testing
