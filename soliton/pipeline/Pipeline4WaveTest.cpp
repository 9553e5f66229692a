// Pipeline4Wave in faithful mode: the seed's own text, then every list and table of the reference's section 4.
#include "TestPipelines.h"

#include "soliton/pipeline/Report.h"

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;

namespace {
/// One load is one tick: the numbers of the reference in units of loads.
KernelGeometry small() {
  return four(2, 64, 64, 64);
}
KernelGeometry large() {
  return four(2, 128, 128, 64);
}

/// A list of the reference with V and G for the waits, and ⟨SB⟩ where fences are on.
std::string filled(std::string text, int v, int g, bool fences) {
  auto replaceAll = [&](const std::string &from, const std::string &to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from))
      text.replace(at, from.size(), to);
  };
  replaceAll("<SB> ", fences ? "SB " : "");
  replaceAll("VM(V)", "VM" + std::to_string(v));
  replaceAll("LGKM(G)", "LGKM" + std::to_string(g));
  return text;
}

const char *kKernel = "<SB> VM(V) LGKM(G) BAR <SB> FB01 SB LA00@K0 M00 "
                      "<SB> LGKM0 <SB> FA01 SB LB00@K0 M01 "
                      "<SB> VM(V) LGKM0 BAR <SB> FA10 SB LB01@K0 M10 "
                      "FB10 SB LA01@K0 <SB> VM(V) <SB> M11 "
                      "<SB> VM(V) LGKM(G) BAR <SB> FB11 SB LA10@K1 M00 "
                      "<SB> LGKM0 <SB> FA11 SB LB10@K1 M01 "
                      "<SB> VM(V) LGKM0 BAR <SB> FA00 SB LB11@K1 M10 "
                      "FB00 SB LA11@K1 <SB> VM(V) <SB> M11";
} // namespace

// ---- The seed -----------------------------------------------------------------------------------------------------

TEST(Seed002, DeclaresTwentyFourOpsInMiniIterationOrder) {
  std::vector<OpDesc> ops = Pipeline4Wave(small()).declareOps();
  ASSERT_EQ(ops.size(), 24u);
  EXPECT_EQ(tiles(ops), "LA00@K0 FB01 M00 LB00@K0 FA01 M01 LB01@K0 FA10 M10 LA01@K0 FB10 M11 "
                        "LA10@K1 FB11 M00 LB10@K1 FA11 M01 LB11@K1 FA00 M10 LA11@K1 FB00 M11");
}

TEST(Seed002, BodyIsTheDeclarationWithCosts) {
  Pipeline4Wave pipeline(small());
  std::vector<OpDesc> ops = pipeline.declareOps(), body = pipeline.buildBody();
  EXPECT_EQ(tiles(ops), tiles(body));
  for (const OpDesc &op : body) {
    bool load = op.tag == kLoadA || op.tag == kLoadB, mma = op.tag == kMma;
    EXPECT_EQ(op.latency, load ? 200 : mma ? 16 : 20);
    EXPECT_EQ(op.vgprDef, load ? 0 : mma ? 4 : 8);
    EXPECT_EQ(op.role, load ? OpRole::GlobalLoad : mma ? OpRole::Compute : OpRole::FragmentLoad);
    EXPECT_EQ(op.channel, mma ? -1 : op.tag == kLoadA || op.tag == kMmaLoadA ? 0 : 1);
  }
}

TEST(Seed002, IdentityKeepsTheOrder) {
  CompiledPipeline made = faithful(Pipeline4Wave(small()));
  EXPECT_EQ(made.order.order, identityOrder(24));
  std::vector<OpDesc> kernel;
  for (const ScheduleEntry &entry : made.kernel)
    if (entry.op.tag < kFirstFrameworkTag)
      kernel.push_back(entry.op);
  // Inside a block fragments go before loads; blocks follow each other as declared.
  EXPECT_EQ(tiles(kernel), "FB01 LA00@K0 M00 FA01 LB00@K0 M01 FA10 LB01@K0 M10 FB10 LA01@K0 M11 "
                           "FB11 LA10@K1 M00 FA11 LB10@K1 M01 FA00 LB11@K1 M10 FB00 LA11@K1 M11");
}

TEST(Seed002, BootstrapsTwoFragmentsBehindPartialWaits) {
  CompiledPipeline made = faithful(Pipeline4Wave(small()));
  EXPECT_EQ(tiles(Pipeline4Wave(small()).bootstrapFrags()), "FA00 FB00");
  // Each behind exactly the load that it needs; the other six stay in flight.
  EXPECT_EQ(tiles(made.prologue), "LA00@K0 LB00@K0 LB01@K0 LA01@K0 LA10@K1 LB10@K1 LB11@K1 LA11@K1 "
                                  "VM7 BAR FA00 VM6 BAR FB00");
}

TEST(Seed002, RotationIsPutBackWhateverTheCallerSays) {
  ScheduleConfig config;
  config.scheduling = Strategy::Csp;
  config.minimalBarriers = false;
  config.partialPrologueDrain = false;
  Pipeline4Wave pipeline(small(), config);
  EXPECT_EQ(pipeline.scheduleConfig().scheduling, Strategy::Identity);
  EXPECT_TRUE(pipeline.scheduleConfig().minimalBarriers);
  EXPECT_TRUE(pipeline.scheduleConfig().omitMmaSetPrio);
  EXPECT_TRUE(pipeline.scheduleConfig().interBlockLgkmDrain);
  EXPECT_TRUE(pipeline.scheduleConfig().partialPrologueDrain);
  EXPECT_TRUE(pipeline.config().crossStageRotation);
  EXPECT_FALSE(pipeline.config().waveStagger.enabled);
  // The default target has four vm ticks per load whatever the geometry; lgkm ticks are the geometry's.
  EXPECT_EQ(pipeline.config().vmPerLoadA, 4);
  EXPECT_EQ(pipeline.config().lgkmPerLoadA, small().lgkmPerLoadA);
}

TEST(Seed002, DefaultEdgesThenRotationEdges) {
  Pipeline4Wave pipeline(small());
  std::vector<OpDesc> body = pipeline.buildBody();
  std::vector<DepEdge> plain = deriveDefaultEdges(body, pipeline.config()), edges = pipeline.deriveEdges(body);
  EXPECT_EQ(plain.size(), 48u);
  // The filter finds nothing to remove: the rules already ask for the fragment's own half.
  EXPECT_EQ(dropSpuriousRotationFlow(plain, body), plain);
  ASSERT_EQ(edges.size(), 64u);
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), edges.begin()));
}

// ---- Section 4.2: edges -------------------------------------------------------------------------------------------

TEST(FourWaveFaithful, EdgesAreTheSixtyFourOfTheReference) {
  Pipeline4Wave pipeline(small());
  std::vector<OpDesc> body = pipeline.buildBody();
  std::vector<DepEdge> edges = pipeline.deriveEdges(body);
  ASSERT_EQ(edges.size(), 64u);
  EXPECT_EQ(edgeText(edges, 0, 8), "1>5 1>11 4>8 4>11 13>17 13>23 16>20 16>23");
  EXPECT_EQ(edgeText(edges, 8, 12), "2>14 5>17 8>20 11>23");
  EXPECT_EQ(edgeText(edges, 12, 16), "14>2@1 17>5@1 20>8@1 23>11@1");
  EXPECT_EQ(edgeText(edges, 16, 32), "0>4@1 0>19@1 3>1@1 3>22@1 6>1@1 6>22@1 9>4@1 9>19@1 "
                                     "12>7@1 12>16@1 15>10@1 15>13@1 18>10@1 18>13@1 21>7@1 21>16@1");
  EXPECT_EQ(edgeText(edges, 32, 48),
            "1>3 1>6 4>0 4>9 7>12 7>21 10>15 10>18 13>15 13>18 16>12 16>21 19>0 19>9 22>3 22>6");
  std::vector<DepEdge> flow, anti;
  for (size_t i = 48; i < 64; ++i)
    (edges[i].kind == DepKind::Flow ? flow : anti).push_back(edges[i]);
  EXPECT_EQ(edgeText(flow, 0, flow.size()), "7>14 7>17 10>14 10>20 19>2@1 19>5@1 22>2@1 22>8@1");
  EXPECT_EQ(edgeText(anti, 0, anti.size()), "2>7 5>7 2>10 8>10 14>19 17>19 14>22 20>22");
  EXPECT_EQ(countEdges(edges, DepKind::Flow, 0), 16);
  EXPECT_EQ(countEdges(edges, DepKind::Flow, 1), 24);
  EXPECT_EQ(countEdges(edges, DepKind::Anti, 0), 24);
}

TEST(FourWaveFaithful, IdentityBreaksSixOfItsOwnAntiEdges) {
  Pipeline4Wave pipeline(small());
  std::vector<DepEdge> edges = pipeline.deriveEdges(pipeline.buildBody()), broken;
  for (const DepEdge &edge : edges)
    if (edge.distance == 0 && edge.producer > edge.consumer)
      broken.push_back(edge);
  EXPECT_EQ(edgeText(broken, 0, broken.size()), "4>0 16>12 19>0 19>9 22>3 22>6");
}

TEST(FourWaveFaithful, GreedyCannotOrderItsEdges) {
  Pipeline4Wave pipeline(small());
  LoopBody body{pipeline.buildBody(), pipeline.deriveEdges(pipeline.buildBody())};
  ScheduleConfig config = pipeline.scheduleConfig();
  for (Strategy strategy : {Strategy::Greedy, Strategy::Csp}) {
    config.scheduling = strategy;
    OrderResult result = orderBody(body, pipeline.config(), config);
    ASSERT_EQ(result.diagnostics.size(), 1u);
    EXPECT_EQ(result.diagnostics[0].id, DiagId::PipelineInfeasible);
    EXPECT_FALSE(result.optimal);
  }
}

// ---- Section 4.3: geometry ----------------------------------------------------------------------------------------

TEST(FourWaveFaithful, GeometryTable) {
  struct Row {
    int elem, bm, bn, bk, vmA, vmB, lgkmA, lgkmB, mmas, kib, maxGlobals, vm1, vm2, main, lg;
    bool fences;
  };
  const Row rows[] = {
      {1, 64, 64, 128, 1, 1, 2, 2, 1, 32, 0, 7, 6, 4, 2, false},
      {1, 128, 128, 128, 2, 2, 4, 4, 4, 64, 0, 14, 12, 8, 4, false},
      {1, 128, 256, 128, 2, 4, 4, 8, 8, 96, 0, 22, 18, 12, 4, false},
      {2, 64, 64, 32, 1, 1, 1, 1, 1, 16, 0, 7, 6, 4, 1, false},
      {2, 64, 64, 64, 1, 1, 2, 2, 2, 32, 0, 7, 6, 4, 2, false},
      {2, 64, 64, 128, 2, 2, 4, 4, 4, 64, 0, 14, 12, 8, 4, false},
      {2, 128, 128, 32, 1, 1, 2, 2, 4, 32, 0, 7, 6, 4, 2, true},
      {2, 128, 128, 64, 2, 2, 4, 4, 8, 64, 1, 14, 12, 8, 4, true},
      {2, 128, 128, 128, 4, 4, 8, 8, 16, 128, 1, 28, 24, 16, 8, true},
      {2, 128, 256, 64, 2, 4, 4, 8, 16, 96, 1, 22, 18, 12, 4, true},
  };
  for (const Row &row : rows) {
    SCOPED_TRACE(std::to_string(row.elem) + " bytes, " + std::to_string(row.bm) + "x" + std::to_string(row.bn) + "x" +
                 std::to_string(row.bk));
    KernelGeometry g = four(row.elem, row.bm, row.bn, row.bk);
    EXPECT_EQ(g.vmPerLoadA, row.vmA);
    EXPECT_EQ(g.vmPerLoadB, row.vmB);
    EXPECT_EQ(g.lgkmPerLoadA, row.lgkmA);
    EXPECT_EQ(g.lgkmPerLoadB, row.lgkmB);
    EXPECT_EQ(g.mmasPerOp, row.mmas);
    EXPECT_EQ(g.sharedBytes, row.kib * 1024);
    EXPECT_EQ(g.maxGlobals(), row.maxGlobals);
    CompiledPipeline made = faithful(Pipeline4Wave(g));
    EXPECT_EQ(tiles(made.prologue), "LA00@K0 LB00@K0 LB01@K0 LA01@K0 LA10@K1 LB10@K1 LB11@K1 LA11@K1 VM" +
                                        std::to_string(row.vm1) + " BAR FA00 VM" + std::to_string(row.vm2) +
                                        " BAR FB00");
    EXPECT_EQ(tiles(made.kernel), filled(kKernel, row.main, row.lg, row.fences));
    // The general formulas.
    EXPECT_EQ(row.vm1, 4 * row.vmA + 4 * row.vmB - row.vmA);
    EXPECT_EQ(row.vm2, row.vm1 - row.vmB);
    EXPECT_EQ(row.main, 2 * row.vmA + 2 * row.vmB);
    EXPECT_EQ(row.lg, row.lgkmA);
  }
}

// ---- Section 4.4: the program -------------------------------------------------------------------------------------

TEST(FourWaveFaithful, PrologueHasFourteenEntriesWithTheirTicks) {
  CompiledPipeline made = faithful(Pipeline4Wave(four(2, 128, 256, 64)));
  ASSERT_EQ(made.prologue.size(), 14u);
  std::vector<int> ticks;
  for (const ScheduleEntry &entry : made.prologue)
    if (entry.op.role == OpRole::GlobalLoad) {
      ticks.push_back(entry.op.vmCost);
      EXPECT_EQ(entry.op.channel, -1);
    }
  EXPECT_EQ(ticks, (std::vector<int>{2, 4, 4, 2, 2, 4, 4, 2}));
}

TEST(FourWaveFaithful, KernelWithoutFences) {
  CompiledPipeline made = faithful(Pipeline4Wave(small()));
  EXPECT_EQ(made.kernel.size(), 48u);
  EXPECT_EQ(tiles(made.kernel), filled(kKernel, 4, 2, false));
  EXPECT_EQ(made.blockStarts, (std::vector<int>{0, 7, 12, 19, 24, 31, 36, 43}));
  EXPECT_EQ(depText(made.kernelDeps), "0>6 1>6 6>11 11>18 24>30 25>30 30>35 35>42");
  EXPECT_EQ(countTag(made.kernel, kWaitVm), 6);
  EXPECT_EQ(countTag(made.kernel, kWaitLgkm), 6);
  EXPECT_EQ(countTag(made.kernel, kBarrier), 4);
  EXPECT_EQ(countTag(made.kernel, kScheduleBarrier), 8);
  for (int b = 0; b < 8; ++b)
    EXPECT_EQ(made.kernel[made.blocks.mmaEntry(b)].op.tag, kMma);
}

TEST(FourWaveFaithful, KernelWithFences) {
  CompiledPipeline made = faithful(Pipeline4Wave(large()));
  EXPECT_EQ(made.kernel.size(), 64u);
  EXPECT_EQ(tiles(made.kernel), filled(kKernel, 8, 4, true));
  EXPECT_EQ(made.blockStarts, (std::vector<int>{0, 9, 16, 25, 32, 41, 48, 57}));
  EXPECT_EQ(countTag(made.kernel, kWaitVm), 6);
  EXPECT_EQ(countTag(made.kernel, kWaitLgkm), 6);
  EXPECT_EQ(countTag(made.kernel, kBarrier), 4);
  EXPECT_EQ(countTag(made.kernel, kScheduleBarrier), 24);
}

TEST(FourWaveFaithful, TheFenceMaskHasNoEffect) {
  ScheduleConfig with = Pipeline4Wave::defaultScheduleConfig(true), without = with;
  without.schedBarrierMask = 0;
  EXPECT_EQ(faithful(Pipeline4Wave(large(), with)).kernel, faithful(Pipeline4Wave(large(), without)).kernel);
}

TEST(FourWaveFaithful, EpilogueReReadsTwoDeadFragments) {
  CompiledPipeline made = faithful(Pipeline4Wave(small()));
  EXPECT_EQ(made.epilogue.size(), 32u);
  EXPECT_EQ(tiles(made.epilogue), "LGKM0 FB01 VM0 M00 LGKM0 FA01 VM0 M01 LGKM0 FA10 VM0 M10 LGKM0 FB10 VM0 M11 "
                                  "LGKM0 FB11 VM0 M00 LGKM0 FA11 VM0 M01 LGKM0 FA00 VM0 M10 LGKM0 FB00 M11 BAR");
  EXPECT_EQ(made.proof.deadReads, (std::vector<std::string>{"MMA_LOAD_A[s0,0]", "MMA_LOAD_B[s0,0]"}));
  EXPECT_EQ(made.staggerIndex, 15);
}

TEST(FourWaveFaithful, NoEntryIsMarkedAsPrefetch) {
  // Explicit lists are taken as they are.
  CompiledPipeline made = faithful(Pipeline4Wave(small()));
  for (const ScheduleEntry &entry : made.kernel)
    EXPECT_FALSE(entry.isPrefetch);
  for (size_t i = 0; i < made.kernel.size(); ++i)
    EXPECT_EQ(made.kernel[i].timeSlot, static_cast<int>(i));
}

TEST(FourWaveFaithful, PressureIsTheSameInEveryOrder) {
  Pipeline4Wave pipeline(small());
  LoopBody body{pipeline.buildBody(), {}};
  EXPECT_EQ(evaluate(body, identityOrder(24)).vgprPeak, 96);
}

// ---- Section 4.5: what is in flight -------------------------------------------------------------------------------

TEST(FourWaveFaithful, InFlightTraceOfTheSteadyState) {
  CompiledPipeline made = faithful(Pipeline4Wave(small()));
  std::vector<FlightRow> rows = traceFlight(made);
  auto names = [](const std::vector<std::string> &list) {
    return joined(list, [](const std::string &tile) { return tile; });
  };
  std::string text;
  for (const FlightRow &row : rows)
    text += "b" + std::to_string(row.block) + ": " + names(row.completed) + " | " + names(row.left) + "\n";
  EXPECT_EQ(text, "b0:  | A10 B10 B11 A11\n"
                  "b2: A10 B10 | B11 A11 A00 B00\n"
                  "b3: B11 A11 | A00 B00 B01 A01\n"
                  "b4:  | A00 B00 B01 A01\n"
                  "b6: A00 B00 | B01 A01 A10 B10\n"
                  "b7: B01 A01 | A10 B10 B11 A11\n");
}
