#include "soliton/driver/Assembler.h"

#include "soliton/backend/Backend.h"

namespace soliton {

bool canAssemble(const Target &target) {
  return target.vendor == Vendor::amd || backend::findPtxas().has_value();
}

} // namespace soliton
