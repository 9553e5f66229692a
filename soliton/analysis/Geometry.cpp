#include "soliton/analysis/Geometry.h"

#include "soliton/ir/Diagnose.h"

namespace soliton {
using namespace wave;

std::optional<int64_t> Distribution::part() const {
  return loopTile ? loopTile : workgroupTile ? workgroupTile : size.constantValue();
}

const Distribution &Geometry::operator[](Dim dim) const {
  if (auto found = places.find(dim); found != places.end())
    return list[found->second];
  static const Distribution none{Dim("?"), 1, {}, 0, 0, {}, 0, 1, "?", 0, 1, Dim("?"), 1};
  return none;
}

void Geometry::read(GeometryAttr attribute) {
  auto number = [](int64_t value) { return value ? std::optional(value) : std::nullopt; };
  for (DimensionAttr dim : attribute.getDims().getAsRange<DimensionAttr>()) {
    places.emplace(Dim(dim.getDim().str()), list.size());
    list.push_back({Dim(dim.getDim().str()), dim.getSize().getValue(), number(dim.getWorkgroupTile()),
                    dim.getWorkgroupDim(), dim.getStart().getValue(), number(dim.getLoopTile()),
                    dim.getLoopStart().getValue(), dim.getLoopCount().getValue(), dim.getAxis().str(),
                    dim.getWaveTile(), dim.getWaves(), Dim(dim.getWavesOf().str()), dim.getTile()});
  }
  for (auto [to, from] : llvm::zip(gridSizes, attribute.getGrid().getAsRange<ExprAttr>()))
    to = from.getValue();
  for (auto [to, from] : llvm::zip(waveGrid, attribute.getWaves().asArrayRef()))
    to = from;
  linear = attribute.getLinear();
  laneCount = attribute.getWaveSize();
  accessBytes = attribute.getAccessBytes();
  if (attribute.getMma())
    mma = attribute.getMma().str();
}

void Geometry::learnFacts(KernelOp kernel, GeometryAttr attribute) {
  constexpr int64_t kLargestSize = INT32_MAX;
  for (Attribute name : kernel.getDynamic())
    sizeFacts.setRange(sym::Expr::symbol(cast<StringAttr>(name).getValue()), {0, kLargestSize});
  for (ExprAttr assumption : attribute.getAssumptions().getAsRange<ExprAttr>())
    sizeFacts.assume(assumption.getValue());
  sym::Facts &known = indexSymbols->known;
  known = sizeFacts;
  known.setRange(laneSymbol(), {0, laneCount - 1});
  known.setRange(waveSymbol(), {0, waveCount() - 1});
  for (int64_t dim = 0; dim < kMaxGridDims; ++dim) {
    std::optional<int64_t> last = sym::rangeOf(gridSizes[dim], known).hi;
    known.setRange(workgroupSymbol(dim), {0, last ? std::max<int64_t>(*last - 1, 0) : kLargestSize});
    if (!gridSizes[dim].isConstant())
      known.assume(sym::lt(workgroupSymbol(dim), gridSizes[dim]));
  }
  // In the order of the program, so that names do not depend on who asks first.
  kernel.walk<mlir::WalkOrder::PreOrder>([&](Operation *op) {
    if (auto id = dyn_cast<WorkgroupIdOp>(op))
      (void)indexSymbols->symbol(id.getResult());
    if (auto data = dyn_cast<IndexOfOp>(op))
      (void)indexSymbols->symbol(data.getResult());
    if (auto loop = dyn_cast<IterateOp>(op))
      (void)indexSymbols->symbol(loop.iteration());
  });
}

FailureOr<Geometry> Geometry::of(KernelOp kernel) {
  GeometryAttr attribute = kernel.getGeometryAttr();
  if (!attribute) {
    FailureOr<GeometryAttr> resolved = resolveConstraints(kernel);
    if (failed(resolved))
      return failure();
    attribute = *resolved;
  }
  FailureOr<SymbolBindings> bindings = SymbolBindings::of(kernel);
  const Target *target = kernel.getTarget() ? findTarget(kernel.getTarget()->str()) : nullptr;
  if (failed(bindings) || !target)
    return failure();
  Geometry geometry;
  geometry.bindings = *bindings;
  geometry.chip = target;
  geometry.copyingWaves = static_cast<int64_t>(kernel.getServiceWaves().value_or(0));
  geometry.copyingRegisters = static_cast<int64_t>(kernel.getServiceRegisters().value_or(0));
  geometry.indexSymbols = std::make_shared<IndexSymbols>(kernel);
  try {
    geometry.read(attribute);
    geometry.learnFacts(kernel, attribute);
  } catch (const sym::ExprError &error) {
    return report(kernel.getLoc(), DiagId::ExpressionInvalid)
           << "an expression of the constraints has no value: " << error.what();
  }
  return geometry;
}

std::array<sym::Expr, 3> Geometry::launchGrid() const {
  if (!linear)
    return {gridSizes[0], gridSizes[1], gridSizes[2]};
  sym::Expr workgroups = 1;
  for (sym::Expr size : gridSizes)
    workgroups = workgroups * size;
  return {workgroups, 1, 1};
}

sym::Expr Geometry::named(ExprAttr expr, ValueRange operands) const {
  return bind(indexSymbols->named(expr.getValue(), operands));
}

SmallVector<sym::Expr> Geometry::named(ArrayAttr exprs, ValueRange operands) const {
  SmallVector<sym::Expr> result;
  for (ExprAttr expr : exprs.getAsRange<ExprAttr>())
    result.push_back(named(expr, operands));
  return result;
}

sym::Expr Geometry::start(Dim dim, Operation *where) const {
  const Distribution &distribution = (*this)[dim];
  sym::Expr start = distribution.workgroupTile ? distribution.workgroupStart : sym::Expr(0);
  if (!distribution.loopTile)
    return start;
  // Of loops inside each other, the innermost one counts.
  for (auto loop = where->getParentOfType<IterateOp>(); loop; loop = loop->getParentOfType<IterateOp>())
    if (loop.getAxis() == distribution.axis)
      return start + distribution.loopStart + indexSymbols->symbol(loop.iteration()) * *distribution.loopTile;
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

const Distribution *Geometry::movedByWavesOf(const Distribution &owner, ArrayRef<Dim> dims) const {
  if (llvm::is_contained(dims, owner.dim))
    return &owner;
  for (const Distribution &each : list)
    if (each.wavesOf == owner.dim && llvm::is_contained(dims, each.dim))
      return &each;
  return nullptr;
}

std::vector<DimExtent> Geometry::wavePart(std::vector<DimExtent> tile) const {
  SmallVector<Dim> dims;
  for (const DimExtent &dim : tile)
    dims.push_back(dim.dim);
  for (DimExtent &dim : tile)
    if (const Distribution &each = (*this)[dim.dim];
        each.waves > 1 && movedByWavesOf((*this)[each.wavesOf], dims) == &each)
      dim.extent = each.waveTile;
  return tile;
}

Digits Geometry::waveDigits(ArrayRef<Dim> dims) const {
  Digits digits;
  for (int64_t axis = 0; axis < 3; ++axis) {
    int64_t used = 1;
    for (const Distribution &dim : list) {
      if (dim.waves == 1 || !(dim.wavesOf == dim.dim) || std::min<int64_t>(dim.workgroupDim, 2) != axis)
        continue;
      used *= dim.waves;
      const Distribution *along = movedByWavesOf(dim, dims);
      digits.push_back(along ? Digit(dim.waves, along->dim, along->waveTile) : Digit(dim.waves));
    }
    if (waveGrid[axis] > used)
      digits.push_back(Digit(waveGrid[axis] / used));
  }
  return digits;
}

bool walks(IterateOp loop, TileType tile, const Geometry &geometry) {
  return llvm::any_of(tile.getDims(),
                      [&](StringAttr name) { return loop.getAxis() == geometry[Dim(name.getValue().str())].axis; });
}

const MmaKind &mmaKindOf(MmaOp mma, const Target &target) {
  auto element = [](Value value) { return *dtypeOf(cast<TileType>(value.getType()).getElementType()); };
  std::string_view name(mma.getKind()->data(), mma.getKind()->size());
  return *selectMma(target, name, {element(mma.getLhs()), element(mma.getRhs()), element(mma.getAcc()), mma.isScaled()})
              .kind;
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
  if (type.isStrided()) {
    shape.elements = 1;
    for (auto [extent, stride] : llvm::zip(shape.extents, type.getStrides())) {
      shape.strides.push_back(sym::simplify(geometry.bind(stride.getValue()), geometry.facts()));
      shape.elements = shape.elements + (extent - 1) * shape.strides.back();
    }
    // Of an empty tensor nothing is left, whatever its other extents say.
    shape.elements = sym::simplify(sym::max(shape.elements, 0), geometry.facts());
    return shape;
  }
  shape.strides.resize(shape.extents.size());
  for (size_t i = shape.extents.size(); i-- > 0;) {
    shape.strides[i] = shape.elements;
    shape.elements = shape.elements * shape.extents[i];
  }
  return shape;
}

int64_t memoryBits(Type element) {
  return element.isInteger(1) ? 8 : elementBits(element);
}

sym::Expr bytesOf(MemoryType type, const Geometry &geometry) {
  int64_t bits = memoryBits(type.getElementType());
  MemoryShape shape = shapeOf(type, geometry);
  if (bits % 8 == 0)
    return shape.elements * (bits / 8);
  // Rows start on bytes.
  sym::Expr bytes = 1;
  for (size_t k = 0; k < shape.extents.size(); ++k)
    bytes = bytes * (k + 1 == shape.extents.size() ? sym::ceildiv(shape.extents[k] * bits, 8) : shape.extents[k]);
  return bytes;
}

} // namespace soliton
