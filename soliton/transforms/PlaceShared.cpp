//===- PlaceShared.cpp - Address maps and places of shared tiles -----------------===//
//
// Each shared tile is stored row by row in the order of its dimensions. So that no access of any wave has a bank
// conflict by the target's model, the chunks of a row change places from row to row (a swizzle, which costs no memory),
// or, where that is not enough, rows are made longer by the smallest padding, if copies past the registers can skip it.
// A tile that matrix instructions read by themselves lies as those expect it, whatever is asked for, and one that
// leaves in boxes alike. Where no swizzle is wanted, rows are padded or plain. Tiles follow each other in the one
// shared block:
//
//   %s = wave.allocate : !wave.memory<["M", "K"], f16, shared>
//
// becomes
//
//   %s = wave.allocate {offset = 0 : i64} : !wave.memory<["M", "K"], f16, shared, "[M 128, K 32] swizzle(8, 1, 4)">
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/Access.h"
#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/transforms/PlaceTiles.h"

namespace soliton {
#define GEN_PASS_DEF_PLACESHAREDPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

static bool isGuarded(Operation *access) {
  auto guards = access->getAttrOfType<ArrayAttr>("guards");
  return guards && !guards.empty();
}

/// Rows of what the accesses reach: along each dimension the largest index that one of them has, within the tile's
/// extents where guards keep it there.
static SharedMap plainMap(AllocateOp allocation, const Geometry &geometry) {
  std::vector<sym::Expr> extents = memoryExtents(allocation.getResult(), geometry);
  SharedMap map;
  for (ExprAttr extent : allocation.getResult().getType().getShape())
    map.dims.push_back({Dim(sym::toString(extent.getValue())), 1});
  for (Operation *user : allocation.getResult().getUsers()) {
    TileType tile = tileOf(user);
    sym::Facts places;
    for (auto [k, name] : llvm::enumerate(tile.getDims()))
      places.setRange(placeSymbol(k), {0, tile.layout().extent(Dim(name.getValue().str())) - 1});
    // Those of a copy are its source's.
    auto access = cast<AccessOpInterface>(user);
    ArrayAttr indices = access.isIndexedShared() ? access.getIndicesAttr() : ArrayAttr();
    for (auto [k, dim] : llvm::enumerate(map.dims)) {
      sym::Expr index = indices ? cast<ExprAttr>(indices[k]).getValue() : placeSymbol(k);
      std::optional<int64_t> last = sym::rangeOf(index, places).hi, most = extents[k].constantValue();
      int64_t reach = last ? *last + 1 : most.value_or(1);
      dim.extent = std::max(dim.extent, most && isGuarded(user) ? std::min(reach, *most) : reach);
    }
  }
  return map;
}

/// How the access loads the banks. A copy fetches what the map stores where it writes, so it never has conflicts; it
/// only keeps its elements together.
static SharedAccessPattern patternOf(Operation *user, const Geometry &geometry) {
  if (auto copy = dyn_cast<CopyOp>(user))
    return {copy.getTile().layout(), static_cast<int64_t>(copy.getElementsPerThread()), BankModel()};
  const Target &target = geometry.target();
  if (const MatrixAccess *matrix = matrixAccessOf(user, target)) {
    const SharedAccess &service = target.sharedAccess(matrix->contiguous * matrix->elementBits / 8, false);
    return {matrixRowsOf(user, target), matrix->contiguous, service.model};
  }
  Access access(user, geometry);
  int64_t elements = std::max<int64_t>(1, access.width(geometry.target().maxAccessBytes));
  const SharedAccess &service = geometry.target().sharedAccess(access.bytesOf(elements), writes(user, memoryOf(user)));
  return {layoutInMemory(user), elements, service.model};
}

/// Elements that one instruction of a copy has to write without a gap, or 0.
static int64_t runOf(Operation *user, const Geometry &geometry) {
  auto copy = dyn_cast<CopyOp>(user);
  return copy && geometry.target().asyncCopyIsLaneLinear
             ? static_cast<int64_t>(copy.getElementsPerThread()) * geometry.waveSize()
             : 0;
}

/// How the matrix instructions that read the tile by themselves, or the boxes in which it leaves, expect it to lie;
/// nothing for other tiles.
static std::optional<SharedMap> mapInPlace(AllocateOp allocation, const Geometry &geometry) {
  SharedMap plain = plainMap(allocation, geometry);
  int64_t bytes = elementBytes(allocation.getResult().getType().getElementType());
  for (Operation *user : allocation.getResult().getUsers()) {
    if (isInPlace(user) && !user->use_empty())
      // Tiles are whole numbers of instructions, whose part of a row has 32 bytes at least.
      return inPlaceMap(plain, bytes, *inPlaceTile(cast<ReadOp>(user), plain, geometry.target()));
    if (isa<CopyOutOp>(user))
      return inPlaceMap(plain, bytes, *inPlaceTile(plain, bytes, /*part=*/0));
  }
  return std::nullopt;
}

/// A factor that something was done to on its way to an instruction that reads it by itself.
static LogicalResult checkFactors(KernelOp kernel, const Geometry &geometry) {
  bool ok = true;
  kernel.walk([&](MmaOp mma) {
    const MmaKind &kind = mmaKindOf(mma, geometry.target());
    auto right = mma.getRhs().getDefiningOp<ReadOp>();
    if (!readsInPlace(kind) || (right && right.getInPlace()))
      return;
    ok = false;
    report(mma.getLoc(), DiagId::MmaOperandInRegisters).hint("leave `mma` out to get the target's default")
        << "`" << kind.name << "` reads its right factor from shared memory by itself, and this one is computed";
  });
  return mlir::success(ok);
}

static SharedMap conflictFreeMap(AllocateOp allocation, const Geometry &geometry, bool mayBeSwizzled) {
  MapRequest request{.plain = plainMap(allocation, geometry),
                     .elementBits = static_cast<int>(memoryBits(allocation.getResult().getType().getElementType())),
                     .accesses = {},
                     .runs = {},
                     .mayBeSwizzled = mayBeSwizzled};
  if (std::optional<SharedMap> map = mapInPlace(allocation, geometry))
    return *map;
  for (Operation *user : allocation.getResult().getUsers()) {
    request.accesses.push_back(patternOf(user, geometry));
    if (int64_t run = runOf(user, geometry); run > 0)
      request.runs.push_back(run);
  }
  return chooseMap(request);
}

namespace {
struct PlaceSharedPass final : impl::PlaceSharedPassBase<PlaceSharedPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Indexed)) || failed(checkFactors(kernel, *geometry)))
      return signalPassFailure();
    kernel.walk([&](AllocateOp allocation) {
      MemoryType type = allocation.getResult().getType();
      SharedMap map = conflictFreeMap(allocation, *geometry, !noSwizzle);
      allocation.getResult().setType(MemoryType::get(type.getContext(), type.getShape(), type.getElementType(),
                                                     type.getSpace(), SharedMapAttr::get(type.getContext(), map)));
    });
    if (failed(checkSharedBytes(kernel, *geometry, placeTiles(kernel, *geometry))))
      return signalPassFailure();
    setForm(kernel, Form::Placed);
  }
};
} // namespace
} // namespace soliton
