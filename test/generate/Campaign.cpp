#include "test/generate/Campaign.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace soliton::generate {
namespace {

//===-- Lines between processes -----------------------------------------------------------------===//

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '\n' ? "\\n" : c == '\t' ? " " : std::string(1, c);
  return result;
}
std::string unescaped(std::string text) {
  for (size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;)
    text.replace(at, 2, "\n");
  return text;
}

/// `interpret=0.01,emulate=0.12`.
std::string secondsOf(const Verdict &verdict) {
  std::string text;
  for (const auto &[stage, seconds] : verdict.seconds)
    text += (text.empty() ? "" : ",") + stage + "=" + std::to_string(seconds);
  return text;
}

std::vector<std::string> listIn(const std::string &text) {
  std::vector<std::string> list;
  std::istringstream stream(text);
  for (std::string each; std::getline(stream, each, ',');)
    list.push_back(each);
  return list;
}

std::string lineOf(const SeedResult &result) {
  std::string features;
  for (const std::string &each : result.features)
    features += (features.empty() ? "" : ",") + each;
  return std::to_string(result.seed) + "\t" + std::to_string(static_cast<int>(result.verdict.outcome)) + "\t" +
         result.verdict.kind + "\t" + result.verdict.target + "\t" + escaped(result.verdict.message) + "\t" + features +
         "\t" + secondsOf(result.verdict);
}

std::optional<SeedResult> parseLine(const std::string &line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '\t');)
    fields.push_back(field);
  if (fields.size() < 5 || fields[0].empty() || fields[0].find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  SeedResult result{std::stoull(fields[0]),
                    {static_cast<Outcome>(std::stoi(fields[1])), fields[2], fields[3], unescaped(fields[4]), {}},
                    {}};
  if (fields.size() > 5)
    for (const std::string &each : listIn(fields[5]))
      result.features.insert(each);
  if (fields.size() > 6)
    for (const std::string &each : listIn(fields[6]))
      if (size_t at = each.find('='); at != std::string::npos)
        result.verdict.seconds[each.substr(0, at)] = std::strtod(each.c_str() + at + 1, nullptr);
  return result;
}

void writeAll(int file, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count <= 0)
      _exit(3);
    done += static_cast<size_t>(count);
  }
}

//===-- Children --------------------------------------------------------------------------------===//

SeedResult judgeSeed(uint64_t seed, const CampaignOptions &options) {
  JudgeOptions judging = options.judge;
  judging.everyPass |= options.passesEvery && seed % options.passesEvery == 0;
  SeedResult result{seed, {}, {}};
  if (options.libraryEvery && seed % options.libraryEvery == options.libraryEvery - 1) {
    std::string what;
    result.verdict = judgeLibrary(seed, judging, result.features, what);
    if (result.verdict.outcome != Outcome::accepted)
      result.verdict.message = what + ": " + result.verdict.message;
    return result;
  }
  Program program = randomProgram(seed, options.random);
  result.features = program.features;
  result.verdict = judge(program, judging);
  return result;
}

constexpr const char *kOutOfMemory = "asked for more memory than a seed may have";

/// A process that says which seed it begins with and what came of it, one line each.
class Child {
public:
  explicit Child(const std::function<void(int)> &work) {
    int ends[2];
    if (pipe(ends) != 0)
      throw std::runtime_error("no pipe to a child");
    std::string name = (std::filesystem::temp_directory_path() / "soliton-generate-XXXXXX").string();
    int errors = mkstemp(name.data());
    if (errors < 0)
      throw std::runtime_error("no file for what a child says");
    unlink(name.c_str());
    pid = fork();
    if (pid == 0) {
      close(ends[0]);
      dup2(errors, STDERR_FILENO);
      reportCrashes();
      work(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    from = ends[0];
    said = errors;
  }
  Child(const Child &) = delete;
  ~Child() {
    close(from);
    close(said);
  }

  /// What the child printed before it died: of a stack trace the frames of the compiler, otherwise the last lines.
  std::string lastWords() const {
    constexpr off_t kMost = 20000;
    off_t size = lseek(said, 0, SEEK_END);
    std::string text(static_cast<size_t>(std::min(size, kMost)), '\0');
    ssize_t got = pread(said, text.data(), text.size(), std::max<off_t>(0, size - kMost));
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    for (const char *phrase : {"bad_alloc", "out of memory", "Allocation failed"})
      if (text.find(phrase) != std::string::npos)
        return kOutOfMemory;
    std::istringstream lines(text);
    std::string frames;
    int count = 0;
    for (std::string line; std::getline(lines, line) && count < 6;)
      if (size_t at = line.find("soliton::"); at != std::string::npos && line.find("generate::") == std::string::npos) {
        frames += line.substr(at, line.find_last_of('+') - at) + "\n";
        ++count;
      }
    return frames.empty() ? text.substr(text.size() - std::min<size_t>(text.size(), 1500)) : frames;
  }
  /// Waits for its end and says how it ended.
  std::string finish(bool stop) {
    if (stop)
      kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
      return std::string("signal ") + strsignal(WTERMSIG(status));
    return WEXITSTATUS(status) == 0 ? "" : "exit code " + std::to_string(WEXITSTATUS(status));
  }

  pid_t pid = 0;
  int from = -1;

private:
  int said = -1;
};

using Clock = std::chrono::steady_clock;

/// From here on this process may use so many seconds of a processor; others that use it too cost a seed nothing.
void limitProcessor(int seconds) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  rlimit limit{};
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec + seconds + 1);
  setrlimit(RLIMIT_CPU, &limit);
}
/// A seed that asks for more than this is its own verdict, and takes nothing from those beside it.
void limitMemory(const JudgeOptions &judging) {
  constexpr rlim_t kMost = rlim_t(4) << 30;
  if (!judging.gpu.empty()) // its driver reserves addresses that it never uses
    return;
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, kMost);
  setrlimit(RLIMIT_DATA, &limit);
}
bool isOverLimit(const std::string &ending) {
  return ending == std::string("signal ") + strsignal(SIGXCPU);
}

/// What waits for ever uses no processor: by the clock it may take this many times as long.
constexpr int kPatience = 10;

/// Seeds in the hands of one child at a time.
class Worker {
public:
  Worker(const CampaignOptions &options, std::vector<uint64_t> seeds) : options(options), seeds(std::move(seeds)) {
    start();
  }

  bool isDone() const { return !child; }
  int file() const { return child->from; }

  /// What came from the child; called when there is something to read, and now and then.
  void advance(bool readable, const std::function<void(SeedResult)> &take) {
    if (readable && readLines(take))
      return end(child->finish(false), take);
    if (Clock::now() - began > std::chrono::seconds(kPatience * options.limit)) {
      std::string words = child->lastWords();
      child->finish(true);
      fail("hang", "took longer than " + std::to_string(options.limit) + " s\n" + words, take);
    }
  }

private:
  void start() {
    if (next >= seeds.size()) {
      child.reset();
      return;
    }
    std::vector<uint64_t> rest(seeds.begin() + static_cast<ptrdiff_t>(next), seeds.end());
    const CampaignOptions &how = options;
    buffer.clear();
    began = Clock::now();
    child = std::make_unique<Child>([rest, &how](int to) {
      limitMemory(how.judge);
      for (uint64_t seed : rest) {
        limitProcessor(how.limit);
        writeAll(to, lineOf(judgeSeed(seed, how)) + "\n");
      }
    });
  }

  /// True at the end of what the child has to say.
  bool readLines(const std::function<void(SeedResult)> &take) {
    char bytes[4096];
    ssize_t count = read(child->from, bytes, sizeof bytes);
    if (count <= 0)
      return true;
    buffer.append(bytes, static_cast<size_t>(count));
    for (size_t stop = 0; (stop = buffer.find('\n')) != std::string::npos; buffer.erase(0, stop + 1))
      if (std::optional<SeedResult> result = parseLine(buffer.substr(0, stop))) {
        take(*result);
        ++next;
        began = Clock::now();
      }
    return false;
  }

  void end(const std::string &how, const std::function<void(SeedResult)> &take) {
    if (next < seeds.size() && isOverLimit(how))
      return fail("hang", "took longer than " + std::to_string(options.limit) + " s of a processor", take);
    if (next < seeds.size()) {
      std::string words = child->lastWords();
      return fail(words == kOutOfMemory ? "memory" : "crash", how + "\n" + words, take);
    }
    child.reset();
  }

  void fail(const char *kind, const std::string &message, const std::function<void(SeedResult)> &take) {
    SeedResult result{seeds[next++], {Outcome::failed, kind, "", message, {}}, {}};
    if (!options.libraryEvery || result.seed % options.libraryEvery != options.libraryEvery - 1)
      result.features = randomProgram(result.seed, options.random).features;
    take(result);
    start();
  }

  const CampaignOptions &options;
  std::vector<uint64_t> seeds;
  size_t next = 0;
  std::unique_ptr<Child> child;
  std::string buffer;
  Clock::time_point began;
};

std::vector<uint64_t> seedsToDo(const CampaignOptions &options, Campaign &campaign) {
  std::set<uint64_t> done;
  if (std::ifstream before(options.resume); !options.resume.empty() && before)
    for (std::string line; std::getline(before, line);)
      if (std::optional<SeedResult> result = parseLine(line); result && done.insert(result->seed).second)
        campaign.results.push_back(*result);
  std::vector<uint64_t> seeds;
  auto add = [&](uint64_t seed) {
    if (done.insert(seed).second)
      seeds.push_back(seed);
  };
  for (uint64_t seed : options.seedsFirst)
    add(seed);
  for (const SeedRange &range : options.seeds)
    for (uint64_t seed = range.begin; seed < range.end; ++seed)
      add(seed);
  return seeds;
}
} // namespace

Campaign run(const CampaignOptions &options) {
  constexpr size_t kBatch = 20;
  Campaign campaign;
  std::vector<uint64_t> seeds = seedsToDo(options, campaign);
  std::ofstream log;
  if (!options.resume.empty())
    log.open(options.resume, std::ios::app);
  size_t next = 0, finished = 0;
  auto take = [&](SeedResult result) {
    if (log.is_open())
      log << lineOf(result) << std::endl;
    ++finished;
    if (options.progress &&
        (result.verdict.outcome == Outcome::failed || finished % 50 == 0 || finished == seeds.size()))
      options.progress("[" + std::to_string(finished) + "/" + std::to_string(seeds.size()) + "] seed " +
                       std::to_string(result.seed) + " " +
                       (result.verdict.outcome == Outcome::failed ? signatureOf(result.verdict) : ""));
    campaign.results.push_back(std::move(result));
  };
  std::vector<std::unique_ptr<Worker>> workers;
  while (next < seeds.size() || !workers.empty()) {
    while (next < seeds.size() && workers.size() < static_cast<size_t>(std::max(1, options.jobs))) {
      size_t stop = std::min(seeds.size(), next + kBatch);
      workers.push_back(
          std::make_unique<Worker>(options, std::vector<uint64_t>(seeds.begin() + static_cast<ptrdiff_t>(next),
                                                                  seeds.begin() + static_cast<ptrdiff_t>(stop))));
      next = stop;
    }
    std::vector<pollfd> files;
    for (const auto &worker : workers)
      files.push_back({worker->file(), POLLIN, 0});
    poll(files.data(), files.size(), 500);
    for (size_t i = 0; i < workers.size(); ++i)
      workers[i]->advance(files[i].revents != 0, take);
    std::erase_if(workers, [](const auto &worker) { return worker->isDone(); });
  }
  std::ranges::sort(campaign.results, {}, &SeedResult::seed);
  return campaign;
}

Verdict judgeApart(const Program &program, const JudgeOptions &options, int limitSeconds) {
  Child child([&](int to) {
    limitMemory(options);
    limitProcessor(limitSeconds);
    writeAll(to, lineOf({program.seed, judge(program, options), {}}) + "\n");
  });
  std::string text;
  Clock::time_point end = Clock::now() + std::chrono::seconds(kPatience * limitSeconds);
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd file{child.from, POLLIN, 0};
    if (left <= 0 || poll(&file, 1, static_cast<int>(left)) == 0) {
      child.finish(true);
      return {Outcome::failed, "hang", "", "took longer than " + std::to_string(limitSeconds) + " s", {}};
    }
    char bytes[4096];
    ssize_t count = read(child.from, bytes, sizeof bytes);
    if (count <= 0)
      break;
    text.append(bytes, static_cast<size_t>(count));
  }
  std::string how = child.finish(false);
  if (isOverLimit(how))
    return {Outcome::failed, "hang", "", "took longer than " + std::to_string(limitSeconds) + " s of a processor", {}};
  if (std::optional<SeedResult> result = parseLine(text.substr(0, text.find('\n'))))
    return result->verdict;
  std::string words = child.lastWords();
  return {Outcome::failed, words == kOutOfMemory ? "memory" : "crash", "", how + "\n" + words, {}};
}

} // namespace soliton::generate
