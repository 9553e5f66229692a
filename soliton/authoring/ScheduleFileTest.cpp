// Schedules survive their files; no text crashes the readers.
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Certificate.h"
#include "soliton/schedule/TestProblems.h"
#include "soliton/schedule/Verify.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
Schedule fit(const Problem &problem, const ScheduleFile &file, std::vector<Diagnostic> &diagnostics) {
  LoopPlan plan = planFromFile(problem, file, file.unrolled, 8);
  diagnostics.insert(diagnostics.end(), plan.diagnostics.begin(), plan.diagnostics.end());
  return plan.schedule;
}

Schedule read(const Problem &problem, const std::string &text, std::vector<Diagnostic> &diagnostics) {
  ScheduleFile file = parseScheduleFile(text, diagnostics);
  return diagnostics.empty() ? fit(problem, file, diagnostics) : Schedule{};
}
} // namespace

TEST(ScheduleFile, TextAndJsonGiveTheScheduleBack) {
  Problem problem = gemm({});
  problem.operations[0].key = "odd \"key\"\\ # \n with é and all";
  for (Algorithm algorithm : {Algorithm::None, Algorithm::Prefetch, Algorithm::FourStage, Algorithm::Modulo}) {
    Schedule schedule = *scheduleWith(algorithm, problem).schedule;
    for (const std::string &text : {printText(toFile(problem, schedule)), printJson(toFile(problem, schedule))}) {
      std::vector<Diagnostic> diagnostics;
      Schedule back = read(problem, text, diagnostics);
      ASSERT_TRUE(diagnostics.empty()) << format(diagnostics) << text;
      EXPECT_EQ(back.slots, schedule.slots);
      EXPECT_EQ(back.interval, schedule.interval);
      EXPECT_EQ(back.timing, schedule.timing);
      EXPECT_EQ(back.algorithm, schedule.algorithm);
      for (size_t region = 0; region < problem.regions.size(); ++region)
        if (problem.regions[region].space == Space::Shared)
          EXPECT_EQ(back.buffers[region], schedule.buffers[region]);
      EXPECT_TRUE(verify(problem, back).ok());
    }
  }
}

TEST(ScheduleFile, KeyedByIdentityNotByPosition) {
  Problem problem = gemm({});
  Schedule schedule = *schedulePrefetch(problem).schedule;
  ScheduleFile file = toFile(problem, schedule);
  // The same kernel with its operands read in another order.
  Problem edited = problem;
  std::swap(edited.operations[0], edited.operations[2]);
  std::swap(edited.operations[1], edited.operations[3]);
  std::vector<Diagnostic> diagnostics;
  Schedule bound = fit(edited, file, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << format(diagnostics);
  EXPECT_EQ(bound.slots[2], schedule.slots[0]);
  EXPECT_TRUE(verify(edited, bound).ok());
}

TEST(ScheduleFile, UnknownRepeatedAndMissingOps) {
  Problem problem = gemm({1, 1, 1, 1});
  Schedule schedule = *schedulePrefetch(problem).schedule;
  ScheduleFile file = toFile(problem, schedule);
  file.name = "my.schedule";
  file.lines[0].key = "mma/0.0.1";
  file.lines[1] = file.lines[2];
  std::vector<Diagnostic> diagnostics;
  fit(problem, file, diagnostics);
  int unknown = 0, missing = 0;
  bool suggested = false;
  for (const Diagnostic &diag : diagnostics) {
    unknown += diag.id == DiagId::ScheduleUnknownOp;
    missing += diag.id == DiagId::ScheduleMissingOp;
    suggested |= diag.hint == "did you mean `mma/0.0.0`?";
  }
  EXPECT_EQ(unknown, 2);
  EXPECT_EQ(missing, 2);
  EXPECT_TRUE(suggested);
}

TEST(ScheduleFile, MalformedLinesAreErrorsWithTheirLine) {
  for (const char *text :
       {"", "soliton-schedule 3\n", "nonsense\n", "soliton-schedule 1\nop \"a\" stage 0\n",
        "soliton-schedule 1\nop \"a\" stage -1 cycle 0\n", "soliton-schedule 1\ninterval 0\n",
        "soliton-schedule 1\ninterval 99999999999\n", "soliton-schedule 1\ntiming soon\n",
        "soliton-schedule 1\nop \"unterminated stage 0 cycle 0\n", "{", "{}", "{\"format\": \"soliton-schedule\"}",
        "{\"format\": \"soliton-schedule\", \"version\": 1, \"interval\": 1.5, \"ops\": []}",
        "{\"format\": \"soliton-schedule\", \"version\": 1, \"interval\": 1, \"ops\": [{\"key\": 3}]}",
        "[[[[[[[[[[[[[[[[", "{\"a\":[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]}"}) {
    std::vector<Diagnostic> diagnostics;
    parseScheduleFile(text, diagnostics);
    ASSERT_EQ(diagnostics.size(), 1u) << text;
    EXPECT_EQ(diagnostics[0].id, DiagId::ScheduleFile);
  }
  std::vector<Diagnostic> diagnostics;
  parseScheduleFile("soliton-schedule 1\n# comment\n\ninterval 2\nbogus\n", diagnostics, "x.schedule");
  EXPECT_EQ(diagnostics[0].place, Place("x.schedule", 5, 1));
}

TEST(ScheduleFile, DiffNamesWhatChanged) {
  Problem problem = gemm({1, 1, 1, 1});
  Schedule schedule = *schedulePrefetch(problem).schedule;
  ScheduleFile before = toFile(problem, schedule), after = before;
  EXPECT_TRUE(diff(before, after).empty());
  after.interval = 3;
  after.buffers["shared_a"] = 2;
  after.lines[0].slot.stage += 1;
  std::string key = after.lines[1].key;
  after.lines[1].key = "new";
  std::vector<std::string> changes = diff(before, after);
  ASSERT_EQ(changes.size(), 5u);
  EXPECT_EQ(changes[0], "~ interval 2 -> 3");
  EXPECT_EQ(changes[1], "~ buffers shared_a 1 -> 2");
  EXPECT_TRUE(changes[2].starts_with("~ " + before.lines[0].key));
  EXPECT_TRUE(changes[3].starts_with("+ new"));
  EXPECT_TRUE(changes[4].starts_with("- " + key));
}

TEST(WaveFile, RoundTripByNameAndBySortKey) {
  Problem problem = gemm({});
  Schedule schedule = *scheduleModulo(problem).schedule;
  std::string text = printWave(problem, schedule);
  std::vector<Diagnostic> diagnostics;
  Schedule back = parseWave(problem, text, diagnostics);
  ASSERT_TRUE(diagnostics.empty()) << format(diagnostics);
  EXPECT_EQ(back.interval, schedule.interval);
  for (int op = 0; op < problem.numOps(); ++op)
    EXPECT_EQ(back.time(op), schedule.time(op));
  // Other names, same positions: sort keys decide.
  Problem renamed = problem;
  for (Operation &op : renamed.operations)
    op.key += "_renamed";
  back = parseWave(renamed, text, diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  EXPECT_EQ(back.slots.size(), schedule.slots.size());
  EXPECT_EQ(back.time(3), schedule.time(3));
}

TEST(WaveFile, BadRowsAreErrorsNotSkipped) {
  Problem problem = gemm({1, 1, 1, 1});
  std::string head = "Initiation Interval: 2\nNumber of Stages: 1\n"
                     "Node Name | Node Type | Node Sort Key | Cycle | Relative Cycle | Stage | User Sort Keys\n";
  for (const char *row :
       {"a | b\n", "x | Read | (999,) | 0 | 0 | 0 |\n", "x | Read | (0,) | 3 | 0 | 0 |\n",
        "x | Read | (0 | 0 | 0 | 0 |\n", "x | Read | (0,) | 0 | 0 | 0 |\nx | Read | (0,) | 0 | 0 | 0 |\n"}) {
    std::vector<Diagnostic> diagnostics;
    parseWave(problem, head + row, diagnostics);
    EXPECT_EQ(diagnostics.size(), 1u) << row;
  }
}

TEST(ScheduleFile, RandomDamageNeverCrashes) {
  Problem problem = gemm({1, 1, 1, 1});
  Schedule schedule = *scheduleModulo(problem).schedule;
  std::vector<std::string> texts = {printText(toFile(problem, schedule)), printJson(toFile(problem, schedule)),
                                    printWave(problem, schedule), scheduleExact(problem).certificate};
  std::mt19937 random(3);
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = texts[round % texts.size()];
    for (int k = 1 + static_cast<int>(random() % 4); k > 0; --k) {
      size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, random() % 20);
      else if (random() % 2 == 0)
        text[at] = static_cast<char>(random() % 256);
      else
        text.insert(at, text.substr(random() % text.size(), random() % 30));
      if (text.empty())
        text = " ";
    }
    std::vector<Diagnostic> diagnostics;
    Schedule back = round % 4 == 2 ? parseWave(problem, text, diagnostics) : Schedule{};
    if (round % 4 < 2)
      back = read(problem, text, diagnostics);
    if (round % 4 == 3)
      checkCertificate(problem, text);
    else if (diagnostics.empty()) {
      ++accepted;
      if (back.slots.size() == problem.operations.size())
        verify(problem, back);
    }
  }
  EXPECT_GT(accepted, 0);
}
