//===- Paths.h - What each wave group executes, in order -------------------===//
//
// A Path is the program unrolled for one number of kernel trips; a Trace is what one wave group executes of it, with
// the counters simulated in order. Verifier, barrier and wait derivation all ask the same questions of it:
//
//   position(op, n)      where instance n of an op stands
//   barriersBefore(p)    barriers passed before position p; the k-th barrier of one wave meets the k-th of another
//   completion(dep, p)   the position at which it is known that the access at p is complete
//
//   load A, load B, wait vm 1, barrier      completion of load A is the wait; load B has none
//
// A wave that uses a register which an op on a simple counter writes has waited for that op (the back end does this),
// and on an in-order counter for all before it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

#include <map>
#include <tuple>

namespace soliton::sched {

inline constexpr int kNever = std::numeric_limits<int>::max();

/// Everything about a problem and schedule that all paths of its program share.
struct PathContext {
  PathContext(const Problem &problem, const Schedule &schedule);
  /// The same with dependences that are known: deriveDependences(problem, schedule.buffers).
  PathContext(const Problem &problem, const Schedule &schedule, std::vector<Dependence> dependences);

  /// Says that ops of the schedule moved. Buffers and what is scheduled at all must be as before.
  void moved();

  const Problem &problem;
  const Schedule &schedule;
  std::vector<Dependence> dependences;
  /// Those that an order of instructions alone does not enforce: cross-wave, or asynchronous inside a wave.
  std::vector<Dependence> hazards;
  /// By op: the registers it reads that an op on a simple counter writes.
  struct Input {
    int producer = 0;
    int distance = 0;
    int counter = 0;
  };
  std::vector<std::vector<Input>> inputs;
  /// Kernel trips after which paths repeat what was seen.
  int settledTrips = 2;
};

/// The numbers of kernel trips that must be looked at, ascending; one if the trip count is known.
std::vector<int> tripsToCheck(const PathContext &context, const Program &program, std::optional<int> tripCount);

/// What of a path is wanted: who derives barriers asks nothing of counters.
enum class Detail : uint8_t { Barriers, Counters };

/// One wave group's run.
class Trace {
public:
  /// No op of the instances has an iteration of `stride` or more.
  Trace(const PathContext &context, const std::vector<Instance> &instances, int stride, int group,
        Detail detail = Detail::Counters);

  int size() const { return static_cast<int>(run.size()); }
  const Instance &at(int position) const { return *run[position]; }
  /// Position of iteration `iteration` of `op`; -1 if it does not run.
  int position(int op, int iteration) const {
    return iteration >= 0 && iteration < stride ? positions[static_cast<size_t>(op) * stride + iteration] : -1;
  }
  /// No iteration of `op` from this one on runs.
  int iterations(int op) const { return stride; }
  int barriersBefore(int position) const { return barriers[position]; }
  int numBarriers() const { return static_cast<int>(barrierAt.size()); }
  /// Every op runs its iterations one after the other: of what the compiler peels it is true, of what somebody says it
  /// need not be.
  bool inOrder() const { return ordered; }
  /// Releases before `position`, and how many of them every wave is known to have come to there.
  int releasesBefore(int position) const { return releases[position]; }
  int awaitedBefore(int position) const { return awaited[position]; }
  /// Position of the k-th barrier, counted from 1; kNever if there is none.
  int barrierPosition(int k) const { return k >= 1 && k <= numBarriers() ? barrierAt[k - 1] : kNever; }
  /// Where the access of the op at `position` on `counter` is known to be complete; kNever if nowhere.
  int completion(int position, int counter) const;
  /// Ticks (or groups) of `counter` that were issued after the op at `position` and before `until`.
  int64_t issuedSince(int position, int until, int counter) const;
  /// Ticks (or groups) of `counter` that were issued before `position`.
  int64_t issuedBefore(int position, int counter) const {
    return position > 0 ? issued[cell(counter, position - 1)] : 0;
  }
  /// True if a group counter has closed the group of the op at `position` before `until`.
  bool committed(int position, int until, int counter) const;
  /// First PhaseWait (or Arrive) on the phase of `instance`; kNever if there is none.
  int phaseEntry(EntryKind kind, int counter, int region, int instance) const;

private:
  void simulate();
  void step(int position);
  void useRegisters(int position);
  void note(std::vector<int> &last);
  int64_t indexOf(int position, int counter) const;
  size_t cell(int counter, int position) const { return static_cast<size_t>(counter) * run.size() + position; }

  const PathContext &context;
  std::vector<const Instance *> run;
  /// By op, by iteration, in rows of `stride`.
  std::vector<int> positions;
  int stride = 0;
  bool ordered = true;
  std::vector<int> barriers, barrierAt;
  std::vector<int> releases, awaited;
  /// By counter, in rows of size(): issued ticks after each position, retired index known after each position.
  std::vector<int64_t> issued, retired;
  /// By position: where a use of its register shows that it is complete.
  std::vector<int> usedAt;
  /// The first of each PhaseWait and Arrive: (kind, counter, region, instance).
  std::map<std::tuple<EntryKind, int, int, int>, int> phaseEntries;
};

/// One path: all groups.
struct Path {
  /// `tailOnly`: pairs of instances in prologue and kernel are looked at along a longer path, which begins alike.
  Path(const PathContext &context, const Program &program, int trips, bool tailOnly = false,
       Detail detail = Detail::Counters);

  bool isInHead(const Instance &instance) const { return tailOnly && instance.where.phase != Phase::Epilogue; }
  /// Both sides of all earlier instances of the hazard are in the head, or do not run.
  int firstToLookAt(const Dependence &hazard, const Trace &from, const Trace &to) const;

  int trips;
  bool tailOnly;
  std::vector<Instance> instances;
  std::vector<Trace> traces;
};

/// The paths that must be looked at, each pair of instances in one of them.
std::vector<Path> pathsToCheck(const PathContext &context, const Program &program, std::optional<int> tripCount,
                               Detail detail = Detail::Counters);

/// One hazard between two instances in one path.
struct HazardInstance {
  const Dependence *hazard = nullptr;
  const Trace *from = nullptr;
  const Trace *to = nullptr;
  int fromGroup = 0;
  int toGroup = 0;
  int iteration = 0;
  int fromPosition = 0;
  int toPosition = 0;
};

/// True if phase barriers, not workgroup barriers, protect the hazard.
bool protectedByPhase(const Problem &problem, const Dependence &hazard);

/// The instance of the hazard's region that iteration `iteration` of its source touches.
int instanceOf(const Problem &problem, const Dependence &hazard, int iteration);

/// Barriers that must lie between the two sides for the worst pair of staggered groups.
int barrierDemand(const Problem &problem, const Dependence &hazard);

/// True if one lane issues what comes later: it alone has to know that others are done.
bool isForOneLane(const Problem &problem, const Dependence &hazard);

/// True if wait and barrier (or phase, or the halves of a split barrier) order the two sides.
bool isProven(const PathContext &context, const HazardInstance &instance);

/// Calls `visit` for every pair of instances of every hazard and pair of groups.
template <typename Visit>
void forEachHazard(const PathContext &context, const Path &path, Visit visit) {
  int groups = static_cast<int>(path.traces.size());
  for (const Dependence &hazard : context.hazards)
    for (int pair = 0; pair < groups * groups; ++pair) {
      int u = pair / groups, v = pair % groups;
      // Inside one wave nothing but that wave matters.
      if (!(hazard.fromGroups >> u & 1) || !(hazard.toGroups >> v & 1) || (!hazard.crossWave && u != v))
        continue;
      const Trace &from = path.traces[u], &to = path.traces[v];
      for (int n = path.firstToLookAt(hazard, from, to); n < from.iterations(hazard.from); ++n) {
        int x = from.position(hazard.from, n), y = to.position(hazard.to, n + hazard.distance);
        if (x >= 0 && y >= 0 && !(path.isInHead(from.at(x)) && path.isInHead(to.at(y))))
          visit(HazardInstance{&hazard, &from, &to, u, v, n, x, y});
      }
    }
}

/// True if every hazard is proven, whatever the number of trips.
bool isProvenThroughout(const PathContext &context, const Program &program, std::optional<int> tripCount);

} // namespace soliton::sched
