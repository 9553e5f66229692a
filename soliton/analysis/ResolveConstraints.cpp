//===- ResolveConstraints.cpp - The one reading of a kernel's constraints -------------===//
//
// Constraints say in several sentences how a dimension is distributed; here they become one `#wave.dimension` for each
// dimension and one `#wave.geometry` for the kernel, with the bound symbols put in:
//
//   workgroup<M, BM, 0>, wave<M, BM/2>, subs = {BM = 64}
//
// becomes
//
//   dimension<M, size M, tile 64, workgroupDim 0, start 64*$WG0, waveTile 32, waves 2>,  grid [ceildiv(M, 64), 1, …]
//
// An alias is distributed as its target is, its tiles being what the author's function makes of the target's; a scaled
// dimension `K/32` as `K` is, its tiles being the 32nd part. Only the interpreter reads constraints a second time, as
// the judge.
//
//===----------------------------------------------------------------------===//

#include "soliton/analysis/Geometry.h"

#include "soliton/analysis/Persistent.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/layout/Blocked.h"

namespace soliton {
using namespace wave;

FailureOr<SymbolBindings> SymbolBindings::of(KernelOp kernel) {
  // A bound symbol may stand for an expression of others; each round resolves one level.
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
  SymbolBindings result;
  for (auto &[symbol, value] : pairs)
    result.bound.set(symbol, value);
  return result;
}

namespace {
/// One dimension while constraints are being read.
struct Entry {
  std::string name;
  sym::Expr size;
  int64_t workgroupTile = 0, workgroupDim = 0, loopTile = 0, waveTile = 0, waves = 1;
  sym::Expr start = 0, count = 1, loopStart = 0, loopCount = 1;
  bool primary = false, appliesFunction = false;
  std::string axis, wavesOf;

  /// Elements that its tiles hold: `part()`, or more.
  int64_t held = 0;
  /// Whether tiles may hold more than the part.
  bool mayGrow = true;

  int64_t part() const {
    return loopTile ? loopTile : workgroupTile ? workgroupTile : size.constantValue().value_or(0);
  }
};

class Resolver {
public:
  Resolver(KernelOp kernel, const SymbolBindings &bind) : kernel(kernel), bind(bind) {}

  FailureOr<GeometryAttr> run() {
    if (failed(findTarget()) || failed(readDistribution()) || failed(readWaves()) || failed(readAliases()))
      return failure();
    // Every dimension that a tile mentions has an entry, distributed or not; also one of a tile in shared memory that
    // is only ever reached by its places.
    bool ok = true;
    kernel.walk([&](Operation *op) {
      if (auto allocation = dyn_cast<AllocateOp>(op))
        for (ExprAttr extent : allocation.getResult().getType().getShape())
          if (extent.getValue().isSymbol())
            (void)entry(extent.getValue().symbolName());
      for (Type type : op->getResultTypes())
        if (auto tile = dyn_cast<TileType>(type))
          for (StringAttr dim : tile.getDims())
            if (!places.contains(dim.str()))
              ok &= succeeded(readScaled(scaledDim(Dim(dim.str()))));
    });
    if (!ok || failed(readWavesPerBlock()) || failed(checkVectorShapes()) || failed(checkAssumptions()) ||
        failed(checkCluster()))
      return failure();
    readGrid();
    holdOddTiles();
    return build();
  }

private:
  LogicalResult findTarget();
  LogicalResult readDistribution();
  LogicalResult readWorkgroup(WorkgroupConstraintAttr constraint);
  LogicalResult readTiling(TilingConstraintAttr constraint);
  LogicalResult readHardware(HardwareConstraintAttr constraint);
  LogicalResult readWaves();
  LogicalResult readWave(WaveConstraintAttr constraint);
  LogicalResult readAliases();
  LogicalResult readAlias(SymbolicAliasAttr alias);
  LogicalResult readScaled(const ScaledDim &dim);
  LogicalResult readWavesPerBlock();
  LogicalResult checkVectorShapes();
  LogicalResult checkAssumptions();
  LogicalResult checkCluster();
  LogicalResult checkVectorShape(StringRef dim, sym::Expr shape);
  void readGrid();
  void reorderWorkgroups();
  void holdOddTiles();
  void roundUpShared(TileType tile);
  bool needsLinearLaunch() const;
  GeometryAttr build();

  Entry &entry(StringRef name) {
    auto [found, isNew] = places.try_emplace(name.str(), list.size());
    if (isNew)
      list.push_back({.name = name.str(), .size = bind(sizeSymbol(name)), .axis = name.str(), .wavesOf = name.str()});
    return list[found->second];
  }
  FailureOr<int64_t> positiveNumber(sym::Expr expr, const llvm::Twine &what);
  ExprAttr attr(sym::Expr expr) { return exprAttr(kernel.getContext(), expr); }
  StringAttr attr(const std::string &text) { return StringAttr::get(kernel.getContext(), text); }

  KernelOp kernel;
  const SymbolBindings &bind;
  const Target *chip = nullptr;
  std::vector<Entry> list;
  std::map<std::string, size_t> places;
  std::array<int64_t, 3> waves = {1, 1, 1};
  std::array<sym::Expr, kMaxGridDims> grid = {1, 1, 1, 1, 1};
  int64_t accessBytes = 16;
  StringAttr mma;
};
} // namespace

/// The number that a tile expression must be once symbols are bound.
FailureOr<int64_t> Resolver::positiveNumber(sym::Expr expr, const llvm::Twine &what) {
  std::optional<int64_t> value;
  try {
    value = sym::simplify(bind(expr)).constantValue();
  } catch (const sym::ExprError &error) {
    return report(kernel.getLoc(), DiagId::DivisionInexact)
               .hint("choose sizes for which the division leaves no remainder")
           << what << " `" << sym::toString(expr) << "` has no value: " << error.what();
  }
  if (!value)
    return report(kernel.getLoc(), DiagId::SymbolUnbound).hint("bind its symbols in `subs`")
           << what << " is `" << sym::toString(expr) << "`, expected a number at compile time";
  if (*value <= 0)
    return report(kernel.getLoc(), DiagId::SizeNotPositive)
           << what << " is " << *value << ", expected a positive number";
  return *value;
}

LogicalResult Resolver::findTarget() {
  if (!kernel.getTarget())
    return report(kernel.getLoc(), DiagId::UnknownTarget) << "the kernel names no target";
  chip = soliton::findTarget(kernel.getTarget()->str());
  if (chip)
    return success();
  return report(kernel.getLoc(), DiagId::UnknownTarget).hint("the targets are " + listOf(targetNames()))
         << "found target `" << *kernel.getTarget() << "`";
}

LogicalResult Resolver::readDistribution() {
  for (Attribute attribute : kernel.getConstraints()) {
    LogicalResult read = llvm::TypeSwitch<Attribute, LogicalResult>(attribute)
                             .Case([&](WorkgroupConstraintAttr each) { return readWorkgroup(each); })
                             .Case([&](TilingConstraintAttr each) { return readTiling(each); })
                             .Case([&](HardwareConstraintAttr each) { return readHardware(each); })
                             .Default([](Attribute) { return success(); });
    if (failed(read))
      return failure();
  }
  return success();
}

LogicalResult Resolver::readWorkgroup(WorkgroupConstraintAttr constraint) {
  Entry &dim = entry(constraint.getDim().getValue());
  FailureOr<int64_t> tile = positiveNumber(constraint.getTile().getValue(), "the workgroup tile of `" + dim.name + "`");
  if (failed(tile))
    return failure();
  dim.workgroupTile = *tile;
  dim.workgroupDim = constraint.getWorkgroupDim();
  dim.primary = constraint.getPrimary();
  dim.appliesFunction = bool(constraint.getApply());
  sym::Expr id = workgroupSymbol(dim.workgroupDim);
  dim.start = constraint.getApply()
                  ? sym::substitute(bind(constraint.getApply().getValue()), {{sym::Expr::symbol("$WG"), id}})
                  : id * *tile;
  dim.count = constraint.getIters() ? bind(constraint.getIters().getValue()) : sym::ceildiv(dim.size, *tile);
  return success();
}

LogicalResult Resolver::readTiling(TilingConstraintAttr constraint) {
  Entry &dim = entry(constraint.getDim().getValue());
  FailureOr<int64_t> tile = positiveNumber(constraint.getTile().getValue(), "the loop tile of `" + dim.name + "`");
  if (failed(tile))
    return failure();
  dim.loopTile = *tile;
  dim.loopStart = constraint.getStart() ? bind(constraint.getStart().getValue()) : sym::Expr(0);
  dim.loopCount = constraint.getIters() ? bind(constraint.getIters().getValue()) : sym::ceildiv(dim.size, *tile);
  return success();
}

LogicalResult Resolver::readHardware(HardwareConstraintAttr constraint) {
  if (constraint.getThreadsPerWave() && constraint.getThreadsPerWave().getInt() != chip->waveSize)
    return report(kernel.getLoc(), DiagId::WaveSizeMismatch)
               .hint("leave `threads_per_wave` out: it is then the target's")
           << "found " << constraint.getThreadsPerWave().getInt() << " threads per wave, `" << chip->name << "` has "
           << chip->waveSize;
  accessBytes = std::min(constraint.getMaxBitsPerLoad() / 8, chip->maxAccessBytes);
  mma = constraint.getMma();
  return success();
}

//===-- Waves -------------------------------------------------------------------------------------------------===//

LogicalResult Resolver::readWaves() {
  for (Attribute attribute : kernel.getConstraints())
    if (auto constraint = dyn_cast<WaveConstraintAttr>(attribute); constraint && failed(readWave(constraint)))
      return failure();
  return success();
}

LogicalResult Resolver::readWave(WaveConstraintAttr constraint) {
  Entry &dim = entry(constraint.getDim().getValue());
  FailureOr<int64_t> tile = positiveNumber(constraint.getTile().getValue(), "the wave tile of `" + dim.name + "`");
  if (failed(tile))
    return failure();
  if (!dim.workgroupTile && !dim.loopTile)
    return report(kernel.getLoc(), DiagId::WaveWithoutWorkgroup)
               .hint("add `WorkgroupConstraint(" + dim.name + ", …)` or `TilingConstraint(" + dim.name + ", …)`")
           << "`" << dim.name << "` has a wave constraint but neither a workgroup nor a tiling constraint";
  // Waves share what the workgroup has at a time: of a dimension that a loop walks, the tile of an iteration.
  const char *shared = dim.loopTile ? "loop" : "workgroup";
  if (*tile > dim.part() || dim.part() % *tile != 0)
    return report(kernel.getLoc(), DiagId::WaveTileIndivisible)
               .hint(std::string("choose a wave tile that divides the ") + shared + "'s")
           << "the " << shared << " tile of `" << dim.name << "` is " << dim.part()
           << ", not a multiple of its wave tile " << *tile;
  dim.waveTile = *tile;
  dim.waves = dim.part() / *tile;
  // Waves are numbered along three dimensions; those of a grid's further ones lie along the last.
  waves[std::min<int64_t>(dim.workgroupDim, 2)] *= dim.waves;
  return success();
}

LogicalResult Resolver::readWavesPerBlock() {
  for (Attribute attribute : kernel.getConstraints()) {
    auto hardware = dyn_cast<HardwareConstraintAttr>(attribute);
    if (!hardware || !hardware.getWavesPerBlock())
      continue;
    std::array<int64_t, 3> said = {1, 1, 1};
    for (auto [i, count] : llvm::enumerate(hardware.getWavesPerBlock().asArrayRef()))
      if (i < 3)
        said[i] = count;
    for (int i = 0; i < 3; ++i)
      if (said[i] < waves[i] || said[i] % waves[i] != 0)
        return report(kernel.getLoc(), DiagId::WavesMismatch)
                   .hint("leave `waves_per_block` out: it then follows from the wave constraints")
               << "`waves_per_block` says " << said[i] << " waves along workgroup dimension " << i
               << ", the wave constraints make " << waves[i];
    waves = said;
  }
  int64_t count = waves[0] * waves[1] * waves[2];
  if (count <= chip->maxWavesPerWorkgroup && count * chip->waveSize <= chip->maxThreadsPerWorkgroup)
    return success();
  return report(kernel.getLoc(), DiagId::TooManyThreads).hint("use larger wave tiles or smaller workgroup tiles")
         << "a workgroup has " << count << " waves = " << count * chip->waveSize << " threads, `" << chip->name
         << "` allows " << chip->maxThreadsPerWorkgroup;
}

//===-- Aliases -----------------------------------------------------------------------------------------------===//

LogicalResult Resolver::readAliases() {
  for (Attribute attribute : kernel.getConstraints())
    if (auto alias = dyn_cast<SymbolicAliasAttr>(attribute); alias && failed(readAlias(alias)))
      return failure();
  return success();
}

LogicalResult Resolver::readAlias(SymbolicAliasAttr alias) {
  Entry target = entry(alias.getTarget().getValue());
  Entry &source = entry(alias.getSource().getValue());
  auto mapped = [&](sym::Expr value) {
    return sym::substitute(bind(alias.getSourceToTarget().getValue()), {{sym::Expr::symbol("$x"), value}});
  };
  auto mappedTile = [&](int64_t &to, int64_t from, const char *what) -> LogicalResult {
    if (!from)
      return success();
    FailureOr<int64_t> tile =
        positiveNumber(mapped(from), std::string("the ") + what + " tile of the alias `" + source.name + "`");
    if (succeeded(tile))
      to = *tile;
    return success(succeeded(tile));
  };
  if (failed(mappedTile(source.workgroupTile, target.workgroupTile, "workgroup")) ||
      failed(mappedTile(source.loopTile, target.loopTile, "loop")) ||
      failed(mappedTile(source.waveTile, target.waveTile, "wave")))
    return failure();
  const char *shared = source.loopTile ? "loop" : "workgroup";
  if (target.waves > 1 && source.waveTile * target.waves != source.part())
    return report(kernel.getLoc(), DiagId::WaveTileIndivisible)
               .hint(std::string("let the alias map the wave tile to an equal part of what it maps the ") + shared +
                     " tile to")
           << "`" << source.name << "`, an alias of `" << target.name << "`, has a " << shared << " tile of "
           << source.part() << " and wave tiles of " << source.waveTile << ", but there are " << target.waves
           << " waves";
  source.workgroupDim = target.workgroupDim;
  if (source.workgroupTile)
    source.start =
        target.appliesFunction ? mapped(target.start) : workgroupSymbol(source.workgroupDim) * source.workgroupTile;
  source.loopStart = target.loopStart.isConstant(0) ? target.loopStart : mapped(target.loopStart);
  source.loopCount = target.loopCount;
  source.axis = target.axis;
  source.waves = target.waves;
  source.wavesOf = target.wavesOf;
  return success();
}

/// A dimension that is distributed as another one is; every other gets an entry of its own.
LogicalResult Resolver::readScaled(const ScaledDim &dim) {
  Entry base = entry(dim.base.name());
  if (!dim.isScaled())
    return success();
  Entry &scaled = entry(dim.dim().name());
  auto divided = [&](int64_t &to, int64_t from, const char *what) -> LogicalResult {
    if (from % dim.divisor != 0)
      return report(kernel.getLoc(), DiagId::DivisionInexact)
                 .hint("choose a tile of `" + base.name + "` that is a multiple of " + std::to_string(dim.divisor))
             << "the " << what << " tile of `" << base.name << "` is " << from << ", which `" << scaled.name
             << "` does not divide";
    to = from / dim.divisor * dim.places;
    return success();
  };
  if (failed(divided(scaled.workgroupTile, base.workgroupTile, "workgroup")) ||
      failed(divided(scaled.loopTile, base.loopTile, "loop")) ||
      failed(divided(scaled.waveTile, base.waveTile, "wave")))
    return failure();
  scaled.workgroupDim = base.workgroupDim;
  if (scaled.workgroupTile)
    scaled.start = base.appliesFunction ? base.start / dim.divisor * dim.places
                                        : workgroupSymbol(scaled.workgroupDim) * scaled.workgroupTile;
  scaled.loopStart = base.loopStart / dim.divisor * dim.places;
  scaled.loopCount = base.loopCount;
  scaled.axis = base.axis;
  scaled.waves = base.waves;
  scaled.wavesOf = base.wavesOf;
  return success();
}

//===-- The grid ----------------------------------------------------------------------------------------------===//

void Resolver::readGrid() {
  // Dimensions that share a workgroup dimension multiply its workgroups; each takes its part by the whole number, or by
  // what its function makes of it.
  for (const Entry &dim : list)
    if (dim.primary)
      grid[dim.workgroupDim] = grid[dim.workgroupDim] * dim.count;
  for (Attribute attribute : kernel.getConstraints())
    if (auto fixed = dyn_cast<GridConstraintAttr>(attribute)) {
      // A persistent kernel says itself where its tiles start.
      grid = {bind(fixed.getSize().getValue()), 1, 1, 1, 1};
      for (Entry &dim : list)
        dim.start = 0;
    }
  // Whole clusters: workgroups beyond the last tile copy their share for those that have one.
  if (std::optional<TileCluster> cluster = tileClusterOf(kernel))
    grid[cluster->dim] = cluster->size * sym::ceildiv(grid[cluster->dim], cluster->size);
  reorderWorkgroups();
}

void Resolver::reorderWorkgroups() {
  sym::Substitution reordered;
  for (Attribute attribute : kernel.getConstraints())
    if (auto reordering = dyn_cast<ReorderingConstraintAttr>(attribute))
      reordered.set(workgroupSymbol(reordering.getWorkgroupDim()), bind(reordering.getEquation().getValue()));
  if (reordered.empty())
    return;
  for (Entry &dim : list)
    for (sym::Expr *expr : {&dim.start, &dim.loopStart, &dim.loopCount})
      *expr = sym::substitute(*expr, reordered);
}

/// How many elements of a dimension a wave takes at a time changes no result, and layouts are chosen by their cost.
/// Only 0 says more: the dimension has one element in a workgroup's tile.
LogicalResult Resolver::checkVectorShape(StringRef dim, sym::Expr shape) {
  std::optional<int64_t> value = sym::simplify(bind(shape)).constantValue();
  if (!value)
    return report(kernel.getLoc(), DiagId::SymbolUnbound).hint("bind its symbols in `subs`")
           << "the vector shape of `" << dim << "` is `" << sym::toString(shape)
           << "`, expected a number at compile time";
  if (*value < 0)
    return report(kernel.getLoc(), DiagId::SizeNotPositive)
           << "the vector shape of `" << dim << "` is " << *value << ", expected 0 or a positive number";
  auto found = places.find(dim.str());
  if (*value > 0 || found == places.end() || list[found->second].part() == 1)
    return success();
  return report(kernel.getLoc(), DiagId::HardwareValue)
             .hint("give it a workgroup tile of 1, or the vector shape " + std::to_string(list[found->second].part()))
         << "the vector shape 0 of `" << dim << "` means one element in a workgroup, its tile has "
         << list[found->second].part();
}

LogicalResult Resolver::checkVectorShapes() {
  for (Attribute attribute : kernel.getConstraints()) {
    auto hardware = dyn_cast<HardwareConstraintAttr>(attribute);
    if (!hardware || !hardware.getVectorShapes())
      continue;
    for (mlir::NamedAttribute entry : hardware.getVectorShapes())
      if (failed(checkVectorShape(entry.getName(), cast<ExprAttr>(entry.getValue()).getValue())))
        return failure();
  }
  return success();
}

/// What sizes decide that are known now need not wait for a launch.
LogicalResult Resolver::checkAssumptions() {
  for (Attribute attribute : kernel.getConstraints()) {
    auto assumption = dyn_cast<AssumptionAttr>(attribute);
    if (assumption && sym::simplify(bind(assumption.getPredicate().getValue())).isConstant(0))
      return report(kernel.getLoc(), DiagId::AssumptionInvalid).hint("bind other sizes in `subs`")
             << "the kernel assumes `" << sym::toString(assumption.getPredicate().getValue())
             << "`, which does not hold for the sizes that are bound";
  }
  return success();
}

/// Workgroups are neighbours along a dimension that the target can make clusters of, and that constraints distribute.
LogicalResult Resolver::checkCluster() {
  std::optional<TileCluster> cluster = tileClusterOf(kernel);
  if (!cluster)
    return success();
  auto refuse = [&](const std::string &hint) {
    return std::move(report(kernel.getLoc(), DiagId::NotSupportedHere).hint(hint)
                     << "`workgroups_per_cluster` asks for " << cluster->size << " workgroups along dimension "
                     << cluster->dim << " of the grid, ");
  };
  if (cluster->size > chip->maxClusterSize || !chip->hasTileCopy)
    return refuse("leave it out for this target, or ask for fewer")
           << "`" << chip->name << "` has clusters of " << chip->maxClusterSize << " at most";
  bool isDistributed = llvm::any_of(
      list, [&](const Entry &dim) { return dim.primary && dim.workgroupTile > 0 && dim.workgroupDim == cluster->dim; });
  bool ownGrid = llvm::any_of(kernel.getConstraints(), [](Attribute each) { return isa<GridConstraintAttr>(each); });
  if (ownGrid || !isDistributed)
    return refuse("name a dimension of the grid that a workgroup constraint distributes")
           << (ownGrid ? "which a grid constraint takes from the constraints" : "along which there is one");
  return success();
}

/// Lanes share a tile evenly along powers of two. A tile of an odd extent is held with places beyond its end, which
/// nothing touches. Not along a dimension that waves share, since each would reach into the next one's part, nor where
/// its groups are a dimension too, since a group's elements lie where it does.
void Resolver::holdOddTiles() {
  std::set<std::string> grouped;
  for (const Entry &dim : list)
    if (ScaledDim scaled = scaledDim(Dim(dim.name)); scaled.isScaled())
      grouped.insert({dim.name, scaled.base.name()});
  for (Entry &dim : list) {
    dim.mayGrow = dim.waves == 1 && !grouped.contains(dim.name);
    dim.held = dim.mayGrow ? wholeTile(dim.part()) : dim.part();
  }
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<TileType>(type))
        roundUpShared(tile);
  });
}

/// Lanes that have no part of their own hold what others hold: 175 of 700 elements each, for 64 lanes, 11 of 704. So
/// extents grow to multiples of larger powers of two, the one that grows least first, until every lane has a part.
void Resolver::roundUpShared(TileType tile) {
  auto lowestBit = [](int64_t number) { return number & -number; };
  auto heldOf = [](const Entry &dim) { return dim.waves > 1 ? dim.waveTile : std::max<int64_t>(dim.held, 1); };
  int64_t elements = 1, parts = 1;
  SmallVector<Entry *> odd;
  for (StringAttr name : tile.getDims()) {
    Entry &dim = entry(name.getValue());
    int64_t held = heldOf(dim);
    elements *= held;
    parts *= lowestBit(held);
    if (dim.mayGrow && held != lowestBit(held))
      odd.push_back(&dim);
  }
  auto growth = [&](const Entry *dim) {
    return static_cast<double>(lowestBit(dim->held)) / static_cast<double>(dim->held);
  };
  while (!odd.empty() && parts < chip->waveSize && elements >= chip->waveSize) {
    auto least = llvm::min_element(odd, [&](Entry *x, Entry *y) { return growth(x) < growth(y); });
    int64_t &held = (*least)->held, before = lowestBit(held);
    held += before;
    parts = parts / before * lowestBit(held);
    if (held == lowestBit(held))
      odd.erase(least);
  }
}

/// More than three dimensions, one that is not known to fit what a launch takes, or an order of its own.
bool Resolver::needsLinearLaunch() const {
  if (kernel->hasAttr("raster") || kernel->hasAttr("cluster") || persistentWorkgroups(kernel) || tileClusterOf(kernel))
    return true;
  // The least that drivers promise beyond the first dimension.
  constexpr int64_t kMostWorkgroups = 65535;
  for (int64_t dim = 0; dim < kMaxGridDims; ++dim) {
    std::optional<int64_t> count = sym::simplify(grid[dim]).constantValue();
    if (dim > 0 && (!count || *count > kMostWorkgroups || (dim > 2 && *count != 1)))
      return true;
  }
  return false;
}

GeometryAttr Resolver::build() {
  MLIRContext *context = kernel.getContext();
  SmallVector<Attribute> dims, sizes, assumptions;
  for (Entry &dim : list) {
    if (!dim.waveTile)
      dim.waveTile = std::max<int64_t>(dim.held, 1);
    dims.push_back(DimensionAttr::get(context, attr(dim.name), attr(dim.size), dim.held, dim.workgroupTile,
                                      dim.workgroupDim, attr(dim.start), dim.loopTile, attr(dim.loopStart),
                                      attr(dim.loopCount), attr(dim.axis), dim.waveTile, dim.waves, attr(dim.wavesOf)));
  }
  for (sym::Expr size : grid)
    sizes.push_back(attr(sym::simplify(size)));
  for (Attribute attribute : kernel.getConstraints())
    if (auto assumption = dyn_cast<AssumptionAttr>(attribute))
      assumptions.push_back(attr(bind(assumption.getPredicate().getValue())));
  return GeometryAttr::get(context, ArrayAttr::get(context, dims), ArrayAttr::get(context, sizes), needsLinearLaunch(),
                           mlir::DenseI64ArrayAttr::get(context, waves), chip->waveSize, accessBytes, mma,
                           ArrayAttr::get(context, assumptions));
}

FailureOr<GeometryAttr> resolveConstraints(KernelOp kernel) {
  try {
    FailureOr<SymbolBindings> bindings = SymbolBindings::of(kernel);
    if (failed(bindings))
      return failure();
    return Resolver(kernel, *bindings).run();
  } catch (const sym::ExprError &error) {
    return report(kernel.getLoc(), DiagId::ExpressionInvalid)
           << "an expression of the constraints has no value: " << error.what();
  }
}

} // namespace soliton
