//===- SingleBuffer.h - One shared tile, registers in between ----------------------===//
//
// The default matrix product: a tile goes through registers into the one shared buffer while the tile before it is
// multiplied. Of T steps along K, fragment 0 of the next tile is read as soon as the tile is there.
//
//   T = 2:   F1 C0 BARRIER ST LD C1 BARRIER F0
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Phases.h"
#include "soliton/pipeline/PipelineSchedule.h"

namespace soliton::pipe {

class SingleBuffer : public PipelineSchedule {
public:
  /// `tiles`: steps along K. With `hints`, group hints stand behind the kernel; driving one, they are counted from its
  /// own instructions and carried out.
  explicit SingleBuffer(int tiles, std::optional<HintShape> hints = {});

  std::string name() const override { return "single_buffer"; }
  std::vector<OpDesc> declareOps() const override;
  std::vector<OpDesc> buildBody() const override;
  std::vector<ScheduleEntry> transformKernel(std::vector<ScheduleEntry> entries,
                                             std::span<const OpDesc> body) const override;
  std::vector<OpDesc> spread(std::span<const OpDesc> body, const HintCounts &counts) const override;
  /// With one step along K, the next fragments arrive while the last ones are in use.
  int copiesPerTrip() const override { return hints && tiles == 1 ? 2 : 1; }
  /// Both operands at once; fragments and compute ops are parts along K.
  std::vector<Selection> selects(const OpDesc &op) const override;
  std::string tagName(int tag) const override;

private:
  int tiles;
  std::optional<HintShape> hints;
};

} // namespace soliton::pipe
