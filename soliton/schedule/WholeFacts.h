//===- WholeFacts.h - What else the tree of a kernel tells -------------------------===//
//
// Lifetimes: when the contents of each shared tile matter, in positions of the text (nodes counted in the order of
// forEachNode), so that tiles that never live together can share a place.
//
//   0 store s      s lives in [0, 1]
//   1 load s       t, filled anew and read in every trip, in [3, 4]: not while the loop's other tiles do
//   2 loop
//   3   store t
//   4   load t
//
// Aliasing: for each pair of parameters of which one is read and the other one written, whether every element is read
// before the same wave writes it; then both may be the same memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Whole.h"

namespace soliton::sched::whole {

/// Positions from `begin` to `end`, both included.
struct LiveInterval {
  int begin = 0;
  int end = 0;

  bool operator==(const LiveInterval &) const = default;
};

struct Lifetime {
  int region = 0;
  /// Disjoint, in order. A tile that nobody touches has none.
  std::vector<LiveInterval> intervals;
};

/// How far a schedule may still move accesses.
enum class Order : uint8_t {
  Final,   ///< every access stands where it stays
  OfLoops, ///< those of an innermost loop may change places: its tiles live while it runs
};

/// One for each shared region. A tile lives from its first to its last access. In a loop that alone touches it, it
/// lives in each trip for itself if every trip writes all that it reads before it reads.
std::vector<Lifetime> findLifetimes(const Kernel &kernel, Order order = Order::Final);

/// The positions of a node and of all that is in it.
LiveInterval positionsOf(const Kernel &kernel, int node);

/// True if the two are never alive at the same time.
bool neverTogether(const Lifetime &a, const Lifetime &b);

struct Aliasing {
  /// Regions of global memory.
  int read = 0;
  int written = 0;
  /// Every element is read before the same wave writes it, and by no other.
  bool inPlace = false;
};

/// One for each pair of a region that is read and another one that is written.
std::vector<Aliasing> findAliasing(const Kernel &kernel);

} // namespace soliton::sched::whole
