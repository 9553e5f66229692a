//===- WaveScheduleErrorsTest.cpp - Every mistake in a written schedule ----===//
#include "soliton/authoring/TestWaveSchedule.h"

#include <stdexcept>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {

TEST(WaveScheduleErrors, Tags) {
  EXPECT_WRONG({ s.get_node_by_tag("read_aa"); }, DiagId::ScheduleTag, "no op of the kernel has the tag `read_aa`");
  EXPECT_WRONG({ s.get_node_by_tag(std::vector<std::string>{"mma", "xyzzy"}); }, DiagId::ScheduleTag, "`xyzzy`");
  EXPECT_EQ(wrong([](ScheduleContext &s) { s.get_node_by_tag("read_aa"); }).hint, "did you mean `read_a`?");
}

TEST(WaveScheduleErrors, OneMistakeIsReportedOnce) {
  Diagnostic diag = wrong([](ScheduleContext &s) {
    auto loop = s.get_node_by_tag("kk_loop");
    auto p = s.pipeline(loop);
    p.set_stage({{s.get_node_by_tag("mma")}});
    s.reorder_graph(p.KERNEL, {});
    s.stagger(loop);
  });
  EXPECT_EQ(diag.id, DiagId::ScheduleTag);
}

TEST(WaveScheduleErrors, OpsThatAreNotMentionedOrTwice) {
  LoopPlan plan = run([](ScheduleContext &s) {
    Parts parts(s);
    auto p = s.pipeline(parts.loop);
    p.set_stage({{parts.loads}, {}});
    p.set_stage({{parts.reads}, {parts.mma}});
  });
  // The stores of A and of B, each once with all its pieces, at the line of the kernel.
  ASSERT_EQ(plan.diagnostics.size(), 2u);
  EXPECT_EQ(plan.diagnostics[0].id, DiagId::ScheduleMissingOp);
  EXPECT_EQ(plan.diagnostics[0].place, (Place{"gemm.cpp", 10, 5}));
  EXPECT_NE(plan.diagnostics[0].message.find("read_a/shared_store/0.0` (tag `read_a`) and 1 more"), std::string::npos);
  EXPECT_NE(plan.diagnostics[0].notes.at(0).place.file.find("WaveScheduleErrorsTest.cpp"), std::string::npos);

  LoopPlan twice = run([](ScheduleContext &s) {
    Parts parts(s);
    auto p = prefetch(s, parts);
    s.reorder_graph(p.KERNEL, {parts.reads, parts.loads, s.getitem(parts.loads, 0), parts.mma});
  });
  ASSERT_EQ(twice.diagnostics.size(), 3u);
  EXPECT_EQ(twice.diagnostics[0].id, DiagId::ScheduleUnknownOp);
  EXPECT_EQ(twice.diagnostics[1].id, DiagId::ScheduleMissingOp);
  EXPECT_WRONG(
      {
        Parts parts(s);
        auto p = s.pipeline(parts.loop);
        p.set_stage({{parts.loads}, {parts.writes, s.getitem(parts.loads, 0)}});
        p.set_stage({{parts.reads}, {parts.mma}});
      },
      DiagId::ScheduleUnknownOp, "`read_a/global_load/0.0` is mentioned twice");
}

TEST(WaveScheduleErrors, Phases) {
  EXPECT_WRONG(
      {
        Parts parts(s);
        auto p = s.pipeline(parts.loop, {.num_stages = 2, .initiation_interval = 2});
        p.set_stage(0, {parts.loads, parts.writes, parts.reads});
        p.set_stage(1, {parts.mma});
      },
      DiagId::SchedulePhases, "ops of 3 phases, the initiation interval has 2 cycles");
}

TEST(WaveScheduleErrors, Stages) {
  EXPECT_WRONG({ s.pipeline(s.get_node_by_tag("k_loop")); }, DiagId::ScheduleStage, "no stages");
  EXPECT_WRONG(
      {
        Parts parts(s);
        prefetch(s, parts);
        s.pipeline(parts.loop);
      },
      DiagId::ScheduleStage, "pipelined twice");
  EXPECT_WRONG(
      {
        Parts parts(s);
        s.reorder_graph(parts.loop, {parts.loads, parts.writes, parts.reads, parts.mma});
        s.pipeline(parts.loop);
      },
      DiagId::ScheduleStage, "pipelined after its order");
  EXPECT_WRONG(
      {
        Parts parts(s);
        auto p = s.pipeline(parts.loop, {.num_stages = 2, .initiation_interval = 2});
        p.set_stage(0, {parts.loads, parts.writes});
        p.set_stage(1, {parts.reads, parts.mma});
        p.set_stage(2, {});
      },
      DiagId::ScheduleStage, "stage 2 of a pipeline with 2 stages");
  EXPECT_WRONG(
      {
        Parts parts(s);
        auto p = prefetch(s, parts);
        p.set_stage(1, {parts.mma});
      },
      DiagId::ScheduleStage, "this stage has a number");
  EXPECT_WRONG(
      {
        Parts parts(s);
        auto p = s.pipeline(parts.loop, {.num_stages = 2, .initiation_interval = 2});
        p.set_stage(0, {parts.loads, parts.writes});
        p.set_stage(1, {parts.reads, parts.mma});
        p.set_stage({{parts.reads}, {parts.mma}});
      },
      DiagId::ScheduleStage, "this stage has lists of cycles");
}

TEST(WaveScheduleErrors, StagesThatDoNotFit) {
  EXPECT_WRONG(
      {
        Parts parts(s);
        auto p = s.pipeline(parts.loop);
        p.set_stage({{parts.loads}, {parts.writes}});
        p.set_stage({{parts.reads, parts.mma}});
      },
      DiagId::ScheduleStage, "stage 1 has 1 cycle, expected 2");
  EXPECT_WRONG({ prefetch(s, Parts(s), {.num_stages = 3}); }, DiagId::ScheduleStage, "has 3 stages, found 2");
  EXPECT_WRONG(
      {
        Parts parts(s);
        auto p = s.pipeline(parts.loop, {.num_stages = 2, .initiation_interval = 2});
        p.set_stage(0, {parts.loads, parts.writes});
        p.set_stage(1, {parts.reads, parts.mma});
        p.set_stage(1, {});
      },
      DiagId::ScheduleStage, "stage 1 is said twice");
  LoopPlan unnumbered = run([](ScheduleContext &s) {
    Parts parts(s);
    auto p = s.pipeline(parts.loop);
    p.set_stage(0, {parts.loads});
  });
  EXPECT_EQ(unnumbered.diagnostics.at(0).id, DiagId::ScheduleStage);
  EXPECT_NE(unnumbered.diagnostics[0].message.find("needs num_stages"), std::string::npos);
}

TEST(WaveScheduleErrors, Arguments) {
  EXPECT_WRONG({ s.pipeline(s.get_node_by_tag("mma")); }, DiagId::ScheduleArgument, "needs a loop, found a set of 8");
  EXPECT_WRONG(
      { s.partition_by_address_space(s.get_node_by_tag("mma"), Space::Global); }, DiagId::ScheduleArgument,
      "accesses no memory");
  EXPECT_WRONG({ s.getitem(s.get_node_by_tag("mma"), 8); }, DiagId::ScheduleArgument, "element 8 of 8 instructions");
  EXPECT_WRONG({ s.getitem(std::vector<Nodes>{}, 0); }, DiagId::ScheduleArgument, "element 0 of 0 sets");
  EXPECT_WRONG({ s.getitem(s.get_node_by_tag("k_loop"), 0); }, DiagId::ScheduleArgument, "found the loop itself");
  EXPECT_WRONG({ s.insert_before(Nodes(), WorkgroupBarrier()); }, DiagId::ScheduleArgument, "a set of no instructions");
  EXPECT_WRONG(
      { s.interleave_ops(s.get_node_by_tag("mma"), {s.get_node_by_tag("mma")}, {.intervals = {0}}); },
      DiagId::ScheduleArgument, "settings that do not fit its 1 groups");
  EXPECT_WRONG({ prefetch(s, Parts(s), {.unroll_factor = 0}); }, DiagId::ScheduleArgument, "out of range");
  EXPECT_WRONG(
      {
        Parts parts(s);
        s.reorder_graph(parts.loop, {parts.loads, parts.writes, parts.reads, parts.mma});
        s.reorder_graph(parts.loop, {parts.loads, parts.writes, parts.reads, parts.mma});
      },
      DiagId::ScheduleArgument, "said twice");
}

TEST(WaveScheduleErrors, WhatIsPutIn) {
  EXPECT_WRONG(
      { s.insert_at_start(s.get_node_by_tag("k_loop"), MemoryCounterWait({.cp_async = 1})); }, DiagId::ScheduleArgument,
      "no counter `cp_async`");
  EXPECT_WRONG(
      { s.insert_at_start(s.get_node_by_tag("k_loop"), MemoryCounterWait({.load = -1})); }, DiagId::ScheduleArgument,
      "a wait for -1");
  EXPECT_WRONG(
      { s.insert_at_start(s.get_node_by_tag("k_loop"), MemoryCounterWait({})); }, DiagId::ScheduleArgument,
      "names no counter");
  EXPECT_WRONG(
      { s.insert_at_start(s.get_node_by_tag("k_loop"), SetWavePrio(4)); }, DiagId::ScheduleArgument,
      "wave priority 4, expected 0 to 3");
  EXPECT_WRONG(
      { s.insert_before(s.get_node_by_tag("k_loop"), SetWavePrio(1)); }, DiagId::ScheduleArgument,
      "outside of the kernel");
  EXPECT_WRONG(
      { s.insert_at_end(s.get_node_by_tag("k_loop"), SchedulingGroupBarrier({{InstructionClass::MMA, 0}})); },
      DiagId::ScheduleArgument, "a scheduling group of 0");
  // A wait that the counter cannot hold is the verifier's to find.
  LoopPlan plan =
      run([](ScheduleContext &s) { s.insert_at_start(s.get_node_by_tag("k_loop"), MemoryCounterWait({.load = 64})); });
  EXPECT_NE(judge(plan).find("schedule-wait-value"), std::string::npos);
}

TEST(WaveScheduleErrors, Pieces) {
  EXPECT_WRONG(
      { s.partition_by_dim(s.get_node_by_tag("mma"), "K", 3); }, DiagId::SchedulePieces,
      "3 parts along K of instructions that have 2 pieces");
  EXPECT_WRONG({ s.partition_by_dim(s.get_node_by_tag("mma"), "Q", 2); }, DiagId::SchedulePieces, "1 piece there");
  EXPECT_WRONG({ s.partition_by_dim(s.get_node_by_tag("mma"), "K", 0); }, DiagId::SchedulePieces, "0 parts");
}

TEST(WaveScheduleErrors, Unrolling) {
  EXPECT_WRONG({ s.unroll(s.get_node_by_tag("k_loop"), 0); }, DiagId::ScheduleUnroll, "unrolled 0 times");
  EXPECT_WRONG(
      {
        Parts parts(s);
        prefetch(s, parts);
        s.unroll(parts.loop, 2);
      },
      DiagId::ScheduleUnroll, "unrolled after it was pipelined");
  EXPECT_WRONG({ s.unroll(prefetch(s, Parts(s)).KERNEL, 65); }, DiagId::ScheduleUnroll, "unrolled 65 times");
  EXPECT_WRONG({ s.unroll(prefetch(s, Parts(s)).EPILOGUE, 2); }, DiagId::ScheduleUnroll, "only the kernel");
}

TEST(WaveScheduleErrors, WaveGroups) {
  Diagnostic odd = wrong([](ScheduleContext &s) { s.stagger(s.get_node_by_tag("k_loop")); }, {}, 0);
  EXPECT_EQ(odd.id, DiagId::ScheduleStagger);
  EXPECT_WRONG(
      { s.insert_cond_barrier_before(s.get_hardware_constraint().wave_id >= 4, s.get_node_by_tag("mma")); },
      DiagId::ScheduleStagger, "holds for no wave of 4");
  EXPECT_WRONG(
      { s.insert_cond_barrier_before(WaveCondition{1, 3}, s.get_node_by_tag("mma")); }, DiagId::ScheduleStagger,
      "picks waves 1 to 2 of 4");
  EXPECT_WRONG(
      {
        s.stagger(s.get_node_by_tag("k_loop"));
        s.insert_cond_barrier_before(s.get_hardware_constraint().wave_id >= 3, s.get_node_by_tag("mma"));
      },
      DiagId::ScheduleStagger, "split at 3 and elsewhere too");
}

TEST(WaveScheduleErrors, NothingEscapes) {
  Diagnostic threw = wrong([](ScheduleContext &) { throw std::runtime_error("no luck"); });
  EXPECT_EQ(threw.id, DiagId::ScheduleThrew);
  EXPECT_NE(threw.message.find("no luck"), std::string::npos);
  EXPECT_EQ(wrong([](ScheduleContext &) { throw 7; }).id, DiagId::ScheduleThrew);
  EXPECT_EQ(wrong(nullptr).id, DiagId::ScheduleArgument);
  EXPECT_WRONG({ s.error("needs 8 waves", "give it 8"); }, DiagId::ScheduleUnsuitable, "needs 8 waves");
  Problem broken = taggedGemm({});
  broken.operations[1].key = broken.operations[0].key;
  LoopPlan plan = evaluate({"broken", [](ScheduleContext &) {}}, broken, gemmInput());
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.diagnostics[0].id, DiagId::ScheduleProblemInvalid);
}

TEST(WaveScheduleErrors, ProloguesThatAreSaidWhole) {
  EXPECT_WRONG(
      {
        Parts parts(s);
        s.reorder_graph(parts.loop, {parts.loads, parts.writes, parts.reads, parts.mma});
        s.say_around({}, {});
      },
      DiagId::ScheduleArgument, "a loop that is not pipelined has no prologue or epilogue");
  EXPECT_WRONG(
      {
        Parts parts(s);
        prefetch(s, parts);
        s.say_around({{parts.loads}}, {{parts.mma, -1}});
        s.say_around({}, {});
      },
      DiagId::ScheduleArgument, "prologue and epilogue are said twice");
  EXPECT_WRONG(
      {
        Parts parts(s);
        prefetch(s, parts);
        s.say_around({{SetWavePrio(1)}}, {});
      },
      DiagId::ScheduleArgument, "a hint stands outside of the kernel");
}

/// What is left out of it is found by the verifier, not put back.
TEST(WaveScheduleErrors, WhatAProgramThatIsSaidWholeLacks) {
  LoopPlan plan = run([](ScheduleContext &s) {
    Parts parts(s);
    prefetch(s, parts);
    s.say_around({{parts.loads}, {parts.writes}}, {{parts.reads, -1}});
  });
  ASSERT_TRUE(plan.ok()) << format(plan.diagnostics);
  EXPECT_NE(judge(plan).find("[schedule-missing-op]"), std::string::npos) << judge(plan);
}

} // namespace
