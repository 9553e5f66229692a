// What must hold of blocks whoever made them.
#include "soliton/pipeline/Blocks.h"

#include <algorithm>
#include <tuple>

namespace soliton::pipe {
namespace {
class BlockVerifier {
public:
  BlockVerifier(const PipelineProgram &program, const PipelineConfig &config) : program(program), config(config) {}

  std::vector<Diagnostic> run() {
    for (size_t b = 0; b < program.blocks.size(); ++b) {
      checkCapacity(b);
      checkStages(b);
    }
    checkPrefetches();
    return std::move(errors);
  }

private:
  static std::string name(size_t b) { return "block " + std::to_string(b); }
  int halfOfBlock(size_t b) const { return static_cast<int>(b) / config.mmasPerPartition(); }

  void error(DiagId id, const OpDesc &at, std::string message, std::string hint) {
    errors.push_back({Severity::error, id, at.where.place(), std::move(message), std::move(hint), {}});
  }

  void checkCapacity(size_t b) {
    const MmaBlock &block = program.blocks[b];
    for (auto [what, ops, room] : {std::tuple("fragments", &block.frags, kMaxFragsPerBlock),
                                   std::tuple("loads", &block.loads, kMaxLoadsPerBlock)})
      if (ops->size() > room)
        error(DiagId::PipelineBlockCapacity, (*ops)[room],
              name(b) + " has " + std::to_string(ops->size()) + " " + what + ", a block of a faithful program holds " +
                  std::to_string(room),
              "move one to a block that has room, or compile in exact mode, where blocks have no limit");
  }

  void checkStages(size_t b) {
    if (config.depth < 2 || config.crossStageRotation)
      return;
    for (const OpDesc &frag : program.blocks[b].frags)
      if (frag.stage != halfOfBlock(b))
        error(DiagId::PipelineStage, frag,
              "a fragment of stage " + std::to_string(frag.stage) + " is read in " + name(b) + ", half " +
                  std::to_string(halfOfBlock(b)),
              "read it in its own half, or say that fragments rotate (`crossStageRotation`)");
  }

  /// Without a load of a later tile there is nothing to pipeline.
  void checkPrefetches() {
    bool any = false;
    for (const MmaBlock &block : program.blocks)
      any |= std::any_of(block.loads.begin(), block.loads.end(), [](const OpDesc &op) { return isPrefetch(op.k); });
    if (!any && !program.blocks.empty())
      error(DiagId::PipelineOperandMissing, program.blocks.front().mma, "no load fetches a later K tile",
            "give loads their tile: `.k = KOffset::K0`");
  }

  const PipelineProgram &program;
  const PipelineConfig &config;
  std::vector<Diagnostic> errors;
};
} // namespace

std::vector<Diagnostic> verifyBlocks(const PipelineProgram &program, const PipelineConfig &pipeline) {
  return BlockVerifier(program, pipeline).run();
}

} // namespace soliton::pipe
