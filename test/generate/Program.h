//===- Program.h - A generated kernel, before it is text ----------------------------------===//
//
// The whole of a kernel as plain data: dimensions, constraints, memories, and a tree of ops with explicit types. It is
// what the generator makes, what the shrinker cuts, and what the evaluator runs; only Print.cpp knows how the dialect
// spells it.
//
//   read a : [M, N] f32          Op{.kind = OpKind::read, .results = {0}, .memory = 0}
//   write it to b                Op{.kind = OpKind::write, .operands = {0}, .memory = 1}
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Formula.h"
#include "test/generate/Number.h"

#include <optional>
#include <set>

namespace soliton::generate {

struct Dim {
  std::string name;
  int64_t size = 1;
  /// Known at launch only.
  bool dynamic = false;
  /// Made by one phrase for itself: lanes, vectors, arrays, pieces. Others read no tiles of it.
  bool own = false;
  /// No dimension at all, but how far elements of memories lie apart.
  bool isStride = false;
};

/// The dimensions of lanes: a workgroup's waves, and the lanes of each.
inline constexpr const char *kWaves = "WAVES", *kLanes = "LANES";

//===-- Constraints ---------------------------------------------------------------------------===//

struct WorkgroupConstraint {
  std::string dim;
  int64_t tile = 1;
  int workgroupDim = 0;
  bool primary = true;
  /// In `$WG`: where a workgroup's part starts.
  std::optional<Formula> apply = {};
  std::optional<Formula> iters = {};
};
struct TilingConstraint {
  std::string dim;
  int64_t tile = 1;
  std::optional<Formula> start = {}, iters = {};
};
struct WaveConstraint {
  std::string dim;
  int64_t tile = 1;
};
struct Reordering {
  Formula equation;
  int workgroupDim = 0;
};
struct Alias {
  std::string source, target;
  /// In `$x`: the tile of `source` from that of `target`.
  Formula map;
};

//===-- Memories and values -------------------------------------------------------------------===//

/// What an argument holds when the kernel starts.
enum class Data : uint8_t {
  output,      ///< a pattern that nothing computes
  integers,    ///< from `low` to `high`
  reals,       ///< any numbers from -1 to 1
  permutation, ///< along the last dimension, each number once
};

struct Memory {
  std::string name;
  std::vector<Formula> shape;
  Element type = Element::f32;
  /// How many elements lie from one index to the next along each dimension; none: as in rows without gaps.
  std::vector<Formula> strides = {};
  /// A parameter in shared address space is read through shared memory.
  bool shared = false;
  /// Otherwise `wave.allocate` makes it.
  bool isParameter = true;
  Data data = Data::integers;
  int64_t low = -3, high = 3;
  /// Results that are no exact function of the inputs may be off by this many units in the last place.
  double ulps = 0;
  /// The same, absolutely: a sum in another order differs by its roundings.
  double slack = 0;
};

struct Scalar {
  std::string name;
  Element type = Element::f32;
  int64_t value = 1;
};

struct ValueType {
  std::vector<std::string> dims;
  Element element = Element::f32;
  bool operator==(const ValueType &) const = default;
};

//===-- Ops -----------------------------------------------------------------------------------===//

enum class OpKind : uint8_t {
  read,
  write,
  atomic,
  allocate,
  fill,
  splat,
  unary,
  binary,
  compare,
  select,
  cast,
  broadcast,
  permute,
  selfIndex,
  applyExpr,
  reduce,
  scan,
  argReduce,
  sort,
  rearrange,
  concatenate,
  bitcast,
  shuffle,
  mma,
  iterate,
  conditional,
  barrier,
  wait,
  indexOf,
  exit,
  prefetch,
  print,
  /// What only changes timing: `wave.priority`, `wave.sched_barrier`, `wave.sched_group`.
  hint,
};

struct Op;

struct Block {
  std::vector<int> arguments;
  std::vector<Op> ops;
  /// What the block hands on.
  std::vector<int> yields;
};

struct Op {
  OpKind kind = OpKind::fill;
  /// Values: of a read its dynamic values, of a write or an atomic the value and then those, of a loop its inits.
  std::vector<int> operands = {};
  std::vector<int> results = {};
  /// Of read, write, atomic, allocate: the memory; of splat: the scalar.
  int memory = -1;
  /// The function, the dimension, the axis, the counter, the matrix instruction, the label; of a number from data its
  /// symbol, of a hint all of it.
  std::string word = {};
  /// Of a reduction, scan, sort, shuffle or concatenation: its dimension.
  std::string dim = {};
  /// Of a sort: what the results have in its place, if not the same. Of a concatenation: the dimensions of the pieces.
  std::string into = {};
  std::vector<std::string> along = {};
  /// In `$index<k>` and `$dynamic_val<k>`, one per dimension of the memory; of a rearrangement, of the operand.
  std::optional<std::vector<Formula>> indices = {};
  /// One per dimension of the tile; nothing means `unbounded`.
  std::optional<std::vector<std::optional<Formula>>> bounds = {};
  std::optional<int64_t> elementsPerThread = {};
  /// The condition, what apply_expr computes, or how often a loop runs where its constraint does not say it.
  std::optional<Formula> formula = {};
  double number = 0;
  std::vector<Block> blocks = {};
  /// Choices that led to it.
  std::set<std::string> features = {};
};

//===-- The kernel ----------------------------------------------------------------------------===//

struct Program {
  uint64_t seed = 0;
  std::vector<Dim> dims = {};
  std::vector<WorkgroupConstraint> workgroups = {};
  std::vector<TilingConstraint> tilings = {};
  std::vector<WaveConstraint> waves = {};
  std::vector<Reordering> reorderings = {};
  std::vector<Alias> aliases = {};
  std::optional<int64_t> grid = {};
  std::vector<int64_t> wavesPerBlock = {};
  /// Lanes of a workgroup, if the kernel speaks of them: elements of `[WAVES, LANES]`, of which a target says how many.
  std::optional<int64_t> threads = {};
  std::vector<Formula> assumptions = {};

  std::vector<Memory> memories = {};
  std::vector<Scalar> scalars = {};
  std::vector<ValueType> values = {};
  Block body = {};

  std::string schedule = "none";
  bool directCopies = false;
  /// Chips that have all of its instructions.
  std::vector<std::string> targets = {};
  /// What the generator chose, by name.
  std::set<std::string> features = {};

  const Dim *findDim(const std::string &name) const;
  int addValue(ValueType type);
};

/// The value of a formula of sizes.
int64_t sizeOf(const Program &program, const Formula &formula);
std::vector<int64_t> extentsOf(const Program &program, const Memory &memory);
/// Where the elements of a parameter with strides lie, by their row-major numbers.
std::vector<int64_t> placesOf(const Program &program, const Memory &memory);
/// What a dimension of a tile counts: `K/32` groups of 32 elements of `K`, any other one its own.
struct Groups {
  std::string base;
  int64_t size = 1;
};
Groups groupsOf(const std::string &dim);
/// Elements of a dimension in a tile.
int64_t tileOf(const Program &program, const std::string &dim);

/// The program as a target has it: its waves have as many lanes as that target's.
Program forTarget(const Program &program, const std::string &target);

/// What is wrong with a program: a value used before it is made, types that do not fit. Nothing if it is well formed.
std::optional<std::string> findMistake(const Program &program);

/// The text of the kernel in form `Traced`.
std::string print(const Program &program, const std::string &target);

/// Whether the op touches a memory at places that its indices say.
inline bool isAccess(const Op &op) {
  return op.kind == OpKind::read || op.kind == OpKind::write || op.kind == OpKind::atomic;
}

/// Whether it changes one.
inline bool isStore(const Op &op) {
  return op.kind == OpKind::write || op.kind == OpKind::atomic;
}

/// Calls `visit` for every op, outer ones first.
template <typename Visit>
void forEachOp(const Block &block, Visit visit) {
  for (const Op &op : block.ops) {
    visit(op);
    for (const Block &inner : op.blocks)
      forEachOp(inner, visit);
  }
}

} // namespace soliton::generate
