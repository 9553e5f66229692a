#include "soliton/pipeline/PipelineSchedule.h"

namespace soliton::pipe {

std::string PipelineSchedule::tagName(int tag) const {
  return "OP" + std::to_string(tag);
}

std::string tileTagName(int tag) {
  constexpr std::array names = {"LOAD_A", "LOAD_B", "COMPUTE", "MMA_LOAD_A", "MMA_LOAD_B", "MMA"};
  return tag >= 0 && tag < static_cast<int>(names.size()) ? names[tag] : "OP" + std::to_string(tag);
}

} // namespace soliton::pipe
