//===- Clocks.cpp - What has happened before what -------------------------===//
//
// See Clocks.h.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Clocks.h"

#include <algorithm>

namespace soliton::emu {

bool CounterState::wait(uint32_t pending, bool counted) {
  uint32_t before = done;
  if (counted)
    done = std::max(done, issued > pending ? issued - pending : 0);
  else
    while (groups.size() > pending) {
      done = std::max(done, groups.front());
      groups.pop_front();
    }
  return done != before;
}

void ClockSet::resize(size_t agents) {
  known.resize(agents, 0);
  issued.resize(agents, 0);
  visible.resize(agents, 0);
}

static void joinInto(std::vector<uint32_t> &into, const std::vector<uint32_t> &from) {
  for (size_t i = 0, e = std::min(into.size(), from.size()); i < e; ++i)
    into[i] = std::max(into[i], from[i]);
}

void ClockSet::join(const ClockSet &other) {
  resize(std::max(known.size(), other.known.size()));
  joinInto(known, other.known);
  joinInto(issued, other.issued);
  joinInto(visible, other.visible);
  others.join(other.others);
}

Clocks::Clocks(uint32_t waves, bool barrierCompletes) : waves(waves), completes(barrierCompletes) {
  sets.resize(waves);
  syncs.resize(waves);
  for (uint32_t i = 0; i < waves * kAgentsPerWave; ++i)
    addAgent();
}

Agent Clocks::addAgent() {
  counters.emplace_back();
  instructions.emplace_back();
  firstAccess.push_back(1);
  for (ClockSet &set : sets)
    set.resize(counters.size());
  return numAgents() - 1;
}

bool Clocks::reset(uint32_t workgroup) {
  number = workgroup;
  for (WaveSync &sync : syncs)
    sync = {};
  for (ClockSet &set : sets)
    set.others = {};
  bool restart = std::any_of(counters.begin(), counters.end(),
                             [](const CounterState &state) { return state.issued > (1u << 31); });
  for (Agent agent = 0; agent < numAgents(); ++agent) {
    CounterState &state = counters[agent];
    if (restart)
      state.issued = 0;
    state.done = state.issued;
    state.groups.clear();
    instructions[agent].clear();
    firstAccess[agent] = state.issued + 1;
    for (ClockSet &set : sets)
      set.known[agent] = set.issued[agent] = set.visible[agent] = state.issued;
  }
  return restart;
}

uint32_t Clocks::issue(Agent agent, uint32_t instruction) {
  instructions[agent].push_back(instruction);
  return ++counters[agent].issued;
}

uint32_t Clocks::instructionOf(Agent agent, uint32_t access) const {
  uint32_t index = access - firstAccess[agent];
  return index < instructions[agent].size() ? instructions[agent][index] : 0xffffffffu;
}

void Clocks::setInstruction(Agent agent, uint32_t instruction) {
  if (!instructions[agent].empty())
    instructions[agent].back() = instruction;
}

bool Clocks::isGeneric(Agent agent) const {
  if (isMbarrier(agent))
    return false;
  CounterKind counter = counterOf(agent);
  return counter == CounterKind::shared || counter == CounterKind::vm || counter == CounterKind::cpAsync;
}

void Clocks::retire(uint32_t wave, Agent agent) {
  sets[wave].known[agent] = std::max(sets[wave].known[agent], counters[agent].done);
}

void Clocks::complete(uint32_t wave, CounterKind counter) {
  Agent agent = agentOf(wave, counter);
  counters[agent].done = counters[agent].issued;
  retire(wave, agent);
}

void Clocks::fenceProxy(uint32_t wave) {
  if (completes)
    complete(wave, CounterKind::shared);
  joinInto(sets[wave].visible, sets[wave].known);
}

ClockSet Clocks::publish(uint32_t wave) {
  if (completes) {
    complete(wave, CounterKind::shared);
    complete(wave, CounterKind::vm);
  }
  for (Agent agent = wave * kAgentsPerWave; agent < (wave + 1) * kAgentsPerWave; ++agent)
    sets[wave].issued[agent] = counters[agent].issued;
  return sets[wave];
}

void Clocks::acquire(uint32_t wave, const ClockSet &from) {
  sets[wave].join(from);
}

void Clocks::take(uint32_t wave, const Knowledge &knowledge) {
  if (const Knowledge::Clock *own = knowledge.of(number))
    joinInto(sets[wave].known, *own);
  sets[wave].others.join(knowledge);
}

void Clocks::acquireAgent(uint32_t wave, Agent agent, uint32_t access) {
  uint32_t &known = sets[wave].known[agent];
  known = std::max(known, access);
}

} // namespace soliton::emu
