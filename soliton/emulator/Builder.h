//===- Builder.h - Makes emulator programs --------------------------------===//
//
// Appends instructions, allocates slots, infers types and uniformity (a pure result is uniform where all its operands
// are). Misuse throws ProgramError. Example, one wave that doubles 64 floats:
//
//   Builder b({.name = "double", .waveSize = 64, .waves = 1});
//   uint32_t in = b.buffer("in"), out = b.buffer("out");
//   Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4));
//   Value x = b.load(DType::f32, 1, {.region = in, .lane = at});
//   b.store(b.binary(BinaryOp::AddF, x, x), {.region = out, .lane = at});
//   Program p = b.finish();
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Program.h"

#include <functional>
#include <map>
#include <optional>

namespace soliton::emu {

/// A slot as an operand; the default is "absent".
struct Value {
  Slot slot = kNoSlot;
  explicit operator bool() const { return slot != kNoSlot; }
  bool operator==(const Value &) const = default;
};

/// An address in terms of values; see emu::Address.
struct At {
  uint32_t region = 0;
  Value lane = {};
  Value uniform = {};
  int64_t immediate = 0;
  Value base = {};
  Value limit = {};
};

/// Optional parts of a memory access.
struct Masked {
  /// i1; lanes where it is 0 do nothing.
  Value mask = {};
  /// What masked lanes of a load receive; absent = zero bits.
  Value fill = {};
  /// Beyond `limit`: fill and drop silently instead of a finding.
  bool clamp = false;
  /// Of loads and stores; an atomic that says `Plain` is relaxed.
  Order order = Order::Plain;
  Scope scope = Scope::Device;
  /// Of loads of shared memory: the workgroup of the cluster whose block it is, if not this one's.
  std::optional<uint32_t> workgroup = {};
};

/// A `for` under construction.
struct Loop {
  Value induction;
  /// Loop-carried values: inside the body the current ones, after endFor the final ones.
  std::vector<Value> carried;
  size_t begin = 0;
};

struct BuilderOptions {
  std::string name = {};
  uint32_t waveSize = 64;
  uint32_t waves = 1;
  uint32_t sharedBytes = 0;
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  bool dependent = false;
  Rules rules = {};
  Occupancy occupancy = {};
};

/// A fragment of `registers` elements a lane from a function (register, lane) -> element number or kNoElement.
Fragment fragment(uint32_t registers, uint32_t waveSize, const std::function<uint32_t(uint32_t, uint32_t)> &element);

/// ldmatrix/stmatrix of 1, 2 or 4 8x8 matrices of 16-bit elements, 32 lanes.
MatrixKind matrixRows8x8(uint32_t matrices, bool transposed);

/// Transposing read by groups of 16 lanes, 8 bytes a lane, elements of 4, 8 or 16 bits.
MatrixKind transposedRead(uint32_t elementBits, uint32_t waveSize);

class Builder {
public:
  explicit Builder(BuilderOptions options);

  /// Instructions that follow come from `place` and are `what`.
  void at(const Place &place, std::string what = {});

  // --- Arguments and tables; each returns the index that instructions name.

  /// The next global buffer argument, as a region; `stable`: no launch writes it.
  uint32_t buffer(std::string name, bool stable = false);
  /// A range of the shared block, as a region.
  uint32_t shared(std::string name, uint32_t offset, uint32_t bytes);
  /// The next scalar argument.
  Value scalar(DType type);
  uint32_t mmaKind(MmaKind kind);
  uint32_t matrixKind(MatrixKind kind);
  uint32_t tensorMap(TensorMap map);

  // --- Values.

  const SlotInfo &info(Value value) const;
  DType type(Value value) const { return info(value).type; }
  uint32_t count(Value value) const { return info(value).count; }
  bool isUniform(Value value) const { return info(value).uniform; }

  /// All elements the same: an integer, or a float rounded to `type`.
  Value constant(DType type, int64_t value, uint32_t count = 1);
  Value constantFloat(DType type, double value, uint32_t count = 1);
  /// One element for each entry, by its bits.
  Value constantBits(DType type, const std::vector<uint64_t> &bits);
  Value id(IdKind kind);
  Value binary(BinaryOp op, Value a, Value b);
  Value add(Value a, Value b) { return binary(BinaryOp::AddI, a, b); }
  Value mul(Value a, Value b) { return binary(BinaryOp::MulI, a, b); }
  Value unary(UnaryOp op, Value a);
  Value fma(Value a, Value b, Value c);
  Value cmp(CmpOp op, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value convert(ConvertOp op, DType to, Value a, Rounding rounding = Rounding::NearestEven, bool saturate = false);
  Value bitcast(DType to, Value a);
  Value splat(Value a, uint32_t count);
  Value slice(Value a, uint32_t first, uint32_t count);
  Value extract(Value a, uint32_t position) { return slice(a, position, 1); }
  Value insert(Value part, Value into, uint32_t position);
  Value concat(const std::vector<Value> &parts);
  /// Elements of a ++ b by position; `b` may be absent.
  Value permute(Value a, Value b, const std::vector<uint32_t> &positions);

  /// A slot that `assign` may write several times: results of `if`, loop-carried values.
  Value variable(DType type, uint32_t count = 1, bool uniform = false);
  /// In the active lanes.
  void assign(Value variable, Value value);
  /// `value` as a uniform one: itself, or that of the first lane, and a finding where active lanes differ.
  Value asUniform(Value value);

  // --- Control flow. Bounds and conditions of jumps are made uniform; lane conditions mask.

  /// for induction = lower; induction < upper; induction += step (> 0). `uniform[i]`: carried value i is uniform.
  Loop beginFor(Value lower, Value upper, Value step, const std::vector<Value> &inits = {},
                const std::vector<bool> &uniform = {});
  /// Ends the body with the next iteration's carried values.
  void endFor(Loop &loop, const std::vector<Value> &yields = {});
  /// One condition for the whole wave (jumps) or per lane (masks), by the uniformity of `condition`.
  void beginIf(Value condition);
  void beginElse();
  void endIf();
  /// An endless loop that `breakUnless` leaves.
  void beginLoop();
  void breakUnless(Value condition);
  void endLoop();
  void end();

  // --- Memory.

  Value load(DType type, uint32_t count, const At &at, const Masked &masked = {});
  void store(Value value, const At &at, const Masked &masked = {});
  /// Returns the old value where `wantOld`.
  Value atomic(AtomicOp op, Value value, const At &at, const Masked &masked = {}, bool wantOld = false);
  /// A line for each active lane: `text`, in which a `?` stands for each of `places`, one i32 each, and the element.
  void print(std::string text, Value value, const std::vector<Value> &places);
  /// `value` where memory holds `expected`; gives what it held.
  Value compareSwap(Value value, Value expected, const At &at, const Masked &masked = {});
  /// `bytes` a lane. laneOrder: lane l goes to the uniform destination + l * bytes, otherwise each lane says where.
  void copyAsync(uint32_t bytes, const At &from, const At &to, CounterKind counter, bool laneOrder, Value mask = {},
                 bool zeroFill = false, bool clamp = false);
  /// The box at `coordinates` (innermost first) into shared memory; counts its bytes on the mbarrier.
  /// `multicast`: a bit for each workgroup of the cluster that gets it, instead of this one. `offsets`: how far what is
  /// copied lies from each pixel, along the dimensions of the map that have corners.
  void copyTileLoad(uint32_t map, const std::vector<Value> &coordinates, const At &tile, const At &mbarrier,
                    Value multicast = {}, const std::vector<Value> &offsets = {});
  void copyTileStore(uint32_t map, const std::vector<Value> &coordinates, const At &tile, bool add = false);
  Value loadMatrix(uint32_t kind, DType type, const At &rows);
  void storeMatrix(uint32_t kind, Value value, const At &rows);

  // --- Matrices.

  Value mma(uint32_t kind, Value a, Value b, Value acc, Value scaleA = {}, Value scaleB = {});
  /// An operand tile of mmaAsync.
  uint32_t sharedTile(const At &start, uint32_t leadingBytes, uint32_t strideBytes, uint32_t swizzle, bool kMajor);
  /// `a` in registers, or absent with `tileA`. `useAcc` (uniform i1) absent: start from acc.
  Value mmaAsync(uint32_t kind, Value a, std::optional<uint32_t> tileA, uint32_t tileB, Value acc, Value useAcc = {});

  // --- Time.

  void commit(CounterKind counter);
  /// Returns `values`, ready.
  std::vector<Value> wait(CounterKind counter, uint32_t pending, const std::vector<Value> &values = {});
  /// Until tile stores have read shared memory.
  void waitRead(uint32_t pending);
  void mbarrierInit(const At &at, uint32_t arrivals);
  /// `rank`: the workgroup of the cluster whose mbarrier it is, if not this one.
  void mbarrierArrive(const At &at, uint32_t arrivals = 1, bool perLane = false, Value rank = {});
  void mbarrierExpect(const At &at, uint32_t bytes, bool arrive = true, bool perLane = false, Value rank = {});
  void mbarrierExpect(const At &at, Value bytes, bool arrive = true);
  void mbarrierWait(const At &at, Value parity);
  void barrier(uint32_t id = 0, uint32_t waves = 0) { barrier(id, waves, Value{}, /*arrives=*/false); }
  /// Of the number `id`, plus a uniform value if there is one; a wave that only arrives goes on.
  void barrier(uint32_t id, uint32_t waves, Value plus, bool arrives);
  void clusterArrive() { emit(Op::ClusterArrive); }
  void clusterWait() { emit(Op::ClusterWait); }
  void gridWait() { emit(Op::GridWait); }
  /// Order and scope are those of memory fences.
  void fence(FenceOp op, Order order = Order::AcquireRelease, Scope scope = Scope::Device);
  void hint(Hint hint);

  // --- Lanes.

  Value shuffle(ShuffleOp op, Value value, uint32_t lane, uint32_t width);
  Value shuffle(ShuffleOp op, Value value, Value lane, uint32_t width);
  /// i32 for waves of 32, i64 for waves of 64.
  Value ballot(Value condition);
  /// Value of the first active lane.
  Value firstLane(Value value);
  std::pair<Value, Value> swap(Value a, Value b, uint32_t lanes);

  /// Ends, validates and returns the program.
  Program finish();

private:
  struct Nest {
    enum Kind { Jumped, Masked, Endless } kind;
    /// The jump to patch, or the first instruction of an endless loop.
    size_t branch;
    std::vector<size_t> leaves;
    /// Slots below it were made outside.
    Slot firstSlot;
  };

  Value make(DType type, uint32_t count, bool uniform);
  Instr &emit(Op op);
  uint32_t poolOf(const std::vector<uint32_t> &words);
  uint32_t address(const At &at);
  void requireUniform(Value value, const char *what) const;
  void requireSame(Value a, Value b, std::string_view what) const;
  void requireMask(Value mask, const char *what) const;
  uint32_t here() const { return static_cast<uint32_t>(program.code.size()); }

  Program program;
  uint32_t place = 0;
  std::map<std::string, uint32_t> placeIndex;
  std::vector<Nest> scopes;
};

} // namespace soliton::emu
