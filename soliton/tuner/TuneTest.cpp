// The loop of the tuner: what it learns does not depend on who judges, when it was stopped, or who died.
#include "soliton/tuner/Tune.h"
#include "soliton/driver/Compile.h"
#include "soliton/tuner/Space.h"
#include "soliton/tuner/Workers.h"

#include "gtest/gtest.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace soliton::tune {
namespace {

Space tiles() {
  return Space{}
      .choice(sym::Expr::symbol("M"), {16, 32, 64, 128, 256})
      .choice("N", {16, 32, 64, 128, 256})
      .choice("K", {8, 16, 32, 64})
      .choice("schedule", {"none", "prefetch", "modulo"})
      .where("M * N <= 16384",
             [](const Assignment &a) { return std::stoll(a.at("M")) * std::stoll(a.at("N")) <= 16384; });
}

/// Recorded timings: a number for each candidate that its hash decides, lower towards M = N = 128; some are refused.
Result recorded(const Candidate &candidate, const Question &question) {
  uint64_t noise = std::stoull(candidate.hash().substr(0, 8), nullptr, 16);
  if (question.stage == Stage::Answer)
    return noise % 11 == 0 ? Result::refused("answer", "wrong") : Result();
  if (noise % 7 == 0)
    return Result::refused("resources", "too much");
  Result result;
  double m = std::stod(candidate.choices.at("M")), n = std::stod(candidate.choices.at("N"));
  double slow = candidate.choices.at("schedule") == "modulo" ? 1 : candidate.choices.at("schedule") == "none" ? 3 : 2;
  result.modelledMicroseconds = (1e4 / (m * n) + m / 64 + n / 64) * slow + static_cast<double>(noise % 100) * 1e-3;
  return result;
}

/// Judges with so many threads, each finishing when it likes.
Judges judgesOf(int workers, int &judged) {
  return [workers, &judged](const std::vector<Candidate> &candidates, const Question &question) {
    std::vector<Result> results(candidates.size());
    judged += static_cast<int>(candidates.size());
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; ++w)
      threads.emplace_back([&, w] {
        for (size_t i = static_cast<size_t>(w); i < candidates.size(); i += static_cast<size_t>(workers)) {
          std::this_thread::sleep_for(std::chrono::microseconds((i * 7919) % 300));
          results[i] = recorded(candidates[i], question);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    return results;
  };
}

struct Replay {
  std::vector<std::string> hashes;
  std::string winner;
  std::string ended;
  int judged = 0;
};

Replay replay(Strategy strategy, int workers, uint64_t seed, Database *database = nullptr, int64_t budget = 60) {
  Space space = tiles();
  SpaceDomain domain(space, {{"M", "16"}, {"N", "16"}});
  Replay result;
  TuneOptions options;
  options.strategy = strategy;
  options.search = {.seed = seed, .budget = budget};
  TuneContext context;
  context.judge = judgesOf(workers, result.judged);
  context.database = database;
  context.subject = {"test", "recorded", "", ""};
  if (database)
    context.run = database->begin(context.subject, std::to_string(seed));
  Tuned tuned =
      tune(domain, [&](const Point &point) { return Candidate{domain.assignmentOf(point), ""}; }, options, context);
  for (const Trial &trial : tuned.trials)
    result.hashes.push_back(trial.hash);
  result.winner = tuned.best ? tuned.trials[*tuned.best].hash : "";
  result.ended = tuned.ended;
  return result;
}

TEST(Tune, OneFourAndSixteenWorkersDecideTheSame) {
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (Strategy strategy :
         {Strategy::Random, Strategy::HillClimbing, Strategy::Annealing, Strategy::Evolution, Strategy::Model}) {
      Replay one = replay(strategy, 1, seed);
      EXPECT_FALSE(one.winner.empty());
      for (int workers : {4, 16})
        EXPECT_EQ(replay(strategy, workers, seed).hashes, one.hashes) << nameOf(strategy) << " seed " << seed;
    }
}

TEST(Tune, AWinnerGivesTheRightAnswerAndLosersAreNotAsked) {
  Replay found = replay(Strategy::Evolution, 1, 3, nullptr, 120);
  std::set<std::string> different(found.hashes.begin(), found.hashes.end());
  EXPECT_EQ(different.size(), found.hashes.size());
  // More than one question a candidate, for those that were the best, but few.
  EXPECT_GT(found.judged, 120);
  EXPECT_LT(found.judged, 160);
}

TEST(Tune, ASmallSpaceIsExhausted) {
  Replay all = replay(Strategy::HillClimbing, 1, 1, nullptr, 100000);
  EXPECT_EQ(all.ended, "exhausted");
}

TEST(Tune, AStoppedRunGoesOnWithTheSameDecisions) {
  std::string path =
      (std::filesystem::temp_directory_path() / ("soliton-tune-" + std::to_string(::getpid()) + ".db")).string();
  Replay whole = replay(Strategy::Evolution, 1, 5);
  {
    Database database(path);
    EXPECT_EQ(replay(Strategy::Evolution, 1, 5, &database, 24).hashes,
              std::vector(whole.hashes.begin(), whole.hashes.begin() + 24));
    Replay rest = replay(Strategy::Evolution, 4, 5, &database);
    EXPECT_EQ(rest.hashes, whole.hashes);
    EXPECT_LT(rest.judged, whole.judged);
    EXPECT_EQ(replay(Strategy::Evolution, 1, 5, &database).judged, 0);
  }
  for (const char *suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(path + suffix);
}

/// Two runs of the same settings with one database, whose devices say other times each time: who writes first is right,
/// and both decide by that.
TEST(Tune, RunsThatShareADatabaseDecideTheSame) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("soliton-shared-" + std::to_string(::getpid()) + ".db")).string();
  std::vector<Candidate> candidates;
  for (int i = 0; i < 12; ++i)
    candidates.push_back({{{"i", std::to_string(i)}}, ""});
  TuneOptions options;
  options.measures = true;
  options.search.generation = 3;
  {
    Database database(path);
    const Subject subject{"test", "device", "", "build"};
    auto judge = [&](int more) {
      return [=](const std::vector<Candidate> &asked, const Question &question) {
        std::vector<Result> results;
        for (const Candidate &candidate : asked) {
          int number = std::stoi(candidate.choices.at("i"));
          Result result;
          result.modelledMicroseconds = 10;
          if (question.stage == Stage::Device || question.stage == Stage::Duel)
            result.measuredMicroseconds = 10 + number * (more + 5) % 7;
          result.otherMicroseconds = question.stage == Stage::Duel ? 10 + more : 0;
          results.push_back(result);
        }
        return results;
      };
    };
    TuneContext first{judge(0), &database, subject, database.begin(subject, "settings"), {}};
    TuneContext second = first;
    // While the second one is asked, the first one answers all of it.
    std::vector<Trial> ofFirst;
    second.judge = [&](const std::vector<Candidate> &asked, const Question &question) {
      if (ofFirst.empty())
        ofFirst = tuneAll(candidates, options, first).trials;
      return judge(1)(asked, question);
    };
    Tuned ofSecond = tuneAll(candidates, options, second);
    ASSERT_EQ(ofSecond.trials.size(), ofFirst.size());
    for (size_t i = 0; i < ofFirst.size(); ++i)
      EXPECT_EQ(ofSecond.trials[i].cost, ofFirst[i].cost) << i;
  }
  for (const char *suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(path + suffix);
}

/// An answer without a time would cost nothing, and win.
TEST(Tune, WhoAnswersWithoutATimeIsRefused) {
  std::vector<Candidate> candidates;
  for (const char *name : {"right", "no model", "no time", "no other"})
    candidates.push_back({{{"name", name}}, ""});
  TuneContext context;
  context.judge = [&](const std::vector<Candidate> &asked, const Question &question) {
    std::vector<Result> results;
    for (const Candidate &candidate : asked) {
      std::string name = candidate.choices.at("name");
      Result result;
      result.modelledMicroseconds = name == "no model" ? 0 : 10;
      if (question.stage == Stage::Device)
        result.measuredMicroseconds = name == "right" ? 10 : name == "no other" ? 9 : 0;
      if (question.stage == Stage::Duel)
        result.measuredMicroseconds = 9;
      results.push_back(result);
    }
    return results;
  };
  TuneOptions options;
  options.measures = true;
  Tuned tuned = tuneAll(candidates, options, context);
  ASSERT_TRUE(tuned.best);
  EXPECT_EQ(tuned.trials[*tuned.best].candidate.choices.at("name"), "right");
  for (size_t i = 1; i < candidates.size(); ++i)
    EXPECT_EQ(tuned.trials[i].result.refusedBy, "worker") << i;
}

/// What alone is lucky loses the duel; what the model finds hopeless is never measured.
TEST(Tune, WhoMeasuresBestMustWinAgain) {
  std::vector<Candidate> candidates;
  for (const char *name : {"steady", "lucky", "hopeless", "better", "broken"})
    candidates.push_back({{{"name", name}}, ""});
  std::map<std::string, double> modelled = {
      {"steady", 10}, {"lucky", 10}, {"hopeless", 100}, {"better", 9}, {"broken", 9}};
  std::map<std::string, double> alone = {{"steady", 20}, {"lucky", 15}, {"better", 18}},
                                inTurn = {{"lucky", 21}, {"better", 17}};
  std::vector<std::string> measured, duels;
  TuneContext context;
  context.judge = [&](const std::vector<Candidate> &asked, const Question &question) {
    std::vector<Result> results;
    for (const Candidate &candidate : asked) {
      std::string name = candidate.choices.at("name");
      Result result;
      result.modelledMicroseconds = modelled[name];
      if (question.stage == Stage::Device) {
        measured.push_back(name);
        result.measuredMicroseconds = alone[name];
        if (name == "broken")
          result = Result::refused("device", "an illegal access");
      }
      if (question.stage == Stage::Duel) {
        duels.push_back(name + " with " + question.other->choices.at("name"));
        result.measuredMicroseconds = inTurn[name];
        result.otherMicroseconds = 20;
      }
      results.push_back(result);
    }
    return results;
  };
  TuneOptions options;
  options.measures = true;
  Tuned tuned = tuneAll(candidates, options, context);
  EXPECT_EQ(measured, (std::vector<std::string>{"steady", "lucky", "better", "broken"}));
  EXPECT_EQ(duels, (std::vector<std::string>{"lucky with steady", "better with steady"}));
  ASSERT_TRUE(tuned.best);
  EXPECT_EQ(tuned.trials[*tuned.best].candidate.choices.at("name"), "better");
  EXPECT_EQ(tuned.trials[*tuned.best].cost, 17);
  EXPECT_EQ(tuned.trials[1].cost, 21);
  EXPECT_EQ(tuned.trials[2].result.refusedBy, "model");
  EXPECT_EQ(tuned.trials[4].result.refusedBy, "device");
}

TEST(Space, SaysWhatIsWrong) {
  Space space;
  space.choice("M", {64, 32, 64});
  EXPECT_EQ(space.find("M")->values, (std::vector<std::string>{"32", "64"}));
  EXPECT_THROW(space.choice("M", {1}), TuneError);
  EXPECT_THROW(space.choice("N", std::vector<int64_t>{}), TuneError);
  EXPECT_THROW(space.choice("a b", {1}), TuneError);
  EXPECT_THROW(space.choice("x", {"a=b"}), TuneError);
  EXPECT_THROW(SpaceDomain(space, {{"M", "48"}}), TuneError);
  space.where("never", [](const Assignment &) { return false; });
  EXPECT_THROW(SpaceDomain(space, {}), TuneError);
  EXPECT_EQ(space.text(), "M=32,64\nwhere never\n");
}

TEST(Space, EveryPointMeetsTheConditions) {
  Space space = tiles();
  SpaceDomain domain(space, {});
  Random random(1);
  Point point = domain.start();
  for (int i = 0; i < 500; ++i) {
    Point other = domain.anywhere(random);
    point = i % 3 == 0 ? domain.between(point, other, random) : domain.neighbour(point, random);
    EXPECT_TRUE(space.allows(domain.assignmentOf(point)));
    EXPECT_EQ(domain.features(point).size(), domain.features(other).size());
  }
}

//===- Workers -----------------------------------------------------------------------===//

Workers shell(const std::string &script, int count, double seconds = 5, uint64_t bytes = 0) {
  WorkerOptions options;
  options.command = {"/bin/sh", "-c", script};
  options.count = count;
  options.seconds = seconds;
  options.bytes = bytes;
  options.isAnswer = [](const std::string &request, const std::string &line) { return line == "answer to " + request; };
  return Workers(std::move(options));
}

TEST(Workers, AnswersComeInTheOrderOfTheRequests) {
  Workers workers = shell("while read line; do echo \"answer to $line\"; done", 4);
  std::vector<std::string> requests;
  for (int i = 0; i < 200; ++i)
    requests.push_back(std::to_string(i));
  std::vector<Answer> answers = workers.run(requests);
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(answers[i].text, "answer to " + std::to_string(i)) << answers[i].fault;
  EXPECT_EQ(workers.started(), 4);
}

TEST(Workers, FaultsCostTheirCandidateAndNoOther) {
  Workers workers =
      shell("while read line; do case $line in *hang) sleep 100;; *crash) kill -SEGV $$;; *exit) exit 3;; "
            "*nonsense) echo gibberish;; *long) head -c 2000000 /dev/zero;; esac; "
            "echo \"answer to $line\"; done",
            2, 0.5);
  std::vector<std::string> kinds = {"fine", "hang", "crash", "exit", "nonsense", "long"}, requests;
  for (int i = 0; i < 24; ++i)
    requests.push_back(std::to_string(i) + kinds[static_cast<size_t>(i) % kinds.size()]);
  auto began = std::chrono::steady_clock::now();
  std::vector<Answer> answers = workers.run(requests);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(answers[i].text.empty(), i % kinds.size() != 0) << requests[i];
    EXPECT_EQ(answers[i].fault.empty(), i % kinds.size() == 0) << requests[i];
  }
  EXPECT_NE(answers[1].fault.find("hung for 0.5 s"), std::string::npos);
  EXPECT_NE(answers[2].fault.find("signal 11"), std::string::npos);
  EXPECT_NE(answers[3].fault.find("exit code 3"), std::string::npos);
  EXPECT_NE(answers[4].fault.find("gibberish"), std::string::npos);
  EXPECT_LT(seconds, 4 * 2.5);
}

/// By somebody else: the first time it is asked again, the second time it is its candidate's doing after all.
TEST(Workers, WhoIsKilledIsAskedOnceMore) {
  std::string once = ::testing::TempDir() + "soliton-killed-" + std::to_string(::getpid());
  Workers workers =
      shell("while read line; do case $line in *once) if mkdir " + once +
                "; then kill -KILL $$; fi;; *always) kill -KILL $$;; esac; echo \"answer to $line\"; done",
            2, 5);
  std::vector<Answer> answers = workers.run({"a once", "b", "c always", "d"});
  rmdir(once.c_str());
  EXPECT_EQ(answers[0].text, "answer to a once") << answers[0].fault;
  EXPECT_EQ(answers[1].text, "answer to b");
  EXPECT_NE(answers[2].fault.find("signal 9"), std::string::npos);
  EXPECT_EQ(answers[3].text, "answer to d");
}

/// Who compiles ahead does so in a thread of its own. Its end must not kill workers that already have the next request:
/// that would be refused for it.
TEST(Workers, TheyStayWhenTheThreadThatStartedThemEnds) {
  Workers workers = shell("while read line; do echo \"answer to $line\"; done", 2);
  std::vector<std::string> requests = {"a", "b"};
  std::thread([&] { workers.run(requests); }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(100)); // such a kill comes a moment later
  for (const Answer &answer : workers.run(requests))
    EXPECT_EQ(answer.fault, "");
  EXPECT_EQ(workers.started(), 2);
}

/// `Z` is one that nobody has asked how it ended; "" that there is none.
std::string stateOf(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line((std::istreambuf_iterator<char>(file)), {});
  size_t end = line.rfind(')');
  return end == std::string::npos ? "" : line.substr(end + 2, 1);
}

TEST(Process, EndsWithItsProgramThoughThatIsKilled) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  pid_t program = fork();
  if (program == 0) {
    Process hangs = Process::start({"/bin/sh", "-c", "echo $$; sleep 100"});
    char digits[16] = {};
    while (read(hangs.output(), digits, sizeof digits - 1) <= 0)
      usleep(1000);
    pid_t process = static_cast<pid_t>(std::strtol(digits, nullptr, 10));
    [[maybe_unused]] ssize_t written = write(told[1], &process, sizeof process);
    raise(SIGKILL);
  }
  pid_t process = 0;
  ASSERT_EQ(read(told[0], &process, sizeof process), static_cast<ssize_t>(sizeof process));
  waitpid(program, nullptr, 0);
  for (int tries = 0; tries < 500 && stateOf(process) != "" && stateOf(process) != "Z"; ++tries)
    usleep(10'000);
  EXPECT_TRUE(stateOf(process) == "" || stateOf(process) == "Z") << stateOf(process);
  close(told[0]);
  close(told[1]);
}

TEST(Workers, AProgramThatIsNotThereIsAFault) {
  WorkerOptions options;
  options.command = {"/no/such/program"};
  Workers workers(std::move(options));
  EXPECT_NE(workers.run({"x"}).front().fault.find("exit code 127"), std::string::npos);
}

} // namespace
} // namespace soliton::tune
