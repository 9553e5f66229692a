#include "soliton/runtime/Staging.h"

#include <algorithm>

namespace soliton::rt {
namespace {
bool isStaged(const Argument &argument) {
  const Tensor *tensor = argument.tensor();
  return tensor && tensor->memory == MemoryKind::host && tensor->bytes().value_or(0) > 0;
}
} // namespace

void Staging::findRanges(std::span<const Argument> arguments) {
  std::vector<Range> all;
  for (const Argument &argument : arguments)
    if (isStaged(argument)) {
      auto *begin = static_cast<std::byte *>(argument.tensor()->data);
      all.push_back({begin, begin + *argument.tensor()->bytes(), 0});
    }
  std::sort(all.begin(), all.end(), [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (const Range &range : all) {
    if (!ranges.empty() && range.begin < ranges.back().end)
      ranges.back().end = std::max(ranges.back().end, range.end);
    else
      ranges.push_back(range);
  }
}

void *Staging::deviceAddress(const void *host) const {
  auto *address = static_cast<const std::byte *>(host);
  for (const Range &range : ranges)
    if (address >= range.begin && address < range.end)
      return static_cast<std::byte *>(buffers[range.buffer].data()) + (address - range.begin);
  return nullptr;
}

Staging::Staging(Device &device, const KernelImage &image, const LaunchPlan &plan, std::span<const Argument> arguments,
                 PreparedLaunch &launch, Stream stream)
    : device(device) {
  findRanges(arguments);
  for (Range &range : ranges) {
    auto bytes = static_cast<size_t>(range.end - range.begin);
    range.buffer = buffers.size();
    buffers.emplace_back(device, bytes);
    device.copyToDevice(buffers.back().data(), range.begin, bytes, stream);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor *tensor = arguments[i].tensor();
    if (!tensor || tensor->memory != MemoryKind::host)
      continue;
    void *address = deviceAddress(tensor->data);
    if (std::optional<Diagnostic> wrong = plan.checkAlignment(i, address))
      throw CompileError({*wrong});
    plan.setPointer(launch, i, address);
    if (image.arguments[i].isOutput && address)
      outputs.push_back(tensor);
  }
}

void Staging::copyBack(Stream stream) {
  device.synchronise(stream);
  for (const Tensor *tensor : outputs)
    device.copyToHost(tensor->data, deviceAddress(tensor->data), static_cast<size_t>(*tensor->bytes()), stream);
}

} // namespace soliton::rt
