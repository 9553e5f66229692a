// What a schedule puts in survives its file: barriers, waits, hints, groups of waves, unrolling, orders, waivers.
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/authoring/TestWaveSchedule.h"

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
constexpr int kWaves = 8;

/// The plan through text and JSON: the same program comes out, and the same file.
void expectSurvives(const LoopPlan &plan, TaggedGemm shape) {
  ASSERT_EQ(judge(plan), "");
  shape.unrolled = plan.unrollFirst;
  Problem loop = taggedGemm(shape);
  ScheduleFile file = toFile(plan);
  for (const std::string &text : {printText(file), printJson(file)}) {
    std::vector<Diagnostic> diagnostics;
    ScheduleFile read = parseScheduleFile(text, diagnostics, "x.schedule");
    ASSERT_TRUE(diagnostics.empty()) << format(diagnostics) << text;
    EXPECT_EQ(diff(file, read), std::vector<std::string>());
    LoopPlan back = planFromFile(loop, read, plan.unrollFirst, kWaves);
    ASSERT_TRUE(back.ok()) << format(back.diagnostics) << text;
    EXPECT_EQ(printText(toFile(back)), printText(file));
    EXPECT_EQ(toString(back.problem, synchronize(back).program), toString(plan.problem, synchronize(plan).program));
    EXPECT_EQ(back.groupStart, plan.groupStart);
    EXPECT_EQ(back.strict, plan.strict);
    EXPECT_EQ(judge(back), "");
  }
}

/// Two clusters, hints, waits and barriers, half of the waves one barrier behind.
void pingPong(ScheduleContext &s) {
  Parts parts(s);
  auto p = prefetch(s, parts, {.eliminate_epilogue = true, .unroll_factor = 2});
  s.reorder_graph(p.KERNEL, {s.cluster({parts.reads, parts.loads, SchedulingBarrier({InstructionClass::VALU})}),
                             s.cluster({SharedMemoryBarrier(), SetWavePrio(1), parts.mma, SetWavePrio(0),
                                        SchedulingGroupBarrier({{InstructionClass::MMA, 4}}, 1)}),
                             s.cluster({SharedMemoryBarrier(), parts.writes, SharedMemoryBarrier()})});
  s.stagger(p.KERNEL);
}

ScheduleFile small() {
  ScheduleFile file = toFile(run([](ScheduleContext &s) {
    Parts parts(s);
    auto p = prefetch(s, parts);
    s.insert_at_start(p.KERNEL, WorkgroupBarrier());
  }));
  file.name = "x.schedule";
  return file;
}

/// The only diagnostic of a file on the plain loop.
Diagnostic wrongFile(const ScheduleFile &file) {
  LoopPlan plan = planFromFile(taggedGemm({}), file, 1, kWaves);
  EXPECT_EQ(plan.diagnostics.size(), 1u) << format(plan.diagnostics);
  EXPECT_FALSE(plan.ok());
  return plan.diagnostics.empty() ? Diagnostic{Severity::remark, DiagId::ScheduleRemark, {}, {}, {}, {}}
                                  : plan.diagnostics.front();
}

//===- Round trips -------------------------------------------------------------------===//

TEST(ScheduleFilePlan, PingPongSurvives) {
  LoopPlan plan = run(pingPong, {}, kWaves);
  ScheduleFile file = toFile(plan);
  EXPECT_TRUE(file.eliminateEpilogue);
  EXPECT_EQ(file.kernelCopies, 2);
  EXPECT_EQ(file.groupStart, (std::vector<int>{0, 4}));
  EXPECT_EQ(file.stagger, (std::vector<int>{0, 1}));
  std::string text = printText(file);
  for (const char *line : {"\ngroups 0 4\n", "\nstagger 0 1\n", "\nkernel_copies 2\n", "\neliminate_epilogue\n",
                           " priority 1 stage 1", " sched_group 8 4 1 stage 1", " barrier stage 1", " wait "})
    EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
  expectSurvives(plan, {});
}

TEST(ScheduleFilePlan, UnrolledLoopSurvivesAndAsksForItsCopies) {
  LoopPlan plan = run(
      [](ScheduleContext &s) {
        s.unroll(s.get_node_by_tag("k_loop"), 2);
        Parts parts(s);
        prefetch(s, parts);
      },
      {}, kWaves);
  expectSurvives(plan, {});
  LoopPlan asks = planFromFile(taggedGemm({}), toFile(plan), 1, kWaves);
  EXPECT_TRUE(asks.ok());
  EXPECT_EQ(asks.unrollFirst, 2);
}

TEST(ScheduleFilePlan, OrdersInsertionsAndWaiversSurvive) {
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
        s.waive_latency_only(s.getitem(parts.loads, 0), {}, "a \"reason\"");
      },
      shape, kWaves);
  ScheduleFile file = toFile(plan);
  EXPECT_TRUE(file.directCopies);
  EXPECT_EQ(file.insertions.size(), 4u);
  EXPECT_FALSE(file.orders.empty());
  EXPECT_EQ(file.waivers.size(), 1u);
  expectSurvives(plan, shape);
}

TEST(ScheduleFilePlan, RegionsOfOneNameKeepTheirBuffers) {
  Problem problem = taggedGemm({});
  Schedule schedule = emptySchedule(problem, "test", 1, Timing::Order);
  for (Slot &slot : schedule.slots)
    slot.stage = 0;
  int count = 0;
  schedule.buffers.assign(problem.regions.size(), 0);
  for (size_t i = 0; i < problem.regions.size(); ++i)
    if (problem.regions[i].space == Space::Shared && problem.regions[i].rotating) {
      problem.regions[i].name = "tile";
      schedule.buffers[i] = ++count;
    }
  ASSERT_GE(count, 2);
  ScheduleFile file = toFile(problem, schedule);
  EXPECT_EQ(file.buffers.at("tile"), 1);
  EXPECT_EQ(file.buffers.at("tile#2"), 2);
  EXPECT_EQ(planFromFile(problem, file).schedule.buffers, schedule.buffers);
}

//===- Differences -------------------------------------------------------------------===//

TEST(ScheduleFilePlan, DiffNamesWhatWasPutIn) {
  ScheduleFile before = toFile(run(pingPong, {}, kWaves)), after = before;
  auto added = std::find_if(after.lines.begin(), after.lines.end(),
                            [](const auto &line) { return line.added && line.added->kind == OpKind::Wait; });
  ASSERT_NE(added, after.lines.end());
  added->added->value = 7;
  after.eliminateEpilogue = false;
  after.stagger.clear();
  after.insertions.push_back({Phase::Prologue, false, -1, {}, 0});
  std::vector<std::string> changes = diff(before, after);
  ASSERT_EQ(changes.size(), 4u);
  EXPECT_EQ(changes[0], "~ eliminate_epilogue on -> off");
  EXPECT_EQ(changes[1], "~ stagger 0 1 -> 0");
  EXPECT_TRUE(changes[2].starts_with("~ " + added->key + ": wait ")) << changes[2];
  EXPECT_NE(changes[2].find(" 7 stage"), std::string::npos) << changes[2];
  EXPECT_EQ(changes[3], "+ insert prologue end barrier");
}

//===- Mistakes ----------------------------------------------------------------------===//

TEST(ScheduleFilePlan, LinesThatNoReaderTakes) {
  const std::string head = "soliton-schedule 2\n";
  for (const char *line : {"added \"a\" stage 0 cycle 0",
                           "added \"a\" fence stage 0 cycle 0",
                           "added \"a\" wait vm stage 0 cycle 0",
                           "added \"a\" priority 4 stage 0 cycle 0",
                           "added \"a\" sched_group 8 0 0 stage 0 cycle 0",
                           "added \"a\" barrier groups 1 stage 0 cycle 0",
                           "added \"a\" barrier groups 99 stage 0 cycle 0",
                           "added \"a\" barrier",
                           "unrolled 0",
                           "unrolled 65",
                           "kernel_copies 0",
                           "kernel_copies",
                           "groups",
                           "groups 4",
                           "groups 0 0",
                           "groups 0 1 2",
                           "stagger 0 1",
                           "stagger 99",
                           "eliminate_epilogue 1",
                           "insert kernel end barrier",
                           "insert prologue middle barrier",
                           "insert prologue end priority 1",
                           "order prologue \"a\"",
                           "waive \"a\" \"b\"",
                           "buffers \"a\" 0",
                           "buffers \"a\" 999",
                           "interval 2000000",
                           "op \"a\" stage 256 cycle 0",
                           "op \"a\" stage 0 cycle 1",
                           "op \"a\" added barrier stage 0 cycle 0"}) {
    std::vector<Diagnostic> diagnostics;
    parseScheduleFile(head + line + "\n", diagnostics);
    ASSERT_EQ(diagnostics.size(), 1u) << line << "\n" << format(diagnostics);
    EXPECT_EQ(diagnostics[0].id, DiagId::ScheduleFile);
  }
}

TEST(ScheduleFilePlan, FieldsThatNoReaderTakesAreNamed) {
  auto wrong = [](const std::string &fields) {
    std::vector<Diagnostic> diagnostics;
    parseScheduleFile(R"({"format": "soliton-schedule", "version": 2, "interval": 1, )" + fields + "}", diagnostics);
    EXPECT_EQ(diagnostics.size(), 1u) << fields;
    return diagnostics.empty() ? std::string() : diagnostics[0].message;
  };
  const std::string slot = R"("stage": 0, "cycle": 0)";
  for (const auto &[fields, path] : std::initializer_list<std::pair<std::string, std::string>>{
           {R"("ops": [], "unrolled": "two")", "unrolled"},
           {R"("ops": [], "groups": [0, "x"])", "groups"},
           {R"("ops": [], "strict": 1)", "strict"},
           {R"("ops": [], "eliminate_prologue": true)", "eliminate_prologue"},
           {R"("ops": [{"key": "a", "cicle": 1, )" + slot + "}]", "ops[0].cicle"},
           {R"("ops": [{"key": "a", )" + slot + R"(}, 3])", "ops[1]"},
           {R"("ops": [{"key": "a", "added": "fence", )" + slot + "}]", "ops[0].added"},
           {R"("ops": [{"key": "a", "added": "wait", "value": 1, )" + slot + "}]", "ops[0].counter"},
           {R"("ops": [{"key": "a", "added": "priority", )" + slot + "}]", "ops[0].arguments"},
           {R"("ops": [{"key": "a", "added": "barrier", "value": 1, )" + slot + "}]", "ops[0].value"},
           {R"("ops": [], "insertions": [{"part": "kernel", "at": "end", "added": "barrier"}])", "insertions[0].part"},
           {R"("ops": [], "insertions": [{"part": "prologue", "at": 1.5, "added": "barrier"}])", "insertions[0].at"},
           {R"("ops": [], "orders": [{"part": "prologue", "key": "a"}])", "orders[0].rank"},
           {R"("ops": [], "waivers": [{"from": 1}])", "waivers[0].from"}})
    EXPECT_TRUE(wrong(fields).starts_with("`" + path + "` ")) << fields << ": " << wrong(fields);
}

TEST(ScheduleFilePlan, Version1HasNothingOfVersion2) {
  for (const char *line : {"unrolled 2", "strict", "added \"a\" barrier stage 0 cycle 0"}) {
    std::vector<Diagnostic> diagnostics;
    parseScheduleFile(std::string("soliton-schedule 1\n") + line + "\n", diagnostics, "old");
    ASSERT_EQ(diagnostics.size(), 1u) << line;
    EXPECT_EQ(diagnostics[0].place, Place("old", 2, 1));
    EXPECT_NE(diagnostics[0].message.find("version 1"), std::string::npos) << diagnostics[0].message;
  }
}

TEST(ScheduleFilePlan, WhatDoesNotFitTheLoopIsReportedWithItsLine) {
  ScheduleFile file = small();
  auto added = std::find_if(file.lines.begin(), file.lines.end(), [](const auto &line) { return line.added; });
  ASSERT_NE(added, file.lines.end());
  added->line = 12;

  ScheduleFile counter = file;
  counter.lines[added - file.lines.begin()].added = {OpKind::Wait, HintKind::None, "nothing", 0, {}, kAllGroups};
  Diagnostic wrong = wrongFile(counter);
  EXPECT_EQ(wrong.id, DiagId::ScheduleArgument);
  EXPECT_EQ(wrong.place, Place("x.schedule", 12, 1));
  EXPECT_NE(wrong.hint.find("vm"), std::string::npos) << wrong.hint;

  ScheduleFile twice = file;
  twice.lines.push_back(*added);
  EXPECT_EQ(wrongFile(twice).id, DiagId::ScheduleUnknownOp);
  ScheduleFile taken = file;
  taken.lines.push_back(*added);
  taken.lines.back().key = file.lines.back().key;
  EXPECT_EQ(wrongFile(taken).id, DiagId::ScheduleUnknownOp);
  ScheduleFile order = file;
  order.orders.push_back({Phase::Prologue, "nobody", 0, 3});
  EXPECT_EQ(wrongFile(order).place, Place("x.schedule", 3, 1));
  ScheduleFile waiver = file;
  waiver.waivers.push_back({"", "nobody", "", "why"});
  EXPECT_EQ(wrongFile(waiver).id, DiagId::ScheduleUnknownOp);
  ScheduleFile groups = file;
  groups.groupStart = {0, kWaves};
  EXPECT_EQ(wrongFile(groups).id, DiagId::ScheduleStagger);
}

TEST(ScheduleFilePlan, WaveHasNoPlaceForWhatIsPutIn) {
  EXPECT_FALSE(lostInWave(run(pingPong, {}, kWaves)).empty());
  LoopPlan plain = run([](ScheduleContext &s) { prefetch(s, Parts(s)); });
  EXPECT_TRUE(lostInWave(plain).empty());
  EXPECT_TRUE(isWaveFile("\n# by hand\n" + printWave(plain.problem, plain.schedule)));
  EXPECT_FALSE(isWaveFile(printText(toFile(plain))));
  EXPECT_FALSE(isWaveFile(printJson(toFile(plain))));
  EXPECT_FALSE(isWaveFile(""));
}

} // namespace
