//===- Sync.h - Release and acquire on places in memory -------------------===//
//
// Which waves the atomic accesses and fences of a program order, as the memory models of both vendors say it (that of
// C++ with scopes). Example, wave 0 hands data to a wave of another workgroup:
//
//   wave 0: store data; fence release; atomic flag          wave 1: atomic flag; fence acquire; load data
//
// The fence remembers what wave 0 has completed, the atomic leaves that at `flag`, the second atomic picks it up, the
// second fence makes it known to wave 1. A read-modify-write hands on what it found as well, a store replaces it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Clocks.h"

#include <unordered_map>

namespace soliton::emu {

class SyncTable {
public:
  /// An atomic access of `place` by `wave`. A read-modify-write is `read`, then `write` with `keeps`.
  void read(Clocks &clocks, uint32_t wave, const Instr &instr, uint64_t place);
  void write(Clocks &clocks, uint32_t wave, const Instr &instr, uint64_t place, bool keeps);
  static void fence(Clocks &clocks, uint32_t wave, const Instr &instr);

  void clear() { places.clear(); }

private:
  /// What releases have left at a place: for the whole device, and for the workgroup that released last.
  struct Left {
    Knowledge device, local;
    uint32_t workgroup = 0;
  };
  std::unordered_map<uint64_t, Left> places;
};

} // namespace soliton::emu
