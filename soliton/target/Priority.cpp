#include "soliton/target/Priority.h"

namespace soliton {

bool hasWavePriority(const Target &target) {
  return target.vendor == Vendor::amd;
}

} // namespace soliton
