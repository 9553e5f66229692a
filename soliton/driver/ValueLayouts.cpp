#include "soliton/driver/ValueLayouts.h"

#include "soliton/driver/Compilation.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"

#include "mlir/Parser/Parser.h"

namespace soliton {

/// The tile that a value is; nothing where it is none, or has no layout.
static std::optional<ValueLayout> describe(mlir::Value value, mlir::Operation *op, llvm::StringRef tag,
                                           std::string role) {
  auto tile = llvm::dyn_cast<wave::TileType>(value.getType());
  if (!tile || !tile.hasLayout())
    return std::nullopt;
  ValueLayout result;
  result.tag = tag.str();
  result.role = std::move(role);
  llvm::raw_string_ostream(result.type) << tile.getElementType();
  for (mlir::StringAttr dim : tile.getDims())
    result.dims.emplace_back(dim.getValue());
  result.layout = tile.layout();
  result.place = placeOf(op->getLoc());
  return result;
}

static void addValues(mlir::Operation *op, llvm::StringRef tag, std::vector<ValueLayout> &values) {
  auto add = [&](mlir::Value value, std::string role) {
    if (std::optional<ValueLayout> found = describe(value, op, tag, std::move(role)))
      values.push_back(std::move(*found));
  };
  if (auto mma = llvm::dyn_cast<wave::MmaOp>(op)) {
    add(mma.getLhs(), "lhs");
    add(mma.getRhs(), "rhs");
    add(mma.getResult(), "acc");
    return;
  }
  for (mlir::Value result : op->getResults())
    add(result, "result");
  if (op->getNumResults() == 0)
    for (mlir::Value operand : op->getOperands())
      add(operand, "value");
}

static void collect(mlir::ModuleOp module, ValueLayouts &found) {
  mlir::PassManager manager(module.getContext());
  manager.enableVerifier(false);
  buildIndexedPipeline(manager);
  if (mlir::failed(manager.run(module)))
    return;
  module.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (auto tags = op->getAttrOfType<mlir::ArrayAttr>("tags"))
      for (mlir::Attribute tag : tags)
        addValues(op, llvm::cast<mlir::StringAttr>(tag).getValue(), found.values);
  });
  found.ok = true;
}

ValueLayouts valueLayouts(const Kernel &kernel, const CompileOptions &options) {
  sym::ThrowMistakes scope;
  mlir::MLIRContext &context = threadContext();
  DiagnosticCollector collector(&context);
  EmittedKernel emitted = emitKernel(kernel, context, {options.subs, options.dynamic, options.target, options.place});
  ValueLayouts found;
  found.diagnostics = std::move(emitted.diagnostics);
  if (emitted.module)
    collect(*emitted.module, found);
  for (Diagnostic &diagnostic : collector.take())
    found.diagnostics.push_back(std::move(diagnostic));
  return found;
}

ValueLayouts valueLayouts(std::string_view text, std::string_view fileName, const CompileOptions &options) {
  sym::ThrowMistakes scope;
  mlir::MLIRContext &context = threadContext();
  DiagnosticCollector collector(&context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text.data(), text.size()), &context,
                                                        llvm::StringRef(fileName.data(), fileName.size()));
  ValueLayouts found;
  if (module) {
    for (wave::KernelOp kernel : module->getOps<wave::KernelOp>())
      if (!options.target.empty())
        kernel.setTarget(options.target);
    collect(*module, found);
  }
  found.diagnostics = collector.take();
  return found;
}

} // namespace soliton
