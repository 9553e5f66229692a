//===- TuneRecorded.cpp - Workers that answer from a recording ---------------------------------------===//
//
// SOLITON_TUNE_RECORDED=FILE makes workers answer with what `soliton tune export` wrote there, each after a moment of
// its own, instead of compiling and measuring: searches are then repeated in tenths of seconds, by any number of
// workers, and with timings of a device that is not there. What was not measured then has the modelled time, by the
// ratio that the others have; a duel that was not recorded is fought with the times of both alone; what has no answer
// recorded was right.
//
//===----------------------------------------------------------------------===//

#include "tools/soliton/Tune.h"

#include <chrono>
#include <random>
#include <thread>

namespace soliton::cli {

Recording::Recording(const std::string &path) {
  std::istringstream lines(readFile(path));
  for (std::string line; std::getline(lines, line);) {
    Json row = Json::parse(line);
    std::optional<tune::Result> result = tune::resultFromJson(row.at("result").dump());
    std::string hash = tune::hashOf(row.at("candidate").get<std::string>());
    if (result)
      rows[{hash, row.at("stage").get<std::string>()}] = *result;
  }
  double measured = 0, modelled = 0;
  for (const auto &[key, result] : rows)
    if (const tune::Result *model = find(key.first, "model"); model && key.second == "device" && !result.isRefused()) {
      measured += result.measuredMicroseconds;
      modelled += model->modelledMicroseconds;
    }
  slowness = modelled > 0 ? measured / modelled : 1;
}

std::optional<tune::Result> Recording::onDevice(const std::string &hash) const {
  if (const tune::Result *recorded = find(hash, "device"))
    return *recorded;
  const tune::Result *model = find(hash, "model");
  if (!model || model->isRefused())
    return std::nullopt;
  tune::Result result;
  result.measuredMicroseconds = model->modelledMicroseconds * slowness;
  return result;
}

const tune::Result *Recording::find(const std::string &hash, const std::string &stage) const {
  auto found = rows.find({hash, stage});
  return found == rows.end() ? nullptr : &found->second;
}

tune::Result Recording::answer(const std::string &hash, tune::Stage stage, const std::string &other) const {
  constexpr int kMostMicroseconds = 8000;
  std::random_device anything; // on purpose: who answers first is nobody's matter
  std::this_thread::sleep_for(std::chrono::microseconds(anything() % kMostMicroseconds));
  std::string name(nameOf(stage));
  if (const tune::Result *recorded = find(hash, other.empty() ? name : name + " " + other))
    return *recorded;
  if (stage == tune::Stage::Answer)
    return {};
  std::optional<tune::Result> mine = onDevice(hash), its = onDevice(other);
  bool isDuel = stage == tune::Stage::Duel;
  if (stage == tune::Stage::Model || !mine || (isDuel && !its))
    return tune::Result::refused("worker", "the recording has nothing of it");
  if (isDuel)
    mine->otherMicroseconds = its->measuredMicroseconds;
  return *mine;
}

} // namespace soliton::cli
