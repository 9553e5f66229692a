#include "tools/soliton/Placed.h"

#include "soliton/runtime/Strided.h"

#include <algorithm>
#include <cstring>

namespace soliton::cli {

static constexpr size_t kGuardBytes = 256;
static constexpr std::byte kGuard{0xa5};

std::optional<InPlace> resolveInPlace(const std::string &said, const std::vector<kernels::ArgumentInfo> &arguments) {
  if (said.empty())
    return std::nullopt;
  auto find = [&](const std::string &name, bool isOutput) {
    std::vector<std::string> names;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].isOutput != isOutput || arguments[i].dims.empty())
        continue;
      if (arguments[i].name == name)
        return i;
      names.push_back(arguments[i].name);
    }
    throw UsageError("`--in-place " + said + "`: `" + name + "` is no " + (isOutput ? "output" : "input") +
                     " of the kernel; the choices are " + listOf(names) + ". Say OUTPUT=INPUT.");
  };
  size_t equals = std::min(said.find('='), said.size());
  return InPlace{find(said.substr(0, equals), true), find(said.substr(std::min(equals + 1, said.size())), false)};
}

static rt::Argument scalarOf(const Trial &trial, size_t i) {
  const kernels::Array &array = trial.problem.arrays[i];
  if (isFloat(array.type))
    return array.values.at(0);
  int64_t number = 0;
  std::memcpy(&number, trial.bytes[i].data(), std::min(trial.bytes[i].size(), sizeof number));
  size_t unused = 64 - std::min<size_t>(64, trial.bytes[i].size() * 8);
  return array.type == DType::i1 ? number : number << unused >> unused;
}

PlacedArguments::PlacedArguments(rt::Device &device, const Trial &trial, std::optional<InPlace> inPlace)
    : device(device), trial(trial), inPlace(inPlace) {
  for (size_t i = 0; i < trial.bytes.size(); ++i) {
    memory.push_back(nullptr);
    if (trial.problem.arguments[i].dims.empty()) {
      list.push_back(scalarOf(trial, i));
      continue;
    }
    if (inPlace && i == inPlace->output) {
      list.push_back(list[inPlace->input]);
      continue;
    }
    std::vector<std::byte> bytes = trial.bytes[i];
    if (!trial.strides[i].empty())
      bytes = rt::spread(trial.view(i, nullptr, device.info()), bytes, kGuard);
    std::vector<std::byte> host(bytes.size() + 2 * kGuardBytes, kGuard);
    std::ranges::copy(bytes, host.begin() + kGuardBytes);
    memory[i] = std::make_unique<rt::DeviceBuffer>(device, host.size());
    device.copyToDevice(memory[i]->data(), host.data(), host.size());
    list.push_back(trial.view(i, static_cast<std::byte *>(memory[i]->data()) + kGuardBytes, device.info()));
  }
}

std::vector<std::vector<std::byte>> PlacedArguments::fetch(bool &guardsIntact) const {
  std::vector<std::vector<std::byte>> results = trial.bytes;
  for (size_t i = 0; i < memory.size(); ++i) {
    if (!memory[i])
      continue;
    std::vector<std::byte> host(memory[i]->bytes());
    device.copyToHost(host.data(), memory[i]->data(), host.size());
    auto intact = [](std::byte b) { return b == kGuard; };
    guardsIntact &= std::all_of(host.begin(), host.begin() + kGuardBytes, intact) &&
                    std::all_of(host.end() - kGuardBytes, host.end(), intact);
    results[i].assign(host.begin() + kGuardBytes, host.end() - kGuardBytes);
    if (trial.strides[i].empty())
      continue;
    rt::Tensor view = trial.view(i, nullptr, device.info());
    guardsIntact &= rt::isGapIntact(view, results[i], kGuard);
    results[i] = rt::gather(view, results[i]);
  }
  if (inPlace)
    results[inPlace->output] = results[inPlace->input];
  return results;
}

} // namespace soliton::cli
