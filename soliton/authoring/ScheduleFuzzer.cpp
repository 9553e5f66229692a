//===- ScheduleFuzzer.cpp - Text that must not break the readers of schedules ===//
//
// Any text is either refused with a diagnostic or read; what is read prints, in both forms, to text that is read back
// to the same file. Bound to a small loop it is a plan or an error, and a plan can be peeled, synchronized and judged
// by the verifier whatever it says. Long runs: -DSOLITON_FUZZ=ON.
//
//===----------------------------------------------------------------------===//
#include "soliton/authoring/EvaluateSchedule.h"
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/schedule/TestProblems.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace soliton;
using namespace soliton::sched;

namespace {
/// Good files of the loop below, and two whose roles copy what is no box.
constexpr std::string_view kSeeds[] = {
    R"(soliton-schedule 2
loop "K"
interval 2
kernel_copies 2
groups 0 4
stagger 0 1
persistent 132
overlap_tiles
op "e" stage 1 cycle 0
op "f" stage 1 cycle 0
op "a" stage 0 cycle 0
op "c" stage 0 cycle 0
added "w" wait lgkm 0 stage 1 cycle 0 rank 1
added "x" barrier stage 1 cycle 0 rank 2
added "p" priority 1 stage 1 cycle 1
op "g" stage 1 cycle 1
op "b" stage 0 cycle 1
op "d" stage 0 cycle 1
insert prologue end barrier
order prologue "a" 0
waive "a" "" "" "why"
)",
    R"({"format":"soliton-schedule","version":2,"interval":2,"eliminate_epilogue":true,"persistent":2,"buffers":{"shared_a":2},"ops":[
{"key":"e","stage":1,"cycle":0},{"key":"f","stage":1,"cycle":0},{"key":"a","stage":0,"cycle":0},
{"key":"c","stage":0,"cycle":0},{"key":"x","added":"barrier","stage":1,"cycle":1},
{"key":"g","stage":1,"cycle":1},{"key":"b","stage":0,"cycle":1},{"key":"d","stage":0,"cycle":1}],
"insertions":[{"part":"epilogue","at":"end","added":"wait","counter":"vm","value":0}]}
)",
    R"(soliton-schedule 2
interval 1
specialize waves 4 registers 40 "a" "b"
op "a" stage 0 cycle 0
op "b" stage 0 cycle 0
)",
    R"({"format":"soliton-schedule","version":2,"interval":1,"specialize":{"waves":1,"registers":0,"ops":["a"]},"ops":[
{"key":"a","stage":0,"cycle":0}]}
)",
    R"(soliton-schedule 1
interval 1
timing cycles
op "a" stage 0 cycle 0
op "b" stage 0 cycle 0
op "c" stage 0 cycle 0
op "d" stage 0 cycle 0
op "e" stage 0 cycle 0
op "f" stage 0 cycle 0
op "g" stage 0 cycle 0
)",
    R"(Initiation Interval: 2
Number of Stages: 2
Node Name | Node Type | Node Sort Key | Cycle | Relative Cycle | Stage | User Sort Keys
---
a | r | (0,) | 0 | 0 | 0 |
b | w | (1,) | 1 | 1 | 0 |
c | r | (2,) | 0 | 0 | 0 |
d | w | (3,) | 1 | 1 | 0 |
e | r | (4,) | 2 | 0 | 1 |
f | r | (5,) | 2 | 0 | 1 |
g | m | (6,) | 3 | 1 | 1 |
)"};

void require(bool holds, const char *what, const std::string &text) {
  if (holds)
    return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

/// A load, a store, a wait and a barrier put in, a matrix op: short keys that a fuzzer finds.
Problem smallLoop() {
  Problem problem = testing::gemm({1, 1, 1, 1});
  for (size_t i = 0; i < problem.operations.size(); ++i)
    problem.operations[i].key = std::string(1, static_cast<char>('a' + i));
  problem.loop = "K";
  return problem;
}

void judge(const Problem &problem, const ScheduleFile &file) {
  LoopPlan plan = planFromFile(problem, file, file.unrolled, 8);
  if (!plan.ok() || file.interval > 4096)
    return;
  Synchronized made = synchronize(plan);
  verify(plan.problem, plan.schedule, made.program, plan.verifyOptions());
  LoopPlan again = planFromFile(problem, toFile(plan), file.unrolled, 8);
  require(again.ok() && toFile(again).lines.size() == file.lines.size(), "does not survive a plan", printText(file));
}
} // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// Other digits, lines that are gone or twice: most of what comes out can still be read.
static std::string edit(std::string text, std::minstd_rand &random) {
  size_t at = random() % (text.size() + 1);
  size_t begin = text.rfind('\n', at), end = text.find('\n', at);
  if (size_t digit = text.find_first_of("0123456789", at); random() % 4 != 0 && digit != std::string::npos)
    text[digit] = static_cast<char>('0' + random() % 10);
  else if (begin != std::string::npos && end != std::string::npos && begin < end && random() % 2 == 0)
    text.erase(begin, end - begin);
  else if (begin != std::string::npos && end != std::string::npos && begin < end)
    text.insert(begin, text.substr(begin, end - begin));
  return text;
}

/// Now and then starts from a good file again; always if there is nothing yet.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  std::minstd_rand random(seed);
  std::string text(reinterpret_cast<const char *>(data), size);
  if (size < 16 || random() % 8 == 0)
    text = kSeeds[random() % std::size(kSeeds)];
  if (random() % 4 != 0)
    text = edit(std::move(text), random);
  size = std::min(text.size(), maxSize);
  std::copy_n(text.begin(), size, data);
  return random() % 4 == 0 ? LLVMFuzzerMutate(data, size, maxSize) : size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Problem problem = smallLoop();
  std::string_view text(reinterpret_cast<const char *>(data), size);
  std::vector<Diagnostic> diagnostics;
  if (isWaveFile(text)) {
    Schedule schedule = parseWave(problem, text, diagnostics);
    if (diagnostics.empty())
      judge(problem, toFile(problem, schedule));
    return 0;
  }
  std::vector<ScheduleFile> files = parseScheduleFiles(text, diagnostics);
  if (!diagnostics.empty())
    return 0;
  for (const std::string &printed : {printText(files), printJson(files)}) {
    std::vector<ScheduleFile> back = parseScheduleFiles(printed, diagnostics);
    require(diagnostics.empty() && printText(back) == printText(files), "does not read back", printed);
    diff(files.front(), back.back());
  }
  judge(problem, fileOf(problem, files));
  return 0;
}
