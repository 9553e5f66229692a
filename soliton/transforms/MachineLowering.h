//===- MachineLowering.h - State of the lowering to one lane's program --------------===//
//
// Shared by LowerToMachine.cpp (structure), LowerAccess.cpp and LowerAddress.cpp (memory) and LowerCompute.cpp
// (everything else). Each
// lowering sees one op; what it needs to know of others is in the types.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Access.h"
#include "soliton/analysis/Boxes.h"
#include "soliton/analysis/TileCluster.h"
#include "soliton/ir/Machine.h"
#include "soliton/layout/LaneFunction.h"
#include "soliton/transforms/CopyRing.h"
#include "soliton/transforms/ExprEmitter.h"
#include "soliton/transforms/ProductsUnderWay.h"
#include "soliton/transforms/Turns.h"

namespace soliton {

/// Which waves execute what is being lowered (LowerService.cpp): all, those that compute, or the one that serves them.
enum class Crew { All, Computing, Copying };

/// Waits for all boxes in front of the barrier at which copies of the next tile begin (LowerPersistent.cpp), so that no
/// group is under way there; for kernels whose workgroups walk several tiles.
void settleBoxes(wave::KernelOp kernel);

/// The copies in front of a kernel's first wait, with their commits; none where something else begins the program.
SmallVector<Operation *> firstCopies(Block &block);

class MachineLowering {
public:
  /// `wideOffsets`: launches take tensors of any size; nothing is left to a check of theirs.
  MachineLowering(wave::KernelOp kernel, const Geometry &geometry, bool wideOffsets)
      : kernel(kernel), geometry(geometry), wideOffsets(wideOffsets), builder(kernel.getContext()),
        exprs(builder, geometry.facts()), cluster(tileClusterOf(kernel)) {}

  /// Builds the machine kernel before the wave kernel.
  LogicalResult run();

private:
  machine::KernelOp makeKernel();
  /// The sizes that are known at launch, from the parameters of the machine kernel.
  void bindSizes(Block &body);
  /// The kernel's program, in the role that this is for.
  LogicalResult lowerProgram();
  void bindIds();
  void bindWorkgroupIds();
  /// The numbers of a tile along each dimension of the grid, from the one that a linear launch counts.
  void bindTile(Value number);
  LogicalResult lowerBlock(Block &block);
  LogicalResult lower(Operation *op);
  LogicalResult lowerLoop(wave::IterateOp loop);
  LogicalResult lowerWhile(wave::IterateOp loop);
  LogicalResult lowerRepeated(wave::IterateOp loop, sym::Expr count, mlir::scf::WhileOp lowered);
  void lowerIndexOf(wave::IndexOfOp op);
  LogicalResult lowerConditional(wave::ConditionalOp op);
  /// Lowers the block of a loop or branch into the one of `around`, which yields what it yields.
  LogicalResult lowerBody(Operation *around, Block &from, Block &to);
  LogicalResult lowerBarrier(wave::BarrierOp op);
  void barrierOfTeams(wave::BarrierOp op);
  void lowerTime(Operation *op);

  // LowerAccess.cpp
  LogicalResult lowerRead(wave::ReadOp read);
  LogicalResult lowerMatrixLoad(wave::ReadOp read, const MatrixAccess &matrix);
  LogicalResult lowerWrite(wave::WriteOp write);
  LogicalResult lowerCopy(wave::CopyOp copy);
  Value fromStored(Value stored, mlir::VectorType type, Location loc);
  Value toStored(Value value, Location loc);
  struct Address {
    Value buffer;
    Value lane;
    Value uniform;
    Value mask;
    int64_t immediate = 0;
    int64_t alignment = 1;
    /// Of an element alone that shares its byte with another: whether it is the second.
    Value isSecond;
    /// The workgroup of the cluster in whose shared block it lies, if not in this one's.
    mlir::IntegerAttr workgroup;
  };
  FailureOr<Address> address(const Access &access, Operation *op, int64_t elements);
  sym::Substitution bindDynamic(const Access &access, Operation *op, sym::Facts &facts);

  /// Stored as the pieces that the target moves at once.
  Value loadPieces(const Address &at, mlir::VectorType stored, Location loc);
  void storePieces(const Address &at, Value stored, Location loc);
  int64_t pieceBytes(const Address &at, int64_t bytes) const;

  // LowerPrefetch.cpp
  LogicalResult lowerPrefetch(wave::PrefetchOp op);

  // LowerAtomic.cpp
  LogicalResult lowerAtomic(wave::AtomicOp atomic);
  Value atomicAt(machine::AtomicKind kind, Value value, const Address &at, Value mask, Location loc,
                 Value expected = {});
  /// The least or largest of floats, by the order of their bits.
  Value atomicByBits(wave::AtomicKind kind, Value value, const Address &at, Location loc);

  // LowerAddress.cpp
  /// An offset by who knows its addends: lanes, waves and iterations, whole workgroups.
  struct OffsetParts {
    sym::AffineTerms lane, uniform, base;
  };
  /// The value as a register of its own.
  Value pinned(Value value, Location loc);
  Address sharedAddress(Operation *op, Value memory, sym::Expr offset);
  Address globalAddress(Operation *op, sym::Expr offset, const sym::Facts &facts);
  OffsetParts partsOf(sym::Expr offset) const;
  OffsetParts withSharedBase(OffsetParts parts) const;
  std::optional<Address> nearAddress(Operation *op, OffsetParts parts, const sym::Facts &facts, bool mayCheck);
  std::optional<Address> movedAddress(Operation *op, OffsetParts parts, const sym::Facts &facts, bool mayCheck);
  std::optional<Address> guardedAddress(Operation *op, sym::Expr offset);
  Address farAddress(Operation *op, OffsetParts parts, bool isPositive);
  bool fit(ArrayRef<sym::AffineTerms> parts, const sym::Facts &facts, bool mayCheck);
  bool fits(sym::Expr largest, const sym::Facts &facts, bool mayCheck);
  /// The memory from `start` on: once for the kernel, or at this place.
  Value bufferAt(Operation *op, sym::Expr start);
  Value movedBuffer(OpBuilder &at, Value memory, Location loc, sym::Expr start);
  /// The memory as it is, at this place.
  Value wholeBuffer(Value memory, Location loc) { return movedBuffer(builder, memory, loc, 0); }

  // LowerCompute.cpp
  LogicalResult lowerUnary(wave::UnaryOp op);
  LogicalResult lowerBinary(wave::BinaryOp op);
  void lowerBitcast(wave::BitcastOp op);
  LogicalResult lowerCast(wave::CastOp op);
  LogicalResult lowerApplyExpr(wave::ApplyExprOp op);
  void lowerCompare(wave::CompareOp op);
  void lowerFill(wave::FillOp op);
  void lowerSelfIndex(wave::SelfIndexOp op);
  void lowerJoin(wave::JoinOp op);
  void lowerMma(wave::MmaOp op);
  std::pair<Value, int64_t> scaleByte(Value scale, Location loc);
  Value combine(wave::ReduceKind kind, Value a, Value b, Location loc);

  // LowerInPlace.cpp
  LogicalResult lowerInPlace(wave::MmaOp op);
  Value tileInPlace(wave::ReadOp factor, wave::MmaOp product, const MmaKind &kind);
  /// Whether the op can stand among products that are under way.
  bool goesOnWithProducts(Operation *op) const;
  bool mayEnterWithProducts(wave::IterateOp loop) const;
  /// Whether groups from before the loop may be under way in it.
  bool enterWithProducts(wave::IterateOp loop);
  void leaveWithProducts(wave::IterateOp loop, bool earlier);
  void commitProducts(Location loc);
  /// Waits until only so many groups of them are left.
  void waitForProducts(Location loc, int64_t count);
  void gatherFactors(Block &block);
  void finishProducts();

  // LowerTurns.cpp
  LogicalResult planTurns();
  bool takesTurns() const;
  void meetForTurn(sym::Expr team, bool arrives, Location loc);
  void beginTurn(Location loc);
  void endTurn(Location loc);
  void closeTurns(int64_t team, bool arrives);

  // LowerBoxes.cpp
  bool isOfBoxes(Operation *op) const;
  /// Whether groups of boxes are committed, or buffers released, inside of the loop or branch.
  bool countsBoxes(Operation *around) const;
  Value &committed() { return counted[0]; }
  Value &released() { return counted[1]; }
  /// By the copying wave of a kernel with releases: those that it has awaited.
  Value &awaited() { return counted[2]; }
  /// Takes them from the last of these values.
  void takeCounted(ValueRange values) { counted = llvm::to_vector<3>(values.take_back(counted.size())); }
  Value number(int64_t value, Location loc);
  void makeBarriers();
  void meetAtBarriers();
  void beginBoxes();
  Value barrierOf(Value group, Location loc);
  /// Whether this is the first lane of the first wave.
  Value firstLane();
  Value releaseBarrierOf(Value release, Location loc);
  void lowerRelease(wave::ReleaseOp op);
  void lowerAwait(wave::AwaitOp op);
  void countAwait(wave::AwaitOp op);
  Value mapOf(Value tensor, wave::MemoryType type, const Box &box, Location loc);
  void lowerBox(wave::CopyOp copy, Value barrier);
  void lowerBoxes(Operation *first);
  Value usedBy(ArrayRef<wave::CopyOp> copies, Location loc);
  void lowerGroup(ArrayRef<wave::CopyOp> copies, wave::CommitOp commit, Value barrier);
  void lowerBoxWait(wave::WaitOp wait);
  void waitForGroup(Value group, Location loc);

  // LowerCopiesOut.cpp
  void lowerCopiesOut(wave::CopyOutOp first);
  void lowerCopyOut(wave::CopyOutOp copy);

  // LowerPersistent.cpp
  LogicalResult lowerTiles(int64_t workgroups);
  /// Copies that are issued for the next tile behind a barrier; without one they stand where they are.
  struct FirstCopies {
    SmallVector<Operation *> copies;
    Operation *barrier = nullptr;
  };
  FailureOr<Value> lowerTile(const FirstCopies &early, Value tile, Value tiles, llvm::function_ref<Value()> nextTile);
  LogicalResult lowerTilesInOrder(const FirstCopies &early, Value first, Value tiles, int64_t workgroups);
  LogicalResult lowerTilesByTickets(const FirstCopies &early, Value first, Value tiles, int64_t workgroups);
  void bindIdsAnew();
  Value drawTicket();
  void publishTicket(Value drawn, Value turn);
  Value readTicket(Value turn);
  Address ticketSlot(Value turn);
  void endTile();
  void fillRing(ArrayRef<Operation *> copies, Value tile, Value condition);
  void commitNothing(ArrayRef<Operation *> copies, Value condition);
  void beginNextTile(const FirstCopies &early, Value next, Value tiles);
  Value beginDrawnTile(const FirstCopies &early, Value drawn, Value turn, Value tiles);
  void finishTiles();

  // LowerService.cpp
  MachineLowering(const MachineLowering &whole, Crew crew, Block &at);
  LogicalResult lowerRoles();
  LogicalResult checkService();
  LogicalResult lowerAs(Crew part, Block &block);
  bool isForCrew(Operation *op) const;
  void countOnly(Operation *op);
  /// A barrier of all waves that have work.
  void barrierOfAll(OpBuilder &at, Location loc);
  /// Of those of all workgroups that share tiles with this one.
  void barrierOfCluster(OpBuilder &at, Location loc);
  /// Whether other workgroups of the cluster must have come to the barrier too.
  bool isForCluster(wave::BarrierOp op) const;

  // LowerMovement.cpp
  LogicalResult lowerRemap(Operation *op);
  void lowerReduce(wave::ReduceOp op);
  Value picked(Value vector, ArrayRef<int64_t> positions, Location loc);
  /// One register of a tile, as a vector of one element.
  Value registerOf(Value tile, int64_t index, Location loc);
  Value laneFunction(const LaneFunction &function, Location loc);
  /// `count` registers from `first` on; of a constant, a constant.
  Value slice(Value whole, int64_t first, int64_t count, Location loc);

  // LowerScan.cpp
  void lowerPrint(wave::PrintOp op);
  void lowerScan(wave::ScanOp op);
  void lowerShuffle(wave::ShuffleOp op);
  Value wavesBefore(wave::ScanOp op);

  mlir::VectorType vectorType(wave::TileType type);
  Value vector(Value tile) const { return vectors.find(tile)->second; }
  void define(Value tile, Value vector) { vectors[tile] = vector; }

  wave::KernelOp kernel;
  const Geometry &geometry;
  bool wideOffsets;
  Crew crew = Crew::All;
  OpBuilder builder;
  ExprEmitter exprs;
  /// Workgroups that share tiles.
  std::optional<TileCluster> cluster;
  llvm::DenseMap<Value, Value> vectors;
  /// Parameters of the wave kernel to those of the machine kernel.
  llvm::DenseMap<Value, Value> parameters;
  llvm::DenseMap<std::pair<Value, const void *>, Value> buffers;
  llvm::DenseMap<Value, Value> pins;
  /// Whether a loop goes on after the iteration that is being lowered.
  llvm::DenseMap<Operation *, Value> conditions;
  ProductsUnderWay products;
  /// Of a kernel whose teams issue products in turn, and the ops in front of which and behind which that is.
  Turns turns;
  llvm::DenseSet<Operation *> turnBegins, turnEnds;
  /// Whether groups of an earlier iteration may be under way, and commits without a product since all were waited for.
  bool earlierProducts = false;
  int64_t emptyCommits = 0;
  /// Barriers in memory for groups of copied boxes, and where they lie.
  CopyRing ring;
  int64_t ringOffset = 0;
  Value isFirstLane;
  /// Groups of boxes committed so far and, in a kernel with releases, those, and those awaited; loops and branches
  /// carry them on.
  SmallVector<Value, 3> counted;
  /// The bytes of the open group.
  int64_t openBytes = 0;
  /// Tensor maps, and the parameters that they are.
  SmallVector<Attribute> maps;
  SmallVector<Value> mapValues;
  /// Ops that were lowered together with one before them.
  llvm::SmallPtrSet<Operation *, 8> done;
  /// Symbols made for values that expressions are about.
  int64_t freshSymbols = 0;
  /// Largest offsets inside tiles; launches check that they have 31 bits.
  SmallVector<sym::Expr> limits;
  /// The outermost loop or branch that is being lowered; what is the same for the whole kernel goes before it.
  Operation *outermost = nullptr;
};

} // namespace soliton
