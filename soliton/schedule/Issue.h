//===- Issue.h - The in-order issue model behind Timeline.h ----------------===//
//
// One wave of every group, issuing its events in order; see Timeline.h for the rules. Groups run one after the other
// until each waits for another (a barrier, a phase), then the next one goes on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Timeline.h"

#include <map>

namespace soliton::sched {

class IssueModel {
public:
  /// Gives times to `timeline.events` and fills `timeline.bars`.
  IssueModel(const Problem &problem, const Schedule &schedule, Timeline &timeline);

  void run();
  /// Changes of outstanding work over time, by (group, counter).
  std::map<std::pair<int, int>, std::map<int64_t, int64_t>> &outstanding() { return changes; }

private:
  /// A register of the op that another op writes.
  struct Input {
    int producer = 0;
    int distance = 0;
    int latency = 0;
  };
  /// Work up to `index` of a counter is complete at `time`.
  struct Completion {
    int64_t index = 0;
    int64_t time = 0;
    int event = -1;
  };
  struct CounterState {
    int64_t issued = 0;
    std::vector<Completion> done;
    /// Group counters: members since the last commit.
    std::vector<int> open;
    int64_t openDone = 0;
  };
  struct GroupState {
    int next = 0;
    int end = 0;
    int64_t now = 0;
    /// Cycles: how late the run is against the plan.
    int64_t slip = 0;
    int barriers = 0;
    int totalBarriers = 0;
    std::vector<CounterState> counters;
    /// By resource, by unit: when it is free.
    std::vector<std::vector<int64_t>> free;
    /// By op and iteration: its event.
    std::vector<std::vector<int>> eventOf;
    /// Cycles: the earliest times of the prologue, where hoisted copies come before their own.
    std::vector<int64_t> planned;
  };
  struct Meeting {
    int arrived = 0;
    int64_t time = 0;
    int event = -1;
  };
  using PhaseKey = std::tuple<int, int, int>;

  void plan(GroupState &state);
  /// Issues events of the group until one has to wait for another group; true if any was issued.
  bool advance(int group, bool force);
  bool issue(int group, Event &event, bool force);
  bool issueBarrier(GroupState &state, Event &event, bool force);
  bool issuePhaseWait(Event &event, bool force);
  void issueWait(GroupState &state, Event &event);
  void issueCommit(GroupState &state, Event &event);
  void issueArrive(Event &event);
  void issueOp(GroupState &state, Event &event);
  void waitForInputs(GroupState &state, Event &event);
  void occupyUnits(GroupState &state, Event &event);
  /// Simple counters that the op ticks.
  void track(GroupState &state, Event &event);
  /// Groups that the op joins, and phases that it completes.
  void join(GroupState &state, Event &event);
  void later(Event &event, int64_t time, Stall why, int blame);
  int indexOf(const Event &event) const { return static_cast<int>(&event - timeline.events.data()); }

  const Problem &problem;
  const Schedule &schedule;
  Timeline &timeline;
  std::vector<std::vector<Input>> inputs;
  std::vector<GroupState> states;
  std::vector<Meeting> meetings;
  /// Arrivals at, and completed copies into, an instance of a region; and how many there will be.
  std::map<PhaseKey, Meeting> phases;
  std::map<PhaseKey, int> expected;
  std::map<std::pair<int, int>, std::map<int64_t, int64_t>> changes;
};

} // namespace soliton::sched
