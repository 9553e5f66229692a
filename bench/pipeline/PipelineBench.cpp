//===- PipelineBench.cpp - How long a declared pipeline takes to compile ------------===//
//
// From the declaration to the verified program, both modes, CPU time of this process, best of twenty; one JSON object a
// line.
//
//   PipelineBench > results.json
//
// `ok`: proven, or waived where only latency protects; the faithful single-buffer program has bare barriers and is
// neither. The bars: 2 ms for Pipeline4Wave, 50 ms where a search orders the ops (`csp`).
//
//===----------------------------------------------------------------------===//
#include "soliton/pipeline/Compile.h"
#include "soliton/pipeline/PingPong.h"
#include "soliton/pipeline/Pipeline4Wave.h"
#include "soliton/pipeline/SingleBuffer.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

using namespace soliton::pipe;

namespace {
double now() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

void measure(const char *name, const PipelineSchedule &pipeline, Mode mode) {
  double shortest = 1e30;
  CompiledPipeline made;
  for (int round = 0; round < 20; ++round) {
    double begin = now();
    made = compilePipeline(pipeline, {mode, {{"", "", "", "measured as shipped"}}});
    shortest = std::min(shortest, now() - begin);
  }
  std::printf("{\"pipeline\": \"%s\", \"mode\": \"%s\", \"strategy\": \"%s\", \"ms\": %.3f, \"cycles\": %d, \"bound\": "
              "%d, \"nodes\": %lld, "
              "\"optimal\": %s, \"ok\": %s}\n",
              name, std::string(nameOf(mode)).c_str(), std::string(nameOf(made.knobs.scheduling)).c_str(), shortest,
              made.order.metrics.makespan, made.order.bound, static_cast<long long>(made.order.nodes),
              made.order.optimal ? "true" : "false", made.ok() ? "true" : "false");
}
} // namespace

int main() {
  KernelGeometry four = fourWaveGeometry({.bm = 128, .bn = 128, .bk = 64}).geometry;
  KernelGeometry ping = pingPongGeometry({.bm = 256, .bn = 256, .bk = 64}).geometry;
  ScheduleConfig contended = PingPong::defaultScheduleConfig(ping);
  contended.sharedContentionPenalty = 5;
  for (Mode mode : {Mode::Exact, Mode::Faithful}) {
    measure("pipeline4wave", Pipeline4Wave(four), mode);
    measure("ping_pong", PingPong(ping), mode);
    measure("single_buffer", SingleBuffer(4), mode);
  }
  // The order is not what greedy finds: the search has to work, and proves its result.
  measure("ping_pong, contention 5", PingPong(ping, contended, mi355xTarget(2, 2, 1)), Mode::Exact);
  return 0;
}
