//===- Pipeline.cpp - soliton pipeline -----------------------------------------------------------===//
//
// A declared software pipeline as a program: derived and proven, or as its framework ships it (`--faithful`), which is
// judged the same way and fails unless what only latency protects is waived.
//
//===----------------------------------------------------------------------===//

#include "tools/soliton/Commands.h"

#include "soliton/display/Page.h"
#include "soliton/display/Svg.h"
#include "soliton/display/Trace.h"
#include "soliton/pipeline/Catalog.h"
#include "soliton/pipeline/Report.h"

#include <charconv>

namespace soliton::cli {

int elementBytes(const std::string &dtype) {
  if (dtype == "fp8" || dtype == "f8")
    return 1;
  if (dtype == "bf16" || dtype == "f16")
    return 2;
  throw UsageError(withChoices("a pipeline has no elements of type `" + dtype + "`", dtype, {"bf16", "f16", "fp8"}));
}

namespace {

/// `128x128x64`.
pipe::TileShape parseShape(const std::string &text) {
  std::vector<int> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    int number = 0;
    auto [next, error] = std::from_chars(at, end, number);
    bool last = next == end;
    if (error != std::errc() || number < 1 || number > 65536 || (!last && (*next != 'x' || next + 1 == end)))
      throw UsageError("`--geometry " + text + "` is no tile, expected BMxBNxBK, such as 128x128x64");
    numbers.push_back(number);
    at = last ? end : next + 1;
  }
  if (numbers.size() != 3)
    throw UsageError("`--geometry " + text + "` is no tile, expected BMxBNxBK, such as 128x128x64");
  pipe::TileShape shape;
  shape.bm = numbers[0];
  shape.bn = numbers[1];
  shape.bk = numbers[2];
  return shape;
}

pipe::PipelineChoice choiceOf(const PipelineCommand &command) {
  pipe::PipelineChoice choice;
  choice.name = command.name;
  choice.steps = command.steps;
  choice.target = command.target;
  if (!command.geometry.empty())
    choice.shape = parseShape(command.geometry);
  choice.shape.elemBytes = elementBytes(command.dtype);
  return choice;
}

Json entriesJson(const pipe::CompiledPipeline &made, const std::vector<pipe::ScheduleEntry> &entries) {
  Json list = Json::array();
  for (const pipe::ScheduleEntry &entry : entries) {
    Json item = {{"op", made.text(entry.op)}};
    if (entry.isPrefetch)
      item["prefetch"] = true;
    list.push_back(std::move(item));
  }
  return list;
}

Json hazardsJson(const pipe::Proof &proof) {
  Json list = Json::array();
  for (const sched::Hazard &hazard : proof.report.hazards)
    list.push_back({{"from", proof.problem.operations[hazard.dependence.from].key},
                    {"to", proof.problem.operations[hazard.dependence.to].key},
                    {"region", proof.problem.regions[hazard.dependence.region].name},
                    {"kind", nameOf(hazard.dependence.kind)},
                    {"class", nameOf(hazard.value)},
                    {"waived", hazard.waived},
                    {"fix", hazard.fix}});
  return list;
}

Json flightJson(const pipe::CompiledPipeline &made) {
  Json list = Json::array();
  for (const pipe::FlightRow &row : pipe::traceFlight(made))
    list.push_back({{"block", row.block},
                    {"counter", row.counter},
                    {"wait", row.value},
                    {"completes", row.completed},
                    {"leaves", row.left}});
  return list;
}

Json pipelineJson(const pipe::CompiledPipeline &made) {
  Json edges = Json::array();
  for (const pipe::DepEdge &edge : made.edges)
    edges.push_back({edge.producer, edge.consumer, nameOf(edge.kind), edge.distance});
  Json body = Json::array();
  for (const pipe::OpDesc &op : made.body)
    body.push_back(made.text(op));
  return {{"ok", made.ok()},
          {"pipeline", made.name},
          {"mode", nameOf(made.mode)},
          {"body", std::move(body)},
          {"edges", std::move(edges)},
          {"order", made.order.order},
          {"cycles", made.order.metrics.makespan},
          {"lower_bound", made.order.bound},
          {"block_starts", made.blockStarts},
          {"prologue", entriesJson(made, made.prologue)},
          {"kernel", entriesJson(made, made.kernel)},
          {"epilogue", entriesJson(made, made.epilogue)},
          {"in_flight", flightJson(made)},
          {"hazards", hazardsJson(made.proof)},
          {"dead_reads", made.proof.deadReads},
          {"diagnostics", diagnosticsJson(made.diagnostics)}};
}

/// The pictures that were asked for, by name of their file.
std::vector<std::string> writePictures(const PipelineCommand &command, const pipe::CompiledPipeline &made) {
  const pipe::Proof &proof = made.proof;
  sched::Picture picture{proof.problem, proof.schedule, proof.program, proof.report, made.name, "", ""};
  picture.further = {{"Blocks, waits, what is in flight, slack and critical path",
                      pipe::toText(made, {command.edges, /*costs=*/true})}};
  std::vector<std::string> written;
  auto write = [&](const std::string &path, auto print) {
    if (path.empty() || proof.problem.operations.empty())
      return;
    writeFile(path, print(picture));
    written.push_back(path);
  };
  write(command.html, sched::printPage);
  write(command.svg, sched::printSvg);
  write(command.trace, sched::printTrace);
  return written;
}

} // namespace

int showPipeline(const PipelineCommand &command, std::ostream &out, std::ostream &err) {
  pipe::MadePipeline chosen = pipe::makePipeline(choiceOf(command), {});
  if (!chosen.pipeline)
    return reportFailure(chosen.errors, command.json, out, err);
  pipe::PipelineOptions options;
  options.mode = command.faithful ? pipe::Mode::Faithful : pipe::Mode::Exact;
  if (!command.waive.empty())
    options.waivers.push_back({"", "", "", command.waive});
  pipe::CompiledPipeline made = pipe::compilePipeline(*chosen.pipeline, options);
  std::vector<std::string> files = writePictures(command, made);
  err << format(made.diagnostics);
  if (command.json) {
    Json report = pipelineJson(made);
    report["files"] = files;
    out << line(report);
  } else {
    out << pipe::toText(made, {command.edges, command.costs});
    for (const std::string &file : files)
      out << "wrote " << file << "\n";
  }
  return made.ok() ? 0 : 2;
}

} // namespace soliton::cli
