#include "soliton/driver/Progress.h"

#include <utility>

namespace soliton {

static thread_local const ProgressListener *current = nullptr;

ProgressScope::ProgressScope(ProgressListener listener) : listener(std::move(listener)), before(current) {
  current = &this->listener;
}
ProgressScope::~ProgressScope() {
  current = before;
}

bool isProgressHeard() {
  return current && *current;
}
void sayProgress(std::string_view step) {
  if (isProgressHeard())
    (*current)(step);
}

} // namespace soliton
