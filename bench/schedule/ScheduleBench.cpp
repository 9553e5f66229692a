//===- ScheduleBench.cpp - How long scheduling takes -----------------------===//
//
// Times MODULO and what follows it (buffers, barriers, waits, verification) on GEMM loops as the compiler expands them,
// from a few dozen to 5,000 ops, and prints one JSON object per size. CPU time of this process, best of five.
//
//   ScheduleBench > results.json
//
// `per_op_us` should stay nearly constant: the bar is 50 ms for several hundred ops and near linear up to 5,000.
//
//===----------------------------------------------------------------------===//
#include "soliton/schedule/Algorithms.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/TestProblems.h"
#include "soliton/schedule/Verify.h"

#include <cstdio>
#include <ctime>

using namespace soliton::sched;
using namespace soliton::sched::testing;

namespace {
double now() {
  return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
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
} // namespace

int main() {
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
