#include "soliton/pipeline/Compile.h"

#include "soliton/pipeline/Check.h"

#include <algorithm>

namespace soliton::pipe {

std::string_view nameOf(Mode mode) {
  return mode == Mode::Exact ? "exact" : "faithful";
}

PipelineOptions faithful(std::string waiver) {
  PipelineOptions options{Mode::Faithful, {}};
  if (!waiver.empty())
    options.waivers.push_back({"", "", "", std::move(waiver)});
  return options;
}

static bool hasErrors(const std::vector<Diagnostic> &diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic &diagnostic) { return diagnostic.severity == Severity::error; });
}

bool CompiledPipeline::ok() const {
  return !hasErrors(diagnostics);
}

std::string CompiledPipeline::text(const OpDesc &op) const {
  auto known = tagNames.find(op.tag);
  return toString(op, known == tagNames.end() ? "" : known->second);
}

/// The framework's programs read fragments into registers.
static Diagnostic noProgramInPlace(const CompiledPipeline &pipeline) {
  return {Severity::error,
          DiagId::NotSupportedHere,
          pipeline.body.empty() ? Place{} : pipeline.body.front().where.place(),
          "the framework has no program of `" + pipeline.name + "` whose fragments stay in shared memory",
          "take exact mode, or a target whose matrix instructions take registers",
          {}};
}

CompiledPipeline compilePipeline(const PipelineSchedule &pipeline, const PipelineOptions &options) {
  CompiledPipeline result;
  result.name = pipeline.name();
  result.mode = options.mode;
  result.config = pipeline.config();
  result.knobs = pipeline.scheduleConfig();
  result.body = pipeline.buildBody();
  for (const OpDesc &op : result.body)
    if (op.tag < kFirstFrameworkTag)
      result.tagNames[op.tag] = pipeline.tagName(op.tag);
  result.diagnostics = checkDeclaration(pipeline, result.body);
  if (options.mode == Mode::Faithful && result.config.fragmentsInPlace)
    result.diagnostics = {noProgramInPlace(result)};
  if (!result.ok())
    return result;
  if (options.mode == Mode::Exact)
    compileExact(pipeline, options, result);
  else
    compileFaithful(pipeline, options, result);
  return result;
}

} // namespace soliton::pipe
