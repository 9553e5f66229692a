//===- Program.h - The recorded text of a kernel ------------------------------===//
//
// What tracing leaves behind: parameters, constraints, regions of ops, values, mistakes. Plain data without MLIR;
// Emit.h turns it into a `wave.kernel`. Only the frontend's own files (and the Python binding) include it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Kernel.h"

#include <map>
#include <variant>

namespace soliton::frontend {

using ValueId = uint32_t;
using RegionId = uint32_t;
inline constexpr ValueId kNoValue = ~0u;

using AnyConstraint =
    std::variant<WorkgroupConstraint, TilingConstraint, WaveConstraint, HardwareConstraint, GridConstraint,
                 ReorderingConstraint, SymbolicAlias, Assumption, IteratorBindings, DeviceConstraint, Simt>;

/// What a `Constraint` holds.
struct ConstraintData {
  AnyConstraint value;
};

/// Dimensions and element type of a tile.
struct TileInfo {
  std::vector<Expr> dims = {};
  ElementType type = {};
  bool operator==(const TileInfo &) const = default;
};

struct ValueInfo {
  TileInfo tile = {};
  /// The loop body (or the kernel's own) in which it may be used.
  RegionId region = 0;
  Place place = {};
  std::string name = {};
  bool poisoned = false;
  /// The op that made it; none for loop arguments and scalar parameters.
  std::optional<uint32_t> op = {};
  /// The parameter it is, for scalars.
  std::optional<uint32_t> parameter = {};
};

enum class OpKind : uint8_t {
  read,
  write,
  atomic,
  fill,
  splat,
  mma,
  unary,
  binary,
  compare,
  select,
  cast,
  bitcast,
  broadcast,
  permute,
  selfIndex,
  applyExpr,
  reduce,
  scan,
  shuffle,
  argReduce,
  sort,
  rearrange,
  concatenate,
  print,
  prefetch,
  indexOf,
  barrier,
  wait,
  hint,
  exit,
  iterate,
  conditional
};

/// One op. Which fields mean something depends on the kind.
struct OpRecord {
  OpKind kind = OpKind::read;
  Place place = {};
  std::vector<std::string> tags = {};
  std::vector<ValueId> operands = {};
  std::vector<ValueId> results = {};
  /// unary, binary, compare, reduce, scan, shuffle, argReduce, atomic: which, by the dialect's word.
  std::string_view function = {};
  /// read, write: the parameter.
  uint32_t memory = 0;
  /// read, write: operands from here on are dynamic values.
  size_t firstDynamic = 0;
  std::optional<Expr> elementsPerThread = {};
  /// read, write, prefetch: one index per dimension of the memory in `$index<k>`; unset means the dimensions in order.
  /// rearrange: one per dimension of the operand.
  std::optional<std::vector<Expr>> indices = {};
  /// read, write: one bound per dimension of the tile; an unset entry is not checked.
  std::optional<std::vector<std::optional<Expr>>> bounds = {};
  /// fill; shuffle: the offset.
  std::variant<int64_t, double> constant = int64_t(0);
  /// wait: what may be outstanding of the counter `function`. hint: what the dialect's op `function` says, in its
  /// order.
  std::vector<int64_t> numbers = {};
  /// mma.
  std::optional<std::string> mma = {};
  /// concatenate: the dimension of each piece. sort: the dimension of the results. prefetch: those of the tile.
  std::vector<Expr> dims = {};
  /// print.
  std::string label = {};
  /// reduce, scan, shuffle, argReduce, sort, concatenate, selfIndex, iterate: the dimension. applyExpr: the expression.
  /// conditional, exit: the condition. indexOf: the symbol that it becomes.
  Expr expr = {};
  /// iterate, where the author says it.
  std::optional<Expr> count = {};
  /// reduce, scan, argReduce: operands from the second on are where it starts.
  bool hasInit = false;
  /// iterate; conditional, where the condition holds.
  RegionId body = 0;
  /// conditional, where it does not hold.
  RegionId otherwise = 0;
};

struct Region {
  std::vector<uint32_t> ops = {};
  std::vector<ValueId> arguments = {};
  std::vector<ValueId> yields = {};
  RegionId parent = 0;
  /// The dimension of the loop; unset for the kernel's own region and the branches of conditionals.
  std::optional<Expr> axis = {};
  Place place = {};
  /// What `set_symbol` says here, the latest last: a symbol and the number that it stands for.
  std::vector<std::pair<Expr, Expr>> set = {};
  /// Where the loop begins along its dimension, if symbols that were set say so.
  std::optional<Expr> start = {};
  /// Split barriers that this block has signalled and not waited for, by their numbers.
  std::map<int, Place> signalled = {};
};

struct Parameter {
  std::string name = {};
  bool isScalar = false;
  /// No parameter: a tile in shared memory that the kernel itself makes.
  bool isAllocated = false;
  std::vector<Expr> shape = {};
  /// Empty: row by row without gaps.
  std::vector<Expr> strides = {};
  /// No launch that may still run writes it (MemoryOptions).
  bool isStable = false;
  /// A symbol: one of the two address spaces, or the author's.
  Expr space = {};
  ElementType type = {};
  Place place = {};
  /// scalars.
  ValueId value = kNoValue;
};

/// `K` of `K/32`; any other expression itself.
Expr baseOf(Expr dim);

/// Whose ops those of one lane are: an element of a tile of these dimensions.
struct LaneScope {
  std::vector<Expr> dims;
  /// `i1`: which of them are there; unset means all.
  lang::Value mask;
};

struct Program {
  std::string name;
  Place place;
  std::vector<AnyConstraint> constraints;
  std::vector<Parameter> parameters;
  std::vector<ValueInfo> values;
  std::vector<OpRecord> ops;
  std::vector<Region> regions = std::vector<Region>(1);
  /// Where numbers were taken from data, and where they are known.
  std::vector<std::pair<Place, RegionId>> numbers;
  RegionId current = 0;
  std::vector<Diagnostic> diagnostics;
  /// The lanes spoken of here, innermost last; none in a kernel of tiles.
  std::vector<LaneScope> lanes;
  /// Sizes that the program itself names: of vectors, and of arrays in shared memory.
  DimMap ownSizes;

  /// The first constraint of that kind for which `matches` holds, or null.
  template <typename C, typename Predicate>
  const C *find(Predicate matches) const {
    for (const AnyConstraint &constraint : constraints)
      if (const C *each = std::get_if<C>(&constraint); each && matches(*each))
        return each;
    return nullptr;
  }
  /// That of `K` for `K/32` too.
  template <typename C>
  const C *findFor(Expr dim) const {
    return find<C>([&](const C &each) { return each.dim == baseOf(dim); });
  }
  template <typename C>
  const C *findAny() const {
    return find<C>([](const C &) { return true; });
  }

  /// The number that `set_symbol` gave a symbol at the current place.
  std::optional<Expr> numberOf(Expr symbol) const;
  /// The expression with the numbers of all symbols that are set at the current place.
  Expr withNumbers(Expr expr) const;
  /// Whether the expression speaks of a symbol that is set at the current place.
  bool speaksOfSet(const std::optional<Expr> &expr) const;
  /// Whether it speaks of one that is set anywhere.
  bool speaksOfEverSet(const std::optional<Expr> &expr) const;
  /// Whether a tile has one place along the dimension here: that of its workgroup, or of the iteration of a loop
  /// around.
  bool hasOnePlace(Expr dim) const;
  /// Where the loop over `dim` around the current place begins, if symbols that were set say so.
  std::optional<Expr> startOf(Expr dim) const;
  /// How far `dim` reaches at the current place, counted from where its tiles are, if that is not to its end.
  std::optional<Expr> reachOf(Expr dim) const;
  /// How the symbols of such numbers begin; the number in `numbers` follows.
  std::string numberPrefix() const { return "$DATA_" + name + "_"; }
  /// Whether `inner` is `outer` or nested in it.
  bool encloses(RegionId outer, RegionId inner) const;
};

/// A dimension of a tile: `K`, or `K/32`, which has a place for 32 elements of it.
struct DimInfo {
  Expr base;
  int64_t divisor = 1;
  /// Of so many elements: 3 of `3*K/4`.
  int64_t places = 1;
  Expr expr() const { return base / divisor * places; }
};
/// Nothing for an expression that names no dimension.
std::optional<DimInfo> dimInfo(Expr dim);
/// `[M, N]`, for messages.
std::string toString(const std::vector<Expr> &dims);
/// `f16[M, K]`, for messages.
std::string toString(const TileInfo &tile);
std::string quoted(std::string_view text);
std::string quoted(Expr expr);

/// What a value or memory is called in messages: its name, or what made it.
std::string describe(const Program &program, ValueId id);

} // namespace soliton::frontend
