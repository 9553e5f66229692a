// Tables, pages and traces show every op, escape every name, and agree with the verifier.
#include "soliton/display/Page.h"
#include "soliton/display/Summary.h"
#include "soliton/display/Table.h"
#include "soliton/display/Trace.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/TestProblems.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;
using Json = nlohmann::json;

namespace {
/// A problem with everything that a picture needs, alive.
struct Scene {
  Problem problem;
  Schedule schedule;
  Program program;
  Report report;
  std::string certificate;

  Scene(Problem p, Schedule s, const SyncOptions &options = {}) : problem(std::move(p)), schedule(std::move(s)) {
    assignBuffers(problem, schedule);
    program = synchronize(problem, schedule, options).program;
    report = verify(problem, schedule, program);
  }
  Picture picture() const { return {problem, schedule, program, report, "gemm", "chip", certificate}; }
};

Scene scheduled(const GemmShape &shape, Algorithm algorithm) {
  Problem problem = gemm(shape);
  return {problem, *scheduleWith(algorithm, problem).schedule};
}

std::vector<Scene> scenes() {
  std::vector<Scene> list;
  GemmShape shape{2, 2, 4, 2, 16, false, false}, copies{2, 2, 2, 2, 16, false, true};
  for (Algorithm algorithm : {Algorithm::None, Algorithm::Prefetch, Algorithm::FourStage, Algorithm::Modulo})
    list.push_back(scheduled(shape, algorithm));
  list.push_back(scheduled(copies, Algorithm::Modulo));
  Body ping = pingPong(PingPong::Bf16, {2, 2, 4, 4}, {}, true), four = fourWave({2, 2, 4, 4});
  list.emplace_back(ping.problem, ping.schedule);
  list.emplace_back(four.problem, four.schedule);
  Problem ring = producerConsumer(3);
  list.emplace_back(ring, *scheduleModulo(ring).schedule);
  return list;
}

/// The data that a page hands to its script.
Json dataOf(const std::string &page) {
  std::string open = "<script type=\"application/json\" id=\"data\">";
  size_t begin = page.find(open);
  if (begin == std::string::npos)
    return nullptr;
  begin += open.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin), nullptr, false);
}

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

bool isSync(const Operation &op) {
  return op.kind == OpKind::Barrier || op.kind == OpKind::Wait || op.kind == OpKind::Commit;
}
} // namespace

TEST(Label, PiecesOfOneOpShareIt) {
  auto label = [](const char *key) { return labelOf(makeOp(key, OpKind::Mma, 1)); };
  EXPECT_EQ(label("read_a/shared_load/M1.K0"), "read_a/shared_load");
  EXPECT_EQ(label("read_a/3/global_load"), "read_a/global_load");
  EXPECT_EQ(label("mma/0.1.2"), "mma");
  EXPECT_EQ(label("mma/mma/M0.N1/copy1#2"), "mma");
  EXPECT_EQ(label("read_a/shared_load/HEAD3.K0"), "read_a/shared_load");
  EXPECT_EQ(label("schedule/set_wave_prio.12"), "schedule/set_wave_prio");
  EXPECT_EQ(label("M000"), "M000");
  EXPECT_EQ(label("read_a/stage2b"), "read_a/stage2b");
  Operation tagged = makeOp("mma/0", OpKind::Mma, 1);
  EXPECT_EQ(tagOf(tagged), "mma");
  tagged.origin.tags = {"product"};
  EXPECT_EQ(tagOf(tagged), "product");
}

TEST(Table, SmallPrefetchReadsLikeTheLoop) {
  Scene scene = scheduled({1, 1, 1, 2, 16, false, false}, Algorithm::Prefetch);
  std::string table = printTable(scene.picture());
  EXPECT_NE(
      table.find("kernel, trip n\n"
                 "  cycle     stage 0 (n+1)                             stage 1 (n)\n"
                 "            ── wait lgkm 0\n"
                 "            ── barrier\n"
                 "  0                                                   read_a/shared_load ×2 ⇄ read_b/shared_load ×2\n"
                 "  0         read_a/global_load, read_b/global_load\n"
                 "  1                                                   mma ×2\n"
                 "            ── barrier\n"
                 "  1         read_a/shared_store, read_b/shared_store\n"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find("modelled"), std::string::npos);
}

TEST(Table, EveryOpIsInTheKernelRows) {
  for (const Scene &scene : scenes()) {
    Summary summary = summarize(scene.picture());
    std::vector<int> seen(scene.problem.numOps(), 0);
    for (const KernelRow &row : summary.kernel)
      for (const std::vector<sched::Run> &cell : row.cells)
        for (const sched::Run &run : cell)
          for (int op : run.ops) {
            ++seen[op];
            EXPECT_EQ(labelOf(scene.problem.operations[op]), run.label);
          }
    std::string table = printTable(scene.picture());
    for (int op = 0; op < scene.problem.numOps(); ++op) {
      EXPECT_EQ(seen[op], isSync(scene.problem.operations[op]) ? 0 : 1) << scene.problem.operations[op].key;
      if (!isSync(scene.problem.operations[op]))
        EXPECT_NE(table.find(labelOf(scene.problem.operations[op])), std::string::npos);
    }
  }
}

TEST(Table, JsonHasEveryOpAndTheReport) {
  for (const Scene &scene : scenes()) {
    Json json = Json::parse(printTableJson(scene.picture()), nullptr, false);
    ASSERT_TRUE(json.is_object());
    std::set<std::string> keys;
    for (const Json &op : json["operations"])
      keys.insert(op["key"]);
    EXPECT_EQ(keys.size(), scene.problem.operations.size());
    EXPECT_EQ(json["registers"], scene.report.registers);
    EXPECT_EQ(json["shared_bytes"], scene.report.sharedBytes);
    EXPECT_EQ(json["program"]["kernel"].size(), scene.program.kernel.size());
    EXPECT_EQ(json["regions"].size(), scene.problem.regions.size());
    int hazards = 0;
    for (const Json &row : json["hazards"])
      hazards += row["pairs"].get<int>();
    EXPECT_EQ(hazards, static_cast<int>(scene.report.hazards.size()));
  }
}

TEST(Table, LargeLoopsAreFolded) {
  Scene scene = scheduled({4, 8, 8, 4, 16, false, false}, Algorithm::Modulo);
  ASSERT_GT(scene.problem.numOps(), 300);
  EXPECT_LE(summarize(scene.picture()).kernel.size(), 64u);
}

TEST(Table, SaysWhatIsNotScheduled) {
  Scene scene = scheduled({1, 1, 1, 1, 16, false, false}, Algorithm::Prefetch);
  int op = scene.problem.find("mma/0.0.0");
  scene.schedule.slots[op].stage = -1;
  std::erase_if(scene.program.kernel, [&](const Entry &entry) { return entry.op == op; });
  std::erase_if(scene.program.epilogue, [&](const Entry &entry) { return entry.op == op; });
  EXPECT_NE(printTable(scene.picture()).find("unscheduled mma/0.0.0"), std::string::npos);
}

TEST(Table, ShowsTheProofOfExact) {
  Problem problem = gemm({1, 1, 1, 1, 16, false, false});
  Scheduled found = scheduleExact(problem);
  Scene scene(problem, *found.schedule);
  scene.certificate = found.certificate;
  ASSERT_FALSE(found.certificate.empty());
  EXPECT_NE(printTable(scene.picture()).find("(certificate)"), std::string::npos);
  EXPECT_NE(printPage(scene.picture()).find("soliton-certificate 1"), std::string::npos);
}

TEST(Protects, EachDerivedBarrierIsNeededForWhatItNames) {
  SyncOptions options;
  options.barriers.clusterEntriesOnly = true;
  Body body = fourWave({2, 2, 4, 4});
  Scene scene(body.problem, body.schedule, options);
  int barriers = 0;
  for (const SyncPoint &point : findSyncPoints(scene.picture())) {
    if (point.where.phase != Phase::Kernel || point.entry.kind != EntryKind::Barrier)
      continue;
    ++barriers;
    Program without = scene.program;
    without.kernel.erase(without.kernel.begin() + point.where.index);
    std::set<std::string> broken, named;
    for (const Hazard &hazard : verify(scene.problem, scene.schedule, without).hazards)
      if (hazard.value != HazardClass::Proven)
        broken.insert(labelOf(scene.problem.operations[hazard.dependence.from]) + ">" +
                      labelOf(scene.problem.operations[hazard.dependence.to]));
    for (const ProtectedPair &pair : point.pairs)
      if (pair.sole)
        named.insert(pair.from + ">" + pair.to);
    EXPECT_FALSE(named.empty());
    EXPECT_EQ(named, broken);
  }
  EXPECT_EQ(barriers, 4);
}

TEST(Protects, HazardsThatAreNotProvenAreShownWithTheirFix) {
  Scene scene = scheduled({1, 1, 1, 1, 16, false, false}, Algorithm::Prefetch);
  std::erase_if(scene.program.kernel, [](const Entry &entry) { return entry.kind == EntryKind::Barrier; });
  scene.report = verify(scene.problem, scene.schedule, scene.program);
  ASSERT_FALSE(scene.report.ok());
  EXPECT_NE(printTable(scene.picture()).find("hazards that are not proven"), std::string::npos);
  std::string page = printPage(scene.picture());
  EXPECT_NE(page.find("hazards not proven"), std::string::npos);
  EXPECT_NE(page.find("<th>fix</th>"), std::string::npos);
}

TEST(Timeline, IssuesInOrderAfterInputsAndUnits) {
  for (const Scene &scene : scenes()) {
    Timeline timeline = makeTimeline(scene.problem, scene.schedule, scene.program, 3);
    EXPECT_FALSE(timeline.deadlock);
    std::map<std::tuple<int, int, int>, const Event *> at;
    for (size_t e = 0; e < timeline.events.size(); ++e) {
      const Event &event = timeline.events[e];
      EXPECT_LE(event.ready, event.start);
      if (e > 0 && timeline.events[e - 1].group == event.group)
        EXPECT_LE(timeline.events[e - 1].start, event.start);
      if (event.entry->kind == EntryKind::Op)
        at[{event.group, event.entry->op, event.iteration}] = &event;
    }
    for (const Dependence &dep : deriveDependences(scene.problem, scene.schedule.buffers))
      for (const auto &[key, event] : at) {
        auto [group, op, iteration] = key;
        auto to = at.find({group, dep.to, iteration + dep.distance});
        bool waited = dep.counter < 0 || scene.problem.counters[dep.counter].kind == Retirement::InOrder;
        if (op == dep.from && to != at.end() && dep.kind == DepKind::Raw && dep.space == Space::Register && waited)
          EXPECT_GE(to->second->start, event->start + dep.latency) << describe(scene.problem, dep);
      }
    std::map<std::tuple<int, int, int>, int64_t> busyUntil;
    for (const Bar &bar : timeline.bars) {
      int64_t &until = busyUntil[{timeline.events[bar.event].group, bar.resource, bar.unit}];
      EXPECT_TRUE(bar.resource < 0 || bar.begin >= until);
      if (bar.resource >= 0)
        EXPECT_LT(bar.unit, scene.problem.resources[bar.resource].units);
      until = bar.end;
    }
  }
}

TEST(Timeline, WaitsLeaveNoMoreOutstandingThanTheySay) {
  for (const Scene &scene : scenes()) {
    Timeline timeline = makeTimeline(scene.problem, scene.schedule, scene.program, 2);
    for (const Event &event : timeline.events) {
      if (event.entry->kind != EntryKind::Wait ||
          scene.problem.counters[event.entry->counter].kind != Retirement::InOrder)
        continue;
      for (const Series &series : timeline.inFlight) {
        if (series.group != event.group || series.counter != event.entry->counter)
          continue;
        int64_t before = 0;
        for (auto [time, value] : series.steps)
          if (time <= event.start)
            before = value;
        // What is issued in the very cycle of the wait comes after it.
        int64_t after = 0;
        for (const Event &other : timeline.events)
          if (other.group == event.group && &other > &event && other.start == event.start &&
              other.entry->kind == EntryKind::Op)
            for (const Tick &tick : scene.problem.operations[other.entry->op].ticks)
              after += tick.counter == series.counter ? tick.amount : 0;
        EXPECT_LE(before - after, event.entry->value);
      }
    }
  }
}

TEST(Timeline, GroupsMeetAtBarriers) {
  Body body = pingPong(PingPong::Bf16, {2, 2, 4, 4}, {}, true);
  Scene scene(body.problem, body.schedule);
  Timeline timeline = makeTimeline(scene.problem, scene.schedule, scene.program, 2);
  std::vector<std::vector<int64_t>> met(2);
  std::vector<int64_t> firstMma(2, -1);
  for (const Event &event : timeline.events) {
    if (event.entry->kind == EntryKind::Barrier)
      met[event.group].push_back(event.start);
    if (event.entry->kind == EntryKind::Op && firstMma[event.group] < 0 &&
        scene.problem.operations[event.entry->op].kind == OpKind::Mma)
      firstMma[event.group] = event.start;
  }
  EXPECT_EQ(met[0], met[1]);
  EXPECT_GT(met[0].size(), 16u);
  EXPECT_LT(firstMma[0], firstMma[1]) << "the stagger must show";
}

TEST(Timeline, RegisterCurvePeaksWhereTheReportSays) {
  for (const Scene &scene : scenes()) {
    Timeline timeline = makeTimeline(scene.problem, scene.schedule, scene.program, 4);
    int64_t highest = 0;
    for (const Series &series : timeline.registers) {
      const Span *from = timeline.kernelTrip(series.group, 0), *to = timeline.kernelTrip(series.group, 3);
      for (size_t i = 0; i < series.steps.size(); ++i) {
        int64_t until = i + 1 < series.steps.size() ? series.steps[i + 1].first : timeline.length;
        if (until > from->begin && series.steps[i].first <= to->end)
          highest = std::max(highest, series.steps[i].second);
      }
    }
    EXPECT_EQ(highest, scene.report.registers) << scene.schedule.algorithm;
  }
}

TEST(Timeline, PlannedCyclesAreKept) {
  Scene scene = scheduled({2, 2, 4, 2, 16, false, false}, Algorithm::Modulo);
  EXPECT_GE(steadyInterval(scene.problem, scene.schedule, scene.program), scene.schedule.interval);
  Timeline timeline = makeTimeline(scene.problem, scene.schedule, scene.program, 2);
  for (const Event &event : timeline.events)
    if (event.trip == 1 && event.entry->kind == EntryKind::Op)
      EXPECT_GE(event.start, timeline.kernelTrip(0, 1)->begin);
  // Alone, an op a cycle after the other on its own unit: the plan is what happens.
  Problem plain;
  int unit = plain.addResource("unit");
  for (int i = 0; i < 3; ++i) {
    Operation op = makeOp("op" + std::to_string(i), OpKind::Valu, 1);
    op.reservations = {{unit, 0, 2, 1}};
    plain.addOperation(op);
  }
  Scene loop(plain, *scheduleModulo(plain).schedule);
  EXPECT_EQ(steadyInterval(loop.problem, loop.schedule, loop.program), loop.schedule.interval);
}

TEST(Timeline, DeadlocksAreReportedAndDrawn) {
  Problem problem = producerConsumer(1);
  Scene scene(problem, *scheduleModulo(problem).schedule);
  // The copy waits for its own data.
  Entry wait;
  wait.kind = EntryKind::PhaseWait;
  wait.counter = problem.operations[0].accesses[0].counter;
  wait.region = problem.operations[0].accesses[0].region;
  wait.groups = 1;
  auto copy = std::find_if(scene.program.kernel.begin(), scene.program.kernel.end(),
                           [](const Entry &entry) { return entry.kind == EntryKind::Op && entry.op == 0; });
  ASSERT_NE(copy, scene.program.kernel.end());
  wait.iteration = copy->iteration;
  scene.program.kernel.insert(copy, wait);
  EXPECT_TRUE(makeTimeline(scene.problem, scene.schedule, scene.program, 2).deadlock);
  EXPECT_NE(printPage(scene.picture()).find("wait for each other for ever"), std::string::npos);
}

TEST(Page, EveryOpIsInTheData) {
  for (const Scene &scene : scenes()) {
    Json data = dataOf(printPage(scene.picture()));
    ASSERT_TRUE(data.is_object());
    std::set<std::string> keys;
    for (const Json &op : data["ops"])
      keys.insert(op[0]);
    EXPECT_EQ(keys.size(), scene.problem.operations.size());
    std::set<int> drawn;
    for (const Json &bar : data["bars"])
      drawn.insert(data["events"][bar[0].get<int>()][1].get<int>());
    for (int op = 0; op < scene.problem.numOps(); ++op)
      EXPECT_EQ(drawn.count(op), isSync(scene.problem.operations[op]) ? 0u : 1u) << scene.problem.operations[op].key;
    EXPECT_EQ(data["stagger"].size(), static_cast<size_t>(scene.problem.groups));
  }
}

TEST(Page, IsSelfContained) {
  for (const Scene &scene : scenes()) {
    std::string page = printPage(scene.picture());
    for (const char *outside : {"http:", "https:", "//cdn", " src=", " href=", "@import", "url(", "<link", "<img"})
      EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
}

TEST(Page, HostileNamesStayText) {
  const std::string evil = "</script><script>alert(1)</script><img onerror=\"x\" '&";
  Problem problem = gemm({1, 1, 1, 1, 16, false, false});
  problem.loop = evil;
  for (Operation &op : problem.operations) {
    op.key = evil + op.key + "\xff";
    op.place.file = evil;
    op.origin.tags = {evil};
  }
  for (Region &region : problem.regions)
    region.name = evil + region.name;
  for (Counter &counter : problem.counters)
    counter.name = evil + counter.name;
  for (Resource &resource : problem.resources)
    resource.name = evil + resource.name;
  Schedule schedule = *schedulePrefetch(problem).schedule;
  schedule.algorithm = evil;
  Scene scene(problem, schedule);
  scene.certificate = evil;
  std::erase_if(scene.program.kernel, [](const Entry &entry) { return entry.kind == EntryKind::Barrier; });
  scene.report = verify(scene.problem, scene.schedule, scene.program);
  Picture picture{scene.problem, scene.schedule, scene.program, scene.report, evil, evil, evil};
  std::string page = printPage(picture);
  EXPECT_EQ(countOf(page, "<script"), 2u);
  EXPECT_EQ(countOf(page, "</script>"), 2u);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("alert(1)</s"), std::string::npos);
  EXPECT_TRUE(dataOf(page).is_object());
  EXPECT_TRUE(Json::parse(printTableJson(picture), nullptr, false).is_object());
  EXPECT_TRUE(Json::parse(printTrace(picture), nullptr, false).is_object());
}

TEST(Trace, HasASliceForEveryOpAndArrowsThatEnd) {
  for (const Scene &scene : scenes()) {
    Json trace = Json::parse(printTrace(scene.picture()), nullptr, false);
    ASSERT_TRUE(trace.is_object());
    std::set<std::string> slices, counters;
    std::set<int> processes;
    std::map<int, int> arrows;
    std::map<std::pair<int, int64_t>, std::string> tracks;
    for (const Json &event : trace["traceEvents"]) {
      std::string phase = event["ph"];
      processes.insert(event["pid"].get<int>());
      if (phase == "X") {
        slices.insert(event["name"]);
        EXPECT_GE(event["dur"].get<int64_t>(), 0);
      }
      if (phase == "C")
        counters.insert(event["name"]);
      if (phase == "s" || phase == "f")
        arrows[event["id"].get<int>()] += phase == "s" ? 1 : -1;
    }
    for (const Operation &op : scene.problem.operations)
      if (!isSync(op))
        EXPECT_TRUE(slices.count(op.key)) << op.key;
    EXPECT_EQ(processes.size(), static_cast<size_t>(scene.problem.groups));
    EXPECT_TRUE(counters.count("registers"));
    EXPECT_FALSE(arrows.empty());
    for (auto [id, balance] : arrows)
      EXPECT_EQ(balance, 0);
  }
}

TEST(Picture, GrowsWithTheNumberOfOps) {
  auto sizes = [](int tiles) {
    Problem problem = gemm({2, tiles, tiles, 2, 16, false, false});
    Scene scene(problem, *schedulePrefetch(problem).schedule);
    Picture picture = scene.picture();
    return std::tuple(scene.problem.numOps(), printPage(picture).size(), printTrace(picture).size(),
                      printTableJson(picture).size());
  };
  auto [fewOps, smallPage, smallTrace, smallTable] = sizes(6);
  auto [manyOps, largePage, largeTrace, largeTable] = sizes(20);
  double grown = static_cast<double>(manyOps) / fewOps;
  ASSERT_GT(grown, 8);
  EXPECT_LT(static_cast<double>(largePage) / smallPage, 1.4 * grown);
  EXPECT_LT(static_cast<double>(largeTrace) / smallTrace, 1.4 * grown);
  EXPECT_LT(static_cast<double>(largeTable) / smallTable, 1.4 * grown);
}

TEST(Picture, LoopsWithoutKernelOrOpsAreDrawn) {
  GemmShape shape{1, 1, 1, 1, 16, false, false};
  Problem problem = gemm(shape);
  SyncOptions options;
  options.tripCount = 1;
  Scene one(problem, *scheduleFourStage(problem).schedule, options);
  ASSERT_TRUE(one.program.exactTrips);
  EXPECT_NE(printTable(one.picture()).find("the loop, 1 iteration"), std::string::npos);
  EXPECT_TRUE(dataOf(printPage(one.picture())).is_object());
  Problem nothing;
  Scene empty(nothing, emptySchedule(nothing, "none", 1, Timing::Order));
  EXPECT_FALSE(printTable(empty.picture()).empty());
  EXPECT_TRUE(dataOf(printPage(empty.picture())).is_object());
  EXPECT_TRUE(Json::parse(printTrace(empty.picture()), nullptr, false).is_object());
}
