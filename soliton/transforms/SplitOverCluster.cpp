//===- SplitOverCluster.cpp - Workgroups of a cluster sum a product together ------------===//
//
// A product with few rows has fewer tiles than there are compute units. So the workgroups of a cluster take a tile
// together: each sums its share of the iterations and puts its sum into shared memory; of the tile's rows each finishes
// its part, for which it reads what all of them have there.
//
//   %1 = iterate "K" (0) { mma }           %1 = iterate "K" (0) { mma }            a share of the iterations
//   write %1, %c                           write %1, %s
//                                          barrier {cluster}
//                               becomes    %2 = read %s {workgroup = 0, within}    the rows of this workgroup
//                                          %3 = read %s {workgroup = 1, within}
//                                          barrier {cluster}                       nobody ends before
//                                          write %2 + %3, %c {within}
//
// The workgroups of a cluster are one more dimension of the grid: which share is whose is said by constraints.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Geometry.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace soliton {
#define GEN_PASS_DEF_SPLITOVERCLUSTERPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

/// Counts the workgroups of a cluster; no name of an author's begins so.
static constexpr llvm::StringLiteral kClusterSymbol = "$CLUSTER";

namespace {
/// The one loop of a kernel that sums a product, and what its cluster needs to know of it.
class Splitter {
public:
  explicit Splitter(KernelOp kernel) : kernel(kernel), size(static_cast<int64_t>(*kernel.getCluster())) {}

  LogicalResult run() {
    if (failed(checkTarget()) || failed(findLoop()) || failed(checkConstraints()) || failed(checkEpilogue()))
      return failure();
    share();
    exchange();
    for (ReadOp read : reads)
      finishPart(read, read.getResult().getType());
    for (WriteOp write : writes)
      finishPart(write, write.getValue().getType());
    return success();
  }

private:
  LogicalResult checkTarget();
  LogicalResult findLoop();
  LogicalResult checkConstraints();
  LogicalResult checkEpilogue();
  void noteRead(ReadOp read);
  void share();
  void exchange();
  template <typename AccessOp>
  void finishPart(AccessOp access, TileType type);

  LogicalResult refuse(Location loc, const std::string &why) const {
    return report(loc, DiagId::NotSupportedHere).hint("leave `cluster` out")
           << "a cluster of " << size << " workgroups cannot share this kernel: " << why;
  }
  ArrayAttr partOf(size_t place, sym::Expr start, sym::Expr workgroup) const;
  Value workgroupId(OpBuilder &builder, int64_t dim) const {
    return WorkgroupIdOp::create(builder, kernel->getLoc(), builder.getIndexType(), builder.getI64IntegerAttr(dim));
  }

  KernelOp kernel;
  int64_t size;
  IterateOp loop;
  MmaOp product;
  WorkgroupConstraintAttr rows;
  TilingConstraintAttr depth;
  /// Rows that one workgroup finishes.
  sym::Expr part;
  SmallVector<ReadOp> reads;
  SmallVector<WriteOp> writes;
};
} // namespace

LogicalResult Splitter::checkTarget() {
  const Target *target = kernel.getTarget() ? findTarget(kernel.getTarget()->str()) : nullptr;
  int64_t most = target ? target->maxClusterSize : 1;
  if (size <= most)
    return success();
  return refuse(kernel.getLoc(), "`" + (target ? target->name : std::string("no target")) + "` has clusters of " +
                                     std::to_string(most) + " at most");
}

/// The product that every iteration adds to, and nothing else.
static MmaOp productOf(IterateOp loop) {
  if (loop.getInits().size() != 1 || !loop.carried()[0].hasOneUse() || !loop.iteration().use_empty())
    return {};
  auto product = dyn_cast<MmaOp>(*loop.carried()[0].getUsers().begin());
  bool isSum = product && product->getBlock() == &loop.block() && product.getAcc() == loop.carried()[0] &&
               product.getResult().hasOneUse() && loop.block().getTerminator()->getOperand(0) == product.getResult();
  bool isPlain = llvm::all_of(loop.block(), [](Operation &op) {
    return op.getNumRegions() == 0 && (isa<ReadOp, YieldOp>(op) || mlir::isMemoryEffectFree(&op));
  });
  return isSum && isPlain ? product : MmaOp();
}

static bool isZero(Value value) {
  auto fill = value.getDefiningOp<FillOp>();
  return fill && (mlir::matchPattern(fill.getValue(), mlir::m_Zero()) ||
                  mlir::matchPattern(fill.getValue(), mlir::m_AnyZeroFloat()));
}

LogicalResult Splitter::findLoop() {
  for (IterateOp each : kernel.block().getOps<IterateOp>()) {
    if (loop)
      return refuse(each.getLoc(), "it has several loops");
    loop = each;
  }
  product = loop ? productOf(loop) : MmaOp();
  if (product && isZero(loop.getInits()[0]))
    return success();
  return refuse(loop ? loop.getLoc() : kernel.getLoc(),
                "it has no loop that sums a product, from 0 on, and does nothing else");
}

template <typename Constraint>
static Constraint constraintOf(KernelOp kernel, StringAttr dim) {
  for (Attribute attribute : kernel.getConstraints())
    if (auto constraint = dyn_cast<Constraint>(attribute); constraint && constraint.getDim() == dim)
      return constraint;
  return {};
}

/// Rows begin where the workgroup's number says, and iterations with the first.
LogicalResult Splitter::checkConstraints() {
  rows = constraintOf<WorkgroupConstraintAttr>(kernel, product.getRowDim());
  depth = constraintOf<TilingConstraintAttr>(kernel, product.getContractedDim());
  if (!rows || rows.getApply() || !rows.getPrimary() || !depth || depth.getIters() || depth.getStart())
    return refuse(product.getLoc(),
                  "its rows need a plain workgroup constraint, what it contracts a plain tiling constraint");
  for (Attribute attribute : kernel.getConstraints()) {
    auto workgroup = dyn_cast<WorkgroupConstraintAttr>(attribute);
    if (isa<GridConstraintAttr, ReorderingConstraintAttr, SymbolicAliasAttr>(attribute) ||
        (workgroup && workgroup.getWorkgroupDim() == kClusterDim))
      return refuse(kernel.getLoc(),
                    "it has a grid of its own, an alias, or " + std::to_string(kMaxGridDims) + " dimensions");
  }
  part = sym::ceildiv(rows.getTile().getValue(), size);
  return success();
}

/// What is read of global memory row by row may be what another workgroup writes.
void Splitter::noteRead(ReadOp read) {
  if (!read.getMemory().getType().isShared() && read.getResult().getType().hasDim(product.getRowDim()))
    reads.push_back(read);
}

/// Around the loop rows are computed each by itself, and only written.
LogicalResult Splitter::checkEpilogue() {
  for (Operation &op : kernel.block()) {
    if (auto write = dyn_cast<WriteOp>(op); write && write.getDynamicValues().empty() &&
                                            !write.getMemory().getType().isShared() &&
                                            write.getValue().getType().hasDim(product.getRowDim()))
      writes.push_back(write);
    else if (auto read = dyn_cast<ReadOp>(op); read && !read.getMemory().getDefiningOp<AllocateOp>())
      noteRead(read);
    else if (!isa<IterateOp, FillOp, BinaryOp, UnaryOp, CompareOp, SelectOp, CastOp, BroadcastOp, SplatOp,
                  WorkgroupIdOp>(op))
      return refuse(op.getLoc(),
                    "`" + op.getName().stripDialect().str() + "` outside of the loop may need rows of others");
  }
  return success();
}

/// Conditions that leave the rows of one workgroup of the cluster.
ArrayAttr Splitter::partOf(size_t place, sym::Expr start, sym::Expr workgroup) const {
  sym::Expr first = start + workgroup * part, row = placeSymbol(place);
  return exprArrayAttr(kernel->getContext(), {sym::ge(row, first), sym::lt(row, first + part)});
}

/// Each takes as many iterations as the others; beyond the last of them there is nothing to add.
void Splitter::share() {
  MLIRContext *context = kernel.getContext();
  sym::Expr tile = depth.getTile().getValue();
  sym::Expr all = sym::ceildiv(sizeSymbol(depth.getDim().getValue()), tile), share = sym::ceildiv(all, size);
  SmallVector<Attribute> constraints =
      llvm::map_to_vector(kernel.getConstraints(), [&](Attribute attribute) -> Attribute {
        if (attribute != depth)
          return attribute;
        return TilingConstraintAttr::get(context, depth.getDim(), depth.getTile(), exprAttr(context, share),
                                         exprAttr(context, workgroupSymbol(kClusterDim) * share * tile));
      });
  constraints.push_back(WorkgroupConstraintAttr::get(context, StringAttr::get(context, kClusterSymbol),
                                                     exprAttr(context, 1), kClusterDim, /*primary=*/true, ExprAttr(),
                                                     exprAttr(context, size)));
  kernel.setConstraintsAttr(ArrayAttr::get(context, constraints));
}

/// Behind the loop every workgroup has the sum of its rows.
void Splitter::exchange() {
  MLIRContext *context = kernel.getContext();
  Location loc = loop.getLoc();
  auto type = cast<TileType>(loop.getResult(0).getType());
  OpBuilder top = OpBuilder::atBlockBegin(&kernel.block()), builder(context);
  builder.setInsertionPointAfter(loop);
  SmallVector<ExprAttr> shape = llvm::map_to_vector(
      type.getDims(), [&](StringAttr dim) { return exprAttr(context, sizeSymbol(dim.getValue())); });
  auto memory = MemoryType::get(context, shape, type.getElementType(), AddressSpace::Shared, SharedMapAttr());
  Value tile = AllocateOp::create(top, loc, memory, mlir::IntegerAttr(), ArrayAttr());
  auto whole =
      WriteOp::create(builder, loc, loop.getResult(0), tile, ValueRange(), ValueRange(), mlir::IntegerAttr(),
                      ArrayAttr(), ArrayAttr(), ArrayAttr(), ArrayAttr(), ArrayAttr(), OriginAttr(), ExprAttr());
  BarrierOp::create(builder, loc, ArrayAttr()).setCluster(true);
  Value number = workgroupId(builder, kClusterDim), sum;
  auto row = static_cast<size_t>(llvm::find(type.getDims(), product.getRowDim()) - type.getDims().begin());
  SmallVector<Value> parts;
  for (int64_t each = 0; each < size; ++each) {
    auto read =
        ReadOp::create(builder, loc, type, tile, ValueRange(), ValueRange(number), mlir::IntegerAttr(), ArrayAttr(),
                       ArrayAttr(), ArrayAttr(), ArrayAttr(), ArrayAttr(), OriginAttr(), ExprAttr(), StringAttr());
    read.setWithinAttr(partOf(row, 0, operandSymbol(0)));
    read.setWorkgroup(each);
    parts.push_back(read.getResult());
  }
  BarrierOp::create(builder, loc, ArrayAttr()).setCluster(true);
  for (Value each : parts)
    sum = sum ? BinaryOp::create(builder, loc, type, BinaryKind::add, sum, each, ArrayAttr(), OriginAttr()).getResult()
              : each;
  loop.getResult(0).replaceAllUsesExcept(sum, whole);
}

/// Rows that another workgroup finishes are its to read and write.
template <typename AccessOp>
void Splitter::finishPart(AccessOp access, TileType type) {
  OpBuilder builder(access);
  auto row = static_cast<size_t>(llvm::find(type.getDims(), product.getRowDim()) - type.getDims().begin());
  size_t known = access.getSymbols().size();
  access.getSymbolsMutable().append({workgroupId(builder, rows.getWorkgroupDim()), workgroupId(builder, kClusterDim)});
  sym::Expr start = operandSymbol(known) * rows.getTile().getValue();
  access.setWithinAttr(partOf(row, start, operandSymbol(known + 1)));
}

namespace {
struct SplitOverClusterPass final : impl::SplitOverClusterPassBase<SplitOverClusterPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getCluster())
      return;
    if (failed(requireForm(kernel, Form::Traced)) || failed(Splitter(kernel).run()))
      return signalPassFailure();
  }
};
} // namespace
} // namespace soliton
