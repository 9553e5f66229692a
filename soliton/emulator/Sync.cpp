//===- Sync.cpp - Release and acquire on places in memory -----------------===//
//
// See Sync.h.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Sync.h"

namespace soliton::emu {

void SyncTable::read(Clocks &clocks, uint32_t wave, const Instr &instr, uint64_t place) {
  if (places.empty())
    return;
  auto found = places.find(place);
  if (found == places.end())
    return;
  WaveSync &sync = clocks.sync(wave);
  const Left &left = found->second;
  if (instr.scope == Scope::Device)
    sync.seen.join(left.device);
  if (left.workgroup == clocks.workgroup())
    sync.seenLocal.join(left.local);
  if (!acquires(instr.order))
    return;
  if (instr.scope == Scope::Device)
    clocks.take(wave, left.device);
  if (left.workgroup == clocks.workgroup())
    clocks.take(wave, left.local);
}

void SyncTable::write(Clocks &clocks, uint32_t wave, const Instr &instr, uint64_t place, bool keeps) {
  const WaveSync &sync = clocks.sync(wave);
  bool releasing = releases(instr.order);
  if (!releasing && sync.fencedLocal.empty()) {
    if (!keeps && !places.empty())
      places.erase(place);
    return;
  }
  Knowledge local = releasing ? clocks.handOver(wave) : Knowledge();
  Knowledge device = instr.scope == Scope::Device ? local : Knowledge();
  local.join(sync.fencedLocal);
  if (instr.scope == Scope::Device)
    device.join(sync.fenced);
  Left &left = places[place];
  if (keeps && left.workgroup == clocks.workgroup())
    local.join(left.local);
  if (keeps)
    device.join(left.device);
  left = {std::move(device), std::move(local), clocks.workgroup()};
}

void SyncTable::fence(Clocks &clocks, uint32_t wave, const Instr &instr) {
  WaveSync &sync = clocks.sync(wave);
  if (acquires(instr.order)) {
    clocks.take(wave, sync.seenLocal);
    if (instr.scope == Scope::Device)
      clocks.take(wave, sync.seen);
  }
  if (!releases(instr.order))
    return;
  sync.fencedLocal = clocks.handOver(wave);
  if (instr.scope == Scope::Device)
    sync.fenced = sync.fencedLocal;
}

} // namespace soliton::emu
