#include "soliton/runtime/TensorMaps.h"

#include "soliton/runtime/Errors.h"

#include <algorithm>

namespace soliton::rt {
namespace {

/// What the engine takes for one number of a tensor.
struct Bounds {
  const char *what;
  int64_t most, multiple;
};

constexpr Bounds kOffset = {"its first byte", int64_t(1) << 46, kTensorMapAlignment};
constexpr Bounds kExtent = {"an extent", int64_t(1) << 32, 1};
constexpr Bounds kStride = {"the distance of neighbours in bytes", (int64_t(1) << 40) - kTensorMapAlignment,
                            kTensorMapAlignment};

/// One map of one launch.
class Evaluation {
public:
  Evaluation(const KernelImage &image, const TensorMapSpec &map, std::span<const int64_t> symbols,
             std::vector<Diagnostic> &wrong)
      : image(image), map(map), symbols(symbols), wrong(wrong) {}

  MappedTensor run() {
    MappedTensor tensor = {};
    tensor.offset = value(map.offset, kOffset);
    for (size_t d = 0; d < map.sizes.size(); ++d) {
      tensor.sizes[d] = value(map.sizes[d], kExtent);
      tensor.isEmpty |= tensor.sizes[d] == 0;
    }
    // A dimension of one element has no neighbours: any distance will do.
    for (size_t d = 1; d < map.sizes.size(); ++d)
      tensor.strides[d - 1] = tensor.sizes[d] > 1 ? value(map.strides[d - 1], kStride) : kTensorMapAlignment;
    return tensor;
  }

private:
  uint64_t value(const LaunchExpr &expr, const Bounds &bounds) {
    LaunchValue found = expr.evaluate(symbols);
    if (found.ok() && found.value >= 0 && found.value <= bounds.most && found.value % bounds.multiple == 0)
      return static_cast<uint64_t>(found.value);
    report(expr, found, bounds);
    return 0;
  }

  void report(const LaunchExpr &expr, const LaunchValue &found, const Bounds &bounds) {
    std::string who = map.argument ? argumentName(image, *map.argument) : "the workspace of `" + image.kernel + "`";
    std::string is =
        found.ok() ? " is " + std::to_string(found.value) : " has no value: " + std::string(describe(found.fault));
    std::string multiple = bounds.multiple > 1 ? "a multiple of " + std::to_string(bounds.multiple) + " from " : "";
    Diagnostic diagnostic =
        diagnose(DiagId::TileCopyTensor,
                 who + ": tile copies move it, and " + bounds.what + ", `" + formulaOf(image, expr) + "`," + is +
                     ", expected " + multiple + "0 to " + std::to_string(bounds.most),
                 "pad its rows, or compile the kernel without tile copies");
    diagnostic.place = map.argument ? image.arguments[*map.argument].place : image.place;
    wrong.push_back(std::move(diagnostic));
  }

  const KernelImage &image;
  const TensorMapSpec &map;
  std::span<const int64_t> symbols;
  std::vector<Diagnostic> &wrong;
};

} // namespace

MappedTensor evaluateTensor(const KernelImage &image, const TensorMapSpec &map, std::span<const int64_t> symbols,
                            std::vector<Diagnostic> &wrong) {
  return Evaluation(image, map, symbols, wrong).run();
}

GpuTensorMap describeMap(const TensorMapSpec &spec, const MappedTensor &tensor, void *data) {
  GpuTensorMap map = {};
  map.data = static_cast<std::byte *>(data) + tensor.offset;
  map.dtype = spec.dtype;
  map.rank = static_cast<uint32_t>(spec.sizes.size());
  map.sizes = tensor.sizes;
  map.strides = tensor.strides;
  std::copy(spec.box.begin(), spec.box.end(), map.box.begin());
  map.swizzle = spec.swizzle;
  map.corners = static_cast<uint32_t>(spec.lower.size());
  std::copy(spec.lower.begin(), spec.lower.end(), map.lower.begin());
  std::copy(spec.upper.begin(), spec.upper.end(), map.upper.begin());
  std::copy(spec.steps.begin(), spec.steps.end(), map.steps.begin());
  return map;
}

void TensorMapCache::write(const GpuDriver &driver, size_t number, const GpuTensorMap &map, std::byte *destination) {
  std::lock_guard lock(mutex);
  Ring &ring = rings[number];
  auto found = std::ranges::find_if(ring.entries, [&](const Entry &entry) { return entry.isUsed && entry.map == map; });
  if (found == ring.entries.end()) {
    found = ring.entries.begin() + static_cast<ptrdiff_t>(ring.next);
    found->isUsed = false;
    driver.encodeTensorMap(map, found->bytes.data());
    found->map = map;
    found->isUsed = true;
    ring.next = (ring.next + 1) % ring.entries.size();
  }
  std::ranges::copy(found->bytes, destination);
}

} // namespace soliton::rt
