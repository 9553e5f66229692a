//===- Checker.h - Judges memory accesses by happens-before ---------------===//
//
// Shadow memory: for every byte of the shared block the last write (agent, access) and the last read of every agent
// that reads; for every touched granule of a written global buffer the last write and the last read. An access that is
// not ordered after a conflicting one (Clocks.h) is a finding, whatever order the scheduler happened to choose.
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
  Actor actor;
  /// By agent: accesses up to this number are ordered before the actor's.
  std::vector<uint32_t> limits;
  std::vector<uint8_t> initialized, atomicWrite;
  std::vector<uint32_t> writeAccess;
  std::vector<uint16_t> writeAgent;
  /// Agents that read shared memory, and for each the last read of every byte.
  std::vector<Agent> readers;
  std::vector<std::vector<uint32_t>> readAccess;
  std::vector<uint32_t> columnOf;
};

/// The global buffers that a program writes; the others need no shadow.
class GlobalChecker {
public:
  GlobalChecker(const Program &program, Clocks &clocks, Reporter &reporter);

  bool tracks(uint32_t buffer) const { return buffers[buffer].tracked; }
  void access(const Actor &actor, uint32_t buffer, uint64_t first, uint32_t bytes, uint32_t lane, bool isWrite);

  /// Conflicts between workgroups that ran on different host threads.
  static void compare(const GlobalChecker &a, const GlobalChecker &b, Reporter &reporter);

private:
  /// Workgroups are numbered from 1; 0 is none.
  struct Stamp {
    uint32_t workgroup = 0;
    uint32_t access = 0;
    uint32_t instruction = 0;
    uint16_t agent = 0;
    bool atomic = false;
  };
  struct Cell {
    Stamp write, read;
  };
  static constexpr uint64_t kPageCells = 1024;
  struct Shadow {
    bool tracked = false;
    uint32_t granule = 4;
    std::string name;
    std::vector<std::unique_ptr<Cell[]>> pages;
  };

  Cell &cell(Shadow &shadow, uint64_t index);
  void check(const Actor &actor, const Shadow &shadow, const Stamp &earlier, uint64_t byte, uint32_t lane, bool isWrite,
             bool earlierIsWrite);
  static void conflict(Reporter &reporter, const Shadow &shadow, uint64_t byte, const Stamp &a, const Stamp &b,
                       bool bothWrite, uint32_t wave, uint32_t lane);

  Clocks &clocks;
  Reporter &reporter;
  bool judgeWorkgroups = true;
  std::vector<Shadow> buffers;
};

} // namespace soliton::emu
