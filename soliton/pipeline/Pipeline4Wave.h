//===- Pipeline4Wave.h - Four waves, two tiles a trip, fragments that rotate -------===//
//
// The body in the order of a hand-written kernel, one small iteration per quadrant: a load, a fragment, an mma. The
// last two quadrants of a half already read the leading fragments of the next tile into registers that this tile no
// longer needs, so that a half never starts by waiting for shared memory:
//
//   LOAD_A[s,0] FB[s,1] MMA00 | LOAD_B[s,0] FA[s,1] MMA01 | LOAD_B[s,1] FA[x,0] MMA10 | LOAD_A[s,1] FB[x,0] MMA11
//
//   auto shape = fourWaveGeometry({.bm = 128, .bn = 128, .bk = 64});
//   CompiledPipeline made = compilePipeline(Pipeline4Wave(shape.geometry));
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Geometry.h"
#include "soliton/pipeline/PipelineSchedule.h"

namespace soliton::pipe {

class Pipeline4Wave : public PipelineSchedule {
public:
  /// Knobs and target as the kernel of that geometry sets them: its vm ticks, its cap on loads, fences for large tiles
  /// of two-byte elements.
  explicit Pipeline4Wave(const KernelGeometry &geometry);
  /// Of whichever kernel it drives; alone, each op is one instruction.
  Pipeline4Wave();
  /// What rotation needs (declared order, minimal barriers, partial drains, the geometry's lgkm ticks) is put back into
  /// `config` and `target` whatever they say.
  Pipeline4Wave(const KernelGeometry &geometry, const ScheduleConfig &config,
                const TargetProfile &target = mi355xTarget(4, 4, 1));

  static ScheduleConfig defaultScheduleConfig(bool fences = false);

  std::string name() const override { return "pipeline4wave"; }
  std::vector<OpDesc> declareOps() const override;
  /// A first: LOAD_A and LOAD_B of stage 0 are the first two loads of the prologue.
  std::vector<OpDesc> bootstrapFrags() const override;
  /// The default edges, and those of rotation.
  std::vector<DepEdge> deriveEdges(std::span<const OpDesc> body) const override;
  std::vector<std::vector<OpDesc>> buildExplicitBlocks(std::span<const OpDesc> body,
                                                       const PipelineProgram &program) const override;
  const KernelGeometry *geometry() const override { return madeFor ? &*madeFor : nullptr; }
  std::string tagName(int tag) const override { return tileTagName(tag); }

private:
  std::optional<KernelGeometry> madeFor;
};

} // namespace soliton::pipe
