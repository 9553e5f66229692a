//===- PadRows.h - Rows that are not aligned are copied to some that are ------------------===//
//
// Rows of 4099 f16 start at any even address: no lane can read more than two bytes of them at a time, and no copy past
// the registers is possible. Where tiles of such a tensor are read many times, it is cheaper to copy it once into rows
// that are, which a launch keeps in its workspace:
//
//   gemm(a: f16[4095, 4099], …)     becomes    gemm_rows_a   copies a to  a.rows: f16[4095, 4160], 0 beyond column 4099
//                                              gemm          reads a.rows, 16 bytes a lane
//
// Whether that pays is an estimate in clocks, a number or, with sizes known only at launch, a condition that the launch
// evaluates.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Wave.h"
#include "soliton/support/RowPadding.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace soliton {

/// One tensor whose rows are copied.
struct PaddedTensor {
  /// The parameter of the kernel.
  unsigned argument = 0;
  /// Elements of a copied row are a multiple of this.
  int64_t unit = 1;
  /// Where its copy lies in the workspace, and what it takes, in bytes.
  sym::Expr offset, bytes;
};

struct PaddingPlan {
  std::vector<PaddedTensor> tensors;
  /// Holds where the copies pay; a number where all sizes are known.
  sym::Expr pays = 0;
  sym::Expr workspaceBytes = 0;

  /// Whether some launch uses the copies, and whether all do.
  bool isUsed() const { return !tensors.empty() && !pays.isConstant(0); }
  bool isAlwaysUsed() const { return !tensors.empty() && pays.isConstant() && !pays.isConstant(0); }
};

/// For a kernel in the form `Traced`. What its constraints get wrong is reported by the passes: then there is no plan.
PaddingPlan planPadding(wave::KernelOp kernel, RowPadding wanted);

/// Gives the kernel the workspace's memories as further parameters; with `read` it reads them instead of the tensors.
void addWorkspace(wave::KernelOp kernel, const PaddingPlan &plan, bool read);

/// The kernel that makes one of the copies; its parameters are those of `kernel` and the workspace's.
mlir::OwningOpRef<mlir::ModuleOp> paddingKernel(wave::KernelOp kernel, const PaddingPlan &plan, size_t tensor);

} // namespace soliton
