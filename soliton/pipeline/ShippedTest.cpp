// The framework's own programs on loops as the compiler expands them: K tile by K tile, with their waits and barriers,
// judged on the instructions, and accepted only under a waiver.
#include "soliton/pipeline/Drive.h"

#include "TestPipelines.h"
#include "soliton/authoring/TestGemm.h"
#include "soliton/pipeline/TileProgram.h"

#include <algorithm>
#include <set>

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;
using namespace soliton::sched::testing;
using sched::LoopPlan;

namespace {
/// 128x128x64 of two-byte elements by four waves.
TaggedGemm fourWaveLoop() {
  return {.mPieces = 4, .nPieces = 4, .kPieces = 2, .loads = 4, .copies = Copies::Direct, .readsOwnRows = true};
}

/// 256x256x64 by eight waves. What a wave reads may lie in either half-tile of B.
TaggedGemm pingPongLoop() {
  return {.mPieces = 8, .nPieces = 4, .kPieces = 2, .loads = 4, .copies = Copies::Direct};
}

template <typename Pipeline>
LoopPlan shipped(const Pipeline &pipeline, const TaggedGemm &loop, int waves,
                 const std::string &waiver = "as shipped") {
  return sched::evaluate(toSchedule(std::make_shared<Pipeline>(pipeline), pipe::faithful(waiver)), taggedGemm(loop),
                         gemmInput(waves));
}

LoopPlan shippedFour(const std::string &waiver = "as shipped") {
  return shipped(Pipeline4Wave(four(2, 128, 128, 64)), fourWaveLoop(), 4, waiver);
}

LoopPlan shippedPingPong(const std::string &waiver = "as shipped") {
  return shipped(PingPong(pingBf16()), pingPongLoop(), 8, waiver);
}

/// `VM8 LGKM4 BAR read_b/shared_load*4@0 …`: runs of one op and iteration.
std::string textOf(const LoopPlan &plan, const std::vector<sched::Entry> &entries) {
  std::vector<std::pair<std::string, int>> runs;
  for (const sched::Entry &entry : entries) {
    std::string name = "BAR";
    if (entry.kind == sched::EntryKind::Wait)
      name = (plan.problem.counters[entry.counter].name == "vm" ? "VM" : "LGKM") + std::to_string(entry.value);
    else if (entry.kind == sched::EntryKind::Barrier && entry.stagger)
      name = "BAR!" + std::to_string(entry.groups);
    else if (entry.kind == sched::EntryKind::Op) {
      const sched::Operation &op = plan.problem.operations[entry.op];
      if (op.kind == sched::OpKind::Hint)
        continue;
      name = op.key.substr(0, op.key.rfind('/')) + "@" + std::to_string(entry.iteration);
    }
    bool again = entry.kind == sched::EntryKind::Op && !runs.empty() && runs.back().first == name;
    again ? ++runs.back().second : (runs.emplace_back(name, 1), 0);
  }
  return joined(
      runs, [](const auto &run) { return run.second > 1 ? run.first + "*" + std::to_string(run.second) : run.first; });
}

sched::Report judged(const LoopPlan &plan, std::optional<int> trips = 12) {
  return sched::verify(plan.problem, plan.schedule, sched::synchronize(plan).program, plan.verifyOptions(trips));
}

/// Kinds of hazards that are not proven, by tile: "RAW tile_b".
std::set<std::string> open(const LoopPlan &plan, const sched::Report &report) {
  std::set<std::string> found;
  for (const sched::Hazard &hazard : report.hazards)
    if (hazard.value != sched::HazardClass::Proven)
      found.insert(std::string(nameOf(hazard.dependence.kind)) + " " +
                   plan.problem.regions[hazard.dependence.region].name);
  return found;
}
} // namespace

TEST(Shipped, FourWavesByTiles) {
  LoopPlan plan = shippedFour();
  ASSERT_TRUE(plan.ok()) << format(plan.diagnostics);
  sched::Program program = sched::synchronize(plan).program;
  EXPECT_EQ(textOf(plan, program.prologue),
            "read_a/copy@0*2 read_b/copy@0*4 read_a/copy@0*2 read_a/copy@1*2 read_b/copy@1*4 read_a/copy@1*2 "
            "VM14 BAR read_a/shared_load@0*4 VM12 BAR read_b/shared_load@0*4");
  EXPECT_EQ(textOf(plan, program.kernel), "VM8 LGKM4 BAR read_b/shared_load@0*4 read_a/copy@2*2 mma@0*8 "
                                          "LGKM0 read_a/shared_load@0*4 read_b/copy@2*2 mma@0*8 "
                                          "VM8 LGKM0 BAR read_a/shared_load@1*4 read_b/copy@2*2 mma@0*8 "
                                          "read_b/shared_load@1*4 read_a/copy@2*2 VM8 mma@0*8");
  // The two reads that nobody needs are left out; no barrier but the last.
  EXPECT_EQ(textOf(plan, program.epilogue),
            "LGKM0 read_b/shared_load@-2*4 VM0 mma@-2*8 LGKM0 read_a/shared_load@-2*4 VM0 mma@-2*8 "
            "LGKM0 read_a/shared_load@-1*4 VM0 mma@-2*8 LGKM0 read_b/shared_load@-1*4 VM0 mma@-2*8 "
            "LGKM0 read_b/shared_load@-1*4 VM0 mma@-1*8 LGKM0 read_a/shared_load@-1*4 VM0 mma@-1*8 "
            "LGKM0 VM0 mma@-1*8 LGKM0 mma@-1*8 BAR");
  EXPECT_EQ(program.peeled, 2);
  EXPECT_EQ(plan.unrollKernel, 2);
}

TEST(Shipped, PingPongByTiles) {
  LoopPlan plan = shippedPingPong();
  ASSERT_TRUE(plan.ok()) << format(plan.diagnostics);
  sched::Program program = sched::synchronize(plan).program;
  EXPECT_EQ(textOf(plan, program.prologue),
            "read_b/copy@0*2 read_a/copy@0*2 read_b/copy@0*2 read_a/copy@0*2 BAR!2 VM0 BAR "
            "read_b/copy@1*2 read_a/copy@1*2 read_b/copy@1*2 VM0 BAR");
  EXPECT_EQ(textOf(plan, program.kernel),
            "read_b/shared_load@0*4 read_a/shared_load@0*8 read_a/copy@1*2 LGKM8 BAR LGKM0 mma@0*16 BAR "
            "read_b/shared_load@0*4 read_b/copy@2*2 BAR LGKM0 mma@0*16 BAR "
            "read_a/shared_load@0*8 read_a/copy@2*2 BAR LGKM0 mma@0*16 BAR "
            "read_b/copy@2*2 VM6 BAR mma@0*16 BAR");
  EXPECT_EQ(plan.problem.stagger, (std::vector{0, 1}));
}

/// §9.2 on the instructions: what the framework leaves to latency, and nothing else.
TEST(Shipped, FourWavesLeaveToLatencyWhatTheAuditNames) {
  LoopPlan plan = shippedFour();
  sched::Report report = judged(plan);
  EXPECT_TRUE(report.ok()) << format(report.diagnostics);
  EXPECT_EQ(open(plan, report), (std::set<std::string>{"RAW tile_a", "RAW tile_b", "WAR tile_b"}));
  for (const sched::Hazard &hazard : report.hazards)
    EXPECT_NE(hazard.value, sched::HazardClass::Violated);
}

TEST(Shipped, PingPongOverwritesEarly) {
  LoopPlan plan = shippedPingPong();
  sched::Report report = judged(plan);
  EXPECT_EQ(open(plan, report), (std::set<std::string>{"WAR tile_a", "WAR tile_b"})) << format(report.diagnostics);
}

TEST(Shipped, IsRefusedWithoutAWaiver) {
  for (const LoopPlan &plan : {shippedFour(""), shippedPingPong("")}) {
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.diagnostics.front().id, DiagId::ScheduleLatencyOnly);
    std::string text = format(plan.diagnostics);
    EXPECT_NE(text.find("`B00` (WAR) and only latency keeps them apart"), std::string::npos) << text;
    EXPECT_NE(text.find("`B10` (WAR) and only latency keeps them apart"), std::string::npos) << text;
  }
}

/// Its barriers do not wait for the stores in front of them; nothing keeps its reads apart.
TEST(Shipped, NoWaiverIsForASingleBuffer) {
  LoopPlan plan = shipped(SingleBuffer(2), {.mPieces = 4, .nPieces = 4, .kPieces = 2, .loads = 4}, 4);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.diagnostics.front().id, DiagId::ScheduleHazard);
}

TEST(Shipped, WaitsAreOfOneGeometry) {
  LoopPlan none = shipped(Pipeline4Wave(), fourWaveLoop(), 4);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.diagnostics.back().id, DiagId::PipelineGeometry);
  LoopPlan other = shipped(Pipeline4Wave(four(2, 64, 64, 64)), fourWaveLoop(), 4);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.diagnostics.back().id, DiagId::PipelineGeometry);
}

TEST(Shipped, CopiesGoPastTheRegisters) {
  TaggedGemm loop = fourWaveLoop();
  loop.copies = Copies::Registers;
  LoopPlan plan = shipped(Pipeline4Wave(four(2, 128, 128, 64)), loop, 4);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.diagnostics.back().id, DiagId::PipelineCounterpart);
  EXPECT_NE(plan.diagnostics.back().message.find("as shipped copies past the registers"), std::string::npos);
}

TEST(Shipped, HalvesOfAKernelThatDiffer) {
  Pipeline4Wave pipeline(four(2, 128, 128, 64));
  CompiledPipeline made = compilePipeline(pipeline, pipe::faithful("as shipped"));
  ASSERT_TRUE(byTiles(pipeline, made));
  auto wait = std::ranges::find_if(made.kernel, [](const ScheduleEntry &entry) { return entry.op.tag == kWaitVm; });
  ++wait->op.waitValue;
  EXPECT_FALSE(byTiles(pipeline, made));
}
