// Schedules of every algorithm become programs that are proven, and that the adversary cannot break.
#include "soliton/schedule/Synchronize.h"
#include "Adversary.h"
#include "TestProblems.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/RegisterWaits.h"
#include "soliton/schedule/Timeline.h"
#include "soliton/schedule/Verify.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
/// Trip counts around the number of stages.
std::set<int> tripCounts(const Schedule &schedule) {
  int stages = schedule.stages();
  return {0, 1, std::max(0, stages - 1), stages, stages + 1, stages + 5};
}

void expectRight(const Problem &problem, Schedule schedule, const SyncOptions &options = {}) {
  assignBuffers(problem, schedule);
  Synchronized made = synchronize(problem, schedule, options);
  Report report = verify(problem, schedule, made.program);
  EXPECT_TRUE(report.ok()) << schedule.algorithm << "\n"
                           << format(report.diagnostics) << toString(problem, made.program);
  for (int trips : tripCounts(schedule)) {
    SyncOptions exact = options;
    exact.tripCount = trips;
    Synchronized once = synchronize(problem, schedule, exact);
    VerifyOptions known;
    known.tripCount = trips;
    Report exactReport = verify(problem, schedule, once.program, known);
    EXPECT_TRUE(exactReport.ok()) << schedule.algorithm << " trips " << trips << "\n"
                                  << format(exactReport.diagnostics);
    EXPECT_EQ(attack(problem, schedule, once.program, trips, 12), "") << schedule.algorithm << " trips " << trips;
    if (trips >= made.program.peeled)
      EXPECT_EQ(attack(problem, schedule, made.program, trips, 12), "") << schedule.algorithm << " trips " << trips;
  }
}
} // namespace

TEST(Synchronize, EveryAlgorithmOnGemm) {
  for (bool asyncCopies : {false, true}) {
    GemmShape shape;
    shape.asyncCopies = asyncCopies;
    Problem problem = gemm(shape);
    for (Algorithm algorithm : {Algorithm::None, Algorithm::Prefetch, Algorithm::PrefetchAttention,
                                Algorithm::FourStage, Algorithm::List, Algorithm::Modulo, Algorithm::Exact}) {
      Scheduled found = scheduleWith(algorithm, problem);
      ASSERT_TRUE(found.schedule) << nameOf(algorithm) << "\n" << format(found.diagnostics);
      expectRight(problem, *found.schedule);
    }
  }
}

TEST(Synchronize, TheReferenceBodiesResistTheAdversary) {
  Body four = fourWave({1, 1, 2, 2});
  expectRight(four.problem, four.schedule);
  Body pingpong = pingPong(PingPong::Proven, {2, 2, 8, 4});
  expectRight(pingpong.problem, pingpong.schedule);
}

TEST(Synchronize, PrefetchHasTwoBarriersAndOneWait) {
  Problem problem = gemm({});
  Schedule schedule = *schedulePrefetch(problem).schedule;
  Program program = synchronize(problem, schedule).program;
  std::vector<std::string> syncs;
  for (const Entry &entry : program.kernel)
    if (entry.kind != EntryKind::Op)
      syncs.push_back(toString(problem, entry));
  // In front of the stores nothing is waited for: every fragment was used by an mma before.
  EXPECT_EQ(syncs, (std::vector<std::string>{"wait lgkm 0", "barrier", "barrier"}));
}

TEST(RegisterWaits, ARunOfStoresWaitsOnce) {
  Problem problem;
  int vm = problem.addCounter("vm", Retirement::InOrder, 63),
      lgkm = problem.addCounter("shared", Retirement::InOrder, 15);
  for (const char *key : {"store_a", "store_b"}) {
    Operation store;
    store.key = key;
    store.kind = OpKind::SharedStore;
    store.ticks = {{lgkm, 1}};
    problem.addOperation(store);
  }
  auto wait = [](int counter, int value) {
    Entry entry;
    entry.kind = EntryKind::Wait;
    entry.counter = counter;
    entry.value = value;
    return entry;
  };
  Entry a, b;
  a.op = 0;
  b.op = 1;
  Program program;
  program.kernel = {wait(vm, 1), a, wait(vm, 0), b};
  mergeRegisterWaits(problem, program);
  EXPECT_EQ(program.kernel, (std::vector{wait(vm, 0), a, b}));
  // Stores tick this counter, so a wait between them is for the first of them: it stays.
  program.kernel = {wait(lgkm, 1), a, wait(lgkm, 0), b};
  std::vector<Entry> before = program.kernel;
  mergeRegisterWaits(problem, program);
  EXPECT_EQ(program.kernel, before);
}

TEST(Synchronize, CpAsyncGroupsAreCounted) {
  GemmShape shape{2, 1, 1, 1, 16, false, true};
  Problem problem = gemm(shape);
  for (Region &region : problem.regions)
    if (region.space == Space::Shared)
      region.buffers = 3;
  // Three stages as hand-written multi-stage kernels have: copy, (wait), read and multiply.
  Schedule schedule = emptySchedule(problem, "manual", 2, Timing::Order);
  for (int op = 0; op < problem.numOps(); ++op) {
    OpKind kind = problem.operations[op].kind;
    schedule.slots[op] = kind == OpKind::CopyAsync    ? Slot{0, 1, 0, 0}
                         : kind == OpKind::SharedLoad ? Slot{2, 0, 0, 0}
                                                      : Slot{2, 1, 0, 0};
  }
  Program program = synchronize(problem, schedule).program;
  std::vector<std::string> syncs;
  for (const Entry &entry : program.kernel)
    if (entry.kind != EntryKind::Op)
      syncs.push_back(toString(problem, entry));
  // One group per iteration; the newest may stay in flight.
  EXPECT_EQ(syncs, (std::vector<std::string>{"wait cp_async 1", "barrier", "commit cp_async"}));
  expectRight(problem, schedule);
}

/// A tile that one lane copies, a product that reads it by itself, and arithmetic on its sum if it is `used`.
Problem copiedByOneLane(bool used = true) {
  Problem problem;
  int boxes = problem.addCounter("boxes", Retirement::Group, 15),
      mma = problem.addCounter("mma", Retirement::Group, 15);
  problem.counters[boxes].ofWorkgroup = true;
  Region tile;
  tile.name = "tile";
  tile.space = Space::Shared;
  tile.size = 1024;
  Region sum;
  sum.name = "sum";
  int region = problem.addRegion(tile), register_ = problem.addRegion(sum);
  Operation copy = makeOp("copy", OpKind::CopyAsync, 600), product = makeOp("mma", OpKind::Mma, 64),
            use = makeOp("use", OpKind::Valu, 4);
  copy.ticks = {{boxes, 1}};
  copy.accesses = {writes(region, boxes)};
  product.ticks = {{mma, 1}};
  product.accesses = {reads(region, mma), writes(register_, mma)};
  use.accesses = {reads(register_)};
  problem.addOperation(copy);
  problem.addOperation(product);
  if (used)
    problem.addOperation(use);
  return problem;
}

TEST(Synchronize, ABarrierForCopiesOfOneLaneIsSplit) {
  Problem problem = copiedByOneLane();
  Schedule schedule = emptySchedule(problem, "manual", 1, Timing::Order);
  schedule.slots = {{0, 0, 0, 2}, {2, 0, 0, 0}, {2, 0, 0, 1}};
  schedule.buffers = {3, 0};
  auto kernelOf = [&] {
    std::string text;
    for (const Entry &entry : synchronize(problem, schedule).program.kernel)
      text += (text.empty() ? "" : ", ") + toString(problem, entry);
    return text;
  };
  EXPECT_NE(kernelOf().find("barrier"), std::string::npos);
  schedule.releases = true;
  EXPECT_EQ(kernelOf(),
            "mma @+0, commit mma, wait boxes 0, wait mma 0, release, use @+0, await 1, copy @+2, commit boxes");

  // Neither half may go, nor may the lane be content with less.
  Program program = synchronize(problem, schedule).program;
  EXPECT_TRUE(verify(problem, schedule, program).ok());
  for (size_t i = 0; i < program.kernel.size(); ++i) {
    Program less = program;
    if (program.kernel[i].kind == EntryKind::Release || program.kernel[i].kind == EntryKind::Await) {
      less.kernel.erase(less.kernel.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(verify(problem, schedule, less).ok());
    }
    if (program.kernel[i].kind == EntryKind::Await) {
      less = program;
      ++less.kernel[i].value;
      EXPECT_FALSE(verify(problem, schedule, less).ok());
    }
  }
}

/// Where nothing is computed there is nothing to look for a tile under: waves release before they wait for the next
/// one.
TEST(Synchronize, ProductsAloneReleaseBeforeTheyWaitForATile) {
  Problem problem = copiedByOneLane(/*used=*/false);
  Schedule schedule = emptySchedule(problem, "manual", 1, Timing::Order);
  schedule.slots = {{0, 0, 0, 1}, {2, 0, 0, 0}};
  schedule.buffers = {4, 0};
  schedule.releases = true;
  Synchronized made = synchronize(problem, schedule);
  std::string text;
  for (const Entry &entry : made.program.kernel)
    text += (text.empty() ? "" : ", ") + toString(problem, entry);
  EXPECT_EQ(text, "wait boxes 1, mma @+0, commit mma, wait mma 2, release, await 0, copy @+2, commit boxes");
  EXPECT_TRUE(verify(problem, schedule, made.program).ok());
}

TEST(Synchronize, MbarrierPhasesAndWgmmaGroups) {
  for (int buffers : {1, 2, 3, 4}) {
    Problem problem = producerConsumer(buffers);
    Schedule schedule = *scheduleNone(problem).schedule;
    Synchronized made = synchronize(problem, schedule);
    std::vector<std::string> lines;
    for (const Entry &entry : made.program.kernel)
      lines.push_back(toString(problem, entry));
    std::string back = "-" + std::to_string(buffers);
    EXPECT_EQ(lines, (std::vector<std::string>{
                         "phase_wait empty tile_a @" + back + " groups 1", "copy_a @+0 groups 1",
                         "phase_wait empty tile_b @" + back + " groups 1", "copy_b @+0 groups 1",
                         "phase_wait full tile_a @+0 groups 2", "phase_wait full tile_b @+0 groups 2",
                         "mma/0 @+0 groups 2", "mma/1 @+0 groups 2", "commit mma groups 2", "wait mma 0 groups 2",
                         "arrive empty tile_a @+0 groups 2", "arrive empty tile_b @+0 groups 2"}));
    expectRight(problem, schedule);
  }
  // The parity of a phase flips each time round the ring.
  EXPECT_EQ(phaseParity(0, 3), 0);
  EXPECT_EQ(phaseParity(2, 3), 0);
  EXPECT_EQ(phaseParity(3, 3), 1);
  EXPECT_EQ(phaseParity(6, 3), 0);
  EXPECT_EQ(phaseParity(-1, 3), 1);
}

TEST(Synchronize, CounterWidthClampsTheWait) {
  Body body = fourWave({4, 4, 8, 8});
  body.problem.counters[0].limit = 15;
  Program program = synchronize(body.problem, body.schedule).program;
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
    for (const Entry &entry : program.list(phase))
      if (entry.kind == EntryKind::Wait && entry.counter == 0)
        EXPECT_LE(entry.value, 15);
  EXPECT_TRUE(verify(body.problem, body.schedule, program).ok());
}

TEST(Synchronize, OutOfOrderCounterIsDrained) {
  Body body = fourWave();
  body.problem.counters[1].kind = Retirement::OutOfOrder;
  body.problem.counters[0].kind = Retirement::OutOfOrder;
  Program program = synchronize(body.problem, body.schedule).program;
  for (const Entry &entry : program.kernel)
    if (entry.kind == EntryKind::Wait)
      EXPECT_EQ(entry.value, 0);
  EXPECT_TRUE(verify(body.problem, body.schedule, program).ok());
}

TEST(Synchronize, AuthorsBarriersCountAndStay) {
  GemmShape shape{1, 1, 1, 1, 16, false, false};
  Problem problem = gemm(shape);
  // A barrier of the source in front of the shared loads.
  int at = problem.find("read_a/shared_load/0.0");
  Operation barrier = makeOp("my_barrier", OpKind::Barrier, 0);
  problem.operations.insert(problem.operations.begin() + at, barrier);
  Schedule schedule = *scheduleNone(problem).schedule;
  Synchronized made = synchronize(problem, schedule);
  EXPECT_EQ(made.barriers.fixed, 1);
  EXPECT_EQ(made.barriers.kernelSlots.size(), 1u);
  expectRight(problem, schedule);
}

TEST(Synchronize, PrefetchTakesAuthorsBarriersAlong) {
  Problem problem = gemm({1, 1, 1, 1, 16, false, false});
  for (const char *key : {"read_a/shared_load/0.0", "read_a/0/shared_store"}) {
    Operation barrier = makeOp(std::string("before ") + key, OpKind::Barrier, 0);
    problem.operations.insert(problem.operations.begin() + problem.find(key), barrier);
  }
  Schedule schedule = *schedulePrefetch(problem).schedule;
  EXPECT_EQ(schedule.time(problem.find("before read_a/shared_load/0.0")), 2);
  EXPECT_EQ(schedule.time(problem.find("before read_a/0/shared_store")), 1);
  EXPECT_EQ(schedule.time(problem.find("read_a/shared_load/0.0")), 2);
  Synchronized made = synchronize(problem, schedule);
  EXPECT_EQ(made.barriers.fixed, 2);
  EXPECT_TRUE(made.barriers.kernelSlots.empty());
  expectRight(problem, schedule);
}

TEST(Synchronize, EliminatedEpilogue) {
  GemmShape shape{1, 1, 1, 1, 16, true, false};
  Problem problem = gemm(shape);
  Schedule schedule = *schedulePrefetch(problem).schedule;
  SyncOptions options;
  options.peel.eliminateEpilogue = true;
  Program program = synchronize(problem, schedule, options).program;
  EXPECT_TRUE(program.epilogue.empty());
  Report report = verify(problem, schedule, program);
  EXPECT_TRUE(report.ok()) << format(report.diagnostics);
}

TEST(Model, OverlapShortensTheModelledInterval) {
  Problem problem = gemm({2, 2, 2, 2, 64, false, false});
  auto modelled = [&](Algorithm algorithm) {
    Schedule schedule = *scheduleWith(algorithm, problem).schedule;
    return steadyInterval(problem, schedule, synchronize(problem, schedule).program);
  };
  double none = modelled(Algorithm::None), prefetch = modelled(Algorithm::Prefetch),
         modulo = modelled(Algorithm::Modulo);
  // Eight mma of 64 cycles are the floor; without overlap the latency of the load comes on top.
  EXPECT_GE(none, 500 + 8 * 64);
  EXPECT_LT(prefetch, none);
  EXPECT_GE(prefetch, 8 * 64);
  EXPECT_LE(modulo, prefetch);
  EXPECT_GE(modulo, 8 * 64);
  EXPECT_LE(modulo, 1.05 * 8 * 64);
}
