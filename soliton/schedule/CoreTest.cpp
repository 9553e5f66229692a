// Dependences, bounds, resource table, stabbing, peeling: each against its own arithmetic.
#include "RandomLoops.h"
#include "soliton/schedule/Barriers.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Peel.h"
#include "soliton/schedule/ResourceTable.h"
#include "soliton/schedule/Stabbing.h"

#include <gtest/gtest.h>
#include <random>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
/// "RAW 0>1@0 latency 5" for every dependence.
std::set<std::string> dependenceSet(const Problem &problem, std::span<const int> buffers = {}) {
  std::set<std::string> result;
  for (const Dependence &dep : deriveDependences(problem, buffers))
    result.insert(std::string(nameOf(dep.kind)) + " " + std::to_string(dep.from) + ">" + std::to_string(dep.to) + "@" +
                  std::to_string(dep.distance) + " latency " + std::to_string(dep.latency));
  return result;
}

/// store, load of one rotating tile.
Problem tileLoop() {
  Problem problem;
  int tile = problem.addRegion({"tile", Space::Shared, 1024, 0, true, false, -1});
  Operation store = makeOp("store", OpKind::SharedStore, 40), load = makeOp("load", OpKind::SharedLoad, 64);
  store.accesses = {writes(tile)};
  load.accesses = {reads(tile)};
  problem.addOperation(store);
  problem.addOperation(load);
  return problem;
}
} // namespace

TEST(Dependences, RotatingTileHasWarAtTheNumberOfBuffers) {
  Problem problem = tileLoop();
  EXPECT_EQ(dependenceSet(problem), (std::set<std::string>{"RAW 0>1@0 latency 40"}));
  for (int buffers : {1, 2, 3}) {
    std::vector<int> counts = {buffers};
    EXPECT_EQ(dependenceSet(problem, counts),
              (std::set<std::string>{"RAW 0>1@0 latency 40", "WAR 1>0@" + std::to_string(buffers) + " latency 1"}));
  }
}

TEST(Dependences, CarriedValueAndAccumulatorInPlace) {
  Problem problem;
  int acc = problem.addRegion({"acc", Space::Register, 4, 1, true, false, -1});
  Operation op = makeOp("mma", OpKind::Mma, 16);
  Access input = reads(acc);
  input.offset = -1;
  op.accesses = {input, writes(acc)};
  problem.addOperation(op);
  EXPECT_EQ(dependenceSet(problem), (std::set<std::string>{"RAW 0>0@1 latency 16"}));
  // Read two iterations later from one register: nothing can save that value.
  problem.operations[0].accesses[0].offset = -2;
  EXPECT_EQ(dependenceSet(problem), (std::set<std::string>{"RAW 0>0@2 latency 16", "WAR 0>0@-1 latency 1"}));
}

TEST(Dependences, PhysicalRegisterKeepsSequentialOrder) {
  Problem problem;
  Region region{"r", Space::Register, 1, 1, false, false, -1};
  int r = problem.addRegion(region);
  for (int i = 0; i < 2; ++i) {
    Operation write = makeOp("w" + std::to_string(i), OpKind::SharedLoad, 20);
    write.accesses = {writes(r)};
    problem.addOperation(write);
    Operation read = makeOp("u" + std::to_string(i), OpKind::Mma, 16);
    read.accesses = {reads(r)};
    problem.addOperation(read);
  }
  // w0 u0 w1 u1: the second write ends what the first began.
  EXPECT_EQ(dependenceSet(problem),
            (std::set<std::string>{"RAW 0>1@0 latency 20", "WAW 0>2@0 latency 1", "WAR 1>2@0 latency 0",
                                   "RAW 2>3@0 latency 20", "WAW 2>0@1 latency 1", "WAR 3>0@1 latency 0"}));
}

TEST(Dependences, DisjointPartsDoNotConflict) {
  Problem problem;
  int tile = problem.addRegion({"tile", Space::Shared, 1024, 1, true, false, -1});
  for (int i = 0; i < 2; ++i) {
    Operation store = makeOp("store" + std::to_string(i), OpKind::SharedStore, 10);
    Access access = writes(tile);
    access.begin = i;
    access.end = i + 1;
    store.accesses = {access};
    problem.addOperation(store);
  }
  Operation load = makeOp("load", OpKind::SharedLoad, 20);
  load.accesses = {reads(tile)};
  problem.addOperation(load);
  EXPECT_EQ(dependenceSet(problem), (std::set<std::string>{"RAW 0>2@0 latency 10", "RAW 1>2@0 latency 10",
                                                           "WAR 2>0@1 latency 1", "WAR 2>1@1 latency 1"}));
}

TEST(Dependences, PinnedBarrierStaysBetweenItsAccesses) {
  Problem problem = tileLoop();
  Operation barrier = makeOp("barrier", OpKind::Barrier, 0);
  problem.operations.insert(problem.operations.begin() + 1, barrier);
  std::set<std::string> expected = {"RAW 0>2@0 latency 40", "order 0>1@0 latency 0", "order 1>2@0 latency 0"};
  EXPECT_EQ(dependenceSet(problem), expected);
  problem.operations[1].pinned = false;
  EXPECT_EQ(dependenceSet(problem), (std::set<std::string>{"RAW 0>2@0 latency 40"}));
}

TEST(Problem, ValidateNamesWhatIsWrong) {
  Problem problem = tileLoop();
  EXPECT_TRUE(validate(problem).empty());
  problem.operations[1].key = "store";
  problem.operations[1].latency = -1;
  problem.operations[1].reservations = {{3, 0, 1, 1}};
  problem.operations[0].accesses[0].region = 9;
  std::vector<Diagnostic> found = validate(problem);
  ASSERT_EQ(found.size(), 4u);
  for (const Diagnostic &diag : found)
    EXPECT_EQ(diag.id, DiagId::ScheduleProblemInvalid);
  EXPECT_EQ(found[1].message, "two operations have the key `store`");
}

TEST(Bounds, ResourceAndRecurrenceWithWitness) {
  Problem problem;
  int unit = problem.addResource("mma", 2);
  for (int i = 0; i < 5; ++i) {
    Operation op = makeOp("op" + std::to_string(i), OpKind::Mma, 4);
    op.reservations = {{unit, 0, 3, 1}};
    problem.addOperation(op);
  }
  // 15 busy cycles on 2 units: 8. A cycle of latencies 4 + 4 + 5 over distance 1: 13.
  problem.extra = {{0, 1, DepKind::Order, Space::Register, -1, 0, 4},
                   {1, 2, DepKind::Order, Space::Register, -1, 0, 4},
                   {2, 0, DepKind::Order, Space::Register, -1, 1, 5},
                   {3, 3, DepKind::Order, Space::Register, -1, 2, 9}};
  std::vector<Dependence> deps = deriveDependences(problem);
  Bounds bounds = lowerBounds(problem, deps);
  EXPECT_EQ(bounds.resource, 8);
  EXPECT_EQ(bounds.recurrence, 13);
  EXPECT_EQ(bounds.lower(), 13);
  CycleSum sum = sumCycle(deps, bounds.cycle);
  EXPECT_EQ(sum.latency, 13);
  EXPECT_EQ(sum.distance, 1);
}

TEST(Bounds, RecurrenceBoundIsTheLargestCycleRatio) {
  // Against the definition: the smallest interval without a positive cycle by Floyd and Warshall.
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    RandomLoop loop = randomLoop(seed);
    std::vector<Dependence> deps = deriveDependences(loop.problem);
    int count = loop.problem.numOps(), expected = 1;
    for (;; ++expected) {
      std::vector<std::vector<int64_t>> path(count, std::vector<int64_t>(count, -1000000));
      for (const Dependence &dep : deps)
        path[dep.from][dep.to] =
            std::max<int64_t>(path[dep.from][dep.to], dep.latency - int64_t{dep.distance} * expected);
      for (int k = 0; k < count; ++k)
        for (int i = 0; i < count; ++i)
          for (int j = 0; j < count; ++j)
            path[i][j] = std::max(path[i][j], path[i][k] + path[k][j]);
      bool positive = false;
      for (int i = 0; i < count; ++i)
        positive |= path[i][i] > 0;
      if (!positive)
        break;
    }
    EXPECT_EQ(lowerBounds(loop.problem, deps).recurrence, expected) << "seed " << seed;
  }
}

TEST(ResourceTable, FirstFitAgreesWithTryingEveryCycle) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    RandomLoop loop = randomLoop(seed);
    int interval = 3 + static_cast<int>(seed * 7 % 150);
    ResourceTable table(loop.problem, interval);
    std::mt19937 random(seed);
    for (int i = 0; i < 200; ++i) {
      int op = static_cast<int>(random() % loop.problem.numOps());
      int64_t from = static_cast<int64_t>(random() % 500) - 100;
      std::optional<int64_t> expected;
      for (int64_t at = from; at < from + interval && !expected; ++at)
        if (table.fits(op, at))
          expected = at;
      ASSERT_EQ(table.firstFit(op, from), expected) << "seed " << seed;
      if (expected)
        table.place(op, *expected);
    }
    for (size_t r = 0; r < loop.problem.resources.size(); ++r)
      for (int cycle = 0; cycle < interval; ++cycle)
        ASSERT_LE(table.used(static_cast<int>(r), cycle), loop.problem.resources[r].units);
  }
}

TEST(Stabbing, APointMovesToACheaperSlotOfItsInterval) {
  // One barrier anywhere in 2..5, another in slot 0 alone.
  StabbingProblem problem{.slots = 6,
                          .intervals = {{2, 5}, {0, 0}},
                          .capacity = std::vector<int>(6, 1),
                          .fixed = std::vector<int>(6, 0),
                          .cost = {}};
  EXPECT_EQ(stabIntervals(problem), (std::vector{1, 0, 0, 0, 0, 1}));
  problem.cost = {1, 1, 1, 0, 1, 1};
  EXPECT_EQ(stabIntervals(problem), (std::vector{1, 0, 0, 1, 0, 0}));
  // A cheap slot outside of the interval is none.
  problem.cost = {1, 0, 1, 1, 1, 1};
  EXPECT_EQ(stabIntervals(problem), (std::vector{1, 0, 0, 0, 0, 1}));
}

TEST(Stabbing, AgreesWithTryingEverySubset) {
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    StabbingProblem problem;
    problem.slots = 2 + static_cast<int>(random() % 8);
    problem.capacity.assign(problem.slots, 1);
    problem.fixed.assign(problem.slots, 0);
    for (int i = 0; i < problem.slots; ++i) {
      problem.capacity[i] = random() % 5 > 0;
      problem.fixed[i] = problem.capacity[i] && random() % 7 == 0;
    }
    for (int i = static_cast<int>(random() % 6); i >= 0; --i) {
      int begin = static_cast<int>(random() % problem.slots), length = static_cast<int>(random() % (2 * problem.slots));
      problem.intervals.push_back({begin, begin + length, 1 + static_cast<int>(random() % 2)});
    }
    int best = -1;
    for (int mask = 0; mask < 1 << problem.slots; ++mask) {
      bool right = true;
      for (int i = 0; i < problem.slots; ++i)
        right &= (mask >> i & 1) <= problem.capacity[i] && (mask >> i & 1) >= problem.fixed[i];
      for (const Interval &interval : problem.intervals) {
        int hits = 0;
        for (int at = interval.begin; at <= interval.end; ++at)
          hits += mask >> (at % problem.slots) & 1;
        right &= hits >= interval.demand;
      }
      if (right && (best < 0 || std::popcount(static_cast<unsigned>(mask)) < best))
        best = std::popcount(static_cast<unsigned>(mask));
    }
    std::optional<std::vector<int>> points = stabIntervals(problem);
    ASSERT_EQ(points.has_value(), best >= 0) << "round " << round;
    if (!points)
      continue;
    int total = 0;
    for (int count : *points)
      total += count;
    EXPECT_EQ(total, best) << "round " << round;
    for (const Interval &interval : problem.intervals) {
      int hits = 0;
      for (int at = interval.begin; at <= interval.end; ++at)
        hits += (*points)[at % problem.slots];
      EXPECT_GE(hits, interval.demand) << "round " << round;
    }
  }
}

TEST(Lifetimes, BuffersByWavesRule) {
  // ceil((L + 1) / II) with L from the write to the last read.
  Problem problem = tileLoop();
  for (int interval : {1, 2, 3, 5})
    for (int gap = 1; gap < 12; ++gap) {
      std::vector<int64_t> times = {0, gap};
      Schedule schedule = fromTimes("manual", interval, times);
      EXPECT_EQ(requiredBuffers(problem, schedule, 0), (gap + 1 + interval - 1) / interval);
    }
}

TEST(Lifetimes, BuffersOfPiecesAreThoseOfEveryTwoThatOverlap) {
  std::mt19937 random(7);
  auto below = [&](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
  for (int trial = 0; trial < 200; ++trial) {
    Problem problem;
    int tile = problem.addRegion({"tile", Space::Shared, 1024, 0, true, false, -1});
    std::vector<int64_t> times;
    for (int op = 0; op < 24; ++op) {
      bool isStore = below(3) == 0;
      Operation each = makeOp("op" + std::to_string(op), isStore ? OpKind::SharedStore : OpKind::SharedLoad, 10);
      each.accesses = {isStore ? writes(tile) : reads(tile)};
      each.accesses[0].begin = below(64) - 8;
      each.accesses[0].end = below(16) == 0 ? kWholeEnd : each.accesses[0].begin + below(2 << below(5));
      problem.addOperation(each);
      times.push_back(below(40));
    }
    int64_t interval = 1 + below(12), expected = 1;
    for (int w = 0; w < problem.numOps(); ++w)
      for (int o = 0; o < problem.numOps(); ++o) {
        const Access &write = problem.operations[w].accesses[0], &other = problem.operations[o].accesses[0];
        bool meet = write.write && w != o && write.begin < other.end && other.begin < write.end;
        if (int64_t apart = times[o] + 1 - times[w]; meet && apart > 0)
          expected = std::max(expected, (apart + interval - 1) / interval);
      }
    EXPECT_EQ(requiredBuffers(problem, fromTimes("manual", static_cast<int>(interval), times), tile), expected);
  }
}

TEST(Lifetimes, PressureCountsEveryCopyInFlight) {
  Problem problem;
  int value = problem.addRegion({"v", Space::Register, 4, 0, true, false, -1});
  int constant = problem.addRegion({"c", Space::Register, 2, 0, true, false, -1});
  Operation load = makeOp("load", OpKind::GlobalLoad, 10), use = makeOp("use", OpKind::Valu, 1);
  load.accesses = {writes(value)};
  use.accesses = {reads(value), reads(constant)};
  problem.addOperation(load);
  problem.addOperation(use);
  std::vector<int64_t> times = {0, 25};
  // At interval 10 the use comes in the third trip: two values wait and one is being loaded; c lives throughout.
  Schedule schedule = fromTimes("manual", 10, times);
  EXPECT_EQ(registerPressure(problem, schedule), 2 + 3 * 4);
  assignBuffers(problem, schedule);
  EXPECT_EQ(schedule.buffers[value], 3);
}

TEST(Peel, EveryTripCountRunsEveryIterationOnceInOrder) {
  Problem problem = gemm({});
  std::vector<int64_t> times;
  for (int op = 0; op < problem.numOps(); ++op)
    times.push_back(op * 3);
  for (int interval : {7, 20, 40, 100}) {
    Schedule schedule = fromTimes("manual", interval, times);
    Program program = peel(problem, schedule, {false, false});
    EXPECT_EQ(program.peeled, schedule.stages() - 1);
    for (int trips : {0, 1, program.peeled, program.peeled + 1, program.peeled + 4}) {
      std::vector<std::pair<int, int>> whole, exact;
      Program flat = peelExact(problem, schedule, trips, {false, false});
      for (const Instance &instance : unroll(flat, 0))
        exact.emplace_back(instance.entry->op, instance.iteration);
      EXPECT_EQ(exact.size(), static_cast<size_t>(trips) * problem.operations.size());
      if (trips < program.peeled)
        continue;
      for (const Instance &instance : unroll(program, trips - program.peeled))
        whole.emplace_back(instance.entry->op, instance.iteration);
      EXPECT_EQ(whole, exact);
    }
  }
}

TEST(Peel, EliminatedEpilogueMarksWhatRunsPastTheEnd) {
  Problem problem = tileLoop();
  std::vector<int64_t> times = {0, 2};
  Schedule schedule = fromTimes("manual", 2, times);
  Program program = peel(problem, schedule, {true, true});
  EXPECT_TRUE(program.epilogue.empty());
  EXPECT_EQ(program.peeled, 0);
  ASSERT_EQ(program.kernel.size(), 2u);
  for (const Entry &entry : program.kernel)
    EXPECT_EQ(entry.overruns, problem.operations[entry.op].key == "store");
}
