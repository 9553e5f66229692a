#include "soliton/schedule/Program.h"

namespace soliton::sched {
namespace {
void append(std::vector<Instance> &out, const Program &program, Phase phase, int base) {
  int index = 0;
  for (const Entry &entry : program.list(phase))
    out.push_back({&entry, {phase, index++}, base + entry.iteration});
}

std::string signedText(int value) {
  return (value >= 0 ? "+" : "") + std::to_string(value);
}
} // namespace

std::string_view nameOf(Phase phase) {
  return phase == Phase::Prologue ? "prologue" : phase == Phase::Kernel ? "kernel" : "epilogue";
}

std::vector<Entry> &Program::list(Phase phase) {
  return phase == Phase::Prologue ? prologue : phase == Phase::Kernel ? kernel : epilogue;
}

const std::vector<Entry> &Program::list(Phase phase) const {
  return phase == Phase::Prologue ? prologue : phase == Phase::Kernel ? kernel : epilogue;
}

std::vector<Instance> unroll(const Program &program, int trips) {
  std::vector<Instance> instances;
  instances.reserve(program.prologue.size() + program.kernel.size() * trips + program.epilogue.size());
  append(instances, program, Phase::Prologue, 0);
  for (int trip = 0; trip < trips; ++trip)
    append(instances, program, Phase::Kernel, trip);
  append(instances, program, Phase::Epilogue, trips + program.peeled);
  return instances;
}

std::string toString(const Problem &problem, const Entry &entry) {
  std::string groups = entry.groups == kAllGroups ? "" : " groups " + std::to_string(entry.groups);
  std::string counter = entry.counter >= 0 ? problem.counters[entry.counter].name : "";
  switch (entry.kind) {
  case EntryKind::Op:
    return problem.operations[entry.op].key + " @" + signedText(entry.iteration) + groups +
           (entry.overruns ? " guarded" : "");
  case EntryKind::Barrier:
    return "barrier" + groups + (entry.stagger ? " stagger" : "");
  case EntryKind::Wait:
    return "wait " + counter + " " + std::to_string(entry.value) + groups;
  case EntryKind::Commit:
    return "commit " + counter + groups;
  case EntryKind::Arrive:
  case EntryKind::PhaseWait:
    return (entry.kind == EntryKind::Arrive ? "arrive " : "phase_wait ") + counter + " " +
           problem.regions[entry.region].name + " @" + signedText(entry.iteration) + groups;
  case EntryKind::Release:
    return "release" + groups;
  case EntryKind::Await:
    return "await " + std::to_string(entry.value) + groups;
  }
  return {};
}

std::string toString(const Problem &problem, const Program &program) {
  std::string text;
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue}) {
    text += std::string(nameOf(phase)) + ":\n";
    for (const Entry &entry : program.list(phase))
      text += "  " + toString(problem, entry) + "\n";
  }
  return text;
}

int phaseParity(int instance, int buffers) {
  int lap = instance >= 0 ? instance / buffers : -((-instance + buffers - 1) / buffers);
  return lap & 1;
}

} // namespace soliton::sched
