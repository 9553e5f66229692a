//===- PromoteToShared.cpp - Share what several waves read ----------------------===//
//
// A parameter that the author put in the shared space lives in global memory; its tiles pass through shared memory:
//
//   %a = wave.read %A                        : the layout that the computation wants
//
// becomes
//
//   %g = wave.read %A                        : all waves, consecutive lanes on consecutive addresses
//   wave.write %g, %s                        : %s is a tile in shared memory
//   %a = wave.read %s                        : the layout that the computation wants
//
// A tile that global memory has along another dimension than the computation wants is stored as it lies where a
// collective load of the target hands it over transposed; otherwise a lane's registers change places in between.
//
// The shared writes of several reads come together before the first use of any of them, so that one barrier serves all.
// A write goes the other way round.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/MatrixLoads.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/layout/Blocked.h"

namespace soliton {
#define GEN_PASS_DEF_PROMOTETOSHAREDPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

/// A tile in shared memory that holds what `type` holds, allocated at the top of the kernel.
static Value allocate(KernelOp kernel, Location loc, TileType type) {
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.block());
  SmallVector<ExprAttr> shape;
  for (StringAttr dim : type.getDims())
    shape.push_back(exprAttr(kernel.getContext(), sizeSymbol(dim.getValue())));
  auto memory =
      MemoryType::get(kernel.getContext(), shape, type.getElementType(), AddressSpace::Shared, SharedMapAttr());
  return AllocateOp::create(builder, loc, memory, mlir::IntegerAttr(), ArrayAttr());
}

static ArrayAttr zeroStarts(TileType type) {
  return exprArrayAttr(type.getContext(), SmallVector<sym::Expr>(type.getRank(), sym::Expr(0)));
}

static ReadOp readShared(OpBuilder &builder, Location loc, Value memory, TileType type, ArrayAttr tags,
                         ArrayAttr indices = {}) {
  return ReadOp::create(builder, loc, type, memory, ValueRange(), ValueRange(), mlir::IntegerAttr(), indices,
                        zeroStarts(type), ArrayAttr(), ArrayAttr(), tags, OriginAttr(), ExprAttr(), StringAttr());
}

static WriteOp writeShared(OpBuilder &builder, Location loc, Value value, Value memory, ArrayAttr tags) {
  return WriteOp::create(builder, loc, value, memory, ValueRange(), ValueRange(), mlir::IntegerAttr(), ArrayAttr(),
                         zeroStarts(cast<TileType>(value.getType())), ArrayAttr(), ArrayAttr(), tags, OriginAttr(),
                         ExprAttr());
}

/// Whether `op`, or anything nested in it, uses one of the values.
static bool usesAny(Operation *op, const llvm::SmallPtrSetImpl<Operation *> &definitions) {
  bool found = false;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      found |= operand.getDefiningOp() && definitions.contains(operand.getDefiningOp());
  });
  return found;
}

/// What the indices of a gather are made of is held by those who read the elements.
static void convertDynamic(mlir::MutableOperandRange values, const Layout &layout) {
  for (mlir::OpOperand &value : values) {
    OpBuilder builder(value.getOwner());
    TileType type = cast<TileType>(value.get().getType()).withLayout(layout);
    if (type != value.get().getType())
      value.set(ConvertOp::create(builder, value.getOwner()->getLoc(), type, value.get(), ConvertPlanKindAttr(),
                                  ArrayAttr(), OriginAttr()));
  }
}

/// For a tile that global memory has along another dimension than its shared tile: a layout in which a lane has 8 bytes
/// along both, so that what is read wide is written wide, its registers exchanged in between. Nothing where it does not
/// divide the tile, or where a copy past the registers could take its place.
static std::optional<Layout> transposingLayout(ReadOp read, const Geometry &geometry, bool directCopies) {
  TileType type = tileOf(read);
  std::optional<std::vector<DimExtent>> order = memoryOrder(read, geometry);
  int64_t bytes = elementBytes(type.getElementType());
  Dim along(type.getDims().back().getValue().str());
  if (directCopies || !order || order->back().dim == along || bytes >= 8)
    return std::nullopt;
  int64_t perLane = 8 / bytes;
  BlockedResult blocks = transposing(*order, along, geometry.waveSize(), geometry.waveCount(), perLane);
  if (!blocks || Access(read, geometry, *blocks.layout).width(8) != perLane)
    return std::nullopt;
  return blocks.layout;
}

/// How the tile's dimensions in that order index the memory, whose own order may be another: that of a transposed view.
/// Nothing where they do as they are.
static ArrayAttr indicesInOrder(ReadOp read, ArrayRef<DimExtent> order) {
  sym::Substitution moved;
  for (auto [old, name] : llvm::enumerate(tileOf(read).getDims()))
    for (auto [now, dim] : llvm::enumerate(order))
      if (dim.dim.name() == name.getValue())
        moved.set(placeSymbol(old), placeSymbol(now));
  SmallVector<sym::Expr> indices;
  if (ArrayAttr mapping = read.getIndicesAttr())
    indices = exprsOf(mapping);
  else
    for (size_t k = 0; k < order.size(); ++k)
      indices.push_back(placeSymbol(k));
  bool plain = true;
  for (auto [k, index] : llvm::enumerate(indices)) {
    index = sym::substitute(index, moved);
    plain &= index == placeSymbol(k);
  }
  return plain ? ArrayAttr() : exprArrayAttr(read.getContext(), indices);
}

/// Gives the tile the order in which the memory stores its dimensions; says how the old ones index it.
static ArrayAttr reorder(ReadOp read, const Geometry &geometry) {
  TileType type = tileOf(read);
  SmallVector<StringAttr> dims;
  SmallVector<sym::Expr> indices, starts;
  SmallVector<Attribute> bounds;
  std::vector<DimExtent> order = *memoryOrder(read, geometry);
  ArrayAttr inMemory = indicesInOrder(read, order);
  for (const DimExtent &dim : order) {
    auto name = StringAttr::get(read.getContext(), dim.dim.name());
    size_t k = static_cast<size_t>(llvm::find(type.getDims(), name) - type.getDims().begin());
    dims.push_back(name);
    indices.push_back(placeSymbol(k));
    starts.push_back(exprsOf(read.getStartsAttr())[k]);
    if (read.getBoundsAttr())
      bounds.push_back(read.getBoundsAttr()[k]);
  }
  read.getResult().setType(TileType::get(read.getContext(), dims, type.getElementType(), type.getLayout()));
  read.setStartsAttr(exprArrayAttr(read.getContext(), starts));
  if (read.getBoundsAttr())
    read.setBoundsAttr(ArrayAttr::get(read.getContext(), bounds));
  if (inMemory)
    read.setIndicesAttr(inMemory);
  else
    read.removeIndicesAttr();
  return exprArrayAttr(read.getContext(), indices);
}

/// Whether a factor that an instruction reads by itself is stored as global memory has it, along another dimension than
/// the contracted one: the instruction takes elements of 16 bits either way.
static bool staysAsItLies(ReadOp read, const Geometry &geometry) {
  TileType type = tileOf(read);
  std::optional<std::vector<DimExtent>> order = memoryOrder(read, geometry);
  if (elementBits(type.getElementType()) != 16 || !order)
    return false;
  return llvm::all_of(read->getUses(), [&](mlir::OpOperand &use) {
    auto mma = cast<MmaOp>(use.getOwner());
    int which = static_cast<int>(use.getOperandNumber());
    Dim depth(mma.getContractedDim().getValue().str());
    // The other dimension is the fastest, the contracted one its neighbour; batches lie further out, and a single place
    // lies anywhere.
    auto outer =
        llvm::find_if(llvm::drop_begin(llvm::reverse(*order)), [](const DimExtent &dim) { return dim.extent > 1; });
    bool turned = outer != order->rend() && outer->dim == depth;
    int64_t part = partOfRow(mmaKindOf(mma, geometry.target()), which, /*alongK=*/false);
    return turned && inPlaceTile({*order}, 2, part).has_value();
  });
}

/// Moves a group of reads of one block through shared memory; `before` is the first op that uses one of them.
static LogicalResult promoteReads(KernelOp kernel, ArrayRef<ReadOp> reads, Operation *before,
                                  const Geometry &geometry) {
  OpBuilder builder(before);
  struct Staged {
    Value tile;
    TileType wanted;
    ArrayAttr indices;
    const MatrixAccess *matrix;
    bool inPlace;
    /// The only use that keeps what was read from global memory.
    Operation *keeps;
  };
  SmallVector<Staged> tiles;
  for (ReadOp read : reads) {
    FailureOr<Layout> layout = coalescedLayout(read, geometry, /*allWaves=*/true);
    if (failed(layout))
      return failure();
    TileType wanted = read.getResult().getType();
    bool inPlace = isFactorInPlace(read, geometry.target());
    std::optional<MatrixLoadChoice> collective;
    if (!inPlace)
      collective = findMatrixLoad(read, geometry);
    const MatrixAccess *matrix = collective ? collective->load : nullptr;
    ArrayAttr indices = matrix || (inPlace && staysAsItLies(read, geometry)) ? reorder(read, geometry) : ArrayAttr();
    Value tile = allocate(kernel, read.getLoc(), read.getResult().getType());
    std::optional<Layout> blocks;
    if (!indices)
      // Bytes that an instruction reads by itself lie along the contracted dimension, to which no copy turns them.
      blocks = transposingLayout(read, geometry, kernel.getDirectCopies() && !inPlace);
    read.getResult().setType(read.getResult().getType().withLayout(blocks.value_or(*layout)));
    convertDynamic(read.getDynamicValuesMutable(), blocks.value_or(*layout));
    read.removeElementsPerThreadAttr();
    Value stored = read.getResult();
    if (blocks)
      stored =
          ConvertOp::create(builder, read.getLoc(),
                            wanted.withLayout(blocks->registersAlong(Dim(wanted.getDims().back().getValue().str()))),
                            stored, ConvertPlanKindAttr(), read.getTagsAttr(), OriginAttr());
    WriteOp write = writeShared(builder, read.getLoc(), stored, tile, read.getTagsAttr());
    tiles.push_back({tile, wanted, indices, matrix, inPlace, blocks ? stored.getDefiningOp() : write.getOperation()});
  }
  for (size_t i = 0; i < reads.size(); ++i) {
    ReadOp read = reads[i];
    const Staged &staged = tiles[i];
    ReadOp shared = readShared(builder, read.getLoc(), staged.tile, staged.wanted, read.getTagsAttr(), staged.indices);
    if (staged.matrix)
      shared.setMatrixLoad(staged.matrix->name);
    shared.setInPlace(staged.inPlace);
    read.getResult().replaceUsesWithIf(shared.getResult(),
                                       [&](mlir::OpOperand &use) { return use.getOwner() != staged.keeps; });
  }
  return success();
}

static LogicalResult promoteWrite(KernelOp kernel, WriteOp write, const Geometry &geometry) {
  FailureOr<Layout> layout = coalescedLayout(write, geometry, /*allWaves=*/true);
  if (failed(layout))
    return failure();
  OpBuilder builder(write);
  TileType type = write.getValue().getType();
  Value tile = allocate(kernel, write.getLoc(), type);
  writeShared(builder, write.getLoc(), write.getValue(), tile, write.getTagsAttr());
  ReadOp shared = readShared(builder, write.getLoc(), tile, type.withLayout(*layout), write.getTagsAttr());
  write.getValueMutable().assign(shared.getResult());
  convertDynamic(write.getDynamicValuesMutable(), *layout);
  write.removeElementsPerThreadAttr();
  return success();
}

static bool isSharedParameter(Value memory) {
  return isa<BlockArgument>(memory) && cast<MemoryType>(memory.getType()).isShared();
}

/// Whether staging was asked for and the lanes hold less of a row than one access moves, as behind a matrix
/// instruction, though the tile has it and fits into shared memory.
static bool isWorthStaging(KernelOp kernel, WriteOp write, const Geometry &geometry) {
  const Target &target = geometry.target();
  if (!kernel.getStagedWrites() || write.getMemory().getType().isShared() || !write.getDynamicValues().empty())
    return false;
  TileType type = write.getValue().getType();
  int64_t bytes = elementBytes(type.getElementType()), all = bytes;
  std::optional<std::vector<DimExtent>> tile = geometry.extents(type);
  if (!tile || elementBits(type.getElementType()) % 8 != 0)
    return false;
  for (const DimExtent &dim : *tile)
    all *= dim.extent;
  FailureOr<Layout> layout = coalescedLayout(write, geometry, /*allWaves=*/true);
  if (failed(layout) || all > target.sharedBytes)
    return false;
  return Access(write, geometry).width(target.maxAccessBytes) * bytes < target.maxAccessBytes &&
         Access(write, geometry, *layout).width(target.maxAccessBytes) * bytes == target.maxAccessBytes;
}

/// Lanes that would write parts of bytes into the shared tile read what they need from global memory instead.
static bool splitsBytes(ReadOp read, const Geometry &geometry) {
  TileType type = tileOf(read);
  int64_t bits = memoryBits(type.getElementType());
  std::optional<std::vector<DimExtent>> tile = geometry.extents(type);
  return bits % 8 != 0 && (read.getIndices() || !tile || tile->back().extent * bits % 8 != 0);
}

static LogicalResult promoteBlock(KernelOp kernel, Block &block, const Geometry &geometry) {
  SmallVector<ReadOp> group;
  llvm::SmallPtrSet<Operation *, 8> members;
  auto flush = [&](Operation *before) {
    LogicalResult result = group.empty() ? success() : promoteReads(kernel, group, before, geometry);
    group.clear();
    members.clear();
    return result;
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (usesAny(&op, members) && failed(flush(&op)))
      return failure();
    if (auto read = dyn_cast<ReadOp>(op); read && isSharedParameter(read.getMemory()) && !splitsBytes(read, geometry)) {
      group.push_back(read);
      members.insert(&op);
    }
    if (auto write = dyn_cast<WriteOp>(op);
        write && (isSharedParameter(write.getMemory()) || isWorthStaging(kernel, write, geometry)))
      if (failed(promoteWrite(kernel, write, geometry)))
        return failure();
    if (isa<IterateOp, ConditionalOp>(op))
      for (mlir::Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(promoteBlock(kernel, inner, geometry)))
            return failure();
  }
  // A read that nothing uses is left for dead-code elimination.
  return success();
}

namespace {
struct PromoteToSharedPass final : impl::PromoteToSharedPassBase<PromoteToSharedPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Indexed)) ||
        failed(promoteBlock(kernel, kernel.block(), *geometry)))
      return signalPassFailure();
    for (BlockArgument argument : kernel.block().getArguments())
      if (isSharedParameter(argument))
        argument.setType(cast<MemoryType>(argument.getType()).inSpace(AddressSpace::Global));
  }
};
} // namespace
} // namespace soliton
