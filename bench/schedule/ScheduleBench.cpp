//===- ScheduleBench.cpp - How long scheduling takes -----------------------===//
//
// First how long it takes to find one schedule: times MODULO and what follows it (buffers, barriers, waits,
// verification) on GEMM loops as the compiler expands them, from a few dozen to 5,000 ops, and prints one JSON object
// per size. CPU time of this process, best of five.
//
//   ScheduleBench > results.json
//
// `per_op_us` should stay nearly constant: the bar is 50 ms for several hundred ops and near linear up to 5,000.
//
// Then how many candidates a second a search can have judged (Judge.h), each a change of the one before, and how many
// of them get the verdict that they get from scratch:
//
//   ScheduleBench --judge [candidates]      the bar is 2,000 a second at 190 ops, and all verdicts equal
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Judge.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/TestCandidates.h"
#include "soliton/schedule/TestProblems.h"
#include "soliton/schedule/Verify.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
double now() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

template <typename Function>
double best(Function function) {
  double shortest = 1e30;
  for (int round = 0; round < 5; ++round) {
    double begin = now();
    function();
    shortest = std::min(shortest, now() - begin);
  }
  return shortest;
}

void measure(const char *name, const GemmShape &shape) {
  Problem problem = gemm(shape);
  Scheduled found;
  double modulo = best([&] { found = scheduleModulo(problem); });
  if (!found.schedule) {
    std::printf("{\"loop\": \"%s\", \"error\": \"no schedule\"}\n", name);
    return;
  }
  Synchronized made;
  double sync = best([&] { made = synchronize(problem, *found.schedule); });
  bool ok = false;
  double check = best([&] { ok = verify(problem, *found.schedule, made.program).ok(); });
  std::printf("{\"loop\": \"%s\", \"ops\": %d, \"interval\": %d, \"bound\": %d, \"stages\": %d, \"modulo_ms\": %.2f, "
              "\"per_op_us\": %.2f, \"synchronize_ms\": %.2f, \"verify_ms\": %.2f, \"ok\": %s}\n",
              name, problem.numOps(), found.schedule->interval, found.bounds.lower(), found.schedule->stages(), modulo,
              1e3 * modulo / problem.numOps(), sync, check, ok ? "true" : "false");
}

/// Cycles through candidates near a schedule; `all` judged, and those of them that are right, per second of one core.
void judgeMany(const char *name, const GemmShape &shape, Algorithm algorithm, int count, bool compare) {
  Problem problem = gemm(shape);
  Schedule start = *scheduleWith(algorithm, problem).schedule;
  start.buffers.clear();
  Judge judge(problem);
  judge.judge(start);
  Candidates next(problem, start, 1);
  double all = 0, right = 0;
  int accepted = 0, equal = 0;
  for (int i = 0; i < count; ++i) {
    std::vector<Change> changes = next.propose(judge.schedule());
    double begin = now();
    Verdict verdict = judge.rejudge(changes);
    double took = now() - begin;
    all += took;
    right += verdict.accepted ? took : 0;
    accepted += verdict.accepted;
    equal += compare && verdict == verdictFromScratch(problem, next.schedule());
    if (std::vector<Change> back = next.settle(verdict.accepted); !back.empty())
      judge.rejudge(back);
  }
  std::printf("{\"judge\": \"%s, %s\", \"ops\": %d, \"candidates\": %d, \"per_second\": %.0f, \"right\": %d, "
              "\"right_per_second\": %.0f",
              name, std::string(nameOf(algorithm)).c_str(), problem.numOps(), count, 1e3 * count / all, accepted,
              accepted > 0 ? 1e3 * accepted / right : 0.0);
  if (compare)
    std::printf(", \"equal_to_scratch\": %d", equal);
  std::printf("}\n");
  std::fflush(stdout);
}

int judgeAll(int count) {
  for (Algorithm algorithm : {Algorithm::Modulo, Algorithm::Prefetch})
    judgeMany("gemm 8x4x4, a wave of 256x256x64 on 8 waves", {4, 8, 4, 4, 16, false, false}, algorithm, count, true);
  judgeMany("gemm 8x4x4, direct copies", {4, 8, 4, 4, 16, true, false}, Algorithm::Modulo, count, true);
  for (const GemmShape &shape : {GemmShape{8, 8, 8, 8, 16, false, false}, GemmShape{8, 16, 16, 8, 8, false, false},
                                 GemmShape{8, 16, 16, 16, 8, false, false}})
    judgeMany("larger", shape, Algorithm::Modulo, std::min(count, 300), false);
  return 0;
}
} // namespace

int main(int argc, char **argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--judge")
    return judgeAll(argc > 2 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 10000);
  measure("gemm 2x2x2", {2, 2, 2, 2, 16, false, false});
  measure("gemm 8x4x4, a wave of 256x256x64 on 8 waves", {4, 8, 4, 4, 16, false, false});
  measure("gemm 8x4x4, direct copies", {4, 8, 4, 4, 16, true, false});
  measure("gemm 8x8x8", {8, 8, 8, 8, 16, false, false});
  measure("gemm 8x8x8, direct copies", {8, 8, 8, 8, 16, true, false});
  measure("gemm 16x8x8", {8, 16, 8, 8, 8, false, false});
  measure("gemm 16x16x8", {8, 16, 16, 8, 8, false, false});
  measure("gemm 16x16x16", {8, 16, 16, 16, 8, false, false});
  return 0;
}
