//===- Geometry.h - What the constraints say, in numbers ----------------------===//
//
// For one kernel with all symbols known: how many workgroups there are, how large each dimension's tile is, and where
// it starts for the current workgroup and iteration. For M of `workgroup<M, 64, 0>` in workgroup 3: tile 64, start 192.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/interpreter/Tile.h"
#include "soliton/ir/Forms.h"

#include <array>

namespace soliton::interp {

class Geometry {
public:
  /// Throws Failure where an expression has no value.
  Geometry(wave::KernelOp kernel, const std::map<std::string, int64_t> &symbols);

  using Grid = std::array<int64_t, wave::kMaxGridDims>;
  /// Workgroups along each dimension of the grid.
  Grid grid();

  /// From here on expressions are about this workgroup.
  void enterWorkgroup(const Grid &ids);
  int64_t workgroupId(int64_t dim) const { return workgroup[dim]; }
  /// The loop is at this iteration.
  void setIteration(wave::IterateOp loop, int64_t number) { iterationOf[loop] = number; }
  /// From here on `$0`, `$1`, … in expressions are these numbers.
  void setOperands(const std::vector<int64_t> &values);

  /// The value of an expression that the program states; `loc` is where it stands.
  int64_t evaluate(sym::Expr expr, mlir::Location loc);
  /// The expression with all that is known put in.
  sym::Expr bind(sym::Expr expr, mlir::Location loc);

  /// The whole size of a dimension.
  int64_t size(Dim dim, mlir::Location loc);
  /// Elements of a dimension in a tile.
  int64_t extent(Dim dim, mlir::Location loc);
  /// Where the dimension's tile starts in the whole tensor, at the place of `op`.
  int64_t start(Dim dim, mlir::Operation *op);
  int64_t iterations(wave::IterateOp loop);
  /// The coordinates of a tile of that type.
  Domain domain(wave::TileType type, mlir::Location loc);

  Form form() const { return kernelForm; }

private:
  struct Workgroup {
    sym::Expr tile, start, count;
    int64_t dim;
    bool primary;
  };
  struct Loop {
    sym::Expr tile, start, count;
    /// Loops along this axis place it.
    std::string axis;
  };

  void bindSymbols(const std::map<std::string, int64_t> &symbols);
  void readConstraints();
  void addWorkgroup(wave::WorkgroupConstraintAttr constraint);
  void addTiling(wave::TilingConstraintAttr constraint);
  void addAlias(wave::SymbolicAliasAttr alias);
  /// With workgroup ids replaced as the reordering constraints say.
  sym::Expr reorder(sym::Expr expr) const { return sym::substitute(expr, reordered); }
  /// `dim` as an expression: itself, or what its text says (`K/32`).
  sym::Expr exprOf(Dim dim, mlir::Location loc);

  wave::KernelOp kernel;
  Form kernelForm;
  std::map<Dim, Workgroup> workgroups;
  std::map<Dim, Loop> loops;
  std::optional<sym::Expr> fixedGrid;
  sym::Substitution bound, reordered;
  sym::Environment environment;
  Grid workgroup = {};
  llvm::DenseMap<mlir::Operation *, int64_t> iterationOf;
};

} // namespace soliton::interp
