//===- UserKernel.h - A kernel of somebody's own file, as the tools take it -------------===//
//
// What stands behind `SOLITON_KERNEL` (soliton/plugin.h): the kernel, the numbers that its symbols have where nobody
// says otherwise, and, if its author likes, what it must compute and schedules of its own.
//
//   return {.kernel = scale, .sizes = {{M, 4096}}, .tiles = {{BLOCK_M, 256}},
//           .reference = [](HostArrays &at) {
//             for (size_t i = 0; i != at["y"].values.size(); ++i)
//               at["y"].values[i] = 2 * at["x"].values[i];
//           }};
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/WaveSchedule.h"
#include "soliton/frontend/Kernel.h"
#include "soliton/frontend/Symbols.h"

#include <functional>
#include <map>

namespace soliton {

/// An argument of a kernel as numbers, row by row; a scalar has one and no shape.
struct HostArray {
  std::vector<int64_t> shape = {};
  std::vector<double> values = {};
};

/// All arguments of a kernel, by name, and the sizes that they have. A reference fills those that the kernel writes;
/// they come with as many numbers as they have elements.
class HostArrays {
public:
  std::map<std::string, HostArray> arrays;
  std::map<std::string, int64_t> sizes;

  /// Throws std::out_of_range for a name that no argument has.
  HostArray &operator[](const std::string &name) { return arrays.at(name); }
  int64_t size(const std::string &symbol) const { return sizes.at(symbol); }
};

/// A symbol and the number that it has by default.
using DefaultNumbers = std::vector<std::pair<lang::Expr, int64_t>>;

struct UserKernel {
  Kernel kernel;
  /// Sizes of tensors: `--size` changes them, `--dynamic` leaves them to the launch.
  DefaultNumbers sizes = {};
  /// Tiles and all other numbers: `--set` changes them.
  DefaultNumbers tiles = {};
  /// Symbols that stand for something else than a number that can be chosen: address spaces, formulas of sizes.
  Substitutions subs = {};
  std::string description = {};
  /// What the arguments are after the kernel has run, in f64. Without one it is what the traced program says.
  std::function<void(HostArrays &)> reference = {};
  /// `--schedule NAME` finds these by their names.
  std::vector<WaveSchedule> schedules = {};
};

namespace plugin {
/// What `SOLITON_KERNEL` leaves behind.
struct Registered {
  std::string name;
  UserKernel (*make)() = nullptr;
  Place place;
};
} // namespace plugin

} // namespace soliton
