#include "soliton/tuner/Process.h"

#include "soliton/tuner/Candidate.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <future>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace soliton::tune {
namespace {

/// What a process that has ended leaves behind, in words.
std::string describe(int status) {
  if (WIFSIGNALED(status))
    return "ended by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

TuneError cannotStart() {
  return {DiagId::TuneWorkers, std::string("no worker could be started: ") + std::strerror(errno),
          "use fewer workers (`--workers`), or raise the limits of processes and open files"};
}

/// Only what is safe between fork and exec.
[[noreturn]] void become(std::vector<char *> &arguments, std::vector<char *> &variables, int in, int out,
                         uint64_t bytes) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL); // a worker that hangs outlives nobody
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  if (bytes > 0) {
    rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
  }
  rlimit noCore{0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  execvpe(arguments[0], arguments.data(), variables.data());
  _exit(127);
}

/// Our variables and those that are said, of which the first of a name counts.
std::vector<std::string> variablesWith(std::vector<std::string> said) {
  for (char **each = environ; *each; ++each) {
    std::string_view name(*each, std::strcspn(*each, "="));
    bool isSaid = std::ranges::any_of(
        said, [&](const std::string &other) { return other.starts_with(name) && other[name.size()] == '='; });
    if (!isSaid)
      said.emplace_back(*each);
  }
  return said;
}

std::vector<char *> pointersTo(std::vector<std::string> &words) {
  std::vector<char *> list;
  for (std::string &word : words)
    list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

/// What fork returns, and errno. PR_SET_PDEATHSIG kills a process when the *thread* that forked it ends, though its
/// program goes on (prctl(2)), in the middle of whatever it was asked by others. So each is forked by a thread of its
/// own, which stays until it has ended.
std::pair<pid_t, int> forkFromOwnThread(const std::function<void()> &child) {
  std::promise<std::pair<pid_t, int>> forked;
  std::future<std::pair<pid_t, int>> answer = forked.get_future();
  auto keep = [&child, forked = std::move(forked)]() mutable {
    pid_t process = fork();
    if (process == 0)
      child();
    forked.set_value({process, errno});
    // From here on nothing of the caller's is there any more. It takes the status; this only waits for it.
    siginfo_t ended = {};
    while (process > 0 && waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
  };
  try {
    std::thread(std::move(keep)).detach();
  } catch (const std::system_error &error) {
    return {-1, error.code().value()};
  }
  return answer.get();
}

} // namespace

Process Process::start(std::vector<std::string> command, const ProcessOptions &options) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0)
    throw cannotStart();
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    throw cannotStart();
  }
  std::vector<std::string> environment = variablesWith(options.environment);
  std::vector<char *> arguments = pointersTo(command), variables = pointersTo(environment);
  Process made;
  auto [process, reason] = forkFromOwnThread([&] { become(arguments, variables, in[0], out[1], options.bytes); });
  close(in[0]);
  close(out[1]);
  if (process < 0) {
    close(in[1]);
    close(out[0]);
    errno = reason;
    throw cannotStart();
  }
  made.process = process;
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  made.in = in[1];
  made.out = out[0];
  return made;
}

void Process::write(std::string_view text) const {
  while (!text.empty()) {
    ssize_t count = ::write(in, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

std::string Process::end(double graceSeconds) {
  if (process < 0)
    return {};
  close(in);
  close(out);
  int status = 0;
  constexpr int kStepsASecond = 100;
  siginfo_t state = {};
  for (int step = 0; step < graceSeconds * kStepsASecond && state.si_pid == 0; ++step) {
    waitid(P_PID, static_cast<id_t>(process), &state, WEXITED | WNOHANG | WNOWAIT);
    usleep(1'000'000 / kStepsASecond);
  }
  // It may have ended by itself, and then says how.
  if (waitpid(process, &status, WNOHANG) == 0) {
    kill(-process, SIGKILL);
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
  }
  process = -1;
  return describe(status);
}

} // namespace soliton::tune
