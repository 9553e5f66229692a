//===- Knowledge.cpp - What a wave knows of workgroups --------------------===//
//
// See Knowledge.h.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Knowledge.h"

#include <algorithm>

namespace soliton::emu {

static bool isBelow(const Knowledge::Clock &a, const Knowledge::Clock &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] > (i < b.size() ? b[i] : 0))
      return false;
  return true;
}

const Knowledge::Clock *Knowledge::of(uint32_t workgroup) const {
  if (!entries)
    return nullptr;
  auto found = std::lower_bound(entries->begin(), entries->end(), workgroup,
                                [](const Entry &entry, uint32_t wanted) { return entry.workgroup < wanted; });
  return found != entries->end() && found->workgroup == workgroup ? found->clock.get() : nullptr;
}

bool Knowledge::covers(uint32_t workgroup, uint32_t agent, uint32_t access) const {
  const Clock *clock = of(workgroup);
  return clock && agent < clock->size() && (*clock)[agent] >= access;
}

std::shared_ptr<const Knowledge::Clock> Knowledge::joined(const Entry &a, const Entry &b) {
  if (a.clock == b.clock || isBelow(*b.clock, *a.clock))
    return a.clock;
  if (isBelow(*a.clock, *b.clock))
    return b.clock;
  Clock result(std::max(a.clock->size(), b.clock->size()));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = std::max(i < a.clock->size() ? (*a.clock)[i] : 0, i < b.clock->size() ? (*b.clock)[i] : 0);
  return std::make_shared<const Clock>(std::move(result));
}

Knowledge Knowledge::with(uint32_t workgroup, const Clock &clock) const {
  Knowledge one;
  one.entries = std::make_shared<const Entries>(Entries{{workgroup, std::make_shared<const Clock>(clock)}});
  one.join(*this);
  return one;
}

void Knowledge::join(const Knowledge &other) {
  if (!other.entries || entries == other.entries)
    return;
  if (!entries) {
    entries = other.entries;
    return;
  }
  auto result = std::make_shared<Entries>();
  result->reserve(std::max(entries->size(), other.entries->size()));
  auto a = entries->begin(), b = other.entries->begin();
  while (a != entries->end() || b != other.entries->end()) {
    if (b == other.entries->end() || (a != entries->end() && a->workgroup < b->workgroup))
      result->push_back(*a++);
    else if (a == entries->end() || b->workgroup < a->workgroup)
      result->push_back(*b++);
    else {
      result->push_back({a->workgroup, joined(*a, *b)});
      ++a, ++b;
    }
  }
  entries = std::move(result);
}

} // namespace soliton::emu
