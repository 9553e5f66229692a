#include "soliton/pipeline/ToCore.h"

#include "soliton/support/Counter.h"

#include <algorithm>
#include <cstdlib>

namespace soliton::pipe {
namespace {
int floorDiv(int a, int b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

sched::OpKind kindOf(const OpDesc &op, std::span<const Touch> touches) {
  bool fills = std::any_of(touches.begin(), touches.end(), [](const Touch &t) { return t.shared && t.write; });
  switch (op.role) {
  case OpRole::GlobalLoad:
    return fills ? sched::OpKind::CopyAsync : sched::OpKind::GlobalLoad;
  case OpRole::SharedStore:
    return sched::OpKind::SharedStore;
  case OpRole::FragmentLoad:
    return sched::OpKind::SharedLoad;
  case OpRole::Compute:
    return sched::OpKind::Mma;
  default:
    return sched::OpKind::Valu;
  }
}
} // namespace

CoreLoop::CoreLoop(const PipelineSchedule &pipeline, std::span<const OpDesc> body)
    : pipeline(pipeline), config(pipeline.config()), knobs(pipeline.scheduleConfig()), bodySize(body.size()),
      operations(body.size(), -1) {
  problem.loop = pipeline.name();
  addCounters();
  mma = problem.addResource("mma");
  valu = problem.addResource("valu");
  problem.groups = pipeline.waveGroups();
  for (int group = 0; group < problem.groups; ++group)
    problem.stagger.push_back(group);
  addStorage(body);
  addOperations(body);
}

void CoreLoop::addCounters() {
  auto add = [&](CounterKind kind, sched::Retirement retirement, int limit) {
    return problem.addCounter(std::string(soliton::name(kind)), retirement, limit);
  };
  bool inPlace = config.fragmentsInPlace;
  vm = inPlace ? add(CounterKind::boxes, sched::Retirement::Group, config.limits.vm)
               : add(CounterKind::vm, sched::Retirement::InOrder, config.limits.vm);
  shared = add(CounterKind::shared, sched::Retirement::InOrder, config.limits.lgkm);
  if (inPlace)
    products = add(CounterKind::mma, sched::Retirement::Group, config.limits.mma);
}

/// On which it is complete; -1: when it issues.
int CoreLoop::counterOf(const OpDesc &op) const {
  return op.resource == ResourceKind::GlobalMem ? vm
         : op.resource == ResourceKind::Shared  ? shared
         : op.resource == ResourceKind::MmaUnit ? products
                                                : -1;
}

int CoreLoop::halfOfIndex(size_t index) const {
  size_t length = std::max<size_t>(bodySize / config.numPartitions, 1);
  return std::min(static_cast<int>(index / length), config.numPartitions - 1);
}

/// Of the half-tile that an op fills or reads; 1 where no geometry says.
int64_t CoreLoop::bytesOf(const OpDesc &op) const {
  const KernelGeometry *geometry = pipeline.geometry();
  int rows = !geometry || op.channel < 0 ? 0 : op.channel == 0 ? geometry->bm / 2 : geometry->bn / 2;
  return rows > 0 ? int64_t{rows} * geometry->bk * geometry->elemBytes : 1;
}

void CoreLoop::addStorage(std::span<const OpDesc> body) {
  for (size_t i = 0; i < body.size(); ++i)
    for (const Touch &touch : pipeline.touches(body[i], halfOfIndex(i))) {
      if (regions.count(touch.name))
        continue;
      sched::Region region;
      region.name = touch.name;
      region.space = touch.shared ? sched::Space::Shared : sched::Space::Register;
      region.size = touch.shared ? bytesOf(body[i]) : std::max(body[i].vgprDef, 1);
      // The body names its buffers itself: storage of one name is one piece. In place, stages are taken in turn.
      region.rotating = touch.shared && config.fragmentsInPlace;
      region.buffers = region.rotating ? config.depth : 1;
      regions[touch.name] = problem.addRegion(std::move(region));
    }
}

void CoreLoop::addOperations(std::span<const OpDesc> body) {
  std::vector<int> ahead(body.size(), 0), order;
  int most = 0, least = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i].tag >= kFirstFrameworkTag)
      continue;
    int half = halfOfIndex(i);
    ahead[i] = floorDiv(half + pipeline.tilesAhead(body[i], half), config.numPartitions);
    most = order.empty() ? ahead[i] : std::max(most, ahead[i]);
    least = order.empty() ? ahead[i] : std::min(least, ahead[i]);
    order.push_back(static_cast<int>(i));
  }
  stageCount = most - least + 1;
  // One iteration after the other: what works furthest ahead comes first.
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return std::pair(-ahead[a], a) < std::pair(-ahead[b], b); });
  for (int i : order) {
    sched::Operation op = operation(body[i], halfOfIndex(i));
    std::string key = op.key;
    for (int copy = 2; problem.find(op.key) >= 0; ++copy)
      op.key = key + "#" + std::to_string(copy);
    operations[i] = problem.addOperation(std::move(op));
    bodyIndices.push_back(i);
    stages.push_back(most - ahead[i]);
    tiles.push_back(halfOfIndex(i) + pipeline.tilesAhead(body[i], halfOfIndex(i)));
  }
}

int CoreLoop::ticksOf(const OpDesc &op) const {
  bool global = op.resource == ResourceKind::GlobalMem;
  // The knobs' ticks hold where the structure leaves them open.
  auto lgkm = [](int own, int fallback) { return own ? own : fallback; };
  int a = global ? config.vmPerLoadA : lgkm(config.lgkmPerLoadA, knobs.lgkmPerLoadA);
  int b = global ? config.vmPerLoadB : lgkm(config.lgkmPerLoadB, knobs.lgkmPerLoadB);
  return std::max(1, op.channel < 0 ? a + b : op.channel == 0 ? a : b);
}

sched::Operation CoreLoop::operation(const OpDesc &op, int half) const {
  std::vector<Touch> touches = pipeline.touches(op, half);
  sched::Operation result;
  result.key = pipeline.text(op);
  result.origin.tags = {pipeline.tagName(op.tag)};
  result.place = op.where.place();
  result.kind = kindOf(op, touches);
  result.latency = std::max(op.latency, 1);
  result.firstEffect = result.kind == sched::OpKind::CopyAsync ? op.latency : 0;
  int counter = counterOf(op);
  bool isProduct = counter >= 0 && counter == products;
  if (counter >= 0)
    result.ticks = {{counter, isProduct ? 1 : ticksOf(op)}};
  if (op.resource == ResourceKind::MmaUnit || op.resource == ResourceKind::Valu)
    result.reservations = {{op.resource == ResourceKind::Valu ? valu : mma, 0, result.latency, 1}};
  for (const Touch &touch : touches) {
    sched::Access access{regions.at(touch.name), touch.write};
    access.groups = touch.groups;
    // A register is read when the op issues; everything else is done when the counter says so. A product that goes on
    // with the sum of another one follows it in order on their counter.
    access.counter = touch.shared || touch.write || isProduct ? counter : -1;
    result.accesses.push_back(access);
  }
  return result;
}

int CoreLoop::bodyIndexOf(int operation) const {
  return operation >= 0 && operation < static_cast<int>(bodyIndices.size()) ? bodyIndices[operation] : -1;
}

int CoreLoop::addMark(const OpDesc &op, const std::string &key) {
  sched::Operation mark;
  mark.key = key;
  mark.latency = 0;
  mark.pinned = false;
  mark.kind = op.tag == kBarrier ? sched::OpKind::Barrier : sched::OpKind::Hint;
  if (op.tag == kSetPrio) {
    mark.hint = sched::HintKind::Priority;
    mark.arguments = {op.waitValue};
  } else if (op.tag == kScheduleBarrier) {
    mark.hint = sched::HintKind::SchedBarrier;
    mark.arguments = {0};
  }
  stages.push_back(stageCount - 1);
  return problem.addOperation(std::move(mark));
}

std::vector<DepEdge> CoreLoop::edges() const {
  std::vector<DepEdge> edges;
  for (const sched::Dependence &dep : sched::deriveDependences(problem)) {
    int from = bodyIndexOf(dep.from), to = bodyIndexOf(dep.to);
    if (from < 0 || to < 0)
      continue;
    DepKind kind = dep.kind == sched::DepKind::War   ? DepKind::Anti
                   : dep.kind == sched::DepKind::Waw ? DepKind::Output
                                                     : DepKind::Flow;
    edges.push_back({from, to, kind, dep.distance + stages[dep.to] - stages[dep.from]});
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

/// The last write of `region` in front of `position` of the kernel, maybe of the trip before; -1 if there is none.
static int lastWriter(const sched::Problem &problem, const std::vector<int> &order, size_t position, int region) {
  for (size_t step = 1; step <= order.size(); ++step) {
    int op = order[(position + order.size() - step) % order.size()];
    for (const sched::Access &access : problem.operations[op].accesses)
      if (access.region == region && access.write)
        return op;
  }
  return -1;
}

std::vector<Diagnostic> CoreLoop::checkTiles(const std::vector<std::vector<int>> &clusters) const {
  std::vector<int> order;
  for (const std::vector<int> &cluster : clusters)
    std::copy_if(cluster.begin(), cluster.end(), std::back_inserter(order),
                 [&](int op) { return bodyIndexOf(op) >= 0; });
  std::vector<int> position = sched::positionsOf(order, problem.numOps());
  std::vector<Diagnostic> errors;
  for (int reader : order)
    for (const sched::Access &access : problem.operations[reader].accesses) {
      int writer = access.write ? -1 : lastWriter(problem, order, position[reader], access.region);
      // What is computed is carried from tile to tile; what is loaded belongs to one. Stages that are taken in turn are
      // those of their tiles.
      if (writer < 0 || problem.regions[access.region].rotating ||
          problem.operations[writer].kind == sched::OpKind::Mma ||
          problem.operations[writer].kind == sched::OpKind::Valu)
        continue;
      int held = tiles[writer] - (position[writer] > position[reader] ? config.numPartitions : 0);
      if (held != tiles[reader])
        errors.push_back(tileError(reader, writer, access.region, held));
    }
  return errors;
}

/// The op that fills `region` with the tile that `reader` works on; `writer` if none does.
int CoreLoop::meantWriter(int reader, int writer, int region) const {
  for (int op = 0; op < static_cast<int>(tiles.size()); ++op)
    for (const sched::Access &access : problem.operations[op].accesses)
      if (access.region == region && access.write && (tiles[op] - tiles[reader]) % config.numPartitions == 0)
        return op;
  return writer;
}

Diagnostic CoreLoop::tileError(int reader, int writer, int region, int held) const {
  const sched::Operation &user = problem.operations[reader], &source = problem.operations[writer];
  int off = held - tiles[reader];
  const std::string &meant = problem.operations[meantWriter(reader, writer, region)].key;
  return {Severity::error,
          DiagId::PipelineTile,
          user.place,
          "`" + user.key + "` finds in `" + problem.regions[region].name + "` a K tile " +
              std::to_string(std::abs(off)) + (off > 0 ? " later" : " earlier") + " than its own",
          off > 0 ? "put `" + source.key + "` behind it" : "put `" + meant + "` in front of it",
          {{source.place, "`" + source.key + "` is the last to write it"}}};
}

sched::Schedule CoreLoop::schedule(const std::vector<std::vector<int>> &clusters) const {
  int size = 0;
  for (const std::vector<int> &cluster : clusters)
    size += static_cast<int>(cluster.size());
  sched::Schedule schedule = sched::emptySchedule(problem, pipeline.name(), std::max(size, 1), sched::Timing::Order);
  int cycle = 0;
  for (size_t c = 0; c < clusters.size(); ++c)
    for (int operation : clusters[c])
      schedule.slots[operation] = {stages[operation], cycle++, static_cast<int>(c), 0};
  return schedule;
}

} // namespace soliton::pipe
