//===- Lines.h - Lines of JSON that others wrote ----------------------------===//
//
// Workers, files that are imported and rows of a database may hold anything. What nests deeper than any line of ours is
// left out as it is read: copies and destructors of it would need a stack as deep.
//
//   parseLine("{\"a\": 1}")      an object
//   parseLine("nonsense")        is_discarded()
//
//===----------------------------------------------------------------------===//
#pragma once

#include <nlohmann/json.hpp>

namespace soliton::tune {

inline nlohmann::ordered_json parseLine(std::string_view text) {
  using Json = nlohmann::ordered_json;
  constexpr int kDeepest = 4;
  auto isKept = [](int depth, Json::parse_event_t, Json &) { return depth <= kDeepest; };
  return Json::parse(text, isKept, /*allow_exceptions=*/false);
}

} // namespace soliton::tune
