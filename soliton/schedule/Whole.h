//===- Whole.h - A whole kernel as synchronisation sees it -------------------------===//
//
// All that waves do to memory and to each other, as a tree: instructions with their accesses and ticks, barriers, waits
// and commits, loops and branches. Straight-line code is a sequence, a pipelined loop is its prologue, a loop and its
// epilogue. WholeSync.h derives the barriers and waits that are missing, WholeVerify.h proves the result.
//
//   store a   writes `s`, ticks shared             store a
//   loop 8                                becomes  wait shared 0, barrier
//     load b  reads `s`, ticks shared              loop 8
//                                                    load b
//
// Two accesses *conflict* if one of them writes and their regions and ranges overlap. They concern one wave only if
// both are the same `function` from elements to waves and that function names one wave for each element. Atomics of
// one kind do not conflict with each other.
//
// What one lane does for the workgroup, on a counter that is the workgroup's, is complete to every wave that has waited
// for it. The lane itself learns by `await` that all waves have come to a `release`: what they had completed there it
// may overwrite.
//
// A *team* is the waves that issue a matrix instruction together. A barrier of teams orders what concerns one team
// only:
//
//   store s       each team its own rows              store s
//   copy_out s    each team its own rows   becomes    barrier of teams
//                                                     copy_out s
//
// A tile with B buffers is told apart by a *clock*, which counts the iterations of the loop that was pipelined: an
// access with phase p touches buffer (clock + p) mod B. The kernel loop of a pipeline advances the clock behind every
// trip, `restart` sets it back, so a prologue has phases 0, 1, … and an epilogue phases relative to the last trip.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Problem.h"

namespace soliton::sched::whole {

/// Storage that waves share.
struct Region {
  std::string name;
  Space space = Space::Shared;
  /// Shared memory: where its buffers lie, in bytes. Regions whose places overlap are each other's storage; a region of
  /// no bytes overlaps none but itself.
  int64_t offset = 0;
  int64_t bytes = 0;
  int buffers = 1;
};

/// One read or write of a region by all waves that execute the instruction.
struct Access {
  int region = 0;
  bool write = false;
  /// Part of the region, in any unit that all accesses of the region share.
  int64_t begin = 0;
  int64_t end = kWholeEnd;
  /// The function from elements to the waves and iterations that touch them; equal numbers mean equal functions. -1:
  /// nothing is known.
  int function = -1;
  /// The same without the iterations: equal numbers give an element to the same wave. -1: nothing is known.
  int who = -1;
  /// That function gives one wave for each element. False where several waves touch the same one.
  bool oneWave = false;
  /// The function from elements to the only team that touches them; equal numbers mean equal functions. -1: nothing is
  /// known.
  int team = -1;
  /// And one workgroup.
  bool oneWorkgroup = false;
  /// Loops around the instruction whose different iterations touch different elements (ids of nodes).
  std::vector<int> apart;
  /// The same elements whenever it is executed.
  bool steady = false;
  /// Which buffer: (clock + phase) mod buffers; no clock: any.
  int clock = -1;
  int phase = 0;
  /// The counter whose retirement completes it; -1: complete at issue, or wherever a barrier is passed.
  int counter = -1;
  /// The kind of a read or write that is one step of both; those of one kind may come in any order. -1: a plain one.
  int atomic = -1;
  /// The author of a schedule accepts that only latency keeps it from others that say the same.
  bool waived = false;
  /// What has to come before it does, as who built the tree has asked the judge: no barrier is derived for its sake.
  bool ordered = false;
  /// Workgroups of the cluster do it to each other's shared memory: what it is ordered with lies behind a barrier of
  /// the cluster, and nobody ends before one.
  bool remote = false;

  /// Equal accesses conflict with the same others; the latest of them is what others have to wait for.
  auto operator<=>(const Access &) const = default;
};

enum class NodeKind : uint8_t {
  Instruction,
  Barrier,
  Wait,    ///< until at most `value` ticks (or groups) of `counter` are outstanding
  Commit,  ///< closes the open group of `counter`
  Release, ///< the wave is done with what it has completed so far, and goes on
  Await,   ///< the first wave: until all have come to all but the last `value` of its releases
  Restart, ///< `clock` counts from 0 again
  Loop,
  Branch, ///< the same way for all waves
};

/// Whose a barrier, wait or commit is.
enum class Source : uint8_t { Said, Derived };

struct Node;
using Sequence = std::vector<Node>;

struct Node {
  NodeKind kind = NodeKind::Instruction;
  /// Unique in the kernel; given by whoever builds it, by `number`, or by the derivation for what it adds.
  int id = -1;
  std::string name;
  Place place;
  /// Which wave groups execute it.
  GroupMask groups = kAllGroups;
  /// Barrier: all workgroups of the cluster meet.
  bool cluster = false;
  /// Barrier: the waves of each team meet, those of others go on.
  bool team = false;
  std::vector<Access> accesses;
  std::vector<Tick> ticks;
  /// Wait, Commit: the counter; Wait: the value.
  int counter = -1;
  int value = 0;
  Source source = Source::Said;
  /// Loop: how often it runs. Restart and Loop: the clock, and by how much a trip advances it.
  int64_t least = 0;
  std::optional<int64_t> most;
  int clock = -1;
  int step = 0;
  /// Loop: one; Branch: two.
  std::vector<Sequence> bodies;
};

struct Kernel {
  std::string name = "kernel";
  /// Waves of a workgroup. One wave alone needs no barriers.
  int waves = 2;
  /// Wave groups: those that may be at different barriers at the same time.
  int groups = 1;
  /// Workgroups of a cluster run it together, and what one lane copies goes to all of them.
  bool together = false;
  std::vector<Counter> counters;
  std::vector<Region> regions;
  Sequence body;

  GroupMask allGroups() const { return groups >= kMaxGroups ? kAllGroups : (GroupMask{1} << groups) - 1; }
  bool isForAll(const Node &node) const { return (node.groups & allGroups()) == allGroups(); }
  /// A barrier behind which every wave knows what each other one has completed before it.
  bool meetsAll(const Node &node) const { return isForAll(node) && !node.team; }
};

/// Gives every node an id, in the order of the text. Loops that accesses name in `apart` keep theirs.
void number(Kernel &kernel);

/// Calls `visit` for each node in the order of the text, a loop or branch before its bodies.
template <typename Visit>
void forEachNode(const Sequence &sequence, Visit visit) {
  for (const Node &node : sequence) {
    visit(node);
    for (const Sequence &body : node.bodies)
      forEachNode(body, visit);
  }
}

/// Two shared regions whose places overlap.
bool shareBytes(const Region &a, const Region &b);
/// One of the two writes, and they may touch the same byte of the same buffer numbers.
bool mayConflict(const Kernel &kernel, const Access &x, const Access &y);
/// Whatever element both touch, the same wave touches it.
bool isOneWave(const Kernel &kernel, const Access &x, const Access &y);
/// Whatever element both touch, waves of one team touch it.
bool isOneTeam(const Access &x, const Access &y);
/// In different iterations of `loop` they touch different elements.
bool isApartIn(const Access &x, const Access &y, int loop);
/// `x`, whose phase relative to the clock now is `phase` (nothing: any), may be in the buffer that `y` touches now.
bool mayMeet(const Kernel &kernel, const Access &x, std::optional<int> phase, const Access &y);
/// One lane does `x` for the whole workgroup: whoever has waited for it is behind it.
bool isSeenByWait(const Kernel &kernel, const Access &x);
/// One lane of the first wave does `y`: it is behind what that wave knows to be done.
bool isByOneLane(const Kernel &kernel, const Access &y);
/// The order of instructions alone makes `x` complete before `y`, of the same wave.
bool isInOrder(const Kernel &kernel, const Access &x, const Access &y);

/// RAW, WAR or WAW.
DepKind kindOf(const Access &x, const Access &y);

/// What is wrong with the tree itself; empty if nothing is.
std::vector<Diagnostic> validate(const Kernel &kernel);

/// One line a node, for people and tests.
std::string toString(const Kernel &kernel);
std::string toString(const Kernel &kernel, const Node &node);

/// Short forms for building trees.
Node instruction(std::string name, std::vector<Access> accesses, std::vector<Tick> ticks = {});
Node barrier(GroupMask groups = kAllGroups);
Node barrierOfTeams();
Node wait(int counter, int value);
Node commit(int counter);
Node release();
Node await(int value);
Node loop(Sequence body, int64_t least = 0, std::optional<int64_t> most = std::nullopt);
Node branch(Sequence first, Sequence second = {});

} // namespace soliton::sched::whole
