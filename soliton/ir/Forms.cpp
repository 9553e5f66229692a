//===- Forms.cpp - Checks of the forms ----------------------------------------===//
//
// Each check looks at one op and reports what is missing there; verifyForm runs those of the form and of all before it.
// Barriers, waits and hints are allowed in every form: the author may have written some.
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Forms.h"

#include "soliton/ir/Diagnose.h"
#include "soliton/support/DType.h"

#include "llvm/ADT/TypeSwitch.h"

namespace soliton {
using namespace wave;

/// The widest access of a lane, in bits.
static constexpr int64_t kMaxAccessBits = 128;

llvm::StringRef formName(Form form) {
  switch (form) {
  case Form::Traced:
    return "Traced";
  case Form::Indexed:
    return "Indexed";
  case Form::Placed:
    return "Placed";
  case Form::Expanded:
    return "Expanded";
  case Form::Scheduled:
    return "Scheduled";
  case Form::Synchronized:
    return "Synchronized";
  case Form::Machine:
    return "Machine";
  }
  return "Traced";
}

Form getForm(KernelOp kernel) {
  return static_cast<Form>(kernel.getForm());
}

void setForm(KernelOp kernel, Form form) {
  kernel.setForm(static_cast<uint32_t>(form));
}

llvm::LogicalResult requireForm(KernelOp kernel, Form form) {
  if (getForm(kernel) == form)
    return mlir::success();
  return report(kernel.getLoc(), DiagId::FormViolated).hint("run the passes in the order of the pipeline")
         << "`" << kernel.getSymName() << "` is in the form `" << formName(getForm(kernel)) << "`, expected `"
         << formName(form) << "`";
}

namespace {
/// Reports violations of one form.
class Checker {
public:
  explicit Checker(Form form) : form(form) {}

  void check(mlir::Operation *op) {
    if (form >= Form::Indexed)
      checkIndexed(op);
    if (form >= Form::Placed)
      checkPlaced(op);
    if (form >= Form::Expanded)
      checkExpanded(op);
  }

  bool failed = false;

private:
  Report violation(mlir::Operation *op) {
    failed = true;
    return report(op->getLoc(), DiagId::FormViolated)
           << "`" << op->getName().getStringRef() << "` is not in the form `" << formName(form) << "`: ";
  }

  void checkIndexed(mlir::Operation *op);
  void checkPlaced(mlir::Operation *op);
  void checkMemory(mlir::Operation *op, mlir::Value memory);
  void checkExpanded(mlir::Operation *op);
  void checkWidth(AccessOpInterface access);

  Form form;
};
} // namespace

//===-- Indexed ---------------------------------------------------------------===//

void Checker::checkIndexed(mlir::Operation *op) {
  for (mlir::Value result : op->getResults())
    if (auto tile = llvm::dyn_cast<TileType>(result.getType()); tile && !tile.hasLayout()) {
      violation(op) << "its result has no layout";
      break;
    }
  if (auto access = llvm::dyn_cast<AccessOpInterface>(op)) {
    if (!access.getStartsAttr())
      violation(op) << "it has no `starts`";
    if (!access.getMovedValue() && !access.getMovedTile().hasLayout())
      violation(op) << "its tile has no layout";
  }
  if (auto index = llvm::dyn_cast<SelfIndexOp>(op); index && !index.getStart())
    violation(op) << "it has no `start`";
  if (auto loop = llvm::dyn_cast<IterateOp>(op); loop && !loop.getCount())
    violation(op) << "it has no `count`";
}

//===-- Placed ----------------------------------------------------------------===//

void Checker::checkMemory(mlir::Operation *op, mlir::Value memory) {
  auto type = llvm::cast<MemoryType>(memory.getType());
  if (llvm::isa<mlir::BlockArgument>(memory) && type.isShared())
    violation(op) << "its memory is a parameter of the kernel and still marked as shared";
}

void Checker::checkPlaced(mlir::Operation *op) {
  if (auto access = llvm::dyn_cast<AccessOpInterface>(op))
    for (const MemoryUse &use : access.getMemoryUses())
      checkMemory(op, use.memory);
  llvm::TypeSwitch<mlir::Operation *>(op)
      .Case([&](CopyOp copy) {
        SharedMapAttr map = copy.getDestination().getType().getMap();
        auto elements = static_cast<int64_t>(copy.getElementsPerThread());
        bool isTorn = !copy.getBoxed() && map && map.getValue().isSwizzled();
        if (isTorn && map.getValue().swizzle.chunk % elements != 0)
          violation(op) << "its " << elements << " elements a lane are torn by a swizzle of "
                        << map.getValue().swizzle.chunk;
      })
      .Case([&](AllocateOp allocate) {
        if (!allocate.getResult().getType().getMap())
          violation(op) << "it has no address map";
        if (!allocate.getOffset())
          violation(op) << "it has no `offset`";
      })
      .Case([&](ConvertOp convert) {
        if (!convert.getPlan())
          violation(op) << "it has no `plan`";
        else if (*convert.getPlan() == ConvertPlanKind::shared)
          violation(op) << "its plan goes through shared memory, which is a write and a read by now";
      });
}

//===-- Expanded --------------------------------------------------------------===//

/// An index of the memory for these coordinates of the tile, which starts at `starts`.
static sym::Expr indexAt(sym::Expr index, llvm::ArrayRef<sym::Expr> starts, llvm::ArrayRef<int64_t> coordinates) {
  sym::Substitution places;
  for (auto [k, coordinate] : llvm::enumerate(coordinates))
    places.set(sym::Expr::symbol("$index" + std::to_string(k)), starts[k] + coordinate);
  return sym::substitute(index, places);
}

/// How far the index of `to` lies from that of `from`, if that is a number.
static std::optional<int64_t> indexDifference(sym::Expr index, llvm::ArrayRef<sym::Expr> starts,
                                              llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) {
  try {
    return sym::simplify(indexAt(index, starts, to) - indexAt(index, starts, from)).constantValue();
  } catch (const sym::ExprError &) {
    return std::nullopt;
  }
}

/// Elements from one index to the next along each dimension of a shared tile. Where rows are swizzled or cut into
/// panels nothing is known but the fastest one.
static void addSharedStrides(MemoryType memory, llvm::MutableArrayRef<sym::Expr> strides) {
  if (!memory.getMap()) {
    strides.back() = 1;
    return;
  }
  const SharedMap &map = memory.getMap().getValue();
  bool isPlain = map.swizzle.phases == 1 && map.panel == 0;
  int64_t stride = 1;
  for (const DimExtent &each : llvm::reverse(map.dims)) {
    for (auto [index, extent] : llvm::enumerate(memory.getShape()))
      if (extent.getValue() == sizeSymbol(each.dim.name()))
        strides[index] = stride;
    if (!isPlain)
      return;
    stride = &each == &map.dims.back() ? map.pitch() : stride * each.extent;
  }
}

/// Elements from one index to the next along each dimension of the memory.
static llvm::SmallVector<sym::Expr> stridesOf(MemoryType memory) {
  llvm::SmallVector<sym::Expr> strides(memory.getRank(), sym::Expr::symbol("$elsewhere"));
  if (memory.isShared()) {
    addSharedStrides(memory, strides);
    return strides;
  }
  if (memory.isStrided())
    return llvm::map_to_vector(memory.getStrides(), [](ExprAttr stride) { return stride.getValue(); });
  sym::Expr stride = 1;
  for (int64_t k = memory.getRank(); k-- > 0;) {
    strides[k] = stride;
    stride = stride * memory.getShape()[k].getValue();
  }
  return strides;
}

/// False if the registers of this lane are known not to lie one after the other in the memory.
static bool isContiguous(AccessOpInterface access, int64_t lane) {
  TileType tile = access.getMovedTile();
  auto memory = llvm::cast<MemoryType>(access.getIndexedMemory().getType());
  auto stated = access->getAttrOfType<mlir::ArrayAttr>("starts");
  llvm::SmallVector<sym::Expr> starts(tile.getRank(), sym::Expr(0)), strides = stridesOf(memory);
  for (size_t k = 0; stated && k < starts.size(); ++k)
    starts[k] = llvm::cast<ExprAttr>(stated[k]).getValue();
  auto coordinatesOf = [&](int64_t reg) {
    Coordinates here = tile.layout().coordinates(reg, lane, 0);
    return llvm::map_to_vector(tile.getDims(), [&](mlir::StringAttr dim) { return here[Dim(dim.getValue().str())]; });
  };
  llvm::SmallVector<int64_t> origin = coordinatesOf(0);
  for (int64_t reg = 1; reg < tile.layout().regs(); ++reg) {
    llvm::SmallVector<int64_t> here = coordinatesOf(reg);
    sym::Expr distance = 0;
    for (int64_t k = 0; k < memory.getRank(); ++k) {
      size_t dim = std::min<size_t>(k, here.size() - 1);
      std::optional<int64_t> found = here[dim] - origin[dim];
      if (mlir::ArrayAttr indices = access.getIndicesAttr())
        found = indexDifference(llvm::cast<ExprAttr>(indices[k]).getValue(), starts, origin, here);
      if (!found) // by what the kernel knows of its sizes, of which nothing is known here
        return true;
      distance = distance + strides[k] * *found;
    }
    if (!(sym::simplify(distance) == sym::Expr(reg)))
      return false;
  }
  return true;
}

/// The first lanes and the last one stand for all.
static bool isContiguous(AccessOpInterface access) {
  int64_t last = access.getMovedTile().layout().lanes() - 1;
  return isContiguous(access, 0) && isContiguous(access, std::min<int64_t>(1, last)) && isContiguous(access, last);
}

void Checker::checkWidth(AccessOpInterface access) {
  TileType tile = access.getMovedTile();
  int64_t width = tile.layout().regs() * bits(*dtypeOf(tile.getElementType()));
  // Lanes of a collective load receive elements of rows that others point to.
  auto read = llvm::dyn_cast<ReadOp>(access.getOperation());
  if (read && read.getInPlace()) // moves nothing
    return;
  bool collective = read && read.getMatrixLoad();
  if (width > kMaxAccessBits)
    violation(access) << "it moves " << width << " bits a lane, expected at most " << kMaxAccessBits;
  else if (!collective && tile.getRank() > 0 &&
           llvm::cast<MemoryType>(access.getIndexedMemory().getType()).getRank() > 0 && !isContiguous(access))
    violation(access) << "its registers do not lie one after the other in memory";
}

/// Ops that belong to whatever uses them, and those that only order others.
static bool floats(mlir::Operation *op) {
  auto tileOp = llvm::dyn_cast<TileOpInterface>(op);
  return !tileOp || llvm::is_contained({TileWork::constant, TileWork::rename, TileWork::region}, tileOp.getWork()) ||
         llvm::isa<BroadcastOp>(op);
}

void Checker::checkExpanded(mlir::Operation *op) {
  if (!floats(op) && !op->getAttrOfType<OriginAttr>("origin"))
    violation(op) << "it has no `origin`";
  if (auto mma = llvm::dyn_cast<MmaOp>(op); mma && !mma.getKind())
    violation(op) << "it names no matrix instruction";
  if (auto access = llvm::dyn_cast<AccessOpInterface>(op);
      access && access.getMovedValue() && access.getMovedTile().hasLayout())
    checkWidth(access);
  if (auto copy = llvm::dyn_cast<CopyOp>(op); copy && llvm::cast<TileType>(copy.getTile()).hasLayout()) {
    int64_t regs = llvm::cast<TileType>(copy.getTile()).layout().regs();
    if (regs != static_cast<int64_t>(copy.getElementsPerThread()))
      violation(op) << "it has " << regs << " registers a lane, expected the "
                    << static_cast<int64_t>(copy.getElementsPerThread()) << " of one instruction";
    else if (!copy.getBoxed() && copy.bytesPerLane() * 8 > kMaxAccessBits)
      violation(op) << "it moves " << copy.bytesPerLane() * 8 << " bits a lane, expected at most " << kMaxAccessBits;
  }
  if (auto copy = llvm::dyn_cast<CopyOutOp>(op); copy && llvm::cast<TileType>(copy.getTile()).hasLayout()) {
    int64_t regs = llvm::cast<TileType>(copy.getTile()).layout().regs();
    if (regs != static_cast<int64_t>(copy.getElementsPerThread()))
      violation(op) << "it has " << regs << " registers a lane, expected the "
                    << static_cast<int64_t>(copy.getElementsPerThread()) << " of one instruction";
  }
}

llvm::LogicalResult verifyForm(KernelOp kernel, Form form) {
  if (form == Form::Machine)
    return report(kernel.getLoc(), DiagId::FormViolated)
           << "`" << kernel.getSymName() << "` is a `wave.kernel`, expected a `machine.kernel` in the form `Machine`";
  Checker checker(form);
  kernel.getBody().walk([&](mlir::Operation *op) { checker.check(op); });
  return mlir::failure(checker.failed);
}

} // namespace soliton
