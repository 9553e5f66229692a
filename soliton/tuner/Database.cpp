#include "soliton/tuner/Database.h"

#include "soliton/tuner/Lines.h"

#include <sqlite3.h>

#include <cmath>
#include <istream>
#include <map>

namespace soliton::tune {
using Json = nlohmann::ordered_json;

namespace {
/// By which SQLite's own header tells our files from others: "SlTn".
constexpr int kApplication = 0x536c546e;
constexpr int kVersion = 1;
/// How long a write waits behind one for which the file was not free.
constexpr int kShortMs = 100, kStepMs = 5;
/// Of a line that is imported: a candidate with the schedules of some loops is some thousand bytes.
constexpr std::streamsize kLongestLine = 4 << 20;

constexpr const char *kTables = R"sql(
CREATE TABLE IF NOT EXISTS subjects(key TEXT PRIMARY KEY, kernel TEXT NOT NULL, device TEXT NOT NULL,
  driver TEXT NOT NULL, build TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS candidates(hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS results(subject TEXT NOT NULL, hash TEXT NOT NULL, stage TEXT NOT NULL, result TEXT NOT NULL,
  PRIMARY KEY(subject, hash, stage)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs(id INTEGER PRIMARY KEY, subject TEXT NOT NULL, settings TEXT NOT NULL,
  begun TEXT NOT NULL DEFAULT (datetime('now')), ended TEXT NOT NULL DEFAULT '', UNIQUE(subject, settings));
CREATE TABLE IF NOT EXISTS decisions(run INTEGER NOT NULL, number INTEGER NOT NULL, hash TEXT NOT NULL,
  cost REAL, PRIMARY KEY(run, number)) WITHOUT ROWID;
)sql";
} // namespace

/// A prepared statement that is bound, stepped and read in order.
class Database::Statement {
public:
  Statement(Database &database, const char *sql) : database(database) {
    if (sqlite3_prepare_v2(database.file, sql, -1, &statement, nullptr) != SQLITE_OK)
      database.fail("it can't be read");
  }
  ~Statement() { sqlite3_finalize(statement); }
  Statement(const Statement &) = delete;
  Statement &operator=(const Statement &) = delete;

  Statement &bind(std::string_view text) {
    sqlite3_bind_text(statement, ++bound, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement &bind(int64_t number) {
    sqlite3_bind_int64(statement, ++bound, number);
    return *this;
  }
  /// Infinity, the cost of what was refused, is null.
  Statement &bindCost(double cost) {
    if (std::isfinite(cost))
      sqlite3_bind_double(statement, ++bound, cost);
    else
      sqlite3_bind_null(statement, ++bound);
    return *this;
  }
  /// True if there is a row.
  bool step() {
    int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
      database.fail("it can't be read or written");
    return code == SQLITE_ROW;
  }
  std::string text(int column) const {
    const unsigned char *bytes = sqlite3_column_text(statement, column);
    return bytes ? std::string(reinterpret_cast<const char *>(bytes),
                               static_cast<size_t>(sqlite3_column_bytes(statement, column)))
                 : std::string();
  }
  int64_t number(int column) const { return sqlite3_column_int64(statement, column); }
  double cost(int column) const {
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? std::numeric_limits<double>::infinity()
                                                                 : sqlite3_column_double(statement, column);
  }

private:
  Database &database;
  sqlite3_stmt *statement = nullptr;
  int bound = 0;
};

std::string Subject::key() const {
  // Of a file that was damaged it may be no UTF-8.
  return hashOf(Json({kernel, device, driver, build}).dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// No room, a disk that takes nothing for another reason, or somebody who holds the file: what waits may be written
/// later.
class Database::Full : public TuneError {
public:
  using TuneError::TuneError;
};

void Database::fail(const std::string &what) {
  std::string reason = file ? sqlite3_errmsg(file) : "out of memory";
  std::string message =
      what + " (" + reason + "), expected a file that `soliton tune` wrote and that can be written, or none";
  const char *hint = "name another file by `--database`";
  int code = file ? sqlite3_errcode(file) & 0xff : SQLITE_NOMEM;
  if (code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_BUSY || code == SQLITE_LOCKED)
    throw Full(DiagId::TuneDatabase, message, hint, Place{path, 1, 1});
  throw TuneError(DiagId::TuneDatabase, message, hint, {path, 1, 1});
}

void Database::write(std::function<void()> rows) {
  waiting.push_back(std::move(rows));
  try {
    execute("BEGIN IMMEDIATE");
    for (const std::function<void()> &each : waiting)
      each();
    execute("COMMIT");
    waiting.clear();
    sqlite3_busy_timeout(file, patienceMs);
  } catch (const Full &) {
    sqlite3_exec(file, "ROLLBACK", nullptr, nullptr, nullptr);
    // Who holds the file for so long will hold it at the next write too, and a run does not wait each time.
    sqlite3_busy_timeout(file, std::min(patienceMs, kShortMs));
  } catch (...) {
    sqlite3_exec(file, "ROLLBACK", nullptr, nullptr, nullptr);
    waiting.pop_back();
    throw;
  }
}

void Database::execute(const char *sql) {
  if (sqlite3_exec(file, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    fail("it can't be written");
}

Database::Database(const std::string &path, int patienceMs) : path(path), patienceMs(patienceMs) {
  try {
    open();
  } catch (...) {
    sqlite3_close(file);
    throw;
  }
}

/// In one transaction: another process may be making the same file.
void Database::open() {
  if (sqlite3_open_v2(path.c_str(), &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK)
    fail("it can't be opened");
  sqlite3_busy_timeout(file, patienceMs);
  auto ask = [&](const char *sql) {
    Statement statement(*this, sql);
    return statement.step() ? statement.number(0) : 0;
  };
  auto isMade = [&] { return ask("SELECT count(*) FROM sqlite_master") > 0; };
  auto isOurs = [&] { return ask("PRAGMA application_id") == kApplication && ask("PRAGMA user_version") == kVersion; };
  execute("BEGIN");
  bool isEmpty = !isMade();
  if (!isEmpty && !isOurs())
    throw TuneError(DiagId::TuneDatabase,
                    "the database is one of other tables, expected a file that `soliton tune` wrote",
                    "name another file by `--database`", {path, 1, 1});
  execute("COMMIT");
  // SQLite does not wait for this one itself.
  for (int waited = 0; sqlite3_exec(file, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr) != SQLITE_OK;
       waited += kStepMs) {
    if ((sqlite3_errcode(file) & 0xff) != SQLITE_BUSY || waited >= patienceMs)
      fail("it can't be written");
    sqlite3_sleep(kStepMs);
  }
  execute("PRAGMA synchronous=NORMAL");
  if (!isEmpty)
    return;
  execute("BEGIN IMMEDIATE");
  if (!isMade())
    execute(("PRAGMA application_id=" + std::to_string(kApplication) +
             "; PRAGMA user_version=" + std::to_string(kVersion) + ";" + kTables)
                .c_str());
  execute("COMMIT");
}

Database::~Database() {
  sqlite3_close(file);
}

//===- Results -----------------------------------------------------------------------===//

/// What a row is called by its stage: `model`, or `duel 3fa2…`.
static std::string rowName(Stage stage, const std::string &other) {
  return std::string(nameOf(stage)) + (other.empty() ? "" : " " + other);
}

static std::optional<Stage> stageOfRow(std::string_view row) {
  size_t space = row.find(' ');
  std::optional<Stage> stage = parseStage(row.substr(0, space));
  bool hasOther = space != std::string_view::npos;
  return stage && hasOther == (*stage == Stage::Duel) ? stage : std::nullopt;
}

/// Whether a row of that name can be believed.
static bool isWhole(const std::string &row, const std::string &json) {
  std::optional<Stage> stage = stageOfRow(row);
  std::optional<Result> result = resultFromJson(json);
  return stage && result && result->answers(*stage);
}

std::optional<Result> Database::find(const Subject &subject, const std::string &hash, Stage stage,
                                     const std::string &other) {
  Statement statement(*this, "SELECT result FROM results WHERE subject=? AND hash=? AND stage=?");
  if (!statement.bind(subject.key()).bind(hash).bind(rowName(stage, other)).step())
    return std::nullopt;
  std::optional<Result> found = resultFromJson(statement.text(0));
  return found && found->answers(stage) ? found : std::nullopt;
}

void Database::storeSubject(const Subject &subject) {
  Statement(*this, "INSERT OR IGNORE INTO subjects VALUES(?,?,?,?,?)")
      .bind(subject.key())
      .bind(subject.kernel)
      .bind(subject.device)
      .bind(subject.driver)
      .bind(subject.build)
      .step();
}

bool Database::storeAs(const std::string &subject, const Candidate &candidate, std::string_view stage,
                       const std::string &json) {
  std::string text = candidate.text(), hash = hashOf(text), row(stage);
  Statement(*this, "INSERT INTO candidates VALUES(?,?) ON CONFLICT(hash) DO UPDATE SET text=excluded.text "
                   "WHERE text<>excluded.text")
      .bind(hash)
      .bind(text)
      .step();
  Statement earlier(*this, "SELECT result FROM results WHERE subject=? AND hash=? AND stage=?");
  if (earlier.bind(subject).bind(hash).bind(row).step() && isWhole(row, earlier.text(0)))
    return false;
  Statement(*this, "INSERT OR REPLACE INTO results VALUES(?,?,?,?)")
      .bind(subject)
      .bind(hash)
      .bind(row)
      .bind(json)
      .step();
  return true;
}

bool Database::store(const Subject &subject, const Candidate &candidate, Stage stage, const Result &result,
                     const std::string &other) {
  // What waits outlives this call.
  auto isNew = std::make_shared<bool>(true);
  write([this, subject, candidate, row = rowName(stage, other), json = toJson(result), isNew] {
    storeSubject(subject);
    *isNew = storeAs(subject.key(), candidate, row, json);
  });
  return *isNew;
}

std::optional<Candidate> Database::candidate(const std::string &hash) {
  Statement statement(*this, "SELECT text FROM candidates WHERE hash=?");
  if (!statement.bind(hash).step())
    return std::nullopt;
  return parseCandidate(statement.text(0));
}

//===- Runs --------------------------------------------------------------------------===//

int64_t Database::begin(const Subject &subject, const std::string &settings) {
  execute("BEGIN IMMEDIATE");
  storeSubject(subject);
  Statement(*this, "INSERT OR IGNORE INTO runs(subject, settings) VALUES(?,?)")
      .bind(subject.key())
      .bind(settings)
      .step();
  execute("COMMIT");
  Statement statement(*this, "SELECT id FROM runs WHERE subject=? AND settings=?");
  if (!statement.bind(subject.key()).bind(settings).step())
    fail("a run that was written is not there");
  return statement.number(0);
}

void Database::decide(int64_t run, int64_t number, const std::string &hash, double cost) {
  auto isMade = [&] {
    Statement made(*this, "SELECT hash, cost FROM decisions WHERE run=? AND number=?");
    if (!made.bind(run).bind(number).step())
      return false;
    if (made.text(0) != hash || made.cost(1) != cost)
      throw TuneError(DiagId::TuneDecision,
                      "decision " + std::to_string(number) + " of run " + std::to_string(run) + " is `" +
                          hash.substr(0, 12) + "`, expected `" + made.text(0).substr(0, 12) + "` as it was made before",
                      "results were changed, or are no function of their candidates; begin a run of another `--seed`",
                      {path, 1, 1});
    return true;
  };
  if (isMade())
    return;
  write([this, run, number, hash, cost] {
    Statement(*this, "INSERT OR IGNORE INTO decisions VALUES(?,?,?,?)")
        .bind(run)
        .bind(number)
        .bind(hash)
        .bindCost(cost)
        .step();
  });
  // Another process may have been first.
  isMade();
}

void Database::end(int64_t run, const std::string &how) {
  write([this, run, how] { Statement(*this, "UPDATE runs SET ended=? WHERE id=?").bind(how).bind(run).step(); });
}

std::vector<Run> Database::runs() {
  Statement statement(*this, "SELECT r.id, s.kernel, s.device, s.driver, s.build, r.settings, r.begun, r.ended, "
                             "(SELECT count(*) FROM decisions d WHERE d.run = r.id), "
                             "(SELECT min(cost) FROM decisions d WHERE d.run = r.id), "
                             "(SELECT hash FROM decisions d WHERE d.run = r.id AND cost IS NOT NULL "
                             "ORDER BY cost, number LIMIT 1) "
                             "FROM runs r JOIN subjects s ON s.key = r.subject ORDER BY r.id DESC");
  std::vector<Run> list;
  while (statement.step()) {
    Run run;
    run.id = statement.number(0);
    run.subject = {statement.text(1), statement.text(2), statement.text(3), statement.text(4)};
    run.settings = statement.text(5);
    run.begun = statement.text(6);
    run.ended = statement.text(7);
    run.decisions = statement.number(8);
    run.best = statement.cost(9);
    run.bestHash = statement.text(10);
    list.push_back(std::move(run));
  }
  return list;
}

std::vector<Decision> Database::decisions(int64_t run) {
  Statement statement(*this, "SELECT number, hash, cost FROM decisions WHERE run=? ORDER BY number");
  statement.bind(run);
  std::vector<Decision> list;
  while (statement.step())
    list.push_back({statement.number(0), statement.text(1), statement.cost(2)});
  return list;
}

//===- Elsewhere and back ------------------------------------------------------------===//

std::string Database::exported() {
  Statement statement(*this,
                      "SELECT s.kernel, s.device, s.driver, s.build, c.text, r.stage, r.result, r.hash FROM results r "
                      "JOIN subjects s ON s.key = r.subject JOIN candidates c ON c.hash = r.hash "
                      "ORDER BY r.subject, r.hash, r.stage");
  std::string lines;
  while (statement.step()) {
    if (!isWhole(statement.text(5), statement.text(6)) || hashOf(statement.text(4)) != statement.text(7))
      continue; // `verify` says which
    Json line = {{"kernel", statement.text(0)},           {"device", statement.text(1)},
                 {"driver", statement.text(2)},           {"build", statement.text(3)},
                 {"candidate", statement.text(4)},        {"stage", statement.text(5)},
                 {"result", parseLine(statement.text(6))}};
    lines += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return lines;
}

int64_t Database::importLine(std::string_view text, const Place &place) {
  Json line = parseLine(text);
  auto field = [&](const char *name) {
    return line.is_object() && line.contains(name) && line[name].is_string() ? line[name].get<std::string>() : "";
  };
  const Subject subject{field("kernel"), field("device"), field("driver"), field("build")};
  const std::string row = field("stage");
  std::optional<Result> result = resultInJson(text);
  if (!result || !isWhole(row, toJson(*result)) || subject.kernel.empty() || subject.device.empty() ||
      subject.build.empty())
    throw TuneError(DiagId::TuneImport, "the line is no result, expected what `soliton tune export` prints",
                    "export again, and leave the lines as they are", place);
  Candidate candidate = [&] {
    try {
      return parseCandidate(field("candidate"));
    } catch (const TuneError &error) {
      const Diagnostic &said = error.diagnostics().front();
      throw TuneError(said.id, said.message, said.hint, place);
    }
  }();
  storeSubject(subject);
  return storeAs(subject.key(), candidate, row, toJson(*result));
}

int64_t Database::import(std::istream &lines, const std::string &name) {
  execute("BEGIN IMMEDIATE");
  int64_t taken = 0;
  int number = 1;
  std::string text(kLongestLine, '\0');
  try {
    for (; lines.getline(text.data(), kLongestLine); ++number) {
      // The end of the line was read too, where there is one.
      std::streamsize length = lines.gcount() - (lines.eof() ? 0 : 1);
      if (length > 0)
        taken += importLine(std::string_view(text).substr(0, static_cast<size_t>(length)), {name, number, 1});
    }
    if (!lines.eof() || lines.bad())
      throw TuneError(DiagId::TuneImport,
                      lines.bad() ? "the file can't be read, expected what `soliton tune export` prints"
                                  : "the line is too long, expected what `soliton tune export` prints",
                      "name a file that `soliton tune export FILE` wrote", {name, number, 1});
    execute("COMMIT");
  } catch (...) {
    sqlite3_exec(file, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  return taken;
}

std::vector<std::string> Database::flaws() {
  std::vector<std::string> found;
  Statement whole(*this, "PRAGMA integrity_check");
  while (whole.step())
    if (whole.text(0) != "ok")
      found.push_back("the file is damaged: " + whole.text(0));
  Statement candidates(*this, "SELECT hash, text FROM candidates");
  while (candidates.step())
    if (hashOf(candidates.text(1)) != candidates.text(0))
      found.push_back("candidate `" + candidates.text(0).substr(0, 12) + "` is not what its hash says");
  Statement results(*this, "SELECT r.hash, r.result, c.text IS NULL, s.key IS NULL, r.stage FROM results r "
                           "LEFT JOIN candidates c ON c.hash = r.hash LEFT JOIN subjects s ON s.key = r.subject");
  while (results.step()) {
    std::string name = "the result of `" + results.text(0).substr(0, 12) + "`";
    if (!isWhole(results.text(4), results.text(1)))
      found.push_back(name + " can't be read");
    if (results.number(2) || results.number(3))
      found.push_back(name + " belongs to nothing");
  }
  Statement runs(*this, "SELECT r.id FROM runs r LEFT JOIN subjects s ON s.key = r.subject WHERE s.key IS NULL");
  while (runs.step())
    found.push_back("run " + std::to_string(runs.number(0)) + " belongs to nothing");
  return found;
}

} // namespace soliton::tune
