#include "soliton/pipeline/Pipeline4Wave.h"

namespace soliton::pipe {

static bool wantsFences(const KernelGeometry &geometry) {
  return geometry.bm >= 128 && !geometry.isFp8;
}

ScheduleConfig Pipeline4Wave::defaultScheduleConfig(bool fences) {
  ScheduleConfig config;
  config.wrapWaitsWithSchedBarrier = fences;
  config.schedBarrierMask = fences ? 0xFF : 0;
  return config;
}

Pipeline4Wave::Pipeline4Wave(const KernelGeometry &geometry)
    : Pipeline4Wave(geometry, defaultScheduleConfig(wantsFences(geometry)),
                    mi355xTarget(geometry.vmPerLoadA, geometry.vmPerLoadB, geometry.maxGlobals())) {}

Pipeline4Wave::Pipeline4Wave() : Pipeline4Wave(oneInstructionEach()) {
  madeFor.reset();
}

Pipeline4Wave::Pipeline4Wave(const KernelGeometry &geometry, const ScheduleConfig &config, const TargetProfile &profile)
    : PipelineSchedule(profile, config), madeFor(geometry) {
  knobs.scheduling = Strategy::Identity;
  knobs.minimalBarriers = knobs.omitMmaSetPrio = true;
  knobs.interBlockLgkmDrain = knobs.partialPrologueDrain = true;
  target.pipeline.waveStagger = WaveStagger::none();
  target.pipeline.crossStageRotation = true;
  target.pipeline.lgkmPerLoadA = geometry.lgkmPerLoadA;
  target.pipeline.lgkmPerLoadB = geometry.lgkmPerLoadB;
}

std::vector<OpDesc> Pipeline4Wave::declareOps() const {
  return PipelineBody()
      .halves([](PipelineBody &b, const Half &h) {
        b.load({.tag = kLoadA, .channel = 0, .stage = h.stage, .subtile = 0, .k = h.k});
        b.frag({.tag = kMmaLoadB, .channel = 1, .stage = h.stage, .subtile = 1});
        b.compute({.tag = kMma, .stage = 0, .subtile = 0});

        b.load({.tag = kLoadB, .channel = 1, .stage = h.stage, .subtile = 0, .k = h.k});
        b.frag({.tag = kMmaLoadA, .channel = 0, .stage = h.stage, .subtile = 1});
        b.compute({.tag = kMma, .stage = 0, .subtile = 1});

        b.load({.tag = kLoadB, .channel = 1, .stage = h.stage, .subtile = 1, .k = h.k});
        b.frag({.tag = kMmaLoadA, .channel = 0, .stage = h.other, .subtile = 0});
        b.compute({.tag = kMma, .stage = 1, .subtile = 0});

        b.load({.tag = kLoadA, .channel = 0, .stage = h.stage, .subtile = 1, .k = h.k});
        b.frag({.tag = kMmaLoadB, .channel = 1, .stage = h.other, .subtile = 0});
        b.compute({.tag = kMma, .stage = 1, .subtile = 1});
      })
      .done();
}

std::vector<OpDesc> Pipeline4Wave::bootstrapFrags() const {
  return annotate(PipelineBody()
                      .frag({.tag = kMmaLoadA, .channel = 0, .stage = 0, .subtile = 0})
                      .frag({.tag = kMmaLoadB, .channel = 1, .stage = 0, .subtile = 0})
                      .done(),
                  target.costs);
}

std::vector<DepEdge> Pipeline4Wave::deriveEdges(std::span<const OpDesc> body) const {
  std::vector<DepEdge> edges = dropSpuriousRotationFlow(PipelineSchedule::deriveEdges(body), body);
  std::vector<DepEdge> rotation = deriveRotationEdges(body);
  edges.insert(edges.end(), rotation.begin(), rotation.end());
  return edges;
}

std::vector<std::vector<OpDesc>> Pipeline4Wave::buildExplicitBlocks(std::span<const OpDesc> body,
                                                                    const PipelineProgram &program) const {
  std::vector<std::vector<OpDesc>> lists;
  for (const MmaBlock &block : program.blocks)
    lists.push_back(expandMinimalBlock(block, block.wrapWaits));
  return lists;
}

} // namespace soliton::pipe
