//===- Placed.h - The arguments of a trial in a device's memory ---------------------------------===//
#pragma once

#include "tools/soliton/Trial.h"

namespace soliton::cli {

/// An output that is the array of an input, by their numbers.
struct InPlace {
  size_t output = 0, input = 0;
};

/// What `b=a` means for these arguments; throws UsageError with the legal choices.
std::optional<InPlace> resolveInPlace(const std::string &said, const std::vector<kernels::ArgumentInfo> &arguments);

/// All arguments of a trial, each between guard zones.
class PlacedArguments {
public:
  PlacedArguments(rt::Device &device, const Trial &trial, std::optional<InPlace> inPlace = std::nullopt);

  std::span<const rt::Argument> arguments() const { return list; }
  /// The arguments as they are now; `guardsIntact` becomes false where something beside one was written.
  std::vector<std::vector<std::byte>> fetch(bool &guardsIntact) const;

private:
  rt::Device &device;
  const Trial &trial;
  std::optional<InPlace> inPlace;
  /// One per array, none for scalars and for an output that is an input.
  std::vector<std::unique_ptr<rt::DeviceBuffer>> memory;
  std::vector<rt::Argument> list;
};

} // namespace soliton::cli
