// Exact mode: what the core derives from a declaration (section 9.4 of the reference), and what its verifier says of
// the shipped programs (section 9.2).
#include "TestPipelines.h"

#include "soliton/pipeline/Report.h"
#include "soliton/schedule/Paths.h"

#include <map>
#include <set>

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;

namespace {
KernelGeometry small() {
  return four(2, 64, 64, 64);
}

/// (block, value) of the waits of one kind in the kernel.
std::vector<std::pair<int, int>> waits(const CompiledPipeline &made, int tag) {
  std::vector<std::pair<int, int>> found;
  for (const ScheduleEntry &entry : made.kernel)
    if (entry.op.tag == tag)
      found.emplace_back(blockOfEntry(made, entry.timeSlot), entry.op.waitValue);
  return found;
}

std::vector<int> waitValues(const std::vector<ScheduleEntry> &entries, int tag) {
  std::vector<int> values;
  for (const ScheduleEntry &entry : entries)
    if (entry.op.tag == tag)
      values.push_back(entry.op.waitValue);
  return values;
}

std::vector<int> barrierBlocks(const CompiledPipeline &made) {
  std::vector<int> blocks;
  for (const ScheduleEntry &entry : made.kernel)
    if (entry.op.tag == kBarrier)
      blocks.push_back(blockOfEntry(made, entry.timeSlot));
  return blocks;
}

/// Hazards that are not proven: "WAR B00" with their class.
std::map<std::string, sched::HazardClass> open(const CompiledPipeline &made) {
  std::map<std::string, sched::HazardClass> found;
  for (const sched::Hazard &hazard : made.proof.report.hazards)
    if (hazard.value != sched::HazardClass::Proven)
      found[std::string(nameOf(hazard.dependence.kind)) + " " +
            made.proof.problem.regions[hazard.dependence.region].name] = hazard.value;
  return found;
}

std::map<std::string, sched::HazardClass> latencyOnly(std::initializer_list<const char *> names) {
  std::map<std::string, sched::HazardClass> expected;
  for (const char *name : names)
    expected[name] = sched::HazardClass::LatencyOnly;
  return expected;
}
} // namespace

// ---- Pipeline4Wave ------------------------------------------------------------------------------------------------

TEST(FourWaveExact, IsTheDefaultAndProven) {
  CompiledPipeline made = compilePipeline(Pipeline4Wave(small()));
  EXPECT_EQ(made.mode, Mode::Exact);
  EXPECT_TRUE(made.ok()) << format(made.diagnostics);
  EXPECT_EQ(made.proof.hazards, 16);
  EXPECT_EQ(made.proof.report.hazards.size(), 16u);
  EXPECT_TRUE(open(made).empty());
}

TEST(FourWaveExact, SharedHazardsAreTheTrueOnes) {
  CompiledPipeline made = compilePipeline(Pipeline4Wave(small()));
  std::set<std::string> raw, war;
  sched::PathContext context(made.proof.problem, made.proof.schedule);
  std::vector<int> position =
      sched::positionsOf(sched::emissionOrder(made.proof.schedule), made.proof.problem.numOps());
  for (const sched::Dependence &dep : context.hazards)
    (dep.kind == sched::DepKind::Raw ? raw : war)
        .insert(std::to_string(position[dep.from]) + ">" + std::to_string(position[dep.to]) + "@" +
                std::to_string(sched::tripDistance(made.proof.schedule, dep)));
  EXPECT_EQ(raw,
            (std::set<std::string>{"0>19@0", "3>22@0", "6>1@1", "9>4@1", "12>7@1", "15>10@1", "18>13@1", "21>16@1"}));
  EXPECT_EQ(war,
            (std::set<std::string>{"1>6@0", "4>9@0", "7>12@0", "10>15@0", "13>18@0", "16>21@0", "19>0@1", "22>3@1"}));
}

TEST(FourWaveExact, FourBarriersAreTheMinimum) {
  CompiledPipeline made = compilePipeline(Pipeline4Wave(small()));
  EXPECT_EQ(barrierBlocks(made), (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ(made.proof.kernelBarriers, 4);
  // Without any one of the four some hazard is open: no three slots of these suffice, and the stabbing is exact.
  for (int skipped = 0; skipped < 4; ++skipped) {
    sched::Program fewer = made.proof.program;
    int seen = 0;
    std::erase_if(fewer.kernel, [&](const sched::Entry &entry) {
      return entry.kind == sched::EntryKind::Barrier && seen++ == skipped;
    });
    EXPECT_FALSE(sched::verify(made.proof.problem, made.proof.schedule, fewer).ok());
  }
}

TEST(FourWaveExact, NoThreeBarriersAtBlockEntriesSuffice) {
  // By exhaustive search: each hazard is an interval of block entries on the cycle of eight.
  CompiledPipeline made = compilePipeline(Pipeline4Wave(small()));
  sched::PathContext context(made.proof.problem, made.proof.schedule);
  std::vector<std::pair<int, int>> intervals;
  for (const sched::Dependence &dep : context.hazards) {
    int from = made.proof.schedule.slots[dep.from].cluster, to = made.proof.schedule.slots[dep.to].cluster;
    intervals.emplace_back(from + 1, to + 8 * sched::tripDistance(made.proof.schedule, dep));
  }
  auto hits = [&](unsigned slots, std::pair<int, int> interval) {
    for (int i = interval.first; i <= interval.second; ++i)
      if (slots >> (i % 8) & 1)
        return true;
    return false;
  };
  std::vector<unsigned> smallest;
  size_t fewest = 8;
  for (unsigned slots = 0; slots < 256; ++slots) {
    bool all = std::all_of(intervals.begin(), intervals.end(), [&](auto interval) { return hits(slots, interval); });
    size_t size = static_cast<size_t>(__builtin_popcount(slots));
    if (!all || size > fewest)
      continue;
    if (size < fewest)
      smallest.clear();
    fewest = size;
    smallest.push_back(slots);
  }
  EXPECT_EQ(fewest, 4u);
  EXPECT_EQ(smallest, (std::vector<unsigned>{0b01010101, 0b10101010}));
}

TEST(FourWaveExact, WaitsAreTheHandTunedConstants) {
  struct Row {
    KernelGeometry geometry;
    int first, second, main, half;
  };
  for (const Row &row : {Row{small(), 7, 6, 4, 2}, Row{four(2, 128, 128, 64), 14, 12, 8, 4},
                         Row{four(2, 128, 256, 64), 22, 18, 12, 6}, Row{four(2, 128, 128, 128), 28, 24, 16, 8},
                         Row{four(1, 64, 64, 128), 7, 6, 4, 2}, Row{four(1, 128, 256, 128), 22, 18, 12, 6}}) {
    CompiledPipeline made = compilePipeline(Pipeline4Wave(row.geometry));
    ASSERT_TRUE(made.ok()) << format(made.diagnostics);
    EXPECT_EQ(waitValues(made.prologue, kWaitVm), (std::vector<int>{row.first, row.second}));
    EXPECT_EQ(waits(made, kWaitVm),
              (std::vector<std::pair<int, int>>{{0, row.main}, {2, row.main}, {4, row.main}, {6, row.main}}));
    EXPECT_EQ(waits(made, kWaitLgkm), (std::vector<std::pair<int, int>>{{0, 0}, {2, 0}, {4, 0}, {6, 0}}));
    EXPECT_EQ(waitValues(made.epilogue, kWaitVm), (std::vector<int>{row.main, row.half, 0}));
  }
}

TEST(FourWaveExact, IsTheHandWrittenKernel) {
  // Section 4.6 without its scheduling fences and its waits for registers, which the back end adds.
  CompiledPipeline made = compilePipeline(Pipeline4Wave(small()));
  EXPECT_EQ(tiles(made.prologue), "LA00@K0 LB00@K0 LB01@K0 LA01@K0 LA10@K1 LB10@K1 LB11@K1 LA11@K1 "
                                  "VM7 BAR FA00 VM6 BAR FB00");
  EXPECT_EQ(tiles(made.kernel), "VM4 LGKM0 BAR LA00@K0 FB01 M00 LB00@K0 FA01 M01 "
                                "VM4 LGKM0 BAR LB01@K0 FA10 M10 LA01@K0 FB10 M11 "
                                "VM4 LGKM0 BAR LA10@K1 FB11 M00 LB10@K1 FA11 M01 "
                                "VM4 LGKM0 BAR LB11@K1 FA00 M10 LA11@K1 FB00 M11");
  EXPECT_EQ(tiles(made.epilogue), "VM4 BAR FB01 M00 FA01 M01 VM2 BAR FA10 M10 FB10 M11 "
                                  "VM0 BAR FB11 M00 FA11 M01 M10 M11");
}

TEST(FourWaveExact, ShippedProgramIsNotProven) {
  CompiledPipeline made = faithful(Pipeline4Wave(small()));
  EXPECT_FALSE(made.ok());
  // WAR: `LGKM(G)` lets the read of B stay in flight over the barrier of blocks 0 and 4. RAW: the epilogue reads what
  // other waves copied, behind waits but no barrier.
  EXPECT_EQ(open(made),
            latencyOnly({"WAR B00", "WAR B10", "RAW A01", "RAW A10", "RAW A11", "RAW B01", "RAW B10", "RAW B11"}));
  for (const Diagnostic &diagnostic : made.diagnostics) {
    EXPECT_EQ(diagnostic.id, DiagId::ScheduleLatencyOnly);
    EXPECT_TRUE(diagnostic.place.known());
    EXPECT_FALSE(diagnostic.hint.empty());
  }
}

TEST(FourWaveExact, ShippedProgramIsAcceptedUnderAWaiverOnly) {
  PipelineOptions options{Mode::Faithful, {{"", "", "", "as shipped"}}};
  CompiledPipeline waived = compilePipeline(Pipeline4Wave(small()), options);
  EXPECT_TRUE(waived.ok()) << format(waived.diagnostics);
  EXPECT_EQ(open(waived).size(), 8u) << "waived hazards are still shown";
  options.waivers = {{"", "", "B00", "as shipped"}};
  EXPECT_FALSE(compilePipeline(Pipeline4Wave(small()), options).ok());
}

TEST(FourWaveExact, ADrainBeforeTheEpilogueProvesIt) {
  // Section 4.8: `vm(0) lgkm(0) barrier` in front of the epilogue leaves the two WARs of the loop.
  CompiledPipeline made = faithful(Pipeline4Wave(small()));
  sched::Program program = made.proof.program;
  std::vector<sched::Entry> drain(3);
  drain[0].kind = drain[1].kind = sched::EntryKind::Wait;
  drain[0].counter = 0;
  drain[1].counter = 1;
  drain[2].kind = sched::EntryKind::Barrier;
  program.epilogue.insert(program.epilogue.begin(), drain.begin(), drain.end());
  std::set<std::string> left;
  for (const sched::Hazard &hazard : sched::verify(made.proof.problem, made.proof.schedule, program).hazards)
    if (hazard.value != sched::HazardClass::Proven)
      left.insert(made.proof.problem.regions[hazard.dependence.region].name);
  EXPECT_EQ(left, (std::set<std::string>{"B00", "B10"}));
}

// ---- Ping-pong ----------------------------------------------------------------------------------------------------

TEST(PingPongExact, IsProvenForEveryKernel) {
  for (const KernelGeometry &geometry : {pingBf16(), pingFp8(), pingSkinny()}) {
    CompiledPipeline made = compilePipeline(PingPong(geometry));
    EXPECT_TRUE(made.ok()) << format(made.diagnostics);
    EXPECT_TRUE(open(made).empty());
    EXPECT_EQ(made.proof.kernelBarriers, 16) << "the phases' own barriers suffice";
  }
}

TEST(PingPongExact, LoadsStandWhereTheirOverwritingIsProven) {
  CompiledPipeline made = compilePipeline(PingPong(pingBf16()));
  std::map<std::string, int> block;
  for (const ScheduleEntry &entry : made.kernel)
    if (entry.op.role == OpRole::GlobalLoad)
      block[tileText(entry.op)] = blockOfEntry(made, entry.timeSlot);
  EXPECT_EQ(block, (std::map<std::string, int>{{"LA11@K_PREV", 0},
                                               {"LA00@K0", 3},
                                               {"LB00@K0", 3},
                                               {"LB01@K0", 3},
                                               {"LA01@K0", 4},
                                               {"LA10@K1", 7},
                                               {"LB10@K1", 7},
                                               {"LB11@K1", 7}}));
}

TEST(PingPongExact, ThreeLoadsStayInFlight) {
  // At the last blocks of the halves, nowhere else: what the group ahead reads next is waited for one barrier before
  // what only the group behind reads.
  for (auto [geometry, value] : {std::pair(pingBf16(), 6), std::pair(pingFp8(), 6), std::pair(pingSkinny(), 5)}) {
    CompiledPipeline made = compilePipeline(PingPong(geometry));
    std::map<int, int> strictest;
    for (auto [block, wait] : waits(made, kWaitVm)) {
      int &least = strictest.try_emplace(block, wait).first->second;
      least = std::min(least, wait);
    }
    EXPECT_EQ(strictest, (std::map<int, int>{{3, value}, {7, value}}));
    EXPECT_EQ(waitValues(made.prologue, kWaitVm).back(), value) << "not 0, as the shipped prologue waits";
  }
}

TEST(PingPongExact, ShippedEarlyOverwritesAreLeftToLatency) {
  for (const KernelGeometry &geometry : {pingBf16(), pingFp8(), pingSkinny()}) {
    CompiledPipeline made = faithful(PingPong(geometry));
    EXPECT_FALSE(made.ok());
    EXPECT_EQ(open(made), latencyOnly({"WAR A00", "WAR A10", "WAR B00", "WAR B10"}));
    CompiledPipeline waived = compilePipeline(PingPong(geometry), {Mode::Faithful, {{"", "", "", "as shipped"}}});
    EXPECT_TRUE(waived.ok()) << format(waived.diagnostics);
  }
}

TEST(PingPongExact, TheHistoricalOverwriteIsViolatedNotWaived) {
  // The declared order lets LA[s,0] overwrite what the second quadrant still reads.
  ScheduleConfig config = PingPong::defaultScheduleConfig(pingBf16());
  config.scheduling = Strategy::Identity;
  PingPong identity(pingBf16(), config, mi355xTarget(2, 2, 1));
  PipelineOptions options{Mode::Faithful, {{"", "", "", "as shipped"}}};
  CompiledPipeline made = compilePipeline(identity, options);
  ASSERT_FALSE(made.ok());
  EXPECT_TRUE(std::any_of(made.diagnostics.begin(), made.diagnostics.end(), [](const Diagnostic &diagnostic) {
    return diagnostic.id == DiagId::ScheduleDependence;
  })) << format(made.diagnostics);
  // Exact mode moves the loads behind the reads and proves the same declaration.
  EXPECT_TRUE(compilePipeline(identity).ok());
}

// ---- Single buffer ------------------------------------------------------------------------------------------------

TEST(SingleBufferExact, TwoBarriersAndTheSamePrologue) {
  for (int steps : {1, 2, 4}) {
    CompiledPipeline made = compilePipeline(SingleBuffer(steps));
    EXPECT_TRUE(made.ok()) << format(made.diagnostics);
    EXPECT_EQ(made.proof.kernelBarriers, 2);
  }
  CompiledPipeline made = compilePipeline(SingleBuffer(2));
  EXPECT_EQ(singles(made.prologue), "LD ST LD LGKM0 BAR F0");
  EXPECT_EQ(singles(made.kernel), "F1 C0 LGKM0 BAR ST LD C1 LGKM0 BAR F0");
}

// ---- Reports ------------------------------------------------------------------------------------------------------

TEST(PipelineReport, ShowsBlocksFlightAndProof) {
  CompiledPipeline made = compilePipeline(Pipeline4Wave(small()));
  std::string text = toText(made, {.edges = true, .costs = true});
  for (const char *part :
       {"pipeline4wave, exact: 24 ops, 8 blocks, 16 hazards, 4 barriers a trip\n",
        "  b0   VM(4)  LGKM(0)  BARRIER  LOAD_A[s0,0]@K0  MMA_LOAD_B[s0,1]  MMA[0,0]\n",
        "  b0   wait vm 4 completes B01 A01, leaves A10 B10 B11 A11\n", "critical path", "16 of 16 hazards proven\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

TEST(PipelineReport, NamesWhatIsNotProven) {
  std::string text = toText(faithful(Pipeline4Wave(small())));
  EXPECT_NE(text.find("latency only: `MMA_LOAD_B[s0,0]` -> `LOAD_B[s0,0]@K0`, WAR on shared `B00`"), std::string::npos)
      << text;
  EXPECT_NE(text.find("the order breaks 6 of its own edges"), std::string::npos) << text;
  EXPECT_NE(text.find("reads again what nobody loads: MMA_LOAD_A[s0,0] MMA_LOAD_B[s0,0]"), std::string::npos) << text;
}
