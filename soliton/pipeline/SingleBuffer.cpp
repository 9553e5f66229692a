#include "soliton/pipeline/SingleBuffer.h"

#include "soliton/pipeline/Reorder.h"

namespace soliton::pipe {

SingleBuffer::SingleBuffer(int tiles, std::optional<HintShape> hints)
    : PipelineSchedule(mi355xSingleBufferTarget()), tiles(tiles), hints(hints) {}

std::vector<OpDesc> SingleBuffer::declareOps() const {
  return PipelineBody()
      .load({.tag = kLoadDram})
      .store({.tag = kStoreShared})
      .barrier()
      .fan(kLoadFrag, tiles)
      .fan(kCompute, tiles)
      .done();
}

std::vector<OpDesc> SingleBuffer::buildBody() const {
  return optimizeWithinBarriers(singleBufferReorder(annotate(declareOps(), target.costs), config()), config());
}

std::vector<ScheduleEntry> SingleBuffer::transformKernel(std::vector<ScheduleEntry> entries,
                                                         std::span<const OpDesc> body) const {
  if (hints)
    appendGroupHints(entries, body, config(), *hints);
  return entries;
}

std::vector<OpDesc> SingleBuffer::spread(std::span<const OpDesc> body, const HintCounts &counts) const {
  return hints ? groupHints(body, config(), counts) : std::vector<OpDesc>();
}

std::vector<Selection> SingleBuffer::selects(const OpDesc &op) const {
  ProductTags tags;
  std::vector<Part> step;
  if (op.role == OpRole::FragmentLoad || op.role == OpRole::Compute)
    step.push_back({"K", op.subtile, tiles});
  if (op.role == OpRole::Compute)
    return {{tags.mma, op.role, step}};
  return {{tags.operands[0], op.role, step}, {tags.operands[1], op.role, step}};
}

std::string SingleBuffer::tagName(int tag) const {
  constexpr std::array names = {"LOAD_DRAM", "STORE_SMEM", "LOAD_FRAG", "COMPUTE"};
  return tag >= 0 && tag < static_cast<int>(names.size()) ? names[tag] : PipelineSchedule::tagName(tag);
}

} // namespace soliton::pipe
