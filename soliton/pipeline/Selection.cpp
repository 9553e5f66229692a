#include "soliton/pipeline/Selection.h"

namespace soliton::pipe {

static Selection fragmentOf(int channel, int subtile, const PipelineConfig &config, const ProductTags &tags) {
  bool isRow = channel == 0;
  return {tags.operands[isRow ? 0 : 1],
          OpRole::FragmentLoad,
          {{isRow ? "M" : "N", subtile, isRow ? config.mMmas : config.nMmas}}};
}

std::vector<Selection> tileSelections(const OpDesc &op, const PipelineConfig &config, const ProductTags &tags) {
  switch (op.role) {
  case OpRole::GlobalLoad:
  case OpRole::SharedStore:
    return {{tags.operands[op.channel == 0 ? 0 : 1], op.role, {}, {fragmentOf(op.channel, op.subtile, config, tags)}}};
  case OpRole::FragmentLoad:
    return {fragmentOf(op.channel, op.subtile, config, tags)};
  case OpRole::Compute:
    return {{tags.mma, OpRole::Compute, {{"M", op.stage, config.mMmas}, {"N", op.subtile, config.nMmas}}}};
  default:
    return {};
  }
}

} // namespace soliton::pipe
