#include "soliton/schedule/Model.h"

#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Paths.h"

#include <algorithm>

namespace soliton::sched {

double modelledInterval(const Problem &problem, const Schedule &schedule, const Program &program) {
  if (program.kernel.empty())
    return 0;
  Schedule decided = schedule;
  assignBuffers(problem, decided);
  PathContext context(problem, decided);
  // Past the trips in which the prologue is still felt.
  constexpr int kMeasured = 8;
  int warmUp = context.settledTrips + schedule.stages();
  Path path(context, program, warmUp + kMeasured);
  double slowest = 0;
  for (const Trace &trace : path.traces) {
    std::vector<int64_t> starts;
    int previous = -1;
    for (int p = 0; p < trace.size(); ++p) {
      const Location &where = trace.at(p).where;
      if (where.phase == Phase::Kernel && (previous < 0 || where.index <= previous))
        starts.push_back(trace.times()[p]);
      previous = where.phase == Phase::Kernel ? where.index : -1;
    }
    if (static_cast<int>(starts.size()) > kMeasured)
      slowest =
          std::max(slowest, static_cast<double>(starts.back() - starts[starts.size() - 1 - kMeasured]) / kMeasured);
  }
  return slowest;
}

} // namespace soliton::sched
