//===- Clocks.h - What has happened before what, for a workgroup ----------===//
//
// Agents do memory accesses: each wave is six of them (one per CounterKind, and one for what its tile stores read from
// shared memory, which is over before they are), each mbarrier is one (it stands for the tile copies that complete on
// it). The waves of a cluster count as those of one workgroup. An agent numbers its accesses 1, 2, 3, …. For every wave
// v and agent a
//
//   known[v][a]    accesses of a up to this number are complete and ordered before what v does now
//   issued[v][a]   … were issued before it (a barrier has passed), complete or not
//   visible[v][a]  … are complete and were made visible to the asynchronous engines by a proxy fence
//
// Example: wave 0 stores (access 1 of agent shared.0), waits, meets wave 1 at a barrier: known[1][shared.0] = 1, and
// wave 1 may load what was stored. Without the wait only issued[1][shared.0] = 1: a missing wait.
//
// What a wave knows of other workgroups travels beside it (Knowledge.h); releases and acquires hand it on (Sync.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Knowledge.h"
#include "soliton/emulator/Program.h"

#include <deque>

namespace soliton::emu {

using Agent = uint32_t;

inline constexpr uint32_t kAgentsPerWave = kNumCounters + 1;

inline Agent agentOf(uint32_t wave, CounterKind counter) {
  return wave * kAgentsPerWave + static_cast<uint32_t>(counter);
}
/// Its tile stores, as they read shared memory.
inline Agent bulkReaderOf(uint32_t wave) {
  return wave * kAgentsPerWave + kNumCounters;
}
/// What the accesses of a wave's agent are counted on.
inline CounterKind counterOf(Agent agent) {
  uint32_t which = agent % kAgentsPerWave;
  return which == kNumCounters ? CounterKind::bulk : static_cast<CounterKind>(which);
}

/// Outstanding work of one wave on one counter.
struct CounterState {
  uint32_t issued = 0;
  uint32_t done = 0;
  /// Last access of each committed group that is still pending.
  std::deque<uint32_t> groups;

  void commit() { groups.push_back(issued); }
  /// Leaves at most `pending` instructions (or groups) outstanding; returns whether `done` grew.
  bool wait(uint32_t pending, bool counted);
};

/// Three clocks over all agents, as a barrier or an mbarrier carries them from wave to wave.
struct ClockSet {
  std::vector<uint32_t> known, issued, visible;
  Knowledge others;

  void resize(size_t agents);
  void join(const ClockSet &other);
};

/// What a wave's fences have to do with its atomic accesses.
struct WaveSync {
  /// What the last release fence covers, for the device and for the workgroup: later atomic writes leave it behind.
  Knowledge fenced, fencedLocal;
  /// What atomic reads have found: the next acquire fence takes it.
  Knowledge seen, seenLocal;
};

class Clocks {
public:
  Clocks(uint32_t waves, bool barrierCompletes);

  /// A new workgroup: all that was ever issued counts as done. Returns true where numbers began again at 1, so that
  /// older ones that someone kept mean nothing.
  bool reset(uint32_t workgroup);
  uint32_t workgroup() const { return number; }

  CounterState &counter(Agent agent) { return counters[agent]; }
  const CounterState &counter(Agent agent) const { return counters[agent]; }
  /// Numbers the next access of `agent` and remembers its instruction.
  uint32_t issue(Agent agent, uint32_t instruction);
  uint32_t instructionOf(Agent agent, uint32_t access) const;
  /// The agent's last access is of `instruction`.
  void setInstruction(Agent agent, uint32_t instruction);

  /// A further agent, for an mbarrier.
  Agent addAgent();
  uint32_t numAgents() const { return static_cast<uint32_t>(counters.size()); }
  uint32_t numWaves() const { return waves; }
  uint32_t waveOf(Agent agent) const { return agent / kAgentsPerWave; }
  bool isMbarrier(Agent agent) const { return agent >= waves * kAgentsPerWave; }
  bool isGeneric(Agent agent) const;

  const std::vector<uint32_t> &known(uint32_t wave) const { return sets[wave].known; }
  const std::vector<uint32_t> &issued(uint32_t wave) const { return sets[wave].issued; }
  const std::vector<uint32_t> &visible(uint32_t wave) const { return sets[wave].visible; }
  const Knowledge &others(uint32_t wave) const { return sets[wave].others; }
  WaveSync &sync(uint32_t wave) { return syncs[wave]; }
  /// All that is ordered before what the wave does now, its own workgroup's included.
  Knowledge handOver(uint32_t wave) const { return sets[wave].others.with(number, sets[wave].known); }
  void take(uint32_t wave, const Knowledge &knowledge);

  /// The wave's own counter has advanced.
  void retire(uint32_t wave, Agent agent);
  /// The wave's accesses to that space are complete (a fence, or a barrier where the target promises it).
  void complete(uint32_t wave, CounterKind counter);
  void fenceProxy(uint32_t wave);
  /// What the wave hands over at a barrier or an arrival.
  ClockSet publish(uint32_t wave);
  void acquire(uint32_t wave, const ClockSet &from);
  /// Accesses of mbarrier `agent` up to `access` are complete for `wave`.
  void acquireAgent(uint32_t wave, Agent agent, uint32_t access);
  bool barrierCompletes() const { return completes; }

private:
  uint32_t waves;
  bool completes;
  uint32_t number = 0;
  std::vector<WaveSync> syncs;
  std::vector<CounterState> counters;
  std::vector<ClockSet> sets;
  /// Instruction of each access since the workgroup began, and the number of the first.
  std::vector<std::vector<uint32_t>> instructions;
  std::vector<uint32_t> firstAccess;
};

} // namespace soliton::emu
