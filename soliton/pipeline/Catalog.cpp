#include "soliton/pipeline/Catalog.h"

#include "soliton/pipeline/InPlace.h"
#include "soliton/pipeline/PingPong.h"
#include "soliton/pipeline/Pipeline4Wave.h"
#include "soliton/pipeline/SingleBuffer.h"
#include "soliton/target/Target.h"

#include <algorithm>

namespace soliton::pipe {
namespace {
Diagnostic unknown(const std::string &name, Where where) {
  std::optional<std::string> guess = nearest(name, pipelineNames());
  return {Severity::error,
          DiagId::ScheduleUnknown,
          where.place(),
          "there is no pipeline `" + name + "`",
          (guess ? "did you mean `" + *guess + "`? " : "") + "the choices are " + listOf(pipelineNames()),
          {}};
}

TileShape orDefault(TileShape shape, int rows, int columns) {
  if (shape.bm == 0 && shape.bn == 0 && shape.bk == 0) {
    shape.bm = rows;
    shape.bn = columns;
    shape.bk = shape.elemBytes == 1 ? 128 : 64;
  }
  return shape;
}

MadePipeline single(int steps, Where where) {
  if (steps < 1)
    return {nullptr,
            {},
            {{Severity::error,
              DiagId::PipelineGeometry,
              where.place(),
              "a single-buffer pipeline of " + std::to_string(steps) + " steps along K, expected at least 1",
              "give it as many as its tile has matrix instructions along K",
              {}}}};
  return {std::make_unique<SingleBuffer>(steps), {}, {}};
}

/// Nothing: there is a profile of the target.
std::optional<Diagnostic> targetError(const std::string &name, Where where) {
  if (name.empty() || name == mi355xName() || name == sm90aName())
    return std::nullopt;
  TargetChoice choice = selectTarget(name, where.place());
  if (choice.error)
    return choice.error;
  return Diagnostic{Severity::error,
                    DiagId::NotSupportedHere,
                    where.place(),
                    "there is no profile of `" + name + "` for a pipeline that stands alone",
                    "the choices are " + listOf({mi355xName(), sm90aName()}) +
                        "; `soliton schedule KERNEL --schedule PIPELINE` shows it on a kernel of any target",
                    {}};
}

GeometryResult geometryOf(bool four, const TileShape &shape, bool inPlace, Where where) {
  if (inPlace)
    return four ? fourWaveGroupGeometry(orDefault(shape, 128, 128), where)
                : pingPongGroupGeometry(orDefault(shape, 256, 128), where);
  return four ? fourWaveGeometry(orDefault(shape, 128, 128), where)
              : pingPongGeometry(orDefault(shape, 256, 256), where);
}

/// The pipeline as the target runs it.
MadePipeline onTarget(MadePipeline made, bool inPlace) {
  if (!made.pipeline || !inPlace)
    return made;
  bool single = made.pipeline->config().depth < 2;
  made.pipeline =
      std::make_unique<InPlace>(std::move(made.pipeline), single ? sm90aSingleBufferTarget() : sm90aTarget());
  return made;
}
} // namespace

const std::vector<std::string> &pipelineNames() {
  static const std::vector<std::string> names = {"pipeline4wave", "ping_pong", "single_buffer"};
  return names;
}

MadePipeline makePipeline(const PipelineChoice &choice, Where where) {
  const std::vector<std::string> &names = pipelineNames();
  if (std::find(names.begin(), names.end(), choice.name) == names.end())
    return {nullptr, {}, {unknown(choice.name, where)}};
  if (std::optional<Diagnostic> error = targetError(choice.target, where))
    return {nullptr, {}, {*error}};
  bool inPlace = choice.target == sm90aName();
  if (choice.name == "single_buffer")
    return onTarget(single(choice.steps, where), inPlace);
  bool four = choice.name == "pipeline4wave";
  GeometryResult result = geometryOf(four, choice.shape, inPlace, where);
  if (!result.ok())
    return {nullptr, {}, std::move(result.errors)};
  if (four)
    return onTarget({std::make_unique<Pipeline4Wave>(result.geometry), result.geometry, {}}, inPlace);
  return onTarget({std::make_unique<PingPong>(result.geometry), result.geometry, {}}, inPlace);
}

} // namespace soliton::pipe
