//===- Checker.h - Judges accesses of shared memory by happens-before -----===//
//
// Shadow memory: for every byte of the shared block the last write (agent, access) and the last read of every agent
// that reads. An access that is not ordered after a conflicting one (Clocks.h) is a finding, whatever order the
// scheduler happened to choose. GlobalChecker.h does the same for global memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Clocks.h"
#include "soliton/emulator/Report.h"

#include <memory>

namespace soliton::emu {

/// Who accesses.
struct Actor {
  uint32_t workgroup = 0;
  uint32_t wave = 0;
  Agent agent = 0;
  /// Number of the access among the agent's.
  uint32_t access = 0;
  uint32_t instruction = 0;
  /// Through the asynchronous proxy: sees what ordinary accesses wrote only after a proxy fence.
  bool proxy = false;
  bool atomic = false;
  /// What it leaves depends on what was there.
  bool accumulates = false;
  Scope scope = Scope::Device;
};

/// Why what `actor` does is not ordered after `agent`'s `access`, which it is known not to be.
FindingKind judge(const Clocks &clocks, const Actor &actor, Agent agent, uint32_t access);

/// What would order it.
std::string repairOf(FindingKind kind, const Clocks &clocks, const Actor &actor, Agent agent, uint32_t access);

class SharedChecker {
public:
  SharedChecker(const Program &program, Clocks &clocks, Reporter &reporter);

  /// A new workgroup. `restarted` as Clocks::reset returned it.
  void reset(bool restarted);

  /// Fixes what is ordered before the accesses of `actor` that follow.
  void begin(const Actor &actor);
  void read(uint32_t first, uint32_t bytes, uint32_t lane);
  void write(uint32_t first, uint32_t bytes, uint32_t lane);

private:
  void reportUninitialized(uint32_t byte, uint32_t lane);
  void reportUnordered(uint32_t byte, uint32_t lane, bool isWrite, bool otherIsWrite, Agent agent, uint32_t access);

  const Program &program;
  Clocks &clocks;
  Reporter &reporter;
  /// Of the shared blocks of a cluster.
  uint32_t bytes;
  Actor actor;
  /// By agent: accesses up to this number are ordered before the actor's.
  std::vector<uint32_t> limits;
  std::vector<uint8_t> initialized, atomicWrite;
  std::vector<uint32_t> writeAccess;
  std::vector<uint16_t> writeAgent;
  /// Agents that read shared memory, by plain or by atomic loads, and for each the last such read of every byte.
  struct Reader {
    Agent agent = 0;
    bool atomic = false;
  };
  void addReader(Agent agent, bool atomic);
  std::vector<Reader> readers;
  std::vector<std::vector<uint32_t>> readAccess;
  /// By agent; of atomic loads behind those.
  std::vector<uint32_t> columnOf;
};

} // namespace soliton::emu
