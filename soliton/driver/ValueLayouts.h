//===- ValueLayouts.h - Who holds the values that an author tagged ---------------------------===//
//
//   ValueLayouts found = valueLayouts(kernel, {.target = "gfx942", .subs = …});
//   found.values[0].tag == "mma"       found.values[0].layout.str() == "reg = (4 M 1), lane = …"
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Compile.h"
#include "soliton/layout/Layout.h"

namespace soliton {

/// A tile of a tagged operation, as it lies after layouts were chosen.
struct ValueLayout {
  std::string tag;
  /// `result`, or `lhs`, `rhs` and `acc` of a matrix product, or `value` of what a write takes.
  std::string role;
  std::string type;
  std::vector<Dim> dims;
  Layout layout;
  Place place;
};

struct ValueLayouts {
  std::vector<ValueLayout> values;
  std::vector<Diagnostic> diagnostics;
  bool ok = false;
};

/// In program order; an operation without a tag has none here.
ValueLayouts valueLayouts(const Kernel &kernel, const CompileOptions &options);
/// The same for the text of a module in form `Traced`.
ValueLayouts valueLayouts(std::string_view text, std::string_view fileName, const CompileOptions &options);

} // namespace soliton
