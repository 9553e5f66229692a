//===- Launch.h - Launches that take no detour ----------------------------------------===//
//
// The way of a call whose arguments are plain: dense arrays of the kernel's own types that say where they are through
// Python's buffers or as tensors of torch, and numbers. Whatever is not plain is left to soliton/_tensors.py, which
// converts, copies, or says what is wrong; so nothing is decided twice.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Bindings.h"

namespace soliton::python {

/// What a plain argument must be, for each parameter of a kernel; looked up once, when the kernel is loaded.
class PlainLaunch {
public:
  explicit PlainLaunch(const CompiledKernel &kernel);

  /// Launches, or returns false where an argument is not plain; nothing has happened then.
  /// `byWidth`: elements are compared by their width alone.
  bool operator()(const CompiledKernel &kernel, nb::handle arguments, bool byWidth) const;

private:
  /// Launches need nothing but the arguments: no sizes by name, no strides, no elements that share bytes.
  bool isPossible = true;
  bool isEmulated = true;
};

void bindLaunch(nb::module_ &module);

} // namespace soliton::python
