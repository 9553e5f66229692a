// Pictures show every phase, group and iteration, stand on their own, and are the same each time.
#include "soliton/display/Svg.h"
#include "soliton/display/SvgBlocks.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/TestProblems.h"

#include <gtest/gtest.h>

#include <set>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
/// A problem with everything that a picture needs, alive.
struct Scene {
  Problem problem;
  Schedule schedule;
  Program program;
  Report report;

  Scene(Problem p, Schedule s) : problem(std::move(p)), schedule(std::move(s)) {
    assignBuffers(problem, schedule);
    program = synchronize(problem, schedule).program;
    report = verify(problem, schedule, program);
  }
  Picture picture() const { return {problem, schedule, program, report, "gemm", "chip", ""}; }
};

Scene prefetched() {
  Problem problem = gemm({2, 2, 4, 2, 16, false, false});
  return {problem, *schedulePrefetch(problem).schedule};
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// Elements that are opened and closed in turn, attributes that are quoted: enough to find text that was not escaped.
bool isBalanced(const std::string &svg) {
  std::vector<std::string> open;
  for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    size_t end = svg.find('>', at);
    if (end == std::string::npos)
      return false;
    std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != tag.substr(1))
        return false;
      open.pop_back();
    } else if (!tag.ends_with("/")) {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
    }
  }
  return open.empty();
}
} // namespace

TEST(Svg, ShowsPhasesLanesAndIterations) {
  std::string svg = printSvg(prefetched().picture());
  for (const char *word : {"prologue", "kernel, trip 1", "kernel, trip 2", "epilogue", "global memory", "shared memory",
                           "matrix unit", "waiting", "modelled", "not measured", "of gemm on chip", "prefetch"})
    EXPECT_TRUE(has(svg, word)) << word;
  for (const char *iteration : {"class=\"i0\"", "class=\"i1\"", "class=\"i2\""})
    EXPECT_TRUE(has(svg, iteration)) << iteration;
  EXPECT_TRUE(has(svg, "class=\"gate\""));
}

TEST(Svg, EveryInstructionIsInABlock) {
  Scene scene = prefetched();
  Picture picture = scene.picture();
  Timeline timeline = makeTimeline(scene.problem, scene.schedule, scene.program, 2);
  SvgBlocks parts = makeBlocks(picture, timeline, 0);
  int64_t busy = 0, expected = 0;
  for (const SvgBlock &block : parts.blocks)
    for (auto [begin, end] : block.busy)
      busy += end - begin;
  for (const Bar &bar : timeline.bars)
    expected += bar.end - bar.begin;
  EXPECT_EQ(busy, expected);
  // Closer together is fewer blocks, of the same work.
  SvgBlocks merged = makeBlocks(picture, timeline, 1000);
  EXPECT_LT(merged.blocks.size(), parts.blocks.size());
}

TEST(Svg, GroupsOfWavesHaveLanesOfTheirOwn) {
  Body ping = pingPong(PingPong::Bf16, {2, 2, 4, 4}, {}, true);
  Scene scene(ping.problem, ping.schedule);
  std::string svg = printSvg(scene.picture());
  EXPECT_TRUE(has(svg, "first waves"));
  EXPECT_TRUE(has(svg, "second waves"));
  EXPECT_TRUE(has(svg, "other waves"));
  std::set<int> groups;
  for (const SvgLane &lane :
       makeBlocks(scene.picture(), makeTimeline(scene.problem, scene.schedule, scene.program, 2), 4).lanes)
    groups.insert(lane.group);
  EXPECT_EQ(groups.size(), 2u);
}

TEST(Svg, StandsOnItsOwnAndIsTheSameEachTime) {
  Scene scene = prefetched();
  std::string svg = printSvg(scene.picture());
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_TRUE(has(svg, "prefers-color-scheme: dark"));
  EXPECT_EQ(svg.find("http", 40), std::string::npos);
  EXPECT_FALSE(has(svg, "href") || has(svg, "@import") || has(svg, "<script"));
  EXPECT_EQ(svg, printSvg(scene.picture()));
}

TEST(Svg, HostileNamesStayText) {
  const std::string evil = "</text><script>alert(1)</script>\"'&\xff\x01";
  Problem problem = gemm({1, 1, 1, 1, 16, false, false});
  problem.loop = evil;
  for (Operation &op : problem.operations)
    op.origin.tags = {evil};
  Schedule schedule = *schedulePrefetch(problem).schedule;
  schedule.algorithm = evil;
  Scene scene(problem, schedule);
  Picture picture{scene.problem, scene.schedule, scene.program, scene.report, evil, evil, ""};
  std::string svg = printSvg(picture);
  EXPECT_FALSE(has(svg, "<script"));
  EXPECT_FALSE(has(svg, "\xff") || has(svg, "\x01"));
  EXPECT_TRUE(isBalanced(svg));
}

TEST(Svg, LoopsWithoutOpsAreDrawn) {
  Problem nothing;
  Scene empty(nothing, emptySchedule(nothing, "none", 1, Timing::Order));
  EXPECT_TRUE(isBalanced(printSvg(empty.picture())));
}
