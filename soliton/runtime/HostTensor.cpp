#include "soliton/runtime/HostTensor.h"

#include "soliton/runtime/Errors.h"

#include <stdexcept>

namespace soliton::rt {
namespace {

/// More than any host has.
constexpr int64_t kMaxElements = int64_t(1) << 46;

std::string textOf(std::span<const int64_t> numbers, const char *open, const char *close) {
  std::string text = open;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + close;
}
} // namespace

size_t countElements(std::span<const int64_t> extents) {
  int64_t count = 1;
  bool fine = true;
  for (int64_t extent : extents)
    fine &= extent >= 0 && !__builtin_mul_overflow(count, extent, &count) && count <= kMaxElements;
  if (!fine)
    fail(DiagId::ArgumentSize, "a tensor of the shape " + textOf(extents, "[", "]") +
                                   ", expected extents of at least 0 and elements that memory holds");
  return static_cast<size_t>(count);
}

size_t offsetOf(std::span<const int64_t> place, std::span<const int64_t> extents) {
  bool fine = place.size() == extents.size();
  int64_t offset = 0;
  for (size_t d = 0; fine && d < place.size(); ++d) {
    fine = place[d] >= 0 && place[d] < extents[d];
    offset = offset * extents[d] + place[d];
  }
  if (!fine)
    throw std::out_of_range(textOf(place, "(", ")") + " is no place of a tensor of the shape " +
                            textOf(extents, "[", "]"));
  return static_cast<size_t>(offset);
}

void nextPlace(std::span<int64_t> place, std::span<const int64_t> extents) {
  for (size_t d = place.size(); d-- > 0;) {
    if (++place[d] < extents[d])
      return;
    place[d] = 0;
  }
}

void requireRank(size_t taken, std::span<const int64_t> place) {
  if (place.size() != taken)
    throw std::out_of_range("a function of " + std::to_string(taken) + " places for a tensor of " +
                            std::to_string(place.size()) + " dimensions");
}

} // namespace soliton::rt
