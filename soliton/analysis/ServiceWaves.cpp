#include "soliton/analysis/ServiceWaves.h"

namespace soliton {

/// What the copying waves keep at the least: the state of their rings, and addresses.
static constexpr int64_t kLeastForCopies = 32;

bool mayExchangeRegisters(const Geometry &geometry) {
  int64_t simds = geometry.target().simdsPerComputeUnit;
  bool areGroups = geometry.waveCount() % simds == 0 && geometry.serviceWaves() == simds;
  return geometry.target().hasRegisterReallocation && areGroups;
}

ServiceRegisters registersWithService(const Geometry &geometry) {
  const Target &target = geometry.target();
  int64_t simds = target.simdsPerComputeUnit, granule = target.registerGranule;
  auto granules = [&](int64_t registers) { return registers / granule * granule; };
  int64_t onSimd = llvm::divideCeil(geometry.allWaves(), simds), computing = geometry.waveCount() / simds;
  ServiceRegisters result;
  result.atEntry = std::min(granules(target.registerFilePerSimdLane / onSimd), granules(target.registersPerLane));
  result.computing = result.copying = result.atEntry;
  if (!mayExchangeRegisters(geometry))
    return result;
  // A lane's instructions name no more than `registersPerLane`, which a budget rounds up.
  int64_t all = result.atEntry * onSimd, most = granules(target.registersPerLane + granule - 1);
  int64_t kept = geometry.serviceRegisters();
  result.computing = std::min(granules((all - (kept > 0 ? kept : kLeastForCopies)) / computing), most);
  result.copying = kept > 0 ? kept : std::min(all - computing * result.computing, result.atEntry);
  return result;
}

} // namespace soliton
