//===- plugin.h - Kernels of a file, for every tool ------------------------------===//
//
// A file that includes this and registers kernels is a file that the command line works on as on its own library:
//
//   #include <soliton/plugin.h>
//   using namespace soliton;
//
//   SOLITON_KERNEL(scale) {
//     auto [M, BM] = symbols<"M BLOCK_M">();
//     Kernel scale{"scale", {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
//     auto x = scale.memory("x", {M}, global, f32), y = scale.memory("y", {M}, global, f32);
//     write(read(x) * 2.0, y);
//     return {.kernel = scale, .sizes = {{M, 4096}}, .tiles = {{BM, 1024}}};
//   }
//
//   soliton run scale.cpp --target gfx942             soliton schedule scale.cpp:scale --html page.html
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/UserKernel.h"
#include "soliton/soliton.h"

/// What follows is the body of a function that returns a `soliton::UserKernel`.
#define SOLITON_KERNEL(NAME)                                                                                           \
  static ::soliton::UserKernel NAME##_solitonKernel();                                                                 \
  static const ::soliton::plugin::Registration NAME##_solitonRegistration{#NAME, &NAME##_solitonKernel};               \
  static ::soliton::UserKernel NAME##_solitonKernel()

namespace soliton::plugin {

/// Of one plug-in alone, whatever else is loaded: hence hidden.
[[gnu::visibility("hidden")]] inline std::vector<Registered> &registered() {
  static std::vector<Registered> all;
  return all;
}

struct [[gnu::visibility("hidden")]] Registration {
  Registration(const char *name, UserKernel (*make)(), Place place = std::source_location::current()) {
    registered().push_back({name, make, std::move(place)});
  }
};

} // namespace soliton::plugin

#ifndef SOLITON_PLUGIN_BUILD
#define SOLITON_PLUGIN_BUILD "unknown"
#endif

// The two names that a tool looks for. The first is text, so that a plug-in of any build can be asked for it.
extern "C" {
[[gnu::visibility("default"), gnu::weak]] extern const char solitonPluginBuild[];
const char solitonPluginBuild[] = SOLITON_PLUGIN_BUILD;
[[gnu::visibility("default"), gnu::used]] inline const std::vector<soliton::plugin::Registered> *
solitonPluginKernels() {
  return &soliton::plugin::registered();
}
}
