#include "soliton/tuner/ScheduleDomain.h"

#include "soliton/schedule/Lifetimes.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/schedule/Timeline.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace soliton::tune {
using namespace sched;

namespace {
/// Steps between two ops that follow each other: room for others.
constexpr int32_t kGrain = 16;
/// Not scheduled.
constexpr int32_t kNoTime = -1;
/// Buffers that a tile has at most beyond those that it needs.
constexpr int32_t kMostBuffers = 2;

/// Dependences that no number of buffers resolves.
std::vector<Dependence> lasting(const Problem &problem) {
  std::vector<Dependence> list = deriveDependences(problem);
  std::erase_if(list, [&](const Dependence &dep) {
    return dep.reuse && problem.regions[dep.region].rotating && problem.regions[dep.region].buffers == 0;
  });
  return list;
}
} // namespace

std::optional<std::string> ScheduleDomain::whyNot(const Problem &problem, const Schedule &start) {
  if (problem.groups > 1)
    return "its groups of waves run different programs";
  for (const Slot &slot : start.slots)
    if (slot.cluster > 0)
      return "its author ordered it in clusters";
  return std::nullopt;
}

ScheduleDomain::ScheduleDomain(const Problem &problem, const Schedule &start)
    : problem(problem), graph(problem.numOps(), lasting(problem)), span(std::max(problem.numOps(), 1) * kGrain),
      clusterOf(problem.operations.size(), -1) {
  std::map<std::tuple<int, int, OpKind, int>, int> known;
  for (int op = 0; op < problem.numOps(); ++op) {
    if (!start.slots[op].scheduled())
      continue;
    movable.push_back(op);
    const Operation &operation = problem.operations[op];
    if (operation.kind == OpKind::Hint)
      hints.push_back(op);
    int alone = operation.origin.op < 0 ? op : -1;
    auto [place, isNew] =
        known.try_emplace({operation.origin.op, operation.origin.copy, operation.kind, alone}, clusters.size());
    if (isNew)
      clusters.emplace_back();
    clusterOf[op] = place->second;
    clusters[place->second].push_back(op);
  }
  for (size_t region = 0; region < problem.regions.size(); ++region)
    if (const Region &tile = problem.regions[region];
        tile.rotating && tile.space == sched::Space::Shared && tile.buffers == 0)
      tiles.push_back(static_cast<int>(region));
  first = pointOf(start);
}

Point ScheduleDomain::pointOf(const Schedule &schedule, const std::vector<int> &more) const {
  Point times(problem.operations.size() + tiles.size(), kNoTime);
  std::vector<int> order = emissionOrder(schedule);
  for (size_t i = 0; i < order.size(); ++i)
    times[order[i]] = schedule.slots[order[i]].stage * span + static_cast<int32_t>(i) * kGrain;
  for (size_t i = 0; i < tiles.size(); ++i)
    times[problem.operations.size() + i] = more.empty() ? 0 : more[tiles[i]];
  return normal(times);
}

std::vector<int> ScheduleDomain::moreOf(const Point &point) const {
  std::vector<int> more(problem.regions.size(), 0);
  for (size_t i = 0; i < tiles.size(); ++i)
    more[tiles[i]] = point[problem.operations.size() + i];
  return more;
}

Schedule ScheduleDomain::scheduleOf(const Point &point) const {
  Schedule schedule = emptySchedule(problem, "tuned", span, Timing::Order);
  for (int op : movable)
    schedule.slots[op] = {point[op] / span, point[op] % span, 0, 0};
  return schedule;
}

Schedule ScheduleDomain::presentable(const Point &point) const {
  Schedule schedule = scheduleOf(point);
  std::vector<int> more = moreOf(point);
  if (std::ranges::any_of(more, [](int count) { return count > 0; })) {
    Schedule least = schedule;
    assignBuffers(problem, least);
    schedule.buffers.assign(problem.regions.size(), 0);
    for (int tile : tiles)
      schedule.buffers[tile] = more[tile] > 0 ? least.buffers[tile] + more[tile] : 0;
  }
  Synchronized made = synchronize(problem, schedule);
  constexpr int kMoreTrips = 12;
  int trips = schedule.stages() + kMoreTrips;
  Timeline timeline = makeTimeline(problem, schedule, made.program, trips);
  const Span *last = timeline.kernelTrip(0, trips - 2), *next = timeline.kernelTrip(0, trips - 1);
  if (!last || !next || next->begin <= last->begin)
    return schedule;
  Schedule shown = schedule;
  shown.interval = static_cast<int>(next->begin - last->begin);
  std::vector<int> order = emissionOrder(schedule), cycle(point.size(), 0);
  for (const Event &event : timeline.events)
    if (event.group == 0 && event.trip == trips - 2 && event.entry->op >= 0)
      cycle[event.entry->op] = static_cast<int>(std::clamp<int64_t>(event.start - last->begin, 0, shown.interval - 1));
  for (size_t i = 0; i < order.size(); ++i)
    shown.slots[order[i]] = {schedule.slots[order[i]].stage, cycle[order[i]], 0, static_cast<int>(i)};
  return emissionOrder(shown) == order ? shown : schedule;
}

/// Rounded down, for times before the first iteration too.
int ScheduleDomain::floorStage(int32_t time) const {
  return time >= 0 ? time / span : -((-time + span - 1) / span);
}

std::vector<int> ScheduleDomain::orderOf(const Point &times) const {
  // By place in the iteration, then age, then source: one number each, so that comparing costs nothing.
  constexpr int64_t kStages = int64_t{1} << 24;
  std::vector<std::pair<int64_t, int>> keys;
  keys.reserve(movable.size());
  for (int op : movable) {
    int64_t stage = floorStage(times[op]);
    keys.emplace_back((times[op] - stage * span) * kStages + (kStages / 2 - stage), op);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<int> order;
  order.reserve(keys.size());
  for (const auto &[key, op] : keys)
    order.push_back(op);
  return order;
}

Point ScheduleDomain::normal(const Point &times) const {
  int lowest = 0;
  for (size_t i = 0; i < movable.size(); ++i)
    lowest = i == 0 ? floorStage(times[movable[i]]) : std::min(lowest, floorStage(times[movable[i]]));
  std::vector<int> order = orderOf(times);
  Point result(times.size(), kNoTime);
  std::copy(times.end() - static_cast<ptrdiff_t>(tiles.size()), times.end(),
            result.end() - static_cast<ptrdiff_t>(tiles.size()));
  for (size_t i = 0; i < order.size(); ++i)
    result[order[i]] = (floorStage(times[order[i]]) - lowest) * span + static_cast<int32_t>(i) * kGrain;
  return result;
}

//===- Repair ------------------------------------------------------------------------===//

void ScheduleDomain::push(Point &times, std::vector<int> moved, bool later) const {
  // Times only grow (or only shrink), and a cycle of dependences is far shorter than an iteration, so this ends.
  while (!moved.empty()) {
    int op = moved.back();
    moved.pop_back();
    for (const Edge &edge : later ? graph.from(op) : graph.to(op)) {
      int32_t apart = edge.distance * span - 1;
      if (times[edge.from] == kNoTime || times[edge.to] == kNoTime || edge.from == edge.to ||
          times[edge.to] + apart >= times[edge.from])
        continue;
      if (later)
        times[edge.to] = times[edge.from] - apart;
      else
        times[edge.from] = times[edge.to] + apart;
      moved.push_back(later ? edge.to : edge.from);
    }
  }
}

void ScheduleDomain::settle(Point &times) const {
  push(times, movable, /*later=*/true);
}

//===- Moves -------------------------------------------------------------------------===//

void ScheduleDomain::shift(Point &times, const std::vector<int> &ops, int32_t by) const {
  // Times stay away from kNoTime: they are whole iterations later until they are brought into their normal form.
  for (int op : ops)
    times[op] += by;
  push(times, ops, /*later=*/by > 0);
}

/// Directly behind another op of the kernel, in the trip in which it stands now or the nearest to that.
void ScheduleDomain::moveBeside(Point &times, int op, int other) const {
  int32_t place = times[other] - floorStage(times[other]) * span + 1;
  int32_t now = times[op] - floorStage(times[op]) * span;
  int32_t by = place - now;
  if (by > span / 2)
    by -= span;
  else if (by < -span / 2)
    by += span;
  shift(times, {op}, by);
}

/// The same times, of iterations that follow each other after `by` steps more: what stood at a time of one stage stands
/// at another place of the kernel, or in another stage.
void ScheduleDomain::recut(Point &times, int32_t by) const {
  int32_t lowest = times[movable.front()];
  for (int op : movable)
    lowest = std::min(lowest, times[op]);
  int32_t begin = floorStage(lowest) * span, interval = std::clamp(span + by, span / 4, span * 4);
  for (int op : movable) {
    int32_t time = times[op] - begin;
    times[op] = begin + time / interval * span +
                static_cast<int32_t>(int64_t{time % interval} * (span - 1) / std::max(interval - 1, 1));
  }
  settle(times);
}

/// One buffer more or less for a shared tile.
void ScheduleDomain::widen(Point &times, Random &random) const {
  int32_t &more =
      times[problem.operations.size() + static_cast<size_t>(random.below(static_cast<int64_t>(tiles.size())))];
  more = static_cast<int32_t>(random.below(kMostBuffers + 1));
}

/// One random move.
Point ScheduleDomain::moved(const Point &point, Random &random) const {
  Point times = point;
  // Room before the first iteration, where ops may be pulled to.
  for (int op : movable)
    times[op] += static_cast<int32_t>(problem.numOps() + 2) * span;
  int op = random.pick(movable);
  const std::vector<int> &cluster = clusters[clusterOf[op]];
  int32_t sign = random.chance(0.5) ? 1 : -1;
  // Small distances are likelier than large ones.
  auto distance = [&] { return sign * static_cast<int32_t>((kGrain << random.below(6)) + random.below(kGrain)); };
  // What concerns the whole loop is tried less often than what concerns an op.
  switch (random.below(18)) {
  case 0:
  case 1:
  case 2:
  case 3:
    shift(times, {op}, distance());
    break;
  case 4:
  case 5:
    shift(times, cluster, distance());
    break;
  case 6:
  case 7:
    shift(times, {op}, sign * span);
    break;
  case 8:
  case 9:
    shift(times, cluster, sign * span);
    break;
  case 10:
  case 11:
    moveBeside(times, op, random.pick(movable));
    break;
  case 12:
  case 13: {
    int other = random.pick(movable);
    std::swap(times[op], times[other]);
    settle(times);
    break;
  }
  case 14:
  case 15: {
    int32_t by = distance();
    for (int each : movable)
      times[each] += by;
    break;
  }
  case 16:
    recut(times, distance());
    break;
  default:
    if (!hints.empty() && (tiles.empty() || random.chance(0.5)))
      moveBeside(times, random.pick(hints), random.pick(movable));
    else if (!tiles.empty())
      widen(times, random);
  }
  return normal(times);
}

Point ScheduleDomain::neighbour(const Point &point, Random &random) const {
  constexpr int kAttempts = 8;
  for (int attempt = 0; attempt < kAttempts && !movable.empty(); ++attempt)
    if (Point next = moved(point, random); next != point)
      return next;
  return point;
}

Point ScheduleDomain::anywhere(Random &random) const {
  Point times(problem.operations.size(), kNoTime);
  times.resize(times.size() + tiles.size(), 0);
  int64_t stages = random.between(1, 4);
  for (int op : movable)
    times[op] = static_cast<int32_t>(random.below(stages * span));
  settle(times);
  return normal(times);
}

Point ScheduleDomain::between(const Point &one, const Point &other, Random &random) const {
  Point times = one;
  for (const std::vector<int> &cluster : clusters)
    if (random.chance(0.5))
      for (int op : cluster)
        times[op] = other[op];
  for (size_t i = problem.operations.size(); i < times.size(); ++i)
    if (random.chance(0.5))
      times[i] = other[i];
  settle(times);
  return normal(times);
}

//===- Features ----------------------------------------------------------------------===//

namespace {
enum Class : uint8_t { FromGlobal, ToShared, FromShared, Matrix, Rest };
constexpr size_t kClasses = 5;

Class classOf(OpKind kind) {
  switch (kind) {
  case OpKind::GlobalLoad:
  case OpKind::GlobalStore:
  case OpKind::CopyAsync:
    return FromGlobal;
  case OpKind::SharedStore:
    return ToShared;
  case OpKind::SharedLoad:
    return FromShared;
  case OpKind::Mma:
  case OpKind::MmaAsync:
    return Matrix;
  default:
    return Rest;
  }
}
} // namespace

std::vector<double> ScheduleDomain::features(const Point &point) const {
  double whole = span, ops = std::max<double>(1, static_cast<double>(movable.size()));
  std::vector<double> place(kClasses, 0), stage(kClasses, 0), count(kClasses, 0);
  std::vector<double> apart(kClasses * kClasses, 0), edges(kClasses * kClasses, 0), nearest(kClasses, whole);
  int32_t last = 0;
  for (int op : movable) {
    Class kind = classOf(problem.operations[op].kind);
    int32_t itsStage = point[op] / span;
    place[kind] += point[op] % span / whole;
    stage[kind] += itsStage;
    ++count[kind];
    last = std::max(last, itsStage);
  }
  for (const Edge &edge : graph.edges()) {
    if (point[edge.from] == kNoTime || point[edge.to] == kNoTime || edge.from == edge.to)
      continue;
    Class from = classOf(problem.operations[edge.from].kind), to = classOf(problem.operations[edge.to].kind);
    double distance = point[edge.to] + double{whole} * edge.distance - point[edge.from];
    apart[from * kClasses + to] += distance / whole;
    ++edges[from * kClasses + to];
    nearest[from] = std::min(nearest[from], distance);
  }
  // How often the kernel goes from one class to another, and how long its runs of one class are.
  double changes = 0, squares = 0, run = 0;
  // Of a point in its normal form the place is a number.
  std::vector<int> order(movable.size());
  for (int op : movable)
    order[static_cast<size_t>(point[op] % span / kGrain)] = op;
  for (size_t i = 0; i < order.size(); ++i) {
    bool isChange =
        i > 0 && classOf(problem.operations[order[i]].kind) != classOf(problem.operations[order[i - 1]].kind);
    changes += isChange;
    run = isChange ? 1 : run + 1;
    squares += run;
  }
  double buffers = std::accumulate(point.begin() + static_cast<ptrdiff_t>(problem.operations.size()), point.end(), 0.0);
  std::vector<double> result = {static_cast<double>(last), changes / ops, squares / (ops * ops), buffers};
  for (size_t kind = 0; kind < kClasses; ++kind) {
    double number = std::max(count[kind], 1.0);
    result.insert(result.end(), {place[kind] / number, stage[kind] / number, nearest[kind] / whole});
  }
  for (size_t pair = 0; pair < kClasses * kClasses; ++pair)
    result.push_back(apart[pair] / std::max(edges[pair], 1.0));
  return result;
}

} // namespace soliton::tune
