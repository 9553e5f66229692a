//===- Hints.h - What authors say about instructions and counters -----------------------===//
//
// Words that kernels and schedules share: the classes of machine instructions that a scheduling barrier lets across,
// and what a wait leaves outstanding.
//
//   kernel.scheduling_barrier({InstructionClass::VALU});      kernel.memory_counter_wait({.load = 4});
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>

namespace soliton {

/// Classes of machine instructions for scheduling barriers and groups.
enum class InstructionClass : uint16_t {
  ALU = 0x1,
  VALU = 0x2,
  SALU = 0x4,
  MMA = 0x8,
  VMEM = 0x10,
  VMEM_READ = 0x20,
  VMEM_WRITE = 0x40,
  DS = 0x80,
  DS_READ = 0x100,
  DS_WRITE = 0x200,
};

/// What may stay outstanding; absent counters are not waited for.
struct CounterLimits {
  /// Global accesses and direct copies (`vm`).
  std::optional<int> load = {};
  /// Shared accesses (`shared`).
  std::optional<int> ds = {};
  /// Groups of copies (`cp_async`).
  std::optional<int> cp_async = {};
};

} // namespace soliton
