#include "soliton/display/Summary.h"
#include "soliton/display/Table.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace soliton::sched {
namespace {
using Json = nlohmann::ordered_json;

Json placeJson(const Place &place) {
  if (!place.known())
    return nullptr;
  return {{"file", place.file}, {"line", place.line}, {"column", place.column}};
}

Json groupsJson(const Problem &problem, GroupMask groups) {
  Json list = Json::array();
  for (int group = 0; group < problem.groups; ++group)
    if (groups >> group & 1)
      list.push_back(group);
  return list;
}

Json operationsJson(const Picture &picture) {
  Json list = Json::array();
  auto add = [&](int op) {
    const Operation &operation = picture.problem.operations[op];
    const Slot &slot = picture.schedule.slots[op];
    Json entry = {{"key", operation.key},
                  {"label", labelOf(operation)},
                  {"tag", tagOf(operation)},
                  {"kind", nameOf(operation.kind)}};
    if (slot.scheduled())
      entry.update({{"stage", slot.stage}, {"cycle", slot.cycle}, {"cluster", slot.cluster}, {"rank", slot.rank}});
    else
      entry["stage"] = nullptr;
    entry["latency"] = operation.latency;
    entry["place"] = placeJson(operation.place);
    list.push_back(std::move(entry));
  };
  for (int op : emissionOrder(picture.schedule))
    add(op);
  for (int op = 0; op < picture.problem.numOps(); ++op)
    if (!picture.schedule.slots[op].scheduled())
      add(op);
  return list;
}

Json entryJson(const Problem &problem, const Entry &entry) {
  Json json = {{"text", labelOf(problem, entry)}};
  if (entry.op >= 0)
    json["op"] = problem.operations[entry.op].key;
  if (entry.kind == EntryKind::Op)
    json["iteration"] = entry.iteration;
  if (entry.kind == EntryKind::Wait)
    json.update({{"wait", problem.counters[entry.counter].name}, {"value", entry.value}});
  if ((entry.groups & problem.allGroups()) != problem.allGroups())
    json["groups"] = groupsJson(problem, entry.groups);
  if (entry.overruns)
    json["guarded"] = true;
  return json;
}

Json programJson(const Picture &picture) {
  Json program = Json::object();
  for (Phase phase : {Phase::Prologue, Phase::Kernel, Phase::Epilogue}) {
    Json list = Json::array();
    for (const Entry &entry : picture.program.list(phase))
      list.push_back(entryJson(picture.problem, entry));
    program[std::string(nameOf(phase))] = std::move(list);
  }
  program["peeled"] = picture.program.peeled;
  return program;
}

Json boundsJson(const Picture &picture, const Summary &summary) {
  const Bounds &bounds = summary.bounds;
  Json cycle = Json::array();
  for (int index : bounds.cycle) {
    const Dependence &dep = summary.dependences[index];
    cycle.push_back({{"from", picture.problem.operations[dep.from].key},
                     {"to", picture.problem.operations[dep.to].key},
                     {"latency", dep.latency},
                     {"distance", dep.distance}});
  }
  Json json = {{"lower", bounds.lower()}, {"resource", bounds.resource}, {"recurrence", bounds.recurrence}};
  json["limiting_resource"] =
      bounds.resourceIndex < 0 ? Json(nullptr) : Json(picture.problem.resources[bounds.resourceIndex].name);
  json["limiting_cycle"] = std::move(cycle);
  json["proven"] = summary.provenBound ? Json(*summary.provenBound) : Json(nullptr);
  return json;
}

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

Json resourcesJson(const Picture &picture, const Summary &summary) {
  Json list = Json::array();
  for (const ResourceUse &use : summary.resources) {
    Json profile = Json::array();
    for (double value : use.profile)
      profile.push_back(rounded(value));
    const Resource &resource = picture.problem.resources[use.resource];
    list.push_back({{"name", resource.name},
                    {"units", resource.units},
                    {"busy", use.busy},
                    {"share", rounded(use.share)},
                    {"profile", std::move(profile)}});
  }
  return list;
}

Json regionsJson(const Picture &picture) {
  Schedule schedule = withBuffers(picture.problem, picture.schedule);
  Json list = Json::array();
  for (size_t r = 0; r < picture.problem.regions.size(); ++r) {
    const Region &region = picture.problem.regions[r];
    list.push_back({{"name", region.name},
                    {"space", nameOf(region.space)},
                    {"size", region.size},
                    {"buffers", schedule.buffers[r]},
                    {"rotating", region.rotating}});
  }
  return list;
}

Json syncsJson(const Picture &picture, const Summary &summary) {
  Json list = Json::array();
  for (const SyncPoint &point : summary.syncs) {
    Json pairs = Json::array();
    for (const ProtectedPair &pair : point.pairs)
      pairs.push_back({{"kind", nameOf(pair.kind)},
                       {"region", pair.region},
                       {"from", pair.from},
                       {"to", pair.to},
                       {"pairs", pair.count}});
    Json json = entryJson(picture.problem, point.entry);
    json.update({{"phase", nameOf(point.where.phase)},
                 {"index", point.where.index},
                 {"before", point.before},
                 {"written", point.entry.op >= 0},
                 {"protects", std::move(pairs)}});
    list.push_back(std::move(json));
  }
  return list;
}

Json hazardsJson(const Picture &picture, const Summary &summary) {
  Json list = Json::array();
  for (const HazardRow &row : summary.hazards)
    list.push_back({{"class", nameOf(row.value)},
                    {"kind", nameOf(row.kind)},
                    {"region", row.region},
                    {"from", row.from},
                    {"to", row.to},
                    {"pairs", row.count},
                    {"waived", row.waived},
                    {"fix", row.fix},
                    {"from_place", placeJson(picture.problem.operations[row.example.from].place)},
                    {"to_place", placeJson(picture.problem.operations[row.example.to].place)}});
  return list;
}

Json waitingJson(const Summary &summary) {
  Json list = Json::array();
  for (const WaitCause &cause : summary.waiting)
    list.push_back({{"for", nameOf(cause.stall)}, {"of", cause.label}, {"cycles", cause.cycles}});
  return list;
}

Json diagnosticsJson(const Report &report) {
  Json list = Json::array();
  for (const Diagnostic &diagnostic : report.diagnostics)
    list.push_back(format(diagnostic));
  return list;
}
} // namespace

std::string printTableJson(const Picture &picture) {
  Summary summary = summarize(picture);
  const Schedule &schedule = picture.schedule;
  Json json = {{"format", "soliton-schedule-table"},
               {"version", 1},
               {"kernel", picture.kernel},
               {"target", picture.target},
               {"loop", picture.problem.loop},
               {"algorithm", schedule.algorithm},
               {"timing", nameOf(schedule.timing)},
               {"interval", schedule.interval},
               {"modelled_interval", summary.modelled},
               {"bound", boundsJson(picture, summary)},
               {"stages", schedule.stages()},
               {"clusters", summary.clusters},
               {"registers", picture.report.registers},
               {"register_limit", picture.problem.limits.registers},
               {"shared_bytes", picture.report.sharedBytes},
               {"shared_limit", picture.problem.limits.sharedBytes},
               {"ok", picture.report.ok()},
               {"operations", operationsJson(picture)},
               {"program", programJson(picture)},
               {"resources", resourcesJson(picture, summary)},
               {"waiting", waitingJson(summary)},
               {"regions", regionsJson(picture)},
               {"synchronisation", syncsJson(picture, summary)},
               {"hazards", hazardsJson(picture, summary)},
               {"diagnostics", diagnosticsJson(picture.report)}};
  // Names may hold anything; bytes that are no UTF-8 are replaced.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace soliton::sched
