//===- UseDirectCopies.cpp - Global to shared memory past the registers -------------===//
//
// In a kernel that asks for it, a tile that is read from global memory only to be put into shared memory is copied
// there by the machine:
//
//   %g = wave.read %A {starts, guards}
//   wave.write %g, %s                        becomes   wave.copy %A, %s {starts, guards, elements_per_thread = 8}
//
// The widest copy that the target has and that is contiguous in both memories is taken; each instruction of a wave
// writes one run of the shared tile, lane after lane, which every target can. Copies come in the order in which waves
// read: where two rows of waves read 64 rows each, the first copy brings rows 0 to 15 and 64 to 79, not 0 to 31, so
// that who needs the first rows of its part waits for no others (but not where rows are asked for in order). What
// cannot be copied stays as it is, and a remark says why.
//
// A target with an engine for boxes (Boxes.h) gets a tile that matrix instructions read by themselves in boxes, asked
// for by one lane:
//
//   wave.copy %A, %s {starts, boxed, elements_per_thread = 8192}
//
// Where a wave takes part in several of those instructions, each box is what one of them reads, for the same reason. A
// tile that is no box of its memory is copied lane by lane, and a remark says why it is none.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Access.h"
#include "soliton/analysis/Boxes.h"
#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/layout/Blocked.h"

namespace soliton {
#define GEN_PASS_DEF_USEDIRECTCOPIESPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

namespace {
/// A way to copy, or why there is none.
struct Plan {
  std::optional<Layout> layout;
  int64_t elements = 0;
  std::string reason;
  bool boxed = false;
};
} // namespace

/// Whether each instruction of `elements` registers writes one run: consecutive lanes, consecutive places of the rows.
static bool writesRuns(const Layout &layout, const std::vector<DimExtent> &tile, int64_t elements) {
  std::map<Dim, int64_t> strides;
  int64_t stride = 1;
  for (const DimExtent &dim : llvm::reverse(tile)) {
    strides[dim.dim] = stride;
    stride *= dim.extent;
  }
  int64_t next = elements;
  for (const Digit &digit : layout.lane) {
    if (!digit.dim || digit.stride * strides[*digit.dim] != next)
      return false;
    next *= digit.extent;
  }
  return layout.replication() == 1;
}

/// How waves share a tile whose readers' waves divide its slowest dimension: each instruction brings the same rows of
/// every part. None where they do not divide it, or not alike.
static std::optional<Layout> byReaders(const std::vector<DimExtent> &tile, Value memory, const Geometry &geometry,
                                       int64_t elements) {
  const DimExtent &slowest = tile.front();
  std::optional<Digit> part;
  for (Operation *user : memory.getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    if (!read)
      continue;
    for (const Digit &digit : read.getResult().getType().layout().wave) {
      if (digit.dim != slowest.dim)
        continue;
      if (part && !(*part == digit))
        return std::nullopt;
      part = digit;
    }
  }
  if (!part || part->extent * part->stride != slowest.extent || geometry.waveCount() % part->extent != 0)
    return std::nullopt;
  std::vector<DimExtent> own = tile;
  own.front().extent = part->stride;
  std::optional<Layout> layout =
      coalesced(own, geometry.waveSize(), geometry.waveCount() / part->extent, elements).layout;
  if (!layout || layout->replication() != 1)
    return std::nullopt;
  layout->wave.push_back(*part);
  return layout;
}

/// Whether something between the two ops of one block writes to the memory.
static bool isWrittenBetween(Operation *first, Operation *last, Value memory) {
  for (Operation *op = first->getNextNode(); op && op != last; op = op->getNextNode()) {
    bool isWritten = false;
    op->walk([&](Operation *inner) { isWritten |= writes(inner, memory); });
    if (isWritten)
      return true;
  }
  return false;
}

/// What keeps the pair from being one copy, whatever its width.
static std::optional<std::string> obstacle(ReadOp read, WriteOp write, const Geometry &geometry) {
  if (geometry.target().asyncCopyBytes.empty())
    return "`" + geometry.target().name + "` has no such copies";
  if (!read.getDynamicValues().empty())
    return "its mapping has dynamic values";
  if (read->getBlock() != write->getBlock() || isWrittenBetween(read, write, read.getMemory()))
    return "its memory may be written before the tile is stored";
  if (elementBits(read.getResult().getType().getElementType()) % 8 != 0)
    return "its elements are no whole bytes";
  return std::nullopt;
}

static Plan planCopy(ReadOp read, WriteOp write, const Geometry &geometry, bool inOrder) {
  if (std::optional<std::string> reason = obstacle(read, write, geometry))
    return {std::nullopt, 0, *reason};
  std::optional<std::vector<DimExtent>> tile = geometry.extents(read.getResult().getType());
  if (!tile)
    return {std::nullopt, 0, "its extents are not known"};
  int64_t bytes = elementBytes(read.getResult().getType().getElementType());
  std::vector<int64_t> widths = geometry.target().asyncCopyBytes;
  llvm::sort(widths, std::greater<>());
  std::string reason = "its elements are wider than a copy";
  for (int64_t width : widths) {
    int64_t elements = width / bytes;
    if (elements < 1 || !llvm::isPowerOf2_64(elements) || width % bytes != 0 || width > geometry.maxBytesPerAccess())
      continue;
    reason = "a wave cannot write " + std::to_string(width) + " bytes a lane in one run of the tile";
    std::optional<Layout> layout;
    if (!inOrder)
      layout = byReaders(*tile, write.getMemory(), geometry, elements);
    if (!layout)
      layout = coalesced(*tile, geometry.waveSize(), geometry.waveCount(), elements).layout;
    if (!layout || !writesRuns(*layout, *tile, elements))
      continue;
    reason = std::to_string(width) + " bytes that follow each other in the tile are not proven to do so in global "
                                     "memory, aligned and bounded alike";
    if (Access(read, geometry, *layout).width(width) == elements)
      return {layout, elements, ""};
  }
  return {std::nullopt, 0, reason};
}

/// What one instruction reads of the factor along its rows or columns, where a wave takes part in several of them;
/// otherwise nothing is to be told apart.
static DimExtent pieceOf(ReadOp factor, const Geometry &geometry) {
  mlir::OpOperand &use = *factor->use_begin();
  auto mma = cast<MmaOp>(use.getOwner());
  bool isLeft = use.getOperandNumber() == 0;
  const MmaKind &kind = mmaKindOf(mma, geometry.target());
  Dim dim((isLeft ? mma.getRowDim() : mma.getColumnDim()).getValue().str());
  bool hasSeveral = geometry[dim].waveTile > (isLeft ? rowsPerWave(kind) : kind.n);
  return {dim, hasSeveral ? (isLeft ? kind.m : kind.n) : 0};
}

/// The same in boxes, where only matrix instructions read the shared tile, which says how it lies.
static Plan planInBoxes(ReadOp read, WriteOp write, const Geometry &geometry) {
  ReadOp factor;
  for (Operation *user : write.getMemory().getUsers()) {
    if (user == write)
      continue;
    // What is masked on its way to an instruction is refused where tiles are placed.
    if (!isInPlace(user) || user->use_empty() || !isa<MmaOp>(*user->user_begin()))
      return {};
    factor = cast<ReadOp>(user);
  }
  std::optional<std::vector<DimExtent>> tile = geometry.extents(read.getResult().getType());
  if (!geometry.target().hasTileCopy || !factor || !tile || obstacle(read, write, geometry))
    return {};
  std::optional<InPlaceTile> lies = inPlaceTile(factor, SharedMap{*tile}, geometry.target());
  if (!lies)
    return {};
  BoxPlan plan = planBoxes(read, lies->span, pieceOf(factor, geometry), geometry);
  return {plan.layout, plan.elements, plan.reason, /*boxed=*/true};
}

static bool isGuarded(WriteOp write) {
  return write.getGuards() && !write.getGuards()->empty();
}

/// The global read whose tile `write` puts into shared memory as it is.
static ReadOp sourceOf(WriteOp write) {
  auto read = write.getValue().getDefiningOp<ReadOp>();
  bool whole = write.getMemory().getDefiningOp<AllocateOp>() && !write.getIndices() && !isGuarded(write) &&
               write.getDynamicValues().empty();
  if (!read || !whole || read.getMemory().getType().isShared())
    return {};
  for (sym::Expr start : exprsOf(write.getStartsAttr()))
    if (!(start == sym::Expr(0)))
      return {};
  return read;
}

static void useCopy(ReadOp read, WriteOp write, const Plan &plan) {
  OpBuilder builder(write);
  CopyOp::create(builder, read.getLoc(), read.getMemory(), write.getMemory(), read.getSymbols(),
                 read.getResult().getType().withLayout(*plan.layout), plan.elements, read.getIndicesAttr(),
                 read.getStartsAttr(), plan.boxed ? ArrayAttr() : read.getGuardsAttr(), read.getTagsAttr(),
                 OriginAttr(), write.getBufferAttr(), plan.boxed, /*multicast=*/false);
  write.erase();
  if (read.use_empty())
    read.erase();
}

namespace {
struct UseDirectCopiesPass final : impl::UseDirectCopiesPassBase<UseDirectCopiesPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getDirectCopies())
      return;
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Indexed)))
      return signalPassFailure();
    SmallVector<WriteOp> writes;
    kernel.walk([&](WriteOp write) { writes.push_back(write); });
    for (WriteOp write : writes) {
      ReadOp read = sourceOf(write);
      if (!read)
        continue;
      Plan boxes = planInBoxes(read, write, *geometry);
      if (boxes.layout) {
        useCopy(read, write, boxes);
        continue;
      }
      if (!boxes.reason.empty())
        reportRemark(read.getLoc(), DiagId::BoxesImpossible)
            << "this tile is not copied in boxes of its memory: " << boxes.reason;
      if (Plan plan = planCopy(read, write, *geometry, inOrder); plan.layout)
        useCopy(read, write, plan);
      else
        reportRemark(read.getLoc(), DiagId::DirectCopyImpossible)
            << "this tile goes to shared memory through registers: " << plan.reason;
    }
  }
};
} // namespace
} // namespace soliton
