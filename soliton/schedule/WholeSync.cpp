#include "soliton/schedule/WholeSync.h"

#include <algorithm>

namespace soliton::sched::whole {
namespace {
int largestId(const Kernel &kernel) {
  int largest = -1;
  forEachNode(kernel.body, [&](const Node &node) { largest = std::max(largest, node.id); });
  return largest;
}

/// What is derived, and in front of what of the rest it stands.
void collect(const Sequence &sequence, int parent, int body, std::vector<Insertion> &found) {
  size_t waiting = found.size();
  for (const Node &node : sequence) {
    if (node.source == Source::Derived) {
      found.push_back({node.kind, node.counter, node.value, parent, true, body, node.team});
      continue;
    }
    for (; waiting < found.size(); ++waiting) {
      found[waiting].before = node.id;
      found[waiting].atEnd = false;
    }
    for (size_t i = 0; i < node.bodies.size(); ++i)
      collect(node.bodies[i], node.id, static_cast<int>(i), found);
    waiting = found.size();
  }
}

void numberDerived(Sequence &sequence, int &next) {
  for (Node &node : sequence) {
    if (node.id < 0)
      node.id = next++;
    for (Sequence &body : node.bodies)
      numberDerived(body, next);
  }
}
} // namespace

Derived derive(Kernel kernel, const DeriveOptions &options) {
  Derived result;
  deriveBarriers(kernel);
  int next = largestId(kernel) + 1;
  numberDerived(kernel.body, next);
  deriveWaits(kernel, options, result.remarks);
  collect(kernel.body, -1, 0, result.insertions);
  result.kernel = std::move(kernel);
  return result;
}

} // namespace soliton::sched::whole
