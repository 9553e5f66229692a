//===- Hsaco.h - AMD code objects: linked, read ----------------------------------===//
//
//   std::string hsaco = linkHsaco(object, error);
//   std::optional<HsacoKernel> kernel = readHsaco(hsaco, error);      kernel->groupBytes, kernel->vgprs, …
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace soliton::backend {

/// A relocatable object as the shared object that the driver loads, or empty with the linker's text in `error`.
std::string linkHsaco(const std::string &object, std::string &error);

struct HsacoArgument {
  std::string name;
  std::string kind; // `global_buffer`, `by_value`, `hidden_…`
  uint32_t offset = 0;
  uint32_t size = 0;
};

/// What the metadata of a code object says of its (one) kernel.
struct HsacoKernel {
  std::string name;
  std::string target; // `amdgcn-amd-amdhsa--gfx942`
  std::vector<HsacoArgument> arguments;
  uint32_t kernargBytes = 0, kernargAlignment = 0;
  uint32_t groupBytes = 0, privateBytes = 0;
  uint32_t vgprs = 0, agprs = 0, sgprs = 0;
  uint32_t vgprSpills = 0, sgprSpills = 0;
  uint32_t waveSize = 0, maxThreads = 0;
};

std::optional<HsacoKernel> readHsaco(const std::string &hsaco, std::string &error);

} // namespace soliton::backend
