//===- LaunchHeader.h - A kernel's arguments as a C function ------------------------------===//
//
//   printLaunchHeader(image)  ==  static inline int relu_launch(soliton_kernel *kernel, const void *x, void *y, int64_t
//   M)
//
// Sizes that are known only at launch are parameters, each once; extents follow from them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/KernelImage.h"

namespace soliton::rt {

/// The text of a header that includes soliton/runtime/launch.h.
std::string printLaunchHeader(const KernelImage &image);

/// A name as C allows it: other characters become `_`.
std::string cName(std::string_view name);

} // namespace soliton::rt
