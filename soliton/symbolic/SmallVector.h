//===- SmallVector.h - A vector that starts on the stack -------------------===//
//
// For trivially copyable elements; the first N need no allocation.
//
//   SmallVector<Expr, 8> operands;
//   operands.push(e);
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>

namespace soliton::sym::detail {

template <typename T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  SmallVector() : items(local()) {}
  SmallVector(const SmallVector &other) : items(local()) { append(other.span()); }
  SmallVector(SmallVector &&other) noexcept : items(local()) { take(other); }
  SmallVector &operator=(const SmallVector &other) {
    if (this != &other) {
      length = 0;
      append(other.span());
    }
    return *this;
  }
  SmallVector &operator=(SmallVector &&other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  void push(T item) {
    if (length == room) [[unlikely]]
      grow(room * 2);
    new (items + length++) T(item);
  }
  void insert(size_t i, T item) {
    push(item);
    std::memmove(static_cast<void *>(items + i + 1), items + i, (length - 1 - i) * sizeof(T));
    items[i] = item;
  }
  void append(std::span<const T> more) {
    if (length + more.size() > room)
      grow(std::max(room * 2, length + more.size()));
    if (!more.empty())
      std::memcpy(static_cast<void *>(items + length), more.data(), more.size() * sizeof(T));
    length += more.size();
  }
  void erase(size_t i) {
    std::memmove(static_cast<void *>(items + i), items + i + 1, (length - i - 1) * sizeof(T));
    --length;
  }
  void resize(size_t n) { length = std::min(n, length); }
  void clear() { length = 0; }
  size_t size() const { return length; }
  bool empty() const { return length == 0; }
  T &operator[](size_t i) { return items[i]; }
  const T &operator[](size_t i) const { return items[i]; }
  T &back() { return items[length - 1]; }
  T *begin() { return items; }
  T *end() { return items + length; }
  const T *begin() const { return items; }
  const T *end() const { return items + length; }
  std::span<const T> span() const { return {items, length}; }

private:
  T *local() { return reinterpret_cast<T *>(storage); }
  void take(SmallVector &other) {
    if (other.items == other.local()) {
      items = local();
      room = N;
      length = 0;
      append(other.span());
    } else {
      items = other.items;
      length = other.length;
      room = other.room;
      other.items = other.local();
      other.room = N;
    }
    other.length = 0;
  }
  void release() {
    if (items != local())
      std::free(items);
  }
  [[gnu::noinline]] void grow(size_t capacity) {
    T *bigger = static_cast<T *>(std::malloc(capacity * sizeof(T)));
    if (!bigger)
      throw std::bad_alloc();
    std::memcpy(static_cast<void *>(bigger), items, length * sizeof(T));
    release();
    items = bigger;
    room = capacity;
  }

  T *items;
  size_t length = 0, room = N;
  alignas(T) std::byte storage[N * sizeof(T)];
};

} // namespace soliton::sym::detail
