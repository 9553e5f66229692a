//===- Problem.h - What is to be scheduled ---------------------------------===//
//
// One loop body as the scheduling core sees it: operations in the order of the source, what they occupy (resources),
// how long they take (latency), which counters they tick, and which regions of registers, shared or global memory
// they touch. No dependence is written down by hand: Dependences.h derives all of them from the accesses.
//
//   global load a   writes register ra           latency 500, ticks vm
//   shared store a  reads ra, writes shared sa   latency 40,  ticks shared
//   shared load a   reads sa, writes register fa latency 40,  ticks shared
//   mma             reads fa, reads and writes the accumulator of the iteration before (offset -1)
//
// gives  load -> store (RAW ra), store -> shared load (RAW sa), shared load -> mma (RAW fa), mma -> mma (RAW, one
// iteration apart) and, once the number of buffers of sa is known, shared load -> store of a later iteration (WAR).
//
// The hardware's numbers are plain fields here; whoever builds the problem fills them from its target table.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/Diagnostics.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace soliton::sched {

/// A set of wave groups, one bit each. Waves of one group run the same program with the same stagger.
using GroupMask = uint32_t;
inline constexpr GroupMask kAllGroups = ~GroupMask{0};
inline constexpr int kMaxGroups = 32;

/// What an operation does; heuristics (PREFETCH, FOUR_STAGE) read it, dependences never do.
enum class OpKind : uint8_t {
  GlobalLoad,
  GlobalStore,
  SharedStore,
  SharedLoad,
  CopyAsync, ///< global to shared without registers
  Mma,
  MmaAsync, ///< reads shared tiles; its accumulator is pending until a wait
  Valu,
  Shuffle,
  Barrier, ///< written by the author: stays where it is and counts
  Wait,    ///< written by the author: waits until at most `value` ticks of `counter` are outstanding
  Commit,  ///< closes the open group of a Group counter
  Hint,    ///< priorities and scheduling fences: no meaning, only a place
  Free,    ///< constants, slices, casts: no cost
};

std::string_view nameOf(OpKind kind);
std::optional<OpKind> parseOpKind(std::string_view text);

/// An execution unit of which `units` copies accept work in each cycle.
struct Resource {
  std::string name;
  int units = 1;
  /// Waves of the workgroup that share it (those of a SIMD, of a compute unit); the groups have equally many.
  int waves = 1;
};

/// `units` copies of `resource` are busy in the cycles [start, start + length) after the issue.
struct Reservation {
  int resource = 0;
  int start = 0;
  int length = 1;
  int units = 1;

  bool operator==(const Reservation &) const = default;
};

/// How outstanding work of a counter retires (which counter it is, is soliton/support/Counter.h's matter).
enum class Retirement : uint8_t {
  InOrder,    ///< oldest first (vmcnt, lgkmcnt of shared accesses): a wait may leave n ticks outstanding
  OutOfOrder, ///< no order among ticks (lgkmcnt with scalar loads in it): only a wait for 0 means anything
  Group,      ///< ops join a group that a commit closes; a wait leaves n groups outstanding (cp.async, wgmma)
  Phase,      ///< one barrier object per buffer of a region; a wait names the phase (mbarrier)
};

struct Counter {
  std::string name;
  Retirement kind = Retirement::InOrder;
  /// The largest value that a wait can name (63 for a six-bit field); 0: no limit.
  int limit = 0;
  /// Waits for registers that are loaded on it are derived too. Otherwise the back end adds them where they are used.
  bool saysRegisterWaits = false;
  /// One lane issues for the whole workgroup, and every wave can wait for it: what a wave has waited for is complete to
  /// that wave, without a barrier. Ticks complete in order, what they write may land in any.
  bool ofWorkgroup = false;
};

struct Tick {
  int counter = 0;
  int amount = 1;
};

enum class Space : uint8_t { Register, Shared, Global };
std::string_view nameOf(Space space);

/// Storage that operations touch.
///
/// A *rotating* region is a new instance in each iteration (an SSA value, a tile that may be multi-buffered): instance
/// i lives in buffer i mod B and is overwritten by instance i + B. `buffers` fixes B; 0 leaves it to the schedule. A
/// region that is not rotating is one piece of storage whose accesses keep their sequential order (a physical
/// register, one half of a hand-made double buffer).
struct Region {
  std::string name;
  Space space = Space::Register;
  /// Registers per lane, or bytes, of one buffer.
  int64_t size = 1;
  int buffers = 0;
  bool rotating = true;
  /// Every wave touches only its own part: ordered by waits alone, never by barriers.
  bool waveLocal = false;
  /// Phase counter on which readers announce that a buffer is empty; -1: barriers protect against overwriting.
  int release = -1;
};

inline constexpr int64_t kWholeEnd = std::numeric_limits<int64_t>::max();

/// One read or write of a region. At iteration n it touches instance n + offset.
struct Access {
  int region = 0;
  bool write = false;
  int offset = 0;
  /// Part of the region in any unit the caller likes; two accesses overlap if their intervals do.
  int64_t begin = 0;
  int64_t end = kWholeEnd;
  /// Which wave groups really touch it (a half-tile may be read by one group only).
  GroupMask groups = kAllGroups;
  /// The counter whose retirement completes this access; -1: complete at issue.
  int counter = -1;
};

/// Which instruction of the author's op this is; schedules select by it.
struct Origin {
  /// The author's op, numbered in the order of the source; -1: nobody's (put in by a schedule).
  int op = -1;
  /// What the author wrote: `read`, `write`, `mma`, `binary`, …
  std::string type;
  std::vector<std::string> tags;
  /// Which piece along each dimension that has several: {M: 1, K: 0}.
  std::map<std::string, int64_t> piece;
  /// Which copy of the loop body it is in, by unrolling.
  int copy = 0;
  /// A schedule written by hand must mention it (a memory, matrix, cross-lane or arithmetic op that the author wrote).
  bool required = false;
};

/// What a Hint asks of the machine; it has no meaning otherwise.
enum class HintKind : uint8_t {
  None,
  Priority,     ///< arguments: level
  SchedBarrier, ///< arguments: mask of the classes that may cross
  SchedGroup,   ///< arguments: mask, how many, group
};

struct Operation {
  /// Identity: tag and path, stable across edits (`read_a/shared_load/M1.K0`). Schedules are keyed by it.
  std::string key;
  Place place;
  OpKind kind = OpKind::Valu;
  /// Cycles from issue until the result may be used, or until memory effects are done for sure.
  int latency = 1;
  /// Cycles from issue before which no memory effect happens (large for copies from global memory).
  int firstEffect = 0;
  std::vector<Reservation> reservations;
  std::vector<Tick> ticks;
  std::vector<Access> accesses;
  /// Which wave groups execute it (producer and consumer waves).
  GroupMask groups = kAllGroups;
  /// Wait and Commit: the counter; Wait: the value.
  int counter = -1;
  int value = 0;
  /// Barrier, Wait, Commit: keeps its place in the source relative to the memory operations it could order. False for
  /// those that a schedule put in: the schedule says where they are.
  bool pinned = true;
  Origin origin;
  HintKind hint = HintKind::None;
  std::vector<int64_t> arguments;
};

enum class DepKind : uint8_t { Raw, War, Waw, Order };
std::string_view nameOf(DepKind kind);

/// start(to) + II * distance - start(from) >= latency; `to` belongs to a `distance` later iteration.
struct Dependence {
  int from = 0;
  int to = 0;
  DepKind kind = DepKind::Order;
  Space space = Space::Register;
  int region = -1;
  int distance = 0;
  int latency = 0;
  /// Between waves of one workgroup: program order of one wave does not enforce it.
  bool crossWave = false;
  /// The counters that complete the access of `from` and of `to`; -1: complete at issue.
  int counter = -1;
  int toCounter = -1;
  /// The groups whose waves do `from` and `to` on this region.
  GroupMask fromGroups = kAllGroups;
  GroupMask toGroups = kAllGroups;
  /// Overwriting by a later instance in the same buffer: a larger number of buffers resolves it.
  bool reuse = false;

  bool operator==(const Dependence &) const = default;
};

/// What the kernel may use; 0: no limit.
struct Limits {
  int64_t registers = 0;
  int64_t sharedBytes = 0;
  /// A compute unit has one workgroup of the launch at most: shared memory that it leaves serves nobody.
  bool alone = false;
  /// Other workgroups of its cluster copy tiles to it too: a barrier in front of copies would be one of all of them.
  bool inCluster = false;
  /// Waves go on to the next tile of their workgroup by themselves: at a barrier they would meet in each trip.
  bool overlapsTiles = false;
};

struct Problem {
  std::string loop = "loop";
  std::vector<Resource> resources;
  std::vector<Counter> counters;
  std::vector<Region> regions;
  /// In source order: an operation that another of the same iteration needs comes first.
  std::vector<Operation> operations;
  /// Dependences that no access shows (said by the author).
  std::vector<Dependence> extra;
  Limits limits;
  /// Wave groups; group g executes stagger[g] more barriers before the loop than group 0 counts (ping-pong).
  int groups = 1;
  std::vector<int> stagger;

  int addResource(std::string name, int units = 1);
  int addCounter(std::string name, Retirement kind = Retirement::InOrder, int limit = 0);
  int addRegion(Region region);
  int addOperation(Operation op);

  int numOps() const { return static_cast<int>(operations.size()); }
  GroupMask allGroups() const { return groups >= kMaxGroups ? kAllGroups : (GroupMask{1} << groups) - 1; }
  /// Waves of each group that share a resource; one at least.
  int wavesPerGroup(int resource) const { return (resources[resource].waves + groups - 1) / groups; }
  /// Cycles for which a reservation keeps its units busy until all waves that execute the op have had their turn.
  int busyCycles(const Operation &op, const Reservation &use) const;
  int staggerOf(int group) const { return group < static_cast<int>(stagger.size()) ? stagger[group] : 0; }
  /// The operation of that key, or -1.
  int find(std::string_view key) const;
};

/// Short forms for declaring accesses.
Access reads(int region, int counter = -1);
Access writes(int region, int counter = -1);

/// What is wrong with the problem itself: indices, duplicate keys, impossible reservations. Empty if nothing is.
std::vector<Diagnostic> validate(const Problem &problem);

/// A problem small enough for tests and documents, as text (one op a line: key, kind, latency, resources, accesses).
std::string toString(const Problem &problem);

} // namespace soliton::sched
