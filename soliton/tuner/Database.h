//===- Database.h - What was tried, and what came of it --------------------===//
//
// An SQLite file in WAL mode that many processes may use at once. A result belongs to a *subject* (kernel with its
// sizes and types, device, driver, build of the compiler), a candidate and a stage, and is written once; who comes
// second finds it there. Each write is a transaction of its own: a process that is killed loses what it was doing and
// nothing else.
//
//   Database database("tuning.db");
//   int64_t run = database.begin(subject, settings);             // the same run again for the same settings
//   if (!database.find(subject, candidate, Stage::Model)) database.store(subject, candidate, Stage::Model, result);
//   database.decide(run, number, candidate, cost);               // throws where a run is repeated and differs
//
// A search is a function of its settings and its results, so that a run goes on where it was stopped by beginning
// anew: its results are found here, and every decision is compared with the one that was made then.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/tuner/Candidate.h"
#include "soliton/tuner/Result.h"

#include <functional>
#include <iosfwd>
#include <memory>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace soliton::tune {

/// What a result is true of. It is never used for another device, driver or compiler.
struct Subject {
  /// Name, element types, sizes, what is dynamic.
  std::string kernel;
  /// `modelled gfx942`, or a device's name.
  std::string device, driver, build;

  std::string key() const;
  bool operator==(const Subject &) const = default;
};

struct Run {
  int64_t id = 0;
  Subject subject;
  /// As the command was given, in one line of JSON.
  std::string settings;
  std::string begun;
  /// Empty while it runs, or where it was stopped.
  std::string ended;
  int64_t decisions = 0;
  /// The least cost among its decisions, and whose it is; empty where all were refused.
  double best = 0;
  std::string bestHash;
};

struct Decision {
  int64_t number = 0;
  std::string hash;
  double cost = 0;
};

class Database {
public:
  /// How long a write waits for other programs before it is kept for later.
  static constexpr int kPatienceMs = 20'000;

  /// Makes the file where there is none. Throws TuneError where it cannot be used, or is none of ours.
  explicit Database(const std::string &path, int patienceMs = kPatienceMs);
  ~Database();
  Database(const Database &) = delete;
  Database &operator=(const Database &) = delete;

  /// `other` is the hash of whom a duel was with.
  std::optional<Result> find(const Subject &subject, const std::string &hash, Stage stage,
                             const std::string &other = {});
  /// False if there was one already, which stays; what can't be read any more does not.
  bool store(const Subject &subject, const Candidate &candidate, Stage stage, const Result &result,
             const std::string &other = {});
  std::optional<Candidate> candidate(const std::string &hash);

  /// The run of these settings: a new one, or the one that there is.
  int64_t begin(const Subject &subject, const std::string &settings);
  /// The `number`-th candidate that the search learned of. Throws TuneError if a repeated run decides otherwise.
  void decide(int64_t run, int64_t number, const std::string &hash, double cost);
  void end(int64_t run, const std::string &how);

  /// Newest first.
  std::vector<Run> runs();
  std::vector<Decision> decisions(int64_t run);

  /// One line of JSON for each result, with its subject and candidate.
  std::string exported();
  /// Reads such lines of the file of this name; how many were new. Throws TuneError for a line that is none, and takes
  /// nothing then.
  int64_t import(std::istream &lines, const std::string &name = "-");
  /// What is wrong with it, one sentence each; empty if nothing.
  std::vector<std::string> flaws();

  /// Writes that a full disk, or a file that another program holds, did not take so far. Each later one tries them
  /// again, so that a run goes on, and keeps everything where room is made.
  size_t unkept() const { return waiting.size(); }

private:
  class Statement;
  class Full;
  void open();
  void execute(const char *sql);
  [[noreturn]] void fail(const std::string &what);
  /// In one transaction with all that waits; waits too where the disk is full.
  void write(std::function<void()> rows);
  void storeSubject(const Subject &subject);
  bool storeAs(const std::string &subject, const Candidate &candidate, std::string_view stage, const std::string &json);
  int64_t importLine(std::string_view text, const Place &place);

  sqlite3 *file = nullptr;
  std::string path;
  int patienceMs;
  std::vector<std::function<void()>> waiting;
};

} // namespace soliton::tune
