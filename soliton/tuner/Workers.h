//===- Workers.h - Processes that may die ----------------------------------===//
//
// Candidates are judged in processes of their own: what hangs, crashes, takes all memory or writes nonsense costs one
// candidate and a new process.
//
//   Workers workers({.command = {"/proc/self/exe", "tune", "gemm", "--worker"}, .count = 4, .seconds = 60});
//   std::vector<Answer> answers = workers.run({"request 1", "request 2"});     // one for each, in their order
//
// A worker reads a request a line and writes an answer a line. Which worker gets which request, and when, is nobody's
// matter: answers come back in the order of the requests. A request whose worker was killed (SIGKILL, which no program
// sends itself) is asked once more.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/tuner/Process.h"

#include <functional>
#include <string>
#include <vector>

namespace soliton::tune {

struct WorkerOptions {
  /// The program and its arguments.
  std::vector<std::string> command;
  int count = 1;
  /// After which a request is given up.
  double seconds = 60;
  /// Address space of a worker; 0: no limit.
  uint64_t bytes = 0;
  /// `NAME=VALUE` that workers have beside our variables.
  std::vector<std::string> environment = {};
  /// Whether a line answers a request. Who writes anything else is not asked again. Empty: every line does.
  std::function<bool(const std::string &request, const std::string &line)> isAnswer = {};
};

struct Answer {
  /// The line that came back; empty where none did.
  std::string text;
  /// What happened instead: `hung for 60 s`, `ended by signal 11`, `exit code 1`.
  std::string fault;
};

class Workers {
public:
  explicit Workers(WorkerOptions options);
  ~Workers();
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;

  /// Requests must be single lines. `found` is told of each answer as it comes, with the number of its request.
  std::vector<Answer> run(const std::vector<std::string> &requests,
                          const std::function<void(size_t, const Answer &)> &found = {});
  /// Processes that were started so far.
  int started() const { return processes; }

private:
  struct Worker {
    Process process;
    /// The request it works on, -1 if none; until when; what it has written so far.
    int64_t request = -1;
    double until = 0;
    std::string text;
  };
  /// Ends the process, whatever it is doing, once it was given so long to end by itself; what it had to say about that.
  std::string stop(Worker &worker, double graceSeconds = 0);
  void give(Worker &worker, int64_t request, const std::string &line);
  /// Takes what is there to be read; true if the answer is complete or never will be.
  bool take(Worker &worker, const std::string &request, Answer &answer);

  WorkerOptions options;
  std::vector<Worker> workers;
  int processes = 0;
};

} // namespace soliton::tune
