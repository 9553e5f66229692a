//===- WaveScheduleTest.cpp - The words of a written schedule --------------===//
#include "soliton/authoring/TestWaveSchedule.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Lifetimes.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {

std::vector<std::string> keysInOrder(const LoopPlan &plan) {
  std::vector<std::string> keys;
  for (int op : emissionOrder(plan.schedule))
    keys.push_back(plan.problem.operations[op].key);
  return keys;
}

size_t indexOf(const std::vector<std::string> &keys, std::string_view key) {
  return static_cast<size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
}

//===- Selections --------------------------------------------------------------------===//

TEST(WaveSchedule, SelectsByTagTypeSpaceAndPiece) {
  LoopPlan plan = run([](ScheduleContext &s) {
    EXPECT_TRUE(s.get_node_by_tag("k_loop").isLoop());
    EXPECT_FALSE(s.get_node_by_tag("k_loop").isOtherLoop());
    EXPECT_EQ(s.get_all_nodes().size(), 24u);          // 8 of each operand, 8 matrix instructions
    EXPECT_EQ(s.get_node_by_tag("read_a").size(), 8u); // 2 loads, 2 stores, 4 shared loads
    EXPECT_EQ(s.get_node_by_tag(std::vector<std::string>{"read_a"}).size(), 8u);
    EXPECT_EQ(s.get_node_by_tag(std::vector<std::string>{"read_a", "read_b"}).size(), 0u);
    EXPECT_EQ(s.get_node_by_tag("write_c").size(), 0u); // outside of the loop
    Nodes reads = s.get_node_by_tag_and_type("read_a", NodeType::Read);
    EXPECT_EQ(reads.size(), 6u);
    EXPECT_EQ(s.get_node_by_tag_and_type("read_a", NodeType::Write).size(), 2u);
    EXPECT_EQ(s.get_node_by_tag_and_type("read_a", NodeType::GatherToLDS).size(), 0u);
    EXPECT_EQ(s.get_node_by_tag_and_iteration("read_a", 0).size(), 8u);
    EXPECT_EQ(s.get_node_by_tag_and_iteration("read_a", 1).size(), 0u);
    auto [global, shared] = s.partition_by_address_space(reads, Space::Global);
    EXPECT_EQ(global.size(), 2u);
    EXPECT_EQ(shared.size(), 4u);
    auto [shared2, global2] = s.partition_by_address_space(reads, Space::Shared);
    EXPECT_EQ(shared2.ops(), shared.ops());
    EXPECT_EQ(global2.ops(), global.ops());
    EXPECT_EQ(s.getitem(reads, -1).ops().front(), reads.ops().back());
    Nodes stores =
        s.filter_nodes(s.get_node_by_tag("read_a"), [](const Operation &op) { return op.kind == OpKind::SharedStore; });
    EXPECT_EQ(stores.size(), 2u);
    EXPECT_TRUE(s.has_tag("mma"));
    EXPECT_FALSE(s.has_tag("mmb"));
  });
  EXPECT_EQ(judge(plan), "");
  EXPECT_FALSE(plan.scheduled);
  EXPECT_EQ(plan.schedule.algorithm, "none");
}

TEST(WaveSchedule, PartitionsByDimContiguouslyWithTheFirstLarger) {
  TaggedGemm shape{.mPieces = 2, .nPieces = 1, .kPieces = 5};
  run(
      [](ScheduleContext &s) {
        Nodes mma = s.get_node_by_tag("mma");
        EXPECT_EQ(s.pieces(mma, "K"), 5);
        auto parts = s.partition_by_dim(mma, "K", 3);
        ASSERT_EQ(parts.size(), 3u);
        EXPECT_EQ(parts[0].size(), 4u);
        EXPECT_EQ(parts[1].size(), 4u);
        EXPECT_EQ(s.getitem(parts, 2).size(), 2u);
        EXPECT_EQ(s.pieces(mma, "Q"), 1);
        auto [first, rest] = s.partition_by_use(s.get_node_by_tag_and_type("read_a", NodeType::Read), parts[2]);
        // The last step along K needs two fragments and all that fills the tile.
        EXPECT_EQ(first.size(), 4u);
        EXPECT_EQ(rest.size(), 8u);
      },
      shape);
}

TEST(WaveSchedule, CopiesOfAnUnrolledLoopAreToldApart) {
  LoopPlan plan = run([](ScheduleContext &s) {
    s.unroll(s.get_node_by_tag("k_loop"), 2);
    s.unroll(s.get_node_by_tag("k_loop"), 2);
    EXPECT_EQ(s.get_node_by_tag_and_iteration("mma", 3).size(), 8u);
    EXPECT_EQ(s.get_node_by_tag("mma").size(), 32u);
    prefetch(s, Parts(s));
  });
  EXPECT_EQ(judge(plan), "");
  EXPECT_EQ(plan.unrollFirst, 4);
}

TEST(WaveSchedule, FiltersByPartOfThePipeline) {
  LoopPlan plan = run([](ScheduleContext &s) {
    Parts parts(s);
    auto p = prefetch(s, parts);
    Nodes all = parts.loads + parts.mma;
    EXPECT_EQ(s.filter_nodes(all, p.KERNEL).size(), all.size());
    EXPECT_EQ(s.filter_nodes(all, p.PROLOGUE).ops(), parts.loads.ops());
    EXPECT_EQ(s.filter_nodes(all, p.EPILOGUE).ops(), parts.mma.ops());
    EXPECT_EQ(s.filter_nodes(all, p.KERNEL, NodeType::MMA).ops(), parts.mma.ops());
  });
  EXPECT_EQ(judge(plan), "");
}

TEST(WaveSchedule, KnowsTheHardware) {
  run([](ScheduleContext &s) {
    const HardwareFacts &hardware = s.get_hardware_constraint();
    EXPECT_EQ(hardware.num_waves(), 4);
    EXPECT_EQ(hardware.threads_per_wave, 64);
    EXPECT_EQ(hardware.mma_type, "F32_16x16x16_F16");
    EXPECT_EQ((hardware.wave_id > 1).begin, 2);
    EXPECT_EQ((hardware.wave_id <= 1).end, 2);
  });
}

//===- Pipelines ---------------------------------------------------------------------===//

TEST(WaveSchedule, BothSpellingsSayTheSame) {
  LoopPlan cycles = run([](ScheduleContext &s) { prefetch(s, Parts(s)); });
  LoopPlan phases = run([](ScheduleContext &s) {
    Parts parts(s);
    auto p = s.pipeline(parts.loop, {.num_stages = 2, .initiation_interval = 2});
    p.set_stage(1, {parts.mma, parts.reads});
    p.set_stage(0, {parts.writes, parts.loads});
  });
  EXPECT_EQ(judge(cycles), "");
  EXPECT_EQ(cycles.schedule, phases.schedule);
  EXPECT_EQ(cycles.schedule.interval, 2);
  EXPECT_EQ(cycles.schedule.stages(), 2);
}

TEST(WaveSchedule, OptionsOfThePipelineReachThePlan) {
  LoopPlan plan = run([](ScheduleContext &s) {
    prefetch(s, Parts(s), {.eliminate_epilogue = true, .multi_buffer_count = 2, .unroll_factor = 3});
  });
  EXPECT_EQ(judge(plan), "");
  EXPECT_TRUE(plan.eliminateEpilogue);
  EXPECT_EQ(plan.unrollKernel, 3);
  EXPECT_TRUE(sched::synchronize(plan).program.epilogue.empty());
  for (size_t i = 0; i < plan.problem.regions.size(); ++i)
    EXPECT_EQ(plan.schedule.buffers[i], plan.problem.regions[i].space == Space::Shared ? 2 : 0);
}

TEST(WaveSchedule, TooFewBuffersAreRefusedByTheVerifier) {
  TaggedGemm shape{.copies = Copies::Direct};
  LoopPlan plan = run(
      [](ScheduleContext &s) {
        Parts parts(s);
        auto p = s.pipeline(parts.loop, {.multi_buffer_count = 1});
        p.set_stage({{parts.loads}, {}});
        p.set_stage({{}, {parts.reads, parts.mma}});
        s.reorder_graph(p.KERNEL, {parts.loads, parts.reads, parts.mma});
      },
      shape);
  ASSERT_TRUE(plan.ok());
  EXPECT_NE(judge(plan).find("schedule-buffers"), std::string::npos);
}

TEST(WaveSchedule, WrongStagesAreRefusedByTheVerifier) {
  LoopPlan plan = run([](ScheduleContext &s) {
    Parts parts(s);
    auto p = s.pipeline(parts.loop);
    p.set_stage({{parts.reads}, {parts.mma}});
    p.set_stage({{parts.loads}, {parts.writes}});
  });
  ASSERT_TRUE(plan.ok());
  EXPECT_NE(judge(plan).find("schedule-dependence"), std::string::npos);
}

//===- Orders and insertions ---------------------------------------------------------===//

TEST(WaveSchedule, ClustersComeInTheOrderSaid) {
  TaggedGemm shape;
  shape.converts = true;
  LoopPlan plan = run(
      [](ScheduleContext &s) {
        Parts parts(s);
        auto p = prefetch(s, parts);
        auto halves = s.partition_by_dim(parts.mma, "K", 2);
        auto [first, second] = s.partition_by_use(parts.reads, halves[0]);
        s.reorder_graph(p.KERNEL, {s.cluster({first, parts.loads}), SchedulingBarrier({InstructionClass::VALU}),
                                   s.cluster({SetWavePrio(2), halves[0], SetWavePrio(0)}),
                                   s.cluster({second, halves[1], parts.writes})});
      },
      shape);
  EXPECT_EQ(judge(plan), "");
  EXPECT_EQ(plan.schedule.interval, 3);
  std::vector<std::string> keys = keysInOrder(plan);
  EXPECT_LT(indexOf(keys, "read_b/global_load/1.0"), indexOf(keys, "schedule/scheduling_barrier.0"));
  EXPECT_LT(indexOf(keys, "schedule/scheduling_barrier.0"), indexOf(keys, "schedule/set_wave_prio.1"));
  // What the compiler made stands in front of its first user, in that user's cluster.
  EXPECT_EQ(indexOf(keys, "read_a/convert/0.0") + 1, indexOf(keys, "mma/0.0.0"));
  int convert = plan.problem.find("read_a/convert/0.1");
  EXPECT_EQ(plan.schedule.slots[convert].cluster, 2);
  EXPECT_EQ(plan.schedule.slots[convert].stage, 1);
  const Operation &hint = plan.problem.operations[plan.problem.find("schedule/scheduling_barrier.0")];
  EXPECT_EQ(hint.hint, HintKind::SchedBarrier);
  EXPECT_EQ(hint.arguments, std::vector<int64_t>{2});
  EXPECT_FALSE(hint.pinned);
  EXPECT_EQ(plan.schedule.slots[plan.problem.find("schedule/scheduling_barrier.0")].cluster, 0);
}

TEST(WaveSchedule, ALoopThatIsNotPipelinedCanBeOrdered) {
  LoopPlan plan = run([](ScheduleContext &s) {
    Parts parts(s);
    s.reorder_graph(parts.loop, {parts.loads, parts.writes, SharedMemoryBarrier(), parts.reads, parts.mma});
  });
  EXPECT_EQ(judge(plan), "");
  EXPECT_TRUE(plan.scheduled);
  EXPECT_EQ(plan.schedule.stages(), 1);
  std::vector<std::string> keys = keysInOrder(plan);
  EXPECT_EQ(indexOf(keys, "schedule/wait.0"), 8u);
  EXPECT_EQ(indexOf(keys, "schedule/barrier.1"), 9u);
}

TEST(WaveSchedule, InsertsBesideOps) {
  LoopPlan plan = run([](ScheduleContext &s) {
    Parts parts(s);
    auto p = prefetch(s, parts);
    s.insert_before(parts.mma, SetWavePrio(1));
    s.insert_after(parts.mma, SetWavePrio(0));
    s.insert_at_start(p.KERNEL, SchedulingBarrier());
    s.insert_at_end(parts.loop,
                    SchedulingGroupBarrier({{InstructionClass::MMA, 4}, {InstructionClass::DS_READ, 2}}, 7));
  });
  EXPECT_EQ(judge(plan), "");
  std::vector<std::string> keys = keysInOrder(plan);
  EXPECT_EQ(keys.front(), "schedule/scheduling_barrier.2");
  EXPECT_EQ(indexOf(keys, "schedule/set_wave_prio.0") + 1, indexOf(keys, "mma/0.0.0"));
  EXPECT_EQ(indexOf(keys, "mma/1.1.1") + 1, indexOf(keys, "schedule/set_wave_prio.1"));
  EXPECT_EQ(keys[keys.size() - 2], "schedule/scheduling_group.3");
  EXPECT_EQ(plan.problem.operations.back().arguments, (std::vector<int64_t>{0x100, 2, 7}));
}

TEST(WaveSchedule, WaitsAndBarriersOfTheAuthorCount) {
  TaggedGemm shape{.copies = Copies::Direct};
  auto schedule = [](bool said) {
    return [said](ScheduleContext &s) {
      Parts parts(s);
      auto p = s.pipeline(parts.loop, {.multi_buffer_count = 2});
      p.set_stage({{parts.loads}, {}});
      p.set_stage({{parts.reads}, {parts.mma}});
      if (said)
        s.insert_at_start(p.KERNEL, MemoryCounterWaitBarrier({.load = 0}));
    };
  };
  LoopPlan derived = run(schedule(false), shape), said = run(schedule(true), shape);
  EXPECT_EQ(judge(derived), "");
  EXPECT_EQ(judge(said), "");
  auto additions = [](const LoopPlan &plan) {
    std::vector<Entry> kernel = sched::synchronize(plan).program.kernel;
    return std::count_if(kernel.begin(), kernel.end(), [](const Entry &e) { return e.op < 0; });
  };
  EXPECT_GE(additions(derived), 2);
  EXPECT_EQ(additions(said), 0);
}

TEST(WaveSchedule, StrictMakesAdditionsErrors) {
  WaveSchedule strict{"strict", [](ScheduleContext &s) { prefetch(s, Parts(s)); }, /*strict=*/true};
  LoopPlan plan = evaluateGemm(strict, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_NE(judge(plan).find("error: "), std::string::npos);
  EXPECT_NE(judge(plan).find("schedule-remark"), std::string::npos);
}

TEST(WaveSchedule, PrologueAndEpilogueTakeOrdersAndBarriers) {
  TaggedGemm shape{.copies = Copies::Direct};
  LoopPlan plan = run(
      [](ScheduleContext &s) {
        Parts parts(s);
        auto p = s.pipeline(parts.loop);
        p.set_stage({{parts.loads}, {}});
        p.set_stage({{parts.reads}, {parts.mma}});
        Nodes b = s.get_node_by_tag_and_type("read_b", NodeType::GatherToLDS);
        Nodes a = s.get_node_by_tag_and_type("read_a", NodeType::GatherToLDS);
        s.reorder_graph(p.PROLOGUE, {b, MemoryCounterWait({.load = 1}), a});
        s.insert_at_end(p.PROLOGUE, WorkgroupBarrier());
        s.insert_before(parts.loop, MemoryCounterWait({.load = 3}));
        s.insert_after(parts.loop, WorkgroupBarrier());
      },
      shape);
  EXPECT_EQ(judge(plan), "");
  Program program = sched::synchronize(plan).program;
  std::vector<std::string> lines;
  for (const Entry &entry : program.prologue)
    lines.push_back(toString(plan.problem, entry));
  ASSERT_GE(lines.size(), 7u);
  EXPECT_EQ(lines[0], "wait vm 3");
  EXPECT_NE(lines[1].find("read_b/copy/0.0"), std::string::npos);
  EXPECT_EQ(lines[3], "wait vm 1");
  EXPECT_NE(lines[4].find("read_a/copy/0.0"), std::string::npos);
  EXPECT_EQ(lines.back(), "barrier");
  EXPECT_EQ(program.epilogue.back().kind, EntryKind::Barrier);
}

TEST(WaveSchedule, AnOrderOfThePrologueThatBreaksADependenceIsRefused) {
  LoopPlan plan = run([](ScheduleContext &s) {
    Parts parts(s);
    auto p = prefetch(s, parts);
    s.reorder_graph(p.PROLOGUE, {parts.writes, parts.loads});
  });
  ASSERT_TRUE(plan.ok());
  EXPECT_NE(judge(plan).find("schedule-dependence"), std::string::npos);
}

TEST(WaveSchedule, InterleavesByIntervalOffsetAndGroup) {
  run([&](ScheduleContext &s) {
    Parts parts(s);
    auto cluster = s.interleave_ops(parts.mma, {parts.loads, parts.writes},
                                    {.intervals = {2, 1}, .start_offsets = {1, 0}, .start_after_groups = {{}, {0}}});
    std::string text;
    for (const ScheduleItem &item : cluster.items) {
      int op = std::get<Nodes>(item.value).ops().front();
      bool isMma = std::count(parts.mma.ops().begin(), parts.mma.ops().end(), op) > 0;
      bool isLoad = std::count(parts.loads.ops().begin(), parts.loads.ops().end(), op) > 0;
      text += isMma ? 'm' : isLoad ? 'l' : 'w';
    }
    // Loads behind the second, fourth, … multiplication; writes only once all loads are out; leftovers at the end.
    EXPECT_EQ(text, "mmlmmlmmlmmlwwww");
    auto p = prefetch(s, parts);
    s.reorder_graph(p.KERNEL, {parts.reads, cluster});
  });
}

//===- Wave groups -------------------------------------------------------------------===//

TEST(WaveSchedule, StaggerAndItsTwoConditionalBarriersAreTheSame) {
  auto schedule = [](bool byHand) {
    return [byHand](ScheduleContext &s) {
      Parts parts(s);
      auto p = prefetch(s, parts);
      s.reorder_graph(p.KERNEL,
                      {s.cluster({parts.reads, parts.loads, WorkgroupBarrier()}), WorkgroupBarrier(),
                       s.cluster({parts.writes, WorkgroupBarrier()}), s.cluster({parts.mma, WorkgroupBarrier()})});
      const HardwareFacts &hardware = s.get_hardware_constraint();
      if (!byHand)
        return s.stagger(parts.loop);
      s.insert_cond_barrier_before(hardware.wave_id >= hardware.num_waves() / 2, parts.loop);
      s.insert_cond_barrier_after(hardware.wave_id < hardware.num_waves() / 2, parts.loop);
    };
  };
  LoopPlan said = run(schedule(false), {}, 8), byHand = run(schedule(true), {}, 8);
  EXPECT_EQ(judge(said), "");
  EXPECT_EQ(judge(byHand), "");
  EXPECT_EQ(said.problem.groups, 2);
  EXPECT_EQ(said.problem.stagger, byHand.problem.stagger);
  EXPECT_EQ(said.groupStart, (std::vector{0, 4}));
  EXPECT_EQ(said.schedule, byHand.schedule);
}

TEST(WaveSchedule, AConditionalBarrierInsideTheLoopHangsAndIsRefused) {
  LoopPlan plan = run(
      [](ScheduleContext &s) {
        Parts parts(s);
        prefetch(s, parts);
        s.insert_cond_barrier_before(s.get_hardware_constraint().wave_id >= 4, parts.mma);
      },
      {}, 8);
  ASSERT_TRUE(plan.ok());
  EXPECT_NE(judge(plan).find("schedule-barriers"), std::string::npos);
}

TEST(WaveSchedule, AMissingStaggerBarrierIsRefused) {
  Diagnostic diag = wrong(
      [](ScheduleContext &s) {
        Parts parts(s);
        prefetch(s, parts);
        s.insert_cond_barrier_before(s.get_hardware_constraint().wave_id >= 4, parts.loop);
      },
      {}, 8);
  EXPECT_EQ(diag.id, DiagId::ScheduleStagger);
}

//===- Several loops -----------------------------------------------------------------===//

TEST(WaveSchedule, WhatIsSaidOfAnotherLoopIsForAnotherEvaluation) {
  ScheduleInput input = gemmInput();
  input.otherLoopTags = {"n_loop"};
  WaveSchedule schedule{"other", [](ScheduleContext &s) {
                          auto loop = s.get_node_by_tag("n_loop");
                          auto p = s.pipeline(loop, {.num_stages = 2, .initiation_interval = 1});
                          p.set_stage(0, {s.get_node_by_tag("write_c")});
                          s.reorder_graph(p.KERNEL, {s.get_node_by_tag("write_c")});
                          s.insert_before(loop, WorkgroupBarrier());
                          s.insert_at_start(p.KERNEL, WorkgroupBarrier());
                          s.stagger(loop);
                          s.unroll(loop, 2);
                          s.unroll(p.KERNEL, 2);
                        }};
  LoopPlan plan = evaluate(schedule, taggedGemm({}), input);
  EXPECT_EQ(judge(plan), "");
  EXPECT_FALSE(plan.scheduled);
  EXPECT_EQ(plan.unrollFirst, 1);
  EXPECT_TRUE(plan.insertions.empty());
}

} // namespace
