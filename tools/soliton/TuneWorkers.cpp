//===- TuneWorkers.cpp - Judging in processes of their own ------------------------------------------===//
//
// A request is {"candidate": text, "stage": "model", "other": text of whom a duel is with}, an answer {"hash": …,
// "result": {…}}, a line each. A worker is this very program with the same kernel and `--worker`. Stage `hello` asks
// for the build of the compiler (and the device, where `other` is `device`), stage `build` to compile what a device
// elsewhere will load into the cache.
//
// SOLITON_TUNE_FAULTS=PERCENT:PLACE makes workers misbehave on so many candidates of a hundred, chosen by their hashes
// from that place on: they hang, crash, read beyond the end of memory, run out of it, write nonsense, end, or find the
// disk full. SOLITON_TUNE_JOURNAL=FILE gets a line for each request before it is answered: what was begun, whatever
// became of it. By these the attack on the tuner (scripts/attack_tuner.py) knows that none of that matters.
//
//===----------------------------------------------------------------------===//

#include "soliton/driver/Tuned.h"
#include "soliton/tuner/KernelJudge.h"
#include "soliton/tuner/Lines.h"
#include "soliton/tuner/Workers.h"
#include "tools/soliton/Tune.h"

#include <charconv>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <mutex>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace soliton::cli {

namespace {

/// What a candidate's hash says it does wrong; -1: nothing.
int faultOf(const std::string &hash) {
  const char *said = std::getenv("SOLITON_TUNE_FAULTS");
  if (!said)
    return -1;
  char *end = nullptr;
  uint64_t percent = std::strtoull(said, &end, 10), at = *end == ':' ? std::strtoull(end + 1, nullptr, 10) % 50 : 0;
  uint64_t number = std::strtoull(hash.substr(at, 12).c_str(), nullptr, 16);
  return number % 100 < percent ? static_cast<int>(number / 100 % 7) : -1;
}

/// Beyond the end of what there is: SIGBUS.
void readOutOfBounds() {
  int empty = memfd_create("empty", MFD_CLOEXEC);
  void *page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, empty, 0);
  std::cerr << *static_cast<volatile const char *>(page);
}

/// While it lives no file grows, as on a full disk; pipes do.
class FullDisk {
public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit none{0, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before); }
  FullDisk(const FullDisk &) = delete;
  FullDisk &operator=(const FullDisk &) = delete;

private:
  rlimit before{};
};

constexpr int kFullDisk = 5;

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
      memory.push_back(std::make_unique_for_overwrite<char[]>(size_t{64} << 20));
  }
  case 3:
    std::cout << "\x01{ nonsense" << std::endl;
    break;
  case 4:
    readOutOfBounds();
    break;
  default:
    std::_Exit(3);
  }
}

/// One write, so that lines of several workers stay whole, and before the work, so that a kill loses none.
void noteBegun(const std::string &hash, const std::string &stage) {
  const char *path = std::getenv("SOLITON_TUNE_JOURNAL");
  if (!path)
    return;
  std::string line = hash + " " + stage + "\n";
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || ::write(file, line.data(), line.size()) < 0)
    std::cerr << "soliton: error: the journal `" << path << "` can't be written\n";
  close(file);
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
  Json answer = tune::parseLine(line);
  if (!answer.is_object() || answer.value("hash", Json()) != hash)
    return std::nullopt;
  return tune::resultInJson(line);
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
  add("--boxed-writes", {choice.boxedWrites});
  add("--swizzle", {choice.swizzle});
  add("--overlap-tiles", {choice.overlapTiles});
  add("--turns", {choice.turns});
  add("--short-sums", {choice.shortSums});
  add("--dependent-launch", {choice.dependentLaunch});
  add("--stable", choice.stable);
  if (choice.raster != 0)
    add("--raster", {std::to_string(choice.raster)});
  if (choice.cluster > 1)
    add("--cluster", {std::to_string(choice.cluster)});
  if (choice.persistent > 0)
    add("--persistent", {std::to_string(choice.persistent)});
  if (choice.serviceWaves)
    add("--service-waves", {std::to_string(*choice.serviceWaves)});
  add("--workgroups-per-cluster", {textOfPerCluster(choice.workgroupsPerCluster)});
  if (choice.workgroupsPerUnit > 0)
    add("--workgroups-per-unit", {std::to_string(choice.workgroupsPerUnit)});
  add("--device", {command.device});
  add("--cache", {command.cache});
  add("--waive", {choice.waive});
  if (choice.faithful)
    words.push_back("--faithful");
  if (choice.wideOffsets)
    words.push_back("--wide-offsets");
  return words;
}

int serveTuning(const TuneCommand &command) {
  TuneJudge judge(command.choice, command.device, command.cache);
  const char *recorded = std::getenv("SOLITON_TUNE_RECORDED");
  std::optional<Recording> recording = recorded ? std::optional<Recording>(recorded) : std::nullopt;
  for (std::string line; std::getline(std::cin, line);) {
    Json request = Json::parse(line);
    bool isBuild = request.at("stage") == "build";
    if (std::optional<Json> other =
            recording && isBuild ? std::optional(Json{{"built", true}}) : answerOther(command, judge, request)) {
      std::cout << other->dump() << std::endl;
      continue;
    }
    tune::Candidate candidate = tune::parseCandidate(request.at("candidate").get<std::string>());
    std::optional<tune::Stage> stage = tune::parseStage(request.at("stage").get<std::string>());
    std::string otherText = request.at("other").get<std::string>();
    tune::Candidate other = otherText.empty() ? tune::Candidate() : tune::parseCandidate(otherText);
    std::string hash = candidate.hash();
    noteBegun(hash, request.at("stage").get<std::string>());
    std::optional<FullDisk> disk;
    if (int fault = faultOf(hash); fault == kFullDisk)
      disk.emplace();
    else if (fault >= 0)
      misbehave(fault);
    tune::Stage asked = stage.value_or(tune::Stage::Model);
    tune::Result result = recording ? recording->answer(hash, asked, otherText.empty() ? "" : other.hash())
                                    : judge.judge(candidate, {asked, otherText.empty() ? nullptr : &other, {}});
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

namespace {

/// What a device will load, compiled by workers while it measures what was compiled before: each of the candidates at
/// its own size and at those of the answers, into the cache (`build`). Whoever measures one waits for that one alone.
class BuildAhead {
public:
  BuildAhead(tune::Workers &workers, const std::vector<tune::Candidate> &candidates) : faults(candidates.size()) {
    std::vector<std::string> requests;
    for (const tune::Candidate &candidate : candidates)
      requests.push_back(Json{{"candidate", candidate.text()}, {"stage", "build"}, {"other", ""}}.dump());
    builder = std::thread([this, &workers, requests = std::move(requests)] {
      try {
        workers.run(requests, [&](size_t i, const tune::Answer &answer) { finish(i, answer.fault); });
      } catch (const std::exception &) {
        // Nobody compiles ahead: who measures compiles for itself, and says what is wrong.
        for (size_t i = 0; i < requests.size(); ++i)
          finish(i, "");
      }
    });
  }
  ~BuildAhead() { builder.join(); }
  BuildAhead(const BuildAhead &) = delete;
  BuildAhead &operator=(const BuildAhead &) = delete;

  /// Waits until it is built; what became of the worker, where that was its end.
  std::string faultOf(size_t i) {
    std::unique_lock lock(mutex);
    isBuilt.wait(lock, [&] { return faults[i].has_value(); });
    return *faults[i];
  }

private:
  void finish(size_t i, const std::string &fault) {
    std::lock_guard lock(mutex);
    if (!faults[i])
      faults[i] = fault;
    isBuilt.notify_all();
  }

  std::mutex mutex;
  std::condition_variable isBuilt;
  std::vector<std::optional<std::string>> faults;
  std::thread builder;
};

} // namespace

static tune::Judges judgesInProcesses(const TuneCommand &command, int count) {
  tune::WorkerOptions options;
  options.command = workerCommand(command);
  options.command.insert(options.command.begin(), "/proc/self/exe");
  options.count = count;
  options.seconds = command.timeout;
  options.bytes = uint64_t{8} << 30;
  // Workers compile for the device by way of the cache.
  if (!command.device.empty())
    options.environment = {"SOLITON_TUNE_SHARED=1"};
  options.isAnswer = [](const std::string &request, const std::string &line) {
    if (Json::parse(request).at("stage") == "build")
      return tune::parseLine(line).contains("built");
    return resultIn(line, hashIn(request)).has_value();
  };
  auto workers = std::make_shared<tune::Workers>(options);
  // A device is asked by one process, one candidate at a time. What it reserves of addresses is the driver's matter.
  options.count = 1;
  options.bytes = 0;
  auto device = std::make_shared<tune::Workers>(std::move(options));
  return [workers, device](const std::vector<tune::Candidate> &candidates, const tune::Question &question) {
    std::vector<std::string> requests;
    for (const tune::Candidate &candidate : candidates)
      requests.push_back(requestOf(candidate, question));
    std::vector<tune::Result> results(candidates.size());
    auto take = [&](size_t i, const tune::Answer &answer) {
      std::optional<tune::Result> result = resultIn(answer.text, candidates[i].hash());
      results[i] = result ? *result : tune::Result::refused("worker", answer.fault);
      if (question.found)
        question.found(i, results[i]);
    };
    if (question.stage != tune::Stage::Device) {
      (question.stage == tune::Stage::Duel ? device : workers)->run(requests, take);
      return results;
    }
    BuildAhead ahead(*workers, candidates);
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (std::string fault = ahead.faultOf(i); !fault.empty())
        take(i, {"", fault});
      else
        device->run({requests[i]}, [&](size_t, const tune::Answer &answer) { take(i, answer); });
    }
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
