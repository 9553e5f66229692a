#include "soliton/tuner/Coordinator.h"

#include "soliton/tuner/Candidate.h"
#include "soliton/tuner/Lines.h"

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>

namespace soliton::tune {
using Json = nlohmann::ordered_json;

namespace {

constexpr const char *kHint = "`python3 -m pip install ray` and `ray start --head` make a cluster of this machine; "
                              "SOLITON_PYTHON names another Python; `--workers local:N` needs none";

/// What a line is that is no JSON of ours: an end.
TuneError endedWith(const std::string &how) {
  return {DiagId::TuneRay, "the coordinator of Ray's workers ended (" + how + "), expected an answer", kHint};
}

} // namespace

Coordinator::Coordinator(std::vector<std::string> command, const std::string &firstLine) {
  std::signal(SIGPIPE, SIG_IGN);
  process = Process::start(std::move(command));
  process.write(firstLine + "\n");
  std::string line = nextLine();
  Json answer = parseLine(line);
  if (answer.is_object() && answer.contains("ready")) {
    said = answer.value("identity", Json::object()).dump();
    return;
  }
  process.end();
  std::string why = answer.is_object() ? answer.value("message", "") : "found `" + line.substr(0, 60) + "`";
  throw TuneError(DiagId::TuneRay, why + ", expected a cluster of Ray with workers", kHint);
}

Coordinator::~Coordinator() {
  constexpr double kGraceSeconds = 10; // for its actors to go
  process.end(kGraceSeconds);
}

std::string Coordinator::nextLine() {
  char bytes[65536];
  while (true) {
    if (size_t end = text.find('\n'); end != std::string::npos) {
      std::string line = text.substr(0, end);
      text.erase(0, end + 1);
      return line;
    }
    pollfd waiting{process.output(), POLLIN, 0};
    poll(&waiting, 1, -1);
    ssize_t count = read(process.output(), bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (count <= 0) {
      usleep(20'000); // the end of its output comes a moment before its own
      throw endedWith(process.end());
    }
    text.append(bytes, static_cast<size_t>(count));
  }
}

std::vector<Answer> Coordinator::run(const std::vector<std::string> &requests,
                                     const std::function<void(size_t, const Answer &)> &found) {
  int64_t first = asked;
  std::string lines;
  for (const std::string &request : requests)
    lines += "{\"id\": " + std::to_string(asked++) + ", \"request\": " + request + "}\n";
  process.write(lines);
  std::vector<Answer> answers(requests.size());
  for (size_t open = requests.size(); open > 0;) {
    std::string line = nextLine();
    Json answer = parseLine(line);
    int64_t number = answer.is_object() ? answer.value("id", int64_t{-1}) - first : -1;
    if (number < 0 || number >= static_cast<int64_t>(requests.size()))
      continue; // late, or none
    answers[static_cast<size_t>(number)] = {answer.value("text", ""), answer.value("fault", "")};
    --open;
    if (found)
      found(static_cast<size_t>(number), answers[static_cast<size_t>(number)]);
  }
  return answers;
}

} // namespace soliton::tune
