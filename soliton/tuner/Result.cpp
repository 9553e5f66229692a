#include "soliton/tuner/Result.h"

#include "soliton/tuner/Lines.h"

#include <array>

namespace soliton::tune {
using Json = nlohmann::ordered_json;

static constexpr std::array<std::string_view, 4> kStages = {"model", "answer", "device", "duel"};

std::string_view nameOf(Stage stage) {
  return kStages[static_cast<size_t>(stage)];
}

std::optional<Stage> parseStage(std::string_view text) {
  for (size_t i = 0; i < kStages.size(); ++i)
    if (kStages[i] == text)
      return static_cast<Stage>(i);
  return std::nullopt;
}

Result Result::refused(std::string by, std::string why) {
  Result result;
  result.refusedBy = std::move(by);
  result.why = std::move(why);
  return result;
}

std::string toJson(const Result &r) {
  Json json = {{"soliton_result", 1},
               {"refused_by", r.refusedBy},
               {"why", r.why},
               {"cycles", r.cycles},
               {"interval", r.interval},
               {"bound", r.bound},
               {"modelled_us", r.modelledMicroseconds},
               {"registers", r.registers},
               {"spill_bytes", r.spillBytes},
               {"shared_bytes", r.sharedBytes},
               {"measured_us", r.measuredMicroseconds},
               {"spread_us", r.spread},
               {"other_us", r.otherMicroseconds},
               {"cache", r.cache},
               {"cold_us", r.coldMicroseconds},
               {"outliers", r.outliers},
               {"replayed", r.isReplayed},
               {"clock_mhz", r.clockMHz},
               {"celsius", r.celsius},
               {"seconds", r.seconds}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool Result::answers(Stage stage) const {
  if (isRefused() || stage == Stage::Answer)
    return true;
  if (stage == Stage::Model)
    return modelledMicroseconds > 0;
  return measuredMicroseconds > 0 && (stage == Stage::Device || otherMicroseconds > 0);
}

static Result fieldsOf(const Json &json) {
  Result r;
  r.refusedBy = json.at("refused_by").get<std::string>();
  r.why = json.at("why").get<std::string>();
  r.cycles = json.at("cycles").get<int64_t>();
  r.interval = json.at("interval").get<int64_t>();
  r.bound = json.at("bound").get<int64_t>();
  r.modelledMicroseconds = json.at("modelled_us").get<double>();
  r.registers = json.at("registers").get<int64_t>();
  r.spillBytes = json.at("spill_bytes").get<int64_t>();
  r.sharedBytes = json.at("shared_bytes").get<int64_t>();
  r.measuredMicroseconds = json.at("measured_us").get<double>();
  r.spread = json.at("spread_us").get<double>();
  r.otherMicroseconds = json.at("other_us").get<double>();
  // Not in results of earlier days.
  r.cache = json.value("cache", "");
  r.coldMicroseconds = json.value("cold_us", 0.0);
  r.outliers = json.value("outliers", int64_t{0});
  r.isReplayed = json.value("replayed", int64_t{0});
  r.clockMHz = json.value("clock_mhz", int64_t{0});
  r.celsius = json.value("celsius", int64_t{0});
  r.seconds = json.at("seconds").get<double>();
  return r;
}

static std::optional<Result> fromJson(const Json &json) {
  if (!json.is_object() || json.value("soliton_result", Json()) != 1)
    return std::nullopt;
  for (const auto &[name, value] : json.items())
    if (value.is_structured() || (value.is_number() && name != "celsius" && value.get<double>() < 0))
      return std::nullopt;
  try {
    return fieldsOf(json);
  } catch (const Json::exception &) {
    return std::nullopt;
  }
}

std::optional<Result> resultFromJson(std::string_view text) {
  constexpr size_t kLongest = 1 << 20;
  if (text.size() > kLongest)
    return std::nullopt;
  return fromJson(parseLine(text));
}

std::optional<Result> resultInJson(std::string_view object) {
  Json json = parseLine(object);
  return json.is_object() && json.contains("result") ? fromJson(json["result"]) : std::nullopt;
}

} // namespace soliton::tune
