//===- Workgroup.cpp - Interleaves the waves of a workgroup ---------------===//
//
// Round robin: every wave that can run does so until it blocks or gives way; with a seed the order and the places at
// which waves give way are random. If a whole round moves nothing and a wave is left, that is a deadlock, unless
// another workgroup can change what a wave polls (Resident.cpp).
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <numeric>

namespace soliton::emu {

HostThread::HostThread(const Prepared &prepared, Reporter &reporter)
    : reporter(reporter), globalChecker(prepared.program, prepared.config.buffers, reporter) {
  for (std::vector<uint64_t> &buffer : scratch)
    buffer.resize(prepared.scratchBytes / 8 + 8);
}

Workgroup::Workgroup(const Prepared &prepared, HostThread &thread)
    : prepared(prepared), program(prepared.program), thread(thread), reporter(thread.reporter),
      clocks(program.waves * program.clusterSize(), program.rules.barrierCompletesShared),
      sharedChecker(program, clocks, reporter), globalChecker(thread.globalChecker), checks(prepared.config.checks),
      scratch(thread.scratch), matrixA(thread.matrixA), matrixB(thread.matrixB), matrixC(thread.matrixC),
      conversion(thread.conversion), wideA(thread.wideA), wideB(thread.wideB), wideC(thread.wideC), intA(thread.intA),
      intB(thread.intB), intC(thread.intC) {
  // Tiles are read by rows of up to 16 bytes; the slack keeps those reads inside.
  shared.resize(size_t(program.blockDistance()) * program.clusterSize() + 16);
  barriers.resize(size_t(16) * program.clusterSize());
  reached.resize(program.clusterSize() > 1 ? size_t(program.waves) * program.clusterSize() * program.clusterSize() : 0);
  for (uint32_t i = 0; i < program.waves * program.clusterSize(); ++i)
    waves.push_back(std::make_unique<Wave>(*this, i));
}

void Workgroup::fail(std::string message) {
  if (error.empty())
    error = std::move(message);
  for (std::unique_ptr<Wave> &wave : waves)
    wave->stop = true;
}

Mbarrier *Workgroup::findMbarrier(uint32_t address) {
  for (Mbarrier &mbarrier : mbarriers)
    if (mbarrier.address == address)
      return &mbarrier;
  return nullptr;
}

void Workgroup::begin(uint32_t number) {
  const std::array<uint32_t, 3> &grid = prepared.config.grid, &cluster = program.cluster;
  uint32_t columns = grid[0] / cluster[0], rows = grid[1] / cluster[1];
  id = {number % columns * cluster[0], number / columns % rows * cluster[1], number / columns / rows * cluster[2]};
  linear = id[0] + grid[0] * (id[1] + grid[1] * id[2]);
  random.seed(prepared.config.seed * 0x9e3779b97f4a7c15ull + number);
  bool restarted = clocks.reset(linear);
  if (checks)
    sharedChecker.reset(restarted);
  sync.clear();
  // Shared memory starts as a pattern that is NaN in every float format.
  std::fill(shared.begin(), shared.end(), 0xff);
  for (BarrierState &barrier : barriers)
    barrier = {};
  clusterBarrier = {};
  std::fill(reached.begin(), reached.end(), Actor());
  for (Mbarrier &mbarrier : mbarriers)
    mbarrier.live = false;
  for (std::unique_ptr<Wave> &wave : waves)
    wave->reset();
  noteChange();
}

bool Workgroup::hasEnded() const {
  return std::all_of(waves.begin(), waves.end(), [](auto &wave) { return wave->status == Status::Ended; });
}

bool Workgroup::hasLeft(uint32_t rank) const {
  auto first = waves.begin() + rank * program.waves;
  return std::all_of(first, first + program.waves, [](auto &wave) { return wave->status == Status::Ended; });
}

bool Workgroup::isPolling() const {
  return std::any_of(waves.begin(), waves.end(), [](auto &wave) { return wave->status == Status::Polling; });
}

bool Workgroup::runRound() {
  std::vector<uint32_t> order(waves.size());
  std::iota(order.begin(), order.end(), 0u);
  if (prepared.config.seed != 0)
    std::shuffle(order.begin(), order.end(), random);
  bool moved = false;
  for (uint32_t index : order) {
    Wave &wave = *waves[index];
    if (wave.status == Status::AtBarrier || wave.status == Status::Ended)
      continue;
    uint64_t fuel = wave.fuel, changes = thread.changes;
    Status before = wave.status;
    bool wasWaiting = before == Status::AtMbarrier || before == Status::AtCluster;
    wave.run();
    if (!error.empty())
      return false;
    // Looking once more at an mbarrier that is not complete, or at memory that is as it was, is no progress.
    bool looked = wave.status == Status::Polling ? thread.changes == changes
                                                 : wasWaiting && wave.status == before && fuel - wave.fuel <= 1;
    moved |= !looked;
  }
  return moved;
}

/// What a wave waits for: ", whose mbarrier at shared byte 64 lacks 1 arrivals and 256 bytes", or ", number 1, where 2
/// of 4 waves have come" at a barrier that is not all waves'.
std::string Workgroup::lackOf(const Wave &wave) const {
  if (wave.status == Status::AtBarrier) {
    const Instr &instr = program.code[wave.pc - 1];
    const BarrierState &barrier = barriers[size_t(16) * wave.rank() + wave.barrier];
    if (wave.barrier == 0 && instr.imm == 0)
      return "";
    return ", number " + std::to_string(wave.barrier) + ", where " + std::to_string(barrier.come()) + " of " +
           std::to_string(barrier.expected) + " waves have come";
  }
  auto found = std::find_if(mbarriers.begin(), mbarriers.end(), [&](const Mbarrier &mbarrier) {
    return mbarrier.live && mbarrier.address == wave.mbarrier;
  });
  if (wave.status != Status::AtMbarrier || found == mbarriers.end())
    return "";
  return ", whose mbarrier at shared byte " + std::to_string(found->address % program.blockDistance()) + " lacks " +
         std::to_string(found->pending) + " arrivals and " + std::to_string(found->bytes) + " bytes";
}

std::string Workgroup::whereWavesAre(Finding &finding) const {
  std::string text;
  bool first = finding.message.empty();
  for (const std::unique_ptr<Wave> &wave : waves) {
    text += (text.empty() ? "wave " : ", wave ") + reporter.waveName(wave->index);
    if (wave->status == Status::Ended) {
      text += " has ended";
      continue;
    }
    bool polls = wave->status == Status::Polling && wave->lastReadRegion;
    // A wave at a barrier has passed it; one that polls an mbarrier stands before it.
    uint32_t instruction = polls ? wave->lastRead : wave->status == Status::AtBarrier ? wave->pc - 1 : wave->pc;
    text += (polls ? " polls byte " + std::to_string(wave->lastReadAt) + " of `" + wave->lastReadRegion->name + "` by "
             : wave->status == Status::Polling ? " loops for ever at "
                                               : " waits at ") +
            reporter.nameOf(instruction) + lackOf(*wave);
    if (first) {
      finding.instruction = instruction;
      finding.wave = wave->index;
      first = false;
    } else if (instruction != finding.instruction && finding.other == Finding::kNone) {
      finding.other = instruction;
    }
  }
  return text;
}

void Workgroup::reportDeadlock() {
  Finding finding;
  finding.kind = FindingKind::Deadlock;
  finding.workgroup = linear;
  finding.message = "no wave can go on: " + whereWavesAre(finding);
  finding.hint = "every wave that a barrier counts has to reach it, every phase needs all its arrivals and bytes";
  reporter.add(std::move(finding));
}

} // namespace soliton::emu
