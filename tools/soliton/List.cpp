//===- List.cpp - soliton targets, soliton kernels ---------------------------------------------===//

#include "tools/soliton/Commands.h"

#include <iomanip>

namespace soliton::cli {

static Json targetJson(const Target &target) {
  Json mmas = Json::array();
  for (const MmaKind &kind : target.mmas)
    mmas.push_back({{"name", kind.name},
                    {"shape", {kind.m, kind.n, kind.k}},
                    {"lhs", name(kind.lhs.type)},
                    {"rhs", name(kind.rhs.type)},
                    {"acc", name(kind.acc.type)},
                    {"instruction", kind.native.instruction},
                    {"default", kind.isDefault}});
  return {{"name", target.name},
          {"product", target.product},
          {"vendor", name(target.vendor)},
          {"wave_size", target.waveSize},
          {"shared_bytes", target.sharedBytes},
          {"max_threads", target.maxThreadsPerWorkgroup},
          {"mmas", mmas}};
}

int listTargets(bool json, std::ostream &out) {
  const rt::FoundDevices &found = rt::devices();
  if (json) {
    Json targets = Json::array(), devices = Json::array();
    for (const Target *target : allTargets())
      targets.push_back(targetJson(*target));
    for (const auto &device : found.devices)
      devices.push_back({{"kind", rt::name(device->info().kind)},
                         {"index", device->info().index},
                         {"name", device->info().name},
                         {"architecture", device->info().architecture}});
    out << line({{"targets", targets}, {"devices", devices}, {"problems", diagnosticsJson(found.problems)}});
    return 0;
  }
  out << "targets\n";
  for (const Target *target : allTargets())
    out << "  " << std::left << std::setw(8) << target->name << std::setw(28) << target->product << "waves of "
        << target->waveSize << ", " << target->sharedBytes / 1024 << " KiB shared, " << target->mmas.size()
        << " matrix instructions\n";
  out << "devices\n";
  for (const auto &device : found.devices)
    out << "  " << std::left << std::setw(10)
        << std::string(rt::name(device->info().kind)) +
               (device->info().kind == rt::DeviceKind::emulator ? "" : ":" + std::to_string(device->info().index))
        << device->info().name << " " << device->info().architecture << "\n";
  for (const Diagnostic &problem : found.problems)
    out << format(problem) << "\n";
  return 0;
}

int listKernels(bool json, std::ostream &out) {
  Json list = Json::array();
  std::string family;
  for (const kernels::KernelEntry *entry : kernels::allKernels()) {
    if (!json && entry->family != family)
      out << entry->family << "\n";
    family = entry->family;
    Json sizes = Json::object(), tiles = Json::object(), dtypes = Json::array();
    std::string sizeText;
    for (const kernels::DefaultSize &size : entry->sizes) {
      sizes[size.name] = size.value;
      sizeText += (sizeText.empty() ? "" : ",") + size.name;
    }
    for (const kernels::DefaultSize &tile : entry->tiles)
      tiles[tile.name] = tile.value;
    std::string dtypeText;
    for (const kernels::Variant &variant : entry->variants) {
      dtypes.push_back(variant.name);
      dtypeText += (dtypeText.empty() ? "" : " ") + variant.name;
    }
    if (!json)
      out << "  " << std::left << std::setw(26) << entry->name << std::setw(18) << sizeText << " " << entry->description
          << "  [" << dtypeText << "]\n";
    list.push_back({{"name", entry->name},
                    {"family", entry->family},
                    {"description", entry->description},
                    {"sizes", sizes},
                    {"fixed_sizes", entry->fixedSizes},
                    {"tiles", tiles},
                    {"dtypes", dtypes}});
  }
  if (json)
    out << line({{"kernels", list}});
  return 0;
}

} // namespace soliton::cli
