//===- LayoutProblem.h - What there is to choose about layouts ----------------------===//
//
// Values that compute on each other element by element have one layout; they form a *class*. What a class may look like
// comes from the ops around it, its *candidates*; what each costs comes from the target (LayoutCosts.h):
//
//   mma          *ways* to issue it: operands exchanged or not, orders of the contraction (layout/Contraction.h). A way
//                says how both operands and the accumulator lie; a class that lies otherwise is converted
//   read, write  consecutive lanes on consecutive addresses, of a wave's part of the tile or of all waves'; where that
//                is cheaper, an access has this layout and the class another one (a staged access)
//   reduction,   the narrow tile lies as the wide one without its dimension, or is converted
//   broadcast
//   bitcast      of another width: who holds a group has its elements side by side
//
// so in `s = mma(q, k); p = exp2(s - max(s)); o = mma(p, v)` one class has s and p, and it is cheapest where both
// multiplications are transposed: the accumulator of the first is then an operand of the second as it stands.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/LayoutCosts.h"
#include "soliton/layout/Contraction.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace soliton {

/// One way to issue an `mma`; layouts of the operands as the author named them.
struct MmaWay {
  /// The instruction's operands are exchanged: it computes the transposed product.
  bool exchanged = false;
  ContractionOrder order;
  Layout lhs, rhs, acc;
  /// Of a scaled product.
  Layout lhsScale, rhsScale;

  /// As the op numbers them: both factors, the accumulator, their scales.
  const Layout &operand(int which) const {
    const Layout *all[] = {&lhs, &rhs, &acc, &lhsScale, &rhsScale};
    return *all[which];
  }
  /// `exchanged, places 4@1 4@4, steps 4@16`.
  std::string str() const { return (exchanged ? "exchanged, " : "straight, ") + order.str(); }
};

class LayoutProblem {
public:
  struct ValueClass {
    Value first;
    /// Preferred ones first, in an order that does not depend on that of the ops.
    std::vector<Layout> candidates;
    size_t node = 0;
  };
  struct Multiplication {
    wave::MmaOp op;
    std::vector<MmaWay> ways;
    size_t node = 0;
  };

  /// Broadcasts of element-wise ops are explicit. Reports tiles whose extents are not known.
  static FailureOr<LayoutProblem> of(wave::KernelOp kernel, const Geometry &geometry);

  const std::vector<ValueClass> &classes() const { return all; }
  const std::vector<Multiplication> &multiplications() const { return mmas; }
  /// Every tile of the kernel.
  const SmallVector<Value> &values() const { return tiles; }
  const ValueClass &classOf(Value value) const { return all[classNumbers.lookup(value)]; }

  /// Nodes are the classes and the multiplications. Without `stage` no access is staged.
  ChoiceProblem choices(bool stage);
  /// The layout that the access has where its class has `layout`: another one if it is staged.
  Layout accessLayout(Operation *access, const Layout &layout, bool stage) const;
  /// Bytes of shared memory that staged accesses of a choice take, and those of parameters in the shared space.
  int64_t stagedBytes(const Choice &choice) const;
  int64_t promotedBytes() const;

private:
  LayoutProblem(wave::KernelOp kernel, const Geometry &geometry)
      : kernel(kernel), geometry(geometry), costs(geometry) {}

  void joinClasses();
  LogicalResult collectCandidates();
  LogicalResult collectAccesses();
  void collectWays();
  void addHeldOrders(Multiplication &mma);
  void addParts();
  bool addGroups();
  LogicalResult addDefaults();
  void addCandidate(Value value, Layout layout);
  std::vector<ChoiceCost> ownCosts(const ValueClass &valueClass, bool stage) const;
  void addRelations(ChoiceProblem &problem) const;
  void addGroupRelations(ChoiceProblem &problem) const;
  ChoiceCost priceOf(wave::TileOpInterface op, const Layout &layout, bool stage) const;
  /// An access with the conversion between its own layout and its class's.
  ChoiceCost accessCost(Operation *access, const Layout &own, const Layout &layout) const;

  wave::KernelOp kernel;
  const Geometry &geometry;
  LayoutCosts costs;
  SmallVector<Value> tiles;
  std::vector<ValueClass> all;
  llvm::DenseMap<Value, size_t> classNumbers;
  std::vector<Multiplication> mmas;
  /// Ops by the class whose layout they pay for.
  std::vector<SmallVector<wave::TileOpInterface>> users;
  /// Narrow value, wide value, the op between them.
  struct Part {
    Value narrow, wide;
    Operation *op;
  };
  SmallVector<Part> parts;
  /// Tiles of groups and of their elements, the op between them.
  struct Grouping {
    wave::LayoutRelations::Groups tiles;
    Operation *op;
  };
  SmallVector<Grouping> groupings;
  /// Of reads and writes of global memory: consecutive lanes on consecutive addresses, within each wave's part of the
  /// tile, and where it differs, over the whole tile, as a staged access may.
  llvm::DenseMap<Operation *, SmallVector<Layout, 2>> coalescedLayouts;
};

/// How the groups of a bitcast lie so that their elements lie as `elements` do; where no lane has whole ones, as
/// `groups` do.
Layout bridge(const Layout &groups, const Layout &elements, const ScaledDim &dim);

/// The layout of `wide` without the dimensions that `narrow` lacks, in groups where it has those.
Layout restricted(Layout wide, wave::TileType narrow);

/// Whether the product's scales multiply sums over blocks, for want of an instruction that takes them.
bool scalesBehind(wave::MmaOp mma, const Geometry &geometry);

/// All ways to issue the mma that do not depend on how its operands lie.
std::vector<MmaWay> plainWays(wave::MmaOp mma, const Geometry &geometry);
/// The ways in which operand `which` is taken as it is held.
std::vector<MmaWay> waysAsHeld(wave::MmaOp mma, int which, const Layout &held, const Geometry &geometry);

} // namespace soliton
