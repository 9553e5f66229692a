//===- HostTensor.h - An array of the host, with a shape ---------------------------===//
//
//   Tensor<half> a({64, 32}, [](int64_t i, int64_t j) { return i == j; });
//   Tensor<float> b({64, 32});                 zeros
//   run(a, b);
//   b(3, 4)                                    an element
//
// It owns its elements, row by row; `rt::Tensor` is a view of it, and what a launch makes of it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/Tensor.h"
#include "soliton/support/HostTypes.h"

#include <vector>

namespace soliton {
namespace rt {

/// Throws CompileError `argument-size` for an extent below 0, or more elements than memory has.
size_t countElements(std::span<const int64_t> extents);
/// Where `place` lies among the elements; throws std::out_of_range.
size_t offsetOf(std::span<const int64_t> place, std::span<const int64_t> extents);
/// The place of the element that follows, row by row.
void nextPlace(std::span<int64_t> place, std::span<const int64_t> extents);

/// Throws std::out_of_range where a function takes another number of places.
void requireRank(size_t taken, std::span<const int64_t> place);

/// `f(i)`, `f(i, j)`, … as `f` takes them.
template <typename F>
auto callAtPlace(F &f, std::span<const int64_t> at) {
  using I = int64_t;
  if constexpr (std::invocable<F &, I>)
    return requireRank(1, at), f(at[0]);
  else if constexpr (std::invocable<F &, I, I>)
    return requireRank(2, at), f(at[0], at[1]);
  else if constexpr (std::invocable<F &, I, I, I>)
    return requireRank(3, at), f(at[0], at[1], at[2]);
  else {
    static_assert(std::invocable<F &, I, I, I, I>, "takes one to four places");
    return requireRank(4, at), f(at[0], at[1], at[2], at[3]);
  }
}

} // namespace rt

template <typename T>
class Tensor {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> is no array: take int8_t, and `view().as(DType::i1)`");

public:
  /// Zeros.
  explicit Tensor(std::vector<int64_t> shape) : extents(std::move(shape)), elements(rt::countElements(extents)) {}
  /// Each element by its place.
  template <typename F>
  Tensor(std::vector<int64_t> shape, F element) : Tensor(std::move(shape)) {
    std::vector<int64_t> at(extents.size());
    for (T &each : elements) {
      each = static_cast<T>(rt::callAtPlace(element, at));
      rt::nextPlace(at, extents);
    }
  }

  const std::vector<int64_t> &shape() const { return extents; }
  size_t size() const { return elements.size(); }
  T *data() { return elements.data(); }
  const T *data() const { return elements.data(); }
  auto begin() { return elements.begin(); }
  auto end() { return elements.end(); }
  auto begin() const { return elements.begin(); }
  auto end() const { return elements.end(); }

  /// Throws std::out_of_range for a place that there is not.
  T &operator()(std::integral auto... place) { return elements[offset({static_cast<int64_t>(place)...})]; }
  const T &operator()(std::integral auto... place) const { return elements[offset({static_cast<int64_t>(place)...})]; }

  rt::Tensor view() { return rt::Tensor::dense(elements.data(), rt::dtypeOf<T>(), extents); }
  rt::Tensor view() const {
    rt::Tensor made = rt::Tensor::dense(const_cast<T *>(elements.data()), rt::dtypeOf<T>(), extents);
    made.readOnly = true;
    return made;
  }
  operator rt::Tensor() { return view(); }
  operator rt::Tensor() const { return view(); }

private:
  size_t offset(std::initializer_list<int64_t> place) const {
    return rt::offsetOf({place.begin(), place.size()}, extents);
  }

  std::vector<int64_t> extents;
  std::vector<T> elements;
};

} // namespace soliton
