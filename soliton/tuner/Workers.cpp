#include "soliton/tuner/Workers.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <deque>
#include <numeric>
#include <poll.h>
#include <unistd.h>

namespace soliton::tune {
namespace {

/// An answer is a line of JSON; more than this is nonsense.
constexpr size_t kLongestAnswer = 1 << 20;

/// As Process::end says it.
constexpr std::string_view kKilled = "ended by signal 9 ";

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string seconds(double value) {
  std::string text = std::to_string(value);
  return text.substr(0, text.find('.') + 2) + " s";
}

} // namespace

Workers::Workers(WorkerOptions said) : options(std::move(said)) {
  // Who writes to a worker that has died wants an error, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  workers.resize(static_cast<size_t>(std::max(options.count, 1)));
}

Workers::~Workers() {
  for (Worker &worker : workers)
    stop(worker);
}

std::string Workers::stop(Worker &worker, double graceSeconds) {
  worker.text.clear();
  return worker.process.end(graceSeconds);
}

void Workers::give(Worker &worker, int64_t request, const std::string &line) {
  if (!worker.process.isThere()) {
    worker.process = Process::start(options.command, {.bytes = options.bytes, .environment = options.environment});
    worker.text.clear();
    ++processes;
  }
  worker.request = request;
  worker.until = now() + options.seconds;
  // A worker that died in the meantime is found out when its answer is taken.
  worker.process.write(line + "\n");
}

bool Workers::take(Worker &worker, const std::string &request, Answer &answer) {
  char bytes[4096];
  while (true) {
    ssize_t count = read(worker.process.output(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno == EAGAIN)
      break;
    if (count <= 0) {
      // The end of its output comes a moment before its own, which is to say how it came.
      constexpr double kGraceSeconds = 1;
      answer.fault = stop(worker, kGraceSeconds);
      return true;
    }
    worker.text.append(bytes, static_cast<size_t>(count));
    if (worker.text.size() > kLongestAnswer) {
      stop(worker);
      answer.fault = "wrote more than " + std::to_string(kLongestAnswer) + " bytes and no answer";
      return true;
    }
  }
  size_t end = worker.text.find('\n');
  if (end == std::string::npos) {
    if (now() < worker.until)
      return false;
    stop(worker);
    answer.fault = "hung for " + seconds(options.seconds);
    return true;
  }
  std::string line = worker.text.substr(0, end);
  worker.text.erase(0, end + 1);
  if (options.isAnswer && !options.isAnswer(request, line)) {
    stop(worker);
    answer.fault = "wrote `" + line.substr(0, 60) + "`, which is no answer";
    return true;
  }
  answer.text = std::move(line);
  return true;
}

std::vector<Answer> Workers::run(const std::vector<std::string> &requests,
                                 const std::function<void(size_t, const Answer &)> &found) {
  std::vector<Answer> answers(requests.size());
  std::deque<size_t> toAsk(requests.size());
  std::iota(toAsk.begin(), toAsk.end(), size_t{0});
  std::vector<char> wasKilled(requests.size(), 0);
  size_t open = requests.size();
  while (open > 0) {
    std::vector<pollfd> waiting;
    for (Worker &worker : workers) {
      if (worker.request < 0 && !toAsk.empty()) {
        // Lines that nobody asked for: the next answer could be the last one's.
        if (!worker.text.empty())
          stop(worker);
        give(worker, static_cast<int64_t>(toAsk.front()), requests[toAsk.front()]);
        toAsk.pop_front();
      }
      if (worker.request >= 0)
        waiting.push_back({worker.process.output(), POLLIN, 0});
    }
    double until = now() + 1;
    for (const Worker &worker : workers)
      if (worker.request >= 0)
        until = std::min(until, worker.until);
    poll(waiting.data(), waiting.size(), std::max(1, static_cast<int>((until - now()) * 1000)));
    for (Worker &worker : workers)
      if (size_t number = static_cast<size_t>(worker.request);
          worker.request >= 0 && take(worker, requests[number], answers[number])) {
        worker.request = -1;
        // No candidate kills its process by itself: somebody did, and the next one is asked again, once.
        if (answers[number].fault.starts_with(kKilled) && !wasKilled[number]) {
          wasKilled[number] = 1;
          answers[number] = {};
          toAsk.push_front(number);
          continue;
        }
        --open;
        if (found)
          found(number, answers[number]);
      }
  }
  return answers;
}

} // namespace soliton::tune
