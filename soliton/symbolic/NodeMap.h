//===- NodeMap.h - A small hash map from nodes to values -------------------===//
//
// For one traversal of one expression: starts on the stack, never erases.
//
//   NodeMap<Expr> done;
//   if (const Expr *known = done.find(e)) return *known;
//   done.insert(e, result);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/symbolic/Expr.h"

#include <memory>

namespace soliton::sym::detail {

template <typename T>
class NodeMap {
public:
  const T *find(Expr key) const {
    for (size_t i = key.hash() & mask;; i = (i + 1) & mask) {
      if (!slots[i].key)
        return nullptr;
      if (slots[i].key == key.get())
        return &slots[i].value;
    }
  }
  /// `key` must not be present.
  void insert(Expr key, T value) {
    if (++used * 2 > mask)
      grow();
    place(slots, mask, key.get(), value);
  }

private:
  struct Slot {
    const Node *key = nullptr;
    T value = {};
  };
  static void place(Slot *slots, size_t mask, const Node *key, T value) {
    size_t i = key->hash & mask;
    while (slots[i].key)
      i = (i + 1) & mask;
    slots[i] = {key, value};
  }
  void grow() {
    size_t capacity = (mask + 1) * 4;
    std::unique_ptr<Slot[]> bigger(new Slot[capacity]);
    for (size_t i = 0; i <= mask; ++i)
      if (slots[i].key)
        place(bigger.get(), capacity - 1, slots[i].key, slots[i].value);
    heap = std::move(bigger);
    slots = heap.get();
    mask = capacity - 1;
  }

  static constexpr size_t initial = 32;
  Slot local[initial];
  std::unique_ptr<Slot[]> heap;
  Slot *slots = local;
  size_t mask = initial - 1, used = 0;
};

} // namespace soliton::sym::detail
