// The one model of time: what it waits for, who shares units, and that nothing is modelled shorter than its bound.
#include "RandomLoops.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/Timeline.h"

#include "gtest/gtest.h"

namespace soliton::sched {
namespace {
using namespace testing;

constexpr Algorithm kAll[] = {Algorithm::None, Algorithm::Prefetch, Algorithm::FourStage,
                              Algorithm::List, Algorithm::Modulo,   Algorithm::Exact};

/// Each op uses its units in one piece from its issue on. Others may run in patterns of several trips that are shorter
/// than any schedule in which all iterations run alike, which is what EXACT's bound is about.
bool isPlain(const Problem &problem) {
  for (const Operation &op : problem.operations)
    if (op.reservations.size() > 1 || (!op.reservations.empty() && op.reservations[0].start > 0))
      return false;
  return true;
}

/// Every algorithm's schedule, as a program, against the bounds; how many schedules there were.
int expectNotBelowBounds(const Problem &problem, const ScheduleOptions &options = {}) {
  int schedules = 0;
  for (Algorithm algorithm : kAll) {
    Scheduled found = scheduleWith(algorithm, problem, options);
    if (!found.schedule)
      continue;
    ++schedules;
    Schedule schedule = *found.schedule;
    assignBuffers(problem, schedule);
    Program program = synchronize(problem, schedule).program;
    // Buffers are part of what was decided: overwriting bounds the interval too.
    Bounds bounds = lowerBounds(problem, deriveDependences(problem, schedule.buffers));
    int least = std::max({bounds.lower(), found.bounds.lower(), isPlain(problem) ? found.provenBound : 1});
    EXPECT_GE(steadyInterval(problem, schedule, program), least) << nameOf(algorithm) << "\n"
                                                                 << toString(problem) << toString(problem, program);
  }
  return schedules;
}

TEST(Model, NothingIsShorterThanItsBoundOnRandomLoops) {
  int schedules = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Problem problem = randomLoop(seed, 12).problem;
    if (seed % 3 == 1)
      for (Resource &resource : problem.resources)
        resource.waves = 1 + static_cast<int>(seed % 4);
    // Two uses of one unit may come to lie on each other where turns make them longer.
    if (!validate(problem).empty())
      continue;
    schedules += expectNotBelowBounds(problem, {.exactBudget = 500'000});
  }
  EXPECT_GT(schedules, 2000);
}

TEST(Model, NothingIsShorterThanItsBoundOnGemmLoops) {
  for (int waves : {1, 2, 4})
    for (const GemmShape &shape : {GemmShape{1, 1, 1, 1, 1, false, false}, GemmShape{2, 2, 2, 2, 4, true, false},
                                   GemmShape{2, 2, 2, 2, 16, false, false}, GemmShape{2, 4, 2, 2, 4, false, true}}) {
      Problem problem = gemm(shape);
      for (Resource &resource : problem.resources)
        resource.waves = waves;
      EXPECT_EQ(expectNotBelowBounds(problem, {.exactBudget = 500'000}), 6);
    }
}

TEST(Model, NothingIsShorterThanItsBoundWithSeveralGroups) {
  for (PingPong kind : {PingPong::Bf16, PingPong::Fp8, PingPong::Proven}) {
    Body body = pingPong(kind, {2, 2, 8, 4});
    Program program = synchronize(body.problem, body.schedule).program;
    Bounds bounds = lowerBounds(body.problem, deriveDependences(body.problem, body.schedule.buffers));
    EXPECT_EQ(bounds.resource, 2 * 8 * 16) << "both groups use the one matrix unit";
    EXPECT_GE(steadyInterval(body.problem, body.schedule, program), bounds.lower());
  }
  for (int buffers : {1, 2, 3}) {
    Problem problem = producerConsumer(buffers);
    EXPECT_GT(expectNotBelowBounds(problem, {.exactBudget = 500'000}), 3);
  }
}

/// `count` independent ops of `cycles` on one unit.
Problem independent(int count, int cycles) {
  Problem problem;
  int unit = problem.addResource("unit");
  for (int i = 0; i < count; ++i) {
    Operation op = makeOp("op" + std::to_string(i), OpKind::Mma, cycles);
    op.reservations = {{unit, 0, cycles, 1}};
    problem.addOperation(op);
  }
  return problem;
}

TEST(Model, WavesOfASimdShareItsUnits) {
  Problem problem = independent(3, 4);
  Schedule schedule = *scheduleNone(problem).schedule;
  Program program = synchronize(problem, schedule).program;
  EXPECT_EQ(steadyInterval(problem, schedule, program), 12);
  problem.resources[0].waves = 2;
  EXPECT_EQ(steadyInterval(problem, schedule, program), 24);
  EXPECT_EQ(lowerBounds(problem, {}).resource, 24);
  // The same two waves as two groups.
  problem.groups = 2;
  EXPECT_EQ(steadyInterval(problem, schedule, program), 24);
  EXPECT_EQ(lowerBounds(problem, {}).resource, 24);
  EXPECT_EQ(scheduleModulo(problem).schedule->interval, 24);
}

TEST(Model, GroupsTakeTurnsOnAUnit) {
  Problem problem = independent(1, 4);
  problem.groups = 2;
  Schedule schedule = *scheduleNone(problem).schedule;
  Timeline timeline = makeTimeline(problem, schedule, synchronize(problem, schedule).program, 3);
  std::vector<std::vector<int64_t>> starts(2);
  for (const Event &event : timeline.events)
    starts[event.group].push_back(event.start);
  EXPECT_EQ(starts[0], (std::vector<int64_t>{0, 8, 16}));
  EXPECT_EQ(starts[1], (std::vector<int64_t>{4, 12, 20}));
}

TEST(Model, AUnitServesWhoComesBetweenTwoUses) {
  // The first op uses the bus late, the second at once: both fit.
  Problem problem;
  int bus = problem.addResource("bus");
  Operation late = makeOp("late", OpKind::Valu, 1), early = makeOp("early", OpKind::Valu, 1);
  late.reservations = {{bus, 5, 1, 1}};
  early.reservations = {{bus, 0, 2, 1}};
  problem.addOperation(late);
  problem.addOperation(early);
  Schedule schedule = *scheduleNone(problem).schedule;
  Timeline timeline = makeTimeline(problem, schedule, synchronize(problem, schedule).program, 1);
  EXPECT_EQ(timeline.events[0].start, 0);
  EXPECT_EQ(timeline.events[1].start, 1);
}

TEST(Model, AProgramTakesTheSameTimeWhoeverFoundIt) {
  Problem problem = gemm({2, 2, 2, 2, 16, false, false});
  Schedule planned = *scheduleModulo(problem).schedule;
  Schedule order = planned;
  // The same order and stages, said as positions.
  std::vector<int> emitted = emissionOrder(planned);
  order.timing = Timing::Order;
  order.interval = static_cast<int>(emitted.size());
  for (size_t i = 0; i < emitted.size(); ++i)
    order.slots[emitted[i]].cycle = static_cast<int>(i);
  assignBuffers(problem, planned);
  order.buffers = planned.buffers;
  EXPECT_EQ(steadyInterval(problem, planned, synchronize(problem, planned).program),
            steadyInterval(problem, order, synchronize(problem, order).program));
}

TEST(Model, TripsThatAlternateCountInFull) {
  // Seven cycles in two iterations: trips of 3 and 4 cycles, 3.5 on average, and no interval below 4.
  Problem problem;
  Operation op = makeOp("op", OpKind::Valu, 7);
  problem.addOperation(op);
  Dependence dep;
  dep.from = dep.to = 0;
  dep.distance = 2;
  dep.latency = 7;
  problem.extra.push_back(dep);
  Schedule schedule = *scheduleNone(problem).schedule;
  EXPECT_EQ(steadyInterval(problem, schedule, synchronize(problem, schedule).program), 4);
}

} // namespace
} // namespace soliton::sched
