#include "soliton/analysis/Access.h"

#include "soliton/layout/Blocked.h"
#include "soliton/layout/MatrixRows.h"

#include <numeric>

namespace soliton {
using namespace wave;

TileType tileOf(Operation *op) {
  return cast<AccessOpInterface>(op).getMovedTile();
}

Value memoryOf(Operation *op) {
  return cast<AccessOpInterface>(op).getIndexedMemory();
}

bool writes(Operation *op, Value memory) {
  auto access = dyn_cast<AccessOpInterface>(op);
  return access && llvm::any_of(access.getMemoryUses(),
                                [&](const MemoryUse &use) { return use.isWrite && use.memory == memory; });
}

int64_t bytesPerBuffer(AllocateOp allocation) {
  MemoryType type = allocation.getResult().getType();
  // 16 bytes: the widest access stays aligned in every buffer.
  return llvm::alignTo(type.getMap().getValue().bytes(memoryBits(type.getElementType())), 16);
}

std::vector<sym::Expr> memoryExtents(Value memory, const Geometry &geometry) {
  auto type = cast<MemoryType>(memory.getType());
  if (!memory.getDefiningOp<AllocateOp>())
    return shapeOf(type, geometry).extents;
  std::vector<sym::Expr> extents;
  for (ExprAttr extent : type.getShape()) {
    sym::Substitution tiles;
    for (sym::Expr symbol : sym::symbolsOf(extent.getValue()))
      if (Dim dim(std::string(symbol.symbolName())); std::optional<int64_t> tile = geometry[dim].part())
        tiles.set(symbol, *tile);
    extents.push_back(sym::simplify(geometry.bind(sym::substitute(extent.getValue(), tiles)), geometry.facts()));
  }
  return extents;
}

Access::Access(Operation *op, const Geometry &geometry) : Access(op, geometry, tileOf(op).layout()) {}

Access::Access(Operation *op, const Geometry &geometry, const Layout &layout)
    : geometry(geometry), facts(geometry.factsAt(op)), tileLayout(layout) {
  read(op);
  findStrides();
}

/// The positions of the tile's dimensions along which a value differs: not those along which it was repeated.
static SmallVector<size_t> varyingDims(Value value, TileType tile) {
  while (auto op = value.getDefiningOp<TileOpInterface>()) {
    bool keepsElements =
        op->getNumOperands() == 1 &&
        !llvm::is_contained({TileWork::access, TileWork::reduce, TileWork::scan, TileWork::exchange, TileWork::region},
                            op.getWork());
    if (!keepsElements || !isa<TileType>(op->getOperand(0).getType()))
      break;
    value = op->getOperand(0);
  }
  SmallVector<size_t> dims;
  for (auto [k, name] : llvm::enumerate(tile.getDims()))
    if (cast<TileType>(value.getType()).hasDim(name.getValue()))
      dims.push_back(k);
  return dims;
}

sym::Expr startOf(Operation *access, Dim dim, const Geometry &geometry) {
  bool isTile = memoryOf(access).getDefiningOp<AllocateOp>() != nullptr;
  return isTile ? sym::Expr(0) : sym::simplify(geometry.start(dim, access), geometry.factsAt(access));
}

void Access::read(Operation *op) {
  auto access = cast<AccessOpInterface>(op);
  TileType tile = access.getMovedTile();
  memoryType = cast<MemoryType>(access.getIndexedMemory().getType());
  isWrite = access.writesIndexed();
  if (access.getAtomicKind())
    atomicWidth = tile.getElementType().getIntOrFloatBitWidth() < 32 ? geometry.target().narrowAtomicElements : 1;
  int64_t bits = memoryBits(tile.getElementType()), unit = std::gcd<int64_t>(bits, 8);
  size = bits / unit;
  unitsPerByte = 8 / unit;
  if (std::vector<sym::Expr> extents = memoryExtents(memoryOf(op), geometry); !extents.empty())
    rowExtent = extents.back();
  for (StringAttr dim : tile.getDims())
    dims.push_back(Dim(dim.getValue().str()));
  ValueRange symbols = access.getSymbols();
  if (ArrayAttr known = access.getStartsAttr())
    starts = geometry.named(known, symbols);
  else
    for (Dim dim : dims)
      starts.push_back(startOf(op, dim, geometry));
  if (ArrayAttr mapping = access.getIndicesAttr())
    indices = geometry.named(mapping, symbols);
  else
    for (size_t k = 0; k < dims.size(); ++k)
      indices.push_back(placeSymbol(k));
  for (Value value : access.getDynamicValues())
    varying.push_back(varyingDims(value, tile));
  if (ArrayAttr conditions = access.getGuardsAttr())
    guards = geometry.named(conditions, symbols);
  // The engine that copies boxes puts chunks where the map says; who asks for a box names its own coordinates.
  if (auto copy = dyn_cast<CopyOp>(op); copy && !copy.getBoxed())
    if (SharedMapAttr map = copy.getDestination().getType().getMap(); map && map.getValue().isSwizzled())
      stored = map.getValue();
}

/// The coordinates of register `reg`, in lane and wave.
static std::map<Dim, sym::Expr> coordinatesOf(const Layout &layout, ArrayRef<Dim> dims, int64_t reg) {
  std::map<Dim, sym::Expr> coordinates;
  for (Dim dim : dims)
    coordinates.emplace(dim, coordinateExpr(layout, dim, reg, laneSymbol(), waveSymbol()));
  return coordinates;
}

sym::Expr Access::place(size_t k, int64_t reg) const {
  if (stored)
    return starts[k] + swizzledExpr(*stored, coordinatesOf(tileLayout, dims, reg)).at(dims[k]);
  return starts[k] + coordinateExpr(tileLayout, dims[k], reg, laneSymbol(), waveSymbol());
}

/// Where register 0 of a tile lies that goes past the registers, in the shared memory at its other end.
static sym::Expr sharedOffset(AccessOpInterface copy, MemoryType memory, const Geometry &geometry) {
  SharedMap map = memory.getMap().getValue();
  SmallVector<Dim> dims;
  for (const DimExtent &dim : map.dims)
    dims.push_back(dim.dim);
  // The layout says where things are stored: the swizzle is in what is fetched.
  map.swizzle = {};
  TileType tile = copy.getMovedTile();
  sym::Expr offset = offsetExpr(map, coordinatesOf(tile.layout(), dims, 0));
  return sym::simplify(offset * elementBytes(tile.getElementType()), geometry.factsAt(copy));
}

sym::Expr destinationOffset(CopyOp copy, const Geometry &geometry) {
  return sharedOffset(copy, copy.getDestination().getType(), geometry);
}

sym::Expr sourceOffset(CopyOutOp copy, const Geometry &geometry) {
  return sharedOffset(copy, copy.getSource().getType(), geometry);
}

/// Units from one index to the next along each dimension of the memory; nothing where it is swizzled or in panels.
/// What a workgroup's tile in shared memory has along its dimension `i`, which may be a scaled one, `K/2`; rows that
/// are padded have an extent that is no dimension, and then the tile's own.
static std::optional<int64_t> sharedExtent(MemoryType memory, llvm::ArrayRef<Dim> dims, const Geometry &geometry,
                                           size_t i) {
  sym::Expr extent = memory.getShape()[i].getValue();
  if (std::optional<int64_t> constant = extent.constantValue())
    return constant;
  Dim named(extent.isSymbol() ? std::string(extent.symbolName()) : sym::toString(extent));
  if (geometry[named].dim == named)
    return geometry[named].part();
  return i < dims.size() ? geometry[dims[i]].part() : std::nullopt;
}

std::optional<std::vector<sym::Expr>> Access::memoryStrides() const {
  MemoryType memory = memoryType;
  if (!memory.isShared()) {
    MemoryShape shape = shapeOf(memory, geometry);
    if (unitsPerByte == 1 || shape.extents.empty()) {
      for (sym::Expr &stride : shape.strides)
        stride = stride * size;
      return shape.strides;
    }
    // Rows start on bytes.
    sym::Expr stride = sym::ceildiv(shape.extents.back() * size, unitsPerByte) * unitsPerByte;
    shape.strides.back() = size;
    for (size_t k = shape.extents.size() - 1; k-- > 0; stride = stride * shape.extents[k])
      shape.strides[k] = sym::simplify(stride, facts);
    return shape.strides;
  }
  const SharedMap *map = memory.getMap() ? &memory.getMap().getValue() : nullptr;
  if (map && (map->isSwizzled() || map->panel > 0))
    return std::nullopt;
  // One for each dimension of the memory, of which the tile may have fewer or others.
  size_t rank = memory.getShape().size();
  std::vector<sym::Expr> strides(rank);
  int64_t stride = size;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = stride;
    // Before it is placed a tile has rows without padding, which is what widths may rely on.
    stride *= map ? map->dims[i].extent : sharedExtent(memory, dims, geometry, i).value_or(1);
    if (map && i + 1 == rank)
      stride += map->padding * size;
  }
  return strides;
}

sym::Expr Access::dynamicSymbol(size_t k, int64_t reg) const {
  std::string name = "$dynamic" + std::to_string(k);
  for (size_t dim : varying[k])
    name += "_" + std::to_string(registerPart(dim, reg));
  return sym::Expr::symbol(name);
}

void Access::findStrides() {
  if (stored)
    return;
  std::optional<std::vector<sym::Expr>> inMemory = memoryStrides();
  if (!inMemory)
    return;
  SmallVector<sym::Expr> found(dims.size(), sym::Expr(0));
  for (auto [index, stride] : llvm::zip(indices, *inMemory)) {
    auto k = llvm::find_if(llvm::seq<size_t>(0, dims.size()), [&](size_t k) { return index == placeSymbol(k); });
    if (k == llvm::seq<size_t>(0, dims.size()).end())
      return;
    found[*k] = found[*k] + stride;
  }
  strides = found;
  sym::Expr offset = 0;
  for (size_t k = 0; k < dims.size(); ++k)
    offset = offset + (starts[k] + digitsExpr(tileLayout.lane, dims[k], laneSymbol()) +
                       digitsExpr(tileLayout.wave, dims[k], waveSymbol())) *
                          strides[k];
  base = sym::simplify(offset, facts);
}

int64_t Access::registerPart(size_t k, int64_t reg) const {
  int64_t coordinate = 0, rest = reg;
  for (const Digit &digit : tileLayout.reg) {
    if (digit.dim == dims[k])
      coordinate += rest % digit.extent * digit.stride;
    rest /= digit.extent;
  }
  auto offset = tileLayout.offset.find(dims[k]);
  return coordinate + (offset == tileLayout.offset.end() ? 0 : offset->second);
}

sym::Expr Access::byteOffset(int64_t reg) const {
  sym::Expr units = unitOffset(reg);
  return unitsPerByte == 1 ? units : sym::simplify(sym::floordiv(units, unitsPerByte), facts);
}

sym::Expr Access::placeInByte(int64_t reg) const {
  return unitsPerByte == 1 ? sym::Expr(0) : sym::simplify(sym::mod(unitOffset(reg), unitsPerByte), facts);
}

sym::Expr Access::unitOffset(int64_t reg) const {
  if (strides.empty())
    return generalOffset(reg);
  sym::Expr offset = base;
  for (size_t k = 0; k < dims.size(); ++k)
    offset = offset + strides[k] * registerPart(k, reg);
  return offset;
}

sym::Substitution Access::placesOf(int64_t reg) const {
  sym::Substitution places;
  for (size_t k = 0; k < dims.size(); ++k)
    places.set(placeSymbol(k), place(k, reg));
  for (size_t k = 0; k < varying.size(); ++k)
    places.set(wave::dynamicSymbol(k), dynamicSymbol(k, reg));
  return places;
}

sym::Expr Access::generalOffset(int64_t reg) const {
  sym::Substitution places = placesOf(reg);
  sym::Expr offset = 0;
  MemoryType memory = memoryType;
  if (memory.isShared() && memory.getMap()) {
    const SharedMap &map = memory.getMap().getValue();
    std::map<Dim, sym::Expr> coordinates;
    for (auto [i, index] : llvm::enumerate(indices))
      coordinates.insert_or_assign(map.dims[i].dim, sym::substitute(index, places));
    offset = offsetExpr(map, coordinates) * size;
  } else if (std::optional<std::vector<sym::Expr>> inMemory = memoryStrides()) {
    for (auto [index, stride] : llvm::zip(indices, *inMemory))
      offset = offset + sym::substitute(index, places) * stride;
  }
  return sym::simplify(offset, facts);
}

/// Where several lanes or waves hold the same element, one of them writes it.
sym::Expr Access::replicaMask() const {
  sym::Expr mask = 1;
  for (auto [digits, symbol] : {std::pair(&tileLayout.lane, laneSymbol()), std::pair(&tileLayout.wave, waveSymbol())}) {
    int64_t divisor = 1;
    for (const Digit &digit : *digits) {
      if (!digit.dim && digit.extent > 1)
        mask = sym::logicalAnd(mask, sym::eq(sym::mod(sym::floordiv(symbol, divisor), digit.extent), 0));
      divisor *= digit.extent;
    }
  }
  return mask;
}

sym::Expr Access::mask(int64_t reg) const {
  sym::Expr mask = isWrite ? replicaMask() : sym::Expr(1);
  if (guards.empty())
    return sym::simplify(mask, facts);
  sym::Substitution places = placesOf(reg);
  for (sym::Expr guard : guards)
    mask = sym::logicalAnd(mask, sym::substitute(guard, places));
  return sym::simplify(mask, facts);
}

/// Whether `guard` has one value for all registers of a group. The only comparisons that may tell them apart are of
/// something that grows by one with each register; then the bound must fall between groups.
bool Access::holdsAlike(sym::Expr guard, int64_t first, int64_t width) const {
  auto at = [&](sym::Expr e, int64_t reg) { return sym::simplify(sym::substitute(e, placesOf(reg)), facts); };
  bool isComparison = guard.kind() == sym::Kind::lt || guard.kind() == sym::Kind::le;
  if (!isComparison)
    return llvm::all_of(llvm::seq<int64_t>(1, width),
                        [&](int64_t i) { return at(guard, first + i) == at(guard, first); });
  // a < b is a - b < 0 and a <= b is a - b - 1 < 0.
  sym::Expr difference = guard.operand(0) - guard.operand(1) - (guard.kind() == sym::Kind::le ? 1 : 0);
  sym::Expr begin = at(difference, first);
  sym::Expr step = sym::simplify(at(difference, first + 1) - begin, facts);
  for (int64_t i = 2; i < width; ++i)
    if (!(sym::simplify(at(difference, first + i) - begin, facts) == step * i))
      return false;
  if (step.isConstant(0))
    return true;
  // From a multiple of the width upwards, or from one below a multiple downwards, the sign does not change.
  if (step.isConstant(1))
    return sym::divisorOf(begin, facts) % width == 0;
  return step.isConstant(-1) && sym::divisorOf(begin + 1, facts) % width == 0;
}

/// Whether the guard ends a row of the memory. What lies beyond it in the row's last byte is nobody's.
bool Access::isEndOfRow(sym::Expr guard) const {
  return guard.kind() == sym::Kind::lt &&
         sym::simplify(guard.operand(0) - guard.operand(1), facts) == sym::simplify(indices.back() - rowExtent, facts);
}

bool Access::guardsFallBetweenGroups(int64_t first, int64_t width) const {
  bool oneByte = isWrite && width * size == unitsPerByte;
  return llvm::all_of(
      guards, [&](sym::Expr guard) { return holdsAlike(guard, first, width) || (oneByte && isEndOfRow(guard)); });
}

bool Access::groupsAreByStrides(int64_t width) const {
  int64_t unit = width * size;
  if (sym::divisorOf(base, facts) % unit != 0)
    return false;
  SmallVector<int64_t> divisors;
  for (sym::Expr stride : strides)
    divisors.push_back(sym::divisorOf(stride, facts));
  for (int64_t first = 0; first < tileLayout.regs(); first += width)
    for (size_t k = 0; k < dims.size(); ++k) {
      int64_t begin = registerPart(k, first);
      if (begin * divisors[k] % unit != 0)
        return false;
      for (int64_t i = 1; i < width; ++i) {
        int64_t moved = registerPart(k, first + i) - begin;
        if (moved != (strides[k] == sym::Expr(size) ? i : 0))
          return false;
      }
    }
  // Every group is contiguous only if some dimension lies one element apart.
  return llvm::is_contained(strides, sym::Expr(size));
}

bool Access::groupsAre(int64_t width) const {
  int64_t regs = tileLayout.regs();
  if (regs % width != 0)
    return false;
  if (!strides.empty() && !groupsAreByStrides(width))
    return false;
  for (int64_t first = 0; first < regs; first += width) {
    if (!guardsFallBetweenGroups(first, width))
      return false;
    if (!strides.empty())
      continue;
    sym::Expr start = unitOffset(first);
    if (sym::divisorOf(start, facts) % (width * size) != 0)
      return false;
    for (int64_t i = 1; i < width; ++i)
      if (!(sym::simplify(unitOffset(first + i) - start, facts) == sym::Expr(i * size)))
        return false;
  }
  return true;
}

/// Bytes that may be moved together in a lane; those of elements of 6 bits by several instructions where a target has
/// none for them.
static bool isAccessSize(int64_t bytes) {
  return llvm::is_contained({1, 2, 3, 4, 6, 8, 12, 16}, bytes);
}

int64_t Access::width(int64_t maxBytes) const {
  if (atomicWidth)
    return *atomicWidth == 1 || (groupsAre(*atomicWidth) && tileLayout.splits(*atomicWidth)) ? *atomicWidth : 0;
  int64_t best = unitsPerByte == 1 || (!isWrite && unitsPerByte % size == 0) ? 1 : 0;
  for (int64_t width = 2; bytesOf(width) <= maxBytes && groupsAre(width); width *= 2)
    // What one instruction moves must be whole bytes, and a layout of its own.
    if (width * size % unitsPerByte == 0 && isAccessSize(bytesOf(width)) && tileLayout.splits(width))
      best = width;
  return best;
}

/// How far apart neighbours along a dimension lie, for comparing: beyond all numbers where only the launch knows, or
/// where they are one element.
static int64_t distanceAlong(sym::Expr stride) {
  int64_t distance = stride.constantValue().value_or(0);
  return distance > 0 ? distance : INT64_MAX;
}

bool isPermutation(ReadOp read) {
  return !read.getIndices() || llvm::all_of(exprsOf(*read.getIndices()), [&](sym::Expr index) {
    auto dims = llvm::seq<size_t>(0, read.getResult().getType().getDims().size());
    return llvm::any_of(dims, [&](size_t k) { return index == placeSymbol(k); });
  });
}

std::optional<size_t> dimAlong(sym::Expr index, size_t rank) {
  for (size_t k = 0; k < rank; ++k) {
    sym::Expr begin = index - placeSymbol(k);
    if (llvm::none_of(llvm::seq<size_t>(0, rank),
                      [&](size_t other) { return sym::contains(begin, placeSymbol(other)); }))
      return k;
  }
  return std::nullopt;
}

std::optional<std::vector<DimExtent>> memoryOrder(Operation *op, const Geometry &geometry) {
  std::optional<std::vector<DimExtent>> extents = geometry.extents(tileOf(op));
  ArrayAttr mapping = cast<AccessOpInterface>(op).getIndicesAttr();
  auto memory = cast<MemoryType>(memoryOf(op).getType());
  if (!extents || (!mapping && !memory.isStrided()))
    return extents;
  struct Place {
    DimExtent dim;
    int64_t distance;
  };
  std::vector<Place> places;
  std::vector<DimExtent> ordered;
  MemoryShape shape = shapeOf(memory, geometry);
  SmallVector<bool> isPlaced(extents->size(), false);
  for (size_t i = 0; i < shape.strides.size(); ++i) {
    std::optional<size_t> k = mapping ? dimAlong(exprsOf(mapping)[i], extents->size()) : std::optional(i);
    if (!k)
      continue;
    if (std::exchange(isPlaced[*k], true))
      return std::nullopt;
    places.push_back({(*extents)[*k], distanceAlong(shape.strides[i])});
  }
  // A single place is in order wherever it is.
  for (auto [dim, placed] : llvm::zip_equal(*extents, isPlaced)) {
    if (!placed && dim.extent != 1)
      return std::nullopt;
    if (!placed)
      ordered.push_back(dim);
  }
  if (memory.isStrided())
    llvm::stable_sort(places, [](const Place &a, const Place &b) { return a.distance > b.distance; });
  for (const Place &place : places)
    ordered.push_back(place.dim);
  return ordered;
}

Layout layoutInMemory(Operation *op) {
  Layout layout = tileOf(op).layout();
  ArrayAttr mapping = cast<AccessOpInterface>(op).getIndicesAttr();
  if (!mapping)
    return layout;
  for (auto [k, name] : llvm::enumerate(tileOf(op).getDims())) {
    Dim dim(name.getValue().str());
    for (sym::Expr index : exprsOf(mapping)) {
      std::optional<int64_t> apart =
          index.kind() == sym::Kind::floordiv ? index.operand(1).constantValue() : std::nullopt;
      if (!apart || !(index.operand(0) == placeSymbol(k)))
        continue;
      for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
        for (Digit &digit : layout.digits(axis))
          if (digit.dim == dim)
            digit.stride /= *apart;
      if (auto offset = layout.offset.find(dim); offset != layout.offset.end())
        offset->second /= *apart;
    }
  }
  return layout;
}

const MatrixAccess *matrixAccessOf(Operation *op, const Target &target) {
  auto read = dyn_cast<ReadOp>(op);
  return read && read.getMatrixLoad() ? target.matrixAccess(read.getMatrixLoad()->str()) : nullptr;
}

Layout matrixRowsOf(Operation *op, const Target &target) {
  const MatrixAccess *access = matrixAccessOf(op, target);
  auto shape = cast<MemoryType>(memoryOf(op).getType()).getShape();
  Dim along(sym::toString(shape.back().getValue()));
  return *matrixRows({access->result, access->contiguous}, tileOf(op).layout(), along);
}

static std::optional<Layout> blocked(const std::vector<DimExtent> &tile, const Geometry &geometry, bool allWaves,
                                     int64_t elements) {
  if (allWaves)
    return coalesced(tile, geometry.waveSize(), geometry.waveCount(), elements).layout;
  std::optional<Layout> layout = coalesced(geometry.wavePart(tile), geometry.waveSize(), 1, elements).layout;
  if (layout) {
    SmallVector<Dim> dims;
    for (const DimExtent &dim : tile)
      dims.push_back(dim.dim);
    layout->wave = geometry.waveDigits(dims);
  }
  return layout;
}

FailureOr<Layout> coalescedLayout(Operation *op, const Geometry &geometry, bool allWaves, int64_t elements) {
  std::optional<std::vector<DimExtent>> plain = geometry.extents(tileOf(op));
  if (!plain)
    return failure();
  std::vector<DimExtent> tile = memoryOrder(op, geometry).value_or(*plain);
  if (elements > 0)
    if (std::optional<Layout> layout = blocked(tile, geometry, allWaves, elements))
      return *layout;
  int64_t bits = memoryBits(tileOf(op).getElementType());
  // The widest access that is proven, with work for every lane where the tile has enough; elements that lie side by
  // side in bytes stay together whatever that costs.
  int64_t most = geometry.maxBytesPerAccess() * 8 / bits;
  int64_t limit = bits < 8 ? most
                           : bestElementsPerLane(allWaves ? tile : geometry.wavePart(tile), geometry.waveSize(),
                                                 allWaves ? geometry.waveCount() : 1, most);
  for (int64_t width = std::max<int64_t>(limit, 1); width >= 1; --width) {
    std::optional<Layout> layout = blocked(tile, geometry, allWaves, width);
    if (layout && (width == 1 || Access(op, geometry, *layout).width(width * bits / 8) == width))
      return *layout;
  }
  return failure();
}

} // namespace soliton
