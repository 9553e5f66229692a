// Parts of the framework for themselves: ops, costs, graphs, orders, builder (sections 1, 3, 6 and 7 of the reference).
#include "TestPipelines.h"

#include "soliton/pipeline/Catalog.h"
#include "soliton/pipeline/Reorder.h"
#include "soliton/pipeline/Report.h"

#include <random>
#include <set>

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;

namespace {
OpDesc made(ResourceKind resource, int latency, OpRole role = OpRole::None) {
  OpDesc op;
  op.tag = 0;
  op.resource = resource;
  op.latency = latency;
  op.role = role;
  return op;
}
OpDesc load(int latency = 200) {
  return made(ResourceKind::GlobalMem, latency, OpRole::GlobalLoad);
}
OpDesc frag(int latency = 20) {
  return made(ResourceKind::Shared, latency, OpRole::FragmentLoad);
}
OpDesc mma(int latency = 16) {
  return made(ResourceKind::MmaUnit, latency, OpRole::Compute);
}
} // namespace

// ---- Ops ----------------------------------------------------------------------------------------------------------

TEST(PipelineOps, WhatTheFrameworkPutsInTakesNoTime) {
  for (const OpDesc &op : {barrier(), waitVm(3), waitLgkm(2)}) {
    EXPECT_EQ(op.resource, ResourceKind::Scalar);
    EXPECT_EQ(op.role, OpRole::Sync);
    EXPECT_EQ(op.latency, 0);
  }
  for (const OpDesc &op : {setPrio(1), scheduleBarrier(), schedGroupBarrier(GroupClass::Mma, 4)}) {
    EXPECT_EQ(op.resource, ResourceKind::Scalar);
    EXPECT_EQ(op.role, OpRole::Fence);
    EXPECT_EQ(op.latency, 0);
  }
  EXPECT_EQ(noOp().resource, ResourceKind::None);
  EXPECT_EQ(noOp().role, OpRole::None);
  EXPECT_FALSE(noOp().isPresent());
  EXPECT_EQ(waitVm(3).waitValue, 3);
  EXPECT_EQ(schedGroupBarrier(GroupClass::Mma, 4).subtile, 3);
}

TEST(PipelineOps, NumbersAreThoseOfTheReference) {
  EXPECT_EQ(barrier().tag, 128);
  EXPECT_EQ(waitVm(0).tag, 129);
  EXPECT_EQ(waitLgkm(0).tag, 130);
  EXPECT_EQ(setPrio(0).tag, 131);
  EXPECT_EQ(scheduleBarrier().tag, 132);
  EXPECT_EQ(schedGroupBarrier(GroupClass::SharedRead, 1).tag, 133);
  EXPECT_EQ(static_cast<int>(OpRole::ValuCompute), 6);
  EXPECT_EQ(tilesFromLoop(KOffset::KPrev), -1);
  EXPECT_EQ(tilesFromLoop(KOffset::KNext), 2);
  EXPECT_EQ(llvmMask(GroupClass::SharedRead), 0x100);
  EXPECT_EQ(llvmMask(GroupClass::SharedWrite), 0x200);
  EXPECT_EQ(llvmMask(GroupClass::GlobalRead), 0x20);
  EXPECT_EQ(llvmMask(GroupClass::Mma), 0x8);
}

TEST(PipelineOps, WhereAnOpWasWrittenDoesNotMakeItAnother) {
  OpDesc one = logical({.tag = kLoadA}, std::source_location::current());
  OpDesc two = logical({.tag = kLoadA}, std::source_location::current());
  EXPECT_NE(one.where.place().line, two.where.place().line);
  EXPECT_EQ(one, two);
}

TEST(PipelineOps, CostsAreThoseOfTheTag) {
  std::vector<OpDesc> ops = annotate(
      {logical({.tag = kLoadA}), logical({.tag = kMmaLoadB}), logical({.tag = kMma}), waitVm(4)}, mi355xTarget().costs);
  EXPECT_EQ(ops[0].latency, 200);
  EXPECT_EQ(ops[0].resource, ResourceKind::GlobalMem);
  EXPECT_EQ(ops[1].latency, 20);
  EXPECT_EQ(ops[1].vgprDef, 8);
  EXPECT_EQ(ops[2].role, OpRole::Compute);
  EXPECT_EQ(ops[2].vgprDef, 4);
  EXPECT_EQ(ops[3], waitVm(4));
}

// ---- Target (section 6) -------------------------------------------------------------------------------------------

TEST(TargetModel, CostTable) {
  const CostModel twice = mi355xTarget().costs, once = mi355xSingleBufferTarget().costs;
  const OpCost toShared{ResourceKind::GlobalMem, 200, OpRole::GlobalLoad};
  EXPECT_EQ(twice.get(0), toShared);
  EXPECT_EQ(twice.get(1), toShared);
  EXPECT_EQ(twice.get(2), (OpCost{ResourceKind::MmaUnit, 16, OpRole::Compute, 4}));
  EXPECT_EQ(twice.get(3), (OpCost{ResourceKind::Shared, 20, OpRole::FragmentLoad, 8}));
  EXPECT_EQ(twice.get(4), twice.get(3));
  EXPECT_EQ(twice.get(5), twice.get(2));
  EXPECT_EQ(once.get(0), toShared);
  EXPECT_EQ(once.get(1), (OpCost{ResourceKind::Shared, 20, OpRole::SharedStore}));
  EXPECT_EQ(once.get(2), (OpCost{ResourceKind::Shared, 20, OpRole::FragmentLoad, 4}));
  EXPECT_EQ(once.get(3), (OpCost{ResourceKind::MmaUnit, 64, OpRole::Compute, 16}));
}

TEST(TargetModel, ProfileDefaults) {
  PipelineConfig config = mi355xTarget().pipeline;
  EXPECT_EQ(config.depth, 2);
  EXPECT_EQ(config.numPartitions, 2);
  EXPECT_EQ(config.mMmas, 2);
  EXPECT_EQ(config.nMmas, 2);
  EXPECT_EQ(config.vmPerLoadA, 4);
  EXPECT_EQ(config.vmPerLoadB, 4);
  EXPECT_EQ(config.blockSizing, (BlockSizing{4, 2, 1}));
  EXPECT_EQ(config.opsPerPartition(), 12);
  EXPECT_EQ(config.totalOps(), 24);
  EXPECT_EQ(config.blocks(), 8);
  EXPECT_EQ(config.limits, (CounterLimits{63, 15}));
  EXPECT_EQ(mi355xTarget(8, 2).pipeline.vmPerLoadA, 8);
  EXPECT_EQ(mi355xTarget(8, 2).pipeline.vmPerLoadB, 2);
  EXPECT_EQ(mi355xSharedBytes(), 160 * 1024);
  PipelineConfig single = mi355xSingleBufferTarget().pipeline;
  EXPECT_EQ(single.depth, 1);
  EXPECT_EQ(single.loopCarried, LoopCarried::fragmentZero());
  EXPECT_EQ(single.blockSizing, (BlockSizing{4, 2, 0}));
}

TEST(TargetModel, WaitImmediates) {
  EXPECT_EQ(waitImmediate({.vm = 4}), 3956);
  EXPECT_EQ(waitImmediate({.lgkm = 2}), 49791);
}

TEST(TargetModel, SafeLoadsPerBlock) {
  EXPECT_EQ(safeMaxGlobals(2), 1);
  EXPECT_EQ(safeMaxGlobals(1), 0);
  EXPECT_EQ(safeMaxGlobals(4), 1);
}

// ---- Graph --------------------------------------------------------------------------------------------------------

TEST(LoopBodyTimes, AnOpTakesWhatItSays) {
  OpDesc plain = load(123), changed = plain;
  changed.latency = 99;
  EXPECT_EQ(evaluate({{plain}, {}}, identityOrder(1)).makespan, 123);
  EXPECT_EQ(evaluate({{changed}, {}}, identityOrder(1)).makespan, 99);
}

TEST(LoopBodyTimes, ChainDiamondAndNextTrip) {
  LoopBody chain{{load(), frag(), mma()}, {{0, 1}, {1, 2}}};
  EXPECT_EQ(chain.asap(), (std::vector<int>{0, 200, 220}));
  EXPECT_EQ(chain.alap(236), chain.asap());
  EXPECT_EQ(evaluate(chain, identityOrder(3)).makespan, 236);
  LoopBody diamond{{load(200), load(100), mma()}, {{0, 2}, {1, 2}}};
  EXPECT_EQ(diamond.asap()[2], 200);
  LoopBody next{{load(), frag()}, {{0, 1, DepKind::Flow, 1}}};
  EXPECT_EQ(next.asap(), (std::vector<int>{0, 0}));
}

TEST(LoopBodyTimes, WaitsAndBarriersAddNothing) {
  LoopBody waits{{load(), waitVm(0), frag(), mma()}, {{0, 1}, {1, 2}, {2, 3}}};
  EXPECT_EQ(waits.asap(), (std::vector<int>{0, 200, 200, 220}));
  LoopBody meets{{load(200), load(100), barrier(), frag(), frag()}, {{0, 2}, {1, 2}, {2, 3}, {2, 4}}};
  EXPECT_EQ(meets.asap()[3], 200);
  EXPECT_EQ(meets.asap()[4], 200);
}

TEST(LoopBodyTimes, AnIndependentOpHasSlack) {
  LoopBody body{{load(200), mma(16), load(50)}, {{0, 1}}};
  EXPECT_EQ(body.alap(216)[2], 166);
  CostReport report = costReport(body, identityOrder(3));
  EXPECT_EQ(report.rows[2].slack(), 166);
  EXPECT_EQ(report.rows[0].slack(), 0);
  EXPECT_EQ(report.criticalPath, (std::vector<int>{0, 1}));
}

TEST(LoopBodyTimes, SerialUnitsAndContention) {
  LoopBody mmas{{mma(), mma()}, {}};
  EXPECT_EQ(evaluate(mmas, identityOrder(2)).makespan, 32);
  LoopBody reads{{frag(10), frag(10), frag(20)}, {}};
  EXPECT_EQ(evaluate(reads, identityOrder(3)).makespan, 20);
  EXPECT_EQ(evaluate(reads, identityOrder(3), 15).makespan, 50);
  LoopBody four{{frag(16), frag(16), frag(16), frag(16)}, {}};
  EXPECT_EQ(lowerBound(four), 16);
  EXPECT_EQ(lowerBound(four, 20), 80);
}

TEST(LoopBodyTimes, SelfLoopsAndCirclesAreNamed) {
  LoopBody self{{mma()}, {{0, 0}}};
  ASSERT_EQ(self.validate().size(), 1u);
  EXPECT_EQ(self.validate()[0].id, DiagId::PipelineCycle);
  LoopBody accumulator{{mma()}, {{0, 0, DepKind::Flow, 1}}};
  EXPECT_TRUE(accumulator.validate().empty());
  LoopBody circle{{load(), frag(), mma(), mma()}, {{0, 1}, {1, 2}, {2, 1}, {2, 3}}};
  ASSERT_EQ(circle.validate().size(), 1u);
  EXPECT_EQ(circle.validate()[0].message, "ops wait for each other inside one trip: 1 > 2 > 1");
  LoopBody outside{{mma()}, {{0, 3}}};
  ASSERT_EQ(outside.validate().size(), 1u);
}

// ---- Orders -------------------------------------------------------------------------------------------------------

TEST(Orders, SearchKeepsHalvesApartAndIsNoWorseThanGreedy) {
  PingPong pipeline(pingBf16());
  LoopBody body{pipeline.buildBody(), pipeline.deriveEdges(pipeline.buildBody())};
  OrderResult found = searchOrder(body, {.maxGlobals = 1, .penalty = 0});
  std::set<int> ops(found.order.begin(), found.order.end());
  EXPECT_EQ(ops.size(), 24u);
  for (size_t i = 0; i < found.order.size(); ++i)
    EXPECT_EQ(found.order[i] < 12, i < 12);
  EXPECT_LE(found.metrics.makespan, evaluate(body, greedyOrder(body)).makespan);
  for (const DepEdge &edge : body.edges) {
    auto at = [&](int op) { return std::find(found.order.begin(), found.order.end(), op); };
    if (edge.distance == 0)
      EXPECT_LT(at(edge.producer), at(edge.consumer));
  }
}

TEST(Orders, SearchBeatsGreedyWhereTheBoundIsNotMet) {
  // Greedy takes the short load first and the matrix unit waits; the long chain must start first.
  std::vector<OpDesc> ops = {load(10), frag(20), mma(), load(100), frag(20), mma(),
                             load(10), frag(20), mma(), load(100), frag(20), mma()};
  LoopBody body{ops, {{0, 1}, {1, 2}, {3, 4}, {4, 5}, {6, 7}, {7, 8}, {9, 10}, {10, 11}}};
  OrderResult found = searchOrder(body, {.penalty = 30});
  EXPECT_LT(found.metrics.makespan, evaluate(body, simpleGreedyOrder(body), 30).makespan);
  EXPECT_TRUE(found.optimal);
  // Against all orders of both halves, by brute force.
  int best = found.metrics.makespan;
  std::vector<int> first = {0, 1, 2, 3, 4, 5};
  auto legal = [&](const std::vector<int> &order) {
    auto at = [&](int op) { return std::find(order.begin(), order.end(), op); };
    return at(0) < at(1) && at(1) < at(2) && at(3) < at(4) && at(4) < at(5);
  };
  do {
    std::vector<int> second = {0, 1, 2, 3, 4, 5};
    if (!legal(first))
      continue;
    do {
      if (!legal(second))
        continue;
      std::vector<int> order = first;
      for (int op : second)
        order.push_back(op + 6);
      best = std::min(best, evaluate(body, order, 30).makespan);
    } while (std::next_permutation(second.begin(), second.end()));
  } while (std::next_permutation(first.begin(), first.end()));
  EXPECT_EQ(found.metrics.makespan, best);
}

TEST(Orders, SearchIsExactOnRandomBodies) {
  std::mt19937 random(7);
  auto pick = [&](int below) { return static_cast<int>(random() % below); };
  for (int round = 0; round < 150; ++round) {
    int size = 4 + pick(4), penalty = pick(3) * 7;
    LoopBody body;
    for (int i = 0; i < size; ++i) {
      body.ops.push_back(std::vector{load(30 + pick(60)), frag(10 + pick(20)), mma(8 + pick(20))}[pick(3)]);
      body.ops.back().vgprDef = pick(4);
      body.ops.back().vgprKill = pick(3);
      for (int j = 0; j < i; ++j)
        if (pick(4) == 0)
          body.edges.push_back({j, i});
    }
    OrderResult found = searchOrder(body, {.penalty = penalty, .partitions = 1});
    ASSERT_TRUE(found.optimal);
    Metrics best{kUnlimited, 0};
    std::vector<int> order = identityOrder(size);
    do {
      bool legal = std::all_of(body.edges.begin(), body.edges.end(), [&](const DepEdge &edge) {
        return std::find(order.begin(), order.end(), edge.producer) <
               std::find(order.begin(), order.end(), edge.consumer);
      });
      if (legal)
        best.makespan = std::min(best.makespan, evaluate(body, order, penalty).makespan);
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(found.metrics.makespan, best.makespan);
    EXPECT_LE(found.bound, best.makespan);
    EXPECT_EQ(evaluate(body, found.order, penalty), found.metrics);
  }
}

TEST(Orders, PingPongUnderContentionIsProven) {
  // The tree of all orders has 9e12 leaves; the bounds leave a few thousand nodes.
  PingPong pipeline(pingBf16());
  LoopBody body{pipeline.buildBody(), pipeline.deriveEdges(pipeline.buildBody())};
  OrderResult found = searchOrder(body, {.penalty = 5});
  EXPECT_EQ(found.metrics.makespan, 425);
  EXPECT_EQ(found.bound, 425);
  EXPECT_TRUE(found.optimal);
  EXPECT_LT(found.nodes, 10000);
}

TEST(Orders, ASearchThatEndsEarlySaysSo) {
  PingPong pipeline(pingBf16());
  LoopBody body{pipeline.buildBody(), pipeline.deriveEdges(pipeline.buildBody())};
  EXPECT_EQ(evaluate(body, greedyOrder(body), 5).makespan, 455);
  OrderOptions options;
  options.penalty = 5;
  options.nodeBudget = 100;
  OrderResult found = searchOrder(body, options);
  EXPECT_FALSE(found.optimal);
  ASSERT_EQ(found.diagnostics.size(), 1u);
  EXPECT_EQ(found.diagnostics[0].id, DiagId::PipelineBudget);
  EXPECT_EQ(found.diagnostics[0].severity, Severity::remark);
}

TEST(Orders, TooFewRegistersAreAnError) {
  PingPong pipeline(pingBf16());
  LoopBody body{pipeline.buildBody(), pipeline.deriveEdges(pipeline.buildBody())};
  OrderOptions options;
  options.maxVgpr = 95;
  OrderResult found = searchOrder(body, options);
  ASSERT_EQ(found.diagnostics.size(), 1u);
  EXPECT_EQ(found.diagnostics[0].id, DiagId::PipelineInfeasible);
  options.maxVgpr = 96;
  EXPECT_TRUE(searchOrder(body, options).diagnostics.empty());
}

// ---- Rules, builder, blocks ---------------------------------------------------------------------------------------

TEST(EdgeRules, TablesHaveFiveAndEightRules) {
  EXPECT_EQ(doubleBufferRules().size(), 5u);
  EXPECT_EQ(singleBufferRules().size(), 8u);
  PingPong ping(pingBf16());
  SingleBuffer single(2);
  EXPECT_EQ(applyEdgeRules(ping.buildBody(), ping.config(), doubleBufferRules()), ping.deriveEdges(ping.buildBody()));
  EXPECT_EQ(applyEdgeRules(single.buildBody(), single.config(), singleBufferRules()),
            single.deriveEdges(single.buildBody()));
}

TEST(PipelineBodyBuilder, FanGridExtend) {
  EXPECT_EQ(tiles(PipelineBody().fan<3>(kMmaLoadA).done()), "FA00 FA01 FA02");
  EXPECT_EQ(tiles(PipelineBody().grid<2, 3>(kMma).done()), "M00 M01 M02 M10 M11 M12");
  std::vector<OpDesc> more = PipelineBody().load({.tag = kLoadA}).barrier().done();
  EXPECT_EQ(tiles(PipelineBody().compute({.tag = kMma}).extend(more).done()), "M00 LA00 BAR");
  EXPECT_EQ(more[0].where.place().line, __LINE__ - 2);
}

TEST(PipelineBodyBuilder, HalvesDifferInStageAndTile) {
  std::vector<OpDesc> ops = PipelineBody()
                                .halves([](PipelineBody &b, const Half &h) {
                                  b.load({.tag = kLoadA, .channel = 0, .stage = h.other, .k = h.previous});
                                  b.load({.tag = kLoadA, .channel = 0, .stage = h.stage, .k = h.k});
                                })
                                .done();
  EXPECT_EQ(tiles(ops), "LA10@K_PREV LA00@K0 LA00@K0 LA10@K1");
}

TEST(BlockSizingRule, UniformBlocksLeaveNoRoomInTheFirst) {
  PipelineConfig config = mi355xTarget().pipeline;
  config.blockSizing = BlockSizing::uniform(3);
  std::vector<OpDesc> half = annotate(PingPong(pingBf16()).declareOps(), mi355xTarget().costs);
  half.resize(12);
  EXPECT_EQ(tiles(interleaveBlocks(half, config)).substr(0, 13), "FB00 FA00 M00");
  config.blockSizing = {4, 2, 0};
  EXPECT_EQ(tiles(interleaveBlocks(half, config)),
            "FB00 FA00 LA11@K_PREV M00 FB01 M01 FA01 LA00@K0 LB00@K0 M10 LB01@K0 M11");
}

TEST(Reports, WaitsAreCountedAndPairsAreSeen) {
  CompiledPipeline made = faithful(Pipeline4Wave(four(2, 64, 64, 64)));
  EXPECT_EQ(countWaits(made.kernel), (WaitCounts{6, 6, 4, 4, 8}));
  EXPECT_EQ(entryText(made, made.prologue[8]), "prologue [8] VM s=0 sub=0 k=- wait=7 pf=0");
  EXPECT_EQ(entryText(made, made.kernel[5]), "kernel [5] LOAD_A s=0 sub=0 k=K0 wait=0 pf=0");
}

TEST(Reports, BlocksSayWhatALoadIsFor) {
  std::string text = blocksText(faithful(PingPong(pingFp8())));
  EXPECT_TRUE(text.starts_with("b0: MMA_LOAD_B[s0,0] MMA_LOAD_A[s0,0] LOAD_A[s1,1]@K_PREV [completion] MMA[0,0]\n"
                               "b1: MMA_LOAD_B[s0,1] MMA[0,1]\n"
                               "b2: MMA_LOAD_A[s0,1] LOAD_A[s0,0]@K0 [prefetch] LOAD_B[s0,0]@K0 [prefetch] MMA[1,0]\n"))
      << text;
}

TEST(PipelineCatalog, MakesWhatShips) {
  for (const std::string &name : pipelineNames()) {
    MadePipeline made = makePipeline({.name = name, .shape = {}, .steps = 2});
    ASSERT_TRUE(made.pipeline) << format(made.errors);
    EXPECT_EQ(made.pipeline->name(), name);
    EXPECT_TRUE(compilePipeline(*made.pipeline).ok());
  }
  MadePipeline skinny = makePipeline({"ping_pong", {.bm = 128, .bn = 256, .bk = 128, .elemBytes = 1}, 2});
  EXPECT_EQ(skinny.geometry, pingSkinny());
}

TEST(PipelineCatalog, SaysWhatItCannotMake) {
  MadePipeline unknown = makePipeline({"ping-pong", {}, 2});
  EXPECT_FALSE(unknown.pipeline);
  ASSERT_EQ(unknown.errors.size(), 1u);
  EXPECT_EQ(unknown.errors[0].id, DiagId::ScheduleUnknown);
  EXPECT_TRUE(unknown.errors[0].hint.starts_with("did you mean `ping_pong`?")) << unknown.errors[0].hint;
  EXPECT_EQ(makePipeline({"pipeline4wave", {.bm = 100, .bn = 100, .bk = 100}, 2}).errors.size(), 3u);
  EXPECT_EQ(makePipeline({"single_buffer", {}, 0}).errors.size(), 1u);
}
