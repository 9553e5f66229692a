//===- ToCore.h - A declared body as a problem of the scheduling core --------------===//
//
// The core (soliton/schedule) knows operations, storage, counters and stages. An op of the body becomes an operation
// that touches what PipelineSchedule::touches says; the trip that its K tile belongs to gives its stage:
//
//   two tiles a trip     tile of a half = half + tilesAhead     trips ahead = tile / 2     stage = most ahead - ahead
//   LOAD_A[s0,0]@K0      half 0, 2 tiles ahead                  1                          0
//   MMA_LOAD_A[s0,0]     half 1, 1 tile ahead (rotation)        1                          0
//   MMA[0,0]             half 0                                 0                          1
//
// Dependences, hazards, barriers and waits are then the core's to derive.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/PipelineSchedule.h"
#include "soliton/schedule/Program.h"

namespace soliton::pipe {

/// A body and the loop that it is to the core.
class CoreLoop {
public:
  CoreLoop(const PipelineSchedule &pipeline, std::span<const OpDesc> body);

  sched::Problem problem;
  /// Counters: of loads, of what goes through shared memory, and, where fragments stay in place, of compute ops.
  int vm = 0, shared = 0, products = -1;

  /// The operation that is op `index` of the body; -1 for a barrier of the body, which the core derives anew.
  int operationOf(int index) const { return operations[index]; }
  /// The op of the body that an operation is; -1: something that was put in.
  int bodyIndexOf(int operation) const;
  int stageOf(int operation) const { return stages[operation]; }
  int numStages() const { return stageCount; }

  /// Something that stands at a place without touching storage: a barrier or a hint. Works for the oldest trip.
  int addMark(const OpDesc &op, const std::string &key);

  /// What really must hold between ops of the body, in trips: negative distances cannot be met by any order.
  std::vector<DepEdge> edges() const;

  /// Reads of a loaded tile or fragment that is not of the K tile its reader works on, in the order of the kernel. A
  /// dependence cannot tell: it knows who overwrites whom, not what an author means.
  std::vector<Diagnostic> checkTiles(const std::vector<std::vector<int>> &clusters) const;

  /// Operations in kernel order, cut into clusters, as a schedule of positions.
  sched::Schedule schedule(const std::vector<std::vector<int>> &clusters) const;

private:
  int64_t bytesOf(const OpDesc &op) const;
  void addStorage(std::span<const OpDesc> body);
  void addOperations(std::span<const OpDesc> body);
  void addCounters();
  int counterOf(const OpDesc &op) const;
  sched::Operation operation(const OpDesc &op, int half) const;
  int ticksOf(const OpDesc &op) const;
  int halfOfIndex(size_t index) const;
  int meantWriter(int reader, int writer, int region) const;
  Diagnostic tileError(int reader, int writer, int region, int held) const;

  const PipelineSchedule &pipeline;
  PipelineConfig config;
  ScheduleConfig knobs;
  size_t bodySize;
  /// By index in the body; by operation; the K tile that an operation works on, counted from its trip's first.
  std::vector<int> operations, bodyIndices, stages, tiles;
  std::map<std::string, int> regions;
  int stageCount = 1;
  int mma = 0, valu = 0;
};

} // namespace soliton::pipe
