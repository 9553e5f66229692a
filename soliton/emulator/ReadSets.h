//===- ReadSets.h - Who has read a granule --------------------------------===//
//
// Sets of reads, none of which is ordered after another, as lists that share their tails: neighbouring granules that
// the same waves read have the same set, and it is stored once. Number 0 is the empty set; a set lives as long as a
// granule or a longer list names it.
//
//   uint32_t set = sets.add(0, readByWave0, ordered);      sets.add(set, readByWave1, ordered)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Program.h"

namespace soliton::emu {

/// One access, as the shadow of global memory remembers it. Workgroups are numbered from 1; 0 is none.
struct Stamp {
  uint32_t workgroup = 0;
  uint32_t access = 0;
  uint32_t instruction = 0;
  uint16_t agent = 0;
  bool atomic : 1 = false;
  /// What a write left is known.
  bool valued : 1 = false;
  Scope scope = Scope::Device;

  bool operator==(const Stamp &) const = default;
};

class ReadSets {
public:
  /// The set `from` with `stamp`, without those that `isOrdered` says come before it or that the same agent made before
  /// it. Takes over the caller's hold on `from` and gives one on the result.
  template <typename F>
  uint32_t add(uint32_t from, const Stamp &stamp, F isOrdered);

  template <typename F>
  void forEach(uint32_t set, F each) const {
    for (; set; set = nodes[set].next)
      each(nodes[set].stamp);
  }
  void drop(uint32_t set);

private:
  struct Node {
    Stamp stamp;
    uint32_t next = 0;
    uint32_t holds = 0;
  };
  /// A held set of `stamp` and the set `next`, on which the caller's hold is taken over.
  uint32_t make(const Stamp &stamp, uint32_t next);
  void hold(uint32_t set) { nodes[set].holds += set != 0; }

  std::vector<Node> nodes{1};
  std::vector<uint32_t> unused;
  /// The last `add`: neighbouring granules ask for the same.
  uint32_t lastFrom = 0, lastResult = 0;
  Stamp lastStamp;
};

template <typename F>
uint32_t ReadSets::add(uint32_t from, const Stamp &stamp, F isOrdered) {
  if (lastResult && from == lastFrom && stamp == lastStamp) {
    hold(lastResult);
    drop(from);
    return lastResult;
  }
  std::vector<Stamp> kept;
  size_t size = 0;
  forEach(from, [&](const Stamp &earlier) {
    ++size;
    // A plain read says more than a later atomic one: only a plain one takes its place.
    bool same = earlier.workgroup == stamp.workgroup && earlier.agent == stamp.agent;
    if (!(earlier.atomic >= stamp.atomic && (same || isOrdered(earlier))))
      kept.push_back(earlier);
  });
  uint32_t result = 0;
  if (kept.size() == size) {
    hold(from);
    result = make(stamp, from);
  } else {
    for (const Stamp &earlier : kept)
      result = make(earlier, result);
    result = make(stamp, result);
  }
  // The remembered pair stays alive, so that its numbers keep their meaning.
  hold(from);
  hold(result);
  drop(lastFrom);
  drop(lastResult);
  lastFrom = from;
  lastResult = result;
  lastStamp = stamp;
  drop(from);
  return result;
}

} // namespace soliton::emu
