// Ping-pong in faithful mode: every list and table of the reference's section 5.1, and section 7's tests of it.
#include "TestPipelines.h"

#include "soliton/pipeline/Reorder.h"

#include <map>
#include <set>

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;

namespace {
const char *kBf16Kernel = "FB00 FA00 LA11@K_PREV LGKM8 BAR LGKM0 P1 M00 P0 BAR SB "
                          "FB01 LB00@K0 BAR LGKM0 P1 M01 P0 BAR "
                          "FA01 LA00@K0 BAR LGKM0 P1 M10 P0 BAR SB "
                          "LB01@K0 VM6 BAR P1 M11 P0 BAR "
                          "FB10 FA10 LA01@K0 LGKM8 BAR LGKM0 P1 M00 P0 BAR SB "
                          "FB11 LB10@K1 BAR LGKM0 P1 M01 P0 BAR "
                          "FA11 LA10@K1 BAR LGKM0 P1 M10 P0 BAR SB "
                          "LB11@K1 VM6 BAR P1 M11 P0 BAR";
const char *kFp8Kernel = "FB00 FA00 LA11@K_PREV LGKM8 BAR LGKM0 P1 M00 P0 BAR SB "
                         "FB01 BAR LGKM0 P1 M01 P0 BAR "
                         "FA01 LA00@K0 LB00@K0 BAR LGKM0 P1 M10 P0 BAR SB "
                         "LB01@K0 VM6 BAR P1 M11 P0 BAR "
                         "FB10 FA10 LA01@K0 LGKM8 BAR LGKM0 P1 M00 P0 BAR SB "
                         "FB11 BAR LGKM0 P1 M01 P0 BAR "
                         "FA11 LA10@K1 LB10@K1 BAR LGKM0 P1 M10 P0 BAR SB "
                         "LB11@K1 VM6 BAR P1 M11 P0 BAR";

PingPong withKnobs(const KernelGeometry &geometry, void (*change)(ScheduleConfig &)) {
  ScheduleConfig config = PingPong::defaultScheduleConfig(geometry);
  change(config);
  return PingPong(geometry, config, mi355xTarget(geometry.vmPerLoadA, geometry.vmPerLoadB, geometry.maxGlobals()));
}

std::set<int> drainingBlocks(const CompiledPipeline &made) {
  std::set<int> blocks;
  for (size_t b = 0; b < made.blocks.blocks.size(); ++b)
    if (made.blocks.blocks[b].drainLgkmBeforeLoads)
      blocks.insert(static_cast<int>(b));
  return blocks;
}
} // namespace

TEST(PingPongFaithful, HalvesAreDeclaredAsInTheReference) {
  EXPECT_EQ(tiles(PingPong(pingBf16()).declareOps()),
            "LA11@K_PREV LA00@K0 LB00@K0 LB01@K0 FA00 FA01 FB00 FB01 M00 M01 M10 M11 "
            "LA01@K0 LA10@K1 LB10@K1 LB11@K1 FA10 FA11 FB10 FB11 M00 M01 M10 M11");
}

TEST(PingPongFaithful, BodiesAfterTheReorder) {
  EXPECT_EQ(tiles(PingPong(pingBf16()).buildBody()),
            "FB00 FA00 LA11@K_PREV M00 FB01 LA00@K0 M01 FA01 LB00@K0 M10 LB01@K0 M11 "
            "FB10 FA10 LA01@K0 M00 FB11 LA10@K1 M01 FA11 LB10@K1 M10 LB11@K1 M11");
  EXPECT_EQ(tiles(PingPong(pingFp8()).buildBody()),
            "FB00 FA00 LA11@K_PREV M00 FB01 M01 FA01 LA00@K0 LB00@K0 M10 LB01@K0 M11 "
            "FB10 FA10 LA01@K0 M00 FB11 M01 FA11 LA10@K1 LB10@K1 M10 LB11@K1 M11");
}

TEST(PingPongFaithful, BodyHasEightOpsOfEachRole) {
  std::vector<OpDesc> body = PingPong(pingBf16()).buildBody();
  for (OpRole role : {OpRole::GlobalLoad, OpRole::FragmentLoad, OpRole::Compute})
    EXPECT_EQ(std::count_if(body.begin(), body.end(), [&](const OpDesc &op) { return op.role == role; }), 8);
}

TEST(PingPongFaithful, EdgesAreTheFiftyFourOfTheReference) {
  PingPong pipeline(pingBf16());
  std::vector<DepEdge> edges = pipeline.deriveEdges(pipeline.buildBody());
  ASSERT_EQ(edges.size(), 54u);
  EXPECT_EQ(countDoubleBufferEdges(pipeline.config()), 54);
  EXPECT_EQ(edgeText(edges, 0, 16),
            "0>3 0>9 1>3 1>6 4>6 4>11 7>9 7>11 12>15 12>21 13>15 13>18 16>18 16>23 19>21 19>23");
  EXPECT_EQ(edgeText(edges, 16, 20), "3>15 6>18 9>21 11>23");
  EXPECT_EQ(edgeText(edges, 20, 24), "15>3@1 18>6@1 21>9@1 23>11@1");
  EXPECT_EQ(edgeText(edges, 24, 40), "2>13 2>19 5>1@1 5>7@1 8>0@1 8>4@1 10>0@1 10>4@1 14>1@1 14>7@1 "
                                     "17>13@1 17>19@1 20>12@1 20>16@1 22>12@1 22>16@1");
  EXPECT_EQ(edgeText(edges, 40, 54), "0>8 0>10 1>5 1>14 4>8 4>10 7>5 7>14 12>20 12>22 13>17 16>20 16>22 19>17");
  EXPECT_EQ(countEdges(edges, DepKind::Flow, 0), 22);
  EXPECT_EQ(countEdges(edges, DepKind::Flow, 1), 18);
  EXPECT_EQ(countEdges(edges, DepKind::Anti, 0), 14);
}

TEST(PingPongFaithful, TheSameEdgesFromDeclarationAndFromBody) {
  // As sets of pairs of ops: the order of a half does not decide who depends on whom.
  PingPong pipeline(pingBf16());
  std::vector<OpDesc> declared = annotate(pipeline.declareOps(), mi355xTarget().costs), body = pipeline.buildBody();
  auto named = [&](const std::vector<OpDesc> &ops) {
    std::multiset<std::string> names;
    auto name = [&](int i) { return tileText(ops[i]) + (ops[i].tag == kMma ? "h" + std::to_string(i / 12) : ""); };
    for (const DepEdge &edge : deriveDefaultEdges(ops, pipeline.config()))
      names.insert(name(edge.producer) + ">" + name(edge.consumer) + "@" + std::to_string(edge.distance));
    return names;
  };
  EXPECT_EQ(named(declared), named(body));
}

TEST(PingPongFaithful, ConsumersOfATripComeBehindTheirProducers) {
  PingPong pipeline(pingBf16());
  int checked = 0;
  for (const DepEdge &edge : pipeline.deriveEdges(pipeline.buildBody()))
    if (edge.kind == DepKind::Flow && edge.distance == 0) {
      EXPECT_LT(edge.producer, edge.consumer);
      ++checked;
    }
  EXPECT_EQ(checked, 22);
}

TEST(PingPongFaithful, OrdersOfAHalfWithoutBounds) {
  // Leaves of the unpruned search in one half: 3,017,088 as the reference says, which ignores its own cap on loads;
  // 251,776 with it.
  PingPong pipeline(pingBf16());
  std::vector<OpDesc> body = pipeline.buildBody();
  std::vector<DepEdge> edges = pipeline.deriveEdges(body);
  auto count = [&](int cap) {
    // By set of placed ops and loads since the last compute op.
    std::map<std::pair<unsigned, int>, int64_t> ways = {{{0, 0}, 1}};
    for (int placed = 0; placed < 12; ++placed) {
      std::map<std::pair<unsigned, int>, int64_t> next;
      for (auto [state, number] : ways)
        for (int op = 0; op < 12; ++op) {
          bool ready = !(state.first >> op & 1);
          for (const DepEdge &edge : edges)
            ready &= edge.distance != 0 || edge.consumer != op || (state.first >> edge.producer & 1);
          bool load = body[op].role == OpRole::GlobalLoad, compute = body[op].role == OpRole::Compute;
          if (ready && !(load && cap > 0 && state.second >= cap))
            next[{state.first | 1u << op, compute || cap == 0 ? 0 : state.second + load}] += number;
        }
      ways = std::move(next);
    }
    int64_t all = 0;
    for (auto [state, number] : ways)
      all += number;
    return all;
  };
  EXPECT_EQ(count(0), 3017088);
  EXPECT_EQ(count(1), 251776);
}

TEST(PingPongFaithful, TimesAndBound) {
  PingPong pipeline(pingBf16());
  LoopBody body{pipeline.buildBody(), pipeline.deriveEdges(pipeline.buildBody())};
  EXPECT_EQ(body.asap(), (std::vector<int>{0, 0,   0,  20,  0, 20,  20,  0,   20, 20,  20, 20,
                                           0, 200, 20, 220, 0, 220, 220, 200, 20, 220, 20, 220}));
  EXPECT_EQ(lowerBound(body), 420);
  CompiledPipeline made = faithful(pipeline);
  EXPECT_EQ(made.order.metrics, (Metrics{420, 96}));
  EXPECT_TRUE(made.order.optimal);
  EXPECT_EQ(made.order.nodes, 0) << "the greedy order meets the bound, so nothing is searched";
}

TEST(PingPongFaithful, OrderDelaysTheLoadOfABehindItsLastRead) {
  std::vector<int> delayed = {0, 1, 2, 3, 4, 6, 7, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 17, 20, 21, 22, 23};
  EXPECT_EQ(faithful(PingPong(pingBf16())).order.order, delayed);
  PingPong greedy = withKnobs(pingBf16(), [](ScheduleConfig &config) { config.scheduling = Strategy::Greedy; });
  EXPECT_EQ(faithful(greedy).order.order, delayed);
  EXPECT_EQ(faithful(PingPong(pingFp8())).order.order, identityOrder(24));
}

TEST(PingPongFaithful, IdentityBreaksAnAntiEdge) {
  PingPong pipeline(pingBf16());
  std::vector<DepEdge> broken;
  for (const DepEdge &edge : pipeline.deriveEdges(pipeline.buildBody()))
    if (edge.distance == 0 && edge.producer > edge.consumer)
      broken.push_back(edge);
  EXPECT_EQ(edgeText(broken, 0, broken.size()), "7>5 19>17");
}

TEST(PingPongFaithful, KernelConstants) {
  struct Row {
    KernelGeometry geometry;
    int vmA, vmB, lgkmA, lgkmB, maxGlobals, lgkmFirst, vmLast, kib;
  };
  KernelGeometry large = pingPongGeometry({.bm = 256, .bn = 256, .bk = 128, .elemBytes = 1, .mma = 32}).geometry;
  for (const Row &row : {Row{pingBf16(), 2, 2, 8, 4, 1, 8, 6, 128}, Row{pingFp8(), 2, 2, 8, 4, 0, 8, 6, 128},
                         Row{pingSkinny(), 1, 2, 4, 4, 0, 4, 5, 96}, Row{large, 2, 2, 8, 4, 0, 8, 6, 128}}) {
    EXPECT_EQ(row.geometry.vmPerLoadA, row.vmA);
    EXPECT_EQ(row.geometry.vmPerLoadB, row.vmB);
    EXPECT_EQ(row.geometry.lgkmPerLoadA, row.lgkmA);
    EXPECT_EQ(row.geometry.lgkmPerLoadB, row.lgkmB);
    EXPECT_EQ(row.geometry.maxGlobals(), row.maxGlobals);
    EXPECT_EQ(row.geometry.sharedBytes, row.kib * 1024);
    CompiledPipeline made = faithful(PingPong(row.geometry));
    EXPECT_EQ(made.blocks.blocks[0].preSync, waitLgkm(row.lgkmFirst));
    EXPECT_EQ(made.blocks.blocks[4].preSync, waitLgkm(row.lgkmFirst));
    EXPECT_EQ(made.blocks.blocks[3].preSync, waitVm(row.vmLast));
    EXPECT_EQ(made.blocks.blocks[7].preSync, waitVm(row.vmLast));
  }
}

TEST(PingPongFaithful, Prologues) {
  CompiledPipeline bf16 = faithful(PingPong(pingBf16())), fp8 = faithful(PingPong(pingFp8()));
  EXPECT_EQ(tiles(bf16.prologue), "LB00@K0 LA00@K0 LB01@K0 LA01@K0 VM0 BAR LB10@K1 LA10@K1 LB11@K1 VM0");
  EXPECT_EQ(tiles(fp8.prologue), "LA00@K0 LB00@K0 LB01@K0 LA01@K0 VM0 BAR LA10@K1 LB10@K1 LB11@K1 VM0");
  EXPECT_EQ(bf16.staggerIndex, 4);
  EXPECT_EQ(fp8.staggerIndex, 4);
}

TEST(PingPongFaithful, Kernels) {
  CompiledPipeline bf16 = faithful(PingPong(pingBf16())), fp8 = faithful(PingPong(pingFp8()));
  EXPECT_EQ(bf16.kernel.size(), 70u);
  EXPECT_EQ(tiles(bf16.kernel), kBf16Kernel);
  EXPECT_EQ(bf16.blockStarts, (std::vector<int>{0, 11, 19, 28, 35, 46, 54, 63}));
  EXPECT_EQ(tiles(fp8.kernel), kFp8Kernel);
  EXPECT_EQ(fp8.kernel.size(), 70u);
  for (const CompiledPipeline *made : {&bf16, &fp8}) {
    EXPECT_EQ(countTag(made->kernel, kBarrier), 16);
    EXPECT_EQ(countTag(made->kernel, kSetPrio), 16);
    EXPECT_EQ(countTag(made->kernel, kWaitLgkm), 8);
    EXPECT_EQ(countTag(made->kernel, kWaitVm), 2);
    EXPECT_EQ(countTag(made->kernel, kScheduleBarrier), 4);
  }
  EXPECT_EQ(depText(bf16.kernelDeps), "3>7 3>7 7>16 16>24 38>42 38>42 42>51 51>59");
  EXPECT_EQ(depText(fp8.kernelDeps), "3>7 3>7 7>15 15>24 38>42 38>42 42>50 50>59");
}

TEST(PingPongFaithful, SevenLoadsPrefetchAndTheOtherIsOfThePreviousTile) {
  CompiledPipeline made = faithful(PingPong(pingBf16()));
  int prefetches = 0;
  for (const ScheduleEntry &entry : made.kernel) {
    prefetches += entry.isPrefetch;
    if (entry.op.role == OpRole::GlobalLoad && !entry.isPrefetch)
      EXPECT_EQ(entry.op.k, KOffset::KPrev);
  }
  EXPECT_EQ(prefetches, 7);
}

TEST(PingPongFaithful, Epilogues) {
  CompiledPipeline bf16 = faithful(PingPong(pingBf16())), fp8 = faithful(PingPong(pingFp8()));
  EXPECT_EQ(bf16.epilogue.size(), 58u);
  EXPECT_EQ(fp8.epilogue.size(), 57u);
  EXPECT_EQ(tiles(bf16.epilogue), "LGKM0 FB00 FA00 LA11@K_PREV BAR LGKM0 P1 M00 P0 BAR "
                                  "LGKM0 FB01 VM0 BAR LGKM0 P1 M01 P0 BAR "
                                  "LGKM0 FA01 VM0 BAR LGKM0 P1 M10 M11 P0 BAR "
                                  "LGKM0 FB10 FA10 VM0 BAR LGKM0 P1 M00 P0 BAR "
                                  "LGKM0 FB11 VM0 BAR LGKM0 P1 M01 P0 BAR "
                                  "LGKM0 FA11 BAR LGKM0 P1 M10 M11 P0 BAR BAR");
  EXPECT_EQ(tiles(fp8.epilogue), "LGKM0 FB00 FA00 LA11@K_PREV BAR LGKM0 P1 M00 P0 BAR "
                                 "LGKM0 FB01 BAR LGKM0 P1 M01 P0 BAR "
                                 "LGKM0 FA01 VM0 BAR LGKM0 P1 M10 M11 P0 BAR "
                                 "LGKM0 FB10 FA10 VM0 BAR LGKM0 P1 M00 P0 BAR "
                                 "LGKM0 FB11 VM0 BAR LGKM0 P1 M01 P0 BAR "
                                 "LGKM0 FA11 BAR LGKM0 P1 M10 M11 P0 BAR BAR");
}

TEST(PingPongFaithful, CountsWithoutAutomaticWaits) {
  CompiledPipeline made = faithful(withKnobs(pingBf16(), [](ScheduleConfig &config) { config.autoWaits = false; }));
  EXPECT_EQ(made.body.size(), 24u);
  EXPECT_EQ(made.edges.size(), 54u);
  EXPECT_EQ(made.kernel.size(), 70u);
  EXPECT_EQ(made.prologue.size(), 10u);
  EXPECT_EQ(made.kernelDeps.size(), 8u);
  // The knobs' own numbers stand.
  EXPECT_EQ(made.blocks.blocks[0].preSync, waitLgkm(8));
  EXPECT_EQ(made.blocks.blocks[3].preSync, waitVm(6));
}

TEST(PingPongFaithful, OneLoadABlockAfterRedistribution) {
  CompiledPipeline made = faithful(PingPong(pingBf16()));
  for (const MmaBlock &block : made.blocks.blocks)
    EXPECT_EQ(block.loads.size(), 1u);
  PingPong greedy = withKnobs(pingFp8(), [](ScheduleConfig &config) { config.scheduling = Strategy::Greedy; });
  CompiledPipeline uncapped = faithful(greedy);
  ASSERT_EQ(uncapped.blocks.blocks.size(), 8u);
  std::vector<size_t> loads;
  for (const MmaBlock &block : uncapped.blocks.blocks)
    loads.push_back(block.loads.size());
  EXPECT_EQ(loads, (std::vector<size_t>{1, 0, 2, 1, 1, 0, 2, 1}));
}

TEST(PingPongFaithful, DerivedWaitsFollowTheTicks) {
  // vm 4/4: L from the lgkm ticks of the first block's load, V from three loads that may stay in flight.
  for (auto [lgkm, maxGlobals] : {std::pair(8, 1), std::pair(4, 0)}) {
    ScheduleConfig config;
    config.scheduling = Strategy::Csp;
    config.lgkmPerLoadA = config.lgkmPerLoadB = lgkm;
    CompiledPipeline made = faithful(PingPong({}, config, mi355xTarget(4, 4, maxGlobals)));
    EXPECT_EQ(deriveBlockWaits(made.blocks, made.config, made.knobs), (BlockWaits{lgkm, 12}));
    // Both halves get the same; each has a load that completes the other stage.
    EXPECT_EQ(made.blocks.blocks[3].preSync, waitVm(12));
    EXPECT_EQ(made.blocks.blocks[7].preSync, waitVm(12));
    for (int half : {0, 1})
      EXPECT_NE(made.blocks.blocks[half * 4].loads[0].stage, half);
    EXPECT_EQ(made.prologue.size(), 10u);
    EXPECT_EQ(countTag(made.prologue, kWaitVm), 2);
    EXPECT_EQ(countTag(made.prologue, kBarrier), 1);
  }
}

TEST(PingPongFaithful, DrainMasks) {
  PingPong some = withKnobs(pingBf16(), [](ScheduleConfig &config) { config.drainLgkmMask = 0b11011101; });
  EXPECT_EQ(drainingBlocks(faithful(some)), (std::set<int>{0, 2, 4, 6}));
  PingPong all = withKnobs(pingBf16(), [](ScheduleConfig &config) { config.drainLgkmMask = 0xFF; });
  EXPECT_EQ(drainingBlocks(faithful(all)), (std::set<int>{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(deriveDrainMask(faithful(PingPong(pingBf16())).blocks), 0b00010001u);
  PingPong derived = withKnobs(pingBf16(), [](ScheduleConfig &config) { config.autoDrain = true; });
  EXPECT_EQ(drainingBlocks(faithful(derived)), (std::set<int>{0, 4}));
  EXPECT_EQ(tiles(faithful(derived).kernel).substr(0, 31), "FB00 FA00 LGKM0 LA11@K_PREV LGK");
}

TEST(PingPongFaithful, GlobalsMayStandBeforeFragmentsAndBarriersBeforeBoth) {
  PingPong pipeline = withKnobs(pingFp8(), [](ScheduleConfig &config) {
    config.globalBeforeFrag = config.barrierBeforePreOps = config.wrapWaitsWithSchedBarrier = true;
  });
  CompiledPipeline made = faithful(pipeline);
  EXPECT_EQ(tiles(made.blocks.expand(Phase::Kernel)).substr(0, 71),
            "SB LGKM0 BAR LGKM0 SB LA11@K_PREV FB00 FA00 P1 M00 P0 BAR SB SB BAR LGK");
}
