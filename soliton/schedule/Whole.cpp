#include "soliton/schedule/Whole.h"

#include <algorithm>
#include <set>

namespace soliton::sched::whole {

static void numberFrom(Sequence &sequence, int &next, const std::set<int> &taken) {
  for (Node &node : sequence) {
    if (node.id < 0) {
      while (taken.count(next))
        ++next;
      node.id = next++;
    }
    for (Sequence &body : node.bodies)
      numberFrom(body, next, taken);
  }
}

void number(Kernel &kernel) {
  std::set<int> taken;
  forEachNode(kernel.body, [&](const Node &node) { taken.insert(node.id); });
  int next = 0;
  numberFrom(kernel.body, next, taken);
}

bool shareBytes(const Region &a, const Region &b) {
  return a.space == Space::Shared && b.space == Space::Shared && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

bool mayConflict(const Kernel &kernel, const Access &x, const Access &y) {
  if (!(x.write || y.write) || (x.waived && y.waived))
    return false;
  if (x.region == y.region && x.atomic >= 0 && x.atomic == y.atomic)
    return false;
  if (x.region == y.region)
    return x.begin < y.end && y.begin < x.end;
  return shareBytes(kernel.regions[x.region], kernel.regions[y.region]);
}

bool isOneWave(const Kernel &kernel, const Access &x, const Access &y) {
  if (x.remote || y.remote)
    return false;
  if (kernel.waves == 1)
    return true;
  return x.region == y.region && x.function >= 0 && x.function == y.function && x.oneWave && y.oneWave;
}

bool isOneTeam(const Access &x, const Access &y) {
  return x.region == y.region && x.team >= 0 && x.team == y.team && !x.remote && !y.remote;
}

bool isApartIn(const Access &x, const Access &y, int loop) {
  auto has = [&](const Access &access) {
    return std::find(access.apart.begin(), access.apart.end(), loop) != access.apart.end();
  };
  return x.region == y.region && x.function >= 0 && x.function == y.function && has(x) && has(y) && !x.remote &&
         !y.remote;
}

bool mayMeet(const Kernel &kernel, const Access &x, std::optional<int> phase, const Access &y) {
  int buffers = kernel.regions[x.region].buffers;
  if (x.region != y.region || buffers <= 1 || !phase || x.clock < 0 || x.clock != y.clock)
    return true;
  return (*phase - y.phase) % buffers == 0;
}

bool isSeenByWait(const Kernel &kernel, const Access &x) {
  return x.counter >= 0 && kernel.counters[x.counter].ofWorkgroup && !x.remote;
}

bool isByOneLane(const Kernel &kernel, const Access &y) {
  return isSeenByWait(kernel, y);
}

bool isInOrder(const Kernel &kernel, const Access &x, const Access &y) {
  return x.counter < 0 || (x.counter == y.counter && kernel.counters[x.counter].kind != Retirement::OutOfOrder &&
                           !kernel.counters[x.counter].ofWorkgroup);
}

DepKind kindOf(const Access &x, const Access &y) {
  return !x.write ? DepKind::War : y.write ? DepKind::Waw : DepKind::Raw;
}

namespace {
class Validation {
public:
  explicit Validation(const Kernel &kernel) : kernel(kernel) {}

  std::vector<Diagnostic> run() {
    check(kernel.groups >= 1 && kernel.groups <= kMaxGroups && kernel.waves >= 1, {}, "has no waves");
    visit(kernel.body);
    return std::move(found);
  }

private:
  void check(bool holds, const Node &node, const std::string &what) {
    if (!holds)
      found.push_back({Severity::error,
                       DiagId::ScheduleProblemInvalid,
                       node.place,
                       "`" + (node.name.empty() ? kernel.name : node.name) + "` " + what,
                       {},
                       {}});
  }
  bool hasCounter(int counter) const { return counter >= 0 && counter < static_cast<int>(kernel.counters.size()); }

  void visit(const Sequence &sequence) {
    for (const Node &node : sequence) {
      check(node.id >= 0 && ids.insert(node.id).second, node, "has no number of its own");
      bool timed = node.kind == NodeKind::Wait || node.kind == NodeKind::Commit;
      check(!timed || (hasCounter(node.counter) && kernel.counters[node.counter].kind != Retirement::Phase), node,
            "names a counter that can't be waited for");
      check(!node.team || (kernel.groups == 1 && !node.cluster), node,
            "is of teams where groups of waves or a cluster meet");
      size_t bodies = node.kind == NodeKind::Loop ? 1 : node.kind == NodeKind::Branch ? 2 : 0;
      check(node.bodies.size() == bodies, node, "has a wrong number of bodies");
      check(node.least >= 0 && (!node.most || *node.most >= node.least), node, "runs an impossible number of times");
      for (const Access &access : node.accesses)
        check(access.region >= 0 && access.region < static_cast<int>(kernel.regions.size()) &&
                  (access.counter < 0 || hasCounter(access.counter)),
              node, "touches what does not exist");
      for (const Tick &tick : node.ticks)
        check(hasCounter(tick.counter) && tick.amount > 0, node, "ticks what does not exist");
      for (const Sequence &body : node.bodies)
        visit(body);
    }
  }

  const Kernel &kernel;
  std::set<int> ids;
  std::vector<Diagnostic> found;
};

void print(const Kernel &kernel, const Sequence &sequence, int depth, std::string &text) {
  for (const Node &node : sequence) {
    text += std::string(2 * static_cast<size_t>(depth), ' ') + toString(kernel, node) + "\n";
    for (size_t i = 0; i < node.bodies.size(); ++i) {
      if (i > 0)
        text += std::string(2 * static_cast<size_t>(depth), ' ') + "else\n";
      print(kernel, node.bodies[i], depth + 1, text);
    }
  }
}
} // namespace

std::vector<Diagnostic> validate(const Kernel &kernel) {
  return Validation(kernel).run();
}

std::string toString(const Kernel &kernel) {
  std::string text;
  print(kernel, kernel.body, 0, text);
  return text;
}

std::string toString(const Kernel &kernel, const Node &node) {
  std::string added = node.source == Source::Derived ? " (derived)" : "";
  switch (node.kind) {
  case NodeKind::Barrier:
    return (node.cluster ? "cluster barrier"
            : node.team  ? "barrier of teams"
                         : "barrier") +
           std::string(kernel.isForAll(node) ? "" : " for groups " + std::to_string(node.groups)) + added;
  case NodeKind::Wait:
    return "wait " + kernel.counters[node.counter].name + " " + std::to_string(node.value) + added;
  case NodeKind::Commit:
    return "commit " + kernel.counters[node.counter].name + added;
  case NodeKind::Release:
    return "release" + added;
  case NodeKind::Await:
    return "await " + std::to_string(node.value) + added;
  case NodeKind::Restart:
    return "restart clock " + std::to_string(node.clock);
  case NodeKind::Loop:
    return "loop " + std::to_string(node.least) + ".." + (node.most ? std::to_string(*node.most) : "") +
           (node.clock >= 0 ? ", clock " + std::to_string(node.clock) + " +" + std::to_string(node.step) : "");
  case NodeKind::Branch:
    return "branch";
  case NodeKind::Instruction:
    break;
  }
  std::string text = node.name + ":";
  for (const Access &access : node.accesses) {
    text += (access.write ? " writes " : " reads ") + kernel.regions[access.region].name;
    if (access.end != kWholeEnd)
      text += "[" + std::to_string(access.begin) + ", " + std::to_string(access.end) + ")";
    if (access.clock >= 0)
      text += "@" + std::to_string(access.phase);
    if (access.remote)
      text += " of the cluster";
    if (access.function >= 0)
      text += " by " + std::string(access.oneWave ? "wave" : "waves") + " of f" + std::to_string(access.function);
    if (access.counter >= 0)
      text += " on " + kernel.counters[access.counter].name;
  }
  for (const Tick &tick : node.ticks)
    text += ", ticks " + kernel.counters[tick.counter].name;
  return text;
}

Node instruction(std::string name, std::vector<Access> accesses, std::vector<Tick> ticks) {
  Node node;
  node.name = std::move(name);
  node.accesses = std::move(accesses);
  node.ticks = std::move(ticks);
  return node;
}

Node barrier(GroupMask groups) {
  Node node;
  node.kind = NodeKind::Barrier;
  node.name = "barrier";
  node.groups = groups;
  return node;
}

Node barrierOfTeams() {
  Node node = barrier();
  node.team = true;
  return node;
}

Node wait(int counter, int value) {
  Node node;
  node.kind = NodeKind::Wait;
  node.name = "wait";
  node.counter = counter;
  node.value = value;
  return node;
}

Node commit(int counter) {
  Node node;
  node.kind = NodeKind::Commit;
  node.name = "commit";
  node.counter = counter;
  return node;
}

Node release() {
  Node node;
  node.kind = NodeKind::Release;
  node.name = "release";
  return node;
}

Node await(int value) {
  Node node;
  node.kind = NodeKind::Await;
  node.name = "await";
  node.value = value;
  return node;
}

Node loop(Sequence body, int64_t least, std::optional<int64_t> most) {
  Node node;
  node.kind = NodeKind::Loop;
  node.name = "loop";
  node.least = least;
  node.most = most;
  node.bodies.push_back(std::move(body));
  return node;
}

Node branch(Sequence first, Sequence second) {
  Node node;
  node.kind = NodeKind::Branch;
  node.name = "branch";
  node.bodies.push_back(std::move(first));
  node.bodies.push_back(std::move(second));
  return node;
}

} // namespace soliton::sched::whole
