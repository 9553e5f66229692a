#include "soliton/pipeline/Report.h"

#include <algorithm>
#include <deque>

namespace soliton::pipe {
namespace {
std::string number(int64_t value) {
  return std::to_string(value);
}

std::string padded(std::string text, size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "nothing" : text;
}

/// What is on its way, oldest first: loads counted in ticks of vm, or groups of boxes and of products.
class Flight {
public:
  explicit Flight(const CompiledPipeline &pipeline) : pipeline(pipeline), grouped(pipeline.config.fragmentsInPlace) {}

  /// Rows of the kernel's last of so many trips, which are as many as fill the queues.
  std::vector<FlightRow> run() {
    const int trips = grouped ? pipeline.config.depth + 1 : 2;
    for (; trip < trips; ++trip) {
      rows.clear();
      for (int i = 0; i < static_cast<int>(pipeline.kernel.size()); ++i)
        step(i);
    }
    return std::move(rows);
  }

private:
  struct Issued {
    OpDesc op;
    int trip = 0;
  };
  /// What is waited for together.
  struct Unit {
    std::vector<Issued> ops;
    int ticks = 1;
  };
  struct Queue {
    std::deque<Unit> units;
    /// The last unit is a group that no commit has closed.
    bool isOpen = false;
  };

  void step(int index) {
    const OpDesc &op = pipeline.kernel[index].op;
    if (op.role == OpRole::GlobalLoad)
      issue(loads, op, ticksOf(op));
    if (grouped && op.role == OpRole::Compute)
      issue(products, op, 1);
    if (op.tag == kCommitBoxes || op.tag == kCommitMma)
      (op.tag == kCommitBoxes ? loads : products).isOpen = false;
    if (op.tag != kWaitVm && op.tag != kWaitBoxes && op.tag != kWaitMma)
      return;
    rows.push_back(complete(op.tag == kWaitMma ? products : loads, op.waitValue));
    rows.back().block = blockOfEntry(pipeline, index);
    rows.back().entry = index;
    rows.back().counter = op.tag == kWaitVm ? "vm" : op.tag == kWaitBoxes ? "boxes" : "mma";
  }

  void issue(Queue &queue, const OpDesc &op, int ticks) const {
    if (!queue.isOpen)
      queue.units.push_back({{}, grouped ? 1 : ticks});
    queue.units.back().ops.push_back({op, trip});
    queue.isOpen = grouped;
  }

  FlightRow complete(Queue &queue, int value) const {
    FlightRow row;
    row.value = value;
    int outstanding = 0;
    for (const Unit &unit : queue.units)
      outstanding += unit.ticks;
    for (; !queue.units.empty() && outstanding > value; queue.units.pop_front()) {
      outstanding -= queue.units.front().ticks;
      append(row.completed, queue.units.front());
    }
    for (const Unit &unit : queue.units)
      append(row.left, unit);
    return row;
  }

  /// Stages that are taken in turn are counted from the trip that looks.
  void append(std::vector<std::string> &to, const Unit &unit) const {
    int depth = pipeline.config.depth;
    for (const Issued &each : unit.ops) {
      int stage = grouped ? ((each.op.stage + each.trip - trip) % depth + depth) % depth : each.op.stage;
      bool isLoad = each.op.role == OpRole::GlobalLoad;
      to.push_back(isLoad ? tileName(each.op.channel, stage, each.op.subtile) : pipeline.text(each.op));
    }
  }

  int ticksOf(const OpDesc &op) const {
    const PipelineConfig &config = pipeline.config;
    return op.channel < 0 ? config.vmPerLoadA + config.vmPerLoadB : config.vmPerChannel(op.channel);
  }

  const CompiledPipeline &pipeline;
  /// By groups that commits close.
  bool grouped;
  Queue loads, products;
  int trip = 0;
  std::vector<FlightRow> rows;
};

class TextReport {
public:
  TextReport(const CompiledPipeline &pipeline, const ReportOptions &options) : p(pipeline), options(options) {}

  std::string run() {
    text = p.name + ", " + std::string(nameOf(p.mode)) + ": " + number(p.body.size()) + " ops, " +
           number(p.blockStarts.size()) + " blocks, " + number(p.proof.hazards) + " hazards, " +
           number(p.proof.kernelBarriers) + " barriers a trip\n";
    // A declaration that is refused has no program.
    if (p.kernel.empty())
      return std::move(text);
    flatPhase("prologue", p.prologue);
    kernel();
    flatPhase("epilogue", p.epilogue);
    flight();
    order();
    if (options.edges)
      edges();
    if (options.costs)
      costs();
    hazards();
    return std::move(text);
  }

private:
  void flatPhase(const char *name, const std::vector<ScheduleEntry> &entries) {
    text += std::string(name) + ", " + number(entries.size()) + " entries\n";
    std::string line;
    for (size_t i = 0; i < entries.size(); ++i) {
      line += "  " + p.text(entries[i].op);
      if (line.size() < 90 && i + 1 < entries.size())
        continue;
      text += "  " + line.substr(2) + "\n";
      line.clear();
    }
  }

  void kernel() {
    text += "kernel, " + number(p.kernel.size()) + " entries\n";
    for (size_t b = 0; b < p.blockStarts.size(); ++b) {
      size_t end = b + 1 < p.blockStarts.size() ? p.blockStarts[b + 1] : p.kernel.size();
      text += "  " + padded("b" + number(b), 5);
      for (size_t i = p.blockStarts[b]; i < end; ++i)
        text += (i == static_cast<size_t>(p.blockStarts[b]) ? "" : "  ") + p.text(p.kernel[i].op);
      text += "\n";
    }
  }

  void flight() {
    std::vector<FlightRow> rows = traceFlight(p);
    if (!rows.empty())
      text += "in flight\n";
    for (const FlightRow &row : rows)
      text += "  " + padded("b" + number(row.block), 5) + "wait " + row.counter + " " + number(row.value) +
              " completes " + joined(row.completed) + ", leaves " + joined(row.left) + "\n";
  }

  void order() {
    text += "order: " + number(p.order.metrics.makespan) + " cycles modelled, lower bound " + number(p.order.bound) +
            ", " + number(p.order.metrics.vgprPeak) + " registers at most\n";
    std::vector<int> position(p.body.size(), 0);
    for (size_t i = 0; i < p.order.order.size(); ++i)
      position[p.order.order[i]] = static_cast<int>(i);
    auto broken = std::count_if(p.edges.begin(), p.edges.end(), [&](const DepEdge &edge) {
      return edge.distance == 0 && position[edge.producer] > position[edge.consumer];
    });
    if (broken > 0)
      text += "the order breaks " + number(broken) + " of its own edges, so that bound does not hold for it\n";
  }

  void edges() {
    text += "edges, " + number(p.edges.size()) + "\n";
    for (const DepEdge &edge : p.edges)
      text += "  " + padded(toString(edge), 9) + padded(std::string(nameOf(edge.kind)), 7) +
              p.text(p.body[edge.producer]) + " > " + p.text(p.body[edge.consumer]) + "\n";
  }

  void costs() {
    CostReport report = costReport({p.body, p.edges}, p.order.order, p.knobs.sharedContentionPenalty);
    text += "costs (earliest, latest, slack)\n";
    for (const CostRow &row : report.rows)
      text += "  " + padded(number(row.op), 4) + padded(p.text(p.body[row.op]), 22) + padded(number(row.asap), 6) +
              padded(number(row.alap), 6) + number(row.slack()) + "\n";
    text += "critical path";
    for (size_t i = 0; i < report.criticalPath.size(); ++i)
      text += (i == 0 ? " " : " > ") + p.text(p.body[report.criticalPath[i]]);
    text += "\n";
  }

  void hazards() {
    const sched::Report &report = p.proof.report;
    auto open = [](const sched::Hazard &hazard) { return hazard.value != sched::HazardClass::Proven; };
    auto count = std::count_if(report.hazards.begin(), report.hazards.end(), open);
    text += number(report.hazards.size() - count) + " of " + number(report.hazards.size()) + " hazards proven\n";
    for (const sched::Hazard &hazard : report.hazards)
      if (open(hazard))
        text += "  " + std::string(nameOf(hazard.value)) + (hazard.waived ? " (waived)" : "") + ": " +
                sched::describe(p.proof.problem, hazard.dependence) + "\n";
    if (!p.proof.deadReads.empty())
      text += "the epilogue reads again what nobody loads: " + joined(p.proof.deadReads) + "\n";
  }

  const CompiledPipeline &p;
  const ReportOptions &options;
  std::string text;
};
} // namespace

int blockOfEntry(const CompiledPipeline &pipeline, int index) {
  auto after = std::upper_bound(pipeline.blockStarts.begin(), pipeline.blockStarts.end(), index);
  return static_cast<int>(after - pipeline.blockStarts.begin()) - 1;
}

std::vector<FlightRow> traceFlight(const CompiledPipeline &pipeline) {
  return Flight(pipeline).run();
}

WaitCounts countWaits(std::span<const ScheduleEntry> entries) {
  WaitCounts counts;
  for (size_t i = 0; i < entries.size(); ++i) {
    int tag = entries[i].op.tag;
    counts.vm += tag == kWaitVm;
    counts.lgkm += tag == kWaitLgkm;
    counts.combined += tag == kWaitLgkm && i > 0 && entries[i - 1].op.tag == kWaitVm;
    counts.barriers += tag == kBarrier;
    counts.schedBarriers += tag == kScheduleBarrier;
  }
  return counts;
}

std::string entryText(const CompiledPipeline &pipeline, const ScheduleEntry &entry) {
  const OpDesc &op = entry.op;
  std::string name = pipeline.text(op), phase(nameOf(entry.phase));
  return phase + " [" + number(entry.timeSlot) + "] " + name.substr(0, name.find_first_of("[(")) +
         " s=" + number(op.stage) + " sub=" + number(op.subtile) + " k=" + std::string(nameOf(op.k)) +
         " wait=" + number(op.waitValue) + " pf=" + number(entry.isPrefetch);
}

std::string blocksText(const CompiledPipeline &pipeline) {
  std::string text;
  for (size_t b = 0; b < pipeline.blocks.blocks.size(); ++b) {
    const MmaBlock &block = pipeline.blocks.blocks[b];
    int half = static_cast<int>(b) / pipeline.config.mmasPerPartition();
    text += "b" + number(b) + ":";
    for (const OpDesc &frag : block.frags)
      text += " " + pipeline.text(frag);
    for (const OpDesc &load : block.loads)
      text += " " + pipeline.text(load) + (load.stage == half ? " [prefetch]" : " [completion]");
    text += " " + pipeline.text(block.mma) + (block.drainLgkmBeforeLoads ? " drain" : "") + "\n";
  }
  return text;
}

std::string toText(const CompiledPipeline &pipeline, const ReportOptions &options) {
  return TextReport(pipeline, options).run();
}

} // namespace soliton::pipe
