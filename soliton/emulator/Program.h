//===- Program.h - The flat program that the emulator executes ------------===//
//
// A kernel in machine form, decoded once: a list of instructions over numbered slots. A slot holds `count` elements of
// one type for every lane of a wave, stored as [element][lane], or once per wave where it is uniform. Everything that
// is particular to a chip (fragment tables, which lane loads which row, what completes a shared store) is data in the
// program, so the emulator knows no chip. Small example, one wave that doubles 64 floats (see Builder.h):
//
//   0  s0 = id lane                     : i32
//   1  s1 = const 4                     : i32 uniform
//   2  s2 = mul s0, s1                  : i32
//   3  s3 = load in[s2 + 0]             : f32
//   4  s4 = addf s3, s3                 : f32
//   5  store s4 -> out[s2 + 0]
//   6  end
//
// Law: a program that `validate` accepts never makes `run` crash, whatever bytes it was read from.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/Counter.h"
#include "soliton/support/DType.h"
#include "soliton/support/Diagnostics.h"

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace soliton::emu {

/// Thrown by Builder for misuse and by deserialize for bytes that are no program.
struct ProgramError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Index of a slot; `kNoSlot` where an operand is absent.
using Slot = uint32_t;
inline constexpr Slot kNoSlot = 0xffffffffu;

/// What an instruction does. The fields of `Instr` that each uses stand beside it; `src` that may be absent in ( ).
enum class Op : uint8_t {
  End,          ///< the wave is finished
  Nop,          ///< sub = Hint; scheduling only, no meaning
  Const,        ///< dst = element bits pool[2i] | pool[2i+1] << 32, one per element, or one for all
  Move,         ///< dst = src0 in the active lanes
  Binary,       ///< dst = src0 (sub = BinaryOp) src1, element by element
  Unary,        ///< dst = (sub = UnaryOp) src0
  Fma,          ///< dst = src0 * src1 + src2, floats rounded once
  Cmp,          ///< dst i1 = src0 (sub = CmpOp) src1
  Select,       ///< dst = src0 ? src1 : src2; src0 is i1 with as many elements, or one
  Convert,      ///< dst = src0 in another type; sub = ConvertOp, flags = rounding | kSaturate
  Bitcast,      ///< dst = the bits of src0; total bits per lane are equal
  Splat,        ///< dst = src0[0] in every element
  Slice,        ///< dst = src0[imm .. imm + count(dst))
  Insert,       ///< dst = src0 with src1 at element imm
  Concat,       ///< dst = slots pool[..] one after another
  Permute,      ///< dst[i] = (src0 ++ src1)[pool[i]]
  Id,           ///< dst i32 = sub = IdKind
  Arg,          ///< dst = scalar argument imm
  Jump,         ///< to index
  JumpIfZero,   ///< to index where uniform src0 is 0
  ForBegin,     ///< dst = src0; to index where not dst < src1; src2 = step > 0
  ForNext,      ///< dst = dst + src2; to index where dst < src1
  MaskPush,     ///< active lanes &= src0; to index where none is left (the matching MaskElse or MaskPop)
  MaskElse,     ///< active lanes = those of the enclosing region that MaskPush left out; to index where none
  MaskPop,      ///< active lanes = those before MaskPush
  Load,         ///< dst = addresses[index]; src0 = (mask) src1 = (fill); order, scope; imm = (1 + the workgroup of the
                ///< cluster whose shared block it is)
  Store,        ///< addresses[index] = src1; src0 = (mask); order, scope
  Atomic,       ///< (dst) = old; addresses[index] (sub = AtomicOp)= src1; src0 = (mask); src2 = (what a
                ///< CompareSwap expects); order, scope
  CopyAsync,    ///< imm bytes a lane from addresses[index] to addresses[index2]; src0 = (mask); sub = Counter; flags =
                ///< kZeroFill | kLaneOrder
  CopyTile,     ///< sub = TileOp; maps[imm]; addresses[index] = shared tile; addresses[index2] = mbarrier (loads);
                ///< pool = coordinate slots, innermost first, then of offsets for a map with corners; src0 = (uniform
                ///< i32: a bit per workgroup of the cluster that gets a load)
  LoadMatrix,   ///< dst = matrixKinds[imm] at the per-lane row addresses addresses[index]
  StoreMatrix,  ///< matrixKinds[imm] at addresses[index] = src1
  Mma,          ///< dst = mmaKinds[imm](a = src0, b = src1, acc = src2); pool = {scale a, scale b} slots where scaled
  MmaAsync,     ///< dst = mmaKinds[imm] pending; src0 = (a), src2 = acc, src3 = (i1: start from acc, not from 0);
                ///< index, index2 = tiles of a (where src0 is absent) and b
  Commit,       ///< closes the current group of sub = Counter
  Wait,         ///< sub = CounterKind, imm = how many stay pending; pool = {source, destination} slot pairs made ready;
                ///< flags = kReadOnly
  MbarrierInit, ///< addresses[index]; imm = arrivals per phase
  MbarrierArrive, ///< addresses[index]; imm = arrivals; flags = kPerLane; src1 = (uniform i32: the workgroup of the
                  ///< cluster whose it is)
  MbarrierExpect, ///< addresses[index]; imm = bytes, or uniform src0; flags = kArrive | kPerLane; src1 as above
  MbarrierWait,   ///< addresses[index]; src0 = uniform parity of the phase that must be complete
  Barrier,        ///< sub = id, plus src0 (uniform i32) if there; imm = waves that meet, 0 = all; flags = kArrives
  ClusterArrive,  ///< the wave has come to the barrier of its cluster
  ClusterWait,    ///< until all waves of the cluster have
  GridWait,       ///< until the launches ahead have ended: on the emulator they have
  Fence,          ///< sub = FenceOp; order, scope for memory fences
  Shuffle,        ///< dst = src0 of another lane; sub = ShuffleOp; src1 = (lane operand) else imm; index = width
  Ballot,         ///< dst uniform i32/i64 = one bit per active lane where src0
  Uniform,        ///< dst uniform = src0 of the first active lane; flags = kAssertEqual
  Swap,           ///< dst, dst2 = src0, src1 with odd groups of imm lanes of src0 and even ones of src1 exchanged
  Print,          ///< a line for each active lane: places[index].what with the i32 slots pool[..] for its `?`, and src1
};
inline constexpr int kNumOps = static_cast<int>(Op::Print) + 1;

/// Integer arithmetic wraps; a division by zero gives 0.
enum class BinaryOp : uint8_t {
  AddI,
  SubI,
  MulI,
  MulHiS,
  MulHiU,
  DivS,
  DivU,
  RemS,
  RemU,
  FloorDivS,
  CeilDivS,
  CeilDivU,
  And,
  Or,
  Xor,
  Shl,
  ShrS,
  ShrU,
  MinS,
  MaxS,
  MinU,
  MaxU,
  AddF,
  SubF,
  MulF,
  DivF,
  RemF,
  MinimumF,
  MaximumF, ///< NaN if either is NaN
  MinNumF,
  MaxNumF, ///< the other one if one is NaN
  PowF,
  Atan2,
  CopySign,
};
inline constexpr int kNumBinaryOps = static_cast<int>(BinaryOp::CopySign) + 1;

enum class UnaryOp : uint8_t {
  NegF,
  AbsF,
  Floor,
  Ceil,
  TruncF,
  Round,
  RoundEven,
  Sqrt,
  Rsqrt,
  Rcp,
  Exp,
  Exp2,
  ExpM1,
  Log,
  Log2,
  Log10,
  Log1P,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Erf,
  Cbrt,
  NegI,
  AbsI,
  Not,
  CountLeadingZeros,
  CountTrailingZeros,
  PopCount,
};
inline constexpr int kNumUnaryOps = static_cast<int>(UnaryOp::PopCount) + 1;
inline constexpr int kFirstIntUnary = static_cast<int>(UnaryOp::NegI);

enum class CmpOp : uint8_t {
  Eq,
  Ne,
  Slt,
  Sle,
  Sgt,
  Sge,
  Ult,
  Ule,
  Ugt,
  Uge, ///< integers
  False,
  Oeq,
  Ogt,
  Oge,
  Olt,
  Ole,
  One,
  Ord,
  Ueq,
  UgtF,
  UgeF,
  UltF,
  UleF,
  Une,
  Uno,
  True, ///< floats, as in arith.cmpf
};
inline constexpr int kNumCmpOps = static_cast<int>(CmpOp::True) + 1;

enum class ConvertOp : uint8_t {
  ExtS,
  ExtU,
  TruncI,
  SToF,
  UToF,
  FToS,
  FToU, ///< toward zero; beyond the range the nearest integer, NaN gives 0
  FToF,
};
inline constexpr int kNumConvertOps = static_cast<int>(ConvertOp::FToF) + 1;

/// Rounding of Convert, in the low bits of `flags`.
enum class Rounding : uint8_t { NearestEven, TowardZero, Up, Down };

enum class IdKind : uint8_t {
  Lane,
  Wave,
  Workgroup0,
  Workgroup1,
  Workgroup2,
  Grid0,
  Grid1,
  Grid2,
  ClusterRank,
  Cluster0,
  Cluster1,
  Cluster2
};
enum class AtomicOp : uint8_t { Add, MinS, MaxS, MinU, MaxU, MinF, MaxF, And, Or, Xor, Exchange, CompareSwap };
enum class TileOp : uint8_t { Load, Store, Add };
enum class ShuffleOp : uint8_t { Xor, Up, Down, Index };
enum class Hint : uint8_t { SchedBarrier, SchedGroup, Priority, Registers };

/// How many counters of outstanding work there are. `vm` and `shared` count instructions; the others count committed
/// groups. All retire in issue order.
inline constexpr int kNumCounters = 5;

/// A memory fence completes the wave's own earlier accesses to that space; Proxy makes everything that is ordered
/// before it visible to copy_tile and mma_async; Mma orders register accesses before mma_async.
enum class FenceOp : uint8_t { Shared, Global, Proxy, Mma };

/// How an access or a memory fence takes part in the order between waves and workgroups. Everything but `Plain` is
/// atomic: it may meet another atomic access of its place unordered. A release hands on what is ordered before it; an
/// acquire takes what the releases before it on the same place handed on. Fences do so for the atomic accesses around
/// them.
enum class Order : uint8_t { Plain, Relaxed, Acquire, Release, AcquireRelease };

/// For whom an atomic access or a fence is one.
enum class Scope : uint8_t { Workgroup, Device };

inline bool acquires(Order order) {
  return order == Order::Acquire || order == Order::AcquireRelease;
}
inline bool releases(Order order) {
  return order == Order::Release || order == Order::AcquireRelease;
}

inline constexpr uint8_t kRoundingMask = 3;
inline constexpr uint8_t kSaturate = 4;
/// CopyAsync writes zeros for masked lanes (else those bytes stay).
inline constexpr uint8_t kZeroFill = 1;
/// CopyAsync writes lane l at the uniform destination + l * bytes.
inline constexpr uint8_t kLaneOrder = 2;
/// Loads beyond the buffer's `bytes` give the fill value, stores there are dropped, without a finding.
inline constexpr uint8_t kClamp = 4;
/// MbarrierArrive and MbarrierExpect count once per active lane, not once per wave.
inline constexpr uint8_t kPerLane = 1;
/// MbarrierExpect also arrives once.
inline constexpr uint8_t kArrive = 2;
/// Wait for `bulk`: the copies have read shared memory, and may still be on their way.
inline constexpr uint8_t kReadOnly = 1;
/// Uniform reports active lanes that disagree.
inline constexpr uint8_t kAssertEqual = 1;
/// Of a barrier: the wave is counted, and goes on.
inline constexpr uint8_t kArrives = 2;

/// One instruction; see `Op` for the meaning of the fields.
struct Instr {
  Op op = Op::End;
  uint8_t sub = 0;
  uint8_t flags = 0;
  Order order = Order::Plain;
  Scope scope = Scope::Device;
  /// Index into Program::places.
  uint32_t place = 0;
  Slot dst = kNoSlot;
  Slot dst2 = kNoSlot;
  std::array<Slot, 4> src{kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  int64_t imm = 0;
  uint32_t index = 0;
  uint32_t index2 = 0;
  uint32_t pool = 0;
  uint32_t poolCount = 0;

  bool operator==(const Instr &) const = default;
};

struct SlotInfo {
  DType type = DType::i32;
  uint32_t count = 1;
  /// One value per wave instead of one per lane.
  bool uniform = false;

  bool operator==(const SlotInfo &) const = default;
};

/// A global buffer argument, or a range of the workgroup's one shared block.
struct Region {
  std::string name;
  bool shared = false;
  /// Global: number of the buffer among the buffer arguments.
  uint32_t argument = 0;
  /// Shared: first byte and size inside the block.
  uint32_t offset = 0;
  uint32_t bytes = 0;

  bool operator==(const Region &) const = default;
};

/// Byte address of a lane: region start + base (uniform i64) + lane (i32; i64 in a buffer and without the next) +
/// uniform (i32) + immediate. `limit` (uniform i64) is the number of bytes that are valid from region start + base;
/// absent = all of the region.
struct Address {
  uint32_t region = 0;
  Slot lane = kNoSlot;
  Slot uniform = kNoSlot;
  Slot base = kNoSlot;
  Slot limit = kNoSlot;
  int64_t immediate = 0;

  bool operator==(const Address &) const = default;
};

inline constexpr uint32_t kNoElement = 0xffffffffu;

/// Which matrix element each register of each lane holds: element[reg * waveSize + lane], or kNoElement.
struct Fragment {
  uint32_t registers = 0;
  std::vector<uint32_t> element;

  bool operator==(const Fragment &) const = default;
};

/// D = C + A·B with fragments as data. Elements are numbered row-major within `blocks` independent products:
///   A: (block * m + row) * k + kk     B: (block * k + kk) * n + column     C, D: (block * m + row) * n + column.
/// Arithmetic: f64: fma over kk ascending, starting from C. Float inputs with an f32 accumulator (or a narrower one,
/// rounded once at the end): products exact, accumulated by f32 fma over kk ascending, starting from C. Integers:
/// exact, wrapping at 32 bits. Scaled: each block of `scaleBlock` products is summed in f64, multiplied by both e8m0
/// scales and added to the f32 accumulator with one rounding. With `sumBits` C and all products of an instruction are
/// cut, towards zero, so many bits below the largest exponent of any of them (a product's is the sum of its factors'),
/// and then summed exactly: what an H200 was measured to do with 8-bit floats. For MmaAsync `waves` waves share one
/// product: m rows in total, a wave's fragments number its own m / waves rows.
struct MmaKind {
  std::string name;
  uint32_t m = 0, n = 0, k = 0, blocks = 1;
  uint32_t waves = 1;
  DType a = DType::f16, b = DType::f16, acc = DType::f32;
  Fragment fragA = {}, fragB = {}, fragAcc = {};
  /// 0: sums are as long as the accumulator's type.
  uint32_t sumBits = 0;
  /// 0: no scales. Otherwise element numbers of the scales are row * (k / scaleBlock) + kk / scaleBlock (columns for
  /// B).
  uint32_t scaleBlock = 0;
  Fragment fragScaleA = {}, fragScaleB = {};

  bool operator==(const MmaKind &) const = default;
};

/// A collective access in which lanes supply row addresses and receive elements of other lanes' rows:
/// element r of lane q = element column(r, q) of the row that lane row(r, q) addresses.
/// ldmatrix x4: rowBytes 16, elementBits 16, 8 elements a lane: row = 8 (r/2) + q/4, column = 2 (q%4) + r%2.
struct MatrixKind {
  std::string name;
  uint32_t elementBits = 16;
  uint32_t rowBytes = 16;
  uint32_t registers = 0;
  /// [register * waveSize + lane]
  std::vector<uint8_t> row, column;

  bool operator==(const MatrixKind &) const = default;
};

/// A number, or what a uniform i64 slot holds when the copy is issued.
struct Quantity {
  int64_t value = 0;
  Slot slot = kNoSlot;

  bool operator==(const Quantity &) const = default;
};

/// What a copy_tile moves: a box of a strided tensor, innermost dimension first. Elements outside the tensor read as
/// zero and are not written. `swizzle` ∈ {0, 32, 64, 128} exchanges 16-byte chunks of the shared tile.
///
/// With `corners`, the tensor is one of images: channels, the places of a pixel, images. The box is box[0] channels of
/// box[1] pixels that follow each other, from `lower` in steps as far as size - 1 + `upper` along each dimension
/// between the first and the last, then on in the next row and image; what is copied of each lies a copy's offsets
/// further on.
struct TensorMap {
  std::string name;
  /// The buffer it lies in, and how many bytes behind its start.
  uint32_t argument = 0;
  Quantity offset{};
  DType type = DType::f16;
  uint32_t rank = 0;
  uint32_t swizzle = 0;
  std::array<Quantity, 5> size{};
  /// Bytes from one index to the next; stride[0] is the element size.
  std::array<Quantity, 5> stride{};
  std::array<uint32_t, 5> box{};
  /// How many dimensions have corners: none, or all but two.
  uint32_t corners = 0;
  std::array<int32_t, 3> lower{}, upper{}, step{};

  bool operator==(const TensorMap &) const = default;
};

/// Bits of a corner, and of an offset, of a map in which so many dimensions have corners.
inline uint32_t cornerBits(uint32_t corners) {
  return corners == 1 ? 16 : corners == 2 ? 8 : 5;
}

/// A matrix operand in shared memory, as an mma_async descriptor says it: `address` of its start, the two byte
/// distances, and the swizzle span. kMajor: k is contiguous.
struct SharedTile {
  uint32_t address = 0;
  uint32_t leadingBytes = 0;
  uint32_t strideBytes = 0;
  uint32_t swizzle = 0;
  bool kMajor = true;

  bool operator==(const SharedTile &) const = default;
};

/// What the target promises about time.
struct Rules {
  /// A barrier (and an mbarrier arrival) completes the shared and global accesses that a wave issued before it.
  bool barrierCompletesShared = false;
  /// The target has the counter `vm`: global loads, stores and atomics tick it, and copy_async may.
  bool globalTicksVm = true;
  /// Largest n of a wait, by CounterKind.
  std::array<uint32_t, kNumCounters> counterMax{63, 15, 63, 63, 7};
  /// A global access of w bytes needs an offset divisible by the smaller of w and this; shared ones by w (12: by 4).
  uint32_t globalAlignment = 16;
  /// Shared memory banks of 4 bytes, for the conflict statistics.
  uint32_t banks = 32;

  bool operator==(const Rules &) const = default;
};

/// How much of the target a workgroup takes, from which follows how many are resident at once. 0: no limit is known.
struct Occupancy {
  uint32_t computeUnits = 16;
  /// Of one compute unit.
  uint32_t waves = 0, sharedBytes = 0;

  bool operator==(const Occupancy &) const = default;
};

/// Where an instruction comes from and what it is, for reports.
struct Origin {
  Place place;
  std::string what;

  bool operator==(const Origin &) const = default;
};

struct Program {
  std::string name;
  /// Lanes of a wave: 32 or 64.
  uint32_t waveSize = 64;
  /// Waves of a workgroup.
  uint32_t waves = 1;
  uint32_t sharedBytes = 0;
  /// Workgroups along each axis that run together and reach each other's shared memory.
  std::array<uint32_t, 3> cluster{1, 1, 1};
  uint32_t numBuffers = 0;
  /// It may begin before the launches ahead of it have ended: each wave waits for them before it touches a buffer that
  /// is not among the `stable` ones, which no launch writes.
  bool dependent = false;
  std::vector<uint32_t> stable;
  /// Types of the scalar arguments.
  std::vector<DType> scalars;
  Rules rules;
  Occupancy occupancy;
  std::vector<SlotInfo> slots;
  std::vector<Instr> code;
  std::vector<uint32_t> pool;
  std::vector<Region> regions;
  std::vector<Address> addresses;
  std::vector<MmaKind> mmaKinds;
  std::vector<MatrixKind> matrixKinds;
  std::vector<TensorMap> maps;
  std::vector<SharedTile> tiles;
  /// places[0] is the unknown place.
  std::vector<Origin> places;

  uint32_t clusterSize() const { return cluster[0] * cluster[1] * cluster[2]; }
  /// From one shared block of a cluster to the next: what the widest swizzle repeats by.
  uint32_t blockDistance() const { return (sharedBytes + 1023) / 1024 * 1024; }

  bool operator==(const Program &) const = default;
};

/// What is wrong with the program, or an empty string. Everything `run` relies on is checked here.
std::string validate(const Program &program);

/// Bytes that deserialize reads back; versioned.
std::vector<uint8_t> serialize(const Program &program);

/// The program in `bytes`; throws ProgramError for anything else. The result still has to be validated.
Program deserialize(std::span<const uint8_t> bytes);

/// Workgroups of the program that its target holds at once, at least 1.
uint64_t residentWorkgroups(const Program &program);

/// One line per instruction, in the form of the example above.
std::string disassemble(const Program &program);

std::string_view name(Op op);
std::string_view name(BinaryOp op);
std::string_view name(UnaryOp op);
std::string_view name(CmpOp op);
std::string_view name(ConvertOp op);
std::string_view name(Order order);
std::string_view name(Scope scope);

} // namespace soliton::emu
