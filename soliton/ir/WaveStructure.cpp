//===- WaveStructure.cpp - Kernels, control and time: what holds locally ----===//

#include "soliton/ir/Forms.h"
#include "soliton/ir/Wave.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"

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
    if (dim >= 0 && dim < kMaxGridDims)
      return mlir::success();
    return kernel.emitOpError() << "distributes over workgroup dimension " << dim << ", expected 0 to "
                                << kMaxGridDims - 1;
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

/// kernel_c7
static llvm::LogicalResult verifyWorkspace(KernelOp kernel) {
  if (!kernel.getWorkspace())
    return mlir::success();
  mlir::ArrayAttr offsets = *kernel.getWorkspace();
  if (!llvm::all_of(offsets, llvm::IsaPred<ExprAttr>))
    return kernel.emitOpError() << "has a `workspace` with an entry that is no expression";
  auto parameters = kernel.block().getArguments();
  if (offsets.size() > parameters.size() ||
      !llvm::all_of(parameters.take_back(offsets.size()),
                    [](mlir::Value parameter) { return llvm::isa<MemoryType>(parameter.getType()); }))
    return kernel.emitOpError() << "has a `workspace` of " << offsets.size()
                                << " memories, which are not its last parameters";
  return mlir::success();
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
  // kernel_c8
  if (getRaster() && *getRaster() == 0)
    return emitOpError() << "has a `raster` of 0, expected bands of some rows, or, below 0, of columns";
  // kernel_c9
  if (getCluster() && static_cast<int64_t>(*getCluster()) < 2)
    return emitOpError() << "has a `cluster` of " << static_cast<int64_t>(*getCluster())
                         << " workgroups, expected at least 2";
  // kernel_c10
  if (getPersistent() && static_cast<int64_t>(*getPersistent()) < 1)
    return emitOpError() << "has `persistent` of " << static_cast<int64_t>(*getPersistent())
                         << " workgroups, expected at least 1";
  // kernel_c11
  if (getServiceWaves() && static_cast<int64_t>(*getServiceWaves()) < 1)
    return emitOpError() << "has " << static_cast<int64_t>(*getServiceWaves())
                         << " `service_waves`, expected at least 1";
  // kernel_c15
  if (auto kept = getServiceRegisters(); kept && (*kept < 24 || *kept > 256 || *kept % 8 != 0 || !getServiceWaves()))
    return emitOpError() << "has `service_registers` of " << static_cast<int64_t>(*kept)
                         << ", expected a multiple of 8 from 24 to 256 beside `service_waves`";
  if (llvm::failed(verifyWorkspace(*this)))
    return llvm::failure();
  // kernel_c12
  if (getTickets()) {
    auto counter = getPersistent() && getWorkspace() && !getWorkspace()->empty()
                       ? llvm::dyn_cast<MemoryType>(block().getArguments().back().getType())
                       : MemoryType();
    if (!counter || counter.getRank() != 1 || !counter.getElementType().isInteger(32))
      return emitOpError() << "has `tickets`, expected `persistent` and a last memory of one i32 in the workspace";
  }
  // kernel_c13
  if (auto cluster = getWorkgroupsPerCluster()) {
    bool isOne = llvm::all_of(*cluster, [](int64_t along) { return along >= 1; }) &&
                 llvm::count_if(*cluster, [](int64_t along) { return along > 1; }) == 1;
    if (!isOne || static_cast<int64_t>(cluster->size()) > kMaxGridDims || getCluster())
      return emitOpError() << "has `workgroups_per_cluster` of " << *cluster
                           << ", expected positive numbers, one of them larger than 1, and no `cluster`";
  }
  // kernel_c14
  for (mlir::Attribute name : getStableAttr() ? getStableAttr().getValue() : llvm::ArrayRef<mlir::Attribute>()) {
    auto found = llvm::find(getArgNames(), name);
    size_t number = static_cast<size_t>(found - getArgNames().begin());
    if (found == getArgNames().end() || !llvm::isa<MemoryType>(block().getArgument(number).getType()))
      return emitOpError() << "calls " << name << " stable, expected the name of a memory";
  }
  return llvm::success();
}

//===-- Iterate -------------------------------------------------------------===//

llvm::LogicalResult WorkgroupIdOp::verify() {
  // workgroup_id_c1
  auto dim = static_cast<int64_t>(getDim());
  if (dim >= 0 && dim < kMaxGridDims)
    return mlir::success();
  return emitOpError() << "asks for dimension " << dim << " of the grid, expected 0 to " << kMaxGridDims - 1;
}

llvm::LogicalResult IndexOfOp::verify() {
  // index_of_c1
  TileType type = getTile().getType();
  if (!type.getDims().empty())
    return emitOpError() << "takes a tile of " << type.getDims().size() << " dimensions, expected none";
  if (!type.getElementType().isInteger() || type.getElementType().getIntOrFloatBitWidth() < 8)
    return emitOpError() << "takes a tile of " << type.getElementType() << ", expected integers of 8 bits or more";
  return mlir::success();
}

llvm::LogicalResult WhileOp::verify() {
  // while_c1; while_c2 is what holds of all expressions.
  auto all = llvm::cast<IterateOp>((*this)->getParentOp()).block().getOps<WhileOp>();
  if (std::distance(all.begin(), all.end()) > 1)
    return emitOpError() << "is not the only one of its loop";
  return mlir::success();
}

WhileOp IterateOp::exit() {
  auto all = block().getOps<WhileOp>();
  return all.empty() ? WhileOp() : *all.begin();
}

mlir::Block &IterateOp::makeBody() {
  mlir::Block &body = getBody().emplaceBlock();
  body.addArgument(mlir::IndexType::get(getContext()), getLoc());
  for (mlir::Type type : getResultTypes())
    body.addArgument(type, getLoc());
  return body;
}

/// The body of a loop; the argument that counts the iterations may be left out where nothing mentions it.
static mlir::ParseResult parseLoopBody(mlir::OpAsmParser &parser, mlir::Region &body) {
  if (parser.parseRegion(body))
    return mlir::failure();
  if (body.empty())
    body.emplaceBlock();
  mlir::Block &block = body.front();
  if (block.getNumArguments() == 0 || !block.getArgument(0).getType().isIndex())
    block.insertArgument(0u, parser.getBuilder().getIndexType(), parser.getBuilder().getUnknownLoc());
  IterateOp::ensureTerminator(body, parser.getBuilder(), parser.getBuilder().getUnknownLoc());
  return mlir::success();
}

static void printLoopBody(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Region &body) {
  printer.printRegion(body, /*printEntryBlockArgs=*/true,
                      /*printBlockTerminators=*/body.front().getTerminator()->getNumOperands() > 0);
}

/// `(source, init) -> result`, as a function's type.
static mlir::ParseResult parseReduceTypes(mlir::OpAsmParser &parser, mlir::Type &source, mlir::Type &init,
                                          mlir::Type &result) {
  mlir::FunctionType type;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(type))
    return mlir::failure();
  if (type.getNumInputs() < 1 || type.getNumInputs() > 2 || type.getNumResults() != 1)
    return parser.emitError(loc) << "expected `(source) -> result` or `(source, init) -> result`";
  source = type.getInput(0);
  if (type.getNumInputs() == 2)
    init = type.getInput(1);
  result = type.getResult(0);
  return mlir::success();
}

static void printReduceTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Type source, mlir::Type init,
                             mlir::Type result) {
  llvm::SmallVector<mlir::Type> inputs = {source};
  if (init)
    inputs.push_back(init);
  printer.printFunctionalType(inputs, mlir::TypeRange(result));
}

llvm::LogicalResult IterateOp::verify() {
  // iterate_c2
  if (block().getNumArguments() == 0 || !block().getArgument(0).getType().isIndex())
    return emitOpError() << "has no block argument that counts its iterations, expected an index as the first one";
  // iterate_c1
  auto yield = llvm::cast<YieldOp>(block().getTerminator());
  mlir::TypeRange expected = getInits().getTypes();
  std::pair<llvm::StringRef, mlir::TypeRange> carried[] = {
      {"block arguments", mlir::TypeRange(block().getArgumentTypes()).drop_front()},
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

//===-- Conditional ---------------------------------------------------------===//

void ConditionalOp::build(mlir::OpBuilder &builder, mlir::OperationState &state, mlir::TypeRange results,
                          ExprAttr condition, mlir::ValueRange symbols) {
  state.addTypes(results);
  state.addOperands(symbols);
  state.getOrAddProperties<Properties>().condition = condition;
  for (int i = 0; i < 2; ++i)
    state.addRegion()->emplaceBlock();
  // The terminator of a branch that yields values is the caller's.
  if (results.empty())
    for (const std::unique_ptr<mlir::Region> &region : state.regions)
      ensureTerminator(*region, builder, state.location);
}

llvm::LogicalResult ConditionalOp::verify() {
  // conditional_c1 is what holds of all expressions.
  // conditional_c2
  for (mlir::Block *block : {&thenBlock(), &elseBlock()}) {
    llvm::StringRef which = block == &thenBlock() ? "first" : "second";
    if (block->getNumArguments() != 0)
      return emitOpError() << "has " << block->getNumArguments() << " arguments in its " << which
                           << " block, expected none";
    auto types = llvm::cast<YieldOp>(block->getTerminator()).getValues().getTypes();
    if (types != getResults().getTypes())
      return emitOpError() << "yields (" << types << ") from its " << which << " block, expected ("
                           << getResults().getTypes() << ") as its results";
  }
  return mlir::success();
}

llvm::LogicalResult ConditionalOp::canonicalize(ConditionalOp op, mlir::PatternRewriter &rewriter) {
  std::optional<int64_t> value = sym::simplify(op.getCondition().getValue()).constantValue();
  if (!value)
    return mlir::failure();
  mlir::Block &taken = *value != 0 ? op.thenBlock() : op.elseBlock();
  mlir::Operation *yield = taken.getTerminator();
  rewriter.inlineBlockBefore(&taken, op);
  rewriter.replaceOp(op, yield->getOperands());
  rewriter.eraseOp(yield);
  return mlir::success();
}

//===-- Time ----------------------------------------------------------------===//

void BarrierOp::build(mlir::OpBuilder &builder, mlir::OperationState &state, mlir::ArrayAttr tags) {
  build(builder, state, mlir::IntegerAttr(), mlir::IntegerAttr(), tags, mlir::UnitAttr(), mlir::UnitAttr(),
        mlir::IntegerAttr());
}

void BarrierOp::build(mlir::OpBuilder &builder, mlir::OperationState &state, int64_t firstWave, int64_t lastWave,
                      mlir::ArrayAttr tags) {
  build(builder, state, builder.getI64IntegerAttr(firstWave), builder.getI64IntegerAttr(lastWave), tags,
        mlir::UnitAttr(), mlir::UnitAttr(), mlir::IntegerAttr());
}

llvm::LogicalResult BarrierOp::verify() {
  // barrier_c1
  if (getFirstWave().has_value() != getLastWave().has_value())
    return emitOpError() << "names only its " << (getFirstWave() ? "first" : "last")
                         << " wave, expected `first_wave` and `last_wave` or neither";
  // barrier_c2
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (getCluster() && (getFirstWave() || (kernel && !kernel.getCluster())))
    return emitOpError() << "is for the workgroups of a cluster, expected "
                         << (getFirstWave() ? "no waves that it names" : "a kernel with a `cluster`");
  // barrier_c3
  if (auto team = getTeam(); team && (static_cast<int64_t>(*team) < 1 || getFirstWave() || getCluster()))
    return emitOpError() << "is for teams of " << static_cast<int64_t>(*team)
                         << " waves, expected at least 1, no waves that it names and no `cluster`";
  if (!getFirstWave())
    return mlir::success();
  auto first = static_cast<int64_t>(*getFirstWave()), last = static_cast<int64_t>(*getLastWave());
  if (first < 0 || first >= last)
    return emitOpError() << "is for the waves " << first << " to " << last << ", expected 0 <= first_wave < last_wave";
  return mlir::success();
}

/// Fails where a number of a hint or wait is negative or larger than `last`.
static llvm::LogicalResult verifyRange(mlir::Operation *op, llvm::StringRef what, uint64_t found, int64_t last) {
  auto value = static_cast<int64_t>(found);
  if (value >= 0 && value <= last)
    return mlir::success();
  return op->emitOpError() << "has " << what << " " << value << ", expected 0 to " << last;
}

llvm::LogicalResult WaitOp::verify() {
  return verifyRange(*this, "count", getCount(), INT32_MAX); // wait_c1
}

llvm::LogicalResult AwaitOp::verify() {
  return verifyRange(*this, "count", getCount(), INT32_MAX); // await_c1
}

llvm::LogicalResult PriorityOp::verify() {
  return verifyRange(*this, "level", getLevel(), 3); // priority_c1
}

llvm::LogicalResult SchedBarrierOp::verify() {
  return verifyRange(*this, "mask", getMask(), INT32_MAX); // sched_barrier_c1
}

llvm::LogicalResult SchedGroupOp::verify() {
  // sched_group_c1
  if (failed(verifyRange(*this, "mask", getMask(), INT32_MAX)) ||
      failed(verifyRange(*this, "count", getCount(), INT32_MAX)))
    return mlir::failure();
  return verifyRange(*this, "group", getGroup(), INT32_MAX);
}

} // namespace soliton::wave

#define GET_OP_CLASSES
#include "soliton/ir/WaveOps.cpp.inc"
