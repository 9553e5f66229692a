// The figures of the reference for the 4-wave and the ping-pong body must come out exactly.
#include "TestProblems.h"
#include "soliton/schedule/Paths.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/Verify.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
/// (cluster, value) of the waits on `counter` in a list.
std::vector<std::pair<int, int>> waitsOn(const Body &body, const std::vector<Entry> &entries, const char *counter) {
  std::vector<std::pair<int, int>> result;
  for (const Entry &entry : entries)
    if (entry.kind == EntryKind::Wait && body.problem.counters[entry.counter].name == counter && entry.op < 0)
      result.emplace_back(entry.cluster, entry.value);
  return result;
}

std::vector<int> valuesOn(const Body &body, const std::vector<Entry> &entries, const char *counter) {
  std::vector<int> result;
  for (auto [cluster, value] : waitsOn(body, entries, counter))
    result.push_back(value);
  return result;
}

std::vector<int> derivedBarriers(const std::vector<Entry> &entries) {
  std::vector<int> clusters;
  for (const Entry &entry : entries)
    if (entry.kind == EntryKind::Barrier && entry.op < 0 && !entry.stagger)
      clusters.push_back(entry.cluster);
  return clusters;
}

SyncOptions clusterBarriers() {
  SyncOptions options;
  options.barriers.clusterEntriesOnly = true;
  return options;
}
} // namespace

TEST(FourWave, DependencesAreTheTrueOnes) {
  Body body = fourWave();
  PathContext context(body.problem, body.schedule);
  std::vector<int> position = positionsOf(emissionOrder(body.schedule), body.problem.numOps());
  std::set<std::string> found;
  for (const Dependence &dep : context.hazards)
    found.insert(std::string(nameOf(dep.kind)) + " " + std::to_string(position[dep.from]) + ">" +
                 std::to_string(position[dep.to]) + "@" + std::to_string(tripDistance(body.schedule, dep)));
  std::set<std::string> expected;
  for (const char *edge : {"0>19@0", "3>22@0", "6>1@1", "9>4@1", "12>7@1", "15>10@1", "18>13@1", "21>16@1"})
    expected.insert(std::string("RAW ") + edge);
  for (const char *edge : {"1>6@0", "4>9@0", "7>12@0", "10>15@0", "13>18@0", "16>21@0", "19>0@1", "22>3@1"})
    expected.insert(std::string("WAR ") + edge);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(context.hazards.size(), 16u);
}

TEST(FourWave, ScheduleIsAccepted) {
  Body body = fourWave();
  Report report = verify(body.problem, body.schedule);
  EXPECT_TRUE(report.ok()) << format(report.diagnostics);
}

TEST(FourWave, MinimumIsFourBarriersAtEvenBlocks) {
  Body body = fourWave();
  Synchronized made = synchronize(body.problem, body.schedule, clusterBarriers());
  EXPECT_EQ(made.barriers.hazards, 16);
  EXPECT_EQ(derivedBarriers(made.program.kernel), (std::vector<int>{0, 2, 4, 6}));
}

TEST(FourWave, WaitsAreTheHandTunedConstants) {
  struct Row {
    Geometry geometry;
    int first, second, main, half;
  };
  // Section 4.3: VM1 = 4a + 4b - a, VM2 = VM1 - b, MAIN = 2a + 2b.
  for (const Row &row : {Row{{1, 1, 2, 2}, 7, 6, 4, 2}, Row{{2, 2, 4, 4}, 14, 12, 8, 4},
                         Row{{2, 4, 4, 8}, 22, 18, 12, 6}, Row{{4, 4, 8, 8}, 28, 24, 16, 8}}) {
    Body body = fourWave(row.geometry);
    Program program = synchronize(body.problem, body.schedule, clusterBarriers()).program;
    EXPECT_EQ(valuesOn(body, program.prologue, "vm"), (std::vector<int>{row.first, row.second}));
    EXPECT_EQ(waitsOn(body, program.kernel, "vm"),
              (std::vector<std::pair<int, int>>{{0, row.main}, {2, row.main}, {4, row.main}, {6, row.main}}));
    EXPECT_EQ(waitsOn(body, program.kernel, "lgkm"),
              (std::vector<std::pair<int, int>>{{0, 0}, {2, 0}, {4, 0}, {6, 0}}));
    EXPECT_EQ(waitsOn(body, program.epilogue, "vm"),
              (std::vector<std::pair<int, int>>{{0, row.main}, {2, row.half}, {4, 0}}));
    EXPECT_EQ(valuesOn(body, program.epilogue, "lgkm"), std::vector<int>{});
    EXPECT_EQ(derivedBarriers(program.epilogue), (std::vector<int>{0, 2, 4}));
  }
}

TEST(FourWave, PrologueLoadsFirstThenTheTwoFragments) {
  Body body = fourWave();
  Program program = synchronize(body.problem, body.schedule, clusterBarriers()).program;
  std::vector<std::string> lines;
  for (const Entry &entry : program.prologue)
    lines.push_back(toString(body.problem, entry));
  EXPECT_EQ(lines, (std::vector<std::string>{"LA00 @+0", "LB00 @+0", "LB01 @+0", "LA01 @+0", "LA10 @+0", "LB10 @+0",
                                             "LB11 @+0", "LA11 @+0", "wait vm 7", "barrier", "FA00 @+0", "wait vm 6",
                                             "barrier", "FB00 @+0"}));
}

TEST(FourWave, DerivedProgramIsProven) {
  Body body = fourWave();
  Program program = synchronize(body.problem, body.schedule, clusterBarriers()).program;
  Report report = verify(body.problem, body.schedule, program);
  EXPECT_TRUE(report.ok()) << format(report.diagnostics);
  EXPECT_EQ(report.hazards.size(), 16u);
  for (const Hazard &hazard : report.hazards)
    EXPECT_EQ(hazard.value, HazardClass::Proven) << describe(body.problem, hazard.dependence);
}

TEST(FourWave, ShippedLgkmWaitLeavesOneHazardToLatency) {
  // Upstream waits for `lgkm G` (one fragment of A) in front of blocks 0 and 4: the read of B is still in flight.
  Body body = fourWave({1, 1, 2, 2});
  Program program = synchronize(body.problem, body.schedule, clusterBarriers()).program;
  int lgkm = 1;
  for (Entry &entry : program.kernel)
    if (entry.kind == EntryKind::Wait && entry.counter == lgkm && (entry.cluster == 0 || entry.cluster == 4))
      entry.value = 2;
  Report report = verify(body.problem, body.schedule, program);
  EXPECT_FALSE(report.ok());
  std::set<std::string> open;
  for (const Hazard &hazard : report.hazards)
    if (hazard.value != HazardClass::Proven) {
      EXPECT_EQ(hazard.value, HazardClass::LatencyOnly);
      EXPECT_EQ(hazard.dependence.kind, DepKind::War);
      EXPECT_EQ(hazard.fix, "`wait lgkm 0` in front of the barrier in the kernel");
      open.insert(body.problem.regions[hazard.dependence.region].name);
    }
  EXPECT_EQ(open, (std::set<std::string>{"B00", "B10"}));
  VerifyOptions waived;
  waived.waivers = {{"", "", "B00", "shipped"}, {"", "", "B10", "shipped"}};
  EXPECT_TRUE(verify(body.problem, body.schedule, program, waived).ok());
}

TEST(FourWave, EpilogueWithoutBarriersIsNotProven) {
  Body body = fourWave();
  Program program = synchronize(body.problem, body.schedule, clusterBarriers()).program;
  std::erase_if(program.epilogue, [](const Entry &entry) { return entry.kind == EntryKind::Barrier; });
  Report report = verify(body.problem, body.schedule, program);
  int open = 0;
  for (const Hazard &hazard : report.hazards)
    open += hazard.value != HazardClass::Proven && hazard.dependence.kind == DepKind::Raw;
  EXPECT_EQ(open, 6);
}

TEST(PingPongBody, DerivedWaitIsThreeLoadsInBlocksThreeAndSeven) {
  struct Row {
    PingPong kind;
    Geometry geometry;
    int value;
  };
  for (const Row &row : {Row{PingPong::Bf16, {2, 2, 8, 4}, 6}, Row{PingPong::Fp8, {2, 2, 8, 4}, 6},
                         Row{PingPong::Fp8, {1, 2, 4, 4}, 5}, Row{PingPong::Proven, {2, 2, 8, 4}, 6}}) {
    Body body = pingPong(row.kind, row.geometry);
    Program program = peel(body.problem, body.schedule);
    // The prologue ends as shipped: one barrier for each group that may be ahead.
    for (int i : {0, 1}) {
      Entry barrier;
      barrier.kind = EntryKind::Barrier;
      barrier.position = i;
      program.prologue.push_back(barrier);
    }
    deriveWaits(body.problem, body.schedule, program);
    EXPECT_EQ(waitsOn(body, program.kernel, "vm"), (std::vector<std::pair<int, int>>{{3, row.value}, {7, row.value}}));
    EXPECT_EQ(valuesOn(body, program.prologue, "vm"), (std::vector<int>{row.value}));
    // In front of the barrier before the mma, as the stagger demands, not of the one behind it.
    for (size_t i = 0; i < program.kernel.size(); ++i)
      if (program.kernel[i].kind == EntryKind::Wait && program.kernel[i].op < 0 && program.kernel[i].counter == 0) {
        size_t next = i + 1;
        while (program.kernel[next].kind != EntryKind::Barrier)
          ++next;
        EXPECT_TRUE(body.problem.operations[program.kernel[next].op].key.ends_with(".pre"));
      }
  }
}

TEST(PingPongBody, PrologueIsSevenLoadsInBodyOrder) {
  Body body = pingPong(PingPong::Bf16, {2, 2, 8, 4});
  std::vector<std::string> loads;
  for (const Entry &entry : peel(body.problem, body.schedule).prologue)
    if (entry.kind == EntryKind::Op)
      loads.push_back(body.problem.operations[entry.op].key);
  EXPECT_EQ(loads, (std::vector<std::string>{"LB00", "LA00", "LB01", "LA01", "LB10", "LA10", "LB11"}));
}

TEST(PingPongBody, ProvenPlacementNeedsNoMoreBarriers) {
  Body body = pingPong(PingPong::Proven, {2, 2, 8, 4});
  Synchronized made = synchronize(body.problem, body.schedule);
  EXPECT_EQ(made.barriers.fixed, 16);
  EXPECT_EQ(derivedBarriers(made.program.kernel), std::vector<int>{});
  EXPECT_EQ(valuesOn(body, made.program.prologue, "vm"), (std::vector<int>{6}));
  EXPECT_EQ(waitsOn(body, made.program.kernel, "vm"), (std::vector<std::pair<int, int>>{{3, 6}, {7, 6}}));
  Report report = verify(body.problem, body.schedule, made.program);
  EXPECT_TRUE(report.ok()) << format(report.diagnostics);
}

namespace {
/// Regions with a hazard in the steady state that is not proven when the shipped program runs as written.
std::map<std::string, HazardClass> openRegions(PingPong kind, const Geometry &geometry, int vmWait) {
  Body body = pingPong(kind, geometry, vmWait, true);
  Program program = peel(body.problem, body.schedule);
  for (int i : {0, 1}) {
    Entry entry;
    entry.kind = EntryKind::Wait;
    entry.counter = 0;
    if (i == 0)
      program.prologue.push_back(entry);
    entry.kind = EntryKind::Barrier;
    program.prologue.push_back(entry);
  }
  std::map<std::string, HazardClass> open;
  for (const Hazard &hazard : verify(body.problem, body.schedule, program).hazards)
    if (hazard.value != HazardClass::Proven && hazard.dependence.kind == DepKind::War)
      open[body.problem.operations[hazard.dependence.to].key] = hazard.value;
  return open;
}
} // namespace

TEST(PingPongBody, ShippedWarHazardsAreProtectedByLatencyOnly) {
  std::map<std::string, HazardClass> expected;
  for (const char *load : {"LB00", "LA00", "LB10", "LA10"})
    expected[load] = HazardClass::LatencyOnly;
  EXPECT_EQ(openRegions(PingPong::Bf16, {2, 2, 8, 4}, 6), expected);
  EXPECT_EQ(openRegions(PingPong::Fp8, {2, 2, 8, 4}, 6), expected);
  EXPECT_TRUE(openRegions(PingPong::Proven, {2, 2, 8, 4}, 6).empty());
}

TEST(PingPongBody, KnowingWhoReadsWhatLetsMoreLoadsStayInFlight) {
  // LA[s,1] is read by the group behind only, so its wait may stand one barrier later than the others'.
  Body body = pingPong(PingPong::Proven, {2, 2, 8, 4}, {}, true);
  Synchronized made = synchronize(body.problem, body.schedule);
  EXPECT_EQ(waitsOn(body, made.program.kernel, "vm"),
            (std::vector<std::pair<int, int>>{{3, 8}, {3, 6}, {7, 8}, {7, 6}}));
  EXPECT_TRUE(verify(body.problem, body.schedule, made.program).ok());
}

TEST(PingPongBody, MissingStaggerCompensationHangs) {
  Body body = pingPong(PingPong::Proven, {2, 2, 8, 4});
  Program program = synchronize(body.problem, body.schedule).program;
  program.epilogue.pop_back();
  Report report = verify(body.problem, body.schedule, program);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnostics[0].id, DiagId::ScheduleBarriers);
}
