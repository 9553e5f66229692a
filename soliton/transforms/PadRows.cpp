#include "soliton/transforms/PadRows.h"

#include "soliton/analysis/IndexSymbols.h"
#include "soliton/analysis/LayoutCosts.h"
#include "soliton/ir/Forms.h"

#include <numeric>

namespace soliton {
using namespace wave;

/// Rows start on lines: a row that straddles them costs 5 to 8 % of a whole product on an H200.
static constexpr int64_t kRowBytes = 128;
/// What every copy must allow.
static constexpr int64_t kWideBytes = 16;
/// A plan has few launches; the kernel itself may be there twice.
static constexpr size_t kMaxTensors = 4;

//===----------------------------------------------------------------------===//
// What can be copied
//===----------------------------------------------------------------------===//

/// The dimension of the read's tile that walks the memory's rows; nothing where one does not.
static std::optional<DimExtent> alongRows(ReadOp read, const Geometry &geometry) {
  bool plain = read.getDynamicValues().empty() && !read.getBounds() && isPermutation(read);
  std::optional<std::vector<DimExtent>> order = plain ? memoryOrder(read, geometry) : std::nullopt;
  if (!order || order->size() < 2)
    return std::nullopt;
  return order->back();
}

/// Elements of a copied row are a multiple of this; nothing where the parameter's rows are aligned or cannot be copied.
static std::optional<int64_t> rowUnit(BlockArgument argument, const Geometry &geometry) {
  auto memory = dyn_cast<MemoryType>(argument.getType());
  // Whoever says how far apart rows lie has aligned them, or wants no copy.
  if (!memory || !memory.isShared() || memory.isStrided() || memory.getShape().size() < 2 ||
      memory.getShape().size() > 4 || argument.use_empty())
    return std::nullopt;
  int64_t bits = memoryBits(memory.getElementType());
  bool named = llvm::all_of(memory.getShape(), [](ExprAttr extent) { return extent.getValue().isSymbol(); });
  if (!named || bits % 8 != 0)
    return std::nullopt;
  sym::Expr row = geometry.bind(memory.getShape().back().getValue()) * (bits / 8);
  if (sym::divisorOf(row, geometry.facts()) % kWideBytes == 0)
    return std::nullopt;
  int64_t unit = kRowBytes * 8 / bits;
  LayoutCosts costs(geometry);
  for (Operation *user : argument.getUsers()) {
    if (isa<PrefetchOp>(user))
      continue;
    auto read = dyn_cast<ReadOp>(user);
    std::optional<DimExtent> along = read ? alongRows(read, geometry) : std::nullopt;
    if (!along || along->dim.name() != memory.getShape().back().getValue().symbolName())
      return std::nullopt;
    // A read of which no price is known, such as one from a row on that data say, could not be weighed.
    if (costs.stagedRead(read, 1) == kForbidden)
      return std::nullopt;
    unit = std::lcm(unit, along->extent);
  }
  return unit;
}

static sym::Expr extentOf(MemoryType memory, size_t dim, const Geometry &geometry) {
  return geometry.bind(memory.getShape()[dim].getValue());
}

/// The type of the copy: rows are longer.
static MemoryType copyType(MemoryType memory, int64_t unit, AddressSpace space) {
  SmallVector<ExprAttr> shape(memory.getShape());
  // One tile at least: a loop of no trips may have begun to fetch the first before it knows.
  sym::Expr units = sym::max(sym::ceildiv(shape.back().getValue(), unit), 1);
  shape.back() = exprAttr(memory.getContext(), units * unit);
  return MemoryType::get(memory.getContext(), shape, memory.getElementType(), space, SharedMapAttr());
}

//===----------------------------------------------------------------------===//
// Whether it pays
//===----------------------------------------------------------------------===//

namespace {
/// Clocks of all compute units together, as expressions of the sizes.
struct Balance {
  sym::Expr saved = 0, spent = 0;
};
} // namespace

static sym::Expr workgroupsOf(const Geometry &geometry) {
  sym::Expr count = 1;
  for (sym::Expr size : geometry.grid())
    count = count * size;
  return count;
}

/// A count that depends on the place, in sizes alone: that of the workgroup in the middle of the grid, in the first
/// trips of the loops around.
static sym::Expr typical(sym::Expr count, const Geometry &geometry) {
  sym::Substitution places;
  for (sym::Expr symbol : sym::symbolsOf(count))
    if (symbol.symbolName().starts_with("$"))
      places.set(symbol, 0);
  for (auto [dim, size] : llvm::enumerate(geometry.grid()))
    places.set(workgroupSymbol(static_cast<int64_t>(dim)), sym::floordiv(size, 2));
  return sym::substitute(count, places);
}

/// Iterations of the loops around a read that move it.
static sym::Expr tripsAround(Operation *op, const Geometry &geometry) {
  sym::Expr count = 1;
  for (auto loop = op->getParentOfType<IterateOp>(); loop; loop = loop->getParentOfType<IterateOp>())
    if (walks(loop, tileOf(op), geometry))
      count = count * typical(geometry[Dim(loop.getAxis().str())].loopCount, geometry);
  return count;
}

/// Every read of the tensor is wide instead of narrow; the copy reads it once as it is and writes it once.
static void weigh(BlockArgument argument, const Geometry &geometry, Balance &balance) {
  auto memory = cast<MemoryType>(argument.getType());
  int64_t bytes = elementBytes(memory.getElementType());
  sym::Expr row = extentOf(memory, memory.getShape().size() - 1, geometry) * bytes;
  int64_t aligned = std::gcd(sym::divisorOf(row, geometry.facts()), kWideBytes);
  LayoutCosts costs(geometry);
  sym::Expr copied = 0;
  for (Operation *user : argument.getUsers()) {
    if (isa<PrefetchOp>(user))
      continue;
    // Prices are those of one wave.
    int64_t narrow = geometry.waveCount() * costs.stagedRead(cast<ReadOp>(user), std::max<int64_t>(1, aligned / bytes)),
            wide = geometry.waveCount() * costs.stagedRead(cast<ReadOp>(user), kWideBytes / bytes);
    sym::Expr tiles = 1;
    std::vector<DimExtent> order = *memoryOrder(user, geometry);
    for (auto [k, dim] : llvm::enumerate(order))
      tiles = tiles * sym::ceildiv(extentOf(memory, k, geometry), dim.extent);
    balance.saved = balance.saved + (narrow - wide) * tripsAround(user, geometry) * workgroupsOf(geometry);
    copied = tiles * (narrow + wide);
  }
  const Target &target = geometry.target();
  balance.spent = balance.spent + copied + target.costs.launch * target.computeUnits;
}

PaddingPlan planPadding(KernelOp kernel, RowPadding wanted) {
  PaddingPlan plan;
  if (wanted == RowPadding::never || kernel.getForm() != static_cast<uint32_t>(Form::Traced))
    return plan;
  mlir::ScopedDiagnosticHandler quiet(kernel.getContext(), [](mlir::Diagnostic &) { return success(); });
  FailureOr<Geometry> geometry = Geometry::of(kernel);
  if (failed(geometry))
    return plan;
  Balance balance;
  for (BlockArgument argument : kernel.block().getArguments()) {
    std::optional<int64_t> unit = rowUnit(argument, *geometry);
    if (!unit || plan.tensors.size() == kMaxTensors)
      continue;
    MemoryType copy = copyType(cast<MemoryType>(argument.getType()), *unit, AddressSpace::Global);
    sym::Expr bytes = sym::simplify(bytesOf(copy, *geometry), geometry->facts());
    plan.tensors.push_back({argument.getArgNumber(), *unit, plan.workspaceBytes, bytes});
    plan.workspaceBytes = plan.workspaceBytes + sym::ceildiv(bytes, 256) * 256;
    weigh(argument, *geometry, balance);
  }
  plan.pays = wanted == RowPadding::always ? sym::Expr(1)
                                           : sym::simplify(sym::le(balance.spent, balance.saved), geometry->facts());
  return plan;
}

//===----------------------------------------------------------------------===//
// The kernels of the plan
//===----------------------------------------------------------------------===//

void addWorkspace(KernelOp kernel, const PaddingPlan &plan, bool read) {
  MLIRContext *context = kernel.getContext();
  SmallVector<Attribute> names(kernel.getArgNames().begin(), kernel.getArgNames().end());
  SmallVector<sym::Expr> offsets;
  for (const PaddedTensor &tensor : plan.tensors) {
    BlockArgument original = kernel.block().getArgument(tensor.argument);
    auto type = cast<MemoryType>(original.getType());
    BlockArgument copy = kernel.block().addArgument(
        copyType(type, tensor.unit, read ? AddressSpace::Shared : AddressSpace::Global), original.getLoc());
    names.push_back(StringAttr::get(context, cast<StringAttr>(names[tensor.argument]).getValue() + ".rows"));
    offsets.push_back(tensor.offset);
    if (read)
      original.replaceAllUsesWith(copy);
  }
  kernel.setArgNamesAttr(ArrayAttr::get(context, names));
  kernel.setWorkspaceAttr(exprArrayAttr(context, offsets));
}

/// Four waves, one above the other; workgroups walk along rows first.
static ArrayAttr copyConstraints(MemoryType memory) {
  MLIRContext *context = memory.getContext();
  int64_t bytes = elementBytes(memory.getElementType()), rank = static_cast<int64_t>(memory.getShape().size());
  SmallVector<Attribute> constraints;
  for (int64_t k = 0; k < rank; ++k) {
    auto dim = StringAttr::get(context, memory.getShape()[k].getValue().symbolName());
    int64_t tile = k + 1 == rank ? kRowBytes / bytes : k + 2 == rank ? 64 : 1;
    constraints.push_back(WorkgroupConstraintAttr::get(context, dim, exprAttr(context, tile), rank - 1 - k,
                                                       /*primary=*/true, ExprAttr(), ExprAttr()));
    if (k + 2 == rank)
      constraints.push_back(WaveConstraintAttr::get(context, dim, exprAttr(context, tile / 4)));
  }
  return ArrayAttr::get(context, constraints);
}

mlir::OwningOpRef<mlir::ModuleOp> paddingKernel(KernelOp kernel, const PaddingPlan &plan, size_t tensor) {
  MLIRContext *context = kernel.getContext();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(kernel.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  unsigned argument = plan.tensors[tensor].argument;
  std::string name = cast<StringAttr>(kernel.getArgNames()[argument]).getValue().str();
  auto copy =
      KernelOp::create(builder, kernel.getLoc(), builder.getStringAttr(kernel.getSymName().str() + "_rows_" + name),
                       kernel.getArgNamesAttr(), ArrayAttr(), kernel.getSubsAttr(), kernel.getDynamicAttr(),
                       static_cast<uint32_t>(Form::Traced), kernel.getTargetAttr(), /*keep_order=*/false,
                       /*direct_copies=*/false, /*geometry=*/nullptr, /*workspace=*/nullptr, /*staged_writes=*/false,
                       /*raster=*/nullptr, /*short_sums=*/false, /*cluster=*/nullptr, /*writes_in_boxes=*/false,
                       /*persistent=*/nullptr, /*service_waves=*/nullptr, /*tickets=*/false,
                       /*workgroups_per_cluster=*/nullptr,
                       /*dependent=*/false, /*stable=*/nullptr, /*service_registers=*/nullptr, /*overlap_tiles=*/false,
                       /*turns=*/false);
  Block &body = copy.getBody().emplaceBlock();
  for (BlockArgument each : kernel.block().getArguments())
    body.addArgument(each.getType(), each.getLoc());
  auto memory = cast<MemoryType>(body.getArgument(argument).getType());
  copy.setConstraintsAttr(copyConstraints(memory));
  addWorkspace(copy, plan, /*read=*/false);
  // What a shared parameter means is decided in the kernel that uses it.
  for (BlockArgument each : body.getArguments())
    if (auto type = dyn_cast<MemoryType>(each.getType()))
      each.setType(type.inSpace(AddressSpace::Global));
  SmallVector<StringAttr> dims;
  for (ExprAttr extent : memory.getShape())
    dims.push_back(StringAttr::get(context, extent.getValue().symbolName()));
  auto type = TileType::get(context, dims, memory.getElementType(), LayoutAttr());
  builder.setInsertionPointToEnd(&body);
  Value source = body.getArgument(argument);
  Value destination = body.getArgument(kernel.block().getNumArguments() + static_cast<unsigned>(tensor));
  auto read = ReadOp::create(builder, kernel.getLoc(), type, source, ValueRange(), ValueRange(), mlir::IntegerAttr(),
                             ArrayAttr(), ArrayAttr(), ArrayAttr(), ArrayAttr(), ArrayAttr(), OriginAttr(), ExprAttr(),
                             StringAttr());
  // Beyond the tensor's own columns a row is 0, which is what was read there.
  ArrayAttr unbounded = builder.getArrayAttr(SmallVector<Attribute>(dims.size(), builder.getStringAttr(kUnbounded)));
  WriteOp::create(builder, kernel.getLoc(), read.getResult(), destination, ValueRange(), ValueRange(),
                  mlir::IntegerAttr(), ArrayAttr(), ArrayAttr(), unbounded, ArrayAttr(), ArrayAttr(), OriginAttr(),
                  ExprAttr());
  return module;
}

} // namespace soliton
