//===- PingPong.h - Eight waves in two groups, one barrier apart -------------------===//
//
// One group computes while the other moves data. Fragments are read in the half that multiplies them; one load of each
// half completes the other stage, the others fetch the next pair of tiles. A half of A is what one group reads, so its
// overwriting concerns that group only.
//
//   FB[s,0] FA[s,0] LA[o,1] M00 | FB[s,1] LA[s,0] M01 | FA[s,1] LB[s,0] M10 | LB[s,1] M11
//
//   auto shape = pingPongGeometry({.bm = 256, .bn = 256, .bk = 64});
//   CompiledPipeline made = compilePipeline(PingPong(shape.geometry));
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Geometry.h"
#include "soliton/pipeline/PipelineSchedule.h"

namespace soliton::pipe {

class PingPong : public PipelineSchedule {
public:
  explicit PingPong(const KernelGeometry &geometry);
  /// Of whichever kernel it drives; alone, each op is one instruction.
  PingPong();
  PingPong(const KernelGeometry &geometry, const ScheduleConfig &config, const TargetProfile &target);

  static ScheduleConfig defaultScheduleConfig(const KernelGeometry &geometry);

  std::string name() const override { return "ping_pong"; }
  std::vector<OpDesc> declareOps() const override;
  /// Blocks are interleaved: fragments where they are first needed, loads where there is room.
  std::vector<OpDesc> buildBody() const override;
  std::vector<Touch> touches(const OpDesc &op, int half) const override;
  /// A half of A is the rows of one group of waves, a half of B half of the columns.
  std::vector<Selection> selectsShipped(const OpDesc &op) const override;
  bool halvesAreRows() const override { return true; }
  const KernelGeometry *geometry() const override { return madeFor ? &*madeFor : nullptr; }
  std::string tagName(int tag) const override { return tileTagName(tag); }

private:
  std::optional<KernelGeometry> madeFor;
};

} // namespace soliton::pipe
