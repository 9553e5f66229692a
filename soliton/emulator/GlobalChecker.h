//===- GlobalChecker.h - Judges accesses of global memory -----------------===//
//
// Shadow memory for the ranges that the launch writes, in granules of the narrowest element accessed, pages on demand:
// the last write with its value, and every read that no later read is ordered after. Two accesses of one granule, one a
// write, are a finding unless one is ordered after the other or both are atomic for each other: between waves by
// barriers and waits, between workgroups by release and acquire. Two writes of one value are a warning.
//
//   workgroup 0: store x = 1          workgroup 1: store x = 2          global-conflict, both lines
//
// Buffers that overlap share one shadow.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Checker.h"
#include "soliton/emulator/ReadSets.h"

#include <memory>
#include <unordered_map>

namespace soliton::emu {

/// Bytes [first, first + bytes) of a buffer, as one wave accesses them.
struct GlobalAccess {
  const Actor &actor;
  const Clocks &clocks;
  uint32_t buffer = 0;
  uint64_t first = 0;
  uint32_t bytes = 0;
  uint32_t lane = 0;
  bool isWrite = false;
  /// What is written; null where it is not known.
  const std::byte *data = nullptr;
};

class GlobalChecker {
public:
  GlobalChecker(const Program &program, const std::vector<Buffer> &buffers, Reporter &reporter);

  bool tracks(uint32_t buffer) const { return shadows[views[buffer].shadow].tracked; }
  void access(const GlobalAccess &access);

  /// Conflicts between workgroups that ran on different host threads: none reads what another may write.
  static void compare(const GlobalChecker &a, const GlobalChecker &b, Reporter &reporter);

private:
  struct Cell {
    Stamp write;
    uint32_t value = 0;
    /// In `reads`.
    uint32_t readers = 0;
  };
  static constexpr uint64_t kPageCells = 1024;
  struct Page {
    std::array<Cell, kPageCells> cells;
  };
  struct Shadow {
    bool tracked = false;
    uint32_t granule = 4;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
    uint64_t lastNumber = ~0ull;
    Page *last = nullptr;
  };
  /// Where a buffer lies in its shadow.
  struct View {
    std::string name;
    uint32_t shadow = 0;
    uint64_t offset = 0;
  };

  void placeBuffers(const std::vector<Buffer> &buffers);
  static Page &pageOf(Shadow &shadow, uint64_t number);
  void judge(const GlobalAccess &access, const Stamp &earlier, uint64_t byte, bool earlierIsWrite, bool sameValue);
  void judgeReaders(const GlobalAccess &access, const Cell &cell, uint64_t byte);
  static bool isOrdered(const GlobalAccess &access, const Stamp &earlier);
  static void conflict(Reporter &reporter, const std::string &buffer, uint64_t byte, const Stamp &a, const Stamp &b,
                       const char *what, bool warning);

  Reporter &reporter;
  ReadSets reads;
  std::vector<View> views;
  std::vector<Shadow> shadows;
};

/// Whether a program may read and write the same global memory of this launch, so that its workgroups can see each
/// other.
bool mayCommunicate(const Program &program, const std::vector<Buffer> &buffers);

} // namespace soliton::emu
