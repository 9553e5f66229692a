#include "soliton/schedule/WholePlaces.h"

#include "soliton/schedule/WholeVerify.h"

#include <map>
#include <set>

namespace soliton::sched::whole {
namespace {
/// Writes that may have happened, and which node has overwritten what they wrote since, if one has.
using State = std::map<Access, const Node *>;

class PlaceJudge {
public:
  explicit PlaceJudge(const Kernel &kernel) : kernel(kernel) {}

  std::vector<Diagnostic> run() {
    State none;
    if (placesAreShared())
      walk(kernel.body, none);
    return std::move(found);
  }

private:
  bool placesAreShared() const {
    for (size_t a = 0; a < kernel.regions.size(); ++a)
      for (size_t b = 0; b < a; ++b)
        if (shareBytes(kernel.regions[a], kernel.regions[b]))
          return true;
    return false;
  }

  void walk(const Sequence &sequence, State &state) {
    for (const Node &node : sequence)
      step(node, state);
  }

  void step(const Node &node, State &state) {
    if (node.kind == NodeKind::Loop)
      return iterate(node, state);
    if (node.kind == NodeKind::Branch) {
      State other = state;
      walk(node.bodies[0], state);
      walk(node.bodies[1], other);
      join(state, other);
      return;
    }
    for (const Access &access : node.accesses)
      if (!access.write)
        read(node, access, state);
    for (const Access &access : node.accesses)
      if (access.write)
        write(node, access, state);
  }

  /// Trips until another one adds nothing.
  void iterate(const Node &node, State &state) {
    if (node.most && *node.most == 0)
      return;
    State after = state;
    walk(node.bodies[0], after);
    if (node.least > 0)
      state = std::move(after);
    else
      join(state, after);
    for (int64_t trips = 1; !node.most || trips < *node.most; ++trips) {
      State before = state, next = state;
      walk(node.bodies[0], next);
      join(state, next);
      if (before == state)
        return;
    }
  }

  static void join(State &state, const State &other) {
    for (const auto &[access, by] : other)
      if (auto [at, isNew] = state.try_emplace(access, by); !at->second)
        at->second = by;
  }

  void read(const Node &node, const Access &access, const State &state) {
    for (const auto &[written, by] : state)
      if (by && written.region == access.region && written.begin < access.end && access.begin < written.end)
        complain(node, access, *by);
  }

  void write(const Node &node, const Access &access, State &state) {
    for (auto &[written, by] : state)
      if (!by && written.region != access.region &&
          shareBytes(kernel.regions[written.region], kernel.regions[access.region]))
        by = &node;
    auto [at, isNew] = state.try_emplace(access, nullptr);
    // The same elements as the last time: they are whole again.
    if (access.steady && kernel.regions[access.region].buffers <= 1)
      at->second = nullptr;
  }

  void complain(const Node &node, const Access &access, const Node &by) {
    if (!said.insert(node.id).second)
      return;
    found.push_back({Severity::error,
                     DiagId::ScheduleHazard,
                     node.place,
                     "`" + node.name + "` reads shared `" + kernel.regions[access.region].name + "`, but `" + by.name +
                         "` has overwritten its place since",
                     "give the two tiles places of their own",
                     {{by.place, "`" + by.name + "` writes there"}}});
  }

  const Kernel &kernel;
  std::set<int> said;
  std::vector<Diagnostic> found;
};
} // namespace

std::vector<Diagnostic> verifyPlaces(const Kernel &kernel) {
  return PlaceJudge(kernel).run();
}

std::vector<Diagnostic> prove(const Kernel &kernel) {
  std::vector<Diagnostic> wrong = verify(kernel).diagnostics;
  for (Diagnostic &diagnostic : verifyPlaces(kernel))
    wrong.push_back(std::move(diagnostic));
  return wrong;
}

} // namespace soliton::sched::whole
