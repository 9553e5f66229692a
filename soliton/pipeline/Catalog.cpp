#include "soliton/pipeline/Catalog.h"

#include "soliton/pipeline/PingPong.h"
#include "soliton/pipeline/Pipeline4Wave.h"
#include "soliton/pipeline/SingleBuffer.h"

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

TileShape orDefault(TileShape shape, int tile) {
  if (shape.bm == 0 && shape.bn == 0 && shape.bk == 0) {
    shape.bm = shape.bn = tile;
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
} // namespace

const std::vector<std::string> &pipelineNames() {
  static const std::vector<std::string> names = {"pipeline4wave", "ping_pong", "single_buffer"};
  return names;
}

MadePipeline makePipeline(const PipelineChoice &choice, Where where) {
  const std::vector<std::string> &names = pipelineNames();
  if (std::find(names.begin(), names.end(), choice.name) == names.end())
    return {nullptr, {}, {unknown(choice.name, where)}};
  if (choice.name == "single_buffer")
    return single(choice.steps, where);
  bool four = choice.name == "pipeline4wave";
  TileShape shape = orDefault(choice.shape, four ? 128 : 256);
  GeometryResult result = four ? fourWaveGeometry(shape, where) : pingPongGeometry(shape, where);
  if (!result.ok())
    return {nullptr, {}, std::move(result.errors)};
  if (four)
    return {std::make_unique<Pipeline4Wave>(result.geometry), result.geometry, {}};
  return {std::make_unique<PingPong>(result.geometry), result.geometry, {}};
}

} // namespace soliton::pipe
