//===- Wave.h - The state of a workgroup while it runs --------------------===//
//
// A Wave is a program counter, slots and a mask of active lanes; a Workgroup is its waves, the shared block, barriers
// and what is in flight; a HostThread is what the workgroups that one thread of the host runs have in common. Handlers
// (one per Op, in the Eval files) take a wave and its instruction; the program counter already points behind it.
// Validation has made indices and types safe; addresses are checked by Lanes.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Checker.h"
#include "soliton/emulator/GlobalChecker.h"
#include "soliton/emulator/Machine.h"
#include "soliton/emulator/Sync.h"

#include <bit>
#include <cstddef>
#include <mutex>
#include <random>

namespace soliton::emu {

struct Wave;
class Workgroup;
using Handler = void (*)(Wave &, const Instr &);

/// Where a slot lives in a wave's registers.
struct SlotPlace {
  uint64_t offset = 0;
  /// Lanes stored: 1 if uniform.
  uint32_t lanes = 1;
  /// Elements times lanes.
  uint32_t words = 1;
  /// 64-bit words instead of 32-bit ones.
  bool wide = false;
};

/// A program ready to run: decoded once per launch, shared by all threads.
struct Prepared {
  Prepared(const Program &program, const LaunchConfig &config);

  const Program &program;
  const LaunchConfig &config;
  std::vector<SlotPlace> slots;
  std::vector<Handler> handlers;
  /// Where a seeded scheduler may switch waves.
  std::vector<bool> switchPoint;
  uint64_t waveBytes = 0;
  /// Size of the largest slot with all lanes.
  uint64_t scratchBytes = 0;
  bool hasMmaAsync = false;
  /// Asynchronous work is queued until its wait.
  bool late = false;
  /// So are ordinary accesses of shared memory, which no barrier of the target completes.
  bool lateShared = false;
  /// Workgroups can see each other: they interleave on one host thread.
  bool interleaved = false;
  /// Some loop may wait for memory to change: waves give way after `slice` instructions.
  bool mayPoll = false;
  uint64_t slice = ~0ull;
};

/// Polling: nothing has changed since it was last where it is, so it will come here again for ever.
enum class Status : uint8_t { Ready, AtBarrier, AtMbarrier, AtCluster, Polling, Ended };

/// What the workgroups of one host thread share. Only one instruction is executed at a time.
struct HostThread {
  HostThread(const Prepared &prepared, Reporter &reporter);

  Reporter &reporter;
  GlobalChecker globalChecker;
  /// Atomic places in global memory, by address.
  SyncTable sync;
  /// Grows whenever memory, a barrier or an mbarrier has changed, or a wave has ended.
  uint64_t changes = 0;
  /// Four of the largest slot, and matrices.
  std::array<std::vector<uint64_t>, 4> scratch;
  std::vector<float> matrixA, matrixB, matrixC, conversion;
  std::vector<double> wideA, wideB, wideC;
  std::vector<int32_t> intA, intB, intC;
};

struct MaskEntry {
  uint64_t outer = 0, condition = 0;
};

/// Shared bytes that a copy_async will write.
struct PendingCopy {
  CounterKind counter = CounterKind::vm;
  uint32_t access = 0;
  uint32_t bytes = 0;
  std::vector<uint32_t> to;
  std::vector<uint8_t> data;
};

/// A tile copy that is not done: a load until its mbarrier is waited for, a store until its group is.
struct PendingTile {
  uint32_t instruction = 0;
  uint32_t access = 0;
  std::array<int64_t, 5> start{};
  /// Along the dimensions that have corners: how far what is copied lies from its pixel.
  std::array<int64_t, 3> offset{};
  /// The tensor as its map has it when the copy is issued: extents, bytes between neighbours, its first byte.
  std::array<int64_t, 5> size{}, stride{};
  int64_t base = 0;
  uint32_t shared = 0;
  /// Of a store: its access of shared memory, and what that has found.
  uint32_t readAccess = 0;
  std::vector<uint8_t> data;
};

/// An mma_async whose result nobody may look at yet.
struct PendingMma {
  uint32_t job = 0;
  uint32_t access = 0;
  const MmaKind *kind = nullptr;
  std::vector<uint32_t> a;
  uint32_t tileA = 0, tileB = 0, startA = 0, startB = 0;
  bool aInShared = false;
  /// The job whose result is the accumulator, or 0 with `acc` captured.
  uint32_t accJob = 0;
  std::vector<uint32_t> acc;
};

/// Which lanes take part in an access, and how.
struct AccessOptions {
  Slot mask = kNoSlot;
  /// One access for the wave instead of one per lane.
  bool uniform = false;
  /// kClamp
  uint8_t flags = 0;
  /// Added to the address once per lane number.
  uint32_t laneStride = 0;
  uint64_t only = ~0ull;
};

/// Byte addresses of one access, relative to `base`, for the lanes that take part.
struct LaneAccess {
  std::byte *base = nullptr;
  const Region *region = nullptr;
  /// Distance of `base` from the start of the shared block or buffer.
  int64_t origin = 0;
  uint64_t mask = 0;
  uint32_t lanes = 0;
  uint32_t bytes = 0;
  std::array<int64_t, 64> at{};
};

/// An ordinary access of shared memory that is not done: a store until it is waited for, a load until then or until
/// its value is used. All of a wave are done in order.
struct PendingShared {
  uint32_t access = 0;
  const Instr *instr = nullptr;
  LaneAccess lanes;
  void (*finish)(Wave &, const PendingShared &) = nullptr;
  /// What a store writes, as the slot had it.
  std::vector<uint64_t> data;
};

struct Wave {
  Wave(Workgroup &group, uint32_t index);

  void reset();
  /// Runs until it blocks, ends, fails or gives way.
  void run();

  uint64_t allLanes() const { return lanes == 64 ? ~0ull : (1ull << lanes) - 1; }
  uint32_t *words(Slot slot) { return reinterpret_cast<uint32_t *>(registers.get() + prepared.slots[slot].offset); }
  uint64_t *wideWords(Slot slot) { return reinterpret_cast<uint64_t *>(registers.get() + prepared.slots[slot].offset); }
  /// The slot's words, broadcast to all lanes into scratch buffer `which` where it is uniform and `perLane`.
  template <typename T>
  const T *read(Slot slot, bool perLane, int which);
  template <typename T>
  T *write(Slot slot) {
    return reinterpret_cast<T *>(registers.get() + prepared.slots[slot].offset);
  }
  /// Its workgroup inside the cluster, that workgroup's place in the grid, and where its shared block begins.
  uint32_t rank() const { return index / program.waves; }
  std::array<uint32_t, 3> id() const;
  uint32_t block() const { return rank() * program.blockDistance(); }
  /// First element of a uniform slot, sign-extended if it is an integer.
  int64_t uniformInt(Slot slot);
  uint32_t instruction(const Instr &instr) const { return static_cast<uint32_t>(&instr - program.code.data()); }

  /// Lanes and addresses of an access; reports and removes those out of bounds.
  LaneAccess resolve(const Instr &instr, const Address &address, uint32_t bytes, const AccessOptions &options);
  /// Start of a uniform shared access of `bytes` bytes, or nothing (reported).
  bool resolveShared(const Instr &instr, const Address &address, uint32_t bytes, uint32_t &start);
  /// A collective instruction needs all lanes.
  void requireConverged(const Instr &instr);
  void report(const Instr &instr, FindingKind kind, std::string message, std::string hint, uint32_t lane,
              int64_t address);
  /// Numbers an access on the wave's own counter.
  Actor issue(const Instr &instr, CounterKind counter);

  /// mma_async bookkeeping of slots, where results are queued.
  void checkPending(const Instr &instr);

  /// Queues the last numbered access of shared memory.
  void defer(PendingShared pending);
  /// Does the queued ones up to this number.
  void finishShared(uint32_t access);
  void finishAllShared() { finishShared(0xffffffffu); }
  /// Does those whose values `instr` uses or replaces, and all before them.
  void finishUsed(const Instr &instr);

  /// A loop begins again: finds out whether the wave does nothing but wait for a change.
  void noteLoop();

  Workgroup &group;
  const Prepared &prepared;
  const Program &program;
  uint32_t index;
  uint32_t lanes;
  uint32_t pc = 0;
  uint64_t fuel = 0;
  Status status = Status::Ready;
  /// Leave the loop of `run`.
  bool stop = false;
  uint64_t active = 0;
  std::vector<MaskEntry> masks;
  /// The number of the barrier that it waits at, while it does.
  uint32_t barrier = 0;
  /// Barriers of its cluster that it has come to, and left.
  uint32_t clusterArrivals = 0, clusterWaits = 0;
  /// It has waited for the launches ahead.
  bool hasWaited = false;
  /// The mbarrier that it waits for, while it does.
  uint32_t mbarrier = 0;
  std::vector<uint32_t> pendingOf;
  std::deque<PendingCopy> copies;
  std::deque<PendingTile> tileStores;
  std::deque<PendingMma> mmas;
  std::deque<PendingShared> inFlight;
  /// By slot: the queued load that will write it, or 0.
  std::vector<uint32_t> loadOf;
  uint32_t nextJob = 1;
  /// The last instruction that read memory, and where.
  uint32_t lastRead = Finding::kNone;
  const Region *lastReadRegion = nullptr;
  int64_t lastReadAt = 0;

private:
  /// All that decides what the wave does next, as long as nothing changes.
  struct Snapshot {
    uint32_t pc = 0;
    uint64_t active = 0;
    std::array<size_t, 5> sizes{};
    std::vector<std::byte> registers;
  };
  std::array<size_t, 5> queueSizes() const {
    return {masks.size(), copies.size(), tileStores.size(), mmas.size(), inFlight.size()};
  }

  Snapshot snapshot;
  uint64_t seenChanges = ~0ull;
  uint64_t loops = 0, nextSnapshot = 0;

  struct Free {
    void operator()(std::byte *p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  std::unique_ptr<std::byte[], Free> registers;
};

/// The barrier of a cluster: waves arrive, go on, and wait for the others.
struct ClusterBarrier {
  /// Barriers that are complete.
  uint32_t phase = 0;
  ClockSet arriving, completed;
};

struct BarrierState {
  uint32_t expected = 0;
  std::vector<uint32_t> waiting;
  /// Waves that have come and gone on, and what they knew then.
  std::vector<uint32_t> arrived;
  ClockSet arriving;

  size_t come() const { return waiting.size() + arrived.size(); }
};

struct Mbarrier {
  uint32_t address = 0;
  bool live = false;
  uint32_t count = 0;
  int64_t pending = 0;
  int64_t bytes = 0;
  /// Completed phases since it was made.
  uint32_t phase = 0;
  Agent agent = 0;
  Actor maker;
  ClockSet arriving, completed;
  std::deque<std::pair<uint32_t, PendingTile>> loads;
};

/// A workgroup; where the program has clusters, all workgroups of one, which share clocks and lie side by side in one
/// block of memory: waves are numbered through, and so are bytes.
class Workgroup {
public:
  Workgroup(const Prepared &prepared, HostThread &thread);

  /// Starts the workgroup (or cluster) of that number.
  void begin(uint32_t linear);
  /// Lets each wave that can run go on for a while; false where none got further.
  bool runRound();
  bool hasEnded() const;
  /// Nothing but another workgroup can help it, and nothing at all if it is not polling.
  bool isPolling() const;
  void reportDeadlock();
  /// "wave 0 waits at `barrier`, wave 1 has ended"; the first two places.
  std::string whereWavesAre(Finding &finding) const;
  std::string lackOf(const Wave &wave) const;

  const Prepared &prepared;
  const Program &program;
  HostThread &thread;
  Reporter &reporter;
  Clocks clocks;
  SharedChecker sharedChecker;
  GlobalChecker &globalChecker;
  /// Atomic places in the shared block.
  SyncTable sync;
  bool checks;
  uint32_t linear = 0;
  /// Of the first workgroup of the cluster.
  std::array<uint32_t, 3> id{};
  std::vector<uint8_t> shared;
  /// 16 of each workgroup.
  std::vector<BarrierState> barriers;
  ClusterBarrier clusterBarrier;
  std::vector<Mbarrier> mbarriers;
  std::vector<std::unique_ptr<Wave>> waves;
  /// The last that each wave did in another workgroup's shared block, by workgroup and wave; access 0: nothing.
  std::vector<Actor> reached;
  /// Why the launch cannot go on.
  std::string error;
  Place errorPlace;
  std::array<uint64_t, kNumOps> counts{};
  uint64_t globalAccesses = 0, sharedAccesses = 0, bankConflicts = 0;
  // Those of the host thread.
  std::array<std::vector<uint64_t>, 4> &scratch;
  std::vector<float> &matrixA, &matrixB, &matrixC, &conversion;
  std::vector<double> &wideA, &wideB, &wideC;
  std::vector<int32_t> &intA, &intB, &intC;
  std::mt19937_64 random;

  void fail(std::string message);
  /// All waves of a workgroup of the cluster have ended: nothing of it is there any more.
  bool hasLeft(uint32_t rank) const;
  Mbarrier *findMbarrier(uint32_t address);
  void noteChange() { ++thread.changes; }
};

/// Runs all workgroups of the launch, those that are resident at once in turn.
void runInterleaved(const Prepared &prepared, HostThread &thread, std::vector<std::unique_ptr<Workgroup>> &groups);

/// The handler of an instruction.
Handler handlerOf(const Program &program, const Instr &instr);

// What the Eval files offer each other.

/// Judges and counts an access to shared memory or a global buffer. `data`: what lanes write, one after another.
void judgeAccess(Wave &wave, const Instr &instr, const LaneAccess &access, bool isWrite,
                 const std::byte *data = nullptr);
void judgeAlignment(Wave &wave, const Instr &instr, const LaneAccess &access);
/// Whether an access of global memory may come before the wave has waited for the launches ahead, and may be a write.
void judgeLaunches(Wave &wave, const Instr &instr, uint32_t buffer, bool isWrite);
/// Hands the lanes of an access that is already numbered to the checker of its memory.
void judgeRuns(Wave &wave, const Actor &actor, const LaneAccess &access, bool isWrite, const std::byte *data = nullptr);
/// What has to be done before an access that is atomic, and what it means for the order between waves.
void startOrdered(Wave &wave, const Instr &instr, const LaneAccess &access);
void synchronize(Wave &wave, const Instr &instr, const LaneAccess &access, uint32_t elementBytes);
/// What an atomic leaves in memory.
uint64_t combine(AtomicOp op, DType type, uint64_t old, uint64_t value);
/// Completes what `wait` of that counter has made complete.
void retire(Wave &wave, CounterKind counter);
/// Completes everything that is still in flight when a wave ends.
void drain(Wave &wave);
/// Tile copies.
void evalCopyTile(Wave &wave, const Instr &instr);
/// The box of a tile store as shared memory has it now.
void captureTile(Wave &wave, const Instr &instr, PendingTile &tile);
/// Moves the box of a tile copy.
void runTile(Wave &wave, const Instr &instr, PendingTile &tile);
/// Bytes of the box of a map.
uint32_t boxBytes(const TensorMap &map);

/// Whether an instruction that one lane issues is issued: by the only active lane, or by one that a whole wave elects.
/// Several lanes of a divergent wave would each issue it, which is a finding.
bool issuesOnce(Wave &wave, const Instr &instr);

/// The wave's last access of shared memory was one of that workgroup's.
void noteReach(Wave &wave, const Instr &instr, uint32_t rank);
/// A workgroup of a cluster has ended with this wave: reports what others did in its shared block and none of its waves
/// knows to be over, whoever came first this time.
void judgeLeave(Wave &wave, const Instr &instr);
/// The mbarrier of an instruction in that workgroup of the cluster, or null (reported).
Mbarrier *mbarrierOf(Wave &wave, const Instr &instr, const Address &address, uint32_t rank);
/// Whether the cluster has that workgroup and it has not ended; reports it otherwise.
bool isThere(Wave &wave, const Instr &instr, uint32_t rank);
/// `bytes` of the current phase have been written.
void completeBytes(Workgroup &group, Mbarrier &mbarrier, uint32_t bytes);
Handler mbarrierHandler(const Instr &instr);

/// Asynchronous products.
void evalMmaAsync(Wave &wave, const Instr &instr);
/// The words of the accumulator fragment after a queued product.
std::vector<uint32_t> runMma(Wave &wave, PendingMma &mma);
/// Hands the result of the oldest queued product to the slots that wait for it.
void finishMma(Wave &wave, PendingMma &mma);
/// Fragment words into the workgroup's dense matrix of one operand ('a', 'b', 'c'), and the accumulator back.
void toMatrix(Workgroup &group, char operand, DType type, const Fragment &fragment, const void *words, size_t size);
void fromMatrix(Workgroup &group, DType type, const Fragment &fragment, void *words);
/// C += A·B on the workgroup's dense matrices, by kind.
void multiply(Workgroup &group, const MmaKind &kind, uint32_t rows);
/// The same where terms are cut below the largest one (ShortSums.cpp).
void multiplyShort(Workgroup &group, const MmaKind &kind, uint32_t rows);

/// The lanes of the wave in which a one-element i1 slot is set.
uint64_t lanesWhere(Wave &wave, Slot slot);

Handler binaryHandler(const Program &program, const Instr &instr);
Handler unaryHandler(const Program &program, const Instr &instr);
Handler compareHandler(const Program &program, const Instr &instr);
Handler convertHandler(const Program &program, const Instr &instr);
Handler vectorHandler(const Program &program, const Instr &instr);
Handler controlHandler(const Program &program, const Instr &instr);
Handler memoryHandler(const Program &program, const Instr &instr);
/// Completes the reads of shared memory that `wait bulk {read}` has made complete.
void retireReads(Wave &wave);
Handler asyncHandler(const Program &program, const Instr &instr);
Handler matrixHandler(const Program &program, const Instr &instr);
Handler mmaHandler(const Program &program, const Instr &instr);
Handler syncHandler(const Program &program, const Instr &instr);
Handler lanesHandler(const Program &program, const Instr &instr);

template <typename T>
const T *Wave::read(Slot slot, bool perLane, int which) {
  const SlotPlace &place = prepared.slots[slot];
  const T *from = reinterpret_cast<const T *>(registers.get() + place.offset);
  if (!perLane || place.lanes != 1)
    return from;
  T *to = reinterpret_cast<T *>(group.scratch[static_cast<size_t>(which)].data());
  for (uint32_t element = 0; element < place.words; ++element)
    for (uint32_t lane = 0; lane < lanes; ++lane)
      to[element * lanes + lane] = from[element];
  return to;
}

} // namespace soliton::emu
