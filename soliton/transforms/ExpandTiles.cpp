//===- ExpandTiles.cpp - From tiles to the instructions that the target issues -----===//
//
// Runs once. Each op becomes as many ops as the target issues instructions for it, in a stated order: pieces of an
// access by register, matrix instructions by row, column, then along the contraction.
//
//   %d = wave.mma %a, %b, %c : 64×64×32 a wave          becomes   32 × wave.mma on 16×16×16 pieces
//   %a = wave.read %s        : 32 registers a lane       becomes    8 × wave.read of 4 registers (8 bytes)
//
// A tile is afterwards a row of pieces (Fragments.h); `wave.slice` and `wave.join` appear where a use wants other ones
// and cost nothing. Every op carries its origin; nothing later widens, merges or splits an access.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/transforms/Expander.h"

namespace soliton {
#define GEN_PASS_DEF_EXPANDTILESPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

OriginAttr Expander::origin(Operation *op, Role role) {
  auto number = numbers.try_emplace(op, static_cast<int64_t>(numbers.size())).first->second;
  return OriginAttr::get(op->getContext(), number, role, {}, 0, op->getAttrOfType<ArrayAttr>("tags"));
}

SmallVector<OriginAttr> Expander::origins(Operation *op, Role role, const Layout &layout, int64_t size) {
  OriginAttr whole = origin(op, role);
  int64_t count = layout.regs() / size;
  SmallVector<SmallVector<mlir::NamedAttribute>> pieces(count);
  // The ordinal along a dimension: how many smaller places along it pieces of this size have.
  for (Dim dim : layout.dims()) {
    SmallVector<int64_t> places(count);
    for (int64_t i = 0; i < count; ++i)
      places[i] = layout.coordinate(dim, i * size, 0, 0);
    SmallVector<int64_t> sorted(places);
    llvm::sort(sorted);
    sorted.erase(llvm::unique(sorted), sorted.end());
    if (sorted.size() < 2)
      continue;
    StringAttr name = StringAttr::get(op->getContext(), dim.name());
    for (int64_t i = 0; i < count; ++i)
      pieces[i].emplace_back(name, builder.getI64IntegerAttr(llvm::lower_bound(sorted, places[i]) - sorted.begin()));
  }
  SmallVector<OriginAttr> result;
  for (auto &piece : pieces)
    result.push_back(
        OriginAttr::get(op->getContext(), whole.getOp(), role,
                        piece.empty() ? mlir::DictionaryAttr() : mlir::DictionaryAttr::get(op->getContext(), piece), 0,
                        whole.getTags()));
  return result;
}

const MmaKind &Expander::kindOf(MmaOp mma) const {
  return mmaKindOf(mma, geometry.target());
}

SmallVector<Value> Expander::dynamicPieces(ValueRange values, int64_t begin, int64_t count, OriginAttr at) {
  return llvm::map_to_vector(
      values, [&](Value value) { return fragment(value).range(builder, value.getLoc(), begin, count, at); });
}

FailureOr<int64_t> Expander::accessWidth(Operation *op, const Access &access) {
  int64_t width = access.width(geometry.maxBytesPerAccess());
  if (width > 0)
    return width;
  if (cast<AccessOpInterface>(op).getAtomicKind())
    return report(op->getLoc(), DiagId::AtomicType).hint("let a lane have two elements that lie together, or use f32")
           << "`" << geometry.target().name << "` changes two " << tileOf(op).getElementType()
           << " elements at once, and here lanes would change one";
  return report(op->getLoc(), DiagId::PackedElementsSplit)
             .hint("read and write whole bytes a lane along the tensor's last dimension, or use a wider element type")
         << "lanes would touch parts of the bytes in which " << tileOf(op).getElementType() << " elements lie";
}

/// Whether the guards are known to turn the piece from `reg` on off in every lane: it would be an instruction that
/// moves nothing, as all but the first of a tile's 64 columns are where the tensor has one.
template <typename AccessOp>
static bool touchesNothing(AccessOp op, const Access &access, int64_t reg) {
  return op.getGuardsAttr() && access.mask(reg).isConstant(0);
}

/// One piece for each that an instruction reads by itself; they are no instructions.
void Expander::expandInPlace(ReadOp read) {
  TileType type = read.getResult().getType();
  mlir::OpOperand &use = *read->use_begin();
  auto mma = cast<MmaOp>(use.getOwner());
  int64_t count = registersTaken(mma, kindOf(mma), use.getOperandNumber());
  Fragment &result = define(read.getResult());
  for (auto [i, piece] : llvm::enumerate(origins(read, Role::SharedLoad, type.layout(), count))) {
    auto part = cast<ReadOp>(builder.clone(*read));
    part.getResult().setType(pieceType(type, i * count, count));
    part.setOriginAttr(piece);
    result.append(part);
  }
}

LogicalResult Expander::expandRead(ReadOp read) {
  if (read.getInPlace())
    return expandInPlace(read), success();
  TileType type = read.getResult().getType();
  const MatrixAccess *matrix = matrixAccessOf(read, geometry.target());
  bool isShared = read.getMemory().getType().isShared();
  if (read.getMatrixLoad() && (!matrix || !isShared))
    return report(read.getLoc(), DiagId::InvalidIr)
           << "`" << geometry.target().name << "` has no collective load `" << *read.getMatrixLoad() << "` of "
           << (isShared ? "shared" : "global") << " memory";
  Access access(read, geometry);
  FailureOr<int64_t> found = matrix ? matrix->result.regs() : accessWidth(read, access);
  if (failed(found))
    return failure();
  int64_t width = *found;
  bool shared = access.memory().isShared();
  Fragment &result = define(read.getResult());
  for (auto [i, piece] :
       llvm::enumerate(origins(read, shared ? Role::SharedLoad : Role::GlobalLoad, type.layout(), width))) {
    if (!keepOutside && touchesNothing(read, access, i * width)) {
      result.append(FillOp::create(builder, read.getLoc(), pieceType(type, i * width, width),
                                   cast<mlir::TypedAttr>(builder.getZeroAttr(type.getElementType())),
                                   read.getTagsAttr(), piece));
      continue;
    }
    auto instruction =
        ReadOp::create(builder, read.getLoc(), pieceType(type, i * width, width), read.getMemory(),
                       dynamicPieces(read.getDynamicValues(), i * width, width, piece), read.getSymbols(),
                       mlir::IntegerAttr(), read.getIndicesAttr(), read.getStartsAttr(), ArrayAttr(),
                       read.getGuardsAttr(), read.getTagsAttr(), piece, read.getBufferAttr(), read.getMatrixLoadAttr());
    instruction.setWorkgroupAttr(read.getWorkgroupAttr());
    result.append(instruction);
  }
  return success();
}

LogicalResult Expander::expandWrite(WriteOp write) {
  TileType type = write.getValue().getType();
  Access access(write, geometry);
  FailureOr<int64_t> found = accessWidth(write, access);
  if (failed(found))
    return failure();
  int64_t width = *found;
  bool shared = access.memory().isShared();
  for (auto [i, piece] :
       llvm::enumerate(origins(write, shared ? Role::SharedStore : Role::GlobalStore, type.layout(), width))) {
    if (!keepOutside && touchesNothing(write, access, i * width))
      continue;
    Value value = fragment(write.getValue()).range(builder, write.getLoc(), i * width, width, piece);
    WriteOp::create(builder, write.getLoc(), value, write.getMemory(),
                    dynamicPieces(write.getDynamicValues(), i * width, width, piece), write.getSymbols(),
                    mlir::IntegerAttr(), write.getIndicesAttr(), write.getStartsAttr(), ArrayAttr(),
                    write.getGuardsAttr(), write.getTagsAttr(), piece, write.getBufferAttr());
  }
  return success();
}

/// The coordinates of a register in lane 0 of wave 0.
static std::vector<int64_t> placeOf(const Layout &layout, ArrayRef<Dim> dims, int64_t reg) {
  std::vector<int64_t> place;
  for (Dim dim : dims)
    place.push_back(layout.coordinate(dim, reg, 0, 0));
  return place;
}

std::map<std::vector<int64_t>, int64_t> piecesByPlace(const Layout &layout, ArrayRef<Dim> dims, int64_t size) {
  std::map<std::vector<int64_t>, int64_t> pieces;
  for (int64_t begin = 0; begin < layout.regs(); begin += size)
    pieces.emplace(placeOf(layout, dims, begin), begin);
  return pieces;
}

LogicalResult Expander::expandAtomic(AtomicOp atomic) {
  TileType type = atomic.getValue().getType();
  Access access(atomic, geometry);
  FailureOr<int64_t> found = accessWidth(atomic, access);
  if (failed(found))
    return failure();
  int64_t width = *found;
  bool shared = access.memory().isShared();
  Fragment &result = define(atomic.getResult());
  // An element that a lane holds twice is changed once.
  SmallVector<Dim> dims =
      llvm::map_to_vector(type.getDims(), [](StringAttr name) { return Dim(name.getValue().str()); });
  std::map<std::vector<int64_t>, int64_t> first = piecesByPlace(type.layout(), dims, width);
  std::map<int64_t, Value> olds;
  for (auto [i, piece] :
       llvm::enumerate(origins(atomic, shared ? Role::SharedStore : Role::GlobalStore, type.layout(), width))) {
    int64_t begin = i * width;
    Value &old = olds[first.at(placeOf(type.layout(), dims, begin))];
    if (!old && !keepOutside && touchesNothing(atomic, access, begin))
      old = FillOp::create(builder, atomic.getLoc(), pieceType(type, begin, width),
                           cast<mlir::TypedAttr>(builder.getZeroAttr(type.getElementType())), atomic.getTagsAttr(),
                           piece);
    if (!old)
      old = AtomicOp::create(builder, atomic.getLoc(), pieceType(type, begin, width), atomic.getKind(),
                             fragment(atomic.getValue()).range(builder, atomic.getLoc(), begin, width, piece),
                             atomic.getExpected()
                                 ? fragment(atomic.getExpected()).range(builder, atomic.getLoc(), begin, width, piece)
                                 : Value(),
                             atomic.getMemory(), dynamicPieces(atomic.getDynamicValues(), begin, width, piece),
                             atomic.getSymbols(), mlir::IntegerAttr(), atomic.getIndicesAttr(), atomic.getStartsAttr(),
                             ArrayAttr(), atomic.getGuardsAttr(), atomic.getTagsAttr(), piece, atomic.getBufferAttr());
    result.append(old);
  }
  return success();
}

void Expander::expandCopy(CopyOp copy) {
  TileType type = copy.getTile();
  auto width = static_cast<int64_t>(copy.getElementsPerThread());
  for (auto [i, piece] : llvm::enumerate(origins(copy, Role::CopyAsync, type.layout(), width))) {
    auto instruction = cast<CopyOp>(builder.clone(*copy));
    instruction.setTile(pieceType(type, i * width, width));
    instruction.setOriginAttr(piece);
  }
}

void Expander::expandCopyOut(CopyOutOp copy) {
  TileType type = copy.getTile();
  auto width = static_cast<int64_t>(copy.getElementsPerThread());
  for (auto [i, piece] : llvm::enumerate(origins(copy, Role::GlobalStore, type.layout(), width))) {
    auto instruction = cast<CopyOutOp>(builder.clone(*copy));
    instruction.setTile(pieceType(type, i * width, width));
    instruction.setOriginAttr(piece);
  }
}

SmallVector<Dim> operandDims(TileType type, Dim contracted) {
  SmallVector<Dim> dims = {contracted};
  for (StringAttr name : type.getDims())
    if (Dim dim(name.getValue().str()); !(dim == contracted))
      dims.push_back(dim);
  return dims;
}

/// The scales of one operand by the place of their block and of their row.
struct Expander::Scales {
  Fragment fragment;
  SmallVector<Dim> dims;
  std::map<std::vector<int64_t>, int64_t> pieces;
};

std::vector<Expander::Scales> Expander::scalesOf(MmaOp mma) {
  std::vector<Scales> result;
  for (Value scale : mma.getScales()) {
    auto type = cast<TileType>(scale.getType());
    SmallVector<Dim> dims = operandDims(type, mma.getScaleDim().dim());
    result.push_back({fragment(scale), dims, piecesByPlace(type.layout(), dims, 1)});
  }
  return result;
}

void Expander::expandMma(MmaOp mma) {
  const MmaKind &kind = kindOf(mma);
  if (mma.isScaled() && kind.scaleBlock == 0)
    return expandScaled(mma);
  TileType lhsType = mma.getLhs().getType(), rhsType = mma.getRhs().getType(), accType = mma.getAcc().getType();
  Dim k(mma.getContractedDim().getValue().str());
  int64_t lhsRegs = registersTaken(mma, kind, 0), rhsRegs = registersTaken(mma, kind, 1), accRegs = kind.acc.nativeRegs;
  // Dimensions of the accumulator other than rows and columns are batches: each has products of its own.
  SmallVector<Dim> lhsDims = operandDims(lhsType, k), rhsDims = operandDims(rhsType, k);
  auto lhsPieces = piecesByPlace(lhsType.layout(), lhsDims, lhsRegs);
  auto rhsPieces = piecesByPlace(rhsType.layout(), rhsDims, rhsRegs);
  std::set<int64_t> steps;
  for (auto &[place, begin] : lhsPieces)
    steps.insert(place.front());

  const std::vector<Scales> allScales = scalesOf(mma);
  Fragment &result = define(mma.getResult());
  const Fragment lhs = fragment(mma.getLhs()), rhs = fragment(mma.getRhs()), acc = fragment(mma.getAcc());
  for (auto [i, place] : llvm::enumerate(origins(mma, Role::Compute, accType.layout(), accRegs))) {
    int64_t begin = i * accRegs;
    auto pieceAt = [&](ArrayRef<Dim> dims, int64_t step) {
      std::vector<int64_t> place = {step};
      for (Dim dim : dims.drop_front())
        place.push_back(accType.layout().coordinate(dim, begin, 0, 0));
      return place;
    };
    Value sum = acc.range(builder, mma.getLoc(), begin, accRegs, place);
    for (auto [ordinal, step] : llvm::enumerate(steps)) {
      SmallVector<mlir::NamedAttribute> piece;
      if (place.getPiece())
        llvm::append_range(piece, place.getPiece());
      if (steps.size() > 1)
        piece.emplace_back(mma.getContractedDim(), builder.getI64IntegerAttr(ordinal));
      OriginAttr at = OriginAttr::get(mma.getContext(), place.getOp(), Role::Compute,
                                      mlir::DictionaryAttr::get(mma.getContext(), piece), 0, place.getTags());
      Value a = lhs.range(builder, mma.getLoc(), lhsPieces.at(pieceAt(lhsDims, step)), lhsRegs, at);
      Value b = rhs.range(builder, mma.getLoc(), rhsPieces.at(pieceAt(rhsDims, step)), rhsRegs, at);
      SmallVector<Value> scales = llvm::map_to_vector(allScales, [&](const Scales &each) {
        int64_t begin = each.pieces.at(pieceAt(each.dims, step / kScaleBlock));
        return each.fragment.range(builder, mma.getLoc(), begin, 1, at);
      });
      sum = MmaOp::create(builder, mma.getLoc(), sum.getType(), a, b, sum, scales, mma.getKindAttr(), mma.getTagsAttr(),
                          at);
    }
    result.append(sum);
  }
}

/// Whether what a loop carries here is added to by what a lane combined of its own registers.
static bool addsReduction(Value argument) {
  auto carried = dyn_cast<BlockArgument>(argument);
  if (!carried)
    return false;
  auto loop = cast<IterateOp>(carried.getOwner()->getParentOp());
  auto add = loop.block().getTerminator()->getOperand(carried.getArgNumber() - 1).getDefiningOp<BinaryOp>();
  return add && add.getRhs().getDefiningOp<ReduceOp>();
}

/// The product of several waves that is added to what a loop carries here, if there is one.
static MmaOp addedProduct(Value argument) {
  auto carried = dyn_cast<BlockArgument>(argument);
  auto loop = carried ? dyn_cast<IterateOp>(carried.getOwner()->getParentOp()) : IterateOp();
  auto add = loop ? loop.block().getTerminator()->getOperand(carried.getArgNumber() - 1).getDefiningOp<BinaryOp>()
                  : BinaryOp();
  auto product = add ? add.getRhs().getDefiningOp<MmaOp>() : MmaOp();
  return product && !inPlaceFactors(product).empty() ? product : MmaOp();
}

int64_t Expander::carriedGranule(Value argument) const {
  for (Operation *user : argument.getUsers())
    if (auto mma = dyn_cast<MmaOp>(user); mma && mma.getAcc() == argument)
      return kindOf(mma).acc.nativeRegs;
  if (MmaOp product = addedProduct(argument))
    return kindOf(product).acc.nativeRegs;
  // What a reduction is added to comes as its results do, one by one: two registers that are scaled together and then
  // added to apart are three instructions, not two.
  if (addsReduction(argument))
    return 1;
  TileType type = cast<TileType>(argument.getType());
  int64_t bytes = elementBytes(type.getElementType());
  return wholePieces(type.layout(), std::max<int64_t>(1, 16 / bytes));
}

LogicalResult Expander::expandLoop(IterateOp loop) {
  SmallVector<Value> inits;
  SmallVector<Type> types;
  SmallVector<int64_t> granules, counts;
  for (auto [init, argument] : llvm::zip(loop.getInits(), loop.carried())) {
    TileType type = cast<TileType>(argument.getType());
    int64_t granule = carriedGranule(argument);
    granules.push_back(granule);
    counts.push_back(type.layout().regs() / granule);
    for (int64_t begin = 0; begin < type.layout().regs(); begin += granule) {
      inits.push_back(fragment(init).range(builder, loop.getLoc(), begin, granule, origin(loop, Role::Compute)));
      types.push_back(pieceType(type, begin, granule));
    }
  }
  auto expanded = IterateOp::create(builder, loop.getLoc(), types, loop.getAxis(), inits, loop.getSymbols(),
                                    loop.getCountAttr(), loop.getTagsAttr());
  Block &body = expanded.makeBody();
  loop.iteration().replaceAllUsesWith(expanded.iteration());
  size_t next = 0;
  for (auto [argument, result, count] : llvm::zip(loop.carried(), loop.getResults(), counts)) {
    Fragment &inside = define(argument);
    for (int64_t i = 0; i < count; ++i)
      inside.append(expanded.carried()[next + i]);
    Fragment &after = define(result);
    for (int64_t i = 0; i < count; ++i)
      after.append(expanded.getResult(next + i));
    next += count;
  }

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&body);
  if (failed(expandBlock(loop.block())))
    return failure();
  expandYield(loop.block().getTerminator(), granules, origin(loop, Role::Compute));
  return success();
}

LogicalResult Expander::expandConditional(ConditionalOp op) {
  SmallVector<Type> types;
  SmallVector<int64_t> granules;
  for (Value result : op.getResults()) {
    TileType type = cast<TileType>(result.getType());
    granules.push_back(carriedGranule(result));
    for (int64_t begin = 0; begin < type.layout().regs(); begin += granules.back())
      types.push_back(pieceType(type, begin, granules.back()));
  }
  auto expanded = ConditionalOp::create(builder, op.getLoc(), types, op.getConditionAttr(), op.getSymbols());
  expanded.setTagsAttr(op.getTagsAttr());
  for (auto [from, to] :
       {std::pair(&op.thenBlock(), &expanded.thenBlock()), {&op.elseBlock(), &expanded.elseBlock()}}) {
    to->clear();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(to);
    if (failed(expandBlock(*from)))
      return failure();
    expandYield(from->getTerminator(), granules, origin(op, Role::Compute));
  }
  size_t next = 0;
  for (auto [result, granule] : llvm::zip(op.getResults(), granules)) {
    Fragment &after = define(result);
    for (int64_t begin = 0; begin < cast<TileType>(result.getType()).layout().regs(); begin += granule)
      after.append(expanded.getResult(next++));
  }
  return success();
}

/// Every lane has the one element in one register.
void Expander::expandIndexOf(IndexOfOp op) {
  Value one = fragment(op.getTile()).range(builder, op.getLoc(), 0, 1, origin(op, Role::Compute));
  auto expanded =
      IndexOfOp::create(builder, op.getLoc(), op.getType(), one, op.getTagsAttr(), origin(op, Role::Compute));
  op.replaceAllUsesWith(expanded.getResult());
}

/// Yields each value in pieces of so many registers.
void Expander::expandYield(Operation *yield, ArrayRef<int64_t> granules, OriginAttr at) {
  SmallVector<Value> yielded;
  for (auto [value, granule] : llvm::zip(yield->getOperands(), granules))
    for (int64_t begin = 0; begin < fragment(value).registers(); begin += granule)
      yielded.push_back(fragment(value).range(builder, yield->getLoc(), begin, granule, at));
  YieldOp::create(builder, yield->getLoc(), yielded);
}

LogicalResult Expander::expandAccess(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ReadOp>([&](ReadOp read) { return expandRead(read); })
      .Case<WriteOp>([&](WriteOp write) { return expandWrite(write); })
      .Case<AtomicOp>([&](AtomicOp atomic) { return expandAtomic(atomic); })
      .Case<CopyOp>([&](CopyOp copy) { return expandCopy(copy), success(); })
      .Case<CopyOutOp>([&](CopyOutOp copy) { return expandCopyOut(copy), success(); });
}

LogicalResult Expander::expand(Operation *op) {
  if (auto index = dyn_cast<IndexOfOp>(op))
    return expandIndexOf(index), success();
  auto tileOp = dyn_cast<TileOpInterface>(op);
  if (!tileOp)
    return builder.clone(*op), success();
  switch (tileOp.getWork()) {
  case TileWork::constant:
  case TileWork::generate:
    return expandGenerated(op), success();
  case TileWork::pointwise:
  case TileWork::exchange:
    return expandElementwise(op), success();
  case TileWork::rename:
  case TileWork::move:
    if (auto cast = dyn_cast<BitcastOp>(op))
      return expandGroups(cast), success();
    // A permutation has one operand and the registers that it had.
    return isa<PermuteOp>(op) ? expandElementwise(op) : expandRemap(op), success();
  case TileWork::contract:
    return expandMma(cast<MmaOp>(op)), success();
  case TileWork::reduce:
    return expandReduce(cast<ReduceOp>(op)), success();
  case TileWork::scan:
    return expandScan(cast<ScanOp>(op)), success();
  case TileWork::access:
    return expandAccess(op);
  case TileWork::region:
    return isa<IterateOp>(op) ? expandLoop(cast<IterateOp>(op)) : expandConditional(cast<ConditionalOp>(op));
  }
  llvm_unreachable("no such work");
}

/// Allocations and index values keep their names, since accesses use them.
static bool isKept(Operation *op) {
  return isa<AllocateOp, WorkgroupIdOp>(op);
}

LogicalResult Expander::expandBlock(Block &block) {
  for (Operation &op : block) {
    if (isa<YieldOp>(op))
      continue;
    if (isKept(&op))
      continue;
    if (failed(expand(&op)))
      return failure();
  }
  return success();
}

LogicalResult Expander::run() {
  SmallVector<Operation *> old;
  for (Operation &op : kernel.block())
    if (!isKept(&op))
      old.push_back(&op);
  builder.setInsertionPointToEnd(&kernel.block());
  for (Operation *op : old)
    if (failed(expand(op)))
      return failure();
  for (Operation *op : llvm::reverse(old)) {
    op->dropAllUses();
    op->erase();
  }
  return success();
}

namespace {
struct ExpandTilesPass final : impl::ExpandTilesPassBase<ExpandTilesPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<Geometry> geometry = Geometry::of(getOperation());
    if (failed(geometry) || failed(requireForm(getOperation(), Form::Placed)) ||
        failed(Expander(getOperation(), *geometry, keepOutside).run()))
      return signalPassFailure();
    setForm(getOperation(), Form::Expanded);
  }
};
} // namespace
} // namespace soliton
