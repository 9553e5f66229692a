//===- FormVerifier.h - Every form is checked where it begins ------------------------===//
//
// A pass that ensures a form is followed by that form's verifier, in every compilation. A kernel that is not what it
// claims to be is an error of ours (`form-violated`), and is not compiled further:
//
//   wave-place-shared sets `Placed`      verifyForm(kernel, Placed)
//
// What `Synchronized` promises is proven once more from the program itself, which is what will be lowered, and not from
// the tree that the barriers and waits were derived on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Forms.h"
#include "soliton/transforms/WholeKernel.h"

#include "mlir/Pass/PassInstrumentation.h"

namespace soliton {

/// Verifies the form of a kernel after each pass that has changed it.
class FormVerifier final : public mlir::PassInstrumentation {
public:
  struct Verdict {
    bool violated = false;
    /// Time that it took.
    double ms = 0;
  };
  explicit FormVerifier(Verdict &verdict) : verdict(verdict) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  Form last = Form::Traced;
  Verdict &verdict;
};

/// Fails with what the program's accesses and barriers leave unproven, and where a barrier does not publish what matrix
/// instructions read behind it.
LogicalResult proveAgain(wave::KernelOp kernel, const WholeKernel &whole, const Target &target);

} // namespace soliton
