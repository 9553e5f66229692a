//===- PipelineSchedule.h - A software pipeline, declared --------------------------===//
//
// What an author writes: the ops of one trip in any order that suits, and a few words on how they are dressed. A page
// of C++ is a pipeline:
//
//   struct TwoStage : PipelineSchedule {
//     std::vector<OpDesc> declareOps() const override {
//       return PipelineBody().halves([](PipelineBody &b, const Half &h) {
//         b.load({.tag = kLoadA, .channel = 0, .stage = h.stage, .k = h.k}) …
//         b.frag({.tag = kMmaLoadA, .channel = 0, .stage = h.stage}) …
//         b.compute({.tag = kMma});
//       }).done();
//     }
//   };
//   CompiledPipeline made = compilePipeline(TwoStage{});      // exact: derived and proven
//
// Everything else has a default that a pipeline may override.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Geometry.h"
#include "soliton/pipeline/Phases.h"
#include "soliton/pipeline/PipelineBody.h"
#include "soliton/pipeline/Selection.h"
#include "soliton/pipeline/Storage.h"

namespace soliton::pipe {

class PipelineSchedule {
public:
  explicit PipelineSchedule(const TargetProfile &target = mi355xTarget(), const ScheduleConfig &knobs = {})
      : target(target), knobs(knobs) {}
  virtual ~PipelineSchedule() = default;

  /// Its name on command lines and in reports.
  virtual std::string name() const { return "pipeline"; }
  virtual PipelineConfig config() const { return target.pipeline; }
  virtual ScheduleConfig scheduleConfig() const { return knobs; }

  /// The ops of one trip; of a double-buffer pipeline both halves, one after the other.
  virtual std::vector<OpDesc> declareOps() const = 0;
  /// The declared ops with their costs, in the order from which strategies start.
  virtual std::vector<OpDesc> buildBody() const { return annotate(declareOps(), target.costs); }
  /// Faithful mode: the edges that strategies keep.
  virtual std::vector<DepEdge> deriveEdges(std::span<const OpDesc> body) const {
    return deriveDefaultEdges(body, config());
  }
  /// Faithful mode: fragments that the prologue reads, the i-th behind the i-th load.
  virtual std::vector<OpDesc> bootstrapFrags() const { return {}; }
  /// Faithful mode: one list per block that replaces the template; empty: the template.
  virtual std::vector<std::vector<OpDesc>> buildExplicitBlocks(std::span<const OpDesc> body,
                                                               const PipelineProgram &program) const {
    return {};
  }
  /// Faithful mode, single buffer: the kernel's list, for hints that are put behind it.
  virtual std::vector<ScheduleEntry> transformKernel(std::vector<ScheduleEntry> entries,
                                                     std::span<const OpDesc> body) const {
    return entries;
  }

  /// Exact mode: what an op touches. `half` is the K tile of the trip that its place in the body belongs to.
  virtual std::vector<Touch> touches(const OpDesc &op, int half) const { return tileTouches(op, half, config()); }
  /// Exact mode: how many K tiles ahead of its half an op works.
  virtual int tilesAhead(const OpDesc &op, int half) const { return defaultTilesAhead(op, half, config()); }
  /// Exact mode: groups of waves, the first and one that runs a barrier behind it for each further one.
  virtual int waveGroups() const { return config().waveStagger.enabled ? 2 : 1; }

  /// Driving a kernel (Drive.h): the tag of the loop that it drives.
  virtual std::string loopTag() const { return "k_loop"; }
  /// Driving a kernel: the instructions that an op stands for.
  virtual std::vector<Selection> selects(const OpDesc &op) const { return tileSelections(op, config()); }
  /// Driving a kernel in faithful mode: the same for the framework's own half-tiles.
  virtual std::vector<Selection> selectsShipped(const OpDesc &op) const { return selects(op); }
  /// Whether those half-tiles are halves of the rows, whichever wave reads them.
  virtual bool halvesAreRows() const { return false; }
  /// Driving a kernel: how instructions of one tile are spread among each other, as group hints. They are carried out:
  /// each takes the next instructions of its class, in the order of the body. None: one op after the other.
  virtual std::vector<OpDesc> spread(std::span<const OpDesc> body, const HintCounts &counts) const { return {}; }
  /// Driving a kernel: copies of the kernel's loop in one trip.
  virtual int copiesPerTrip() const { return config().numPartitions; }
  /// The tile that the counts of the declaration are of; null: that of whichever kernel it drives.
  virtual const KernelGeometry *geometry() const { return nullptr; }

  /// The kernel's word for a tag.
  virtual std::string tagName(int tag) const;
  std::string text(const OpDesc &op) const { return toString(op, op.tag < kFirstFrameworkTag ? tagName(op.tag) : ""); }

protected:
  TargetProfile target;
  ScheduleConfig knobs;
};

/// The words of TileTag.
std::string tileTagName(int tag);

} // namespace soliton::pipe
