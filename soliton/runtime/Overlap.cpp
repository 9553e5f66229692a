#include "soliton/runtime/Overlap.h"

#include <algorithm>

namespace soliton::rt {
namespace {

/// The first byte of an array and the one behind its last.
struct Span {
  uintptr_t begin = 0, end = 0;
  explicit Span(const Tensor &tensor)
      : begin(reinterpret_cast<uintptr_t>(tensor.data)),
        end(begin + static_cast<uintptr_t>(tensor.bytes().value_or(0))) {}
  bool empty() const { return begin == end; }
};

bool isSameArray(const Tensor &a, const Tensor &b) {
  return a.data == b.data && storageBits(a.dtype) == storageBits(b.dtype) &&
         std::ranges::equal(a.extents(), b.extents()) && std::ranges::equal(a.steps(), b.steps());
}

/// The first row of an array, and how many elements on the next begins; 0 where rows do not follow one pitch.
int64_t rowPitch(Tensor &tensor) {
  int64_t pitch = 0;
  for (int d = 0; d + 1 < tensor.rank; ++d) {
    if (tensor.strides[d] <= 0 || (pitch != 0 && pitch % tensor.strides[d] != 0))
      return 0;
    pitch = tensor.strides[d];
    tensor.shape[d] = 1;
  }
  return pitch;
}

/// Rows of one array between those of the other.
bool areInterleaved(const Tensor &a, const Tensor &b) {
  Tensor rowA = a, rowB = b;
  int64_t pitch = rowPitch(rowA);
  if (pitch == 0 || pitch != rowPitch(rowB) || storageBits(a.dtype) % 8 != 0 || a.dtype != b.dtype)
    return false;
  uint64_t width = static_cast<uint64_t>(pitch) * static_cast<uint64_t>(storageBits(a.dtype) / 8);
  Span x(rowA), y(rowB);
  uint64_t distance = x.begin <= y.begin ? (y.begin - x.begin) % width : (width - (x.begin - y.begin) % width) % width;
  return distance >= x.end - x.begin && distance + (y.end - y.begin) <= width;
}

} // namespace

std::optional<Overlap> findOverlap(const Tensor &a, const Tensor &b) {
  bool sameMemory = a.memory == b.memory && (a.memory == MemoryKind::host || a.device == b.device);
  Span x(a), y(b);
  if (!sameMemory || x.empty() || y.empty() || x.end <= y.begin || y.end <= x.begin || areInterleaved(a, b))
    return std::nullopt;
  uintptr_t origin = std::min(x.begin, y.begin);
  return Overlap{isSameArray(a, b), {x.begin - origin, x.end - origin}, {y.begin - origin, y.end - origin}};
}

std::optional<int> dimThatOverlaps(const Tensor &tensor) {
  std::array<int, kMaxRank> dims = {};
  int count = 0;
  for (int d = 0; d < tensor.rank; ++d)
    if (tensor.shape[static_cast<size_t>(d)] > 1)
      dims[static_cast<size_t>(count++)] = d;
  auto strideOf = [&](int d) { return tensor.strides[static_cast<size_t>(d)]; };
  std::sort(dims.begin(), dims.begin() + count,
            [&](int a, int b) { return std::pair(strideOf(a), a) < std::pair(strideOf(b), b); });
  int64_t reach = 0; // to the last element of what the dimensions so far span
  for (int i = 0; i < count; ++i) {
    int d = dims[static_cast<size_t>(i)];
    int64_t more = 0;
    if (strideOf(d) <= reach)
      return d;
    if (__builtin_mul_overflow(tensor.shape[static_cast<size_t>(d)] - 1, strideOf(d), &more) ||
        __builtin_add_overflow(reach, more, &reach))
      return std::nullopt; // too large to have a meaning, which is said elsewhere
  }
  return std::nullopt;
}

} // namespace soliton::rt
