//===- Ops.h - What a pipeline is declared from ------------------------------------===//
//
// The words of a declaration. An op is coarse: one LoadA is several copies from global to shared memory, one Mma a
// whole quadrant of matrix instructions. An author names what moves (channel), where it is staged (stage, subtile) and
// which K tile it is (k); a target's cost model fills in the rest by the op's tag.
//
//   OpDesc load = logical({.tag = kLoadA, .channel = 0, .stage = 1, .subtile = 0, .k = KOffset::K1});
//   annotate({load}, mi355xTarget().costs)      latency 200 on GlobalMem, role GlobalLoad
//
// The numbers behind the enumerators are those of the framework that this vocabulary comes from.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/Diagnostics.h"

#include <array>
#include <cstdint>
#include <map>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace soliton::pipe {

/// The unit that executes an op. Matrix unit and vector unit take one op at a time, the others any number.
enum class ResourceKind : uint8_t { GlobalMem = 0, Shared = 1, MmaUnit = 2, Scalar = 3, Valu = 4, None = 255 };

/// What an op does with data; edges, blocks and recipes go by it.
enum class OpRole : uint8_t {
  GlobalLoad = 0,
  SharedStore = 1,
  FragmentLoad = 2,
  Compute = 3,
  Sync = 4,
  Fence = 5,
  ValuCompute = 6,
  None = 255,
};

/// A stage in shared memory is what such an op is about.
constexpr bool isStaged(OpRole role) {
  return role == OpRole::GlobalLoad || role == OpRole::SharedStore || role == OpRole::FragmentLoad;
}

/// Which K tile an op is about, counted from the loop variable.
enum class KOffset : uint8_t { K0 = 0, K1 = 1, KNext = 2, KPrev = 3, None = 255 };

std::string_view nameOf(ResourceKind kind);
std::string_view nameOf(OpRole role);
std::string_view nameOf(KOffset k);
/// K tiles from the loop variable: 0, 1, 2 or -1.
int tilesFromLoop(KOffset k);
/// A load that fetches for a later iteration: its K tile is known and not the previous one.
constexpr bool isPrefetch(KOffset k) {
  return k != KOffset::KPrev && k != KOffset::None;
}

/// Tags 0 to 127 belong to the kernel, those from 128 on to the framework.
inline constexpr int kFirstFrameworkTag = 128;
enum FrameworkTag : int {
  kBarrier = 128,
  kWaitVm = 129,
  kWaitLgkm = 130,
  kSetPrio = 131,
  kScheduleBarrier = 132,
  kSchedGroupBarrier = 133,
  kCommitBoxes = 134, ///< these four where fragments stay in place
  kCommitMma = 135,
  kWaitBoxes = 136,
  kWaitMma = 137,
  kNone = 255,
};

/// The classes of a scheduling-group hint.
enum class GroupClass : uint8_t { SharedRead = 0, SharedWrite = 1, GlobalRead = 2, Mma = 3 };
/// The mask by which the back end knows a class.
int llvmMask(GroupClass kind);

/// Where an op was declared. Two ops are the same wherever they were written.
struct Where {
  std::source_location at;

  Where(std::source_location at = {}) : at(at) {}
  Place place() const { return at.line() == 0 ? Place{} : Place(at); }
  bool operator==(const Where &) const { return true; }
};

/// One op: a value, no identity.
struct OpDesc {
  int tag = kNone;
  /// Loads and fragments: which of the shared stages. Compute ops: row of the quadrant.
  int stage = 0;
  /// Loads: half-tile of the stage. Fragments: quadrant. Compute ops: column. Group hints: the GroupClass.
  int subtile = 0;
  KOffset k = KOffset::None;
  /// Ticks of the vm counter; only filled in loads of a prologue.
  int vmCost = 0;
  int lgkmCost = 0;
  /// Waits: how many may stay outstanding. Priorities: the level. Group hints: how many.
  int waitValue = 0;
  ResourceKind resource = ResourceKind::None;
  int latency = 0;
  OpRole role = OpRole::None;
  /// 0 operand A, 1 operand B: ops of one channel share buffers. -1: none.
  int channel = -1;
  int vgprDef = 0, vgprKill = 0;
  Where where;

  bool isPresent() const { return tag != kNone; }
  bool operator==(const OpDesc &) const = default;
};

/// The part of an op that an author says.
struct Logical {
  int tag = kNone;
  int channel = -1;
  int stage = 0;
  int subtile = 0;
  KOffset k = KOffset::None;
};
OpDesc logical(const Logical &op, Where where = {});

/// What the framework puts between ops; none of it takes time of its own.
OpDesc barrier(Where where = {});
OpDesc waitVm(int outstanding);
OpDesc waitLgkm(int outstanding);
/// The group of copied boxes, or of products, ends here; at most so many groups may stay outstanding.
OpDesc commitBoxes();
OpDesc commitMma();
OpDesc waitBoxes(int outstanding);
OpDesc waitMma(int outstanding);
OpDesc setPrio(int level);
OpDesc scheduleBarrier();
OpDesc schedGroupBarrier(GroupClass kind, int count);
OpDesc noOp();

struct OpCost {
  ResourceKind resource = ResourceKind::None;
  int latency = 0;
  OpRole role = OpRole::None;
  int vgprDef = 0, vgprKill = 0;

  bool operator==(const OpCost &) const = default;
};

/// The cost of each kernel tag on a target.
class CostModel {
public:
  void set(int tag, const OpCost &cost) { costs[tag] = cost; }
  /// A tag that has none: no role.
  OpCost get(int tag) const {
    auto known = costs.find(tag);
    return known == costs.end() ? OpCost{} : known->second;
  }

private:
  std::map<int, OpCost> costs;
};

/// The ops with resource, latency, role and registers of their tags; the framework's own stay as they are.
std::vector<OpDesc> annotate(std::vector<OpDesc> ops, const CostModel &costs);

/// `LOAD_A[s0,1]@K0`, `MMA[1,0]`, `VM(8)`, `BARRIER`. `name` is the kernel's word for the tag.
std::string toString(const OpDesc &op, std::string_view name);

} // namespace soliton::pipe
