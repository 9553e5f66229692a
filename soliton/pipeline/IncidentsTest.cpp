// What went wrong in programs of the framework (section 8.7 of the reference), by name: each is made again and must be
// reported. Then mutants of whole programs, entry by entry.
//
//   incident                                     here                                     elsewhere
//   load in front of the second quadrant's read  LoadBeforeTheSecondQuadrantRead          DataFlowTest.cpp,
//   ExactTest.cpp prologue of fp8 at the wrong K               PrologueOfTheWrongTile swizzle that a move of the tile
//   changes                                               layout/SharedPlanTest.cpp completion load known by its K
//   offset        CompletionLoadTakenForAPrefetch no barrier behind the entry wait NoBarrierBehindTheEntryWait K = 2 BK
//   OneIterationRunsIntoTheEpilogue split K runs into its epilogue               SplitKRunsIntoTheEpilogue
//   test/e2e/PipelinesTest.cpp instructions out of order in the code object backend/AmdOrderTest.cpp geometry that
//   rounds to no load              GeometryThatRoundsToNoLoad               DeclarationTest.cpp
#include "TestPipelines.h"
#include "TestTileRun.h"

#include <functional>

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;

namespace {
/// A faithful program whose lists a test changes, judged again with what ships waived.
CompiledPipeline rejudged(const PipelineSchedule &pipeline, const std::function<void(CompiledPipeline &)> &change) {
  PipelineOptions options{Mode::Faithful, {{"", "", "", "as shipped"}}};
  CompiledPipeline made = compilePipeline(pipeline, options);
  EXPECT_TRUE(made.ok()) << format(made.diagnostics);
  change(made);
  made.proof = {};
  made.diagnostics.clear();
  options.waivers.clear();
  auditProgram(pipeline, options, made);
  return made;
}

bool hasHazard(const CompiledPipeline &made, const std::string &kind, const std::string &region) {
  return std::any_of(made.proof.report.hazards.begin(), made.proof.report.hazards.end(), [&](const sched::Hazard &h) {
    return h.value != sched::HazardClass::Proven && nameOf(h.dependence.kind) == kind &&
           made.proof.problem.regions[h.dependence.region].name == region;
  });
}
} // namespace

TEST(Incidents, PrologueOfTheWrongTile) {
  CompiledPipeline made =
      rejudged(PingPong(pingFp8()), [](CompiledPipeline &program) { program.prologue[6].op.k = KOffset::K0; });
  EXPECT_TRUE(std::any_of(made.diagnostics.begin(), made.diagnostics.end(), [](const Diagnostic &diagnostic) {
    return diagnostic.id == DiagId::PipelineStage;
  })) << format(made.diagnostics);
  EXPECT_FALSE(computesRight(made));
}

TEST(Incidents, CompletionLoadTakenForAPrefetch) {
  // Classified by its K offset, the load that completes stage 0 may stay in flight: one load too many at b7.
  CompiledPipeline made = rejudged(PingPong(pingBf16()), [](CompiledPipeline &program) {
    for (ScheduleEntry &entry : program.kernel)
      if (entry.op.tag == kWaitVm && entry.timeSlot > 35)
        entry.op.waitValue = 8;
  });
  EXPECT_TRUE(hasHazard(made, "RAW", "A01"));
  EXPECT_FALSE(hasHazard(rejudged(PingPong(pingBf16()), [](CompiledPipeline &) {}), "RAW", "A01"));
}

TEST(Incidents, NoBarrierBehindTheEntryWait) {
  // The flake of small fp8 tiles: vm is one wave's own counter.
  for (int at : {2, 26}) {
    CompiledPipeline made = rejudged(Pipeline4Wave(four(1, 64, 64, 128)), [&](CompiledPipeline &program) {
      ASSERT_EQ(program.kernel[at].op.tag, kBarrier);
      program.kernel.erase(program.kernel.begin() + at);
    });
    EXPECT_TRUE(hasHazard(made, "RAW", at == 2 ? "B01" : "B11"));
    EXPECT_TRUE(hasHazard(made, "WAR", at == 2 ? "A00" : "A10"));
  }
}

TEST(Incidents, OneIterationRunsIntoTheEpilogue) {
  // K = 2 BK: no trip of the loop, the epilogue follows the prologue at once and reads what no barrier has ordered.
  CompiledPipeline made = faithful(Pipeline4Wave(four(1, 64, 64, 128)));
  sched::VerifyOptions once;
  once.tripCount = 1;
  sched::Report report = sched::verify(made.proof.problem, made.proof.schedule, made.proof.program, once);
  EXPECT_FALSE(report.ok());
  CompiledPipeline exact = compilePipeline(Pipeline4Wave(four(1, 64, 64, 128)));
  EXPECT_TRUE(sched::verify(exact.proof.problem, exact.proof.schedule, exact.proof.program, once).ok());
}

TEST(Incidents, LoadBeforeTheSecondQuadrantRead) {
  ScheduleConfig config = PingPong::defaultScheduleConfig(pingBf16());
  config.scheduling = Strategy::Identity;
  PingPong identity(pingBf16(), config, mi355xTarget(2, 2, 1));
  CompiledPipeline made = compilePipeline(identity, pipe::faithful("as shipped"));
  EXPECT_FALSE(made.ok()) << "one wave overwrites what it has still to read: no waiver is for that";
  EXPECT_FALSE(computesRight(made));
}

TEST(Incidents, SplitKRunsIntoTheEpilogue) {
  // Each part of K ends in the epilogue: with a drain in front of it, as for K = 2 BK, its reads are proven.
  Pipeline4Wave pipeline(four(2, 128, 128, 64));
  auto readsAreOpen = [](const CompiledPipeline &made) {
    return std::any_of(made.proof.report.hazards.begin(), made.proof.report.hazards.end(), [](const sched::Hazard &h) {
      return h.value != sched::HazardClass::Proven && h.dependence.kind == sched::DepKind::Raw;
    });
  };
  EXPECT_TRUE(readsAreOpen(rejudged(pipeline, [](CompiledPipeline &) {})));
  EXPECT_FALSE(readsAreOpen(rejudged(pipeline, [](CompiledPipeline &program) {
    std::vector<ScheduleEntry> drain(3, program.epilogue.front());
    drain[0].op = waitVm(0);
    drain[1].op = waitLgkm(0);
    drain[2].op = barrier();
    program.epilogue.insert(program.epilogue.begin(), drain.begin(), drain.end());
  })));
}

TEST(Incidents, GeometryThatRoundsToNoLoad) {
  GeometryResult shape = pingPongGeometry({.bm = 64, .bn = 256, .bk = 32, .elemBytes = 2});
  ASSERT_FALSE(shape.ok());
  EXPECT_EQ(shape.errors.front().id, DiagId::PipelineGeometry);
}

// ---- Mutants of programs -------------------------------------------------------------------------------------------

namespace {
/// A change of one entry, and whether it only takes synchronisation away.
struct Change {
  std::string what;
  std::function<void(std::vector<ScheduleEntry> &)> make;
  bool weakens = false;
};

std::vector<Change> changesOf(const std::vector<ScheduleEntry> &list) {
  std::vector<Change> changes;
  for (size_t i = 0; i < list.size(); ++i) {
    const OpDesc &op = list[i].op;
    if (op.role == OpRole::Fence)
      continue;
    bool mark = op.tag >= kFirstFrameworkTag;
    std::string at = " entry " + std::to_string(i);
    auto add = [&](const char *what, auto make, bool weakens = false) {
      changes.push_back({what + at, make, weakens});
    };
    add("without", [i](std::vector<ScheduleEntry> &l) { l.erase(l.begin() + i); }, mark);
    if (op.tag == kWaitVm || op.tag == kWaitLgkm)
      add("one more in flight at", [i](std::vector<ScheduleEntry> &l) { ++l[i].op.waitValue; }, true);
    if (mark)
      continue;
    add("twice", [i](std::vector<ScheduleEntry> &l) { l.insert(l.begin() + i, l[i]); });
    add("other stage at", [i](std::vector<ScheduleEntry> &l) { l[i].op.stage ^= 1; });
    add("other subtile at", [i](std::vector<ScheduleEntry> &l) { l[i].op.subtile ^= 1; });
    if (op.role == OpRole::GlobalLoad)
      for (KOffset k : {KOffset::K0, KOffset::K1, KOffset::KPrev})
        if (k != op.k)
          add("other tile at", [i, k](std::vector<ScheduleEntry> &l) { l[i].op.k = k; });
    for (size_t to : {i + 1, i + 4, i + 9})
      if (to < list.size())
        add("later by some:", [i, to](std::vector<ScheduleEntry> &l) {
          std::rotate(l.begin() + i, l.begin() + i + 1, l.begin() + to + 1);
        });
  }
  return changes;
}

struct ProgramTally {
  int harmful = 0, reported = 0, accepted = 0;
};

/// Every change of every list. Harmful is what computes the wrong thing and, where the program is proven, what takes a
/// wait or barrier away.
void judgeProgram(const PipelineSchedule &pipeline, Mode mode, ProgramTally &tally) {
  PipelineOptions options = mode == Mode::Faithful ? pipe::faithful("as shipped") : PipelineOptions();
  CompiledPipeline good = compilePipeline(pipeline, options);
  ASSERT_TRUE(good.ok());
  using List = std::vector<ScheduleEntry> CompiledPipeline::*;
  for (List list : {&CompiledPipeline::prologue, &CompiledPipeline::kernel, &CompiledPipeline::epilogue})
    for (const Change &change : changesOf(good.*list)) {
      CompiledPipeline made = good;
      change.make(made.*list);
      made.proof = {};
      made.diagnostics.clear();
      auditProgram(pipeline, options, made);
      bool harmful = !computesRight(made) || (mode == Mode::Exact && change.weakens);
      tally.harmful += harmful;
      tally.reported += harmful && !made.ok();
      tally.accepted += made.ok();
      EXPECT_FALSE(harmful && made.ok()) << good.name << " " << nameOf(mode) << ": " << change.what;
    }
}
} // namespace

TEST(ProgramMutants, NoWrongProgramIsAccepted) {
  ProgramTally tally;
  for (const KernelGeometry &geometry : {four(2, 64, 64, 64), four(1, 128, 128, 128)})
    for (Mode mode : {Mode::Exact, Mode::Faithful})
      judgeProgram(Pipeline4Wave(geometry), mode, tally);
  for (const KernelGeometry &geometry : {pingBf16(), pingFp8()})
    judgeProgram(PingPong(geometry), Mode::Faithful, tally);
  EXPECT_GE(tally.harmful, 300);
  EXPECT_EQ(tally.reported, tally.harmful);
  EXPECT_GT(tally.accepted, 0) << "some changes are harmless";
  RecordProperty("harmful", tally.harmful);
  RecordProperty("accepted", tally.accepted);
}
