//===- Machine.cpp - Runs a grid ------------------------------------------===//
//
// Refuses what cannot run, deals workgroups to host threads in turn unless they can see each other, joins their
// findings and statistics.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Machine.h"

#include "soliton/emulator/Wave.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace soliton::emu {

Statistics &Statistics::operator+=(const Statistics &other) {
  instructions += other.instructions;
  arithmetic += other.arithmetic;
  control += other.control;
  lanes += other.lanes;
  globalAccesses += other.globalAccesses;
  sharedAccesses += other.sharedAccesses;
  asyncCopies += other.asyncCopies;
  mma += other.mma;
  barriers += other.barriers;
  waits += other.waits;
  bankConflicts += other.bankConflicts;
  residents += other.residents;
  return *this;
}

static Statistics statisticsOf(const Workgroup &group) {
  Statistics s;
  for (int i = 0; i < kNumOps; ++i) {
    auto op = static_cast<Op>(i);
    uint64_t count = group.counts[size_t(i)];
    s.instructions += count;
    if (op <= Op::Arg && op != Op::End && op != Op::Nop)
      s.arithmetic += count;
    else if (op <= Op::MaskPop)
      s.control += count;
    else if (op >= Op::Shuffle)
      s.lanes += count;
  }
  auto count = [&](Op op) { return group.counts[static_cast<size_t>(op)]; };
  s.globalAccesses = group.globalAccesses;
  s.sharedAccesses = group.sharedAccesses;
  s.asyncCopies = count(Op::CopyAsync) + count(Op::CopyTile);
  s.mma = count(Op::Mma) + count(Op::MmaAsync);
  s.barriers = count(Op::Barrier);
  s.waits = count(Op::Wait) + count(Op::MbarrierWait);
  s.bankConflicts = group.bankConflicts;
  s.residents = 1;
  return s;
}

/// Why the launch does not fit the program, or an empty string.
static std::string checkLaunch(const Program &program, const LaunchConfig &config) {
  if (config.buffers.size() != program.numBuffers)
    return std::to_string(config.buffers.size()) + " buffers, expected " + std::to_string(program.numBuffers);
  if (config.scalars.size() != program.scalars.size())
    return std::to_string(config.scalars.size()) + " scalars, expected " + std::to_string(program.scalars.size());
  for (size_t i = 0; i < config.buffers.size(); ++i)
    if (!config.buffers[i].data && config.buffers[i].bytes)
      return "buffer " + std::to_string(i) + " has " + std::to_string(config.buffers[i].bytes) + " bytes and no data";
  uint64_t workgroups = 1;
  for (uint32_t extent : config.grid)
    if (__builtin_mul_overflow(workgroups, uint64_t(extent), &workgroups) || workgroups > 0xffffffffu)
      return "the grid has more than 2^32 - 1 workgroups";
  for (size_t axis = 0; axis < 3; ++axis)
    if (config.grid[axis] % program.cluster[axis] != 0)
      return "a grid of " + std::to_string(config.grid[axis]) + " workgroups along axis " + std::to_string(axis) +
             ", expected a multiple of the cluster's " + std::to_string(program.cluster[axis]);
  return {};
}

namespace {

/// What one host thread does: every `stride`-th workgroup from `first`, or all of them at once.
struct Worker {
  Worker(const Prepared &prepared, Reporter &reporter) : prepared(prepared), thread(prepared, reporter) {}

  void run(uint32_t first, uint32_t stride, uint64_t total, std::atomic<bool> &stop) {
    if (prepared.interleaved)
      return runInterleaved(prepared, thread, groups);
    Workgroup &group = *groups.emplace_back(std::make_unique<Workgroup>(prepared, thread));
    for (uint64_t linear = first; linear < total && !stop; linear += stride) {
      group.begin(static_cast<uint32_t>(linear));
      while (group.error.empty() && group.runRound()) {
      }
      if (group.error.empty() && !group.hasEnded())
        group.reportDeadlock();
      if (!group.error.empty())
        stop = true;
    }
  }

  const Prepared &prepared;
  HostThread thread;
  std::vector<std::unique_ptr<Workgroup>> groups;
};

uint32_t threadsFor(const Prepared &prepared, uint64_t total) {
  if (prepared.interleaved)
    return 1;
  uint64_t most = std::clamp<uint64_t>(total, 1, 64);
  return static_cast<uint32_t>(std::clamp<uint64_t>(prepared.config.threads, 1, most));
}

} // namespace

Result run(const Program &program, const LaunchConfig &config) {
  Result result;
  result.error = validate(program);
  if (result.error.empty())
    result.error = checkLaunch(program, config);
  uint64_t total = uint64_t(config.grid[0]) * config.grid[1] * config.grid[2] / std::max(1u, program.clusterSize());
  if (!result.error.empty() || total == 0)
    return result;
  Prepared prepared(program, config);
  uint32_t threads = threadsFor(prepared, total);
  std::vector<Reporter> reporters(threads, Reporter(program));
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t i = 0; i < threads; ++i)
    workers.push_back(std::make_unique<Worker>(prepared, reporters[i]));
  std::atomic<bool> stop = false;
  std::vector<std::thread> running;
  for (uint32_t i = 1; i < threads; ++i)
    running.emplace_back([&, i] { workers[i]->run(i, threads, total, stop); });
  workers[0]->run(0, threads, total, stop);
  for (std::thread &thread : running)
    thread.join();
  for (uint32_t i = 0; i < threads; ++i) {
    for (const std::unique_ptr<Workgroup> &group : workers[i]->groups) {
      if (result.error.empty()) {
        result.error = group->error;
        result.errorPlace = group->errorPlace;
      }
      result.statistics += statisticsOf(*group);
    }
    for (uint32_t j = 0; j < i && config.checks; ++j)
      GlobalChecker::compare(workers[j]->thread.globalChecker, workers[i]->thread.globalChecker, reporters[j]);
  }
  Reporter::merge(reporters, config.maxFindings, result);
  return result;
}

} // namespace soliton::emu
