#include "soliton/analysis/ServiceWaves.h"

namespace soliton {

/// What the copying waves keep at the least: the state of their rings, and addresses.
static constexpr int64_t kLeastForCopies = 32;

ServiceRegisters registersWithService(const Geometry &geometry) {
  const Target &target = geometry.target();
  int64_t simds = target.simdsPerComputeUnit, granule = target.registerGranule;
  auto granules = [&](int64_t registers) { return registers / granule * granule; };
  int64_t onSimd = llvm::divideCeil(geometry.allWaves(), simds), computing = geometry.waveCount() / simds;
  ServiceRegisters result;
  result.atEntry = std::min(granules(target.registerFilePerSimdLane / onSimd), granules(target.registersPerLane));
  result.computing = result.copying = result.atEntry;
  bool areGroups = geometry.waveCount() % simds == 0 && geometry.serviceWaves() == simds;
  if (!target.hasRegisterReallocation || !areGroups)
    return result;
  // A lane's instructions name no more than `registersPerLane`, which a budget rounds up.
  int64_t all = result.atEntry * onSimd, most = granules(target.registersPerLane + granule - 1);
  result.computing = std::min(granules((all - kLeastForCopies) / computing), most);
  result.copying = std::min(all - computing * result.computing, result.atEntry);
  return result;
}

} // namespace soliton
