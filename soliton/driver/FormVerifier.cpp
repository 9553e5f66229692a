#include "soliton/driver/FormVerifier.h"

#include "soliton/ir/Diagnose.h"
#include "soliton/schedule/WholePlaces.h"
#include "soliton/transforms/FinishCopies.h"
#include "soliton/transforms/PublishWrites.h"

#include <chrono>

namespace soliton {

void FormVerifier::runAfterPass(mlir::Pass *, mlir::Operation *op) {
  auto kernel = dyn_cast<wave::KernelOp>(op);
  if (!kernel || getForm(kernel) == last)
    return;
  auto begin = std::chrono::steady_clock::now();
  last = getForm(kernel);
  verdict.violated |= mlir::failed(verifyForm(kernel, last));
  verdict.ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

LogicalResult proveAgain(wave::KernelOp kernel, const WholeKernel &whole, const Target &target) {
  if (whole.unproven) // an instrument asked for it
    return success();
  std::vector<Diagnostic> wrong = sched::whole::prove(whole.kernel);
  for (const Diagnostic &diagnostic : wrong)
    emit(kernel.getContext(), diagnostic);
  if (mlir::Operation *barrier = findUnpublished(kernel, target))
    return report(barrier->getLoc(), DiagId::FormViolated)
           << "`" << kernel.getSymName() << "` claims to be `Synchronized`, and this op does not publish what was "
           << "written or read before it to those behind it that reach shared memory past the registers";
  if (wave::CopyOutOp copy = findUnfinished(kernel))
    return report(copy.getLoc(), DiagId::FormViolated)
           << "`" << kernel.getSymName() << "` claims to be `Synchronized`, and may end before this copy has read its "
           << "shared tile";
  if (wrong.empty())
    return success();
  return report(kernel.getLoc(), DiagId::FormViolated)
         << "`" << kernel.getSymName() << "` claims to be `Synchronized`, and " << wrong.size()
         << " of its hazards are not proven";
}

} // namespace soliton
