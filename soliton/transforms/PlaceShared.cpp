//===- PlaceShared.cpp - Address maps and places of shared tiles -----------------===//
//
// Each shared tile is stored row by row in the order of its dimensions. So that no access of any wave has a bank
// conflict by the target's model, the chunks of a row change places from row to row (a swizzle, which costs no memory),
// or, where that is not enough, rows are made longer by the smallest padding, if copies past the registers can skip it.
// Tiles follow each other in the one shared block:
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
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"

namespace soliton {
#define GEN_PASS_DEF_PLACESHAREDPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

/// Rows of what the accesses reach: along each dimension the largest index that one of them has.
static SharedMap plainMap(AllocateOp allocation) {
  SharedMap map;
  for (ExprAttr extent : allocation.getResult().getType().getShape())
    map.dims.push_back({Dim(extent.getValue().symbolName()), 1});
  for (Operation *user : allocation.getResult().getUsers()) {
    TileType tile = tileOf(user);
    sym::Environment last;
    for (auto [k, name] : llvm::enumerate(tile.getDims()))
      last.set(sym::Expr::symbol("$index" + std::to_string(k)), tile.layout().extent(Dim(name.getValue().str())) - 1);
    // Those of a copy are its source's.
    auto indices = isa<CopyOp>(user) ? ArrayAttr() : user->getAttrOfType<ArrayAttr>("indices");
    for (auto [k, dim] : llvm::enumerate(map.dims)) {
      // Indices of shared tiles grow with their coordinates, so the last coordinate has the largest.
      sym::Expr index =
          indices ? cast<ExprAttr>(indices[k]).getValue() : sym::Expr::symbol("$index" + std::to_string(k));
      dim.extent = std::max(dim.extent, sym::evaluate(index, last) + 1);
    }
  }
  return map;
}

/// One access of one wave: what the search for a map looks at, since the others are nearly always the same up to a
/// shift.
static SharedAccessPattern firstAccess(SharedAccessPattern pattern) {
  pattern.layout.wave.clear();
  if (std::optional<Layout> first = pattern.layout.subLayout(0, pattern.elementsPerAccess))
    pattern.layout = *first;
  return pattern;
}

static int64_t conflictsOf(const SharedMap &map, int bits, const std::vector<SharedAccessPattern> &patterns) {
  int64_t conflicts = 0;
  for (const SharedAccessPattern &pattern : patterns)
    conflicts += countConflicts(map, bits, pattern);
  return conflicts;
}

/// How the access loads the banks. A copy fetches what the map stores where it writes, so it never has conflicts; it
/// only keeps its elements together.
static SharedAccessPattern patternOf(Operation *user, const Geometry &geometry) {
  if (auto copy = dyn_cast<CopyOp>(user))
    return {copy.getTile().layout(), static_cast<int64_t>(copy.getElementsPerThread()), BankModel()};
  Access access(user, geometry);
  int64_t elements = access.width(geometry.target().maxAccessBytes);
  const SharedAccess &service = geometry.target().sharedAccess(elements * access.elementBytes(), isa<WriteOp>(user));
  return {layoutInMemory(user), elements, service.model};
}

/// Elements that one instruction of a copy has to write without a gap, or 0.
static int64_t runOf(Operation *user, const Geometry &geometry) {
  auto copy = dyn_cast<CopyOp>(user);
  return copy && geometry.target().asyncCopyIsLaneLinear
             ? static_cast<int64_t>(copy.getElementsPerThread()) * geometry.waveSize()
             : 0;
}

/// Whether the copies into the tile can write it as the map stores it: rows that a run crosses have no padding, and
/// what a swizzle exchanges belongs to one run.
static bool suitsCopies(const SharedMap &map, AllocateOp allocation, const Geometry &geometry) {
  for (Operation *user : allocation.getResult().getUsers()) {
    int64_t run = runOf(user, geometry);
    if (run > 0 &&
        ((map.padding > 0 && map.dims.back().extent % run != 0) || run % (map.swizzle.chunk * map.swizzle.phases) != 0))
      return false;
  }
  return true;
}

static SharedMap conflictFreeMap(AllocateOp allocation, const Geometry &geometry) {
  SharedMap map = plainMap(allocation);
  int bits = elementBits(allocation.getResult().getType().getElementType());
  std::vector<SharedAccessPattern> patterns, first;
  for (Operation *user : allocation.getResult().getUsers()) {
    patterns.push_back(patternOf(user, geometry));
    first.push_back(firstAccess(patterns.back()));
  }
  auto suits = [&](const SharedMap &candidate) { return suitsCopies(candidate, allocation, geometry); };
  SharedMap quick = chooseSwizzle(map, bits, first).map;
  if (conflictsOf(quick, bits, patterns) == 0 && suits(quick))
    return quick;
  SharedChoice swizzled = chooseSwizzle(map, bits, patterns), padded = choosePadding(map, bits, patterns);
  if (suits(padded.map) && (padded.conflicts < swizzled.conflicts || !suits(swizzled.map)))
    return padded.map;
  return suits(swizzled.map) ? swizzled.map : map;
}

namespace {
struct PlaceSharedPass final : impl::PlaceSharedPassBase<PlaceSharedPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Indexed)))
      return signalPassFailure();
    int64_t used = 0;
    kernel.walk([&](AllocateOp allocation) {
      MemoryType type = allocation.getResult().getType();
      SharedMap map = conflictFreeMap(allocation, *geometry);
      allocation.setOffset(used);
      allocation.getResult().setType(MemoryType::get(type.getContext(), type.getShape(), type.getElementType(),
                                                     type.getSpace(), SharedMapAttr::get(type.getContext(), map)));
      // 16 bytes: the widest access stays aligned in every tile.
      used += llvm::alignTo(map.bytes(elementBits(type.getElementType())), 16);
    });
    if (used > geometry->target().sharedBytes) {
      report(kernel.getLoc(), DiagId::SharedMemoryExceeded)
              .hint("use smaller tiles, or keep an operand out of shared memory")
          << "the kernel needs " << used << " bytes of shared memory, `" << geometry->target().name << "` has "
          << geometry->target().sharedBytes;
      return signalPassFailure();
    }
    setForm(kernel, Form::Placed);
  }
};
} // namespace
} // namespace soliton
