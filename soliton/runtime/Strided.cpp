#include "soliton/runtime/Strided.h"

#include <algorithm>

namespace soliton::rt {
namespace {

size_t bytesOfElement(const Tensor &view) {
  return static_cast<size_t>(storageBits(view.dtype)) / 8;
}

/// Calls `visit` with the bytes at which each element begins, in row-major order: in a dense array, and in the view.
template <typename Visit>
void forEachElement(const Tensor &view, Visit visit) {
  std::array<int64_t, kMaxRank> index = {};
  size_t width = bytesOfElement(view), count = static_cast<size_t>(view.elements().value_or(0));
  for (size_t dense = 0; dense < count; ++dense) {
    int64_t place = 0;
    for (int d = 0; d < view.rank; ++d)
      place += index[static_cast<size_t>(d)] * view.strides[static_cast<size_t>(d)];
    visit(dense * width, static_cast<size_t>(place) * width);
    for (int d = view.rank - 1; d >= 0; --d) {
      index[static_cast<size_t>(d)] += 1;
      if (index[static_cast<size_t>(d)] < view.shape[static_cast<size_t>(d)])
        break;
      index[static_cast<size_t>(d)] = 0;
    }
  }
}

} // namespace

std::vector<std::byte> spread(const Tensor &view, std::span<const std::byte> dense, std::byte gap) {
  std::vector<std::byte> placed(static_cast<size_t>(view.bytes().value_or(0)), gap);
  size_t width = bytesOfElement(view);
  forEachElement(view, [&](size_t from, size_t to) { std::ranges::copy(dense.subspan(from, width), &placed[to]); });
  return placed;
}

std::vector<std::byte> gather(const Tensor &view, std::span<const std::byte> placed) {
  size_t width = bytesOfElement(view);
  std::vector<std::byte> dense(static_cast<size_t>(view.elements().value_or(0)) * width);
  forEachElement(view, [&](size_t to, size_t from) { std::ranges::copy(placed.subspan(from, width), &dense[to]); });
  return dense;
}

bool isGapIntact(const Tensor &view, std::span<const std::byte> placed, std::byte gap) {
  std::vector<bool> isElement(placed.size());
  size_t width = bytesOfElement(view);
  forEachElement(view, [&](size_t, size_t at) { std::fill_n(isElement.begin() + static_cast<long>(at), width, true); });
  for (size_t i = 0; i < placed.size(); ++i)
    if (!isElement[i] && placed[i] != gap)
      return false;
  return true;
}

} // namespace soliton::rt
