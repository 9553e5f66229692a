#include "soliton/transforms/Tickets.h"

#include "soliton/analysis/Persistent.h"

namespace soliton {
using namespace wave;

/// Whether how often a loop runs depends on where the workgroup is.
static bool areUneven(KernelOp kernel) {
  return llvm::any_of(kernel.getConstraints(), [](Attribute constraint) {
    auto tiling = dyn_cast<TilingConstraintAttr>(constraint);
    if (!tiling || !tiling.getIters())
      return false;
    return llvm::any_of(sym::symbolsOf(tiling.getIters().getValue()),
                        [](sym::Expr symbol) { return symbol.symbolName().starts_with("$WG"); });
  });
}

void addTickets(KernelOp kernel) {
  if (!persistentWorkgroups(kernel) || kernel.getWorkspace() || kernel.getCluster() ||
      kernel.getWorkgroupsPerCluster() || !areUneven(kernel))
    return;
  MLIRContext *context = kernel.getContext();
  auto counter = MemoryType::get(context, ArrayRef<ExprAttr>{exprAttr(context, 1)}, mlir::IntegerType::get(context, 32),
                                 AddressSpace::Global, SharedMapAttr());
  kernel.block().addArgument(counter, kernel.getLoc());
  SmallVector<Attribute> names(kernel.getArgNames().begin(), kernel.getArgNames().end());
  names.push_back(StringAttr::get(context, "tickets"));
  kernel.setArgNamesAttr(ArrayAttr::get(context, names));
  kernel.setWorkspaceAttr(exprArrayAttr(context, ArrayRef<sym::Expr>{sym::Expr(0)}));
  kernel.setTickets(true);
}

} // namespace soliton
