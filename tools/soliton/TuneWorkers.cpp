//===- TuneWorkers.cpp - Judging in processes of their own ------------------------------------------===//
//
// A request is {"candidate": text, "stage": "model", "other": text of whom a duel is with}, an answer {"hash": …,
// "result": {…}}, a line each. A worker is this very program with the same kernel and `--worker`. Stage `hello` asks
// for the build of the compiler (and the device, where `other` is `device`), stage `build` to compile what a device
// elsewhere will load into the cache.
//
// SOLITON_TUNE_FAULTS=PERCENT makes workers misbehave on so many candidates of a hundred, chosen by their hashes: they
// hang, crash, run out of memory, or write nonsense. It is how the attack on the tuner (scripts/attack_tuner.py) knows
// that none of that matters.
//
//===----------------------------------------------------------------------===//

#include "soliton/driver/Tuned.h"
#include "soliton/tuner/KernelJudge.h"
#include "soliton/tuner/Workers.h"
#include "tools/soliton/Tune.h"

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

namespace soliton::cli {

namespace {

/// What a candidate's hash says it does wrong; -1: nothing.
int faultOf(const std::string &hash) {
  const char *said = std::getenv("SOLITON_TUNE_FAULTS");
  if (!said)
    return -1;
  uint64_t number = std::strtoull(hash.substr(0, 12).c_str(), nullptr, 16);
  return number % 100 < std::strtoull(said, nullptr, 10) ? static_cast<int>(number / 100 % 5) : -1;
}

void misbehave(int fault) {
  switch (fault) {
  case 0:
    while (true)
      pause();
  case 1:
    std::raise(SIGSEGV);
    break;
  case 2: { // until somebody stops it
    std::vector<std::unique_ptr<char[]>> memory;
    while (true)
      memory.push_back(std::make_unique<char[]>(size_t{64} << 20));
  }
  case 3:
    std::cout << "\x01{ nonsense" << std::endl;
    break;
  default:
    std::_Exit(3);
  }
}

std::string hashIn(const std::string &request) {
  return tune::hashOf(Json::parse(request).at("candidate").get<std::string>());
}

/// What a worker is: its compiler, and its device where it is asked for one.
Json identityOf(const TuneCommand &command, bool hasDevice) {
  Json identity = {{"build", tune::compilerBuild()}};
  if (hasDevice) {
    rt::Device &device = rt::device(command.device);
    identity["name"] = device.info().name;
    identity["driver"] = driverOf(device);
  }
  return identity;
}

/// The questions that are about no result: who it is, and to build for a device elsewhere. Nothing for others.
std::optional<Json> answerOther(const TuneCommand &command, const TuneJudge &judge, const Json &request) {
  std::string stage = request.at("stage").get<std::string>();
  if (stage == "hello")
    return identityOf(command, request.at("other").get<std::string>() == "device");
  if (stage != "build")
    return std::nullopt;
  judge.build(tune::parseCandidate(request.at("candidate").get<std::string>()));
  return Json{{"built", true}};
}

} // namespace

std::string requestOf(const tune::Candidate &candidate, const tune::Question &question) {
  return Json{{"candidate", candidate.text()},
              {"stage", std::string(nameOf(question.stage))},
              {"other", question.other ? question.other->text() : ""}}
      .dump();
}

std::optional<tune::Result> resultIn(const std::string &line, const std::string &hash) {
  Json answer = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object() || answer.value("hash", "") != hash || !answer.contains("result"))
    return std::nullopt;
  return tune::resultFromJson(answer["result"].dump());
}

/// Which kernel, and how it is compiled.
std::vector<std::string> workerCommand(const TuneCommand &command) {
  const KernelChoice &choice = command.choice;
  std::vector<std::string> words = {"tune", choice.kernel, "--target", choice.target, "--worker"};
  auto add = [&](const std::string &option, const std::vector<std::string> &values) {
    for (const std::string &value : values)
      if (!value.empty())
        words.insert(words.end(), {option, value});
  };
  add("--size", choice.sizes);
  add("--set", choice.settings);
  add("--dynamic", choice.dynamic);
  add("--dtype", {choice.dtype});
  add("--schedule", {choice.schedule});
  add("--direct-copies", {choice.directCopies});
  add("--mma", {choice.mma});
  add("--padded-rows", {choice.paddedRows});
  add("--staged-writes", {choice.stagedWrites});
  if (choice.raster > 0)
    add("--raster", {std::to_string(choice.raster)});
  add("--device", {command.device});
  if (choice.wideOffsets)
    words.push_back("--wide-offsets");
  return words;
}

int serveTuning(const TuneCommand &command) {
  TuneJudge judge(command.choice, command.device);
  for (std::string line; std::getline(std::cin, line);) {
    Json request = Json::parse(line);
    if (std::optional<Json> other = answerOther(command, judge, request)) {
      std::cout << other->dump() << std::endl;
      continue;
    }
    tune::Candidate candidate = tune::parseCandidate(request.at("candidate").get<std::string>());
    std::optional<tune::Stage> stage = tune::parseStage(request.at("stage").get<std::string>());
    std::string otherText = request.at("other").get<std::string>();
    tune::Candidate other = otherText.empty() ? tune::Candidate() : tune::parseCandidate(otherText);
    std::string hash = candidate.hash();
    if (int fault = faultOf(hash); fault >= 0)
      misbehave(fault);
    tune::Result result =
        judge.judge(candidate, {stage.value_or(tune::Stage::Model), otherText.empty() ? nullptr : &other, {}});
    std::cout << Json{{"hash", hash}, {"result", Json::parse(toJson(result))}}.dump() << std::endl;
  }
  return 0;
}

WorkerChoice workersOf(const std::string &said) {
  constexpr std::string_view kRay = "ray://", kLocal = "local:";
  if (said.starts_with(kRay) && said.size() > kRay.size())
    return {0, said.substr(kRay.size())};
  std::string number = said.starts_with(kLocal) ? said.substr(kLocal.size()) : said;
  constexpr int kMost = 256;
  int count = 0;
  const char *end = number.data() + number.size();
  if (number.empty() || std::from_chars(number.data(), end, count) != std::from_chars_result{end, std::errc()} ||
      count < 0 || count > kMost)
    throw tune::TuneError(DiagId::TuneWorkers,
                          "found `--workers " + said + "`, expected a number up to " + std::to_string(kMost) +
                              ", `local:N` or `ray://…`",
                          "`ray://auto` is the cluster that this machine is part of");
  return {count, ""};
}

/// All of them in this process.
static tune::Judges judgesHere(const TuneJudge &here) {
  return [&here](const std::vector<tune::Candidate> &candidates, const tune::Question &question) {
    std::vector<tune::Result> results;
    for (const tune::Candidate &candidate : candidates) {
      results.push_back(here.judge(candidate, question));
      if (question.found)
        question.found(results.size() - 1, results.back());
    }
    return results;
  };
}

static tune::Judges judgesInProcesses(const TuneCommand &command, int count) {
  tune::WorkerOptions options;
  options.command = workerCommand(command);
  options.command.insert(options.command.begin(), "/proc/self/exe");
  options.count = count;
  options.seconds = command.timeout;
  options.bytes = uint64_t{8} << 30;
  options.isAnswer = [](const std::string &request, const std::string &line) {
    return resultIn(line, hashIn(request)).has_value();
  };
  auto workers = std::make_shared<tune::Workers>(options);
  // A device is asked by one process, one candidate at a time. What it reserves of addresses is the driver's matter.
  options.count = 1;
  options.bytes = 0;
  auto device = std::make_shared<tune::Workers>(std::move(options));
  return [workers, device](const std::vector<tune::Candidate> &candidates, const tune::Question &question) {
    bool isMeasured = question.stage == tune::Stage::Device || question.stage == tune::Stage::Duel;
    std::vector<std::string> requests;
    for (const tune::Candidate &candidate : candidates)
      requests.push_back(requestOf(candidate, question));
    std::vector<tune::Result> results(candidates.size());
    (isMeasured ? device : workers)->run(requests, [&](size_t i, const tune::Answer &answer) {
      std::optional<tune::Result> result = resultIn(answer.text, candidates[i].hash());
      results[i] = result ? *result : tune::Result::refused("worker", answer.fault);
      if (question.found)
        question.found(i, results[i]);
    });
    return results;
  };
}

Judging makeJudges(const TuneCommand &command, const TuneJudge &here) {
  WorkerChoice workers = workersOf(command.workers);
  if (!workers.ray.empty())
    return makeRayJudges(command, workers.ray);
  Judging judging;
  if (!command.device.empty()) {
    rt::Device &device = rt::device(command.device);
    judging.device = {device.info().name, driverOf(device)};
  }
  judging.judges = workers.count == 0 ? judgesHere(here) : judgesInProcesses(command, workers.count);
  return judging;
}

} // namespace soliton::cli
