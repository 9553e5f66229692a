//===- WaveStructure.cpp - Kernels and loops: what holds of them locally ----===//

#include "soliton/ir/Forms.h"
#include "soliton/ir/Wave.h"

#include "mlir/IR/DialectImplementation.h"

namespace soliton::wave {

//===-- Kernel --------------------------------------------------------------===//

static llvm::LogicalResult verifyParameters(KernelOp kernel) {
  // kernel_c1
  for (mlir::BlockArgument argument : kernel.block().getArguments()) {
    mlir::Type type = argument.getType();
    if (llvm::isa<MemoryType>(type) || (type.isIntOrFloat() && dtypeOf(type)))
      continue;
    return kernel.emitOpError() << "parameter " << argument.getArgNumber() << " has type " << type
                                << ", expected a memory, an integer or a float";
  }
  // kernel_c2
  if (kernel.getArgNames().size() != kernel.block().getNumArguments())
    return kernel.emitOpError() << "names " << kernel.getArgNames().size() << " parameters, has "
                                << kernel.block().getNumArguments();
  return mlir::success();
}

static llvm::LogicalResult verifySymbols(KernelOp kernel) {
  // kernel_c3
  for (mlir::Attribute name : kernel.getDynamic())
    if (kernel.getSubs().contains(llvm::cast<mlir::StringAttr>(name).getValue()))
      return kernel.emitOpError() << "symbol " << name << " is both bound and dynamic";
  // kernel_c5
  for (mlir::NamedAttribute entry : kernel.getSubs()) {
    auto number = llvm::dyn_cast<mlir::IntegerAttr>(entry.getValue());
    if (llvm::isa<ExprAttr>(entry.getValue()) || (number && number.getType().isSignlessInteger(64)))
      continue;
    return kernel.emitOpError() << "binds `" << entry.getName().getValue() << "` to " << entry.getValue()
                                << ", expected a 64-bit integer or an expression";
  }
  return mlir::success();
}

static llvm::LogicalResult verifyConstraint(KernelOp kernel, mlir::Attribute constraint) {
  // kernel_c4
  auto checkWorkgroupDim = [&](int64_t dim) -> llvm::LogicalResult {
    if (dim >= 0 && dim <= 2)
      return mlir::success();
    return kernel.emitOpError() << "distributes over workgroup dimension " << dim << ", expected 0, 1 or 2";
  };
  if (auto workgroup = llvm::dyn_cast<WorkgroupConstraintAttr>(constraint))
    return checkWorkgroupDim(workgroup.getWorkgroupDim());
  if (auto reordering = llvm::dyn_cast<ReorderingConstraintAttr>(constraint))
    return checkWorkgroupDim(reordering.getWorkgroupDim());
  if (llvm::isa<TilingConstraintAttr, WaveConstraintAttr, HardwareConstraintAttr, GridConstraintAttr, SymbolicAliasAttr,
                AssumptionAttr>(constraint))
    return mlir::success();
  return kernel.emitOpError() << "found " << constraint << " among the constraints, expected a constraint such as "
                              << "`#wave.workgroup<...>`";
}

llvm::LogicalResult KernelOp::verify() {
  if (failed(verifyParameters(*this)) || failed(verifySymbols(*this)))
    return mlir::failure();
  for (mlir::Attribute constraint : getConstraints())
    if (failed(verifyConstraint(*this, constraint)))
      return mlir::failure();
  // kernel_c6
  if (getForm() > static_cast<uint32_t>(Form::Machine))
    return emitOpError() << "has form " << getForm() << ", expected 0 to " << static_cast<uint32_t>(Form::Machine);
  return mlir::success();
}

//===-- Iterate -------------------------------------------------------------===//

sym::Expr IterateOp::inductionSymbol() {
  return sym::Expr::symbol("$ARG_" + getAxis().str());
}

llvm::LogicalResult IterateOp::verify() {
  // iterate_c1
  auto yield = llvm::cast<YieldOp>(block().getTerminator());
  mlir::TypeRange expected = getInits().getTypes();
  std::pair<llvm::StringRef, mlir::TypeRange> carried[] = {{"block arguments", block().getArgumentTypes()},
                                                           {"yielded values", yield.getValues().getTypes()},
                                                           {"results", getResults().getTypes()}};
  for (auto &[what, types] : carried) {
    if (types.size() != expected.size())
      return emitOpError() << "has " << types.size() << " " << what << ", expected " << expected.size()
                           << " as there are initial values";
    for (auto [index, pair] : llvm::enumerate(llvm::zip(types, expected)))
      if (std::get<0>(pair) != std::get<1>(pair))
        return emitOpError() << "carries value " << index << " as " << std::get<1>(pair) << ", but the type in its "
                             << what << " is " << std::get<0>(pair);
  }
  return mlir::success();
}

} // namespace soliton::wave

#define GET_OP_CLASSES
#include "soliton/ir/WaveOps.cpp.inc"
