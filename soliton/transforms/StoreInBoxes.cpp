//===- StoreInBoxes.cpp - Shared to global memory past the registers -----------------===//
//
// In a kernel that asks for it, a tile that is read from shared memory only to be written to global memory leaves in
// boxes of its tensor (Boxes.h), which one lane asks for:
//
//   %r = wave.read %s
//   wave.write %r, %C {starts, guards}       becomes   wave.copy_out %s, %C {starts, elements_per_thread = 8192}
//
// That is how the results of matrix instructions go, whose lanes hold too little of a row (`staged_writes`). The engine
// writes its boxes in any order and says only when it has read them: so nothing else may touch the tensor, and the
// write is in no loop. What cannot leave so goes lane by lane, as before, and a remark says why.
//
// Where tiles overlap and each team of waves writes rows of its own (Teams.h), it also has them leave by itself:
//
//   128 rows of two teams   tile reg = (64 N 1)(64 M 1), wave = (4 _ 0)(2 M 64)
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Access.h"
#include "soliton/analysis/Boxes.h"
#include "soliton/analysis/InPlace.h"
#include "soliton/analysis/Teams.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"

namespace soliton {
#define GEN_PASS_DEF_STOREINBOXESPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

/// The read of a whole shared tile that nothing but `write` uses.
static ReadOp stagedBy(WriteOp write) {
  auto read = write.getValue().getDefiningOp<ReadOp>();
  bool isWhole = read && read.getResult().hasOneUse() && read.getMemory().getDefiningOp<AllocateOp>() &&
                 !read.getIndices() && !read.getWorkgroup() && read.getDynamicValues().empty() &&
                 (!read.getGuards() || read.getGuards()->empty()) &&
                 llvm::all_of(exprsOf(read.getStartsAttr()), [](sym::Expr start) { return start.isConstant(0); });
  return isWhole && !write.getMemory().getType().isShared() ? read : ReadOp();
}

/// Nobody holds more than the tile has, so that it lies in whole boxes.
static bool holdTheTile(Value memory, const std::vector<DimExtent> &tile) {
  return llvm::all_of(memory.getUsers(), [&](Operation *user) {
    return llvm::all_of(tile,
                        [&](const DimExtent &dim) { return tileOf(user).layout().extent(dim.dim) <= dim.extent; });
  });
}

/// Whether something between the two ops of one block writes the shared tile.
static bool isWrittenBetween(ReadOp read, WriteOp write) {
  for (Operation *op = read->getNextNode(); op != write; op = op->getNextNode())
    if (op->walk([&](Operation *inner) {
            return writes(inner, read.getMemory()) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
          }).wasInterrupted())
      return true;
  return false;
}

/// The part of the shared tile that each team writes, if that is a run along one dimension.
static std::optional<DimExtent> partOfTeam(ReadOp read, ArrayRef<DimExtent> tile, int64_t teamWaves,
                                           const Geometry &geometry) {
  std::optional<DimExtent> part;
  for (Operation *user : read.getMemory().getUsers()) {
    auto write = dyn_cast<WriteOp>(user);
    if (!write)
      continue;
    const Digits &waves = write.getValue().getType().layout().wave;
    int64_t teams = geometry.waveCount() / teamWaves;
    if (waves.empty() || !waves.back().dim || waves.back().extent % teams != 0)
      return std::nullopt;
    Digit last = waves.back();
    DimExtent found{*last.dim, last.stride * (last.extent / teams)};
    bool isRun = llvm::any_of(
        tile, [&](const DimExtent &each) { return each.dim == found.dim && each.extent == found.extent * teams; });
    if (!isRun || (part && !(*part == found)))
      return std::nullopt;
    part = found;
  }
  return part;
}

/// Each team has the boxes of its part copied.
static void shareAmongTeams(Layout &layout, const DimExtent &part, int64_t teamWaves) {
  auto digit =
      llvm::find_if(layout.reg, [&](const Digit &each) { return each.dim == part.dim && each.stride == part.extent; });
  if (digit == layout.reg.end())
    return;
  layout.wave = {Digit(teamWaves), *digit};
  layout.reg.erase(digit);
}

static BoxPlan plan(ReadOp read, WriteOp write, const Geometry &geometry) {
  auto because = [](std::string reason) { return BoxPlan{std::nullopt, 0, std::move(reason)}; };
  if (write->getParentOfType<IterateOp>())
    return because("it is written in a loop");
  if (!write.getMemory().hasOneUse())
    return because("something else touches its tensor");
  if (read->getBlock() != write->getBlock() || isWrittenBetween(read, write))
    return because("its shared tile may be written before it leaves");
  TileType type = write.getValue().getType();
  std::optional<std::vector<DimExtent>> tile = geometry.extents(type);
  if (!tile || !holdTheTile(read.getMemory(), *tile))
    return because("lanes hold more than the tile has");
  if (elementBits(type.getElementType()) % 8 != 0)
    return because("its elements are no whole bytes");
  std::optional<InPlaceTile> lies = inPlaceTile(SharedMap{*tile}, elementBytes(type.getElementType()), /*part=*/0);
  if (!lies)
    return because("its rows are no whole number of 32 bytes");
  auto access = cast<AccessOpInterface>(write.getOperation());
  std::optional<int64_t> team = teamWavesOf(write->getParentOfType<KernelOp>(), geometry);
  std::optional<DimExtent> part = team ? partOfTeam(read, *tile, *team, geometry) : std::nullopt;
  if (!part || part->dim == tile->back().dim)
    return planBoxes(access, lies->span, {tile->back().dim, 0}, geometry);
  BoxPlan boxes = planBoxes(access, lies->span, *part, geometry);
  if (boxes.layout)
    shareAmongTeams(*boxes.layout, *part, *team);
  return boxes;
}

static void copyOut(ReadOp read, WriteOp write, const BoxPlan &boxes) {
  OpBuilder builder(write);
  CopyOutOp::create(builder, write.getLoc(), read.getMemory(), write.getMemory(), write.getSymbols(),
                    write.getValue().getType().withLayout(*boxes.layout), boxes.elements, write.getIndicesAttr(),
                    write.getStartsAttr(), write.getTagsAttr(), OriginAttr(), read.getBufferAttr());
  write.erase();
  read.erase();
}

/// What keeps a write that was not staged, though its lanes hold too little of a row, from leaving in boxes; empty
/// where nothing does, or nobody would want it.
static std::string whyNotStaged(WriteOp write, const Geometry &geometry) {
  int64_t most = geometry.target().maxAccessBytes;
  TileType type = write.getValue().getType();
  std::optional<std::vector<DimExtent>> tile = geometry.extents(type);
  if (write.getMemory().getType().isShared() || !tile || tile->empty() || elementBits(type.getElementType()) % 8 != 0)
    return "";
  int64_t bytes = elementBytes(type.getElementType());
  std::optional<InPlaceTile> lies = inPlaceTile(SharedMap{*tile}, bytes, /*part=*/0);
  if (!lies || Access(write, geometry).width(most) * bytes >= most)
    return "";
  return planBoxes(cast<AccessOpInterface>(write.getOperation()), lies->span, {tile->back().dim, 0}, geometry).reason;
}

namespace {
struct StoreInBoxesPass final : impl::StoreInBoxesPassBase<StoreInBoxesPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getWritesInBoxes())
      return;
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Indexed)))
      return signalPassFailure();
    if (!geometry->target().hasTileCopy)
      return;
    SmallVector<WriteOp> writes;
    kernel.walk([&](WriteOp write) { writes.push_back(write); });
    for (WriteOp write : writes) {
      ReadOp read = stagedBy(write);
      if (!read) {
        if (std::string reason = whyNotStaged(write, *geometry); !reason.empty())
          reportRemark(write.getLoc(), DiagId::DirectCopyImpossible)
              << "this tile goes to global memory as lanes hold it: " << reason;
        continue;
      }
      if (BoxPlan boxes = plan(read, write, *geometry); boxes.layout)
        copyOut(read, write, boxes);
      else
        reportRemark(write.getLoc(), DiagId::DirectCopyImpossible)
            << "this tile leaves shared memory through registers: " << boxes.reason;
    }
  }
};
} // namespace
} // namespace soliton
