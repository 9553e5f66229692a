//===- Workgroup.cpp - Interleaves the waves of a workgroup ---------------===//
//
// Round robin: every wave that can run does so until it blocks or gives way; with a seed the order and the places at
// which waves give way are random. If a whole round moves nothing and a wave is left, that is a deadlock.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <numeric>

namespace soliton::emu {

Workgroup::Workgroup(const Prepared &prepared, Reporter &reporter)
    : prepared(prepared), program(prepared.program), reporter(reporter),
      clocks(program.waves, program.rules.barrierCompletesShared), sharedChecker(program, clocks, reporter),
      globalChecker(program, clocks, reporter), checks(prepared.config.checks) {
  // Tiles are read by rows of up to 16 bytes; the slack keeps those reads inside.
  shared.resize(program.sharedBytes + 16);
  for (std::vector<uint64_t> &buffer : scratch)
    buffer.resize(prepared.scratchBytes / 8 + 8);
  for (uint32_t i = 0; i < program.waves; ++i)
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

void Workgroup::run(uint32_t number, std::array<uint32_t, 3> where) {
  linear = number;
  id = where;
  random.seed(prepared.config.seed * 0x9e3779b97f4a7c15ull + number);
  bool restarted = clocks.reset();
  if (checks)
    sharedChecker.reset(restarted);
  // Shared memory starts as a pattern that is NaN in every float format.
  std::fill(shared.begin(), shared.end(), 0xff);
  for (BarrierState &barrier : barriers)
    barrier = {};
  for (Mbarrier &mbarrier : mbarriers)
    mbarrier.live = false;
  for (std::unique_ptr<Wave> &wave : waves)
    wave->reset();
  while (error.empty() && runRound()) {
  }
  bool ended = std::all_of(waves.begin(), waves.end(), [](auto &wave) { return wave->status == Status::Ended; });
  if (error.empty() && !ended)
    reportDeadlock();
}

bool Workgroup::runRound() {
  std::vector<uint32_t> order(waves.size());
  std::iota(order.begin(), order.end(), 0u);
  if (prepared.config.seed != 0)
    std::shuffle(order.begin(), order.end(), random);
  bool moved = false;
  for (uint32_t index : order) {
    Wave &wave = *waves[index];
    if (wave.status != Status::Ready && wave.status != Status::AtMbarrier)
      continue;
    uint64_t before = wave.fuel;
    bool wasPolling = wave.status == Status::AtMbarrier;
    wave.run();
    if (!error.empty())
      return false;
    // Looking once more at an mbarrier that is not complete is no progress.
    moved |= !wasPolling || wave.status != Status::AtMbarrier || before - wave.fuel > 1;
  }
  return moved;
}

void Workgroup::reportDeadlock() {
  Finding finding;
  finding.kind = FindingKind::Deadlock;
  finding.workgroup = linear;
  bool first = true;
  for (std::unique_ptr<Wave> &wave : waves) {
    std::string text = "wave " + std::to_string(wave->index);
    if (wave->status == Status::Ended) {
      finding.message += (finding.message.empty() ? "" : ", ") + text + " has ended";
      continue;
    }
    // A wave at a barrier has passed it; one that polls an mbarrier stands before it.
    uint32_t instruction = wave->status == Status::AtBarrier ? wave->pc - 1 : wave->pc;
    finding.message += (finding.message.empty() ? "" : ", ") + text + " waits at " + reporter.nameOf(instruction);
    if (first) {
      finding.instruction = instruction;
      finding.wave = wave->index;
      first = false;
    } else if (instruction != finding.instruction && finding.other == Finding::kNone) {
      finding.other = instruction;
    }
  }
  finding.message = "no wave can go on: " + finding.message;
  finding.hint = "every wave that a barrier counts has to reach it, every phase needs all its arrivals and bytes";
  reporter.add(std::move(finding));
}

} // namespace soliton::emu
