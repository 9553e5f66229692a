#include "soliton/tuner/Result.h"

#include <nlohmann/json.hpp>

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

std::optional<Result> resultFromJson(std::string_view text) {
  constexpr size_t kLongest = 1 << 20;
  if (text.size() > kLongest)
    return std::nullopt;
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("soliton_result", Json()) != 1)
    return std::nullopt;
  try {
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
  } catch (const Json::exception &) {
    return std::nullopt;
  }
}

} // namespace soliton::tune
