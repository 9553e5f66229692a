#include "soliton/analysis/Geometry.h"

#include "soliton/ir/Diagnose.h"

namespace soliton {
using namespace wave;

sym::Expr laneSymbol() {
  static const sym::Expr symbol = sym::Expr::symbol("$LANE");
  return symbol;
}
sym::Expr waveSymbol() {
  static const sym::Expr symbol = sym::Expr::symbol("$WAVE");
  return symbol;
}
sym::Expr workgroupSymbol(int64_t dim) {
  static const sym::Expr symbols[] = {sym::Expr::symbol("$WG0"), sym::Expr::symbol("$WG1"), sym::Expr::symbol("$WG2")};
  return symbols[dim];
}
sym::Expr inductionSymbol(StringRef axis) {
  return sym::Expr::symbol("$ARG_" + axis.str());
}

std::optional<int64_t> Distribution::tile() const {
  if (loopTile)
    return loopTile;
  if (workgroupTile)
    return workgroupTile;
  return size.constantValue();
}

const Distribution &Geometry::operator[](Dim dim) const {
  for (const Distribution &entry : list)
    if (entry.dim == dim)
      return entry;
  static const Distribution none{Dim("?"), 1, {}, 0, 0, 1, {}, 0, 1, 0, 1};
  return none;
}

Distribution &Geometry::entry(Dim dim) {
  for (Distribution &entry : list)
    if (entry.dim == dim)
      return entry;
  Distribution fresh{dim, bind(sym::Expr::symbol(dim.name())), {}, 0, 0, 1, {}, 0, 1, 0, 1};
  return list.emplace_back(fresh);
}

sym::Expr Geometry::bind(sym::Expr expr) const {
  return sym::substitute(expr, bound);
}

LogicalResult Geometry::bindSymbols(KernelOp kernel) {
  // A bound symbol may stand for an expression of others; two rounds resolve one level, and the loop all of them.
  std::vector<std::pair<sym::Expr, sym::Expr>> pairs;
  for (mlir::NamedAttribute sub : kernel.getSubs()) {
    sym::Expr symbol = sym::Expr::symbol(sub.getName().strref());
    if (auto number = dyn_cast<mlir::IntegerAttr>(sub.getValue()))
      pairs.emplace_back(symbol, number.getInt());
    else if (auto expr = dyn_cast<ExprAttr>(sub.getValue()))
      pairs.emplace_back(symbol, expr.getValue());
  }
  sym::Substitution direct;
  for (auto &[symbol, value] : pairs)
    direct.set(symbol, value);
  for (size_t round = 0; round <= pairs.size(); ++round) {
    bool changed = false;
    for (auto &[symbol, value] : pairs) {
      sym::Expr next = sym::substitute(value, direct);
      changed |= !(next == value);
      value = next;
    }
    if (!changed)
      break;
    if (round == pairs.size())
      return report(kernel.getLoc(), DiagId::SubstitutionInvalid)
             << "the values of the bound symbols refer to each other in a cycle";
  }
  for (auto &[symbol, value] : pairs)
    bound.set(symbol, value);
  return success();
}

/// The number that a tile expression must be once symbols are bound.
static FailureOr<int64_t> positiveNumber(KernelOp kernel, const Geometry &geometry, ExprAttr expr, StringRef what) {
  std::optional<int64_t> value;
  try {
    value = sym::simplify(geometry.bind(expr.getValue())).constantValue();
  } catch (const sym::ExprError &error) {
    return report(kernel.getLoc(), DiagId::DivisionInexact)
               .hint("choose sizes for which the division leaves no remainder")
           << what << " `" << sym::toString(expr.getValue()) << "` has no value: " << error.what();
  }
  if (!value)
    return report(kernel.getLoc(), DiagId::SymbolUnbound).hint("bind its symbols in `subs`")
           << what << " is `" << sym::toString(expr.getValue()) << "`, expected a number at compile time";
  if (*value <= 0)
    return report(kernel.getLoc(), DiagId::SizeNotPositive)
           << what << " is " << *value << ", expected a positive number";
  return *value;
}

LogicalResult Geometry::read(KernelOp kernel) {
  if (!kernel.getTarget())
    return report(kernel.getLoc(), DiagId::UnknownTarget) << "the kernel names no target";
  chip = findTarget(kernel.getTarget()->str());
  if (!chip)
    return report(kernel.getLoc(), DiagId::UnknownTarget).hint("the targets are " + listOf(targetNames()))
           << "found target `" << *kernel.getTarget() << "`";
  laneCount = chip->waveSize;
  if (failed(bindSymbols(kernel)))
    return failure();

  for (Attribute attribute : kernel.getConstraints()) {
    if (auto workgroup = dyn_cast<WorkgroupConstraintAttr>(attribute)) {
      Distribution &dim = entry(Dim(workgroup.getDim().getValue().str()));
      FailureOr<int64_t> tile =
          positiveNumber(kernel, *this, workgroup.getTile(), "the workgroup tile of `" + dim.dim.name() + "`");
      if (failed(tile))
        return failure();
      dim.workgroupTile.emplace(*tile);
      dim.workgroupDim = std::min<int64_t>(workgroup.getWorkgroupDim(), 2);
      sym::Expr id = workgroupSymbol(dim.workgroupDim);
      dim.workgroupStart = workgroup.getApply() ? sym::substitute(bind(workgroup.getApply().getValue()),
                                                                  {{sym::Expr::symbol("$WG"), id}})
                                                : id * *tile;
      dim.workgroupCount = workgroup.getIters() ? bind(workgroup.getIters().getValue()) : sym::ceildiv(dim.size, *tile);
    } else if (auto tiling = dyn_cast<TilingConstraintAttr>(attribute)) {
      Distribution &dim = entry(Dim(tiling.getDim().getValue().str()));
      FailureOr<int64_t> tile =
          positiveNumber(kernel, *this, tiling.getTile(), "the loop tile of `" + dim.dim.name() + "`");
      if (failed(tile))
        return failure();
      dim.loopTile.emplace(*tile);
      dim.loopStart = tiling.getStart() ? bind(tiling.getStart().getValue()) : sym::Expr(0);
      dim.loopCount = tiling.getIters() ? bind(tiling.getIters().getValue()) : sym::ceildiv(dim.size, *tile);
    } else if (auto hardware = dyn_cast<HardwareConstraintAttr>(attribute)) {
      if (hardware.getThreadsPerWave() && hardware.getThreadsPerWave().getInt() != laneCount)
        return report(kernel.getLoc(), DiagId::WaveSizeMismatch)
                   .hint("leave `threads_per_wave` out: it is then the target's")
               << "found " << hardware.getThreadsPerWave().getInt() << " threads per wave, `" << chip->name << "` has "
               << laneCount;
      accessBytes = std::min(hardware.getMaxBitsPerLoad() / 8, chip->maxAccessBytes);
      if (hardware.getMma())
        mma = hardware.getMma().getValue().str();
    }
  }
  // Every dimension that a memory or tile mentions has an entry, distributed or not.
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<TileType>(type))
        for (StringAttr dim : tile.getDims())
          entry(Dim(dim.getValue().str()));
  });
  if (failed(readWaves(kernel)))
    return failure();
  readLaunch(kernel);
  learnFacts(kernel);
  return success();
}

LogicalResult Geometry::readWaves(KernelOp kernel) {
  for (Distribution &dim : list)
    dim.waveTile = dim.tile().value_or(1);
  for (Attribute attribute : kernel.getConstraints()) {
    auto constraint = dyn_cast<WaveConstraintAttr>(attribute);
    if (!constraint)
      continue;
    Distribution &dim = entry(Dim(constraint.getDim().getValue().str()));
    FailureOr<int64_t> tile =
        positiveNumber(kernel, *this, constraint.getTile(), "the wave tile of `" + dim.dim.name() + "`");
    if (failed(tile))
      return failure();
    if (!dim.workgroupTile)
      return report(kernel.getLoc(), DiagId::WaveWithoutWorkgroup)
                 .hint("add `WorkgroupConstraint(" + dim.dim.name() + ", …)`")
             << "`" << dim.dim.name() << "` has a wave constraint but no workgroup constraint";
    if (*tile > *dim.workgroupTile || *dim.workgroupTile % *tile != 0)
      return report(kernel.getLoc(), DiagId::WaveTileIndivisible)
                 .hint("choose a wave tile that divides the workgroup's")
             << "the workgroup tile of `" << dim.dim.name() << "` is " << *dim.workgroupTile
             << ", not a multiple of its wave tile " << *tile;
    dim.waveTile = *tile;
    dim.waves = *dim.workgroupTile / *tile;
    waveGrid[dim.workgroupDim] *= dim.waves;
  }
  for (Attribute attribute : kernel.getConstraints())
    if (auto hardware = dyn_cast<HardwareConstraintAttr>(attribute); hardware && hardware.getWavesPerBlock()) {
      std::array<int64_t, 3> said = {1, 1, 1};
      for (auto [i, count] : llvm::enumerate(hardware.getWavesPerBlock().asArrayRef()))
        if (i < 3)
          said[i] = count;
      for (int i = 0; i < 3; ++i)
        if (said[i] < waveGrid[i] || said[i] % waveGrid[i] != 0)
          return report(kernel.getLoc(), DiagId::WavesMismatch)
                     .hint("leave `waves_per_block` out: it then follows from the wave constraints")
                 << "`waves_per_block` says " << said[i] << " waves along workgroup dimension " << i
                 << ", the wave constraints make " << waveGrid[i];
      waveGrid = said;
    }
  if (waveCount() > chip->maxWavesPerWorkgroup || waveCount() * laneCount > chip->maxThreadsPerWorkgroup)
    return report(kernel.getLoc(), DiagId::TooManyThreads).hint("use larger wave tiles or smaller workgroup tiles")
           << "a workgroup has " << waveCount() << " waves = " << waveCount() * laneCount << " threads, `" << chip->name
           << "` allows " << chip->maxThreadsPerWorkgroup;
  return success();
}

void Geometry::readLaunch(KernelOp kernel) {
  for (Attribute attribute : kernel.getConstraints())
    if (auto workgroup = dyn_cast<WorkgroupConstraintAttr>(attribute); workgroup && workgroup.getPrimary()) {
      const Distribution &dim = (*this)[Dim(workgroup.getDim().getValue().str())];
      launchGrid[dim.workgroupDim] = launchGrid[dim.workgroupDim] * dim.workgroupCount;
    }
  sym::Substitution reordered;
  for (Attribute attribute : kernel.getConstraints()) {
    if (auto grid = dyn_cast<GridConstraintAttr>(attribute)) {
      // A persistent kernel says itself where its tiles start.
      launchGrid = {bind(grid.getSize().getValue()), 1, 1};
      for (Distribution &dim : list)
        dim.workgroupStart = 0;
    }
    if (auto reordering = dyn_cast<ReorderingConstraintAttr>(attribute))
      reordered.set(workgroupSymbol(reordering.getWorkgroupDim()), bind(reordering.getEquation().getValue()));
  }
  for (Distribution &dim : list)
    for (sym::Expr *expr : {&dim.workgroupStart, &dim.loopStart, &dim.loopCount})
      *expr = sym::substitute(*expr, reordered);
}

void Geometry::learnFacts(KernelOp kernel) {
  constexpr int64_t kLargestSize = INT32_MAX;
  known.setRange(laneSymbol(), {0, laneCount - 1});
  known.setRange(waveSymbol(), {0, waveCount() - 1});
  for (Attribute name : kernel.getDynamic())
    known.setRange(sym::Expr::symbol(cast<StringAttr>(name).getValue()), {0, kLargestSize});
  for (Attribute attribute : kernel.getConstraints())
    if (auto assumption = dyn_cast<AssumptionAttr>(attribute))
      known.assume(bind(assumption.getPredicate().getValue()));
  for (int i = 0; i < 3; ++i) {
    std::optional<int64_t> last = sym::rangeOf(launchGrid[i], known).hi;
    known.setRange(workgroupSymbol(i), {0, last ? std::max<int64_t>(*last - 1, 0) : kLargestSize});
    if (!launchGrid[i].isConstant())
      known.assume(sym::lt(workgroupSymbol(i), launchGrid[i]));
  }
  knownAtLaunch = known;
  for (const Distribution &dim : list)
    if (dim.loopTile) {
      sym::Expr iteration = inductionSymbol(dim.dim.name());
      std::optional<int64_t> last = sym::rangeOf(dim.loopCount, known).hi;
      known.setRange(iteration, {0, last ? std::max<int64_t>(*last - 1, 0) : kLargestSize});
      if (!dim.loopCount.isConstant())
        known.assume(sym::lt(iteration, dim.loopCount));
    }
}

FailureOr<Geometry> Geometry::of(KernelOp kernel) {
  Geometry geometry;
  try {
    if (failed(geometry.read(kernel)))
      return failure();
  } catch (const sym::ExprError &error) {
    return report(kernel.getLoc(), DiagId::ExpressionInvalid)
           << "an expression of the constraints has no value: " << error.what();
  }
  return geometry;
}

sym::Expr Geometry::start(Dim dim, Operation *where) const {
  const Distribution &distribution = (*this)[dim];
  sym::Expr start = distribution.workgroupTile ? distribution.workgroupStart : sym::Expr(0);
  for (auto loop = where->getParentOfType<IterateOp>(); loop; loop = loop->getParentOfType<IterateOp>())
    if (loop.getAxis() == dim.name() && distribution.loopTile)
      start = start + distribution.loopStart + inductionSymbol(dim.name()) * *distribution.loopTile;
  return start;
}

std::optional<std::vector<DimExtent>> Geometry::extents(TileType type) const {
  std::vector<DimExtent> result;
  for (StringAttr name : type.getDims()) {
    Dim dim(name.getValue().str());
    std::optional<int64_t> tile = (*this)[dim].tile();
    if (!tile)
      return std::nullopt;
    result.push_back({dim, *tile});
  }
  return result;
}

Digits Geometry::waveDigits(ArrayRef<Dim> dims) const {
  Digits digits;
  for (int64_t axis = 0; axis < 3; ++axis) {
    int64_t used = 1;
    for (const Distribution &dim : list) {
      if (dim.waves == 1 || dim.workgroupDim != axis)
        continue;
      used *= dim.waves;
      if (llvm::is_contained(dims, dim.dim))
        digits.push_back(Digit(dim.waves, dim.dim, dim.waveTile));
      else
        digits.push_back(Digit(dim.waves));
    }
    if (waveGrid[axis] > used)
      digits.push_back(Digit(waveGrid[axis] / used));
  }
  return digits;
}

const MmaKind &mmaKindOf(MmaOp mma, const Target &target) {
  auto element = [](Value value) { return *dtypeOf(cast<TileType>(value.getType()).getElementType()); };
  std::string_view name(mma.getKind()->data(), mma.getKind()->size());
  return *selectMma(target, name, {element(mma.getLhs()), element(mma.getRhs()), element(mma.getAcc())}).kind;
}

int64_t elementBits(Type element) {
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}
int64_t elementBytes(Type element) {
  return std::max<int64_t>(1, elementBits(element) / 8);
}

MemoryShape shapeOf(MemoryType type, const Geometry &geometry) {
  MemoryShape shape;
  for (ExprAttr extent : type.getShape())
    shape.extents.push_back(sym::simplify(geometry.bind(extent.getValue()), geometry.facts()));
  shape.strides.resize(shape.extents.size());
  for (size_t i = shape.extents.size(); i-- > 0;) {
    shape.strides[i] = shape.elements;
    shape.elements = shape.elements * shape.extents[i];
  }
  return shape;
}

} // namespace soliton
