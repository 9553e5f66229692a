//===- Issue.h - The one model of time -------------------------------------===//
//
// How long a program would take: tables, pictures, traces, the verifier's judgement of latencies and the judge of
// candidates all ask this model, and the algorithms plan with the same latencies and units (ResourceTable.h), so that
// nothing is ever modelled shorter than its bound (Bounds.h).
//
// Each wave group issues the entries of its program in order, at most one op a cycle:
//
//   an op        waits for the registers it reads, and for its units
//   a wait       waits until no more than `value` ticks of its counter are outstanding
//   a barrier    waits for all groups, the k-th of one meeting the k-th of the others (so a stagger shows)
//   a phase      waits until everybody has arrived at it
//   an await     waits until all groups have come to the release
//
// Where one group issues all of a counter's work, the others wait for that: each counts along what it does not execute.
//
// One wave stands for all waves of its group. Units belong to the machine, not to a wave: an op that keeps a unit busy
// for 4 cycles keeps it busy for 8 where two waves of its group share the unit, and groups take turns.
//
//   mma of 4 cycles, one unit, two groups:   group 0 at 0, 8, 16, …   group 1 at 4, 12, 20, …
//
// All of it is modelled, nothing is measured, and whoever prints a time must say so.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

#include <map>

namespace soliton::sched {

/// What kept an entry from being issued at once.
enum class Stall : uint8_t { None, Register, Unit, Counter, Barrier, Phase, Release };
/// For people: "a value that is not there yet".
std::string_view nameOf(Stall stall);

/// What of a problem the model needs, collected once for all its programs. It does not depend on buffers: what they
/// change are distances of overwriting, which the order of issue enforces.
struct IssueRules {
  IssueRules(const Problem &problem, std::span<const Dependence> dependences);

  struct Input {
    int producer = 0;
    int distance = 0;
    int latency = 0;
  };
  const Problem &problem;
  /// By op.
  std::vector<std::vector<Input>> inputs;
  std::vector<std::vector<Reservation>> uses;
  /// Simple counters that the op ticks: (counter, amount).
  std::vector<std::vector<Tick>> ticks;
  std::vector<char> takesSlot;
  /// Some access completes on a group or phase counter.
  std::vector<char> joins;
};

/// One executed entry of one group.
struct Issued {
  const Entry *entry = nullptr;
  Location where;
  /// The iteration of the source loop that it belongs to, and the trip of the kernel (-1 outside of it).
  int iteration = 0;
  int trip = -1;
  /// Everything before it was issued; it is issued; its units are free again; its result is there.
  int64_t ready = 0;
  int64_t start = 0;
  int64_t end = 0;
  int64_t done = 0;
  Stall stall = Stall::None;
  /// What it waited for: the group and the number of the entry there; -1 if nothing.
  int blameGroup = -1;
  int blame = -1;
};

class IssueModel {
public:
  /// `trips` trips of the kernel between prologue and epilogue (none where the program is for one trip count only).
  IssueModel(const IssueRules &rules, const Program &program, int trips);

  /// Runs until every group has executed that many trips, or nobody can go on before others go further.
  void runTrips(int limit);
  /// Runs to the end. Where waves wait for each other for ever, one of them goes on regardless.
  void finish();

  bool deadlock() const { return stuck; }
  /// What a group has executed, in order.
  const std::vector<Issued> &of(int group) const { return states[group].issued; }
  /// Complete trips of the slowest group.
  int tripsDone() const;
  /// When trip `trip` of the group began.
  int64_t tripBegin(int group, int trip) const { return states[group].begins[trip]; }
  /// Equal for trips that run alike, cycle by cycle.
  uint64_t tripShape(int group, int trip) const { return states[group].shapes[trip]; }

private:
  /// Work up to `index` of a counter is complete at `time`.
  struct Completion {
    int64_t index = 0;
    int64_t time = 0;
    int by = -1;
  };
  struct CounterState {
    int64_t issued = 0;
    std::vector<Completion> done;
    /// Group counters: members since the last commit.
    std::vector<int> open;
    int64_t openDone = 0;
  };
  struct GroupState {
    int group = 0;
    Phase phase = Phase::Prologue;
    int index = 0;
    int trip = 0;
    bool finished = false;
    bool blocked = false;
    bool atBarrier = false;
    int64_t now = 0;
    int barriers = 0;
    /// Releases so far, counted along by who executes none; when each was, and the number of its entry.
    int64_t released = 0;
    std::vector<std::pair<int64_t, int>> releases;
    std::vector<CounterState> counters;
    std::vector<Issued> issued;
    /// By op and iteration: number of its entry; -1 if it was not executed.
    std::vector<int> entryOf;
    std::vector<int64_t> begins;
    std::vector<uint64_t> shapes;
  };
  struct Busy {
    int64_t begin = 0;
    int64_t end = 0;
    int units = 1;
  };
  struct Meeting {
    int arrived = 0;
    int64_t time = 0;
    int group = -1;
    int entry = -1;
  };
  using PhaseKey = std::tuple<int, int, int>;

  void expectPhases();
  /// Steps to the next entry that the group executes; false at the end or in front of trip `limit`.
  bool seek(GroupState &state, int limit);
  /// The group to go on with: the earliest that can; null if none can.
  GroupState *next(int limit);
  bool step(GroupState &state, bool force);
  bool issue(GroupState &state, Issued &at, bool force);
  bool passBarrier(GroupState &state, Issued &at, bool force);
  bool passPhase(Issued &at, bool force);
  bool passWait(GroupState &state, Issued &at, bool force);
  bool passAwait(GroupState &state, Issued &at, bool force);
  void findOwners();
  void countAlong(GroupState &state, const Entry &entry) const;
  void commit(GroupState &state, Issued &at);
  void arrive(const PhaseKey &key, int64_t time, const GroupState &state);
  void issueOp(GroupState &state, Issued &at);
  void waitForInputs(GroupState &state, Issued &at);
  void occupyUnits(const std::vector<Reservation> &uses, Issued &at);
  std::optional<int64_t> unitsFree(const Reservation &use, int64_t start) const;
  void track(GroupState &state, Issued &at);
  void join(GroupState &state, Issued &at);
  static void later(Issued &at, int64_t time, Stall why, int group, int blame);

  const IssueRules &rules;
  const Problem &problem;
  const Program &program;
  int trips;
  int iterations = 0;
  std::vector<GroupState> states;
  std::vector<std::vector<Busy>> busy;
  std::vector<Meeting> meetings;
  /// By counter: the one group that issues its work, where others do not; -1 otherwise.
  std::vector<int> owners;
  /// Groups that say `release`.
  GroupMask releasing = 0;
  /// Arrivals at, and completed copies into, an instance of a region; and how many there will be.
  std::map<PhaseKey, Meeting> phases;
  std::map<PhaseKey, int> expected;
  bool stuck = false;
};

/// Cycles per trip of the kernel, rounded up, once trips repeat each other, of the slowest group; 0 without a kernel.
/// `stages`: how many iterations are in flight.
int64_t steadyInterval(const IssueRules &rules, const Program &program, int stages);

/// What a loop of so many iterations takes: as many trips are run as there are, or as it takes to know all of them.
struct Pace {
  /// As steadyInterval().
  int64_t interval = 0;
  /// Cycles until the last result of the last iteration is there.
  int64_t length = 0;
};
Pace paceOf(const IssueRules &rules, const Program &program, int stages, int64_t iterations);

} // namespace soliton::sched
