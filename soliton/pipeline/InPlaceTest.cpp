// The declarations that ship where fragments stay in shared memory: their programs, that every hazard is proven, that
// what is taken away is found, and which tiles there are.
#include "soliton/pipeline/InPlace.h"

#include "TestPipelines.h"
#include "soliton/pipeline/Catalog.h"
#include "soliton/pipeline/PingPong.h"
#include "soliton/pipeline/Pipeline4Wave.h"
#include "soliton/pipeline/Report.h"
#include "soliton/pipeline/SingleBuffer.h"

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;

namespace {
CompiledPipeline made(const std::string &name, TileShape shape = {}) {
  MadePipeline chosen = makePipeline({.name = name, .shape = shape, .target = "sm_90a"});
  EXPECT_TRUE(chosen.pipeline) << format(chosen.errors);
  return compilePipeline(*chosen.pipeline);
}

std::string listText(const CompiledPipeline &pipeline, const std::vector<ScheduleEntry> &entries) {
  std::string text;
  for (const ScheduleEntry &entry : entries)
    text += (text.empty() ? "" : " ") + pipeline.text(entry.op);
  return text;
}

std::string errorOf(const PipelineChoice &choice) {
  MadePipeline chosen = makePipeline(choice);
  return chosen.errors.empty() ? "" : std::string(idText(chosen.errors.front().id));
}
} // namespace

TEST(InPlace, FourWavesKeepATileOfProductsUnderWay) {
  CompiledPipeline pipeline = made("pipeline4wave");
  ASSERT_TRUE(pipeline.ok()) << format(pipeline.diagnostics);
  EXPECT_EQ(pipeline.config.depth, 4);
  EXPECT_EQ(listText(pipeline, pipeline.prologue), "LOAD_A[s0,0] LOAD_B[s0,0] LOAD_B[s0,1] LOAD_A[s0,1] COMMIT_BOXES "
                                                   "LOAD_A[s1,0] LOAD_B[s1,0] LOAD_B[s1,1] LOAD_A[s1,1] COMMIT_BOXES");
  EXPECT_EQ(listText(pipeline, pipeline.kernel),
            "BOXES(1) MMA(1) BARRIER LOAD_A[s2,0] MMA[0,0] LOAD_B[s2,0] MMA[0,1] LOAD_B[s2,1] MMA[1,0] "
            "LOAD_A[s2,1] COMMIT_BOXES MMA[1,1] COMMIT_MMA");
  EXPECT_EQ(pipeline.proof.kernelBarriers, 1);
}

TEST(InPlace, WhatIsInFlight) {
  std::vector<FlightRow> rows = traceFlight(made("pipeline4wave"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].counter, "boxes");
  EXPECT_EQ(rows[0].completed, (std::vector<std::string>{"A00", "B00", "B01", "A01"}));
  EXPECT_EQ(rows[0].left, (std::vector<std::string>{"A10", "B10", "B11", "A11"}));
  EXPECT_EQ(rows[1].counter, "mma");
  EXPECT_EQ(rows[1].left, (std::vector<std::string>{"MMA[0,0]", "MMA[0,1]", "MMA[1,0]", "MMA[1,1]"}));
}

TEST(InPlace, PingPongHasThePhasesAndThreeStages) {
  CompiledPipeline pipeline = made("ping_pong");
  ASSERT_TRUE(pipeline.ok()) << format(pipeline.diagnostics);
  EXPECT_EQ(pipeline.config.depth, 3);
  EXPECT_EQ(pipeline.proof.kernelBarriers, 8);
  EXPECT_EQ(pipeline.proof.problem.stagger, (std::vector{0, 1}));
  EXPECT_EQ(pipeline.body.size(), 8u);
}

TEST(InPlace, ALoadIntoRegistersAndItsStoreAreOneCopy) {
  CompiledPipeline pipeline = made("single_buffer");
  ASSERT_TRUE(pipeline.ok()) << format(pipeline.diagnostics);
  EXPECT_EQ(listText(pipeline, pipeline.kernel),
            "BOXES(1) MMA(0) BARRIER COMPUTE[0,0] LOAD_DRAM[s2,0] COMMIT_BOXES COMPUTE[0,1] COMMIT_MMA");
  // Through registers they are two, and a tile in registers needs no buffer.
  InPlace stored(std::make_shared<SingleBuffer>(2), sm90aSingleBufferTarget(), {.copies = false, .stores = true});
  CompiledPipeline through = compilePipeline(stored);
  ASSERT_TRUE(through.ok()) << format(through.diagnostics);
  EXPECT_EQ(through.config.depth, 2);
  EXPECT_NE(listText(through, through.kernel).find("STORE_SMEM[s1,0] LOAD_DRAM[s0,0]"), std::string::npos)
      << listText(through, through.kernel);
}

/// Every wait and derived barrier of the three kernels, one at a time, and all commits of a counter.
TEST(InPlace, EveryWaitCommitAndBarrierIsNeeded) {
  using sched::EntryKind;
  for (const std::string &name : pipelineNames()) {
    CompiledPipeline pipeline = made(name);
    const Proof &proof = pipeline.proof;
    auto isFoundWithout = [&](auto taken) {
      sched::Program without = proof.program;
      EXPECT_GT(std::erase_if(without.kernel, taken), 0u) << name;
      return !sched::verify(proof.problem, proof.schedule, without, {}).diagnostics.empty();
    };
    for (const sched::Entry &entry : proof.program.kernel)
      if (entry.kind == EntryKind::Wait || (entry.kind == EntryKind::Barrier && entry.op < 0))
        EXPECT_TRUE(isFoundWithout([&](const sched::Entry &other) { return other == entry; })) << name;
    for (int counter : {0, 2}) {
      EXPECT_EQ(proof.problem.counters[counter].name, counter == 0 ? "boxes" : "mma");
      EXPECT_TRUE(isFoundWithout([&](const sched::Entry &other) {
        return other.kind == EntryKind::Commit && other.counter == counter;
      })) << name;
    }
  }
}

TEST(InPlace, CountersAndLatenciesAreTheChips) {
  CompiledPipeline pipeline = made("pipeline4wave");
  EXPECT_EQ(pipeline.config.limits, (pipe::CounterLimits{15, 0, 7}));
  // 700 cycles from global memory; four instructions of 64x64x16, 32 cycles each.
  for (const OpDesc &op : pipeline.body)
    EXPECT_EQ(op.latency, op.role == OpRole::GlobalLoad ? 700 : 128);
}

TEST(InPlace, GeometryOfGroupsOfWaves) {
  KernelGeometry four = fourWaveGroupGeometry({.bm = 128, .bn = 64, .bk = 128}).geometry;
  EXPECT_EQ(std::tuple(four.mmaM, four.mmaN, four.mmaK), std::tuple(64, 32, 16));
  EXPECT_EQ(std::tuple(four.vmPerLoadA, four.vmPerLoadB, four.mmasPerOp), std::tuple(2, 2, 8));
  KernelGeometry rows = pingPongGroupGeometry({.bm = 256, .bn = 128, .bk = 64}).geometry;
  EXPECT_EQ(std::tuple(rows.vmPerLoadA, rows.vmPerLoadB, rows.sharedBytes), std::tuple(2, 1, 3 * 384 * 64 * 2));
  KernelGeometry columns = pingPongGroupGeometry({.bm = 128, .bn = 256, .bk = 64}).geometry;
  EXPECT_EQ(std::pair(columns.vmPerLoadA, columns.vmPerLoadB), std::pair(1, 2));
}

TEST(InPlace, TilesThatThereAreNot) {
  auto id = [](TileShape shape, const char *name = "pipeline4wave") {
    return errorOf({.name = name, .shape = shape, .target = "sm_90a"});
  };
  EXPECT_EQ(id({.bm = 128, .bn = 128, .bk = 64}), "");
  EXPECT_EQ(id({.bm = 64, .bn = 128, .bk = 64}), "pipeline-geometry");                  // one row of instructions
  EXPECT_EQ(id({.bm = 128, .bn = 136, .bk = 64}), "pipeline-geometry");                 // half of it is no width
  EXPECT_EQ(id({.bm = 128, .bn = 128, .bk = 40}), "pipeline-geometry");                 // steps of 16
  EXPECT_EQ(id({.bm = 128, .bn = 256, .bk = 64}), "pipeline-geometry");                 // 256 sums a lane
  EXPECT_EQ(id({.bm = 128, .bn = 192, .bk = 128}), "pipeline-geometry");                // 320 KB
  EXPECT_EQ(id({.bm = 128, .bn = 128, .bk = 64, .elemBytes = 1}), "pipeline-geometry"); // sums of 8-bit floats
  EXPECT_EQ(id({.bm = 128, .bn = 128, .bk = 64}, "ping_pong"), "pipeline-geometry");    // 64 rows a group
}

TEST(InPlace, TheFrameworkHasNoSuchPrograms) {
  MadePipeline chosen = makePipeline({.name = "pipeline4wave", .shape = {}, .target = "sm_90a"});
  CompiledPipeline shipped = compilePipeline(*chosen.pipeline, faithful("as shipped"));
  ASSERT_EQ(shipped.diagnostics.size(), 1u);
  EXPECT_EQ(idText(shipped.diagnostics.front().id), "not-supported-here");
}

TEST(InPlace, TargetsThatThereAreNot) {
  EXPECT_EQ(errorOf({.name = "ping_pong", .shape = {}, .target = "gfx950"}), "");
  EXPECT_EQ(errorOf({.name = "ping_pong", .shape = {}, .target = "gfx942"}), "not-supported-here");
  EXPECT_EQ(errorOf({.name = "ping_pong", .shape = {}, .target = "sm_90"}), "unknown-target");
}
