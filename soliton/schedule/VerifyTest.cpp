// One test per diagnostic: what is wrong, both ops, both places, the smallest fix.
#include "soliton/schedule/Verify.h"
#include "TestProblems.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Synchronize.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
/// load -> store -> shared load -> mma, one of each.
Problem chain() {
  return gemm({1, 1, 1, 1, 16, false, false});
}

Schedule prefetch(const Problem &problem) {
  return *schedulePrefetch(problem).schedule;
}

const Diagnostic &only(const Report &report) {
  EXPECT_EQ(report.diagnostics.size(), 1u) << format(report.diagnostics);
  return report.diagnostics.front();
}
} // namespace

TEST(Verify, MissingOp) {
  Problem problem = chain();
  Schedule schedule = prefetch(problem);
  int op = problem.find("mma/0.0.0");
  schedule.slots[op].stage = -1;
  Report report = verify(problem, schedule);
  const Diagnostic &diag = only(report);
  EXPECT_EQ(diag.id, DiagId::ScheduleMissingOp);
  EXPECT_EQ(diag.place, problem.operations[op].place);
  EXPECT_EQ(diag.message, "`mma/0.0.0` is in the loop `k_loop` but not in the schedule");
  // What floats to its users need not be mentioned.
  problem.operations[op].kind = OpKind::Free;
  EXPECT_TRUE(verify(problem, schedule).ok());
}

TEST(Verify, DependenceAgainstTheOrder) {
  Problem problem = chain();
  Schedule schedule = prefetch(problem);
  int load = problem.find("read_a/0/global_load"), store = problem.find("read_a/0/shared_store");
  std::swap(schedule.slots[load].cycle, schedule.slots[store].cycle);
  Report report = verify(problem, schedule);
  ASSERT_FALSE(report.ok());
  const Diagnostic &diag = report.diagnostics.front();
  EXPECT_EQ(diag.id, DiagId::ScheduleDependence);
  EXPECT_EQ(diag.place, problem.operations[store].place);
  ASSERT_EQ(diag.notes.size(), 1u);
  EXPECT_EQ(diag.notes[0].place, problem.operations[load].place);
  EXPECT_EQ(diag.message, "`read_a/0/shared_store` runs before `read_a/0/global_load`, which it depends on (RAW on "
                          "register `read_a/0`)");
  EXPECT_EQ(diag.hint, "move `read_a/0/shared_store` to stage 0, cycle 1 or later");
}

TEST(Verify, DependenceTooSoon) {
  Problem problem;
  int value = problem.addRegion({"v", Space::Register, 1, 0, true, false, -1});
  Operation load = makeOp("load", OpKind::GlobalLoad, 10), use = makeOp("use", OpKind::Valu, 1);
  load.accesses = {writes(value)};
  use.accesses = {reads(value)};
  problem.addOperation(load);
  problem.addOperation(use);
  std::vector<int64_t> times = {0, 7};
  Report report = verify(problem, fromTimes("manual", 4, times));
  const Diagnostic &diag = only(report);
  EXPECT_EQ(diag.message, "`use` starts 7 cycles after `load`, expected at least 10 (RAW on register `v`)");
  EXPECT_EQ(diag.hint, "move `use` to stage 2, cycle 2 or later");
  times[1] = 10;
  EXPECT_TRUE(verify(problem, fromTimes("manual", 4, times)).ok());
}

TEST(Verify, CarriedDependenceSaysHowMuchTheIntervalLacks) {
  Problem problem;
  int acc = problem.addRegion({"acc", Space::Register, 1, 0, true, false, -1});
  Operation op = makeOp("add", OpKind::Valu, 6);
  Access input = reads(acc);
  input.offset = -1;
  op.accesses = {input, writes(acc)};
  problem.addOperation(op);
  std::vector<int64_t> times = {0};
  Report report = verify(problem, fromTimes("manual", 4, times));
  EXPECT_EQ(only(report).hint, "move `add` to stage 0, cycle 2 or later, or raise the interval by 2");
  EXPECT_TRUE(verify(problem, fromTimes("manual", 6, times)).ok());
}

TEST(Verify, ResourceTakenTwice) {
  Problem problem;
  int unit = problem.addResource("mma");
  for (const char *key : {"first", "second"}) {
    Operation op = makeOp(key, OpKind::Mma, 4);
    op.reservations = {{unit, 0, 4, 1}};
    problem.addOperation(op);
  }
  std::vector<int64_t> times = {0, 11};
  Report report = verify(problem, fromTimes("manual", 8, times));
  const Diagnostic &diag = only(report);
  EXPECT_EQ(diag.id, DiagId::ScheduleResource);
  EXPECT_EQ(diag.message, "`second` needs `mma` in cycle 3 of the interval, where all 1 units are taken");
  EXPECT_EQ(diag.hint, "move it 1 cycles later");
  ASSERT_EQ(diag.notes.size(), 1u);
  EXPECT_EQ(diag.notes[0].place, problem.operations[0].place);
  times[1] = 12;
  EXPECT_TRUE(verify(problem, fromTimes("manual", 8, times)).ok());
}

TEST(Verify, TooFewBuffers) {
  Problem problem = chain();
  Scheduled found = scheduleFourStage(problem);
  Schedule schedule = *found.schedule;
  int region = 0;
  ASSERT_EQ(problem.regions[region].name, "shared_a");
  problem.regions[region].buffers = 0;
  // A read that comes four iterations after its write.
  int load = problem.find("read_a/shared_load/0.0"), mma = problem.find("mma/0.0.0");
  schedule.slots[load].stage += 3;
  schedule.slots[mma].stage += 3;
  schedule.buffers.clear();
  assignBuffers(problem, schedule);
  ASSERT_TRUE(verify(problem, schedule).ok()) << format(verify(problem, schedule).diagnostics);
  int enough = schedule.buffers[region];
  ASSERT_GT(enough, 2);
  schedule.buffers[region] = enough - 1;
  Report report = verify(problem, schedule);
  const Diagnostic &diag = only(report);
  EXPECT_EQ(diag.id, DiagId::ScheduleBuffers);
  EXPECT_EQ(diag.hint, "give `shared_a` " + std::to_string(enough) + " buffers");
  EXPECT_EQ(diag.notes.size(), 1u);
}

TEST(Verify, RegistersAndSharedMemory) {
  Problem problem = chain();
  Schedule schedule = prefetch(problem);
  Report report = verify(problem, schedule);
  problem.limits.registers = report.registers - 1;
  EXPECT_EQ(only(verify(problem, schedule)).id, DiagId::ScheduleRegisters);
  problem.limits = {report.registers, report.sharedBytes - 1};
  EXPECT_EQ(only(verify(problem, schedule)).id, DiagId::ScheduleSharedBytes);
  problem.limits = {report.registers, report.sharedBytes};
  EXPECT_TRUE(verify(problem, schedule).ok());
}

TEST(Verify, ClustersAreContiguous) {
  Problem problem = chain();
  Schedule schedule = prefetch(problem);
  for (int op = 0; op < problem.numOps(); ++op)
    schedule.slots[op].cluster = schedule.slots[op].cycle == 0 ? 1 : 0;
  EXPECT_EQ(only(verify(problem, schedule)).id, DiagId::ScheduleMalformed);
}

TEST(Verify, ImpossibleCycleOrInterval) {
  Problem problem = chain();
  Schedule schedule = prefetch(problem);
  schedule.slots[0].cycle = 2;
  EXPECT_EQ(only(verify(problem, schedule)).id, DiagId::ScheduleMalformed);
  schedule = prefetch(problem);
  schedule.interval = 0;
  EXPECT_EQ(only(verify(problem, schedule)).id, DiagId::ScheduleMalformed);
  schedule = prefetch(problem);
  schedule.slots.pop_back();
  EXPECT_EQ(only(verify(problem, schedule)).id, DiagId::ScheduleMissingOp);
}

TEST(Verify, WaitBeyondItsCounter) {
  Problem problem = chain();
  Schedule schedule = prefetch(problem);
  Program program = synchronize(problem, schedule).program;
  Entry wait;
  wait.kind = EntryKind::Wait;
  wait.counter = 1;
  wait.value = 16;
  program.kernel.push_back(wait);
  Report report = verify(problem, schedule, program);
  const Diagnostic &diag = only(report);
  EXPECT_EQ(diag.id, DiagId::ScheduleWaitValue);
  EXPECT_EQ(diag.hint, "wait for 15 or fewer");
}

TEST(Verify, HazardWithoutBarrierNamesBothOpsAndTheFix) {
  Problem problem = chain();
  Schedule schedule = prefetch(problem);
  Program program = synchronize(problem, schedule).program;
  auto eraseAll = [&](EntryKind kind) {
    for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
      std::erase_if(program.list(phase), [&](const Entry &entry) { return entry.kind == kind; });
  };
  // With the waits left, waves in step would still be right.
  eraseAll(EntryKind::Barrier);
  Report report = verify(problem, schedule, program);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnostics.front().id, DiagId::ScheduleLatencyOnly);
  eraseAll(EntryKind::Wait);
  report = verify(problem, schedule, program);
  ASSERT_FALSE(report.ok());
  const Diagnostic &diag = report.diagnostics.front();
  EXPECT_EQ(diag.id, DiagId::ScheduleHazard);
  EXPECT_EQ(diag.message, "`read_a/shared_load/0.0` and `read_a/0/shared_store` touch shared `shared_a` (RAW) and "
                          "nothing keeps them apart");
  EXPECT_EQ(diag.place, problem.operations[problem.find("read_a/shared_load/0.0")].place);
  EXPECT_EQ(diag.notes[0].place, problem.operations[problem.find("read_a/0/shared_store")].place);
  EXPECT_EQ(diag.hint, "put a barrier between `read_a/0/shared_store` and `read_a/shared_load/0.0`, with `wait lgkm 0` "
                       "in front of it");
}

TEST(Verify, ImpossibleProblemIsSaidSo) {
  Problem problem;
  int value = problem.addRegion({"v", Space::Register, 1, 1, true, false, -1});
  Operation write = makeOp("write", OpKind::Valu, 1), read = makeOp("read", OpKind::Valu, 1);
  Access late = reads(value);
  late.offset = -2;
  write.accesses = {writes(value)};
  read.accesses = {late};
  problem.addOperation(write);
  problem.addOperation(read);
  problem.extra = {{0, 1, DepKind::Order, Space::Register, -1, 0, 1}};
  for (Algorithm algorithm : {Algorithm::None, Algorithm::Prefetch, Algorithm::PrefetchAttention, Algorithm::FourStage,
                              Algorithm::List, Algorithm::Modulo, Algorithm::Exact}) {
    Scheduled found = scheduleWith(algorithm, problem);
    EXPECT_FALSE(found.schedule) << nameOf(algorithm);
    ASSERT_FALSE(found.diagnostics.empty());
    EXPECT_EQ(found.diagnostics[0].id, DiagId::ScheduleInfeasible);
  }
}

TEST(Verify, AdditionsAreRemarks) {
  Problem problem = chain();
  Synchronized made = synchronize(problem, prefetch(problem));
  int barriers = 0, waits = 0;
  for (const Diagnostic &diag : made.remarks) {
    EXPECT_EQ(diag.severity, Severity::remark);
    EXPECT_EQ(diag.id, DiagId::ScheduleRemark);
    barriers += diag.message.starts_with("a barrier");
    waits += diag.message.starts_with("`wait");
  }
  int inProgram = 0;
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
    for (const Entry &entry : made.program.list(phase))
      inProgram += entry.kind == EntryKind::Barrier || entry.kind == EntryKind::Wait;
  EXPECT_EQ(barriers + waits, inProgram);
  EXPECT_GT(barriers, 0);
  EXPECT_GT(waits, 0);
}

/// Registers are an estimate that the compiler takes for a warning: the program must be judged all the same.
TEST(Verify, TooManyRegistersDoNotHideAHazard) {
  Problem problem = chain();
  Schedule schedule = prefetch(problem);
  assignBuffers(problem, schedule);
  Program program = synchronize(problem, schedule).program;
  problem.limits.registers = 1;
  EXPECT_EQ(only(verify(problem, schedule, program)).id, DiagId::ScheduleRegisters);
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue})
    std::erase_if(program.list(phase), [](const Entry &entry) { return entry.kind == EntryKind::Barrier; });
  Report report = verify(problem, schedule, program);
  EXPECT_GT(report.diagnostics.size(), 1u);
  EXPECT_FALSE(report.hazards.empty());
}

TEST(Verify, AnInstanceOfTheWrongIterationNamesWhoNeedsIt) {
  Problem problem = chain();
  Schedule schedule = prefetch(problem);
  assignBuffers(problem, schedule);
  Program program = synchronize(problem, schedule).program;
  int store = problem.find("read_a/0/shared_store");
  for (Entry &entry : program.kernel)
    entry.iteration -= entry.kind == EntryKind::Op && entry.op == store;
  Report report = verify(problem, schedule, program);
  Diagnostic shifted = only(report);
  EXPECT_EQ(shifted.id, DiagId::ScheduleMissingOp);
  EXPECT_EQ(shifted.place, problem.operations[store].place);
  EXPECT_EQ(shifted.message, "`read_a/0/shared_store` does not run for iteration 1 of a loop of 2");
  EXPECT_EQ(shifted.hint, "let `read_a/0/shared_store` in the kernel run 1 iteration later (it now runs twice for "
                          "iteration 0)");
  ASSERT_EQ(shifted.notes.size(), 1u);
  EXPECT_NE(shifted.notes[0].message.find("`read_a/shared_load/0.0`"), std::string::npos) << shifted.notes[0].message;
  EXPECT_TRUE(shifted.notes[0].place.known());
  // Left out altogether.
  std::erase_if(program.kernel, [&](const Entry &entry) { return entry.kind == EntryKind::Op && entry.op == store; });
  Report again = verify(problem, schedule, program);
  EXPECT_EQ(only(again).hint, "put `read_a/0/shared_store` of iteration 1 back where the peeled schedule has it");
}

TEST(Verify, AMissingStaggerSaysWhoWaitsForWhom) {
  Problem problem = chain();
  problem.groups = 2;
  problem.stagger = {0, 1};
  Schedule schedule = prefetch(problem);
  assignBuffers(problem, schedule);
  Program program = synchronize(problem, schedule).program;
  std::erase_if(program.prologue, [](const Entry &entry) { return entry.stagger; });
  Report report = verify(problem, schedule, program);
  const Diagnostic &diag = only(report);
  EXPECT_EQ(diag.id, DiagId::ScheduleBarriers);
  EXPECT_TRUE(diag.place.known());
  EXPECT_NE(diag.message.find("wave group 0 waits for ever"), std::string::npos) << diag.message;
  EXPECT_EQ(diag.hint, "let wave group 1 pass 1 more at the start of the prologue (its stagger), or drop the condition "
                       "of the others");
  ASSERT_EQ(diag.notes.size(), 1u);
  EXPECT_TRUE(diag.notes[0].place.known());
}

TEST(Verify, NoFalseAlarmsOnThreeHundredGoodSchedules) {
  int count = 0;
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    GemmShape shape{1 + static_cast<int>(random() % 3),
                    1 + static_cast<int>(random() % 3),
                    1 + static_cast<int>(random() % 3),
                    1 + static_cast<int>(random() % 2),
                    4 << random() % 3,
                    false,
                    false};
    shape.asyncCopies = i % 3 == 1;
    shape.groupCopies = i % 3 == 2;
    Problem problem = gemm(shape);
    for (Algorithm algorithm :
         {Algorithm::None, Algorithm::Prefetch, Algorithm::FourStage, Algorithm::List, Algorithm::Modulo}) {
      Scheduled found = scheduleWith(algorithm, problem);
      ASSERT_TRUE(found.schedule);
      Synchronized made = synchronize(problem, *found.schedule);
      Report report = verify(problem, *found.schedule, made.program);
      EXPECT_TRUE(report.ok()) << nameOf(algorithm) << "\n" << format(report.diagnostics);
      ++count;
    }
  }
  EXPECT_GE(count, 300);
}

namespace {
/// A GEMM whose ops know what they are pieces of, as the compiler makes them.
Problem gemmOfPieces() {
  Problem problem = gemm({2, 4, 2, 2, 16, false, false});
  std::map<std::string, int> origins;
  for (Operation &op : problem.operations) {
    std::string tag = op.key.substr(0, op.key.find('/'));
    op.origin.op = origins.try_emplace(tag, static_cast<int>(origins.size())).first->second;
  }
  return problem;
}

int errors(const Report &report, DiagId id) {
  return static_cast<int>(std::count_if(report.diagnostics.begin(), report.diagnostics.end(), [&](const Diagnostic &d) {
    return d.id == id && d.severity == Severity::error;
  }));
}
} // namespace

TEST(Verify, PiecesOfOneMistakeAreOneDiagnostic) {
  Problem problem = gemmOfPieces();
  Schedule schedule = *schedulePrefetch(problem).schedule;
  schedule.buffers.clear();
  // All fragments of `a` are loaded too late.
  int moved = 0;
  for (int op = 0; op < problem.numOps(); ++op)
    if (problem.operations[op].key.starts_with("read_a/shared_load")) {
      schedule.slots[op].stage += 2;
      ++moved;
    }
  Report report = verify(problem, schedule);
  EXPECT_EQ(moved, 8);
  EXPECT_EQ(errors(report, DiagId::ScheduleDependence), 1) << format(report.diagnostics);
  const Diagnostic &first = report.diagnostics.front();
  ASSERT_EQ(first.notes.size(), 2u);
  EXPECT_TRUE(first.notes[1].message.starts_with("and 15 more like it: `mma/")) << first.notes[1].message;
}

TEST(Verify, MissingPiecesAreOneDiagnosticForEachOp) {
  Problem problem = gemmOfPieces();
  Schedule schedule = *schedulePrefetch(problem).schedule;
  for (int op = 0; op < problem.numOps(); ++op)
    if (problem.operations[op].kind == OpKind::Mma || problem.operations[op].kind == OpKind::SharedLoad)
      schedule.slots[op] = {};
  EXPECT_EQ(errors(verify(problem, schedule), DiagId::ScheduleMissingOp), 3);
}

TEST(Verify, HazardsOfOnePairOfOpsAreOneDiagnostic) {
  Problem problem = gemmOfPieces();
  Schedule schedule = *schedulePrefetch(problem).schedule;
  Program program = synchronize(problem, schedule).program;
  std::erase_if(program.kernel, [](const Entry &entry) { return entry.kind == EntryKind::Barrier; });
  Report report = verify(problem, schedule, program);
  int open = static_cast<int>(std::count_if(report.hazards.begin(), report.hazards.end(),
                                            [](const Hazard &hazard) { return hazard.value != HazardClass::Proven; }));
  EXPECT_GT(open, 30);
  // Read after write and write after read, of a and of b.
  EXPECT_LE(errors(report, DiagId::ScheduleHazard) + errors(report, DiagId::ScheduleLatencyOnly), 4)
      << format(report.diagnostics);
}
