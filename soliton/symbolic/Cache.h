//===- Cache.h - Memoised results per (expression, version of facts) -------===//
//
// One table per thread and kind of result. Forgetting is always right, so it is bounded: a full table is emptied.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Expr.h"

#include <memory>

namespace soliton::sym::detail {

template <typename T>
class VersionedCache {
public:
  const T *find(Expr key, uint64_t version) const {
    if (!slots)
      return nullptr;
    for (size_t i = start(key, version);; i = (i + 1) & mask) {
      const Slot &slot = slots[i];
      if (slot.epoch != epoch)
        return nullptr;
      if (slot.key == key.get() && slot.version == version)
        return &slot.value;
    }
  }

  void insert(Expr key, uint64_t version, T value) {
    if (used * 2 >= mask)
      makeRoom();
    size_t i = start(key, version);
    for (; slots[i].epoch == epoch; i = (i + 1) & mask) {
      if (slots[i].key == key.get() && slots[i].version == version) {
        slots[i].value = value;
        return;
      }
    }
    slots[i] = {key.get(), version, epoch, value};
    ++used;
  }

  void clear() {
    ++epoch;
    used = 0;
  }

private:
  struct Slot {
    const Node *key = nullptr;
    uint64_t version = 0, epoch = 0;
    T value = {};
  };
  static constexpr size_t initial = 1 << 10, limit = 1 << 17;

  size_t start(Expr key, uint64_t version) const { return (key.hash() ^ version * 0x9e3779b97f4a7c15ull) & mask; }

  void makeRoom() {
    if (slots && mask + 1 >= limit)
      return clear();
    size_t capacity = slots ? (mask + 1) * 4 : initial;
    std::unique_ptr<Slot[]> old = std::move(slots);
    size_t oldCapacity = old ? mask + 1 : 0;
    slots.reset(new Slot[capacity]);
    mask = capacity - 1;
    used = 0;
    for (size_t i = 0; i < oldCapacity; ++i)
      if (old[i].epoch == epoch)
        insert(Expr(old[i].key), old[i].version, old[i].value);
  }

  std::unique_ptr<Slot[]> slots;
  size_t mask = 0, used = 0;
  uint64_t epoch = 1;
};

} // namespace soliton::sym::detail
