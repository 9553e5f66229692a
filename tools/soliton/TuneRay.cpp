//===- TuneRay.cpp - Judging on a cluster of Ray -----------------------------------------------------===//
//
// Ray is Python, the search is not: `--workers ray://auto` starts python/soliton/tuner_ray.py, whose text is part of
// this program, and speaks with it by lines of JSON (tuner/Coordinator.h). Its workers are this very program, at the
// same path on every node or where SOLITON_TUNE_PROGRAM says; who is of another build is left out.
//
//===----------------------------------------------------------------------===//

#include "soliton/tuner/Coordinator.h"
#include "soliton/tuner/KernelJudge.h"
#include "tools/soliton/Tune.h"
#include "tools/soliton/TuneRaySource.h"

#include <cstdlib>
#include <filesystem>

namespace soliton::cli {

namespace {

std::string fromEnvironment(const char *name, const std::string &otherwise) {
  const char *said = std::getenv(name);
  return said && *said ? said : otherwise;
}

std::string firstLine(const TuneCommand &command) {
  std::vector<std::string> words = workerCommand(command);
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  words.insert(words.begin(), fromEnvironment("SOLITON_TUNE_PROGRAM", self));
  return Json{{"command", words},
              {"device", command.device},
              {"seconds", command.timeout},
              {"bytes", uint64_t{8} << 30},
              {"build", tune::compilerBuild()}}
      .dump();
}

} // namespace

Judging makeRayJudges(const TuneCommand &command, const std::string &address) {
  if (!command.device.empty() && !command.choice.targetGiven)
    throw tune::TuneError(DiagId::TuneRay,
                          "found `--device " + command.device + "` on a cluster without `--target`, expected its chip",
                          "say `--target sm_90a`, or what the devices of the cluster are");
  std::vector<std::string> python = {fromEnvironment("SOLITON_PYTHON", "python3"), "-c", kTuneRaySource, address};
  auto cluster = std::make_shared<tune::Coordinator>(std::move(python), firstLine(command));
  Json identity = Json::parse(cluster->identity());
  Judging judging;
  judging.device = {identity.value("name", ""), identity.value("driver", "")};
  judging.judges = [cluster](const std::vector<tune::Candidate> &candidates, const tune::Question &question) {
    std::vector<std::string> requests;
    for (const tune::Candidate &candidate : candidates)
      requests.push_back(requestOf(candidate, question));
    std::vector<tune::Result> results(candidates.size());
    cluster->run(requests, [&](size_t i, const tune::Answer &answer) {
      std::optional<tune::Result> result = resultIn(answer.text, candidates[i].hash());
      std::string fault =
          answer.fault.empty() ? "wrote `" + answer.text.substr(0, 60) + "`, which is no answer" : answer.fault;
      results[i] = result ? *result : tune::Result::refused("worker", fault);
      if (question.found)
        question.found(i, results[i]);
    });
    return results;
  };
  return judging;
}

} // namespace soliton::cli
