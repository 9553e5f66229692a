//===- Judge.h - Analyse once, judge many schedules ------------------------===//
//
// A search tries thousands of schedules of one problem. What does not change between them is found once: dependences
// (with another number of buffers only distances of reuse move), who touches which storage, the rules of the model of
// time. A change of some slots then costs what hangs on those ops.
//
//   Judge judge(problem);
//   Verdict first = judge.judge(schedule);
//   Verdict moved = judge.rejudge({{op, {.stage = 1, .cycle = 40}}});      // `schedule` with one op elsewhere
//   judge.rejudge({{op, before}});                                         // and back
//
// The verdict is that of the verifier: accepted or not, the first reason against it and the dependence that it
// violates; of what is accepted also how long a trip takes by the model, once barriers and waits are derived.
// `verdictFromScratch` gives the same without remembering anything, by verify(), synchronize() and Issue.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Issue.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Paths.h"
#include "soliton/schedule/Verify.h"

namespace soliton::sched {

struct Verdict {
  bool accepted = false;
  /// The id of the first error.
  std::optional<DiagId> reason;
  /// Where the reason is one: the first dependence that is violated.
  std::optional<Dependence> violated;
  int64_t registers = 0;
  int64_t sharedBytes = 0;
  /// Modelled cycles per trip of the kernel; 0 of what is not accepted.
  int64_t interval = 0;

  bool operator==(const Verdict &) const = default;
};

/// verify(), synchronize(), verify() of the program, steadyInterval().
Verdict verdictFromScratch(const Problem &problem, const Schedule &schedule);

/// One op gets another slot.
struct Change {
  int op = 0;
  Slot slot;
};

class Judge {
public:
  /// The problem must be valid and outlive the judge. Of a loop whose iterations are known it also finds the length.
  explicit Judge(const Problem &problem, int64_t iterations = 0);
  Judge(const Judge &) = delete;
  Judge &operator=(const Judge &) = delete;

  /// Of a schedule that may have nothing in common with the last one. Buffers that it leaves open (0) are as many as
  /// are needed, now and after changes.
  Verdict judge(const Schedule &schedule);
  /// Of the last schedule with these changes, which stay.
  Verdict rejudge(std::span<const Change> changes);
  Verdict rejudge(std::initializer_list<Change> changes) { return rejudge(std::span(changes.begin(), changes.size())); }
  /// From the next verdict on, regions whose buffers are open have so many more than they need; by region.
  void giveMoreBuffers(std::vector<int> more);

  /// What was judged last, with its buffers.
  const Schedule &schedule() const { return current; }
  /// Of the last schedule, if it was accepted: the program with its barriers and waits, and what its times follow from.
  /// Null where the schedule was judged from scratch.
  const Program *program() const { return proven ? &*proven : nullptr; }
  const IssueRules &issueRules() const { return rules; }
  /// Of the last schedule, if it was accepted and not judged from scratch, and iterations are known: the cycles that
  /// all of them take.
  std::optional<int64_t> length() const { return proven ? ran : std::nullopt; }

private:
  bool isSound(const Schedule &schedule) const;
  bool comesBefore(int a, int b) const;
  bool isViolated(const Dependence &dep) const;
  void recheck(int dependence);
  void occupy(int op, int sign);
  void start(const Schedule &schedule);
  void place(const Change &change);
  bool isFree(int region) const;
  void decideBuffers(int region);
  void findPositions();
  bool clustersContiguous() const;
  Verdict decide();
  /// Cycles per trip; nothing if derivation leaves something unproven.
  std::optional<int64_t> modelledInterval();
  Verdict fromScratch() const;

  const Problem &problem;
  int64_t iterations;
  DependenceTable table;
  StorageTable storage;
  IssueRules rules;
  /// By op: regions that it touches; dependences that it is part of. By region: dependences of reuse.
  std::vector<std::vector<int>> regionsOf, dependencesOf, reusesOf;
  /// What derivation alone cannot be trusted with (phases, barriers of some groups) is verified each time.
  bool needsProof = false;
  /// By region: its buffers are part of a hazard.
  std::vector<char> inHazard;

  Schedule current;
  /// The last schedule was none that state could be kept for.
  bool stale = true;
  /// Which buffers the schedule left open.
  std::vector<char> open;
  std::vector<int> order, position;
  /// All that there can be, in the order of the table; those that do not hold at these buffers are not `active`.
  std::vector<Dependence> dependences;
  std::vector<char> active, violated;
  int violations = 0;
  /// Units in use, by resource and cycle of the interval; how many cells hold more than there are.
  std::vector<std::vector<int>> used;
  int overfull = 0;
  std::optional<PathContext> context;
  /// By region: buffers beyond those that are needed; and where that has changed since the last verdict.
  std::vector<int> more;
  std::vector<int> otherwise;
  /// Of the last schedule, unless it was refused or judged from scratch.
  std::optional<Program> proven;
  std::optional<int64_t> ran;
};

} // namespace soliton::sched
