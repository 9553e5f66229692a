// Waves that copy are drawn beside those that compute, each with what it executes, and who waits for whom.
#include "soliton/display/Page.h"
#include "soliton/display/Summary.h"
#include "soliton/display/Svg.h"
#include "soliton/display/SvgBlocks.h"
#include "soliton/display/Table.h"
#include "soliton/display/Trace.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/TestProblems.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;
using Json = nlohmann::json;

namespace {
/// A tile that one lane copies, a product that reads it by itself, and arithmetic on its sum; a tile is `latency`
/// cycles on its way.
Problem copiedByOneLane(int latency) {
  Problem problem;
  int boxes = problem.addCounter("boxes", Retirement::Group, 15),
      mma = problem.addCounter("mma", Retirement::Group, 15);
  problem.counters[boxes].ofWorkgroup = true;
  int unit = problem.addResource("mma");
  problem.resources[unit].waves = 2;
  Region tile;
  tile.name = "tile";
  tile.space = Space::Shared;
  tile.size = 1024;
  Region sum;
  sum.name = "sum";
  int region = problem.addRegion(tile), register_ = problem.addRegion(sum);
  Operation copy = makeOp("read_a/copy", OpKind::CopyAsync, latency), product = makeOp("mma", OpKind::Mma, 64),
            use = makeOp("use", OpKind::Valu, 4);
  copy.ticks = {{boxes, 1}};
  copy.accesses = {writes(region, boxes)};
  product.ticks = {{mma, 1}};
  product.accesses = {reads(region, mma), writes(register_, mma)};
  product.reservations = {{unit, 0, 64, 1}};
  use.accesses = {reads(register_)};
  for (Operation *op : {&copy, &product, &use})
    problem.addOperation(*op);
  return problem;
}

/// Copied two iterations ahead; what is done with a buffer is released.
struct Scene {
  Problem problem;
  Schedule schedule;
  Program program;
  Report report;
  Crew crew;

  explicit Scene(Crew crew, int latency = 600) : problem(copiedByOneLane(latency)), crew(crew) {
    schedule = emptySchedule(problem, "manual", 1, Timing::Order);
    schedule.slots = {{0, 0, 0, 2}, {2, 0, 0, 0}, {2, 0, 0, 1}};
    schedule.buffers = {3, 0};
    schedule.releases = true;
    program = synchronize(problem, schedule).program;
    report = verify(problem, schedule, program);
  }
  Picture picture() const {
    Picture made{problem, schedule, program, report, "gemm", "chip", ""};
    made.crew = crew;
    return made;
  }
};

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// What a group executes in a trip of the kernel.
std::string executed(const ByRole &parts, int group) {
  std::string text;
  for (const Entry &entry : parts.program.kernel)
    if (entry.groups >> group & 1) {
      Entry plain = entry;
      plain.groups = kAllGroups;
      text += (text.empty() ? "" : ", ") + toString(parts.problem, plain);
    }
  return text;
}
} // namespace

TEST(ByRole, EachExecutesItsPart) {
  Scene scene({.copying = 4, .computing = 8});
  ByRole parts = *divideByRole(scene.problem, scene.program, scene.crew);
  EXPECT_EQ(parts.names, (std::vector<std::string>{"waves 0 to 3 compute", "waves 4 to 7 compute", "wave 8 copies"}));
  const std::string computing = "mma @+0, commit mma, wait boxes 0, wait mma 0, release, use @+0";
  EXPECT_EQ(executed(parts, 0), computing);
  EXPECT_EQ(executed(parts, 1), computing);
  EXPECT_EQ(executed(parts, 2), "wait boxes 0, await 1, read_a/copy @+2, commit boxes");
}

TEST(ByRole, NothingToDivide) {
  Scene alone({});
  EXPECT_FALSE(divideByRole(alone.problem, alone.program, alone.crew));
  EXPECT_EQ(divideByRole(alone.problem, alone.program, {.copying = 1, .computing = 6})->names,
            (std::vector<std::string>{"waves 0 to 5 compute", "wave 6 copies"}));
}

/// Those that compute wait for the tile, the one that copies until they are done with a buffer; nothing hangs.
TEST(ByRole, RolesWaitForEachOther) {
  for (int latency : {40, 600}) {
    Scene scene({.copying = 4, .computing = 8}, latency);
    Summary summary = summarize(scene.picture());
    EXPECT_FALSE(summary.timeline.deadlock);
    std::set<std::pair<int, Stall>> across;
    for (const Event &event : summary.timeline.events)
      if (isWaiting(event) && event.blame >= 0 && summary.timeline.events[event.blame].group != event.group)
        across.insert({event.group, event.stall});
    if (latency == 600) {
      EXPECT_TRUE(across.contains({0, Stall::Counter}));
      EXPECT_TRUE(across.contains({1, Stall::Counter}));
    } else {
      EXPECT_TRUE(across.contains({2, Stall::Release}));
    }
    // No trip is shorter than what keeps a unit busy.
    EXPECT_GE(summary.modelled, summary.bounds.resource);
  }
}

TEST(RolesPicture, LanesOfEachRole) {
  Scene scene({.copying = 4, .computing = 8});
  std::string svg = printSvg(scene.picture());
  for (const char *word :
       {"waves 0 to 3 compute", "waves 4 to 7 compute", "wave 8 copies", "8 waves compute, 1 copies", "class=\"hand\""})
    EXPECT_TRUE(has(svg, word)) << word;
  EXPECT_EQ(svg, printSvg(scene.picture()));
  std::string without = printSvg(Scene({}).picture());
  for (const char *word : {"copies", "class=\"hand\" d"})
    EXPECT_FALSE(has(without, word)) << word;
}

TEST(RolesPicture, PausesSayWhoIsWaitedFor) {
  auto reasons = [](int group, int latency) {
    Scene scene({.copying = 4, .computing = 8}, latency);
    Summary summary = summarize(scene.picture());
    std::set<std::string> found;
    for (const SvgPause &pause : makeBlocks(summary.drawn->picture(), summary.timeline, 4).pauses)
      if (pause.group == group)
        found.insert(pause.labels.front());
    return found;
  };
  EXPECT_TRUE(reasons(0, 600).contains("waits for the copy of read_a"));
  EXPECT_TRUE(reasons(2, 40).contains("waits until others are done with a buffer"));
}

TEST(RolesPicture, ThePageHasThem) {
  Scene scene({.copying = 4, .computing = 8});
  std::string page = printPage(scene.picture()), open = "<script type=\"application/json\" id=\"data\">";
  EXPECT_TRUE(has(page, "8 waves compute, 1 copies for them"));
  size_t begin = page.find(open) + open.size();
  Json data = Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(data["groups"], Json({"waves 0 to 3 compute", "waves 4 to 7 compute", "wave 8 copies"}));
  // Copies are events of the last group alone, and every lane of its is one where copies stand.
  for (const Json &event : data["events"])
    if (event[1] == 0)
      EXPECT_EQ(event[0], 2);
    else if (event[1] > 0)
      EXPECT_LT(event[0], 2);
  std::set<int> groups;
  for (const Json &lane : data["lanes"])
    groups.insert(lane["group"].get<int>());
  EXPECT_EQ(groups, (std::set<int>{0, 1, 2}));
}

TEST(RolesPicture, TableAndTraceNameThem) {
  Scene scene({.copying = 1, .computing = 4});
  EXPECT_TRUE(has(printTable(scene.picture()), "  roles       4 waves compute, 1 copies\n"))
      << printTable(scene.picture());
  std::string trace = printTrace(scene.picture());
  for (const char *word : {"waves 0 to 3 compute", "wave 4 copies"})
    EXPECT_TRUE(has(trace, word)) << word;
}
