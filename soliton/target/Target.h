//===- Target.h - One table per chip ------------------------------------------===//
//
// All that the compiler knows about a chip, as data: waves, memories, matrix instructions, counters, costs, limits. A
// pass asks the table and never for the chip's name.
//
//   const Target *target = findTarget("sm_90a");
//   target->waveSize == 32; target->barrierCompletesShared;
//   auto mma = selectMma(*target, "F32_16x16x16_F16", {DType::f16, DType::f16, DType::f32});
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Shared.h"
#include "soliton/support/Counter.h"
#include "soliton/support/DType.h"
#include "soliton/support/Diagnostics.h"
#include "soliton/target/Mma.h"

namespace soliton {

enum class Vendor : uint8_t { amd, nvidia };
std::string_view name(Vendor vendor);

struct Counter {
  CounterKind kind;
  /// The largest n that `wait C, n` can say; 0 where only full completion can be waited for.
  int64_t maxPending = 0;
  /// Operations retire in the order of issue, so a count proves which are done.
  bool inOrder = true;
  /// Operations are counted in groups that a `commit` closes.
  bool grouped = false;
  /// The wait emits an instruction (NVIDIA's ordinary shared accesses need none).
  bool needsInstruction = true;
  /// One lane issues for the whole workgroup, and every wave can wait for it: what a wave has waited for it sees.
  bool ofWorkgroup = false;
};

/// How shared memory serves an access of that many bytes per lane.
struct SharedAccess {
  int64_t bytes = 4;
  bool write = false;
  BankModel model;
  /// Clocks of a conflict-free access of a whole wave.
  int64_t clocks = 1;
};

/// A collective load or store of small matrices. Lane `S` gives the address of `contiguous` elements `C`; the result
/// layout says over dims "S" and "C" which of them each register receives.
struct MatrixAccess {
  std::string name; // `ldmatrix.x4.trans`, `ds_read_b64_tr_b16`
  int elementBits = 16;
  int64_t contiguous = 8;
  bool transposed = false;
  bool store = false;
  Layout result;
  /// Bytes to which each address must be aligned.
  int64_t alignment = 16;
};

/// Issue costs and latencies in clocks of one wave, for schedulers and models. `measured` where they were, on the chip.
struct Costs {
  int64_t valuIssue = 4;
  int64_t transcendentalIssue = 16;
  int64_t scalarIssue = 4;
  int64_t memoryIssue = 4;
  int64_t sharedLatency = 64;
  int64_t sharedStoreIssue = 16;
  int64_t globalLatencyL1 = 118;
  int64_t globalLatencyL2 = 213;
  int64_t globalLatencyMemory = 880;
  /// Service of one 16-byte-per-lane global access of a wave.
  int64_t globalService16 = 16;
  int64_t globalService4 = 4;
  /// One sector's share of what the memory moves for a compute unit, and the lookup of one line.
  int64_t globalSector = 8;
  int64_t globalLine = 1;
  /// Bytes that a compute unit may have in flight.
  int64_t globalBytesInFlight = 32768;
  int64_t shuffleLatency = 50;
  int64_t barrier = 4;
  /// Clocks after the issue of a matrix instruction before vector arithmetic may run under it.
  int64_t mmaShadowStart = 4;
  /// Added to a matrix instruction's clocks before something else may use its result.
  int64_t mmaResultExtra = 16;
  /// The same before the next matrix instruction may add to its result.
  int64_t mmaChainExtra = 0;
  /// Clocks by which one more launch delays what follows it on a stream.
  int64_t launch = 6000;
  bool measured = false;
};

struct Target {
  std::string name;
  std::string product;
  Vendor vendor = Vendor::amd;

  int64_t waveSize = 64;
  int64_t maxThreadsPerWorkgroup = 1024;
  int64_t maxWavesPerWorkgroup = 16;
  int64_t computeUnits = 1;
  int64_t simdsPerComputeUnit = 4;
  int64_t maxWavesPerSimd = 8;
  int64_t clockMHz = 1000;

  int64_t sharedBytes = 65536;
  int64_t sharedGranule = 512;
  /// The largest constant that an access of shared memory adds to its address by itself.
  int64_t maxSharedImmediate = 65535;
  std::vector<SharedAccess> sharedAccesses;

  /// 32-bit registers that one lane may use, and all that a SIMD has per lane.
  int64_t registersPerLane = 256;
  int64_t accumulatorRegistersPerLane = 0;
  int64_t registerFilePerSimdLane = 512;
  int64_t registerGranule = 8;

  std::vector<Counter> counters;
  bool barrierCompletesShared = false;
  /// Lanes of a wave see each other's ordinary accesses in program order without a barrier.
  bool lanesInLockstep = true;
  /// Elements of 16 bits that one atomic addition changes together.
  int64_t narrowAtomicElements = 1;
  /// `barrier id, waves` with ids below this; 1 where only whole workgroups meet.
  int64_t namedBarriers = 1;
  bool hasMbarrier = false;
  /// One lane has the machine copy a box of a tensor to shared memory; such copies tick `boxes`.
  bool hasTileCopy = false;
  bool hasRegisterReallocation = false;
  /// A launch may begin before the one ahead of it has ended, and waits for it by an instruction.
  bool hasDependentLaunches = false;
  int64_t maxClusterSize = 1;

  std::vector<int64_t> asyncCopyBytes;
  /// The counter that an asynchronous copy ticks.
  CounterKind asyncCopyCounter = CounterKind::vm;
  /// An asynchronous copy writes lane l's bytes at base + l * width: only the global address may be permuted.
  bool asyncCopyIsLaneLinear = false;
  int64_t maxAccessBytes = 16;
  /// Global accesses may move 12 bytes, from a multiple of 4 on.
  bool hasThreeWordAccess = true;
  /// An instruction brings a line of global memory nearer without reading it.
  bool hasPrefetch = false;
  int64_t cacheLineBytes = 128;
  /// The least that global memory moves: an access pays for a whole sector where it needs a part of one.
  int64_t sectorBytes = 64;

  DType fp8e4m3 = DType::f8e4m3fn;
  DType fp8e5m2 = DType::f8e5m2;

  Costs costs;
  std::vector<MatrixAccess> matrixAccesses;
  std::vector<MmaKind> mmas;

  /// How shared memory serves `bytes` per lane; the next wider entry where there is none of that width.
  const SharedAccess &sharedAccess(int64_t bytes, bool write) const;
  const Counter *counter(CounterKind kind) const;
  const MatrixAccess *matrixAccess(std::string_view name) const;
  bool hasAsyncCopy(int64_t bytes) const;
  /// All kinds of that name (one per combination of element types).
  std::vector<const MmaKind *> mmasNamed(std::string_view name) const;
};

/// Every target, in the order in which messages name them.
const std::vector<const Target *> &allTargets();
std::vector<std::string> targetNames();
/// The target of that name, or null.
const Target *findTarget(std::string_view name);
/// The target, or what to tell the author: `unknown-target` with the closest name.
struct TargetChoice {
  const Target *target = nullptr;
  std::optional<Diagnostic> error;
};
TargetChoice selectTarget(std::string_view name, const Place &place = {});

/// The kind that an `mma` means, or what to tell the author.
struct MmaChoice {
  const MmaKind *kind = nullptr;
  std::optional<Diagnostic> error;
  explicit operator bool() const { return kind != nullptr; }
};

/// What an `mma` multiplies. `scaled`: each operand comes with e8m0 scales.
struct MmaTypes {
  DType lhs, rhs, acc;
  bool scaled = false;
  bool operator==(const MmaTypes &) const = default;
};

/// What the target's matrix instructions are given for such a product: the same, or `bf16` where it has none that
/// scales: every element is converted before, and sums over blocks are multiplied by their scales behind.
MmaTypes multipliedAs(const Target &target, MmaTypes types);

/// Without a name: the target's default for the element types. Errors: `mma-unknown`, `mma-not-on-target`,
/// `mma-type-mismatch`.
MmaChoice selectMma(const Target &target, std::optional<std::string_view> name, MmaTypes types,
                    const Place &place = {});
/// Kinds for what these element types are multiplied as, the default first, then the others in table order.
std::vector<const MmaKind *> legalMmas(const Target &target, MmaTypes types);

} // namespace soliton
