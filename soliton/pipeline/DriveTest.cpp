// Declared pipelines on loops as the compiler expands them: what an op selects, the order, what the core derives from
// it, and what is refused.
#include "soliton/pipeline/Drive.h"

#include "TestPipelines.h"
#include "soliton/authoring/TestGemm.h"
#include "soliton/schedule/Lifetimes.h"

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;
using namespace soliton::sched::testing;
using sched::LoopPlan;

namespace {
/// 128x128x64 of two-byte elements by four waves: four copies an operand, each the rows of one piece.
TaggedGemm fourWaveLoop(Copies copies = Copies::Direct) {
  return {.mPieces = 4, .nPieces = 4, .kPieces = 2, .loads = 4, .copies = copies, .readsOwnRows = true};
}

template <typename Pipeline>
LoopPlan driven(const Pipeline &pipeline, const TaggedGemm &loop, int waves = 4, const char *target = "emulated") {
  sched::ScheduleInput input = gemmInput(waves);
  input.hardware.target = target;
  return sched::evaluate(toSchedule(std::make_shared<Pipeline>(pipeline)), taggedGemm(loop), input);
}

/// Runs of instructions of one op and kind in the kernel, each with its stage: `read_a/copy*2@0`.
std::string kernelText(const LoopPlan &plan) {
  std::vector<std::pair<std::string, int>> runs;
  for (int op : sched::emissionOrder(plan.schedule)) {
    const sched::Operation &operation = plan.problem.operations[op];
    bool isPutIn = operation.kind == sched::OpKind::Hint || operation.kind == sched::OpKind::Barrier ||
                   operation.kind == sched::OpKind::Wait;
    std::string name = isPutIn ? std::string(nameOf(operation.kind))
                               : operation.key.substr(0, operation.key.rfind('/')) + "@" +
                                     std::to_string(plan.schedule.slots[op].stage);
    if (runs.empty() || runs.back().first != name)
      runs.emplace_back(name, 0);
    ++runs.back().second;
  }
  return joined(
      runs, [](const auto &run) { return run.second > 1 ? run.first + "*" + std::to_string(run.second) : run.first; });
}

std::vector<int> kernelWaits(const LoopPlan &plan, std::string_view counter) {
  std::vector<int> values;
  for (const sched::Entry &entry : sched::synchronize(plan).program.kernel)
    if (entry.kind == sched::EntryKind::Wait && plan.problem.counters[entry.counter].name == counter)
      values.push_back(entry.value);
  return values;
}

int kernelBarriers(const LoopPlan &plan) {
  std::vector<sched::Entry> kernel = sched::synchronize(plan).program.kernel;
  return static_cast<int>(std::count_if(
      kernel.begin(), kernel.end(), [](const sched::Entry &entry) { return entry.kind == sched::EntryKind::Barrier; }));
}

/// The first thing that is wrong.
Diagnostic firstError(const LoopPlan &plan) {
  EXPECT_FALSE(plan.ok());
  if (plan.diagnostics.empty())
    return {Severity::remark, DiagId::PipelineBudget, {}, "nothing", "", {}};
  EXPECT_FALSE(plan.diagnostics.front().hint.empty());
  return plan.diagnostics.front();
}
} // namespace

TEST(Drive, FourWavesInTheDeclaredOrder) {
  LoopPlan plan = driven(Pipeline4Wave(four(2, 128, 128, 64)), fourWaveLoop());
  ASSERT_EQ(judge(plan), "");
  // Fragments of rows 2 and 3 and columns 2 and 3 are this tile's; of 0 and 1 the next one's.
  EXPECT_EQ(kernelText(plan),
            "read_a/copy@0*2 read_b/shared_load@2*4 mma@2*8 read_b/copy@0*2 read_a/shared_load@2*4 mma@2*8 "
            "read_b/copy@0*2 read_a/shared_load@1*4 mma@2*8 read_a/copy@0*2 read_b/shared_load@1*4 mma@2*8");
  EXPECT_EQ(plan.unrollKernel, 2);
  EXPECT_EQ(plan.schedule.stages(), 3);
}

/// §9.4: two barriers a tile, and each leaves four loads, of two copies each, in flight.
TEST(Drive, FourWavesGetTheBarriersAndWaitsOfExactAnalysis) {
  LoopPlan plan = driven(Pipeline4Wave(), fourWaveLoop());
  ASSERT_EQ(judge(plan), "");
  EXPECT_EQ(kernelBarriers(plan), 2);
  EXPECT_EQ(kernelWaits(plan, "vm"), (std::vector{8, 8}));
}

TEST(Drive, EveryTripCountIsProven) {
  for (int trips : {0, 1, 2, 3, 4, 5, 9}) {
    EXPECT_EQ(judge(driven(Pipeline4Wave(), fourWaveLoop()), trips), "") << trips;
    EXPECT_EQ(judge(driven(PingPong(), fourWaveLoop(), 8), trips), "") << trips;
    EXPECT_EQ(judge(driven(SingleBuffer(2, HintShape()), fourWaveLoop(Copies::Registers)), trips), "") << trips;
  }
}

TEST(Drive, ThroughRegistersTheLoadFollowsItsStore) {
  LoopPlan plan = driven(Pipeline4Wave(), fourWaveLoop(Copies::Registers));
  ASSERT_EQ(judge(plan), "");
  EXPECT_EQ(kernelText(plan).substr(0, 86),
            "read_a/shared_store@1*2 read_a/global_load@0*2 read_b/shared_load@3*4 mma@3*8 read_b/s");
  EXPECT_EQ(judge(driven(PingPong(), fourWaveLoop(Copies::Registers), 8)), "");
}

TEST(Drive, CopiesThatAreCountedInGroupsToo) {
  EXPECT_EQ(judge(driven(Pipeline4Wave(), fourWaveLoop(Copies::Groups))), "");
  EXPECT_EQ(judge(driven(PingPong(), fourWaveLoop(Copies::Groups), 8)), "");
}

/// Copies whose rows fragments of both halves need run with the later load: nothing is overwritten too early.
TEST(Drive, CopiesForBothHalvesComeWithTheLaterOne) {
  TaggedGemm loop = fourWaveLoop();
  loop.readsOwnRows = false;
  LoopPlan plan = driven(Pipeline4Wave(), loop);
  ASSERT_EQ(judge(plan), "");
  EXPECT_EQ(kernelText(plan),
            "read_b/shared_load@2*4 mma@2*8 read_a/shared_load@2*4 mma@2*8 read_b/copy@0*4 read_a/shared_load@1*4 "
            "mma@2*8 read_a/copy@0*4 read_b/shared_load@1*4 mma@2*8");
  // Of ping-pong's loads of A the one that completes the next tile is the later one.
  plan = driven(PingPong(), loop, 8);
  ASSERT_EQ(judge(plan), "");
  EXPECT_NE(kernelText(plan).find("read_a/copy@1*4 wait barrier"), std::string::npos) << kernelText(plan);
}

TEST(Drive, PingPongTakesTurns) {
  LoopPlan plan = driven(PingPong(), fourWaveLoop(), 8);
  ASSERT_EQ(judge(plan), "");
  EXPECT_EQ(plan.problem.stagger, (std::vector{0, 1}));
  EXPECT_EQ(plan.groupStart, (std::vector{0, 4}));
  // Its own: one in front of each quadrant and one behind.
  EXPECT_EQ(kernelBarriers(plan), 8);
  EXPECT_EQ(kernelText(plan),
            "read_b/shared_load@2*4 read_a/shared_load@2*4 read_a/copy@1*2 wait barrier hint mma@2*8 hint barrier "
            "read_b/shared_load@2*4 wait barrier hint mma@2*8 hint barrier "
            "read_a/shared_load@2*4 wait barrier hint mma@2*8 hint barrier "
            "read_a/copy@0*2 read_b/copy@0*4 barrier hint mma@2*8 hint barrier");
  // Each waits only for what is read behind its barrier: ten, eight and ten copies stay under way.
  EXPECT_EQ(kernelWaits(plan, "vm"), (std::vector{10, 8, 10}));
}

TEST(Drive, SingleBufferCarriesItsHintsOut) {
  LoopPlan plan = driven(SingleBuffer(2, HintShape()), fourWaveLoop(Copies::Registers));
  ASSERT_EQ(judge(plan), "");
  EXPECT_EQ(kernelBarriers(plan), 2);
  EXPECT_EQ(plan.unrollKernel, 1);
  // Sixteen reads of a tile, two matrix instructions for each; the stores get what is left: nothing.
  EXPECT_EQ(kernelText(plan).substr(0, 71), "read_a/shared_load@2 mma@2*2 read_a/shared_load@2 mma@2*2 read_a/shared");
  LoopPlan plain = driven(SingleBuffer(2), fourWaveLoop(Copies::Registers));
  ASSERT_EQ(judge(plain), "");
  EXPECT_EQ(kernelText(plain),
            "read_a/shared_load@2*4 read_b/shared_load@2*4 mma@2*16 read_a/shared_store@1*4 read_b/shared_store@1*4 "
            "read_a/global_load@0*4 read_b/global_load@0*4 mma@2*16 read_a/shared_load@1*4 read_b/shared_load@1*4");
}

TEST(Drive, SingleBufferOfOneStepHasTwoCopies) {
  TaggedGemm loop = fourWaveLoop(Copies::Registers);
  loop.kPieces = 1;
  LoopPlan plan = driven(SingleBuffer(1, HintShape()), loop);
  EXPECT_EQ(judge(plan), "");
  EXPECT_EQ(plan.unrollKernel, 2);
  loop.kPieces = 4;
  EXPECT_EQ(judge(driven(SingleBuffer(4, HintShape()), loop)), "");
}

//===- What is refused ----------------------------------------------------------------===//

TEST(DriveErrors, OpWithoutCounterpart) {
  // Direct copies leave nothing to store.
  Diagnostic error = firstError(driven(SingleBuffer(2), fourWaveLoop()));
  EXPECT_EQ(error.id, DiagId::PipelineCounterpart);
  EXPECT_EQ(error.message, "`STORE_SMEM[s0,0]` (shared store) stands for no instruction of the kernel's loop");
  EXPECT_EQ(error.hint, "it selects `read_a` or `read_b`; give the kernel's op that tag, or select another one");
  EXPECT_TRUE(error.place.known());
}

TEST(DriveErrors, TagThatTheKernelLacks) {
  struct Misnamed : Pipeline4Wave {
    std::vector<Selection> selects(const OpDesc &op) const override {
      return tileSelections(op, config(), {{"read_a", "read_c"}, "mma"});
    }
  };
  Diagnostic error = firstError(driven(Misnamed(), fourWaveLoop()));
  EXPECT_EQ(error.id, DiagId::PipelineCounterpart);
  EXPECT_NE(error.hint.find("`read_c`"), std::string::npos);
}

TEST(DriveErrors, OneInstructionForTwoOps) {
  struct Twice : Pipeline4Wave {
    std::vector<Selection> selects(const OpDesc &op) const override {
      OpDesc other = op;
      if (op.role == OpRole::Compute)
        other.subtile = 0;
      return tileSelections(other, config());
    }
  };
  Diagnostic error = firstError(driven(Twice(), fourWaveLoop()));
  EXPECT_EQ(error.id, DiagId::PipelineCounterpart);
  EXPECT_EQ(error.message, "`MMA[0,1]` and `MMA[0,0]` stand for the same instruction of the kernel");
  ASSERT_EQ(error.notes.size(), 1u);
}

TEST(DriveErrors, TooFewPieces) {
  TaggedGemm loop = fourWaveLoop();
  loop.mPieces = 1;
  Diagnostic error = firstError(driven(Pipeline4Wave(), loop));
  EXPECT_EQ(error.id, DiagId::SchedulePieces);
}

TEST(DriveErrors, GeometryOfAnotherKernel) {
  Diagnostic error = firstError(driven(Pipeline4Wave(four(2, 64, 64, 64)), fourWaveLoop(), 4, "gfx950"));
  EXPECT_EQ(error.id, DiagId::PipelineGeometry);
  EXPECT_EQ(judge(driven(Pipeline4Wave(four(2, 128, 128, 64)), fourWaveLoop(), 4, "gfx950")), "");
}

TEST(DriveErrors, InstructionThatNoOpIs) {
  struct Forgetful : Pipeline4Wave {
    std::vector<Selection> selects(const OpDesc &op) const override {
      std::vector<Selection> all = tileSelections(op, config());
      if (op.role == OpRole::Compute)
        all[0].parts.push_back({"K", 0, 2});
      return all;
    }
  };
  EXPECT_EQ(firstError(driven(Forgetful(), fourWaveLoop())).id, DiagId::ScheduleMissingOp);
}

TEST(DriveErrors, MistakesOfTheDeclarationComeFirst) {
  struct Unread : Pipeline4Wave {
    std::vector<OpDesc> declareOps() const override {
      std::vector<OpDesc> ops = Pipeline4Wave::declareOps();
      for (int i : {1, 13})
        ops[i].subtile = 0;
      return ops;
    }
  };
  Diagnostic error = firstError(driven(Unread(), fourWaveLoop()));
  EXPECT_EQ(error.id, DiagId::PipelineOperandMissing);
  EXPECT_TRUE(error.place.known());
}

TEST(DriveErrors, HalvesInDifferentOrder) {
  struct Reordered : Pipeline4Wave {
    std::vector<OpDesc> buildBody() const override {
      std::vector<OpDesc> body = Pipeline4Wave::buildBody();
      std::swap(body[12], body[13]);
      return body;
    }
  };
  EXPECT_EQ(firstError(driven(Reordered(), fourWaveLoop())).id, DiagId::PipelineHalvesDiffer);
}

TEST(DriveErrors, AnOrderThatTheKernelForbids) {
  // Fragments in front of the loads of their tile: the declaration believes its own touches, the kernel its own.
  struct Believing : Pipeline4Wave {
    std::vector<Selection> selects(const OpDesc &op) const override {
      OpDesc other = op;
      if (op.role == OpRole::FragmentLoad)
        other.subtile = 1 - op.subtile;
      return tileSelections(other, config());
    }
  };
  LoopPlan plan = driven(Believing(), fourWaveLoop());
  EXPECT_NE(judge(plan), "");
}
