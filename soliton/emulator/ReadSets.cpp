//===- ReadSets.cpp - Who has read a granule ------------------------------===//
//
// See ReadSets.h.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/ReadSets.h"

namespace soliton::emu {

uint32_t ReadSets::make(const Stamp &stamp, uint32_t next) {
  uint32_t number = static_cast<uint32_t>(nodes.size());
  if (unused.empty()) {
    nodes.emplace_back();
  } else {
    number = unused.back();
    unused.pop_back();
  }
  nodes[number] = {stamp, next, 1};
  return number;
}

void ReadSets::drop(uint32_t set) {
  while (set && --nodes[set].holds == 0) {
    unused.push_back(set);
    set = nodes[set].next;
  }
}

} // namespace soliton::emu
