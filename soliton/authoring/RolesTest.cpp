//===- RolesTest.cpp - Who copies, who walks, and who orders --------------------------------===//
#include "soliton/authoring/Roles.h"
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/authoring/TestWaveSchedule.h"

namespace soliton::sched::testing {
namespace {
using Body = std::function<void(ScheduleContext &)>;

/// The loop of a product whose tiles are copied in boxes: copy a, copy b, product. Those of `c` are copied by all
/// lanes.
Problem copyingLoop() {
  Problem problem;
  problem.loop = "K";
  int boxes = problem.addCounter("boxes", Retirement::Group, 15),
      lanes = problem.addCounter("cp_async", Retirement::Group, 7);
  problem.counters[boxes].ofWorkgroup = true;
  int line = 1;
  auto add = [&](const char *tag, OpKind kind, int counter) {
    Operation op;
    op.key = std::string(tag) + "/0";
    op.kind = kind;
    op.origin.op = line;
    op.origin.tags = {tag};
    op.place = Place("kernel.cpp", line++, 1);
    if (counter >= 0)
      op.ticks = {{counter, 1}};
    problem.addOperation(std::move(op));
  };
  add("read_a", OpKind::CopyAsync, boxes);
  add("read_b", OpKind::CopyAsync, boxes);
  add("mma", OpKind::Mma, -1);
  add("read_c", OpKind::CopyAsync, lanes);
  return problem;
}

LoopPlan plan(const Body &body, bool isOneOfSeveral = false) {
  ScheduleInput input;
  input.loopTags = {"k_loop"};
  input.otherTags = {"read_d"};
  input.isOneOfSeveral = isOneOfSeveral;
  return evaluate({"mine", body}, copyingLoop(), input);
}

/// The one mistake: its id, a place in this file, a hint.
void expectWrong(const Body &body, std::string_view found, DiagId id = DiagId::ScheduleRoles) {
  LoopPlan made = plan(body);
  ASSERT_EQ(made.diagnostics.size(), 1u) << found << "\n" << format(made.diagnostics);
  const Diagnostic &wrong = made.diagnostics.front();
  EXPECT_EQ(wrong.id, id) << format(wrong);
  EXPECT_NE(wrong.message.find(found), std::string::npos) << format(wrong);
  EXPECT_NE(wrong.place.file.find("RolesTest.cpp"), std::string::npos) << format(wrong);
  EXPECT_FALSE(wrong.hint.empty());
}

const std::vector<std::string> kBoth = {"read_a", "read_b"};

TEST(Roles, TagsOrOpsOfTheCopies) {
  for (const Body &body :
       {Body([](ScheduleContext &s) { s.specialize(kBoth, {.waves = 4, .registers = 40}); }),
        Body([](ScheduleContext &s) {
          s.specialize(s.get_node_by_tag("read_a") + s.get_node_by_tag_and_type("read_b", NodeType::GatherToLDS),
                       {.waves = 4, .registers = 40});
        })}) {
    LoopPlan made = plan(body);
    ASSERT_TRUE(made.ok()) << format(made.diagnostics);
    EXPECT_EQ(made.roles.copyingWaves, 4);
    EXPECT_EQ(made.roles.copyingRegisters, 40);
    EXPECT_EQ(made.roles.workgroups, 0);
    EXPECT_FALSE(made.scheduled); // nothing is said of the order
  }
}

TEST(Roles, WhatWavesThatCopyCannotIssue) {
  expectWrong([](ScheduleContext &s) { s.specialize(s.get_node_by_tag("mma")); },
              "`mma/0` is mma, and waves beside those that compute can issue copies of boxes only");
  expectWrong([](ScheduleContext &s) { s.specialize({"read_a", "read_b", "mma"}); }, "`mma/0` is mma");
  expectWrong([](ScheduleContext &s) { s.specialize({"read_c"}); }, "`read_c/0` is copy_async by all lanes");
  expectWrong([](ScheduleContext &s) { s.specialize({"read_a"}); },
              "`read_b/0` is a copy of a box, and no part of the role");
  expectWrong([](ScheduleContext &s) { s.specialize({"read_d"}); }, "`read_a/0` is a copy of a box");
  expectWrong([](ScheduleContext &s) { s.specialize({"reed_a"}); }, "no op of the kernel has the tag `reed_a`",
              DiagId::ScheduleTag);
  expectWrong([](ScheduleContext &s) { s.specialize(s.get_node_by_tag("k_loop")); }, "found the loop itself",
              DiagId::ScheduleArgument);
}

TEST(Roles, NumbersThatNoRoleHas) {
  for (int waves : {-1, 0, 33})
    expectWrong([&](ScheduleContext &s) { s.specialize(kBoth, {.waves = waves}); },
                "a role of " + std::to_string(waves) + " waves, expected 1 to 32");
  for (int registers : {-8, 16, 41, 264})
    expectWrong([&](ScheduleContext &s) { s.specialize(kBoth, {.waves = 4, .registers = registers}); },
                "keep " + std::to_string(registers) + " registers, expected a multiple of 8 from 24 to 256");
  for (int64_t workgroups : {int64_t{-1}, int64_t{0}, int64_t{1} << 40})
    expectWrong([&](ScheduleContext &s) { s.persistent(workgroups); },
                std::to_string(workgroups) + " workgroups that walk tiles, expected 1 to");
}

TEST(Roles, SaidTwice) {
  expectWrong(
      [](ScheduleContext &s) {
        s.specialize(kBoth);
        s.specialize(kBoth);
      },
      "a second role");
  expectWrong(
      [](ScheduleContext &s) {
        s.persistent(132);
        s.persistent(66);
      },
      "66 workgroups walk, and 132 were said before");
  EXPECT_EQ(plan([](ScheduleContext &s) {
              s.persistent(132);
              s.persistent(132);
            }).roles.workgroups,
            132);
  // Neither takes the other's words back.
  EXPECT_TRUE(plan([](ScheduleContext &s) {
                s.persistent(132, {.overlap_tiles = true});
                s.persistent(132);
              }).roles.overlapTiles);
}

/// The function runs for each loop; what it names may all be in another one.
TEST(Roles, CopiesOfAnotherLoop) {
  Problem empty;
  empty.loop = "N";
  ScheduleInput input;
  input.otherTags = {"read_a"};
  WaveSchedule schedule{"mine", [](ScheduleContext &s) { s.specialize({"read_a"}); }};
  LoopPlan alone = evaluate(schedule, empty, input);
  ASSERT_EQ(alone.diagnostics.size(), 1u);
  EXPECT_NE(alone.diagnostics[0].message.find("a role that issues nothing"), std::string::npos);
  input.isOneOfSeveral = true;
  LoopPlan other = evaluate(schedule, empty, input);
  EXPECT_TRUE(other.ok()) << format(other.diagnostics);
  EXPECT_EQ(other.roles.copyingWaves, 0);
}

TEST(Roles, AnAlgorithmOrders) {
  LoopPlan made = plan([](ScheduleContext &s) { s.order_by(s.get_node_by_tag("k_loop"), "ring"); });
  ASSERT_TRUE(made.ok()) << format(made.diagnostics);
  EXPECT_TRUE(made.scheduled);
  EXPECT_EQ(made.orderedBy, "ring");
  expectWrong([](ScheduleContext &s) { s.order_by(s.get_node_by_tag("k_loop"), "wring"); },
              "there is no algorithm `wring`", DiagId::ScheduleUnknown);
  expectWrong(
      [](ScheduleContext &s) {
        Nodes loop = s.get_node_by_tag("k_loop");
        s.order_by(loop, "ring");
        s.order_by(loop, "modulo");
      },
      "gets its order twice", DiagId::ScheduleStage);
  expectWrong(
      [](ScheduleContext &s) {
        Nodes loop = s.get_node_by_tag("k_loop");
        s.order_by(loop, "ring");
        s.insert_at_end(loop, WorkgroupBarrier());
      },
      "leaves the order to `ring`, and the schedule says some of it too", DiagId::ScheduleStage);
}

//===-- Files --------------------------------------------------------------------------------------------===//

ScheduleFile fileWithRoles() {
  LoopPlan made = plan([](ScheduleContext &s) {
    s.specialize(kBoth, {.waves = 4, .registers = 40});
    s.persistent(132, {.overlap_tiles = true});
  });
  EXPECT_TRUE(made.ok()) << format(made.diagnostics);
  return toFile(made);
}

TEST(Roles, FilesHaveThem) {
  ScheduleFile file = fileWithRoles();
  EXPECT_NE(printText(file).find(
                "specialize waves 4 registers 40 \"read_a/0\" \"read_b/0\"\npersistent 132\noverlap_tiles\n"),
            std::string::npos)
      << printText(file);
  for (const std::string &text : {printText(file), printJson(file)}) {
    std::vector<Diagnostic> wrong;
    ScheduleFile back = parseScheduleFile(text, wrong);
    ASSERT_TRUE(wrong.empty()) << format(wrong) << text;
    EXPECT_EQ(printText(back), printText(file));
    EXPECT_EQ(printJson(back), printJson(file));
    EXPECT_TRUE(diff(file, back).empty());
    LoopPlan bound = planFromFile(copyingLoop(), back);
    ASSERT_TRUE(bound.ok()) << format(bound.diagnostics);
    EXPECT_EQ(bound.roles.copyingWaves, 4);
    EXPECT_EQ(bound.roles.copyingRegisters, 40);
    EXPECT_EQ(bound.roles.workgroups, 132);
    EXPECT_TRUE(bound.roles.overlapTiles);
  }
}

TEST(Roles, FilesThatDifferInThem) {
  ScheduleFile file = fileWithRoles(), other = file;
  other.specialized.reset();
  other.persistent = 66;
  other.overlapTiles = false;
  EXPECT_EQ(diff(file, other), (std::vector<std::string>{"~ overlap_tiles on -> off", "~ persistent 132 -> 66",
                                                         "~ specialize specialize waves 4 registers 40 "
                                                         "\"read_a/0\" \"read_b/0\" -> none"}));
}

TEST(Roles, WavesOwnFormatHasNoneOfThem) {
  LoopPlan made = plan([](ScheduleContext &s) {
    s.specialize(kBoth);
    s.persistent(132, {.overlap_tiles = true});
  });
  EXPECT_EQ(lostInWave(made),
            (std::vector<std::string>{"waves that copy", "workgroups that walk tiles", "tiles that overlap"}));
}

TEST(Roles, FilesThatSayWhatCannotBe) {
  auto mistakes = [](std::string_view from, std::string_view to) {
    std::string text = printText(fileWithRoles());
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << text;
    text.replace(at, from.size(), to);
    std::vector<Diagnostic> wrong;
    ScheduleFile file = parseScheduleFile(text, wrong, "mine.schedule");
    return wrong.empty() ? planFromFile(copyingLoop(), file).diagnostics : wrong;
  };
  for (auto [from, to, found] : {std::tuple("\"read_b/0\"\n", "\"mma/0\"\n", "`mma/0` is mma, and waves beside"),
                                 {" \"read_b/0\"\n", "\n", "`read_b/0` is a copy of a box, and no part of the role"},
                                 {" \"read_b/0\"\n", " \"read_e/0\"\n", "has no op `read_e/0`"},
                                 {"waves 4", "waves 40", "a role of 40 waves, expected 1 to 32"},
                                 {"registers 40", "registers 20", "keep 20 registers"},
                                 {"registers 40", "registers", "the line is no"},
                                 {"persistent 132", "persistent 132 6", "the line is no"},
                                 {"overlap_tiles", "overlap_tiles 2", "the line is no"},
                                 {"persistent 132", "specialize waves 1 registers 0 \"read_a/0\"", "the line is no"}}) {
    std::vector<Diagnostic> wrong = mistakes(from, to);
    ASSERT_EQ(wrong.size(), 1u) << to << "\n" << format(wrong);
    EXPECT_NE(wrong[0].message.find(found), std::string::npos) << format(wrong);
    EXPECT_EQ(wrong[0].place.file, "mine.schedule");
    EXPECT_GT(wrong[0].place.line, 1);
  }
}

} // namespace
} // namespace soliton::sched::testing
