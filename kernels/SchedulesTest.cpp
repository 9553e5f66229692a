//===- SchedulesTest.cpp - Every schedule that ships is proven ---------------------===//
#include "kernels/Schedules.h"

#include "soliton/authoring/TestGemm.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Lifetimes.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::kernels;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {

const WaveSchedule &named(std::string_view name) {
  return findSchedule(name)->schedule;
}

/// The kinds of loops that a schedule is for.
std::vector<Copies> copiesFor(const ScheduleEntry &entry) {
  return entry.directCopies ? std::vector{Copies::Direct, Copies::Groups} : std::vector{Copies::Registers};
}

/// Declared pipelines take halves of a tile apart: rows that are loaded apart, two pieces each way.
bool suits(const ScheduleEntry &entry, int mPieces, int nPieces, int kPieces, int loadsAlongK) {
  bool divides = mPieces % 2 == 0 && nPieces % 2 == 0 && kPieces > 1;
  return !entry.isDeclared || (divides && loadsAlongK == 1);
}

/// The loop of most tests.
TaggedGemm loopFor(const ScheduleEntry &entry) {
  TaggedGemm shape;
  shape.copies = copiesFor(entry).front();
  shape.readsOwnRows = entry.isDeclared;
  return shape;
}

/// The values of the waits on `counter` in the kernel.
std::vector<int> kernelWaits(const LoopPlan &plan, std::string_view counter) {
  std::vector<int> values;
  for (const Entry &entry : sched::synchronize(plan).program.kernel)
    if (entry.kind == EntryKind::Wait && plan.problem.counters[entry.counter].name == counter)
      values.push_back(entry.value);
  return values;
}

int kernelBarriers(const LoopPlan &plan) {
  std::vector<Entry> kernel = sched::synchronize(plan).program.kernel;
  return static_cast<int>(
      std::count_if(kernel.begin(), kernel.end(), [](const Entry &e) { return e.kind == EntryKind::Barrier; }));
}

int buffersOf(const LoopPlan &plan, std::string_view region) {
  Schedule decided = plan.schedule;
  assignBuffers(plan.problem, decided);
  for (size_t i = 0; i < plan.problem.regions.size(); ++i)
    if (plan.problem.regions[i].name == region)
      return decided.buffers[i];
  return -1;
}

TEST(Schedules, EveryOneIsProvenOnEverySize) {
  for (const ScheduleEntry &entry : allSchedules())
    for (Copies copies : copiesFor(entry))
      for (auto [m, n, k] : {std::tuple(1, 1, 2), {2, 2, 2}, {4, 2, 4}, {3, 5, 3}})
        for (int loadsAlongK : {1, 2}) {
          if (!suits(entry, m, n, k, loadsAlongK))
            continue;
          TaggedGemm shape{.mPieces = m, .nPieces = n, .kPieces = k};
          shape.copies = copies;
          shape.readsOwnRows = entry.isDeclared;
          shape.loadsAlongK = k % 2 == 0 ? loadsAlongK : 1;
          LoopPlan plan = evaluateGemm(entry.schedule, shape, entry.waves ? entry.waves : 4);
          EXPECT_EQ(judge(plan), "") << entry.name() << " " << m << "x" << n << "x" << k;
          EXPECT_TRUE(plan.scheduled) << entry.name();
          EXPECT_EQ(plan.schedule.algorithm, entry.name());
        }
}

TEST(Schedules, EveryOneIsProvenAtEveryTripCount) {
  for (const ScheduleEntry &entry : allSchedules())
    for (int trips : {0, 1, 2, 3, 4, 5, 9}) {
      LoopPlan plan = evaluateGemm(entry.schedule, loopFor(entry), entry.waves ? entry.waves : 4);
      EXPECT_EQ(judge(plan, trips), "") << entry.name() << " at " << trips;
    }
}

TEST(Schedules, ATripCountBelowTheStagesIsOneList) {
  TaggedGemm shape{.copies = Copies::Direct};
  LoopPlan plan = evaluateGemm(named("async_two_cluster_triple_buffer"), shape, 8);
  SyncOptions options;
  options.tripCount = 1;
  Program program = sched::synchronize(plan, options).program;
  EXPECT_EQ(program.exactTrips, 1);
  EXPECT_TRUE(program.kernel.empty());
  EXPECT_TRUE(program.epilogue.empty());
  // The first waves pass their last barrier there too.
  EXPECT_TRUE(program.prologue.back().stagger);
}

TEST(Schedules, EveryOneKeepsWhatTheCompilerMade) {
  for (const ScheduleEntry &entry : allSchedules()) {
    TaggedGemm shape = loopFor(entry);
    shape.converts = shape.authorBarrier = true;
    LoopPlan plan = evaluateGemm(entry.schedule, shape, entry.waves ? entry.waves : 4);
    EXPECT_EQ(judge(plan), "") << entry.name();
    for (const Slot &slot : plan.schedule.slots)
      EXPECT_TRUE(slot.scheduled()) << entry.name();
  }
}

TEST(Schedules, Seed000IsPrefetch) {
  for (bool converts : {false, true}) {
    TaggedGemm shape{.mPieces = 4, .nPieces = 4, .kPieces = 2};
    shape.converts = converts;
    Scheduled prefetch = schedulePrefetch(taggedGemm(shape));
    LoopPlan plan = evaluateGemm(named("seed000"), shape);
    ASSERT_TRUE(prefetch.schedule && plan.ok());
    EXPECT_EQ(emissionOrder(*prefetch.schedule), emissionOrder(plan.schedule));
    for (int op = 0; op < plan.problem.numOps(); ++op) {
      EXPECT_EQ(prefetch.schedule->slots[op].stage, plan.schedule.slots[op].stage);
      EXPECT_EQ(prefetch.schedule->slots[op].cycle, plan.schedule.slots[op].cycle);
    }
    EXPECT_EQ(emissionOrder(plan.schedule), emissionOrder(evaluateGemm(named("gemm_prefetch"), shape).schedule));
  }
}

TEST(Schedules, UnrollBeforeAsksForCopiesAndAfterForTrips) {
  LoopPlan before = evaluate(named("gemm_unroll"), taggedGemm({}), gemmInput());
  EXPECT_TRUE(before.ok());
  EXPECT_EQ(before.unrollFirst, 2);
  before = evaluateGemm(named("gemm_unroll"), {});
  EXPECT_EQ(before.unrollFirst, 2);
  EXPECT_EQ(before.unrollKernel, 1);
  LoopPlan after = evaluateGemm(named("gemm_pipeline_then_unroll"), {});
  EXPECT_EQ(after.unrollFirst, 1);
  EXPECT_EQ(after.unrollKernel, 2);
}

TEST(Schedules, TwoPpClusterIsStaggeredWithItsFourBarriersOnly) {
  LoopPlan plan = evaluateGemm(named("two_pp_cluster"), {}, 8);
  ASSERT_EQ(judge(plan), "");
  EXPECT_EQ(plan.problem.stagger, (std::vector{0, 1}));
  EXPECT_EQ(plan.groupStart, (std::vector{0, 4}));
  EXPECT_EQ(kernelBarriers(plan), 4);
  EXPECT_EQ(buffersOf(plan, "tile_a"), 2);
  EXPECT_EQ(plan.schedule.interval, 4);
}

TEST(Schedules, AsyncPingPongWaitsForNothingItDoesNotNeed) {
  TaggedGemm shape{.mPieces = 4, .nPieces = 4, .kPieces = 2, .loads = 4, .loadsAlongK = 2, .copies = Copies::Direct};
  LoopPlan plan = evaluateGemm(named("async_two_pp_clusters"), shape, 8);
  ASSERT_EQ(judge(plan), "");
  // Each half waits for its own eight copies and leaves the sixteen of the two halves behind them in flight.
  EXPECT_EQ(kernelWaits(plan, "vm"), (std::vector{16, 16}));
  EXPECT_EQ(kernelBarriers(plan), 4);
  EXPECT_EQ(buffersOf(plan, "tile_a"), 2);
  EXPECT_EQ(buffersOf(plan, "tile_b"), 2);
  // Copies of rows: the second half along M waits for its own rows of A only.
  shape.loadsAlongK = 1;
  shape.readsOwnRows = true;
  plan = evaluateGemm(named("async_two_pp_clusters"), shape, 8);
  ASSERT_EQ(judge(plan), "");
  EXPECT_EQ(kernelWaits(plan, "vm"), (std::vector{8, 8}));
  EXPECT_EQ(kernelBarriers(plan), 4);
  EXPECT_EQ(buffersOf(plan, "tile_a"), 2);
  EXPECT_EQ(buffersOf(plan, "tile_b"), 2);
  // Copies of whole tiles leave no choice but to wait for all of them.
  shape.readsOwnRows = false;
  EXPECT_EQ(kernelWaits(evaluateGemm(named("async_two_pp_clusters"), shape, 8), "vm"), std::vector{0});
}

TEST(Schedules, TripleBufferLeavesOneIterationInFlight) {
  TaggedGemm shape{.copies = Copies::Direct};
  LoopPlan plan = evaluateGemm(named("async_two_cluster_triple_buffer"), shape, 8);
  ASSERT_EQ(judge(plan), "");
  EXPECT_EQ(kernelWaits(plan, "vm"), std::vector{4});
  EXPECT_EQ(kernelBarriers(plan), 2);
  EXPECT_EQ(buffersOf(plan, "tile_a"), 3);
}

TEST(Schedules, MultistageHasOneBarrierAndLeavesTwoGroups) {
  TaggedGemm shape{.copies = Copies::Groups};
  LoopPlan plan = evaluateGemm(named("cp_async_multistage"), shape);
  ASSERT_EQ(judge(plan), "");
  EXPECT_EQ(kernelWaits(plan, "cp_async"), std::vector{2});
  EXPECT_EQ(kernelBarriers(plan), 1);
  EXPECT_EQ(buffersOf(plan, "tile_a"), 4);
}

TEST(Schedules, TheOnesWithDirectCopiesRefuseOthers) {
  for (const ScheduleEntry &entry : allSchedules()) {
    if (!entry.directCopies || entry.isDeclared)
      continue;
    LoopPlan plan = evaluateGemm(entry.schedule, {}, 8);
    ASSERT_FALSE(plan.diagnostics.empty()) << entry.name();
    EXPECT_EQ(plan.diagnostics.front().id, DiagId::ScheduleUnsuitable);
    EXPECT_NE(plan.diagnostics.front().place.file.find("Schedules.cpp"), std::string::npos);
  }
}

TEST(Schedules, AreFoundByNameOrNearlySo) {
  std::set<std::string> names;
  for (const ScheduleEntry &entry : allSchedules()) {
    EXPECT_EQ(findSchedule(entry.name()), &entry);
    EXPECT_TRUE(names.insert(entry.name()).second);
    EXPECT_FALSE(entry.description.empty() || entry.suits.empty());
  }
  EXPECT_EQ(findSchedule("seed00"), nullptr);
  EXPECT_EQ(unknownSchedule("seed00").id, DiagId::ScheduleUnknown);
  EXPECT_EQ(unknownSchedule("seed00").hint, "did you mean `seed000`?");
  EXPECT_EQ(unknownSchedule("modullo", {"none", "modulo"}).hint, "did you mean `modulo`?");
}

} // namespace
