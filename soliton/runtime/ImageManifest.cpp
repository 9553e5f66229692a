//===- ImageManifest.cpp - What an image's file says about its code ----------===//
//
// JSON that any tool can read; formulas stand in it as postfix text. ImageFile.cpp reads it back.
//
//===----------------------------------------------------------------------===//
#include "soliton/runtime/Errors.h"
#include "soliton/runtime/KernelImage.h"

#include <nlohmann/json.hpp>

namespace soliton::rt {
namespace {

using Json = nlohmann::ordered_json;

Json toJson(std::span<const LaunchExpr> exprs) {
  Json list = Json::array();
  for (const LaunchExpr &e : exprs)
    list.push_back(e.text());
  return list;
}

void addPlace(Json &object, const Place &place) {
  if (place.known())
    object["place"] = {{"file", place.file}, {"line", place.line}, {"column", place.column}};
}

Json toJson(const ArgumentSpec &argument) {
  Json object;
  object["name"] = argument.name;
  object["kind"] = argument.kind == ArgumentKind::buffer ? "buffer" : "scalar";
  object["dtype"] = soliton::name(argument.dtype);
  object["output"] = argument.isOutput;
  object["read"] = argument.isRead;
  object["alignment"] = argument.alignment;
  object["byte_limit"] = argument.byteLimit;
  object["shape"] = toJson(argument.shape);
  object["strides"] = toJson(argument.strides);
  addPlace(object, argument.place);
  return object;
}

Json toJson(const SymbolSpec &symbol) {
  Json object;
  object["name"] = symbol.name;
  if (symbol.argument) {
    object["argument"] = *symbol.argument;
    object["dim"] = symbol.dim;
    if (symbol.less != 0)
      object["less"] = symbol.less;
    if (symbol.factor != 1)
      object["factor"] = symbol.factor;
    if (symbol.isStride)
      object["stride"] = true;
  }
  return object;
}

Json toJson(const TensorMapSpec &map) {
  Json object;
  if (map.argument)
    object["argument"] = *map.argument;
  object["offset"] = map.offset.text();
  object["dtype"] = soliton::name(map.dtype);
  object["sizes"] = toJson(map.sizes);
  object["strides"] = toJson(map.strides);
  object["box"] = map.box;
  object["swizzle"] = map.swizzle;
  if (!map.lower.empty()) {
    object["lower"] = map.lower;
    object["upper"] = map.upper;
    object["steps"] = map.steps;
  }
  return object;
}

Json toJson(const WorkspaceSpec &workspace) {
  Json object;
  object["bytes"] = workspace.bytes.text();
  object["zeroed"] = Json::array();
  for (const WorkspaceSpec::Range &range : workspace.zeroed)
    object["zeroed"].push_back({range.offset.text(), range.bytes.text()});
  return object;
}

Json toJson(const LaunchCheck &check) {
  Json object;
  object["predicate"] = check.predicate.text();
  object["message"] = check.message;
  return object;
}

Json toJson(const LaunchStep &step);

template <typename T>
Json listToJson(const std::vector<T> &values) {
  Json list = Json::array();
  for (const T &value : values)
    list.push_back(toJson(value));
  return list;
}

Json toJson(const LaunchStep &step) {
  Json object;
  object["entry"] = step.entry;
  object["code_bytes"] = step.code.size();
  object["threads"] = step.threads;
  object["cluster"] = step.cluster;
  object["grid"] = toJson(std::span(step.grid));
  object["static_shared_bytes"] = step.staticSharedBytes;
  object["dynamic_shared_bytes"] = step.dynamicSharedBytes;
  object["tensor_maps"] = listToJson(step.tensorMaps);
  object["dependent"] = step.isDependent;
  return object;
}

Json toJson(const KernelImage &image) {
  Json object;
  object["version"] = kImageVersion;
  object["kernel"] = image.kernel;
  addPlace(object, image.place);
  object["target"] = image.target;
  object["kind"] = name(image.kind);
  object["entry"] = image.entry;
  object["threads"] = image.threads;
  object["cluster"] = image.cluster;
  object["grid"] = toJson(std::span(image.grid));
  object["static_shared_bytes"] = image.staticSharedBytes;
  object["dynamic_shared_bytes"] = image.dynamicSharedBytes;
  object["dependent"] = image.isDependent;
  object["further"] = listToJson(image.further);
  object["workspace"] = toJson(image.workspace);
  object["arguments"] = listToJson(image.arguments);
  object["may_alias_exactly"] = image.mayAliasExactly;
  object["symbols"] = listToJson(image.symbols);
  object["tensor_maps"] = listToJson(image.tensorMaps);
  object["checks"] = listToJson(image.checks);
  Json metadata = Json::array();
  for (const auto &[key, value] : image.metadata)
    metadata.push_back({key, value});
  object["metadata"] = metadata;
  return object;
}

} // namespace

std::string manifest(const KernelImage &image) {
  try {
    return toJson(image).dump(1);
  } catch (const Json::exception &) {
    fail(DiagId::ImageInvalid, "a name or text in the image of `" + image.kernel + "` is no UTF-8");
  }
}

} // namespace soliton::rt
