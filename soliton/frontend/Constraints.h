//===- Constraints.h - How a kernel's dimensions are distributed ----------------===//
//
// Constraints say *who* computes what, apart from the kernel's text: workgroups, waves, loop iterations, hardware.
//
//   WorkgroupConstraint(M, BM, 0)        workgroup i of grid dimension 0 has rows BM*i … BM*(i + 1)
//   WaveConstraint(M, BM / 2)            two waves share them
//   TilingConstraint(K, BK)              a loop over K takes BK columns an iteration
//   HardwareConstraint{.mma = F32_16x16x16_F16}
//
// Each remembers where it was written.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Symbols.h"
#include "soliton/support/Diagnostics.h"

#include <functional>
#include <memory>
#include <optional>

namespace soliton {
namespace frontend {
struct ConstraintData;
} // namespace frontend

inline namespace lang {

/// A map of index expressions, e.g. from a workgroup's number to where its tile starts.
using ExprFunction = std::function<Expr(Expr)>;

struct WorkgroupOptions {
  /// From the workgroup's number to the start of its tile; unset means number × tile.
  ExprFunction apply_fn = {};
  /// Only primary constraints count workgroups; several dimensions may share a workgroup dimension.
  bool primary = true;
  /// How many workgroups; unset means ceil(dim / tile).
  std::optional<Expr> iters = {};
};

/// Distributes `dim` over workgroups, `tile` elements each.
struct WorkgroupConstraint {
  Expr dim, tile;
  int workgroup_dim;
  WorkgroupOptions options;
  Place place;
  WorkgroupConstraint(Expr dim, Expr tile, int workgroupDim, WorkgroupOptions options = {},
                      Place place = std::source_location::current())
      : dim(dim), tile(tile), workgroup_dim(workgroupDim), options(std::move(options)), place(std::move(place)) {}
};

struct TilingOptions {
  /// Iterations; unset means ceil(dim / tile).
  std::optional<Expr> iters = {};
  /// Where the first tile starts.
  std::optional<Expr> start = {};
};

/// A loop over `dim` takes `tile` elements an iteration.
struct TilingConstraint {
  Expr dim, tile;
  TilingOptions options;
  Place place;
  TilingConstraint(Expr dim, Expr tile = 1, TilingOptions options = {}, Place place = std::source_location::current())
      : dim(dim), tile(tile), options(std::move(options)), place(std::move(place)) {}
};

/// Distributes a workgroup's tile of `dim` over its waves, `tile` elements each.
struct WaveConstraint {
  Expr dim, tile;
  Place place;
  WaveConstraint(Expr dim, Expr tile, Place place = std::source_location::current())
      : dim(dim), tile(tile), place(std::move(place)) {}
};

/// Splits `dim` over several devices. Part of the language; not supported by this version.
struct DeviceConstraint {
  Expr dim, tile;
  int device_dim;
  Place place;
  DeviceConstraint(Expr dim, Expr tile, int deviceDim, Place place = std::source_location::current())
      : dim(dim), tile(tile), device_dim(deviceDim), place(std::move(place)) {}
};

/// What the hardware does; whatever is unset is the target's default.
struct HardwareConstraint {
  std::optional<int64_t> threads_per_wave = {};
  /// Waves of a workgroup along its three dimensions; unset means what the wave constraints say.
  std::vector<int64_t> waves_per_block = {};
  /// So many neighbours along a dimension of the grid are resident together: of tiles that are the same for all of
  /// them, which the target copies in boxes, each fetches its share for all. One entry may be larger than 1.
  std::vector<int64_t> workgroups_per_cluster = {};
  /// The matrix instruction of every `mma` that names no other.
  std::optional<MmaType> mma = {};
  /// Elements of a dimension that one wave takes at a time. They change no result, and layouts are chosen by cost; 0
  /// says that a workgroup has one element of the dimension, and is refused where its tile has more.
  DimMap vector_shapes = {};
  int64_t max_bits_per_load = 128;
  /// Waves beside those that compute, of which one has boxes of tensors copied for them; 4 of them, a group as wide as
  /// a compute unit, leave their registers to the others. Only where the target copies boxes.
  int64_t n_service_waves = 0;
  Place place = std::source_location::current();
};

/// A fixed number of workgroups, for persistent kernels.
struct GridConstraint {
  Expr size;
  Place place;
  GridConstraint(Expr size, Place place = std::source_location::current()) : size(size), place(std::move(place)) {}
};

/// Replaces the number of a workgroup along one dimension by an expression in all of them.
struct ReorderingConstraint {
  Expr equation;
  int workgroup_dim;
  Place place;
  ReorderingConstraint(Expr equation, int workgroupDim, Place place = std::source_location::current())
      : equation(equation), workgroup_dim(workgroupDim), place(std::move(place)) {}
};

/// `source` is distributed as `target` is, with tiles mapped by a function.
struct SymbolicAlias {
  Expr source, target;
  ExprFunction source_to_target;
  Place place;
  SymbolicAlias(Expr source, Expr target, ExprFunction sourceToTarget, Place place = std::source_location::current())
      : source(source), target(target), source_to_target(std::move(sourceToTarget)), place(std::move(place)) {}
};

/// A predicate over sizes that holds at every launch; the launch checks it.
struct Assumption {
  Expr predicate;
  Place place;
  Assumption(Expr predicate, Place place = std::source_location::current())
      : predicate(predicate), place(std::move(place)) {}
};

/// Which dimension each iterator of a `source`/`target` access stands for.
struct IteratorBindings {
  DimMap bindings;
  Place place;
  IteratorBindings(DimMap bindings, Place place = std::source_location::current())
      : bindings(std::move(bindings)), place(std::move(place)) {}
};

/// The kernel speaks of one lane (Simt.h): workgroups of so many threads, in a grid of up to three dimensions. Where
/// other constraints distribute tiles over workgroups, theirs is the grid.
struct Simt {
  Expr threads;
  std::vector<Expr> grid;
  Place place;
  Simt(Expr threads, std::vector<Expr> grid = {}, Place place = std::source_location::current())
      : threads(threads), grid(std::move(grid)), place(std::move(place)) {}
};

/// Any of the above.
class Constraint {
public:
  Constraint(WorkgroupConstraint constraint);
  Constraint(TilingConstraint constraint);
  Constraint(WaveConstraint constraint);
  Constraint(HardwareConstraint constraint);
  Constraint(GridConstraint constraint);
  Constraint(ReorderingConstraint constraint);
  Constraint(SymbolicAlias constraint);
  Constraint(Assumption constraint);
  Constraint(IteratorBindings constraint);
  Constraint(DeviceConstraint constraint);
  Constraint(Simt constraint);

  const frontend::ConstraintData &data() const { return *held; }

private:
  std::shared_ptr<const frontend::ConstraintData> held;
};

} // namespace lang
} // namespace soliton
