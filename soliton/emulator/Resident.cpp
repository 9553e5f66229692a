//===- Resident.cpp - Interleaves workgroups that see each other ----------===//
//
// As many workgroups as the target holds are resident; each in turn goes on for a few rounds, and the next one of the
// grid starts when one ends. Hardware promises no more: which workgroups start first, and how fast each runs, is open.
// Where all that are resident wait for something that none of them will do, that is a deadlock:
//
//   grid 3, two resident: workgroups 0 and 1 poll a flag that workgroup 2 would set, which cannot start
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <numeric>

namespace soliton::emu {
namespace {

/// Rounds that a workgroup goes on for: mostly few, so that workgroups meet inside of their loops, sometimes so many
/// that one is far ahead of the others.
constexpr std::array<uint32_t, 8> kRounds{1, 1, 1, 2, 4, 16, 64, 1024};
/// Without atomics nobody can wait for another workgroup without a race: a few show what there is to see.
constexpr uint64_t kPlainResidents = 8;

uint64_t bytesOf(const Prepared &prepared) {
  const Program &program = prepared.program;
  uint64_t waves = program.waves * program.clusterSize(), shared = program.sharedBytes * program.clusterSize();
  uint64_t shadow = prepared.config.checks ? 8 + 4 * waves : 0;
  return waves * prepared.waveBytes + shared * (1 + shadow) + 4096;
}

bool hasOrder(const Program &program) {
  return std::any_of(program.code.begin(), program.code.end(), [&](const Instr &instr) {
    return instr.op != Op::Fence && instr.order != Order::Plain &&
           !program.regions[program.addresses[instr.index].region].shared;
  });
}

class Interleaver {
public:
  Interleaver(const Prepared &prepared, HostThread &thread, std::vector<std::unique_ptr<Workgroup>> &groups)
      : prepared(prepared), thread(thread), groups(groups), random(prepared.config.seed) {
    const std::array<uint32_t, 3> &grid = prepared.config.grid;
    uint32_t together = prepared.program.clusterSize();
    total = uint64_t(grid[0]) * grid[1] * grid[2] / together;
    byTarget = prepared.config.resident;
    if (byTarget == 0)
      byTarget = residentWorkgroups(prepared.program);
    byTarget = std::max<uint64_t>(1, byTarget / together);
    uint64_t most = hasOrder(prepared.program) || prepared.mayPoll ? byTarget : std::min(byTarget, kPlainResidents);
    window = std::clamp<uint64_t>(most, 1, std::max<uint64_t>(1, prepared.config.residentBytes / bytesOf(prepared)));
    if (prepared.config.adversarial && prepared.config.seed != 0)
      scatter();
  }

  void run() {
    while (fill(), !running.empty()) {
      bool moved = false;
      std::vector<Workgroup *> order = running;
      if (prepared.config.seed != 0)
        std::shuffle(order.begin(), order.end(), random);
      for (Workgroup *group : order) {
        moved |= turn(*group);
        if (!group->error.empty())
          return;
      }
      if (!moved)
        return reportDeadlock();
    }
  }

private:
  /// Start numbers in an order of their own: first + step * i, where step and the grid have no common divisor.
  void scatter() {
    first = random() % total;
    do
      step = 1 + random() % total;
    while (std::gcd(step, total) != 1);
  }

  void fill() {
    for (; running.size() < window && started < total; ++started) {
      if (idle.empty())
        idle.push_back(groups.emplace_back(std::make_unique<Workgroup>(prepared, thread)).get());
      Workgroup *group = idle.back();
      idle.pop_back();
      auto number = (first + static_cast<unsigned __int128>(step) * started) % total;
      group->begin(static_cast<uint32_t>(number));
      running.push_back(group);
    }
  }

  /// Whether the workgroup got further; one that has ended, or never will, leaves.
  bool turn(Workgroup &group) {
    uint32_t rounds = prepared.config.seed == 0 ? kRounds.back() : kRounds[random() % kRounds.size()];
    bool moved = false, last = true;
    for (uint32_t i = 0; i < rounds && last; ++i) {
      last = group.runRound();
      moved |= last;
      if (!group.error.empty())
        return false;
    }
    if (last || (!group.hasEnded() && group.isPolling()))
      return moved;
    if (!group.hasEnded())
      group.reportDeadlock();
    std::erase(running, &group);
    idle.push_back(&group);
    return true;
  }

  void reportDeadlock() {
    Finding finding;
    finding.kind = FindingKind::Deadlock;
    const Workgroup &group = *running.front();
    finding.workgroup = group.linear;
    std::string waves = group.whereWavesAre(finding);
    findWriter(group, finding);
    finding.message = "no workgroup can go on: in workgroup " + std::to_string(group.linear) + " " + waves;
    if (running.size() > 1)
      finding.message += "; " + std::to_string(running.size() - 1) + " more are resident and wait as well";
    if (started < total)
      finding.message += "; " + std::to_string(total - started) + " of " + std::to_string(total) +
                         " have not started, because " + std::to_string(window) + " fill the device" +
                         (window < byTarget ? " as far as the memory given to the emulator goes" : "");
    finding.hint = started < total ? "launch no more workgroups than are resident at once, or wait only for those that "
                                     "took an earlier ticket"
                                   : "some workgroup has to write what the others wait for";
    thread.reporter.add(std::move(finding));
  }

  /// The other place of the deadlock: where what is polled would be written.
  void findWriter(const Workgroup &group, Finding &finding) const {
    const Program &program = prepared.program;
    for (const std::unique_ptr<Wave> &wave : group.waves) {
      if (wave->status != Status::Polling || !wave->lastReadRegion || finding.instruction != wave->lastRead)
        continue;
      for (uint32_t i = 0; i < program.code.size(); ++i) {
        bool writes = program.code[i].op == Op::Store || program.code[i].op == Op::Atomic;
        if (writes && i != wave->lastRead &&
            &program.regions[program.addresses[program.code[i].index].region] == wave->lastReadRegion)
          finding.other = i;
      }
    }
  }

  const Prepared &prepared;
  HostThread &thread;
  std::vector<std::unique_ptr<Workgroup>> &groups;
  std::mt19937_64 random;
  std::vector<Workgroup *> running, idle;
  uint64_t total = 0, started = 0, window = 1, byTarget = 1;
  uint64_t first = 0, step = 1;
};

} // namespace

void runInterleaved(const Prepared &prepared, HostThread &thread, std::vector<std::unique_ptr<Workgroup>> &groups) {
  Interleaver(prepared, thread, groups).run();
}

} // namespace soliton::emu
