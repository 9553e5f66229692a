//===- Checker.cpp - Judges shared-memory accesses ------------------------===//
//
// The scan over bytes compares numbers only; everything about a violation is looked up after one was seen.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Checker.h"

#include <algorithm>
#include <cstring>

namespace soliton::emu {

static bool isCounted(Agent agent) {
  return counterOf(agent) == CounterKind::shared || counterOf(agent) == CounterKind::vm;
}

FindingKind judge(const Clocks &clocks, const Actor &actor, Agent agent, uint32_t access) {
  if (clocks.isMbarrier(agent))
    return FindingKind::MissingWait;
  bool isOwn = clocks.waveOf(agent) == actor.wave;
  bool ordered = clocks.known(actor.wave)[agent] >= access || (isOwn && counterOf(agent) == CounterKind::shared);
  if (ordered && actor.proxy)
    return FindingKind::MissingFence;
  if (isOwn || clocks.issued(actor.wave)[agent] >= access)
    return FindingKind::MissingWait;
  bool complete = clocks.counter(agent).done >= access || (isCounted(agent) && clocks.barrierCompletes());
  return complete ? FindingKind::MissingBarrier : FindingKind::Race;
}

std::string repairOf(FindingKind kind, const Clocks &clocks, const Actor &actor, Agent agent, uint32_t access) {
  if (clocks.isMbarrier(agent))
    return "wait for that phase of the tile copy's mbarrier first";
  bool isOwn = clocks.waveOf(agent) == actor.wave;
  uint32_t pending = isOwn && isCounted(agent) ? clocks.counter(agent).issued - access : 0;
  std::string wait = "`wait " + std::string(name(counterOf(agent))) + ' ' + std::to_string(pending) + '`';
  switch (kind) {
  case FindingKind::MissingFence:
    return "insert `fence proxy` after it, before the waves meet";
  case FindingKind::MissingBarrier:
    return "insert `barrier` between";
  case FindingKind::MissingWait:
    return "insert " + wait + (isOwn ? " between" : " between it and the barrier");
  default:
    return "insert " + wait + " + `barrier` between";
  }
}

SharedChecker::SharedChecker(const Program &program, Clocks &clocks, Reporter &reporter)
    : program(program), clocks(clocks), reporter(reporter), bytes(program.blockDistance() * program.clusterSize()) {
  initialized.resize(bytes);
  atomicWrite.resize(bytes);
  writeAccess.resize(bytes);
  writeAgent.resize(bytes);
  bool hasBulk = false, hasMma = false, hasAtomicLoad = false;
  for (const Instr &instr : program.code) {
    hasAtomicLoad |= instr.op == Op::Load && instr.order != Order::Plain;
    hasBulk |= instr.op == Op::CopyTile && instr.sub != uint8_t(TileOp::Load);
    hasMma |= instr.op == Op::MmaAsync;
  }
  columnOf.resize(2 * clocks.numWaves() * kAgentsPerWave, 0xffffffffu);
  for (uint32_t wave = 0; wave < clocks.numWaves(); ++wave) {
    addReader(agentOf(wave, CounterKind::shared), false);
    if (hasBulk)
      addReader(bulkReaderOf(wave), false);
    if (hasMma)
      addReader(agentOf(wave, CounterKind::mma), false);
  }
  for (uint32_t wave = 0; wave < clocks.numWaves() && hasAtomicLoad; ++wave)
    addReader(agentOf(wave, CounterKind::shared), true);
}

void SharedChecker::addReader(Agent agent, bool atomic) {
  columnOf[agent + (atomic ? clocks.numWaves() * kAgentsPerWave : 0)] = static_cast<uint32_t>(readers.size());
  readers.push_back({agent, atomic});
  readAccess.emplace_back(bytes);
}

void SharedChecker::reset(bool restarted) {
  std::fill(initialized.begin(), initialized.end(), 0);
  if (!restarted)
    return;
  std::fill(writeAccess.begin(), writeAccess.end(), 0);
  for (std::vector<uint32_t> &column : readAccess)
    std::fill(column.begin(), column.end(), 0);
}

void SharedChecker::begin(const Actor &who) {
  actor = who;
  limits = clocks.known(actor.wave);
  Agent ownShared = agentOf(actor.wave, CounterKind::shared);
  // A wave's own ordinary accesses are in order. Those of an engine are in order with them only where the target
  // sends both through one queue; an engine is in order with itself.
  if (actor.agent == ownShared || clocks.barrierCompletes())
    limits[ownShared] = 0xffffffffu;
  if (!clocks.isMbarrier(actor.agent))
    limits[actor.agent] = 0xffffffffu;
  if (!actor.proxy)
    return;
  const std::vector<uint32_t> &visible = clocks.visible(actor.wave);
  for (Agent agent = 0; agent < limits.size(); ++agent)
    if (clocks.isGeneric(agent))
      limits[agent] = std::min(limits[agent], visible[agent]);
}

void SharedChecker::read(uint32_t first, uint32_t bytes, uint32_t lane) {
  uint32_t uninitialized = 0, unordered = 0;
  for (uint32_t b = first; b < first + bytes; ++b) {
    uninitialized |= initialized[b] ^ 1u;
    unordered |= writeAccess[b] > limits[writeAgent[b]] && !(actor.atomic && atomicWrite[b]);
  }
  uint32_t column = columnOf[actor.agent + (actor.atomic ? clocks.numWaves() * kAgentsPerWave : 0)];
  std::fill_n(readAccess[column].begin() + first, bytes, actor.access);
  if (!(uninitialized | unordered))
    return;
  for (uint32_t b = first; b < first + bytes; ++b) {
    if (!initialized[b])
      reportUninitialized(b, lane);
    else if (writeAccess[b] > limits[writeAgent[b]] && !(actor.atomic && atomicWrite[b]))
      reportUnordered(b, lane, false, true, writeAgent[b], writeAccess[b]);
  }
}

static bool anyAbove(const uint32_t *values, uint32_t count, uint32_t limit) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; ++i)
    found |= values[i] > limit;
  return found != 0;
}

void SharedChecker::write(uint32_t first, uint32_t bytes, uint32_t lane) {
  for (size_t column = 0; column < readers.size(); ++column) {
    auto [agent, atomic] = readers[column];
    uint32_t limit = limits[agent];
    const uint32_t *reads = readAccess[column].data();
    if ((atomic && actor.atomic) || !anyAbove(reads + first, bytes, limit))
      continue;
    for (uint32_t b = first; b < first + bytes; ++b)
      if (reads[b] > limit)
        reportUnordered(b, lane, true, false, agent, reads[b]);
  }
  for (uint32_t b = first; actor.accumulates && b < first + bytes; ++b)
    if (!initialized[b])
      reportUninitialized(b, lane);
  for (uint32_t b = first; b < first + bytes; ++b)
    if (writeAccess[b] > limits[writeAgent[b]] && !(actor.atomic && atomicWrite[b]))
      reportUnordered(b, lane, true, true, writeAgent[b], writeAccess[b]);
  std::fill_n(writeAccess.begin() + first, bytes, actor.access);
  std::fill_n(writeAgent.begin() + first, bytes, static_cast<uint16_t>(actor.agent));
  std::memset(initialized.data() + first, 1, bytes);
  std::memset(atomicWrite.data() + first, actor.atomic ? 1 : 0, bytes);
}

/// "shared byte 512 (byte 0 of `rhs`)".
static std::string byteText(const Program &program, uint32_t byte) {
  std::string rank;
  if (program.clusterSize() > 1)
    rank = " of workgroup " + std::to_string(byte / program.blockDistance()) + " of the cluster";
  byte %= program.blockDistance();
  std::string text = "shared byte " + std::to_string(byte) + rank;
  for (const Region &region : program.regions)
    if (region.shared && byte >= region.offset && byte - region.offset < region.bytes)
      return text + " (byte " + std::to_string(byte - region.offset) + " of `" + region.name + "`)";
  return text;
}

void SharedChecker::reportUninitialized(uint32_t byte, uint32_t lane) {
  if (!reporter.isNew(FindingKind::Uninitialized, actor.instruction, Finding::kNone))
    return;
  Finding finding;
  finding.kind = FindingKind::Uninitialized;
  finding.message = reporter.nameOf(actor.instruction) + " reads " + byteText(program, byte) + " in wave " +
                    reporter.waveName(actor.wave) + ", lane " + std::to_string(lane) + ", which nothing has written";
  finding.instruction = actor.instruction;
  finding.workgroup = actor.workgroup;
  finding.wave = actor.wave;
  finding.lane = lane;
  finding.address = byte;
  finding.hint = "write it first, or mask the lanes that have nothing to read";
  reporter.add(std::move(finding));
}

void SharedChecker::reportUnordered(uint32_t byte, uint32_t lane, bool isWrite, bool otherIsWrite, Agent agent,
                                    uint32_t access) {
  FindingKind kind = judge(clocks, actor, agent, access);
  uint32_t other = clocks.instructionOf(agent, access);
  // The byte was read before it was written only because nothing orders the two.
  if (isWrite && !otherIsWrite)
    reporter.withdraw(FindingKind::Uninitialized, other, actor.workgroup);
  if (!reporter.isNew(kind, actor.instruction, other))
    return;
  Finding finding;
  finding.kind = kind;
  finding.hint = repairOf(kind, clocks, actor, agent, access);
  std::string owner = clocks.isMbarrier(agent) ? "" : " of wave " + reporter.waveName(clocks.waveOf(agent));
  finding.message = reporter.nameOf(actor.instruction) + (isWrite ? " writes " : " reads ") + byteText(program, byte) +
                    " in wave " + reporter.waveName(actor.wave) + ", lane " + std::to_string(lane) +
                    ", not ordered after the " + (otherIsWrite ? "write" : "read") + " by " + reporter.nameOf(other) +
                    owner;
  finding.instruction = actor.instruction;
  finding.other = other;
  finding.workgroup = actor.workgroup;
  finding.wave = actor.wave;
  finding.lane = lane;
  finding.address = byte;
  reporter.add(std::move(finding));
}

} // namespace soliton::emu
