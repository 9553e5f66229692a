#include "soliton/authoring/Request.h"

namespace soliton::sched {

LoopReport::LoopReport() = default;
LoopReport::LoopReport(const LoopReport &) = default;
LoopReport::LoopReport(LoopReport &&) noexcept = default;
LoopReport &LoopReport::operator=(const LoopReport &) = default;
LoopReport &LoopReport::operator=(LoopReport &&) noexcept = default;
LoopReport::~LoopReport() = default;

} // namespace soliton::sched
